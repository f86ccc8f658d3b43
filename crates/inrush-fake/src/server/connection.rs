//! The connections of a node: accepted, served, and reset by a fault or with their node.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::serve::serve;
use super::shared::Shared;

/// Accepts connections until the node is stopped, then waits for the end of its connections.
pub(super) async fn accept(shared: Arc<Shared>, node: usize, listener: TcpListener, stopped: watch::Receiver<bool>) {
    let mut until = stopped.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = until.wait_for(|stopped| *stopped) => break,
            accepted = listener.accept() => {
                // An error concerns one connection, such as that of a client that disconnected
                // already.
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
        _ = &mut http => return,
        () = reset.notified() => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    // A close without lingering is a reset, also while the client has data to read.
    let stream = http.into_parts().io.into_inner();
    let _ = stream.set_zero_linger();
}
