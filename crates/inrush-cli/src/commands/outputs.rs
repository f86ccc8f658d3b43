//! `inrush load --job` with several outputs: one reading of the sources, and one load per query, in
//! parallel.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use inrush_commands::options::{Confirmation, LoadPlan, PositiveDuration};
use inrush_core::Code;
use inrush_core::report::Tally;
use inrush_front::local_node;
use inrush_load::{BeginningHandle, Phase, Progress, Report, RunningLoad, StopHandle};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::load;
use super::signals::Signals;
use crate::args::OutputArgs;
use crate::failure::{ExitStatus, UsageError, failed, label};
use crate::index_segments;
use crate::job::Job;
use crate::logging::Stderr;
use crate::progress::{self, Display, Opening};
use crate::report_file::ReportFile;
use crate::summary;
use crate::watching::{self, Watching};

/// Loads all outputs, reports, and returns the worst exit status of all.
pub(super) async fn run(job: Job, stderr: &Stderr) -> Result<u8> {
    let environment = load::environment(&job);
    let Job { options, bake: _, run, output, folder: _, outputs } = job;
    if run.dry_run {
        return Err(UsageError::new(Code::OptionsConflict, "--dry-run does not work with [[output]]")
            .hint("run each query alone, with --sql and without [[output]]")
            .into());
    }
    let report_file = ReportFile::new(run.report, &options)?;
    let reads_stdin = options.source.sources.iter().any(|source| source == "-");
    load::tell_of_terminal(&options);
    let plans = options.resolve_outputs(outputs, &environment).await.map_err(load::usage)?;
    let mut plans = confirm(plans, &output, stderr).await?;
    // The option applies to all outputs.
    let watch = plans.iter_mut().map(|plan| watching::of_plan(plan).0).next().unwrap_or_default();
    let watching =
        Watching::start(watch, report_file.is_wanted(), &stderr.say(output.quiet)).await.map_err(load::refused)?;
    let ending = Ending { report_file, output: &output, stderr };

    let mut signals = Signals::new()?;
    let pauses = signal(SignalKind::user_defined1()).context("cannot catch signals")?;
    let names: Vec<String> = plans.iter().map(|plan| plan.config.index.as_str().to_owned()).collect();
    if let (Some(view), Some(plan)) = (watching.segments(), plans.first()) {
        // All outputs are in one cluster.
        index_segments::ask(view, &plan.config, names.iter().map(String::as_str));
    }
    // A signal does not cancel this: a load that has begun changes settings, and must end in order.
    let mut loads = Vec::new();
    let begun = begin(plans, &watching, &mut loads, &mut signals).await;
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
            return ending.print(&reports, ExitStatus::Interrupted.code(), watching).await;
        }
        Err(error) => {
            stop_handles(&loads).iter().for_each(StopHandle::stop);
            // For a user who does not want to wait for their end.
            tokio::spawn(load::stop_on_signals(signals, stop_handles(&loads), None, stderr.clone()));
            let reports = finish(names, loads).await;
            if reports.is_empty() {
                return Err(error);
            }
            // Other loads have begun, so this is a failure, not a refusal.
            ending.print(&reports, ExitStatus::Failed.code(), watching).await?;
            return Err(failed(&error));
        }
    }
    let report_every = run.report_every;
    let reports = follow(names, loads, (signals, pauses), report_every, reads_stdin, &output, stderr).await;
    let status = worst(reports.iter().map(|(_, report)| report.exit_code()));
    ending.print(&reports, status, watching).await
}

/// Shows the loads until they end. `signals`: those that stop and those that pause them.
async fn follow(
    names: Vec<String>,
    loads: Vec<RunningLoad>,
    (signals, pauses): (Signals, Signal),
    report_every: Option<PositiveDuration>,
    reads_stdin: bool,
    output: &OutputArgs,
    stderr: &Stderr,
) -> Vec<(String, Report)> {
    let display = Display::detect(output.quiet, output.log.log_json);
    let all = all_progress(&names, &loads);
    let told = report_every.map(|every| tokio::spawn(progress::report(all.clone(), every.get(), super::print)));
    let shown = Opening::show(display, stderr.clone()).begun(all);
    let handles = || loads.iter().map(RunningLoad::pause_handle).collect();
    tokio::spawn(load::pause_on_signals(pauses, handles()));
    let keys = load::listen_to_keys(handles(), display, reads_stdin, stderr);
    tokio::spawn(load::stop_on_signals(signals, stop_handles(&loads), keys.clone(), stderr.clone()));
    let reports = finish(names, loads).await;
    if let Some(keys) = keys {
        keys.restore();
    }
    // The report is the last text.
    progress::ended(Some(shown)).await;
    progress::ended(told).await;
    reports
}

/// The end of the command.
struct Ending<'a> {
    report_file: ReportFile,
    output: &'a OutputArgs,
    stderr: &'a Stderr,
}

