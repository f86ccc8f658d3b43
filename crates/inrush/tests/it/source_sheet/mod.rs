//! Workbooks, as the engine reads them.

mod shown;
mod xls;
mod xlsb;

use std::io::{Cursor, Read, Write};

use inrush_core::RowForm;
use inrush_sources::{CsvOptions, FormatOptions, Header, SheetOptions, Source, SourceSpec, Warnings, open};
use zip::write::SimpleFileOptions;

use crate::source_support::{Outcome, drain, load, shared, write};

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
/// Styles: 0 plain, 1 a date, 2 a time, 3 a duration, 4 and 5 zeros.
const STYLES: &str = r#"<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<numFmts count="3"><numFmt numFmtId="165" formatCode="[h]:mm:ss"/><numFmt numFmtId="166" formatCode="00000"/><numFmt numFmtId="167" formatCode="&quot;+&quot;00\ 0000"/></numFmts>
<cellXfs count="6"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="21"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="167"/></cellXfs></styleSheet>"#;

/// A workbook whose sheet `Data` has these rows, each a number and its cells in XML.
fn workbook(rows: &[(u32, &str)]) -> Vec<u8> {
    workbook_with(rows, "")
}

/// The same with these elements of the workbook.
fn workbook_with(rows: &[(u32, &str)], elements: &str) -> Vec<u8> {
    workbook_of(rows, elements, "")
}

/// The same with these elements of the sheet `Data` behind its rows.
fn workbook_of(rows: &[(u32, &str)], elements: &str, behind: &str) -> Vec<u8> {
    let book = WORKBOOK.replace("</workbook>", &format!("{elements}</workbook>"));
    let rows: String = rows.iter().map(|(number, cells)| format!("<row r=\"{number}\">{cells}</row>")).collect();
    let sheet = |rows: &str, behind: &str| {
        format!(
            r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData>{behind}</worksheet>"#
        )
    };
    let other = sheet(
        "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>x</t></is></c></row><row r=\"2\"><c r=\"A2\"><v>1</v></c></row>",
        "",
    );
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", RELS),
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", WORKBOOK_RELS),
        ("xl/styles.xml", STYLES),
        ("xl/worksheets/sheet1.xml", &other),
        ("xl/worksheets/sheet2.xml", &sheet(&rows, behind)),
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

/// This process, which is that of one test alone, made no table of all cells up to the farthest
/// one: the smallest such table, of `.xls`, would have 17 million cells.
fn is_small() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 300_000, "{kilobytes} kB");
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
        sheet: SheetOptions { sheet: sheet.map(str::to_owned), header_row, ..SheetOptions::default() },
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
        problem(Some("None"), None)
            .contains("has no sheet \"None\", by name or number; its sheets are Hidden, Data, More")
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
fn numbers_are_json_numbers_beside_cells_of_other_kinds() {
    let header: String =
        ["A1", "B1", "C1", "D1"].iter().zip(["whole", "mixed", "large", "share"]).map(|(c, n)| text(c, n)).collect();
    let rows = [
        (2, number("A2", 0, "1") + &number("B2", 0, "1") + &number("C2", 0, "1") + &number("D2", 0, "1")),
        (
            3,
            number("A3", 0, "-0.0")
                + "<c r=\"B3\" t=\"b\"><v>1</v></c>"
                + &number("C3", 0, "12345678901234567890")
                + &number("D3", 0, "0.125"),
        ),
        (4, number("A4", 0, "1E3") + &number("B4", 1, "45322") + &number("C4", 0, "2") + &text("D4", "n/a")),
        (
            5,
            number("A5", 0, "9007199254740991")
                + &text("B5", "007")
                + &number("C5", 0, "1e300")
                + &number("D5", 0, "1e-7"),
        ),
    ];
    let rows: Vec<(u32, &str)> =
        [(1, header.as_str())].into_iter().chain(rows.iter().map(|(n, row)| (*n, row.as_str()))).collect();
    let (outcome, _) = read(&workbook(&rows), FormatOptions::default(), 1 << 20);
    assert_eq!(
        outcome.texts(),
        [
            r#"{"whole":1,"mixed":1,"large":1.0,"share":1.0}"#,
            r#"{"whole":0,"mixed":true,"large":1.2345678901234567e+19,"share":0.125}"#,
            r#"{"whole":1000,"mixed":"2024-01-31","large":2.0,"share":"n/a"}"#,
            r#"{"whole":9007199254740991,"mixed":"007","large":1e+300,"share":1e-7}"#,
        ]
    );
}

