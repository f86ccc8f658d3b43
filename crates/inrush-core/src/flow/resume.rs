//! Resuming after a crash. A checkpoint lists the settled documents and the horizon: no document
//! beyond the horizon was sent. A new horizon has to be on disk before documents below it are sent.
//! Documents between the settled ones and the horizon are sent again as possibly indexed.

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
    /// From now on, nothing is taken beyond the horizons, and nothing without an id is retried,
    /// unless
    /// [`Flow::handle_checkpoint`] allows it. To be called before the first block, with the
    /// checkpoint of the earlier run if this run resumes it.
    ///
    /// # Errors
    /// The checkpoint is damaged.
    pub fn enable_checkpoints(&mut self, earlier: Option<&Checkpoint>) -> Result<(), LedgerError> {
        self.ledger.keep_horizons();
        if let Some(earlier) = earlier {
            earlier.check()?;
            self.ledger.resume(&earlier.partitions);
            // The source is read from its start again, so its bytes are counted again.
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

    /// The document number up to which blocks of the partition may be taken.
    pub fn horizon(&self, partition: Partition) -> u64 {
        self.ledger.horizon(partition)
    }

    /// Whether a retry that may create duplicates waits for a checkpoint that allows it.
    pub fn has_waiting_repeats(&self) -> bool {
        self.repeats_wanted() > self.repeats_allowed
    }

    /// A checkpoint with the current horizons, raised to `horizons`. Call
    /// [`Flow::handle_checkpoint`] when it is on disk.
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

    /// The checkpoint when all is done. Each document that is not settled is known not to be
    /// indexed, or known to be unknown.
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

    /// The counts of this run, without earlier runs of the same job.
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

    /// The value of `possible_duplicates` once all waiting retries were sent.
    fn repeats_wanted(&self) -> u64 {
        if self.config.ids_of_documents {
            return self.tally.counts.possible_duplicates;
        }
        let parts = self.slots.values().flat_map(|slot| &slot.parts).filter(|part| part.last_uncertain);
        let slots: u64 = parts.map(|part| part.batch.without_id()).sum();
        let again = self.durable.as_ref().map_or(0, Durable::repeats);
        self.tally.counts.possible_duplicates + slots + self.pending.repeats() + again
    }

    /// Whether the first part of a slot may be sent: it is not a retry, or the checkpoint on disk
    /// allows it.
    pub(super) fn may_be_retried(&self, slot: &Slot) -> bool {
        let repeats = match slot.parts.front() {
            Some(part) if part.last_uncertain && !self.config.ids_of_documents => part.batch.without_id(),
            _ => 0,
        };
        repeats == 0 || self.tally.counts.possible_duplicates + repeats <= self.repeats_allowed
    }

    /// The number of leading records of a block that an earlier run may have sent.
    pub(super) fn sent_before(&self, items: &ItemBlock) -> u32 {
        let sent_before = self.ledger.sent_before(items.partition());
        if items.origin.own_numbers {
            let offset = sent_before.saturating_sub(items.origin.first_doc);
            return items.records.partition_point(|record| u64::from(record.line) < offset) as u32;
        }
        // At most the length of the block.
        sent_before.saturating_sub(items.origin.first_doc).min(u64::from(items.len())) as u32
    }

    /// Queues records of a block. Records that an earlier run may have sent are separate.
    pub(super) fn queue_records(&mut self, now: Time, block: &Arc<Tracked>, records: Range<u32>) {
        let cut = block.sent_before.clamp(records.start, records.end);
        self.pending.push(now, Segment { block: Arc::clone(block), first: records.start, end: cut });
        self.pending.push(now, Segment { block: Arc::clone(block), first: cut, end: records.end });
    }
}
