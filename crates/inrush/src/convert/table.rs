//! The columns that documents have, for formats that are tables.

use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{ConvertError, for_each_block};
use crate::source::Source;

/// Columns of a table: more are a mistake, as of a field whose names are data.
const COLUMNS_MAX: usize = 10_000;

/// What all values of a column are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing but null.
    #[default]
    Null,
    Boolean,
    /// Whole numbers of 64 bits.
    Integer,
    /// Numbers.
    Number,
    String,
    /// Several of these: fine as text.
    Mixed,
}

/// One column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// One value of a document, as it stands there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a>(pub(super) &'a str);

impl Cell<'_> {
    /// What it is; `None` for what is not flat.
    pub(super) fn kind(self) -> Option<Kind> {
        match self.0.as_bytes().first() {
            Some(b'n') | None => Some(Kind::Null),
            Some(b't' | b'f') => Some(Kind::Boolean),
            Some(b'"') => Some(Kind::String),
            Some(b'{' | b'[') => None,
            Some(_) if self.0.parse::<i64>().is_ok() => Some(Kind::Integer),
            Some(_) => Some(Kind::Number),
        }
    }

    /// A string's content; of anything else its text.
    pub(super) fn text(self) -> String {
        // The document was read as JSON, so what begins with a quote is a string.
        serde_json::from_str::<String>(self.0).unwrap_or_else(|_| self.0.to_owned())
    }
}

impl Kind {
    fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Null, kind) | (kind, Kind::Null) => kind,
            (a, b) if a == b => a,
            (Kind::Integer | Kind::Number, Kind::Integer | Kind::Number) => Kind::Number,
            _ => Kind::Mixed,
        }
    }
}

/// The fields of a document in its order.
pub(super) fn fields(document: &[u8]) -> Result<Vec<(String, Cell<'_>)>, String> {
    let text = std::str::from_utf8(document).map_err(|_| "not UTF-8".to_owned())?;
    let Fields(fields) = serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
    for (at, (name, _)) in fields.iter().enumerate() {
        if fields[..at].iter().any(|(earlier, _)| earlier == name) {
            return Err(format!("field `{name}` is there twice"));
        }
    }
    Ok(fields)
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

/// Reads a source to its end and finds its columns, in the order in which they first come.
pub(super) fn columns(source: &mut dyn Source) -> Result<Vec<Column>, ConvertError> {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for_each_block(source, |block, rows| {
        for record in 0..block.records.len() {
            let fields = fields(block.record(record)).map_err(|problem| rows.error(record, problem))?;
            for (name, value) in fields {
                let Some(kind) = value.kind() else {
                    let what = if value.0.starts_with('[') { "an array" } else { "an object" };
                    let problem = format!(
                        "field `{name}` is {what}, and a table has flat values only; convert to NDJSON or SMILE"
                    );
                    return Err(rows.error(record, problem));
                };
                let next = columns.len();
                let place = *places.entry(name).or_insert_with_key(|name| {
                    columns.push(Column { name: name.clone(), kind: Kind::Null });
                    next
                });
                columns[place].kind = columns[place].kind.and(kind);
                if columns.len() > COLUMNS_MAX {
                    return Err(rows.error(record, format!("there are more than {COLUMNS_MAX} different fields")));
                }
            }
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
        let expected = [
            ("b", "1.50", Kind::Number),
            ("a", "xA", Kind::String),
            ("c", "null", Kind::Null),
            ("d", "12345678901234567890", Kind::Number),
            ("e", "-0", Kind::Integer),
        ];
        assert_eq!(seen, expected.map(|(name, text, kind)| (name, text.to_owned(), kind)));
        assert!(fields(br#"{"a":1,"a":2}"#).unwrap_err().contains("twice"));
        assert!(fields(b"[1]").unwrap_err().contains("expected a JSON object"));
    }

    #[test]
    fn kinds_widen_as_far_as_numbers_go() {
        use Kind::*;
        for (a, b, both) in [
            (Null, Integer, Integer),
            (Integer, Number, Number),
            (String, String, String),
            (String, Integer, Mixed),
            (Boolean, Integer, Mixed),
            (Mixed, Null, Mixed),
        ] {
            assert_eq!((a.and(b), b.and(a)), (both, both));
        }
    }
}
