//! The flags of `inrush sweep`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use inrush_commands::options::{
    ByteSize, LoginOptions, OptionValue, OrAuto, PositiveDuration, ReadingOptions, ShapeOptions,
};
use inrush_load::config::{Compression, Encoding};
use inrush_page::PageAddress;

use super::{LogArgs, Options, one_of};
use crate::sweep::Steps;

/// Load the same documents with many settings, and show the fastest ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Each combination of a batch size, a number of requests in flight, encoding, compression and index settings is a cell. One
more cell (`auto`) leaves batch and requests to the tuner. Each round runs all cells in a new random order. A run begins when
the merges of the run before have ended, loads the sources into an index of its own, and deletes the index. Options that are
not given are tuned. Without --batch-docs, --batch-bytes and --in-flight the grid has five batch sizes and four numbers of
requests.

Numbers are lists and ranges: 100,1000 or 100:500:50 (from 100 to 500 in steps of 50) or 64KiB:8MiB:x2 (twice as much each time).

Results: OUT/runs.csv has a line per run; OUT/index.html has the tables and charts in one self-contained page. The same
command with the same OUT continues after an interruption.

Exit status:
  0    all cells were measured
  1    a cell could not be measured
  2    usage
  3    in some runs not all documents were in
  130  interrupted; the same command continues")]
pub(crate) struct SweepArgs {
    /// Files, folders or globs in quotes, as for load; they are read again for each run
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath, required = true, help_heading = "Source")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) reading: Options<ReadingOptions>,
    #[command(flatten)]
    pub(crate) shape: Options<ShapeOptions>,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
    #[command(flatten)]
    pub(crate) index: SweepIndexArgs,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    /// Show the runs and the current load on a live page. Its address is printed at the start.
    /// Without a value it is a free port of this machine; for other machines see --page-token-file
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "auto", help_heading = "Output")]
    pub(crate) page: Option<PageAddress>,
    /// File with a token of at least 16 characters, which viewers of --page then need; they may be
    /// on other machines, and may stop the sweep
    #[arg(long, value_name = "FILE", requires = "page", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) page_token_file: Option<PathBuf>,
    /// Folder for the results; it is created if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "inrush-sweep", help_heading = "Output")]
    pub(crate) out: PathBuf,
    /// Print only errors and the result
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print the result as one JSON object on stdout
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// The settings to try.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Settings to try")]
pub(crate) struct GridArgs {
    /// Documents in a request: lists and ranges, as in 100:500:50,700:1500:100
    #[arg(long, value_name = "N,…", value_parser = parse_counts)]
    pub(crate) batch_docs: Option<Steps>,
    /// Bytes of a request: lists and ranges, as in 64KiB:16MiB:x2; cells in addition to those of
    /// --batch-docs, not combined with them
    #[arg(long, value_name = "SIZE,…", value_parser = parse_sizes)]
    pub(crate) batch_bytes: Option<Steps>,
    /// Requests in flight: lists and ranges, as in 1,4,8,16
    #[arg(long, value_name = "N,…", value_parser = parse_counts)]
    pub(crate) in_flight: Option<Steps>,
    /// Encodings of the documents, each to be tried: json, smile, or auto, which compares them in
    /// each run
    #[arg(long, value_name = "FORM,…", value_delimiter = ',', default_value = "json", value_parser = one_of::<OrAuto<Encoding>>())]
    pub(crate) encoding: Vec<OrAuto<Encoding>>,
    /// Compressions of the bodies, each to be tried: none, gzip, gzip:LEVEL, or auto
    #[arg(long, value_name = "HOW,…", value_delimiter = ',', default_value = "none", value_parser = <OrAuto<Compression> as OptionValue>::parse)]
    pub(crate) compression: Vec<OrAuto<Compression>>,
    /// JSON files with index settings, each to be tried; `none` means the cluster's defaults.
    /// Default: none
    #[arg(long, value_name = "FILE,…", value_delimiter = ',', value_hint = ValueHint::FilePath)]
    pub(crate) settings: Vec<PathBuf>,
    /// Rounds: the number of runs of each cell
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// The longest time of a run. A longer run is stopped, and its rate counts the documents that
    /// were in by then
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = PositiveDuration::parse)]
    pub(crate) cell_time: PositiveDuration,
    /// The time of loading before the first run, so that the server is warm; 0s if it is warm
    /// already
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = <Duration as OptionValue>::parse)]
    pub(crate) warm_up: Duration,
    /// Leave out the cells of the tuner
    #[arg(long)]
    pub(crate) no_auto: bool,
    /// The seed of the random order of runs; the same seed repeats the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Bytes of documents in memory; it must hold the largest batch times the largest number of
    /// requests
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = ByteSize::parse)]
    pub(crate) memory: ByteSize,
}

/// The target of the runs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub(crate) struct SweepIndexArgs {
    /// Nodes of the cluster, as for load. Default: as for load
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) to: Vec<String>,
    /// The prefix of the names of the temporary indices; a number follows it
    #[arg(long, value_name = "NAME", default_value = "inrush-sweep")]
    pub(crate) index_prefix: String,
    /// JSON file with the mapping of the indices
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) mapping: Option<PathBuf>,
    /// Primary shards. Default: the cluster's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) shards: Option<u32>,
    /// Replicas. Default: the cluster's
    #[arg(long, value_name = "N")]
    pub(crate) replicas: Option<u32>,
    /// The field that holds the id. Default: the cluster generates ids
    #[arg(long, value_name = "FIELD")]
    pub(crate) id: Option<inrush_core::FieldPath>,
}

fn parse_counts(text: &str) -> Result<Steps, String> {
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| format!("expected a whole number, not {text:?}"));
    let steps = Steps::parse(text, &number)?;
    match steps.0.iter().find(|n| **n > u64::from(u32::MAX)) {
        Some(n) => Err(format!("{n} is too many")),
        None => Ok(steps),
    }
}

fn parse_sizes(text: &str) -> Result<Steps, String> {
    Steps::parse(text, &|text| ByteSize::parse(text.trim()).map(ByteSize::bytes))
}
