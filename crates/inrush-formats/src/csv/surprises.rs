//! What is odd in a file although its rows become documents: cells that are not what the first rows of their column are, and quotes that may
//! mean something else than was thought. Told once, with the line of the first of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use super::value::{ColumnType, narrowest};

/// One kind of surprise, in one column where it is about its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Surprise {
    pub(super) column: Option<usize>,
    pub(super) what: What,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A number among whole numbers, a time among dates: written as that. The type is the column's.
    Wider(ColumnType),
    /// Something else than the cells of the column, which have this type: a string.
    Misfit(ColumnType),
    /// Something else than text where the first cells are all empty: a string.
    Unseen,
    /// A cell with text after its closing quote.
    Tail,
    /// A row of very many lines; the value is how many.
    Long,
}

impl What {
    pub(super) fn kind(self) -> &'static str {
        match self {
            What::Wider(_) => "type_widened",
            What::Misfit(_) => "type_misfit",
            What::Unseen => "type_unseen",
            What::Tail => "text_after_quote",
            What::Long => "long_row",
        }
    }
}

impl Surprise {
    /// What a person should know. The line, from 1, is not known where the load ended before.
    pub(super) fn message(self, column: &str, line: Option<u64>, first: &First) -> String {
        let place = line.map_or_else(|| "a later line".to_owned(), |line| format!("line {line}"));
        let row = line.map_or_else(|| "a later row".to_owned(), |line| format!("the row at line {line}"));
        let value = &first.value;
        match self.what {
            What::Wider(ColumnType::Integer) => format!(
                "the first rows have whole numbers, {place} has {value:?}, which is sent as a number, too; a field that was \
                 mapped for whole numbers indexes only the whole part: give option `schema={column}:float`, or the \
                 mapping that `inrush mapping` finds"
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
            What::Unseen => format!(
                "the first rows have nothing in it, so it was taken for text; {place} has {value:?}, which is sent as a \
                 string; give its type, as in option `schema={column}:{}`",
                narrowest(value.as_bytes())
            ),
            What::Tail => format!(
                "in {row} text follows the quote that closes a cell, and was taken for a part of it; if quotes are escaped, \
                 as in \"x\\\"y\", give option `escape=\\`"
            ),
            What::Long => format!(
                "{row} has {value} lines, because of line ends inside of quotes; if these are rows of their own, a quote is \
                 stray: correct it, or give option `quote=none`"
            ),
        }
    }
}

/// The first surprise of its kind in a chunk, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) count: u64,
    /// Lines of the chunk before it.
    line: u64,
    value: String,
}

/// What was noted in a chunk.
#[derive(Debug, Default)]
pub(super) struct Noted(HashMap<Surprise, First>);

impl Noted {
    /// Takes a surprise that the row at `line` has so many times. `value` is that of the first one in the chunk; nobody asks for others.
    pub(super) fn add(&mut self, line: u64, surprise: Surprise, count: u64, value: String) {
        self.0.entry(surprise).or_insert(First { count: 0, line, value }).count += count;
    }

    /// Whether there was such a one before.
    pub(super) fn has(&self, surprise: Surprise) -> bool {
        self.0.contains_key(&surprise)
    }

    /// There are so many lines above the rows.
    pub(super) fn below(&mut self, lines: u64) {
        for first in self.0.values_mut() {
            first.line += lines;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Surprise, &First)> {
        self.0.iter().map(|(surprise, first)| (*surprise, first))
    }
}

/// Finds the lines of surprises in a file: a chunk knows only its own lines, and chunks are decoded side by side.
#[derive(Debug)]
pub(super) struct Surprises(Mutex<Progress>);

#[derive(Debug)]
struct Progress {
    /// Where the first chunk begins that was not seen yet.
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

    /// Takes what was noted in a chunk. Returns what is in chunks whose place is known now, in the order of the file, with their
    /// lines, from 1: those of the header and line ends inside of quotes are counted, as editors do.
    pub(super) fn chunk(&self, first_byte: u64, len: usize, lines: u64, noted: Noted) -> Vec<(Surprise, First, u64)> {
        // Each change leaves it whole.
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
