//! The controller that `inrush load` uses unless both knobs are fixed.

use std::collections::VecDeque;
use std::time::Duration;

use super::delay::Delay;
use super::knobs::Knobs;
use super::loss::{self, Loss};
use super::trial::{self, Trial};
use super::window::Window;
use super::{Bounds, Decision, Outcome, Plan, Sample, Tuner};
use crate::time::Time;

/// What [`Auto`] is told once.
#[derive(Clone, Copy, Debug)]
pub struct AutoConfig {
    /// Within what it may choose.
    pub bounds: Bounds,
    /// Consideration for a cluster that serves searches. Default: none.
    pub gentle: Option<Gentle>,
}

/// Upper bounds that come before throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gentle {
    /// How many times longer than on the idle cluster a request may take. Default 1.3.
    pub latency_growth: f64,
    /// The part of the documents that may be rejected, 0 to 1. Default 0.001.
    pub rejected: f64,
}

impl Default for Gentle {
    fn default() -> Self {
        Gentle { latency_growth: 1.3, rejected: 0.001 }
    }
}

/// Documents that may be rejected without a reaction, as a part of all.
const REJECTED: f64 = 0.0025;
/// Below this growth of the wall time nothing queues, and the plan may double.
const IDLE: f64 = 1.15;
/// The same during the fast start, where a window is one round and less exact.
const IDLE_AT_START: f64 = 1.3;
/// A window that is slower than the last ones by this factor, twice in a row, says that the cluster has changed.
const CHANGED: f64 = 0.75;
/// How many times more than keeps the cluster busy is under way when sizes are compared.
const BUSY: f64 = 1.6;
/// Measuring the unloaded wall time costs two or three wall times at half the rate: it is done no more often than this.
const DRAIN_EVERY_WALLS: f64 = 30.0;
/// Where little under way takes as long as this part of what it takes with much, nothing of ours queued.
const NO_QUEUE: f64 = 0.88;
const SURELY_NO_QUEUE: f64 = 0.93;
/// Where it takes less than this part, the queue was mostly ours.
const OWN_QUEUE: f64 = 0.7;
/// Where the wall time is so many times the target, it is measured anew before anything else.
const JUMP: f64 = 1.4;
/// Less than this part of what fewer requests brought says that the summit lies behind.
const SUMMIT: f64 = 0.94;
/// See [`Auto::change_pause`].
const CHANGE_PAUSE: Duration = Duration::from_secs(3);
/// So long an unloaded request should take at first, seconds: much shorter ones cost more than they hold, much longer ones make
/// everything slow to learn.
const WALL_SECONDS: f64 = 0.1;
/// Below it the wall time may grow more than otherwise, seconds.
const LATENCY_SECONDS: f64 = 0.1;
/// After so long a stall counts half.
const STALL_HALF_LIFE_SECONDS: f64 = 20.0;
/// How much the wall time may grow further with each stall that counts, and how many do.
const PER_STALL: f64 = 0.6;
const STALLS_MOST: f64 = 8.0;
/// Smallest gain of another batch size that counts.
const WORTH: f64 = 1.02;

/// See [`super`] and docs/tuner.md.
pub struct Auto {
    knobs: Knobs,
    gentle: Option<Gentle>,
    plan: Plan,
    decisions: VecDeque<Decision>,
    phase: Phase,
    window: Window,
    /// The window begins when the first request of this plan has returned: until then requests of the last plan are in the way.
    settling: bool,
    /// What the plan's requests in flight become then.
    rest_in_flight: Option<u32>,
    delay: Option<Delay>,
    loss: Loss,
    last_end: Time,
    /// Stalls so far, those of long ago counting less, as of the last one.
    stalls: (f64, Time),
    /// Usual wall time, seconds.
    wall: f64,
    /// Mean body of the last window, bytes.
    body: f64,
    /// Usual rate with this plan, bytes per second.
    rate: Option<f64>,
    slow_windows: u32,
    /// Smoothed rate of this plan, and from how many windows.
    smooth: Option<f64>,
    windows: u32,
    /// The plan that brought most lately, and its rate.
    best: Option<(Plan, f64)>,
    /// Bytes under way and the rate before the queue was shortened: if that cost throughput, it was no queue.
    lessened: Option<(f64, f64)>,
    /// When the unloaded wall time was last measured.
    drained: Time,
    /// Our part of what is under way at the cluster, as far as the queue shrank when ours did.
    share: f64,
    drain: Schedule,
    resize: Schedule,
    larger_next: bool,
    /// More would be under way if memory allowed it.
    full: bool,
    last_change: Time,
    /// Windows that are slower within this time after the last change are not taken for another.
    change_pause: Duration,
    evidence: Evidence,
}

