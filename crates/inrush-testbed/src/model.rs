//! The state of the fake cluster: indices, documents, versions. One operation goes in, one item comes out.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::error::EsError;
use crate::json::{merge, parse_strict};
use crate::mapping::{DocumentContext, Mapping, TOTAL_FIELDS_LIMIT, failed_to_parse};
use crate::pattern;
use crate::pipeline::{Piped, Pipeline};
use crate::product::Flavor;
use crate::routing::shard_of;
use crate::settings::Settings;

/// What a bulk item asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write, whatever is there.
    Index,
    /// Write unless the id exists.
    Create,
    /// Change an existing document.
    Update,
    /// Remove a document.
    Delete,
}

impl Action {
    /// The name on the action line and in the reply.
    pub fn name(self) -> &'static str {
        match self {
            Action::Index => "index",
            Action::Create => "create",
            Action::Update => "update",
            Action::Delete => "delete",
        }
    }
}

/// How a given version is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionType {
    /// The server counts; a version cannot be given.
    #[default]
    Internal,
    /// Must be higher than what is there.
    External,
    /// Must not be lower than what is there.
    ExternalGte,
}

/// One operation of a bulk request.
#[derive(Clone, Debug)]
pub struct Op {
    /// What to do.
    pub action: Action,
    /// Index, alias or data stream as the request named it.
    pub index: String,
    /// The id, unless the server is to make one.
    pub id: Option<String>,
    /// Routing value, unless the id decides.
    pub routing: Option<String>,
    /// Version, with external version types.
    pub version: Option<i64>,
    /// How `version` is compared.
    pub version_type: VersionType,
    /// Compare-and-set on the sequence number.
    pub if_seq_no: Option<u64>,
    /// Ingest pipeline; `_none` for none at all.
    pub pipeline: Option<String>,
    /// Refuse names that are no alias.
    pub require_alias: bool,
    /// The document, or the body of an update; empty for deletes.
    pub source: Bytes,
}

