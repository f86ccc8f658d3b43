//! The HTTP server of the page: fixed routes, a bounded number of connections, and one request for
//! each of them.

mod access;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::config::{PageConfig, WatchError};
use crate::hub::Hub;
use access::Access;
use routes::{Answer, Routes};

/// Connections at once. Further ones are refused.
const CONNECTIONS_MAX: usize = 128;
/// The time for the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// The time for a request and its reply, except for the events of a viewer.
const REQUEST_MAX: Duration = Duration::from_secs(30);
/// The time for viewers to take the last event.
const END_MAX: Duration = Duration::from_secs(1);
/// The reply to a connection that is one too many.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A listening page.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    needs_token: bool,
    connections: Arc<Semaphore>,
    ending: Arc<Notify>,
    listening: JoinHandle<()>,
}

/// One connection, as its request sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Connection {
    /// Ends the connection.
    cut: Arc<Notify>,
    /// The connection follows the events, and may last.
    follows: Arc<AtomicBool>,
}

impl Server {
    /// Listens. The address may have port 0, for a free one.
    pub(crate) async fn start(config: &PageConfig, hub: Arc<Hub>, salt: &str) -> Result<Self, WatchError> {
        config.check()?;
        let bind = |source| WatchError::Bind { address: config.address, source };
        let listener = TcpListener::bind(config.address.address()).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let access = Access::new(config.token.as_ref(), config.parts.as_ref(), address.port(), salt);
        let routes = Arc::new(Routes { hub, access });
        let (connections, ending) = (Arc::new(Semaphore::new(CONNECTIONS_MAX)), Arc::new(Notify::new()));
        let listening = tokio::spawn(listen(listener, routes, Arc::clone(&connections), Arc::clone(&ending)));
        Ok(Server { address, needs_token: config.token.is_some(), connections, ending, listening })
    }

    /// The address with its port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether viewers need a token.
    pub(crate) fn needs_token(&self) -> bool {
        self.needs_token
    }

    /// Waits until viewers have taken the last event, and stops to listen.
    pub(crate) async fn end(self) {
        // All permits are free after the last connection.
        let all = self.connections.acquire_many(CONNECTIONS_MAX as u32);
        // A viewer that is too slow does not hold up the process.
        let _ = timeout(END_MAX, all).await;
        self.ending.notify_one();
        // The port is free after it. A task that panicked listens no more.
        let _ = self.listening.await;
    }
}

async fn listen(listener: TcpListener, routes: Arc<Routes>, connections: Arc<Semaphore>, ending: Arc<Notify>) {
    loop {
        let accepted = tokio::select! {
            () = ending.notified() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Mostly too many open files. The load goes on, and later connections may work.
                tracing::debug!("the page cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        match Arc::clone(&connections).try_acquire_owned() {
            Ok(permit) => {
                tokio::spawn(serve(stream, Arc::clone(&routes), permit));
            }
            Err(_) => {
                // A reply that does not fit into an empty buffer is not worth a wait.
                let _ = stream.try_write(BUSY);
            }
        }
    }
}

/// Answers the request of a connection. The permit is free at its end.
async fn serve(stream: TcpStream, routes: Arc<Routes>, _permit: OwnedSemaphorePermit) {
    let connection = Connection::default();
    let of_request = connection.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (routes, connection) = (Arc::clone(&routes), of_request.clone());
        async move {
            let (head, body) = request.into_parts();
            let reported = routes.report(&head, body).await;
            let answer = reported.unwrap_or_else(|| routes.answer(head, connection));
            Ok::<Response<Answer>, std::convert::Infallible>(answer)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).keep_alive(false).max_buf_size(64 << 10);
    let served = http.serve_connection(TokioIo::new(stream), service);
    let overdue = async {
        sleep(REQUEST_MAX).await;
        if connection.follows.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        // Errors are those of clients.
        _ = served => {}
        () = connection.cut.notified() => {}
        () = overdue => {}
    }
}
