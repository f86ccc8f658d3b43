//! Writes that reach the old index while the load runs, and their copy.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use inrush_cluster::api::changes::{self, Changed, Marks};
use inrush_cluster::api::{ClusterError, index, stats};
use inrush_cluster::clock;
use inrush_cluster::transport::{Request, Transport, path_segment};
use serde_json::{Value, json};

use super::swapping::Old;
use super::waiting::Waiting;
use crate::progress::Step;

/// Largest number of ids in the report.
const IDS_MAX: usize = 10;
/// Documents of one page, and of one request.
const PAGE: usize = 200;
/// Largest number of passes. Writers that still write after them are reported, and not waited for.
const PASSES_MAX: u32 = 10;
/// Largest number of tries for documents that the cluster rejects because of load. The pauses
/// between them double from [`PAUSE`].
const TRIES_MAX: u32 = 8;
const PAUSE: Duration = Duration::from_millis(100);

/// Operations on the old index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) operations: u64,
    /// The first ids of documents that were written.
    pub(super) ids: Vec<String>,
}

/// Documents that were copied to the new index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CaughtUp {
    pub(super) copied: u64,
    /// State of the old index at the last pass.
    pub(super) marks: Marks,
}

/// Operations on the old index since `since`.
pub(super) async fn arrived(transport: &Transport, old: &Old, since: &Marks) -> Result<Arrived, String> {
    check_same(transport, old).await?;
    let now = changes::marks(transport, &old.name).await.map_err(|e| e.to_string())?;
    let mut arrived = Arrived { operations: operations(since, &now), ids: Vec::new() };
    if arrived.operations == 0 {
        return Ok(arrived);
    }
    stats::refresh(transport, &old.name).await.map_err(|e| e.to_string())?;
    for (shard, mark) in since {
        let room = IDS_MAX - arrived.ids.len();
        if room > 0 && now.get(shard).is_some_and(|now| now.max > mark.max) {
            let found = changes::changed(transport, &old.name, *shard, mark.max, room, false).await;
            arrived.ids.extend(found.map_err(|e| e.to_string())?.into_iter().map(|changed| changed.id));
        }
    }
    Ok(arrived)
}

/// Copies documents that were written to the old index since `since`, until no more arrive.
pub(super) async fn catch_up(waiting: &Waiting, old: &Old, since: &Marks, index: &str) -> Result<CaughtUp, String> {
    let transport = &waiting.transport;
    check_same(transport, old).await?;
    let mut done = CaughtUp { copied: 0, marks: since.clone() };
    for pass in 1..=PASSES_MAX {
        let now = changes::marks(transport, &old.name).await.map_err(|e| e.to_string())?;
        // A mark may miss operations that were in flight when it was read.
        let behind = |shard: &u32, from: i64| now.get(shard).is_some_and(|now| now.max > from);
        let shards: Vec<(u32, i64)> = done
            .marks
            .iter()
            .map(|(shard, mark)| (*shard, mark.all_up_to))
            .filter(|(shard, from)| behind(shard, *from))
            .collect();
        if shards.is_empty() {
            break;
        }
        stats::refresh(transport, &old.name).await.map_err(|e| e.to_string())?;
        for (shard, mut from) in shards {
            loop {
                waiting.show(Step::CatchUp, format!("pass {pass}, {} documents copied", done.copied));
                let page = changes::changed(transport, &old.name, shard, from, PAGE, true).await;
                let page = page.map_err(|e| e.to_string())?;
                let Some(last) = page.last() else { break };
                from = last.seq_no;
                done.copied += page.len() as u64;
                copy(transport, index, page).await?;
            }
        }
        done.marks = now;
    }
    stats::refresh(transport, index).await.map_err(|e| e.to_string())?;
    Ok(done)
}

/// Number of operations between two marks.
fn operations(since: &Marks, now: &Marks) -> u64 {
    let of = |(shard, mark): (&u32, &changes::Mark)| now.get(shard).map_or(0, |now| now.max - mark.max);
    since.iter().map(of).map(|operations| u64::try_from(operations).unwrap_or(0)).sum()
}

/// Refuses another index of the same name, whose sequence numbers cannot be compared.
async fn check_same(transport: &Transport, old: &Old) -> Result<(), String> {
    let now = index::uuids(transport, &old.name).await.map_err(|e| e.to_string())?;
    match now.get(&old.name) {
        Some(uuid) if *uuid == old.uuid => Ok(()),
        Some(_) => Err(format!("{} was deleted and created again during the load", old.name)),
        None => Err(format!("{} was deleted during the load", old.name)),
    }
}

