//! Requests of a sweep before and after a run. A figure that the cluster does not report is absent
//! in the results, not an error.

use std::time::Duration;

use inrush_cluster::transport::{Transport, path_segment};
use serde_json::Value;

/// The longest wait for merges.
const SETTLE_MAX: Duration = Duration::from_secs(120);
/// How often the sweep checks whether merges have ended.
const SETTLE_EVERY: Duration = Duration::from_millis(200);

/// Seconds of processor time that all nodes' processes have used so far.
pub(super) async fn cpu_seconds(transport: &Transport) -> Option<f64> {
    let path = "/_nodes/stats/process?filter_path=nodes.*.process.cpu.total_in_millis";
    let (status, body) = transport.get_json(path).await.ok()?;
    if status != 200 {
        return None;
    }
    let nodes = body["nodes"].as_object()?;
    let millis = nodes.values().map(|node| node["process"]["cpu"]["total_in_millis"].as_u64());
    Some(millis.sum::<Option<u64>>()? as f64 / 1e3)
}

/// The segments of the index's primary shards, and the number of its merges.
pub(super) async fn segments(transport: &Transport, index: &str) -> (Option<u64>, Option<u64>) {
    let path = format!("/{}/_stats/segments,merge?filter_path=_all.primaries", path_segment(index));
    match transport.get_json(&path).await {
        Ok((200, body)) => {
            let number = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64);
            (number("/_all/primaries/segments/count"), number("/_all/primaries/merges/total"))
        }
        _ => (None, None),
    }
}

/// Waits until all merges have ended, so that a run does not compete with the merges of the run
/// before. Waits two minutes at most.
pub(super) async fn settle(transport: &Transport) {
    let merging = async {
        loop {
            let now = transport.get_json("/_stats/merge?filter_path=_all.total.merges.current").await;
            match now {
                Ok((200, body)) if body["_all"]["total"]["merges"]["current"].as_u64().unwrap_or(0) > 0 => {}
                _ => return,
            }
            tokio::time::sleep(SETTLE_EVERY).await;
        }
    };
    if tokio::time::timeout(SETTLE_MAX, merging).await.is_err() {
        tracing::warn!("merges take more than {} s; the next run begins before they end", SETTLE_MAX.as_secs());
    }
}
