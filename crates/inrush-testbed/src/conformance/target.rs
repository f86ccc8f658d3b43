//! The server that the cases run against.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_fake::{Flavor, Product};
use serde_json::{Value, json};

use super::check::expect_status;
use crate::client::{Client, NoReply, Reply};

/// The module name for data streams. They are part of each server but Elasticsearch 7, where they
/// are a module.
pub(super) const DATA_STREAMS: &str = "data-streams";

/// Whether the server is Elasticsearch 9 or newer.
pub(super) fn is_elasticsearch_9(target: &TestedServer) -> bool {
    target.flavor.is_elasticsearch() && target.flavor.major() >= 9
}

/// The server that the cases run against.
pub struct TestedServer {
    client: Client,
    /// Product and version of the server.
    pub flavor: Flavor,
    /// Modules and plugins of the server.
    pub modules: BTreeSet<String>,
    prefix: String,
    used: Mutex<BTreeSet<String>>,
}

impl TestedServer {
    /// Asks a server for its product, version and modules. `authorization` goes into every request.
    ///
    /// # Errors
    ///
    /// No reply, or a reply without a version.
    pub async fn connect(url: &str, authorization: Option<String>) -> Result<TestedServer, String> {
        let client = Client::new(url)?.with_authorization(authorization);
        let path = "/_nodes?filter_path=nodes.*.version,nodes.*.modules.name,nodes.*.plugins.name";
        let reply = client.json("GET", path, Value::Null).await?.json();
        let nodes: Vec<&Value> = reply["nodes"].as_object().into_iter().flat_map(|nodes| nodes.values()).collect();
        let version = nodes
            .first()
            .and_then(|node| node["version"].as_str())
            .ok_or_else(|| format!("{url} does not tell its version: {reply}"))?;
        let names = |key: &str| -> BTreeSet<String> {
            let lists = nodes.iter().filter_map(|node| node[key].as_array());
            lists.flatten().filter_map(|one| one["name"].as_str()).map(str::to_owned).collect()
        };
        let mut modules = names("modules");
        modules.extend(names("plugins"));
        // `GET /` is refused on some distributions. Elasticsearch marks every reply since 7.14.
        let probe = client.json("GET", "/_cluster/health", Value::Null).await?;
        let product =
            if probe.headers.contains_key("x-elastic-product") { Product::Elasticsearch } else { Product::OpenSearch };
        let flavor = Flavor::new(product, version);
        if !flavor.is_elasticsearch_7() || modules.contains("x-pack-data-streams") {
            modules.insert(DATA_STREAMS.to_owned());
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("conformance-{}", since_1970.as_millis());
        Ok(TestedServer { client, flavor, modules, prefix, used: Mutex::new(BTreeSet::new()) })
    }

    /// A name for an index that nothing else uses. The index is deleted after the case.
    pub(super) fn name(&self, suffix: &str) -> String {
        let name = format!("{}-{suffix}", self.prefix);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        name
    }

    /// Sends JSON, or no body for null.
    pub(super) async fn json(&self, method: &str, path: &str, body: Value) -> Result<Reply, NoReply> {
        self.client.json(method, path, body).await
    }

    /// Reads JSON.
    pub(super) async fn get(&self, path: &str) -> Result<Value, NoReply> {
        Ok(self.client.json("GET", path, Value::Null).await?.json())
    }

    /// Sends a bulk body.
    pub(super) async fn bulk(&self, path: &str, body: &str) -> Result<Reply, NoReply> {
        self.client.bulk(path, body.to_owned()).await
    }

    /// Sends a request with headers of its own.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<bytes::Bytes>,
    ) -> Result<Reply, NoReply> {
        self.client.send(method, path, headers, body).await
    }

    /// Sends a bulk body and expects 200. Returns the items without their action.
    pub(super) async fn items(&self, path: &str, body: &str) -> Result<Vec<Value>, String> {
        let reply = self.bulk(path, body).await?;
        if reply.status != 200 {
            return Err(format!("bulk answered {}: {}", reply.status, reply.json()));
        }
        let items = reply.json()["items"].as_array().cloned().unwrap_or_default();
        Ok(items.iter().filter_map(|item| item.as_object()?.values().next().cloned()).collect())
    }

    /// Creates an index with one shard and no replica, which is green on one node.
    pub(super) async fn create(&self, suffix: &str, mappings: Value) -> Result<String, String> {
        self.create_with(suffix, json!({"number_of_shards": 1, "number_of_replicas": 0}), mappings).await
    }

    /// Creates an index with these settings.
    pub(super) async fn create_with(&self, suffix: &str, settings: Value, mappings: Value) -> Result<String, String> {
        let name = self.name(suffix);
        let reply = self.json("PUT", &format!("/{name}"), json!({"settings": settings, "mappings": mappings})).await?;
        expect_status(&reply, 200)?;
        Ok(name)
    }

    /// Deletes the indices of a case.
    pub(super) async fn clean_up(&self) {
        let names = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        for name in names {
            // Most names belong to no index, or to an alias that its index took along.
            let _ = self.json("DELETE", &format!("/{name}"), Value::Null).await;
        }
    }
}
