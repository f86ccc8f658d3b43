//! Indices: shown, deleted, opened, closed and resolved.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::expand::{by_index, expand};
use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::Cluster;
use crate::pattern;

/// `GET /{index}`.
pub(super) fn get(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    Ok(ApiReply::ok(by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let mut shown = json!({
            "aliases": index.aliases,
            "mappings": index.mapping.to_value(),
            "settings": index.settings.show(request.flag("flat_settings"), None),
        });
        if request.flag("include_defaults") {
            shown["defaults"] = index.settings.show_defaults(&cluster.flavor, request.flag("flat_settings"));
        }
        if let Some(stream) = cluster.stream_of(name) {
            shown["data_stream"] = json!(stream);
        }
        Some(shown)
    })))
}

/// `PUT /{index}`.
pub(super) fn create(cluster: &mut Cluster, index: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    cluster.create_index(index, &request.json()?)?;
    Ok(ApiReply::ok(json!({"acknowledged": true, "shards_acknowledged": true, "index": index})))
}

/// `DELETE /{index}`.
pub(super) fn delete(cluster: &mut Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    for part in expression.split(',') {
        // An alias or a data stream cannot be deleted by the path of an index.
        if cluster.has_alias(part) {
            return Err(ServerError::illegal_argument(format!(
                "The provided expression [{part}] matches an alias, specify the corresponding concrete indices instead."
            )));
        }
        if cluster.data_streams.contains_key(part) {
            return Err(ServerError::index_not_found(part, "index_or_alias"));
        }
    }
    for name in expand(cluster, expression)? {
        cluster.indices.remove(&name);
    }
    Ok(ApiReply::acknowledged())
}

/// `POST /{index}/_open` and `_close`.
pub(super) fn open_or_close(cluster: &mut Cluster, expression: &str, open: bool) -> Result<ApiReply, ServerError> {
    for name in expand(cluster, expression)? {
        if let Some(index) = cluster.indices.get_mut(&name) {
            index.open = open;
            // OpenSearch 3.6.0 and Elasticsearch 8.19.21 mark a closed index by this setting.
            if open {
                index.settings.unset("index.verified_before_close");
            } else {
                index.settings.set("index.verified_before_close", "true");
            }
        }
    }
    Ok(ApiReply::ok(json!({"acknowledged": true, "shards_acknowledged": true})))
}

/// `GET _resolve/index/{expression}`.
pub(super) fn resolve(cluster: &Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let fits = |name: &str| expression.split(',').any(|one| pattern::matches(one, name));
    let indices: Vec<Value> = cluster
        .indices
        .iter()
        .filter(|(name, _)| fits(name))
        .map(|(name, index)| {
            let mut shown = json!({"name": name, "attributes": [if index.open { "open" } else { "closed" }]});
            if !index.aliases.is_empty() {
                shown["aliases"] = index.aliases.keys().cloned().collect();
            }
            if let Some(stream) = cluster.stream_of(name) {
                shown["data_stream"] = json!(stream);
            }
            shown
        })
        .collect();
    let names: BTreeSet<&String> =
        cluster.indices.values().flat_map(|index| index.aliases.keys()).filter(|name| fits(name)).collect();
    let aliases: Vec<Value> = names
        .into_iter()
        .map(|alias| {
            let carriers: Vec<&String> = cluster
                .indices
                .iter()
                .filter(|(_, index)| index.aliases.contains_key(alias))
                .map(|(name, _)| name)
                .collect();
            json!({"name": alias, "indices": carriers})
        })
        .collect();
    let streams: Vec<Value> = cluster
        .data_streams
        .iter()
        .filter(|(name, _)| fits(name))
        .map(|(name, stream)| json!({"name": name, "backing_indices": stream.indices, "timestamp_field": "@timestamp"}))
        .collect();
    let nothing = indices.is_empty() && aliases.is_empty() && streams.is_empty();
    // For a missing name, Elasticsearch 8 answers 404, the other servers empty lists.
    if nothing && cluster.flavor.is_elasticsearch_8() && !expression.contains('*') {
        return Err(ServerError::index_not_found(expression, "index_or_alias"));
    }
    Ok(ApiReply::ok(json!({"indices": indices, "aliases": aliases, "data_streams": streams})))
}
