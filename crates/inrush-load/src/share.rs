//! What a load, or several together, did to the count of an index.

use std::collections::BTreeMap;

use inrush_core::vectors::VectorCounts;
use serde::{Deserialize, Serialize};

/// An index before a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// Its documents.
    pub(crate) docs: u64,
    /// Those of them with a vector, by field, as far as they could be counted.
    pub(crate) vectors: BTreeMap<String, u64>,
}

/// Changes of the number of documents in an index by one load, or by several together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) created: u64,
    #[serde(default)]
    pub(crate) updated: u64,
    pub(crate) deleted: u64,
    /// Created and updated documents by what they did to a field with vectors.
    #[serde(default)]
    pub(crate) vectors: BTreeMap<String, VectorCounts>,
    pub(crate) possible_duplicates: u64,
    /// Largest number of documents that may exist besides the acknowledged ones: possible
    /// duplicates, attempts with an unknown outcome, and repetitions by a new primary.
    pub(crate) more: u64,
    /// Largest number of acknowledged documents that may be missing.
    pub(crate) fewer: u64,
    /// How many more there may be if a new primary repeated operations, where that is not known.
    #[serde(default)]
    pub(crate) more_if_repeated: u64,
    /// The same for documents that may be missing.
    #[serde(default)]
    pub(crate) fewer_if_repeated: u64,
}
