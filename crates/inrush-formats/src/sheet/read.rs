//! Finds the sheet in a workbook and reads its cells.

use std::io::Cursor;

use bytes::Bytes;
use calamine::{Reader, SheetType, SheetVisible, Sheets, open_workbook_auto_from_rs};

use super::cell::{Row, Rows};
use super::unpacked;
use super::xls::Xls;
use crate::catch_panic::{guarded, text};
use crate::format::SheetOptions;
use crate::warnings::Warnings;

/// An open workbook.
enum Workbook {
    /// `.xls`
    Old(Box<Xls>),
    New(Box<Sheets<Cursor<Bytes>>>),
}

/// A sheet with cells.
struct Sheet {
    name: String,
    visible: bool,
}

/// The rows, in order, of the sheet that `options` select.
pub(super) fn rows(data: Bytes, options: &SheetOptions, name: &str, warnings: &Warnings) -> Result<Vec<Row>, String> {
    unpacked::check(&data, options.bytes_max)?;
    let mut book = guarded(|| Workbook::open(data)).map_err(|problem| {
        format!("cannot be read as a spreadsheet: {problem}; is the file complete, and without a password?")
    })?;
    let sheet = choose(&book.sheets(), options, name, warnings)?;
    let rows = guarded(|| book.rows(&sheet)).map_err(|problem| format!("sheet {sheet:?} cannot be read: {problem}"))?;
    if let Workbook::Old(book) = &book
        && book.unknown_letters() > 0
    {
        let page = book.code_page();
        warnings.add(name, "replaced_characters", "", book.unknown_letters(), || {
            format!("letters of the unknown code page {page} became U+FFFD; save the workbook as .xlsx")
        });
    }
    Ok(rows)
}

fn choose(sheets: &[Sheet], options: &SheetOptions, name: &str, warnings: &Warnings) -> Result<String, String> {
    let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
    if let Some(wanted) = &options.sheet {
        let by_number = || wanted.parse::<usize>().ok().and_then(|number| names.get(number.checked_sub(1)?).copied());
        let found = names.iter().copied().find(|sheet| sheet == wanted).or_else(by_number);
        return found
            .map(str::to_owned)
            .ok_or_else(|| format!("has no sheet {wanted:?}, by name or number; its sheets are {}", names.join(", ")));
    }
    let visible: Vec<&str> = sheets.iter().filter(|sheet| sheet.visible).map(|sheet| sheet.name.as_str()).collect();
    let first = visible.first().or(names.first()).ok_or("has no sheet with cells")?;
    if visible.len() > 1 {
        warnings.add(name, "first_sheet", "", 1, || {
            format!(
                "sheet {first:?} was read, the first one; there are also {}: name one with option `sheet`",
                visible[1..].join(", ")
            )
        });
    }
    Ok((*first).to_owned())
}

impl Workbook {
    fn open(data: Bytes) -> Result<Self, String> {
        if super::xls::is_xls(&data) {
            return Ok(Workbook::Old(Box::new(Xls::open(&data)?)));
        }
        let book = open_workbook_auto_from_rs(Cursor::new(data)).map_err(text)?;
        Ok(Workbook::New(Box::new(book)))
    }

    /// The sheets with cells, in order.
    fn sheets(&self) -> Vec<Sheet> {
        match self {
            Workbook::Old(book) => {
                book.sheets().map(|(name, visible)| Sheet { name: name.to_owned(), visible }).collect()
            }
            Workbook::New(book) => {
                let sheets = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
                let visible = |sheet: &calamine::Sheet| sheet.visible == SheetVisible::Visible;
                sheets.map(|sheet| Sheet { name: sheet.name.clone(), visible: visible(sheet) }).collect()
            }
        }
    }

    /// Reads cell by cell: a sheet with one cell far out would be a table of billions of empty
    /// cells.
    fn rows(&mut self, sheet: &str) -> Result<Vec<Row>, String> {
        let mut rows = Rows::default();
        let book = match self {
            Workbook::Old(book) => return book.rows(sheet),
            Workbook::New(book) => &mut **book,
        };
        match book {
            Sheets::Xlsx(book) => {
                let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
                while let Some(cell) = reader.next_cell().map_err(text)? {
                    let (row, column) = cell.get_position();
                    rows.add_ref(row, column, cell.get_value().clone());
                }
            }
            Sheets::Xlsb(book) => {
                let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
                while let Some(cell) = reader.next_cell().map_err(text)? {
                    let (row, column) = cell.get_position();
                    rows.add_ref(row, column, cell.get_value().clone());
                }
            }
            book => {
                let range = book.worksheet_range(sheet).map_err(text)?;
                let (first_row, first_column) = range.start().unwrap_or_default();
                for (row, column, value) in range.used_cells() {
                    rows.add_data(first_row + row as u32, first_column + column as u32, value.clone());
                }
            }
        }
        Ok(rows.finish())
    }
}
