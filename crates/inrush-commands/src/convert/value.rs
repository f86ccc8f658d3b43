//! Values of documents, read one level after the other.

use std::fmt;

use inrush_formats::numbers::Numbers;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The deepest nesting of a document in a table.
pub(super) const DEPTH_MAX: usize = 100;

/// The type of a value that is neither an object nor an array, or of all such values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only nulls.
    #[default]
    Null,
    Boolean,
    Number(Numbers),
    String,
    /// Several types.
    Mixed,
}

impl Kind {
    pub(super) fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Null, kind) | (kind, Kind::Null) => kind,
            (a, b) if a == b => a,
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.join(b)),
            _ => Kind::Mixed,
        }
    }
}

/// The text of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a>(pub(super) &'a str);

/// A value and what is directly in it.
pub(super) enum Value<'a> {
    Scalar(Kind),
    Object(Vec<(String, Cell<'a>)>),
    Array(Vec<Cell<'a>>),
}

impl<'a> Cell<'a> {
    /// Reads the value, but not the values in the values of it.
    pub(super) fn read(self) -> Result<Value<'a>, String> {
        let wrong = |error: serde_json::Error| error.to_string();
        Ok(match self.0.as_bytes().first() {
            Some(b'n') | None => Value::Scalar(Kind::Null),
            Some(b't' | b'f') => Value::Scalar(Kind::Boolean),
            Some(b'"') => Value::Scalar(Kind::String),
            Some(b'{') => Value::Object(serde_json::from_str(self.0).map(|Fields(fields)| fields).map_err(wrong)?),
            Some(b'[') => {
                let values: Vec<&RawValue> = serde_json::from_str(self.0).map_err(wrong)?;
                Value::Array(values.into_iter().map(|value| Cell(value.get())).collect())
            }
            Some(_) => Value::Scalar(Kind::Number(Numbers::of(self.0))),
        })
    }

    pub(super) fn is_null(self) -> bool {
        self.0.starts_with('n')
    }

    /// The content of a string. For other values the text itself.
    pub(super) fn text(self) -> String {
        // The document was parsed as JSON, so a text that begins with a quote is a string.
        serde_json::from_str::<String>(self.0).unwrap_or_else(|_| self.0.to_owned())
    }
}

/// The fields of a document in their order.
pub(super) fn fields(document: &[u8]) -> Result<Vec<(String, Cell<'_>)>, String> {
    let text = std::str::from_utf8(document).map_err(|_| "not UTF-8".to_owned())?;
    let Fields(fields) = serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))?;
    Ok(fields)
}

pub(super) fn twice(name: &str) -> String {
    format!("field `{name}` occurs twice")
}

pub(super) fn too_deep(name: &str) -> String {
    format!("field `{name}` is nested more than {DEPTH_MAX} levels deep; convert to NDJSON")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_as_they_stand() {
        let found = fields(br#" {"b":1.50, "a":"x\u0041", "c":null,"d":12345678901234567890,"e":-0} "#).unwrap();
        let scalar = |cell: Cell<'_>| match cell.read() {
            Ok(Value::Scalar(kind)) => kind,
            _ => panic!("{cell:?} is no scalar"),
        };
        let seen: Vec<_> = found.iter().map(|(name, cell)| (name.as_str(), cell.text(), scalar(*cell))).collect();
        let number = |text| Kind::Number(Numbers::of(text));
        let expected = [
            ("b", "1.50", number("1.50")),
            ("a", "xA", Kind::String),
            ("c", "null", Kind::Null),
            ("d", "12345678901234567890", number("12345678901234567890")),
            ("e", "-0", number("-0")),
        ];
        assert_eq!(seen, expected.map(|(name, text, kind)| (name, text.to_owned(), kind)));
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
}
