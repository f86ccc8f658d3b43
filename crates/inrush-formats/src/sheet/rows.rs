//! Rows of a sheet become documents.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use calamine::{ExcelDateTime, ExcelDateTimeType};
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta, FieldType};

use super::cell::{Cell, EXACT_MAX, Row};
use super::formulas::Formulas;
use super::found::{Found, Merged};
use crate::buffer::BufferPool;
use crate::csv::{Header, column_names};
use crate::json_string::push_escaped;
use crate::state::Reading;
use crate::warnings::{FIRST_TEXT, FRACTIONS, TITLE, Warnings, fractions_of, title_of};
use crate::{too_large, too_large_head};

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
    /// Whether some number is shown as other text than its digits, mostly with zeros before it.
    /// Then all numbers are text, as in a CSV of the sheet.
    codes: bool,
    /// Cells with such a format and the letters of the longest, and numbers without one and the
    /// digits of the shortest.
    formatted: (u64, usize),
    numbers: (u64, usize),
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
    /// Whether an empty cell is a `null`. If not, its field is absent.
    nulls: bool,
    source: String,
    warnings: Warnings,
    pool: Arc<BufferPool>,
}

impl SheetWriter {
    /// Reads the names from the header row. An empty name becomes `c` and the column's number.
    pub(super) fn new(found: Found, reading: &Reading, source: &str) -> Result<Self, String> {
        let Found { mut rows, formulas, merged, asks_to_calculate } = found;
        let header = header(&mut rows, reading)?;
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
        warn_of_header(&rows, &given, &names, reading, source);
        warn_of_formulas(&formulas, asks_to_calculate, &names, source, &reading.warnings);
        warn_of_merged(&merged, &rows, &names, source, &reading.warnings);
        let mut columns: Vec<Column> = names.into_iter().map(Column::new).collect();
        for (column, value) in rows.iter().flat_map(|row| &row.cells) {
            columns[*column as usize].see(value);
        }
        for column in columns.iter().filter(|column| column.has_other_numbers()) {
            reading.warnings.add(source, "numbers_as_text", &column.name, column.numbers.0, || {
                "some cells have a format that shows zeros or letters with the number, such as 007, and more are plain numbers: all of \
                 the column are text, as the sheet shows them; give them one format in a spreadsheet program"
                    .to_owned()
            });
        }
        for column in columns.iter_mut().filter(|column| column.fractions && reading.texts.contains(&column.name)) {
            column.kept = Some(Arc::from(column.name.as_str()));
        }
        for column in columns.iter().filter(|column| column.fractions) {
            let name = &column.name;
            if reading.rows.fields.of(name) == Some(FieldType::Whole) {
                reading.warnings.add(source, FRACTIONS, name, 1, || fractions_of(name));
            }
        }
        Ok(SheetWriter {
            rows,
            columns,
            document_bytes_max: reading.options.document_bytes_max,
            nulls: reading.rows.nulls,
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
            // Cells of a row are in the order of their columns.
            let mut next = 0;
            for (place, value) in &row.cells {
                self.push_nulls(next..*place, &mut out);
                next = *place + 1;
                let column = &self.columns[*place as usize];
                let before = out.len();
                out.extend_from_slice(&column.prefix);
                match column.push(value, &mut out) {
                    Ok(()) => {
                        texts.extend(column.text(value));
                        out.push(b',');
                    }
                    Err(Unwritten::NoValue(shown)) => {
                        out.truncate(before);
                        self.push_nulls(*place..next, &mut out);
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
            self.push_nulls(next..self.columns.len() as u32, &mut out);
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

    /// Appends a `null` for each of these columns, where nulls are written.
    fn push_nulls(&self, columns: Range<u32>, out: &mut Vec<u8>) {
        for place in columns.filter(|_| self.nulls) {
            out.extend_from_slice(&self.columns[place as usize].prefix);
            out.extend_from_slice(b"null,");
        }
    }

    fn warn(&self, column: &Column, kind: &'static str, message: &str) {
        self.warnings.add(&self.source, kind, &column.name, 1, || message.to_owned());
    }
}

/// Takes the header row, and the rows above it.
fn header(rows: &mut Vec<Row>, reading: &Reading) -> Result<Vec<(u32, Cell)>, String> {
    Ok(match (&reading.options.csv.header, reading.options.sheet.header_row) {
        (Header::FirstRow, None) if rows.is_empty() => Vec::new(),
        (Header::FirstRow, None) => rows.remove(0).cells,
        (Header::FirstRow, Some(number)) => {
            let at = rows.iter().position(|row| row.number + 1 == number);
            let at = at.ok_or_else(|| format!("row {number}, which should have the names of the columns, is empty"))?;
            let header = rows.drain(..=at).next_back().map(|row| row.cells);
            header.unwrap_or_default()
        }
        (Header::Numbered, _) => Vec::new(),
        (Header::Names(names), _) => (0..).zip(names).map(|(i, name)| (i, Cell::Text(name.as_str().into()))).collect(),
    })
}

/// The most rows of a title and its blank lines above the names.
const TITLE_ROWS_MAX: usize = 20;

/// Warns where a row below the names may have the names.
fn warn_of_header(rows: &[Row], given: &[String], names: &[String], reading: &Reading, source: &str) {
    let (Header::FirstRow, [first, rest @ ..]) = (&reading.options.csv.header, rows) else { return };
    let remedy = |row: &Row| {
        format!("name the row with the names with option `header_row`, such as option `header_row={}`", row.number + 1)
    };
    let mut has_values = vec![false; given.len()];
    for (column, _) in rows.iter().flat_map(|row| &row.cells) {
        has_values[*column as usize] = true;
    }
    let with_values = given.iter().zip(&has_values).filter(|(_, has)| **has);
    // The names are texts, and most columns have one.
    let columns = with_values.clone().count();
    let is_text = |(_, cell): &(u32, Cell)| matches!(cell, Cell::Text(_));
    let has_names = |row: &&Row| 2 * row.cells.len() > columns && row.cells.iter().all(is_text);
    let names_row = rows.iter().take(TITLE_ROWS_MAX).find(has_names).unwrap_or(first);
    let title = title_of(with_values.map(|(name, _)| !name.trim().is_empty()), &remedy(names_row));
    if let Some(message) = title.filter(|_| reading.options.sheet.header_row.is_none()) {
        reading.warnings.add(source, TITLE, "", 1, || message);
        return;
    }
    // The numbers and dates of each column below the first row, and whether it has others.
    let mut below = vec![(0_u64, false); given.len()];
    for (column, value) in rest.iter().flat_map(|row| &row.cells) {
        let (values, others) = &mut below[*column as usize];
        match value {
            Cell::Whole(_) | Cell::Number(_) | Cell::Code(_) | Cell::Moment(_) => *values += 1,
            Cell::Text(_) | Cell::Truth(_) => *others = true,
            Cell::Error(_) => {}
        }
    }
    for (column, value) in &first.cells {
        if let (Cell::Text(_), (1.., false)) = (value, below[*column as usize]) {
            reading.warnings.add(source, FIRST_TEXT, &names[*column as usize], 1, || {
                format!(
                    "only the first row has text, the others have numbers or dates; if that row has the names, {}",
                    remedy(first)
                )
            });
        }
    }
}

fn warn_of_formulas(formulas: &Formulas, asks: bool, names: &[String], source: &str, warnings: &Warnings) {
    let name = |column: u32| names.get(column as usize).cloned().unwrap_or_else(|| format!("c{}", column + 1));
    for (column, count) in formulas.missing() {
        warnings.add(source, "formula_without_value", &name(column), count, || {
            "a formula has no stored value, because the program that wrote the workbook did not calculate it: the field is left out; open the workbook in a spreadsheet program and save it"
                .to_owned()
        });
    }
    for (column, count) in formulas.not_calculated(asks) {
        warnings.add(source, "formula_not_calculated", &name(column), count, || {
            "a formula has 0 or an empty text as its stored value, as all formulas of the sheet: the program that wrote the workbook may not have calculated them; open it in a spreadsheet program and save it"
                .to_owned()
        });
    }
}

/// Warns of cells that have no value because they are merged with one above them.
fn warn_of_merged(merged: &[Merged], rows: &[Row], names: &[String], source: &str, warnings: &Warnings) {
    let value_at = |row: u32, column: u32| {
        let row = &rows[rows.binary_search_by_key(&row, |row| row.number).ok()?];
        row.cells.binary_search_by_key(&column, |(column, _)| *column).ok()
    };
    for Merged { column, first, last } in merged {
        let Some(name) = names.get(*column as usize).filter(|_| value_at(*first, *column).is_some()) else { continue };
        let up_to = |number: u32| rows.partition_point(|row| row.number <= number) as u64;
        let covered = up_to(*last) - up_to(*first);
        if covered > 0 {
            warnings.add(source, "merged_cells", name, covered, || {
                "cells are merged over several rows, and only the first row has their value: the field is left out in the \
                 others; split the cells and fill them in a spreadsheet program"
                    .to_owned()
            });
        }
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
        let (formatted, numbers) = ((0, 0), (0, usize::MAX));
        Column { prefix, name, fractions: false, codes: false, formatted, numbers, times: false, kept: None }
    }

    fn see(&mut self, value: &Cell) {
        match value {
            Cell::Code(shown) => self.formatted = (self.formatted.0 + 1, self.formatted.1.max(shown.len())),
            Cell::Whole(number) => self.see_number(number.to_string().len()),
            Cell::Number(number) => self.see_number(number.to_string().len()),
            _ => {}
        }
        match value {
            Cell::Number(number) => self.fractions |= number.fract() != 0.0 || number.abs() > EXACT_MAX,
            Cell::Code(shown) => self.codes |= plain(shown).is_none(),
            Cell::Moment(time) => self.times |= is_date(time) && has_date(time) && time_of_day(time) != (0, 0, 0, 0),
            _ => {}
        }
    }

    fn see_number(&mut self, digits: usize) {
        self.numbers = (self.numbers.0 + 1, self.numbers.1.min(digits));
    }

    /// Whether most numbers are text without being codes: some have a fraction, or fewer digits. A
    /// file of OpenDocument has no format of a code that begins with another digit.
    fn has_other_numbers(&self) -> bool {
        let are_unlike = self.fractions || self.numbers.1 < self.formatted.1;
        self.codes && self.formatted.0 < self.numbers.0 && are_unlike
    }

    /// The text of a whole number in a column with decimals, as the sheet shows it, if it is kept.
    fn text(&self, value: &Cell) -> Option<(Arc<str>, String)> {
        // Numbers that are written as text are the ids themselves.
        let name = self.kept.as_ref().filter(|_| !self.codes)?;
        let text = match value {
            Cell::Whole(number) => number.to_string(),
            Cell::Number(number) if number.fract() == 0.0 && number.abs() <= EXACT_MAX => (*number as i64).to_string(),
            Cell::Code(shown) => shown.as_ref().to_owned(),
            _ => return None,
        };
        Some((Arc::clone(name), text))
    }

    /// Estimated bytes of a cell in the document.
    fn cost(&self, value: &Cell) -> usize {
        let contents = match value {
            Cell::Text(text) | Cell::Code(text) => text.len(),
            _ => 12,
        };
        self.prefix.len() + contents + 3
    }

    /// Appends the value.
    fn push(&self, value: &Cell, out: &mut Vec<u8>) -> Result<(), Unwritten> {
        match value {
            Cell::Number(number) if !number.is_finite() => return Err(Unwritten::NoValue(number.to_string())),
            Cell::Whole(_) | Cell::Number(_) if self.codes => {
                out.push(b'"');
                match value {
                    Cell::Whole(number) => push_whole(*number, out),
                    Cell::Number(number) => push_number(*number, out),
                    _ => {}
                }
                out.push(b'"');
            }
            Cell::Whole(number) => {
                push_whole(*number, out);
                if self.fractions {
                    out.extend_from_slice(b".0");
                }
            }
            Cell::Number(number) if self.fractions => push_float(*number, out),
            Cell::Number(number) => push_number(*number, out),
            Cell::Code(shown) if !self.codes => {
                out.extend_from_slice(shown.as_bytes());
                if self.fractions {
                    out.extend_from_slice(b".0");
                }
            }
            Cell::Truth(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Cell::Text(text) | Cell::Code(text) => {
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

    fn push_time(&self, time: &ExcelDateTime, out: &mut Vec<u8>) {
        push_moment(time, self.times, out);
    }
}

/// The number that is shown as its digits, without zeros before it.
fn plain(shown: &str) -> Option<i64> {
    shown.parse().ok().filter(|number: &i64| number.to_string() == shown)
}

/// Appends a date, with its time if `times` says so; a time without a date; or a duration.
fn push_moment(time: &ExcelDateTime, times: bool, out: &mut Vec<u8>) {
    let written = if time.is_duration() {
        // Days. Spreadsheets have a resolution of milliseconds.
        let ms = (time.as_f64() * 86_400_000.0).round() as i64;
        let sign = if ms < 0 { "-" } else { "" };
        let (seconds, ms) = (ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000);
        write!(out, "\"PT{sign}{seconds}").and_then(|()| push_ms(out, ms as u16)).and_then(|()| write!(out, "S\""))
    } else if is_date(time) {
        let (year, month, day, ..) = time.to_ymd_hms_milli();
        write!(out, "\"{year:04}-{month:02}-{day:02}").and_then(|()| {
            if times {
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

/// The name of a column from its header cell. A date is written as in a row.
fn name_of(cell: &Cell) -> String {
    match cell {
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
        Cell::Truth(truth) => truth.to_string(),
        Cell::Text(text) | Cell::Code(text) => text.as_ref().to_owned(),
        Cell::Moment(moment) if !moment.as_f64().is_finite() || !moment.is_duration() && !has_date(moment) => {
            moment.to_string()
        }
        Cell::Moment(moment) => {
            let mut out = Vec::new();
            push_moment(moment, time_of_day(moment) != (0, 0, 0, 0), &mut out);
            String::from_utf8_lossy(&out).trim_matches('"').to_owned()
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FormatOptions;

    /// The warnings of a sheet with these texts, empty ones left out, and these merged cells.
    fn warnings(rows: &[&[&str]], merged: Vec<Merged>) -> Vec<String> {
        let cells = |row: &[&str]| {
            let texts = row.iter().enumerate().filter(|(_, text)| !text.is_empty());
            texts.map(|(at, text)| (at as u32, Cell::Text((*text).into()))).collect()
        };
        let rows = rows.iter().enumerate().map(|(at, row)| Row { number: at as u32, cells: cells(row) });
        let rows = rows.filter(|row: &Row| !row.cells.is_empty()).collect();
        let found = Found { rows, formulas: Formulas::default(), merged, asks_to_calculate: false };
        let reading = Reading::new(FormatOptions::default(), Warnings::default());
        SheetWriter::new(found, &reading, "book").unwrap();
        reading.warnings.list().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_row_with_the_names_is_the_one_that_is_named() {
        let title: [&[&str]; 5] = [
            &["Articles"],
            &["of 1 May", "", "", "draft"],
            &[],
            &["no", "name", "price", "sold"],
            &["1", "a", "2", "x"],
        ];
        let told = warnings(&title, Vec::new());
        assert!(told.len() == 1 && told[0].contains("has 1 of 4, as a title has"), "{told:?}");
        assert!(told[0].ends_with("such as option `header_row=4`"), "{told:?}");
    }

    #[test]
    fn cells_that_are_merged_with_one_above_them_are_told() {
        let rows: [&[&str]; 5] = [&["group", "name"], &["a", "1"], &["", "2"], &["", "3"], &["b", "4"]];
        let merged = |column, first, last| Merged { column, first, last };
        let told = warnings(&rows, vec![merged(0, 1, 3), merged(1, 4, 9), merged(7, 1, 2), merged(0, 2, 3)]);
        assert!(told.len() == 1 && told[0].contains("column group: cells are merged over several rows"), "{told:?}");
        assert!(told[0].ends_with("(2 times)"), "{told:?}");
        // A title is above the names.
        assert_eq!(warnings(&rows, vec![merged(0, 0, 0), merged(1, 0, 1)]), [""; 0]);
    }
}
