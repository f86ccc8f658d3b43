//! One permit: a request under way, and what an answer makes of its items. Repetitions and halves of a request stay inside
//! its permit, so that a cluster in trouble gets fewer requests, not more.

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

/// During a pause the wait doubles so often, with the default from 100 ms to 3.2 s.
const PAUSED_SETBACKS_MAX: u32 = 5;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: u64,
    /// What is left of the request, the part that is sent next in front.
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
    /// An attempt may have been applied without our knowing.
    pub(super) uncertain: bool,
    /// The last attempt was such a one: sent again, what has no id may be there once more.
    pub(super) last_uncertain: bool,
    /// Ask for entries even where summaries are enough.
    pub(super) item_replies: bool,
    /// When it was sent last, the ids of the entries were asked for.
    pub(super) ids_asked: bool,
    /// Attempts since one got anything in.
    pub(super) failures: u32,
    /// Those among them, without a better one since, that got less than half of the items in: the wait doubles with each.
    pub(super) setbacks: u32,
    pub(super) first_sent: Time,
    /// Requests under way when it was sent last.
    pub(super) in_flight: u32,
    /// It was sent before it was full.
    pub(super) source_limited: bool,
    /// It is what is left of a larger one.
    pub(super) remainder: bool,
    /// In which life of the index it was sent last.
    pub(super) epoch: u32,
    /// How it was sent last.
    pub(super) format: BodyFormat,
    /// Whether it may only be sent as every server takes it.
    pub(super) plain: Plain,
    /// What was compressed, for a repetition.
    pub(super) body: Option<Arc<Body>>,
    /// What sends all items to one shard, the same in every repetition.
    pub(super) routing: Option<Arc<str>>,
}

/// Whether a part is to be sent as JSON without compression, whatever others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// It may be sent as others are.
    No,
    /// The server refused it in another form: if it takes it so, that was because of the form.
    Tried,
    /// It was refused so, too: something in it is to blame.
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

    /// What was sent before and may be there, or may be lost.
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

    /// After an attempt that met a condition of the whole index. Waiting for it to pass costs no retries, the pause has a bound of
    /// its own; the wait grows, so that a cluster in trouble is asked seldom, but stays short enough to notice that it is over.
    fn paused(self, now: Time) -> Part {
        Part { first_sent: now, failures: 0, setbacks: self.setbacks.min(PAUSED_SETBACKS_MAX), ..self }
    }

    /// After an attempt that may have been applied, or surely was not.
    fn unsure(self, uncertain: bool) -> Part {
        Part { uncertain: self.uncertain || uncertain, last_uncertain: self.last_uncertain || uncertain, ..self }
    }
}

/// The error that a repetition follows.
#[derive(Clone, Debug, Default)]
pub(super) struct LastError {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) reason: String,
    /// The server asked for a wait of at least so long.
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

/// Items of one reply, sorted by what is to be done with them.
#[derive(Default)]
struct Sorted {
    retry: Batch,
    /// What is retried is to be sent in halves.
    halve: bool,
    smaller: Batch,
    compare: Batch,
    /// Dropped by a pipeline or refused: which of both is not known. Neither is in the index.
    unproven: Batch,
    /// One of the unproven is to be sent again after a wait.
    unproven_waits: bool,
    /// The cluster worked on one of the unproven.
    unproven_worked: bool,
    paused: Option<Condition>,
    last: LastError,
    accepted: u32,
    rejected: u32,
}

/// What a reply counted for the tuner.
#[derive(Default)]
struct Counted {
    accepted: u32,
    rejected: u32,
    /// Some items met a condition of the whole index.
    paused: bool,
}

impl Flow {
    /// Takes what became of a request. `wall`: from handing it over to the end of its reply. `node`: where it went, by its place in the
    /// list of nodes.
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
        // Whether the time that it took says something of the work that the cluster does.
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
                let why = format!("the server refused it: {}", LastError::new(status, &error));
                self.forbid_format(now, part.format, &why);
                self.push_front(slot_id, part);
            }
            Attempt::Refused { status, error, retry_after } => {
                let verdict = request_verdict(status, &error, self.config.incremental_bulk);
                sample.outcome = match verdict {
                    RequestVerdict::Smaller => Outcome::TooLarge,
                    // A gateway that finds nobody, or a server that broke: not one that has too much to do.
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

    /// The cluster no longer works on a request whose attempt was lost, as far as can be told.
    pub fn handle_gone(&mut self, now: Time, request: u64) {
        let Some(slot_id) = self.requests.remove(&request) else { return };
        let Some(slot) = self.slots.get_mut(&slot_id) else { return };
        if !matches!(slot.state, SlotState::AwaitingGone) {
            return;
        }
        if let Some(part) = slot.parts.pop_front() {
            let last = LastError::client("no_answer", "no answer to a request that was sent".to_owned());
            self.retry(now, slot_id, part, &last);
        }
        self.advance(now, slot_id);
    }

    /// Takes the comparison of documents that met a 409, in the order of the command.
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
                        self.dead_letter_batch(now, &one, &conflict("the id exists with other content"));
                    }
                    Some(Comparison::Failed(why)) => {
                        let why = format!("the id exists, and its content could not be compared: {why}");
                        self.dead_letter_batch(now, &one, &conflict(&why));
                    }
                    None => self.dead_letter_batch(now, &one, &conflict("the id exists, and was not compared")),
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

    /// After an answer: the next part of the slot, or its end.
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
            // Some were refused, and which is not known: the same again, with entries.
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
        // What got something in is no failure, however often: the batch shrinks, and its time is
        // bounded too.
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

    /// Decides on neighbouring items with the same entry. Returns why the run has to stop, if it has to.
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
                // To find out that it is there was work.
                sorted.accepted += items.len();
                sorted.compare.push(items);
            }
            Verdict::DeadLetter => {
                let mut batch = Batch::default();
                batch.push(items);
                self.dead_letter_batch(now, &batch, &last());
                // The cluster works; it is the document that does not.
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

    /// What an entry says of its request, whose item is not known. Returns why the run has to stop,
    /// if it has to.
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

    /// Two halves in place of a part; a single document that is still too much, or still spoils its request, is a dead letter.
    fn halve(&mut self, now: Time, slot_id: u64, part: Part, last: &LastError) {
        if part.batch.items == 1 {
            return self.dead_letter_batch(now, &part.batch, last);
        }
        let (a, b) = part.batch.halves();
        self.push_front(slot_id, part.with(b));
        self.push_front(slot_id, part.with(a));
    }

    /// Sends items again whose entries of the reply could not be told apart, asking for the ids of
    /// the entries; where that was done before, each item alone. None of them is in the index, so
    /// nothing is there twice.
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

    /// Like [`Flow::retry`], in two requests where it has more than one document. That is a new attempt with something smaller, so it costs none of the
    /// retries, only their time.
    fn retry_in_halves(&mut self, now: Time, slot_id: u64, mut part: Part, last: &LastError) {
        if part.batch.items == 1 || !self.config.retry.allows(part.failures, part.first_sent, now) {
            return self.retry(now, slot_id, part, last);
        }
        (part.failures, part.setbacks) = (part.failures.max(1), part.setbacks + 1);
        let (a, b) = part.batch.halves();
        self.wait_and_send(now, slot_id, [part.with(a), part.with(b)], last);
    }

    /// Like [`Flow::retry`]; while a comparison is under way the part only queues behind it.
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
