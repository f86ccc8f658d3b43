//! Cells of `.xlsx` and `.xlsm`, with what their styles and formulas add.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use bytes::Bytes;
use calamine::{DataRef, Xlsx};
use zip::ZipArchive;

use super::codes::Zeros;
use super::formulas::{Formulas, Stored};
use super::found::{Found, Rows};
use crate::catch_panic::text;

/// The formats with zeros of cells, by row and column.
type Codes<'a> = HashMap<(u32, u32), &'a Zeros>;

/// Reads a sheet of the workbook `data`.
pub(super) fn rows(book: &mut Xlsx<Cursor<Bytes>>, data: &Bytes, sheet: &str) -> Result<Found, String> {
    let zeros = zeros(book, sheet)?;
    let codes = codes(book, sheet, &zeros)?;
    // A formula that cannot be understood is no reason to lose its value.
    let (rows, formulas) = with_formulas(book, sheet, &codes).or_else(|_| without_formulas(book, sheet, &codes))?;
    Ok(Found { rows: rows.finish(), formulas, asks_to_calculate: asks_to_calculate(data) })
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
    let mut rows = Rows::default();
    let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
    while let Some(cell) = reader.next_cell().map_err(text)? {
        let (row, column) = cell.get_position();
        rows.add_shown(row, column, cell.get_value().clone(), codes.get(&(row, column)).copied());
    }
    Ok((rows, Formulas::default()))
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
