//! Cells of text in which a byte changes the meaning of the next one, as MySQL writes it: `"x\"y"`,
//! and cells with blanks around them that do not count.
//!
//! An escape before a quote, a separator, a line end or another escape stands for that byte, inside
//! quotes and outside. An unquoted cell `\N` is null. If quotes have no meaning, the text is that
//! of a COPY of Postgres, of Hive, ClickHouse or `mysql` in batch mode: there `\n` is a line end,
//! `\t` a tab, and an escape before a punctuation mark stands for that mark. Before any other byte
//! an escape is an ordinary character, so nothing is lost if the writer did not double it. The text
//! is scanned byte by byte: the optimizations of [`super::scan`] are not worth a second
//! implementation.

use super::dialect::{Dialect, Layout};
use super::row::{Row, RowSink, Scanned, line_end};

/// As [`super::scan::scan_rows`], for dialects with an escape or with blanks that do not count.
pub(super) fn scan_rows(data: &[u8], layout: &Layout, sink: &mut impl RowSink) -> Scanned {
    let mut cells = Cells { data, dialect: layout.dialect, cell: Vec::new(), at: 0, lines: 0 };
    while cells.at < data.len() {
        if let Some(next) = line_end(data, cells.at) {
            cells.at = next;
            cells.lines += 1;
            continue;
        }
        if layout.firsts[usize::from(data[cells.at])]
            && let Some((next, passed, _)) = layout.pass(data, cells.at, cells.lines, sink)
        {
            (cells.at, cells.lines) = (next, cells.lines + passed);
            continue;
        }
        let row = cells.row(sink);
        if !sink.row(row) {
            break;
        }
    }
    Scanned { lines: u64::from(cells.lines), quotes: None }
}

