//! Rules about the sizes and places of shards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ask::Answers;
use super::{Confidence, Finding, Group, at, entries, finding, holds_data, number, size};

/// Both products advise shards of 10 to 50 GB ("Size your shards", "Choosing the number of
/// shards").
const SHARD_MAX: f64 = (50u64 << 30) as f64;
/// The size below which several shards are too small.
const SHARD_MIN: f64 = (1u64 << 30) as f64;
/// The most segments of one shard. Tiered merging keeps about 10 of each size class, so that even a
/// large shard has some dozens.
const SEGMENTS_MAX: f64 = 100.0;
/// The largest ratio of the fullest shard to the mean.
const SKEW: f64 = 1.5;
/// The least number of documents per shard for which skew and deletions matter.
const DOCS_MIN: f64 = 100_000.0;
/// The largest part of deleted documents.
const DELETED_PART: f64 = 0.3;
/// The largest part of merging time that is throttled.
const THROTTLED_PART: f64 = 0.2;

struct Primary<'a> {
    docs: f64,
    bytes: f64,
    segments: f64,
    node: &'a str,
}

pub(super) fn judge(answers: &Answers, findings: &mut Vec<Finding>) {
    let mut primaries: BTreeMap<&str, Vec<Primary<'_>>> = BTreeMap::new();
    let mut nodes: BTreeMap<&str, f64> = BTreeMap::new();
    for shard in answers.shards.as_array().into_iter().flatten() {
        let (Some(index), Some(node)) = (shard["index"].as_str(), shard["node"].as_str()) else { continue };
        *nodes.entry(node).or_default() += 1.0;
        let get = |key: &str| number(shard.get(key)).unwrap_or(0.0);
        if shard["prirep"] == "p" && shard["state"] == "STARTED" && !index.starts_with('.') {
            let (docs, bytes, segments) = (get("docs"), get("store"), get("segments.count"));
            primaries.entry(index).or_default().push(Primary { docs, bytes, segments, node });
        }
    }
    sizes(&primaries, findings);
    places(&primaries, data_nodes(&answers.nodes), findings);
    count(&nodes, &answers.cluster_settings, findings);
    contents(&answers.stats, findings);
}

fn data_nodes(nodes: &Value) -> usize {
    entries(nodes).filter(|(_, node)| holds_data(node)).count()
}

fn sizes(primaries: &BTreeMap<&str, Vec<Primary<'_>>>, findings: &mut Vec<Finding>) {
    let (mut large, mut small, mut segments) = (Group::default(), Group::default(), Group::default());
    for (index, shards) in primaries {
        let largest = shards.iter().map(|shard| shard.bytes).fold(0.0, f64::max);
        if largest > SHARD_MAX {
            large.add(format!("{index}: largest of {} primaries {}", shards.len(), size(largest)));
        }
        let total: f64 = shards.iter().map(|shard| shard.bytes).sum();
        let mean = total / shards.len() as f64;
        if shards.len() >= 4 && mean < SHARD_MIN && total > 0.0 {
            small.add(format!("{index}: {} primaries of {} on average", shards.len(), size(mean)));
        }
        if let Some(worst) = shards.iter().max_by(|a, b| a.segments.total_cmp(&b.segments))
            && worst.segments > SEGMENTS_MAX
        {
            let each = size(worst.bytes / worst.segments);
            segments.add(format!("{index}: {} segments of {each} in one shard", worst.segments));
        }
    }
    let why = "a large shard merges large segments, is slow to move and to recover, and only one node can write it";
    let fix = "more primaries (option `shards=N` on a new index, or POST INDEX/_split), or a rollover";
    large.tell(findings, finding("shards_large", Confidence::Likely, "shards are larger than 50 GB", why, fix));
    let why =
        "every request is cut into a part for each shard, and each part costs a task, a translog write and a refresh";
    let fix = "fewer primaries: load into a new index with option `shards=1`, or POST INDEX/_shrink";
    small.tell(findings, finding("shards_small", Confidence::Maybe, "shards are many and small", why, fix));
    let why = "thousands of tiny segments come from too many writers or too frequent refreshes, and merging them costs more than indexing";
    let fix = "a longer refresh_interval while loading, fewer and larger requests; afterwards POST INDEX/_forcemerge";
    segments.tell(findings, finding("segments", Confidence::Likely, "shards have very many segments", why, fix));
}

