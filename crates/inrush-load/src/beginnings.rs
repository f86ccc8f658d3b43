//! The shards of each index at the beginning of a load, and what they tell later: whether another
//! primary took over, which documents were written since, and how many operations there were.
//!
//! Where a primary fails, the coordinating node repeats a part of a request on the new primary. A
//! load sees that in the answers alone: a new document is answered `updated` or 409, a deleted one
//! `not_found`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inrush_cluster::api::changes;
use inrush_cluster::api::shard_state::{self, ShardState};
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::made_id;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// The largest difference between the clocks of this machine and of a node.
const CLOCKS: Duration = Duration::from_mins(10);

/// One index before a load wrote to it, or soon after where the load met it in an answer.
#[derive(Debug)]
struct Beginning {
    state: ShardState,
    /// The highest sequence number of each shard. Empty: not known.
    written: Vec<i64>,
}

/// The beginnings of all indices of a load.
#[derive(Debug)]
pub(crate) struct Beginnings {
    began: SystemTime,
    /// `None`: the index could not be read.
    by_index: Mutex<BTreeMap<String, Option<Arc<Beginning>>>>,
}

/// An index of which a shard has another primary than at the beginning, or its primary restarted.
#[derive(Debug)]
pub(crate) struct Change {
    beginning: Arc<Beginning>,
    now: ShardState,
}

/// Whether a shard of an index has another primary than at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Repeated {
    No,
    Yes,
    /// The shards could not be read.
    #[default]
    Unknown,
}

impl Repeated {
    /// What is known of two indices, or of one by two loads.
    pub(crate) fn or(self, other: Repeated) -> Repeated {
        match (self, other) {
            (Repeated::Yes, _) | (_, Repeated::Yes) => Repeated::Yes,
            (Repeated::Unknown, _) | (_, Repeated::Unknown) => Repeated::Unknown,
            (Repeated::No, Repeated::No) => Repeated::No,
        }
    }
}

