//! A block of bulk items: documents with their action lines, ready to be split into request bodies.

use std::sync::Arc;

use bytes::Bytes;

use crate::block::Partition;
use crate::block::{DocMeta, Origin, Position, Record};
use crate::codes::Code;
use crate::columns::{Columns, RowSelection};
use crate::vectors::VectorMark;

/// The documents of a [`crate::DocBlock`] as bytes of a bulk body.
///
/// Request bodies are slices of the block, so neither batching nor a retry copies or encodes a
/// document again. Sizes and limits refer to the JSON form, also where another form is sent.
#[derive(Clone, Debug, Default)]
pub struct ItemBlock {
    /// The position of the block in its source.
    pub origin: Origin,
    /// Lines of the source that the block spans.
    pub lines: u64,
    /// Bytes of the source read for the block.
    pub bytes_read: u64,
    /// The items in order, each with its final separator.
    pub body: Bytes,
    /// The end of each item in `body`, one entry for each record. A rejected record is an empty
    /// item.
    pub ends: Vec<u32>,
    /// The position of each record in the source.
    pub records: Vec<Record>,
    /// A hash of (index, id) for each item, 0 where the server generates the id. Empty if no item
    /// has an id.
    pub keys: Vec<u64>,
    /// Items with [`DocMeta::is_in`], in ascending order.
    pub is_in: Vec<u32>,
    /// Records that did not become items, in ascending order.
    pub rejects: Vec<RejectedRecord>,
    /// The indices that items name, sorted and unique. Empty where the request path names the
    /// index.
    pub indices: Vec<String>,
    /// The shard of each item, [`NO_SHARD`] where it is not known. Empty unless requested.
    pub shards: Vec<u16>,
    /// The same items as SMILE, if requested. The JSON form stays: dead letters are made of it, and
    /// items may have to be sent as JSON later.
    pub smile: Option<SmileItems>,
    /// The values of the documents. `None` if they were not asked for, if the source has no
    /// columns, or if fields are dropped.
    pub columns: Option<Arc<Columns>>,
    /// Which documents have vectors, where the index has fields for them.
    pub vectors: Option<VectorItems>,
}

/// Which documents of a block have vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorItems {
    /// The paths of the fields, at most [`VectorItems::FIELDS_MAX`].
    pub fields: Arc<[String]>,
    /// What each item does to the fields, two bits a field. 0: not known, as of a deletion.
    pub(crate) marks: Vec<u64>,
}

impl VectorItems {
    /// The most fields that are looked for.
    pub const FIELDS_MAX: usize = 32;

    /// What item `index` does to the field of this number, if that is known.
    pub fn mark(&self, index: u32, field: usize) -> Option<VectorMark> {
        match self.marks.get(index as usize)? >> (2 * field) & 3 {
            1 => Some(VectorMark::With),
            2 => Some(VectorMark::Without),
            3 => Some(VectorMark::AsItWas),
            _ => None,
        }
    }

    /// The bits of a field with this mark.
    pub(crate) const fn bits(field: usize, mark: VectorMark) -> u64 {
        let bits = match mark {
            VectorMark::With => 1,
            VectorMark::Without => 2,
            VectorMark::AsItWas => 3,
        };
        bits << (2 * field)
    }
}

/// The shard of an item whose id the server will generate.
pub const NO_SHARD: u16 = u16::MAX;

/// The text before the version in an action line. Quotes in an id or a routing value have a
/// backslash before them, so it is nowhere else.
pub(crate) const VERSION_KEY: &[u8] = b",\"version\":";

/// The items of a block as SMILE.
#[derive(Clone, Debug, Default)]
pub struct SmileItems {
    /// The items in order; each action line and each document is followed by its separator.
    pub body: Bytes,
    /// The end of each item in `body`, one entry for each record. An item without a SMILE form is
    /// empty.
    pub ends: Vec<u32>,
    /// Items without a SMILE form, ascending.
    pub json_only: Vec<u32>,
}

/// A record that did not become an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The record's index in the block, from 0.
    pub record: u32,
    /// The kind.
    pub kind: Code,
    /// What was found, what was expected and what to do.
    pub reason: String,
    /// The record's bytes as they were read.
    pub text: Bytes,
    /// What the source knows about it, such as its id.
    pub meta: Option<Box<DocMeta>>,
}

impl ItemBlock {
    /// The number of records, rejected ones included.
    pub fn len(&self) -> u32 {
        // At most u32::MAX records: each has at least one byte in a buffer of less than 4 GiB.
        self.ends.len() as u32
    }

    /// The partition of the source.
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