fn places(primaries: &BTreeMap<&str, Vec<Primary<'_>>>, data_nodes: usize, findings: &mut Vec<Finding>) {
    let (mut crowded, mut skewed, mut single) = (Group::default(), Group::default(), Group::default());
    for (index, shards) in primaries {
        let nodes: BTreeSet<&str> = shards.iter().map(|shard| shard.node).collect();
        if shards.len() >= 2 && data_nodes >= 2 && nodes.len() == 1 {
            let node = nodes.first().copied().unwrap_or_default();
            crowded.add(format!("{index}: all {} primaries on {node}, of {data_nodes} data nodes", shards.len()));
        }
        let mean = shards.iter().map(|shard| shard.docs).sum::<f64>() / shards.len() as f64;
        let most = shards.iter().map(|shard| shard.docs).fold(0.0, f64::max);
        if shards.len() >= 2 && mean > DOCS_MIN && most > mean * SKEW {
            skewed.add(format!("{index}: {most:.0} documents in the fullest shard, {mean:.0} on average"));
        }
        if shards.len() == 1 && data_nodes >= 3 && shards[0].bytes > SHARD_MIN * 10.0 {
            single.add(format!("{index}: one primary of {}, {data_nodes} data nodes", size(shards[0].bytes)));
        }
    }
    let why = "one node does all the indexing while the other nodes are idle";
    let fix = "POST _cluster/reroute moves a primary; index.routing.allocation.total_shards_per_node keeps them apart";
    crowded
        .tell(findings, finding("primaries_on_one_node", Confidence::Sure, "one node holds all primaries", why, fix));
    let why = "the fullest shard sets the pace of every request";
    let fix = "a routing value with more different values, or no routing at all";
    skewed.tell(
        findings,
        finding("routing_skew", Confidence::Likely, "documents are unevenly spread over shards", why, fix),
    );
    let why = "only one node writes a shard";
    let fix = "as many primaries as nodes should write (option `shards=N` on a new index)";
    single.tell(
        findings,
        finding("one_shard", Confidence::Maybe, "a large index has one shard on a cluster of several nodes", why, fix),
    );
}

/// `cluster.max_shards_per_node` is 1,000 by default; the guides advise far fewer.
const SHARDS_PER_NODE: f64 = 1000.0;

fn count(nodes: &BTreeMap<&str, f64>, settings: &Value, findings: &mut Vec<Finding>) {
    let limit = number(settings.get("cluster.max_shards_per_node")).unwrap_or(SHARDS_PER_NODE);
    let mut group = Group::default();
    for (node, shards) in nodes {
        if *shards > limit * 0.8 {
            group.add(format!("{node}: {shards} of {limit} shards"));
        }
    }
    let why = "every shard costs heap and a share of the cluster state; at the limit no index can be created any more";
    let fix = "delete or shrink old indices";
    group.tell(findings, finding("shards_per_node", Confidence::Sure, "nodes hold very many shards", why, fix));
}

