//! How often an API request is tried, and the pauses between tries.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Retries of API requests that surely did not arrive, or that were answered 429 or 503.
#[derive(Debug)]
pub struct Retries {
    pub(crate) tries: u32,
    pause: Duration,
    random: AtomicU64,
}

/// The longest pause between two tries. A longer `Retry-After` is cut to this.
const PAUSE_MAX: Duration = Duration::from_secs(10);

impl Retries {
    /// At most `tries` tries, at least one. `pause` precedes the second try and doubles before each
    /// further one, up to 10 s. Jitter from `seed` shortens each pause to between half of it and
    /// the whole.
    pub fn new(tries: u32, pause: Duration, seed: u64) -> Self {
        Retries { tries: tries.max(1), pause, random: AtomicU64::new(seed) }
    }

    /// The pause before the try that follows `tries_done` tries. `asked_for` is the server's
    /// `Retry-After`, of which at most 10 s count.
    pub fn pause(&self, tries_done: u32, asked_for: Option<Duration>) -> Duration {
        let whole = self.pause.saturating_mul(1 << (tries_done - 1).min(16)).min(PAUSE_MAX);
        let jittered = whole.mul_f64(0.5 + 0.5 * self.next());
        jittered.max(asked_for.unwrap_or_default().min(PAUSE_MAX))
    }

    /// The next number of the sequence, from 0 to below 1 (splitmix64).
    fn next(&self) -> f64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Default for Retries {
    /// Three tries, with pauses of 200 ms and 400 ms.
    fn default() -> Self {
        Retries::new(3, Duration::from_millis(200), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_within_their_jitter_and_follow_the_seed() {
        let pauses = |seed| {
            let retries = Retries::new(5, Duration::from_millis(100), seed);
            (1..5).map(|tries| retries.pause(tries, None)).collect::<Vec<_>>()
        };
        for (index, pause) in pauses(7).into_iter().enumerate() {
            let whole = Duration::from_millis(100 << index);
            assert!(pause >= whole / 2 && pause <= whole, "{pause:?} of {whole:?}");
        }
        assert_eq!(pauses(7), pauses(7));
        assert_ne!(pauses(7), pauses(8));
    }

    #[test]
    fn the_servers_pause_is_kept_up_to_a_limit() {
        let retries = Retries::new(3, Duration::ZERO, 1);
        assert_eq!(retries.pause(1, Some(Duration::from_secs(2))), Duration::from_secs(2));
        assert_eq!(retries.pause(1, Some(Duration::from_secs(3600))), PAUSE_MAX);
    }
}
