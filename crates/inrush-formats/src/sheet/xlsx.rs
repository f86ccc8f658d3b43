//! Cells of `.xlsx` and `.xlsm`, with what their styles and formulas add.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use bytes::Bytes;
use calamine::{DataRef, Xlsx};
use zip::ZipArchive;

use super::codes::Zeros;
use super::formulas::{Formulas, Stored};
use super::found::{Found, Merged, Rows};
use crate::catch_panic::text;

/// The formats with zeros of cells, by row and column.
type Codes<'a> = HashMap<(u32, u32), &'a Zeros>;

/// Reads a sheet of the workbook `data`.
pub(super) fn rows(book: &mut Xlsx<Cursor<Bytes>>, data: &Bytes, sheet: &str) -> Result<Found, String> {
    let zeros = zeros(book, sheet)?;
    let codes = codes(book, sheet, &zeros)?;
    // A formula that cannot be understood is no reason to lose its value.
    let (rows, formulas) = with_formulas(book, sheet, &codes).or_else(|_| without_formulas(book, sheet, &codes))?;
    let rows = rows.finish();
    Ok(Found { rows, formulas, merged: merged(book, sheet), asks_to_calculate: asks_to_calculate(data) })
}

/// The cells that are merged over several rows. A list that cannot be read is no reason to lose
/// the values.
fn merged(book: &mut Xlsx<Cursor<Bytes>>, sheet: &str) -> Vec<Merged> {
    let areas = book.merge_cells_by_sheet_name(sheet).unwrap_or_default().into_iter();
    areas.filter_map(|area| Merged::of((area.start.0, area.end.0), area.start.1)).collect()
}

/// The styles whose formats have zeros.
fn zeros(book: &mut Xlsx<Cursor<Bytes>>, sheet: &str) -> Result<HashMap<usize, Zeros>, String> {
    let reader = book.worksheet_cells_reader(sheet).map_err(text)?;
    let styles = reader.styles().iter().enumerate();
    Ok(styles.filter_map(|(at, style)| Some((at, Zeros::parse(&style.number_format.as_ref()?.format_code)?))).collect())
}

fn codes<'a>(
    book: &mut Xlsx<Cursor<Bytes>>,
    sheet: &str,
    zeros: &'a HashMap<usize, Zeros>,
) -> Result<Codes<'a>, String> {
    let mut codes = HashMap::new();
    if zeros.is_empty() {
        return Ok(codes);
    }
    let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
    while let Some((row, column, style)) = reader.next_style_id().map_err(text)? {
        if let Some(zeros) = zeros.get(&style) {
            codes.insert((row, column), zeros);
        }
    }
    Ok(codes)
}

fn with_formulas(book: &mut Xlsx<Cursor<Bytes>>, sheet: &str, codes: &Codes<'_>) -> Result<(Rows, Formulas), String> {
    let (mut rows, mut formulas) = (Rows::default(), Formulas::default());
    let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
    while let Some(cell) = reader.next_cell_with_formula_metadata().map_err(text)? {
        let (row, column) = cell.pos;
        if cell.formula.is_some() {
            formulas.see(column, stored(&cell.value));
        }
        rows.add_shown(row, column, cell.value, codes.get(&(row, column)).copied());
    }
    Ok((rows, formulas))
}

fn without_formulas(
    book: &mut Xlsx<Cursor<Bytes>>,
    sheet: &str,
    codes: &Codes<'_>,
) -> Result<(Rows, Formulas), String> {
    let (mut rows, mut read) = (Rows::default(), 0);
    let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
    let problem = loop {
        match reader.next_cell() {
            Ok(Some(cell)) => {
                let (row, column) = cell.get_position();
                rows.add_shown(row, column, cell.get_value().clone(), codes.get(&(row, column)).copied());
                read += 1;
            }
            Ok(None) => return Ok((rows, Formulas::default())),
            Err(problem) => break text(problem),
        }
    };
    drop(reader);
    Err(match place(book, sheet, read) {
        Some((row, column)) => format!("cell {}: {problem}", address(row, column)),
        None => problem,
    })
}

