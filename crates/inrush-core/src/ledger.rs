//! The ledger: every record that was read is settled exactly once, and every partition has a watermark below which all
//! are.

mod resume;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::block::{Origin, SourceId};
use crate::ranges::Ranges;
use crate::report::Counts;

/// A part of a source that is read in order.
pub type Partition = (SourceId, u32);

/// A block that the ledger watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    partition: Partition,
    number: u64,
}

/// How far a partition is settled without a gap: the place to resume from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    /// So many documents of the partition, counted from its beginning, are settled.
    pub docs: u64,
}

/// A promise of ours that was broken: a defect in this program, never in the data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger does not add up: {0}; please report this")]
pub struct LedgerError(String);

impl LedgerError {
    pub(crate) fn new(what: String) -> Self {
        LedgerError(what)
    }
}

/// What is under way and what is settled. Costs a bit for each record under way.
#[derive(Debug, Default)]
pub struct Ledger {
    partitions: BTreeMap<Partition, Blocks>,
    opened: u64,
    settled: u64,
    /// Only records below the horizon of their partition may be opened.
    has_horizons: bool,
}

#[derive(Debug, Default)]
struct Blocks {
    /// The number of the first block in `open`.
    first: u64,
    open: VecDeque<Entry>,
    /// Where the first block began.
    first_doc: u64,
    /// Where the next block has to begin, and where the watermark is if `open` is empty.
    next_doc: u64,
    /// Settled by an earlier run; behind `next_doc` not read again yet.
    earlier: Ranges,
    /// Records below may have been sent by an earlier run.
    sent_before: u64,
    /// Records from here on may not be opened.
    horizon: u64,
    /// Settled at the end of a stopped run without being known: a later run has to send them again.
    unresolved: Ranges,
}

#[derive(Debug)]
struct Entry {
    first_doc: u64,
    len: u32,
    left: u32,
    done: Vec<u64>,
}

impl Ledger {
    /// Takes responsibility for the `len` records of a block.
    pub fn open(&mut self, origin: &Origin, len: u32) -> Result<BlockId, LedgerError> {
        let partition = (origin.source, origin.partition);
        let blocks = self.partitions.entry(partition).or_insert_with(|| Blocks {
            first_doc: origin.first_doc,
            next_doc: origin.first_doc,
            ..Blocks::default()
        });
        if blocks.next_doc != origin.first_doc {
            return Err(LedgerError(format!(
                "source {} partition {}: a block begins at document {}, expected {}",
                origin.source.0, origin.partition, origin.first_doc, blocks.next_doc
            )));
        }
        let end = origin.first_doc + u64::from(len);
        if self.has_horizons && len > 0 && end > blocks.horizon {
            return Err(LedgerError(format!(
                "source {} partition {}: documents up to {end} were to be sent, and a checkpoint allows {}",
                origin.source.0, origin.partition, blocks.horizon
            )));
        }
        blocks.next_doc = end;
        let id = BlockId { partition, number: blocks.first + blocks.open.len() as u64 };
        let mut entry = Entry { first_doc: origin.first_doc, len, left: len, done: vec![0; len.div_ceil(64) as usize] };
        for (first, end) in blocks.earlier.within(origin.first_doc, end) {
            // Within the block, so it fits.
            entry.mark((first - origin.first_doc) as u32..(end - origin.first_doc) as u32);
        }
        self.opened += u64::from(entry.left);
        blocks.open.push_back(entry);
        blocks.pop_settled();
        Ok(id)
    }

    /// Notes that these records of a block reached their end. Returns whether all of the block now did.
    pub fn settle(&mut self, id: BlockId, records: Range<u32>) -> Result<bool, LedgerError> {
        let blocks =
            self.partitions.get_mut(&id.partition).ok_or_else(|| LedgerError(format!("{id:?} was never opened")))?;
        let entry = id
            .number
            .checked_sub(blocks.first)
            .and_then(|at| blocks.open.get_mut(at as usize))
            .ok_or_else(|| LedgerError(format!("{id:?} is settled already, records {records:?}")))?;
        if records.end > entry.len || records.start > records.end {
            return Err(LedgerError(format!("{id:?} has {} records, not {records:?}", entry.len)));
        }
        if !entry.mark(records.clone()) {
            return Err(LedgerError(format!("{id:?}: a record of {records:?} is settled twice")));
        }
        self.settled += u64::from(records.end - records.start);
        let complete = entry.left == 0;
        blocks.pop_settled();
        Ok(complete)
    }

