//! JSON as strict as the servers read documents: a duplicate field is an error.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses one JSON value. Both servers refuse duplicate fields since 6.0.
///
/// # Errors
///
/// Malformed JSON, a duplicate field, or data after the value.
pub(crate) fn parse_strict(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Parses the first JSON value and ignores data after it.
///
/// # Errors
///
/// Malformed JSON or a duplicate field.
pub(crate) fn parse_first(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    Strict.deserialize(&mut serde_json::Deserializer::from_slice(bytes))
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E: de::Error>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(Key(key)) = map.next_key()? {
            let value = map.next_value_seed(Strict)?;
            if object.contains_key(&key) {
                return Err(de::Error::custom(format!("Duplicate field '{key}'")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[derive(serde::Deserialize)]
struct Key(String);

/// Merges `patch` into `target` as a partial update does, object by object. Returns true if
/// `target` changed.
pub(crate) fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) -> bool {
    let mut changed = false;
    for (key, value) in patch {
        match (target.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => changed |= merge(old, new),
            (Some(old), new) if *old == *new => {}
            (_, new) => {
                target.insert(key.clone(), new.clone());
                changed = true;
            }
        }
    }
    changed
}

/// Parses a request body other than a document: duplicate fields are allowed, and an empty body is
/// an empty object.
///
/// # Errors
///
/// Malformed JSON.
pub(crate) fn parse_body(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(Map::new()));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Value::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_duplicate_field_is_refused() {
        assert!(parse_strict(br#"{"a":1,"b":{"c":[1,2.5,null,"x",true]}}"#).is_ok());
        let error = parse_strict(br#"{"a":1,"a":2}"#).expect_err("duplicate");
        assert!(error.to_string().contains("Duplicate field 'a'"), "{error}");
        assert!(parse_strict(b"{} x").is_err());
    }

    #[test]
    fn merge_reports_changes() {
        let mut target = json!({"a": {"b": 1}, "c": 2}).as_object().expect("object").clone();
        assert!(!merge(&mut target, json!({"a": {"b": 1}}).as_object().expect("object")));
        assert!(merge(&mut target, json!({"a": {"d": 1}}).as_object().expect("object")));
        assert_eq!(Value::Object(target), json!({"a": {"b": 1, "d": 1}, "c": 2}));
    }
}
