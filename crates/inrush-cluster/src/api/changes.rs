//! What was written to an index after a moment. Sequence numbers tell it: each operation on a shard
//! has the next one.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::ClusterError;
use super::sequence_numbers;
use crate::transport::{Transport, path_segment};

/// The progress of one copy of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCopy {
    /// Whether the copy is the primary.
    pub primary: bool,
    /// The highest sequence number of the copy; -1 if there is none.
    pub max: i64,
    /// The copy has every operation up to this sequence number (its local checkpoint); -1 if it has
    /// none.
    pub all_up_to: i64,
    /// Every copy has every operation up to this sequence number, as far as this copy knows (the
    /// global checkpoint); -1 if there is none.
    pub on_all_up_to: i64,
}

/// The active shard copies of some indices, and their progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// The copies by index and shard number.
    pub shards: BTreeMap<(String, u32), Vec<ShardCopy>>,
    /// Whether a replica lacks segments of its primary (segment replication).
    pub lags: bool,
}

/// The position of a shard at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The highest sequence number; -1 if there is none.
    pub max: i64,
    /// Operations up to this one had ended. Those above may have been in flight.
    pub all_up_to: i64,
}

/// The positions of the primary shards of an index at a moment, by shard number.
pub type Marks = BTreeMap<u32, Mark>;

/// A document that was written after a moment.
#[derive(Debug, Deserialize)]
pub struct Changed {
    /// The id.
    #[serde(rename = "_id")]
    pub id: String,
    /// The routing value, if the document was written with one.
    #[serde(rename = "_routing")]
    pub routing: Option<String>,
    /// The sequence number.
    #[serde(rename = "_seq_no")]
    pub seq_no: i64,
    /// The source as the server sent it. `None` if it was not requested, or if the index does not
    /// keep it.
    #[serde(rename = "_source")]
    pub source: Option<Box<RawValue>>,
}

/// The active shard copies of the indices behind `name`.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn copies(transport: &Transport, name: &str) -> Result<Copies, ClusterError> {
    let what = format!("asking how far the shards of {name} are");
    let path = format!(
        "/{}/_stats/docs,segments?level=shards&filter_path=_all.total.segments.segment_replication,\
         indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no",
        path_segment(name)
    );
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    parse(&body).ok_or_else(|| ClusterError::Reply { what, problem: "no sequence numbers".to_owned() })
}

/// The present positions of the primary shards of `index`.
///
/// # Errors
/// [`ClusterError`] if the request fails, if a primary shard is not active, or if the index keeps
/// no sequence numbers.
pub async fn marks(transport: &Transport, index: &str) -> Result<Marks, ClusterError> {
    sequence_numbers::demand(transport, index, "tell what was written meanwhile").await?;
    let copies = copies(transport, index).await?.shards;
    let mark = |copies: &Vec<ShardCopy>| {
        let primary = copies.iter().find(|copy| copy.primary)?;
        Some(Mark { max: primary.max, all_up_to: primary.all_up_to })
    };
    let marks: Option<Marks> = copies.iter().map(|((_, shard), copies)| Some((*shard, mark(copies)?))).collect();
    marks.filter(|marks| !marks.is_empty()).ok_or_else(|| ClusterError::Target {
        name: index.to_owned(),
        problem: "not all of its primary shards are in use; wait until they are".to_owned(),
    })
}

/// The documents of one shard of `index` with sequence numbers above `after`, as of the last
/// refresh. The lowest numbers come first, at most `size` of them. Deleted documents are not
/// included.
///
/// # Errors
/// [`ClusterError`] if the request fails, or if the shard did not answer.
pub async fn changed(
    transport: &Transport,
    index: &str,
    shard: u32,
    after: i64,
    size: usize,
    with_source: bool,
) -> Result<Vec<Changed>, ClusterError> {
    #[derive(Deserialize)]
    struct Reply {
        hits: Hits,
    }
    #[derive(Deserialize)]
    struct Hits {
        hits: Vec<Changed>,
    }
    let what = format!("looking for documents of {index} that were written meanwhile");
    let path =
        format!("/{}/_search?preference=_shards:{shard}&allow_partial_search_results=false", path_segment(index));
    let body = json!({
        "query": {"range": {"_seq_no": {"gt": after}}},
        "sort": [{"_seq_no": "asc"}],
        "seq_no_primary_term": true,
        "size": size,
        "_source": with_source,
        "track_total_hits": false,
    });
    let answer = transport.ask(Method::POST, &path, Some(&body)).await?;
    if !(200..=299).contains(&answer.status()) {
        return Err(ClusterError::from_status(&what, answer.status(), &answer.json(&what)?));
    }
    let reply: Result<Reply, _> = serde_json::from_slice(&answer.response.body);
    reply.map(|reply| reply.hits.hits).map_err(|error| ClusterError::Reply { what, problem: error.to_string() })
}

fn parse(body: &Value) -> Option<Copies> {
    let mut copies = Copies::default();
    for (index, stats) in body.get("indices").and_then(Value::as_object).into_iter().flatten() {
        for (shard, found) in stats.get("shards")?.as_object()? {
            let found: Option<Vec<ShardCopy>> = found.as_array()?.iter().map(copy).collect();
            copies.shards.insert((index.clone(), shard.parse().ok()?), found?);
        }
    }
    // The value is a size such as `0b`, or a number.
    copies.lags = match body.pointer("/_all/total/segments/segment_replication/max_bytes_behind") {
        Some(Value::String(text)) => text != "0b" && text != "0",
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        _ => false,
    };
    Some(copies)
}

fn copy(found: &Value) -> Option<ShardCopy> {
    let number = |key: &str| found.pointer(key)?.as_i64();
    Some(ShardCopy {
        primary: found.pointer("/routing/primary")?.as_bool()?,
        max: number("/seq_no/max_seq_no")?,
        all_up_to: number("/seq_no/local_checkpoint")?,
        on_all_up_to: number("/seq_no/global_checkpoint")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_by_their_sequence_numbers() {
        let copy = |primary: bool, max: i64| json!({"routing": {"primary": primary}, "seq_no": {"max_seq_no": max, "local_checkpoint": max, "global_checkpoint": 0}});
        let body = json!({"_all": {"total": {"segments": {"segment_replication": {"max_bytes_behind": "0b"}}}},
            "indices": {"a": {"shards": {"0": [copy(true, 7), copy(false, 6)], "1": [copy(true, -1)]}}}});
        let found = parse(&body).unwrap();
        assert!(!found.lags);
        let first = &found.shards[&("a".to_owned(), 0)];
        assert_eq!(first[0], ShardCopy { primary: true, max: 7, all_up_to: 7, on_all_up_to: 0 });
        assert_eq!((first[1].primary, first[1].max), (false, 6));
        assert_eq!(found.shards[&("a".to_owned(), 1)][0].max, -1);
        let behind = json!({"_all": {"total": {"segments": {"segment_replication": {"max_bytes_behind": "3kb"}}}}});
        assert!(parse(&behind).unwrap().lags);
    }
}
