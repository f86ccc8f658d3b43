//! A column, and the type of its cells.

use inrush_core::zone::Zone;

use super::value::{ColumnType, push_string};

/// A column: its name, ready to be written, and the type of its cells.
pub(super) struct Column {
    pub(super) name: String,
    /// `"name":`
    pub(super) prefix: Vec<u8>,
    pub(super) basis: Basis,
    /// Whether ids or other parts of addresses are made of it.
    pub(super) is_key: bool,
}

/// The type of a column and where it comes from. It decides about cells of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The user declared it, or all cells were read: a cell of another type rejects the row.
    Declared(ColumnType),
    /// The user declared it, a timestamp. A time that names no zone is of this one.
    InZone(ColumnType, Zone),
    /// The first cells have it: another number or date is written as it is, every other value as a
    /// string.
    Shown(ColumnType),
    /// There is none, because the first cells are all empty: all cells are strings.
    Nothing,
    /// There is none for the column: each cell has its own type. `comma`: numbers have one before
    /// their fraction.
    EachCell { comma: bool },
}

impl Column {
    pub(super) fn new(name: String, basis: Basis) -> Self {
        let mut prefix = Vec::with_capacity(name.len() + 3);
        push_string(&mut prefix, name.as_bytes());
        prefix.push(b':');
        Column { name, prefix, basis, is_key: false }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a cell is a whole number or else its row is rejected: `007` is 7, in an id as well.
    pub(super) fn is_integer(&self) -> bool {
        self.basis == Basis::Declared(ColumnType::Integer)
    }

    pub(super) fn basis(&self) -> Basis {
        self.basis
    }

    /// Whether every cell is a value of its type.
    pub(super) fn is_text(&self) -> bool {
        match self.basis {
            Basis::Declared(column_type) | Basis::Shown(column_type) => column_type == ColumnType::String,
            Basis::Nothing | Basis::EachCell { .. } => true,
            Basis::InZone(..) => false,
        }
    }
}
