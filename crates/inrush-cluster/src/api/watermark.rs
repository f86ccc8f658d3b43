//! How full the cluster lets its disks become (Elasticsearch's reference, "Cluster-level shard
//! allocation and routing settings", disk-based shard allocation; the same in OpenSearch).

use std::collections::BTreeMap;
use std::fmt;

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::Transport;

/// Where the settings of the disks are.
const DISK: &str = "cluster.routing.allocation.disk";

/// The servers' three limits, from the emptiest disk to the fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No new shard comes to the node.
    Low,
    /// Shards are moved away from the node.
    High,
    /// Indices with a shard on the node are made read-only.
    Flood,
}

impl Stage {
    /// The setting's name and the value that both products begin with.
    fn setting(self) -> (&'static str, &'static str) {
        match self {
            Self::Low => ("low", "85%"),
            Self::High => ("high", "90%"),
            Self::Flood => ("flood_stage", "95%"),
        }
    }
}

/// The room that has to stay free on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watermark {
    /// A percentage or ratio of use, or an amount that must stay free.
    mark: String,
    /// With a percentage or ratio, no more than this has to stay free (Elasticsearch 8.5 and
    /// newer).
    headroom: Option<String>,
}

impl Watermark {
    /// Reads a watermark. `setting` returns the value of a setting by its full name; a setting that
    /// is not there has its default. `None` if the cluster does not look at its disks.
    pub fn read<'a>(stage: Stage, setting: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        if setting(&format!("{DISK}.threshold_enabled")) == Some("false") {
            return None;
        }
        let (name, default) = stage.setting();
        let mark = setting(&format!("{DISK}.watermark.{name}")).unwrap_or(default);
        let headroom = setting(&format!("{DISK}.watermark.{name}.max_headroom")).filter(|bytes| *bytes != "-1");
        Some(Self { mark: mark.to_owned(), headroom: headroom.map(str::to_owned) })
    }

    /// Bytes that have to stay free on a disk of `total` bytes. 0 if the mark cannot be read.
    pub fn reserve(&self, total: f64) -> f64 {
        let percent =
            self.mark.strip_suffix('%').and_then(|text| text.parse::<f64>().ok()).map(|percent| percent / 100.0);
        match percent.or_else(|| self.mark.parse::<f64>().ok()) {
            Some(used) => {
                let reserve = (1.0 - used) * total;
                self.headroom.as_deref().and_then(setting_bytes).map_or(reserve, |most| reserve.min(most))
            }
            None => setting_bytes(&self.mark).unwrap_or(0.0),
        }
    }
}

impl fmt::Display for Watermark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.headroom {
            Some(headroom) => write!(f, "{}, at most {headroom} free", self.mark),
            None => f.write_str(&self.mark),
        }
    }
}

/// The bytes of a size as settings write it: `512mb`.
pub fn setting_bytes(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let units = [("pb", 50), ("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10), ("b", 0)];
    let (unit, shift) = units.into_iter().find(|(unit, _)| text.ends_with(unit))?;
    text[..text.len() - unit.len()].trim().parse::<f64>().ok().map(|number| number * (1u64 << shift) as f64)
}

/// Asks for the cluster's settings of the allocation of shards, those of the disks among them, for
/// [`of_answer`].
pub(super) async fn ask(transport: &Transport) -> Result<Value, ClusterError> {
    // The settings are not requested flat: a filter does not look into names with dots.
    let path = "/_cluster/settings?include_defaults=true&filter_path=*.cluster.routing.allocation";
    transport.demand("asking for the disk watermarks", Method::GET, path, None).await
}

/// The watermark in an answer to [`ask`]. `None` if the cluster does not look at its disks.
pub(super) fn of_answer(stage: Stage, answer: &Value) -> Option<Watermark> {
    of_settings(stage, &settings(answer))
}

/// The same of the settings by their names.
pub(super) fn of_settings(stage: Stage, settings: &BTreeMap<String, &str>) -> Option<Watermark> {
    Watermark::read(stage, |name| settings.get(name).copied())
}

/// The settings in an answer to [`ask`], by their whole names.
pub(super) fn settings(answer: &Value) -> BTreeMap<String, &str> {
    let mut flat = BTreeMap::new();
    for layer in ["defaults", "persistent", "transient"] {
        flatten("", &answer[layer], &mut flat);
    }
    flat
}

/// Settings by their whole names. A setting that has others below it is written as `high` and
/// `high.max_headroom` side by side.
fn flatten<'a>(prefix: &str, value: &'a Value, flat: &mut BTreeMap<String, &'a str>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value.as_str() {
            Some(text) => {
                flat.insert(name, text);
            }
            None => flatten(&name, value, flat),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GIB: f64 = (1u64 << 30) as f64;

    #[test]
    fn a_watermark_is_a_percentage_a_ratio_or_an_amount() {
        let reserve = |mark: &str, headroom: Option<&str>, total: f64| {
            Watermark { mark: mark.to_owned(), headroom: headroom.map(str::to_owned) }.reserve(total * GIB).round()
        };
        assert_eq!(reserve("90%", None, 1000.0), 100.0 * GIB);
        assert_eq!(reserve("0.9", None, 1000.0), 100.0 * GIB);
        assert_eq!(reserve("50gb", None, 1000.0), 50.0 * GIB);
        assert_eq!(reserve("90%", Some("150GB"), 10_000.0), 150.0 * GIB);
        assert_eq!(reserve("90%", Some("150GB"), 1000.0), 100.0 * GIB);
        assert_eq!(reserve("lots", None, 1000.0), 0.0);
        assert_eq!(setting_bytes("1.5kb"), Some(1536.0));
        assert_eq!(setting_bytes("lots"), None);
    }

    #[test]
    fn transient_settings_come_before_persistent_ones_and_these_before_the_defaults() {
        let high = |answer: &Value| of_answer(Stage::High, answer).map(|mark| mark.to_string());
        let disk = |disk: Value| json!({"cluster": {"routing": {"allocation": {"disk": disk}}}});
        let mut answer = json!({});
        assert_eq!(high(&answer).as_deref(), Some("90%"));
        answer["defaults"] = disk(json!({"watermark": {"high": "90%", "high.max_headroom": "150GB"}}));
        assert_eq!(high(&answer).as_deref(), Some("90%, at most 150GB free"));
        answer["persistent"] = disk(json!({"watermark": {"high": "80%", "high.max_headroom": "-1"}}));
        assert_eq!(high(&answer).as_deref(), Some("80%"));
        answer["transient"] = disk(json!({"watermark": {"high": {"max_headroom": "50GB"}}}));
        assert_eq!(high(&answer).as_deref(), Some("80%, at most 50GB free"));
        answer["transient"] = disk(json!({"threshold_enabled": "false"}));
        assert_eq!(high(&answer), None);
    }
}
