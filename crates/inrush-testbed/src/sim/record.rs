//! The record of a run.

use inrush_core::tune::{Plan, SampleOutcome};

use super::agenda::{Nanos, seconds};
use super::loader::Learnt;
use super::scenario::Scenario;

/// Width of a bin, seconds.
const BIN: f64 = 0.1;

/// The bytes of one loader.
#[derive(Clone, Debug, Default)]
struct Loaded {
    /// Bytes that primaries indexed in each bin, spread over the time that it took.
    bins: Vec<f64>,
    /// Bytes acknowledged before the end.
    acknowledged: f64,
}

/// Documents of one request that a primary indexed. `from`: when it began with them; or when the
/// nodes had finished everything else of this loader, if that was earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    pub(super) loader: usize,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
    pub(super) bytes: f64,
}

/// The record of a run.
#[derive(Clone, Debug)]
pub struct Record {
    loaders: Vec<Loaded>,
    /// Each answered attempt: its time and its latency in seconds, its documents and the rejected
    /// ones.
    attempts: Vec<(f32, f32, u32, u32)>,
    seconds: f64,
    pub(super) reply_bytes: f64,
    pub(super) under_way: usize,
    /// Tasks of tenants after the first 10 s, and the part of them that a full queue rejected.
    pub(super) tenant_tasks: (u64, u64),
    /// Seconds that tasks of tenants took after the first 10 s.
    pub(super) tenant_latencies: Vec<f32>,
    /// Number of changes of plans.
    pub decisions: usize,
    /// The last plan of each controller with its reason.
    pub plans: Vec<(Plan, String)>,
    /// Accepted documents.
    pub docs: u64,
}

impl Record {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let bins = (scenario.seconds / BIN).ceil() as usize;
        let loaded = || Loaded { bins: vec![0.0; bins], acknowledged: 0.0 };
        Record {
            loaders: scenario.loaders.iter().map(|_| loaded()).collect(),
            attempts: Vec::new(),
            seconds: scenario.seconds,
            reply_bytes: scenario.costs.reply_bytes,
            under_way: 0,
            tenant_tasks: (0, 0),
            tenant_latencies: Vec::new(),
            decisions: 0,
            plans: Vec::new(),
            docs: 0,
        }
    }

    pub(super) fn learnt(&mut self, loader: usize, now: Nanos, learnt: &Learnt) {
        let sample = &learnt.sample;
        let (end, wall) = (seconds(now), sample.wall.as_secs_f64());
        if end <= self.seconds && sample.outcome != SampleOutcome::TooLarge && sample.outcome != SampleOutcome::Lost {
            self.attempts.push((end as f32, wall as f32, sample.docs, sample.rejected));
        }
        let loaded = &mut self.loaders[loader];
        if end <= self.seconds {
            loaded.acknowledged += learnt.accepted_bytes;
            self.docs += u64::from(sample.accepted);
        }
    }

    /// A primary indexed documents of a loader.
    pub(super) fn indexed(&mut self, work: &Indexed) {
        spread(&mut self.loaders[work.loader].bins, (seconds(work.from), seconds(work.to)), work.bytes);
    }

    /// Bytes a second of all loaders that the primaries indexed from `from` to `to`, in seconds.
    /// The time of the replies would favour long queues: those that fill before `from` come later.
    pub fn throughput(&self, from: f64, to: f64) -> f64 {
        (0..self.loaders.len()).map(|loader| self.loader_throughput(loader, from, to)).sum()
    }

    /// Indexed bytes a second of one loader, as [`Record::throughput`].
    pub fn loader_throughput(&self, loader: usize, from: f64, to: f64) -> f64 {
        let bins = &self.loaders[loader].bins;
        let (first, end) = ((from / BIN).round() as usize, ((to / BIN).round() as usize).min(bins.len()));
        if first >= end {
            return 0.0;
        }
        bins[first..end].iter().sum::<f64>() / ((end - first) as f64 * BIN)
    }

    /// Bytes a second over the whole run that were acknowledged before its end.
    pub fn whole_run(&self) -> f64 {
        self.loaders.iter().map(|loaded| loaded.acknowledged).sum::<f64>() / self.seconds
    }

    /// Rejected share of the documents sent after `from` seconds, from 0 to 1. Every attempt
    /// counts.
    pub fn rejected_ratio(&self, from: f64) -> f64 {
        let late = self.attempts.iter().filter(|a| f64::from(a.0) >= from);
        let (docs, rejected) = late.fold((0u64, 0u64), |sum, a| (sum.0 + u64::from(a.2), sum.1 + u64::from(a.3)));
        if docs == 0 { 0.0 } else { rejected as f64 / docs as f64 }
    }

    /// Rejected share of the tenants' tasks after the first 10 s, from 0 to 1.
    pub fn tenant_rejected_ratio(&self) -> f64 {
        let (tasks, rejected) = self.tenant_tasks;
        if tasks == 0 { 0.0 } else { rejected as f64 / tasks as f64 }
    }

    /// The quantile (0.99 is the 99th percentile) of the latencies after `from` seconds, in
    /// seconds.
    pub fn latency(&self, quantile: f64, from: f64) -> f64 {
        quantile_of(self.attempts.iter().filter(|a| f64::from(a.0) >= from).map(|a| a.1).collect(), quantile)
    }

    /// The quantile of the time that tasks of tenants took after the first 10 s, seconds; 0 without
    /// tenants.
    pub fn tenant_latency(&self, quantile: f64) -> f64 {
        quantile_of(self.tenant_latencies.clone(), quantile)
    }

    /// Number of answered attempts.
    pub fn requests(&self) -> usize {
        self.attempts.len()
    }
}

fn quantile_of(mut values: Vec<f32>, quantile: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let at = ((values.len() - 1) as f64 * quantile).round() as usize;
    let (_, value, _) = values.select_nth_unstable_by(at, f32::total_cmp);
    f64::from(*value)
}

/// Adds `bytes` evenly to the bins between two times.
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
        assert!((bins[9] - 15.0).abs() < 1e-6, "bytes after the end do not count");
    }
}
