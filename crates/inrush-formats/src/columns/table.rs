//! A file with columns as a table.

use arrow_schema::SchemaRef;

/// The columns and rows of a columnar file, known before its rows are read.
pub struct ColumnarFile {
    /// The columns.
    pub schema: SchemaRef,
    /// The number of rows, if the file states it.
    pub rows: Option<u64>,
}
