//! Loads that pause, by hand and because of the cluster, against the fake cluster.

use std::time::Duration;

use inrush_core::PauseKind;
use inrush_fake::{FakeCluster, FakeConfig};
use inrush_load::config::{LoadConfig, Rate};
use inrush_load::{ConfiguredLoad, Phase, Report, RunningLoad, Status, VerifiedState};
use serde_json::{Value, json};

use crate::common::{self, Lines, config, documents};

const DOCS: u64 = 3_000;

async fn fake() -> FakeCluster {
    FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap()
}

/// A load that would take half a second, and looks at the health of its index all the time.
fn slow(fake: &FakeCluster) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    config.limits.max_rate = Some(Rate::Docs(2 * DOCS));
    config.limits.health_every = Duration::from_millis(5);
    config.limits.pause_max = Duration::from_secs(20);
    (config, folder)
}

async fn start(config: LoadConfig) -> RunningLoad {
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(DOCS, DOCS)))).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load
}

fn can(fake: &FakeCluster, path: &str, status: u16, body: Value) {
    fake.set_reply(path, status, body);
}

/// Waits for the pause, checks that nothing is sent while it lasts, and returns its reason.
async fn paused(fake: &FakeCluster, load: &RunningLoad) -> String {
    let mut progress = load.progress();
    let is_paused = |phase: &Phase| matches!(phase, Phase::Paused(_));
    let phase = progress.wait_for(|p| is_paused(&p.phase) && p.in_flight == 0).await.unwrap().phase.clone();
    let sent = fake.bulk_requests().len();
    for _ in 0..3 {
        progress.changed().await.unwrap();
    }
    assert_eq!(fake.bulk_requests().len(), sent, "nothing is sent during a pause");
    match phase {
        Phase::Paused(why) => why,
        other => panic!("{other:?}"),
    }
}

fn complete(fake: &FakeCluster, report: &Report) {
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, DOCS), "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes);
    assert_eq!(fake.documents("docs").len() as u64, DOCS);
}

fn kinds(report: &Report) -> Vec<PauseKind> {
    report.pauses.iter().map(|pause| pause.kind).collect()
}

