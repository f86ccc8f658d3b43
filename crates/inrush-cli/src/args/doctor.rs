//! The flags of `inrush doctor`.

use clap::Args;

use inrush_commands::options::LoginOptions;

use super::{LogArgs, Options};

/// Finds settings and states that slow loading into a cluster or an index. Reads only.
///
/// Exit status: 0 nothing found, 4 findings, 1 no node answered, 2 usage. With --self it is
/// always 0.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Address of the cluster, optionally with the index, alias, data stream or pattern to check:
    /// https://search:9200 or https://search:9200/logs
    #[arg(value_name = "URL[/INDEX]", required_unless_present = "itself")]
    pub(crate) target: Option<String>,
    /// Print what this program has, and what it finds on this machine: Java, the local node, the
    /// folder of its state, and variables of the environment. It asks no cluster
    #[arg(id = "itself", long = "self", conflicts_with_all = ["target", "json"])]
    pub(crate) itself: bool,
    /// Print the findings as one JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
