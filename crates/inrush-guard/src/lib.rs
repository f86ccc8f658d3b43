//! The settings guard of a load: it changes settings of an index for the time of the load, and
//! restores them. A task executes the commands of [`inrush_core::settings_guard::Guard`] on the
//! cluster, and sends a heartbeat while the load runs. [`recover`] restores what crashed loads
//! left.
//!
//! Nothing here knows sources, documents or bulk requests.

mod follow;
mod recover;
mod report;
mod state;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use follow::{Guards, Next, Plans};
use inrush_cluster::clock::{self, Instant, MissedTickBehavior};
use inrush_cluster::transport::Transport;
use inrush_core::Time;
use inrush_core::settings_guard::{
    Changes, Command, Guard, GuardOutcome, HEARTBEAT, LoadProfile, Part, Phase, Reply, policy,
};
pub use recover::{RecoverOptions, Recovered, RecoveredState, recover};
pub use report::{SettingChange, SettingsReport, SettingsRestored};
use state::Record;
pub use state::{LocalState, default_folder, is_alive as holder_is_alive, remove as forget_holder};
pub use store::GUARD_INDEX;
use store::Store;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The guard's plan for one index.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The index.
    pub index: String,
    /// Its UUID.
    pub uuid: String,
    /// The load, as far as the choice of settings depends on it.
    pub job: LoadProfile,
    /// Folder of this machine's records.
    pub folder: Option<PathBuf>,
    /// The guard is that of the graphs of vectors, with the changes that the creation of the index
    /// has made. `None`: of the settings.
    pub graphs: Option<Changes>,
}

/// The guard of one index of a running load.
pub struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Driver>,
    /// The index.
    index: String,
    begun: Begun,
}

/// What a guard has done at the start.
#[derive(Default)]
struct Begun {
    /// The changes. None without a lease.
    changed: BTreeMap<String, SettingChange>,
    /// Why others were not made, as text.
    why_not: String,
}

struct Driver {
    guard: Guard,
    store: Store,
    state: Option<LocalState>,
    folder: Option<PathBuf>,
    started: Instant,
}

impl Running {
    /// Records and changes the settings. Returns when they are changed or cannot be changed.
    pub async fn start(transport: Arc<Transport>, plan: Plan, holder: &str) -> Running {
        let Plan { index, uuid, job, folder, graphs } = plan;
        let part = if graphs.is_some() { Part::Graphs } else { Part::Settings };
        let state = folder.as_ref().and_then(|folder| {
            LocalState::new(folder, holder)
                .inspect_err(|error| {
                    tracing::warn!(
                        "the original settings of {index} are recorded in the cluster only, because the state folder cannot be used: {}: {error}",
                        folder.display()
                    );
                })
                .ok()
        });
        let driver = Driver {
            guard: Guard::hold(holder.to_owned(), index.clone(), job).with_made(graphs.unwrap_or_default()),
            store: Store { transport, index: index.clone(), uuid, part },
            state,
            folder,
            started: clock::now(),
        };
        let (stop, stopped) = oneshot::channel();
        let (active, is_active) = oneshot::channel();
        let task = tokio::spawn(driver.run(active, stopped));
        // A task that panicked gives no answer.
        let begun = is_active.await.unwrap_or_default();
        Running { stop, task, index, begun }
    }

    /// Whether the index is changed for the load, by this guard or by another one.
    pub fn changes_something(&self) -> bool {
        !self.begun.changed.is_empty()
    }

    /// Why the index is not changed for the load, as text.
    pub fn why_not(&self) -> &str {
        if self.begun.why_not.is_empty() { "nothing of it had to be changed" } else { &self.begun.why_not }
    }

    /// The index, where its refreshes were made rare. A refresh beside the last requests shortens
    /// the one after them.
    fn refresh_early(&self) -> Option<String> {
        self.begun.changed.contains_key(policy::REFRESH).then(|| self.index.clone())
    }

    /// Restores the settings, unless other loads still need them.
    pub async fn release(self) -> SettingsReport {
        // A guard that has ended receives nothing.
        let _ = self.stop.send(());
        match self.task.await {
            Ok(driver) => driver.report(),
            Err(error) => {
                SettingsReport::new(SettingsRestored::No, format!("the task of the settings guard panicked: {error}"))
            }
        }
    }
}

impl Driver {
    async fn run(mut self, active: oneshot::Sender<Begun>, mut stopped: oneshot::Receiver<()>) -> Driver {
        let mut active = Some(active);
        let mut is_heartbeat = false;
        let mut heartbeat = clock::interval_at(clock::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.execute(is_heartbeat).await;
            let is_over = self.guard.outcome().is_some();
            if let Some(active) = active.take() {
                let changed = if is_over { BTreeMap::new() } else { self.changed() };
                // A load that was dropped receives nothing.
                let _ = active.send(Begun { changed, why_not: self.why_not() });
            }
            if is_over {
                break;
            }
            tokio::select! {
                biased;
                _ = &mut stopped => {
                    is_heartbeat = false;
                    self.guard.handle_stop();
                }
                _ = heartbeat.tick() => {
                    is_heartbeat = true;
                    self.guard.handle_heartbeat();
                }
            }
        }
        if let Some(problem) = self.guard.problem() {
            tracing::warn!("the settings of {} are not changed for the load: {problem}", self.store.index);
        }
        let left = matches!(self.guard.outcome(), Some(GuardOutcome::NotRestored { .. } | GuardOutcome::Unknown(_)));
        if let (false, Some(state)) = (left, self.state.take()) {
            state.remove();
        }
        self
    }

