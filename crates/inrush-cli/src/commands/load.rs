//! `inrush load`.

use std::io::Write;

use anyhow::{Context, Result};
use inrush::source::{Format, FormatOptions, Source, SourceSpec, Warnings, open};
use inrush::{LoadError, Loader, Report, StopHandle};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{LoadArgs, OutputArgs};
use crate::failure::UsageError;
use crate::{job, logging, options, progress, summary};

/// Loads, reports, and returns the exit status.
pub(crate) async fn run(args: LoadArgs) -> Result<u8> {
    let command_line: Vec<_> = std::env::args_os().skip(2).collect();
    let job = job::complete(args, &command_line)?;
    let output = job.args.output.clone();
    logging::start(&output);
    let mut config = options::config(&job)?;
    let source = open_source(&job.args, config.limits.document_bytes_max)?;
    if config.to.is_empty() {
        config.to = vec![super::node::local(&output).await?];
    }
    let load = Loader::new(config).map_err(usage)?.start(source).await.map_err(usage)?;
    let shown = tokio::spawn(progress::show(load.progress(), output.quiet));
    tokio::spawn(stop_on_signals(load.stop_handle()));
    let report = load.finish().await;
    shown.await.context("the progress stopped")?;
    print(&report, &output)?;
    Ok(report.exit_code())
}

fn open_source(args: &LoadArgs, document_bytes_max: usize) -> Result<Box<dyn Source>> {
    let sources = &args.source.sources;
    if let Some(path) = &args.source.from_dead_letters {
        if !sources.is_empty() {
            return Err(UsageError::new("give sources or --from-dead-letters, not both").into());
        }
        let format =
            FormatOptions { format: Some(Format::DeadLetters), document_bytes_max, ..FormatOptions::default() };
        return Ok(Box::new(open(&[SourceSpec::Path(path.clone())], format, &Warnings::default())?));
    }
    if sources.is_empty() {
        return Err(UsageError::new("nothing to load").hint("name files, globs in quotes, or - for stdin").into());
    }
    let format = options::format(&args.source, document_bytes_max)?;
    let specs: Vec<SourceSpec> = sources.iter().map(SourceSpec::new).collect();
    Ok(Box::new(open(&specs, format, &Warnings::default())?))
}

fn usage(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Usage(message) => UsageError::new(message).into(),
        other => other.into(),
    }
}

/// The first signal ends the load in order, the second one at once.
async fn stop_on_signals(stop: StopHandle) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        tracing::warn!("signals cannot be caught; an interrupt ends the load at once");
        return;
    };
    for first in [true, false] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if first {
            let _ =
                writeln!(std::io::stderr(), "interrupted: waiting for what is under way; once more to leave at once");
            stop.stop();
        } else {
            std::process::exit(130);
        }
    }
}

/// The report on stdout; a reader that has left is no error.
fn print(report: &Report, output: &OutputArgs) -> Result<()> {
    let text = if output.json {
        let mut text = serde_json::to_string(report).context("cannot write the report as JSON")?;
        text.push('\n');
        text
    } else if output.quiet {
        return Ok(());
    } else {
        summary::text(report)
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot print the report"),
    }
}
