//! The end of items: counts, ledger, memory, and the items that they replaced.

use super::{Command, Flow, Settlement, Stop};
use crate::batch::{Batch, Segment, Tracked};
use crate::coalesce::End;
use crate::codes::Code;
use crate::outcome::Settled;
use crate::time::Time;

/// The ids of documents that were not there which a report has.
const NOT_FOUND_MAX: usize = 100;

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
        for segment in &batch.segments {
            self.count(segment, settled, index, uncertain);
            self.release(now, segment, Some(settled));
        }
    }

    /// Keeps the first ids, for the report.
    fn note_not_found(&mut self, segment: &Segment) {
        let room = NOT_FOUND_MAX.saturating_sub(self.not_found.len());
        let items = &segment.block.items;
        let ids = (segment.first..segment.end).take(room).filter_map(|item| {
            let (action, _) = items.action_and_document(item);
            let action: serde_json::Value = serde_json::from_slice(&action).ok()?;
            action["delete"]["_id"].as_str().map(str::to_owned)
        });
        self.not_found.extend(ids);
    }

    /// Counts items that ended as `settled`, in `index` if the reply named one.
    pub(super) fn count(&mut self, items: &Segment, settled: Settled, index: Option<&str>, uncertain: bool) {
        if settled == Settled::NotFound {
            self.note_not_found(items);
        }
        self.tally.settle(settled, u64::from(items.len()), index, uncertain);
        if let (Some(vectors), Some(index)) = (&items.block.items.vectors, index) {
            self.tally.settle_vectors(settled, index, vectors, items.first..items.end);
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
