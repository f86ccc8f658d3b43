//! What a name stands for in the cluster, and creating and deleting indices.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use inrush_core::FieldTypes;
use inrush_core::operation::check_index_name;
use inrush_core::vectors::graph;
use inrush_core::wildcard;
use serde_json::{Map, Value, json};

use super::allocation;
use super::error::{ClusterError, error_type};
use super::index_mode::IndexMode;
use super::made;
use super::policy::seconds;
use super::rest::Answer;
use crate::transport::{Transport, path_segment};

/// The servers' default of `index.mapping.total_fields.limit`.
pub const FIELDS_LIMIT_DEFAULT: u64 = 1000;

/// What documents are written to, by the name that the user gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name that the user gave.
    pub name: String,
    /// What the name stands for.
    pub kind: TargetKind,
}

/// What a name can stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetKind {
    /// Nothing yet. The first document, or [`create`], creates it.
    Missing {
        /// The index template that applies, if any.
        template: Option<Template>,
        /// Whether only the first document can create it, because the user may not. It may become
        /// a data stream.
        by_document: bool,
    },
    /// An index.
    Index(IndexInfo),
    /// An alias with one index that takes the documents.
    Alias {
        /// The index that takes the documents.
        write: IndexInfo,
        /// All indices of the alias: searches and counts through the alias include them all.
        indices: Vec<String>,
        /// Whether the alias has a filter, so that a count through it may leave documents out.
        filtered: bool,
    },
    /// A data stream, which accepts only the action `create`.
    DataStream {
        /// The name of the data stream. It differs from the target's name if that is an alias of
        /// the stream.
        stream: String,
        /// The backing index that takes the documents now.
        write: IndexInfo,
    },
    /// The user may not read what the name stands for.
    Hidden,
}

impl Target {
    /// The index that takes the documents now, if it is known.
    pub fn write_index(&self) -> Option<&IndexInfo> {
        match &self.kind {
            TargetKind::Index(index) => Some(index),
            TargetKind::Alias { write, .. } | TargetKind::DataStream { write, .. } => Some(write),
            TargetKind::Missing { .. } | TargetKind::Hidden => None,
        }
    }

    /// The same, left to the first document to create.
    pub fn by_document(mut self) -> Target {
        if let TargetKind::Missing { by_document, .. } = &mut self.kind {
            *by_document = true;
        }
        self
    }

    /// Whether documents must be sent with `create`: the target is a data stream, or will or may be
    /// one.
    pub fn is_data_stream(&self) -> bool {
        match &self.kind {
            TargetKind::DataStream { .. } => true,
            TargetKind::Missing { template, by_document } => {
                *by_document || template.as_ref().is_some_and(|template| template.data_stream)
            }
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::Hidden => false,
        }
    }
}

/// An index template that applies to an index that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// Whether it creates data streams. Then no index of this name can be created.
    pub data_stream: bool,
}

/// A block that keeps documents out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// `index.blocks.write`.
    Write,
    /// `index.blocks.read_only`.
    ReadOnly,
    /// `index.blocks.read_only_allow_delete`: the servers set it when a disk reaches the flood
    /// stage.
    FloodStage,
}

impl Block {
    /// The name of the setting.
    pub const fn setting(self) -> &'static str {
        match self {
            Block::Write => "index.blocks.write",
            Block::ReadOnly => "index.blocks.read_only",
            Block::FloodStage => "index.blocks.read_only_allow_delete",
        }
    }
}

