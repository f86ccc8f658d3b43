//! The steps on the target: restoring the index, counting it, and publishing it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use inrush_cluster::Wait;
use inrush_cluster::api::allocation::{self, Unassigned};
use inrush_cluster::api::snapshots::Primaries;
use inrush_cluster::api::{ClusterError, aliases, data_streams, index, snapshots, stats};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_load::LoadError;
use inrush_load::cutover::{Finishing, is_passing};
use inrush_load::{Verified, VerifiedState};
use serde_json::{Value, json};

use super::build::SNAPSHOT;
use super::config::{BakeError, Layout};
use super::context::Context;
use super::native::{self, WRITE_BLOCK};
use super::state::Handover;
use super::{throttle, undo};

/// How often the index is restored if the target loses it during the restore.
const RESTORES_MAX: u32 = 3;
/// How long shards may wait for a copy of themselves after the target has restarted, before the
/// restore counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);
/// How long a target takes at most to choose a node for a shard, if it can.
const CHOSEN_AFTER: Duration = Duration::from_secs(2);
const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
/// No limit in the repository. The target's own throttle is another limit.
const UNLIMITED: &str = "1000gb";

/// The target's side of a bake.
pub(super) struct Target {
    context: Arc<Context>,
    target: Arc<Transport>,
}

impl Target {
    pub(super) fn new(context: Arc<Context>) -> Self {
        let target = Arc::clone(&context.target);
        Target { context, target }
    }

    /// Restores the indices. A stop of the bake ends it, after the reply to a request in flight,
    /// if that comes soon: a request that the target carries out later would follow its undoing.
    pub(super) async fn restore(&self) -> Result<String, BakeError> {
        let handovers = self.context.saved().handovers();
        self.lift_throttle().await?;
        for handover in &handovers {
            self.restore_one(handover).await?;
        }
        let docs: u64 = handovers.iter().map(|handover| handover.docs).sum();
        let names: Vec<&str> = handovers.iter().map(|handover| handover.index.as_str()).collect();
        Ok(format!("{} with {docs} documents", names.join(", ")))
    }

    /// Restores an index. It is restored again if the target restarted in between.
    async fn restore_one(&self, handover: &Handover) -> Result<(), BakeError> {
        let name = &handover.index;
        self.register(handover).await?;
        for _ in 0..RESTORES_MAX {
            self.begin_restore(handover).await?;
            if let Some(lost) = self.wait_for_primaries(name).await? {
                tracing::warn!("{lost}; it is restored again");
            } else {
                let counted = self.ask(|| stats::count_now(&self.target, name)).await?;
                if counted == handover.docs {
                    return self.give_mapping(name).await;
                }
                tracing::warn!(
                    "{name} was restored with {counted} instead of {} documents; it is restored again",
                    handover.docs
                );
            }
            if let Some(why) = self.ask(|| undo::in_use(&self.target, handover)).await? {
                return Err(refuse(&format!("{name} was restored, and is already in use: {why}; it was not deleted")));
            }
            // This bake has begun the restore: that was checked before.
            self.ask(|| index::delete(&self.target, name)).await?;
        }
        Err(refuse(&format!("{name} was not complete after {RESTORES_MAX} restores; see the log of the target")))
    }

    /// Gives the index the fields that documents have added to its mapping. It takes no documents
    /// before, because those could add the same fields with other types.
    async fn give_mapping(&self, name: &str) -> Result<(), BakeError> {
        let Some(mapping) = self.new_fields() else { return Ok(()) };
        let path = format!("/{}", path_segment(name));
        let (of_mapping, of_settings) = (format!("{path}/_mapping"), format!("{path}/_settings"));
        let what = "setting the mapping with the new fields";
        let given = self.ask(|| self.target.demand(what, Method::PUT, &of_mapping, Some(&mapping))).await;
        // Refused once, they are refused again.
        given.map_err(|error| match native::is_refused(&error) {
            true => BakeError::NotNative(format!("the target does not take the new fields of the documents: {error}")),
            false => error,
        })?;
        let (what, open) = ("opening the index for documents", json!({ WRITE_BLOCK: null }));
        self.ask(|| self.target.demand(what, Method::PUT, &of_settings, Some(&open))).await.map(drop)
    }

    /// The fields that documents have added to the mapping of the snapshot.
    fn new_fields(&self) -> Option<Value> {
        self.context.saved().parts.first().and_then(|part| part.new_fields.clone())
    }

    /// Registers the repository, also if an earlier run has removed it.
    async fn register(&self, handover: &Handover) -> Result<(), BakeError> {
        let mut repository = handover.shared.read_only();
        if self.context.config.unthrottle {
            repository.settings.insert("max_restore_bytes_per_sec".to_owned(), json!(UNLIMITED));
        }
        self.context.write(|saved| saved.registered = true)?;
        // A repository that is being restored from cannot be changed. Then an earlier run has begun
        // the restore.
        if self.ask(|| snapshots::identity(&self.target, &handover.index)).await?.is_none() {
            self.ask(|| snapshots::register(&self.target, &handover.repository, &repository)).await?;
        }
        Ok(())
    }

