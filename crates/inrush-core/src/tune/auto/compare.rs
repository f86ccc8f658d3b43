//! Comparison of batch sizes, in pairs of windows in turn.

use super::super::knobs::Knobs;
use super::super::trial::{Trial, Verdict};
use super::super::window::Window;
use super::{AutoTuner, Phase};
use crate::time::Time;

/// How many times more than keeps the cluster busy is in flight during a comparison.
const BUSY: f64 = 1.6;
/// The smallest gain of larger bodies that counts.
const WORTH_LARGER: f64 = 1.02;
/// The same for smaller bodies: with equal rates, the smaller ones are better.
const WORTH_SMALLER: f64 = 1.0;
/// If the cluster stalled more often than this lately, a window without a stall proves nothing
/// against one with a stall.
const STALLS_FEW: f64 = 0.25;
/// A rate below this part of the usual one is not chance.
const HELD_UP: f64 = 0.8;

impl AutoTuner {
    /// Compares bodies of twice or half the size, with the same bytes in flight: enough of them
    /// that fewer, larger requests still keep the cluster busy.
    pub(super) fn begin_trial(&mut self, now: Time, wall: f64, body: f64) {
        let factor = if self.larger_next { 2.0 } else { 0.5 };
        let alone = self.share > 0.7;
        let other = self.knobs.resized(&self.plan, factor, alone);
        let factor = other.batch_bytes as f64 / self.plan.batch_bytes as f64;
        let Some(delay) = self.delay.filter(|_| other.batch_bytes != self.plan.batch_bytes) else {
            self.larger_next = !self.larger_next;
            self.resize.later(now);
            return self.restart(now);
        };
        // How many of the other requests keep the cluster as busy as one of these.
        let as_busy = delay.unloaded(body * factor) / delay.unloaded(body) / factor;
        let pressure = (BUSY * as_busy * factor / delay.growth(wall, body)).clamp(1.0, 2.0);
        let pressure = pressure.min(self.loss.growth_limit(now) / self.bytes_in_flight());
        let first = self.knobs.more(&self.plan, pressure);
        let arms = [first, self.knobs.resized(&first, factor, alone)];
        let better = self.knobs.more(&other, (as_busy * factor).max(1.0));
        let why = format!("compare {} with {}", Knobs::words(&arms[1]), Knobs::words(&arms[0]));
        let larger = factor > 1.0;
        let worth = if larger { WORTH_LARGER } else { WORTH_SMALLER };
        self.phase = Phase::Trial(Trial::new(self.plan, better, arms, worth, larger));
        self.decide(now, first, why);
    }

    pub(super) fn tried(&mut self, now: Time, window: &Window) {
        let stalls = self.recent_stalls(now) > STALLS_FEW;
        let Phase::Trial(trial) = &mut self.phase else { return };
        if window.source_was_the_limit() {
            let current = trial.current;
            self.phase = Phase::Hold;
            self.resize.later(now);
            return self.decide(now, current, "the source is the limit, so nothing can be compared".to_owned());
        }
        // With equal numbers of requests, slow ones are equally under-represented in both windows,
        // and bursts of completions are the larger error.
        let rate = if trial.is_of_sizes_only() { window.rate() } else { window.completed_rate(now) };
        // The current plan did better than this lately, so something else delayed it.
        let held_up = !trial.is_other() && self.rate.is_some_and(|usual| rate < HELD_UP * usual);
        if stalls || held_up {
            trial.believe_no_single_window();
        }
        let verdict = trial.handle(rate, window.error());
        let (current, other, plan) = (trial.current, trial.better, trial.plan());
        let (gain, better) = match verdict {
            Verdict::Open => return self.decide(now, plan, "the comparison continues".to_owned()),
            Verdict::Better { gain } => (gain, true),
            Verdict::NotBetter { gain } => (gain, false),
        };
        let why = format!(
            "{} gave {:+.0} % bytes per second against {}",
            Knobs::words(&other),
            (gain - 1.0) * 100.0,
            Knobs::words(&current)
        );
        self.evidence.size = Some(why.clone());
        self.phase = Phase::Hold;
        if better {
            self.rate = None;
            self.decide(now, other, why);
            self.resize.soon(now);
        } else {
            self.larger_next = !self.larger_next;
            self.resize.later(now);
            self.decide(now, current, why);
        }
    }
}
