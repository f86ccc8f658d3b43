//! A block of documents from a source, and the position of each document in the source.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::codes::Code;
use crate::operation::{Action, FieldPath, VersionType};

/// A source of the job: its index in the job's list of sources, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A part of a source that is read in order.
pub type Partition = (SourceId, u32);

/// The position of a block in its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The source.
    pub source: SourceId,
    /// The part of the source that is read in order. 0 where the source has one part.
    pub partition: u32,
    /// Documents of this partition before the block, rejected ones included. With `own_numbers` it
    /// is the first number that the block spans. The blocks of a partition follow each other
    /// without gaps.
    pub first_doc: u64,
    /// The line or row of the block's first byte, from 1. Blank lines and headers count.
    pub first_line: u64,
    /// The offset of the block's first byte in the decompressed source, after conversion to UTF-8.
    /// Bytes.
    pub first_byte: u64,
    /// The source numbers its documents itself, in ascending order and with gaps: the sequence
    /// numbers of an index. The number of a document is `first_doc` + [`Record::line`];
    /// [`DocBlock::lines`] is the number of numbers that the block spans. Such a source can resume
    /// in the middle of a partition.
    pub own_numbers: bool,
}

/// The position of a document in its source, as dead letters report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The source.
    pub source: SourceId,
    /// The part of the source that is read in order.
    pub partition: u32,
    /// Documents of the partition before this one; with [`Origin::own_numbers`] the document's
    /// number.
    pub doc: u64,
    /// The line or row, from 1.
    pub line: u64,
    /// The offset in the decompressed source, bytes.
    pub byte: u64,
}

/// One document or record: its bytes in the block's buffer and its start in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The offset of the first byte in [`DocBlock::data`].
    pub start: u32,
    /// The offset after the last byte in [`DocBlock::data`], without the line end.
    pub end: u32,
    /// The offset in the source, from [`Origin::first_byte`]. Bytes.
    pub byte: u32,
    /// Lines or rows after [`Origin::first_line`].
    pub line: u32,
}

/// What a source knows about a document besides its content. Each value takes precedence over the
/// options of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The type of the external version, also of one in a field that the source knows.
    pub version_type: VersionType,
    /// The source's text of fields that ids, routing values and the like are made of, where the
    /// document spells the value differently: a cell `1` that becomes the number `1.0`.
    pub texts: Vec<(Arc<str>, String)>,
    /// Fields for id, routing and version that the source knows. The job's own fields take
    /// precedence.
    #[doc(hidden)]
    pub fields: Option<Arc<MetaFields>>,
    /// If a document of this id exists, it is this one: a cluster made the id for it in an earlier
    /// load.
    #[doc(hidden)]
    pub is_in: bool,
    /// An earlier load has sent the document, and has changed it before as its options said.
    #[doc(hidden)]
    pub is_shaped: bool,
}

impl DocMeta {
    /// Sets [`DocMeta::action`].
    #[inline]
    #[must_use]
    pub fn with_action(self, action: impl Into<Option<Action>>) -> Self {
        DocMeta { action: action.into(), ..self }
    }

    /// Sets [`DocMeta::index`].
    #[inline]
    #[must_use]
    pub fn with_index(self, index: impl Into<Option<String>>) -> Self {
        DocMeta { index: index.into(), ..self }
    }

    /// Sets [`DocMeta::id`].
    #[inline]
    #[must_use]
    pub fn with_id(self, id: impl Into<Option<String>>) -> Self {
        DocMeta { id: id.into(), ..self }
    }

    /// Sets [`DocMeta::routing`].
    #[inline]
    #[must_use]
    pub fn with_routing(self, routing: impl Into<Option<String>>) -> Self {
        DocMeta { routing: routing.into(), ..self }
    }

    /// Sets [`DocMeta::version`].
    #[inline]
    #[must_use]
    pub fn with_version(self, version: impl Into<Option<u64>>) -> Self {
        DocMeta { version: version.into(), ..self }
    }

    /// Sets [`DocMeta::version_type`].
    #[inline]
    #[must_use]
    pub fn with_version_type(self, version_type: VersionType) -> Self {
        DocMeta { version_type, ..self }
    }

    /// Sets [`DocMeta::texts`].
    #[inline]
    #[must_use]
    pub fn with_texts(self, texts: Vec<(Arc<str>, String)>) -> Self {
        DocMeta { texts, ..self }
    }

