//! Where the partitions end, for the lag.

use std::time::Duration;

use inrush_cluster::clock::Instant;

use super::Consumer;
use crate::client::{Client, ClientError, Offsets};

/// How old the ends of partitions may be.
pub(super) const ENDS_EVERY: Duration = Duration::from_secs(2);

/// The question where the partitions end. Records that are fetched do not say it: nothing is
/// fetched while the partitions are paused.
pub(super) struct EndsQuestion {
    is_open: bool,
    answered_at: Instant,
}

impl EndsQuestion {
    pub(super) fn new(now: Instant) -> Self {
        EndsQuestion { is_open: false, answered_at: now }
    }
}

impl<C: Client> Consumer<C> {
    /// Asks where the partitions end, once the last answer is old.
    pub(super) fn ask_ends(&mut self) {
        let age = (self.now)().duration_since(self.ends_question.answered_at);
        if self.ends_question.is_open || age < ENDS_EVERY {
            return;
        }
        let partitions = self.shared.state().assignment.partitions();
        if !partitions.is_empty() {
            self.ends_question.is_open = true;
            self.client.ask_ends(&partitions);
        }
    }

    pub(super) fn ends_answered(&mut self, ends: Result<Offsets, ClientError>) {
        self.ends_question = EndsQuestion::new((self.now)());
        match ends {
            Ok(ends) => self.shared.state().assignment.at_ends(&ends),
            Err(error) => tracing::debug!("the ends of the partitions: {error}"),
        }
    }
}
