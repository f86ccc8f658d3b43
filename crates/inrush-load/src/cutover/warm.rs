//! Searches that warm up the new index before its first users.

use http::Method;
use inrush_cluster::transport::path_segment;
use serde_json::Value;

use super::waiting::Waiting;
use crate::progress::Step;

/// Runs each search once.
pub(super) async fn warm(waiting: &Waiting, index: &str, queries: &[Value]) -> Result<String, String> {
    let path = format!("/{}/_search?allow_partial_search_results=false", path_segment(index));
    for (at, query) in queries.iter().enumerate() {
        waiting.show(Step::Warm, format!("search {} of {}", at + 1, queries.len()));
        let what = format!("search {} of {} on {index}", at + 1, queries.len());
        let reply = waiting.transport.demand(&what, Method::POST, &path, Some(query)).await;
        let reply = reply.map_err(|e| e.to_string())?;
        let failed = reply.pointer("/_shards/failed").and_then(Value::as_u64).unwrap_or(0);
        if failed > 0 {
            let why = reply.pointer("/_shards/failures/0/reason/reason").and_then(Value::as_str).unwrap_or_default();
            return Err(format!("{what}: {failed} shards failed: {why}"));
        }
        if reply.get("timed_out") == Some(&Value::Bool(true)) {
            return Err(format!("{what}: the search timed out"));
        }
    }
    Ok(format!("{} searches ran", queries.len()))
}
