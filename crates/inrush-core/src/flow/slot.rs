//! Slots: one permit each, with a request in flight and the consequences of its answer. Retries and
//! halves of a request stay inside its permit, so a cluster in trouble gets fewer requests, not
//! more.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::pair::{self, Paired, Pairing};
use super::{Command, Comparison, Flow, Item, Note, Stop};
use crate::batch::{Batch, Segment};
use crate::body_format::{Body, BodyFormat};
use crate::outcome::{
    Attempt, Condition, ItemContext, RequestVerdict, Settled, Verdict, item_verdict, request_verdict,
};
use crate::reply::{BulkReply, ItemError, ItemReply};
use crate::time::Time;
use crate::tune::{Outcome, Sample};

/// During a pause the wait doubles this many times: by default from 100 ms to 3.2 s.
const PAUSED_SETBACKS_MAX: u32 = 5;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: u64,
    /// The rest of the request. The front part is sent next.
    pub(super) parts: VecDeque<Part>,
    pub(super) state: SlotState,
}

#[derive(Debug)]
pub(super) enum SlotState {
    Sent { request: u64 },
    Waiting { until: Time },
    AwaitingGone,
    Comparing { request: u64, part: Part },
}

/// Items that are sent together and share a history.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) batch: Batch,
    /// An earlier attempt may have been applied.
    pub(super) uncertain: bool,
    /// The last attempt may have been applied. A retry may duplicate items without an id.
    pub(super) last_uncertain: bool,
    /// Request entries even where summaries are enough.
    pub(super) item_replies: bool,
    /// The ids of entries were requested in the last attempt.
    pub(super) ids_asked: bool,
    /// Attempts since one got an item accepted.
    pub(super) failures: u32,
    /// Attempts since one got at least half of the items accepted. The wait doubles with each.
    pub(super) setbacks: u32,
    pub(super) first_sent: Time,
    /// Requests in flight at the last attempt.
    pub(super) in_flight: u32,
    /// The part was sent before the batch was full.
    pub(super) source_limited: bool,
    /// The part is the rest of a larger one.
    pub(super) remainder: bool,
    /// The epoch of the index's primary terms at the last attempt.
    pub(super) epoch: u32,
    /// The format of the last attempt.
    pub(super) format: BodyFormat,
    /// Whether the part may only be sent in the format that every server accepts.
    pub(super) plain: Plain,
    /// The compressed body, for a retry.
    pub(super) body: Option<Arc<Body>>,
    /// The routing value that sends all items to one shard, the same in every retry.
    pub(super) routing: Option<Arc<str>>,
}

/// Whether a part has to be sent as uncompressed JSON, whatever the format of others is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// It may be sent like others.
    No,
    /// The server refused the part in another format. If it accepts plain JSON, the format is the
    /// cause.
    Tried,
    /// The server refused plain JSON as well: the content is the cause.
    Yes,
}

impl Slot {
    pub(super) fn new(id: u64, now: Time, batch: Batch, source_limited: bool) -> Self {
        let sent_before = batch.sent_before();
        let part = Part {
            batch,
            uncertain: sent_before,
            last_uncertain: sent_before,
            item_replies: false,
            ids_asked: false,
            failures: 0,
            setbacks: 0,
            first_sent: now,
            in_flight: 0,
            source_limited,
            remainder: false,
            epoch: 0,
            format: BodyFormat::PLAIN,
            plain: Plain::No,
            body: None,
            routing: None,
        };
        Slot { id, parts: VecDeque::from([part]), state: SlotState::Waiting { until: now } }
    }

    /// A slot for items that were sent before, with unknown result.
    pub(super) fn resend(id: u64, now: Time, batch: Batch) -> Self {
        let mut slot = Slot::new(id, now, batch, true);
        slot.parts.iter_mut().for_each(|part| (part.uncertain, part.last_uncertain) = (true, true));
        slot
    }
}

impl Part {
    /// Other items with the same history.
    fn with(&self, batch: Batch) -> Part {
        Part { remainder: self.remainder || batch.items < self.batch.items, batch, body: None, ..self.clone() }
    }

    /// After an attempt that met a condition of the whole index. Waiting for its end costs no
    /// retries, because the pause has a limit of its own. The wait grows, so that a cluster in
    /// trouble gets few requests, but stays short enough to notice the end.
    fn paused(self, now: Time) -> Part {
        Part { first_sent: now, failures: 0, setbacks: self.setbacks.min(PAUSED_SETBACKS_MAX), ..self }
    }

