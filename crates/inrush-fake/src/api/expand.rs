//! Expressions for indices.

use serde_json::{Map, Value};

use crate::error::ServerError;
use crate::model::Cluster;
use crate::pattern;

/// The indices of an expression: names with commas between them, `*`, aliases and data streams.
///
/// # Errors
///
/// 404 for a name without `*` that does not exist.
pub(super) fn expand(cluster: &Cluster, expression: &str) -> Result<Vec<String>, ServerError> {
    let mut names = Vec::new();
    for part in expression.split(',').filter(|part| !part.is_empty()) {
        let part = if part == "_all" { "*" } else { part };
        let mut is_found = false;
        for (name, index) in &cluster.indices {
            let hidden = name.starts_with('.') && !part.starts_with('.');
            let by_name = pattern::matches(part, name) && !(hidden && part.contains('*'));
            let by_alias = index.aliases.keys().any(|alias| pattern::matches(part, alias));
            let by_stream = cluster
                .data_streams
                .iter()
                .any(|(stream, state)| pattern::matches(part, stream) && state.indices.contains(name));
            if by_name || by_alias || by_stream {
                is_found = true;
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        if !is_found && !part.contains('*') {
            return Err(ServerError::index_not_found(part, "index_or_alias"));
        }
    }
    Ok(names)
}

/// The one index of a request for a single document.
///
/// # Errors
///
/// 404 for a missing index, 400 for a name of several indices.
pub(super) fn single(cluster: &Cluster, name: &str) -> Result<String, ServerError> {
    let resource_type = if cluster.flavor.is_elasticsearch_8() { "index_or_alias" } else { "index_expression" };
    let names = expand(cluster, name).map_err(|_| ServerError::index_not_found(name, resource_type))?;
    match names.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(ServerError::index_not_found(name, resource_type)),
        _ => Err(ServerError::illegal_argument(format!(
            "alias [{name}] has more than one index associated with it [{}], can't execute a single index op",
            names.join(", ")
        ))),
    }
}

/// An object with a value for each index; an index without a value is left out.
pub(super) fn by_index(names: Vec<String>, mut value: impl FnMut(&str) -> Option<Value>) -> Value {
    let object: Map<String, Value> =
        names.into_iter().filter_map(|name| value(&name).map(|value| (name, value))).collect();
    Value::Object(object)
}
