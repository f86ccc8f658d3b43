//! Values of single fields, found in a document's text without parsing the rest of it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inrush_smile::DEPTH_MAX;
use sonic_rs::{JsonType, JsonValueTrait};

use crate::operation::FieldPath;

/// Fields that are removed from documents, and which of them occurred. Clones share this state.
#[derive(Clone, Debug, Default)]
pub struct Dropped(Arc<[(FieldPath, AtomicBool)]>);

impl Dropped {
    pub(super) fn new(paths: &[FieldPath]) -> Self {
        Dropped(paths.iter().map(|path| (path.clone(), AtomicBool::new(false))).collect())
    }

    /// Fields that no document had so far.
    pub fn never_met(&self) -> Vec<&FieldPath> {
        self.0.iter().filter(|(_, met)| !met.load(Ordering::Relaxed)).map(|(path, _)| path).collect()
    }

    /// A warning for each field that no document had.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |path| format!("option `drop={path}`: no document had such a field; check its name");
        self.never_met().into_iter().map(warning).collect()
    }
}

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

/// A field to remove: the names of its path below the current object.
#[derive(Clone, Copy)]
struct Left<'a> {
    names: &'a [String],
    met: &'a AtomicBool,
}

impl<'a> Left<'a> {
    /// The rest of the path below the member `key`, which may stand for several names. The rest is
    /// empty if the member is the field.
    fn below(self, key: &str) -> Option<Self> {
        let mut rest = key;
        for (at, name) in self.names.iter().enumerate() {
            rest = rest.strip_prefix(name.as_str())?;
            if rest.is_empty() {
                return Some(Left { names: &self.names[at + 1..], met: self.met });
            }
            rest = rest.strip_prefix('.')?;
        }
        None
    }
}

/// Writes the object `document` without the fields of `dropped`. The rest is copied as it is. As in
/// a mapping, `a.b` is a field of each object in `a` if `a` is an array.
pub(super) fn without(document: Shallow<'_>, dropped: &Dropped, out: &mut Vec<u8>) -> Result<(), String> {
    let left: Vec<Left<'_>> = dropped.0.iter().map(|(path, met)| Left { names: path.names(), met }).collect();
    object_without(document.0, &left, out)
}

fn object_without(object: &[u8], left: &[Left<'_>], out: &mut Vec<u8>) -> Result<(), String> {
    out.push(b'{');
    let start = out.len();
    let mut last = None;
    for entry in sonic_rs::to_object_iter(object) {
        let (key, value) = entry.map_err(|e| first_line(&e.to_string()))?;
        let raw = value.as_raw_str();
        // The value is a slice of the object.
        last = Some(raw.as_ptr() as usize + raw.len() - object.as_ptr() as usize);
        let below: Vec<Left<'_>> = left.iter().filter_map(|left| left.below(&key)).collect();
        let mut is_left_out = false;
        for field in below.iter().filter(|left| left.names.is_empty()) {
            is_left_out = true;
            if !field.met.load(Ordering::Relaxed) {
                field.met.store(true, Ordering::Relaxed);
            }
        }
        if is_left_out {
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        write_string(out, &key);
        out.push(b':');
        value_without(raw, &below, out)?;
    }
    out.push(b'}');
    // The iterator stops at the end of the object and ignores the text behind it.
    let end = last.unwrap_or_else(|| memchr::memchr(b'{', object).map_or(0, |at| at + 1));
    match object[end..].trim_ascii_start() {
        [b'}', rest @ ..] if rest.trim_ascii().is_empty() => Ok(()),
        _ => Err(format!("unexpected text after the object, at byte {end} or later")),
    }
}

fn value_without(raw: &str, left: &[Left<'_>], out: &mut Vec<u8>) -> Result<(), String> {
    match (left, raw.as_bytes()) {
        ([_, ..], [b'{', ..]) => object_without(raw.as_bytes(), left, out),
        ([_, ..], [b'[', ..]) => {
            out.push(b'[');
            let start = out.len();
            for element in sonic_rs::to_array_iter(raw) {
                let element = element.map_err(|e| first_line(&e.to_string()))?;
                if out.len() > start {
                    out.push(b',');
                }
                value_without(element.as_raw_str(), left, out)?;
            }
            out.push(b']');
            Ok(())
        }
        _ => {
            out.extend_from_slice(raw.as_bytes());
            Ok(())
        }
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

    fn left(document: &str, paths: &[&str]) -> (Result<String, String>, usize) {
        let dropped = Dropped::new(&paths.iter().map(|path| path.parse().unwrap()).collect::<Vec<_>>());
        let mut out = Vec::new();
        let result = without(Shallow::new(document.as_bytes()).unwrap(), &dropped, &mut out);
        (result.map(|()| String::from_utf8(out).unwrap()), dropped.never_met().len())
    }

    #[test]
    fn fields_are_left_out_at_any_depth() {
        let document = r#" {"id":1,"a":{"b":2,"c":[3, 4]},"x":5,"x.y":6,"z\"":1.50} "#;
        let (found, never_met) = left(document, &["id", "a.b", "x.y"]);
        assert_eq!((found.unwrap().as_str(), never_met), (r#"{"a":{"c":[3, 4]},"x":5,"z\"":1.50}"#, 0));
        assert!(left("[1]", &["a"]).0.is_err());
        let (found, never_met) = left(r#"{"Order No.":1,".a":2,"b":{"No.":3,"c":4}}"#, &["Order No.", ".a", "b.No."]);
        assert_eq!((found.unwrap().as_str(), never_met), (r#"{"b":{"c":4}}"#, 0));
    }

    #[test]
    fn fields_of_objects_in_arrays_are_left_out() {
        let (found, never_met) = left(
            r#"{"users":[{"name":"a","password":"p1"},7,[{"password":"p2"},[]],{"password":{"x":1}, "n":2}],"none":[]}"#,
            &["users.password", "users.nickname", "none.x"],
        );
        assert_eq!(found.unwrap(), r#"{"users":[{"name":"a"},7,[{},[]],{"n":2}],"none":[]}"#);
        assert_eq!(never_met, 2);
        let found = left(r#"{"a.b":{"c":1,"d":[{"e":2}]},"ab":3,"a":{"b.c":4,"b":{"c":5}}}"#, &["a.b.c", "a.b.d.e"]).0;
        assert_eq!(found.unwrap(), r#"{"a.b":{"d":[{}]},"ab":3,"a":{"b":{}}}"#);
    }

    #[test]
    fn text_after_the_object_is_an_error() {
        for document in [r#"{"a":1} {"a":2}"#, r#"{"a":1}{"#, "{} // x", r#"{"a":1}}"#, r#"{"x":1} null"#] {
            assert!(left(document, &["x"]).0.unwrap_err().contains("after the object"), "{document}");
        }
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
