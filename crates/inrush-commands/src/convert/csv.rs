//! Writes flat documents as CSV (RFC 4180, with `\n`). Cells have the text of JSON, strings without
//! quotes. An absent field and a null are an empty cell, as a load reads it. An empty string is
//! `""`.

use std::io::Write;

use inrush_sources::Source;

use super::table::{Columns, Kind};
use super::{ConvertError, Converted, for_each_block};

pub(super) fn write(
    source: &mut dyn Source,
    columns: &Columns,
    out: &mut impl Write,
) -> Result<Converted, ConvertError> {
    let mut row = Vec::new();
    for (at, column) in columns.all.iter().enumerate() {
        separate(at, &mut row);
        cell(&column.name, &mut row);
    }
    row.push(b'\n');
    out.write_all(&row)?;
    for_each_block(source, |block, rows| {
        row.clear();
        for record in 0..block.records.len() {
            let cells = columns.row(block.record(record)).map_err(|problem| rows.error(record, problem))?;
            for (at, value) in cells.into_iter().enumerate() {
                separate(at, &mut row);
                let Some(value) = value else { continue };
                match value.kind() {
                    Some(Kind::Null) => {}
                    Some(Kind::String) => cell(&value.text(), &mut row),
                    // A number keeps all its digits. Values are flat, because the columns come from
                    // the same documents.
                    _ => row.extend_from_slice(value.0.as_bytes()),
                }
            }
            row.push(b'\n');
        }
        Ok(out.write_all(&row)?)
    })
}

fn separate(at: usize, row: &mut Vec<u8>) {
    if at > 0 {
        row.push(b',');
    }
}

/// Writes a string, in quotes if it would be read as another value.
fn cell(text: &str, row: &mut Vec<u8>) {
    let spaced = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    if !text.is_empty() && !spaced && !text.contains(['"', ',', '\n', '\r']) {
        return row.extend_from_slice(text.as_bytes());
    }
    row.push(b'"');
    row.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    row.push(b'"');
}
