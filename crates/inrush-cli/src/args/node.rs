//! The flags of `inrush node`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use inrush_commands::options::{HeapSize, OptionValue};

use super::LogArgs;

/// The local OpenSearch node, the default target of a load without --to.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    #[command(subcommand)]
    pub(crate) command: NodeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Start a node, or find the running one, and print its URL
    Start(NodeStartArgs),
    /// Stop a node
    Stop(NodeStopArgs),
    /// Print whether a node runs, and its URL; exit status 1 if it does not run
    Status(NodeStatusArgs),
    /// Print a node's log
    Logs(NodeLogsArgs),
}

/// `inrush node start`.
#[derive(Debug, Args)]
pub(crate) struct NodeStartArgs {
    #[command(flatten)]
    pub(crate) name: NodeNameArgs,
    /// HTTP port on the loopback interface. Default: 9200 if it is free, else a free one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Java heap in whole MiB, as in 1g or 512m, at least 256m. Default 1g
    #[arg(long, value_name = "SIZE", value_parser = <HeapSize as OptionValue>::parse)]
    pub(crate) heap: Option<HeapSize>,
    /// Folder for the node's data. Default: beside its logs
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) data: Option<PathBuf>,
    /// Folder for snapshots, the node's path.repo, as `inrush bake` needs one
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) repository_path: Option<PathBuf>,
    /// Java to run the node with: a folder with bin/java. Default: JAVA_HOME, PATH, /usr/lib/jvm
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) java_home: Option<PathBuf>,
    /// Version of OpenSearch. Default: the newest known one that the Java of this machine can run
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) opensearch_version: Option<String>,
    /// Print the node as one JSON object on stdout instead of its URL
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// `inrush node stop`.
#[derive(Debug, Args)]
pub(crate) struct NodeStopArgs {
    #[command(flatten)]
    pub(crate) name: NodeNameArgs,
    /// Also delete the node's data
    #[arg(long)]
    pub(crate) clean: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// `inrush node status`.
#[derive(Debug, Args)]
pub(crate) struct NodeStatusArgs {
    #[command(flatten)]
    pub(crate) name: NodeNameArgs,
    /// Print the status as one JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// `inrush node logs`.
#[derive(Debug, Args)]
pub(crate) struct NodeLogsArgs {
    #[command(flatten)]
    pub(crate) name: NodeNameArgs,
    /// Number of last lines to print
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub(crate) lines: usize,
    /// Keep printing new lines, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// The name of the node.
#[derive(Debug, Args)]
pub(crate) struct NodeNameArgs {
    /// The node's name, if there are several
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) name: String,
}
