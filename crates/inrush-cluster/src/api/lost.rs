//! What an index has that a new one of its name would not have: parts of its mapping and settings.

use http::Method;
use inrush_core::vectors::graph;
use serde_json::{Map, Value};

use super::error::ClusterError;
use super::history;
use super::index::CreateIndex;
use super::templates::flat;
use super::trial;
use crate::transport::{Transport, path_segment};

/// Settings that the servers write into each new index, or that a load changes and restores.
const OF_THE_SERVER: [&str; 10] = [
    "index.uuid",
    "index.creation_date",
    "index.creation_date_string",
    "index.provided_name",
    "index.version.",
    "index.routing.allocation.include._tier_preference",
    "index.replication.type",
    "index.resize.",
    "index.history.uuid",
    "index.verified_before_close",
];

/// The most names that a text lists.
const NAMES_MAX: usize = 5;

/// The parts of an index that a new one does not have, as text. Empty where it would be the same.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn parts(transport: &Transport, name: &str, how: &CreateIndex) -> Result<Vec<String>, ClusterError> {
    let what = format!("looking up {name}");
    let body = transport.demand(&what, Method::GET, &format!("/{}", path_segment(name)), None).await?;
    let Some(old) = body.get(name) else { return Ok(Vec::new()) };
    let new = trial::with_templates(transport, name, how).await;
    Ok(list(old, &new))
}

/// The parts of the index `old` that `new` does not have, as text.
pub(super) fn list(old: &Value, new: &Value) -> Vec<String> {
    let mut old = old.clone();
    if let Some(mapping) = old.get_mut("mappings") {
        history::unmark(mapping);
        graph::put_back(mapping);
    }
    let settings = settings(&old["settings"], &new["settings"]);
    let mapping = mapping(&old["mappings"], &new["mappings"]);
    let listed = |what: &str, names: Vec<String>| {
        let more = if names.len() > NAMES_MAX { ", …" } else { "" };
        let shown = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{what} {shown}{more}"))
    };
    [listed("settings", settings), listed("its mapping of", mapping)].into_iter().flatten().collect()
}

/// The settings that differ, with their old values.
fn settings(old: &Value, new: &Value) -> Vec<String> {
    let (old, new) = (flat(old), flat(new));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_default = |key: &str, value: &str| {
        let one = ["index.number_of_shards", "index.number_of_replicas"].contains(&key) && value == "1";
        one || OF_THE_SERVER.iter().any(|own| key == *own || own.ends_with('.') && key.starts_with(own))
    };
    let kept = |key: &str, value: &str| new.get(key).is_some_and(|new| text(new) == value);
    let lost = old.iter().map(|(key, value)| (key, text(value)));
    let lost = lost.filter(|(key, value)| !is_default(key, value) && !kept(key, value));
    let mut lost: Vec<String> = lost.map(|(key, value)| format!("{key}={value}")).collect();
    lost.sort_unstable();
    lost
}

/// The fields and parameters of a mapping that a new index would not make by itself.
pub(super) fn mapping(old: &Value, new: &Value) -> Vec<String> {
    let mut lost = Vec::new();
    let none = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&none), new.as_object().unwrap_or(&none));
    for (key, value) in old.iter().filter(|(key, _)| *key != "properties") {
        if new.get(key) != Some(value) {
            lost.push(key.clone());
        }
    }
    fields("", old.get("properties"), new.get("properties"), &mut lost);
    lost.sort_unstable();
    lost
}

fn fields(above: &str, old: Option<&Value>, new: Option<&Value>, lost: &mut Vec<String>) {
    for (name, field) in old.and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{above}{name}");
        let made = new.and_then(|new| new.get(name));
        let is_object = field.get("properties").is_some() && field.get("type").is_none();
        if is_object {
            fields(&format!("{path}."), field.get("properties"), made.and_then(|made| made.get("properties")), lost);
        } else if made != Some(field) && (made.is_some() || !is_dynamic(field)) {
            lost.push(path);
        }
    }
}

/// Whether the servers make such a field of a value without a mapping.
fn is_dynamic(field: &Value) -> bool {
    let Some(parameters) = field.as_object() else { return false };
    match field.get("type").and_then(Value::as_str) {
        Some("long" | "float" | "boolean" | "date") => parameters.len() == 1,
        Some("text") => {
            let keyword = field.pointer("/fields/keyword");
            parameters.len() == 2 && keyword == Some(&serde_json::json!({"type": "keyword", "ignore_above": 256}))
        }
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_that_a_new_index_has_as_well_are_not_lost() {
        let old = json!({"index": {
            "uuid": "u", "creation_date": "1", "provided_name": "a", "version": {"created": "1"},
            "number_of_shards": "1", "number_of_replicas": "0", "refresh_interval": "30s", "replication": {"type": "DOCUMENT"},
            "analysis": {"analyzer": {"x": {"type": "stop"}}},
        }});
        assert_eq!(
            settings(&old, &Value::Null),
            ["index.analysis.analyzer.x.type=stop", "index.number_of_replicas=0", "index.refresh_interval=30s"]
        );
        let new = json!({"index.number_of_replicas": 0, "index": {"refresh_interval": "5s"}});
        assert_eq!(settings(&old, &new), ["index.analysis.analyzer.x.type=stop", "index.refresh_interval=30s"]);
    }

    #[test]
    fn fields_that_the_server_makes_by_itself_are_not_lost() {
        let keyword = json!({"type": "keyword", "ignore_above": 256});
        let old = json!({"dynamic": "strict", "properties": {
            "n": {"type": "long"}, "t": {"type": "text", "fields": {"keyword": keyword}}, "k": {"type": "keyword"},
            "o": {"properties": {"p": {"type": "geo_point"}, "f": {"type": "float"}}}, "list": {"type": "nested"},
        }});
        assert_eq!(mapping(&old, &Value::Null), ["dynamic", "k", "list", "o.p"]);
        let new = json!({"dynamic": "strict", "properties": {"n": {"type": "integer"}, "k": {"type": "keyword"},
            "o": {"properties": {"p": {"type": "geo_point"}}}, "list": {"type": "nested"}}});
        assert_eq!(mapping(&old, &new), ["n"]);
        assert!(mapping(&new, &new).is_empty());
    }
}
