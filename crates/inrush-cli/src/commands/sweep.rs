//! `inrush sweep`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use inrush_cluster::api::{connect, product};
use inrush_cluster::transport::{HttpOptions, Transport};
use inrush_commands::options::{
    Body, ByteSize, Count, Environment, Inputs, LoadOptions, LoadPlan, OpenSource, OrAuto, SizeOptions, SourceOptions,
    TargetOptions, Use, WatchOptions, Whole, read_body,
};
use inrush_core::{Code, IndexTemplate};
use inrush_front::local_node;
use inrush_load::config::{Compression, DeadLetters, Encoding, LoadConfig};
use inrush_load::{ConfiguredLoad, LoadError};
use inrush_page::{Control, sweep_page};
use inrush_sources::Source;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::load;
use super::signals::Signals;
use crate::args::{GridArgs, SweepArgs};
use crate::failure::{ExitStatus, UsageError};
use crate::logging::{self, Stderr};
use crate::sweep::{About, Batch, Bench, Cell, Measured, Now, Runs, Table, cells, described, order, verdict};
use crate::units::{count, seconds};
use crate::watching::Watching;

/// The defaults, which are usual in articles about bulk sizes.
const BATCHES_DEFAULT: [u32; 5] = [100, 500, 1_000, 5_000, 10_000];
const IN_FLIGHT_DEFAULT: [u32; 4] = [1, 2, 4, 8];
/// The name of the group without a settings file.
const OWN_SETTINGS: &str = "default settings";
/// The same group in `--settings`.
const NONE: &str = "none";

/// Measures, prints the result, and returns the exit status.
pub(crate) async fn run(args: SweepArgs) -> Result<u8> {
    let stderr = Stderr::new();
    logging::start(&args.log, args.quiet, &stderr);
    let written = ["runs.csv", "sweep.json", "index.html"].map(|name| args.out.join(name));
    Inputs::default()
        .and(&args.sources)
        .and(&args.index.mapping)
        .check(written.iter().map(|path| ("--out", Some(path))))
        .map_err(load::refused)?;
    let groups = groups(&args.grid)?;
    let cells = grid(&args.grid, &groups)?;
    let Prepared { config, sources, transport, about, runs } = prepare(&args, &stderr).await?;
    let watch =
        WatchOptions { page: args.page, page_token_file: args.page_token_file.clone(), ..WatchOptions::default() };
    let watch = watch.config().map_err(load::refused)?;
    let watching = Watching::start(watch, false, &stderr.say(args.quiet)).await.map_err(load::refused)?;
    let sweep = Sweep { args: &args, groups, cells, config, sources, transport, about, stderr };
    let ended = sweep.run(runs, &watching).await;
    watching.end().await;
    ended
}

/// A sweep that measures.
struct Sweep<'a> {
    args: &'a SweepArgs,
    groups: BTreeMap<String, Group>,
    cells: Vec<Cell>,
    config: LoadConfig,
    sources: OpenSource,
    transport: Arc<Transport>,
    about: About,
    stderr: Stderr,
}

