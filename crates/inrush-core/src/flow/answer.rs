//! Answers to requests: the verdict on each item, and what follows from it.

use std::time::Duration;

use super::compare::Met;
use super::pair::{self, Paired, Pairing};
use super::slot::{LastError, Part, SlotState};
use super::{Command, Flow, Note, Stop};
use crate::batch::{Batch, Segment};
use crate::body_format::BodyFormat;
use crate::codes::{Code, StopReason};
use crate::outcome::{
    Attempt, Condition, ItemContext, RequestVerdict, Settled, Verdict, is_of_all_documents, item_verdict,
    request_verdict,
};
use crate::reply::{BulkReply, ItemAction, ItemError, ItemReply, WriteMark};
use crate::time::Time;
use crate::tune::{Sample, SampleOutcome};

/// The items of one reply, sorted by the next step.
#[derive(Default)]
struct Sorted {
    retry: Batch,
    /// Sent again as well, although the operations may still be carried out.
    unsure: Batch,
    /// The retry goes in halves.
    halve: bool,
    smaller: Batch,
    /// Sent again, because the mapping of a field was made meanwhile.
    remap: Batch,
    /// The error of these.
    remapped: LastError,
    compare: Batch,
    /// What is known of these items, in their order.
    met: Vec<Met>,
    /// Dropped by a pipeline or refused; which one is unknown. None of them is in the index.
    unproven: Batch,
    /// One of the unproven items has to wait before its retry.
    unproven_waits: bool,
    /// One of the unproven items may still be carried out.
    unproven_unsure: bool,
    /// The cluster did work for one of the unproven items.
    unproven_worked: bool,
    paused: Option<Condition>,
    last: LastError,
    accepted: u32,
    rejected: u32,
}

/// The counts of a reply for the tuner.
#[derive(Default)]
struct Counted {
    accepted: u32,
    rejected: u32,
    /// Some items met a condition of the whole index.
    paused: bool,
}

impl Flow {
    /// Takes the result of a request. `wall`: from the start of sending to the end of the reply.
    /// `node`: the index in the list of nodes.
    pub fn handle_attempt(&mut self, now: Time, request: u64, wall: Duration, node: u16, attempt: Attempt) {
        let Some((slot_id, part)) = self.sent(request) else { return };
        self.tally.counts.bytes_sent += part.packed_bytes();
        let (set_apart, format) = (part.batch.set_apart, part.format);
        let mut sample = self.sample(now, wall, node, &part);
        // Whether the duration reflects work of the cluster.
        let mut tells = true;
        match attempt {
            Attempt::Replied(reply) => {
                sample.outcome = SampleOutcome::Answered;
                sample.took = reply.took_ms.map(Duration::from_millis);
                let counted = self.replied(now, (slot_id, request), part, &reply);
                (sample.accepted, sample.rejected) = (counted.accepted, counted.rejected);
                tells = !counted.paused;
            }
            Attempt::Refused { status: status @ (406 | 415), error, .. } if part.format != BodyFormat::PLAIN => {
                (sample.outcome, tells) = (SampleOutcome::Answered, false);
                let why = format!("the server refused a request: {}", LastError::new(status, &error));
                self.forbid_format(now, part.format, &why);
                self.push_front(slot_id, part);
            }
            Attempt::Refused { status, error, retry_after } => {
                let verdict = request_verdict(status, &error, self.config.incremental_bulk);
                (sample.outcome, tells) = outcome_of(verdict, status);
                if matches!(sample.outcome, SampleOutcome::Refused | SampleOutcome::Lost) {
                    sample.rejected = sample.docs;
                    self.tally.counts.rejected_items += u64::from(part.batch.items);
                }
                if verdict.may_be_carried_out() {
                    self.open(request, &part);
                }
                let last = LastError::new(status, &error);
                let last = LastError { retry_after: retry_after.unwrap_or_default(), ..last };
                self.refused(now, slot_id, part, verdict, &last);
            }
            Attempt::NotSent { reason, lasting } => {
                self.commands.push_back(Command::Note(Note::WillRetry(reason.clone())));
                let last = LastError::client(Code::NotSent, reason);
                match lasting {
                    true => self.retry_lasting(now, slot_id, part, &last),
                    false => self.retry_unsent(now, slot_id, part, &last),
                }
            }
            Attempt::Lost { reason } => self.lost(slot_id, request, part, reason),
            Attempt::Garbled { reason } => {
                self.forbid_format(now, part.format, &reason);
                self.lost(slot_id, request, part, reason);
            }
        }
        let heard = tells && self.learn(now, &sample, format, set_apart);
        if self.config.samples {
            self.commands.push_back(Command::Sample { request, sample, heard, now });
        }
        while let Some(decision) = self.tuner.poll_decision() {
            self.commands.push_back(Command::Note(Note::Plan(decision)));
        }
        self.advance(now, slot_id);
    }

