//! The Lucene segments of each shard copy, and what merging, refreshing and flushing have cost.
//!
//! The types are also JSON: of what `inrush segments` records and shows, and of pages made of it. A
//! cluster has thousands of segments, so their keys have one letter.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{ClusterError, error_type};
use crate::transport::{Transport, path_segment};

/// One segment of a shard copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The number of the segment. A shard copy numbers its segments in the order in which it begins
    /// to write them, so a smaller number is an older segment. `"g"` in JSON.
    #[serde(rename = "g")]
    pub generation: u64,
    /// Documents, nested ones among them, without the deleted ones. `"d"` in JSON.
    #[serde(rename = "d")]
    pub docs: u64,
    /// Documents that were deleted or replaced, and that no merge has removed yet. `"x"` in JSON,
    /// absent for 0.
    #[serde(rename = "x", default, skip_serializing_if = "is_zero")]
    pub deleted: u64,
    /// Bytes on disk. `"b"` in JSON.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Bytes in memory. 0 in versions that do not tell (Elasticsearch 8, OpenSearch 2). `"h"` in
    /// JSON, absent for 0.
    #[serde(rename = "h", default, skip_serializing_if = "is_zero")]
    pub memory: u64,
    /// Whether searches see it. A segment that they do not see is newer than the last refresh, or
    /// was merged into another one and still belongs to the last commit. `"s"` in JSON, absent for
    /// `true`.
    #[serde(rename = "s", default = "yes", skip_serializing_if = "is_true")]
    pub searchable: bool,
    /// Whether the last commit (flush) has it. `"c"` in JSON, absent for `true`.
    #[serde(rename = "c", default = "yes", skip_serializing_if = "is_true")]
    pub committed: bool,
    /// The running merge that reads it: segments with the same id become one. `"m"` in JSON, absent
    /// without a merge.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
}

impl Segment {
    /// The servers' name of the segment: `_` and the generation in base 36.
    pub fn name(&self) -> String {
        let mut digits = Vec::new();
        let mut rest = self.generation;
        loop {
            // A digit is below 36.
            digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        format!("_{}", digits.iter().rev().collect::<String>())
    }

    /// The part of its documents that are deleted, from 0 to 1.
    pub fn deleted_share(&self) -> f64 {
        match self.docs + self.deleted {
            0 => 0.0,
            all => self.deleted as f64 / all as f64,
        }
    }
}

/// The segments of one copy of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSegments {
    /// The index.
    pub index: String,
    /// The number of the shard.
    pub shard: u32,
    /// Whether this copy is the primary.
    pub primary: bool,
    /// The node that has the copy: its id as the cluster answers it, or its name.
    pub node: String,
    /// The segments, the oldest first.
    pub segments: Vec<Segment>,
}

/// The segments of all copies that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSegments {
    /// The copies, in the order of index and shard, the primary before its replicas.
    pub shards: Vec<ShardSegments>,
    /// Copies that have no node, or whose node did not answer.
    pub absent: u64,
}

/// What merging, refreshing, flushing and indexing have cost, summed over all copies of the shards.
/// Totals count from the moment at which a copy was started on its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MergeActivity {
    /// Merges that run now.
    pub merges: u64,
    /// Documents that they merge.
    pub merging_docs: u64,
    /// Bytes that they merge.
    pub merging_bytes: u64,
    /// Merges that have ended.
    pub merged: u64,
    /// Bytes that they have read.
    pub merged_bytes: u64,
    /// Time of all merges, ms.
    pub merge_ms: u64,
    /// The part of it in which the server's limit of the rate held them back, ms.
    pub merge_throttled_ms: u64,
    /// The part of it in which they were stopped for larger merges, ms.
    pub merge_stopped_ms: u64,
    /// Refreshes.
    pub refreshes: u64,
    /// Time of all refreshes, ms.
    pub refresh_ms: u64,
    /// Flushes.
    pub flushes: u64,
    /// Time of all flushes, ms.
    pub flush_ms: u64,
    /// Documents indexed.
    pub indexed: u64,
    /// Time of indexing, ms.
    pub index_ms: u64,
    /// Whether a shard indexes with one thread now, because merges cannot follow.
    pub throttled: bool,
    /// Time in which shards did so, ms.
    pub throttled_ms: u64,
}

