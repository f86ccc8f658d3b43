//! Rows of a sheet become documents.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use calamine::{Data, ExcelDateTime};
use inrush_core::DocBlock;
use inrush_core::block::{Origin, Record};

use super::read::Row;
use crate::source::buffer::BufferPool;
use crate::source::csv::{Header, column_names};
use crate::source::json_string::push_escaped;
use crate::source::open::Shared;
use crate::source::warnings::Warnings;
use crate::source::{too_large, too_large_head};

/// A column: its name, and what its cells have in common, so that they are written alike.
struct Column {
    /// `"name":`
    prefix: Vec<u8>,
    name: String,
    /// Some number is not whole: then all have a decimal point, because a server that makes up the mapping takes the first one's word.
    fractions: bool,
    /// Some date has a time of day.
    times: bool,
}

/// The rows below the names, and how to write them.
pub(super) struct SheetWriter {
    rows: Vec<Row>,
    columns: Vec<Column>,
    document_bytes_max: usize,
    source: String,
    warnings: Warnings,
    pool: Arc<BufferPool>,
}

impl SheetWriter {
    /// Takes the names from the header row. An empty name becomes `c` and the column's number.
    pub(super) fn new(mut rows: Vec<Row>, shared: &Shared, source: &str) -> Result<Self, String> {
        let header_row = shared.options.sheet.header_row;
        let header = match (&shared.options.csv.header, header_row) {
            (Header::FirstRow, None) if rows.is_empty() => Vec::new(),
            (Header::FirstRow, None) => rows.remove(0).cells,
            (Header::FirstRow, Some(number)) => {
                let at = rows.iter().position(|row| row.number + 1 == number);
                let at =
                    at.ok_or_else(|| format!("row {number}, which should have the names of the columns, is empty"))?;
                let header = rows.drain(..=at).next_back().map(|row| row.cells);
                header.unwrap_or_default()
            }
            (Header::Numbered, _) => Vec::new(),
            (Header::Names(names), _) => (0..).zip(names).map(|(i, name)| (i, Data::String(name.clone()))).collect(),
        };
        let width = rows
            .iter()
            .map(|row| &row.cells)
            .chain([&header])
            .filter_map(|cells| cells.last())
            .map(|(c, _)| c + 1)
            .max();
        let mut given = vec![String::new(); width.unwrap_or(0) as usize];
        for (column, value) in header {
            given[column as usize] = value.to_string();
        }
        let (names, duplicates) = column_names(&given);
        for name in duplicates {
            shared.warnings.add(source, "duplicate_column", &name, 1, || {
                format!("column {name:?} is there more than once; the later ones got a number")
            });
        }
        let mut columns: Vec<Column> = names.into_iter().map(Column::new).collect();
        for (column, value) in rows.iter().flat_map(|row| &row.cells) {
            columns[*column as usize].see(value);
        }
        Ok(SheetWriter {
            rows,
            columns,
            document_bytes_max: shared.options.document_bytes_max,
            source: source.to_owned(),
            warnings: shared.warnings.clone(),
            pool: Arc::clone(&shared.documents),
        })
    }

    /// How many rows become documents.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of a row in the sheet, from 0.
    pub(super) fn number(&self, row: usize) -> u32 {
        self.rows[row].number
    }

    /// Where a piece of about `bytes` that begins at row `from` ends.
    pub(super) fn piece(&self, from: usize, bytes: usize) -> usize {
        let mut sum = 0;
        for (i, row) in self.rows.iter().enumerate().skip(from) {
            sum += row.cells.iter().map(|(column, value)| self.columns[*column as usize].cost(value)).sum::<usize>();
            if sum >= bytes {
                return i + 1;
            }
        }
        self.rows.len()
    }

    /// Documents of some rows. `first_row` is the number in the sheet at which the block begins.
    pub(super) fn block(&self, rows: Range<usize>, first_row: u32, origin: Origin, bytes_read: u64) -> DocBlock {
        let mut out = self.pool.take();
        out.clear();
        let mut records = Vec::with_capacity(rows.len());
        let mut rejects = Vec::new();
        let mut lines = 0;
        for row in &self.rows[rows] {
            let start = out.len();
            out.push(b'{');
            for (column, value) in &row.cells {
                let column = &self.columns[*column as usize];
                let before = out.len();
                out.extend_from_slice(&column.prefix);
                if column.push(value, &mut out) {
                    out.push(b',');
                } else {
                    out.truncate(before);
                    self.warn(column, value);
                }
            }
            match out.last_mut() {
                Some(last @ b',') => *last = b'}',
                _ => out.push(b'}'),
            }
            let len = out.len() - start;
            if len > self.document_bytes_max {
                rejects.push(too_large(records.len() as u32, len as u64, self.document_bytes_max));
                let kept = too_large_head(&out[start..]).len();
                out.truncate(start + kept);
            }
            let line = row.number - first_row;
            lines = u64::from(line) + 1;
            records.push(Record { start: start as u32, end: out.len() as u32, byte: 0, line });
        }
        let len = out.len();
        DocBlock { origin, lines, data: self.pool.share(out, len), records, rejects, meta: Vec::new(), bytes_read }
    }

