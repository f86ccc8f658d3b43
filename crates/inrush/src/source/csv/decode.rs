//! Rows of CSV become JSON documents, straight from the text.
//!
//! Written by hand because it decides how fast CSV loads: cells are found by `memchr` and written into the document in the same
//! pass. What a row is follows `csv-core` (RFC 4180 and what spreadsheets make of it), against which the tests hold it.

use bytes::Bytes;
use inrush_core::block::Record;
use inrush_core::{DocBlock, Reject};

use super::types::ColumnType;
use crate::source::warnings::Warnings;
use crate::source::{Decode, RawChunk};

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    pub(super) quote: Option<u8>,
}

/// A column of the documents.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) column_type: ColumnType,
    /// A cell that does not fit spoils the row; otherwise it is sent as a string.
    pub(super) declared: bool,
    /// `,"name":`
    key: Vec<u8>,
}

impl Column {
    pub(super) fn new(name: String, column_type: ColumnType, declared: bool) -> Self {
        let mut key = vec![b','];
        // A string is always JSON.
        key.extend_from_slice(serde_json::Value::from(name.as_str()).to_string().as_bytes());
        key.push(b':');
        Column { name, column_type, declared, key }
    }
}

/// Decodes chunks of one file.
#[derive(Debug)]
pub(super) struct CsvDecoder {
    pub(super) source: String,
    pub(super) dialect: Dialect,
    pub(super) columns: Vec<Column>,
    /// The chunk begins with the header.
    pub(super) skip_first_row: bool,
    pub(super) warnings: Warnings,
}

/// Where a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellEnd {
    Separator,
    Row,
    /// The quote was never closed.
    Unclosed,
}

/// Goes through text cell by cell.
pub(super) struct Cells<'a> {
    text: &'a [u8],
    pub(super) at: usize,
    /// Line ends passed inside of quoted cells and at the end of rows.
    pub(super) lines: u32,
    dialect: Dialect,
    scratch: Vec<u8>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Cells { text, at: 0, lines: 0, dialect, scratch: Vec::new() }
    }

    /// Passes over empty lines. Whether a row follows.
    pub(super) fn row_follows(&mut self) -> bool {
        loop {
            match &self.text[self.at..] {
                [] => return false,
                [b'\r', b'\n', ..] => self.at += 2,
                [b'\r' | b'\n', ..] => self.at += 1,
                _ => return true,
            }
            self.lines += 1;
        }
    }

    /// The next cell of the row and how it ended.
    pub(super) fn next(&mut self) -> (&[u8], CellEnd) {
        match self.text.get(self.at) {
            Some(&byte) if Some(byte) == self.dialect.quote => self.quoted(byte),
            Some(&byte) if byte == self.dialect.separator => {
                self.at += 1;
                (b"", CellEnd::Separator)
            }
            _ => {
                let start = self.at;
                let (end, how) = self.plain_end();
                (&self.text[start..end], how)
            }
        }
    }

    /// The end of a cell without quotes, and moves behind it.
    fn plain_end(&mut self) -> (usize, CellEnd) {
        let start = self.at;
        let rest = &self.text[start..];
        let Some(i) = memchr::memchr3(self.dialect.separator, b'\n', b'\r', rest) else {
            self.at = self.text.len();
            return (self.at, CellEnd::Row);
        };
        self.at = start + i + 1;
        if rest[i] == self.dialect.separator {
            return (start + i, CellEnd::Separator);
        }
        self.lines += 1;
        self.at += usize::from(rest[i] == b'\r' && rest.get(i + 1) == Some(&b'\n'));
        (start + i, CellEnd::Row)
    }

    fn quoted(&mut self, quote: u8) -> (&[u8], CellEnd) {
        self.scratch.clear();
        let mut from = self.at + 1;
        let first = from;
        loop {
            let Some(i) = memchr::memchr(quote, &self.text[from..]) else {
                let cell = &self.text[first..];
                self.lines += memchr::memchr_iter(b'\n', cell).count() as u32;
                self.at = self.text.len();
                return (cell, CellEnd::Unclosed);
            };
            let close = from + i;
            if self.text.get(close + 1) == Some(&quote) {
                self.scratch.extend_from_slice(&self.text[from..=close]);
                from = close + 2;
                continue;
            }
            self.lines += memchr::memchr_iter(b'\n', &self.text[first..close]).count() as u32;
            self.at = close + 1;
            let (end, how) = self.plain_end();
            // Without doubled quotes and without text behind the closing one, the cell stands in the text as it is.
            if first == from && end == close + 1 {
                return (&self.text[first..close], how);
            }
            self.scratch.extend_from_slice(&self.text[from..close]);
            self.scratch.extend_from_slice(&self.text[close + 1..end]);
            return (&self.scratch, how);
        }
    }
}

