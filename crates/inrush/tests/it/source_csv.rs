//! CSV and its relatives, as the engine reads them.

use std::collections::BTreeSet;

use inrush_core::{FieldTypes, RowForm};
use inrush_sources::{ColumnType, CsvOptions, Format, FormatOptions, Header, Source, SourceSpec, Warnings, open};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::source_support::{Outcome, compress, drain, load, shared, write};

pub fn csv(csv: CsvOptions) -> FormatOptions {
    FormatOptions { format: Some(Format::Csv), csv, ..FormatOptions::default() }
}

/// The documents of some text; rejects are `null`.
pub fn documents(outcome: &Outcome) -> Vec<Value> {
    outcome
        .records
        .iter()
        .map(|r| if r.reject.is_some() { Value::Null } else { serde_json::from_slice(&r.data).unwrap() })
        .collect()
}

pub fn read(text: &str, options: CsvOptions) -> (Outcome, Warnings) {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", text.as_bytes());
    let (outcome, warnings) = load(&path, csv(options.clone()), 1 << 20);
    for bytes in [1, 10] {
        let small = load(&path, csv(options.clone()), bytes).0;
        assert_eq!(small.records, outcome.records, "chunks of {bytes} bytes give something else");
        assert_eq!(small.bytes_read, text.len() as u64);
    }
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    (outcome, warnings)
}

pub fn schema(text: &str) -> CsvOptions {
    CsvOptions { schema: CsvOptions::parse_schema(text).unwrap(), ..CsvOptions::default() }
}

#[test]
fn cells_keep_their_type_and_empty_ones_are_absent() {
    let text = "int,float,bool,day,time,text,code\r\n\
                1,1.50,TRUE,2024-02-29,2024-02-29 10:00:00+01:00,\"a,\"\"b\"\"\r\n\",007\r\n\
                -2,.5,false,,,,\"\"\r\n\
                \r\n\
                18446744073709551615,5.,,2023-12-31,2023-12-31,é,01";
    let (outcome, warnings) = read(text, CsvOptions::default());
    assert_eq!(
        outcome.texts(),
        [
            "{\"int\":1,\"float\":1.50,\"bool\":true,\"day\":\"2024-02-29\",\"time\":\"2024-02-29T10:00:00+01:00\",\
         \"text\":\"a,\\\"b\\\"\\r\\n\",\"code\":\"007\"}",
            "{\"int\":-2,\"float\":0.5,\"bool\":false}",
            "{\"int\":18446744073709551615,\"float\":5.0,\"day\":\"2023-12-31\",\"time\":\"2023-12-31\",\"text\":\"é\",\
         \"code\":\"01\"}",
        ]
    );
    let lines: Vec<_> = outcome.records.iter().map(|r| r.at.line).collect();
    assert_eq!(lines, [2, 4, 6]);
    for record in &outcome.records {
        let row = &text[record.at.byte as usize..];
        assert!(["1,1", "-2", "184"].iter().any(|start| row.starts_with(start)));
    }
    assert_eq!(warnings.list(), []);
}

#[test]
fn all_strings_and_a_schema_overrule_the_guess() {
    let text = "a,b,c\n1,2,true\n";
    let strings = CsvOptions { all_strings: true, ..CsvOptions::default() };
    assert_eq!(read(text, strings).0.texts(), ["{\"a\":\"1\",\"b\":\"2\",\"c\":\"true\"}"]);
    let both = CsvOptions { all_strings: true, ..schema("b:integer") };
    assert_eq!(read(text, both).0.texts(), ["{\"a\":\"1\",\"b\":2,\"c\":\"true\"}"]);
    assert_eq!(read(text, schema("a:string,b:float")).0.texts(), ["{\"a\":\"1\",\"b\":2.0,\"c\":true}"]);
}

#[test]
fn cells_that_stand_for_nothing_are_absent_fields() {
    let text = "n,day,text\n1,NA,NA\nNA,2024-01-02,\\N\n\"NA\",\\N,na\nNA,NA,NA\n";
    let nulls = || vec!["NA".to_owned(), "\\N".to_owned()];
    let expected = [json!({"n": 1}), json!({"day": "2024-01-02"}), json!({"text": "na"}), json!({})];
    let (outcome, warnings) = read(text, CsvOptions { nulls: nulls(), ..CsvOptions::default() });
    assert_eq!(documents(&outcome), expected);
    assert_eq!(warnings.list(), [], "they say nothing about a column's type");
    let (outcome, _) = read(text, CsvOptions { nulls: nulls(), ..schema("n:integer,day:date") });
    assert_eq!(documents(&outcome), expected, "and fit every declared one");
}

#[test]
fn a_cell_against_its_declared_type_is_a_reject() {
    let text = "id,n,day\na,1,2024-01-01\nb,x\"y,2024-01-01\nc,,2024-02-30\nd,007,2024-01-02\n";
    let (outcome, warnings) = read(text, schema("n:integer,day:date"));
    let expected = [
        json!({"id": "a", "n": 1, "day": "2024-01-01"}),
        Value::Null,
        Value::Null,
        json!({"id": "d", "n": 7, "day": "2024-01-02"}),
    ];
    assert_eq!(documents(&outcome), expected);
    let (kind, reason) = outcome.records[1].reject.clone().unwrap();
    assert_eq!(kind, "bad_value");
    assert_eq!(
        reason,
        "column \"n\" holds \"x\\\"y\", expected integer; correct the value or the type in option `schema`"
    );
    assert_eq!(outcome.records[1].text(), "b,x\"y,2024-01-01");
    let at = outcome.records[2].at;
    assert_eq!((at.line, at.byte as usize, at.doc), (4, text.find("c,,").unwrap(), 2));
    let told: Vec<_> = warnings.list().into_iter().map(|warning| (warning.kind, warning.count)).collect();
    assert_eq!(told, [("quote_in_cell", 1)]);
}

