//! The target as it was: what a bake has put there is taken away again, by what was written down.

use std::time::{Duration, Instant};

use http::Method;
use inrush_cluster::api::{ClusterError, aliases, index, snapshots, stats};
use inrush_cluster::transport::Transport;

use super::state::{Handover, Saved};
use super::throttle;

/// How long a target that does not answer is waited for.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long requests to restore are waited for: a server gives one up that its master has not taken in half a minute, and somebody else's may wait for its whole restore.
const BEGINS_MAX: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);

/// Takes away the index, unless it is published or may be, and everything that was there for the restore only. What is done is struck off in `saved`; what could not
/// be done is returned in words.
pub(super) async fn undo(target: &Transport, saved: &mut Saved) -> Vec<String> {
    let mut left = Vec::new();
    let until = Instant::now() + PATIENCE;
    if saved.restoring && !saved.published {
        // What cannot be asked is no reason to leave the index.
        let _ = patient(Instant::now() + BEGINS_MAX, || no_restore_begins(target)).await;
        let mut all = true;
        for handover in saved.handovers() {
            let index = &handover.index;
            let why = match saved.in_doubt {
                true => Some("whether it was published is not known".to_owned()),
                false => patient(until, || remove_index(target, &handover)).await.unwrap_or_else(Some),
            };
            if let Some(why) = why {
                all = false;
                left.push(format!("the index {index} on the target: {why}; DELETE /{index} if nobody uses it"));
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

/// That the target has carried out all requests to restore: a run that was killed may have sent one a moment ago, and the index comes after it was looked for.
async fn no_restore_begins(target: &Transport) -> Result<(), ClusterError> {
    let what = "asking for restores that begin";
    let path = "/_tasks?actions=cluster:admin/snapshot/restore*&filter_path=nodes.*.tasks.*.action";
    let body = target.demand(what, Method::GET, path, None).await?;
    match body.get("nodes") {
        None => Ok(()),
        Some(_) => Err(ClusterError::Reply { what: what.to_owned(), problem: "one is under way".to_owned() }),
    }
}

/// Deletes the index if it is the one that was built; one that somebody else has made is theirs. `Some`: why it stays.
async fn remove_index(target: &Transport, handover: &Handover) -> Result<Option<String>, ClusterError> {
    let name = &handover.index;
    let Some(found) = snapshots::identity(target, name).await? else { return Ok(None) };
    if handover.made.as_ref().is_none_or(|made| made.created != found.created) {
        return Ok(None);
    }
    let why = in_use(target, handover).await?;
    if why.is_none() {
        index::delete(target, name).await?;
    }
    Ok(why)
}

/// Why a restored index is more than this bake has put there, if it is.
///
/// # Errors
/// As every question.
pub(super) async fn in_use(target: &Transport, handover: &Handover) -> Result<Option<String>, ClusterError> {
    let Handover { index, docs, .. } = handover;
    let carrier = aliases::behind(target, index).await?.remove(index);
    if let Some(carrier) = carrier {
        if let Some(stream) = carrier.data_stream {
            return Ok(Some(format!("it belongs to the data stream {stream}")));
        }
        if let Some(alias) = carrier.aliases.keys().next() {
            return Ok(Some(format!("the alias {alias} stands for it")));
        }
    }
    // One that is restored only in part cannot be counted, and nobody can have written much to it.
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

/// Tries until it is done, the patience ends, or the answer is that it will never be.
async fn patient<T, F>(until: Instant, work: impl Fn() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, ClusterError>>,
{
    loop {
        match work().await {
            Ok(done) => return Ok(done),
            Err(error @ (ClusterError::LogIn { .. } | ClusterError::Forbidden { .. })) => return Err(error.to_string()),
            Err(error) if Instant::now() >= until => return Err(error.to_string()),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
