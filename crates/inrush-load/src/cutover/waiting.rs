//! The parts that all waiting steps share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;

use crate::progress::{Phase, ShowPhase, Step};

/// First and longest pause between two requests.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The cluster, the display of the progress, and the timeout of a step.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) transport: Arc<Transport>,
    pub(super) show: ShowPhase,
    pub(super) timeout: Duration,
}

impl Waiting {
    /// Shows the state of a step.
    pub(super) fn show(&self, step: Step, detail: impl Into<String>) {
        let phase = Phase::Finishing { step, detail: detail.into() };
        (self.show)(phase);
    }

    /// Starts a wait with the timeout of a step.
    pub(super) fn poll(&self) -> Poll {
        Poll { timeout: self.timeout, deadline: Instant::now() + self.timeout, pause: PAUSE_MIN }
    }
}

/// The pauses between two requests, and the timeout of the wait.
pub(super) struct Poll {
    timeout: Duration,
    deadline: Instant,
    pause: Duration,
}

impl Poll {
    /// Waits before the next request.
    ///
    /// # Errors
    /// The timeout has passed. `state` is the state of the index, for the message.
    pub(super) async fn pause(&mut self, state: &str) -> Result<(), String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("{state}, still after {} s (option `wait_timeout`)", self.timeout.as_secs_f64()));
        }
        tokio::time::sleep(self.pause.min(left)).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

/// Whether the same request may succeed a little later: a node restarts, or is overloaded.
pub fn is_passing(error: &ClusterError) -> bool {
    matches!(error, ClusterError::Http(_)) || matches!(error.status(), Some(429 | 502..=504))
}
