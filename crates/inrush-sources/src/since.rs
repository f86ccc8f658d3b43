//! Rows that are new or changed since the last load, by a column whose values grow.

use serde::{Deserialize, Serialize};

/// A column by which rows are read, and what the source knows of it.
#[derive(Clone, Debug)]
pub struct Since {
    /// The column, as the source names it.
    pub column: String,
    /// The highest value of the rows. Default: there is none, because there are no rows.
    pub last: Option<SinceValue>,
}

/// A value of the column, as its database writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceValue {
    /// Type of the value, in the words of the database. A value is only compared with others of its
    /// type.
    pub kind: String,
    /// Text of the value, with all its digits.
    pub value: String,
}
