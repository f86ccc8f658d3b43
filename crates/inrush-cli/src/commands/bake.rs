//! `inrush bake`.

use std::io::Write;

use anyhow::{Context, Result};
use inrush_bake::{BakeConfig, BakeError, Baker, Cost, Estimate, OpenSource};
use inrush_commands::bake::BakePlan;
use inrush_core::Code;
use inrush_page::{JobPage, WatchConfig};
use tokio::sync::oneshot;

use super::load;
use super::signals::Signals;
use crate::args::{BakeArgs, OutputArgs};
use crate::failure::{ExitStatus, UsageError};
use crate::index_segments;
use crate::job::{self, Job};
use crate::logging::{self, Stderr};
use crate::progress::{self, Display, Opening};
use crate::report_file::ReportFile;
use crate::summary::Rows;
use crate::units::{bytes, count, counted, seconds};
use crate::watching::Watching;

/// Bakes, reports, and returns the exit status.
pub(crate) async fn run(args: BakeArgs) -> Result<u8> {
    let job = job::complete(args.load, Some(args.bake.0))?;
    let stderr = Stderr::new();
    logging::start(&job.output.log, job.output.quiet, &stderr);
    if job.run.explain {
        return Err(UsageError::new(Code::OptionsConflict, "--explain is given, but a bake has no query")
            .hint("leave it out")
            .into());
    }
    go(job, None, stderr).await
}

/// Bakes with the options of a job file. `whole` is the page of the job that the bake is a part of.
pub(crate) async fn go(job: Job, whole: Option<JobPage>, stderr: Stderr) -> Result<u8> {
    let environment = load::environment(&job);
    let Job { options, bake, run, output, folder: _, outputs: _ } = job;
    if run.dry_run && options.resume.resume {
        let message = "--dry-run reads the beginning of the sources, but --resume continues in the middle";
        return Err(UsageError::new(Code::OptionsConflict, message).hint("leave one of them out").into());
    }
    let report_file = ReportFile::new(run.report, &options)?;
    if run.dry_run {
        options.watch.refuse("a dry run").map_err(load::refused)?;
    }
    let plan = bake.unwrap_or_default().resolve(options, &environment).await.map_err(explain)?;
    let BakePlan { config, sources, notes, estimate: sample, watch } = plan;
    load::tell(&notes, output.quiet, &stderr);
    if run.dry_run {
        if sample.is_some() {
            return Err(UsageError::new(
                Code::OptionsConflict,
                "--dry-run writes nothing, but --estimate builds a sample",
            )
            .hint("leave one of them out")
            .into());
        }
        let found = inrush_bake::dry_run(config, sources).await.map_err(explain)?;
        return super::dry_run::print(&output, &found);
    }
    if let Some(sample) = sample {
        return estimate(config, sources, sample, &output, stderr).await;
    }
    let (name, of_target) = (config.load.index.as_str().to_owned(), config.load.clone());
    let baker = Baker::new(config, sources).map_err(explain)?;
    let watch = WatchConfig { job: whole, ..watch };
    let mut watching =
        Watching::start(watch, report_file.is_wanted(), output.quiet, &stderr).await.map_err(load::refused)?;
    if let Some(view) = watching.segments() {
        index_segments::ask(view, &of_target, [name.as_str()]);
    }

    let signals = Signals::new()?;
    let (bake, page) = watching.bake(&name, baker);
    watching.report(page.as_ref()).map_err(load::refused)?;
    let display = Display::detect(output.quiet, output.log.log_json);
    let shown = Opening::show(display, stderr.clone()).begun(bake.progress());
    let told = run.report_every.map(|every| tokio::spawn(progress::report(bake.progress(), every.get(), super::print)));
    let stop = bake.stop_handle();
    tokio::spawn(stop_on_signals(signals, stderr.clone(), "the target stays in its former state", move || stop.stop()));
    let ended = bake.finish().await;
    // The report is the last text.
    progress::ended(Some(shown)).await;
    progress::ended(told).await;
    if let (Some(page), Ok(report)) = (&page, &ended) {
        page.ended(&report.load);
    }
    watching.end().await;
    match ended {
        Ok(report) => {
            report_file.write(&[(&name, &report)], page.as_slice(), &stderr).await;
            load::print_bake(&report, &output, stderr)?;
            Ok(report.exit_code())
        }
        Err(error) => failed(error, "nothing was loaded, and the target is in its former state", stderr),
    }
}