    /// A sample of this part without its result.
    fn sample(&self, now: Time, wall: Duration, node: u16, part: &Part) -> Sample {
        Sample {
            sent: now - wall,
            wall,
            took: None,
            bytes: part.batch.bytes,
            docs: part.batch.items,
            accepted: 0,
            rejected: 0,
            outcome: SampleOutcome::Lost,
            in_flight: part.in_flight,
            source_limited: part.source_limited
                || self.pauses.is_held()
                || !self.pending.has_plenty(&self.plan())
                || self.paced(now) > now,
            remainder: part.remainder,
            node,
        }
    }

    /// The cluster no longer works on a lost request, as far as that can be known.
    pub fn handle_gone(&mut self, now: Time, request: u64) {
        let Some(slot_id) = self.requests.remove(&request) else { return };
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        if !matches!(slot.state, SlotState::AwaitingGone) {
            return;
        }
        if let Some(part) = slot.parts.pop_front() {
            let last = LastError::client(Code::NoAnswer, "a request got no answer".to_owned());
            self.retry(now, slot_id, part, &last);
        }
        self.advance(now, slot_id);
    }

    /// The part that was sent with this request.
    fn sent(&mut self, request: u64) -> Option<(u64, Part)> {
        let slot_id = self.requests.remove(&request)?;
        let slot = self.slots.get_mut(&slot_id)?;
        match slot.state {
            SlotState::Sent { request: sent, .. } if sent == request => {}
            SlotState::Sent { .. }
            | SlotState::Waiting { .. }
            | SlotState::AwaitingGone
            | SlotState::Comparing { .. } => {
                return None;
            }
        }
        slot.parts.pop_front().map(|part| (slot_id, part))
    }

    /// Moves on after an answer: to the next part of the slot, or to its end.
    pub(super) fn advance(&mut self, now: Time, slot_id: u64) {
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        match slot.state {
            SlotState::Sent { .. } => slot.state = SlotState::Waiting { until: now },
            SlotState::Waiting { .. } => {}
            SlotState::AwaitingGone | SlotState::Comparing { .. } => return,
        }
        if slot.parts.is_empty() {
            self.slots.remove(&slot_id);
        }
    }

    /// Processes a reply. Returns its counts for the tuner.
    fn replied(&mut self, now: Time, (slot_id, request): (u64, u64), part: Part, reply: &BulkReply) -> Counted {
        let part = self.blame_refused_format(now, part);
        if self.config.summary_replies && !part.item_replies && reply.runs.is_empty() {
            return self.summarized(now, (slot_id, request), part, reply.errors);
        }
        let (sorted, stop) = self.sort_items(now, &part, reply);
        if sorted.accepted > 0 || sorted.unproven_worked {
            self.last_progress = now;
        }
        self.met(now, sorted.paused);
        let counted = Counted { accepted: sorted.accepted, rejected: sorted.rejected, paused: sorted.paused.is_some() };
        self.send_rest(now, (slot_id, request), &part, sorted);
        if let Some(why) = stop {
            self.handle_stop(now, Stop::Failed(why));
        }
        counted
    }

    /// Processes a reply without entries.
    fn summarized(&mut self, now: Time, (slot_id, request): (u64, u64), part: Part, errors: bool) -> Counted {
        if errors {
            // Some items failed. The entries are needed to know which. The node of one may still
            // carry it out.
            self.open(request, &part);
            self.push_front(slot_id, Part { item_replies: true, ..part.unsure(true) });
            return Counted::default();
        }
        self.met(now, None);
        self.last_progress = now;
        self.settle_batch(now, &part.batch, Settled::Created, None, part.uncertain);
        Counted { accepted: part.batch.items, ..Counted::default() }
    }

    /// Applies the verdict on each item. Returns the items that have to be sent again, and the
    /// reason if the run has to stop.
    fn sort_items(&mut self, now: Time, part: &Part, reply: &BulkReply) -> (Sorted, Option<StopReason>) {
        let mut sorted = Sorted::default();
        let mut stop = None;
        let Paired { runs, unowned, marks } = self.paired(part, reply);
        let mut place = 0;
        for entry in unowned {
            if let Some(why) = self.judge_unowned(part, entry, &mut sorted) {
                stop.get_or_insert(why);
            }
        }
        let mut runs = runs.into_iter();
        let mut run = runs.next();
        let mut left = run.map_or(0, |(count, _)| count);
        for segment in &part.batch.segments {
            let mut at = 0;
            while at < segment.len() {
                // The engine checked that there is an entry for each item.
                let Some(current) = run else { break };
                let count = left.min(segment.len() - at);
                let items = segment.part(at, at + count);
                match current.1 {
                    Some(entry) => {
                        let marks = marks.get(place..place + count as usize).unwrap_or_default();
                        if let Some(why) = self.judge(now, part, (entry, marks), items, &mut sorted) {
                            stop.get_or_insert(why);
                        }
                    }
                    None => sorted.unproven.push(items),
                }
                at += count;
                place += count as usize;
                left -= count;
                if left == 0 {
                    run = runs.next();
                    left = run.map_or(0, |(count, _)| count);
                }
            }
        }
        (sorted, stop)
    }

