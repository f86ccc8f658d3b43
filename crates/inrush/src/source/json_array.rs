//! One JSON array, however long: its elements become documents without being parsed.
//!
//! The array is cut under the source's lock by a scan that knows strings and nesting and nothing else of JSON. It is never
//! held as a whole: what is in memory is a chunk, and an element that does not end in it.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, Reject, SourceId};
use memchr::{memchr_iter, memchr2};

use super::buffer::BufferPool;
use super::cut_file::ReadFile;
use super::input::{Bytes as _, IDLE, Input};
use super::one_line::one_line;
use super::{Chunk, SourceError, too_large, too_large_head};

/// A source that is one array.
pub(super) struct ArrayFile {
    id: SourceId,
    name: String,
    input: Input,
    pool: Arc<BufferPool>,
    rules: Rules,
    /// Bytes used of the file, and how many of them chunks have reported.
    consumed: Arc<AtomicU64>,
    reported: u64,
    /// Begins where the last chunk has ended; `filled` bytes of it are in use.
    buffer: Vec<u8>,
    filled: usize,
    /// Of the buffer's first byte, in the text.
    offset: u64,
    scan: Scan,
    /// Elements that are whole in the buffer.
    elements: Vec<Element>,
    /// How many elements have gone out.
    count: u64,
    ended: bool,
    error: Option<std::io::Error>,
    /// What ends the source after the elements before it.
    broken: Option<SourceError>,
}

/// What is asked of elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The largest one, bytes.
    pub(super) record_bytes_max: usize,
    /// They have to be JSON.
    pub(super) validate: bool,
}

/// An element in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Element {
    start: usize,
    end: usize,
    /// What of it is not in the buffer, because it is too large.
    dropped: Dropped,
}

/// The middle of an element that is too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Dropped {
    bytes: u64,
    lines: u64,
}

impl ArrayFile {
    /// `first_byte` is the offset of the input's first byte.
    pub(super) fn new(
        id: SourceId,
        name: &str,
        input: Input,
        first_byte: u64,
        rules: Rules,
        consumed: Arc<AtomicU64>,
        pool: Arc<BufferPool>,
    ) -> Self {
        ArrayFile {
            id,
            name: name.to_owned(),
            input,
            pool,
            rules,
            consumed,
            reported: 0,
            buffer: Vec::new(),
            filled: 0,
            offset: first_byte,
            scan: Scan::default(),
            elements: Vec::new(),
            count: 0,
            ended: false,
            error: None,
            broken: None,
        }
    }