#[derive(Debug)]
enum Phase {
    /// Doubles every round trip until something queues.
    Start,
    /// Holds the queue at its target.
    Hold,
    /// Little under way for a moment, to measure the unloaded wall time; then back to this plan.
    Drain { back: Plan, loaded: f64, cause: Cause },
    /// Compares another batch size.
    Trial(Trial),
}

/// Why the unloaded wall time is measured.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// It was some time ago.
    Due,
    /// The cluster has become slower, or another loader has come.
    Slower,
    /// Fewer requests under way brought less, so what seemed to queue did not.
    NoQueue,
}

/// When something is tried next, and how long the pause grows while nothing comes of it.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    next: Time,
    first: Duration,
    pause: Duration,
    longest: Duration,
}

impl Schedule {
    fn new(first: Duration, longest: Duration) -> Self {
        Schedule { next: Time::START, first, pause: first, longest }
    }

    fn later(&mut self, now: Time) {
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(self.longest);
    }

    fn soon(&mut self, now: Time) {
        self.next = now;
        self.pause = self.first;
    }
}

#[derive(Clone, Debug, Default)]
struct Evidence {
    rate: f64,
    growth: f64,
    wall: f64,
    size: Option<String>,
    loss: Option<String>,
}

impl Auto {
    /// Begins small and doubles.
    pub fn new(config: AutoConfig) -> Self {
        let knobs = Knobs::new(config.bounds);
        let tolerated = config.gentle.map_or(REJECTED, |gentle| gentle.rejected.min(REJECTED));
        Auto {
            plan: knobs.start(),
            knobs,
            gentle: config.gentle,
            decisions: VecDeque::new(),
            phase: Phase::Start,
            window: Window::new(Time::START),
            settling: false,
            rest_in_flight: None,
            delay: None,
            loss: Loss::new(tolerated),
            last_end: Time::START,
            stalls: (0.0, Time::START),
            wall: 0.0,
            body: 0.0,
            rate: None,
            slow_windows: 0,
            smooth: None,
            windows: 0,
            best: None,
            lessened: None,
            share: 1.0,
            drained: Time::START,
            drain: Schedule::new(Duration::from_secs(6), Duration::from_secs(60)),
            resize: Schedule::new(Duration::from_secs(15), Duration::from_secs(240)),
            larger_next: true,
            full: false,
            last_change: Time::START,
            change_pause: CHANGE_PAUSE,
            evidence: Evidence::default(),
        }
    }

    fn decide(&mut self, now: Time, mut to: Plan, why: String) {
        if to == self.plan {
            self.restart(now);
            return;
        }
        self.decisions.push_back(Decision { at: now, from: self.plan, to, why });
        // Many small requests in place of few large ones: the large ones have to come back first.
        let tight = self.under_way() * 1.5 > self.knobs.limit(self.loss.growth_limit(now));
        let smaller = to.batch_bytes < self.plan.batch_bytes && to.in_flight > self.plan.in_flight;
        self.rest_in_flight = (tight && smaller).then(|| std::mem::replace(&mut to.in_flight, self.plan.in_flight));
        self.plan = to;
        (self.smooth, self.windows) = (None, 0);
        self.window = Window::new(now);
        self.settling = !matches!(self.phase, Phase::Start | Phase::Drain { .. });
    }

    fn restart(&mut self, now: Time) {
        self.window = Window::new(now);
        self.settling = false;
    }

