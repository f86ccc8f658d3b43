//! The load into a builder: the same as into a cluster, of the documents of one part.

use std::path::Path;
use std::sync::Arc;

use inrush_cluster::api::stats;
use inrush_cluster::transport::{Credentials, TlsOptions};
use inrush_core::routing::Routing;
use inrush_load::LoadError;
use inrush_load::Phase;
use inrush_load::config::{DeadLetters, FinishConfig, IndexCreation, Learning, LoadConfig, Rate, StateFolder};
use inrush_load::loader::{Loader, RunningLoad};
use inrush_load::{Report, Status};
use inrush_sources::{Parted, Parting, Source};

use super::build::{PartRun, no_builder};
use super::config::BakeError;
use super::context::Context;

impl PartRun {
    /// Loads the part, and records the result.
    pub(super) async fn load_all(&mut self) -> Result<String, BakeError> {
        let report = self.load().await?;
        if !matches!(report.status, Status::Complete | Status::Incomplete) {
            return Err(BakeError::NotLoaded(Box::new(report)));
        }
        let index = self.index();
        let docs = self
            .ask(|builder| {
                let index = index.clone();
                async move { stats::count_now(&builder, &index).await }
            })
            .await?;
        let detail = format!("{} read, {docs} in the index", report.counts.docs_read);
        self.context.write_part(self.part, |part| part.loaded = Some((Box::new(report), docs)))?;
        Ok(detail)
    }

    /// Loads into the builder, or resumes a load that was cut off.
    async fn load(&mut self) -> Result<Report, BakeError> {
        let context = Arc::clone(&self.context);
        let id = context.saved().id.clone();
        let folder = context.keep.of_load(&id, self.part);
        let mut resume = has_checkpoint(&folder);
        loop {
            match self.begin_load(&folder, resume).await {
                Ok(running) => return self.watch(running).await,
                // A checkpoint that cannot be resumed is no loss: only this bake writes to the
                // builder.
                Err(BakeError::Load(LoadError::State(why))) if resume => {
                    tracing::warn!("the load into the builder starts over: {why}");
                    context.keep.forget_load(&id, self.part).map_err(BakeError::Refused)?;
                    resume = false;
                }
                Err(error) => self.recover_from(error).await?,
            }
        }
    }

    async fn begin_load(&mut self, folder: &Path, resume: bool) -> Result<RunningLoad, BakeError> {
        if !resume {
            self.clear().await?;
        }
        let config = self.load_config(folder, resume)?;
        let source = self.source()?;
        let loader = Loader::new(config)?.with_observers(self.context.observers(self.part));
        Ok(loader.start(source).await?)
    }

    /// The documents of the part.
    fn source(&self) -> Result<Box<dyn Source>, BakeError> {
        let all = (self.context.documents.open)()?;
        let saved = self.context.saved();
        let routing = match (saved.parts.len(), &saved.whole) {
            (1, _) => return Ok(all),
            (_, Some(_)) => saved.plan.routing().map_err(BakeError::Refused)?,
            // A part is not a shard here, but divides the documents just as well.
            (parts, None) => Routing::new(parts as u32, None, 1)
                .ok_or_else(|| BakeError::Refused(format!("{parts} builders are too many")))?,
        };
        let load = &self.context.config.load;
        let (id, routed_by) = (load.id.clone(), load.routing.clone());
        Ok(Box::new(Parted::new(all, Parting { routing, part: self.part as u32, id, routed_by })))
    }

    /// Recreates the index if it has documents that no checkpoint knows.
    async fn clear(&mut self) -> Result<(), BakeError> {
        let index = self.index();
        let builder = self.builder()?;
        if stats::count_now(&builder, &index).await? > 0 {
            self.create(&builder).await?;
        }
        Ok(())
    }

