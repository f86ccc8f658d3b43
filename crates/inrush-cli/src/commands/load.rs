//! `inrush load`.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use anyhow::{Context, Result};
use inrush::bake::BakeReport;
use inrush::cluster::ClusterError;
use inrush::config::{Limits, LoadConfig};
use inrush::source::Source;
use inrush::transport::HttpErrorKind;
use inrush::{LoadError, Loader, PauseHandle, Report, RunningLoad, StopHandle};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::outputs;
use super::signals::Signals;
use super::source::{self, Model};
use crate::args::{IndexArgs, LoadArgs, OutputArgs, SourceArgs};
use crate::auth::{self, Surroundings};
use crate::failure::{Busy, ExitStatus, Hint, UsageError};
use crate::job;
use crate::keys::Keys;
use crate::logging::{self, Stderr};
use crate::plain::inline;
use crate::progress::{self, Display};
use crate::sql::{self, Tables};
use crate::{no_threads, options, summary};

/// Loads, reports, and returns the exit status. `command_line` are the arguments after `inrush load`.
pub(crate) async fn run(args: LoadArgs, command_line: &[OsString]) -> Result<u8> {
    let job = job::complete(args, None, command_line)?;
    let output = job.args.output.clone();
    let stderr = Stderr::new();
    logging::start(&output.log, output.quiet, &stderr);
    if job.args.source.explain {
        let each = if job.outputs.is_empty() { vec![&job] } else { job.outputs.iter().collect() };
        for job in each {
            explain(&job.args).await?;
        }
        return Ok(0);
    }
    if !job.outputs.is_empty() {
        return outputs::run(job, &stderr).await;
    }
    if job.bake.is_some() {
        // Its job file says so.
        return super::bake::go(job, stderr).await;
    }
    let mut config = options::config(&job, &Surroundings::of_process())?;
    let source::Opened { source, model } = source::open(&job.args, &mut config).await?;
    super::mapping::of_load(&job.args.source, &job.args.index, &mut config).await?;
    let quiet = output.quiet;
    let (bytes, ids) = (source.bytes_total(), source.has_ids());
    super::shards::of_load(&job.args.source, &job.args.index, bytes, ids, &mut config, quiet, &stderr).await?;
    if job.args.errors.dry_run {
        return super::dry_run::run(&output, config, source, model).await;
    }
    let reads_stdin = job.args.source.sources.iter().any(|source| source == "-");
    confirm(&job.args.index, &mut config, somebody_is_there())?;
    super::node::confirm_local(&job.args.index.to, somebody_is_there()).await?;

    // From here on a signal is ours; before, it ends the process as usual, prompts included.
    let mut signals = Signals::new()?;
    let pauses = signal(SignalKind::user_defined1()).context("cannot catch signals")?;
    let load = tokio::select! {
        load = start(config, source, model, output.quiet, &stderr) => match load {
            // A job runner that starts the load again while it runs has nothing to be told.
            Err(error) if output.quiet && job.args.resume.once && error.is::<Busy>() => return Ok(ExitStatus::Busy.code()),
            load => load?,
        },
        () = signals.next() => {
            let _ = writeln!(stderr.clone(), "interrupted: nothing was sent");
            return Ok(ExitStatus::Interrupted.code());
        }
    };
    let display = Display::detect(output.quiet, output.log.log_json);
    let shown = tokio::spawn(progress::show(load.progress(), display, stderr.clone()));
    tokio::spawn(pause_on_signals(pauses, vec![load.pause_handle()]));
    let keys = listen_to_keys(vec![load.pause_handle()], display, reads_stdin);
    tokio::spawn(stop_on_signals(signals, vec![load.stop_handle()], keys.clone(), stderr.clone()));
    let report = load.finish().await;
    if let Some(keys) = keys {
        keys.restore();
    }
    // The progress line is cleared before the report is printed; how it fared does not matter any more.
    let _ = shown.await;
    print(&report, job.args.resume.once, &output, stderr)?;
    Ok(report.exit_code())
}

/// Finds the cluster, and begins.
pub(crate) async fn start(
    mut config: LoadConfig,
    source: Box<dyn Source>,
    model: Option<Model>,
    quiet: bool,
    stderr: &Stderr,
) -> Result<RunningLoad> {
    if config.to.is_empty() {
        config.to = vec![super::node::local(quiet, stderr).await?];
    }
    if let Some(model) = model {
        model.copy(&mut config).await?;
    }
    Loader::new(config).map_err(usage)?.start(source).await.map_err(usage)
}

/// Prints what a query is going to do.
async fn explain(args: &LoadArgs) -> Result<()> {
    let SourceArgs { sources, reading, sql, .. } = &args.source;
    let Some(query) = sql::query(sql)? else {
        return Err(UsageError::new("--explain means nothing without a query").hint("give one with --sql").into());
    };
    source::check_files(sources, reading)?;
    let bytes_max = Limits::default().document_bytes_max;
    let input = options::sources(sources, reading)?;
    let text = Tables { args: sql, input, format: options::format(reading, bytes_max)? }.explain(&query).await?;
    super::print(&text)
}

/// What cannot be undone is done only when somebody has said so, with a flag or when `ask`ed.
pub(crate) fn confirm(args: &IndexArgs, config: &mut LoadConfig, ask: bool) -> Result<()> {
    confirm_recreate(args, config, ask)?;
    confirm_replicas_off(args, config, ask)
}

