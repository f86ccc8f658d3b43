//! Loads that write to one index at the same time. No count of one of them alone proves anything,
//! so they know each other by one document in the cluster: each enters it before it sends anything
//! and leaves its numbers there at its end, and the last one to end counts for all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_cluster::api::own::OwnDocument;
use inrush_cluster::api::{ClusterError, IndexInfo, Target, TargetKind, stats};
use inrush_cluster::transport::Transport;
use inrush_core::settings_guard::{HEARTBEAT, Precondition, Version};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::checkpoint::LOADS_INDEX;
use crate::config::GuardConfig;
use crate::count_check::{self, Share};
use crate::error::LoadError;
use crate::report::Verified;
use crate::settings_guard::{Earlier, LocalState, default_folder, forget_holder, holder_lives};

/// A load on another machine that showed no sign of life for so long, by the clocks of both, is
/// dead: 5 min. Clocks that differ more cost a verdict, never a document.
const DEAD_AFTER_S: u64 = 300;

/// So many signs of life are waited for before a load counts as dead.
const SIGNS_MISSED: u32 = 3;

/// How often the document is changed anew where somebody else was faster. Each time another load
/// has made its change.
const TRIES: u32 = 50;

/// The document: the loads that write to an index now, and those that have ended beside one of
/// these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    /// The name that the first one was given.
    name: String,
    /// Documents before the first one. None: not counted yet, so nobody has sent anything.
    before: Option<u64>,
    /// By their runs.
    running: BTreeMap<String, Running>,
    /// How many have ended.
    ended: u64,
    /// What those did.
    sum: Share,
    /// Why the sum proves nothing.
    unprovable: Option<String>,
}

/// A load that writes to the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Running {
    host: String,
    process: u32,
    /// Its last sign of life, by its own clock, s since 1970.
    seen_s: u64,
}

impl Running {
    fn here() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Running { host: host.trim().to_owned(), process: std::process::id(), seen_s: now_s() }
    }

    fn told(&self, run: &str) -> String {
        let host = if self.host.is_empty() { "another machine" } else { &self.host };
        format!("run {run}, process {} on {host}", self.process)
    }
}

impl Group {
    fn new(name: &str) -> Self {
        let (name, running) = (name.to_owned(), BTreeMap::new());
        Group { name, before: None, running, ended: 0, sum: Share::default(), unprovable: None }
    }

    /// Takes a load in, or the one that goes on with `earlier` runs in their place. What only the
    /// dead have left is forgotten.
    fn enter(&mut self, run: &str, earlier: &[String], me: Running, lives: impl Fn(&str, &Running) -> bool) {
        let mut in_place = self.running.contains_key(run);
        for run in earlier {
            in_place |= self.running.remove(run).is_some();
        }
        if !in_place {
            if !self.running.iter().any(|(run, one)| lives(run, one)) {
                *self = Group::new(&self.name);
            } else if !earlier.is_empty() {
                // What it did before it was cut off is in their count of the index, or in their
                // sum.
                let why = format!("run {run} goes on with one that was cut off before the other loads began");
                self.unprovable.get_or_insert(why);
            }
        }
        self.running.insert(run.to_owned(), me);
    }

    /// Takes a load out, with what it did, or why that is not known.
    fn leave(&mut self, run: &str, share: &Result<Share, String>) {
        self.running.remove(run);
        self.ended += 1;
        match share {
            Ok(share) => self.sum = self.sum.plus(share),
            Err(why) => drop(self.unprovable.get_or_insert_with(|| why.clone())),
        }
    }
}

/// What the loads into an index did together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// How many they were.
    pub(super) loads: u64,
    /// Documents before the first one.
    pub(super) before: u64,
    pub(super) share: Share,
}

/// What a load finds when it leaves.
pub(super) enum Left {
    /// It is the last one, and judges the count.
    Last(Together),
    /// It has nothing to judge.
    Over(Verified),
}

/// The place of one load in the group.
pub(super) struct Member {
    document: OwnDocument,
    name: String,
    run: String,
    folder: Option<PathBuf>,
    lock: Option<LocalState>,
    /// The version that was found when it was the last one.
    last: Option<Version>,
    /// Signs of life end with this.
    _beat: oneshot::Sender<()>,
}

/// A load that is about to begin.
pub(super) struct Entering<'a> {
    pub(super) target: &'a Target,
    /// The UUID of the index that was made for it.
    pub(super) made: Option<&'a str>,
    pub(super) guard: &'a GuardConfig,
    pub(super) run: &'a str,
    /// The run that it goes on with.
    pub(super) earlier: Option<Earlier>,
    /// That one, and those before it.
    pub(super) runs: &'a [String],
}

