//! JSON values and arrays, as the engine reads them.

use inrush_sources::{Format, FormatOptions, Source, SourceSpec, Warnings, open};
use proptest::prelude::*;

use crate::source_support::{self, CODECS, compress, drain, load, write};

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
        ("[{},{},", 2, "is cut off at byte 7, where an element is expected; the 2 records before it were read"),
        ("[{},{\"a\":", 1, "is cut off at byte 9, inside the element that begins at byte 4"),
        ("[{}", 1, "where `,` or `]` is expected"),
        ("[{},]", 1, "is broken at byte 4: found ']', expected an element"),
        ("[{} {}]", 1, "is broken at byte 4: found '{', expected `,` or `]`"),
        ("[{}]\n[{}}", 2, "is broken at byte 8: found '}', expected `,` or `]`; the 2 records"),
        ("{} {\"a\":{}", 1, "is cut off at byte 10, inside the document that begins at byte 3; if each line"),
    ] {
        for bytes in [1, 1000] {
            let outcome = read(text.as_bytes(), bytes, FormatOptions::default());
            let error = outcome.error.as_ref().unwrap().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert_eq!(outcome.texts(), vec!["{}"; documents], "{text}");
        }
    }
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

#[test]
fn values_one_after_another_are_documents_with_their_places() {
    let pretty = b"{\n  \"a\": {\n    \"b\": 1\n  }\n}\n{\n  \"a\": \"}\"\n}\n";
    let beside = b"{\"a\":1}{\"a\":2} {\"a\":3},\n\n{\"a\":4},\n";
    for bytes in [1, 7, 1 << 20] {
        let outcome = read(pretty, bytes, FormatOptions::default());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.texts(), ["{   \"a\": {     \"b\": 1   } }", "{   \"a\": \"}\" }"]);
        let places: Vec<_> = outcome.records.iter().map(|r| (r.at.doc, r.at.line, r.at.byte)).collect();
        assert_eq!(places, [(0, 1, 0), (1, 6, 28)], "chunks of {bytes}");
        let outcome = read(beside, bytes, FormatOptions::default());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.texts(), ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}", "{\"a\":4}"]);
        let places: Vec<_> = outcome.records.iter().map(|r| (r.at.line, r.at.byte)).collect();
        assert_eq!(places, [(1, 0), (1, 7), (1, 15), (3, 25)], "chunks of {bytes}");
    }
}

#[test]
fn a_damaged_value_is_named_and_the_next_ones_are_read() {
    let text = b"{\n \"a\": 1\n}\n{\n \"a\": \"x\n}\n{\n \"a\": 3\n}\n} x\n{\"a\":4} // c\n{\"a\":5}\n";
    for bytes in [1, 7, 1 << 20] {
        let outcome = read(text, bytes, FormatOptions::default());
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let found: Vec<_> = outcome.records.iter().map(|r| (r.kind(), r.at.line, r.text())).collect();
        let no = "invalid_json";
        let expected = [
            ("", 1, "{  \"a\": 1 }"),
            (no, 4, "{\n \"a\": \"x\n}"),
            ("", 7, "{  \"a\": 3 }"),
            (no, 10, "} x"),
            ("", 11, "{\"a\":4}"),
            (no, 11, "// c"),
            ("", 12, "{\"a\":5}"),
        ];
        assert_eq!(found, expected, "chunks of {bytes}");
        let reasons: Vec<_> = outcome.records.iter().filter_map(|r| r.reject.as_ref()).map(|r| r.1.as_str()).collect();
        assert!(reasons[0].contains("byte 10 is a line end inside a string"), "{reasons:?}");
        assert!(reasons[1].contains("no value begins with '}'"), "{reasons:?}");
    }
}

