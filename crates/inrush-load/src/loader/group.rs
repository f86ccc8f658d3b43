//! Loads that write to one index at the same time form a group. The count of a single load proves
//! nothing then. A document in the cluster lists the loads of the group: each load enters before it
//! sends anything, and adds its counts at its end. The last load to end verifies the sum.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use inrush_cluster::Wait;
use inrush_cluster::api::own::OwnDocument;
use inrush_cluster::api::{ClusterError, IndexInfo, Target, TargetKind, allocation, stats};
use inrush_cluster::clock;
use inrush_cluster::transport::Transport;
use inrush_core::settings_guard::{HEARTBEAT, Precondition, Version};
use inrush_guard::{LocalState, default_folder, forget_holder, holder_is_alive};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::checkpoint::LOADS_INDEX;
use crate::config::GuardConfig;
use crate::count_check::{self, Before, Share};
use crate::cutover::is_passing;
use crate::error::LoadError;
use crate::report::Verified;
use crate::vector_check::Vectors;

/// Time without a heartbeat after which a load on another machine counts as dead, seconds, by the
/// clocks of both machines. A larger difference of the clocks can cost the verdict of the
/// verification, and no document.
const DEAD_AFTER_S: u64 = 300;

/// Missed heartbeats after which a load counts as dead.
const HEARTBEATS_MISSED: u32 = 3;

/// Retries of an update of the group's document. Each conflict means that another load changed the
/// document.
const TRIES: u32 = 50;

/// The document of a group: the loads that write to the index now, and the counts of loads that
/// ended while others of the group were running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    /// Name of the index, as the first load of the group used it.
    name: String,
    /// Documents before the first load. `None`: not counted yet, so no load has sent anything.
    before: Option<u64>,
    /// Those of them with a vector, by field.
    #[serde(default)]
    vectors_before: BTreeMap<String, u64>,
    /// The running loads, by run id.
    running: BTreeMap<String, Running>,
    /// Number of loads that have ended.
    ended: u64,
    /// Sum of their counts.
    sum: Share,
    /// Why the sum proves nothing.
    unprovable: Option<String>,
}

/// A load that writes to the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    host: String,
    process: u32,
    /// Time of its last heartbeat by its own clock, seconds since 1970.
    seen_s: u64,
}

impl Running {
    fn here() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Running { host: host.trim().to_owned(), process: std::process::id(), seen_s: now_s() }
    }

    fn description(&self, run: &str) -> String {
        let host = if self.host.is_empty() { "another machine" } else { &self.host };
        format!("run {run}, process {} on {host}", self.process)
    }
}

impl Group {
    fn new(name: &str) -> Self {
        let (name, running) = (name.to_owned(), BTreeMap::new());
        let vectors_before = BTreeMap::new();
        Group { name, before: None, vectors_before, running, ended: 0, sum: Share::default(), unprovable: None }
    }

    /// Notes the index before the first load.
    fn note(&mut self, before: &Before) {
        (self.before, self.vectors_before) = (Some(before.docs), before.vectors.clone());
    }

    /// Adds a load. A load that resumes one of the `earlier` runs replaces them. Where every load
    /// of the group is dead, a new group begins.
    fn enter(&mut self, run: &str, earlier: &[String], me: Running, is_alive: impl Fn(&str, &Running) -> bool) {
        let mut in_place = self.running.contains_key(run);
        for run in earlier {
            in_place |= self.running.remove(run).is_some();
        }
        if !in_place {
            if !self.running.iter().any(|(run, one)| is_alive(run, one)) {
                *self = Group::new(&self.name);
            } else if !earlier.is_empty() {
                // Documents from before the interruption are in the group's first count of the
                // index, or in its sum.
                let why = format!("run {run} resumes a load that was interrupted before the other loads began");
                self.unprovable.get_or_insert(why);
            }
        }
        self.running.insert(run.to_owned(), me);
    }

