//! The flags of `inrush report`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::LogArgs;

/// Make a page of a report, or of several side by side.
#[derive(Debug, Args)]
#[command(after_help = "\
A report is what `inrush load --json` printed, or a page that --report wrote. Such a page has the history of the run in
itself, so that charts of several runs are drawn over each other. The page is one self-contained file: it loads nothing and
sends nothing.

Exit status:
  0  the page is written
  1  the page could not be written
  2  usage, or a file is no report")]
pub(crate) struct ReportArgs {
    /// Reports of loads and bakes, - for stdin
    #[arg(value_name = "RUN", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// File to write, overwritten
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "inrush-report.html")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