    /// Sets [`DocMeta::fields`].
    #[inline]
    #[must_use]
    #[doc(hidden)]
    pub fn with_fields(self, fields: Arc<MetaFields>) -> Self {
        DocMeta { fields: Some(fields), ..self }
    }

    /// Sets [`DocMeta::is_in`].
    #[inline]
    #[must_use]
    #[doc(hidden)]
    pub fn with_is_in(self, is_in: bool) -> Self {
        DocMeta { is_in, ..self }
    }

    /// Sets [`DocMeta::is_shaped`].
    #[inline]
    #[must_use]
    #[doc(hidden)]
    pub fn with_is_shaped(self, is_shaped: bool) -> Self {
        DocMeta { is_shaped, ..self }
    }

    /// Whether it says where the document goes, as an action line does.
    #[doc(hidden)]
    pub fn names_something(&self) -> bool {
        let DocMeta { action, index, id, routing, version, .. } = self;
        action.is_some() || index.is_some() || id.is_some() || routing.is_some() || version.is_some()
    }

    /// Whether a dead letter of the document has to say more than the options of the job do.
    pub(crate) fn is_needed_again(&self) -> bool {
        self.names_something() || self.fields.is_some() || self.is_shaped
    }

    /// The source's text of the field at `path`, if the source provides one.
    #[inline]
    pub fn text_at(&self, path: &FieldPath) -> Option<&str> {
        if self.texts.is_empty() {
            return None;
        }
        self.texts.iter().find(|(name, _)| **name == *path.as_str()).map(|(_, text)| text.as_str())
    }
}

/// The fields that hold a document's id, routing value and version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaFields {
    /// The field of the id.
    pub id: Option<FieldPath>,
    /// The field of the routing value.
    pub routing: Option<FieldPath>,
    /// The field of the external version.
    pub version: Option<FieldPath>,
}

/// Why a record could not become a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The record's index in the block, from 0.
    pub record: u32,
    /// The kind, such as `missing_id` or `bad_value`.
    pub kind: Code,
    /// What was found, what was expected and what to do, without the position.
    pub reason: String,
}

/// Documents in one buffer. Each record is one JSON document, unless `rejects` names it; then its
/// bytes are the raw text that could not be read.
#[derive(Clone, Debug, Default)]
pub struct DocBlock {
    /// The position of the block. The reader sets source, partition and byte. Document and line are
    /// set when blocks are put in order, because they are decoded in parallel.
    pub origin: Origin,
    /// Lines or rows of the source that the block spans, blank ones included.
    pub lines: u64,
    /// The bytes that `records` point into, less than 4 GiB.
    pub data: Bytes,
    /// The records in source order.
    pub records: Vec<Record>,
    /// Records that are not documents, in ascending order of `record`.
    pub rejects: Vec<Reject>,
    /// One entry for each record, or empty where the source knows only contents.
    pub meta: Vec<DocMeta>,
    /// Bytes of the source read for this block, counted as `bytes_read` in [`crate::report`].
    pub bytes_read: u64,
}

impl DocBlock {
    /// The bytes of record `index`.
    pub fn record(&self, index: usize) -> &[u8] {
        let record = self.records[index];
        &self.data[record.start as usize..record.end as usize]
    }

    /// The indices of the records without a reject, ascending.
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

    /// Adds rejects of other records, in any order.
    pub fn add_rejects(&mut self, rejects: Vec<Reject>) {
        self.rejects.extend(rejects);
        self.rejects.sort_by_key(|reject| reject.record);
    }
}

impl Position {
    /// The position of a document with this line or row, from 1, and this offset in bytes.
    #[must_use]
    pub fn new(source: SourceId, partition: u32, doc: u64, line: u64, byte: u64) -> Self {
        Position { source, partition, doc, line, byte }
    }
}

impl Origin {
    /// The position of record `index` in a block with this origin.
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
        let reject = |record| Reject { record, kind: Code::BadValue, reason: String::new() };
        let mut block = DocBlock { records: vec![record; 6], ..DocBlock::default() };
        assert_eq!(block.accepted().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        block.add_rejects(vec![reject(5), reject(2)]);
        block.add_rejects(vec![reject(0), reject(3)]);
        assert_eq!(block.rejects.iter().map(|reject| reject.record).collect::<Vec<_>>(), [0, 2, 3, 5]);
        assert_eq!(block.accepted().collect::<Vec<_>>(), [1, 4]);
    }
}
