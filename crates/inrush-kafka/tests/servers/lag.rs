//! How far a load is behind.

use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_kafka::KafkaSource;
use inrush_load::ConfiguredLoad;
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_sources::Lag;

use crate::broker::shared;

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_follows_the_records_and_the_load() {
    let held = Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_bulk")]);
    let fake = FakeCluster::start(FakeConfig::default().faults(held)).await.unwrap();
    let topic = tokio::task::spawn_blocking(|| shared().topic(2)).await.unwrap();
    topic.count(2, 0, 100);
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.limits.linger = Duration::from_millis(20);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let options = topic.options("lag");
    let opened = options.clone();
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(opened).unwrap()).await.unwrap();
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    let mut progress = load.progress();
    let mut wait_for = async |enough: fn(&Lag) -> bool| {
        let is_enough = |lag: &Option<std::sync::Arc<Lag>>| lag.as_deref().is_some_and(enough);
        progress.wait_for(|progress| is_enough(&progress.lag)).await.unwrap();
    };
    // Nothing is settled, and more comes.
    wait_for(|lag| lag.records == 200 && lag.seconds.is_some()).await;
    topic.count(2, 100, 150);
    wait_for(|lag| lag.records == 300 && lag.partitions.iter().all(|lag| lag.end == 150)).await;
    fake.set_faults(Faults::default());
    fake.release_held();
    wait_for(|lag| lag.records == 0 && lag.seconds.is_none()).await;
    load.stop_handle().end_source();
    let report = load.finish().await;
    let lag = report.lag.clone().unwrap();
    assert_eq!((lag.records, lag.seconds), (0, None), "{report:?}");
    let offsets: Vec<_> = lag.partitions.iter().map(|lag| (lag.partition, lag.committed, lag.end)).collect();
    assert_eq!(offsets, [(0, Some(150), 150), (1, Some(150), 150)]);
    let asked = tokio::task::spawn_blocking(move || inrush_kafka::lag(&options).unwrap()).await.unwrap();
    assert_eq!(asked.iter().map(|lag| (lag.at.partition, lag.committed, lag.end)).collect::<Vec<_>>(), offsets);
}
