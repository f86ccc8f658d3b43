//! The flags of `inrush load` for what follows the last document.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use crate::units::{parse_duration_positive, parse_shrink};

/// What follows the last document.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "At the end")]
pub(crate) struct FinishArgs {
    /// Load without downtime: into a new index, to which this alias is moved in one step when all documents are in, verified, the settings put
    /// back and the index green. The alias keeps its filter, routing and write-index flag; one that does not exist is made; where an index
    /// has its name, that is deleted in the same step (only with --delete-old). The new index is --index, which must not exist, or
    /// NAME-<UTC time>. On any failure the alias and its index are as before, and the new one is kept
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Option<String>,
    /// With --alias: delete the index that the alias stood for, after the swap. Default: it is kept
    #[arg(long)]
    pub(crate) delete_old: bool,
    /// With --alias: how many documents fewer than the old index the new one may hold, in percent
    /// of the old one's; any is 100%. With fewer the alias stays where it is, the new index is
    /// kept, and the exit status is 4. Default 50%
    #[arg(long, value_name = "N%|any", value_parser = parse_shrink)]
    pub(crate) allow_shrink: Option<f64>,
    /// With --alias, what happens with writes to the old index during the load: report, they are counted, and the first ids named; block, they are refused from the
    /// beginning until the swap (index.blocks.write, put back whatever happens, after a crash by `inrush recover`); catch-up, what was
    /// written is copied to the new index at the end, by id: only right where both hold the same documents under the same ids (--id),
    /// and deletions are not seen. Default report
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) old_writes: Option<OldWritesArg>,
    /// With --alias: file with searches, one JSON body a line, each run once on the new index before the swap; one that fails stops it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) warm: Option<PathBuf>,
    /// Merge each shard to at most N segments, before replicas that the load has switched off come back
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) force_merge: Option<u32>,
    /// Wait until the index is: searchable, refreshed; green, all copies of its shards in use; replicated, all copies have everything, too. The
    /// report says how long each took. Default: searchable by the verification; with --alias green, or as near to it as the number of nodes
    /// allows
    #[arg(long, value_name = "STATE", value_enum)]
    pub(crate) wait_for: Option<WaitForArg>,
    /// How long each wait and the force-merge may take; then the exit status is 4. Default 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_positive)]
    pub(crate) wait_timeout: Option<Duration>,
}

/// A state of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitForArg {
    /// Searches find all documents
    Searchable,
    /// All copies of its shards are in use
    Green,
    /// All copies have everything
    Replicated,
}

/// What happens with writes to the old index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OldWritesArg {
    /// They are counted
    Report,
    /// They are refused
    Block,
    /// They are copied
    CatchUp,
}
