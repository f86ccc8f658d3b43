//! Values of single fields, found in a document's text without parsing the rest of it.

use std::borrow::Cow;

use inrush_smile::DEPTH_MAX;
use sonic_rs::{JsonType, JsonValueTrait};

use crate::operation::FieldPath;

/// A field's value in a form that can be an id, a routing value, a version or a part of an index
/// name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scalar<'a> {
    /// The text: the content of a string, the digits of a number as they are spelled, `true` or
    /// `false`.
    pub(super) text: Cow<'a, str>,
}

/// Why a field has no such value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoScalar {
    /// The field is absent or null.
    Missing,
    /// The field is an object or an array.
    NotScalar(&'static str),
    /// The field is in the objects of the array with this name.
    InArray(String),
    /// The document is not JSON in the part that had to be read.
    Invalid(String),
}

/// A document whose fields may be looked up. sonic-rs descends into objects and arrays by
/// recursion, so the depth has to be bounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shallow<'a>(&'a [u8]);

impl<'a> Shallow<'a> {
    /// Returns `None` if more than [`DEPTH_MAX`] objects and arrays are nested.
    #[inline]
    pub(super) fn new(document: &'a [u8]) -> Option<Self> {
        // So few bytes or brackets cannot be nested too deeply.
        let shallow =
            document.len() <= DEPTH_MAX || opening_brackets(document) <= DEPTH_MAX || depth(document) <= DEPTH_MAX;
        shallow.then_some(Shallow(document))
    }
}

fn opening_brackets(text: &[u8]) -> usize {
    // `{` and `[` differ in one bit. Sums of bytes can be vectorized.
    let in_piece = |piece: &[u8]| piece.iter().map(|&byte| u8::from(byte | 0x20 == b'{')).sum::<u8>();
    text.chunks(255).map(|piece| usize::from(in_piece(piece))).sum()
}

/// The depth of nested objects and arrays. Unclosed ones count.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                while let Some(found) = text.get(at + 1..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
                    at += 1 + found;
                    if text[at] == b'"' {
                        break;
                    }
                    at += 1;
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        at += 1;
    }
    deepest
}

/// The value at `path`. A key that is the whole path, dots included, takes precedence over the
/// nested field.
pub(super) fn scalar<'a>(document: Shallow<'a>, path: &FieldPath) -> Result<Scalar<'a>, NoScalar> {
    let Shallow(document) = document;
    let names = path.names();
    if names.len() > 1 {
        match find(document, &[path.as_str()]) {
            Err(NoScalar::Missing) => {}
            other => return other,
        }
    }
    if let [name] = names {
        return find(document, &[name.as_str()]);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    find(document, &names).map_err(|no| match no {
        NoScalar::Missing => array_above(document, &names).map_or(NoScalar::Missing, NoScalar::InArray),
        other => other,
    })
}

/// The array on the way to a field that was not found, if there is one.
fn array_above(document: &[u8], names: &[&str]) -> Option<String> {
    let is_array = |names: &[&str]| find(document, names) == Err(NoScalar::NotScalar("an array"));
    (1..names.len()).map(|len| &names[..len]).find(|names| is_array(names)).map(|names| names.join("."))
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
        // A value from a slice borrows from it. A copy would only cost time.
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
        scalar(Shallow::new(document.as_bytes()).unwrap(), &path.parse().unwrap()).map(|s| s.text.into_owned())
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
        for path in ["Order No.", ".No", "a..b", "."] {
            assert_eq!(get(&format!("{{\"a\":0,{path:?}:7}}"), path).unwrap(), "7", "{path}");
        }
        assert_eq!(get(r#"{"order":{"No.":7}}"#, "order.No.").unwrap(), "7");
    }

    #[test]
    fn fields_without_a_value_give_a_reason() {
        assert_eq!(get(r#"{"a":1}"#, "id"), Err(NoScalar::Missing));
        assert_eq!(get(r#"{"id":null}"#, "id"), Err(NoScalar::Missing));
        assert_eq!(get(r#"{"a":1}"#, "a.b"), Err(NoScalar::Missing));
        assert_eq!(get(r#"{"id":{}}"#, "id"), Err(NoScalar::NotScalar("an object")));
        assert_eq!(get(r#"{"id":[]}"#, "id"), Err(NoScalar::NotScalar("an array")));
        assert_eq!(get(r#"{"a":{"b":[{"c":1}]}}"#, "a.b.c"), Err(NoScalar::InArray("a.b".to_owned())));
        assert!(matches!(get(r#"{"a" 1}"#, "id"), Err(NoScalar::Invalid(_))));
        assert!(matches!(get("", "id"), Err(NoScalar::Invalid(_))));
    }

    #[test]
    fn depth_is_counted_outside_of_strings() {
        let nested = |levels: usize| format!("{}{}", "[{\"a\":".repeat(levels / 2), "}]".repeat(levels / 2));
        assert!(Shallow::new(nested(DEPTH_MAX).as_bytes()).is_some());
        assert!(Shallow::new(nested(DEPTH_MAX + 2).as_bytes()).is_none());
        let beside = format!("[{}]", vec!["[{}]"; DEPTH_MAX].join(","));
        assert!(Shallow::new(beside.as_bytes()).is_some());
        let text = format!(r#"["{}\\\"{}"]"#, "[".repeat(2 * DEPTH_MAX), "{".repeat(2 * DEPTH_MAX));
        assert!(Shallow::new(text.as_bytes()).is_some());
        assert!(Shallow::new(&[b'['; 1_000_000]).is_none());
        assert!(Shallow::new(&[b'"'; 1_001]).is_some());
    }
}
