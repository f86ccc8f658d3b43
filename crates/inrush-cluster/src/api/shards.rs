//! How an index routes its documents to shards, and which nodes hold the primaries.

use std::collections::BTreeMap;

use http::Method;
use inrush_core::routing::Routing;
use serde_json::Value;

use super::error::ClusterError;
use super::members;
use crate::transport::{NodeIndex, NodeUrl, Transport, path_segment};

const FILTER: &str = "metadata.indices.*.routing_num_shards,metadata.indices.*.settings.index.number_of_shards,metadata.indices.*.settings.index.routing_partition_size,metadata.indices.*.settings.index.version.created,routing_table.indices.*.shards.*.primary,routing_table.indices.*.shards.*.node,routing_table.indices.*.shards.*.state";

/// The versions of indices (`index.version.created`) in which a shard is the remainder of the hash
/// by the number of shards: from `IndexVersions.MOD_ROUTING_FUNCTION` of Elasticsearch 9.5 on.
/// Those of OpenSearch are larger.
const REMAINDERS: std::ops::Range<u32> = 9_064_000..100_000_000;

/// The shards of one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards {
    /// The function from documents to shards.
    pub routing: Routing,
    /// The id of the node that holds the primary of each shard, if it is active.
    pub primaries: Vec<Option<String>>,
}

/// Reads the shards of `index`, which must not be an alias.
///
/// # Errors
/// [`ClusterError`] if the request fails. The user needs the privilege to read the cluster state
/// (`cluster:monitor/state`).
pub async fn shards(transport: &Transport, index: &str) -> Result<Shards, ClusterError> {
    let what = format!("asking for the shards of {index}");
    let path = format!("/_cluster/state/metadata,routing_table/{}?filter_path={FILTER}", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    parse(index, &body).ok_or_else(|| ClusterError::Reply { what, problem: format!("they are not in {body}") })
}

fn parse(index: &str, body: &Value) -> Option<Shards> {
    let metadata = body.get("metadata")?.get("indices")?.get(index)?;
    let routing = routing(metadata)?;
    let copies = body.get("routing_table")?.get("indices")?.get(index)?.get("shards")?;
    let primary = |shard: u32| {
        let copies = copies.get(shard.to_string())?.as_array()?;
        let active = |copy: &&Value| copy["primary"] == true && copy["state"] != "UNASSIGNED";
        copies.iter().find(active)?.get("node")?.as_str().map(str::to_owned)
    };
    Some(Shards { routing, primaries: (0..routing.shards()).map(primary).collect() })
}

/// The function from documents to shards, by the metadata of an index in the cluster state.
pub(super) fn routing(metadata: &Value) -> Option<Routing> {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<u32>().ok(),
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    let setting = |name: &str| metadata.pointer(&format!("/settings/index/{name}")).and_then(number);
    let shards = setting("number_of_shards")?;
    let takes_remainder = setting("version/created").is_some_and(|version| REMAINDERS.contains(&version));
    let routing_shards = match takes_remainder {
        true => Some(shards),
        false => metadata.get("routing_num_shards").and_then(number),
    };
    let partition_size = setting("routing_partition_size").unwrap_or(1);
    Routing::new(shards, routing_shards, partition_size)
}

/// The transport's nodes by their node ids, as far as their addresses tell.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn nodes(transport: &Transport) -> Result<BTreeMap<String, NodeIndex>, ClusterError> {
    let addresses = members::addresses(transport).await?;
    let at = |address: &str| transport.nodes().iter().position(|url| is_at(url, address));
    Ok(addresses.into_iter().filter_map(|(id, address)| Some((id, at(&address)?))).collect())
}

/// Whether a node that reports `address` (`host/ip:port` or `ip:port`) is the one at `url`.
pub fn is_at(url: &NodeUrl, address: &str) -> bool {
    let Some((hosts, port)) = address.rsplit_once(':') else { return false };
    let host = url.host().trim_start_matches('[').trim_end_matches(']');
    let same_host = |name: &str| {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name == host || (url.is_loopback() && matches!(name, "127.0.0.1" | "::1"))
    };
    port.parse() == Ok(url.port()) && hosts.split('/').any(same_host)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_primaries_are_found() {
        let copy = |primary: bool, state: &str, node: &str| json!({"primary": primary, "state": state, "node": node});
        let body = json!({
            "metadata": {"indices": {"a.b": {"routing_num_shards": 4,
                "settings": {"index": {"number_of_shards": "2", "routing_partition_size": "1"}}}}},
            "routing_table": {"indices": {"a.b": {"shards": {
                "0": [copy(false, "STARTED", "x"), copy(true, "RELOCATING", "y")],
                "1": [{"primary": true, "state": "UNASSIGNED", "node": null}],
            }}}},
        });
        let found = parse("a.b", &body).unwrap();
        assert_eq!(found.routing, Routing::new(2, Some(4), 1).unwrap());
        assert_eq!(found.primaries, [Some("y".to_owned()), None]);
        assert_eq!(parse("other", &body), None);
    }

    #[test]
    fn the_version_of_an_index_decides_how_documents_are_placed() {
        let of = |created: &str| {
            let settings = json!({"number_of_shards": "3", "version": {"created": created}});
            routing(&json!({"routing_num_shards": 768, "settings": {"index": settings}})).unwrap()
        };
        for older in ["7172999", "8537000", "9033000", "9063999", "137277827"] {
            assert_eq!(of(older), Routing::new(3, Some(768), 1).unwrap(), "{older}");
        }
        // As Elasticsearch 9.5.3 has placed them.
        let placed: Vec<u32> = (0..10).map(|id| of("9111000").shard(&id.to_string(), None)).collect();
        assert_eq!(placed, [0, 2, 0, 2, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn nodes_are_told_by_their_addresses() {
        let url = |text: &str| NodeUrl::parse(text).unwrap().0;
        assert!(is_at(&url("http://es-1:9200"), "es-1/10.0.0.1:9200"));
        assert!(is_at(&url("http://10.0.0.1:9200"), "es-1/10.0.0.1:9200"));
        assert!(is_at(&url("http://localhost:9201"), "127.0.0.1:9201"));
        assert!(is_at(&url("http://[::1]:9200"), "[::1]:9200"));
        assert!(!is_at(&url("http://es-1:9200"), "es-2/10.0.0.2:9200"));
        assert!(!is_at(&url("http://es-1:9201"), "es-1/10.0.0.1:9200"));
    }
}
