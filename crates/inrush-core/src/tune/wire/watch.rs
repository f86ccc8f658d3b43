//! What is usual while nothing is compared.

use std::time::Duration;

use super::super::window::Window;
use super::super::{Outcome, Sample};
use super::is_complete;
use crate::time::Time;

/// A rate that differs from the usual one by this factor, twice in a row, says that conditions have changed.
const CHANGED: f64 = 1.7;
/// A request that is longer than this under way outside of the server, seconds, and for most of its time, waits for the link.
const SLOW_LINK_SECONDS: f64 = 0.2;
const SLOW_LINK_PART: f64 = 0.7;

/// Rates and times of requests since the last comparison.
#[derive(Debug)]
pub(super) struct Watch {
    window: Window,
    /// Whether something was sent since.
    begun: bool,
    usual: Option<f64>,
    unusual: u32,
    /// Time outside of the server and in all, seconds, and of how many requests.
    outside: f64,
    wall: f64,
    requests: u32,
}

impl Watch {
    pub(super) fn new(now: Time) -> Self {
        let window = Window::new(now);
        Watch { window, begun: false, usual: None, unusual: 0, outside: 0.0, wall: 0.0, requests: 0 }
    }

    /// Takes an attempt. Whether the rate is another one than usual now.
    pub(super) fn has_changed(&mut self, now: Time, sample: &Sample) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            self.window = Window::new(sample.sent);
        }
        if let Some(took) = sample.took.filter(|_| sample.outcome == Outcome::Answered) {
            self.outside += sample.wall.saturating_sub(took).as_secs_f64();
            self.wall += sample.wall.as_secs_f64();
            self.requests += 1;
        }
        if !self.window.add(sample) || !is_complete(&self.window, now, sample, Duration::from_secs(2)) {
            return false;
        }
        let (rate, limited) = (self.window.rate(), self.window.source_was_the_limit());
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

    /// Accepted bytes per second since the beginning, and about the standard error as a part of it. Requests are counted, because those
    /// that were sent first have not waited for as many others as Little's law would have it.
    pub(super) fn rate(&self, now: Time) -> (f64, f64) {
        (self.window.completed_rate(now), self.window.error().max(0.1))
    }

    /// Whether requests spend nearly all of their time on the way to the server.
    pub(super) fn waits_for_link(&self) -> bool {
        let requests = f64::from(self.requests.max(1));
        self.requests >= 2 && self.outside / requests > SLOW_LINK_SECONDS && self.outside > SLOW_LINK_PART * self.wall
    }

    /// Nothing was sent for a while.
    pub(super) fn handle_break(&mut self, now: Time) {
        self.window = Window::new(now);
    }
}
