//! SMILE documents, each with its header and followed by `0xFF`, as in bulk bodies and as
//! `inrush convert` writes them. They become JSON.

use std::sync::Arc;

use inrush_core::Code;
use inrush_core::block::Record;
use inrush_core::{DocBlock, Reject};
use inrush_smile::{SEPARATOR, SmileDecoder};
use memchr::memchr;

use super::buffer::BufferPool;
use super::{Decode, RawChunk, too_large};

/// Decodes SMILE to JSON.
pub(crate) struct SmileDecode {
    record_bytes_max: usize,
    pool: Arc<BufferPool>,
}

/// Estimated bytes of JSON for a byte of SMILE.
pub(crate) const GROWTH: f64 = 1.3;

impl SmileDecode {
    pub(crate) fn new(record_bytes_max: usize, pool: Arc<BufferPool>) -> Self {
        SmileDecode { record_bytes_max, pool }
    }
}

impl Decode for SmileDecode {
    fn decode(&self, chunk: RawChunk) -> DocBlock {
        let mut out = Block { data: self.pool.take(), records: Vec::new(), rejects: Vec::new() };
        out.data.clear();
        let mut decoder = SmileDecoder::default();
        let (data, mut at) = (&chunk.data[..], 0);
        while at < data.len() {
            let len = memchr(SEPARATOR, &data[at..]).unwrap_or(data.len() - at);
            self.part(&data[at..at + len], at, &mut decoder, &mut out);
            at += len + 1;
        }
        let len = out.data.len();
        DocBlock {
            origin: chunk.origin,
            lines: out.records.len() as u64,
            data: self.pool.share(out.data, len),
            records: out.records,
            rejects: out.rejects,
            meta: Vec::new(),
            bytes_read: chunk.bytes_read,
        }
    }
}

struct Block {
    data: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
}

impl Block {
    /// Adds the bytes that were appended since `start` as a record, which began at `byte` of the
    /// chunk.
    fn record(&mut self, start: usize, byte: usize) {
        let line = self.records.len() as u32;
        self.records.push(Record { start: start as u32, end: self.data.len() as u32, byte: byte as u32, line });
    }
}

impl SmileDecode {
    /// The documents between two separators: one, or several if the writer omits separators.
    fn part(&self, part: &[u8], byte: usize, decoder: &mut SmileDecoder, out: &mut Block) {
        let mut at = 0;
        while at < part.len() {
            let start = out.data.len();
            match decoder.decode(&part[at..], &mut out.data) {
                Ok(read) => {
                    let bytes = out.data.len() - start;
                    if bytes > self.record_bytes_max {
                        out.rejects.push(too_large(out.records.len() as u32, bytes as u64, self.record_bytes_max));
                        out.data.truncate(start + super::too_large_head(&out.data[start..]).len());
                    }
                    out.record(start, byte + at);
                    at += read;
                }
                Err(error) => {
                    let record = out.records.len() as u32;
                    let reason = format!("{error}; expected a SMILE document with a header, followed by 0xFF");
                    out.rejects.push(Reject { record, kind: Code::BadSmile, reason });
                    out.data.extend_from_slice(&part[at..]);
                    out.record(start, byte + at);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inrush_core::block::Origin;
    use inrush_smile::{SmileEncoder, SmileOptions};

    use super::*;

    fn smile(documents: &[&str], separated: bool) -> Vec<u8> {
        let (mut encoder, mut out) = (SmileEncoder::new(SmileOptions::default()), Vec::new());
        for document in documents {
            encoder.encode(document.as_bytes(), &mut out).unwrap();
            out.extend(separated.then_some(SEPARATOR));
        }
        out
    }

    fn decode(data: Vec<u8>) -> (Vec<String>, Vec<(u32, Code)>) {
        let decoder = Arc::new(SmileDecode::new(40, BufferPool::new()));
        let chunk = RawChunk { origin: Origin::default(), data: Bytes::from(data), bytes_read: 7, decoder };
        let block = super::super::Chunk::Raw(chunk).into_block();
        assert_eq!((block.lines, block.bytes_read), (block.records.len() as u64, 7));
        let texts = (0..block.records.len()).map(|at| String::from_utf8_lossy(block.record(at)).into_owned());
        (texts.collect(), block.rejects.iter().map(|reject| (reject.record, reject.kind)).collect())
    }

    #[test]
    fn documents_become_json_with_separators_or_without() {
        let documents = [r#"{"a":1.50,"b":[null,"é"]}"#, "{}", r#"{"a":-5}"#];
        for separated in [true, false] {
            assert_eq!(decode(smile(&documents, separated)), (documents.map(str::to_owned).to_vec(), vec![]));
        }
        assert_eq!(decode(Vec::new()), (vec![], vec![]));
    }

    #[test]
    fn what_is_no_smile_or_too_large_is_a_reject_and_the_next_ones_are_read() {
        let mut data = smile(&[r#"{"a":1}"#], true);
        data.extend_from_slice(b"no smile\xFF");
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(2000));
        data.extend(smile(&[&long, r#"{"a":2}"#], true));
        let (texts, rejects) = decode(data);
        assert_eq!((texts[0].as_str(), texts[1].as_str(), texts[3].as_str()), (r#"{"a":1}"#, "no smile", r#"{"a":2}"#));
        assert_eq!((texts[2].len(), rejects), (1024, vec![(1, Code::BadSmile), (2, Code::TooLarge)]));
    }
}