    /// After an attempt that may have been applied, or certainly was not.
    fn unsure(self, uncertain: bool) -> Part {
        Part { uncertain: self.uncertain || uncertain, last_uncertain: self.last_uncertain || uncertain, ..self }
    }
}

/// The error that caused a retry.
#[derive(Clone, Debug, Default)]
pub(super) struct LastError {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) reason: String,
    /// The wait that the server asked for.
    pub(super) retry_after: Duration,
}

impl fmt::Display for LastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            0 => f.write_str(&self.reason),
            status => write!(f, "{status} {}: {}", self.kind, self.reason),
        }
    }
}

impl LastError {
    fn new(status: u16, error: &ItemError) -> Self {
        let retry_after = Duration::ZERO;
        LastError { status, kind: error.kind.clone(), reason: error.reason.clone(), retry_after }
    }

    fn client(kind: &str, reason: String) -> Self {
        LastError { status: 0, kind: kind.to_owned(), reason, retry_after: Duration::ZERO }
    }
}

/// The items of one reply, sorted by the next step.
#[derive(Default)]
struct Sorted {
    retry: Batch,
    /// The retry goes in halves.
    halve: bool,
    smaller: Batch,
    compare: Batch,
    /// Dropped by a pipeline or refused; which one is unknown. None of them is in the index.
    unproven: Batch,
    /// One of the unproven items has to wait before its retry.
    unproven_waits: bool,
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
        let mut sample = Sample {
            sent: now - wall,
            wall,
            took: None,
            bytes: part.batch.bytes,
            docs: part.batch.items,
            accepted: 0,
            rejected: 0,
            outcome: Outcome::Lost,
            in_flight: part.in_flight,
            source_limited: part.source_limited
                || self.pauses.is_held()
                || !self.pending.has_plenty(&self.plan())
                || self.paced(now) > now,
            remainder: part.remainder,
            node,
        };
        // Whether the duration reflects work of the cluster.
        let mut tells = true;
        match attempt {
            Attempt::Replied(reply) => {
                sample.outcome = Outcome::Answered;
                sample.took = reply.took_ms.map(Duration::from_millis);
                let counted = self.replied(now, slot_id, part, &reply);
                (sample.accepted, sample.rejected) = (counted.accepted, counted.rejected);
                tells = !counted.paused;
            }
            Attempt::Refused { status: status @ (406 | 415), error, .. } if part.format != BodyFormat::PLAIN => {
                (sample.outcome, tells) = (Outcome::Answered, false);
                let why = format!("the server refused a request: {}", LastError::new(status, &error));
                self.forbid_format(now, part.format, &why);
                self.push_front(slot_id, part);
            }
            Attempt::Refused { status, error, retry_after } => {
                let verdict = request_verdict(status, &error, self.config.incremental_bulk);
                sample.outcome = match verdict {
                    RequestVerdict::Smaller => Outcome::TooLarge,
                    // A gateway without a server, or a server that failed: neither is overloaded.
                    RequestVerdict::Retry { .. } if status >= 500 => Outcome::Lost,
                    RequestVerdict::Retry { .. } | RequestVerdict::RetrySmaller { .. } => Outcome::Refused,
                    RequestVerdict::Bisect { .. } | RequestVerdict::Pause(_) | RequestVerdict::Stop => {
                        tells = false;
                        Outcome::Answered
                    }
                };
                if matches!(sample.outcome, Outcome::Refused | Outcome::Lost) {
                    sample.rejected = sample.docs;
                    self.tally.counts.rejected_items += u64::from(part.batch.items);
                }
                let last = LastError::new(status, &error);
                let last = LastError { retry_after: retry_after.unwrap_or_default(), ..last };
                self.refused(now, slot_id, part, verdict, &last);
            }
            Attempt::NotSent { reason } => {
                self.commands.push_back(Command::Note(Note::WillRetry(reason.clone())));
                self.retry(now, slot_id, part, &LastError::client("not_sent", reason));
            }
            Attempt::Lost { reason } => self.lost(slot_id, request, part, reason),
            Attempt::Garbled { reason } => {
                self.forbid_format(now, part.format, &reason);
                self.lost(slot_id, request, part, reason);
            }
        }
        let heard = tells && self.learn(now, &sample, format, set_apart);
        if self.config.samples {
            self.commands.push_back(Command::Sample { sample, heard, now });
        }
        while let Some(decision) = self.tuner.poll_decision() {
            self.commands.push_back(Command::Note(Note::Plan(decision)));
        }
        self.advance(now, slot_id);
    }

    /// The cluster no longer works on a lost request, as far as that can be known.
    pub fn handle_gone(&mut self, now: Time, request: u64) {
        let Some(slot_id) = self.requests.remove(&request) else { return };
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        if !matches!(slot.state, SlotState::AwaitingGone) {
            return;
        }
        if let Some(part) = slot.parts.pop_front() {
            let last = LastError::client("no_answer", "a request got no answer".to_owned());
            self.retry(now, slot_id, part, &last);
        }
        self.advance(now, slot_id);
    }

    /// Takes the comparisons of documents that met a 409, in the order of the command.
    pub fn handle_compared(&mut self, now: Time, request: u64, results: &[Comparison]) {
        let Some(slot_id) = self.requests.remove(&request) else { return };
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        let state = std::mem::replace(&mut slot.state, SlotState::Waiting { until: now });
        let SlotState::Comparing { request: asked, part } = state else {
            slot.state = state;
            return;
        };
        debug_assert_eq!(asked, request, "a slot compares for one request at a time");
        let conflict = |what: &str| LastError {
            status: 409,
            kind: "version_conflict_engine_exception".to_owned(),
            reason: what.to_owned(),
            retry_after: Duration::ZERO,
        };
        let mut at = 0;
        for segment in &part.batch.segments {
            for item in 0..segment.len() {
                let mut one = Batch::default();
                one.push(segment.part(item, item + 1));
                match results.get(at) {
                    Some(Comparison::Equal) => self.settle_batch(now, &one, Settled::AlreadyThere, None, false),
                    Some(Comparison::Different) => {
                        self.dead_letter_batch(now, &one, &conflict("the id exists with different content"));
                    }
                    Some(Comparison::Failed(why)) => {
                        let why = format!("the id exists, but its content could not be compared: {why}");
                        self.dead_letter_batch(now, &one, &conflict(&why));
                    }
                    None => {
                        self.dead_letter_batch(now, &one, &conflict("the id exists, but its content was not compared"))
                    }
                }
                at += 1;
            }
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
    fn advance(&mut self, now: Time, slot_id: u64) {
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

    fn replied(&mut self, now: Time, slot_id: u64, part: Part, reply: &BulkReply) -> Counted {
        let part = self.blame_refused_format(now, part);
        let summary = self.config.summary_replies && !part.item_replies && reply.runs.is_empty();
        if summary && !reply.errors {
            self.met(now, None);
            self.last_progress = now;
            let items = part.batch.items;
            self.settle_batch(now, &part.batch, Settled::Created, None, part.uncertain);
            return Counted { accepted: items, ..Counted::default() };
        }
        if summary {
            // Some items failed. The entries are needed to know which.
            self.push_front(slot_id, Part { item_replies: true, ..part.unsure(true) });
            return Counted::default();
        }
        let mut sorted = Sorted::default();
        let mut stop = None;
        let paired = match self.config.pairing {
            Pairing::Places => None,
            Pairing::PlacesAtFirst | Pairing::Ids => {
                let context = self.context(&part);
                pair::by_id(&part.batch, reply, |entry| item_verdict(entry, context))
            }
        };
        let by_place = || Paired {
            runs: reply.runs.iter().map(|run| (run.count, Some(&run.item))).collect(),
            unowned: Vec::new(),
        };
        let Paired { runs, unowned } = paired.unwrap_or_else(by_place);
        for entry in unowned {
            if let Some(why) = self.judge_unowned(&part, entry, &mut sorted) {
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
                        if let Some(why) = self.judge(now, &part, entry, items, &mut sorted) {
                            stop.get_or_insert(why);
                        }
                    }
                    None => sorted.unproven.push(items),
                }
                at += count;
                left -= count;
                if left == 0 {
                    run = runs.next();
                    left = run.map_or(0, |(count, _)| count);
                }
            }
        }
        if sorted.accepted > 0 || sorted.unproven_worked {
            self.last_progress = now;
        }
        let Sorted { mut retry, halve, smaller, compare, unproven, unproven_waits, paused, last, .. } = sorted;
        let Sorted { accepted, rejected, .. } = sorted;
        self.met(now, paused);
        // An attempt with progress is not a failure: the batch shrinks, and its time is bounded
        // too.
        let failures = if accepted > 0 { 0 } else { part.failures };
        let setbacks = if accepted >= rejected { 0 } else { part.setbacks };
        if !unproven.is_empty() {
            self.config.pairing = Pairing::Ids;
            let may_wait = paused.is_some() || self.config.retry.allows(failures + 1, part.first_sent, now);
            match unproven_waits && may_wait {
                true => unproven.segments.into_iter().for_each(|segment| retry.push(segment)),
                false => self.resend_unmatched(slot_id, &part, unproven),
            }
        }
        if !smaller.is_empty() {
            self.halve(now, slot_id, part.with(smaller), &last);
        }
        if !compare.is_empty() {
            self.compare(slot_id, part.with(compare));
        }
        if !retry.is_empty() {
            let retry = match paused {
                Some(_) => part.with(retry).paused(now),
                None => Part { failures, setbacks, ..part.with(retry) },
            };
            self.retry_after_comparison(now, slot_id, retry, halve, &last);
        }
        if let Some(why) = stop {
            self.handle_stop(now, Stop::Failed(why));
        }
        Counted { accepted, rejected, paused: paused.is_some() }
    }

    /// Applies the verdict on adjacent items with the same entry. Returns the reason if the run has
    /// to stop.
    fn judge(
        &mut self,
        now: Time,
        part: &Part,
        reply: &ItemReply,
        items: Segment,
        sorted: &mut Sorted,
    ) -> Option<String> {
        let context = self.context(part);
        let error = reply.error.clone().unwrap_or_default();
        let last = || LastError::new(reply.status, &error);
        match item_verdict(reply, context) {
            Verdict::Settle(settled) => {
                sorted.accepted += items.len();
                self.acknowledge(now, part, settled, reply.index.as_deref(), &items);
            }
            verdict @ (Verdict::Retry | Verdict::RetrySmaller) => {
                sorted.halve |= verdict == Verdict::RetrySmaller;
                sorted.rejected += items.len();
                self.tally.counts.rejected_items += u64::from(items.len());
                sorted.last = last();
                sorted.retry.push(items);
            }
            Verdict::Smaller => {
                sorted.last = last();
                sorted.smaller.push(items);
            }
            Verdict::Compare => {
                // Finding the existing document was work.
                sorted.accepted += items.len();
                sorted.compare.push(items);
            }
            Verdict::DeadLetter => {
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
                return Some(format!("the cluster refuses documents: {}", last()));
            }
        }
        None
    }

    /// Applies an entry whose item is unknown. Returns the reason if the run has to stop.
    fn judge_unowned(&mut self, part: &Part, entry: &ItemReply, sorted: &mut Sorted) -> Option<String> {
        let verdict = item_verdict(entry, self.context(part));
        match verdict {
            Verdict::Settle(_) | Verdict::DeadLetter | Verdict::Compare | Verdict::Smaller => {
                sorted.unproven_worked = true;
                return None;
            }
            Verdict::Retry | Verdict::RetrySmaller => {
                sorted.halve |= verdict == Verdict::RetrySmaller;
                sorted.rejected += 1;
                self.tally.counts.rejected_items += 1;
            }
            Verdict::Pause(condition) => sorted.paused = Some(condition),
            Verdict::Stop => {}
        }
        sorted.unproven_waits = true;
        sorted.last = LastError::new(entry.status, &entry.error.clone().unwrap_or_default());
        (verdict == Verdict::Stop).then(|| format!("the cluster refuses documents: {}", sorted.last))
    }

    fn context(&self, part: &Part) -> ItemContext {
        ItemContext {
            uncertain: part.uncertain,
            versioned: self.config.versioned,
            on_conflict: self.config.on_conflict,
        }
    }

    fn refused(&mut self, now: Time, slot_id: u64, mut part: Part, verdict: RequestVerdict, last: &LastError) {
        match verdict {
            RequestVerdict::Retry { uncertain } => {
                part = part.unsure(uncertain);
                self.commands.push_back(Command::Note(Note::WillRetry(last.to_string())));
                self.retry(now, slot_id, part, last);
            }
            RequestVerdict::RetrySmaller { uncertain } => {
                part = part.unsure(uncertain);
                self.commands.push_back(Command::Note(Note::WillRetry(last.to_string())));
                self.retry_in_halves(now, slot_id, part, last);
            }
            RequestVerdict::Smaller => {
                self.limit_bodies(part.batch.bytes);
                self.halve(now, slot_id, part, last);
            }
            RequestVerdict::Bisect { uncertain } => {
                part = part.unsure(uncertain);
                match part.as_plain_json() {
                    Some(plain) => self.push_front(slot_id, plain),
                    None => self.halve(now, slot_id, part.stay_plain(), last),
                }
            }
            RequestVerdict::Pause(condition) => {
                self.met(now, Some(condition));
                self.retry(now, slot_id, part.paused(now), last);
            }
            RequestVerdict::Stop => {
                self.push_front(slot_id, part);
                self.handle_stop(now, Stop::Failed(format!("the cluster refuses bulk requests: {last}")));
            }
        }
    }

    /// Replaces a part by two halves. A single document that is still too large, or still spoils
    /// its request, is a dead letter.
    fn halve(&mut self, now: Time, slot_id: u64, part: Part, last: &LastError) {
        if part.batch.items == 1 {
            return self.dead_letter_batch(now, &part.batch, last);
        }
        let (a, b) = part.batch.halves();
        self.push_front(slot_id, part.with(b));
        self.push_front(slot_id, part.with(a));
    }

    /// Sends items again whose entries could not be matched, and requests the ids of entries. If
    /// that was done before, each item is sent alone. None of the items is in the index, so no
    /// duplicates arise.
    fn resend_unmatched(&mut self, slot_id: u64, part: &Part, unproven: Batch) {
        if !part.ids_asked && unproven.has_ids() {
            return self.push_front(slot_id, part.with(unproven));
        }
        for segment in unproven.segments.iter().rev() {
            for at in (0..segment.len()).rev() {
                let mut one = Batch { set_apart: part.batch.set_apart, shard: part.batch.shard, ..Batch::default() };
                one.push(segment.part(at, at + 1));
                self.push_front(slot_id, part.with(one));
            }
        }
    }

    fn push_front(&mut self, slot_id: u64, part: Part) {
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            slot.parts.push_front(part);
        }
    }

    fn lost(&mut self, slot_id: u64, request: u64, part: Part, reason: String) {
        self.commands.push_back(Command::Note(Note::Lost(reason)));
        self.requests.insert(request, slot_id);
        self.push_front(slot_id, part.unsure(true));
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            slot.state = SlotState::AwaitingGone;
        }
        self.commands.push_back(Command::AwaitGone { request });
    }

    fn compare(&mut self, slot_id: u64, part: Part) {
        let request = self.next_id();
        let mut items = Vec::with_capacity(part.batch.items as usize);
        for segment in &part.batch.segments {
            for item in segment.first..segment.end {
                let (action, document) = segment.block.items.action_and_document(item);
                items.push(Item { action, document });
            }
        }
        self.requests.insert(request, slot_id);
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            slot.state = SlotState::Comparing { request, part };
        }
        self.commands.push_back(Command::Compare { request, items });
    }

    /// As [`Flow::retry`], in two requests if there is more than one document. The halves are a new
    /// attempt, so they cost no retries, only time.
    fn retry_in_halves(&mut self, now: Time, slot_id: u64, mut part: Part, last: &LastError) {
        if part.batch.items == 1 || !self.config.retry.allows(part.failures, part.first_sent, now) {
            return self.retry(now, slot_id, part, last);
        }
        (part.failures, part.setbacks) = (part.failures.max(1), part.setbacks + 1);
        let (a, b) = part.batch.halves();
        self.wait_and_send(now, slot_id, [part.with(a), part.with(b)], last);
    }

    /// As [`Flow::retry`]. While a comparison is in flight, the part is queued behind it.
    fn retry_after_comparison(&mut self, now: Time, slot_id: u64, part: Part, halve: bool, last: &LastError) {
        let comparing = self.slots.get(&slot_id).is_some_and(|s| matches!(s.state, SlotState::Comparing { .. }));
        if comparing {
            self.push_front(slot_id, Part { failures: part.failures + 1, ..part });
        } else if halve {
            self.retry_in_halves(now, slot_id, part, last);
        } else {
            self.retry(now, slot_id, part, last);
        }
    }
}
