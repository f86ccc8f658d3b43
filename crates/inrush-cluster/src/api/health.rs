//! Whether documents can be written to certain indices now: their primary shards are active, and
//! the disks that hold them have room.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use inrush_core::{Pause, PauseKind};
use serde_json::Value;

use super::allocation;
use super::error::ClusterError;
use super::watermark::{self, Stage};
use crate::transport::{Transport, path_segment};

/// The longest list of names in one request, bytes, because the length of a URL is limited. The
/// newest names come first.
const NAMES_BYTES_MAX: usize = 3000;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Documents can be written.
    Fine,
    /// Documents should not be sent now.
    Trouble(Pause),
    /// No answer came.
    Unknown,
}

/// Checks the health of indices repeatedly, and logs once what the user may not read.
pub struct Observer {
    transport: Arc<Transport>,
    logged: BTreeSet<&'static str>,
}

const RED: &str = "/_cluster/health";
const DISKS: &str = "/_nodes/stats/fs and /_cluster/settings";

impl Observer {
    /// An observer that has not checked anything yet.
    pub fn new(transport: Arc<Transport>) -> Self {
        Observer { transport, logged: BTreeSet::new() }
    }

    /// Checks the indices of these names, which must not be aliases. The health of other indices
    /// does not matter.
    pub async fn look(&mut self, names: &[String]) -> Health {
        let names = newest_names(names);
        if names.is_empty() {
            return Health::Fine;
        }
        let (red, disks) = tokio::join!(red(&self.transport, &names), disks(&self.transport, &names));
        match (self.note(RED, red), self.note(DISKS, disks)) {
            (Some(Some(why)), _) => Health::Trouble(Pause { kind: PauseKind::IndexRed, why }),
            (_, Some(Some(why))) => Health::Trouble(Pause { kind: PauseKind::DiskHigh, why }),
            (None, _) | (_, None) => Health::Unknown,
            (Some(None), Some(None)) => Health::Fine,
        }
    }

    /// A check that the user may not make finds no trouble. A check without an answer leaves the
    /// health unknown.
    fn note(&mut self, what: &'static str, answer: Result<Option<String>, ClusterError>) -> Option<Option<String>> {
        match answer {
            Ok(trouble) => Some(trouble),
            Err(error) if error.cannot_be_asked() => {
                if self.logged.insert(what) {
                    tracing::info!(
                        "{what} cannot be read, so the load does not pause for red indices or full disks found there: {error}"
                    );
                }
                Some(None)
            }
            Err(error) => {
                tracing::debug!("the health of the cluster is unknown: {error}");
                None
            }
        }
    }
}

fn newest_names(names: &[String]) -> Vec<&str> {
    let mut bytes = 0;
    let fits = |name: &&str| {
        bytes += name.len() + 3;
        bytes <= NAMES_BYTES_MAX
    };
    names.iter().rev().map(String::as_str).take_while(fits).collect()
}

/// The indices without an active primary shard, as text.
async fn red(transport: &Transport, names: &[&str]) -> Result<Option<String>, ClusterError> {
    // For a name that does not exist the servers would wait until it appears.
    let query = "level=indices&timeout=1s&filter_path=indices.*.status";
    let path = format!("/_cluster/health/{}?{query}", path_segment(&names.join(",")));
    let body = transport.demand("asking for the health of indices", Method::GET, &path, None).await?;
    let is_red = |name: &&&str| body["indices"][**name]["status"] == "red";
    let red: Vec<&str> = names.iter().filter(is_red).copied().collect();
    let Some(first) = red.first() else { return Ok(None) };
    let verb = if red.len() == 1 { "is" } else { "are" };
    let why = match allocation::unassigned(transport, first).await {
        Some(unassigned) if red.len() == 1 => format!(": {}", unassigned.why),
        Some(unassigned) => format!(": {first}, {}", unassigned.why),
        None => " (GET _cluster/allocation/explain says why)".to_owned(),
    };
    Ok(Some(format!("{} {verb} red: a primary shard is not assigned{why}", shortened(&red))))
}

