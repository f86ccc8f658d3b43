//! The steps on the target: restoring the index, counting it, and publishing it.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use inrush_cluster::Wait;
use inrush_cluster::api::{aliases, data_streams, index, snapshots, stats};
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::{Transport, path_segment};
use inrush_load::cutover::{Finishing, is_passing};
use inrush_load::{Verified, VerifiedState};
use serde_json::json;

use super::{throttle, undo};
use crate::config::BakeError;
use crate::context::{Context, NoNode, after};
use crate::record::{Built, SNAPSHOT, WRITE_BLOCK};

/// How often the index is restored if the target loses it during the restore.
const RESTORES_MAX: u32 = 3;
/// How long shards may wait for a copy of themselves after the target has restarted, before the
/// restore counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);
const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
/// No limit in the repository. The target's own throttle is another limit.
const UNLIMITED: &str = "1000gb";

/// The target's side of a bake.
pub(crate) struct Target {
    context: Arc<Context>,
    target: Arc<Transport>,
    /// Whether the target's throttles are removed during the restore.
    unthrottle: bool,
}

impl Target {
    pub(crate) fn new(context: Arc<Context>, unthrottle: bool) -> Self {
        let target = Arc::clone(&context.target);
        Target { context, target, unthrottle }
    }

    /// Restores the index, again if the target restarted in between. A stop of the bake ends it,
    /// after the reply to a request in flight, if that comes soon: a request that the target
    /// carries out later would follow its undoing.
    pub(crate) async fn restore(&self) -> Result<String, BakeError> {
        let built = self.context.saved().built();
        let (name, docs) = (&built.index, built.docs);
        self.lift_throttle().await?;
        self.register(&built).await?;
        for _ in 0..RESTORES_MAX {
            self.begin_restore(&built).await?;
            if let Some(lost) = self.wait_for_primaries(name).await? {
                tracing::warn!("{lost}; it is restored again");
            } else {
                let counted = self.context.ask(|| stats::count_now(&self.target, name)).await?;
                if counted == docs {
                    self.give_mapping(&built).await?;
                    return Ok(format!("{name} with {docs} documents"));
                }
                tracing::warn!("{name} was restored with {counted} instead of {docs} documents; it is restored again");
            }
            if let Some(why) = self.context.ask(|| undo::in_use(&self.target, &built)).await? {
                return Err(refuse(&format!("{name} was restored, and is already in use: {why}; it was not deleted")));
            }
            // This bake has begun the restore: that was checked before.
            self.context.ask(|| index::delete(&self.target, name)).await?;
        }
        Err(refuse(&format!("{name} was not complete after {RESTORES_MAX} restores; see the log of the target")))
    }

    /// Gives the index the fields that documents have added to its mapping. It takes no documents
    /// before, because those could add the same fields with other types.
    async fn give_mapping(&self, built: &Built) -> Result<(), BakeError> {
        let Some(mapping) = &built.new_fields else { return Ok(()) };
        let path = format!("/{}", path_segment(&built.index));
        let (of_mapping, of_settings) = (format!("{path}/_mapping"), format!("{path}/_settings"));
        let what = "setting the mapping with the new fields";
        let given = self.context.ask(|| self.target.demand(what, Method::PUT, &of_mapping, Some(mapping))).await;
        // Refused once, they are refused again.
        given.map_err(|error| match error.is_refusal_of_target() {
            true => BakeError::NotNative(format!("the target does not take the new fields of the documents: {error}")),
            false => error,
        })?;
        let (what, open) = ("opening the index for documents", json!({ WRITE_BLOCK: null }));
        self.context.ask(|| self.target.demand(what, Method::PUT, &of_settings, Some(&open))).await.map(drop)
    }

    /// Registers the repository, also if an earlier run has removed it.
    async fn register(&self, built: &Built) -> Result<(), BakeError> {
        let mut repository = built.shared.read_only();
        if self.unthrottle {
            repository.settings.insert("max_restore_bytes_per_sec".to_owned(), json!(UNLIMITED));
        }
        self.context.write(|saved| saved.registered = true)?;
        // A repository that is being restored from cannot be changed. Then an earlier run has begun
        // the restore.
        if self.context.ask(|| snapshots::identity(&self.target, &built.index)).await?.is_none() {
            self.context.ask(|| snapshots::register(&self.target, &built.repository, &repository)).await?;
        }
        Ok(())
    }

    /// Removes the target's throttle if the options say so. Its value is recorded before.
    async fn lift_throttle(&self) -> Result<(), BakeError> {
        if !self.unthrottle || self.context.saved().throttle.is_some() {
            return Ok(());
        }
        let now = self.context.ask(|| throttle::look(&self.target)).await?;
        self.context.write(|saved| saved.throttle = Some(now.clone()))?;
        self.context.ask(|| throttle::lift(&self.target, &now)).await
    }

