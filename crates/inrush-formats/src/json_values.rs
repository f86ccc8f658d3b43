//! Any number of JSON values of any length. Each becomes a document without being parsed.
//!
//! The text is cut under the lock of the source ([`super::json_scan`]). No array is ever held as a
//! whole. The memory holds a chunk, and a record that does not end in it.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inrush_core::Code;
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, Reject, SourceId};
use memchr::{memchr_iter, memchr2};

use super::buffer::BufferPool;
use super::cut_file::ReadFile;
use super::input::{Bytes as _, IDLE, Input};
use super::json_scan::{Element, Expected, RecordsPath, Scan, ScanError};
use super::one_line::one_line;
use super::warnings::Warnings;
use super::{Chunk, SourceError, hits, not_finite, too_large, too_large_head};

/// A source of JSON values.
pub(crate) struct ValuesFile {
    id: SourceId,
    name: String,
    input: Input,
    pool: Arc<BufferPool>,
    rules: Rules,
    warnings: Warnings,
    /// The hint for a source that is one document as a whole.
    hint: Option<Hint>,
    /// Bytes of the file that were used, and those that chunks have reported.
    consumed: Arc<AtomicU64>,
    reported: u64,
    /// The buffer begins where the last chunk has ended. `filled` bytes of it are in use.
    buffer: Vec<u8>,
    filled: usize,
    /// The offset of the buffer's first byte in the text.
    offset: u64,
    scan: Scan,
    /// Records that are complete in the buffer.
    elements: Vec<Element>,
    /// Number of records that were passed on.
    count: u64,
    ended: bool,
    error: Option<std::io::Error>,
    /// The error that ends the source after the records before it.
    broken: Option<SourceError>,
}

/// Requirements on records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The largest record, bytes.
    pub(crate) record_bytes_max: usize,
    /// Whether records have to be JSON.
    pub(crate) validate: bool,
    /// Whether records are search hits. These are checked to be JSON in any case, because they are
    /// parsed.
    pub(crate) hits: bool,
}

/// Where the records of a large document seem to be, and the warnings that say so.
pub(crate) struct Hint {
    pub(crate) text: String,
    /// Where it is told. `None`: a document is what is meant, unless it is too large for one.
    pub(crate) warnings: Option<Warnings>,
}

