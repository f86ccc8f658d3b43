//! `inrush load`.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use inrush_bake::BakeReport;
use inrush_cluster::transport::Secret;
use inrush_commands::options::{Confirmation, Environment, LoadOptions, LoadPlan, ShapeOptions, Use};
use inrush_core::Code;
pub(crate) use inrush_front::errors::{refused, usage};
use inrush_front::local_node;
use inrush_load::{BeginningHandle, LoadError, PauseHandle, Report, RunningLoad, StopHandle};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::outputs;
use super::signals::Signals;
use crate::args::{LoadArgs, OutputArgs};
use crate::failure::{Busy, ExitStatus, UsageError, label, print_json, print_more};
use crate::job::{self, Job};
use crate::keys::Keys;
use crate::logging::{self, Stderr};
use crate::plain::{inline, quoted};
use crate::progress::{self, Display, Opening};
use crate::report_file::ReportFile;
use crate::summary::Again;
use crate::watching::{self, Watching};
use crate::{index_segments, summary};

/// Loads, reports, and returns the exit status.
pub(crate) async fn run(args: LoadArgs) -> Result<u8> {
    let job = job::complete(args, None)?;
    let stderr = Stderr::new();
    logging::start(&job.output.log, job.output.quiet, &stderr);
    if job.run.explain {
        return explain(&job).await;
    }
    if !job.outputs.is_empty() {
        return outputs::run(job, &stderr).await;
    }
    if job.bake.is_some() {
        // The job file sets the mode `bake`.
        return super::bake::go(job, stderr).await;
    }
    let environment = environment(&job);
    let Job { options, bake: _, run, output, folder: _, outputs: _ } = job;
    if run.dry_run && options.resume.resume {
        let message = "--dry-run reads the beginning of the sources, but --resume continues in the middle";
        return Err(UsageError::new(Code::OptionsConflict, message).hint("leave one of them out").into());
    }
    let report_file = ReportFile::new(run.report, &options)?;
    tell_of_terminal(&options);
    let (from_stdin, once) = (reads_stdin(&options), options.resume.once);
    let again = Again { once, flags: flags_of_cluster(&options), shape: flags_of_shape(&options.shape) };
    let what = if run.dry_run { Use::DryRun } else { Use::Load };
    let plan = options.resolve_for(what, &environment).await.map_err(usage)?;
    tell(&plan.notes, output.quiet, &stderr);
    if run.dry_run {
        return super::dry_run::print(&output, &plan.dry_run().await.map_err(usage)?);
    }
    let mut plan = confirm(plan, has_terminal())?;
    let (watch, name) = watching::of_plan(&mut plan);
    let watching = Watching::start(watch, report_file.is_wanted(), &stderr.say(output.quiet)).await.map_err(refused)?;

    // From here on this process handles signals. Before, they end the process as usual, prompts
    // included.
    let mut signals = Signals::new()?;
    let pauses = signal(SignalKind::user_defined1()).context("cannot catch signals")?;
    let display = Display::detect(output.quiet, output.log.log_json);
    let opening = Opening::show(display, stderr.clone());
    let beginning = BeginningHandle::default();
    let starting = start(plan, &name, (&watching, &report_file), &beginning, (output.quiet, &stderr));
    let begun = begin_unless_stopped(starting, &beginning, &mut signals).await;
    let load = match begun {
        Ok(load) => load,
        Err(why) => {
            opening.end().await;
            return not_begun(why, output.quiet && once, stderr);
        }
    };
    let shown = opening.begun(load.progress());
    let told = run.report_every.map(|every| tokio::spawn(progress::report(load.progress(), every.get(), super::print)));
    tokio::spawn(pause_on_signals(pauses, vec![load.pause_handle()]));
    let keys = listen_to_keys(vec![load.pause_handle()], display, from_stdin, &stderr);
    tokio::spawn(stop_on_signals(signals, vec![load.stop_handle()], keys.clone(), stderr.clone()));
    let report = load.finish().await;
    if let Some(keys) = keys {
        keys.restore();
    }
    // The report is the last text.
    progress::ended(Some(shown)).await;
    progress::ended(told).await;
    report_file.write(&[(&name, &report)], &watching.shown(), &stderr).await;
    watching.end().await;
    print(&report, again, &output, stderr)?;
    Ok(report.exit_code())
}

/// Waits until the load has begun. A signal stops it: `Err(None)`. What it has made in the cluster
/// by then is taken back; a second Ctrl-C does not wait for that.
async fn begin_unless_stopped(
    starting: impl Future<Output = Result<RunningLoad>>,
    beginning: &BeginningHandle,
    signals: &mut Signals,
) -> Result<RunningLoad, Option<anyhow::Error>> {
    let mut starting = std::pin::pin!(starting);
    tokio::select! {
        load = &mut starting => return load.map_err(Some),
        () = signals.next() => {}
    }
    if !beginning.stop() {
        return Err(None);
    }
    tokio::select! {
        ended = starting => match ended {
            // It had begun when the signal came, and ends as any load that is stopped.
            Ok(load) => {
                load.stop_handle().stop();
                Ok(load)
            }
            Err(error) if matches!(error.downcast_ref(), Some(LoadError::Stopped)) => Err(None),
            Err(error) => Err(Some(error)),
        },
        () = signals.again() => Err(None),
    }
}

