//! The comparison of a run with the best fixed setting.

use serde::Serialize;

use super::record::Record;
use super::scenario::{START_SECONDS, Scenario};
use super::yardstick::{Cell, PhaseReference, REJECTED_MORE, Reference};

/// Share of the best throughput at which a run has settled.
const SETTLED: f64 = 0.9;

/// Window in which a run has to settle, seconds.
const SETTLE_WINDOW: f64 = 2.0;

/// The figures of a run. Throughputs are accepted bytes a second.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the controller.
    pub controller: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Throughput over the whole run, acknowledged before its end.
    pub throughput: f64,
    /// Throughput after the first 10 s of the best cell among those that reject at most 1 % of the
    /// documents more than this run.
    pub best_fixed: f64,
    /// The best cell.
    pub best_cell: Cell,
    /// Throughput after the first 10 s, divided by that of the best cell.
    pub ratio: f64,
    /// Throughput over the whole run, divided by the best one of any cell.
    pub whole_run_ratio: f64,
    /// Rejected share of the documents after the first 10 s, from 0 to 1. Every attempt counts.
    pub rejected_ratio: f64,
    /// Rejected share of the best cell.
    pub best_rejected_ratio: f64,
    /// Longest time after a change until the throughput was 90 % of that of the phase's best cell,
    /// seconds. Without a change, the time after the start.
    pub settle_seconds: f64,
    /// Rejected share of the tenants' tasks after the first 10 s; `None` without tenants.
    pub tenant_rejected_ratio: Option<f64>,
    /// 99th percentile of the time that tasks of tenants took after the first 10 s, milliseconds;
    /// `None` without tenants.
    pub tenant_p99_ms: Option<f64>,
    /// 99th percentile of the latencies after the first 10 s, milliseconds.
    pub p99_latency_ms: f64,
    /// 99th percentile of the best cell.
    pub best_p99_latency_ms: f64,
    /// Jain's index of the loaders' throughputs; `None` for one loader.
    pub fairness: Option<f64>,
    /// The smallest part that a judged loader, and a rival, got of its fair share: of what it gets
    /// alone or of an equal part of all, whichever is less. `None` for one loader or no rival.
    pub least_shares: Option<(f64, f64)>,
    /// Throughput of all loaders, divided by that of one alone; `None` for one loader.
    pub total_to_one: Option<f64>,
    /// The phases between changes.
    pub phases: Vec<Phase>,
    /// Number of answered requests.
    pub requests: usize,
    /// Number of changes of plans.
    pub decisions: usize,
    /// Last plan of the first loader.
    pub plan: Cell,
    /// Reason of that plan.
    pub why: String,
}

/// A phase: the time between two changes.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// The best cell of this phase.
    #[serde(flatten)]
    pub best: PhaseReference,
    /// Throughput of the run, divided by that of the best cell.
    pub ratio: f64,
    /// Time until 90 % of the best cell, seconds; the whole phase if the run did not settle.
    pub settle_seconds: f64,
}