    /// Whether the two differ at most in the heartbeats of their loads.
    fn is_beside(&self, other: &Group) -> bool {
        let still = |group: &Group| {
            let mut group = group.clone();
            group.running.values_mut().for_each(|one| one.seen_s = 0);
            group
        };
        still(self) == still(other)
    }

    /// Removes a load and adds its counts, or the reason why they are unknown.
    fn leave(&mut self, run: &str, share: &Result<Share, String>) {
        self.running.remove(run);
        self.ended += 1;
        match share {
            Ok(share) => self.sum = self.sum.plus(share),
            Err(why) => drop(self.unprovable.get_or_insert_with(|| why.clone())),
        }
    }
}

/// The sum of all loads of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// Number of loads.
    pub(super) loads: u64,
    /// The index before the first load.
    pub(super) before: Before,
    pub(super) share: Share,
}

/// The result of leaving a group.
pub(super) enum Left {
    /// This load is the last one, and judges the count.
    Last(Together),
    /// This load is the last one, and the count can prove nothing.
    Over(Verified),
    /// Other loads are still running.
    Others(Verified),
    /// Whether other loads are running is not known.
    Unknown(Verified),
}

/// The membership of one load in a group.
pub(super) struct Member {
    document: OwnDocument,
    name: String,
    run: String,
    folder: Option<PathBuf>,
    lock: Option<LocalState>,
    /// The document, with its version, when this load was found to be the last one.
    last: Option<(Group, Version)>,
    /// Stops the heartbeat when it is dropped.
    _stop_heartbeats: oneshot::Sender<()>,
}

/// A load that enters a group.
pub(super) struct Entering<'a> {
    pub(super) target: &'a Target,
    /// UUID of the index, where this load created it.
    pub(super) created: Option<&'a str>,
    pub(super) guard: &'a GuardConfig,
    pub(super) run: &'a str,
    /// The load goes on with an interrupted run.
    pub(super) is_resumed: bool,
    /// The index before that run, if it was counted.
    pub(super) known: Option<Before>,
    /// Ids of the interrupted run and of the runs before it.
    pub(super) runs: &'a [String],
    /// The longest wait for a red index.
    pub(super) pause_max: Duration,
    /// The fields with vectors of the index.
    pub(super) vectors: &'a Vectors,
}

/// Enters the group of the index. The first load of a group counts the index.
///
/// Returns the documents before the load, or why their number is unknown. Where the group's
/// document cannot be read or written, the load belongs to no group.
///
/// # Errors
/// The index cannot be counted although the user has the permission.
pub(super) async fn enter(
    transport: &Arc<Transport>,
    Entering { target, created, guard, run, is_resumed, known, runs, pause_max, vectors }: Entering<'_>,
) -> Result<(Result<Before, String>, Option<Member>), LoadError> {
    let counting = Counting { transport, target, pause_max, vectors };
    // The index already holds documents of the earlier run, so a count now is too late. The group
    // may know the count.
    let not_countable = is_resumed && known.is_none();
    let document = document(transport, target, created).filter(|_| !guard.leave_settings);
    let Some(document) = document else { return Ok((counting.before().await?, None)) };
    let folder = guard.state.clone().or_else(default_folder);
    // Without a lock, only heartbeats show that this load is alive.
    let lock = folder.as_ref().and_then(|folder| LocalState::new(folder, &holder(run)).ok());
    let is_alive = |run: &str, one: &Running| is_alive(folder.as_deref(), run, one);
    let mut counted = None;
    for _ in 0..TRIES {
        let (mut group, precondition) = match read(&document, &target.name).await {
            Ok(Some((group, version))) => (group, Precondition::Version(version)),
            Ok(None) => (Group::new(&target.name), Precondition::Absent),
            Err(error) => return without_group(&target.name, &error, (counting.before().await?, lock)),
        };
        let found = group.clone();
        let was_in = found.running.contains_key(run);
        if not_countable && !was_in && !runs.iter().any(|run| found.running.contains_key(run)) {
            remove(lock);
            return Ok((Err("an earlier run did not count the index".to_owned()), None));
        }
        group.enter(run, runs, Running::here(), is_alive);
        if let (Some(known), None, 1) = (&known, group.before, group.running.len()) {
            group.note(known);
        }
        // A load counts only as a member of the group. Loads that enter later then know that it may
        // send documents, so no load has sent any before the count.
        if was_in && group.before.is_none() {
            let before = counting.before().await?;
            match &before {
                Ok(before) => group.note(before),
                Err(_) => {
                    group.running.remove(run);
                    // If this write fails, other loads find out that this one is dead.
                    let _ = write(&document, &target.name, &group, precondition).await;
                    remove(lock);
                    return Ok((before, None));
                }
            }
            counted = before.ok();
        }
        match write(&document, &target.name, &group, precondition).await {
            Ok(Some(_)) => remove_locks_of_gone(folder.as_deref(), &found, &group),
            // Another load changed the document first.
            Ok(None) => continue,
            Err(error) => return without_group(&target.name, &error, (counting.before().await?, lock)),
        }
        if group.before.is_some() {
            let own = counted.filter(|before| Some(before.docs) == group.before);
            let others = || "other loads were writing to the index when this one began".to_owned();
            let before = known.or(own).ok_or_else(others);
            return Ok((before, Some(Member::new(document, &target.name, run, folder, lock))));
        }
    }
    tracing::debug!(
        "too many loads into {} changed their record at the same time, so their documents are not counted together",
        target.name
    );
    remove(lock);
    Ok((counting.before().await?, None))
}

