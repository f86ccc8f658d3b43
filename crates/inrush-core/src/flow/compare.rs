//! Documents that met one of their own id (409): what wrote the one in the index, and what follows
//! from it.
//!
//! The cluster repeats operations itself. Where a primary fails, the coordinating node sends a part
//! of the request to the new primary, which may have its documents from the old one.

use std::collections::BTreeSet;
use std::time::Duration;

use super::slot::{LastError, Part, SlotState};
use super::{Command, Comparison, Flow, Item};
use crate::batch::{Batch, Segment};
use crate::made_id;
use crate::outcome::{OnConflict, Settled};
use crate::reply::ItemReply;
use crate::time::Time;

/// Adjacent items with the same 409.
#[derive(Clone, Debug)]
pub(super) struct Met {
    items: u32,
    /// The index of the document.
    index: Option<Box<str>>,
    error: LastError,
}

impl Met {
    pub(super) fn new(items: u32, reply: &ItemReply, error: LastError) -> Self {
        Met { items, index: reply.index.as_deref().map(Box::from), error }
    }
}

impl Flow {
    /// Asks what wrote the documents that the items met.
    pub(super) fn compare(&mut self, now: Time, slot_id: u64, part: Part, met: Vec<Met>) {
        let request = self.next_id();
        let is_repeated = self.is_repeated(&part);
        let mut items = Vec::with_capacity(part.batch.items as usize);
        let mut replies = met.iter().flat_map(|met| (0..met.items).map(move |_| met));
        for segment in &part.batch.segments {
            for item in segment.first..segment.end {
                let (action, document) = segment.block.items.action_and_document(item);
                let reply = replies.next();
                items.push(Item {
                    action,
                    document,
                    index: reply.and_then(|met| met.index.as_deref()).map(str::to_owned),
                    reason: reply.map(|met| met.error.reason.clone()).unwrap_or_default(),
                    is_in: segment.block.items.is_in(item),
                    is_repeated,
                });
            }
        }
        self.requests.insert(request, slot_id);
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            slot.state = SlotState::Comparing { request, part, met, until: now };
        }
        self.commands.push_back(Command::Compare { request, items });
    }

    /// Whether an earlier attempt may have written the documents, and no later operation has.
    fn is_repeated(&self, part: &Part) -> bool {
        part.uncertain && !part.replayed && self.pending.keeps_order()
    }

    /// Takes the comparisons of documents that met a 409, in the order of the command.
    pub fn handle_compared(&mut self, now: Time, request: u64, results: &[Comparison]) {
        let Some(slot_id) = self.requests.remove(&request) else { return };
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        let state = std::mem::replace(&mut slot.state, SlotState::Waiting { until: now });
        let SlotState::Comparing { request: asked, part, met, until } = state else {
            slot.state = state;
            return;
        };
        slot.state = SlotState::Waiting { until };
        debug_assert_eq!(asked, request, "a slot compares for one request at a time");
        let mut replies = met.iter().flat_map(|met| (0..met.items).map(move |_| met));
        let mut results = results.iter();
        // Of documents that the index makes one id of, an earlier attempt has written the first.
        let mut ids = BTreeSet::new();
        for segment in &part.batch.segments {
            for item in 0..segment.len() {
                let reply = replies.next();
                let made = reply.filter(|_| self.config.ids_of_documents);
                let id = made.and_then(|reply| made_id::in_conflict(&reply.error.reason));
                let is_second = id.is_some_and(|id| !ids.insert(id));
                let item = (segment.part(item, item + 1), is_second);
                self.compared(now, &part, item, reply, results.next());
            }
        }
        self.advance(now, slot_id);
    }

    /// Acts on the comparison of one item. `is_second`: it met a document of its own request.
    fn compared(
        &mut self,
        now: Time,
        part: &Part,
        (item, is_second): (Segment, bool),
        met: Option<&Met>,
        result: Option<&Comparison>,
    ) {
        let index = met.and_then(|met| met.index.as_deref());
        let is_delete = || item.block.items.action_and_document(item.first).0.starts_with(b"{\"delete");
        let mut one = Batch::default();
        one.push(item.clone());
        let repeated = if is_delete() { Settled::NotFound } else { Settled::AlreadyThere };
        let conflict = |what: String| LastError {
            status: 409,
            kind: "version_conflict_engine_exception".to_owned(),
            reason: what,
            retry_after: Duration::ZERO,
        };
        let refused = || met.map_or_else(|| conflict("the id exists".to_owned()), |met| met.error.clone());
        let is_other = matches!(result, Some(Comparison::Different | Comparison::Older)) && self.is_repeated(part);
        let is_of_another = is_second || is_other;
        let why = match (result, self.config.on_conflict) {
            (Some(Comparison::Written), _) => {
                self.note_writes(&item, Settled::Created, index, &[]);
                let sure = Part { uncertain: false, ..part.clone() };
                return self.acknowledge(now, &sure, Settled::Created, index, &item);
            }
            (Some(Comparison::Repeated), _) => {
                self.note_writes(&item, repeated, index, &[]);
                let unsure = Part { uncertain: true, ..part.clone() };
                return self.acknowledge(now, &unsure, repeated, index, &item);
            }
            (Some(Comparison::IsIn), _) => {
                return self.settle_batch(now, &one, Settled::AlreadyThere, index, false);
            }
            _ if part.uncertain && !is_of_another => {
                self.note_writes(&item, repeated, index, &[]);
                return self.settle_batch(now, &one, repeated, index, true);
            }
            (Some(Comparison::Equal), OnConflict::Compare) => {
                self.note_refusals(&item, true);
                return self.settle_batch(now, &one, Settled::AlreadyThere, None, false);
            }
            (_, OnConflict::Skip) => {
                self.note_refusals(&item, true);
                return self.settle_batch(now, &one, Settled::Conflicting, None, false);
            }
            (_, OnConflict::Fail) | (Some(Comparison::Other | Comparison::Older), _) => refused(),
            (Some(Comparison::Different), OnConflict::Compare) => {
                conflict("the id exists with different content".to_owned())
            }
            (Some(Comparison::Failed(why)), OnConflict::Compare) => {
                conflict(format!("the id exists, but its content could not be compared: {why}"))
            }
            (None, OnConflict::Compare) => conflict("the id exists, but its content was not compared".to_owned()),
        };
        self.note_refusals(&item, true);
        self.dead_letter_batch(now, &one, &why);
    }
}
