//! The usual rate while nothing is compared.

use std::time::Duration;

use super::super::window::Window;
use super::super::{Sample, SampleOutcome};
use super::is_complete;
use crate::time::Time;

/// A rate that differs from the usual one by this factor, twice in a row, shows that conditions
/// have changed.
const CHANGED: f64 = 1.7;
/// A request that spends more than this time outside the server, seconds, and most of its time,
/// waits for the link.
const SLOW_LINK_SECONDS: f64 = 0.2;
/// The same while the batch tuner is not stable. A long distance delays the few small requests of
/// the start equally in any format, and the batch tuner stands still during a comparison.
const SLOW_LINK_SECONDS_AT_START: f64 = 1.0;
const SLOW_LINK_PART: f64 = 0.7;

/// Rates and times of requests since the last comparison.
#[derive(Debug)]
pub(super) struct Watch {
    window: Window,
    /// Whether anything was sent since then.
    begun: bool,
    usual: Option<f64>,
    /// Bytes accepted per second in the last complete window.
    last: Option<f64>,
    unusual: u32,
    /// Time outside the server and in total, seconds, and the number of requests.
    outside: f64,
    wall: f64,
    requests: u32,
}

impl Watch {
    pub(super) fn new(now: Time) -> Self {
        let window = Window::new(now);
        Watch { window, begun: false, usual: None, last: None, unusual: 0, outside: 0.0, wall: 0.0, requests: 0 }
    }

    /// Takes an attempt. Returns whether the rate has changed.
    pub(super) fn has_changed(&mut self, now: Time, sample: &Sample) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            self.window = Window::new(sample.sent);
        }
        if let Some(took) = sample.took.filter(|_| sample.outcome == SampleOutcome::Answered) {
            self.outside += sample.wall.saturating_sub(took).as_secs_f64();
            self.wall += sample.wall.as_secs_f64();
            self.requests += 1;
        }
        if !self.window.add(sample) || !is_complete(&self.window, now, sample, Duration::from_secs(2)) {
            return false;
        }
        let (rate, limited) = (self.window.rate(), self.window.source_was_the_limit());
        self.last = Some(self.window.completed_rate(now));
        self.window = Window::new(now);
        if limited {
            return false;
        }
        let usual = *self.usual.get_or_insert(rate);
        if rate <= usual * CHANGED && rate >= usual / CHANGED {
            self.unusual = 0;
            self.usual = Some(usual * 0.8 + rate * 0.2);
            return false;
        }
        self.unusual += 1;
        let changed = self.unusual >= 2;
        if changed {
            (self.usual, self.unusual) = (Some(rate), 0);
        }
        changed
    }

    /// Accepted bytes per second of this window, or of the last one if this one has hardly started,
    /// with the approximate standard error as a part of it. Requests are counted: the first ones
    /// have not waited for as many others as Little's law assumes.
    pub(super) fn rate(&self, now: Time) -> Option<(f64, f64)> {
        let this = (self.window.samples() >= 2).then(|| self.window.completed_rate(now));
        this.or(self.last).map(|rate| (rate, self.window.error().max(0.1)))
    }

    /// Whether requests spend most of their time on the way to the server.
    pub(super) fn waits_for_link(&self, settled: bool) -> bool {
        let least = if settled { SLOW_LINK_SECONDS } else { SLOW_LINK_SECONDS_AT_START };
        let requests = f64::from(self.requests.max(1));
        self.requests >= 2 && self.outside / requests > least && self.outside > SLOW_LINK_PART * self.wall
    }

    /// Nothing was sent for a while.
    pub(super) fn handle_break(&mut self, now: Time) {
        self.window = Window::new(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that ended at `second` and took `wall` seconds.
    fn sample(second: u64, wall: f64) -> Sample {
        let end = Time::from_start(Duration::from_secs(second));
        let wall = Duration::from_secs_f64(wall);
        Sample {
            sent: end - wall,
            wall,
            took: Some(Duration::from_millis(10)),
            bytes: 1 << 20,
            docs: 7000,
            accepted: 7000,
            rejected: 0,
            outcome: SampleOutcome::Answered,
            in_flight: 1,
            source_limited: false,
            remainder: false,
            node: 0,
        }
    }

    #[test]
    fn a_window_that_just_began_is_not_the_rate() {
        let mut watch = Watch::new(Time::START);
        assert_eq!(watch.rate(Time::START), None);
        for second in 1..=12 {
            let now = Time::from_start(Duration::from_secs(second));
            assert!(!watch.has_changed(now, &sample(second, 1.0)));
            if second >= 2 {
                let (rate, _) = watch.rate(now).unwrap();
                assert!((0.5..=2.0).contains(&(rate / f64::from(1 << 20))), "{second}: {rate}");
            }
        }
    }

    #[test]
    fn a_way_that_is_only_long_waits_until_the_batches_are_settled() {
        for (wall, at_start, settled) in [(0.15, false, false), (0.5, false, true), (1.5, true, true)] {
            let mut watch = Watch::new(Time::START);
            for second in [2, 4] {
                watch.has_changed(Time::from_start(Duration::from_secs(second)), &sample(second, wall));
            }
            assert_eq!((watch.waits_for_link(false), watch.waits_for_link(true)), (at_start, settled), "{wall}");
        }
    }
}
