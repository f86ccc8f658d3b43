//! The flags of `inrush segments`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use inrush_commands::options::{LoginOptions, OptionValue, PositiveDuration};
use inrush_page::PageAddress;

use super::{LogArgs, Options};

/// Show the Lucene segments of an index, shard by shard, and what would change them.
#[derive(Debug, Args)]
#[command(after_help = "\
It only reads. The user needs the index privilege monitor.

Exit status:
  0    the segments were shown
  1    no node answered at the beginning, or the user may not read segments
  2    usage, or there is no such index
  130  stopped by a signal")]
pub(crate) struct SegmentsArgs {
    /// Address of the cluster, optionally with the index, alias, data stream or pattern to show:
    /// https://search:9200 or https://search:9200/logs-*
    #[arg(value_name = "URL[/INDEX]", required_unless_present = "play", conflicts_with = "play")]
    pub(crate) target: Option<String>,
    /// Look again each time that this time has passed (--watch alone: 1s), until Ctrl-C. Slow
    /// answers lengthen it: the cluster is asked for a fifth of the time at most. With --play, the
    /// time from a moment to the next one
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "1s",
        value_parser = PositiveDuration::parse)]
    pub(crate) watch: Option<PositiveDuration>,
    /// Also write each moment to this new file, to be played again
    #[arg(long, value_name = "FILE", requires = "watch", conflicts_with = "play", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    /// Show a file that --record wrote instead of a cluster: its last moment, or with --watch all
    /// of its moments
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) play: Option<PathBuf>,
    /// With --watch: draw the moments on a live page, too, as a picture over time. Its address is
    /// printed at the start. Without a value it is a free port of this machine; for other machines
    /// see --page-token-file
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        requires = "watch", conflicts_with = "play")]
    pub(crate) page: Option<PageAddress>,
    /// File with a token of at least 16 characters, which viewers of --page then need; they may be
    /// on other machines
    #[arg(long, value_name = "FILE", requires = "page", value_hint = ValueHint::FilePath)]
    pub(crate) page_token_file: Option<PathBuf>,
    /// With --play: write the recording as a page that plays it, one self-contained file, and print
    /// nothing else
    #[arg(long, value_name = "FILE", requires = "play", conflicts_with_all = ["watch", "json"],
        value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Print each moment as one JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
