//! `--on-conflict compare`: is what the index holds under an id the document that met the 409?

use inrush_cluster::api::documents::{DocumentKey, mget};
use inrush_cluster::transport::Transport;
use inrush_core::flow::{Comparison, Item};
use serde::Deserialize;

/// Compares each item with the document of its id, as values: the order of keys does not matter, and `1.50` is `1.5`, but `1.0` is
/// not `1`. In the order of `items`.
pub(crate) async fn compare(transport: &Transport, index: Option<&str>, items: &[Item]) -> Vec<Comparison> {
    let keys: Option<Vec<DocumentKey>> = items.iter().map(|item| key(index, item)).collect();
    let Some(keys) = keys else {
        return vec![Comparison::Failed("its action line names no id".to_owned()); items.len()];
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
