use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::values::logical::tests::{CASES, Case};

const ORDER: &str = r#"{"type":"record","name":"Order","namespace":"shop","fields":[
    {"name":"id","type":"long"},{"name":"text","type":["null","string"]},{"name":"gone","type":["null","string"]},
    {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":30,"scale":4}},
    {"name":"fee","type":{"type":"fixed","name":"Fee","size":3,"logicalType":"decimal","precision":6,"scale":2}},
    {"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
    {"name":"local","type":{"type":"long","logicalType":"local-timestamp-millis"}},
    {"name":"day","type":{"type":"int","logicalType":"date"}},
    {"name":"time","type":{"type":"int","logicalType":"time-millis"}},
    {"name":"uid","type":{"type":"string","logicalType":"uuid"}},
    {"name":"state","type":{"type":"enum","name":"State","symbols":["NEW","PAID"]}},
    {"name":"tags","type":{"type":"array","items":["null","string","int"]}},
    {"name":"sizes","type":{"type":"map","values":["null","double"]}},
    {"name":"raw","type":"bytes"},{"name":"ok","type":"boolean"},{"name":"f","type":"float"},{"name":"g","type":"double"},
    {"name":"next","type":["null","Order"]},{"name":"states","type":{"type":"array","items":"shop.State"}}]}"#;

/// An order inside an order, as fastavro 1.12 writes them.
const BYTES: &str = concat!(
    "81808080808080200214636166c3a9202278220a0016fefa91f0c959bbc21d2087ffff9780a9a592de8e880680b4b0efab6301b2e0b25248",
    "31323334353637382d313233342d353637382d313233342d353637383132333435363738020602026100040e0004027302000000000000f8",
    "3f026e00000400ff01cdcccc3d9c7500883ce4377e0204000016fefa91f0c959bbc21d2087ffff9780a9a592de8e880680b4b0efab6301b2",
    "e0b2524831323334353637382d313233342d353637382d313233342d3536373831323334353637380200000400ff00cdcccc3d9c7500883c",
    "e4377e00020000020000",
);

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn decode(schema: &str, bytes: &[u8]) -> Result<String, String> {
    let mut out = b"before".to_vec();
    let schema = Schema::parse(schema, &[]).unwrap();
    schema.decode(bytes, 1 << 20, Purpose::Document, &mut out).map_err(|(kind, reason)| format!("{kind}: {reason}"))?;
    Ok(String::from_utf8(out[6..].to_vec()).unwrap())
}

#[test]
fn all_types_are_json_as_of_avro_files() {
    let rest = |id: &str, text: &str, tags: &str, sizes: &str, ok: bool, next: &str| {
        format!(
            concat!(
                r#"{{"id":{},{}"price":-123456789012345678901.2345,"fee":-1.05,"at":"2024-01-31T10:00:00.123456Z","#,
                r#""local":"2024-01-31T10:00:00","day":"1969-12-31","time":"23:59:59.001","#,
                r#""uid":"12345678-1234-5678-1234-567812345678","state":"PAID","tags":{},"sizes":{},"raw":"AP8=","#,
                r#""ok":{},"f":0.1,"g":1e300,{}"states":["NEW"]}}"#
            ),
            id, text, tags, sizes, ok, next
        )
    };
    let inner = rest("2", "", "[]", "{}", false, "");
    let expected = rest(
        "-9007199254740993",
        r#""text":"café \"x\"\n","#,
        r#"["a",null,7]"#,
        r#"{"s":1.5}"#,
        true,
        &format!("\"next\":{inner},"),
    );
    assert_eq!(decode(ORDER, &hex(BYTES)).unwrap(), expected.replace("1e300", "1e+300"));
}

#[test]
fn values_that_are_cut_off_or_too_long_are_refused() {
    let bytes = hex(BYTES);
    for len in 0..bytes.len() {
        let error = decode(ORDER, &bytes[..len]).unwrap_err();
        assert!(error.starts_with("bad_avro: ") && error.contains("at byte"), "{error}");
    }
    let error = decode(ORDER, &[&bytes[..], b"xy"].concat()).unwrap_err();
    assert!(error.contains("2 bytes are left behind the value"), "{error}");
}

