//! External versions from records: an older record never replaces a newer one.

use std::path::Path;

use inrush_core::OnConflict;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_kafka::{KafkaOptions, KafkaSource, VersionFrom};
use inrush_load::ConfiguredLoad;
use inrush_load::Report;
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_sources::{Format, FormatOptions, Source, SourceSpec, Warnings};

use crate::broker::shared;
use crate::topic::Topic;

/// Loads the topic to its end.
async fn load(fake: &FakeCluster, options: KafkaOptions) -> Report {
    let folder = tempfile::tempdir().unwrap();
    load_into(fake, options, &folder.path().join("dead.ndjson")).await
}

/// The same, with a file for dead letters.
async fn load_into(fake: &FakeCluster, options: KafkaOptions, dead_letters: &Path) -> Report {
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(options).unwrap()).await.unwrap();
    load_source(fake, Box::new(source), dead_letters).await
}

async fn load_source(fake: &FakeCluster, source: Box<dyn Source>, dead_letters: &Path) -> Report {
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.on_conflict = OnConflict::Skip;
    config.dead_letters = DeadLetters::File(dead_letters.to_owned());
    let report = ConfiguredLoad::new(config).unwrap().start(source).await.unwrap().finish().await;
    assert!(report.counts.add_up() && report.failure.is_none(), "{report:?}");
    report
}

fn documents(fake: &FakeCluster) -> Vec<(String, String)> {
    let documents = fake.documents("docs").into_iter();
    let mut documents: Vec<_> =
        documents.map(|document| (document.id, String::from_utf8_lossy(&document.source).into_owned())).collect();
    documents.sort();
    documents
}

fn expected(documents: &[(&str, &str)]) -> Vec<(String, String)> {
    documents.iter().map(|(id, source)| ((*id).to_owned(), (*source).to_owned())).collect()
}

async fn topic() -> Topic {
    tokio::task::spawn_blocking(|| shared().topic(1)).await.unwrap()
}

fn with_versions(mut options: KafkaOptions, versions: VersionFrom) -> KafkaOptions {
    options.versions = Some(versions);
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_with_the_latest_timestamp_stays() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let topic = topic().await;
    for (key, value, time) in [
        ("a", Some("{\"n\":2}"), 2_000),
        ("a", Some("{\"n\":1}"), 1_000),
        ("b", Some("{\"n\":1}"), 1_000),
        ("b", None, 3_000),
        ("b", Some("{\"n\":2}"), 2_000),
        ("c", Some("{\"n\":1}"), 1_000),
        ("c", Some("{\"n\":2}"), 1_000),
    ] {
        topic.produce_at(0, key, value, time);
    }
    let report = load(&fake, with_versions(topic.bounded("time"), VersionFrom::Timestamp)).await;
    assert_eq!((report.counts.docs_read, report.counts.docs_conflicting), (7, 2), "{report:?}");
    assert!(report.warnings.iter().any(|warning| warning.contains("index.gc_deletes")), "{:?}", report.warnings);
    assert_eq!(documents(&fake), expected(&[("a", "{\"n\":2}"), ("c", "{\"n\":2}")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_read_again_change_nothing() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let topic = topic().await;
    topic.produce(0, [("a", Some("{\"n\":1}")), ("b", Some("{\"n\":1}")), ("a", Some("{\"n\":2}")), ("b", None)]);
    for (group, conflicting) in [("first", 0), ("second", 2)] {
        let report = load(&fake, with_versions(topic.bounded(group), VersionFrom::Offset)).await;
        assert_eq!(report.counts.docs_conflicting, conflicting, "{report:?}");
        assert_eq!(documents(&fake), expected(&[("a", "{\"n\":2}")]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_with_the_highest_field_stays() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let topic = topic().await;
    topic.produce(0, [("a", Some("{\"v\":7}")), ("a", Some("{\"v\":5}")), ("b", Some("{\"n\":1}"))]);
    let report = load(&fake, with_versions(topic.bounded("field"), "v".parse().unwrap())).await;
    assert_eq!((report.counts.docs_conflicting, report.counts.docs_dead_lettered), (1, 1), "{report:?}");
    assert_eq!(documents(&fake), expected(&[("a", "{\"v\":7}")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_that_are_loaded_again_keep_their_versions() {
    let folder = tempfile::tempdir().unwrap();
    let letters = folder.path().join("dead.ndjson");
    let refusing = FakeConfig::default().faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(["a", "b"])]));
    let refusing = FakeCluster::start(refusing).await.unwrap();
    let topic = topic().await;
    topic.produce(0, [("a", Some("{\"n\":1}")), ("a", Some("{\"n\":2}")), ("b", Some("{\"n\":\n3}"))]);
    let options = with_versions(topic.bounded("letters"), VersionFrom::Offset);
    assert_eq!(load_into(&refusing, options.clone(), &letters).await.counts.docs_dead_lettered, 3);
    let text = std::fs::read_to_string(&letters).unwrap();
    for version in 0..3 {
        assert!(text.contains(&format!("\"version\":{version},\"version_type\":\"external_gte\"")), "{text}");
    }
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    for (round, conflicting) in [0, 1].into_iter().enumerate() {
        let format = FormatOptions { format: Some(Format::DeadLetters), ..FormatOptions::default() };
        let source = inrush_sources::open(&[SourceSpec::Path(letters.clone())], format, &Warnings::default()).unwrap();
        let again = folder.path().join(format!("again-{round}.ndjson"));
        let counts = load_source(&fake, Box::new(source), &again).await.counts;
        assert_eq!((counts.docs_conflicting, counts.docs_indexed), (conflicting, 3 - conflicting), "{counts:?}");
        assert_eq!(documents(&fake), expected(&[("a", "{\"n\":2}"), ("b", "{\"n\": 3}")]));
    }
    // The topic is not older than the letters.
    let again = load(&fake, with_versions(topic.bounded("again"), VersionFrom::Offset)).await;
    assert_eq!((again.counts.docs_conflicting, again.counts.docs_indexed), (1, 2), "{:?}", again.counts);
}
