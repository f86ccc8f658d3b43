//! The automatic tuner with a memory: it begins where an earlier load ended, and says what the next
//! load may begin with.

mod check;
mod measured;
mod sums;

use std::collections::VecDeque;

use super::{AutoTuner, Bounds, Decision, Learned, Plan, Recollection, Sample, Tuner};
use crate::time::Time;
use check::{Check, Verdict};
use measured::Measured;

/// An [`AutoTuner`] that begins with what an earlier load learned. The plan stands still until the
/// first requests confirm it, for a few seconds at most. If they contradict it, the tuner begins
/// again as without a memory.
pub struct RememberingTuner {
    inner: AutoTuner,
    bounds: Bounds,
    check: Option<Check>,
    recollection: Option<Recollection>,
    measured: Measured,
    /// The fast start of the inner tuner has ended.
    has_started: bool,
    decisions: VecDeque<Decision>,
}

impl RememberingTuner {
    /// A tuner that begins with `learned`, or without a memory.
    pub fn new(bounds: Bounds, learned: Option<&Learned>) -> Self {
        let learned = learned.filter(|learned| learned.is_sound());
        let inner = match learned {
            Some(learned) => AutoTuner::knowing(bounds, learned),
            None => AutoTuner::new(bounds),
        };
        RememberingTuner {
            check: learned.map(|learned| Check::new(*learned, inner.plan())),
            recollection: learned.map(|_| Recollection::Unchecked),
            measured: Measured::new(inner.plan(), Time::START),
            has_started: inner.has_started(),
            inner,
            bounds,
            decisions: VecDeque::new(),
        }
    }

    /// Ends the check. The first windows of the inner tuner begin now.
    fn checked(&mut self, now: Time, recollection: Recollection) {
        self.check = None;
        if let Recollection::Contradicted(why) = &recollection {
            let from = self.inner.plan();
            self.inner = AutoTuner::new(self.bounds);
            let (to, why) = (self.inner.plan(), format!("what an earlier load learned does not hold: {why}"));
            if from != to {
                self.decisions.push_back(Decision { at: now, from, to, why });
            }
            self.measured = Measured::new(to, now);
            self.has_started = false;
        }
        self.recollection = Some(recollection);
        self.inner.handle_break(now);
    }

    /// Passes a sample to the inner tuner. Returns whether the plan is still the one of the check.
    fn pass(&mut self, now: Time, sample: &Sample) -> bool {
        let before = self.inner.plan();
        self.inner.handle_sample(now, sample);
        self.has_started |= self.inner.has_started();
        self.decisions.extend(std::iter::from_fn(|| self.inner.poll_decision()));
        self.inner.plan() == before
    }
}

impl Tuner for RememberingTuner {
    fn plan(&self) -> Plan {
        self.inner.plan()
    }

    fn steady_plan(&self) -> Plan {
        self.inner.steady_plan()
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        let steady = self.steady_plan();
        self.measured.add(now, sample, (self.plan() == steady).then_some(steady));
        let Some(check) = &mut self.check else {
            self.pass(now, sample);
            return;
        };
        let verdict = check.handle(now, sample);
        // While the plan is checked, only losses change it.
        let trouble = check.is_trouble(sample);
        if trouble && !self.pass(now, sample) && verdict == Verdict::Open {
            return self.checked(now, Recollection::Unchecked);
        }
        match verdict {
            Verdict::Open => {}
            Verdict::Held => self.checked(now, Recollection::Held),
            Verdict::Undecided => self.checked(now, Recollection::Unchecked),
            Verdict::Contradicted(why) => self.checked(now, Recollection::Contradicted(why)),
        }
    }

    fn handle_break(&mut self, now: Time) {
        self.inner.handle_break(now);
        self.measured.handle_break(now);
        if let Some(check) = &mut self.check {
            check.handle_break(now);
        }
    }

    fn is_settled(&self) -> bool {
        self.check.is_none() && self.inner.is_settled()
    }

    fn poll_decision(&mut self) -> Option<Decision> {
        self.decisions.pop_front().or_else(|| self.inner.poll_decision())
    }

    fn why(&self) -> String {
        self.inner.why()
    }

    fn learned(&self) -> Option<Learned> {
        // A plan that is still growing is no beginning for another load.
        let learned = self.measured.learned().filter(|_| self.has_started)?;
        Some(Learned { unloaded: self.inner.unloaded(), ..learned })
    }

    fn recollection(&self) -> Option<&Recollection> {
        self.recollection.as_ref()
    }
}
