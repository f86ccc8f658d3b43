//! What a record has besides its value.

use inrush_kafka::Unwrap;
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::reader::{LONGEST, Reader};
use crate::topic::Topic;

#[test]
fn headers_timestamps_and_envelopes_come_from_the_broker() {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    let topic = Topic::new(&mock.bootstrap_servers(), "orders");
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &topic.brokers).create().unwrap();
    let headers = OwnedHeaders::new()
        .insert(Header { key: "trace_id", value: Some("t-1") })
        .insert(Header { key: "other", value: None::<&str> });
    let record = BaseRecord::to("orders").partition(0).key(r#"{"id":7}"#).timestamp(1_700_000_000_123);
    let record = record.payload(r#"{"op":"c","after":{"id":7}}"#).headers(headers);
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(LONGEST).unwrap();

    let mut options = topic.bounded("values");
    options.unwrap = Unwrap::Debezium;
    options.with =
        ["headers.trace_id=trace", "headers", "timestamp", "offset"].map(|with| with.parse().unwrap()).into();
    let read = Reader::open(options).finish().unwrap();
    let expected = concat!(
        r#"{"id":7,"trace":"t-1","headers":{"trace_id":"t-1"},"#,
        r#""timestamp":"2023-11-14T22:13:20.123Z","offset":0}"#
    );
    assert_eq!((read[0].id.as_deref(), read[0].body.as_str(), read.len()), (Some("7"), expected, 1));
}

/// Bytes as a name, UTF-8 or not.
#[expect(unsafe_code, reason = "rdkafka takes names as text only")]
fn name(bytes: &[u8]) -> &str {
    // SAFETY: the producer uses only the address and the length of the text.
    unsafe { std::str::from_utf8_unchecked(bytes) }
}

#[test]
fn a_header_whose_name_is_no_text_is_kept() {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    let topic = Topic::new(&mock.bootstrap_servers(), "orders");
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &topic.brokers).create().unwrap();
    let header = |key, value| Header { key, value: Some(value) };
    let headers = OwnedHeaders::new().insert(header(name(b"tr\xFFce"), "1")).insert(header("other", ""));
    let record = BaseRecord::to("orders").partition(0).key("k").payload("{}").headers(headers);
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(LONGEST).unwrap();
    let mut options = topic.bounded("odd names");
    options.with = vec!["headers".parse().unwrap()];
    let read = Reader::open(options).finish().unwrap();
    assert_eq!(read[0].body, "{\"headers\":{\"tr\u{FFFD}ce\":\"1\",\"other\":\"\"}}");
}
