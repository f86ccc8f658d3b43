//! Compares a document with one that an index has made of its fields ("synthetic" `_source`). Such
//! an index keeps values, not documents: it forgets nulls and empty arrays, writes dates and
//! numbers in its own form, and may forget the order of an array, its repetitions, and which values
//! belong to one object. So the values of each field are compared, as its type in the mapping reads
//! them.
//!
//! Some types change values in ways that only the server knows. Where these differ as texts,
//! nothing is concluded, and the field is named.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use inrush_core::unix_nanos;
use serde_json::Value;
use serde_json::value::RawValue;

use super::canonical::{Comparison, form};

/// The most levels of objects and arrays. Servers accept fewer.
const DEPTH_MAX: u32 = 200;

/// The most differing fields in a message.
const NAMED: usize = 3;

/// How a field reads its values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Whole numbers. A fraction is cut off.
    Whole,
    Double,
    Float,
    /// Numbers that are stored as whole numbers of this part of one.
    Scaled(f64),
    Boolean,
    Millis,
    Nanos,
    Address,
    Text,
    /// Text in small letters.
    Lower,
    /// Another type: only equal values are known to be equal.
    Other,
}

impl Kind {
    /// Whether equal values of a field are kept as many times as they were sent.
    fn counts(self) -> bool {
        matches!(self, Kind::Whole | Kind::Double | Kind::Float | Kind::Scaled(_) | Kind::Millis | Kind::Nanos)
    }
}

/// A field of the mapping.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    kind: Kind,
    /// The type, for messages.
    title: String,
    /// Whether its value is one, also where it is an object or an array.
    is_leaf: bool,
    /// The index may have a value where the document has none.
    may_be_added: bool,
}

/// The fields of an index, by their paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields(BTreeMap<String, Field>);

/// What the comparison of two documents found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) result: Comparison,
    /// Fields of which nothing was concluded, with their types.
    pub(super) unknown: BTreeSet<String>,
}

