//! The task of a running load, from its loop to its report.

use std::sync::Arc;

use inrush_core::{Code, Stop, Time};

use super::end::End;
use super::running::Others;
use crate::config::GuardConfig;
use crate::cutover::Finishing;
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
        let mut finished = run.run().await;
        if finished.flow.stopped().is_none() {
            let names = end.prepared.names(finished.flow.tally());
            finishing.force_merge(&names, &mut finished.events).await;
        }
        if let Some(guards) = guards {
            end.observers.phase(&Phase::PuttingBack);
            end.settings = end.grace.limit(guards.release()).await.unwrap_or_else(|why| not_confirmed(&why));
            end.observers.notify_now(LoadEvent::SettingsRestored(&end.settings));
        }
        (end.others, end.learned_elsewhere) = others.take();
        end.report(finished, finishing).await
    }
}

/// The cluster did not answer in time.
fn not_confirmed(why: &str) -> SettingsReport {
    let detail = format!(
        "the cluster did not confirm that the settings are restored: {why}; when it answers again, run: inrush recover"
    );
    SettingsReport::new(SettingsRestored::No, detail)
}
