//! Resolves the target's name, the way to look documents up by id, and whether their contents can
//! be compared.

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::index_mode::IndexMode;
use inrush_cluster::api::lookup::{self, Lookup};
use inrush_cluster::api::source_kept::{SourceKept, pipeline};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::FieldTypes;
use serde_json::{Map, Value};

use super::rebuilt::Fields;
use super::series::Series;
use super::vectors::Vectors;

/// The index, alias or data stream to compare with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) lookup: Lookup,
    /// What can be compared of the documents.
    pub(super) contents: Contents,
    /// The first of its indices that is a time series.
    pub(super) series: Option<Series>,
    /// The fields of the last of its indices, which a load writes to.
    pub(super) fields: FieldTypes,
}

/// What can be compared of the documents of an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Contents {
    /// The documents as they were sent, but for the forms of vectors, and of numbers in fields of
    /// strings.
    Documents(Vectors, FieldTypes),
    /// The values of their fields: the index makes the documents that it returns of these. The
    /// text says why.
    Values(String, Fields),
    /// Nothing, for this reason.
    Nothing(String),
}

impl Contents {
    /// What to ask for of each document.
    pub(super) fn asked(&self) -> lookup::Contents {
        match self {
            Contents::Documents(vectors, _) if vectors.are_left_out() => lookup::Contents::SourceWithVectors,
            Contents::Documents(..) | Contents::Values(..) => lookup::Contents::Source,
            Contents::Nothing(_) => lookup::Contents::None,
        }
    }
}

/// Resolves the name.
pub(super) async fn resolve(transport: &Transport, name: &str) -> Result<Target, ClusterError> {
    let path = format!(
        "/{}?include_defaults=true&filter_path=*.aliases,*.settings.index.uuid,*.settings.index.*_pipeline,{},{}",
        path_segment(name),
        SourceKept::PATHS,
        IndexMode::PATHS
    );
    let missing = || ClusterError::Target {
        name: name.to_owned(),
        problem: "there is no such index, alias or data stream; check the name".to_owned(),
    };
    match transport.demand(&format!("looking up {name}"), Method::GET, &path, None).await {
        Err(ClusterError::Refused { status: 404, .. }) => Err(missing()),
        Err(error) => Err(error),
        Ok(body) => judge(name, &body).ok_or_else(missing),
    }
}

fn judge(name: &str, body: &Value) -> Option<Target> {
    let indices = body.as_object()?;
    let mut names = indices.iter();
    let lookup = match (names.next(), names.next()) {
        (None, _) => return None,
        (Some((index, body)), None) if index == name || !is_filtered(name, body) => Lookup::Get(index.clone()),
        _ => Lookup::Search(name.to_owned()),
    };
    let mapping = indices.values().next_back().and_then(|body| body.get("mappings"));
    let fields = mapping.map(FieldTypes::of_mapping).unwrap_or_default();
    let contents = contents(indices, &fields);
    let series = indices.iter().find_map(|(name, index)| Series::of(name, index));
    Some(Target { lookup, contents, series, fields })
}

fn is_filtered(alias: &str, index: &Value) -> bool {
    index.get("aliases").and_then(|aliases| aliases.get(alias)).is_some_and(|alias| alias.get("filter").is_some())
}

