//! The health of an index: which copies of its shards are active.

use http::Method;
use serde_json::Value;

use super::error::ClusterError;
use crate::transport::{Transport, path_segment};

/// The health of an index, or of all indices behind a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// `green`, `yellow` or `red`.
    pub status: String,
    /// Shard copies that should exist, primaries included.
    pub copies: u64,
    /// Shard copies that are active.
    pub active: u64,
    /// Shard copies that are being initialized.
    pub initializing: u64,
    /// Shard copies that the present data nodes can hold: one node never holds two copies of a
    /// shard.
    pub possible: u64,
    /// Number of data nodes.
    pub data_nodes: u64,
}

impl Health {
    /// Whether every copy is active.
    pub fn is_green(&self) -> bool {
        self.status == "green"
    }

    /// Whether every copy is active that the present data nodes can hold.
    pub fn is_as_good_as_it_gets(&self) -> bool {
        // A shard cannot have more active copies than are possible, so equal sums mean that each
        // shard has all of them.
        self.is_green() || self.active >= self.possible
    }

    /// The health as text:
    /// `yellow, 3 of 10 shard copies are not in use, 2 of them are being filled`.
    pub fn words(&self) -> String {
        let missing = self.copies.saturating_sub(self.active);
        let mut words = format!("{}, {missing} of {} shard copies are not in use", self.status, self.copies);
        if self.initializing > 0 {
            words.push_str(&format!(", {} of them are being filled", self.initializing));
        }
        if self.copies > self.possible {
            let nodes = if self.data_nodes == 1 { "data node has" } else { "data nodes have" };
            words.push_str(&format!(
                ", and {} cannot be assigned, because {} {nodes} room for no more",
                self.copies - self.possible,
                self.data_nodes
            ));
        }
        words
    }
}

/// The health of the indices behind `name`.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub async fn health(transport: &Transport, name: &str) -> Result<Health, ClusterError> {
    let what = format!("asking for the health of {name}");
    let path = format!("/_cluster/health/{}?level=indices", path_segment(name));
    let body = transport.demand(&what, Method::GET, &path, None).await?;
    parse(&what, &body)
}

fn parse(what: &str, body: &Value) -> Result<Health, ClusterError> {
    let status = body.get("status").and_then(Value::as_str);
    let status =
        status.ok_or_else(|| ClusterError::Reply { what: what.to_owned(), problem: "no status".to_owned() })?;
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_u64).unwrap_or(0);
    let data_nodes = number(body, "number_of_data_nodes");
    let indices = body.get("indices").and_then(Value::as_object);
    let each = || indices.into_iter().flat_map(|indices| indices.values());
    let shards = |index: &Value| (number(index, "number_of_shards"), 1 + number(index, "number_of_replicas"));
    Ok(Health {
        status: status.to_owned(),
        copies: each().map(shards).map(|(shards, copies)| shards * copies).sum(),
        active: number(body, "active_shards"),
        initializing: number(body, "initializing_shards"),
        possible: each().map(shards).map(|(shards, copies)| shards * copies.min(data_nodes)).sum(),
        data_nodes,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(status: &str, active: u64, initializing: u64, data_nodes: u64) -> Health {
        let body = json!({"status": status, "active_shards": active, "initializing_shards": initializing,
            "number_of_data_nodes": data_nodes, "indices": {"a": {"number_of_shards": 2, "number_of_replicas": 1}}});
        parse("", &body).unwrap()
    }

    #[test]
    fn one_node_has_no_place_for_replicas() {
        let one = found("yellow", 2, 0, 1);
        assert!(one.is_as_good_as_it_gets() && !one.is_green());
        assert_eq!(
            one.words(),
            "yellow, 2 of 4 shard copies are not in use, and 2 cannot be assigned, because 1 data node has room for no more"
        );
        assert!(!found("red", 1, 0, 1).is_as_good_as_it_gets());
        let two = found("yellow", 3, 1, 2);
        assert!(!two.is_as_good_as_it_gets());
        assert_eq!(two.words(), "yellow, 1 of 4 shard copies are not in use, 1 of them are being filled");
        assert!(found("green", 4, 0, 2).is_green());
    }
}
