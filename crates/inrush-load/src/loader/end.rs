//! What follows the last document: the check and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::stats::{self, IndexStats};
use inrush_cluster::transport::Transport;
use inrush_core::Stop;
use inrush_core::encode::Dropped;
use inrush_core::report::{Counts, IndexCounts, Tally};
use inrush_sources::Warnings;

use super::group::{Left, Together};
use super::prepare::Prepared;
use crate::count_check::{self, Expectation, Fixed, Share};
use crate::cutover::{Finishing, GoOn};
use crate::observe::{LoadingTime, Observers};
use crate::progress::Phase;
use crate::report::{
    IndexSizes, PlanReport, Report, SettingsReport, SettingsRestored, SourceReport, Status, ThisRun, Verified,
    VerifiedState,
};
use crate::run::Finished;
use crate::targets;
use crate::tolerance::{Tolerance, ToleranceReport};

/// How long the sizes of the indices are waited for.
const SIZES_MAX: Duration = Duration::from_secs(10);

/// What is said of a load that had nothing to load.
pub const NOTHING_READ: &str =
    "no document was read: the source is empty; option `allow_empty` says that this is meant";

/// That documents are not in, in words, unless so many are tolerated.
pub fn not_in(counts: &Counts, tolerance: Option<&ToleranceReport>) -> Option<String> {
    let docs = counts.docs_not_in();
    if docs == 0 || tolerance.is_some_and(|tolerance| tolerance.holds) {
        return None;
    }
    let documents = if docs == 1 { "1 document is".to_owned() } else { format!("{docs} documents are") };
    Some(format!("{documents} not in{}", tolerance.map(ToleranceReport::problem).unwrap_or_default()))
}

/// What is needed after the loop.
pub(super) struct End {
    pub(super) transport: Arc<Transport>,
    pub(super) prepared: Prepared,
    pub(super) names: Vec<String>,
    pub(super) run_id: String,
    pub(super) warnings: Option<Warnings>,
    pub(super) started: Instant,
    pub(super) verify: bool,
    pub(super) tolerate: Option<Tolerance>,
    /// That nothing was read is as it should be.
    pub(super) allow_empty: bool,
    /// The source ends only when it is told to.
    pub(super) is_endless: bool,
    /// The load is to be made once.
    pub(super) once: bool,
    /// How long an interrupted load may take to verify.
    pub(super) drain_max: Duration,
    pub(super) observers: Observers,
    /// The loading time.
    pub(super) loading: LoadingTime,
    pub(super) settings: SettingsReport,
    /// What other loads of the same job did.
    pub(super) others: Tally,
    /// Fields that were left out.
    pub(super) dropped: Dropped,
}