/// The row and the column of a cell, which is named by the number of those before it.
fn place(book: &mut Xlsx<Cursor<Bytes>>, sheet: &str, before: usize) -> Option<(u32, u32)> {
    let mut reader = book.worksheet_cells_reader(sheet).ok()?;
    for _ in 0..before {
        reader.next_formula().ok()??;
    }
    reader.next_formula().ok()?.map(|cell| cell.get_position())
}

/// A cell as programs name it, such as `B7`.
fn address(row: u32, column: u32) -> String {
    let (mut letters, mut left) = (String::new(), column + 1);
    while left > 0 {
        left -= 1;
        letters.insert(0, char::from(b'A' + (left % 26) as u8));
        left /= 26;
    }
    format!("{letters}{}", row + 1)
}

fn stored(value: &DataRef<'_>) -> Stored {
    match value {
        DataRef::Empty => Stored::Missing,
        DataRef::Int(0) => Stored::Nothing,
        DataRef::Float(number) if *number == 0.0 => Stored::Nothing,
        _ => Stored::Value,
    }
}

/// Whether the workbook asks the program that opens it to calculate all formulas. Programs that
/// calculate do not write this.
fn asks_to_calculate(data: &Bytes) -> bool {
    let Ok(mut archive) = ZipArchive::new(Cursor::new(data.clone())) else { return false };
    let Ok(mut part) = archive.by_name("xl/workbook.xml") else { return false };
    let mut workbook = Vec::new();
    let read = part.read_to_end(&mut workbook).is_ok();
    let asks = |value: &str| memchr::memmem::find(&workbook, format!("fullCalcOnLoad={value}").as_bytes()).is_some();
    read && ["\"1\"", "\"true\"", "'1'", "'true'"].into_iter().any(asks)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use calamine::Reader;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// A workbook of one sheet, `S`.
    fn book(contents: &str) -> (Xlsx<Cursor<Bytes>>, Bytes) {
        let main = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"";
        let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let package = "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"";
        let relation = |id, kind, target| {
            let relation = format!("<Relationship Id=\"{id}\" Type=\"{relations}/{kind}\" Target=\"{target}\"/>");
            format!("<Relationships {package}>{relation}</Relationships>")
        };
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in [
            (
                "xl/workbook.xml",
                format!(
                    "<workbook {main} xmlns:r=\"{relations}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
                ),
            ),
            ("_rels/.rels", relation("r0", "officeDocument", "xl/workbook.xml")),
            ("xl/_rels/workbook.xml.rels", relation("r1", "worksheet", "worksheets/sheet1.xml")),
            ("xl/worksheets/sheet1.xml", format!("<worksheet {main}>{contents}</worksheet>")),
        ] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        let data = Bytes::from(zip.finish().unwrap().into_inner());
        (Xlsx::new(Cursor::new(data.clone())).unwrap(), data)
    }

    #[test]
    fn areas_of_several_rows_are_merged_cells() {
        let of = |areas: &str| merged(&mut book(&format!("<sheetData/>{areas}")).0, "S");
        let areas = "<mergeCells count=\"2\"><mergeCell ref=\"B2:C4\"/><mergeCell ref=\"A1:B1\"/></mergeCells>";
        assert_eq!(of(areas), [Merged { column: 1, first: 1, last: 3 }]);
        assert!(of("<mergeCells><mergeCell ref=\"x\"/></mergeCells>").is_empty());
        assert!(of("").is_empty());
    }

    #[test]
    fn a_cell_that_cannot_be_read_is_named() {
        let of = |cells: &str| {
            let (mut book, data) = book(&format!("<sheetData>{cells}</sheetData>"));
            rows(&mut book, &data, "S").map(|found| found.rows.len())
        };
        let good = "<row r=\"1\"><c r=\"A1\"><v>1</v></c><c r=\"B1\" s=\"0\"/></row>";
        assert_eq!(of(good), Ok(1));
        let problem =
            of(&format!("{good}<row r=\"7\"><c r=\"A7\"><v>2</v></c><c r=\"AB7\" t=\"n\"><v>1.2.3</v></c></row>"));
        assert!(problem.as_ref().is_err_and(|problem| problem.starts_with("cell AB7: ")), "{problem:?}");
    }

    #[test]
    fn cells_have_the_addresses_of_spreadsheet_programs() {
        for (column, letters) in [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")] {
            assert_eq!(address(9, column), format!("{letters}10"));
        }
    }
}
