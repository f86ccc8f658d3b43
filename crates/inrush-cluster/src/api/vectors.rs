//! What a cluster takes of vectors.

use std::time::{Duration, UNIX_EPOCH};

use http::Method;
use inrush_core::vectors::{Element, VectorField, definitions, push_packed, push_packed_bytes};
use inrush_core::{FieldTypes, KnownProduct};
use serde_json::{Map, Value, json};

use super::error::ClusterError;
use super::index::{self, CreateIndex, Creation, WAIT_FOR_NO_SHARD};
use super::product::{ClusterInfo, Product, Version};
use super::source_kept::SourceKept;
use super::trial;
use crate::clock;
use crate::transport::{Transport, path_segment};

/// The first version of Elasticsearch that takes vectors as base64.
const PACKED_SINCE: Version = Version::new(9, 3, 0);

/// The plugin of OpenSearch that has vectors.
const KNN: &str = "opensearch-knn";

/// The key of `_meta` by which an index is known that was created for a check of vectors. Its value
/// is the index whose vectors were checked.
const MARK: &str = "inrush_trial_of";

/// Age after which such an index is one that a load has left. A check takes seconds.
const LEFT_AFTER: Duration = Duration::from_secs(600);

/// Whether vectors of an index can be sent packed.
#[derive(Clone, Debug, PartialEq)]
pub enum Packed {
    /// Yes: the cluster gave a vector back as it was packed. The fields are those of the index.
    Taken(FieldTypes),
    /// There is nothing to pack.
    Nothing,
    /// No, because of what the index keeps of documents. The cluster was not asked.
    Unfit(String),
    /// No, for this reason of the cluster.
    Not(String),
}

/// Whether an OpenSearch cluster has vectors: the plugin for them is on all nodes.
///
/// # Errors
/// Why it cannot be asked.
pub async fn has_knn(transport: &Transport) -> Result<bool, String> {
    let path = "/_nodes/plugins?filter_path=nodes.*.name,nodes.*.plugins.name";
    let nodes = transport.demand("asking for plugins", Method::GET, path, None).await.map_err(|e| e.to_string())?;
    let nodes = nodes.get("nodes").and_then(Value::as_object).ok_or("the answer names no node")?;
    let has = |node: &Value| {
        let plugins = node.get("plugins").and_then(Value::as_array);
        plugins.is_some_and(|plugins| plugins.iter().any(|plugin| plugin.get("name").is_some_and(|name| name == KNN)))
    };
    Ok(!nodes.is_empty() && nodes.values().all(has))
}

/// Whether Elasticsearch is the distribution `oss`, which has no vectors and ended with 7.10. False
/// where it does not tell.
pub async fn is_oss(transport: &Transport) -> bool {
    let path = "/?filter_path=version.build_flavor";
    let found = transport.demand("asking for the distribution", Method::GET, path, None).await;
    found.is_ok_and(|root| root.pointer("/version/build_flavor").is_some_and(|flavor| flavor == "oss"))
}

impl ClusterInfo {
    /// Whether vectors may be sent as base64, by product and version. [`takes_packed`] proves it.
    pub fn may_take_packed_vectors(&self) -> bool {
        let is_new = self.serverless || self.version.is_some_and(|version| version >= PACKED_SINCE);
        self.product == Product::Elasticsearch && is_new
    }

    /// The server of a mapping with vectors, if it is known.
    #[doc(hidden)]
    pub fn vector_server(&self) -> Option<inrush_core::vectors::VectorServer> {
        let product = match self.product {
            Product::OpenSearch => KnownProduct::OpenSearch,
            Product::Elasticsearch => KnownProduct::Elasticsearch,
            Product::Unknown => return None,
        };
        let version = self.version.filter(|_| !self.serverless).map(|version| (version.major, version.minor));
        Some(inrush_core::vectors::VectorServer { product, version })
    }
}

