//! One record a line: NDJSON, which is passed on unchanged, and plain text, which becomes one field
//! or several ([`super::parse`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::{DocBlock, DocMeta, Reject};
use memchr::memchr_iter;

use super::buffer::BufferPool;
use super::json_string::push_escaped;
use super::warnings::Warnings;
use super::{Decode, RawChunk, not_finite, too_large, too_large_head, validate};

/// Decodes lines of JSON. They are parsed only for validation: the bytes of the block are those of
/// the chunk.
pub struct NdjsonDecode {
    record_bytes_max: usize,
    validate: Option<(String, Warnings)>,
    records: RecordsHint,
}

impl NdjsonDecode {
    /// A record larger than `record_bytes_max` becomes a reject. With `validate`, each record is
    /// parsed; the name of the source and its warnings count what is left out.
    pub fn new(record_bytes_max: usize, validate: Option<(String, Warnings)>) -> Self {
        NdjsonDecode { record_bytes_max, validate, records: RecordsHint::default() }
    }
}

impl Decode for NdjsonDecode {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let mut records = Vec::with_capacity(self.records.expect(chunk.data.len()));
        let mut rejects = Vec::new();
        let data = &chunk.data[..];
        let lines = for_each_line(data, self.record_bytes_max, |start, end, line| {
            let mut record = Record { start: start as u32, end: end as u32, byte: start as u32, line };
            if end - start > self.record_bytes_max {
                rejects.push(too_large(records.len() as u32, (end - start) as u64, self.record_bytes_max));
                record.end = (start + too_large_head(&data[start..end]).len()) as u32;
            } else if data[end - 1] != b'}' && self.validate.is_none() {
                rejects.extend(validate::no_end(records.len() as u32, &data[start..end]));
            }
            records.push(record);
        });
        self.records.learn(data.len(), records.len());
        let mut block = DocBlock {
            origin: chunk.origin,
            lines,
            data: chunk.data,
            records,
            rejects,
            meta: Vec::new(),
            bytes_read: chunk.bytes_read,
        };
        if let Some((source, warnings)) = &self.validate {
            not_finite::check(&mut block, source, warnings);
        }
        block
    }
}

/// Makes a document of a line.
pub trait PushLine: Send + Sync {
    /// Estimated bytes of a document besides those of its line.
    fn overhead(&self) -> usize;

    /// Appends the document. Also adds to `texts` the text of ids and similar values, if the
    /// document writes it differently ([`DocMeta::texts`]). After an error the caller discards what
    /// was appended.
    fn push(&self, line: &str, out: &mut Vec<u8>, texts: &mut Vec<(Arc<str>, String)>) -> Result<(), NoDocument>;

    /// Fields that documents may have.
    fn fields(&self) -> Vec<String>;

    /// Whether [`PushLine::push`] may add texts. Default: no, documents write values unchanged.
    fn keeps_texts(&self) -> bool {
        false
    }
}

/// Why a line makes no document, in the form of a [`Reject`].
#[derive(Debug)]
pub struct NoDocument {
    /// A short machine-readable name.
    pub kind: Code,
    /// What was found, and what was expected.
    pub reason: String,
}

/// Makes each line `{"field":"line"}`.
pub struct OneField {
    field: String,
    /// `{"field":"`
    prefix: Vec<u8>,
}

impl OneField {
    /// Each line becomes the value of this field.
    pub fn new(field: &str) -> Self {
        let mut prefix = b"{\"".to_vec();
        push_escaped(&mut prefix, field.as_bytes());
        prefix.extend_from_slice(b"\":\"");
        OneField { field: field.to_owned(), prefix }
    }
}

impl PushLine for OneField {
    fn overhead(&self) -> usize {
        self.prefix.len() + 2
    }

    fn push(&self, line: &str, out: &mut Vec<u8>, _: &mut Vec<(Arc<str>, String)>) -> Result<(), NoDocument> {
        out.extend_from_slice(&self.prefix);
        push_escaped(out, line.as_bytes());
        out.extend_from_slice(b"\"}");
        Ok(())
    }

    fn fields(&self) -> Vec<String> {
        vec![self.field.clone()]
    }
}

/// Decodes lines of text. Each becomes a document.
pub struct TextDecode {
    line: Box<dyn PushLine>,
    record_bytes_max: usize,
    records: RecordsHint,
    pool: Arc<BufferPool>,
}

impl TextDecode {
    /// A line longer than `record_bytes_max` becomes a reject.
    pub fn new(line: Box<dyn PushLine>, record_bytes_max: usize, pool: Arc<BufferPool>) -> Self {
        TextDecode { line, record_bytes_max, records: RecordsHint::default(), pool }
    }
}

