//! The subcommand `simulate`.

mod by_kind;
mod kept;
mod many;
mod table;
mod traced;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use inrush_testbed::sim::{
    Cell, Judgement, Reference, START_SECONDS, Scenario, Unwatched, Yardstick, controller, controllers, judge,
    parallel, random, run,
};

use kept::Kept;

/// The directory of the scenarios, from the root of the repository.
const SCENARIOS: &str = "crates/inrush-testbed/scenarios";

/// Run a scenario in virtual time, with a controller and with every fixed setting of a grid, and
/// print how they compare
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    /// Scenario, or with --all a directory of scenarios
    /// [default with --all: crates/inrush-testbed/scenarios]
    #[arg(required_unless_present_any = ["all", "random"])]
    file: Option<PathBuf>,
    /// Run every scenario of the directory, and print a table
    #[arg(long)]
    all: bool,
    /// Run this number of scenarios that are drawn at random with --seed, and print tables by kind.
    /// The best fixed setting is found by a climb instead of the whole grid
    #[arg(long, conflicts_with_all = ["file", "all", "grid", "trace"])]
    random: Option<usize>,
    /// Number of the first scenario that --random draws
    #[arg(long, default_value_t = 0)]
    from: usize,
    /// Write the ten scenarios in which the first controller is furthest behind into this directory
    #[arg(long, requires = "random")]
    worst: Option<PathBuf>,
    /// Find the best fixed setting by a climb instead of the whole grid, as --random does; with
    /// --all, print the same tables
    #[arg(long, conflicts_with_all = ["grid", "random"])]
    climb: bool,
    /// Threads [default: one for each processor]
    #[arg(long)]
    jobs: Option<usize>,
    /// Controller: auto, gentle, fixed:BYTES:N, or a baseline such as vector, gradient2, esbulk,
    /// go-elasticsearch
    #[arg(long, default_value = "auto", conflicts_with = "controllers")]
    controller: String,
    /// Several controllers, with commas
    #[arg(long, value_delimiter = ',')]
    controllers: Vec<String>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds, from --seed on
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Print one JSON object for each run instead of a line
    #[arg(long)]
    json: bool,
    /// Print every cell of the grid, too: MB/s after the first 10 s, and the percentage of rejected
    /// documents
    #[arg(long, conflicts_with = "all")]
    grid: bool,
    /// Write one line of comma-separated values for each run into this file
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Write samples and decisions of the first loader's controller into this file, as a trace for
    /// `replay`
    #[arg(long, conflicts_with_all = ["all", "controllers", "seeds"])]
    trace: Option<PathBuf>,
    /// File that keeps the figures of the best fixed settings, so that they are not run again.
    /// Delete it when the model has changed
    #[arg(long)]
    yardstick: Option<PathBuf>,
}