/// Finds out whether vectors of `index` can be sent packed: the same fields, in an index of another
/// name, are given a packed vector each, and the cluster has to give it back. Nothing of `index` is
/// changed. A caller that stops halfway calls [`trial::clean_up`].
pub async fn takes_packed(transport: &Transport, info: &ClusterInfo, index: &str, run_id: &str) -> Packed {
    // Numbers are always right, so nothing waits long.
    let brief = transport.brief();
    let (mapping, kept) = match look(&brief, index).await {
        Ok(found) => found,
        Err(error) => return Packed::Not(error.to_string()),
    };
    let packable = |definition: &&Value| VectorField::of(definition).is_some_and(|field| field.is_packable());
    let definitions: Vec<&Value> = definitions(&mapping).into_iter().filter(packable).collect();
    if definitions.is_empty() || !info.may_take_packed_vectors() {
        return Packed::Nothing;
    }
    if kept != SourceKept::WithoutVectors {
        let why = kept.why_unlike().unwrap_or("keeps vectors in _source, where they would be base64");
        return Packed::Unfit(format!("{index} {why}"));
    }
    if let Err(why) = all_are_new(&brief, info).await {
        return Packed::Not(why);
    }
    delete_left(&brief, index).await;
    let Some(trial) = trial::trial_name(&brief, index, run_id).await else {
        return Packed::Not("every index gets an alias from a template".to_owned());
    };
    let fields: Vec<Tried<'_>> = definitions
        .iter()
        .enumerate()
        .filter_map(|(at, definition)| Some((format!("v{at}"), *definition, VectorField::of(definition)?)))
        .collect();
    let properties = fields.iter().map(|(name, definition, _)| (name.clone(), (*definition).clone())).collect();
    if let Err(error) = create(&brief, info, (trial.as_str(), index), properties).await {
        if error.may_be_done() {
            // The index may exist. The warning of its creation names it.
            let _ = index::delete(&brief, &trial).await;
        }
        return Packed::Not(error.to_string());
    }
    let tried = give_and_take(&brief, &trial, &fields).await;
    if let Err(error) = index::delete(transport, &trial).await {
        tracing::warn!("the index {trial}, which was created for a check, is left; delete it: {error}");
    }
    match tried {
        Ok(()) => Packed::Taken(FieldTypes::of_mapping(&mapping)),
        Err(why) => Packed::Not(why),
    }
}

/// Deletes indices that checks of the vectors of `index` have left: their loads were killed. Where
/// that fails, a later load tries it again.
pub(super) async fn delete_left(transport: &Transport, index: &str) {
    let filter = "*.mappings._meta,*.settings.index.uuid,*.settings.index.hidden,*.settings.index.creation_date";
    let names = format!("{}-inrush-trial-*,inrush-trial-*", path_segment(index));
    let path = format!("/{names}?expand_wildcards=all&filter_path={filter}");
    let Ok(found) = transport.demand("looking for left indices", Method::GET, &path, None).await else { return };
    let now = clock::date().duration_since(UNIX_EPOCH).unwrap_or_default();
    for (name, uuid) in left(&found, index, now) {
        match index::delete_this(transport, &name, &uuid).await {
            Ok(_) => tracing::info!("the index {name} is deleted, which an earlier load had created for a check"),
            Err(error) => tracing::debug!("{error}"),
        }
    }
}

/// Names and UUIDs of the indices that checks of `index` have left, by `GET` of their names.
fn left(found: &Value, index: &str, now: Duration) -> Vec<(String, String)> {
    let of = |(name, body): (&String, &Value)| {
        let mark = body.pointer("/mappings/_meta")?.get(MARK)?.as_str()?;
        let created = Duration::from_millis(setting(body, "creation_date")?.parse().ok()?);
        let is_left =
            mark == index && setting(body, "hidden") == Some("true") && now.saturating_sub(created) > LEFT_AFTER;
        let uuid = setting(body, "uuid").filter(|_| is_left)?;
        Some((name.clone(), uuid.to_owned()))
    };
    found.as_object().into_iter().flatten().filter_map(of).collect()
}

fn setting<'b>(body: &'b Value, name: &str) -> Option<&'b str> {
    body.pointer(&format!("/settings/index/{name}"))?.as_str()
}

/// The mapping of an index, and what it keeps of documents.
async fn look(transport: &Transport, index: &str) -> Result<(Value, SourceKept), ClusterError> {
    let path = format!("/{}?include_defaults=true&filter_path={}", path_segment(index), SourceKept::PATHS);
    let found = transport.demand(&format!("looking up {index}"), Method::GET, &path, None).await?;
    let found = found.as_object().and_then(|indices| indices.values().next()).cloned().unwrap_or_default();
    let kept = SourceKept::of(&found);
    Ok((found.get("mappings").cloned().unwrap_or_default(), kept))
}

/// A node of an older version refuses packed vectors, and may get the shard of any document.
async fn all_are_new(transport: &Transport, info: &ClusterInfo) -> Result<(), String> {
    // It hides its nodes, and has one version.
    if info.serverless {
        return Ok(());
    }
    let path = "/_nodes/_all/none?filter_path=nodes.*.version";
    let nodes = transport
        .demand("asking for the versions of the nodes", Method::GET, path, None)
        .await
        .map_err(|error| format!("the versions of the nodes could not be asked: {error}"))?;
    let nodes = nodes.get("nodes").and_then(Value::as_object).filter(|nodes| !nodes.is_empty());
    for node in nodes.ok_or("the answer names no node")?.values() {
        let version = node.get("version").and_then(Value::as_str).and_then(|text| text.parse::<Version>().ok());
        match version {
            Some(version) if version >= PACKED_SINCE => {}
            Some(old) => return Err(format!("a node has version {old}")),
            None => return Err("a node does not tell its version".to_owned()),
        }
    }
    Ok(())
}