impl Decode for TextDecode {
    fn columns(&self) -> Vec<String> {
        self.line.fields()
    }

    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let expected = self.records.expect(chunk.data.len());
        let mut records = Vec::with_capacity(expected);
        let mut rejects = Vec::new();
        let mut meta = Vec::with_capacity(if self.line.keeps_texts() { expected } else { 0 });
        let data = &chunk.data[..];
        // Checking the whole text at once costs next to nothing.
        let whole = std::str::from_utf8(data).ok();
        let mut out = self.pool.take();
        out.clear();
        out.reserve(data.len() + data.len() / 16 + expected * self.line.overhead());
        let lines = for_each_line(data, self.record_bytes_max, |start, end, line| {
            let text = &data[start..end];
            let from = out.len() as u32;
            let record = records.len() as u32;
            let mut texts = Vec::new();
            if text.len() > self.record_bytes_max {
                rejects.push(too_large(record, text.len() as u64, self.record_bytes_max));
                out.extend_from_slice(too_large_head(text));
            } else {
                // Line ends are never a part of another character.
                let pushed =
                    match whole.map_or_else(|| std::str::from_utf8(text).ok(), |whole| Some(&whole[start..end])) {
                        Some(text) => self.line.push(text, &mut out, &mut texts).map_err(|no| Reject {
                            record,
                            kind: no.kind,
                            reason: no.reason,
                        }),
                        None => invalid_utf8(record, text).map_or(Ok(()), Err),
                    };
                if let Err(reject) = pushed {
                    rejects.push(reject);
                    out.truncate(from as usize);
                    out.extend_from_slice(text);
                }
            }
            records.push(Record { start: from, end: out.len() as u32, byte: start as u32, line });
            if self.line.keeps_texts() {
                meta.push(DocMeta::default().with_texts(texts));
            }
        });
        self.records.learn(data.len(), records.len());
        let len = out.len();
        DocBlock {
            origin: chunk.origin,
            lines,
            data: self.pool.share(out, len),
            records,
            rejects,
            meta,
            bytes_read: chunk.bytes_read,
        }
    }
}

/// The reject of a record that is not UTF-8. `None` if it is.
pub fn invalid_utf8(record: u32, text: &[u8]) -> Option<Reject> {
    let error = std::str::from_utf8(text).err()?;
    let at = error.valid_up_to();
    Some(Reject {
        record,
        kind: Code::InvalidUtf8,
        reason: format!(
            "byte {at} of the record is 0x{:02x}, which is not UTF-8; give the file's encoding with option `charset`, such as \
             option `charset=windows-1252`",
            text[at]
        ),
    })
}

/// Calls `each` with start, end (without the line end) and number of every line that is not blank.
/// Lines that are too large are not checked for being blank. Returns the number of all lines.
pub fn for_each_line(data: &[u8], record_bytes_max: usize, mut each: impl FnMut(usize, usize, u32)) -> u64 {
    let mut start = 0;
    let mut line = 0;
    let mut visit = |start: usize, end: usize, line: u32| {
        let text = &data[start..end];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        // Nearly every line begins with a visible character.
        let visible = text.first().is_some_and(|b| !b.is_ascii_whitespace());
        if visible || !text.trim_ascii().is_empty() || text.len() > record_bytes_max {
            each(start, start + text.len(), line);
        }
    };
    for end in memchr_iter(b'\n', data) {
        visit(start, end, line);
        start = end + 1;
        line += 1;
    }
    if start < data.len() {
        visit(start, data.len(), line);
        line += 1;
    }
    u64::from(line)
}

/// Estimates the number of records of the next chunk from the last one.
#[derive(Debug, Default)]
pub struct RecordsHint {
    bytes_a_record: AtomicUsize,
}

impl RecordsHint {
    /// How many records `bytes` will probably hold.
    pub fn expect(&self, bytes: usize) -> usize {
        match self.bytes_a_record.load(Ordering::Relaxed) {
            0 => (bytes / 256).min(4096),
            // A little more than expected, so that a block rarely grows.
            bytes_a_record => bytes / bytes_a_record + bytes / bytes_a_record / 16 + 1,
        }
    }

