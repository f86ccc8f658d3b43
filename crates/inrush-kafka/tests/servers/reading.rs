//! One member reads a topic.

use inrush_kafka::{Ids, OnNull, Start};

use crate::broker::{Broker, shared};
use crate::reader::{Reader, ids, keys};

#[test]
fn a_bounded_load_reads_what_is_there_once() {
    let topic = shared().topic(3);
    topic.count(3, 0, 2000);
    let read = Reader::open(topic.bounded("once")).finish().unwrap();
    assert_eq!((read.len(), ids(&read)), (6000, keys(3, 0, 2000)));
    for partition in 0..3 {
        let is_of = |id: &str| id.starts_with(&format!("{partition}-"));
        let of = read.iter().filter(|document| document.id.as_deref().is_some_and(is_of));
        assert_eq!(of.map(|document| document.offset).collect::<Vec<_>>(), (0..2000).collect::<Vec<u64>>());
    }
    // The group goes on where it was.
    assert!(Reader::open(topic.bounded("once")).finish().unwrap().is_empty());
    topic.count(3, 2000, 2003);
    let read = Reader::open(topic.bounded("once")).finish().unwrap();
    assert_eq!(ids(&read), keys(3, 2000, 2003));
    // Another group begins at the beginning, or where it is told to.
    assert_eq!(Reader::open(topic.bounded("twice")).finish().unwrap().len(), 6009);
    let mut latest = topic.bounded("latest");
    latest.from = Start::Latest;
    assert!(Reader::open(latest).finish().unwrap().is_empty());
    topic.count(3, 2003, 2004);
    let read = Reader::open(topic.bounded("latest")).finish().unwrap();
    assert_eq!(ids(&read), keys(3, 2003, 2004), "where it began is kept");
}

#[test]
fn an_empty_topic_and_left_out_records_end_a_bounded_load() {
    let topic = shared().topic(4);
    assert!(Reader::open(topic.bounded("empty")).finish().unwrap().is_empty());
    topic.produce(0, [("a", Some("{}")), ("a", None), ("b", None)]);
    let mut options = topic.bounded("positions");
    (options.ids, options.on_null) = (Ids::Position, OnNull::Skip);
    let read = Reader::open(options.clone()).finish().unwrap();
    assert_eq!(ids(&read).into_iter().collect::<Vec<_>>(), [format!("{}-0-0", topic.name)]);
    options.on_null = OnNull::DeadLetter;
    assert!(Reader::open(options).finish().unwrap().is_empty(), "what was left out is committed");
}

#[test]
fn a_broker_that_restarts_is_waited_for() {
    let mut broker = Broker::start();
    let topic = broker.topic(2);
    topic.count(2, 0, 100);
    let mut reader = Reader::open(topic.options("waiting"));
    reader.wait_for(200);
    broker.restart();
    topic.count(2, 100, 200);
    reader.wait_for_id("0-199");
    reader.wait_for_id("1-199");
    assert_eq!(ids(&reader.stop()), keys(2, 0, 200));
}

#[test]
fn records_that_are_not_settled_are_read_again() {
    let topic = shared().topic(1);
    topic.count(1, 0, 100);
    assert_eq!(Reader::open(topic.bounded("killed")).finish().unwrap().len(), 100);
    topic.count(1, 100, 150);
    for _ in 0..2 {
        let read = Reader::killed(topic.bounded("killed")).finish().unwrap();
        assert_eq!(ids(&read), keys(1, 100, 150));
    }
}
