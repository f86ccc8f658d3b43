//! Converts index settings from one product and version to another.

use inrush_cluster::api::{ClusterInfo, Product};
use serde_json::{Map, Value};

use super::Copied;

/// Settings that only servers set, left out without a note. The names lack `index.`. A name that
/// ends in a dot covers all settings below it.
const PRIVATE: &[&str] = &[
    "uuid",
    "creation_date",
    "creation_date_string",
    "provided_name",
    "version.",
    "resize.",
    "shrink.",
    "history.",
    "verified_before_close",
    "routing.allocation.initial_recovery.",
    "replication.type",
    "blocks.",
    "store.snapshot.",
    "transport_version.",
];

/// Settings that refer to the cluster, its nodes, policies and pipelines, with the reason in the
/// note.
const OF_THE_CLUSTER: &[(&str, &str)] = &[
    ("routing.allocation.", "names nodes of that cluster"),
    ("lifecycle.", "names a policy of that cluster"),
    ("plugins.", "belongs to a plugin"),
    ("opendistro.", "belongs to a plugin"),
    ("default_pipeline", "names a pipeline, which the documents have passed already"),
    ("final_pipeline", "names a pipeline, which the documents have passed already"),
    ("search.default.pipeline", "names a pipeline of that cluster"),
    ("xpack.", "belongs to that cluster"),
];

/// Settings that both products support since Elasticsearch 7.10.
const OF_BOTH: &[&str] = &[
    "number_of_shards",
    "number_of_replicas",
    "number_of_routing_shards",
    "routing_partition_size",
    "auto_expand_replicas",
    "refresh_interval",
    "analysis.",
    "similarity.",
    "sort.",
    "hidden",
    "priority",
    "gc_deletes",
    "max_result_window",
    "max_inner_result_window",
    "max_rescore_window",
    "max_docvalue_fields_search",
    "max_script_fields",
    "max_ngram_diff",
    "max_shingle_diff",
    "max_refresh_listeners",
    "max_slices_per_scroll",
    "max_terms_count",
    "max_regex_length",
    "max_adjacency_matrix_filters",
    "analyze.max_token_count",
    "highlight.max_analyzed_offset",
    "query.default_field",
    "mapping.coerce",
    "mapping.ignore_malformed",
    "mapping.total_fields.limit",
    "mapping.depth.limit",
    "mapping.nested_fields.limit",
    "mapping.nested_objects.limit",
    "mapping.field_name_length.limit",
    "translog.",
    "merge.",
    "search.slowlog.",
    "indexing.slowlog.",
    "search.idle.after",
    "requests.cache.enable",
    "unassigned.node_left.delayed_timeout",
    "load_fixed_bitset_filters_eagerly",
];

/// Converts the settings of an index of `from` for an index of `to`: flat, with their prefix
/// `index.`.
pub fn settings(settings: &Value, from: &ClusterInfo, to: &ClusterInfo) -> Copied {
    let mut flat = Vec::new();
    flatten(settings.get("index").unwrap_or(settings), "", &mut flat);
    let same_product = from.product == to.product;
    let older = same_product && to.version.map(|v| v.major) < from.version.map(|v| v.major);
    let mut kept = Map::new();
    let mut notes = Vec::new();
    for (name, value) in flat {
        if PRIVATE.iter().any(|pattern| is(pattern, &name)) {
            continue;
        }
        if let Some((_, why)) = OF_THE_CLUSTER.iter().find(|(pattern, _)| is(pattern, &name)) {
            // Elasticsearch sets this on every index.
            if name != "routing.allocation.include._tier_preference" {
                notes.push(format!("index.{name} is left out: it {why}"));
            }
            continue;
        }
        let codec =
            name == "codec" && value.as_str().is_some_and(|codec| ["default", "best_compression"].contains(&codec));
        let known = same_product && !older || codec || OF_BOTH.iter().any(|pattern| is(pattern, &name));
        match known && to.product != Product::Unknown {
            true => drop(kept.insert(format!("index.{name}"), value)),
            false => notes.push(format!("index.{name} is left out: {to} may not support it")),
        }
    }
    Copied { value: Value::Object(kept), notes }
}

fn is(pattern: &str, name: &str) -> bool {
    if pattern.ends_with('.') { name.starts_with(pattern) } else { name == pattern }
}

fn flatten(value: &Value, path: &str, flat: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(below) => {
            for (key, value) in below {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(value, &path, flat);
            }
        }
        other => flat.push((path.to_owned(), other.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn info(product: Product, version: &str) -> ClusterInfo {
        ClusterInfo { product, version: Some(version.parse().unwrap()), ..ClusterInfo::default() }
    }

    #[test]
    fn an_indexs_own_settings_go_along() {
        let value = json!({"index": {
            "uuid": "u", "creation_date": "1", "provided_name": "a", "version": {"created": "7"}, "blocks": {"write": "true"},
            "number_of_shards": "3", "refresh_interval": "30s", "codec": "best_compression",
            "analysis": {"analyzer": {"a": {"type": "custom", "filter": ["lowercase"]}}},
            "lifecycle": {"name": "p"}, "default_pipeline": "d", "mode": "logsdb",
            "routing": {"allocation": {"include": {"_tier_preference": "data_content"}, "require": {"box": "hot"}}},
        }});
        let carried = settings(&value, &info(Product::Elasticsearch, "8.19.21"), &info(Product::OpenSearch, "3.6.0"));
        let expected = json!({
            "index.number_of_shards": "3", "index.refresh_interval": "30s", "index.codec": "best_compression",
            "index.analysis.analyzer.a.type": "custom", "index.analysis.analyzer.a.filter": ["lowercase"],
        });
        assert_eq!(carried.value, expected);
        let notes = carried.notes.join("\n");
        assert_eq!(carried.notes.len(), 4, "{notes}");
        for part in
            ["index.lifecycle.name", "index.default_pipeline", "index.mode", "index.routing.allocation.require.box"]
        {
            assert!(notes.contains(part), "{notes}");
        }
    }

    #[test]
    fn the_same_product_knows_what_it_had() {
        let value = json!({"index": {"mode": "standard", "knn": "true"}});
        let of = |from: &str, to: &str| {
            settings(&value, &info(Product::OpenSearch, from), &info(Product::OpenSearch, to)).notes.len()
        };
        assert_eq!((of("2.19.6", "3.6.0"), of("3.6.0", "2.19.6")), (0, 2));
    }
}