    /// The entries of the reply, matched to the items.
    fn paired<'a>(&self, part: &Part, reply: &'a BulkReply) -> Paired<'a> {
        let by_id = match self.config.pairing {
            Pairing::Places => None,
            Pairing::PlacesAtFirst | Pairing::Ids => {
                let context = self.context(part);
                pair::by_id(&part.batch, reply, |entry| item_verdict(entry, context))
            }
        };
        by_id.unwrap_or_else(|| Paired {
            runs: reply.runs.iter().map(|run| (run.count, Some(&run.item))).collect(),
            unowned: Vec::new(),
            marks: (&reply.marks[..]).into(),
        })
    }

    /// Queues the items that are not settled.
    fn send_rest(&mut self, now: Time, (slot_id, request): (u64, u64), part: &Part, sorted: Sorted) {
        let Sorted { mut retry, mut unsure, halve, smaller, compare, met, unproven, paused, last, .. } = sorted;
        let (remap, remapped) = (sorted.remap, sorted.remapped);
        // An attempt with progress is not a failure: the batch shrinks, and its time is bounded
        // too.
        let failures = if sorted.accepted > 0 { 0 } else { part.failures };
        let setbacks = if sorted.accepted >= sorted.rejected { 0 } else { part.setbacks };
        if !unproven.is_empty() {
            self.config.pairing = Pairing::Ids;
            let may_wait = paused.is_some() || self.config.retry.allows(failures + 1, part.first_sent, now);
            match sorted.unproven_waits && may_wait {
                true if sorted.unproven_unsure => {
                    unproven.segments.into_iter().for_each(|segment| unsure.push(segment))
                }
                true => unproven.segments.into_iter().for_each(|segment| retry.push(segment)),
                false if sorted.unproven_unsure => {
                    self.open(request, &part.with(unproven.clone()));
                    self.resend_unmatched(slot_id, &part.clone().unsure(true), unproven);
                }
                false => self.resend_unmatched(slot_id, part, unproven),
            }
        }
        if !smaller.is_empty() {
            if smaller.items > 1 && is_of_all_documents(&last.reason) {
                self.limit_bodies(part.batch.bytes);
            }
            self.halve(now, slot_id, part.with(smaller), &last);
        }
        if !compare.is_empty() {
            self.compare(now, slot_id, part.with(compare), met);
        }
        if !remap.is_empty() {
            let part = Part { failures: 0, setbacks: 0, remaps: part.remaps + 1, ..part.with(remap) };
            self.retry_after_comparison(now, slot_id, part, false, &remapped);
        }
        let again = |batch: Batch| match paused {
            Some(_) => part.with(batch).paused(now),
            None => Part { failures, setbacks, ..part.with(batch) },
        };
        if !retry.is_empty() {
            self.retry_after_comparison(now, slot_id, again(retry), halve, &last);
        }
        if !unsure.is_empty() {
            let unsure = again(unsure).unsure(true);
            self.open(request, &unsure);
            self.retry_after_comparison(now, slot_id, unsure, halve, &last);
        }
    }

    /// Applies the verdict on adjacent items with the same entry. Returns the reason if the run has
    /// to stop.
    fn judge(
        &mut self,
        now: Time,
        part: &Part,
        (reply, marks): (&ItemReply, &[Option<WriteMark>]),
        items: Segment,
        sorted: &mut Sorted,
    ) -> Option<StopReason> {
        let mut context = self.context(part);
        // A source without versions may have some all the same, as dead letters do.
        let has_version = |item| items.block.items.has_version(item);
        context.versioned |= reply.status == 409 && (items.first..items.end).all(has_version);
        let has_no_id = |item| items.block.items.key(item).is_none();
        context.id_is_made = reply.status == 409 && (items.first..items.end).all(has_no_id);
        let error = reply.error.clone().unwrap_or_else(no_error);
        let last = || LastError::new(reply.status, &error);
        match self.verdict(now, part, (reply, context)) {
            Verdict::Settle(settled) => {
                sorted.accepted += items.len();
                self.note_writes(&items, settled, reply.index.as_deref(), marks);
                self.acknowledge(now, part, settled, reply.index.as_deref(), &items);
            }
            verdict @ (Verdict::Retry | Verdict::RetryUnsure | Verdict::RetrySmaller) => {
                sorted.halve |= verdict == Verdict::RetrySmaller;
                sorted.rejected += items.len();
                self.tally.counts.rejected_items += u64::from(items.len());
                sorted.last = last();
                match verdict {
                    Verdict::RetryUnsure => sorted.unsure.push(items),
                    _ => sorted.retry.push(items),
                }
            }
            Verdict::Remap => {
                sorted.accepted += items.len();
                sorted.remapped = last();
                sorted.remap.push(items);
            }
            Verdict::Smaller => {
                sorted.last = last();
                sorted.smaller.push(items);
            }
            Verdict::Compare => {
                // Finding the existing document was work.
                sorted.accepted += items.len();
                sorted.met.push(Met::new(items.len(), reply, last()));
                sorted.compare.push(items);
            }
            Verdict::DeadLetter => {
                if reply.action == ItemAction::Update && reply.status == 404 {
                    self.note_refusals(&items, false);
                }
                let mut batch = Batch::default();
                batch.push(items);
                self.dead_letter_batch(now, &batch, &last());
                // The cluster works; only the document is wrong.
                sorted.accepted += batch.items;
            }
            Verdict::Pause(condition) => {
                sorted.paused = Some(condition);
                sorted.last = last();
                sorted.retry.push(items);
            }
            Verdict::Stop => {
                sorted.last = last();
                sorted.retry.push(items);
                return Some(refuses(&last()));
            }
        }
        None
    }

    /// The verdict on an item. The mapping of another request is met a few times at most.
    fn verdict(&self, now: Time, part: &Part, (reply, context): (&ItemReply, ItemContext)) -> Verdict {
        match item_verdict(reply, context) {
            Verdict::Remap if !part.may_remap() || !self.config.retry.allows(1, part.first_sent, now) => {
                Verdict::DeadLetter
            }
            verdict => verdict,
        }
    }

    /// Applies an entry whose item is unknown. Returns the reason if the run has to stop.
    fn judge_unowned(&mut self, part: &Part, entry: &ItemReply, sorted: &mut Sorted) -> Option<StopReason> {
        let verdict = item_verdict(entry, self.context(part));
        match verdict {
            Verdict::Settle(_) | Verdict::DeadLetter | Verdict::Remap | Verdict::Compare | Verdict::Smaller => {
                sorted.unproven_worked = true;
                return None;
            }
            Verdict::Retry | Verdict::RetryUnsure | Verdict::RetrySmaller => {
                sorted.unproven_unsure |= verdict == Verdict::RetryUnsure;
                sorted.halve |= verdict == Verdict::RetrySmaller;
                sorted.rejected += 1;
                self.tally.counts.rejected_items += 1;
            }
            Verdict::Pause(condition) => sorted.paused = Some(condition),
            Verdict::Stop => {}
        }
        sorted.unproven_waits = true;
        sorted.last = LastError::new(entry.status, &entry.error.clone().unwrap_or_else(no_error));
        (verdict == Verdict::Stop).then(|| refuses(&sorted.last))
    }

    fn context(&self, part: &Part) -> ItemContext {
        ItemContext { uncertain: part.uncertain, versioned: self.config.versioned, id_is_made: false }
    }
}

