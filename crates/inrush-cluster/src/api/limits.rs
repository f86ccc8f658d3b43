//! The limits on the size of requests that the servers report.

use http::Method;
use serde_json::Value;

use crate::transport::Transport;

/// The largest body that the node behind one of the given addresses accepts
/// (`http.max_content_length`), bytes. `None` if the node does not report it. A proxy or a managed
/// service on the way may accept less: a 413 teaches the loader that.
pub(super) async fn body_bytes_max(transport: &Transport) -> Option<u64> {
    let path = "/_nodes/_local?filter_path=nodes.*.http.max_content_length_in_bytes";
    let reply = transport.demand("asking for the largest request", Method::GET, path, None).await.ok()?;
    smallest(&reply)
}

fn smallest(reply: &Value) -> Option<u64> {
    let nodes = reply.get("nodes")?.as_object()?;
    nodes.values().filter_map(|node| node.pointer("/http/max_content_length_in_bytes")?.as_u64()).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_smallest_limit_counts() {
        let node = |bytes: u64| json!({"http": {"max_content_length_in_bytes": bytes}});
        assert_eq!(smallest(&json!({"nodes": {"a": node(100), "b": node(7)}})), Some(7));
        assert_eq!(smallest(&json!({"nodes": {"a": {}}})), None);
        assert_eq!(smallest(&json!({})), None);
    }
}
