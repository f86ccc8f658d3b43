//! The ledger: every record that was read is settled exactly once. Each partition has a watermark
//! below which all records are settled.

mod feedback;
mod resume;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::block::Origin;
pub use crate::block::Partition;
use crate::ranges::Ranges;
use crate::report::Counts;

/// A block that the ledger tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    partition: Partition,
    number: u64,
}

/// The progress of a partition without gaps: the position to resume from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    /// Documents from the start of the partition that are settled.
    pub docs: u64,
}

/// A broken invariant: a defect of this program, never of the data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger does not add up: {0}; please report this")]
pub struct LedgerError(String);

impl LedgerError {
    pub(crate) fn new(what: String) -> Self {
        LedgerError(what)
    }
}

/// The records in flight and the settled records. Takes one bit for each record in flight.
#[derive(Debug, Default)]
pub struct Ledger {
    partitions: BTreeMap<Partition, Blocks>,
    opened: u64,
    settled: u64,
    /// Records that another consumer reads.
    given_back: u64,
    /// Only records below the horizon of their partition may be opened.
    has_horizons: bool,
    /// Partitions without later blocks, which are forgotten once they are settled.
    ended: BTreeSet<Partition>,
}

#[derive(Debug, Default)]
struct Blocks {
    /// The number of the first block in `open`.
    first: u64,
    open: VecDeque<Entry>,
    /// The start of the first block.
    first_doc: u64,
    /// The required start of the next block. It is the watermark if `open` is empty.
    next_doc: u64,
    /// Numbers without a document, below `next_doc` and among those that an earlier run settled.
    absent: u64,
    /// Numbers that an earlier run settled. Those at or above `next_doc` have not been read again
    /// yet.
    earlier: Ranges,
    /// An earlier run may have sent records below this number.
    sent_before: u64,
    /// Records from this number on may not be opened.
    horizon: u64,
    /// Settled at the end of a stopped run with unknown outcome. A later run has to send them
    /// again.
    unresolved: Ranges,
    /// The lowest number of a record whose end stayed unknown.
    unknown_from: Option<u64>,
}

#[derive(Debug)]
struct Entry {
    first_doc: u64,
    /// One more than the last number that the block spans.
    end_doc: u64,
    /// The numbers of the records, counted from `first_doc`, where they are not consecutive.
    numbers: Option<Vec<u32>>,
    len: u32,
    left: u32,
    done: Vec<u64>,
}

impl Ledger {
    /// Takes responsibility for the `len` records of a block.
    ///
    /// # Errors
    /// The block does not follow the one before it, or lies beyond the horizon.
    pub fn open(&mut self, origin: &Origin, len: u32) -> Result<BlockId, LedgerError> {
        let partition = (origin.source, origin.partition);
        let blocks = self.partitions.entry(partition).or_insert_with(|| Blocks {
            first_doc: origin.first_doc,
            next_doc: origin.first_doc,
            ..Blocks::default()
        });
        if blocks.next_doc != origin.first_doc {
            return Err(LedgerError(format!(
                "source {} partition {}: a block starts at document {}, expected {}",
                origin.source.0, origin.partition, origin.first_doc, blocks.next_doc
            )));
        }
        let end = origin.first_doc + u64::from(len);
        self.take(origin, Entry::new(origin.first_doc, end, len, None))
    }

    /// As [`Ledger::open`], for a source with numbers of its own ([`Origin::own_numbers`]).
    /// `numbers` are the numbers of the records, counted from the start of the block, ascending.
    /// The block spans `span` numbers. The first block of a partition may start anywhere in the
    /// range that an earlier run settled without a gap, and anywhere at all where there is neither
    /// an earlier run nor a horizon.
    ///
    /// # Errors
    /// The block does not follow the one before it, `numbers` do not ascend or exceed `span`, or
    /// the block lies beyond the horizon.
    pub fn open_numbered(&mut self, origin: &Origin, numbers: Vec<u32>, span: u64) -> Result<BlockId, LedgerError> {
        let begun = || Blocks { first_doc: origin.first_doc, next_doc: origin.first_doc, ..Blocks::default() };
        let new = if self.has_horizons { Blocks::default() } else { begun() };
        let blocks = self.partitions.entry((origin.source, origin.partition)).or_insert(new);
        let settled = blocks.earlier.iter().next().filter(|(first, _)| *first == 0).map_or(0, |(_, end)| end);
        if blocks.next_doc == 0 && origin.first_doc <= settled {
            blocks.next_doc = origin.first_doc;
        }
        let ascending = numbers.windows(2).all(|w| w[0] < w[1]);
        if blocks.next_doc != origin.first_doc
            || !ascending
            || numbers.last().is_some_and(|last| u64::from(*last) >= span)
        {
            return Err(LedgerError(format!(
                "source {} partition {}: a block spans {span} numbers from {} with {numbers:?}, expected one that starts at {}",
                origin.source.0, origin.partition, origin.first_doc, blocks.next_doc
            )));
        }
        // The numbers come from a buffer of less than 4 GiB.
        let len = numbers.len() as u32;
        self.take(origin, Entry::new(origin.first_doc, origin.first_doc + span, len, Some(numbers)))
    }

