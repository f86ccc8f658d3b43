//! Documents from rows that arrive one by one.

use std::sync::Arc;

use inrush_core::block::Record;
use inrush_core::{DocBlock, Reject};

use super::columns::{Columns, Document};
use super::reading::{Outgoing, Rows};
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
    no_values: Vec<u64>,
}

impl RowBlocks {
    pub(super) fn new(columns: Arc<Columns>, document_bytes_max: usize, outgoing: Outgoing) -> Self {
        let no_values = columns.counts();
        let (out, records, rejects) = (Vec::new(), Vec::new(), Vec::new());
        RowBlocks { columns, document_bytes_max, outgoing, out, records, rejects, no_values }
    }

    /// Adds the document that `write` fills. Returns whether the block is full.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Document<'_>)) -> bool {
        let (number, start) = (self.records.len() as u32, self.out.len());
        let mut document = self.columns.document(&mut self.out, &mut self.no_values);
        write(&mut document);
        document.end();
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
        self.columns.warn(&self.no_values);
        self.no_values.fill(0);
        let data = std::mem::take(&mut self.out);
        let bytes = data.len();
        let block = DocBlock {
            lines: self.records.len() as u64,
            data: data.into(),
            records: std::mem::take(&mut self.records),
            rejects: std::mem::take(&mut self.rejects),
            bytes_read: bytes as u64,
            ..DocBlock::default()
        };
        self.outgoing.send(Rows::Documents(block), bytes).await
    }
}