#[test]
fn a_damaged_byte_takes_few_of_the_next_values_along() {
    let numbered = |from: usize| (from..1000).map(|n| format!("{{\"n\":{n}}}")).collect::<Vec<_>>();
    for (damage, gap, swallowed) in [
        ("} ", " ", 0),
        ("}", "", 0),
        ("* ", " ", 1),
        (",,", ",", 0),
        ("}\n ", "\n ", 0),
        ("*\n ", "\n ", 1),
        ("{\"a\":\"\n} ", " ", 0),
    ] {
        let text = format!("{{\"a\":1}} {damage}{}", numbered(0).join(gap));
        let options = FormatOptions { format: Some(Format::Json), ..FormatOptions::default() };
        for bytes in [1, 7, 1 << 20] {
            let outcome = read(text.as_bytes(), bytes, options.clone());
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            assert_eq!(outcome.records[1].kind(), "invalid_json", "{text:.40}");
            assert_eq!(outcome.texts()[2..], numbered(swallowed), "{text:.40}");
        }
    }
}

#[test]
fn what_is_inside_of_a_damaged_value_is_no_record() {
    let text = "{\"a\":{}}, \"b\": {\"c\":[ {\"d\":1}, {\"d\":2}]}} {\"good\":1} // {\"out\":1}\n{\"good\":2}";
    let options = FormatOptions { format: Some(Format::Json), ..FormatOptions::default() };
    let outcome = read(text.as_bytes(), 1000, options);
    let taken: Vec<_> = outcome.records.iter().filter(|r| r.kind().is_empty()).map(|r| r.text()).collect();
    assert_eq!(taken, ["{\"a\":{}}", "{\"good\":1}", "{\"good\":2}"]);
}

#[test]
fn a_damaged_value_says_how_much_it_is() {
    let lines = "  { \"n\": 1,\n  \"x\": 2,\n".repeat(2000);
    let text = format!("{{\"a\":1}}\n: y\n{lines}{{\"b\":1}}\n");
    for (largest, kept) in [(1 << 20, 4 + lines.len()), (2000, 1024)] {
        let format = Some(Format::Json);
        let options = FormatOptions { document_bytes_max: largest, format, ..FormatOptions::default() };
        for bytes in [100, 1 << 20] {
            let outcome = read(text.as_bytes(), bytes, options.clone());
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            let (kind, reason) = outcome.records[1].reject.as_ref().unwrap();
            let size = format!("{} bytes on 4001 lines", 4 + lines.len());
            assert!(*kind == "invalid_json" && reason.contains("no value begins with ':'"), "{kind}: {reason}");
            assert!(reason.contains(&size), "{reason}");
            assert!(outcome.records[1].data.len() <= kept);
            assert_eq!((outcome.records[2].text(), outcome.records[2].at.line), ("{\"b\":1}", 4003));
        }
    }
}

#[test]
fn a_damaged_record_that_is_too_large_gets_no_hint_to_load_its_array() {
    let records = "\n \"n\":1".repeat(1000);
    let text = format!("{{\"data\":[{{\"a\":1}},{{\"a\":\"x\n{records}");
    let options = FormatOptions { document_bytes_max: 2000, format: Some(Format::Json), ..FormatOptions::default() };
    let outcome = read(text.as_bytes(), 100, options);
    let (kind, reason) = outcome.records[0].reject.as_ref().unwrap();
    assert!(*kind == "invalid_json" && !reason.contains("option `records"), "{kind}: {reason}");
}

#[test]
fn levels_on_the_way_to_records_are_bounded() {
    let options = || FormatOptions { records: Some("a".parse().unwrap()), ..FormatOptions::default() };
    let way = |levels: usize| format!("{}{{\"a\":[{{}}]}}{}", "[".repeat(levels), "]".repeat(levels));
    let outcome = read(way(990).as_bytes(), 100, options());
    assert!(outcome.error.is_none() && outcome.texts() == ["{}"], "{:?}", outcome.error);
    let outcome = read(way(1_000_000).as_bytes(), 100, options());
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("at byte 1000: more than 1000 arrays and objects are nested"), "{error}");
}

#[test]
fn long_names_are_cut_in_messages() {
    let options = FormatOptions { records: Some("x".parse().unwrap()), ..FormatOptions::default() };
    let text = format!("{{\"{}\":1}}", "long".repeat(1_000_000));
    let error = read(text.as_bytes(), 1 << 20, options).error.unwrap().to_string();
    assert!(error.contains("it has `longlong") && error.contains("long…`") && error.len() < 1000, "{}", error.len());
}