    /// Learns that `bytes` held `records`.
    pub fn learn(&self, bytes: usize, records: usize) {
        if let Some(bytes_a_record) = bytes.checked_div(records) {
            self.bytes_a_record.store(bytes_a_record.max(1), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inrush_core::block::Origin;

    use super::*;

    fn decode(decoder: impl Decode + 'static, data: &[u8]) -> DocBlock {
        let decoder = Arc::new(decoder);
        let data = Bytes::copy_from_slice(data);
        let bytes_read = data.len() as u64;
        decoder.decode(RawChunk { origin: Origin::default(), data, bytes_read, decoder: decoder.clone() })
    }

    fn records(block: &DocBlock) -> Vec<(String, u32, u32)> {
        let text = |i| String::from_utf8_lossy(block.record(i)).into_owned();
        block.records.iter().enumerate().map(|(i, r)| (text(i), r.byte, r.line)).collect()
    }

    fn text_decode() -> TextDecode {
        TextDecode::new(Box::new(OneField::new("a\"b")), 20, BufferPool::new())
    }

    #[test]
    fn lines_are_records_and_blank_lines_only_count() {
        let block = decode(NdjsonDecode::new(100, None), b"{\"a\":1}\r\n\n \t\r\n{}\n  {} \n{\"b\":2}");
        let expected = [("{\"a\":1}", 0, 0), ("{}", 14, 3), ("  {} ", 17, 4), ("{\"b\":2}", 23, 5)];
        assert_eq!(records(&block), expected.map(|(t, b, l)| (t.to_owned(), b, l)));
        assert_eq!((block.lines, block.rejects.len(), block.bytes_read), (6, 0, 30));
    }

    #[test]
    fn a_line_that_is_too_large_is_a_reject() {
        let line = "é".repeat(1000);
        let block = decode(NdjsonDecode::new(1999, None), format!("{{}}\n{line}\n{{}}\n").as_bytes());
        assert_eq!(block.rejects.len(), 1);
        assert_eq!((block.rejects[0].record, block.rejects[0].kind), (1, Code::TooLarge));
        assert_eq!(block.record(1), "é".repeat(512).as_bytes());
        assert_eq!(block.record(2), b"{}");
    }

    #[test]
    fn a_line_ends_with_its_document() {
        let lines = b"{\"a\":9} // c\n{\"a\":3} /* x */\n{} \t\r\n{\"a\":\n{},\n[]\n{}";
        let block = decode(NdjsonDecode::new(100, None), lines);
        let kinds: Vec<_> = block.rejects.iter().map(|r| (r.record, r.kind)).collect();
        assert_eq!(kinds, [0, 1, 3, 4, 5].map(|record| (record, Code::InvalidJson)));
        assert_eq!(block.record(0), b"{\"a\":9} // c");
    }

    #[test]
    fn lines_are_validated_on_request() {
        let lines = b"{\"a\":1}\n{\"a\":}\n[{}\n{}";
        assert!(decode(NdjsonDecode::new(100, None), lines).rejects.is_empty());
        let block = decode(NdjsonDecode::new(100, Some(Default::default())), lines);
        let kinds: Vec<_> = block.rejects.iter().map(|r| (r.record, r.kind)).collect();
        assert_eq!(kinds, [(1, Code::InvalidJson), (2, Code::InvalidJson)]);
        assert_eq!(block.record(1), b"{\"a\":}");
    }

    #[test]
    fn values_that_are_not_finite_are_left_out_and_counted() {
        let warnings = Warnings::default();
        let lines =
            b"{\"a\":1}\n{\"id\":2,\"a\":NaN}\n\n{\"a\":,\"b\":NaN}\n{\"b\":-Infinity,\"id\":3}\n{\"a\":NaN}\n[NaN]\n";
        let validate = Some(("x.ndjson".to_owned(), warnings.clone()));
        let block = decode(NdjsonDecode::new(100, validate), lines);
        let expected = [
            ("{\"a\":1}", 0, 0),
            ("{\"id\":2}", 8, 1),
            ("{\"a\":,\"b\":NaN}", 26, 3),
            ("{\"id\":3}", 41, 4),
            ("{}", 64, 5),
            ("[NaN]", 74, 6),
        ];
        assert_eq!(records(&block), expected.map(|(t, b, l)| (t.to_owned(), b, l)));
        assert_eq!(block.rejects.iter().map(|reject| reject.record).collect::<Vec<_>>(), [2, 5]);
        let list = warnings.list();
        let counts: Vec<_> = list.iter().map(|w| (w.kind, w.column.as_str(), w.count)).collect();
        assert_eq!(counts, [("not_finite", "a", 2), ("not_finite", "b", 1)]);
    }

    #[test]
    fn text_lines_become_a_field() {
        let block = decode(text_decode(), b"x\ty \"z\"\r\n\n\xC3\xA9\n");
        assert_eq!(
            records(&block),
            [("{\"a\\\"b\":\"x\\ty \\\"z\\\"\"}".to_owned(), 0, 0), ("{\"a\\\"b\":\"é\"}".to_owned(), 10, 2)]
        );
    }

    #[test]
    fn text_that_is_no_utf_8_or_too_large_is_a_reject() {
        let block = decode(text_decode(), b"ok\nb\xFFd\nxxxxxxxxxxxxxxxxxxxxx\nok\n");
        let kinds: Vec<_> = block.rejects.iter().map(|r| (r.record, r.kind)).collect();
        assert_eq!(kinds, [(1, Code::InvalidUtf8), (2, Code::TooLarge)]);
        assert!(block.rejects[0].reason.contains("byte 1 of the record is 0xff"));
        assert_eq!(block.record(1), b"b\xFFd");
        assert_eq!(block.record(3), b"{\"a\\\"b\":\"ok\"}");
    }
}
