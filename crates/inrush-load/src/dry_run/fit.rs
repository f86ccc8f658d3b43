//! The check of documents against an existing mapping, as far as it is possible without the server.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// An index's mapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapping {
    root: Map<String, Value>,
    /// `index.mapping.ignore_malformed`.
    ignore_malformed: bool,
}

/// A short text of a field's value for a message.
fn what(value: &Value) -> String {
    let shown = |text: String| text.chars().take(60).collect::<String>();
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(on) => on.to_string(),
        Value::Number(number) => shown(number.to_string()),
        Value::String(text) => shown(format!("{text:?}")),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

impl Mapping {
    /// Reads the mapping from the index's part of the answer to `GET /index`.
    pub(super) fn new(index: &Value) -> Self {
        let root = index.get("mappings").and_then(Value::as_object).cloned().unwrap_or_default();
        let setting = index.pointer("/settings/index/mapping/ignore_malformed");
        let ignore_malformed = setting.is_some_and(|on| on == true || on == "true");
        Mapping { root, ignore_malformed }
    }

    /// Why the server would refuse the document. Formats of dates, shapes and types of plugins are
    /// not checked here, and only the server knows them.
    pub(super) fn misfit(&self, document: &[u8]) -> Option<String> {
        // Another check reports invalid JSON.
        let Ok(Value::Object(document)) = serde_json::from_slice(document) else { return None };
        self.object(&document, &self.root, "", self.root.get("dynamic"))
    }

    /// The types of its fields whose values only the server checks.
    pub(super) fn unchecked(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        add_unchecked(&self.root, &mut found);
        found.into_iter().collect()
    }

    /// Whether the server may refuse documents for this clash of a value with fields below its
    /// name, whose text begins with the field of the value.
    pub(super) fn may_refuse(&self, clash: &str) -> bool {
        let is_off = |name: &str| self.root.get(name).is_some_and(|value| value == false || value == "false");
        let is_of = |name: &String| clash.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with([' ', '.']));
        let properties = self.root.get("properties").and_then(Value::as_object);
        let is_mapped = || properties.is_some_and(|properties| properties.keys().any(is_of));
        !is_off("subobjects") && (!is_off("dynamic") || is_mapped())
    }

    fn object(
        &self,
        document: &Map<String, Value>,
        mapping: &Map<String, Value>,
        path: &str,
        dynamic: Option<&Value>,
    ) -> Option<String> {
        let dynamic = mapping.get("dynamic").or(dynamic);
        for (name, value) in document {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            // A name with dots stands for nested objects.
            let field =
                name.split('.').try_fold(mapping, |mapping, part| mapping.get("properties")?.get(part)?.as_object());
            match field {
                Some(field) => {
                    let found = self.field(value, field, &path, dynamic);
                    if found.is_some() {
                        return found;
                    }
                }
                None if dynamic == Some(&Value::from("strict")) && !value.is_null() && !name.contains('.') => {
                    return Some(format!("field {path} is not in the mapping, whose `dynamic` is strict"));
                }
                None => {}
            }
        }
        None
    }

    fn field(&self, value: &Value, field: &Map<String, Value>, path: &str, dynamic: Option<&Value>) -> Option<String> {
        if let Value::Array(items) = value {
            let kind = field.get("type").and_then(Value::as_str).unwrap_or("object");
            let of_numbers = ["dense_vector", "knn_vector", "geo_point", "geo_shape", "point", "xy_point"];
            return match of_numbers.contains(&kind) {
                // Numbers are one point; other items are points each.
                true if kind == "geo_point" => {
                    let mut points = items.iter().filter(|item| !item.is_number());
                    points.find_map(|item| self.field(item, field, path, dynamic))
                }
                true => None,
                false => items.iter().find_map(|item| self.field(item, field, path, dynamic)),
            };
        }
        if value.is_null() || field.get("enabled") == Some(&Value::Bool(false)) {
            return None;
        }
        let kind = field.get("type").and_then(Value::as_str).unwrap_or("object");
        let refuse = |expected: &str| {
            Some(format!("field {path} is {}; its mapping type, {kind}, accepts {expected}", what(value)))
        };
        let ignored = field.get("ignore_malformed").map_or(self.ignore_malformed, |on| on == true);
        match (kind, value) {
            ("object" | "nested", Value::Object(below)) => self.object(below, field, path, dynamic),
            ("object" | "nested", _) => refuse("objects"),
            ("long" | "integer" | "short" | "byte" | "unsigned_long", _) if !ignored => match number(value) {
                Some(number) if in_range(kind, value, number) => None,
                Some(_) => refuse("whole numbers of its range"),
                None => refuse("numbers"),
            },
            ("double" | "float" | "half_float" | "scaled_float", _) if !ignored => {
                if number(value).is_some() {
                    None
                } else {
                    refuse("numbers")
                }
            }
            ("boolean", Value::Bool(_)) => None,
            ("boolean", Value::String(text)) if ["true", "false", ""].contains(&text.as_str()) => None,
            ("boolean", _) if !ignored => refuse("true and false"),
            ("ip", Value::String(text)) if text.parse::<std::net::IpAddr>().is_ok() => None,
            ("ip", _) if !ignored => refuse("IP addresses"),
            ("date" | "date_nanos", Value::Object(_) | Value::Bool(_)) if !ignored => refuse("dates"),
            ("date" | "date_nanos", Value::String(text)) if !ignored && !field.contains_key("format") => {
                if looks_like_a_date(text) {
                    None
                } else {
                    refuse("dates (strict_date_optional_time or epoch_millis)")
                }
            }
            ("geo_point", Value::Object(parts)) if parts.keys().any(|part| GEO_PARTS.contains(&part.as_str())) => None,
            ("geo_point", Value::String(text)) if looks_like_a_point(text) => None,
            ("geo_point", _) if !ignored => refuse("points, such as \"41.1,-71.3\""),
            (_, Value::Object(_)) if RANGES.contains(&kind) => None,
            ("ip_range", Value::String(text)) if text.contains('/') => None,
            (_, _) if RANGES.contains(&kind) => refuse("objects such as {\"gte\": 1, \"lt\": 5}"),
            ("keyword" | "text" | "match_only_text" | "wildcard" | "constant_keyword", Value::Object(_)) => {
                refuse("text")
            }
            _ => None,
        }
    }
}

