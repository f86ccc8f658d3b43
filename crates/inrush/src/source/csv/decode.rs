//! Rows of cells become JSON documents.

use std::ops::Range;
use std::sync::Arc;

use inrush_core::block::Record;
use inrush_core::{DocBlock, Reject};

use super::is_null;
use super::scan::{Dialect, Row, RowSink, scan_rows};
use super::surprises::{Noted, Surprise, Surprises, What};
use super::texts::Texts;
use super::value::{ColumnType, narrowest, push_string, push_value, push_wider};
use crate::source::buffer::BufferPool;
use crate::source::json_string::push_escaped;
use crate::source::lines::{RecordsHint, invalid_utf8};
use crate::source::warnings::Warnings;
use crate::source::{Decode, RawChunk, beginning, too_large, too_large_head};

/// A row with more lines is told of: a stray quote may have swallowed the rows after it.
const LINES_MANY: u32 = 100;

/// A column: its name, ready to be written, and its type.
pub(super) struct Column {
    name: String,
    /// `"name":`
    prefix: Vec<u8>,
    column_type: ColumnType,
    basis: Basis,
}

/// Why a column has its type, and so what becomes of a cell of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// A user or a reading of all cells said so: the row is rejected.
    Declared,
    /// The first cells have it: another number or date stays what it is, everything else is sent as a string.
    Shown,
    /// Nothing, the first cells are all empty: all are strings.
    Nothing,
    /// None for the column: each cell has its own.
    EachCell,
}

impl Column {
    pub(super) fn new(name: String, column_type: ColumnType, basis: Basis) -> Self {
        let mut prefix = Vec::with_capacity(name.len() + 3);
        push_string(&mut prefix, name.as_bytes());
        prefix.push(b':');
        Column { name, prefix, column_type, basis }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a cell is a whole number or its row is rejected: `007` is 7, as an id, too.
    pub(super) fn is_integer(&self) -> bool {
        self.column_type == ColumnType::Integer && self.basis == Basis::Declared
    }

    pub(super) fn column_type(&self) -> ColumnType {
        self.column_type
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
    pub(super) surprises: Surprises,
    pub(super) texts: Option<Texts>,
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
        let header_len = self.header_len(&chunk.data, chunk.origin.first_byte);
        let meta = match &self.texts {
            Some(texts) if texts.always() || rows.noted.has_wider() => {
                texts.of_rows(&chunk.data[header_len..], self.dialect, &self.nulls)
            }
            _ => Vec::new(),
        };
        self.warn(chunk.origin.first_byte, chunk.data.len(), rows.lines, rows.noted);
        self.warn_of(&rows.odd, chunk.origin.first_byte);
        let len = rows.out.len();
        DocBlock {
            origin: chunk.origin,
            lines: rows.lines,
            data: self.pool.share(rows.out, len),
            records: rows.records,
            rejects: rows.rejects,
            meta,
            bytes_read: chunk.bytes_read,
        }
    }

    fn passed(&self, bytes: Range<u64>, lines: u64) {
        self.warn(bytes.start, (bytes.end - bytes.start) as usize, lines, Noted::default());
    }
}

/// What became of some rows.
struct Rows {
    out: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
    noted: Noted,
    odd: Odd,
    lines: u64,
}

/// Rows whose quotes may mean something else than was thought.
#[derive(Default)]
struct Odd {
    /// Cells with text after their closing quote, and where the row of the first one begins in the
    /// chunk.
    tails: u64,
    first_tail: usize,
    /// Rows of more than [`LINES_MANY`] lines, and the first one: where it begins, and how many
    /// lines it has.
    long: u64,
    first_long: (usize, u32),
}

impl CsvDecode {
    /// Bytes of documents for a byte of `data`, of which there should be some.
    pub(super) fn growth_of(&self, data: &[u8]) -> f64 {
        let documents = self.rows(data, self.data_start, Vec::new()).out;
        (documents.len() as f64 / data.len().max(1) as f64).max(1.0)
    }

    /// How much of a chunk is header.
    fn header_len(&self, data: &[u8], first_byte: u64) -> usize {
        (self.data_start.saturating_sub(first_byte) as usize).min(data.len())
    }

    fn rows(&self, data: &[u8], first_byte: u64, out: Vec<u8>) -> Rows {
        let header_len = self.header_len(data, first_byte);
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
            row_noted: Vec::new(),
            noted: Noted::default(),
            tails: 0,
            odd: Odd::default(),
        };
        let mut lines = scan_rows(data, self.dialect, &mut writer);
        let Writer { out, mut records, rejects, mut noted, mut odd, .. } = writer;
        odd.first_tail += header_len;
        odd.first_long.0 += header_len;
        if !header.is_empty() {
            let header_lines = scan_rows(header, self.dialect, &mut Ignore);
            lines += header_lines;
            for record in &mut records {
                record.byte += header_len as u32;
                record.line += header_lines as u32;
            }
            noted.below(header_lines);
        }
        Rows { out, records, rejects, noted, odd, lines }
    }