/// Writes documents under their ids. Documents that the cluster rejects because of load are sent
/// again.
async fn copy(transport: &Transport, index: &str, mut documents: Vec<Changed>) -> Result<(), String> {
    // Pipelines have already processed the documents.
    let path = format!("/{}/_bulk?pipeline=_none", path_segment(index));
    let mut pause = PAUSE;
    for _ in 0..TRIES_MAX {
        let mut request = Request::new(Method::POST, &path);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        request.body = vec![body(&documents)?];
        // A second write of a document under its id changes nothing, so a lost answer does no harm.
        match transport.request(&request).await.result {
            Ok(response) if (200..=299).contains(&response.status) => {
                let reply: Value = serde_json::from_slice(&response.body).map_err(|e| e.to_string())?;
                documents = rejected(documents, &reply)?;
                if documents.is_empty() {
                    return Ok(());
                }
            }
            Ok(response) if matches!(response.status, 429 | 502..=504) => {}
            Ok(response) => {
                let body = serde_json::from_slice(&response.body).unwrap_or_default();
                return Err(ClusterError::from_status("copying documents", response.status, &body).to_string());
            }
            Err(error) => tracing::warn!("copying documents failed and is tried again: {error}"),
        }
        clock::sleep(pause).await;
        pause *= 2;
    }
    Err(format!("the cluster rejected {} documents {TRIES_MAX} times because it is overloaded", documents.len()))
}

fn body(documents: &[Changed]) -> Result<Bytes, String> {
    let mut body = Vec::new();
    for Changed { id, routing, source, .. } in documents {
        let source = source.as_ref().ok_or_else(|| format!("the document {id:?} has no _source to copy"))?;
        let action = match routing {
            Some(routing) => json!({"index": {"_id": id, "routing": routing}}),
            None => json!({"index": {"_id": id}}),
        };
        body.extend_from_slice(action.to_string().as_bytes());
        body.push(b'\n');
        // A source keeps its line ends. JSON escapes them in strings, and outside of strings they
        // can be spaces.
        body.extend(source.get().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
        body.push(b'\n');
    }
    Ok(body.into())
}

/// The documents that have to be sent again.
///
/// # Errors
/// The cluster refuses a document.
fn rejected(documents: Vec<Changed>, reply: &Value) -> Result<Vec<Changed>, String> {
    let items = reply.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if items.len() != documents.len() {
        return Err(format!("the reply has {} entries for {} documents", items.len(), documents.len()));
    }
    let mut again = Vec::new();
    for (document, item) in documents.into_iter().zip(items) {
        let status = item.pointer("/index/status").and_then(Value::as_u64).unwrap_or(0);
        match status {
            200..=299 => {}
            429 | 503 => again.push(document),
            status => {
                let error = item.pointer("/index/error").cloned().unwrap_or_default();
                let why = error.get("reason").and_then(Value::as_str).unwrap_or("no reason given");
                return Err(format!("the cluster refused the document {:?} with status {status}: {why}", document.id));
            }
        }
    }
    Ok(again)
}

#[cfg(test)]
mod tests {
    use inrush_cluster::api::changes::Mark;

    use super::*;

    fn changed(id: &str, source: Option<&str>) -> Changed {
        let source = source.map(|source| serde_json::value::RawValue::from_string(source.to_owned()).unwrap());
        Changed { id: id.into(), routing: (id == "r").then(|| "x".to_owned()), seq_no: 1, source }
    }

    #[test]
    fn documents_are_copied_as_they_are() {
        let documents = [changed("a", Some("{\n \"n\": 1.50}")), changed("r", Some(r#"{"s":"\n"}"#))];
        let expected = "{\"index\":{\"_id\":\"a\"}}\n{  \"n\": 1.50}\n{\"index\":{\"_id\":\"r\",\"routing\":\"x\"}}\n{\"s\":\"\\n\"}\n";
        assert_eq!(body(&documents).unwrap(), expected);
        assert!(body(&[changed("a", None)]).unwrap_err().contains("no _source"));
    }

    #[test]
    fn rejected_documents_are_sent_again_and_refused_ones_are_an_error() {
        let documents = || vec![changed("a", Some("{}")), changed("b", Some("{}"))];
        let reply = |status: u64| json!({"items": [{"index": {"status": 201}}, {"index": {"status": status, "error": {"reason": "why"}}}]});
        let again: Vec<String> = rejected(documents(), &reply(429)).unwrap().into_iter().map(|d| d.id).collect();
        assert_eq!(again, ["b"]);
        assert!(rejected(documents(), &reply(200)).unwrap().is_empty());
        assert!(
            rejected(documents(), &reply(400)).unwrap_err().contains("refused the document \"b\" with status 400: why")
        );
        assert!(rejected(documents(), &json!({"items": []})).unwrap_err().contains("0 entries for 2"));
    }

    #[test]
    fn operations_are_counted_by_shard() {
        let marks = |of: [i64; 2]| -> Marks {
            (0..2).zip(of).map(|(shard, max)| (shard, Mark { max, all_up_to: max })).collect()
        };
        assert_eq!(operations(&marks([-1, 4]), &marks([1, 4])), 2);
        // A promoted copy may know of fewer operations.
        assert_eq!(operations(&marks([5, 4]), &marks([1, 5])), 1);
    }
}
