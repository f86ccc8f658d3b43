//! The documents of a source for a time series, each of those with the same dimensions and time
//! once: its index makes ids that only the server can make, and stores such documents once.

use std::io;

use inrush_cluster::api::index_mode::IndexMode;
use inrush_core::wildcard;
use serde_json::Value;

use super::read::Record;
use super::rebuilt::Fields;
use super::sort::Sorter;

/// The time of a document.
const TIME: &str = "@timestamp";

/// What tells documents of an index from each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// The index in words.
    pub(super) title: String,
    /// Patterns of the dimensions.
    dimensions: Vec<String>,
    fields: Fields,
}

impl Series {
    /// The time series of `GET /INDEX`, if the index is one.
    pub(super) fn of(name: &str, index: &Value) -> Option<Self> {
        let mode = IndexMode::of(|name| index.pointer(&format!("/settings/index/{}", name.replace('.', "/"))));
        if !mode.makes_ids() {
            return None;
        }
        let mapping = index.get("mappings").unwrap_or(&Value::Null);
        let mut dimensions = mode.fields().to_vec();
        add(&mut dimensions, "", mapping);
        Some(Series { title: format!("{name} {}", mode.title()), dimensions, fields: Fields::of([mapping]) })
    }

    /// Whether a field is a dimension or the time.
    fn is_part(&self, path: &str) -> bool {
        path == TIME || self.dimensions.iter().any(|one| wildcard::matches(one, path))
    }

    fn key(&self, document: &[u8]) -> Vec<u8> {
        // Every index refuses what is no JSON.
        self.fields.key(document, |path| self.is_part(path)).unwrap_or_else(|| document.to_vec())
    }
}

/// Adds the dimensions of a mapping.
fn add(to: &mut Vec<String>, path: &str, definition: &Value) {
    for (name, field) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if field.get("time_series_dimension").is_some_and(|value| *value == true || *value == "true") {
            let is_object = field.get("type").is_some_and(|kind| kind == "passthrough");
            to.push(if is_object { format!("{path}.*") } else { path.clone() });
        }
        add(to, &path, field);
    }
}

/// Counts documents.
pub(super) struct SeriesCount {
    series: Series,
    keys: Sorter,
}

/// The documents of a source, and how many an index of a time series stores of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Distinct {
    pub(super) title: String,
    pub(super) records: u64,
    /// The most where there are fields in `unread`.
    pub(super) docs: u64,
    /// Dimensions, or the time, whose values only the server can read: equal ones may be written
    /// differently.
    pub(super) unread: Vec<String>,
}

impl SeriesCount {
    pub(super) fn new(series: Series, sort_memory: usize) -> Self {
        SeriesCount { series, keys: Sorter::new(sort_memory) }
    }

    pub(super) fn add(&mut self, record: &Record) -> io::Result<()> {
        self.keys.push(&self.series.key(&record.document), b"")
    }

    pub(super) fn finish(self) -> io::Result<Distinct> {
        let keys = self.keys.finish();
        let mut groups = keys.read()?;
        let unread = self.series.fields.unread(|path| self.series.is_part(path));
        let mut distinct = Distinct { title: self.series.title, unread, ..Distinct::default() };
        while let Some((_, group)) = groups.next_group()? {
            distinct.records += group.count;
            distinct.docs += 1;
        }
        Ok(distinct)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dimensions_and_time_tell_documents_apart() {
        let index = json!({"settings": {"index": {"mode": "time_series", "routing_path": ["host.*"]}},
            "mappings": {"properties": {"@timestamp": {"type": "date"}, "v": {"type": "double"},
                "host": {"properties": {"name": {"type": "keyword"}}}, "no": {"type": "long", "time_series_dimension": true},
                "labels": {"type": "passthrough", "time_series_dimension": true, "properties": {"a": {"type": "keyword"}}}}}});
        let series = Series::of("ts", &index).unwrap();
        let key = |document: Value| series.key(document.to_string().as_bytes());
        let one = json!({"@timestamp": "2024-05-01T00:00:00Z", "host": {"name": "x"}, "no": 1, "v": 1});
        for same in [
            json!({"@timestamp": 1_714_521_600_000_i64, "host.name": "x", "no": "1", "v": 2}),
            json!({"@timestamp": "2024-05-01T02:00:00.000+02:00", "no": 1.0, "host": {"name": "x"}}),
        ] {
            assert_eq!(key(one.clone()), key(same.clone()), "{same}");
        }
        for (field, value) in [
            ("@timestamp", json!("2024-05-01T00:00:00.001Z")),
            ("no", json!(2)),
            ("host", json!({"name": "y"})),
            ("labels", json!({"a": "b"})),
        ] {
            let mut other = one.clone();
            other[field] = value;
            assert_ne!(key(one.clone()), key(other.clone()), "{other}");
        }
        assert!(series.fields.unread(|path| series.is_part(path)).is_empty());
        assert_eq!(Series::of("a", &json!({"settings": {"index": {"mode": "logsdb"}}})), None);
    }
}
