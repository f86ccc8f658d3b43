//! The end of items: counts, ledger, memory, and the items that they replaced.

use super::{Command, Flow, Settlement, Stop};
use crate::batch::{Batch, Segment, Tracked};
use crate::coalesce::End;
use crate::codes::Code;
use crate::outcome::Settled;
use crate::time::Time;

impl Flow {
    /// Settles all items of a batch.
    pub(super) fn settle_batch(
        &mut self,
        now: Time,
        batch: &Batch,
        settled: Settled,
        index: Option<&str>,
        uncertain: bool,
    ) {
        self.tally.settle(settled, u64::from(batch.items), index, uncertain);
        for segment in &batch.segments {
            self.release(now, segment, Some(settled));
        }
    }

    /// Settles items, and the ones that they replaced, in the ledger and releases their ids and
    /// memory. `settled` is `None` for dead letters, which are reported one by one.
    pub(super) fn release(&mut self, now: Time, segment: &Segment, settled: Option<Settled>) {
        self.settle_records(now, segment, settled);
        let end = End::of(settled);
        for replaced in self.pending.settled(now, segment, end) {
            let settled = if end == End::Unknown { Settled::Unknown } else { Settled::Superseded };
            self.tally.settle(settled, 1, None, false);
            self.settle_records(now, &replaced, Some(settled));
        }
    }

    /// Settles records in the ledger and releases their memory.
    fn settle_records(&mut self, now: Time, segment: &Segment, settled: Option<Settled>) {
        if settled == Some(Settled::Unknown) {
            let (items, records) = (&segment.block.items, segment.first..segment.end);
            self.ledger.note_unknown(items, records.clone());
            if self.stop.is_some() {
                self.ledger.leave_unresolved(items, records);
            }
        }
        if let (true, Some(settled)) = (self.config.settlements, settled) {
            let items = &segment.block.items;
            let (source, partition) = items.partition();
            // Adjacent items need not be adjacent in a source with numbers of its own.
            let docs = if items.origin.own_numbers { 1 } else { segment.len().max(1) };
            for item in (segment.first..segment.end).step_by(docs as usize) {
                let first_doc = items.number(item);
                self.commands.push_back(Command::Settled(Settlement { source, partition, first_doc, docs, settled }));
            }
        }
        match self.ledger.settle(segment.block.id, segment.first..segment.end) {
            Ok(true) => self.free(&segment.block),
            Ok(false) => {}
            Err(e) => self.handle_stop(now, Stop::failed(Code::Defect, e.to_string())),
        }
    }

    /// Releases the memory of a settled block.
    pub(super) fn free(&mut self, block: &Tracked) {
        self.buffered -= block.items.body.len() as u64;
        self.buffered_extra -= block.items.extra_bytes();
    }
}
