use proptest::prelude::*;

use super::*;
use crate::source::{Chunk, Files, Format, FormatOptions, Source, SourceSpec, open};

fn read(text: &[u8], options: &CsvOptions, chunk_bytes: usize) -> (Vec<String>, Vec<(u64, &'static str)>, Warnings) {
    let warnings = Warnings::default();
    let mut files = open_text(text, options, &warnings);
    let (mut documents, mut rejects, mut lines) = (Vec::new(), Vec::new(), 1);
    while let Some(Chunk::Raw(chunk)) = files.1.next_chunk(chunk_bytes).unwrap() {
        let decoder = Arc::clone(&chunk.decoder);
        let first_byte = chunk.origin.first_byte;
        let block = decoder.decode(chunk);
        let mut bad = block.rejects.iter().peekable();
        for (at, record) in block.records.iter().enumerate() {
            let text_here = String::from_utf8_lossy(block.record(at)).into_owned();
            if let Some(reject) = bad.next_if(|r| r.record as usize == at) {
                rejects.push((lines + u64::from(record.line), reject.kind));
            } else {
                serde_json::from_str::<serde_json::Value>(&text_here).unwrap();
                documents.push(text_here);
            }
            let raw = &text[(first_byte + u64::from(record.byte)) as usize..];
            assert!(!raw.is_empty());
        }
        lines += block.lines;
    }
    (documents, rejects, warnings)
}

/// The folder has to outlive the source.
fn open_text(text: &[u8], options: &CsvOptions, warnings: &Warnings) -> (tempfile::TempDir, Files) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let options = FormatOptions {
        format: Some(Format::Csv),
        csv: options.clone(),
        document_bytes_max: 1 << 20,
        ..FormatOptions::default()
    };
    (folder, open(&[SourceSpec::new(path)], options, warnings).unwrap())
}

fn check(text: &str, options: &CsvOptions, expected: &[&str]) {
    for chunk in [1, 7, 1 << 16] {
        let (documents, rejects, _) = read(text.as_bytes(), options, chunk);
        assert_eq!(documents, expected, "{text:?} in chunks of {chunk}");
        assert!(rejects.is_empty(), "{rejects:?}");
    }
}

#[test]
fn cells_keep_their_types() {
    let text = "id,zip,price,day,at,ok,note\n1,01000,1.5,2018-01-31,2018-01-31 10:00,true,x\n2,33000,2,2018-02-01,2018-02-01 11:30,FALSE,\n";
    check(
        text,
        &CsvOptions::default(),
        &[
            r#"{"id":1,"zip":"01000","price":1.5,"day":"2018-01-31","at":"2018-01-31T10:00","ok":true,"note":"x"}"#,
            r#"{"id":2,"zip":"33000","price":2.0,"day":"2018-02-01","at":"2018-02-01T11:30","ok":false}"#,
        ],
    );
}

