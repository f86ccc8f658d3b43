//! Endpoints about indices, aliases, templates, data streams and pipelines.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{ApiReply, ApiRequest, by_index, expand};
use crate::error::EsError;
use crate::mapping::Mapping;
use crate::model::Cluster;
use crate::pattern;
use crate::pipeline::Pipeline;
use crate::settings::{Settings, nest};

pub(super) fn get(cluster: &Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    Ok(ApiReply::ok(by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let mut shown = json!({
            "aliases": index.aliases,
            "mappings": index.mapping.to_value(),
            "settings": index.settings.show(request.flag("flat_settings"), None),
        });
        if request.flag("include_defaults") {
            shown["defaults"] = index.settings.show_defaults(&cluster.flavor, request.flag("flat_settings"));
        }
        if let Some((stream, _)) =
            cluster.data_streams.iter().find(|(_, stream)| stream.indices.iter().any(|one| one == name))
        {
            shown["data_stream"] = json!(stream);
        }
        Some(shown)
    })))
}

pub(super) fn delete(cluster: &mut Cluster, expression: &str) -> Result<ApiReply, EsError> {
    for part in expression.split(',') {
        // Neither aliases nor data streams can be deleted as if they were indices.
        if cluster.has_alias(part) {
            return Err(EsError::illegal_argument(format!(
                "The provided expression [{part}] matches an alias, specify the corresponding concrete indices instead."
            )));
        }
        if cluster.data_streams.contains_key(part) {
            return Err(EsError::index_not_found(part, "index_or_alias"));
        }
    }
    for name in expand(cluster, expression)? {
        cluster.indices.remove(&name);
    }
    Ok(ApiReply::acknowledged())
}

pub(super) fn settings(
    cluster: &Cluster,
    expression: &str,
    names: Option<&str>,
    request: &ApiRequest,
) -> Result<ApiReply, EsError> {
    let indices = expand(cluster, expression)?;
    check_metadata(cluster, &indices, false)?;
    let flat = request.flag("flat_settings");
    let wanted: Option<Vec<&str>> = names.map(|names| names.split(',').collect());
    Ok(ApiReply::ok(by_index(indices, |name| {
        let index = cluster.indices.get(name)?;
        let mut shown = json!({"settings": index.settings.show(flat, wanted.as_deref())});
        if request.flag("include_defaults") {
            shown["defaults"] = index.settings.show_defaults(&cluster.flavor, flat);
        }
        Some(shown)
    })))
}

pub(super) fn put_settings(cluster: &mut Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let given = Settings::parse(&request.json()?);
    let names = expand(cluster, expression)?;
    // A request that lifts a block passes through it.
    if !given.keys().all(|name| name.starts_with("index.blocks.")) {
        check_metadata(cluster, &names, true)?;
    }
    if let Some(name) = given.keys().find(|name| cluster.refused_settings.contains(*name)) {
        return Err(EsError::validation(&format!("the fake cluster was told to refuse [{name}]")));
    }
    let flavor = cluster.flavor.clone();
    for name in names {
        if let Some(index) = cluster.indices.get_mut(&name) {
            let label = format!("{name}/{}", index.uuid);
            index.settings.update(&flavor, given.clone(), &label, index.open)?;
            index.settings.expand_replicas(cluster.nodes);
        }
    }
    Ok(ApiReply::acknowledged())
}

pub(super) fn mapping(cluster: &Cluster, expression: &str) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    check_metadata(cluster, &names, false)?;
    Ok(ApiReply::ok(by_index(names, |name| Some(json!({"mappings": cluster.indices.get(name)?.mapping.to_value()})))))
}

pub(super) fn put_mapping(cluster: &mut Cluster, expression: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    let names = expand(cluster, expression)?;
    check_metadata(cluster, &names, true)?;
    for name in names {
        if let Some(index) = cluster.indices.get_mut(&name) {
            index.mapping.put(&body)?;
        }
    }
    Ok(ApiReply::acknowledged())
}

/// Blocks that keep metadata from being read (`blocks.metadata`) or changed (also `blocks.read_only`).
fn check_metadata(cluster: &Cluster, names: &[String], changes: bool) -> Result<(), EsError> {
    for name in names {
        let Some(index) = cluster.indices.get(name) else {
            continue;
        };
        if index.settings.is_true("index.blocks.metadata") {
            return Err(EsError::blocked(403, name, "FORBIDDEN/9/index metadata (api)"));
        }
        if changes && index.settings.is_true("index.blocks.read_only") {
            return Err(EsError::blocked(403, name, "FORBIDDEN/5/index read-only (api)"));
        }
        // Elasticsearch 8 lets metadata change at the flood stage, the others do not.
        let flooded = index.settings.is_true("index.blocks.read_only_allow_delete");
        if changes && flooded && !cluster.flavor.is_elasticsearch_8() {
            return Err(EsError::blocked(
                429,
                name,
                "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block",
            ));
        }
    }
    Ok(())
}