#[test]
fn a_cell_against_a_guessed_type_is_a_string_and_a_warning() {
    let text = "n,m\n1,1\n2,2\nx,3\n4,4\ny,5\n";
    let options = CsvOptions { infer_rows: 2, ..CsvOptions::default() };
    let dir = tempfile::tempdir().unwrap();
    let (outcome, warnings) = load(&write(&dir, "a", text.as_bytes()), csv(options), 10);
    let n: Vec<_> = documents(&outcome).iter().map(|d| d["n"].clone()).collect();
    assert_eq!(n, [json!(1), json!(2), json!("x"), json!(4), json!("y")]);
    let list = warnings.list();
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].kind, list[0].column.as_str(), list[0].count), ("type_misfit", "n", 2));
    assert_eq!(
        list[0].message,
        "the first rows have whole numbers, line 4 has \"x\", which is sent as a string; correct it, or send all as strings \
         with option `schema=n:string`"
    );
}

/// The warnings as kind, column, count and message, by column.
pub fn told(warnings: &Warnings) -> Vec<(&'static str, String, u64, String)> {
    warnings.list().into_iter().map(|w| (w.kind, w.column, w.count, w.message)).collect()
}

#[test]
fn a_number_stays_a_number_wherever_it_stands() {
    let options = |infer_rows| CsvOptions { infer_rows, ..CsvOptions::default() };
    let cells = ["1", "2866.0", "2866.5", ".5", "1e3", "-0.25", "7"];
    for at in 0..cells.len() {
        let rows: Vec<&str> = cells[at..].iter().chain(&cells[..at]).copied().collect();
        let text = format!("votes\n{}\n", rows.join("\n"));
        for infer_rows in [1, 3, 100] {
            let (outcome, _) = read(&text, options(infer_rows));
            for (document, cell) in documents(&outcome).iter().zip(&rows) {
                assert_eq!(document["votes"].as_f64(), cell.parse().ok(), "{infer_rows} of {rows:?}");
            }
        }
    }
    let (outcome, warnings) = read("votes\n1\n\n2\n2866.0\n3\n2866.5\n", options(2));
    let expected = ["{\"votes\":1}", "{\"votes\":2}", "{\"votes\":2866.0}", "{\"votes\":3}", "{\"votes\":2866.5}"];
    assert_eq!(outcome.texts(), expected);
    let told = told(&warnings);
    assert_eq!((told[0].0, told[0].1.as_str(), told[0].2, told.len()), ("type_widened", "votes", 2, 1));
    assert!(
        told[0].3.contains("line 5 has \"2866.0\", which is sent as a number") && told[0].3.contains("votes:float")
    );
}

#[test]
fn what_changes_its_type_further_down_is_told_with_its_first_line() {
    let text = "n,day,flag,float,late\n\
                1,2024-01-01,true,0.5,\n\
                18446744073709551616,2024-01-01 10:00,yes,18446744073709551616,007\n\
                x,y\n\
                x,y,z,n/a,5\n";
    let options = CsvOptions { infer_rows: 1, ..CsvOptions::default() };
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", text.as_bytes());
    for bytes in [1, 1 << 20] {
        let (outcome, warnings) = load(&path, csv(options.clone()), bytes);
        assert_eq!(
            outcome.texts(),
            [
                r#"{"n":1,"day":"2024-01-01","flag":true,"float":0.5}"#,
                r#"{"n":"18446744073709551616","day":"2024-01-01T10:00","flag":"yes","float":18446744073709551616.0,"late":"007"}"#,
                "x,y",
                r#"{"n":"x","day":"y","flag":"z","float":"n/a","late":"5"}"#,
            ]
        );
        let told = told(&warnings);
        let places: Vec<_> = told
            .iter()
            .map(|(kind, column, count, message)| {
                let line = message.split("line ").nth(1).unwrap().split(' ').next().unwrap();
                (*kind, column.as_str(), *count, line)
            })
            .collect();
        assert_eq!(
            places,
            [
                ("placeholder_as_text", "float", 1, "5"),
                ("type_misfit", "day", 1, "5"),
                ("type_misfit", "flag", 2, "3"),
                ("type_misfit", "n", 2, "3"),
                ("type_unseen", "late", 1, "5"),
                ("type_widened", "day", 1, "3"),
            ],
            "{told:?}"
        );
        assert!(told.iter().any(|(_, _, _, message)| message.contains("option `schema=late:integer`")), "{told:?}");
    }
}

#[test]
fn the_line_is_right_behind_a_row_that_is_too_large() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("a,b\n1,2\n3,\"{}\"\n2.5,6\n", "x\n".repeat(5000));
    let options =
        FormatOptions { document_bytes_max: 2000, ..csv(CsvOptions { infer_rows: 1, ..CsvOptions::default() }) };
    for bytes in [10, 1 << 20] {
        let (_, warnings) = load(&write(&dir, "a", text.as_bytes()), options.clone(), bytes);
        assert!(told(&warnings)[0].3.contains("line 5004 has \"2.5\""), "{:?}", warnings.list());
    }
}

#[test]
fn nulls_schemas_and_strings_stay_what_they_are_beside_the_widening() {
    let text = "a,b,c,d\n1,1,1,1\nNA,2.5,2.5,2.5\n2.5,NA,NA,NA\n";
    let options = CsvOptions {
        infer_rows: 1,
        nulls: vec!["NA".to_owned()],
        text_columns: vec!["d".to_owned()],
        ..schema("b:integer,c:float")
    };
    let (outcome, warnings) = read(text, options.clone());
    assert_eq!(
        documents(&outcome),
        [json!({"a": 1, "b": 1, "c": 1.0, "d": "1"}), Value::Null, json!({"a": 2.5})],
        "a declared integer takes no fraction"
    );
    assert_eq!(warnings.list().len(), 1, "{:?}", warnings.list());
    let strings = CsvOptions { all_strings: true, schema: Vec::new(), ..options };
    let (outcome, warnings) = read(text, strings);
    assert_eq!(documents(&outcome)[2], json!({"a": "2.5"}));
    assert_eq!(warnings.list(), []);
}

/// Reads files for an index with these properties.
fn read_into(properties: Value, files: &[(&str, &str)], options: CsvOptions) -> (Vec<Value>, Warnings) {
    let dir = tempfile::tempdir().unwrap();
    let specs: Vec<_> = files.iter().map(|(name, text)| SourceSpec::new(write(&dir, name, text.as_bytes()))).collect();
    let warnings = Warnings::default();
    let mut source = open(&specs, csv(options), &warnings).unwrap();
    let fields = FieldTypes::of_mapping(&json!({"properties": properties}));
    source.form_rows(&RowForm { fields, ..RowForm::default() });
    (documents(&drain(&mut source, 1000)), warnings)
}