fn contents(indices: &Map<String, Value>, fields: &FieldTypes) -> Contents {
    let (mut rebuilt, mut left_out) = (None, false);
    for (name, index) in indices {
        let why = match (SourceKept::of(index), pipeline(index)) {
            (SourceKept::Rebuilt(why), None) => {
                rebuilt.get_or_insert_with(|| format!("{name} {why}"));
                continue;
            }
            (SourceKept::WithoutVectors, pipeline) => {
                left_out = true;
                pipeline
            }
            (kept, pipeline) => kept.why_unlike().map(str::to_owned).or(pipeline),
        };
        if let Some(why) = why {
            return Contents::Nothing(format!("{name} {why}"));
        }
    }
    let mappings = indices.values().filter_map(|index| index.get("mappings"));
    match rebuilt {
        Some(why) => Contents::Values(why, Fields::of(mappings)),
        None => Contents::Documents(Vectors::of(mappings, left_out), fields.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_index_is_read_by_id_and_anything_else_searched() {
        let plain = json!({"aliases": {}, "settings": {"index": {"uuid": "u"}}});
        let lookup = |name: &str, body: Value| judge(name, &body).map(|target| target.lookup);
        assert_eq!(lookup("a", json!({})), None);
        assert_eq!(lookup("a", json!({ "a": plain })), Some(Lookup::Get("a".into())));
        assert_eq!(lookup("al", json!({"a": {"aliases": {"al": {}}}})), Some(Lookup::Get("a".into())));
        let filtered = json!({"a": {"aliases": {"al": {"filter": {"match_all": {}}}}}});
        assert_eq!(lookup("al", filtered), Some(Lookup::Search("al".into())));
        assert_eq!(lookup("al", json!({ "a": plain, "b": plain })), Some(Lookup::Search("al".into())));
    }

    #[test]
    fn the_source_is_read_for_the_fields_of_the_index() {
        let body = json!({"a": {"mappings": {"properties": {"b": {"type": "binary"}}}}});
        assert_eq!(judge("a", &body).unwrap().fields.of("b"), Some(inrush_core::FieldType::Binary));
    }

    #[test]
    fn contents_are_compared_only_where_the_index_keeps_them() {
        let unlike = |body: Value| match judge("a", &json!({ "a": body })).unwrap().contents {
            Contents::Documents(..) => String::new(),
            Contents::Values(why, _) => format!("values: {why}"),
            Contents::Nothing(why) => format!("nothing: {why}"),
        };
        let settings = |settings: Value| json!({"settings": {"index": settings}});
        assert_eq!(unlike(json!({})), "");
        assert_eq!(unlike(settings(json!({"default_pipeline": "_none", "mode": "standard"}))), "");
        for (body, expected) in [
            (json!({"mappings": {"_source": {"enabled": false}}}), "nothing: a keeps no _source"),
            (json!({"mappings": {"_source": {"excludes": ["x"]}}}), "nothing: a keeps only some fields"),
            (json!({"mappings": {"_source": {"mode": "synthetic"}}}), "values: a rebuilds"),
            (settings(json!({"mapping": {"source": {"mode": "synthetic"}}})), "synthetic"),
            (
                settings(json!({"mode": "logsdb"})),
                "values: a may rebuild its _source from other data (index.mode logsdb)",
            ),
            (settings(json!({"mode": "logsdb", "default_pipeline": "p"})), "nothing: a may rebuild"),
            (settings(json!({"derived_source": {"enabled": "true"}})), "derived source"),
            (settings(json!({"final_pipeline": "p"})), "index.final_pipeline p"),
        ] {
            let why = unlike(body);
            assert!(why.contains(expected), "{why}");
        }
        let stored = settings(json!({"mode": "logsdb", "mapping": {"source": {"mode": "stored"}}}));
        assert_eq!(unlike(stored), "");
    }

    #[test]
    fn vectors_that_are_left_out_are_asked_for() {
        let asked = |settings: Value| {
            let mappings = json!({"properties": {"v": {"type": "dense_vector"}}});
            let body = json!({"a": {"mappings": mappings, "settings": {"index": settings}}});
            judge("a", &body).unwrap().contents.asked()
        };
        let left_out = json!({"mapping": {"exclude_source_vectors": "true"}});
        assert_eq!(asked(left_out), lookup::Contents::SourceWithVectors);
        assert_eq!(asked(json!({})), lookup::Contents::Source);
        let changed = json!({"mapping": {"exclude_source_vectors": "true"}, "final_pipeline": "p"});
        assert_eq!(asked(changed), lookup::Contents::None);
    }
}
