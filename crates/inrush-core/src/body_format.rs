//! Bodies of requests, and their formats.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
pub use inrush_tune::format::{BodyFormat, BodyFormatChange, Compression, Encoding, GzipLevel};

use crate::columns::RowSelection;

/// A request body: slices that are never joined, and their compressed form once it exists. A retry
/// does not compress again.
#[derive(Debug)]
pub struct Body {
    /// The slices, before compression.
    pub slices: Vec<Bytes>,
    /// The format of the body.
    pub format: BodyFormat,
    /// Where the values of the items are, in their order; nothing if they are all in the slices
    /// only.
    pub rows: Arc<[RowSelection]>,
    packed: OnceLock<Bytes>,
}

impl Body {
    /// A body that is not compressed yet.
    pub fn new(slices: Vec<Bytes>, format: BodyFormat) -> Self {
        Body { slices, format, rows: Arc::new([]), packed: OnceLock::new() }
    }

    /// Also says where the values of the items are.
    #[must_use]
    pub fn with_rows(self, rows: Arc<[RowSelection]>) -> Self {
        Body { rows, ..self }
    }

    /// The length before compression, bytes.
    pub fn len(&self) -> u64 {
        self.slices.iter().map(|slice| slice.len() as u64).sum()
    }

    /// Whether the body is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The compressed form, once it exists.
    pub fn packed(&self) -> Option<&Bytes> {
        self.packed.get()
    }

    /// Stores the compressed form. The first one is kept.
    pub fn pack(&self, packed: Bytes) {
        // A second one has the same content.
        let _ = self.packed.set(packed);
    }

    /// Memory that the compressed form takes in addition to the documents, bytes.
    pub(crate) fn packed_bytes(&self) -> u64 {
        self.packed().map_or(0, |packed| packed.len() as u64)
    }
}
