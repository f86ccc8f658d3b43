//! The state of the fake cluster: indices, documents, versions. One operation goes in, one item comes out.

mod index;
mod names;
mod op;
mod translog;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use self::index::stored;
pub use self::index::{Index, StoredDocument};
use self::names::{check_index_name, date_now};
pub(crate) use self::names::{millis_now, mix};
pub use self::op::{Action, Op, VersionType};
pub use self::write::Reached;
use crate::error::EsError;
use crate::mapping::Mapping;
use crate::pattern;
use crate::pipeline::Pipeline;
use crate::product::Flavor;
use crate::routing::shard_of;
use crate::settings::Settings;

/// How many clusters there were in this process.
static CLUSTERS: AtomicU64 = AtomicU64::new(0);

/// A data stream and its backing indices.
#[derive(Clone, Debug)]
pub struct DataStream {
    /// Backing indices, the last is written to.
    pub indices: Vec<String>,
    /// The template it was made from.
    pub template: String,
}

/// The whole cluster.
#[derive(Debug)]
pub struct Cluster {
    /// What it imitates.
    pub flavor: Flavor,
    /// The cluster's UUID.
    pub uuid: String,
    /// Data nodes; decides how many copies a write reaches.
    pub nodes: usize,
    /// `action.auto_create_index`.
    pub auto_create_index: bool,
    /// `cluster.blocks.read_only`: every write is refused as a whole.
    pub read_only: bool,
    /// Persistent cluster settings, flat.
    pub persistent_settings: BTreeMap<String, Value>,
    /// Elasticsearch's failure store, switched on for every data stream.
    pub failure_store: bool,
    /// Patterns of index names a write to which is refused with 403 `security_exception`.
    pub denied_indices: Vec<String>,
    /// Settings that `PUT _settings` refuses with 400, as forced awareness refuses some numbers of replicas.
    pub refused_settings: BTreeSet<String>,
    /// Indices by name.
    pub indices: BTreeMap<String, Index>,
    /// Data streams by name.
    pub data_streams: BTreeMap<String, DataStream>,
    /// Index templates by name, as given.
    pub templates: BTreeMap<String, Value>,
    /// Ingest pipelines by name.
    pub pipelines: BTreeMap<String, Pipeline>,
    /// Replies, status and body, by path without query: for what this cluster has no model of, or to say that it is not well.
    pub canned: BTreeMap<String, (u16, Value)>,
    /// What tasks answered that nobody waited for, by their ids.
    pub task_results: BTreeMap<String, Value>,
    /// Points in time by their ids; take one out, and it has expired.
    pub points_in_time: BTreeMap<String, PointInTime>,
    counter: u64,
}

/// What searches of indices saw at a moment.
#[derive(Clone, Debug)]
pub struct PointInTime {
    /// The documents, each with the name of its index.
    pub documents: Vec<(String, StoredDocument)>,
    /// Shards that are searched.
    pub shards: u32,
}

/// Where a write goes.
struct Target {
    index: String,
    data_stream: Option<String>,
}

impl Cluster {
    /// An empty cluster.
    pub fn new(flavor: Flavor) -> Self {
        let mut cluster = Cluster {
            flavor,
            uuid: String::new(),
            nodes: 1,
            auto_create_index: true,
            read_only: false,
            persistent_settings: BTreeMap::new(),
            failure_store: false,
            denied_indices: Vec::new(),
            refused_settings: BTreeSet::new(),
            indices: BTreeMap::new(),
            data_streams: BTreeMap::new(),
            templates: BTreeMap::new(),
            pipelines: BTreeMap::new(),
            canned: BTreeMap::new(),
            task_results: BTreeMap::new(),
            points_in_time: BTreeMap::new(),
            counter: 0,
        };
        cluster.uuid = cluster.new_uuid();
        // Two that begin in the same millisecond are two.
        cluster.uuid.replace_range(..4, &format!("{:04x}", CLUSTERS.fetch_add(1, Ordering::Relaxed) % 0x1_0000));
        cluster
    }

