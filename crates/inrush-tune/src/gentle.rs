//! The tuner for `--gentle`: as much as limits on wall time and rejections allow, and not more.

use std::collections::VecDeque;
use std::time::Duration;

use super::chance::Scatter;
use super::knobs::Knobs;
use super::settling::Settling;
use super::window::Window;
use super::{Bounds, Decision, Plan, Sample, SampleOutcome, Tuner};
use crate::time::Time;

/// Limits that take precedence over throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gentle {
    /// The largest mean wall time of a request, as a multiple of the wall time of a single request
    /// with nothing else of this load in flight. Above 1. Default 1.3.
    pub latency_growth: f64,
}

impl Default for Gentle {
    fn default() -> Self {
        Gentle { latency_growth: 1.3 }
    }
}

/// How long a single request may keep the server busy, seconds; if the server does not report it,
/// how long the request may take. A large one holds a thread that searches wait for.
const ALONE_SECONDS: f64 = 0.1;
/// The plan grows only while less than this part of the allowed growth is used.
const ROOM: f64 = 0.5;
/// The plan shrinks as soon as more than this part of the allowed growth is used: the mean has to
/// stay below the limit.
const SPENT: f64 = 0.85;
/// The interval between measurements of a single request: short after the start, then longer.
const ALONE_FIRST: Duration = Duration::from_secs(10);
const ALONE_LONGEST: Duration = Duration::from_secs(60);
/// The pause before a limit that was met is tried again; it doubles each time.
const RETRY_FIRST: Duration = Duration::from_secs(15);
const RETRY_LONGEST: Duration = Duration::from_secs(600);
/// A rejection is stronger evidence than a wall time.
const RETRY_REJECTED: Duration = Duration::from_secs(60);
/// Rejections with one request in flight (or with the fewest that the bounds allow) are not caused
/// by this load. For this time single rejections change nothing, but the plan does not grow in a
/// window that has some.
const AMBIENT: Duration = Duration::from_secs(60);
/// Largest part of rejected documents. Full queues delay other clients, also where this load did
/// not fill them. Documents that chance rejects do not count, up to the second part.
const REJECTED_MOST: f64 = 0.01;
const CHANCE_MOST: f64 = 0.12;
/// A window may have this multiple of what chance rejects on average.
const CHANCE_SWING: f64 = 1.5;

/// Keeps the mean wall time below a limit. It measures a single request, adds requests step by step
/// while there is room, removes some at once when there is not, and remembers that number.
pub struct GentleTuner {
    knobs: Knobs,
    bound: f64,
    plan: Plan,
    decisions: VecDeque<Decision>,
    window: Window,
    settling: Option<Settling>,
    last_end: Time,
    /// The wall time of a single request, seconds.
    alone: Option<f64>,
    /// While a single request is measured: the number of requests to return to.
    back: Option<u32>,
    measure_at: Time,
    measure_after: Duration,
    /// This number of requests was too high, until the given time.
    ceiling: Option<(u32, Time)>,
    retry_after: Duration,
    ambient_until: Time,
    /// How rejected documents are spread over the requests.
    scatter: Scatter,
    why: String,
}

impl GentleTuner {
    /// A tuner that starts with one request.
    pub fn new(bounds: Bounds, gentle: Gentle) -> Self {
        let knobs = Knobs::new(bounds);
        let start = knobs.start();
        GentleTuner {
            plan: knobs.with_in_flight(&start, 1),
            knobs,
            bound: gentle.latency_growth.max(1.0),
            decisions: VecDeque::new(),
            window: Window::new(Time::START),
            settling: None,
            last_end: Time::START,
            alone: None,
            back: Some(1),
            measure_at: Time::START,
            measure_after: ALONE_FIRST,
            ceiling: None,
            retry_after: RETRY_FIRST,
            ambient_until: Time::START,
            scatter: Scatter::default(),
            why: "the load was too short to tune: these are the initial values".to_owned(),
        }
    }

    fn decide(&mut self, now: Time, to: Plan, why: String) {
        self.window = Window::new(now);
        self.settling = None;
        if to != self.plan {
            self.settling = Some(Settling::new(now, self.plan.in_flight));
            self.decisions.push_back(Decision { at: now, from: self.plan, to, why });
            self.plan = to;
        }
    }

    /// Moves to this number of requests, as far as the bounds allow.
    fn go_to(&mut self, now: Time, in_flight: u32, why: String) {
        self.decide(now, self.knobs.with_in_flight(&self.plan, in_flight), why);
    }

    fn too_many(&mut self, now: Time, least: Duration) {
        let known = self.ceiling.is_some_and(|(ceiling, _)| self.plan.in_flight >= ceiling);
        self.retry_after = if known { (self.retry_after * 2).min(RETRY_LONGEST) } else { RETRY_FIRST }.max(least);
        self.ceiling = Some((self.plan.in_flight, now + self.retry_after));
    }

    /// The part of the documents that chance rejects, 0 if none is known.
    fn chance(&self) -> f64 {
        self.scatter.chance().filter(|&part| part < CHANCE_MOST).unwrap_or(0.0)
    }

    fn learn_chance(&mut self, sample: &Sample) {
        if sample.outcome != SampleOutcome::Answered {
            return;
        }
        let known = self.chance() > 0.0;
        self.scatter.add(sample.docs, sample.rejected);
        if !known && self.chance() > 0.0 {
            // What chance rejected is no limit.
            (self.ceiling, self.retry_after) = (None, RETRY_FIRST);
        }
    }

    /// Whether no more was rejected in the window than for reasons that are not this load.
    fn is_clean(&self, now: Time, window: &Window) -> bool {
        match self.chance() {
            chance if chance > 0.0 || now < self.ambient_until => window.is_clean(CHANCE_SWING * chance),
            _ => window.rejected_ratio() == 0.0,
        }
    }

