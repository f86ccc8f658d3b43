//! Whether the documents fit on the cluster's disks.

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::Transport;

/// The servers stop writing to a disk that is fuller than this, in percent (default of
/// `cluster.routing.allocation.disk.watermark.flood_stage`).
const FLOOD_STAGE_PERCENT: u64 = 95;

/// The smallest index is the documents' JSON divided by this. An index rarely takes less.
const SMALLEST_PART: u64 = 4;

/// The room on the data nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disks {
    /// Number of data nodes.
    data_nodes: u64,
    /// Bytes until every data node is at the flood stage.
    usable_bytes: u64,
}

/// Asks for the room on the data nodes. `None` if the user may not ask (`monitor`), or if the
/// cluster is serverless.
pub(super) async fn ask(transport: &Transport) -> Option<Disks> {
    let path = "/_nodes/stats/fs?filter_path=nodes.*.roles,nodes.*.fs.total";
    parse(&transport.demand("asking for disk space", Method::GET, path, None).await.ok()?)
}

impl Disks {
    /// Compares `bytes` of documents in `1 + replicas` copies with the room. Returns a warning if
    /// they may not fit.
    ///
    /// # Errors
    /// [`ClusterError::Disk`] if even the smallest index that they can make does not fit.
    pub(super) fn check(self, bytes: u64, replicas: u32) -> Result<Option<String>, ClusterError> {
        // A copy without another node for it is not assigned and takes no room.
        let copies = (1 + u64::from(replicas)).min(self.data_nodes);
        let needed = bytes.saturating_mul(copies);
        let coming = format!(
            "{} of documents are coming, in {copies} {}, and the data nodes have room for {} before they are {FLOOD_STAGE_PERCENT} % full",
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

/// Whether a disk is fuller than a watermark. `mark` is a percentage or ratio of use, or an amount
/// that must stay free. With a percentage or ratio, at most `headroom` has to stay free
/// (Elasticsearch 8.5 and newer).
pub fn watermark_passed(mark: &str, headroom: Option<&str>, total: f64, free: f64) -> bool {
    let percent = mark.strip_suffix('%').and_then(|text| text.parse::<f64>().ok()).map(|percent| percent / 100.0);
    match percent.or_else(|| mark.parse::<f64>().ok()) {
        Some(used) => {
            let reserve = (1.0 - used) * total;
            free < headroom.and_then(setting_bytes).map_or(reserve, |most| reserve.min(most))
        }
        None => setting_bytes(mark).is_some_and(|reserve| free < reserve),
    }
}

/// The bytes of a size as settings write it: `512mb`.
pub fn setting_bytes(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let units = [("pb", 50), ("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10), ("b", 0)];
    let (unit, shift) = units.into_iter().find(|(unit, _)| text.ends_with(unit))?;
    text[..text.len() - unit.len()].trim().parse::<f64>().ok().map(|number| number * (1u64 << shift) as f64)
}

fn parse(body: &Value) -> Option<Disks> {
    let nodes = body.get("nodes")?.as_object()?;
    let holds_data = |node: &&Value| match node.get("roles").and_then(Value::as_array) {
        Some(roles) => roles.iter().filter_map(Value::as_str).any(|role| role == "data" || role.starts_with("data_")),
        None => true,
    };
    let mut disks = Disks { data_nodes: 0, usable_bytes: 0 };
    for node in nodes.values().filter(holds_data) {
        let bytes = |key: &str| node.pointer(&format!("/fs/total/{key}")).and_then(Value::as_u64);
        let (available, total) = (bytes("available_in_bytes")?, bytes("total_in_bytes")?);
        disks.data_nodes += 1;
        disks.usable_bytes += available.saturating_sub(total / 100 * (100 - FLOOD_STAGE_PERCENT));
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
        assert_eq!(parse(&body), Some(Disks { data_nodes: 2, usable_bytes: 25 * GB }));
        assert_eq!(parse(&json!({"nodes": {}})), None);
        assert_eq!(parse(&json!({"nodes": {"a": {"roles": ["data"]}}})), None);
    }

    #[test]
    fn what_may_not_fit_is_warned_of_and_what_cannot_is_refused() {
        let disks = Disks { data_nodes: 3, usable_bytes: 10 * GB };
        assert_eq!(disks.check(5 * GB, 1).unwrap(), None);
        let warning = disks.check(6 * GB, 1).unwrap().unwrap();
        assert!(warning.contains("6.00 GB of documents are coming, in 2 copies"), "{warning}");
        let error = disks.check(21 * GB, 1).unwrap_err().to_string();
        assert!(error.contains("21.0 GB") && error.contains("free disk space"), "{error}");
        // With one node the replicas take no room.
        assert_eq!(Disks { data_nodes: 1, ..disks }.check(9 * GB, 2).unwrap(), None);
    }

    #[test]
    fn watermarks_are_percentages_ratios_or_what_must_stay_free() {
        let passes = |mark, total, free| watermark_passed(mark, None, total, free);
        assert!(passes("90%", 100.0, 9.0) && !passes("90%", 100.0, 11.0));
        assert!(passes("0.9", 100.0, 9.0) && !passes("0.9", 100.0, 11.0));
        let gib = (1u64 << 30) as f64;
        assert!(passes("50gb", 1000.0 * gib, 49.0 * gib) && !passes("50gb", 1000.0 * gib, 51.0 * gib));
        assert_eq!(setting_bytes("1.5kb"), Some(1536.0));
        assert_eq!(setting_bytes("lots"), None);
        assert!(!watermark_passed("90%", Some("150GB"), 10_000.0 * gib, 200.0 * gib));
        assert!(watermark_passed("90%", Some("150GB"), 10_000.0 * gib, 149.0 * gib));
        assert!(watermark_passed("90%", Some("-1"), 10_000.0 * gib, 200.0 * gib));
    }

    #[test]
    fn sizes_have_three_figures() {
        assert_eq!(size(640), "640 B");
        assert_eq!(size(1_500), "1.50 kB");
        assert_eq!(size(269 * GB), "269 GB");
    }
}