#[test]
fn a_column_that_is_text_for_a_few_cells_is_told_with_its_first_line() {
    let comma = CsvOptions { decimal_comma: true, separator: Some(b';'), ..CsvOptions::default() };
    let rows: String = (0..199).map(|n| format!("{n};1.{n:03},50\n")).collect();
    for (lines, above) in [("", 0), ("Title\n\n", 2)] {
        let text = format!("{lines}id;Preis\n{rows}\n199;auf Anfrage\n200;1,5\n");
        let (outcome, warnings) = read(&text, CsvOptions { skip_lines: above, ..comma.clone() });
        assert_eq!(documents(&outcome)[1], json!({"id": 1, "Preis": "1.001,50"}));
        let told = told(&warnings);
        let [("few_texts", column, 1, message)] = &told[..] else { panic!("{told:?}") };
        assert_eq!(column, "Preis");
        let line = 202 + above;
        assert!(message.contains(&format!("line {line} has \"auf Anfrage\" (1 of 201 rows")), "{message}");
    }
    let few = |rows| told(&read(&format!("id,p\n{}x,abc\n", "x,1.5\n".repeat(rows)), CsvOptions::default()).1);
    assert!(few(9).is_empty(), "{:?}", few(9));
    let found = few(10);
    assert_eq!((found.len(), found[0].0, found[0].1.as_str()), (1, "few_texts", "p"), "{found:?}");
    // Where the field takes text, strings are right.
    let text = format!("k,t,o\n{}x,x,x\n", "1,1,1\n".repeat(10));
    let fields = json!({"k": {"type": "keyword"}, "t": {"type": "text"}});
    let found = told(&read_into(fields, &[("a", text.as_str())], CsvOptions::default()).1);
    assert_eq!((found.len(), found[0].0, found[0].1.as_str()), (1, "few_texts", "o"), "{found:?}");
}

#[test]
fn points_in_a_file_of_numbers_with_a_comma_are_told_unless_the_target_has_text() {
    let comma = CsvOptions { decimal_comma: true, separator: Some(b';'), ..CsvOptions::default() };
    let text = "art;kg;eur\na1;1.125;1.19\na2;2.500;2.38\n";
    // As a load reads it, and as a query does.
    for each_cell in [false, true] {
        let (outcome, warnings) = read(text, CsvOptions { each_cell, ..comma.clone() });
        assert_eq!(documents(&outcome)[0], json!({"art": "a1", "kg": 1125, "eur": "1.19"}));
        let found = told(&warnings);
        let kinds: Vec<_> = found.iter().map(|(kind, column, ..)| (*kind, column.as_str())).collect();
        assert_eq!(kinds, [("points_as_groups", "kg"), ("points_as_text", "eur")], "{found:?}");
    }
    let fields = json!({"eur": {"type": "keyword"}, "kg": {"type": "keyword"}});
    let found = told(&read_into(fields, &[("a", text)], comma).1);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn points_between_groups_of_digits_are_told_beside_decimal_commas() {
    let text = "id;sum;kg\n1;1.000;1,1\n2;2.500;2,25\n";
    let semicolon = |csv: CsvOptions| CsvOptions { separator: Some(b';'), ..csv };
    let (outcome, warnings) = read(text, semicolon(CsvOptions::default()));
    assert_eq!(documents(&outcome)[1], json!({"id": 2, "sum": 2.5, "kg": "2,25"}));
    let found = told(&warnings);
    let [("groups_as_fractions", column, 1, message)] = &found[..] else { panic!("{found:?}") };
    assert!(column == "sum" && message.contains("\"1.000\" in line 2") && message.contains("option `decimal=,`"));
    let (outcome, warnings) = read(text, semicolon(CsvOptions { decimal_comma: true, ..CsvOptions::default() }));
    assert_eq!(documents(&outcome)[1], json!({"id": 2, "sum": 2500, "kg": 2.25}));
    assert_eq!(warnings.list(), []);
    for declared in ["sum:float", "sum:decimal-comma", "sum:string"] {
        assert_eq!(read(text, semicolon(schema(declared))).1.list(), [], "{declared}");
    }
    let fields = json!({"sum": {"type": "keyword"}});
    assert_eq!(read_into(fields, &[("a", text)], semicolon(CsvOptions::default())).1.list(), []);
}

#[test]
fn cells_for_fields_of_strings_are_sent_as_they_are_unless_the_schema_says_otherwise() {
    let text = "v,w,o.k,flag,day,n\n1.10,1.10,1E5,TRUE,2024-01-31 10:00,1.10\n,2,7,false,2024-02-01,\n";
    let fields = || {
        json!({
            "v": {"type": "keyword"}, "w": {"type": "version"}, "flag": {"type": "text"}, "n": {"type": "double"},
            "o": {"properties": {"k": {"type": "constant_keyword"}}}, "day": {"type": "match_only_text"},
        })
    };
    let (found, warnings) = read_into(fields(), &[("a", text)], CsvOptions::default());
    assert_eq!(
        found,
        [
            json!({"v": "1.10", "w": "1.10", "o.k": "1E5", "flag": "TRUE", "day": "2024-01-31 10:00", "n": 1.1}),
            json!({"w": "2", "o.k": "7", "flag": "false", "day": "2024-02-01"}),
        ]
    );
    assert_eq!(warnings.list(), []);
    let (found, _) = read_into(fields(), &[("a", text)], schema("v:float,w:float,flag:boolean"));
    assert_eq!((&found[0]["v"], &found[0]["flag"], &found[1]["w"]), (&json!(1.1), &json!(true), &json!(2.0)));
    // Comma or not, dots stay.
    let comma = CsvOptions { decimal_comma: true, separator: Some(b';'), ..CsvOptions::default() };
    let (found, _) = read_into(fields(), &[("a", "v;n\n1.125;1.125\n2,50;2,50\n")], comma);
    assert_eq!(found, [json!({"v": "1.125", "n": 1125.0}), json!({"v": "2,50", "n": 2.5})]);
}

#[test]
fn numbers_of_a_field_that_is_mapped_as_a_number_are_numbers_beside_any_text() {
    let fields = || json!({"p": {"type": "scaled_float", "scaling_factor": 100}, "n": {"type": "long"}, "k": {"type": "keyword"}});
    let text = "p,n,k\n1.5,on request,1\non request,7,2\nNA,x,3\nkg,8,x\n";
    let (found, warnings) = read_into(fields(), &[("a", text)], CsvOptions::default());
    let expected = [
        json!({"p": 1.5, "n": "on request", "k": "1"}),
        json!({"p": "on request", "n": 7, "k": "2"}),
        json!({"p": "NA", "n": "x", "k": "3"}),
        json!({"p": "kg", "n": 8, "k": "x"}),
    ];
    assert_eq!(found, expected);
    let kinds: Vec<_> = told(&warnings).into_iter().map(|(kind, column, count, _)| (kind, column, count)).collect();
    let kind = |kind, column: &str, count| (kind, column.to_owned(), count);
    assert_eq!(kinds, [kind("placeholder_as_text", "p", 1), kind("type_misfit", "n", 2), kind("type_misfit", "p", 2)]);
    // Codes stay as they are, and a file without numbers does not decide for the next one.
    let files = [("a", "p,n\nx,01067\n"), ("b", "p,n\n2.5,75001\nx,01067\n")];
    let (found, _) = read_into(fields(), &files, CsvOptions::default());
    let code = |p: Value, n: &str| json!({"p": p, "n": n});
    assert_eq!(found, [code("x".into(), "01067"), code(2.5.into(), "75001"), code("x".into(), "01067")]);
}

#[test]
fn whole_numbers_with_dots_between_their_groups_are_whole_numbers_where_numbers_have_a_comma() {
    let comma = |infer_rows| CsvOptions { decimal_comma: true, infer_rows, ..schema("d:integer") };
    let text = "a;b;c;d;e\n12;1.234;1,5;1.000;\n1.234;-2.500.000;1.234;7;1.000\n3;3.000;2;1'000;\n";
    for infer_rows in [1, 10_000] {
        let (outcome, warnings) = read(text, CsvOptions { separator: Some(b';'), ..comma(infer_rows) });
        let row = |a: u64, b: i64, c: f64, d: u64| json!({"a": a, "b": b, "c": c, "d": d});
        let mut second = row(1234, -2_500_000, 1234.0, 1000);
        second["d"] = json!(7);
        second["e"] = if infer_rows == 1 { json!("1.000") } else { json!(1000) };
        assert_eq!(documents(&outcome), [row(12, 1234, 1.5, 1000), second, row(3, 3000, 2.0, 1000)]);
        let kinds: Vec<_> = told(&warnings).into_iter().map(|told| told.0).collect();
        assert_eq!(kinds, if infer_rows == 1 { &["type_unseen"][..] } else { &[] });
    }
    // Addresses, and digits with blanks, are what their cells say.
    let text = "ip;id;n\n192.168.178.100;732 829 320;5\n192.168.178.101;732 829 321;192.168.178.102\n";
    let options = CsvOptions { separator: Some(b';'), schema: Vec::new(), ..comma(1) };
    let (outcome, warnings) = read(text, options);
    let row = |ip: &str, id: &str, n: Value| json!({"ip": ip, "id": id, "n": n});
    let first = row("192.168.178.100", "732 829 320", json!(5));
    assert_eq!(documents(&outcome), [first, row("192.168.178.101", "732 829 321", json!("192.168.178.102"))]);
    let kinds: Vec<_> = told(&warnings).into_iter().map(|told| told.0).collect();
    assert_eq!(kinds, ["type_misfit"]);
    // As an id it is what the cell says.
    let options = CsvOptions { separator: Some(b';'), ..comma(10_000) };
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", b"a;d\n1.234;1\n12;1\n");
    let mut source = open(&[SourceSpec::new(path)], csv(options), &Warnings::default()).unwrap();
    source.keep_texts(&["a".to_owned()]);
    let metas: Vec<_> = drain(&mut source, 1000).records.into_iter().filter_map(|record| record.meta).collect();
    let texts: Vec<&str> = metas.iter().flat_map(|meta| &meta.texts).map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["1.234", "12"]);
}

