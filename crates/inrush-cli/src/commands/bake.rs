//! `inrush bake`.

use std::io::Write;

use anyhow::Result;
use inrush_bake::{BakeError, Baker};
use inrush_commands::bake::BakePlan;
use inrush_core::Code;

use super::load;
use super::signals::Signals;
use crate::args::BakeArgs;
use crate::failure::{ExitStatus, UsageError};
use crate::index_segments;
use crate::job::{self, Job};
use crate::logging::{self, Stderr};
use crate::progress::{self, Display, Opening};
use crate::report_file::ReportFile;
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
    go(job, stderr).await
}

/// Bakes with the options of a job file.
pub(crate) async fn go(job: Job, stderr: Stderr) -> Result<u8> {
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
    let BakePlan { config, sources, notes, watch } = plan;
    load::tell(&notes, output.quiet, &stderr);
    if run.dry_run {
        let found = inrush_bake::dry_run(config, sources).await.map_err(explain)?;
        return super::dry_run::print(&output, &found);
    }
    let (name, of_target) = (config.load.index.as_str().to_owned(), config.load.clone());
    let baker = Baker::new(config, sources).map_err(explain)?;
    let watching =
        Watching::start(watch, report_file.is_wanted(), &stderr.say(output.quiet)).await.map_err(load::refused)?;
    if let Some(view) = watching.segments() {
        index_segments::ask(view, &of_target, [name.as_str()]);
    }

    let signals = Signals::new()?;
    let (bake, page) = watching.bake(&name, baker);
    let display = Display::detect(output.quiet, output.log.log_json);
    let shown = Opening::show(display, stderr.clone()).begun(bake.progress());
    let told = run.report_every.map(|every| tokio::spawn(progress::report(bake.progress(), every.get(), super::print)));
    let stop = bake.stop_handle();
    tokio::spawn(stop_on_signals(signals, stderr.clone(), move || stop.stop()));
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
        Err(error) => failed(error, stderr),
    }
}

/// The first signal ends the work in order. Ctrl-C a second later or more ends the process at once.
async fn stop_on_signals(mut signals: Signals, mut stderr: Stderr, stop: impl FnOnce()) {
    signals.next().await;
    let _ = writeln!(
        stderr,
        "interrupted: the target stays in its former state; press Ctrl-C again after a second to exit at once"
    );
    stop();
    signals.again().await;
    stderr.exit(i32::from(ExitStatus::Interrupted.code()));
}

/// Reports a bake that ended without a report.
fn failed(error: BakeError, mut stderr: Stderr) -> Result<u8> {
    if !error.is_interrupted() {
        return Err(explain(error));
    }
    let as_before = "nothing was loaded, and the target is in its former state";
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
