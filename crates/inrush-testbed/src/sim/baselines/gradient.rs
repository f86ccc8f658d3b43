//! Gradient2 of Netflix's concurrency-limits.

use std::time::Duration;

use inrush_core::time::Time;
use inrush_core::tune::{Decision, Plan, Sample, SampleOutcome, Tuner};

/// limit/Gradient2Limit.java: the builder's defaults.
const LIMITS: (f64, f64) = (20.0, 200.0);
const SMOOTHING: f64 = 0.2;
const QUEUE_SIZE: f64 = 4.0;
const LONG_WINDOW: f64 = 600.0;
const WARM_UP_WINDOW: u32 = 10;
const RTT_TOLERANCE: f64 = 1.5;

/// limit/WindowedLimit.java: the builder's defaults.
const WINDOW: Duration = Duration::from_secs(1);
const WINDOW_SAMPLES: u32 = 10;

/// Once a window, the limit becomes `limit x clamp(tolerance x long / short, 0.5, 1) + queue`,
/// smoothed. It stays while less than half of it is used.
#[derive(Debug)]
pub(super) struct Gradient2 {
    plan: Plan,
    limit: f64,
    long_rtt: f64,
    long_count: u32,
    next_update: Time,
    rtt_sum: f64,
    rtt_count: u32,
    in_flight_max: u32,
    decisions: Vec<Decision>,
}

impl Gradient2 {
    pub(super) fn new(plan: Plan) -> Self {
        Gradient2 {
            limit: f64::from(plan.in_flight),
            plan,
            long_rtt: 0.0,
            long_count: 0,
            next_update: Time::START + WINDOW,
            rtt_sum: 0.0,
            rtt_count: 0,
            in_flight_max: 0,
            decisions: Vec::new(),
        }
    }

    fn update(&mut self, now: Time) {
        let short = self.rtt_sum / f64::from(self.rtt_count);
        self.add_long(short);
        if self.long_rtt / short > 2.0 {
            self.long_rtt *= 0.95;
        }
        let used = self.in_flight_max;
        (self.rtt_sum, self.rtt_count, self.in_flight_max) = (0.0, 0, 0);
        self.next_update = now + WINDOW;
        if f64::from(used) < self.limit / 2.0 {
            return;
        }
        let gradient = (RTT_TOLERANCE * self.long_rtt / short).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + QUEUE_SIZE;
        self.limit = (self.limit * (1.0 - SMOOTHING) + wanted * SMOOTHING).clamp(LIMITS.0, LIMITS.1);
        let to = Plan { in_flight: self.limit as u32, ..self.plan };
        if to != self.plan {
            let why = format!("round trip {short:.3} s, long mean {:.3} s", self.long_rtt);
            self.decisions.push(Decision { at: now, from: self.plan, to, why });
            self.plan = to;
        }
    }

    /// measurement/ExpAvgMeasurement.java: a plain mean for the first samples.
    fn add_long(&mut self, rtt: f64) {
        if self.long_count < WARM_UP_WINDOW {
            let count = f64::from(self.long_count);
            self.long_rtt = (self.long_rtt * count + rtt) / (count + 1.0);
            self.long_count += 1;
        } else {
            let factor = 2.0 / (LONG_WINDOW + 1.0);
            self.long_rtt = self.long_rtt * (1.0 - factor) + rtt * factor;
        }
    }
}

impl Tuner for Gradient2 {
    fn plan(&self) -> Plan {
        self.plan
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        if sample.outcome != SampleOutcome::Answered {
            return;
        }
        self.rtt_sum += sample.wall.as_secs_f64();
        self.rtt_count += 1;
        self.in_flight_max = self.in_flight_max.max(sample.in_flight);
        if now >= self.next_update && self.rtt_count >= WINDOW_SAMPLES {
            self.update(now);
        }
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        (!self.decisions.is_empty()).then(|| self.decisions.remove(0))
    }

    fn why(&self) -> String {
        format!("a long mean round trip of {:.3} s", self.long_rtt)
    }
}
