//! Dead letters of a topic go to another topic, or to a file, and come back.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_kafka::{KafkaOptions, KafkaSource};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report};
use inrush_sources::{Format, FormatOptions, SourceSpec, Warnings};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::broker::shared;
use crate::reader::LONGEST;
use crate::topic::Topic;

/// What the tests write: a document that is loaded, one that the cluster refuses, one that is no
/// document, and one without a key that is none.
fn produce(topic: &Topic) {
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &topic.brokers).create().unwrap();
    let records = [
        (Some("good"), Some("{\"n\":1}")),
        (Some("refused"), Some("{\"n\":\n2}")),
        (Some("broken"), Some("{\"n\":\"3\n\"}")),
        (None, Some("not json")),
        (Some("gone"), None),
    ];
    for (key, value) in records {
        let headers = OwnedHeaders::new().insert(Header { key: "trace", value: Some("t-1") });
        let mut record = BaseRecord::<str, str>::to(&topic.name).partition(0).headers(headers);
        (record.key, record.payload) = (key, value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(LONGEST).unwrap();
}

async fn cluster(refused: &'static str) -> FakeCluster {
    let rules = [Rule::new(Fault::ItemBadRequest).ids([refused])];
    FakeCluster::start(FakeConfig::default().faults(Faults::new(rules))).await.unwrap()
}

fn config(fake: &FakeCluster) -> LoadConfig {
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.limits.linger = std::time::Duration::from_millis(20);
    config
}

async fn load(config: LoadConfig, options: KafkaOptions) -> Report {
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(options).unwrap()).await.unwrap();
    ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap().finish().await
}

type Written = (Option<String>, Option<String>, BTreeMap<String, String>);

/// The records of a topic with one partition: key, value, headers.
fn records(topic: &Topic, count: usize) -> Vec<Written> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &topic.brokers).set("group.id", "reads-dead-letters");
    let consumer: BaseConsumer = config.set("auto.offset.reset", "earliest").create().unwrap();
    consumer.subscribe(&[&topic.name]).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let read = |_| {
        // A poll returns nothing where it brings an event of the group.
        let message = (0..20).find_map(|_| consumer.poll(LONGEST)).unwrap().unwrap();
        let headers = message.headers().unwrap().iter().map(|h| (h.key.to_owned(), text(h.value.unwrap())));
        (message.key().map(text), message.payload().map(text), headers.collect())
    };
    (0..count).map(read).collect()
}

fn documents(fake: &FakeCluster) -> BTreeMap<String, String> {
    let text = |source: Vec<u8>| String::from_utf8(source).unwrap();
    fake.documents("docs").into_iter().map(|document| (document.id, text(document.source.to_vec()))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_gets_the_records_as_they_were_with_the_reason() {
    let (topic, dead) = tokio::task::spawn_blocking(|| (shared().topic(1), shared().topic(1))).await.unwrap();
    produce(&topic);
    let fake = cluster("refused").await;
    let mut options = topic.bounded("letters");
    options.dead_letter_topic = Some(dead.name.clone());
    let report = load(config(&fake), options.clone()).await;
    assert_eq!((report.dead_letter_topic.as_ref(), report.dead_letters), (Some(&dead.name), None));
    assert_eq!((report.counts.docs_read, report.counts.docs_dead_lettered), (5, 3), "{:?}", report.errors);
    let mut found = records(&dead, 3);
    found.sort_by_key(|(.., headers)| headers["__connect.errors.offset"].clone());
    let parts: Vec<_> = found.iter().map(|(key, value, _)| (key.as_deref(), value.as_deref().unwrap())).collect();
    assert_eq!(parts, [(Some("refused"), "{\"n\":\n2}"), (Some("broken"), "{\"n\":\"3\n\"}"), (None, "not json")]);
    for ((.., headers), (offset, stage)) in
        found.iter().zip([("1", "TASK_PUT"), ("2", "VALUE_CONVERTER"), ("3", "TASK_PUT")])
    {
        assert_eq!((headers["trace"].as_str(), headers["__connect.errors.offset"].as_str()), ("t-1", offset));
        assert_eq!(
            (&headers["__connect.errors.topic"], headers["__connect.errors.stage"].as_str()),
            (&topic.name, stage)
        );
    }
    assert_eq!(found[0].2["inrush.errors.status"], "400");
    assert_eq!(found[1].2["__connect.errors.exception.class.name"], "invalid_json");
    // They are settled: the next load has nothing to read.
    assert_eq!(load(config(&fake), options).await.counts.docs_read, 0);
    // The topic is loaded when the cluster takes the document.
    let fixed = cluster("nothing").await;
    let mut bounded = dead.bounded("again");
    bounded.dead_letter_topic = Some(topic.name.clone());
    let again = load(config(&fixed), bounded).await;
    assert_eq!((again.counts.docs_indexed, again.counts.docs_dead_lettered), (1, 2));
    assert_eq!(documents(&fixed)["refused"], "{\"n\": 2}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_keeps_the_ids_and_loads_again() {
    let topic = tokio::task::spawn_blocking(|| shared().topic(1)).await.unwrap();
    produce(&topic);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.ndjson");
    let fake = cluster("refused").await;
    let mut of_topic = config(&fake);
    of_topic.dead_letters = DeadLetters::File(path.clone());
    let report = load(of_topic, topic.bounded("file")).await;
    assert_eq!((report.dead_letter_topic, report.dead_letters.as_deref()), (None, Some(&*path)));
    let text = std::fs::read_to_string(&path).unwrap();
    for expected in [
        "\"offset\":1,",
        r#""action":{"index":{"_id":"refused"}}"#,
        "\"offset\":2,",
        r#""action":{"index":{"_id":"broken"}},"text":"{\"n\":\"3\n\"}""#,
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(
        text.contains(&format!(r#""action":{{"index":{{"_id":"{}-0-3"}}}},"text":"not json""#, topic.name)),
        "{text}"
    );
    // The records are corrected in the file.
    let corrected = text.replace("\\\"3\\n\\\"", "3").replace("not json", "{\\\"n\\\":4}");
    let again = folder.path().join("corrected.ndjson");
    std::fs::write(&again, corrected).unwrap();
    let fixed = cluster("nothing").await;
    let report = load_file(&fixed, &again, folder.path()).await;
    assert_eq!(report.counts.docs_indexed, 3, "{report:?}");
    let found = documents(&fixed);
    assert_eq!(found["refused"], "{\"n\": 2}");
    assert_eq!((found["broken"].trim(), found[&format!("{}-0-3", topic.name)].as_str()), ("{\"n\":3}", "{\"n\":4}"));
}

async fn load_file(fake: &FakeCluster, path: &Path, folder: &Path) -> Report {
    let format = FormatOptions { format: Some(Format::DeadLetters), ..FormatOptions::default() };
    let source = inrush_sources::open(&[SourceSpec::Path(path.to_owned())], format, &Warnings::default()).unwrap();
    let mut config = config(fake);
    config.dead_letters = DeadLetters::File(folder.join("again.ndjson"));
    ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap().finish().await
}

#[test]
fn topics_that_cannot_get_dead_letters_are_refused() {
    let topic = shared().topic(1);
    let mut options = topic.bounded("refused");
    options.dead_letter_topic = Some("not-there".to_owned());
    let error = KafkaSource::open(options).err().unwrap().to_string();
    assert!(error.contains("topic not-there does not exist") && error.contains("create it"), "{error}");
}
