//! Little under way for a moment: how long a request takes without a queue of ours, and how much of the queue is ours.

use std::time::Duration;

use super::super::knobs::Knobs;
use super::super::window::Window;
use super::{AutoTuner, CHANGE_PAUSE, Cause, Phase};
use crate::time::Time;

/// Measuring the unloaded wall time costs two or three wall times at three quarters of the rate: it is done no more often than this.
const DRAIN_EVERY_WALLS: f64 = 30.0;
/// Where little under way takes as long as this part of what it takes with much, nothing of ours queued.
const NO_QUEUE: f64 = 0.88;
const SURELY_NO_QUEUE: f64 = 0.93;
/// Where it takes less than this part, the queue was mostly ours.
const OWN_QUEUE: f64 = 0.7;

impl AutoTuner {
    pub(super) fn begin_drain(&mut self, now: Time, loaded: f64, growth: f64, cause: Cause) {
        let back = self.plan;
        let little = self.knobs.drained(&back, growth);
        self.drained = now;
        self.drain.later(now);
        self.drain.next = self.drain.next.max(now + Duration::from_secs_f64(DRAIN_EVERY_WALLS * loaded));
        if little == back {
            // With one request nothing of ours queues.
            if let Some(delay) = self.delay.as_mut().filter(|_| back.in_flight == 1) {
                delay.measured(loaded, self.body);
            }
            return self.restart(now);
        }
        self.phase = Phase::Drain { back, loaded, cause };
        let because = match cause {
            Cause::Due => "",
            Cause::Slower => "the last windows were slower by a quarter or more: ",
            Cause::Longer => "a request takes much longer than is aimed at: ",
            Cause::NoQueue => "fewer requests cost throughput: ",
        };
        let why = format!("{because}measure how long a request takes with {} under way", little.in_flight);
        self.decide(now, little, why);
    }

    pub(super) fn drained(&mut self, now: Time, window: &Window, wall: f64) {
        let Phase::Drain { back, loaded, cause } = std::mem::replace(&mut self.phase, Phase::Hold) else { return };
        let body = window.body();
        if !window.accepted() {
            return self.decide(now, back, "nothing was accepted".to_owned());
        }
        let Some(delay) = &mut self.delay else { return };
        // Where little under way takes as long as much, the time is spent in no queue of ours.
        let part = if matches!(cause, Cause::Due) { SURELY_NO_QUEUE } else { NO_QUEUE };
        let no_queue = wall > part * loaded;
        let unloaded = delay.unloaded(body);
        let left = Knobs::bytes_in_flight(&self.plan) / Knobs::bytes_in_flight(&back);
        if wall > 1.3 * unloaded {
            self.change_pause = CHANGE_PAUSE;
        }
        if no_queue {
            // Unless it is very clear, step by step.
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
            // Alone, the time falls to the unloaded one and no further, which makes the share seem a little smaller than it is.
            let share = ((1.0 - wall / loaded) / (1.0 - left) / 0.85).clamp(0.15, 1.0);
            // One measurement among many servers' hiccups is no proof of others.
            self.share = (self.share * share).sqrt();
        }
        self.decide(now, back, format!("{:.0} ms with {} under way", wall * 1e3, self.plan.in_flight));
    }
}
