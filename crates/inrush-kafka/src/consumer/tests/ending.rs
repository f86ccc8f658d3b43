//! The end of a bounded load, and a stop.

use super::*;

fn bounded() -> Scene {
    Scene::with(|options| options.until = Some(Until::Latest))
}

#[test]
fn empty_partitions_are_at_their_end() {
    let mut scene = bounded();
    scene.cluster().logs = (0..2).map(|partition| (at(partition), Log::new([]))).collect();
    scene.goes_on();
    assert!(!scene.is_ended(), "the group has not assigned anything yet");
    scene.assign([0, 1]);
    assert!(scene.is_ended());
    assert_eq!(scene.close(), offsets([(0, 0), (1, 0)]));
}

#[test]
fn a_load_ends_where_partitions_ended_when_they_came() {
    let mut scene = bounded();
    scene.cluster().logs.insert(at(1), Log::new([]));
    scene.assign([0, 1]);
    for partition in 0..2 {
        scene.cluster().logs.insert(at(partition), Log::new(0..200));
    }
    scene.records(1, 10);
    scene.records(0, 90);
    assert!(!scene.is_ended());
    scene.records(0, 20);
    assert!(scene.is_ended());
    assert_eq!(scene.take(), [(0, 0, 90), (0, 90, 100)]);
    scene.settle(0, 100);
    assert_eq!(scene.close(), offsets([(0, 100), (1, 0)]));
}

#[test]
fn markers_and_deleted_records_at_the_end_do_not_keep_a_load_running() {
    let mut scene = bounded();
    scene.cluster().logs = [(at(0), Log { end: 60, ..Log::new([3, 40]) })].into();
    scene.assign([0]);
    scene.records(0, 2);
    pass(POSITIONS_EVERY);
    scene.goes_on();
    assert!(scene.is_ended());
    scene.take();
    scene.settle(0, 41);
    assert_eq!(scene.close(), offsets([(0, 60)]));
}

#[test]
fn a_load_does_not_end_before_it_knows_the_end_of_a_partition_that_comes() {
    let mut scene = bounded();
    scene.assign([0]);
    scene.records(0, 90);
    scene.cluster().unreachable = 1;
    scene.assign([1]);
    scene.records(0, 10);
    assert!(!scene.is_ended());
    pass(ASK_AGAIN);
    scene.goes_on();
    scene.records(1, 100);
    assert!(scene.is_ended());
    assert_eq!(scene.take().last(), Some(&(1, 0, 100)));
}

#[test]
fn a_load_does_not_end_while_a_partition_is_being_taken_away() {
    let mut scene = bounded();
    scene.assign([0, 1]);
    scene.records(0, 10);
    scene.take();
    scene.revoke([0]);
    scene.records(1, 100);
    assert!(!scene.is_ended());
    scene.settle(0, 10);
    scene.goes_on();
    assert!(scene.is_ended());
    scene.take();
    scene.settle(1, 100);
    assert_eq!(scene.close(), offsets([(0, 10), (1, 100)]));
}

#[test]
fn a_partition_is_committed_that_leaves_while_a_load_is_stopped() {
    let mut scene = Scene::new();
    scene.assign([0, 1]);
    scene.records(0, 10);
    scene.records(1, 10);
    scene.take();
    scene.revoke([0]);
    scene.shared.change(|state| state.is_stopped = true);
    scene.goes_on();
    assert!(scene.is_ended());
    scene.records(1, 10);
    assert_eq!(scene.take(), [], "nothing is given after the end");
    scene.settle(0, 10);
    scene.settle(1, 10);
    scene.goes_on();
    assert_eq!(scene.assigned().len(), 1);
    assert_eq!(scene.close(), offsets([(0, 10), (1, 10)]));
}

#[test]
fn a_member_without_partitions_waits_for_the_others() {
    let mut scene = bounded();
    scene.assign([]);
    scene.cluster().committed = offsets([(0, 100), (1, 99)]);
    pass(OTHERS_EVERY);
    scene.goes_on();
    assert!(!scene.is_ended());
    scene.cluster().committed = offsets([(0, 100), (1, 100)]);
    // Brokers that do not answer are asked again.
    scene.cluster().unreachable = 1;
    pass(OTHERS_EVERY);
    scene.goes_on();
    assert!(!scene.is_ended());
    pass(OTHERS_EVERY);
    scene.goes_on();
    assert!(scene.is_ended());
}
