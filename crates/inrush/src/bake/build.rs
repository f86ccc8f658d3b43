//! What is done on the builder: the repository, the index, the load, the snapshot.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::builder::Builder;
use super::config::BakeError;
use super::pipelines;
use super::run::{Bake, is_stopped};
use crate::cluster::snapshots::{self, SnapshotState};
use crate::cluster::{ClusterError, CreateIndex, index, stats};
use crate::config::{FinishConfig, IndexCreation, LoadConfig, StateFolder};
use crate::error::LoadError;
use crate::finish::is_passing;
use crate::loader::Loader;
use crate::progress::Phase;
use crate::report::{Report, Status};
use crate::transport::Transport;

/// The snapshot that is handed over, and the empty one that shows whether the target sees what the builder writes.
pub(super) const SNAPSHOT: &str = "index";
const PROBE: &str = "probe";
/// No index has this name: the probe is of nothing.
const NOTHING: &str = "inrush-bake-nothing";
/// How often a snapshot is begun that did not become whole.
const SNAPSHOTS_MAX: u32 = 5;
const POLL: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_secs(1);

impl Bake {
    /// Starts the builder, or finds the one of the run that was cut off.
    pub(super) async fn start_builder(&mut self) -> Result<String, BakeError> {
        self.saved.shared.make()?;
        let before = self.saved.builder.url.clone();
        let folder = self.saved.shared.folder.clone();
        let builder =
            Builder::start(&mut self.saved.builder, &self.versions, &self.config.builder, folder.as_deref()).await?;
        if before.is_some() && before != self.saved.builder.url {
            self.start_over()?;
        }
        self.write()?;
        let title = format!("{} at {}", self.saved.builder.title(), builder.url());
        self.builder = Some(builder);
        Ok(title)
    }

    /// Gives both sides the repository, and looks whether the target sees what the builder writes.
    pub(super) async fn share(&mut self) -> Result<String, BakeError> {
        let (name, shared) = (self.saved.repository(), self.saved.shared.clone());
        let hint = "see docs/bake.md for how to give both sides a repository";
        self.ask(|builder| {
            let (name, repository) = (name.clone(), shared.repository.clone());
            async move { snapshots::register(&builder, &name, &repository).await }
        })
        .await
        .map_err(|error| BakeError::Refused(format!("the builder cannot use the repository: {error}; {hint}")))?;
        self.take(PROBE, NOTHING).await?;
        self.saved.registered = true;
        self.write()?;
        snapshots::register(&self.target, &name, &shared.read_only()).await.map_err(|error| {
            BakeError::Refused(format!(
                "the target cannot use the repository: {error}; each of its nodes needs {} in the setting path.repo of its configuration, at the same path; {hint}",
                shared.folder.as_deref().and_then(Path::parent).map_or_else(|| "the place".to_owned(), |folder| folder.display().to_string())
            ))
        })?;
        if snapshots::state(&self.target, &name, PROBE).await? != SnapshotState::Success {
            return Err(BakeError::Refused(format!(
                "the target does not see what the builder writes to the repository: the folder has the same path on both sides, and is not the same; {hint}"
            )));
        }
        self.ask(|builder| {
            let name = name.clone();
            async move { snapshots::delete(&builder, &name, PROBE).await }
        })
        .await?;
        Ok("the target sees what the builder writes".to_owned())
    }

    /// Makes the index on the builder as the target would.
    pub(super) async fn make_index(&mut self) -> Result<String, BakeError> {
        let index = self.saved.index.clone();
        if let Some(made) = self.saved.made.clone() {
            let found = self.ask(|builder| identity(builder, index.clone())).await?;
            if found.as_ref() == Some(&made) {
                return Ok("it is there".to_owned());
            }
            self.start_over()?;
        }
        let builder = self.builder()?;
        let names = self.saved.plan.pipelines().into_iter().chain(self.config.load.pipeline.clone()).collect();
        let pipelines = pipelines::copy(&self.target, &builder, names).await?;
        self.create(&builder).await?;
        let settings = self.saved.plan.building.len();
        Ok(format!("{index} with {settings} settings and {pipelines} pipelines"))
    }

