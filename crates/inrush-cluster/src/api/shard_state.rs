//! What tells whether the shards of an index are in the hands of the same primaries as before.

use http::Method;
use inrush_core::routing::Routing;
use serde_json::Value;

use super::error::ClusterError;
use super::shards;
use crate::transport::{Transport, path_segment};

const FILTER: &str = "metadata.indices.*.settings.index.uuid,metadata.indices.*.primary_terms,metadata.indices.*.routing_num_shards,metadata.indices.*.settings.index.number_of_shards,metadata.indices.*.settings.index.routing_partition_size,metadata.indices.*.settings.index.version.created";

/// The primaries of one index at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardState {
    /// The UUID of the index.
    pub uuid: String,
    /// The function from documents to shards.
    pub routing: Routing,
    /// The primary term of each shard. It rises with each primary that takes over.
    pub terms: Vec<u64>,
}

/// Reads the state of `index`, which must not be an alias.
///
/// # Errors
/// [`ClusterError`] if the request fails. The user needs the privilege to read the cluster state
/// (`cluster:monitor/state`).
pub async fn read(transport: &Transport, index: &str) -> Result<ShardState, ClusterError> {
    let what = format!("asking for the primary terms of {index}");
    let path = format!("/_cluster/state/metadata/{}?filter_path={FILTER}", path_segment(index));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    parse(index, &body).ok_or_else(|| ClusterError::Reply { what, problem: format!("they are not in {body}") })
}

fn parse(index: &str, body: &Value) -> Option<ShardState> {
    let metadata = body.get("metadata")?.get("indices")?.get(index)?;
    let routing = shards::routing(metadata)?;
    let by_shard = metadata.get("primary_terms")?.as_object()?;
    let terms: Option<Vec<u64>> =
        (0..routing.shards()).map(|shard| by_shard.get(&shard.to_string())?.as_u64()).collect();
    let uuid = metadata.pointer("/settings/index/uuid")?.as_str()?.to_owned();
    Some(ShardState { uuid, routing, terms: terms? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn terms_are_those_of_every_shard() {
        let state = |terms: Value| {
            json!({"metadata": {"indices": {"a.b": {"primary_terms": terms, "routing_num_shards": 4,
                "settings": {"index": {"uuid": "u", "number_of_shards": "2"}}}}}})
        };
        let found = parse("a.b", &state(json!({"1": 4, "0": 3}))).unwrap();
        assert_eq!((found.uuid.as_str(), found.terms), ("u", vec![3, 4]));
        assert_eq!(found.routing, Routing::new(2, Some(4), 1).unwrap());
        assert_eq!(parse("a.b", &state(json!({"0": 3}))), None);
        assert_eq!(parse("other", &state(json!({"1": 4, "0": 3}))), None);
    }
}