    /// One more than the last number that the block spans in its partition.
    pub fn end_doc(&self) -> u64 {
        let spans = if self.origin.own_numbers { self.lines } else { u64::from(self.len()) };
        self.origin.first_doc + spans
    }

    /// The start of item `index` in `body`.
    pub fn start(&self, index: u32) -> u32 {
        if index == 0 { 0 } else { self.ends[index as usize - 1] }
    }

    /// The SMILE bytes of the items `first..end`, if the block has that form. Items without a SMILE
    /// form are missing.
    pub fn smile_slice(&self, first: u32, end: u32) -> Option<Bytes> {
        let smile = self.smile.as_ref()?;
        let start = if first == 0 { 0 } else { smile.ends[first as usize - 1] };
        let end = if end == 0 { 0 } else { smile.ends[end as usize - 1] };
        Some(smile.body.slice(start as usize..end as usize))
    }

    /// Whether item `index` has a SMILE form.
    pub fn has_smile(&self, index: u32) -> bool {
        self.smile.as_ref().is_some_and(|smile| smile.json_only.binary_search(&index).is_err())
    }

    /// Memory that the SMILE form and the columns take in addition to the JSON form, bytes.
    pub fn extra_bytes(&self) -> u64 {
        let smile = self.smile.as_ref().map_or(0, |smile| smile.body.len() as u64);
        smile + self.columns.as_ref().map_or(0, |columns| columns.bytes())
    }

    /// The rows of the items `first..end`. Records without an item have none.
    pub fn rows(&self, first: u32, end: u32) -> RowSelection {
        let with_item = (first..end).filter(|&record| self.start(record) < self.start(record + 1));
        match &self.columns {
            None => RowSelection { items: with_item.count() as u32, columns: None },
            Some(columns) => {
                let records: Vec<u32> = with_item.collect();
                RowSelection { items: records.len() as u32, columns: Some((Arc::clone(columns), records)) }
            }
        }
    }

    /// The bytes of the items `first..end`.
    pub fn slice(&self, first: u32, end: u32) -> Bytes {
        self.body.slice(self.start(first) as usize..self.start(end) as usize)
    }

    /// The action line of item `index` without its line end, and the document as it is sent. The
    /// document of a delete is empty.
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

    /// Whether item `index` has an external version.
    pub(crate) fn has_version(&self, index: u32) -> bool {
        memchr::memmem::find(&self.action_and_document(index).0, VERSION_KEY).is_some()
    }

    /// Whether item `index` has [`DocMeta::is_in`].
    pub(crate) fn is_in(&self, index: u32) -> bool {
        self.is_in.binary_search(&index).is_ok()
    }

    /// The hash of (index, id) of item `index`; `None` where the server generates the id.
    pub fn key(&self, index: u32) -> Option<u64> {
        self.keys.get(index as usize).copied().filter(|&key| key != 0)
    }

    /// The position of record `index` in its source.
    pub fn position(&self, index: u32) -> Position {
        self.origin.position(index as usize, self.records[index as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_records_with_an_item() {
        let columns = Arc::new(Columns::default());
        // The records 1 and 4 have no item.
        let plain = ItemBlock { body: "aabbbc".into(), ends: vec![2, 2, 5, 6, 6], ..ItemBlock::default() };
        let with_columns = ItemBlock { columns: Some(Arc::clone(&columns)), ..plain.clone() };
        for (first, end, expected) in [(0, 5, &[0, 2, 3][..]), (1, 3, &[2]), (2, 4, &[2, 3]), (4, 5, &[]), (2, 2, &[])]
        {
            let rows = plain.rows(first, end);
            assert_eq!((rows.items as usize, rows.columns), (expected.len(), None), "{first}..{end}");
            let rows = with_columns.rows(first, end);
            let (of, records) = rows.columns.unwrap();
            assert_eq!((rows.items as usize, &records[..]), (expected.len(), expected), "{first}..{end}");
            assert!(Arc::ptr_eq(&of, &columns));
        }
    }

    #[test]
    fn more_than_the_json_are_the_smile_form_and_the_columns() {
        let smile = || Some(SmileItems { body: "abc".into(), ..SmileItems::default() });
        let columns = || Some(Arc::new(Columns { text_only: vec![0], ..Columns::default() }));
        for (smile, columns, expected) in
            [(None, None, 0), (smile(), None, 3), (None, columns(), 4), (smile(), columns(), 7)]
        {
            let items = ItemBlock { body: "json".into(), smile, columns, ..ItemBlock::default() };
            assert_eq!(items.extra_bytes(), expected);
        }
    }
}
