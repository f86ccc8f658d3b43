use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A value of a logical type: the schema of Kafka Connect, its payload in JSON, and the JSON of the
/// document.
pub(in crate::values) struct Case {
    pub(in crate::values) name: &'static str,
    /// The type of Kafka Connect. The fields of a struct are those of the payload.
    pub(in crate::values) kind: &'static str,
    pub(in crate::values) parameters: &'static [(&'static str, &'static str)],
    pub(in crate::values) plain: &'static str,
    pub(in crate::values) expected: &'static str,
}

impl Case {
    const fn new(name: &'static str, kind: &'static str, plain: &'static str, expected: &'static str) -> Case {
        Case { name, kind, parameters: &[], plain, expected }
    }

    const fn with(self, parameters: &'static [(&'static str, &'static str)]) -> Case {
        Case { parameters, ..self }
    }

    pub(in crate::values) fn parameters(&self) -> Value {
        self.parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
    }
}

/// `POINT (1 2)`.
const POINT: &str = "AQEAAAAAAAAAAADwPwAAAAAAAABA";

const DECIMAL: &str = "org.apache.kafka.connect.data.Decimal";

pub(in crate::values) const CASES: &[Case] = &[
    Case::new(DECIMAL, "bytes", r#""BNI=""#, "12.34").with(&[("scale", "2")]),
    Case::new(DECIMAL, "bytes", r#""+y4=""#, "-12.34").with(&[("scale", "2"), ("connect.decimal.precision", "5")]),
    Case::new(DECIMAL, "bytes", r#""BNI=""#, "1234").with(&[("scale", "0")]),
    Case::new(DECIMAL, "bytes", r#""BNI=""#, "123400").with(&[("scale", "-2")]),
    Case::new(DECIMAL, "bytes", r#""""#, "0.00").with(&[("scale", "2")]),
    Case::new("org.apache.kafka.connect.data.Date", "int32", "20089", r#""2025-01-01""#),
    Case::new("org.apache.kafka.connect.data.Time", "int32", "36000000", r#""10:00:00""#),
    Case::new("org.apache.kafka.connect.data.Timestamp", "int64", "1735689600123", r#""2025-01-01T00:00:00.123Z""#),
    Case::new("io.debezium.time.Date", "int32", "-1", r#""1969-12-31""#),
    Case::new("io.debezium.time.Time", "int32", "36000000", r#""10:00:00""#),
    Case::new("io.debezium.time.Time", "int32", "86400000", r#""24:00:00""#),
    Case::new("io.debezium.time.MicroTime", "int64", "36000000001", r#""10:00:00.000001""#),
    // The least and the greatest TIME of MySQL.
    Case::new("io.debezium.time.MicroTime", "int64", "-3020399000000", r#""-838:59:59""#),
    Case::new("io.debezium.time.MicroTime", "int64", "3020399500000", r#""838:59:59.500""#),
    Case::new("io.debezium.time.NanoTime", "int64", "36000000000000", r#""10:00:00""#),
    Case::new("io.debezium.time.Timestamp", "int64", "1735689600123", r#""2025-01-01T00:00:00.123""#),
    Case::new("io.debezium.time.MicroTimestamp", "int64", "1735689600000000", r#""2025-01-01T00:00:00""#),
    Case::new("io.debezium.time.NanoTimestamp", "int64", "1735689600000000007", r#""2025-01-01T00:00:00.000000007""#),
    Case::new("io.debezium.time.MicroDuration", "int64", "93784000000", r#""PT26H3M4S""#),
    Case::new("io.debezium.time.MicroDuration", "int64", "-93784500000", r#""PT-26H-3M-4.5S""#),
    Case::new("io.debezium.time.MicroDuration", "int64", "0", r#""PT0S""#),
    Case::new("io.debezium.time.NanoDuration", "int64", "60000000000", r#""PT1M""#),
    Case::new("io.debezium.time.StructuredDate", "struct", r#"{"year":2025,"month":1,"day":31}"#, r#""2025-01-31""#),
    Case::new(
        "io.debezium.time.StructuredTime",
        "struct",
        r#"{"hour":24,"minute":0,"second":0,"nanos":0,"precision":6}"#,
        r#""24:00:00""#,
    ),
    Case::new(
        "io.debezium.time.StructuredTimestamp",
        "struct",
        r#"{"year":-43,"month":3,"day":15,"hour":1,"minute":2,"second":3,"nanos":4000}"#,
        r#""-0043-03-15T01:02:03.000004""#,
    ),
    Case::new(
        "io.debezium.time.StructuredZonedTime",
        "struct",
        r#"{"hour":1,"minute":2,"second":3,"nanos":0,"offsetSeconds":-12600}"#,
        r#""01:02:03-03:30""#,
    ),
    Case::new(
        "io.debezium.time.StructuredZonedTimestamp",
        "struct",
        r#"{"year":2025,"month":1,"day":1,"hour":0,"minute":0,"second":0,"nanos":0,"offsetSeconds":0,"zoneId":"UTC"}"#,
        r#""2025-01-01T00:00:00Z""#,
    ),
    Case::new(
        "io.debezium.time.StructuredDuration",
        "struct",
        r#"{"years":1,"months":-2,"days":0,"hours":26,"minutes":0,"seconds":4,"nanos":500000000}"#,
        r#""P1Y-2MT26H4.5S""#,
    ),
    Case::new("io.debezium.data.VariableScaleDecimal", "struct", r#"{"scale":2,"value":"BNI="}"#, "12.34"),
    Case::new("io.debezium.data.Json", "string", r#""{\"a\": [1.50]}""#, r#"{"a": [1.50]}"#),
    Case::new("io.debezium.data.Json", "string", r#""7""#, "7"),
    Case::new("io.debezium.data.Bits", "bytes", r#""AQI=""#, "513").with(&[("length", "10")]),
    Case::new("io.debezium.data.Bits", "bytes", r#""""#, "0").with(&[("length", "64")]),
    Case::new(
        "io.debezium.data.Bits",
        "bytes",
        r#""AQI=""#,
        "\"0000000000000000000000000000000000000000000000000000000000000001000000001\"",
    )
    .with(&[("length", "73")]),
    Case::new("io.debezium.data.Bits", "bytes", r#""AQI=""#, r#""1000000001""#).with(&[("length", "2147483647")]),
    Case::new(
        "io.debezium.data.geometry.Point",
        "struct",
        r#"{"x":1.0,"y":2.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA","srid":4326}"#,
        r#""POINT (1 2)""#,
    ),
    Case::new(
        "io.debezium.data.geometry.Geometry",
        "struct",
        r#"{"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA"}"#,
        r#""POINT (1 2)""#,
    ),
    Case::new(
        "io.debezium.data.geometry.Geography",
        "struct",
        r#"{"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAABA"}"#,
        r#""POINT (1 2)""#,
    ),
    // What needs no conversion.
    Case::new("io.debezium.time.Year", "int32", "2025", "2025"),
    Case::new("io.debezium.time.ZonedTimestamp", "string", r#""2025-01-01T00:00:00Z""#, r#""2025-01-01T00:00:00Z""#),
    Case::new("io.debezium.time.Interval", "string", r#""P1Y""#, r#""P1Y""#),
    Case::new("io.debezium.data.Uuid", "string", r#""5d3b""#, r#""5d3b""#),
    Case::new("io.debezium.data.Enum", "string", r#""a""#, r#""a""#).with(&[("allowed", "a,b")]),
    Case::new("com.example.Date", "int32", "20089", "20089"),
];

fn pushed(logical: Logical, plain: &str) -> String {
    let mut out = Vec::new();
    logical.push(plain.as_bytes(), Purpose::Document, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn values_are_what_their_types_say() {
    for Case { name, parameters, plain, expected, .. } in CASES {
        let parameter = |name: &str| parameters.iter().find(|(known, _)| *known == name)?.1.parse().ok();
        let found = Logical::named(name, parameter).map_or((*plain).to_owned(), |logical| pushed(logical, plain));
        assert_eq!(found, *expected, "{name} of {plain}");
        serde_json::from_str::<Value>(&found).unwrap();
    }
    for (name, _) in NAMES.iter().filter(|(name, _)| name.starts_with("io.") || name.starts_with("org.")) {
        assert!(CASES.iter().any(|case| case.name == *name), "{name} has no case");
    }
}

#[test]
fn values_that_are_not_as_their_type_says_stay() {
    const MILLIS: Logical = Logical::Timestamp(TimeUnit::Millisecond, Zone::None);
    for (logical, plain) in [
        (Logical::Decimal(2), "12.34"),
        (Logical::Decimal(2), "null"),
        (Logical::Decimal(2), r#""12.34""#),
        (Logical::ScaledDecimal, r#"{"scale":100000,"value":"BNI="}"#),
        (Logical::ScaledDecimal, r#"{"value":"BNI="}"#),
        (Logical::ScaledDecimal, "12.34"),
        (Logical::TextDecimal, r#"{"value":"NaN"}"#),
        (Logical::Date, r#""2025-01-01""#),
        (Logical::Date, "null"),
        (Logical::Time(TimeUnit::Millisecond), "9223372036854775807"),
        (MILLIS, "1.5"),
        (MILLIS, "true"),
        (Logical::Json, r#""not json""#),
        (Logical::Json, r#""""#),
        (Logical::Json, r#"{"a":1}"#),
        (Logical::Bits(None), "7"),
        (Logical::Calendar, "20089"),
        (Logical::Parts, "[]"),
        (Logical::Geometry, r#"{"wkb":"AQE="}"#),
        (Logical::Geometry, r#"{"wkb":"AQgAAAAAAAAA"}"#),
        (Logical::Geometry, r#"{"x":1}"#),
    ] {
        assert_eq!(pushed(logical, plain), plain, "{logical:?}");
    }
    assert_eq!(Logical::named(DECIMAL, |_| None), None);
    assert_eq!(Logical::named(DECIMAL, |_| Some(i64::MAX)), None);
    assert_eq!(pushed(Logical::Duration(TimeUnit::Microsecond), "9.3784E10"), r#""PT26H3M4S""#);
}

#[test]
fn parts_of_dates_and_times_are_texts() {
    for (plain, expected) in [
        (r#"{"year":2025,"month":1,"day":1}"#, r#""2025-01-01""#),
        (r#"{"year":2025,"month":1,"day":0}"#, r#""2025-01""#),
        (r#"{"year":2025,"month":0,"day":0}"#, r#""2025""#),
        (r#"{"year":0,"month":12,"day":25}"#, r#""--12-25""#),
        (r#"{"year":0,"month":0,"day":0}"#, "null"),
        (r#"{"year":null,"specialValue":"POSITIVE_INFINITY"}"#, "null"),
        (r#"{"hours":10,"minutes":0,"seconds":0,"nanos":500000000}"#, r#""10:00:00.500""#),
        (r#"{"hours":0,"minutes":0,"seconds":0,"nanos":0}"#, r#""00:00:00""#),
        (
            r#"{"year":2025,"month":1,"day":1,"hours":1,"minutes":2,"seconds":3,"nanos":0,"utc_offset":"3600s"}"#,
            r#""2025-01-01T01:02:03+01:00""#,
        ),
        (
            r#"{"year":2025,"month":1,"day":1,"hours":1,"minutes":2,"seconds":3,"nanos":0,"time_zone":{"id":"Asia/Tokyo","version":""}}"#,
            r#""2025-01-01T01:02:03[Asia/Tokyo]""#,
        ),
    ] {
        assert_eq!(pushed(Logical::Calendar, plain), expected, "{plain}");
    }
    assert_eq!(pushed(Logical::LatLng, r#"{"latitude":48.5,"longitude":-2.0}"#), r#""POINT (-2 48.5)""#);
    assert_eq!(pushed(Logical::TextDecimal, r#"{"value":"-12.340"}"#), "-12.340");
}

#[test]
fn whole_numbers_of_a_type_without_a_scale_have_a_fraction_in_documents_alone() {
    // 5, -1, 500, 5.00 and -0.5.
    for (plain, document, key) in [
        (r#"{"scale":0,"value":"BQ=="}"#, "5.0", "5"),
        (r#"{"scale":0,"value":"/w=="}"#, "-1.0", "-1"),
        (r#"{"scale":2,"value":"AfQ="}"#, "5.00", "5.00"),
        (r#"{"scale":1,"value":"+w=="}"#, "-0.5", "-0.5"),
    ] {
        for (purpose, expected) in [(Purpose::Document, document), (Purpose::Merge, document), (Purpose::Key, key)] {
            let mut out = b"12".to_vec();
            Logical::VariableDecimal.push(plain.as_bytes(), purpose, &mut out);
            assert_eq!(String::from_utf8_lossy(&out[2..]), expected, "{plain} {purpose:?}");
        }
    }
    assert_eq!(pushed(Logical::ScaledDecimal, r#"{"scale":0,"value":"BQ=="}"#), "5");
}

/// A shape in well-known binary: parts of hexadecimal digits, numbers of 64 bits among them.
fn wkb(parts: &[Part]) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Part::Hex(hex) => {
                bytes.extend((0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()));
            }
            Part::Numbers(numbers) => numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes())),
        }
    }
    json!({"wkb": STANDARD.encode(bytes)}).to_string()
}

enum Part {
    Hex(&'static str),
    Numbers(&'static [f64]),
}

#[test]
fn shapes_of_all_kinds_become_text() {
    use Part::{Hex, Numbers};
    for (parts, expected) in [
        (&[Hex("0102000000"), Hex("02000000"), Numbers(&[1.0, 2.0, 3.5, -4.0])][..], "LINESTRING (1 2, 3.5 -4)"),
        (
            &[Hex("0103000000"), Hex("01000000"), Hex("03000000"), Numbers(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0])],
            "POLYGON ((0 0, 1 1, 0 0))",
        ),
        (
            &[
                Hex("010400000002000000"),
                Hex("0101000000"),
                Numbers(&[1.0, 2.0]),
                Hex("0101000000"),
                Numbers(&[3.0, 4.0]),
            ],
            "MULTIPOINT ((1 2), (3 4))",
        ),
        (&[Hex("010500000001000000"), Hex("010200000001000000"), Numbers(&[1.0, 2.0])], "MULTILINESTRING ((1 2))"),
        (
            &[Hex("010600000001000000"), Hex("010300000001000000"), Hex("01000000"), Numbers(&[1.0, 2.0])],
            "MULTIPOLYGON (((1 2)))",
        ),
        (
            &[Hex("010700000002000000"), Hex("0101000000"), Numbers(&[1.0, 2.0]), Hex("010200000000000000")],
            "GEOMETRYCOLLECTION (POINT (1 2), LINESTRING EMPTY)",
        ),
        // The SRID, Z and M of PostGIS, and Z of the standard.
        (&[Hex("0101000020E6100000"), Numbers(&[1.0, 2.0])], "POINT (1 2)"),
        (&[Hex("01010000C0"), Numbers(&[1.0, 2.0, 3.0, 4.0])], "POINT (1 2 3)"),
        (&[Hex("0101000040"), Numbers(&[1.0, 2.0, 4.0])], "POINT (1 2)"),
        (&[Hex("01E9030000"), Numbers(&[1.0, 2.0, 3.0])], "POINT (1 2 3)"),
        (&[Hex("0101000000"), Numbers(&[f64::NAN, f64::NAN])], "POINT EMPTY"),
        // The highest byte first.
        (&[Hex("00000000013FF00000000000004000000000000000")], "POINT (1 2)"),
    ] {
        assert_eq!(pushed(Logical::Geometry, &wkb(parts)), format!("\"{expected}\""));
    }
    // Without them, and with bytes that are cut off or nested.
    assert_eq!(pushed(Logical::Geometry, r#"{"x":1,"y":2}"#), r#""POINT (1 2)""#);
    let bytes = STANDARD.decode(POINT).unwrap();
    for len in 0..bytes.len() {
        let plain = json!({"wkb": STANDARD.encode(&bytes[..len])}).to_string();
        assert_eq!(pushed(Logical::Geometry, &plain), plain);
    }
    let nested = json!({"wkb": STANDARD.encode(b"\x01\x07\0\0\0\x01\0\0\0".repeat(100))}).to_string();
    assert_eq!(pushed(Logical::Geometry, &nested), nested);
}

#[test]
fn long_decimals_keep_all_digits() {
    let number = "-170141183460469231731687303715884105729";
    let mut bytes = vec![0xFF];
    bytes.extend((i128::MAX).to_be_bytes());
    bytes[1] = 0x7F;
    bytes[16] = 0xFF;
    // -(2^127) - 1 in 17 bytes.
    assert_eq!(digits(&bytes).unwrap(), number);
    assert_eq!(digits(&[0x7F; 20]).unwrap(), "727885129180488904360266563744972327436484050815");
    assert_eq!(digits(&[]).unwrap(), "0");
    assert_eq!(digits(&[0xFF; 40]).unwrap(), "-1");
    assert_eq!(digits(&[0; 20]).unwrap(), "0");
    assert!(digits(&[1; DECIMAL_BYTES_MAX + 1]).is_err());
}

proptest! {
    #[test]
    fn every_value_becomes_json(
        number in any::<i64>(),
        small in -100_i64..100,
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        length in prop_oneof![any::<i64>(), 0_i64..100_000],
    ) {
        let base64 = STANDARD.encode(&bytes);
        let parts = |number: i64| {
            let names = ["year", "month", "day", "hour", "minute", "second", "nanos", "offsetSeconds", "years", "days"];
            names.iter().map(|name| ((*name).to_owned(), json!(number))).collect::<Value>()
        };
        let shape: Vec<u8> = [&b"\x01"[..], &bytes].concat();
        let plains = [
            json!(number),
            json!(small),
            json!(base64),
            json!({"scale": length, "value": base64}),
            json!({"scale": small, "value": base64}),
            json!({"wkb": base64}),
            json!({"wkb": STANDARD.encode(&shape)}),
            json!({"latitude": number, "longitude": small}),
            parts(number),
            parts(small),
        ];
        for (name, _) in NAMES {
            let Some(logical) = Logical::named(name, |_| Some(length)) else { continue };
            for plain in &plains {
                let found = pushed(logical, &plain.to_string());
                prop_assert!(serde_json::from_str::<&RawValue>(&found).is_ok(), "{name} of {plain}: {found}");
            }
        }
    }
}
