//! Restores the former state of the target: deletes what a bake has created there, by its record.

use std::time::Duration;

use inrush_cluster::Wait;
use inrush_cluster::api::{ClusterError, aliases, index, snapshots, stats};
use inrush_cluster::transport::Transport;

use super::throttle;
use crate::context::{Patience, none_begins};
use crate::record::{Built, Saved};

/// How long to wait for requests to restore. A server gives up a request that its master has not
/// accepted in half a minute. A request of another program may wait for its whole restore.
const BEGINS_MAX: Duration = Duration::from_secs(30);

/// Deletes the index, unless it is published or may be, and everything that existed for the restore
/// only. What is done is removed from `saved`. Returns messages about what could not be done.
pub(crate) async fn undo(target: &Transport, saved: &mut Saved, patience: &Patience) -> Vec<String> {
    let mut left = Vec::new();
    if saved.restoring && !saved.published {
        // The index is deleted even if the running restores cannot be read.
        let begins = Wait::new(BEGINS_MAX.min(patience.grace / 3));
        let _ = begins.limit("asking for restores", patience.retry(|| no_restore_begins(target))).await;
        let built = saved.built();
        let why = match saved.in_doubt {
            true => Some("it is unknown whether it was published".to_owned()),
            false => patience.retry(|| remove_index(target, &built)).await.unwrap_or_else(Some),
        };
        saved.restoring = why.is_some();
        let index = &built.index;
        left.extend(
            why.map(|why| format!("the index {index} on the target: {why}; DELETE /{index} if it is not in use")),
        );
    }
    left.extend(release(target, saved, patience).await);
    left
}

/// Restores the throttles and removes the repository from the target. What is done is removed from
/// `saved`. Returns messages about what could not be done.
pub(crate) async fn release(target: &Transport, saved: &mut Saved, patience: &Patience) -> Vec<String> {
    let mut left = Vec::new();
    if let Some(throttle) = &saved.throttle {
        match patience.retry(|| throttle::put_back(target, throttle)).await {
            Ok(()) => saved.throttle = None,
            Err(why) => left.push(format!("the target's indices.recovery.max_bytes_per_sec was not restored: {why}")),
        }
    }
    if saved.registered {
        let Built { repository, .. } = saved.built();
        // A restore that was just aborted still holds it.
        match patience.retry(|| unregister(target, &repository)).await {
            Ok(()) => saved.registered = false,
            Err(why) => {
                left.push(format!("the repository {repository} on the target: {why}; DELETE /_snapshot/{repository}"));
            }
        }
    }
    left
}

/// Checks that the target has carried out all requests to restore.
async fn no_restore_begins(target: &Transport) -> Result<(), ClusterError> {
    none_begins(target, "asking for restores that begin", "cluster:admin/snapshot/restore*").await
}

/// Deletes the index if it is the one that was built. An index of another program stays. `Some`:
/// why it stays.
async fn remove_index(target: &Transport, built: &Built) -> Result<Option<String>, ClusterError> {
    let name = &built.index;
    let Some(found) = snapshots::identity(target, name).await? else { return Ok(None) };
    if built.made.as_ref().is_none_or(|made| made.created != found.created) {
        return Ok(None);
    }
    let why = in_use(target, built).await?;
    if why.is_none() {
        index::delete(target, name).await?;
    }
    Ok(why)
}

/// Why a restored index holds more than this bake has put there, if it does.
///
/// # Errors
/// [`ClusterError`] if the request fails.
pub(crate) async fn in_use(target: &Transport, built: &Built) -> Result<Option<String>, ClusterError> {
    let Built { index, docs, .. } = built;
    let carrier = aliases::behind(target, index).await?.remove(index);
    if let Some(carrier) = carrier {
        if let Some(stream) = carrier.data_stream {
            return Ok(Some(format!("it belongs to the data stream {stream}")));
        }
        if let Some(alias) = carrier.aliases.keys().next() {
            return Ok(Some(format!("the alias {alias} stands for it")));
        }
    }
    // A partly restored index cannot be counted, and other programs can hardly have written to it.
    let primaries = snapshots::primaries(target, index).await?;
    if primaries.total == 0 || primaries.started < primaries.total {
        return Ok(None);
    }
    let counted = stats::count_now(target, index).await?;
    Ok((counted > *docs).then(|| format!("it holds {counted} documents, of which {docs} are of this bake")))
}

async fn unregister(target: &Transport, name: &str) -> Result<(), ClusterError> {
    snapshots::unregister(target, name).await.map(drop)
}
