use std::path::PathBuf;

use clap::{Args, ValueHint};

use inrush::options::LoginOptions;

use super::{Options, OutputArgs};

/// `inrush recover`.
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Indices, by their own names. Default: all that loads have left
    #[arg(value_name = "INDEX")]
    pub(crate) indices: Vec<String>,
    /// Nodes of the cluster, repeated or separated by commas. Default: the local node, if it runs
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) to: Vec<String>,
    /// Do not watch for a minute whether a load elsewhere still lives, but take it for dead. One that lives on this machine
    /// is left alone all the same
    #[arg(long)]
    pub(crate) force: bool,
    /// Folder with the records of loads on this machine. Default: inrush in XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