    async fn create(&mut self, builder: &Transport) -> Result<(), BakeError> {
        let (index, plan) = (&self.saved.index, &self.saved.plan);
        index::delete(builder, index).await?;
        let has_mappings = plan.mappings.as_object().is_some_and(|mappings| !mappings.is_empty());
        let how = CreateIndex {
            settings: Some(Value::Object(plan.building.clone())),
            mappings: has_mappings.then(|| plan.mappings.clone()),
            ..CreateIndex::default()
        };
        if let Err(error) = index::create(builder, index, &how).await {
            return Err(match error.status() {
                Some(400..=499) => BakeError::Refused(format!(
                    "the builder ({}) cannot make the index as the target would: {error}; if a plugin, a module or a file of the target is missing there, name an unpacked server that has it with --builder-home",
                    self.saved.builder.title()
                )),
                _ => error.into(),
            });
        }
        self.saved.made = snapshots::identity(builder, index).await?;
        self.write()
    }

    /// Loads into the builder, or goes on with a load that was cut off.
    pub(super) async fn load(&mut self) -> Result<Report, BakeError> {
        let folder = self.keep.of_load(&self.saved.id);
        let mut resume = has_checkpoint(&folder);
        loop {
            if !resume {
                self.clear().await?;
            }
            let config = self.load_config(&folder, resume)?;
            let source = (self.open)()?;
            match Loader::new(config)?.start(source).await {
                Ok(running) => return self.watch(running).await,
                // A checkpoint that cannot be gone on from is no loss: nobody uses the builder but us.
                Err(LoadError::State(why)) if resume => {
                    tracing::warn!("the load into the builder begins anew: {why}");
                    self.keep.forget_load(&self.saved.id).map_err(BakeError::Refused)?;
                    resume = false;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes the index anew where documents are in it that no checkpoint knows of.
    async fn clear(&mut self) -> Result<(), BakeError> {
        let index = self.saved.index.clone();
        let builder = self.builder()?;
        if stats::count_now(&builder, &index).await? > 0 {
            self.create(&builder).await?;
        }
        Ok(())
    }

    fn load_config(&self, folder: &Path, resume: bool) -> Result<LoadConfig, BakeError> {
        let builder = self.builder.as_ref().ok_or_else(no_builder)?;
        let mut config = self.config.load.clone();
        config.index = self.saved.index.parse().map_err(LoadError::Usage)?;
        (config.to, config.credentials) = (vec![builder.url()], crate::transport::Credentials::None);
        config.tls = crate::transport::TlsOptions::default();
        config.create = IndexCreation::default();
        config.guard.leave_settings = true;
        config.under_policy = true;
        let FinishConfig { force_merge, wait_timeout, .. } = config.finish;
        config.finish = FinishConfig { force_merge, wait_timeout, ..FinishConfig::default() };
        config.state = Some(StateFolder::new(folder));
        config.resume = resume;
        Ok(config)
    }

    /// Waits for the load, passes its progress on, and keeps the builder alive meanwhile.
    async fn watch(&mut self, running: crate::loader::RunningLoad) -> Result<Report, BakeError> {
        let (mut loading, load_stop) = (running.progress(), running.stop_handle());
        let mut stop = self.stop.clone();
        let builder = self.builder.as_mut().ok_or_else(no_builder)?;
        let (finish, alive) = (running.finish(), builder.keep_alive());
        tokio::pin!(finish, alive);
        let (mut stopping, mut watched, mut dead) = (false, true, None);
        let report = loop {
            tokio::select! {
                report = &mut finish => break report,
                changed = loading.changed(), if watched => {
                    watched = changed.is_ok();
                    let now = loading.borrow_and_update().clone();
                    if now.phase != Phase::Done {
                        self.progress.send_replace(now);
                    }
                }
                () = is_stopped(&mut stop), if !stopping => {
                    stopping = true;
                    load_stop.stop();
                }
                error = &mut alive, if dead.is_none() => {
                    dead = Some(error);
                    load_stop.stop();
                }
            }
        };
        match (dead, report.status) {
            (Some(error), Status::Failed | Status::Interrupted) => {
                Ok(Report { status: Status::Failed, failure: Some(error.to_string()), ..report })
            }
            _ => Ok(report),
        }
    }

    /// Flushes the index and writes it to the repository.
    pub(super) async fn snapshot(&mut self) -> Result<String, BakeError> {
        let index = self.saved.index.clone();
        let flushed = self
            .ask(|builder| {
                let index = index.clone();
                async move { stats::flush(&builder, &index).await }
            })
            .await?;
        if flushed.failed > 0 {
            return Err(BakeError::Refused(format!("{} shards of the builder could not be flushed", flushed.failed)));
        }
        self.take(SNAPSHOT, &index).await?;
        self.saved.snapshot = true;
        self.write()?;
        Ok(format!("of {} shards", flushed.total))
    }

    /// Takes a snapshot, and again where a builder that died left it in pieces.
    async fn take(&mut self, snapshot: &'static str, index: &str) -> Result<(), BakeError> {
        let repository = self.saved.repository();
        let begun_at = Instant::now();
        let mut begun = 0;
        loop {
            let state = self
                .ask(|builder| {
                    let repository = repository.clone();
                    async move { snapshots::state(&builder, &repository, snapshot).await }
                })
                .await?;
            let problem = match state {
                SnapshotState::Success => return Ok(()),
                SnapshotState::InProgress if begun_at.elapsed() < self.config.load.finish.wait_timeout => {
                    tokio::time::sleep(POLL).await;
                    continue;
                }
                SnapshotState::InProgress => {
                    return Err(BakeError::Refused("the snapshot is not done in time (--wait-timeout)".to_owned()));
                }
                SnapshotState::Failed(why) => {
                    self.ask(|builder| {
                        let repository = repository.clone();
                        async move { snapshots::delete(&builder, &repository, snapshot).await }
                    })
                    .await?;
                    why
                }
                SnapshotState::Missing => "it is gone".to_owned(),
            };
            if begun >= SNAPSHOTS_MAX {
                return Err(BakeError::Refused(format!("the builder's snapshot did not become whole: {problem}")));
            }
            begun += 1;
            self.ask(|builder| {
                let (repository, index) = (repository.clone(), index.to_owned());
                async move {
                    match snapshots::begin(&builder, &repository, snapshot, &index).await {
                        // The answer to the first try was lost.
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

    /// Everything on the builder is to be made anew.
    fn start_over(&mut self) -> Result<(), BakeError> {
        tracing::warn!("what the builder held is gone, and it begins anew");
        self.keep.forget_load(&self.saved.id).map_err(BakeError::Refused)?;
        (self.saved.made, self.saved.loaded, self.saved.snapshot) = (None, None, false);
        self.write()
    }

    /// The builder, to be asked.
    pub(super) fn builder(&self) -> Result<Arc<Transport>, BakeError> {
        self.builder.as_ref().map(|builder| Arc::clone(&builder.transport)).ok_or_else(no_builder)
    }

    /// Asks the builder, and again where it died or cannot answer now.
    pub(super) async fn ask<T, F>(&mut self, work: impl Fn(Arc<Transport>) -> F) -> Result<T, BakeError>
    where
        F: Future<Output = Result<T, ClusterError>>,
    {
        let until = Instant::now() + self.config.load.finish.wait_timeout;
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

async fn identity(builder: Arc<Transport>, index: String) -> Result<Option<snapshots::Identity>, ClusterError> {
    snapshots::identity(&builder, &index).await
}

fn no_builder() -> BakeError {
    BakeError::Refused("the builder does not run".to_owned())
}

fn has_checkpoint(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder.join("checkpoints")).into_iter().flatten();
    files.filter_map(Result::ok).any(|file| file.path().extension().is_some_and(|extension| extension == "json"))
}
