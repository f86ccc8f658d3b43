//! Rows and cells of delimited text, as scanners find them.

use memchr::memchr_iter;

/// The position of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// First byte.
    pub(super) start: usize,
    /// One past the last byte, without the line end.
    pub(super) end: usize,
    /// One past the line end.
    pub(super) next: usize,
    /// Lines before the row.
    pub(super) line: u32,
    /// Lines of the row.
    pub(super) lines: u32,
    /// Number of cells.
    pub(super) cells: usize,
    /// Whether the text ended inside quotes.
    pub(super) unclosed: bool,
}

/// Receives the cells and rows that [`super::scan::scan_rows`] finds.
pub(super) trait RowSink {
    /// Whether cells are searched for quotes that do not begin them.
    const WANTS_STRAYS: bool = false;

    /// Cell `index` of the current row, without its quotes.
    fn cell(&mut self, index: usize, contents: &[u8]);

    /// The next cell has text after its closing quote.
    fn tail(&mut self) {}

    /// The next cell has a quote in it, and none around it.
    fn stray(&mut self) {}

    /// The next cell has an escape before a letter, which stays in it.
    fn sequence(&mut self) {}

    /// The header was repeated and left out, below this number of lines.
    fn header_again(&mut self, line: u32) {
        let _ = line;
    }

    /// The row has ended. `false` stops the scan.
    fn row(&mut self, row: Row) -> bool;
}

/// What a scan has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) lines: u64,
    /// Quotes around cells, and doubled ones in them. `None` if they were not counted.
    pub(super) quotes: Option<u64>,
}

/// How often the quote is in a text.
pub(super) fn count(quote: Option<u8>, text: &[u8]) -> u64 {
    quote.map_or(0, |quote| memchr_iter(quote, text).count() as u64)
}

/// One past the line end at `at`, if there is one.
pub(super) fn line_end(data: &[u8], at: usize) -> Option<usize> {
    match data.get(at)? {
        b'\n' => Some(at + 1),
        b'\r' => Some(at + 1 + usize::from(data.get(at + 1) == Some(&b'\n'))),
        _ => None,
    }
}
