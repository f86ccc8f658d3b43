//! Tables of drawn scenarios by kind.

use inrush_testbed::sim::{ALL_KINDS, Judgement, Scenario, kinds};

/// A controller is ahead from this difference on.
const AHEAD: f64 = 0.02;

/// A table for each controller: a row for all runs and for each kind. Then how often each of the
/// others is ahead of the first.
pub(super) fn tables(controllers: &[String], scenarios: &[Scenario], judgements: &[Judgement]) -> Vec<String> {
    let of_kind = |kind: Option<&str>| -> Vec<&str> {
        let of = |scenario: &&Scenario| kind.is_none_or(|kind| kinds(scenario).contains(&kind));
        scenarios.iter().filter(of).map(|scenario| scenario.name.as_str()).collect()
    };
    let mut lines = Vec::new();
    for name in controllers {
        lines.push(String::new());
        lines.push(format!(
            "{:<18} {:>5}  {:>6} {:>6} {:>6} {:>6} {:>6}  {:>6} {:>6} {:>6}  {:>9}",
            name, "runs", "worst", "5 %", "10 %", "median", "mean", "whole", "10 %", "median", "p99 ms"
        ));
        for kind in [None].into_iter().chain(ALL_KINDS.map(Some)) {
            let names = of_kind(kind);
            let runs: Vec<&Judgement> =
                judgements.iter().filter(|j| j.controller == *name && names.contains(&j.scenario.as_str())).collect();
            if !runs.is_empty() {
                lines.push(row(kind.unwrap_or("all"), &runs));
            }
        }
    }
    lines.push(String::new());
    for name in controllers.iter().skip(1) {
        lines.push(ahead(&controllers[0], name, judgements));
    }
    lines
}

fn row(kind: &str, runs: &[&Judgement]) -> String {
    let sorted = |of: fn(&Judgement) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let quantile = |values: &[f64], part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
    let (steady, whole) = (sorted(|j| j.ratio), sorted(|j| j.whole_run_ratio));
    format!(
        "{kind:<18} {:>5}  {:>6.3} {:>6.3} {:>6.3} {:>6.3} {:>6.3}  {:>6.3} {:>6.3} {:>6.3}  {:>9.0}",
        runs.len(),
        steady[0],
        quantile(&steady, 0.05),
        quantile(&steady, 0.1),
        quantile(&steady, 0.5),
        steady.iter().sum::<f64>() / steady.len() as f64,
        whole[0],
        quantile(&whole, 0.1),
        quantile(&whole, 0.5),
        quantile(&sorted(|j| j.p99_latency_ms), 0.5),
    )
}

/// Runs in which `name` is ahead of `first`. A run of `name` that rejects more than 1 % of the
/// documents more than that of `first` does not count.
fn ahead(first: &str, name: &str, judgements: &[Judgement]) -> String {
    let of =
        |controller: &str| -> Vec<&Judgement> { judgements.iter().filter(|j| j.controller == controller).collect() };
    let (own, other) = (of(first), of(name));
    let rate = |j: &Judgement| j.ratio * j.best_fixed;
    let all = own.iter().zip(&other).filter(|(own, other)| rate(other) > rate(own) + AHEAD * own.best_fixed);
    let clean = all.clone().filter(|(own, other)| other.rejected_ratio <= own.rejected_ratio + 0.01);
    format!(
        "{name} is ahead of {first} by more than {AHEAD} in {} of {} runs, in {} of them without more rejections",
        all.count(),
        own.len(),
        clean.count()
    )
}