/// The error of an entry that has a status of failure alone.
fn no_error() -> ItemError {
    ItemError { reason: "the entry of the reply has no error".to_owned(), ..ItemError::default() }
}

/// The failure of a run whose documents the cluster refuses for a reason that is not theirs.
fn refuses(last: &LastError) -> StopReason {
    let code = match Code::of_new_index(&last.kind, &last.reason) {
        Code::TooManyShards if last.status == 400 => Code::TooManyShards,
        _ => Code::of_status(last.status, Code::BulkRefused),
    };
    StopReason::new(code, format!("the cluster refuses documents: {last}"))
}

/// What a refusal means for the tuner, and whether its duration reflects work of the cluster.
fn outcome_of(verdict: RequestVerdict, status: u16) -> (SampleOutcome, bool) {
    match verdict {
        RequestVerdict::Smaller { .. } => (SampleOutcome::TooLarge, true),
        // A gateway without a server, or a server that failed: neither is overloaded.
        RequestVerdict::Retry { .. } if status >= 500 => (SampleOutcome::Lost, true),
        RequestVerdict::Retry { .. } | RequestVerdict::RetrySmaller { .. } => (SampleOutcome::Refused, true),
        RequestVerdict::Bisect { .. } | RequestVerdict::Pause(_) | RequestVerdict::Stop => {
            (SampleOutcome::Answered, false)
        }
    }
}
