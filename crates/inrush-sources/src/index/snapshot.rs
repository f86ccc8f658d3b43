//! A point in time: the state of a shard at one moment, where the server supports it.

use std::time::Duration;

use http::Method;
use inrush_cluster::api::{ClusterError, ClusterInfo, Product, Version};
use inrush_cluster::clock;
use inrush_cluster::transport::{Transport, path_segment};
use serde_json::{Value, json};

/// Time for which the servers keep it between two pages. It need not outlast every pause, because a
/// lost one is opened again.
const KEEP: &str = "5m";

/// The points in time of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshots {
    /// `_pit`, Elasticsearch 7.10 and newer.
    Elasticsearch,
    /// `_search/point_in_time`, OpenSearch 2.4 and newer.
    OpenSearch,
    /// None: a search shows the current documents.
    None,
}

impl Snapshots {
    pub(super) fn of(info: &ClusterInfo) -> Self {
        match (info.product, info.version) {
            (Product::Elasticsearch, version) if info.serverless || version >= Some(Version::new(7, 10, 0)) => {
                Snapshots::Elasticsearch
            }
            (Product::OpenSearch, version) if version >= Some(Version::new(2, 4, 0)) => Snapshots::OpenSearch,
            (Product::Elasticsearch | Product::OpenSearch | Product::Unknown, _) => Snapshots::None,
        }
    }

    /// Opens a point in time of a shard.
    ///
    /// # Errors
    /// The request failed.
    pub(super) async fn open(
        self,
        transport: &Transport,
        index: &str,
        preference: &str,
    ) -> Result<Option<Snapshot>, ClusterError> {
        let index_path = path_segment(index);
        let (path, key) = match self {
            Snapshots::Elasticsearch => (format!("/{index_path}/_pit?keep_alive={KEEP}&preference={preference}"), "id"),
            Snapshots::OpenSearch => (
                format!(
                    "/{index_path}/_search/point_in_time?keep_alive={KEEP}&allow_partial_pit_creation=false&preference={preference}"
                ),
                "pit_id",
            ),
            Snapshots::None => return Ok(None),
        };
        let what = format!("opening a point in time of {index}");
        let body = transport.demand(&what, Method::POST, &path, None).await?;
        match body.get(key).and_then(Value::as_str) {
            Some(id) => Ok(Some(Snapshot { kind: self, id: id.to_owned() })),
            None => Err(ClusterError::Reply { what, problem: format!("the reply has no {key}") }),
        }
    }
}

/// A point in time of one shard.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    kind: Snapshots,
    id: String,
}

impl Snapshot {
    /// The value of `pit` in a search.
    pub(super) fn value(&self) -> Value {
        json!({"id": self.id, "keep_alive": KEEP})
    }

    /// Closes it. The servers do that themselves after [`KEEP`].
    pub(super) async fn close(self, transport: &Transport) {
        let (path, body) = match self.kind {
            Snapshots::Elasticsearch => ("/_pit", json!({"id": self.id})),
            Snapshots::OpenSearch => ("/_search/point_in_time", json!({"pit_id": [self.id]})),
            Snapshots::None => return,
        };
        let closed = transport.demand("closing a point in time", Method::DELETE, path, Some(&body));
        // A source that stops waits no longer.
        if let Ok(Err(error)) = clock::timeout(Duration::from_secs(5), closed).await {
            tracing::debug!("a point in time could not be closed: {error}");
        }
    }
}

/// The copy of a shard that is searched. With segment replication only the primary is sure to show
/// all refreshed documents. Elasticsearch cannot select it and does not need to, because none of
/// its copies lags behind after a refresh.
pub(super) fn preference(product: Product, shard: u32) -> String {
    match product {
        Product::OpenSearch => format!("_shards:{shard}%7C_primary"),
        Product::Elasticsearch | Product::Unknown => format!("_shards:{shard}"),
    }
}