impl Beginnings {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Beginnings { began: clock::date(), by_index: Mutex::default() })
    }

    /// Reads an index, unless that was done before. `is_new`: the load has created it.
    pub(crate) async fn note(&self, transport: &Transport, index: &str, is_new: bool) {
        if self.lock().contains_key(index) {
            return;
        }
        let read = match shard_state::read(transport, index).await {
            Ok(state) => {
                let written = match is_new {
                    true => vec![-1; state.terms.len()],
                    false => {
                        let marks = changes::marks(transport, index).await.unwrap_or_default();
                        marks.values().map(|mark| mark.max).collect()
                    }
                };
                Some(Arc::new(Beginning { state, written }))
            }
            Err(error) => {
                tracing::debug!("{error}");
                None
            }
        };
        self.lock().entry(index.to_owned()).or_insert(read);
    }

    /// Reads each index when it is named, until the load ends.
    pub(crate) async fn follow(self: Arc<Self>, transport: Arc<Transport>, mut names: watch::Receiver<Vec<String>>) {
        loop {
            let now = names.borrow_and_update().clone();
            for name in &now {
                self.note(&transport, name, false).await;
            }
            if names.changed().await.is_err() {
                return;
            }
        }
    }

    /// The change of an index, where a shard of it has another primary by now. `None` too where
    /// that is not known.
    pub(crate) async fn change(&self, transport: &Transport, index: &str) -> Option<Change> {
        let beginning = self.get(index)?;
        let now = shard_state::read(transport, index).await.inspect_err(|error| tracing::debug!("{error}")).ok()?;
        let is_same = now.uuid == beginning.state.uuid && now.routing == beginning.state.routing;
        (is_same && now.terms != beginning.state.terms).then_some(Change { beginning, now })
    }

    /// Whether a document with these marks was in an index before the load began. No if that is
    /// not known: an index without sequence numbers gives its documents no marks.
    pub(crate) fn had(&self, index: &str, (id, routing): (&str, Option<&str>), seq_no: i64, primary_term: u64) -> bool {
        if primary_term == 0 {
            return false;
        }
        let Some(beginning) = self.get(index) else { return false };
        let shard = beginning.state.routing.shard(id, routing) as usize;
        let first = beginning.state.terms.get(shard).copied().unwrap_or_default();
        let written = beginning.written.get(shard).is_some_and(|&written| seq_no <= written);
        primary_term < first || (primary_term == first && written)
    }

    /// Whether one of the indices has another primary by now.
    pub(crate) async fn repeated<'a>(
        &self,
        transport: &Transport,
        indices: impl IntoIterator<Item = &'a String>,
    ) -> Repeated {
        let mut all = Repeated::No;
        for index in indices {
            all = all.or(self.repeated_in(transport, index).await);
        }
        all
    }

    async fn repeated_in(&self, transport: &Transport, index: &str) -> Repeated {
        let Ok(now) = shard_state::read(transport, index).await else { return Repeated::Unknown };
        match self.get(index) {
            Some(beginning) if now.terms == beginning.state.terms => Repeated::No,
            Some(_) => Repeated::Yes,
            // The first primary of a new index is still the only one.
            None if now.terms.iter().all(|&term| term == 1) => Repeated::No,
            None => Repeated::Unknown,
        }
    }

    /// The indices that were noted.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.lock().keys().cloned().collect()
    }

    /// Operations on the documents of an index since the beginning, by whichever client: each one
    /// that a primary carries out takes a sequence number.
    pub(crate) async fn operations(&self, transport: &Transport, index: &str) -> Option<u64> {
        let beginning = self.get(index).filter(|beginning| !beginning.written.is_empty())?;
        let state = shard_state::read(transport, index).await.ok()?;
        let marks = changes::marks(transport, index).await.ok()?;
        if state.uuid != beginning.state.uuid || marks.len() != beginning.written.len() {
            return None;
        }
        let sum = marks.values().zip(&beginning.written).map(|(now, before)| now.max - before).sum::<i64>();
        u64::try_from(sum).ok()
    }

    /// Whether the cluster made the id since the load began.
    pub(crate) fn is_made_since(&self, id: &str) -> bool {
        made_id::is_made_in(id, self.until(clock::date()))
    }

    fn until(&self, now: SystemTime) -> RangeInclusive<u64> {
        let ms = |time: SystemTime| {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        ms(self.began - CLOCKS)..=ms(now + CLOCKS)
    }

    fn get(&self, index: &str) -> Option<Arc<Beginning>> {
        self.lock().get(index).cloned().flatten()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<Arc<Beginning>>>> {
        // Entries are inserted whole, so the map is always valid.
        self.by_index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Change {
    /// Whether a document was written since the beginning, by a primary that another one has
    /// replaced. An operation that was repeated on a new primary met such a document.
    pub(crate) fn wrote(&self, id: &str, routing: Option<&str>, seq_no: i64, primary_term: u64) -> bool {
        let shard = self.now.routing.shard(id, routing) as usize;
        let (Some(&first), Some(&now)) = (self.beginning.state.terms.get(shard), self.now.terms.get(shard)) else {
            return false;
        };
        let written = self.beginning.written.get(shard).is_some_and(|&written| seq_no > written);
        primary_term < now && (primary_term > first || (primary_term == first && written))
    }

    /// Whether the shard of a document has another primary.
    pub(crate) fn has_moved(&self, id: &str, routing: Option<&str>) -> bool {
        let shard = self.now.routing.shard(id, routing) as usize;
        self.beginning.state.terms.get(shard) != self.now.terms.get(shard)
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::routing::Routing;

    use super::*;

    fn state(term: u64) -> ShardState {
        ShardState { uuid: "u".into(), routing: Routing::new(1, None, 1).unwrap(), terms: vec![term] }
    }

    fn change(first: u64, written: Vec<i64>, now: u64) -> Change {
        Change { beginning: Arc::new(Beginning { state: state(first), written }), now: state(now) }
    }

    #[test]
    fn a_document_is_of_the_load_where_a_primary_of_the_load_wrote_it_and_is_gone() {
        let one = change(3, vec![10], 4);
        let wrote = |seq_no, term| one.wrote("a", None, seq_no, term);
        assert!(wrote(11, 3), "after the beginning, by the primary before");
        assert!(!wrote(10, 3), "before the beginning");
        assert!(!wrote(11, 2), "by a primary before the beginning");
        assert!(!wrote(11, 4), "by the present primary, which repeated nothing of its own");
        assert!(change(3, vec![10], 5).wrote("a", None, 2, 4), "terms tell more than sequence numbers");
        assert!(!change(3, Vec::new(), 4).wrote("a", None, 11, 3), "not known");
        assert!(!change(3, vec![10], 3).wrote("a", None, 11, 3), "no other primary");
        assert!(one.has_moved("a", None) && !change(3, vec![], 3).has_moved("a", None));
    }

    #[test]
    fn what_is_known_of_one_index_counts_for_all() {
        use Repeated::{No, Unknown, Yes};
        assert_eq!((No.or(Yes), Unknown.or(Yes), No.or(Unknown), No.or(No)), (Yes, Yes, Unknown, No));
    }
}