/// The properties of an index that matter to a writer.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexInfo {
    /// The name of the index itself, never an alias.
    pub name: String,
    /// The UUID of the index. It differs for a later index of the same name.
    pub uuid: String,
    /// Number of primary shards.
    pub shards: u32,
    /// Number of replicas of each primary shard.
    pub replicas: u32,
    /// Whether the index is closed: it takes no documents until it is opened.
    pub closed: bool,
    /// Blocks that keep documents out.
    pub blocks: Vec<Block>,
    /// Number of fields of the mapping as the server counts them, objects and multi-fields
    /// included.
    pub fields: u64,
    /// Fields of the mapping that rows are written for.
    pub field_types: FieldTypes,
    /// It was created without graphs of its vectors, which are to be built later, or a setting lets
    /// none be built.
    pub graphs_are_to_come: bool,
    /// `index.mapping.total_fields.limit`.
    pub fields_limit: u64,
    /// The pipeline for requests that name none (`index.default_pipeline`).
    pub default_pipeline: Option<String>,
    /// The pipeline that always runs last (`index.final_pipeline`).
    pub final_pipeline: Option<String>,
    /// `index.refresh_interval`, if it is set.
    pub refresh_interval: Option<String>,
    /// The policy that manages the index (ILM, ISM), if its settings name one.
    pub policy: Option<String>,
    /// How it takes documents (`index.mode`).
    pub mode: IndexMode,
}

/// Finds out what `name` stands for.
///
/// # Errors
/// [`ClusterError::Target`] for an alias without a write index, [`ClusterError`] if the request
/// fails.
pub async fn resolve(transport: &Transport, name: &str) -> Result<Target, ClusterError> {
    let what = format!("looking up {name}");
    let kind = match transport.find(&what, Method::GET, &format!("/{}", path_segment(name))).await? {
        Some(body) => kind_of(name, &body)?,
        None => TargetKind::Missing { template: template_for(transport, name).await?, by_document: false },
    };
    Ok(Target { name: name.to_owned(), kind })
}

/// Whether an index, alias or data stream of this name exists.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn exists(transport: &Transport, name: &str) -> Result<bool, ClusterError> {
    let path = format!("/{}?filter_path=*.settings.index.uuid", path_segment(name));
    Ok(transport.find(&format!("looking up {name}"), Method::GET, &path).await?.is_some())
}

/// The UUIDs of the indices behind `name`, by their own names. A later index of the same name has
/// another UUID. Empty if nothing has this name.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn uuids(transport: &Transport, name: &str) -> Result<BTreeMap<String, String>, ClusterError> {
    let what = format!("looking up {name}");
    let path = format!("/{}?filter_path=*.settings.index.uuid", path_segment(name));
    let body = transport.find(&what, Method::GET, &path).await?.unwrap_or_default();
    let uuid = |index: &Value| index.pointer("/settings/index/uuid")?.as_str().map(str::to_owned);
    let indices = body.as_object().into_iter().flatten();
    Ok(indices.filter_map(|(name, index)| Some((name.clone(), uuid(index)?))).collect())
}

/// How long the index remembers the version of a deleted document (`index.gc_deletes`). `None`
/// where the index has the default, 60 s.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn gc_deletes(transport: &Transport, name: &str) -> Result<Option<Duration>, ClusterError> {
    let what = format!("settings of {name}");
    let path = format!("/{}/_settings/index.gc_deletes?flat_settings=true", path_segment(name));
    let answer = transport.ask(Method::GET, &path, None).await?;
    let body = answer.json(&what)?;
    if !(200..=299).contains(&answer.status()) {
        return Err(ClusterError::from_status(&what, answer.status(), &body));
    }
    let mut indices = body.as_object().into_iter().flatten();
    let set = indices.find_map(|(_, index)| index.pointer("/settings/index.gc_deletes")?.as_str());
    let time = |text: &str| Duration::try_from_secs_f64(seconds(text)?).ok();
    // A value in another form was set on purpose.
    Ok(set.map(|text| time(text).unwrap_or(Duration::MAX)))
}

/// How an index is created. The server or its templates decide everything that is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateIndex {
    /// The body of `settings`, in any of the forms that the servers accept.
    pub settings: Option<Value>,
    /// The body of `mappings`.
    pub mappings: Option<Value>,
    /// `index.number_of_shards`. Takes precedence over `settings`.
    pub shards: Option<u32>,
    /// `index.number_of_replicas`. Takes precedence over `settings`.
    pub replicas: Option<u32>,
    /// The aliases, with their properties.
    pub aliases: Map<String, Value>,
}

/// Whether [`create`] created the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// This call created it.
    New,
    /// It existed already, with settings and mapping of its own.
    Existing,
}