impl Ending<'_> {
    /// Prints the reports, and returns the exit status.
    async fn print(self, reports: &[(String, Report)], status: u8, watching: Watching) -> Result<u8> {
        let named: Vec<_> = reports.iter().map(|(name, report)| (name.as_str(), report)).collect();
        self.report_file.write(&named, &watching.shown(), self.stderr).await;
        watching.end().await;
        print(reports, status, self.output, self.stderr)?;
        Ok(status)
    }
}

/// Asks for confirmations, and starts the local node if it is the target.
async fn confirm(plans: Vec<LoadPlan>, output: &OutputArgs, stderr: &Stderr) -> Result<Vec<LoadPlan>> {
    let mut confirmed = Vec::new();
    let mut starts_node = false;
    for mut plan in plans {
        load::tell(&plan.notes, output.quiet, stderr);
        if starts_node {
            // All loads use the same node.
            plan.confirm(&Confirmation::StartNode);
        }
        starts_node |= plan.confirmations.contains(&Confirmation::StartNode);
        confirmed.push(load::confirm(plan, load::has_terminal())?);
    }
    if let Some(plan) = confirmed.iter().find(|plan| plan.config.to.is_empty()) {
        let is_named = plan.local.as_ref().is_some_and(|local| local.is_named);
        let local = local_node::url(is_named, &stderr.say(output.quiet && is_named)).await?;
        confirmed.iter_mut().for_each(|plan| plan.config.to = vec![local.clone()]);
    }
    Ok(confirmed)
}

/// Begins the loads. False: a signal came before all of them had begun. What the next one has made
/// in the cluster by then is taken back; another Ctrl-C does not wait for that.
async fn begin(
    plans: Vec<LoadPlan>,
    watching: &Watching,
    loads: &mut Vec<RunningLoad>,
    signals: &mut Signals,
) -> Result<bool> {
    let beginning = BeginningHandle::default();
    let mut starting = std::pin::pin!(start(plans, watching, &beginning, loads));
    tokio::select! {
        begun = &mut starting => return begun.map(|()| true),
        () = signals.next() => {}
    }
    if beginning.stop() {
        tokio::select! {
            // How it ended does not matter: the loads that have begun are in `loads`.
            _ = starting => {}
            () = signals.again() => {}
        }
    }
    Ok(false)
}

/// Starts all loads, one after the other. `begun` has those that have started, also if this fails
/// or is dropped.
async fn start(
    plans: Vec<LoadPlan>,
    watching: &Watching,
    beginning: &BeginningHandle,
    begun: &mut Vec<RunningLoad>,
) -> Result<()> {
    let mut loaders = Vec::new();
    for plan in plans {
        let name = plan.config.index.as_str().to_owned();
        loaders.push((name, plan.loader().await.map_err(load::usage)?));
    }
    // All are ready before the first load changes anything in the cluster.
    let mut ready = Vec::new();
    for (name, (loader, source)) in loaders {
        let (loader, shown) = watching.observe(loader.stopped_by(beginning.clone()), &name);
        ready.push((shown, loader.ready(source).await.map_err(load::usage)?));
    }
    for (shown, ready) in ready {
        let load = ready.start().await.map_err(load::usage)?;
        watching.begun(shown, &load);
        begun.push(load);
    }
    Ok(())
}

fn stop_handles(loads: &[RunningLoad]) -> Vec<StopHandle> {
    loads.iter().map(RunningLoad::stop_handle).collect()
}

/// Waits for the loads to end. `names` begins with the names of these loads.
async fn finish(names: Vec<String>, loads: Vec<RunningLoad>) -> Vec<(String, Report)> {
    let mut reports = Vec::new();
    for (name, load) in names.into_iter().zip(loads) {
        reports.push((name, load.finish().await));
    }
    reports
}

/// The combined progress of all loads.
fn all_progress(names: &[String], loads: &[RunningLoad]) -> watch::Receiver<Progress> {
    let each: Vec<watch::Receiver<Progress>> = loads.iter().map(RunningLoad::progress).collect();
    let (sender, all) = watch::channel(Progress::default());
    let mut reasons = Reasons::new(names);
    tokio::spawn(async move {
        // The interval at which a load reports its progress.
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let now: Vec<Progress> = each.iter().map(|load| load.borrow().clone()).collect();
            // A load whose sender was dropped has ended.
            let ended = each.iter().all(|load| load.has_changed().is_err() || load.borrow().phase == Phase::Done);
            let mut all = sum(&now);
            all.plan_why = reasons.last(&now);
            if sender.send(all).is_err() || ended {
                return;
            }
        }
    });
    all
}

/// Finds the reason of the last change of a plan among several loads.
struct Reasons {
    /// The name and the last reason of each load.
    known: Vec<(String, Option<Arc<str>>)>,
    last: Option<Arc<str>>,
}