/// A field of the index that shows what the cluster takes: its name, definition and vector.
type Tried<'d> = (String, &'d Value, VectorField);

/// Creates the index `trial` for a check of the vectors of `index`.
pub(super) async fn create(
    transport: &Transport,
    info: &ClusterInfo,
    (trial, index): (&str, &str),
    properties: Map<String, Value>,
) -> Result<Creation, ClusterError> {
    // Elastic's serverless offering sets the numbers itself, and refuses them.
    let (shards, replicas) = if info.serverless { (None, None) } else { (Some(1), Some(0)) };
    let how = CreateIndex {
        settings: Some(json!({"index.hidden": true})),
        mappings: Some(json!({"dynamic": "false", "_meta": {(MARK): index}, "properties": properties})),
        shards,
        replicas,
        ..CreateIndex::default()
    };
    // A shard that cannot be assigned is found by the document, which waits for less time.
    index::create_with(transport, trial, &how, WAIT_FOR_NO_SHARD).await
}

/// Stores a packed vector in each field, and reads them back.
async fn give_and_take(transport: &Transport, trial: &str, fields: &[Tried<'_>]) -> Result<(), String> {
    let document: Map<String, Value> = fields.iter().map(|(name, _, field)| (name.clone(), packed(field))).collect();
    let path = format!("/{}/_doc/1", path_segment(trial));
    let what = "storing a packed vector";
    let store = format!("{path}?refresh=true&timeout=5s");
    transport
        .demand(what, Method::PUT, &store, Some(&Value::Object(document)))
        .await
        .map_err(|error| error.to_string())?;
    let what = "reading a packed vector back";
    let read = format!("{path}?_source_exclude_vectors=false");
    let found = transport.demand(what, Method::GET, &read, None).await.map_err(|error| error.to_string())?;
    for (name, definition, field) in fields {
        let values = found.pointer(&format!("/_source/{name}")).and_then(numbers);
        if !values.is_some_and(|values| field.is_probe(&values)) {
            return Err(format!("a packed vector of {definition} was read back as another one"));
        }
    }
    Ok(())
}

fn packed(field: &VectorField) -> Value {
    let (probe, mut text) = (field.probe(), Vec::new());
    match field.element {
        Element::Float => push_packed(&probe, &mut text),
        Element::Byte | Element::Bit => push_packed_bytes(&probe, &mut text),
    }
    // It is a JSON string.
    serde_json::from_slice(&text).unwrap_or_default()
}

fn numbers(value: &Value) -> Option<Vec<f32>> {
    value.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_hidden_indices_with_the_mark_of_the_index_are_left_ones() {
        let index = |mark: &str, hidden: &str, minutes: u64| {
            json!({"mappings": {"_meta": {(MARK): mark}}, "settings": {"index": {
                "uuid": "u", "hidden": hidden, "creation_date": (60_000 * minutes).to_string()}}})
        };
        let found = json!({
            "docs-inrush-trial-0a": index("docs", "true", 1),
            "docs-inrush-trial-0b": index("docs", "true", 55),
            "docs-inrush-trial-0c": index("docs", "false", 1),
            "inrush-trial-0d": index("other", "true", 1),
            "docs-inrush-trial-0e": {"settings": {"index": {"uuid": "u", "hidden": "true", "creation_date": "1"}}},
        });
        let now = Duration::from_secs(3600);
        assert_eq!(left(&found, "docs", now), [("docs-inrush-trial-0a".to_owned(), "u".to_owned())]);
        assert_eq!(left(&found, "other", now), [("inrush-trial-0d".to_owned(), "u".to_owned())]);
        assert_eq!(left(&json!({}), "docs", now), []);
        // The clock of the server is ahead.
        assert_eq!(left(&found, "docs", Duration::ZERO), []);
    }

    #[test]
    fn product_and_version_decide_who_may_be_asked() {
        let of = |product, version: &str, serverless| {
            let info = ClusterInfo { product, version: version.parse().ok(), cluster_name: None, serverless };
            info.may_take_packed_vectors()
        };
        use Product::{Elasticsearch, OpenSearch, Unknown};
        assert!(of(Elasticsearch, "9.3.0", false) && of(Elasticsearch, "10.0.0", false));
        assert!(of(Elasticsearch, "8.11.0", true));
        assert!(!of(Elasticsearch, "9.2.9", false) && !of(Elasticsearch, "8.19.21", false));
        // OpenSearch 3.9 takes base64 in the other byte order.
        assert!(!of(OpenSearch, "3.9.0", false) && !of(OpenSearch, "9.9.0", false));
        assert!(!of(Unknown, "9.5.0", false) && !of(Elasticsearch, "", false));
    }
}
