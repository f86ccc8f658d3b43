//! Cells of `.ods`, with what their formulas and the shown text add.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use bytes::Bytes;
use calamine::{Data, Ods, Reader};
use zip::ZipArchive;

use super::cell::Cell;
use super::formulas::{Formulas, Stored};
use super::found::{Found, Rows};
use crate::catch_panic::text;

/// The most repetitions that are followed.
const REPEATED_MAX: u32 = 20_000;

/// Reads a sheet of the workbook `data`.
pub(super) fn rows(book: &mut Ods<Cursor<Bytes>>, data: &Bytes, sheet: &str) -> Result<Found, String> {
    let formulas = formulas(book, sheet)?;
    let codes = codes(data, sheet).unwrap_or_default();
    let range = book.worksheet_range(sheet).map_err(text)?;
    let (first_row, first_column) = range.start().unwrap_or_default();
    let mut rows = Rows::default();
    for (row, column, value) in range.used_cells() {
        let (row, column) = (first_row + row as u32, first_column + column as u32);
        match (value, codes.get(&(row, column))) {
            (Data::Float(_), Some(code)) => rows.add(row, column, Cell::Code(code.as_str().into())),
            _ => rows.add_data(row, column, value.clone()),
        }
    }
    Ok(Found { rows: rows.finish(), formulas, asks_to_calculate: false })
}

fn formulas(book: &mut Ods<Cursor<Bytes>>, sheet: &str) -> Result<Formulas, String> {
    let of_cells = book.worksheet_formula(sheet).map_err(text)?;
    let values = book.worksheet_range(sheet).map_err(text)?;
    let (first_row, first_column) = of_cells.start().unwrap_or_default();
    let mut formulas = Formulas::default();
    for (row, column, _) in of_cells.used_cells().filter(|(_, _, formula)| !formula.is_empty()) {
        let (row, column) = (first_row + row as u32, first_column + column as u32);
        let has_value = values.get_value((row, column)).is_some_and(|value| *value != Data::Empty);
        formulas.see(column, if has_value { Stored::Value } else { Stored::Missing });
    }
    Ok(formulas)
}

/// Numbers that are shown with leading zeros, by row and column. The file has the number and the
/// text that the sheet shows.
fn codes(data: &Bytes, sheet: &str) -> Option<HashMap<(u32, u32), String>> {
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
    Some(scan.found)
}

/// The place in a sheet, and what was found.
#[derive(Default)]
struct Scan {
    is_here: bool,
    row: u32,
    column: u32,
    /// How often the row is repeated.
    rows: u32,
    /// The whole number of the cell, and how often the cell is repeated.
    number: Option<u64>,
    columns: u32,
    found: HashMap<(u32, u32), String>,
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
                self.number = attribute(tag, "office:value").and_then(|number| number.parse().ok());
            }
            "text:p" => {
                let shown = unescaped(after.trim());
                if self.number.is_some_and(|number| is_code(number, &shown)) {
                    self.number = None;
                    for row in 0..self.rows.min(REPEATED_MAX) {
                        let cells =
                            (0..self.columns.min(REPEATED_MAX)).map(|column| (self.row + row, self.column + column));
                        self.found.extend(cells.map(|cell| (cell, shown.clone())));
                    }
                }
            }
            _ => {}
        }
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
