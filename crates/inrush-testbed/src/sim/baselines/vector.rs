//! Adaptive concurrency of Vector: additive increase, multiplicative decrease on latency.

use std::time::Duration;

use inrush_core::time::Time;
use inrush_core::tune::{Decision, Plan, Sample, SampleOutcome, Tuner};

/// src/sinks/util/adaptive_concurrency/mod.rs: the defaults.
const DECREASE_RATIO: f64 = 0.9;
const EWMA_ALPHA: f64 = 0.4;
const RTT_DEVIATION_SCALE: f64 = 2.5;
const MAX_CONCURRENCY: u32 = 200;

/// src/sinks/util/adaptive_concurrency/controller.rs. Once a mean round trip the limit rises by 1
/// if it was reached and the round trip is not above its moving mean. It falls to 0.9 on
/// back-pressure, or if the round trip is above the mean and 2.5 deviations. Rejected items are not
/// back-pressure.
#[derive(Debug)]
pub(super) struct Vector {
    plan: Plan,
    mean: Option<f64>,
    variance: f64,
    next_update: Time,
    rtt_sum: f64,
    rtt_count: u32,
    reached_limit: bool,
    back_pressure: bool,
    decisions: Vec<Decision>,
}

impl Vector {
    pub(super) fn new(plan: Plan) -> Self {
        Vector {
            plan,
            mean: None,
            variance: 0.0,
            next_update: Time::START,
            rtt_sum: 0.0,
            rtt_count: 0,
            reached_limit: false,
            back_pressure: false,
            decisions: Vec::new(),
        }
    }

    fn update(&mut self, now: Time) {
        let current = (self.rtt_count > 0).then(|| self.rtt_sum / f64::from(self.rtt_count));
        if let (Some(current), Some(mean)) = (current, self.mean) {
            let from = self.plan;
            let limit = &mut self.plan.in_flight;
            let threshold = mean + self.variance.sqrt() * RTT_DEVIATION_SCALE;
            if *limit < MAX_CONCURRENCY && self.reached_limit && !self.back_pressure && current <= mean {
                *limit += 1;
            } else if *limit > 1 && (self.back_pressure || current >= threshold) {
                *limit = ((f64::from(*limit) * DECREASE_RATIO) as u32).max(1);
            }
            if self.plan != from {
                let why = format!("round trip {current:.3} s, mean {mean:.3} s");
                self.decisions.push(Decision { at: now, from, to: self.plan, why });
            }
        }
        if let Some(current) = current {
            // EwmaVar of src/stats.rs in vector-common: incremental variance of Finch 2009.
            match &mut self.mean {
                None => self.mean = Some(current),
                Some(mean) => {
                    let diff = current - *mean;
                    *mean += EWMA_ALPHA * diff;
                    self.variance = (1.0 - EWMA_ALPHA) * (self.variance + diff * EWMA_ALPHA * diff);
                }
            }
        }
        self.next_update = now + Duration::from_secs_f64(self.mean.unwrap_or(0.0));
        (self.rtt_sum, self.rtt_count) = (0.0, 0);
        (self.reached_limit, self.back_pressure) = (false, false);
    }
}

impl Tuner for Vector {
    fn plan(&self) -> Plan {
        self.plan
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        self.reached_limit |= sample.in_flight >= self.plan.in_flight;
        match sample.outcome {
            SampleOutcome::Answered => {
                self.rtt_sum += sample.wall.as_secs_f64();
                self.rtt_count += 1;
            }
            SampleOutcome::Refused | SampleOutcome::Lost => self.back_pressure = true,
            SampleOutcome::TooLarge => {}
        }
        if now >= self.next_update {
            self.update(now);
        }
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        (!self.decisions.is_empty()).then(|| self.decisions.remove(0))
    }

    fn why(&self) -> String {
        format!("a mean round trip of {:.3} s", self.mean.unwrap_or(0.0))
    }
}
