//! Surprises in a file whose rows become documents all the same: cells that differ from the first
//! rows of their column, and quotes that may have another meaning than assumed. Each kind is
//! reported once, with the line of its first occurrence.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use super::placeholders::share;
use super::value::{ColumnType, narrowest};
use crate::warnings::{EMPTY_ROWS, PLACEHOLDERS};

/// A kind of surprise, in one column if it concerns cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Surprise {
    pub(super) column: Option<usize>,
    pub(super) what: What,
}

/// The kind of a surprise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A number among whole numbers, or a time among dates. It is written as such. The type is the
    /// column's.
    Wider(ColumnType),
    /// A cell that does not match the type of its column. It is written as a string.
    Misfit(ColumnType),
    /// As [`What::Misfit`], where the cell is a text that stands for "no value".
    Placeholder(ColumnType),
    /// A cell that is not text, in a column whose first cells are all empty. It is written as a
    /// string.
    Unseen,
    /// A cell with blanks around its value, of which an id or another part of an address is made.
    Blanks,
    /// A cell with text after its closing quote.
    Tail,
    /// A row of very many lines. The value is their number.
    Long,
    /// A cell with a quote in it, and none around it. The value is the row's text.
    Stray,
    /// A cell with an escape before a letter, which stays in it.
    Sequence,
    /// A row that repeats the header, and is left out.
    Header,
    /// A row whose cells are all empty, which is left out.
    Empty,
}

impl What {
    pub(super) fn kind(self) -> &'static str {
        match self {
            What::Wider(_) => "type_widened",
            What::Misfit(_) => "type_misfit",
            What::Placeholder(_) => PLACEHOLDERS,
            What::Unseen => "type_unseen",
            What::Blanks => "blanks_in_key",
            What::Tail => "text_after_quote",
            What::Long => "long_row",
            What::Stray => "quote_in_cell",
            What::Sequence => "escape_kept",
            What::Header => "repeated_header",
            What::Empty => EMPTY_ROWS,
        }
    }
}

impl Surprise {
    /// The warning for the user. `line` counts from 1. It is unknown if the load ended earlier.
    pub(super) fn message(self, column: &str, line: Option<u64>, first: &First) -> String {
        let place = line.map_or_else(|| "a later line".to_owned(), |line| format!("line {line}"));
        let row = line.map_or_else(|| "a later row".to_owned(), |line| format!("the row at line {line}"));
        let value = &first.value;
        match self.what {
            What::Wider(ColumnType::Integer) => format!(
                "the first rows have whole numbers, {place} has {value:?}, which is sent as a number, too; a field that was \
                 mapped for whole numbers indexes only the whole part: give option `schema={column}:float`, or the \
                 mapping that `inrush mapping` finds; codes need option `schema={column}:string`"
            ),
            What::Wider(column_type) => format!(
                "the first rows have {}, {place} has {value:?}, which is sent as a date with its time; say so with \
                 option `schema={column}:timestamp`",
                column_type.cells()
            ),
            What::Misfit(column_type) => format!(
                "the first rows have {}, {place} has {value:?}, which is sent as a string; correct it, or send all as \
                 strings with option `schema={column}:string`",
                column_type.cells()
            ),
            What::Placeholder(column_type) => format!(
                "the first rows have {}, {place} has \"{value}\" ({} of the {} rows around it, {}), which is sent as a \
                 string; if it means no value, give option `null={value}`",
                column_type.cells(),
                first.count,
                first.rows,
                share(first.count, first.rows)
            ),
            What::Unseen => format!(
                "the first rows are empty in this column, so it was read as text; {place} has {value:?}, which is sent as a \
                 string; give its type, as in option `schema={column}:{}`",
                match narrowest(value.as_bytes()) {
                    // Only a number with a comma is no text where it was noted.
                    ColumnType::String => ColumnType::DecimalComma,
                    other => other,
                }
            ),
            What::Blanks => format!(
                "{place} has {value:?}, and its blanks become a part of the document's id or another part of its address; \
                 option `trim` leaves out blanks around cells"
            ),
            What::Tail => format!(
                "in {row} text follows the closing quote of a cell, and was read as part of the cell; if quotes are escaped, \
                 as in \"x\\\"y\", give option `escape=\\`"
            ),
            What::Long => format!(
                "{row} has {value} lines, because of line ends inside quotes; if these are rows of their own, a quote is \
                 stray: correct it, or give option `quote=none`"
            ),
            What::Stray => format!(
                "in {row} a quote is within a cell that does not begin with one, so it is a part of the value: {value:?}; \
                 if there are only blanks before it, give option `trim`, if quotes have no meaning, option `quote=none`"
            ),
            What::Sequence => format!(
                "in {row} a cell without quotes has the escape before a letter, and both are sent as they are; if they are \
                 a line end or a tab, as in a COPY of Postgres or as mysql writes in batch mode, give option `quote=none`"
            ),
            What::Header => format!("{row} repeats the header, as if files had been put together, and was left out"),
            What::Empty => {
                format!("{row} has only empty cells, as spreadsheets write it, and was left out")
            }
        }
    }
}

