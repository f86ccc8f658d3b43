//! Putting back what loads left that have crashed, from any machine, beside any load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_cluster::api::ClusterError;
use inrush_cluster::transport::Transport;
use inrush_core::Time;
use inrush_core::settings_guard::{Change, Changes, Command, DEAD_AFTER, Guard, Lease, Outcome, Phase, Reply};
use serde::Serialize;
use tokio::task::JoinSet;

use super::store::{self, Store};
use super::{PATIENCE_AT_THE_END, know_holders, passed_on, state};
use crate::report::SettingChange;

/// What is to be recovered, and how.
#[derive(Clone, Debug)]
pub struct RecoverOptions {
    /// Only these indices. Default: all that loads have left.
    pub indices: Vec<String>,
    /// How long a load is watched for a sign of life before it is taken for dead. Default 60 s. Zero takes everyone for dead
    /// of whom this machine does not know better: what a load that lives after all has changed is then put back in the middle
    /// of it, and changed again by its next heartbeat.
    pub watch: Duration,
    /// Where loads of this machine left their records. Default: `inrush` in the XDG state folder.
    pub state: Option<PathBuf>,
}

impl Default for RecoverOptions {
    fn default() -> Self {
        RecoverOptions { indices: Vec::new(), watch: DEAD_AFTER, state: None }
    }
}

/// What became of the settings of one index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// The index.
    pub index: String,
    /// Its UUID.
    pub uuid: String,
    /// How it ended.
    pub state: RecoveredState,
    /// What a load had written down: value before, value for the load.
    pub changed: BTreeMap<String, SettingChange>,
    /// In words.
    pub detail: String,
}

/// How the recovery of one index ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveredState {
    /// The settings are as they were.
    Restored,
    /// A load that lives holds them, or somebody else is putting them back: left alone.
    InUse,
    /// Some could not be put back; they stay written down.
    NotRestored,
}

/// Lists what loads have left on a cluster and puts it back. Loads that live are left alone. `watching` is told once, with the
/// names of the indices for which a sign of life is waited for.
///
/// # Errors
/// Where it cannot be found out what was left.
pub async fn recover(
    transport: Arc<Transport>,
    options: &RecoverOptions,
    mut watching: impl FnMut(&[&str]),
) -> Result<Vec<Recovered>, ClusterError> {
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
            let one = left.entry(record.uuid).or_insert_with(|| Left::unleased(record.index));
            one.known.extend(record.changes);
            one.records.push(holder);
        }
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
    let run_id = crate::run_id::run_id();
    let mut tasks = JoinSet::new();
    for (number, (uuid, left)) in left.into_iter().enumerate() {
        let store = Store { transport: Arc::clone(&transport), index: left.index.clone(), uuid };
        let me = format!("{run_id}-{number}");
        if left.lease.is_none() && options.indices.is_empty() {
            tasks.spawn(doubtful(store, left, folder.clone()));
        } else {
            tasks.spawn(one(me, store, left, options.watch, folder.clone()));
        }
    }
    let mut done: Vec<Recovered> = tasks.join_all().await.into_iter().flatten().collect();
    done.sort_by(|a, b| a.index.cmp(&b.index));
    Ok(done)
}

/// What is known of one index.
struct Left {
    index: String,
    lease: Option<Lease>,
    known: Changes,
    /// Loads of this machine whose records go when all is put back.
    records: Vec<String>,
}

impl Left {
    fn leased(lease: Lease) -> Self {
        Left { index: lease.index.clone(), lease: Some(lease), known: Changes::new(), records: Vec::new() }
    }

    fn unleased(index: String) -> Self {
        Left { index, lease: None, known: Changes::new(), records: Vec::new() }
    }
}

/// Whether it has to be watched who lives.
fn is_unsure(lease: &Lease, folder: Option<&Path>) -> bool {
    let lives = |holder: &String| folder.and_then(|folder| state::lives(folder, holder));
    match &lease.phase {
        Phase::Restoring { by } => lives(by).is_none(),
        Phase::Held => {
            let known: Vec<Option<bool>> = lease.holders.keys().map(lives).collect();
            !known.contains(&Some(true)) && known.contains(&None)
        }
    }
}

/// A record of this machine without a lease: most often somebody elsewhere has put the settings back, and whoever set the
/// same values later meant them. So they are put back only where the index is named.
async fn doubtful(store: Store, left: Left, folder: Option<PathBuf>) -> Option<Recovered> {
    let Left { index, known, records, .. } = left;
    let settings = match store.obey(&Command::ReadSettings, PATIENCE_AT_THE_END).await {
        Reply::Settings(settings) => settings,
        // Of another cluster, or deleted; or nobody answers, and the record stays.
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
        "the lease in the cluster is gone, and by the record of this machine these are from a load that crashed: if they are not meant, inrush recover {index}"
    );
    Some(Recovered { index, uuid: store.uuid, state: RecoveredState::NotRestored, changed, detail })
}

fn shown((name, change): (String, Change)) -> (String, SettingChange) {
    (name, SettingChange { from: change.original, to: change.applied })
}

/// Nothing for an index of which there is nothing to say: of another cluster, or as it was.
async fn one(me: String, store: Store, left: Left, watch: Duration, folder: Option<PathBuf>) -> Option<Recovered> {
    let Left { index, lease, known, records } = left;
    let changes = lease.as_ref().map_or_else(|| known.clone(), |lease| lease.changes.clone());
    let leased = lease.is_some();
    let mut guard = Guard::recover(me, index.clone(), watch, known);
    let started = Instant::now();
    let mut gone = false;
    while let Some(command) = guard.poll() {
        if let Command::Wait { until } = &command {
            let until = started + until.since_start();
            tokio::time::sleep_until(until.into()).await;
        }
        let reply = store.obey(&command, PATIENCE_AT_THE_END).await;
        gone |= reply == Reply::Gone;
        know_holders(&mut guard, &reply, folder.as_deref());
        guard.handle(Time::from_start(started.elapsed()), reply);
    }
    let (state, detail) = match guard.outcome() {
        // The index of a local record is of another cluster, or was deleted.
        _ if gone && !leased => return None,
        Some(Outcome::Restored { .. }) if gone => (RecoveredState::Restored, "the index is gone".to_owned()),
        Some(Outcome::Nothing) => (RecoveredState::Restored, "somebody else has put them back".to_owned()),
        Some(Outcome::Restored { foreign }) if foreign.is_empty() => {
            (RecoveredState::Restored, "the settings are as they were".to_owned())
        }
        Some(Outcome::Restored { foreign }) => (
            RecoveredState::Restored,
            format!("the settings are as they were; somebody else has set {}, which was left", foreign.join(", ")),
        ),
        Some(Outcome::PassedOn { holders }) => (RecoveredState::InUse, passed_on(&index, *holders)),
        Some(Outcome::NotRestored { refused }) => {
            let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            (RecoveredState::NotRestored, refused.join("; "))
        }
        Some(Outcome::Unknown(why)) => (RecoveredState::NotRestored, why.clone()),
        None => (RecoveredState::NotRestored, "the recovery did not end".to_owned()),
    };
    if let (RecoveredState::Restored, Some(folder)) = (state, &folder) {
        for holder in records {
            state::remove(folder, &holder);
        }
    }
    Some(Recovered { index, uuid: store.uuid, state, changed: changes.into_iter().map(shown).collect(), detail })
}
