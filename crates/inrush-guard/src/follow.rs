//! The settings guards of a load: one for the index that it writes to, and one for each index that
//! replaces it by a rollover. Every index has its own lease. All settings are restored at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use inrush_cluster::api::index;
use inrush_cluster::transport::Transport;
use inrush_core::settings_guard::LoadProfile;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::report::{SettingChange, SettingsReport, SettingsRestored};
use crate::{Plan, Running};

/// The indices to guard.
#[derive(Clone, Debug)]
pub struct Plans {
    /// The index that is written to now. `None` where the data stream does not exist yet.
    pub first: Option<Plan>,
    /// The data stream or alias whose later indices are guarded as well.
    pub next: Option<Next>,
}

/// The guard of indices that a rollover creates.
#[derive(Clone, Debug)]
pub struct Next {
    /// The data stream or alias.
    pub name: String,
    /// The load, as far as the choice of settings depends on it.
    pub job: LoadProfile,
    /// Folder of this machine's records.
    pub folder: Option<PathBuf>,
}

/// The guards of a running load.
pub struct Guards {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Vec<Running>>,
    /// Index whose refreshes were made rare. A refresh beside the last requests shortens the one
    /// after them.
    pub refresh_early: Option<String>,
    /// The first index, and the changes of its settings.
    pub changed: Option<(String, BTreeMap<String, SettingChange>)>,
}

impl Guards {
    /// Guards the first index. Returns when its settings are changed or cannot be changed.
    /// `written` reports the indices that get documents.
    pub async fn start(
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
        let refresh_early = running.first().and_then(Running::refresh_early);
        let changed = running.first().map(|first: &Running| (first.index.clone(), first.begun.changed.clone()));
        let (stop, stopped) = oneshot::channel();
        let follower = Follower { transport, holder: holder.to_owned(), known, running };
        let task = tokio::spawn(follower.follow(plans.next, written, stopped));
        Guards { stop, task, refresh_early, changed }
    }

    /// Restores the settings, unless other loads still need them.
    pub async fn release(self) -> SettingsReport {
        // A follower that has ended receives nothing.
        let _ = self.stop.send(());
        let running = match self.task.await {
            Ok(running) => running,
            Err(error) => {
                return SettingsReport::new(
                    SettingsRestored::No,
                    format!("the task of the settings guard panicked: {error}"),
                );
            }
        };
        let mut releases = JoinSet::new();
        for (at, one) in running.into_iter().enumerate() {
            releases.spawn(async move { (at, one.release().await) });
        }
        let mut reports = releases.join_all().await;
        reports.sort_by_key(|(at, _)| *at);
        merge(reports.into_iter().map(|(_, report)| report).collect())
    }
}

struct Follower {
    transport: Arc<Transport>,
    holder: String,
    /// UUIDs of the guarded indices.
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

    /// Guards the index that gets the documents now, unless it is guarded already.
    async fn guard_write_index(&mut self, next: &Next) {
        let target = match index::resolve(&self.transport, &next.name).await {
            Ok(target) => target,
            Err(error) => {
                tracing::warn!(
                    "the settings of the new index of {} are not changed, because it cannot be read: {error}",
                    next.name
                );
                return;
            }
        };
        let Some(write) = target.write_index().filter(|write| !self.known.contains(&write.uuid)) else { return };
        self.known.push(write.uuid.clone());
        tracing::info!("{} writes to {} now; the settings guard covers this index as well", next.name, write.name);
        let plan = Plan {
            index: write.name.clone(),
            uuid: write.uuid.clone(),
            job: next.job,
            folder: next.folder.clone(),
            graphs: None,
        };
        // Each guard has its own lock and record on this machine.
        let holder = format!("{}-{}", self.holder, self.known.len());
        self.running.push(Running::start(Arc::clone(&self.transport), plan, &holder).await);
    }
}

/// The report of all indices.
fn merge(reports: Vec<SettingsReport>) -> SettingsReport {
    let nothing = || SettingsReport::new(SettingsRestored::Unchanged, "the load wrote to no index".to_owned());
    reports.into_iter().reduce(SettingsReport::with).unwrap_or_else(nothing)
}
