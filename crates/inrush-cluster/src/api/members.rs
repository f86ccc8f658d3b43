//! The nodes of a cluster: which ones it has, and which of them still run.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::clock;
use crate::transport::Transport;

/// How long a node may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// The address at which each node says that it takes requests (`host/ip:port` or `ip:port`), by the
/// id of the node.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn addresses(transport: &Transport) -> Result<BTreeMap<String, String>, ClusterError> {
    let path = "/_nodes/http?filter_path=nodes.*.http.publish_address";
    let body = transport.demand("asking for the nodes' addresses", Method::GET, path, None).await?;
    let nodes = body.get("nodes").and_then(Value::as_object).into_iter().flatten();
    let address = |node: &Value| Some(node.pointer("/http/publish_address")?.as_str()?.to_owned());
    Ok(nodes.filter_map(|(id, node)| Some((id.clone(), address(node)?))).collect())
}

/// Whether no program listens at a node's address, so its process has ended. A node that hangs, or
/// whose machine is away, is not known to have ended.
pub async fn has_ended(address: &str) -> bool {
    let address = address.rsplit_once('/').map_or(address, |(_, address)| address);
    let connected = clock::timeout(CONNECT_MAX, tokio::net::TcpStream::connect(address)).await;
    matches!(connected, Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused)
}
