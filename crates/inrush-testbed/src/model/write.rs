//! One operation applied: piped, resolved, checked and written, or answered with the error a server would give.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::index::Doc;
use super::names::{check_index_name, date_now};
use super::op::{Action, Op, VersionType};
use super::{Cluster, Target};
use crate::error::EsError;
use crate::json::{merge, parse_strict};
use crate::mapping::{DocumentContext, TOTAL_FIELDS_LIMIT, failed_to_parse};
use crate::pattern;
use crate::pipeline::Piped;
use crate::product::Flavor;
use crate::routing::shard_of;

/// How far an operation came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A pipeline dropped it.
    Drop,
    /// It failed in a pipeline.
    Failure,
    /// Its index, whatever that said.
    Index,
}

impl Cluster {
    /// Applies one operation and answers the item as the reply shows it, `{"index": {…}}`.
    pub fn apply(&mut self, op: &Op) -> Value {
        self.apply_in_bulk(op).0
    }

    /// The same, and how far it came, which decides on its place in the reply to a bulk request.
    pub fn apply_in_bulk(&mut self, op: &Op) -> (Value, Reached) {
        let mut op = op.clone();
        let auto_id = op.id.is_none();
        let piped = self.pipe(&mut op);
        let reached = match &piped {
            Ok(Piped::Kept) => Reached::Index,
            Ok(Piped::Dropped) => Reached::Drop,
            Err(_) => Reached::Failure,
        };
        (self.apply_piped(op, piped, auto_id), reached)
    }

    fn apply_piped(&mut self, mut op: Op, piped: Result<Piped, EsError>, auto_id: bool) -> Value {
        match piped {
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
                // What has no id yet fails without one on OpenSearch.
                let made_up = self.flavor.is_elasticsearch().then(|| "auto-generated".to_owned());
                let id = if auto_id { made_up } else { op.id.clone() };
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

    /// To how many different shards operations lead whose id or routing value is given.
    pub fn shards_of(&self, ops: &[Op]) -> usize {
        let shard = |op: &Op| {
            let key = op.routing.as_ref().or(op.id.as_ref())?;
            let index = self.resolve_existing(op)?;
            Some((shard_of(key, self.indices.get(&index)?.number_of_shards()), index))
        };
        ops.iter().filter_map(shard).collect::<std::collections::BTreeSet<_>>().len()
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

    pub(super) fn write_index(&self, name: &str) -> Result<Option<Target>, EsError> {
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
                        let at = (seq_no, index.primary_terms[shard as usize]);
                        return Ok(self.item(op, name, Some(id), |item| {
                            success(item, version, "noop", shards, at, 200);
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
        index.put(key, Doc { source, version, seq_no, routing: op.routing.clone() });
        let shards = index.shards_value(copies);
        let at = (seq_no, index.primary_terms[shard as usize]);
        Ok(self.item(op, name, Some(id), |item| success(item, version, result, shards, at, status)))
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
            index.put((0, id.clone()), Doc { source, version: 1, seq_no, routing: None });
        }
        self.item(op, &name, Some(&id), |item| {
            success(item, 1, "created", shards, (seq_no, 1), 201);
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
}

/// `at`: sequence number and primary term.
fn success(item: &mut Map<String, Value>, version: i64, result: &str, shards: Value, at: (u64, u64), status: u16) {
    item.insert("_version".into(), json!(version));
    item.insert("result".into(), json!(result));
    item.insert("_shards".into(), shards);
    item.insert("_seq_no".into(), json!(at.0));
    item.insert("_primary_term".into(), json!(at.1));
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
