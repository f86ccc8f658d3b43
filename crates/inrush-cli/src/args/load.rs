//! The flags of `inrush load`: the options of a load, and flags of the command.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use inrush_commands::options::LoadOptions;

use super::{Options, OutputArgs, RunOptions};

/// Load documents into an index, and account for each of them.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Sizes are whole numbers with a unit: 64MiB, 2MB, 1g (1g = 1GiB) or plain bytes. Durations: 500ms, 1s, 10m, 2h.

While a load runs, p or space on its terminal, or SIGUSR1, pauses it; the next one resumes it.

Exit status:
  0    all documents were indexed (or left out as configured, or missing as --tolerate allows), and
       the count agrees where it can be proven (the report says whether)
  1    the run failed
  2    refused before it began: a flag, the job file or a file they name cannot be used; nothing changed
  3    the run ended, but some documents were not indexed (dead letters, conflicts, redirected,
       unknown)
  4    the documents were indexed, but a check failed
  75   the same load is running already; try again later
  130  interrupted; the same command with --resume continues")]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) options: Options<LoadOptions>,
    /// Read options from a TOML file: every long flag is a key (batch_bytes = "4MiB"), and
    /// `sources` is a list; paths in it are relative to the file; flags given here win
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Source")]
    pub(crate) job: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: Options<RunOptions>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
