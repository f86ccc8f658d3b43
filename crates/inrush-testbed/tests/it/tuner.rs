//! The tuner in the simulator: a few scenarios with the figures that it reaches, less a margin.
//! `bench/runs/` has all scenarios, with more seeds and with the baselines.

use std::path::Path;

use inrush_core::time::Time;
use inrush_core::tune::{Decision, Fixed, Plan, Sample, SampleOutcome, Tuner};
use inrush_testbed::sim::{Judgement, Record, Scenario, Unwatched, Watcher, Yardstick, controller, judge, run};

fn scenario(name: &str) -> Scenario {
    Scenario::read(&Path::new("scenarios").join(name).with_extension("toml")).unwrap()
}

fn play(scenario: &Scenario, name: &str, watcher: &mut dyn Watcher) -> Record {
    let tuners = scenario.loaders.iter().map(|_| controller(name, scenario).unwrap()).collect();
    run(scenario, 1, tuners, watcher)
}

/// Compares a run with the whole grid.
fn judged(scenario: &Scenario) -> Judgement {
    judged_by(scenario, scenario)
}

/// Compares a run with the grid of `yardstick`: the same scenario with narrower bounds, which
/// contain the best setting.
fn judged_by(scenario: &Scenario, yardstick: &Scenario) -> Judgement {
    let reference = Yardstick::measure(yardstick, 1).reference(yardstick);
    let record = play(scenario, "auto", &mut Unwatched);
    let alone = (scenario.loaders.len() > 1).then(|| play(&scenario.alone(), "auto", &mut Unwatched));
    judge(scenario, "auto", 1, (&record, alone.as_slice()), &reference)
}

#[test]
fn near_the_best_fixed_setting_on_clusters_of_all_kinds() {
    for (name, least) in [
        ("small-node", 0.95),
        ("costly-documents", 0.88),
        ("heap-pressure", 0.8),
        ("hundred-mbit-100ms", 0.95),
        ("memory-limit", 0.8),
        ("short-queue-one-node", 0.94),
        ("stalls", 0.95),
        ("wan-200ms", 0.93),
    ] {
        let judgement = judged(&Scenario { seconds: 30.0, ..scenario(name) });
        println!("{name}: {:.3}, {:.3}, {:.4}", judgement.ratio, judgement.whole_run_ratio, judgement.rejected_ratio);
        assert!(judgement.ratio >= least, "{name}: {:.3} of the best", judgement.ratio);
        assert!(judgement.whole_run_ratio >= 0.8, "{name}: {:.3} from the start", judgement.whole_run_ratio);
        assert!(judgement.rejected_ratio < 0.01, "{name}: {:.4} rejected", judgement.rejected_ratio);
    }
}

#[test]
fn back_within_ten_seconds_after_a_step() {
    for name in ["delay-step", "halved", "link-slows", "node-gone"] {
        let judgement = judged(&scenario(name));
        let settled = judgement.settle_seconds;
        assert!(settled <= 10.0, "{name}: {settled} s, {:?}", judgement.phases);
    }
}

#[test]
fn two_loaders_share_and_lose_nothing_together() {
    let scenario = scenario("two-loaders");
    // The loaders are compared with each other and with one loader alone.
    let mut one_cell = scenario.clone();
    (one_cell.bounds.batch_bytes, one_cell.bounds.in_flight) = ((1 << 20, 1 << 20), (16, 16));
    let judgement = judged_by(&scenario, &one_cell);
    let (fairness, total) = (judgement.fairness.unwrap(), judgement.total_to_one.unwrap());
    assert!(fairness >= 0.9 && total >= 0.9, "fairness {fairness:.3}, {total:.3} of what one gets");
}

/// Wall times and rejections of the replies after the first 10 s.
#[derive(Default)]
struct Seen {
    walls: Vec<f64>,
    bytes: Vec<f64>,
    docs: u64,
    rejected: u64,
}

impl Watcher for Seen {
    fn sample(&mut self, _: usize, now: Time, sample: &Sample) {
        if now.since_start().as_secs_f64() < 10.0 {
            return;
        }
        self.docs += u64::from(sample.docs);
        self.rejected += u64::from(sample.rejected);
        if sample.outcome == SampleOutcome::Answered {
            self.walls.push(sample.wall.as_secs_f64());
            self.bytes.push(sample.bytes as f64);
        }
    }

    fn decision(&mut self, _: usize, _: &Decision) {}
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A gentle load promises at most 1.3 times the wall time of a lone request, and no lasting
/// rejections.
#[test]
fn gentle_keeps_to_its_bounds() {
    let mut broken = Vec::new();
    for name in ["small-node", "two-loaders", "heap-pressure", "short-queue-one-node", "wan-200ms", "memory-limit"] {
        let scenario = scenario(name).alone();
        let mut seen = Seen::default();
        let record = play(&scenario, "gentle", &mut seen);
        // One request at a time, as large as the mean of those.
        let plan = Plan { batch_bytes: mean(&seen.bytes) as u64, batch_docs: u32::MAX, in_flight: 1 };
        let mut idle = Seen::default();
        let fixed: Box<dyn Tuner> = Box::new(Fixed(plan));
        run(&scenario, 1, vec![fixed], &mut idle);
        let growth = mean(&seen.walls) / mean(&idle.walls);
        let rejected = seen.rejected as f64 / seen.docs as f64;
        println!("{name}: {growth:.2} times as long, {rejected:.5} rejected, {}", record.plans[0].1);
        if growth >= 1.3 || rejected >= 0.001 {
            broken.push(name);
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}
