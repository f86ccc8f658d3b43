//! The lookup of a source: the indices behind its name, their shards, and their properties.

use http::Method;
use inrush_cluster::api::source_kept::SourceKept;
use inrush_cluster::api::{ClusterError, guarded, sequence_numbers};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::wildcard;
use serde_json::{Value, json};

/// The servers' default of `index.max_result_window`.
const RESULT_WINDOW_DEFAULT: usize = 10_000;

/// An index to read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) name: String,
    /// UUID, which tells it from a later index of the same name.
    pub(super) uuid: String,
    pub(super) shards: u32,
    /// Largest number of documents in one reply.
    pub(super) window_max: usize,
    pub(super) mappings: Value,
    pub(super) settings: Value,
    /// The names of its aliases.
    pub(super) aliases: Vec<String>,
    /// Filter of the alias that the index is read through.
    pub(super) filter: Option<Value>,
    /// Why documents differ from those that were once sent, where they do.
    pub(super) changed_source: Option<&'static str>,
}

/// The indices of `expression`, by name.
///
/// # Errors
/// The request failed, `expression` names no index, or one of them is closed, keeps no `_source` or
/// no sequence numbers, or is read through an alias with a routing.
pub(super) async fn find(transport: &Transport, expression: &str) -> Result<Vec<Found>, ClusterError> {
    let what = format!("looking up {expression}");
    // The defaults of a server say what a mode of an index means.
    let path = format!(
        "/{}?include_defaults=true&filter_path=*.aliases,*.mappings,*.settings,*.defaults.index.mapping,{}",
        path_segment(expression),
        sequence_numbers::PATHS
    );
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    let indices = body.as_object().into_iter().flatten();
    let mut found: Vec<Found> = indices.map(|(name, body)| one(expression, name, body)).collect::<Result<_, _>>()?;
    if found.is_empty() {
        let problem =
            "it matches no index; give the name of an existing index, or a pattern that matches one".to_owned();
        return Err(ClusterError::Target { name: expression.to_owned(), problem });
    }
    let mut settings: Vec<_> = found.iter_mut().map(|index| (index.uuid.as_str(), &mut index.settings)).collect();
    guarded::original(transport, &mut settings).await;
    Ok(found)
}

fn one(expression: &str, name: &str, body: &Value) -> Result<Found, ClusterError> {
    let wrong = |problem: &str| ClusterError::Target { name: name.to_owned(), problem: problem.to_owned() };
    let setting = |path: &str| {
        let value = body.pointer(&format!("/settings/index/{path}"))?;
        value.as_str().map(str::to_owned).or_else(|| Some(value.to_string()))
    };
    let uuid = setting("uuid").ok_or_else(|| ClusterError::Reply {
        what: format!("looking up {name}"),
        problem: "no settings.index.uuid in the answer".to_owned(),
    })?;
    if setting("verified_before_close").as_deref() == Some("true") {
        return Err(wrong("it is closed; open it with POST /_open, or leave it out"));
    }
    if let Some(why) = sequence_numbers::missing(body) {
        let problem = format!("it {why}, by which documents are read; load them from their original source");
        return Err(wrong(&problem));
    }
    let mappings = body.get("mappings").cloned().unwrap_or_else(|| json!({}));
    let changed_source = match SourceKept::of(body) {
        // Pages ask for vectors.
        SourceKept::AsSent | SourceKept::WithoutVectors => None,
        SourceKept::Nothing(why) => {
            let problem = format!("it {why}, so its documents cannot be read; load them from their original source");
            return Err(wrong(&problem));
        }
        SourceKept::Rebuilt(_) => Some(
            "its _source is synthetic: the server rebuilds each document from its fields, so the order of fields, the spelling of numbers and duplicates in arrays may differ from the document that was sent",
        ),
        SourceKept::InPart(_) => Some(
            "its mapping leaves fields out of _source (includes or excludes), so these fields are missing in the documents",
        ),
    };
    Ok(Found {
        name: name.to_owned(),
        uuid,
        shards: setting("number_of_shards").and_then(|n| n.parse().ok()).unwrap_or(1),
        window_max: setting("max_result_window").and_then(|n| n.parse().ok()).unwrap_or(RESULT_WINDOW_DEFAULT).max(1),
        mappings,
        settings: body.get("settings").cloned().unwrap_or_else(|| json!({})),
        aliases: body
            .get("aliases")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect(),
        filter: filter(expression, name, body).map_err(wrong)?,
        changed_source,
    })
}

/// The filter of the aliases in `expression` that name the index. `None` where it names the index
/// itself.
fn filter(expression: &str, name: &str, body: &Value) -> Result<Option<Value>, &'static str> {
    let named = |name: &str| expression.split(',').any(|part| wildcard::matches(part, name));
    if named(name) {
        return Ok(None);
    }
    let aliases = body.get("aliases").and_then(Value::as_object).into_iter().flatten();
    let aliases: Vec<&Value> = aliases.filter(|(alias, _)| named(alias)).map(|(_, alias)| alias).collect();
    if aliases.iter().any(|alias| alias.get("search_routing").is_some()) {
        return Err(
            "it is read through an alias with a search routing, which hides documents; give the name of the index itself",
        );
    }
    let filters: Vec<Value> = aliases.iter().filter_map(|alias| alias.get("filter").cloned()).collect();
    Ok(match filters.len() {
        0 => None,
        // An alias without a filter shows all documents.
        n if n < aliases.len() => None,
        _ => Some(json!({"bool": {"should": filters, "minimum_should_match": 1}})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(mappings: Value, more: Value) -> Value {
        let mut settings = json!({"uuid": "u", "number_of_shards": "3"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"mappings": mappings, "settings": {"index": settings}, "aliases": {"all": {}, "red": {"filter": {"term": {"c": "red"}}}}})
    }

    #[test]
    fn an_index_is_known_before_it_is_read() {
        let found = one("a", "a", &index(json!({"properties": {}}), json!({"max_result_window": "500"}))).unwrap();
        assert_eq!((found.shards, found.window_max, found.filter, found.changed_source), (3, 500, None, None));
        let filter = |expression: &str| one(expression, "a", &index(json!({}), json!({}))).unwrap().filter;
        assert_eq!(filter("a,red"), None);
        assert_eq!(filter("all,red"), None);
        assert!(filter("red").unwrap()["bool"]["should"][0]["term"]["c"] == "red");
    }

    #[test]
    fn a_source_that_is_not_kept_is_named() {
        let note = |mappings: Value, settings: Value| match one("a", "a", &index(mappings, settings)) {
            Ok(found) => found.changed_source.unwrap_or("as it was sent").to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(note(json!({"_source": {"enabled": false}}), json!({})).starts_with("a: it keeps no _source"));
        assert!(note(json!({}), json!({"mapping": {"source": {"mode": "disabled"}}})).contains("keeps no _source"));
        assert!(note(json!({"_source": {"mode": "synthetic"}}), json!({})).contains("synthetic"));
        for mode in ["logsdb", "time_series", "columnar", "logsdb_columnar"] {
            assert!(note(json!({}), json!({ "mode": mode })).contains("synthetic"), "{mode}");
        }
        assert!(note(json!({}), json!({"derived_source": {"enabled": "true"}})).contains("synthetic"));
        assert_eq!(
            note(json!({}), json!({"mode": "logsdb", "mapping": {"source": {"mode": "stored"}}})),
            "as it was sent"
        );
        assert!(note(json!({"_source": {"excludes": ["x"]}}), json!({})).contains("leaves fields out"));
        assert!(note(json!({}), json!({"verified_before_close": "true"})).contains("closed"));
    }
}
