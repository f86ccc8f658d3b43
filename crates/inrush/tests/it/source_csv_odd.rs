//! CSV that other programs wrote in their own way: lines above the header, repeated headers, codes
//! that look like numbers, escape sequences, quotes within cells.

use inrush_core::RowForm;
use inrush_sources::{CsvOptions, Header, Source, SourceSpec, Warnings, open};
use serde_json::{Value, json};

use crate::source_csv::{csv, documents, read, schema, told};
use crate::source_support::{Outcome, compress, drain, load, write};

/// The kinds of the warnings, their columns and counts.
fn kinds(warnings: &Warnings) -> Vec<(&'static str, String, u64)> {
    told(warnings).into_iter().map(|(kind, column, count, _)| (kind, column, count)).collect()
}

fn lines(outcome: &Outcome) -> Vec<u64> {
    outcome.records.iter().map(|record| record.at.line).collect()
}

fn skip(skip_lines: u32) -> CsvOptions {
    CsvOptions { skip_lines, ..CsvOptions::default() }
}

#[test]
fn lines_above_the_header_are_skipped() {
    let ann = [json!({"id": 1, "name": "Ann"})];
    for (text, skip_lines, line) in [
        ("Report, 2024\nid,name\n1,Ann\n", 1, 3),
        ("\"an open quote\r\n\r\nid,name\r\n1,Ann", 2, 4),
        ("title;x\n\n\nid,name\n\n1,Ann\n", 3, 6),
        ("a\rb\rid,name\r1,Ann\r", 2, 4),
        ("\u{FEFF}sep=;\nid,name\n1,Ann\n", 1, 3),
    ] {
        let (outcome, warnings) = read(text, skip(skip_lines));
        assert_eq!(documents(&outcome), ann, "{text:?}");
        assert_eq!((lines(&outcome), kinds(&warnings)), (vec![line], vec![]), "{text:?}");
        let byte = outcome.records[0].at.byte as usize;
        assert!(text[byte..].starts_with("1,Ann"), "{text:?} {byte}");
    }
    // Without a header, and a file that ends above its rows.
    let headless = CsvOptions { header: Header::Numbered, ..skip(1) };
    let (outcome, _) = read("x\n1,2\n3,4\n", headless);
    assert_eq!((documents(&outcome)[0].clone(), lines(&outcome)), (json!({"c1": 1, "c2": 2}), vec![2, 3]));
    assert_eq!(read("x\ny\n", skip(9)).0.records.len(), 0);
    // A warning behind skipped lines names the line of the file.
    let (_, warnings) = read("t\nt\nn\n1\n2\nx\n", CsvOptions { infer_rows: 2, ..skip(2) });
    assert!(told(&warnings)[0].3.contains("line 6 has \"x\""), "{:?}", warnings.list());
    // Dead letters of rows that do not fit the first line say what to do.
    let ragged = read("Report\nid,name\n1,Ann\n", CsvOptions::default()).0;
    assert!(ragged.records[0].reject.as_ref().unwrap().1.contains("option `skip_lines=N`"));
    let comment = read("id\n# exported, by x\n", CsvOptions::default()).0;
    assert!(comment.records[0].reject.as_ref().unwrap().1.contains("option `comment=#`"));
}

