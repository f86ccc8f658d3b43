//! What follows the last document: the check and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_core::Stop;
use inrush_core::report::{IndexCounts, Tally};
use tokio::sync::watch;

use super::prepare::Prepared;
use crate::cluster::stats::{self, IndexStats};
use crate::finish::Finishing;
use crate::progress::{Phase, Progress};
use crate::report::{
    IndexSizes, PlanReport, Report, SettingsReport, SettingsRestored, SourceReport, Status, ThisRun, Verified,
};
use crate::run::Finished;
use crate::source::Warnings;
use crate::transport::Transport;
use crate::verify::{self, Expectation};

/// How long the sizes of the indices are waited for.
const SIZES_MAX: Duration = Duration::from_secs(10);

/// What is needed after the loop.
pub(super) struct End {
    pub(super) transport: Arc<Transport>,
    pub(super) prepared: Prepared,
    pub(super) names: Vec<String>,
    pub(super) run_id: String,
    pub(super) warnings: Option<Warnings>,
    pub(super) started: Instant,
    pub(super) verify: bool,
    /// How long an interrupted load may take to verify.
    pub(super) drain_max: Duration,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) settings: SettingsReport,
    /// What other loads of the same job did.
    pub(super) others: Tally,
}

impl End {
    pub(super) async fn report(self, finished: Finished, mut finishing: Finishing) -> Report {
        let Finished {
            mut flow,
            dead_letters,
            counts_before,
            checkpointer,
            checkpoint_failure,
            first_block,
            ended,
            pauses,
            sizes_before,
            mut events,
        } = finished;
        let mut failure = None;
        let mut status = match flow.stopped() {
            None => Status::Complete,
            Some(Stop::Interrupted) => Status::Interrupted,
            Some(Stop::Failed(why)) => {
                failure = Some(why.clone());
                Status::Failed
            }
        };
        let mut fail = |why: String| {
            failure.get_or_insert(why);
            Status::Failed
        };
        // Everything came to its end: nothing is left to resume.
        let settled = status == Status::Complete;
        if let Err(e) = flow.close() {
            status = fail(e.to_string());
        }
        let path = dead_letters.path().display().to_string();
        let dead_letters = match dead_letters.finish() {
            Ok(path) => path,
            Err(e) => {
                status = fail(format!("cannot write dead letters to {path}: {e}"));
                None
            }
        };
        let mut tally = flow.tally().clone();
        tally.absorb(&self.others.counts, &self.others.indices, &self.others.errors());
        if status == Status::Complete && flow.too_many_errors() {
            status = fail(flow.max_errors_message());
        }
        let resumed = checkpointer.as_ref().is_some_and(|c| c.is_resumed());
        let names = self.prepared.names(&tally);
        if settled {
            finishing.searchable(&names).await;
        }
        let verified = if self.verify && finishing.was_swapped() {
            verify::not_provable("an earlier run has moved the alias, so that others may have written since".to_owned())
        } else if self.verify && resumed && !settled {
            verify::not_provable("documents that an earlier run may have sent were not sent again yet".to_owned())
        } else if self.verify {
            self.progress.send_modify(|p| p.phase = Phase::Verifying);
            let verification = self.verify(&tally.counts, &tally.indices, &counts_before, resumed);
            if status == Status::Interrupted {
                // Whoever has stopped it waits for its end.
                let why = "the cluster did not count within the time for an interrupted load";
                let in_time = tokio::time::timeout(self.drain_max, verification).await;
                in_time.unwrap_or_else(|_| verify::not_provable(why.to_owned()))
            } else {
                verification.await
            }
        } else {
            verify::off()
        };
        let sizes = self.sizes(sizes_before, &tally.indices).await;
        if status == Status::Complete {
            status = if tally.counts.docs_not_in() > 0 {
                Status::Incomplete
            } else if verified.state == crate::report::VerifiedState::No
                || self.settings.restored == SettingsRestored::No
            {
                Status::CheckFailed
            } else {
                Status::Complete
            };
        }
        let mut why_not = match status {
            Status::Complete => String::new(),
            Status::CheckFailed if verified.state == crate::report::VerifiedState::No => verified.detail.clone(),
            Status::CheckFailed => self.settings.detail.clone(),
            Status::Incomplete => format!("{} documents are not in", tally.counts.docs_not_in()),
            Status::Failed | Status::Interrupted => "the load did not come to its end".to_owned(),
        };
        if status == Status::Complete && self.settings.restored == SettingsRestored::PassedOn && finishing.swaps() {
            (status, why_not) = (Status::CheckFailed, self.settings.detail.clone());
        }
        let status = finishing.run(&names, status, why_not, &mut events).await;
        let resumable = checkpointer.is_some() && (!settled || finishing.is_resumable(status));
        let seconds = self.started.elapsed().as_secs_f64();
        let this_run = flow.counts_of_this_run();
        let seconds_before = checkpointer.as_ref().map_or(0.0, |c| c.seconds_before());
        if let (Some(checkpointer), false) = (&checkpointer, resumable) {
            checkpointer.remove();
        }
        let checkpoint = checkpointer.filter(|_| resumable).map(|checkpointer| checkpointer.path());
        let paused = Duration::try_from_secs_f64(pauses.iter().map(|pause| pause.seconds).sum()).unwrap_or_default();
        let first = first_block.unwrap_or(if self.others.counts.docs_read > 0 { self.started } else { ended });
        let loading = ended.duration_since(first).saturating_sub(paused);
        let loading = loading.max(Duration::from_millis(1));
        let mut warnings = self.prepared.preflight.warnings;
        warnings.extend(checkpoint_failure.filter(|_| !settled));
        warnings.extend(self.warnings.iter().flat_map(Warnings::list).map(|w| w.to_string()));
        let plan = flow.plan_stands();
        let mut settled: BTreeMap<u32, u64> = BTreeMap::new();
        for ((source, _), watermark) in flow.watermarks() {
            *settled.entry(source.0).or_default() += watermark.docs;
        }
        let sources = self.names.into_iter().enumerate().map(|(at, name)| {
            let docs_settled = settled.get(&(at as u32)).copied().unwrap_or(0);
            SourceReport { name, docs_settled }
        });
        warnings.extend(finishing.warnings());
        let (finish, swap) = finishing.reports(status, resumable);
        self.progress.send_modify(|p| p.phase = Phase::Done);
        Report {
            status,
            failure,
            seconds: seconds_before + seconds,
            docs_per_second: (this_run.docs_read + self.others.counts.docs_read) as f64 / loading.as_secs_f64(),
            this_run: resumed.then_some(ThisRun { counts: this_run, seconds }),
            checkpoint,
            plan: PlanReport {
                batch_bytes: plan.batch_bytes,
                batch_docs: (plan.batch_docs != u32::MAX).then_some(plan.batch_docs),
                in_flight: plan.in_flight,
                why: flow.plan_why(),
                encoding: flow.wire_stands().encoding,
                compression: flow.wire_stands().compression.to_string(),
                wire_why: flow.wire_why(),
            },
            verified,
            settings: self.settings,
            sizes,
            pauses,
            finish,
            swap,
            bake: None,
            errors: tally.errors(),
            indices: tally.indices,
            counts: tally.counts,
            dead_letters,
            warnings,
            sources: sources.collect(),
            run_id: self.run_id,
        }
    }

