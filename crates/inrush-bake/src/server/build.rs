//! The steps on a builder: the repository, the index, the load, the snapshot.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::snapshots::{self, SnapshotState};
use inrush_cluster::api::{ClusterError, CreateIndex, index, stats};
use inrush_cluster::transport::Transport;
use inrush_cluster::{Wait, clock};
use inrush_load::cutover::is_passing;
use serde_json::Value;

use super::builder::Builder;
use super::pipelines;
use crate::config::{BakeError, BuilderConfig};
use crate::context::Context;
use crate::record::{Build, SNAPSHOT, ServerRecord, Shared, of_shards};
use crate::report::BakeStepName as Step;

/// The empty snapshot that shows whether the target reads what the builder writes.
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

/// The steps on the builder.
pub(super) struct BuilderRun<'a> {
    pub(super) context: Arc<Context>,
    config: &'a BuilderConfig,
    pub(super) builder: Option<Builder>,
    recoveries: u32,
}

impl<'a> BuilderRun<'a> {
    pub(super) fn new(context: Arc<Context>, config: &'a BuilderConfig) -> Self {
        BuilderRun { context, config, builder: None, recoveries: 0 }
    }

    /// Builds the index, or the rest of it after an earlier run.
    pub(super) async fn build(&mut self) -> Result<(), BakeError> {
        let context = Arc::clone(&self.context);
        context.step(Step::Builder, context.until_stopped(self.start_builder())).await?;
        context.step(Step::Repository, context.until_stopped(self.share())).await?;
        while let Err(error) = context.step(Step::Create, context.until_stopped(self.make_index())).await {
            self.recover_from(error).await?;
        }
        let is_loaded = context.saved().loaded.is_some();
        if !is_loaded {
            // The load ends in order by itself if the bake is stopped.
            context.step(Step::Load, self.load_all()).await?;
        }
        context.step(Step::Snapshot, context.until_stopped(self.snapshot())).await
    }

    /// Prepares another try of a step that failed because the builder had died or did not answer.
    ///
    /// # Errors
    /// The error itself, if the step failed for another reason or too often.
    pub(super) async fn recover_from(&mut self, error: BakeError) -> Result<(), BakeError> {
        if !error.is_passing() || self.recoveries >= RECOVERIES_MAX {
            return Err(error);
        }
        self.recoveries += 1;
        let builder = self.builder.as_mut().ok_or_else(no_builder)?;
        if !builder.revive().await? {
            clock::sleep(PAUSE).await;
        }
        Ok(())
    }

    pub(super) fn index(&self) -> String {
        self.context.saved().index.clone()
    }

    /// Starts the builder, or finds the one of the run that was cut off.
    pub(super) async fn start_builder(&mut self) -> Result<String, BakeError> {
        let (shared, record) = {
            let saved = self.context.saved();
            (saved.shared.clone(), saved.server().cloned())
        };
        let mut record = record.ok_or_else(no_builder)?;
        shared.make_for_builder()?;
        let before = record.url.clone();
        let builder = Builder::start(&mut record, self.config, shared.folder.as_deref()).await?;
        let is_another = before.is_some() && before != record.url;
        let title = format!("{} at {}", record.title(), builder.urls().join(", "));
        self.context.write(|saved| saved.build = Build::Server(record))?;
        self.builder = Some(builder);
        if is_another {
            self.start_over()?;
        }
        Ok(title)
    }

    /// Registers the repository on both sides, and checks that the target reads what the builder
    /// writes.
    async fn share(&mut self) -> Result<String, BakeError> {
        let (name, shared) = self.repository();
        self.register(&name, &shared).await?;
        self.show_to_target(&name, &shared).await
    }

    /// The name of the repository on both sides, and its location.
    fn repository(&self) -> (String, Shared) {
        let saved = self.context.saved();
        (saved.repository(), saved.shared.clone())
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
            let saved = self.context.saved();
            (saved.index.clone(), saved.made.clone())
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
        let names = named.into_iter().chain(context.load.pipeline.clone()).collect();
        let pipelines = pipelines::copy(&context.target, &builder, names).await?;
        self.create(&builder).await?;
        Ok(if pipelines == 0 { index } else { format!("{index}; pipelines: {pipelines}") })
    }