impl Fields {
    /// The fields of several indices. One that they do not have in common is of no known type.
    pub(super) fn of<'a>(mappings: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut all = Fields::default();
        for mapping in mappings {
            let mut fields = Fields::default();
            fields.add("", mapping);
            for (path, field) in fields.0 {
                all.0
                    .entry(path)
                    .and_modify(|known| {
                        if *known != field {
                            known.kind = Kind::Other;
                            known.is_leaf |= field.is_leaf;
                            known.may_be_added |= field.may_be_added;
                        }
                    })
                    .or_insert(field);
            }
        }
        all
    }

    fn add(&mut self, path: &str, definition: &Value) {
        for (name, field) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let title = field.get("type").and_then(Value::as_str).unwrap_or("object").to_owned();
            let is_object = matches!(title.as_str(), "object" | "nested" | "passthrough");
            let is_closed = field.get("enabled").is_some_and(|enabled| enabled == false || enabled == "false");
            if !is_object || is_closed {
                let kind = if is_closed { Kind::Other } else { kind(&title, field) };
                let may_be_added = field.get("null_value").is_some() || title == "constant_keyword";
                let is_leaf = kind == Kind::Other;
                self.0.insert(path.clone(), Field { kind, title, is_leaf, may_be_added });
            }
            self.add(&path, field);
        }
    }

    /// Compares a document with that of the index.
    pub(super) fn compare(&self, ours: &[u8], theirs: &[u8]) -> Compared {
        let mut unknown = BTreeSet::new();
        let (Some(ours), Some(theirs)) = (self.values(ours), self.values(theirs)) else {
            return Compared { result: Comparison::Different(Vec::new()), unknown };
        };
        let mut different = Vec::new();
        let none = Vec::new();
        for path in ours.keys().chain(theirs.keys().filter(|path| !ours.contains_key(*path))) {
            let field = self.0.get(path);
            let kind = field.map(|field| field.kind);
            let [a, b] = [&ours, &theirs].map(|values| tokens(kind, values.get(path).unwrap_or(&none)));
            if a == b {
                continue;
            }
            match field {
                Some(field) if field.may_be_added && a.is_empty() => {}
                Some(field) if field.kind == Kind::Other && !a.is_empty() && !b.is_empty() => {
                    unknown.insert(format!("{path} ({})", field.title));
                }
                // Vectors are returned only where they are asked for.
                Some(field) if field.title.ends_with("_vector") || field.title == "rank_vectors" => {
                    unknown.insert(format!("{path} ({})", field.title));
                }
                _ => different.push(path.clone()),
            }
        }
        different.truncate(NAMED);
        let result = if different.is_empty() { Comparison::Same } else { Comparison::Different(different) };
        Compared { result, unknown }
    }

    /// Some fields whose values only the server can read, with their types.
    pub(super) fn unread(&self, is_part: impl Fn(&str) -> bool) -> Vec<String> {
        let fields = self.0.iter().filter(|(path, field)| field.kind == Kind::Other && is_part(path));
        fields.map(|(path, field)| format!("{path} ({})", field.title)).collect()
    }

    /// The values of some fields of a document, in one form. `None`: it is no JSON.
    pub(super) fn key(&self, document: &[u8], is_part: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        for (path, values) in self.values(document)?.into_iter().filter(|(path, _)| is_part(path)) {
            key.extend_from_slice(path.as_bytes());
            for token in tokens(self.0.get(&path).map(|field| field.kind), &values) {
                // No token has a byte that UTF-8 does not use.
                key.push(0xff);
                key.extend_from_slice(&token);
            }
            key.push(0xfe);
        }
        Some(key)
    }

    /// The values of a document by the paths of their fields. `None`: it is not JSON, or nested too
    /// deeply.
    fn values<'a>(&self, document: &'a [u8]) -> Option<BTreeMap<String, Vec<&'a str>>> {
        let raw: &RawValue = serde_json::from_slice(document).ok()?;
        let mut found = BTreeMap::new();
        self.walk("", raw, DEPTH_MAX, &mut found)?;
        Some(found)
    }

    fn walk<'a>(
        &self,
        path: &str,
        raw: &'a RawValue,
        depth: u32,
        found: &mut BTreeMap<String, Vec<&'a str>>,
    ) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let text = raw.get();
        let is_leaf = self.0.get(path).is_some_and(|field| field.is_leaf);
        match text.as_bytes().first()? {
            b'n' => {}
            b'{' if !is_leaf => {
                let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
                for (name, value) in fields {
                    let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                    self.walk(&path, value, depth, found)?;
                }
            }
            b'[' if !is_leaf => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                for item in items {
                    self.walk(path, item, depth, found)?;
                }
            }
            _ => found.entry(path.to_owned()).or_default().push(text),
        }
        Some(())
    }
}

fn kind(title: &str, field: &Value) -> Kind {
    let factor =
        || field.get("scaling_factor").and_then(|factor| factor.as_f64().or_else(|| factor.as_str()?.parse().ok()));
    match title {
        "long" | "integer" | "short" | "byte" | "unsigned_long" => Kind::Whole,
        "double" => Kind::Double,
        "float" => Kind::Float,
        "scaled_float" => factor().map_or(Kind::Other, Kind::Scaled),
        "boolean" => Kind::Boolean,
        // Another format is that of the answer, too.
        "date" if field.get("format").is_none() => Kind::Millis,
        "date_nanos" if field.get("format").is_none() => Kind::Nanos,
        "ip" => Kind::Address,
        "keyword" => match field.get("normalizer").and_then(Value::as_str) {
            None => Kind::Text,
            Some("lowercase") => Kind::Lower,
            Some(_) => Kind::Other,
        },
        "text" | "match_only_text" | "wildcard" | "constant_keyword" | "version" | "binary" | "pattern_text" => {
            Kind::Text
        }
        _ => Kind::Other,
    }
}

