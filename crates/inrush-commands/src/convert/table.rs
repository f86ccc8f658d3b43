//! Finds the columns of documents, for table formats.

use std::collections::HashMap;
use std::fmt;

use inrush_formats::numbers::Numbers;
use inrush_sources::Source;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{ConvertError, for_each_block};

/// The most columns of a table. More are probably a mistake, such as a field whose names are data.
const COLUMNS_MAX: usize = 10_000;

/// The type of all values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only nulls.
    #[default]
    Null,
    Boolean,
    Number(Numbers),
    String,
    /// Several types, which are written as text.
    Mixed,
}

/// One column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The text of a value of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a>(pub(super) &'a str);

impl Cell<'_> {
    /// The type of the value. `None` for an object or an array.
    pub(super) fn kind(self) -> Option<Kind> {
        match self.0.as_bytes().first() {
            Some(b'n') | None => Some(Kind::Null),
            Some(b't' | b'f') => Some(Kind::Boolean),
            Some(b'"') => Some(Kind::String),
            Some(b'{' | b'[') => None,
            Some(_) => Some(Kind::Number(Numbers::of(self.0))),
        }
    }

    /// The content of a string. For other values the text itself.
    pub(super) fn text(self) -> String {
        // The document was parsed as JSON, so a text that begins with a quote is a string.
        serde_json::from_str::<String>(self.0).unwrap_or_else(|_| self.0.to_owned())
    }
}

impl Kind {
    fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Null, kind) | (kind, Kind::Null) => kind,
            (a, b) if a == b => a,
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.join(b)),
            _ => Kind::Mixed,
        }
    }
}

/// The fields of a document in their order.
fn fields(document: &[u8]) -> Result<Vec<(String, Cell<'_>)>, String> {
    let text = std::str::from_utf8(document).map_err(|_| "not UTF-8".to_owned())?;
    let Fields(fields) = serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
    Ok(fields)
}

fn twice(name: &str) -> String {
    format!("field `{name}` occurs twice")
}

/// The columns of a table.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) all: Vec<Column>,
    places: HashMap<String, usize>,
    /// For each column, the last document that had it, counted from 1.
    last: Vec<u64>,
    documents: u64,
}

impl Columns {
    /// Adds the fields of a document.
    fn add(&mut self, document: &[u8]) -> Result<(), String> {
        self.documents += 1;
        for (name, value) in fields(document)? {
            let Some(kind) = value.kind() else {
                let what = if value.0.starts_with('[') { "an array" } else { "an object" };
                return Err(format!(
                    "field `{name}` is {what}, but a table has only flat values; convert to NDJSON or SMILE"
                ));
            };
            let next = self.all.len();
            let place = *self.places.entry(name).or_insert_with_key(|name| {
                self.all.push(Column { name: name.clone(), kind: Kind::Null });
                self.last.push(0);
                next
            });
            let column = &mut self.all[place];
            column.kind = column.kind.and(kind);
            if std::mem::replace(&mut self.last[place], self.documents) == self.documents {
                return Err(twice(&column.name));
            }
            if self.all.len() > COLUMNS_MAX {
                return Err(format!("there are more than {COLUMNS_MAX} different fields"));
            }
        }
        Ok(())
    }

    /// The values of a document by column. `None` if the document lacks the field.
    pub(super) fn row<'a>(&self, document: &'a [u8]) -> Result<Vec<Option<Cell<'a>>>, String> {
        let mut row = vec![None; self.all.len()];
        for (name, value) in fields(document)? {
            let place = self.places.get(&name).ok_or_else(|| {
                format!(
                    "field `{name}` was not in the source when it was read for its columns; the source has changed since"
                )
            })?;
            if row[*place].replace(value).is_some() {
                return Err(twice(&name));
            }
        }
        Ok(row)
    }
}

struct Fields<'a>(Vec<(String, Cell<'a>)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let value: &RawValue = map.next_value()?;
                    fields.push((name, Cell(value.get())));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

/// Reads a source to its end and finds its columns, in the order of their first occurrence.
pub(super) fn columns(source: &mut dyn Source) -> Result<Columns, ConvertError> {
    let mut columns = Columns::default();
    for_each_block(source, |block, rows| {
        for record in 0..block.records.len() {
            columns.add(block.record(record)).map_err(|problem| rows.error(record, problem))?;
        }
        Ok(())
    })?;
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_stand() {
        let found = fields(br#" {"b":1.50, "a":"x\u0041", "c":null,"d":12345678901234567890,"e":-0} "#).unwrap();
        let seen: Vec<_> =
            found.iter().map(|(name, cell)| (name.as_str(), cell.text(), cell.kind().unwrap())).collect();
        let number = |text| Kind::Number(Numbers::of(text));
        let expected = [
            ("b", "1.50", number("1.50")),
            ("a", "xA", Kind::String),
            ("c", "null", Kind::Null),
            ("d", "12345678901234567890", number("12345678901234567890")),
            ("e", "-0", number("-0")),
        ];
        assert_eq!(seen, expected.map(|(name, text, kind)| (name, text.to_owned(), kind)));
        let mut columns = Columns::default();
        assert!(columns.add(br#"{"a":1,"a":2}"#).unwrap_err().contains("twice"));
        assert!(columns.row(br#"{"a":1,"a":2}"#).unwrap_err().contains("twice"));
        assert!(columns.row(br#"{"b":1}"#).unwrap_err().contains("`b` was not in the source"));
        assert!(fields(b"[1]").unwrap_err().contains("expected a JSON object"));
    }

    #[test]
    fn kinds_widen_as_far_as_numbers_go() {
        use Kind::*;
        let (integer, number) = (Number(Numbers::of("1")), Number(Numbers::of("2.5")));
        for (a, b, both) in [
            (Null, integer, integer),
            (integer, number, number),
            (String, String, String),
            (String, integer, Mixed),
            (Boolean, integer, Mixed),
            (Mixed, Null, Mixed),
        ] {
            assert_eq!((a.and(b), b.and(a)), (both, both));
        }
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
