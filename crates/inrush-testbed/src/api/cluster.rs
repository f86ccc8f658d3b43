//! Endpoints about the cluster: what it is, how it is, what it does.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ApiReply, ApiRequest, Surroundings, by_index, expand};
use crate::error::EsError;
use crate::model::{Cluster, Index, millis_now};
use crate::pattern;
use crate::product::Product;
use crate::routing::routing_shards;
use crate::settings::{flatten, nest};

pub(super) fn node_id(node: usize) -> String {
    format!("fakenode{node:014}")
}

fn node_name(node: usize) -> String {
    format!("fake-{node}")
}

pub(super) fn root(cluster: &Cluster, around: &Surroundings) -> ApiReply {
    match around.root_status {
        405 => {
            return ApiReply {
                status: 405,
                body: json!({"error": "Incorrect HTTP method for uri [/] and method [GET], allowed: [DELETE]", "status": 405}),
            };
        }
        403 => {
            return ApiReply { status: 403, body: json!({"message": "Forbidden"}) };
        }
        _ => {}
    }
    let number = &cluster.flavor.version;
    let (version, tagline) = match cluster.flavor.product {
        Product::OpenSearch => (
            json!({"distribution": "opensearch", "number": number, "build_type": "zip", "build_snapshot": false,
                "minimum_wire_compatibility_version": "2.19.0", "minimum_index_compatibility_version": "2.0.0"}),
            "The OpenSearch Project: https://opensearch.org/",
        ),
        Product::Elasticsearch => (
            json!({"number": number, "build_flavor": "default", "build_type": "zip", "build_snapshot": false,
                "minimum_wire_compatibility_version": "7.17.0", "minimum_index_compatibility_version": "7.0.0"}),
            "You Know, for Search",
        ),
    };
    ApiReply::ok(json!({
        "name": node_name(around.node),
        "cluster_name": cluster.flavor.product.to_string(),
        "cluster_uuid": cluster.uuid,
        "version": version,
        "tagline": tagline,
    }))
}

