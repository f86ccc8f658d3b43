//! All interleavings of two loads and a recovery, stopped after every step: a search through all
//! states that they can reach. From each state, a later recovery must be able to restore the
//! settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use super::policy::{LARGE_BYTES_MIN, REFRESH, REPLICAS};
use super::*;
use crate::time::Time;

/// The cluster as far as a guard sees it.
#[derive(Clone, Debug, Default)]
struct Cluster {
    lease: Option<(Lease, u64)>,
    seq_no: u64,
    settings: BTreeMap<String, String>,
}

impl Cluster {
    fn new() -> Self {
        let settings = [(REPLICAS, "1"), ("index.codec", "best_compression")];
        Cluster { settings: settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into(), ..Cluster::default() }
    }

    fn execute(&mut self, command: Command) -> Reply {
        let version = |seq_no| Version { seq_no, primary_term: 1 };
        let fits = |lease: &Option<(Lease, u64)>, over: Precondition| match (lease, over) {
            (None, Precondition::Absent) => true,
            (Some((_, seq_no)), Precondition::Version(version)) => *seq_no == version.seq_no,
            _ => false,
        };
        match command {
            Command::ReadLease => Reply::Lease(self.lease.clone().map(|(lease, seq_no)| (lease, version(seq_no)))),
            Command::ReadSettings => Reply::Settings(Settings {
                set: self.settings.clone(),
                defaults: BTreeMap::from([("index.translog.flush_threshold_size".into(), "512mb".into())]),
            }),
            Command::WriteLease { lease, over } if fits(&self.lease, over) => {
                self.seq_no += 1;
                self.lease = Some((lease, self.seq_no));
                Reply::Written(version(self.seq_no))
            }
            Command::DeleteLease { version } if fits(&self.lease, Precondition::Version(version)) => {
                self.lease = None;
                Reply::Deleted
            }
            Command::WriteLease { .. } | Command::DeleteLease { .. } => Reply::Conflict,
            Command::Put { values, .. } => {
                for (name, value) in values {
                    match value {
                        Some(value) => self.settings.insert(name, value),
                        None => self.settings.remove(&name),
                    };
                }
                Reply::Put
            }
            Command::Wait { .. } => Reply::Due,
        }
    }

    /// Every changed setting is in the lease with its original value.
    fn check_written_down(&self, story: &Option<Rc<Story>>) {
        let before = Cluster::new().settings;
        let names: BTreeSet<&String> = before.keys().chain(self.settings.keys()).collect();
        for name in names.into_iter().filter(|name| before.get(*name) != self.settings.get(*name)) {
            let change = self.lease.as_ref().and_then(|(lease, _)| lease.changes.get(name));
            let change = change.unwrap_or_else(|| panic!("{name} is changed and not written down: {story:#?}"));
            assert_eq!(change.original.as_ref(), before.get(name), "{name}: {story:#?}");
            assert_eq!(Some(&change.applied), self.settings.get(name), "{name}: {story:#?}");
        }
    }

    fn check_as_before(&self, story: &Option<Rc<Story>>) {
        assert_eq!(self.settings, Cluster::new().settings, "{story:#?}");
        assert_eq!(self.lease, None, "{story:#?}");
    }
}

/// How a state was reached, most recent move first.
#[derive(Debug)]
#[allow(dead_code, reason = "it is printed where a check fails")]
struct Story {
    last: String,
    before: Option<Rc<Story>>,
}

#[derive(Clone, Debug)]
struct Actor {
    guard: Guard,
    crashed: bool,
    /// How often this may still happen, so that the search ends.
    heartbeats: u8,
    lost_replies: u8,
}

impl Actor {
    fn new(guard: Guard) -> Self {
        Actor { guard, crashed: false, heartbeats: 0, lost_replies: 0 }
    }

    fn runs(&self) -> bool {
        !self.crashed && self.guard.outcome().is_none()
    }
}

#[derive(Clone, Debug)]
struct World {
    now: Time,
    cluster: Cluster,
    actors: Vec<Actor>,
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Step,
    StepWithoutReply,
    Stop,
    Heartbeat,
    Crash,
}

