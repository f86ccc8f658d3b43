//! A warning about deleted documents whose versions the index forgets.

use std::time::Duration;

use inrush_cluster::api::index::gc_deletes;
use inrush_cluster::transport::Transport;
use inrush_sources::SourceInfo;

use super::prepare::Prepared;
use crate::config::LoadConfig;

/// A partition that changes its reader, or a topic that is read again, may bring an older write
/// after a deletion as late as this.
const ENOUGH: Duration = Duration::from_secs(600);

/// The time for which an index remembers the version of a deleted document, by default.
const DEFAULT: Duration = Duration::from_secs(60);

/// The warning, where documents with versions are deleted and the index forgets that soon.
pub(super) async fn warning(
    transport: &Transport,
    config: &LoadConfig,
    info: &SourceInfo,
    prepared: &Prepared,
) -> Option<String> {
    if !info.has_versions || !info.has_deletions {
        return None;
    }
    let index = prepared.index(config)?;
    let kept = match gc_deletes(transport, index).await {
        Ok(set) => set.unwrap_or(DEFAULT),
        Err(error) => {
            tracing::debug!("index.gc_deletes of {index}: {error}");
            return None;
        }
    };
    (kept < ENOUGH).then(|| {
        format!(
            "index {index} forgets the version of a deleted document after {} s (index.gc_deletes). An older write that \
             comes later, as when records are read again, would bring the document back; set index.gc_deletes to 1h",
            kept.as_secs()
        )
    })
}
