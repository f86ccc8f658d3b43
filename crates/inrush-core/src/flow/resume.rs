//! Going on after a crash. A checkpoint says which documents are settled, and up to where documents may have been sent since
//! (the horizon): it has to be on disk before anything beyond it is sent. What lies between is sent again, as something that may be
//! there already.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::Flow;
use super::durable::Durable;
use super::slot::Slot;
use crate::batch::{Segment, Tracked};
use crate::checkpoint::Checkpoint;
use crate::items::ItemBlock;
use crate::ledger::{LedgerError, Partition};
use crate::report::{Counts, Tally};
use crate::time::Time;

impl Flow {
    /// From now on nothing is taken beyond the horizons, and nothing without an id is repeated, unless [`Flow::handle_checkpoint`]
    /// allows it. To be called before the first block, with the checkpoint of an earlier run where this one goes on from it.
    ///
    /// # Errors
    /// The checkpoint is damaged.
    pub fn enable_checkpoints(&mut self, earlier: Option<&Checkpoint>) -> Result<(), LedgerError> {
        self.ledger.keep_horizons();
        if let Some(earlier) = earlier {
            earlier.check()?;
            self.ledger.resume(&earlier.partitions);
            // The source is read from its beginning again, so its bytes are counted again.
            self.earlier = Counts { bytes_read: 0, ..earlier.counts.clone() };
            self.tally = Tally::resume(self.earlier.clone(), earlier.indices.clone(), earlier.errors.clone());
        }
        self.repeats_allowed = self.tally.counts.possible_duplicates;
        Ok(())
    }

    /// Whether [`Flow::handle_block`] may take the block.
    pub fn may_take(&self, block: &ItemBlock) -> bool {
        block.is_empty() || block.end_doc() <= self.horizon(block.partition())
    }

    /// Up to which document of the partition blocks may be taken.
    pub fn horizon(&self, partition: Partition) -> u64 {
        self.ledger.horizon(partition)
    }

    /// Whether something waits to be repeated that may be there already, which has to be written down before.
    pub fn has_waiting_repeats(&self) -> bool {
        self.repeats_wanted() > self.repeats_allowed
    }

    /// A checkpoint with the horizons as they are, or as far as `horizons` says. Call [`Flow::handle_checkpoint`] when it is on
    /// disk.
    pub fn checkpoint(&self, horizons: &BTreeMap<Partition, u64>) -> Checkpoint {
        let mut checkpoint = self.with_counts(self.ledger.checkpoint(), self.repeats_wanted());
        for (&(source, partition), &horizon) in horizons {
            match checkpoint.partitions.iter_mut().find(|p| p.partition() == (source, partition)) {
                Some(known) => known.horizon = known.horizon.max(horizon),
                None => {
                    let settled = crate::ranges::Ranges::default();
                    let begun = crate::PartitionCheckpoint { source, partition, settled, absent: 0, horizon };
                    checkpoint.partitions.push(begun);
                }
            }
        }
        checkpoint
    }

    /// The checkpoint when all is done: what was not settled is known not to be there, or known to be unknown.
    pub fn last_checkpoint(&self) -> Checkpoint {
        self.with_counts(self.ledger.last_checkpoint(), self.tally.counts.possible_duplicates)
    }

    /// The checkpoint is on disk.
    pub fn handle_checkpoint(&mut self, checkpoint: &Checkpoint) {
        for partition in &checkpoint.partitions {
            self.ledger.allow(partition.partition(), partition.horizon);
        }
        self.repeats_allowed = self.repeats_allowed.max(checkpoint.counts.possible_duplicates);
    }

    /// What this run counted, without earlier runs of the same job.
    pub fn counts_of_this_run(&self) -> Counts {
        self.tally.counts.since(&self.earlier)
    }

    fn with_counts(&self, partitions: Vec<crate::PartitionCheckpoint>, possible_duplicates: u64) -> Checkpoint {
        let unresolved = self.ledger.unresolved();
        let mut counts = self.tally.counts.clone();
        counts.docs_read -= unresolved;
        counts.docs_unknown -= unresolved;
        counts.docs_given_back = 0;
        counts.possible_duplicates = possible_duplicates;
        Checkpoint { partitions, counts, indices: self.tally.indices.clone(), errors: self.tally.errors() }
    }

    /// What `possible_duplicates` will be when all that waits was sent once more.
    fn repeats_wanted(&self) -> u64 {
        let parts = self.slots.values().flat_map(|slot| &slot.parts).filter(|part| part.last_uncertain);
        let slots: u64 = parts.map(|part| part.batch.without_id()).sum();
        let again = self.durable.as_ref().map_or(0, Durable::repeats);
        self.tally.counts.possible_duplicates + slots + self.pending.repeats() + again
    }

    /// Whether the first part of a slot may be sent: it is no repetition, or it was written down.
    pub(super) fn may_be_retried(&self, slot: &Slot) -> bool {
        let repeats = match slot.parts.front() {
            Some(part) if part.last_uncertain => part.batch.without_id(),
            _ => 0,
        };
        repeats == 0 || self.tally.counts.possible_duplicates + repeats <= self.repeats_allowed
    }

    /// How many records at the beginning of a block an earlier run may have sent.
    pub(super) fn sent_before(&self, items: &ItemBlock) -> u32 {
        let sent_before = self.ledger.sent_before(items.partition());
        if items.origin.own_numbers {
            let offset = sent_before.saturating_sub(items.origin.first_doc);
            return items.records.partition_point(|record| u64::from(record.line) < offset) as u32;
        }
        // No more than the block has.
        sent_before.saturating_sub(items.origin.first_doc).min(u64::from(items.len())) as u32
    }

    /// Records of a block wait for a batch; what an earlier run may have sent, apart.
    pub(super) fn queue_records(&mut self, now: Time, block: &Arc<Tracked>, records: Range<u32>) {
        let cut = block.sent_before.clamp(records.start, records.end);
        self.pending.push(now, Segment { block: Arc::clone(block), first: records.start, end: cut });
        self.pending.push(now, Segment { block: Arc::clone(block), first: cut, end: records.end });
    }
}
