//! Copies the ingest pipelines that the documents go through from the target to the builder.

use std::collections::BTreeMap;

use http::Method;
use inrush_cluster::transport::{Transport, path_segment};
use serde_json::{Map, Value};

use crate::config::BakeError;

/// The keys that define a pipeline. Servers return further keys, which they do not accept in a
/// request.
const PARTS: [&str; 5] = ["description", "processors", "on_failure", "version", "_meta"];

/// Copies the pipelines of these names, and the pipelines that they call, from the target to the
/// builder.
///
/// # Errors
/// A pipeline that the builder rejects: it lacks a processor or what the processor needs.
pub(super) async fn copy(target: &Transport, builder: &Transport, names: Vec<String>) -> Result<usize, BakeError> {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    let mut wanted = names;
    while let Some(name) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let path = format!("/_ingest/pipeline/{}", path_segment(&name));
        let body = target.demand(&format!("reading the pipeline {name}"), Method::GET, &path, None).await?;
        let pipeline = body.get(&name).cloned().unwrap_or_default();
        named_in(&pipeline, &mut wanted);
        found.insert(name, pipeline);
    }
    for (name, pipeline) in &found {
        let parts = PARTS.iter().filter_map(|part| Some(((*part).to_owned(), pipeline.get(*part)?.clone())));
        let body = Value::Object(parts.collect::<Map<_, _>>());
        let path = format!("/_ingest/pipeline/{}", path_segment(name));
        let what = format!("copying the target's pipeline {name} to the builder");
        builder.demand(&what, Method::PUT, &path, Some(&body)).await.map_err(|error| {
            BakeError::Refused(format!(
                "{error}: the documents would differ from those that the target makes; name an unpacked server with the target's plugins (option `builder_home`), or load into the target with `inrush load`"
            ))
        })?;
    }
    Ok(found.len())
}

/// The pipelines that processors call.
fn named_in(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("pipeline").and_then(|call| call.get("name")?.as_str()) {
                names.push(name.to_owned());
            }
            fields.values().for_each(|value| named_in(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| named_in(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pipelines_that_are_called_are_found_at_any_depth() {
        let pipeline = json!({"processors": [{"set": {"field": "pipeline", "value": "x"}},
            {"foreach": {"field": "a", "processor": {"pipeline": {"name": "inner"}}, "on_failure": [{"pipeline": {"name": "other"}}]}}]});
        let mut names = Vec::new();
        named_in(&pipeline, &mut names);
        names.sort();
        assert_eq!(names, ["inner", "other"]);
    }
}
