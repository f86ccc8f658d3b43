//! Cells of `.xlsb`, with what their styles and formulas add. calamine gives neither the format of
//! a cell nor a formula that is an error, so the parts of the workbook are looked at as well.

use std::collections::{HashMap, HashSet};
use std::io::{Cursor, Read};

use bytes::Bytes;
use calamine::{DataRef, Xlsb};
use zip::ZipArchive;

use super::codes::Zeros;
use super::formulas::{Formulas, Stored};
use super::found::{Found, Merged, Rows};
use crate::catch_panic::{guarded, text};

/// Reads a sheet of the workbook `data`.
pub(super) fn rows(book: &mut Xlsb<Cursor<Bytes>>, data: &Bytes, sheet: &str) -> Result<Found, String> {
    let (mut rows, mut formulas) = (Rows::default(), Formulas::default());
    // What cannot be understood here is no reason to lose the values.
    let mut pending = guarded(|| Ok(positions(book, sheet))).unwrap_or_default();
    let zeros = zeros(data).unwrap_or_default();
    let cells = sheet_part(data, sheet).unwrap_or_default();
    let codes = if zeros.is_empty() { HashMap::new() } else { codes(&cells, &zeros).unwrap_or_default() };
    let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
    while let Some(cell) = reader.next_cell().map_err(text)? {
        let (row, column) = cell.get_position();
        if pending.remove(&(row, column)) {
            let is_zero = matches!(cell.get_value(), DataRef::Float(number) if *number == 0.0);
            formulas.see(column, if is_zero { Stored::Nothing } else { Stored::Value });
        }
        let zeros = codes.get(&(row, column)).and_then(|style| zeros.get(style));
        rows.add_shown(row, column, cell.get_value().clone(), zeros);
    }
    pending.into_iter().for_each(|(_, column)| formulas.see(column, Stored::Missing));
    Ok(Found { rows: rows.finish(), formulas, merged: merged(&cells), asks_to_calculate: false })
}

/// Rows and columns of formulas.
fn positions(book: &mut Xlsb<Cursor<Bytes>>, sheet: &str) -> HashSet<(u32, u32)> {
    let mut found = HashSet::new();
    let Ok(mut reader) = book.worksheet_cells_reader(sheet) else { return found };
    while let Ok(Some(cell)) = reader.next_formula() {
        found.insert(cell.get_position());
    }
    found
}

/// A part of the workbook.
fn part(data: &Bytes, name: &str) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(data.clone())).ok()?;
    let mut contents = Vec::new();
    archive.by_name(name).ok()?.read_to_end(&mut contents).ok()?;
    Some(contents)
}

/// The records of a part: their kinds and contents.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, rest) = match *self.0 {
            [low, high, ref rest @ ..] if low & 0x80 != 0 => (u16::from(low & 0x7F) | u16::from(high) << 7, rest),
            [low, ref rest @ ..] => (u16::from(low), rest),
            [] => return None,
        };
        let (mut len, mut at) = (0_usize, 0);
        loop {
            let byte = *rest.get(at)?;
            len |= usize::from(byte & 0x7F) << (7 * at);
            at += 1;
            if byte & 0x80 == 0 || at == 4 {
                break;
            }
        }
        let contents = rest.get(at..at + len)?;
        self.0 = &rest[at + len..];
        Some((kind, contents))
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|bytes| u16::from_le_bytes(*bytes))
}

/// Text of 16 bits with its length before it, and the position behind it.
fn wide(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let end = at + 4 + 2 * number(bytes, at)? as usize;
    let units: Vec<u16> =
        bytes.get(at + 4..end)?.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    Some((String::from_utf16_lossy(&units), end))
}

/// The styles whose formats have zeros (BrtFmt, BrtXF).
fn zeros(data: &Bytes) -> Option<HashMap<u32, Zeros>> {
    let styles = part(data, "xl/styles.bin")?;
    let (mut formats, mut found) = (HashMap::new(), HashMap::new());
    let mut next = None;
    for (kind, contents) in Records(&styles) {
        match (kind, next) {
            (0x002C, _) => drop(formats.insert(short(contents, 0)?, wide(contents, 2)?.0)),
            // The styles of cells begin and end.
            (0x0269, _) => next = Some(0),
            (0x026A, _) => next = None,
            (0x002F, Some(style)) => {
                let format = formats.get(&short(contents, 2)?);
                found.extend(format.and_then(|format| Zeros::parse(format)).map(|zeros| (style, zeros)));
                next = Some(style + 1);
            }
            _ => {}
        }
    }
    Some(found)
}

/// The part with the cells of a sheet.
fn sheet_part(data: &Bytes, sheet: &str) -> Option<Vec<u8>> {
    let book = part(data, "xl/workbook.bin")?;
    // BrtBundleSh: state, id, relation, name.
    let relation = Records(&book).filter(|(kind, _)| *kind == 0x009C).find_map(|(_, contents)| {
        let (relation, end) = wide(contents, 8)?;
        (wide(contents, end)?.0 == sheet).then_some(relation)
    })?;
    let relations = part(data, "xl/_rels/workbook.bin.rels")?;
    let relations = String::from_utf8_lossy(&relations);
    let own = relations.split("<Relationship ").find(|one| one.contains(&format!("Id=\"{relation}\"")))?;
    let target = own.split_once("Target=\"")?.1.split('"').next()?;
    let path = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned);
    part(data, &path)
}

/// The cells that are merged over several rows (BrtMergeCell).
fn merged(cells: &[u8]) -> Vec<Merged> {
    let areas = Records(cells).filter(|(kind, _)| *kind == 0x00B0);
    let rows = |area| Merged::of((number(area, 0)?, number(area, 4)?), number(area, 8)?);
    areas.filter_map(|(_, area)| rows(area)).collect()
}

/// The styles with zeros of the cells of a sheet, by row and column.
fn codes(cells: &[u8], zeros: &HashMap<u32, Zeros>) -> Option<HashMap<(u32, u32), u32>> {
    let (mut row, mut found) = (0, HashMap::new());
    for (kind, contents) in Records(cells) {
        match kind {
            0x0000 => row = number(contents, 0)?,
            // Numbers, also of formulas. The style takes three bytes.
            0x0002 | 0x0005 | 0x0009 => {
                let style = number(contents, 4)? & 0x00FF_FFFF;
                if zeros.contains_key(&style) {
                    found.insert((row, number(contents, 0)?), style);
                }
            }
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_several_rows_are_merged_cells() {
        let area = |rows: [u32; 2], columns: [u32; 2]| {
            let places = [rows, columns].concat().into_iter().flat_map(u32::to_le_bytes);
            [0xB0, 0x01, 16].into_iter().chain(places).collect::<Vec<u8>>()
        };
        let cells = [vec![0xB1, 0x01, 4, 2, 0, 0, 0], area([1, 3], [2, 2]), area([5, 5], [0, 1]), vec![0xB2, 0x01, 0]];
        assert_eq!(merged(&cells.concat()), [Merged { column: 2, first: 1, last: 3 }]);
    }
}
