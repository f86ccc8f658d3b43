//! What a crash costs. An index that syncs its translog with each request loses nothing; one that does not (`async`) loses what was
//! not flushed since. The sync that a server makes every few seconds is left out: this is the worst case.

use super::Cluster;
use super::index::{Doc, Index};

/// One write that a crash would undo: which document, and what was there before.
pub(super) type Unsynced = ((u32, String), Option<Doc>);

impl Index {
    /// Stores a document, or the trace of a deleted one.
    pub(super) fn put(&mut self, key: (u32, String), doc: Doc) {
        let before = self.docs.insert(key.clone(), doc);
        if self.settings.get("index.translog.durability").is_some_and(|value| value.eq_ignore_ascii_case("async")) {
            self.unsynced.push((key, before));
        } else {
            // The sync of this request takes along what came before it.
            self.unsynced.clear();
        }
    }

    /// Makes durable what was written so far.
    pub fn flush(&mut self) {
        self.unsynced.clear();
    }

    /// Acknowledged writes that a crash would undo now.
    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    /// The primary term of each shard.
    pub fn primary_terms(&self) -> &[u64] {
        &self.primary_terms
    }

    fn crash(&mut self) -> usize {
        self.primary_terms.iter_mut().for_each(|term| *term += 1);
        let lost = std::mem::take(&mut self.unsynced);
        let count = lost.len();
        for (key, before) in lost.into_iter().rev() {
            match before {
                Some(doc) => self.docs.insert(key, doc),
                None => self.docs.remove(&key),
            };
        }
        if count > 0 {
            self.live_count = self.docs.values().filter(|doc| doc.source.is_some()).count();
            self.refresh();
        }
        count
    }
}

impl Cluster {
    /// All nodes lose power at once and start again: what was not synced is gone, and the primary terms rise. Returns how many
    /// acknowledged writes were lost. Requests are not cut off by it; kill the nodes for that.
    pub fn crash(&mut self) -> usize {
        self.indices.values_mut().map(Index::crash).sum()
    }
}