/// Prints the tables and plans of the queries.
async fn explain(job: &Job) -> Result<u8> {
    let each = if job.outputs.is_empty() { vec![&job.options] } else { job.outputs.iter().collect() };
    for options in each {
        super::print(&options.explain().await.map_err(usage)?)?;
    }
    Ok(0)
}

/// The exit status of a load that did not begin, because of an error or of a signal. `is_silent`: a
/// job runner starts the load again while it runs.
fn not_begun(why: Option<anyhow::Error>, is_silent: bool, mut stderr: Stderr) -> Result<u8> {
    match why {
        Some(error) if is_silent && error.is::<Busy>() => Ok(ExitStatus::Busy.code()),
        Some(error) => Err(error),
        None => {
            let why = "interrupted: nothing was sent";
            let _ = writeln!(stderr, "{why}");
            print_json(ExitStatus::Interrupted, Code::Interrupted, why, None);
            Ok(ExitStatus::Interrupted.code())
        }
    }
}

/// The parts of this process that a load depends on.
pub(crate) fn environment(job: &Job) -> Environment {
    let environment = with_prompt(Environment::of_process());
    match &job.folder {
        Some(folder) => environment.in_folder(folder),
        None => environment,
    }
}

/// The environment of this process, with a prompt for passwords if there is a terminal.
pub(super) fn with_prompt(environment: Environment) -> Environment {
    if !has_terminal() {
        return environment;
    }
    environment.with_prompt(|what| rpassword::prompt_password(format!("{what}: ")).map(Secret::new))
}

/// Prints the notes about automatic choices.
pub(crate) fn tell(notes: &[String], quiet: bool, stderr: &Stderr) {
    for note in notes.iter().filter(|_| !quiet) {
        // If stderr is closed, there is no other place to report it.
        let _ = writeln!(stderr.clone(), "{note}");
    }
}

fn reads_stdin(options: &LoadOptions) -> bool {
    options.source.sources.iter().any(|source| source == "-")
}

/// Warns that the load waits for input from the terminal.
pub(super) fn tell_of_terminal(options: &LoadOptions) {
    if reads_stdin(options) && std::io::stdin().is_terminal() {
        tracing::warn!("reading from the terminal; press Ctrl-D on an empty line to end the input");
    }
}

/// Finds the cluster, and starts the load.
async fn start(
    mut plan: LoadPlan,
    name: &str,
    (watching, report_file): (&Watching, &ReportFile),
    beginning: &BeginningHandle,
    (quiet, stderr): (bool, &Stderr),
) -> Result<RunningLoad> {
    if let (Some(local), true) = (&plan.local, plan.config.to.is_empty()) {
        plan.config.to = vec![local_node::url(local.is_named, &stderr.say(quiet && local.is_named)).await?];
    }
    report_file.examine(&plan.config);
    if let Some(view) = watching.segments() {
        index_segments::ask(view, &plan.config, [plan.config.index.as_str()]);
    }
    let (loader, source) = plan.loader().await.map_err(usage)?;
    let (loader, shown) = watching.observe(loader.stopped_by(beginning.clone()), name);
    let load = loader.start(source).await.map_err(usage)?;
    watching.begun(shown, &load);
    Ok(load)
}

/// Confirms steps that cannot be undone. Each needs an option, or the answer of a user who is
/// `ask`ed.
pub(crate) fn confirm(mut plan: LoadPlan, ask: bool) -> Result<LoadPlan> {
    for confirmation in plan.confirmations.clone() {
        if ask {
            ask_for(&confirmation.question())?;
        } else if let Some(refusal) = confirmation.refusal() {
            return Err(UsageError::from(refusal).into());
        } else if let Confirmation::ReplicasOff { .. } = confirmation {
            // The load refuses it as soon as it knows that there are documents.
            continue;
        }
        plan.confirm(&confirmation);
    }
    Ok(plan)
}

pub(super) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

pub(super) fn ask_for(question: &str) -> Result<()> {
    let _ = write!(std::io::stderr(), "{} [y/N] ", inline(question));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(UsageError::new(Code::NotConfirmed, "not confirmed; nothing was done").into())
}

/// Waits for the first signal, which ends the load in order. Ctrl-C a second later or more ends the
/// process at once.
pub(super) async fn stop_on_signals(
    mut signals: Signals,
    loads: Vec<StopHandle>,
    keys: Option<Arc<Keys>>,
    stderr: Stderr,
) {
    signals.next().await;
    stop_after_signal(signals, loads, keys, stderr).await;
}

