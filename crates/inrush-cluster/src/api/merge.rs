//! Force-merging: the segments of an index become a few large ones.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::{HttpErrorKind, Transport, path_segment};

/// A force-merge that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// It has ended.
    Done,
    /// The task of this id works on it.
    Task(String),
    /// The reply was lost or came too late. The servers continue the merge.
    Unseen,
}

/// How far a merge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The servers work on it.
    Runs,
    /// It has ended.
    Done,
    /// No server knows of it any more: the node that led it was stopped.
    Gone,
}

/// The segments of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// Number of segments of all copies of its shards.
    pub count: u64,
    /// Bytes that are being merged now.
    pub merging_bytes: u64,
}

/// Requests a merge of `index` to at most `segments` segments in each active shard copy.
///
/// # Errors
/// [`ClusterError`] if the request fails, or if the merge of a shard failed.
pub async fn start(transport: &Transport, index: &str, segments: u32) -> Result<Merge, ClusterError> {
    let what = format!("force-merging {index}");
    let path = format!("/{}/_forcemerge?max_num_segments={segments}", path_segment(index));
    let answer = transport.ask(Method::POST, &format!("{path}&wait_for_completion=false"), None).await?;
    // Servers before Elasticsearch 8.1 and OpenSearch 2.7 do not know the parameter: they answer
    // when the merge has ended.
    let answer = match answer.status() {
        400 => match transport.ask(Method::POST, &path, None).await {
            Err(error) if matches!(error.kind, HttpErrorKind::Lost | HttpErrorKind::TimedOut) => {
                return Ok(Merge::Unseen);
            }
            answer => answer?,
        },
        _ => answer,
    };
    let body = answer.json(&what)?;
    match answer.status() {
        200..=299 => match body.get("task").and_then(Value::as_str) {
            Some(task) => Ok(Merge::Task(task.to_owned())),
            None => merged(&what, &body).map(|()| Merge::Done),
        },
        // The gateway timed out. The merge continues.
        502 | 504 => Ok(Merge::Unseen),
        status => Err(ClusterError::from_status(&what, status, &body)),
    }
}

/// Looks at a merge.
///
/// # Errors
/// [`ClusterError`] if the request fails, or if the merge failed.
pub async fn progress(transport: &Transport, index: &str, merge: &Merge) -> Result<Progress, ClusterError> {
    let what = format!("force-merging {index}");
    match merge {
        Merge::Done => Ok(Progress::Done),
        Merge::Task(task) => {
            let path = format!("/_tasks/{}", path_segment(task));
            let body = match transport.demand(&what, Method::GET, &path, None).await {
                Err(error) if error.status() == Some(404) => return Ok(Progress::Gone),
                body => body?,
            };
            if body.get("completed") != Some(&Value::Bool(true)) {
                return Ok(Progress::Runs);
            }
            match body.get("response") {
                Some(response) => merged(&what, response).map(|()| Progress::Done),
                None => Err(ClusterError::from_status(&what, 500, &body)),
            }
        }
        Merge::Unseen => {
            let path = "/_tasks?actions=indices:admin/forcemerge*&detailed=true&group_by=none";
            let body = transport.demand(&what, Method::GET, path, None).await?;
            Ok(if works_on(&body, index) { Progress::Runs } else { Progress::Done })
        }
    }
}

/// The segments of `index`, and how many bytes are being merged.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn segments(transport: &Transport, index: &str) -> Result<Segments, ClusterError> {
    let what = format!("counting the segments of {index}");
    let path = format!(
        "/{}/_stats/segments,merge?filter_path=_all.total.segments.count,_all.total.merges.current_size_in_bytes",
        path_segment(index)
    );
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    let number = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    Ok(Segments {
        count: number("/_all/total/segments/count"),
        merging_bytes: number("/_all/total/merges/current_size_in_bytes"),
    })
}

/// The segments of all shard copies, and their documents.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn documents_of_segments(transport: &Transport, index: &str) -> Result<BTreeMap<String, u64>, ClusterError> {
    let what = format!("listing the segments of {index}");
    let fields = "indices.*.shards.*.routing.node,indices.*.shards.*.segments.*.num_docs";
    let path = format!("/{}/_segments?filter_path={fields}", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    Ok(by_segment(&body))
}

fn by_segment(body: &Value) -> BTreeMap<String, u64> {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut found = BTreeMap::new();
    for (index, of_index) in members(&body["indices"]) {
        for (shard, copies) in members(&of_index["shards"]) {
            for copy in copies.as_array().into_iter().flatten() {
                let node = copy.pointer("/routing/node").and_then(Value::as_str).unwrap_or_default();
                for (segment, about) in members(&copy["segments"]) {
                    let documents = about.get("num_docs").and_then(Value::as_u64).unwrap_or(0);
                    found.insert(format!("{index}/{shard}/{node}/{segment}"), documents);
                }
            }
        }
    }
    found
}

fn merged(what: &str, response: &Value) -> Result<(), ClusterError> {
    let failed = response.pointer("/_shards/failed").and_then(Value::as_u64).unwrap_or(0);
    if failed == 0 {
        return Ok(());
    }
    let why =
        response.pointer("/_shards/failures/0/reason/reason").and_then(Value::as_str).unwrap_or("no reason given");
    Err(ClusterError::Reply { what: what.to_owned(), problem: format!("{failed} shard copies were not merged: {why}") })
}

/// Whether one of the tasks is a force-merge of the index. A description is
/// `Force-merge indices [a, b], maxSegments[1], …`.
fn works_on(tasks: &Value, index: &str) -> bool {
    let Some(tasks) = tasks.get("tasks").and_then(Value::as_array) else { return false };
    tasks.iter().filter_map(|task| task.get("description")?.as_str()).any(|description| {
        let indices = description.split(['[', ']']).nth(1).unwrap_or_default();
        indices.split(',').any(|one| one.trim().trim_matches('"') == index)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shard_that_failed_is_an_error() {
        merged("", &json!({"_shards": {"total": 2, "successful": 2, "failed": 0}})).unwrap();
        let failed =
            json!({"_shards": {"failed": 1, "failures": [{"reason": {"type": "t", "reason": "no space left"}}]}});
        assert!(merged("force-merging a", &failed).unwrap_err().to_string().contains("no space left"));
    }

    #[test]
    fn each_copy_has_segments_of_its_own() {
        let copy = |node: &str, documents: u64| json!({"routing": {"node": node}, "segments": {"_0": {"num_docs": documents}, "_1": {"num_docs": 1}}});
        let body = json!({"indices": {"a": {"shards": {"0": [copy("n1", 5), copy("n2", 6)]}}}});
        let found = by_segment(&body);
        assert_eq!((found.len(), found["a/0/n1/_0"], found["a/0/n2/_0"]), (4, 5, 6));
        assert!(by_segment(&json!({})).is_empty());
    }

    #[test]
    fn a_merge_is_known_by_its_description() {
        let task = |text: &str| json!({"tasks": [{"action": "indices:admin/forcemerge", "description": text}]});
        let description = "Force-merge indices [a, b-1], maxSegments[1], onlyExpungeDeletes[false], flush[true]";
        assert!(works_on(&task(description), "b-1") && works_on(&task(description), "a"));
        assert!(!works_on(&task(description), "b") && !works_on(&json!({"tasks": []}), "a"));
    }
}
