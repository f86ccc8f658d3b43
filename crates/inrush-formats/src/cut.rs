//! Cuts a stream into chunks that end at record boundaries.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_smile::SEPARATOR;
use memchr::{memchr, memchr_iter, memrchr, memrchr2};

use super::buffer::BufferPool;
use super::csv::dialect::Dialect;
use super::input::{Bytes as _, IDLE, Input};

/// How long the records of a slow source are collected before they are passed on.
const GATHER_MAX: Duration = Duration::from_secs(1);

/// Where records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// At every `\n`.
    Line,
    /// At every `\n`, `\r\n` or `\r` outside quotes.
    Csv(Dialect),
    /// At every `0xFF`. SMILE documents never contain this byte unless their header says so.
    Smile,
}

impl Boundary {
    /// One past the last record end in `data`, which begins with a record.
    pub(crate) fn last_end(self, data: &[u8]) -> Option<usize> {
        match self {
            Boundary::Line => memrchr(b'\n', data).map(|i| i + 1),
            Boundary::Smile => memrchr(SEPARATOR, data).map(|i| i + 1),
            Boundary::Csv(dialect) => last_csv_row_end(data, dialect),
        }
    }
}

fn last_csv_row_end(data: &[u8], dialect: Dialect) -> Option<usize> {
    let Dialect { separator, quote, escape, comment, trim } = dialect;
    let has = |byte: Option<u8>| byte.filter(|&byte| memchr(byte, data).is_some());
    if has(escape).is_some() {
        return last_end_record_by_record(data, Boundary::Csv(dialect));
    }
    match has(quote) {
        None => last_csv_end(data, data.len()),
        Some(_) if trim || has(comment).is_some() => last_end_record_by_record(data, Boundary::Csv(dialect)),
        Some(quote) => last_end_outside_quotes(data, separator, quote),
    }
}

/// One past the last line end of `data`, which is the beginning of something `len` long. A `\r` at
/// the very end does not count, because `\n` may follow.
fn last_csv_end(data: &[u8], len: usize) -> Option<usize> {
    let end = memrchr2(b'\n', b'\r', data)?;
    if data[end] == b'\r' && end + 1 == len {
        return memrchr2(b'\n', b'\r', &data[..end]).map(|i| i + 1);
    }
    Some(end + 1)
}

fn last_end_outside_quotes(data: &[u8], separator: u8, quote: u8) -> Option<usize> {
    // The ranges outside quotes. The last one with a line end is wanted.
    let mut outside: Vec<(u32, u32)> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(open) = memchr(quote, &data[at..]).map(|i| at + i) {
        let opens = open == 0 || [separator, b'\n', b'\r'].contains(&data[open - 1]);
        if !opens {
            // A quote inside an unquoted cell is an ordinary character.
            at = open + 1;
            continue;
        }
        outside.push((start as u32, open as u32));
        match closing_quote(data, open + 1, quote) {
            Some(close) => at = close + 1,
            None => {
                at = data.len();
                start = at;
                break;
            }
        }
        start = at;
    }
    outside.push((start as u32, data.len() as u32));
    outside.into_iter().rev().find_map(|(from, to)| {
        // The range after a quote that closes at the very end may still be inside quotes, if the
        // next byte is a quote too. It is empty, so nothing is found in it.
        let (from, to) = (from as usize, to as usize);
        let len = if to == data.len() { to - from } else { usize::MAX };
        last_csv_end(&data[from..to], len).map(|end| from + end)
    })
}

fn last_end_record_by_record(data: &[u8], boundary: Boundary) -> Option<usize> {
    let mut last = None;
    while let Some(len) = RecordScan::new(boundary).feed(&data[last.unwrap_or(0)..]) {
        last = Some(last.unwrap_or(0) + len);
    }
    last
}

/// The quote that ends a cell whose contents begin at `from`. Doubled quotes do not end it.
pub(crate) fn closing_quote(data: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from;
    loop {
        let found = at + memchr(quote, &data[at..])?;
        if data.get(found + 1) != Some(&quote) {
            return Some(found);
        }
        at = found + 2;
    }
}

/// A piece of the stream.
pub(crate) enum Piece {
    /// Whole records. The last one of the stream may lack its line end.
    Records { first_byte: u64, data: bytes::Bytes },
    /// A record that is larger than allowed, which was skipped.
    TooLarge { first_byte: u64, head: Vec<u8>, bytes: u64, lines: u64 },
}

