//! The parts that all waiting steps share.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::Wait;
use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;

use crate::progress::{Phase, ShowPhase, Step};

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

    /// The transport for the questions of a wait, which asks again by itself.
    pub(super) fn asking(&self) -> Transport {
        self.transport.brief()
    }

    /// Starts a wait with the timeout of a step.
    pub(super) fn wait(&self) -> Wait {
        Wait::new(self.timeout).by_option("wait_timeout")
    }
}

/// Whether the same request may succeed a little later: a node restarts, or is overloaded.
pub fn is_passing(error: &ClusterError) -> bool {
    matches!(error, ClusterError::Http(_)) || matches!(error.status(), Some(429 | 502..=504))
}
