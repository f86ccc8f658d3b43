//! Building a block of items.

use std::sync::Arc;

use bytes::Bytes;

use super::address::Refusal;
use crate::block::{DocBlock, DocMeta, Reject};
use crate::codes::Code;
use crate::items::{ItemBlock, NO_SHARD, RejectedRecord, VectorItems};

/// A bulk body has one line for each document. An empty line would shift all that follow.
pub(super) fn empty() -> Refusal {
    (Code::EmptyDocument, "the document is empty; expected a JSON object".to_owned())
}

/// The items of a block while they are written.
pub(super) struct ItemBlockBuilder {
    pub(super) body: Vec<u8>,
    pub(super) ends: Vec<u32>,
    pub(super) keys: Vec<u64>,
    pub(super) shards: Vec<u16>,
    /// Items with [`DocMeta::is_in`].
    pub(super) is_in: Vec<u32>,
    /// The marks of [`VectorItems`].
    pub(super) marks: Vec<u64>,
    rejects: Vec<RejectedRecord>,
    indices: Vec<String>,
}

impl ItemBlockBuilder {
    /// `extra_per_item`: bytes of an action line, estimated. `buffer`: a used buffer.
    pub(super) fn new(block: &DocBlock, extra_per_item: usize, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.reserve(block.data.len() + block.records.len() * extra_per_item);
        ItemBlockBuilder {
            body: buffer,
            ends: Vec::with_capacity(block.records.len()),
            keys: Vec::new(),
            shards: Vec::new(),
            is_in: Vec::new(),
            marks: Vec::new(),
            rejects: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Appends records with the same action line before each.
    pub(super) fn copy(&mut self, block: &DocBlock, records: std::ops::Range<usize>, line: &[u8]) {
        for at in records {
            let record = block.records[at];
            if record.start == record.end {
                let (kind, reason) = empty();
                self.reject(block, Reject { record: at as u32, kind, reason }, None);
                continue;
            }
            self.body.extend_from_slice(line);
            self.body.extend_from_slice(&block.data[record.start as usize..record.end as usize]);
            self.body.push(b'\n');
            self.ends.push(self.body.len() as u32);
        }
    }

    /// Appends an empty item for a record that cannot be sent.
    pub(super) fn reject(&mut self, block: &DocBlock, reject: Reject, meta: Option<&DocMeta>) {
        let Reject { record, kind, reason } = reject;
        let range = block.records[record as usize];
        let text = block.data.slice(range.start as usize..range.end as usize);
        let meta = meta.filter(|meta| meta.is_needed_again()).cloned().map(Box::new);
        self.rejects.push(RejectedRecord { record, kind, reason, text, meta });
        self.ends.push(self.body.len() as u32);
    }

    /// Records that an item names this index.
    pub(super) fn index(&mut self, index: String) {
        if let Err(at) = self.indices.binary_search(&index) {
            self.indices.insert(at, index);
        }
    }

    /// The finished block. `fields`: those with vectors that were looked for.
    pub(super) fn finish_with(
        mut self,
        fields: &Arc<[String]>,
        block: DocBlock,
        share: impl FnOnce(Vec<u8>) -> Bytes,
    ) -> ItemBlock {
        self.marks.resize(self.ends.len(), 0);
        let vectors = VectorItems { fields: Arc::clone(fields), marks: std::mem::take(&mut self.marks) };
        let vectors = (!fields.is_empty()).then_some(vectors);
        ItemBlock { vectors, ..self.finish(block, share) }
    }

    /// The finished block.
    pub(super) fn finish(mut self, block: DocBlock, share: impl FnOnce(Vec<u8>) -> Bytes) -> ItemBlock {
        if !self.keys.is_empty() {
            self.keys.resize(self.ends.len(), 0);
        }
        if !self.shards.is_empty() {
            self.shards.resize(self.ends.len(), NO_SHARD);
        }
        ItemBlock {
            origin: block.origin,
            lines: block.lines,
            bytes_read: block.bytes_read,
            body: share(self.body),
            ends: self.ends,
            records: block.records,
            keys: self.keys,
            shards: self.shards,
            is_in: self.is_in,
            rejects: self.rejects,
            indices: self.indices,
            smile: None,
            columns: None,
            vectors: None,
        }
    }
}
