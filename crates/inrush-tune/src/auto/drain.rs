//! Measuring the unloaded wall time: few requests in flight for a moment show how long a request
//! takes without a queue, and how much of the queue is the load's own.

use std::time::Duration;

use super::super::knobs::Knobs;
use super::super::window::Window;
use super::{AutoTuner, CHANGE_PAUSE, Cause, Phase};
use crate::time::Time;

/// A measurement costs a part of the rate for two or three wall times, so it is repeated at most
/// once in this number of wall times.
const DRAIN_EVERY_WALLS: f64 = 30.0;
/// If the wall time with few requests is above this part of the loaded one, the load has no queue
/// of its own.
const NO_QUEUE: f64 = 0.88;
const SURELY_NO_QUEUE: f64 = 0.93;
/// If few requests bring this part of what all of them bring, all of them may be too many.
const SUFFICES: f64 = 0.97;
/// If they bring this multiple of it, fewer requests are compared before bodies of another size.
const BETTER: f64 = 1.05;
/// If the wall time is below this part, the queue was mostly the load's own.
const OWN_QUEUE: f64 = 0.7;

impl AutoTuner {
    pub(super) fn begin_drain(&mut self, now: Time, loaded: f64, growth: f64, cause: Cause) {
        let back = self.plan;
        let little = self.knobs.drained(&back, growth);
        self.drained = now;
        self.drain.later(now);
        self.drain.next = self.drain.next.max(now + Duration::from_secs_f64(DRAIN_EVERY_WALLS * loaded));
        if little == back {
            // A single request does not queue behind others of this load.
            if let Some(delay) = self.delay.as_mut().filter(|_| back.in_flight == 1) {
                delay.measured(loaded, self.body);
            }
            return self.restart(now);
        }
        self.phase = Phase::Drain { back, loaded, cause };
        let because = match cause {
            Cause::Due => "",
            Cause::Slower => "the last windows were slower by a quarter or more: ",
            Cause::Longer => "a request takes much longer than the target: ",
            Cause::NoQueue => "fewer requests lowered the rate: ",
        };
        let why = format!("{because}measure how long a request takes with {} in flight", little.in_flight);
        self.decide(now, little, why);
    }

    pub(super) fn drained(&mut self, now: Time, window: &Window, wall: f64) {
        let Phase::Drain { back, loaded, cause } = std::mem::replace(&mut self.phase, Phase::Hold) else { return };
        let body = window.body();
        if !window.accepted() {
            return self.decide(now, back, "nothing was accepted".to_owned());
        }
        self.few_suffice = window.rate() > SUFFICES * self.held_rate;
        self.few_are_better = window.rate() > BETTER * self.held_rate;
        let Some(delay) = &mut self.delay else { return };
        // If few requests take as long as many, the time is not spent in a queue of this load.
        let part = if matches!(cause, Cause::Due) { SURELY_NO_QUEUE } else { NO_QUEUE };
        let no_queue = wall > part * loaded;
        let unloaded = delay.unloaded(body);
        let left = Knobs::bytes_in_flight(&self.plan) / Knobs::bytes_in_flight(&back);
        if wall > 1.3 * unloaded {
            self.change_pause = CHANGE_PAUSE;
        }
        if no_queue {
            // Step by step, unless the result is very clear.
            let at_most = if wall > SURELY_NO_QUEUE * loaded { f64::INFINITY } else { 2.0 * unloaded };
            delay.measured(wall.min(at_most), body);
            self.share = 1.0;
            self.phase = Phase::Start;
        } else if matches!(cause, Cause::Slower | Cause::Longer) && wall < OWN_QUEUE * loaded {
            delay.measured(wall, body);
            self.share = 1.0;
        } else {
            if wall < 1.3 * unloaded {
                delay.measured(wall, body);
            }
            // Without other loaders the time falls to the unloaded one and no further, so the share
            // seems slightly too small.
            let share = ((1.0 - wall / loaded) / (1.0 - left) / 0.85).clamp(0.15, 1.0);
            // One measurement, among hiccups of many servers, does not prove that there are others.
            self.share = (self.share * share).sqrt();
        }
        self.decide(now, back, format!("{:.0} ms with {} in flight", wall * 1e3, self.plan.in_flight));
    }
}
