//! The time that a clean-up may take.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::Method;
use inrush_cluster::Wait;
use inrush_cluster::api::ClusterError;
use inrush_cluster::clock::{self, Instant, sleep_until};
use inrush_cluster::transport::Transport;
use inrush_load::StopSignal;
use tokio::sync::watch;

/// How long to retry requests to a target that does not answer.
const RETRY_FOR: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_secs(1);

/// How long the clean-up may take: [`RETRY_FOR`], and after a stop the time of option `grace`.
pub(crate) struct Patience {
    until: Instant,
    stop: watch::Receiver<bool>,
    pub(crate) grace: Duration,
    /// When the stop was noticed.
    stopped: OnceLock<Instant>,
}

impl Patience {
    pub(crate) fn new(stop: watch::Receiver<bool>, grace: Duration) -> Self {
        Patience { until: clock::now() + RETRY_FOR, stop, grace, stopped: OnceLock::new() }
    }

    /// Waits until the time after a stop is over.
    async fn over_after_stop(&self) -> String {
        self.stop.clone().stopped().await;
        sleep_until(*self.stopped.get_or_init(clock::now) + self.grace).await;
        "there was no answer in the time of option `grace`".to_owned()
    }

    /// Waits until the time is over.
    async fn over(&self) -> String {
        tokio::select! {
            why = self.over_after_stop() => why,
            () = sleep_until(self.until) => format!("there was no answer for {} s", RETRY_FOR.as_secs()),
        }
    }

    /// Runs work that has an end of its own, after a stop for no longer than the clean-up may take.
    pub(crate) async fn limit<T, E: ToString>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, String> {
        tokio::select! {
            biased;
            done = work => done.map_err(|error| error.to_string()),
            why = self.over_after_stop() => Err(why),
        }
    }

    /// Retries `work` until it succeeds, the time is over, or the reply shows that it will never
    /// succeed.
    pub(crate) async fn retry<T, F>(&self, work: impl Fn() -> F) -> Result<T, String>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        let last = Mutex::new(None);
        let passes = |error: &ClusterError| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            !matches!(error, ClusterError::LogIn { .. } | ClusterError::Forbidden { .. })
        };
        let mut tries = Wait::new(Duration::MAX).every(PAUSE);
        tokio::select! {
            biased;
            done = tries.ask_until(work, passes) => done.map_err(|error| error.to_string()),
            why = self.over() => Err(last.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(why)),
        }
    }
}

/// Checks that the target carries out no request of this kind. A run that was killed may have sent
/// one a moment ago, and its effect would come after it was looked for.
pub(crate) async fn none_begins(target: &Transport, what: &str, action: &str) -> Result<(), ClusterError> {
    let path = format!("/_tasks?actions={action}&filter_path=nodes.*.tasks.*.action");
    let body = target.demand(what, Method::GET, &path, None).await?;
    match body.get("nodes") {
        None => Ok(()),
        Some(_) => Err(ClusterError::Reply { what: what.to_owned(), problem: "one is in progress".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use inrush_cluster::transport::{Credentials, HttpOptions};
    use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
    use inrush_testbed::in_process::InProcess;

    use super::*;

    /// A cluster that takes each request and answers none.
    async fn silent() -> (FakeCluster, Transport) {
        let faults = Faults::new([Rule::new(Fault::NoReply).path("/")]);
        let fake = FakeCluster::start(FakeConfig::default().faults(faults)).await.unwrap();
        let target = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        (fake, target)
    }

    #[tokio::test]
    async fn a_stop_ends_a_clean_up_without_answers() {
        let (_fake, target) = silent().await;
        let (stop, stopped) = watch::channel(false);
        let patience = Patience::new(stopped, Duration::from_millis(1));
        stop.send_replace(true);
        let why = patience.retry(|| none_begins(&target, "asking", "indices:admin/create*")).await.unwrap_err();
        assert_eq!(why, "there was no answer in the time of option `grace`");
        let builder = patience.limit(std::future::pending::<Result<(), String>>()).await.unwrap_err();
        assert_eq!(builder, why);
    }

    /// A target that is away, and how long a clean-up asks it, with a stop after `stop_after`.
    async fn clean_up_of_absent(stop_after: Duration) -> (String, Duration) {
        let (_fake, way) = InProcess::start(FakeConfig::default()).await;
        way.cut(true);
        let target = way.transport();
        let (stop, stopped) = watch::channel(false);
        let patience = Patience::new(stopped, Duration::from_secs(25));
        let begun = clock::now();
        let work = patience.retry(|| none_begins(&target, "asking", "indices:admin/create*"));
        let stops = async {
            sleep_until(begun + stop_after).await;
            stop.send_replace(true);
        };
        let (ended, ()) = tokio::join!(async { (work.await.unwrap_err(), begun.elapsed()) }, stops);
        ended
    }

    #[tokio::test(start_paused = true)]
    async fn a_clean_up_asks_an_absent_target_for_90_s() {
        let (why, elapsed) = clean_up_of_absent(Duration::from_secs(3600)).await;
        assert!(why.contains("503"), "{why}");
        assert_eq!(elapsed.as_secs(), 90);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_stop_a_clean_up_has_the_grace() {
        let (why, elapsed) = clean_up_of_absent(Duration::from_secs(40)).await;
        assert!(why.contains("503"), "{why}");
        assert_eq!(elapsed.as_secs(), 65);
    }
}
