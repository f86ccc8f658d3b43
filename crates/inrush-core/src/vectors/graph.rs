//! Graphs of vectors that are built once, after a load.
//!
//! Elasticsearch builds the graph of a `dense_vector` by the `index_options` of its mapping. It
//! lets `flat`, which has no graph, become another type, and never the way back. So a new index is
//! created with `flat`, and its `_meta` has the wanted options from the first moment on: however a
//! load ends, the index itself says what is to be put back. To the settings guard the options of a
//! field are a setting, by the name that [`setting`] gives them.
//!
//! OpenSearch has a dynamic setting for it, which only some engines obey.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::settings_guard::{Change, Changes, policy};

/// The key of `_meta` with the wanted `index_options` of fields, by path.
pub const MARK: &str = "inrush_graph";

/// How deep fields of objects are looked at.
const DEPTH_MAX: usize = 50;

/// The start of the names that the settings guard knows `index_options` by.
const PREFIX: &str = "mappings.";
const SUFFIX: &str = ".index_options";

/// The version of OpenSearch from which the engine `lucene` obeys the setting, and the one from
/// which the engine `faiss` does.
const LUCENE_SINCE: (u32, u32) = (3, 9);
const FAISS_SINCE: (u32, u32) = (2, 18);

/// The name by which the settings guard knows the `index_options` of a field.
pub fn setting(path: &str) -> String {
    format!("{PREFIX}{path}{SUFFIX}")
}

/// The path of the field whose `index_options` have this name, if it is one of those.
pub fn path_of(setting: &str) -> Option<&str> {
    setting.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

/// Whether the settings guard changes this setting for graphs that are built later.
pub fn is_for_later(setting: &str) -> bool {
    setting == policy::GRAPH_THRESHOLD || path_of(setting).is_some()
}

/// A field that holds vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'m> {
    /// Its path.
    pub path: String,
    /// Its definition.
    pub definition: &'m Value,
}

/// The fields of this type in a mapping.
pub fn fields<'m>(mapping: &'m Value, kind: &str) -> Vec<Field<'m>> {
    let mut found = Vec::new();
    let mut left = vec![(mapping, String::new(), 0)];
    while let Some((above, prefix, depth)) = left.pop() {
        let properties = above.get("properties").and_then(Value::as_object);
        for (name, definition) in properties.into_iter().flatten() {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            if definition.get("type").is_some_and(|found| found == kind) {
                found.push(Field { path, definition });
            } else if depth < DEPTH_MAX {
                left.push((definition, path, depth + 1));
            }
        }
    }
    found
}

/// The fields of a mapping of Elasticsearch that are indexed and have a known length, so that their
/// `index_options` are known, and are not flat.
pub fn with_graph(mapping: &Value) -> Vec<Field<'_>> {
    let mut found = fields(mapping, "dense_vector");
    found.retain(|field| {
        let is_indexed = field.definition.get("index") != Some(&Value::Bool(false));
        is_indexed && field.definition.get("dims").is_some() && !is_flat(field.definition)
    });
    found
}

fn is_flat(definition: &Value) -> bool {
    let kind = definition.pointer("/index_options/type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("flat"))
}

/// A definition with other `index_options`.
pub fn with_options(definition: &Value, options: Value) -> Value {
    let mut definition = definition.clone();
    if let Some(definition) = definition.as_object_mut() {
        definition.insert("index_options".to_owned(), options);
    }
    definition
}

/// The options of a field without a graph.
pub fn flat() -> Value {
    json!({"type": "flat"})
}

/// A mapping whose fields have no graph, and whose `_meta` has the `index_options` that are wanted
/// for them. The definitions are those of `whole`, the mapping with that of templates: a definition
/// in a request replaces the one of a template.
pub fn without_graphs(mapping: Option<Value>, whole: &Value, wanted: &BTreeMap<String, Value>) -> Value {
    let mut mapping = mapping.filter(Value::is_object).unwrap_or_else(|| json!({}));
    let flattened =
        |path: &str, definition: &Value| wanted.contains_key(path).then(|| with_options(definition, flat()));
    merge(&mut mapping, &only(whole, &flattened));
    let mut meta = mapping.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    meta.insert(MARK.to_owned(), json!(wanted));
    mapping["_meta"] = Value::Object(meta);
    mapping
}

/// The changes that [`without_graphs`] has made to an index, by its mapping: none where they were
/// put back.
pub fn made(mapping: &Value) -> Changes {
    let wanted = mapping.get("_meta").and_then(|meta| meta.get(MARK)).and_then(Value::as_object);
    let mut found = fields(mapping, "dense_vector");
    found.retain(|field| is_flat(field.definition));
    let change = |field: Field<'_>| {
        let wanted = wanted?.get(&field.path)?;
        let applied = text(field.definition.get("index_options")?);
        Some((setting(&field.path), Change { original: Some(text(wanted)), applied }))
    };
    found.into_iter().filter_map(change).collect()
}

