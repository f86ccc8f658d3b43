//! Partitions that another consumer reads now. Their documents that wait are given back.

use std::collections::BTreeSet;

use super::Flow;
use super::slot::Part;
use crate::batch::{Batch, Segment};
use crate::coalesce::End;
use crate::codes::Code;
use crate::ledger::Partition;
use crate::time::Time;

/// Lost partitions that are remembered. A source uses each number once, so documents of older ones
/// are gone long ago.
const REMEMBERED: usize = 10_000;

impl Flow {
    /// The source has lost these partitions: another consumer reads the rest of them, and a
    /// document of them that is sent now could replace a newer one. Documents that wait count as
    /// given back, and those of later blocks are ignored. Requests in flight are answered as
    /// before.
    pub fn handle_lost(&mut self, partitions: impl IntoIterator<Item = Partition>) {
        self.lost.extend(partitions);
        while self.lost.len() > REMEMBERED {
            self.lost.pop_first();
        }
    }

    /// The source returns no more documents of these partitions, and needs their settled positions
    /// no more, so they are forgotten once they are settled. To be called again until then, also
    /// with no others.
    pub fn handle_ended(&mut self, partitions: impl IntoIterator<Item = Partition>) {
        self.ledger.forget(partitions);
    }

    /// Takes the documents of lost partitions out of a batch.
    pub(super) fn without_lost(&mut self, now: Time, batch: Batch) -> Batch {
        let is_lost = |segment: &Segment| self.lost.contains(&segment.block.items.partition());
        if self.lost.is_empty() || !batch.segments.iter().any(is_lost) {
            return batch;
        }
        let mut kept = Batch { set_apart: batch.set_apart, shard: batch.shard, ..Batch::default() };
        let (lost, others): (Vec<Segment>, Vec<Segment>) = batch.segments.into_iter().partition(is_lost);
        others.into_iter().for_each(|segment| kept.push(segment));
        lost.iter().for_each(|segment| self.give_back(now, segment));
        kept
    }

    /// Takes the documents of lost partitions out of the slot's parts. Returns whether one is left.
    pub(super) fn has_unlost(&mut self, now: Time, slot_id: u64) -> bool {
        while !self.lost.is_empty()
            && let Some(part) = self.slots.get_mut(&slot_id).and_then(|slot| slot.parts.pop_front())
        {
            let items = part.batch.items;
            let batch = self.without_lost(now, part.batch.clone());
            if batch.is_empty() {
                continue;
            }
            let part: Part = if batch.items == items { part } else { part.with(batch) };
            self.push_front(slot_id, part);
            break;
        }
        self.slots.get(&slot_id).is_some_and(|slot| !slot.parts.is_empty())
    }

    /// Gives back documents of a lost partition. A document of another partition that one of them
    /// replaced is sent after all.
    fn give_back(&mut self, now: Time, segment: &Segment) {
        let records = segment.first..segment.end;
        self.ledger.note_unknown(&segment.block.items, records.clone());
        match self.ledger.give_back(segment.block.id, records) {
            Ok(true) => self.free(&segment.block),
            Ok(false) => {}
            Err(error) => self.handle_stop(now, super::Stop::failed(Code::Defect, error.to_string())),
        }
        let replaced = self.pending.settled(now, segment, End::Refused);
        debug_assert!(replaced.is_empty(), "a refused operation ends no others");
    }

    /// Whether the source has lost the partition.
    pub(super) fn is_lost(&self, partition: Partition) -> bool {
        self.lost.contains(&partition)
    }
}

/// Partitions that were lost.
pub(super) type Lost = BTreeSet<Partition>;
