//! Converts a mapping from one product and version to another.

use inrush_cluster::api::{ClusterInfo, Product, Version, history};
use inrush_core::vectors::graph;
use serde_json::{Map, Value, json};

use super::Copied;

/// The replacement of a field type that the other product does not have.
enum Instead {
    /// A type with the same function and another name.
    Type(&'static str),
    /// The field stays in the documents, but is not searchable.
    NotIndexed,
}

/// Types of Elasticsearch that OpenSearch does not have, or has under another name. The version is
/// the first one of OpenSearch that knows the original name.
const OF_ELASTICSEARCH: &[(&str, Option<Version>, Instead)] = &[
    ("flattened", None, Instead::Type("flat_object")),
    ("wildcard", Some(Version::new(2, 15, 0)), Instead::Type("keyword")),
    ("constant_keyword", Some(Version::new(2, 14, 0)), Instead::Type("keyword")),
    ("match_only_text", Some(Version::new(2, 12, 0)), Instead::Type("text")),
    ("unsigned_long", Some(Version::new(2, 8, 0)), Instead::Type("double")),
    ("point", None, Instead::Type("xy_point")),
    ("shape", None, Instead::Type("xy_shape")),
    ("version", None, Instead::Type("keyword")),
    ("pattern_text", None, Instead::Type("text")),
    ("counted_keyword", None, Instead::Type("keyword")),
    ("dense_vector", None, Instead::NotIndexed),
    ("sparse_vector", None, Instead::NotIndexed),
    ("rank_vectors", None, Instead::NotIndexed),
    ("semantic_text", None, Instead::NotIndexed),
    ("histogram", None, Instead::NotIndexed),
    ("exponential_histogram", None, Instead::NotIndexed),
    ("tdigest", None, Instead::NotIndexed),
    ("aggregate_metric_double", None, Instead::NotIndexed),
    ("passthrough", None, Instead::Type("object")),
];

/// Types of OpenSearch that Elasticsearch does not have, or has under another name.
const OF_OPENSEARCH: &[(&str, Option<Version>, Instead)] = &[
    ("flat_object", None, Instead::Type("flattened")),
    ("xy_point", None, Instead::Type("point")),
    ("xy_shape", None, Instead::Type("shape")),
    ("knn_vector", None, Instead::NotIndexed),
    ("semantic", None, Instead::NotIndexed),
    ("star_tree", None, Instead::NotIndexed),
];

/// Types by the version of Elasticsearch that introduced them, for a copy to an older version.
const SINCE_ELASTICSEARCH: &[(&str, Version)] = &[
    ("wildcard", Version::new(7, 9, 0)),
    ("version", Version::new(7, 10, 0)),
    ("unsigned_long", Version::new(7, 10, 0)),
    ("match_only_text", Version::new(7, 14, 0)),
    ("aggregate_metric_double", Version::new(7, 11, 0)),
    ("sparse_vector", Version::new(8, 11, 0)),
    ("counted_keyword", Version::new(8, 13, 0)),
    ("semantic_text", Version::new(8, 15, 0)),
    ("passthrough", Version::new(8, 15, 0)),
    ("rank_vectors", Version::new(8, 18, 0)),
    ("pattern_text", Version::new(9, 2, 0)),
];

/// Parameters of fields that exist only in Elasticsearch.
const PARAMETERS_OF_ELASTICSEARCH: &[&str] =
    &["time_series_dimension", "time_series_metric", "synthetic_source_keep", "subobjects", "inference_id"];

/// Parameters of fields that stay if the type is replaced.
const PARAMETERS_KEPT: &[&str] = &["type", "fields", "copy_to", "ignore_above", "null_value", "properties", "dynamic"];

/// Converts the mapping of an index of `from` for an index of `to`.
pub fn mapping(mappings: &Value, from: &ClusterInfo, to: &ClusterInfo) -> Copied {
    let mut carry = Copier { from, to, notes: Vec::new() };
    let mut value = mappings.clone();
    history::unmark(&mut value);
    graph::put_back(&mut value);
    if let Some(top) = value.as_object_mut() {
        carry.top(top);
        carry.fields(top, "");
    }
    Copied { value, notes: carry.notes }
}

struct Copier<'a> {
    from: &'a ClusterInfo,
    to: &'a ClusterInfo,
    notes: Vec<String>,
}

