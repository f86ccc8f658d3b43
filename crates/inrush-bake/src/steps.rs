//! The steps of a bake up to the published index.

use std::sync::Arc;

use inrush_cluster::clock::Instant;
use inrush_cluster::run_id::run_id;
use inrush_load::cutover::Finishing;
use inrush_load::loader::not_in;
use inrush_load::{Report, Status, StopSignal};
use tokio::sync::watch;

use crate::config::BakeError;
use crate::context::Context;
use crate::engine::{BuildEngine, Engines};
use crate::report::{BakeReport, BakeStepName as Step};
use crate::target::Target;

/// A running bake.
pub(crate) struct Bake<'a> {
    pub(crate) context: Arc<Context>,
    pub(crate) engines: &'a Engines,
    pub(crate) target: Target,
    pub(crate) warnings: Vec<String>,
    pub(crate) started: Instant,
}

impl Bake<'_> {
    /// Runs all steps to the end.
    pub(crate) async fn run(self, mut finishing: Finishing) -> Result<BakeReport, BakeError> {
        let mut stop = self.context.stop.clone();
        let run = run_id();
        let blocked = tokio::select! {
            blocked = finishing.block_old(&self.context.load.guard, &run) => blocked.map_err(BakeError::Refused),
            () = stop.stopped() => Err(BakeError::Interrupted),
        };
        let ended = match blocked {
            Ok(()) => self.steps(&mut finishing, &mut stop).await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(handed_over) => Ok(self.end(handed_over, finishing).await),
            Err(error) => self.fail(error, finishing, stop).await,
        }
    }

    /// All steps up to the published index.
    async fn steps(
        &self,
        finishing: &mut Finishing,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<HandedOver, BakeError> {
        let context = &self.context;
        let (is_built, was_published) = {
            let saved = context.saved();
            (saved.is_built, saved.published)
        };
        if !is_built && !was_published {
            self.engine().build(context).await?;
        }
        if !was_published {
            context.step(Step::Restore, self.target.restore()).await?;
        }
        let mut report = self.loaded()?;
        let mut verified = report.verified.clone();
        let verify = async {
            match self.target.verify(finishing, &report.verified).await {
                // Other programs may write to the index by now.
                Err(BakeError::Refused(why)) if was_published => Ok(why),
                found => {
                    let (whole, on_target) = found?;
                    verified = whole;
                    Ok(on_target)
                }
            }
        };
        context.step(Step::Verify, context.until_stopped(verify)).await?;
        let name = context.saved().index.clone();
        let why = not_in(&report.counts, report.tolerance.as_ref()).unwrap_or_default();
        let (mut status, mut aliases) = (report.status, Ok(0));
        let publish = async {
            status = finishing.run(std::slice::from_ref(&name), report.status, why, stop).await;
            if finishing.is_in_doubt() {
                context.write(|saved| saved.in_doubt = true)?;
            }
            match status {
                Status::Complete | Status::Incomplete => {}
                _ if finishing.was_published() => {}
                Status::Interrupted => return Err(BakeError::Interrupted),
                Status::CheckFailed | Status::Failed => {
                    return Err(BakeError::Refused(
                        finishing.failure().unwrap_or_else(|| "finishing the index failed".to_owned()),
                    ));
                }
            }
            let stream = self.target.attach().await?;
            // From here on nothing is undone.
            context.write(|saved| saved.published = true)?;
            aliases = self.target.give_aliases().await;
            Ok(match &aliases {
                Ok(0) => match stream {
                    Some(stream) => format!("{name}, in the data stream {stream}"),
                    None => name.clone(),
                },
                Ok(n) => format!("{name}; aliases: {n}"),
                Err(error) => error.to_string(),
            })
        };
        context.step(Step::Publish, publish).await?;
        report.status = status;
        report.verified = verified;
        Ok(HandedOver { report, aliases: aliases.err().map(|error| error.to_string()) })
    }

    /// What builds the index.
    pub(crate) fn engine(&self) -> &dyn BuildEngine {
        self.engines.of(&self.context.saved())
    }

    /// The report of the load.
    pub(crate) fn loaded(&self) -> Result<Report, BakeError> {
        let saved = self.context.saved();
        let loaded = saved.loaded.as_ref().map(|(report, _)| report.as_ref().clone());
        let mut report = loaded.ok_or_else(|| BakeError::Refused("the index was not loaded".to_owned()))?;
        // Tolerance is judged here, because other processes may have loaded parts.
        report.tolerance = self.context.load.tolerate.map(|tolerance| tolerance.judge(&report.counts));
        if report.status == Status::Incomplete && not_in(&report.counts, report.tolerance.as_ref()).is_none() {
            report.status = Status::Complete;
        }
        Ok(report)
    }
}

/// An index that the target has.
pub(crate) struct HandedOver {
    /// The report of the load, with the results on the target.
    pub(crate) report: Report,
    /// Why the aliases of templates were not added.
    pub(crate) aliases: Option<String>,
}