    /// How large the indices are now, beside what they were. A cluster that does not answer is not waited for.
    async fn sizes(
        &self,
        before: BTreeMap<String, IndexStats>,
        indices: &BTreeMap<String, IndexCounts>,
    ) -> BTreeMap<String, IndexSizes> {
        let names: BTreeSet<&str> = before.keys().chain(indices.keys()).map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let asked = tokio::time::timeout(SIZES_MAX, stats::stats_of(&self.transport, &names)).await;
        let after = asked.ok().and_then(Result::ok).unwrap_or_default();
        let both = |name: &&str| {
            let sizes = IndexSizes { before: before.get(*name).copied(), after: after.get(*name).copied() };
            (sizes != IndexSizes::default()).then(|| ((*name).to_owned(), sizes))
        };
        names.iter().filter_map(both).collect()
    }

    async fn verify(
        &self,
        counts: &inrush_core::report::Counts,
        indices: &BTreeMap<String, IndexCounts>,
        before: &BTreeMap<String, Option<u64>>,
        resumed: bool,
    ) -> Verified {
        let before_load = match &self.prepared.before {
            Ok(before) => *before,
            Err(why) => return verify::not_provable(format!("the index could not be counted before the load: {why}")),
        };
        let fixed = self.prepared.target.as_ref().map(|target| (target, before_load));
        let repeated = resumed || self.prepared.has_another_primary(&self.transport).await;
        verify::verify(&self.transport, &Expectation { fixed, before, counts, indices, repeated }).await
    }
}
