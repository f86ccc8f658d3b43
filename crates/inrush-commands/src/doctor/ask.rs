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
nodes.*.ingest.pipelines.*.count,nodes.*.ingest.pipelines.*.time_in_millis,nodes.*.ingest.pipelines.*.failed,nodes.*.os.cpu";

/// The path that asks what the indices keep, and their modes.
fn modes_of(indices: &str) -> String {
    format!(
        "{indices}?include_defaults=true&filter_path={},{},{}",
        SourceKept::PATHS,
        sequence_numbers::PATHS,
        IndexMode::PATHS
    )
}

/// Sends all requests at once. `index` limits those for shards, settings, statistics and mappings.
///
/// # Errors
/// No node answers, the cluster refuses the credentials, or the index does not exist.
pub(super) async fn ask(transport: &Transport, index: Option<&str>) -> Result<Answers, ClusterError> {
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
    let mut not_checked = Vec::new();
    let mut take = |(what, answer): (&'static str, Result<Value, ClusterError>)| match answer {
        Ok(value) => Ok(value),
        Err(error) if error.cannot_be_asked() => {
            not_checked.push(format!("{what}: {error}"));
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    };
    let cluster = take(cluster)?;
    let mut flat = serde_json::Map::new();
    for layer in ["defaults", "persistent", "transient"] {
        flat.extend(super::entries(&cluster[layer]).map(|(key, value)| (key.clone(), value.clone())));
    }
    Ok(Answers {
        nodes: take(nodes)?["nodes"].take(),
        health: take(health)?,
        cluster_settings: Value::Object(flat),
        shards: take(shards)?,
        settings: take(settings)?,
        stats: take(stats)?["indices"].take(),
        modes: take(modes)?,
        mappings: take(mappings)?,
        recoveries: take(recoveries)?,
        snapshots: take(snapshots)?["snapshots"].take(),
        not_checked,
    })
}
