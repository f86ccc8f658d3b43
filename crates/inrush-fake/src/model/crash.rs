//! The cost of a crash. An index that syncs its translog with each request loses nothing. An index
//! with `index.translog.durability: async` loses the writes since its last flush. Real servers also
//! sync every few seconds; the fake does not, so it shows the worst case.

use std::collections::BTreeSet;

use super::cluster::Cluster;
use super::document::Slot;
use super::index::{Index, Key};
use super::op::Op;

impl Index {
    /// Stores a document, or the trace of a deleted one.
    pub(super) fn put(&mut self, key: Key, slot: Slot) {
        let before = self.docs.insert(key.clone(), slot);
        if self.settings.get("index.translog.durability").is_some_and(|value| value.eq_ignore_ascii_case("async")) {
            self.unsynced.push((key, before));
        } else {
            // The sync of this request covers the writes before it, too.
            self.unsynced.clear();
        }
    }

    /// Makes everything written so far durable.
    pub(crate) fn flush(&mut self) {
        self.unsynced.clear();
        self.commit();
    }

    /// Acknowledged writes that a crash would undo now.
    pub(crate) fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    fn crash(&mut self) -> usize {
        self.primary_terms.iter_mut().for_each(|term| *term += 1);
        let lost = std::mem::take(&mut self.unsynced);
        let count = lost.len();
        for (key, before) in lost.into_iter().rev() {
            match before {
                Some(slot) => self.docs.insert(key, slot),
                None => self.docs.remove(&key),
            };
        }
        if count > 0 {
            self.live_count = self.docs.values().filter(|slot| slot.source.is_some()).count();
            self.refresh();
        }
        count
    }
}

impl Cluster {
    /// Lets another copy take over as the primary of each shard of these operations' indices.
    pub(crate) fn change_primaries(&mut self, ops: &[Op]) {
        let names: BTreeSet<String> = ops.iter().filter_map(|op| self.resolve_existing(op)).collect();
        for (_, index) in self.indices.iter_mut().filter(|(name, _)| names.contains(*name)) {
            index.primary_terms.iter_mut().for_each(|term| *term += 1);
        }
    }

    /// Crashes all nodes at once and starts them again: unsynced writes are lost, primary terms
    /// rise. Returns the number of lost writes.
    pub(crate) fn crash(&mut self) -> usize {
        self.indices.values_mut().map(Index::crash).sum()
    }
}