/// Creates the index `name`. An existing index is left as it is and reported as
/// [`Created::Existing`].
///
/// A request without a clear answer may have been carried out. If the index then exists, it counts
/// as created by this call only where it is empty, and its settings and mapping are those of `how`.
///
/// # Errors
/// [`ClusterError::Target`] for a name that no server accepts, [`ClusterError::Refused`] with the
/// server's reason for settings and mappings that it rejects.
pub async fn create(transport: &Transport, name: &str, how: &CreateIndex) -> Result<Created, ClusterError> {
    match create_with(transport, name, how, "").await? {
        Creation::Answered(created) => Ok(created),
        Creation::InDoubt if made::is_ours(transport, name, how).await? => Ok(Created::New),
        Creation::InDoubt => {
            tracing::warn!(
                "another client created the index {name} while this one was about to, with another mapping, other settings or documents: it is used as it is"
            );
            Ok(Created::Existing)
        }
    }
}

/// The query that makes the servers answer once the index is known, before its shards are assigned.
pub(super) const WAIT_FOR_NO_SHARD: &str = "?wait_for_active_shards=0";

/// The end of a request that creates an index.
pub(super) enum Creation {
    /// The server said which of the two it is.
    Answered(Created),
    /// The index exists, and an earlier attempt may have created it.
    InDoubt,
}

/// As [`create`], with a query.
pub(super) async fn create_with(
    transport: &Transport,
    name: &str,
    how: &CreateIndex,
    query: &str,
) -> Result<Creation, ClusterError> {
    check_index_name(name).map_err(|problem| ClusterError::Target { name: name.to_owned(), problem })?;
    let what = format!("creating the index {name}");
    let path = format!("/{}{query}", path_segment(name));
    let answer = match transport.ask(Method::PUT, &path, Some(&creation_body(how))).await {
        Ok(answer) => answer,
        Err(error) if error.kind.surely_not_applied() => return Err(error.into()),
        Err(error) => return Err(tell_of_doubt(name, error.into())),
    };
    let body = answer.json(&what)?;
    match answer.status() {
        200..=299 => {
            if body.get("shards_acknowledged") == Some(&Value::Bool(false)) {
                let why = allocation::unassigned(transport, name).await;
                let why = why.map_or_else(String::new, |unassigned| format!(": {}", unassigned.why));
                tracing::warn!("the index {name} was created, but its primary shards are not assigned yet{why}");
            }
            Ok(Creation::Answered(Created::New))
        }
        400 if already_exists(&body) && answer.in_doubt => Ok(Creation::InDoubt),
        400 if already_exists(&body) => Ok(Creation::Answered(Created::Existing)),
        status @ 500.. => Err(tell_of_doubt(name, ClusterError::from_status(&what, status, &body))),
        status => Err(ClusterError::from_status(&what, status, &body).of_new_index(&body)),
    }
}

/// Names an index that an attempt may have created, and that nothing takes back.
fn tell_of_doubt(name: &str, error: ClusterError) -> ClusterError {
    tracing::warn!("the index {name} may have been created, or may yet be: look at GET /{name}");
    error
}

/// Deletes the index `name` with all its documents. False if there was none. The server refuses to
/// delete an alias or a data stream.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn delete(transport: &Transport, name: &str) -> Result<bool, ClusterError> {
    delete_where(transport, name, |_| true).await
}

/// The same for the index of this UUID. After a request without a clear answer, an index of its
/// name that another client has created since is left alone.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn delete_this(transport: &Transport, name: &str, uuid: &str) -> Result<bool, ClusterError> {
    delete_where(transport, name, |now| now == uuid).await
}

