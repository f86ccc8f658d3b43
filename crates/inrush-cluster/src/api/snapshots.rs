//! Snapshots: their repositories, taking a snapshot of an index, and restoring it elsewhere.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// A snapshot repository, as a cluster registers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repository {
    /// The type: `fs`, `s3` and others that plugins provide.
    #[serde(rename = "type")]
    pub kind: String,
    /// The settings of that type: `location`, `bucket`, `base_path`.
    pub settings: Map<String, Value>,
    /// How its nodes encrypt what they write, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crypto_metadata: Option<Value>,
}

/// The state of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotState {
    /// It does not exist.
    Missing,
    /// It is being written.
    InProgress,
    /// It is complete.
    Success,
    /// It exists and is not complete. The text is the server's state.
    Failed(String),
}

/// Values that tell an index from another one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The UUID. It differs in each cluster.
    pub uuid: String,
    /// When the index was created, ms. A restored index keeps the value of the index in the
    /// snapshot.
    pub created: String,
}

/// The primary shards of an index that is being restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Primaries {
    /// Their number.
    pub total: usize,
    /// Number of active ones.
    pub started: usize,
    /// Number of those without a node.
    pub unassigned: usize,
    /// Why a shard cannot be restored.
    pub failed: Option<String>,
    /// Whether a shard waits for a copy of itself after a restart of the whole cluster. An index
    /// that was being restored then waits for ever.
    pub waits_for_itself: bool,
}

/// The repository of this name, if the cluster has one.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn repository(transport: &Transport, name: &str) -> Result<Option<Repository>, ClusterError> {
    let what = format!("looking up the repository {name}");
    let path = format!("/_snapshot/{}", path_segment(name));
    let Some(body) = transport.find(&what, Method::GET, &path).await? else { return Ok(None) };
    match body.get(name).map(Repository::deserialize) {
        Some(Ok(repository)) => Ok(Some(repository)),
        _ => Err(ClusterError::Reply { what, problem: "no repository of that name in the answer".to_owned() }),
    }
}

/// Registers or changes a repository. The cluster verifies that all its nodes can use it.
///
/// # Errors
/// [`ClusterError`] if the request fails. A location that a node cannot use is
/// [`ClusterError::Refused`] with the server's reason.
pub async fn register(transport: &Transport, name: &str, repository: &Repository) -> Result<(), ClusterError> {
    let what = format!("registering the repository {name}");
    let body = json!({"type": repository.kind, "settings": repository.settings});
    transport.demand(&what, Method::PUT, &format!("/_snapshot/{}", path_segment(name)), Some(&body)).await.map(|_| ())
}

/// Removes a repository from the cluster. Its contents stay. Returns whether there was one.
///
/// # Errors
/// [`ClusterError`] if the request fails. The server refuses to remove a repository that is being
/// restored from.
pub async fn unregister(transport: &Transport, name: &str) -> Result<bool, ClusterError> {
    gone(transport, &format!("removing the repository {name}"), &format!("/_snapshot/{}", path_segment(name))).await
}

/// Begins a snapshot of `index`, or of nothing if there is no such index. Returns before the
/// snapshot is complete.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn begin(transport: &Transport, repository: &str, name: &str, index: &str) -> Result<(), ClusterError> {
    let body = json!({"indices": index, "ignore_unavailable": true, "include_global_state": false});
    let what = format!("taking the snapshot {name} of {index}");
    transport.demand(&what, Method::PUT, &path(repository, name), Some(&body)).await.map(|_| ())
}

/// The state of a snapshot.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn state(transport: &Transport, repository: &str, name: &str) -> Result<SnapshotState, ClusterError> {
    let what = format!("looking up the snapshot {name}");
    let found = transport.find(&what, Method::GET, &path(repository, name)).await?;
    Ok(found.map_or(SnapshotState::Missing, |body| state_of(&body)))
}

fn state_of(body: &Value) -> SnapshotState {
    let Some(snapshot) = body.pointer("/snapshots/0") else { return SnapshotState::Missing };
    match snapshot.get("state").and_then(Value::as_str).unwrap_or("no state") {
        "SUCCESS" => SnapshotState::Success,
        "IN_PROGRESS" | "STARTED" => SnapshotState::InProgress,
        other => {
            let why = snapshot.pointer("/failures/0/reason").or_else(|| snapshot.get("reason")).and_then(Value::as_str);
            SnapshotState::Failed(why.map_or_else(|| other.to_owned(), |why| format!("{other}: {why}")))
        }
    }
}

/// Deletes a snapshot. One that is being written is aborted. Returns whether there was one.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn delete(transport: &Transport, repository: &str, name: &str) -> Result<bool, ClusterError> {
    gone(transport, &format!("deleting the snapshot {name}"), &path(repository, name)).await
}