impl Reasons {
    fn new(names: &[String]) -> Self {
        Reasons { known: names.iter().map(|name| (name.clone(), None)).collect(), last: None }
    }

    /// The reason of the last change, behind the name of its load.
    fn last(&mut self, loads: &[Progress]) -> Option<Arc<str>> {
        for ((name, known), load) in self.known.iter_mut().zip(loads) {
            if *known != load.plan_why {
                known.clone_from(&load.plan_why);
                self.last = known.as_ref().map(|why| format!("{name}: {why}").into());
            }
        }
        self.last.clone()
    }
}

fn sum(loads: &[Progress]) -> Progress {
    let mut all = Progress::default();
    all.bytes_total = Some(0);
    let mut counts = Tally::default();
    for load in loads {
        all.docs_read += load.docs_read;
        all.docs_settled += load.docs_settled;
        all.docs_dead_lettered += load.docs_dead_lettered;
        all.docs_superseded += load.docs_superseded;
        counts.absorb(&load.counts, &BTreeMap::new(), &[]);
        all.bytes_read += load.bytes_read;
        all.bytes_total = all.bytes_total.zip(load.bytes_total).map(|(all, load)| all + load);
        all.bytes_sent += load.bytes_sent;
        all.retried_items += load.retried_items;
        all.requests += load.requests;
        all.in_flight += load.in_flight;
        all.plan_in_flight += load.plan_in_flight;
        all.memory_bytes += load.memory_bytes;
        all.plan_batch_bytes = all.plan_batch_bytes.max(load.plan_batch_bytes);
        all.rows_read = all.rows_read.max(load.rows_read);
        all.rows_total = all.rows_total.max(load.rows_total);
        all.seconds = all.seconds.max(load.seconds);
    }
    all.counts = counts.counts;
    // The phase of the load that is furthest behind.
    let rank = |phase: &Phase| match phase {
        Phase::Paused(_) => 0,
        Phase::Draining(_) => 1,
        Phase::Starting => 2,
        Phase::Idle => 4,
        Phase::PuttingBack => 5,
        Phase::Refreshing => 6,
        Phase::Verifying => 7,
        Phase::Finishing { .. } => 8,
        Phase::Done => 9,
        // Loading, or a bake.
        _ => 3,
    };
    all.phase = loads.iter().map(|load| &load.phase).min_by_key(|phase| rank(phase)).cloned().unwrap_or_default();
    all
}

/// The most serious of several exit statuses: interrupted, failed, documents not in, a check
/// failed, success.
fn worst(statuses: impl Iterator<Item = u8>) -> u8 {
    let order = [130, 1, 3, 4, 0];
    statuses.min_by_key(|status| order.iter().position(|known| known == status)).unwrap_or_default()
}

fn print(reports: &[(String, Report)], status: u8, output: &OutputArgs, stderr: &Stderr) -> Result<()> {
    for (name, report) in reports {
        if let Some(problem) = summary::problem(report) {
            let label = report.code().map_or_else(|| "error".to_owned(), label);
            let _ = writeln!(stderr.clone(), "{label}: {name}: {problem}");
        }
    }
    let text = if output.json {
        let all = json!({
            "exit_status": status,
            "outputs": reports.iter().map(|(name, report)| json!({ "output": name, "report": report })).collect::<Vec<_>>(),
        });
        format!("{all}\n")
    } else if output.quiet {
        reports.iter().for_each(|(_, report)| load::warn(&report.warnings, &mut stderr.clone()));
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
    fn the_reason_of_a_plan_is_that_of_the_load_that_changed_last() {
        let load = |why: Option<&str>| {
            let mut load = Progress::default();
            load.plan_why = why.map(Arc::from);
            load
        };
        let mut reasons = Reasons::new(&["a".to_owned(), "b".to_owned()]);
        let mut last = |a, b| reasons.last(&[load(a), load(b)]).map(|why| why.to_string());
        assert_eq!(last(None, None), None);
        assert_eq!(last(None, Some("slow")).as_deref(), Some("b: slow"));
        assert_eq!(last(Some("429"), Some("slow")).as_deref(), Some("a: 429"));
        assert_eq!(last(Some("429"), Some("slow")).as_deref(), Some("a: 429"));
    }

    #[test]
    fn progress_is_that_of_all_and_the_phase_of_the_last() {
        let load = |docs, bytes_total, phase| {
            let mut load = Progress::default();
            (load.docs_read, load.bytes_total, load.phase) = (docs, bytes_total, phase);
            load
        };
        let all = sum(&[load(3, Some(10), Phase::Done), load(4, Some(20), Phase::Loading)]);
        assert_eq!((all.docs_read, all.bytes_total, all.phase), (7, Some(30), Phase::Loading));
        assert_eq!(sum(&[load(0, None, Phase::Done), load(0, Some(1), Phase::Done)]).bytes_total, None);
    }
}
