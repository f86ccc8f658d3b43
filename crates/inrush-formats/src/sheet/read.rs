//! Finds the sheet in a workbook and reads its cells.

use std::io::Cursor;

use bytes::Bytes;
use calamine::{Reader, SheetType, SheetVisible, Sheets, open_workbook_auto_from_rs};

use super::found::Found;
use super::xls::Xls;
use super::{ods, unpacked, xlsb, xlsx};
use crate::catch_panic::{guarded, text};
use crate::format::SheetOptions;
use crate::warnings::Warnings;

/// An open workbook.
struct Workbook {
    data: Bytes,
    kind: Kind,
}

enum Kind {
    /// `.xls`
    Old(Box<Xls>),
    New(Box<Sheets<Cursor<Bytes>>>),
}

/// A sheet with cells.
struct Sheet {
    name: String,
    visible: bool,
}

/// The contents of the sheet that `options` select.
pub(super) fn rows(data: Bytes, options: &SheetOptions, name: &str, warnings: &Warnings) -> Result<Found, String> {
    unpacked::check(&data, options.bytes_max)?;
    let mut book = guarded(|| Workbook::open(data)).map_err(|problem| {
        format!("cannot be read as a spreadsheet: {problem}; is the file complete, and without a password?")
    })?;
    let sheet = choose(&book.sheets(), options, name, warnings)?;
    let found =
        guarded(|| book.rows(&sheet)).map_err(|problem| format!("sheet {sheet:?} cannot be read: {problem}"))?;
    if let Kind::Old(book) = &book.kind
        && book.unknown_letters() > 0
    {
        let page = book.code_page();
        warnings.add(name, "replaced_characters", "", book.unknown_letters(), || {
            format!("letters of the unknown code page {page} became U+FFFD; save the workbook as .xlsx")
        });
    }
    Ok(found)
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
        let kind = if super::xls::is_xls(&data) {
            Kind::Old(Box::new(Xls::open(&data)?))
        } else {
            Kind::New(Box::new(open_workbook_auto_from_rs(Cursor::new(data.clone())).map_err(text)?))
        };
        Ok(Workbook { data, kind })
    }

    /// The sheets with cells, in order.
    fn sheets(&self) -> Vec<Sheet> {
        match &self.kind {
            Kind::Old(book) => book.sheets().map(|(name, visible)| Sheet { name: name.to_owned(), visible }).collect(),
            Kind::New(book) => {
                let sheets = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
                let visible = |sheet: &calamine::Sheet| sheet.visible == SheetVisible::Visible;
                sheets.map(|sheet| Sheet { name: sheet.name.clone(), visible: visible(sheet) }).collect()
            }
        }
    }

    /// Reads cell by cell: a sheet with one cell far out would be a table of billions of empty
    /// cells.
    fn rows(&mut self, sheet: &str) -> Result<Found, String> {
        let book = match &mut self.kind {
            Kind::Old(book) => return book.rows(sheet),
            Kind::New(book) => &mut **book,
        };
        match book {
            Sheets::Xlsx(book) => xlsx::rows(book, &self.data, sheet),
            Sheets::Xlsb(book) => xlsb::rows(book, &self.data, sheet),
            Sheets::Ods(book) => ods::rows(book, &self.data, sheet),
            // Compound files are read by `xls`.
            Sheets::Xls(_) => Err("its kind is not known".to_owned()),
        }
    }
}
