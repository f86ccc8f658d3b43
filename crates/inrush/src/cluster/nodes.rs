//! The way to a cluster: nodes that were named, if they belong together.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use serde_json::Value;

use crate::error::LoadError;
use crate::transport::{Credentials, HttpOptions, NodeIndex, Request, Transport};

/// Where a node tells the UUID of its cluster; the second one where the first is not answered (405 from Elasticsearch's test
/// distribution, 403 from gateways).
const PATHS: [&str; 2] = ["/", "/_cluster/state/version?filter_path=cluster_uuid"];

/// Bytes of an answer to one of them.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// The transport to the nodes of one cluster. Where there are several nodes, each is asked for its
/// cluster; those that do not answer, or do not tell, are taken for its nodes.
///
/// # Errors
/// [`LoadError::Setup`] as [`Transport::new`]; [`LoadError::Usage`] where the nodes belong to
/// several clusters: says which node to which.
pub async fn connect(
    urls: &[impl AsRef<str>],
    credentials: Credentials,
    options: &HttpOptions,
) -> Result<Arc<Transport>, LoadError> {
    let transport = Transport::new(urls, credentials, options)?;
    one_cluster(&transport).await.map_err(LoadError::Usage)?;
    Ok(Arc::new(transport))
}

async fn one_cluster(transport: &Transport) -> Result<(), String> {
    let count = transport.nodes().len();
    if count < 2 {
        return Ok(());
    }
    let asked = (0..count).map(|node| uuid(transport, node));
    let mut clusters: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, uuid) in futures_util::future::join_all(asked).await.into_iter().enumerate() {
        if let Some(uuid) = uuid {
            clusters.entry(uuid).or_default().push(transport.nodes()[node].to_string());
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

async fn uuid(transport: &Transport, node: NodeIndex) -> Option<String> {
    for path in PATHS {
        let mut request = Request::new(Method::GET, path);
        request.reply_bytes_max = Some(REPLY_BYTES_MAX);
        let response = transport.request_to(node, &request).await.ok()?;
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        // A cluster that has not formed yet has none.
        if let Some(uuid) = body["cluster_uuid"].as_str().filter(|uuid| *uuid != "_na_") {
            return Some(uuid.to_owned());
        }
    }
    None
}
