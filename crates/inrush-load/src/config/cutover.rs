//! Options for the steps after the last document.

use std::time::Duration;

use inrush_core::operation::check_index_name;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::option_error::OptionError;

/// Steps after the last document. They run in this order: refresh and verification, force-merge,
/// restore of the settings, wait, warm-up, catch-up, swap.
#[derive(Clone, Debug)]
pub struct FinishConfig {
    /// State of the index that the load waits for. Default: [`WaitFor::Searchable`], which the
    /// verification ensures. With a swap it is green, or as close to it as the number of nodes
    /// allows.
    pub wait_for: Option<WaitFor>,
    /// Timeout of each wait, and of the force-merge. After it the report's status is
    /// `check_failed`. Default: 1 h.
    pub wait_timeout: Duration,
    /// Timeout of the merge that builds the graphs of vectors. Default: none.
    pub graph_timeout: Option<Duration>,
    /// Largest number of segments in each shard copy after a force-merge. The merge runs before
    /// removed replicas are added again, so that they copy merged segments. Default: no
    /// force-merge.
    pub force_merge: Option<u32>,
    /// When the graphs of vectors are built. Default: while loading.
    pub graph: GraphTime,
    /// Loads into a new index and moves an alias to it. Default: none.
    pub swap: Option<SwapConfig>,
}

impl Default for FinishConfig {
    fn default() -> Self {
        FinishConfig {
            wait_for: None,
            wait_timeout: Duration::from_secs(3600),
            graph_timeout: None,
            force_merge: None,
            graph: GraphTime::Load,
            swap: None,
        }
    }
}

/// When a new index gets the graphs of its vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphTime {
    /// With each segment that the servers write, and again with each merge.
    #[default]
    Load,
    /// Once, after the last document, by a merge to one segment in each shard. Where the cluster
    /// or the index does not allow it, a warning says so, and they are built while loading.
    End,
    /// As [`GraphTime::End`] for an index that the load creates from sources of at least
    /// [`GraphTime::WAIT_FROM`] bytes, if the cluster allows it; otherwise as [`GraphTime::Load`].
    Auto,
}

impl GraphTime {
    /// Bytes of the sources from which on [`GraphTime::Auto`] builds graphs at the end. The
    /// bound was not measured: it is to leave out loads of one segment.
    pub const WAIT_FROM: u64 = 64 << 20;

    /// Whether graphs of a new index wait for the end of a load of `bytes` bytes.
    pub(crate) fn waits(self, bytes: Option<u64>) -> bool {
        match self {
            GraphTime::Load => false,
            GraphTime::End => true,
            GraphTime::Auto => bytes.is_some_and(|bytes| bytes >= GraphTime::WAIT_FROM),
        }
    }
}

/// A load without downtime. It writes into a new index, which replaces the index behind an alias in
/// one request when the load is complete. On any failure the old index and the alias are unchanged,
/// and the new index is kept.
///
/// The new index is [`crate::config::LoadConfig::index`], and must not exist. Where that option
/// holds the name of the alias, the index gets the name of the alias and the time, as in
/// `trips-20260131-235959-123` (UTC).
#[derive(Clone, Debug)]
pub struct SwapConfig {
    /// The alias. It may stand for one index; its filter, routing and write-index flag are kept. It
    /// may not exist yet. It may be the name of an index; the swap then deletes that index, and
    /// `delete_old` must be set.
    pub alias: String,
    /// Deletes the old index after the swap. Default: false.
    pub delete_old: bool,
    /// Deletes older complete indices that loads have made for the alias, except this number of
    /// them. Indices with other aliases stay, and so do those that a load writes to. Default: none
    /// is deleted.
    pub keep: Option<u32>,
    /// Handling of writes that reach the old index during the load. Default: they are reported.
    pub old_writes: OldWrites,
    /// Bodies of searches that run once each on the new index before the swap. A failed search
    /// stops the swap. Default: none.
    pub warm: Vec<Value>,
    /// Largest loss of documents from the old index to the new one, in percent of the old one. A
    /// larger loss stops the swap. An index without documents needs
    /// [`crate::config::LoadConfig::allow_empty`] as well. Default: 50.
    pub shrink_max: f64,
    /// The load gives an index the rest of its documents, which an earlier load for the alias has
    /// left out as dead letters, and then moves the alias. Default: false.
    pub finishes: bool,
    /// Several loads, as of the members of a consumer group, fill one new index, which then has to
    /// be named. Each may create it, and the last one to end moves the alias. Default: false.
    pub is_shared: bool,
}

impl SwapConfig {
    /// A swap with the defaults.
    pub fn new(alias: impl Into<String>) -> Self {
        SwapConfig {
            alias: alias.into(),
            delete_old: false,
            keep: None,
            old_writes: OldWrites::Report,
            warm: Vec::new(),
            shrink_max: 50.0,
            finishes: false,
            is_shared: false,
        }
    }

    pub(crate) fn check(&self) -> Result<(), OptionError> {
        check_index_name(&self.alias).map_err(|problem| OptionError::value("alias", problem))
    }
}

/// State of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// Searches find all documents.
    Searchable,
    /// Searchable, and all copies of its shards are in use: its health is green.
    Green,
    /// Green, and all copies have every operation that their primaries had when it became green.
    Replicated,
}

/// Handling of writes that reach the old index while the load runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldWrites {
    /// They are counted and reported with the first ids. The new index does not get them.
    #[default]
    Report,
    /// The old index gets a write block from the beginning of the load to the swap, and writers get
    /// errors (403). The block is recorded like every changed setting. It is removed at the end of
    /// the load in any case, and by `inrush recover` after a crash.
    Block,
    /// After the load, documents that were written meanwhile are copied to the new index, by id and
    /// routing, without an ingest pipeline. This is correct only where both indices hold the same
    /// documents under the same ids. Deletions cannot be detected.
    CatchUp,
}
