//! Rows of a sheet become documents.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use calamine::{ExcelDateTime, ExcelDateTimeType};
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta};

use super::cell::{Cell, Row};
use crate::buffer::BufferPool;
use crate::csv::{Header, column_names};
use crate::json_string::push_escaped;
use crate::reading::Reading;
use crate::warnings::Warnings;
use crate::{too_large, too_large_head};

/// Up to this number each whole number is a float of its own.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The first day without a date in spreadsheets, counted from 1900, and from 1904.
const DAYS_END: f64 = 2_958_466.0;
const DAYS_END_1904: f64 = 2_957_004.0;

/// A column: its name, and the common properties of its cells, so that they are written alike.
struct Column {
    /// `"name":`
    prefix: Vec<u8>,
    name: String,
    /// Whether some number is not whole, or too large to be exact. Then all numbers get a decimal
    /// point, because a server without a mapping decides the field's type by the first value.
    fractions: bool,
    /// Whether some date has a time of day.
    times: bool,
    /// The name, if the original text of the cells is kept.
    kept: Option<Arc<str>>,
}

/// Writes the rows below the names as documents.
pub(super) struct SheetWriter {
    rows: Vec<Row>,
    columns: Vec<Column>,
    document_bytes_max: usize,
    source: String,
    warnings: Warnings,
    pool: Arc<BufferPool>,
}

impl SheetWriter {
    /// Reads the names from the header row. An empty name becomes `c` and the column's number.
    pub(super) fn new(mut rows: Vec<Row>, reading: &Reading, source: &str) -> Result<Self, String> {
        let header_row = reading.options.sheet.header_row;
        let header = match (&reading.options.csv.header, header_row) {
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
            (Header::Names(names), _) => {
                (0..).zip(names).map(|(i, name)| (i, Cell::Text(name.as_str().into()))).collect()
            }
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
            given[column as usize] = name_of(&value);
        }
        let (names, duplicates) = column_names(&given);
        for name in duplicates {
            reading.warnings.add(source, "duplicate_column", &name, 1, || {
                format!("column {name:?} appears more than once; a number was added to the later ones")
            });
        }
        let mut columns: Vec<Column> = names.into_iter().map(Column::new).collect();
        for (column, value) in rows.iter().flat_map(|row| &row.cells) {
            columns[*column as usize].see(value);
        }
        for column in columns.iter_mut().filter(|column| column.fractions && reading.texts.contains(&column.name)) {
            column.kept = Some(Arc::from(column.name.as_str()));
        }
        Ok(SheetWriter {
            rows,
            columns,
            document_bytes_max: reading.options.document_bytes_max,
            source: source.to_owned(),
            warnings: reading.warnings.clone(),
            pool: Arc::clone(&reading.documents),
        })
    }

    /// Number of rows that become documents.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of a row in the sheet, from 0.
    pub(super) fn number(&self, row: usize) -> u32 {
        self.rows[row].number
    }

    /// The end of a piece of about `bytes` that begins at row `from`.
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
        let (mut meta, mut texts) = (Vec::new(), Vec::new());
        for row in &self.rows[rows] {
            let start = out.len();
            out.push(b'{');
            for (column, value) in &row.cells {
                let column = &self.columns[*column as usize];
                let before = out.len();
                out.extend_from_slice(&column.prefix);
                match column.push(value, &mut out) {
                    Ok(()) => {
                        texts.extend(column.text(value));
                        out.push(b',');
                    }
                    Err(Unwritten::NoValue(shown)) => {
                        out.truncate(before);
                        self.warn(
                            column,
                            "cell_error",
                            &format!("a cell holds {shown}, which is not a value: the field is left out"),
                        );
                    }
                    Err(Unwritten::NoDate(days)) => {
                        push_number(days, &mut out);
                        out.push(b',');
                        self.warn(column, "no_date", &format!("a cell is formatted as a date and holds {days}, for which no date exists: it is written as a number"));
                    }
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
            if self.columns.iter().any(|column| column.kept.is_some()) {
                meta.push(DocMeta::default().with_texts(std::mem::take(&mut texts)));
            }
            let line = row.number - first_row;
            lines = u64::from(line) + 1;
            records.push(Record { start: start as u32, end: out.len() as u32, byte: 0, line });
        }
        let len = out.len();
        DocBlock { origin, lines, data: self.pool.share(out, len), records, rejects, meta, bytes_read }
    }

    fn warn(&self, column: &Column, kind: &'static str, message: &str) {
        self.warnings.add(&self.source, kind, &column.name, 1, || message.to_owned());
    }
}

/// Why a cell was not written as its type.
enum Unwritten {
    /// It is an error or not a number.
    NoValue(String),
    /// It is a date that does not exist, of this many days.
    NoDate(f64),
}

impl Column {
    fn new(name: String) -> Self {
        let mut prefix = vec![b'"'];
        push_escaped(&mut prefix, name.as_bytes());
        prefix.extend_from_slice(b"\":");
        Column { prefix, name, fractions: false, times: false, kept: None }
    }

