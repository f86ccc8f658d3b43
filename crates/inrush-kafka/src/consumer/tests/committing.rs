//! Commits that are late, refused, or the last one.

use super::*;

/// Ten records that the engine has settled, and whose commit was sent.
fn sent() -> Scene {
    let mut scene = Scene::new();
    scene.cluster().committed = offsets([(0, 0)]);
    scene.assign([0]);
    scene.records(0, 10);
    scene.take();
    scene.settle(0, 10);
    pass(Duration::from_secs(1));
    scene.goes_on();
    assert_eq!(scene.cluster().unanswered, Some((offsets([(0, 10)]), false)));
    scene
}

#[test]
fn gaps_and_markers_are_committed_with_the_records_before_them() {
    let mut scene = Scene::new();
    scene.cluster().logs.insert(at(0), Log { end: 60, ..Log::new([3, 4, 20, 50]) });
    scene.cluster().committed = offsets([(0, 0)]);
    scene.assign([0]);
    scene.records(0, 2);
    scene.records(0, 2);
    assert_eq!(scene.take(), [(0, 0, 5), (0, 5, 51)]);
    scene.settle(0, 5);
    pass(Duration::from_secs(1));
    scene.goes_on();
    scene.answer(Ok(()));
    assert_eq!(scene.committed(), offsets([(0, 5)]));
    pass(POSITIONS_EVERY);
    scene.settle(0, 51);
    scene.goes_on();
    assert_eq!(scene.close(), offsets([(0, 60)]));
}

#[test]
fn one_commit_is_sent_at_a_time() {
    let mut scene = sent();
    scene.records(0, 10);
    scene.settle(0, 20);
    pass(Duration::from_secs(1));
    scene.goes_on();
    assert_eq!(scene.cluster().commits.len(), 1);
    scene.answer(Ok(()));
    pass(Duration::from_secs(1));
    scene.goes_on();
    assert_eq!(scene.cluster().commits[1..], [offsets([(0, 20)])]);
}

#[test]
fn a_refused_commit_is_sent_again() {
    for refusal in [is_away(), ClientError::stale("unknown member")] {
        let mut scene = sent();
        scene.answer(Err(refusal));
        pass(Duration::from_secs(1));
        scene.goes_on();
        scene.answer(Ok(()));
        assert_eq!(scene.cluster().commits, [offsets([(0, 10)]), offsets([(0, 10)])]);
        assert_eq!(scene.committed(), offsets([(0, 10)]));
        assert!(scene.shared.state().assignment.is_committed());
    }
}

#[test]
fn a_member_that_may_not_commit_ends() {
    let mut scene = sent();
    let refusal = ClientError::lasting("no rights");
    assert_eq!(scene.polls(Polled::Committed(Err(refusal.clone()))), Err(refusal));
}

#[test]
fn a_partition_leaves_after_the_commit_that_has_no_answer() {
    let mut scene = sent();
    scene.revoke([0]);
    assert_eq!((scene.assigned(), scene.committed()), (offsets([]), offsets([(0, 10)])));
    assert_eq!(scene.cluster().commits.len(), 2, "the answer to the second one is waited for");
}

#[test]
fn an_answer_for_a_partition_that_has_left_since_is_passed_over() {
    let mut scene = sent();
    scene.lose([0]);
    // The user has reset the group.
    scene.cluster().committed.insert(at(0), 5);
    scene.assign([0]);
    scene.answer(Err(is_away()));
    scene.records(0, 5);
    assert_eq!(scene.take(), [(1, 5, 10)]);
    scene.settle(1, 8);
    assert_eq!(scene.close(), offsets([(0, 8)]));
}

#[test]
fn a_partition_waits_for_a_coordinator_that_is_away() {
    let mut scene = Scene::new();
    scene.assign([0]);
    scene.records(0, 10);
    scene.take();
    scene.cluster().refusals = [is_away(), is_away()].into();
    scene.revoke([0]);
    scene.settle(0, 10);
    scene.goes_on();
    assert!(!scene.assigned().is_empty());
    for _ in 0..2 {
        scene.goes_on();
    }
    assert_eq!((scene.assigned(), scene.committed()), (offsets([]), offsets([(0, 10)])));
}

#[test]
fn a_partition_leaves_without_a_commit_that_cannot_succeed() {
    let mut scene = sent();
    scene.cluster().unanswered = None;
    scene.cluster().refusals = [ClientError::stale("unknown member")].into();
    scene.revoke([0]);
    assert_eq!((scene.assigned(), scene.committed()), (offsets([]), offsets([(0, 0)])));
}

#[test]
fn the_last_commit_is_made_again_where_its_answer_is_not_known() {
    let scene = sent();
    scene.cluster().refusals = [is_away()].into();
    assert_eq!(scene.close(), offsets([(0, 10)]));
}

#[test]
fn what_is_settled_is_committed_after_an_error() {
    let mut scene = sent();
    let fenced = ClientError::lasting("another member has this name");
    scene.cluster().polls.push_back(Step { records: Vec::new(), then: Err(fenced) });
    let error = scene.run().unwrap_err();
    assert!(!error.is_retriable);
    scene.cluster().polls.push_back(Step { records: Vec::new(), then: Err(error) });
    let shared = Arc::clone(&scene.shared);
    let (consumer, cluster) = (scene.consumer, scene.cluster);
    let thread = std::thread::spawn(move || consumer.run());
    let error = loop {
        match shared.next(LONGEST) {
            Ok(Next::End) => panic!("the error is told first"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("another member has this name"), "{error}");
    shared.change(|state| state.is_closed = true);
    thread.join().unwrap();
    assert_eq!(cluster.lock().unwrap().committed, offsets([(0, 10)]));
}

/// How long a test waits for something that has to come.
const LONGEST: Duration = Duration::from_secs(60);
