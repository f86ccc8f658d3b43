//! Rows of cells become JSON documents.

use std::ops::Range;
use std::sync::Arc;

use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::{Columns, DocBlock, Reject};

use super::basis::{Basis, Column};
use super::columns::ColumnsBuilder;
use super::dialect::Layout;
use super::options::{has_blanks_around, is_null};
use super::placeholders::Placeholder;
use super::row::{Row, RowSink, count};
use super::scan::scan_rows;
use super::surprises::{Noted, Surprise, Surprises, What};
use super::texts::Texts;
use super::value::{
    ColumnType, narrowest, narrowest_with_comma, push_dotted, push_groups, push_in_zone, push_string, push_value,
    push_wider,
};
use crate::buffer::BufferPool;
use crate::lines::{RecordsHint, invalid_utf8};
use crate::warnings::Warnings;
use crate::{Decode, RawChunk, beginning, too_large, too_large_head};

/// A row with more lines is reported: a stray quote may have swallowed the rows after it.
const LINES_MANY: u32 = 100;

/// Turns rows into documents.
pub(super) struct CsvDecode {
    pub(super) columns: Vec<Column>,
    /// Their names.
    pub(super) names: Arc<[String]>,
    /// Contents that count as empty.
    pub(super) nulls: Vec<String>,
    /// Whether an empty cell is a `null`. If not, its field is absent.
    pub(super) pushes_nulls: bool,
    /// Whether numbers in columns without a declared type have a comma before their fraction.
    pub(super) comma: bool,
    pub(super) layout: Layout,
    /// Offset of the first line that was not skipped in the source, and the lines before it.
    pub(super) first_byte: u64,
    pub(super) skipped_lines: u64,
    /// Offset of the first row of data in the source.
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
        self.block(chunk, None).0
    }

    fn decode_with_columns(&self, chunk: RawChunk) -> (DocBlock, Option<Columns>) {
        self.block(chunk, Some(ColumnsBuilder::new(&self.names)))
    }

    fn passed(&self, bytes: Range<u64>, lines: u64) {
        self.warn(bytes.start, (bytes.end - bytes.start) as usize, lines, Noted::default());
    }
}

/// The results of some rows.
struct Rows {
    out: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
    noted: Noted,
    /// Whether a number or time in `out` differs from the text of its cell, although the column's
    /// type leaves cells unchanged.
    rewritten: bool,
    lines: u64,
    values: Option<ColumnsBuilder>,
}

impl CsvDecode {
    /// The documents of a chunk, and the values that `values` takes.
    fn block(&self, chunk: RawChunk, values: Option<ColumnsBuilder>) -> (DocBlock, Option<Columns>) {
        let mut out = self.pool.take();
        out.clear();
        out.reserve((chunk.data.len() as f64 * self.growth * 1.05) as usize + 256);
        let rows = self.rows(&chunk.data, chunk.origin.first_byte, out, values);
        self.records.learn(chunk.data.len(), rows.records.len());
        let header_len = self.header_len(&chunk.data, chunk.origin.first_byte);
        let meta = match &self.texts {
            Some(texts) if texts.always() || rows.rewritten => {
                let starts = rows.records.iter().map(|record| record.byte as usize - header_len);
                texts.of_rows(&chunk.data[header_len..], starts, &self.layout, &self.nulls)
            }
            _ => Vec::new(),
        };
        self.warn(chunk.origin.first_byte, chunk.data.len(), rows.lines, rows.noted);
        let len = rows.out.len();
        let columns = rows.values.and_then(|values| values.finish(rows.records.len()));
        let block = DocBlock {
            origin: chunk.origin,
            lines: rows.lines,
            data: self.pool.share(rows.out, len),
            records: rows.records,
            rejects: rows.rejects,
            meta,
            bytes_read: chunk.bytes_read,
        };
        (block, columns)
    }

    /// Bytes of documents for a byte of `data`, which must not be empty.
    pub(super) fn growth_of(&self, data: &[u8]) -> f64 {
        let documents = self.rows(data, self.data_start, Vec::new(), None).out;
        (documents.len() as f64 / data.len().max(1) as f64).max(1.0)
    }