/// Ends the loads in order after the first signal.
pub(super) async fn stop_after_signal(
    mut signals: Signals,
    loads: Vec<StopHandle>,
    keys: Option<Arc<Keys>>,
    mut stderr: Stderr,
) {
    let _ = writeln!(
        stderr,
        "interrupted: waiting for requests in flight; press Ctrl-C again after a second to exit at once"
    );
    loads.iter().for_each(StopHandle::stop);
    signals.again().await;
    if let Some(keys) = keys {
        keys.restore();
    }
    stderr.exit(i32::from(ExitStatus::Interrupted.code()));
}

/// SIGUSR1 pauses the load. The next one resumes it.
pub(super) async fn pause_on_signals(mut signals: Signal, loads: Vec<PauseHandle>) {
    while signals.recv().await.is_some() {
        loads.iter().for_each(PauseHandle::toggle);
    }
}

/// `p` and space pause and resume, if stdin is a terminal and not the source.
pub(super) fn listen_to_keys(
    loads: Vec<PauseHandle>,
    display: Display,
    reads_stdin: bool,
    stderr: &Stderr,
) -> Option<Arc<Keys>> {
    if display != Display::Terminal || reads_stdin {
        return None;
    }
    let keys = Arc::new(Keys::listen(move || loads.iter().for_each(PauseHandle::toggle))?);
    // From now on these signals would leave the terminal in the changed mode.
    let suspend = signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()));
    if let (Ok(mut suspend), Ok(mut quit)) = (suspend, signal(SignalKind::quit())) {
        let (keys, stderr) = (Arc::clone(&keys), stderr.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = suspend.recv() => keys.suspend(),
                    _ = quit.recv() => {
                        keys.restore();
                        stderr.exit(QUIT);
                    }
                }
            }
        });
    }
    Some(keys)
}

/// The exit status that shells show for a process ended by SIGQUIT.
const QUIT: i32 = 128 + 3;

/// Prints the report on stdout. Errors go to stderr, too, for users who discard stdout.
pub(super) fn print(report: &Report, again: Again, output: &OutputArgs, stderr: Stderr) -> Result<()> {
    print_as((report, summary::problem(report)), report, || summary::text(report, again), output, stderr)
}

/// The flags with which a load of the dead letters reaches the same cluster in the same way.
pub(super) fn flags_of_cluster(options: &LoadOptions) -> String {
    let LoadOptions { target, login, .. } = options;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let to = (!target.to.is_empty()).then(|| target.to.join(","));
    let values = [
        ("pipeline", target.pipeline.clone()),
        ("to", to),
        ("user", login.user.clone()),
        ("password-file", path(&login.password_file)),
        ("password-env", login.password_env.clone()),
        ("api-key-file", path(&login.api_key_file)),
        ("api-key-env", login.api_key_env.clone()),
        ("bearer-file", path(&login.bearer_file)),
        ("bearer-env", login.bearer_env.clone()),
        ("ca", path(&login.ca)),
        ("cert", path(&login.cert)),
        ("key", path(&login.key)),
        ("aws-sigv4", login.aws_sigv4.map(|service| service.name().to_owned())),
        ("aws-region", login.aws_region.clone()),
        ("aws-profile", login.aws_profile.clone()),
    ];
    let given = values.into_iter().filter_map(|(name, value)| Some(format!(" --{name} {}", quoted(&value?))));
    let insecure = login.insecure.then(|| " --insecure".to_owned());
    given.chain(insecure).collect()
}

/// The flags that change documents.
pub(super) fn flags_of_shape(shape: &ShapeOptions) -> String {
    let given = shape.shaping().options().into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| format!(" --{} {}", name.replace('_', "-"), quoted(&value))).collect()
}

/// Prints the warnings of a report that is not printed.
pub(super) fn warn(warnings: &[String], stderr: &mut Stderr) {
    for warning in warnings {
        // If stderr is closed, there is no other place to report it.
        let _ = writeln!(stderr, "warning: {}", inline(warning));
    }
}

/// Prints the report of a bake.
pub(super) fn print_bake(report: &BakeReport, output: &OutputArgs, stderr: Stderr) -> Result<()> {
    let problem = summary::problem_of_bake(&report.load, &report.hand_over);
    print_as((&report.load, problem), report, || summary::text_of_bake(report), output, stderr)
}

fn print_as(
    (report, problem): (&Report, Option<String>),
    json: &impl Serialize,
    text: impl FnOnce() -> String,
    output: &OutputArgs,
    mut stderr: Stderr,
) -> Result<()> {
    if let Some(problem) = problem {
        let label = report.code().map_or_else(|| "error".to_owned(), label);
        let _ = writeln!(stderr, "{label}: {problem}");
        report.code().into_iter().for_each(print_more);
    }
    if output.quiet && !output.json {
        warn(&report.warnings, &mut stderr);
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