    /// Reads and scans until `goal` bytes are there, the text ends, or it is silent and an element is whole.
    fn fill(&mut self, goal: usize) {
        if self.buffer.len() < goal {
            self.buffer.resize(goal, 0);
        }
        while self.filled < goal && !self.ended && self.broken.is_none() {
            if !self.elements.is_empty() && !self.input.ready_within(Duration::ZERO) && !self.input.ready_within(IDLE) {
                return;
            }
            match self.input.read(&mut self.buffer[self.filled..goal]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.error = Some(error);
                    self.ended = true;
                }
            }
            if let Err(at) = self.scan.run(&self.buffer[..self.filled], &mut self.elements) {
                self.broken = Some(self.unexpected(at));
            }
        }
    }

    /// An element that has begun and is longer than allowed keeps its beginning only, so that memory stays bounded.
    fn drop_middle(&mut self) {
        let start = self.scan.start;
        if !self.scan.in_element() || self.filled - start <= self.rules.record_bytes_max.max(super::TOO_LARGE_KEPT) {
            return;
        }
        let kept = start + super::TOO_LARGE_KEPT;
        let dropped = self.filled - kept;
        self.scan.dropped.bytes += dropped as u64;
        self.scan.dropped.lines += memchr_iter(b'\n', &self.buffer[kept..self.filled]).count() as u64;
        self.scan.at -= dropped;
        self.filled = kept;
    }

    /// What is whole in the buffer, as a chunk.
    fn cut(&mut self, bytes: usize) -> Chunk {
        let bytes_read = self.bytes_read();
        let elements = std::mem::take(&mut self.elements);
        // Everything up to the element that has begun.
        let end = if self.scan.in_element() { self.scan.start } else { self.scan.at.min(self.filled) };
        let rest = self.filled - end;
        let mut next = self.pool.take();
        if next.len() < rest.max(bytes) {
            next.resize(rest.max(bytes), 0);
        }
        next[..rest].copy_from_slice(&self.buffer[end..self.filled]);
        let buffer = std::mem::replace(&mut self.buffer, next);
        let origin = Origin { source: self.id, first_byte: self.offset, ..Origin::default() };
        self.offset += end as u64 + elements.iter().map(|element| element.dropped.bytes).sum::<u64>();
        self.filled = rest;
        self.scan.moved(end);
        self.count += elements.len() as u64;
        let (pool, rules) = (Arc::clone(&self.pool), self.rules);
        Chunk::Deferred(Box::new(move || {
            let mut block = block(buffer, end, &elements, origin, bytes_read, rules.record_bytes_max, &pool);
            if rules.validate {
                validate(&mut block);
            }
            block
        }))
    }

    fn bytes_read(&mut self) -> u64 {
        let consumed = self.consumed.load(Ordering::Relaxed);
        consumed - std::mem::replace(&mut self.reported, consumed)
    }

    /// The offset in the text of a place in the buffer.
    fn place(&self, at: usize) -> u64 {
        let dropped: u64 = self.elements.iter().map(|element| element.dropped.bytes).sum();
        self.offset + at as u64 + dropped + self.scan.dropped.bytes
    }

    fn unexpected(&self, at: usize) -> SourceError {
        let found = char::from(self.buffer[at]);
        let expected = self.scan.state.expected();
        let (place, count) = (self.place(at), self.count + self.elements.len() as u64);
        let message = format!(
            "the JSON array is broken at byte {place}: found {found:?}, expected {expected}; the {count} elements before it were read"
        );
        SourceError::new(&self.name, message)
    }

    /// What is wrong with a text that ends here, if anything.
    fn end(&mut self) -> Option<SourceError> {
        let (place, count) = (self.place(self.filled), self.count);
        if let Some(error) = self.error.take() {
            let what = format!("reading failed at byte {place} of the text, after {count} elements of the JSON array");
            return Some(SourceError::io(&self.name, &what, error));
        }
        let what = match self.scan.state {
            State::Before | State::End => return None,
            State::Nested | State::Text | State::Scalar => {
                format!("inside the element that begins at byte {}", self.offset + self.scan.start as u64)
            }
            State::First | State::Value | State::After => format!("where {} is expected", self.scan.state.expected()),
        };
        let message =
            format!("the JSON array is cut off at byte {place}, {what}; the {count} elements before it were read");
        Some(SourceError::new(&self.name, message))
    }
}

impl ReadFile for ArrayFile {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let bytes = bytes.max(1);
        loop {
            self.drop_middle();
            let goal = if self.filled < bytes { bytes } else { self.filled + bytes };
            self.fill(goal);
            if !self.elements.is_empty() {
                return Ok(Some(self.cut(bytes)));
            }
            if let Some(error) = self.broken.take() {
                return Err(error.of(self.id));
            }
            if self.ended {
                if let Some(error) = self.end() {
                    return Err(error.of(self.id));
                }
                let bytes_read = self.bytes_read();
                let origin = Origin { source: self.id, first_byte: self.offset, ..Origin::default() };
                return Ok(
                    (bytes_read > 0).then(|| Chunk::Docs(DocBlock { origin, bytes_read, ..DocBlock::default() }))
                );
            }
        }
    }
}

