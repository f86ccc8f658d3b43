//! What to make of rejections, refusals and lost requests: less under way, at most once a round trip, and a ceiling that is
//! remembered and tried again later, at growing intervals.

use std::time::Duration;

use super::window::Window;
use crate::time::Time;
use crate::tune::{Outcome, Sample};

/// What is left under way after a loss.
pub(super) const CUT: f64 = 0.7;
/// So close to a ceiling growth stops.
const BELOW_CEILING: f64 = 0.85;
/// Cuts in a row after which it is asked whether they help at all.
const CUTS_UNTIL_DOUBT: u32 = 4;
const RETRY_FIRST: Duration = Duration::from_secs(10);
const RETRY_LONGEST: Duration = Duration::from_secs(300);
/// How long rejections that do not depend on us are put up with before that is tested again.
const AMBIENT_FOR: Duration = Duration::from_secs(30);

/// What a loss asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Less under way; `ratio` of the documents did not get in.
    Cut { ratio: f64 },
    /// Cutting did not help: others fill the queue, so back to so many bytes under way.
    Restore { under_way: f64, ratio: f64 },
}

#[derive(Debug)]
pub(super) struct Loss {
    /// The part of documents that may be rejected without a cut.
    tolerated: f64,
    /// Attempts since the last verdict or the last clean round.
    window: Window,
    /// Cuts without a clean round between them.
    cuts: u32,
    /// Bytes under way and the rejected part at the first of them.
    first: (f64, f64),
    ceiling: Option<f64>,
    retry_at: Time,
    retry_after: Duration,
    /// Rejections that do not depend on us, and until when they are put up with.
    ambient: Option<(f64, Time)>,
}

impl Loss {
    pub(super) fn new(tolerated: f64) -> Self {
        Loss {
            tolerated,
            window: Window::new(Time::START),
            cuts: 0,
            first: (0.0, 0.0),
            ceiling: None,
            retry_at: Time::START,
            retry_after: RETRY_FIRST,
            ambient: None,
        }
    }

    /// Learns from an attempt, with `under_way` bytes and `in_flight` requests planned.
    pub(super) fn handle(&mut self, now: Time, sample: &Sample, under_way: f64, in_flight: u32) -> Option<Verdict> {
        if !self.window.add(sample) {
            return None;
        }
        let round = u64::from(in_flight) * u64::from(sample.docs);
        let ratio = self.window.rejected_of(round);
        let ambient = self.ambient.filter(|&(_, until)| now < until).map_or(0.0, |(ratio, _)| ratio * 1.5);
        if ratio <= self.tolerated.max(ambient) {
            if self.window.samples() >= 2 * in_flight {
                self.clean(now, under_way);
            }
            return None;
        }
        self.window = Window::new(now);
        if self.cuts == 0 {
            self.first = (under_way, ratio);
        }
        self.cuts += 1;
        if self.cuts > CUTS_UNTIL_DOUBT && ratio > 0.7 * self.first.1 {
            self.cuts = 0;
            self.ceiling = None;
            self.ambient = Some((ratio, now + AMBIENT_FOR));
            return Some(Verdict::Restore { under_way: self.first.0, ratio });
        }
        if sample.outcome != Outcome::Lost {
            // A second loss at or above a known ceiling says that it still stands.
            let known = self.ceiling.is_some_and(|c| under_way > c * BELOW_CEILING);
            self.retry_after = if known { (self.retry_after * 2).min(RETRY_LONGEST) } else { RETRY_FIRST };
            self.ceiling = Some(under_way);
            self.retry_at = now + self.retry_after;
        }
        Some(Verdict::Cut { ratio })
    }

    /// The most bytes under way that growth may aim at.
    pub(super) fn growth_limit(&self, now: Time) -> f64 {
        match self.ceiling {
            Some(ceiling) if now < self.retry_at => ceiling * BELOW_CEILING,
            // A retry goes a little above, not far.
            Some(ceiling) => ceiling * 1.1,
            None => f64::INFINITY,
        }
    }

    /// Everything learned about ceilings belongs to a cluster that has changed.
    pub(super) fn forget(&mut self) {
        self.ceiling = None;
        self.retry_after = RETRY_FIRST;
    }

    fn clean(&mut self, now: Time, under_way: f64) {
        self.window = Window::new(now);
        self.cuts = 0;
        if self.ceiling.is_some_and(|ceiling| under_way > ceiling) {
            self.forget();
        }
    }
}
