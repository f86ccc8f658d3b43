//! The stop of a load before its first document.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Stops a load that begins. Clones share the stop. Without it, a caller that drops the future of a
/// load that begins may leave its index behind.
#[derive(Clone, Debug, Default)]
pub struct BeginningHandle {
    stopped: Arc<watch::Sender<bool>>,
    changes: Arc<AtomicBool>,
}

impl BeginningHandle {
    /// Stops the load. Its future ends with [`LoadError::Stopped`](crate::LoadError::Stopped) after
    /// what it has made in the cluster is taken back, at most option `grace` later. Returns false
    /// where it has changed nothing yet: its future may be dropped.
    pub fn stop(&self) -> bool {
        self.stopped.send_replace(true);
        self.changes.load(Ordering::SeqCst)
    }

    /// The load changes the cluster from now on.
    pub(super) fn changes(&self) {
        self.changes.store(true, Ordering::SeqCst);
    }

    /// Runs a step of the beginning. `None`: the load was stopped meanwhile.
    pub(super) async fn unless_stopped<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.subscribe();
        tokio::select! {
            biased;
            // The sender lives in `self`, so the wait cannot fail.
            _ = stopped.wait_for(|stopped| *stopped) => None,
            done = step => Some(done),
        }
    }
}
