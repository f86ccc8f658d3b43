//! The end of a load after its last document: the verification and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::stats::{self, IndexStats};
use inrush_cluster::transport::Transport;
use inrush_core::encode::Dropped;
use inrush_core::report::{Counts, IndexCounts, Tally};
use inrush_core::tune::{Learned, Plan};
use inrush_core::{Code, Flow};
use inrush_sources::Warnings;

use super::group::{Left, Together};
use super::outcome::Outcome;
use super::prepare::Prepared;
use crate::count_check::{self, Expectation, Fixed, Share};
use crate::cutover::{Finishing, ResumeCommand};
use crate::grace::Grace;
use crate::learned::Memory;
use crate::observe::{LoadingTime, Observers};
use crate::progress::{Phase, Step};
use crate::report::{
    IndexSizes, PlanReport, Report, SettingsReport, SettingsRestored, SourceReport, StartReport, Status, ThisRun,
    Verified, VerifiedState,
};
use crate::run::Finished;
use crate::targets;
use crate::tolerance::{Tolerance, ToleranceReport};

/// Longest wait for the sizes of the indices.
const SIZES_MAX: Duration = Duration::from_secs(10);

/// Message for a source without documents.
pub const NOTHING_READ: &str =
    "no document was read: the source is empty; give option `allow_empty` if an empty source is correct";

/// A message with the number of documents that are not indexed. `None` within the tolerance.
pub fn not_in(counts: &Counts, tolerance: Option<&ToleranceReport>) -> Option<String> {
    let docs = counts.docs_not_in();
    if docs == 0 || tolerance.is_some_and(|tolerance| tolerance.holds) {
        return None;
    }
    let documents = if docs == 1 { "1 document is".to_owned() } else { format!("{docs} documents are") };
    Some(format!("{documents} not in{}", tolerance.map(ToleranceReport::problem).unwrap_or_default()))
}

/// State of a load for the steps after its loop.
pub(super) struct End {
    pub(super) transport: Arc<Transport>,
    pub(super) prepared: Prepared,
    pub(super) names: Vec<String>,
    pub(super) run_id: String,
    pub(super) warnings: Option<Warnings>,
    pub(super) started: Instant,
    pub(super) verify: bool,
    pub(super) tolerate: Option<Tolerance>,
    /// A source without a document is correct.
    pub(super) allow_empty: bool,
    /// The source never ends by itself.
    pub(super) is_endless: bool,
    /// The load has option `once`.
    pub(super) once: bool,
    /// The time for the end after a stop.
    pub(super) grace: Grace,
    pub(super) observers: Observers,
    pub(super) loading: LoadingTime,
    pub(super) settings: SettingsReport,
    /// Counts of other loads of the same job.
    pub(super) others: Tally,
    /// What these other loads learned.
    pub(super) learned_elsewhere: Option<Learned>,
    /// What the load began with, and where it leaves what it learned.
    pub(super) memory: Memory,
    /// The plan at the start.
    pub(super) start: Plan,
    /// Whether the load tunes the plan, and so learns something.
    pub(super) learns: bool,
    /// Whether this load is the last one that writes to the index.
    pub(super) last: Last,
    /// Counts of fields that option `drop` removed.
    pub(super) dropped: Dropped,
}

/// Whether a load is the last one that writes to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Yes,
    /// Others are still running.
    No,
    /// The record of the loads could not be read or written.
    Unknown,
}

/// Why the count of the index proves nothing, where the earlier runs are the reason.
fn unproven(was_swapped: bool, has_unsettled_runs: bool) -> Option<&'static str> {
    if was_swapped {
        Some("an earlier run moved the alias, so other clients may have written to the index since")
    } else if has_unsettled_runs {
        Some("documents that an earlier run may have sent were not sent again yet")
    } else {
        None
    }
}

fn plan(flow: &Flow, start: Option<StartReport>) -> PlanReport {
    let (plan, format) = (flow.steady_plan(), flow.steady_body_format());
    PlanReport {
        learned: start.as_ref().and_then(|_| flow.learned()),
        start,
        batch_bytes: plan.batch_bytes,
        batch_docs: (plan.batch_docs != u32::MAX).then_some(plan.batch_docs),
        in_flight: plan.in_flight,
        why: flow.plan_why(),
        encoding: format.encoding,
        compression: format.compression.to_string(),
        wire_why: flow.body_format_why(),
    }
}

/// The settled documents of each source.
fn sources(flow: &Flow, names: Vec<String>) -> Vec<SourceReport> {
    let mut settled: BTreeMap<u32, u64> = BTreeMap::new();
    for ((source, _), watermark) in flow.watermarks() {
        *settled.entry(source.0).or_default() += watermark.docs;
    }
    let report = |(at, name)| {
        let docs_settled = settled.get(&(at as u32)).copied().unwrap_or(0);
        SourceReport { name, docs_settled }
    };
    names.into_iter().enumerate().map(report).collect()
}