/// The segments of `index` (a name, alias, data stream, pattern, or several with commas between
/// them), or of all open indices.
///
/// # Errors
/// [`ClusterError`] if the request fails. The user needs the privilege `monitor` on the indices.
pub async fn segments(transport: &Transport, index: Option<&str>) -> Result<IndexSegments, ClusterError> {
    const FILTER: &str = "_shards.total,_shards.successful,indices.*.shards.*.routing.primary,\
indices.*.shards.*.routing.node,indices.*.shards.*.segments.*.generation,indices.*.shards.*.segments.*.num_docs,\
indices.*.shards.*.segments.*.deleted_docs,indices.*.shards.*.segments.*.size_in_bytes,\
indices.*.shards.*.segments.*.memory_in_bytes,indices.*.shards.*.segments.*.search,\
indices.*.shards.*.segments.*.committed,indices.*.shards.*.segments.*.merge_id";
    let of = index.unwrap_or("all indices");
    let what = format!("reading the segments of {of} (index privilege monitor)");
    let answer: SegmentsAnswer =
        read(transport, &what, &format!("{}/_segments?filter_path={FILTER}", at(index))).await?;
    Ok(answer.into_segments())
}

/// What merging and the like have cost on `index`, as [`segments`] takes it.
///
/// # Errors
/// As [`segments`].
pub async fn activity(transport: &Transport, index: Option<&str>) -> Result<MergeActivity, ClusterError> {
    const FILTER: &str = "_all.total.merges,_all.total.refresh,_all.total.flush,_all.total.indexing";
    let path = format!("{}/_stats/merge,refresh,flush,indexing?filter_path={FILTER}", at(index));
    let answer: StatsAnswer = read(transport, "reading the merges of indices (index privilege monitor)", &path).await?;
    Ok(answer.all.total.activity())
}

/// `index.refresh_interval` of each index of `index`, as [`segments`] takes it, that sets it.
///
/// # Errors
/// As [`segments`].
pub async fn refresh_intervals(
    transport: &Transport,
    index: Option<&str>,
) -> Result<BTreeMap<String, String>, ClusterError> {
    let path = format!("{}/_settings/index.refresh_interval?flat_settings=true", at(index));
    let answer: BTreeMap<String, SettingsAnswer> =
        read(transport, "reading the refresh intervals of indices (index privilege monitor)", &path).await?;
    let interval = |(index, found): (String, SettingsAnswer)| Some((index, found.settings.interval?));
    Ok(answer.into_iter().filter_map(interval).collect())
}

/// The names of the cluster's nodes by their ids. A name that several nodes have is followed by the
/// id.
///
/// # Errors
/// [`ClusterError`] if the request fails. The user needs the cluster privilege `monitor`.
pub async fn node_names(transport: &Transport) -> Result<BTreeMap<String, String>, ClusterError> {
    let what = "reading the names of the nodes (cluster privilege monitor)";
    let answer: NodesAnswer = read(transport, what, "/_nodes/http?filter_path=nodes.*.name").await?;
    Ok(unique(answer.nodes.into_iter().map(|(id, node)| (id, node.name)).collect()))
}

fn unique(mut names: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for name in names.values() {
        if !seen.insert(name.clone()) {
            twice.insert(name.clone());
        }
    }
    for (id, name) in names.iter_mut().filter(|(_, name)| twice.contains(*name)) {
        name.push_str(&format!(" {id}"));
    }
    names
}

/// The beginning of the path of a request about `index`.
fn at(index: Option<&str>) -> String {
    index.map(|index| format!("/{}", path_segment(index))).unwrap_or_default()
}

/// Sends a GET and reads the reply as a type of its own: a reply about hundreds of shards has
/// megabytes.
async fn read<T: DeserializeOwned>(transport: &Transport, what: &str, path: &str) -> Result<T, ClusterError> {
    let answer = transport.ask(Method::GET, path, None).await?;
    match answer.status() {
        200..=299 => serde_json::from_slice(answer.body())
            .map_err(|error| ClusterError::Reply { what: what.to_owned(), problem: error.to_string() }),
        status => Err(refused(what, status, &answer.json(what)?)),
    }
}

fn refused(what: &str, status: u16, body: &Value) -> ClusterError {
    let name = || body.pointer("/error/index").and_then(Value::as_str).unwrap_or("the index").to_owned();
    match error_type(body) {
        Some("index_not_found_exception") => {
            let problem = "there is no such index, alias or data stream; check the name".to_owned();
            ClusterError::Target { name: name(), problem }
        }
        Some("index_closed_exception") => {
            let problem = "the index is closed and has no open segments; open it with POST INDEX/_open, or name others";
            ClusterError::Target { name: name(), problem: problem.to_owned() }
        }
        _ => ClusterError::from_status(what, status, body),
    }
}

