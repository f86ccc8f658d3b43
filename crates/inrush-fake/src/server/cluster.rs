//! A running fake cluster.

use std::io;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Collected, Full};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::config::FakeConfig;
use super::log::RequestLog;
use super::node::FakeNode;
use super::serve::serve;
use super::shared::{Shared, lock};
use crate::api::{self, ApiRequest};
use crate::error::ServerError;
use crate::faults::Faults;
use crate::model::{Cluster, Document};
use crate::product::Flavor;

/// A running fake cluster. Dropping it stops its nodes without waiting for them;
/// [`FakeCluster::shutdown`] waits.
pub struct FakeCluster {
    shared: Arc<Shared>,
    nodes: Vec<FakeNode>,
}

/// Start, nodes and end.
impl FakeCluster {
    /// Starts all nodes on the loopback interface. They run in the tokio runtime of the caller.
    ///
    /// # Errors
    ///
    /// A port is taken.
    pub async fn start(config: FakeConfig) -> io::Result<FakeCluster> {
        let (count, ports) = (config.nodes, config.ports.clone());
        let shared = Arc::new(Shared::new(config));
        let mut nodes = Vec::with_capacity(count);
        for number in 0..count {
            let port = ports.get(number).copied().unwrap_or(0);
            nodes.push(FakeNode::start(&shared, number, port).await?);
        }
        // The only place that sets it.
        let _ = shared.addresses.set(nodes.iter().map(|node| node.address().to_string()).collect());
        Ok(FakeCluster { shared, nodes })
    }

    /// The URL of the first node, such as `http://127.0.0.1:39201`.
    pub fn url(&self) -> String {
        // There is at least one node.
        self.nodes.first().map(FakeNode::url).unwrap_or_default()
    }

    /// The URLs of all nodes.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(FakeNode::url).collect()
    }

    /// The nodes, in the order of their numbers; at least one.
    pub fn nodes(&self) -> &[FakeNode] {
        &self.nodes
    }

    /// Product and version.
    pub fn flavor(&self) -> &Flavor {
        &self.shared.config.flavor
    }

    /// The UUID of the cluster, as `GET /` shows it.
    pub fn uuid(&self) -> String {
        self.cluster().uuid.clone()
    }

    /// Stops all nodes and waits for their end. Requests that are held back are dropped.
    pub async fn shutdown(self) {
        for node in &self.nodes {
            node.kill().await;
        }
    }
}

/// Documents and indices.
impl FakeCluster {
    /// The live documents of an index, in the order of their writes, whether refreshed or not. For
    /// an alias or a data stream, the documents of all its indices. Empty for a missing index.
    pub fn documents(&self, name: &str) -> Vec<Document> {
        let cluster = self.cluster();
        let of_stream =
            |index: &String| cluster.data_streams.get(name).is_some_and(|stream| stream.indices.contains(index));
        cluster
            .indices
            .iter()
            .filter(|(index, state)| *index == name || state.aliases.contains_key(name) || of_stream(index))
            .flat_map(|(_, state)| state.documents())
            .collect()
    }

    /// One live document, of any routing; `None` for a missing one.
    pub fn document(&self, name: &str, id: &str) -> Option<Document> {
        self.documents(name).into_iter().find(|document| document.id == id)
    }

    /// The names of all indices, sorted, hidden ones included.
    pub fn indices(&self) -> Vec<String> {
        self.cluster().indices.keys().cloned().collect()
    }

    /// The UUID of an index, which changes when the index is made anew; `None` for a missing index.
    pub fn index_uuid(&self, index: &str) -> Option<String> {
        self.cluster().indices.get(index).map(|index| index.uuid.clone())
    }

    /// The mapping of an index; null for a missing index.
    pub fn mapping(&self, index: &str) -> Value {
        self.cluster().indices.get(index).map(|index| index.mapping.to_value()).unwrap_or_default()
    }

    /// The value of an index setting, such as `index.refresh_interval`; `None` if it was not set.
    pub fn setting(&self, index: &str, name: &str) -> Option<String> {
        self.cluster().indices.get(index)?.settings.get(name).map(str::to_owned)
    }

    /// Sets an index setting, or removes it with `None`, without the checks of `PUT _settings`.
    /// Returns false for a missing index.
    pub fn set_setting(&self, index: &str, name: &str, value: Option<&str>) -> bool {
        let mut cluster = self.cluster();
        let Some(index) = cluster.indices.get_mut(index) else {
            return false;
        };
        match value {
            Some(value) => index.settings.set(name, value),
            None => index.settings.unset(name),
        }
        true
    }

    /// The aliases of an index with their options, as `GET _alias` shows them; null for a missing
    /// index.
    pub fn aliases(&self, index: &str) -> Value {
        self.cluster().indices.get(index).map(|index| json!(index.aliases)).unwrap_or_default()
    }

    /// The backing indices of a data stream, the write index last; empty for a missing data stream.
    pub fn backing_indices(&self, data_stream: &str) -> Vec<String> {
        self.cluster().data_streams.get(data_stream).map(|stream| stream.indices.clone()).unwrap_or_default()
    }

