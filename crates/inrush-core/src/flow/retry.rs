//! Retries: what is sent again, when, and in which pieces.

use std::time::Duration;

use super::slot::{LastError, Part, Slot, SlotState};
use super::{Command, Flow, Note, Stop};
use crate::batch::Batch;
use crate::codes::Code;
use crate::outcome::RequestVerdict;
use crate::time::Time;

/// While no server is reached, the wait doubles this many times at most: by default up to 3.2 s.
const UNSENT_SETBACKS_MAX: u32 = 6;
/// Attempts of a request that is likely to fail each time: by default some 20 s.
const LASTING_FAILURES_MAX: u32 = 10;

impl Flow {
    /// The wait after this number of setbacks.
    pub(super) fn wait(&mut self, setbacks: u32) -> Duration {
        self.config.retry.wait(setbacks, &mut self.jitter)
    }

    /// Retries a part after a wait, or gives up if its budget is spent.
    pub(super) fn retry(&mut self, now: Time, slot_id: u64, mut part: Part, last: &LastError) {
        part.failures += 1;
        part.setbacks += 1;
        part.failed.get_or_insert(now);
        if !self.config.retry.allows(part.failures, part.first_sent, now) {
            return self.exhausted(now, part, last);
        }
        self.wait_and_send(now, slot_id, [part], last);
    }

    /// As [`Flow::retry`], where no server was reached. That costs time but no retries, so a
    /// cluster may be away for the whole of `retry_for`. The waits stay short enough to notice its
    /// return.
    pub(super) fn retry_unsent(&mut self, now: Time, slot_id: u64, mut part: Part, last: &LastError) {
        part.setbacks = (part.setbacks + 1).min(UNSENT_SETBACKS_MAX);
        part.failed.get_or_insert(now);
        if !self.config.retry.allows(part.failures, part.first_sent, now) {
            return self.exhausted(now, part, last);
        }
        self.wait_and_send(now, slot_id, [part], last);
    }

    /// As [`Flow::retry`], where another attempt is likely to end alike. The documents are not the
    /// cause, so the run ends with the reason, and the next run sends them.
    pub(super) fn retry_lasting(&mut self, now: Time, slot_id: u64, mut part: Part, last: &LastError) {
        part.failures += 1;
        part.setbacks += 1;
        part.failed.get_or_insert(now);
        if part.failures < LASTING_FAILURES_MAX {
            return self.wait_and_send(now, slot_id, [part], last);
        }
        self.push_front(slot_id, part);
        self.handle_stop(now, Stop::failed(Code::LookUpFailed, last.reason.clone()));
    }

