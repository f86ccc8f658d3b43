//! What happened between two moments: segments made, merges, refreshes.

use std::collections::BTreeMap;

use inrush_cluster::api::segments::ShardSegments;

use super::SegmentsMoment;

/// How far back [`Lately`] compares at least, where there are moments, ms.
const BACK_MS: u64 = 60_000;

/// Remembers an older moment to compare with: of the beginning, and later of one to two minutes
/// ago.
#[derive(Clone, Debug, Default)]
pub struct Lately {
    old: Option<SegmentsMoment>,
    newer: Option<SegmentsMoment>,
}

/// What happened between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Since {
    /// The time between them, seconds.
    pub seconds: f64,
    /// Copies that both moments have.
    pub copies: u64,
    /// Segments that were made in these, by refreshes, full buffers and merges. A segment that came
    /// and went between two moments counts: the numbers of segments tell.
    pub made: u64,
    /// Merges that ended.
    pub merged: u64,
    /// Bytes that they read.
    pub merged_bytes: u64,
    /// Time of merges, ms.
    pub merge_ms: u64,
    /// The part of it in which a limit of the rate held them back, ms.
    pub merge_throttled_ms: u64,
    /// Refreshes.
    pub refreshes: u64,
    /// Documents indexed, on all copies.
    pub indexed: u64,
}

impl Lately {
    /// Takes the next moment. A moment without an answer of the cluster is passed over.
    pub fn see(&mut self, now: &SegmentsMoment) {
        if now.trouble.is_some() {
            return;
        }
        match (&self.old, &self.newer) {
            (None, _) => self.old = Some(now.clone()),
            (Some(_), None) => self.newer = Some(now.clone()),
            (Some(_), Some(newer)) if now.time.saturating_sub(newer.time) >= BACK_MS => {
                self.old = self.newer.replace(now.clone());
            }
            _ => {}
        }
    }

    /// What happened between the older moment and `now`. `None` without an older one, and where
    /// counters went back because copies moved.
    pub fn since(&self, now: &SegmentsMoment) -> Option<Since> {
        Since::between(self.old.as_ref()?, now)
    }
}

impl Since {
    fn between(old: &SegmentsMoment, now: &SegmentsMoment) -> Option<Since> {
        let (before, after) = (old.activity?, now.activity?);
        let ms = now.time.checked_sub(old.time).filter(|ms| *ms > 0)?;
        let marks: BTreeMap<(&str, u32, &str), u64> =
            old.shards.iter().map(|shard| (place(shard), newest(shard))).collect();
        let made = |shard: &ShardSegments| newest(shard).checked_sub(*marks.get(&place(shard))?);
        let made: Vec<u64> = now.shards.iter().filter_map(made).collect();
        Some(Since {
            seconds: ms as f64 / 1000.0,
            copies: made.len() as u64,
            made: made.iter().sum(),
            merged: after.merged.checked_sub(before.merged)?,
            merged_bytes: after.merged_bytes.checked_sub(before.merged_bytes)?,
            merge_ms: after.merge_ms.checked_sub(before.merge_ms)?,
            merge_throttled_ms: after.merge_throttled_ms.checked_sub(before.merge_throttled_ms)?,
            refreshes: after.refreshes.checked_sub(before.refreshes)?,
            indexed: after.indexed.checked_sub(before.indexed)?,
        })
    }

    /// Segments that refreshes and full buffers made: those that no merge made.
    pub fn flushed(&self) -> u64 {
        self.made.saturating_sub(self.merged)
    }
}

fn place(shard: &ShardSegments) -> (&str, u32, &str) {
    (&shard.index, shard.shard, &shard.node)
}

/// How many segments the copy has begun: generations count from 0.
fn newest(shard: &ShardSegments) -> u64 {
    shard.segments.last().map_or(0, |segment| segment.generation + 1)
}
