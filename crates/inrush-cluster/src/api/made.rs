//! Whether an index is the one that a request without a clear answer has created.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Map, Value, json};

use super::changes;
use super::error::ClusterError;
use super::index::{self, CreateIndex};
use super::stats;
use super::templates::{self, flat};
use crate::transport::{Transport, path_segment};

/// Whether the index `name`, which did not exist before, is as `how` makes it, and nothing was
/// written to it. Another client may have created it meanwhile: one with another mapping, other
/// settings or documents is not ours.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub(super) async fn is_ours(transport: &Transport, name: &str, how: &CreateIndex) -> Result<bool, ClusterError> {
    let what = format!("looking up {name}");
    let body = transport.demand(&what, Method::GET, &format!("/{}", path_segment(name)), None).await?;
    // A template may have given the name to another index as an alias.
    let Some(found) = body.get(name) else { return Ok(false) };
    let asked = index::creation_body(how);
    let under = templates::given(&transport.brief(), name).await.ok();
    Ok(is_as_asked(&asked, under.as_ref().map(|given| &given.mappings), found) && is_empty(transport, name).await)
}

/// Deletes the index `name` where a request with `how` has created it, or may have done so, and no
/// document was written to it. Before that request there was no index of this name.
///
/// # Errors
/// As [`delete_if_empty`].
pub async fn delete_if_ours(transport: &Transport, name: &str, how: &CreateIndex) -> Result<(), ClusterError> {
    match index::uuids(transport, name).await?.remove(name) {
        Some(uuid) if is_ours(transport, name, how).await? => delete_if_empty(transport, name, &uuid).await,
        // Another client has created it, or none has.
        Some(_) | None => Ok(()),
    }
}

/// Deletes the index `name` of this UUID where no document was written to it. A write block keeps
/// documents out while that is checked. The text says why the index is kept.
///
/// # Errors
/// [`ClusterError`] if a request fails, or [`ClusterError::Target`] if the index is not empty.
pub async fn delete_if_empty(transport: &Transport, name: &str, uuid: &str) -> Result<(), ClusterError> {
    block_writes(transport, name, true).await?;
    let keep = |problem: &str| ClusterError::Target { name: name.to_owned(), problem: problem.to_owned() };
    let emptied = match index::uuids(transport, name).await {
        Ok(now) if now.get(name).is_none_or(|now| now != uuid) => Err(keep("another client has created it again")),
        Ok(_) if !is_empty(transport, name).await => Err(keep("another client has written to it")),
        Ok(_) => index::delete_this(transport, name, uuid).await.map(drop),
        Err(error) => Err(error),
    };
    if emptied.is_err()
        && let Err(error) = block_writes(transport, name, false).await
    {
        tracing::warn!(
            "index.blocks.write of {name} was set to look whether it is empty, and could not be removed: {error}"
        );
    }
    emptied
}

async fn block_writes(transport: &Transport, name: &str, on: bool) -> Result<(), ClusterError> {
    let what = format!("blocking writes to {name}");
    let path = format!("/{}/_settings", path_segment(name));
    let body = json!({ "index.blocks.write": on.then_some(true) });
    transport.demand(&what, Method::PUT, &path, Some(&body)).await.map(drop)
}

/// Whether no operation has reached the index.
async fn is_empty(transport: &Transport, name: &str) -> bool {
    match changes::marks(transport, name).await {
        Ok(marks) => marks.values().all(|mark| mark.max < 0),
        // A shard that is not assigned has taken no document.
        Err(ClusterError::Target { .. }) => true,
        Err(_) => stats::count_now(transport, name).await.is_ok_and(|count| count == 0),
    }
}

/// Whether the index that was `found` is what the request `asked` for. The servers leave out what
/// is a default, so only what both have can differ, and the fields themselves. `under`: the mapping
/// of the templates, `None` where it is not known.
fn is_as_asked(asked: &Value, under: Option<&Value>, found: &Value) -> bool {
    let settings = |of: &Value| flat(of.get("settings").unwrap_or(&Value::Null));
    let has = settings(found);
    if !settings(asked).iter().all(|(name, value)| has.get(name).is_some_and(|now| is_same(value, now))) {
        return false;
    }
    let none = Value::Null;
    let (asked, found) = (asked.get("mappings").unwrap_or(&none), found.get("mappings").unwrap_or(&none));
    let mut wanted = under.cloned().unwrap_or_default();
    templates::merge(&mut wanted, asked);
    let (wanted_fields, found_fields) = (fields(&wanted), fields(found));
    let has_all = fields(asked).keys().all(|name| found_fields.contains_key(name));
    let has_no_other = under.is_none() || found_fields.keys().all(|name| wanted_fields.contains_key(name));
    let agrees = |(name, field): (&String, &&Map<String, Value>)| {
        found_fields.get(name).is_none_or(|found| do_not_differ(field, found))
    };
    let top = |mapping: &Value| mapping.as_object().cloned().unwrap_or_default();
    has_all && has_no_other && fields(asked).iter().all(agrees) && do_not_differ(&top(asked), &top(found))
}

