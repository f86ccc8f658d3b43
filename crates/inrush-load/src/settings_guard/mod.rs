//! The settings guard of a load: the task that asks the cluster what [`inrush_core::settings_guard::Guard`] decides, and shows a sign
//! of life while the load runs.

mod follow;
mod plan;
mod recover;
mod state;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use follow::{Guards, Next, Plans};
use inrush_cluster::transport::Transport;
use inrush_core::Time;
use inrush_core::settings_guard::{Command, Guard, HEARTBEAT, Outcome, Phase, Reply, policy};
pub(crate) use plan::{Coming, Earlier, Plan, plan, plan_write_block};
pub use recover::{RecoverOptions, Recovered, RecoveredState, recover};
use state::Record;
pub(crate) use state::{LocalState, default_folder, lives as holder_lives, remove as forget_holder};
pub use store::GUARD_INDEX;
use store::Store;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::report::{SettingChange, SettingsReport, SettingsRestored};

/// How long a cluster that cannot answer now is asked again, at the beginning and for a heartbeat.
const PATIENCE: Duration = Duration::from_secs(10);

/// As [`PATIENCE`], for putting back.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(60);

/// The guard of one index of a load that runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Driver>,
    /// Refreshes were made rare: one beside the last requests saves a long one after them.
    refresh_early: Option<String>,
}

struct Driver {
    guard: Guard,
    store: Store,
    state: Option<LocalState>,
    folder: Option<PathBuf>,
    started: Instant,
    patience: Duration,
}

impl Running {
    /// Writes down and changes the settings, and returns when that is done or cannot be done.
    pub(crate) async fn start(transport: Arc<Transport>, plan: Plan, holder: &str) -> Running {
        let Plan { index, uuid, job, folder } = plan;
        let state = folder.as_ref().and_then(|folder| {
            LocalState::new(folder, holder)
                .inspect_err(|error| {
                    tracing::warn!(
                        "the settings of {index} are written down in the cluster only: {}: {error}",
                        folder.display()
                    );
                })
                .ok()
        });
        let driver = Driver {
            guard: Guard::hold(holder.to_owned(), index.clone(), job),
            store: Store { transport, index: index.clone(), uuid },
            state,
            folder,
            started: Instant::now(),
            patience: PATIENCE,
        };
        let (stop, stopped) = oneshot::channel();
        let (active, is_active) = oneshot::channel();
        let task = tokio::spawn(driver.run(active, stopped));
        // Whether refreshes were made rare; nothing is said where the lease cannot be held.
        let refresh_early = is_active.await.unwrap_or(false).then_some(index);
        Running { stop, task, refresh_early }
    }

    /// Puts the settings back, unless other loads still need them.
    pub(crate) async fn release(self) -> SettingsReport {
        // A guard that has ended does not listen any more.
        let _ = self.stop.send(());
        match self.task.await {
            Ok(driver) => driver.report(),
            Err(error) => SettingsReport::new(SettingsRestored::No, format!("the settings guard stopped: {error}")),
        }
    }
}

impl Driver {
    async fn run(mut self, active: oneshot::Sender<bool>, mut stopped: oneshot::Receiver<()>) -> Driver {
        let mut active = Some(active);
        let mut heartbeat = tokio::time::interval_at(tokio::time::Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.obey().await;
            if self.guard.outcome().is_some() {
                break;
            }
            if let Some(active) = active.take() {
                // Nobody waits any more if the load was dropped.
                let _ = active.send(self.guard.changes().any(|(name, _)| name == policy::REFRESH));
            }
            tokio::select! {
                biased;
                _ = &mut stopped => {
                    self.patience = PATIENCE_AT_THE_END;
                    self.guard.handle_stop();
                }
                _ = heartbeat.tick() => self.guard.handle_heartbeat(),
            }
        }
        if let Some(problem) = self.guard.problem() {
            tracing::warn!("the settings of {} are left as they are during the load: {problem}", self.store.index);
        }
        let left = matches!(self.guard.outcome(), Some(Outcome::NotRestored { .. } | Outcome::Unknown(_)));
        if let (false, Some(state)) = (left, self.state.take()) {
            state.remove();
        }
        self
    }

