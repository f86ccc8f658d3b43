//! Rows of cells become JSON documents.

use std::sync::Arc;

use inrush_core::block::Record;
use inrush_core::{DocBlock, Reject};

use super::is_null;
use super::scan::{Dialect, Row, RowSink, scan_rows};
use super::value::{ColumnType, push_string, push_value};
use crate::source::buffer::BufferPool;
use crate::source::json_string::push_escaped;
use crate::source::lines::{RecordsHint, invalid_utf8};
use crate::source::warnings::Warnings;
use crate::source::{Decode, RawChunk, too_large, too_large_head};

/// How much of a value a message shows, bytes.
const SHOWN_LEN_MAX: usize = 100;

/// A column: its name, ready to be written, and its type.
pub(super) struct Column {
    name: String,
    /// `"name":`
    prefix: Vec<u8>,
    column_type: ColumnType,
    /// Whether a user said so. If not, a cell of another type is sent as a string.
    declared: bool,
}

impl Column {
    pub(super) fn new(name: String, column_type: ColumnType, declared: bool) -> Self {
        let mut prefix = Vec::with_capacity(name.len() + 3);
        push_string(&mut prefix, name.as_bytes());
        prefix.push(b':');
        Column { name, prefix, column_type, declared }
    }
}

/// Turns rows into documents.
pub(super) struct CsvDecode {
    pub(super) columns: Vec<Column>,
    /// Contents that count as empty.
    pub(super) nulls: Vec<String>,
    pub(super) dialect: Dialect,
    /// Offset in the source of the first row that is data.
    pub(super) data_start: u64,
    pub(super) record_bytes_max: usize,
    /// Whether the text is known to be UTF-8.
    pub(super) valid: bool,
    pub(super) source: String,
    pub(super) warnings: Warnings,
    pub(super) pool: Arc<BufferPool>,
    pub(super) records: RecordsHint,
    /// Bytes of documents for a byte of text.
    pub(super) growth: f64,
}

impl Decode for CsvDecode {
    fn columns(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let mut out = self.pool.take();
        out.clear();
        out.reserve((chunk.data.len() as f64 * self.growth * 1.05) as usize + 256);
        let rows = self.rows(&chunk.data, chunk.origin.first_byte, out);
        self.records.learn(chunk.data.len(), rows.records.len());
        self.warn(&rows.misfits);
        let len = rows.out.len();
        DocBlock {
            origin: chunk.origin,
            lines: rows.lines,
            data: self.pool.share(rows.out, len),
            records: rows.records,
            rejects: rows.rejects,
            meta: Vec::new(),
            bytes_read: chunk.bytes_read,
        }
    }
}

/// What became of some rows.
struct Rows {
    out: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
    /// By column, how many cells did not fit a type that was guessed.
    misfits: Vec<u64>,
    lines: u64,
}

impl CsvDecode {
    /// Bytes of documents for a byte of `data`, of which there should be some.
    pub(super) fn growth_of(&self, data: &[u8]) -> f64 {
        let documents = self.rows(data, self.data_start, Vec::new()).out;
        (documents.len() as f64 / data.len().max(1) as f64).max(1.0)
    }

    fn rows(&self, data: &[u8], first_byte: u64, out: Vec<u8>) -> Rows {
        let header_len = (self.data_start.saturating_sub(first_byte) as usize).min(data.len());
        let (header, data) = data.split_at(header_len);
        let mut writer = Writer {
            decode: self,
            data,
            valid: self.valid || std::str::from_utf8(data).is_ok(),
            out,
            records: Vec::with_capacity(self.records.expect(data.len())),
            rejects: Vec::new(),
            row_start: 0,
            bad: None,
            misfits: vec![0; self.columns.len()],
        };
        let mut lines = scan_rows(data, self.dialect, &mut writer);
        let Writer { out, mut records, rejects, misfits, .. } = writer;
        if !header.is_empty() {
            let header_lines = scan_rows(header, self.dialect, &mut Ignore);
            lines += header_lines;
            for record in &mut records {
                record.byte += header_len as u32;
                record.line += header_lines as u32;
            }
        }
        Rows { out, records, rejects, misfits, lines }
    }