/// Counts the index before the load.
struct Counting<'a> {
    transport: &'a Transport,
    target: &'a Target,
    pause_max: Duration,
    vectors: &'a Vectors,
}

impl Counting<'_> {
    /// Its documents, or why the user may not count them. A red index is waited for, as in a pause
    /// of the load.
    async fn before(&self) -> Result<Result<Before, String>, LoadError> {
        let counted = count_before(self.transport, self.target, self.pause_max).await?;
        Ok(match counted {
            Ok(docs) => {
                let vectors = self.vectors.count(self.transport, &self.target.name, docs).await;
                Ok(Before { docs, vectors })
            }
            Err(why) => Err(why),
        })
    }
}

/// Documents of the index before the load, or why the user may not count them. A red index is
/// waited for, as in a pause of the load.
async fn count_before(
    transport: &Transport,
    target: &Target,
    pause_max: Duration,
) -> Result<Result<u64, String>, LoadError> {
    // The load created the index, or its first document will.
    let Some(index) = target.write_index() else { return Ok(Ok(0)) };
    let mut wait = Wait::new(pause_max).by_option("pause_for");
    // This wait has its own limit, and looks for the reason each time.
    let transport = &transport.brief();
    loop {
        let error = match stats::count_now(transport, &target.name).await {
            // A user who may write but not read can load all the same, without the verification.
            Err(error) if error.status() == Some(403) => return Ok(Err(error.to_string())),
            Err(error) => error,
            Ok(counted) => return Ok(Ok(counted)),
        };
        let why = match allocation::unassigned(transport, &index.name).await {
            Some(unassigned) => format!("{} is red: a primary shard is not assigned: {}", index.name, unassigned.why),
            None if is_passing(&error) => error.to_string(),
            None => return Err(error.into()),
        };
        tracing::warn!("{} cannot be counted before the load, and is asked again: {why}", target.name);
        if let Err(late) = wait.pause(&why).await {
            let problem = format!("it cannot be counted before the load: {late}");
            return Err(ClusterError::Target { name: target.name.clone(), problem }.into());
        }
    }
}

