//! The end of a load after its last document: the verification and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::stats::{self, IndexStats};
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::Transport;
use inrush_core::encode::Shape;
use inrush_core::report::{Counts, IndexCounts, Tally};
use inrush_core::tune::{Learned, Plan};
use inrush_core::vectors::graph;
use inrush_core::{Code, FieldPath, Flow};
use inrush_sources::Warnings;

use super::group::{Left, Together};
use super::metadata_fields;
use super::old_indices;
use super::outcome::Outcome;
use super::prepare::Prepared;
use crate::beginnings::Repeated;
use crate::config::GuardConfig;
use crate::count_check::{self, Before, Expectation, Fixed, Share, Signs};
use crate::cutover::{Finishing, ResumeCommand, WithoutGraphs};
use crate::event::StopSignal;
use crate::grace::Grace;
use crate::learned::Memory;
use crate::observe::{LoadingTime, Observers};
use crate::order;
use crate::progress::{Phase, Step};
use crate::report::{
    IndexSizes, PlanReport, Report, SettingsReport, SettingsRestored, SinceReport, SourceReport, StartReport, Status,
    ThisRun, Verified, VerifiedState, WarningDetail,
};
use crate::run::Finished;
use crate::since::KeptSince;
use crate::targets;
use crate::told::Told;
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
    let documents = if docs == 1 { "1 document was".to_owned() } else { format!("{docs} documents were") };
    Some(format!("{documents} not indexed{}", tolerance.map(ToleranceReport::problem).unwrap_or_default()))
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
    /// A warning is a failed check.
    pub(super) fail_on_warning: bool,
    /// Warnings about the load as a whole.
    pub(super) told: Told,
    /// The field of option `timestamp`.
    pub(super) timestamp: Option<FieldPath>,
    /// The time for the end after a stop.
    pub(super) grace: Grace,
    pub(super) guard: GuardConfig,
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
    pub(super) shape: Shape,
    /// The last value of option `since`.
    pub(super) since: Option<KeptSince>,
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

