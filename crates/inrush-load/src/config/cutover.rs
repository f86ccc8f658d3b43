//! What a load can be told about its end.

use std::time::Duration;

use inrush_core::operation::check_index_name;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::option_error::OptionError;

/// What follows the last document, before the load counts as done. The order: refresh and verification, force-merge, settings put
/// back, waiting, warming, catching up, swap.
#[derive(Clone, Debug)]
pub struct FinishConfig {
    /// The state of the index that is waited for. Default: [`WaitFor::Searchable`] by the verification; with a swap, green, or as
    /// close to it as the number of nodes allows.
    pub wait_for: Option<WaitFor>,
    /// How long each wait may take, a force-merge too. Then the report's status is `check_failed`. Default 1 h.
    pub wait_timeout: Duration,
    /// Merge each shard copy to at most so many segments. It runs before replicas that were switched off come back, so that they copy
    /// what is merged. Default: no.
    pub force_merge: Option<u32>,
    /// Load into a new index, and move an alias to it. Default: no.
    pub swap: Option<SwapConfig>,
}

impl Default for FinishConfig {
    fn default() -> Self {
        FinishConfig { wait_for: None, wait_timeout: Duration::from_secs(3600), force_merge: None, swap: None }
    }
}

/// A load without downtime: into a new index, which takes the place of another behind an alias in one step when it is complete. On any
/// failure the other index and the alias are untouched, and the new index is kept.
///
/// The new index is [`crate::config::LoadConfig::index`], which must not exist; where that is the name of the alias, it is made of the alias and the
/// time, as in `trips-20260131-235959-123` (UTC).
#[derive(Clone, Debug)]
pub struct SwapConfig {
    /// The alias. It may stand for one index, with filter, routing and write-index flag, which are kept; it may not exist yet; or it is the name of
    /// an index, which is then deleted in the same step (`delete_old` must be set).
    pub alias: String,
    /// Delete the index that the alias stood for, once it stands for the new one. Default: it is kept.
    pub delete_old: bool,
    /// What happens with writes that reach the old index during the load. Default: they are reported.
    pub old_writes: OldWrites,
    /// Bodies of searches that are each run once on the new index before the swap. One that fails stops the swap.
    pub warm: Vec<Value>,
    /// How many documents fewer than the old index the new one may hold, in percent of those of the
    /// old one. Fewer stop the swap. Default 50. An index without documents needs
    /// [`crate::config::LoadConfig::allow_empty`] besides.
    pub shrink_max: f64,
}

impl SwapConfig {
    /// A swap with the defaults.
    pub fn new(alias: impl Into<String>) -> Self {
        SwapConfig {
            alias: alias.into(),
            delete_old: false,
            old_writes: OldWrites::Report,
            warm: Vec::new(),
            shrink_max: 50.0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), OptionError> {
        check_index_name(&self.alias).map_err(|problem| OptionError::value("alias", problem))
    }
}

/// A state of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// All documents are found by searches.
    Searchable,
    /// Besides, all copies of its shards are in use: its health is green.
    Green,
    /// Besides, all copies have everything that their primaries had when it was green.
    Replicated,
}

/// What happens with writes that reach the index that is to be replaced while the load runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldWrites {
    /// They are counted and reported, with the first ids. They are not in the new index.
    #[default]
    Report,
    /// The old index is blocked for writes from the beginning of the load until the swap: writers get errors (403). The block is written down
    /// like any setting that a load changes, and put back at the end whatever happens, by `inrush recover` after a crash.
    Block,
    /// After the load the documents that were written meanwhile are copied to the new index, by id and routing, without ingest pipeline. That is only right
    /// where both indices hold the same documents under the same ids. Deletions cannot be seen.
    CatchUp,
}