    /// Puts parts at the front of their slot. The first one is sent after a wait.
    fn wait_and_send<const N: usize>(&mut self, now: Time, slot_id: u64, parts: [Part; N], last: &LastError) {
        // A server that asks for more than the longest wait is asked again after that: it may have
        // recovered.
        let asked_for = last.retry_after.min(self.config.retry.longest_wait);
        let setbacks = parts.first().map_or(0, |part| part.setbacks);
        let until = now + self.wait(setbacks).max(asked_for);
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            parts.into_iter().rev().for_each(|part| slot.parts.push_front(part));
            slot.state = SlotState::Waiting { until };
        }
    }

    /// Learns the server's limit on bodies from a refused one.
    pub(super) fn limit_bodies(&mut self, refused_bytes: u64) {
        // Half of the refused size. A few tries find the server's unknown limit from above.
        let limit = (refused_bytes / 2).max(1);
        if limit < self.body_limit {
            self.body_limit = limit;
            self.commands.push_back(Command::Note(Note::BodyLimit(limit)));
        }
    }

    /// Processes the refusal of a whole request.
    pub(super) fn refused(
        &mut self,
        now: Time,
        slot_id: u64,
        mut part: Part,
        verdict: RequestVerdict,
        last: &LastError,
    ) {
        match verdict {
            RequestVerdict::Retry { uncertain } => {
                part = part.unsure(uncertain);
                self.commands.push_back(Command::Note(Note::WillRetry(last.to_string())));
                match last.status == 429 && part.may_be_too_large() {
                    true => self.retry_in_halves(now, slot_id, part, last),
                    false => self.retry(now, slot_id, part, last),
                }
            }
            RequestVerdict::RetrySmaller { uncertain } => {
                part = part.unsure(uncertain);
                self.commands.push_back(Command::Note(Note::WillRetry(last.to_string())));
                self.retry_in_halves(now, slot_id, part, last);
            }
            RequestVerdict::Smaller { uncertain } => {
                part = part.unsure(uncertain);
                self.limit_bodies(part.batch.bytes);
                self.halve(now, slot_id, part, last);
            }
            RequestVerdict::Bisect { uncertain, waits } => {
                part = part.unsure(uncertain);
                match part.as_plain_json() {
                    Some(plain) => self.push_front(slot_id, plain),
                    None if waits => {
                        self.commands.push_back(Command::Note(Note::WillRetry(last.to_string())));
                        self.bisect_slowly(now, slot_id, part.stay_plain(), last);
                    }
                    None => self.halve(now, slot_id, part.stay_plain(), last),
                }
            }
            RequestVerdict::Pause(condition) => {
                self.met(now, Some(condition));
                self.retry(now, slot_id, part.paused(now), last);
            }
            RequestVerdict::Stop => {
                self.push_front(slot_id, part);
                self.handle_stop(
                    now,
                    Stop::failed(
                        Code::of_status(last.status, Code::BulkRefused),
                        format!("the cluster refuses bulk requests: {last}"),
                    ),
                );
            }
        }
    }

    /// Replaces a part by two halves. A single document that is still too large, or still spoils
    /// its request, is a dead letter.
    pub(super) fn halve(&mut self, now: Time, slot_id: u64, part: Part, last: &LastError) {
        if part.batch.items == 1 {
            return self.dead_letter_batch(now, &part.batch, last);
        }
        let (a, b) = part.batch.halves();
        self.push_front(slot_id, part.with(b));
        self.push_front(slot_id, part.with(a));
    }

    /// Sends items again whose entries could not be matched, and requests the ids of entries. If
    /// that was done before, each item is sent alone. None of the items is in the index, unless the
    /// part is unsure.
    pub(super) fn resend_unmatched(&mut self, slot_id: u64, part: &Part, unproven: Batch) {
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

    /// Puts a part at the front of its slot.
    pub(super) fn push_front(&mut self, slot_id: u64, part: Part) {
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            slot.parts.push_front(part);
        }
    }

    /// Processes an attempt without an answer.
    pub(super) fn lost(&mut self, slot_id: u64, request: u64, part: Part, reason: String) {
        self.commands.push_back(Command::Note(Note::Lost(reason)));
        self.open(request, &part);
        self.requests.insert(request, slot_id);
        self.push_front(slot_id, part.unsure(true));
        if let Some(slot) = self.slots.get_mut(&slot_id) {
            slot.state = SlotState::AwaitingGone;
        }
        self.commands.push_back(Command::AwaitGone { request });
    }

    /// As [`Flow::retry`], in two requests if there is more than one document. The halves are a new
    /// attempt, so they cost no retries, only time.
    fn retry_in_halves(&mut self, now: Time, slot_id: u64, mut part: Part, last: &LastError) {
        if part.batch.items == 1 || !self.config.retry.allows(part.failures, part.first_sent, now) {
            return self.retry(now, slot_id, part, last);
        }
        (part.failures, part.setbacks) = (part.failures.max(1), part.setbacks + 1);
        part.failed.get_or_insert(now);
        let (a, b) = part.batch.halves();
        self.wait_and_send(now, slot_id, [part.with(a), part.with(b)], last);
    }

    /// As [`Flow::retry_in_halves`]. Once the limits of retries are reached while others make
    /// progress, the halves go on without a wait, so that only the document that spoils its
    /// request is given up.
    fn bisect_slowly(&mut self, now: Time, slot_id: u64, part: Part, last: &LastError) {
        let spent = !self.config.retry.allows(part.failures, part.first_sent, now);
        match spent && part.batch.items > 1 && self.last_progress > part.first_sent {
            true => self.halve(now, slot_id, part, last),
            false => self.retry_in_halves(now, slot_id, part, last),
        }
    }

    /// As [`Flow::retry`]. While a comparison is in flight, the part is queued behind it.
    pub(super) fn retry_after_comparison(
        &mut self,
        now: Time,
        slot_id: u64,
        part: Part,
        halve: bool,
        last: &LastError,
    ) {
        let next = now + self.wait(part.setbacks + 1).max(last.retry_after.min(self.config.retry.longest_wait));
        if let Some(Slot { state: SlotState::Comparing { until, .. }, parts, .. }) = self.slots.get_mut(&slot_id) {
            *until = next;
            let part = Part { failures: part.failures + 1, setbacks: part.setbacks + 1, ..part };
            parts.push_front(part);
        } else if halve {
            self.retry_in_halves(now, slot_id, part, last);
        } else {
            self.retry(now, slot_id, part, last);
        }
    }
}
