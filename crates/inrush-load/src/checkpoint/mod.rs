//! Checkpoints: when they are written, and what is checked before a load goes on from one. What they hold is decided in
//! `inrush-core` ([`inrush_core::Checkpoint`]).
//!
//! A block of documents may be sent only when a checkpoint on disk says so (its horizon), so the horizon is moved ahead early, by about
//! what is sent between two checkpoints, in a task of its own. A write that fails ends the run: nothing beyond the last horizon was sent, so the
//! checkpoint on disk stays true.

mod job;
mod open;
mod record;
mod state;
mod writer;

use std::sync::Arc;

use inrush_cluster::api::{ClusterError, index};
use inrush_cluster::transport::Transport;
pub use job::Job;
pub(crate) use open::{Beginning, Opened, open};
pub use record::LOADS_INDEX;
pub(crate) use record::OVERTAKEN;
use state::Saved;
pub use state::{State, StateError};
pub(crate) use writer::Checkpointer;

/// What tells the index from a later one of the same name; `None` where it does not exist or may not be looked at.
async fn uuid(transport: &Transport, name: &str) -> Result<Option<String>, ClusterError> {
    match index::uuids(transport, name).await {
        Ok(mut uuids) => Ok(uuids.remove(name)),
        Err(e) if e.status() == Some(403) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Writes a checkpoint, dead letters first.
async fn write(state: Arc<State>, saved: Saved, letters: Option<std::fs::File>) -> std::io::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        if let Some(letters) = letters {
            letters.sync_all()?;
        }
        state.write(&saved)
    });
    // Cancelled only with the whole runtime.
    written.await.unwrap_or_else(|e| Err(std::io::Error::other(e)))
}
