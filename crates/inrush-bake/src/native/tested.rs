//! What was compared with the index of a server. Where there is a choice, a server builds the rest.

use inrush_cluster::api::Version;
use inrush_lucene::Product;
use serde_json::{Map, Value};

/// The versions, by major and minor, that random mappings and documents were compared with.
const VERSIONS: [(Product, u32, u32); 4] = [
    (Product::OpenSearch, 2, 19),
    (Product::OpenSearch, 3, 6),
    (Product::Elasticsearch, 8, 19),
    (Product::Elasticsearch, 9, 1),
];

/// Types that are in modules, which the servers for tests are without; the second one is none in
/// OpenSearch.
const TYPES_OF_MODULES: [&str; 2] = ["scaled_float", "unsigned_long"];

/// The first thing that was never compared with the index of such a server.
///
/// # Errors
/// What it is.
pub(super) fn check(
    (product, version): (Product, Version),
    mapping: &Value,
    settings: &Map<String, Value>,
) -> Result<(), String> {
    let never = |what: String| Err(format!("{what} was never tested without a server; option `engine=native` does it"));
    if !VERSIONS.contains(&(product, version.major, version.minor)) {
        return never(format!("a target of the version {version}"));
    }
    let types = match (product, version.major) {
        (Product::OpenSearch, 3..) => return Ok(()),
        (Product::OpenSearch, _) => &TYPES_OF_MODULES[..1],
        (Product::Elasticsearch, _) => &TYPES_OF_MODULES[..],
    };
    if let Some(kind) = types.iter().find(|kind| has_type(mapping, kind)) {
        return never(format!("the type {kind:?} on the version {version}"));
    }
    match settings.iter().find(|(name, value)| !is_tested(name, value)) {
        Some((name, _)) => never(format!("the setting {name} on the version {version}")),
        None => Ok(()),
    }
}

/// Whether a definition, or one below it, has a type.
fn has_type(definition: &Value, kind: &str) -> bool {
    match definition {
        Value::Object(members) => {
            members.iter().any(|(name, value)| name == "type" && value == kind || has_type(value, kind))
        }
        Value::Array(elements) => elements.iter().any(|element| has_type(element, kind)),
        _ => false,
    }
}

/// Whether a setting is none of an analyser, or of one that servers have without modules.
fn is_tested(name: &str, value: &Value) -> bool {
    let Some(path) = name.strip_prefix("index.analysis.") else { return true };
    let mut parts = path.split('.');
    let (Some("analyzer" | "normalizer"), Some(_)) = (parts.next(), parts.next()) else { return false };
    let known: &[&str] = match parts.next() {
        Some("type") => &["custom", "standard"],
        Some("tokenizer") => &["standard"],
        Some("filter") => &["lowercase"],
        _ => return false,
    };
    match value {
        Value::String(text) => known.contains(&text.as_str()),
        Value::Array(texts) => texts.iter().all(|text| text.as_str().is_some_and(|text| known.contains(&text))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_test_has_compared_is_named() {
        let checked = |product, version, mapping: Value, settings: Value| {
            check((product, version), &mapping, settings.as_object().unwrap())
        };
        let (opensearch, elasticsearch) = (Product::OpenSearch, Product::Elasticsearch);
        let of = |kind: &str| json!({"properties": {"type": {"properties": {"f": {"type": kind}}}}});
        let templates = json!({"dynamic_templates": [{"d": {"mapping": {"type": "scaled_float"}}}]});
        let trim = json!({"index.sort.field": "f", "index.analysis.normalizer.own.filter": ["lowercase", "trim"]});
        checked(opensearch, Version::new(3, 6, 1), of("scaled_float"), trim.clone()).unwrap();
        let plain = json!({"index.analysis.analyzer.own.type": "custom", "index.analysis.analyzer.own.tokenizer": "standard",
            "index.analysis.analyzer.own.filter": ["lowercase"]});
        let tested = Version::new(8, 19, 21);
        checked(elasticsearch, tested, of("keyword"), plain).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("unsigned_long"), json!({})).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("flat_object"), json!({})).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("scaled_float"), json!({})).unwrap_err();
        for (version, mapping, settings, expected) in [
            (Version::new(8, 18, 0), of("long"), json!({}), "8.18.0"),
            (tested, of("unsigned_long"), json!({}), "\"unsigned_long\""),
            (tested, templates, json!({}), "\"scaled_float\""),
            (tested, of("long"), trim, "normalizer.own.filter"),
            (tested, of("long"), json!({"index.analysis.filter.f.type": "asciifolding"}), "filter.f.type"),
        ] {
            let why = checked(elasticsearch, version, mapping, settings).unwrap_err();
            assert!(why.contains(expected) && why.contains("option `engine=native`"), "{why}");
        }
    }
}