async fn delete_where(
    transport: &Transport,
    name: &str,
    is_the_one: impl Fn(&str) -> bool,
) -> Result<bool, ClusterError> {
    check_index_name(name).map_err(|problem| ClusterError::Target { name: name.to_owned(), problem })?;
    let what = format!("deleting the index {name}");
    let path = format!("/{}", path_segment(name));
    let mut again = transport.again(what.as_str());
    let mut in_doubt = false;
    loop {
        if in_doubt && !uuids(transport, name).await?.get(name).is_some_and(|uuid| is_the_one(uuid)) {
            return Ok(true);
        }
        let answer: Result<Answer, _> = transport.ask(Method::DELETE, &path, None).await;
        let error = match answer {
            Ok(answer) => match answer.status() {
                200..=299 if !answer.is_page() => return Ok(true),
                404 => return Ok(in_doubt),
                200..=299 => ClusterError::Reply { what: what.clone(), problem: "not JSON".to_owned() },
                status => ClusterError::from_status(&what, status, &answer.json(&what)?),
            },
            Err(error) => error.into(),
        };
        if !error.may_be_done() || !again.pause(&error).await {
            return Err(error);
        }
        in_doubt = true;
    }
}

/// Whether an index was refused because a template makes data streams of its name.
pub fn needs_data_stream(error: &ClusterError) -> bool {
    matches!(error, ClusterError::Refused { reason, .. } if reason.contains("creates data streams only"))
}

fn already_exists(body: &Value) -> bool {
    matches!(error_type(body), Some("resource_already_exists_exception" | "index_already_exists_exception"))
}

/// The body of the request that creates an index.
pub fn creation_body(how: &CreateIndex) -> Value {
    let mut settings = how.settings.clone();
    if let Some(shards) = how.shards {
        settings = Some(with_setting(settings, "number_of_shards", shards));
    }
    if let Some(replicas) = how.replicas {
        settings = Some(with_setting(settings, "number_of_replicas", replicas));
    }
    let mut body = Map::new();
    if let Some(settings) = settings {
        body.insert("settings".into(), settings);
    }
    if let Some(mappings) = &how.mappings {
        body.insert("mappings".into(), mappings.clone());
    }
    if !how.aliases.is_empty() {
        body.insert("aliases".into(), Value::Object(how.aliases.clone()));
    }
    Value::Object(body)
}

/// Sets one setting of the index and removes it in the other forms in which it may have been given.
/// The servers accept a body that has a setting twice, and no documentation says which of the two
/// counts.
fn with_setting(settings: Option<Value>, key: &str, value: u32) -> Value {
    let mut settings = match settings {
        Some(Value::Object(settings)) => settings,
        Some(_) | None => Map::new(),
    };
    settings.remove(key);
    if let Some(Value::Object(index)) = settings.get_mut("index") {
        index.remove(key);
    }
    settings.insert(format!("index.{key}"), json!(value));
    Value::Object(settings)
}

fn kind_of(name: &str, body: &Value) -> Result<TargetKind, ClusterError> {
    let reply = |problem: String| ClusterError::Reply { what: format!("looking up {name}"), problem };
    let indices = body.as_object().filter(|indices| !indices.is_empty());
    let indices = indices.ok_or_else(|| reply("no index in the answer".into()))?;
    if let Some(index) = indices.get(name) {
        return index_info(name, index).map(TargetKind::Index);
    }

    let streams: Vec<Option<&str>> = indices.values().map(|index| index.get("data_stream")?.as_str()).collect();
    if let Some(Some(stream)) = streams.first() {
        if streams.iter().any(|other| *other != Some(stream)) {
            let problem = "it is an alias of several data streams; load into one of them by its name";
            return Err(ClusterError::Target { name: name.to_owned(), problem: problem.to_owned() });
        }
        let newest = indices.iter().max_by_key(|(index, _)| generation(index));
        let (write, index) = newest.ok_or_else(|| reply("a data stream without indices".into()))?;
        return Ok(TargetKind::DataStream { stream: (*stream).to_owned(), write: index_info(write, index)? });
    }

    let alias = |index: &'_ Value| index.get("aliases").and_then(|aliases| aliases.get(name)).cloned();
    let is_write = |index: &Value| alias(index)?.get("is_write_index")?.as_bool();
    let marked = indices.iter().find(|(_, index)| is_write(index) == Some(true));
    let only = indices.iter().next().filter(|(_, index)| indices.len() == 1 && is_write(index).is_none());
    let Some((write, index)) = marked.or(only) else {
        let names: Vec<&str> = indices.keys().map(String::as_str).take(5).collect();
        return Err(ClusterError::Target {
            name: name.to_owned(),
            problem: format!(
                "it is an alias without a write index (of {}{}); set is_write_index on one of them, or load into an index by its name",
                names.join(", "),
                if indices.len() > names.len() { ", …" } else { "" },
            ),
        });
    };
    Ok(TargetKind::Alias {
        write: index_info(write, index)?,
        indices: indices.keys().cloned().collect(),
        filtered: indices.values().any(|index| alias(index).is_some_and(|alias| alias.get("filter").is_some())),
    })
}

