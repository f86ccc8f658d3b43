//! What a sheet shows and its cells do not say: dates as names of columns, numbers with zeros
//! before them, formulas that were not calculated. The workbooks are as openpyxl, XlsxWriter, xlwt,
//! odfpy and LibreOffice write them.

use inrush_sources::FormatOptions;

use super::{number, read, text, workbook, workbook_with};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use std::io::{Cursor, Write};

#[track_caller]
fn check(data: &[u8], expected: &[&str]) -> Vec<String> {
    let (outcome, warnings) = read(data, FormatOptions::default(), 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.texts(), expected);
    warnings.into_iter().filter(|warning| !warning.contains("the first one")).collect()
}

fn formula(cell: &str, value: &str) -> String {
    format!("<c r=\"{cell}\"><f>B2*2</f>{value}</c>")
}

#[test]
fn dates_name_columns_as_rows_write_them() {
    let header = number("A1", 1, "45292")
        + &number("B1", 1, "45292.5")
        + &number("C1", 2, "0.75")
        + &number("D1", 3, "1.5")
        + &number("E1", 0, "2024")
        + &number("F1", 4, "7");
    let row: String = ["A2", "B2", "C2", "D2", "E2", "F2"].iter().map(|cell| number(cell, 0, "1")).collect();
    check(
        &workbook(&[(1, &header), (2, &row)]),
        &[r#"{"2024-01-01":1,"2024-01-01T12:00:00":1,"18:00:00":1,"PT129600S":1,"2024":1,"00007":1}"#],
    );
}

#[test]
fn numbers_with_zeros_before_them_are_text_in_all_of_their_column() {
    let header = text("A1", "zip") + &text("B1", "phone") + &text("C1", "n");
    let first = number("A2", 4, "1234") + &number("B2", 5, "491234") + &number("C2", 0, "1234");
    let second = number("A3", 0, "12345") + &number("B3", 5, "4") + &number("C3", 0, "5");
    let third = number("A4", 4, "99999") + &number("B4", 0, "1.5") + &number("C4", 0, "0");
    let data = workbook(&[(1, &header), (2, &first), (3, &second), (4, &third)]);
    let warnings = check(
        &data,
        &[
            r#"{"zip":"01234","phone":"+49 1234","n":1234}"#,
            r#"{"zip":"12345","phone":"+00 0004","n":5}"#,
            r#"{"zip":"99999","phone":"1.5","n":0}"#,
        ],
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn few_numbers_with_zeros_before_them_are_told() {
    let header = text("A1", "n") + &text("B1", "m");
    let rows: Vec<String> = ["0", "10.5", "20"]
        .iter()
        .enumerate()
        .map(|(at, value)| number(&format!("A{}", at + 2), 0, value) + &number(&format!("B{}", at + 2), 0, value))
        .collect();
    let last = number("A5", 4, "7") + &number("B5", 4, "12345");
    let data = workbook(&[(1, &header), (2, &rows[0]), (3, &rows[1]), (4, &rows[2]), (5, &last)]);
    let warnings = check(
        &data,
        &[r#"{"n":"0","m":0.0}"#, r#"{"n":"10.5","m":10.5}"#, r#"{"n":"20","m":20.0}"#, r#"{"n":"00007","m":12345.0}"#],
    );
    let told =
        |warning: &String| warning.contains("column n: some cells have a format") && warning.contains("(3 times)");
    assert!(warnings.len() == 1 && told(&warnings[0]), "{warnings:?}");
}

#[test]
fn formulas_without_a_value_are_counted() {
    let header = text("A1", "a") + &text("B1", "b") + &text("C1", "c") + &text("D1", "d");
    let row = |n: u32, b: &str, c: &str| {
        number(&format!("A{n}"), 0, "1") + &formula(&format!("B{n}"), b) + &formula(&format!("C{n}"), c)
    };
    // As openpyxl writes them, without the element, and an empty text that was calculated.
    let empty_text = "<c r=\"D3\" t=\"str\"><f>\"\"</f><v></v></c>";
    let (first, second) = (row(2, "<v></v>", "<v>4</v>"), row(3, "<v/>", "") + empty_text);
    let shared = "<c r=\"B4\"><f t=\"shared\" si=\"0\"/><v></v></c>";
    let data = workbook(&[(1, &header), (2, &first), (3, &second), (4, shared)]);
    let warnings = check(&data, &[r#"{"a":1,"c":4}"#, r#"{"a":1}"#]);
    let has = |text: &str| warnings.iter().any(|warning| warning.contains(text));
    assert!(has("column b: a formula has no stored value") && has("(3 times)"), "{warnings:?}");
    assert!(has("column c: a formula has no stored value"), "{warnings:?}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn zeros_of_a_writer_that_does_not_calculate_are_told() {
    let header = text("A1", "a") + &text("B1", "b");
    let row = |n: u32, b: &str| number(&format!("A{n}"), 0, "1") + &formula(&format!("B{n}"), b);
    let (first, second, third) = (row(2, "<v>0</v>"), row(3, "<v>0</v>"), row(3, "<v>7</v>"));
    let open = "<calcPr calcId=\"124519\" fullCalcOnLoad=\"1\"/>";
    let (zeros, calculated) =
        ([(1, &*header), (2, &*first), (3, &*second)], [(1, &*header), (2, &*first), (3, &*third)]);
    let warnings = check(&workbook_with(&zeros, open), &[r#"{"a":1,"b":0}"#, r#"{"a":1,"b":0}"#]);
    assert!(
        warnings.len() == 1 && warnings[0].contains("column b: a formula has 0") && warnings[0].contains("(2 times)"),
        "{warnings:?}"
    );
    assert!(check(&workbook_with(&calculated, open), &[r#"{"a":1,"b":0}"#, r#"{"a":1,"b":7}"#]).is_empty());
    assert!(check(&workbook(&zeros), &[r#"{"a":1,"b":0}"#, r#"{"a":1,"b":0}"#]).is_empty());
}

/// A workbook of OpenDocument whose sheet has these rows.
fn ods(rows: &str) -> Vec<u8> {
    let content = format!(
        r#"<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet><table:table table:name="A &amp; B">{rows}</table:table></office:spreadsheet></office:body></office:document-content>"#
    );
    let manifest = r#"<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>"#;
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, text) in [
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        ("META-INF/manifest.xml", manifest),
        ("content.xml", &content),
    ] {
        zip.start_file(name, stored).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn open_document_has_the_text_that_it_shows() {
    let cell = |attributes: &str, shown: &str| {
        format!("<table:table-cell {attributes}><text:p>{shown}</text:p></table:table-cell>")
    };
    let text = |shown: &str| cell("office:value-type=\"string\"", shown);
    let float =
        |value: &str, shown: &str| cell(&format!("office:value-type=\"float\" office:value=\"{value}\""), shown);
    let row = |cells: &str, attributes: &str| format!("<table:table-row {attributes}>{cells}</table:table-row>");
    let uncalculated = "<table:table-cell table:formula=\"of:=[.B2]*2\"/>";
    let rows = row(&(text("zip") + &text("n") + &text("f")), "")
        + &row(&(float("1234", "01234") + &float("1234", "1,234") + uncalculated), "table:number-rows-repeated=\"2\"")
        + &row("<table:table-cell table:number-columns-repeated=\"3\"/>", "")
        + &row(&(float("99999", "99999") + &float("0.5", "0.5") + &float("7", "007")), "");
    let warnings = check(
        &ods(&rows),
        &[r#"{"zip":"01234","n":1234.0}"#, r#"{"zip":"01234","n":1234.0}"#, r#"{"zip":"99999","n":0.5,"f":"007"}"#],
    );
    assert!(
        warnings.len() == 1 && warnings[0].contains("column f: a formula has no stored value (2 times)")
            || warnings[0].contains("(2 times)"),
        "{warnings:?}"
    );
}
