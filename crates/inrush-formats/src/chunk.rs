//! Pieces of a source before they become documents.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use inrush_core::Code;
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
        match self {
            Chunk::Raw(raw) => {
                let decoder = Arc::clone(&raw.decoder);
                decoder.decode(raw)
            }
            #[cfg(feature = "columns")]
            Chunk::Rows(rows) => rows.into_block(),
            Chunk::Deferred(work) => work(),
            Chunk::Docs(block) => block,
        }
    }
}

/// Turns chunks into documents. Runs in several threads at once.
pub trait Decode: Send + Sync {
    /// Decodes a chunk. It never fails as a whole: a record that cannot be read becomes a reject of
    /// the block.
    fn decode(&self, chunk: RawChunk) -> DocBlock;

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
