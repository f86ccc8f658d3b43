//! Requests that go to all shards of indices: refresh, flush, merge and statistics.

use serde_json::{Value, json};

use super::expand::{by_index, expand};
use super::nodes::node_id;
use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::{Cluster, Index};
use crate::pattern;

/// `_refresh`.
pub(super) fn refresh(cluster: &mut Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    for name in &names {
        if let Some(index) = cluster.indices.get_mut(name) {
            index.refresh();
        }
    }
    Ok(broadcast(cluster, &names))
}

/// `_flush`.
pub(super) fn flush(cluster: &mut Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    for name in &names {
        if let Some(index) = cluster.indices.get_mut(name) {
            index.flush();
        }
    }
    Ok(broadcast(cluster, &names))
}

/// `_forcemerge`. A merge is done at once, to one segment a shard, and a merge with
/// `wait_for_completion=false` is a task that is finished at once.
pub(super) fn force_merge(
    cluster: &mut Cluster,
    expression: &str,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    let merged = broadcast(cluster, &names);
    match request.param("wait_for_completion") {
        Some(_) if cluster.flavor.is_elasticsearch_7() => Err(ServerError::illegal_argument(format!(
            "request [{}] contains unrecognized parameter: [wait_for_completion]",
            request.path
        ))),
        Some("false") => {
            merge(cluster, &names);
            let id = format!("{}:{}", node_id(0), cluster.task_results.len() + 1);
            cluster.task_results.insert(id.clone(), merged.body);
            Ok(ApiReply::ok(json!({ "task": id })))
        }
        _ => {
            merge(cluster, &names);
            Ok(merged)
        }
    }
}

fn merge(cluster: &mut Cluster, names: &[String]) {
    for name in names {
        if let Some(index) = cluster.indices.get_mut(name) {
            index.merge();
        }
    }
}

/// `_segments`.
pub(super) fn segments(cluster: &Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let patterns: Vec<&str> = expression.split(',').filter(|part| part.contains('*')).collect();
    let mut names = expand(cluster, expression)?;
    let is_open = |name: &String| cluster.indices.get(name).is_some_and(|index| index.open);
    // A pattern finds open indices only.
    names.retain(|name| is_open(name) || !patterns.iter().any(|one| pattern::matches(one, name)));
    if let Some(closed) = names.iter().find(|name| !is_open(name)) {
        return Err(ServerError::new(400, "index_closed_exception", "closed").with("index", closed.as_str()));
    }
    let shards = broadcast(cluster, &names).body["_shards"].take();
    let indices = by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let copies = index.copies().min(cluster.nodes.max(1));
        let shards = index.segments_values().into_iter().enumerate().map(|(shard, segments)| {
            let of = |copy: usize| {
                json!({"routing": {"state": "STARTED", "primary": copy == 0, "node": node_id(copy)},
                    "num_committed_segments": 0, "num_search_segments": 0, "segments": segments})
            };
            (shard.to_string(), (0..copies).map(of).collect())
        });
        Some(json!({"shards": Value::Object(shards.collect())}))
    });
    Ok(ApiReply::ok(json!({"_shards": shards, "indices": indices})))
}

/// The reply of a request to all copies of all shards.
fn broadcast(cluster: &Cluster, names: &[String]) -> ApiReply {
    let mut total = 0;
    let mut successful = 0;
    for index in names.iter().filter_map(|name| cluster.indices.get(name)) {
        let shards = index.number_of_shards() as usize;
        total += shards * index.copies();
        successful += shards * index.copies().min(cluster.nodes);
    }
    ApiReply::ok(json!({"_shards": {"total": total, "successful": successful, "failed": 0}}))
}

/// `_stats`.
pub(super) fn stats(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    let mut total = (0, 0, 0);
    let indices = by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let own = (index.searchable_count(), index.store_bytes(), index.indexing_total);
        total = (total.0 + own.0, total.1 + own.1, total.2 + own.2);
        let primaries = stats_value(own);
        let mut shown = json!({"uuid": index.uuid, "primaries": primaries, "total": primaries});
        if request.param("level") == Some("shards") {
            shown["shards"] = shards_value(index, cluster.nodes);
        }
        Some(shown)
    });
    let all = stats_value(total);
    Ok(ApiReply::ok(json!({"_all": {"primaries": all, "total": all}, "indices": indices})))
}

/// The assigned copies of each shard with their sequence numbers.
fn shards_value(index: &Index, nodes: usize) -> Value {
    let copies = index.copies().min(nodes.max(1));
    let shards = index.next_seq_nos().iter().enumerate().map(|(shard, next)| {
        let max = i64::try_from(*next).unwrap_or(i64::MAX) - 1;
        let seq_no = json!({"max_seq_no": max, "local_checkpoint": max, "global_checkpoint": max});
        let of = |copy: usize| {
            json!({"routing": {"state": "STARTED", "primary": copy == 0, "node": node_id(copy)}, "seq_no": seq_no})
        };
        (shard.to_string(), (0..copies).map(of).collect())
    });
    Value::Object(shards.collect())
}

fn stats_value((docs, bytes, indexed): (usize, usize, u64)) -> Value {
    json!({"docs": {"count": docs, "deleted": 0}, "store": {"size_in_bytes": bytes},
        "indexing": {"index_total": indexed, "index_failed": 0, "is_throttled": false, "throttle_time_in_millis": 0},
        "merges": {"current": 0, "total": 0, "total_throttled_time_in_millis": 0}, "refresh": {"total": 0}, "flush": {"total": 0},
        "segments": {"count": usize::from(docs > 0)}})
}