    fn warn(&self, column: &Column, value: &Data) {
        self.warnings.add(&self.source, "cell_error", &column.name, 1, || {
            format!("a cell holds {value}, which is no value: the field is left out")
        });
    }
}

impl Column {
    fn new(name: String) -> Self {
        let mut prefix = vec![b'"'];
        push_escaped(&mut prefix, name.as_bytes());
        prefix.extend_from_slice(b"\":");
        Column { prefix, name, fractions: false, times: false }
    }

    fn see(&mut self, value: &Data) {
        match value {
            Data::Float(number) => self.fractions |= number.fract() != 0.0,
            Data::DateTime(time) => self.times |= is_date(time) && time_of_day(time) != (0, 0, 0, 0),
            _ => {}
        }
    }

    /// About how many bytes a cell becomes.
    fn cost(&self, value: &Data) -> usize {
        let contents = match value {
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.len(),
            _ => 12,
        };
        self.prefix.len() + contents + 3
    }

    /// Appends the value; false, and nothing that counts, where there is none.
    fn push(&self, value: &Data, out: &mut Vec<u8>) -> bool {
        match value {
            Data::Int(number) if self.fractions => push_float(*number as f64, out),
            Data::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
            Data::Float(number) if !number.is_finite() => return false,
            // Up to 2^53 a float is the whole number that it shows.
            Data::Float(number) if !self.fractions && number.abs() <= 9_007_199_254_740_992.0 => {
                out.extend_from_slice(itoa::Buffer::new().format(*number as i64).as_bytes());
            }
            Data::Float(number) => push_float(*number, out),
            Data::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => {
                out.push(b'"');
                push_escaped(out, text.as_bytes());
                out.push(b'"');
            }
            Data::DateTime(time) => self.push_time(time, out),
            Data::Error(_) | Data::Empty => return false,
        }
        true
    }

    /// A date, with its time where some cell of the column has one; a time without a date; or a duration.
    fn push_time(&self, time: &ExcelDateTime, out: &mut Vec<u8>) {
        let written = if time.is_duration() {
            // Days. Milliseconds are what spreadsheets have.
            let ms = (time.as_f64() * 86_400_000.0).round() as i64;
            let sign = if ms < 0 { "-" } else { "" };
            let (seconds, ms) = (ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000);
            write!(out, "\"PT{sign}{seconds}").and_then(|()| push_ms(out, ms as u16)).and_then(|()| write!(out, "S\""))
        } else if is_date(time) {
            let (year, month, day, ..) = time.to_ymd_hms_milli();
            write!(out, "\"{year:04}-{month:02}-{day:02}").and_then(|()| {
                if self.times {
                    out.push(b'T');
                    push_clock(out, time)?;
                }
                write!(out, "\"")
            })
        } else {
            out.push(b'"');
            push_clock(out, time).and_then(|()| write!(out, "\""))
        };
        written.expect("a vector takes all that is written to it");
    }
}

/// Whether it is a date, and no time of day alone, which is a part of day 0.
fn is_date(time: &ExcelDateTime) -> bool {
    time.is_datetime() && time.as_f64() >= 1.0
}

/// Hours, minutes, seconds, milliseconds.
fn time_of_day(time: &ExcelDateTime) -> (u8, u8, u8, u16) {
    let (_, _, _, hours, minutes, seconds, ms) = time.to_ymd_hms_milli();
    (hours, minutes, seconds, ms)
}

fn push_clock(out: &mut Vec<u8>, time: &ExcelDateTime) -> std::io::Result<()> {
    let (hours, minutes, seconds, ms) = time_of_day(time);
    write!(out, "{hours:02}:{minutes:02}:{seconds:02}")?;
    push_ms(out, ms)
}

fn push_ms(out: &mut Vec<u8>, ms: u16) -> std::io::Result<()> {
    if ms == 0 { Ok(()) } else { write!(out, ".{ms:03}") }
}

fn push_float(number: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
}
