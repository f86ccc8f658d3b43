//! `inrush load --job` with several outputs: one reading of the sources, a load for each query, side by side.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use inrush::config::LoadConfig;
use inrush::source::Source;
use inrush::{Loader, Phase, Progress, Report, RunningLoad, StopHandle};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::load;
use super::signals::Signals;
use super::source;
use crate::args::{LoadArgs, OutputArgs};
use crate::auth::Surroundings;
use crate::failure::{ExitStatus, UsageError, failed};
use crate::job::Job;
use crate::logging::Stderr;
use crate::progress::{self, Display};
use crate::sql::{self, Tables};
use crate::{options, summary};

/// A load that has not begun.
struct Output {
    name: String,
    config: LoadConfig,
    source: Box<dyn Source>,
}

/// Loads all outputs, reports, and returns the exit status: the worst of them.
pub(super) async fn run(job: Job, stderr: &Stderr) -> Result<u8> {
    let output = job.args.output.clone();
    let configs = configs(&job)?;
    let reads_stdin = job.args.source.sources.iter().any(|source| source == "-");
    let mut outputs = open(&job, configs, stderr).await?;
    if outputs.iter().any(|output| output.config.to.is_empty()) {
        super::node::confirm_local(&job.args.index.to, load::somebody_is_there()).await?;
        let local = super::node::local(output.quiet, stderr).await?;
        outputs.iter_mut().for_each(|output| output.config.to = vec![local.clone()]);
    }

    let mut signals = Signals::new()?;
    let pauses = signal(SignalKind::user_defined1()).context("cannot catch signals")?;
    let (names, starting): (Vec<String>, Vec<_>) =
        outputs.into_iter().map(|output| (output.name, (output.config, output.source))).unzip();
    // Not a part of what a signal breaks off: a load that has begun changes settings, and is ended in order.
    let mut loads = Vec::new();
    let begun = tokio::select! {
        begun = start(starting, &mut loads) => begun.map(|()| true),
        () = signals.next() => Ok(false),
    };
    let not_begun = names[loads.len()..].join(", ");
    match begun {
        Ok(true) => {}
        Ok(false) if loads.is_empty() => {
            let _ = writeln!(stderr.clone(), "interrupted: nothing was sent");
            return Ok(ExitStatus::Interrupted.code());
        }
        Ok(false) => {
            tokio::spawn(load::stop_after_signal(signals, stop_handles(&loads), None, stderr.clone()));
            let reports = finish(names, loads).await;
            let _ = writeln!(stderr.clone(), "interrupted: nothing was sent to {not_begun}");
            let status = ExitStatus::Interrupted.code();
            print(&reports, status, &output, stderr)?;
            return Ok(status);
        }
        Err(error) => {
            stop_handles(&loads).iter().for_each(StopHandle::stop);
            // For whoever does not want to wait for their end.
            tokio::spawn(load::stop_on_signals(signals, stop_handles(&loads), None, stderr.clone()));
            let reports = finish(names, loads).await;
            if reports.is_empty() {
                return Err(error);
            }
            // The others have begun, so this is no refusal of the whole.
            print(&reports, ExitStatus::Failed.code(), &output, stderr)?;
            return Err(failed(&error));
        }
    }
    let display = Display::detect(output.quiet, output.log.log_json);
    let shown = tokio::spawn(progress::show(all_progress(&loads), display, stderr.clone()));
    let handles = || loads.iter().map(RunningLoad::pause_handle).collect();
    tokio::spawn(load::pause_on_signals(pauses, handles()));
    let keys = load::listen_to_keys(handles(), display, reads_stdin);
    tokio::spawn(load::stop_on_signals(signals, stop_handles(&loads), keys.clone(), stderr.clone()));
    let reports = finish(names, loads).await;
    if let Some(keys) = keys {
        keys.restore();
    }
    // The progress line is cleared before the reports are printed; how it fared does not matter any more.
    let _ = shown.await;
    let status = worst(reports.iter().map(|(_, report)| report.exit_code()));
    print(&reports, status, &output, stderr)?;
    Ok(status)
}