/// The types of ranges.
const RANGES: [&str; 6] = ["integer_range", "long_range", "float_range", "double_range", "date_range", "ip_range"];

/// The members of a point as an object, of which one shows that it is one.
const GEO_PARTS: [&str; 4] = ["lat", "lon", "geohash", "coordinates"];

/// The types whose values are checked, and dates without a format.
const CHECKED: [&str; 18] = [
    "object",
    "nested",
    "long",
    "integer",
    "short",
    "byte",
    "unsigned_long",
    "double",
    "float",
    "half_float",
    "scaled_float",
    "boolean",
    "ip",
    "geo_point",
    "keyword",
    "text",
    "match_only_text",
    "wildcard",
];

/// Adds the types of fields below `mapping` whose values are not checked.
fn add_unchecked(mapping: &Map<String, Value>, found: &mut BTreeSet<String>) {
    let fields = mapping.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    for field in fields.filter_map(Value::as_object) {
        match field.get("type").and_then(Value::as_str) {
            Some(kind @ ("date" | "date_nanos")) if field.contains_key("format") => {
                found.insert(format!("{kind} with a format"));
            }
            Some("date" | "date_nanos") | None => {}
            Some(kind) if CHECKED.contains(&kind) || RANGES.contains(&kind) => {}
            Some(kind) => {
                found.insert(kind.to_owned());
            }
        }
        add_unchecked(field, found);
    }
}

