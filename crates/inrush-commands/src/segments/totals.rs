//! The sums of a moment.

use std::collections::BTreeSet;

use inrush_cluster::api::segments::ShardSegments;
use serde::Serialize;

/// The sums of shard copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Indices.
    pub indices: u64,
    /// Copies of shards.
    pub copies: u64,
    /// The primaries among them.
    pub primaries: u64,
    /// Segments that searches see, of all copies.
    pub segments: u64,
    /// Segments that are being merged.
    pub merging: u64,
    /// Bytes of these.
    pub merging_bytes: u64,
    /// Documents of the primaries that searches see, nested ones among them.
    pub docs: u64,
    /// Deleted or replaced documents in segments of all copies that searches see.
    pub deleted: u64,
    /// Documents, deleted or not, in the same segments.
    pub stored: u64,
    /// Bytes of the same segments.
    pub bytes: u64,
    /// Bytes of committed segments that searches no longer see: they were merged into others, and
    /// are deleted by the next flush.
    pub left_bytes: u64,
    /// Segments that searches do not see yet.
    pub unseen: u64,
    /// The most segments of one copy.
    pub most: u64,
    /// Bytes of the largest copy.
    pub largest_bytes: u64,
}

impl Totals {
    /// Sums up.
    pub fn of<'a>(shards: impl IntoIterator<Item = &'a ShardSegments>) -> Self {
        let mut totals = Totals::default();
        let mut indices = BTreeSet::new();
        for shard in shards {
            indices.insert(shard.index.as_str());
            totals.add(shard);
        }
        totals.indices = indices.len() as u64;
        totals
    }

    fn add(&mut self, shard: &ShardSegments) {
        self.copies += 1;
        self.primaries += u64::from(shard.primary);
        let (mut segments, mut bytes) = (0, 0);
        for segment in &shard.segments {
            if !segment.searchable {
                match segment.committed {
                    true => self.left_bytes += segment.bytes,
                    false => self.unseen += 1,
                }
                continue;
            }
            segments += 1;
            bytes += segment.bytes;
            self.deleted += segment.deleted;
            self.stored += segment.docs + segment.deleted;
            if shard.primary {
                self.docs += segment.docs;
            }
            if segment.merge.is_some() {
                self.merging += 1;
                self.merging_bytes += segment.bytes;
            }
        }
        self.segments += segments;
        self.bytes += bytes;
        self.most = self.most.max(segments);
        self.largest_bytes = self.largest_bytes.max(bytes);
    }

    /// The part of the stored documents that are deleted, from 0 to 1.
    pub fn deleted_share(&self) -> f64 {
        match self.stored {
            0 => 0.0,
            stored => self.deleted as f64 / stored as f64,
        }
    }
}