    /// Creates the index, in place of an existing one and of its snapshot.
    ///
    /// # Errors
    /// The error names what the builder lacks.
    pub(super) async fn create(&mut self, builder: &Transport) -> Result<(), BakeError> {
        let (repository, _) = self.repository();
        let (index, plan, title) = {
            let saved = self.context.saved();
            let title = saved.server().map(ServerRecord::title).unwrap_or_default();
            (saved.index.clone(), saved.plan.clone(), title)
        };
        // The snapshot would count as that of the new index.
        snapshots::delete(builder, &repository, SNAPSHOT).await?;
        index::delete(builder, &index).await?;
        let has_mappings = plan.mappings.as_object().is_some_and(|mappings| !mappings.is_empty());
        let how = CreateIndex {
            settings: Some(Value::Object(plan.building)),
            mappings: has_mappings.then_some(plan.mappings),
            ..CreateIndex::default()
        };
        index::create(builder, &index, &how).await.map_err(|error| match error.status() {
            Some(400..=499) => BakeError::Refused(format!(
                "the builder ({title}) cannot create the index as the target would: {error}; if a plugin, a module or a file of the target is missing there, name an unpacked server that has it with option `builder_home`"
            )),
            _ => error.into(),
        })?;
        let made = snapshots::identity(builder, &index).await?;
        self.context.write(|saved| saved.made = made)
    }

    /// Flushes the index and writes it to the repository.
    async fn snapshot(&mut self) -> Result<String, BakeError> {
        let is_built = self.context.saved().is_built;
        if is_built {
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
        let (repository, shared) = self.repository();
        self.take(&repository, SNAPSHOT, &index).await?;
        shared.open();
        self.context.write(|saved| saved.is_built = true)?;
        Ok(of_shards(flushed.total))
    }

    /// Takes a snapshot. It is taken again if a builder that died left it incomplete.
    pub(super) async fn take(
        &mut self,
        repository: &str,
        snapshot: &'static str,
        index: &str,
    ) -> Result<(), BakeError> {
        let wait = Wait::new(self.context.times.wait_timeout);
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
                SnapshotState::InProgress if !wait.is_over() => {
                    clock::sleep(POLL).await;
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

    /// Starts over. [`BuilderRun::create`] deletes what exists on the builder.
    fn start_over(&mut self) -> Result<(), BakeError> {
        tracing::warn!("the index on the builder cannot be used, and is built again");
        let id = self.context.saved().id.clone();
        self.context.keep.forget_load(&id).map_err(BakeError::Refused)?;
        self.context.write(|saved| (saved.made, saved.loaded, saved.is_built) = (None, None, false))
    }

    /// Deletes the snapshot, so that nothing stays in a repository without a folder of this bake.
    pub(super) async fn delete_snapshot(&mut self) -> Result<(), BakeError> {
        self.start_builder().await?;
        let (repository, _) = self.repository();
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
        let wait = Wait::new(self.context.times.wait_timeout);
        loop {
            let error = match work(self.builder()?).await {
                Ok(done) => return Ok(done),
                Err(error) if is_passing(&error) && !wait.is_over() => error,
                Err(error) => return Err(error.into()),
            };
            let builder = self.builder.as_mut().ok_or_else(no_builder)?;
            if !builder.revive().await? {
                tracing::info!("the builder does not answer: {error}");
                clock::sleep(PAUSE).await;
            }
        }
    }
}

async fn identity(builder: Arc<Transport>, index: String) -> Result<Option<snapshots::Identity>, ClusterError> {
    snapshots::identity(&builder, &index).await
}

pub(super) fn no_builder() -> BakeError {
    BakeError::Refused("the builder does not run".to_owned())
}
