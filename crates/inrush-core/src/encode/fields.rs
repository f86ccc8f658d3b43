//! Values of single fields, taken from a document's text without parsing the rest of it.

use std::borrow::Cow;

use sonic_rs::{JsonType, JsonValueTrait};

use crate::operation::FieldPath;

/// A field's value as it can stand for an id, a routing value, a version or a part of an index name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scalar<'a> {
    /// The value as text: a string's content, a number's digits as they stand in the document, `true` or `false`.
    pub(super) text: Cow<'a, str>,
}

/// Why a field gives no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoScalar {
    /// The field is absent or null.
    Missing,
    /// The field is an object or an array.
    NotScalar(&'static str),
    /// The document is not JSON as far as it had to be read.
    Invalid(String),
}

/// The value at `path`. A key that is the whole path, dots included, wins over the nested reading.
pub(super) fn scalar<'a>(document: &'a [u8], path: &FieldPath) -> Result<Scalar<'a>, NoScalar> {
    let names = path.names();
    if names.len() > 1 {
        match find(document, &[path.as_str()]) {
            Err(NoScalar::Missing) => {}
            other => return other,
        }
    }
    match names {
        [name] => find(document, &[name.as_str()]),
        _ => find(document, &names.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn find<'a>(document: &'a [u8], path: &[&str]) -> Result<Scalar<'a>, NoScalar> {
    let value = match sonic_rs::get_from_slice(document, path) {
        Ok(value) => value,
        Err(e) if e.is_not_found() || e.is_unmatched_type() => return Err(NoScalar::Missing),
        Err(e) => return Err(NoScalar::Invalid(first_line(&e.to_string()))),
    };
    match value.get_type() {
        JsonType::Null => return Err(NoScalar::Missing),
        JsonType::Object => return Err(NoScalar::NotScalar("an object")),
        JsonType::Array => return Err(NoScalar::NotScalar("an array")),
        JsonType::Boolean | JsonType::Number | JsonType::String => {}
    }
    let raw = match value.as_raw_cow() {
        Cow::Borrowed(raw) => raw,
        // A lazy value that was cut from a slice borrows from it; a copy would only cost time.
        Cow::Owned(raw) => return text_of(&raw).map(|text| Scalar { text: Cow::Owned(text.into_owned()) }),
    };
    text_of(raw).map(|text| Scalar { text })
}

fn text_of(raw: &str) -> Result<Cow<'_, str>, NoScalar> {
    match raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')) {
        None => Ok(Cow::Borrowed(raw)),
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => Ok(Cow::Borrowed(inner)),
        Some(_) => serde_json::from_str::<String>(raw)
            .map(Cow::Owned)
            .map_err(|e| NoScalar::Invalid(first_line(&e.to_string()))),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Writes the object `document` without the fields `paths` (each the names that are left of a path). What stays is
/// copied as it stands.
pub(super) fn without(document: &[u8], paths: &[&[String]], out: &mut Vec<u8>) -> Result<(), String> {
    let at_start = out.len();
    out.push(b'{');
    for entry in sonic_rs::to_object_iter(document) {
        let (key, value) = entry.map_err(|e| first_line(&e.to_string()))?;
        if paths.iter().any(|names| is_key(names, &key)) {
            continue;
        }
        if out.len() > at_start + 1 {
            out.push(b',');
        }
        write_string(out, &key);
        out.push(b':');
        let deeper: Vec<&[String]> =
            paths.iter().filter(|names| names.len() > 1 && names[0] == *key).map(|names| &names[1..]).collect();
        let raw = value.as_raw_str();
        if deeper.is_empty() || !raw.starts_with('{') {
            out.extend_from_slice(raw.as_bytes());
        } else {
            without(raw.as_bytes(), &deeper, out)?;
        }
    }
    out.push(b'}');
    Ok(())
}

/// Whether the names, joined by dots, are `key`.
fn is_key(names: &[String], key: &str) -> bool {
    match names {
        [name] => name == key,
        _ => names.join(".") == key,
    }
}

/// Writes `text` as a JSON string.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    let plain = text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // A `str` is always a JSON string, and writing to a vector does not fail.
        serde_json::to_writer(out, text).expect("a string is written to memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(document: &str, path: &str) -> Result<String, NoScalar> {
        scalar(document.as_bytes(), &path.parse().unwrap()).map(|s| s.text.into_owned())
    }

    #[test]
    fn scalars_are_text() {
        assert_eq!(get(r#"{"id":"a"}"#, "id").unwrap(), "a");
        assert_eq!(get(r#"{"id":12}"#, "id").unwrap(), "12");
        assert_eq!(get(r#"{"id":12345678901234567890123}"#, "id").unwrap(), "12345678901234567890123");
        assert_eq!(get(r#"{"id":true}"#, "id").unwrap(), "true");
        assert_eq!(get(r#"{"id":"a\"é\u00e9"}"#, "id").unwrap(), "a\"éé");
        assert_eq!(get(r#"{"x":[1,{"id":3}],"a":{"b":{"c":"deep"}}}"#, "a.b.c").unwrap(), "deep");
        assert_eq!(get(r#"{"a":{"b":1},"a.b":2}"#, "a.b").unwrap(), "2");
        assert_eq!(get("  {\"id\" : \"sp\" }  ", "id").unwrap(), "sp");
    }

    #[test]
    fn what_is_no_scalar_says_why() {
        assert_eq!(get(r#"{"a":1}"#, "id"), Err(NoScalar::Missing));
        assert_eq!(get(r#"{"id":null}"#, "id"), Err(NoScalar::Missing));
        assert_eq!(get(r#"{"a":1}"#, "a.b"), Err(NoScalar::Missing));
        assert_eq!(get(r#"{"id":{}}"#, "id"), Err(NoScalar::NotScalar("an object")));
        assert_eq!(get(r#"{"id":[]}"#, "id"), Err(NoScalar::NotScalar("an array")));
        assert!(matches!(get(r#"{"a" 1}"#, "id"), Err(NoScalar::Invalid(_))));
        assert!(matches!(get("", "id"), Err(NoScalar::Invalid(_))));
    }

    #[test]
    fn fields_are_left_out_at_any_depth() {
        let drop: Vec<FieldPath> = ["id", "a.b", "x.y"].iter().map(|p| p.parse().unwrap()).collect();
        let paths: Vec<&[String]> = drop.iter().map(FieldPath::names).collect();
        let mut out = Vec::new();
        without(br#"{"id":1,"a":{"b":2,"c":[3, 4]},"x":5,"x.y":6,"z\"":1.50}"#, &paths, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"a":{"c":[3, 4]},"x":5,"z\"":1.50}"#);
        assert!(without(b"[1]", &paths, &mut Vec::new()).is_err());
    }
}
