//! What the settings of an index and its server say of all fields.
//!
//! Source: the documentation of `index.mapping.*` and `index.similarity.*` in OpenSearch and
//! Elasticsearch.

use serde_json::{Map, Value};

use crate::analysis::Analysis;
use crate::fields::target::{KnownProduct, ServerVersion, Unsupported};

/// The settings of an index as far as fields are read with them.
#[derive(Debug)]
pub(super) struct IndexSettings {
    pub(super) target: ServerVersion,
    pub(super) analysis: Analysis,
    /// The default of the parameter `coerce`.
    pub(super) coerce: bool,
    /// The default of the parameter `ignore_malformed`.
    pub(super) ignore_malformed: bool,
    /// Names of similarities whose norms are lengths, as those of the default are.
    similarities: Vec<String>,
}

impl IndexSettings {
    /// Takes them from full names with dots, such as `index.mapping.coerce`.
    ///
    /// # Errors
    ///
    /// A value that is no boolean.
    pub(super) fn read(settings: &Map<String, Value>, target: ServerVersion) -> Result<Self, Unsupported> {
        let boolean = |name: &str, default: bool| match settings.get(name) {
            None => Ok(default),
            Some(value) if *value == true || value == "true" => Ok(true),
            Some(value) if *value == false || value == "false" => Ok(false),
            Some(value) => Err(Unsupported { field: String::new(), what: format!("the setting {name} {value}") }),
        };
        let unsupported = |what: &str| Err(Unsupported { field: String::new(), what: format!("the setting {what}") });
        let similarities = similarities(settings);
        // It is the one of all fields that name none.
        let is_default = |name: &String| name.starts_with("index.similarity.default.");
        if settings.keys().any(is_default) && !similarities.iter().any(|name| name == "default") {
            return unsupported("index.similarity.default");
        }
        let ignore_malformed = boolean("index.mapping.ignore_malformed", false)?;
        if ignore_malformed && target.product == KnownProduct::Elasticsearch && !target.ignores_malformed_booleans() {
            return unsupported("index.mapping.ignore_malformed");
        }
        let coerce = boolean("index.mapping.coerce", true)?;
        let analysis = Analysis::of_settings(settings, target.lucene);
        Ok(IndexSettings { target, analysis, coerce, ignore_malformed, similarities })
    }

    /// Whether the norms of a similarity are lengths in this form.
    pub(super) fn has_lengths(&self, similarity: &str) -> bool {
        ["BM25", "boolean"].contains(&similarity) || self.similarities.iter().any(|known| known == similarity)
    }
}

/// Similarities of the type BM25. The parameters `k1` and `b` are those of searches;
/// `discount_overlaps` says which tokens count, and is left to a server.
fn similarities(settings: &Map<String, Value>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for (name, value) in settings {
        let Some((name, parameter)) = name.strip_prefix("index.similarity.").and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        match parameter {
            "type" if value == "BM25" => names.push(name.to_owned()),
            "k1" | "b" => {}
            _ => others.push(name),
        }
    }
    names.retain(|name| !others.contains(&name.as_str()));
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(settings: Value) -> Result<IndexSettings, Unsupported> {
        let target = ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };
        IndexSettings::read(settings.as_object().unwrap(), target)
    }

    #[test]
    fn defaults_of_fields_are_booleans_or_their_text() {
        let found = read(json!({})).unwrap();
        assert_eq!((found.coerce, found.ignore_malformed), (true, false));
        let found = read(json!({"index.mapping.coerce": "false", "index.mapping.ignore_malformed": true})).unwrap();
        assert_eq!((found.coerce, found.ignore_malformed), (false, true));
        let what = read(json!({"index.mapping.coerce": "no"})).unwrap_err().what;
        assert!(what.contains("index.mapping.coerce"), "{what}");
    }

    #[test]
    fn similarities_of_searches_alone_are_known() {
        let settings = json!({
            "index.similarity.flat.type": "BM25", "index.similarity.flat.b": "0",
            "index.similarity.own.type": "BM25", "index.similarity.own.discount_overlaps": false,
            "index.similarity.other.type": "DFR", "index.similarity.other.basic_model": "g",
        });
        let found = read(settings).unwrap();
        for (of, more) in [("DFR", "basic_model"), ("BM25", "discount_overlaps")] {
            let more = format!("index.similarity.default.{more}");
            let what = read(json!({"index.similarity.default.type": of, more: "g"})).unwrap_err().what;
            assert!(what.contains("index.similarity.default"), "{what}");
        }
        read(json!({"index.similarity.default.type": "BM25", "index.similarity.default.b": 0})).unwrap();
        let known = ["BM25", "boolean", "flat", "own", "other", "none"].map(|name| found.has_lengths(name));
        assert_eq!(known, [true, true, true, false, false, false]);
    }
}
