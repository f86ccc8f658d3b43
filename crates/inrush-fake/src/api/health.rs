//! Health and state of indices and their shards.

use serde_json::{Map, Value, json};

use super::expand::{by_index, expand};
use super::nodes::{node_id, node_name};
use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::{Cluster, Index};

/// `GET _cluster/health`: yellow with an unassigned replica, else green.
pub(super) fn health(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    let mut sums = ShardSums::default();
    for index in names.iter().filter_map(|name| cluster.indices.get(name)) {
        sums.add(index, cluster.nodes);
    }
    let mut body = json!({
        "cluster_name": cluster.flavor.product().to_string(), "timed_out": false,
        "number_of_nodes": cluster.nodes, "number_of_data_nodes": cluster.nodes, "number_of_pending_tasks": 0,
    });
    sums.show(&mut body);
    if request.param("level") == Some("indices") {
        body["indices"] = by_index(names, |name| {
            let index = cluster.indices.get(name)?;
            let mut shown =
                json!({"number_of_shards": index.number_of_shards(), "number_of_replicas": index.copies() - 1});
            let mut own = ShardSums::default();
            own.add(index, cluster.nodes);
            own.show(&mut shown);
            Some(shown)
        });
    }
    Ok(ApiReply::ok(body))
}

/// Numbers of shard copies, as the health shows them.
#[derive(Default)]
struct ShardSums {
    primaries: usize,
    active: usize,
    unassigned: usize,
}

impl ShardSums {
    fn add(&mut self, index: &Index, nodes: usize) {
        let shards = index.number_of_shards() as usize;
        self.primaries += shards;
        self.active += shards * index.copies().min(nodes);
        self.unassigned += shards * index.copies().saturating_sub(nodes);
    }

    fn show(&self, body: &mut Value) {
        body["status"] = json!(if self.unassigned == 0 { "green" } else { "yellow" });
        body["active_primary_shards"] = json!(self.primaries);
        body["active_shards"] = json!(self.active);
        body["unassigned_shards"] = json!(self.unassigned);
        body["relocating_shards"] = json!(0);
        body["initializing_shards"] = json!(0);
    }
}

/// `GET _cluster/state`: the metadata and the routing that loaders read.
pub(super) fn state(cluster: &Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    let by_shard = |terms: &[u64], value: &dyn Fn(u64) -> Value| -> Map<String, Value> {
        terms.iter().enumerate().map(|(shard, term)| (shard.to_string(), value(*term))).collect()
    };
    let metadata = by_index(names.clone(), |name| {
        let index = cluster.indices.get(name)?;
        let terms = by_shard(index.primary_terms(), &|term| json!(term));
        let mut settings = json!({"uuid": index.uuid, "number_of_shards": index.number_of_shards().to_string()});
        settings["version"] = json!({"created": index.settings.get("index.version.created")});
        if let Some(size) = index.settings.get("index.routing_partition_size") {
            settings["routing_partition_size"] = json!(size);
        }
        Some(json!({
            "state": "open", "settings": {"index": settings}, "primary_terms": terms,
            "routing_num_shards": index.placement.routing_shards(),
        }))
    });
    let routing = by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let copies = |shard: usize| -> Vec<Value> {
            let copy = |n: usize| match n < cluster.nodes {
                true => json!({"state": "STARTED", "primary": n == 0, "node": node_id((shard + n) % cluster.nodes)}),
                false => json!({"state": "UNASSIGNED", "primary": n == 0, "node": null}),
            };
            (0..index.copies()).map(copy).collect()
        };
        let shards: Map<String, Value> =
            (0..index.primary_terms().len()).map(|shard| (shard.to_string(), json!(copies(shard)))).collect();
        Some(json!({"shards": shards}))
    });
    let name = cluster.flavor.product().to_string();
    let nodes: Map<String, Value> =
        (0..cluster.nodes).map(|node| (node_id(node), json!({"name": node_name(node)}))).collect();
    Ok(ApiReply::ok(json!({
        "cluster_name": name, "cluster_uuid": cluster.uuid, "nodes": nodes,
        "metadata": {"indices": metadata}, "routing_table": {"indices": routing},
    })))
}

/// `GET _cat/indices`, as JSON.
pub(super) fn cat_indices(cluster: &Cluster, expression: &str) -> Result<ApiReply, ServerError> {
    let rows = expand(cluster, expression)?.into_iter().filter_map(|name| {
        let index = cluster.indices.get(&name)?;
        let health = if index.copies() <= cluster.nodes { "green" } else { "yellow" };
        let bytes = index.store_bytes().to_string();
        Some(json!({"health": health, "status": if index.open { "open" } else { "close" }, "index": name,
            "uuid": index.uuid, "pri": index.number_of_shards().to_string(), "rep": (index.copies() - 1).to_string(),
            "docs.count": index.searchable_count().to_string(), "docs.deleted": "0",
            "store.size": bytes, "pri.store.size": bytes}))
    });
    Ok(ApiReply::ok(rows.collect()))
}