    fn under_way(&self) -> f64 {
        Knobs::under_way(&self.plan)
    }

    /// How many times longer than unloaded a request should take. The more is under way, the less: that makes loaders that share a
    /// cluster, and so see the same growth, meet at the same bytes under way.
    fn growth_target(&self, now: Time) -> f64 {
        let target = 1.0 + 3.2 * (512.0 * 1024.0 / self.under_way()).powf(0.21);
        let target = target.clamp(1.5, 5.0);
        // Where a request is over in no time, some more of them disturb nobody and even out servers' swings.
        let unloaded = self.delay.map_or(LATENCY_SECONDS, |delay| delay.unloaded(self.body));
        let target = target * (LATENCY_SECONDS / unloaded).clamp(1.0, 1.6);
        // While one node stands still, what waits for the others is all that there is to do.
        let target = target * (1.0 + PER_STALL * self.recent_stalls(now).min(STALLS_MOST));
        // Each loader keeps so much under way as if it were alone; who has more than all others together yields.
        let target = match self.share {
            share if share > 0.7 => target,
            share if share > 0.5 => (target / share * (0.5 / share).powi(2)).max(target.min(1.8)),
            share => target * 2.0 * (0.5 / share).powf(1.5),
        };
        self.gentle.map_or(target, |gentle| target.min(gentle.latency_growth))
    }

    fn handle_loss(&mut self, now: Time, verdict: loss::Verdict) {
        let base = match std::mem::replace(&mut self.phase, Phase::Hold) {
            Phase::Drain { back, .. } => back,
            Phase::Trial(trial) => trial.current,
            Phase::Start | Phase::Hold => self.plan,
        };
        self.resize.later(now);
        self.rate = None;
        let (to, why) = match verdict {
            loss::Verdict::Cut { ratio } => {
                let to = self.knobs.scaled(&base, loss::CUT);
                (to, format!("{:.1} % of the documents were rejected", ratio * 100.0))
            }
            loss::Verdict::Restore { under_way, ratio } => {
                let to = self.knobs.scaled(&base, under_way / Knobs::under_way(&base));
                let why = format!(
                    "less under way did not lower the rejections ({:.1} %): they are not caused by this load",
                    ratio * 100.0
                );
                (to, why)
            }
        };
        self.evidence.loss = Some(format!("{why} with {}", Knobs::words(&base)));
        self.decide(now, to, why);
    }

    fn window_is_complete(&self) -> bool {
        let n = self.plan.in_flight;
        let samples = self.window.samples();
        let lasted = self.last_end.since(self.window.from());
        match &self.phase {
            Phase::Start | Phase::Drain { .. } => samples >= n.max(2),
            Phase::Hold => samples >= (2 * n).max(4) && lasted >= Duration::from_millis(250),
            Phase::Trial(_) => samples >= (2 * n).max(4) && lasted >= Duration::from_millis(500),
        }
    }

    fn handle_window(&mut self, now: Time) {
        let window = self.window;
        let Some(wall) = window.wall() else { return self.restart(now) };
        self.wall = wall;
        self.body = window.body();
        match &self.phase {
            Phase::Start => self.start(now, &window, wall),
            Phase::Hold => self.hold(now, &window, wall),
            Phase::Drain { .. } => self.drained(now, &window, wall),
            Phase::Trial(_) => self.tried(now, &window),
        }
    }

    fn start(&mut self, now: Time, window: &Window, wall: f64) {
        let body = window.body();
        let Some(delay) = &mut self.delay else {
            self.delay = Some(Delay::new(wall, body));
            let to = self.knobs.sized(&self.plan, WALL_SECONDS / wall);
            let why = format!("{} take {:.0} ms each", Knobs::words(&self.plan), wall * 1e3);
            return self.decide(now, to, why);
        };
        if delay.is_far_from(body) {
            delay.measured(wall, body);
        }
        delay.lower(wall, body);
        let growth = delay.growth(wall, body);
        if window.source_was_the_limit() {
            return self.restart(now);
        }
        let to = self.knobs.grown(&self.plan, 2.0, self.loss.growth_limit(now));
        if growth < IDLE_AT_START && to != self.plan {
            let why = format!("nothing queues: {} take {:.0} ms each", Knobs::words(&self.plan), wall * 1e3);
            return self.decide(now, to, why);
        }
        self.phase = Phase::Hold;
        self.drain.soon(now);
        self.resize.soon(now);
        self.restart(now);
    }