fn without_group(
    name: &str,
    error: &ClusterError,
    (before, lock): (Result<Before, String>, Option<LocalState>),
) -> Result<(Result<Before, String>, Option<Member>), LoadError> {
    match error.status() {
        // Of the log only, as it is so in each load of this user.
        Some(403) => tracing::warn!("the count at the end does not know of other loads into {name}: {error}"),
        _ => tracing::debug!("cannot read or write the record of other loads into {name}: {error}"),
    }
    remove(lock);
    Ok((before, None))
}

fn remove(lock: Option<LocalState>) {
    if let Some(lock) = lock {
        lock.remove();
    }
}

impl Member {
    /// A member that sends heartbeats from now on.
    fn new(document: OwnDocument, name: &str, run: &str, folder: Option<PathBuf>, lock: Option<LocalState>) -> Self {
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(send_heartbeats(document.brief(), name.to_owned(), run.to_owned(), stopped));
        let (name, run) = (name.to_owned(), run.to_owned());
        Member { document, name, run, folder, lock, last: None, _stop_heartbeats: stop }
    }

    /// Leaves the group where the load does not begin: it has sent nothing. Returns whether no
    /// other load is in the group.
    pub(super) async fn withdraw(mut self) -> bool {
        self.document = self.document.brief();
        let mut is_alone = false;
        for _ in 0..TRIES {
            match self.try_withdraw().await {
                Ok(Some(alone)) => {
                    is_alone = alone;
                    break;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(
                        "{error}; the next load with option `recreate` into {} waits for a heartbeat of this run",
                        self.name
                    );
                    break;
                }
            }
        }
        remove(self.lock.take());
        is_alone
    }

    /// `None`: another load changed the document first.
    async fn try_withdraw(&self) -> Result<Option<bool>, ClusterError> {
        let Some((mut group, version)) = read(&self.document, &self.name).await? else { return Ok(Some(true)) };
        let was_in = group.running.remove(&self.run).is_some();
        let is_alone = group.running.is_empty() && group.ended == 0;
        let is_written = match (was_in, is_alone) {
            (false, _) => true,
            (true, true) => self.document.delete(&purpose(&self.name), version).await?,
            (true, false) => write(&self.document, &self.name, &group, Precondition::Version(version)).await?.is_some(),
        };
        Ok(is_written.then_some(is_alone))
    }

    /// Adds the counts of this load for the loads that still run. The last load stays a member
    /// until it has judged the count ([`Member::end`]).
    pub(super) async fn leave(&mut self, share: &Result<Share, String>) -> Left {
        for _ in 0..TRIES {
            match self.try_leave(share).await {
                Ok(Some(left)) => return left,
                Ok(None) => {}
                Err(error) => {
                    let why = format!("the counts of other loads into {} are unknown: {error}", self.name);
                    return Left::Unknown(self.leave_unproven(why));
                }
            }
        }
        let why = format!("too many other loads into {} began and ended at the same time", self.name);
        Left::Unknown(self.leave_unproven(why))
    }