    /// Does what the guard says until it has nothing to say.
    async fn obey(&mut self) {
        while let Some(command) = self.guard.poll() {
            let reply = match self.write_down(&command) {
                Ok(()) => self.store.obey(&command, self.patience).await,
                Err(error) => Reply::Refused(format!("what is to be changed cannot be written down: {error}")),
            };
            know_holders(&mut self.guard, &reply, self.folder.as_deref());
            self.guard.handle(Time::from_start(self.started.elapsed()), reply);
        }
    }

    /// Before settings are changed for the load they are in the local state, too. Nothing keeps them from being put back.
    fn write_down(&self, command: &Command) -> std::io::Result<()> {
        let (Command::Put { values, changes }, Some(state)) = (command, &self.state) else { return Ok(()) };
        let for_the_load = |(name, value): (&String, &Option<String>)| {
            changes.get(name).is_some_and(|change| Some(&change.applied) == value.as_ref())
        };
        if !values.iter().any(for_the_load) {
            return Ok(());
        }
        let (index, uuid) = (self.store.index.clone(), self.store.uuid.clone());
        state.save(&Record { index, uuid, changes: changes.clone() })
    }

    fn report(self) -> SettingsReport {
        let index = &self.store.index;
        let change = |from: &Option<String>, to: &String| SettingChange { from: from.clone(), to: to.clone() };
        let changed = self.guard.changes().map(|(name, c)| (name.clone(), change(&c.original, &c.applied))).collect();
        let (restored, mut detail) = match self.guard.outcome() {
            Some(Outcome::Nothing | Outcome::Restored { .. }) if self.guard.changes().next().is_none() => {
                (SettingsRestored::Unchanged, format!("the settings of {index} were not changed"))
            }
            Some(Outcome::Nothing) => {
                (SettingsRestored::Yes, format!("somebody else has put back the settings of {index}"))
            }
            Some(Outcome::Restored { foreign }) if foreign.is_empty() => {
                (SettingsRestored::Yes, format!("{index} has the settings that it had"))
            }
            Some(Outcome::Restored { foreign }) => (
                SettingsRestored::Yes,
                format!(
                    "{index} has the settings that it had; somebody else has set {}, which was left",
                    foreign.join(", ")
                ),
            ),
            Some(Outcome::PassedOn { holders }) => (
                SettingsRestored::PassedOn,
                format!("{}; if none of them runs any more: inrush recover {index}", passed_on(index, *holders)),
            ),
            Some(Outcome::NotRestored { refused }) => {
                let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
                let refused = refused.join("; ");
                (SettingsRestored::No, format!("not put back: {refused}; mend the cause, then: inrush recover {index}"))
            }
            Some(Outcome::Unknown(why)) => (
                SettingsRestored::No,
                format!(
                    "the cluster gave no answer, so the settings of {index} may be changed: {why}; then: inrush recover {index}"
                ),
            ),
            None => (SettingsRestored::No, format!("the guard did not end; inrush recover {index}")),
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

/// Tells the guard who of those that a lease names lives, where this machine can tell.
fn know_holders(guard: &mut Guard, reply: &Reply, folder: Option<&Path>) {
    let (Reply::Lease(Some((lease, _))), Some(folder)) = (reply, folder) else { return };
    let restorer = match &lease.phase {
        Phase::Restoring { by } => Some(by),
        Phase::Held => None,
    };
    for holder in lease.holders.keys().chain(restorer) {
        if let Some(alive) = state::lives(folder, holder) {
            guard.know_holder(holder, alive);
        }
    }
}

fn passed_on(index: &str, holders: usize) -> String {
    match holders {
        0 => format!("another process is putting back the settings of {index}"),
        1 => format!("another load holds the settings of {index}, and puts them back at its end"),
        n => format!("{n} other loads hold the settings of {index}, and the last one puts them back"),
    }
}
