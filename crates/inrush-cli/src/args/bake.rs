//! The flags of `inrush bake`: the flags of a load, and flags of its own.

use clap::Args;
use inrush_commands::bake::BakeOptions;

use super::{LoadArgs, Options};

/// Build an index outside its cluster and hand it over complete: the cluster copies files instead
/// of indexing.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
inrush builds the index on this machine: by itself where it supports all that the mapping and the options ask for, else
with a server of the target's version. A snapshot of the index is written to a repository that both sides reach, and the
target restores it under its final name. On any failure the target returns to its former state, and --resume continues
the bake. See docs/bake.md.

Exit statuses are those of `inrush load`.")]
pub(crate) struct BakeArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) bake: Options<BakeOptions>,
}