    fn hold(&mut self, now: Time, window: &Window, wall: f64) {
        let body = window.body();
        let Some(delay) = &mut self.delay else { return };
        delay.lower(wall, body);
        let growth = delay.growth(wall, body);
        let comparable = delay.comparable_growth(wall, body);
        let rate = window.rate();
        self.evidence = Evidence { rate, growth, wall, ..self.evidence.clone() };
        if window.source_was_the_limit() {
            return self.restart(now);
        }
        if self.has_changed(rate) && now.since(self.last_change) > self.change_pause {
            self.last_change = now;
            // Doubled for the case that nothing comes of it.
            self.change_pause = (self.change_pause * 2).min(Duration::from_secs(60));
            (self.rate, self.best) = (None, None);
            self.drain.soon(now);
            self.resize.soon(now);
            self.loss.forget();
            return self.begin_drain(now, wall, growth, Cause::Slower);
        }
        if let Some((under_way, before)) = self.lessened.take() {
            let step = (under_way / self.under_way()).ln();
            if (before / rate).ln() > (0.6 * step).max(0.05) {
                return self.begin_drain(now, wall, growth, Cause::NoQueue);
            }
        }
        if let Some(back) = self.past_summit(rate) {
            let why = format!("{} brought more than {}", Knobs::words(&back), Knobs::words(&self.plan));
            self.loss.set_ceiling(now, self.under_way());
            (self.rate, self.best) = (None, None);
            return self.decide(now, back, why);
        }
        let target = self.growth_target(now);
        if comparable > JUMP * target && now.since(self.drained) > Duration::from_secs(2) {
            return self.begin_drain(now, wall, growth, Cause::Slower);
        }
        let ratio = target / comparable;
        let used = window.in_flight() > 0.8 * f64::from(self.plan.in_flight);
        let limit = self.loss.growth_limit(now);
        let clean = window.rejected_ratio() < REJECTED / 2.0;
        let grow = ratio > 1.1 && used && clean;
        let to = if grow {
            let factor = if growth < IDLE { 2.0 } else { ratio.sqrt() };
            self.knobs.grown(&self.plan, factor, limit)
        } else if ratio < 1.0 / 1.1 {
            self.knobs.lessened(&self.plan, ratio.sqrt())
        } else {
            self.plan
        };
        if to != self.plan {
            let why = format!(
                "a request takes {comparable:.1} times as long as on the idle cluster, {target:.1} is aimed at"
            );
            self.rate = None;
            self.lessened = (!grow).then(|| (self.under_way(), rate));
            return self.decide(now, to, why);
        }
        if grow && self.knobs.is_full(&self.plan, limit) && !self.full {
            // Memory is the limit: smaller bodies, more of them, come back earlier.
            self.full = true;
            self.larger_next = false;
            self.resize.soon(now);
        }
        if now >= self.drain.next && growth > IDLE {
            return self.begin_drain(now, wall, growth, Cause::Due);
        }
        if now >= self.resize.next && clean {
            return self.begin_trial(now, wall, body);
        }
        self.restart(now);
    }

    /// The plan with less under way that brought clearly more than what there is now, after three windows.
    fn past_summit(&mut self, rate: f64) -> Option<Plan> {
        self.smooth = Some(self.smooth.map_or(rate, |smooth| 0.6 * smooth + 0.4 * rate));
        self.windows += 1;
        let smooth = self.smooth.filter(|_| self.windows >= 3)?;
        let best = self.best.get_or_insert((self.plan, smooth));
        // What was best long ago counts a little less with every window: servers drift.
        best.1 *= 0.998;
        if smooth > best.1 {
            *best = (self.plan, smooth);
        }
        let (plan, rate) = *best;
        let more = Knobs::under_way(&self.plan) > 1.2 * Knobs::under_way(&plan);
        (more && smooth < SUMMIT * rate).then_some(plan)
    }