/// The number at the end of a backing index's name, as in `.ds-logs-2026.01.31-000007`.
fn generation(index: &str) -> u64 {
    index.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

fn index_info(name: &str, body: &Value) -> Result<IndexInfo, ClusterError> {
    let setting = |path: &str| body.pointer(&format!("/settings/index/{path}"));
    let text = |path: &str| match setting(path) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Bool(on)) => Some(on.to_string()),
        Some(_) | None => None,
    };
    let is_on = |path: &str| text(path).as_deref() == Some("true");
    let pipeline = |path: &str| text(path).filter(|pipeline| pipeline != "_none");
    let uuid = text("uuid").ok_or_else(|| ClusterError::Reply {
        what: format!("looking up {name}"),
        problem: "no settings.index.uuid in the answer".to_owned(),
    })?;
    let blocks =
        [(Block::Write, "write"), (Block::ReadOnly, "read_only"), (Block::FloodStage, "read_only_allow_delete")];
    let is_marked = body.pointer("/mappings/_meta").is_some_and(|meta| meta.get(graph::MARK).is_some());
    // Beside `index.knn` the servers keep the point in the name.
    let threshold = text("knn.advanced/approximate_threshold").or_else(|| text("knn/advanced/approximate_threshold"));
    Ok(IndexInfo {
        name: name.to_owned(),
        uuid,
        shards: text("number_of_shards").and_then(|n| n.parse().ok()).unwrap_or(1),
        replicas: text("number_of_replicas").and_then(|n| n.parse().ok()).unwrap_or(0),
        // Both servers write it when an index is closed and remove it when it is opened.
        closed: is_on("verified_before_close"),
        blocks: blocks.iter().filter(|(_, key)| is_on(&format!("blocks/{key}"))).map(|(block, _)| *block).collect(),
        fields: body.get("mappings").map_or(0, fields),
        field_types: body.get("mappings").map(FieldTypes::of_mapping).unwrap_or_default(),
        graphs_are_to_come: is_marked || threshold.as_deref() == Some("-1"),
        fields_limit: text("mapping/total_fields/limit").and_then(|n| n.parse().ok()).unwrap_or(FIELDS_LIMIT_DEFAULT),
        default_pipeline: pipeline("default_pipeline"),
        final_pipeline: pipeline("final_pipeline"),
        refresh_interval: text("refresh_interval"),
        policy: [
            "lifecycle/name",
            "plugins/index_state_management/policy_id",
            "opendistro/index_state_management/policy_id",
        ]
        .into_iter()
        .find_map(text),
        mode: IndexMode::of(|name| setting(&name.replace('.', "/"))),
    })
}

/// Number of fields of a mapping as `total_fields.limit` counts them: every property, objects and
/// multi-fields included, and runtime fields.
fn fields(mapping: &Value) -> u64 {
    let inner = |key: &str| mapping.get(key).and_then(Value::as_object);
    let below: u64 = [inner("properties"), inner("fields")]
        .into_iter()
        .flatten()
        .flat_map(Map::values)
        .map(|field| 1 + fields(field))
        .sum();
    below + inner("runtime").map_or(0, |fields| fields.len() as u64)
}

/// The composable template with the highest priority that applies to `name`. `None` also if the
/// cluster or the user cannot read templates.
pub async fn template_for(transport: &Transport, name: &str) -> Result<Option<Template>, ClusterError> {
    let path = "/_index_template/*?filter_path=index_templates.name,index_templates.index_template.index_patterns,\
                index_templates.index_template.priority,index_templates.index_template.data_stream";
    match transport.demand("looking up index templates", Method::GET, path, None).await {
        Ok(body) => Ok(best_template(name, &body)),
        Err(error) if error.cannot_be_asked() => Ok(None),
        Err(error) => Err(error),
    }
}