impl Copier<'_> {
    fn to_opensearch(&self) -> bool {
        self.to.product == Product::OpenSearch
    }

    fn other_product(&self) -> bool {
        self.from.product != self.to.product && self.to.product != Product::Unknown
    }

    /// Converts the top level, beside the fields.
    fn top(&mut self, top: &mut Map<String, Value>) {
        let old = self.to.version.is_some_and(|version| version < Version::new(7, 11, 0)) && !self.to.serverless;
        if (self.to_opensearch() || old)
            && let Some(Value::Object(runtime)) = top.remove("runtime")
            && !runtime.is_empty()
        {
            let names: Vec<&str> = runtime.keys().map(String::as_str).collect();
            self.note(format!("runtime fields ({}) are left out: {} has none", names.join(", "), self.to));
        }
        if self.to.product == Product::Elasticsearch
            && let Some(derived) = top.remove("derived")
        {
            let names: Vec<&str> = derived.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            self.note(format!("derived fields ({}) are left out: {} has none", names.join(", "), self.to));
        }
        if self.other_product() {
            for key in ["_data_stream_timestamp", "_size", "composite", "_ignored_source"] {
                if top.remove(key).is_some() {
                    self.note(format!("{key} is left out: {} does not support it", self.to));
                }
            }
            if let Some(Value::Object(source)) = top.get_mut("_source")
                && source.remove("mode").is_some()
            {
                self.note("the mode of _source is left out; the target stores each document as it is sent".to_owned());
                if source.is_empty() {
                    top.remove("_source");
                }
            }
        }
    }

    /// Converts the fields of an object, or the subfields of a field.
    fn fields(&mut self, object: &mut Map<String, Value>, path: &str) {
        if self.to_opensearch() && object.get("dynamic") == Some(&json!("runtime")) {
            object.insert("dynamic".into(), json!(true));
            self.note(format!("{}dynamic: runtime is true in the target", prefix(path)));
        }
        for below in ["properties", "fields"] {
            let Some(Value::Object(fields)) = object.get_mut(below) else { continue };
            for (name, field) in fields.iter_mut() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if let Some(field) = field.as_object_mut() {
                    self.field(field, &path);
                    self.fields(field, &path);
                }
            }
        }
    }

    fn field(&mut self, field: &mut Map<String, Value>, path: &str) {
        if self.to_opensearch() {
            for parameter in PARAMETERS_OF_ELASTICSEARCH {
                if field.remove(*parameter).is_some() {
                    self.note(format!("{path}: {parameter} is left out: {} does not support it", self.to));
                }
            }
        }
        let Some(kind) = field.get("type").and_then(Value::as_str).map(str::to_owned) else { return };
        let table = match (self.from.product, self.to.product) {
            (Product::Elasticsearch, Product::OpenSearch) => OF_ELASTICSEARCH,
            (Product::OpenSearch, Product::Elasticsearch) => OF_OPENSEARCH,
            _ => &[],
        };
        if let Some((_, since, instead)) = table.iter().find(|(name, _, _)| *name == kind) {
            let known = since.is_some_and(|since| self.to.version >= Some(since));
            if known {
                return;
            }
            match instead {
                Instead::Type(other) => {
                    field.retain(|parameter, _| PARAMETERS_KEPT.contains(&parameter.as_str()));
                    field.insert("type".into(), json!(other));
                    self.note(format!("{path}: {kind} becomes {other}, the type that {} has", self.to));
                }
                Instead::NotIndexed => self.not_indexed(field, path, &kind),
            }
            return;
        }
        let since = SINCE_ELASTICSEARCH.iter().find(|(name, _)| *name == kind).map(|(_, since)| *since);
        if self.to.product == Product::Elasticsearch
            && !self.to.serverless
            && since.is_some_and(|since| self.to.version.is_some_and(|version| version < since))
        {
            self.not_indexed(field, path, &kind);
        }
    }

    /// Replaces the field by an object that is not indexed. The documents keep it.
    fn not_indexed(&mut self, field: &mut Map<String, Value>, path: &str, kind: &str) {
        field.clear();
        field.insert("type".into(), json!("object"));
        field.insert("enabled".into(), json!(false));
        let hint = match (kind, self.to.product) {
            ("dense_vector", Product::OpenSearch) => "; to search it, declare it as knn_vector with option `mapping`",
            ("knn_vector", Product::Elasticsearch) => {
                "; to search it, declare it as dense_vector with option `mapping`"
            }
            _ => "",
        };
        self.note(format!("{path}: {} has no {kind}, so the field is kept but not indexed{hint}", self.to));
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }
}

fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(product: Product, version: &str) -> ClusterInfo {
        ClusterInfo { product, version: Some(version.parse().unwrap()), ..ClusterInfo::default() }
    }

    fn carried(value: Value, from: &ClusterInfo, to: &ClusterInfo) -> (Value, String) {
        let carried = mapping(&value, from, to);
        (carried.value, carried.notes.join("\n"))
    }

    #[test]
    fn what_both_know_stays_as_it_is() {
        let value = json!({"dynamic": "strict", "_meta": {"a": 1}, "_routing": {"required": true}, "properties": {
            "t": {"type": "text", "analyzer": "x", "fields": {"raw": {"type": "keyword", "ignore_above": 256}}},
            "n": {"type": "nested", "properties": {"d": {"type": "date", "format": "yyyy"}}},
        }});
        for to in [info(Product::OpenSearch, "3.6.0"), info(Product::Elasticsearch, "8.19.21")] {
            let (found, notes) = carried(value.clone(), &info(Product::Elasticsearch, "7.17.29"), &to);
            assert_eq!((found, notes.as_str()), (value.clone(), ""));
        }
    }

    #[test]
    fn what_opensearch_does_not_know_is_named() {
        let value = json!({"runtime": {"r": {"type": "long"}}, "_source": {"mode": "synthetic"}, "properties": {
            "v": {"type": "dense_vector", "dims": 3, "index": true},
            "o": {"properties": {"f": {"type": "flattened", "depth_limit": 5}, "p": {"type": "point"}}},
            "w": {"type": "wildcard", "ignore_above": 10},
            "m": {"type": "long", "time_series_metric": "gauge"},
            "d": {"type": "object", "dynamic": "runtime"},
        }});
        let from = info(Product::Elasticsearch, "8.19.21");
        let (found, notes) = carried(value.clone(), &from, &info(Product::OpenSearch, "2.11.0"));
        let expected = json!({"properties": {
            "v": {"type": "object", "enabled": false},
            "o": {"properties": {"f": {"type": "flat_object"}, "p": {"type": "xy_point"}}},
            "w": {"type": "keyword", "ignore_above": 10},
            "m": {"type": "long"},
            "d": {"type": "object", "dynamic": true},
        }});
        assert_eq!(found, expected);
        for part in [
            "runtime fields (r) are left out: OpenSearch 2.11.0 has none",
            "v: OpenSearch 2.11.0 has no dense_vector, so the field is kept but not indexed; to search it, declare it as knn_vector",
            "o.f: flattened becomes flat_object",
            "w: wildcard becomes keyword",
            "m: time_series_metric is left out",
            "d: dynamic: runtime is true",
            "the mode of _source is left out",
        ] {
            assert!(notes.contains(part), "{part} is not in\n{notes}");
        }
        let (found, _) = carried(value, &from, &info(Product::OpenSearch, "3.6.0"));
        assert_eq!(found["properties"]["w"], json!({"type": "wildcard", "ignore_above": 10}));
    }

    #[test]
    fn the_way_back_and_to_older_versions() {
        let value = json!({"derived": {"d": {"type": "long"}}, "properties": {
            "k": {"type": "knn_vector", "dimension": 3}, "f": {"type": "flat_object"}, "x": {"type": "xy_point"}}});
        let (found, notes) =
            carried(value, &info(Product::OpenSearch, "3.6.0"), &info(Product::Elasticsearch, "8.19.21"));
        let expected = json!({"properties": {
            "k": {"type": "object", "enabled": false}, "f": {"type": "flattened"}, "x": {"type": "point"}}});
        assert_eq!(found, expected);
        assert!(notes.contains("derived fields (d)") && notes.contains("as dense_vector"), "{notes}");

        let value = json!({"properties": {"t": {"type": "match_only_text"}}});
        let to = info(Product::Elasticsearch, "7.10.2");
        let (found, notes) = carried(value, &info(Product::Elasticsearch, "8.19.21"), &to);
        assert_eq!(found, json!({"properties": {"t": {"type": "object", "enabled": false}}}));
        assert!(notes.contains("has no match_only_text"));
    }
}
