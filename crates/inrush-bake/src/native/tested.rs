//! Mappings and versions whose native index was compared with a server's. With `engine=auto` a
//! server builds all others.

use inrush_cluster::api::Version;
use inrush_lucene::KnownProduct;
use serde_json::{Map, Value};

/// The versions, by major and minor, that random mappings and documents were compared with.
const VERSIONS: [(KnownProduct, u32, u32); 6] = [
    (KnownProduct::OpenSearch, 2, 19),
    (KnownProduct::OpenSearch, 3, 6),
    (KnownProduct::OpenSearch, 3, 8),
    (KnownProduct::Elasticsearch, 8, 19),
    (KnownProduct::Elasticsearch, 9, 1),
    (KnownProduct::Elasticsearch, 9, 5),
];

/// Types that are in modules, which the servers for tests are without. The last two are of
/// Elasticsearch only: OpenSearch 2.19 was tested with its module of `join`.
const TYPES_OF_MODULES: [&str; 4] = ["scaled_float", "token_count", "unsigned_long", "join"];

/// Analysers that are in a module, too.
const ANALYZERS_OF_MODULES: [&str; 7] = ["english", "french", "german", "italian", "pattern", "spanish", "stop"];

/// The first thing that was never compared with the index of such a server.
///
/// # Errors
/// The part that was not compared.
pub(super) fn check(
    (product, version): (KnownProduct, Version),
    mapping: &Value,
    settings: &Map<String, Value>,
) -> Result<(), String> {
    let never = |what: String| Err(format!("{what} was never tested without a server; option `engine=native` does it"));
    if !VERSIONS.contains(&(product, version.major, version.minor)) {
        return never(format!("a target of the version {version}"));
    }
    let types = match (product, version.major) {
        (KnownProduct::OpenSearch, 3..) => return Ok(()),
        (KnownProduct::OpenSearch, _) => &TYPES_OF_MODULES[..2],
        (KnownProduct::Elasticsearch, _) => &TYPES_OF_MODULES[..],
    };
    if let Some(kind) = types.iter().find(|kind| has_type(mapping, kind)) {
        return never(format!("the type {kind:?} on the version {version}"));
    }
    let is_defined = |name: &str| {
        let start = format!("index.analysis.analyzer.{name}.");
        settings.keys().any(|setting| setting.starts_with(&start))
    };
    if let Some(name) = ANALYZERS_OF_MODULES.iter().find(|name| !is_defined(name) && has_analyzer(mapping, name)) {
        return never(format!("the analyser {name:?} on the version {version}"));
    }
    match settings.iter().find(|(name, value)| !is_tested(name, value)) {
        Some((name, _)) => never(format!("the setting {name} on the version {version}")),
        None => Ok(()),
    }
}

/// Whether a definition, or one below it, has a type.
fn has_type(definition: &Value, kind: &str) -> bool {
    has(definition, "type", kind)
}

/// Whether a field of a mapping has an analyser.
fn has_analyzer(mapping: &Value, analyzer: &str) -> bool {
    has(mapping, "analyzer", analyzer)
}

/// Whether a definition, or one below it, has a parameter with a value.
fn has(definition: &Value, parameter: &str, expected: &str) -> bool {
    match definition {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name == parameter && value == expected || has(value, parameter, expected)),
        Value::Array(elements) => elements.iter().any(|element| has(element, parameter, expected)),
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
        let (opensearch, elasticsearch) = (KnownProduct::OpenSearch, KnownProduct::Elasticsearch);
        let of = |kind: &str| json!({"properties": {"type": {"properties": {"f": {"type": kind}}}}});
        let templates = json!({"dynamic_templates": [{"d": {"mapping": {"type": "scaled_float"}}}]});
        let trim = json!({"index.sort.field": "f", "index.analysis.normalizer.own.filter": ["lowercase", "trim"]});
        checked(opensearch, Version::new(3, 6, 1), of("scaled_float"), trim.clone()).unwrap();
        let plain = json!({"index.analysis.analyzer.own.type": "custom", "index.analysis.analyzer.own.tokenizer": "standard",
            "index.analysis.analyzer.own.filter": ["lowercase"]});
        let tested = Version::new(8, 19, 21);
        checked(elasticsearch, tested, of("keyword"), plain).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("unsigned_long"), json!({})).unwrap();
        let english = json!({"properties": {"t": {"type": "text", "analyzer": "english"}}});
        checked(opensearch, Version::new(3, 6, 0), english.clone(), json!({})).unwrap();
        let own = json!({"index.analysis.analyzer.english.type": "standard"});
        checked(opensearch, Version::new(2, 19, 6), english.clone(), own).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("flat_object"), json!({})).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("join"), json!({})).unwrap();
        checked(opensearch, Version::new(2, 19, 6), of("scaled_float"), json!({})).unwrap_err();
        for (version, mapping, settings, expected) in [
            (Version::new(8, 18, 0), of("long"), json!({}), "8.18.0"),
            (tested, of("unsigned_long"), json!({}), "\"unsigned_long\""),
            (tested, of("join"), json!({}), "\"join\""),
            (tested, templates, json!({}), "\"scaled_float\""),
            (tested, english, json!({}), "the analyser \"english\""),
            (tested, of("long"), trim, "normalizer.own.filter"),
            (tested, of("long"), json!({"index.analysis.filter.f.type": "asciifolding"}), "filter.f.type"),
        ] {
            let why = checked(elasticsearch, version, mapping, settings).unwrap_err();
            assert!(why.contains(expected) && why.contains("option `engine=native`"), "{why}");
        }
    }
}