fn best_template(name: &str, body: &Value) -> Option<Template> {
    let templates = body.get("index_templates")?.as_array()?;
    let matching = templates.iter().filter_map(|entry| {
        let template = entry.get("index_template")?;
        let patterns = template.get("index_patterns")?.as_array()?;
        let applies = patterns.iter().filter_map(Value::as_str).any(|pattern| wildcard::matches(pattern, name));
        let priority = template.get("priority").and_then(Value::as_i64).unwrap_or(0);
        let found = Template {
            name: entry.get("name")?.as_str()?.to_owned(),
            data_stream: template.get("data_stream").is_some(),
        };
        applies.then_some((priority, found))
    });
    matching.max_by_key(|(priority, _)| *priority).map(|(_, template)| template)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(aliases: Value) -> Value {
        json!({"aliases": aliases, "mappings": {}, "settings": {"index": {
            "uuid": "u1", "number_of_shards": "3", "number_of_replicas": "1"}}})
    }

    fn kind(name: &str, body: Value) -> Result<TargetKind, String> {
        kind_of(name, &body).map_err(|error| error.to_string())
    }

    #[test]
    fn an_index_with_all_that_matters() {
        let mut body = index(json!({}));
        body["settings"]["index"] = json!({
            "uuid": "u1", "number_of_shards": "3", "number_of_replicas": "1", "refresh_interval": "-1", "lifecycle": {"name": "rolling"},
            "blocks": {"write": "true", "read_only": "false"}, "verified_before_close": "true",
            "mapping": {"total_fields": {"limit": "2000"}}, "default_pipeline": "p", "final_pipeline": "_none",
        });
        body["mappings"] = json!({"dynamic": "true", "properties": {
            "a": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
            "b": {"properties": {"c": {"type": "long"}, "properties": {"type": "long"}}},
        }, "runtime": {"r": {"type": "long"}}});
        let TargetKind::Index(found) = kind("trips", json!({ "trips": body })).unwrap() else { panic!("an index") };
        assert_eq!(
            found,
            IndexInfo {
                name: "trips".into(),
                uuid: "u1".into(),
                shards: 3,
                replicas: 1,
                closed: true,
                blocks: vec![Block::Write],
                fields: 6,
                field_types: FieldTypes::of_mapping(&json!({"properties": {
                    "a": {"type": "text"},
                    "b": {"properties": {"c": {"type": "long"}, "properties": {"type": "long"}}},
                }})),
                graphs_are_to_come: false,
                fields_limit: 2000,
                default_pipeline: Some("p".into()),
                final_pipeline: None,
                refresh_interval: Some("-1".into()),
                policy: Some("rolling".into()),
                mode: IndexMode::default(),
            }
        );
        let TargetKind::Index(plain) = kind("t", json!({"t": index(json!({}))})).unwrap() else { panic!("an index") };
        assert_eq!((plain.fields_limit, plain.closed, plain.blocks.len()), (FIELDS_LIMIT_DEFAULT, false, 0));
    }

    #[test]
    fn graphs_of_vectors_may_be_to_come() {
        let of = |settings: Value, meta: Value| {
            let mut body = index(json!({}));
            body["settings"]["index"].as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
            body["mappings"]["_meta"] = meta;
            let TargetKind::Index(found) = kind("t", json!({"t": body})).unwrap() else { panic!("an index") };
            found.graphs_are_to_come
        };
        assert!(of(json!({"knn": "true", "knn.advanced": {"approximate_threshold": "-1"}}), json!({})));
        assert!(of(json!({"knn": {"advanced": {"approximate_threshold": "-1"}}}), json!({})));
        assert!(!of(json!({"knn": "true", "knn.advanced": {"approximate_threshold": "100"}}), json!({})));
        assert!(of(json!({}), json!({"inrush_graph": {}})));
        assert!(!of(json!({"knn": "true"}), json!({})));
    }

    #[test]
    fn aliases_need_one_index_that_takes_documents() {
        let write = |on: bool| json!({"trips": {"is_write_index": on}});
        let (one, two) = (index(json!({"trips": {}})), index(write(true)));
        let TargetKind::Alias { write: found, indices, filtered } =
            kind("trips", json!({"trips-1": one, "trips-2": two})).unwrap()
        else {
            panic!("an alias")
        };
        assert_eq!((found.name.as_str(), indices.len(), filtered), ("trips-2", 2, false));

        let single = kind("trips", json!({"trips-1": index(json!({"trips": {"filter": {"match_all": {}}}}))}));
        assert!(matches!(single, Ok(TargetKind::Alias { filtered: true, .. })), "{single:?}");

        let message = kind("trips", json!({"trips-1": one, "trips-2": one})).unwrap_err();
        assert!(message.starts_with("trips: it is an alias without a write index (of trips-1, trips-2)"), "{message}");
        assert!(kind("trips", json!({"trips-1": index(write(false))})).is_err());
    }

    #[test]
    fn data_streams_write_to_their_newest_index() {
        let backing = |stream: &str| {
            let mut body = index(json!({}));
            body["data_stream"] = json!(stream);
            body
        };
        let body =
            json!({".ds-logs-2026.01.02-000010": backing("logs"), ".ds-logs-2026.01.01-000009": backing("logs")});
        let TargetKind::DataStream { stream, write } = kind("logs", body.clone()).unwrap() else {
            panic!("a data stream")
        };
        assert_eq!((stream.as_str(), write.name.as_str()), ("logs", ".ds-logs-2026.01.02-000010"));
        let through_alias = kind("logs-alias", body);
        assert!(matches!(through_alias, Ok(TargetKind::DataStream { stream, .. }) if stream == "logs"));
        let several = json!({".ds-a-000001": backing("a"), ".ds-b-000001": backing("b")});
        assert!(kind("both", several).unwrap_err().contains("several data streams"));
    }

    #[test]
    fn something_else_than_an_index_is_not_taken_for_one() {
        assert!(kind("x", json!({})).is_err());
        assert!(kind("x", json!("hello")).is_err());
        assert!(kind("x", json!({"x": {"settings": {}}})).unwrap_err().contains("settings.index.uuid"));
    }

    #[test]
    fn the_template_with_the_highest_priority_applies() {
        let template = |name: &str, pattern: &str, priority: i64, stream: bool| {
            let mut body = json!({"index_patterns": [pattern], "priority": priority});
            if stream {
                body["data_stream"] = json!({"hidden": false});
            }
            json!({"name": name, "index_template": body})
        };
        let body = json!({"index_templates": [
            template("all", "*", 0, false), template("logs", "logs-*", 100, true), template("other", "other*", 200, false),
        ]});
        assert_eq!(best_template("logs-x", &body), Some(Template { name: "logs".into(), data_stream: true }));
        assert_eq!(best_template("trips", &body), Some(Template { name: "all".into(), data_stream: false }));
        assert_eq!(best_template("trips", &json!({})), None);
    }

    #[test]
    fn shards_and_replicas_win_over_the_settings_in_every_form() {
        for settings in [
            json!({"number_of_shards": 1, "codec": "best_compression"}),
            json!({"index.number_of_shards": 1, "codec": "best_compression"}),
            json!({"index": {"number_of_shards": 1}, "codec": "best_compression"}),
        ] {
            let how =
                CreateIndex { settings: Some(settings), shards: Some(4), replicas: Some(0), ..CreateIndex::default() };
            let mut body = creation_body(&how);
            if let Some(index) = body["settings"].as_object_mut().unwrap().remove("index") {
                assert_eq!(index, json!({}));
            }
            let expected =
                json!({"codec": "best_compression", "index.number_of_shards": 4, "index.number_of_replicas": 0});
            assert_eq!(body["settings"], expected);
        }
        assert_eq!(creation_body(&CreateIndex::default()), json!({}));
    }
}
