//! Documents that wait for others to share their block.

use inrush_core::Code;
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta, Reject};
use inrush_formats::one_line::one_line;
use memchr::memchr2;

use crate::{too_large, too_large_head};

/// Memory of a waiting document besides its content, bytes.
pub(super) const OVERHEAD: usize = 32;

/// Documents in one buffer.
#[derive(Default)]
pub(super) struct Gathered {
    data: Vec<u8>,
    ends: Vec<u32>,
    metas: Vec<DocMeta>,
    rejects: Vec<Reject>,
    /// Bytes of all documents, including rejected ones.
    bytes: u64,
}

impl Gathered {
    /// Adds a document. A document with more than `bytes_max` bytes is rejected.
    pub(super) fn push(&mut self, body: &[u8], meta: DocMeta, bytes_max: usize) {
        let record = self.ends.len() as u32;
        if body.len() > bytes_max {
            self.rejects.push(too_large(record, body.len() as u64, bytes_max));
            self.data.extend_from_slice(too_large_head(body));
        } else {
            let start = self.data.len();
            self.data.extend_from_slice(body);
            if memchr2(b'\n', b'\r', body).is_some() {
                self.rejects.extend(one_line(record, &mut self.data[start..]));
            }
        }
        if meta != DocMeta::default() {
            self.metas.resize(record as usize, DocMeta::default());
            self.metas.push(meta);
        }
        self.end_record(body.len());
    }

    /// Adds a text that is not a document.
    pub(super) fn push_reject(&mut self, text: &[u8], kind: Code, reason: String) {
        let record = self.ends.len() as u32;
        self.rejects.push(Reject { record, kind, reason });
        self.data.extend_from_slice(too_large_head(text));
        self.end_record(text.len());
    }

    fn end_record(&mut self, bytes: usize) {
        self.ends.push(self.data.len() as u32);
        self.bytes += bytes as u64;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of the buffer.
    pub(super) fn len(&self) -> usize {
        self.data.len()
    }

    /// Bytes of all documents, including rejected ones.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory of the waiting documents.
    pub(super) fn cost(&self) -> usize {
        self.bytes as usize + self.ends.len() * OVERHEAD
    }

    /// The block. `first_byte` is the number of bytes before it. Documents and lines are numbered
    /// when the blocks are put in order.
    pub(super) fn block(self, first_byte: u64) -> DocBlock {
        let mut start = 0;
        let ends = self.ends.iter().enumerate();
        let records: Vec<Record> = ends
            .map(|(at, end)| {
                let record = Record { start, end: *end, byte: start, line: at as u32 };
                start = *end;
                record
            })
            .collect();
        let mut meta = self.metas;
        if !meta.is_empty() {
            meta.resize(records.len(), DocMeta::default());
        }
        let origin = Origin { first_byte, ..Origin::default() };
        let (lines, bytes_read) = (records.len() as u64, self.bytes);
        DocBlock { origin, lines, data: self.data.into(), records, rejects: self.rejects, meta, bytes_read }
    }
}
