//! What a sheet has: its cells that are not empty, collected in rows.

use std::collections::HashMap;
use std::sync::Arc;

use calamine::{Data, DataRef};

use super::cell::{Cell, Row};
use super::codes::Zeros;
use super::formulas::Formulas;

/// What a sheet has.
pub(super) struct Found {
    /// The rows in order.
    pub(super) rows: Vec<Row>,
    pub(super) formulas: Formulas,
    /// Cells that are merged with others below them.
    pub(super) merged: Vec<Merged>,
    /// Whether the workbook asks the program that opens it to calculate.
    pub(super) asks_to_calculate: bool,
}

/// Cells of a column that are merged over several rows. Only the first one has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) column: u32,
    /// The rows, from 0.
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Merged {
    /// Of an area, unless it is in one row.
    pub(super) fn of((first, last): (u32, u32), column: u32) -> Option<Merged> {
        (first < last).then_some(Merged { column, first, last })
    }
}

/// Collects cells into rows.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// Text that several cells share, by its address: a short file can refer to a long text many
    /// times.
    reading: HashMap<*const u8, Arc<str>>,
}

impl Rows {
    pub(super) fn add(&mut self, row: u32, column: u32, cell: Cell) {
        if matches!(&cell, Cell::Text(text) if text.is_empty()) {
            return;
        }
        match self.rows.last_mut() {
            Some(last) if last.number == row => last.cells.push((column, cell)),
            _ => self.rows.push(Row { number: row, cells: vec![(column, cell)] }),
        }
    }

    /// `value` lives as long as its workbook, so shared text keeps its address.
    pub(super) fn add_ref(&mut self, row: u32, column: u32, value: DataRef<'_>) {
        match value {
            DataRef::SharedString(text) => {
                let text = Arc::clone(self.reading.entry(text.as_ptr()).or_insert_with(|| Arc::from(text)));
                self.add(row, column, Cell::Text(text));
            }
            value => self.add_data(row, column, value.into()),
        }
    }

    /// As [`Rows::add_ref`]. `zeros` is the format of the cell, where it shows zeros.
    pub(super) fn add_shown(&mut self, row: u32, column: u32, value: DataRef<'_>, zeros: Option<&Zeros>) {
        let number = match &value {
            DataRef::Int(number) => Some(*number as f64),
            DataRef::Float(number) => Some(*number),
            _ => None,
        };
        match zeros.zip(number).and_then(|(zeros, number)| zeros.cell(number)) {
            Some(code) => self.add(row, column, code),
            None => self.add_ref(row, column, value),
        }
    }

    pub(super) fn add_data(&mut self, row: u32, column: u32, value: Data) {
        let cell = match value {
            Data::Empty => return,
            Data::Int(number) => Cell::Whole(number),
            Data::Float(number) => Cell::Number(number),
            Data::Bool(truth) => Cell::Truth(truth),
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => Cell::Text(text.into()),
            Data::DateTime(moment) => Cell::Moment(moment),
            Data::Error(error) => Cell::Error(error),
        };
        self.add(row, column, cell);
    }

    /// The rows in order. If a cell was added more than once, the last value counts.
    pub(super) fn finish(self) -> Vec<Row> {
        let mut rows = self.rows;
        if !rows.is_sorted_by(|a, b| a.number < b.number) {
            rows.sort_by_key(|row| row.number);
            rows.dedup_by(|row, before| {
                let same = row.number == before.number;
                if same {
                    before.cells.append(&mut row.cells);
                }
                same
            });
        }
        for row in rows.iter_mut().filter(|row| !row.cells.is_sorted_by(|a, b| a.0 < b.0)) {
            row.cells.sort_by_key(|(column, _)| *column);
            row.cells.dedup_by(|cell, before| {
                let same = cell.0 == before.0;
                if same {
                    std::mem::swap(cell, before);
                }
                same
            });
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_come_in_any_order_and_more_than_once() {
        let mut rows = Rows::default();
        for (row, column, number) in [(2, 1, 1), (0, 3, 2), (2, 0, 3), (0, 1, 4), (0, 3, 5), (2, 1, 6)] {
            rows.add(row, column, Cell::Whole(number));
        }
        rows.add(1, 0, Cell::Text("".into()));
        let row =
            |number, cells: [(u32, i64); 2]| Row { number, cells: cells.map(|(c, n)| (c, Cell::Whole(n))).into() };
        assert_eq!(rows.finish(), [row(0, [(1, 4), (3, 5)]), row(2, [(0, 3), (1, 6)])]);
    }

    #[test]
    fn shared_text_is_held_once() {
        let text = "x".repeat(1000);
        let mut rows = Rows::default();
        for row in 0..2 {
            rows.add_ref(row, 0, DataRef::SharedString(&text));
        }
        let rows = rows.finish();
        let (Cell::Text(a), Cell::Text(b)) = (&rows[0].cells[0].1, &rows[1].cells[0].1) else { unreachable!() };
        assert!(Arc::ptr_eq(a, b));
    }
}