#[test]
fn comments_are_left_out_wherever_they_stand() {
    let comment = |comment| CsvOptions { comment: Some(comment), ..CsvOptions::default() };
    for (text, byte) in [
        ("# exported by x\nid,name\n1,Ann\n", b'#'),
        ("id,name\n# it's, \"an open quote\n1,Ann\n# end", b'#'),
        ("%a\r\n%\"b\r\nid,name\r\n%\r\n1,Ann\r\n", b'%'),
        (";;;\nid,name\n;\n1,Ann\n", b';'),
    ] {
        let (outcome, warnings) = read(text, comment(byte));
        assert_eq!(documents(&outcome), [json!({"id": 1, "name": "Ann"})], "{text:?}");
        assert_eq!(kinds(&warnings), [], "{text:?}");
        let line = text[..text.find("1,Ann").unwrap()].matches('\n').count() as u64 + 1;
        assert_eq!(lines(&outcome), [line], "{text:?}");
    }
    // Within a row, and in quotes, the character is one of the value.
    let (outcome, _) = read("id,name\n1,#a\n\"#2\",b\n", comment(b'#'));
    assert_eq!(documents(&outcome), [json!({"id": "1", "name": "#a"}), json!({"id": "#2", "name": "b"})]);
    // A separator in a comment does not count for the guess.
    let (outcome, _) = read("# a,b\nid;name\n1;Ann\n", comment(b'#'));
    assert_eq!(documents(&outcome), [json!({"id": 1, "name": "Ann"})]);
    for (options, problem) in [
        (CsvOptions { comment: Some(b'"'), ..CsvOptions::default() }, "comment is the same"),
        (CsvOptions { comment: Some(b','), separator: Some(b','), ..CsvOptions::default() }, "separator and comment"),
    ] {
        let error = open(&[SourceSpec::Stdin], csv(options), &Warnings::default()).err().unwrap();
        assert!(error.message.contains(problem), "{error}");
    }
}

#[test]
fn a_line_of_dashes_below_the_header_is_left_out() {
    let expected = [json!({"id": 1, "name": "Ann"})];
    for text in [
        "id,name\n--,----\n1,Ann\n",
        "id;name\n-----------;--------\n1;Ann\n",
        "id,name\r\n==,====\r\n1,Ann\r\n",
        "id,name\n--,-\n1,Ann\n",
    ] {
        let (outcome, warnings) = read(text, CsvOptions::default());
        assert_eq!(documents(&outcome), expected, "{text:?}");
        assert!(told(&warnings).iter().any(|told| told.0 == "rule_below_header"), "{text:?}");
        assert_eq!(lines(&outcome), [3]);
    }
    // As values that stand for nothing, they stay.
    for text in ["id,name\n-,-\n1,Ann\n", "id,note\n,--\n2,x\n"] {
        let (outcome, _) = read(text, CsvOptions::default());
        assert_eq!(outcome.records.len(), 2, "{text:?}");
    }
}

#[test]
fn text_in_the_first_row_only_is_told() {
    for (text, column, hint) in [
        ("Report, 2024\nid,name\n1,Ann\n2,Bob\n", "Report", "option `skip_lines`"),
        ("mass,at\nkg,UTC\n1.5,2024-01-01\n", "mass", "option `schema=mass:float`"),
        ("a,b\nn.a.,x\n7,y\n", "a", "whole numbers"),
    ] {
        let (_, warnings) = read(text, CsvOptions::default());
        let told = told(&warnings);
        assert!(
            told.iter().any(|(kind, name, _, message)| {
                (*kind, name.as_str()) == ("text_in_first_row", column) && message.contains(hint)
            }),
            "{told:?}"
        );
    }
    assert_eq!(kinds(&read("a,b\nx,1\n7,y\nz,2\ny,z\n", CsvOptions::default()).1), []);
    assert_eq!(kinds(&read("a\nkg\n1\n", schema("a:string")).1), []);
}

#[test]
fn a_title_where_the_names_should_be_is_told() {
    for text in ["Export;;\nid;name;town\n1;Ann;Rye\n", "Export;2024-01-01;;\nid;name;town;n\n1;Ann;Rye;2\n"] {
        let told = told(&read(text, CsvOptions { separator: Some(b';'), ..CsvOptions::default() }).1);
        let title = told.iter().find(|told| told.0 == "title_as_header").map(|told| told.3.as_str());
        assert!(title.is_some_and(|title| title.contains("option `skip_lines`")), "{told:?}");
    }
    // An index without a name, and a separator at the end of each line.
    for text in ["\"\",n\na,1\nb,2\n", "a,\nx,\ny,\n"] {
        assert_eq!(kinds(&read(text, CsvOptions::default()).1), [], "{text:?}");
    }
}

