//! The guard by example, one reply at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::policy::{AUTO_EXPAND, LARGE_BYTES_MIN, REFRESH, REPLICAS};
use super::*;
use crate::time::Time;

const LARGE: LoadProfile = LoadProfile {
    bytes_total: Some(LARGE_BYTES_MIN),
    empty: false,
    replicas_off: false,
    async_translog: false,
    data_nodes: None,
    block_writes: false,
    no_graphs: false,
};
const NOW: Time = Time::START;

fn version(seq_no: u64) -> Version {
    Version { seq_no, primary_term: 1 }
}

fn settings(set: &[(&str, &str)]) -> Reply {
    let set = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let defaults = BTreeMap::from([("index.merge.scheduler.auto_throttle".to_owned(), "false".to_owned())]);
    Reply::Settings(Settings { set, defaults })
}

fn values(pairs: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect()
}

fn put(guard: &mut Guard) -> BTreeMap<String, Option<String>> {
    match guard.poll() {
        Some(Command::Put { values, .. }) => values,
        other => panic!("{other:?}"),
    }
}

fn written(guard: &mut Guard) -> Lease {
    match guard.poll() {
        Some(Command::WriteLease { lease, .. }) => lease,
        other => panic!("{other:?}"),
    }
}

/// Joins without a lease, with the settings `set`. Returns the lease.
fn join(guard: &mut Guard, set: &[(&str, &str)]) -> Lease {
    assert_eq!(guard.poll(), Some(Command::ReadLease));
    guard.handle(NOW, Reply::Lease(None));
    assert!(written(guard).changes.is_empty());
    guard.handle(NOW, Reply::Written(version(0)));
    assert_eq!(guard.poll(), Some(Command::ReadSettings));
    guard.handle(NOW, settings(set));
    let lease = written(guard);
    guard.handle(NOW, Reply::Written(version(1)));
    lease
}

/// The lease is read once more after the settings were changed.
fn confirm(guard: &mut Guard, lease: &Lease) {
    assert_eq!(guard.poll(), Some(Command::ReadLease));
    guard.handle(NOW, Reply::Lease(Some((lease.clone(), version(1)))));
    assert!(written(guard).holders["a"].beat > lease.holders["a"].beat);
    guard.handle(NOW, Reply::Written(version(1)));
    assert!(guard.is_active());
}

/// Stops, and answers until the settings are requested.
fn stop(guard: &mut Guard, lease: Lease) {
    guard.handle_stop();
    assert_eq!(guard.poll(), Some(Command::ReadLease));
    guard.handle(NOW, Reply::Lease(Some((lease, version(1)))));
    assert!(matches!(written(guard).phase, Phase::Restoring { .. }));
    guard.handle(NOW, Reply::Written(version(2)));
    assert_eq!(guard.poll(), Some(Command::ReadSettings));
}

#[test]
fn a_setting_without_a_value_is_reset() {
    let mut guard = Guard::hold("a".into(), "x".into(), LARGE);
    let lease = join(&mut guard, &[]);
    assert_eq!(lease.changes[REFRESH], Change { original: None, applied: "60s".into() });
    assert_eq!(put(&mut guard), values(&[(REFRESH, Some("60s"))]));
    guard.handle(NOW, Reply::Put);
    confirm(&mut guard, &lease);
    stop(&mut guard, lease);
    guard.handle(NOW, settings(&[(REFRESH, "60s")]));
    assert_eq!(put(&mut guard), values(&[(REFRESH, None)]));
    guard.handle(NOW, Reply::Put);
    assert_eq!(guard.poll(), Some(Command::DeleteLease { version: version(2) }));
    guard.handle(NOW, Reply::Deleted);
    assert_eq!(guard.outcome(), Some(&GuardOutcome::Restored { foreign: vec![] }));
}

