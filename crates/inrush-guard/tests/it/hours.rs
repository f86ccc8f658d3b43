//! Leases, heartbeats and recoveries through hours.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::clock;
use inrush_core::retry::RetryPolicy;
use inrush_core::settings_guard::{HEARTBEAT, LoadProfile, policy};
use inrush_fake::{FakeCluster, FakeConfig};
use inrush_guard::{
    GUARD_INDEX, Plan, RecoverOptions, Recovered, RecoveredState, Running, SettingsReport, SettingsRestored, recover,
};
use inrush_testbed::in_process::InProcess;
use serde_json::json;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

async fn cluster() -> (Arc<FakeCluster>, Arc<InProcess>) {
    let (fake, way) = InProcess::start(FakeConfig::default().nodes(2)).await;
    fake.call("PUT", "/docs", json!({"settings": {"refresh_interval": "5s"}})).unwrap();
    (fake, way)
}

/// Begins to guard the index for a large load, whose requests are repeated for ten minutes.
async fn guard(fake: &FakeCluster, way: &Arc<InProcess>, holder: &str) -> Running {
    let job = LoadProfile {
        bytes_total: Some(100 << 30),
        empty: true,
        replicas_off: false,
        async_translog: false,
        data_nodes: Some(2),
        block_writes: false,
        no_graphs: false,
    };
    let uuid = fake.index_uuid("docs").unwrap();
    let plan = Plan { index: "docs".to_owned(), uuid, job, folder: None, graphs: None };
    let limits = RetryPolicy { retries: 1000, ..RetryPolicy::default() };
    Running::start(Arc::new(way.transport().patient(limits)), plan, holder).await
}

/// Recovers from another machine.
async fn recover_elsewhere(fake: &Arc<FakeCluster>) -> Recovered {
    let folder = tempfile::tempdir().unwrap();
    let options = RecoverOptions { state: Some(Path::to_owned(folder.path())), ..RecoverOptions::default() };
    let transport = Arc::new(InProcess::to(Arc::clone(fake)).transport());
    recover(transport, &options, |_| {}).await.unwrap().remove(0)
}

fn refresh(fake: &FakeCluster) -> String {
    fake.setting("docs", policy::REFRESH).unwrap()
}

#[track_caller]
fn assert_restored(fake: &FakeCluster, report: &SettingsReport) {
    assert_eq!(report.restored, SettingsRestored::Yes, "{}", report.detail);
    assert_eq!((refresh(fake).as_str(), fake.documents(GUARD_INDEX).len()), ("5s", 0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_for_as_long_as_the_load_lasts() {
    let (fake, way) = cluster().await;
    let guard = guard(&fake, &way, "a").await;
    assert_eq!(refresh(&fake), "60s");
    fake.clear_requests();
    clock::sleep(HOUR + HEARTBEAT / 2).await;
    let is_renewal = |request: &&inrush_fake::RequestLog| request.method == "PUT" && request.path.contains(GUARD_INDEX);
    assert_eq!(fake.requests().iter().filter(is_renewal).count(), 180);
    assert_restored(&fake, &guard.release().await);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_lives_keeps_its_settings_from_a_recovery() {
    let (fake, way) = cluster().await;
    let guard = guard(&fake, &way, "a").await;
    clock::sleep(HOUR).await;
    let begun = clock::now();
    let found = recover_elsewhere(&fake).await;
    assert_eq!(found.state, RecoveredState::InUse, "{}", found.detail);
    assert!(begun.elapsed() <= 2 * HEARTBEAT, "its heartbeat is seen: {:?}", begun.elapsed());
    assert_eq!(refresh(&fake), "60s");
    assert_restored(&fake, &guard.release().await);
}

#[tokio::test(start_paused = true)]
async fn a_recovery_takes_over_after_a_minute_without_a_heartbeat() {
    let (fake, way) = cluster().await;
    let _guard = guard(&fake, &way, "a").await;
    clock::sleep(HOUR).await;
    way.cut(true);
    let begun = clock::now();
    let found = recover_elsewhere(&fake).await;
    assert_eq!(found.state, RecoveredState::Restored, "{}", found.detail);
    assert!((MINUTE..2 * MINUTE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(refresh(&fake), "5s");
}

#[tokio::test(start_paused = true)]
async fn a_load_that_was_taken_for_dead_changes_its_settings_again() {
    let (fake, way) = cluster().await;
    let guard = guard(&fake, &way, "a").await;
    way.cut(true);
    assert_eq!(recover_elsewhere(&fake).await.state, RecoveredState::Restored);
    way.cut(false);
    clock::sleep(2 * HEARTBEAT).await;
    assert_eq!(refresh(&fake), "60s");
    assert_restored(&fake, &guard.release().await);
}

#[tokio::test(start_paused = true)]
async fn the_last_load_that_lives_restores_the_settings() {
    let (fake, way) = cluster().await;
    let dies = guard(&fake, &way, "dies").await;
    let other_way = InProcess::to(Arc::clone(&fake));
    let lives = guard(&fake, &other_way, "lives").await;
    let passes_on = guard(&fake, &InProcess::to(Arc::clone(&fake)), "passes-on").await;
    clock::sleep(HOUR).await;
    assert_eq!(passes_on.release().await.restored, SettingsRestored::PassedOn);
    way.cut(true);
    clock::sleep(3 * MINUTE).await;
    assert_restored(&fake, &lives.release().await);
    drop(dies);
}

#[tokio::test(start_paused = true)]
async fn a_restore_waits_for_a_cluster_that_is_away() {
    let (fake, way) = cluster().await;
    let guard = guard(&fake, &way, "a").await;
    way.cut(true);
    let begun = clock::now();
    let comes_back = async {
        clock::sleep(8 * MINUTE).await;
        way.cut(false);
    };
    let (report, ()) = tokio::join!(guard.release(), comes_back);
    assert_restored(&fake, &report);
    assert!((8 * MINUTE..9 * MINUTE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_restore_ends_without_a_cluster_and_names_the_way_back() {
    let (fake, way) = cluster().await;
    let guard = guard(&fake, &way, "a").await;
    way.cut(true);
    let begun = clock::now();
    let report = guard.release().await;
    assert_eq!(report.restored, SettingsRestored::No);
    assert!(report.detail.contains("run: inrush recover docs"), "{}", report.detail);
    assert!((10 * MINUTE..11 * MINUTE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(recover_elsewhere(&fake).await.state, RecoveredState::Restored);
    assert_eq!(refresh(&fake), "5s");
}
