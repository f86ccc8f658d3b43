//! Several instances fill a new index, and the last one moves the alias.

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_kafka::{KafkaOptions, KafkaSource};
use inrush_load::config::{DeadLetters, LoadConfig, SwapConfig};
use inrush_load::{ConfiguredLoad, RunningLoad};
use inrush_load::{Report, Status};

use crate::broker::shared;
use crate::topic::Topic;

const PARTITIONS: i32 = 4;

struct Instance {
    load: RunningLoad,
    _folder: tempfile::TempDir,
}

async fn start(fake: &FakeCluster, topic: &Topic) -> Instance {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "orders-2".parse().unwrap());
    config.limits.batch_bytes = Some(2000);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    config.guard.state = Some(folder.path().to_owned());
    config.finish.swap = Some(SwapConfig { is_shared: true, ..SwapConfig::new("orders") });
    let mut options: KafkaOptions = topic.bounded("alias");
    options.ends_together = true;
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(options).unwrap()).await.unwrap();
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    Instance { load, _folder: folder }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_instance_moves_the_alias_when_the_group_has_read_everything() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let topic = tokio::task::spawn_blocking(|| shared().topic(PARTITIONS)).await.unwrap();
    topic.count(PARTITIONS, 0, 2_000);
    // No instance can reach the end of the topic before all have begun.
    fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_bulk")]));
    let mut instances = Vec::new();
    for _ in 0..3 {
        instances.push(start(&fake, &topic).await);
    }
    fake.set_faults(Faults::default());
    fake.release_held();
    // One is stopped before its end: the others read its partitions.
    let stopped = instances.remove(0);
    stopped.load.stop_handle().stop();
    let stopped = stopped.load.finish().await;
    assert!(!stopped.swap.unwrap().swapped || stopped.status == Status::Complete);
    let ends = instances.into_iter().map(|instance| tokio::spawn(instance.load.finish()));
    let mut reports: Vec<Report> = Vec::new();
    for end in ends {
        reports.push(end.await.unwrap());
    }
    for report in &reports {
        assert!(report.status == Status::Complete && report.counts.add_up(), "{report:?}");
    }
    let swaps: Vec<_> = reports.iter().filter_map(|report| report.swap.as_ref()).collect();
    assert_eq!(swaps.iter().filter(|swap| swap.swapped).count(), 1, "{swaps:?}");
    assert_eq!(swaps.iter().filter(|swap| swap.waits_for_others).count(), 1, "{swaps:?}");
    assert_eq!(fake.documents("orders-2").len(), 2_000 * PARTITIONS as usize);
    // An instance that begins after the others have ended finds the alias moved.
    let late = start(&fake, &topic).await.load.finish().await;
    let swap = late.swap.unwrap();
    assert!(late.status == Status::Complete && swap.swapped, "{swap:?}");
    assert_eq!(swap.detail, "an earlier run moved the alias orders to orders-2");
}
