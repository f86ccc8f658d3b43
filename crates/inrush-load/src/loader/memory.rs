//! What a load takes from earlier loads into its index.

use inrush_cluster::transport::Transport;
use inrush_core::remembered::LoadKind;
use inrush_core::tune::Learned;

use super::prepare::Prepared;
use crate::config::{Learning, LoadConfig};
use crate::learned::{self, Memory};

/// What earlier loads learned of the cluster and the index. `with_ids`: all documents have ids.
pub(super) async fn open(transport: &Transport, config: &LoadConfig, prepared: &Prepared, with_ids: bool) -> Memory {
    let state = match (config.learning, &config.state) {
        _ if !config.limits.learns() => return Memory::none(),
        (Learning::Given(learned), _) => return Memory::given(learned),
        (Learning::Kept | Learning::Anew, None) => return Memory::none(),
        (Learning::Kept | Learning::Anew, Some(state)) => &state.path,
    };
    let kind = LoadKind {
        action: config.action,
        with_ids,
        pipeline: config.pipeline.clone(),
        changes_settings: prepared.guard.is_some(),
        one_of_several: false,
        bounds: config.sending_limits().bounds(prepared.preflight.body_bytes_max),
    };
    // The name of the new index of a swap has the time in it.
    let target = match &config.finish.swap {
        Some(swap) => swap.alias.clone(),
        None => config.index.as_str().to_owned(),
    };
    let version = prepared.preflight.info.to_string();
    let Some(place) = learned::place(transport, version, prepared.index(config), target, kind).await else {
        tracing::debug!("the cluster does not say which one it is, so nothing is remembered of it");
        return Memory::none();
    };
    let memory = Memory::open(state, place, &config.learning);
    for warning in &memory.warnings {
        tracing::warn!("{warning}");
    }
    memory
}

/// The largest body that the cluster, and the way to it, take.
pub(super) fn body_bytes_max(prepared: &Prepared, learned: Option<&Learned>) -> Option<u64> {
    let limits = [prepared.preflight.body_bytes_max, learned.and_then(|learned| learned.body_bytes_max)];
    limits.into_iter().flatten().min()
}
