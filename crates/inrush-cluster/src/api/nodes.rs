//! Connecting to a cluster, with a check that the given nodes belong to the same one.

use inrush_core::Code;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::clock;
use crate::transport::{Credentials, HttpOptions, NodeIndex, Request, SetupError, Transport};

/// The longest wait for a node's answer: a node that is down must not delay every load.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Paths at which a node reports the UUID of its cluster. The second is for nodes that do not
/// answer the first (405 from Elasticsearch's test distribution, 403 from gateways).
const PATHS: [&str; 2] = ["/", "/_cluster/state/version?filter_path=cluster_uuid"];

/// The largest reply to one of these paths, bytes.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// Why a cluster cannot be used. Nothing was written to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An address, a certificate or credentials that cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The nodes belong to several clusters. The text names the cluster of each node.
    #[error("{0}")]
    SeveralClusters(String),
    /// The cluster does not answer as a usable cluster does.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl ConnectError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            ConnectError::Setup(error) => error.code(),
            ConnectError::SeveralClusters(_) => Code::SeveralClusters,
            ConnectError::Cluster(error) => error.code(),
        }
    }
}

/// The transport to the nodes of one cluster. If there are several nodes, each is asked for the
/// UUID of its cluster. A node that does not answer within 5 s, or does not report the UUID, counts
/// as a node of the same cluster.
///
/// # Errors
/// [`ConnectError::Setup`] as [`Transport::new`] and [`Transport::ready`].
/// [`ConnectError::SeveralClusters`] if the nodes belong to several clusters; it says which node
/// belongs to which.
pub async fn connect(
    urls: &[impl AsRef<str>],
    credentials: Credentials,
    options: &HttpOptions,
) -> Result<Arc<Transport>, ConnectError> {
    let transport = Transport::new(urls, credentials, options)?;
    transport.ready().await?;
    one_cluster_within(&transport, ANSWER_MAX).await.map_err(ConnectError::SeveralClusters)?;
    Ok(Arc::new(transport))
}

async fn one_cluster_within(transport: &Transport, answer_max: Duration) -> Result<(), String> {
    let count = transport.nodes().len();
    if count < 2 {
        return Ok(());
    }
    let asked = (0..count).map(|node| clock::timeout(answer_max, uuid(transport, node)));
    let mut clusters: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, uuid) in futures_util::future::join_all(asked).await.into_iter().enumerate() {
        let name = transport.nodes()[node].to_string();
        match uuid.unwrap_or_else(|_| Err(format!("no answer within {answer_max:?}"))) {
            Ok(uuid) => clusters.entry(uuid).or_default().push(name),
            Err(why) => tracing::debug!("{name} does not report its cluster and is not compared: {why}"),
        }
    }
    if clusters.len() < 2 {
        return Ok(());
    }
    let of: Vec<String> = clusters.iter().map(|(uuid, nodes)| format!("{} to {uuid}", nodes.join(", "))).collect();
    Err(format!(
        "the nodes are of {} clusters, by their cluster_uuid: {}; name nodes of one cluster only",
        clusters.len(),
        of.join("; ")
    ))
}

/// The UUID of the node's cluster, or why it is not known.
async fn uuid(transport: &Transport, node: NodeIndex) -> Result<String, String> {
    for path in PATHS {
        let mut request = Request::new(Method::GET, path);
        request.reply_bytes_max = Some(REPLY_BYTES_MAX);
        let response = transport.request_to(node, &request).await.map_err(|e| e.to_string())?;
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        // A cluster that has not formed yet has none.
        if let Some(uuid) = body["cluster_uuid"].as_str().filter(|uuid| *uuid != "_na_") {
            return Ok(uuid.to_owned());
        }
    }
    Err("no cluster_uuid in its answers".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A node of this cluster.
    async fn node(uuid: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let _ = connection.read(&mut [0; 4096]).await;
                let body = format!("{{\"cluster_uuid\":\"{uuid}\"}}");
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                let _ = connection.write_all((head + &body).as_bytes()).await;
            }
        });
        url
    }

    #[tokio::test]
    async fn a_node_that_does_not_answer_is_left_out_soon() {
        // Accepts connections and never answers.
        let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let hanging = (format!("http://{}", hanging.local_addr().unwrap()), hanging);
        let (a, b) = (node("a").await, node("b").await);
        let urls = [&a, &hanging.0, "http://127.0.0.1:1", &b];
        let transport = Transport::new(&urls, Credentials::None, &HttpOptions::default()).unwrap();
        // The request timeout is two minutes.
        let two = one_cluster_within(&transport, Duration::from_secs(1)).await.unwrap_err();
        assert!(two.contains("the nodes are of 2 clusters"), "{two}");
    }
}