/// Why no more pieces come.
pub(crate) enum CutError {
    /// The stream failed after `content_bytes`. The last `dropped_bytes` of them belong to an
    /// incomplete record.
    Io { error: io::Error, content_bytes: u64, dropped_bytes: u64 },
    /// A quote at or after `first_byte` was never closed, within more bytes than one record may
    /// have.
    UnclosedQuote { first_byte: u64, bytes: u64, lines: u64 },
}

/// Reads a stream into buffers of a pool and cuts it.
pub(crate) struct Cutter {
    input: Input,
    boundary: Boundary,
    /// The largest record, bytes without its line end.
    record_bytes_max: usize,
    pool: Arc<BufferPool>,
    /// The buffer begins with a record. `filled` bytes of it are in use.
    buffer: Vec<u8>,
    filled: usize,
    /// The offset of the buffer's first byte.
    offset: u64,
    ended: bool,
    error: Option<io::Error>,
}

impl Cutter {
    /// `first_byte` is the offset of the input's first byte.
    pub(crate) fn new(
        input: Input,
        boundary: Boundary,
        first_byte: u64,
        record_bytes_max: usize,
        pool: Arc<BufferPool>,
    ) -> Self {
        let (buffer, filled, offset) = (Vec::new(), 0, first_byte);
        Cutter { input, boundary, record_bytes_max, pool, buffer, filled, offset, ended: false, error: None }
    }

    /// The offset of the next piece.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next piece of about `bytes`. `None` at the end.
    pub(crate) fn next(&mut self, bytes: usize) -> Result<Option<Piece>, CutError> {
        // One byte more than the largest record with `\r\n` shows that the record is too large.
        let limit = self.record_bytes_max.max(super::TOO_LARGE_KEPT).saturating_add(2);
        let goal_first = bytes.clamp(1, limit);
        let mut goal = goal_first;
        loop {
            self.fill(goal);
            if self.ended && self.error.is_none() {
                return Ok((self.filled > 0).then(|| self.cut(self.filled, goal_first)));
            }
            if let Some(end) = self.boundary.last_end(&self.buffer[..self.filled]) {
                return Ok(Some(self.cut(end, goal_first)));
            }
            if let Some(error) = self.error.take() {
                let dropped_bytes = self.filled as u64;
                self.filled = 0;
                return Err(CutError::Io { error, content_bytes: self.offset + dropped_bytes, dropped_bytes });
            }
            if self.filled >= limit {
                return self.skip_record().map(Some);
            }
            goal = self.filled.max(goal).saturating_mul(2).min(limit);
        }
    }

    /// Reads until `goal` bytes are there, the stream ends, or the stream pauses after a whole
    /// record.
    fn fill(&mut self, goal: usize) {
        if self.buffer.len() < goal {
            self.buffer.resize(goal, 0);
        }
        let mut since = None;
        while self.filled < goal && !self.ended {
            if !self.input.ready_within(Duration::ZERO) {
                let waited = *since.get_or_insert_with(Instant::now);
                let late = waited.elapsed() >= GATHER_MAX || !self.input.ready_within(IDLE);
                if late && self.boundary.last_end(&self.buffer[..self.filled]).is_some() {
                    return;
                }
            }
            self.read(goal);
        }
    }