impl End {
    pub(super) async fn report(mut self, finished: Finished, mut finishing: Finishing) -> Report {
        let Finished {
            mut flow,
            dead_letters,
            counts_before,
            checkpointer,
            checkpoint_failure,
            source_changed,
            pauses,
            source_not_told,
            sizes_before,
            mut events,
        } = finished;
        let mut failure = None;
        let mut status = match flow.stopped() {
            None => Status::Complete,
            Some(Stop::Interrupted) => Status::Interrupted,
            Some(Stop::Failed(why)) => {
                // Of documents that were under way then, more may be dead letters now.
                failure = Some(if flow.stopped_by_errors() { flow.max_errors_message() } else { why.clone() });
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
        let unproven = if finishing.was_swapped() {
            Some("an earlier run has moved the alias, so that others may have written since")
        } else if resumed && !settled {
            Some("documents that an earlier run may have sent were not sent again yet")
        } else {
            None
        };
        let verified = if self.verify {
            self.observers.phase(&Phase::Verifying);
            let drain_max = self.drain_max;
            let verification = self.verify(&tally, &counts_before, resumed, unproven);
            if status == Status::Interrupted {
                // Whoever has stopped it waits for its end.
                let why = "the cluster did not count within the time for an interrupted load";
                let in_time = tokio::time::timeout(drain_max, verification).await;
                in_time.unwrap_or_else(|_| count_check::not_provable(why.to_owned()))
            } else {
                verification.await
            }
        } else {
            count_check::off()
        };
        let sizes = self.sizes(sizes_before, &tally.indices).await;
        let tolerance = self.tolerate.map(|tolerance| tolerance.judge(&tally.counts));
        let not_in = not_in(&tally.counts, tolerance.as_ref());
        if status == Status::Complete {
            status = if not_in.is_some() {
                Status::Incomplete
            } else if verified.state == VerifiedState::No || self.settings.restored == SettingsRestored::No {
                Status::CheckFailed
            } else {
                Status::Complete
            };
        }
        let mut why_not = match status {
            Status::Complete => String::new(),
            Status::CheckFailed if verified.state == VerifiedState::No => verified.detail.clone(),
            Status::CheckFailed => self.settings.detail.clone(),
            Status::Incomplete => not_in.unwrap_or_default(),
            Status::Failed | Status::Interrupted => "the load did not come to its end".to_owned(),
        };
        if status == Status::Complete && self.settings.restored == SettingsRestored::PassedOn && finishing.swaps() {
            (status, why_not) = (Status::CheckFailed, self.settings.detail.clone());
        }
        let status = finishing.run(&names, status, why_not, &mut events).await;
        // What failed at its end is judged anew, as with another --max-errors.
        let failed = !settled || status == Status::Failed;
        let unfinished = checkpointer.is_some() && (failed || finishing.is_resumable(status));
        let resumable = unfinished && !source_changed;
        let seconds = self.started.elapsed().as_secs_f64();
        let this_run = flow.counts_of_this_run();
        let seconds_before = checkpointer.as_ref().map_or(0.0, |c| c.seconds_before());
        let checkpoint = checkpointer.as_ref().filter(|_| resumable).map(|checkpointer| checkpointer.path());
        let loading = self.loading();
        let mut warnings = self.prepared.preflight.warnings;
        warnings.extend(checkpoint_failure.filter(|_| failed));
        warnings.extend(source_not_told);
        if settled && tally.counts.docs_read == 0 && !self.allow_empty {
            warnings.push(NOTHING_READ.to_owned());
        }
        warnings.extend(self.warnings.iter().flat_map(Warnings::list).map(|w| w.to_string()));
        // An earlier run may have met them.
        if settled && !resumed && tally.counts.docs_read > 0 {
            warnings.extend(self.dropped.warnings());
        }
        let plan = flow.steady_plan();
        let mut settled: BTreeMap<u32, u64> = BTreeMap::new();
        for ((source, _), watermark) in flow.watermarks() {
            *settled.entry(source.0).or_default() += watermark.docs;
        }
        let sources = self.names.into_iter().enumerate().map(|(at, name)| {
            let docs_settled = settled.get(&(at as u32)).copied().unwrap_or(0);
            SourceReport { name, docs_settled }
        });
        warnings.extend(finishing.warnings());
        let go_on = resumable.then_some(GoOn { once: self.once });
        let (finish, swap) = finishing.reports(status, go_on);
        let report = Report {
            status,
            ended_before: None,
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
                encoding: flow.steady_body_format().encoding,
                compression: flow.steady_body_format().compression.to_string(),
                wire_why: flow.body_format_why(),
            },
            verified,
            tolerance,
            settings: self.settings,
            sizes,
            pauses,
            source_idle_seconds: self.loading.idle().as_secs_f64(),
            finish,
            swap,
            errors: tally.errors(),
            indices: tally.indices,
            counts: tally.counts,
            dead_letters,
            warnings,
            sources: sources.collect(),
            run_id: self.run_id,
        };
        if let (Some(checkpointer), false) = (checkpointer, unfinished) {
            checkpointer.end(&report).await;
        }
        self.observers.ended(&report);
        self.observers.phase(&Phase::Done);
        report
    }

    /// The time that rates are computed with.
    fn loading(&self) -> Duration {
        // Other loads of the job read all documents: from the start of this one.
        let loading = match (self.loading.first(), self.loading.drained()) {
            (None, Some(drained)) if self.others.counts.docs_read > 0 => drained,
            _ => self.loading.loading(),
        };
        let left_out = if self.is_endless { self.loading.idle() } else { Duration::ZERO };
        loading.saturating_sub(left_out).max(Duration::from_millis(1))
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

    /// Counts, and judges the count; where other loads write to the index, the last one of them
    /// does so for all.
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
            let together = match member.leave(&share).await {
                Left::Over(verified) => return verified,
                Left::Last(together) => together,
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
        count_check::verify(&self.transport, &Expectation { fixed, earlier, before: before_each, counts, indices })
            .await
    }
}
