//! The segments of an index on a terminal, as bars, and elsewhere, as a table.

mod bars;
mod picture;
mod screen;
mod table;
mod words;

use inrush_commands::segments::{Advice, Header, SegmentsMoment, ShardSegments, Since, Totals};

pub(crate) use picture::picture;
pub(crate) use screen::Terminal;
pub(crate) use table::table;

/// What is shown: a moment, and what is known about it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) header: &'a Header,
    pub(crate) moment: &'a SegmentsMoment,
    pub(crate) since: Option<&'a Since>,
    pub(crate) advice: &'a [Advice],
}

/// The size and the abilities of a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Columns.
    pub(crate) width: usize,
    /// Lines that a picture may have. `None` for a picture that is drawn once and may scroll.
    pub(crate) height: Option<usize>,
    /// Whether colours may be used.
    pub(crate) colours: bool,
}

/// Shard copies with their sums, those with the most segments first, then those with the most
/// deleted documents.
fn worst_first<'a>(shards: impl IntoIterator<Item = &'a ShardSegments>) -> Vec<(&'a ShardSegments, Totals)> {
    let mut all: Vec<(&ShardSegments, Totals)> = shards.into_iter().map(|shard| (shard, Totals::of([shard]))).collect();
    all.sort_by_key(|(_, totals)| std::cmp::Reverse(badness(totals)));
    all
}

/// What makes shards bad: segments, then the share of deleted documents, then the size.
fn badness(totals: &Totals) -> (u64, u64, u64) {
    (totals.segments, (totals.deleted_share() * 1_000.0) as u64, totals.bytes)
}

#[cfg(test)]
mod tests;
