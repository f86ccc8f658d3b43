//! A block of documents as a source hands it over, and where each of them came from.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::operation::{Action, FieldPath};

/// Which of the job's sources a document came from: its place in the job's list of sources, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// Where the first document of a block stands in its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The source.
    pub source: SourceId,
    /// The part of the source that is read in order; 0 where a source has one.
    pub partition: u32,
    /// How many documents of this partition stand before the block, rejected ones included; with `own_numbers` the first number that
    /// the block spans. Blocks of one partition follow each other without gaps.
    pub first_doc: u64,
    /// The line or row of the block's first byte, from 1, as a person counts it (blank lines and headers count).
    pub first_line: u64,
    /// The offset of the block's first byte in the decompressed source, converted to UTF-8 where it was not.
    pub first_byte: u64,
    /// The source numbers its documents itself, ascending, and not every number has a document: sequence numbers of an index. A
    /// document's number is `first_doc` + [`Record::line`], and [`DocBlock::lines`] is how many numbers the block spans; those
    /// without a record have no document. Such a source can go on in the middle of a partition.
    pub own_numbers: bool,
}

/// Where one document stands in its source, as dead letters name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The source.
    pub source: SourceId,
    /// The part of the source that is read in order.
    pub partition: u32,
    /// How many documents of the partition stand before it, or its number where the source has numbers of its own.
    pub doc: u64,
    /// Line or row, from 1.
    pub line: u64,
    /// Offset in the decompressed source, bytes.
    pub byte: u64,
}

/// The bytes of one document or record inside a block's buffer, and where they began in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// First byte in [`DocBlock::data`].
    pub start: u32,
    /// One past the last byte in [`DocBlock::data`], without the line end.
    pub end: u32,
    /// Offset in the source from [`Origin::first_byte`], bytes.
    pub byte: u32,
    /// Lines or rows after [`Origin::first_line`].
    pub line: u32,
}

/// What a source knows about one document besides its content. Where it is present it wins over the options
/// of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocMeta {
    /// The action, where it differs from the job's.
    pub action: Option<Action>,
    /// The index, where it differs from the job's.
    pub index: Option<String>,
    /// The document's id.
    pub id: Option<String>,
    /// The routing value.
    pub routing: Option<String>,
    /// The external version.
    pub version: Option<u64>,
    /// Fields that ids and the like are made of, with the text that the source has for them where
    /// the document may write another: a cell `1` that is the number `1.0`.
    pub texts: Vec<(Arc<str>, String)>,
    /// Where the job does not name fields for these, and the source knows them.
    pub fields: Option<Arc<MetaFields>>,
}

impl DocMeta {
    /// The text that the source has for the field at `path`, where that is known.
    #[inline]
    pub fn text_at(&self, path: &FieldPath) -> Option<&str> {
        if self.texts.is_empty() {
            return None;
        }
        self.texts.iter().find(|(name, _)| **name == *path.as_str()).map(|(_, text)| text.as_str())
    }
}

/// The fields that hold what a document is sent with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaFields {
    /// Of the id.
    pub id: Option<FieldPath>,
    /// Of the routing value.
    pub routing: Option<FieldPath>,
    /// Of the external version.
    pub version: Option<FieldPath>,
}

/// Why a record never became a document that could be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Which record of the block, from 0.
    pub record: u32,
    /// A short machine-readable name, such as `missing_id` or `bad_value`.
    pub kind: &'static str,
    /// What was found, what was expected and what to do, without the position.
    pub reason: String,
}

/// Many documents in one buffer. Every record is one JSON document, unless it is named in `rejects`; then its
/// bytes are the raw text that could not be read.
#[derive(Clone, Debug, Default)]
pub struct DocBlock {
    /// Where the block stands in its source. A reader knows the source, the partition and the byte; the document
    /// and the line are filled in by whoever puts the blocks in order, because blocks are decoded side by side.
    pub origin: Origin,
    /// How many lines or rows of the source the block spans, blank ones included.
    pub lines: u64,
    /// The bytes that `records` point into. Less than 4 GiB.
    pub data: Bytes,
    /// The records in source order.
    pub records: Vec<Record>,
    /// Records that are no documents, ascending by `record`.
    pub rejects: Vec<Reject>,
    /// One entry a record, or empty where the source knows nothing but contents.
    pub meta: Vec<DocMeta>,
    /// Bytes of the source that were read to make this block, as [`crate::report`] counts `bytes_read`.
    pub bytes_read: u64,
}

impl DocBlock {
    /// The bytes of record `index`.
    pub fn record(&self, index: usize) -> &[u8] {
        let record = self.records[index];
        &self.data[record.start as usize..record.end as usize]
    }

    /// The numbers of the records that no reject names, from 0, ascending.
    pub fn accepted(&self) -> impl Iterator<Item = u32> {
        let mut rejects = self.rejects.iter().map(|reject| reject.record).peekable();
        (0..self.records.len() as u32).filter(move |record| {
            let mut is_rejected = false;
            while let Some(rejected) = rejects.next_if(|rejected| rejected <= record) {
                is_rejected = rejected == *record;
            }
            !is_rejected
        })
    }

    /// Adds rejects of further records, in any order.
    pub fn add_rejects(&mut self, rejects: Vec<Reject>) {
        self.rejects.extend(rejects);
        self.rejects.sort_by_key(|reject| reject.record);
    }
}

impl Origin {
    /// The position of record `index` of a block that starts here.
    pub fn position(&self, index: usize, record: Record) -> Position {
        Position {
            source: self.source,
            partition: self.partition,
            doc: self.first_doc + if self.own_numbers { u64::from(record.line) } else { index as u64 },
            line: self.first_line + u64::from(record.line),
            byte: self.first_byte + u64::from(record.byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_no_reject_names_are_accepted() {
        let record = Record { start: 0, end: 0, byte: 0, line: 0 };
        let reject = |record| Reject { record, kind: "bad_value", reason: String::new() };
        let mut block = DocBlock { records: vec![record; 6], ..DocBlock::default() };
        assert_eq!(block.accepted().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        block.add_rejects(vec![reject(5), reject(2)]);
        block.add_rejects(vec![reject(0), reject(3)]);
        assert_eq!(block.rejects.iter().map(|reject| reject.record).collect::<Vec<_>>(), [0, 2, 3, 5]);
        assert_eq!(block.accepted().collect::<Vec<_>>(), [1, 4]);
    }
}
