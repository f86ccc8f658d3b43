//! What came of a run.

use inrush_core::tune::{Outcome, Plan};

use super::agenda::{Nanos, seconds};
use super::loader::Learnt;
use super::scenario::Scenario;

/// Width of a bin, seconds.
const BIN: f64 = 0.1;

/// What a loader got in.
#[derive(Clone, Debug, Default)]
struct Loaded {
    /// Accepted bytes in each bin, those of an answer spread over the time since the answer before.
    bins: Vec<f64>,
    /// When the last answer came that got something in, seconds.
    last: f64,
    /// Accepted bytes that were acknowledged before the end.
    acknowledged: f64,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Record {
    loaders: Vec<Loaded>,
    /// Each attempt that was answered: when, how long it took, seconds, its documents and those that were rejected.
    attempts: Vec<(f32, f32, u32, u32)>,
    seconds: f64,
    pub(super) reply_bytes: f64,
    pub(super) under_way: usize,
    /// Tasks of tenants after the first 10 s, and those of them that found a queue full.
    pub(super) tenant_tasks: (u64, u64),
    /// Changes of plans.
    pub decisions: usize,
    /// What each controller ended on, and why.
    pub plans: Vec<(Plan, String)>,
    /// Documents accepted, and attempts.
    pub docs: u64,
}

impl Record {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let bins = (scenario.seconds / BIN).ceil() as usize;
        let loaded = |start| Loaded { bins: vec![0.0; bins], last: start, acknowledged: 0.0 };
        Record {
            loaders: scenario.loaders.iter().map(|loader| loaded(loader.start_seconds)).collect(),
            attempts: Vec::new(),
            seconds: scenario.seconds,
            reply_bytes: scenario.costs.reply_bytes,
            under_way: 0,
            tenant_tasks: (0, 0),
            decisions: 0,
            plans: Vec::new(),
            docs: 0,
        }
    }

    pub(super) fn learnt(&mut self, loader: usize, now: Nanos, learnt: &Learnt) {
        let sample = &learnt.sample;
        let (end, wall) = (seconds(now), sample.wall.as_secs_f64());
        if end <= self.seconds && sample.outcome != Outcome::TooLarge && sample.outcome != Outcome::Lost {
            self.attempts.push((end as f32, wall as f32, sample.docs, sample.rejected));
        }
        let loaded = &mut self.loaders[loader];
        if end <= self.seconds {
            loaded.acknowledged += learnt.accepted_bytes;
            self.docs += u64::from(sample.accepted);
        }
        if learnt.accepted_bytes > 0.0 {
            spread(&mut loaded.bins, (loaded.last, end), learnt.accepted_bytes);
            loaded.last = end;
        }
    }

    /// Accepted bytes a second of all loaders from `from` to `to`, seconds. What an answer acknowledges counts evenly over the
    /// time since the answer before, so that it does not matter at which side of an edge a large request ends.
    pub fn throughput(&self, from: f64, to: f64) -> f64 {
        (0..self.loaders.len()).map(|loader| self.loader_throughput(loader, from, to)).sum()
    }

    /// The same of one loader.
    pub fn loader_throughput(&self, loader: usize, from: f64, to: f64) -> f64 {
        let bins = &self.loaders[loader].bins;
        let (first, end) = ((from / BIN).round() as usize, ((to / BIN).round() as usize).min(bins.len()));
        if first >= end {
            return 0.0;
        }
        bins[first..end].iter().sum::<f64>() / ((end - first) as f64 * BIN)
    }

    /// Accepted bytes a second over the whole run, counting only what was acknowledged before its end.
    pub fn whole_run(&self) -> f64 {
        self.loaders.iter().map(|loaded| loaded.acknowledged).sum::<f64>() / self.seconds
    }

    /// The part of the documents sent after `from` seconds that was rejected, every attempt counted.
    pub fn rejected_ratio(&self, from: f64) -> f64 {
        let late = self.attempts.iter().filter(|a| f64::from(a.0) >= from);
        let (docs, rejected) = late.fold((0u64, 0u64), |sum, a| (sum.0 + u64::from(a.2), sum.1 + u64::from(a.3)));
        if docs == 0 { 0.0 } else { rejected as f64 / docs as f64 }
    }

    /// The part of the tenants' tasks that was rejected after the first 10 s.
    pub fn tenant_rejected_ratio(&self) -> f64 {
        let (tasks, rejected) = self.tenant_tasks;
        if tasks == 0 { 0.0 } else { rejected as f64 / tasks as f64 }
    }

    /// The latency that so many of 1 (0.99: 99 %) of the attempts answered after `from` seconds stayed below, seconds.
    pub fn latency(&self, quantile: f64, from: f64) -> f64 {
        let mut walls: Vec<f32> = self.attempts.iter().filter(|a| f64::from(a.0) >= from).map(|a| a.1).collect();
        if walls.is_empty() {
            return 0.0;
        }
        let at = ((walls.len() - 1) as f64 * quantile).round() as usize;
        let (_, wall, _) = walls.select_nth_unstable_by(at, f32::total_cmp);
        f64::from(*wall)
    }

    /// Attempts that were answered.
    pub fn requests(&self) -> usize {
        self.attempts.len()
    }
}

/// Adds `bytes` evenly to the bins between two moments.
fn spread(bins: &mut [f64], (from, to): (f64, f64), bytes: f64) {
    let first = (from / BIN) as usize;
    let last = (to / BIN) as usize;
    if first == last || to <= from {
        if let Some(bin) = bins.get_mut(last) {
            *bin += bytes;
        }
        return;
    }
    let rate = bytes / (to - from);
    for (at, bin) in bins.iter_mut().enumerate().take(last + 1).skip(first) {
        let start = from.max(at as f64 * BIN);
        let end = to.min((at + 1) as f64 * BIN);
        *bin += rate * (end - start).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn spreading_keeps_the_sum() {
        let mut bins = vec![0.0; 10];
        spread(&mut bins, (0.05, 0.95), 90.0);
        assert!((bins.iter().sum::<f64>() - 90.0).abs() < 1e-9);
        assert!((bins[0] - 5.0).abs() < 1e-9 && (bins[5] - 10.0).abs() < 1e-9);
        spread(&mut bins, (0.9, 1.1), 20.0);
        assert!((bins[9] - 15.0).abs() < 1e-6, "what lies behind the end is not counted");
    }
}
