//! Force-merge of the loaded indices.

use inrush_cluster::Wait;
use inrush_cluster::api::merge::{self, Progress, Segments};
use inrush_cluster::api::{copies, stats};
use inrush_cluster::transport::Transport;

use super::waiting::{Waiting, is_passing};
use crate::progress::Step;

/// How often a merge of an index begins, where nodes that led it were stopped.
const STARTS_MAX: u32 = 10;

/// Merges the indices, one after another. `goes_on`: what the cluster does after the timeout.
pub(super) async fn force_merge(
    waiting: &Waiting,
    names: &[String],
    segments: u32,
    goes_on: &str,
) -> Result<String, String> {
    let transport = &waiting.transport;
    let mut sum = 0;
    for name in names {
        let mut wait = waiting.wait();
        let mut starts = 0;
        while merge_once(waiting, name, segments, &mut wait, goes_on).await? == Progress::Gone {
            starts += 1;
            if starts == STARTS_MAX {
                return Err(format!("{name}: the node that led the merge was stopped {STARTS_MAX} times"));
            }
            tracing::warn!("{name}: the node that led the merge was stopped; the merge begins again");
            // Shards that are not there yet are not merged, and are no error.
            while let Some(state) = red(&waiting.asking(), name).await {
                waiting.show(Step::ForceMerge, &state);
                wait.pause(&state).await?;
            }
        }
        // The next refresh releases the merged segments.
        stats::refresh(transport, name).await.map_err(|e| e.to_string())?;
        sum += merge::segments(transport, name).await.map_err(|e| e.to_string())?.count;
    }
    Ok(format!("{sum} segments in all shard copies"))
}

/// Requests the merge of an index, and waits for its end.
async fn merge_once(
    waiting: &Waiting,
    name: &str,
    segments: u32,
    wait: &mut Wait,
    goes_on: &str,
) -> Result<Progress, String> {
    let asking = &waiting.asking();
    waiting.show(Step::ForceMerge, format!("{name}: to {segments} segments in each shard"));
    let merge = merge::start(&waiting.transport, name, segments).await.map_err(|e| e.to_string())?;
    loop {
        let state = match merge::progress(asking, name, &merge).await {
            Ok(Progress::Runs) => state(asking, name).await,
            Ok(end) => return Ok(end),
            Err(error) if is_passing(&error) => error.to_string(),
            Err(error) => return Err(error.to_string()),
        };
        waiting.show(Step::ForceMerge, &state);
        wait.pause(&state).await.map_err(|why| format!("{why}; {goes_on}"))?;
    }
}

/// The health of an index that lacks a primary.
async fn red(asking: &Transport, name: &str) -> Option<String> {
    match copies::health(asking, name).await {
        Ok(health) if health.status == "red" => Some(format!("{name} is {}", health.words())),
        // Only the progress shows this state.
        Err(error) if is_passing(&error) => Some(error.to_string()),
        _ => None,
    }
}

/// The progress of a merge, for the display only.
async fn state(asking: &Transport, name: &str) -> String {
    match merge::segments(asking, name).await {
        Ok(Segments { count, merging_bytes }) => {
            format!("{name}: {count} segments; {} MiB are being merged", merging_bytes >> 20)
        }
        Err(_) => format!("{name} is being merged"),
    }
}
