//! Documents from one format into another and back.

#[cfg(feature = "parquet")]
mod types;

use std::path::Path;

use inrush_commands::convert::{Again, BulkLines, ConvertError, Output, OutputFormat, Packing, convert};
use inrush_smile::{SEPARATOR, SmileDecoder};
use inrush_sources::{Format, FormatOptions, Source, SourceError, SourceSpec, Warnings, open};

fn source(path: &Path) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default())?))
}

fn to(path: &Path, target: &OutputFormat) -> Result<Vec<u8>, ConvertError> {
    let mut out = Vec::new();
    let again = Again::Open(Box::new(|| source(path)));
    let converted = convert(source(path)?.as_mut(), again, &target.clone().into(), &|_| true, &mut out)?;
    assert_eq!(converted.bytes_written, out.len() as u64);
    Ok(out)
}

/// What the text of a file with this name becomes.
fn converted(name: &str, data: impl AsRef<[u8]>, target: &OutputFormat) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, data).unwrap();
    to(&path, target).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
}

fn text(name: &str, data: impl AsRef<[u8]>, target: &OutputFormat) -> String {
    String::from_utf8(converted(name, data, target).unwrap()).unwrap()
}

const DOCUMENTS: &str = r#"{"id":"a","n":1,"price":1.50,"text":"été, \"quoted\"","flag":true}
{"id":"b","n":-7,"price":12345678.5,"text":"","flag":null,"late":"x"}
{"id":"c"}
"#;

#[test]
fn smile_and_back_is_the_same() {
    let smile = converted("a.ndjson", DOCUMENTS, &OutputFormat::Smile).unwrap();
    assert!(smile.len() < DOCUMENTS.len() && smile.ends_with(&[SEPARATOR]));
    assert_eq!(text("a.smile", &smile, &OutputFormat::Ndjson), DOCUMENTS.replace("\\u00e9", "é"));
    assert_eq!(text("told-by-its-beginning", &smile, &OutputFormat::Ndjson), DOCUMENTS);
    assert_eq!(text("empty.ndjson", "", &OutputFormat::Smile), "");
}

#[test]
fn a_document_that_smile_cannot_say_is_named() {
    let data = "{\"n\":1}\n\n{\"n\":1e3}\n";
    let error = converted("a.ndjson", data, &OutputFormat::Smile).unwrap_err();
    assert!(error.contains("a.ndjson row 3: SMILE cannot represent the number at byte 5 exactly"), "{error}");
    assert!(error.contains("convert to NDJSON"), "{error}");
    let error = converted("a.ndjson", data, &OutputFormat::BulkSmile(BulkLines::default())).unwrap_err();
    assert!(error.contains("row 3: SMILE cannot represent"), "{error}");
    let error = converted("a.csv", "n,m\n1,2\n1,2,3\n", &OutputFormat::Ndjson).unwrap_err();
    assert!(error.contains("a.csv row 3"), "{error}");
}

