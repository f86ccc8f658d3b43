//! When a flow gives up on a document, a batch or the run.

use super::slot::{LastError, Part, SlotState};
use super::{Command, DeadLetter, Flow};
use crate::batch::Batch;
use crate::codes::{Code, StopReason};
use crate::outcome::{About, OF_A_LOST_PRIMARY, Settled, about};
use crate::time::Time;

/// Why a run ended before its sources did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The caller requested it.
    Interrupted,
    /// It could not continue.
    Failed(StopReason),
}

impl Stop {
    /// A run that could not continue, with the reason.
    pub fn failed(code: Code, why: impl Into<String>) -> Self {
        Stop::Failed(StopReason::new(code, why))
    }
}

/// When to stop because of dead letters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MaxErrors {
    /// At more than this number of dead letters.
    Count(u64),
    /// At more than this percentage of the documents. It is checked from the 10,000th document on
    /// and at the end. 100, the default, stops only if all documents are dead letters.
    Percent(f64),
}

impl Default for MaxErrors {
    fn default() -> Self {
        MaxErrors::Percent(100.0)
    }
}

/// The number of documents from which [`MaxErrors::Percent`] is checked.
const PERCENT_FROM_DOCS: u64 = 10_000;

impl Flow {
    pub(super) fn dead_letter(&mut self, now: Time, letter: DeadLetter) {
        self.tally.dead_letter(letter.status, &letter.kind, &letter.reason);
        self.commands.push_back(Command::DeadLetter(Box::new(letter)));
        let c = &self.tally.counts;
        let hopeless = match self.config.max_errors {
            MaxErrors::Count(max) => c.docs_dead_lettered > max,
            MaxErrors::Percent(_) => c.docs_read >= PERCENT_FROM_DOCS && self.too_many_errors(),
        };
        if hopeless && self.stop.is_none() {
            self.too_many = true;
            self.handle_stop(now, Stop::failed(Code::TooManyErrors, self.max_errors_message()));
        }
    }

    /// Whether there are more dead letters than allowed, for the check at the end.
    pub fn too_many_errors(&self) -> bool {
        let c = &self.tally.counts;
        match self.config.max_errors {
            MaxErrors::Count(max) => c.docs_dead_lettered > max,
            MaxErrors::Percent(max) if max >= 100.0 => {
                c.docs_read >= PERCENT_FROM_DOCS && c.docs_dead_lettered == c.docs_read
            }
            MaxErrors::Percent(max) => c.docs_dead_lettered as f64 * 100.0 > max * c.docs_read as f64,
        }
    }

    /// The message for too many dead letters.
    pub fn max_errors_message(&self) -> String {
        let c = &self.tally.counts;
        let worst = self.tally.errors().into_iter().next();
        let worst =
            worst.map(|e| format!("; most frequent: {} {}: {}", e.status, e.kind, e.reason)).unwrap_or_default();
        format!(
            "{} of {} documents could not be loaded, which is more than option `max_errors` allows{worst}",
            c.docs_dead_lettered, c.docs_read
        )
    }

    pub(super) fn give_up_if_due(&mut self, now: Time) {
        if self.pauses.end(self.config.pause_max).is_some_and(|end| end <= now)
            && let Some(pause) = self.paused()
        {
            let waited = self.config.pause_max.as_secs_f64();
            let why = format!("stopped after a pause of {waited} s: {}", pause.why);
            self.handle_stop(now, Stop::failed(Code::PauseTooLong, why));
        }
        let Some((_, stopped_at)) = self.stop else { return };
        let over = now.since(stopped_at) >= self.config.drain_max;
        self.give_up_durable(now, over);
        let ids: Vec<u64> = self.slots.keys().copied().collect();
        for id in ids {
            let Some(slot) = self.slots.get(&id) else { continue };
            // A stop ends slots that only wait. Answers that may still come are awaited.
            let ends = match slot.state {
                SlotState::Waiting { .. } => true,
                SlotState::Sent { .. } | SlotState::AwaitingGone | SlotState::Comparing { .. } => over,
            };
            if ends {
                self.abandon(now, id);
            }
        }
    }