/// Why a load with option `fail_on_warning` is not complete.
fn refusal(first: &str, number: usize) -> String {
    let warnings = if number == 1 { "a warning".to_owned() } else { format!("{number} warnings") };
    let are = if number == 1 { "is" } else { "are" };
    format!("option `fail_on_warning`: there {are} {warnings}: {first}")
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
    /// The report of the settings so far, and this one.
    pub(super) fn joined(&self, report: SettingsReport) -> SettingsReport {
        match self.settings.restored {
            SettingsRestored::Unchanged => report,
            _ => self.settings.clone().with(report),
        }
    }

    /// Verifies the index, runs the steps after the last document and makes the report.
    pub(super) async fn report(mut self, finished: Finished, mut finishing: Finishing) -> Report {
        let Finished { mut flow, dead_letters, checkpointer, mut events, .. } = finished;
        let mut outcome = Outcome::of_loop(&flow);
        outcome.close(&mut flow);
        let dead_letters = outcome.finish_dead_letters(dead_letters, self.grace.has_begun());
        let tally = self.tally(&flow);
        outcome.check_errors(&flow);
        let resumed = checkpointer.as_ref().is_some_and(|c| c.is_resumed());
        let names = self.prepared.names(&tally);
        self.make_searchable(&mut finishing, &names, outcome.settled).await;
        let unproven = unproven(finishing.was_swapped(), resumed && !outcome.settled);
        let verified = self.verify_in_time(&tally, &finished.counts_before, resumed, unproven).await;
        let verified = self.prepared.vectors.complete(order::judge(verified, flow.order()));
        let sizes = self.sizes(finished.sizes_before, &tally.indices).await;
        let tolerance = self.tolerate.map(|tolerance| tolerance.judge(&tally.counts));
        self.share_swap(&mut outcome, &mut finishing, &names, &mut events).await;
        let lacking = not_in(&tally.counts, tolerance.as_ref());
        let why_not = outcome.judge(lacking, &verified, &self.settings, finishing.swaps());
        let mut warnings = self.warnings(outcome.settled, resumed, &tally.counts);
        let judged = (outcome.status, why_not, &tally.counts);
        let (status, since) = self.finish(&mut finishing, &names, judged, &mut warnings, &mut events).await;
        // A resumed load judges a failure at the end again, for example with another `max_errors`.
        let failed = !outcome.settled || status == Status::Failed;
        let unfinished = checkpointer.is_some() && (failed || finishing.is_resumable(status));
        let resumable = unfinished && !finished.source_changed;
        let seconds = self.started.elapsed().as_secs_f64();
        let later = finished.checkpoint_failure.filter(|_| failed).into_iter().chain(finished.feedback_failure);
        let later = later.chain(dead_letters.not_kept).chain(finished.earlier_failure).chain(finishing.warnings());
        let hints = metadata_fields::hints(&tally.errors(), self.timestamp.as_ref());
        warnings.extend(later.chain(hints).map(WarningDetail::of_load));
        let (finish, swap) = finishing.reports(status, resumable.then_some(ResumeCommand { once: self.once }));
        let report = Report {
            since,
            status,
            ended_before: None,
            failure_code: outcome.failure.as_ref().map(|failure| failure.code),
            failure: outcome.failure.map(|failure| failure.message),
            seconds: checkpointer.as_ref().map_or(0.0, |c| c.seconds_before()) + seconds,
            docs_per_second: self.docs_per_second(flow.counts_of_this_run().docs_read),
            this_run: resumed.then_some(ThisRun { counts: flow.counts_of_this_run(), seconds }),
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
            new_index: self.prepared.new_index.take(),
            indices: tally.indices,
            counts: tally.counts,
            dead_letters: dead_letters.file,
            dead_letter_topic: dead_letters.sink,
            not_found_ids: flow.not_found().to_vec(),
            warnings: warnings.iter().map(|warning| warning.text.clone()).collect(),
            warning_details: warnings,
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

    /// Keeps the last value of option `since`, or warns that it is not kept. Returns the final
    /// status as well.
    async fn end_since(
        &mut self,
        finishing: &mut Finishing,
        status: Status,
        warnings: &mut Vec<WarningDetail>,
    ) -> (Status, Option<SinceReport>) {
        let Some(since) = self.since.take() else { return (status, None) };
        let since = since.end(status, self.prepared.asked(&self.transport)).await;
        if status != Status::Complete || since.kept || since.to.is_none() {
            return (status, Some(since));
        }
        let text = format!("the last value of option `since` is not kept: {}", since.detail);
        let status = if self.fail_on_warning {
            finishing.fail(refusal(&text, 1));
            Status::CheckFailed
        } else {
            status
        };
        warnings.push(WarningDetail::of_load(text));
        (status, Some(since))
    }

    /// The counts of all parts of the load.
    fn tally(&self, flow: &Flow) -> Tally {
        let mut tally = flow.tally().clone();
        tally.absorb(&self.others.counts, &self.others.indices, &self.others.errors());
        tally.drop_partial_indices();
        tally
    }

    /// Makes the documents searchable where all are settled, in the time of a step of the end.
    async fn make_searchable(&self, finishing: &mut Finishing, names: &[String], settled: bool) {
        if !settled {
            return;
        }
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
        let grace = self.grace.clone();
        let late = |why| count_check::not_provable(format!("the cluster did not return a count: {why}"));
        if let Some(managed) = &self.prepared.managed {
            self.observers.phase(&Phase::Verifying);
            return grace.limit(managed.verify(tally.counts.docs_indexed)).await.unwrap_or_else(late);
        }
        if !self.verify {
            return count_check::off();
        }
        let verification = self.verify(tally, counts_before, resumed, unproven);
        grace.limit(verification).await.unwrap_or_else(late)
    }

    /// Where several loads fill the new index of an alias, decides whether this one moves it.
    async fn share_swap(
        &mut self,
        outcome: &mut Outcome,
        finishing: &mut Finishing,
        names: &[String],
        events: &mut impl StopSignal,
    ) {
        if !finishing.is_shared() || outcome.status != Status::Complete {
            return;
        }
        match self.last {
            Last::No => finishing.leave_to_others(),
            Last::Yes if self.settings.restored == SettingsRestored::PassedOn => {
                let waited =
                    finishing.graphs_wait() && self.settings.changed.keys().any(|name| graph::is_for_later(name));
                // The load that they were passed on to restored them, or was killed before.
                self.settings = finishing.restore_settings(names).await;
                if let (true, SettingsRestored::Yes, [index]) = (waited, self.settings.restored, names) {
                    // It may have been killed before its merge.
                    let without = WithoutGraphs::of(&self.transport.brief(), index, true).await;
                    finishing.force_merge(names, Some(&without), events).await;
                }
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

    /// Deletes older indices of the alias, where that was asked for, or notes what the new index
    /// lacks.
    async fn end_swap(&self, finishing: &mut Finishing, status: Status, counts: &Counts) -> Status {
        if status == Status::Incomplete && counts.docs_not_in() == counts.docs_dead_lettered {
            let noting = finishing.note_missing(counts.docs_dead_lettered);
            if let Err(why) = self.grace.limit(noting).await {
                self.told.warn(format!("the new index was not marked: {why}"));
            }
            return status;
        }
        let Some((alias, new, keep)) = finishing.keeps().filter(|_| status == Status::Complete) else { return status };
        let (begun, transport) = (clock::now(), finishing.transport());
        let trimming = old_indices::trim(&transport, (&alias, &new), keep, &self.guard);
        let trimmed = self.grace.limit(trimming).await.and_then(|trimmed| trimmed);
        finishing.trimmed(begun, trimmed.map(|trimmed| (trimmed.deleted, trimmed.detail)));
        if finishing.failure().is_some() { Status::CheckFailed } else { status }
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

    /// Runs the steps after the last document. `judged`: the status before them, the reason where
    /// it is not complete, and the counts. Returns the final status, and the rows that were read
    /// with option `since`.
    async fn finish(
        &mut self,
        finishing: &mut Finishing,
        names: &[String],
        (status, why_not, counts): (Status, String, &Counts),
        warnings: &mut Vec<WarningDetail>,
        events: &mut impl StopSignal,
    ) -> (Status, Option<SinceReport>) {
        finishing.read(counts.docs_read);
        let of_swap = finishing.warnings();
        let known: Vec<&str> =
            warnings.iter().map(|warning| &*warning.text).chain(of_swap.iter().map(|w| &**w)).collect();
        if let Some(first) = known.first().filter(|_| self.fail_on_warning && status == Status::Complete) {
            finishing.fail(refusal(first, known.len()));
        }
        let status = finishing.run(names, status, why_not, events).await;
        let status = self.end_swap(finishing, status, counts).await;
        // Writes to the old index are counted after the swap.
        let told = self.told.take();
        let later: Vec<String> =
            finishing.warnings().into_iter().chain(told.iter().map(|warning| warning.text.clone())).collect();
        warnings.extend(told);
        let status = match later.first().filter(|_| self.fail_on_warning && status == Status::Complete) {
            Some(first) => {
                finishing.fail(refusal(first, later.len()));
                Status::CheckFailed
            }
            None => status,
        };
        self.end_since(finishing, status, warnings).await
    }

    /// Warnings of the preflight, and about the source and its documents.
    fn warnings(&mut self, settled: bool, resumed: bool, counts: &Counts) -> Vec<WarningDetail> {
        let preflight = std::mem::take(&mut self.prepared.preflight.warnings);
        let mut warnings: Vec<WarningDetail> = preflight.into_iter().map(WarningDetail::of_load).collect();
        warnings.extend(self.told.take());
        let docs_read = counts.docs_read;
        if settled && docs_read == 0 && !self.allow_empty {
            warnings.push(WarningDetail::coded(Code::EmptySource, NOTHING_READ.to_owned()));
        }
        // Rows since the last load are read again, and their documents are deleted already.
        let is_part = self.since.as_ref().is_some_and(KeptSince::is_part);
        if settled && docs_read > 0 && counts.docs_not_found == docs_read && !is_part {
            let text = "no document was found to delete: check the field of option `id`, and the index".to_owned();
            warnings.push(WarningDetail {
                code: "nothing_found".to_owned(),
                count: docs_read,
                ..WarningDetail::of_load(text)
            });
        }
        let of_source = self.warnings.iter().flat_map(Warnings::list);
        warnings.extend(of_source.map(|warning| WarningDetail::of_source(&warning)));
        // An earlier run may have found the fields of option `drop`.
        if settled && !resumed && docs_read > 0 {
            warnings.extend(self.shape.warnings().into_iter().map(WarningDetail::of_load));
        }
        warnings
    }

    /// Documents that were read for each second.
    fn docs_per_second(&self, docs_read: u64) -> f64 {
        (docs_read + self.others.counts.docs_read) as f64 / self.loading().as_secs_f64()
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
        let asked = clock::timeout(SIZES_MAX, stats::stats_of(&self.transport, &names));
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
        let repeated = match resumed {
            // An earlier run may have met another primary.
            true => Repeated::Yes,
            false => self.prepared.repeated(&self.transport, tally).await,
        };
        let share = Share::of(&tally.counts, &tally.indices, repeated);
        let vectors = self.prepared.vectors_before.clone();
        let alone = self.prepared.before.clone().map(|docs| Before { docs, vectors });
        let alone = alone.map(|before| Together { loads: 1, before, share: share.clone() });
        let Some(mut member) = self.prepared.member.take() else {
            return self.judge(tally, before_each, alone, (unproven, resumed)).await;
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
            let verified = self.judge(tally, before_each, Ok(together), (unproven, resumed)).await;
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
        (unproven, resumed): (Option<&str>, bool),
    ) -> Verified {
        if let Some(why) = unproven {
            return count_check::not_provable(why.to_owned());
        }
        if let Some(name) = self.prepared.replaced(&self.transport).await {
            return Verified::new(VerifiedState::No, targets::replaced(&name));
        }
        let Together { loads, before, share } = match together {
            Ok(together) => together,
            Err(why) => {
                return count_check::not_provable(format!("the index could not be counted before the load: {why}"));
            }
        };
        let fixed = self.prepared.target.as_ref().map(|target| Fixed { target, before, share, loads });
        let (counts, indices, earlier) = (&tally.counts, &tally.indices, &self.prepared.earlier_indices);
        let signs = Signs { beginnings: &self.prepared.beginnings, alone: !resumed };
        let vectors = &self.prepared.vectors;
        let expectation = Expectation { fixed, earlier, before: before_each, counts, indices, signs, vectors };
        count_check::verify(&self.transport, &expectation, &|phase| self.observers.phase(phase)).await
    }
}