/// Whether a text may be a point: latitude and longitude, WKT, or a geohash.
fn looks_like_a_point(text: &str) -> bool {
    let numbers = |text: &str| text.split(',').all(|part| part.trim().parse::<f64>().is_ok());
    let is_geohash = |text: &str| {
        let letters = text.bytes().all(|byte| b"0123456789bcdefghjkmnpqrstuvwxyz".contains(&byte));
        letters && (1..=12).contains(&text.len())
    };
    let text = text.trim();
    text.contains(',') && numbers(text) || is_geohash(text) || text.to_ascii_uppercase().starts_with("POINT")
}

/// The number in a value. A string may hold one, which the servers accept unless `coerce` is off.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// The whole number in a value, which may have more digits than a float.
fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Whether a value is in the range of a type. `number` is the one in it.
fn in_range(kind: &str, value: &Value, number: f64) -> bool {
    let (least, most): (i128, i128) = match kind {
        "byte" => (i8::MIN.into(), i8::MAX.into()),
        "short" => (i16::MIN.into(), i16::MAX.into()),
        "integer" => (i32::MIN.into(), i32::MAX.into()),
        "unsigned_long" => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    };
    // `coerce` cuts off fractions.
    let cut_off = || number.trunc() as i128;
    let is_least = || number >= least as f64;
    whole(value).map_or_else(|| is_least() && cut_off() <= most, |whole| (least..=most).contains(&whole))
}