/// The `index_options` of all fields, by the names that the settings guard knows them by.
pub fn shown(mapping: &Value) -> BTreeMap<String, String> {
    let found = fields(mapping, "dense_vector").into_iter();
    found.filter_map(|field| Some((setting(&field.path), text(field.definition.get("index_options")?)))).collect()
}

/// The change of a mapping that gives fields these `index_options`, by the names of the settings
/// guard, and takes the note of them out of `_meta`.
pub fn update(mapping: &Value, values: &BTreeMap<String, Option<String>>) -> Value {
    let options = |path: &str, definition: &Value| {
        let text = values.get(&setting(path))?.as_deref()?;
        Some(with_options(definition, serde_json::from_str(text).ok()?))
    };
    let mut update = only(mapping, &options);
    let Some(meta) = mapping.get("_meta").and_then(Value::as_object).filter(|meta| meta.contains_key(MARK)) else {
        return update;
    };
    let mut meta = meta.clone();
    let mut waiting = made(mapping);
    waiting.retain(|name, _| !values.contains_key(name));
    let left = meta.get_mut(MARK).and_then(Value::as_object_mut).is_some_and(|noted| {
        noted.retain(|path, _| waiting.contains_key(&setting(path)));
        !noted.is_empty()
    });
    if !left {
        meta.remove(MARK);
    }
    // The servers replace all of it.
    update["_meta"] = Value::Object(meta);
    update
}

/// A mapping as its user wants it, if graphs of it are to be built later.
pub fn put_back(mapping: &mut Value) {
    let values = made(mapping).into_iter().map(|(name, change)| (name, change.original)).collect();
    let update = update(mapping, &values);
    merge(mapping, &update);
    let Some(mapping) = mapping.as_object_mut() else { return };
    match update.get("_meta").and_then(Value::as_object) {
        Some(meta) if meta.is_empty() => drop(mapping.remove("_meta")),
        Some(meta) => drop(mapping.insert("_meta".to_owned(), Value::Object(meta.clone()))),
        None => {}
    }
}

/// The part of a mapping that leads to the fields which `change` has a definition for. Objects keep
/// their type: a nested one has to be named as such.
fn only(mapping: &Value, change: &dyn Fn(&str, &Value) -> Option<Value>) -> Value {
    below(mapping, "", 0, change).map_or_else(|| json!({}), |properties| json!({"properties": properties}))
}

fn below(
    above: &Value,
    prefix: &str,
    depth: usize,
    change: &dyn Fn(&str, &Value) -> Option<Value>,
) -> Option<Map<String, Value>> {
    let properties = above.get("properties").and_then(Value::as_object).filter(|_| depth <= DEPTH_MAX)?;
    let mut kept = Map::new();
    for (name, definition) in properties {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if let Some(changed) = change(&path, definition) {
            kept.insert(name.clone(), changed);
        } else if let Some(inner) = below(definition, &path, depth + 1, change) {
            let mut object = Map::new();
            object.extend(definition.get("type").map(|kind| ("type".to_owned(), kind.clone())));
            object.insert("properties".to_owned(), Value::Object(inner));
            kept.insert(name.clone(), Value::Object(object));
        }
    }
    (!kept.is_empty()).then_some(kept)
}

