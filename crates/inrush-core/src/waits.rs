//! The pauses between tries of something that may pass, and their end.

use std::time::Duration;

/// Decides about the next pause. The caller has the clock and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    limit: Duration,
    first: Duration,
    longest: Duration,
    pause: Duration,
    failures: u32,
}

impl Waits {
    /// Pauses that double from `first` to `longest`, and end after `limit`.
    pub const fn new(limit: Duration, first: Duration, longest: Duration) -> Self {
        Waits { limit, first, longest, pause: first, failures: 0 }
    }

    /// The longest time.
    pub const fn limit(&self) -> Duration {
        self.limit
    }

    /// The failures since the beginning, or since [`Waits::begin_again`].
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// The time that is left of the limit, `elapsed` after the beginning.
    pub const fn left(&self, elapsed: Duration) -> Duration {
        self.limit.saturating_sub(elapsed)
    }

    /// The pause after a failure, or `None` where the limit has passed. `asked_for`: the pause that
    /// the other side asks for: at least the first one counts, and no more than the longest. No
    /// pause ends after the limit.
    pub fn next(&mut self, elapsed: Duration, asked_for: Option<Duration>) -> Option<Duration> {
        let left = self.left(elapsed);
        if left.is_zero() {
            return None;
        }
        let pause = asked_for.map_or(self.pause, |asked| asked.max(self.first));
        let pause = pause.min(self.longest).min(left);
        self.failures = self.failures.saturating_add(1);
        self.pause = self.pause.saturating_mul(2).min(self.longest);
        Some(pause)
    }

    /// Forgets the failures after a success.
    pub fn begin_again(&mut self) {
        (self.pause, self.failures) = (self.first, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn pauses_double_and_end_with_the_limit() {
        let mut waits = Waits::new(ms(1000), ms(100), ms(300));
        let (mut elapsed, mut pauses) = (Duration::ZERO, Vec::new());
        while let Some(pause) = waits.next(elapsed, None) {
            pauses.push(pause.as_millis());
            elapsed += pause;
        }
        assert_eq!(pauses, [100, 200, 300, 300, 100]);
        assert_eq!((elapsed, waits.left(elapsed), waits.failures()), (ms(1000), Duration::ZERO, 5));
    }

    #[test]
    fn the_other_side_may_ask_for_a_pause_and_a_success_begins_again() {
        let mut waits = Waits::new(ms(1000), ms(100), ms(300));
        assert_eq!(waits.next(ms(0), Some(ms(5000))), Some(ms(300)));
        assert_eq!(waits.next(ms(0), Some(Duration::ZERO)), Some(ms(100)));
        assert_eq!(waits.next(ms(0), None), Some(ms(300)));
        waits.begin_again();
        assert_eq!((waits.failures(), waits.next(ms(0), None)), (0, Some(ms(100))));
    }

    #[test]
    fn without_time_there_is_no_pause() {
        assert_eq!(Waits::new(Duration::ZERO, ms(1), ms(1)).next(Duration::ZERO, None), None);
    }
}