    fn warn_of(&self, odd: &Odd, first_byte: u64) {
        if odd.tails > 0 {
            self.warnings.add(&self.source, "text_after_quote", "", odd.tails, || {
                format!(
                    "in the row at byte {} text follows the quote that closes a cell, and was taken for a part of it; if quotes \
                     are escaped, as in \"x\\\"y\", give --escape '\\'",
                    first_byte + odd.first_tail as u64
                )
            });
        }
        if odd.long > 0 {
            let (byte, lines) = odd.first_long;
            self.warnings.add(&self.source, "long_row", "", odd.long, || {
                format!(
                    "the row at byte {} has {lines} lines, because of line ends inside of quotes; if these are rows of \
                     their own, a quote is stray: correct it, or give --quote none",
                    first_byte + byte as u64
                )
            });
        }
    }

    /// Counts what was noted in a chunk, and says in which row it was first as soon as the chunks before it are known.
    fn warn(&self, first_byte: u64, len: usize, lines: u64, noted: Noted) {
        for (surprise, first) in noted.iter() {
            let column = &self.columns[surprise.column];
            let message = || surprise.message(&column.name, column.column_type, None, first);
            self.warnings.add(&self.source, surprise.what.kind(), &column.name, first.count, message);
        }
        for (surprise, first, row) in self.surprises.chunk(first_byte, len, lines, noted) {
            let column = &self.columns[surprise.column];
            let message = surprise.message(&column.name, column.column_type, Some(row), &first);
            self.warnings.explain(&self.source, surprise.what.kind(), &column.name, message);
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
    /// What is to be noted of the row under way if it becomes a document.
    row_noted: Vec<(Surprise, String)>,
    noted: Noted,
    /// Cells of the row under way with text after their closing quote.
    tails: u64,
    odd: Odd,
}

impl RowSink for Writer<'_> {
    fn tail(&mut self) {
        self.tails += 1;
    }

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
        if !push_value(out, column.column_type, column.basis == Basis::Declared, contents) {
            self.push_other(index, contents);
        }
        self.out.push(b',');
    }

    #[inline]
    fn row(&mut self, row: Row) -> bool {
        let from = self.row_start;
        if row.lines > LINES_MANY || self.tails > 0 {
            self.note_odd(row);
        }
        if let Some(reject) = self.reject(row) {
            self.out.truncate(from);
            let text = &self.data[row.start..row.end];
            let text = if reject.kind == "too_large" { too_large_head(text) } else { text };
            self.out.extend_from_slice(text);
            self.rejects.push(reject);
            self.bad = None;
            self.row_noted.clear();
        } else if let Some(last @ b',') = self.out.last_mut() {
            *last = b'}';
        } else {
            self.out.push(b'}');
        }
        if !self.row_noted.is_empty() {
            self.noted.row(u64::from(row.line), &mut self.row_noted);
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
    /// Appends a cell that does not have the type of its column.
    #[cold]
    fn push_other(&mut self, index: usize, contents: &[u8]) {
        let Column { column_type, basis, .. } = self.decode.columns[index];
        let what = match basis {
            Basis::Declared => {
                self.bad.get_or_insert_with(|| (index, beginning(contents)));
                return push_string(&mut self.out, contents);
            }
            Basis::EachCell => {
                let pushed = push_value(&mut self.out, narrowest(contents), false, contents);
                debug_assert!(pushed, "a cell has its narrowest type");
                return;
            }
            Basis::Shown if push_wider(&mut self.out, column_type, contents).is_some() => What::Wider,
            Basis::Shown => {
                push_string(&mut self.out, contents);
                What::Misfit
            }
            Basis::Nothing => {
                push_string(&mut self.out, contents);
                if narrowest(contents) == ColumnType::String {
                    return;
                }
                What::Unseen
            }
        };
        self.row_noted.push((Surprise { column: index, what }, beginning(contents)));
    }

    #[cold]
    fn note_odd(&mut self, row: Row) {
        let Odd { tails, first_tail, long, first_long } = &mut self.odd;
        if self.tails > 0 && *tails == 0 {
            *first_tail = row.start;
        }
        *tails += std::mem::take(&mut self.tails);
        // One whose quote is never closed is a reject, which tells its lines.
        if row.lines > LINES_MANY && !row.unclosed {
            if *long == 0 {
                *first_long = (row.start, row.lines);
            }
            *long += 1;
        }
    }

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
            let lines = row.lines - u32::from(self.data[..row.end].ends_with(b"\n"));
            let reason = format!(
                "a quote is not closed up to the end of the source, {lines} lines ({len} bytes) after the beginning of the row, \
                 which are all part of it; close it, or give --quote none if quotes have no meaning"
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