/// The first node with shards of the indices whose disk is above the high watermark, as text.
async fn disks(transport: &Transport, names: &[&str]) -> Result<Option<String>, ClusterError> {
    let stats = "/_nodes/stats/fs?filter_path=nodes.*.name,nodes.*.fs.total";
    let (stats, settings) =
        tokio::join!(transport.demand("asking for disk space", Method::GET, stats, None), watermark::ask(transport),);
    let full = above(&stats?, &settings?);
    if full.is_empty() {
        return Ok(None);
    }
    let path = format!("/_cat/shards/{}?format=json&h=index,node", path_segment(&names.join(",")));
    let shards = transport.demand("asking where the shards are", Method::GET, &path, None).await?;
    let holds = |node: &str, shard: &Value| {
        // A shard that moves is written as `from -> address id to`.
        let place = shard["node"].as_str().unwrap_or_default();
        place.split(" -> ").next() == Some(node)
    };
    let shards = shards.as_array().map(Vec::as_slice).unwrap_or_default();
    let found = full.iter().find_map(|(node, words)| {
        let shard = shards.iter().find(|shard| holds(node, shard))?;
        Some((node, words, shard["index"].as_str().unwrap_or_default().to_owned()))
    });
    Ok(found.map(|(node, words, index)| {
        format!(
            "the disk of node {node}, which has shards of {index}, is above its high watermark ({words}); free disk space, or raise cluster.routing.allocation.disk.watermark.high"
        )
    }))
}

/// The nodes whose disks are above the high watermark, with the figures.
fn above(stats: &Value, settings: &Value) -> Vec<(String, String)> {
    let Some(mark) = watermark::of_answer(Stage::High, settings) else { return Vec::new() };
    let nodes = stats["nodes"].as_object().into_iter().flatten();
    let full = nodes.filter_map(|(id, node)| {
        let bytes = |key: &str| node.pointer(&format!("/fs/total/{key}")).and_then(Value::as_u64);
        let (total, free) = (bytes("total_in_bytes")? as f64, bytes("available_in_bytes")? as f64);
        let name = node["name"].as_str().unwrap_or(id).to_owned();
        let used = (1.0 - free / total.max(1.0)) * 100.0;
        (free < mark.reserve(total)).then(|| (name, format!("{used:.1} % used, watermark {mark}")))
    });
    full.collect()
}

fn shortened(names: &[&str]) -> String {
    let more = names.len().saturating_sub(3);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_disks_above_the_high_watermark_that_holds_are_named() {
        let node = |name: &str, available: u64| json!({"name": name, "fs": {"total": {"total_in_bytes": 1000_u64 << 30, "available_in_bytes": available << 30}}});
        let stats = json!({"nodes": {"a": node("es-1", 200), "b": node("es-2", 60), "c": {"name": "es-3"}}});
        let check = |settings: Value, expected: &[&str]| {
            let names: Vec<String> = above(&stats, &settings).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, expected, "{settings}");
        };
        let disk = |disk: Value| json!({"cluster": {"routing": {"allocation": {"disk": disk}}}});
        let high = |mark: &str| disk(json!({"watermark": {"high": mark}}));
        check(json!({}), &["es-2"]);
        check(json!({"persistent": high("95%")}), &[]);
        check(json!({"persistent": high("250gb")}), &["es-1", "es-2"]);
        check(json!({"persistent": disk(json!({"threshold_enabled": "false"})), "transient": high("1%")}), &[]);
        assert!(
            above(&stats, &json!({}))[0].1.contains("94.0 % used, watermark 90%"),
            "{:?}",
            above(&stats, &json!({}))
        );
    }

    #[test]
    fn the_newest_names_are_asked_for_where_not_all_fit() {
        let names: Vec<String> = (0..1000).map(|n| format!("logs-{n:04}")).collect();
        let asked = newest_names(&names);
        assert_eq!((asked.len(), asked[0]), (250, "logs-0999"));
        assert_eq!(shortened(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        assert_eq!(shortened(&["a"]), "a");
    }
}
