//! Points in time: what searches saw when one was opened, until it is closed. They do not expire by themselves.

use serde_json::{Value, json};

use super::{ApiReply, ApiRequest, documents};
use crate::error::EsError;
use crate::model::{Cluster, PointInTime};

/// Keeps what searches see now.
pub(super) fn open(cluster: &mut Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    if request.param("keep_alive").is_none() {
        return Err(EsError::validation("[keep_alive] is not specified"));
    }
    let seen = documents::searchable(cluster, expression, request)?;
    let shards = json!({"total": seen.shards, "successful": seen.shards, "skipped": 0, "failed": 0});
    let id = cluster.new_id();
    cluster.points_in_time.insert(id.clone(), seen);
    Ok(ApiReply::ok(match (cluster.flavor.is_elasticsearch(), cluster.flavor.major()) {
        (true, 7) => json!({ "id": id }),
        (true, _) => json!({"id": id, "_shards": shards}),
        (false, _) => json!({"pit_id": id, "_shards": shards, "creation_time": crate::model::millis_now()}),
    }))
}

/// Forgets some.
pub(super) fn close(cluster: &mut Cluster, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    if cluster.flavor.is_elasticsearch() {
        let id = body.get("id").and_then(Value::as_str).ok_or_else(|| EsError::validation("[id] is missing"))?;
        let freed = usize::from(cluster.points_in_time.remove(id).is_some());
        let status = if freed == 1 { 200 } else { 404 };
        return Ok(ApiReply { status, body: json!({"succeeded": true, "num_freed": freed}) });
    }
    let ids = match body.get("pit_id") {
        Some(Value::Array(ids)) => ids.clone(),
        Some(id) => vec![id.clone()],
        None => return Err(EsError::validation("[pit_id] is missing")),
    };
    let closed = ids.iter().filter_map(Value::as_str).map(|id| {
        let successful = cluster.points_in_time.remove(id).is_some();
        json!({"successful": successful, "pit_id": id})
    });
    Ok(ApiReply::ok(json!({"pits": closed.collect::<Vec<_>>()})))
}

/// The one that a search names.
pub(super) fn find(cluster: &Cluster, pit: &Value) -> Result<PointInTime, EsError> {
    let id = pit.get("id").and_then(Value::as_str).unwrap_or_default();
    let found = cluster.points_in_time.get(id).cloned();
    found.ok_or_else(|| EsError::new(404, "search_context_missing_exception", "No search context found for id [1]"))
}