fn contents(stats: &Value, findings: &mut Vec<Finding>) {
    let (mut deleted, mut throttled, mut stopped, mut refreshed) =
        (Group::default(), Group::default(), Group::default(), Group::default());
    for (index, stats) in entries(stats).filter(|(index, _)| !index.starts_with('.')) {
        let get = |key: &str| at(stats, &format!("/primaries/{key}")).unwrap_or(0.0);
        let (gone, there) = (get("docs/deleted"), get("docs/count"));
        if gone > DOCS_MIN && gone / (gone + there) > DELETED_PART {
            deleted.add(format!("{index}: {gone} deleted and {there} live documents"));
        }
        let (waited, merged) = (get("merges/total_throttled_time_in_millis"), get("merges/total_time_in_millis"));
        if merged > 10_000.0 && waited / merged > THROTTLED_PART {
            throttled.add(format!("{index}: {:.0} s of {:.0} s of merging", waited / 1000.0, merged / 1000.0));
        }
        if get("indexing/throttle_time_in_millis") > 0.0 || stats["primaries"]["indexing"]["is_throttled"] == true {
            stopped.add(format!("{index}: {:.1} s", get("indexing/throttle_time_in_millis") / 1000.0));
        }
        let (refreshes, indexed) = (get("refresh/total"), get("indexing/index_total"));
        if refreshes > 1000.0 && indexed / refreshes < 100.0 && indexed > DOCS_MIN {
            refreshed.add(format!("{index}: {refreshes} refreshes for {indexed} documents"));
        }
    }
    let why = "each update writes the document again, and merges have to remove the old one";
    let fix = "compute final documents first and load each once; POST INDEX/_forcemerge?only_expunge_deletes=true reclaims space";
    deleted.tell(
        findings,
        finding("deleted_documents", Confidence::Likely, "many documents were overwritten or deleted", why, fix),
    );
    let why = "the server limits the speed of merges to spare the disk, so unmerged segments pile up";
    let fix = r#"on SSDs, while loading: PUT INDEX/_settings {"index.merge.scheduler.auto_throttle":false}"#;
    throttled.tell(findings, finding("merges_throttled", Confidence::Likely, "merges are throttled", why, fix));
    let why = "merges were so far behind that the server limited indexing to one thread";
    let fix = "fewer refreshes, larger requests, faster disks, or more nodes";
    stopped.tell(findings, finding("indexing_throttled", Confidence::Sure, "the server throttled indexing", why, fix));
    let why = "each refresh makes a segment, and many small segments cost merges";
    let fix =
        "no refresh after every batch (refresh=true or a client's option), and a longer refresh_interval while loading";
    refreshed.tell(
        findings,
        finding("refreshes", Confidence::Likely, "the index is refreshed for every few documents", why, fix),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(answers: &Answers) -> Vec<&'static str> {
        let mut findings = Vec::new();
        judge(answers, &mut findings);
        findings.into_iter().map(|finding| finding.id).collect()
    }

    fn shard(index: &str, docs: u64, store: u64, segments: u32, node: &str) -> Value {
        json!({"index": index, "shard": "0", "prirep": "p", "state": "STARTED", "docs": docs.to_string(), "store": store.to_string(),
            "node": node, "segments.count": segments.to_string()})
    }

    #[test]
    fn well_cut_shards_have_no_findings() {
        let shards = json!([shard("a", 1_000_000, 20 << 30, 30, "n1"), shard("a", 1_100_000, 21 << 30, 30, "n2")]);
        let nodes =
            json!({"1": {"roles": ["data"]}, "2": {"roles": ["data_hot", "ingest"]}, "3": {"roles": ["ingest"]}});
        assert_eq!(data_nodes(&nodes), 2);
        assert_eq!(ids(&Answers { shards, nodes, ..Answers::default() }), Vec::<&str>::new());
        assert_eq!(ids(&Answers::default()), Vec::<&str>::new());
    }

    #[test]
    fn badly_cut_shards_show() {
        let mut shards = vec![shard("large", 1, 60 << 30, 2000, "n1")];
        shards.extend((0..5).map(|_| shard("small", 1000, 1 << 20, 3, "n1")));
        shards.push(shard("skew", 10_000_000, 20 << 30, 9, "n1"));
        shards.push(shard("skew", 10_000, 1 << 30, 9, "n2"));
        shards.push(shard(".system", 1, 1, 5000, "n2"));
        let nodes = json!({"1": {}, "2": {}, "3": {}});
        let cluster_settings = json!({"cluster.max_shards_per_node": "8"});
        let stats = json!({"upd": {"primaries": {"docs": {"count": 500_000, "deleted": 400_000},
            "merges": {"total_time_in_millis": 50_000, "total_throttled_time_in_millis": 20_000},
            "indexing": {"index_total": 150_000, "throttle_time_in_millis": 1500}, "refresh": {"total": 9000}}}});
        let answers = Answers { shards: shards.into(), nodes, cluster_settings, stats, ..Answers::default() };
        let expected = [
            "shards_large",
            "shards_small",
            "segments",
            "primaries_on_one_node",
            "routing_skew",
            "one_shard",
            "shards_per_node",
            "deleted_documents",
            "merges_throttled",
            "indexing_throttled",
            "refreshes",
        ];
        assert_eq!(ids(&answers), expected);
    }
}
