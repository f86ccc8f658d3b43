//! Requests in flight: the fast start, the target of the queue, and signs that the cluster has
//! changed.

use std::time::Duration;

use super::super::delay::Delay;
use super::super::knobs::Knobs;
use super::super::window::Window;
use super::{AutoTuner, Cause, Phase};
use crate::time::Time;
use crate::{Plan, Sample};

/// Below this growth of the wall time nothing queues, and the plan may double.
const IDLE: f64 = 1.15;
/// The same during the fast start, where a window is one round and less exact.
const IDLE_AT_START: f64 = 1.3;
/// The gain that twice the body has to bring during the fast start, where only the size can change.
const WORTH_AT_START: f64 = 1.15;
/// A window that is slower than the last ones by this factor, twice in a row, shows that the
/// cluster has changed.
const CHANGED: f64 = 0.75;
/// The power of target / growth by which the requests in flight grow.
const STEP: f64 = 0.7;
/// The requests in flight decrease only beyond this multiple of the target: a queue that is a
/// little too long costs no throughput.
const SLACK: f64 = 1.3;
/// If the wall time exceeds the target by this factor, the unloaded wall time is measured again
/// first.
const JUMP: f64 = 1.4;
/// A rate below this part of what fewer requests brought shows that the optimum is behind.
const SUMMIT: f64 = 0.94;
/// The initial wall time of an unloaded request, seconds. Shorter requests cost more than they
/// hold; longer ones make every observation slow.
const WALL_SECONDS: f64 = 0.25;
/// The first bodies grow while this number of them fits into the memory.
const FIRST_BODIES: f64 = 16.0;
/// The gain that half the body has to bring while memory is full and nothing queues.
const WORTH_SHRINKING: f64 = 1.03;
/// The first bodies are measured twice unless they take longer than this, seconds. On a new index
/// they create its mapping; on a new node they meet a cold JVM.
const COLD_SECONDS: f64 = 1.0;
/// If fewer requests reduced the rate by this part (of logarithms), there was no queue. Windows of
/// half a second vary by as much.
const LESS: f64 = 0.12;
/// Below this wall time, seconds, it may grow more than otherwise.
const LATENCY_SECONDS: f64 = 0.075;
/// After this time, a stall counts half.
const STALL_HALF_LIFE_SECONDS: f64 = 20.0;
/// How much further the wall time may grow with each stall, and how many stalls count.
const PER_STALL: f64 = 0.6;
const STALLS_MOST: f64 = 8.0;

impl AutoTuner {
    pub(super) fn start(&mut self, now: Time, window: &Window, wall: f64) {
        let body = window.body();
        if !window.accepted() {
            return self.restart(now);
        }
        if !std::mem::replace(&mut self.begun, true) && wall < COLD_SECONDS {
            return self.restart(now);
        }
        let Some(delay) = &mut self.delay else {
            self.delay = Some(Delay::new(wall, body));
            let most = self.knobs.room_for(&self.plan, FIRST_BODIES).max(1.0);
            let to = self.knobs.sized(&self.plan, (WALL_SECONDS / wall).min(most));
            let why = format!("{} take {:.0} ms each", Knobs::words(&self.plan), wall * 1e3);
            return self.decide(now, to, why);
        };
        if delay.is_far_from(body) {
            delay.measured(wall, body);
        }
        delay.lower(wall, body);
        let growth = delay.growth(wall, body);
        self.note(window, wall, growth);
        if window.source_was_the_limit() {
            return self.restart(now);
        }
        let to = self.knobs.grown(&self.plan, 2.0, self.loss.growth_limit(now));
        let worth = if self.knobs.in_flight_is_fixed() {
            // A larger body takes longer on an idle cluster as well, so the rate decides.
            let before = self.rate.replace(window.rate());
            before.is_none_or(|before| window.rate() > WORTH_AT_START * before)
        } else {
            growth < IDLE_AT_START
        };
        if worth && to != self.plan {
            let why = format!("nothing queues: {} take {:.0} ms each", Knobs::words(&self.plan), wall * 1e3);
            return self.decide(now, to, why);
        }
        let smaller = self.smaller_at_start(now, window.rate(), growth);
        if let Some(smaller) = smaller {
            let why =
                format!("memory is full and nothing queues: {} take {:.0} ms", Knobs::words(&self.plan), wall * 1e3);
            return self.decide(now, smaller, why);
        }
        if let Some((before, _)) = self.shrunk.take().filter(|(_, before)| !is_worth_shrinking(window.rate(), *before))
        {
            self.decide(now, before, "smaller bodies did not bring more".to_owned());
        }
        self.phase = Phase::Hold;
        self.rate = None;
        self.drain.soon(now);
        self.resize.soon(now);
        self.lessen.soon(now);
        self.restart(now);
    }

