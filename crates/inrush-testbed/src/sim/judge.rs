//! Holds a run against the best fixed setting.

use serde::Serialize;

use super::record::Record;
use super::scenario::Scenario;
use super::yardstick::Yardstick;

/// Left out of what is steady, seconds.
pub const START_SECONDS: f64 = 10.0;

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
    /// Which that is: bytes of a batch, requests in flight.
    pub best_cell: (u64, u32),
    /// This run's to the best cell's after the first 10 s.
    pub ratio: f64,
    /// This run's to the best cell's over the whole run, each counting what was acknowledged.
    pub whole_run_ratio: f64,
    /// The part of the documents that was rejected after the first 10 s, every attempt counted.
    pub rejected_ratio: f64,
    /// The same of the best cell.
    pub best_rejected_ratio: f64,
    /// The longest that a phase took until its throughput was 90 % of what its best cell reaches, where something changes.
    pub settle_seconds: Option<f64>,
    /// The 99th percentile after the first 10 s, milliseconds.
    pub p99_latency_ms: f64,
    /// The same of the best cell.
    pub best_p99_latency_ms: f64,
    /// Jain's index over the loaders.
    pub fairness: Option<f64>,
    /// From change to change.
    pub phases: Vec<Phase>,
    /// Changes of plans.
    pub decisions: usize,
    /// The first loader's, in the end: bytes of a batch, requests in flight.
    pub plan: (u64, u32),
    /// What it was based on.
    pub why: String,
}

/// The time between two changes.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Its beginning, seconds.
    pub from: f64,
    /// Its end, seconds.
    pub to: f64,
    /// Of the cell that is best in this phase.
    pub best_fixed: f64,
    /// Which that is.
    pub best_cell: (u64, u32),
    /// Of the run, to that.
    pub ratio: f64,
    /// How long it took to 90 %; the whole phase where it did not get there.
    pub settle_seconds: f64,
}

/// Judges a run.
pub fn judge(scenario: &Scenario, controller: &str, seed: u64, run: &Record, yardstick: &Yardstick) -> Judgement {
    let end = scenario.seconds;
    let steady = |record: &Record| record.throughput(START_SECONDS, end);
    let (best_cell, best_fixed) = yardstick.best(steady);
    let (_, best_whole) = yardstick.best(Record::whole_run);
    let best_run = yardstick.cell(best_cell);
    let phases = phases(scenario, run, yardstick);
    let settle = phases.iter().skip(1).map(|phase| phase.settle_seconds).reduce(f64::max);
    let (plan, why) = run
        .plans
        .first()
        .cloned()
        .map_or(((0, 0), String::new()), |(plan, why)| ((plan.batch_bytes, plan.in_flight), why));
    Judgement {
        scenario: scenario.name.clone(),
        controller: controller.to_owned(),
        seed,
        throughput: run.whole_run(),
        best_fixed,
        best_cell: (best_cell.batch_bytes, best_cell.in_flight),
        ratio: steady(run) / best_fixed,
        whole_run_ratio: run.whole_run() / best_whole,
        rejected_ratio: run.rejected_ratio(START_SECONDS),
        best_rejected_ratio: best_run.map_or(0.0, |record| record.rejected_ratio(START_SECONDS)),
        settle_seconds: settle,
        p99_latency_ms: run.latency(0.99, START_SECONDS) * 1000.0,
        best_p99_latency_ms: best_run.map_or(0.0, |record| record.latency(0.99, START_SECONDS) * 1000.0),
        fairness: fairness(scenario, run),
        phases,
        decisions: run.decisions,
        plan,
        why,
    }
}

fn phases(scenario: &Scenario, run: &Record, yardstick: &Yardstick) -> Vec<Phase> {
    let mut edges = vec![0.0];
    edges.extend(scenario.steps.iter().map(|step| step.at_seconds));
    edges.push(scenario.seconds);
    edges.dedup();
    let phase = |edge: &[f64]| {
        let (from, to) = (edge[0], edge[1]);
        // What the change itself breaks is left out of what a cell reaches: a fifth of the phase, at most 5 s.
        let after = from + ((to - from) / 5.0).min(5.0);
        let (cell, best_fixed) = yardstick.best(|record| record.throughput(after, to));
        Phase {
            from,
            to,
            best_fixed,
            best_cell: (cell.batch_bytes, cell.in_flight),
            ratio: run.throughput(from, to) / best_fixed,
            settle_seconds: settle_seconds(run, from, to, best_fixed * SETTLED),
        }
    };
    edges.windows(2).map(phase).collect()
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

/// Jain's index over loaders while all of them run, after 10 s together.
fn fairness(scenario: &Scenario, run: &Record) -> Option<f64> {
    if scenario.loaders.len() < 2 {
        return None;
    }
    let from = scenario.loaders.iter().map(|l| l.start_seconds).fold(0.0, f64::max) + START_SECONDS;
    let to = scenario.loaders.iter().filter_map(|l| l.end_seconds).fold(scenario.seconds, f64::min);
    let rates = || (0..scenario.loaders.len()).map(|loader| run.loader_throughput(loader, from, to));
    let squares = rates().map(|rate| rate * rate).sum::<f64>();
    if squares == 0.0 {
        return Some(0.0);
    }
    Some(rates().sum::<f64>().powi(2) / (squares * scenario.loaders.len() as f64))
}