#[test]
fn bulk_bodies_have_an_action_line_before_each_document() {
    let lines = BulkLines { id: Some("id".parse().unwrap()), ..BulkLines::default() };
    let body = text("a.ndjson", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n", &OutputFormat::Bulk(lines.clone()));
    assert_eq!(body, "{\"index\":{\"_id\":\"a\"}}\n{\"id\":\"a\"}\n{\"index\":{\"_id\":\"b\"}}\n{\"id\":\"b\"}\n");
    let smile =
        converted("a.ndjson", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n", &OutputFormat::BulkSmile(lines.clone())).unwrap();
    let (mut decoder, mut json, mut at) = (SmileDecoder::default(), Vec::new(), 0);
    while at < smile.len() {
        at += decoder.decode(&smile[at..], &mut json).unwrap();
        json.push(b'\n');
    }
    assert_eq!(String::from_utf8(json).unwrap(), body);
    let error = converted("a.ndjson", "{\"id\":\"a\"}\n{\"no\":1}\n", &OutputFormat::Bulk(lines)).unwrap_err();
    assert!(error.contains("row 2: field `id` (the id) is missing"), "{error}");
}

#[test]
fn ids_of_cells_are_their_text_though_the_column_has_decimals() {
    let lines =
        BulkLines { id: Some("id".parse().unwrap()), routing: Some("r".parse().unwrap()), ..BulkLines::default() };
    let body = text("a.csv", "id,r\n1,TRUE\n2.50,false\n", &OutputFormat::Bulk(lines));
    assert_eq!(
        body,
        "{\"index\":{\"_id\":\"1\",\"routing\":\"TRUE\"}}\n{\"id\":1.0,\"r\":true}\n\
         {\"index\":{\"_id\":\"2.50\",\"routing\":\"false\"}}\n{\"id\":2.50,\"r\":false}\n"
    );
}

#[test]
fn bulk_bodies_are_read_with_what_their_action_lines_say() {
    let body = "{\"create\":{\"_id\":\"x\"}}\n{\"a\":1}\n{\"update\":{\"_id\":\"y\"}}\n{\"doc\":{\"a\":2},\"doc_as_upsert\":true}\n";
    assert_eq!(text("a.bulk", body, &OutputFormat::Ndjson), "{\"a\":1}\n{\"a\":2}\n");
    assert_eq!(text("a.bulk", body, &OutputFormat::Bulk(BulkLines::default())), body);
    let error = converted("a.bulk", "{\"delete\":{\"_id\":\"x\"}}\n", &OutputFormat::Ndjson).unwrap_err();
    assert!(error.contains("a.bulk row 1: the document is empty"), "{error}");
    let error = converted("a.bulk", "{\"index\":{}}\n{}\n{\"index\":{}}\n", &OutputFormat::Ndjson).unwrap_err();
    assert!(error.contains("a.bulk row 3: the file ends after an action line"), "{error}");
}

#[test]
fn csv_has_a_column_for_every_field_and_numbers_keep_their_digits() {
    let csv = text("a.ndjson", DOCUMENTS, &OutputFormat::Csv);
    let expected = "id,n,price,text,flag,late\n\
                    a,1,1.50,\"été, \"\"quoted\"\"\",true,\n\
                    b,-7,12345678.5,\"\",,x\n\
                    c,,,,,\n";
    assert_eq!(csv, expected);
    let back = text("a.csv", csv, &OutputFormat::Ndjson);
    assert_eq!(back.lines().last(), Some("{\"id\":\"c\"}"), "{back}");
    let nested = "{\"a\":{\"b\":1,\"c\":{\"d\":\"x,y\"}},\"t\":[1,\"z\"]}\n{\"a\":null,\"t\":[]}\n{\"a\":{}}\n";
    let expected = "a.b,a.c.d,t,a\n1,\"x,y\",\"[1,\"\"z\"\"]\",\n,,[],\n,,,{}\n";
    assert_eq!(text("a.ndjson", nested, &OutputFormat::Csv), expected);
    let error = converted("a.ndjson", "{\"a\":1}\n{\"a\":{\"b\":1},\"a.b\":2}\n", &OutputFormat::Csv).unwrap_err();
    assert!(error.contains("row 2: field `a.b` occurs twice"), "{error}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_and_back_has_the_same_values() {
    let parquet = converted("a.ndjson", DOCUMENTS, &OutputFormat::Parquet).unwrap();
    let back = text("a.parquet", &parquet, &OutputFormat::Ndjson);
    let values = |text: &str| -> Vec<serde_json::Value> {
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines
            .map(|mut value| {
                value.as_object_mut().unwrap().retain(|_, value| !value.is_null());
                value
            })
            .collect()
    };
    assert_eq!(values(&back), values(DOCUMENTS));
    for (data, problem) in [
        ("{\"a\":1}\n{\"a\":\"x\"}\n", "field `a` has values of several types, but a Parquet column has only one"),
        ("{\"a\":1e300}\n{\"a\":9007199254740993.5}\n", "row 2: field `a` is 9007199254740993.5, which"),
        ("{\"a\":1e9223372036854775807}\n", "row 1: field `a` is 1e9223372036854775807, which"),
        ("{\"a\":1}\n{\"a\":1e-9223372036854775808}\n", "row 2: field `a` is 1e-9223372036854775808, which"),
        ("{\"a\":[1]}\n{\"a\":2}\n", "field `a` has values of several types"),
        ("{\"a\":{\"b\":[{\"c\":1},{\"c\":\"x\"}]}}\n", "field `a.b.[].c` has values of several types"),
        ("{\"a\":{\"b\":1,\"b\":1}}\n", "row 1: field `a.b` occurs twice"),
        ("{\"a\":{}}\n", "there are no fields"),
        ("", "there are no fields"),
    ] {
        let error = converted("a.ndjson", data, &OutputFormat::Parquet).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn objects_and_arrays_are_groups_and_lists_in_parquet() {
    let documents = [
        r#"{"a":{"b":1,"c":{"d":[1.5,null,18446744073709551615]}},"l":[{"x":"u"},null,{"x":"v","y":[[true],[]]}],"e":{}}"#,
        r#"{"a":null,"l":[]}"#,
        r#"{"l":null,"t":"x"}"#,
        "{}",
        r#"{"a":{"c":{}}}"#,
    ];
    let parquet = converted("a.ndjson", documents.join("\n"), &OutputFormat::Parquet).unwrap();
    let expected = [
        r#"{"a":{"b":1,"c":{"d":[1.5,null,18446744073709551615.0]}},"l":[{"x":"u"},null,{"x":"v","y":[[true],[]]}]}"#,
        r#"{"l":[]}"#,
        r#"{"t":"x"}"#,
        "{}",
        r#"{"a":{"c":{}}}"#,
    ];
    // A null in a list stays, one in an object is a field that is absent.
    fn without_nulls(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.retain(|_, value| !value.is_null());
                fields.values_mut().for_each(without_nulls);
            }
            serde_json::Value::Array(values) => values.iter_mut().for_each(without_nulls),
            _ => {}
        }
    }
    let back = text("a.parquet", &parquet, &OutputFormat::Ndjson);
    let values: Vec<String> = back
        .lines()
        .map(|line| {
            let mut value = serde_json::from_str(line).unwrap();
            without_nulls(&mut value);
            value.to_string()
        })
        .collect();
    let expected = expected.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap().to_string());
    assert_eq!(values, expected);
}

#[test]
fn documents_that_can_be_read_once_are_kept_for_a_second_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ndjson");
    std::fs::write(&path, DOCUMENTS).unwrap();
    for target in [OutputFormat::Csv, OutputFormat::Parquet] {
        let mut out = Vec::new();
        let kept = folder.path().join("a=1");
        std::fs::create_dir_all(&kept).unwrap();
        let kept = kept.join("kept.ndjson");
        let again = Again::Keep(&kept);
        let made = convert(source(&path).unwrap().as_mut(), again, &target.clone().into(), &|_| true, &mut out);
        assert_eq!(made.unwrap().bytes_read, DOCUMENTS.len() as u64, "{target:?}");
        assert_eq!(out, to(&path, &target).unwrap(), "{target:?}");
        let stopped = convert(
            source(&path).unwrap().as_mut(),
            Again::Keep(&kept),
            &target.into(),
            &|now| now.docs == 0,
            Vec::new(),
        );
        assert!(matches!(stopped, Err(ConvertError::Stopped)), "{stopped:?}");
    }
    // Documents that look like those of another format.
    let hits = "{\"index\":{}}\n{\"_id\":\"1\",\"_source\":{\"a\":1}}\n";
    std::fs::write(&path, hits).unwrap();
    let format = FormatOptions { format: Some(Format::Ndjson), ..FormatOptions::default() };
    let mut opened = open(&[SourceSpec::new(&path)], format, &Warnings::default()).unwrap();
    let (mut out, kept) = (Vec::new(), folder.path().join("kept.ndjson"));
    convert(&mut opened, Again::Keep(&kept), &OutputFormat::Csv.into(), &|_| true, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "index,_id,_source.a\n{},,\n,1,1\n");
}

#[test]
fn compressed_outputs_are_read_again() {
    for (name, packing) in [("a.ndjson.gz", Packing::Gzip), ("a.ndjson.zst", Packing::Zstd)] {
        let folder = tempfile::tempdir().unwrap();
        let (from, path) = (folder.path().join("a.ndjson"), folder.path().join(name));
        std::fs::write(&from, DOCUMENTS).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        let output = Output { packing, ..OutputFormat::Ndjson.into() };
        let again = Again::Open(Box::new(|| source(&from)));
        let made = convert(source(&from).unwrap().as_mut(), again, &output, &|_| true, file).unwrap();
        assert_eq!(made.bytes_written, path.metadata().unwrap().len(), "{name}");
        assert_eq!(to(&path, &OutputFormat::Ndjson).unwrap(), DOCUMENTS.as_bytes(), "{name}");
    }
}

#[test]
fn ids_of_the_source_become_a_field() {
    let with_ids = |name: &str, body: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, body).unwrap();
        let output = Output { id_as: Some("the \"id\"".to_owned()), ..OutputFormat::Ndjson.into() };
        let mut out = Vec::new();
        let again = Again::Open(Box::new(|| source(&path)));
        convert(source(&path).unwrap().as_mut(), again, &output, &|_| true, &mut out)
            .map(|_| String::from_utf8(out).unwrap())
            .map_err(|error| error.to_string())
    };
    let body = "{\"index\":{\"_id\":\"x/\\\"1\"}}\n {\"a\":1}\n{\"index\":{\"_id\":\"y\"}}\n{}\n";
    let expected = "{\"the \\\"id\\\"\":\"x/\\\"1\",\"a\":1}\n{\"the \\\"id\\\"\":\"y\"}\n";
    assert_eq!(with_ids("a.bulk", body).unwrap(), expected);
    let taken = with_ids("a.bulk", "{\"index\":{\"_id\":\"x\"}}\n{\"the \\\"id\\\"\":1}\n").unwrap_err();
    assert!(taken.contains("row 1") && taken.contains("another name"), "{taken}");
    let without = with_ids("a.ndjson", "{\"a\":1}\n").unwrap_err();
    assert!(without.contains("has no id"), "{without}");
}

