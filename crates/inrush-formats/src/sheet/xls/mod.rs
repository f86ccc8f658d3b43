//! Workbooks of Excel 5 to 2003, `.xls`: a stream of records in a compound file.
//!
//! calamine reads them, too. But it makes a table of all cells up to the farthest one, misreads
//! text of Excel 97 that declares a code page, and skips formulas that are marked as those of Excel
//! 4.

mod container;
mod formats;
mod records;

use std::cell::Cell as Counter;
use std::collections::HashMap;
use std::sync::Arc;

use calamine::{CellErrorType, ExcelDateTime, ExcelDateTimeType};
use encoding_rs::WINDOWS_1252;

use self::formats::Shown;
use self::records::{Letters, Record, Records};
use super::cell::Cell;
use super::codes::Zeros;
use super::formulas::{Formulas, Stored};
use super::found::{Found, Merged, Rows};

/// The beginning and end of a part of the stream.
const BOF: u16 = 0x0809;
const EOF: u16 = 0x000A;
/// Areas of merged cells.
const MERGED: u16 = 0x00E5;

/// The kinds of formula records: that of Excel 97, and those of Excel 3 and 4, which some writers
/// use in newer files.
const FORMULAS: [u16; 3] = [0x0006, 0x0206, 0x0406];

/// Whether `data` is a compound file.
pub(super) fn is_xls(data: &[u8]) -> bool {
    data.starts_with(container::SIGNATURE)
}

/// A workbook.
pub(super) struct Xls {
    stream: Vec<u8>,
    sheets: Vec<Sheet>,
    letters: Letters,
    code_page: u16,
    strings: Vec<Arc<str>>,
    /// The meaning of numbers, by the number of a cell's style.
    shown: Vec<Shown>,
    /// The formats with zeros, which [`Shown::Code`] counts.
    zeros: Vec<Zeros>,
    is_1904: bool,
    /// Number of letters of an unknown code page.
    unknown: Counter<u64>,
}

struct Sheet {
    name: String,
    visible: bool,
    /// The position in the stream at which the sheet begins.
    at: usize,
}

impl Xls {
    pub(super) fn open(data: &[u8]) -> Result<Self, String> {
        let stream = container::stream(data, &["Workbook", "Book"])?;
        let mut book = Xls {
            stream: Vec::new(),
            sheets: Vec::new(),
            letters: Letters::Unicode,
            code_page: 1252,
            strings: Vec::new(),
            shown: Vec::new(),
            zeros: Vec::new(),
            is_1904: false,
            unknown: Counter::new(0),
        };
        let mut formats = HashMap::new();
        let mut styles = Vec::new();
        for record in Records::new(&stream) {
            match record.kind {
                BOF => book.begin(&record)?,
                EOF => break,
                // The workbook is encrypted.
                0x002F => return Err("it has a password".to_owned()),
                0x0042 => book.set_code_page(&record),
                0x0022 => book.is_1904 = record.reader().u16() == Some(1),
                0x0085 => book.sheets.extend(book.sheet(&record)),
                0x00FC => book.read_strings(&record)?,
                0x041E => formats.extend(book.format(&record)),
                0x00E0 => styles.push(word(record.data(), 2).unwrap_or(0)),
                _ => {}
            }
        }
        let shown = |format: u16| formats.get(&format).copied().unwrap_or_else(|| formats::built_in(format));
        book.shown = styles.into_iter().map(shown).collect();
        book.stream = stream;
        Ok(book)
    }

    /// The sheets with cells, and whether they are visible.
    pub(super) fn sheets(&self) -> impl Iterator<Item = (&str, bool)> {
        self.sheets.iter().map(|sheet| (sheet.name.as_str(), sheet.visible))
    }

    /// Number of letters of an unknown code page.
    pub(super) fn unknown_letters(&self) -> u64 {
        self.unknown.get()
    }

    pub(super) fn code_page(&self) -> u16 {
        self.code_page
    }

