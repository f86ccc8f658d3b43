//! One index: its documents, the part of them that searches see, and the refusals of a write.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::document::{Document, Slot};
use super::mapping::Mapping;
use super::modes::rebuilt;
use super::op::{Action, Op, VersionType};
use super::segments::Segments;
use super::settings::Settings;
use crate::error::ServerError;
use crate::routing::Placement;

/// Shard and id of a document.
pub(super) type Key = (u32, String);

/// One index.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Unique for each creation: a recreated index has another.
    pub(crate) uuid: String,
    /// Settings, flat.
    pub(crate) settings: Settings,
    /// Mapping.
    pub(crate) mapping: Mapping,
    /// Aliases, each with its options (`is_write_index`, `filter` …).
    pub(crate) aliases: BTreeMap<String, Map<String, Value>>,
    /// False after `_close`.
    pub(crate) open: bool,
    /// Operations applied, for `_stats`.
    pub(crate) indexing_total: u64,
    /// Where its documents are.
    pub(crate) placement: Placement,
    pub(super) docs: HashMap<Key, Slot>,
    /// Writes that a crash would undo, each with the state before it.
    pub(super) unsynced: Vec<(Key, Option<Slot>)>,
    pub(super) primary_terms: Vec<u64>,
    pub(super) next_seq_no: Vec<u64>,
    pub(super) searchable_seq_no: Vec<u64>,
    /// The segments of each shard.
    pub(super) segments: Vec<Segments>,
    pub(super) searchable_count: usize,
    pub(super) live_count: usize,
}

impl Index {
    /// An open index without documents. The number of shards is that of the settings.
    pub(super) fn new(
        uuid: String,
        settings: Settings,
        mapping: Mapping,
        aliases: BTreeMap<String, Map<String, Value>>,
    ) -> Self {
        let placement = Placement::of(&settings);
        let shards = placement.shards() as usize;
        Index {
            uuid,
            settings,
            mapping,
            aliases,
            open: true,
            indexing_total: 0,
            placement,
            docs: HashMap::new(),
            unsynced: Vec::new(),
            primary_terms: vec![1; shards],
            next_seq_no: vec![0; shards],
            searchable_seq_no: vec![0; shards],
            segments: vec![Segments::default(); shards],
            searchable_count: 0,
            live_count: 0,
        }
    }

    /// All live documents, by sequence number and shard.
    pub(crate) fn documents(&self) -> Vec<Document> {
        self.documents_where(|_, _| true)
    }

    /// The documents that searches see: those of the last refresh.
    pub(crate) fn searchable(&self) -> Vec<Document> {
        let seen = self.documents_where(|shard, seq_no| seq_no < self.searchable_seq_no[shard as usize]);
        seen.into_iter().map(|document| self.shown(document)).collect()
    }

    /// A document as the index returns it.
    pub(crate) fn shown(&self, document: Document) -> Document {
        match document.json() {
            Value::Object(object) if self.settings.rebuilds_source() => {
                let source = rebuilt(&object, &self.settings, &self.mapping).to_string().into();
                Document { source, ..document }
            }
            _ => document,
        }
    }

    fn documents_where(&self, wanted: impl Fn(u32, u64) -> bool) -> Vec<Document> {
        let mut all: Vec<(u32, Document)> = self
            .docs
            .iter()
            .filter(|((shard, _), slot)| wanted(*shard, slot.seq_no))
            .filter_map(|((shard, id), slot)| Some((*shard, slot.document(id)?)))
            .collect();
        all.sort_by_key(|(shard, document)| (document.seq_no, *shard));
        all.into_iter().map(|(_, document)| document).collect()
    }

    /// Live documents at the last refresh, the answer of `_count`.
    pub(crate) fn searchable_count(&self) -> usize {
        self.searchable_count
    }

    /// Makes everything written so far searchable.
    pub(crate) fn refresh(&mut self) {
        self.searchable_count = self.live_count;
        self.searchable_seq_no.clone_from(&self.next_seq_no);
        self.seal();
    }

    /// The sequence number of the next operation, by shard.
    pub(crate) fn next_seq_nos(&self) -> &[u64] {
        &self.next_seq_no
    }

    /// The primary term, by shard.
    pub(crate) fn primary_terms(&self) -> &[u64] {
        &self.primary_terms
    }

    /// The shard that holds a document.
    pub(crate) fn shard_of(&self, document: &Document) -> u32 {
        self.placement.shard(&document.id, document.routing.as_deref())
    }

    /// Primary shards.
    pub(crate) fn number_of_shards(&self) -> u32 {
        self.placement.shards()
    }

    /// Bytes of the documents, for `_stats`.
    pub(crate) fn store_bytes(&self) -> usize {
        self.docs.values().filter_map(|slot| slot.source.as_ref()).map(Bytes::len).sum()
    }

    /// Copies of each shard: the primary and its replicas.
    pub(crate) fn copies(&self) -> usize {
        1 + self.settings.number("index.number_of_replicas", 1)
    }

    /// Takes the next sequence number of a shard and counts the operation; answers the number.
    pub(super) fn take_seq_no(&mut self, shard: u32) -> u64 {
        let next = &mut self.next_seq_no[shard as usize];
        *next += 1;
        *next - 1
    }

    /// `_shards` of an item, in a cluster of `nodes` data nodes.
    pub(super) fn shards_value(&self, nodes: usize) -> Value {
        let total = self.copies();
        json!({"total": total, "successful": total.min(nodes.max(1)), "failed": 0})
    }

    /// Refuses a write to an index with a block.
    pub(super) fn check_write_block(&self, name: &str) -> Result<(), ServerError> {
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
            Some((_, status, block)) => Err(ServerError::blocked(*status, name, block)),
            None => Ok(()),
        }
    }

    /// Refuses a write whose version or sequence number conflicts with the present document.
    pub(super) fn check_version(
        &self,
        op: &Op,
        id: &str,
        name: &str,
        shard: u32,
        old: Option<&Slot>,
    ) -> Result<(), ServerError> {
        let live = old.filter(|slot| slot.source.is_some());
        let conflict = |what: String| {
            Err(ServerError::new(409, "version_conflict_engine_exception", format!("[{id}]: version conflict, {what}"))
                .with("index_uuid", self.uuid.clone())
                .with("shard", shard.to_string())
                .with("index", name))
        };
        if op.action == Action::Create
            && let Some(slot) = live
        {
            return conflict(format!("document already exists (current version [{}])", slot.version));
        }
        if let Some(wanted) = op.if_seq_no {
            return match live {
                Some(slot) if slot.seq_no == wanted => Ok(()),
                Some(slot) => conflict(format!(
                    "required seqNo [{wanted}], primary term [1]. current document has seqNo [{}] and primary term [1]",
                    slot.seq_no
                )),
                None => conflict(format!("required seqNo [{wanted}], primary term [1]. but no document was found")),
            };
        }
        // A deleted document keeps its version for `index.gc_deletes`, 60 s.
        match (op.version_type, op.version, old) {
            (VersionType::External, Some(given), Some(slot)) if given <= slot.version => {
                conflict(format!("current version [{}] is higher or equal to the one provided [{given}]", slot.version))
            }
            (VersionType::ExternalGte, Some(given), Some(slot)) if given < slot.version => {
                conflict(format!("current version [{}] is higher than the one provided [{given}]", slot.version))
            }
            _ => Ok(()),
        }
    }
}