/// The values in one form each, in an order of their own.
fn tokens(kind: Option<Kind>, values: &[&str]) -> Vec<Vec<u8>> {
    let token = |raw: &&str| kind.and_then(|kind| token(kind, raw)).map(String::into_bytes);
    let mut all: Vec<Vec<u8>> = values
        .iter()
        .map(|raw| token(raw).or_else(|| form(raw.as_bytes())).unwrap_or_else(|| raw.as_bytes().to_vec()))
        .collect();
    all.sort_unstable();
    if !kind.is_some_and(Kind::counts) {
        all.dedup();
    }
    all
}

/// The value as a field of this kind reads it. `None`: it cannot, and an index that ignores such
/// values returns it as it was sent.
fn token(kind: Kind, raw: &str) -> Option<String> {
    let text: Option<String> = if raw.starts_with('"') { serde_json::from_str(raw).ok() } else { None };
    let value = text.as_deref().unwrap_or(raw);
    let number = || value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    Some(match kind {
        Kind::Whole => match whole(value.trim()).parse::<i128>() {
            Ok(whole) => format!("n{whole}"),
            Err(_) => format!("n{}", number()?.trunc() as i128),
        },
        // The sum makes one of both zeros.
        Kind::Double => format!("n{:e}", number()? + 0.0),
        Kind::Float => format!("n{:e}", value.trim().parse::<f32>().ok().filter(|number| number.is_finite())? + 0.0),
        Kind::Scaled(factor) => format!("n{}", (number()? * factor).round()),
        Kind::Boolean => match value {
            "true" => "t".to_owned(),
            "false" | "" => "f".to_owned(),
            _ => return None,
        },
        Kind::Millis => format!("d{}", nanos(value)?.div_euclid(1_000_000)),
        Kind::Nanos => format!("d{}", nanos(value)?),
        Kind::Address => match value.parse::<IpAddr>().ok()? {
            IpAddr::V6(address) => format!("a{}", address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)),
            IpAddr::V4(address) => format!("a{address}"),
        },
        Kind::Text => format!("s{value}"),
        Kind::Lower => format!("s{}", value.to_lowercase()),
        Kind::Other => return None,
    })
}

/// A decimal without a fraction of zeros. A double would have too few digits for a long.
fn whole(value: &str) -> &str {
    match value.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole,
        _ => value,
    }
}