#[cfg(feature = "parquet")]
#[test]
fn numbers_become_the_narrowest_type_that_has_all_their_digits() {
    let back = |values: &[&str]| {
        let documents: String = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect();
        text("a.parquet", converted("a.ndjson", documents, &OutputFormat::Parquet).unwrap(), &OutputFormat::Ndjson)
            .lines()
            .map(|line| line[5..line.len() - 1].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(back(&["1", "-2"]), ["1", "-2"]);
    assert_eq!(back(&["1", "2866.5", "2866.0"]), ["1.0", "2866.5", "2866.0"]);
    assert_eq!(back(&["18446744073709551615", "1"]), ["18446744073709551615", "1"]);
    assert_eq!(back(&["9007199254740993", "-0.5"]), ["9007199254740993.0", "-0.5"]);
    assert_eq!(back(&["1234567890123456.78", "1e-3"]), ["1234567890123456.780", "0.001"]);
    let long = "-123456789012345678901234567890123456789.5";
    assert_eq!(back(&[long, "2"]), [long, "2.0"]);
}

#[cfg(feature = "parquet")]
#[test]
fn a_csv_column_that_widens_below_its_sample_is_one_of_numbers() {
    let csv = format!("votes\n{}2866.0\n2866.5\n", "1\n".repeat(20_000));
    let back = text("a.parquet", converted("a.csv", &csv, &OutputFormat::Parquet).unwrap(), &OutputFormat::Ndjson);
    assert!(back.starts_with("{\"votes\":1.0}\n") && back.ends_with("{\"votes\":2866.0}\n{\"votes\":2866.5}\n"));
    let again = text("a.csv", &csv, &OutputFormat::Csv);
    assert_eq!(again, csv);
}

#[cfg(feature = "parquet")]
proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    #[test]
    fn no_value_changes_where_a_column_changes_its_type(
        infer_rows in 0..8_usize,
        columns in 1..4_usize,
        numbers: bool,
        cells in proptest::collection::vec(proptest::prelude::any::<(u8, u64, u8)>(), 0..30),
    ) {
        // Columns of nothing but numbers would hardly ever come of all kinds.
        let cells: Vec<_> =
            cells.into_iter().map(|(kind, number, places)| (if numbers { kind % 17 } else { kind }, number, places)).collect();
        types::check(infer_rows, columns, &cells);
    }
}