/// Enters the group, and counts the index where this load is the first one of it.
///
/// Where the group cannot be read or written, the load is alone. Returns the documents before this
/// load, or why that is not known.
///
/// # Errors
/// The index cannot be counted, though this user may.
pub(super) async fn enter(
    transport: &Arc<Transport>,
    Entering { target, made, guard, run, earlier, runs }: Entering<'_>,
) -> Result<(Result<u64, String>, Option<Member>), LoadError> {
    let known_before = earlier.and_then(|earlier| earlier.docs_before);
    let count = async || -> Result<Result<u64, String>, LoadError> {
        // It was made for this load, or its first document makes it.
        if target.write_index().is_none() {
            return Ok(Ok(0));
        }
        match stats::count_now(transport, &target.name).await {
            // Whoever may write but not read loads all the same; only the proof is missing.
            Err(error) if error.status() == Some(403) => Ok(Err(error.to_string())),
            counted => Ok(Ok(counted?)),
        }
    };
    // What an earlier run has not counted is not counted now; the group may know it.
    let unknown = earlier.is_some() && known_before.is_none();
    let document = document(transport, target, made).filter(|_| !guard.leave_settings);
    let Some(document) = document else { return Ok((count().await?, None)) };
    let folder = guard.state.clone().or_else(default_folder);
    // Without it, signs of life say that this load lives.
    let lock = folder.as_ref().and_then(|folder| LocalState::new(folder, &holder(run)).ok());
    let lives = |run: &str, one: &Running| lives(folder.as_deref(), run, one);
    let mut counted = None;
    for _ in 0..TRIES {
        let (mut group, over) = match read(&document, &target.name).await {
            Ok(Some((group, version))) => (group, Precondition::Version(version)),
            Ok(None) => (Group::new(&target.name), Precondition::Absent),
            Err(error) => return alone(&target.name, &error, count().await?, lock),
        };
        let found = group.clone();
        let was_in = found.running.contains_key(run);
        if unknown && !was_in && !runs.iter().any(|run| found.running.contains_key(run)) {
            remove(lock);
            return Ok((Err("an earlier run did not count it".to_owned()), None));
        }
        group.enter(run, runs, Running::here(), lives);
        if group.running.len() == 1 {
            group.before = group.before.or(known_before);
        }
        // Only in the group, where whoever comes sees this load, is the count that of nobody's
        // documents.
        if was_in && group.before.is_none() {
            let before = count().await?;
            if before.is_err() {
                group.running.remove(run);
                // Others find out that it does not live.
                let _ = write(&document, &target.name, &group, over).await;
                remove(lock);
                return Ok((before, None));
            }
            group.before = before.clone().ok();
            counted = Some(before);
        }
        match write(&document, &target.name, &group, over).await {
            Ok(Some(_)) => forget_those_gone(folder.as_deref(), &found, &group),
            // Somebody else was faster.
            Ok(None) => continue,
            Err(error) => return alone(&target.name, &error, count().await?, lock),
        }
        if group.before.is_some() {
            let others = "other loads were writing to it when this one began";
            let mine = counted.filter(|before| before.as_ref().ok() == group.before.as_ref());
            let before = known_before.map(Ok).or(mine).unwrap_or_else(|| Err(others.to_owned()));
            let (stop, stopped) = oneshot::channel();
            tokio::spawn(show_life(document.clone(), target.name.clone(), run.to_owned(), stopped));
            let (name, run) = (target.name.clone(), run.to_owned());
            return Ok((before, Some(Member { document, name, run, folder, lock, last: None, _beat: stop })));
        }
    }
    tracing::debug!("{} is changed by too many loads at once to count it together", target.name);
    remove(lock);
    Ok((count().await?, None))
}

fn alone(
    name: &str,
    error: &ClusterError,
    before: Result<u64, String>,
    lock: Option<LocalState>,
) -> Result<(Result<u64, String>, Option<Member>), LoadError> {
    tracing::debug!("other loads into {name} are not known: {error}");
    remove(lock);
    Ok((before, None))
}

fn remove(lock: Option<LocalState>) {
    if let Some(lock) = lock {
        lock.remove();
    }
}

impl Member {
    /// Leaves its numbers for those that still run. The last one stays until it has judged the
    /// count ([`Member::end`]).
    pub(super) async fn leave(&mut self, share: &Result<Share, String>) -> Left {
        for _ in 0..TRIES {
            match self.try_leave(share).await {
                Ok(Some(left)) => return left,
                Ok(None) => {}
                Err(error) => {
                    return self.over(format!("what other loads into {} did is not known: {error}", self.name));
                }
            }
        }
        self.over(format!("other loads into {} begin and end all the time", self.name))
    }

