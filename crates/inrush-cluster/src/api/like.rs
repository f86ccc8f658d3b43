//! The mapping and settings that a new index takes from another one of the same cluster.

use http::Method;
use inrush_core::vectors::graph;
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use super::guarded;
use super::history;
use super::index::CreateIndex;
use super::lost;
use super::templates::{self, flat};
use super::trial;
use crate::transport::{Transport, path_segment};

/// Settings that an index does not hand on: the servers write them, or they are the state of a
/// policy, a block or a move of shards. A name that ends in a dot covers all settings below it.
const OF_THE_INDEX: [&str; 17] = [
    "index.uuid",
    "index.creation_date",
    "index.creation_date_string",
    "index.provided_name",
    "index.version.",
    "index.history.",
    "index.resize.",
    "index.shrink.",
    "index.transport_version.",
    "index.verified_before_close",
    "index.blocks.",
    "index.store.snapshot.",
    "index.replication.type",
    "index.lifecycle.",
    "index.plugins.",
    "index.routing.allocation.initial_recovery.",
    "index.routing.allocation.include._tier_preference",
];

/// Where the mapping or the settings of a new index come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// From the other index.
    Index,
    /// From an index template.
    Template,
    /// The servers make them of the documents, or have defaults.
    Default,
}

/// What a new index takes from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Like {
    /// Origin of the mapping, and the body of `mappings` where it is the other index.
    pub mapping: (Taken, Option<Value>),
    /// Origin of the settings, and the body of `settings` where some are those of the other index.
    pub settings: (Taken, Option<Value>),
    /// What the other index has and the new one will not have, as text.
    pub lost: Vec<String>,
}

/// What the new index `new` takes from the index `old`, where `how` gives nothing. An index
/// template goes before the other index: it is the place where a user says how new indices are. A
/// mapping that the servers would make by themselves is not taken, because documents may change.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn of(transport: &Transport, old: &str, new: &str, how: &CreateIndex) -> Result<Like, ClusterError> {
    let what = format!("looking up {old}");
    let body = transport.demand(&what, Method::GET, &format!("/{}", path_segment(old)), None).await?;
    let mut old = body.get(old).cloned().unwrap_or_default();
    if let Some(mapping) = old.get_mut("mappings") {
        history::unmark(mapping);
        graph::put_back(mapping);
    }
    if let Some(uuid) = old["settings"]["index"]["uuid"].as_str().map(str::to_owned) {
        guarded::original(transport, &mut [(&uuid, &mut old["settings"])]).await;
    }
    // A user who may not read templates may create indices all the same.
    let given = templates::given(transport, new).await.unwrap_or_default();
    let mapping = match &how.mappings {
        Some(_) => (Taken::Default, None),
        None => mapping(&old["mappings"], &given.mappings),
    };
    let settings = match &how.settings {
        Some(_) => (Taken::Default, None),
        None => settings(&old["settings"], &given.settings),
    };
    let mut like = CreateIndex { mappings: mapping.1.clone(), settings: settings.1.clone(), ..how.clone() };
    // What the user has given is meant.
    if how.mappings.is_some() {
        like.mappings = old.get("mappings").cloned();
    }
    if how.settings.is_some() {
        like.settings = old.get("settings").cloned();
    }
    let made = trial::with_templates(transport, new, &like).await;
    // A policy is worth a word. A block, or the past of an index, is not.
    let mut worth = flat(&old["settings"]);
    worth.retain(|name, _| !is_own(name) || name.starts_with("index.lifecycle.") || name.starts_with("index.plugins."));
    let worth = json!({"settings": worth, "mappings": old["mappings"]});
    Ok(Like { mapping, settings, lost: lost::list(&worth, &made) })
}

fn is_own(name: &str) -> bool {
    OF_THE_INDEX.iter().any(|own| name == *own || own.ends_with('.') && name.starts_with(own))
}

/// Whether the mapping of an index template says anything.
pub fn says_anything(mapping: &Value) -> bool {
    mapping.as_object().is_some_and(|mapping| !mapping.is_empty())
}

fn mapping(old: &Value, template: &Value) -> (Taken, Option<Value>) {
    if says_anything(template) {
        return (Taken::Template, None);
    }
    match lost::mapping(old, &Value::Null).is_empty() {
        true => (Taken::Default, None),
        false => (Taken::Index, Some(old.clone())),
    }
}

fn settings(old: &Value, template: &Value) -> (Taken, Option<Value>) {
    let (old, template) = (flat(old), flat(template));
    let taken: Map<String, Value> =
        old.into_iter().filter(|(name, _)| !is_own(name) && !template.contains_key(name)).collect();
    let is_default = |(name, value): (&String, &Value)| {
        ["index.number_of_shards", "index.number_of_replicas"].contains(&name.as_str()) && *value == "1"
    };
    match (taken.iter().all(is_default), template.is_empty()) {
        (false, _) => (Taken::Index, Some(Value::Object(taken))),
        (true, false) => {
            (Taken::Template, Some(Value::Object(taken)).filter(|taken| *taken != Value::Object(Map::new())))
        }
        (true, true) => (Taken::Default, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_index_itself_stay_behind() {
        let old = json!({"index": {
            "uuid": "u", "creation_date": "1", "provided_name": "a", "version": {"created": "1"}, "blocks": {"write": "true"},
            "number_of_shards": "3", "number_of_replicas": "0", "analysis": {"analyzer": {"x": {"type": "stop"}}},
            "lifecycle": {"name": "p"}, "routing": {"allocation": {"include": {"_tier_preference": "data_content"}}},
        }});
        let (from, taken) = settings(&old, &json!({"index": {"number_of_replicas": "1"}}));
        let expected = json!({"index.number_of_shards": "3", "index.analysis.analyzer.x.type": "stop"});
        assert_eq!((from, taken), (Taken::Index, Some(expected)));
        let plain = json!({"index": {"uuid": "u", "number_of_shards": "1", "number_of_replicas": "1"}});
        assert_eq!(settings(&plain, &Value::Null), (Taken::Default, None));
        let template = json!({"index": {"number_of_shards": "1", "number_of_replicas": "1"}});
        assert_eq!(settings(&plain, &template), (Taken::Template, None));
    }

    #[test]
    fn a_mapping_is_taken_where_the_servers_would_not_make_it() {
        let keyword = json!({"properties": {"id": {"type": "keyword"}, "n": {"type": "long"}}});
        assert_eq!(mapping(&keyword, &Value::Null), (Taken::Index, Some(keyword.clone())));
        assert_eq!(mapping(&keyword, &json!({"properties": {}})).0, Taken::Template);
        let dynamic = json!({"properties": {"n": {"type": "long"}}});
        assert_eq!(mapping(&dynamic, &Value::Null), (Taken::Default, None));
    }
}
