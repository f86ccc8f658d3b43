//! When a batch is sent again, and when to give up.

use std::time::Duration;

pub use inrush_tune::jitter::Jitter;

use crate::time::Time;

/// Limits of the retries of one batch.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Retries in a row that get no document indexed. Attempts that reach no server do not count.
    /// Default 20.
    pub retries: u32,
    /// Time from the first attempt of a batch in which it is retried. Default 10 min.
    pub retry_for: Duration,
    /// The wait before the first retry; each further wait is twice as long. Default 100 ms.
    pub first_wait: Duration,
    /// The longest wait. Default 30 s.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            retries: 20,
            retry_for: Duration::from_secs(600),
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// A few tries, for what can do without an answer. `pause` precedes the second one. None begins
    /// after 10 s: behind a firewall that drops packets, a single try takes the whole connect
    /// timeout.
    pub const fn brief(tries: u32, pause: Duration) -> Self {
        let most = Duration::from_secs(10);
        RetryPolicy { retries: tries.saturating_sub(1), retry_for: most, first_wait: pause, longest_wait: most }
    }

    /// Whether a batch that was first sent at `first_sent` and failed `failures` times may be
    /// retried at `now`.
    pub fn allows(&self, failures: u32, first_sent: Time, now: Time) -> bool {
        failures <= self.retries && now.since(first_sent) < self.retry_for
    }

    /// The wait after failure number `failures` (from 1): exponential, with the upper half drawn by
    /// `jitter` ("equal jitter" of the AWS architecture blog). Clients that failed together do not
    /// retry together.
    pub fn wait(&self, failures: u32, jitter: &mut Jitter) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let full = self.first_wait.saturating_mul(1 << doublings).min(self.longest_wait);
        full / 2 + (full / 2).mul_f64(jitter.unit())
    }
}

/// The repetitions of one request: the pause before the next attempt, or the end.
#[derive(Clone, Debug)]
pub struct Repetition {
    policy: RetryPolicy,
    jitter: Jitter,
    /// Failures so far.
    failures: u32,
    /// Those that count for [`RetryPolicy::retries`].
    counted: u32,
}

impl Repetition {
    /// A request before its first attempt. `seed` decides the jitter.
    pub fn new(policy: RetryPolicy, seed: u64) -> Self {
        Repetition { policy, jitter: Jitter::new(seed), failures: 0, counted: 0 }
    }

    /// The pause after a failure, or `None` where the request is given up. `elapsed`: the time
    /// since the first attempt began. `counts`: the failure counts for [`RetryPolicy::retries`].
    /// `asked_for`: the pause that the server asks for (`Retry-After`). No pause is longer than
    /// [`RetryPolicy::longest_wait`], and none ends after [`RetryPolicy::retry_for`].
    pub fn pause(&mut self, elapsed: Duration, counts: bool, asked_for: Option<Duration>) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        self.counted = self.counted.saturating_add(u32::from(counts));
        if !self.policy.allows(self.counted, Time::START, Time::from_start(elapsed)) {
            return None;
        }
        let wait = self.policy.wait(self.failures, &mut self.jitter);
        let asked_for = asked_for.unwrap_or_default().min(self.policy.longest_wait);
        Some(wait.max(asked_for).min(self.policy.retry_for.saturating_sub(elapsed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_given_up_after_its_retries_or_its_time() {
        let policy = RetryPolicy { retries: 3, ..RetryPolicy::default() };
        let pauses = |elapsed: u64, counts: bool| {
            let mut repetition = Repetition::new(policy, 1);
            (0..100).map_while(|_| repetition.pause(Duration::from_secs(elapsed), counts, None)).count()
        };
        assert_eq!((pauses(0, true), pauses(0, false), pauses(600, false)), (3, 100, 0));
    }

    #[test]
    fn a_pause_ends_with_the_time_and_is_as_long_as_the_server_asks() {
        let hour = Some(Duration::from_secs(3600));
        let mut repetition = Repetition::new(RetryPolicy::default(), 1);
        assert_eq!(repetition.pause(Duration::ZERO, true, hour), Some(Duration::from_secs(30)));
        assert_eq!(repetition.pause(Duration::from_secs(597), true, hour), Some(Duration::from_secs(3)));
        assert!(repetition.pause(Duration::ZERO, true, None).unwrap() <= Duration::from_millis(400));
    }

    #[test]
    fn waits_double_up_to_their_bound() {
        let policy = RetryPolicy::default();
        let mut jitter = Jitter::new(1);
        for failures in 1..100 {
            let full = Duration::from_millis(100 * (1 << (failures - 1).min(20))).min(Duration::from_secs(30));
            let wait = policy.wait(failures, &mut jitter);
            assert!(wait >= full / 2 && wait <= full, "{failures}: {wait:?} of {full:?}");
        }
    }

    #[test]
    fn ends_by_count_and_by_time() {
        let policy = RetryPolicy::default();
        let at = |s| Time::from_start(Duration::from_secs(s));
        assert!(policy.allows(20, at(0), at(599)));
        assert!(!policy.allows(21, at(0), at(1)));
        assert!(!policy.allows(1, at(0), at(600)));
    }
}