/// Puts definitions into a mapping. Those of the same name are replaced, objects are merged.
fn merge(into: &mut Value, other: &Value) {
    let Some(properties) = other.get("properties").and_then(Value::as_object) else { return };
    if !into.get("properties").is_some_and(Value::is_object) {
        into["properties"] = json!({});
    }
    for (name, definition) in properties {
        let place = &mut into["properties"][name];
        if definition.get("properties").is_some() && place.is_object() {
            merge(place, definition);
        } else {
            *place = definition.clone();
        }
    }
}

/// JSON text that does not depend on the order of names, which servers may change.
fn text(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, String> = object.iter().map(|(name, value)| (name, text(value))).collect();
            let members: Vec<String> = sorted.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

/// Whether OpenSearch of this version can be told to build the graphs of a mapping later.
///
/// # Errors
/// Why not.
pub fn can_wait(mapping: &Value, version: (u32, u32)) -> Result<(), String> {
    let found = fields(mapping, "knn_vector");
    if found.is_empty() {
        return Err("no field of it is a knn_vector".to_owned());
    }
    if version < FAISS_SINCE {
        let (major, minor) = FAISS_SINCE;
        return Err(format!("OpenSearch before {major}.{minor} builds graphs while it loads"));
    }
    let of_lucene = |field: &Field<'_>| field.definition.pointer("/method/engine").is_some_and(|name| name == "lucene");
    if version < LUCENE_SINCE && found.iter().all(of_lucene) {
        let (major, minor) = LUCENE_SINCE;
        return Err(format!("the engine lucene of OpenSearch before {major}.{minor} builds graphs while it loads"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_for_later_are_known() {
        assert!(is_for_later(policy::GRAPH_THRESHOLD) && is_for_later(&setting("o.w")));
        assert!(!is_for_later(policy::REFRESH));
    }

    fn vector(options: &Value) -> Value {
        json!({"type": "dense_vector", "dims": 64, "index": true, "similarity": "cosine", "index_options": options})
    }

    /// `v`, and `o.w` in a nested object, beside others.
    fn mapping(v: &Value, w: &Value) -> Value {
        json!({"dynamic": "strict", "properties": {
            "v": vector(v), "n": {"type": "long"},
            "o": {"type": "nested", "dynamic": "false", "properties": {"w": vector(w), "k": {"type": "keyword"}}},
        }})
    }

    fn int8() -> Value {
        json!({"type": "int8_hnsw", "m": 16, "ef_construction": 100})
    }

    fn wanted() -> BTreeMap<String, Value> {
        BTreeMap::from([("v".to_owned(), int8()), ("o.w".to_owned(), json!({"type": "hnsw"}))])
    }

    #[test]
    fn only_fields_with_a_graph_can_wait_for_it() {
        let off = json!({"type": "dense_vector", "dims": 64, "index": false});
        let unsure = json!({"type": "dense_vector"});
        let plain = json!({"type": "dense_vector", "dims": 8});
        let mapping = json!({"properties": {
            "a": vector(&int8()), "b": vector(&json!({"type": "int8_flat"})), "c": off, "d": unsure, "e": plain,
        }});
        let paths: Vec<String> = with_graph(&mapping).into_iter().map(|field| field.path).collect();
        assert_eq!(paths, ["a", "e"]);
    }

    #[test]
    fn a_mapping_without_graphs_notes_what_is_wanted_and_is_put_back_in_one_request() {
        let whole = mapping(&int8(), &json!({"type": "hnsw"}));
        // Some of it comes from a template.
        let given = json!({"_meta": {"mine": 1}, "properties": {"v": vector(&int8()), "n": {"type": "long"}}});
        let created = without_graphs(Some(given), &whole, &wanted());
        assert_eq!(created["_meta"], json!({"mine": 1, "inrush_graph": wanted()}));
        assert_eq!(created["properties"]["v"], vector(&flat()));
        assert_eq!(created["properties"]["o"], json!({"type": "nested", "properties": {"w": vector(&flat())}}));
        assert_eq!(created["properties"]["n"], json!({"type": "long"}));

        let mut index = mapping(&flat(), &flat());
        index["_meta"] = created["_meta"].clone();
        let changes = made(&index);
        let flat_text = r#"{"type":"flat"}"#.to_owned();
        let int8_text = r#"{"ef_construction":100,"m":16,"type":"int8_hnsw"}"#.to_owned();
        let hnsw_text = r#"{"type":"hnsw"}"#.to_owned();
        let change = |original: &String| Change { original: Some(original.clone()), applied: flat_text.clone() };
        let expected = [(setting("v"), change(&int8_text)), (setting("o.w"), change(&hnsw_text))];
        assert_eq!(changes, expected.into_iter().collect());
        assert_eq!(shown(&index)[&setting("v")], flat_text);

        let values = changes.into_iter().map(|(name, change)| (name, change.original)).collect();
        let update = update(&index, &values);
        assert_eq!(update["_meta"], json!({"mine": 1}));
        assert_eq!(update["properties"]["v"], vector(&int8()));
        assert_eq!(
            update["properties"]["o"],
            json!({"type": "nested", "properties": {"w": vector(&json!({"type": "hnsw"}))}})
        );
        assert_eq!(update["properties"].as_object().map(Map::len), Some(2));
    }

    #[test]
    fn what_was_put_back_is_no_change_any_more() {
        let mut index = mapping(&int8(), &flat());
        assert!(made(&index).is_empty(), "the field is flat by the wish of its user");
        index["_meta"] = json!({"inrush_graph": wanted()});
        assert_eq!(made(&index).into_keys().collect::<Vec<_>>(), [setting("o.w")]);
        let mut wanted_mapping = index.clone();
        put_back(&mut wanted_mapping);
        assert_eq!(wanted_mapping, mapping(&int8(), &json!({"type": "hnsw"})));
        // One of two is put back.
        let mut index = mapping(&flat(), &flat());
        index["_meta"] = json!({"inrush_graph": wanted()});
        let values = BTreeMap::from([(setting("v"), Some(text(&int8())))]);
        let update = update(&index, &values);
        assert_eq!(update["_meta"], json!({"inrush_graph": {"o.w": {"type": "hnsw"}}}));
    }

    #[test]
    fn names_of_the_guard_name_fields() {
        assert_eq!(path_of(&setting("a.b c")), Some("a.b c"));
        assert_eq!(path_of("index.refresh_interval"), None);
    }

    #[test]
    fn the_order_of_names_does_not_matter() {
        let one = json!({"type": "hnsw", "rescore": {"b": 1, "a": [2.0, "x"]}});
        let other = json!({"rescore": {"a": [2.0, "x"], "b": 1}, "type": "hnsw"});
        assert_eq!(text(&one), text(&other));
        assert_eq!(serde_json::from_str::<Value>(&text(&one)).unwrap(), one);
    }

    #[test]
    fn the_engine_and_the_version_decide_on_opensearch() {
        let faiss = json!({"type": "knn_vector", "dimension": 8});
        let lucene = json!({"type": "knn_vector", "dimension": 8, "method": {"name": "hnsw", "engine": "lucene"}});
        let one = json!({"properties": {"v": faiss}});
        let other = json!({"properties": {"v": lucene}});
        let both = json!({"properties": {"v": faiss, "w": lucene}});
        assert_eq!(can_wait(&one, (2, 18)), Ok(()));
        assert!(can_wait(&one, (2, 17)).unwrap_err().contains("before 2.18"));
        assert!(can_wait(&other, (3, 8)).unwrap_err().contains("before 3.9"));
        assert_eq!([can_wait(&other, (3, 9)), can_wait(&both, (2, 19))], [Ok(()), Ok(())]);
        assert!(can_wait(&json!({}), (3, 9)).unwrap_err().contains("knn_vector"));
    }
}