const MOVES: [Move; 5] = [Move::Step, Move::StepWithoutReply, Move::Stop, Move::Heartbeat, Move::Crash];

impl World {
    /// The world after a move; `None` if the move is impossible.
    fn after(&self, at: usize, what: Move) -> Option<World> {
        if !self.actors[at].runs() {
            return None;
        }
        let mut next = self.clone();
        // Live actors proceed while another one waits for seconds.
        let settled = self.actors.iter().enumerate().all(|(n, a)| n == at || !a.runs() || a.guard.is_active());
        let actor = &mut next.actors[at];
        match what {
            Move::Step | Move::StepWithoutReply => {
                let command = actor.guard.poll()?;
                if let Command::Wait { until } = &command {
                    if !settled || matches!(what, Move::StepWithoutReply) {
                        return None;
                    }
                    next.now = *until;
                    next.beat_all();
                }
                let actor = &mut next.actors[at];
                let mut reply = next.cluster.execute(command);
                if let Move::StepWithoutReply = what {
                    actor.lost_replies = actor.lost_replies.checked_sub(1)?;
                    reply = Reply::Failed("no answer".into());
                }
                actor.guard.handle(next.now, reply);
            }
            Move::Stop => {
                if !actor.guard.is_active() {
                    return None;
                }
                actor.guard.handle_stop();
            }
            Move::Heartbeat => {
                if !actor.guard.is_active() {
                    return None;
                }
                actor.heartbeats = actor.heartbeats.checked_sub(1)?;
                actor.guard.handle_heartbeat();
            }
            Move::Crash => actor.crashed = true,
        }
        Some(next)
    }

    fn beat_all(&mut self) {
        for at in 0..self.actors.len() {
            if self.actors[at].runs() && self.actors[at].guard.is_active() {
                self.actors[at].guard.handle_heartbeat();
                run(&mut self.actors[at].guard, &mut self.cluster, &mut self.now);
            }
        }
    }
}

/// Runs one guard until it has no command.
fn run(guard: &mut Guard, cluster: &mut Cluster, now: &mut Time) {
    for _ in 0..200 {
        let Some(command) = guard.poll() else { return };
        if let Command::Wait { until } = &command {
            *now = *until;
        }
        let reply = cluster.execute(command);
        guard.handle(*now, reply);
    }
    panic!("no end: {guard:#?}");
}

/// All actors stop here for ever, and a recovery starts.
fn check_recoverable(world: &World, story: &Option<Rc<Story>>) {
    let mut cluster = world.cluster.clone();
    let mut guard = Guard::recover("later".into(), "x".into(), DEAD_AFTER, Changes::new());
    let mut now = world.now;
    run(&mut guard, &mut cluster, &mut now);
    assert!(
        matches!(guard.outcome(), Some(GuardOutcome::Restored { .. } | GuardOutcome::Nothing)),
        "{guard:?} {story:#?}"
    );
    assert!(now.since(world.now) <= DEAD_AFTER);
    cluster.check_as_before(story);
}

/// Searches all states and returns their number. If `respected` is false, a forced recovery ignores
/// live loads, so only the final state has to be right.
fn search(start: World, crashes_allowed: usize, respected: bool) -> usize {
    let lost_replies: u8 = start.actors.iter().map(|a| a.lost_replies).sum();
    let (mut seen, mut clusters) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![(start, None)];
    while let Some((world, story)) = open.pop() {
        if !seen.insert(hash(&world)) {
            continue;
        }
        assert!(seen.len() < 200_000, "the search does not end");
        // A later recovery knows only the cluster.
        if respected && clusters.insert(hash(&world.cluster)) {
            world.cluster.check_written_down(&story);
            check_recoverable(&world, &story);
        }
        let crashes = world.actors.iter().filter(|a| a.crashed).count();
        let all_answered = world.actors.iter().map(|a| a.lost_replies).sum::<u8>() == lost_replies;
        // The share of a load that crashed long ago is left to a recovery, unless it was observed
        // for long enough.
        let left = world.cluster.lease.as_ref().is_some_and(|(lease, _)| lease.holders.keys().eq(["dead"]));
        if world.actors.iter().all(|a| !a.runs()) && crashes == 0 && all_answered && !left {
            world.cluster.check_as_before(&story);
        }
        for at in 0..world.actors.len() {
            for what in MOVES {
                if matches!(what, Move::Crash) && crashes >= crashes_allowed {
                    continue;
                }
                if let Some(next) = world.after(at, what) {
                    let command = world.actors[at].guard.clone().poll();
                    let last = format!("{at} {what:?}: {command:?}");
                    open.push((next, Some(Rc::new(Story { last, before: story.clone() }))));
                }
            }
        }
    }
    seen.len()
}

