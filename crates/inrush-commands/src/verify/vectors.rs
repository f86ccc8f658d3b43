//! Compares a document with that of an index whose mapping has vectors. A vector is kept as
//! float32: the index may return other digits, numbers for base64, or nothing where vectors are not
//! asked for (Elasticsearch 9.2 and newer). So vectors are compared as float32, and the rest by
//! value.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inrush_core::vectors::{Element, Similarity, VectorField};
use serde_json::Value;
use serde_json::value::RawValue;

use super::canonical::{Comparison, compare, form};
use super::rebuilt::Compared;

/// The most levels of objects and arrays. Servers accept fewer.
const DEPTH_MAX: u32 = 200;

/// The most differing fields in a message.
const NAMED: usize = 3;

/// How far the numbers of a vector may differ that the index has divided by its length and
/// multiplied again, in parts of them.
const NEAR: f64 = 1e-5;

/// How a field reads its vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// float32.
    Float,
    /// float32 that the index normalises.
    Near,
    /// Bytes with a sign.
    Bytes,
    /// Another type: only equal values are known to be equal.
    Other,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    kind: Kind,
    /// The type, for messages.
    title: String,
}

/// The fields of indices that hold vectors, by their paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Vectors {
    fields: BTreeMap<String, Field>,
    /// The index returns vectors only where they are asked for, and makes them of its fields.
    left_out: bool,
}

/// A document in two parts.
#[derive(Default)]
struct Parts<'a> {
    /// The document without its vectors.
    rest: Vec<u8>,
    vectors: BTreeMap<String, Vec<&'a str>>,
    /// The number of the vectors.
    found: usize,
}

