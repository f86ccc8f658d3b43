//! The time that a load has for its end: after a stop, and while the cluster does not answer.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::clock::{self, Instant};
use tokio::sync::watch;

/// The most of the time that is left for what follows the requests in flight: the last commit or
/// checkpoint, the settings of the index, and the count.
const RESERVED_MAX: Duration = Duration::from_secs(5);

/// The time for the end of a load. Clones share the stop.
#[derive(Clone, Debug)]
pub(crate) struct Grace {
    /// From a stop to the end of the load.
    time: Duration,
    /// For each step of the end, without a stop.
    patience: Duration,
    /// When the time is over. `None` before a stop.
    over: Arc<watch::Sender<Option<Instant>>>,
}

impl Grace {
    /// `time` from a stop to the end of the load.
    pub(crate) fn new(time: Duration) -> Self {
        Grace { time, patience: Duration::MAX, over: Arc::default() }
    }

    /// The same, with a time for each step of the end of a load that was not stopped (option
    /// `pause_for`).
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Grace { patience, ..self }
    }

    /// The load was stopped now. Further calls do nothing.
    pub(crate) fn begin(&self) {
        self.over.send_if_modified(|over| {
            let is_first = over.is_none();
            // A time beyond the end of the clock never comes.
            *over = over.or_else(|| clock::now().checked_add(self.time));
            is_first
        });
    }

    /// Whether the load was stopped.
    pub(crate) fn has_begun(&self) -> bool {
        self.over.borrow().is_some()
    }

    /// Runs a step of the end. After a stop, also one that comes during the step, it gets half of
    /// the time that is left, so that there is time for the next step.
    ///
    /// # Errors
    /// It took longer. The text says which time is over.
    pub(crate) async fn limit<T>(&self, step: impl Future<Output = T>) -> Result<T, String> {
        tokio::select! {
            biased;
            ended = self.limit_after_stop(step) => ended,
            () = clock::sleep(self.patience) => {
                Err(format!("no answer for {} s (option `pause_for`)", self.patience.as_secs_f64()))
            }
        }
    }

    /// The same for a step that has an end of its own without a stop.
    ///
    /// # Errors
    /// It took longer after a stop.
    pub(crate) async fn limit_after_stop<T>(&self, step: impl Future<Output = T>) -> Result<T, String> {
        let mut over = self.over.subscribe();
        let late = async move {
            let until = match over.wait_for(Option::is_some).await {
                Ok(until) => *until,
                // The sender lives in `self`.
                Err(_) => None,
            };
            match until {
                Some(until) => clock::sleep(share(until, clock::now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            done = step => Ok(done),
            () = late => Err("the load was stopped, and the time of option `grace` is over".to_owned()),
        }
    }
}

/// How much of `time` requests in flight get.
pub(crate) fn for_requests(time: Duration) -> Duration {
    time - RESERVED_MAX.min(time / 3)
}

/// How long a step may take, of the time that is left.
fn share(until: Instant, now: Instant) -> Duration {
    until.saturating_duration_since(now) / 2
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[test]
    fn each_step_leaves_time_for_the_next_one() {
        let (now, seconds) = (clock::now(), Duration::from_secs);
        let until = now + seconds(40);
        assert_eq!(share(until, now), seconds(20));
        assert_eq!(share(until, now + seconds(20)), seconds(10));
        assert_eq!(share(until, now + seconds(41)), Duration::ZERO);
        let of = |milliseconds| for_requests(Duration::from_millis(milliseconds)).as_millis();
        assert_eq!([of(30_000), of(25_000), of(600), of(0)], [25_000, 20_000, 400, 0]);
    }

    #[tokio::test]
    async fn a_step_has_no_limit_before_a_stop() {
        let grace = Grace::new(Duration::ZERO);
        assert_eq!(grace.limit(async { tokio::task::yield_now().await }).await, Ok(()));
        grace.begin();
        assert!(grace.limit(pending::<()>()).await.unwrap_err().contains("option `grace`"));
        assert_eq!(grace.limit(async { 1 }).await, Ok(1), "what takes no time is done");
    }

    #[tokio::test]
    async fn a_step_without_an_answer_ends_without_a_stop() {
        let grace = Grace::new(Duration::MAX).with_patience(Duration::from_millis(1));
        let why = grace.limit(pending::<()>()).await.unwrap_err();
        assert_eq!(why, "no answer for 0.001 s (option `pause_for`)");
        assert!(!grace.has_begun());
    }

    #[tokio::test]
    async fn a_stop_during_a_step_limits_it() {
        let grace = Grace::new(Duration::ZERO);
        let stop = grace.clone();
        let stopped = tokio::spawn(async move { stop.begin() });
        assert!(grace.limit(pending::<()>()).await.is_err());
        stopped.await.unwrap();
    }

    #[tokio::test]
    async fn a_time_beyond_the_clock_is_no_limit() {
        let grace = Grace::new(Duration::MAX);
        grace.begin();
        assert_eq!(grace.limit(async { tokio::task::yield_now().await }).await, Ok(()));
    }
}
