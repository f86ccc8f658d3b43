use clap::Args;

use inrush_commands::options::LoginOptions;

use super::{Options, OutputArgs};

/// `inrush rollback`.
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// The alias
    #[arg(value_name = "ALIAS")]
    pub(crate) alias: String,
    /// The index that it is moved to, one of those that --list shows. Default: the index before
    #[arg(value_name = "INDEX")]
    pub(crate) index: Option<String>,
    /// Only show the indices that the alias could go back to
    #[arg(long, conflicts_with = "index")]
    pub(crate) list: bool,
    /// Nodes of the cluster, repeated or separated by commas. Default: the
    /// variable INRUSH_TO; without it the local node, if it runs
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) to: Vec<String>,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