/// Whether a text may be a date in the servers' default format: a year with further parts behind a
/// `-`, or milliseconds since 1970.
fn looks_like_a_date(text: &str) -> bool {
    let digits = text.trim_start_matches('-');
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let bytes = text.as_bytes();
    let digits_at = |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|b| b.iter().all(u8::is_ascii_digit));
    digits_at(0..4)
        && bytes.get(4) == Some(&b'-')
        && digits_at(5..7)
        && (bytes.len() == 7
            || bytes.get(7) == Some(&b'-') && digits_at(8..10) && (bytes.len() == 10 || bytes.get(10) == Some(&b'T')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(mapping: Value, document: &str, expected: &str) {
        let mapping = Mapping::new(&json!({"mappings": mapping}));
        let found = mapping.misfit(document.as_bytes()).unwrap_or_default();
        assert!(if expected.is_empty() { found.is_empty() } else { found.contains(expected) }, "{document}: {found:?}");
    }

    fn one(kind: &str) -> Value {
        json!({"properties": {"f": {"type": kind}}})
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        for (kind, value, expected) in [
            ("long", "1", ""),
            ("long", "\"12\"", ""),
            ("long", "1.5", ""),
            ("long", "\"x\"", "field f is \"x\"; its mapping type, long, accepts numbers"),
            ("long", "[1, \"x\"]", "is \"x\""),
            ("long", "{}", "is an object"),
            ("long", "9223372036854775807", ""),
            ("long", "\"9223372036854775807\"", ""),
            ("long", "9223372036854775808", "of its range"),
            ("long", "\"-9223372036854775809\"", "of its range"),
            ("long", "9.3e18", "of its range"),
            ("unsigned_long", "18446744073709551615", ""),
            ("unsigned_long", "18446744073709551616", "of its range"),
            ("byte", "127.9", ""),
            ("byte", "-128.5", "of its range"),
            ("byte", "128", "of its range"),
            ("integer", "2147483648", "of its range"),
            ("unsigned_long", "-1", "of its range"),
            ("float", "true", "accepts numbers"),
            ("boolean", "\"true\"", ""),
            ("boolean", "1", "accepts true and false"),
            ("date", "\"2026-01-31\"", ""),
            ("date", "\"2026-01-31T10:00:00Z\"", ""),
            ("date", "1700000000000", ""),
            ("date", "\"31.01.2026\"", "accepts dates"),
            ("date", "\"2026-01-31 10:00\"", "accepts dates"),
            ("ip", "\"::1\"", ""),
            ("ip", "\"localhost\"", "accepts IP addresses"),
            ("keyword", "1", ""),
            ("text", "{\"a\":1}", "accepts text"),
            ("geo_point", "[1, 2]", ""),
            ("geo_point", "\"41.1, -71.3\"", ""),
            ("geo_point", "\"POINT (1 2)\"", ""),
            ("geo_point", "\"u33db\"", ""),
            ("geo_point", "{\"lat\":1,\"lon\":2}", ""),
            ("geo_point", "[\"1,2\", \"Berlin\"]", "f is \"Berlin\"; its mapping type, geo_point, accepts points"),
            ("geo_point", "{\"x\":1}", "accepts points"),
            ("integer_range", "{\"gte\":1}", ""),
            ("integer_range", "\"7\"", "accepts objects such as"),
            ("ip_range", "\"10.0.0.0/8\"", ""),
            ("dense_vector", "[1, 2]", ""),
            ("nested", "[{\"a\":1}]", ""),
            ("nested", "1", "accepts objects"),
            ("long", "null", ""),
        ] {
            check(one(kind), &format!("{{\"f\":{value}}}"), expected);
        }
    }

    #[test]
    fn formats_and_malformed_values_are_the_servers_matter() {
        check(json!({"properties": {"f": {"type": "date", "format": "dd.MM.yyyy"}}}), r#"{"f":"31.01.2026"}"#, "");
        check(json!({"properties": {"f": {"type": "long", "ignore_malformed": true}}}), r#"{"f":"x"}"#, "");
        let index = json!({"mappings": one("long"), "settings": {"index": {"mapping": {"ignore_malformed": "true"}}}});
        assert_eq!(Mapping::new(&index).misfit(br#"{"f":"x"}"#), None);
    }

    #[test]
    fn types_that_only_the_server_checks_are_named() {
        let mapping = json!({"mappings": {"properties": {"p": {"type": "geo_point"}, "s": {"type": "geo_shape"},
            "o": {"properties": {"d": {"type": "date", "format": "dd.MM.yyyy"}, "e": {"type": "date"}}}}}});
        assert_eq!(Mapping::new(&mapping).unchecked(), ["date with a format", "geo_shape"]);
        assert!(Mapping::default().unchecked().is_empty());
    }

    #[test]
    fn a_value_and_an_object_of_one_name_are_taken_without_subobjects_or_new_fields() {
        for (mapping, expected) in [
            (json!({}), true),
            (json!({"subobjects": true, "dynamic": "strict"}), true),
            (json!({"subobjects": false, "properties": {"a": {"type": "long"}}}), false),
            (json!({"dynamic": false, "properties": {"ab": {"type": "long"}}}), false),
            (json!({"dynamic": "false"}), false),
            (json!({"dynamic": false, "properties": {"a": {"type": "long"}}}), true),
        ] {
            let found = Mapping::new(&json!({"mappings": mapping})).may_refuse("a is a value, and a.b makes it");
            assert_eq!(found, expected, "{mapping}");
        }
    }

    #[test]
    fn objects_are_looked_into() {
        let mapping = json!({"dynamic": "strict", "properties": {"a": {"properties": {"b": {"type": "long"}}},
            "free": {"dynamic": true, "properties": {}}, "off": {"type": "object", "enabled": false}}});
        check(mapping.clone(), r#"{"a":{"b":1}}"#, "");
        check(mapping.clone(), r#"{"a.b":"x"}"#, "field a.b is \"x\"");
        check(mapping.clone(), r#"{"a":{"b":"x"}}"#, "field a.b is \"x\"");
        check(mapping.clone(), r#"{"a":{"c":1}}"#, "field a.c is not in the mapping");
        check(mapping.clone(), r#"{"a":1}"#, "accepts objects");
        check(mapping.clone(), r#"{"free":{"x":1},"off":7}"#, "");
        check(mapping, r#"{"new":null}"#, "");
    }
}
