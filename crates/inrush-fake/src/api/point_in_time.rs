//! Points in time: snapshots that searches go on reading. In the fake they stay until they are
//! closed; `keep_alive` is required, but a point in time does not expire by itself.

use serde_json::{Value, json};

use super::expand::expand;
use super::request::{ApiReply, ApiRequest};
use crate::clock::millis_now;
use crate::error::ServerError;
use crate::model::{Cluster, PointInTime};

/// Opens a point in time.
pub(super) fn open(cluster: &mut Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    if request.param("keep_alive").is_none() {
        return Err(ServerError::validation("[keep_alive] is not specified"));
    }
    let seen = searchable(cluster, expression, request)?;
    let shards = json!({"total": seen.shards, "successful": seen.shards, "skipped": 0, "failed": 0});
    let id = cluster.new_id();
    cluster.points_in_time.insert(id.clone(), seen);
    Ok(ApiReply::ok(match (cluster.flavor.is_elasticsearch(), cluster.flavor.major()) {
        (true, 7) => json!({ "id": id }),
        (true, _) => json!({"id": id, "_shards": shards}),
        (false, _) => json!({"pit_id": id, "_shards": shards, "creation_time": millis_now()}),
    }))
}

/// Closes points in time.
pub(super) fn close(cluster: &mut Cluster, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    if cluster.flavor.is_elasticsearch() {
        let id = body.get("id").and_then(Value::as_str).ok_or_else(|| ServerError::validation("[id] is missing"))?;
        let freed = usize::from(cluster.points_in_time.remove(id).is_some());
        let status = if freed == 1 { 200 } else { 404 };
        return Ok(ApiReply { status, body: json!({"succeeded": true, "num_freed": freed}) });
    }
    let ids = match body.get("pit_id") {
        Some(Value::Array(ids)) => ids.clone(),
        Some(id) => vec![id.clone()],
        None => return Err(ServerError::validation("[pit_id] is missing")),
    };
    let closed = ids.iter().filter_map(Value::as_str).map(|id| {
        let successful = cluster.points_in_time.remove(id).is_some();
        json!({"successful": successful, "pit_id": id})
    });
    Ok(ApiReply::ok(json!({"pits": closed.collect::<Vec<_>>()})))
}

/// The point in time that a search names.
pub(super) fn find(cluster: &Cluster, pit: &Value) -> Result<PointInTime, ServerError> {
    let id = pit.get("id").and_then(Value::as_str).unwrap_or_default();
    let found = cluster.points_in_time.get(id).cloned();
    found.ok_or_else(|| ServerError::new(404, "search_context_missing_exception", "No search context found for id [1]"))
}

/// The documents that a search of indices sees now: those of all shards, or of the shards in
/// `preference=_shards:…`.
pub(super) fn searchable(
    cluster: &Cluster,
    expression: &str,
    request: &ApiRequest,
) -> Result<PointInTime, ServerError> {
    let only_shards: Option<Vec<u32>> = request
        .param("preference")
        .and_then(|preference| preference.strip_prefix("_shards:"))
        .map(|shards| shards.split('|').next().unwrap_or(shards))
        .map(|shards| shards.split(',').filter_map(|shard| shard.parse().ok()).collect());
    let mut seen = PointInTime { documents: Vec::new(), shards: 0 };
    for name in expand(cluster, expression)? {
        let Some(index) = cluster.indices.get(&name) else {
            continue;
        };
        let wanted = |shard: u32| only_shards.as_ref().is_none_or(|only| only.contains(&shard));
        seen.shards += (0..index.number_of_shards()).filter(|shard| wanted(*shard)).count() as u32;
        let documents = index.searchable().into_iter().filter(|document| wanted(index.shard_of(document)));
        seen.documents.extend(documents.map(|document| (name.clone(), document)));
    }
    Ok(seen)
}
