//! The mapping of an index while documents add fields to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::fields::mapping::Mapping;

/// The mapping of an index that is built: all shards and writers of the index share one.
///
/// A document with fields that it does not have adds them, where the mapping is dynamic, as on a
/// server: the first value of a field makes its type, and the documents after it are indexed by
/// that. Which of several documents is the first depends on the threads.
#[derive(Debug)]
pub struct LiveMapping {
    current: Mutex<Current>,
    is_fixed: bool,
}

#[derive(Debug)]
struct Current {
    mapping: Arc<Mapping>,
    /// Whether it has fields that the index was not made with.
    has_grown: bool,
}

impl LiveMapping {
    /// A mapping to which documents may add fields.
    #[must_use]
    pub fn new(mapping: Mapping) -> Self {
        Self { current: Mutex::new(Current { mapping: Arc::new(mapping), has_grown: false }), is_fixed: false }
    }

    /// A mapping that stays as it is: a document with a field that a server would add is
    /// [`Refused::Unsupported`](crate::Refused::Unsupported). For the shards of an index that are
    /// built apart from each other.
    #[must_use]
    pub fn fixed(mapping: Mapping) -> Self {
        Self { is_fixed: true, ..Self::new(mapping) }
    }

    /// The fields that documents have added, if there are any, as a mapping that can be merged into
    /// that of the index. The index has to get it before anything else adds a field to it.
    #[must_use]
    pub fn new_fields(&self) -> Option<Value> {
        let current = self.lock();
        current.has_grown.then(|| {
            let mut added = current.mapping.added.clone();
            name_nested(&mut added, &current.mapping.definition);
            leave_out_doubles(&mut added);
            Value::Object(added)
        })
    }

    pub(crate) fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    pub(crate) fn current(&self) -> Arc<Mapping> {
        Arc::clone(&self.lock().mapping)
    }

    /// Puts `grown` into the place of `before`. Whether that was the mapping until now.
    pub(crate) fn replace(&self, before: &Arc<Mapping>, grown: &Arc<Mapping>) -> bool {
        let mut current = self.lock();
        let is_newest = Arc::ptr_eq(&current.mapping, before);
        if is_newest {
            *current = Current { mapping: Arc::clone(grown), has_grown: true };
        }
        is_newest
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        // It is replaced as a whole.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says of nested objects in which fields are new that they are nested. What else they have, and
/// other fields, the servers need not hear again, and do not always take again.
fn name_nested(added: &mut Map<String, Value>, definition: &Map<String, Value>) {
    let Some(members) = definition.get("properties").and_then(Value::as_object) else { return };
    for (name, below) in added.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let (Value::Object(below), Some(Value::Object(defined))) = (below, members.get(name)) else { continue };
        if defined.get("type").is_some_and(|kind| kind == "nested") {
            for parameter in ["type", "include_in_parent", "include_in_root"] {
                below.extend(defined.get(parameter).map(|value| (parameter.to_owned(), value.clone())));
            }
        }
        name_nested(below, defined);
    }
}

/// Leaves `include_in_root` out where `include_in_parent` does the same, of nested objects that are
/// in no other object. The servers do so with every update of a mapping, and OpenSearch refuses one
/// that says it again, or that does not say it of the others.
fn leave_out_doubles(mapping: &mut Map<String, Value>) {
    let members = mapping.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for below in members.filter_map(|(_, value)| value.as_object_mut()) {
        let is_nested = below.get("type").is_some_and(|kind| kind == "nested");
        if is_nested && below.get("include_in_parent") == Some(&Value::Bool(true)) {
            below.remove("include_in_root");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::leave_out_doubles;

    #[test]
    fn what_the_servers_drop_is_left_out() {
        let parent = json!({"type": "nested", "include_in_parent": true, "properties": {}});
        let root = json!({"type": "nested", "include_in_root": true, "properties": {}});
        let both = json!({"type": "nested", "include_in_parent": true, "include_in_root": true, "properties": {}});
        let object = json!({"properties": {"n": both}});
        let mapping = |first: &Value| json!({"properties": {"first": first, "root": root, "o": object}});
        let mut definition = mapping(&both).as_object().unwrap().clone();
        leave_out_doubles(&mut definition);
        assert_eq!(Value::Object(definition), mapping(&parent));
    }
}
