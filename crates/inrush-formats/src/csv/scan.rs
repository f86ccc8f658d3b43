//! Finds the cells of delimited text. The result is that of `csv-core` (RFC 4180, and every `\r` or
//! `\n` outside quotes ends a row); tests compare the two.
//!
//! A byte-wise automaton would take several times as long. This scanner compares 64 bytes at a time
//! with the three bytes that matter, makes one bit of each result, and visits only those bytes.
//! Quotes matter only at the beginning of a cell, and are searched from there.

use memchr::{memchr, memchr_iter};

use super::dialect::Layout;
use super::escaped;
use super::row::{Row, RowSink, Scanned, count, line_end};

/// Visits the rows of text that begins with a row. Empty lines are not rows.
pub(super) fn scan_rows<S: RowSink>(data: &[u8], layout: &Layout, sink: &mut S) -> Scanned {
    let dialect = layout.dialect;
    if dialect.escape.is_some() || dialect.trim {
        return escaped::scan_rows(data, layout, sink);
    }
    let mut marks = Marks::new(data, dialect.separator);
    let mut unquoted = Vec::new();
    let (mut at, mut lines, mut quotes) = (0, 0, 0);
    while at < data.len() {
        if let Some(next) = line_end(data, at) {
            at = next;
            lines += 1;
            continue;
        }
        if layout.firsts[usize::from(data[at])]
            && let Some((next, passed, quotes_passed)) = layout.pass(data, at, lines, sink)
        {
            (at, lines, quotes) = (next, lines + passed, quotes + quotes_passed);
            continue;
        }
        let (start, line) = (at, lines);
        let (mut cells, mut unclosed) = (0, false);
        loop {
            let mut end;
            if dialect.quote.is_some() && data.get(at).copied() == dialect.quote {
                let quoted = Quoted::find(data, at + 1, data[at]);
                let inside = &data[at + 1..quoted.end];
                lines += memchr_iter(b'\n', inside).count() as u32;
                unclosed = !quoted.closed;
                end = quoted.end;
                if quoted.closed {
                    end = marks.next_from(quoted.end + 1);
                }
                let tail = data.get(quoted.end + 1..end).unwrap_or_default();
                quotes += 1 + u64::from(quoted.closed) + 2 * quoted.doubled;
                if quoted.doubled > 0 || !tail.is_empty() {
                    if !tail.is_empty() {
                        quotes += count(dialect.quote, tail);
                        sink.tail();
                    }
                    quoted.unescape(inside, data[at], &mut unquoted);
                    unquoted.extend_from_slice(tail);
                    sink.cell(cells, &unquoted);
                } else {
                    sink.cell(cells, inside);
                }
            } else {
                end = marks.next_from(at);
                if S::WANTS_STRAYS && count(dialect.quote, &data[at..end]) > 0 {
                    sink.stray();
                }
                sink.cell(cells, &data[at..end]);
            }
            cells += 1;
            if data.get(end) == Some(&dialect.separator) {
                at = end + 1;
                continue;
            }
            at = line_end(data, end).unwrap_or(end);
            lines += 1;
            if !sink.row(Row { start, end, next: at, line, lines: lines - line, cells, unclosed }) {
                return Scanned { lines: u64::from(lines), quotes: Some(quotes) };
            }
            break;
        }
    }
    Scanned { lines: u64::from(lines), quotes: Some(quotes) }
}

/// The quoted part of a cell.
struct Quoted {
    /// The closing quote, or the end of the text.
    end: usize,
    closed: bool,
    /// Number of doubled quotes inside.
    doubled: u64,
}

impl Quoted {
    fn find(data: &[u8], from: usize, quote: u8) -> Self {
        let mut at = from;
        let mut doubled = 0;
        while let Some(found) = memchr(quote, &data[at..]) {
            let end = at + found;
            if data.get(end + 1) != Some(&quote) {
                return Quoted { end, closed: true, doubled };
            }
            doubled += 1;
            at = end + 2;
        }
        Quoted { end: data.len(), closed: false, doubled }
    }

