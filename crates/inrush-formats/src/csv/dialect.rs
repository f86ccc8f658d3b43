//! The bytes with a meaning in delimited text, and the lines of it that are no rows.

use memchr::{memchr_iter, memchr2};

use super::row::{RowSink, count, line_end};

/// The bytes that separate and quote cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) separator: u8,
    pub(crate) quote: Option<u8>,
    /// The byte that changes the meaning of the next byte, if there is one.
    pub(crate) escape: Option<u8>,
    /// The byte at the beginning of a line that is no row, if there is one.
    pub(crate) comment: Option<u8>,
    /// Whether blanks around a cell and around its quotes do not count.
    pub(crate) trim: bool,
}

impl Dialect {
    /// Separators and quotes only.
    #[cfg(test)]
    pub(crate) const fn plain(separator: u8, quote: Option<u8>) -> Self {
        Dialect { separator, quote, escape: None, comment: None, trim: false }
    }

    /// Whether a byte is a blank that does not count at the end of a cell.
    pub(crate) fn is_blank(self, byte: u8) -> bool {
        self.trim && matches!(byte, b' ' | b'\t') && byte != self.separator
    }
}

/// How text is cut into rows: the dialect, and the lines that are no rows.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) dialect: Dialect,
    /// Whether a line that begins with this byte may be no row.
    pub(super) firsts: [bool; 256],
    /// The header as text, in each form that has the same cells.
    headers: Vec<Vec<u8>>,
}

/// Lines that are no row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// One past their end.
    pub(super) next: usize,
    pub(super) lines: u32,
    /// Whether they repeat the header.
    pub(super) is_header: bool,
}

/// Excel begins each file with it, so it is also between files that were put together.
const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Layout {
    /// Passes the lines at `at` that are no row, below a number of lines. Returns one past them,
    /// and how many lines and quotes they have.
    #[cold]
    pub(super) fn pass(
        &self,
        data: &[u8],
        at: usize,
        lines: u32,
        sink: &mut impl RowSink,
    ) -> Option<(usize, u32, u64)> {
        let left_out = self.left_out(data, at)?;
        if left_out.is_header {
            sink.header_again(lines);
        }
        Some((left_out.next, left_out.lines, count(self.dialect.quote, &data[at..left_out.next])))
    }

    /// Without a header.
    pub(super) fn new(dialect: Dialect) -> Self {
        let mut layout = Layout { dialect, firsts: [false; 256], headers: Vec::new() };
        for byte in [dialect.comment, end_marker(dialect)].into_iter().flatten() {
            layout.firsts[usize::from(byte)] = true;
        }
        layout
    }

    /// Leaves out rows with these cells. `text`: the header as the file has it, if it has one.
    pub(super) fn with_header(dialect: Dialect, cells: &[Vec<u8>], text: Option<&[u8]>) -> Self {
        let mut layout = Layout::new(dialect);
        let mut headers: Vec<Vec<u8>> = text.into_iter().map(<[u8]>::to_vec).collect();
        if cells.iter().all(|cell| is_simple(dialect, cell)) {
            headers.push(cells.join(&dialect.separator));
            if let Some(quote) = dialect.quote {
                let quoted: Vec<Vec<u8>> = cells.iter().map(|cell| [&[quote], &cell[..], &[quote]].concat()).collect();
                headers.push(quoted.join(&dialect.separator));
            }
        }
        headers.retain(|header| !header.is_empty());
        for header in &headers {
            layout.firsts[usize::from(header[0])] = true;
            layout.firsts[usize::from(BOM[0])] = true;
        }
        layout.headers = headers;
        layout
    }

    /// The lines at `at`, which begins a line, if they are no row. Called only if
    /// [`Layout::firsts`] has the byte there.
    #[cold]
    pub(super) fn left_out(&self, data: &[u8], at: usize) -> Option<LeftOut> {
        if data.get(at).copied() == self.dialect.comment {
            let end = memchr2(b'\n', b'\r', &data[at..]).map_or(data.len(), |len| at + len);
            return Some(LeftOut { next: line_end(data, end).unwrap_or(end), lines: 1, is_header: false });
        }
        let end_of = |end: usize| if end == data.len() { Some(end) } else { line_end(data, end) };
        if let Some(escape) = end_marker(self.dialect)
            && data[at..].starts_with(&[escape, b'.'])
            && let Some(next) = end_of(at + 2)
        {
            return Some(LeftOut { next, lines: 1, is_header: false });
        }
        let from = if data[at..].starts_with(BOM) { at + BOM.len() } else { at };
        self.headers.iter().find_map(|header| {
            let end = from + header.len();
            let next = data[from..].starts_with(header).then(|| end_of(end)).flatten()?;
            let lines = memchr_iter(b'\n', header).count() as u32 + 1;
            Some(LeftOut { next, lines, is_header: true })
        })
    }
}

