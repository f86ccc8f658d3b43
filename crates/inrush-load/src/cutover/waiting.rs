//! What the steps that wait have in common.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;

use crate::progress::{Phase, ShowPhase, Step};

/// Between two questions at first, and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The cluster, who watches, and how long a step may take.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) transport: Arc<Transport>,
    pub(super) show: ShowPhase,
    pub(super) timeout: Duration,
}

impl Waiting {
    /// What a step is doing, for whoever watches.
    pub(super) fn show(&self, step: Step, detail: impl Into<String>) {
        let phase = Phase::Finishing { step, detail: detail.into() };
        (self.show)(phase);
    }

    /// Asks until the answer is what is waited for.
    pub(super) fn poll(&self) -> Poll {
        Poll { timeout: self.timeout, deadline: Instant::now() + self.timeout, pause: PAUSE_MIN }
    }
}

/// The pauses between questions, and their end.
pub(super) struct Poll {
    timeout: Duration,
    deadline: Instant,
    pause: Duration,
}

impl Poll {
    /// Waits before the next question.
    ///
    /// # Errors
    /// The time is over; `state` says how it is.
    pub(super) async fn pause(&mut self, state: &str) -> Result<(), String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("{state}, after {} s (option `wait_timeout`)", self.timeout.as_secs_f64()));
        }
        tokio::time::sleep(self.pause.min(left)).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

/// Whether the same question may be answered a little later: a node restarts, or is overloaded.
pub fn is_passing(error: &ClusterError) -> bool {
    matches!(error, ClusterError::Http(_)) || matches!(error.status(), Some(429 | 502..=504))
}