    /// Removes the target's throttle if the options say so. Its value is recorded before.
    async fn lift_throttle(&self) -> Result<(), BakeError> {
        if !self.context.config.unthrottle || self.context.saved().throttle.is_some() {
            return Ok(());
        }
        let now = self.ask(|| throttle::look(&self.target)).await?;
        self.context.write(|saved| saved.throttle = Some(now.clone()))?;
        self.ask(|| throttle::lift(&self.target, &now)).await
    }

    /// Begins the restore, unless that was done before.
    async fn begin_restore(&self, handover: &Handover) -> Result<(), BakeError> {
        let name = &handover.index;
        let made = handover.made.as_ref().ok_or_else(|| refuse("the index was not made"))?;
        let until = Instant::now() + self.context.config.load.limits.retry_for;
        let mut sent = false;
        loop {
            let found = self.ask(|| snapshots::identity(&self.target, name)).await?;
            match found {
                // A restored index has the creation time of the index on the builder.
                Some(found) if self.context.saved().restoring && found.created == made.created => return Ok(()),
                Some(_) => {
                    return Err(refuse(&format!(
                        "another program has created an index {name} on the target meanwhile; it was not changed"
                    )));
                }
                None => {}
            }
            self.context.write(|saved| saved.restoring = true)?;
            let plan = self.context.saved().plan.clone();
            let (repository, settings) = (&handover.repository, &plan.restored);
            let mut ignored = plan.ignored;
            if self.context.saved().native.is_some() && self.new_fields().is_none() {
                ignored.push(WRITE_BLOCK.to_owned());
            }
            match snapshots::restore(&self.target, repository, SNAPSHOT, name, settings, &ignored).await {
                Ok(()) => return Ok(()),
                // The index shows whether the restore was begun.
                Err(error) if is_passing(&error) && Instant::now() < until => tracing::warn!("{error}"),
                // Most likely an earlier request, whose reply was lost, has been carried out by
                // now.
                Err(error) if sent && !is_passing(&error) => {
                    tracing::warn!("{error}");
                    self.pause().await?;
                    let found = self.ask(|| snapshots::identity(&self.target, name)).await?;
                    let is_ours = found.is_some_and(|found| found.created == made.created);
                    return if is_ours { Ok(()) } else { Err(error.into()) };
                }
                Err(error) => return Err(error.into()),
            }
            sent = true;
            self.pause().await?;
        }
    }

    /// Waits until all primary shards are active. The health of the index is no measure: it is
    /// yellow before the first file is there. Returns `Some` with the reason if the restore is
    /// lost.
    async fn wait_for_primaries(&self, name: &str) -> Result<Option<String>, BakeError> {
        let begun = Instant::now();
        let until = begun + self.context.config.load.finish.wait_timeout;
        let mut waits_since: Option<Instant> = None;
        let mut no_node = NoNode::new(&self.context);
        loop {
            let found = tokio::select! {
                found = snapshots::primaries(&self.target, name) => found,
                () = self.context.aborted() => return Err(BakeError::Interrupted),
            };
            let state = match found {
                Ok(found) if found.total > 0 && found.started == found.total => return Ok(None),
                Ok(found) => {
                    if let Some(why) = &found.failed {
                        return Err(refuse(&format!("the target cannot restore {name}: {why}")));
                    }
                    let since = waits_since.get_or_insert_with(Instant::now);
                    if !found.waits_for_itself {
                        waits_since = None;
                    } else if since.elapsed() > LOST_AFTER {
                        return Ok(Some(format!("the target restarted while {name} was restored, and has lost it")));
                    }
                    let state = format!("{} of {} primary shards of {name} are restored", found.started, found.total);
                    no_node
                        .check(&self.target, name, &found)
                        .await?
                        .map_or(state.clone(), |why| format!("{state}: {why}"))
                }
                Err(error) if is_passing(&error) => error.to_string(),
                Err(error) if error.status() == Some(404) => {
                    return Ok(Some(format!("{name} is gone from the target")));
                }
                Err(error) => return Err(error.into()),
            };
            if Instant::now() >= until {
                return Err(refuse(&format!("{state}, still after the time of option `wait_timeout`")));
            }
            self.context.show(&format!("restore: {state}"));
            // What lasts longer is looked at less often.
            let pause = (begun.elapsed() / 8).clamp(POLL_MIN, POLL_MAX);
            self.context.until_stopped(after(pause)).await?;
        }
    }

    /// Waits for the copies of the shards and counts again, as searches see the index.
    /// `on_builder`: the result of the load. Returns the result of both, and that on the target as
    /// text.
    pub(super) async fn verify(
        &self,
        finishing: &Finishing,
        on_builder: &Verified,
    ) -> Result<(Verified, String), BakeError> {
        let mut words = Vec::new();
        let handovers = self.context.saved().handovers();
        for Handover { index, docs, .. } in handovers {
            let state = finishing.green(&index).await.map_err(|why| refuse(&why))?;
            let counted = self.ask(|| stats::count_now(&self.target, &index)).await?;
            if counted != docs {
                return Err(refuse(&format!(
                    "{index} holds {counted} documents on the target, but was built with {docs}; is something else writing to it?"
                )));
            }
            words.push(format!("{counted} documents, and {state}"));
        }
        let on_target = words.join("; ");
        let mut verified = on_builder.clone();
        if verified.state == VerifiedState::Yes {
            verified.detail = format!("{}, and on the target {on_target}", on_builder.detail);
        }
        Ok((verified, on_target))
    }

