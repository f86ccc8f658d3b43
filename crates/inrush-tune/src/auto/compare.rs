//! Comparison of batch sizes, and of fewer requests, in pairs of windows in turn.

use super::super::knobs::Knobs;
use super::super::trial::{Trial, Verdict};
use super::super::window::Window;
use super::{AutoTuner, Phase};
use crate::Plan;
use crate::time::Time;

/// How many times more than keeps the cluster busy is in flight during a comparison.
const BUSY: f64 = 1.6;
/// The smallest gain of larger bodies that counts.
const WORTH_LARGER: f64 = 1.01;
/// The same for smaller bodies: with equal rates, the smaller ones are better.
const WORTH_SMALLER: f64 = 1.0;
/// A gain beyond this shows that requests are dear: the next larger body is four times as large.
const MUCH: f64 = 1.1;
/// Four times the body is compared only if this number of requests is left: fewer leave a cluster
/// idle between them, and take very long where it is slow.
const LEFT_LEAST: f64 = 4.0;
/// Fewer requests than this get larger bodies in any case with more bytes in flight.
const FEW_REQUESTS: u32 = 4;
/// Less than this factor is not more.
const MORE: f64 = 1.2;
/// Larger bodies with more bytes in flight that bring more also need a longer queue, by this
/// factor.
const DEEPER: f64 = 1.3;
/// The smallest gain of fewer requests that counts: they are compared to find heaps that many bytes
/// fill.
const WORTH_FEWER: f64 = 1.03;
/// Bytes in flight that no heap feels.
const FREE_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
/// From this growth of the wall time on, half as many requests keep the cluster busy.
const QUEUED: f64 = 2.0;
/// If the cluster stalled more often than this lately, a window without a stall proves nothing
/// against one with a stall.
const STALLS_FEW: f64 = 0.25;
/// A rate below this part of the usual one is not chance.
const HELD_UP: f64 = 0.8;

impl AutoTuner {
    /// Compares bodies of twice or half the size. Larger ones come with as many requests as now
    /// while that is more in flight; the others with the same bytes in flight: enough of them that
    /// fewer, larger requests still keep the cluster busy.
    pub(super) fn begin_trial(&mut self, now: Time, wall: f64, body: f64) {
        let factor = self.next_size();
        let alone = self.share > 0.7;
        if let Some(more) = self.larger_and_more(now).filter(|_| self.larger_next && alone) {
            let why = format!("compare {} with {}", Knobs::words(&more), Knobs::words(&self.plan));
            self.phase = Phase::Trial(Trial::new(self.plan, more, [self.plan, more], WORTH_LARGER));
            return self.decide(now, self.plan, why);
        }
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
        let worth = if factor > 1.0 { WORTH_LARGER } else { WORTH_SMALLER };
        self.phase = Phase::Trial(Trial::new(self.plan, better, arms, worth));
        self.decide(now, first, why);
    }

    /// The next size to compare, as a multiple of this one.
    fn next_size(&self) -> f64 {
        let left = f64::from(self.plan.in_flight) / self.larger_by;
        match self.larger_next {
            true if left < LEFT_LEAST && !self.knobs.in_flight_is_fixed() => 2.0,
            true => self.larger_by,
            false => 0.5,
        }
    }

    /// As many requests with twice the body, if memory and losses allow more bytes in flight than
    /// now.
    fn larger_and_more(&self, now: Time) -> Option<Plan> {
        if self.knobs.in_flight_is_fixed() || self.plan.in_flight < FEW_REQUESTS {
            return None;
        }
        let more = self.knobs.larger(&self.plan, 2.0, self.loss.growth_limit(now));
        let is_more = Knobs::bytes_in_flight(&more) > MORE * self.bytes_in_flight();
        (is_more && more.batch_bytes as f64 > MORE * self.plan.batch_bytes as f64).then_some(more)
    }

    /// Whether fewer requests in flight may bring more.
    pub(super) fn may_be_too_much(&self, now: Time, growth: f64) -> bool {
        // While a node stands still, requests for the others are the only work.
        let may_change = self.few_suffice
            && self.recent_stalls(now) <= STALLS_FEW
            && !self.knobs.in_flight_is_fixed()
            && self.plan.in_flight >= 4;
        may_change && growth > QUEUED && self.bytes_in_flight() > FREE_BYTES && self.share > 0.7
    }

    /// Compares half as many requests of the same size: where bodies fill a heap, they bring more.
    pub(super) fn compare_fewer(&mut self, now: Time) {
        let fewer = self.knobs.lessened(&self.plan, 0.5);
        let why = format!("compare {} with {}", Knobs::words(&fewer), Knobs::words(&self.plan));
        self.phase = Phase::Trial(Trial::of_number(self.plan, fewer, WORTH_FEWER));
        self.decide(now, self.plan, why);
    }

    pub(super) fn tried(&mut self, now: Time, window: &Window) {
        let stalls = self.recent_stalls(now) > STALLS_FEW;
        let Phase::Trial(trial) = &mut self.phase else { return };
        if window.source_was_the_limit() {
            let current = trial.current;
            self.phase = Phase::Hold;
            self.resize.later(now);
            self.lessen.later(now);
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
        if stalls {
            trial.need_more_pairs();
        }
        let verdict = trial.handle(rate, window.error());
        let (current, other, plan) = (trial.current, trial.better, trial.plan());
        let of_number = trial.is_of_number();
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
        self.phase = Phase::Hold;
        if of_number {
            return self.compared_fewer(now, better.then_some(other), current, why);
        }
        self.evidence.size = Some(why.clone());
        // A gain that comes of the fixed cost of a request halves with each doubling.
        self.larger_by = if better && gain > MUCH { 4.0 } else { 2.0 };
        self.larger_in_vain = !better && other.batch_bytes > current.batch_bytes;
        if better {
            let deeper = Knobs::bytes_in_flight(&other) > MORE * Knobs::bytes_in_flight(&current);
            if deeper && other.batch_bytes > current.batch_bytes && 2 * other.in_flight > current.in_flight {
                self.depth *= DEEPER;
                self.best = None;
            }
            self.rate = None;
            self.decide(now, other, why);
            self.resize.soon(now);
        } else {
            self.larger_next = !self.larger_next;
            self.resize.later(now);
            self.decide(now, current, why);
        }
    }

    fn compared_fewer(&mut self, now: Time, fewer: Option<Plan>, current: Plan, why: String) {
        let Some(fewer) = fewer else {
            self.lessen.later(now);
            return self.decide(now, current, why);
        };
        self.loss.set_ceiling(now, Knobs::bytes_in_flight(&current));
        (self.rate, self.best) = (None, None);
        self.lessen.soon(now);
        self.decide(now, fewer, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    fn tuner(in_flight: (u32, u32)) -> AutoTuner {
        let bounds = Bounds { batch_bytes: (64 << 10, 64 << 20), batch_docs: u32::MAX, in_flight, memory: 64 << 20 };
        AutoTuner { larger_by: 4.0, ..AutoTuner::new(bounds) }
    }

    #[test]
    fn four_times_the_body_needs_four_requests_that_are_left() {
        let mut free = tuner((1, 256));
        let mut next = |in_flight: u32, larger: bool| {
            (free.plan.in_flight, free.larger_next) = (in_flight, larger);
            free.next_size()
        };
        assert_eq!([next(16, true), next(15, true), next(8, true), next(8, false)], [4.0, 2.0, 2.0, 0.5]);
        assert_eq!(tuner((8, 8)).next_size(), 4.0, "a fixed number of requests stays");
    }
}