    pub(super) fn load_config(&self, folder: &Path, resume: bool) -> Result<LoadConfig, BakeError> {
        let builder = self.builder.as_ref().ok_or_else(no_builder)?;
        let mut config = aside(&self.context.config.load, &self.index(), builder.urls())?;
        let FinishConfig { force_merge, wait_timeout, .. } = config.finish;
        config.finish = FinishConfig { force_merge, wait_timeout, ..FinishConfig::default() };
        config.state = Some(StateFolder::new(folder));
        config.resume = resume;
        let parts = self.context.saved().parts.len();
        if parts > 1 {
            divide_limits(&mut config, self.part, parts);
        }
        Ok(config)
    }

    /// Waits for the load, and keeps the builder alive meanwhile.
    async fn watch(&mut self, running: RunningLoad) -> Result<Report, BakeError> {
        let builder = self.builder.as_mut().ok_or_else(no_builder)?;
        let (mut report, dead) = follow(&self.context, self.part, running, builder.keep_alive()).await;
        if let (Some(error), Status::Failed | Status::Interrupted) = (dead, report.status) {
            report.status = Status::Failed;
            report.failure = Some(error.to_string());
        }
        Ok(report)
    }
}

/// Waits for the load of a part, and passes its progress on. It is stopped where the bake is, or
/// when `dies` ends, whose result is returned.
pub(super) async fn follow<E>(
    context: &Context,
    part: usize,
    running: RunningLoad,
    dies: impl Future<Output = E>,
) -> (Report, Option<E>) {
    let (mut loading, load_stop) = (running.progress(), running.stop_handle());
    let finish = running.finish();
    tokio::pin!(finish, dies);
    let (mut stopping, mut watched, mut dead) = (false, true, None);
    let report = loop {
        tokio::select! {
            report = &mut finish => break report,
            changed = loading.changed(), if watched => {
                watched = changed.is_ok();
                let now = loading.borrow_and_update().clone();
                if now.phase != Phase::Done {
                    context.show_loading(part, now);
                }
            }
            () = context.aborted(), if !stopping => {
                stopping = true;
                load_stop.stop();
            }
            error = &mut dies, if dead.is_none() => {
                dead = Some(error);
                load_stop.stop();
            }
        }
    };
    (report, dead)
}

/// The load of a bake into a builder. What concerns the target alone is left out.
pub(super) fn aside(load: &LoadConfig, index: &str, to: Vec<String>) -> Result<LoadConfig, BakeError> {
    let mut config = load.clone();
    config.index = index.parse().map_err(LoadError::usage)?;
    (config.to, config.credentials) = (to, Credentials::None);
    config.tls = TlsOptions::default();
    config.create = IndexCreation::default();
    config.guard.leave_settings = true;
    config.under_policy = true;
    // Tolerance is judged for all parts together.
    config.tolerate = None;
    config.allow_empty = true;
    // The builder is a cluster of its own, which no later load meets.
    config.learning = Learning::Given(None);
    Ok(config)
}

/// Divides the limits of one load among several parallel loads.
fn divide_limits(config: &mut LoadConfig, part: usize, parts: usize) {
    let limits = &mut config.limits;
    let needed = limits.batch_bytes.unwrap_or(1).saturating_mul(limits.in_flight.unwrap_or(1) as usize);
    limits.memory = (limits.memory / parts).max(needed);
    limits.max_rate = limits.max_rate.map(|rate| match rate {
        Rate::Bytes(n) => Rate::Bytes((n / parts as u64).max(1)),
        Rate::Docs(n) => Rate::Docs((n / parts as u64).max(1)),
    });
    if let DeadLetters::File(path) = &mut config.dead_letters {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.set_file_name(format!("part-{}-{name}", part + 1));
    }
    if let Some(path) = &mut config.trace {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.set_file_name(format!("part-{}-{name}", part + 1));
    }
}

/// Whether a load into a builder was begun, whose checkpoints are in this folder.
pub(super) fn has_checkpoint(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder.join("checkpoints")).into_iter().flatten();
    files.filter_map(Result::ok).any(|file| file.path().extension().is_some_and(|extension| extension == "json"))
}
