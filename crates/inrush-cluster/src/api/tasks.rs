//! The bulk requests that the nodes of a cluster work on.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::Transport;

/// The bulk requests that still write, or may begin to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BulkTasks {
    /// The `X-Opaque-Id` of each request. It is in the `headers` of the request's task on the
    /// coordinating node and of the tasks that it started on the shards (task management API of
    /// both servers).
    pub running: BTreeSet<String>,
    /// The ids of the nodes that listed their tasks: a node lists the listing, too.
    pub nodes: BTreeSet<String>,
    /// Whether every node of the cluster answered, by the node that was asked.
    pub complete: bool,
}

/// How long each node has to answer. One that hangs must not delay what is known of the others.
const PATH: &str =
    "/_tasks?actions=indices:data/write/bulk*,cluster:monitor/tasks/lists*&group_by=none&detailed=true&timeout=5s";
/// The part of a listing on one node.
const LISTING: &str = "cluster:monitor/tasks/lists[n]";
const PRIMARIES: &str = "/_cluster/state/routing_table?filter_path=routing_table.indices.*.shards.*.primary,routing_table.indices.*.shards.*.allocation_id";

/// The tasks of bulk requests on all nodes. `None` if the user may not ask (`cluster:monitor/task`)
/// or the path does not exist.
///
/// # Errors
/// [`ClusterError`] if no node answers, or if the credentials are no longer accepted.
pub async fn bulk_tasks(transport: &Transport) -> Result<Option<BulkTasks>, ClusterError> {
    let body = match transport.demand("looking for requests in flight", Method::GET, PATH, None).await {
        Ok(body) => body,
        Err(error) if error.cannot_be_asked() => return Ok(None),
        Err(error) => return Err(error),
    };
    let listed = Listed::of(&body);
    let found = listed.judge(&BTreeSet::new());
    if found.running.is_empty() || !listed.tasks.iter().any(Task::may_have_written) {
        return Ok(Some(found));
    }
    // Asked for after the tasks: a primary that was demoted before is not among them.
    match transport.demand("asking for the primaries", Method::GET, PRIMARIES, None).await {
        Ok(body) => Ok(Some(listed.judge(&primaries(&body)))),
        Err(error) if error.cannot_be_asked() => Ok(Some(found)),
        Err(error) => Err(error),
    }
}

/// The allocation ids of the primaries, and of the copies that replace them in a relocation.
fn primaries(body: &Value) -> BTreeSet<&str> {
    fn objects(value: &Value) -> impl Iterator<Item = &Value> {
        value.as_object().into_iter().flatten().map(|(_, value)| value)
    }
    let indices = body.pointer("/routing_table/indices").map(objects).into_iter().flatten();
    let copies = indices.flat_map(|index| objects(&index["shards"])).filter_map(Value::as_array).flatten();
    let ids = copies.filter(|copy| copy["primary"] == true).map(|copy| &copy["allocation_id"]);
    ids.flat_map(|id| [id["id"].as_str(), id["relocation_id"].as_str()]).flatten().collect()
}

/// What a task of a bulk request does (`ReplicationTask` and `TransportReplicationAction` of both
/// servers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Distributes the operations to shards.
    Whole,
    /// Sends the operations of a shard to its primary, and again if the primary changes.
    Shard,
    /// Carries them out on the primary, and waits for the copies.
    Primary,
    /// Carries them out on a copy.
    Copy,
}

#[derive(Debug)]
struct Task<'a> {
    name: String,
    parent: &'a str,
    work: Work,
    phase: &'a str,
    /// The copy of the shard that a task on the primary was sent to.
    allocation: Option<&'a str>,
    opaque_id: Option<&'a str>,
}

impl<'a> Task<'a> {
    fn of(task: &'a Value) -> Option<Self> {
        let work = match task["action"].as_str()?.strip_prefix("indices:data/write/bulk")? {
            "" => Work::Whole,
            "[s]" => Work::Shard,
            "[s][p]" => Work::Primary,
            "[s][r]" => Work::Copy,
            _ => return None,
        };
        let headers = task["headers"].as_object().into_iter().flatten();
        let opaque_id =
            headers.filter(|(name, _)| name.eq_ignore_ascii_case("x-opaque-id")).find_map(|(_, id)| id.as_str());
        let allocation = task["description"].as_str().and_then(|text| text.rsplit_once("for aID ["));
        Some(Task {
            name: format!("{}:{}", task["node"].as_str()?, task["id"]),
            parent: task["parent_task_id"].as_str().unwrap_or_default(),
            work,
            phase: task["status"]["phase"].as_str().unwrap_or_default(),
            allocation: allocation.and_then(|(_, rest)| rest.split_once(']')).map(|(id, _)| id),
            opaque_id,
        })
    }

