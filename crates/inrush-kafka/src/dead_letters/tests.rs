//! Dead letters of a topic in librdkafka's own cluster.

use std::time::Duration;

use inrush_core::{DocMeta, Position, SourceId};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};

use super::*;
use crate::{KafkaAddress, KafkaOptions};

const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Orders;

impl Topics for Orders {
    fn find(&self, number: u32) -> Option<TopicPartition> {
        (number == 7).then(|| TopicPartition::new("orders", 0))
    }
}

struct Cluster {
    mock: MockCluster<'static, DefaultProducerContext>,
    sink: DeadLetterTopic,
}

/// A cluster in which the values of `orders` are those.
fn cluster(values: &[&str]) -> Cluster {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    mock.create_topic("dead", 1, 1).unwrap();
    let brokers = mock.bootstrap_servers();
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    for value in values {
        let record = BaseRecord::<str, str>::to("orders").partition(0).key("k").payload(value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(LONGEST).unwrap();
    let options = KafkaOptions::new(KafkaAddress::parse(&format!("kafka://{brokers}/orders")).unwrap());
    let sink = DeadLetterTopic::start(Writer::new(&options, "dead").unwrap(), Arc::new(Orders)).unwrap();
    Cluster { mock, sink }
}

/// A letter of the partition with this number.
fn letter(number: u32, offset: u64) -> DeadLetter {
    let letter = DeadLetter::new(Position::new(SourceId(0), number, offset, 1, 0), "bad", "no", "{sent".into());
    letter.with_meta(DocMeta::default().with_id("id".to_owned()))
}

impl Cluster {
    /// Key, value and offset in the header of the first records of `dead`.
    fn dead(&self, count: usize) -> Vec<(String, String, Option<String>)> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.mock.bootstrap_servers()).set("group.id", "test");
        let consumer: BaseConsumer = config.create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_offset("dead", 0, Offset::Beginning).unwrap();
        consumer.assign(&list).unwrap();
        let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap().to_vec()).unwrap();
        let read = |_| {
            let message = consumer.poll(LONGEST).unwrap().unwrap();
            let headers = message.headers().unwrap();
            let offset = headers.iter().find(|header| header.key == "__connect.errors.offset");
            (text(message.key()), text(message.payload()), offset.map(|header| text(header.value)))
        };
        (0..count).map(read).collect()
    }
}

#[test]
fn letters_are_the_records_as_they_were() {
    let values: Vec<String> = (0..6_000).map(|number| format!("value {number}")).collect();
    let Cluster { mock, sink } = cluster(&values.iter().map(String::as_str).collect::<Vec<_>>());
    for offset in [5_999, 3, 2, 70_000] {
        sink.write(&letter(7, offset));
    }
    sink.sync().unwrap();
    sink.write(&letter(8, 4));
    sink.sync().unwrap();
    assert_eq!(sink.waiting_bytes(), 0);
    sink.close().unwrap();
    let record = |offset: &str| ("k".to_owned(), format!("value {offset}"), Some(offset.to_owned()));
    let gone = |offset: Option<&str>| ("id".to_owned(), "{sent".to_owned(), offset.map(str::to_owned));
    // The thread may take letters one by one.
    let mut found = Cluster { mock, sink }.dead(5);
    found.sort();
    assert_eq!(found, [gone(None), gone(Some("70000")), record("2"), record("3"), record("5999")]);
}

#[test]
fn brokers_that_are_away_are_waited_for() {
    let cluster = cluster(&["a", "b"]);
    cluster.mock.broker_down(1).unwrap();
    cluster.sink.write(&letter(7, 1));
    std::thread::scope(|scope| {
        let synced = scope.spawn(|| cluster.sink.sync());
        cluster.mock.broker_up(1).unwrap();
        synced.join().unwrap().unwrap();
    });
    assert_eq!(cluster.dead(1)[0].1, "b");
}

#[test]
fn a_topic_that_may_not_be_written_to_is_an_error() {
    let cluster = cluster(&["a"]);
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.mock.request_errors(RDKafkaApiKey::Produce, &[refused]);
    cluster.sink.write(&letter(7, 0));
    let error = cluster.sink.sync().unwrap_err().to_string();
    assert!(error.contains("give it the right Write"), "{error}");
    let closed = cluster.sink.close().unwrap_err();
    assert_eq!((closed.kind(), closed.to_string()), (io::ErrorKind::Other, error));
}

#[test]
fn the_end_is_not_waited_for() {
    let cluster = cluster(&["a"]);
    cluster.mock.broker_down(1).unwrap();
    cluster.sink.write(&letter(7, 0));
    std::thread::scope(|scope| {
        let synced = scope.spawn(|| cluster.sink.sync());
        assert!(cluster.sink.waiting_bytes() > 0);
        assert_eq!(cluster.sink.close().unwrap_err().kind(), io::ErrorKind::TimedOut, "it was not refused");
        assert!(synced.join().unwrap().unwrap_err().to_string().contains("one of them was not acknowledged"));
    });
}

fn of_document(document: &str) -> DeadLetter {
    DeadLetter::new(Position::default(), "bad", "no", document.to_owned().into())
}

#[test]
fn a_letter_knows_its_id() {
    let sent = of_document("{}").with_action(Some(r#"{"index":{"_index":"x","_id":"a\"b"}}"#.into()));
    assert_eq!(Letter::copied(None, &sent).id.as_deref(), Some("a\"b"));
    let unsent = of_document("{bad").with_meta(DocMeta::default().with_id("7".to_owned()));
    assert_eq!(Letter::copied(None, &unsent).id.as_deref(), Some("7"));
    assert_eq!(Letter::copied(None, &of_document("{bad")).id, None);
}

#[test]
fn letters_are_waited_for_until_they_are_acknowledged() {
    let queue = Queue::default();
    let push = |count: u64| {
        queue.change(|state| {
            state.taken += count;
            state.bytes += 10 * count;
            state.waiting.extend((0..count).map(|_| Letter::copied(None, &of_document("{}"))));
        });
    };
    assert!(queue.state().kept_up_to(0).is_ok());
    push(2);
    assert_eq!(queue.take().map(|letters| letters.len()), Some(2));
    queue.kept(1, 10);
    let missing = |queue: &Queue| queue.state().kept_up_to(2).unwrap_err().to_string();
    assert!(queue.state().kept_up_to(1).is_ok() && missing(&queue).starts_with("one of them was not"));
    queue.fail("the topic is gone".to_owned());
    assert_eq!(missing(&queue), "the topic is gone");
    assert_eq!(queue.state().bytes, 10);
    queue.kept(1, 10);
    assert!(queue.state().kept_up_to(2).is_ok(), "what is acknowledged is kept, whatever happens to later ones");
    queue.change(|state| state.is_closed = true);
    assert!(queue.take().is_none());
}
