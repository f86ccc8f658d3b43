//! What a report says about the end of a load.

use serde::{Deserialize, Serialize};

use crate::config::OldWrites;
use crate::progress::Step;

/// What followed the last document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FinishReport {
    /// What was done, in order.
    pub steps: Vec<StepReport>,
    /// What could not be done, and why. Then nothing that would have followed was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One of the things that follow the last document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Which.
    pub step: Step,
    /// How long it took.
    pub seconds: f64,
    /// In words.
    pub detail: String,
}

/// How the swap of an alias ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapReport {
    /// The alias.
    pub alias: String,
    /// The new index.
    pub index: String,
    /// The index that the alias stood for, or had its name.
    pub old_index: Option<String>,
    /// Whether the alias stands for the new index.
    pub swapped: bool,
    /// What became of the old index.
    pub old: OldIndex,
    /// In words; of a swap that was not made, why.
    pub detail: String,
    /// What to do about a swap that was not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what_next: Option<String>,
    /// What was written to the old index during the load, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_writes: Option<OldWritesReport>,
}

/// What became of the index that was to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldIndex {
    /// There was none.
    None,
    /// It has what it had, and the alias.
    Untouched,
    /// It is there, without the alias.
    Kept,
    /// It is deleted.
    Deleted,
}

/// What was written to the old index during the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldWritesReport {
    /// What was to happen with it.
    pub policy: OldWrites,
    /// Operations that arrived, deletions included; null where they could not be counted.
    pub operations: Option<u64>,
    /// Those among them that came too late to be copied, or were not to be.
    pub operations_not_in: Option<u64>,
    /// Documents that were copied to the new index.
    pub docs_copied: u64,
    /// The first ids of documents that were written.
    pub ids: Vec<String>,
    /// In words.
    pub detail: String,
}
