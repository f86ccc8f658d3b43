//! Loads that write to one index at the same time, against the fake cluster.

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_core::Action;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{LoadConfig, StateFolder};
use inrush_load::{ConfiguredLoad, LOADS_INDEX, LoadError, PushLoad, Report, Status, VerifiedState};
use inrush_sources::push::Document;
use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{self, Lines, config, documents};

async fn fake() -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    fake.call("PUT", "/docs", json!({})).unwrap();
    fake
}

/// A load into `docs`, with what this machine knows of loads in a folder of its own.
fn job(fake: &FakeCluster) -> (LoadConfig, TempDir) {
    let (mut config, folder) = config(fake.urls(), "docs");
    config.guard.state = Some(folder.path().join("state"));
    (config, folder)
}

async fn send(load: &PushLoad, count: u64) {
    for n in 0..count {
        load.send(Document { body: format!("{{\"n\":{n}}}").into(), ..Document::default() }).await.unwrap();
    }
}

/// Begins to feed a load, and returns when its first document is in.
async fn begin(config: &LoadConfig) -> PushLoad {
    let load = ConfiguredLoad::new(config.clone()).unwrap().sender().await.unwrap();
    send(&load, 1).await;
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load
}

/// Ends as a crash does: tasks and lock are gone, nothing is said to the cluster.
async fn crash(config: LoadConfig) {
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let load = runtime.block_on(begin(&config));
        drop(runtime);
        drop(load);
    });
    tokio::task::spawn_blocking(|| crashed.join().unwrap()).await.unwrap();
}

fn is_waiting(report: &Report) {
    let found = (report.status, report.exit_code(), report.verified.state);
    assert_eq!(found, (Status::Complete, 0, VerifiedState::NotProvable), "{report:?}");
    let detail = &report.verified.detail;
    assert!(
        detail.contains("another load is writing to docs (run ") && detail.contains("the last load to end"),
        "{detail}"
    );
}

fn is_proven(report: &Report, words: &str) {
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
    assert!(report.verified.detail.contains(words), "{:?}", report.verified);
}

/// The records of loads into indices.
fn records(fake: &FakeCluster) -> Vec<Value> {
    let is_there = fake.index_uuid(LOADS_INDEX).is_some();
    if is_there { fake.documents(LOADS_INDEX).iter().map(|document| document.json()).collect() } else { Vec::new() }
}

