//! Offsets that a broker does not have.

use super::*;

/// The group has committed offset 20 of a partition that has those from `first` on, up to `end`.
fn committed(first: i64, end: i64, on_gap: OnGap) -> Scene {
    let scene = Scene::with(|options| (options.on_gap, options.until) = (on_gap, Some(Until::Latest)));
    scene.cluster().logs = [(at(0), Log { first, end, ..Log::new(first..end) })].into();
    scene.cluster().committed = offsets([(0, 20)]);
    scene
}

#[test]
fn offsets_at_the_bounds_are_no_gap() {
    for (first, end) in [(20, 50), (0, 20), (20, 20)] {
        let mut scene = committed(first, end, OnGap::Stop);
        scene.assign([0]);
        assert_eq!(scene.assigned(), offsets([(0, 20)]));
    }
}

#[test]
fn a_load_stops_where_records_were_deleted_unread() {
    let mut scene = committed(50, 80, OnGap::Stop);
    let error = scene.polls(Polled::Assigned(vec![at(0)])).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("group inrush: the next offset of orders/0 is 20, but the oldest one"), "{text}");
    assert!(text.contains("has is 50: 30 offsets were deleted") && text.contains("`on_offset_gap`"), "{text}");
    assert!(!error.is_retriable);
    let mut scene = committed(0, 10, OnGap::Stop);
    let text = scene.polls(Polled::Assigned(vec![at(0)])).unwrap_err().to_string();
    assert!(
        text.contains("orders/0 is 20, but the broker's partition ends at 10: the topic was created again"),
        "{text}"
    );
}

#[test]
fn a_load_goes_on_after_a_gap_where_that_is_wanted() {
    for (first, end, on_gap, start) in [
        (50, 80, OnGap::Earliest, 50),
        (50, 80, OnGap::Latest, 80),
        (0, 10, OnGap::Earliest, 0),
        (0, 10, OnGap::Latest, 10),
    ] {
        let mut scene = committed(first, end, on_gap);
        scene.assign([0]);
        let told = scene.shared.hints.warnings().list();
        assert_eq!((told.len(), told[0].kind, told[0].source.as_str()), (1, "offset_gap", "orders"));
        scene.records(0, 100);
        assert!(scene.is_ended());
        let taken = scene.take();
        assert_eq!(taken, Vec::from_iter((start < end).then_some((0, start, end))));
        scene.settle(0, end);
        assert_eq!(scene.close(), offsets([(0, end)]), "an earlier offset than before is committed, too");
    }
}

#[test]
fn a_gap_while_a_partition_is_read_names_it() {
    let mut scene = Scene::new();
    scene.assign([0, 1]);
    scene.records(0, 10);
    scene.records(1, 10);
    scene.cluster().logs.get_mut(&at(1)).unwrap().first = 30;
    let text = scene.polls(Polled::Gap("offset out of range".into())).unwrap_err().to_string();
    assert!(text.contains("the next offset of orders/1 is 10, but the oldest one that the broker has is 30"), "{text}");
    scene.cluster().unreachable = 1;
    let text = scene.polls(Polled::Gap("offset out of range".into())).unwrap_err().to_string();
    assert!(text.contains("offset out of range") && text.contains("`on_offset_gap`"), "{text}");
}

#[test]
fn records_that_come_twice_are_given_once() {
    let mut scene = Scene::new();
    scene.assign([0]);
    scene.records(0, 10);
    scene.cluster().assigned.insert(at(0), 5);
    scene.records(0, 10);
    assert_eq!(scene.take(), [(0, 0, 10), (0, 10, 15)]);
}

#[test]
fn a_partition_that_was_cut_off_stops_the_load() {
    let mut scene = Scene::with(|options| options.on_gap = OnGap::Earliest);
    scene.assign([0]);
    scene.records(0, 50);
    scene.cluster().logs.insert(at(0), Log::new(0..20));
    scene.cluster().assigned.insert(at(0), 0);
    scene.cluster().polls.push_back(Step { records: vec![(at(0), 1)], then: Ok(Polled::Records) });
    let text = scene.run().unwrap_err().to_string();
    assert!(text.contains("the next offset of orders/0 is 50, but the broker's partition ends at 20"), "{text}");
}
