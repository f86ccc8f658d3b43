//! What a load writes into the mapping of an index that it makes for an alias, in `_meta.inrush`:
//! the alias, and the index before it. So the indices of an alias are known later, by any machine.

use std::collections::BTreeMap;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// The key below `_meta`.
const KEY: &str = "inrush";

/// The mark of an index that was made for an alias.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The alias.
    pub alias: String,
    /// The index. A copy of another name has the mark without being the index.
    pub index: String,
    /// Time (UTC) at which the load began.
    pub made: String,
    /// Time (UTC) at which the index was complete. Absent of an index whose load has failed, or
    /// still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<String>,
    /// UUID of the complete index. A restored copy of its name has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// What the load has left out, where it has read all of its documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// The index that the alias stood for before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
}

/// The index that an alias stood for before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Its name.
    pub index: String,
    /// Its UUID, which tells it from a later index of its name.
    pub uuid: String,
}

/// Documents that are not in an index at the end of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Documents of the index then.
    pub docs: u64,
    /// Dead letters.
    pub letters: u64,
}

/// The mapping with the mark.
pub fn marked(mapping: Option<Value>, mark: &Mark) -> Value {
    let mut mapping = mapping.filter(Value::is_object).unwrap_or_else(|| json!({}));
    mapping["_meta"] = with(mapping.get("_meta"), mark);
    mapping
}

/// Takes the mark out of a mapping that is given to another index.
pub fn unmark(mapping: &mut Value) {
    let Some(mapping) = mapping.as_object_mut() else { return };
    let Some(meta) = mapping.get_mut("_meta").and_then(Value::as_object_mut) else { return };
    if meta.remove(KEY).is_some() && meta.is_empty() {
        mapping.remove("_meta");
    }
}

fn with(meta: Option<&Value>, mark: &Mark) -> Value {
    let mut meta = meta.and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    // A mark is plain text, which has a JSON form.
    meta.insert(KEY.to_owned(), serde_json::to_value(mark).unwrap_or_default());
    Value::Object(meta)
}

/// Marks an index that exists. The mark that it has, if any, is handed to `change`, which returns
/// the new one.
///
/// # Errors
/// [`ClusterError`] if a request fails.
pub async fn mark(
    transport: &Transport,
    index: &str,
    change: impl FnOnce(Option<Mark>) -> Mark,
) -> Result<(), ClusterError> {
    let meta = meta(transport, index).await?.remove(index);
    let has = meta.as_ref().and_then(|meta| of(index, meta));
    let body = json!({ "_meta": with(meta.as_ref(), &change(has)) });
    let what = format!("noting the end of the load in the mapping of {index}");
    transport.demand(&what, Method::PUT, &format!("/{}/_mapping", path_segment(index)), Some(&body)).await.map(drop)
}

/// The marks of the indices behind `name`, by index: an index, an alias, or a pattern. Empty where
/// there are none.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn marks(transport: &Transport, name: &str) -> Result<BTreeMap<String, Mark>, ClusterError> {
    let found = meta(transport, name).await?;
    Ok(found.into_iter().filter_map(|(index, meta)| of(&index, &meta).map(|mark| (index, mark))).collect())
}

async fn meta(transport: &Transport, name: &str) -> Result<BTreeMap<String, Value>, ClusterError> {
    let what = format!("reading the mapping of {name}");
    let path = format!("/{}/_mapping", path_segment(name));
    let body = transport.find(&what, Method::GET, &path).await?.unwrap_or_default();
    let meta = |index: &Value| index.pointer("/mappings/_meta").cloned();
    let indices = body.as_object().into_iter().flatten();
    Ok(indices.filter_map(|(name, index)| Some((name.clone(), meta(index)?))).collect())
}

/// The mark of this index. None of a copy of another index.
fn of(index: &str, meta: &Value) -> Option<Mark> {
    let mark: Mark = serde_json::from_value(meta.get(KEY)?.clone()).ok()?;
    (mark.index == index).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_beside_what_the_user_wrote() {
        let before = Some(Before { index: "a-1".into(), uuid: "u".into() });
        let mark = Mark {
            alias: "a".into(),
            index: "a-2".into(),
            made: "2026".into(),
            complete: None,
            uuid: None,
            missing: None,
            before,
        };
        let own = json!({"_meta": {"owner": "x"}, "dynamic": "strict"});
        let mut made = marked(Some(own.clone()), &mark);
        assert_eq!(made["_meta"]["owner"], "x");
        assert_eq!(of("a-2", &made["_meta"]), Some(mark.clone()));
        assert_eq!(of("a-3", &made["_meta"]), None, "a copy");
        unmark(&mut made);
        assert_eq!(made, own);
        let mut bare = marked(None, &mark);
        unmark(&mut bare);
        assert_eq!(bare, json!({}));
    }
}