/// Deletes a document of `docs`, as another program would.
async fn delete_one(fake: &FakeCluster) {
    let id = fake.documents("docs")[0].id.clone();
    let (mut config, _folder) = config(fake.urls(), "docs");
    (config.action, config.id, config.verify) = (Action::Delete, Some("id".parse().unwrap()), false);
    let report = common::load(&config, [format!("{{\"id\":\"{id}\"}}")]).await;
    assert_eq!(report.counts.docs_deleted, 1, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_of_two_counts_for_both() {
    let fake = fake().await;
    let (config, _folder) = job(&fake);
    common::load(&config, documents(5, 5)).await;
    let (first, second) = (begin(&config).await, begin(&config).await);
    send(&first, 100).await;
    send(&second, 200).await;
    let first = first.finish().await;
    is_waiting(&first);
    assert!(first.verified.detail.contains(&format!("process {}", std::process::id())), "{:?}", first.verified);
    let second = second.finish().await;
    is_proven(&second, "5 before + 302 created - 0 deleted; the counts include 2 loads");
    assert_eq!(records(&fake), Vec::<Value>::new());
    // Later loads are alone again.
    is_proven(&common::load(&config, documents(3, 3)).await, "307 before + 3 created - 0 deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_lost_is_found_by_the_last_one() {
    let fake = fake().await;
    let (config, _folder) = job(&fake);
    let (first, second) = (begin(&config).await, begin(&config).await);
    send(&first, 100).await;
    is_waiting(&first.finish().await);
    delete_one(&fake).await;
    let report = second.finish().await;
    assert_eq!((report.exit_code(), report.verified.state), (4, VerifiedState::No), "{report:?}");
    assert!(report.verified.detail.contains("1 fewer than 0 before + 102 created"), "{:?}", report.verified);
}

#[tokio::test(flavor = "multi_thread")]
async fn loads_that_overlap_in_a_chain_are_counted_together() {
    let fake = fake().await;
    let (config, _folder) = job(&fake);
    let (first, second) = (begin(&config).await, begin(&config).await);
    is_waiting(&first.finish().await);
    let third = begin(&config).await;
    is_waiting(&second.finish().await);
    is_proven(&third.finish().await, "0 before + 3 created - 0 deleted; the counts include 3 loads");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_begin_at_once_into_an_index_that_is_not_there() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (config, _folder) = job(&fake);
    let run = || ConfiguredLoad::new(config.clone()).unwrap().run(Lines::new(documents(500, 500)));
    let (one, two) = tokio::join!(run(), run());
    let states = [one.unwrap(), two.unwrap()].map(|report| {
        assert_eq!(report.exit_code(), 0, "{report:?}");
        report.verified.state
    });
    assert!(states.contains(&VerifiedState::Yes), "{states:?}");
    assert_eq!((fake.documents("docs").len(), records(&fake).len()), (1000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_died_here_keeps_nobody_from_a_proof() {
    let fake = fake().await;
    let (config, folder) = job(&fake);
    crash(config.clone()).await;
    assert_eq!(records(&fake)[0]["running"].as_object().unwrap().len(), 1);
    is_proven(&common::load(&config, documents(3, 3)).await, "1 before + 3 created - 0 deleted");
    let locks = std::fs::read_dir(folder.path().join("state")).unwrap().count();
    assert_eq!((locks, records(&fake).len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_dies_beside_another_one_is_named() {
    let fake = fake().await;
    let (config, _folder) = job(&fake);
    let first = begin(&config).await;
    crash(config.clone()).await;
    let report = first.finish().await;
    assert_eq!((report.exit_code(), report.verified.state), (0, VerifiedState::NotProvable), "{report:?}");
    assert!(report.verified.detail.contains("died without recording its counts (run "), "{:?}", report.verified);
    is_proven(&common::load(&config, documents(3, 3)).await, "2 before + 3 created");
}

/// Writes down a load of another machine that was last heard of at `seen_s`.
async fn elsewhere(fake: &FakeCluster, seen_s: u64) {
    let uuid = fake.index_uuid("docs").unwrap();
    let transport = Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap();
    let sum = json!({"created": 0, "deleted": 0, "possible_duplicates": 0, "more": 0, "fewer": 0});
    let running = json!({"e15e": {"host": "es-7", "process": 77, "seen_s": seen_s}});
    let record = json!({"name": "docs", "before": 0, "running": running, "ended": 0, "sum": sum, "unprovable": null});
    let (status, body) = transport.put_json(&format!("/{LOADS_INDEX}/_doc/writes-{uuid}"), &record).await.unwrap();
    assert!(status < 300, "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_load_elsewhere_signs_of_life_are_believed() {
    let fake = fake().await;
    let (config, _folder) = job(&fake);
    let now_s = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    elsewhere(&fake, now_s).await;
    let report = common::load(&config, documents(3, 3)).await;
    is_waiting(&report);
    assert!(report.verified.detail.contains("run e15e, process 77 on es-7"), "{:?}", report.verified);
    assert_eq!((&records(&fake)[0]["ended"], &records(&fake)[0]["sum"]["created"]), (&json!(1), &json!(3)));
    elsewhere(&fake, now_s - 600).await;
    is_proven(&common::load(&config, documents(3, 3)).await, "3 before + 3 created");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_another_load_writes_to_is_not_made_anew() {
    let fake = fake().await;
    let (config, _folder) = job(&fake);
    let first = begin(&config).await;
    let mut anew = config.clone();
    anew.create.recreate = true;
    let start = || ConfiguredLoad::new(anew.clone()).unwrap().run(Lines::new(documents(3, 3)));
    let error = start().await.unwrap_err();
    assert!(matches!(error, LoadError::Usage(_)), "{error:?}");
    let why = error.to_string();
    assert!(why.contains("docs was not deleted: another load is writing to it (run "), "{why}");
    assert!(why.contains(LOADS_INDEX), "{why}");
    assert_eq!(fake.documents("docs").len(), 1);
    is_proven(&first.finish().await, "0 before + 1 created");
    is_proven(&start().await.unwrap(), "0 before + 3 created");
    assert_eq!(fake.documents("docs").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_resumed_takes_its_own_place() {
    let fake = fake().await;
    let (mut config, folder) = job(&fake);
    config.state = Some(StateFolder::new(folder.path().join("state")));
    config.id = Some("id".parse().unwrap());
    let path = folder.path().join("documents.ndjson");
    std::fs::write(&path, documents(1000, 1000).map(|line| line + "\n").collect::<String>()).unwrap();
    let other = {
        let mut other = config.clone();
        (other.state, other.id) = (None, None);
        begin(&other).await
    };
    let file = || {
        let source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
        Box::new(source)
    };
    // Half of it is in, and the rest never gets an answer.
    fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).after(3).path("_bulk")]));
    let cut_off = (config.clone(), file());
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let load = runtime.block_on(async {
            let load = ConfiguredLoad::new(cut_off.0).unwrap().start(cut_off.1).await.unwrap();
            load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
            load
        });
        drop(runtime);
        drop(load);
    });
    tokio::task::spawn_blocking(|| crashed.join().unwrap()).await.unwrap();
    fake.set_faults(Faults::default());
    // The next run waits for the requests of this one.
    fake.release_held();
    config.resume = true;
    let resumed = ConfiguredLoad::new(config).unwrap().start(file()).await.unwrap().finish().await;
    is_waiting(&resumed);
    is_proven(&other.finish().await, "the counts include 2 loads that ran at the same time");
    assert_eq!(fake.documents("docs").len(), 1001);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_keep_records_is_alone() {
    let fake = fake().await;
    fake.deny_index(LOADS_INDEX);
    let (config, _folder) = job(&fake);
    is_proven(&common::load(&config, documents(3, 3)).await, "0 before + 3 created - 0 deleted");
    let report = begin(&config).await.finish().await;
    is_proven(&report, "3 before + 1 created");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_settings_are_left_nothing_is_written_down() {
    let fake = fake().await;
    let (mut config, _folder) = job(&fake);
    config.guard.leave_settings = true;
    is_proven(&common::load(&config, documents(3, 3)).await, "0 before + 3 created - 0 deleted");
    assert!(fake.index_uuid(LOADS_INDEX).is_none());
}