/// The configuration of each output, with its query. Questions are asked here.
fn configs(job: &Job) -> Result<Vec<(LoadArgs, String, LoadConfig)>> {
    let mut configs = Vec::new();
    let (mut indices, mut files) = (BTreeSet::new(), BTreeSet::new());
    for output in &job.outputs {
        let args = &output.args;
        let Some(query) = sql::query(&args.source.sql)? else {
            return Err(UsageError::new("an [[output]] has no query").hint("give it one with sql or sql_file").into());
        };
        if args.resume.resume {
            return Err(UsageError::new("--resume means nothing with several outputs, some of which may have ended")
                .hint("load those that are missing by themselves, or all again; with ids no document is there twice")
                .into());
        }
        if args.resume.once {
            return Err(UsageError::new(
                "--once means nothing with several outputs, each of which is the result of a query",
            )
            .hint("leave it out; with ids no document is there twice, however often it is loaded")
            .into());
        }
        if args.errors.dry_run {
            return Err(UsageError::new("--dry-run and [[output]] are given").hint("try each query by itself").into());
        }
        if args.source.from_dead_letters.is_some() {
            return Err(UsageError::new("--from-dead-letters and [[output]] are given")
                .hint("load one after the other")
                .into());
        }
        let mut config = options::config(output, &Surroundings::of_process())?;
        if !indices.insert(config.index.as_str().to_owned()) {
            let message = format!("two outputs go to the index {}, which could not be verified", config.index.as_str());
            return Err(UsageError::new(message).hint("make it one query with UNION ALL").into());
        }
        for file in args.errors.dead_letters.iter().chain(&args.sizes.trace) {
            if !files.insert(file.clone()) {
                let message = format!("two outputs write to {}", file.display());
                return Err(UsageError::new(message).hint("name one for each [[output]]").into());
            }
        }
        load::confirm(&args.index, &mut config, load::somebody_is_there())?;
        configs.push((args.clone(), query, config));
    }
    Ok(configs)
}

/// Reads the sources for their columns, and plans the queries.
async fn open(job: &Job, configs: Vec<(LoadArgs, String, LoadConfig)>, stderr: &Stderr) -> Result<Vec<Output>> {
    let args = &job.args.source;
    source::check_some(args)?;
    source::check_files(&args.sources, &args.reading)?;
    if let Some(flag) = args.from.given() {
        return Err(source::not_an_index(flag).into());
    }
    let bytes_max = configs.iter().map(|(_, _, config)| config.limits.document_bytes_max).max().unwrap_or_default();
    let input = options::sources(&args.sources, &args.reading)?;
    let tables = Tables { args: &args.sql, input, format: options::format(&args.reading, bytes_max)? };
    let queries = configs.iter().map(|(args, query, _)| (query.as_str(), args.index.id.clone())).collect();
    let sources = tables.sources(queries).await?;
    let mut outputs = Vec::new();
    for ((args, _, mut config), source) in configs.into_iter().zip(sources) {
        super::mapping::of_load(&args.source, &args.index, &mut config).await?;
        let (bytes, ids) = (source.bytes_total(), source.has_ids());
        let quiet = job.args.output.quiet;
        super::shards::of_load(&args.source, &args.index, bytes, ids, &mut config, quiet, stderr).await?;
        outputs.push(Output { name: config.index.as_str().to_owned(), config, source });
    }
    Ok(outputs)
}

/// Begins all loads, one after the other. Those that have begun are in `begun`, also where this fails or is dropped.
async fn start(outputs: Vec<(LoadConfig, Box<dyn Source>)>, begun: &mut Vec<RunningLoad>) -> Result<()> {
    let mut loaders = Vec::new();
    for (config, source) in outputs {
        loaders.push((Loader::new(config).map_err(load::usage)?, source));
    }
    // Before the first one deletes its index.
    let mut checked = Vec::new();
    for (loader, source) in loaders {
        checked.push(loader.check_recreate(source).await.map_err(load::usage)?);
    }
    for (loader, source) in checked {
        begun.push(loader.start(source).await.map_err(load::usage)?);
    }
    Ok(())
}

fn stop_handles(loads: &[RunningLoad]) -> Vec<StopHandle> {
    loads.iter().map(RunningLoad::stop_handle).collect()
}

/// Waits for the end of the loads, which have the first of these names.
async fn finish(names: Vec<String>, loads: Vec<RunningLoad>) -> Vec<(String, Report)> {
    let mut reports = Vec::new();
    for (name, load) in names.into_iter().zip(loads) {
        reports.push((name, load.finish().await));
    }
    reports
}

