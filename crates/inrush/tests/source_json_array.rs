//! JSON arrays, as the engine reads them.
// A failure in a test's helper is a failed test.
#![allow(clippy::unwrap_used)]

mod source_support;

use inrush::source::{Format, FormatOptions};
use proptest::prelude::*;
use source_support::{CODECS, compress, load, write};

fn read(text: &[u8], bytes: usize, options: FormatOptions) -> source_support::Outcome {
    let dir = tempfile::tempdir().unwrap();
    load(&write(&dir, "a.json", text), options, bytes).0
}

#[test]
fn elements_are_documents_on_one_line_with_their_places() {
    let text = b" [\n  {\n    \"a\": \"x\\n]\"\n  },\n  {\"b\":[1,\r\n2]}, {}\n]\n";
    for bytes in [1, 7, 1 << 20] {
        let outcome = read(text, bytes, FormatOptions::default());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.texts(), ["{     \"a\": \"x\\n]\"   }", "{\"b\":[1,  2]}", "{}"]);
        let places: Vec<_> = outcome.records.iter().map(|r| (r.at.doc, r.at.line, r.at.byte)).collect();
        assert_eq!(places, [(0, 2, 5), (1, 5, 30), (2, 6, 45)], "chunks of {bytes}");
        assert_eq!(outcome.bytes_read, text.len() as u64);
    }
}

#[test]
fn what_is_no_object_is_a_reject() {
    let outcome = read(b"[1,{},\"a\",[{}],null]", 100, FormatOptions::default());
    assert!(outcome.error.is_none());
    let kinds: Vec<_> = outcome.records.iter().map(|r| (r.text(), r.kind())).collect();
    let no = "not_an_object";
    assert_eq!(kinds, [("1", no), ("{}", ""), ("\"a\"", no), ("[{}]", no), ("null", no)]);
}

#[test]
fn elements_are_validated_on_request() {
    let options = FormatOptions { validate: true, ..FormatOptions::default() };
    let outcome = read(b"[{\"a\":},1,{\"a\":1},{\"b\":01}]", 1000, options);
    let kinds: Vec<_> = outcome.records.iter().map(|r| r.kind()).collect();
    assert_eq!(kinds, ["invalid_json", "not_an_object", "", "invalid_json"]);
}

#[test]
fn a_broken_array_stops_at_its_place_with_everything_before_it() {
    for (text, documents, expected) in [
        ("[{},{},", 2, "is cut off at byte 7, where an element is expected; the 2 elements before it were read"),
        ("[{},{\"a\":", 1, "is cut off at byte 9, inside the element that begins at byte 4"),
        ("[{}", 1, "where `,` or `]` is expected"),
        ("[{},]", 1, "is broken at byte 4: found ']', expected an element"),
        ("[{} {}]", 1, "is broken at byte 4: found '{', expected `,` or `]`"),
        ("[{}]\n[{}]", 1, "is broken at byte 5: found '[', expected nothing after the array; the 1 elements"),
    ] {
        for bytes in [1, 1000] {
            let outcome = read(text.as_bytes(), bytes, FormatOptions::default());
            let error = outcome.error.as_ref().unwrap().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert_eq!(outcome.texts(), vec!["{}"; documents], "{text}");
        }
    }
    let options = FormatOptions { format: Some(Format::JsonArray), ..FormatOptions::default() };
    assert!(read(b"{}", 100, options).error.unwrap().to_string().contains("expected the `[` of an array"));
}

#[test]
fn an_element_that_is_too_large_is_a_reject_and_is_not_held() {
    let long = "x\n".repeat(50_000);
    let text = format!("[{{\"a\":1}},{{\"b\":\"{long}\"}},\n{{\"c\":1}}]");
    for bytes in [100, 10_000, 1 << 20] {
        let options = FormatOptions { document_bytes_max: 2000, ..FormatOptions::default() };
        let outcome = read(text.as_bytes(), bytes, options);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let kinds: Vec<_> = outcome.records.iter().map(|r| (r.kind(), r.at.line, r.at.byte)).collect();
        assert_eq!(kinds, [("", 1, 1), ("too_large", 1, 9), ("", 50_002, 100_019)], "chunks of {bytes}");
        assert!(outcome.records[1].reject.as_ref().unwrap().1.contains("100008 bytes"));
        assert_eq!(outcome.records[1].data.len(), 1024);
        assert!(bytes > 10_000 || outcome.largest <= 2 * bytes + 4000, "{} for {bytes}", outcome.largest);
    }
}

#[test]
fn arrays_may_be_compressed_and_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let elements: Vec<String> =
        (0..20_000_u64).map(|i| format!("{{\"i\":{}}}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    let text = format!("[{}]", elements.join(",\n"));
    for codec in CODECS {
        let data = compress(codec, text.as_bytes());
        let (outcome, _) = load(&write(&dir, "a", &data), FormatOptions::default(), 10_000);
        assert!(outcome.error.is_none(), "{codec}: {:?}", outcome.error);
        assert_eq!(outcome.texts(), elements, "{codec}");
        assert_eq!(outcome.bytes_read, data.len() as u64, "{codec}");
    }
    let data = compress("gzip", text.as_bytes());
    let (outcome, _) = load(&write(&dir, "cut", &data[..data.len() / 2]), FormatOptions::default(), 10_000);
    assert!(outcome.error.unwrap().to_string().contains("reading failed at byte"));
}

proptest! {
    #[test]
    fn any_bytes_in_any_chunks_give_the_same(
        text in r#"\[?([\[\]{},:"\\ \n]|"a"|\{\},|1){0,40}\]?"#,
        bytes in 1usize..20,
    ) {
        let options = FormatOptions { format: Some(Format::JsonArray), ..FormatOptions::default() };
        let whole = read(text.as_bytes(), 1 << 20, options.clone());
        let pieces = read(text.as_bytes(), bytes, options);
        prop_assert_eq!(&whole.records, &pieces.records);
        prop_assert_eq!(whole.error.map(|e| e.message), pieces.error.map(|e| e.message));
        // What serde_json takes for an array is one, with the same elements.
        if let Ok(values) = serde_json::from_str::<Vec<serde_json::Value>>(&text) {
            let read: Vec<serde_json::Value> =
                whole.records.iter().map(|r| serde_json::from_slice(&r.data).unwrap()).collect();
            prop_assert_eq!(values, read);
        }
    }
}
