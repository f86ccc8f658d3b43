//! The nodes of the primary shards, updated beside a load.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use inrush_cluster::api::shards::{self, Shards};
use inrush_cluster::clock;
use inrush_cluster::transport::{NodeIndex, Transport};

/// Interval between updates. A request to another node costs a forwarding, and no more.
const EVERY: Duration = Duration::from_secs(30);

/// The best node for requests of each shard.
#[derive(Debug)]
pub(crate) struct Primaries {
    nodes: BTreeMap<String, NodeIndex>,
    by_shard: Mutex<Vec<Option<NodeIndex>>>,
}

impl Primaries {
    /// Reads the shards of the index at an interval until the last reference is dropped.
    pub(crate) fn watch(
        transport: Arc<Transport>,
        index: String,
        nodes: BTreeMap<String, NodeIndex>,
        now: &Shards,
    ) -> Arc<Self> {
        let primaries = Arc::new(Primaries { nodes, by_shard: Mutex::default() });
        primaries.learn(now);
        let watched = Arc::downgrade(&primaries);
        tokio::spawn(async move { watch(transport, index, watched).await });
        primaries
    }

    /// The node of a shard's primary, where requests can be sent to it.
    pub(crate) fn node(&self, shard: u16) -> Option<NodeIndex> {
        self.lock().get(usize::from(shard)).copied().flatten()
    }

    /// Number of different nodes.
    pub(crate) fn spread(&self) -> usize {
        let mut nodes: Vec<NodeIndex> = self.lock().iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len()
    }

    fn learn(&self, shards: &Shards) {
        let node = |id: &Option<String>| id.as_ref().and_then(|id| self.nodes.get(id)).copied();
        *self.lock() = shards.primaries.iter().map(node).collect();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<NodeIndex>>> {
        // The list is replaced as a whole, so it is always valid.
        self.by_shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch(transport: Arc<Transport>, index: String, watched: Weak<Primaries>) {
    loop {
        clock::sleep(EVERY).await;
        if watched.strong_count() == 0 {
            return;
        }
        // After an error the last known nodes are still the best guess.
        if let Ok(shards) = shards::shards(&transport, &index).await
            && let Some(primaries) = watched.upgrade()
        {
            primaries.learn(&shards);
        }
    }
}
