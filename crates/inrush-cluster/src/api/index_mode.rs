//! What the mode of an index means for its writers (`index.mode` of Elasticsearch): where the ids
//! of its documents come from, and what chooses their shards.

use serde_json::Value;

/// The settings of an index that say how it takes documents. The default is that of an index
/// without a mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexMode {
    /// `index.mode`, if it is set.
    name: Option<String>,
    /// The fields whose values choose the shard, if there are any (`index.routing_path`, and
    /// `index.dimensions` in newer data streams). They may be patterns.
    fields: Vec<String>,
    /// The times that the index takes, as its settings name them, if they are limited.
    times: (Option<String>, Option<String>),
}

impl IndexMode {
    /// Reads the settings, which `setting` finds by their names below `index.`.
    pub fn of<'a>(setting: impl Fn(&str) -> Option<&'a Value>) -> Self {
        let text = |name: &str| setting(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| match setting(name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(_) | None => Vec::new(),
        };
        let [path, dimensions] = ["routing_path", "dimensions"].map(list);
        IndexMode {
            name: text("mode"),
            fields: if path.is_empty() { dimensions } else { path },
            times: (text("time_series.start_time"), text("time_series.end_time")),
        }
    }

    /// `index.mode`, if it is set to another one than `standard`.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().filter(|name| *name != "standard")
    }

    /// What [`IndexMode::of`] looks at, as a `filter_path` of `GET /INDEX`.
    pub const PATHS: &str = "*.settings.index.mode,*.settings.index.routing_path,*.settings.index.dimensions,\
                             *.settings.index.time_series";

    /// The fields whose values choose the shard, or patterns of them.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Whether the server makes the id of a document from its dimensions and its time, so that a
    /// document that is sent twice is one. Such an index takes no other ids.
    pub fn makes_ids(&self) -> bool {
        self.name() == Some("time_series")
    }

    /// Whether fields of a document choose its shard. Such an index takes no routing values and no
    /// updates, and makes the ids of all documents itself: of dimensions and time in a time series,
    /// random ones in another mode, in the place of those that are sent.
    pub fn routes_by_fields(&self) -> bool {
        self.makes_ids() || !self.fields.is_empty()
    }

    /// The index in words, to follow its name: what its ids are made of, or its shards chosen by.
    pub fn title(&self) -> String {
        let name = self.name().unwrap_or("standard");
        let fields = if self.fields.is_empty() { "its dimensions".to_owned() } else { self.fields.join(", ") };
        match self.makes_ids() {
            true => format!(
                "makes the ids of its documents from their dimensions ({fields}) and @timestamp (index.mode {name})"
            ),
            false => format!("chooses shards by the fields {fields} (index.mode {name})"),
        }
    }

    /// The times that the index takes: `from A until B`, without the end that is not limited.
    pub fn times(&self) -> Option<String> {
        match &self.times {
            (Some(start), Some(end)) => Some(format!("from {start} until before {end}")),
            (Some(start), None) => Some(format!("from {start} on")),
            (None, Some(end)) => Some(format!("until before {end}")),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(settings: Value) -> IndexMode {
        IndexMode::of(|name| settings.pointer(&format!("/{}", name.replace('.', "/"))))
    }

    #[test]
    fn a_time_series_makes_its_ids() {
        let series = of(json!({"mode": "time_series", "routing_path": ["host", "k8s.*"],
            "time_series": {"start_time": "2024-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:00Z"}}));
        assert!(series.makes_ids() && series.routes_by_fields());
        assert!(series.title().contains("(host, k8s.*) and @timestamp (index.mode time_series)"));
        assert_eq!(series.times().unwrap(), "from 2024-01-01T00:00:00Z until before 2025-01-01T00:00:00Z");
        // Data streams of Elasticsearch 9.2 and newer have `dimensions`, and one field is a text.
        assert!(of(json!({"mode": "time_series", "dimensions": "host"})).title().contains("(host)"));
    }

    #[test]
    fn other_modes_take_ids() {
        for mode in ["standard", "logsdb", "columnar", "lookup", "a_mode_of_tomorrow"] {
            let mode = of(json!({ "mode": mode }));
            assert!(!mode.makes_ids() && !mode.routes_by_fields(), "{mode:?}");
        }
        let sorted = of(json!({"mode": "logsdb", "routing_path": ["host.name"]}));
        assert!(!sorted.makes_ids() && sorted.routes_by_fields());
        assert_eq!((of(json!({})), of(json!({"mode": "standard"})).name()), (IndexMode::default(), None));
    }
}
