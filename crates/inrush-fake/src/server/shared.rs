//! The state that all nodes share.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;

use super::config::FakeConfig;
use super::log::RequestLog;
use crate::api::{Environment, Task};
use crate::faults::{FaultState, Faults};
use crate::model::Cluster;

/// The state that all nodes share.
pub(super) struct Shared {
    pub(super) config: FakeConfig,
    pub(super) cluster: Mutex<Cluster>,
    pub(super) faults: Mutex<FaultState>,
    pub(super) log: Mutex<Vec<RequestLog>>,
    pub(super) tasks: Mutex<BTreeMap<u64, Task>>,
    pub(super) next_task: AtomicU64,
    /// Number of requests that are held back.
    pub(super) held: watch::Sender<usize>,
    /// Rises with each release of held requests.
    release: watch::Sender<u64>,
    /// The address of each node, once all nodes listen.
    pub(super) addresses: OnceLock<Vec<String>>,
}

impl Shared {
    pub(super) fn new(config: FakeConfig) -> Self {
        let mut cluster = Cluster::new(config.flavor.clone());
        cluster.nodes = config.nodes;
        cluster.auto_create_index = config.auto_create_index;
        cluster.failure_store = config.failure_store;
        cluster.little_endian_vectors = config.little_endian_vectors;
        cluster.denied_indices.clone_from(&config.denied_indices);
        Shared {
            cluster: Mutex::new(cluster),
            faults: Mutex::new(FaultState::new(config.faults.clone())),
            log: Mutex::new(Vec::new()),
            tasks: Mutex::new(BTreeMap::new()),
            next_task: AtomicU64::new(1),
            held: watch::channel(0).0,
            release: watch::channel(0).0,
            addresses: OnceLock::new(),
            config,
        }
    }

    /// Starts a script from its beginning; it replaces the running one.
    pub(super) fn set_faults(&self, faults: Faults) {
        *lock(&self.faults) = FaultState::new(faults);
    }

    /// Waits until the held requests are released.
    pub(super) async fn hold(&self) {
        let mut release = self.release.subscribe();
        let generation = *release.borrow_and_update();
        let _count = HeldCount::new(&self.held);
        // The sender lives in `self`, so the wait cannot fail.
        let _ = release.wait_for(|now| *now > generation).await;
    }

    /// Releases all requests that are held now.
    pub(super) fn release_held(&self) {
        self.release.send_modify(|generation| *generation += 1);
    }

    /// The server around a request to a node.
    pub(super) fn environment(&self, node: usize) -> Environment {
        Environment {
            root_status: self.config.root_status,
            tasks: lock(&self.tasks).values().cloned().collect(),
            node,
            secured: self.config.auth.is_some(),
            disk_available_bytes: self.config.disk_available_bytes,
            max_content_length_bytes: self.config.max_content_length_bytes,
            addresses: self.addresses.get().cloned().unwrap_or_default(),
        }
    }
}

/// Counts one held request as long as it lives.
struct HeldCount<'a>(&'a watch::Sender<usize>);

impl<'a> HeldCount<'a> {
    fn new(held: &'a watch::Sender<usize>) -> Self {
        held.send_modify(|held| *held += 1);
        HeldCount(held)
    }
}

impl Drop for HeldCount<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
    }
}

/// Locks a mutex. A poisoned one means that a test failed in another thread; its state is still
/// readable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
