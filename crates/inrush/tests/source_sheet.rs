//! Workbooks, as the engine reads them.
#![cfg(feature = "excel")]
// A failure in a test's helper is a failed test.
#![allow(clippy::unwrap_used)]

mod source_support;

use std::io::{Cursor, Write};

use inrush::source::{CsvOptions, FormatOptions, Header, SheetOptions};
use source_support::{Outcome, load, shared, write};
use zip::write::SimpleFileOptions;

const TYPES: &str = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"#;
const RELS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const WORKBOOK: &str = r#"<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">
<sheets><sheet name="Hidden" sheetId="1" state="hidden" r:id="rId1"/><sheet name="Data" sheetId="2" r:id="rId2"/><sheet name="More" sheetId="3" r:id="rId1"/></sheets></workbook>"#;
const WORKBOOK_RELS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet2.xml"/>
<Relationship Id="rId3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#;
/// Styles: 0 plain, 1 a date, 2 a time, 3 a duration.
const STYLES: &str = r#"<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<numFmts count="1"><numFmt numFmtId="165" formatCode="[h]:mm:ss"/></numFmts>
<cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="21"/><xf numFmtId="165"/></cellXfs></styleSheet>"#;

/// A workbook whose sheet `Data` has these rows, each a number and its cells in XML.
fn workbook(rows: &[(u32, &str)]) -> Vec<u8> {
    let rows: String = rows.iter().map(|(number, cells)| format!("<row r=\"{number}\">{cells}</row>")).collect();
    let sheet = |rows: &str| {
        format!(
            r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>"#
        )
    };
    let other = sheet(
        "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>x</t></is></c></row><row r=\"2\"><c r=\"A2\"><v>1</v></c></row>",
    );
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", RELS),
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", WORKBOOK_RELS),
        ("xl/styles.xml", STYLES),
        ("xl/worksheets/sheet1.xml", &other),
        ("xl/worksheets/sheet2.xml", &sheet(&rows)),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn text(cell: &str, value: &str) -> String {
    format!("<c r=\"{cell}\" t=\"inlineStr\"><is><t>{value}</t></is></c>")
}

fn number(cell: &str, style: u32, value: &str) -> String {
    format!("<c r=\"{cell}\" s=\"{style}\"><v>{value}</v></c>")
}

fn read(data: &[u8], options: FormatOptions, bytes: usize) -> (Outcome, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, warnings) = load(&write(&dir, "book", data), options, bytes);
    (outcome, warnings.list().iter().map(ToString::to_string).collect())
}

#[test]
fn cells_are_what_the_sheet_shows() {
    let header = ["A2", "B2", "C2", "D2", "E2", "F2"].iter().zip(["name", "whole", "some", "day", "moment", "span"]);
    let header: String = header.map(|(cell, name)| text(cell, name)).collect();
    let first = text("A3", "a\"b")
        + &number("B3", 0, "5")
        + &number("C3", 0, "1")
        + &number("D3", 1, "45322")
        + &number("E3", 1, "45322.5")
        + &number("F3", 3, "1.5");
    // A gap, a formula with its value, an error, a truth and a cell beyond the header.
    let second = number("B6", 0, "9007199254740992")
        + "<c r=\"C6\"><f>1/4</f><v>0.25</v></c>"
        + "<c r=\"D6\" t=\"e\"><v>#N/A</v></c>"
        + &number("E6", 1, "45323")
        + "<c r=\"G6\" t=\"b\"><v>1</v></c>";
    let third = number("E7", 2, "0.75");
    let data = workbook(&[(2, &header), (3, &first), (6, &second), (7, &third)]);
    for bytes in [1, 1 << 20] {
        let (outcome, warnings) = read(&data, FormatOptions::default(), bytes);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(
            outcome.texts(),
            [
                r#"{"name":"a\"b","whole":5,"some":1.0,"day":"2024-01-31","moment":"2024-01-31T12:00:00","span":"PT129600S"}"#,
                r#"{"whole":9007199254740992,"some":0.25,"moment":"2024-02-01T00:00:00","c7":true}"#,
                r#"{"moment":"18:00:00"}"#,
            ]
        );
        assert_eq!(outcome.records.iter().map(|r| (r.at.doc, r.at.line)).collect::<Vec<_>>(), [(0, 3), (1, 6), (2, 7)]);
        assert_eq!(outcome.bytes_read, data.len() as u64);
        assert!(
            warnings.iter().any(|w| w.contains("sheet \"Data\" was read, the first one; there are also More")),
            "{warnings:?}"
        );
        assert!(warnings.iter().any(|w| w.contains("column day: a cell holds #N/A")), "{warnings:?}");
    }
}

#[test]
fn sheets_and_header_rows_can_be_chosen() {
    let (title, names, row) = (text("A1", "A title"), text("A2", "n"), number("A3", 0, "1"));
    let data = workbook(&[(1, &title), (2, &names), (3, &row)]);
    let options = |sheet: Option<&str>, header_row, header| FormatOptions {
        sheet: SheetOptions { sheet: sheet.map(str::to_owned), header_row },
        csv: CsvOptions { header, ..CsvOptions::default() },
        ..FormatOptions::default()
    };
    for (sheet, header_row, header, expected) in [
        (Some("Data"), Some(2), Header::FirstRow, vec![r#"{"n":1}"#]),
        (Some("2"), Some(2), Header::FirstRow, vec![r#"{"n":1}"#]),
        (Some("Hidden"), None, Header::FirstRow, vec![r#"{"x":1}"#]),
        (None, None, Header::Numbered, vec![r#"{"c1":"A title"}"#, r#"{"c1":"n"}"#, r#"{"c1":1}"#]),
        (Some("1"), None, Header::Names(vec!["y".into()]), vec![r#"{"y":"x"}"#, r#"{"y":1}"#]),
    ] {
        let (outcome, _) = read(&data, options(sheet, header_row, header), 1 << 20);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.texts(), expected);
    }
    let problem = |sheet, header_row| {
        let (outcome, _) = read(&data, options(sheet, header_row, Header::FirstRow), 1 << 20);
        outcome.error.unwrap().to_string()
    };
    assert!(
        problem(Some("None"), None).contains("has no sheet \"None\", by name or number; there are Hidden, Data, More")
    );
    assert!(problem(Some("Data"), Some(9)).contains("row 9, which should have the names of the columns, is empty"));
}

#[test]
fn a_workbook_that_is_cut_off_says_so() {
    let data = workbook(&[(1, &text("A1", "n"))]);
    let (outcome, _) = read(&data[..data.len() / 2], FormatOptions::default(), 1 << 20);
    assert!(outcome.error.unwrap().to_string().contains("cannot be read as a spreadsheet"));
}

#[test]
fn dry_beans() {
    let Some(path) = shared("xlsx/Dry_Bean_Dataset.xlsx") else { return };
    let (outcome, _) = load(&path, FormatOptions::default(), 512 << 10);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.records.len(), 13_611);
    let first: serde_json::Value = serde_json::from_slice(&outcome.records[0].data).unwrap();
    assert_eq!((&first["Area"], &first["Class"]), (&serde_json::json!(28395), &serde_json::json!("SEKER")));
    // The file has 610.29099999999983, of which spreadsheets show fifteen digits.
    assert!((first["Perimeter"].as_f64().unwrap() - 610.291).abs() < 1e-9, "{first}");
    assert_eq!(first.as_object().unwrap().len(), 17);
}