#[test]
fn rows_of_empty_cells_are_left_out_and_told() {
    let semicolon = || CsvOptions { separator: Some(b';'), ..CsvOptions::default() };
    let text = "id;n;t\n1;1.5;x\n;;\n\"\";;\n2;2;y\n;;\n";
    let (outcome, warnings) = read(text, semicolon());
    assert_eq!(documents(&outcome), [json!({"id": 1, "n": 1.5, "t": "x"}), json!({"id": 2, "n": 2.0, "t": "y"})]);
    assert_eq!((lines(&outcome), kinds(&warnings)), (vec![2, 5], vec![("empty_rows", String::new(), 3)]));
    assert!(told(&warnings)[0].3.starts_with("the row at line 3 has only empty cells"), "{:?}", warnings.list());
    // Above the header, too, and with blanks that do not count.
    let (outcome, warnings) = read(";;\n;;\nid;n;t\n ;;\t\n1;1.5;x\n", CsvOptions { trim: true, ..semicolon() });
    assert_eq!(documents(&outcome), [json!({"id": 1, "n": 1.5, "t": "x"})]);
    assert_eq!((lines(&outcome), kinds(&warnings)), (vec![5], vec![("empty_rows", String::new(), 3)]));
    // An update names the nulls of other rows, and ids belong to their rows.
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", (text.to_owned() + ";;\";\"\n").as_bytes());
    let mut files = open(&[SourceSpec::new(path)], csv(semicolon()), &Warnings::default()).unwrap();
    files.form_rows(&RowForm { nulls: true, ..RowForm::default() });
    files.keep_texts(&["n".to_owned()]);
    let records = drain(&mut files, 1 << 20).records;
    let metas: Vec<_> = records.iter().map(|record| record.meta.as_ref().map_or(&[][..], |meta| &meta.texts)).collect();
    let texts: Vec<_> = metas.iter().map(|texts| texts.first().map_or("", |(_, text)| text.as_str())).collect();
    assert_eq!(texts, ["1.5", "2", ""]);
    // These are rows: another number of cells, a single column, a word for no value.
    assert!(read("a,b,c\n1,2,3\n,\n", CsvOptions::default()).0.records[1].reject.is_some());
    assert_eq!(documents(&read("a\nx\n\"\"\n", CsvOptions::default()).0), [json!({"a": "x"}), json!({})]);
    let nulls = CsvOptions { nulls: vec!["NA".to_owned()], ..CsvOptions::default() };
    assert_eq!(documents(&read("a,b\nNA,NA\n", nulls).0), [json!({})]);
}

