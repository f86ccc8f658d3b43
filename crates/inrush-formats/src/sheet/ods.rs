//! Cells of `.ods`, with what their formulas and the shown text add.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use bytes::Bytes;
use calamine::{CellErrorType, Data, ExcelDateTime, ExcelDateTimeType, Ods, Reader};
use zip::ZipArchive;

use super::cell::Cell;
use super::formulas::{Formulas, Stored};
use super::found::{Found, Merged, Rows};
use crate::catch_panic::text;

/// The most repetitions that are followed.
const REPEATED_MAX: u32 = 20_000;

/// The most cells that repeat one, in all of its rows.
const PLACES_MAX: usize = 1 << 20;

/// Reads a sheet of the workbook `data`.
pub(super) fn rows(book: &mut Ods<Cursor<Bytes>>, data: &Bytes, sheet: &str) -> Result<Found, String> {
    let Scan { found, formulas, merged, .. } = scan(data, sheet).unwrap_or_default();
    let range = book.worksheet_range(sheet).map_err(text)?;
    let (first_row, first_column) = range.start().unwrap_or_default();
    let mut rows = Rows::default();
    for (row, column, value) in range.used_cells() {
        let (row, column) = (first_row + row as u32, first_column + column as u32);
        match (value, found.get(&(row, column))) {
            (Data::Float(_), Some(code @ Cell::Code(_))) => rows.add(row, column, code.clone()),
            (Data::String(_), Some(error @ Cell::Error(_))) => rows.add(row, column, error.clone()),
            (Data::DurationIso(time), _) => rows.add(row, column, time_of(time)),
            _ => rows.add_data(row, column, value.clone()),
        }
    }
    let formulas = formulas.of_open_document();
    Ok(Found { rows: rows.finish(), formulas, merged, asks_to_calculate: false })
}

/// A time such as `PT02H02M00S`: of the day below 24 h, which the file does not tell from a
/// duration, and a duration from there on.
fn time_of(iso: &str) -> Cell {
    let seconds = || -> Option<f64> {
        let (hours, rest) = iso.strip_prefix("PT")?.split_once('H')?;
        let (minutes, rest) = rest.split_once('M')?;
        let seconds = rest.strip_suffix('S')?.replace(',', ".");
        Some(hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    match seconds().map(|seconds| seconds / 86_400.0) {
        Some(days) if (0.0..1.0).contains(&days) => {
            Cell::Moment(ExcelDateTime::new(days, ExcelDateTimeType::DateTime, false))
        }
        Some(days) => Cell::Moment(ExcelDateTime::new(days, ExcelDateTimeType::TimeDelta, false)),
        None => Cell::Text(iso.into()),
    }
}

/// The error that a cell shows. LibreOffice has others, such as `Err:502`.
fn error_of(shown: &str) -> CellErrorType {
    match shown {
        "#DIV/0!" => CellErrorType::Div0,
        "#N/A" => CellErrorType::NA,
        "#NAME?" => CellErrorType::Name,
        "#NULL!" => CellErrorType::Null,
        "#NUM!" => CellErrorType::Num,
        "#REF!" => CellErrorType::Ref,
        _ => CellErrorType::Value,
    }
}

/// What calamine does not tell of a sheet.
fn scan(data: &Bytes, sheet: &str) -> Option<Scan> {
    let mut archive = ZipArchive::new(Cursor::new(data.clone())).ok()?;
    let mut content = String::new();
    archive.by_name("content.xml").ok()?.read_to_string(&mut content).ok()?;
    let mut scan = Scan::default();
    for (tag, after) in Tags(&content) {
        if scan.is_here {
            if tag.starts_with("/table:table") && !tag.starts_with("/table:table-") {
                break;
            }
            scan.see(tag, after);
        } else if name(tag) == "table:table" {
            scan.is_here = attribute(tag, "table:name").is_some_and(|name| unescaped(name) == sheet);
        }
    }
    Some(scan)
}

/// The place in a sheet, and what was found.
#[derive(Default)]
struct Scan {
    is_here: bool,
    row: u32,
    column: u32,
    /// How often the row is repeated.
    rows: u32,
    /// The whole number of the cell, whether it is an error, and how often the cell is repeated.
    number: Option<u64>,
    is_error: bool,
    columns: u32,
    /// Numbers that are shown with leading zeros, and errors, by row and column. The file has a
    /// number or a text, and the text that the sheet shows.
    found: HashMap<(u32, u32), Cell>,
    formulas: Formulas,
    merged: Vec<Merged>,
}

impl Scan {
    fn see(&mut self, tag: &str, after: &str) {
        match name(tag) {
            "table:table-row" => {
                (self.column, self.columns) = (0, 0);
                self.rows = repeated(tag, "table:number-rows-repeated");
                if tag.ends_with('/') {
                    self.row = self.row.saturating_add(self.rows);
                }
            }
            "/table:table-row" => self.row = self.row.saturating_add(self.rows),
            "table:table-cell" | "table:covered-table-cell" => {
                self.column = self.column.saturating_add(self.columns);
                self.columns = repeated(tag, "table:number-columns-repeated");
                let last = self.row.saturating_add(repeated(tag, "table:number-rows-spanned").saturating_sub(1));
                self.merged.extend(Merged::of((self.row, last), self.column));
                self.number = attribute(tag, "office:value").and_then(|number| number.parse().ok());
                self.is_error = attribute(tag, "calcext:value-type") == Some("error");
                if attribute(tag, "table:formula").is_some() {
                    let is_calculated = attribute(tag, "office:value-type").is_some();
                    let stored = if is_calculated { Stored::Value } else { Stored::Missing };
                    self.places().for_each(|(_, column)| self.formulas.see(column, stored));
                }
            }
            "text:p" => {
                let shown = unescaped(after.trim());
                if std::mem::take(&mut self.is_error) {
                    self.find(&Cell::Error(error_of(&shown)));
                } else if self.number.is_some_and(|number| is_code(number, &shown)) {
                    self.number = None;
                    self.find(&Cell::Code(shown.into()));
                }
            }
            _ => {}
        }
    }

    /// Notes the contents of the current cell, and of those that repeat it.
    fn find(&mut self, cell: &Cell) {
        self.found.extend(self.places().map(|place| (place, cell.clone())));
    }

    /// The current cell, and those that repeat it, by row and column.
    fn places(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let Scan { row, column, rows, columns, .. } = *self;
        let columns = columns.min(REPEATED_MAX);
        (0..rows.min(REPEATED_MAX))
            .flat_map(move |down| {
                (0..columns).map(move |right| (row.saturating_add(down), column.saturating_add(right)))
            })
            .take(PLACES_MAX)
    }
}

/// Whether a number is shown with zeros before it.
fn is_code(number: u64, shown: &str) -> bool {
    let digits: String = shown.chars().filter(char::is_ascii_digit).collect();
    digits.len() > 1 && digits.starts_with('0') && !shown.contains(['.', ',']) && digits.parse() == Ok(number)
}

/// The tags of XML without their brackets, and the text that follows each.
struct Tags<'a>(&'a str);

impl<'a> Iterator for Tags<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let begin = memchr::memchr(b'<', self.0.as_bytes())? + 1;
        let rest = &self.0[begin..];
        // A bracket inside of a value is escaped.
        let end = memchr::memchr(b'>', rest.as_bytes())?;
        let after = &rest[end + 1..];
        self.0 = after;
        let next = memchr::memchr(b'<', after.as_bytes()).unwrap_or(after.len());
        Some((&rest[..end], &after[..next]))
    }
}

