//! The indices behind an alias, and moving the alias from one index to another in one step.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// One of the indices behind a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The UUID of the index. It differs for a later index of the same name.
    pub uuid: String,
    /// The aliases of the index with their properties: `filter`, `index_routing`, `search_routing`,
    /// `is_write_index`, `is_hidden`.
    pub aliases: Map<String, Value>,
    /// The data stream that the index belongs to.
    pub data_stream: Option<String>,
}

/// The indices behind `name`, by their own names: the index itself, those of an alias, or those of
/// a data stream. Empty if nothing has this name.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn behind(transport: &Transport, name: &str) -> Result<BTreeMap<String, Carrier>, ClusterError> {
    let what = format!("looking up {name}");
    let path = format!("/{}?filter_path=*.aliases,*.data_stream,*.settings.index.uuid", path_segment(name));
    let body = transport.find(&what, Method::GET, &path).await?.unwrap_or_default();
    let carrier = |index: &Value| {
        Some(Carrier {
            uuid: index.pointer("/settings/index/uuid")?.as_str()?.to_owned(),
            aliases: index.get("aliases").and_then(Value::as_object).cloned().unwrap_or_default(),
            data_stream: index.get("data_stream").and_then(Value::as_str).map(str::to_owned),
        })
    };
    let indices = body.as_object().into_iter().flatten();
    Ok(indices.filter_map(|(name, index)| Some((name.clone(), carrier(index)?))).collect())
}

/// Those of these aliases that have no filter. A filter may need a field of the mapping.
pub fn without_filter(aliases: &Map<String, Value>) -> Map<String, Value> {
    let plain = aliases.iter().filter(|(_, properties)| properties.get("filter").is_none());
    plain.map(|(alias, properties)| (alias.clone(), properties.clone())).collect()
}

/// What has the name of an alias before the alias is put on an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// Nothing.
    Free,
    /// The alias itself. It is removed from this index.
    Alias(&'a str),
    /// An index, which is deleted.
    Index,
}

/// The body of `POST _aliases` that puts `alias` on `index` and removes it from the index that had
/// it. The cluster applies all of it or nothing. It applies nothing if the alias is no longer on
/// the index that [`Place::Alias`] names (`must_exist`: Elasticsearch 7.11, OpenSearch 2.12).
pub fn actions(alias: &str, index: &str, options: &Map<String, Value>, place: Place<'_>) -> Value {
    let mut add = options.clone();
    add.insert("index".to_owned(), json!(index));
    add.insert("alias".to_owned(), json!(alias));
    let add = json!({ "add": add });
    let actions = match place {
        Place::Free => vec![add],
        Place::Alias(old) => vec![json!({"remove": {"index": old, "alias": alias, "must_exist": true}}), add],
        Place::Index => vec![json!({"remove_index": {"index": alias}}), add],
    };
    json!({ "actions": actions })
}

/// Sends the body that [`actions`] made.
///
/// # Errors
/// [`ClusterError`] if the request fails. If the reply is lost, the alias may have been moved all
/// the same.
pub async fn update(transport: &Transport, actions: &Value) -> Result<(), ClusterError> {
    transport.demand("moving the alias", Method::POST, "/_aliases", Some(actions)).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_with_a_filter_are_told_from_others() {
        let aliases = json!({"live": {}, "some": {"filter": {"term": {"n": 1}}}, "routed": {"search_routing": "a"}});
        let plain = without_filter(aliases.as_object().unwrap());
        assert_eq!(Value::Object(plain), json!({"live": {}, "routed": {"search_routing": "a"}}));
    }

    #[test]
    fn an_alias_keeps_what_it_carries() {
        let carried = json!({"filter": {"term": {"n": 1}}, "search_routing": "a", "is_write_index": true});
        let carried = carried.as_object().unwrap();
        let add = json!({"add": {"filter": {"term": {"n": 1}}, "search_routing": "a", "is_write_index": true,
            "index": "new", "alias": "al"}});
        assert_eq!(
            actions("al", "new", carried, Place::Alias("old")),
            json!({"actions": [{"remove": {"index": "old", "alias": "al", "must_exist": true}}, add]})
        );
        assert_eq!(
            actions("al", "new", &Map::new(), Place::Index),
            json!({"actions": [{"remove_index": {"index": "al"}}, {"add": {"index": "new", "alias": "al"}}]})
        );
        assert_eq!(
            actions("al", "new", &Map::new(), Place::Free),
            json!({"actions": [{"add": {"index": "new", "alias": "al"}}]})
        );
    }
}
