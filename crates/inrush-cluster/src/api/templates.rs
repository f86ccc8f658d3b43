//! The templates and defaults that a cluster applies to a new index, so that the index can be
//! created elsewhere as it would be created there.

use http::Method;
use inrush_core::wildcard;
use serde_json::{Map, Value};

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// What a new index of some name gets before the request that creates it is applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The settings, in any of their forms.
    pub settings: Value,
    /// The body of `mappings`.
    pub mappings: Value,
    /// Aliases by name, with their properties.
    pub aliases: Map<String, Value>,
    /// Number of primary shards that the cluster uses if nothing else says how many. `None` if it
    /// has no default of its own.
    pub shards: Option<u32>,
    /// Number of replicas, likewise.
    pub replicas: Option<u32>,
}

/// What the cluster applies to a new index `name`: its template, and the cluster's default numbers
/// of shards and replicas.
///
/// # Errors
/// [`ClusterError`] if the request fails, or if the user may not read templates: an index created
/// without them would be different.
pub async fn given(transport: &Transport, name: &str) -> Result<Given, ClusterError> {
    let template = of_new_index(transport, name).await?;
    let part = |key: &str| template.get(key).cloned().unwrap_or_default();
    let [shards, replicas] = defaults(transport).await?;
    Ok(Given {
        settings: part("settings"),
        mappings: part("mappings"),
        aliases: part("aliases").as_object().cloned().unwrap_or_default(),
        shards,
        replicas,
    })
}

/// The `settings`, `mappings` and `aliases` that templates give to a new index `name`: those of the
/// composable template with the highest priority, or else of the legacy templates in their order.
///
/// # Errors
/// [`ClusterError`] if a request fails, or if the user may not read templates.
pub(super) async fn of_new_index(transport: &Transport, name: &str) -> Result<Value, ClusterError> {
    let path = format!("/_index_template/_simulate_index/{}", path_segment(name));
    let what = "asking what index templates give";
    // Without a composable template the servers return nothing, or do not find it.
    let simulated = transport.find(what, Method::POST, &path).await?;
    match simulated.and_then(|body| body.get("template").filter(|template| template.is_object()).cloned()) {
        Some(template) => Ok(template),
        None => Ok(legacy(name, &transport.demand(what, Method::GET, "/_template", None).await?)),
    }
}

/// `cluster.default_number_of_*` of OpenSearch. Elasticsearch has none.
async fn defaults(transport: &Transport) -> Result<[Option<u32>; 2], ClusterError> {
    let path = "/_cluster/settings?flat_settings=true&include_defaults=true";
    let body = match transport.demand("reading the cluster's settings", Method::GET, path, None).await {
        Ok(body) => body,
        Err(error) if error.cannot_be_asked() => return Ok([None, None]),
        Err(error) => return Err(error),
    };
    let names = ["cluster.default_number_of_shards", "cluster.default_number_of_replicas"];
    Ok(names.map(|name| {
        let found = ["transient", "persistent", "defaults"].iter().find_map(|scope| body.get(scope)?.get(name));
        found?.as_str()?.parse().ok()
    }))
}

/// The legacy templates that apply, the later ones laid over the earlier ones.
fn legacy(name: &str, body: &Value) -> Value {
    let applies = |template: &&Value| {
        let patterns = template.get("index_patterns").and_then(Value::as_array).into_iter().flatten();
        patterns.filter_map(Value::as_str).any(|pattern| wildcard::matches(pattern, name))
    };
    let mut templates: Vec<&Value> = body.as_object().into_iter().flat_map(Map::values).filter(applies).collect();
    templates.sort_by_key(|template| template.get("order").and_then(Value::as_i64).unwrap_or(0));
    let mut merged = Value::Object(Map::new());
    for template in templates {
        merge(&mut merged, template);
    }
    merged
}

/// Merges `over` into `under`: objects key by key, everything else as a whole.
pub fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// Settings by their full names, from any of their forms.
pub fn flat(settings: &Value) -> Map<String, Value> {
    fn add(name: &str, value: &Value, to: &mut Map<String, Value>) {
        match value {
            Value::Object(inner) => {
                for (key, value) in inner {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    add(&name, value, to);
                }
            }
            value => {
                let name = if name.starts_with("index.") { name.to_owned() } else { format!("index.{name}") };
                to.insert(name, value.clone());
            }
        }
    }
    let mut named = Map::new();
    if settings.is_object() {
        add("", settings, &mut named);
    }
    named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn older_templates_are_laid_over_each_other_in_their_order() {
        let body = json!({
            "b": {"order": 2, "index_patterns": ["lo*"], "settings": {"index": {"number_of_shards": "2"}}, "mappings": {"properties": {"x": {"type": "long"}}}},
            "a": {"order": 1, "index_patterns": ["*"], "settings": {"index": {"number_of_shards": "1", "codec": "best_compression"}},
                "mappings": {"properties": {"y": {"type": "date"}}}},
            "c": {"order": 9, "index_patterns": ["other"], "settings": {"index": {"number_of_shards": "9"}}},
        });
        let merged = legacy("logs", &body);
        assert_eq!(merged["settings"], json!({"index": {"number_of_shards": "2", "codec": "best_compression"}}));
        assert_eq!(merged["mappings"], json!({"properties": {"x": {"type": "long"}, "y": {"type": "date"}}}));
        assert_eq!(legacy("logs", &json!({})), json!({}));
    }
}
