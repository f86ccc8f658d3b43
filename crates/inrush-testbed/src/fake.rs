//! The fake cluster over HTTP: several nodes, each a port, over one state.

mod config;
mod connection;
mod serve;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::config::{Auth, FakeConfig, Verify};
use self::serve::Shared;
use crate::faults::{FaultState, Faults};
use crate::model::{Cluster, StoredDocument};

/// What the fake wrote down about a request it saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLog {
    /// Node it came to, counted from 0.
    pub node: usize,
    /// Method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// `X-Opaque-Id`.
    pub opaque_id: Option<String>,
    /// Status answered; 0 where the fake reset the connection or never answered.
    pub status: u16,
    /// Bulk items; 0 for other requests and for bodies that could not be read.
    pub items: usize,
    /// To how many different shards items with an id or a routing value lead; 0 if none has either.
    pub shards: usize,
    /// Bytes of the body as they came over the wire.
    pub body_bytes: usize,
    /// Whether the body was SMILE.
    pub smile: bool,
    /// `Content-Encoding`.
    pub coding: Option<String>,
    /// Whether the credentials (and the signature, where one is asked for) were right.
    pub authorized: bool,
}

/// A running fake cluster. Dropping it stops its nodes without waiting; [`FakeCluster::shutdown`] waits.
pub struct FakeCluster {
    shared: Arc<Shared>,
    nodes: Vec<FakeNode>,
}

/// One node of a fake cluster.
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

impl FakeCluster {
    /// Starts all nodes on loopback.
    ///
    /// # Errors
    ///
    /// A port that is taken.
    pub async fn start(config: FakeConfig) -> io::Result<FakeCluster> {
        let ports = config.ports.clone();
        let count = config.nodes.max(1);
        let shared = Arc::new(Shared::new(config));
        let mut nodes = Vec::new();
        for number in 0..count {
            let port = ports.get(number).copied().unwrap_or(0);
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            let node = FakeNode {
                shared: Arc::clone(&shared),
                number,
                address: listener.local_addr()?,
                running: Mutex::new(None),
            };
            node.run(listener);
            nodes.push(node);
        }
        // Set once, here.
        let _ = shared.addresses.set(nodes.iter().map(|node| node.address.to_string()).collect());
        Ok(FakeCluster { shared, nodes })
    }

    /// The first node's URL, such as `http://127.0.0.1:39201`.
    pub fn url(&self) -> String {
        self.nodes.first().map(FakeNode::url).unwrap_or_default()
    }

    /// All nodes' URLs.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(FakeNode::url).collect()
    }

    /// A node by its number.
    ///
    /// # Panics
    ///
    /// When there are not so many nodes.
    pub fn node(&self, number: usize) -> &FakeNode {
        &self.nodes[number]
    }

    /// Live documents of an index, refreshed or not, in the order they were written; of an alias or a data stream,
    /// those of all its indices.
    pub fn documents(&self, name: &str) -> Vec<StoredDocument> {
        let cluster = self.cluster();
        let of_stream =
            |index: &String| cluster.data_streams.get(name).is_some_and(|stream| stream.indices.contains(index));
        cluster
            .indices
            .iter()
            .filter(|(index, state)| *index == name || state.aliases.contains_key(name) || of_stream(index))
            .flat_map(|(_, state)| state.documents())
            .collect()
    }

    /// One live document; the routing it was written with is not needed.
    pub fn document(&self, name: &str, id: &str) -> Option<StoredDocument> {
        self.documents(name).into_iter().find(|document| document.id == id)
    }

    /// Mapping of an index, null where it is not there.
    pub fn mapping(&self, index: &str) -> Value {
        self.cluster().indices.get(index).map(|index| index.mapping.to_value()).unwrap_or_default()
    }

    /// A setting of an index as it was set, `None` where it was not.
    pub fn setting(&self, index: &str, name: &str) -> Option<String> {
        self.cluster().indices.get(index)?.settings.get(name).map(str::to_owned)
    }

    /// The state itself, to look at or to prepare. Requests wait while it is held.
    pub fn cluster(&self) -> MutexGuard<'_, Cluster> {
        lock(&self.shared.cluster)
    }

    /// Every request so far, in the order in which they were settled.
    pub fn requests(&self) -> Vec<RequestLog> {
        lock(&self.shared.log).clone()
    }

    /// The bulk requests among them.
    pub fn bulk_requests(&self) -> Vec<RequestLog> {
        let is_bulk = |path: &str| path.split('?').next().unwrap_or_default().ends_with("/_bulk");
        self.requests().into_iter().filter(|request| is_bulk(&request.path)).collect()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        lock(&self.shared.log).clear();
    }

    /// Starts a script of faults from its beginning, instead of the one before.
    pub fn set_faults(&self, faults: impl Into<Faults>) {
        *lock(&self.shared.faults) = FaultState::new(faults.into());
    }

    /// How often a rule of the script has applied to a request or an item.
    pub fn faults_met(&self) -> u64 {
        lock(&self.shared.faults).met()
    }

    /// Requests that a `hold_…` fault holds back now.
    pub fn held(&self) -> usize {
        *self.shared.held.borrow()
    }

    /// Waits until at least `count` requests are held back.
    pub async fn wait_for_held(&self, count: usize) {
        let mut held = self.shared.held.subscribe();
        // The sender lives in `self.shared`, so this cannot fail while `self` is borrowed.
        let _ = held.wait_for(|held| *held >= count).await;
    }

    /// Lets go of every request that is held back now.
    pub fn release_held(&self) {
        self.shared.release.send_modify(|generation| *generation += 1);
    }

    /// Stops all nodes and waits for that. Requests that are held back are dropped.
    pub async fn shutdown(self) {
        for node in &self.nodes {
            node.kill().await;
        }
    }
}

impl FakeNode {
    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Address it listens on, or will listen on again.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the port and resets every connection. What the node had not applied yet is never applied.
    pub async fn kill(&self) {
        let running = lock(&self.running).take();
        if let Some(running) = running {
            running.stop.send_replace(true);
            // The loop ends once its connections are gone; it never panics on its own.
            let _ = running.accept.await;
        }
    }

    /// Listens again on the same port. Nothing happens to a node that runs.
    ///
    /// # Errors
    ///
    /// The port was taken meanwhile.
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
        let accept = tokio::spawn(connection::accept(Arc::clone(&self.shared), self.number, listener, stopped));
        *lock(&self.running) = Some(Running { stop, accept });
    }
}

/// A poisoned lock means a test already failed elsewhere; the state is still good to look at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
