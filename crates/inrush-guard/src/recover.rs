//! Recovery: restores settings that crashed loads changed. It runs on any machine, and beside any
//! load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::ClusterError;
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::Time;
use inrush_core::retry::RetryPolicy;
use inrush_core::settings_guard::{
    Change, Changes, Command, DEAD_AFTER, Guard, GuardOutcome, Lease, Part, Phase, Reply,
};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::report::SettingChange;
use crate::store::{self, Store};
use crate::{know_holders, passed_on, state};

/// Time for which a request is sent again while the cluster cannot answer.
const RETRY_FOR: Duration = Duration::from_secs(60);

/// The longest pause before a request is sent again.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Options of a recovery.
#[derive(Clone, Debug)]
pub struct RecoverOptions {
    /// Indices to recover. Default: all that crashed loads changed.
    pub indices: Vec<String>,
    /// Longest wait for the heartbeat of a load before it counts as dead. Default: 60 s. With zero,
    /// every load counts as dead that this machine does not know to be alive. The settings of a
    /// load that is alive after all are then restored while it runs, and changed again by its next
    /// heartbeat.
    pub watch: Duration,
    /// Folder of the records of loads on this machine. Default: `inrush` in the XDG state folder.
    pub state: Option<PathBuf>,
}

impl Default for RecoverOptions {
    fn default() -> Self {
        RecoverOptions { indices: Vec::new(), watch: DEAD_AFTER, state: None }
    }
}

/// The result of the recovery of one index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// The index.
    pub index: String,
    /// UUID of the index.
    pub uuid: String,
    /// The result.
    pub state: RecoveredState,
    /// The changes that a load recorded.
    pub changed: BTreeMap<String, SettingChange>,
    /// The result, as text.
    pub detail: String,
}

/// The result of the recovery of one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveredState {
    /// The settings are restored.
    Restored,
    /// A running load needs them, or another process is restoring them. They were not changed.
    InUse,
    /// Some could not be restored. Their record is kept.
    NotRestored,
}

/// Finds the settings that crashed loads changed, and restores them. Settings of running loads are
/// not changed. `watching` is called once, with the names of the indices for which it waits for a
/// heartbeat.
///
/// # Errors
/// The changed settings cannot be found.
pub async fn recover(
    transport: Arc<Transport>,
    options: &RecoverOptions,
    mut watching: impl FnMut(&[&str]),
) -> Result<Vec<Recovered>, ClusterError> {
    let limits = RetryPolicy { retry_for: RETRY_FOR, longest_wait: LONGEST_WAIT, ..RetryPolicy::default() };
    let transport = Arc::new(transport.patient(limits));
    let folder = options.state.clone().or_else(state::default_folder);
    let chosen = |index: &str| options.indices.is_empty() || options.indices.iter().any(|one| one == index);
    let mut left: BTreeMap<String, Left> = BTreeMap::new();
    for (uuid, lease) in store::leases(&transport).await? {
        if chosen(&lease.index) {
            left.insert(uuid, Left::leased(lease));
        }
    }
    for (holder, record) in folder.iter().flat_map(|folder| state::left_behind(folder)) {
        if chosen(&record.index) {
            let one = left.entry(record.lease).or_insert_with(|| Left::unleased(record.index));
            one.known.extend(record.changes);
            one.records.push(holder);
        }
    }
    for created in store::without_graphs(&transport, &options.indices).await? {
        let id = Part::Graphs.lease_id(&created.uuid);
        left.entry(id).or_insert_with(|| Left::unleased(created.index)).made = created.made;
    }
    let unsure: Vec<&str> = left
        .values()
        .filter(|left| {
            !options.watch.is_zero() && left.lease.as_ref().is_some_and(|lease| is_unsure(lease, folder.as_deref()))
        })
        .map(|left| left.index.as_str())
        .collect();
    if !unsure.is_empty() {
        watching(&unsure);
    }
    let run_id = inrush_cluster::run_id::run_id();
    let mut tasks = JoinSet::new();
    for (number, (id, left)) in left.into_iter().enumerate() {
        let (uuid, part) = Part::of(&id);
        let store = Store { transport: Arc::clone(&transport), index: left.index.clone(), uuid: uuid.to_owned(), part };
        let me = format!("{run_id}-{number}");
        if left.lease.is_none() && left.made.is_empty() && options.indices.is_empty() {
            tasks.spawn(doubtful(store, left, folder.clone()));
        } else {
            tasks.spawn(one(me, store, left, options.watch, folder.clone()));
        }
    }
    let mut done: Vec<Recovered> = tasks.join_all().await.into_iter().flatten().collect();
    done.sort_by(|a, b| a.index.cmp(&b.index));
    Ok(done)
}

/// The changed settings of one index.
struct Left {
    index: String,
    lease: Option<Lease>,
    known: Changes,
    /// Changes that the creation of the index has made.
    made: Changes,
    /// Loads of this machine. Their records are removed after the restore.
    records: Vec<String>,
}

