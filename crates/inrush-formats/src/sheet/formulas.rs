//! Formulas whose values were not calculated: programs that write workbooks without calculating
//! them store no value, or 0.

use std::collections::BTreeMap;

/// What was noticed of a sheet's formulas, as numbers of cells by column.
#[derive(Debug, Default)]
pub(super) struct Formulas {
    /// Formulas without a value.
    missing: BTreeMap<u32, u64>,
    /// Formulas with the value 0, or an empty text.
    nothing: BTreeMap<u32, u64>,
    /// Whether a formula has another value.
    calculated: bool,
}

/// The value of a formula.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    Missing,
    /// 0, or an empty text, which also stand for no value.
    Nothing,
    Value,
}

impl Formulas {
    pub(super) fn see(&mut self, column: u32, stored: Stored) {
        let counts = match stored {
            Stored::Missing => &mut self.missing,
            Stored::Nothing => &mut self.nothing,
            Stored::Value => {
                self.calculated = true;
                return;
            }
        };
        *counts.entry(column).or_default() += 1;
    }

    /// Forgets formulas without a value if others have one. LibreOffice stores none for an empty
    /// text.
    pub(super) fn of_open_document(mut self) -> Self {
        if self.calculated {
            self.missing.clear();
        }
        self
    }

    /// The columns with formulas that have no value, and the numbers of these.
    pub(super) fn missing(&self) -> impl Iterator<Item = (u32, u64)> {
        self.missing.iter().map(|(column, count)| (*column, *count))
    }

    /// The columns whose formulas seem not to be calculated: no formula of the sheet has another
    /// value than 0 or an empty text. `is_open` says that the workbook asks to be calculated.
    pub(super) fn not_calculated(&self, is_open: bool) -> impl Iterator<Item = (u32, u64)> {
        let all = self.nothing.iter().map(|(column, count)| (*column, *count));
        all.filter(move |_| is_open && !self.calculated)
    }
}
