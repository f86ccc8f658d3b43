//! The task of a running load, from its loop to its report.

use std::sync::Arc;

use inrush_core::{Code, Stop, Time};

use super::end::End;
use super::graphs;
use super::running::Others;
use crate::config::GuardConfig;
use crate::cutover::{Finishing, WithoutGraphs};
use crate::observe::LoadEvent;
use crate::progress::Phase;
use crate::report::{Report, SettingsReport, SettingsRestored};
use crate::run::Run;

/// The task of a running load.
pub(super) struct LoadTask {
    pub(super) run: Run,
    pub(super) finishing: Finishing,
    pub(super) guard: GuardConfig,
    /// Counts of other loads of the same job.
    pub(super) others: Others,
    pub(super) end: End,
}

impl LoadTask {
    /// Changes the settings of the index, runs the loop and the steps after it, and restores the
    /// settings.
    pub(super) async fn run(self) -> Report {
        let LoadTask { mut run, mut finishing, guard, others, mut end } = self;
        let blocked = match end.grace.limit_after_stop(finishing.block_old(&guard, &end.run_id)).await {
            Err(_) => Err(Stop::Interrupted),
            Ok(blocked) => blocked.map_err(|why| Stop::failed(Code::StepFailed, why)),
        };
        if let Err(stop) = blocked {
            run.flow.handle_stop(Time::from_start(end.started.elapsed()), stop);
        }
        let guards = match &end.prepared.guard {
            Some(plans) => {
                tracing::info!("the settings of the index are changed for the load and restored after it");
                let (transport, written) = (Arc::clone(&end.transport), run.targets.subscribe());
                let starting = inrush_guard::Guards::start(transport, plans.clone(), &end.run_id, written);
                // A guard that is dropped restores what it has changed.
                let started = end.grace.limit_after_stop(starting).await;
                started.inspect_err(|why| end.settings = not_confirmed(why)).ok()
            }
            None => None,
        };
        if let Some((index, changed)) = guards.as_ref().and_then(|guards| guards.changed.as_ref()) {
            end.observers.notify_now(LoadEvent::SettingsChanged { index, changed });
        }
        run.refresh_early = guards.as_ref().and_then(|guards| guards.refresh_early.clone());
        let graphs = Graphs::start(&mut end, finishing.graphs_wait()).await;
        let mut finished = run.run().await;
        let ends = finished.flow.stopped().is_none();
        let resumed = finished.checkpointer.as_ref().is_some_and(|c| c.is_resumed());
        let built = graphs.end(&mut end, ends, resumed).await;
        if ends {
            let names = end.prepared.names(finished.flow.tally());
            finishing.force_merge(&names, built.as_ref(), &mut finished.events).await;
        }
        if let Some(guards) = guards {
            end.observers.phase(&Phase::PuttingBack);
            let settings = end.grace.limit(guards.release()).await.unwrap_or_else(|why| not_confirmed(&why));
            end.settings = end.joined(settings);
            end.observers.notify_now(LoadEvent::SettingsRestored(&end.settings));
        }
        (end.others, end.learned_elsewhere) = others.take();
        end.report(finished, finishing).await
    }
}

/// Graphs of vectors that wait for the end of the load.
struct Graphs {
    guard: Option<inrush_guard::Running>,
    index: Option<String>,
    /// The load goes on with one that was interrupted, whose segments have no graph yet.
    goes_on: bool,
    /// The load has option `graph=end`. Without it, an earlier load has left the index so.
    is_asked: bool,
}

impl Graphs {
    async fn start(end: &mut End, is_asked: bool) -> Graphs {
        let goes_on = end.prepared.has_segments_without_graphs;
        let Some(plan) = end.prepared.graphs.take() else {
            let index = end.prepared.uuids.keys().next().cloned();
            return Graphs { guard: None, index: index.filter(|_| goes_on), goes_on, is_asked };
        };
        let index = plan.index.clone();
        tracing::info!("the graphs of vectors of {} are built after the load", plan.index);
        let holder = format!("{}-graphs", end.run_id);
        let starting = inrush_guard::Running::start(Arc::clone(&end.transport), plan, &holder);
        // A guard that is dropped restores what it has changed.
        let started = end.grace.limit_after_stop(starting).await;
        let guard = started.inspect_err(|why| end.settings = not_confirmed(why)).ok();
        // Where the cluster has refused it, graphs are built while loading, and nothing is merged.
        let waits = guard.as_ref().is_some_and(inrush_guard::Running::changes_something);
        if let (Some(guard), true) = (&guard, is_asked && !waits) {
            graphs::warn_that_they_are_built(&mut end.prepared, &index, guard.why_not());
        }
        Graphs { guard, index: waits.then_some(index), goes_on, is_asked }
    }

    /// Lets the servers build graphs again. Returns the segments to merge for them, if that is for
    /// this load to do: `ends` tells that it has loaded all documents, and `resumed` that an
    /// earlier run has loaded some of them.
    async fn end(self, end: &mut End, ends: bool, resumed: bool) -> Option<WithoutGraphs> {
        let without = match &self.index {
            Some(index) if ends => Some(WithoutGraphs::of(&end.transport.brief(), index, resumed).await),
            _ => None,
        };
        let Some(guard) = self.guard else { return without.filter(|_| self.goes_on) };
        end.observers.phase(&Phase::PuttingBack);
        let report = end.grace.limit(guard.release()).await.unwrap_or_else(|why| not_confirmed(&why));
        let is_back = report.restored == SettingsRestored::Yes;
        end.settings = end.joined(report);
        let without = without.filter(|_| is_back);
        if let (Some(index), Some(_), false) = (&self.index, &without, self.is_asked) {
            let warning = format!(
                "an earlier load with option `graph=end` has left {index} without graphs; vectors that were loaded until now get one when their segments are merged: POST /{index}/_forcemerge?max_num_segments=1"
            );
            tracing::warn!("{warning}");
            end.prepared.preflight.warnings.push(warning);
            return None;
        }
        without
    }
}

/// The cluster did not answer in time.
fn not_confirmed(why: &str) -> SettingsReport {
    let detail = format!(
        "the cluster did not confirm that the settings are restored: {why}; when it answers again, run: inrush recover"
    );
    SettingsReport::new(SettingsRestored::No, detail)
}