impl End {
    /// Verifies the index, runs the steps after the last document and makes the report.
    pub(super) async fn report(mut self, finished: Finished, mut finishing: Finishing) -> Report {
        let Finished { mut flow, dead_letters, checkpointer, mut events, .. } = finished;
        let mut outcome = Outcome::of_loop(&flow);
        outcome.close(&mut flow);
        let dead_letters = outcome.finish_dead_letters(dead_letters, self.grace.has_begun());
        let mut tally = flow.tally().clone();
        tally.absorb(&self.others.counts, &self.others.indices, &self.others.errors());
        outcome.check_errors(&flow);
        let resumed = checkpointer.as_ref().is_some_and(|c| c.is_resumed());
        let names = self.prepared.names(&tally);
        if outcome.settled {
            self.make_searchable(&mut finishing, &names).await;
        }
        let unproven = unproven(finishing.was_swapped(), resumed && !outcome.settled);
        let verified = self.verify_in_time(&tally, &finished.counts_before, resumed, unproven).await;
        let sizes = self.sizes(finished.sizes_before, &tally.indices).await;
        let tolerance = self.tolerate.map(|tolerance| tolerance.judge(&tally.counts));
        let not_in = not_in(&tally.counts, tolerance.as_ref());
        self.share_swap(&mut outcome, &mut finishing, &names).await;
        let why_not = outcome.judge(not_in, &verified, &self.settings, finishing.swaps());
        let status = finishing.run(&names, outcome.status, why_not, &mut events).await;
        // A resumed load judges a failure at the end again, for example with another `max_errors`.
        let failed = !outcome.settled || status == Status::Failed;
        let unfinished = checkpointer.is_some() && (failed || finishing.is_resumable(status));
        let resumable = unfinished && !finished.source_changed;
        let seconds = self.started.elapsed().as_secs_f64();
        let this_run = flow.counts_of_this_run();
        let seconds_before = checkpointer.as_ref().map_or(0.0, |c| c.seconds_before());
        let loading = self.loading();
        let mut warnings = self.warnings(finished.checkpoint_failure.filter(|_| failed), finished.feedback_failure);
        warnings.extend(dead_letters.not_kept);
        warnings.extend(self.source_warnings(outcome.settled, resumed, tally.counts.docs_read));
        warnings.extend(finishing.warnings());
        let (finish, swap) = finishing.reports(status, resumable.then_some(ResumeCommand { once: self.once }));
        let report = Report {
            status,
            ended_before: None,
            failure_code: outcome.failure.as_ref().map(|failure| failure.code),
            failure: outcome.failure.map(|failure| failure.message),
            seconds: seconds_before + seconds,
            docs_per_second: (this_run.docs_read + self.others.counts.docs_read) as f64 / loading.as_secs_f64(),
            this_run: resumed.then_some(ThisRun { counts: this_run, seconds }),
            checkpoint: checkpointer.as_ref().filter(|_| resumable).map(|checkpointer| checkpointer.path()),
            plan: plan(&flow, self.learned(&flow)),
            verified,
            tolerance,
            settings: self.settings,
            sizes,
            pauses: finished.pauses,
            source_idle_seconds: self.loading.idle().as_secs_f64(),
            lag: finished.lag,
            finish,
            swap,
            errors: tally.errors(),
            indices: tally.indices,
            counts: tally.counts,
            dead_letters: dead_letters.file,
            dead_letter_topic: dead_letters.sink,
            warnings,
            sources: sources(&flow, self.names),
            run_id: self.run_id,
        };
        if let (Some(checkpointer), false) = (checkpointer, unfinished) {
            checkpointer.end(&report).await;
        }
        self.observers.ended(&report);
        self.observers.phase(&Phase::Done);
        report
    }

    /// Makes the documents searchable, in the time that a step of the end has.
    async fn make_searchable(&self, finishing: &mut Finishing, names: &[String]) {
        if let Err(why) = self.grace.limit(finishing.searchable(names)).await {
            finishing.too_late(Step::Searchable, &why);
        }
    }

    /// Verifies the index, in the time that a step of the end has.
    async fn verify_in_time(
        &mut self,
        tally: &Tally,
        counts_before: &BTreeMap<String, Option<u64>>,
        resumed: bool,
        unproven: Option<&str>,
    ) -> Verified {
        if !self.verify {
            return count_check::off();
        }
        let grace = self.grace.clone();
        let verification = self.verify(tally, counts_before, resumed, unproven);
        let late = |why| count_check::not_provable(format!("the cluster did not return a count: {why}"));
        grace.limit(verification).await.unwrap_or_else(late)
    }

    /// Where several loads fill the new index of an alias, decides whether this one moves it.
    async fn share_swap(&mut self, outcome: &mut Outcome, finishing: &mut Finishing, names: &[String]) {
        if !finishing.is_shared() || outcome.status != Status::Complete {
            return;
        }
        match self.last {
            Last::No => finishing.leave_to_others(),
            Last::Yes if self.settings.restored == SettingsRestored::PassedOn => {
                // The load that they were passed on to restored them, or was killed before.
                self.settings = finishing.restore_settings(names).await;
            }
            Last::Yes => {}
            Last::Unknown => outcome.fail(
                Code::StepFailed,
                "it is not known whether other instances still write to the new index, because their record could not \
                 be read or written; so the alias was not moved"
                    .to_owned(),
            ),
        }
    }

