//! The rows that a load with option `since` has read.

use serde::{Deserialize, Serialize};

/// The part of a table or query that the load has read, by a column whose values grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SinceReport {
    /// The column.
    pub column: String,
    /// The value that the last load kept: rows from it on were read. `None`: all rows.
    pub from: Option<String>,
    /// The highest value of the rows. `None`: there is none.
    pub to: Option<String>,
    /// Whether the next load begins at `to`. If not, it begins where this one began.
    pub kept: bool,
    /// Why all rows were read, why `to` is not kept, or which check was left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl SinceReport {
    /// The rows before any is read.
    pub(crate) fn new(column: String, to: Option<String>) -> Self {
        SinceReport { column, from: None, to, kept: false, detail: String::new() }
    }
}
