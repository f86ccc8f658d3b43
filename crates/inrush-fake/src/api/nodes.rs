//! The nodes of the cluster.

use serde_json::{Map, Value, json};

use super::request::{ApiReply, Environment};
use crate::model::Cluster;

/// Write threads of a node.
const WRITE_THREADS: u32 = 4;

/// The id of a node.
pub(super) fn node_id(node: usize) -> String {
    format!("fakenode{node:014}")
}

/// The name of a node.
pub(super) fn node_name(node: usize) -> String {
    format!("fake-{node}")
}

/// The modules of the distributions that the conformance suite runs against.
fn modules(cluster: &Cluster) -> Vec<&'static str> {
    let mut all = vec!["transport-netty4", "ingest-common", "lang-painless", "reindex"];
    if cluster.flavor.is_elasticsearch() {
        all.extend(["x-pack-core", "x-pack-security", "x-pack-data-streams"]);
    }
    all
}

/// `GET _nodes`; `rest` are the segments of the path after `_nodes`.
pub(super) fn nodes(cluster: &Cluster, environment: &Environment, rest: &[&str]) -> ApiReply {
    let all = if rest.contains(&"_local") { environment.node..environment.node + 1 } else { 0..cluster.nodes };
    let modules: Vec<Value> = modules(cluster).into_iter().map(|name| json!({"name": name})).collect();
    let nodes: Map<String, Value> = all
        .map(|node| {
            let value = json!({
                "name": node_name(node), "version": cluster.flavor.version(), "roles": ["data", "ingest"],
                "host": "127.0.0.1", "ip": "127.0.0.1", "modules": modules, "plugins": [],
                "thread_pool": {"write": {"type": "fixed", "size": WRITE_THREADS, "queue_size": 10_000}},
                "http": {"max_content_length_in_bytes": environment.max_content_length_bytes, "publish_address": environment.addresses.get(node)},
            });
            (node_id(node), value)
        })
        .collect();
    ApiReply::ok(json!({"cluster_name": cluster.flavor.product().to_string(), "nodes": nodes}))
}

/// `GET _nodes/stats`: the disks alone.
pub(super) fn node_stats(cluster: &Cluster, environment: &Environment) -> ApiReply {
    let available = environment.disk_available_bytes;
    let nodes: Map<String, Value> = (0..cluster.nodes)
        .map(|node| {
            let total =
                json!({"total_in_bytes": available * 2, "free_in_bytes": available, "available_in_bytes": available});
            (node_id(node), json!({"name": node_name(node), "roles": ["data", "ingest"], "fs": {"total": total}}))
        })
        .collect();
    ApiReply::ok(json!({"cluster_name": cluster.flavor.product().to_string(), "nodes": nodes}))
}

/// `GET _cat/allocation`, as JSON.
pub(super) fn cat_allocation(cluster: &Cluster, environment: &Environment) -> ApiReply {
    let available = environment.disk_available_bytes;
    let rows: Vec<Value> = (0..cluster.nodes)
        .map(|node| {
            json!({"shards": "1", "disk.indices": "0", "disk.used": available.to_string(), "disk.avail": available.to_string(),
                "disk.total": (available * 2).to_string(), "disk.percent": "50", "host": "127.0.0.1", "ip": "127.0.0.1",
                "node": node_name(node)})
        })
        .collect();
    ApiReply::ok(Value::Array(rows))
}
