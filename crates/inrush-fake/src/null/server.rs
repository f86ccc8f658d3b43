//! A running null server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use super::connection::Connection;
use super::replies::ReplyKind;
use super::state::{NullStats, Shared};

/// A running null server. It reads bulk requests at the least cost, counts them and answers
/// success, so that a benchmark measures the client. It runs until [`NullServer::stop`] or the end
/// of the process, in threads of its own.
///
/// After `POST /_null/away?seconds=N` it refuses connections for N seconds (at most 86,400), and
/// ends those that are open at their next request. Its indices and counts stay.
///
/// ```
/// use inrush_fake::{NullServer, ReplyKind};
///
/// let server = NullServer::start(0, ReplyKind::Items)?;
/// println!("{}", server.url());
/// assert_eq!(server.stats().docs, 0);
/// server.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct NullServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl NullServer {
    /// Listens on a port of the loopback interface; 0 is a free one.
    ///
    /// # Errors
    ///
    /// The port is taken, or the system starts no thread.
    pub fn start(port: u16, reply_kind: ReplyKind) -> io::Result<NullServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(reply_kind));
        let accepting = Arc::clone(&shared);
        thread::Builder::new().name("null-accept".into()).spawn(move || accept(listener, address, &accepting))?;
        Ok(NullServer { address, shared })
    }

    /// The URL, such as `http://127.0.0.1:39201`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The counts so far. `GET /_null/stats` answers them, too.
    pub fn stats(&self) -> NullStats {
        self.shared.stats()
    }

    /// Stops listening. Open connections end with their clients.
    pub fn stop(self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Wakes the accepting thread; a failure means that it has ended already.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(mut listener: TcpListener, address: SocketAddr, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        if let Some(time) = shared.away() {
            // Without a listener the system refuses connections.
            drop(listener);
            thread::sleep(time);
            let Ok(again) = TcpListener::bind(address) else { return };
            listener = again;
            shared.set_away(None);
            continue;
        }
        let Ok((stream, _)) = accepted else { continue };
        let shared = Arc::clone(shared);
        // Without a thread the connection is dropped, which its client sees.
        let _ = thread::Builder::new().name("null-connection".into()).spawn(move || {
            // An error is a client that disconnected.
            let _ = Connection::new(shared, stream).serve();
        });
    }
}
