//! Offsets that the broker does not have any more.

use inrush_kafka::{KafkaOptions, OnGap};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::broker::shared;
use crate::reader::{Reader, ids, keys};
use crate::topic::Topic;

/// A bounded load of a group that has read 100 records.
fn read(topic: &Topic, on_gap: OnGap) -> KafkaOptions {
    topic.count(1, 0, 100);
    // A group of its own: an offset is committed below by a client that is no member.
    let group = format!("gap-{}", topic.name);
    assert_eq!(Reader::open(topic.bounded(&group)).finish().unwrap().len(), 100);
    let mut options = topic.bounded(&group);
    options.on_gap = on_gap;
    options
}

#[test]
fn records_that_were_deleted_unread_stop_a_load_or_are_passed_over() {
    let topic = shared().topic(1);
    let options = read(&topic, OnGap::Stop);
    topic.count(1, 100, 500);
    shared().delete_before(&topic, 300);
    let error = Reader::open(options.clone()).finish().unwrap_err().to_string();
    let found = format!("the next offset of {}/0 is 100, but the oldest one that the broker has is 300", topic.name);
    assert!(error.contains(&found) && error.contains("group gap-") && error.contains("`on_offset_gap`"), "{error}");
    // It has committed nothing, and stops again.
    assert_eq!(Reader::open(options.clone()).finish().unwrap_err().to_string(), error);
    let mut another = options.clone();
    another.group = "another".to_owned();
    assert_eq!(Reader::open(another).finish().unwrap().len(), 200, "a new group has no gap");
    let mut earliest = options.clone();
    earliest.on_gap = OnGap::Earliest;
    assert_eq!(ids(&Reader::open(earliest).finish().unwrap()), keys(1, 300, 500));
    assert!(Reader::open(options).finish().unwrap().is_empty());
}

#[test]
fn a_load_that_wants_new_records_goes_on_with_them() {
    let topic = shared().topic(1);
    let mut options = read(&topic, OnGap::Latest);
    topic.count(1, 100, 500);
    shared().delete_before(&topic, 300);
    assert!(Reader::open(options.clone()).finish().unwrap().is_empty());
    topic.count(1, 500, 510);
    options.on_gap = OnGap::Stop;
    assert_eq!(ids(&Reader::open(options).finish().unwrap()), keys(1, 500, 510));
}

#[test]
fn an_offset_beyond_the_end_stops_a_load_or_is_given_up() {
    let topic = shared().topic(1);
    let mut options = read(&topic, OnGap::Stop);
    let mut beyond = TopicPartitionList::new();
    beyond.add_partition_offset(&topic.name, 0, Offset::Offset(500)).unwrap();
    let mut config = ClientConfig::new();
    let config = config.set("bootstrap.servers", &topic.brokers).set("group.id", &options.group);
    let consumer: BaseConsumer = config.create().unwrap();
    consumer.commit(&beyond, CommitMode::Sync).unwrap();
    let error = Reader::open(options.clone()).finish().unwrap_err().to_string();
    assert!(error.contains("is 500, but the broker's partition ends at 100"), "{error}");
    options.on_gap = OnGap::Earliest;
    assert_eq!(Reader::open(options.clone()).finish().unwrap().len(), 100);
    options.on_gap = OnGap::Stop;
    assert!(Reader::open(options).finish().unwrap().is_empty(), "the earlier offset is committed");
}

#[test]
fn a_topic_that_was_created_again_is_read_from_its_beginning() {
    let topic = shared().topic(1);
    let options = read(&topic, OnGap::Stop);
    shared().create_again(&topic, 1);
    topic.count(1, 0, 50);
    // The broker has deleted the offsets of the groups with the topic.
    assert_eq!(ids(&Reader::open(options).finish().unwrap()), keys(1, 0, 50));
}
