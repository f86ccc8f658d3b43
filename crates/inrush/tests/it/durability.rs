//! Acknowledged means durable: loads into a fake cluster that really loses documents that were not
//! flushed, and raises the primary terms.

use std::collections::BTreeSet;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{Durability, LoadConfig, Replies};
use inrush_load::{ConfiguredLoad, LoadError, PushLoad, Report, SettingsRestored, Status, VerifiedState};
use inrush_sources::push::Document;
use serde_json::json;

use crate::common::{config, documents, load};

const DURABILITY: &str = "index.translog.durability";
const ROUNDS: u64 = 8;
const DOCS_EACH: u64 = 100;

async fn fake() -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
    fake.call("PUT", "/docs", json!({"settings": {"number_of_shards": 3}})).unwrap();
    fake
}

fn durable(fake: &FakeCluster, ids: bool) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(fake.urls(), "docs");
    config.durability = Durability::Async;
    config.id = ids.then(|| "id".parse().unwrap());
    config.guard.state = Some(folder.path().join("state"));
    config.limits.in_flight = Some(2);
    (config, folder)
}

async fn send(load: &PushLoad, round: u64) {
    for n in round * DOCS_EACH..(round + 1) * DOCS_EACH {
        let body = format!("{{\"id\":\"i{n}\",\"n\":{n},\"text\":\"some words to fill it\"}}");
        load.send(Document { body: body.into(), ..Document::default() }).await.unwrap();
    }
}

/// Feeds a load, and lets the cluster crash in every round when it has acknowledged something that
/// it would lose. Returns how many acknowledged documents it lost.
async fn crash_in_every_round(fake: &FakeCluster, config: LoadConfig) -> (Report, usize) {
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    let mut progress = load.progress();
    let mut lost = 0;
    for round in 0..ROUNDS {
        send(&load, round).await;
        let sent = (round + 1) * DOCS_EACH;
        // Or a flush was faster.
        while fake.unsynced_writes("docs") == 0 && progress.borrow().docs_settled < sent {
            progress.changed().await.unwrap();
        }
        match round % 2 {
            0 => lost += fake.crash(),
            // What is under way is cut off besides.
            _ => {
                fake.nodes()[0].kill().await;
                fake.nodes()[1].kill().await;
                lost += fake.crash();
                fake.nodes()[0].revive().await.unwrap();
                fake.nodes()[1].revive().await.unwrap();
            }
        }
    }
    (load.finish().await, lost)
}

fn numbers(fake: &FakeCluster) -> BTreeSet<u64> {
    fake.documents("docs").iter().map(|document| document.json()["n"].as_u64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_loses_is_sent_again() {
    let fake = fake().await;
    let (config, _folder) = durable(&fake, true);
    let (report, lost) = crash_in_every_round(&fake, config).await;
    assert!(lost as u64 >= ROUNDS, "the crashes lost {lost} documents");
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(fake.crash(), 0, "what is settled is durable");
    assert_eq!(numbers(&fake), (0..ROUNDS * DOCS_EACH).collect());
    assert_eq!(fake.documents("docs").len() as u64, ROUNDS * DOCS_EACH);
    assert_eq!((report.counts.docs_read, report.counts.possible_duplicates), (ROUNDS * DOCS_EACH, 0));
    assert!(report.counts.retried_items >= lost as u64);
    assert_ne!(report.verified.state, VerifiedState::No, "{:?}", report.verified);
    let change = &report.settings.changed[DURABILITY];
    assert_eq!((report.settings.restored, &*change.to), (SettingsRestored::Yes, "async"), "{:?}", report.settings);
    assert_eq!(fake.setting("docs", DURABILITY), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ids_nothing_is_missing_and_what_may_be_there_twice_is_counted() {
    let fake = fake().await;
    let (config, _folder) = durable(&fake, false);
    let (report, lost) = crash_in_every_round(&fake, config).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(fake.crash(), 0);
    assert_eq!(numbers(&fake), (0..ROUNDS * DOCS_EACH).collect());
    let twice = fake.documents("docs").len() as u64 - ROUNDS * DOCS_EACH;
    let possible = report.counts.possible_duplicates;
    assert!(twice <= possible && possible >= lost as u64, "{twice} twice, {possible} possible, {lost} were lost");
    assert_ne!(report.verified.state, VerifiedState::No, "{:?}", report.verified);
}

/// That the tests above test something: who settles by acknowledgements loses documents here.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledgements_alone_are_not_enough() {
    let fake = fake().await;
    fake.set_setting("docs", DURABILITY, Some("async"));
    let (config, _folder) = config(fake.urls(), "docs");
    let (report, lost) = crash_in_every_round(&fake, config).await;
    assert!(lost > 0);
    assert_eq!(report.counts.docs_created, ROUNDS * DOCS_EACH, "{report:?}");
    assert!((numbers(&fake).len() as u64) < ROUNDS * DOCS_EACH, "{lost} were lost, and all are there");
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_ids_keep_their_order_and_memory_its_bound() {
    let fake = fake().await;
    let (config, _folder) = durable(&fake, true);
    let report = load(&config, documents(3_000, 40)).await;
    assert_eq!((report.status, report.counts.docs_created, report.counts.docs_updated), (Status::Complete, 40, 2_960));
    assert_eq!(numbers(&fake), (2_960..3_000).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_on_the_way_change_nothing() {
    let faults = Faults::new([
        Rule::new(Fault::ResetAfterApplying).probability(0.1),
        Rule::new(Fault::ItemRejected).probability(0.2),
    ]);
    let fake = FakeCluster::start(FakeConfig::default().faults(faults)).await.unwrap();
    let (config, _folder) = durable(&fake, true);
    let report = load(&config, documents(5_000, 5_000)).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(fake.crash(), 0);
    assert_eq!(numbers(&fake).len(), 5_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_flush_can_prove_is_refused() {
    let fake = fake().await;
    let refusal = async |config: LoadConfig| match ConfiguredLoad::new(config) {
        Err(LoadError::Usage(why)) => why.to_string(),
        Err(other) => panic!("{other}"),
        Ok(loader) => match loader.sender().await {
            Err(LoadError::Usage(why)) => why.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it began"),
        },
    };
    let (config, _folder) = durable(&fake, true);
    let placeholders = LoadConfig { index: "docs-{day}".parse().unwrap(), ..config.clone() };
    assert!(refusal(placeholders).await.contains("placeholders"));
    let summary = LoadConfig { replies: Replies::Summary, id: None, ..config.clone() };
    assert!(refusal(summary).await.contains("option `replies=summary`"));
    let mut leave = config.clone();
    leave.guard.leave_settings = true;
    assert!(refusal(leave).await.contains("option `leave_settings`"));
    let template = json!({"index_patterns": ["logs*"], "data_stream": {}});
    fake.call("PUT", "/_index_template/logs", template).unwrap();
    fake.call("PUT", "/_data_stream/logs", serde_json::Value::Null).unwrap();
    let stream = LoadConfig { index: "logs".parse().unwrap(), id: None, ..config.clone() };
    assert!(refusal(stream).await.contains("data stream"));
    let mut tight = config;
    tight.limits.in_flight = Some(10);
    assert!(refusal(tight).await.contains("half of option `memory="));
}