    /// The length of the header in a chunk.
    fn header_len(&self, data: &[u8], first_byte: u64) -> usize {
        (self.data_start.saturating_sub(first_byte) as usize).min(data.len())
    }

    fn rows(&self, data: &[u8], first_byte: u64, out: Vec<u8>, values: Option<ColumnsBuilder>) -> Rows {
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
            rewritten: false,
            odd: Odd::default(),
            values,
        };
        let scanned = scan_rows(data, &self.layout, &mut writer);
        let Writer { out, mut records, rejects, mut noted, rewritten, values, .. } = writer;
        if scanned.quotes.is_some_and(|quotes| quotes != count(self.layout.dialect.quote, data)) {
            Strays::note(data, &self.layout, &mut noted);
        }
        let mut lines = scanned.lines;
        let skipped = if first_byte == self.first_byte { self.skipped_lines } else { 0 };
        if !header.is_empty() || skipped > 0 {
            let mut in_header = Noted::default();
            let header_lines = Strays::note(header, &Layout::new(self.layout.dialect), &mut in_header);
            in_header.below(skipped);
            lines += skipped + header_lines;
            for record in &mut records {
                record.byte += header_len as u32;
                record.line += (skipped + header_lines) as u32;
            }
            noted.below(skipped + header_lines);
            noted.preceded_by(in_header);
        }
        noted.among(records.len() as u64);
        Rows { out, records, rejects, noted, rewritten, lines, values }
    }

    /// Counts what was noted in a chunk. The line of the first occurrence is reported as soon as
    /// the chunks before it are known.
    fn warn(&self, first_byte: u64, len: usize, lines: u64, noted: Noted) {
        let column = |surprise: Surprise| surprise.column.map_or("", |at| &self.columns[at].name);
        for (surprise, first) in noted.iter() {
            let column = column(surprise);
            let message = || surprise.message(column, None, first);
            self.warnings.add(&self.source, surprise.what.kind(), column, first.count, message);
        }
        for (surprise, first, line) in self.surprises.chunk(first_byte, len, lines, noted) {
            let column = column(surprise);
            let message = surprise.message(column, Some(line), &first);
            self.warnings.explain(&self.source, surprise.what.kind(), column, message);
        }
    }
}

/// Finds cells with quotes in them and none around them.
struct Strays<'a> {
    data: &'a [u8],
    row: u64,
    noted: &'a mut Noted,
}

impl Strays<'_> {
    /// Notes such cells. Returns the number of lines.
    #[cold]
    fn note(data: &[u8], layout: &Layout, noted: &mut Noted) -> u64 {
        scan_rows(data, layout, &mut Strays { data, row: 0, noted }).lines
    }
}

impl RowSink for Strays<'_> {
    const WANTS_STRAYS: bool = true;

    fn cell(&mut self, _: usize, _: &[u8]) {}

    fn stray(&mut self) {
        self.row += 1;
    }

    fn row(&mut self, row: Row) -> bool {
        let strays = std::mem::take(&mut self.row);
        if strays > 0 {
            let surprise = Surprise { column: None, what: What::Stray };
            self.noted.add(u64::from(row.line), surprise, strays, beginning(&self.data[row.start..row.end]));
        }
        true
    }
}

/// Cells of a row that are read as text says, but may mean something else.
#[derive(Default)]
struct Odd {
    /// With text after their closing quote.
    tails: u64,
    /// With a quote in them, and none around them.
    strays: u64,
    /// With an escape before a letter.
    sequences: u64,
    any: bool,
}

struct Writer<'a> {
    decode: &'a CsvDecode,
    data: &'a [u8],
    valid: bool,
    out: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
    /// The position in `out` at which the document of the current row begins.
    row_start: usize,
    /// The first cell of the row that does not match its declared type.
    bad: Option<(usize, ColumnType, String)>,
    /// What is to be noted of the current row if it becomes a document. A value is included only
    /// for the first occurrence.
    row_noted: Vec<(Surprise, String)>,
    noted: Noted,
    rewritten: bool,
    /// Odd cells of the current row.
    odd: Odd,
    values: Option<ColumnsBuilder>,
}