    /// Executes the guard's commands until it has none. A heartbeat is not worth a long wait: the
    /// next one is due soon.
    async fn execute(&mut self, is_heartbeat: bool) {
        let store = if is_heartbeat { self.store.brief() } else { self.store.clone() };
        while let Some(command) = self.guard.poll() {
            let reply = match self.write_down(&command) {
                Ok(()) => store.execute(&command).await,
                Err(error) => Reply::Refused(format!("cannot record the original settings: {error}")),
            };
            know_holders(&mut self.guard, &reply, self.folder.as_deref());
            self.guard.handle(Time::from_start(self.started.elapsed()), reply);
        }
    }

    /// Writes the changes to the local state before settings are changed for the load. A restore
    /// needs no record.
    fn write_down(&self, command: &Command) -> std::io::Result<()> {
        let (Command::Put { values, changes }, Some(state)) = (command, &self.state) else { return Ok(()) };
        let for_the_load = |(name, value): (&String, &Option<String>)| {
            changes.get(name).is_some_and(|change| Some(&change.applied) == value.as_ref())
        };
        if !values.iter().any(for_the_load) {
            return Ok(());
        }
        let (index, lease) = (self.store.index.clone(), self.store.lease_id());
        state.save(&Record { index, lease, changes: changes.clone() })
    }

    /// The changed settings.
    fn changed(&self) -> BTreeMap<String, SettingChange> {
        let change = |from: &Option<String>, to: &String| SettingChange { from: from.clone(), to: to.clone() };
        self.guard.changes().map(|(name, c)| (name.clone(), change(&c.original, &c.applied))).collect()
    }

    /// Why settings were not changed.
    fn why_not(&self) -> String {
        let refused = self.guard.refused().iter().map(|(name, why)| format!("{name} could not be changed: {why}"));
        let reasons: Vec<String> = self.guard.problem().map(str::to_owned).into_iter().chain(refused).collect();
        reasons.join("; ")
    }

    fn report(self) -> SettingsReport {
        let index = &self.store.index;
        let changed = self.changed();
        let (restored, mut detail) = match self.guard.outcome() {
            Some(GuardOutcome::Nothing | GuardOutcome::Restored { .. }) if self.guard.changes().next().is_none() => {
                (SettingsRestored::Unchanged, format!("the settings of {index} were not changed"))
            }
            Some(GuardOutcome::Nothing) => {
                (SettingsRestored::Yes, format!("another process restored the settings of {index}"))
            }
            Some(GuardOutcome::Restored { foreign }) if foreign.is_empty() => {
                (SettingsRestored::Yes, format!("{index} has its original settings"))
            }
            Some(GuardOutcome::Restored { foreign }) => (
                SettingsRestored::Yes,
                format!(
                    "{index} has its original settings, except {}, which another client has set since",
                    foreign.join(", ")
                ),
            ),
            Some(GuardOutcome::PassedOn { holders }) => (
                SettingsRestored::PassedOn,
                format!("{}; if none of them is running, run: inrush recover {index}", passed_on(index, *holders)),
            ),
            Some(GuardOutcome::NotRestored { refused }) => {
                let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
                let refused = refused.join("; ");
                (
                    SettingsRestored::No,
                    format!(
                        "these settings could not be restored: {refused}; fix the cause, then run: inrush recover {index}"
                    ),
                )
            }
            Some(GuardOutcome::Unknown(why)) => (
                SettingsRestored::No,
                format!(
                    "the cluster gave no answer, so the settings of {index} may not be restored: {why}; when it answers again, run: inrush recover {index}"
                ),
            ),
            None => (
                SettingsRestored::No,
                format!("the settings guard of {index} did not end; run: inrush recover {index}"),
            ),
        };
        if let Some(problem) = self.guard.problem() {
            detail = format!("{detail}; {problem}");
        }
        for (name, why) in self.guard.refused() {
            detail.push_str(&format!("; {name} could not be changed: {why}"));
        }
        SettingsReport { restored, changed, detail }
    }
}

/// Tells the guard which holders of a lease are alive, where this machine can tell.
fn know_holders(guard: &mut Guard, reply: &Reply, folder: Option<&Path>) {
    let (Reply::Lease(Some((lease, _))), Some(folder)) = (reply, folder) else { return };
    let restorer = match &lease.phase {
        Phase::Restoring { by } => Some(by),
        Phase::Held => None,
    };
    for holder in lease.holders.keys().chain(restorer) {
        if let Some(alive) = state::is_alive(folder, holder) {
            guard.know_holder(holder, alive);
        }
    }
}

fn passed_on(index: &str, holders: usize) -> String {
    match holders {
        0 => format!("another process is restoring the settings of {index}"),
        1 => format!("another load still needs the settings of {index}, and restores them at its end"),
        n => format!("{n} other loads still need the settings of {index}, and the last of them restores them"),
    }
}