#[test]
fn values_that_do_not_fit_their_type_are_refused() {
    for (schema, bytes, problem) in [
        (r#""boolean""#, &b"\x02"[..], "2 is no boolean"),
        (r#""int""#, b"\x80\x80\x80\x80\x10", "has more than 32 bits"),
        (r#""long""#, b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", "more than 64 bits"),
        (r#""string""#, b"\x04\xFFa", "not UTF-8"),
        (r#""string""#, b"\x01", "-1 is no length"),
        (r#""bytes""#, b"\xFE\xFF\xFF\xFF\x0F", "2147483647 bytes are expected and 0 are there"),
        (r#"["null","int"]"#, b"\x04", "2 is none of 2 branches"),
        (r#"{"type":"enum","name":"E","symbols":["A"]}"#, b"\x01", "-1 is none of 1 symbols"),
        (r#"{"type":"fixed","name":"D","size":12,"logicalType":"duration"}"#, &[0xFF; 12], "out of range"),
        (r#"{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}"#, b"", "inside each other"),
        (r#"{"type":"array","items":"null"}"#, b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "larger than"),
    ] {
        let error = decode(schema, bytes).unwrap_err();
        assert!(error.contains(problem), "{schema}: {error}");
    }
}

#[test]
fn values_at_the_top_need_not_be_records() {
    for (schema, bytes, expected) in [
        ("\"string\"", &b"\x04ab"[..], "\"ab\""),
        (r#"["null","long"]"#, b"\x02\x0E", "7"),
        (r#"["null","long"]"#, b"\x00", "null"),
        ("\"long\"", b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "9223372036854775807"),
        ("\"long\"", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "-9223372036854775808"),
        ("\"double\"", &f64::NAN.to_le_bytes(), "null"),
        (r#"{"type":"array","items":"double"}"#, b"\x02\0\0\0\0\0\0\xF0\x7F\0", "[null]"),
        // A block with its size in bytes.
        (r#"{"type":"array","items":"int"}"#, b"\x03\x04\x02\x04\0", "[1,2]"),
        (r#"{"type":"record","name":"R","fields":[]}"#, b"", "{}"),
        (
            r#"{"type":{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}}"#,
            &[0xAB; 16],
            "\"abababab-abab-abab-abab-abababababab\"",
        ),
        (
            r#"{"type":"fixed","name":"D","size":12,"logicalType":"duration"}"#,
            b"\x01\0\0\0\x02\0\0\0\xDC\x05\0\0",
            "\"P1M2DT1.500S\"",
        ),
        // Logical types that do not fit are ignored.
        (r#"{"type":"int","logicalType":"timestamp-millis"}"#, b"\x02", "1"),
        (r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}"#, b"\x02\x05", "\"BQ==\""),
    ] {
        assert_eq!(decode(schema, bytes).unwrap(), expected, "{schema}");
    }
}

#[test]
fn types_of_other_schemas_are_found() {
    let address =
        r#"{"type":"record","name":"Address","namespace":"shop.parts","fields":[{"name":"city","type":"string"}]}"#;
    let customer = r#"{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"to","type":"shop.parts.Address"}]}"#;
    let order = r#"{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"by","type":"Customer"}]}"#;
    let schema = Schema::parse(order, &[address.to_owned(), customer.to_owned()]).unwrap();
    let mut out = Vec::new();
    schema.decode(b"\x06Ulm", 100, Purpose::Document, &mut out).unwrap();
    assert_eq!(out, br#"{"by":{"to":{"city":"Ulm"}}}"#);
}

/// Appends a number in zigzag encoding.
fn long(value: i64, out: &mut Vec<u8>) {
    let mut rest = (value << 1 ^ value >> 63) as u64;
    while rest > 0x7F {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A schema, and a value of it as JSON and as Avro.
type Sample = (Value, Value, Vec<u8>);

fn samples() -> impl Strategy<Value = Sample> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|value| {
            let mut bytes = Vec::new();
            long(value, &mut bytes);
            (json!("long"), json!(value), bytes)
        }),
        any::<String>().prop_map(|text| {
            let mut bytes = Vec::new();
            long(text.len() as i64, &mut bytes);
            bytes.extend(text.as_bytes());
            (json!("string"), json!(text), bytes)
        }),
        any::<bool>().prop_map(|value| (json!("boolean"), json!(value), vec![value.into()])),
        any::<i32>().prop_map(|value| {
            let value = f64::from(value) / 8.0;
            (json!("double"), json!(value), value.to_le_bytes().to_vec())
        }),
        any::<bool>().prop_map(|_| (json!(["string", "null"]), Value::Null, vec![2])),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..6), any::<u32>()).prop_map(|(fields, number)| {
                let names = (0..fields.len()).map(|at| format!("f{at}"));
                let schema: Vec<Value> = names
                    .clone()
                    .zip(&fields)
                    .map(|(name, (schema, ..))| json!({"name": name, "type": schema}))
                    .collect();
                let there = names.zip(&fields).filter(|(_, (_, value, _))| !value.is_null());
                let value: serde_json::Map<_, _> = there.map(|(name, (_, value, _))| (name, value.clone())).collect();
                let bytes = fields.iter().flat_map(|(.., bytes)| bytes.clone()).collect();
                (json!({"type": "record", "name": format!("R{number}"), "fields": schema}), value.into(), bytes)
            }),
            (inner.clone(), 0..5_usize).prop_map(|((schema, value, bytes), count)| {
                let mut all = Vec::new();
                if count > 0 {
                    long(count as i64, &mut all);
                    (0..count).for_each(|_| all.extend(&bytes));
                }
                all.push(0);
                (json!({"type": "array", "items": schema}), vec![value; count].into(), all)
            }),
            (inner, ".{0,9}").prop_map(|((schema, value, bytes), name)| {
                let mut all = vec![2];
                long(name.len() as i64, &mut all);
                all.extend(name.as_bytes());
                all.extend(bytes);
                all.push(0);
                let entries = if value.is_null() { json!({}) } else { json!({name: value}) };
                (json!({"type": "map", "values": schema}), entries, all)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_read_as_it_was_written((schema, value, bytes) in samples()) {
        let text = decode(&schema.to_string(), &bytes).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        for len in 0..bytes.len() {
            // A shorter one is refused, or another value; it never panics.
            let _ = decode(&schema.to_string(), &bytes[..len]);
        }
    }

    #[test]
    fn any_bytes_are_json_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), start in 0..8_usize) {
        // The beginning of a real value, so that later fields are reached.
        let real = hex(BYTES);
        let bytes = [&real[..start * 20], &bytes[..]].concat();
        if let Ok(text) = decode(ORDER, &bytes) {
            serde_json::from_str::<Value>(&text).unwrap();
        }
    }
}

/// The schema of a payload as Kafka Connect's converter writes it, and the payload in Avro.
fn connect(case: &Case) -> (Value, Vec<u8>) {
    let plain: Value = serde_json::from_str(case.plain).unwrap();
    let mut bytes = Vec::new();
    let mut value = |kind: &str, value: &Value| match (kind, value) {
        ("bytes", Value::String(text)) => {
            let content = STANDARD.decode(text).unwrap();
            long(content.len() as i64, &mut bytes);
            bytes.extend(content);
        }
        (_, Value::String(text)) => {
            long(text.len() as i64, &mut bytes);
            bytes.extend(text.bytes());
        }
        ("double", value) => bytes.extend(value.as_f64().unwrap().to_le_bytes()),
        (_, value) => long(value.as_i64().unwrap(), &mut bytes),
    };
    let mut schema = match case.kind {
        "struct" => {
            let field = |(name, part): (&String, &Value)| {
                let kind = match (&name[..], part) {
                    ("value" | "wkb", _) => "bytes",
                    (_, Value::String(_)) => "string",
                    (_, Value::Number(number)) if number.is_f64() => "double",
                    _ => "int",
                };
                value(kind, part);
                json!({"name": name, "type": kind})
            };
            let fields: Vec<Value> = plain.as_object().unwrap().iter().map(field).collect();
            json!({"type": "record", "fields": fields})
        }
        kind => {
            let kind = kind.replace("int32", "int").replace("int64", "long");
            value(&kind, &plain);
            json!({"type": kind})
        }
    };
    // A record has its name, and other types the one of Kafka Connect.
    match (case.kind, case.name.rsplit_once('.').unwrap()) {
        ("struct", (namespace, name)) => {
            schema["name"] = json!(name);
            schema["namespace"] = json!(namespace);
        }
        _ => schema["connect.name"] = json!(case.name),
    }
    if !case.parameters.is_empty() {
        schema["connect.parameters"] = case.parameters();
    }
    (schema, bytes)
}

#[test]
fn logical_types_of_connect_and_debezium_are_found() {
    for case in CASES {
        let (own, bytes) = connect(case);
        // A type with a name is named where it is used again.
        let again = if case.kind == "struct" { json!(case.name) } else { own.clone() };
        let schema = json!({"type": "record", "name": "Value", "namespace": "orders", "fields": [
            {"name": "a", "type": own},
            {"name": "b", "type": ["null", again], "default": null},
            {"name": "c", "type": ["null", again], "default": null},
            {"name": "list", "type": {"type": "array", "items": ["null", again]}},
            {"name": "map", "type": {"type": "map", "values": again}},
        ]});
        let value = [&bytes[..], b"\x02", &bytes, b"\0\x04\x02", &bytes, b"\0\0\x02\x02k", &bytes, b"\0"].concat();
        let x = case.expected;
        let expected = format!("{{\"a\":{x},\"b\":{x},\"list\":[{x},null],\"map\":{{\"k\":{x}}}}}");
        assert_eq!(decode(&schema.to_string(), &value).unwrap(), expected, "{} of {}", case.name, case.plain);
    }
}

#[test]
fn names_of_connect_may_stand_beside_the_type() {
    let beside =
        r#"{"type":"record","name":"R","fields":[{"name":"d","type":"int","connect.name":"io.debezium.time.Date"}]}"#;
    assert_eq!(decode(beside, b"\xf2\xb9\x02").unwrap(), r#"{"d":"2025-01-01"}"#);
    // The scale is larger than the precision, which the logical type of Avro cannot have.
    let decimal = r#"{"type":"bytes","logicalType":"decimal","precision":1,"scale":2,
        "connect.name":"org.apache.kafka.connect.data.Decimal","connect.parameters":{"scale":"2"}}"#;
    assert_eq!(decode(decimal, b"\x04\x04\xd2").unwrap(), "12.34");
}

#[test]
fn fields_that_are_null_are_written_where_documents_are_merged() {
    let schema = r#"{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"]},
        {"name":"m","type":{"type":"map","values":["null","int"]}}]}"#;
    for (purpose, expected) in
        [(Purpose::Document, r#"{"m":{"l":7}}"#), (Purpose::Merge, r#"{"a":null,"m":{"k":null,"l":7}}"#)]
    {
        let mut out = Vec::new();
        let schema = Schema::parse(schema, &[]).unwrap();
        schema.decode(b"\0\x04\x02k\0\x02l\x02\x0e\0", 100, purpose, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
