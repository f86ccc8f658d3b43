//! The comparison of `on_conflict=compare`: whether the index holds the same document under the id
//! of a 409.

use std::collections::BTreeMap;

use inrush_cluster::api::ClusterError;
use inrush_cluster::api::documents::{DocumentKey, mget};
use inrush_cluster::api::source_kept::SourceKept;
use inrush_cluster::transport::{Transport, path_segment};
use inrush_core::OnConflict;
use inrush_core::flow::{Comparison, Item};
use serde::Deserialize;

use crate::config::LoadConfig;
use crate::error::LoadError;

/// Refuses `on_conflict=compare` where the index does not return documents as they were sent. An
/// index that does not exist yet has none to compare with.
pub(crate) async fn check(transport: &Transport, config: &LoadConfig) -> Result<(), LoadError> {
    let (OnConflict::Compare, Some(index)) = (config.on_conflict, config.index.fixed()) else { return Ok(()) };
    match unlike(transport, index).await? {
        Some(why) if !config.create.recreate => Err(LoadError::usage(format!(
            "option `on_conflict` is compare, but {why}, so an equal document would count as another one; give skip \
             or fail instead"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Why documents of an index, alias or data stream cannot be compared with those that were sent.
/// `None` too if it does not exist, or the user may not ask.
async fn unlike(transport: &Transport, index: &str) -> Result<Option<String>, ClusterError> {
    let path = format!("/{}?include_defaults=true&filter_path={}", path_segment(index), SourceKept::PATHS);
    let (status, body) = transport.get_json(&path).await?;
    let indices = body.as_object().filter(|_| status == 200).into_iter().flatten();
    Ok(indices
        .into_iter()
        .find_map(|(name, body)| SourceKept::of(body).why_unlike().map(|why| format!("the index {name} {why}"))))
}

/// Compares each item with the document of its id, in the order of `items`. Documents are compared
/// as values: the order of keys does not matter, `1.50` equals `1.5`, and `1.0` differs from `1`.
pub(crate) async fn compare(transport: &Transport, index: Option<&str>, items: &[Item]) -> Vec<Comparison> {
    let keys: Option<Vec<DocumentKey>> = items.iter().map(|item| key(index, item)).collect();
    let Some(keys) = keys else {
        return vec![Comparison::Failed("the action line has no id".to_owned()); items.len()];
    };
    match mget(transport, &keys).await {
        Err(e) => vec![Comparison::Failed(e.to_string()); items.len()],
        Ok(found) => {
            let mut results = Vec::with_capacity(items.len());
            let mut asked = BTreeMap::new();
            for ((item, key), source) in items.iter().zip(&keys).zip(found) {
                let ours = serde_json::from_slice::<serde_json::Value>(&item.document);
                let theirs = source.map(|raw| serde_json::from_str::<serde_json::Value>(raw.get()));
                results.push(match (ours, theirs) {
                    (Ok(ours), Some(Ok(theirs))) if ours == theirs => Comparison::Equal,
                    (Ok(_) | Err(_), _) => different(transport, key, &mut asked).await,
                });
            }
            results
        }
    }
}

/// The result for a document that differs, which is no proof where the index rebuilds documents: a
/// template may have made it so during the load. `asked`: what is known of indices.
async fn different(
    transport: &Transport,
    key: &DocumentKey,
    asked: &mut BTreeMap<String, Option<String>>,
) -> Comparison {
    if !asked.contains_key(&key.index) {
        let why = unlike(transport, &key.index).await.unwrap_or_else(|error| Some(error.to_string()));
        asked.insert(key.index.clone(), why);
    }
    match asked.get(&key.index).cloned().flatten() {
        Some(why) => Comparison::Failed(why),
        None => Comparison::Different,
    }
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(rename = "_id")]
    id: Option<String>,
    routing: Option<String>,
}

fn key(index: Option<&str>, item: &Item) -> Option<DocumentKey> {
    let line: BTreeMap<String, Meta> = serde_json::from_slice(&item.action).ok()?;
    let meta = line.into_values().next()?;
    Some(DocumentKey { index: meta.index.or_else(|| index.map(str::to_owned))?, id: meta.id?, routing: meta.routing })
}
