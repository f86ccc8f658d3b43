//! Whether the nodes that were named belong together.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use crate::transport::{NodeIndex, Request, Transport};

/// Where a node tells the UUID of its cluster; the second one where the first is not answered (405 from Elasticsearch's test
/// distribution, 403 from gateways).
const PATHS: [&str; 2] = ["/", "/_cluster/state/version?filter_path=cluster_uuid"];

/// Bytes of an answer to one of them.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// Asks each node for its cluster, where there are several. Nodes that do not answer, or do not tell, are left out.
///
/// # Errors
/// The nodes belong to several clusters: says which node to which.
pub async fn one_cluster(transport: &Transport) -> Result<(), String> {
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