/// The progress of all loads as if they were one.
fn all_progress(loads: &[RunningLoad]) -> watch::Receiver<Progress> {
    let each: Vec<watch::Receiver<Progress>> = loads.iter().map(RunningLoad::progress).collect();
    let (sender, all) = watch::channel(Progress::default());
    tokio::spawn(async move {
        // As often as a load tells how far it is.
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let now: Vec<Progress> = each.iter().map(|load| load.borrow().clone()).collect();
            // A load whose sender is gone has come to its end.
            let ended = each.iter().all(|load| load.has_changed().is_err() || load.borrow().phase == Phase::Done);
            if sender.send(sum(&now)).is_err() || ended {
                return;
            }
        }
    });
    all
}

fn sum(loads: &[Progress]) -> Progress {
    let mut all = Progress { bytes_total: Some(0), ..Progress::default() };
    for load in loads {
        all.docs_read += load.docs_read;
        all.docs_settled += load.docs_settled;
        all.docs_dead_lettered += load.docs_dead_lettered;
        all.bytes_read += load.bytes_read;
        all.bytes_total = all.bytes_total.zip(load.bytes_total).map(|(all, load)| all + load);
        all.bytes_sent += load.bytes_sent;
        all.retried_items += load.retried_items;
        all.requests += load.requests;
        all.in_flight += load.in_flight;
        all.plan_in_flight += load.plan_in_flight;
        all.plan_batch_bytes = all.plan_batch_bytes.max(load.plan_batch_bytes);
        all.rows_read = all.rows_read.max(load.rows_read);
        all.rows_total = all.rows_total.max(load.rows_total);
        all.seconds = all.seconds.max(load.seconds);
    }
    // What the one that is least far does.
    let rank = |phase: &Phase| match phase {
        Phase::Paused(_) => 0,
        Phase::Draining(_) => 1,
        Phase::Starting => 2,
        Phase::Loading | Phase::Baking(_) => 3,
        Phase::PuttingBack => 4,
        Phase::Verifying => 5,
        Phase::Finishing { .. } => 6,
        Phase::Done => 7,
    };
    all.phase = loads.iter().map(|load| &load.phase).min_by_key(|phase| rank(phase)).cloned().unwrap_or_default();
    all
}

/// Of several exit statuses the one that says most: interrupted, failed, not all in, a check failed, fine.
fn worst(statuses: impl Iterator<Item = u8>) -> u8 {
    let order = [130, 1, 3, 4, 0];
    statuses.min_by_key(|status| order.iter().position(|known| known == status)).unwrap_or_default()
}

fn print(reports: &[(String, Report)], status: u8, output: &OutputArgs, stderr: &Stderr) -> Result<()> {
    for (name, report) in reports {
        if let Some(problem) = summary::problem(report) {
            let _ = writeln!(stderr.clone(), "error: {name}: {problem}");
        }
    }
    let text = if output.json {
        let all = json!({
            "exit_status": status,
            "outputs": reports.iter().map(|(name, report)| json!({ "output": name, "report": report })).collect::<Vec<_>>(),
        });
        format!("{all}\n")
    } else if output.quiet {
        return Ok(());
    } else {
        reports
            .iter()
            .map(|(name, report)| format!("{name}\n{}", summary::text(report, false)))
            .collect::<Vec<_>>()
            .join("\n")
    };
    super::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_status_counts() {
        for (statuses, expected) in [(&[0, 0][..], 0), (&[0, 4], 4), (&[4, 3, 0], 3), (&[3, 1], 1), (&[1, 130], 130)] {
            assert_eq!(worst(statuses.iter().copied()), expected);
        }
    }

    #[test]
    fn progress_is_that_of_all_and_the_phase_of_the_last() {
        let load = |docs, bytes_total, phase| Progress { docs_read: docs, bytes_total, phase, ..Progress::default() };
        let all = sum(&[load(3, Some(10), Phase::Done), load(4, Some(20), Phase::Loading)]);
        assert_eq!((all.docs_read, all.bytes_total, all.phase), (7, Some(30), Phase::Loading));
        assert_eq!(sum(&[load(0, None, Phase::Done), load(0, Some(1), Phase::Done)]).bytes_total, None);
    }
}