#[test]
fn days_for_which_there_is_no_date_are_numbers_and_counted() {
    let (name, first) = (text("A1", "day"), number("A2", 1, "2958465"));
    let rows =
        [number("A3", 1, "2958466"), number("A4", 1, "-1"), number("A5", 1, "1e10"), number("A6", 1, "2958466.5")];
    let rows: Vec<(u32, &str)> = [(1, name.as_str()), (2, first.as_str())]
        .into_iter()
        .chain((3..).zip(rows.iter().map(String::as_str)))
        .collect();
    let (outcome, warnings) = read(&workbook(&rows), FormatOptions::default(), 1 << 20);
    assert_eq!(
        outcome.texts(),
        [
            r#"{"day":"9999-12-31"}"#,
            r#"{"day":2958466}"#,
            r#"{"day":-1}"#,
            r#"{"day":10000000000}"#,
            r#"{"day":2958466.5}"#
        ]
    );
    let warning = &warnings.iter().find(|w| w.contains("column day")).unwrap();
    assert!(warning.contains("holds 2958466, for which no date exists") && warning.contains("(4 times)"), "{warning}");
}

#[test]
fn a_cell_that_is_there_twice_is_one_field_and_rows_out_of_order_are_one_row() {
    let (name, first) = (text("A1", "n") + &text("B1", "m"), number("A2", 0, "1") + &number("A2", 0, "2"));
    let rows = [(1, name.as_str()), (3, &number("A3", 0, "3")), (2, &first), (3, &number("B3", 0, "4"))];
    let (outcome, _) = read(&workbook(&rows), FormatOptions::default(), 1 << 20);
    assert_eq!(outcome.texts(), [r#"{"n":2}"#, r#"{"n":3,"m":4}"#]);
}

/// The workbook with `name` in names of parts, and in what refers to them, exchanged for `other`.
fn renamed(data: &[u8], name: &str, other: &str) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(Cursor::new(data)).unwrap();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for at in 0..archive.len() {
        let mut part = archive.by_index(at).unwrap();
        let mut text = String::new();
        part.read_to_string(&mut text).unwrap();
        zip.start_file(part.name().unwrap().replace(name, other), SimpleFileOptions::default()).unwrap();
        zip.write_all(text.replace(name, other).as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_workbook_that_unpacks_to_more_than_is_allowed_is_refused() {
    let long = "x".repeat(3 << 20);
    let data = workbook(&[(1, &text("A1", "n")), (2, &text("A2", &long))]);
    assert!(data.len() < 20_000);
    let options = |bytes_max| FormatOptions {
        sheet: SheetOptions { bytes_max, ..SheetOptions::default() },
        ..FormatOptions::default()
    };
    let (outcome, _) = read(&data, options(1 << 20), 1 << 20);
    let error = outcome.error.unwrap().to_string();
    assert!(
        error.contains("unpacks to 4 MiB or more, but only 1 MiB are allowed")
            && error.contains("option `workbook_bytes`"),
        "{error}"
    );
    assert!(read(&data, options(4 << 20), 1 << 20).0.error.is_none());
    // Names of parts are looked up in any case, and any name can be that of a sheet.
    for (name, other) in [
        ("xl/worksheets/sheet2.xml", "xl/worksheets/sheet2.XML"),
        ("worksheets/sheet2.xml", "worksheets/sheet2.dat"),
        ("worksheets/sheet2.xml", "media/image1.png"),
    ] {
        let renamed = renamed(&data, name, other);
        assert!(read(&renamed, options(4 << 20), 1 << 20).0.error.is_none());
        let error = read(&renamed, options(1 << 20), 1 << 20).0.error.unwrap().to_string();
        assert!(error.contains("unpacks to 4 MiB or more"), "{error}");
    }
    // What the archive says of itself may be wrong.
    let mut data = data;
    let said = (3_u32 << 20..4 << 20).find_map(|len| {
        let places = data.windows(4).enumerate().filter(|(_, bytes)| **bytes == len.to_le_bytes()).map(|(at, _)| at);
        let places: Vec<usize> = places.collect();
        (!places.is_empty()).then_some(places)
    });
    for at in said.unwrap() {
        data[at..at + 4].copy_from_slice(&100_u32.to_le_bytes());
    }
    let error = read(&data, options(1 << 20), 1 << 20).0.error.unwrap().to_string();
    assert!(error.contains("larger than its declared uncompressed size"), "{error}");
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

#[test]
fn merged_cells_are_read_once_and_told() {
    let options = || FormatOptions {
        sheet: SheetOptions { sheet: Some("Data".into()), ..SheetOptions::default() },
        ..FormatOptions::default()
    };
    let names = text("A1", "group") + &text("B1", "n");
    let rows = [text("A2", "a") + &number("B2", 0, "1"), number("B3", 0, "2"), number("B4", 0, "3")];
    let rows: [(u32, &str); 4] = [(1, &names), (2, &rows[0]), (3, &rows[1]), (4, &rows[2])];
    let merged = "<mergeCells count=\"2\"><mergeCell ref=\"A2:A4\"/><mergeCell ref=\"A1:B1\"/></mergeCells>";
    let (outcome, told) = read(&workbook_of(&rows, "", merged), options(), 1 << 20);
    assert_eq!(outcome.texts(), [r#"{"group":"a","n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    assert!(told.len() == 1 && told[0].contains("column group: cells are merged over several rows"), "{told:?}");
    assert!(told[0].ends_with("(2 times)"), "{told:?}");
    assert_eq!(read(&workbook_of(&rows, "", "<mergeCells"), options(), 1 << 20).1, [""; 0]);
}

#[test]
fn a_title_or_units_where_the_names_should_be_are_told_with_the_row_below() {
    let options = |header_row, header| FormatOptions {
        sheet: SheetOptions { sheet: Some("Data".into()), header_row, ..SheetOptions::default() },
        csv: CsvOptions { header, ..CsvOptions::default() },
        ..FormatOptions::default()
    };
    let title = text("A1", "Artikelexport Filiale Süd");
    let names = text("A3", "Artikel") + &text("B3", "Preis") + &text("C3", "Ort");
    let row = text("A4", "0815") + &number("B4", 0, "1.5") + &text("C4", "Rye");
    let with_title = workbook(&[(1, &title), (3, &names), (4, &row)]);
    let told = |data: &[u8], header_row, header| read(data, options(header_row, header), 1 << 20).1;
    let found = told(&with_title, None, Header::FirstRow);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("has 1 of 3, as a title has") && found[0].contains("option `header_row=3`"), "{found:?}");
    // A name for each column, and units below.
    let names = text("A1", "Artikel") + &text("B1", "Preis") + &text("C1", "Ort");
    let units = text("A2", "-") + &text("B2", "EUR") + &text("C2", "-");
    let with_units = workbook(&[(1, &names), (2, &units), (4, &row)]);
    let found = told(&with_units, None, Header::FirstRow);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("column Preis: only the first row has text"), "{found:?}");
    assert!(found[0].contains("option `header_row=2`"), "{found:?}");
    for (data, header_row, header) in [
        (&with_title, Some(3), Header::FirstRow),
        (&with_title, None, Header::Numbered),
        (&with_title, Some(1), Header::Names(["a", "b", "c"].map(str::to_owned).into())),
        (&workbook(&[(1, &names), (4, &row)]), None, Header::FirstRow),
        // The index of a data frame has no name.
        (
            &workbook(&[(1, &text("B1", "Preis")), (4, &row[..row.find("<c r=\"C4\"").unwrap()])]),
            None,
            Header::FirstRow,
        ),
    ] {
        assert_eq!(told(data, header_row, header), [""; 0], "{header_row:?}");
    }
}

#[test]
fn an_update_names_its_empty_cells() {
    let dir = tempfile::tempdir().unwrap();
    let header = ["A1", "B1", "C1"].map(|cell| text(cell, &cell[..1])).concat();
    let error = "<c r=\"C4\" t=\"e\"><v>#N/A</v></c>".to_owned();
    let rows = [(1, header), (2, text("B2", "x")), (3, text("A3", "y")), (4, text("A4", "z") + &error)];
    let rows: Vec<(u32, &str)> = rows.iter().map(|(number, cells)| (*number, cells.as_str())).collect();
    let path = write(&dir, "a.xlsx", &workbook(&rows));
    let options = FormatOptions {
        sheet: SheetOptions { sheet: Some("Data".into()), header_row: None, ..SheetOptions::default() },
        ..FormatOptions::default()
    };
    let mut files = open(&[SourceSpec::new(&path)], options, &Warnings::default()).unwrap();
    files.form_rows(&RowForm { nulls: true, ..RowForm::default() });
    assert_eq!(
        drain(&mut files, 1000).texts(),
        [r#"{"A":null,"B":"x","C":null}"#, r#"{"A":"y","B":null,"C":null}"#, r#"{"A":"z","B":null,"C":null}"#]
    );
}

#[test]
fn whole_numbers_beside_decimals_keep_their_digits_and_their_text_as_ids() {
    let dir = tempfile::tempdir().unwrap();
    let cell = |cell: &str, value: &str| format!("<c r=\"{cell}\"><v>{value}</v></c>");
    let rows = [
        (1, text("A1", "id")),
        (2, cell("A2", "1")),
        (3, cell("A3", "2.5")),
        (4, text("A4", "x")),
        (5, cell("A5", "9007199254740993")),
    ];
    let rows: Vec<(u32, &str)> = rows.iter().map(|(number, cells)| (*number, cells.as_str())).collect();
    let path = write(&dir, "a.xlsx", &workbook(&rows));
    let options = FormatOptions {
        sheet: SheetOptions { sheet: Some("Data".into()), header_row: None, ..SheetOptions::default() },
        ..FormatOptions::default()
    };
    let mut files = open(&[SourceSpec::new(&path)], options, &Warnings::default()).unwrap();
    files.keep_texts(&["id".to_owned()]);
    let outcome = drain(&mut files, 1000);
    assert_eq!(outcome.texts()[..3], [r#"{"id":1.0}"#, r#"{"id":2.5}"#, r#"{"id":"x"}"#]);
    let texts: Vec<_> = outcome.records.iter().map(|r| r.meta.clone().unwrap().texts.pop().map(|(_, id)| id)).collect();
    assert_eq!(texts[..3], [Some("1".to_owned()), None, None]);
}
