//! How long something is tried again, and with which pauses.

use std::time::{Duration, Instant};

/// Pauses between tries double from the first to the second.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How long something is tried again.
pub(super) struct Patience {
    since: Option<Instant>,
    pause: Duration,
    retry_for: Duration,
}

impl Patience {
    pub(super) fn new(retry_for: Duration) -> Self {
        Patience { since: None, pause: PAUSE_MIN, retry_for }
    }

    /// It worked.
    pub(super) fn over(&mut self) {
        self.since = None;
        self.pause = PAUSE_MIN;
    }

    /// Waits before the next try: for `after` where that is given.
    ///
    /// # Errors
    /// It has failed for too long; says why.
    pub(super) async fn wait(&mut self, why: String, after: Option<Duration>) -> Result<(), String> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.retry_for {
            return Err(format!(
                "it could not be read for {} s: {why}; what was read before is loaded, and option `resume` goes on",
                since.elapsed().as_secs()
            ));
        }
        if self.pause == PAUSE_MIN {
            tracing::info!("reading the source is tried again: {why}");
        }
        tokio::time::sleep(after.unwrap_or(self.pause).min(PAUSE_MAX)).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}