fn hash(state: &impl Debug) -> u64 {
    xxhash_rust::xxh3::xxh3_64(format!("{state:?}").as_bytes())
}

fn loader(name: &str, bytes: u64) -> Actor {
    let profile = LoadProfile { bytes_total: Some(bytes), empty: true, data_nodes: Some(2), ..LoadProfile::default() };
    Actor::new(Guard::hold(name.into(), "x".into(), profile))
}

fn world(actors: impl Into<Vec<Actor>>) -> World {
    World { now: Time::START, cluster: Cluster::new(), actors: actors.into() }
}

#[test]
fn one_load_with_lost_replies_stopped_anywhere() {
    let mut load = loader("a", LARGE_BYTES_MIN);
    (load.lost_replies, load.heartbeats) = (2, 1);
    let states = search(world([load]), 1, true);
    assert!(states > 50, "{states}");
}

#[test]
fn two_loads_in_every_order_one_of_them_stopped_anywhere() {
    // The second load is smaller and wants fewer changes. It must not undo those of the first one.
    for second in [LARGE_BYTES_MIN, LARGE_BYTES_MIN / 2] {
        let states = search(world([loader("a", LARGE_BYTES_MIN), loader("b", second)]), 1, true);
        assert!(states > 500, "{states}");
    }
}

#[test]
fn a_load_and_a_recovery_after_a_crash() {
    let mut start = world([loader("a", LARGE_BYTES_MIN)]);
    // A load crashed midway.
    let mut dead = loader("dead", LARGE_BYTES_MIN).guard;
    run(&mut dead, &mut start.cluster, &mut start.now);
    assert!(dead.is_active() && start.cluster.settings[REFRESH] == "60s");
    start.actors.push(Actor::new(Guard::recover("r".into(), "x".into(), DEAD_AFTER, Changes::new())));
    let states = search(start, 2, true);
    assert!(states > 300, "{states}");
}

#[test]
fn a_forced_recovery_beside_a_load() {
    let mut start = world([loader("a", LARGE_BYTES_MIN)]);
    start.actors.push(Actor::new(Guard::recover("r".into(), "x".into(), Duration::ZERO, Changes::new())));
    let states = search(start, 0, false);
    assert!(states > 100, "{states}");
}

/// Three loads and a recovery with heartbeats, lost replies and crashes in random order: too many
/// states for a search.
#[test]
fn crowds_in_random_order() {
    for seed in 0..300_u64 {
        let mut random = seed;
        let mut below = |n: usize| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (random >> 33) as usize % n
        };
        let mut actors: Vec<Actor> = ["a", "b", "c"].map(|name| loader(name, LARGE_BYTES_MIN >> below(2))).into();
        for actor in &mut actors {
            (actor.heartbeats, actor.lost_replies) = (3, 1);
        }
        actors.push(Actor::new(Guard::recover("r".into(), "x".into(), DEAD_AFTER, Changes::new())));
        let (mut state, mut story, mut crashes) = (world(actors), None, 0);
        for _ in 0..120 {
            let (at, what) = (below(4), [Move::Step, Move::Step, Move::Step, MOVES[below(5)]][below(4)]);
            if matches!(what, Move::Crash) && crashes == 2 {
                continue;
            }
            let Some(next) = state.after(at, what) else { continue };
            crashes += usize::from(matches!(what, Move::Crash));
            let last = format!("{at} {what:?}: {:?}", state.actors[at].guard.clone().poll());
            story = Some(Rc::new(Story { last, before: story }));
            state = next;
            state.cluster.check_written_down(&story);
        }
        check_recoverable(&state, &story);
    }
}