    /// Reads the version. Text since Excel 97 is Unicode, even if the workbook declares a code
    /// page.
    fn begin(&mut self, record: &Record<'_>) -> Result<(), String> {
        match word(record.data(), 0) {
            Some(0x0500) => self.letters = Letters::Page(Some(WINDOWS_1252)),
            Some(0x0002 | 0x0007 | 0x0200 | 0x0300 | 0x0400) => {
                return Err("it is older than Excel 5; save it in a newer format".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn set_code_page(&mut self, record: &Record<'_>) {
        if let (Letters::Page(_), Some(page)) = (self.letters, record.reader().u16()) {
            self.code_page = page;
            // The code pages of Macintosh and of Windows have special numbers.
            let page = match page {
                0x8000 => 10000,
                0x8001 => 1252,
                page => page,
            };
            self.letters = Letters::Page(codepage::to_encoding(page));
        }
    }

    /// Text with its length before it, in 8 or 16 bits.
    fn text(&self, reader: &mut records::Pieces<'_>, short: bool) -> Option<String> {
        let len = if short { usize::from(reader.byte()?) } else { usize::from(reader.u16()?) };
        let mut unknown = self.unknown.get();
        let text = reader.text(len, self.letters, &mut unknown);
        self.unknown.set(unknown);
        text
    }

    /// A sheet, if it has cells.
    fn sheet(&self, record: &Record<'_>) -> Option<Sheet> {
        let mut reader = record.reader();
        let at = reader.u32()? as usize;
        let (hidden, kind) = (reader.byte()? & 3, reader.byte()?);
        let mut name = self.text(&mut reader, true)?;
        name.retain(|letter| letter != '\0');
        (kind == 0).then_some(Sheet { name, visible: hidden == 0, at })
    }

    /// A format and what it shows. The length is 8 bits before Excel 97.
    fn format(&mut self, record: &Record<'_>) -> Option<(u16, Shown)> {
        let mut reader = record.reader();
        let number = reader.u16()?;
        let format = self.text(&mut reader, matches!(self.letters, Letters::Page(_)))?;
        let shown = match Zeros::parse(&format) {
            Some(zeros) => {
                self.zeros.push(zeros);
                Shown::Code(u16::try_from(self.zeros.len() - 1).ok()?)
            }
            None => formats::custom(&format),
        };
        Some((number, shown))
    }

    fn read_strings(&mut self, record: &Record<'_>) -> Result<(), String> {
        let mut reader = record.reader();
        reader.skip(4);
        let said = reader.u32().unwrap_or(0);
        while !reader.is_empty() && self.strings.len() < said as usize {
            let text = self.text(&mut reader, false);
            self.strings.push(text.ok_or("its shared text is damaged")?.into());
        }
        Ok(())
    }

    /// The rows of a sheet.
    pub(super) fn rows(&self, sheet: &str) -> Result<Found, String> {
        let sheet = self.sheets.iter().find(|found| found.name == sheet).ok_or("it does not exist")?;
        let stream = self.stream.get(sheet.at..).ok_or("it begins beyond the end of the workbook")?;
        let (mut rows, mut formulas, mut merged) = (Rows::default(), Formulas::default(), Vec::new());
        // Charts in the sheet have cells of their own.
        let mut depth = 0;
        // The cell of a formula whose text comes in a later record.
        let mut text_of = None;
        for record in Records::new(stream) {
            match record.kind {
                BOF => depth += 1,
                EOF if depth <= 1 => break,
                EOF => depth -= 1,
                _ if depth > 1 => {}
                0x0207 => {
                    if let (Some((row, column)), Some(text)) = (text_of.take(), self.text(&mut record.reader(), false))
                    {
                        rows.add(row, column, Cell::Text(text.into()));
                    }
                }
                MERGED => {
                    // Their number, then the first and the last row and column of each.
                    for area in record.data().get(2..).unwrap_or_default().chunks_exact(8) {
                        let at = |at| word(area, at).map_or(0, u32::from);
                        merged.extend(Merged::of((at(0), at(2)), at(4)));
                    }
                }
                kind if FORMULAS.contains(&kind) => text_of = self.formula(&record, &mut rows, &mut formulas)?,
                _ => self.cells(&record, &mut rows)?,
            }
        }
        // Some writers omit the end record. A writer that does not calculate stores empty texts.
        Ok(Found { rows: rows.finish(), formulas, merged, asks_to_calculate: true })
    }

    /// Reads the cells of a record that has some.
    fn cells(&self, record: &Record<'_>, rows: &mut Rows) -> Result<(), String> {
        let data = record.data();
        let (Some(row), Some(column)) = (word(data, 0), word(data, 2)) else { return Ok(()) };
        let (row, column) = (u32::from(row), u32::from(column));
        let short = || format!("the cell in row {} and column {} is cut off", row + 1, column + 1);
        let mut add = |cell| rows.add(row, column, cell);
        match record.kind {
            0x0203 => add(self.number(word(data, 4), f64_at(data, 6).ok_or_else(short)?)),
            0x027E => add(self.packed(word(data, 4), data.get(6..10).ok_or_else(short)?)),
            0x00BD => {
                // The last column is at the end.
                let cells = data.get(4..data.len().saturating_sub(2)).unwrap_or_default();
                for (column, cell) in (column..).zip(cells.chunks_exact(6)) {
                    rows.add(row, column, self.packed(word(cell, 0), &cell[2..]));
                }
            }
            0x00FD => {
                let number = data.get(6..10).ok_or_else(short)?;
                let number = u32::from_le_bytes([number[0], number[1], number[2], number[3]]);
                let text = self.strings.get(number as usize).ok_or_else(|| {
                    format!("row {} refers to text {number}, but there are only {}", row + 1, self.strings.len())
                })?;
                add(Cell::Text(Arc::clone(text)));
            }
            // Text of its own, with or without formatting.
            0x0204 | 0x00D6 => {
                let mut reader = record.reader();
                reader.skip(6);
                add(Cell::Text(self.text(&mut reader, false).ok_or_else(short)?.into()));
            }
            0x0205 => {
                let (Some(value), Some(is_error)) = (data.get(6), data.get(7)) else { return Err(short()) };
                add(if *is_error == 0 { Cell::Truth(*value != 0) } else { Cell::Error(error(*value)) });
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the value of a formula. If it is text, that follows later, and the row and column are
    /// returned.
    fn formula(
        &self,
        record: &Record<'_>,
        rows: &mut Rows,
        formulas: &mut Formulas,
    ) -> Result<Option<(u32, u32)>, String> {
        let data = record.data();
        let (Some(row), Some(column), Some(value)) = (word(data, 0), word(data, 2), data.get(6..14)) else {
            return Err("a formula is cut off".to_owned());
        };
        let (row, column) = (u32::from(row), u32::from(column));
        let is_empty = value[6..] == [0xFF, 0xFF] && value[0] == 3 || value == [0; 8];
        formulas.see(column, if is_empty { Stored::Nothing } else { Stored::Value });
        if value[6..] != [0xFF, 0xFF] {
            let number = f64_at(value, 0).unwrap_or(f64::NAN);
            rows.add(row, column, self.number(word(data, 4), number));
            return Ok(None);
        }
        match value[0] {
            0 => return Ok(Some((row, column))),
            1 => rows.add(row, column, Cell::Truth(value[2] != 0)),
            2 => rows.add(row, column, Cell::Error(error(value[2]))),
            // Empty text.
            _ => {}
        }
        Ok(None)
    }

    fn number(&self, style: Option<u16>, number: f64) -> Cell {
        let shown = style.and_then(|style| self.shown.get(usize::from(style)));
        let kind = match shown.copied().unwrap_or(Shown::Number) {
            Shown::Number => return Cell::Number(number),
            Shown::Code(at) => {
                let code = self.zeros.get(usize::from(at)).and_then(|zeros| zeros.cell(number));
                return code.unwrap_or(Cell::Number(number));
            }
            Shown::Moment => ExcelDateTimeType::DateTime,
            Shown::Duration => ExcelDateTimeType::TimeDelta,
        };
        Cell::Moment(ExcelDateTime::new(number, kind, self.is_1904))
    }

    /// A number in 32 bits: the upper bits of a float, or a whole number, or one of them in
    /// hundredths.
    fn packed(&self, style: Option<u16>, bits: &[u8]) -> Cell {
        let bits = u32::from_le_bytes([bits[0], bits[1], bits[2], bits[3]]);
        let number = match bits & 2 {
            0 => f64::from_bits(u64::from(bits & !3) << 32),
            _ => f64::from(bits as i32 >> 2),
        };
        self.number(style, if bits & 1 == 0 { number } else { number / 100.0 })
    }
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*data.get(at)?, *data.get(at + 1)?]))
}

fn f64_at(data: &[u8], at: usize) -> Option<f64> {
    data.get(at..)?.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes))
}

fn error(code: u8) -> CellErrorType {
    match code {
        0x00 => CellErrorType::Null,
        0x07 => CellErrorType::Div0,
        0x0F => CellErrorType::Value,
        0x17 => CellErrorType::Ref,
        0x1D => CellErrorType::Name,
        0x24 => CellErrorType::Num,
        0x2B => CellErrorType::GettingData,
        _ => CellErrorType::NA,
    }
}
