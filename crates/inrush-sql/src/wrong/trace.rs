//! Finds the row of a table that has a value.

use std::collections::HashMap;

use inrush_core::SourceId;
use inrush_formats::beginning;
use inrush_sources::{CHUNK_BYTES, Warnings};
use serde_json::value::RawValue;

use super::super::table::Table;

/// How much of a table is read for a message, bytes, because it may come over a network.
const BYTES_MAX: u64 = 64 << 20;

/// Where a value was found.
pub(super) struct Found {
    pub(super) column: String,
    /// The value, or its beginning if it is long.
    pub(super) value: String,
    file: String,
    line: u64,
    /// Whether `line` counts lines. If not, it counts rows.
    lines: bool,
}

impl Found {
    /// `votes.csv, line 4`.
    pub(super) fn place(&self) -> String {
        format!("{}, {} {}", self.file, if self.lines { "line" } else { "row" }, self.line)
    }
}

/// The first row of a table in which one of `columns` has a wanted value. A string is compared
/// without its quotes.
pub(super) fn first(table: &Table, columns: &[&str], wanted: impl Fn(&str) -> bool) -> Option<Found> {
    find(table, columns, |row| {
        let found = columns.iter().find_map(|name| Some((*name, row(name).filter(|text| wanted(text))?)));
        found.map(|(name, text)| (name.to_owned(), text))
    })
}

/// The first row in which all columns have these values. The result names the first column.
pub(super) fn all(table: &Table, values: &[(&str, &str)]) -> Option<Found> {
    let columns: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    find(table, &columns, |row| {
        let found = values.iter().all(|(name, value)| row(name).is_some_and(|text| text == *value));
        let (name, value) = values.first().filter(|_| found)?;
        Some(((*name).to_owned(), (*value).to_owned()))
    })
}

/// The first row for which `wanted` returns a column and its value. `wanted` gets a function from
/// column names to the values of the row.
fn find(
    table: &Table,
    columns: &[&str],
    wanted: impl Fn(&dyn Fn(&str) -> Option<String>) -> Option<(String, String)>,
) -> Option<Found> {
    tracing::info!("looking for the row that a message is about: {} of table {}", columns.join(", "), table.name);
    let only = columns.iter().map(|name| (*name).to_owned()).collect();
    let mut rows = table.read(only, &Warnings::default()).ok()?;
    let (mut read, mut passed) = (0, HashMap::<SourceId, u64>::new());
    while read < BYTES_MAX {
        let block = rows.next_chunk(CHUNK_BYTES).ok()??.into_block();
        let before = passed.entry(block.origin.source).or_default();
        for (at, record) in block.records.iter().enumerate() {
            let Ok(members) = serde_json::from_slice::<HashMap<String, &RawValue>>(block.record(at)) else { continue };
            let Some((column, value)) = wanted(&|name| text(members.get(name)?)) else { continue };
            return Some(Found {
                column,
                value: beginning(value.as_bytes()),
                file: table.names.get(block.origin.source.0 as usize)?.clone(),
                line: *before + u64::from(record.line) + 1,
                lines: table.is_text(),
            });
        }
        *before += block.lines;
        read += block.data.len() as u64;
    }
    None
}

fn text(raw: &RawValue) -> Option<String> {
    match raw.get() {
        "null" => None,
        text if text.starts_with('"') => serde_json::from_str(text).ok(),
        text => Some(text.to_owned()),
    }
}