/// The first surprise of a kind in a chunk, and their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) count: u64,
    /// Lines of the chunk before it.
    line: u64,
    /// Rows of the chunk.
    rows: u64,
    value: String,
}

/// The surprises of a chunk.
#[derive(Debug, Default)]
pub(super) struct Noted(HashMap<Surprise, First>);

impl Noted {
    /// Adds `count` surprises of the row at `line`. `value` is needed only for the first one in the
    /// chunk.
    pub(super) fn add(&mut self, line: u64, surprise: Surprise, count: u64, value: String) {
        self.0.entry(surprise).or_insert(First { count: 0, line, rows: 0, value }).count += count;
    }

    /// Whether such a surprise was noted before.
    pub(super) fn has(&self, surprise: Surprise) -> bool {
        self.0.contains_key(&surprise)
    }

    /// Adds the `lines` above the rows.
    pub(super) fn below(&mut self, lines: u64) {
        for first in self.0.values_mut() {
            first.line += lines;
        }
    }

    /// All are among this number of rows.
    pub(super) fn among(&mut self, rows: u64) {
        for first in self.0.values_mut() {
            first.rows = rows;
        }
    }

    /// Adds what was noted above.
    pub(super) fn preceded_by(&mut self, above: Noted) {
        for (surprise, first) in above.0 {
            let count = self.0.get(&surprise).map_or(0, |below| below.count);
            self.0.insert(surprise, First { count: first.count + count, ..first });
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Surprise, &First)> {
        self.0.iter().map(|(surprise, first)| (*surprise, first))
    }
}

/// Finds the lines of surprises in a file. A chunk knows only its own lines, and chunks are decoded
/// in parallel.
#[derive(Debug)]
pub(super) struct Surprises(Mutex<Progress>);

#[derive(Debug)]
struct Progress {
    /// Where the first chunk begins that has not arrived yet.
    next: u64,
    /// Lines before it.
    lines: u64,
    /// Chunks behind it, by their first byte.
    early: BTreeMap<u64, Part>,
}

#[derive(Debug)]
struct Part {
    end: u64,
    lines: u64,
    noted: Noted,
}

impl Surprises {
    /// For a file whose first chunk begins at `first_byte`.
    pub(super) fn new(first_byte: u64) -> Self {
        Surprises(Mutex::new(Progress { next: first_byte, lines: 0, early: BTreeMap::new() }))
    }

    /// Takes the surprises of a chunk. Returns those of all chunks whose position is known now, in
    /// the order of the file, with their lines from 1. Lines of the header and line ends inside
    /// quotes count, as in editors.
    pub(super) fn chunk(&self, first_byte: u64, len: usize, lines: u64, noted: Noted) -> Vec<(Surprise, First, u64)> {
        // Each change leaves the state consistent.
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.early.insert(first_byte, Part { end: first_byte + len as u64, lines, noted });
        let mut placed = Vec::new();
        while let Some(part) = progress.next_part() {
            let before = progress.lines;
            placed.extend(part.noted.0.into_iter().map(|(surprise, first)| {
                let line = before + first.line + 1;
                (surprise, first, line)
            }));
            progress.lines += part.lines;
            progress.next = part.end;
        }
        placed
    }
}

impl Progress {
    fn next_part(&mut self) -> Option<Part> {
        let next = self.next;
        self.early.remove(&next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_file_in_whatever_order_chunks_come() {
        let surprise = Surprise { column: Some(0), what: What::Misfit(ColumnType::Integer) };
        let noted = |line| {
            let mut noted = Noted::default();
            noted.add(line, surprise, 1, "x".to_owned());
            noted.add(line + 1, surprise, 1, String::new());
            noted
        };
        let file = Surprises::new(3);
        assert!(file.chunk(30, 10, 5, noted(2)).is_empty());
        assert!(file.chunk(13, 17, 4, Noted::default()).is_empty());
        let lines: Vec<u64> = file.chunk(3, 10, 2, noted(1)).into_iter().map(|(_, _, line)| line).collect();
        assert_eq!(lines, [2, 9]);
        let last = file.chunk(40, 1, 1, noted(0));
        assert_eq!((last[0].2, last[0].1.count, last[0].1.value.as_str()), (12, 2, "x"));
    }
}
