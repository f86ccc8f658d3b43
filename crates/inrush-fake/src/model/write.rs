//! One operation: it runs through pipelines, finds its index, is checked and written, or is
//! answered with the server's error.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::cluster::Cluster;
use super::document::Slot;
use super::index::Index;
use super::mapping::{DocumentContext, TOTAL_FIELDS_LIMIT, failed_to_parse};
use super::modes::id_of_document;
use super::op::{Action, Op};
use super::pipeline::Piped;
use super::resolve::Target;
use crate::clock::date_now;
use crate::error::ServerError;
use crate::json::{merge, parse_strict};
use crate::product::Flavor;

/// The last stage that an operation reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// A pipeline dropped the document.
    Drop,
    /// A pipeline failed.
    Failure,
    /// The index took or refused the operation.
    Index,
}

/// A change that an index is about to take.
enum Change {
    /// The new source, `None` for a delete, with `result` and `status` of the item.
    Write { source: Option<Bytes>, result: &'static str, status: u16 },
    /// An update that changes no field.
    Noop,
}

impl Cluster {
    /// Applies one operation. Returns the item of the reply, such as `{"index": {…}}`.
    pub(crate) fn apply(&mut self, op: &Op) -> Value {
        self.apply_in_bulk(op).0
    }

    /// Applies one operation. Returns the item and the last stage, which decides on the position of
    /// the item in a reply.
    pub(crate) fn apply_in_bulk(&mut self, op: &Op) -> (Value, Reached) {
        let mut op = op.clone();
        let auto_id = op.id.is_none();
        match self.run_pipelines(&mut op) {
            Ok(Piped::Kept) => (self.apply_piped(op), Reached::Index),
            Ok(Piped::Dropped) => (self.dropped_item(&op), Reached::Drop),
            Err(error) => (self.failed_item(&op, auto_id, &error), Reached::Failure),
        }
    }

    /// The operation without the vectors of its document.
    pub(crate) fn without_vectors(&self, op: &Op) -> Op {
        let index = self.resolve_existing(op).and_then(|name| self.indices.get(&name));
        let (Some(index), Ok(source)) = (index, serde_json::from_slice(&op.source)) else { return op.clone() };
        let source = index.mapping.source_shown(source, false, false);
        Op { source: source.to_string().into(), ..op.clone() }
    }

    /// The item of an operation that is refused before it is applied.
    pub(crate) fn refuse(&self, op: &Op, error: &ServerError) -> Value {
        let index = self.resolve_existing(op).unwrap_or_else(|| op.index.clone());
        self.error_item(op, &index, op.id.as_deref(), error)
    }

    fn run_pipelines(&self, op: &mut Op) -> Result<Piped, ServerError> {
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
                .ok_or_else(|| ServerError::illegal_argument(format!("pipeline with id [{name}] does not exist")))?;
            if let Piped::Dropped = pipeline.run(op, &self.flavor)? {
                return Ok(Piped::Dropped);
            }
        }
        Ok(Piped::Kept)
    }

    fn dropped_item(&self, op: &Op) -> Value {
        let id = op.id.as_deref().unwrap_or("auto-generated");
        self.item(op, &op.index, Some(id), |item| {
            item.insert("_version".into(), json!(-3));
            item.insert("result".into(), json!("noop"));
            item.insert("_shards".into(), json!({"total": 0, "successful": 0, "failed": 0}));
            item.insert("status".into(), json!(200));
        })
    }

    fn failed_item(&mut self, op: &Op, auto_id: bool, error: &ServerError) -> Value {
        // Without an id, the item of OpenSearch has none, and that of Elasticsearch a made-up one.
        let made_up = self.flavor.is_elasticsearch().then(|| "auto-generated".to_owned());
        let id = if auto_id { made_up } else { op.id.clone() };
        match self.resolve(op) {
            Ok(Target { data_stream: Some(stream), .. }) if self.failure_store => {
                self.store_failure(op, &stream, error)
            }
            _ => self.error_item(op, &op.index, id.as_deref(), error),
        }
    }

