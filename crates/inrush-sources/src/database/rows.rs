//! Documents from rows that arrive one by one.

use std::sync::Arc;

use inrush_core::block::Record;
use inrush_core::{DocBlock, DocMeta, Reject};

use super::columns::{Columns, Document};
use super::reading::{Outgoing, Rows};
use super::values::Noted;
use crate::ahead::Gone;
use crate::{too_large, too_large_head};

/// Smallest size of the blocks of documents, bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// Puts documents into blocks.
pub(super) struct RowBlocks {
    columns: Arc<Columns>,
    document_bytes_max: usize,
    outgoing: Outgoing,
    out: Vec<u8>,
    records: Vec<Record>,
    rejects: Vec<Reject>,
    /// Texts of the records, where some are kept.
    meta: Vec<DocMeta>,
    keeps_texts: bool,
    noted: Vec<Noted>,
}

impl RowBlocks {
    pub(super) fn new(columns: Arc<Columns>, document_bytes_max: usize, outgoing: Outgoing) -> Self {
        let (noted, keeps_texts) = (columns.noted(), columns.keeps_texts());
        let (out, records, rejects, meta) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        RowBlocks { columns, document_bytes_max, outgoing, out, records, rejects, meta, keeps_texts, noted }
    }

    /// Adds the document that `write` fills. Returns whether the block is full.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Document<'_>)) -> bool {
        let (number, start) = (self.records.len() as u32, self.out.len());
        let mut document = self.columns.document(&mut self.out, &mut self.noted);
        write(&mut document);
        let texts = document.end();
        if self.keeps_texts {
            self.meta.push(DocMeta::default().with_texts(texts));
        }
        let len = self.out.len() - start;
        if len > self.document_bytes_max {
            self.rejects.push(too_large(number, len as u64, self.document_bytes_max));
            let kept = too_large_head(&self.out[start..]).len();
            self.out.truncate(start + kept);
        }
        self.records.push(Record { start: start as u32, end: self.out.len() as u32, byte: start as u32, line: number });
        self.out.len() >= BLOCK_BYTES
    }

    /// Sends the documents as a block.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        if self.records.is_empty() {
            return Ok(());
        }
        self.columns.warn(&self.noted);
        self.noted = self.columns.noted();
        let data = std::mem::take(&mut self.out);
        let bytes = data.len();
        let block = DocBlock {
            lines: self.records.len() as u64,
            data: data.into(),
            records: std::mem::take(&mut self.records),
            rejects: std::mem::take(&mut self.rejects),
            meta: std::mem::take(&mut self.meta),
            bytes_read: bytes as u64,
            ..DocBlock::default()
        };
        self.outgoing.send(Rows::Documents(block), bytes).await
    }
}
