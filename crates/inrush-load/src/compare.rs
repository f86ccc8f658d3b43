//! The comparison of `on_conflict=compare`: whether the index holds the same document under the id
//! of a 409.

use inrush_cluster::api::documents::{DocumentKey, mget};
use inrush_cluster::transport::Transport;
use inrush_core::flow::{Comparison, Item};
use serde::Deserialize;

/// Compares each item with the document of its id, in the order of `items`. Documents are compared
/// as values: the order of keys does not matter, `1.50` equals `1.5`, and `1.0` differs from `1`.
pub(crate) async fn compare(transport: &Transport, index: Option<&str>, items: &[Item]) -> Vec<Comparison> {
    let keys: Option<Vec<DocumentKey>> = items.iter().map(|item| key(index, item)).collect();
    let Some(keys) = keys else {
        return vec![Comparison::Failed("the action line has no id".to_owned()); items.len()];
    };
    match mget(transport, &keys).await {
        Err(e) => vec![Comparison::Failed(e.to_string()); items.len()],
        Ok(found) => items
            .iter()
            .zip(found)
            .map(|(item, source)| {
                let ours = serde_json::from_slice::<serde_json::Value>(&item.document);
                let theirs = source.map(|raw| serde_json::from_str::<serde_json::Value>(raw.get()));
                match (ours, theirs) {
                    (Ok(ours), Some(Ok(theirs))) if ours == theirs => Comparison::Equal,
                    (Ok(_) | Err(_), _) => Comparison::Different,
                }
            })
            .collect(),
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
    let line: std::collections::BTreeMap<String, Meta> = serde_json::from_slice(&item.action).ok()?;
    let meta = line.into_values().next()?;
    Some(DocumentKey { index: meta.index.or_else(|| index.map(str::to_owned))?, id: meta.id?, routing: meta.routing })
}
