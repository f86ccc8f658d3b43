//! Whether an index returns documents as they were sent.

use serde_json::Value;

/// What an index returns of the documents that were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKept {
    /// All of it.
    AsSent,
    /// Some fields only. The text says which, after the name of the index.
    InPart(&'static str),
    /// All but the vectors, and those only where they are asked for, as they were rounded.
    WithoutVectors,
    /// The same document in other words: the server makes it of its fields. The text says why,
    /// after the name of the index.
    Rebuilt(String),
    /// Nothing. The text says why, after the name of the index.
    Nothing(&'static str),
}

/// Why documents of an index may differ from those that were sent although it keeps them: by
/// `GET /INDEX`, it sends them through a pipeline. The text follows the name of the index.
pub fn pipeline(index: &Value) -> Option<String> {
    ["default_pipeline", "final_pipeline"].into_iter().find_map(|setting| {
        let name = index.pointer(&format!("/settings/index/{setting}")).and_then(Value::as_str)?;
        (name != "_none").then(|| format!("sends documents through a pipeline (index.{setting} {name})"))
    })
}

impl SourceKept {
    /// What [`SourceKept::of`] looks at, as a `filter_path` of `GET /INDEX?include_defaults=true`.
    pub const PATHS: &str = "*.mappings,*.settings.index.mode,*.settings.index.mapping,*.defaults.index.mapping,\
                             *.settings.index.derived_source";

    /// Judges the answer of a server to `GET /INDEX`. With `include_defaults=true` the server says
    /// itself what a mode of an index means in its version; without it a mode of a name that is not
    /// known counts as one that rebuilds documents.
    pub fn of(index: &Value) -> Self {
        let text = |path: &str| match index.pointer(path)? {
            Value::String(text) => Some(text.to_ascii_lowercase()),
            other => Some(other.to_string()),
        };
        let setting = |name: &str| text(&format!("/settings/index/{name}"));
        let default = |name: &str| text(&format!("/defaults/index/{name}"));
        let is_list = |key: &str| {
            let list = index.pointer(&format!("/mappings/_source/{key}")).and_then(Value::as_array);
            list.is_some_and(|list| !list.is_empty())
        };
        if text("/mappings/_source/enabled").as_deref() == Some("false") {
            return SourceKept::Nothing("keeps no _source (it is disabled in the mapping)");
        }
        let index_mode = setting("mode");
        let mode = setting("mapping/source/mode").or_else(|| text("/mappings/_source/mode"));
        match mode.or_else(|| default("mapping/source/mode")).as_deref() {
            Some("disabled") => return SourceKept::Nothing("keeps no _source (its mode is disabled)"),
            Some("synthetic") => {
                let of = index_mode.map_or_else(|| "synthetic".to_owned(), |mode| format!("index.mode {mode}"));
                return SourceKept::Rebuilt(format!("rebuilds its _source from other data ({of})"));
            }
            Some(_) => {}
            // The server has no such setting: it is older, or was not asked for defaults.
            None => {
                if let Some(mode) = index_mode.filter(|mode| !matches!(mode.as_str(), "standard" | "lookup")) {
                    let why = format!("may rebuild its _source from other data (index.mode {mode})");
                    return SourceKept::Rebuilt(why);
                }
            }
        }
        if setting("derived_source/enabled").as_deref() == Some("true") {
            return SourceKept::Rebuilt("rebuilds its _source from other data (derived source)".to_owned());
        }
        if is_list("includes") || is_list("excludes") {
            return SourceKept::InPart("keeps only some fields in _source (includes or excludes in the mapping)");
        }
        let without_vectors =
            setting("mapping/exclude_source_vectors").or_else(|| default("mapping/exclude_source_vectors"));
        if without_vectors.as_deref() == Some("true") && index.get("mappings").is_some_and(has_vectors) {
            return SourceKept::WithoutVectors;
        }
        SourceKept::AsSent
    }

    /// Why documents of the index cannot be compared with those that were sent, after its name.
    pub fn why_unlike(&self) -> Option<&str> {
        match self {
            SourceKept::AsSent => None,
            SourceKept::InPart(why) | SourceKept::Nothing(why) => Some(why),
            SourceKept::WithoutVectors => {
                Some("returns _source without vectors (index.mapping.exclude_source_vectors)")
            }
            SourceKept::Rebuilt(why) => Some(why),
        }
    }
}

/// Whether a mapping has a field whose values Elasticsearch 9.2 and newer leave out.
fn has_vectors(mapping: &Value) -> bool {
    match mapping {
        Value::Object(keys) => {
            let kind = keys.get("type").and_then(Value::as_str);
            matches!(kind, Some("dense_vector" | "sparse_vector" | "rank_vectors")) || keys.values().any(has_vectors)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_server_says_what_a_mode_means() {
        let of = |mode: &str, source: &str| {
            SourceKept::of(&json!({"settings": {"index": {"mode": mode}},
                "defaults": {"index": {"mapping": {"source": {"mode": source}}}}}))
        };
        for mode in ["logsdb", "time_series", "columnar", "logsdb_columnar", "a_mode_of_tomorrow"] {
            let SourceKept::Rebuilt(why) = of(mode, "SYNTHETIC") else { panic!("{mode}") };
            assert!(why.contains(&format!("index.mode {mode}")), "{why}");
        }
        for mode in ["standard", "lookup", "vectordb_document", "logsdb"] {
            assert_eq!(of(mode, "STORED"), SourceKept::AsSent, "{mode}");
        }
    }

    #[test]
    fn what_a_user_set_counts_before_the_default() {
        let of = |mappings: Value, settings: Value| {
            SourceKept::of(&json!({"mappings": mappings, "settings": {"index": settings},
                "defaults": {"index": {"mapping": {"source": {"mode": "STORED"}}}}}))
        };
        assert!(matches!(of(json!({"_source": {"mode": "synthetic"}}), json!({})), SourceKept::Rebuilt(_)));
        let set = json!({"mapping": {"source": {"mode": "synthetic"}}});
        assert!(matches!(of(json!({}), set), SourceKept::Rebuilt(_)));
        assert!(matches!(of(json!({}), json!({"derived_source": {"enabled": true}})), SourceKept::Rebuilt(_)));
        let stored = json!({"mode": "logsdb", "mapping": {"source": {"mode": "stored"}}});
        assert_eq!(of(json!({}), stored), SourceKept::AsSent);
        let disabled = json!({"mapping": {"source": {"mode": "disabled"}}});
        assert!(matches!(of(json!({}), disabled), SourceKept::Nothing(_)));
        for enabled in [json!(false), json!("false")] {
            assert!(matches!(of(json!({"_source": {"enabled": enabled}}), json!({})), SourceKept::Nothing(_)));
        }
        assert!(matches!(of(json!({"_source": {"excludes": ["x"]}}), json!({})), SourceKept::InPart(_)));
        let vectors = json!({"properties": {"a": {"properties": {"v": {"type": "dense_vector"}}}}});
        let left_out = json!({"mapping": {"exclude_source_vectors": "true"}});
        assert_eq!(of(vectors.clone(), left_out.clone()), SourceKept::WithoutVectors);
        assert_eq!(of(vectors, json!({})), SourceKept::AsSent);
        assert_eq!(of(json!({"properties": {"n": {"type": "long"}}}), left_out), SourceKept::AsSent);
    }

    #[test]
    fn an_older_server_has_no_default() {
        let of = |mode: &str| SourceKept::of(&json!({"settings": {"index": {"mode": mode}}}));
        assert!(matches!(of("time_series"), SourceKept::Rebuilt(why) if why.starts_with("may rebuild")));
        assert_eq!(of("standard"), SourceKept::AsSent);
        assert_eq!(SourceKept::of(&json!({"settings": {"index": {}}})), SourceKept::AsSent);
    }
}
