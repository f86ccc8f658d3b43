//! The tuner of `inrush load`, unless both values are fixed.

mod compare;
mod drain;
mod steer;

use std::collections::VecDeque;
use std::time::Duration;

use super::delay::Delay;
use super::knobs::Knobs;
use super::loss::{self, Loss};
use super::settling::Settling;
use super::trial::Trial;
use super::window::Window;
use super::{Bounds, Decision, Learned, Plan, Sample, SampleOutcome, Tuner, Unloaded};
use crate::time::Time;

/// The part of the documents that may be rejected without a reaction.
const REJECTED: f64 = 0.0025;
/// From a full queue to the comparison with larger bodies.
const QUEUE_PAUSE: Duration = Duration::from_secs(1);
/// The first value of [`AutoTuner::change_pause`].
const CHANGE_PAUSE: Duration = Duration::from_secs(3);

/// The automatic tuner of batch size and requests in flight. docs/tuner.md explains it.
pub struct AutoTuner {
    knobs: Knobs,
    plan: Plan,
    decisions: VecDeque<Decision>,
    phase: Phase,
    window: Window,
    /// Requests of the last plan that are still in flight. The window starts when they have
    /// returned.
    settling: Option<Settling>,
    /// The plan's requests in flight once they have returned.
    rest_in_flight: Option<u32>,
    delay: Option<Delay>,
    loss: Loss,
    last_end: Time,
    /// The number of stalls, with old ones counting less, as of the last stall.
    stalls: (f64, Time),
    /// Whether the last answer took as long as a stall.
    late: bool,
    /// Whether a window was measured with the first bodies.
    begun: bool,
    /// The usual wall time, seconds.
    wall: f64,
    /// The mean body of the last window, bytes.
    body: f64,
    /// The usual rate of this plan, bytes per second.
    rate: Option<f64>,
    slow_windows: u32,
    /// Consecutive windows with a wall time far above the target.
    jumps: u32,
    /// The smoothed rate of this plan, and the number of its windows.
    smooth: Option<f64>,
    windows: u32,
    /// The best plan lately, and its rate.
    best: Option<(Plan, f64)>,
    /// Bytes in flight and the rate before the plan was reduced. If the reduction cost throughput,
    /// there was no queue.
    lessened: Option<(f64, f64)>,
    /// When the unloaded wall time was last measured.
    drained: Time,
    /// The load's own share of what is in flight in the cluster, estimated from how the queue
    /// shrank with its requests.
    share: f64,
    drain: Schedule,
    resize: Schedule,
    /// When fewer requests are compared, and whether the last drain lost nothing with few.
    lessen: Schedule,
    few_suffice: bool,
    /// Whether few requests brought clearly more in the last drain.
    few_are_better: bool,
    /// The rate of the last window with the whole plan.
    held_rate: f64,
    larger_next: bool,
    /// The next larger body, as a multiple of this one.
    larger_by: f64,
    /// Larger bodies were compared lately and brought no more.
    larger_in_vain: bool,
    /// Refusals began when smaller bodies were compared: a gateway counts requests.
    refuses_requests: bool,
    /// Larger bodies with more bytes in flight brought more, so the target is as many times longer.
    depth: f64,
    /// The plan before its bodies were halved in the fast start, and its rate.
    shrunk: Option<(Plan, f64)>,
    /// Memory limits the bytes in flight.
    full: bool,
    last_change: Time,
    /// Slower windows within this time after the last change do not count as another change.
    change_pause: Duration,
    evidence: Evidence,
}

#[derive(Debug)]
enum Phase {
    /// The plan doubles every round trip until requests queue.
    Start,
    /// The queue is kept at its target.
    Hold,
    /// Few requests are in flight for a moment, to measure the unloaded wall time. Then back to
    /// this plan.
    Drain { back: Plan, loaded: f64, cause: Cause },
    /// Another batch size is compared.
    Trial(Trial),
}

/// Why the unloaded wall time is measured.
#[derive(Clone, Copy, Debug)]
enum Cause {
    /// It was last measured some time ago.
    Due,
    /// The cluster became slower, or another loader started.
    Slower,
    /// The wall time is far above the target.
    Longer,
    /// Fewer requests in flight had a lower rate, so they had not queued.
    NoQueue,
}

/// When something is tried next. The pause grows while nothing comes of it.
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
    /// The plan that was measured.
    plan: Option<Plan>,
    /// The source or the configured rate was the limit.
    source: bool,
    rate: f64,
    growth: f64,
    wall: f64,
    /// The server's part of `wall`.
    took: Option<f64>,
    size: Option<String>,
    loss: Option<String>,
}