pub(super) fn open_or_close(cluster: &mut Cluster, expression: &str, open: bool) -> Result<ApiReply, EsError> {
    for name in expand(cluster, expression)? {
        if let Some(index) = cluster.indices.get_mut(&name) {
            index.open = open;
            // How both servers show that an index is closed: seen on OpenSearch 3.6.0 and Elasticsearch 8.19.21.
            if open {
                index.settings.unset("index.verified_before_close");
            } else {
                index.settings.set("index.verified_before_close", "true");
            }
        }
    }
    Ok(ApiReply::ok(json!({"acknowledged": true, "shards_acknowledged": true})))
}

pub(super) fn block(cluster: &mut Cluster, expression: &str, block: &str) -> Result<ApiReply, EsError> {
    if !["write", "read", "read_only", "metadata"].contains(&block) {
        return Err(EsError::illegal_argument(format!("No block found with name {block}")));
    }
    for name in expand(cluster, expression)? {
        if let Some(index) = cluster.indices.get_mut(&name) {
            index.settings.set(&format!("index.blocks.{block}"), "true");
        }
    }
    Ok(ApiReply::ok(json!({"acknowledged": true, "shards_acknowledged": true})))
}

pub(super) fn aliases(cluster: &Cluster, expression: &str, alias: Option<&str>) -> Result<ApiReply, EsError> {
    let names = expand(cluster, expression)?;
    let shown = by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let all: Map<String, Value> = index
            .aliases
            .iter()
            .filter(|(one, _)| {
                alias.is_none_or(|wanted| wanted.split(',').any(|pattern| pattern::matches(pattern, one)))
            })
            // An alias named as the index shows all aliases of the index that was asked for.
            .map(|(one, options)| (one.clone(), Value::Object(options.clone())))
            .collect();
        (alias.is_none() || !all.is_empty()).then(|| json!({"aliases": all}))
    });
    match alias {
        Some(alias) if !alias.contains('*') && shown.as_object().is_some_and(Map::is_empty) => {
            Ok(ApiReply { status: 404, body: json!({"error": format!("alias [{alias}] missing"), "status": 404}) })
        }
        _ => Ok(ApiReply::ok(shown)),
    }
}

pub(super) fn put_alias(
    cluster: &mut Cluster,
    expression: &str,
    alias: &str,
    request: &ApiRequest,
) -> Result<ApiReply, EsError> {
    let mut action = request.json()?;
    action["index"] = json!(expression);
    action["alias"] = json!(alias);
    apply_aliases(cluster, &[json!({"add": action})])
}

pub(super) fn delete_alias(cluster: &mut Cluster, expression: &str, alias: &str) -> Result<ApiReply, EsError> {
    apply_aliases(cluster, &[json!({"remove": {"index": expression, "alias": alias}})])
}

pub(super) fn update_aliases(cluster: &mut Cluster, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let body = request.json()?;
    let actions = body.get("actions").and_then(Value::as_array).cloned().unwrap_or_default();
    if actions.is_empty() {
        return Err(EsError::illegal_argument("No action specified"));
    }
    apply_aliases(cluster, &actions)
}

/// Index, alias, and what it is to carry; `None` removes it.
type AliasChange = (String, String, Option<Map<String, Value>>);