/// Judges a run. `alone` are runs of each loader alone, for scenarios with several loaders; the
/// first is enough where there is no rival.
pub fn judge(
    scenario: &Scenario,
    controller: &str,
    seed: u64,
    (run, alone): (&Record, &[Record]),
    reference: &Reference,
) -> Judgement {
    let phases: Vec<Phase> = reference.phases.iter().map(|best| phase(run, best)).collect();
    // A scenario has at least one loader.
    let (plan, why) = &run.plans[0];
    let (from, to) = shared_time(scenario);
    let rejected = run.rejected_ratio(START_SECONDS);
    let best = reference.best_within(rejected + REJECTED_MORE);
    let best_fixed = best.map_or(reference.steady, |best| best.steady);
    let whole_run = reference.best_whole_run_within(rejected + REJECTED_MORE);
    let several = alone.first().filter(|_| scenario.loaders.len() > 1);
    Judgement {
        scenario: scenario.name.clone(),
        controller: controller.to_owned(),
        seed,
        throughput: run.whole_run(),
        best_fixed,
        best_cell: best.map_or(reference.cell, |best| best.cell),
        ratio: run.throughput(START_SECONDS, scenario.seconds) / best_fixed,
        whole_run_ratio: run.whole_run() / whole_run,
        rejected_ratio: rejected,
        best_rejected_ratio: best.map_or(reference.rejected, |best| best.rejected),
        tenant_p99_ms: (!scenario.tenants.is_empty()).then(|| run.tenant_latency(0.99) * 1000.0),
        tenant_rejected_ratio: (!scenario.tenants.is_empty()).then(|| run.tenant_rejected_ratio()),
        settle_seconds: phases
            .iter()
            .skip(usize::from(phases.len() > 1))
            .map(|phase| phase.settle_seconds)
            .fold(0.0, f64::max),
        p99_latency_ms: run.latency(0.99, START_SECONDS) * 1000.0,
        best_p99_latency_ms: best.map_or(reference.p99_latency, |best| best.p99_latency) * 1000.0,
        fairness: several.map(|_| fairness(scenario, run)),
        least_shares: least_shares(scenario, run, alone),
        total_to_one: several.map(|alone| run.throughput(from, to) / alone.throughput(from, to)),
        phases,
        requests: run.requests(),
        decisions: run.decisions,
        plan: Cell { batch_bytes: plan.batch_bytes, in_flight: plan.in_flight },
        why: why.clone(),
    }
}

fn phase(run: &Record, best: &PhaseReference) -> Phase {
    Phase {
        ratio: run.throughput(best.from, best.to) / best.steady,
        settle_seconds: settle_seconds(run, best.from, best.to, best.steady * SETTLED),
        best: best.clone(),
    }
}

/// Time until a window of the run, and the rest of the phase after it, reach `enough`.
fn settle_seconds(run: &Record, from: f64, to: f64, enough: f64) -> f64 {
    let window = SETTLE_WINDOW.min(to - from);
    let mut at = from;
    while at + window <= to {
        if run.throughput(at, at + window) >= enough && run.throughput(at, to) >= enough {
            return at - from;
        }
        at += 0.1;
    }
    to - from
}

/// The time in which all loaders run: from 10 s after the start of the last to the end of the
/// first.
fn shared_time(scenario: &Scenario) -> (f64, f64) {
    let from = scenario.loaders.iter().map(|l| l.start_seconds).fold(0.0, f64::max) + START_SECONDS;
    let to = scenario.loaders.iter().filter_map(|l| l.end_seconds).fold(scenario.seconds, f64::min);
    (from, to)
}

/// Jain's index of the loaders while all of them run. A loader that its source or its processor
/// limits is left out if at least two others remain.
fn fairness(scenario: &Scenario, run: &Record) -> f64 {
    let (from, to) = shared_time(scenario);
    let rates = |all: bool| -> Vec<f64> {
        let loaders = scenario.loaders.iter().enumerate();
        let free = loaders.filter(|(_, l)| all || (l.source_mb_per_second, l.cpu_mb_per_second) == (None, None));
        free.map(|(loader, _)| run.loader_throughput(loader, from, to)).collect()
    };
    let free = rates(false);
    let rates = if free.len() < 2 { rates(true) } else { free };
    let squares = rates.iter().map(|rate| rate * rate).sum::<f64>();
    if squares == 0.0 { 0.0 } else { rates.iter().sum::<f64>().powi(2) / (squares * rates.len() as f64) }
}

/// See [`Judgement::least_shares`].
fn least_shares(scenario: &Scenario, run: &Record, alone: &[Record]) -> Option<(f64, f64)> {
    if !scenario.loaders.iter().any(|loader| loader.rival.is_some()) || alone.len() < scenario.loaders.len() {
        return None;
    }
    let (from, to) = shared_time(scenario);
    let equal = run.throughput(from, to) / scenario.loaders.len() as f64;
    let (mut own, mut rivals) = (f64::INFINITY, f64::INFINITY);
    for (number, loader) in scenario.loaders.iter().enumerate() {
        let share = run.loader_throughput(number, from, to) / equal.min(alone[number].throughput(from, to));
        let least = if loader.rival.is_some() { &mut rivals } else { &mut own };
        *least = least.min(share);
    }
    Some((own, rivals))
}
