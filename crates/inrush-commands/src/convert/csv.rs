//! Writes documents as CSV (RFC 4180, with `\n`). A field in an object has a column with the names
//! of both, as in `a.b`. Cells have the text of JSON, strings without quotes. An absent field and a
//! null are an empty cell, as a load reads it. An empty string is `""`.

use std::collections::HashMap;

use super::ConvertError;
use super::packed::Out;
use super::reading::Reading;
use super::value::{Cell, DEPTH_MAX, Value, fields, too_deep, twice};

/// The most columns. More are probably a mistake, such as a field whose names are data.
pub(super) const COLUMNS_MAX: usize = 10_000;

/// The columns, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// For each column, the last document that had it, counted from 1.
    last: Vec<u64>,
    documents: u64,
    /// Documents that are empty lines.
    pub(super) empty: u64,
}

impl Columns {
    /// Adds the fields of a document.
    pub(super) fn add(&mut self, document: &[u8]) -> Result<(), String> {
        self.documents += 1;
        let now = self.documents;
        for_each_cell(fields(document)?, &mut |name, _| {
            let next = self.names.len();
            let place = *self.places.entry(name.to_owned()).or_insert_with(|| {
                self.names.push(name.to_owned());
                self.last.push(0);
                next
            });
            if std::mem::replace(&mut self.last[place], now) == now {
                return Err(twice(name));
            }
            if self.names.len() > COLUMNS_MAX {
                return Err(format!("there are more than {COLUMNS_MAX} different fields"));
            }
            Ok(())
        })
    }

    /// A note on empty lines.
    pub(super) fn note(&self) -> Option<String> {
        let name = self.names.first().filter(|_| self.empty > 0)?;
        Some(format!(
            "documents without a value of `{name}`, the only column, are empty lines, which readers of CSV leave out: {}",
            self.empty
        ))
    }

    /// The values of a document by column. `None` if the document lacks the field.
    fn row<'a>(&self, document: &'a [u8]) -> Result<Vec<Option<Cell<'a>>>, String> {
        let mut row = vec![None; self.names.len()];
        for_each_cell(fields(document)?, &mut |name, value| {
            let place = self.places.get(name).ok_or_else(|| {
                format!(
                    "field `{name}` was not in the source when it was read for its columns; the source has changed since"
                )
            })?;
            match row[*place].replace(value) {
                Some(_) => Err(twice(name)),
                None => Ok(()),
            }
        })?;
        Ok(row)
    }
}

/// Calls `each` with the value of each field that is no object, and the names of the objects that
/// it is in.
fn for_each_cell<'a>(
    fields: Vec<(String, Cell<'a>)>,
    each: &mut impl FnMut(&str, Cell<'a>) -> Result<(), String>,
) -> Result<(), String> {
    fn within<'a>(
        (inside, depth): (&str, usize),
        fields: Vec<(String, Cell<'a>)>,
        each: &mut impl FnMut(&str, Cell<'a>) -> Result<(), String>,
    ) -> Result<(), String> {
        for (name, value) in fields {
            let name = if inside.is_empty() { name } else { format!("{inside}.{name}") };
            match value.read()? {
                Value::Object(inner) if !inner.is_empty() => {
                    if depth == DEPTH_MAX {
                        return Err(too_deep(&name));
                    }
                    within((&name, depth + 1), inner, each)?;
                }
                Value::Object(_) | Value::Array(_) | Value::Scalar(_) => each(&name, value)?,
            }
        }
        Ok(())
    }
    within(("", 1), fields, each)
}

/// Writes the header, and the documents up to the end of the part.
pub(super) fn write(reading: &mut Reading<'_>, columns: &mut Columns, out: &mut impl Out) -> Result<(), ConvertError> {
    let mut row = Vec::new();
    for (at, name) in columns.names.iter().enumerate() {
        separate(at, &mut row);
        cell(name, &mut row);
    }
    row.push(b'\n');
    out.write_all(&row)?;
    let mut empty = 0_u64;
    let written = reading.for_each_block(|block, rows| {
        row.clear();
        for record in 0..block.records.len() {
            let cells = columns.row(block.record(record)).map_err(|problem| rows.error(record, problem))?;
            // Such a row is an empty line.
            empty += u64::from(columns.names.len() == 1 && cells.iter().all(|cell| cell.is_none_or(Cell::is_null)));
            for (at, value) in cells.into_iter().enumerate() {
                separate(at, &mut row);
                match value {
                    Some(Cell(text)) if text.starts_with(['"', '[', '{']) => {
                        cell(&value.map(Cell::text).unwrap_or_default(), &mut row);
                    }
                    Some(value) if value.is_null() => {}
                    // A number keeps all its digits.
                    Some(Cell(text)) => row.extend_from_slice(text.as_bytes()),
                    None => {}
                }
            }
            row.push(b'\n');
        }
        out.write_all(&row)?;
        Ok(out.bytes())
    });
    columns.empty += empty;
    written
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_objects_are_columns() {
        let mut columns = Columns::default();
        columns.add(br#"{"a":{"b":1,"c":{}},"d":[{"e":1}]}"#).unwrap();
        columns.add(br#"{"a":null,"d":2}"#).unwrap();
        assert_eq!(columns.names, ["a.b", "a.c", "d", "a"]);
        assert!(columns.add(br#"{"a":1,"a":2}"#).unwrap_err().contains("twice"));
        assert!(columns.add(br#"{"a":{"b":1},"a.b":2}"#).unwrap_err().contains("`a.b` occurs twice"));
        assert!(columns.row(br#"{"a":1,"a":2}"#).unwrap_err().contains("twice"));
        assert!(columns.row(br#"{"b":1}"#).unwrap_err().contains("`b` was not in the source"));
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
        assert!(columns.add(deep.as_bytes()).unwrap_err().contains("more than 100 levels"));
    }

    #[test]
    fn the_columns_of_a_wide_document_are_found_by_name() {
        let names = (0..COLUMNS_MAX).map(|at| format!("\"c{at}\":{at}")).collect::<Vec<_>>();
        let document = format!("{{{}}}", names.join(","));
        let mut columns = Columns::default();
        // A linear search for each field would take ten thousand million comparisons.
        for _ in 0..100 {
            columns.add(document.as_bytes()).unwrap();
            assert_eq!(columns.row(document.as_bytes()).unwrap()[COLUMNS_MAX - 1].unwrap().0, "9999");
        }
        assert!(columns.add(b"{\"more\":1}").unwrap_err().contains("more than"));
    }
}