    /// `None`: another load changed the document first.
    async fn try_leave(&mut self, share: &Result<Share, String>) -> Result<Option<Left>, ClusterError> {
        let name = self.name.clone();
        let found = read(&self.document, &name).await?.filter(|(group, _)| group.running.contains_key(&self.run));
        let Some((mut group, version)) = found else {
            let why = format!(
                "the record of the loads into {name} ({LOADS_INDEX}/{}) was deleted, or another load removed this one from it because it missed its heartbeats",
                self.document.id
            );
            return Ok(Some(Left::Unknown(self.leave_unproven(why))));
        };
        let others: Vec<(String, Running)> = group
            .running
            .iter()
            .filter(|(run, _)| **run != self.run)
            .map(|(r, one)| (r.clone(), one.clone()))
            .collect();
        let (living, dead): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(run, one)| is_alive(self.folder.as_deref(), run, one));
        let description = |loads: &[(String, Running)]| -> String {
            loads.iter().map(|(run, one)| one.description(run)).collect::<Vec<_>>().join("; ")
        };
        let before_leaving = group.clone();
        group.leave(&self.run, share);
        if !living.is_empty() {
            if write(&self.document, &name, &group, Precondition::Version(version)).await?.is_none() {
                return Ok(None);
            }
            let (who, is) = match living.len() {
                1 => ("another load".to_owned(), "is"),
                n => (format!("{n} other loads"), "are"),
            };
            let why = format!(
                "{who} {is} writing to {name} ({}); the last load to end verifies all of them",
                description(&living)
            );
            return Ok(Some(Left::Others(self.leave_unproven(why))));
        }
        let died = (!dead.is_empty())
            .then(|| format!("another load into {name} died without recording its counts ({})", description(&dead)));
        if let Some(why) = group.unprovable.filter(|_| group.ended > 1).or(died) {
            let deleted = self.document.delete(&purpose(&name), version).await?;
            return Ok(deleted.then(|| Left::Over(self.leave_unproven(why))));
        }
        self.last = Some((before_leaving, version));
        let before = Before { docs: group.before.unwrap_or_default(), vectors: group.vectors_before };
        Ok(Some(Left::Last(Together { loads: group.ended, before, share: group.sum })))
    }

    fn leave_unproven(&mut self, why: String) -> Verified {
        remove(self.lock.take());
        count_check::not_provable(why)
    }

    /// Ends the group after its last load has judged the count. Returns false where another load
    /// has entered meanwhile, so that the count was not that of this group.
    pub(super) async fn end(&mut self) -> bool {
        let Some((judged, mut version)) = self.last.take() else { return true };
        for _ in 0..TRIES {
            match self.document.delete(&purpose(&self.name), version).await {
                Ok(true) => break,
                Ok(false) => {}
                // The verdict stands. The next load finds that this one is dead.
                Err(error) => {
                    tracing::debug!("cannot delete the record of the loads into {}: {error}", self.name);
                    break;
                }
            }
            match read(&self.document, &self.name).await {
                // A count that takes longer than the interval of the heartbeats always finds one of
                // its own.
                Ok(Some((now, of_now))) if now.is_beside(&judged) => version = of_now,
                Ok(Some(_)) => return false,
                Ok(None) | Err(_) => break,
            }
        }
        remove(self.lock.take());
        true
    }
}

/// A record in which no load is alive, as it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Silent(Option<Version>);

/// A load that writes to `target` now, as text, or else the record in which none does. Where only
/// heartbeats can tell whether a load is alive, it waits for some of them, but not where the record
/// is the one that was `silent` before.
pub(super) async fn writing(
    transport: &Arc<Transport>,
    target: &Target,
    config: &GuardConfig,
    silent: Silent,
) -> Result<Silent, String> {
    let mut found = silent;
    match living(transport, target, config, &mut found).await {
        Some(load) => Err(load),
        None => Ok(found),
    }
}

async fn living(
    transport: &Arc<Transport>,
    target: &Target,
    config: &GuardConfig,
    silent: &mut Silent,
) -> Option<String> {
    let document = document(transport, target, None)?;
    let folder = config.state.clone().or_else(default_folder);
    let mut first: Option<(Group, Version)> = None;
    for _ in 0..=HEARTBEATS_MISSED {
        let (group, version) = match read(&document, &target.name).await {
            Ok(found) => found?,
            Err(error) => {
                tracing::debug!("cannot read whether other loads write to {}: {error}", target.name);
                return None;
            }
        };
        if *silent == Silent(Some(version)) {
            return None;
        }
        // The clocks of two machines may differ, and a wrong answer would delete an index.
        let running = group.running.iter();
        let living: Vec<_> = running.filter(|(run, _)| is_alive_here(folder.as_deref(), run) != Some(false)).collect();
        let is_sure = |run: &str, one: &Running| {
            let before = first.as_ref().map(|(first, _)| first.running.get(run));
            is_alive_here(folder.as_deref(), run) == Some(true) || before.is_some_and(|before| before != Some(one))
        };
        if let Some((run, one)) = living.iter().find(|(run, one)| is_sure(run, one)) {
            return Some(format!("{}; record {LOADS_INDEX}/{}", one.description(run), document.id));
        }
        let (run, one) = living.first()?;
        if first.is_none() {
            tracing::warn!(
                "a load into {} has begun, and its end is not recorded ({}); waiting up to {} s for its heartbeat",
                target.name,
                one.description(run),
                (HEARTBEAT * HEARTBEATS_MISSED).as_secs()
            );
            first = Some((group.clone(), version));
        }
        clock::sleep(HEARTBEAT).await;
    }
    *silent = Silent(first.map(|(_, version)| version));
    None
}

