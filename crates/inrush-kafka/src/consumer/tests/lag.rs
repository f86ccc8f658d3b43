//! How far the member is behind.

use super::super::ends::ENDS_EVERY;
use super::*;

/// Of each partition: the committed offset, the end, and the records that wait, with the second in
/// which the first was written.
fn lags(scene: &Scene) -> Vec<(Option<i64>, i64, u64, Option<i64>)> {
    let now = 1_000_000;
    let written = |seconds: f64| 1_000 - seconds as i64;
    let lags = scene.shared.state().assignment.lag(now).into_iter();
    lags.map(|lag| (lag.committed, lag.end, lag.records, lag.seconds.map(written))).collect()
}

#[test]
fn the_lag_is_from_what_is_settled_to_the_end() {
    let mut scene = Scene::new();
    scene.cluster().committed = offsets([(0, 10)]);
    scene.assign([0, 1]);
    assert_eq!(lags(&scene), [(Some(10), 100, 90, None), (None, 100, 100, None)], "the ends are known at once");
    scene.records(0, 10);
    scene.records(0, 5);
    scene.take();
    assert_eq!(lags(&scene)[0], (Some(10), 100, 90, Some(10)));
    scene.settle(0, 20);
    assert_eq!(lags(&scene)[0], (Some(10), 100, 80, Some(20)));
    scene.settle(0, 25);
    assert_eq!(lags(&scene)[0], (Some(10), 100, 75, None), "the next record was not read yet");
}

#[test]
fn the_ends_are_asked_for_again_and_again() {
    let mut scene = Scene::new();
    pass(ENDS_EVERY);
    scene.goes_on();
    assert_eq!(scene.cluster().asked_ends, None, "there is no partition");
    scene.assign([0, 1]);
    assert_eq!(scene.cluster().asked_ends, Some(vec![at(0), at(1)]));
    pass(ENDS_EVERY);
    scene.goes_on();
    scene.event(Polled::Ends(Err(is_away())));
    assert_eq!(lags(&scene)[1], (None, 100, 100, None));
    assert_eq!(scene.cluster().asked_ends, None, "not at once");
    pass(ENDS_EVERY);
    scene.goes_on();
    scene.event(Polled::Ends(Ok(offsets([(0, 500), (1, 120)]))));
    assert_eq!(lags(&scene), [(None, 500, 500, None), (None, 120, 120, None)]);
    scene.revoke([0]);
    pass(ENDS_EVERY);
    scene.goes_on();
    assert_eq!(scene.cluster().asked_ends, Some(vec![at(1)]));
    scene.event(Polled::Ends(Ok(offsets([(0, 900), (1, 130)]))));
    assert_eq!(lags(&scene), [(None, 130, 130, None)]);
}