/// The elements of a chunk as documents, each on one line.
fn block(
    mut buffer: Vec<u8>,
    len: usize,
    elements: &[Element],
    origin: Origin,
    bytes_read: u64,
    record_bytes_max: usize,
    pool: &Arc<BufferPool>,
) -> DocBlock {
    let mut records = Vec::with_capacity(elements.len());
    let mut rejects = Vec::new();
    let (mut lines, mut counted) = (0, 0);
    // Bytes that are in the text and not in the buffer.
    let mut dropped = 0;
    for element in elements {
        lines += memchr_iter(b'\n', &buffer[counted..element.start]).count() as u64;
        counted = element.start;
        let record = records.len() as u32;
        let (mut end, byte) = (element.end, element.start as u64 + dropped);
        let contents = &mut buffer[element.start..element.end];
        let length = contents.len() as u64 + element.dropped.bytes;
        let line = lines;
        dropped += element.dropped.bytes;
        lines += element.dropped.lines;
        if length > record_bytes_max as u64 {
            end = element.start + too_large_head(contents).len();
            rejects.push(too_large(record, length, record_bytes_max));
        } else if contents[0] != b'{' {
            let reason = "the element of the array is no object, and documents are objects".to_owned();
            rejects.push(Reject { record, kind: "not_an_object", reason });
        } else if memchr2(b'\n', b'\r', contents).is_some() {
            lines += memchr_iter(b'\n', contents).count() as u64;
            counted = element.end;
            rejects.extend(one_line(record, contents));
        }
        records.push(Record { start: element.start as u32, end: end as u32, byte: narrow(byte), line: narrow(line) });
    }
    lines += memchr_iter(b'\n', &buffer[counted..len]).count() as u64;
    DocBlock { origin, lines, data: pool.share(buffer, len), records, rejects, meta: Vec::new(), bytes_read }
}

/// Adds a reject for each record that is no JSON and was taken for an object.
fn validate(block: &mut DocBlock) {
    let known: Vec<u32> = block.rejects.iter().map(|reject| reject.record).collect();
    let records = (0..block.records.len() as u32).filter(|record| known.binary_search(record).is_err());
    let found: Vec<Reject> =
        records.filter_map(|record| super::validate::reject(record, block.record(record as usize))).collect();
    block.rejects.extend(found);
    block.rejects.sort_by_key(|reject| reject.record);
}

/// A place in a block. Only behind an element of 4 GiB, which is a reject, there is none that fits.
fn narrow(place: u64) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// What may come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The bracket that opens the array.
    #[default]
    Before,
    /// An element, or the end of an array that is empty.
    First,
    /// An element.
    Value,
    /// More of an object or array.
    Nested,
    /// More of an element that is a string.
    Text,
    /// More of a number or a word.
    Scalar,
    /// A comma, or the end.
    After,
    /// White space.
    End,
}

impl State {
    fn expected(self) -> &'static str {
        match self {
            State::Before => "the `[` of an array",
            State::First => "an element or `]`",
            State::Value | State::Nested | State::Text | State::Scalar => "an element",
            State::After => "`,` or `]`",
            State::End => "nothing after the array",
        }
    }
}

/// Where the scan stands, between any two bytes.
#[derive(Debug, Default)]
struct Scan {
    state: State,
    /// Objects and arrays that are open inside of the element.
    depth: u64,
    in_string: bool,
    /// The next byte to look at. One beyond the end of the buffer after a backslash at its end.
    at: usize,
    /// Where the element that is open begins.
    start: usize,
    /// Bytes of that element that are not in the buffer any more.
    dropped: Dropped,
}

impl Scan {
    fn in_element(&self) -> bool {
        matches!(self.state, State::Nested | State::Text | State::Scalar)
    }

    /// The first `bytes` of the buffer are gone.
    fn moved(&mut self, bytes: usize) {
        self.at -= bytes;
        self.start = self.start.saturating_sub(bytes);
    }

