//! Holds a run against the best fixed setting.

use serde::Serialize;

use super::record::Record;
use super::scenario::Scenario;
use super::yardstick::{Cell, PhaseReference, Reference, START_SECONDS};

/// Of the best that counts as having settled.
const SETTLED: f64 = 0.9;

/// Over how long it is looked whether a run has settled, seconds.
const SETTLE_WINDOW: f64 = 2.0;

/// What is printed of a run. Throughputs are accepted bytes a second.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Of the scenario.
    pub scenario: String,
    /// Its name.
    pub controller: String,
    /// What all random numbers follow from.
    pub seed: u64,
    /// Acknowledged over the whole run.
    pub throughput: f64,
    /// The best cell's after the first 10 s.
    pub best_fixed: f64,
    /// Which that is.
    pub best_cell: Cell,
    /// This run's to the best cell's after the first 10 s.
    pub ratio: f64,
    /// This run's to the best cell's over the whole run, each counting what was acknowledged.
    pub whole_run_ratio: f64,
    /// The part of the documents that was rejected after the first 10 s, every attempt counted.
    pub rejected_ratio: f64,
    /// The same of the best cell.
    pub best_rejected_ratio: f64,
    /// The longest that it took after a change until throughput was 90 % of what the best cell of the phase reaches; where nothing changes, after
    /// the start.
    pub settle_seconds: f64,
    /// The part of the tenants' tasks that was rejected after the first 10 s, where there are tenants.
    pub tenant_rejected_ratio: Option<f64>,
    /// The 99th percentile after the first 10 s, milliseconds.
    pub p99_latency_ms: f64,
    /// The same of the best cell.
    pub best_p99_latency_ms: f64,
    /// Jain's index over the loaders.
    pub fairness: Option<f64>,
    /// All loaders' throughput together to that of one alone.
    pub total_to_one: Option<f64>,
    /// From change to change.
    pub phases: Vec<Phase>,
    /// Requests that were answered.
    pub requests: usize,
    /// Changes of plans.
    pub decisions: usize,
    /// The first loader's, in the end.
    pub plan: Cell,
    /// What it was based on.
    pub why: String,
}

/// The time between two changes.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// The best cell of this phase.
    #[serde(flatten)]
    pub best: PhaseReference,
    /// Of the run, to that.
    pub ratio: f64,
    /// How long it took to 90 %; the whole phase where it did not get there.
    pub settle_seconds: f64,
}

/// Judges a run. `alone`: the same controller with only the first loader, where there are several.
pub fn judge(
    scenario: &Scenario,
    controller: &str,
    seed: u64,
    (run, alone): (&Record, Option<&Record>),
    reference: &Reference,
) -> Judgement {
    let phases: Vec<Phase> = reference.phases.iter().map(|best| phase(run, best)).collect();
    // A scenario has at least one loader.
    let (plan, why) = &run.plans[0];
    let (from, to) = shared_time(scenario);
    Judgement {
        scenario: scenario.name.clone(),
        controller: controller.to_owned(),
        seed,
        throughput: run.whole_run(),
        best_fixed: reference.steady,
        best_cell: reference.cell,
        ratio: run.throughput(START_SECONDS, scenario.seconds) / reference.steady,
        whole_run_ratio: run.whole_run() / reference.whole_run,
        rejected_ratio: run.rejected_ratio(START_SECONDS),
        best_rejected_ratio: reference.rejected,
        tenant_rejected_ratio: (!scenario.tenants.is_empty()).then(|| run.tenant_rejected_ratio()),
        settle_seconds: phases
            .iter()
            .skip(usize::from(phases.len() > 1))
            .map(|phase| phase.settle_seconds)
            .fold(0.0, f64::max),
        p99_latency_ms: run.latency(0.99, START_SECONDS) * 1000.0,
        best_p99_latency_ms: reference.p99_latency * 1000.0,
        fairness: alone.map(|_| fairness(scenario, run)),
        total_to_one: alone.map(|alone| run.throughput(from, to) / alone.throughput(from, to)),
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

/// How long until a window of the run reaches `enough`, with the rest of the phase doing so as well.
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

/// From 10 s after the last loader has begun to the end of the first.
fn shared_time(scenario: &Scenario) -> (f64, f64) {
    let from = scenario.loaders.iter().map(|l| l.start_seconds).fold(0.0, f64::max) + START_SECONDS;
    let to = scenario.loaders.iter().filter_map(|l| l.end_seconds).fold(scenario.seconds, f64::min);
    (from, to)
}

/// Jain's index over loaders while all of them run. One that cannot take its share, because its source or its processor is the limit, is
/// left out where at least two others remain.
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
