//! Mappings and versions whose native index was compared with a server's. With `engine=auto` a
//! server builds all others.

use inrush_cluster::api::Version;
use inrush_lucene::KnownProduct;
use serde_json::{Map, Value};

/// The versions, by major and minor, that random mappings and documents were compared with.
const VERSIONS: [(KnownProduct, u32, u32); 7] = [
    (KnownProduct::OpenSearch, 2, 19),
    (KnownProduct::OpenSearch, 3, 6),
    (KnownProduct::OpenSearch, 3, 8),
    (KnownProduct::Elasticsearch, 8, 19),
    (KnownProduct::Elasticsearch, 9, 1),
    (KnownProduct::Elasticsearch, 9, 4),
    (KnownProduct::Elasticsearch, 9, 5),
];

/// Types that are in modules, which the servers for tests are without. The last ones are of
/// Elasticsearch only: OpenSearch 2.19 was tested with its module of `join`.
const TYPES_OF_MODULES: [&str; 7] =
    ["scaled_float", "token_count", "rank_feature", "rank_features", "search_as_you_type", "unsigned_long", "join"];

/// Types that were compared on some of the versions only.
const NEWER_TYPES: [&str; 13] = [
    "completion",
    "integer_range",
    "long_range",
    "float_range",
    "double_range",
    "date_range",
    "ip_range",
    "binary",
    "wildcard",
    "search_as_you_type",
    "rank_feature",
    "rank_features",
    "geo_shape",
];

/// The versions on which those were compared.
const VERSIONS_OF_NEWER: [(KnownProduct, u32, u32); 4] = [
    (KnownProduct::OpenSearch, 3, 6),
    (KnownProduct::OpenSearch, 3, 8),
    (KnownProduct::Elasticsearch, 8, 19),
    (KnownProduct::Elasticsearch, 9, 5),
];

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
    let minor = (product, version.major, version.minor);
    if !VERSIONS.contains(&minor) {
        return never(format!("a target of the version {version}"));
    }
    let of_type = |kinds: &[&'static str]| kinds.iter().find(|kind| has_type(mapping, kind)).copied();
    if let Some(kind) = of_type(&NEWER_TYPES).filter(|_| !VERSIONS_OF_NEWER.contains(&minor)) {
        return never(format!("the type {kind:?} on the version {version}"));
    }
    // Too few of them were compared.
    if let Some(field) = copied_into(mapping).find(|field| !has_field(mapping, field)) {
        return never(format!("`copy_to` with the new field {field:?}"));
    }
    // The servers for tests have no plugin; these parts were compared with classes of Lucene only.
    let is_of_plugin = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("icu_"));
    let of_plugin = settings.iter().find(|(name, value)| {
        name.starts_with("index.analysis.")
            && (is_of_plugin(value) || value.as_array().is_some_and(|all| all.iter().any(is_of_plugin)))
    });
    if let Some((name, _)) = of_plugin {
        return never(format!("the part of a plugin in the setting {name}"));
    }
    let types = match (product, version.major) {
        (KnownProduct::OpenSearch, 3..) => return Ok(()),
        (KnownProduct::OpenSearch, _) => &TYPES_OF_MODULES[..5],
        (KnownProduct::Elasticsearch, _) => &TYPES_OF_MODULES[..],
    };
    if let Some(kind) = of_type(types) {
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

/// The fields that others are copied into.
fn copied_into(definition: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match definition {
        Value::Object(members) => Box::new(members.iter().flat_map(|(name, value)| match (name.as_str(), value) {
            ("copy_to", Value::String(field)) => {
                Box::new(std::iter::once(field.as_str())) as Box<dyn Iterator<Item = _>>
            }
            ("copy_to", Value::Array(fields)) => Box::new(fields.iter().filter_map(Value::as_str)),
            _ => copied_into(value),
        })),
        Value::Array(elements) => Box::new(elements.iter().flat_map(copied_into)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether a definition has a field of this path.
fn has_field(definition: &Value, path: &str) -> bool {
    let Some(properties) = definition.get("properties").and_then(Value::as_object) else { return false };
    properties.iter().any(|(name, field)| match path.strip_prefix(name.as_str()) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|rest| has_field(field, rest)),
        None => false,
    })
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
        for kind in ["search_as_you_type", "rank_features", "wildcard", "completion", "ip_range", "geo_shape"] {
            checked(opensearch, Version::new(3, 6, 0), of(kind), json!({})).unwrap();
            checked(opensearch, Version::new(3, 8, 0), of(kind), json!({})).unwrap();
            checked(opensearch, Version::new(2, 19, 6), of(kind), json!({})).unwrap_err();
        }
        checked(elasticsearch, Version::new(9, 5, 3), of("date_range"), json!({})).unwrap();
        let copy = |to: Value| json!({"properties": {"a": {"type": "keyword", "copy_to": to}, "o": {"properties": {"all": {"type": "text"}}}}});
        checked(opensearch, Version::new(3, 6, 0), copy(json!(["a", "o.all"])), json!({})).unwrap();
        for new in [json!("all"), json!(["a", "o.b"])] {
            let why = checked(opensearch, Version::new(3, 6, 0), copy(new), json!({})).unwrap_err();
            assert!(why.contains("`copy_to` with the new field"), "{why}");
        }
        for folding in [
            json!({"index.analysis.filter.f.type": "icu_folding"}),
            json!({"index.analysis.analyzer.a.filter": ["lowercase", "icu_folding"]}),
        ] {
            checked(opensearch, Version::new(3, 6, 0), of("text"), folding).unwrap_err();
        }
        for (version, mapping, settings, expected) in [
            (Version::new(8, 18, 0), of("long"), json!({}), "8.18.0"),
            (tested, of("unsigned_long"), json!({}), "\"unsigned_long\""),
            (tested, of("join"), json!({}), "\"join\""),
            (tested, of("search_as_you_type"), json!({}), "\"search_as_you_type\""),
            (Version::new(9, 1, 5), of("completion"), json!({}), "\"completion\""),
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
