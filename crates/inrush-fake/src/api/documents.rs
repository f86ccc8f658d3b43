//! Single documents: read one by one or by `_mget`, and written one by one.

use serde_json::{Map, Value, json};

use super::expand::single;
use super::request::{ApiReply, ApiRequest};
use super::shards::refresh;
use crate::error::ServerError;
use crate::model::{Action, Cluster, Op, VersionType};

/// `GET /{index}/_doc/{id}`.
pub(super) fn get(cluster: &Cluster, name: &str, id: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let index = single(cluster, name)?;
    let (routing, with_source) = (request.param("routing"), request.param("_source") != Some("false"));
    let (found, mut body) = document_value(cluster, &index, id, routing, with_source);
    show_vectors(cluster, &index, request, &mut body);
    Ok(ApiReply { status: if found { 200 } else { 404 }, body })
}

/// Leaves vectors out of a document, or shows their numbers where they are asked for.
fn show_vectors(cluster: &Cluster, index: &str, request: &ApiRequest, body: &mut Value) {
    let with_vectors = request.param("_source_exclude_vectors") == Some("false");
    let mapping = cluster.indices.get(index).map(|index| &index.mapping);
    if let (Some(mapping), Some(source)) = (mapping, body.get_mut("_source"))
        && cluster.flavor.excludes_source_vectors()
    {
        *source = mapping.source_shown(source.take(), with_vectors, cluster.little_endian_vectors);
    }
}

/// `GET /{index}/_source/{id}`.
pub(super) fn get_source(
    cluster: &Cluster,
    name: &str,
    id: &str,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let index = single(cluster, name)?;
    match cluster.get(&index, id, request.param("routing")) {
        Some(document) => Ok(ApiReply::ok(document.json())),
        None => {
            Err(ServerError::new(404, "resource_not_found_exception", format!("Document not found [{index}]/[{id}]")))
        }
    }
}

/// A document as `_doc` and `_mget` show it; true if it exists.
fn document_value(cluster: &Cluster, index: &str, id: &str, routing: Option<&str>, with_source: bool) -> (bool, Value) {
    let mut value = Map::new();
    value.insert("_index".into(), json!(index));
    if cluster.flavor.has_types() {
        value.insert("_type".into(), json!("_doc"));
    }
    value.insert("_id".into(), json!(id));
    let document = cluster.get(index, id, routing);
    let found = document.is_some();
    if let Some(document) = document {
        value.insert("_version".into(), json!(document.version));
        if cluster.indices.get(index).is_none_or(|index| !index.settings.hides_seq_nos()) {
            value.insert("_seq_no".into(), json!(document.seq_no));
            value.insert("_primary_term".into(), json!(document.primary_term));
        }
        if let Some(routing) = &document.routing {
            value.insert("_routing".into(), json!(routing));
        }
        value.insert("found".into(), json!(true));
        if with_source {
            value.insert("_source".into(), document.json());
        }
    } else {
        value.insert("found".into(), json!(false));
    }
    (found, Value::Object(value))
}

/// `_mget`.
pub(super) fn mget(
    cluster: &Cluster,
    default_index: Option<&str>,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let ids = body.get("ids").and_then(Value::as_array).into_iter().flatten().map(|id| json!({"_id": id}));
    let wanted: Vec<Value> =
        body.get("docs").and_then(Value::as_array).into_iter().flatten().cloned().chain(ids).collect();
    if wanted.is_empty() {
        return Err(ServerError::validation("no documents to get"));
    }
    let with_source_by_default = request.param("_source") != Some("false");
    let mut docs = Vec::new();
    for one in wanted {
        if one.get("_routing").is_some() {
            let reason = "failed to parse multi get request. unknown field [_routing]";
            return Err(ServerError::new(400, "parse_exception", reason));
        }
        let id = match one.get("_id") {
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
            None => return Err(ServerError::validation("id is missing for doc 0")),
        };
        let Some(name) = one.get("_index").and_then(Value::as_str).or(default_index) else {
            return Err(ServerError::validation("index is missing for doc 0"));
        };
        match single(cluster, name) {
            Ok(index) => {
                let routing = one.get("routing").and_then(Value::as_str);
                let with_source = one.get("_source").map_or(with_source_by_default, |source| source != &json!(false));
                let (_, mut document) = document_value(cluster, &index, &id, routing, with_source);
                show_vectors(cluster, &index, request, &mut document);
                docs.push(document);
            }
            Err(error) => docs.push(json!({"_index": name, "_id": id, "error": error.to_body()["error"]})),
        }
    }
    Ok(ApiReply::ok(json!({"docs": docs})))
}

/// `_doc`, `_create`, `_update` and `DELETE` of one document; `kind` is that segment of the path.
pub(super) fn write(
    cluster: &mut Cluster,
    index: &str,
    kind: &str,
    id: Option<&str>,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let delete = request.method == http::Method::DELETE;
    let action = match kind {
        "_doc" if delete => Action::Delete,
        "_update" => Action::Update,
        "_create" => Action::Create,
        _ if request.param("op_type") == Some("create") => Action::Create,
        _ => Action::Index,
    };
    let (seq_no, term) = (request.param("if_seq_no"), request.param("if_primary_term"));
    if seq_no.is_some() != term.is_some() {
        return Err(ServerError::validation("ifSeqNo is set, but primary term is [0]"));
    }
    let written = id.and_then(|id| cluster.get(index, id, request.param("routing"))).map(|found| found.primary_term);
    let is_term = term.and_then(|term| term.parse::<u64>().ok()) == Some(written.unwrap_or(1));
    let op = Op {
        action,
        index: index.to_owned(),
        id: id.map(str::to_owned),
        routing: request.param("routing").map(str::to_owned),
        version: request.param("version").and_then(|version| version.parse().ok()),
        version_type: match request.param("version_type") {
            Some("external") => VersionType::External,
            Some("external_gte") => VersionType::ExternalGte,
            _ => VersionType::Internal,
        },
        // No document has the sequence number of another term, u64::MAX.
        if_seq_no: seq_no.and_then(|seq_no| seq_no.parse().ok()).map(|n| if is_term { n } else { u64::MAX }),
        pipeline: request.param("pipeline").map(str::to_owned),
        require_alias: request.flag("require_alias"),
        source: request.body.clone(),
    };
    let item = cluster.apply(&op);
    let mut item = item.get(action.name()).cloned().unwrap_or_default();
    let status =
        item.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    if let Some(error) = item.get("error") {
        let body = json!({"error": {"root_cause": [error], "type": error["type"], "reason": error["reason"]}, "status": status});
        return Ok(ApiReply { status, body });
    }
    if request.wants_refresh() {
        refresh(cluster, item["_index"].as_str().unwrap_or(index))?;
    }
    if let Some(object) = item.as_object_mut() {
        object.remove("status");
    }
    Ok(ApiReply { status, body: item })
}