struct Cells<'a> {
    data: &'a [u8],
    dialect: Dialect,
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
            self.blanks();
            self.cell.clear();
            if self.peek().is_some() && self.peek() == self.dialect.quote {
                self.at += 1;
                unclosed = !self.quoted();
                self.after_quotes(sink);
            } else {
                self.unquoted(sink);
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

    /// Passes blanks that do not count.
    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| self.dialect.is_blank(byte)) {
            self.at += 1;
        }
    }

    /// Whether the cell ends here.
    fn is_at_end(&self) -> bool {
        self.peek().is_none_or(|byte| byte == self.dialect.separator || matches!(byte, b'\n' | b'\r'))
    }

    /// Reads the contents of quotes and the closing quote. False if there is none.
    fn quoted(&mut self) -> bool {
        while let Some(byte) = self.peek() {
            if Some(byte) == self.dialect.quote && Some(byte) != self.dialect.escape {
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

    /// Reads what follows the closing quote.
    fn after_quotes(&mut self, sink: &mut impl RowSink) {
        let (inside, after) = (self.cell.len(), self.at);
        self.blanks();
        if self.is_at_end() {
            return;
        }
        self.at = after;
        self.plain(sink);
        if self.cell.len() > inside {
            sink.tail();
        }
    }

    /// Reads a cell without quotes around it.
    fn unquoted(&mut self, sink: &mut impl RowSink) {
        let from = self.at;
        if self.plain(sink) {
            sink.stray();
        }
        while self.cell.last().is_some_and(|byte| self.dialect.is_blank(*byte)) {
            self.cell.pop();
        }
        let mut text = &self.data[from..self.at];
        while let [rest @ .., last] = text
            && self.dialect.is_blank(*last)
        {
            text = rest;
        }
        if self.dialect.escape.is_some_and(|escape| text == [escape, b'N']) {
            self.cell.clear();
        }
    }

    /// Reads up to the next separator or line end. Returns whether there is a quote before it.
    fn plain(&mut self, sink: &mut impl RowSink) -> bool {
        let (mut has_quote, mut has_sequence) = (false, false);
        while !self.is_at_end() {
            if self.escaped() {
                continue;
            }
            let byte = self.data[self.at];
            has_quote |= Some(byte) == self.dialect.quote;
            has_sequence |= Some(byte) == self.dialect.escape && self.is_sequence();
            self.push(byte);
        }
        if has_sequence {
            sink.sequence();
        }
        has_quote
    }

    /// Whether an escape is here with a letter that stands for a control character in text without
    /// quotes.
    fn is_sequence(&self) -> bool {
        self.dialect.quote.is_some() && matches!(self.data.get(self.at + 1), Some(b'n' | b'r' | b't' | b'0'))
    }

    /// Reads an escape and the byte it stands for, if there is one.
    fn escaped(&mut self) -> bool {
        let Some(&[byte, next]) = self.data.get(self.at..self.at + 2) else { return false };
        if Some(byte) != self.dialect.escape {
            return false;
        }
        let special = next == byte
            || Some(next) == self.dialect.quote
            || next == self.dialect.separator
            || matches!(next, b'\n' | b'\r');
        if !special {
            return self.dialect.quote.is_none() && self.sequence();
        }
        self.at += 1;
        self.push(next);
        if next == b'\r' && self.peek() == Some(b'\n') {
            self.push(b'\n');
        }
        true
    }

    /// Reads an escape and what follows it, if both stand for one character.
    fn sequence(&mut self) -> bool {
        let rest = &self.data[self.at + 1..];
        let found = match rest[0] {
            b'a' => Some((0x07, 1)),
            b'b' => Some((0x08, 1)),
            b't' => Some((b'\t', 1)),
            b'n' => Some((b'\n', 1)),
            b'v' => Some((0x0B, 1)),
            b'f' => Some((0x0C, 1)),
            b'r' => Some((b'\r', 1)),
            b'Z' => Some((0x1A, 1)),
            b'e' => Some((0x1B, 1)),
            b'0'..=b'7' => number(&rest[..rest.len().min(3)], 8),
            b'x' => number(&rest[1..rest.len().min(3)], 16).map(|(byte, len)| (byte, len + 1)),
            mark if mark.is_ascii_punctuation() => Some((mark, 1)),
            _ => None,
        };
        let Some((byte, len)) = found else { return false };
        self.cell.push(byte);
        self.at += 1 + len;
        true
    }

    fn push(&mut self, byte: u8) {
        self.lines += u32::from(byte == b'\n');
        self.cell.push(byte);
        self.at += 1;
    }
}

/// The ASCII character of a number at the beginning of a text, and the number's length. A larger
/// byte may be a part of a character.
fn number(text: &[u8], radix: u32) -> Option<(u8, usize)> {
    let len = text.iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let number = u32::from_str_radix(str::from_utf8(&text[..len]).ok()?, radix).ok()?;
    u8::try_from(number).ok().filter(u8::is_ascii).map(|byte| (byte, len))
}

#[cfg(test)]
mod tests {
    use super::super::scan::tests::Collect;
    use super::*;

    const QUOTE: Option<u8> = Some(b'"');

    fn scanned(text: &str, dialect: Dialect) -> (Collect, u64) {
        let mut collect = Collect::default();
        let lines = super::super::scan::scan_rows(text.as_bytes(), &Layout::new(dialect), &mut collect).lines;
        (collect, lines)
    }

    fn texts(collect: &Collect) -> Vec<Vec<String>> {
        let text = |cell: &Vec<u8>| String::from_utf8_lossy(cell).into_owned();
        collect.rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }

    fn rows(text: &str, separator: u8, quote: Option<u8>) -> (Vec<Vec<String>>, u64, usize) {
        let (found, lines) = scanned(text, Dialect { escape: Some(b'\\'), ..Dialect::plain(separator, quote) });
        (texts(&found), lines, found.tails)
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
            let (rows, _, tails) = rows(text, b',', QUOTE);
            assert_eq!((rows, tails), (vec![expected.iter().map(|&c| c.to_owned()).collect()], 0), "{text}");
        }
        // As MySQL writes without any options: tabs, no quotes.
        let (rows, lines, _) = rows("a\\\tb\t\\N\nc\\\nd\t\"e\"\n", b'\t', None);
        assert_eq!((rows, lines), (vec![vec!["a\tb".into(), String::new()], vec!["c\nd".into(), "\"e\"".into()]], 3));
    }

    #[test]
    fn without_quotes_an_escape_and_a_letter_are_a_control_character() {
        for (text, expected) in [
            (r"a\nb\tc\rd", "a\nb\tc\rd"),
            (r"\b\f\v\0\Z\a\e", "\u{8}\u{c}\u{b}\0\u{1a}\u{7}\u{1b}"),
            // As ClickHouse writes an apostrophe.
            (r"it\'s \/ \.", "it's / ."),
            (r"\101\x42\x4g", "AB\u{4}g"),
            // Parts of characters, and letters without a meaning.
            (r"\351\xe9\xg\q\d", r"\351\xe9\xg\q\d"),
            (r"C:\\new\\", r"C:\new\"),
            (r"a\", r"a\"),
        ] {
            let (found, lines, _) = rows(text, b'\t', None);
            assert_eq!((found, lines), (vec![vec![expected.to_owned()]], 1), "{text}");
        }
        // Nulls, and the end of the rows of a COPY.
        let (found, lines, _) = rows("\\N\t\\\\N\n\\.\n", b'\t', None);
        assert_eq!((found, lines), (vec![vec![String::new(), r"\N".to_owned()]], 2));
    }

    #[test]
    fn with_quotes_such_a_sequence_stays_and_is_told() {
        let dialect = Dialect { escape: Some(b'\\'), ..Dialect::plain(b'\t', QUOTE) };
        let (found, _) = scanned("a\\nb\t\"C:\\new\"\t\\N\t\\q\n", dialect);
        assert_eq!(texts(&found), [[r"a\nb", r"C:\new", "", r"\q"]]);
        assert_eq!(found.sequences, 1);
    }

    #[test]
    fn blanks_around_cells_and_quotes_do_not_count() {
        let dialect = Dialect { trim: true, ..Dialect::plain(b',', QUOTE) };
        for (text, expected) in [
            (" 1 , \"a, b\" ,\t x y \t", &["1", "a, b", "x y"][..]),
            ("\" a \", ,", &[" a ", "", ""]),
            ("  \"a\"\"b\"  ,c", &["a\"b", "c"]),
            (" \"a\nb\"\t,c", &["a\nb", "c"]),
        ] {
            let (found, _) = scanned(text, dialect);
            assert_eq!(texts(&found), [expected], "{text:?}");
            assert_eq!((found.tails, found.strays), (0, 0), "{text:?}");
        }
        // A tab that separates cells is no blank, and text after quotes stays.
        let tabs = Dialect { trim: true, ..Dialect::plain(b'\t', QUOTE) };
        assert_eq!(texts(&scanned(" a \t\t\"b\" c", tabs).0), [["a", "", "b c"]]);
        let escape = Dialect { trim: true, escape: Some(b'\\'), ..Dialect::plain(b',', None) };
        assert_eq!(texts(&scanned(r" \N , a\,b ,\\N", escape).0), [["", "a,b", r"\N"]]);
    }

    #[test]
    fn without_escapes_in_it_text_means_what_it_means_otherwise() {
        let plain = Dialect::plain(b',', QUOTE);
        for text in [
            "a,b\n1,2\n",
            "\"a\",\"b\"\"c\"\n\"d\ne\",f\r\n",
            "\n\r\n\ra,,\n,,\n\"\"\n",
            "\"a\"b\"c,d\n",
            "a,\"b",
            "a\"b",
        ] {
            let (expected, lines) = scanned(text, plain);
            for dialect in [Dialect { escape: Some(b'\\'), ..plain }, Dialect { trim: true, ..plain }] {
                let (found, found_lines) = scanned(text, dialect);
                assert_eq!((found_lines, &found.rows, &found.places), (lines, &expected.rows, &expected.places));
                assert_eq!((found.tails, found.strays), (expected.tails, expected.strays), "{text:?}");
            }
        }
    }
}
