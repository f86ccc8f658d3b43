//! Lines of text with parts, as the engine reads them.

use inrush_sources::{
    ColumnType, CsvOptions, FixedColumn, FormatOptions, LogFormat, Parse, Source, SourceSpec, Warnings, open,
};

use crate::source_support::{drain, load, shared, write};

#[test]
fn lines_that_do_not_match_are_rejects_with_their_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.csv", b"INFO 1\n\nnothing\r\nWARN x\nINFO \xFF\nINFO 22\n");
    let options = FormatOptions {
        parse: Some(Parse::Regex(r"^(?<level>\w+) (?<n>\w+)$".into())),
        csv: CsvOptions { schema: vec![("n".into(), ColumnType::Integer)], ..CsvOptions::default() },
        ..FormatOptions::default()
    };
    let (outcome, _) = load(&path, options, 1 << 20);
    let found: Vec<_> =
        outcome.records.iter().map(|r| (String::from_utf8_lossy(&r.data).into_owned(), r.kind(), r.at.line)).collect();
    let expected = [
        (r#"{"level":"INFO","n":1}"#, "", 1),
        ("nothing", "no_match", 3),
        ("WARN x", "bad_value", 4),
        ("INFO \u{FFFD}", "invalid_utf8", 5),
        (r#"{"level":"INFO","n":22}"#, "", 6),
    ];
    assert_eq!(found, expected.map(|(text, kind, line)| (text.to_owned(), kind, line)));
}

#[test]
fn columns_of_fixed_width() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", b"  1Ada       1815\n 22Blaise    1623\n");
    let columns: Vec<FixedColumn> = ["id:1-3", "name:4-13", "born:14-"].map(|c| c.parse().unwrap()).into();
    let schema = ["id", "born"].map(|name| (name.to_owned(), ColumnType::Integer)).into();
    let options = FormatOptions {
        parse: Some(Parse::FixedWidth(columns)),
        csv: CsvOptions { schema, ..CsvOptions::default() },
        ..FormatOptions::default()
    };
    let (outcome, _) = load(&path, options, 1 << 20);
    assert_eq!(outcome.texts(), [r#"{"id":1,"name":"Ada","born":1815}"#, r#"{"id":22,"name":"Blaise","born":1623}"#]);
}

#[test]
fn ids_are_the_text_of_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.log", b"1    TRUE 7  2024-01-01 10:00\n2.50 true 007\n     true x\n0003\n");
    let columns: Vec<FixedColumn> = ["id:1-5", "flag:6-10", "n:11-13", "at:14-"].map(|c| c.parse().unwrap()).into();
    let pattern = r"^(?<id>[0-9.]*) *(?<flag>\w{4})? *(?<n>\w*) *(?<at>.*)$";
    let schema = CsvOptions::parse_schema("id:float,flag:boolean,n:integer,at:timestamp").unwrap();
    for parse in [Parse::FixedWidth(columns), Parse::Regex(pattern.into())] {
        let options = FormatOptions {
            parse: Some(parse),
            csv: CsvOptions { schema: schema.clone(), ..CsvOptions::default() },
            ..FormatOptions::default()
        };
        for bytes in [1, 1 << 20] {
            let mut files = open(&[SourceSpec::new(&path)], options.clone(), &Warnings::default()).unwrap();
            files.keep_texts(&["id", "flag", "n", "at", "other"].map(str::to_owned));
            let outcome = drain(&mut files, bytes);
            assert_eq!(outcome.texts()[0], r#"{"id":1.0,"flag":true,"n":7,"at":"2024-01-01T10:00"}"#);
            assert_eq!(outcome.texts()[1..3], [r#"{"id":2.50,"flag":true,"n":7}"#, "     true x"]);
            let texts = |record: usize| -> Vec<(&str, &str)> {
                let meta = outcome.records[record].meta.as_ref();
                meta.iter().flat_map(|meta| &meta.texts).map(|(name, text)| (&**name, text.as_str())).collect()
            };
            assert_eq!(texts(0), [("id", "1"), ("flag", "TRUE"), ("at", "2024-01-01 10:00")]);
            assert_eq!(texts(1), [("id", "2.50"), ("flag", "true")]);
            assert_eq!(texts(3), [("id", "0003")]);
            // Where documents write a part as it is, nothing is kept besides.
            let mut files = open(&[SourceSpec::new(&path)], options.clone(), &Warnings::default()).unwrap();
            files.keep_texts(&["n".to_owned()]);
            assert!(drain(&mut files, bytes).records.iter().all(|r| r.meta.is_none()));
        }
    }
}

#[test]
fn options_are_checked_before_a_file_is_opened() {
    let options = FormatOptions { parse: Some(Parse::Regex("(".into())), ..FormatOptions::default() };
    let error = open(&[SourceSpec::new("none")], options, &Warnings::default()).err().unwrap();
    assert!(error.to_string().contains("unclosed group"), "{error}");
}

#[test]
fn apache_logs() {
    let Some(path) = shared("http/apache_logs") else { return };
    let options = FormatOptions { parse: Some(Parse::Named(LogFormat::Combined)), ..FormatOptions::default() };
    let (outcome, _) = load(&path, options, 512 << 10);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.records.len(), 10_000);
    let rejects: Vec<_> = outcome.records.iter().filter(|r| r.reject.is_some()).collect();
    // One line is cut off within its last value.
    assert!(rejects.is_empty(), "{rejects:?}");
    let first: serde_json::Value = serde_json::from_slice(&outcome.records[0].data).unwrap();
    assert_eq!(first["clientip"], "83.149.9.216");
    assert_eq!(first["timestamp"], "2015-05-17T10:05:03Z");
    assert_eq!((&first["response"], &first["bytes"]), (&serde_json::json!(200), &serde_json::json!(203_023)));
}
