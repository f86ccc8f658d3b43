//! Lines of text with parts, as the engine reads them.

mod source_support;

use inrush::source::{
    ColumnType, CsvOptions, FixedColumn, FormatOptions, LogFormat, Parse, SourceSpec, Warnings, open,
};
use source_support::{load, shared, write};

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
