//! The cells of a sheet that are not empty, in rows.

use std::sync::Arc;

use calamine::{CellErrorType, ExcelDateTime};

/// Up to this number each whole number is a float of its own.
pub(super) const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A cell that is not empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Whole(i64),
    Number(f64),
    Truth(bool),
    Text(Arc<str>),
    /// A whole number as the sheet shows it, with zeros before it.
    Code(Arc<str>),
    /// A date, a time or a duration, by the cell's format.
    Moment(ExcelDateTime),
    Error(CellErrorType),
}

/// A row that is not empty.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// The number of the row, from 0.
    pub(super) number: u32,
    /// Columns from 0, ascending, with their cells. A merged cell is in its first column and row
    /// only.
    pub(super) cells: Vec<(u32, Cell)>,
}
