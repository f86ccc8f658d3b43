//! What the command line can say, before any of it is checked against the rest. Every flag of `load` is defined
//! here once: the job file ([`crate::job`]) reads the same definitions.

mod auth;
mod bake;
mod convert;
mod doctor;
mod finish;
mod format;
mod from;
mod load;
mod mapping;
mod node;
mod recover;
mod sql;
mod sweep;
mod verify;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use auth::{AuthArgs, AwsService};
pub(crate) use bake::{BakeArgs, BakeFlags, LayoutArg};
pub(crate) use convert::{ConvertArgs, OutFormat};
pub(crate) use doctor::DoctorArgs;
pub(crate) use finish::{FinishArgs, OldWritesArg, WaitForArg};
pub(crate) use format::{Format, FormatArgs, Quote, Timestamps};
pub(crate) use from::{FromArgs, FromAuthArgs};
pub(crate) use load::{
    CompressionArg, DatabaseArgs, EncodingArg, ErrorArgs, IndexArgs, LoadArgs, MixedArg, ReplyDetail, ResumeArgs,
    Shards, SizeArgs, SourceArgs,
};
pub(crate) use mapping::MappingArgs;
pub(crate) use node::{NodeArgs, NodeCommand, NodeLogsArgs, NodeStartArgs, NodeStatusArgs, NodeStopArgs};
pub(crate) use recover::RecoverArgs;
pub(crate) use sql::SqlArgs;
pub(crate) use sweep::{GridArgs, SweepArgs, SweepIndexArgs};
pub(crate) use verify::VerifyArgs;

/// Loads data into Elasticsearch and OpenSearch as fast as the cluster can take it, and proves that nothing was lost.
///
/// Results go to stdout, everything else to stderr.
#[derive(Debug, Parser)]
#[command(name = "inrush", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load files, stdin or another cluster's index into an index
    Load(Box<LoadArgs>),
    /// Build an index beside its cluster, and hand it over finished
    Bake(Box<BakeArgs>),
    /// Compare files with an index: counts, ids, contents
    Verify(Box<VerifyArgs>),
    /// Infer a mapping from data
    Mapping(Box<MappingArgs>),
    /// Load the same documents with many settings, and show which one wins
    Sweep(Box<SweepArgs>),
    /// Convert documents: NDJSON, SMILE, bulk bodies, CSV, Parquet
    Convert(Box<ConvertArgs>),
    /// Find what slows a cluster or an index down for loading
    Doctor(Box<DoctorArgs>),
    /// Start, stop or inspect the local OpenSearch node
    Node(NodeArgs),
    /// Put back index settings that a load which crashed has left; exit status 4 if some could not be put back
    Recover(Box<RecoverArgs>),
}

/// What is printed where.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print nothing but errors, and the report only with --json
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the report as one JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// What is logged.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct LogArgs {
    /// How much inrush itself logs to stderr; libraries never log more than warnings, so that no header or body of
    /// theirs gets there. Default warn, with --quiet error
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) log_level: Option<LogLevel>,
    /// Log one JSON object a line instead of text; there is no progress line then
    #[arg(long)]
    pub(crate) log_json: bool,
    /// Log more: -v is --log-level info (what was found and decided), -vv debug (a line a request), -vvv trace
    #[arg(long, short, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The least serious messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_flag_takes_a_secret() {
        fn arguments(command: &clap::Command) -> Vec<&clap::Arg> {
            command.get_arguments().chain(command.get_subcommands().flat_map(arguments)).collect()
        }
        let command = Cli::command();
        for flag in arguments(&command).into_iter().filter_map(|arg| arg.get_long()) {
            assert!(!["password", "api-key", "bearer", "token", "secret"].contains(&flag), "--{flag}");
        }
    }

    #[test]
    fn every_flag_of_load_has_help_under_a_heading() {
        let command = Cli::command();
        let command_of = |name| command.find_subcommand(name).unwrap().get_arguments();
        for arg in command_of("load").chain(command_of("bake")) {
            assert!(arg.get_help().is_some(), "{}", arg.get_id());
            assert!(arg.get_help_heading().is_some(), "{}", arg.get_id());
        }
    }
}
