//! Finds the cells of delimited text. The result is that of `csv-core` (RFC 4180, and every `\r` or
//! `\n` outside quotes ends a row); tests compare the two.
//!
//! A byte-wise automaton would take several times as long. This scanner compares 64 bytes at a time
//! with the three bytes that matter, makes one bit of each result, and visits only those bytes.
//! Quotes matter only at the beginning of a cell, and are searched from there.

use memchr::{memchr, memchr_iter};

use super::escaped;

/// The bytes that separate and quote cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    pub(super) quote: Option<u8>,
    /// The byte that removes the meaning of the next byte, if there is one.
    pub(super) escape: Option<u8>,
}

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

/// Receives the cells and rows that [`scan_rows`] finds.
pub(super) trait RowSink {
    /// Cell `index` of the current row, without its quotes.
    fn cell(&mut self, index: usize, contents: &[u8]);

    /// The next cell has text after its closing quote.
    fn tail(&mut self) {}

    /// The row has ended. `false` stops the scan.
    fn row(&mut self, row: Row) -> bool;
}

/// Visits the rows of text that begins with a row, and returns the number of lines. Empty lines are
/// not rows.
pub(super) fn scan_rows(data: &[u8], dialect: Dialect, sink: &mut impl RowSink) -> u64 {
    if let Some(escape) = dialect.escape {
        return escaped::scan_rows(data, dialect, escape, sink);
    }
    let mut marks = Marks::new(data, dialect.separator);
    let mut unquoted = Vec::new();
    let mut at = 0;
    let mut lines = 0;
    while at < data.len() {
        if let Some(next) = line_end(data, at) {
            at = next;
            lines += 1;
            continue;
        }
        let (start, line) = (at, lines);
        let mut cells = 0;
        let mut unclosed = false;
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
                if quoted.doubled || !tail.is_empty() {
                    if !tail.is_empty() {
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
                return u64::from(lines);
            }
            break;
        }
    }
    u64::from(lines)
}

/// One past the line end at `at`, if there is one.
pub(super) fn line_end(data: &[u8], at: usize) -> Option<usize> {
    match data.get(at)? {
        b'\n' => Some(at + 1),
        b'\r' => Some(at + 1 + usize::from(data.get(at + 1) == Some(&b'\n'))),
        _ => None,
    }
}

/// The quoted part of a cell.
struct Quoted {
    /// The closing quote, or the end of the text.
    end: usize,
    closed: bool,
    /// Whether there are doubled quotes inside.
    doubled: bool,
}

impl Quoted {
    fn find(data: &[u8], from: usize, quote: u8) -> Self {
        let mut at = from;
        let mut doubled = false;
        while let Some(found) = memchr(quote, &data[at..]) {
            let end = at + found;
            if data.get(end + 1) != Some(&quote) {
                return Quoted { end, closed: true, doubled };
            }
            doubled = true;
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

    use super::*;

    #[derive(Default)]
    pub(in crate::csv) struct Collect {
        pub(in crate::csv) rows: Vec<Vec<Vec<u8>>>,
        cells: Vec<Vec<u8>>,
        pub(in crate::csv) places: Vec<Row>,
        /// Cells with text after their closing quote.
        pub(in crate::csv) tails: usize,
    }

    impl RowSink for Collect {
        fn cell(&mut self, index: usize, contents: &[u8]) {
            assert_eq!(index, self.cells.len());
            self.cells.push(contents.to_vec());
        }

        fn tail(&mut self) {
            self.tails += 1;
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
        let lines = scan_rows(data, Dialect { separator: b',', quote, escape: None }, &mut collect);
        let expected = csv_core_rows(data, b',', quote);
        assert_eq!(collect.rows, expected, "{:?}", String::from_utf8_lossy(data));
        let mut end = 0;
        for row in &collect.places {
            assert!(row.start >= end && row.end >= row.start && row.next >= row.end);
            end = row.next;
        }
        assert!(u64::from(collect.places.last().map_or(0, |row| row.line)) <= lines);
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
        assert_eq!(scan_rows(data, Dialect { separator: b',', quote: Some(b'"'), escape: None }, &mut collect), 7);
        let places: Vec<_> = collect.places.iter().map(|r| (r.start, r.end, r.next, r.line)).collect();
        assert_eq!(places, [(0, 1, 3, 0), (5, 10, 11, 2), (12, 13, 14, 5), (14, 15, 15, 6)]);
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
