//! What is logged to stderr, and how.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::args::{LogLevel, OutputArgs};

/// Starts logging. Our own crates log from the level that was asked for; others only warn, so that no header or body of theirs
/// gets out.
pub(crate) fn start(output: &OutputArgs) {
    let level = match (output.log_level, output.verbose, output.quiet) {
        (Some(level), _, _) => name(level),
        (None, 0, true) => "error",
        (None, 0, false) => "warn",
        (None, 1, _) => "info",
        (None, 2, _) => "debug",
        (None, _, _) => "trace",
    };
    let filter = EnvFilter::new(format!("warn,inrush={level},inrush_core={level},inrush_cli={level}"));
    let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi);
    // A second start, as in tests, changes nothing.
    let _ = if output.log_json { builder.json().try_init() } else { builder.with_target(false).compact().try_init() };
}

const fn name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    }
}
