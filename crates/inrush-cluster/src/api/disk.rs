//! Whether the documents fit on the cluster's disks.

use http::Method;
use serde_json::Value;

use super::allocation::{self, Nodes};
use super::error::ClusterError;
use super::watermark::{self, Stage, Watermark};
use crate::transport::Transport;

/// The smallest index is the documents' JSON divided by this. An index rarely takes less.
const SMALLEST_PART: u64 = 4;

/// The room on the data nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disks {
    /// Number of data nodes.
    data_nodes: u64,
    /// Bytes until every data node is at the flood stage, or full if the cluster has none.
    usable_bytes: u64,
    flood_stage: Option<Watermark>,
}

/// The data nodes and their disks.
#[derive(Default)]
pub(super) struct Room {
    /// `None` if the user may not ask (`monitor`), or if the cluster is serverless.
    pub(super) disks: Option<Disks>,
    pub(super) nodes: Nodes,
    /// An answer to [`watermark::ask`].
    pub(super) settings: Value,
}

/// Asks for the data nodes and the room on their disks. A flood stage that the user may not read is
/// the default.
pub(super) async fn ask(transport: &Transport) -> Room {
    let path = format!("/_nodes/stats/fs?filter_path={}", allocation::NODES);
    let (stats, settings) =
        tokio::join!(transport.demand("asking for disk space", Method::GET, &path, None), watermark::ask(transport));
    let (Ok(stats), settings) = (stats, settings.unwrap_or_default()) else { return Room::default() };
    let disks = parse(&stats, watermark::of_answer(Stage::Flood, &settings));
    Room { disks, nodes: Nodes::parse(&stats), settings }
}

impl Disks {
    /// Compares `bytes` of documents in `1 + replicas` copies with the room. Returns a warning if
    /// they may not fit.
    ///
    /// # Errors
    /// [`ClusterError::Disk`] if even the smallest index that they can make does not fit.
    pub(super) fn check(&self, bytes: u64, replicas: u32) -> Result<Option<String>, ClusterError> {
        // A copy without another node for it is not assigned and takes no room.
        let copies = (1 + u64::from(replicas)).min(self.data_nodes);
        let needed = bytes.saturating_mul(copies);
        let until = match &self.flood_stage {
            Some(mark) => format!(" below their flood stage ({mark})"),
            None => String::new(),
        };
        let coming = format!(
            "{} of documents are coming, in {copies} {}, and the data nodes have room for {}{until}",
            size(bytes),
            if copies == 1 { "copy" } else { "copies" },
            size(self.usable_bytes),
        );
        if needed / SMALLEST_PART > self.usable_bytes {
            return Err(ClusterError::Disk(format!("{coming}; free disk space, add nodes, or use fewer replicas")));
        }
        Ok((needed > self.usable_bytes).then(|| format!("{coming}: they may not fit")))
    }
}

fn parse(body: &Value, flood_stage: Option<Watermark>) -> Option<Disks> {
    let nodes = body.get("nodes")?.as_object()?;
    let holds_data = |node: &&Value| match node.get("roles").and_then(Value::as_array) {
        Some(roles) => roles.iter().filter_map(Value::as_str).any(|role| role == "data" || role.starts_with("data_")),
        None => true,
    };
    let mut disks = Disks { data_nodes: 0, usable_bytes: 0, flood_stage };
    for node in nodes.values().filter(holds_data) {
        let bytes = |key: &str| node.pointer(&format!("/fs/total/{key}")).and_then(Value::as_u64);
        let (available, total) = (bytes("available_in_bytes")?, bytes("total_in_bytes")?);
        disks.data_nodes += 1;
        let reserve = disks.flood_stage.as_ref().map_or(0.0, |mark| mark.reserve(total as f64));
        disks.usable_bytes += available.saturating_sub(reserve.round() as u64);
    }
    (disks.data_nodes > 0).then_some(disks)
}

/// A size with three figures: `640 B`, `1.50 GB`.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB", "PB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 1000.0 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    let digits = if unit == "B" || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GB: u64 = 1_000_000_000;

    #[test]
    fn only_data_nodes_count_and_only_up_to_the_flood_stage() {
        let node = |roles: &[&str], available: u64| json!({"roles": roles, "fs": {"total": {"total_in_bytes": 100 * GB, "available_in_bytes": available}}});
        let body = json!({"nodes": {
            "a": node(&["data_hot", "ingest"], 30 * GB),
            "b": node(&["master"], 90 * GB),
            "c": node(&["data"], 3 * GB),
        }});
        let usable = |settings: Value| {
            parse(&body, watermark::of_answer(Stage::Flood, &settings))
                .map(|disks| (disks.data_nodes, disks.usable_bytes))
        };
        let persistent = |disk: Value| json!({"persistent": {"cluster": {"routing": {"allocation": {"disk": disk}}}}});
        assert_eq!(usable(json!({})), Some((2, 25 * GB)));
        assert_eq!(usable(persistent(json!({"watermark": {"flood_stage": "98%"}}))), Some((2, 29 * GB)));
        assert_eq!(usable(persistent(json!({"threshold_enabled": "false"}))), Some((2, 33 * GB)));
        assert_eq!(parse(&json!({"nodes": {}}), None), None);
        assert_eq!(parse(&json!({"nodes": {"a": {"roles": ["data"]}}}), None), None);
    }

    #[test]
    fn what_may_not_fit_is_warned_of_and_what_cannot_is_refused() {
        let flood_stage = watermark::of_answer(Stage::Flood, &json!({}));
        let disks = Disks { data_nodes: 3, usable_bytes: 10 * GB, flood_stage };
        assert_eq!(disks.check(5 * GB, 1).unwrap(), None);
        let warning = disks.check(6 * GB, 1).unwrap().unwrap();
        let expected = "6.00 GB of documents are coming, in 2 copies, and the data nodes have room for 10.0 GB below their flood stage (95%): they may not fit";
        assert_eq!(warning, expected);
        let error = disks.check(21 * GB, 1).unwrap_err().to_string();
        assert!(error.contains("21.0 GB") && error.contains("free disk space"), "{error}");
        // With one node the replicas take no room.
        assert_eq!(Disks { data_nodes: 1, ..disks }.check(9 * GB, 2).unwrap(), None);
    }

    #[test]
    fn sizes_have_three_figures() {
        assert_eq!(size(640), "640 B");
        assert_eq!(size(1_500), "1.50 kB");
        assert_eq!(size(269 * GB), "269 GB");
    }
}
