//! The clock of everything above the core: the time, and waits.
//!
//! It is the clock of the runtime, which a test can pause: it then goes through an hour of waits at
//! once. No other module of a load or a bake asks the operating system for the time.

use std::time::{Duration, SystemTime};

pub use tokio::time::{
    Instant, Interval, MissedTickBehavior, interval, interval_at, sleep, sleep_until, timeout, timeout_at,
};

/// Now.
pub fn now() -> Instant {
    Instant::now()
}

/// The date and time of day. A paused clock that is ahead of the real one moves it on.
pub fn date() -> SystemTime {
    let (now, real) = (now().into_std(), std::time::Instant::now());
    SystemTime::now() + now.saturating_duration_since(real)
}

/// Blocks this thread. This takes real time, also where the clock is paused.
pub fn block(pause: Duration) {
    std::thread::sleep(pause);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_date_moves_with_a_paused_clock() {
        let (begun, date_before) = (now(), date());
        sleep(Duration::from_secs(86_400)).await;
        assert_eq!(begun.elapsed().as_secs(), 86_400);
        let passed = date().duration_since(date_before).unwrap().as_secs();
        assert!((86_399..86_460).contains(&passed), "{passed}");
    }
}
