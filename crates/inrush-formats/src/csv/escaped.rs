//! Cells of text in which a byte changes the meaning of the next one, as MySQL writes it: `"x\"y"`.
//!
//! An escape before a quote, a separator, a line end or another escape stands for that byte, inside
//! quotes and outside. Before any other byte it is an ordinary character, so nothing is lost if the
//! writer did not double it. An unquoted cell `\N` is null. The text is scanned byte by byte: the
//! optimizations of [`super::scan`] are not worth a second implementation.

use super::scan::{Dialect, Row, RowSink, line_end};

/// As [`super::scan::scan_rows`], for dialects with an escape.
pub(super) fn scan_rows(data: &[u8], dialect: Dialect, escape: u8, sink: &mut impl RowSink) -> u64 {
    let mut cells = Cells { data, dialect, escape, cell: Vec::new(), at: 0, lines: 0 };
    while cells.at < data.len() {
        match line_end(data, cells.at) {
            Some(next) => {
                cells.at = next;
                cells.lines += 1;
            }
            None => {
                let row = cells.row(sink);
                if !sink.row(row) {
                    break;
                }
            }
        }
    }
    u64::from(cells.lines)
}

struct Cells<'a> {
    data: &'a [u8],
    dialect: Dialect,
    escape: u8,
    /// The contents of the current cell.
    cell: Vec<u8>,
    at: usize,
    /// Number of line ends so far.
    lines: u32,
}

impl Cells<'_> {
    fn row(&mut self, sink: &mut impl RowSink) -> Row {
        let (start, line, mut cells, mut unclosed) = (self.at, self.lines, 0, false);
        loop {
            let from = self.at;
            self.cell.clear();
            if self.peek().is_some() && self.peek() == self.dialect.quote {
                self.at += 1;
                unclosed = !self.quoted();
                let inside = self.cell.len();
                self.plain();
                if self.cell.len() > inside {
                    sink.tail();
                }
            } else {
                self.plain();
                if self.data[from..self.at] == [self.escape, b'N'] {
                    self.cell.clear();
                }
            }
            sink.cell(cells, &self.cell);
            cells += 1;
            if self.peek() != Some(self.dialect.separator) {
                break;
            }
            self.at += 1;
        }
        let end = self.at;
        self.at = line_end(self.data, end).unwrap_or(end);
        self.lines += 1;
        Row { start, end, next: self.at, line, lines: self.lines - line, cells, unclosed }
    }

    fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    /// Reads the contents of quotes and the closing quote. False if there is none.
    fn quoted(&mut self) -> bool {
        while let Some(byte) = self.peek() {
            if Some(byte) == self.dialect.quote && byte != self.escape {
                self.at += 1;
                if self.peek() != Some(byte) {
                    return true;
                }
                self.push(byte);
            } else if !self.escaped() {
                self.push(byte);
            }
        }
        false
    }

    /// Reads up to the next separator or line end.
    fn plain(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == self.dialect.separator || matches!(byte, b'\n' | b'\r') {
                return;
            }
            if !self.escaped() {
                self.push(byte);
            }
        }
    }

    /// Reads an escape and the byte it stands for, if there is one.
    fn escaped(&mut self) -> bool {
        let Some(&[byte, next]) = self.data.get(self.at..self.at + 2) else { return false };
        let special = next == self.escape
            || Some(next) == self.dialect.quote
            || next == self.dialect.separator
            || matches!(next, b'\n' | b'\r');
        if byte != self.escape || !special {
            return false;
        }
        self.at += 1;
        self.push(next);
        if next == b'\r' && self.peek() == Some(b'\n') {
            self.push(b'\n');
        }
        true
    }

    fn push(&mut self, byte: u8) {
        self.lines += u32::from(byte == b'\n');
        self.cell.push(byte);
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::tests::Collect;
    use super::*;

    fn rows(text: &str, separator: u8, quote: Option<u8>) -> (Vec<Vec<String>>, u64, usize) {
        let mut collect = Collect::default();
        let dialect = Dialect { separator, quote, escape: Some(b'\\') };
        let lines = super::super::scan::scan_rows(text.as_bytes(), dialect, &mut collect);
        let text = |cell: &Vec<u8>| String::from_utf8_lossy(cell).into_owned();
        (collect.rows.iter().map(|row| row.iter().map(text).collect()).collect(), lines, collect.tails)
    }

    #[test]
    fn an_escape_takes_the_meaning_of_what_follows() {
        for (text, expected) in [
            (r#""x\"y",2"#, &[r#"x"y"#, "2"][..]),
            (r#""x\\",2"#, &[r"x\", "2"]),
            (r#""C:\new","\t\0""#, &[r"C:\new", r"\t\0"]),
            (r#""a""b",c\,d"#, &[r#"a"b"#, "c,d"]),
            (r#"\N,"\N",\Nx,"#, &["", r"\N", r"\Nx", ""]),
            ("\"a\\\nb\",c\\\r\nd", &["a\nb", "c\r\nd"]),
            (r"a\", &[r"a\"]),
        ] {
            let (rows, _, tails) = rows(text, b',', Some(b'"'));
            assert_eq!((rows, tails), (vec![expected.iter().map(|&c| c.to_owned()).collect()], 0), "{text}");
        }
        // As MySQL writes without any options: tabs, no quotes.
        let (rows, lines, _) = rows("a\\\tb\t\\N\nc\\\nd\t\"e\"\n", b'\t', None);
        assert_eq!((rows, lines), (vec![vec!["a\tb".into(), String::new()], vec!["c\nd".into(), "\"e\"".into()]], 3));
    }

    #[test]
    fn without_escapes_in_it_text_means_what_it_means_otherwise() {
        for text in
            ["a,b\n1,2\n", "\"a\",\"b\"\"c\"\n\"d\ne\",f\r\n", "\n\r\n\ra,,\n,,\n\"\"\n", "\"a\"b\"c,d\n", "a,\"b"]
        {
            let mut expected = Collect::default();
            let dialect = Dialect { separator: b',', quote: Some(b'"'), escape: None };
            let lines = super::super::scan::scan_rows(text.as_bytes(), dialect, &mut expected);
            let mut found = Collect::default();
            assert_eq!(scan_rows(text.as_bytes(), dialect, b'\\', &mut found), lines, "{text:?}");
            assert_eq!((found.rows, found.places, found.tails), (expected.rows, expected.places, expected.tails));
        }
    }
}