#[test]
fn a_repeated_header_is_left_out_and_types_stay() {
    let expected = [json!({"id": 1, "price": 5}), json!({"id": 3, "price": 7})];
    for text in [
        "id,price\n1,5\nid,price\n3,7\n",
        "id,price\r\n1,5\r\n\"id\",\"price\"\r\n3,7\r\n",
        "\"id\",\"price\"\n1,5\nid,price\n3,7\nid,price",
        "\u{FEFF}id,price\n1,5\n\u{FEFF}id,price\n3,7\n",
        "id,price\n--,-----\n1,5\n\nid,price\n3,7\n",
    ] {
        // In the sample and behind it.
        for infer_rows in [1, 10_000] {
            let (outcome, warnings) = read(text, CsvOptions { infer_rows, ..CsvOptions::default() });
            assert_eq!(documents(&outcome), expected, "{text:?}");
            let told = told(&warnings);
            let repeated = told.iter().find(|told| told.0 == "repeated_header").unwrap();
            let times = text.matches("id").count() as u64 - 1;
            assert_eq!(repeated.2, times, "{told:?}");
            assert!(repeated.3.contains("repeats the header"), "{told:?}");
            assert!(told.iter().all(|told| matches!(told.0, "repeated_header" | "rule_below_header")), "{told:?}");
        }
    }
    let (_, warnings) = read("id,price\n1,5\n\nid,price\n3,7\n", CsvOptions::default());
    assert!(told(&warnings)[0].3.starts_with("the row at line 4 repeats"), "{:?}", warnings.list());
    // Names of the user's, declared types, an escape, and names with separators in them.
    let named = CsvOptions { header: Header::Names(vec!["id".into(), "price".into()]), ..CsvOptions::default() };
    assert_eq!(documents(&read("id,price\n1,5\n3,7\n", named).0), expected);
    assert_eq!(documents(&read("id,price\n1,5\nid,price\n3,7\n", schema("price:integer")).0), expected);
    let escape = CsvOptions { escape: Some(b'\\'), ..CsvOptions::default() };
    assert_eq!(documents(&read("id,price\n1,5\nid,price\n3,7\n", escape).0), expected);
    let odd = "id,\"a,\nb\"\n1,x\nid,\"a,\nb\"\n2,y\n";
    let (outcome, _) = read(odd, CsvOptions::default());
    assert_eq!(documents(&outcome), [json!({"id": 1, "a,\nb": "x"}), json!({"id": 2, "a,\nb": "y"})]);
    assert_eq!(lines(&outcome), [3, 6]);
    // Values in the first row: the header is missing, and others may be equal to it.
    let (outcome, _) = read("0,0\n0,0\n1,5\n0,0\n", CsvOptions::default());
    assert_eq!(outcome.records.len(), 3);
}

#[test]
fn parts_of_an_archive_may_each_have_a_header() {
    let part = |text: &str| compress("gzip", text.as_bytes());
    let text = [part("id,price\n1,5\n"), part("id,price\n3,7\n"), part("id,price\n4,8\n")].concat();
    let dir = tempfile::tempdir().unwrap();
    let (outcome, warnings) = load(&write(&dir, "a.csv.gz", &text), csv(CsvOptions::default()), 1 << 20);
    assert_eq!(documents(&outcome), [1, 3, 4].map(|id| json!({"id": id, "price": id + 4})));
    assert_eq!(kinds(&warnings), [("repeated_header", String::new(), 2)]);
}

#[test]
fn a_row_that_may_be_data_is_no_header() {
    // A word list may have its own name in it; a column of numbers has not.
    let (outcome, warnings) = read("word\na\nword\nb\n", CsvOptions::default());
    assert_eq!((outcome.records.len(), kinds(&warnings).len()), (3, 0));
    let (outcome, warnings) = read("id\n1\nid\n2\n", CsvOptions::default());
    assert_eq!(documents(&outcome), [json!({"id": 1}), json!({"id": 2})]);
    assert_eq!(kinds(&warnings), [("repeated_header", String::new(), 1)]);
    let text = "id,n\n1,id\nid,x\nid,n,\nxid,n\nID,n\n";
    let (outcome, warnings) = read(text, CsvOptions::default());
    assert_eq!(outcome.records.len(), 5, "{text:?}");
    assert!(kinds(&warnings).iter().all(|told| told.0 != "repeated_header"), "{warnings:?}");
    let numbered = CsvOptions { header: Header::Numbered, ..CsvOptions::default() };
    assert_eq!(read("a,b\nc,d\na,b\n", numbered).0.records.len(), 3);
}

