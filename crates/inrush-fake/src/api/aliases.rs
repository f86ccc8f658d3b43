//! Aliases. All actions of one request take effect, or none.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::expand::{by_index, expand};
use super::request::{ApiReply, ApiRequest};
use crate::error::ServerError;
use crate::model::Cluster;
use crate::pattern;

/// `GET _alias`; `alias` are patterns with commas between them.
pub(super) fn aliases(cluster: &Cluster, expression: &str, alias: Option<&str>) -> Result<ApiReply, ServerError> {
    let names = expand(cluster, expression)?;
    let shown = by_index(names, |name| {
        let index = cluster.indices.get(name)?;
        let all: Map<String, Value> = index
            .aliases
            .iter()
            .filter(|(one, _)| {
                alias.is_none_or(|wanted| wanted.split(',').any(|pattern| pattern::matches(pattern, one)))
            })
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

/// `PUT /{index}/_alias/{alias}`.
pub(super) fn put_alias(
    cluster: &mut Cluster,
    expression: &str,
    alias: &str,
    request: &ApiRequest,
) -> Result<ApiReply, ServerError> {
    let Value::Object(mut options) = request.json()? else {
        return Err(ServerError::illegal_argument("malformed alias action"));
    };
    options.insert("index".into(), json!(expression));
    options.insert("alias".into(), json!(alias));
    apply(cluster, &[json!({"add": options})])
}

/// `DELETE /{index}/_alias/{alias}`.
pub(super) fn delete_alias(cluster: &mut Cluster, expression: &str, alias: &str) -> Result<ApiReply, ServerError> {
    apply(cluster, &[json!({"remove": {"index": expression, "alias": alias}})])
}

/// `POST _aliases`.
pub(super) fn update_aliases(cluster: &mut Cluster, request: &ApiRequest) -> Result<ApiReply, ServerError> {
    let body = request.json()?;
    let actions = body.get("actions").and_then(Value::as_array).cloned().unwrap_or_default();
    if actions.is_empty() {
        return Err(ServerError::illegal_argument("No action specified"));
    }
    apply(cluster, &actions)
}

/// Checks all actions, then applies them.
fn apply(cluster: &mut Cluster, actions: &[Value]) -> Result<ApiReply, ServerError> {
    let mut changes = Changes::default();
    for action in actions {
        changes.plan(cluster, action)?;
    }
    changes.apply(cluster)?;
    let mut body = json!({"acknowledged": true});
    if cluster.flavor.is_elasticsearch_8() {
        body["errors"] = json!(false);
    }
    Ok(ApiReply::ok(body))
}

/// A change of one alias of one index.
struct AliasChange {
    index: String,
    alias: String,
    /// The options of the alias; `None` removes it.
    options: Option<Map<String, Value>>,
}

/// The changes of one request.
#[derive(Default)]
struct Changes {
    aliases: Vec<AliasChange>,
    removed_indices: Vec<String>,
    /// The error of a missing alias. It is ignored where another action has an effect.
    missing: Option<ServerError>,
}

impl Changes {
    /// Adds the changes of one action.
    fn plan(&mut self, cluster: &Cluster, action: &Value) -> Result<(), ServerError> {
        let Some((verb, options)) = action.as_object().and_then(|object| object.iter().next()) else {
            return Err(ServerError::illegal_argument("malformed alias action"));
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
            self.removed_indices.extend(indices);
            return Ok(());
        }
        for alias in texts("alias", "aliases") {
            match verb.as_str() {
                "add" => self.plan_add(cluster, &indices, &alias, options)?,
                "remove" => self.plan_remove(cluster, &indices, &alias, options.get("must_exist"))?,
                other => {
                    let reason = format!("[aliases] unknown field [{other}]");
                    return Err(ServerError::new(400, "x_content_parse_exception", reason));
                }
            }
        }
        Ok(())
    }

    fn plan_add(
        &mut self,
        cluster: &Cluster,
        indices: &[String],
        alias: &str,
        options: &Value,
    ) -> Result<(), ServerError> {
        if cluster.indices.contains_key(alias) && !self.removed_indices.iter().any(|removed| removed == alias) {
            let reason =
                format!("Invalid alias name [{alias}]: an index or data stream exists with the same name as the alias");
            return Err(ServerError::new(400, "invalid_alias_name_exception", reason));
        }
        let mut given = options.as_object().cloned().unwrap_or_default();
        given.retain(|key, _| !["index", "indices", "alias", "aliases", "must_exist"].contains(&key.as_str()));
        if let Some(routing) = given.remove("routing") {
            given.insert("index_routing".into(), routing.clone());
            given.insert("search_routing".into(), routing);
        }
        self.aliases.extend(indices.iter().map(|index| AliasChange {
            index: index.clone(),
            alias: alias.to_owned(),
            options: Some(given.clone()),
        }));
        Ok(())
    }

    fn plan_remove(
        &mut self,
        cluster: &Cluster,
        indices: &[String],
        alias: &str,
        must_exist: Option<&Value>,
    ) -> Result<(), ServerError> {
        let carries = |name: &&String| {
            cluster.indices.get(*name).is_some_and(|index| index.aliases.keys().any(|one| pattern::matches(alias, one)))
        };
        let carriers: Vec<&String> = indices.iter().filter(carries).collect();
        let error = || {
            ServerError::new(404, "aliases_not_found_exception", format!("aliases [{alias}] missing"))
                .with("resource.type", "aliases")
                .with("resource.id", alias)
        };
        match must_exist {
            _ if !carriers.is_empty() => {}
            Some(Value::Bool(true)) if cluster.flavor.is_elasticsearch_7() => {
                let reason = format!("required alias [{alias}] does not exist");
                return Err(ServerError::new(404, "resource_not_found_exception", reason));
            }
            Some(Value::Bool(true)) => return Err(error()),
            None => {
                self.missing.get_or_insert_with(error);
            }
            Some(_) => {}
        }
        self.aliases.extend(carriers.into_iter().map(|index| AliasChange {
            index: index.clone(),
            alias: alias.to_owned(),
            options: None,
        }));
        Ok(())
    }

    /// Applies the changes. An alias with two write indices undoes all changes of aliases.
    fn apply(self, cluster: &mut Cluster) -> Result<(), ServerError> {
        if let (Some(error), true) = (self.missing, self.aliases.is_empty() && self.removed_indices.is_empty()) {
            return Err(error);
        }
        let before: Vec<_> =
            cluster.indices.iter().map(|(name, index)| (name.clone(), index.aliases.clone())).collect();
        for name in &self.removed_indices {
            cluster.indices.remove(name);
        }
        for AliasChange { index, alias, options } in self.aliases {
            let Some(index) = cluster.indices.get_mut(&index) else {
                continue;
            };
            match options {
                Some(options) => {
                    index.aliases.insert(alias, options);
                }
                None => index.aliases.retain(|one, _| !pattern::matches(&alias, one)),
            }
        }
        let Some(alias) = two_write_indices(cluster) else {
            return Ok(());
        };
        for (name, aliases) in before {
            if let Some(index) = cluster.indices.get_mut(&name) {
                index.aliases = aliases;
            }
        }
        let reason = format!("alias [{alias}] has more than one write index");
        Err(ServerError::new(400, "illegal_state_exception", reason))
    }
}

/// An alias with more than one write index.
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
