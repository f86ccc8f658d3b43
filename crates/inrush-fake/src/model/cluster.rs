//! The state of a whole cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::document::Document;
use super::index::Index;
use super::pipeline::Pipeline;
use crate::clock::millis_now;
use crate::json::merge;
use crate::pattern;
use crate::product::Flavor;
use crate::random::mix;

/// Clusters made in this process so far.
static CLUSTERS: AtomicU64 = AtomicU64::new(0);

/// A data stream.
#[derive(Clone, Debug)]
pub(crate) struct DataStream {
    /// Backing indices; the last one takes the writes.
    pub(crate) indices: Vec<String>,
    /// The template that the stream was made from.
    pub(crate) template: String,
}

/// A snapshot of indices that searches go on reading.
#[derive(Clone, Debug)]
pub(crate) struct PointInTime {
    /// The documents, each with the name of its index.
    pub(crate) documents: Vec<(String, Document)>,
    /// Number of searched shards.
    pub(crate) shards: u32,
}

/// The whole cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The imitated server.
    pub(crate) flavor: Flavor,
    /// The UUID of the cluster.
    pub(crate) uuid: String,
    /// Data nodes; they bound the copies of a shard that a write reaches.
    pub(crate) nodes: usize,
    /// `action.auto_create_index`.
    pub(crate) auto_create_index: bool,
    /// `cluster.blocks.read_only`: every write is refused as a whole request.
    pub(crate) read_only: bool,
    /// Persistent cluster settings, flat.
    pub(crate) persistent_settings: BTreeMap<String, Value>,
    /// Elasticsearch's failure store, for every data stream.
    pub(crate) failure_store: bool,
    /// Packed vectors are taken for little-endian.
    pub(crate) little_endian_vectors: bool,
    /// Patterns of index names; writes to them are refused with 403 `security_exception`.
    pub(crate) denied_indices: Vec<String>,
    /// Settings that `PUT _settings` refuses with 400, as forced awareness refuses some numbers of
    /// replicas.
    pub(crate) refused_settings: BTreeSet<String>,
    /// Indices by name.
    pub(crate) indices: BTreeMap<String, Index>,
    /// Data streams by name.
    pub(crate) data_streams: BTreeMap<String, DataStream>,
    /// Bodies of index templates by name.
    pub(crate) templates: BTreeMap<String, Value>,
    /// Bodies of legacy templates by name.
    pub(crate) legacy_templates: BTreeMap<String, Value>,
    /// Ingest pipelines by name.
    pub(crate) pipelines: BTreeMap<String, Pipeline>,
    /// Fixed replies, status and body, by path without query. They replace the fake's own replies.
    pub(crate) canned: BTreeMap<String, (u16, Value)>,
    /// Results of finished tasks by task id.
    pub(crate) task_results: BTreeMap<String, Value>,
    /// Points in time by id.
    pub(crate) points_in_time: BTreeMap<String, PointInTime>,
    counter: u64,
}

impl Cluster {
    /// An empty cluster.
    pub(crate) fn new(flavor: Flavor) -> Self {
        let mut cluster = Cluster {
            flavor,
            uuid: String::new(),
            nodes: 1,
            auto_create_index: true,
            read_only: false,
            persistent_settings: BTreeMap::new(),
            failure_store: false,
            little_endian_vectors: false,
            denied_indices: Vec::new(),
            refused_settings: BTreeSet::new(),
            indices: BTreeMap::new(),
            data_streams: BTreeMap::new(),
            templates: BTreeMap::new(),
            legacy_templates: BTreeMap::new(),
            pipelines: BTreeMap::new(),
            canned: BTreeMap::new(),
            task_results: BTreeMap::new(),
            points_in_time: BTreeMap::new(),
            counter: 0,
        };
        cluster.uuid = cluster.new_uuid();
        // Two clusters of the same millisecond have different UUIDs.
        cluster.uuid.replace_range(..4, &format!("{:04x}", CLUSTERS.fetch_add(1, Ordering::Relaxed) % 0x1_0000));
        cluster
    }

    /// A UUID in the form of the servers: 22 characters.
    pub(super) fn new_uuid(&mut self) -> String {
        self.counter += 1;
        let mut bytes = [0_u8; 16];
        bytes[..8].copy_from_slice(&mix(self.counter).to_be_bytes());
        bytes[8..].copy_from_slice(&millis_now().to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// An id in the form of the servers: 20 characters.
    pub(crate) fn new_id(&mut self) -> String {
        self.counter += 1;
        let (mixed, time) = (mix(self.counter).to_be_bytes(), millis_now().to_be_bytes());
        let mut bytes = [0_u8; 15];
        bytes[..2].copy_from_slice(&mixed[..2]);
        // The four high bytes of the time, the lowest first, as `TimeBasedUUIDGenerator` has them.
        bytes[2..6].copy_from_slice(&[time[5], time[4], time[3], time[2]]);
        bytes[6..9].copy_from_slice(&mixed[2..5]);
        bytes[9..].copy_from_slice(&self.counter.to_be_bytes()[2..]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// True if an index carries this alias.
    pub(crate) fn has_alias(&self, alias: &str) -> bool {
        self.indices.values().any(|index| index.aliases.contains_key(alias))
    }

    /// The index template with the highest priority that matches a name.
    pub(crate) fn template_for(&self, name: &str) -> Option<(String, Value)> {
        self.templates
            .iter()
            .filter(|(_, template)| applies(template, name))
            .max_by_key(|(_, template)| template.get("priority").and_then(Value::as_u64).unwrap_or(0))
            .map(|(name, template)| (name.clone(), template.clone()))
    }

    /// The `settings`, `mappings` and `aliases` of a new index by the legacy templates that match
    /// its name, the one with the highest order last.
    pub(crate) fn legacy_for(&self, name: &str) -> Value {
        let mut templates: Vec<&Value> =
            self.legacy_templates.values().filter(|template| applies(template, name)).collect();
        templates.sort_by_key(|template| template.get("order").and_then(Value::as_i64).unwrap_or(0));
        let mut given = Map::new();
        for template in templates.into_iter().filter_map(Value::as_object) {
            merge(&mut given, template);
        }
        Value::Object(given)
    }

    /// The data stream that an index backs.
    pub(crate) fn stream_of(&self, index: &str) -> Option<&String> {
        self.data_streams.iter().find(|(_, stream)| stream.indices.iter().any(|one| one == index)).map(|(name, _)| name)
    }

    /// Reads one document; `None` for a missing one.
    pub(crate) fn get(&self, index: &str, id: &str, routing: Option<&str>) -> Option<Document> {
        let index = self.indices.get(index)?;
        let shard = index.placement.shard(id, routing);
        Some(index.shown(index.docs.get(&(shard, id.to_owned()))?.document(id)?))
    }
}

/// Whether a template is for indices of this name.
fn applies(template: &Value, name: &str) -> bool {
    let patterns = template.get("index_patterns").and_then(Value::as_array);
    patterns.is_some_and(|all| all.iter().filter_map(Value::as_str).any(|one| pattern::matches(one, name)))
}