    fn read(&mut self, end: usize) {
        match self.input.read(&mut self.buffer[self.filled..end]) {
            Ok(0) => self.ended = true,
            Ok(n) => self.filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.error = Some(error);
                self.ended = true;
            }
        }
    }

    fn cut(&mut self, end: usize, bytes: usize) -> Piece {
        let rest = self.filled - end;
        let mut next = if self.ended && rest == 0 { Vec::new() } else { self.pool.take() };
        if next.len() < rest.max(bytes) && !(self.ended && rest == 0) {
            next.resize(rest.max(bytes), 0);
        }
        next[..rest].copy_from_slice(&self.buffer[end..self.filled]);
        let first_byte = self.offset;
        self.offset += end as u64;
        self.filled = rest;
        let buffer = std::mem::replace(&mut self.buffer, next);
        Piece::Records { first_byte, data: self.pool.share(buffer, end) }
    }

    /// Skips the record at the beginning of the buffer, without more memory than the buffer.
    fn skip_record(&mut self) -> Result<Piece, CutError> {
        let first_byte = self.offset;
        let head = super::too_large_head(&self.buffer[..self.filled]).to_vec();
        let mut scan = RecordScan::new(self.boundary);
        let mut lines = 0;
        loop {
            if let Some(end) = scan.feed(&self.buffer[..self.filled]) {
                lines += memchr_iter(b'\n', &self.buffer[..end]).count() as u64;
                self.buffer.copy_within(end..self.filled, 0);
                self.filled -= end;
                self.offset += end as u64;
                let bytes = self.offset - first_byte - scan.line_end_len;
                // A lone `\r` at a line end is a line, too. SMILE has no lines, so its records
                // count as lines.
                let lines = if self.boundary == Boundary::Smile { 1 } else { lines.max(1) };
                return Ok(Piece::TooLarge { first_byte, head, bytes, lines });
            }
            lines += memchr_iter(b'\n', &self.buffer[..self.filled]).count() as u64;
            let in_line = self.buffer[..self.filled].last() != Some(&b'\n');
            self.offset += self.filled as u64;
            self.filled = 0;
            self.read(self.buffer.len());
            if self.filled == 0 && self.ended {
                let bytes = self.offset - first_byte;
                if let Some(error) = self.error.take() {
                    return Err(CutError::Io { error, content_bytes: self.offset, dropped_bytes: bytes });
                }
                if scan.in_quotes() {
                    return Err(CutError::UnclosedQuote { first_byte, bytes, lines: lines + u64::from(in_line) });
                }
                let lines = if self.boundary == Boundary::Smile { 1 } else { lines + 1 };
                return Ok(Piece::TooLarge { first_byte, head, bytes: bytes - scan.line_end_len, lines });
            }
        }
    }
}

/// Looks for the end of one record byte by byte, over any number of pieces.
struct RecordScan {
    boundary: Boundary,
    state: ScanState,
    line_end_len: u64,
    escaped: Escaped,
}

/// Whether the next byte has no special meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escaped {
    No,
    Next,
    /// After an escaped `\r`, to which a `\n` belongs.
    LineFeed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanState {
    RowStart,
    /// In a line that is no row.
    Comment,
    CellStart,
    Cell,
    Quoted,
    /// After a quote inside quotes: the end of the cell, or the first half of a doubled quote.
    Closing,
    /// After `\r`.
    Return,
}

impl RecordScan {
    fn new(boundary: Boundary) -> Self {
        RecordScan { boundary, state: ScanState::RowStart, line_end_len: 0, escaped: Escaped::No }
    }

    fn in_quotes(&self) -> bool {
        self.state == ScanState::Quoted
    }

    /// One past the record's end, if it is in this piece.
    fn feed(&mut self, data: &[u8]) -> Option<usize> {
        let dialect = match self.boundary {
            Boundary::Line => {
                self.line_end_len = 1;
                let end = memchr(b'\n', data);
                let last = end.map_or(data.last(), |i| i.checked_sub(1).map(|i| &data[i]));
                let after_return = match last {
                    Some(&b) => b == b'\r',
                    None => self.state == ScanState::Return,
                };
                self.state = if after_return { ScanState::Return } else { ScanState::Cell };
                self.line_end_len = u64::from(after_return) + u64::from(end.is_some());
                return end.map(|i| i + 1);
            }
            Boundary::Smile => {
                let end = memchr(SEPARATOR, data);
                self.line_end_len = u64::from(end.is_some());
                return end.map(|i| i + 1);
            }
            Boundary::Csv(dialect) => dialect,
        };
        for (i, &byte) in data.iter().enumerate() {
            if self.state == ScanState::RowStart && Some(byte) == dialect.comment {
                self.state = ScanState::Comment;
            }
            let in_comment = self.state == ScanState::Comment;
            if !in_comment && dialect.escape.is_some() && self.is_escaped(byte, dialect.escape) {
                continue;
            }
            let quoted = Some(byte) == dialect.quote;
            self.state = match self.state {
                ScanState::Return => {
                    self.line_end_len = 1 + u64::from(byte == b'\n');
                    return Some(i + usize::from(byte == b'\n'));
                }
                ScanState::Quoted => {
                    if quoted {
                        ScanState::Closing
                    } else {
                        ScanState::Quoted
                    }
                }
                ScanState::RowStart | ScanState::CellStart | ScanState::Closing if quoted => ScanState::Quoted,
                state => match byte {
                    b'\n' => {
                        self.line_end_len = 1;
                        return Some(i + 1);
                    }
                    b'\r' => ScanState::Return,
                    _ if in_comment => ScanState::Comment,
                    _ if byte == dialect.separator => ScanState::CellStart,
                    _ if dialect.is_blank(byte) && matches!(state, ScanState::RowStart | ScanState::CellStart) => {
                        ScanState::CellStart
                    }
                    _ => ScanState::Cell,
                },
            };
        }
        self.line_end_len = u64::from(self.state == ScanState::Return);
        None
    }