impl Sweep<'_> {
    /// Makes the runs that are missing, prints the result, and returns the exit status.
    async fn run(&self, mut runs: Runs, watching: &Watching) -> Result<u8> {
        let grid = &self.args.grid;
        let (mut signals, stopped) = (Signals::new()?, Arc::new(Notify::new()));
        let of_page = Arc::clone(&stopped);
        let mut interrupted = Box::pin(async move {
            tokio::select! {
                () = signals.next() => {}
                () = of_page.notified() => {}
            }
        });
        let (transport, prefix) = (Arc::clone(&self.transport), self.args.index.index_prefix.clone());
        let observe = |loader| observed(loader, watching, &self.args.index.index_prefix, &stopped);
        let mut bench = Bench::new(&observe, transport, self.config.clone(), prefix, grid.cell_time.get());
        let missing = |round| self.cells.iter().filter(|cell| !runs.has(cell, round)).count();
        let mut left = (1..=grid.repeat).map(missing).sum::<usize>();
        let all = self.cells.len() * grid.repeat as usize;
        if left > 0 {
            let time = seconds(grid.warm_up.as_secs_f64());
            self.say(&format!("warming up for {time}; then {left} of {all} runs"));
            self.show(watching, &runs, &Now { warming_up: true, ..now(None, 0, (all - left, all), None) });
            if !bench.warm_up(grid.warm_up, &mut || open(&self.sources), &mut interrupted).await? {
                return Ok(ExitStatus::Interrupted.code());
            }
        }
        let (begun, mut done, mut rest) = (Instant::now(), 0_u32, None);
        for round in 1..=grid.repeat {
            for cell in order(self.cells.len(), grid.seed, round).into_iter().map(|number| &self.cells[number]) {
                if runs.has(cell, round) {
                    continue;
                }
                self.show(watching, &runs, &now(Some(cell), round, (all - left, all), rest));
                let run = match self.measure(&mut bench, cell, round, &mut interrupted).await? {
                    Measured::Done(run) => *run,
                    Measured::Interrupted => {
                        self.say("interrupted; the same command continues");
                        return Ok(ExitStatus::Interrupted.code());
                    }
                };
                (done, left) = (done + 1, left - 1);
                let seconds_left = begun.elapsed().as_secs_f64() / f64::from(done) * left as f64;
                rest = Some(seconds_left);
                self.say(&format!(
                    "{} of {all}, round {round}: {}: {} documents per second, {}; about {} left",
                    all - left,
                    cell.name(),
                    count(run.docs_per_second.round() as u64),
                    run.status,
                    seconds(seconds_left)
                ));
                runs.add(run)?;
                self.write(&runs, watching)?;
            }
        }
        self.write(&runs, watching)?;
        let table = Table::new(&self.cells, runs.all());
        super::print(&result(self.args, &self.about, &table)?)?;
        let failed = table.cells().any(|(_, summary)| summary.is_none_or(|summary| summary.failed > 0));
        Ok(if failed { INCOMPLETE } else { 0 })
    }

    async fn measure(
        &self,
        bench: &mut Bench<'_>,
        cell: &Cell,
        round: u32,
        interrupted: &mut (impl Future<Output = ()> + Unpin),
    ) -> Result<Measured> {
        let mut config = self.config.clone();
        let group = &self.groups[&cell.group];
        config.create.settings.clone_from(&group.settings);
        (config.encoding, config.compression) = (group.encoding, group.compression);
        bench.run(cell, round, config, open(&self.sources)?, interrupted).await
    }

    fn say(&self, words: &str) {
        if !self.args.quiet {
            // If stderr is closed, there is no other place to report it.
            let _ = writeln!(self.stderr.clone(), "{words}");
        }
    }

    /// Shows the runs so far on the live page.
    fn show(&self, watching: &Watching, runs: &Runs, now: &Now) {
        if let Some(view) = watching.sweep() {
            view.show(self.described(runs, Some(now)));
        }
    }

    /// Writes the page of the runs so far, and shows it on the live page.
    fn write(&self, runs: &Runs, watching: &Watching) -> Result<()> {
        let sweep = self.described(runs, None);
        write_page(&self.args.out, &sweep_page(&sweep))?;
        if let Some(view) = watching.sweep() {
            view.show(sweep);
        }
        Ok(())
    }

    fn described(&self, runs: &Runs, now: Option<&Now>) -> Value {
        described(&self.about, &Table::new(&self.cells, runs.all()), self.args.grid.repeat, now)
    }
}

/// A load that the page shows in place of the one before, where there is a page.
fn observed(loader: ConfiguredLoad, watching: &Watching, name: &str, stopped: &Arc<Notify>) -> ConfiguredLoad {
    let Some((recorder, shown)) = watching.run(name) else { return loader };
    let stopped = Arc::clone(stopped);
    shown.control_by(move |control| {
        // A run that pauses measures nothing.
        if control == Control::Stop {
            stopped.notify_one();
        }
    });
    loader.observe(recorder)
}

/// The run that is made now. `runs`: those that are done, and all.
fn now(cell: Option<&Cell>, round: u32, runs: (usize, usize), seconds_left: Option<f64>) -> Now {
    let name = |name: Option<String>| name.unwrap_or_default();
    Now {
        warming_up: false,
        group: name(cell.map(|cell| cell.group.clone())),
        cell: name(cell.map(Cell::name)),
        round,
        done: runs.0,
        all: runs.1,
        seconds_left,
    }
}

/// The parts of a sweep that are the same for all runs, and the runs so far.
struct Prepared {
    config: LoadConfig,
    sources: OpenSource,
    transport: Arc<Transport>,
    about: About,
    runs: Runs,
}

