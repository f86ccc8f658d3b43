//! The transition between two plans.

use super::Sample;
use crate::time::Time;

/// Requests of the last plan that are still in flight. They say nothing about the new plan, but
/// delay its requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    since: Time,
    /// How many of them may still be in flight.
    sent_before: u32,
    /// When the first request of the new plan returned.
    first_back: Option<Time>,
}

impl Settling {
    /// The plan changed at `since`, with `sent_before` requests in flight.
    pub(super) fn new(since: Time, sent_before: u32) -> Self {
        Settling { since, sent_before, first_back: None }
    }

    /// Whether requests of the last plan may still be in flight. A straggler is not awaited: the
    /// transition ends when two successive requests of the new plan have returned.
    pub(super) fn is_in_progress(&mut self, now: Time, sample: &Sample) -> bool {
        if sample.sent < self.since {
            self.sent_before = self.sent_before.saturating_sub(1);
        } else if self.first_back.is_some_and(|first| sample.sent >= first) {
            return false;
        } else {
            self.first_back.get_or_insert(now);
        }
        self.sent_before > 0
    }
}
