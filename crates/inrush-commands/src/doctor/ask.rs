//! The requests of the doctor.

use http::Method;
use inrush_cluster::api::index_mode::IndexMode;
use inrush_cluster::api::source_kept::SourceKept;
use inrush_cluster::api::{ClusterError, sequence_numbers};
use inrush_cluster::transport::{Transport, path_segment};
use serde_json::Value;

/// The answers, `Null` for a request that failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// `_nodes/stats`
    pub(super) nodes: Value,
    /// `_cluster/health`
    pub(super) health: Value,
    /// `_cluster/settings` with defaults, flat: persistent, transient and default settings in one
    /// object.
    pub(super) cluster_settings: Value,
    /// `_cat/shards`
    pub(super) shards: Value,
    /// `{index}/_settings`, flat, by index.
    pub(super) settings: Value,
    /// `{index}/_stats`
    pub(super) stats: Value,
    /// `{index}` with defaults, where one was named: what the modes of indices mean.
    pub(super) modes: Value,
    /// `{index}/_mapping`
    pub(super) mappings: Value,
    /// Hits of `{index}/_search`, where an index was named that has fields of fractions.
    pub(super) samples: Value,
    /// The paths of the fields that they have.
    pub(super) sampled: Vec<String>,
    /// Whether an index, alias, data stream or pattern was named.
    pub(super) is_named: bool,
    /// `_cat/recovery?active_only`
    pub(super) recoveries: Value,
    /// `_snapshot/_status`
    pub(super) snapshots: Value,
    /// The requests that failed, with their reasons.
    pub(super) not_checked: Vec<String>,
}

const NODE_STATS: &str = "/_nodes/stats/jvm,fs,process,thread_pool,breaker,indexing_pressure,ingest,os?filter_path=nodes.*.name,\
nodes.*.roles,nodes.*.jvm.mem,nodes.*.jvm.gc.collectors,nodes.*.jvm.uptime_in_millis,nodes.*.fs.total,nodes.*.process.open_file_descriptors,\
nodes.*.process.max_file_descriptors,nodes.*.thread_pool.write,nodes.*.breakers.*.tripped,nodes.*.indexing_pressure,\
nodes.*.ingest.pipelines.*.count,nodes.*.ingest.pipelines.*.time_in_millis,nodes.*.ingest.pipelines.*.failed,nodes.*.os.cpu,\
nodes.*.os.mem.total_in_bytes";

/// The path that asks what the indices keep, and their modes.
fn modes_of(indices: &str) -> String {
    format!(
        "{indices}?include_defaults=true&filter_path={},{},{}",
        SourceKept::PATHS,
        sequence_numbers::PATHS,
        IndexMode::PATHS
    )
}

/// Documents that are looked at, and the most fields that are asked for.
const SAMPLES: usize = 20;
const SAMPLED_MAX: usize = 50;

/// The path that asks for some documents with these fields.
fn samples_of(indices: &str, fields: &[String]) -> String {
    let fields: Vec<_> = fields.iter().map(|field| path_segment(field)).collect();
    let filter = "filter_path=hits.hits._index,hits.hits._source";
    format!("{indices}/_search?size={SAMPLES}&_source_includes={}&{filter}", fields.join(","))
}

/// The settings of all layers by their full names; the last layer wins.
fn flat(cluster: &Value) -> serde_json::Map<String, Value> {
    let layers = ["defaults", "persistent", "transient"].into_iter();
    layers.flat_map(|layer| super::entries(&cluster[layer])).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Some documents of an index with these fields: the fields that are asked for, the documents, and
/// what could not be asked.
async fn sample(transport: &Transport, prefix: &str, mut sampled: Vec<String>) -> (Vec<String>, Value, Vec<String>) {
    sampled.truncate(SAMPLED_MAX);
    if sampled.is_empty() {
        return (sampled, Value::Null, Vec::new());
    }
    let what = "documents, for vectors among numbers (privilege read)";
    // A closed index, or one whose shards do not answer, has none to show.
    match transport.brief().demand(what, Method::GET, &samples_of(prefix, &sampled), None).await {
        Ok(mut found) => (sampled, found["hits"]["hits"].take(), Vec::new()),
        Err(error) => (sampled, Value::Null, vec![format!("{what}: {error}")]),
    }
}

/// Sends all requests at once, but for the documents of an index, of which the fields that
/// `to_sample` finds in the mappings are asked for. `index` limits those for shards,
/// settings, statistics and mappings.
///
/// # Errors
/// No node answers, the cluster refuses the credentials, or the index does not exist.
pub(super) async fn ask(
    transport: &Transport,
    index: Option<&str>,
    to_sample: fn(&Value) -> Vec<String>,
) -> Result<Answers, ClusterError> {
    let prefix = index.map(|index| format!("/{}", path_segment(index))).unwrap_or_default();
    let settings = format!("{prefix}/_settings?flat_settings=true");
    let stats = format!(
        "{prefix}/_stats/docs,store,merge,segments,refresh,indexing,flush?filter_path=indices.*.primaries,indices.*.total.merges"
    );
    let mappings = format!("{prefix}/_mapping");
    let shards =
        format!("/_cat/shards{prefix}?format=json&bytes=b&h=index,shard,prirep,state,docs,store,node,segments.count");
    // Without `filter_path`, which matches no flat name because it splits them at their dots.
    let cluster_settings = "/_cluster/settings?include_defaults=true&flat_settings=true";
    let get = |what: &'static str, path: String| async move {
        (what, transport.demand(what, Method::GET, &path, None).await)
    };
    let modes = async {
        match prefix.is_empty() {
            true => ("", Ok(Value::Null)),
            false => get("modes of indices", modes_of(&prefix)).await,
        }
    };
    let (nodes, health, cluster, shards, settings, stats, mappings, modes, recoveries, snapshots) = tokio::join!(
        get("nodes' statistics (privilege cluster:monitor)", NODE_STATS.to_owned()),
        get("the cluster's health", "/_cluster/health".to_owned()),
        get("the cluster's settings", cluster_settings.to_owned()),
        get("shards", shards),
        get("settings of indices", settings),
        get("statistics of indices", stats),
        get("mappings", mappings),
        modes,
        get("running recoveries", "/_cat/recovery?active_only=true&format=json&h=index,shard,stage,type".to_owned()),
        get("running snapshots", "/_snapshot/_status?filter_path=snapshots.snapshot,snapshots.state".to_owned()),
    );
    let settings = match settings {
        // Only for this request does a 404 mean that the index does not exist.
        (_, Err(error)) if index.is_some() && error.status() == Some(404) => return Err(error),
        other => other,
    };
    let (sampled, samples, mut not_checked) = match &mappings {
        (_, Ok(mappings)) if index.is_some() => sample(transport, &prefix, to_sample(mappings)).await,
        _ => Default::default(),
    };
    let mut take = |(what, answer): (&'static str, Result<Value, ClusterError>)| match answer {
        Ok(value) => Ok(value),
        Err(error) if error.cannot_be_asked() => {
            not_checked.push(format!("{what}: {error}"));
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    };
    Ok(Answers {
        nodes: take(nodes)?["nodes"].take(),
        health: take(health)?,
        cluster_settings: Value::Object(flat(&take(cluster)?)),
        shards: take(shards)?,
        settings: take(settings)?,
        stats: take(stats)?["indices"].take(),
        modes: take(modes)?,
        mappings: take(mappings)?,
        samples,
        sampled,
        is_named: index.is_some(),
        recoveries: take(recoveries)?,
        snapshots: take(snapshots)?["snapshots"].take(),
        not_checked,
    })
}