    fn take(&mut self, origin: &Origin, mut entry: Entry) -> Result<BlockId, LedgerError> {
        let partition = (origin.source, origin.partition);
        let blocks = self.partitions.entry(partition).or_default();
        let end = entry.end_doc;
        if self.has_horizons && entry.len > 0 && end > blocks.horizon {
            return Err(LedgerError(format!(
                "source {} partition {}: documents up to {end} were to be sent, but the checkpoint allows {}",
                origin.source.0, origin.partition, blocks.horizon
            )));
        }
        blocks.next_doc = end;
        let id = BlockId { partition, number: blocks.first + blocks.open.len() as u64 };
        let mut settled_before = 0;
        for (first, end) in blocks.earlier.within(origin.first_doc, end) {
            settled_before += end - first;
            entry.mark(entry.record_at(first)..entry.record_at(end));
        }
        // Numbers without a record that an earlier run settled are counted already.
        let marked = u64::from(entry.len - entry.left);
        blocks.absent += (end - origin.first_doc - u64::from(entry.len)) - (settled_before - marked);
        self.opened += u64::from(entry.left);
        blocks.open.push_back(entry);
        blocks.pop_settled();
        Ok(id)
    }

    /// Marks records of a block as settled. Returns whether the whole block is settled now.
    ///
    /// # Errors
    /// The block is unknown or settled, or one of the records was settled before.
    pub fn settle(&mut self, id: BlockId, records: Range<u32>) -> Result<bool, LedgerError> {
        let count = u64::from(records.end.saturating_sub(records.start));
        let complete = self.mark(id, records)?;
        self.settled += count;
        Ok(complete)
    }

    /// Gives up responsibility for records of a block: another consumer reads them. Returns whether
    /// nothing of the block is left.
    ///
    /// # Errors
    /// As [`Ledger::settle`].
    pub(crate) fn give_back(&mut self, id: BlockId, records: Range<u32>) -> Result<bool, LedgerError> {
        let count = u64::from(records.end.saturating_sub(records.start));
        let complete = self.mark(id, records)?;
        self.given_back += count;
        Ok(complete)
    }

    fn mark(&mut self, id: BlockId, records: Range<u32>) -> Result<bool, LedgerError> {
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
        let complete = entry.left == 0;
        blocks.pop_settled();
        Ok(complete)
    }

