//! What an Elasticsearch cluster lets become of a field without a graph of its vectors.

use std::collections::BTreeMap;

use http::Method;
use inrush_core::vectors::graph::{Field, flat, with_options};
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use super::product::ClusterInfo;
use super::{index, trial, vectors};
use crate::transport::{Transport, path_segment};

/// Finds out which `index_options` the cluster gives these fields of a new index `index`, by their
/// paths, and shows that a field without a graph can get them later: an index of another name has
/// each field in both forms, and its mapping is changed. A caller that stops halfway calls
/// [`trial::clean_up`].
///
/// # Errors
/// Why a field cannot get them later.
pub async fn try_out(
    transport: &Transport,
    info: &ClusterInfo,
    index: &str,
    fields: &[Field<'_>],
    run_id: &str,
) -> Result<BTreeMap<String, Value>, String> {
    // Graphs while loading are always right, so nothing waits long.
    let brief = transport.brief();
    vectors::delete_left(&brief, index).await;
    let Some(trial) = trial::trial_name(&brief, index, run_id).await else {
        return Err("every index gets an alias from a template".to_owned());
    };
    let both = |(at, field): (usize, &Field<'_>)| {
        [(wanted(at), field.definition.clone()), (later(at), with_options(field.definition, flat()))]
    };
    let properties: Map<String, Value> = fields.iter().enumerate().flat_map(both).collect();
    if let Err(error) = vectors::create(&brief, info, (trial.as_str(), index), properties).await {
        if error.may_be_done() {
            // The index may exist. The warning of its creation names it.
            let _ = index::delete(&brief, &trial).await;
        }
        return Err(error.to_string());
    }
    let tried = change(&brief, &trial, fields).await;
    if let Err(error) = index::delete(transport, &trial).await {
        tracing::warn!("the index {trial}, which was created for a check, is left; delete it: {error}");
    }
    tried
}

fn wanted(at: usize) -> String {
    format!("w{at}")
}

fn later(at: usize) -> String {
    format!("v{at}")
}

/// Gives the fields of the index `trial` that have no graph the options of those that have one.
async fn change(transport: &Transport, trial: &str, fields: &[Field<'_>]) -> Result<BTreeMap<String, Value>, String> {
    let options = |mapping: &Value, name: &str| mapping.pointer(&format!("/properties/{name}/index_options")).cloned();
    let before = mapping(transport, trial).await.map_err(|error| error.to_string())?;
    // A server that shows no options has only this one.
    let given = |at| options(&before, &wanted(at)).unwrap_or_else(|| json!({"type": "hnsw"}));
    let all: Vec<Value> = (0..fields.len()).map(given).collect();
    let changed = all.iter().zip(fields).enumerate();
    let properties: Map<String, Value> =
        changed.map(|(at, (options, field))| (later(at), with_options(field.definition, options.clone()))).collect();
    let what = "giving a field of vectors a graph";
    let path = format!("/{}/_mapping", path_segment(trial));
    let body = json!({"properties": properties});
    transport.demand(what, Method::PUT, &path, Some(&body)).await.map_err(|error| error.to_string())?;
    let after = mapping(transport, trial).await.map_err(|error| error.to_string())?;
    for (at, options_of) in all.iter().enumerate() {
        let shown = options(&before, &wanted(at));
        if shown.is_some() && options(&after, &later(at)) != shown {
            return Err(format!("a field that was to get {options_of} has other index_options"));
        }
    }
    Ok(fields.iter().map(|field| field.path.clone()).zip(all).collect())
}

/// The mapping of an index.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn mapping(transport: &Transport, index: &str) -> Result<Value, ClusterError> {
    let what = format!("reading the mapping of {index}");
    let mut body = transport.demand(&what, Method::GET, &format!("/{}/_mapping", path_segment(index)), None).await?;
    Ok(body.get_mut(index).and_then(|index| index.get_mut("mappings")).map(Value::take).unwrap_or_default())
}
