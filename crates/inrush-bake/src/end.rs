//! The work after the last step or the failed one: cleaning up, and the report.

use std::sync::Arc;
use std::time::Instant;

use inrush_cluster::api::{index, snapshots};
use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_load::LoadError;
use inrush_load::cutover::{Finishing, ResumeCommand};
use inrush_load::loader::NOTHING_READ;
use inrush_load::{Report, Status};
use tokio::sync::watch;

use super::build::PartRun;
use super::config::{BakeConfig, BakeError};
use super::load::has_checkpoint;
use super::native;
use super::report::{BakeReport, BakeStep, BakeStepName as Step, HandOver};
use super::run::{Bake, HandedOver};
use super::state::{Keep, Part, Saved};
use super::undo::{self, Patience};

impl Bake {
    /// Removes everything that existed for the bake only, and reports.
    pub(super) async fn end(self, handed_over: HandedOver, finishing: Finishing) -> BakeReport {
        let context = &self.context;
        context.show(Step::CleanUp.name());
        let begun = Instant::now();
        let mut saved = context.saved().clone();
        let patience = Patience::new(context.stop.clone(), context.config.load.limits.grace);
        let mut left = undo::tidy(&context.target, &mut saved, &patience).await;
        left.extend(handed_over.aliases.map(|why| format!("the aliases of templates: {why}")));
        // Only the builders can delete from these repositories.
        if saved.shared.folder.is_none()
            && saved.native.is_none()
            && let Err(why) = patience.limit(self.delete_snapshots(saved.parts.len())).await
        {
            left.push(in_repository(&why));
        }
        if left.is_empty() {
            left.extend(patience.limit(clear(&context.config, &context.keep, &saved)).await.err());
        } else {
            left.extend(context.keep.write(&saved).err());
            left.extend(stop_builders(&saved).await);
        }
        let detail = if left.is_empty() { "everything is cleaned up" } else { "not everything could be cleaned up" };
        let step = BakeStep { step: Step::CleanUp, seconds: begun.elapsed().as_secs_f64(), detail: detail.to_owned() };
        saved.steps.push(step);
        let mut report = handed_over.report;
        if report.status == Status::Complete && !left.is_empty() {
            report.status = Status::CheckFailed;
        }
        self.report(report, saved, finishing, left)
    }

    /// Restores the former state of the target.
    pub(super) async fn fail(
        self,
        error: BakeError,
        mut finishing: Finishing,
        mut stop: watch::Receiver<bool>,
    ) -> Result<BakeReport, BakeError> {
        let context = Arc::clone(&self.context);
        context.show("restoring the former state of the target");
        let (error, report) = match error {
            BakeError::NotLoaded(report) => (None, Some(*report)),
            // What was loaded is of no use.
            error @ BakeError::NotNative(_) => (Some(error), None),
            error => (Some(error), self.loaded().ok()),
        };
        let status = match (&error, &report) {
            (Some(BakeError::Interrupted), _) => Status::Interrupted,
            (None, Some(report)) => report.status,
            _ => Status::Failed,
        };
        let why = error.as_ref().map_or_else(|| "the load did not finish".to_owned(), ToString::to_string);
        finishing.run(&[], Status::Failed, why.clone(), &mut stop).await;
        let mut saved = context.saved().clone();
        let config = &context.config;
        let patience = Patience::new(context.stop.clone(), config.load.limits.grace);
        let mut left = undo::undo(&context.target, &mut saved, &patience).await;
        let begun = is_begun(&context.keep, &saved);
        // Another try would end in the same way.
        let in_vain = matches!(error, Some(BakeError::NotNative(_)));
        let resumable = !config.no_resume && !in_vain && (config.load.resume || report.is_some() || begun);
        let keeps = !left.is_empty() || resumable;
        if keeps {
            // If the record cannot be written now, the earlier one on disk names more to undo than
            // there is.
            left.extend(context.keep.write(&saved).err());
            // Their data stay, for --resume.
            left.extend(stop_builders(&saved).await);
        } else {
            if begun && saved.shared.folder.is_none() && saved.native.is_none() {
                let deleted = patience.limit(self.delete_snapshots(saved.parts.len())).await;
                left.extend(deleted.err().map(|why| in_repository(&why)));
            }
            if let (true, Some(letters)) = (in_vain, saved.native.as_ref().and_then(|native| native.letters.as_ref())) {
                native::forget_letters(letters);
            }
            left.extend(patience.limit(clear(config, &context.keep, &saved)).await.err());
        }
        if let Some(mut report) = report {
            // A load whose source was changed while it was read cannot be resumed.
            let resumable = keeps && (error.is_some() || report.checkpoint.is_some());
            report.status = status;
            report.failure = report.failure.or_else(|| error.map(|error| error.to_string()));
            report.checkpoint = resumable.then(|| context.keep.path());
            return Ok(self.report(report, saved, finishing, left));
        }
        // Without a report of the load there is an error.
        let error = error.unwrap_or(BakeError::Interrupted);
        Err(BakeError::Unfinished { cause: Box::new(error), left, resumable: keeps })
    }

