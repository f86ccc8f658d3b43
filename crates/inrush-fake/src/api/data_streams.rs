//! Data streams.

use serde_json::{Value, json};

use super::request::ApiReply;
use crate::error::ServerError;
use crate::model::Cluster;
use crate::pattern;

/// `GET _data_stream/{name}`.
pub(super) fn data_streams(cluster: &Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let found: Vec<Value> = cluster
        .data_streams
        .iter()
        .filter(|(name, _)| expression.split(',').any(|one| pattern::matches(one, name)))
        .map(|(name, stream)| {
            let indices: Vec<Value> = stream
                .indices
                .iter()
                .map(|index| json!({"index_name": index, "index_uuid": cluster.indices.get(index).map(|index| index.uuid.clone())}))
                .collect();
            json!({"name": name, "timestamp_field": {"name": "@timestamp"}, "indices": indices,
                "generation": stream.indices.len(), "status": "GREEN", "template": stream.template})
        })
        .collect();
    if found.is_empty() && !expression.contains('*') {
        return Err(ServerError::index_not_found(expression, "index_or_alias"));
    }
    Ok(ApiReply::ok(json!({"data_streams": found})))
}

/// `PUT _data_stream/{name}`.
pub(super) fn create_data_stream(cluster: &mut Cluster, name: &str) -> Result<ApiReply, ServerError> {
    cluster.create_data_stream(name)?;
    Ok(ApiReply::acknowledged())
}

/// `POST /{name}/_rollover`.
pub(super) fn roll_over(cluster: &mut Cluster, name: &str) -> Result<ApiReply, ServerError> {
    let (old, new) = cluster.roll_over(name)?;
    Ok(ApiReply::ok(json!({"acknowledged": true, "old_index": old, "new_index": new, "rolled_over": true})))
}

/// `DELETE _data_stream/{name}`.
pub(super) fn delete_data_stream(cluster: &mut Cluster, name: &str) -> Result<ApiReply, ServerError> {
    let stream =
        cluster.data_streams.remove(name).ok_or_else(|| ServerError::index_not_found(name, "index_or_alias"))?;
    for index in stream.indices {
        cluster.indices.remove(&index);
    }
    Ok(ApiReply::acknowledged())
}
