//! The subcommand `simulate`.

use std::path::PathBuf;

use inrush_testbed::sim::{Judgement, START_SECONDS, Scenario, Unwatched, Yardstick, controller, judge, run};

/// Runs a scenario with a controller and with every fixed setting of a grid, and prints how they compare
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    /// Scenario; see scenarios/README.md
    file: PathBuf,
    /// Who decides: fixed:BYTES:N, a baseline, auto
    #[arg(long, default_value = "auto")]
    controller: String,
    /// What all random numbers follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One JSON object instead of a line
    #[arg(long)]
    json: bool,
    /// Every cell of the grid as well: MB/s after the first 10 s, and the percentage of documents that were rejected
    #[arg(long)]
    grid: bool,
}

/// The lines to print.
pub(crate) fn simulate(args: &SimulateArgs) -> anyhow::Result<Vec<String>> {
    let scenario = Scenario::read(&args.file)?;
    let yardstick = Yardstick::measure(&scenario, args.seed);
    let judgement = one(&scenario, &args.controller, args.seed, &yardstick)?;
    let mut lines = if args.grid { grid(&scenario, &yardstick) } else { Vec::new() };
    lines.push(if args.json { serde_json::to_string(&judgement)? } else { line(&judgement) });
    Ok(lines)
}

/// Batch bytes downwards, requests in flight to the right.
fn grid(scenario: &Scenario, yardstick: &Yardstick) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut row = None;
    for (cell, record) in yardstick.cells() {
        if row != Some(cell.batch_bytes) {
            row = Some(cell.batch_bytes);
            lines.push(format!("{:>8}", bytes(cell.batch_bytes)));
        }
        let rate = record.throughput(START_SECONDS, scenario.seconds) / 1e6;
        let rejected = record.rejected_ratio(START_SECONDS) * 100.0;
        if let Some(line) = lines.last_mut() {
            *line += &format!("  {:>3}: {rate:7.2} {rejected:4.1}%", cell.in_flight);
        }
    }
    lines
}

fn one(scenario: &Scenario, name: &str, seed: u64, yardstick: &Yardstick) -> anyhow::Result<Judgement> {
    let tuners = scenario.loaders.iter().map(|_| controller(name, scenario)).collect::<anyhow::Result<_>>()?;
    let record = run(scenario, seed, tuners, &mut Unwatched);
    Ok(judge(scenario, name, seed, &record, yardstick))
}

fn line(j: &Judgement) -> String {
    let mut line = format!(
        "{} {} seed={} throughput={:.2}MB/s best_fixed={:.2}MB/s ({}x{}) ratio={:.3} whole_run_ratio={:.3} \
         rejected_ratio={:.4} (best {:.4}) p99_latency_ms={:.0} (best {:.0})",
        j.scenario,
        j.controller,
        j.seed,
        j.throughput / 1e6,
        j.best_fixed / 1e6,
        bytes(j.best_cell.0),
        j.best_cell.1,
        j.ratio,
        j.whole_run_ratio,
        j.rejected_ratio,
        j.best_rejected_ratio,
        j.p99_latency_ms,
        j.best_p99_latency_ms,
    );
    if let Some(settle) = j.settle_seconds {
        line += &format!(" settle_seconds={settle:.1}");
    }
    if let Some(fairness) = j.fairness {
        line += &format!(" fairness={fairness:.3}");
    }
    line + &format!(" plan={}x{}", bytes(j.plan.0), j.plan.1)
}

fn bytes(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}MiB", b >> 20),
        b if b >= 1 << 20 => format!("{:.1}MiB", b as f64 / f64::from(1 << 20)),
        b => format!("{}KiB", b >> 10),
    }
}
