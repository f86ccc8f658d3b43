//! Loads of topics in Debezium's envelope into the fake cluster.

use inrush_core::Action;
use inrush_fake::{FakeCluster, FakeConfig};
use inrush_kafka::{KafkaOptions, KafkaSource, Unwrap};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report};
use rdkafka::mocking::MockCluster;

use crate::topic::Topic;

/// Loads these records with these options. Returns the documents and the report.
async fn loaded(
    records: &'static [(&'static str, Option<&'static str>)],
    action: Action,
    change: impl FnOnce(&mut KafkaOptions),
) -> (Vec<(String, String)>, Report) {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "orders".parse().unwrap());
    config.action = action;
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", 1, 1).unwrap();
    let topic = Topic::new(&mock.bootstrap_servers(), "orders");
    topic.produce(0, records.iter().copied());
    let mut options = topic.bounded("load");
    change(&mut options);
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(options).unwrap()).await.unwrap();
    let report = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap().finish().await;
    let documents = fake.documents("orders").into_iter();
    let text = |source: &[u8]| String::from_utf8_lossy(source).into_owned();
    (documents.map(|document| (document.id, text(&document.source))).collect(), report)
}

const UNAVAILABLE: &[(&str, Option<&str>)] = &[
    (r#"{"id":1}"#, Some(r#"{"op":"c","after":{"id":1,"n":1,"bio":"long text"}}"#)),
    (r#"{"id":1}"#, Some(r#"{"op":"u","after":{"id":1,"n":2,"bio":"__debezium_unavailable_value"}}"#)),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_the_database_did_not_give_keeps_its_value() {
    let (documents, report) = loaded(UNAVAILABLE, Action::Upsert, |options| {
        options.unwrap = Unwrap::Debezium;
        options.is_merged = true;
    })
    .await;
    assert_eq!(documents, [("1".to_owned(), r#"{"id":1,"n":2,"bio":"long text"}"#.to_owned())]);
    assert_eq!((report.counts.docs_dead_lettered, report.warnings.len()), (0, 0), "{report:?}");

    // The document would replace the one that has the value.
    let (documents, report) = loaded(UNAVAILABLE, Action::Index, |options| options.unwrap = Unwrap::Debezium).await;
    assert_eq!(documents, [("1".to_owned(), r#"{"id":1,"n":1,"bio":"long text"}"#.to_owned())]);
    assert_eq!(report.counts.docs_dead_lettered, 1, "{report:?}");
}

const ENVELOPED: &[(&str, Option<&str>)] = &[(
    r#"{"schema":{"type":"struct","fields":[{"field":"day","type":"int32","name":"io.debezium.time.Date"}]},"payload":{"day":20089}}"#,
    Some(concat!(
        r#"{"schema":{"type":"struct","fields":[{"field":"price","type":"bytes","parameters":{"scale":"2"},"#,
        r#""name":"org.apache.kafka.connect.data.Decimal"},{"field":"js","type":"string","optional":true,"#,
        r#""name":"io.debezium.data.Json"}]},"payload":{"price":"BNI=","js":"{\"a\":1}"}}"#
    )),
)];

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_is_named_where_no_option_takes_it_off() {
    let (documents, report) = loaded(ENVELOPED, Action::Index, |options| options.unwrap = Unwrap::Connect).await;
    assert_eq!(documents, [("2025-01-01".to_owned(), r#"{"price":12.34,"js":{"a":1}}"#.to_owned())]);
    assert!(report.warnings.is_empty(), "{report:?}");

    let (documents, report) = loaded(ENVELOPED, Action::Index, |_| {}).await;
    assert!(documents[0].1.starts_with(r#"{"schema":"#), "{documents:?}");
    assert!(report.warnings.iter().any(|warning| warning.contains("`unwrap=connect`")), "{report:?}");
}