    fn see(&mut self, value: &Cell) {
        match value {
            Cell::Number(number) => self.fractions |= number.fract() != 0.0 || number.abs() > EXACT_MAX,
            Cell::Moment(time) => self.times |= is_date(time) && has_date(time) && time_of_day(time) != (0, 0, 0, 0),
            _ => {}
        }
    }

    /// The text of a whole number in a column with decimals, as the sheet shows it, if it is kept.
    fn text(&self, value: &Cell) -> Option<(Arc<str>, String)> {
        let name = self.kept.as_ref()?;
        let text = match value {
            Cell::Whole(number) => number.to_string(),
            Cell::Number(number) if number.fract() == 0.0 && number.abs() <= EXACT_MAX => (*number as i64).to_string(),
            _ => return None,
        };
        Some((Arc::clone(name), text))
    }

    /// Estimated bytes of a cell in the document.
    fn cost(&self, value: &Cell) -> usize {
        let contents = match value {
            Cell::Text(text) => text.len(),
            _ => 12,
        };
        self.prefix.len() + contents + 3
    }

    /// Appends the value.
    fn push(&self, value: &Cell, out: &mut Vec<u8>) -> Result<(), Unwritten> {
        match value {
            Cell::Whole(number) => {
                push_whole(*number, out);
                if self.fractions {
                    out.extend_from_slice(b".0");
                }
            }
            Cell::Number(number) if !number.is_finite() => return Err(Unwritten::NoValue(number.to_string())),
            Cell::Number(number) if self.fractions => push_float(*number, out),
            Cell::Number(number) => push_number(*number, out),
            Cell::Truth(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Cell::Text(text) => {
                out.push(b'"');
                push_escaped(out, text.as_bytes());
                out.push(b'"');
            }
            Cell::Moment(time) => {
                let days = time.as_f64();
                if !days.is_finite() {
                    return Err(Unwritten::NoValue(days.to_string()));
                }
                if !time.is_duration() && !has_date(time) {
                    return Err(Unwritten::NoDate(days));
                }
                self.push_time(time, out);
            }
            Cell::Error(error) => return Err(Unwritten::NoValue(error.to_string())),
        }
        Ok(())
    }

    /// Appends a date, with its time if some cell of the column has one; a time without a date; or
    /// a duration.
    fn push_time(&self, time: &ExcelDateTime, out: &mut Vec<u8>) {
        let written = if time.is_duration() {
            // Days. Spreadsheets have a resolution of milliseconds.
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

/// The name of a column whose header cell is not text.
fn name_of(cell: &Cell) -> String {
    match cell {
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
        Cell::Truth(truth) => truth.to_string(),
        Cell::Text(text) => text.as_ref().to_owned(),
        Cell::Moment(moment) => moment.to_string(),
        Cell::Error(error) => error.to_string(),
    }
}

/// Whether it is between the first day and 9999-12-31.
fn has_date(time: &ExcelDateTime) -> bool {
    let days = time.as_f64();
    // This comparison is the only access to the epoch.
    let is_1904 = *time == ExcelDateTime::new(days, ExcelDateTimeType::DateTime, true);
    (0.0..if is_1904 { DAYS_END_1904 } else { DAYS_END }).contains(&days)
}

/// Whether it is a date. A time of day alone is a part of day 0.
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

/// Appends a float, as a whole number if it is one.
fn push_number(number: f64, out: &mut Vec<u8>) {
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        push_whole(number as i64, out);
    } else {
        push_float(number, out);
    }
}

fn push_whole(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn push_float(number: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
}
