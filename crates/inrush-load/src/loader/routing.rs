//! The choice of requests for one shard each.

use std::sync::Arc;

use inrush_cluster::api::shards;
use inrush_cluster::transport::Transport;
use inrush_core::routing::Routing;

use super::prepare::Prepared;
use crate::config::{BulkRouting, LoadConfig};
use crate::error::LoadError;
use crate::primaries::Primaries;

/// The chosen routing of requests.
#[derive(Default)]
pub(super) struct Routed {
    /// Routing that groups documents by shard.
    pub(super) groups: Option<Routing>,
    /// Routing values of requests without ids. The requests use them in turn, one shard each.
    pub(super) values: Vec<String>,
    /// Nodes of the primary shards.
    pub(super) primaries: Option<Arc<Primaries>>,
}

/// Chooses the routing by the configuration. `with_ids` says that all documents have ids.
pub(super) async fn choose(
    transport: &Arc<Transport>,
    config: &LoadConfig,
    prepared: &Prepared,
    with_ids: bool,
) -> Result<Routed, LoadError> {
    let has_keys = with_ids || config.routing.is_some();
    let wanted = match config.bulk_routing {
        BulkRouting::Spread => false,
        // A grouped request saves the forwarding between nodes, so it needs several nodes.
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
            "needs one index, and this name can switch to another one at any time; use option `bulk_routing=spread`",
        );
    }
    let Some(index) = prepared.index(config).filter(|_| !prepared.rolls_over()) else {
        return match must {
            true => refuse(
                "needs to read the metadata of the index, and this user has no permission for it; use option `bulk_routing=spread`",
            ),
            false => Ok(Routed::default()),
        };
    };
    let found = match shards::shards(transport, index).await {
        Ok(found) => found,
        Err(error) if must => {
            return refuse(&format!(
                "needs to read the shards from the cluster state: {error}; grant the permission cluster:monitor/state, or use option `bulk_routing=spread`"
            ));
        }
        Err(error) => {
            tracing::debug!("documents are not grouped by shard, because the cluster state cannot be read: {error}");
            return Ok(Routed::default());
        }
    };
    if found.routing.shards() == 1 {
        return Ok(Routed::default());
    }
    if !has_keys {
        if found.routing.is_partitioned() {
            return refuse(
                "does not work with this index, where one routing value leads to several shards (index.routing_partition_size); use option `bulk_routing=spread`",
            );
        }
        tracing::info!(
            "each request goes to one of {} shards, with a routing value that the index stores",
            found.routing.shards()
        );
        return Ok(Routed { values: found.routing.values(), ..Routed::default() });
    }
    let nodes = shards::nodes(&transport.brief()).await.unwrap_or_default();
    let primaries = Primaries::watch(Arc::new(transport.brief()), index.to_owned(), nodes, &found);
    if !must && primaries.spread() < 2 {
        return Ok(Routed::default());
    }
    let (shards, nodes) = (found.routing.shards(), primaries.spread());
    tracing::info!("documents are grouped by shard: {shards} shards, with primaries on {nodes} of the given nodes");
    Ok(Routed { groups: Some(found.routing), values: Vec::new(), primaries: Some(primaries) })
}