/// The document of the group that writes to `target`. `created` is the UUID of an index that this
/// load created. `None` where the user may not read the target's metadata.
fn document(transport: &Arc<Transport>, target: &Target, created: Option<&str>) -> Option<OwnDocument> {
    let of = |index: &IndexInfo| index.uuid.clone();
    let key = match &target.kind {
        TargetKind::Index(index) => of(index),
        // A count through the alias and one through the index's name are the same.
        TargetKind::Alias { write, indices, filtered: false } if indices.len() == 1 => of(write),
        TargetKind::Missing { .. } if !target.is_data_stream() => created?.to_owned(),
        TargetKind::Alias { .. } | TargetKind::DataStream { .. } | TargetKind::Missing { .. } => {
            format!("name-{}", target.name)
        }
        TargetKind::Hidden => return None,
    };
    Some(OwnDocument { transport: Arc::clone(transport), index: LOADS_INDEX, id: format!("writes-{key}") })
}

/// Writes a heartbeat until the load ends or has been removed from the group.
async fn send_heartbeats(document: OwnDocument, name: String, run: String, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            () = clock::sleep(HEARTBEAT) => {}
        }
        match read(&document, &name).await {
            Ok(Some((mut group, version))) if group.running.contains_key(&run) => {
                group.running.insert(run.clone(), Running::here());
                // A conflict means that another load changed the document. The next heartbeat tries
                // again.
                if let Err(error) = write(&document, &name, &group, Precondition::Version(version)).await {
                    tracing::debug!("the heartbeat of this load was not written: {error}");
                }
            }
            Ok(_) => return,
            Err(error) => tracing::debug!("the heartbeat of this load was not written: {error}"),
        }
    }
}

fn is_alive(folder: Option<&Path>, run: &str, one: &Running) -> bool {
    is_alive_here(folder, run).unwrap_or_else(|| now_s().abs_diff(one.seen_s) < DEAD_AFTER_S)
}

/// Whether a load on this machine is alive. `None` where it did not run on this machine.
fn is_alive_here(folder: Option<&Path>, run: &str) -> Option<bool> {
    holder_is_alive(folder?, &holder(run))
}

/// Removes the locks of dead loads that left the group.
fn remove_locks_of_gone(folder: Option<&Path>, before: &Group, after: &Group) {
    let gone = before.running.keys().filter(|run| !after.running.contains_key(*run));
    for (folder, run) in folder.into_iter().flat_map(|folder| gone.clone().map(move |run| (folder, run))) {
        if is_alive_here(Some(folder), run) == Some(false) {
            forget_holder(folder, &holder(run));
        }
    }
}

/// Name of the lock that a load holds on its machine while it is alive.
fn holder(run: &str) -> String {
    format!("{run}-writes")
}

fn purpose(name: &str) -> String {
    format!("keeping the record of the loads into {name} in {LOADS_INDEX}")
}

async fn read(document: &OwnDocument, name: &str) -> Result<Option<(Group, Version)>, ClusterError> {
    let Some((source, version)) = document.read(&purpose(name)).await? else { return Ok(None) };
    let group = serde_json::from_value(source).map_err(|error| ClusterError::Reply {
        what: format!("the record {LOADS_INDEX}/{}", document.id),
        problem: format!("it was written by another version of inrush: {error}"),
    })?;
    Ok(Some((group, version)))
}

