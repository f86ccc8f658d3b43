use super::*;

const ORDER: &str = r#"
    syntax = "proto3";
    package shop;
    import "google/protobuf/timestamp.proto";
    import "parts/address.proto";
    message Order {
        int64 order_id = 1;
        string text = 2;
        optional int32 count = 3;
        repeated double prices = 4;
        map<string, bool> flags = 5;
        google.protobuf.Timestamp placed_at = 6;
        Address to = 7;
        State state = 8;
        bytes raw = 9;
        uint64 large = 10;
        message Line { string sku = 1; message Part { int32 n = 1; } }
        oneof paid { string card = 11; bool cash = 12; }
    }
    message Other { string name = 1; }
    enum State { NEW = 0; PAID = 1; }
"#;

const ADDRESS: &str = r#"syntax = "proto3"; package shop; message Address { string city_name = 1; }"#;

/// As `protoc --encode=shop.Order` writes it.
const BYTES: &[u8] = b"\x08\x81\x80\x80\x80\x80\x80\x80\x10\x12\x05caf\xc3\xa9\x22\x08\0\0\0\0\0\0\xf8\x3f\x2a\x05\x0a\x01a\x10\x01\
    \x32\x08\x08\xa0\xb4\xe8\xad\x06\x10\x01\x3a\x05\x0a\x03Ulm\x40\x01\x4a\x01\xff\x50\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x60\x01";

const DOCUMENT: &str = concat!(
    r#"{"order_id":9007199254740993,"text":"café","prices":[1.5],"flags":{"a":true},"#,
    r#""placed_at":"2024-01-31T10:00:00.000000001Z","to":{"city_name":"Ulm"},"state":"PAID","raw":"/w==","#,
    r#""large":18446744073709551615,"cash":true}"#
);

fn file() -> File {
    File::parse(ORDER, &[("parts/address.proto".to_owned(), ADDRESS.to_owned())], false).unwrap()
}