/// The page for readers has what `make odd-files` lets pass.
#[test]
fn known_differences_are_documented() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let strings = CsvOptions { all_strings: true, ..CsvOptions::default() };
    let (outcome, _) = load(&root.join("bench/odd_files/known.csv"), csv(strings), 1 << 20);
    let page = std::fs::read_to_string(root.join("docs/formats.md")).unwrap();
    let (_, list) = page.split_once("one of these reasons:\n\n- ").unwrap();
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told: BTreeSet<String> = list.split("\n- ").map(one_line).collect();
    let reasons: BTreeSet<String> =
        documents(&outcome).iter().map(|known| known["reason"].as_str().unwrap().to_owned()).collect();
    assert_eq!(told, reasons, "docs/formats.md says what bench/odd_files/known.csv says");
}

#[test]
fn ids_are_the_text_of_their_cells() {
    let text = "id,v,at,flag\n1,3,2024-01-01 10:00,TRUE\n2.50,4,,\n,5,,\n";
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", text.as_bytes());
    for bytes in [1, 1 << 20] {
        let mut files = open(&[SourceSpec::new(&path)], csv(CsvOptions::default()), &Warnings::default()).unwrap();
        files.keep_texts(&["id", "at", "flag", "other"].map(str::to_owned));
        let outcome = drain(&mut files, bytes);
        assert_eq!(outcome.texts()[0], r#"{"id":1.0,"v":3,"at":"2024-01-01T10:00","flag":true}"#);
        let texts: Vec<Vec<(String, String)>> = outcome
            .records
            .iter()
            .map(|r| r.meta.iter().flat_map(|m| &m.texts).map(|(k, v)| (k.to_string(), v.clone())).collect())
            .collect();
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            texts,
            [
                vec![pair("id", "1"), pair("at", "2024-01-01 10:00"), pair("flag", "TRUE")],
                vec![pair("id", "2.50")],
                vec![]
            ]
        );
        // Where documents write a cell as it is, nothing is kept besides.
        let mut files = open(&[SourceSpec::new(&path)], csv(CsvOptions::default()), &Warnings::default()).unwrap();
        files.keep_texts(&["v".to_owned()]);
        assert!(drain(&mut files, bytes).records.iter().all(|r| r.meta.is_none()));
    }
    // A declared whole number is the number, independent of other columns.
    let path = write(&dir, "b", b"n,x\n007,1\n");
    let mut files = open(&[SourceSpec::new(&path)], csv(schema("n:integer,x:float")), &Warnings::default()).unwrap();
    files.keep_texts(&["n", "x"].map(str::to_owned));
    let outcome = drain(&mut files, 1 << 20);
    assert_eq!(outcome.texts(), [r#"{"n":7,"x":1.0}"#]);
    assert_eq!(outcome.records[0].meta.as_ref().unwrap().texts, [("x".into(), "1".to_owned())]);
}

#[test]
fn many_equal_names_and_options_cost_no_more_than_their_number() {
    // The square of these numbers would take hours.
    let names = vec!["a"; 200_000].join(",");
    let cells = vec!["1"; 200_000].join(",");
    let (outcome, _) = load_text(&format!("{names}\n{cells}\n"), CsvOptions::default());
    assert!(outcome.texts()[0].ends_with("\"a_200000\":1}"));
    let names: Vec<String> = (0..100_000).map(|at| format!("c{at}")).collect();
    let types = names.iter().map(|name| (name.clone(), ColumnType::Float)).collect();
    let options = CsvOptions { header: Header::Names(names.clone()), schema: types, ..CsvOptions::default() };
    let cells = vec!["1"; 100_000].join(",");
    assert!(load_text(&cells, options.clone()).0.texts()[0].ends_with("\"c99999\":1.0}"));
    let options = CsvOptions { schema: Vec::new(), text_columns: names, ..options };
    assert!(load_text(&cells, options).0.texts()[0].ends_with("\"c99999\":\"1\"}"));
}

fn load_text(text: &str, options: CsvOptions) -> (Outcome, Warnings) {
    let dir = tempfile::tempdir().unwrap();
    load(&write(&dir, "a", text.as_bytes()), csv(options), 1 << 20)
}

#[test]
fn rows_with_another_number_of_cells_are_rejects() {
    let (outcome, _) = read("a,b\n1\n1,2\n1,2,3\n,\n", CsvOptions::default());
    assert_eq!(documents(&outcome), [Value::Null, json!({"a": 1, "b": 2}), Value::Null]);
    let reasons: Vec<_> = outcome.records.iter().filter_map(|r| r.reject.clone()).collect();
    assert_eq!(reasons[0], ("ragged_row", "row has 1 cells, expected 2, one for each column".to_owned()));
    assert!(reasons[1].1.contains("3 cells"));
    assert_eq!(outcome.records[2].text(), "1,2,3");
}

#[test]
fn a_comment_in_the_place_of_the_header_is_named() {
    let (outcome, _) = read("# from the shop, as of today\nid,name,price\n1,a,2\n", CsvOptions::default());
    let (_, reason) = outcome.records[0].reject.clone().unwrap();
    assert!(reason.contains("leave it out with option `comment=#`"), "{reason}");
}

#[test]
fn blanks_around_names_numbers_and_ids_are_told() {
    let text = "id, price,name\n 1 , 2.5,Ada\n2, 3.5,Grace \n3,,x\n";
    let of = |text: &str, options| {
        let dir = tempfile::tempdir().unwrap();
        let (path, warnings) = (write(&dir, "a", text.as_bytes()), Warnings::default());
        let mut source = open(&[SourceSpec::new(path)], csv(options), &warnings).unwrap();
        source.keep_texts(&["id".to_owned()]);
        drain(&mut source, 1000);
        told(&warnings)
    };
    let found = of(text, CsvOptions::default());
    let kinds: Vec<_> = found.iter().map(|(kind, column, count, _)| (*kind, column.as_str(), *count)).collect();
    let expected = [
        ("blanks_around_cells", " price", 1),
        ("blanks_around_cells", "id", 1),
        ("blanks_in_key", "id", 1),
        ("blanks_in_names", "", 1),
    ];
    assert_eq!(kinds, expected, "{found:?}");
    assert!(found[0].3.starts_with("line 2 has \" 2.5\", whose blanks make it text (2 of 3 rows"), "{found:?}");
    assert!(found[2].3.starts_with("line 2 has \" 1 \", and its blanks become a part"), "{found:?}");
    assert!(found.iter().all(|(.., message)| message.contains("option `trim`")), "{found:?}");
    assert_eq!(of(text, CsvOptions { trim: true, ..CsvOptions::default() }), []);
    // Beside a word they are no numbers, and words may have blanks.
    let words = "id,n\na, 5\nb,six\nc,x \n";
    assert_eq!(of(words, CsvOptions::default()), []);
}

#[test]
fn rows_that_a_stray_quote_has_swallowed_are_told_of() {
    let rows = |from: usize, to: usize| (from..to).map(|n| format!("{n},x\n")).collect::<String>();
    // Closed by the next quote at the beginning of a cell, 3,000 rows later.
    let text = format!("n,t\n{}1000,\"x\n{}4000,\"\n{}", rows(0, 1000), rows(1001, 4000), rows(4001, 4010));
    let (outcome, warnings) = read(&text, CsvOptions::default());
    assert_eq!(outcome.records.len(), 1010);
    let list = warnings.list();
    let long = list.iter().find(|warning| warning.kind == "long_row").unwrap();
    assert!(long.count == 1 && long.message.starts_with("the row at line 1002 has 3001 lines"), "{long:?}");
    // Never closed.
    let (outcome, warnings) = read(&format!("n,t\n1,x\n2,\"x\n{}", rows(3, 4000)), CsvOptions::default());
    let (kind, reason) = outcome.records[1].reject.clone().unwrap();
    assert!(kind == "unclosed_quote" && reason.contains("3998 lines"), "{reason}");
    assert_eq!(warnings.list(), []);
}

#[test]
fn an_unclosed_quote_that_is_too_large_tells_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    let text = "n,t\n1,x\n2,\"x\n".to_owned() + &"3,y\n".repeat(1000);
    let options = FormatOptions { document_bytes_max: 100, ..csv(CsvOptions::default()) };
    let (outcome, _) = load(&write(&dir, "a", text.as_bytes()), options, 10);
    assert_eq!(outcome.texts(), [r#"{"n":1,"t":"x"}"#]);
    let error = outcome.error.unwrap().message;
    assert!(error.contains("in the 1001 lines (4005 bytes)"), "{error}");
}

#[test]
fn text_after_a_closing_quote_is_told_of_and_escapes_can_be_given() {
    let text = "a,b\n\"x\\\"y\",1\n\"z\",2\n";
    let (outcome, warnings) = read(text, CsvOptions::default());
    assert_eq!(outcome.records[0].text(), r#"{"a":"x\\y\"","b":1}"#);
    let list = warnings.list();
    assert!(list.len() == 1 && list[0].kind == "text_after_quote", "{list:?}");
    assert!(
        list[0].message.starts_with("in the row at line 2 ") && list[0].message.contains("option `escape="),
        "{list:?}"
    );

    let escaped = || CsvOptions { escape: Some(b'\\'), ..CsvOptions::default() };
    let (outcome, warnings) = read(text, escaped());
    assert_eq!(documents(&outcome), [json!({"a": "x\"y", "b": 1}), json!({"a": "z", "b": 2})]);
    assert_eq!(warnings.list(), []);
    let text = "a,b\n\"1\\\n2\\\"\",\\N\n\\N,3\nx\\,y,4\n";
    let (outcome, _) = read(text, escaped());
    assert_eq!(documents(&outcome), [json!({"a": "1\n2\""}), json!({"b": 3}), json!({"a": "x,y", "b": 4})]);
    assert_eq!(outcome.records.iter().map(|r| r.at.line).collect::<Vec<_>>(), [2, 4, 5]);
    let same = CsvOptions { escape: Some(b'"'), ..CsvOptions::default() };
    assert!(open(&[SourceSpec::Stdin], csv(same), &Warnings::default()).err().unwrap().message.contains("doubled"));
}

#[test]
fn odd_quotes_are_told_with_the_first_line_of_the_file_in_whatever_order_chunks_come() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("\"{}\",1\n", "x\n".repeat(150));
    let text = format!("a,b\n1,1\n\"t\"1,2,ragged\n{long}\"t\"2,3\n{long}");
    let warnings = Warnings::default();
    let path = write(&dir, "a", text.as_bytes());
    let mut files = open(&[SourceSpec::new(&path)], csv(CsvOptions::default()), &warnings).unwrap();
    let mut chunks = Vec::new();
    while let Some(chunk) = files.next_chunk(1).unwrap() {
        chunks.push(chunk);
    }
    assert!(chunks.len() > 3, "{}", chunks.len());
    for chunk in chunks.into_iter().rev() {
        chunk.into_block();
    }
    let told = told(&warnings);
    let told: Vec<_> =
        told.iter().map(|(kind, column, count, message)| (*kind, column.as_str(), *count, message)).collect();
    assert_eq!((told[0].0, told[0].1, told[0].2), ("long_row", "", 2));
    assert!(told[0].3.starts_with("the row at line 4 has 151 lines"), "{told:?}");
    assert_eq!((told[1].0, told[1].1, told[1].2, told.len()), ("text_after_quote", "", 2, 2));
    assert!(told[1].3.starts_with("in the row at line 3 text follows"), "{told:?}");
}

#[test]
fn a_first_line_that_names_the_separator_is_taken_at_its_word() {
    let expected = [json!({"a": 1, "b": "x,y"}), json!({"a": 2, "b": "z|"})];
    for first in ["sep=;\r\n", "SEP=;\n", "\"sep=;\"\r"] {
        let (outcome, warnings) = read(&format!("{first}a;b\n1;x,y\n2;z|\n"), CsvOptions::default());
        assert_eq!(documents(&outcome), expected, "{first:?}");
        assert_eq!((outcome.records[0].at.line, warnings.list().len()), (3, 0));
    }
    let given = CsvOptions {
        separator: Some(b';'),
        header: Header::Names(vec!["a".into(), "b".into()]),
        ..CsvOptions::default()
    };
    assert_eq!(documents(&read("sep=;\n1;x,y\n2;z|\n", given).0), expected);
    let (outcome, _) = read("sep=,b\n1,2\n", CsvOptions::default());
    assert_eq!(documents(&outcome), [json!({"sep=": 1, "b": 2})]);
    let tab = read("sep=\ta\n", CsvOptions::default());
    assert_eq!(tab.1.list()[0].kind, "separator_guessed", "a header of two names");
    assert_eq!(documents(&read("sep=\t\na\tb\n1\t2\n", CsvOptions::default()).0), [json!({"a": 1, "b": 2})]);
    // No separator: the name of a column.
    for (first, options) in [
        ("sep=x", CsvOptions::default()),
        ("sep=1", CsvOptions::default()),
        ("sep= ", CsvOptions::default()),
        ("sep=\u{1}", CsvOptions::default()),
        ("sep=\"", CsvOptions::default()),
        ("sep='", CsvOptions { quote: Some(b'\''), ..CsvOptions::default() }),
    ] {
        let (outcome, _) = read(&format!("{first}\n1\n"), options);
        assert_eq!(documents(&outcome), [json!({(first): 1})], "{first:?}");
    }
    let escaped = CsvOptions { escape: Some(b'\\'), ..CsvOptions::default() };
    assert_eq!(documents(&read("sep=\\\n1\n2\n", escaped).0), [json!({"sep=\n1": 2})]);
}

#[test]
fn headers_can_be_missing_given_empty_or_repeated() {
    let numbered = CsvOptions { header: Header::Numbered, ..CsvOptions::default() };
    assert_eq!(read("1,x\n2,y", numbered).0.texts(), ["{\"c1\":1,\"c2\":\"x\"}", "{\"c1\":2,\"c2\":\"y\"}"]);
    let named = CsvOptions { header: Header::Names(vec!["n".into(), "t\"".into()]), ..CsvOptions::default() };
    assert_eq!(read("1,x", named).0.texts(), ["{\"n\":1,\"t\\\"\":\"x\"}"]);
    let (outcome, warnings) = read("\n,a,a\n1,2,3\n", CsvOptions::default());
    assert_eq!(outcome.texts(), ["{\"c1\":1,\"a\":2,\"a_2\":3}"]);
    assert_eq!(outcome.records[0].at.line, 3);
    assert_eq!(warnings.list()[0].kind, "duplicate_column");
    assert!(read("", CsvOptions::default()).0.records.is_empty());
    assert!(read("a,b", CsvOptions::default()).0.records.is_empty());
}

#[test]
fn separators_and_quotes_can_be_others() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in
        [("a.tsv", "a\tb\n1\t\"x\ty\"\n"), ("a.psv", "a|b\n1|\"x\ty\"\n"), ("a.csv", "a;b\n1;\"x\ty\"\n")]
    {
        let (outcome, warnings) = load(&write(&dir, name, text.as_bytes()), FormatOptions::default(), 100);
        assert_eq!(outcome.texts(), ["{\"a\":1,\"b\":\"x\\ty\"}"], "{name}");
        let guessed: Vec<_> = warnings.list().into_iter().map(|w| w.kind).collect();
        assert_eq!(guessed, if name == "a.csv" { vec!["separator_guessed"] } else { vec![] });
    }
    let unquoted = CsvOptions { quote: None, ..CsvOptions::default() };
    assert_eq!(read("a,b\n\"1,2\"\n", unquoted).0.texts(), ["{\"a\":\"\\\"1\",\"b\":\"2\\\"\"}"]);
    let single = CsvOptions { quote: Some(b'\''), ..CsvOptions::default() };
    assert_eq!(read("a,b\n'1,\n',2\n", single).0.texts(), ["{\"a\":\"1,\\n\",\"b\":2}"]);
}

#[test]
fn contradictions_are_told_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.csv", b"a,b\n1,2\n");
    let (outcome, _) = load(&path, csv(schema("a:integer,z:float")), 100);
    assert!(outcome.error.unwrap().message.contains("column \"z\", which does not exist; columns are a, b"));
    let same = CsvOptions { separator: Some(b'"'), ..CsvOptions::default() };
    assert!(open(&[SourceSpec::new(&path)], csv(same), &Warnings::default()).is_err());
    // The separator that is taken where none is given, and the one that the first line suggests.
    let commas = CsvOptions { quote: Some(b','), ..CsvOptions::default() };
    let error = load(&path, csv(commas), 100).0.error.unwrap().message;
    assert!(error.contains("separator and quote are the same character"), "{error}");
    let bars = CsvOptions { quote: Some(b'|'), ..CsvOptions::default() };
    assert_eq!(read("|a|\n|1|\n", bars).0.texts(), [r#"{"a":1}"#]);
    assert!(CsvOptions::parse_schema("a:int").unwrap_err().contains("unknown column type \"int\""));
    assert!(CsvOptions::parse_schema("a").unwrap_err().contains("has no type"));
    assert_eq!(CsvOptions::parse_schema("a:b:date"), Ok(vec![("a:b".to_owned(), ColumnType::Date)]));
    assert_eq!((CsvOptions::parse_byte("\\t"), CsvOptions::parse_byte("|")), (Ok(b'\t'), Ok(b'|')));
    assert!(CsvOptions::parse_byte("é").is_err());
}

#[test]
fn a_quote_that_is_never_closed_is_told() {
    let text = format!("a,b\n1,2\n3,\"{}", "x\n".repeat(100));
    let (outcome, _) = read(&text, CsvOptions::default());
    let kinds: Vec<_> = outcome.records.iter().map(|r| r.kind()).collect();
    assert_eq!(kinds, ["", "unclosed_quote"]);
    assert_eq!(outcome.records[1].at.line, 3);
    let dir = tempfile::tempdir().unwrap();
    let text = format!("a,b\n1,2\n3,\"{}", "x\n".repeat(10_000));
    let options = FormatOptions { document_bytes_max: 2000, ..csv(CsvOptions::default()) };
    let (outcome, _) = load(&write(&dir, "a", text.as_bytes()), options, 500);
    assert_eq!(outcome.texts(), ["{\"a\":1,\"b\":2}"]);
    let message = outcome.error.unwrap().message;
    assert!(message.contains("record at byte 8 has a quote that is not closed"), "{message}");
}

#[test]
fn a_row_that_is_too_large_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("a,b\n1,2\n3,\"{}\"\r\n5,6\n{}\n7,8\n", "x\n".repeat(10_000), "y".repeat(5000));
    let path = write(&dir, "a", text.as_bytes());
    for bytes in [10, 1 << 20] {
        let options = FormatOptions { document_bytes_max: 2000, ..csv(CsvOptions::default()) };
        let (outcome, _) = load(&path, options, bytes);
        let expected = [json!({"a":1,"b":2}), Value::Null, json!({"a":5,"b":6}), Value::Null, json!({"a":7,"b":8})];
        // The row that is left out was seen when the types were guessed.
        let found = documents(&outcome);
        assert_eq!(
            found.iter().map(|d| &d["a"]).collect::<Vec<_>>(),
            expected.iter().map(|d| &d["a"]).collect::<Vec<_>>()
        );
        let at: Vec<_> = outcome.records.iter().map(|r| (r.kind(), r.at.line, r.data.len())).collect();
        assert_eq!(
            at,
            [("", 2, 15), ("too_large", 3, 1024), ("", 10_004, 15), ("too_large", 10_005, 1024), ("", 10_006, 15)]
        );
        assert!(outcome.records[1].reject.as_ref().unwrap().1.contains("20004 bytes"));
    }
}

#[test]
fn rows_that_are_no_utf_8_are_rejects_unless_a_charset_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.csv", b"name,n\nAndr\xE9,1\nBob,2\n");
    let (outcome, _) = load(&path, FormatOptions::default(), 100);
    assert_eq!(outcome.records.iter().map(|r| r.kind()).collect::<Vec<_>>(), ["invalid_utf8", ""]);
    assert_eq!(outcome.records[0].data, b"Andr\xE9,1");
    let latin1 = FormatOptions { charset: Some("latin1".parse().unwrap()), ..FormatOptions::default() };
    assert_eq!(load(&path, latin1, 100).0.texts(), ["{\"name\":\"André\",\"n\":1}", "{\"name\":\"Bob\",\"n\":2}"]);
    let path = write(&dir, "b.csv", b"\xEF\xBB\xBFname,n\nx,1\n");
    let (outcome, _) = load(&path, FormatOptions::default(), 100);
    assert_eq!(outcome.texts(), ["{\"name\":\"x\",\"n\":1}"]);
    assert_eq!(outcome.records[0].at.byte, 10);
    let path = write(&dir, "c.csv", b"pr\xE9nom\nx\n");
    assert!(load(&path, FormatOptions::default(), 100).0.error.unwrap().message.contains("header is not UTF-8"));
}

#[test]
fn columns_keep_their_type_from_file_to_file() {
    let dir = tempfile::tempdir().unwrap();
    let specs: Vec<_> = [("a.csv", "code,x\n01000,\n"), ("b.csv", "x,code\n1,75001\n")]
        .into_iter()
        .map(|(name, text)| SourceSpec::new(write(&dir, name, text.as_bytes())))
        .collect();
    let outcome = drain(&mut open(&specs, FormatOptions::default(), &Warnings::default()).unwrap(), 100);
    assert_eq!(outcome.texts(), ["{\"code\":\"01000\"}", "{\"x\":1,\"code\":\"75001\"}"]);
}

#[test]
fn blocks_stay_about_as_large_as_they_were_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..20).map(|i| format!("a_rather_long_name_of_a_column_{i}")).collect();
    let text = format!("{}\n{}", names.join(","), "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0\n".repeat(20_000));
    let (outcome, _) = load(&write(&dir, "a.csv", text.as_bytes()), FormatOptions::default(), 100_000);
    assert_eq!(outcome.records.len(), 20_000);
    assert!((50_000..120_000).contains(&outcome.largest), "{}", outcome.largest);
}

