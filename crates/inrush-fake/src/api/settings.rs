//! Settings and mappings of indices, and the blocks that refuse their change.

use serde_json::json;

use super::expand::{by_index, expand};
use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::{Cluster, Settings};

/// `GET /{index}/_settings`; `names` are patterns with commas between them.
pub(super) fn settings(
    cluster: &Cluster,
    expression: &str,
    names: Option<&str>,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let indices = expand(cluster, expression)?;
    check_metadata(cluster, &indices, false)?;
    let flat = request.flag("flat_settings");
    let wanted: Option<Vec<&str>> = names.map(|names| names.split(',').collect());
    Ok(ApiReply::ok(by_index(indices, |name| {
        let index = cluster.indices.get(name)?;
        let mut shown = json!({"settings": index.settings.show(flat, wanted.as_deref())});
        if request.flag("include_defaults") {
            shown["defaults"] = index.settings.show_defaults(&cluster.flavor, flat);
        }
        Some(shown)
    })))
}

/// `PUT /{index}/_settings`.
pub(super) fn put_settings(
    cluster: &mut Cluster,
    expression: &str,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let given = Settings::parse(&request.json()?);
    let names = expand(cluster, expression)?;
    // A block does not refuse the request that lifts it.
    if !given.keys().all(|name| name.starts_with("index.blocks.")) {
        check_metadata(cluster, &names, true)?;
    }
    if let Some(name) = given.keys().find(|name| cluster.refused_settings.contains(*name)) {
        return Err(ServerError::validation(&format!("the fake cluster was told to refuse [{name}]")));
    }
    let flavor = cluster.flavor.clone();
    for name in names {
        if let Some(index) = cluster.indices.get_mut(&name) {
            let label = format!("{name}/{}", index.uuid);
            index.settings.update(&flavor, given.clone(), &label, index.open)?;
            index.settings.expand_replicas(cluster.nodes);
        }
    }
    Ok(ApiReply::acknowledged())
}

/// `GET /{index}/_mapping`.
pub(super) fn mapping(cluster: &Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    check_metadata(cluster, &names, false)?;
    Ok(ApiReply::ok(by_index(names, |name| Some(json!({"mappings": cluster.indices.get(name)?.mapping.to_value()})))))
}

/// `PUT /{index}/_mapping`.
pub(super) fn put_mapping(
    cluster: &mut Cluster,
    expression: &str,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let names = expand(cluster, expression)?;
    check_metadata(cluster, &names, true)?;
    for name in names {
        if let Some(index) = cluster.indices.get_mut(&name) {
            index.mapping.put(&body)?;
        }
    }
    Ok(ApiReply::acknowledged())
}

/// `PUT /{index}/_block/{block}`.
pub(super) fn block(cluster: &mut Cluster, expression: &str, block: &str) -> Result<ApiReply, ServerError> {
    if !["write", "read", "read_only", "metadata"].contains(&block) {
        return Err(ServerError::illegal_argument(format!("No block found with name {block}")));
    }
    for name in expand(cluster, expression)? {
        if let Some(index) = cluster.indices.get_mut(&name) {
            index.settings.set(&format!("index.blocks.{block}"), "true");
        }
    }
    Ok(ApiReply::ok(json!({"acknowledged": true, "shards_acknowledged": true})))
}

/// Refuses access to the metadata of a blocked index: `blocks.metadata` blocks reads and changes,
/// `blocks.read_only` blocks changes.
fn check_metadata(cluster: &Cluster, names: &[String], changes: bool) -> Result<(), ServerError> {
    for name in names {
        let Some(index) = cluster.indices.get(name) else {
            continue;
        };
        if index.settings.is_true("index.blocks.metadata") {
            return Err(ServerError::blocked(403, name, "FORBIDDEN/9/index metadata (api)"));
        }
        if changes && index.settings.is_true("index.blocks.read_only") {
            return Err(ServerError::blocked(403, name, "FORBIDDEN/5/index read-only (api)"));
        }
        // Elasticsearch 8 allows changes of metadata at the flood stage, the other servers do not.
        let flooded = index.settings.is_true("index.blocks.read_only_allow_delete");
        if changes && flooded && !cluster.flavor.is_elasticsearch_8() {
            return Err(ServerError::blocked(
                429,
                name,
                "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block",
            ));
        }
    }
    Ok(())
}
