//! The steps on a builder: the repository, the index, the load, the snapshot.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::snapshots::{self, SnapshotState};
use inrush_cluster::api::{ClusterError, CreateIndex, index, primary_terms, stats};
use inrush_cluster::transport::Transport;
use inrush_load::LoadError;
use inrush_load::cutover::is_passing;
use serde_json::Value;

use super::assemble;
use super::builder::{Builder, Note};
use super::config::BakeError;
use super::context::Context;
use super::pipelines;
use super::place::Shared;
use super::plan::Plan;
use super::report::BakeStepName as Step;
use super::state::{Part, Whole};

/// The snapshot that is handed over, and the empty one that shows whether the target reads what the
/// builder writes.
pub(super) const SNAPSHOT: &str = "index";
const PROBE: &str = "probe";
/// No index has this name, so the probe snapshot is empty.
const NOTHING: &str = "inrush-bake-nothing";
/// How often a snapshot is begun if it does not complete.
const SNAPSHOTS_MAX: u32 = 5;
/// How often a step is repeated after the builder did not answer.
const RECOVERIES_MAX: u32 = 10;
const HINT: &str = "see docs/bake/repository.md for how to give both sides a repository";
const POLL: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_secs(1);

/// A number of shards as text.
pub(super) fn of_shards(count: u64) -> String {
    if count == 1 { "of 1 shard".to_owned() } else { format!("of {count} shards") }
}

/// A part of the index, and its builder.
pub(super) struct PartRun {
    pub(super) context: Arc<Context>,
    pub(super) part: usize,
    pub(super) builder: Option<Builder>,
    recoveries: u32,
}

impl PartRun {
    pub(super) fn new(context: Arc<Context>, part: usize) -> Self {
        PartRun { context, part, builder: None, recoveries: 0 }
    }

    /// Builds the part, or the rest of it after an earlier run.
    pub(super) async fn build(&mut self) -> Result<(), BakeError> {
        let context = Arc::clone(&self.context);
        let part = Some(self.part);
        context.step(Step::Builder, part, context.until_stopped(self.start_builder())).await?;
        context.step(Step::Repository, part, context.until_stopped(self.share())).await?;
        loop {
            while let Err(error) = context.step(Step::Create, part, context.until_stopped(self.make_index())).await {
                self.recover_from(error).await?;
            }
            if !self.is(|part| part.loaded.is_some()) {
                // The load ends in order by itself if the bake is stopped.
                context.step(Step::Load, part, self.load_all()).await?;
            }
            if self.is_in_first_term().await? {
                break;
            }
            tracing::warn!(
                "the builder of part {} restarted during its load; its shard has another primary term than those of the other parts, so it is built again",
                self.part + 1
            );
            self.start_over()?;
        }
        context.step(Step::Snapshot, part, context.until_stopped(self.snapshot())).await
    }

    /// Whether the shard is still in its first primary term, which is the term of the index on the
    /// target. This matters only for shards that are put together. An index that is handed over as
    /// a whole keeps its terms.
    async fn is_in_first_term(&mut self) -> Result<bool, BakeError> {
        if self.context.saved().whole.is_none() {
            return Ok(true);
        }
        let index = self.index();
        let terms = self
            .ask(|builder| {
                let index = index.clone();
                async move { primary_terms::read(&builder, &index).await }
            })
            .await?;
        Ok(terms.terms.iter().all(|term| *term == 1))
    }

