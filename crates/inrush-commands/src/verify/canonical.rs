//! Compares JSON documents by value: the order of keys, white space and escapes do not matter, and
//! neither does the notation of numbers. A document that was transcoded on its way (SMILE, CBOR) is
//! still equal.
//!
//! Numbers are compared as decimals of any length: `1`, `1.0` and `10e-1` are equal, `0.1` and
//! `0.10000000000000000001` are not. A number with a fraction or an exponent and at most 17 digits,
//! as many as a double can have, is compared as a double. Servers keep it as a double in SMILE, and
//! servers on a Java before 19 write it with other digits: `8.41e21` and `8.409999999999999E21` are
//! equal. A field that is null in the index and absent in the source is equal: an update of a row
//! sends its missing values as nulls. A null of the source differs from an absent field. A number
//! or boolean of the index is equal to its text where the mapping has a field of strings, which
//! indexes both alike.

use std::collections::BTreeMap;

use inrush_core::{FieldType, FieldTypes};
use serde_json::value::RawValue;

/// The most levels of objects and arrays. Servers accept fewer.
const DEPTH_MAX: u32 = 200;

/// The significant digits that distinguish every double from its neighbours. A number with more
/// digits was not stored as a double.
const DOUBLE_DIGITS: usize = 17;

/// The most differing fields in a message.
const NAMED: usize = 3;

/// The result of a comparison of two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The documents are equal.
    Same,
    /// The documents differ, with the names of the first top-level fields that differ.
    Different(Vec<String>),
}

/// Compares two documents. Documents that are not JSON are compared byte by byte.
pub(super) fn compare(ours: &[u8], theirs: &[u8]) -> Comparison {
    if ours == theirs {
        return Comparison::Same;
    }
    let (Some(a), Some(b)) = (form(ours), form(theirs)) else { return Comparison::Different(Vec::new()) };
    match a == b || without_nulls(theirs) == Some(a) {
        true => Comparison::Same,
        false => Comparison::Different(differing(ours, theirs)),
    }
}

/// The canonical form: sorted keys, no white space, one notation for each string and number.
/// `None`: not JSON, or nested too deeply.
pub(super) fn form(document: &[u8]) -> Option<Vec<u8>> {
    form_with(document, true)
}

/// The same without the fields that are null.
fn without_nulls(document: &[u8]) -> Option<Vec<u8>> {
    form_with(document, false)
}

fn form_with(document: &[u8], nulls: bool) -> Option<Vec<u8>> {
    let raw: &RawValue = serde_json::from_slice(document).ok()?;
    let mut out = Vec::with_capacity(document.len());
    write(raw, &mut out, nulls, DEPTH_MAX)?;
    Some(out)
}

fn write(raw: &RawValue, out: &mut Vec<u8>, nulls: bool, depth: u32) -> Option<()> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'{' => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            out.push(b'{');
            for (name, value) in fields.into_iter().filter(|(_, value)| nulls || value.get() != "null") {
                string(&name, out);
                out.push(b':');
                write(value, out, nulls, depth.checked_sub(1)?)?;
                out.push(b',');
            }
            out.push(b'}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            out.push(b'[');
            for item in items {
                write(item, out, nulls, depth.checked_sub(1)?)?;
                out.push(b',');
            }
            out.push(b']');
        }
        b'"' => string(&serde_json::from_str::<String>(text).ok()?, out),
        b't' | b'f' | b'n' => out.extend_from_slice(text.as_bytes()),
        _ => number(text, out),
    }
    Some(())
}

fn string(text: &str, out: &mut Vec<u8>) {
    // A `str` is always a JSON string, and writing to a vector cannot fail.
    serde_json::to_writer(out, text).expect("a string is written to memory");
}

/// Writes a number as its digits without zeros at either end, and a power of ten as the factor.
fn number(text: &str, out: &mut Vec<u8>) {
    if text.contains(['.', 'e', 'E'])
        && significant(text) <= DOUBLE_DIGITS
        && let Ok(float) = text.parse::<f64>()
        && float.is_finite()
        && (float != 0.0 || significant(text) == 0)
    {
        return decimal(&format!("{float:e}"), out);
    }
    decimal(text, out);
}

/// The number of digits from the first to the last one that is not zero.
fn significant(text: &str) -> usize {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let digits = || mantissa.bytes().filter(u8::is_ascii_digit);
    let zeros = |zeros: &mut dyn Iterator<Item = u8>| zeros.take_while(|digit| *digit == b'0').count();
    digits().count().saturating_sub(zeros(&mut digits()) + zeros(&mut digits().rev()))
}