    /// The progress of the partition without gaps.
    pub fn watermark(&self, partition: Partition) -> Watermark {
        let docs = self.partitions.get(&partition).map_or(0, |blocks| match blocks.open.front() {
            Some(entry) => entry.number(entry.leading_settled()),
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

    /// Records that were opened, settled or not.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Records that are settled.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Checks that the counts match the ledger and that every document is in exactly one bucket.
    pub(crate) fn check(&self, counts: &Counts) -> Result<(), LedgerError> {
        if counts.docs_read != self.settled || !counts.add_up() {
            return Err(LedgerError(format!("{} documents are settled, but the counts are {counts:?}", self.settled)));
        }
        Ok(())
    }

    /// Records that were opened, and are neither settled nor given back.
    pub fn in_flight(&self) -> u64 {
        self.opened - self.settled - self.given_back
    }

    /// Records that were given back.
    pub(crate) fn given_back(&self) -> u64 {
        self.given_back
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
    fn new(first_doc: u64, end_doc: u64, len: u32, numbers: Option<Vec<u32>>) -> Self {
        Entry { first_doc, end_doc, numbers, len, left: len, done: vec![0; len.div_ceil(64) as usize] }
    }

    /// The number of a record; the end of the block if there is no such record.
    fn number(&self, record: u32) -> u64 {
        match &self.numbers {
            None => self.first_doc + u64::from(record),
            Some(numbers) => {
                numbers.get(record as usize).map_or(self.end_doc, |number| self.first_doc + u64::from(*number))
            }
        }
    }

    /// The first record with this number or a higher one. `number` is within the block or its end.
    fn record_at(&self, number: u64) -> u32 {
        let offset = number - self.first_doc;
        match &self.numbers {
            // The offset is within the block, so it fits.
            None => offset as u32,
            Some(numbers) => numbers.partition_point(|number| u64::from(*number) < offset) as u32,
        }
    }

    /// Marks records as settled. Returns `false` if one of them was settled before; the entry must
    /// not be used after that.
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
    fn records_are_settled_once_and_only_if_known() {
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

    /// Opens the numbers `first..end` in blocks of ten. Those in `docs` have a document.
    fn open_tens(ledger: &mut Ledger, docs: &[u64], first: u64, end: u64) -> Vec<(BlockId, u32, u64)> {
        let mut records = Vec::new();
        for start in (first..end).step_by(10) {
            let span = (end - start).min(10);
            let numbers: Vec<u64> = docs.iter().copied().filter(|doc| (start..start + span).contains(doc)).collect();
            let offsets = numbers.iter().map(|number| (number - start) as u32).collect();
            let id = ledger.open_numbered(&origin(start), offsets, span).unwrap();
            records.extend(numbers.into_iter().enumerate().map(|(at, number)| (id, at as u32, number)));
        }
        records
    }

    #[test]
    fn numbers_without_a_document_are_settled_and_not_counted() {
        let mut ledger = Ledger::default();
        let records = open_tens(&mut ledger, &[2, 3, 7, 25], 0, 30);
        let partition = records[0].0.partition;
        assert_eq!((ledger.opened(), ledger.watermark(partition).docs), (4, 2));
        for (id, at, number) in &records {
            if *number != 3 {
                ledger.settle(*id, *at..at + 1).unwrap();
            }
        }
        assert_eq!(ledger.watermark(partition).docs, 3);
        let checkpoint = &ledger.checkpoint()[0];
        let settled: Vec<_> = checkpoint.settled.iter().collect();
        assert_eq!((settled, checkpoint.absent), (vec![(0, 3), (4, 30)], 26));
        assert_eq!((checkpoint.docs(), checkpoint.settled_up_to()), (3, 3));
        assert!(ledger.open_numbered(&origin(31), Vec::new(), 1).is_err(), "a gap");
        assert!(ledger.open_numbered(&origin(30), vec![1, 1], 2).is_err(), "not ascending");
        assert!(ledger.open_numbered(&origin(30), vec![2], 2).is_err(), "beyond the span");

        // Document 3 was written again as 31, and 25 was deleted. Settled documents stay counted.
        let mut later = Ledger::default();
        later.resume(&ledger.checkpoint());
        assert_eq!((later.opened(), later.settled()), (3, 3));
        let records = open_tens(&mut later, &[2, 7, 31], 3, 33);
        assert_eq!((later.opened(), later.settled()), (4, 3));
        assert_eq!(later.unsettled(records[0].0), Vec::<Range<u32>>::new(), "7 was settled before");
        let (id, at, _) = records[1];
        later.settle(id, at..at + 1).unwrap();
        let checkpoint = &later.checkpoint()[0];
        assert_eq!((checkpoint.docs(), checkpoint.settled_up_to(), checkpoint.absent), (4, 33, 29));
    }

    proptest! {
        #[test]
        fn a_source_with_gaps_can_be_resumed(
            docs in prop::collection::btree_set(0u64..100, 0..40),
            done in prop::collection::btree_set(0u64..100, 0..40),
            again in prop::collection::btree_set(0u64..130, 0..40),
        ) {
            let docs: Vec<u64> = docs.into_iter().collect();
            let mut ledger = Ledger::default();
            let mut settled = 0;
            for (id, at, number) in open_tens(&mut ledger, &docs, 0, 100) {
                if done.contains(&number) {
                    ledger.settle(id, at..at + 1).unwrap();
                    settled += 1;
                }
            }
            let checkpoint = ledger.checkpoint().remove(0);
            prop_assert_eq!(checkpoint.docs(), settled);
            let unsettled = docs.iter().find(|doc| !done.contains(doc)).copied().unwrap_or(100);
            prop_assert_eq!(checkpoint.settled_up_to(), unsettled);
            // Some documents below 100 are deleted later. No number without a document gets one.
            let later_docs: Vec<u64> =
                again.into_iter().filter(|number| *number >= 100 || docs.contains(number)).collect();
            let mut later = Ledger::default();
            later.resume(&[checkpoint]);
            let mut expected = settled;
            for (id, at, number) in open_tens(&mut later, &later_docs, unsettled, 130) {
                if number >= 100 || !done.contains(&number) {
                    later.settle(id, at..at + 1).unwrap();
                    expected += 1;
                }
            }
            let checkpoint = later.checkpoint().remove(0);
            prop_assert_eq!((checkpoint.docs(), checkpoint.settled_up_to()), (expected, 130));
            prop_assert_eq!((later.settled(), later.in_flight()), (expected, 0));
        }

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
            prop_assert_eq!(ledger.in_flight(), 0);
        }
    }
}
