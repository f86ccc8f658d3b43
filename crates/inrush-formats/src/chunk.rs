//! Pieces of a source before they become documents.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use inrush_core::Code;
use inrush_core::Columns;
use inrush_core::DocBlock;
use inrush_core::block::Origin;

#[cfg(feature = "columns")]
use super::columns::Rows;

/// Bytes of a source that begin and end at record boundaries.
pub struct RawChunk {
    /// Source, partition and first byte. Document and line are filled in later ([`Origin`]).
    pub origin: Origin,
    /// The bytes, decompressed and, if the source is text, in UTF-8.
    pub data: Bytes,
    /// Bytes that were read from the file for this chunk, before decompression.
    pub bytes_read: u64,
    /// Decodes the bytes into documents.
    pub decoder: Arc<dyn Decode>,
}

/// The next piece of a source.
#[non_exhaustive]
pub enum Chunk {
    /// Bytes that are still to be decoded.
    #[doc(hidden)]
    Raw(RawChunk),
    /// Rows of columns.
    #[cfg(feature = "columns")]
    #[doc(hidden)]
    Rows(Rows),
    /// A function that makes documents, for sources of neither bytes nor columns, such as the rows
    /// of a sheet.
    Deferred(Box<dyn FnOnce() -> DocBlock + Send>),
    /// Finished documents. A block without documents only counts bytes and lines.
    Docs(DocBlock),
}

impl Chunk {
    /// Decodes the chunk in the calling thread.
    pub fn into_block(self) -> DocBlock {
        self.decode(false).0
    }

    /// As [`Chunk::into_block`], with the values of the documents if the source has columns.
    #[doc(hidden)]
    pub fn into_block_with_columns(self) -> (DocBlock, Option<Columns>) {
        self.decode(true)
    }

    fn decode(self, with_columns: bool) -> (DocBlock, Option<Columns>) {
        let (block, columns) = match self {
            Chunk::Raw(raw) => {
                let decoder = Arc::clone(&raw.decoder);
                if with_columns { decoder.decode_with_columns(raw) } else { (decoder.decode(raw), None) }
            }
            #[cfg(feature = "columns")]
            Chunk::Rows(rows) => rows.into_block_and_columns(with_columns),
            Chunk::Deferred(work) => (work(), None),
            Chunk::Docs(block) => (block, None),
        };
        // Many members that few documents have make columns that are larger than the documents.
        let is_small = |columns: &Columns| columns.bytes() <= 2 * block.data.len() as u64 + COLUMNS_MIN;
        let columns = columns.filter(is_small);
        (block, columns)
    }
}

/// Columns of fewer bytes are never too large.
const COLUMNS_MIN: u64 = 64 << 10;

/// Turns chunks into documents. Runs in several threads at once.
pub trait Decode: Send + Sync {
    /// Decodes a chunk. It never fails as a whole: a record that cannot be read becomes a reject of
    /// the block.
    fn decode(&self, chunk: RawChunk) -> DocBlock;

    /// As [`Decode::decode`], with the values of the documents if the decoder has columns. Default:
    /// it has none.
    #[doc(hidden)]
    fn decode_with_columns(&self, chunk: RawChunk) -> (DocBlock, Option<Columns>) {
        (self.decode(chunk), None)
    }

    /// Notes bytes of the source that were skipped and are in no chunk, with their number of lines:
    /// a record that is too large. Default: does nothing.
    fn passed(&self, _bytes: Range<u64>, _lines: u64) {}