/// Runs the scenarios and prints each result at once.
pub(crate) fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let controllers = match args.controllers.as_slice() {
        [] => std::slice::from_ref(&args.controller),
        several => several,
    };
    let jobs = args.jobs.unwrap_or_else(parallel::processors);
    let mut kept = Kept::open(args.yardstick.as_deref())?;
    let all = match (args.random, args.all && args.climb) {
        (Some(number), _) => {
            let drawn: Vec<Scenario> = (args.from..args.from + number).map(|at| random(args.seed, at)).collect();
            many::simulate(args, &drawn, controllers, jobs, &mut kept)?
        }
        (None, true) => {
            let files = scenario_files(args.file.as_deref().unwrap_or(Path::new(SCENARIOS)))?;
            let read = files.iter().map(|file| Scenario::read(file)).collect::<anyhow::Result<Vec<_>>>()?;
            many::simulate(args, &read, controllers, jobs, &mut kept)?
        }
        (None, false) => files(args, controllers, jobs, &mut kept)?,
    };
    if let Some(path) = &args.csv {
        std::fs::write(path, table::csv(&all)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Runs the scenario of a file, or those of a directory.
fn files(args: &SimulateArgs, controllers: &[String], jobs: usize, kept: &mut Kept) -> anyhow::Result<Vec<Judgement>> {
    let files = match (&args.file, args.all) {
        (Some(file), false) => vec![file.clone()],
        (directory, _) => scenario_files(directory.as_deref().unwrap_or(Path::new(SCENARIOS)))?,
    };
    let mut all = Vec::new();
    for file in files {
        let scenario = Scenario::read(&file)?;
        // Unknown names are refused before the grid runs.
        for name in controllers {
            controller(name, &scenario)?;
        }
        if let Some(path) = &args.trace {
            traced::write(path, &scenario, &args.controller, args.seed)?;
        }
        let mut judgements = Vec::new();
        for seed in args.seed..args.seed + args.seeds {
            let reference = reference(&scenario, seed, args, jobs, kept)?;
            let runs = parallel::map_with(jobs, controllers, |name| one(&scenario, name, seed, &reference));
            judgements.extend(runs.into_iter().collect::<anyhow::Result<Vec<_>>>()?);
        }
        let lines = match (args.json, args.all) {
            (true, _) => judgements.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?,
            (false, false) => judgements.iter().map(line).collect(),
            (false, true) => table::rows(&scenario.name, controllers, &judgements),
        };
        print(&lines)?;
        all.extend(judgements);
    }
    if args.all && !args.json {
        print(&table::summary(controllers, &all))?;
    }
    Ok(all)
}

fn scenario_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut files = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    ensure!(!files.is_empty(), "no scenario (*.toml) in {}", directory.display());
    Ok(files)
}

fn reference(
    scenario: &Scenario,
    seed: u64,
    args: &SimulateArgs,
    jobs: usize,
    kept: &mut Kept,
) -> anyhow::Result<Reference> {
    if let (Some(reference), false) = (kept.get(scenario, seed), args.grid) {
        return Ok(reference.clone());
    }
    let yardstick = match args.climb {
        true => Yardstick::search(scenario, seed),
        false => Yardstick::measure_with(jobs, scenario, seed),
    };
    if args.grid {
        print(&grid_lines(scenario, &yardstick))?;
    }
    let reference = yardstick.reference(scenario);
    kept.put(scenario, seed, &reference);
    kept.save()?;
    Ok(reference)
}

fn one(scenario: &Scenario, name: &str, seed: u64, reference: &Reference) -> anyhow::Result<Judgement> {
    let play = |scenario: &Scenario| -> anyhow::Result<_> {
        Ok(run(scenario, seed, controllers(name, scenario)?, &mut Unwatched))
    };
    let rivals = scenario.loaders.iter().any(|loader| loader.rival.is_some());
    let alone = match scenario.loaders.len() {
        0 | 1 => 0,
        _ if !rivals => 1,
        all => all,
    };
    let alone = (0..alone).map(|loader| play(&scenario.with_only(loader))).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(judge(scenario, name, seed, (&play(scenario)?, &alone), reference))
}

/// Batch bytes downwards, requests in flight to the right.
fn grid_lines(scenario: &Scenario, yardstick: &Yardstick) -> Vec<String> {
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

fn line(j: &Judgement) -> String {
    let mut line = format!(
        "{} {} seed={} throughput={:.2}MB/s best_fixed={:.2}MB/s ({}) ratio={:.3} whole_run_ratio={:.3} \
         rejected_ratio={:.4} (best {:.4}) settle_seconds={:.1} p99_latency_ms={:.0} (best {:.0})",
        j.scenario,
        j.controller,
        j.seed,
        j.throughput / 1e6,
        j.best_fixed / 1e6,
        cell(j.best_cell),
        j.ratio,
        j.whole_run_ratio,
        j.rejected_ratio,
        j.best_rejected_ratio,
        j.settle_seconds,
        j.p99_latency_ms,
        j.best_p99_latency_ms,
    );
    if let Some(tenant) = j.tenant_rejected_ratio {
        line += &format!(" tenant_rejected_ratio={tenant:.4}");
    }
    if let Some(p99) = j.tenant_p99_ms {
        line += &format!(" tenant_p99_ms={p99:.0}");
    }
    if let (Some(fairness), Some(total)) = (j.fairness, j.total_to_one) {
        line += &format!(" fairness={fairness:.3} total_to_one={total:.3}");
    }
    if let Some((own, rivals)) = j.least_shares {
        line += &format!(" share={own:.3} rival_share={rivals:.3}");
    }
    line + &format!(" decisions={} plan={}", j.decisions, cell(j.plan))
}

fn cell(cell: Cell) -> String {
    format!("{}x{}", bytes(cell.batch_bytes), cell.in_flight)
}

fn bytes(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}MiB", b >> 20),
        b if b >= 1 << 20 => format!("{:.1}MiB", b as f64 / f64::from(1 << 20)),
        b => format!("{}KiB", b >> 10),
    }
}

fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}