    fn may_have_written(&self) -> bool {
        self.work == Work::Copy || (self.work == Work::Primary && matches!(self.phase, "replicating" | "finished"))
    }
}

/// The tasks of an answer.
#[derive(Debug)]
struct Listed<'a> {
    tasks: Vec<Task<'a>>,
    /// The places of the tasks that a task has started, by its name.
    children: BTreeMap<&'a str, Vec<usize>>,
    nodes: BTreeSet<String>,
    complete: bool,
}

impl<'a> Listed<'a> {
    fn of(body: &'a Value) -> Self {
        let listed = match body.get("tasks") {
            Some(Value::Array(tasks)) => Some(tasks.iter().collect::<Vec<_>>()),
            Some(Value::Object(tasks)) => Some(tasks.values().collect()),
            _ => None,
        };
        let failed = |key: &str| body.get(key).and_then(Value::as_array).is_some_and(|failures| !failures.is_empty());
        let complete = listed.is_some() && !failed("node_failures") && !failed("task_failures");
        let listed = listed.unwrap_or_default();
        let listings = listed.iter().filter(|task| task["action"] == LISTING);
        let nodes = listings.filter_map(|task| task["node"].as_str().map(str::to_owned)).collect();
        let tasks: Vec<Task<'a>> = listed.into_iter().filter_map(Task::of).collect();
        let mut children: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            children.entry(task.parent).or_default().push(at);
        }
        Listed { tasks, children, nodes, complete }
    }

    /// `primaries`: the allocation ids of the primaries.
    fn judge(&self, primaries: &BTreeSet<&str>) -> BulkTasks {
        let names: BTreeSet<&str> = self.tasks.iter().map(|task| task.name.as_str()).collect();
        let first = self.tasks.iter().filter(|task| !names.contains(task.parent));
        let running = first.filter(|task| !self.has_written(task, primaries));
        let running = running.filter_map(|task| task.opaque_id.map(str::to_owned)).collect();
        BulkTasks { running, nodes: self.nodes.clone(), complete: self.complete }
    }

    /// Whether the task waits for copies only. A copy applies the operations in the order of the
    /// primary. OpenSearch 3.6 keeps such tasks for minutes where a copy has left.
    ///
    /// A primary that was demoted does not count, because the operations are sent to the new one
    /// (`RetryOnPrimaryException` of both servers).
    fn has_written(&self, task: &Task<'_>, primaries: &BTreeSet<&str>) -> bool {
        let children = || self.children.get(task.name.as_str()).into_iter().flatten().map(|at| &self.tasks[*at]);
        let has_written = |task: &Task<'_>| self.has_written(task, primaries);
        match task.work {
            Work::Whole => children().next().is_some() && children().all(has_written),
            Work::Shard if task.phase == "waiting_for_retry" => false,
            Work::Shard => task.phase == "finished" || children().any(has_written),
            Work::Primary if task.allocation.is_some_and(|id| primaries.contains(id)) => {
                task.may_have_written() || children().any(|child| child.may_have_written())
            }
            // Another copy took over in order, and has the operations.
            Work::Primary => children().any(|child| child.work == Work::Primary && has_written(child)),
            Work::Copy => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: &Value, primaries: &[&str]) -> BulkTasks {
        Listed::of(body).judge(&primaries.iter().copied().collect())
    }

    #[test]
    fn tasks_have_the_ids_of_their_requests() {
        let body = json!({"tasks": [
            {"node": "n", "id": 1, "action": "indices:data/write/bulk", "headers": {}},
            {"node": "n", "id": 2, "action": "indices:data/write/bulk[s]", "headers": {"X-Opaque-Id": "run-7"}},
            {"node": "n", "id": 3, "action": "cluster:monitor/tasks/lists"},
            {"node": "n", "id": 4, "action": "cluster:monitor/tasks/lists[n]"},
            {"node": "m", "id": 4, "action": "cluster:monitor/tasks/lists[n]"},
        ]});
        let found = parse(&body, &[]);
        assert!(found.running.iter().eq(["run-7"]) && found.nodes.iter().eq(["m", "n"]) && found.complete, "{found:?}");
        assert_eq!(parse(&json!({"tasks": []}), &[]), BulkTasks { complete: true, ..BulkTasks::default() });
    }

    /// A task of the request `run-7`.
    fn task(name: &str, kind: &str, phase: &str, parent: &str) -> Value {
        let (node, id) = name.split_once(':').unwrap();
        let mut task = json!({"node": node, "id": id.parse::<u64>().unwrap(), "action": format!("indices:data/write/bulk{kind}"),
            "status": {"phase": phase}, "parent_task_id": parent, "headers": {"X-Opaque-Id": "run-7"}});
        if kind == "[s][p]" {
            task["description"] = json!(format!("[requests[2], index[i][0]] for aID [of-{node}] and term [1]"));
        }
        task
    }

    #[test]
    fn a_request_that_waits_for_copies_only_has_written() {
        let tasks = |phase: &str, more: &[Value]| {
            let mut tasks = vec![
                task("a:1", "", "", "none"),
                task("a:2", "[s]", "rerouted", "a:1"),
                task("b:5", "[s]", "waiting_on_primary", "a:2"),
                task("b:3", "[s][p]", phase, "b:5"),
            ];
            tasks.extend_from_slice(more);
            json!({"tasks": tasks})
        };
        let runs =
            |phase: &str, more: &[Value], primaries: &[&str]| !parse(&tasks(phase, more), primaries).running.is_empty();
        assert!(runs("primary", &[], &["of-b"]));
        assert!(!runs("replicating", &[], &["of-b"]));
        // The copy's task shows that the primary has written, also before its phase says so.
        let copy = [task("c:4", "[s][r]", "replica", "b:3")];
        assert!(!runs("primary", &copy, &["of-b"]));
        // A primary that was demoted sends nothing on, and the node that sent it repeats it.
        assert!(runs("replicating", &copy, &["of-c"]));
        assert!(runs("replicating", &[], &[]));
        // The new primary has it, too.
        assert!(!runs("replicating", &[task("c:6", "[s][p]", "replicating", "b:5")], &["of-c"]));
        assert!(runs("replicating", &[task("a:7", "[s]", "waiting_for_retry", "a:1")], &["of-b"]));
        // A relocated primary hands over.
        assert!(!runs("primary_delegation", &[task("c:6", "[s][p]", "finished", "b:3")], &["of-b", "of-c"]));
        assert!(runs("primary_delegation", &[task("c:6", "[s][p]", "primary", "b:3")], &["of-b", "of-c"]));
    }

    #[test]
    fn a_shard_that_waits_for_a_new_primary_has_not_written() {
        let tasks = [task("a:2", "[s]", "waiting_for_retry", "none"), task("b:3", "[s][p]", "replicating", "a:2")];
        assert_eq!(parse(&json!({"tasks": tasks}), &["of-b"]).running.len(), 1);
    }

    #[test]
    fn primaries_are_those_of_all_indices() {
        let copy = |primary: bool, id: Value| json!({"primary": primary, "allocation_id": id});
        let body = json!({"routing_table": {"indices": {
            "a": {"shards": {"0": [copy(true, json!({"id": "x", "relocation_id": "y"})), copy(false, json!({"id": "z"}))]}},
            "b": {"shards": {"0": [copy(false, json!({"id": "u"})), copy(true, json!({"id": "v"}))], "1": [copy(true, json!(null))]}},
        }}});
        assert!(primaries(&body).into_iter().eq(["v", "x", "y"]));
        assert!(primaries(&json!({})).is_empty());
    }

    #[test]
    fn without_an_answer_from_every_node_the_list_is_not_complete() {
        let body = json!({"node_failures": [{"type": "failed_node_exception"}], "tasks": []});
        assert_eq!(parse(&body, &[]), BulkTasks::default());
        assert_eq!(parse(&json!({}), &[]), BulkTasks::default());
    }
}
