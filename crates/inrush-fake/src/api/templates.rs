//! Index templates and ingest pipelines.

use serde_json::{Map, Value, json};

use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::{Cluster, Mapping, Pipeline, Settings, nest};
use crate::pattern;

/// `PUT`, `GET` and `DELETE` of `_index_template/{name}`.
pub(super) fn template(
    cluster: &mut Cluster,
    method: &str,
    name: &str,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let missing =
        || ServerError::new(404, "resource_not_found_exception", format!("index template matching [{name}] not found"));
    match method {
        "PUT" | "POST" => {
            cluster.templates.insert(name.to_owned(), request.json()?);
            Ok(ApiReply::acknowledged())
        }
        "DELETE" => cluster.templates.remove(name).map(|_| ApiReply::acknowledged()).ok_or_else(missing),
        _ => {
            let found: Vec<Value> = cluster
                .templates
                .iter()
                .filter(|(one, _)| pattern::matches(name, one))
                .map(|(one, body)| json!({"name": one, "index_template": body}))
                .collect();
            if found.is_empty() && !name.contains('*') {
                return Err(missing());
            }
            Ok(ApiReply::ok(json!({"index_templates": found})))
        }
    }
}

/// `GET _template`: all legacy templates.
pub(super) fn legacy(cluster: &Cluster) -> ApiReply {
    let shown = cluster.legacy_templates.iter().map(|(name, body)| {
        let part = |key: &str| body.get(key).cloned().unwrap_or(json!({}));
        let settings = nest(Settings::parse(&part("settings")).iter());
        let order = body.get("order").cloned().unwrap_or(json!(0));
        let (patterns, mappings, aliases) = (part("index_patterns"), part("mappings"), part("aliases"));
        let shown = json!({"order": order, "index_patterns": patterns, "settings": settings, "mappings": mappings, "aliases": aliases});
        (name.clone(), shown)
    });
    ApiReply::ok(Value::Object(shown.collect()))
}

/// `PUT _template/{name}`.
pub(super) fn put_legacy(cluster: &mut Cluster, name: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    cluster.legacy_templates.insert(name.to_owned(), request.json()?);
    Ok(ApiReply::acknowledged())
}

/// `DELETE _template/{name}`.
pub(super) fn delete_legacy(cluster: &mut Cluster, name: &str) -> Result<ApiReply, ServerError> {
    match cluster.legacy_templates.remove(name) {
        Some(_) => Ok(ApiReply::acknowledged()),
        None => {
            Err(ServerError::new(404, "index_template_missing_exception", format!("index_template [{name}] missing")))
        }
    }
}

/// `POST _index_template/_simulate_index/{name}`: settings, mapping and aliases of a new index of
/// this name, or nothing without a template for it. Legacy templates do not count.
/// A template in the body is checked, and replaces the templates of the cluster.
pub(super) fn simulate_index(cluster: &Cluster, name: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let given = if request.body.is_empty() { None } else { request.json()?.get("template").cloned() };
    if let Some(template) = &given {
        check_template(cluster, template)?;
    }
    let of_cluster = || cluster.template_for(name).map(|(_, body)| body.get("template").cloned().unwrap_or_default());
    let Some(template) = given.or_else(of_cluster) else { return Ok(ApiReply::ok(json!({}))) };
    let part = |key: &str| template.get(key).cloned().unwrap_or(json!({}));
    let settings = nest(Settings::parse(&part("settings")).iter());
    let simulated = json!({"settings": settings, "mappings": part("mappings"), "aliases": part("aliases")});
    Ok(ApiReply::ok(json!({"template": simulated, "overlapping": []})))
}

/// Checks the settings and the mapping of a template, each by itself, as the servers do.
fn check_template(cluster: &Cluster, template: &Value) -> Result<(), ServerError> {
    let part = |key: &str| template.get(key).cloned().unwrap_or(json!({}));
    Settings::default().create(&cluster.flavor, Settings::parse(&part("settings")))?;
    match Mapping::new(&part("mappings")) {
        Ok(_) => Ok(()),
        Err(error) => Err(ServerError::illegal_argument(
            "composable template [simulate_index_template] template after composition is invalid",
        )
        .caused_by(&error.kind, error.reason)),
    }
}

/// `GET _ingest/pipeline/{name}`.
pub(super) fn pipelines(cluster: &Cluster, expression: &str) -> ApiReply {
    let found: Map<String, Value> = cluster
        .pipelines
        .iter()
        .filter(|(name, _)| expression.split(',').any(|one| pattern::matches(one, name)))
        .map(|(name, pipeline)| (name.clone(), pipeline.body.clone()))
        .collect();
    let status = if found.is_empty() && !expression.contains('*') { 404 } else { 200 };
    ApiReply { status, body: Value::Object(found) }
}

/// `PUT _ingest/pipeline/{name}`.
pub(super) fn put_pipeline(cluster: &mut Cluster, name: &str, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let pipeline = Pipeline::parse(&request.json()?, &cluster.flavor)?;
    cluster.pipelines.insert(name.to_owned(), pipeline);
    Ok(ApiReply::acknowledged())
}

/// `DELETE _ingest/pipeline/{name}`.
pub(super) fn delete_pipeline(cluster: &mut Cluster, name: &str) -> Result<ApiReply, ServerError> {
    match cluster.pipelines.remove(name) {
        Some(_) => Ok(ApiReply::acknowledged()),
        None => Err(ServerError::new(404, "resource_not_found_exception", format!("pipeline [{name}] is missing"))),
    }
}