    /// Whether a byte is an escape or follows one, and so ends nothing.
    fn is_escaped(&mut self, byte: u8, escape: Option<u8>) -> bool {
        let before = std::mem::replace(&mut self.escaped, Escaped::No);
        let begins = Some(byte) == escape && self.state != ScanState::Return;
        self.escaped = match before {
            Escaped::Next if byte == b'\r' => Escaped::LineFeed,
            Escaped::LineFeed if byte == b'\n' => return true,
            Escaped::No | Escaped::LineFeed if begins => Escaped::Next,
            _ => Escaped::No,
        };
        let inside = before == Escaped::Next || self.escaped == Escaped::Next;
        if inside && matches!(self.state, ScanState::RowStart | ScanState::CellStart | ScanState::Closing) {
            self.state = ScanState::Cell;
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cutter(data: &[u8], boundary: Boundary, record_bytes_max: usize) -> Cutter {
        let input = Input::new(io::Cursor::new(data.to_vec()));
        Cutter::new(input, boundary, 0, record_bytes_max, BufferPool::new())
    }

    /// (first byte, record bytes or None, length) of all pieces.
    fn pieces(mut cutter: Cutter, bytes: usize) -> Vec<(u64, Option<Vec<u8>>, u64)> {
        let mut out = Vec::new();
        while let Ok(Some(piece)) = cutter.next(bytes) {
            out.push(match piece {
                Piece::Records { first_byte, data } => (first_byte, Some(data.to_vec()), data.len() as u64),
                Piece::TooLarge { first_byte, bytes, .. } => (first_byte, None, bytes),
            });
        }
        out
    }

    const PLAIN: Dialect = Dialect::plain(b',', Some(b'"'));
    const COMMA: Boundary = Boundary::Csv(PLAIN);

    #[test]
    fn chunks_end_outside_quotes() {
        for (data, end) in [
            (&b"a,b\nc"[..], Some(4)),
            (b"a,\"b\nc", None),
            (b"a,\"b\n\"\nc", Some(7)),
            (b"a\n\"b\"\"\nc", Some(2)),
            (b"a\"b\nc\"d\n", Some(8)),
            (b"x\n\"a\"", Some(2)),
            (b"\"a\"b\"\nc", Some(6)),
            (b"a\r\nb\r", Some(3)),
            (b"a\rb", Some(2)),
            (b"a\r", None),
            (b"\"a\"\r", None),
            (b"\"a\"\"\n\"\n", Some(7)),
        ] {
            assert_eq!(COMMA.last_end(data), end, "{:?}", String::from_utf8_lossy(data));
        }
        let unquoted = Boundary::Csv(Dialect::plain(b',', None));
        assert_eq!(unquoted.last_end(b"a,\"b\nc"), Some(5));
    }

    #[test]
    fn what_is_escaped_ends_nothing() {
        let escaped = Boundary::Csv(Dialect { escape: Some(b'\\'), ..PLAIN });
        for (data, end) in [
            (&b"\"a\\\"\nb\"\nc"[..], Some(8)),
            (b"\"a\\\\\"\nb", Some(6)),
            (b"a\\\nb\nc", Some(5)),
            (b"a\\\r\nb\nc", Some(6)),
            (b"a\\\nb", None),
            (b"a,\\\"b\nc", Some(6)),
            (b"a\\", None),
        ] {
            assert_eq!(escaped.last_end(data), end, "{:?}", String::from_utf8_lossy(data));
        }
    }

    #[test]
    fn quotes_in_comments_open_nothing() {
        let commented = Boundary::Csv(Dialect { comment: Some(b'#'), escape: Some(b'\\'), ..PLAIN });
        for (data, end) in [
            (&b"# a,\"b\nc\n"[..], Some(9)),
            (b"# a\\\nc", Some(5)),
            (b"a,\"#\"\r\n#\"\r\nb", Some(11)),
            (b"a,\"\n#\"\nb", Some(7)),
            (b"a\n#\"", Some(2)),
        ] {
            assert_eq!(commented.last_end(data), end, "{:?}", String::from_utf8_lossy(data));
        }
    }

    #[test]
    fn quotes_after_blanks_open_a_cell_if_blanks_do_not_count() {
        let trimmed = Boundary::Csv(Dialect { trim: true, ..PLAIN });
        for (data, end) in [
            (&b"a, \"b\nc\" \nd"[..], Some(10)),
            (b" \"a\n\t\"\nb", Some(7)),
            (b"a, x\"\nb", Some(6)),
            (b"a, \"\nb", None),
        ] {
            assert_eq!(trimmed.last_end(data), end, "{:?}", String::from_utf8_lossy(data));
        }
    }

    #[test]
    fn a_record_that_is_too_large_is_left_out_and_the_next_ones_are_read() {
        let long = "x".repeat(5000);
        let data = format!("a\n{long}\r\nb\n{long}");
        assert_eq!(
            pieces(cutter(data.as_bytes(), Boundary::Line, 10), 4),
            [(0, Some(b"a\n".to_vec()), 2), (2, None, 5000), (5004, Some(b"b\n".to_vec()), 2), (5006, None, 5000)]
        );
    }

    #[test]
    fn a_quote_that_never_closes_ends_the_source() {
        let data = format!("a,b\n1,\"{}", "x\n".repeat(5000));
        let mut cutter = cutter(data.as_bytes(), COMMA, 100);
        assert!(matches!(cutter.next(8), Ok(Some(Piece::Records { .. }))));
        let Err(CutError::UnclosedQuote { first_byte, bytes, lines }) = cutter.next(8) else { panic!("no error") };
        assert_eq!((first_byte, bytes, lines), (4, 10_003, 5000));
    }

    #[test]
    fn an_error_comes_after_the_whole_records_before_it() {
        struct Broken(bool);
        impl Read for Broken {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(io::Error::other("broken"));
                }
                buf[..6].copy_from_slice(b"a\nb\ncd");
                Ok(6)
            }
        }
        impl super::super::input::Bytes for Broken {}
        let mut cutter = Cutter::new(Input::new(Broken(false)), Boundary::Line, 0, 100, BufferPool::new());
        let Ok(Some(Piece::Records { data, .. })) = cutter.next(1000) else { panic!("no records") };
        assert_eq!(data, &b"a\nb\n"[..]);
        let Err(CutError::Io { content_bytes, dropped_bytes, .. }) = cutter.next(1000) else { panic!("no error") };
        assert_eq!((content_bytes, dropped_bytes), (6, 2));
        assert!(matches!(cutter.next(1000), Ok(None)));
    }

    proptest! {
        #[test]
        fn pieces_put_together_are_the_stream(
            data in proptest::collection::vec(proptest::sample::select(&b"ab,\"\n\r"[..]), 0..200),
            bytes in 1..50_usize,
            csv: bool,
        ) {
            let boundary = if csv { COMMA } else { Boundary::Line };
            let mut all = Vec::new();
            for (first_byte, piece, _) in pieces(cutter(&data, boundary, 1000), bytes) {
                prop_assert_eq!(first_byte, all.len() as u64);
                all.extend(piece.unwrap());
            }
            prop_assert_eq!(all, data);
        }

        #[test]
        fn both_ways_to_find_a_record_end_agree(
            data in proptest::collection::vec(proptest::sample::select(&b"ab,\"\n\r"[..]), 0..60),
            csv: bool,
        ) {
            let boundary = if csv { COMMA } else { Boundary::Line };
            let mut last = None;
            let mut at = 0;
            while let Some(end) = RecordScan::new(boundary).feed(&data[at..]) {
                at += end;
                last = Some(at);
            }
            prop_assert_eq!(boundary.last_end(&data), last);
        }
    }
}