    /// Answers a request directly, as another client would send it: without the network, without
    /// faults and without an entry in the log. `body` is JSON, null for an empty body. Bulk
    /// requests are not possible.
    ///
    /// ```
    /// # use inrush_fake::{FakeCluster, FakeConfig, serde_json::json};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let fake = FakeCluster::start(FakeConfig::default()).await?;
    /// fake.call("PUT", "/docs", json!({"settings": {"number_of_shards": 3}}))?;
    /// fake.call("PUT", "/docs/_doc/1", json!({"n": 1}))?;
    /// assert_eq!(fake.documents("docs").len(), 1);
    /// let error = fake.call("PUT", "/docs", json!({})).unwrap_err();
    /// assert_eq!((error.status(), error.kind()), (400, "resource_already_exists_exception"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A reply with a status of 300 or more.
    pub fn call(&self, method: &str, path: &str, body: Value) -> Result<Value, ServerError> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| ServerError::illegal_argument(format!("invalid HTTP method {method:?}")))?;
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = ApiRequest::new(method, path, body);
        let environment = self.shared.environment(0);
        let reply = api::handle(&mut self.cluster(), &request, &environment);
        if reply.status < 300 { Ok(reply.body) } else { Err(ServerError::from_reply(reply.status, &reply.body)) }
    }

    /// Answers a request without the network, but as over it: with faults and an entry in the log.
    /// A fault that resets the connection or gives no reply never answers.
    #[doc(hidden)]
    pub async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        // The node runs until the request is answered.
        let (_running, stopped) = watch::channel(false);
        let request = request.map(Full::new);
        let response = serve(Arc::clone(&self.shared), 0, Arc::default(), stopped, request).await;
        let (parts, body) = response.into_parts();
        // A reply that is cut off arrives as an empty one.
        let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        Response::from_parts(parts, body)
    }

    /// The state. Requests wait while it is locked.
    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        lock(&self.shared.cluster)
    }
}

/// Trouble: faults, held requests, crashes and refusals.
impl FakeCluster {
    /// Starts a script of faults from its beginning; it replaces the running one.
    pub fn set_faults(&self, faults: impl Into<Faults>) {
        self.shared.set_faults(faults.into());
    }

    /// Number of requests and items that the rules of the script have applied to.
    pub fn faults_applied(&self) -> u64 {
        lock(&self.shared.faults).applied()
    }

    /// Number of requests that [`Fault::HoldBeforeApplying`] and [`Fault::HoldAfterApplying`] hold
    /// back now.
    ///
    /// [`Fault::HoldBeforeApplying`]: crate::Fault::HoldBeforeApplying
    /// [`Fault::HoldAfterApplying`]: crate::Fault::HoldAfterApplying
    pub fn held(&self) -> usize {
        *self.shared.held.borrow()
    }

    /// Waits until at least `count` requests are held back.
    pub async fn wait_for_held(&self, count: usize) {
        let mut held = self.shared.held.subscribe();
        // The sender lives in `self.shared`, so the wait cannot fail.
        let _ = held.wait_for(|held| *held >= count).await;
    }

    /// Releases all requests that are held back now. Later requests are held again.
    pub fn release_held(&self) {
        self.shared.release_held();
    }

    /// Answers every request to `path`, without its query, with this status and body instead of the
    /// fake's own reply; not for bulk requests. [`FakeCluster::remove_reply`] ends it.
    pub fn set_reply(&self, path: &str, status: u16, body: Value) {
        self.cluster().canned.insert(path.to_owned(), (status, body));
    }

    /// Answers requests to `path` as usual again.
    pub fn remove_reply(&self, path: &str) {
        self.cluster().canned.remove(path);
    }

    /// Refuses these index settings in every `PUT _settings` with 400, instead of those of the
    /// last call.
    pub fn refuse_settings<S: Into<String>>(&self, names: impl IntoIterator<Item = S>) {
        self.cluster().refused_settings = names.into_iter().map(Into::into).collect();
    }

    /// Refuses writes to indices with this pattern from now on, as
    /// [`FakeConfig::denied_indices`] does.
    pub fn deny_index(&self, pattern: impl Into<String>) {
        self.cluster().denied_indices.push(pattern.into());
    }

    /// Changes the number of data nodes that the cluster shows. Ports neither open nor close.
    pub fn set_data_nodes(&self, nodes: usize) {
        self.cluster().nodes = nodes.max(1);
    }

    /// Crashes all nodes at once and starts them again: writes that an index with
    /// `index.translog.durability: async` has not flushed are lost, and all primary terms rise.
    /// Returns the number of lost writes. Connections and running requests stay; [`FakeNode::kill`]
    /// ends them.
    pub fn crash(&self) -> usize {
        self.cluster().crash()
    }

    /// Number of acknowledged writes to an index that [`FakeCluster::crash`] would lose now; 0 for
    /// a missing index.
    pub fn unsynced_writes(&self, index: &str) -> usize {
        self.cluster().indices.get(index).map_or(0, |index| index.unsynced())
    }

    /// Number of open points in time.
    pub fn points_in_time(&self) -> usize {
        self.cluster().points_in_time.len()
    }

    /// Closes all points in time, as if their `keep_alive` had run out.
    pub fn expire_points_in_time(&self) {
        self.cluster().points_in_time.clear();
    }
}

/// The log.
impl FakeCluster {
    /// All requests so far, in the order of their replies.
    pub fn requests(&self) -> Vec<RequestLog> {
        lock(&self.shared.log).clone()
    }

    /// The bulk requests so far, in the order of their replies.
    pub fn bulk_requests(&self) -> Vec<RequestLog> {
        lock(&self.shared.log).iter().filter(|request| request.is_bulk()).cloned().collect()
    }

    /// Clears the log.
    pub fn clear_requests(&self) {
        lock(&self.shared.log).clear();
    }
}