#[test]
fn records_inside_of_an_object_are_streamed() {
    let features: Vec<String> = (0..5000).map(|n| format!("{{\"type\":\"Feature\",\n\"n\":{n}}}")).collect();
    let passed = format!("[{}]", "[\"}\"],".repeat(20_000) + "1");
    let text =
        format!("{{\"type\":\"x\",\n\"a\":{passed},\"features\":[\n{}\n],\"b\":{passed}}}\n", features.join(",\n"));
    for bytes in [64, 10_000, 1 << 20] {
        let options = FormatOptions { records: Some("features".parse().unwrap()), ..FormatOptions::default() };
        let outcome = read(text.as_bytes(), bytes, options);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.records.len(), 5000);
        for (n, record) in outcome.records.iter().enumerate() {
            assert_eq!(record.text(), features[n].replace('\n', " "));
            let byte = record.at.byte as usize;
            assert!(text[byte..].starts_with(&features[n]), "{byte}");
            assert_eq!(record.at.line as usize, 1 + text[..byte].matches('\n').count());
        }
        assert!(outcome.largest <= 2 * bytes + 200, "{} for {bytes}", outcome.largest);
        assert_eq!(outcome.bytes_read, text.len() as u64);
    }
}

#[test]
fn records_that_are_not_there_end_the_source() {
    let options = || FormatOptions { records: Some("data".parse().unwrap()), ..FormatOptions::default() };
    let outcome = read(b"{\"data\":[{}]}\n{\"error\":{\"data\":[]}}\n", 100, options());
    let error = outcome.error.unwrap().to_string();
    assert!(error.contains("at byte 34: an object that ends here has no `data`"), "{error}");
    assert!(error.contains("it has `error`; the 1 records before it were read"), "{error}");
    let outcome = read(b"{\"data\":[{},1]} {\"data\":{\"a\":1}} {\"data\":null}", 100, options());
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.texts(), ["{}", "1", "{\"a\":1}"]);
    assert_eq!(outcome.records[1].kind(), "not_an_object");
}

#[test]
fn hits_are_their_sources_with_their_ids() {
    let hits = "{\"_index\":\"x\",\"_id\":\"1\",\"_score\":1.0,\"_source\":{\"a\":[1,\n2]}},\n\
                {\"_id\":\"2\",\"_routing\":\"r\",\"_source\":{}},{\"_id\":\"3\"},{\"a\":1,\"_id\":\"4\",\"_source\":{}}";
    let lines = hits.replace(",\n2", ",2").replace("},{", "}\n{").replace("},\n{", "}\n{");
    for (text, records) in [(format!("{{\"hits\":{{\"hits\":[{hits}]}}}}"), Some("hits.hits")), (lines, None)] {
        let records = records.map(|path| path.parse().unwrap());
        let outcome = read(
            text.as_bytes(),
            50,
            FormatOptions { format: Some(Format::Hits), records, ..FormatOptions::default() },
        );
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let found: Vec<_> = outcome
            .records
            .iter()
            .map(|r| (r.kind(), r.text().replace(", 2", ",2"), r.meta.as_ref().and_then(|meta| meta.id.clone())))
            .collect();
        let id = |id: &str| Some(id.to_owned());
        assert_eq!(found[0], ("", "{\"a\":[1,2]}".to_owned(), id("1")));
        assert_eq!(found[1], ("", "{}".to_owned(), id("2")));
        assert_eq!(found[2], ("bad_hit", "{\"_id\":\"3\"}".to_owned(), None));
        assert_eq!(found[3].2, id("4"));
        assert_eq!(outcome.records[1].meta.as_ref().unwrap().routing, Some("r".to_owned()));
    }
}

#[test]
fn a_source_that_is_no_object_is_no_document() {
    for validate in [false, true] {
        let options = FormatOptions { format: Some(Format::Hits), validate, ..FormatOptions::default() };
        let text = b"{\"_id\":\"1\",\"_source\":3}\n{\"_id\":\"2\",\"_source\":{}}\n{\"_id\":\"3\",}\n";
        let outcome = read(text, 1000, options);
        let kinds: Vec<_> = outcome.records.iter().map(|r| r.kind()).collect();
        assert_eq!(kinds, ["bad_hit", "", "bad_hit"]);
        let reason = &outcome.records[0].reject.as_ref().unwrap().1;
        assert!(reason.contains("`_source`") && reason.contains("an object"), "{reason}");
    }
}