    /// Begins the restore, unless that was done before.
    async fn begin_restore(&self, built: &Built) -> Result<(), BakeError> {
        let name = &built.index;
        let made = built.made.as_ref().ok_or_else(|| refuse("the index was not made"))?;
        let wait = Wait::new(self.context.times.retry_for);
        let mut sent = false;
        loop {
            let found = self.context.ask(|| snapshots::identity(&self.target, name)).await?;
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
            let (repository, settings) = (&built.repository, &plan.restored);
            let mut ignored = plan.ignored;
            if built.is_blocked && built.new_fields.is_none() {
                ignored.push(WRITE_BLOCK.to_owned());
            }
            match snapshots::restore(&self.target, repository, SNAPSHOT, name, settings, &ignored).await {
                Ok(()) => return Ok(()),
                // The index shows whether the restore was begun.
                Err(error) if is_passing(&error) && !wait.is_over() => tracing::warn!("{error}"),
                // Most likely an earlier request, whose reply was lost, has been carried out by
                // now.
                Err(error) if sent && !is_passing(&error) => {
                    tracing::warn!("{error}");
                    self.context.pause().await?;
                    let found = self.context.ask(|| snapshots::identity(&self.target, name)).await?;
                    let is_ours = found.is_some_and(|found| found.created == made.created);
                    return if is_ours { Ok(()) } else { Err(error.into()) };
                }
                Err(error) => return Err(error.into()),
            }
            sent = true;
            self.context.pause().await?;
        }
    }

    /// Waits until all primary shards are active. The health of the index is no measure: it is
    /// yellow before the first file is there. Returns `Some` with the reason if the restore is
    /// lost.
    async fn wait_for_primaries(&self, name: &str) -> Result<Option<String>, BakeError> {
        let wait = Wait::new(self.context.times.wait_timeout);
        let mut waits_since: Option<Instant> = None;
        let mut no_node = NoNode::new(&self.context);
        loop {
            let found = tokio::select! {
                found = snapshots::primaries(&self.target, name) => found,
                () = self.context.stopped() => return Err(BakeError::Interrupted),
            };
            let state = match found {
                Ok(found) if found.total > 0 && found.started == found.total => return Ok(None),
                Ok(found) => {
                    if let Some(why) = &found.failed {
                        return Err(refuse(&format!("the target cannot restore {name}: {why}")));
                    }
                    let since = waits_since.get_or_insert_with(clock::now);
                    if !found.waits_for_itself {
                        waits_since = None;
                    } else if since.elapsed() > LOST_AFTER {
                        return Ok(Some(format!("the target restarted while {name} was restored, and has lost it")));
                    }
                    let state = format!("{} of {} primary shards of {name} are restored", found.started, found.total);
                    no_node
                        .check(&self.context, name, &found)
                        .await?
                        .map_or(state.clone(), |why| format!("{state}: {why}"))
                }
                Err(error) if is_passing(&error) => error.to_string(),
                Err(error) if error.status() == Some(404) => {
                    return Ok(Some(format!("{name} is gone from the target")));
                }
                Err(error) => return Err(error.into()),
            };
            if wait.is_over() {
                return Err(refuse(&format!("{state}, still after the time of option `wait_timeout`")));
            }
            self.context.show(&format!("restore: {state}"));
            // What lasts longer is looked at less often.
            let pause = (wait.elapsed() / 8).clamp(POLL_MIN, POLL_MAX);
            self.context.until_stopped(after(pause)).await?;
        }
    }

    /// Waits for the copies of the shards and counts again, as searches see the index.
    /// `on_builder`: the result of the load. Returns the result of both, and that on the target as
    /// text.
    pub(crate) async fn verify(
        &self,
        finishing: &Finishing,
        on_builder: &Verified,
    ) -> Result<(Verified, String), BakeError> {
        let Built { index, docs, .. } = self.context.saved().built();
        let state = finishing.green(&index).await.map_err(|why| refuse(&why))?;
        let counted = self.context.ask(|| stats::count_now(&self.target, &index)).await?;
        if counted != docs {
            return Err(refuse(&format!(
                "{index} holds {counted} documents on the target, but was built with {docs}; is something else writing to it?"
            )));
        }
        let on_target = format!("{counted} documents, and {state}");
        let mut verified = on_builder.clone();
        if verified.state == VerifiedState::Yes {
            verified.detail = format!("{}, and on the target {on_target}", on_builder.detail);
        }
        Ok((verified, on_target))
    }

    /// Attaches the index to the data stream, if there is one, and returns the name of the stream.
    pub(crate) async fn attach(&self) -> Result<Option<String>, BakeError> {
        let saved = self.context.saved().clone();
        if let Some(stream) = &saved.data_stream {
            let attached = self.context.insist(|| data_streams::attach(&self.target, stream, &saved.index)).await;
            let in_doubt = match &attached {
                Err(error) => error.is_passing() || error.is_interrupted(),
                Ok(_) => false,
            };
            if in_doubt {
                self.context.write(|saved| saved.in_doubt = true)?;
            }
            attached?;
        }
        Ok(saved.data_stream)
    }

    /// Adds the aliases of the target's templates to the index.
    pub(crate) async fn give_aliases(&self) -> Result<usize, BakeError> {
        let saved = self.context.saved().clone();
        let named = &saved.plan.aliases;
        // An index of a data stream has no aliases of its own.
        if named.is_empty() || saved.data_stream.is_some() {
            return Ok(0);
        }
        let actions = named.iter().map(|(alias, carried)| {
            let mut add = carried.as_object().cloned().unwrap_or_default();
            add.insert("index".to_owned(), json!(saved.index));
            add.insert("alias".to_owned(), json!(alias));
            json!({ "add": add })
        });
        let actions = json!({"actions": actions.collect::<Vec<_>>()});
        self.context.insist(|| aliases::update(&self.target, &actions)).await?;
        Ok(named.len())
    }
}

fn refuse(why: &str) -> BakeError {
    BakeError::Refused(why.to_owned())
}