    /// None: somebody else was faster.
    async fn try_leave(&mut self, share: &Result<Share, String>) -> Result<Option<Left>, ClusterError> {
        let name = self.name.clone();
        let found = read(&self.document, &name).await?.filter(|(group, _)| group.running.contains_key(&self.run));
        let Some((mut group, version)) = found else {
            let why = format!(
                "the record of the loads into {name} ({LOADS_INDEX}/{}) was deleted, or another load took this one for dead",
                self.document.id
            );
            return Ok(Some(self.over(why)));
        };
        let others: Vec<(String, Running)> = group
            .running
            .iter()
            .filter(|(run, _)| **run != self.run)
            .map(|(r, one)| (r.clone(), one.clone()))
            .collect();
        let (living, dead): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(run, one)| lives(self.folder.as_deref(), run, one));
        let told = |loads: &[(String, Running)]| -> String {
            loads.iter().map(|(run, one)| one.told(run)).collect::<Vec<_>>().join("; ")
        };
        group.leave(&self.run, share);
        if !living.is_empty() {
            if write(&self.document, &name, &group, Precondition::Version(version)).await?.is_none() {
                return Ok(None);
            }
            let (who, is) = match living.len() {
                1 => ("another load".to_owned(), "is"),
                n => (format!("{n} other loads"), "are"),
            };
            return Ok(Some(self.over(format!(
                "{who} {is} writing to {name} ({}); the last one to end counts for all of them",
                told(&living)
            ))));
        }
        let died = (!dead.is_empty())
            .then(|| format!("another load wrote to {name}, and died without leaving its numbers ({})", told(&dead)));
        if let Some(why) = group.unprovable.filter(|_| group.ended > 1).or(died) {
            let deleted = self.document.delete(&what(&name), version).await?;
            return Ok(deleted.then(|| self.over(why)));
        }
        self.last = Some(version);
        let before = group.before.unwrap_or_default();
        Ok(Some(Left::Last(Together { loads: group.ended, before, share: group.sum })))
    }

    fn over(&mut self, why: String) -> Left {
        remove(self.lock.take());
        Left::Over(count_check::not_provable(why))
    }

    /// Ends the group after the last one has judged. False: another load has entered it meanwhile,
    /// so the count was not that of this group.
    pub(super) async fn end(&mut self) -> bool {
        let Some(version) = self.last.take() else { return true };
        match self.document.delete(&what(&self.name), version).await {
            Ok(false) => return false,
            Ok(true) => {}
            // The judgement stands; the next load finds that this one does not live.
            Err(error) => tracing::debug!("the record of the loads into {} stays: {error}", self.name),
        }
        remove(self.lock.take());
        true
    }
}

/// A load that writes to `target` now, in words; none where that is not known. Where only signs of
/// life can tell, some of them are waited for.
pub(super) async fn writing(transport: &Arc<Transport>, target: &Target, config: &GuardConfig) -> Option<String> {
    let document = document(transport, target, None)?;
    let folder = config.state.clone().or_else(default_folder);
    let mut first: Option<Group> = None;
    for _ in 0..=SIGNS_MISSED {
        let group = match read(&document, &target.name).await {
            Ok(found) => found?.0,
            Err(error) => {
                tracing::debug!("whether other loads write to {} is not known: {error}", target.name);
                return None;
            }
        };
        // No clock is asked: it would cost an index.
        let running = group.running.iter();
        let living: Vec<_> = running.filter(|(run, _)| is_here(folder.as_deref(), run) != Some(false)).collect();
        let is_sure = |run: &str, one: &Running| {
            let before = first.as_ref().map(|first| first.running.get(run));
            is_here(folder.as_deref(), run) == Some(true) || before.is_some_and(|before| before != Some(one))
        };
        if let Some((run, one)) = living.iter().find(|(run, one)| is_sure(run, one)) {
            return Some(format!("{}; record {LOADS_INDEX}/{}", one.told(run), document.id));
        }
        let (run, one) = living.first()?;
        if first.is_none() {
            tracing::warn!(
                "a load into {} began and has not told its end ({}); waiting up to {} s for a sign of life",
                target.name,
                one.told(run),
                (HEARTBEAT * SIGNS_MISSED).as_secs()
            );
            first = Some(group.clone());
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
    None
}

/// Where the loads into `target` know each other; `made`: the UUID of an index that was made for
/// this load. None where the target may not be looked at.
fn document(transport: &Arc<Transport>, target: &Target, made: Option<&str>) -> Option<OwnDocument> {
    let of = |index: &IndexInfo| index.uuid.clone();
    let key = match &target.kind {
        TargetKind::Index(index) => of(index),
        // By its alias or by its own name, the count is the same.
        TargetKind::Alias { write, indices, filtered: false } if indices.len() == 1 => of(write),
        TargetKind::Missing { .. } if !target.is_data_stream() => made?.to_owned(),
        TargetKind::Alias { .. } | TargetKind::DataStream { .. } | TargetKind::Missing { .. } => {
            format!("name-{}", target.name)
        }
        TargetKind::Hidden => return None,
    };
    Some(OwnDocument { transport: Arc::clone(transport), index: LOADS_INDEX, id: format!("writes-{key}") })
}

/// Signs of life, until the load ends or is gone.
async fn show_life(document: OwnDocument, name: String, run: String, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            () = tokio::time::sleep(HEARTBEAT) => {}
        }
        match read(&document, &name).await {
            Ok(Some((mut group, version))) if group.running.contains_key(&run) => {
                group.running.insert(run.clone(), Running::here());
                // Another load's change is one, too; the next sign may come through.
                if let Err(error) = write(&document, &name, &group, Precondition::Version(version)).await {
                    tracing::debug!("no sign of life: {error}");
                }
            }
            Ok(_) => return,
            Err(error) => tracing::debug!("no sign of life: {error}"),
        }
    }
}