fn health(index: &str, status: &str) -> Value {
    json!({"indices": {index: {"status": status}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_index_is_red_the_load_pauses_and_then_it_goes_on() {
    let fake = fake().await;
    let (config, _folder) = slow(&fake);
    // It was never asked for the health of another one.
    can(&fake, "/_cluster/health", 200, json!({"status": "red"}));
    can(&fake, "/_cluster/health/other", 200, health("other", "red"));
    let load = start(config).await;
    can(&fake, "/_cluster/health/docs", 200, health("docs", "red"));
    let why = paused(&fake, &load).await;
    assert!(why.contains("docs is red") && why.contains("allocation/explain"), "{why}");
    can(&fake, "/_cluster/health/docs", 200, health("docs", "yellow"));
    let report = load.finish().await;
    complete(&fake, &report);
    assert_eq!((kinds(&report), report.pauses[0].times), (vec![PauseKind::IndexRed], 1));
    assert!(report.pauses[0].seconds > 0.0 && report.pauses[0].seconds < report.seconds, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_pauses_the_load_where_the_index_is_on_it_and_the_watermark_holds() {
    let fake = fake().await;
    let (config, _folder) = slow(&fake);
    let node = |name: &str, free: u64| json!({"name": name, "fs": {"total": {"total_in_bytes": 1000, "available_in_bytes": free}}});
    let watermark = |on: bool| {
        let layer = |disk: Value| json!({"cluster": {"routing": {"allocation": {"disk": disk}}}});
        let (high, threshold) = (json!({"watermark": {"high": "90%"}}), json!({"threshold_enabled": on.to_string()}));
        json!({"defaults": layer(high), "persistent": layer(threshold)})
    };
    can(&fake, "/_nodes/stats/fs", 200, json!({"nodes": {"a": node("es-1", 500), "b": node("es-2", 20)}}));
    can(&fake, "/_cluster/settings", 200, watermark(true));
    can(&fake, "/_cat/shards/docs", 200, json!([{"index": "docs", "node": "es-1"}]));
    let load = start(config).await;
    assert_eq!(load.progress().borrow().phase, Phase::Loading, "the full disk is another node's");
    can(&fake, "/_cat/shards/docs", 200, json!([{"index": "docs", "node": "es-2 -> 10.0.0.1 x es-1"}]));
    let why = paused(&fake, &load).await;
    assert!(why.contains("node es-2, which has shards of docs") && why.contains("98.0 % used"), "{why}");
    can(&fake, "/_cluster/settings", 200, watermark(false));
    let report = load.finish().await;
    complete(&fake, &report);
    assert_eq!(kinds(&report), [PauseKind::DiskHigh]);
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_that_lasts_stops_the_load_with_its_reason() {
    let fake = fake().await;
    let (mut config, _folder) = slow(&fake);
    config.limits.pause_max = Duration::from_millis(50);
    let load = start(config).await;
    can(&fake, "/_cluster/health/docs", 200, health("docs", "red"));
    let report = load.finish().await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    let failure = report.failure.as_ref().unwrap();
    assert!(failure.contains("after a pause of 0.05 s") && failure.contains("docs is red"), "{failure}");
    assert_eq!((report.counts.docs_dead_lettered, report.counts.docs_unknown), (0, 0));
    assert_eq!(fake.documents("docs").len() as u64, report.counts.docs_created);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_ask_loads_without_pauses() {
    let fake = fake().await;
    let (config, _folder) = slow(&fake);
    for path in ["/_cluster/health/docs", "/_nodes/stats/fs", "/_cluster/settings"] {
        can(&fake, path, 403, json!({"error": {"type": "security_exception", "reason": "no"}}));
    }
    let report = start(config).await.finish().await;
    complete(&fake, &report);
    assert_eq!(report.pauses, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_paused_by_hand_and_goes_on_when_it_is_told_to() {
    let fake = fake().await;
    let (mut config, _folder) = slow(&fake);
    config.limits.pause_max = Duration::ZERO;
    let load = start(config).await;
    let hand = load.pause_handle();
    hand.pause();
    hand.pause();
    assert_eq!(paused(&fake, &load).await, "by hand");
    hand.toggle();
    load.progress().wait_for(|p| p.phase == Phase::Loading).await.unwrap();
    hand.toggle();
    paused(&fake, &load).await;
    hand.resume();
    let report = load.finish().await;
    complete(&fake, &report);
    assert_eq!((kinds(&report), report.pauses[0].times), (vec![PauseKind::ByHand], 2));
    // The pauses are no part of the rate.
    assert!(report.docs_per_second > DOCS as f64 / report.seconds, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_a_load_that_is_paused_does_not_wait() {
    let fake = fake().await;
    let (config, _folder) = slow(&fake);
    let load = start(config).await;
    load.pause_handle().pause();
    paused(&fake, &load).await;
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!((report.status, report.verified.state), (Status::Interrupted, VerifiedState::Yes), "{report:?}");
    assert_eq!(fake.documents("docs").len() as u64, report.counts.docs_created);
    assert!(report.counts.docs_created < DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_are_told_before_and_after() {
    let fake = fake().await;
    let (config, _folder) = config(fake.urls(), "docs");
    common::load(&config, documents(10, 10)).await;
    let report = common::load(&config, documents(10, 10)).await;
    let sizes = report.sizes["docs"];
    let (before, after) = (sizes.before.unwrap(), sizes.after.unwrap());
    assert_eq!((before.docs, after.docs), (10, 20));
    assert!(0 < before.primary_bytes && before.primary_bytes < after.primary_bytes, "{sizes:?}");
    let (config, _folder) = common::config(fake.urls(), "docs-{id}");
    let report = common::load(&config, documents(4, 2)).await;
    assert_eq!(report.sizes.keys().collect::<Vec<_>>(), ["docs-i0", "docs-i1"]);
    assert_eq!(report.sizes["docs-i1"].before.unwrap().docs, 0);
    assert_eq!(report.sizes["docs-i1"].after.unwrap().docs, 2);
}
