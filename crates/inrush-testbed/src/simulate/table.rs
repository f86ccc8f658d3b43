//! Tables of runs.

use inrush_testbed::sim::Judgement;

/// One row for each controller: means over the seeds, the worst in brackets.
pub(crate) fn rows(scenario: &str, controllers: &[String], judgements: &[Judgement]) -> Vec<String> {
    controllers.iter().map(|name| row(scenario, name, &of(judgements, name))).collect()
}

fn row(scenario: &str, controller: &str, runs: &[&Judgement]) -> String {
    let mean = |f: fn(&Judgement) -> f64| mean(runs.iter().map(|run| f(run)));
    let worst = |f: fn(&Judgement) -> f64| runs.iter().map(|run| f(run)).fold(f64::INFINITY, f64::min);
    let mut row = format!(
        "{scenario:<28} {controller:<18} ratio {:.3} ({:.3})  whole {:.3} ({:.3})  rejected {:6.2}%  p99 {:6.0} ms",
        mean(|j| j.ratio),
        worst(|j| j.ratio),
        mean(|j| j.whole_run_ratio),
        worst(|j| j.whole_run_ratio),
        mean(|j| j.rejected_ratio * 100.0),
        mean(|j| j.p99_latency_ms),
    );
    row += &format!("  settle {:4.1} s", runs.iter().map(|run| run.settle_seconds).fold(0.0, f64::max));
    if runs.iter().all(|run| run.fairness.is_some()) {
        let fairness = worst(|j| j.fairness.unwrap_or(0.0));
        row += &format!("  fairness {fairness:.3} total {:.3}", worst(|j| j.total_to_one.unwrap_or(0.0)));
    }
    if runs.iter().all(|run| run.least_shares.is_some()) {
        let own = worst(|j| j.least_shares.map_or(0.0, |shares| shares.0));
        row += &format!("  share {own:.3} rival's {:.3}", worst(|j| j.least_shares.map_or(0.0, |shares| shares.1)));
    }
    row
}

/// Smaller differences are a tie.
const BETTER: f64 = 0.02;

/// The figures of each controller over all scenarios, and the scenarios in which it beats the first
/// controller.
pub(crate) fn summary(controllers: &[String], judgements: &[Judgement]) -> Vec<String> {
    let mut scenarios: Vec<&str> = judgements.iter().map(|j| j.scenario.as_str()).collect();
    scenarios.dedup();
    let mut lines = vec![String::new()];
    let mut first: Option<Vec<f64>> = None;
    for name in controllers {
        let runs = of(judgements, name);
        let ratios = |f: fn(&Judgement) -> f64| -> Vec<f64> {
            let of_scenario =
                |scenario: &&str| mean(runs.iter().filter(|run| run.scenario == *scenario).map(|run| f(run)));
            scenarios.iter().map(of_scenario).collect()
        };
        let (steady, whole) = (ratios(|j| j.ratio), ratios(|j| j.whole_run_ratio));
        let at_least = |values: &[f64], limit: f64| values.iter().filter(|&&value| value >= limit).count();
        let worst = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let slowest = runs.iter().map(|run| run.settle_seconds).fold(0.0, f64::max);
        let better =
            |first: &Vec<f64>| steady.iter().zip(first).filter(|(own, first)| **own > **first + BETTER).count();
        let better = first.as_ref().map_or(String::new(), |ratios| {
            format!("; better than {} by more than {BETTER} in {}", controllers[0], better(ratios))
        });
        lines.push(format!(
            "{name:<18} ratio: mean {:.3}, worst {:.3}, >= 0.95 in {} of {count}; whole run: mean {:.3}, worst {:.3}, \
             >= 0.90 in {} of {count}; slowest to settle {slowest:.1} s{better}",
            mean(steady.iter().copied()),
            worst(&steady),
            at_least(&steady, 0.95),
            mean(whole.iter().copied()),
            worst(&whole),
            at_least(&whole, 0.90),
            count = scenarios.len(),
        ));
        first.get_or_insert(steady);
    }
    lines
}

/// All figures of all runs, as comma-separated values.
pub(crate) fn csv(judgements: &[Judgement]) -> String {
    let mut text =
        "scenario,controller,seed,throughput,best_fixed,best_batch_bytes,best_in_flight,ratio,whole_run_ratio,\
                    rejected_ratio,best_rejected_ratio,tenant_rejected_ratio,settle_seconds,p99_latency_ms,best_p99_latency_ms,fairness,\
                    total_to_one,decisions,batch_bytes,in_flight,tenant_p99_ms,share,rival_share\n"
            .to_owned();
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    for j in judgements {
        text += &format!(
            "{},{},{},{:.0},{:.0},{},{},{:.4},{:.4},{:.5},{:.5},{},{},{:.1},{:.1},{},{},{},{},{},{},{},{}\n",
            j.scenario,
            j.controller,
            j.seed,
            j.throughput,
            j.best_fixed,
            j.best_cell.batch_bytes,
            j.best_cell.in_flight,
            j.ratio,
            j.whole_run_ratio,
            j.rejected_ratio,
            j.best_rejected_ratio,
            optional(j.tenant_rejected_ratio),
            j.settle_seconds,
            j.p99_latency_ms,
            j.best_p99_latency_ms,
            optional(j.fairness),
            optional(j.total_to_one),
            j.decisions,
            j.plan.batch_bytes,
            j.plan.in_flight,
            optional(j.tenant_p99_ms),
            optional(j.least_shares.map(|shares| shares.0)),
            optional(j.least_shares.map(|shares| shares.1)),
        );
    }
    text
}

fn of<'a>(judgements: &'a [Judgement], controller: &str) -> Vec<&'a Judgement> {
    judgements.iter().filter(|judgement| judgement.controller == controller).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}
