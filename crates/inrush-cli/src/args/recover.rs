use std::path::PathBuf;

use clap::{Args, ValueHint};

use inrush_commands::options::LoginOptions;

use super::{Options, OutputArgs};

/// `inrush recover`.
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// Indices, by their own names. Default: all indices with settings that loads have left behind
    #[arg(value_name = "INDEX")]
    pub(crate) indices: Vec<String>,
    /// Nodes of the cluster, repeated or separated by commas. Default: the
    /// variable INRUSH_TO; without it the local node, if it runs
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) to: Vec<String>,
    /// Skip the check of one minute whether a load on another machine still runs, and treat it as
    /// ended. A load that runs on this machine is never touched
    #[arg(long)]
    pub(crate) force: bool,
    /// Folder with the records of loads on this machine. Default: STATE_DIRECTORY, or inrush
    /// in XDG_STATE_HOME or ~/.local/state
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) login: Options<LoginOptions>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
