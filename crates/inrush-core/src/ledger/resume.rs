//! The part of the ledger for checkpoints: what earlier runs settled and may have sent, the
//! horizons, and the records left open at the end of a run.

use std::ops::Range;

use super::{BlockId, Blocks, Entry, Ledger, LedgerError, Partition};
use crate::checkpoint::{Checkpoint, PartitionCheckpoint};
use crate::items::ItemBlock;
use crate::ranges::Ranges;

impl Ledger {
    /// Resumes an earlier run: its settled records are not settled again, and the records that it
    /// may have sent are known.
    pub(crate) fn resume(&mut self, partitions: &[PartitionCheckpoint]) {
        for checkpoint in partitions {
            let settled = checkpoint.docs();
            self.opened += settled;
            self.settled += settled;
            let blocks = Blocks {
                earlier: checkpoint.settled.clone(),
                absent: checkpoint.absent,
                sent_before: checkpoint.horizon,
                horizon: checkpoint.horizon,
                ..Blocks::default()
            };
            self.partitions.insert(checkpoint.partition(), blocks);
        }
    }

    /// From now on, only records below a horizon may be opened.
    pub(crate) fn keep_horizons(&mut self) {
        self.has_horizons = true;
    }

    /// Allows records of the partition below `horizon` to be opened. A horizon never decreases.
    pub(crate) fn allow(&mut self, partition: Partition, horizon: u64) {
        let blocks = self.partitions.entry(partition).or_default();
        blocks.horizon = blocks.horizon.max(horizon);
    }

    /// The horizon of the partition.
    pub(crate) fn horizon(&self, partition: Partition) -> u64 {
        match self.has_horizons {
            true => self.partitions.get(&partition).map_or(0, |blocks| blocks.horizon),
            false => u64::MAX,
        }
    }

    /// The records of a block that are not settled.
    pub(crate) fn unsettled(&self, id: BlockId) -> Vec<Range<u32>> {
        let entry = self.partitions.get(&id.partition).and_then(|blocks| {
            let at = id.number.checked_sub(blocks.first)?;
            blocks.open.get(at as usize)
        });
        let Some(entry) = entry else { return Vec::new() };
        if entry.left == entry.len {
            return std::iter::once(0..entry.len).filter(|all| !all.is_empty()).collect();
        }
        entry.runs().into_iter().filter(|(settled, _)| !settled).map(|(_, records)| records).collect()
    }

    /// The number up to which an earlier run may have sent the partition.
    pub(crate) fn sent_before(&self, partition: Partition) -> u64 {
        self.partitions.get(&partition).map_or(0, |blocks| blocks.sent_before)
    }

    /// Marks records that were given up at the end of a stopped run. A checkpoint treats them as
    /// not settled.
    pub(crate) fn leave_unresolved(&mut self, items: &ItemBlock, records: Range<u32>) {
        if let Some(blocks) = self.partitions.get_mut(&items.partition()) {
            for record in records {
                let number = items.number(record);
                blocks.unresolved.add(number, number + 1);
            }
        }
    }

    /// The number of unresolved records.
    pub(crate) fn unresolved(&self) -> u64 {
        self.partitions.values().map(|blocks| blocks.unresolved.count()).sum()
    }

    /// The settled records and the current horizons.
    pub(crate) fn checkpoint(&self) -> Vec<PartitionCheckpoint> {
        let checkpoint = |(partition, blocks): (&Partition, &Blocks)| PartitionCheckpoint {
            source: partition.0,
            partition: partition.1,
            settled: blocks.settled(),
            absent: blocks.absent,
            horizon: blocks.horizon,
        };
        self.partitions.iter().map(checkpoint).collect()
    }

    /// The checkpoint when nothing is in flight. The horizon then covers only records that may have
    /// been sent without being settled.
    pub(crate) fn last_checkpoint(&self) -> Vec<PartitionCheckpoint> {
        let mut checkpoints = self.checkpoint();
        for (checkpoint, blocks) in checkpoints.iter_mut().zip(self.partitions.values()) {
            let settled_before: u64 =
                checkpoint.settled.within(0, blocks.sent_before).map(|(first, end)| end - first).sum();
            let uncertain = if settled_before < blocks.sent_before { blocks.sent_before } else { 0 };
            checkpoint.horizon = uncertain.max(blocks.unresolved.end());
        }
        checkpoints
    }
}

impl Blocks {
    /// The settled numbers, without the unresolved ones.
    fn settled(&self) -> Ranges {
        let mut settled = Ranges::default();
        settled.add(self.first_doc, self.open.front().map_or(self.next_doc, |entry| entry.first_doc));
        for entry in &self.open {
            entry.settled(&mut settled);
        }
        self.earlier.within(self.next_doc, u64::MAX).for_each(|(first, end)| settled.add(first, end));
        self.unresolved.iter().for_each(|(first, end)| settled.remove(first, end));
        settled
    }
}

impl Entry {
    /// Adds the settled numbers of this block. Numbers without a document count as settled.
    fn settled(&self, settled: &mut Ranges) {
        let mut next = self.first_doc;
        for (_, records) in self.runs().into_iter().filter(|(settled, _)| !settled) {
            for record in self.gaps(records) {
                settled.add(next, self.number(record.start));
                next = self.number(record.end - 1) + 1;
            }
        }
        settled.add(next, self.end_doc);
    }

    /// Splits the records into pieces with consecutive numbers.
    fn gaps(&self, records: Range<u32>) -> Vec<Range<u32>> {
        let Some(numbers) = &self.numbers else { return vec![records] };
        let mut pieces: Vec<Range<u32>> = Vec::new();
        for record in records {
            let follows = record > 0 && numbers[record as usize] == numbers[record as usize - 1] + 1;
            match pieces.last_mut() {
                Some(last) if follows => last.end = record + 1,
                _ => pieces.push(record..record + 1),
            }
        }
        pieces
    }

    /// The records as runs of settled and unsettled ones.
    fn runs(&self) -> Vec<(bool, Range<u32>)> {
        let mut runs: Vec<(bool, Range<u32>)> = Vec::new();
        let mut at = 0;
        while at < self.len {
            let word = self.done[(at / 64) as usize] >> (at % 64);
            let settled = word & 1 == 1;
            let run = if settled { word.trailing_ones() } else { word.trailing_zeros() };
            let end = (at + run.min(64 - at % 64)).min(self.len);
            match runs.last_mut() {
                Some((last, range)) if *last == settled => range.end = end,
                _ => runs.push((settled, at..end)),
            }
            at = end;
        }
        runs
    }
}

impl Checkpoint {
    /// Checks that a load can resume from this checkpoint.
    ///
    /// # Errors
    /// The counts do not match the settled documents: the checkpoint was damaged.
    pub fn check(&self) -> Result<(), LedgerError> {
        let settled: u64 = self.partitions.iter().map(PartitionCheckpoint::docs).sum();
        let sound = self.partitions.iter().all(|p| p.settled.is_sound() && p.absent <= p.settled.count());
        if !sound || settled != self.counts.docs_read || !self.counts.add_up() {
            return Err(LedgerError::new(format!(
                "the checkpoint lists {settled} settled documents, but its counts are {:?}",
                self.counts
            )));
        }
        Ok(())
    }
}
