//! The work after the last step or the failed one: cleaning up, and the report.

use std::sync::Arc;

use inrush_cluster::clock;
use inrush_load::cutover::{Finishing, ResumeCommand};
use inrush_load::loader::NOTHING_READ;
use inrush_load::{Report, Status};
use tokio::sync::watch;

use crate::begin::clear;
use crate::config::BakeError;
use crate::context::Patience;
use crate::engine::Ended;
use crate::record::Saved;
use crate::report::{BakeReport, BakeStep, BakeStepName as Step, HandOver};
use crate::steps::{Bake, HandedOver};
use crate::target::{release, undo};

impl Bake<'_> {
    /// Removes everything that existed for the bake only, and reports.
    pub(crate) async fn end(self, handed_over: HandedOver, finishing: Finishing) -> BakeReport {
        let context = &self.context;
        context.show(Step::CleanUp.name());
        let begun = clock::now();
        let mut saved = context.saved().clone();
        let patience = Patience::new(context.stop.clone(), context.times.grace);
        let mut left = release(&context.target, &mut saved, &patience).await;
        left.extend(self.engine().undo(&context.target, &mut saved, &patience).await);
        left.extend(handed_over.aliases.map(|why| format!("the aliases of templates: {why}")));
        if left.is_empty() {
            left.extend(self.clear(&saved, &patience).await);
        } else {
            left.extend(context.keep.write(&saved).err());
            left.extend(self.engine().rest(&saved).await);
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
    pub(crate) async fn fail(
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
        let patience = Patience::new(context.stop.clone(), context.times.grace);
        let mut left = undo(&context.target, &mut saved, &patience).await;
        left.extend(self.engine().undo(&context.target, &mut saved, &patience).await);
        let begun = context.keep.is_begun(&saved);
        // Another try would end in the same way.
        let in_vain = matches!(error, Some(BakeError::NotNative(_)));
        let resumable = context.keep.stays && !in_vain && (context.load.resume || report.is_some() || begun);
        let keeps = !left.is_empty() || resumable;
        if keeps {
            // If the record cannot be written now, the earlier one on disk names more to undo than
            // there is.
            left.extend(context.keep.write(&saved).err());
            // Its data stay, for --resume.
            left.extend(self.engine().rest(&saved).await);
        } else {
            if in_vain {
                saved.forget_letters();
            }
            left.extend(self.clear(&saved, &patience).await);
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
        let builder = self.engine().title(&saved);
        let mut warnings = self.warnings;
        warnings.extend(report.warnings.iter().cloned());
        warnings.extend(finishing.warnings());
        let ended_early = matches!(report.status, Status::Failed | Status::Interrupted);
        if report.counts.docs_read == 0 && !ended_early && !self.context.load.allow_empty {
            warnings.push(NOTHING_READ.to_owned());
        }
        let (mut finish, mut swap) =
            finishing.reports(report.status, (!published).then_some(ResumeCommand { once: false }));
        finish.steps.splice(0..0, report.finish.steps.iter().cloned());
        if let Some(swap) = swap.as_mut().filter(|_| !published && !saved.in_doubt) {
            swap.detail = "the index was not handed over, and the alias was not moved".to_owned();
            swap.what_next = None;
        }
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
        report.set_warnings(warnings);
        BakeReport { load: report, hand_over }
    }

    /// Deletes everything that no later run needs. Returns messages about what stays.
    async fn clear(&self, saved: &Saved, patience: &Patience) -> Vec<String> {
        let context = &self.context;
        let ended = Ended { keep: &context.keep, saved, context: Some(context) };
        let mut left = Vec::from_iter(patience.limit(clear(self.engine(), &ended)).await.err());
        if !left.is_empty() {
            left.extend(self.engine().rest(saved).await);
        }
        left
    }
}