    /// Gives up on a slot: items that may have been applied are unknown, the others are given back.
    fn abandon(&mut self, now: Time, slot_id: u64) {
        let Some(slot) = self.slots.remove(&slot_id) else { return };
        let in_flight = matches!(slot.state, SlotState::Sent { .. } | SlotState::AwaitingGone);
        if let SlotState::Sent { request } = slot.state {
            self.requests.remove(&request);
        }
        if let SlotState::Comparing { part, .. } = &slot.state {
            // The 409 said that a document exists, but not whose it is.
            self.settle_batch(now, &part.batch, Settled::Unknown, None, false);
        }
        for (at, part) in slot.parts.iter().enumerate() {
            if part.uncertain || (at == 0 && in_flight) {
                self.settle_batch(now, &part.batch, Settled::Unknown, None, false);
            }
        }
    }

    pub(super) fn exhausted(&mut self, now: Time, part: Part, last: &LastError) {
        let tried = now.since(part.first_sent).as_secs_f64();
        let about = match last.status {
            0 => None,
            status => Some(about(status, &last.kind, &last.reason)),
        };
        // A gateway that answers instead of the cluster says nothing about the documents.
        let no_way = (502..=504).contains(&last.status) && last.kind.is_empty();
        // Others that were under way may have been accepted before this part failed, or a little
        // later, until the way to the cluster was lost for all.
        let stalled = self.last_progress <= part.first_sent
            || part.failed.is_some_and(|at| self.last_progress < at)
            || no_way && now.since(self.last_progress) >= now.since(part.first_sent) / 2;
        let is_lost = OF_A_LOST_PRIMARY.contains(&last.kind.as_str());
        if stalled || is_lost || matches!(about, Some(About::Shard | About::Disk | About::Cluster)) {
            // These documents are not the cause, and dead letters would not help.
            let idle = now.since(self.last_progress.max(part.first_sent)).as_secs_f64();
            let (what, seconds) = match stalled {
                true => ("the cluster has accepted no document", idle),
                false => ("a part of the cluster has accepted no document", tried),
            };
            let known =
                if about == Some(About::Unknown) && !no_way { " (an error that inrush does not know)" } else { "" };
            let why = format!("{what} for {seconds:.0} s; the last attempt ended with {last}{known}");
            // The stop comes first: documents that are unknown at the end of a run are sent again
            // by the next run.
            self.handle_stop(now, Stop::failed(Code::RetriesSpent, why));
            if part.uncertain {
                self.settle_batch(now, &part.batch, Settled::Unknown, None, false);
            }
            return;
        }
        if part.uncertain && last.status == 0 {
            return self.settle_batch(now, &part.batch, Settled::Unknown, None, false);
        }
        let known =
            if about == Some(About::Unknown) && !no_way { " with an error that inrush does not know" } else { "" };
        let reason =
            format!("given up after {tried:.0} s and {} failed attempts{known}: {}", part.failures, last.reason);
        let last = LastError { reason, ..last.clone() };
        self.dead_letter_batch(now, &part.batch, &last);
    }

    pub(super) fn dead_letter_batch(&mut self, now: Time, batch: &Batch, error: &LastError) {
        for segment in &batch.segments {
            for item in segment.first..segment.end {
                let (action, document) = segment.block.items.action_and_document(item);
                let letter = DeadLetter {
                    position: segment.block.items.position(item),
                    status: error.status,
                    kind: error.kind.clone(),
                    reason: error.reason.clone(),
                    action: Some(action),
                    meta: None,
                    document,
                };
                self.dead_letter(now, letter);
            }
            self.release(now, segment, None);
        }
    }
}