/// Whether the two agree in what both have, besides fields below them.
fn do_not_differ(asked: &Map<String, Value>, found: &Map<String, Value>) -> bool {
    let is_own = |name: &str| !matches!(name, "properties" | "fields");
    let both = asked.iter().filter_map(|(name, value)| Some((name, value, found.get(name)?)));
    both.filter(|(name, ..)| is_own(name)).all(|(_, asked, found)| is_same(asked, found))
}

/// Whether two values are the same, in whichever form: the servers return most of them as text.
fn is_same(asked: &Value, found: &Value) -> bool {
    match (asked, found) {
        (Value::Object(asked), Value::Object(found)) => {
            asked.iter().all(|(name, value)| found.get(name).is_none_or(|found| is_same(value, found)))
        }
        (Value::Array(asked), Value::Array(found)) => {
            asked.len() == found.len() && asked.iter().zip(found).all(|(asked, found)| is_same(asked, found))
        }
        // Some lists have one value.
        (Value::Array(asked), found) | (found, Value::Array(asked)) => {
            matches!(asked.as_slice(), [one] if is_same(one, found))
        }
        (asked, found) => text(asked) == text(found),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The fields of a mapping that hold values, by their paths.
fn fields(mapping: &Value) -> BTreeMap<String, &Map<String, Value>> {
    fn add<'a>(prefix: &str, of: &'a Value, to: &mut BTreeMap<String, &'a Map<String, Value>>) {
        for (key, separator) in [("properties", "."), ("fields", "#")] {
            for (name, field) in of.get(key).and_then(Value::as_object).into_iter().flatten() {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}{separator}{name}") };
                add(&path, field, to);
                if let Some(object) = field.as_object().filter(|object| !object.contains_key("properties")) {
                    to.insert(path, object);
                }
            }
        }
    }
    let mut all = BTreeMap::new();
    add("", mapping, &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of a server that was asked for `n` and `tag`.
    fn found() -> Value {
        json!({
            "settings": {"index": {"number_of_shards": "3", "refresh_interval": "30s", "uuid": "u"}},
            "mappings": {"dynamic": "false", "properties": {
                "n": {"type": "long"}, "a": {"properties": {"b": {"type": "keyword"}}},
                "tag": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}},
        })
    }

    fn asked() -> Value {
        json!({
            "settings": {"index.number_of_shards": 3, "refresh_interval": "30s"},
            "mappings": {"dynamic": false, "properties": {
                "n": {"type": "long", "index": true}, "a.b": {"type": "keyword"},
                "tag": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}},
        })
    }

    #[test]
    fn an_index_as_asked_for_is_ours_in_the_words_of_the_server() {
        let none = json!({});
        assert!(is_as_asked(&asked(), Some(&none), &found()));
        assert!(is_as_asked(&json!({}), None, &found()), "what templates give is not known");
        let template = json!({"properties": {"from_template": {"type": "date"}}});
        let mut more = found();
        more["mappings"]["properties"]["from_template"] = json!({"type": "date"});
        assert!(is_as_asked(&asked(), Some(&template), &more));
        assert!(!is_as_asked(&asked(), Some(&none), &more), "another client has added a field");
    }

    #[test]
    fn an_index_with_another_mapping_or_other_settings_is_not_ours() {
        let none = json!({});
        for (pointer, value) in [
            ("/settings/index/number_of_shards", json!("1")),
            ("/settings/index/refresh_interval", json!("1s")),
            ("/mappings/dynamic", json!("strict")),
            ("/mappings/properties/n/type", json!("integer")),
            ("/mappings/properties/a/properties/b/type", json!("text")),
            ("/mappings/properties/tag/fields/raw/type", json!("wildcard")),
            ("/mappings/properties/a", json!({"properties": {}})),
            ("/mappings/properties", json!({})),
        ] {
            let mut other = found();
            *other.pointer_mut(pointer).unwrap() = value;
            assert!(!is_as_asked(&asked(), Some(&none), &other), "{pointer}");
        }
    }
}