/// Nanoseconds since 1970 of a date.
fn nanos(value: &str) -> Option<i128> {
    let whole = unix_nanos(value)?;
    let fraction = value.split_once('T').and_then(|(_, time)| time.split_once(['.', ',']));
    let Some((_, behind)) = fraction else { return Some(whole) };
    let digits = behind.bytes().take_while(u8::is_ascii_digit).take(9);
    let (number, missing) =
        digits.fold((0, 9), |(number, missing), digit| (number * 10 + i128::from(digit - b'0'), missing - 1));
    Some(whole + number * 10_i128.pow(missing))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fields() -> Fields {
        let mapping = json!({"properties": {
            "@timestamp": {"type": "date"}, "nanos": {"type": "date_nanos"}, "day": {"type": "date", "format": "dd/MM/yyyy"},
            "n": {"type": "long"}, "f": {"type": "float"}, "d": {"type": "double"},
            "s": {"type": "scaled_float", "scaling_factor": 100}, "b": {"type": "boolean"}, "ip": {"type": "ip"},
            "k": {"type": "keyword", "ignore_above": 5}, "low": {"type": "keyword", "normalizer": "lowercase"},
            "own": {"type": "keyword", "normalizer": "own"}, "t": {"type": "text"}, "geo": {"type": "geo_point"},
            "r": {"type": "integer_range"}, "off": {"type": "object", "enabled": false},
            "one": {"type": "constant_keyword", "value": "x"}, "null": {"type": "keyword", "null_value": "none"},
            "host": {"properties": {"name": {"type": "keyword"}}}, "v": {"type": "dense_vector"},
            "ne": {"type": "nested", "properties": {"a": {"type": "long"}}},
        }});
        Fields::of([&mapping])
    }

    fn compare(ours: Value, theirs: Value) -> (String, Vec<String>) {
        let Compared { result, unknown } = fields().compare(ours.to_string().as_bytes(), theirs.to_string().as_bytes());
        let different = match result {
            Comparison::Same => String::new(),
            Comparison::Different(names) => names.join(","),
        };
        (different, unknown.into_iter().collect())
    }

    /// As Elasticsearch 9.5.3 has returned them in the modes `logsdb` and `columnar`.
    #[test]
    fn what_a_server_makes_of_values_is_equal() {
        for (ours, theirs) in [
            (json!({"@timestamp": "2024-05-01T02:00:00+02:00"}), json!({"@timestamp": "2024-05-01T00:00:00.000Z"})),
            (json!({"@timestamp": 1_714_521_600_123_i64}), json!({"@timestamp": "2024-05-01T00:00:00.123Z"})),
            (json!({"@timestamp": "2024-05-01"}), json!({"@timestamp": "2024-05-01T00:00:00.000Z"})),
            (json!({"@timestamp": "2024-05-01T00:00:00.123456Z"}), json!({"@timestamp": "2024-05-01T00:00:00.123Z"})),
            (json!({"nanos": "2024-05-01T00:00:00.123456789Z"}), json!({"nanos": "2024-05-01T00:00:00.123456789Z"})),
            (json!({"day": "01/05/2024"}), json!({"day": "01/05/2024"})),
            (json!({"n": "17"}), json!({"n": 17})),
            (json!({"n": 1.7}), json!({"n": 1})),
            (json!({"n": "9007199254740993.0"}), json!({"n": 9_007_199_254_740_993_i64})),
            (json!({"f": 0.1}), json!({"f": 0.1})),
            (json!({"f": 0.123_456_789_f64}), json!({"f": 0.123_456_79_f64})),
            (json!({"d": 3}), json!({"d": 3.0})),
            (json!({"s": 1.234}), json!({"s": 1.23})),
            (json!({"b": "true"}), json!({"b": true})),
            (json!({"ip": "::ffff:1.2.3.4"}), json!({"ip": "1.2.3.4"})),
            (json!({"ip": "0:0::1"}), json!({"ip": "::1"})),
            (json!({"k": 7}), json!({"k": "7"})),
            (json!({"k": ["b", "a", "b"]}), json!({"k": ["a", "b"]})),
            (json!({"low": "ABC"}), json!({"low": "abc"})),
            (json!({"n": [3, 1, 2, 1]}), json!({"n": [1, 1, 2, 3]})),
            (json!({"n": "abc"}), json!({"n": "abc"})),
            (json!({"host": {"name": "x"}}), json!({"host.name": "x"})),
            (json!({"host.name": "x"}), json!({"host": {"name": "x"}})),
            (json!({"ne": [{"a": 3}, {"a": 1}]}), json!({"ne.a": [1, 3]})),
            (json!({"n": null, "k": [], "host": {}, "t": "x"}), json!({"t": "x"})),
            (json!({"t": "x"}), json!({"t": "x", "one": "x", "null": "none"})),
            (json!({"off": {"x": [1, {"z": 2}]}}), json!({"off": {"x": [1, {"z": 2}]}})),
            (json!({"unmapped": [1, "a"]}), json!({"unmapped": [1, "a"]})),
        ] {
            assert_eq!(compare(ours.clone(), theirs.clone()), (String::new(), vec![]), "{ours} {theirs}");
        }
    }

    #[test]
    fn other_values_are_different() {
        for (ours, theirs, field) in [
            (
                json!({"@timestamp": "2024-05-01T00:00:00Z"}),
                json!({"@timestamp": "2024-05-01T00:00:00.001Z"}),
                "@timestamp",
            ),
            (json!({"n": 1}), json!({"n": 2}), "n"),
            (json!({"n": [1, 1]}), json!({"n": 1}), "n"),
            (json!({"n": 9_007_199_254_740_993_i64}), json!({"n": 9_007_199_254_740_992_i64}), "n"),
            (json!({"n": "9007199254740993.00"}), json!({"n": 9_007_199_254_740_992_i64}), "n"),
            (json!({"d": 0.1}), json!({"d": 0.1_f32}), "d"),
            (json!({"k": "a"}), json!({"k": "A"}), "k"),
            (json!({"t": "x"}), json!({}), "t"),
            (json!({}), json!({"t": "x"}), "t"),
            (json!({"off": {"x": 1}}), json!({}), "off"),
            (json!({"host": {"name": "x"}}), json!({"host.name": "y"}), "host.name"),
            (json!({"unmapped": 1}), json!({"unmapped": 2}), "unmapped"),
            (json!({"ip": "1.2.3.4"}), json!({"ip": "1.2.3.5"}), "ip"),
            (json!({"b": true}), json!({"b": false}), "b"),
        ] {
            assert_eq!(compare(ours.clone(), theirs.clone()), (field.to_owned(), vec![]), "{ours} {theirs}");
        }
    }

    #[test]
    fn what_only_the_server_knows_is_named() {
        for (ours, theirs, field) in [
            (
                json!({"geo": {"lat": 1.0, "lon": 2.0}}),
                json!({"geo": {"lat": 0.999_999_98, "lon": 1.999_999_96}}),
                "geo (geo_point)",
            ),
            (json!({"geo": [2.0, 1.0]}), json!({"geo": {"lat": 0.999_999_98, "lon": 1.999_999_96}}), "geo (geo_point)"),
            (json!({"r": {"gte": 1, "lt": 5}}), json!({"r": {"gte": 1, "lte": 4}}), "r (integer_range)"),
            (json!({"own": "É"}), json!({"own": "e"}), "own (keyword)"),
            (json!({"v": [0.1]}), json!({}), "v (dense_vector)"),
            (json!({"day": "1/5/2024"}), json!({"day": "01/05/2024"}), "day (date)"),
        ] {
            assert_eq!(
                compare(ours.clone(), theirs.clone()),
                (String::new(), vec![field.to_owned()]),
                "{ours} {theirs}"
            );
        }
    }

    #[test]
    fn a_field_of_two_types_is_of_none() {
        let (a, b) =
            (json!({"properties": {"n": {"type": "long"}}}), json!({"properties": {"n": {"type": "keyword"}}}));
        let found = Fields::of([&a, &b]).compare(b"{\"n\":1}", b"{\"n\":\"1\"}");
        assert_eq!((found.result, found.unknown.len()), (Comparison::Same, 1));
    }

    #[test]
    fn what_is_no_json_is_different() {
        assert_eq!(fields().compare(b"{", b"{}").result, Comparison::Different(vec![]));
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(fields().compare(deep.as_bytes(), b"{}").result, Comparison::Different(vec![]));
    }

    proptest! {
        #[test]
        fn a_document_is_equal_to_itself_in_flat_names(values in prop::collection::btree_map("[a-z]{1,3}", any::<i64>(), 0..5)) {
            let nested = json!({"host": values.clone(), "n": 1});
            let flat: serde_json::Map<String, Value> = values.iter().map(|(name, value)| (format!("host.{name}"), json!(value))).chain([("n".to_owned(), json!(1))]).collect();
            let found = Fields::default().compare(nested.to_string().as_bytes(), Value::Object(flat).to_string().as_bytes());
            prop_assert_eq!(found.result, Comparison::Same);
        }
    }
}