/// The first byte of the line `\.`, which ends the rows of a COPY of Postgres.
fn end_marker(dialect: Dialect) -> Option<u8> {
    dialect.escape.filter(|_| dialect.quote.is_none())
}

/// Whether a cell is written the same with and without quotes.
fn is_simple(dialect: Dialect, cell: &[u8]) -> bool {
    let special = [Some(dialect.separator), dialect.quote, dialect.escape, Some(b'\n'), Some(b'\r')];
    !cell.iter().any(|byte| special.contains(&Some(*byte)))
}

/// Whether cells are a line below a header, as `sqlcmd` and tables in Markdown have it: dashes or
/// equals signs in each, and more than one in a row.
pub(super) fn is_rule<'a>(cells: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut is_long = false;
    for cell in cells {
        let cell = cell.trim_ascii();
        let cell = cell.strip_prefix(b":").unwrap_or(cell);
        let cell = cell.strip_suffix(b":").unwrap_or(cell);
        if !cell.iter().all(|byte| matches!(byte, b'-' | b'=')) {
            return false;
        }
        is_long |= cell.len() > 1;
    }
    is_long
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: Dialect = Dialect::plain(b',', Some(b'"'));

    fn layout(dialect: Dialect, cells: &[&str], text: &str) -> Layout {
        let cells: Vec<Vec<u8>> = cells.iter().map(|cell| cell.as_bytes().to_vec()).collect();
        Layout::with_header(dialect, &cells, Some(text.as_bytes()))
    }

    fn next(layout: &Layout, text: &str) -> Option<(usize, u32)> {
        if !layout.firsts[usize::from(text.as_bytes()[0])] {
            return None;
        }
        layout.left_out(text.as_bytes(), 0).map(|left_out| (left_out.next, left_out.lines))
    }

    #[test]
    fn a_header_is_known_in_each_of_its_forms() {
        let header = layout(COMMA, &["id", "price"], "id,price");
        for (text, expected) in [
            ("id,price\n1,2\n", Some((9, 1))),
            ("id,price\r\n1,2\n", Some((10, 1))),
            ("id,price", Some((8, 1))),
            ("\"id\",\"price\"\n", Some((13, 1))),
            ("\u{FEFF}id,price\n", Some((12, 1))),
            ("id,price,x\n", None),
            ("id,prices\n", None),
            ("id,pric", None),
            ("1,id,price\n", None),
        ] {
            assert_eq!(next(&header, text), expected, "{text:?}");
        }
        let odd = layout(COMMA, &["a,b", "c\nd"], "\"a,b\",\"c\nd\"");
        assert_eq!(next(&odd, "\"a,b\",\"c\nd\"\n1,2\n"), Some((12, 2)));
        assert_eq!(next(&odd, "a,b,c\nd\n"), None);
    }

    #[test]
    fn comments_and_the_end_of_a_copy_are_no_rows() {
        let comment = Layout::new(Dialect { comment: Some(b'#'), ..COMMA });
        assert_eq!(next(&comment, "# a \"b\r\n1"), Some((8, 1)));
        assert_eq!(next(&comment, "#"), Some((1, 1)));
        assert_eq!(next(&comment, "a#\n"), None);
        let copy = Layout::new(Dialect { escape: Some(b'\\'), ..Dialect::plain(b'\t', None) });
        assert_eq!(next(&copy, "\\.\n"), Some((3, 1)));
        assert_eq!((next(&copy, "\\.x\n"), next(&copy, "\\N\n")), (None, None));
    }

    #[test]
    fn a_rule_has_dashes_in_each_cell() {
        for (line, expected) in [
            ("--,----", true),
            ("-----------, ----------------", true),
            (",---,:--:,", true),
            ("==,=", true),
            ("-,-", false),
            (",", false),
            ("--,1", false),
            ("2024-01-01,--", false),
        ] {
            assert_eq!(is_rule(line.as_bytes().split(|&byte| byte == b',')), expected, "{line}");
        }
    }
}