    fn warn(&self, misfits: &[u64]) {
        for (column, &count) in self.columns.iter().zip(misfits).filter(|(_, count)| **count > 0) {
            self.warnings.add(&self.source, "type_misfit", &column.name, count, || {
                format!(
                    "the first rows made column {:?} look like {}, later cells are something else and were sent as \
                     strings; give its type with --schema",
                    column.name, column.column_type
                )
            });
        }
    }
}

struct Ignore;

impl RowSink for Ignore {
    fn cell(&mut self, _: usize, _: &[u8]) {}

    fn row(&mut self, _: Row) -> bool {
        true
    }
}

struct Writer<'a> {
    decode: &'a CsvDecode,
    data: &'a [u8],
    valid: bool,
    out: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
    /// Where the document of the row under way begins in `out`.
    row_start: usize,
    /// The first cell of the row that does not fit its declared type.
    bad: Option<(usize, String)>,
    misfits: Vec<u64>,
}

impl RowSink for Writer<'_> {
    #[inline]
    fn cell(&mut self, index: usize, contents: &[u8]) {
        if index == 0 {
            self.row_start = self.out.len();
            self.out.push(b'{');
        }
        // An empty cell is an absent field; too many cells are noticed at the end of the row.
        let CsvDecode { columns, nulls, .. } = self.decode;
        let Some(column) = columns.get(index).filter(|_| !is_null(nulls, contents)) else { return };
        let out = &mut self.out;
        out.extend_from_slice(&column.prefix);
        if column.column_type == ColumnType::String {
            out.push(b'"');
            push_escaped(out, contents);
            out.extend_from_slice(b"\",");
            return;
        }
        if !push_value(out, column.column_type, column.declared, contents) {
            if column.declared {
                self.bad.get_or_insert_with(|| (index, shown(contents)));
            } else {
                self.misfits[index] += 1;
            }
            push_string(out, contents);
        }
        out.push(b',');
    }

    #[inline]
    fn row(&mut self, row: Row) -> bool {
        let from = self.row_start;
        if let Some(reject) = self.reject(row) {
            self.out.truncate(from);
            let text = &self.data[row.start..row.end];
            let text = if reject.kind == "too_large" { too_large_head(text) } else { text };
            self.out.extend_from_slice(text);
            self.rejects.push(reject);
            self.bad = None;
        } else if let Some(last @ b',') = self.out.last_mut() {
            *last = b'}';
        } else {
            self.out.push(b'}');
        }
        self.records.push(Record {
            start: from as u32,
            end: self.out.len() as u32,
            byte: row.start as u32,
            line: row.line,
        });
        true
    }
}

impl Writer<'_> {
    #[inline]
    fn reject(&self, row: Row) -> Option<Reject> {
        let len = row.end - row.start;
        let columns = self.decode.columns.len();
        let fine = row.cells == columns && self.valid && self.bad.is_none() && !row.unclosed;
        if fine && len <= self.decode.record_bytes_max { None } else { self.reason(row, len, columns) }
    }

    #[cold]
    fn reason(&self, row: Row, len: usize, columns: usize) -> Option<Reject> {
        let record = self.records.len() as u32;
        if len > self.decode.record_bytes_max {
            return Some(too_large(record, len as u64, self.decode.record_bytes_max));
        }
        if row.unclosed {
            let reason = format!(
                "a quote is not closed up to the end of the source, {len} bytes after the beginning of the row; close \
                 it, or give --quote none if quotes have no meaning"
            );
            return Some(Reject { record, kind: "unclosed_quote", reason });
        }
        if let Some(reject) = invalid_utf8(record, &self.data[row.start..row.end]) {
            return Some(reject);
        }
        if row.cells != columns {
            let reason = format!("row has {} cells, expected {columns}, one for each column", row.cells);
            return Some(Reject { record, kind: "ragged_row", reason });
        }
        let (index, value) = self.bad.as_ref()?;
        let column = &self.decode.columns[*index];
        let reason = format!(
            "column {:?} holds {value:?}, expected {}; correct the value or the type in --schema",
            column.name, column.column_type
        );
        Some(Reject { record, kind: "bad_value", reason })
    }
}

fn shown(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(SHOWN_LEN_MAX)]);
    if value.len() > SHOWN_LEN_MAX { format!("{}…", text.trim_end_matches('\u{FFFD}')) } else { text.into_owned() }
}
