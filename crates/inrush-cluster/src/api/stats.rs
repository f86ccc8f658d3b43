//! Size and number of documents of an index, and making its documents visible and durable.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// The shard copies on which an operation was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    /// Copies that the index should have.
    pub total: u64,
    /// Copies on which it succeeded. Replicas that are not assigned make this less than `total`
    /// without a failure.
    pub successful: u64,
    /// Copies on which it failed.
    pub failed: u64,
}

/// What an index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexStats {
    /// Lucene documents of the primary shards. Nested objects count as documents of their own.
    pub docs: u64,
    /// Deleted or replaced documents that no merge has removed yet.
    pub docs_deleted: u64,
    /// Bytes on disk of the primary shards.
    pub primary_bytes: u64,
    /// Bytes on disk of all copies.
    pub total_bytes: u64,
}

/// Number of documents that a search finds in `index` (index, alias or data stream): those that
/// were refreshed and that pass the filter of an alias.
///
/// # Errors
/// [`ClusterError`] if the request fails, or if a shard did not answer: a smaller number would look
/// like a loss.
pub async fn count(transport: &Transport, index: &str) -> Result<u64, ClusterError> {
    let what = format!("counting the documents of {index}");
    let path = format!("/{}/_count", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    let wait = "wait until its primary shards are assigned";
    match missing_shards(&what, &body)? {
        None => number(&what, &body, "/count"),
        Some(few) => Err(ClusterError::Target {
            name: index.to_owned(),
            problem: format!("its documents cannot be counted, {few}; {wait}"),
        }),
    }
}

/// Number of documents of `index` that have a value in a field, among those that [`count`] counts.
/// Both products ask Lucene for a field that has vectors or doc values, which fields with vectors
/// have, indexed or not. Lucene refuses one with neither.
///
/// # Errors
/// As [`count`].
pub async fn count_with(transport: &Transport, index: &str, field: &str) -> Result<u64, ClusterError> {
    let what = format!("counting the documents of {index} with {field}");
    let path = format!("/{}/_count", path_segment(index));
    let query = json!({"query": {"exists": {"field": field}}});
    let body = transport.demand(&what, Method::POST, &path, Some(&query)).await?;
    match missing_shards(&what, &body)? {
        None => number(&what, &body, "/count"),
        Some(few) => {
            let why = body.pointer("/_shards/failures/0/reason/reason").and_then(Value::as_str);
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let problem = format!("its documents with {field} cannot be counted, {few}{why}");
            Err(ClusterError::Target { name: index.to_owned(), problem })
        }
    }
}

/// How few shards answered a search. `None`: all of them.
fn missing_shards(what: &str, body: &Value) -> Result<Option<String>, ClusterError> {
    let Shards { total, successful, failed } = shards(what, body)?;
    let are_missing = failed > 0 || successful < total;
    Ok(are_missing.then(|| format!("only {successful} of {total} shards answered")))
}

/// Refreshes `index`: everything that was written to it becomes visible to searches and counts.
///
/// # Errors
/// [`ClusterError`] if the request fails. Failures of single shards are in the result.
pub async fn refresh(transport: &Transport, index: &str) -> Result<Shards, ClusterError> {
    on_shards(transport, index, "refreshing", "_refresh").await
}

/// Refreshes `index` and counts its documents.
///
/// # Errors
/// As [`refresh`] and [`count`].
pub async fn count_now(transport: &Transport, index: &str) -> Result<u64, ClusterError> {
    refresh(transport, index).await?;
    count(transport, index).await
}

/// Flushes `index`: commits everything that it has acknowledged to disk. If `successful` equals the
/// number of assigned copies, everything that was acknowledged before this request is durable.
///
/// # Errors
/// [`ClusterError`] if the request fails. Failures of single shards are in the result.
pub async fn flush(transport: &Transport, index: &str) -> Result<Shards, ClusterError> {
    on_shards(transport, index, "flushing", "_flush?wait_if_ongoing=true").await
}

/// Number of documents, deletions and size of `index`.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn stats(transport: &Transport, index: &str) -> Result<IndexStats, ClusterError> {
    let what = format!("asking for the size of {index}");
    let path = format!("/{}/_stats/docs,store?filter_path=_all", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    Ok(index_stats(&body["_all"]))
}

/// The same for several indices, by their own names. At most 20 are requested at a time. Indices
/// that do not exist are left out.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn stats_of(transport: &Transport, indices: &[&str]) -> Result<BTreeMap<String, IndexStats>, ClusterError> {
    let mut found = BTreeMap::new();
    for names in indices.chunks(NAMES_AT_ONCE) {
        let filter = "filter_path=indices.*.*.docs,indices.*.*.store&ignore_unavailable=true";
        let path = format!("/{}/_stats/docs,store?{filter}", path_segment(&names.join(",")));
        let body = transport.demand("asking for the sizes of indices", Method::GET, &path, None).await?;
        let indices = body["indices"].as_object().into_iter().flatten();
        found.extend(indices.map(|(name, stats)| (name.clone(), index_stats(stats))));
    }
    Ok(found)
}

/// Names in one request: the length of a URL is limited, and a name has at most 255 bytes.
const NAMES_AT_ONCE: usize = 20;

fn index_stats(stats: &Value) -> IndexStats {
    // An index whose primary shards are not assigned has no docs and no store.
    let number = |pointer: &str| stats.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    IndexStats {
        docs: number("/primaries/docs/count"),
        docs_deleted: number("/primaries/docs/deleted"),
        primary_bytes: number("/primaries/store/size_in_bytes"),
        total_bytes: number("/total/store/size_in_bytes"),
    }
}

async fn on_shards(transport: &Transport, index: &str, doing: &str, verb: &str) -> Result<Shards, ClusterError> {
    let what = format!("{doing} {index}");
    let path = format!("/{}/{verb}", path_segment(index));
    let body = transport.demand(&what, Method::POST, &path, None).await?;
    shards(&what, &body)
}

fn shards(what: &str, body: &Value) -> Result<Shards, ClusterError> {
    Ok(Shards {
        total: number(what, body, "/_shards/total")?,
        successful: number(what, body, "/_shards/successful")?,
        failed: number(what, body, "/_shards/failed")?,
    })
}

fn number(what: &str, body: &Value, pointer: &str) -> Result<u64, ClusterError> {
    body.pointer(pointer).and_then(Value::as_u64).ok_or_else(|| ClusterError::Reply {
        what: what.to_owned(),
        problem: format!("no number at {}", pointer.trim_start_matches('/').replace('/', ".")),
    })
}
