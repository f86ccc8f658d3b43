//! Options of the command line itself: how it shows its work.

use clap::Args;
use inrush::options::Scope;

use super::Options;

inrush::options! {
    /// What a load does instead of loading.
    pub(crate) struct RunOptions, "SQL" {
        /// SQL: print the columns of the tables and how the query is going to be run, and end
        explain: bool, scope(Scope::CommandLine);
        /// Load nothing: show the first documents as they would be sent, the index that would be made, and
        /// the errors among the first 10,000. Nothing is written to the cluster. Exit status 4 if something
        /// would fail
        dry_run: bool, scope(Scope::CommandLine), heading("Errors and checks");
    }
}

inrush::options! {
    /// What is printed where.
    pub(crate) struct OutputOptions, "Output" {
        /// Print nothing but errors, and the report only with option `json`
        quiet: bool, scope(Scope::CommandLine), short('q');
        /// Print the report as one JSON object on stdout
        json: bool, scope(Scope::CommandLine);
    }
}

inrush::options! {
    /// What is logged.
    pub(crate) struct LogOptions, "Output" {
        /// How much inrush itself logs to stderr; libraries never log more than warnings, so that no header
        /// or body of theirs gets there
        log_level: Option<LogLevel> = "LEVEL", scope(Scope::CommandLine), default("warn, with option `quiet` error");
        /// Log one JSON object a line instead of text; there is no progress line then
        log_json: bool, scope(Scope::CommandLine);
        /// Log more: -v is option `log_level=info` (what was found and decided), -vv debug (a line a
        /// request), -vvv trace
        verbose: u8, scope(Scope::CommandLine), short('v');
    }
}

/// The least serious messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

inrush::option_choices! { LogLevel {
    "error" => LogLevel::Error, "why a command could not do its work";
    "warn" => LogLevel::Warn, "besides, what a person should know";
    "info" => LogLevel::Info, "besides, what was found and decided";
    "debug" => LogLevel::Debug, "besides, a line a request";
    "trace" => LogLevel::Trace, "everything";
} }

/// What is logged.
pub(crate) type LogArgs = Options<LogOptions>;

/// What is printed where, and logged.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    pub(crate) own: Options<OutputOptions>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl std::ops::Deref for OutputArgs {
    type Target = OutputOptions;

    fn deref(&self) -> &OutputOptions {
        &self.own
    }
}
