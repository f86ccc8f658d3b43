//! One member reads a topic.

use inrush_kafka::{Ids, KafkaAddress, KafkaOptions, KafkaSource, OnNull, Start};

use crate::common::{Cluster, Reader, TOPIC, ids, keys};

#[test]
fn a_bounded_load_reads_what_is_there_once() {
    let cluster = Cluster::new(3);
    cluster.count(3, 0, 2000);
    let read = Reader::open(cluster.bounded("once")).finish().unwrap();
    assert_eq!((read.len(), ids(&read)), (6000, keys(3, 0, 2000)));
    for partition in 0..3 {
        let offsets: Vec<u64> = read
            .iter()
            .filter(|document| document.id.as_deref().is_some_and(|id| id.starts_with(&format!("{partition}-"))))
            .map(|document| document.offset)
            .collect();
        assert_eq!(offsets, (0..2000).collect::<Vec<u64>>());
    }
    // The group goes on where it was.
    assert!(Reader::open(cluster.bounded("once")).finish().unwrap().is_empty());
    cluster.count(3, 2000, 2003);
    let read = Reader::open(cluster.bounded("once")).finish().unwrap();
    assert_eq!(ids(&read), keys(3, 2000, 2003));
    // Another group begins at the beginning, or where it is told to.
    assert_eq!(Reader::open(cluster.bounded("twice")).finish().unwrap().len(), 6009);
    let mut latest = cluster.bounded("latest");
    latest.from = Start::Latest;
    assert!(Reader::open(latest).finish().unwrap().is_empty());
}

#[test]
fn an_endless_load_runs_until_it_is_stopped() {
    let cluster = Cluster::new(2);
    let mut reader = Reader::open(cluster.options("endless"));
    for round in 0..3 {
        cluster.count(2, round * 10, round * 10 + 10);
        reader.wait_for((round as usize + 1) * 20);
    }
    assert_eq!(ids(&reader.stop()), keys(2, 0, 30));
    cluster.count(2, 30, 31);
    assert_eq!(ids(&Reader::open(cluster.bounded("endless")).finish().unwrap()), keys(2, 30, 31));
}

#[test]
fn records_become_documents_and_deletions() {
    let cluster = Cluster::new(1);
    let records = [("a", Some("{\"n\":1}")), ("a", None), ("b", Some("{\"n\":\n2}")), ("b", Some("{\"n\":\"\n\"}"))];
    cluster.produce(0, records);
    let read = Reader::open(cluster.bounded("all")).finish().unwrap();
    let found: Vec<_> = read.iter().map(|d| (d.id.as_deref(), d.is_delete, d.body.as_str(), d.reject)).collect();
    assert_eq!(found[..3], [
        (Some("a"), false, "{\"n\":1}", None),
        (Some("a"), true, "", None),
        (Some("b"), false, "{\"n\": 2}", None),
    ]);
    assert_eq!(found[3].3, Some("invalid_json"));
    let mut by_position = cluster.bounded("positions");
    (by_position.ids, by_position.on_null) = (Ids::Position, OnNull::Skip);
    let read = Reader::open(by_position).finish().unwrap();
    let found: Vec<_> = read.iter().map(|document| document.id.as_deref().unwrap()).collect();
    assert_eq!(found, ["orders-0-0", "orders-0-2", "orders-0-3"]);
    assert!(Reader::open(cluster.bounded("positions")).finish().unwrap().is_empty(), "what was left out is committed");
}

#[test]
fn a_record_that_is_not_settled_is_read_again() {
    let cluster = Cluster::new(1);
    cluster.count(1, 0, 100);
    let mut reader = Reader::open(cluster.options("killed"));
    reader.wait_for(100);
    let held = std::sync::Arc::clone(&reader.settling);
    let held = held.lock().unwrap();
    cluster.count(1, 100, 150);
    reader.wait_for(150);
    // The process ends, so to speak: nothing is settled any more, and the member leaves.
    std::mem::forget(held);
    drop(reader);
}

#[test]
fn addresses_that_cannot_be_used_are_refused() {
    let cluster = Cluster::new(1);
    let address = format!("kafka://{}/nothing-there", cluster.mock.bootstrap_servers());
    let mut options = KafkaOptions::new(KafkaAddress::parse(&address).unwrap());
    options.member = Some(String::new());
    options.properties = vec![("allow.auto.create.topics".into(), "false".into())];
    let refused = |options: KafkaOptions| KafkaSource::open(options).err().unwrap().to_string();
    cluster.mock.topic_error("nothing-there", rdkafka::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    let error = refused(options);
    assert!(error.contains("topic nothing-there does not exist"), "{error}");
    let mut wrong = cluster.options("wrong");
    wrong.properties = vec![("isolation.lvl".into(), "hunter2".into())];
    let error = refused(wrong);
    assert!(error.contains("`isolation.lvl`") && error.contains(TOPIC) && !error.contains("hunter2"), "{error}");
}