fn confirm_recreate(args: &IndexArgs, config: &LoadConfig, ask: bool) -> Result<()> {
    if !args.recreate || args.yes {
        return Ok(());
    }
    let name = config.index.as_str();
    if !ask {
        let message = format!("--recreate deletes {name} with all its documents, and there is nobody to ask");
        return Err(UsageError::new(message).hint("add --yes if that is meant").into());
    }
    let at = config.to.first().map_or("the local node", String::as_str);
    ask_for(&format!("Delete index {name} at {at} with all its documents?"))
}

/// An index with documents keeps its replicas unless somebody says otherwise. Where nobody can be asked, the load is refused
/// once it is known that there are documents.
fn confirm_replicas_off(args: &IndexArgs, config: &mut LoadConfig, ask: bool) -> Result<()> {
    if args.replicas_off && !args.yes && !args.recreate && ask {
        let name = config.index.as_str();
        ask_for(&format!(
            "If {name} holds documents, a node that is lost during the load takes some along. Replicas off?"
        ))?;
        config.guard.replicas_off_confirmed = true;
    }
    Ok(())
}

pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

pub(super) fn ask_for(question: &str) -> Result<()> {
    let _ = write!(std::io::stderr(), "{} [y/N] ", inline(question));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(UsageError::new("not confirmed; nothing was done").into())
}

/// Which errors before the first document are the user's to mend on the command line.
pub(super) fn usage(error: impl Into<LoadError>) -> anyhow::Error {
    match error.into() {
        LoadError::Usage(message) => UsageError::new(message).into(),
        LoadError::Setup(error) => auth::usage(error),
        LoadError::Busy(message) => Busy(message).into(),
        error @ (LoadError::DeadLetters { .. } | LoadError::State(_)) => UsageError::new(error.to_string()).into(),
        LoadError::Cluster(ClusterError::Http(error)) if error.kind == HttpErrorKind::NotSent => {
            let hint =
                "check that the cluster runs and that --to names its address, with http:// or https:// as it speaks";
            anyhow::Error::new(error).context(Hint(hint.to_owned()))
        }
        error @ LoadError::Threads { .. } => anyhow::Error::new(error).context(no_threads::hint()),
        LoadError::Cluster(error) => error.into(),
        LoadError::Source(error) => error.into(),
    }
}

/// The first signal ends the load in order, Ctrl-C a second later or more at once.
pub(super) async fn stop_on_signals(
    mut signals: Signals,
    loads: Vec<StopHandle>,
    keys: Option<Arc<Keys>>,
    stderr: Stderr,
) {
    signals.next().await;
    stop_after_signal(signals, loads, keys, stderr).await;
}

/// The same, where the first one has come.
pub(super) async fn stop_after_signal(
    mut signals: Signals,
    loads: Vec<StopHandle>,
    keys: Option<Arc<Keys>>,
    mut stderr: Stderr,
) {
    let _ = writeln!(stderr, "interrupted: waiting for what is under way; Ctrl-C a second later to leave at once");
    loads.iter().for_each(StopHandle::stop);
    signals.again().await;
    if let Some(keys) = keys {
        keys.restore();
    }
    std::process::exit(i32::from(ExitStatus::Interrupted.code()));
}

/// SIGUSR1 pauses the load, the next one lets it go on.
pub(super) async fn pause_on_signals(mut signals: Signal, loads: Vec<PauseHandle>) {
    while signals.recv().await.is_some() {
        loads.iter().for_each(PauseHandle::toggle);
    }
}

/// `p` and space do the same, where somebody sits before a terminal that is not the source.
pub(super) fn listen_to_keys(loads: Vec<PauseHandle>, display: Display, reads_stdin: bool) -> Option<Arc<Keys>> {
    if display != Display::Terminal || reads_stdin {
        return None;
    }
    let keys = Arc::new(Keys::listen(move || loads.iter().for_each(PauseHandle::toggle))?);
    // From now on these would leave the terminal changed.
    let suspend = signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()));
    if let (Ok(mut suspend), Ok(mut quit)) = (suspend, signal(SignalKind::quit())) {
        let keys = Arc::clone(&keys);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = suspend.recv() => keys.suspend(),
                    _ = quit.recv() => {
                        keys.restore();
                        std::process::exit(QUIT);
                    }
                }
            }
        });
    }
    Some(keys)
}

/// What shells show for a process that SIGQUIT has ended.
const QUIT: i32 = 128 + 3;

/// The report on stdout; a reader that has left is no error. What went wrong stands on stderr, too,
/// where those look who keep no results. `once`: the load is to be made once.
pub(super) fn print(report: &Report, once: bool, output: &OutputArgs, stderr: Stderr) -> Result<()> {
    print_as(report, report, || summary::text(report, once), output, stderr)
}

/// The same of a bake.
pub(super) fn print_bake(report: &BakeReport, output: &OutputArgs, stderr: Stderr) -> Result<()> {
    print_as(&report.load, report, || summary::text_of_bake(report), output, stderr)
}

fn print_as(
    report: &Report,
    json: &impl Serialize,
    text: impl FnOnce() -> String,
    output: &OutputArgs,
    mut stderr: Stderr,
) -> Result<()> {
    if let Some(problem) = summary::problem(report) {
        let _ = writeln!(stderr, "error: {problem}");
    }
    let text = if output.json {
        let mut text = serde_json::to_string(json).context("cannot write the report as JSON")?;
        text.push('\n');
        text
    } else if output.quiet {
        return Ok(());
    } else {
        text()
    };
    super::print(&text)
}
