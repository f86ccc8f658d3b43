//! The guards of a load: one for the index that it writes to, and one for each that takes its place by a rollover. Every index
//! has a lease of its own, and all of them are put back at the end.

use std::path::PathBuf;
use std::sync::Arc;

use inrush_cluster::api::index;
use inrush_cluster::transport::Transport;
use inrush_core::settings_guard::LoadProfile;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::{Plan, Running};
use crate::report::{SettingsReport, SettingsRestored};

/// What is to be guarded.
#[derive(Clone, Debug)]
pub(crate) struct Plans {
    /// The index that is written to now; none where the data stream is yet to be made.
    pub(crate) first: Option<Plan>,
    /// The data stream or alias whose later indices are guarded, too, and how.
    pub(crate) next: Option<Next>,
}

/// How the indices that come after a rollover are guarded.
#[derive(Clone, Debug)]
pub(crate) struct Next {
    pub(crate) name: String,
    pub(crate) job: LoadProfile,
    pub(crate) folder: Option<PathBuf>,
}

/// The guards of a load that runs.
pub(crate) struct Guards {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Vec<Running>>,
    /// Refreshes were made rare: one beside the last requests saves a long one after them.
    pub(crate) refresh_early: Option<String>,
}

impl Guards {
    /// Guards the first index, and returns when that is done or cannot be done. `written`: the indices that take documents.
    pub(crate) async fn start(
        transport: Arc<Transport>,
        plans: Plans,
        holder: &str,
        written: watch::Receiver<Vec<String>>,
    ) -> Guards {
        let mut running = Vec::new();
        let mut known = Vec::new();
        if let Some(plan) = plans.first {
            known.push(plan.uuid.clone());
            running.push(Running::start(Arc::clone(&transport), plan, holder).await);
        }
        let refresh_early = running.first().and_then(|first: &Running| first.refresh_early.clone());
        let (stop, stopped) = oneshot::channel();
        let follower = Follower { transport, holder: holder.to_owned(), known, running };
        let task = tokio::spawn(follower.follow(plans.next, written, stopped));
        Guards { stop, task, refresh_early }
    }

    /// Puts the settings back, unless other loads still need them.
    pub(crate) async fn release(self) -> SettingsReport {
        // A follower that has ended does not listen any more.
        let _ = self.stop.send(());
        let running = match self.task.await {
            Ok(running) => running,
            Err(error) => {
                return SettingsReport::new(SettingsRestored::No, format!("the settings guard stopped: {error}"));
            }
        };
        let mut releases = JoinSet::new();
        for (at, one) in running.into_iter().enumerate() {
            releases.spawn(async move { (at, one.release().await) });
        }
        let mut reports = releases.join_all().await;
        reports.sort_by_key(|(at, _)| *at);
        together(reports.into_iter().map(|(_, report)| report).collect())
    }
}

struct Follower {
    transport: Arc<Transport>,
    holder: String,
    /// UUIDs of the indices that are guarded.
    known: Vec<String>,
    running: Vec<Running>,
}

impl Follower {
    async fn follow(
        mut self,
        next: Option<Next>,
        mut written: watch::Receiver<Vec<String>>,
        mut stopped: oneshot::Receiver<()>,
    ) -> Vec<Running> {
        let Some(next) = next else { return self.running };
        loop {
            tokio::select! {
                biased;
                _ = &mut stopped => return self.running,
                changed = written.changed() => {
                    if changed.is_err() {
                        return self.running;
                    }
                    self.guard_write_index(&next).await;
                }
            }
        }
    }

    /// Guards what takes documents now, unless that is done.
    async fn guard_write_index(&mut self, next: &Next) {
        let target = match index::resolve(&self.transport, &next.name).await {
            Ok(target) => target,
            Err(error) => {
                tracing::warn!("the settings of the new index of {} are left as they are: {error}", next.name);
                return;
            }
        };
        let Some(write) = target.write_index().filter(|write| !self.known.contains(&write.uuid)) else { return };
        self.known.push(write.uuid.clone());
        tracing::info!("{} writes to {} now, whose settings are looked after, too", next.name, write.name);
        let plan =
            Plan { index: write.name.clone(), uuid: write.uuid.clone(), job: next.job, folder: next.folder.clone() };
        // Each guard has a lock and a record of its own on this machine.
        let holder = format!("{}-{}", self.holder, self.known.len());
        self.running.push(Running::start(Arc::clone(&self.transport), plan, &holder).await);
    }
}

/// The worst of them counts. Of settings that several indices had changed, the first one's values are told.
fn together(reports: Vec<SettingsReport>) -> SettingsReport {
    let weight = |restored: SettingsRestored| match restored {
        SettingsRestored::No => 3,
        SettingsRestored::PassedOn => 2,
        SettingsRestored::Yes => 1,
        SettingsRestored::Unchanged => 0,
    };
    let join = |mut all: SettingsReport, one: SettingsReport| {
        if weight(one.restored) > weight(all.restored) {
            all.restored = one.restored;
        }
        for (name, change) in one.changed {
            all.changed.entry(name).or_insert(change);
        }
        all.detail = format!("{}; {}", all.detail, one.detail);
        all
    };
    let nothing = || SettingsReport::new(SettingsRestored::Unchanged, "no index was written to".to_owned());
    reports.into_iter().reduce(join).unwrap_or_else(nothing)
}