fn lives(folder: Option<&Path>, run: &str, one: &Running) -> bool {
    is_here(folder, run).unwrap_or_else(|| now_s().abs_diff(one.seen_s) < DEAD_AFTER_S)
}

/// Whether a load lives on this machine; none: it is not one of this machine's.
fn is_here(folder: Option<&Path>, run: &str) -> Option<bool> {
    holder_lives(folder?, &holder(run))
}

/// Removes the locks of the dead that nobody will ask for any more.
fn forget_those_gone(folder: Option<&Path>, before: &Group, after: &Group) {
    let gone = before.running.keys().filter(|run| !after.running.contains_key(*run));
    for (folder, run) in folder.into_iter().flat_map(|folder| gone.clone().map(move |run| (folder, run))) {
        if is_here(Some(folder), run) == Some(false) {
            forget_holder(folder, &holder(run));
        }
    }
}

/// The name of the lock that a load holds on its machine while it lives.
fn holder(run: &str) -> String {
    format!("{run}-writes")
}

fn what(name: &str) -> String {
    format!("keeping the record of the loads into {name} in {LOADS_INDEX}")
}

async fn read(document: &OwnDocument, name: &str) -> Result<Option<(Group, Version)>, ClusterError> {
    let Some((source, version)) = document.read(&what(name)).await? else { return Ok(None) };
    let group = serde_json::from_value(source).map_err(|error| ClusterError::Reply {
        what: format!("the record {LOADS_INDEX}/{}", document.id),
        problem: format!("no record of this version of inrush: {error}"),
    })?;
    Ok(Some((group, version)))
}

async fn write(
    document: &OwnDocument,
    name: &str,
    group: &Group,
    over: Precondition,
) -> Result<Option<Version>, ClusterError> {
    let value = serde_json::to_value(group)
        .map_err(|error| ClusterError::Reply { what: what(name), problem: error.to_string() })?;
    document.write(&what(name), &value, over).await
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
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
        // Whether others live does not matter: the count before all of them is that before its
        // first run, too.
        for living in [&[][..], &["b"]] {
            let mut now = group(&["a", "b"]);
            enter(&mut now, "c", &["z", "a"], living);
            assert_eq!(now, Group { running: group(&["b", "c"]).running, ..group(&[]) });
        }
        let mut now = group(&["b"]);
        enter(&mut now, "c", &["a"], &["b"]);
        assert_eq!((now.running.len(), now.before), (2, Some(7)));
        assert!(now.unprovable.unwrap().contains("run c goes on with one that was cut off"));
        let mut now = group(&["b"]);
        enter(&mut now, "c", &["a"], &[]);
        assert_eq!(now, Group { running: group(&["c"]).running, ..Group::new("x") });
    }

    #[test]
    fn one_that_does_not_know_what_it_did_makes_the_sum_worthless() {
        let mut now = group(&["a", "b"]);
        now.leave("a", &Ok(Share { created: 2, fewer: 1, ..Share::default() }));
        assert_eq!((now.ended, now.sum, now.running.len()), (2, Share { created: 7, fewer: 1, ..Share::default() }, 1));
        now.leave("b", &Err("why".to_owned()));
        assert_eq!((now.ended, now.sum.created, now.unprovable.as_deref()), (3, 7, Some("why")));
    }
}
