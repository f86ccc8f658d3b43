//! One member reads a topic.

use inrush_kafka::{KafkaAddress, KafkaOptions, KafkaSource};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaRespErr;

use crate::reader::{Reader, ids, keys};
use crate::topic::Topic;

fn cluster(partitions: i32) -> (MockCluster<'static, DefaultProducerContext>, Topic) {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", partitions, 1).unwrap();
    let topic = Topic::new(&mock.bootstrap_servers(), "orders");
    (mock, topic)
}

#[test]
fn an_endless_load_runs_until_it_is_stopped() {
    let (mock, topic) = cluster(2);
    let mut reader = Reader::open(topic.options("endless"));
    for round in 0..3 {
        topic.count(2, round * 10, round * 10 + 10);
        reader.wait_for((round as usize + 1) * 20);
    }
    // The broker goes away and comes back.
    mock.broker_down(1).unwrap();
    mock.broker_up(1).unwrap();
    topic.count(2, 30, 40);
    reader.wait_for(80);
    assert_eq!(ids(&reader.stop()), keys(2, 0, 40));
}

#[test]
fn records_become_documents_and_deletions() {
    let (_mock, topic) = cluster(1);
    let records = [("a", Some("{\"n\":1}")), ("a", None), ("b", Some("{\"n\":\n2}")), ("b", Some("{\"n\":\"\n\"}"))];
    topic.produce(0, records);
    let read = Reader::open(topic.bounded("all")).finish().unwrap();
    let found: Vec<_> = read.iter().map(|d| (d.id.as_deref(), d.is_delete, d.body.as_str(), d.reject)).collect();
    assert_eq!(
        found[..3],
        [(Some("a"), false, "{\"n\":1}", None), (Some("a"), true, "", None), (Some("b"), false, "{\"n\": 2}", None),]
    );
    assert_eq!(found[3].3, Some("invalid_json"));
}

#[test]
fn addresses_that_cannot_be_used_are_refused() {
    let (mock, topic) = cluster(1);
    let address = format!("kafka://{}/nothing-there", topic.brokers);
    let mut options = KafkaOptions::new(KafkaAddress::parse(&address).unwrap());
    options.member = Some(String::new());
    let refused = |options: KafkaOptions| {
        let error = KafkaSource::open(options).err().unwrap();
        assert_eq!(error.code, inrush_core::Code::BrokerFailed);
        error.to_string()
    };
    mock.topic_error("nothing-there", RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    let error = refused(options);
    assert!(error.contains("topic nothing-there does not exist"), "{error}");
    let mut wrong = topic.options("wrong");
    wrong.properties = vec![("isolation.lvl".into(), "hunter2".into())];
    let error = refused(wrong);
    assert!(error.contains("`isolation.lvl`") && error.contains("orders") && !error.contains("hunter2"), "{error}");
}