/// Resolves the options, connects to the cluster, and opens the folder of the results.
async fn prepare(args: &SweepArgs, stderr: &Stderr) -> Result<Prepared> {
    let environment = load::with_prompt(Environment::of_process());
    let plan = options(args)?.resolve_for(Use::Sweep, &environment).await.map_err(load::usage)?;
    let plan = load::confirm(plan, load::has_terminal())?;
    // Each run opens the sources again.
    let LoadPlan { mut config, source, reopen, fetch: _, local, model: _, confirmations: _, notes: _, watch: _ } = plan;
    let source_bytes = source.describe().bytes_total;
    drop(source);
    let Some(sources) = reopen else {
        return Err(UsageError::new(
            Code::OptionsConflict,
            "the sources can be read only once, but a sweep reads them for each run",
        )
        .into());
    };
    if config.to.is_empty() {
        let is_named = local.is_some_and(|local| local.is_named);
        config.to = vec![local_node::url(is_named, &stderr.say(args.quiet && is_named)).await?];
    }
    config.dead_letters = DeadLetters::Folder(args.out.clone());
    let (nodes, tls, credentials) = (config.to.clone(), config.tls.clone(), config.credentials.clone());

    let http = HttpOptions { tls, ..HttpOptions::default() };
    let transport = connect(&nodes, credentials, &http).await.map_err(load::usage)?;
    let cluster = product::detect(&transport).await.map_err(|error| load::usage(LoadError::Cluster(error)))?;
    let about = About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cluster: cluster.to_string(),
        sources: args.sources.iter().map(|source| source.to_string_lossy().into_owned()).collect(),
        source_bytes,
        target: target(args),
        cell_seconds: args.grid.cell_time.get().as_secs(),
    };
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    same_sweep(&args.out, &about)?;
    let runs = Runs::open(&args.out.join("runs.csv"))?;
    Ok(Prepared { config, sources, transport, about, runs })
}

/// The exit status of a load for documents that are not in.
const INCOMPLETE: u8 = 3;

/// The index settings, encoding and compression of a group.
struct Group {
    settings: Option<Value>,
    encoding: Option<Encoding>,
    compression: Option<Compression>,
}

/// Every combination of settings, encoding and compression, by its name.
fn groups(args: &GridArgs) -> Result<BTreeMap<String, Group>> {
    let mut settings = Vec::new();
    for path in &args.settings {
        if path.as_os_str() == NONE {
            settings.push((OWN_SETTINGS.to_owned(), None));
        } else {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            settings.push((name, Some(read_body(path, "settings").map_err(load::refused)?)));
        }
    }
    if settings.is_empty() {
        settings.push((OWN_SETTINGS.to_owned(), None));
    }
    let mut groups = BTreeMap::new();
    for (name, settings) in settings {
        for encoding in args.encoding.iter().map(|encoding| encoding.given()) {
            for compression in args.compression.iter().map(|compression| compression.given()) {
                let name = format!("{name}, {}", sent_as(encoding, compression));
                if groups.insert(name.clone(), Group { settings: settings.clone(), encoding, compression }).is_some() {
                    return Err(UsageError::new(Code::OptionsConflict, format!("{name} is given twice")).into());
                }
            }
        }
    }
    Ok(groups)
}

fn sent_as(encoding: Option<Encoding>, compression: Option<Compression>) -> String {
    let encoding = encoding.map_or_else(|| "tuned encoding".to_owned(), |encoding| encoding.to_string());
    match compression {
        Some(Compression::None) => encoding,
        Some(compression) => format!("{encoding} {compression}"),
        None => format!("{encoding}, tuned compression"),
    }
}

fn grid(args: &GridArgs, groups: &BTreeMap<String, Group>) -> Result<Vec<Cell>> {
    let docs = args.batch_docs.iter().flat_map(|steps| &steps.0);
    // The parser has checked that the numbers fit.
    let docs = docs.map(|docs| Batch::Docs(u32::try_from(*docs).unwrap_or(u32::MAX)));
    let bytes = args.batch_bytes.iter().flat_map(|steps| &steps.0).map(|bytes| Batch::Bytes(*bytes));
    let mut batches: Vec<Batch> = docs.chain(bytes).collect();
    let in_flight = args.in_flight.iter().flat_map(|steps| &steps.0);
    let mut in_flight: Vec<u32> = in_flight.map(|n| u32::try_from(*n).unwrap_or(u32::MAX)).collect();
    if batches.is_empty() && in_flight.is_empty() {
        batches = BATCHES_DEFAULT.into_iter().map(Batch::Docs).collect();
        in_flight = IN_FLIGHT_DEFAULT.to_vec();
    }
    let most = batches.iter().map(|batch| if let Batch::Bytes(bytes) = batch { *bytes } else { 0 }).max().unwrap_or(0);
    let needed = most.saturating_mul(u64::from(in_flight.iter().copied().max().unwrap_or(1)));
    if let Some(needed) = ByteSize::new(needed).filter(|needed| *needed > args.memory) {
        let message = format!("the largest batch times the largest number of requests needs {needed} of memory");
        return Err(UsageError::new(Code::OptionsConflict, message).hint(format!("give --memory {needed}")).into());
    }
    let names: Vec<String> = groups.keys().cloned().collect();
    Ok(cells(&names, &batches, &in_flight, !args.no_auto))
}

