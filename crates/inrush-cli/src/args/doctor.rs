//! What `inrush doctor` can be told.

use clap::Args;

use inrush::options::LoginOptions;

use super::{LogArgs, Options};

/// Finds what slows a cluster or an index down for loading. Reads only.
///
/// Exit status: 0 nothing found, 4 findings, 1 nobody answered, 2 usage.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Address of the cluster, with an index, alias, data stream or pattern after it where only that is to be looked at:
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