#[test]
fn compressed_csv_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a.csv.gz", &compress("gzip", b"a,b\n1,2\n"));
    assert_eq!(load(&path, FormatOptions::default(), 100).0.texts(), ["{\"a\":1,\"b\":2}"]);
}

#[test]
fn real_files_have_the_rows_they_are_known_to_have() {
    if let Some(path) = shared("dvf/hendaye-64.csv") {
        let (outcome, warnings) = load(&path, FormatOptions::default(), 50_000);
        assert_eq!((outcome.records.len(), warnings.list().len()), (2575, 0));
        let all = documents(&outcome);
        assert!(all.iter().all(|d| d["code_postal"] == json!(64700) && d["date_mutation"].is_string()));
        check_against_csv_core(&path, b',', &all);
    }
    if let Some(path) = shared("dvf/valeursfoncieres-2018-extrait.txt") {
        let options = CsvOptions { separator: Some(b'|'), ..CsvOptions::default() };
        let (outcome, warnings) = load(&path, csv(options), 50_000);
        assert_eq!((outcome.records.len(), warnings.list().len()), (10_000, 0));
        let all = documents(&outcome);
        assert!(all[0]["c1"].is_number() && all[0]["Date mutation"].is_string());
        check_against_csv_core(&path, b'|', &all);
    }
}

