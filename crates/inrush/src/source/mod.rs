//! Where documents come from.
//!
//! Reading is split in two, so that two cores are enough for a gigabyte a second: a [`Source`] is read in order
//! by one worker at a time and only cuts its bytes at places where a record ends; what costs time (parsing CSV,
//! finding line ends, building JSON) happens in [`Decode`], in all workers side by side.

use std::sync::Arc;

use bytes::Bytes;
use inrush_core::block::Origin;
use inrush_core::{DocBlock, SourceId};

/// Bytes of a source that begin where a record begins and end where one ends.
pub struct RawChunk {
    /// Source, partition and first byte; document and line are filled in later ([`Origin`]).
    pub origin: Origin,
    /// The bytes, decompressed and in UTF-8 as far as the source is text.
    pub data: Bytes,
    /// Bytes that were read from the file for it, before decompression.
    pub bytes_read: u64,
    /// What turns it into documents.
    pub decoder: Arc<dyn Decode>,
}

/// The next piece of a source.
pub enum Chunk {
    /// Bytes to be decoded.
    Raw(RawChunk),
    /// Documents as they are.
    Docs(DocBlock),
}

/// Something that is read from its beginning to its end, by one thread at a time.
pub trait Source: Send {
    /// The next piece, of about `bytes` or of one record if that is larger; `None` at the end. May block.
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError>;

    /// What people call each source of the job, indexed by [`SourceId`]: a path, `-`, a URL.
    fn names(&self) -> Vec<String>;

    /// Bytes to be read in all (before decompression), where that is known.
    fn bytes_total(&self) -> Option<u64>;
}

/// Turns chunks into documents; runs in several threads at once.
pub trait Decode: Send + Sync {
    /// Never fails as a whole: a record that cannot be read becomes a reject of the block.
    fn decode(&self, chunk: RawChunk) -> DocBlock;
}

/// Why a source cannot be read any further. What was read before is valid.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {message}")]
pub struct SourceError {
    /// Which source of the job, where it is known.
    pub source_id: Option<SourceId>,
    /// The path, `-` or URL.
    pub name: String,
    /// What was found, where, and what to do.
    pub message: String,
    /// The cause.
    #[source]
    pub cause: Option<std::io::Error>,
}
