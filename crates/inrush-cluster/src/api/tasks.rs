//! Whether the cluster is still working on a request whose reply was lost.

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::Transport;

/// Whether any node is still working on a bulk request with this `X-Opaque-Id`. `None` if that is
/// unknown: the user may not ask (`cluster:monitor/task`), the path does not exist, or a node did
/// not answer.
///
/// The id is in the `headers` of the request's task on the coordinating node and of the tasks that
/// it started on the shards (task management API of both servers).
///
/// # Errors
/// [`ClusterError`] if no node answers, or if the credentials are no longer accepted.
pub async fn bulk_tasks_with_opaque_id(transport: &Transport, id: &str) -> Result<Option<bool>, ClusterError> {
    let path = "/_tasks?actions=indices:data/write/bulk*&group_by=none";
    match transport.demand("looking for requests in flight", Method::GET, path, None).await {
        Ok(body) => Ok(found(&body, id)),
        Err(error) if error.cannot_be_asked() => Ok(None),
        Err(error) => Err(error),
    }
}

fn found(body: &Value, id: &str) -> Option<bool> {
    let tasks: Vec<&Value> = match body.get("tasks")? {
        Value::Array(tasks) => tasks.iter().collect(),
        Value::Object(tasks) => tasks.values().collect(),
        _ => return None,
    };
    let is_ours = |task: &&Value| {
        let headers = task.get("headers").and_then(Value::as_object);
        headers.is_some_and(|headers| {
            headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("x-opaque-id") && value.as_str() == Some(id))
        })
    };
    if tasks.iter().any(is_ours) {
        return Some(true);
    }
    let failed = |key: &str| body.get(key).and_then(Value::as_array).is_some_and(|failures| !failures.is_empty());
    if failed("node_failures") || failed("task_failures") { None } else { Some(false) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_request_is_told_from_others() {
        let body = json!({"tasks": [
            {"node": "n", "id": 1, "action": "indices:data/write/bulk", "headers": {}},
            {"node": "n", "id": 2, "action": "indices:data/write/bulk[s]", "headers": {"X-Opaque-Id": "run-7"}},
        ]});
        assert_eq!(found(&body, "run-7"), Some(true));
        assert_eq!(found(&body, "run-8"), Some(false));
        assert_eq!(found(&json!({"tasks": []}), "run-7"), Some(false));
    }

    #[test]
    fn without_an_answer_from_every_node_nothing_is_known() {
        let body = json!({"node_failures": [{"type": "failed_node_exception"}], "tasks": []});
        assert_eq!(found(&body, "run-7"), None);
        assert_eq!(found(&json!({}), "run-7"), None);
    }
}
