//! Finds the sheet in a workbook and takes its cells out.

use std::io::Cursor;

use bytes::Bytes;
use calamine::{Data, Reader, SheetType, SheetVisible, Sheets, open_workbook_auto_from_rs};

use crate::source::format::SheetOptions;
use crate::source::guard::{guarded, text};
use crate::source::warnings::Warnings;

/// A row that is not empty.
pub(super) struct Row {
    /// From 0.
    pub(super) number: u32,
    /// Columns from 0, ascending, and what is in them. A merged cell is in its first column and row only.
    pub(super) cells: Vec<(u32, Data)>,
}

type Workbook = Sheets<Cursor<Bytes>>;

/// The rows of the sheet that `options` name, in order.
pub(super) fn rows(data: Bytes, options: &SheetOptions, name: &str, warnings: &Warnings) -> Result<Vec<Row>, String> {
    let book = guarded(|| open_workbook_auto_from_rs(Cursor::new(data)).map_err(text));
    let mut book: Workbook = book.map_err(|problem| {
        format!("cannot be read as a spreadsheet: {problem}; is the file complete, and without a password?")
    })?;
    let sheet = choose(&book, options, name, warnings)?;
    guarded(|| cells(&mut book, &sheet)).map_err(|problem| format!("sheet {sheet:?} cannot be read: {problem}"))
}

fn choose(book: &Workbook, options: &SheetOptions, name: &str, warnings: &Warnings) -> Result<String, String> {
    let sheets: Vec<_> = book.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet).collect();
    let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
    if let Some(wanted) = &options.sheet {
        let by_number = || wanted.parse::<usize>().ok().and_then(|number| names.get(number.checked_sub(1)?).copied());
        let found = names.iter().copied().find(|sheet| sheet == wanted).or_else(by_number);
        return found
            .map(str::to_owned)
            .ok_or_else(|| format!("has no sheet {wanted:?}, by name or number; there are {}", names.join(", ")));
    }
    let visible: Vec<&str> =
        sheets.iter().filter(|sheet| sheet.visible == SheetVisible::Visible).map(|sheet| sheet.name.as_str()).collect();
    let first = visible.first().or(names.first()).ok_or("has no sheet with cells")?;
    if visible.len() > 1 {
        warnings.add(name, "first_sheet", "", 1, || {
            format!(
                "sheet {first:?} was read, the first one; there are also {}: name one with --sheet",
                visible[1..].join(", ")
            )
        });
    }
    Ok((*first).to_owned())
}

fn cells(book: &mut Workbook, sheet: &str) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |row: u32, column: u32, value: Data| {
        if value == Data::Empty || matches!(&value, Data::String(text) if text.is_empty()) {
            return;
        }
        match rows.last_mut() {
            Some(last) if last.number == row => last.cells.push((column, value)),
            _ => rows.push(Row { number: row, cells: vec![(column, value)] }),
        }
    };
    match book {
        // Cell by cell: a sheet with one cell far out would be a table of billions of empty ones.
        Sheets::Xlsx(book) => {
            let mut reader = book.worksheet_cells_reader(sheet).map_err(text)?;
            while let Some(cell) = reader.next_cell().map_err(text)? {
                let (row, column) = cell.get_position();
                add(row, column, cell.get_value().clone().into());
            }
        }
        book => {
            let range = book.worksheet_range(sheet).map_err(text)?;
            let (first_row, first_column) = range.start().unwrap_or_default();
            for (row, column, value) in range.used_cells() {
                add(first_row + row as u32, first_column + column as u32, value.clone());
            }
        }
    }
    rows.sort_by_key(|row| row.number);
    for row in &mut rows {
        row.cells.sort_by_key(|(column, _)| *column);
    }
    Ok(rows)
}