#[derive(Deserialize)]
struct SegmentsAnswer {
    #[serde(default, rename = "_shards")]
    asked: AskedCopies,
    #[serde(default)]
    indices: BTreeMap<String, IndexAnswer>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AskedCopies {
    total: u64,
    successful: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IndexAnswer {
    shards: BTreeMap<u32, Vec<CopyAnswer>>,
}

#[derive(Deserialize)]
struct CopyAnswer {
    routing: RoutingAnswer,
    #[serde(default)]
    segments: BTreeMap<String, SegmentAnswer>,
}

#[derive(Deserialize)]
struct RoutingAnswer {
    primary: bool,
    #[serde(default)]
    node: Option<String>,
}

#[derive(Deserialize)]
struct SegmentAnswer {
    generation: u64,
    num_docs: u64,
    deleted_docs: u64,
    size_in_bytes: u64,
    #[serde(default)]
    memory_in_bytes: u64,
    search: bool,
    committed: bool,
    #[serde(default)]
    merge_id: Option<String>,
}

impl SegmentsAnswer {
    fn into_segments(self) -> IndexSegments {
        let mut shards = Vec::new();
        for (index, answer) in self.indices {
            for (shard, copies) in answer.shards {
                shards.extend(copies.into_iter().map(|copy| copy.into_shard(&index, shard)));
            }
        }
        let order = |shard: &ShardSegments| (shard.index.clone(), shard.shard, !shard.primary, shard.node.clone());
        shards.sort_by_cached_key(order);
        IndexSegments { shards, absent: self.asked.total.saturating_sub(self.asked.successful) }
    }
}

impl CopyAnswer {
    fn into_shard(self, index: &str, shard: u32) -> ShardSegments {
        let mut segments: Vec<Segment> = self.segments.into_values().map(SegmentAnswer::into_segment).collect();
        segments.sort_by_key(|segment| segment.generation);
        let node = self.routing.node.unwrap_or_default();
        ShardSegments { index: index.to_owned(), shard, primary: self.routing.primary, node, segments }
    }
}

impl SegmentAnswer {
    fn into_segment(self) -> Segment {
        Segment {
            generation: self.generation,
            docs: self.num_docs,
            deleted: self.deleted_docs,
            bytes: self.size_in_bytes,
            memory: self.memory_in_bytes,
            searchable: self.search,
            committed: self.committed,
            merge: self.merge_id,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatsAnswer {
    #[serde(rename = "_all")]
    all: AllAnswer,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AllAnswer {
    total: TotalAnswer,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TotalAnswer {
    merges: MergesAnswer,
    refresh: TimesAnswer,
    flush: TimesAnswer,
    indexing: IndexingAnswer,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MergesAnswer {
    current: u64,
    current_docs: u64,
    current_size_in_bytes: u64,
    total: u64,
    total_size_in_bytes: u64,
    total_time_in_millis: u64,
    total_throttled_time_in_millis: u64,
    total_stopped_time_in_millis: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TimesAnswer {
    total: u64,
    total_time_in_millis: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IndexingAnswer {
    index_total: u64,
    index_time_in_millis: u64,
    is_throttled: bool,
    throttle_time_in_millis: u64,
}

impl TotalAnswer {
    fn activity(&self) -> MergeActivity {
        let TotalAnswer { merges, refresh, flush, indexing } = self;
        MergeActivity {
            merges: merges.current,
            merging_docs: merges.current_docs,
            merging_bytes: merges.current_size_in_bytes,
            merged: merges.total,
            merged_bytes: merges.total_size_in_bytes,
            merge_ms: merges.total_time_in_millis,
            merge_throttled_ms: merges.total_throttled_time_in_millis,
            merge_stopped_ms: merges.total_stopped_time_in_millis,
            refreshes: refresh.total,
            refresh_ms: refresh.total_time_in_millis,
            flushes: flush.total,
            flush_ms: flush.total_time_in_millis,
            indexed: indexing.index_total,
            index_ms: indexing.index_time_in_millis,
            throttled: indexing.is_throttled,
            throttled_ms: indexing.throttle_time_in_millis,
        }
    }
}

#[derive(Deserialize)]
struct SettingsAnswer {
    #[serde(default)]
    settings: IntervalAnswer,
}

#[derive(Default, Deserialize)]
struct IntervalAnswer {
    #[serde(default, rename = "index.refresh_interval")]
    interval: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodesAnswer {
    nodes: BTreeMap<String, NodeAnswer>,
}

#[derive(Deserialize)]
struct NodeAnswer {
    name: String,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_true(value: &bool) -> bool {
    *value
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn segment(generation: u64) -> Segment {
        Segment { generation, docs: 3, bytes: 4_000, searchable: true, committed: true, ..Segment::default() }
    }

    #[test]
    fn a_name_is_the_generation_in_base_36() {
        let names: Vec<String> = [0, 9, 10, 35, 36, 1_295, 1_296].map(|n| segment(n).name()).to_vec();
        assert_eq!(names, ["_0", "_9", "_a", "_z", "_10", "_zz", "_100"]);
    }

    #[test]
    fn what_is_usual_is_absent_in_json() {
        let usual = json!({"g": 7, "d": 3, "b": 4_000});
        assert_eq!(serde_json::to_value(segment(7)).unwrap(), usual);
        let odd = Segment {
            deleted: 2,
            memory: 5,
            searchable: false,
            committed: false,
            merge: Some("12".into()),
            ..segment(7)
        };
        let json = json!({"g": 7, "d": 3, "x": 2, "b": 4_000, "h": 5, "s": false, "c": false, "m": "12"});
        assert_eq!(serde_json::to_value(&odd).unwrap(), json);
        for (segment, json) in [(segment(7), usual), (odd, json)] {
            assert_eq!(serde_json::from_value::<Segment>(json).unwrap(), segment);
        }
    }

    #[test]
    fn copies_and_segments_are_sorted() {
        let of = |generation: u64| {
            json!({"generation": generation, "num_docs": 3, "deleted_docs": 0, "size_in_bytes": 4_000,
                "committed": true, "search": true})
        };
        let copy = |primary: bool, node: &str| {
            let routing = json!({"state": "STARTED", "primary": primary, "node": node});
            json!({"routing": routing, "segments": {"_a": of(10), "_2": of(2)}})
        };
        let shards = json!({"10": [copy(true, "x")], "2": [copy(false, "w"), copy(true, "x")]});
        let answer = json!({"_shards": {"total": 5, "successful": 3}, "indices": {"b": {"shards": shards}, "a": {}}});
        let found = serde_json::from_value::<SegmentsAnswer>(answer).unwrap().into_segments();
        let places: Vec<(u32, bool, &str)> =
            found.shards.iter().map(|copy| (copy.shard, copy.primary, copy.node.as_str())).collect();
        assert_eq!(places, [(2, true, "x"), (2, false, "w"), (10, true, "x")]);
        assert_eq!(found.shards[0].segments, [segment(2), segment(10)]);
        assert_eq!(found.absent, 2);
    }

    /// Answers of real servers in the middle of a load with a merge.
    #[test]
    fn both_products_are_read() {
        #[derive(Deserialize)]
        struct Recorded {
            segments: SegmentsAnswer,
            stats: StatsAnswer,
        }
        let check = |text: &str, figures: [u64; 6], activity: [u64; 4]| {
            let recorded: Recorded = serde_json::from_str(text).unwrap();
            let found = recorded.segments.into_segments();
            let [shard] = found.shards.as_slice() else { panic!("{found:?}") };
            assert_eq!((shard.index.as_str(), shard.shard, shard.primary, found.absent), ("logs", 0, true, 0));
            let count = |wanted: fn(&&Segment) -> bool| shard.segments.iter().filter(wanted).count() as u64;
            let seen = || shard.segments.iter().filter(|segment| segment.searchable);
            let (docs, deleted) =
                (seen().map(|segment| segment.docs).sum(), seen().map(|segment| segment.deleted).sum());
            let (merging, committed) = (count(|segment| segment.merge.is_some()), count(|segment| segment.committed));
            assert_eq!([count(|_| true), seen().count() as u64, committed, merging, docs, deleted], figures);
            let all = recorded.stats.all.total.activity();
            assert_eq!([all.merges, all.merging_docs, all.refreshes, all.indexed], activity);
        };
        check(include_str!("segments/opensearch-3.6.0.json"), [12, 9, 10, 12, 6_768, 432], [1, 7_699, 28, 8_000]);
        check(include_str!("segments/elasticsearch-8.19.21.json"), [11, 9, 8, 10, 2_338, 62], [1, 2_718, 11, 3_200]);
    }

    #[test]
    fn nodes_with_one_name_are_told_apart() {
        let names = [("1", "a"), ("2", "b"), ("3", "a")].map(|(id, name)| (id.to_owned(), name.to_owned()));
        let found: Vec<String> = unique(names.into_iter().collect()).into_values().collect();
        assert_eq!(found, ["a 1", "b", "a 3"]);
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let check = |status: u16, body: Value, expected: &str| {
            let error = refused("reading the segments of logs (index privilege monitor)", status, &body).to_string();
            assert!(error.contains(expected), "{error}");
        };
        let error = |kind: &str| json!({"error": {"type": kind, "reason": "r", "index": "logs"}});
        check(404, error("index_not_found_exception"), "logs: there is no such index");
        check(400, error("index_closed_exception"), "POST INDEX/_open");
        check(403, error("security_exception"), "(index privilege monitor): forbidden");
    }
}