#[test]
fn quotes_line_ends_and_blank_lines() {
    let text = "a;b\r\n\"x;\"\"1\"\"\";\"two\nlines\"\r\n\r\n\"\";y\"z\n\"q\"r;\\t\n;";
    let options = CsvOptions { separator: Some(b';'), ..CsvOptions::default() };
    check(text, &options, &[r#"{"a":"x;\"1\"","b":"two\nlines"}"#, r#"{"b":"y\"z"}"#, r#"{"a":"qr","b":"\\t"}"#, "{}"]);
    let options = CsvOptions { quote: None, ..CsvOptions::default() };
    check("a,b\n\"x,y\"\n", &options, &[r#"{"a":"\"x","b":"y\""}"#]);
}

#[test]
fn headers_are_given_made_up_or_repaired() {
    let none = CsvOptions { header: false, ..CsvOptions::default() };
    check("1,x\n2,y\n", &none, &[r#"{"c1":1,"c2":"x"}"#, r#"{"c1":2,"c2":"y"}"#]);
    let named = CsvOptions { columns: vec!["n".into(), "s".into()], ..none };
    check("1,x\n", &named, &[r#"{"n":1,"s":"x"}"#]);
    check(",a,a\n1,2,3\n", &CsvOptions::default(), &[r#"{"c1":1,"a":2,"a_2":3}"#]);
    check("a,b\n", &CsvOptions::default(), &[]);
    check("", &CsvOptions::default(), &[]);
}

#[test]
fn declared_types_are_held() {
    let options = CsvOptions { schema: vec![("a".into(), ColumnType::Integer)], ..CsvOptions::default() };
    let (documents, rejects, _) = read(b"a,b\n1,x\nz,y\n3\n4,5,6\n7,ok\n", &options, 1 << 16);
    assert_eq!(documents, [r#"{"a":1,"b":"x"}"#, r#"{"a":7,"b":"ok"}"#]);
    assert_eq!(rejects, [(3, "bad_value"), (4, "ragged_row"), (5, "ragged_row")]);
    let strings = CsvOptions { all_strings: true, ..CsvOptions::default() };
    check("a\n1\n", &strings, &[r#"{"a":"1"}"#]);
    let unknown = CsvOptions { schema: vec![("x".into(), ColumnType::Float)], ..CsvOptions::default() };
    let error = open_text(b"a\n1\n", &unknown, &Warnings::default()).1.next_chunk(10).err().unwrap();
    assert!(error.to_string().contains("\"x\""), "{error}");
}

#[test]
fn what_does_not_fit_what_the_sample_suggested_is_a_string_and_counted() {
    let mut text = "a\n".to_owned();
    for i in 0..SAMPLE_ROWS {
        text.push_str(&format!("{i}\n"));
    }
    text.push_str("n/a\n");
    let (documents, rejects, warnings) = read(text.as_bytes(), &CsvOptions::default(), 1 << 16);
    assert_eq!(documents.last().unwrap(), r#"{"a":"n/a"}"#);
    assert!(rejects.is_empty());
    assert_eq!((warnings.list()[0].kind, warnings.list()[0].count), ("type_misfit", 1));
}

#[test]
fn bytes_that_are_no_utf8_spoil_their_row_only() {
    let (documents, rejects, _) = read(b"a,b\nx,y\n\xe9,y\nz,w\n", &CsvOptions::default(), 1 << 16);
    assert_eq!(documents.len(), 2);
    assert_eq!(rejects, [(3, "invalid_utf8")]);
}

#[test]
fn an_unclosed_quote_is_named() {
    let (documents, rejects, _) = read(b"a,b\nx,y\n\"open,y\nz,w\n", &CsvOptions::default(), 1 << 16);
    assert_eq!((documents.len(), rejects), (1, vec![(3, "unclosed_quote")]));
}

/// Rows by csv-core, the reference.
fn reference(text: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv_core::Reader::new();
    let (mut rows, mut row, mut field, mut input) = (Vec::new(), Vec::new(), Vec::new(), text);
    let mut buffer = [0; 64];
    loop {
        let (result, read, written) = reader.read_field(input, &mut buffer);
        input = &input[read..];
        field.extend_from_slice(&buffer[..written]);
        match result {
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
            csv_core::ReadFieldResult::Field { record_end } => {
                row.push(String::from_utf8(std::mem::take(&mut field)).unwrap());
                if record_end {
                    rows.push(std::mem::take(&mut row));
                }
            }
            csv_core::ReadFieldResult::End => return rows,
        }
    }
}

proptest! {
    #[test]
    fn rows_are_those_of_csv_core(text in "[ab\",\n\r]{0,60}", chunk in 1usize..40) {
        // A quote that is open at the end is a reject here and a cell there.
        prop_assume!(!unclosed(text.as_bytes()));
        let rows = reference(text.as_bytes());
        let width = rows.first().map_or(0, Vec::len);
        let columns: Vec<String> = (0..width).map(|i| format!("c{i}")).collect();
        let options = CsvOptions { header: false, columns: columns.clone(), all_strings: true, ..CsvOptions::default() };
        let (documents, rejects, _) = read(text.as_bytes(), &options, chunk);
        let expected: Vec<serde_json::Value> = rows.iter().filter(|r| r.len() == width).map(|row| {
            row.iter().zip(&columns).filter(|(cell, _)| !cell.is_empty())
                .map(|(cell, name)| (name.clone(), serde_json::Value::from(cell.as_str()))).collect::<serde_json::Map<_, _>>().into()
        }).collect();
        let found: Vec<serde_json::Value> = documents.iter().map(|d| serde_json::from_str(d).unwrap()).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(rejects.len(), rows.iter().filter(|r| r.len() != width).count());
    }
}

fn unclosed(text: &[u8]) -> bool {
    let mut cells = Cells::new(text, Dialect { separator: b',', quote: Some(b'"') });
    while cells.row_follows() {
        loop {
            match cells.next().1 {
                CellEnd::Separator => {}
                CellEnd::Row => break,
                CellEnd::Unclosed => return true,
            }
        }
    }
    false
}
