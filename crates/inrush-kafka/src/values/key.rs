//! Keys of records: ids of documents.

use inrush_core::Code;
use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::push_bytes;
use super::{Problem, mongo};

/// The key of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Bytes that no schema describes.
    Bytes(Vec<u8>),
    /// A JSON value: of a schema, or out of an envelope. It is not null.
    Json(Vec<u8>),
}

impl Key {
    /// Appends the key as a JSON value.
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        match self {
            Key::Bytes(bytes) => push_bytes(bytes, out),
            Key::Json(json) => out.extend_from_slice(json),
        }
    }

    /// The id of the document. Of a key with one field it is the text of its value. Of one with
    /// several it is the texts of their values, in the order of the key, between them `|`; a `|` or
    /// `\` in a value is preceded by `\`, so that different keys are different ids.
    pub(crate) fn id(&self) -> Result<String, Problem> {
        let json = match self {
            Key::Bytes(bytes) => return text(bytes),
            Key::Json(json) => json,
        };
        if json.first() != Some(&b'{') {
            return scalar("the record's key", json);
        }
        let fields = members(json).map_err(|error| (Code::BadId, format!("the record's key is not JSON: {error}")))?;
        match &fields[..] {
            [] => Err((Code::BadId, "the record's key has no fields, so it names no document".to_owned())),
            [(name, value)] => scalar(&field(name), value.get().as_bytes()),
            several => {
                let mut id = String::new();
                for (at, (name, value)) in several.iter().enumerate() {
                    if at > 0 {
                        id.push('|');
                    }
                    for c in scalar(&field(name), value.get().as_bytes())?.chars() {
                        if matches!(c, '|' | '\\') {
                            id.push('\\');
                        }
                        id.push(c);
                    }
                }
                Ok(id)
            }
        }
    }
}

fn field(name: &str) -> String {
    format!("field `{name}` of the record's key")
}

/// The text of a string, number or boolean.
fn scalar(what: &str, json: &[u8]) -> Result<String, Problem> {
    let no_id = |found: &str| Err((Code::BadId, format!("{what} is {found}, and an id is made of text and numbers")));
    match json.first() {
        Some(b'"') => {
            let wrong = |error| (Code::BadId, format!("{what} is not JSON: {error}"));
            let text: String = serde_json::from_slice(json).map_err(wrong)?;
            Ok(mongo::id(&text).unwrap_or(text))
        }
        Some(b'{') => no_id("an object"),
        Some(b'[') => no_id("an array"),
        Some(b'n') | None => no_id("null"),
        Some(_) => text(json),
    }
}

/// The key as an id.
pub(crate) fn text(key: &[u8]) -> Result<String, Problem> {
    let wrong = |error: std::str::Utf8Error| {
        let byte = error.valid_up_to();
        (
            Code::BadId,
            format!("byte {byte} of the record's key is not UTF-8, so the key is no id; use positions as ids"),
        )
    };
    std::str::from_utf8(key).map(str::to_owned).map_err(wrong)
}

/// The members of a JSON object, in their order.
pub(super) fn members(json: &[u8]) -> Result<Vec<(Cow<'_, str>, &RawValue)>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(json);
    let members = Members.deserialize(&mut json)?;
    json.end()?;
    Ok(members)
}

struct Members;

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> Result<String, String> {
        Key::Json(json.into()).id().map_err(|(_, reason)| reason)
    }

    #[test]
    fn ids_are_the_values_of_the_key() {
        for (json, expected) in [
            (r#"{"id":1}"#, "1"),
            (r#"{"id":"a|b"}"#, "a|b"),
            (r#"{"order":4711,"line":2}"#, "4711|2"),
            (r#"{"a":"x|","b":"y"}"#, r"x\||y"),
            (r#"{"a":"x","b":"|y"}"#, r"x|\|y"),
            (r#"{"a":"x\\","b":true}"#, r"x\\|true"),
            (r#""caf\u00e9""#, "café"),
            (r#"{"id":"{\"$oid\" : \"571e\"}"}"#, "571e"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("1.50", "1.50"),
        ] {
            assert_eq!(id(json).as_deref(), Ok(expected), "{json}");
        }
    }

    #[test]
    fn keys_without_one_meaning_are_no_ids() {
        for (json, problem) in [
            ("{}", "no fields"),
            (r#"{"id":null}"#, "field `id` of the record's key is null"),
            (r#"{"id":{"a":1},"b":2}"#, "an object"),
            ("[1]", "an array"),
            (r#"{"id":"#, "not JSON"),
        ] {
            let error = id(json).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        assert_eq!(Key::Bytes(b"\xFF".to_vec()).id().unwrap_err().0, Code::BadId);
    }
}