    /// Fields that documents may have even if none has them so far: columns whose cells are all
    /// empty. Default: unknown.
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The beginning of a text for a message, at most 100 bytes.
pub fn beginning(text: &[u8]) -> String {
    const BYTES_MAX: usize = 100;
    let shown = String::from_utf8_lossy(&text[..text.len().min(BYTES_MAX)]);
    if text.len() > BYTES_MAX { format!("{}…", shown.trim_end_matches('\u{FFFD}')) } else { shown.into_owned() }
}

/// How much of a too large record is kept as text, bytes.
pub const TOO_LARGE_KEPT: usize = 1024;

/// The reject of a record that is larger than the limit.
pub fn too_large(record: u32, bytes: u64, bytes_max: usize) -> inrush_core::Reject {
    inrush_core::Reject {
        record,
        kind: Code::TooLarge,
        reason: format!(
            "record has {bytes} bytes, expected at most {bytes_max}; raise the largest size of a document or split it \
             (only its first {TOO_LARGE_KEPT} bytes are kept here)"
        ),
    }
}

/// The beginning of a too large record, without a character that is cut in two.
pub fn too_large_head(record: &[u8]) -> &[u8] {
    let mut end = record.len().min(TOO_LARGE_KEPT);
    if end < record.len() {
        // A UTF-8 character has at most three continuation bytes.
        for _ in 0..3 {
            if record[end] & 0xC0 == 0x80 {
                end -= 1;
            }
        }
    }
    &record[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FormatOptions;
    use crate::reading::tests::chunks;

    /// Checks the blocks of chunks that `make` makes twice.
    fn check(make: impl Fn() -> Vec<Chunk>, has_columns: bool, documents: &str) {
        let (with, columns): (Vec<DocBlock>, Vec<_>) = make().into_iter().map(Chunk::into_block_with_columns).unzip();
        let without: Vec<DocBlock> = make().into_iter().map(Chunk::into_block).collect();
        let text = |blocks: &[DocBlock]| {
            let records = blocks.iter().flat_map(|block| (0..block.records.len()).map(|at| block.record(at)));
            records.map(String::from_utf8_lossy).collect::<Vec<_>>().concat()
        };
        assert_eq!((text(&with).as_str(), text(&without).as_str()), (documents, documents));
        assert!(columns.iter().all(|columns| columns.is_some() == has_columns), "{documents}");
    }

    #[test]
    fn columns_are_those_of_sources_that_have_them_and_the_documents_stay() {
        let file = |name, text: &'static str, partitions: &'static [(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let partitions: Vec<_> = partitions.iter().map(owned).collect();
            move || chunks(name, text.as_bytes(), FormatOptions::default(), &partitions)
        };
        check(file("x.csv", "a,b\n1,x\n", &[]), true, "{\"a\":1,\"b\":\"x\"}");
        check(file("x.csv", "a\n1\n", &[("year", "2024")]), false, "{\"a\":1,\"year\":2024}");
        check(file("x.ndjson", "{\"a\":1}\n", &[]), false, "{\"a\":1}");
        let block = || chunks("x.ndjson", b"{}\n", FormatOptions::default(), &[]).remove(0).into_block();
        check(|| vec![Chunk::Deferred(Box::new(block))], false, "{}");
        check(|| vec![Chunk::Docs(block())], false, "{}");
    }

    #[cfg(feature = "columns")]
    #[test]
    fn rows_have_columns_with_the_fields_of_folders() {
        use arrow_array::{ArrayRef, Int32Array, RecordBatch};

        use crate::buffer::BufferPool;
        use crate::columns::RowWriter;
        use crate::warnings::Warnings;

        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let batch = RecordBatch::try_from_iter([("a", numbers)]).unwrap();
        let constants = [("year".to_owned(), "2024".to_owned())];
        let (schema, warnings) = (batch.schema(), Warnings::default());
        let writer = Arc::new(RowWriter::new(&schema, &constants, 1 << 20, "x", &warnings, BufferPool::new()));
        let (origin, bytes_read) = (Origin::default(), 0);
        let rows = || Rows { batch: batch.clone(), writer: Arc::clone(&writer), origin, bytes_read };
        check(|| vec![Chunk::Rows(rows())], true, "{\"a\":1,\"year\":2024}{\"year\":2024}");
    }
}