    /// Two windows in a row that are much slower than the usual ones of this plan.
    fn has_changed(&mut self, rate: f64) -> bool {
        let usual = *self.rate.get_or_insert(rate);
        if rate < usual * CHANGED {
            self.slow_windows += 1;
            return self.slow_windows >= 2;
        }
        self.slow_windows = 0;
        self.rate = Some(0.7 * usual + 0.3 * rate);
        false
    }

    fn begin_drain(&mut self, now: Time, loaded: f64, growth: f64, cause: Cause) {
        let back = self.plan;
        let little = self.knobs.drained(&back, growth);
        self.drained = now;
        self.drain.later(now);
        self.drain.next = self.drain.next.max(now + Duration::from_secs_f64(DRAIN_EVERY_WALLS * loaded));
        if little == back {
            return self.restart(now);
        }
        self.phase = Phase::Drain { back, loaded, cause };
        let because = match cause {
            Cause::Due => "",
            Cause::Slower => "the last windows were slower by a quarter or more: ",
            Cause::NoQueue => "fewer requests cost throughput: ",
        };
        let why = format!("{because}measure how long a request takes with {} under way", little.in_flight);
        self.decide(now, little, why);
    }

    fn drained(&mut self, now: Time, window: &Window, wall: f64) {
        let Phase::Drain { back, loaded, cause } = std::mem::replace(&mut self.phase, Phase::Hold) else { return };
        let body = window.body();
        let Some(delay) = &mut self.delay else { return };
        // Where little under way takes as long as much, the time is spent in no queue of ours.
        let no_queue = wall > if matches!(cause, Cause::Due) { SURELY_NO_QUEUE } else { NO_QUEUE } * loaded;
        let unloaded = delay.unloaded(body);
        let left = Knobs::under_way(&self.plan) / Knobs::under_way(&back);
        if wall > 1.3 * unloaded {
            self.change_pause = CHANGE_PAUSE;
        }
        if no_queue {
            // Unless it is very clear, step by step.
            let at_most = if wall > SURELY_NO_QUEUE * loaded { f64::INFINITY } else { 2.0 * unloaded };
            delay.measured(wall.min(at_most), body);
            self.share = 1.0;
            self.phase = Phase::Start;
        } else if matches!(cause, Cause::Slower) && wall < OWN_QUEUE * loaded {
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

    /// Compares bodies of double or half the size, with the same bytes under way: enough of them that fewer and larger requests
    /// still keep the cluster busy.
    fn begin_trial(&mut self, now: Time, wall: f64, body: f64) {
        let factor = if self.larger_next { 2.0 } else { 0.5 };
        let alone = self.share > 0.7;
        let other = self.knobs.resized(&self.plan, factor, alone);
        let factor = other.batch_bytes as f64 / self.plan.batch_bytes as f64;
        let Some(delay) = self.delay.filter(|_| other != self.plan) else {
            self.larger_next = !self.larger_next;
            self.resize.later(now);
            return self.restart(now);
        };
        // How many of the other requests keep the cluster as busy as these do, for each of these.
        let as_busy = delay.unloaded(body * factor) / delay.unloaded(body) / factor;
        let pressure = match self.gentle {
            None => (BUSY * as_busy * factor / delay.growth(wall, body)).clamp(1.0, 2.0),
            Some(_) => 1.0,
        };
        let pressure = pressure.min(self.loss.growth_limit(now) / self.under_way());
        let first = self.knobs.more(&self.plan, pressure);
        let arms = [first, self.knobs.resized(&first, factor, alone)];
        let better = self.knobs.more(&other, (as_busy * factor).max(1.0));
        let why = format!("compare {} with {}", Knobs::words(&arms[1]), Knobs::words(&arms[0]));
        self.phase = Phase::Trial(Trial::new(self.plan, better, arms, WORTH));
        self.decide(now, first, why);
    }

    fn tried(&mut self, now: Time, window: &Window) {
        let Phase::Trial(trial) = &mut self.phase else { return };
        if window.source_was_the_limit() {
            let current = trial.current;
            self.phase = Phase::Hold;
            self.resize.later(now);
            return self.decide(now, current, "the source is the limit: nothing can be compared".to_owned());
        }
        let rate = window.completed_rate(now);
        let verdict = trial.handle(rate, window.error());
        let (current, other, plan) = (trial.current, trial.better, trial.plan());
        match verdict {
            trial::Verdict::Open => self.decide(now, plan, "the comparison goes on".to_owned()),
            trial::Verdict::Better { gain } => {
                let why = format!(
                    "{} gave {:.0} % more bytes per second than {}",
                    Knobs::words(&other),
                    (gain - 1.0) * 100.0,
                    Knobs::words(&current)
                );
                self.evidence.size = Some(why.clone());
                self.phase = Phase::Hold;
                self.rate = None;
                self.decide(now, other, why);
                self.resize.soon(now);
            }
            trial::Verdict::NotBetter { gain } => {
                let why = format!(
                    "{} gave {:+.0} % bytes per second against {}",
                    Knobs::words(&other),
                    (gain - 1.0) * 100.0,
                    Knobs::words(&current)
                );
                self.evidence.size = Some(why.clone());
                self.phase = Phase::Hold;
                self.larger_next = !self.larger_next;
                self.resize.later(now);
                self.decide(now, current, why);
            }
        }
    }

    /// Stalls, those of long ago counting less.
    fn recent_stalls(&self, now: Time) -> f64 {
        let (stalls, last) = self.stalls;
        stalls * 0.5_f64.powf(now.since(last).as_secs_f64() / STALL_HALF_LIFE_SECONDS)
    }

    /// Nothing came back for much longer than usual: a merge, a garbage collection, or a change; the next windows will tell.
    fn is_stall(&self, now: Time) -> bool {
        self.wall > 0.0 && now.since(self.last_end).as_secs_f64() > (3.0 * self.wall).max(0.5)
    }
}

impl Tuner for Auto {
    fn plan(&self) -> Plan {
        self.plan
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        let stalled = self.is_stall(now);
        self.last_end = now;
        if stalled {
            self.stalls = (self.recent_stalls(now) + 1.0, now);
            self.window = Window::new(now);
        }
        if sample.outcome == Outcome::TooLarge {
            let to = self.knobs.limit_body(&self.plan, sample.bytes);
            if !matches!(self.phase, Phase::Start) {
                self.phase = Phase::Hold;
            }
            return self.decide(now, to, format!("a body of {} bytes is too large for the server", sample.bytes));
        }
        let under_way = self.under_way();
        if let Some(verdict) = self.loss.handle(now, sample, under_way, self.plan.in_flight) {
            return self.handle_loss(now, verdict);
        }
        if !self.window.add(sample) {
            return;
        }
        if self.settling {
            if let Some(in_flight) = self.rest_in_flight.take() {
                let from = self.plan;
                self.plan.in_flight = in_flight;
                let why = "the larger requests have come back".to_owned();
                self.decisions.push_back(Decision { at: now, from, to: self.plan, why });
                self.window = Window::new(now);
                return;
            }
            return self.restart(now);
        }
        if self.window_is_complete() {
            self.handle_window(now);
        }
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    fn why(&self) -> String {
        let e = &self.evidence;
        if e.rate <= 0.0 {
            return "too short to learn anything: the values it starts with".to_owned();
        }
        let mut why = format!(
            "{} bring {:.1} MB/s; a request takes {:.0} ms, {:.1} times as long as on the idle cluster",
            Knobs::words(&self.plan),
            e.rate / 1e6,
            e.wall * 1e3,
            e.growth
        );
        for more in [&e.size, &e.loss].into_iter().flatten() {
            why.push_str("; ");
            why.push_str(more);
        }
        why
    }
}