    fn apply_piped(&mut self, mut op: Op) -> Value {
        if op.id.as_deref() == Some("") && op.action != Action::Delete {
            let error = ServerError::illegal_argument("if _id is specified it must not be empty");
            return self.error_item(&op, &op.index, Some(""), &error);
        }
        let target = match self.resolve(&op) {
            Ok(target) => target,
            Err(error) => return self.error_item(&op, &op.index, op.id.as_deref(), &error),
        };
        let id = match self.made_of_document(&op, &target) {
            Err(error) => return self.error_item(&op, &target.index, op.id.as_deref(), &error),
            Ok(Some(id)) => id,
            Ok(None) => op.id.clone().unwrap_or_else(|| self.new_id()),
        };
        op.id = Some(id.clone());
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

    /// The id of a document in an index that makes it of the document itself.
    fn made_of_document(&self, op: &Op, target: &Target) -> Result<Option<String>, ServerError> {
        let series = self.indices.get(&target.index).filter(|index| index.settings.is_time_series());
        let Some(index) = series else { return Ok(None) };
        let about = (&index.settings, &index.mapping, &self.flavor);
        id_of_document(op, &target.index, about, || read_document(&self.flavor, &op.source)).map(Some)
    }

    fn write(&mut self, op: &Op, id: &str, target: &Target) -> Result<Value, ServerError> {
        let nodes = self.nodes;
        let name = &target.index;
        let Some(index) = self.indices.get_mut(name) else {
            return Err(ServerError::index_not_found(name, "index_or_alias"));
        };
        if !index.open {
            return Err(ServerError::new(400, "index_closed_exception", "closed")
                .with("index_uuid", index.uuid.clone())
                .with("index", name.as_str()));
        }
        index.check_write_block(name)?;
        let hides_seq_nos = index.settings.hides_seq_nos();
        if hides_seq_nos && op.action == Action::Update {
            let reason = "Updates are not supported on indices with sequence numbers disabled";
            return Err(ServerError::new(400, "update_not_supported_exception", reason));
        }
        let shard = index.placement.shard(id, op.routing.as_deref());
        let key = (shard, id.to_owned());
        let old = index.docs.get(&key).cloned();
        index.check_version(op, id, name, shard, old.as_ref())?;
        let change = change(&self.flavor, index, op, id, target, shard, old.as_ref())?;
        let live = old.as_ref().filter(|slot| slot.source.is_some());
        let shards = index.shards_value(nodes);
        let term = index.primary_terms[shard as usize];
        let (source, result, status) = match change {
            Change::Write { source, result, status } => (source, result, status),
            Change::Noop => {
                // Only an existing document can stay as it is.
                let (version, seq_no) = live.map_or((1, 0), |slot| (slot.version, slot.seq_no));
                return Ok(self.item(op, name, Some(id), |item| {
                    success(item, version, "noop", shards, (json!(seq_no), json!(term)), 200);
                }));
            }
        };
        let version = match op.version {
            Some(version) => version,
            None => old.as_ref().map_or(1, |slot| slot.version + 1),
        };
        match (live.is_some(), source.is_some()) {
            (false, true) => index.live_count += 1,
            (true, false) => index.live_count -= 1,
            _ => {}
        }
        let seq_no = index.take_seq_no(shard);
        index.indexing_total += 1;
        index.put(key, Slot { source, version, seq_no, primary_term: term, routing: op.routing.clone() });
        let at = if hides_seq_nos { (json!(-2), json!(0)) } else { (json!(seq_no), json!(term)) };
        Ok(self.item(op, name, Some(id), |item| success(item, version, result, shards, at, status)))
    }

    /// Elasticsearch's failure store: the document goes into the failure index, and the item is a
    /// success with `failure_store: used`.
    fn store_failure(&mut self, op: &Op, stream: &str, error: &ServerError) -> Value {
        let name = format!(".fs-{stream}-{}-000001", date_now());
        if !self.indices.contains_key(&name)
            && let Err(error) = self.create_index(&name, &json!({}))
        {
            return self.error_item(op, &op.index, op.id.as_deref(), &error);
        }
        let id = self.new_id();
        let nodes = self.nodes;
        let document = json!({
            "document": {"id": op.id, "index": op.index, "source": String::from_utf8_lossy(&op.source)},
            "error": {"type": error.kind, "message": error.reason}
        });
        let mut seq_no = 0;
        let mut shards = json!({});
        if let Some(index) = self.indices.get_mut(&name) {
            seq_no = index.take_seq_no(0);
            index.live_count += 1;
            shards = index.shards_value(nodes);
            let source = Some(Bytes::from(document.to_string()));
            index.put((0, id.clone()), Slot { source, version: 1, seq_no, primary_term: 1, routing: None });
        }
        self.item(op, &name, Some(&id), |item| {
            success(item, 1, "created", shards, (json!(seq_no), json!(1)), 201);
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

    fn error_item(&self, op: &Op, index: &str, id: Option<&str>, error: &ServerError) -> Value {
        self.item(op, index, id, |item| {
            item.insert("status".into(), json!(error.status));
            item.insert("error".into(), error.to_item());
        })
    }
}

/// The change of an operation, its document checked against the mapping.
fn change(
    flavor: &Flavor,
    index: &mut Index,
    op: &Op,
    id: &str,
    target: &Target,
    shard: u32,
    old: Option<&Slot>,
) -> Result<Change, ServerError> {
    let live = old.and_then(|slot| slot.source.as_ref());
    let context = DocumentContext {
        flavor,
        id,
        total_fields_limit: index.settings.number("index.mapping.total_fields.limit", TOTAL_FIELDS_LIMIT),
        ignore_malformed: index.settings.is_true("index.mapping.ignore_malformed"),
    };
    let (result, status) = if live.is_some() { ("updated", 200) } else { ("created", 201) };
    match op.action {
        Action::Index | Action::Create => {
            let document = read_document(flavor, &op.source)?;
            if target.data_stream.is_some() {
                check_timestamp(flavor, &document)?;
            }
            index.mapping.accept(&document, &context)?;
            Ok(Change::Write { source: Some(op.source.clone()), result, status })
        }
        Action::Update => match updated(&read_document(flavor, &op.source)?, live)? {
            Updated::Missing => {
                let reason = format!("[{id}]: document missing");
                Err(ServerError::new(404, "document_missing_exception", reason)
                    .with("index_uuid", index.uuid.clone())
                    .with("shard", shard.to_string())
                    .with("index", target.index.as_str()))
            }
            Updated::Noop => Ok(Change::Noop),
            Updated::Document(document) => {
                index.mapping.accept(&document, &context)?;
                let bytes = serde_json::to_vec(&document).unwrap_or_default();
                Ok(Change::Write { source: Some(Bytes::from(bytes)), result, status })
            }
        },
        Action::Delete if live.is_some() => Ok(Change::Write { source: None, result: "deleted", status: 200 }),
        Action::Delete => Ok(Change::Write { source: None, result: "not_found", status: 404 }),
    }
}

/// Fills the item of a success. `at` is the sequence number and the primary term.
fn success(item: &mut Map<String, Value>, version: i64, result: &str, shards: Value, at: (Value, Value), status: u16) {
    item.insert("_version".into(), json!(version));
    item.insert("result".into(), json!(result));
    item.insert("_shards".into(), shards);
    item.insert("_seq_no".into(), at.0);
    item.insert("_primary_term".into(), at.1);
    item.insert("status".into(), json!(status));
}

fn read_document(flavor: &Flavor, source: &[u8]) -> Result<Map<String, Value>, ServerError> {
    let first = source.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => {
            let text = if flavor.is_elasticsearch_8() {
                "[0:0] failed to parse, document is empty"
            } else {
                "failed to parse, document is empty"
            };
            Err(ServerError::new(400, flavor.mapper_error_type(), text))
        }
        Some(b'{') => match parse_strict(source) {
            Ok(Value::Object(document)) => Ok(document),
            Ok(_) => Err(failed_to_parse(flavor, "not_x_content_exception", "not an object")),
            Err(error) => Err(failed_to_parse(flavor, "json_parse_exception", &error.to_string())),
        },
        Some(_) if flavor.is_elasticsearch_8() => {
            Err(ServerError::new(400, flavor.mapper_error_type(), "Malformed content, must start with an object"))
        }
        Some(_) => Err(failed_to_parse(
            flavor,
            "not_x_content_exception",
            "Compressor detection can only be called on some xcontent bytes or compressed xcontent bytes",
        )),
    }
}

/// Refuses a document for a data stream without a timestamp.
fn check_timestamp(flavor: &Flavor, document: &Map<String, Value>) -> Result<(), ServerError> {
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

/// The result of a partial update.
enum Updated {
    Missing,
    Noop,
    Document(Map<String, Value>),
}

/// Applies the body of an update to the present source; `None` is a missing document.
fn updated(body: &Map<String, Value>, current: Option<&Bytes>) -> Result<Updated, ServerError> {
    if body.contains_key("script") {
        return Err(ServerError::illegal_argument("failed to execute script: the fake cluster runs no scripts"));
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
    // The model stores JSON objects only.
    let mut document: Map<String, Value> = serde_json::from_slice(current).unwrap_or_default();
    let changed = merge(&mut document, &patch);
    let detect_noop = body.get("detect_noop") != Some(&json!(false));
    Ok(if changed || !detect_noop { Updated::Document(document) } else { Updated::Noop })
}