#[test]
fn one_document_with_many_in_it_gets_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("{{\"features\":[{}]}}", vec!["{\"n\":1}"; 20_000].join(","));
    for (text, expected) in [
        ("{\"data\":[{},{}]}\n", Some("option `records=data`")),
        ("{\n \"took\":1,\"hits\":{\"hits\":[{},{}]}}", Some("option `format=hits` option `records=hits.hits`")),
        (long.as_str(), Some("option `records=features`")),
        ("{\"data\":[{},{}]}\n{}\n", None),
        ("{\"data\":[{}]}\n", None),
    ] {
        let (outcome, warnings) = load(&write(&dir, "a.json", text.as_bytes()), FormatOptions::default(), 1000);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let warnings: Vec<String> = warnings.list().iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), usize::from(expected.is_some()), "{warnings:?}");
        assert!(expected.is_none_or(|expected| warnings[0].contains(expected)), "{warnings:?}");
    }
    for format in [None, Some(Format::Json)] {
        let options = FormatOptions { format, document_bytes_max: 5000, ..FormatOptions::default() };
        let outcome = load(&write(&dir, "a.json", long.as_bytes()), options, 1000).0;
        let reject = outcome.records[0].reject.as_ref().unwrap();
        assert!(reject.0 == "too_large" && reject.1.contains("option `records=features`"), "{reject:?}");
    }
}

#[test]
fn documents_with_an_array_in_files_of_their_own_are_told_once_unless_they_are_meant() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..20 {
        let text = format!("{{\n\"id\": \"{n}\", \"lines\": [{{\"sku\": 1}}, {{\"sku\": 2}}]\n}}\n");
        write(&dir, &format!("{n:02}.json"), text.as_bytes());
    }
    let told = |format: Option<Format>, ids: &[&str]| {
        let warnings = Warnings::default();
        let options = FormatOptions { format, ..FormatOptions::default() };
        let mut source = open(&[SourceSpec::new(dir.path())], options, &warnings).unwrap();
        source.keep_texts(&ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(drain(&mut source, 1000).records.len(), 20);
        warnings.list().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    // A field that only the objects of the array have says that they are meant.
    for ids in [&[][..], &["sku"], &["id", "sku"]] {
        let found = told(None, ids);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("00.json: the whole source is one document; its `lines`"), "{found:?}");
        assert!(found[0].ends_with("if a document is meant, give option `format=json` (20 times)"), "{found:?}");
    }
    assert_eq!(told(None, &["id"]), [""; 0]);
    assert_eq!(told(Some(Format::Json), &[]), [""; 0]);
}

#[test]
fn a_million_levels_are_a_record_like_others() {
    let deep = format!("{{\"v\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    for (text, options) in [
        (format!("[{deep},{{}}]"), FormatOptions::default()),
        (format!("{deep}{deep}"), FormatOptions { validate: true, ..FormatOptions::default() }),
        (
            format!("{{\"a\":{deep},\"b\":[{deep},{{}}]}}"),
            FormatOptions { records: Some("b".parse().unwrap()), ..FormatOptions::default() },
        ),
    ] {
        let outcome = read(text.as_bytes(), 100_000, options);
        assert!(outcome.error.is_none() && outcome.records.len() == 2, "{:?}", outcome.error);
        assert!(outcome.records[0].text() == deep && outcome.records[0].kind().is_empty());
    }
    let outer = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let options = FormatOptions { records: Some("a".parse().unwrap()), ..FormatOptions::default() };
    assert!(read(outer.as_bytes(), 100_000, options).records.is_empty());
    let options = FormatOptions { format: Some(Format::Hits), ..FormatOptions::default() };
    let hit = format!("{{\"_id\":\"1\",\"_source\":{deep}}}");
    assert_eq!(read(hit.as_bytes(), 100_000, options).texts(), [deep]);
}

proptest! {
    #[test]
    fn any_bytes_in_any_chunks_give_the_same(
        text in r#"\[?([\[\]{},:"\\ \n]|"a"|\{\},|1){0,40}\]?"#,
        bytes in 1usize..20,
    ) {
        let options = FormatOptions { format: Some(Format::Json), ..FormatOptions::default() };
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