/// All actions or none: they are tried on a copy of the aliases first.
fn apply_aliases(cluster: &mut Cluster, actions: &[Value]) -> Result<ApiReply, EsError> {
    let mut changed: Vec<AliasChange> = Vec::new();
    let mut removed_indices = Vec::new();
    // Passed over where another action has an effect.
    let mut missing = None;
    for action in actions {
        let Some((verb, options)) = action.as_object().and_then(|object| object.iter().next()) else {
            return Err(EsError::illegal_argument("malformed alias action"));
        };
        let texts = |one: &str, many: &str| -> Vec<String> {
            let list = options.get(many).and_then(Value::as_array).into_iter().flatten();
            options.get(one).into_iter().chain(list).filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut indices = Vec::new();
        for expression in texts("index", "indices") {
            indices.extend(expand(cluster, &expression)?);
        }
        if verb == "remove_index" {
            removed_indices.extend(indices);
            continue;
        }
        for alias in texts("alias", "aliases") {
            match verb.as_str() {
                "add" => {
                    if cluster.indices.contains_key(&alias) && !removed_indices.contains(&alias) {
                        return Err(EsError::new(
                            400,
                            "invalid_alias_name_exception",
                            format!(
                                "Invalid alias name [{alias}]: an index or data stream exists with the same name as the alias"
                            ),
                        ));
                    }
                    let mut given = options.as_object().cloned().unwrap_or_default();
                    given.retain(|key, _| {
                        !["index", "indices", "alias", "aliases", "must_exist"].contains(&key.as_str())
                    });
                    if let Some(routing) = given.remove("routing") {
                        given.insert("index_routing".into(), routing.clone());
                        given.insert("search_routing".into(), routing);
                    }
                    for index in &indices {
                        changed.push((index.clone(), alias.clone(), Some(given.clone())));
                    }
                }
                "remove" => {
                    let carriers: Vec<&String> = indices
                        .iter()
                        .filter(|name| {
                            cluster
                                .indices
                                .get(*name)
                                .is_some_and(|index| index.aliases.keys().any(|one| pattern::matches(&alias, one)))
                        })
                        .collect();
                    let must_exist = options.get("must_exist") == Some(&json!(true));
                    if carriers.is_empty() && must_exist && cluster.flavor.is_elasticsearch_7() {
                        let reason = format!("required alias [{alias}] does not exist");
                        return Err(EsError::new(404, "resource_not_found_exception", reason));
                    }
                    let error = EsError::new(404, "aliases_not_found_exception", format!("aliases [{alias}] missing"))
                        .with("resource.type", "aliases")
                        .with("resource.id", alias.clone());
                    match options.get("must_exist") {
                        Some(Value::Bool(true)) if carriers.is_empty() => return Err(error),
                        None if carriers.is_empty() => missing = missing.or(Some(error)),
                        _ => {}
                    }
                    for index in carriers {
                        changed.push((index.clone(), alias.clone(), None));
                    }
                }
                other => {
                    return Err(EsError::new(
                        400,
                        "x_content_parse_exception",
                        format!("[aliases] unknown field [{other}]"),
                    ));
                }
            }
        }
    }
    if let (Some(error), true) = (missing, changed.is_empty() && removed_indices.is_empty()) {
        return Err(error);
    }
    let before: Vec<_> = cluster.indices.iter().map(|(name, index)| (name.clone(), index.aliases.clone())).collect();
    for name in &removed_indices {
        cluster.indices.remove(name);
    }
    for (name, alias, options) in changed {
        let Some(index) = cluster.indices.get_mut(&name) else {
            continue;
        };
        match options {
            Some(options) => {
                index.aliases.insert(alias, options);
            }
            None => index.aliases.retain(|one, _| !pattern::matches(&alias, one)),
        }
    }
    if let Some(alias) = two_write_indices(cluster) {
        for (name, aliases) in before {
            if let Some(index) = cluster.indices.get_mut(&name) {
                index.aliases = aliases;
            }
        }
        return Err(EsError::new(
            400,
            "illegal_state_exception",
            format!("alias [{alias}] has more than one write index"),
        ));
    }
    let mut body = json!({"acknowledged": true});
    if cluster.flavor.is_elasticsearch_8() {
        body["errors"] = json!(false);
    }
    Ok(ApiReply::ok(body))
}

fn two_write_indices(cluster: &Cluster) -> Option<String> {
    let mut seen = BTreeSet::new();
    for index in cluster.indices.values() {
        for (alias, options) in &index.aliases {
            if options.get("is_write_index") == Some(&json!(true)) && !seen.insert(alias) {
                return Some(alias.clone());
            }
        }
    }
    None
}

pub(super) fn template(
    cluster: &mut Cluster,
    method: &str,
    name: &str,
    request: &ApiRequest,
) -> Result<ApiReply, EsError> {
    let missing =
        || EsError::new(404, "resource_not_found_exception", format!("index template matching [{name}] not found"));
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

/// What a new index of this name would be made with, without its mapping. A template in the body is
/// checked, and counts instead of those that the cluster has.
pub(super) fn simulate_index(cluster: &Cluster, name: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let given = if request.body.is_empty() { None } else { request.json()?.get("template").cloned() };
    if let Some(template) = &given {
        check_template(cluster, template)?;
    }
    let template =
        given.or_else(|| cluster.template_for(name).and_then(|(_, template)| template.get("template").cloned()));
    let template = template.unwrap_or_default();
    let part = |key: &str| template.get(key).cloned().unwrap_or(json!({}));
    let settings = nest(Settings::parse(&part("settings")).iter());
    let simulated = json!({"settings": settings, "aliases": part("aliases")});
    Ok(ApiReply::ok(json!({"template": simulated, "overlapping": []})))
}

/// What the servers check of a template: its settings and its mapping, each by itself.
fn check_template(cluster: &Cluster, template: &Value) -> Result<(), EsError> {
    let part = |key: &str| template.get(key).cloned().unwrap_or(json!({}));
    Settings::default().create(&cluster.flavor, Settings::parse(&part("settings")))?;
    match Mapping::new(&part("mappings")) {
        Ok(_) => Ok(()),
        Err(error) => Err(EsError::illegal_argument(
            "composable template [simulate_index_template] template after composition is invalid",
        )
        .caused_by(&error.kind, error.reason)),
    }
}

pub(super) fn data_streams(cluster: &Cluster, expression: &str) -> Result<ApiReply, EsError> {
    let found: Vec<Value> = cluster
        .data_streams
        .iter()
        .filter(|(name, _)| expression.split(',').any(|one| pattern::matches(one, name)))
        .map(|(name, stream)| {
            let indices: Vec<Value> = stream
                .indices
                .iter()
                .map(|index| json!({"index_name": index, "index_uuid": cluster.indices.get(index).map(|index| index.uuid.clone())}))
                .collect();
            json!({"name": name, "timestamp_field": {"name": "@timestamp"}, "indices": indices,
                "generation": stream.indices.len(), "status": "GREEN", "template": stream.template})
        })
        .collect();
    if found.is_empty() && !expression.contains('*') {
        return Err(EsError::index_not_found(expression, "index_or_alias"));
    }
    Ok(ApiReply::ok(json!({"data_streams": found})))
}

pub(super) fn delete_data_stream(cluster: &mut Cluster, name: &str) -> Result<ApiReply, EsError> {
    let stream = cluster.data_streams.remove(name).ok_or_else(|| EsError::index_not_found(name, "index_or_alias"))?;
    for index in stream.indices {
        cluster.indices.remove(&index);
    }
    Ok(ApiReply::acknowledged())
}

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

pub(super) fn put_pipeline(cluster: &mut Cluster, name: &str, request: &ApiRequest) -> Result<ApiReply, EsError> {
    let pipeline = Pipeline::parse(&request.json()?, &cluster.flavor)?;
    cluster.pipelines.insert(name.to_owned(), pipeline);
    Ok(ApiReply::acknowledged())
}

pub(super) fn delete_pipeline(cluster: &mut Cluster, name: &str) -> Result<ApiReply, EsError> {
    match cluster.pipelines.remove(name) {
        Some(_) => Ok(ApiReply::acknowledged()),
        None => Err(EsError::new(404, "resource_not_found_exception", format!("pipeline [{name}] is missing"))),
    }
}

pub(super) fn resolve(cluster: &Cluster, expression: &str) -> Result<ApiReply, EsError> {
    let fits = |name: &str| expression.split(',').any(|one| pattern::matches(one, name));
    let indices: Vec<Value> = cluster
        .indices
        .iter()
        .filter(|(name, _)| fits(name))
        .map(|(name, index)| {
            let mut shown = json!({"name": name, "attributes": [if index.open { "open" } else { "closed" }]});
            if !index.aliases.is_empty() {
                shown["aliases"] = index.aliases.keys().cloned().collect();
            }
            if let Some((stream, _)) = cluster.data_streams.iter().find(|(_, stream)| stream.indices.contains(name)) {
                shown["data_stream"] = json!(stream);
            }
            shown
        })
        .collect();
    let names: BTreeSet<&String> =
        cluster.indices.values().flat_map(|index| index.aliases.keys()).filter(|name| fits(name)).collect();
    let aliases: Vec<Value> = names
        .into_iter()
        .map(|alias| {
            let carriers: Vec<&String> = cluster
                .indices
                .iter()
                .filter(|(_, index)| index.aliases.contains_key(alias))
                .map(|(name, _)| name)
                .collect();
            json!({"name": alias, "indices": carriers})
        })
        .collect();
    let streams: Vec<Value> = cluster
        .data_streams
        .iter()
        .filter(|(name, _)| fits(name))
        .map(|(name, stream)| json!({"name": name, "backing_indices": stream.indices, "timestamp_field": "@timestamp"}))
        .collect();
    let nothing = indices.is_empty() && aliases.is_empty() && streams.is_empty();
    // Elasticsearch 8 answers 404 for a name that is not there; the others answer empty lists.
    if nothing && cluster.flavor.is_elasticsearch_8() && !expression.contains('*') {
        return Err(EsError::index_not_found(expression, "index_or_alias"));
    }
    Ok(ApiReply::ok(json!({"indices": indices, "aliases": aliases, "data_streams": streams})))
}
