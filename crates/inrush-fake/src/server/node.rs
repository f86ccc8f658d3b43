//! One node of a fake cluster.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::connection::accept;
use super::shared::{Shared, lock};

/// One node of a fake cluster. All nodes show the same indices and documents.
pub struct FakeNode {
    shared: Arc<Shared>,
    number: usize,
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

struct Running {
    stop: watch::Sender<bool>,
    accept: JoinHandle<()>,
}

impl FakeNode {
    /// Starts node `number` on a port of the loopback interface; 0 is a free one.
    pub(super) async fn start(shared: &Arc<Shared>, number: usize, port: u16) -> io::Result<FakeNode> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let node = FakeNode { shared: Arc::clone(shared), number, address, running: Mutex::new(None) };
        node.run(listener);
        Ok(node)
    }

    /// The URL, such as `http://127.0.0.1:39201`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address; a killed node listens there again once it is revived.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the port and resets every connection. Requests that are not applied yet never will
    /// be. A killed node stays as it is.
    pub async fn kill(&self) {
        let running = lock(&self.running).take();
        if let Some(running) = running {
            running.stop.send_replace(true);
            // The task ends with its connections and does not panic.
            let _ = running.accept.await;
        }
    }

    /// Listens again on the same port. A running node stays as it is.
    ///
    /// # Errors
    ///
    /// The port is taken by another program.
    pub async fn revive(&self) -> io::Result<()> {
        if lock(&self.running).is_some() {
            return Ok(());
        }
        let listener = TcpListener::bind(self.address).await?;
        self.run(listener);
        Ok(())
    }

    fn run(&self, listener: TcpListener) {
        let (stop, stopped) = watch::channel(false);
        let accept = tokio::spawn(accept(Arc::clone(&self.shared), self.number, listener, stopped));
        *lock(&self.running) = Some(Running { stop, accept });
    }
}
