//! The shared state of a query's scans: their progress and the rejects that they found.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, Reject, SourceId};
use inrush_sources::{SourceError, Warnings};

/// The progress of a query's scans.
#[derive(Debug, Default)]
pub(super) struct Reading {
    bytes: AtomicU64,
    rows: Arc<AtomicU64>,
    totals: Mutex<Totals>,
    found: Mutex<Found>,
    pub(super) warnings: Warnings,
}

/// The bytes and rows that the scans will read in all, if known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    pub(super) bytes: Option<u64>,
    pub(super) rows: Option<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Totals { bytes: Some(0), rows: Some(0) }
    }
}

#[derive(Debug, Default)]
struct Found {
    rejects: VecDeque<DocBlock>,
    failed: Option<SourceError>,
}

impl Reading {
    /// The state for the next query, with the rejects found while tables were kept.
    pub(super) fn for_next_query(&self) -> Self {
        let found = std::mem::take(&mut *self.found());
        Reading { found: Mutex::new(found), warnings: self.warnings.clone(), ..Reading::default() }
    }

    /// Announces that a table of this many bytes and rows will be read. A table that is planned
    /// twice is read twice.
    pub(super) fn plan(&self, bytes: Option<u64>, rows: Option<u64>) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |a: Option<u64>, b| a.zip(b).map(|(a, b)| a + b);
        *totals = Totals { bytes: sum(totals.bytes, bytes), rows: sum(totals.rows, rows) };
    }

    pub(super) fn totals(&self) -> Totals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts bytes and rows that were read.
    pub(super) fn add(&self, bytes: u64, rows: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The running count of rows.
    pub(super) fn rows(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.rows)
    }

    /// Adds records that are not rows.
    pub(super) fn push_rejects(&self, block: DocBlock) {
        self.found().rejects.push_back(block);
    }

    /// The next records that are not rows.
    pub(super) fn pop_rejects(&self) -> Option<DocBlock> {
        self.found().rejects.pop_front()
    }

    /// Keeps the error that ended a scan, because the query's own error says less.
    pub(super) fn fail(&self, error: SourceError) {
        self.found().failed.get_or_insert(error);
    }

    pub(super) fn failed(&self) -> Option<SourceError> {
        self.found().failed.take()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        // A queue and an error are consistent at every moment.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds the lines of records that are not rows. A block knows only its own lines, and blocks are
/// decoded in parallel.
#[derive(Debug, Default)]
pub(super) struct Lines {
    next: u64,
    early: BTreeMap<u64, Part>,
    /// Lines since the last rejects of each source.
    passed: HashMap<SourceId, u64>,
}

/// The part of a block that is kept.
#[derive(Debug, Default)]
struct Part {
    origin: Origin,
    lines: u64,
    rejects: Vec<(Record, Bytes, Reject)>,
}

impl Lines {
    /// Takes block `number` of the scan with its rejects. Returns blocks that contain only rejects,
    /// in the order of the source. Their lines count from the block before.
    pub(super) fn push(&mut self, number: u64, block: &DocBlock, rejects: Vec<Reject>) -> Vec<DocBlock> {
        let keep = |reject: Reject| {
            let at = reject.record as usize;
            (block.records[at], Bytes::copy_from_slice(block.record(at)), reject)
        };
        let part = Part { origin: block.origin, lines: block.lines, rejects: rejects.into_iter().map(keep).collect() };
        self.early.insert(number, part);
        let mut blocks = Vec::new();
        while let Some(part) = self.early.remove(&self.next) {
            self.next += 1;
            let passed = self.passed.entry(part.origin.source).or_default();
            if part.rejects.is_empty() {
                *passed += part.lines;
                continue;
            }
            blocks.push(part.block(*passed));
            *passed = 0;
        }
        blocks
    }
}

impl Part {
    fn block(self, passed: u64) -> DocBlock {
        let mut data = Vec::new();
        let mut records = Vec::new();
        let mut rejects = Vec::new();
        for ((record, text, reject), number) in self.rejects.into_iter().zip(0..) {
            let start = data.len() as u32;
            data.extend_from_slice(&text);
            let line = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(record.line);
            records.push(Record { start, end: data.len() as u32, byte: record.byte, line });
            rejects.push(Reject { record: number, ..reject });
        }
        let (origin, lines) = (self.origin, passed + self.lines);
        DocBlock { origin, lines, data: data.into(), records, rejects, meta: Vec::new(), bytes_read: 0 }
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::Code;

    use super::*;

    #[test]
    fn lines_are_those_of_the_source_in_whatever_order_blocks_come() {
        let block = |lines: u64, text: &'static str| DocBlock {
            lines,
            data: Bytes::from_static(text.as_bytes()),
            records: vec![Record { start: 0, end: text.len() as u32, byte: 3, line: 1 }],
            ..DocBlock::default()
        };
        let bad = || vec![Reject { record: 0, kind: Code::BadValue, reason: "bad".into() }];
        let mut lines = Lines::default();
        assert!(lines.push(2, &block(5, "c"), bad()).is_empty());
        assert!(lines.push(0, &block(10, "a"), Vec::new()).is_empty());
        let found = lines.push(1, &block(20, "b"), bad());
        assert_eq!(found.iter().map(|b| (b.lines, b.records[0].line)).collect::<Vec<_>>(), [(30, 11), (5, 1)]);
        assert_eq!((found[0].record(0), found[1].record(0)), (&b"b"[..], &b"c"[..]));
    }
}