impl ValuesFile {
    /// `first_byte` is the offset of the input's first byte.
    pub(crate) fn new(
        id: SourceId,
        name: &str,
        input: Input,
        first_byte: u64,
        rules: Rules,
        consumed: Arc<AtomicU64>,
        pool: Arc<BufferPool>,
    ) -> Self {
        ValuesFile {
            id,
            name: name.to_owned(),
            input,
            pool,
            rules,
            warnings: Warnings::default(),
            hint: None,
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

    /// Takes the records from inside each value.
    pub(crate) fn with_records(mut self, path: Option<&RecordsPath>) -> Self {
        self.scan = Scan::new(path);
        self
    }

    /// Counts in these warnings.
    pub(crate) fn with_warnings(mut self, warnings: &Warnings) -> Self {
        self.warnings = warnings.clone();
        self
    }

    /// Sets the hint for a source that is one document as a whole.
    pub(crate) fn with_hint(mut self, hint: Option<Hint>) -> Self {
        self.hint = hint;
        self
    }

    /// Reads and scans until `goal` bytes are there, the text ends, or it pauses and an element is
    /// complete.
    fn fill(&mut self, goal: usize) {
        if self.buffer.len() < goal {
            self.buffer.resize(goal, 0);
        }
        while self.filled < goal && !self.ended && self.broken.is_none() {
            if !self.elements.is_empty() && !self.input.ready_within(Duration::ZERO) && !self.input.ready_within(IDLE) {
                return;
            }
            match self.input.read(&mut self.buffer[self.filled..goal]) {
                Ok(0) => {
                    self.ended = true;
                    self.scan.finish(&mut self.elements);
                }
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.error = Some(error);
                    self.ended = true;
                }
            }
            if let Err(error) = self.scan.run(&self.buffer[..self.filled], &mut self.elements) {
                self.broken = Some(self.explain(&error));
            }
        }
    }

    /// Keeps only the beginning of an open record that is longer than allowed, so that memory stays
    /// bounded.
    fn drop_middle(&mut self) {
        let start = self.scan.start;
        if !self.scan.in_record() || self.filled - start <= self.rules.record_bytes_max.max(super::TOO_LARGE_KEPT) {
            return;
        }
        let kept = start + super::TOO_LARGE_KEPT;
        let dropped = self.filled - kept;
        self.scan.dropped.bytes += dropped as u64;
        self.scan.dropped.lines += memchr_iter(b'\n', &self.buffer[kept..self.filled]).count() as u64;
        self.scan.at -= dropped;
        self.filled = kept;
    }

    /// Makes a chunk of the records that are complete in the buffer.
    fn cut(&mut self, bytes: usize) -> Chunk {
        let bytes_read = self.bytes_read();
        let elements = std::mem::take(&mut self.elements);
        // Everything up to the record that has begun.
        let end = if self.scan.in_record() { self.scan.start } else { self.scan.at.min(self.filled) };
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
        let hint = self.hint.as_ref().filter(|_| self.count == 0).map(|hint| hint.text.clone()).unwrap_or_default();
        self.count += elements.len() as u64;
        let (pool, rules) = (Arc::clone(&self.pool), self.rules);
        let told = rules.validate.then(|| (self.name.clone(), self.warnings.clone()));
        Chunk::Deferred(Box::new(move || {
            let mut block = block(buffer, end, &elements, origin, bytes_read, rules.record_bytes_max, &pool);
            // The only reject of the first record that does not come from its contents.
            if let Some(first) =
                block.rejects.first_mut().filter(|reject| reject.record == 0 && reject.kind == Code::TooLarge)
            {
                first.reason.push_str(&hint);
            }
            if rules.hits {
                hits::take_sources(&mut block);
            } else if let Some((name, warnings)) = told {
                not_finite::check(&mut block, &name, &warnings);
            }
            block
        }))
    }

    fn bytes_read(&mut self) -> u64 {
        let consumed = self.consumed.load(Ordering::Relaxed);
        consumed - std::mem::replace(&mut self.reported, consumed)
    }

    /// The offset in the text of a position in the buffer.
    fn place(&self, at: usize) -> u64 {
        let dropped: u64 = self.elements.iter().map(|element| element.dropped.bytes).sum();
        self.offset + at as u64 + dropped + self.scan.dropped.bytes
    }

    fn explain(&self, error: &ScanError) -> SourceError {
        let count = self.count + self.elements.len() as u64;
        let message = match error {
            ScanError::Unexpected(at) => {
                let found = char::from(self.buffer[*at]);
                let (place, expected) = (self.place(*at), self.scan.state.expected());
                format!(
                    "the JSON is broken at byte {place}: found {found:?}, expected {expected}; the {count} records before it were read"
                )
            }
            ScanError::NoRecords(at, why) => {
                format!("at byte {}: {why}; the {count} records before it were read", self.place(*at))
            }
        };
        SourceError::new(&self.name, message)
    }

    /// The error of a text that ends here, if it is incomplete.
    fn end(&mut self) -> Option<SourceError> {
        let (place, count) = (self.place(self.filled), self.count);
        if let Some(error) = self.error.take() {
            let what = format!("reading failed at byte {place} of the text, after {count} records");
            return Some(SourceError::io(&self.name, &what, error));
        }
        let begun = self.offset + self.scan.start as u64;
        let what = match self.scan.state {
            Expected::Before | Expected::Between => return None,
            Expected::Nested | Expected::Text | Expected::Scalar | Expected::Damaged if self.scan.is_at_the_top() => {
                format!(
                    "inside the document that begins at byte {begun}; if each line is a document, give option `format=ndjson`"
                )
            }
            Expected::Nested | Expected::Text | Expected::Scalar | Expected::Damaged if self.scan.in_record() => {
                format!("inside the element that begins at byte {begun}")
            }
            state => format!("where {} is expected", state.expected()),
        };
        let message = format!("the JSON is cut off at byte {place}, {what}; the {count} records before it were read");
        Some(SourceError::new(&self.name, message))
    }

    /// Reports the hint at the end of the source.
    fn hint(&mut self) {
        if let Some(Hint { text, warnings: Some(warnings) }) = self.hint.take().filter(|_| self.count == 1) {
            warnings.add_of_each(&self.name, "one_document", || {
                format!("the whole source is one document{text}; if a document is meant, give option `format=json`")
            });
        }
    }
}

impl ReadFile for ValuesFile {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let bytes = bytes.max(1);
        loop {
            self.drop_middle();
            let goal = if self.filled < bytes { bytes } else { self.filled + bytes };
            self.fill(goal);
            // Skipped bytes go out as a chunk without documents.
            let passes = self.filled > 0 && !self.scan.in_record() && !self.ended && self.broken.is_none();
            if !self.elements.is_empty() || passes {
                return Ok(Some(self.cut(bytes)));
            }
            if let Some(error) = self.broken.take() {
                return Err(error.of(self.id));
            }
            if self.ended {
                if let Some(error) = self.end() {
                    return Err(error.of(self.id));
                }
                self.hint();
                let bytes_read = self.bytes_read();
                let origin = Origin { source: self.id, first_byte: self.offset, ..Origin::default() };
                return Ok(
                    (bytes_read > 0).then(|| Chunk::Docs(DocBlock { origin, bytes_read, ..DocBlock::default() }))
                );
            }
        }
    }
}

/// The records of a chunk as documents, each on one line.
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
        let is_too_large = length > record_bytes_max as u64;
        if let Some(damage) = element.damage {
            lines += memchr_iter(b'\n', contents).count() as u64;
            counted = element.end;
            let spanned = lines - line + u64::from(contents.last() != Some(&b'\n'));
            let kept = if is_too_large { too_large_head(contents) } else { contents.trim_ascii_end() };
            end = element.start + kept.len();
            rejects.push(Reject { record, kind: Code::InvalidJson, reason: damage.reason(length, spanned) });
        } else if is_too_large {
            end = element.start + too_large_head(contents).len();
            rejects.push(too_large(record, length, record_bytes_max));
        } else if contents[0] != b'{' {
            let reason = "the record is not an object; documents must be objects".to_owned();
            rejects.push(Reject { record, kind: Code::NotAnObject, reason });
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

/// A position in a block. Only a position behind an element of 4 GiB, which is a reject, does not
/// fit.
fn narrow(place: u64) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
