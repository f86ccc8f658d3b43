//! Options of the command line itself: output and log.

use std::path::PathBuf;

use clap::Args;
use inrush_commands::options::{PositiveDuration, Scope};

use super::Options;

inrush_commands::options! {
    /// Options of a command that loads, besides those of the load.
    pub(crate) struct RunOptions, "SQL" {
        /// SQL: print the columns of the tables and the plan of the query, and end
        explain: bool, scope(Scope::CommandLine);
        /// Load nothing: show the first documents as they would be sent, the index that would be
        /// created, and the errors among the first 10,000 documents. Nothing is written to the
        /// cluster. Exit status 4 if something would fail
        dry_run: bool, scope(Scope::CommandLine), heading("Errors and checks");
        /// Print the progress on stdout each time that this time has passed, as one JSON object a
        /// line. The report follows as the last line, as with option `json`
        report_every: Option<PositiveDuration> = "DURATION", scope(Scope::CommandLine), heading("Output"), default("never");
        /// Write the report as a page: one self-contained file with the result, the history that
        /// option `page` shows, the command and the environment. `inrush report` puts several side
        /// by side. See docs/report.md
        report: Option<PathBuf> = "FILE", scope(Scope::CommandLine), heading("Output");
    }
}

inrush_commands::options! {
    /// Options of the output.
    pub(crate) struct OutputOptions, "Output" {
        /// Print only errors and the warnings of the report, and the report only with option `json`
        quiet: bool, scope(Scope::CommandLine), short('q');
        /// Print the report as one JSON object on stdout
        json: bool, scope(Scope::CommandLine);
    }
}

inrush_commands::options! {
    /// The options of the log.
    pub(crate) struct LogOptions, "Output" {
        /// The level of inrush's own log messages on stderr. Libraries log only warnings, so that
        /// their messages with headers or bodies are never printed
        log_level: Option<LogLevel> = "LEVEL", scope(Scope::CommandLine), default("warn, with option `quiet` error");
        /// Log one JSON object per line instead of text; without a progress line
        log_json: bool, scope(Scope::CommandLine);
        /// Log more: -v is option `log_level=info` (findings and decisions), -vv debug (a line per
        /// request), -vvv trace
        verbose: u8, scope(Scope::CommandLine), short('v');
    }
}

/// The least severe messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

inrush_commands::option_choices! { LogLevel {
    "error" => LogLevel::Error, "failures of the command";
    "warn" => LogLevel::Warn, "also problems that a person should check";
    "info" => LogLevel::Info, "also findings and decisions";
    "debug" => LogLevel::Debug, "also a line per request";
    "trace" => LogLevel::Trace, "everything";
} }

/// The options of the log.
pub(crate) type LogArgs = Options<LogOptions>;

/// The flags of output and log.
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