/// Compares the number of fields of each document with the cells that are not empty, as csv-core
/// sees them.
fn check_against_csv_core(path: &std::path::Path, separator: u8, documents: &[Value]) {
    let rows = csv_core_rows(&std::fs::read(path).unwrap(), separator, Some(b'"'));
    assert_eq!(rows.len(), documents.len() + 1);
    for (row, document) in rows[1..].iter().zip(documents) {
        let filled = row.iter().filter(|cell| !cell.is_empty()).count();
        assert_eq!(document.as_object().unwrap().len(), filled);
    }
}

fn csv_core_rows(data: &[u8], separator: u8, quote: Option<u8>) -> Vec<Vec<Vec<u8>>> {
    let mut reader = csv_core::ReaderBuilder::new()
        .delimiter(separator)
        .quoting(quote.is_some())
        .quote(quote.unwrap_or(b'"'))
        .build();
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = data;
    let mut out = [0; 1024];
    loop {
        let (result, read, written) = reader.read_field(rest, &mut out);
        rest = &rest[read..];
        cell.extend_from_slice(&out[..written]);
        match result {
            csv_core::ReadFieldResult::Field { record_end } => {
                row.push(std::mem::take(&mut cell));
                if record_end {
                    rows.push(std::mem::take(&mut row));
                }
            }
            csv_core::ReadFieldResult::End => return rows,
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_in_any_chunks_has_the_rows_of_csv_core(
        text in proptest::collection::vec(proptest::sample::select(&b"abc\\1,,,\"\"\"\n\n\r"[..]), 0..300),
        bytes in 1..60_usize,
        quoting: bool,
    ) {
        let quote = quoting.then_some(b'"');
        let text = [b"p,q\n", &text[..]].concat();
        let dir = tempfile::tempdir().unwrap();
        let header = Header::Names(vec!["x".into(), "y".into()]);
        let options = CsvOptions { quote, header, separator: Some(b','), all_strings: true, ..CsvOptions::default() };
        let (outcome, _) = load(&write(&dir, "a", &text), csv(options), bytes);
        let mut rows = csv_core_rows(&text, b',', quote);
        // Rows of empty cells are left out, unless the last one is not complete.
        let is_empty = |row: &Vec<Vec<u8>>| row.len() == 2 && row.iter().all(Vec::is_empty);
        let last = rows.pop();
        rows.retain(|row| !is_empty(row));
        let is_unclosed = outcome.records.last().is_some_and(|record| record.kind() == "unclosed_quote");
        rows.extend(last.filter(|row| is_unclosed || !is_empty(row)));
        prop_assert_eq!(outcome.records.len(), rows.len());
        prop_assert_eq!(outcome.bytes_read, text.len() as u64);
        for (i, (record, row)) in outcome.records.iter().zip(&rows).enumerate() {
            prop_assert_eq!(record.at.doc, i as u64);
            match record.kind() {
                "" => {
                    prop_assert_eq!(row.len(), 2);
                    let fields = ["x", "y"].into_iter().zip(row).filter(|(_, cell)| !cell.is_empty());
                    let expected: Value = fields.map(|(name, cell)| (name, std::str::from_utf8(cell).unwrap())).collect();
                    prop_assert_eq!(serde_json::from_slice::<Value>(&record.data).unwrap(), expected);
                }
                "ragged_row" => prop_assert_ne!(row.len(), 2),
                "unclosed_quote" => prop_assert_eq!(i, rows.len() - 1),
                other => prop_assert!(false, "{}", other),
            }
            // The place is that of the row's first byte.
            let byte = record.at.byte as usize;
            prop_assert!(byte == 0 || b"\r\n".contains(&text[byte - 1]));
            if record.reject.is_some() {
                prop_assert!(text[byte..].starts_with(&record.data));
            }
        }
    }
}
