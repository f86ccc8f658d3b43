//! The load into a builder: the same as into a cluster.

use std::path::Path;
use std::sync::Arc;

use inrush_cluster::api::stats;
use inrush_load::config::{FinishConfig, LoadConfig, StateFolder};
use inrush_load::loader::{ConfiguredLoad, RunningLoad};
use inrush_load::{LoadError, Report, Status, VerifiedState};

use super::build::{BuilderRun, no_builder};
use crate::config::BakeError;
use crate::context::{aside, follow};

impl BuilderRun<'_> {
    /// Loads the documents, and records the result.
    pub(super) async fn load_all(&mut self) -> Result<String, BakeError> {
        let mut report = self.load().await?;
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
        if report.verified.state == VerifiedState::Yes {
            report.verified.detail.push_str(", on the builder");
        }
        let detail = format!("{} read, {docs} in the index", report.counts.docs_read);
        self.context.write(|saved| saved.loaded = Some((Box::new(report), docs)))?;
        Ok(detail)
    }

    /// Loads into the builder, or resumes a load that was cut off.
    async fn load(&mut self) -> Result<Report, BakeError> {
        let context = Arc::clone(&self.context);
        let id = context.saved().id.clone();
        let folder = context.keep.of_load(&id);
        let mut resume = context.keep.has_checkpoint(&id);
        loop {
            match self.begin_load(&folder, resume).await {
                Ok(running) => return self.watch(running).await,
                // A checkpoint that cannot be resumed is no loss: only this bake writes to the
                // builder.
                Err(BakeError::Load(LoadError::State(why))) if resume => {
                    tracing::warn!("the load into the builder starts over: {why}");
                    context.keep.forget_load(&id).map_err(BakeError::Refused)?;
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
        let source = (self.context.documents.open)()?;
        let loader = ConfiguredLoad::new(config)?.with_observers((self.context.documents.observers)());
        Ok(loader.start(source).await?)
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

    fn load_config(&self, folder: &Path, resume: bool) -> Result<LoadConfig, BakeError> {
        let builder = self.builder.as_ref().ok_or_else(no_builder)?;
        let mut config = aside(&self.context.load, &self.index(), builder.urls())?;
        let FinishConfig { force_merge, wait_timeout, .. } = config.finish;
        config.finish = FinishConfig { force_merge, wait_timeout, ..FinishConfig::default() };
        config.state = Some(StateFolder::new(folder));
        config.resume = resume;
        Ok(config)
    }

    /// Waits for the load, and keeps the builder alive meanwhile.
    async fn watch(&mut self, running: RunningLoad) -> Result<Report, BakeError> {
        let builder = self.builder.as_mut().ok_or_else(no_builder)?;
        let (mut report, dead) = follow(&self.context, running, builder.keep_alive()).await;
        if let (Some(error), Status::Failed | Status::Interrupted) = (dead, report.status) {
            report.status = Status::Failed;
            report.failure = Some(error.to_string());
        }
        Ok(report)
    }
}
