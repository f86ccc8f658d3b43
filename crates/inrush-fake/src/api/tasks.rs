//! Running and finished tasks.

use serde_json::{Map, Value, json};

use super::nodes::{node_id, node_name};
use super::request::{ApiReply, ApiRequest, Environment};
use crate::clock::millis_now;
use crate::error::ServerError;
use crate::model::Cluster;
use crate::pattern;

/// `GET _tasks`: the running bulk requests, and this listing.
pub(super) fn tasks(cluster: &Cluster, request: &ApiRequest, environment: &Environment) -> ApiReply {
    let (action, listing) = ("indices:data/write/bulk", "cluster:monitor/tasks/lists[n]");
    let now = millis_now();
    let wants = |action: &str| {
        request.param("actions").is_none_or(|patterns| patterns.split(',').any(|one| pattern::matches(one, action)))
    };
    let listings = (0..if wants(listing) { cluster.nodes } else { 0 }).map(|node| {
        let node = node_id(node);
        let task = json!({"node": node, "id": 0, "type": "transport", "action": listing, "headers": {}});
        (format!("{node}:0"), task)
    });
    let tasks: Vec<(String, Value)> = environment
        .tasks
        .iter()
        .filter(|_| wants(action))
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
        .chain(listings)
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

/// `GET _tasks/{id}`: the result of a finished task. Running tasks are only listed.
pub(super) fn task(cluster: &Cluster, id: &str) -> Result<ApiReply, ServerError> {
    match cluster.task_results.get(id) {
        Some(response) => Ok(ApiReply::ok(json!({"completed": true, "task": {"id": id}, "response": response}))),
        None => {
            let reason = format!("task [{id}] isn't running and hasn't stored its results");
            Err(ServerError::new(404, "resource_not_found_exception", reason))
        }
    }
}
