//! Restores the former state of the target: deletes what a bake has created there, by its record.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::Method;
use inrush_cluster::Wait;
use inrush_cluster::api::{ClusterError, aliases, index, snapshots, stats};
use inrush_cluster::transport::Transport;
use inrush_load::StopSignal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::native;
use super::state::{Handover, Saved};
use super::throttle;

/// How long to retry requests to a target that does not answer.
const RETRY_FOR: Duration = Duration::from_secs(90);
/// How long to wait for requests to restore. A server gives up a request that its master has not
/// accepted in half a minute. A request of another program may wait for its whole restore.
const BEGINS_MAX: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);

/// How long the clean-up may take: [`RETRY_FOR`], and after a stop the time of option `grace`.
pub(super) struct Patience {
    until: Instant,
    stop: watch::Receiver<bool>,
    grace: Duration,
    /// When the stop was noticed.
    stopped: OnceLock<Instant>,
}

impl Patience {
    pub(super) fn new(stop: watch::Receiver<bool>, grace: Duration) -> Self {
        Patience { until: Instant::now() + RETRY_FOR, stop, grace, stopped: OnceLock::new() }
    }

    /// Waits until the time after a stop is over.
    async fn over_after_stop(&self) -> String {
        self.stop.clone().stopped().await;
        sleep_until(*self.stopped.get_or_init(Instant::now) + self.grace).await;
        "there was no answer in the time of option `grace`".to_owned()
    }

    /// Waits until the time is over.
    async fn over(&self) -> String {
        tokio::select! {
            why = self.over_after_stop() => why,
            () = sleep_until(self.until) => format!("there was no answer for {} s", RETRY_FOR.as_secs()),
        }
    }

    /// Runs work that has an end of its own, after a stop for no longer than the clean-up may take.
    pub(super) async fn limit<T, E: ToString>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, String> {
        tokio::select! {
            biased;
            done = work => done.map_err(|error| error.to_string()),
            why = self.over_after_stop() => Err(why),
        }
    }

    /// Retries `work` until it succeeds, the time is over, or the reply shows that it will never
    /// succeed.
    async fn retry<T, F>(&self, work: impl Fn() -> F) -> Result<T, String>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        let last = Mutex::new(None);
        let tries = async {
            loop {
                match work().await {
                    Ok(done) => return Ok(done),
                    Err(error @ (ClusterError::LogIn { .. } | ClusterError::Forbidden { .. })) => {
                        return Err(error.to_string());
                    }
                    Err(error) => *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string()),
                }
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            biased;
            done = tries => done,
            why = self.over() => Err(last.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(why)),
        }
    }
}

/// Deletes the index, unless it is published or may be, and everything that existed for the restore
/// only. What is done is removed from `saved`. Returns messages about what could not be done.
pub(super) async fn undo(target: &Transport, saved: &mut Saved, patience: &Patience) -> Vec<String> {
    let mut left = Vec::new();
    if saved.restoring && !saved.published {
        // The index is deleted even if the running restores cannot be read.
        let begins = Wait::new(BEGINS_MAX.min(patience.grace / 3));
        let _ = begins.limit("asking for restores", patience.retry(|| no_restore_begins(target))).await;
        let mut all = true;
        for handover in saved.handovers() {
            let index = &handover.index;
            let why = match saved.in_doubt {
                true => Some("it is unknown whether it was published".to_owned()),
                false => patience.retry(|| remove_index(target, &handover)).await.unwrap_or_else(Some),
            };
            if let Some(why) = why {
                all = false;
                left.push(format!("the index {index} on the target: {why}; DELETE /{index} if it is not in use"));
            }
        }
        saved.restoring = !all;
    }
    left.extend(forget_empty(target, saved, patience).await);
    left.extend(release(target, saved, patience).await);
    left
}