async fn write(
    document: &OwnDocument,
    name: &str,
    group: &Group,
    precondition: Precondition,
) -> Result<Option<Version>, ClusterError> {
    let value = serde_json::to_value(group)
        .map_err(|error| ClusterError::Reply { what: purpose(name), problem: error.to_string() })?;
    document.write(&purpose(name), &value, precondition).await
}

fn now_s() -> u64 {
    clock::date().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use inrush_cluster::transport::{Credentials, HttpOptions};
    use inrush_core::vectors::VectorCounts;
    use inrush_fake::{FakeCluster, FakeConfig};
    use inrush_testbed::in_process::InProcess;

    use super::*;

    fn running() -> Running {
        Running { host: "h".into(), process: 1, seen_s: 0 }
    }

    fn group(runs: &[&str]) -> Group {
        let running = runs.iter().map(|run| ((*run).to_owned(), running())).collect();
        Group { before: Some(7), running, ended: 1, sum: Share { created: 5, ..Share::default() }, ..Group::new("x") }
    }

    fn enter(group: &mut Group, run: &str, earlier: &[&str], living: &[&str]) {
        let earlier: Vec<String> = earlier.iter().map(|run| (*run).to_owned()).collect();
        group.enter(run, &earlier, running(), |run, _| living.contains(&run));
    }

    #[test]
    fn who_comes_beside_a_load_that_lives_shares_its_count() {
        let mut now = group(&["a", "b"]);
        enter(&mut now, "c", &[], &["b"]);
        assert_eq!(now, Group { running: group(&["a", "b", "c"]).running, ..group(&[]) });
    }

    #[test]
    fn what_only_the_dead_have_left_is_forgotten() {
        for runs in [&["a", "b"][..], &[]] {
            let mut now = group(runs);
            enter(&mut now, "c", &[], &[]);
            assert_eq!(now, Group { running: group(&["c"]).running, ..Group::new("x") });
        }
    }

    #[test]
    fn a_load_that_goes_on_takes_its_own_place_or_makes_the_sum_worthless() {
        // Whether other loads are alive does not matter: the count before all of them includes the
        // time before its first run.
        for living in [&[][..], &["b"]] {
            let mut now = group(&["a", "b"]);
            enter(&mut now, "c", &["z", "a"], living);
            assert_eq!(now, Group { running: group(&["b", "c"]).running, ..group(&[]) });
        }
        let mut now = group(&["b"]);
        enter(&mut now, "c", &["a"], &["b"]);
        assert_eq!((now.running.len(), now.before), (2, Some(7)));
        assert!(now.unprovable.unwrap().contains("run c resumes a load that was interrupted"));
        let mut now = group(&["b"]);
        enter(&mut now, "c", &["a"], &[]);
        assert_eq!(now, Group { running: group(&["c"]).running, ..Group::new("x") });
    }

    #[test]
    fn vectors_are_counted_for_all() {
        let share = |with: u64| {
            let mut counts = VectorCounts::default();
            counts.created_with = with;
            Share { created: with, vectors: [("v".to_owned(), counts)].into(), ..Share::default() }
        };
        let mut now = Group::new("x");
        now.note(&Before { docs: 9, vectors: [("v".to_owned(), 8)].into() });
        now.leave("a", &Ok(share(2)));
        now.leave("b", &Ok(share(3)));
        assert_eq!((now.before, now.vectors_before["v"], &now.sum), (Some(9), 8, &share(5)));
        // A record of an older version has none of them.
        let mut old = serde_json::to_value(Group::new("x")).unwrap();
        old.as_object_mut().unwrap().remove("vectors_before");
        for key in ["vectors", "updated"] {
            old["sum"].as_object_mut().unwrap().remove(key);
        }
        assert_eq!(serde_json::from_value::<Group>(old).unwrap(), Group::new("x"));
    }

    #[test]
    fn one_that_does_not_know_what_it_did_makes_the_sum_worthless() {
        let mut now = group(&["a", "b"]);
        now.leave("a", &Ok(Share { created: 2, fewer: 1, ..Share::default() }));
        let sum = Share { created: 7, fewer: 1, ..Share::default() };
        assert_eq!((now.ended, &now.sum, now.running.len()), (2, &sum, 1));
        now.leave("b", &Err("why".to_owned()));
        assert_eq!((now.ended, now.sum.created, now.unprovable.as_deref()), (3, 7, Some("why")));
    }

    /// A member of the group of `x` on a cluster, and the document of the group.
    async fn member(fake: &FakeCluster, group: &Group) -> (Member, OwnDocument) {
        let transport = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        let document = OwnDocument { transport: Arc::new(transport), index: LOADS_INDEX, id: "writes-x".to_owned() };
        write(&document, "x", group, Precondition::Absent).await.unwrap().unwrap();
        (Member::new(document.clone(), "x", "a", None, None), document)
    }

    async fn change(document: &OwnDocument, change: impl FnOnce(&mut Group)) {
        let (mut group, version) = read(document, "x").await.unwrap().unwrap();
        change(&mut group);
        write(document, "x", &group, Precondition::Version(version)).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_load_whose_count_outlasts_its_own_heartbeats_ends() {
        let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let (mut member, document) = member(&fake, &group(&["a"])).await;
        let share = Ok(Share::default());
        assert!(matches!(member.leave(&share).await, Left::Last(Together { loads: 2, .. })));
        for seen_s in 1..4 {
            change(&document, |group| group.running.get_mut("a").unwrap().seen_s = seen_s).await;
        }
        assert!(member.end().await, "the heartbeats were its own");
        assert!(read(&document, "x").await.unwrap().is_none());
        assert!(member.end().await, "once is enough");
    }

    /// The other load sees it from another machine.
    #[tokio::test(start_paused = true)]
    async fn a_load_is_alive_for_as_long_as_its_heartbeats_come() {
        let (_fake, way) = InProcess::start(FakeConfig::default()).await;
        let id = "writes-x".to_owned();
        let document = OwnDocument { transport: Arc::new(way.transport()), index: LOADS_INDEX, id };
        write(&document, "x", &group(&["a"]), Precondition::Absent).await.unwrap().unwrap();
        let (_stop, stopped) = oneshot::channel();
        let heartbeats = tokio::spawn(send_heartbeats(document.clone(), "x".into(), "a".into(), stopped));
        let is_alive_now = async || {
            let (group, _) = read(&document, "x").await.unwrap().unwrap();
            is_alive(None, "a", &group.running["a"])
        };
        for minutes in [1, 60, 24 * 60] {
            clock::sleep(Duration::from_secs(minutes * 60)).await;
            assert!(is_alive_now().await, "{minutes}");
        }
        heartbeats.abort();
        clock::sleep(Duration::from_secs(DEAD_AFTER_S - 60)).await;
        assert!(is_alive_now().await);
        clock::sleep(Duration::from_secs(120)).await;
        assert!(!is_alive_now().await);
    }

    #[tokio::test]
    async fn a_load_that_came_and_went_during_the_count_makes_it_count_again() {
        let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let (mut member, document) = member(&fake, &group(&["a"])).await;
        let share = Ok(Share::default());
        for (enters, loads) in [(true, 0), (false, 3)] {
            assert!(matches!(member.leave(&share).await, Left::Last(_)), "{loads}");
            change(&document, |group| {
                group.enter("b", &[], running(), |_, _| true);
                if !enters {
                    group.leave("b", &Ok(Share::default()));
                }
            })
            .await;
            assert!(!member.end().await, "another load has entered");
            if enters {
                change(&document, |group| drop(group.running.remove("b"))).await;
            }
        }
        assert!(matches!(member.leave(&share).await, Left::Last(Together { loads: 3, .. })));
        assert!(member.end().await);
    }
}