    fn report(self, mut report: Report, saved: Saved, finishing: Finishing, left: Vec<String>) -> BakeReport {
        let published = saved.published;
        let mut warnings = self.warnings;
        warnings.extend(report.warnings.iter().cloned());
        warnings.extend(finishing.warnings());
        let ended_early = matches!(report.status, Status::Failed | Status::Interrupted);
        if report.counts.docs_read == 0 && !ended_early && !self.context.config.load.allow_empty {
            warnings.push(NOTHING_READ.to_owned());
        }
        let (mut finish, mut swap) =
            finishing.reports(report.status, (!published).then_some(ResumeCommand { once: false }));
        finish.steps.splice(0..0, report.finish.steps.iter().cloned());
        if let Some(swap) = swap.as_mut().filter(|_| !published && !saved.in_doubt) {
            swap.detail = "the index was not handed over, and the alias was not moved".to_owned();
            swap.what_next = None;
        }
        let builder = saved.title();
        let hand_over = HandOver {
            builder,
            engine: saved.engine(),
            server_because: saved.server_because,
            index: saved.index,
            steps: saved.steps,
            handed_over: published,
            left,
        };
        report.seconds = self.started.elapsed().as_secs_f64();
        report.finish = finish;
        report.swap = swap;
        report.warnings = warnings;
        BakeReport { load: report, hand_over }
    }

    async fn delete_snapshots(&self, parts: usize) -> Result<(), BakeError> {
        for part in 0..parts {
            PartRun::new(Arc::clone(&self.context), part).delete_snapshot().await?;
        }
        Ok(())
    }
}

/// Whether documents were loaded, so that a resumed bake can continue.
pub(super) fn is_begun(keep: &Keep, saved: &Saved) -> bool {
    let mut parts = saved.parts.iter().enumerate();
    parts.any(|(at, part)| part.loaded.is_some() || has_checkpoint(&keep.of_load(&saved.id, at)))
}

/// Stops the servers that were started for the bake. Their data stay. Returns messages about
/// servers that could not be stopped.
async fn stop_builders(saved: &Saved) -> Vec<String> {
    let mut left = Vec::new();
    for note in saved.parts.iter().flat_map(|part| &part.nodes).filter(|note| !note.is_lent) {
        let stopped = inrush_node::stop(&note.name, false).await;
        left.extend(stopped.err().map(|error| format!("the builder {}: {error}", note.name)));
    }
    left
}

fn in_repository(why: &str) -> String {
    format!("the snapshot in the repository: {why}")
}

/// Deletes everything on this machine, and in an object store what it has written there: the
/// builder, the snapshot, and finally the record.
pub(super) async fn clear(config: &BakeConfig, keep: &Keep, saved: &Saved) -> Result<(), String> {
    for (at, part) in saved.parts.iter().enumerate().filter(|(_, part)| part.nodes.iter().any(|note| note.is_lent)) {
        delete_from_lent(saved, at, part).await.map_err(|error| format!("the index on the builder: {error}"))?;
    }
    for note in saved.parts.iter().flat_map(|part| &part.nodes).filter(|note| !note.is_lent) {
        inrush_node::remove(&note.name).await.map_err(|error| format!("the builder {}: {error}", note.name))?;
    }
    saved.shared.remove()?;
    native::remove_objects(saved, &config.repository_options).await?;
    keep.remove(&saved.id)
}

/// Deletes the index on a builder that keeps running.
async fn delete_from_lent(saved: &Saved, at: usize, part: &Part) -> Result<(), BakeError> {
    let urls: Vec<&String> = part.nodes.iter().filter_map(|note| note.url.as_ref()).collect();
    let builder = Transport::new(&urls, Credentials::None, &HttpOptions::default()).map_err(LoadError::Setup)?;
    for index in [&part.index, &saved.index] {
        index::delete(&builder, index).await?;
    }
    for (repository, _) in [saved.repository_of(at), saved.repository_of_whole()] {
        snapshots::unregister(&builder, &repository).await?;
    }
    Ok(())
}
