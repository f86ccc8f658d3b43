//! Whether requests are made for one shard each.

use std::sync::Arc;

use inrush_cluster::api::shards;
use inrush_cluster::transport::Transport;
use inrush_core::routing::Routing;

use super::prepare::Prepared;
use crate::config::{BulkRouting, LoadConfig};
use crate::error::LoadError;
use crate::primaries::Primaries;

/// What was found out and decided.
#[derive(Default)]
pub(super) struct Routed {
    /// Documents are grouped by the shard they lead to.
    pub(super) groups: Option<Routing>,
    /// Batches without ids go to one shard each, by these values in turn.
    pub(super) values: Vec<String>,
    /// Where the shards are.
    pub(super) primaries: Option<Arc<Primaries>>,
}

/// Decides it, as was asked for. `with_ids`: all documents have one.
pub(super) async fn choose(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    prepared: &Prepared,
    with_ids: bool,
) -> Result<Routed, LoadError> {
    let has_keys = with_ids || config.routing.is_some();
    let wanted = match config.bulk_routing {
        BulkRouting::Spread => false,
        // Several nodes are what a grouped request saves the way between.
        BulkRouting::Auto => has_keys && transport.nodes().len() > 1,
        BulkRouting::OneShard => true,
    };
    if !wanted {
        return Ok(Routed::default());
    }
    let must = config.bulk_routing == BulkRouting::OneShard;
    let refuse = |why: &str| Err(LoadError::usage(format!("option `bulk_routing=one-shard` {why}")));
    if must && prepared.rolls_over() {
        return refuse(
            "is for one index, and this name goes on to another one at any time; use option `bulk_routing=spread`",
        );
    }
    let Some(index) = prepared.index(config).filter(|_| !prepared.rolls_over()) else {
        return match must {
            true => {
                refuse("needs to see the index, and this user may not look at it; use option `bulk_routing=spread`")
            }
            false => Ok(Routed::default()),
        };
    };
    let found = match shards::shards(transport, index).await {
        Ok(found) => found,
        Err(error) if must => {
            return refuse(&format!(
                "needs to read the cluster state, which tells the shards: {error}; grant it (cluster:monitor/state), or use option `bulk_routing=spread`"
            ));
        }
        Err(error) => {
            tracing::debug!("documents are not grouped by shard: {error}");
            return Ok(Routed::default());
        }
    };
    if found.routing.shards() == 1 {
        return Ok(Routed::default());
    }
    if !has_keys {
        if found.routing.is_partitioned() {
            return refuse(
                "is not possible here: a routing value of this index stands for several shards (index.routing_partition_size)",
            );
        }
        tracing::info!(
            "each request goes to one of {} shards, with a routing value that stays stored",
            found.routing.shards()
        );
        return Ok(Routed { values: found.routing.values(), ..Routed::default() });
    }
    let nodes = shards::nodes(transport).await.unwrap_or_default();
    let primaries = Primaries::watch(Arc::clone(transport), index.to_owned(), nodes, &found);
    if !must && primaries.spread() < 2 {
        return Ok(Routed::default());
    }
    let (shards, nodes) = (found.routing.shards(), primaries.spread());
    tracing::info!(
        "documents are grouped by shard: {shards} shards, with primaries on {nodes} of the nodes that are named"
    );
    Ok(Routed { groups: Some(found.routing), values: Vec::new(), primaries: Some(primaries) })
}
