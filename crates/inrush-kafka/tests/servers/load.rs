//! Loads of a topic into a cluster with faults: members come and go, and the index holds the last
//! record of each key.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_kafka::{KafkaOptions, KafkaSource};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, RunningLoad};

use crate::broker::shared;
use crate::topic::Topic;

const PARTITIONS: i32 = 4;
const KEYS: u32 = 500;

fn faults() -> [Rule; 3] {
    [
        Rule::new(Fault::ResetAfterApplying).probability(0.05),
        Rule::new(Fault::ItemRejected).probability(0.05),
        Rule::new(Fault::Unavailable).path("_bulk").probability(0.03),
    ]
}

/// Appends a round of records: each key is written, and every seventh is deleted.
fn round(topic: &Topic, round: u32, last: &mut BTreeMap<String, Option<String>>) {
    for partition in 0..PARTITIONS {
        let records: Vec<(String, Option<String>)> = (0..KEYS)
            .map(|key| {
                let value = format!("{{\"round\":{round},\"text\":\"some words to fill it\"}}");
                (format!("{partition}-{key}"), Some(value).filter(|_| !(key + round).is_multiple_of(7)))
            })
            .collect();
        topic.produce(partition, records.iter().map(|(key, value)| (key.as_str(), value.as_deref())));
        last.extend(records);
    }
}

struct Instance {
    load: RunningLoad,
    _folder: tempfile::TempDir,
}

async fn start(fake: &FakeCluster, options: KafkaOptions) -> Instance {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.limits.batch_bytes = Some(8000);
    config.limits.in_flight = Some(4);
    config.limits.retry_wait = Duration::from_millis(2);
    config.limits.linger = Duration::from_millis(20);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(options).unwrap()).await.unwrap();
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    Instance { load, _folder: folder }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_has_the_last_record_of_each_key() {
    let fake = FakeCluster::start(FakeConfig::default().nodes(2).faults(Faults::new(faults()))).await.unwrap();
    let topic = tokio::task::spawn_blocking(|| shared().topic(PARTITIONS)).await.unwrap();
    let (mut last, mut rounds) = (BTreeMap::new(), 0..);
    // Records come until the instance has some of the partitions.
    let mut feed = async |instance: &Instance, last: &mut BTreeMap<String, Option<String>>| {
        while instance.load.progress().borrow().docs_settled == 0 {
            round(&topic, rounds.next().unwrap(), last);
            tokio::task::yield_now().await;
        }
        round(&topic, rounds.next().unwrap(), last);
    };
    let first = start(&fake, topic.options("load")).await;
    feed(&first, &mut last).await;
    // A second and a third member take some of the partitions, and the first one leaves.
    let second = start(&fake, topic.options("load")).await;
    feed(&second, &mut last).await;
    let third = start(&fake, topic.options("load")).await;
    feed(&third, &mut last).await;
    first.load.stop_handle().end_source();
    let first = first.load.finish().await;
    let mut reports = vec![first];
    // A bounded member of the same group ends when the group has read everything.
    let bounded = start(&fake, topic.bounded("load")).await;
    for instance in [second, third] {
        instance.load.stop_handle().end_source();
        reports.push(instance.load.finish().await);
    }
    reports.push(bounded.load.finish().await);
    for report in &reports {
        assert!(report.counts.add_up() && report.failure.is_none(), "{report:?}");
        assert_eq!(report.counts.docs_dead_lettered, 0, "{report:?}");
    }
    let indexed: BTreeMap<String, String> = fake
        .documents("docs")
        .into_iter()
        .map(|document| (document.id, String::from_utf8_lossy(&document.source).into_owned()))
        .collect();
    last.retain(|_, value| value.is_some());
    let expected: BTreeMap<String, String> = last.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    assert_eq!(indexed, expected);
}
