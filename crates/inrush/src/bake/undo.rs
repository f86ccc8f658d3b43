//! The target as it was: what a bake has put there is taken away again, by what was written down.

use std::time::{Duration, Instant};

use super::state::{Handover, Saved};
use super::throttle;
use crate::cluster::snapshots;
use crate::cluster::{ClusterError, index};
use crate::transport::Transport;

/// How long a target that does not answer is waited for.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_secs(1);

/// Takes away the index, unless it is published, and everything that was there for the restore only. What is done is struck off in `saved`; what could not
/// be done is returned in words.
pub(super) async fn undo(target: &Transport, saved: &mut Saved) -> Vec<String> {
    let mut left = Vec::new();
    let until = Instant::now() + PATIENCE;
    if saved.restoring && !saved.published {
        let mut all = true;
        for handover in saved.handovers() {
            if let Err(why) = patient(until, || remove_index(target, &handover)).await {
                all = false;
                let index = &handover.index;
                left.push(format!("the index {index} on the target: {why}; DELETE /{index} if it is there"));
            }
        }
        saved.restoring = !all;
    }
    left.extend(release(target, saved, until).await);
    left
}

/// Puts the throttles back and takes the repository off the target.
pub(super) async fn tidy(target: &Transport, saved: &mut Saved) -> Vec<String> {
    release(target, saved, Instant::now() + PATIENCE).await
}

async fn release(target: &Transport, saved: &mut Saved, until: Instant) -> Vec<String> {
    let mut left = Vec::new();
    if let Some(throttle) = &saved.throttle {
        match patient(until, || throttle::put_back(target, throttle)).await {
            Ok(()) => saved.throttle = None,
            Err(why) => left.push(format!("the target's indices.recovery.max_bytes_per_sec is not put back: {why}")),
        }
    }
    if saved.registered {
        let mut all = true;
        for Handover { repository, .. } in saved.handovers() {
            // A restore that was broken off a moment ago still holds it.
            if let Err(why) = patient(until, || unregister(target, &repository)).await {
                all = false;
                left.push(format!("the repository {repository} on the target: {why}; DELETE /_snapshot/{repository}"));
            }
        }
        saved.registered = !all;
    }
    left
}

/// Deletes the index if it is the one that was built; one that somebody else has made is theirs.
async fn remove_index(target: &Transport, handover: &Handover) -> Result<(), ClusterError> {
    let Some(found) = snapshots::identity(target, &handover.index).await? else { return Ok(()) };
    if handover.made.as_ref().is_some_and(|made| made.created == found.created) {
        index::delete(target, &handover.index).await?;
    }
    Ok(())
}

async fn unregister(target: &Transport, name: &str) -> Result<(), ClusterError> {
    snapshots::unregister(target, name).await.map(drop)
}

/// Tries until it is done, the patience ends, or the answer is that it will never be.
async fn patient<F>(until: Instant, work: impl Fn() -> F) -> Result<(), String>
where
    F: Future<Output = Result<(), ClusterError>>,
{
    loop {
        match work().await {
            Ok(()) => return Ok(()),
            Err(error @ (ClusterError::LogIn { .. } | ClusterError::Forbidden { .. })) => return Err(error.to_string()),
            Err(error) if Instant::now() >= until => return Err(error.to_string()),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