fn name(tag: &str) -> &str {
    tag.split_ascii_whitespace().next().map_or("", |name| name.strip_suffix('/').unwrap_or(name))
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}="))?;
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split(quote).next()
}

fn repeated(tag: &str, name: &str) -> u32 {
    attribute(tag, name).and_then(|count| count.parse().ok()).unwrap_or(1)
}

fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_span_rows_are_merged() {
        let mut scan = Scan::default();
        let rows = "<table:table-row table:number-rows-repeated=\"2\"><table:table-cell/></table:table-row><table:table-row>\
                    <table:table-cell table:number-columns-repeated=\"2\"/><table:table-cell table:number-columns-spanned=\"2\" \
                    table:number-rows-spanned=\"3\"/></table:table-row>";
        Tags(rows).for_each(|(tag, after)| scan.see(tag, after));
        assert_eq!(scan.merged, [Merged { column: 2, first: 2, last: 4 }]);
    }

    #[test]
    fn errors_and_formulas_without_a_value_are_told_by_their_types() {
        let mut scan = Scan::default();
        let row = "<table:table-row><table:table-cell table:formula=\"of:=1/0\" office:value-type=\"string\" office:string-value=\"\" \
                   calcext:value-type=\"error\"><text:p>#DIV/0!</text:p></table:table-cell><table:table-cell \
                   table:formula=\"of:=&quot;&quot;\" office:value-type=\"string\" office:string-value=\"\"/><table:table-cell \
                   table:formula=\"of:=[.A1]\"/><table:table-cell office:value-type=\"string\"><text:p>#DIV/0!</text:p>\
                   </table:table-cell>";
        Tags(row).for_each(|(tag, after)| scan.see(tag, after));
        assert_eq!(scan.found, HashMap::from([((0, 0), Cell::Error(CellErrorType::Div0))]));
        assert_eq!(scan.formulas.missing().collect::<Vec<_>>(), [(2, 1)]);
        assert_eq!(scan.formulas.of_open_document().missing().count(), 0, "others are calculated");
    }

    #[test]
    fn times_below_a_day_are_of_the_day() {
        let of = |iso: &str| match time_of(iso) {
            Cell::Moment(moment) => (moment.as_f64(), moment.is_duration()),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("PT06H00M00S"), (0.25, false));
        assert_eq!(of("PT36H00M00S"), (1.5, true));
        assert_eq!(of("PT00H00M00.5S"), (0.5 / 86_400.0, false));
        assert_eq!(time_of("P1D"), Cell::Text("P1D".into()));
    }
}
