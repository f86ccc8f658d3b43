//! Connections of a fake node: accepted, served, and reset when a fault or a killed node asks for it.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::serve::{Shared, serve};

/// Accepts until the node is stopped, then waits for its connections to be gone.
pub(super) async fn accept(shared: Arc<Shared>, node: usize, listener: TcpListener, stopped: watch::Receiver<bool>) {
    let mut until = stopped.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = until.wait_for(|stopped| *stopped) => break,
            accepted = listener.accept() => {
                // A failure here is one connection's, such as a client that is gone already.
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(connection(Arc::clone(&shared), node, stream, stopped.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(shared: Arc<Shared>, node: usize, stream: TcpStream, mut stopped: watch::Receiver<bool>) {
    // Small replies must not wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    let reset = Arc::new(Notify::new());
    let service = {
        let (reset, stopped) = (Arc::clone(&reset), stopped.clone());
        service_fn(move |request| {
            let (shared, reset, stopped) = (Arc::clone(&shared), Arc::clone(&reset), stopped.clone());
            async move { Ok::<_, Infallible>(serve(shared, node, reset, stopped, request).await) }
        })
    };
    let mut http = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = Pin::new(&mut http) => return,
        () = reset.notified() => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    // Without lingering the close is a reset, also for data the client has not read yet.
    let stream = http.into_parts().io.into_inner();
    let _ = stream.set_zero_linger();
}

/// Body of a reply.
pub(super) type ReplyBody = BoxBody<Bytes, io::Error>;

pub(super) fn whole(bytes: Bytes) -> ReplyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}

/// A body that ends in an error after its bytes were sent: the connection closes in the middle of the reply.
pub(super) fn truncated(bytes: Bytes) -> ReplyBody {
    Truncated { bytes: Some(bytes), flushed: false }.boxed()
}

struct Truncated {
    bytes: Option<Bytes>,
    flushed: bool,
}

impl Body for Truncated {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(bytes) = self.bytes.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if !self.flushed {
            // hyper flushes what it has while the body is pending.
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("reply truncated by a fault"))))
    }
}
