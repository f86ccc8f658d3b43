//! Checkpoints: when they are written, and the checks before a load resumes from one. `inrush-core`
//! decides their content ([`inrush_core::Checkpoint`]).
//!
//! A block of documents may be sent only when a checkpoint on disk allows it (the horizon). So the
//! horizon is moved ahead early, by about the documents that are sent between two checkpoints, in a
//! task of its own. A failed write ends the run. Nothing beyond the last horizon was sent, so the
//! checkpoint on disk stays correct.

mod claim;
mod index_change;
mod job;
mod open;
mod record;
mod records;
mod state;
mod writer;

use std::sync::Arc;

use inrush_cluster::api::{ClusterError, index};
use inrush_cluster::transport::Transport;
pub use job::Job;
pub(crate) use job::{cluster_names, digest};
pub(crate) use open::{FirstCheckpoint, Opened, open};
pub use records::LOADS_INDEX;
pub(crate) use records::OVERTAKEN;
pub(crate) use state::Saved;
pub use state::{CheckpointFile, StateError};
pub(crate) use writer::Checkpointer;

use crate::dead_letter::Unsynced;

/// UUID of the index, which tells it from a later one of the same name. `None` where the index does
/// not exist or the user may not read its metadata.
async fn uuid(transport: &Transport, name: &str) -> Result<Option<String>, ClusterError> {
    match index::uuids(transport, name).await {
        Ok(mut uuids) => Ok(uuids.remove(name)),
        Err(e) if e.status() == Some(403) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Writes a checkpoint, after a sync of the dead letters.
async fn write(state: Arc<CheckpointFile>, saved: Saved, letters: Unsynced) -> std::io::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        letters.sync()?;
        state.write(&saved)
    });
    // Only a shutdown of the whole runtime cancels the task.
    written.await.unwrap_or_else(|e| Err(std::io::Error::other(e)))
}
