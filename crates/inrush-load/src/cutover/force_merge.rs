//! Force-merge of the loaded indices.

use inrush_cluster::api::merge::{self, Segments};
use inrush_cluster::api::stats;

use super::waiting::{Waiting, is_passing};
use crate::progress::Step;

/// Merges the indices, one after another. `goes_on`: what the cluster does after the timeout.
pub(super) async fn force_merge(
    waiting: &Waiting,
    names: &[String],
    segments: u32,
    goes_on: &str,
) -> Result<String, String> {
    let (transport, asking) = (&waiting.transport, &waiting.asking());
    let mut sum = 0;
    for name in names {
        waiting.show(Step::ForceMerge, format!("{name}: to {segments} segments in each shard"));
        let merge = merge::start(transport, name, segments).await.map_err(|e| e.to_string())?;
        let mut wait = waiting.wait();
        loop {
            let state = match merge::is_done(asking, name, &merge).await {
                Ok(true) => break,
                // Only the progress shows this state.
                Ok(false) => match merge::segments(asking, name).await {
                    Ok(Segments { count, merging_bytes }) => {
                        format!("{name}: {count} segments; {} MiB are being merged", merging_bytes >> 20)
                    }
                    Err(_) => format!("{name} is being merged"),
                },
                Err(error) if is_passing(&error) => error.to_string(),
                Err(error) => return Err(error.to_string()),
            };
            waiting.show(Step::ForceMerge, &state);
            wait.pause(&state).await.map_err(|why| format!("{why}; {goes_on}"))?;
        }
        // The next refresh releases the merged segments.
        stats::refresh(transport, name).await.map_err(|e| e.to_string())?;
        sum += merge::segments(transport, name).await.map_err(|e| e.to_string())?.count;
    }
    Ok(format!("{sum} segments in all shard copies"))
}
