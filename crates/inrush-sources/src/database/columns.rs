//! The columns of a result, prepared for writing documents.

use inrush_formats::Warnings;
use inrush_formats::csv::column_names;

use super::values::{Kind, push_string, push_value};

/// Names and types of columns.
pub(super) struct Columns {
    columns: Vec<Column>,
    source: String,
    warnings: Warnings,
}

struct Column {
    name: String,
    /// `"name":`
    prefix: Vec<u8>,
    kind: Kind,
}

impl Columns {
    /// Columns with these names. A repeated name gets a number, with a warning.
    pub(super) fn new(columns: Vec<(String, Kind)>, source: &str, warnings: &Warnings) -> Self {
        let (given, kinds): (Vec<String>, Vec<Kind>) = columns.into_iter().unzip();
        let (names, duplicates) = column_names(&given);
        for name in duplicates {
            warnings.add(source, "duplicate_column", &name, 1, || {
                format!("the column name {name:?} is repeated, so later columns got a number; use AS to name them")
            });
        }
        let column = |(name, kind): (String, Kind)| {
            let mut prefix = Vec::new();
            push_string(name.as_bytes(), &mut prefix);
            prefix.push(b':');
            Column { name, prefix, kind }
        };
        let columns = names.into_iter().zip(kinds).map(column).collect();
        Columns { columns, source: source.to_owned(), warnings: warnings.clone() }
    }

    /// Counters, one for each column, of values that JSON cannot represent.
    pub(super) fn counts(&self) -> Vec<u64> {
        vec![0; self.columns.len()]
    }

    /// Begins a document.
    pub(super) fn document<'a>(&'a self, out: &'a mut Vec<u8>, no_values: &'a mut [u64]) -> Document<'a> {
        out.push(b'{');
        Document { columns: &self.columns, out, no_values, left_out: None, empty: true }
    }

    /// Reports values that were left out.
    pub(super) fn warn(&self, no_values: &[u64]) {
        for (column, &count) in self.columns.iter().zip(no_values).filter(|(_, count)| **count > 0) {
            self.warnings.add(&self.source, "no_value", &column.name, count, || {
                "NaN, infinity, or a date that an index cannot store: the value counts as null, and the field is left out"
                    .to_owned()
            });
        }
    }
}

/// A document that is being written. Columns without a value are left out.
pub(super) struct Document<'a> {
    columns: &'a [Column],
    out: &'a mut Vec<u8>,
    no_values: &'a mut [u64],
    /// The place of a column that is left out.
    left_out: Option<usize>,
    empty: bool,
}

impl Document<'_> {
    /// Leaves the column at `place` out.
    pub(super) fn leave_out(&mut self, place: usize) {
        self.left_out = Some(place);
    }

    /// Writes the value of the column at `place`, from the text of its type.
    pub(super) fn push(&mut self, place: usize, text: &[u8]) {
        let Some(column) = self.columns.get(place) else { return };
        self.push_with(place, |out, no_value| push_value(&column.kind, text, out, no_value));
    }

    /// Writes the value of the column at `place`. `write` appends it, or returns false for no
    /// value.
    pub(super) fn push_with(&mut self, place: usize, write: impl FnOnce(&mut Vec<u8>, &mut u64) -> bool) {
        let Some(column) = self.columns.get(place).filter(|_| self.left_out != Some(place)) else { return };
        let start = self.out.len();
        if !self.empty {
            self.out.push(b',');
        }
        self.out.extend_from_slice(&column.prefix);
        if write(self.out, &mut self.no_values[place]) {
            self.empty = false;
        } else {
            self.out.truncate(start);
        }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}