/// Begins to restore `index` under its own name, without its aliases. Returns before the restore
/// has ended.
///
/// # Errors
/// [`ClusterError`] if the request fails. An index that exists already is
/// [`ClusterError::Refused`].
pub async fn restore(
    transport: &Transport,
    repository: &str,
    name: &str,
    index: &str,
    settings: &Map<String, Value>,
    ignored: &[String],
) -> Result<(), ClusterError> {
    let body = json!({
        "indices": index, "include_global_state": false, "include_aliases": false, "partial": false,
        "index_settings": settings, "ignore_index_settings": ignored,
    });
    let path = format!("{}/_restore", path(repository, name));
    transport.demand(&format!("restoring {index}"), Method::POST, &path, Some(&body)).await.map(|_| ())
}

/// The identity of the index `name`. `None` if there is none.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn identity(transport: &Transport, name: &str) -> Result<Option<Identity>, ClusterError> {
    let what = format!("looking up {name}");
    let filter = "filter_path=*.settings.index.uuid,*.settings.index.creation_date";
    let path = format!("/{}?{filter}", path_segment(name));
    let Some(body) = transport.find(&what, Method::GET, &path).await? else { return Ok(None) };
    // The reply to the name of an alias has the names of its indices.
    let text = |path: &str| body.get(name)?.pointer(path)?.as_str().map(str::to_owned);
    let found = text("/settings/index/uuid").zip(text("/settings/index/creation_date"));
    Ok(found.map(|(uuid, created)| Identity { uuid, created }))
}

/// The progress of the primary shards of a restored index.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn primaries(transport: &Transport, index: &str) -> Result<Primaries, ClusterError> {
    let what = format!("looking up the shards of {index}");
    let columns = "format=json&h=shard,prirep,state,unassigned.reason,unassigned.details";
    let path = format!("/_cat/shards/{}?{columns}", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    Ok(primaries_of(&body))
}

fn primaries_of(body: &Value) -> Primaries {
    let mut primaries = Primaries::default();
    for shard in body.as_array().into_iter().flatten() {
        let text = |key: &str| shard.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("prirep") != "p" {
            continue;
        }
        primaries.total += 1;
        primaries.started += usize::from(matches!(text("state"), "STARTED" | "RELOCATING"));
        primaries.unassigned += usize::from(text("state") == "UNASSIGNED");
        // The servers do not retry a shard whose restore failed.
        if text("state") == "UNASSIGNED" && text("unassigned.reason") == "ALLOCATION_FAILED" {
            primaries.failed = Some(format!("shard {}: {}", text("shard"), text("unassigned.details")));
        }
        primaries.waits_for_itself |= text("state") == "UNASSIGNED" && text("unassigned.reason") == "CLUSTER_RECOVERED";
    }
    primaries
}

async fn gone(transport: &Transport, what: &str, path: &str) -> Result<bool, ClusterError> {
    let answer = transport.ask(Method::DELETE, path, None).await?;
    match answer.status() {
        200..=299 => Ok(true),
        404 => Ok(answer.in_doubt),
        status => Err(ClusterError::from_status(what, status, &answer.json(what)?)),
    }
}

fn path(repository: &str, snapshot: &str) -> String {
    format!("/_snapshot/{}/{}", path_segment(repository), path_segment(snapshot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_snapshot_is_one() {
        let state = |body: Value| state_of(&json!({ "snapshots": [body] }));
        assert_eq!(state(json!({"state": "SUCCESS"})), SnapshotState::Success);
        assert_eq!(state(json!({"state": "IN_PROGRESS"})), SnapshotState::InProgress);
        let partial = state(json!({"state": "PARTIAL", "failures": [{"reason": "node left"}]}));
        assert_eq!(partial, SnapshotState::Failed("PARTIAL: node left".into()));
        assert_eq!(state_of(&json!({"snapshots": []})), SnapshotState::Missing);
    }

    #[test]
    fn a_primary_that_cannot_be_restored_is_told_from_one_that_waits() {
        let shard = |prirep: &str, state: &str, reason: Value| json!({"shard": "0", "prirep": prirep, "state": state, "unassigned.reason": reason, "unassigned.details": "d"});
        let found = primaries_of(&json!([
            shard("p", "STARTED", Value::Null),
            shard("p", "UNASSIGNED", json!("NEW_INDEX_RESTORED")),
            shard("r", "UNASSIGNED", json!("ALLOCATION_FAILED")),
        ]));
        assert_eq!(found, Primaries { total: 2, started: 1, unassigned: 1, ..Primaries::default() });
        let found = primaries_of(&json!([shard("p", "UNASSIGNED", json!("ALLOCATION_FAILED"))]));
        assert_eq!(found.failed.as_deref(), Some("shard 0: d"));
        assert!(primaries_of(&json!([shard("p", "UNASSIGNED", json!("CLUSTER_RECOVERED"))])).waits_for_itself);
    }
}