    /// How far the partition is settled without a gap.
    pub fn watermark(&self, partition: Partition) -> Watermark {
        let docs = self.partitions.get(&partition).map_or(0, |blocks| match blocks.open.front() {
            Some(entry) => entry.first_doc + u64::from(entry.leading_settled()),
            None => {
                blocks.earlier.within(blocks.next_doc, u64::MAX).next().map_or(blocks.next_doc, |(first, end)| {
                    if first == blocks.next_doc { end } else { blocks.next_doc }
                })
            }
        });
        Watermark { docs }
    }

    /// The partitions that were opened.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        self.partitions.keys().copied()
    }

    /// Records that the ledger took responsibility for.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Records that are settled.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Whether the counts are those of the ledger and every document is in exactly one bucket.
    pub(crate) fn check(&self, counts: &Counts) -> Result<(), LedgerError> {
        if counts.docs_read != self.settled || !counts.add_up() {
            return Err(LedgerError(format!("{} documents are settled, and the counts are {counts:?}", self.settled)));
        }
        Ok(())
    }

    /// Records that are under way.
    pub fn under_way(&self) -> u64 {
        self.opened - self.settled
    }
}

impl Blocks {
    fn pop_settled(&mut self) {
        while self.open.front().is_some_and(|entry| entry.left == 0) {
            self.open.pop_front();
            self.first += 1;
        }
    }
}

impl Entry {
    /// Marks records as settled; false where one of them was already, and then the entry is of no more use.
    fn mark(&mut self, records: Range<u32>) -> bool {
        let mut at = records.start;
        while at < records.end {
            let word = &mut self.done[(at / 64) as usize];
            let bits = (64 - at % 64).min(records.end - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            if *word & mask != 0 {
                return false;
            }
            *word |= mask;
            at += bits;
        }
        self.left -= records.end - records.start;
        true
    }

    fn leading_settled(&self) -> u32 {
        let mut count = 0;
        for word in &self.done {
            count += word.trailing_ones();
            if *word != u64::MAX {
                break;
            }
        }
        count.min(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(first_doc: u64) -> Origin {
        Origin { first_doc, ..Origin::default() }
    }

    #[test]
    fn settles_once_and_only_what_it_knows() {
        let mut ledger = Ledger::default();
        let a = ledger.open(&origin(0), 100).unwrap();
        let b = ledger.open(&origin(100), 1).unwrap();
        assert_eq!(ledger.settle(a, 10..70), Ok(false));
        assert_eq!(ledger.watermark(a.partition).docs, 0);
        assert!(ledger.settle(a, 69..71).is_err());
        assert!(ledger.settle(a, 99..101).is_err());
        assert_eq!(ledger.settle(b, 0..1), Ok(true));
        assert_eq!(ledger.settle(a, 0..10), Ok(false));
        assert_eq!(ledger.watermark(a.partition).docs, 70);
        assert_eq!(ledger.settle(a, 70..100), Ok(true));
        assert_eq!(ledger.watermark(a.partition).docs, 101);
        assert!(ledger.settle(a, 0..1).is_err());
        assert_eq!((ledger.opened(), ledger.settled()), (101, 101));
        assert!(ledger.open(&origin(102), 1).is_err(), "a gap");
        assert!(ledger.open(&origin(101), 0).is_ok(), "an empty block");
        assert_eq!(ledger.watermark(a.partition).docs, 101);
    }

    proptest! {
        #[test]
        fn the_watermark_is_the_first_unsettled(lens in prop::collection::vec(0u32..200, 1..6), order in any::<u64>()) {
            let mut ledger = Ledger::default();
            let mut ids = Vec::new();
            let mut first = 0u64;
            for &len in &lens {
                let id = ledger.open(&origin(first), len).unwrap();
                ids.extend((0..len).map(|i| (id, i, first + u64::from(i))));
                first += u64::from(len);
            }
            let mut seed = order;
            let mut left: std::collections::BTreeSet<u64> = (0..first).collect();
            while !ids.is_empty() {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (id, i, doc) = ids.swap_remove((seed >> 33) as usize % ids.len());
                ledger.settle(id, i..i + 1).unwrap();
                left.remove(&doc);
                prop_assert_eq!(ledger.watermark(id.partition).docs, left.first().copied().unwrap_or(first));
            }
            prop_assert_eq!(ledger.under_way(), 0);
        }
    }
}
