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

#[cfg(test)]
mod tests {
    use super::*;

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
