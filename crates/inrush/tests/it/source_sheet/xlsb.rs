//! Workbooks of Excel in binary parts.

use std::io::{Cursor, Write};

use inrush_sources::FormatOptions;
use zip::write::SimpleFileOptions;

use super::read;
use crate::common::own_process::has_passed;

const TYPES: &str = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/>
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>"#;
const RELATIONS: &str = r#"<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.bin"/></Relationships>"#;

/// A record of a part. Kinds and lengths have 7 bits a byte.
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let low = kind as u8;
    let mut bytes = if kind < 0x80 { vec![low] } else { vec![low | 0x80, (kind >> 7) as u8] };
    assert!(data.len() < 0x80, "one byte for a length is enough for these tests");
    bytes.push(data.len() as u8);
    bytes.extend(data);
    bytes
}

fn wide(text: &str) -> Vec<u8> {
    let mut bytes = (text.encode_utf16().count() as u32).to_le_bytes().to_vec();
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes
}

fn row(number: u32) -> Vec<u8> {
    record(0x00, &number.to_le_bytes())
}

/// A cell of a kind with the style `style`.
fn cell(kind: u16, column: u32, style: u32, value: &[u8]) -> Vec<u8> {
    record(kind, &[&column.to_le_bytes()[..], &style.to_le_bytes(), value].concat())
}

fn text(column: u32, value: &str) -> Vec<u8> {
    cell(0x06, column, 0, &wide(value))
}

fn number(column: u32, style: u32, value: f64) -> Vec<u8> {
    cell(0x05, column, style, &value.to_le_bytes())
}

/// A workbook whose sheet `Data` has these records. Styles: 0 plain, 1 a date, 2 zeros. Shared
/// text: `shared`.
fn workbook(cells: &[Vec<u8>]) -> Vec<u8> {
    let sheet = [&[0; 8][..], &wide("rId1"), &wide("Data")].concat();
    let book = [record(0x83, &[]), record(0x8F, &[]), record(0x9C, &sheet), record(0x90, &[]), record(0x84, &[])];
    let style = |format: u16| record(0x2F, &[&[0, 0][..], &format.to_le_bytes(), &[0; 12]].concat());
    let formats = [
        record(0x267, &1_u32.to_le_bytes()),
        record(0x2C, &[&166_u16.to_le_bytes()[..], &wide("00000")].concat()),
        record(0x268, &[]),
    ];
    let of_cells = [record(0x269, &3_u32.to_le_bytes()), style(0), style(14), style(166), record(0x26A, &[])];
    let styles = [record(0x116, &[]), formats.concat(), of_cells.concat()];
    let shared =
        [record(0x9F, &[1_u32.to_le_bytes(); 2].concat()), record(0x13, &[&[0][..], &wide("shared")].concat())];
    let begin = [record(0x81, &[]), record(0x94, &[0; 16]), record(0x91, &[])];
    let data = [begin.concat(), cells.concat(), record(0x92, &[]), record(0x82, &[])];
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in [
        ("[Content_Types].xml", TYPES.as_bytes()),
        ("xl/_rels/workbook.bin.rels", RELATIONS.as_bytes()),
        ("xl/workbook.bin", &book.concat()),
        ("xl/styles.bin", &styles.concat()),
        ("xl/sharedStrings.bin", &shared.concat()),
        ("xl/worksheets/sheet1.bin", &data.concat()),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn cells_of_all_kinds_are_what_the_sheet_shows() {
    if has_passed(module_path!(), "cells_of_all_kinds_are_what_the_sheet_shows") {
        return;
    }
    let whole = |number: i32| ((number << 2) as u32 | 2).to_le_bytes();
    let data = workbook(&[
        row(0),
        ["name", "whole", "part", "day", "yes"].iter().zip(0..).flat_map(|(name, at)| text(at, name)).collect(),
        row(1),
        text(0, "a\"b"),
        cell(0x02, 1, 0, &whole(7)),
        number(2, 0, 0.25),
        number(3, 1, 45_322.0),
        cell(0x04, 4, 0, &[1]),
        row(3),
        cell(0x07, 0, 0, &0_u32.to_le_bytes()),
        cell(0x03, 1, 0, &[0x2A]),
        // The farthest cell there can be.
        row(1_048_575),
        number(16_383, 0, 9.0),
    ]);
    let (outcome, warnings) = read(&data, FormatOptions::default(), 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(
        outcome.texts(),
        [
            r#"{"name":"a\"b","whole":7,"part":0.25,"day":"2024-01-31","yes":true}"#,
            r#"{"name":"shared"}"#,
            r#"{"c16384":9}"#
        ]
    );
    assert!(warnings.iter().any(|w| w.contains("column whole: a cell holds #N/A")), "{warnings:?}");
    super::is_small();
}

#[test]
fn a_damaged_part_is_an_error_and_no_panic() {
    // Shared text that is not there.
    let data = workbook(&[row(0), text(0, "n"), row(1), cell(0x07, 0, 0, &7_u32.to_le_bytes())]);
    let error = read(&data, FormatOptions::default(), 1 << 20).0.error.unwrap().to_string();
    assert!(error.contains("sheet \"Data\" cannot be read"), "{error}");
}

#[test]
fn numbers_with_zeros_and_formulas_without_a_value() {
    // A formula: its value, flags, and the length of what it calculates.
    let formula = |kind: u16, column: u32, value: &[u8]| cell(kind, column, 0, &[value, &[0, 0], &[0; 8]].concat());
    let cells = [
        row(0),
        text(0, "zip"),
        number(1, 1, 45292.0),
        text(2, "f"),
        row(1),
        number(0, 2, 1234.0),
        number(1, 0, 5.0),
        formula(0x09, 2, &7_f64.to_le_bytes()),
        row(2),
        number(0, 0, 12345.0),
        formula(0x0B, 2, &[0x2A]),
    ];
    let (outcome, warnings) = read(&workbook(&cells), FormatOptions::default(), 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.texts(), [r#"{"zip":"01234","2024-01-01":5,"f":7}"#, r#"{"zip":"12345"}"#]);
    assert!(warnings.iter().any(|warning| warning.contains("column f: a formula has no stored value")), "{warnings:?}");
}