    /// Takes a rejection. Returns whether the plan changed.
    fn handle_rejection(&mut self, now: Time) -> bool {
        // Where chance rejects documents, windows decide.
        if self.chance() > 0.0 {
            return false;
        }
        if self.plan == self.knobs.with_in_flight(&self.plan, 1) {
            self.ambient_until = now + AMBIENT;
        }
        if now < self.ambient_until {
            return false;
        }
        self.take_back(now);
        true
    }

    /// Halves the requests in flight after documents were rejected.
    fn take_back(&mut self, now: Time) {
        self.too_many(now, RETRY_REJECTED);
        self.back = None;
        let why = format!("documents were rejected with {}", Knobs::words(&self.plan));
        self.why.clone_from(&why);
        self.go_to(now, self.plan.in_flight / 2, why);
    }

    /// Takes the measurement of a single request.
    fn measured(&mut self, now: Time, wall: f64, back: u32) {
        // Over a long distance a smaller request would take as long.
        let busy = self.window.took().unwrap_or(wall);
        let smaller = self.knobs.sized(&self.plan, (ALONE_SECONDS / busy).min(1.0));
        if self.alone.is_none() && smaller != self.plan {
            return self.decide(
                now,
                smaller,
                format!("a single request takes {:.0} ms: make requests smaller", wall * 1e3),
            );
        }
        self.alone = Some(wall);
        self.back = None;
        self.measure_at = now + self.measure_after;
        self.measure_after = (self.measure_after * 2).min(ALONE_LONGEST);
        self.go_to(now, back, format!("a single request takes {:.0} ms", wall * 1e3));
    }

    fn handle_window(&mut self, now: Time) {
        let window = self.window;
        let clean = self.is_clean(now, &window);
        if !clean && window.rejected_ratio() > REJECTED_MOST && self.plan != self.knobs.with_in_flight(&self.plan, 1) {
            return self.take_back(now);
        }
        let Some(wall) = window.wall() else { return self.decide(now, self.plan, String::new()) };
        let n = self.plan.in_flight;
        if !window.accepted() {
            return self.decide(now, self.plan, String::new());
        }
        let (Some(alone), None) = (self.alone, self.back) else {
            return self.measured(now, wall, self.back.unwrap_or(n));
        };
        if now >= self.measure_at && n == 1 {
            return self.measured(now, wall, n);
        }
        let growth = wall / alone;
        self.why = format!(
            "{} bring {:.1} MB/s; a request takes {:.0} ms, {growth:.2} times as long as a single one; the limit is {:.2}",
            Knobs::words(&self.plan),
            window.rate() / 1e6,
            wall * 1e3,
            self.bound
        );
        let part = (growth - 1.0) / (self.bound - 1.0).max(1e-3);
        if now >= self.measure_at && n > 1 {
            self.back = Some(n);
            return self.go_to(now, 1, "measure how long a single request takes".to_owned());
        }
        if part > SPENT && n > 1 {
            self.too_many(now, Duration::ZERO);
            let wanted = f64::from(n) * (1.0 + ROOM * (self.bound - 1.0)) / growth;
            let why = format!("a request takes {growth:.2} times as long as a single one");
            return self.go_to(now, (wanted as u32).clamp(1, n - 1), why);
        }
        // Requests that wait for a retry are in use.
        let used = window.in_flight() > 0.8 * f64::from(n) || window.rejected_ratio() > 0.0;
        let used = used && !window.source_was_the_limit();
        if part < ROOM && used && clean {
            // The step shrinks towards the limit.
            let step = f64::from(n) * (self.bound - 1.0).min(1.0) * (1.0 - part.max(0.0));
            let wanted = n + (step as u32).max(1);
            let to = match self.ceiling {
                Some((ceiling, until)) if now < until => wanted.min(ceiling - 1),
                _ => wanted,
            };
            if to > n {
                return self.go_to(now, to, format!("below the limit: {growth:.2} times as long as a single one"));
            }
        }
        self.decide(now, self.plan, String::new());
    }

    fn window_is_complete(&self) -> bool {
        let lasted = self.last_end.since(self.window.from());
        self.window.samples() >= (3 * self.plan.in_flight).max(12) && lasted >= Duration::from_millis(500)
    }
}

impl Tuner for GentleTuner {
    fn plan(&self) -> Plan {
        self.plan
    }

    fn steady_plan(&self) -> Plan {
        self.back.map_or(self.plan, |back| self.knobs.with_in_flight(&self.plan, back))
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        self.last_end = now;
        if sample.outcome == SampleOutcome::TooLarge {
            self.alone = None;
            self.back.get_or_insert(self.plan.in_flight);
            let smaller = self.knobs.limit_body(&self.plan, sample.bytes);
            let alone = self.knobs.with_in_flight(&smaller, 1);
            return self.decide(now, alone, format!("a body of {} bytes is too large for the server", sample.bytes));
        }
        self.learn_chance(sample);
        let settling = self.settling.as_mut().is_some_and(|settling| settling.is_in_progress(now, sample));
        let rejected = sample.rejected > 0 || matches!(sample.outcome, SampleOutcome::Refused | SampleOutcome::Lost);
        // A request of the last plan says nothing about this one.
        if rejected && sample.sent >= self.window.from() && self.handle_rejection(now) {
            return;
        }
        if settling {
            return;
        }
        if self.settling.take().is_some() {
            self.window = Window::new(now);
            return;
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
        self.back.is_none() && self.settling.is_none()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front()
    }

    fn why(&self) -> String {
        self.why.clone()
    }
}
