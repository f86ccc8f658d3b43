//! One index: its documents, what searches see of them, and what refuses a write to them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::op::{Action, Op, VersionType};
use super::translog::Unsynced;
use crate::error::EsError;
use crate::mapping::Mapping;
use crate::routing::shard_of;
use crate::settings::Settings;

/// A document as it is kept, or the trace of a deleted one.
#[derive(Clone, Debug)]
pub(super) struct Doc {
    pub(super) source: Option<Bytes>,
    pub(super) version: i64,
    pub(super) seq_no: u64,
    pub(super) routing: Option<String>,
}

/// A document as tests see it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    /// Its id.
    pub id: String,
    /// Its source, byte by byte as sent (after pipelines and partial updates: as merged).
    pub source: Bytes,
    /// Its version.
    pub version: i64,
    /// Its sequence number within its shard.
    pub seq_no: u64,
    /// The routing it was written with.
    pub routing: Option<String>,
}

impl StoredDocument {
    /// The source as JSON; null where it is none, which the model never stores.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.source).unwrap_or_default()
    }
}

/// One index.
#[derive(Clone, Debug)]
pub struct Index {
    /// Unique per creation: a recreated index has another.
    pub uuid: String,
    /// Settings, flat.
    pub settings: Settings,
    /// Mapping.
    pub mapping: Mapping,
    /// Aliases with what was given for each (`is_write_index`, `filter` …).
    pub aliases: BTreeMap<String, Map<String, Value>>,
    /// False after `_close`.
    pub open: bool,
    pub(super) shards: u32,
    pub(super) docs: HashMap<(u32, String), Doc>,
    pub(super) unsynced: Vec<Unsynced>,
    pub(super) primary_terms: Vec<u64>,
    pub(super) next_seq_no: Vec<u64>,
    pub(super) searchable_seq_no: Vec<u64>,
    pub(super) searchable_count: usize,
    pub(super) live_count: usize,
    /// Operations applied, for `_stats`.
    pub indexing_total: u64,
}

impl Index {
    /// All live documents, in the order in which each shard took them.
    pub fn documents(&self) -> Vec<StoredDocument> {
        let mut all: Vec<(u32, StoredDocument)> =
            self.docs.iter().filter_map(|((shard, id), doc)| Some((*shard, stored(id, doc)?))).collect();
        all.sort_by_key(|(shard, doc)| (doc.seq_no, *shard));
        all.into_iter().map(|(_, doc)| doc).collect()
    }

    /// Documents that searches see: those of the last refresh.
    pub fn searchable(&self) -> Vec<StoredDocument> {
        let mut all: Vec<(u32, StoredDocument)> = self
            .docs
            .iter()
            .filter(|((shard, _), doc)| doc.seq_no < self.searchable_seq_no[*shard as usize])
            .filter_map(|((shard, id), doc)| Some((*shard, stored(id, doc)?)))
            .collect();
        all.sort_by_key(|(shard, doc)| (doc.seq_no, *shard));
        all.into_iter().map(|(_, doc)| doc).collect()
    }

    /// Live documents at the last refresh, what `_count` answers.
    pub fn searchable_count(&self) -> usize {
        self.searchable_count
    }

    /// Live documents now.
    pub fn live_count(&self) -> usize {
        self.live_count
    }

    /// Makes everything written so far searchable.
    pub fn refresh(&mut self) {
        self.searchable_count = self.live_count;
        self.searchable_seq_no.clone_from(&self.next_seq_no);
    }

    /// The sequence number that the next operation gets, by shard.
    pub fn next_seq_nos(&self) -> &[u64] {
        &self.next_seq_no
    }

    /// The shard that holds a document.
    pub fn shard_of(&self, document: &StoredDocument) -> u32 {
        shard_of(document.routing.as_deref().unwrap_or(&document.id), self.shards)
    }

    /// Primary shards.
    pub fn number_of_shards(&self) -> u32 {
        self.shards
    }

    /// Bytes of the documents, for `_stats`.
    pub fn store_bytes(&self) -> usize {
        self.docs.values().filter_map(|doc| doc.source.as_ref()).map(Bytes::len).sum()
    }

    /// Copies of each shard: the primary and its replicas.
    pub fn copies(&self) -> usize {
        1 + self.settings.number("index.number_of_replicas", 1)
    }

    pub(super) fn shards_value(&self, nodes: usize) -> Value {
        let total = self.copies();
        json!({"total": total, "successful": total.min(nodes.max(1)), "failed": 0})
    }

    pub(super) fn check_write_block(&self, name: &str) -> Result<(), EsError> {
        let blocks = [
            ("index.blocks.read_only", 403, "FORBIDDEN/5/index read-only (api)"),
            ("index.blocks.write", 403, "FORBIDDEN/8/index write (api)"),
            (
                "index.blocks.read_only_allow_delete",
                429,
                "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block",
            ),
        ];
        match blocks.iter().find(|(setting, _, _)| self.settings.is_true(setting)) {
            Some((_, status, block)) => Err(EsError::blocked(*status, name, block)),
            None => Ok(()),
        }
    }

    pub(super) fn check_version(
        &self,
        op: &Op,
        id: &str,
        name: &str,
        shard: u32,
        old: Option<&Doc>,
    ) -> Result<(), EsError> {
        let live = old.filter(|doc| doc.source.is_some());
        let conflict = |what: String| {
            Err(EsError::new(409, "version_conflict_engine_exception", format!("[{id}]: version conflict, {what}"))
                .with("index_uuid", self.uuid.clone())
                .with("shard", shard.to_string())
                .with("index", name))
        };
        if op.action == Action::Create
            && let Some(doc) = live
        {
            return conflict(format!("document already exists (current version [{}])", doc.version));
        }
        if let Some(wanted) = op.if_seq_no {
            return match live {
                Some(doc) if doc.seq_no == wanted => Ok(()),
                Some(doc) => conflict(format!(
                    "required seqNo [{wanted}], primary term [1]. current document has seqNo [{}] and primary term [1]",
                    doc.seq_no
                )),
                None => conflict(format!("required seqNo [{wanted}], primary term [1]. but no document was found")),
            };
        }
        // A deleted document keeps its version for `index.gc_deletes`, 60 s.
        match (op.version_type, op.version, old) {
            (VersionType::External, Some(given), Some(doc)) if given <= doc.version => {
                conflict(format!("current version [{}] is higher or equal to the one provided [{given}]", doc.version))
            }
            (VersionType::ExternalGte, Some(given), Some(doc)) if given < doc.version => {
                conflict(format!("current version [{}] is higher than the one provided [{given}]", doc.version))
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn stored(id: &str, doc: &Doc) -> Option<StoredDocument> {
    Some(StoredDocument {
        id: id.to_owned(),
        source: doc.source.clone()?,
        version: doc.version,
        seq_no: doc.seq_no,
        routing: doc.routing.clone(),
    })
}
