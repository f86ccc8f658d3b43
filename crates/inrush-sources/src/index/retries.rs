//! Retries with growing pauses.

use std::time::{Duration, Instant};

/// First pause between tries. Each further pause is twice as long, up to the second value.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Retries of a request, up to a time limit.
pub(super) struct Retries {
    since: Option<Instant>,
    pause: Duration,
    retry_for: Duration,
}

impl Retries {
    pub(super) fn new(retry_for: Duration) -> Self {
        Retries { since: None, pause: PAUSE_MIN, retry_for }
    }

    /// Handles a success.
    pub(super) fn succeeded(&mut self) {
        self.since = None;
        self.pause = PAUSE_MIN;
    }

    /// Waits before the next try, for `after` where it is given.
    ///
    /// # Errors
    /// The time limit has passed. The text has the last error.
    pub(super) async fn wait(&mut self, why: String, after: Option<Duration>) -> Result<(), String> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.retry_for {
            return Err(format!(
                "it could not be read for {} s: {why}; documents that were read before are loaded, and option `resume` continues the load",
                since.elapsed().as_secs()
            ));
        }
        if self.pause == PAUSE_MIN {
            tracing::info!("reading the source failed and is tried again: {why}");
        }
        tokio::time::sleep(after.unwrap_or(self.pause).min(PAUSE_MAX)).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}
