//! More records than the engine takes.

use super::*;

#[test]
fn partitions_are_paused_while_memory_is_full() {
    let mut scene = Scene::with(|options| options.memory = 64 << 10);
    scene.cluster().logs = (0..3).map(|partition| (at(partition), Log::new(0..10_000))).collect();
    scene.consumer.full_for = Duration::ZERO;
    scene.assign([0, 1]);
    scene.records(0, 1000);
    let read = scene.assigned()[&at(0)];
    assert!(scene.cluster().paused.contains(&at(1)));
    assert!((200..1000).contains(&read), "{read}");
    assert!(scene.shared.state().queued_bytes > 32 << 10);
    // The group can give and take partitions meanwhile; nothing is read of those that come.
    scene.assign([2]);
    scene.revoke([1]);
    scene.records(2, 100);
    assert_eq!(scene.assigned(), offsets([(0, read), (2, 0)]));
    let taken = scene.take();
    assert_eq!(taken.last().map(|(_, _, end)| *end), Some(read));
    scene.goes_on();
    assert!(scene.cluster().paused.is_empty());
    scene.records(2, 100);
    scene.records(0, 100);
    assert_eq!(scene.take(), [(2, 0, 100), (0, read, read + 100)]);
}

#[test]
fn a_load_can_be_stopped_while_memory_is_full() {
    let mut scene = Scene::with(|options| options.memory = 64 << 10);
    scene.cluster().logs = [(at(0), Log::new(0..10_000))].into();
    scene.consumer.full_for = Duration::ZERO;
    scene.assign([0]);
    scene.records(0, 1000);
    let read = scene.assigned()[&at(0)];
    scene.shared.change(|state| state.is_stopped = true);
    scene.goes_on();
    assert!(scene.is_ended());
    scene.take();
    scene.goes_on();
    assert!(scene.cluster().paused.contains(&at(0)), "nothing more is read");
    scene.settle(0, read);
    assert_eq!(scene.close(), offsets([(0, read)]));
}