/// A document as it is kept, or the trace of a deleted one.
#[derive(Clone, Debug)]
struct Doc {
    source: Option<Bytes>,
    version: i64,
    seq_no: u64,
    routing: Option<String>,
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
    shards: u32,
    docs: HashMap<(u32, String), Doc>,
    next_seq_no: Vec<u64>,
    searchable_seq_no: Vec<u64>,
    searchable_count: usize,
    live_count: usize,
    /// Operations applied, for `_stats`.
    pub indexing_total: u64,
}

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
    /// Indices by name.
    pub indices: BTreeMap<String, Index>,
    /// Data streams by name.
    pub data_streams: BTreeMap<String, DataStream>,
    /// Index templates by name, as given.
    pub templates: BTreeMap<String, Value>,
    /// Ingest pipelines by name.
    pub pipelines: BTreeMap<String, Pipeline>,
    counter: u64,
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
            indices: BTreeMap::new(),
            data_streams: BTreeMap::new(),
            templates: BTreeMap::new(),
            pipelines: BTreeMap::new(),
            counter: 0,
        };
        cluster.uuid = cluster.new_uuid();
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
    fn new_id(&mut self) -> String {
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

    fn template_for(&self, name: &str) -> Option<(String, Value)> {
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
        let backing = if self.flavor.is_elasticsearch() {
            format!(".ds-{name}-{}-000001", date_now())
        } else {
            format!(".ds-{name}-000001")
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
        self.data_streams.insert(name.to_owned(), DataStream { indices: vec![backing], template });
        Ok(())
    }

    /// Applies one operation and answers the item as the reply shows it, `{"index": {…}}`.
    pub fn apply(&mut self, op: &Op) -> Value {
        let mut op = op.clone();
        let auto_id = op.id.is_none();
        match self.pipe(&mut op) {
            Ok(Piped::Kept) => {}
            Ok(Piped::Dropped) => {
                let id = op.id.clone().unwrap_or_else(|| "auto-generated".to_owned());
                return self.item(&op, &op.index, Some(&id), |item| {
                    item.insert("_version".into(), json!(-3));
                    item.insert("result".into(), json!("noop"));
                    item.insert("_shards".into(), json!({"total": 0, "successful": 0, "failed": 0}));
                    item.insert("status".into(), json!(200));
                });
            }
            Err(error) => {
                let id = if auto_id { Some("auto-generated".to_owned()) } else { op.id.clone() };
                return match self.resolve(&op) {
                    Ok(Target { data_stream: Some(stream), .. }) if self.failure_store => {
                        self.store_failure(&op, &stream, &error)
                    }
                    _ => self.error_item(&op, &op.index, id.as_deref(), &error),
                };
            }
        }
        if op.id.as_deref() == Some("") && op.action != Action::Delete {
            let error = EsError::illegal_argument("if _id is specified it must not be empty");
            return self.error_item(&op, &op.index, Some(""), &error);
        }
        let target = match self.resolve(&op) {
            Ok(target) => target,
            Err(error) => return self.error_item(&op, &op.index, op.id.as_deref(), &error),
        };
        if op.id.is_none() {
            op.id = Some(self.new_id());
        }
        // Filled in just above.
        let id = op.id.clone().unwrap_or_default();
        match self.write(&op, &id, &target) {
            Ok(item) => item,
            Err(error) => match &target.data_stream {
                Some(stream) if self.failure_store && error.status == 400 && op.action == Action::Create => {
                    self.store_failure(&op, stream, &error)
                }
                _ => self.error_item(&op, &target.index, Some(&id), &error),
            },
        }
    }

    /// An item that was refused before it was applied.
    pub fn refuse(&self, op: &Op, error: &EsError) -> Value {
        let index = self.resolve_existing(op).unwrap_or_else(|| op.index.clone());
        self.error_item(op, &index, op.id.as_deref(), error)
    }

    fn pipe(&self, op: &mut Op) -> Result<Piped, EsError> {
        if !matches!(op.action, Action::Index | Action::Create) {
            return Ok(Piped::Kept);
        }
        let index = self.resolve_existing(op).and_then(|name| self.indices.get(&name));
        let setting = |name: &str| index.and_then(|index| index.settings.get(name)).map(str::to_owned);
        let first = op.pipeline.clone().or_else(|| setting("index.default_pipeline"));
        let last = setting("index.final_pipeline");
        for name in [first, last].into_iter().flatten().filter(|name| name != "_none") {
            let pipeline = self
                .pipelines
                .get(&name)
                .ok_or_else(|| EsError::illegal_argument(format!("pipeline with id [{name}] does not exist")))?;
            if let Piped::Dropped = pipeline.run(op, &self.flavor)? {
                return Ok(Piped::Dropped);
            }
        }
        Ok(Piped::Kept)
    }

    /// The index a write would go to, if everything needed is there already.
    pub fn resolve_existing(&self, op: &Op) -> Option<String> {
        self.write_index(&op.index).ok().flatten().map(|target| target.index)
    }

    fn write_index(&self, name: &str) -> Result<Option<Target>, EsError> {
        if self.indices.contains_key(name) {
            let stream = self.data_streams.iter().find(|(_, stream)| stream.indices.iter().any(|index| index == name));
            return Ok(Some(Target { index: name.to_owned(), data_stream: stream.map(|(name, _)| name.clone()) }));
        }
        if let Some(stream) = self.data_streams.get(name) {
            return Ok(stream
                .indices
                .last()
                .map(|index| Target { index: index.clone(), data_stream: Some(name.to_owned()) }));
        }
        let carriers: Vec<(&String, Option<bool>)> = self
            .indices
            .iter()
            .filter_map(|(index, state)| {
                let options = state.aliases.get(name)?;
                Some((index, options.get("is_write_index").and_then(Value::as_bool)))
            })
            .collect();
        let chosen = match carriers.as_slice() {
            [] => return Ok(None),
            [(index, flag)] if *flag != Some(false) => Some(*index),
            many => many.iter().find(|(_, flag)| *flag == Some(true)).map(|(index, _)| *index),
        };
        match chosen {
            Some(index) => Ok(Some(Target { index: index.clone(), data_stream: None })),
            None => Err(EsError::illegal_argument(format!(
                "no write index is defined for alias [{name}]. The write index may be explicitly disabled using is_write_index=false or the alias points to multiple indices without one being designated as a write index"
            ))),
        }
    }

    /// Finds where a write goes and creates what is missing, as far as that is allowed.
    fn resolve(&mut self, op: &Op) -> Result<Target, EsError> {
        let name = op.index.as_str();
        if op.require_alias && !self.has_alias(name) {
            return Err(EsError::new(
                404,
                "index_not_found_exception",
                format!(
                    "no such index [{name}] and [require_alias] request flag is [true] and [{name}] is not an alias"
                ),
            )
            .with("index_uuid", "_na_")
            .with("index", name));
        }
        if self.denied_indices.iter().any(|denied| pattern::matches(denied, name)) {
            return Err(EsError::new(
                403,
                "security_exception",
                format!("action [indices:data/write/bulk[s]] is unauthorized for user [test] on indices [{name}]"),
            ));
        }
        if let Some(target) = self.write_index(name)? {
            let stream_needs_create =
                target.data_stream.is_some() && op.action != Action::Create && !name.starts_with(".ds-");
            if stream_needs_create {
                return Err(EsError::illegal_argument(
                    "only write ops with an op_type of create are allowed in data streams",
                ));
            }
            return Ok(target);
        }
        check_index_name(name)?;
        let resource_type = if self.flavor.is_elasticsearch() { "index_or_alias" } else { "index_expression" };
        if op.action == Action::Delete && op.version_type == VersionType::Internal {
            return Err(EsError::index_not_found(name, resource_type));
        }
        if !self.auto_create_index {
            let mut error = EsError::index_not_found(name, resource_type);
            // OpenSearch says no more than that the index is missing.
            if self.flavor.is_elasticsearch() {
                error.reason = format!("no such index [{name}] and [action.auto_create_index] is [false]");
            }
            return Err(error);
        }
        if self.template_for(name).is_some_and(|(_, template)| template.get("data_stream").is_some()) {
            if op.action != Action::Create {
                return Err(EsError::illegal_argument(
                    "only write ops with an op_type of create are allowed in data streams",
                ));
            }
            self.create_data_stream(name)?;
        } else {
            self.create_index(name, &json!({}))?;
        }
        self.write_index(name)?.ok_or_else(|| EsError::index_not_found(name, resource_type))
    }

    fn write(&mut self, op: &Op, id: &str, target: &Target) -> Result<Value, EsError> {
        let flavor = self.flavor.clone();
        let copies = self.nodes;
        let name = &target.index;
        let Some(index) = self.indices.get_mut(name) else {
            return Err(EsError::index_not_found(name, "index_or_alias"));
        };
        if !index.open {
            return Err(EsError::new(400, "index_closed_exception", "closed")
                .with("index_uuid", index.uuid.clone())
                .with("index", name.as_str()));
        }
        index.check_write_block(name)?;
        let shard = shard_of(op.routing.as_deref().unwrap_or(id), index.shards);
        let key = (shard, id.to_owned());
        let old = index.docs.get(&key).cloned();
        let live = old.as_ref().filter(|doc| doc.source.is_some());
        index.check_version(op, id, name, shard, old.as_ref())?;
        let context = DocumentContext {
            flavor: &flavor,
            id,
            total_fields_limit: index.settings.number("index.mapping.total_fields.limit", TOTAL_FIELDS_LIMIT),
            ignore_malformed: index.settings.is_true("index.mapping.ignore_malformed"),
        };
        let (source, result, status) = match op.action {
            Action::Index | Action::Create => {
                let document = read_document(&flavor, &op.source)?;
                if target.data_stream.is_some() {
                    check_timestamp(&flavor, &document)?;
                }
                index.mapping.accept(&document, &context)?;
                let (result, status) = if live.is_some() { ("updated", 200) } else { ("created", 201) };
                (Some(op.source.clone()), result, status)
            }
            Action::Update => {
                let body = read_document(&flavor, &op.source)?;
                match updated(&body, live.and_then(|doc| doc.source.as_ref()))? {
                    Updated::Missing => {
                        return Err(EsError::new(
                            404,
                            "document_missing_exception",
                            format!("[{id}]: document missing"),
                        )
                        .with("index_uuid", index.uuid.clone())
                        .with("shard", shard.to_string())
                        .with("index", name.as_str()));
                    }
                    Updated::Noop => {
                        // A noop is only answered for a document that is there.
                        let (version, seq_no) = live.map_or((1, 0), |doc| (doc.version, doc.seq_no));
                        let shards = index.shards_value(copies);
                        return Ok(self.item(op, name, Some(id), |item| {
                            success(item, version, "noop", shards, seq_no, 200);
                        }));
                    }
                    Updated::Document(document) => {
                        index.mapping.accept(&document, &context)?;
                        let (result, status) = if live.is_some() { ("updated", 200) } else { ("created", 201) };
                        let bytes = serde_json::to_vec(&document).unwrap_or_default();
                        (Some(Bytes::from(bytes)), result, status)
                    }
                }
            }
            Action::Delete if live.is_some() => (None, "deleted", 200),
            Action::Delete => (None, "not_found", 404),
        };
        let version = match op.version {
            Some(version) => version,
            None => old.as_ref().map_or(1, |doc| doc.version + 1),
        };
        match (live.is_some(), source.is_some()) {
            (false, true) => index.live_count += 1,
            (true, false) => index.live_count -= 1,
            _ => {}
        }
        let seq_no = index.next_seq_no[shard as usize];
        index.next_seq_no[shard as usize] += 1;
        index.indexing_total += 1;
        index.docs.insert(key, Doc { source, version, seq_no, routing: op.routing.clone() });
        let shards = index.shards_value(copies);
        Ok(self.item(op, name, Some(id), |item| success(item, version, result, shards, seq_no, status)))
    }

    /// Elasticsearch's failure store: the document goes aside, the item is a success that says so.
    fn store_failure(&mut self, op: &Op, stream: &str, error: &EsError) -> Value {
        let name = format!(".fs-{stream}-{}-000001", date_now());
        if !self.indices.contains_key(&name)
            && let Err(error) = self.create_index(&name, &json!({}))
        {
            return self.error_item(op, &op.index, op.id.as_deref(), &error);
        }
        let id = self.new_id();
        let copies = self.nodes;
        let document = json!({
            "document": {"id": op.id, "index": op.index, "source": String::from_utf8_lossy(&op.source)},
            "error": {"type": error.kind, "message": error.reason}
        });
        let mut seq_no = 0;
        let mut shards = json!({});
        if let Some(index) = self.indices.get_mut(&name) {
            seq_no = index.next_seq_no[0];
            index.next_seq_no[0] += 1;
            index.live_count += 1;
            shards = index.shards_value(copies);
            let source = Some(Bytes::from(document.to_string()));
            index.docs.insert((0, id.clone()), Doc { source, version: 1, seq_no, routing: None });
        }
        self.item(op, &name, Some(&id), |item| {
            success(item, 1, "created", shards, seq_no, 201);
            item.insert("failure_store".into(), json!("used"));
        })
    }

    fn item(&self, op: &Op, index: &str, id: Option<&str>, fill: impl FnOnce(&mut Map<String, Value>)) -> Value {
        let mut item = Map::new();
        item.insert("_index".into(), json!(index));
        if self.flavor.has_types() {
            item.insert("_type".into(), json!("_doc"));
        }
        item.insert("_id".into(), json!(id));
        fill(&mut item);
        let mut outer = Map::new();
        outer.insert(op.action.name().into(), Value::Object(item));
        Value::Object(outer)
    }

    fn error_item(&self, op: &Op, index: &str, id: Option<&str>, error: &EsError) -> Value {
        self.item(op, index, id, |item| {
            item.insert("status".into(), json!(error.status));
            item.insert("error".into(), error.to_item());
        })
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

    fn shards_value(&self, nodes: usize) -> Value {
        let total = self.copies();
        json!({"total": total, "successful": total.min(nodes.max(1)), "failed": 0})
    }

    fn check_write_block(&self, name: &str) -> Result<(), EsError> {
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

    fn check_version(&self, op: &Op, id: &str, name: &str, shard: u32, old: Option<&Doc>) -> Result<(), EsError> {
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

fn stored(id: &str, doc: &Doc) -> Option<StoredDocument> {
    Some(StoredDocument {
        id: id.to_owned(),
        source: doc.source.clone()?,
        version: doc.version,
        seq_no: doc.seq_no,
        routing: doc.routing.clone(),
    })
}

fn success(item: &mut Map<String, Value>, version: i64, result: &str, shards: Value, seq_no: u64, status: u16) {
    item.insert("_version".into(), json!(version));
    item.insert("result".into(), json!(result));
    item.insert("_shards".into(), shards);
    item.insert("_seq_no".into(), json!(seq_no));
    item.insert("_primary_term".into(), json!(1));
    item.insert("status".into(), json!(status));
}

fn read_document(flavor: &Flavor, source: &[u8]) -> Result<Map<String, Value>, EsError> {
    let first = source.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => {
            let text = if flavor.is_elasticsearch_8() {
                "[0:0] failed to parse, document is empty"
            } else {
                "failed to parse, document is empty"
            };
            Err(EsError::new(400, flavor.mapper_error_type(), text))
        }
        Some(b'{') => match parse_strict(source) {
            Ok(Value::Object(document)) => Ok(document),
            Ok(_) => Err(failed_to_parse(flavor, "not_x_content_exception", "not an object")),
            Err(error) => Err(failed_to_parse(flavor, "json_parse_exception", &error.to_string())),
        },
        Some(_) if flavor.is_elasticsearch_8() => {
            Err(EsError::new(400, flavor.mapper_error_type(), "Malformed content, must start with an object"))
        }
        Some(_) => Err(failed_to_parse(
            flavor,
            "not_x_content_exception",
            "Compressor detection can only be called on some xcontent bytes or compressed xcontent bytes",
        )),
    }
}

fn check_timestamp(flavor: &Flavor, document: &Map<String, Value>) -> Result<(), EsError> {
    if document.get("@timestamp").is_some_and(|value| value.is_string() || value.is_number()) {
        return Ok(());
    }
    let reason = if flavor.is_elasticsearch() {
        "data stream timestamp field [@timestamp] is missing"
    } else {
        "documents must contain a single-valued timestamp field '@timestamp' of date type"
    };
    Err(failed_to_parse(flavor, "illegal_argument_exception", reason))
}

enum Updated {
    Missing,
    Noop,
    Document(Map<String, Value>),
}

fn updated(body: &Map<String, Value>, current: Option<&Bytes>) -> Result<Updated, EsError> {
    if body.contains_key("script") {
        return Err(EsError::illegal_argument("failed to execute script: the fake cluster runs no scripts"));
    }
    let patch = body.get("doc").and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(current) = current else {
        let as_upsert = body.get("doc_as_upsert") == Some(&json!(true));
        return Ok(match body.get("upsert").and_then(Value::as_object) {
            _ if as_upsert => Updated::Document(patch),
            Some(upsert) => Updated::Document(upsert.clone()),
            None => Updated::Missing,
        });
    };
    // The model stores nothing but JSON objects.
    let mut document: Map<String, Value> = serde_json::from_slice(current).unwrap_or_default();
    let changed = merge(&mut document, &patch);
    let detect_noop = body.get("detect_noop") != Some(&json!(false));
    Ok(if changed || !detect_noop { Updated::Document(document) } else { Updated::Noop })
}

fn check_index_name(name: &str) -> Result<(), EsError> {
    let complaint = if name.is_empty() {
        "must not be empty"
    } else if name.chars().any(char::is_uppercase) {
        "must be lowercase"
    } else if name.starts_with(['_', '-', '+']) {
        "must not start with '_', '-', or '+'"
    } else if name.contains(['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',', '#']) {
        "must not contain the following characters [ , \", *, \\, <, |, ,, >, /, ?]"
    } else if name.len() > 255 {
        "index name is too long"
    } else if name.contains(':') {
        "must not contain ':'"
    } else {
        return Ok(());
    };
    Err(EsError::new(400, "invalid_index_name_exception", format!("Invalid index name [{name}], {complaint}"))
        .with("index_uuid", "_na_")
        .with("index", name))
}

/// SplitMix64's finaliser: consecutive counters give ids that look unrelated.
pub(crate) fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn millis_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Today as `yyyy.MM.dd`, UTC, for the names of backing indices.
fn date_now() -> String {
    // Days to civil date, after Howard Hinnant's chrono-compatible algorithm.
    let z = millis_now() / 86_400_000 + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}.{month:02}.{day:02}")
}