    /// Attaches the index to the data stream, if there is one, and returns the name of the stream.
    pub(super) async fn attach(&self) -> Result<Option<String>, BakeError> {
        let saved = self.context.saved().clone();
        if let Some(stream) = &saved.data_stream {
            let attached = self.insist(|| data_streams::attach(&self.target, stream, &saved.index)).await;
            let in_doubt = match &attached {
                Err(BakeError::Load(LoadError::Cluster(cause))) => is_passing(cause),
                Err(error) => error.is_interrupted(),
                Ok(_) => false,
            };
            if in_doubt {
                self.context.write(|saved| saved.in_doubt = true)?;
            }
            attached?;
        }
        Ok(saved.data_stream)
    }

    /// Adds the aliases of the target's templates to the indices, and the common alias.
    pub(super) async fn give_aliases(&self) -> Result<usize, BakeError> {
        let saved = self.context.saved().clone();
        let mut named = saved.plan.aliases.clone();
        if saved.layout == Some(Layout::Alias) {
            named.insert(saved.index.clone(), json!({}));
        }
        // The indices of a data stream have no aliases of their own.
        if named.is_empty() || saved.data_stream.is_some() {
            return Ok(0);
        }
        let handovers = saved.handovers();
        let actions = handovers.iter().flat_map(|handover| {
            named.iter().map(|(alias, carried)| {
                let mut add = carried.as_object().cloned().unwrap_or_default();
                add.insert("index".to_owned(), json!(handover.index));
                add.insert("alias".to_owned(), json!(alias));
                json!({ "add": add })
            })
        });
        let actions = json!({"actions": actions.collect::<Vec<_>>()});
        self.insist(|| aliases::update(&self.target, &actions)).await?;
        Ok(named.len())
    }

    /// Sends a request to the target, and repeats it while the target cannot answer, until the bake
    /// is stopped. Only for requests that may be carried out twice.
    pub(super) async fn ask<T, F>(&self, work: impl Fn() -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        self.again(work, || self.pause()).await
    }

    /// The same for requests that publish the index: a stop ends them only if there is no answer.
    async fn insist<T, F>(&self, work: impl Fn() -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        self.again(work, || after(POLL_MAX)).await
    }

    async fn again<T, F, P>(&self, work: impl Fn() -> F, pause: impl Fn() -> P) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
        P: Future<Output = Result<(), BakeError>>,
    {
        let until = Instant::now() + self.context.config.load.limits.retry_for;
        loop {
            let answer = tokio::select! {
                answer = work() => answer,
                () = self.context.stopped_for_long() => return Err(BakeError::Interrupted),
            };
            match answer {
                Ok(done) => return Ok(done),
                Err(error) if is_passing(&error) && Instant::now() < until => {
                    self.context.show(&format!("the target does not answer: {error}"));
                    pause().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn pause(&self) -> Result<(), BakeError> {
        self.context.until_stopped(after(POLL_MAX)).await
    }
}

/// The time that primary shards may be without a node that can hold them.
pub(super) struct NoNode {
    pause_max: Duration,
    begun: Instant,
    /// Since the target said that no node may hold one of them.
    wait: Option<Wait>,
}

impl NoNode {
    pub(super) fn new(context: &Context) -> Self {
        NoNode { pause_max: context.config.load.limits.pause_max, begun: Instant::now(), wait: None }
    }

    /// Why a shard is without a node, where it is for longer than the target takes to choose one.
    ///
    /// # Errors
    /// No node may hold it, for longer than option `pause_for` says.
    pub(super) async fn check(
        &mut self,
        target: &Transport,
        name: &str,
        found: &Primaries,
    ) -> Result<Option<String>, BakeError> {
        if found.unassigned == 0 || self.begun.elapsed() < CHOSEN_AFTER.min(self.pause_max) {
            self.wait = None;
            return Ok(None);
        }
        let Some(Unassigned { why, no_node }) = allocation::unassigned(target, name).await else { return Ok(None) };
        let why = format!("no node for {why}");
        if !no_node {
            self.wait = None;
            return Ok(Some(why));
        }
        let pause_max = self.pause_max;
        let wait = self.wait.get_or_insert_with(|| {
            tracing::warn!("{name}: {why}; waiting up to {} s", pause_max.as_secs_f64());
            Wait::new(pause_max)
        });
        match wait.is_over() {
            false => Ok(Some(why)),
            true => {
                Err(refuse(&format!("{name}: {why}, still after {} s (option `pause_for`)", pause_max.as_secs_f64())))
            }
        }
    }
}

async fn after(pause: Duration) -> Result<(), BakeError> {
    tokio::time::sleep(pause).await;
    Ok(())
}

fn refuse(why: &str) -> BakeError {
    BakeError::Refused(why.to_owned())
}
