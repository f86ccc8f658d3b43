//! Documents: as the model keeps them, and as tests see them.

use bytes::Bytes;
use serde_json::Value;

/// The state of one id in one shard: a live document, or the trace of a deleted one.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The document; `None` after a delete.
    pub(super) source: Option<Bytes>,
    pub(super) version: i64,
    pub(super) seq_no: u64,
    pub(super) primary_term: u64,
    pub(super) routing: Option<String>,
}

impl Slot {
    /// The document, unless it was deleted.
    pub(super) fn document(&self, id: &str) -> Option<Document> {
        Some(Document {
            id: id.to_owned(),
            source: self.source.clone()?,
            version: self.version,
            seq_no: self.seq_no,
            primary_term: self.primary_term,
            routing: self.routing.clone(),
        })
    }
}

/// A document in the fake cluster.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// The id.
    pub id: String,
    /// The source, byte by byte as it was sent. Pipelines and partial updates write it anew.
    pub source: Bytes,
    /// The version; 1 after the first write.
    pub version: i64,
    /// The sequence number within the shard, from 0.
    pub seq_no: u64,
    /// The primary term in which the document was written, from 1.
    pub primary_term: u64,
    /// The routing value of the last write; `None` without one.
    pub routing: Option<String>,
}

impl Document {
    /// The source as JSON.
    pub fn json(&self) -> Value {
        // The model stores JSON objects only.
        serde_json::from_slice(&self.source).unwrap_or_default()
    }
}