    /// Prepares another try of a step that failed because the builder had died or did not answer.
    ///
    /// # Errors
    /// The error itself, if the step failed for another reason or too often.
    pub(super) async fn recover_from(&mut self, error: BakeError) -> Result<(), BakeError> {
        match &error {
            BakeError::Load(LoadError::Cluster(cause)) if is_passing(cause) && self.recoveries < RECOVERIES_MAX => {}
            _ => return Err(error),
        }
        self.recoveries += 1;
        let builder = self.builder.as_mut().ok_or_else(no_builder)?;
        if !builder.revive().await? {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    fn is(&self, what: impl FnOnce(&Part) -> bool) -> bool {
        what(&self.context.saved().parts[self.part])
    }

    pub(super) fn index(&self) -> String {
        self.context.saved().parts[self.part].index.clone()
    }

    /// Starts the builder, or finds the one of the run that was cut off.
    pub(super) async fn start_builder(&mut self) -> Result<String, BakeError> {
        let (shared, mut notes) = {
            let saved = self.context.saved();
            (saved.shared.clone(), saved.parts[self.part].nodes.clone())
        };
        shared.make_for_builder()?;
        let urls = |notes: &[Note]| notes.iter().map(|note| note.url.clone()).collect::<Vec<_>>();
        let before = urls(&notes);
        let context = Arc::clone(&self.context);
        let builder =
            Builder::start(&mut notes, &context.versions, &context.config.builder, shared.folder.as_deref()).await?;
        let changed = before.iter().any(Option::is_some) && before != urls(&notes);
        let title = format!("{} at {}", notes[0].title(), builder.urls().join(", "));
        context.write_part(self.part, |part| part.nodes = notes)?;
        self.builder = Some(builder);
        if changed {
            self.start_over()?;
        }
        Ok(title)
    }

    /// Registers the repository on both sides, and checks that the target reads what the builder
    /// writes.
    async fn share(&mut self) -> Result<String, BakeError> {
        let (own, whole) = {
            let saved = self.context.saved();
            (saved.repository_of(self.part), saved.whole.as_ref().map(|_| saved.repository_of_whole()))
        };
        self.register(&own.0, &own.1).await?;
        // If shards are put together, the target gets only the whole index.
        let seen = match whole {
            None => own,
            Some(whole) if self.part == 0 => {
                self.register(&whole.0, &whole.1).await?;
                whole
            }
            Some(_) => return Ok("registered".to_owned()),
        };
        self.show_to_target(&seen.0, &seen.1).await
    }

    async fn register(&mut self, name: &str, shared: &Shared) -> Result<(), BakeError> {
        let registered = self
            .ask(|builder| {
                let (name, repository) = (name.to_owned(), shared.repository.clone());
                async move { snapshots::register(&builder, &name, &repository).await }
            })
            .await;
        registered
            .map_err(|error| BakeError::Refused(format!("the builder cannot use the repository: {error}; {HINT}")))
    }

    /// Uses an empty snapshot to check that both sides mean the same location.
    async fn show_to_target(&mut self, name: &str, shared: &Shared) -> Result<String, BakeError> {
        self.take(name, PROBE, NOTHING).await?;
        shared.open();
        let seen = self.is_seen_by_target(name, shared).await;
        let deleted = self
            .ask(|builder| {
                let name = name.to_owned();
                async move { snapshots::delete(&builder, &name, PROBE).await }
            })
            .await;
        seen?;
        deleted?;
        Ok("the target sees what the builder writes".to_owned())
    }

    async fn is_seen_by_target(&self, name: &str, shared: &Shared) -> Result<(), BakeError> {
        let context = &self.context;
        context.write(|saved| saved.registered = true)?;
        snapshots::register(&context.target, name, &shared.read_only()).await.map_err(|error| {
            BakeError::Refused(format!(
                "the target cannot use the repository: {error}; each of its nodes needs {} in the setting path.repo of its configuration, at the same path (option `repository_path_on_target` names another one); {HINT}",
                context.saved().shared.around_on_target()
            ))
        })?;
        if snapshots::state(&context.target, name, PROBE).await? != SnapshotState::Success {
            return Err(BakeError::Refused(format!(
                "the target does not see what the builder writes to the repository: the folder has the same path on both sides, but is not the same folder; {HINT}"
            )));
        }
        Ok(())
    }

    /// Creates the index on the builder as the target would.
    async fn make_index(&mut self) -> Result<String, BakeError> {
        let (index, made) = {
            let part = &self.context.saved().parts[self.part];
            (part.index.clone(), part.made.clone())
        };
        if let Some(made) = made {
            let found = self.ask(|builder| identity(builder, index.clone())).await?;
            if found.as_ref() == Some(&made) {
                return Ok("it exists already".to_owned());
            }
            self.start_over()?;
        }
        let context = Arc::clone(&self.context);
        let builder = self.builder()?;
        let named = context.saved().plan.pipelines();
        let names = named.into_iter().chain(context.config.load.pipeline.clone()).collect();
        let pipelines = pipelines::copy(&context.target, &builder, names).await?;
        if self.part == 0 && context.saved().whole.is_some() {
            assemble::make_whole(&context, &builder).await?;
        }
        self.create(&builder).await?;
        Ok(if pipelines == 0 { index } else { format!("{index}; pipelines: {pipelines}") })
    }

    pub(super) async fn create(&mut self, builder: &Transport) -> Result<(), BakeError> {
        let (part, (repository, _)) = {
            let saved = self.context.saved();
            (saved.parts[self.part].clone(), saved.repository_of(self.part))
        };
        create(builder, &repository, &part.index, &part.plan, &part.nodes[0].title()).await?;
        let made = snapshots::identity(builder, &part.index).await?;
        self.context.write_part(self.part, |part| part.made = made)
    }

    /// Flushes the index and writes it to the repository.
    async fn snapshot(&mut self) -> Result<String, BakeError> {
        if self.is(|part| part.snapshot) {
            return Ok("it exists already".to_owned());
        }
        let index = self.index();
        let flushed = self
            .ask(|builder| {
                let index = index.clone();
                async move { stats::flush(&builder, &index).await }
            })
            .await?;
        if flushed.failed > 0 {
            return Err(BakeError::Refused(format!("{} shards of the builder could not be flushed", flushed.failed)));
        }
        let ((repository, shared), apart) = {
            let saved = self.context.saved();
            (saved.repository_of(self.part), saved.whole.is_some())
        };
        self.take(&repository, SNAPSHOT, &index).await?;
        shared.open();
        let mapping = match apart {
            true => assemble::mapping(&*self.builder()?, &index).await?,
            false => Value::Null,
        };
        self.context.write_part(self.part, |part| (part.snapshot, part.mapping) = (true, mapping))?;
        Ok(of_shards(flushed.total))
    }

    /// Takes a snapshot. It is taken again if a builder that died left it incomplete.
    pub(super) async fn take(
        &mut self,
        repository: &str,
        snapshot: &'static str,
        index: &str,
    ) -> Result<(), BakeError> {
        let begun_at = Instant::now();
        let mut begun = 0;
        loop {
            let state = self
                .ask(|builder| {
                    let repository = repository.to_owned();
                    async move { snapshots::state(&builder, &repository, snapshot).await }
                })
                .await?;
            let problem = match state {
                SnapshotState::Success => return Ok(()),
                SnapshotState::InProgress if begun_at.elapsed() < self.context.config.load.finish.wait_timeout => {
                    tokio::time::sleep(POLL).await;
                    continue;
                }
                SnapshotState::InProgress => {
                    return Err(BakeError::Refused(
                        "the snapshot did not end in time (option `wait_timeout`)".to_owned(),
                    ));
                }
                SnapshotState::Failed(why) => {
                    self.ask(|builder| {
                        let repository = repository.to_owned();
                        async move { snapshots::delete(&builder, &repository, snapshot).await }
                    })
                    .await?;
                    why
                }
                SnapshotState::Missing => "it is gone".to_owned(),
            };
            if begun >= SNAPSHOTS_MAX {
                return Err(BakeError::Refused(format!("the builder's snapshot did not complete: {problem}")));
            }
            begun += 1;
            self.ask(|builder| {
                let (repository, index) = (repository.to_owned(), index.to_owned());
                async move {
                    match snapshots::begin(&builder, &repository, snapshot, &index).await {
                        // The reply to the first try was lost.
                        Err(error) if error.status() == Some(400) && error.to_string().contains("already exists") => {
                            Ok(())
                        }
                        other => other,
                    }
                }
            })
            .await?;
        }
    }

    /// Starts the part over. [`create`] deletes what exists on the builder.
    fn start_over(&mut self) -> Result<(), BakeError> {
        tracing::warn!("the index on the builder cannot be used, and is built again");
        let id = self.context.saved().id.clone();
        self.context.keep.forget_load(&id, self.part).map_err(BakeError::Refused)?;
        let part = self.part;
        self.context.write(|saved| {
            if let (0, Some(whole)) = (part, &mut saved.whole) {
                *whole = Whole::default();
            }
            let part = &mut saved.parts[part];
            (part.made, part.loaded, part.snapshot) = (None, None, false);
        })
    }

    /// Deletes the snapshot, so that nothing stays in a repository without a folder of this bake.
    pub(super) async fn delete_snapshot(&mut self) -> Result<(), BakeError> {
        self.start_builder().await?;
        let (repository, _) = self.context.saved().repository_of(self.part);
        self.ask(|builder| {
            let repository = repository.clone();
            async move { snapshots::delete(&builder, &repository, SNAPSHOT).await }
        })
        .await
        .map(drop)
    }

    /// The transport to the builder.
    pub(super) fn builder(&self) -> Result<Arc<Transport>, BakeError> {
        self.builder.as_ref().map(|builder| Arc::clone(&builder.transport)).ok_or_else(no_builder)
    }

    /// Sends requests to the builder. They are repeated if it died or cannot answer now.
    pub(super) async fn ask<T, F>(&mut self, work: impl Fn(Arc<Transport>) -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        let until = Instant::now() + self.context.config.load.finish.wait_timeout;
        loop {
            let error = match work(self.builder()?).await {
                Ok(done) => return Ok(done),
                Err(error) if is_passing(&error) && Instant::now() < until => error,
                Err(error) => return Err(error.into()),
            };
            let builder = self.builder.as_mut().ok_or_else(no_builder)?;
            if !builder.revive().await? {
                tracing::info!("the builder does not answer: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Creates an index on a builder, in place of an existing one and of its snapshot.
///
/// # Errors
/// The error names what the builder lacks.
pub(super) async fn create(
    builder: &Transport,
    repository: &str,
    index: &str,
    plan: &Plan,
    title: &str,
) -> Result<(), BakeError> {
    // The snapshot would count as that of the new index.
    snapshots::delete(builder, repository, SNAPSHOT).await?;
    index::delete(builder, index).await?;
    let has_mappings = plan.mappings.as_object().is_some_and(|mappings| !mappings.is_empty());
    let how = CreateIndex {
        settings: Some(Value::Object(plan.building.clone())),
        mappings: has_mappings.then(|| plan.mappings.clone()),
        ..CreateIndex::default()
    };
    match index::create(builder, index, &how).await {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.status() {
            Some(400..=499) => BakeError::Refused(format!(
                "the builder ({title}) cannot create the index as the target would: {error}; if a plugin, a module or a file of the target is missing there, name an unpacked server that has it with option `builder_home`"
            )),
            _ => error.into(),
        }),
    }
}

async fn identity(builder: Arc<Transport>, index: String) -> Result<Option<snapshots::Identity>, ClusterError> {
    snapshots::identity(&builder, &index).await
}

pub(super) fn no_builder() -> BakeError {
    BakeError::Refused("the builder does not run".to_owned())
}