    /// Goes on to the end of `data`, and adds the elements that have ended. Fails with the place of a byte that cannot be there.
    fn run(&mut self, data: &[u8], elements: &mut Vec<Element>) -> Result<(), usize> {
        while self.at < data.len() {
            if self.in_string {
                if !self.string(data) {
                    return Ok(());
                }
                if self.state == State::Text {
                    self.close(self.at, elements);
                }
                continue;
            }
            if self.state == State::Nested {
                self.nested(data, elements);
                continue;
            }
            let byte = data[self.at];
            match (self.state, byte) {
                (State::Scalar, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r') => {
                    // Looked at once more, as what comes after the element.
                    self.close(self.at, elements);
                    continue;
                }
                (State::Scalar, _) | (_, b' ' | b'\t' | b'\n' | b'\r') => {}
                (State::Before, b'[') => self.state = State::First,
                (State::First | State::After, b']') => self.state = State::End,
                (State::After, b',') => self.state = State::Value,
                (State::First | State::Value, b'{' | b'[') => {
                    self.open(State::Nested);
                    self.depth = 1;
                }
                (State::First | State::Value, b'"') => {
                    self.open(State::Text);
                    self.in_string = true;
                }
                (State::First | State::Value, b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => {
                    self.open(State::Scalar);
                }
                _ => return Err(self.at),
            }
            self.at += 1;
        }
        Ok(())
    }

    fn open(&mut self, state: State) {
        self.state = state;
        self.start = self.at;
        self.dropped = Dropped::default();
    }

    fn close(&mut self, end: usize, elements: &mut Vec<Element>) {
        let dropped = std::mem::take(&mut self.dropped);
        elements.push(Element { start: self.start, end, dropped });
        self.state = State::After;
    }

    /// Passes over the rest of a string; false if it does not end in `data`.
    #[inline]
    fn string(&mut self, data: &[u8]) -> bool {
        while let Some(found) = data.get(self.at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            self.at += found;
            if data[self.at] == b'"' {
                self.at += 1;
                self.in_string = false;
                return true;
            }
            self.at += 2;
        }
        self.at = self.at.max(data.len());
        false
    }

    /// Goes on inside of an object or array, to a string, the end of the element or of `data`.
    #[inline]
    fn nested(&mut self, data: &[u8], elements: &mut Vec<Element>) {
        for (i, &byte) in data[self.at..].iter().enumerate() {
            match byte {
                b'"' => {
                    self.at += i + 1;
                    self.in_string = true;
                    return;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.at += i + 1;
                        self.close(self.at, elements);
                        return;
                    }
                }
                _ => {}
            }
        }
        self.at = data.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn elements(text: &str, cuts: &[usize]) -> Result<Vec<String>, usize> {
        let (mut scan, mut found) = (Scan::default(), Vec::new());
        for &cut in cuts.iter().filter(|cut| **cut <= text.len()) {
            scan.run(&text.as_bytes()[..cut], &mut found)?;
        }
        scan.run(text.as_bytes(), &mut found)?;
        Ok(found.iter().map(|e| text[e.start..e.end].to_owned()).collect())
    }

    fn check(text: &str, expected: &[&str]) {
        // Cut at every place, and at every two neighbouring ones.
        for cut in 0..=text.len() {
            assert_eq!(elements(text, &[cut, cut + 1]).unwrap(), expected, "{text} cut at {cut}");
        }
    }

    #[test]
    fn elements_end_where_they_should() {
        check(" [ ] ", &[]);
        check(r#"[{"a":1},{"b":[{}]} , {}]"#, &[r#"{"a":1}"#, r#"{"b":[{}]}"#, "{}"]);
        check(r#"[{"a":"}]\"{"},{"\\":"\u005d"}]"#, &[r#"{"a":"}]\"{"}"#, r#"{"\\":"\u005d"}"#]);
    }

    #[test]
    fn what_cannot_be_there_is_found() {
        for (text, at) in [("{}", 0), ("[,", 1), ("[{},]", 4), ("[{} {}]", 4), ("[1 2]", 3), ("[] []", 3), ("[}", 1)] {
            assert_eq!(elements(text, &[]), Err(at), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_values_in_any_pieces(
            values in prop::collection::vec(
                r#"\{\}|\{"[]a{},]{0,4}(\\\\|\\")?":[0-9]{1,3}\}|"([^"\\]|\\["\\])*"|-?[0-9]{1,5}|true|\[(1,\[\])?\]"#,
                0..8,
            ),
            space in "[ \n]{0,2}",
            cuts in prop::collection::vec(0usize..200, 0..5),
        ) {
            let separator = format!("{space},{space}");
            let text = format!("{space}[{space}{}{space}]{space}", values.join(&separator));
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut)).collect();
            cuts.sort_unstable();
            prop_assert_eq!(elements(&text, &cuts).unwrap(), values);
        }
    }
}