fn decoded(bytes: &[u8], content: Option<&[u8]>) -> Result<String, String> {
    let mut out = Vec::new();
    file().decode(bytes, content, Purpose::Document, &mut out).map_err(|(_, reason)| reason)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn messages_are_json_with_the_names_of_the_file() {
    assert_eq!(decoded(&[b"\0", BYTES].concat(), None).unwrap(), DOCUMENT);
    assert_eq!(decoded(b"\x02\0", Some(BYTES)).unwrap(), DOCUMENT);
    let empty = r#"{"order_id":0,"text":"","prices":[],"flags":{},"state":"NEW","raw":"","large":0}"#;
    assert_eq!(decoded(b"\0", None).unwrap(), empty);
}

#[test]
fn indexes_name_messages_and_messages_in_them() {
    assert_eq!(decoded(b"\x02\x02\x0a\x01a", None).unwrap(), r#"{"name":"a"}"#);
    assert_eq!(decoded(b"\x04\0\x02\x0a\x01a", None).unwrap(), r#"{"sku":"a"}"#);
    assert_eq!(decoded(b"\x06\0\x02\0\x08\x07", None).unwrap(), r#"{"n":7}"#);
    for (bytes, problem) in [
        (&b""[..], "cut off"),
        (b"\x04\0", "cut off"),
        (b"\x02\x0E", "no message with the index 7"),
        (b"\x04\x02\0", "no message with the index 0 (number 2"),
        (b"\x01", "indexes, expected at most"),
        (b"\xFE\xFF\x03", "indexes, expected at most"),
        (b"\x02\x01", "no message with the index"),
        (b"\0\x12\x05a", "no message shop.Order"),
    ] {
        let error = decoded(bytes, None).unwrap_err();
        assert!(error.contains(problem), "{bytes:?}: {error}");
    }
}

#[test]
fn bytes_that_are_cut_off_never_panic() {
    for len in 0..BYTES.len() {
        let _ = decoded(b"\0", Some(&BYTES[..len]));
    }
}

#[test]
fn schemas_that_cannot_be_compiled_are_refused() {
    let error = File::parse(ORDER, &[], false).unwrap_err();
    assert!(error.contains("no schema of Protobuf") && error.contains("parts/address.proto"), "{error}");
    assert!(File::parse("message {", &[], false).is_err());
}

#[test]
fn schema_files_have_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.proto");
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    std::fs::write(folder.path().join("parts/address.proto"), ADDRESS).unwrap();
    std::fs::write(&path, ORDER).unwrap();
    let mut out = Vec::new();
    Message::read(&path, Some("shop.Order"), false).unwrap().decode(BYTES, Purpose::Document, &mut out).unwrap();
    assert_eq!(out, DOCUMENT.as_bytes());
    let error = Message::read(&path, None, false).unwrap_err();
    assert!(error.contains("shop.Order, shop.Other") && error.contains("order.proto"), "{error}");
    assert!(Message::read(&path, Some("Order"), false).unwrap_err().contains("no message Order"));
    let one = folder.path().join("parts/address.proto");
    assert!(Message::read(&one, None, false).is_ok());

    let set = folder.path().join("order.binpb");
    let mut compiler = Compiler::new([folder.path()]).unwrap();
    let encoded = compiler.include_imports(true).open_file(&path).unwrap().encode_file_descriptor_set();
    std::fs::write(&set, encoded).unwrap();
    out.clear();
    Message::read(&set, Some("shop.Order"), false).unwrap().decode(BYTES, Purpose::Document, &mut out).unwrap();
    assert_eq!(out, DOCUMENT.as_bytes());
    assert!(Message::read(&set, None, false).unwrap_err().contains("shop.Address"));
    std::fs::write(&set, b"\xFF\xFF").unwrap();
    assert!(Message::read(&set, None, false).unwrap_err().contains("neither"));
    assert!(Message::read(&folder.path().join("absent.proto"), None, false).is_err());
}

#[test]
fn types_of_the_converter_and_of_google_are_built_in() {
    // As Confluent's converter writes a schema.
    let schema = r#"
        syntax = "proto3";
        import "confluent/meta.proto";
        import "confluent/type/decimal.proto";
        import "google/type/date.proto";
        import "google/type/timeofday.proto";
        import "google/type/money.proto";
        import "google/type/latlng.proto";
        import "google/protobuf/timestamp.proto";
        message Value {
            confluent.type.Decimal price = 1 [(confluent.field_meta) = { params: [{ value: "2", key: "scale" }] }];
            google.type.Date day = 2;
            google.type.TimeOfDay at = 3;
            google.type.Money paid = 4;
            repeated google.type.Date days = 5;
            map<string, confluent.type.Decimal> prices = 6;
            Value next = 7;
            VariableScaleDecimal amount = 8;
            Geometry place = 9;
            Point other = 10;
            google.type.LatLng city = 11;
            google.protobuf.Timestamp moment = 12;
            message VariableScaleDecimal { int32 scale = 1; bytes value = 2; }
            message Geometry { bytes wkb = 1; int32 srid = 2; }
            message Point { int32 x = 1; int32 y = 2; }
        }
    "#;
    let file = File::parse(schema, &[], false).unwrap();
    let decoded = |bytes: &[u8]| {
        let mut out = b"before".to_vec();
        file.decode(b"\0", Some(bytes), Purpose::Document, &mut out).unwrap();
        String::from_utf8(out[6..].to_vec()).unwrap()
    };
    let bytes = [
        &b"\x0a\x08\x0a\x02\x04\xd2\x10\x04\x18\x02"[..],
        b"\x12\x07\x08\xe9\x0f\x10\x01\x18\x01",
        b"\x1a\x02\x08\x0a",
        b"\x22\x09\x0a\x03EUR\x10\x01\x18\x05",
        b"\x2a\x07\x08\xe9\x0f\x10\x01\x18\x01",
        b"\x32\x0b\x0a\x01k\x12\x06\x0a\x02\xfb\x2e\x18\x02",
        b"\x42\x06\x08\x02\x12\x02\x04\xd2",
        b"\x4a\x17\x0a\x15\x01\x01\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40",
        b"\x52\x02\x08\x07",
        b"\x5a\x12\x09\0\0\0\0\0\0\xf8\x3f\x11\0\0\0\0\0\0\xf0\xbf",
        b"\x62\x02\x08\x01",
    ]
    .concat();
    let own = concat!(
        r#""price":12.34,"day":"2025-01-01","at":"10:00:00","paid":{"currency_code":"EUR","units":1,"nanos":5},"#,
        r#""days":["2025-01-01"],"prices":{"k":-12.34},"#
    );
    let rest = concat!(
        r#""amount":12.34,"place":"POINT (1 2)","other":{"x":7,"y":0},"city":"POINT (-1 1.5)","#,
        r#""moment":"1970-01-01T00:00:01Z"}"#
    );
    assert_eq!(decoded(&bytes), format!("{{{own}{rest}"));
    let mut around = bytes.clone();
    around.extend(b"\x3a");
    assert!(bytes.len() < 128, "the length takes one byte");
    around.push(bytes.len() as u8);
    around.extend(&bytes);
    assert_eq!(decoded(&around), format!("{{{own}\"next\":{{{own}{rest},{rest}"));
    assert_eq!(decoded(b""), r#"{"days":[],"prices":{}}"#);
}

#[test]
fn files_import_what_is_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.proto");
    let schema = r#"syntax = "proto3"; import "google/type/date.proto"; message Order { google.type.Date day = 1; }"#;
    std::fs::write(&path, schema).unwrap();
    let decoded = |path: &Path| {
        let mut out = Vec::new();
        Message::read(path, None, false)
            .unwrap()
            .decode(b"\x0a\x07\x08\xe9\x0f\x10\x01\x18\x01", Purpose::Document, &mut out)
            .unwrap();
        out
    };
    assert_eq!(decoded(&path), br#"{"day":"2025-01-01"}"#);
    let set = folder.path().join("order.binpb");
    let mut compiler = compiler(IncludeFileResolver::new(folder.path().to_owned()));
    let encoded = compiler.include_imports(true).open_file(&path).unwrap().encode_file_descriptor_set();
    std::fs::write(&set, encoded).unwrap();
    assert_eq!(decoded(&set), br#"{"day":"2025-01-01"}"#);
}

#[test]
fn fields_without_a_value_are_nulls_where_documents_are_merged() {
    let file = File::parse(ORDER, &[("parts/address.proto".to_owned(), ADDRESS.to_owned())], true).unwrap();
    let decoded = |bytes: &[u8]| {
        let mut out = Vec::new();
        file.decode(b"\0", Some(bytes), Purpose::Merge, &mut out).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap()
    };
    let nulls = |json: &serde_json::Value| {
        let fields = json.as_object().unwrap().iter();
        fields.filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(nulls(&decoded(b"")), ["card", "cash", "count", "placed_at", "to"]);
    assert_eq!(nulls(&decoded(BYTES)), ["card", "count"]);
}