    /// A UUID as the servers print them, 22 characters.
    fn new_uuid(&mut self) -> String {
        self.counter += 1;
        let mut bytes = [0_u8; 16];
        bytes[..8].copy_from_slice(&mix(self.counter).to_be_bytes());
        bytes[8..].copy_from_slice(&millis_now().to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// An id as the servers make them, 20 characters.
    pub(crate) fn new_id(&mut self) -> String {
        self.counter += 1;
        let mut bytes = [0_u8; 15];
        bytes[..8].copy_from_slice(&mix(self.counter).to_be_bytes());
        bytes[8..].copy_from_slice(&self.counter.to_be_bytes()[1..]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Creates an index from a `PUT /{index}` body (`settings`, `mappings`, `aliases`), templates below it.
    ///
    /// # Errors
    ///
    /// 400 for a name that is taken or invalid, for unknown settings, for a mapping that is none.
    pub fn create_index(&mut self, name: &str, body: &Value) -> Result<(), EsError> {
        check_index_name(name)?;
        if let Some(index) = self.indices.get(name) {
            return Err(EsError::new(
                400,
                "resource_already_exists_exception",
                format!("index [{name}/{}] already exists", index.uuid),
            )
            .with("index_uuid", index.uuid.clone())
            .with("index", name));
        }
        if self.data_streams.contains_key(name) || self.has_alias(name) {
            let what = if self.data_streams.contains_key(name) { "data stream" } else { "alias" };
            return Err(EsError::new(
                400,
                "invalid_index_name_exception",
                format!("Invalid index name [{name}], already exists as {what}"),
            )
            .with("index", name));
        }
        let template = self.template_for(name);
        if let Some((template_name, template)) = &template
            && template.get("data_stream").is_some()
            && !name.starts_with(".ds-")
        {
            return Err(EsError::illegal_argument(format!(
                "cannot create index with name [{name}], because it matches with template [{template_name}] that creates data streams only, use create data stream api instead"
            )));
        }
        let template = template.and_then(|(_, template)| template.get("template").cloned()).unwrap_or_default();
        let mut settings = Settings::default();
        let mut given = Settings::parse(template.get("settings").unwrap_or(&json!({})));
        given.extend(Settings::parse(body.get("settings").unwrap_or(&json!({}))));
        settings.set("index.number_of_shards", "1");
        settings.set("index.number_of_replicas", "1");
        if self.flavor.is_elasticsearch() {
            settings.set("index.routing.allocation.include._tier_preference", "data_content");
        } else {
            settings.set("index.replication.type", "DOCUMENT");
        }
        settings.create(&self.flavor, given)?;
        settings.expand_replicas(self.nodes);
        let uuid = self.new_uuid();
        settings.set("index.uuid", uuid.clone());
        settings.set("index.creation_date", millis_now().to_string());
        settings.set("index.provided_name", name);
        settings.set("index.version.created", if self.flavor.is_elasticsearch() { "8537000" } else { "137277827" });
        let mut mapping = Mapping::new(template.get("mappings").unwrap_or(&json!({})))?;
        mapping.put(body.get("mappings").unwrap_or(&json!({})))?;
        let mut aliases = BTreeMap::new();
        for source in [template.get("aliases"), body.get("aliases")] {
            for (alias, options) in source.and_then(Value::as_object).into_iter().flatten() {
                aliases.insert(alias.clone(), options.as_object().cloned().unwrap_or_default());
            }
        }
        let shards = u32::try_from(settings.number("index.number_of_shards", 1)).unwrap_or(1);
        let index = Index {
            uuid,
            settings,
            mapping,
            aliases,
            open: true,
            shards,
            docs: HashMap::new(),
            unsynced: Vec::new(),
            primary_terms: vec![1; shards as usize],
            next_seq_no: vec![0; shards as usize],
            searchable_seq_no: vec![0; shards as usize],
            searchable_count: 0,
            live_count: 0,
            indexing_total: 0,
        };
        self.indices.insert(name.to_owned(), index);
        Ok(())
    }

    /// Whether any index carries this alias.
    pub fn has_alias(&self, alias: &str) -> bool {
        self.indices.values().any(|index| index.aliases.contains_key(alias))
    }

    /// The index template with the highest priority that applies to a name.
    pub(crate) fn template_for(&self, name: &str) -> Option<(String, Value)> {
        self.templates
            .iter()
            .filter(|(_, template)| {
                let patterns = template.get("index_patterns").and_then(Value::as_array);
                patterns.is_some_and(|all| all.iter().filter_map(Value::as_str).any(|one| pattern::matches(one, name)))
            })
            .max_by_key(|(_, template)| template.get("priority").and_then(Value::as_u64).unwrap_or(0))
            .map(|(name, template)| (name.clone(), template.clone()))
    }

    /// Creates a data stream with its first backing index.
    ///
    /// # Errors
    ///
    /// 400 where it exists or no template with `data_stream` matches.
    pub fn create_data_stream(&mut self, name: &str) -> Result<(), EsError> {
        if self.data_streams.contains_key(name) {
            return Err(EsError::new(
                400,
                "resource_already_exists_exception",
                format!("data_stream [{name}] already exists"),
            ));
        }
        let Some((template, body)) = self.template_for(name).filter(|(_, body)| body.get("data_stream").is_some())
        else {
            return Err(EsError::illegal_argument(format!(
                "no matching index template found for data stream [{name}]"
            )));
        };
        let backing = self.create_backing_index(name, 1, &body)?;
        self.data_streams.insert(name.to_owned(), DataStream { indices: vec![backing], template });
        Ok(())
    }

    /// Makes the next backing index of a data stream, which takes its documents from then on. Returns the old one and the new one.
    ///
    /// # Errors
    ///
    /// 400 where there is no such data stream.
    pub fn roll_over(&mut self, name: &str) -> Result<(String, String), EsError> {
        let missing = || EsError::illegal_argument(format!("rollover target [{name}] does not exist"));
        let stream = self.data_streams.get(name).ok_or_else(missing)?;
        let (template, generation) = (stream.template.clone(), stream.indices.len() + 1);
        let old = stream.indices.last().cloned().ok_or_else(missing)?;
        let body = self.templates.get(&template).cloned().unwrap_or_default();
        let new = self.create_backing_index(name, generation, &body)?;
        if let Some(stream) = self.data_streams.get_mut(name) {
            stream.indices.push(new.clone());
        }
        Ok((old, new))
    }

    fn create_backing_index(&mut self, name: &str, generation: usize, body: &Value) -> Result<String, EsError> {
        let backing = if self.flavor.is_elasticsearch() {
            format!(".ds-{name}-{}-{generation:06}", date_now())
        } else {
            format!(".ds-{name}-{generation:06}")
        };
        let template_body = body.get("template").cloned().unwrap_or_default();
        self.create_index(&backing, &template_body)?;
        if let Some(index) = self.indices.get_mut(&backing) {
            index.mapping.put(&json!({
                "_data_stream_timestamp": {"enabled": true},
                "properties": {"@timestamp": {"type": "date"}}
            }))?;
            index.settings.set("index.hidden", "true");
        }
        Ok(backing)
    }

    /// Counts documents that are not kept, for the null server; creates what is missing.
    ///
    /// # Errors
    ///
    /// Where the name cannot be written to.
    pub(crate) fn count_documents(&mut self, name: &str, count: usize) -> Result<(), EsError> {
        let index = match self.write_index(name)? {
            Some(target) => target.index,
            None => {
                self.create_index(name, &json!({}))?;
                name.to_owned()
            }
        };
        if let Some(index) = self.indices.get_mut(&index) {
            index.live_count += count;
        }
        Ok(())
    }

    /// Reads one document; `None` where it is not there.
    pub fn get(&self, index: &str, id: &str, routing: Option<&str>) -> Option<StoredDocument> {
        let index = self.indices.get(index)?;
        let shard = shard_of(routing.unwrap_or(id), index.shards);
        let doc = index.docs.get(&(shard, id.to_owned()))?;
        stored(id, doc)
    }
}
