//! The shape of the cluster and of an index: what the best size and number of requests depend on.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::clock;
use crate::transport::{Transport, path_segment};

/// The shape of a cluster and of an index, as far as the user may read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The UUID of the cluster.
    pub cluster_uuid: Option<String>,
    /// Duration of `GET /`, which takes a node no work.
    pub distance: Option<Duration>,
    /// Data nodes.
    pub data_nodes: Option<u32>,
    /// Write threads of all data nodes.
    pub write_threads: Option<u32>,
    /// Primary shards of the index.
    pub shards: Option<u32>,
    /// Replicas of each shard.
    pub replicas: Option<u32>,
}

/// Reads the shape of the cluster, and of `index` if one is given, with one request each. What is
/// refused or cannot be read stays unknown.
pub async fn shape(transport: &Transport, index: Option<&str>) -> Shape {
    let ((cluster_uuid, distance), (data_nodes, write_threads), (shards, replicas)) =
        tokio::join!(root(transport), nodes(transport), copies(transport, index));
    Shape { cluster_uuid, distance, data_nodes, write_threads, shards, replicas }
}

/// `GET /` has the UUID. Some gateways and builds of Elasticsearch without its modules answer it
/// with 405, and the state of the cluster has it, too.
async fn root(transport: &Transport) -> (Option<String>, Option<Duration>) {
    for path in ["/", "/_cluster/state/version?filter_path=cluster_uuid"] {
        let asked = clock::now();
        let reply = transport.demand("asking for the UUID of the cluster", Method::GET, path, None).await;
        let uuid = reply.ok().and_then(|body| Some(body.get("cluster_uuid")?.as_str()?.to_owned()));
        // A cluster that has not formed yet has none.
        if let Some(uuid) = uuid.filter(|uuid| uuid != "_na_") {
            return (Some(uuid), Some(asked.elapsed()));
        }
    }
    (None, None)
}

async fn nodes(transport: &Transport) -> (Option<u32>, Option<u32>) {
    let path = "/_nodes/thread_pool?filter_path=nodes.*.roles,nodes.*.thread_pool.write.size";
    match transport.demand("asking for the write threads", Method::GET, path, None).await {
        Ok(reply) => data_nodes(&reply),
        Err(_) => (None, None),
    }
}

/// Data nodes and their write threads.
fn data_nodes(reply: &Value) -> (Option<u32>, Option<u32>) {
    let Some(nodes) = reply.get("nodes").and_then(Value::as_object) else { return (None, None) };
    let holds_data = |role: &Value| role.as_str().is_some_and(|role| role == "data" || role.starts_with("data_"));
    let is_data = |node: &&Value| {
        // Nodes of OpenSearch with all roles list them, too.
        node.get("roles").and_then(Value::as_array).is_some_and(|roles| roles.iter().any(holds_data))
    };
    let data: Vec<&Value> = nodes.values().filter(is_data).collect();
    let threads = |node: &&Value| node.pointer("/thread_pool/write/size")?.as_u64();
    let threads: Option<u64> = data.iter().map(threads).sum();
    let count = u32::try_from(data.len()).ok().filter(|count| *count > 0);
    (count, threads.and_then(|threads| u32::try_from(threads).ok()).filter(|_| count.is_some()))
}

async fn copies(transport: &Transport, index: Option<&str>) -> (Option<u32>, Option<u32>) {
    let Some(index) = index else { return (None, None) };
    let index = path_segment(index);
    let path = format!("/{index}/_settings?filter_path=*.settings.index.number_of_*");
    match transport.demand("asking for the shards of the index", Method::GET, &path, None).await {
        Ok(reply) => (setting(&reply, "number_of_shards"), setting(&reply, "number_of_replicas")),
        Err(_) => (None, None),
    }
}

/// A setting of the only index. Several indices, as of an alias, have several values.
fn setting(reply: &Value, name: &str) -> Option<u32> {
    let indices = reply.as_object().filter(|indices| indices.len() == 1)?;
    indices.values().next()?.pointer("/settings/index")?.get(name)?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_data_nodes_count() {
        let node = |role: &str, threads: u32| json!({"roles": [role], "thread_pool": {"write": {"size": threads}}});
        let reply = json!({"nodes": {"a": node("data", 4), "b": node("data_hot", 8), "c": node("master", 16)}});
        assert_eq!(data_nodes(&reply), (Some(2), Some(12)));
        let silent = json!({"nodes": {"a": {"roles": ["data"]}}});
        assert_eq!(data_nodes(&silent), (Some(1), None));
        assert_eq!(data_nodes(&json!({})), (None, None));
    }

    #[test]
    fn settings_of_one_index_are_read() {
        let index = |shards: &str| json!({"settings": {"index": {"number_of_shards": shards}}});
        assert_eq!(setting(&json!({"a": index("3")}), "number_of_shards"), Some(3));
        assert_eq!(setting(&json!({"a": index("3"), "b": index("1")}), "number_of_shards"), None);
        assert_eq!(setting(&json!({"a": index("3")}), "number_of_replicas"), None);
    }
}
