//! Partitions that come, go, and are lost.

use super::*;

#[test]
fn a_partition_leaves_once_the_engine_has_settled_its_blocks() {
    let mut scene = Scene::new();
    scene.assign([0, 1]);
    scene.records(0, 10);
    assert_eq!(scene.take(), [(0, 0, 10)]);
    scene.records(0, 5);
    scene.records(1, 5);
    scene.revoke([0]);
    // The block that still waits is read by the next member.
    assert_eq!(scene.take(), [(1, 0, 5)]);
    scene.settle(0, 9);
    scene.goes_on();
    assert_eq!(scene.assigned(), offsets([(0, 15), (1, 5)]));
    scene.settle(0, 10);
    scene.goes_on();
    assert_eq!((scene.assigned(), scene.committed()[&at(0)]), (offsets([(1, 5)]), 10));
    // Others are read meanwhile.
    scene.records(1, 5);
    assert_eq!(scene.take(), [(1, 5, 10)]);
}

#[test]
fn records_that_come_with_the_end_of_a_partition_are_not_given() {
    let mut scene = Scene::new();
    scene.assign([0]);
    let then = Ok(Polled::Revoked(vec![at(0)]));
    scene.cluster().polls.push_back(Step { records: vec![(at(0), 10)], then });
    scene.goes_on();
    assert_eq!(scene.take(), []);
    assert_eq!((scene.assigned(), scene.committed()), (offsets([]), offsets([(0, 0)])));
    // Neither are those before a gap that is too wide for one block.
    let far = 5_000_000_000;
    scene.cluster().logs.insert(at(0), Log::new((0..10).chain(far..far + 10)));
    scene.assign([0]);
    let then = Ok(Polled::Revoked(vec![at(0)]));
    scene.cluster().polls.push_back(Step { records: vec![(at(0), 15)], then });
    scene.goes_on();
    assert_eq!(scene.take(), []);
    assert_eq!((scene.assigned(), scene.committed()), (offsets([]), offsets([(0, 0)])));
}

#[test]
fn a_partition_whose_documents_are_not_settled_leaves_when_its_time_is_over() {
    let mut scene = Scene::new();
    scene.assign([0]);
    scene.records(0, 10);
    scene.take();
    scene.revoke([0]);
    scene.settle(0, 4);
    pass(Duration::from_secs(19));
    scene.goes_on();
    assert!(!scene.assigned().is_empty());
    pass(Duration::from_secs(1));
    scene.goes_on();
    assert_eq!((scene.assigned(), scene.committed()), (offsets([]), offsets([(0, 4)])));
    scene.settle(0, 10);
    assert_eq!(scene.close(), offsets([(0, 4)]));
}

#[test]
fn nothing_of_a_lost_partition_goes_on() {
    let mut scene = Scene::new();
    scene.assign([0, 1]);
    scene.records(0, 10);
    assert_eq!(scene.take_one(), Some((0, 0, 10)));
    scene.records(0, 10);
    scene.records(1, 10);
    scene.lose([0]);
    assert_eq!(scene.take(), [(1, 0, 10)], "a block that waits could overwrite what the other member writes");
    assert_eq!(scene.shared.state().take_lost(), [0], "the engine gives back what it has not sent");
    scene.settle(0, 10);
    scene.settle(1, 10);
    scene.goes_on();
    assert_eq!(scene.assigned(), offsets([(1, 10)]));
    assert_eq!(scene.close(), offsets([(0, 0), (1, 10)]));
}

#[test]
fn a_partition_that_leaves_can_be_lost() {
    let mut scene = Scene::new();
    scene.assign([0, 1]);
    scene.records(0, 10);
    scene.take();
    scene.revoke([0]);
    scene.lose([0, 1]);
    scene.settle(0, 10);
    scene.goes_on();
    assert_eq!(scene.assigned(), offsets([]));
    assert!(scene.consumer.leaving.is_none());
    // Another one is still waited for.
    scene.assign([0, 1]);
    scene.records(0, 10);
    scene.take();
    scene.revoke([0, 1]);
    scene.lose([1]);
    assert_eq!(scene.assigned(), offsets([(0, 10)]));
    scene.settle(2, 10);
    scene.goes_on();
    assert_eq!((scene.assigned(), scene.committed()[&at(0)]), (offsets([]), 10));
}

#[test]
fn partitions_that_are_gone_before_the_brokers_answer_are_not_read() {
    for event in [Polled::Lost, Polled::Revoked] {
        let mut scene = Scene::new();
        scene.cluster().unreachable = 1;
        scene.assign([0, 1]);
        scene.event(event(vec![at(0)]));
        pass(ASK_AGAIN);
        scene.goes_on();
        assert_eq!(scene.assigned(), offsets([(1, 0)]));
        scene.records(1, 10);
        assert_eq!(scene.take().len(), 1);
    }
}

#[test]
fn brokers_that_do_not_answer_are_asked_again() {
    let mut scene = Scene::new();
    scene.cluster().unreachable = 2;
    scene.assign([0]);
    assert_eq!(scene.assigned(), offsets([]));
    for _ in 0..2 {
        pass(ASK_AGAIN);
        scene.goes_on();
    }
    assert_eq!(scene.assigned(), offsets([(0, 0)]));
}

#[test]
fn a_partition_that_comes_back_begins_where_the_other_member_ended() {
    let mut scene = Scene::new();
    scene.assign([0]);
    scene.records(0, 10);
    scene.take();
    scene.lose([0]);
    scene.cluster().committed.insert(at(0), 50);
    scene.assign([0]);
    scene.records(0, 10);
    assert_eq!(scene.take(), [(1, 50, 60)]);
    // Documents of the time before.
    scene.settle(0, 10);
    scene.goes_on();
    assert_eq!(scene.committed()[&at(0)], 50);
    scene.settle(1, 60);
    assert_eq!(scene.close()[&at(0)], 60);
}

#[test]
fn what_is_not_sent_in_time_is_given_back_before_the_next_member_begins() {
    let mut scene = Scene::new();
    scene.assign([0, 1]);
    scene.records(0, 10);
    scene.take();
    scene.revoke([0]);
    let settle_for = KafkaOptions::new(KafkaAddress::parse("kafka://broker/orders").unwrap()).settle_for;
    pass(settle_for / 2);
    scene.goes_on();
    assert!(scene.shared.state().take_lost().is_empty());
    pass(settle_for / 4);
    scene.goes_on();
    assert_eq!(scene.shared.state().take_lost(), [0]);
    assert!(scene.assigned().contains_key(&at(0)), "requests in flight are answered");
    scene.settle(0, 4);
    pass(settle_for / 4);
    scene.goes_on();
    assert!(scene.shared.state().take_lost().is_empty());
    assert_eq!((scene.assigned(), scene.committed()), (offsets([(1, 0)]), offsets([(0, 4), (1, 0)])));
}