/// Deletes the index without documents, and its snapshot.
async fn forget_empty(target: &Transport, saved: &mut Saved, patience: &Patience) -> Option<String> {
    saved.native.as_ref().filter(|native| native.making || native.registered)?;
    let before = saved.clone();
    let forgotten = patience.retry(|| {
        let mut saved = before.clone();
        async move { native::forget(target, &mut saved).await.map(|()| saved.native) }
    });
    match forgotten.await {
        Ok(native) => {
            saved.native = native;
            None
        }
        Err(why) => Some(format!(
            "the index {} without documents and the repository inrush-bake-{}-empty on the target: {why}; delete them",
            saved.index, saved.id
        )),
    }
}

/// Restores the throttles and removes the repository from the target.
pub(super) async fn tidy(target: &Transport, saved: &mut Saved, patience: &Patience) -> Vec<String> {
    let mut left: Vec<String> = forget_empty(target, saved, patience).await.into_iter().collect();
    left.extend(release(target, saved, patience).await);
    left
}

async fn release(target: &Transport, saved: &mut Saved, patience: &Patience) -> Vec<String> {
    let mut left = Vec::new();
    if let Some(throttle) = &saved.throttle {
        match patience.retry(|| throttle::put_back(target, throttle)).await {
            Ok(()) => saved.throttle = None,
            Err(why) => left.push(format!("the target's indices.recovery.max_bytes_per_sec was not restored: {why}")),
        }
    }
    if saved.registered {
        let mut all = true;
        for Handover { repository, .. } in saved.handovers() {
            // A restore that was just aborted still holds it.
            if let Err(why) = patience.retry(|| unregister(target, &repository)).await {
                all = false;
                left.push(format!("the repository {repository} on the target: {why}; DELETE /_snapshot/{repository}"));
            }
        }
        saved.registered = !all;
    }
    left
}

/// Checks that the target has carried out all requests to restore. A run that was killed may have
/// sent one a moment ago, and its index would appear after it was looked for.
async fn no_restore_begins(target: &Transport) -> Result<(), ClusterError> {
    none_begins(target, "asking for restores that begin", "cluster:admin/snapshot/restore*").await
}

/// The same for requests that create an index.
pub(super) async fn no_index_begins(target: &Transport) -> Result<(), ClusterError> {
    none_begins(target, "asking for indices that are being created", "indices:admin/create*").await
}

async fn none_begins(target: &Transport, what: &str, action: &str) -> Result<(), ClusterError> {
    let path = format!("/_tasks?actions={action}&filter_path=nodes.*.tasks.*.action");
    let body = target.demand(what, Method::GET, &path, None).await?;
    match body.get("nodes") {
        None => Ok(()),
        Some(_) => Err(ClusterError::Reply { what: what.to_owned(), problem: "one is in progress".to_owned() }),
    }
}

/// Deletes the index if it is the one that was built. An index of another program stays. `Some`:
/// why it stays.
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

/// Why a restored index holds more than this bake has put there, if it does.
///
/// # Errors
/// [`ClusterError`] if the request fails.
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

#[cfg(test)]
mod tests {
    use inrush_cluster::transport::{Credentials, HttpOptions};
    use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};

    use super::*;

    /// A cluster that takes each request and answers none.
    async fn silent() -> (FakeCluster, Transport) {
        let faults = Faults::new([Rule::new(Fault::NoReply).path("/")]);
        let fake = FakeCluster::start(FakeConfig::default().faults(faults)).await.unwrap();
        let target = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        (fake, target)
    }

    #[tokio::test]
    async fn a_stop_ends_a_clean_up_without_answers() {
        let (_fake, target) = silent().await;
        let (stop, stopped) = watch::channel(false);
        let patience = Patience::new(stopped, Duration::from_millis(1));
        stop.send_replace(true);
        let why = patience.retry(|| no_index_begins(&target)).await.unwrap_err();
        assert_eq!(why, "there was no answer in the time of option `grace`");
        let builder = patience.limit(std::future::pending::<Result<(), String>>()).await.unwrap_err();
        assert_eq!(builder, why);
    }
}