pub(super) fn health(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    let mut sums = ShardSums::default();
    for index in names.iter().filter_map(|name| cluster.indices.get(name)) {
        sums.add(index, cluster.nodes);
    }
    let mut body = json!({
        "cluster_name": cluster.flavor.product.to_string(), "timed_out": false,
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

/// Copies of shards, as the health tells them.
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

/// Metadata and routing of indices, in the part that loaders read.
pub(super) fn state(cluster: &Cluster, expression: &str) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    let by_shard = |terms: &[u64], value: &dyn Fn(u64) -> Value| -> Map<String, Value> {
        terms.iter().enumerate().map(|(shard, term)| (shard.to_string(), value(*term))).collect()
    };
    let metadata = by_index(names.clone(), |name| {
        let index = cluster.indices.get(name)?;
        let terms = by_shard(index.primary_terms(), &|term| json!(term));
        let shards = index.number_of_shards();
        let settings = json!({"uuid": index.uuid, "number_of_shards": shards.to_string()});
        Some(
            json!({"state": "open", "settings": {"index": settings}, "primary_terms": terms, "routing_num_shards": routing_shards(shards)}),
        )
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
    let name = cluster.flavor.product.to_string();
    Ok(ApiReply::ok(json!({
        "cluster_name": name, "cluster_uuid": cluster.uuid,
        "metadata": {"indices": metadata}, "routing_table": {"indices": routing},
    })))
}

/// Modules as the distribution has them that the conformance suite is run against.
fn modules(cluster: &Cluster) -> Vec<&'static str> {
    let mut all = vec!["transport-netty4", "ingest-common", "lang-painless", "reindex"];
    if cluster.flavor.is_elasticsearch() {
        all.extend(["x-pack-core", "x-pack-security", "x-pack-data-streams"]);
    }
    all
}

pub(super) fn nodes(cluster: &Cluster, around: &Surroundings, rest: &[&str]) -> ApiReply {
    let all = if rest.contains(&"_local") { around.node..around.node + 1 } else { 0..cluster.nodes };
    let modules: Vec<Value> = modules(cluster).into_iter().map(|name| json!({"name": name})).collect();
    let nodes: Map<String, Value> = all
        .map(|node| {
            let value = json!({
                "name": node_name(node), "version": cluster.flavor.version, "roles": ["data", "ingest"],
                "host": "127.0.0.1", "ip": "127.0.0.1", "modules": modules, "plugins": [],
                "http": {"max_content_length_in_bytes": around.max_content_length_bytes, "publish_address": around.addresses.get(node)},
            });
            (node_id(node), value)
        })
        .collect();
    ApiReply::ok(json!({"cluster_name": cluster.flavor.product.to_string(), "nodes": nodes}))
}

pub(super) fn settings(cluster: &Cluster) -> ApiReply {
    ApiReply::ok(json!({"persistent": show_flat(&cluster.persistent_settings), "transient": {}}))
}

/// Persistent settings; of all there are, the fake obeys `action.auto_create_index` and `cluster.blocks.read_only`.
pub(super) fn put_settings(cluster: &mut Cluster, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    let mut given = BTreeMap::new();
    for scope in ["persistent", "transient"] {
        if let Some(settings) = body.get(scope) {
            flatten("", settings, &mut given);
        }
    }
    for (name, value) in given {
        if value.is_null() {
            cluster.persistent_settings.remove(&name);
        } else {
            cluster.persistent_settings.insert(name, value);
        }
    }
    let text = |name: &str| cluster.persistent_settings.get(name).and_then(Value::as_str);
    let auto_create_index = text("action.auto_create_index") != Some("false");
    let read_only = text("cluster.blocks.read_only") == Some("true");
    cluster.auto_create_index = auto_create_index;
    cluster.read_only = read_only;
    let persistent = show_flat(&cluster.persistent_settings);
    Ok(ApiReply::ok(json!({"acknowledged": true, "persistent": persistent, "transient": {}})))
}

fn show_flat(settings: &BTreeMap<String, Value>) -> Value {
    nest(settings.iter())
}

pub(super) fn node_stats(cluster: &Cluster, around: &Surroundings) -> ApiReply {
    let available = around.disk_available_bytes;
    let nodes: Map<String, Value> = (0..cluster.nodes)
        .map(|node| {
            let total =
                json!({"total_in_bytes": available * 2, "free_in_bytes": available, "available_in_bytes": available});
            (node_id(node), json!({"name": node_name(node), "roles": ["data", "ingest"], "fs": {"total": total}}))
        })
        .collect();
    ApiReply::ok(json!({"cluster_name": cluster.flavor.product.to_string(), "nodes": nodes}))
}

pub(super) fn cat_allocation(cluster: &Cluster, around: &Surroundings) -> ApiReply {
    let available = around.disk_available_bytes;
    let rows: Vec<Value> = (0..cluster.nodes)
        .map(|node| {
            json!({"shards": "1", "disk.indices": "0", "disk.used": available.to_string(), "disk.avail": available.to_string(),
                "disk.total": (available * 2).to_string(), "disk.percent": "50", "host": "127.0.0.1", "ip": "127.0.0.1",
                "node": node_name(node)})
        })
        .collect();
    ApiReply::ok(Value::Array(rows))
}

pub(super) fn cat_indices(cluster: &Cluster, expression: &str) -> Result<ApiReply, EsError> {
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

pub(super) fn tasks(cluster: &Cluster, request: &ApiRequest, around: &Surroundings) -> ApiReply {
    let action = "indices:data/write/bulk";
    let now = millis_now();
    let wanted =
        request.param("actions").is_none_or(|patterns| patterns.split(',').any(|one| pattern::matches(one, action)));
    let tasks: Vec<(String, Value)> = around
        .tasks
        .iter()
        .filter(|_| wanted)
        .map(|task| {
            let headers = match &task.opaque_id {
                Some(id) => json!({"X-Opaque-Id": id}),
                None => json!({}),
            };
            let node = node_id(task.node);
            let mut value = json!({
                "node": node, "id": task.id, "type": "transport", "action": action,
                "start_time_in_millis": task.start_time_ms,
                "running_time_in_nanos": now.saturating_sub(task.start_time_ms) * 1_000_000,
                "cancellable": false, "headers": headers,
            });
            if request.flag("detailed") {
                value["description"] = json!(task.description);
            }
            (format!("{node}:{}", task.id), value)
        })
        .collect();
    if request.param("group_by") == Some("none") {
        let all: Vec<Value> = tasks.into_iter().map(|(_, task)| task).collect();
        return ApiReply::ok(json!({"tasks": all}));
    }
    let mut nodes = Map::new();
    for node in 0..cluster.nodes {
        let prefix = format!("{}:", node_id(node));
        let own: Map<String, Value> = tasks.iter().filter(|(id, _)| id.starts_with(&prefix)).cloned().collect();
        if !own.is_empty() {
            nodes.insert(node_id(node), json!({"name": node_name(node), "tasks": own}));
        }
    }
    ApiReply::ok(json!({"nodes": nodes}))
}

/// A task that has ended and whose answer was kept. Those under way are only listed.
pub(super) fn task(cluster: &Cluster, id: &str) -> Result<ApiReply, EsError> {
    match cluster.task_results.get(id) {
        Some(response) => Ok(ApiReply::ok(json!({"completed": true, "task": {"id": id}, "response": response}))),
        None => {
            let reason = format!("task [{id}] isn't running and hasn't stored its results");
            Err(EsError::new(404, "resource_not_found_exception", reason))
        }
    }
}

pub(super) fn has_privileges(cluster: &Cluster, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    let texts = |value: Option<&Value>| -> Vec<String> {
        value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = true;
    let mut indices = Map::new();
    for entry in body.get("index").and_then(Value::as_array).into_iter().flatten() {
        for name in texts(entry.get("names")) {
            let allowed = !cluster.denied_indices.iter().any(|denied| pattern::matches(denied, &name));
            all &= allowed;
            let privileges: Map<String, Value> =
                texts(entry.get("privileges")).into_iter().map(|privilege| (privilege, json!(allowed))).collect();
            indices.insert(name, Value::Object(privileges));
        }
    }
    let granted: Map<String, Value> =
        texts(body.get("cluster")).into_iter().map(|privilege| (privilege, json!(true))).collect();
    Ok(ApiReply::ok(
        json!({"username": "test", "has_all_requested": all, "cluster": granted, "index": indices, "application": {}}),
    ))
}