    /// Half the body and twice the requests, if memory is full, nothing queues, and the last
    /// halving brought more. A round trip is most of the time of such requests, and smaller ones
    /// return earlier. Each comparison in pairs would take ten times as long.
    fn smaller_at_start(&mut self, now: Time, rate: f64, growth: f64) -> Option<Plan> {
        let is_worth = self.shrunk.is_none_or(|(_, before)| is_worth_shrinking(rate, before));
        let no_ceiling = self.loss.growth_limit(now) == f64::INFINITY;
        let full = no_ceiling && self.knobs.is_full(&self.plan, f64::INFINITY);
        if !is_worth || !full || growth >= IDLE_AT_START || self.knobs.in_flight_is_fixed() {
            return None;
        }
        let to = self.knobs.resized(&self.plan, 0.5, true);
        let smaller = to.batch_bytes < self.plan.batch_bytes;
        smaller.then(|| {
            self.shrunk = Some((self.plan, rate));
            to
        })
    }

    pub(super) fn hold(&mut self, now: Time, window: &Window, wall: f64) {
        let body = window.body();
        let Some(delay) = &mut self.delay else { return };
        if window.accepted() {
            delay.lower(wall, body);
        }
        let growth = delay.growth(wall, body);
        let comparable = delay.comparable_growth(wall, body);
        let rate = window.rate();
        self.held_rate = rate;
        self.note(window, wall, growth);
        if window.source_was_the_limit() {
            return self.restart(now);
        }
        if self.has_changed(rate) && now.since(self.last_change) > self.change_pause {
            self.last_change = now;
            // Doubled in case that the measurement shows no change.
            self.change_pause = (self.change_pause * 2).min(Duration::from_secs(60));
            (self.rate, self.best) = (None, None);
            self.drain.soon(now);
            self.resize.soon(now);
            self.lessen.soon(now);
            (self.depth, self.larger_in_vain, self.refuses_requests) = (1.0, false, false);
            self.loss.forget();
            return self.begin_drain(now, wall, growth, Cause::Slower);
        }
        if let Some((bytes_in_flight, before)) = self.lessened.take() {
            let step = (bytes_in_flight / self.bytes_in_flight()).ln();
            if (before / rate).ln() > (0.6 * step).max(LESS) {
                return self.begin_drain(now, wall, growth, Cause::NoQueue);
            }
        }
        if let Some(back) = self.past_summit(rate) {
            let why = format!("{} brought more than {}", Knobs::words(&back), Knobs::words(&self.plan));
            self.loss.set_ceiling(now, self.bytes_in_flight());
            (self.rate, self.best) = (None, None);
            return self.decide(now, back, why);
        }
        let target = self.growth_target(now);
        self.jumps = if comparable > JUMP * target { self.jumps + 1 } else { 0 };
        // The second time the unloaded wall time is known: the queue is the load's own.
        if self.jumps == 1 && now.since(self.drained) > Duration::from_secs(2) {
            return self.begin_drain(now, wall, growth, Cause::Longer);
        }
        self.steer(now, window, (growth, comparable), target);
    }

