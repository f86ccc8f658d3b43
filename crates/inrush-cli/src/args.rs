//! The arguments of the command line, as parsed and before any check of their combination. The
//! flags of a load come from the definitions of its options ([`inrush_commands::options`]).

mod bake;
mod complete;
mod completions;
mod convert;
mod doctor;
mod explain;
mod from;
mod front_end;
mod lag;
mod load;
mod mapping;
mod node;
mod recover;
mod reference;
mod report;
mod rollback;
mod segments;
pub(crate) mod short_help;
mod sweep;
mod table;
mod verify;

use clap::{Parser, Subcommand};

pub(crate) use bake::BakeArgs;
pub(crate) use complete::{CompleteArgs, Words};
pub(crate) use completions::CompletionsArgs;
pub(crate) use convert::{ConvertArgs, OutCompression, OutFormat};
pub(crate) use doctor::DoctorArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use from::{FromArgs, OtherLoader};
pub(crate) use front_end::{LogArgs, LogLevel, LogOptions, OutputArgs, OutputOptions, RunOptions};
pub(crate) use lag::LagArgs;
pub(crate) use load::LoadArgs;
pub(crate) use mapping::MappingArgs;
pub(crate) use node::{NodeArgs, NodeCommand, NodeLogsArgs, NodeStartArgs, NodeStatusArgs, NodeStopArgs};
pub(crate) use recover::RecoverArgs;
pub(crate) use reference::{Page, ReferenceArgs};
pub(crate) use report::ReportArgs;
pub(crate) use rollback::RollbackArgs;
pub(crate) use segments::SegmentsArgs;
pub(crate) use sweep::{GridArgs, SweepArgs};
pub(crate) use table::{Options, one_of};
pub(crate) use verify::VerifyArgs;

/// Loads data into Elasticsearch and OpenSearch as fast as the cluster can take it, and proves that
/// no document was lost.
///
/// Results go to stdout, everything else to stderr.
#[derive(Debug, Parser)]
#[command(name = "inrush", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load files, stdin, topics or another cluster's index into an index
    Load(Box<LoadArgs>),
    /// Build an index outside its cluster, and hand it over complete
    Bake(Box<BakeArgs>),
    /// Compare files with an index: counts, ids, contents
    Verify(Box<VerifyArgs>),
    /// Infer a mapping from data
    Mapping(Box<MappingArgs>),
    /// Load the same documents with many settings, and show the fastest ones
    Sweep(Box<SweepArgs>),
    /// Convert documents: NDJSON, SMILE, bulk bodies, CSV, Parquet
    Convert(Box<ConvertArgs>),
    /// Find settings and states that slow loading into a cluster or an index
    Doctor(Box<DoctorArgs>),
    /// Make a page of a report, or of several side by side
    Report(Box<ReportArgs>),
    /// Report how far a consumer group of Kafka is behind its topics
    Lag(Box<LagArgs>),
    /// Show the Lucene segments of an index, shard by shard, and what would change them
    Segments(Box<SegmentsArgs>),
    /// Start, stop or inspect the local OpenSearch node
    Node(NodeArgs),
    /// Restore index settings that a crashed load has left behind; exit status 4 if some could not
    /// be restored
    Recover(Box<RecoverArgs>),
    /// Move an alias back to the index that it stood for before
    Rollback(Box<RollbackArgs>),
    /// Print the command that does the same as one of another loader
    From(FromArgs),
    /// Explain the code of an error or of a dead letter
    Explain(ExplainArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print names of a cluster for a shell that completes a command line
    #[command(hide = true)]
    Complete(CompleteArgs),
    /// Print the reference page of the options, the types of the Python package, or a manual page
    #[command(hide = true)]
    Reference(ReferenceArgs),
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