fn decimal(text: &str, out: &mut Vec<u8>) {
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else {
        // The exponent is out of any reasonable range, so the number equals only itself.
        return out.extend_from_slice(text.as_bytes());
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return out.push(b'0');
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let exponent = exponent.saturating_sub(fraction.len() as i64).saturating_add(zeros as i64);
    let sign = if negative { "-" } else { "" };
    out.extend_from_slice(format!("{sign}{significant}e{exponent}").as_bytes());
}

/// The document with its numbers and booleans in fields of strings as their texts. `None`: it has
/// none, or is not JSON, or is nested too deeply.
pub(super) fn with_texts(document: &[u8], fields: &FieldTypes) -> Option<Vec<u8>> {
    fields.all(FieldType::Text).next()?;
    let raw: &RawValue = serde_json::from_slice(document).ok()?;
    let (mut out, mut changed) = (Vec::with_capacity(document.len() + 16), false);
    write_texts(raw, "", fields, &mut out, &mut changed, DEPTH_MAX)?;
    changed.then_some(out)
}

fn write_texts(
    raw: &RawValue,
    path: &str,
    fields: &FieldTypes,
    out: &mut Vec<u8>,
    changed: &mut bool,
    depth: u32,
) -> Option<()> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'{' => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            out.push(b'{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                string(&name, out);
                out.push(b':');
                let below = if path.is_empty() { name } else { format!("{path}.{name}") };
                write_texts(value, &below, fields, out, changed, depth.checked_sub(1)?)?;
            }
            out.push(b'}');
        }
        b'-' | b'0'..=b'9' | b't' | b'f' if fields.of(path) == Some(FieldType::Text) => {
            string(text, out);
            *changed = true;
        }
        _ => out.extend_from_slice(text.as_bytes()),
    }
    Some(())
}

