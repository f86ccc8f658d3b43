//! The flags of `inrush bake`: those of a load, and its own.

use clap::Args;
use inrush::bake::BakeOptions;

use super::{LoadArgs, Options};

/// Build an index beside its cluster and hand it over finished: the cluster copies files instead of indexing.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
The documents are loaded into a server of the target's version that is started on this machine for it. What it has built
goes as a snapshot through a repository that both reach, and is restored on the target under its final name. On any
failure the target is as it was, and --resume goes on. See docs/bake.md.

Exit statuses are those of `inrush load`.")]
pub(crate) struct BakeArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) bake: Options<BakeOptions>,
}
