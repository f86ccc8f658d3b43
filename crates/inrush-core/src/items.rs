//! A block of bulk items: documents with their action lines, ready to be cut into request bodies.

use bytes::Bytes;

use crate::block::{Origin, Position, Record};
use crate::ledger::Partition;

/// Documents of one [`crate::DocBlock`] as the bytes of a bulk body. Request bodies are slices of it, so that
/// neither batching nor a retry copies or encodes a document again. Sizes and bounds are those of the JSON, in whatever form it is sent.
#[derive(Clone, Debug, Default)]
pub struct ItemBlock {
    /// Where the block stands in its source.
    pub origin: Origin,
    /// How many lines of the source the block spans.
    pub lines: u64,
    /// Bytes of the source that were read to make the block.
    pub bytes_read: u64,
    /// The items one after another, each with its final separator.
    pub body: Bytes,
    /// Where each item ends in `body`, one entry a record. A record that was rejected is an empty item.
    pub ends: Vec<u32>,
    /// Where each record began in the source.
    pub records: Vec<Record>,
    /// A hash of (index, id) for each item, 0 where the server makes up the id; empty if none has an id.
    pub keys: Vec<u64>,
    /// Records that are no items, ascending by record.
    pub rejects: Vec<RejectedRecord>,
    /// The indices that items name themselves, each once, sorted; empty where the request's path names the index.
    pub indices: Vec<String>,
    /// The shard that each item hashes to, [`NO_SHARD`] where that is not known; empty where nobody asked.
    pub shards: Vec<u16>,
    /// The same items as SMILE, where they may be sent so. JSON stays: dead letters are made of it, and whatever has to be sent as JSON after
    /// all.
    pub smile: Option<SmileItems>,
}

/// An item whose shard is not known before the server has made its id.
pub const NO_SHARD: u16 = u16::MAX;

/// The items of a block as SMILE.
#[derive(Clone, Debug, Default)]
pub struct SmileItems {
    /// The items one after another, each document and each action line with its separator.
    pub body: Bytes,
    /// Where each item ends in `body`, one entry a record. What has no such form is empty.
    pub ends: Vec<u32>,
    /// Items that SMILE cannot say, ascending.
    pub json_only: Vec<u32>,
}

/// A record that never became an item, with what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Which record of the block, from 0.
    pub record: u32,
    /// A short machine-readable name.
    pub kind: &'static str,
    /// What was found, what was expected and what to do.
    pub reason: String,
    /// The record's bytes as they were read.
    pub text: Bytes,
}

impl ItemBlock {
    /// How many records the block has, rejected ones included.
    pub fn len(&self) -> u32 {
        // At most u32::MAX records, because each has at least one byte in a buffer of less than 4 GiB.
        self.ends.len() as u32
    }

    /// The part of the source that it comes from.
    pub fn partition(&self) -> Partition {
        (self.origin.source, self.origin.partition)
    }

    /// Whether the block has no records.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of record `index` in its partition.
    pub fn number(&self, index: u32) -> u64 {
        self.position(index).doc
    }

    /// One past the last number that the block spans in its partition.
    pub fn end_doc(&self) -> u64 {
        let spans = if self.origin.own_numbers { self.lines } else { u64::from(self.len()) };
        self.origin.first_doc + spans
    }

    /// Where item `index` begins in `body`.
    pub fn start(&self, index: u32) -> u32 {
        if index == 0 { 0 } else { self.ends[index as usize - 1] }
    }

    /// The bytes of the items `first..end` as SMILE, if the block has such a form; what SMILE cannot say is left out.
    pub fn smile_slice(&self, first: u32, end: u32) -> Option<Bytes> {
        let smile = self.smile.as_ref()?;
        let start = if first == 0 { 0 } else { smile.ends[first as usize - 1] };
        let end = if end == 0 { 0 } else { smile.ends[end as usize - 1] };
        Some(smile.body.slice(start as usize..end as usize))
    }

    /// Whether item `index` can be sent as SMILE.
    pub fn has_smile(&self, index: u32) -> bool {
        self.smile.as_ref().is_some_and(|smile| smile.json_only.binary_search(&index).is_err())
    }

    /// Memory that the SMILE form takes besides the JSON, bytes.
    pub fn smile_bytes(&self) -> u64 {
        self.smile.as_ref().map_or(0, |smile| smile.body.len() as u64)
    }

    /// The bytes of the items `first..end`.
    pub fn slice(&self, first: u32, end: u32) -> Bytes {
        self.body.slice(self.start(first) as usize..self.start(end) as usize)
    }

    /// The action line of item `index` without its line end, and the document's bytes as they are sent (empty for a delete).
    pub fn action_and_document(&self, index: u32) -> (Bytes, Bytes) {
        let item = self.slice(index, index + 1);
        let line = memchr::memchr(b'\n', &item).unwrap_or(item.len());
        let document = item.slice((line + 1).min(item.len())..item.len());
        let document = match document.last() {
            Some(b'\n') => document.slice(..document.len() - 1),
            _ => document,
        };
        (item.slice(..line), document)
    }

    /// The hash of (index, id) of item `index`; `None` where the server makes up the id.
    pub fn key(&self, index: u32) -> Option<u64> {
        self.keys.get(index as usize).copied().filter(|&key| key != 0)
    }

    /// Where record `index` stands in its source.
    pub fn position(&self, index: u32) -> Position {
        self.origin.position(index as usize, self.records[index as usize])
    }
}