impl Decode for CsvDecoder {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let text = &chunk.data[..];
        let all_utf8 = std::str::from_utf8(text).is_ok();
        let mut out = Vec::with_capacity(text.len() * 2);
        let mut records = Vec::with_capacity(text.len() / 64);
        let mut rejects = Vec::new();
        let mut misfits = vec![0u64; self.columns.len()];
        let mut cells = Cells::new(text, self.dialect);
        if self.skip_first_row && cells.row_follows() {
            while cells.next().1 == CellEnd::Separator {}
        }
        while cells.row_follows() {
            let (row_start, line, start) = (cells.at, cells.lines, out.len());
            let problem = self.row(&mut cells, all_utf8, &mut out, &mut misfits);
            if let Err((kind, reason)) = problem {
                out.truncate(start);
                let row = &text[row_start..cells.at];
                let row = row.strip_suffix(b"\n").unwrap_or(row);
                out.extend_from_slice(row.strip_suffix(b"\r").unwrap_or(row));
                rejects.push(Reject { record: records.len() as u32, kind, reason });
            }
            records.push(Record { start: start as u32, end: out.len() as u32, byte: row_start as u32, line });
        }
        for (column, count) in self.columns.iter().zip(misfits).filter(|(_, count)| *count > 0) {
            self.warnings.add(&self.source, "type_misfit", &column.name, count, || {
                format!(
                    "a value is no {}, as the first rows suggested, and was sent as a string; declare the column with --schema",
                    column.column_type.name()
                )
            });
        }
        DocBlock {
            origin: chunk.origin,
            lines: u64::from(cells.lines),
            data: Bytes::from(out),
            records,
            rejects,
            meta: Vec::new(),
            bytes_read: chunk.bytes_read,
        }
    }
}

impl CsvDecoder {
    /// Writes one row as a document. After an error the rest of the row is passed over.
    fn row(
        &self,
        cells: &mut Cells<'_>,
        all_utf8: bool,
        out: &mut Vec<u8>,
        misfits: &mut [u64],
    ) -> Result<(), (&'static str, String)> {
        let start = out.len();
        let mut problem = None;
        let mut count = 0;
        loop {
            let (cell, how) = cells.next();
            if how == CellEnd::Unclosed {
                problem.get_or_insert_with(|| ("unclosed_quote", "a quoted cell is never closed".to_owned()));
            }
            if let Some(column) = self.columns.get(count)
                && !cell.is_empty()
                && problem.is_none()
            {
                if !all_utf8 && std::str::from_utf8(cell).is_err() {
                    let reason = format!(
                        "column {}: {:?} is not UTF-8; name the file's encoding with --charset",
                        column.name,
                        String::from_utf8_lossy(cell)
                    );
                    problem = Some(("invalid_utf8", reason));
                } else {
                    problem = cell_into(column, cell, out, &mut misfits[count]);
                }
            }
            count += 1;
            if how != CellEnd::Separator {
                break;
            }
        }
        if let Some(problem) = problem {
            return Err(problem);
        }
        if count != self.columns.len() {
            return Err(("ragged_row", format!("the row has {count} cells, expected {}", self.columns.len())));
        }
        match out.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => out.push(b'{'),
        }
        out.push(b'}');
        Ok(())
    }
}

/// Writes `,"name":value`.
fn cell_into(column: &Column, cell: &[u8], out: &mut Vec<u8>, misfits: &mut u64) -> Option<(&'static str, String)> {
    out.extend_from_slice(&column.key);
    if column.column_type != ColumnType::String {
        if column.column_type.write(cell, out) {
            return None;
        }
        if column.declared {
            let reason = format!(
                "column {}: {:?} is no {}",
                column.name,
                String::from_utf8_lossy(cell),
                column.column_type.name()
            );
            return Some(("bad_value", reason));
        }
        *misfits += 1;
    }
    write_string(cell, out);
    None
}

/// Writes UTF-8 text as a JSON string.
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    // One comparison a byte that the compiler makes vectors of; texts that need escapes are rare.
    if text.iter().fold(false, |special, &b| special | (b < 0x20) | (b == b'"') | (b == b'\\')) {
        for &byte in text {
            match byte {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => out.push(byte),
            }
        }
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'"');
}