/// The first signal ends the work in order. Ctrl-C a second later or more ends the process at once.
async fn stop_on_signals(mut signals: Signals, mut stderr: Stderr, what_follows: &str, stop: impl FnOnce()) {
    signals.next().await;
    let _ = writeln!(stderr, "interrupted: {what_follows}; press Ctrl-C again after a second to exit at once");
    stop();
    signals.again().await;
    stderr.exit(i32::from(ExitStatus::Interrupted.code()));
}

/// Makes the estimate, prints it, and returns the exit status.
async fn estimate(
    config: BakeConfig,
    sources: OpenSource,
    sample: usize,
    output: &OutputArgs,
    stderr: Stderr,
) -> Result<u8> {
    let signals = Signals::new()?;
    let (stopping, stopped) = oneshot::channel();
    let stop = move || {
        // An estimate that has ended needs no stop.
        let _ = stopping.send(());
    };
    tokio::spawn(stop_on_signals(signals, stderr.clone(), "the index and the files of the estimate are deleted", stop));
    // The sender lives until it has sent.
    let stopped = async { stopped.await.unwrap_or_default() };
    let found = match inrush_bake::estimate(config, sources, sample, stopped).await {
        Ok(found) => found,
        Err(error) => return failed(error, "the index and the files of the estimate are deleted", stderr),
    };
    let text = match output.json {
        true => serde_json::to_string(&found).context("cannot write the estimate as JSON")? + "\n",
        false => told(&found),
    };
    super::print(&text)?;
    Ok(0)
}

fn told(found: &Estimate) -> String {
    let mut rows = Rows::default();
    let cost = |cost: &Cost| format!("{}, {} of processors", seconds(cost.seconds), seconds(cost.cpu_seconds));
    let times = found.factor.map_or_else(
        || "the size of the source is unknown: these are the costs of the sample".to_owned(),
        |f| format!("the source is {f:.1} times as large"),
    );
    rows.add("sample", format!("{} documents; {times}", count(found.sample_docs)));
    rows.add("index", format!("{} without replicas; {}", bytes(found.index_bytes), counted(found.replicas, "replica")));
    rows.add("load, target", cost(&found.load));
    rows.add("bake, target", cost(&found.bake_on_target));
    rows.add(
        "bake with a builder, in all",
        format!("{}; of these to start the builder {}", cost(&found.bake), cost(&found.builder_start)),
    );
    rows.add("assumes", "the target's processors are as fast as this machine's, and do nothing else; see docs/bake.md");
    rows.text()
}

/// Reports a bake or estimate that ended without a report. `as_before`: the message for one that
/// was interrupted and has left nothing behind.
fn failed(error: BakeError, as_before: &str, mut stderr: Stderr) -> Result<u8> {
    if !error.is_interrupted() {
        return Err(explain(error));
    }
    let _ = match error {
        BakeError::Interrupted => writeln!(stderr, "interrupted: {as_before}"),
        BakeError::Unfinished { left, resumable: false, .. } if left.is_empty() => {
            writeln!(stderr, "interrupted: {as_before}")
        }
        error => writeln!(stderr, "{error}"),
    };
    Ok(ExitStatus::Interrupted.code())
}

fn explain(error: BakeError) -> anyhow::Error {
    match error {
        BakeError::Load(error) => load::usage(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_told_side_by_side() {
        let cost = |seconds, cpu_seconds| Cost { seconds, cpu_seconds };
        let found = Estimate {
            sample_docs: 1000,
            factor: Some(12.5),
            replicas: 1,
            load: cost(100.0, 200.0),
            bake: cost(130.0, 240.0),
            bake_on_target: cost(2.0, 1.0),
            builder_start: cost(20.0, 25.0),
            index_bytes: 3 << 20,
        };
        let text = told(&found);
        assert!(text.contains("1,000 documents; the source is 12.5 times as large"), "{text}");
        assert!(text.contains("load, target") && text.contains("1 replica"), "{text}");
        assert!(told(&Estimate { factor: None, ..found }).contains("the costs of the sample"));
    }
}
