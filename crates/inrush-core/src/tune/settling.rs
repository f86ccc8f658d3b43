//! What of an earlier plan is still under way.

use super::Sample;
use crate::time::Time;

/// Requests that were sent under the last plan, which are no evidence for the present one but in its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    since: Time,
    /// How many may still be under way.
    sent_before: u32,
    /// When the first request of the present plan came back.
    first_back: Option<Time>,
}

impl Settling {
    /// The plan changed at `since`, with `sent_before` requests under way.
    pub(super) fn new(since: Time, sent_before: u32) -> Self {
        Settling { since, sent_before, first_back: None }
    }

    /// Whether some may still be under way. A straggler is not waited for: when two requests that followed each other have come back, it is over.
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