#[test]
fn columns_and_documents_of_a_chunk_with_repeated_headers_agree() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "a", b"id,n\n1,a\nid,n\n2,b\n\"id\",\"n\"\n3,c\n");
    let mut files = open(&[SourceSpec::new(&path)], csv(CsvOptions::default()), &Warnings::default()).unwrap();
    files.keep_texts(&["id".to_owned(), "n".to_owned()]);
    let outcome = drain(&mut files, 1 << 20);
    let ids: Vec<Value> = documents(&outcome).iter().map(|document| document["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2), json!(3)]);
}

#[test]
fn codes_that_look_like_numbers_stay_as_they_are() {
    for (text, expected, kind) in [
        ("sku,n\n10001,1\n10002,2\n1E5,3\n", [json!("10001"), json!("10002"), json!("1E5")], Some("codes_as_text")),
        ("sku,n\n1e5,1\n7,2\n8,3\n", [json!("1e5"), json!("7"), json!("8")], Some("codes_as_text")),
        (
            "sku,n\n12E12,1\n18446744073709551616,2\n5,3\n",
            [json!("12E12"), json!("18446744073709551616"), json!("5")],
            Some("codes_as_text"),
        ),
        ("sku,n\n10001,1\n1e+05,2\n2,3\n", [json!(10001.0), json!(1e5), json!(2.0)], Some("whole_as_fractions")),
        ("sku,n\n1,1\n1.5,2\n1E5,3\n", [json!(1.0), json!(1.5), json!(1e5)], None),
    ] {
        let (outcome, warnings) = read(text, CsvOptions::default());
        let skus: Vec<Value> = documents(&outcome).iter().map(|document| document["sku"].clone()).collect();
        assert_eq!(skus, expected, "{text:?}");
        let told: Vec<_> = kinds(&warnings).into_iter().map(|(kind, column, _)| (kind, column)).collect();
        let expected: Vec<_> = kind.into_iter().map(|kind| (kind, "sku".to_owned())).collect();
        assert_eq!(told, expected, "{text:?}");
        // The text of an id is that of its cell.
        let dir = tempfile::tempdir().unwrap();
        let path = write(&dir, "a", text.as_bytes());
        let mut files = open(&[SourceSpec::new(&path)], csv(CsvOptions::default()), &Warnings::default()).unwrap();
        files.keep_texts(&["sku".to_owned()]);
        for (record, line) in drain(&mut files, 1 << 20).records.iter().zip(text.lines().skip(1)) {
            let kept = record.meta.as_ref().and_then(|meta| meta.texts.first().map(|(_, text)| text.clone()));
            let written: Value = serde_json::from_slice(&record.data).unwrap();
            let id = kept.or_else(|| written["sku"].as_str().map(str::to_owned));
            assert_eq!(id.as_deref(), line.split(',').next(), "{text:?}");
        }
    }
    let told_to = read("sku\n10001\n1E5\n", schema("sku:float"));
    assert_eq!((told_to.0.texts()[1], kinds(&told_to.1)), ("{\"sku\":1E5}", vec![]));
    // Behind the sample whole numbers stay as they are, and the warning is that of a wider type.
    let (outcome, warnings) = read("sku\n1\n2\n1E5\n3\n", CsvOptions { infer_rows: 2, ..CsvOptions::default() });
    assert_eq!(outcome.texts(), ["{\"sku\":1}", "{\"sku\":2}", "{\"sku\":1E5}", "{\"sku\":3}"]);
    assert_eq!(kinds(&warnings), [("type_widened", "sku".to_owned(), 1)]);
}

#[test]
fn dates_with_a_comma_before_the_fraction_are_dates() {
    let text = "at;n\n2015-06-01 15:56:39,213;1\n2015-06-01 15:56:40,5;2\n2015-06-01T15:56:40,213456Z;3\n";
    let (outcome, _) = read(text, CsvOptions { separator: Some(b';'), ..CsvOptions::default() });
    let dates: Vec<Value> = documents(&outcome).iter().map(|document| document["at"].clone()).collect();
    assert_eq!(dates, ["2015-06-01T15:56:39.213", "2015-06-01T15:56:40.5", "2015-06-01T15:56:40.213456Z"]);
    let quoted = read("at,n\n\"2015-06-01 15:56:39,213\",1\n", CsvOptions::default()).0;
    assert_eq!(documents(&quoted)[0]["at"], "2015-06-01T15:56:39.213");
}

#[test]
fn escape_sequences_of_text_without_quotes_are_control_characters() {
    let copy = || CsvOptions {
        separator: Some(b'\t'),
        quote: None,
        escape: Some(b'\\'),
        header: Header::Numbered,
        ..CsvOptions::default()
    };
    for (text, expected) in [
        ("1\ta\\nb\tx\\ty\t\\N\n", json!({"c1": 1, "c2": "a\nb", "c3": "x\ty"})),
        // COPY of Postgres, with the end of its rows.
        (
            "1\tC:\\\\new\t\\r\\b\\f\\v\\101\t\\\\N\n\\.\n",
            json!({"c1": 1, "c2": "C:\\new", "c3": "\r\u{8}\u{c}\u{b}A", "c4": "\\N"}),
        ),
        // ClickHouse.
        ("1\tit\\'s\t\\0\\x41\t\\N\n", json!({"c1": 1, "c2": "it's", "c3": "\0A"})),
        // mysql --batch, and MySQL's own files.
        ("1\ta\\tb\\\\\tc\\\nd\t\\0\n", json!({"c1": 1, "c2": "a\tb\\", "c3": "c\nd", "c4": "\0"})),
        // Hive.
        ("1\ta\\\tb\t\\N\t\\r\\n\n", json!({"c1": 1, "c2": "a\tb", "c4": "\r\n"})),
    ] {
        let (outcome, warnings) = read(text, copy());
        assert_eq!(documents(&outcome), [expected], "{text:?}");
        assert_eq!(kinds(&warnings), [], "{text:?}");
    }
    // With quotes nothing changes, and a warning says what may be meant.
    let quoted = CsvOptions { quote: Some(b'"'), ..copy() };
    let (outcome, warnings) = read("1\ta\\nb\n2\t\"C:\\new\"\n3\tx\\ty\n", quoted);
    assert_eq!(documents(&outcome)[0]["c2"], "a\\nb");
    assert_eq!(kinds(&warnings), [("escape_kept", String::new(), 2)]);
    assert!(told(&warnings)[0].3.contains("option `quote=none`"), "{:?}", warnings.list());
}

#[test]
fn quotes_within_cells_are_told_and_blanks_before_them_can_be_left_out() {
    let stray = |text: &str| kinds(&read(text, CsvOptions::default()).1);
    let one = |count| vec![("quote_in_cell", String::new(), count)];
    let names = ("blanks_in_names", String::new(), 3);
    assert_eq!(stray("id, name, \"q, r\"\n1, x, \"a, b\"\n"), [&[names][..], &one(4)].concat());
    assert_eq!(stray("n,t\n1, \"x\"\n2,y\n3,\t\"z\"\n"), one(2));
    assert_eq!(stray("n,t\n1,5\" disk\n\"2\",\"a \"\"b\"\"\"\n"), one(1));
    assert_eq!(stray("n,t\n\"1\",\"a\"\"\"\n2,\"\"\n"), []);
    let (_, warnings) = read("n,t\n1,x\n2, \"y\"\n", CsvOptions::default());
    let message = &told(&warnings)[0].3;
    assert!(message.starts_with("in the row at line 3 a quote"), "{message}");
    assert!(message.contains("2, \\\"y\\\"") && message.contains("option `trim`"), "{message}");

    let trim = || CsvOptions { trim: true, ..CsvOptions::default() };
    for (text, expected) in [
        ("id, name, \"q, r\"\n1, x, \"a, b\"\n", json!({"id": 1, "name": "x", "q, r": "a, b"})),
        ("id , \"t\" \n 1 ,\t\"a\nb\" \n", json!({"id": 1, "t": "a\nb"})),
        ("at, ok\n 2024-01-01 10:00 , TRUE\n", json!({"at": "2024-01-01T10:00", "ok": true})),
        ("a,b\n  ,\" x \"\n", json!({"b": " x "})),
    ] {
        let (outcome, warnings) = read(text, trim());
        assert_eq!(documents(&outcome), [expected], "{text:?}");
        assert_eq!(kinds(&warnings), [], "{text:?}");
    }
    assert_eq!(kinds(&read("n,t\n1,5\" disk\n", trim()).1), one(1));
}
