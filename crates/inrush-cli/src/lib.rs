//! The command line of `inrush` as a library, for the binary and for the command of the Python
//! package: it parses arguments into a configuration, runs the engine and prints the report.

mod args;
mod commands;
mod failure;
mod from;
mod in_place;
mod index_segments;
mod job;
mod keys;
mod logging;
mod no_threads;
mod pages;
mod progress;
mod reference;
mod report_file;
mod search;
mod segments;
mod sweep;
mod variables;
mod words;

use std::ffi::OsString;
use std::io::Write as _;

use clap::{CommandFactory, Parser};
use inrush_front::errors::no_thread;
use inrush_front::{plain, summary, units, watching};

use crate::args::{Cli, Command};

/// The answer to a command line without arguments.
const FIRST_CONTACT: &str = "\
inrush loads data into Elasticsearch and OpenSearch, and accounts for every document.

  inrush load FILE --index NAME --to URL     loads a file; `--to local` starts a node on this machine
  inrush load FILE --index NAME --dry-run    shows the documents, the index and the errors, loads nothing
  inrush doctor --self                       shows what this program has, and finds on this machine

`inrush --help` lists all commands, and `inrush help WORD` finds options, errors and pages.
";

/// Runs the command line `arguments`, whose first element is the program's name, and returns the
/// exit status. It handles signals, terminal and log from now on, so it must be the last call of
/// the process.
pub fn run(arguments: Vec<OsString>) -> u8 {
    if arguments.len() < 2 {
        // If this fails, there is no other place to report it.
        let _ = std::io::stderr().write_all(FIRST_CONTACT.as_bytes());
        return failure::ExitStatus::Usage.code();
    }
    failure::as_json(arguments.iter().any(|argument| argument == "--json"));
    let root = Cli::command();
    if let Some(words) = search::words(&root, &arguments) {
        return work(|| async move { commands::help::run(&root, &words) });
    }
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let mut error = args::short_help::instead_of(&error, &arguments).unwrap_or(error);
            words::explain(&mut error, &Cli::command(), &arguments);
            // If this fails, there is no other place to report it.
            let _ = match error.use_stderr() {
                true => {
                    let text = plain::plain(&error.to_string()).into_owned();
                    let code = failure::code_of_line(error.kind());
                    failure::print_line_as_json(code, &text);
                    let label = failure::label(code);
                    match text.strip_prefix("error: ") {
                        Some(text) => write!(std::io::stderr(), "{label}: {text}"),
                        // The help of a command that needs another word.
                        None => write!(std::io::stderr(), "{text}"),
                    }
                }
                // Help and the version.
                false => error.print(),
            };
            return u8::try_from(error.exit_code()).unwrap_or(failure::ExitStatus::Usage.code());
        }
    };
    if !matches!(cli.command, Command::Complete(_) | Command::Completions(_) | Command::Reference(_)) {
        for warning in variables::warnings(&arguments) {
            // If this fails, there is no other place to report it.
            let _ = writeln!(std::io::stderr(), "warning: {}", plain::inline(&warning));
        }
    }
    work(|| async move {
        match cli.command {
            Command::Load(args) => commands::load::run(*args).await,
            Command::Bake(args) => commands::bake::run(*args).await,
            Command::Verify(args) => commands::verify::run(*args).await,
            Command::Mapping(args) => commands::mapping::run(*args).await,
            Command::Sweep(args) => commands::sweep::run(*args).await,
            Command::Convert(args) => commands::convert::run(*args).await,
            Command::Doctor(args) => commands::doctor::run(*args).await,
            Command::Lag(args) => commands::lag::run(*args).await,
            Command::Segments(args) => commands::segments::run(*args).await,
            Command::Node(args) => commands::node::run(args).await,
            Command::Recover(args) => commands::recover::run(*args).await,
            Command::Rollback(args) => commands::rollback::run(*args).await,
            Command::Report(args) => commands::report::run(*args).await,
            Command::From(args) => commands::from::run(args),
            Command::Explain(args) => commands::explain::run(&args),
            Command::Completions(args) => commands::completions::run(&args),
            Command::Complete(args) => commands::complete::run(args).await,
            Command::Reference(args) => commands::reference::run(&args),
        }
    })
}

/// Stack of the thread that runs a command, bytes: that of the main thread on most systems. It is
/// reserved at the start. The stack of the main thread grows on demand, and where the system's
/// limit of memory is reached that ends the process by a signal instead of an error.
const STACK_BYTES: usize = 8 << 20;

/// Runs a command in a thread and a runtime of its own, prints its error, and returns the exit
/// status.
pub(crate) fn work<F>(command: impl FnOnce() -> F + Send) -> u8
where
    F: Future<Output = anyhow::Result<u8>>,
{
    no_threads::tell_instead_of_panicking();
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("command".to_owned()).stack_size(STACK_BYTES);
        let running = thread.spawn_scoped(scope, || in_runtime(command)).map_err(no_thread)?;
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match result {
        Ok(status) => {
            let interrupted = failure::ExitStatus::Interrupted;
            if status == interrupted.code() {
                // No report was printed.
                failure::print_json(interrupted, inrush_core::Code::Interrupted, "interrupted", None);
            }
            status
        }
        Err(error) => {
            failure::print(&error, &mut std::io::stderr().lock());
            let causes = failure::causes(&error).join(": ");
            failure::print_json(
                failure::status_of(&error),
                failure::code_of(&error),
                &causes,
                failure::hint_of(&error),
            );
            failure::print_more(failure::code_of(&error));
            failure::status_of(&error).code()
        }
    }
}

fn in_runtime<F>(command: impl FnOnce() -> F) -> anyhow::Result<u8>
where
    F: Future<Output = anyhow::Result<u8>>,
{
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let runtime = runtime.map_err(|error| anyhow::Error::new(error).context("cannot start the runtime"))?;
    let result = runtime.block_on(command());
    // A reader may wait for stdin indefinitely. The process does not wait for it.
    runtime.shutdown_background();
    result
}
