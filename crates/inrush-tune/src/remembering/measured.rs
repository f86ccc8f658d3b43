//! What a load measured of its plan.

use super::sums::Sums;
use crate::time::Time;
use crate::{Learned, Plan, Sample};

/// A plan that was measured for less than this time says little, seconds.
const ENOUGH_SECONDS: f64 = 0.4;

/// Measures the steady plan, and keeps that of the plan before until there is enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    current: OfPlan,
    before: Option<OfPlan>,
    /// Seconds of all plans.
    seconds: f64,
    /// When the last sample arrived.
    last: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct OfPlan {
    plan: Plan,
    /// Requests that were sent earlier belong to another plan.
    since: Time,
    seconds: f64,
    sums: Sums,
}

impl OfPlan {
    fn new(plan: Plan, since: Time) -> Self {
        OfPlan { plan, since, seconds: 0.0, sums: Sums::default() }
    }

    fn learned(&self) -> Option<Learned> {
        let learned = Learned {
            plan: self.plan,
            bytes_per_second: self.sums.bytes_per_second(),
            wall_seconds: self.sums.wall_seconds(),
            doc_bytes: self.sums.doc_bytes(),
            rejected: self.sums.rejected(),
            unloaded: None,
            seconds: self.seconds,
            body_bytes_max: None,
            format: None,
        };
        learned.is_sound().then_some(learned)
    }
}

impl Measured {
    pub(super) fn new(plan: Plan, now: Time) -> Self {
        Measured { current: OfPlan::new(plan, now), before: None, seconds: 0.0, last: None }
    }

    /// `steady`: the plan, unless it is an experiment.
    pub(super) fn add(&mut self, now: Time, sample: &Sample, steady: Option<Plan>) {
        let last = self.last.replace(now);
        let Some(plan) = steady else {
            self.current.since = now;
            return;
        };
        if plan != self.current.plan {
            let seconds = self.current.seconds;
            if seconds >= ENOUGH_SECONDS || self.before.is_none_or(|before| before.seconds < seconds) {
                self.before = Some(self.current);
            }
            self.current = OfPlan::new(plan, now);
        }
        if sample.source_limited || sample.sent < self.current.since {
            return;
        }
        let lasted = now.since(last.unwrap_or(sample.sent).max(sample.sent)).as_secs_f64();
        self.current.seconds += lasted;
        self.seconds += lasted;
        self.current.sums.add(sample);
    }

    /// Measurements across this moment are void.
    pub(super) fn handle_break(&mut self, now: Time) {
        self.current.since = now;
        self.last = Some(now);
    }

    /// The plan that was in use last and was measured for long enough, else the current one.
    pub(super) fn learned(&self) -> Option<Learned> {
        let enough = Some(self.current).filter(|current| current.seconds >= ENOUGH_SECONDS);
        let learned = [enough, self.before, Some(self.current)].into_iter().flatten().find_map(|of| of.learned())?;
        Some(Learned { seconds: self.seconds, ..learned })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::SampleOutcome;

    const FIRST: Plan = Plan { batch_bytes: 1000, batch_docs: u32::MAX, in_flight: 2 };
    const SECOND: Plan = Plan { in_flight: 4, ..FIRST };

    fn at(ms: u64) -> Time {
        Time::from_start(Duration::from_millis(ms))
    }

    /// Adds a request of 100 ms that ends then.
    fn add(measured: &mut Measured, ms: u64, plan: Plan) {
        let sample = Sample {
            sent: at(ms - 100),
            wall: Duration::from_millis(100),
            took: None,
            bytes: 1000,
            docs: 10,
            accepted: 10,
            rejected: 0,
            outcome: SampleOutcome::Answered,
            in_flight: plan.in_flight,
            source_limited: false,
            remainder: false,
            node: 0,
        };
        measured.add(at(ms), &sample, Some(plan));
    }

    #[test]
    fn a_plan_counts_when_it_was_measured_for_long_enough() {
        let mut measured = Measured::new(FIRST, Time::START);
        assert_eq!(measured.learned(), None);
        (1..=3).for_each(|n| add(&mut measured, 100 * n, FIRST));
        // The request was sent under the first plan.
        add(&mut measured, 310, SECOND);
        let learned = measured.learned().unwrap();
        assert_eq!((learned.plan, learned.doc_bytes), (FIRST, 100.0));
        assert!((learned.bytes_per_second - 20_000.0).abs() < 1.0, "{learned:?}");
        assert!((learned.seconds - 0.3).abs() < 1e-9, "{learned:?}");
        (5..=9).for_each(|n| add(&mut measured, 100 * n, SECOND));
        assert_eq!(measured.learned().map(|learned| learned.plan), Some(SECOND));
    }
}