    fn unescape(&self, inside: &[u8], quote: u8, out: &mut Vec<u8>) {
        out.clear();
        let mut rest = inside;
        while let Some(i) = memchr(quote, rest) {
            out.extend_from_slice(&rest[..=i]);
            rest = rest.get(i + 2..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
    }
}

const BLOCK: usize = 64;

/// The positions of separators and line ends, a block at a time.
struct Marks<'a> {
    data: &'a [u8],
    separator: u8,
    /// Where the current block begins.
    base: usize,
    /// Bit i: byte `base + i` is a separator, `\n` or `\r`.
    bits: u64,
}

impl<'a> Marks<'a> {
    fn new(data: &'a [u8], separator: u8) -> Self {
        let mut marks = Marks { data, separator, base: 0, bits: 0 };
        marks.load(0);
        marks
    }

    /// The first separator or line end at or after `from`, or the end of the text.
    #[inline]
    fn next_from(&mut self, mut from: usize) -> usize {
        loop {
            let offset = from.wrapping_sub(self.base);
            if offset >= BLOCK {
                if from >= self.data.len() {
                    return self.data.len();
                }
                self.load(from);
                continue;
            }
            let bits = self.bits & (u64::MAX << offset);
            if bits != 0 {
                return self.base + bits.trailing_zeros() as usize;
            }
            from = self.base + BLOCK;
        }
    }

