//! CSV, TSV and what else is made of rows and one separator.
//!
//! An empty cell, quoted or not, is an absent field. Types are found from the first rows: a later cell that does not fit is
//! sent as a string and counted; where the type was declared, its row is a dead letter.

mod decode;
mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Decode;
use super::warnings::Warnings;
use decode::{CellEnd, Cells, Column, CsvDecoder, Dialect};
pub use types::ColumnType;
use types::Inference;

/// How a file of rows is written, and what its columns are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// The separator. Default: a comma; a tab for `.tsv`, `|` for `.psv`.
    pub separator: Option<u8>,
    /// The quote, doubled inside of itself. Default `"`; `None`: no cell is quoted.
    pub quote: Option<u8>,
    /// Whether the first row names the columns. Default true.
    pub header: bool,
    /// The columns' names, in place of the header's or of `c1`, `c2`, ….
    pub columns: Vec<String>,
    /// Types by name; a cell that does not fit spoils its row.
    pub schema: Vec<(String, ColumnType)>,
    /// No types are looked for: every cell is a string.
    pub all_strings: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            separator: None,
            quote: Some(b'"'),
            header: true,
            columns: Vec::new(),
            schema: Vec::new(),
            all_strings: false,
        }
    }
}

/// Rows that types are found from, at most.
const SAMPLE_ROWS: usize = 10_000;
/// Bytes that types are found from, at most.
pub(super) const SAMPLE_BYTES: usize = 1 << 20;

/// Decodes the chunks of one file: the first one, which begins with the header, and all others.
pub(super) struct Decoders {
    pub(super) first: Arc<dyn Decode>,
    pub(super) others: Arc<dyn Decode>,
}

/// Looks at the beginning of a file, UTF-8 without a byte order mark. `whole`: there is no more of it.
pub(super) fn decoders(
    sample: &[u8],
    whole: bool,
    separator: u8,
    name: &str,
    options: &CsvOptions,
    warnings: &Warnings,
) -> Result<Decoders, String> {
    let dialect = Dialect { separator, quote: options.quote };
    let columns = columns(sample, whole, dialect, name, options, warnings)?;
    let decoder = |skip_first_row| CsvDecoder {
        source: name.to_owned(),
        dialect,
        columns: columns.clone(),
        skip_first_row,
        warnings: warnings.clone(),
    };
    let others = Arc::new(decoder(false));
    let first = if options.header { Arc::new(decoder(true)) } else { Arc::clone(&others) };
    Ok(Decoders { first, others })
}

/// Names and types of the columns, from the header and the first rows.
fn columns(
    sample: &[u8],
    whole: bool,
    dialect: Dialect,
    name: &str,
    options: &CsvOptions,
    warnings: &Warnings,
) -> Result<Vec<Column>, String> {
    let mut cells = Cells::new(sample, dialect);
    let mut header: Vec<String> = Vec::new();
    let mut width = None;
    let mut inference: Vec<Inference> = Vec::new();
    let mut count = 0;
    while count <= SAMPLE_ROWS && cells.row_follows() {
        let is_header = options.header && count == 0;
        let mut row = Vec::new();
        loop {
            let (cell, how) = cells.next();
            if is_header {
                header.push(String::from_utf8_lossy(cell).trim().to_owned());
            } else {
                let mut one = inference.get(row.len()).copied().unwrap_or_default();
                if !cell.is_empty() {
                    one.see(cell);
                }
                row.push(one);
            }
            match how {
                CellEnd::Separator => {}
                CellEnd::Row | CellEnd::Unclosed => break,
            }
        }
        // The last row of a sample may be cut off.
        let complete = whole || cells.at < sample.len();
        count += 1;
        if is_header {
            width = Some(header.len());
        } else if complete && (width.is_none() || width == Some(row.len())) {
            width = Some(row.len());
            inference = row;
        }
    }
    let width = width.unwrap_or(0);
    let names = names(header, width, name, options, warnings)?;
    for (declared, _) in &options.schema {
        if !names.contains(declared) {
            let message = format!(
                "--schema names the column {declared:?}, which is not there; the columns are {}",
                names.join(", ")
            );
            return Err(message);
        }
    }
    Ok(names
        .into_iter()
        .enumerate()
        .map(|(at, column)| match options.schema.iter().find(|(declared, _)| *declared == column) {
            Some((_, declared)) => Column::new(column, *declared, true),
            None if options.all_strings => Column::new(column, ColumnType::String, false),
            None => {
                let found = inference.get(at).copied().unwrap_or_default().column_type();
                Column::new(column, found, false)
            }
        })
        .collect())
}

/// A name for each column: the given ones, the header's, or `c1`, `c2`, …. Empty names become `cN`, repeated ones get a number.
fn names(
    header: Vec<String>,
    width: usize,
    name: &str,
    options: &CsvOptions,
    warnings: &Warnings,
) -> Result<Vec<String>, String> {
    if !options.columns.is_empty() {
        if width != 0 && options.columns.len() != width {
            let message = format!("--columns gives {} names, and the rows have {width} cells", options.columns.len());
            return Err(message);
        }
        return Ok(options.columns.clone());
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = Vec::with_capacity(width);
    for at in 0..width {
        let given = header.get(at).map_or("", String::as_str);
        let wanted = if given.is_empty() { format!("c{}", at + 1) } else { given.to_owned() };
        let mut unique = wanted.clone();
        let mut number = 2;
        while !taken.insert(unique.clone()) {
            unique = format!("{wanted}_{number}");
            number += 1;
        }
        if options.header && unique != given {
            warnings.add(name, "column_name", &unique, 1, || {
                format!("column {} is named {given:?} in the header; its field is {unique:?}", at + 1)
            });
        }
        names.push(unique);
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