impl AutoTuner {
    /// A tuner that starts with a small plan and doubles it.
    pub fn new(bounds: Bounds) -> Self {
        let knobs = Knobs::new(bounds);
        AutoTuner {
            plan: knobs.start(),
            knobs,
            decisions: VecDeque::new(),
            phase: Phase::Start,
            window: Window::new(Time::START),
            settling: None,
            rest_in_flight: None,
            delay: None,
            loss: Loss::new(REJECTED),
            last_end: Time::START,
            stalls: (0.0, Time::START),
            late: false,
            begun: false,
            wall: 0.0,
            body: 0.0,
            rate: None,
            slow_windows: 0,
            jumps: 0,
            smooth: None,
            windows: 0,
            best: None,
            lessened: None,
            share: 1.0,
            drained: Time::START,
            drain: Schedule::new(Duration::from_secs(10), Duration::from_secs(120)),
            resize: Schedule::new(Duration::from_secs(15), Duration::from_secs(240)),
            lessen: Schedule::new(Duration::from_secs(15), Duration::from_secs(240)),
            few_suffice: false,
            few_are_better: false,
            held_rate: 0.0,
            larger_next: true,
            larger_by: 2.0,
            larger_in_vain: false,
            refuses_requests: false,
            depth: 1.0,
            shrunk: None,
            full: false,
            last_change: Time::START,
            change_pause: CHANGE_PAUSE,
            evidence: Evidence::default(),
        }
    }

    /// A tuner that begins with what an earlier load learned.
    pub fn knowing(bounds: Bounds, learned: &Learned) -> Self {
        let mut tuner = AutoTuner::new(bounds);
        tuner.plan = tuner.knobs.within(&learned.plan);
        let Some(unloaded) = learned.unloaded else { return tuner };
        tuner.delay = Some(Delay::known(unloaded));
        tuner.begun = true;
        tuner.phase = Phase::Hold;
        // The earlier load measured and compared not long ago.
        tuner.drain.later(Time::START);
        tuner.resize.later(Time::START);
        tuner
    }

    /// The wall time of an unloaded request, once it is known.
    pub fn unloaded(&self) -> Option<Unloaded> {
        self.delay.map(Delay::line)
    }

    /// Whether the fast start has ended.
    pub fn has_started(&self) -> bool {
        !matches!(self.phase, Phase::Start)
    }

    fn decide(&mut self, now: Time, mut to: Plan, why: String) {
        if to == self.plan {
            self.restart(now);
            return;
        }
        self.decisions.push_back(Decision { at: now, from: self.plan, to, why });
        // Many small requests replace few large ones: the large ones have to return first.
        let tight = self.bytes_in_flight() * 1.5 > self.knobs.limit(self.loss.growth_limit(now));
        let smaller = to.batch_bytes < self.plan.batch_bytes && to.in_flight > self.plan.in_flight;
        let sent_before = self.plan.in_flight;
        self.rest_in_flight = (tight && smaller).then(|| std::mem::replace(&mut to.in_flight, self.plan.in_flight));
        self.plan = to;
        (self.smooth, self.windows) = (None, 0);
        self.window = Window::new(now);
        let at_once = !smaller && matches!(self.phase, Phase::Start | Phase::Drain { .. });
        self.settling = (!at_once).then_some(Settling::new(now, sent_before));
    }

    /// Stores what a window showed of the plan, for [`Tuner::why`]. A window limited by the source,
    /// as at the end of every load, does not replace a better one.
    fn note(&mut self, window: &Window, wall: f64, growth: f64) {
        let source = window.source_was_the_limit();
        if source && self.evidence.plan.is_some() && !self.evidence.source {
            return;
        }
        (self.evidence.plan, self.evidence.source) = (Some(self.plan), source);
        (self.evidence.rate, self.evidence.growth) = (window.rate(), growth);
        (self.evidence.wall, self.evidence.took) = (wall, window.took());
    }

    fn restart(&mut self, now: Time) {
        self.window = Window::new(now);
        (self.settling, self.rest_in_flight) = (None, None);
    }

    fn bytes_in_flight(&self) -> f64 {
        Knobs::bytes_in_flight(&self.plan)
    }

    /// Ends the current experiment. Returns the steady plan.
    fn interrupt(&mut self) -> Plan {
        // Without an answer there is no queue to hold.
        let next = if self.delay.is_some() { Phase::Hold } else { Phase::Start };
        match std::mem::replace(&mut self.phase, next) {
            Phase::Drain { back, .. } => back,
            Phase::Trial(trial) => trial.current,
            Phase::Start | Phase::Hold => {
                Plan { in_flight: self.rest_in_flight.take().unwrap_or(self.plan.in_flight), ..self.plan }
            }
        }
    }