    #[inline]
    fn load(&mut self, base: usize) {
        self.base = base;
        let rest = &self.data[base..];
        self.bits = match rest.first_chunk::<BLOCK>() {
            Some(block) => marks_of(block, self.separator),
            None => {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                // The padding may match the separator, if that is a zero byte.
                marks_of(&block, self.separator) & !(u64::MAX << rest.len())
            }
        };
    }
}

/// Bit i: byte i is the separator, `\n` or `\r`. The comparison is written so that it becomes
/// vector instructions.
#[inline]
fn marks_of(block: &[u8; BLOCK], separator: u8) -> u64 {
    let mut hits = [0_u8; BLOCK];
    for (hit, &byte) in hits.iter_mut().zip(block) {
        *hit = u8::from(byte == separator) | u8::from(byte == b'\n') | u8::from(byte == b'\r');
    }
    let mut bits = 0;
    for (i, eight) in hits.as_chunks::<8>().0.iter().enumerate() {
        // The product has byte k's lowest bit as bit 56 + k: 8k + 7(8 - k) = 56 + k, and no two
        // terms meet.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * i);
    }
    bits
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::dialect::Dialect;
    use super::*;

    #[derive(Default)]
    pub(in crate::csv) struct Collect {
        pub(in crate::csv) rows: Vec<Vec<Vec<u8>>>,
        cells: Vec<Vec<u8>>,
        pub(in crate::csv) places: Vec<Row>,
        /// Cells with text after their closing quote.
        pub(in crate::csv) tails: usize,
        /// Cells with a quote in them, and none around them.
        pub(in crate::csv) strays: usize,
        /// Cells with an escape before a letter, which stays in it.
        pub(in crate::csv) sequences: usize,
        /// Lines before each repetition of the header.
        pub(in crate::csv) headers: Vec<u32>,
    }

    impl RowSink for Collect {
        const WANTS_STRAYS: bool = true;

        fn cell(&mut self, index: usize, contents: &[u8]) {
            assert_eq!(index, self.cells.len());
            self.cells.push(contents.to_vec());
        }

        fn tail(&mut self) {
            self.tails += 1;
        }

        fn stray(&mut self) {
            self.strays += 1;
        }

        fn sequence(&mut self) {
            self.sequences += 1;
        }

        fn header_again(&mut self, line: u32) {
            self.headers.push(line);
        }

        fn row(&mut self, row: Row) -> bool {
            assert_eq!(row.cells, self.cells.len());
            self.rows.push(std::mem::take(&mut self.cells));
            self.places.push(row);
            true
        }
    }

    /// The rows as `csv-core` reads them.
    pub(crate) fn csv_core_rows(data: &[u8], separator: u8, quote: Option<u8>) -> Vec<Vec<Vec<u8>>> {
        let mut builder = csv_core::ReaderBuilder::new();
        builder.delimiter(separator).quoting(quote.is_some()).quote(quote.unwrap_or(b'"'));
        let mut reader = builder.build();
        let mut rows = Vec::new();
        let mut input = data;
        loop {
            let mut out = vec![0; data.len() + 16];
            let mut ends = vec![0; data.len() + 16];
            let (result, read, written, ended) = reader.read_record(input, &mut out, &mut ends);
            input = &input[read..];
            let (mut text, mut ends_seen) = (out[..written].to_vec(), ends[..ended].to_vec());
            let mut result = result;
            while result == csv_core::ReadRecordResult::InputEmpty {
                let (r, read, written, ended) = reader.read_record(input, &mut out, &mut ends);
                input = &input[read..];
                text.extend(&out[..written]);
                ends_seen.extend(&ends[..ended]);
                result = r;
            }
            if result == csv_core::ReadRecordResult::End {
                return rows;
            }
            assert_eq!(result, csv_core::ReadRecordResult::Record);
            let mut start = 0;
            rows.push(
                ends_seen
                    .into_iter()
                    .map(|end| {
                        let cell = text[start..end].to_vec();
                        start = end;
                        cell
                    })
                    .collect(),
            );
        }
    }

    fn check(data: &[u8], quote: Option<u8>) {
        let mut collect = Collect::default();
        let Scanned { lines, quotes } = scan_rows(data, &Layout::new(Dialect::plain(b',', quote)), &mut collect);
        let expected = csv_core_rows(data, b',', quote);
        assert_eq!(collect.rows, expected, "{:?}", String::from_utf8_lossy(data));
        let mut end = 0;
        for row in &collect.places {
            assert!(row.start >= end && row.end >= row.start && row.next >= row.end);
            end = row.next;
        }
        assert!(u64::from(collect.places.last().map_or(0, |row| row.line)) <= lines);
        // The quotes that are no others' are those within cells.
        let strays = count(quote, data) - quotes.unwrap();
        assert_eq!(strays > 0, collect.strays > 0, "{:?}", String::from_utf8_lossy(data));
    }

    #[test]
    fn rows_are_those_of_csv_core() {
        for data in [
            &b"a,b\n1,2\n"[..],
            b"a,b\r\n1,2",
            b"\"a\",\"b\"\"c\"\n\"d\ne\",f\r\n",
            b"\n\r\n\ra,,\n,,\n\"\"\n",
            b"\"a\"b\"c,d\n",
            b"\"a\" \"b\",c\n",
            b"a\"b,c\"\n",
            b"a,\"b",
            b"a,\"b\"\"",
            b"a,",
            b"\"\"",
        ] {
            check(data, Some(b'"'));
            check(data, None);
        }
    }

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        let mut collect = Collect::default();
        let data = b"h\r\n\r\n\"a\nb\"\n\nc\rd";
        let layout = Layout::new(Dialect::plain(b',', Some(b'"')));
        assert_eq!(scan_rows(data, &layout, &mut collect).lines, 7);
        let places: Vec<_> = collect.places.iter().map(|r| (r.start, r.end, r.next, r.line)).collect();
        assert_eq!(places, [(0, 1, 3, 0), (5, 10, 11, 2), (12, 13, 14, 5), (14, 15, 15, 6)]);
    }

    #[test]
    fn lines_that_are_no_rows_are_left_out_and_counted() {
        let dialect = Dialect { comment: Some(b'#'), ..Dialect::plain(b',', Some(b'"')) };
        let cells = [b"id".to_vec(), b"n".to_vec()];
        let layout = Layout::with_header(dialect, &cells, Some(b"id,n"));
        let data = b"1,2\n# \"x\nid,n\n3,\"#\"\n\"id\",\"n\"\r\n\n#\n5,6";
        let mut collect = Collect::default();
        assert_eq!(scan_rows(data, &layout, &mut collect).lines, 8);
        let lines: Vec<_> = collect.places.iter().map(|row| row.line).collect();
        assert_eq!((lines, collect.headers), (vec![0, 3, 7], vec![2, 4]));
        assert_eq!(collect.rows[1], [b"3".to_vec(), b"#".to_vec()]);
        assert_eq!(collect.strays, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_rows_are_those_of_csv_core(
            data in proptest::collection::vec(proptest::sample::select(&b"abcdefgh,,,\"\"\n\r"[..]), 0..300),
            quoting: bool,
        ) {
            check(&data, quoting.then_some(b'"'));
        }
    }
}
