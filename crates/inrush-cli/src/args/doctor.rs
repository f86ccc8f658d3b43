//! The flags of `inrush doctor`.

use clap::Args;

use inrush_commands::options::LoginOptions;

use super::{LogArgs, Options};

/// Finds settings and states that slow loading into a cluster or an index. Reads only.
///
/// Exit status: 0 nothing found, 4 findings, 1 no node answered, 2 usage.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Address of the cluster, optionally with the index, alias, data stream or pattern to check:
    /// https://search:9200 or https://search:9200/logs
    #[arg(value_name = "URL[/INDEX]")]
    pub(crate) target: String,
    /// Print the findings as one JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