/// The top-level fields whose values differ. Empty if one of the two is not an object.
fn differing(ours: &[u8], theirs: &[u8]) -> Vec<String> {
    let fields = |document| serde_json::from_slice::<BTreeMap<String, &RawValue>>(document);
    let (Ok(ours), Ok(theirs)) = (fields(ours), fields(theirs)) else { return Vec::new() };
    let value = |raw: &RawValue| form(raw.get().as_bytes());
    let differs = |name: &String| match (ours.get(name), theirs.get(name)) {
        (Some(a), Some(b)) => value(a) != value(b),
        (None, Some(theirs)) => theirs.get() != "null",
        _ => true,
    };
    let mut names: Vec<String> = ours
        .keys()
        .chain(theirs.keys().filter(|name| !ours.contains_key(*name)))
        .filter(|n| differs(n))
        .cloned()
        .collect();
    names.truncate(NAMED);
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    fn check(a: &str, b: &str, same: bool) {
        let (fa, fb) = (form(a.as_bytes()).unwrap(), form(b.as_bytes()).unwrap());
        assert_eq!(fa == fb, same, "{a} {b}: {} {}", String::from_utf8_lossy(&fa), String::from_utf8_lossy(&fb));
    }

    #[test]
    fn order_space_escapes_and_ways_to_write_a_number_do_not_matter() {
        check(r#"{"a":1,"b":{"d":[1,2],"c":null}}"#, r#" { "b":{"c":null,"d":[ 1.0, 2e0 ]},"a":1.00}"#, true);
        check(r#""\u00e9\/""#, "\"é/\"", true);
        check("1", "1.0", true);
        check("1000", "1e3", true);
        check("-0.0", "0", true);
        check("0.1", "0.1000000000000000000000000", true);
        check("8.41e21", "8.409999999999999E21", true);
        check("5e-324", "4.9E-324", true);
        check("0e5", "0", true);
        check("123456789012345678901.0", "12345678901234567890.1e1", true);
        check("100000000000000000000000", "1e23", true);
    }

    #[test]
    fn what_is_different_stays_different() {
        check(r#"{"a":null}"#, "{}", false);
        check("[1,2]", "[2,1]", false);
        check(r#""1""#, "1", false);
        check("true", "1", false);
        check("9007199254740993", "9007199254740992", false);
        check("123456789012345678901", "123456789012345678902", false);
        check("-1", "1", false);
        check("10", "1", false);
        check(r#"{"a":"b,c"}"#, r#"{"a":"b","c":""}"#, false);
        check("1e400", "1e401", false);
        check("12345678901234567890.12345", "12345678901234567890.12346", false);
        check("0.1", "0.10000000000000000001", false);
        check("1e-400", "0", false);
        check("1e-400", "1e-401", false);
        check("1e-400", "0.1e-399", true);
        check("-1e-400", "1e-400", false);
    }

    #[test]
    fn a_null_of_the_index_is_a_value_that_a_row_does_not_have() {
        let same = |a: &str, b: &str| compare(a.as_bytes(), b.as_bytes()) == Comparison::Same;
        assert!(same(r#"{"b":{"d":[null]}}"#, r#"{"a":null,"b":{"c":null,"d":[null]}}"#));
        assert!(!same(r#"{"a":null}"#, "{}") && !same(r#"{"b":[1]}"#, r#"{"b":[1,null]}"#));
        let differing = compare(br#"{"b":1}"#, br#"{"a":null,"b":2}"#);
        assert_eq!(differing, Comparison::Different(vec!["b".into()]));
    }

    #[test]
    fn a_number_in_a_field_of_strings_is_its_text() {
        let fields = FieldTypes::of_mapping(&serde_json::json!({"properties": {
            "k": {"type": "keyword"}, "o": {"properties": {"t": {"type": "text"}}}, "n": {"type": "long"}}}));
        let texts =
            |document: &str| with_texts(document.as_bytes(), &fields).map(|out| String::from_utf8(out).unwrap());
        let found = texts(r#"{"k": 1.10, "n":7, "o":{"t":true,"u":8}, "l":{}, "a":[{"k":1}]}"#).unwrap();
        assert_eq!(found, r#"{"a":[{"k":1}],"k":"1.10","l":{},"n":7,"o":{"t":"true","u":8}}"#);
        assert_eq!(texts(r#"{"k":"1","n":7,"x":null}"#), None);
        assert_eq!(with_texts(br#"{"k":1}"#, &FieldTypes::default()), None);
    }

    #[test]
    fn differing_fields_are_named() {
        let named = |a: &str, b: &str| compare(a.as_bytes(), b.as_bytes());
        assert_eq!(named(r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#), Comparison::Same);
        assert_eq!(
            named(r#"{"a":1,"b":2,"c":3}"#, r#"{"a":1,"b":3,"d":4}"#),
            Comparison::Different(vec!["b".into(), "c".into(), "d".into()])
        );
        assert_eq!(named("{", "{}"), Comparison::Different(Vec::new()));
        assert_eq!(named("{", "{"), Comparison::Same);
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(form(deep(200).as_bytes()).is_some() && form(deep(1_000_000).as_bytes()).is_none());
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no others", |f| f.is_finite()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same value by another writer: keys in reverse order, floats with an exponent, strings
    /// with escapes.
    fn rewritten(value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let fields: Vec<String> =
                    map.iter().rev().map(|(k, v)| format!("{}: {}", escaped(k), rewritten(v))).collect();
                format!("{{ {} }}", fields.join(" ,"))
            }
            Value::Array(items) => format!("[ {} ]", items.iter().map(rewritten).collect::<Vec<_>>().join(",\n")),
            Value::String(text) => escaped(text),
            Value::Number(number) if number.is_f64() => format!("{:E}", number.as_f64().unwrap()),
            Value::Number(number) if number.as_i64().is_some_and(|n| n.unsigned_abs() < 1 << 53) => {
                format!("{number}.000")
            }
            other => other.to_string(),
        }
    }

    fn escaped(text: &str) -> String {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    }

    /// Changes one value somewhere inside.
    fn changed(value: &Value) -> Value {
        match value {
            Value::Null => Value::Bool(false),
            Value::Bool(on) => Value::Bool(!on),
            Value::Number(_) => Value::Null,
            Value::String(text) => Value::String(format!("{text}x")),
            Value::Array(items) => match items.split_last() {
                None => Value::from(vec![Value::Null]),
                Some((last, rest)) => rest.iter().cloned().chain([changed(last)]).collect(),
            },
            Value::Object(map) => {
                let mut map: Map<String, Value> = map.clone();
                match map.values_mut().next() {
                    None => drop(map.insert("new".into(), Value::Null)),
                    Some(first) => *first = changed(first),
                }
                Value::Object(map)
            }
        }
    }

    proptest! {
        #[test]
        fn another_writer_changes_nothing(value in json()) {
            let (a, b) = (value.to_string(), rewritten(&value));
            prop_assert_eq!(form(a.as_bytes()).unwrap(), form(b.as_bytes()).unwrap(), "{} {}", a, b);
        }

        #[test]
        fn a_changed_value_is_seen(value in json()) {
            let (a, b) = (value.to_string(), changed(&value).to_string());
            prop_assert_ne!(form(a.as_bytes()).unwrap(), form(b.as_bytes()).unwrap(), "{} {}", a, b);
        }
    }
}
