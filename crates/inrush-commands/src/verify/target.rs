//! Resolves the target's name, the way to look documents up by id, and whether their contents can
//! be compared.

use http::Method;
use inrush_cluster::api::ClusterError;
use inrush_cluster::api::lookup::Lookup;
use inrush_cluster::api::source_kept::SourceKept;
use inrush_cluster::transport::{Transport, path_segment};
use serde_json::Value;

/// The index, alias or data stream to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) lookup: Lookup,
    /// The reason that the index does not return documents as they were sent, if there is one.
    pub(super) contents_unlike: Option<String>,
}

/// Resolves the name.
pub(super) async fn resolve(transport: &Transport, name: &str) -> Result<Target, ClusterError> {
    let path = format!(
        "/{}?include_defaults=true&filter_path=*.aliases,*.settings.index.uuid,*.settings.index.*_pipeline,{}",
        path_segment(name),
        SourceKept::PATHS
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
    let contents_unlike = indices.iter().find_map(|(index, body)| unlike(body).map(|why| format!("{index} {why}")));
    Some(Target { lookup, contents_unlike })
}

fn is_filtered(alias: &str, index: &Value) -> bool {
    index.get("aliases").and_then(|aliases| aliases.get(alias)).is_some_and(|alias| alias.get("filter").is_some())
}

/// The reason that the `_source` of an index differs from the documents sent, if there is one.
fn unlike(index: &Value) -> Option<String> {
    if let Some(why) = SourceKept::of(index).why_unlike() {
        return Some(why.to_owned());
    }
    let setting = |path: &str| index.pointer(&format!("/settings/index/{path}")).and_then(Value::as_str);
    let pipeline =
        |name: &str| setting(name).filter(|pipeline| *pipeline != "_none").map(|pipeline| (name.to_owned(), pipeline));
    pipeline("default_pipeline")
        .or_else(|| pipeline("final_pipeline"))
        .map(|(setting, pipeline)| format!("sends documents through a pipeline (index.{setting} {pipeline})"))
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
    fn contents_are_compared_only_where_the_index_keeps_them() {
        let unlike = |body: Value| judge("a", &json!({ "a": body })).unwrap().contents_unlike.unwrap_or_default();
        let settings = |settings: Value| json!({"settings": {"index": settings}});
        assert_eq!(unlike(json!({})), "");
        assert_eq!(unlike(settings(json!({"default_pipeline": "_none", "mode": "standard"}))), "");
        for (body, expected) in [
            (json!({"mappings": {"_source": {"enabled": false}}}), "a keeps no _source"),
            (json!({"mappings": {"_source": {"excludes": ["x"]}}}), "only some fields"),
            (json!({"mappings": {"_source": {"mode": "synthetic"}}}), "synthetic"),
            (settings(json!({"mapping": {"source": {"mode": "synthetic"}}})), "synthetic"),
            (settings(json!({"mode": "logsdb"})), "index.mode logsdb"),
            (settings(json!({"derived_source": {"enabled": "true"}})), "derived source"),
            (settings(json!({"final_pipeline": "p"})), "index.final_pipeline p"),
        ] {
            let why = unlike(body);
            assert!(why.contains(expected), "{why}");
        }
        let stored = settings(json!({"mode": "logsdb", "mapping": {"source": {"mode": "stored"}}}));
        assert_eq!(unlike(stored), "");
    }
}