impl Vectors {
    /// The vectors of several indices. `left_out`: one of them returns vectors only where they are
    /// asked for.
    pub(super) fn of<'a>(mappings: impl IntoIterator<Item = &'a Value>, left_out: bool) -> Self {
        let mut all = Vectors { fields: BTreeMap::new(), left_out };
        for mapping in mappings {
            all.add("", mapping);
        }
        all
    }

    fn add(&mut self, path: &str, definition: &Value) {
        for (name, field) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = join(path, name);
            if let Some(kind) = kind(field, self.left_out) {
                let title = field.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                let of_this = Field { kind, title };
                let known = self.fields.entry(path.clone()).or_insert_with(|| of_this.clone());
                if *known != of_this {
                    known.kind = Kind::Other;
                }
            }
            self.add(&path, field);
        }
    }

    /// Whether vectors have to be asked for.
    pub(super) fn are_left_out(&self) -> bool {
        self.left_out
    }

    /// The fields whose vectors are compared with a tolerance.
    pub(super) fn near(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(|(_, field)| field.kind == Kind::Near).map(|(path, _)| path.as_str())
    }

    /// Compares a document with that of the index.
    pub(super) fn compare(&self, ours: &[u8], theirs: &[u8]) -> Compared {
        let mut unknown = BTreeSet::new();
        if ours == theirs || self.fields.is_empty() {
            return Compared { result: compare(ours, theirs), unknown };
        }
        let (Some(ours), Some(theirs)) = (self.parts(ours), self.parts(theirs)) else {
            return Compared { result: compare(ours, theirs), unknown };
        };
        let none = Vec::new();
        let mut different = Vec::new();
        for (path, field) in &self.fields {
            let [a, b] = [&ours, &theirs].map(|parts| parts.vectors.get(path).unwrap_or(&none));
            match same(field.kind, a, b) {
                Some(true) => {}
                Some(false) => different.push(path.clone()),
                None => {
                    unknown.insert(format!("{path} ({})", field.title));
                }
            }
        }
        let result = match compare(&ours.rest, &theirs.rest) {
            Comparison::Same if different.is_empty() => Comparison::Same,
            Comparison::Same => Comparison::Different(different),
            Comparison::Different(names) => Comparison::Different(names.into_iter().chain(different).collect()),
        };
        let result = match result {
            Comparison::Different(mut names) => {
                names.truncate(NAMED);
                Comparison::Different(names)
            }
            Comparison::Same => Comparison::Same,
        };
        Compared { result, unknown }
    }

    /// Takes the vectors out of a document. `None`: it is not JSON, or nested too deeply.
    fn parts<'a>(&self, document: &'a [u8]) -> Option<Parts<'a>> {
        let raw: &RawValue = serde_json::from_slice(document).ok()?;
        let mut parts = Parts::default();
        self.walk("", raw, DEPTH_MAX, &mut parts)?;
        Some(parts)
    }

    fn walk<'a>(&self, path: &str, raw: &'a RawValue, depth: u32, to: &mut Parts<'a>) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let text = raw.get();
        match text.as_bytes().first()? {
            b'{' if self.are_below(path) => self.walk_object(path, text, depth, to)?,
            b'[' if self.are_below(path) => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                to.rest.push(b'[');
                for (at, item) in items.into_iter().enumerate() {
                    if at > 0 {
                        to.rest.push(b',');
                    }
                    self.walk(path, item, depth, to)?;
                }
                to.rest.push(b']');
            }
            _ => to.rest.extend_from_slice(text.as_bytes()),
        }
        Some(())
    }

    fn walk_object<'a>(&self, path: &str, text: &'a str, depth: u32, to: &mut Parts<'a>) -> Option<()> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        to.rest.push(b'{');
        let begin = to.rest.len();
        for (name, value) in fields {
            let below = join(path, &name);
            let is_null = value.get() == "null";
            if self.fields.contains_key(&below) && (self.left_out || !is_null) {
                if !is_null {
                    to.vectors.entry(below).or_default().push(value.get());
                    to.found += 1;
                }
                continue;
            }
            let (before, found) = (to.rest.len(), to.found);
            if before > begin {
                to.rest.push(b',');
            }
            serde_json::to_writer(&mut to.rest, &name).ok()?;
            to.rest.push(b':');
            let value_begins = to.rest.len();
            self.walk(&below, value, depth, to)?;
            // An object of vectors alone may come back under one name with dots.
            if to.found > found && to.rest.get(value_begins..) == Some(b"{}".as_slice()) {
                to.rest.truncate(before);
            }
        }
        to.rest.push(b'}');
        Some(())
    }

    /// Whether objects at this path may have vectors.
    fn are_below(&self, path: &str) -> bool {
        path.is_empty()
            || self.fields.keys().any(|field| field.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// How a field of this definition reads vectors. `None`: it holds none.
fn kind(field: &Value, left_out: bool) -> Option<Kind> {
    let text = |name: &str| field.get(name).and_then(Value::as_str);
    let title = text("type")?;
    let Some(vector) = VectorField::of(field) else {
        return (left_out && matches!(title, "sparse_vector" | "rank_vectors")).then_some(Kind::Other);
    };
    if !matches!(text("element_type"), None | Some("float" | "byte" | "bit")) {
        return Some(Kind::Other);
    }
    // An indexed dense_vector of floats without a similarity has cosine.
    let is_cosine = match title {
        "dense_vector" => vector.may_be_packed && text("similarity").is_none_or(|name| name == "cosine"),
        _ => vector.similarity == Similarity::Cosine,
    };
    let is_normalised = is_cosine && (left_out || title == "knn_vector");
    Some(match vector.element {
        Element::Float if is_normalised => Kind::Near,
        Element::Float => Kind::Float,
        Element::Byte | Element::Bit => Kind::Bytes,
    })
}

/// Whether the vectors of a field are the same. `None`: only the server knows.
fn same(kind: Kind, ours: &[&str], theirs: &[&str]) -> Option<bool> {
    if ours.len() != theirs.len() {
        return if kind == Kind::Other { None } else { Some(false) };
    }
    let mut all = Some(true);
    for (a, b) in ours.iter().zip(theirs) {
        match one_same(kind, a, b) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

fn one_same(kind: Kind, ours: &str, theirs: &str) -> Option<bool> {
    let as_texts = || (form(ours.as_bytes()) == form(theirs.as_bytes())).then_some(true);
    if kind == Kind::Other {
        return as_texts();
    }
    let (Some(a), Some(b)) = (numbers(kind, ours), numbers(kind, theirs)) else { return as_texts() };
    if a.len() != b.len() {
        return Some(false);
    }
    let largest = a.iter().map(|number| f64::from(number.direct.abs())).fold(0.0, f64::max);
    Some(a.iter().zip(&b).all(|(a, b)| a.is(*b) || kind == Kind::Near && a.is_near(*b, largest)))
}

/// A number as float32. Servers parse it as such, or as a double that they round.
#[derive(Clone, Copy)]
struct Number {
    direct: f32,
    by_double: f32,
}

impl Number {
    fn of(text: &str) -> Option<Self> {
        let (direct, by_double) = (text.parse::<f32>().ok()?, text.parse::<f64>().ok()? as f32);
        (direct.is_finite() && by_double.is_finite()).then_some(Number { direct, by_double })
    }

    fn is(self, other: Number) -> bool {
        // Both zeros are equal, as elsewhere in documents.
        [self.direct, self.by_double].into_iter().any(|a| a == other.direct || a == other.by_double)
    }

    /// `largest`: the largest number of the vector, beside which the smallest floats lose bits.
    fn is_near(self, other: Number, largest: f64) -> bool {
        let (a, b) = (f64::from(self.direct), f64::from(other.direct));
        (a - b).abs() <= (NEAR * a.abs().max(b.abs())).max(f64::from(f32::MIN_POSITIVE) * largest)
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Self {
        Number { direct: value, by_double: value }
    }
}

/// The numbers of a vector. `None`: it is in a form that only the server reads.
fn numbers(kind: Kind, text: &str) -> Option<Vec<Number>> {
    if !text.starts_with('"') {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return items.into_iter().map(|item| Number::of(item.get())).collect();
    }
    let bytes = STANDARD.decode(serde_json::from_str::<String>(text).ok()?).ok()?;
    if kind == Kind::Bytes {
        return Some(bytes.into_iter().map(|byte| Number::from(f32::from(byte.cast_signed()))).collect());
    }
    let float = |four: &[u8]| {
        let value = f32::from_be_bytes(four.try_into().ok()?);
        value.is_finite().then(|| Number::from(value))
    };
    (bytes.len() % 4 == 0).then(|| bytes.chunks(4).map(float).collect())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn vectors(left_out: bool) -> Vectors {
        let mapping = json!({"properties": {
            "v": {"type": "dense_vector", "similarity": "l2_norm"}, "c": {"type": "dense_vector", "similarity": "cosine"},
            "b": {"type": "dense_vector", "element_type": "byte"}, "k": {"type": "knn_vector", "dimension": 2},
            "h": {"type": "dense_vector", "element_type": "bfloat16"}, "s": {"type": "sparse_vector"},
            "o": {"properties": {"v": {"type": "dense_vector", "index": false}}}, "n": {"type": "long"},
        }});
        Vectors::of([&mapping], left_out)
    }

    fn of(left_out: bool, ours: &str, theirs: &str) -> (Option<String>, Vec<String>) {
        let Compared { result, unknown } = vectors(left_out).compare(ours.as_bytes(), theirs.as_bytes());
        let different = match result {
            Comparison::Same => None,
            Comparison::Different(names) => Some(names.join(",")),
        };
        (different, unknown.into_iter().collect())
    }

    #[test]
    fn vectors_are_compared_as_float32_and_the_rest_by_value() {
        for (ours, theirs) in [
            (r#"{"n":1,"v":[0.1,1]}"#, r#"{"v":[0.10000000149011612,1.0],"n":1.0}"#),
            (r#"{"v":[1,-2]}"#, r#"{"v":"P4AAAMAAAAA="}"#),
            (r#"{"k":[16777217,0]}"#, r#"{"k":[1.6777216E7,-0.0]}"#),
            (r#"{"b":[-128,127]}"#, r#"{"b":"gH8="}"#),
            (r#"{"o":{"v":[1]},"n":1}"#, r#"{"o.v":[1.0],"n":1}"#),
            (r#"{"o":[{"v":[1]},{"x":[2]}]}"#, r#"{"o":[{"v":[1.0]},{"x":[2]}]}"#),
            (r#"{"n":1}"#, r#"{"n":1,"v":null}"#),
        ] {
            assert_eq!(of(false, ours, theirs), (None, vec![]), "{ours} {theirs}");
        }
        for (ours, theirs, names) in [
            (r#"{"v":[0.1]}"#, r#"{"v":[0.10000001]}"#, "v"),
            (r#"{"v":[1]}"#, "{}", "v"),
            ("{}", r#"{"v":[1]}"#, "v"),
            (r#"{"v":[1,1]}"#, r#"{"v":[1]}"#, "v"),
            (r#"{"n":0.1,"v":[1]}"#, r#"{"n":0.10000000149011612,"v":[1.0]}"#, "n"),
            (r#"{"n":1,"c":[0.1,1]}"#, r#"{"n":2,"c":[0.100001,1]}"#, "n,c"),
            (r#"{"v":null}"#, "{}", "v"),
            (r#"{"o":{"v":[1],"x":1}}"#, r#"{"o":{"v":[1.0],"x":2}}"#, "o"),
        ] {
            assert_eq!(of(false, ours, theirs), (Some(names.to_owned()), vec![]), "{ours} {theirs}");
        }
    }

    #[test]
    fn an_index_that_makes_vectors_of_its_fields_returns_others() {
        assert_eq!(of(true, r#"{"c":[0.1,1]}"#, r#"{"c":[0.1000001,0.9999999]}"#), (None, vec![]));
        assert_eq!(of(true, r#"{"c":[0.1,1]}"#, r#"{"c":[0.101,1]}"#).0.as_deref(), Some("c"));
        assert_eq!(of(true, r#"{"v":[0.1]}"#, r#"{"v":[0.1000001]}"#).0.as_deref(), Some("v"));
        assert_eq!(of(true, r#"{"n":1,"v":null}"#, r#"{"n":1}"#), (None, vec![]));
        assert_eq!(of(true, r#"{"h":[0.1]}"#, r#"{"h":[0.1001]}"#), (None, vec!["h (dense_vector)".to_owned()]));
        assert_eq!(of(true, r#"{"s":{"a":0.3}}"#, r#"{"s":{"a":0.29}}"#), (None, vec!["s (sparse_vector)".to_owned()]));
        assert_eq!(vectors(true).near().collect::<Vec<_>>(), ["c"]);
        assert_eq!(vectors(false).near().count(), 0);
    }
}
