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
    File::parse(ORDER, &[("parts/address.proto".to_owned(), ADDRESS.to_owned())]).unwrap()
}

fn decoded(bytes: &[u8], content: Option<&[u8]>) -> Result<String, String> {
    let mut out = Vec::new();
    file().decode(bytes, content, &mut out).map_err(|(_, reason)| reason)?;
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
    let error = File::parse(ORDER, &[]).unwrap_err();
    assert!(error.contains("no schema of Protobuf") && error.contains("parts/address.proto"), "{error}");
    assert!(File::parse("message {", &[]).is_err());
}

#[test]
fn schema_files_have_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.proto");
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    std::fs::write(folder.path().join("parts/address.proto"), ADDRESS).unwrap();
    std::fs::write(&path, ORDER).unwrap();
    let mut out = Vec::new();
    Message::read(&path, Some("shop.Order")).unwrap().decode(BYTES, &mut out).unwrap();
    assert_eq!(out, DOCUMENT.as_bytes());
    let error = Message::read(&path, None).unwrap_err();
    assert!(error.contains("shop.Order, shop.Other") && error.contains("order.proto"), "{error}");
    assert!(Message::read(&path, Some("Order")).unwrap_err().contains("no message Order"));
    let one = folder.path().join("parts/address.proto");
    assert!(Message::read(&one, None).is_ok());

    let set = folder.path().join("order.binpb");
    let mut compiler = Compiler::new([folder.path()]).unwrap();
    let encoded = compiler.include_imports(true).open_file(&path).unwrap().encode_file_descriptor_set();
    std::fs::write(&set, encoded).unwrap();
    out.clear();
    Message::read(&set, Some("shop.Order")).unwrap().decode(BYTES, &mut out).unwrap();
    assert_eq!(out, DOCUMENT.as_bytes());
    assert!(Message::read(&set, None).unwrap_err().contains("shop.Address"));
    std::fs::write(&set, b"\xFF\xFF").unwrap();
    assert!(Message::read(&set, None).unwrap_err().contains("neither"));
    assert!(Message::read(&folder.path().join("absent.proto"), None).is_err());
}