#[test]
fn a_setting_changed_by_others_is_not_restored() {
    let mut guard = Guard::hold("a".into(), "x".into(), LARGE);
    let lease = join(&mut guard, &[(REFRESH, "5s")]);
    put(&mut guard);
    guard.handle(NOW, Reply::Put);
    stop(&mut guard, lease);
    guard.handle(NOW, settings(&[(REFRESH, "17s")]));
    assert_eq!(guard.poll(), Some(Command::DeleteLease { version: version(2) }));
    guard.handle(NOW, Reply::Deleted);
    assert_eq!(guard.outcome(), Some(&GuardOutcome::Restored { foreign: vec![REFRESH.to_owned()] }));
}

#[test]
fn refused_replicas_leave_the_rest() {
    let profile = LoadProfile { replicas_off: true, ..LARGE };
    let mut guard = Guard::hold("a".into(), "x".into(), profile);
    let before = [(AUTO_EXPAND, "0-all"), (REPLICAS, "2")];
    let lease = join(&mut guard, &before);
    assert_eq!(put(&mut guard).len(), 3);
    guard.handle(NOW, Reply::Refused("forced awareness".into()));
    assert_eq!(put(&mut guard), values(&[(AUTO_EXPAND, Some("false")), (REPLICAS, Some("0"))]));
    guard.handle(NOW, Reply::Refused("forced awareness".into()));
    assert_eq!(put(&mut guard), values(&[(REFRESH, Some("60s"))]));
    guard.handle(NOW, Reply::Put);
    confirm(&mut guard, &lease);
    let refused: Vec<&str> = guard.refused().keys().map(String::as_str).collect();
    assert_eq!(refused, [AUTO_EXPAND, REPLICAS]);
    assert_eq!(guard.changes().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [REFRESH]);
    stop(&mut guard, lease);
    guard.handle(NOW, settings(&[before[0], before[1], (REFRESH, "60s")]));
    assert_eq!(put(&mut guard), values(&[(REFRESH, None)]));
}

#[test]
fn settings_that_cannot_be_restored_stay_in_the_lease() {
    let mut guard = Guard::hold("a".into(), "x".into(), LoadProfile { replicas_off: true, ..LARGE });
    let lease = join(&mut guard, &[(REPLICAS, "1")]);
    put(&mut guard);
    guard.handle(NOW, Reply::Put);
    stop(&mut guard, lease);
    guard.handle(NOW, settings(&[(REPLICAS, "0"), (REFRESH, "60s")]));
    assert_eq!(put(&mut guard).len(), 2);
    guard.handle(NOW, Reply::Refused("both".into()));
    assert_eq!(put(&mut guard), values(&[(REPLICAS, Some("1"))]));
    guard.handle(NOW, Reply::Refused("awareness".into()));
    assert_eq!(put(&mut guard), values(&[(REFRESH, None)]));
    guard.handle(NOW, Reply::Put);
    let kept = written(&mut guard);
    assert_eq!((kept.phase, kept.holders.len()), (Phase::Held, 0));
    assert_eq!(kept.changes.keys().collect::<Vec<_>>(), [REPLICAS]);
    guard.handle(NOW, Reply::Written(version(3)));
    let refused = BTreeMap::from([(REPLICAS.to_owned(), "awareness".to_owned())]);
    assert_eq!(guard.outcome(), Some(&GuardOutcome::NotRestored { refused }));
}

#[test]
fn a_guard_that_may_not_write_the_lease_changes_nothing() {
    let mut guard = Guard::hold("a".into(), "x".into(), LARGE);
    guard.poll();
    guard.handle(NOW, Reply::Lease(None));
    written(&mut guard);
    guard.handle(NOW, Reply::Failed("forbidden".into()));
    assert_eq!(guard.poll(), Some(Command::ReadLease));
    // Whether the lease exists or not, it has no changes.
    guard.handle(NOW, Reply::Failed("no shard".into()));
    assert_eq!((guard.outcome(), guard.problem()), (Some(&GuardOutcome::Nothing), Some("forbidden")));
}