/// The options that are the same for all runs.
fn options(args: &SweepArgs) -> Result<LoadOptions> {
    if args.sources.iter().any(|source| source == "-") {
        return Err(UsageError::new(
            Code::OptionsConflict,
            "stdin can be read only once, but a sweep reads its source for each run",
        )
        .hint("save the input to a file first")
        .into());
    }
    let to = &args.index;
    let index: IndexTemplate = to
        .index_prefix
        .parse()
        .map_err(|problem| UsageError::new(Code::BadOptionValue, format!("--index-prefix: {problem}")))?;
    if index.fixed().is_none() {
        return Err(UsageError::new(Code::BadOptionValue, "--index-prefix has placeholders").into());
    }
    Ok(LoadOptions {
        source: SourceOptions { sources: args.sources.clone(), ..SourceOptions::default() },
        reading: args.reading.0.clone(),
        shape: args.shape.0.clone(),
        target: TargetOptions {
            index: Some(index),
            to: to.to.clone(),
            id: to.id.clone(),
            mapping: to.mapping.clone().map(Body::File),
            shards: to.shards.and_then(Count::new).map(OrAuto::This),
            replicas: to.replicas.and_then(Whole::new),
            // The sweep compares settings, so the load must not change them.
            leave_settings: true,
            ..TargetOptions::default()
        },
        login: args.login.0.clone(),
        sizes: SizeOptions { memory: Some(args.grid.memory), ..SizeOptions::default() },
        ..LoadOptions::default()
    })
}

/// The sources, opened for a run.
fn open(sources: &OpenSource) -> Result<Box<dyn Source>> {
    Ok(sources().map_err(|error| UsageError::new(error.code, error.to_string()))?)
}

fn target(args: &SweepArgs) -> String {
    let to = &args.index;
    let number = |n: Option<u32>, what: &str| match n {
        Some(n) => format!("{what}: {n}"),
        None => format!("{what}: the cluster's default"),
    };
    let mapping = match &to.mapping {
        Some(path) => format!("mapping {}", path.display()),
        None => "dynamic mapping".to_owned(),
    };
    let ids = match &to.id {
        Some(field) => format!("ids from {field}"),
        None => "ids generated by the cluster".to_owned(),
    };
    let shape = load::flags_of_shape(&args.shape);
    [number(to.shards, "shards"), number(to.replicas, "replicas"), mapping, ids].join(", ") + &shape
}

/// Refuses a folder with the results of another sweep.
fn same_sweep(out: &Path, about: &About) -> Result<()> {
    let path = out.join("sweep.json");
    if !path.exists() {
        let text = serde_json::to_string_pretty(about).context("cannot describe the sweep")?;
        return std::fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()));
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let there: Value = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    let here = serde_json::to_value(about).context("cannot describe the sweep")?;
    for (name, value) in here.as_object().into_iter().flatten() {
        if there.get(name) != Some(value) {
            let was = there.get(name).unwrap_or(&Value::Null);
            let message =
                format!("{} has the results of another sweep: its {name} is {was}, this one's {value}", out.display());
            return Err(UsageError::new(Code::UnusableValue, message).hint("give another --out").into());
        }
    }
    Ok(())
}

/// Replaces the page by a rename, so that it is never incomplete.
fn write_page(out: &Path, page: &str) -> Result<()> {
    let path: PathBuf = out.join("index.html");
    let beside = out.join("index.html.new");
    let written = std::fs::write(&beside, page).and_then(|()| std::fs::rename(&beside, &path));
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn result(args: &SweepArgs, about: &About, table: &Table) -> Result<String> {
    let out = args.out.join("index.html");
    if args.json {
        let cells: Vec<Value> = table
            .cells()
            .map(|(cell, summary)| json!({ "group": cell.group, "cell": cell.name(), "result": summary }))
            .collect();
        let verdicts: BTreeMap<&str, _> =
            table.groups().into_iter().map(|group| (group, verdict(table, group))).collect();
        let result = json!({ "about": about, "page": out, "verdicts": verdicts, "cells": cells });
        return Ok(serde_json::to_string(&result).context("cannot write the result as JSON")? + "\n");
    }
    let mut text = String::new();
    for group in table.groups() {
        if let Some(verdict) = verdict(table, group) {
            text.push_str(&format!("{group}: {verdict}\n"));
        }
    }
    if text.is_empty() && table.top() <= 0.0 {
        bail!("no run had a result");
    }
    Ok(text + &format!("tables and charts: {}\n", out.display()))
}