impl Left {
    fn leased(lease: Lease) -> Self {
        Left { lease: Some(lease.clone()), ..Left::unleased(lease.index) }
    }

    fn unleased(index: String) -> Self {
        Left { index, lease: None, known: Changes::new(), made: Changes::new(), records: Vec::new() }
    }
}

/// Whether only a heartbeat can tell that a holder is alive.
fn is_unsure(lease: &Lease, folder: Option<&Path>) -> bool {
    let lives = |holder: &String| folder.and_then(|folder| state::is_alive(folder, holder));
    match &lease.phase {
        Phase::Restoring { by } => lives(by).is_none(),
        Phase::Held => {
            let known: Vec<Option<bool>> = lease.holders.keys().map(lives).collect();
            !known.contains(&Some(true)) && known.contains(&None)
        }
    }
}

/// Handles a record of this machine without a lease in the cluster. Most often another machine
/// restored the settings, and equal values that were set later are intended. So the settings are
/// restored only where the user names the index.
async fn doubtful(store: Store, left: Left, folder: Option<PathBuf>) -> Option<Recovered> {
    let Left { index, known, records, .. } = left;
    let settings = match store.execute(&Command::ReadSettings).await {
        Reply::Settings(settings) => settings,
        // The index belongs to another cluster, or was deleted. Or the cluster does not answer, and
        // the record is kept.
        _ => return None,
    };
    let applied = |name: &String, change: &Change| settings.set.get(name) == Some(&change.applied);
    let changed: BTreeMap<_, _> = known.into_iter().filter(|(name, change)| applied(name, change)).map(shown).collect();
    if changed.is_empty() {
        for holder in records {
            state::remove(folder.as_deref()?, &holder);
        }
        return None;
    }
    let detail = format!(
        "a record on this machine says that a crashed load set these values, and the cluster has no lease for them any more; if they are not intended, run: inrush recover {index}"
    );
    Some(Recovered { index, uuid: store.uuid, state: RecoveredState::NotRestored, changed, detail })
}

fn shown((name, change): (String, Change)) -> (String, SettingChange) {
    (name, SettingChange { from: change.original, to: change.applied })
}

/// Recovers one index. `None` where there is nothing to report: the index belongs to another
/// cluster, or its settings are the original ones.
async fn one(me: String, store: Store, left: Left, watch: Duration, folder: Option<PathBuf>) -> Option<Recovered> {
    let Left { index, lease, known, made, records } = left;
    let mut changes = lease.as_ref().map_or_else(|| known.clone(), |lease| lease.changes.clone());
    changes.extend(made.clone());
    let leased = lease.is_some();
    let mut guard = Guard::recover(me, index.clone(), watch, known).with_made(made);
    let started = clock::now();
    let mut gone = false;
    while let Some(command) = guard.poll() {
        if let Command::Wait { until } = &command {
            let until = started + until.since_start();
            clock::sleep_until(until).await;
        }
        let reply = store.execute(&command).await;
        gone |= reply == Reply::Gone;
        know_holders(&mut guard, &reply, folder.as_deref());
        guard.handle(Time::from_start(started.elapsed()), reply);
    }
    let (state, mut detail) = match guard.outcome() {
        // The index of a local record belongs to another cluster, or was deleted.
        _ if gone && !leased => return None,
        Some(GuardOutcome::Restored { .. }) if gone => {
            (RecoveredState::Restored, "the index does not exist any more".to_owned())
        }
        Some(GuardOutcome::Nothing) => (RecoveredState::Restored, "another process restored the settings".to_owned()),
        Some(GuardOutcome::Restored { foreign }) if foreign.is_empty() => {
            (RecoveredState::Restored, "the index has its original settings".to_owned())
        }
        Some(GuardOutcome::Restored { foreign }) => (
            RecoveredState::Restored,
            format!(
                "the index has its original settings, except {}, which another client has set since",
                foreign.join(", ")
            ),
        ),
        Some(GuardOutcome::PassedOn { holders }) => (RecoveredState::InUse, passed_on(&index, *holders)),
        Some(GuardOutcome::NotRestored { refused }) => {
            let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            (RecoveredState::NotRestored, refused.join("; "))
        }
        Some(GuardOutcome::Unknown(why)) => (RecoveredState::NotRestored, why.clone()),
        None => (RecoveredState::NotRestored, "the recovery did not end".to_owned()),
    };
    if (state, store.part, gone) == (RecoveredState::Restored, Part::Graphs, false) {
        detail.push_str(&format!(
            "; vectors that were loaded meanwhile get a graph when their segments are merged: POST /{index}/_forcemerge?max_num_segments=1"
        ));
    }
    if let (RecoveredState::Restored, Some(folder)) = (state, &folder) {
        for holder in records {
            state::remove(folder, &holder);
        }
    }
    Some(Recovered { index, uuid: store.uuid, state, changed: changes.into_iter().map(shown).collect(), detail })
}
