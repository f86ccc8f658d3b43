//! Workbooks of Excel 5 to 2003, of which each shows what its writer made unlike others.

use inrush_sources::FormatOptions;

use super::read;
use crate::common::own_process::has_passed;

/// A record of a workbook's stream.
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), data].concat()
}

/// The place of a cell, and its style.
fn place(row: u16, column: u16, style: u16) -> Vec<u8> {
    [row, column, style].iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Excel 97's text of 16 bits, or of 8 where it is `narrow`.
fn unicode(text: &str, narrow: bool) -> Vec<u8> {
    let mut bytes = (text.encode_utf16().count() as u16).to_le_bytes().to_vec();
    bytes.push(u8::from(!narrow));
    for unit in text.encode_utf16() {
        if narrow {
            bytes.push(unit as u8);
        } else {
            bytes.extend(unit.to_le_bytes());
        }
    }
    bytes
}

fn label(row: u16, column: u16, text: &[u8]) -> Vec<u8> {
    record(0x0204, &[place(row, column, 0), text.to_vec()].concat())
}

/// A number with the style `style`.
fn number(row: u16, column: u16, style: u16, value: f64) -> Vec<u8> {
    record(0x0203, &[place(row, column, style), value.to_le_bytes().to_vec()].concat())
}

/// A formula of this kind; without a value its text follows.
fn formula(kind: u16, row: u16, column: u16, value: Option<f64>) -> Vec<u8> {
    let value = value.map_or([0, 0, 0, 0, 0, 0, 0xFF, 0xFF], f64::to_le_bytes);
    record(kind, &[place(row, column, 0), value.to_vec(), vec![0; 8]].concat())
}

/// A workbook of a version with one sheet. `globals` come before its cells.
fn workbook(version: u16, globals: &[Vec<u8>], cells: &[Vec<u8>]) -> Vec<u8> {
    let begin = |kind: u16| record(0x0809, &[version.to_le_bytes(), kind.to_le_bytes(), [0; 2], [0; 2]].concat());
    let name: &[u8] = if version == 0x0600 { b"\x04\0Data" } else { b"\x04Data" };
    let head = [begin(5), globals.concat()].concat();
    let sheet_len = 4 + 6 + name.len();
    let at = (head.len() + sheet_len + 4) as u32;
    let sheet = record(0x0085, &[&at.to_le_bytes()[..], &[0, 0], name].concat());
    let end = record(0x000A, &[]);
    let stream = [head, sheet, end.clone(), begin(16), cells.concat(), end].concat();
    container(if version == 0x0600 { "Workbook" } else { "Book" }, stream)
}

/// A compound file with one stream.
fn container(name: &str, mut stream: Vec<u8>) -> Vec<u8> {
    // Longer than what would be in small sectors.
    stream.resize(stream.len().max(4096), 0);
    let len = stream.len() as u32;
    stream.resize(stream.len().next_multiple_of(512), 0);
    let sectors = (stream.len() / 512) as u32;
    assert!(sectors < 126, "one sector of the table is enough for these tests");
    let mut header = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec();
    header.resize(24, 0);
    header.extend([0x3E, 0, 3, 0, 0xFE, 0xFF, 9, 0, 6, 0]);
    header.resize(44, 0);
    // Tables: one, in sector 0; the directory in sector 1; no small sectors; no more places.
    for number in [1_u32, 1, 0, 4096, 0xFFFF_FFFE, 0, 0xFFFF_FFFE, 0, 0] {
        header.extend(number.to_le_bytes());
    }
    header.resize(512, 0xFF);
    let mut table: Vec<u32> = vec![0xFFFF_FFFD, 0xFFFF_FFFE];
    table.extend((3..sectors + 2).chain([0xFFFF_FFFE]));
    table.resize(128, 0xFFFF_FFFF);
    let entry = |name: &str, kind: u8, start: u32, len: u32| {
        let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        entry.resize(64, 0);
        entry.extend(((name.len() as u16 + 1) * 2).to_le_bytes());
        entry.extend([kind, 1]);
        entry.extend([0xFF; 8]);
        let child: u32 = if kind == 5 { 1 } else { 0xFFFF_FFFF };
        entry.extend(child.to_le_bytes());
        entry.resize(116, 0);
        entry.extend(start.to_le_bytes());
        entry.extend(len.to_le_bytes());
        entry.resize(128, 0);
        entry
    };
    let mut directory = [entry("Root Entry", 5, 0xFFFF_FFFE, 0), entry(name, 2, 2, len)].concat();
    directory.resize(512, 0);
    let table: Vec<u8> = table.into_iter().flat_map(u32::to_le_bytes).collect();
    [header, table, directory, stream].concat()
}

#[track_caller]
fn check(data: &[u8], expected: &[&str]) -> Vec<String> {
    let (outcome, warnings) = read(data, FormatOptions::default(), 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.texts(), expected);
    warnings
}

const EXCEL_97: u16 = 0x0600;
const EXCEL_5: u16 = 0x0500;

fn code_page(page: u16) -> Vec<u8> {
    record(0x0042, &page.to_le_bytes())
}

#[test]
fn text_of_excel_97_is_unicode_whatever_the_code_page() {
    for page in [1200, 1252, 437, 0x8000] {
        let cells = [
            label(0, 0, &unicode("Naïve", true)),
            label(0, 1, &unicode("π", false)),
            label(1, 0, &unicode("Hi Excel!", true)),
            label(1, 1, &unicode("Grüße, мир 𝄞", false)),
        ];
        check(&workbook(EXCEL_97, &[code_page(page)], &cells), &[r#"{"Naïve":"Hi Excel!","π":"Grüße, мир 𝄞"}"#]);
    }
}

#[test]
fn text_of_excel_5_is_of_its_code_page() {
    let narrow = |text: &[u8]| [&(text.len() as u16).to_le_bytes()[..], text].concat();
    let wide: Vec<u8> = "Hi Excel".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (page, name, text, expected) in [
        (1252, &b"\xE9t\xE9"[..], &b"caf\xE9"[..], r#"{"été":"café"}"#),
        (1251, b"a", b"\xEC\xE8\xF0", r#"{"a":"мир"}"#),
        (932, b"a", b"\x93\xFA\x96\x7B", r#"{"a":"日本"}"#),
        (0x8000, b"a", b"caf\x8E", r#"{"a":"café"}"#),
        (1200, b"a\0", &wide, r#"{"a":"Hi Excel"}"#),
    ] {
        let cells = [label(0, 0, &narrow(name)), label(1, 0, &narrow(text))];
        check(&workbook(EXCEL_5, &[code_page(page)], &cells), &[expected]);
    }
    let cells = [label(0, 0, &narrow(b"a")), label(1, 0, &narrow(b"\x82t\x82"))];
    let warnings = check(&workbook(EXCEL_5, &[code_page(437)], &cells), &["{\"a\":\"\u{FFFD}t\u{FFFD}\"}"]);
    assert!(warnings[0].contains("letters of the unknown code page 437 became U+FFFD"), "{warnings:?}");
}

#[test]
fn formulas_that_are_marked_as_those_of_older_versions_are_rows() {
    let text = |row, text| record(0x0207, &unicode(text, row == 1));
    let cells = [
        label(0, 0, &unicode("a", true)),
        label(0, 1, &unicode("b", true)),
        formula(0x0006, 1, 0, Some(1.0)),
        formula(0x0006, 1, 1, None),
        text(1, "one"),
        formula(0x0206, 2, 0, Some(2.0)),
        formula(0x0206, 2, 1, None),
        // What belongs to several formulas stands before the text of one.
        record(0x04BC, &[0; 10]),
        text(2, "zwei"),
        formula(0x0406, 3, 0, Some(3.5)),
        formula(0x0406, 3, 1, None),
        text(3, "три"),
    ];
    check(
        &workbook(EXCEL_97, &[], &cells),
        &[r#"{"a":1.0,"b":"one"}"#, r#"{"a":2.0,"b":"zwei"}"#, r#"{"a":3.5,"b":"три"}"#],
    );
}

#[test]
fn numbers_dates_and_shared_text_of_all_kinds() {
    if has_passed(module_path!(), "numbers_dates_and_shared_text_of_all_kinds") {
        return;
    }
    // Text that goes on in a second record, there with letters of 8 bits; marks of looks behind it.
    let long = "ж".repeat(10);
    let mut first = [2_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat();
    first.extend([20, 0, 9, 1, 0]);
    first.extend(long.encode_utf16().flat_map(u16::to_le_bytes));
    let second = [&[0][..], b"0123456789", &[0; 4], &unicode("end", true)].concat();
    let format =
        |number: u16, text: &str| record(0x041E, &[number.to_le_bytes().to_vec(), unicode(text, true)].concat());
    let style = |format: u16| record(0x00E0, &[&[0, 0][..], &format.to_le_bytes(), &[0; 16]].concat());
    let globals = [
        format(164, "yyyy\\-mm\\-dd"),
        format(165, "[h]:mm"),
        style(0),
        style(164),
        style(165),
        style(14),
        record(0x00FC, &first),
        record(0x003C, &second),
    ];
    let shared =
        |row, column, number: u32| record(0x00FD, &[place(row, column, 0), number.to_le_bytes().to_vec()].concat());
    let whole = |number: i32, hundredths: u32| ((number << 2) as u32 | 2 | hundredths).to_le_bytes().to_vec();
    // Two cells, and the column of the last one.
    let several = [place(1, 1, 0), whole(7, 0), vec![1, 0], whole(45_322, 0), vec![2, 0]].concat();
    let cells = [
        shared(0, 0, 1),
        shared(1, 0, 0),
        record(0x00BD, &several),
        record(0x027E, &[place(1, 3, 0), whole(12_345, 1)].concat()),
        number(1, 4, 2, 1.5),
        number(1, 5, 3, 45_322.0),
        record(0x0205, &[place(1, 6, 0), vec![1, 0]].concat()),
        record(0x0205, &[place(2, 6, 0), vec![0x2A, 1]].concat()),
        // The farthest cell there can be.
        number(65_535, 255, 0, 9.0),
    ];
    let first = format!(
        r#"{{"end":"{long}0123456789","c2":7,"c3":"2024-01-31","c4":123.45,"c5":"PT129600S","c6":"2024-01-31","c7":true}}"#
    );
    let warnings = check(&workbook(EXCEL_97, &globals, &cells), &[&first, "{}", r#"{"c256":9}"#]);
    assert!(warnings.iter().any(|w| w.contains("column c7: a cell holds #N/A")), "{warnings:?}");
    super::is_small();
}

#[test]
fn a_password_and_a_damaged_file_are_told() {
    let problem = |data: &[u8]| read(data, FormatOptions::default(), 1 << 20).0.error.unwrap().to_string();
    let data = workbook(EXCEL_97, &[record(0x002F, &[1, 0])], &[]);
    assert!(problem(&data).contains("cannot be read as a spreadsheet: it has a password"), "{}", problem(&data));
    let data = workbook(EXCEL_97, &[], &[label(0, 0, &unicode("a", true))]);
    for cut in [100, 512, 1024, 1536, 3000] {
        assert!(problem(&data[..cut]).contains("cannot be read as a spreadsheet"), "{cut}: {}", problem(&data[..cut]));
    }
    // The directory's chain of sectors goes in a circle.
    let mut data = data;
    data[512 + 4..512 + 8].copy_from_slice(&1_u32.to_le_bytes());
    assert!(problem(&data).contains("a chain of sectors is circular"), "{}", problem(&data));
}

#[test]
fn numbers_with_zeros_and_formulas_that_were_not_calculated() {
    let format = record(0x041E, &[&200_u16.to_le_bytes()[..], &unicode("00000", true)].concat());
    let style = |format: u16| record(0x00E0, &[&[0, 0][..], &format.to_le_bytes(), &[0; 16]].concat());
    let globals = [format, style(0), style(200), style(14)];
    // xlwt stores an empty text for each formula.
    let empty = |row: u16, column: u16| {
        record(0x0006, &[place(row, column, 0), vec![3, 0, 0, 0, 0, 0, 0xFF, 0xFF], vec![0; 8]].concat())
    };
    let cells = [
        label(0, 0, &unicode("zip", true)),
        number(0, 1, 2, 45292.0),
        label(0, 2, &unicode("f", true)),
        number(1, 0, 1, 1234.0),
        number(1, 1, 0, 5.0),
        empty(1, 2),
        number(2, 0, 0, 12345.0),
        empty(2, 2),
    ];
    let warnings =
        check(&workbook(EXCEL_97, &globals, &cells), &[r#"{"zip":"01234","2024-01-01":5}"#, r#"{"zip":"12345"}"#]);
    let expected = "column f: a formula has 0 or an empty text";
    assert!(warnings.iter().any(|warning| warning.contains(expected) && warning.contains("(2 times)")), "{warnings:?}");
    let calculated = [&cells[..], &[formula(0x0006, 3, 2, Some(7.0))]].concat();
    let warnings = check(
        &workbook(EXCEL_97, &globals, &calculated),
        &[r#"{"zip":"01234","2024-01-01":5}"#, r#"{"zip":"12345"}"#, r#"{"f":7}"#],
    );
    assert!(!warnings.iter().any(|warning| warning.contains(expected)), "{warnings:?}");
}

#[test]
fn merged_cells_are_told() {
    let areas: Vec<u8> = [2_u16, 1, 2, 0, 1, 0, 0, 0, 1].into_iter().flat_map(u16::to_le_bytes).collect();
    let text = |row, column, text| label(row, column, &unicode(text, true));
    let mut cells = vec![text(0, 0, "group"), text(0, 1, "n"), text(1, 0, "a"), number(1, 1, 0, 1.0)];
    cells.extend([number(2, 1, 0, 2.0), record(0x00E5, &areas)]);
    let told = check(&workbook(EXCEL_97, &[], &cells), &[r#"{"group":"a","n":1}"#, r#"{"n":2}"#]);
    assert!(told.len() == 1 && told[0].contains("column group: cells are merged over several rows"), "{told:?}");
}
