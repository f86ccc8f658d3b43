//! The finish of a load in its report.

use serde::{Deserialize, Serialize};

use crate::config::OldWrites;
use crate::progress::Step;

/// Steps after the last document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FinishReport {
    /// The steps, in order.
    pub steps: Vec<StepReport>,
    /// The step that failed, and why. The steps behind it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One step after the last document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// Duration of the step.
    pub seconds: f64,
    /// The result, as text.
    pub detail: String,
}

/// The result of the swap of an alias.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapReport {
    /// The alias.
    pub alias: String,
    /// The new index.
    pub index: String,
    /// The index that the alias stood for, or that had its name.
    pub old_index: Option<String>,
    /// Whether the alias stands for the new index.
    pub swapped: bool,
    /// Other instances still write to the new index, and the last one of them moves the alias.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_others: bool,
    /// State of the old index.
    pub old: OldIndex,
    /// The result, as text. Where the swap was not made, the reason.
    pub detail: String,
    /// The remedy, where the swap was not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what_next: Option<String>,
    /// Writes to the old index during the load, where there was an old index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_writes: Option<OldWritesReport>,
}

/// Where the mapping and the settings of a new index come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewIndexReport {
    /// The index.
    pub name: String,
    /// `given` by the user, `dynamic`, or the index or index template, in words.
    pub mapping: String,
    /// `given` by the user, `defaults`, or the index or index template, in words.
    pub settings: String,
}

/// State of the old index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldIndex {
    /// There was no old index.
    None,
    /// It is unchanged, and the alias stands for it.
    Untouched,
    /// It is kept, and the alias does not stand for it.
    Kept,
    /// The swap deleted it.
    Deleted,
}

/// Writes to the old index during the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldWritesReport {
    /// The configured handling.
    pub policy: OldWrites,
    /// Operations that arrived, including deletions. Null where they could not be counted.
    pub operations: Option<u64>,
    /// Operations that the new index lacks: they came too late for the copy, or no copy was
    /// requested.
    pub operations_not_in: Option<u64>,
    /// Documents that were copied to the new index.
    pub docs_copied: u64,
    /// The first ids of written documents.
    pub ids: Vec<String>,
    /// The result, as text.
    pub detail: String,
}