#[test]
fn live_holders_keep_the_lease_and_dead_ones_do_not() {
    let lease = |holders: &[&str]| Lease {
        index: "x".into(),
        phase: Phase::Held,
        changes: Changes::from([(REFRESH.to_owned(), Change { original: None, applied: "60s".into() })]),
        holders: holders.iter().map(|id| ((*id).to_owned(), Holder::default())).collect(),
    };
    for dead in [false, true] {
        let mut guard = Guard::hold("a".into(), "x".into(), LARGE);
        guard.poll();
        guard.handle(NOW, Reply::Lease(Some((lease(&["b"]), version(0)))));
        guard.poll();
        guard.handle(NOW, settings(&[(REFRESH, "60s")]));
        // No setting has to be changed, but a share is taken.
        assert_eq!(written(&mut guard).holders.len(), 2);
        guard.handle(NOW, Reply::Written(version(1)));
        assert!(guard.is_active());
        if dead {
            guard.know_holder("b", false);
        }
        guard.handle_stop();
        guard.poll();
        guard.handle(NOW, Reply::Lease(Some((lease(&["a", "b"]), version(1)))));
        let next = written(&mut guard);
        assert_eq!(matches!(next.phase, Phase::Restoring { .. }), dead);
        if !dead {
            assert_eq!(next.holders.keys().collect::<Vec<_>>(), ["b"]);
            guard.handle(NOW, Reply::Written(version(2)));
            assert_eq!(guard.outcome(), Some(&GuardOutcome::PassedOn { holders: 1 }));
        }
    }
}

#[test]
fn a_lease_that_was_deleted_by_hand_does_not_lose_the_originals() {
    let mut guard = Guard::hold("a".into(), "x".into(), LARGE);
    let lease = join(&mut guard, &[(REFRESH, "5s")]);
    put(&mut guard);
    guard.handle(NOW, Reply::Put);
    confirm(&mut guard, &lease);
    // A heartbeat finds no lease. The guard takes it again, with the originals.
    guard.handle_heartbeat();
    guard.poll();
    guard.handle(NOW, Reply::Lease(None));
    written(&mut guard);
    guard.handle(NOW, Reply::Written(version(5)));
    guard.poll();
    guard.handle(NOW, settings(&[(REFRESH, "60s")]));
    assert_eq!(written(&mut guard).changes[REFRESH].original.as_deref(), Some("5s"));
    guard.handle(NOW, Reply::Written(version(6)));
    assert!(guard.is_active());
    // The lease is deleted once more, and the load ends.
    guard.handle_stop();
    guard.poll();
    guard.handle(NOW, Reply::Lease(None));
    guard.poll();
    guard.handle(NOW, settings(&[(REFRESH, "60s")]));
    assert_eq!(put(&mut guard), values(&[(REFRESH, Some("5s"))]));
    guard.handle(NOW, Reply::Put);
    assert_eq!(guard.outcome(), Some(&GuardOutcome::Restored { foreign: vec![] }));
}

#[test]
fn a_recovery_waits_for_a_heartbeat() {
    let lease = |beat| Lease {
        index: "x".into(),
        phase: Phase::Held,
        changes: Changes::new(),
        holders: BTreeMap::from([("b".to_owned(), Holder { beat })]),
    };
    let at = |seconds| Time::from_start(Duration::from_secs(seconds));
    let mut guard = Guard::recover("r".into(), "x".into(), DEAD_AFTER, Changes::new());
    guard.poll();
    guard.handle(at(0), Reply::Lease(Some((lease(3), version(0)))));
    assert_eq!(guard.poll(), Some(Command::Wait { until: at(5) }));
    guard.handle(at(5), Reply::Due);
    guard.poll();
    guard.handle(at(5), Reply::Lease(Some((lease(4), version(0)))));
    assert_eq!(guard.outcome(), Some(&GuardOutcome::PassedOn { holders: 1 }));
}

#[test]
fn an_index_that_is_gone_needs_no_settings() {
    let mut guard = Guard::hold("a".into(), "x".into(), LARGE);
    let lease = join(&mut guard, &[]);
    put(&mut guard);
    guard.handle(NOW, Reply::Put);
    stop(&mut guard, lease);
    guard.handle(NOW, Reply::Gone);
    assert_eq!(guard.poll(), Some(Command::DeleteLease { version: version(2) }));
}