    /// Leaves what the load learned to later ones. Returns what it began with.
    fn learned(&self, flow: &Flow) -> Option<StartReport> {
        if !self.learns {
            return None;
        }
        self.memory.keep(flow.learned(), flow.recollection());
        self.memory.keep_of_parts(self.learned_elsewhere);
        Some(self.memory.report(self.start, flow.recollection()))
    }

    /// Warnings of the preflight, the last checkpoint and the last report to the source.
    fn warnings(&mut self, checkpoint_failure: Option<String>, feedback_failure: Option<String>) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.prepared.preflight.warnings);
        warnings.extend(checkpoint_failure);
        warnings.extend(feedback_failure);
        warnings
    }

    /// Warnings about the source and its documents.
    fn source_warnings(&self, settled: bool, resumed: bool, docs_read: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        if settled && docs_read == 0 && !self.allow_empty {
            warnings.push(NOTHING_READ.to_owned());
        }
        warnings.extend(self.warnings.iter().flat_map(Warnings::list).map(|w| w.to_string()));
        // An earlier run may have found the fields of option `drop`.
        if settled && !resumed && docs_read > 0 {
            warnings.extend(self.dropped.warnings());
        }
        warnings
    }

    /// Divisor of `docs_per_second`.
    fn loading(&self) -> Duration {
        // Other loads of the job read all documents, so the time begins with the start of this
        // load.
        let loading = match (self.loading.first(), self.loading.drained()) {
            (None, Some(drained)) if self.others.counts.docs_read > 0 => drained,
            _ => self.loading.loading(),
        };
        let left_out = if self.is_endless { self.loading.idle() } else { Duration::ZERO };
        loading.saturating_sub(left_out).max(Duration::from_millis(1))
    }

    /// Sizes of the indices before and after the load. A cluster that does not answer within
    /// [`SIZES_MAX`] gives none.
    async fn sizes(
        &self,
        before: BTreeMap<String, IndexStats>,
        indices: &BTreeMap<String, IndexCounts>,
    ) -> BTreeMap<String, IndexSizes> {
        let names: BTreeSet<&str> = before.keys().chain(indices.keys()).map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let asked = tokio::time::timeout(SIZES_MAX, stats::stats_of(&self.transport, &names));
        let after = self.grace.limit(asked).await.ok().and_then(|asked| asked.ok()?.ok()).unwrap_or_default();
        let both = |name: &&str| {
            let sizes = IndexSizes { before: before.get(*name).copied(), after: after.get(*name).copied() };
            (sizes != IndexSizes::default()).then(|| ((*name).to_owned(), sizes))
        };
        names.iter().filter_map(both).collect()
    }

    /// Counts the documents of the index and judges the count. Where other loads write to the
    /// index, the last one of them does that for all.
    async fn verify(
        &mut self,
        tally: &Tally,
        before_each: &BTreeMap<String, Option<u64>>,
        resumed: bool,
        unproven: Option<&str>,
    ) -> Verified {
        let repeated = resumed || self.prepared.has_another_primary(&self.transport).await;
        let share = Share::of(&tally.counts, &tally.indices, repeated);
        let alone = self.prepared.before.clone().map(|before| Together { loads: 1, before, share });
        let Some(mut member) = self.prepared.member.take() else {
            return self.judge(tally, before_each, alone, unproven).await;
        };
        let elsewhere = || count_check::unprovable(self.prepared.target.as_ref()?, &tally.indices);
        let share = unproven.map(str::to_owned).or_else(elsewhere).map_or(Ok(share), Err);
        loop {
            self.last = Last::Yes;
            let together = match member.leave(&share).await {
                Left::Last(together) => together,
                Left::Over(verified) => return verified,
                Left::Others(verified) => {
                    self.last = Last::No;
                    return verified;
                }
                Left::Unknown(verified) => {
                    self.last = Last::Unknown;
                    return verified;
                }
            };
            let verified = self.judge(tally, before_each, Ok(together), unproven).await;
            if member.end().await {
                return verified;
            }
        }
    }

    async fn judge(
        &self,
        tally: &Tally,
        before_each: &BTreeMap<String, Option<u64>>,
        together: Result<Together, String>,
        unproven: Option<&str>,
    ) -> Verified {
        if let Some(why) = unproven {
            return count_check::not_provable(why.to_owned());
        }
        if let Some(name) = self.prepared.replaced(&self.transport).await {
            return Verified { duplicates: 0, state: VerifiedState::No, detail: targets::replaced(&name) };
        }
        let Together { loads, before, share } = match together {
            Ok(together) => together,
            Err(why) => {
                return count_check::not_provable(format!("the index could not be counted before the load: {why}"));
            }
        };
        let fixed = self.prepared.target.as_ref().map(|target| Fixed { target, before, share, loads });
        let (counts, indices, earlier) = (&tally.counts, &tally.indices, &self.prepared.earlier_indices);
        let expectation = Expectation { fixed, earlier, before: before_each, counts, indices };
        count_check::verify(&self.transport, &expectation, &|phase| self.observers.phase(phase)).await
    }
}