impl RowSink for Writer<'_> {
    fn tail(&mut self) {
        self.odd.tails += 1;
        self.odd.any = true;
    }

    fn stray(&mut self) {
        self.odd.strays += 1;
        self.odd.any = true;
    }

    fn sequence(&mut self) {
        self.odd.sequences += 1;
        self.odd.any = true;
    }

    fn header_again(&mut self, line: u32) {
        self.noted.add(u64::from(line), Surprise { column: None, what: What::Header }, 1, String::new());
    }

    #[inline]
    fn cell(&mut self, index: usize, contents: &[u8]) {
        if index == 0 {
            self.row_start = self.out.len();
            self.out.push(b'{');
        }
        // Too many cells are noticed at the end of the row.
        let CsvDecode { columns, nulls, pushes_nulls, .. } = self.decode;
        let Some(column) = columns.get(index) else { return };
        let out = &mut self.out;
        if is_null(nulls, contents) {
            if *pushes_nulls {
                out.extend_from_slice(&column.prefix);
                out.extend_from_slice(b"null,");
            }
            return;
        }
        out.extend_from_slice(&column.prefix);
        let start = out.len();
        let fits = match column.basis {
            Basis::Declared(ColumnType::String) | Basis::Shown(ColumnType::String) => {
                push_string(out, contents);
                if column.is_key && has_blanks_around(contents) {
                    self.note(Surprise { column: Some(index), what: What::Blanks }, contents);
                }
                true
            }
            Basis::Declared(column_type) | Basis::Shown(column_type) => push_value(out, column_type, false, contents),
            Basis::Nothing | Basis::EachCell { .. } | Basis::InZone(..) => false,
        };
        if !fits {
            self.push_other(index, contents);
        }
        if let Some(values) = &mut self.values {
            values.push(index, self.records.len(), &self.out[start..], contents);
        }
        self.out.push(b',');
    }

    #[inline]
    fn row(&mut self, row: Row) -> bool {
        let from = self.row_start;
        if row.lines > LINES_MANY || self.odd.any {
            self.note_odd(row);
        }
        if let Some(reject) = self.reject(row) {
            self.out.truncate(from);
            let text = &self.data[row.start..row.end];
            let text = if reject.kind == Code::TooLarge { too_large_head(text) } else { text };
            self.out.extend_from_slice(text);
            self.rejects.push(reject);
            self.bad = None;
            self.row_noted.clear();
        } else if (self.out.len() == from + 1 || self.decode.pushes_nulls) && self.is_empty(row) {
            self.out.truncate(from);
            self.noted.add(u64::from(row.line), Surprise { column: None, what: What::Empty }, 1, String::new());
            return true;
        } else if let Some(last @ b',') = self.out.last_mut() {
            *last = b'}';
        } else {
            self.out.push(b'}');
        }
        if !self.row_noted.is_empty() {
            for (surprise, value) in self.row_noted.drain(..) {
                self.noted.add(u64::from(row.line), surprise, 1, value);
            }
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
    /// Appends a cell whose value does not match the type of its column, or whose column has no
    /// type.
    #[cold]
    fn push_other(&mut self, index: usize, contents: &[u8]) {
        let comma = self.decode.comma;
        let what = match self.decode.columns[index].basis {
            Basis::Declared(ColumnType::Integer) if comma && push_groups(&mut self.out, contents) => {
                self.rewritten = true;
                return;
            }
            Basis::Shown(ColumnType::Integer) if comma && push_dotted(&mut self.out, contents) => {
                self.rewritten = true;
                return;
            }
            Basis::Declared(column_type) => {
                if !push_value(&mut self.out, column_type, true, contents) {
                    self.bad.get_or_insert_with(|| (index, column_type, beginning(contents)));
                    push_string(&mut self.out, contents);
                }
                return;
            }
            Basis::InZone(column_type, zone) => {
                if !push_in_zone(&mut self.out, column_type, &zone, contents) {
                    self.bad.get_or_insert_with(|| (index, column_type, beginning(contents)));
                    push_string(&mut self.out, contents);
                }
                return;
            }
            Basis::EachCell { comma } => {
                let own = if comma { narrowest_with_comma(contents) } else { narrowest(contents) };
                let pushed = push_value(&mut self.out, own, false, contents) || push_dotted(&mut self.out, contents);
                debug_assert!(pushed, "a cell has its narrowest type");
                return;
            }
            Basis::Shown(column_type) if push_wider(&mut self.out, column_type, comma, contents).is_some() => {
                self.rewritten = true;
                What::Wider(column_type)
            }
            Basis::Shown(column_type) => {
                push_string(&mut self.out, contents);
                match Placeholder::of(contents) {
                    Some(_) => What::Placeholder(column_type),
                    None => What::Misfit(column_type),
                }
            }
            Basis::Nothing => {
                push_string(&mut self.out, contents);
                let own = if comma { narrowest_with_comma(contents) } else { narrowest(contents) };
                // A date is written as its text.
                if matches!(own, ColumnType::String | ColumnType::Date) {
                    return;
                }
                What::Unseen
            }
        };
        self.note(Surprise { column: Some(index), what }, contents);
    }

    /// Notes a cell of the row.
    #[cold]
    fn note(&mut self, surprise: Surprise, contents: &[u8]) {
        // Only the first value is shown, and there may be one in every row.
        let value = if self.noted.has(surprise) { String::new() } else { beginning(contents) };
        self.row_noted.push((surprise, value));
    }

    /// Whether the row has several cells and no character in any. Where there is one column, an
    /// empty cell in quotes is how programs write a record without a value.
    #[cold]
    fn is_empty(&self, row: Row) -> bool {
        let dialect = self.decode.layout.dialect;
        let is_nothing =
            |byte: &u8| *byte == dialect.separator || Some(*byte) == dialect.quote || dialect.is_blank(*byte);
        let mut written = &self.out[self.row_start + 1..];
        let is_null = |column: &Column| {
            let rest = written.strip_prefix(&column.prefix[..]).and_then(|rest| rest.strip_prefix(b"null,"));
            written = rest.unwrap_or_default();
            rest.is_some()
        };
        let is_blank = row.cells > 1 && self.data[row.start..row.end].iter().all(is_nothing);
        is_blank && (!self.decode.pushes_nulls || self.decode.columns.iter().all(is_null))
    }

    #[cold]
    fn note_odd(&mut self, row: Row) {
        let Odd { tails, strays, sequences, .. } = std::mem::take(&mut self.odd);
        let mut note = |what, count, value| {
            self.noted.add(u64::from(row.line), Surprise { column: None, what }, count, value);
        };
        for (what, count) in [(What::Tail, tails), (What::Stray, strays), (What::Sequence, sequences)] {
            if count > 0 {
                note(what, count, beginning(&self.data[row.start..row.end]));
            }
        }
        // A row whose quote is never closed becomes a reject, which states its lines.
        if row.lines > LINES_MANY && !row.unclosed {
            note(What::Long, 1, row.lines.to_string());
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
                 which are all part of it; close it, or give option `quote=none` if quotes have no meaning"
            );
            return Some(Reject { record, kind: Code::UnclosedQuote, reason });
        }
        if let Some(reject) = invalid_utf8(record, &self.data[row.start..row.end]) {
            return Some(reject);
        }
        if row.cells != columns {
            let hint = ragged_hint(&self.data[row.start..row.end], &self.decode.names, row.cells);
            let reason = format!("row has {} cells, expected {columns}, one for each column{hint}", row.cells);
            return Some(Reject { record, kind: Code::RaggedRow, reason });
        }
        let (index, expected, value) = self.bad.as_ref()?;
        let name = &self.decode.columns[*index].name;
        let reason = format!(
            "column {name:?} holds {value:?}, expected {expected}; correct the value or the type in option `schema`"
        );
        Some(Reject { record, kind: Code::BadValue, reason })
    }
}

/// What may be wrong where a row has another number of cells than there are columns.
fn ragged_hint(row: &[u8], names: &[String], cells: usize) -> &'static str {
    match row.first() {
        Some(b'#') => "; leave lines that begin with # out with option `comment=#`",
        _ if names.first().is_some_and(|name| name.starts_with('#')) => {
            "; if the first line, which begins with #, is not the header, leave it out with option `comment=#`"
        }
        // A line above the header is often a title.
        _ if names.len() == 1 && cells > 1 => {
            "; if the first line is not the header, leave the lines above it out with option `skip_lines=N`"
        }
        _ => "",
    }
}