    fn handle_loss(&mut self, now: Time, verdict: loss::Verdict) {
        let compared = matches!(self.phase, Phase::Trial(_));
        let of_smaller = matches!(&self.phase, Phase::Trial(t) if t.better.batch_bytes < t.current.batch_bytes);
        let of_larger = matches!(&self.phase, Phase::Trial(t) if t.better.batch_bytes > t.current.batch_bytes);
        let base = self.interrupt();
        self.resize.later(now);
        (self.rate, self.best) = (None, None);
        let (to, why) = match verdict {
            // A comparison has more in flight than the plan.
            loss::Verdict::Cut { ratio, of } if compared => {
                self.loss.forgive(of_smaller);
                self.larger_in_vain |= of_larger;
                self.refuses_requests |= of == SampleOutcome::Refused && of_smaller;
                (base, format!("{:.1} % of the documents were rejected during the comparison", ratio * 100.0))
            }
            loss::Verdict::Cut { ratio, of } => {
                let (of_items, of_refused) = (of == SampleOutcome::Answered, of == SampleOutcome::Refused);
                if of_items {
                    // A queue counts requests: larger ones carry more through it.
                    self.larger_next = true;
                    if !self.larger_in_vain {
                        self.resize.soon(now + QUEUE_PAUSE);
                    }
                } else if of_refused && !self.refuses_requests {
                    // Memory counts bytes: smaller bodies leave less of it unused.
                    self.larger_next = false;
                    self.resize.soon(now + QUEUE_PAUSE);
                }
                let to = if of_items { self.knobs.more(&base, loss::CUT) } else { self.knobs.scaled(&base, loss::CUT) };
                (to, format!("{:.1} % of the documents were rejected", ratio * 100.0))
            }
            loss::Verdict::Restore { bytes_in_flight, ratio } => {
                let to = self.knobs.scaled(&base, bytes_in_flight / Knobs::bytes_in_flight(&base));
                let why = format!(
                    "fewer bytes in flight did not lower the rejections ({:.1} %): this load does not cause them",
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
}

impl Tuner for AutoTuner {
    fn plan(&self) -> Plan {
        self.plan
    }

    fn steady_plan(&self) -> Plan {
        match &self.phase {
            Phase::Drain { back, .. } => *back,
            Phase::Trial(trial) => self.knobs.within(&trial.current),
            Phase::Start | Phase::Hold => {
                Plan { in_flight: self.rest_in_flight.unwrap_or(self.plan.in_flight), ..self.plan }
            }
        }
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        let late = self.is_late(now, sample);
        // A second late answer right after the first is not a stall: with few requests in flight,
        // every answer of a slow cluster is late.
        let stalled = late && !self.late;
        (self.last_end, self.late) = (now, late);
        if stalled {
            self.stalls = (self.recent_stalls(now) + 1.0, now);
            self.window = Window::new(now);
        }
        if sample.outcome == SampleOutcome::TooLarge {
            let starting = matches!(self.phase, Phase::Start);
            let steady = self.interrupt();
            if starting {
                self.phase = Phase::Start;
            }
            let to = self.knobs.limit_body(&steady, sample.bytes);
            (self.rate, self.best) = (None, None);
            return self.decide(now, to, format!("a body of {} bytes is too large for the server", sample.bytes));
        }
        let bytes_in_flight = self.bytes_in_flight();
        let steady = self.steady_plan();
        let fewest = self.knobs.more(&steady, loss::CUT) == steady;
        if let Some(verdict) = self.loss.handle(now, sample, bytes_in_flight, (self.plan.in_flight, fewest)) {
            return self.handle_loss(now, verdict);
        }
        if let Some(settling) = &mut self.settling {
            if settling.is_in_progress(now, sample) {
                return;
            }
            if let Some(in_flight) = self.rest_in_flight.take() {
                let from = self.plan;
                self.plan.in_flight = in_flight;
                let why = "the larger requests have returned".to_owned();
                self.decisions.push_back(Decision { at: now, from, to: self.plan, why });
                self.settling = Some(Settling::new(now, from.in_flight));
                return;
            }
            return self.restart(now);
        }
        if self.window.add(sample) && self.window_is_complete() {
            self.handle_window(now);
        }
    }

    fn handle_break(&mut self, now: Time) {
        self.last_end = now;
        self.window = Window::new(now);
    }

    fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Hold) && self.settling.is_none()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    fn why(&self) -> String {
        let e = &self.evidence;
        let Some(plan) = e.plan.filter(|_| e.rate > 0.0) else {
            return "the load was too short to tune: these are the initial values".to_owned();
        };
        let took = e.took.map_or(String::new(), |took| format!(", {:.0} of them in the server", took * 1e3));
        let mut why = format!(
            "{} bring {:.1} MB/s; a request takes {:.0} ms{took}, {:.1} times as long as on an idle cluster",
            Knobs::words(&plan),
            e.rate / 1e6,
            e.wall * 1e3,
            e.growth
        );
        if e.source {
            why.push_str("; the source or the configured rate was the limit, not the cluster");
        }
        for more in [&e.size, &e.loss].into_iter().flatten() {
            why.push_str("; ");
            why.push_str(more);
        }
        why
    }
}
