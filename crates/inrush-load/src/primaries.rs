//! Which node holds the primary of each shard, kept up to date beside a load.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use inrush_cluster::api::shards::{self, Shards};
use inrush_cluster::transport::{NodeIndex, Transport};

/// How often it is looked where the primaries are: a request that goes elsewhere costs a hop, and nothing more.
const EVERY: Duration = Duration::from_secs(30);

/// The nodes that requests of one shard are best sent to.
#[derive(Debug)]
pub(crate) struct Primaries {
    nodes: BTreeMap<String, NodeIndex>,
    by_shard: Mutex<Vec<Option<NodeIndex>>>,
}

impl Primaries {
    /// Looks at the index again and again until the last reference is gone.
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

    /// The node of a shard's primary, where it is one that requests can be sent to.
    pub(crate) fn node(&self, shard: u16) -> Option<NodeIndex> {
        self.lock().get(usize::from(shard)).copied().flatten()
    }

    /// Over how many nodes they are spread.
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
        // A list is replaced as a whole.
        self.by_shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch(transport: Arc<Transport>, index: String, watched: Weak<Primaries>) {
    loop {
        tokio::time::sleep(EVERY).await;
        if watched.strong_count() == 0 {
            return;
        }
        // Where it cannot be asked, what was known is still the best guess.
        if let Ok(shards) = shards::shards(&transport, &index).await
            && let Some(primaries) = watched.upgrade()
        {
            primaries.learn(&shards);
        }
    }
}