    /// Moves the bytes in flight towards the target, or starts the next experiment. `growth`: the
    /// wall time as a multiple of the unloaded one, for this body and comparable with other
    /// loaders.
    fn steer(&mut self, now: Time, window: &Window, (growth, comparable): (f64, f64), target: f64) {
        let ratio = target / comparable;
        // Requests that wait for a retry are in use.
        let used = window.in_flight() > 0.8 * f64::from(self.plan.in_flight) || window.rejected_ratio() > 0.0;
        let limit = self.loss.growth_limit(now);
        let clean = self.loss.allows_growth(now, window);
        // Where only the size can change, comparisons choose it.
        let grow = ratio > 1.1 && used && clean && !self.knobs.in_flight_is_fixed();
        let to = if grow {
            let factor = if growth < IDLE { 2.0 } else { ratio.powf(STEP) };
            self.knobs.grown(&self.plan, factor, limit)
        } else if ratio < 1.0 / SLACK {
            self.knobs.lessened(&self.plan, ratio.sqrt())
        } else {
            self.plan
        };
        if to != self.plan {
            let why = format!(
                "a request takes {comparable:.1} times as long as on an idle cluster; the target is {target:.1}"
            );
            self.rate = None;
            self.lessened = (!grow).then(|| (self.bytes_in_flight(), window.rate()));
            return self.decide(now, to, why);
        }
        if grow && self.knobs.is_full(&self.plan, limit) && !self.full {
            // Memory is the limit: more and smaller bodies return earlier.
            self.full = true;
            self.larger_next = false;
            self.resize.soon(now);
        }
        if now >= self.drain.next && growth > IDLE {
            return self.begin_drain(now, self.wall, growth, Cause::Due);
        }
        let (resize, lessen) = (now >= self.resize.next, now >= self.lessen.next && self.may_be_too_much(now, growth));
        if clean && lessen && (self.few_are_better || !resize) {
            return self.compare_fewer(now);
        }
        if clean && resize {
            return self.begin_trial(now, self.wall, window.body());
        }
        self.restart(now);
    }

    /// The plan with fewer bytes in flight that had a clearly higher rate than the current one,
    /// after three windows.
    pub(super) fn past_summit(&mut self, rate: f64) -> Option<Plan> {
        self.smooth = Some(self.smooth.map_or(rate, |smooth| 0.6 * smooth + 0.4 * rate));
        self.windows += 1;
        let smooth = self.smooth.filter(|_| self.windows >= 3)?;
        let best = self.best.get_or_insert((self.plan, smooth));
        // The best rate decays with every window, because servers drift.
        best.1 *= 0.998;
        if smooth > best.1 {
            *best = (self.plan, smooth);
        }
        let (plan, rate) = *best;
        let more = Knobs::bytes_in_flight(&self.plan) > 1.2 * Knobs::bytes_in_flight(&plan);
        (more && smooth < SUMMIT * rate).then_some(plan)
    }

    /// Whether two windows in a row are much slower than usual for this plan.
    pub(super) fn has_changed(&mut self, rate: f64) -> bool {
        let usual = *self.rate.get_or_insert(rate);
        if rate < usual * CHANGED {
            self.slow_windows += 1;
            return self.slow_windows >= 2;
        }
        self.slow_windows = 0;
        self.rate = Some(0.7 * usual + 0.3 * rate);
        false
    }

    /// The target wall time, as a multiple of the unloaded one. It falls with the bytes in flight.
    /// Loaders that share a cluster see the same growth, so they converge to equal bytes in flight.
    pub(super) fn growth_target(&self, now: Time) -> f64 {
        let target = 1.0 + 7.0 * (512.0 * 1024.0 / self.bytes_in_flight()).powf(0.21);
        let target = target.clamp(1.5, 6.0);
        // Where a request takes very little time, a few more delay no other client and even out
        // variations of servers.
        let unloaded = self.delay.map_or(LATENCY_SECONDS, |delay| delay.unloaded(self.body));
        let target = target * (LATENCY_SECONDS / unloaded).clamp(1.0, 1.6);
        // While one node stalls, requests that wait for the others are all that can be done.
        let target = target * (1.0 + PER_STALL * self.recent_stalls(now).min(STALLS_MOST));
        // Each loader keeps as much in flight as if it were alone. A loader with more than all
        // others together yields.
        match self.share {
            share if share > 0.7 => target * self.depth,
            share if share > 0.5 => (target / share * (0.5 / share).powi(2)).max(target.min(1.8)),
            share => target * 2.0 * (0.5 / share).powf(1.5),
        }
    }

    /// The number of stalls, with old ones counting less.
    pub(super) fn recent_stalls(&self, now: Time) -> f64 {
        let (stalls, last) = self.stalls;
        stalls * 0.5_f64.powf(now.since(last).as_secs_f64() / STALL_HALF_LIFE_SECONDS)
    }

    /// Whether nothing returned for much longer than usual although requests were in flight: a
    /// merge, a garbage collection, or a change that the next windows will show. Pauses of the
    /// source and waits before retries do not count.
    pub(super) fn is_late(&self, now: Time, sample: &Sample) -> bool {
        let waited = now.since(self.last_end.max(sample.sent)).as_secs_f64();
        self.wall > 0.0 && waited > (3.0 * self.wall).max(0.25)
    }
}

fn is_worth_shrinking(rate: f64, before: f64) -> bool {
    rate > WORTH_SHRINKING * before
}
