//! Several members of a group, which come and go.

use std::collections::BTreeMap;

use inrush_kafka::KafkaOptions;

use crate::broker::shared;
use crate::reader::{Document, Reader, ids, keys};
use crate::topic::Topic;

fn times(documents: &[Document]) -> BTreeMap<&str, usize> {
    let mut times = BTreeMap::new();
    for id in documents.iter().filter_map(|document| document.id.as_deref()) {
        *times.entry(id).or_default() += 1;
    }
    times
}

/// Records come while a second member joins and leaves. Each is read once.
fn hand_over(topic: &Topic, options: impl Fn() -> KafkaOptions) {
    topic.count(4, 0, 500);
    let mut first = Reader::open(options());
    first.wait_for(2000);
    let mut second = Reader::open(options());
    let mut number = 500;
    while second.wait_for(0).is_empty() {
        topic.count(4, number, number + 10);
        number += 10;
        second.take_what_is_there();
    }
    let mut all = second.stop();
    topic.count(4, number, number + 10);
    number += 10;
    for partition in 0..4 {
        first.wait_for_id(&format!("{partition}-{}", number - 1));
    }
    all.extend(first.stop());
    assert_eq!(ids(&all), keys(4, 0, number));
    let twice: Vec<_> = times(&all).into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn a_partition_changes_its_member_without_a_record_read_twice() {
    let topic = shared().topic(4);
    hand_over(&topic, || topic.options("classic"));
}

#[test]
fn the_newer_protocol_of_groups_hands_over_as_well() {
    let topic = shared().topic(4);
    hand_over(&topic, || {
        let mut options = topic.options("newer");
        options.properties = vec![("group.protocol".into(), "consumer".into())];
        options
    });
}

#[test]
fn a_bounded_load_by_more_members_than_partitions_ends() {
    let topic = shared().topic(2);
    topic.count(2, 0, 20_000);
    let readers: Vec<Reader> = (0..3).map(|_| Reader::open(topic.bounded("many"))).collect();
    let mut all = Vec::new();
    for reader in readers {
        all.extend(reader.finish().unwrap());
    }
    assert_eq!(ids(&all), keys(2, 0, 20_000));
}