const OPTIONS: &str = "mappings.v.index_options";

/// An index that was created without graphs of its vectors.
fn made() -> Changes {
    Changes::from([(OPTIONS.to_owned(), Change { original: Some("hnsw".into()), applied: "flat".into() })])
}

fn of_new_index() -> Guard {
    Guard::hold("a".into(), "x".into(), LoadProfile::default()).with_made(made())
}

#[test]
fn changes_of_the_creation_are_written_down_and_put_back_and_never_made() {
    let mut guard = of_new_index();
    let lease = join(&mut guard, &[(OPTIONS, "flat")]);
    assert_eq!(lease.changes, made());
    assert!(guard.is_active(), "nothing is to be changed: {guard:?}");
    stop(&mut guard, lease);
    guard.handle(NOW, settings(&[(OPTIONS, "flat")]));
    assert_eq!(put(&mut guard), values(&[(OPTIONS, Some("hnsw"))]));
    guard.handle(NOW, Reply::Put);
    assert!(matches!(guard.poll(), Some(Command::DeleteLease { .. })));
    guard.handle(NOW, Reply::Deleted);
    assert_eq!(guard.outcome(), Some(&GuardOutcome::Restored { foreign: Vec::new() }));
}

#[test]
fn changes_of_the_creation_are_put_back_at_once_where_no_lease_can_be_held() {
    // The lease can neither be read nor written.
    let mut guard = of_new_index();
    for _ in 0..2 {
        assert_eq!(guard.poll(), Some(Command::ReadLease));
        guard.handle(NOW, Reply::Failed("no right".into()));
    }
    assert_eq!(guard.poll(), Some(Command::ReadSettings));
    guard.handle(NOW, settings(&[(OPTIONS, "flat")]));
    assert_eq!(put(&mut guard), values(&[(OPTIONS, Some("hnsw"))]));
    guard.handle(NOW, Reply::Put);
    assert_eq!(
        (guard.outcome(), guard.problem()),
        (Some(&GuardOutcome::Restored { foreign: Vec::new() }), Some("no right"))
    );
}

#[test]
fn a_lease_without_changes_hides_none_of_the_creation() {
    // A load was killed between its first two writes of the lease.
    let holders = BTreeMap::from([("dead".to_owned(), Holder { beat: 1 })]);
    let lease = Lease { index: "x".into(), phase: Phase::Held, changes: Changes::new(), holders };
    let mut guard = Guard::recover("r".into(), "x".into(), Duration::ZERO, Changes::new()).with_made(made());
    assert_eq!(guard.poll(), Some(Command::ReadLease));
    guard.handle(NOW, Reply::Lease(Some((lease, version(1)))));
    assert!(matches!(written(&mut guard).phase, Phase::Restoring { .. }));
    guard.handle(NOW, Reply::Written(version(2)));
    assert_eq!(guard.poll(), Some(Command::ReadSettings));
    guard.handle(NOW, settings(&[(OPTIONS, "flat")]));
    assert_eq!(put(&mut guard), values(&[(OPTIONS, Some("hnsw"))]));
    // The server refuses it: the lease keeps it for the next recovery.
    guard.handle(NOW, Reply::Refused("blocked".into()));
    assert_eq!(written(&mut guard).changes, made());
}

#[test]
fn a_change_of_the_creation_that_was_put_back_stays_so() {
    let mut guard = of_new_index();
    assert_eq!(guard.poll(), Some(Command::ReadLease));
    guard.handle(NOW, Reply::Lease(None));
    guard.poll();
    guard.handle(NOW, Reply::Written(version(0)));
    assert_eq!(guard.poll(), Some(Command::ReadSettings));
    // Another process has put it back before there was a lease.
    guard.handle(NOW, settings(&[(OPTIONS, "hnsw")]));
    assert!(guard.is_active() && guard.poll().is_none(), "{guard:?}");
}
