//! The settings guard and its recovery, against the fake cluster.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::LoadConfig;
use inrush_load::{
    ConfiguredLoad, GUARD_INDEX, LoadError, PushLoad, RecoverOptions, Recovered, RecoveredState, SettingsRestored,
    Status, recover,
};
use inrush_sources::push::Document;
use serde_json::json;

use crate::common::{self, Large, Lines, config, documents};

const REPLICAS: &str = "index.number_of_replicas";
const REFRESH: &str = "index.refresh_interval";

fn large(count: u64) -> Large<Lines> {
    Large(Lines::new(documents(count, count)))
}

async fn fake() -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
    fake.call("PUT", "/docs", json!({"settings": {"auto_expand_replicas": "0-all"}})).unwrap();
    fake
}

/// A load of any size that switches replicas off.
fn replicas_off(fake: &FakeCluster) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(fake.urls(), "docs");
    config.guard.replicas_off = true;
    config.guard.state = Some(folder.path().join("state"));
    (config, folder)
}

fn settings(fake: &FakeCluster) -> [Option<String>; 3] {
    [REPLICAS, "index.auto_expand_replicas", REFRESH].map(|name| fake.setting("docs", name))
}

fn text(values: [Option<&str>; 3]) -> [Option<String>; 3] {
    values.map(|value| value.map(str::to_owned))
}

const BEFORE: [Option<&str>; 3] = [Some("1"), Some("0-all"), None];
const DURING: [Option<&str>; 3] = [Some("0"), Some("false"), None];

fn leases(fake: &FakeCluster) -> usize {
    fake.documents(GUARD_INDEX).len()
}

/// Begins to feed a load, and returns when its first document is in.
async fn begin(config: LoadConfig) -> PushLoad {
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    load.send(Document { body: "{\"n\":1}".into(), ..Document::default() }).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load
}

async fn put_back(fake: &FakeCluster, state: &Path, watch: Duration) -> Vec<Recovered> {
    put_back_of(fake, &[], state, watch).await
}

async fn put_back_of(fake: &FakeCluster, indices: &[&str], state: &Path, watch: Duration) -> Vec<Recovered> {
    let transport = Arc::new(Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap());
    let indices = indices.iter().map(|index| (*index).to_owned()).collect();
    let options = RecoverOptions { indices, watch, state: Some(state.to_owned()) };
    recover(transport, &options, |_| {}).await.unwrap()
}

const WATCH: Duration = Duration::from_secs(60);

/// Starts a load and ends it as a crash does: its tasks and its lock are gone, without a request to
/// the cluster.
async fn crash(config: LoadConfig) {
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let load = runtime.block_on(begin(config));
        drop(runtime);
        drop(load);
    });
    tokio::task::spawn_blocking(|| crashed.join().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_load_into_an_empty_index_changes_settings_and_puts_them_back() {
    let fake = fake().await;
    let (mut config, folder) = config(fake.urls(), "docs");
    config.guard.state = Some(folder.path().join("state"));
    let report = ConfiguredLoad::new(config).unwrap().run(large(500)).await.unwrap();
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 500), "{report:?}");
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{:?}", report.settings);
    assert_eq!(report.settings.changed.len(), 5, "{:?}", report.settings);
    assert_eq!(
        (report.settings.changed[REFRESH].from.as_deref(), &*report.settings.changed[REFRESH].to),
        (None, "60s")
    );
    assert_eq!(settings(&fake), text(BEFORE));
    assert_eq!(leases(&fake), 0);
    assert_eq!(std::fs::read_dir(folder.path().join("state")).unwrap().count(), 0);
    // Changed once, all at once, and put back in the same way, on files that replicas can copy.
    let asked = fake.requests().into_iter().map(|r| format!("{} {}", r.method, r.path.split('?').next().unwrap()));
    let of_guard: Vec<String> =
        asked.filter(|asked| asked == "PUT /docs/_settings" || asked.contains("/docs/_flush")).collect();
    assert_eq!(of_guard, ["PUT /docs/_settings", "POST /docs/_flush", "PUT /docs/_settings"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn small_loads_and_those_that_are_to_leave_settings_ask_for_nothing() {
    let fake = fake().await;
    let (config, _folder) = config(fake.urls(), "docs");
    let report = common::load(&config, documents(10, 10)).await;
    assert_eq!(report.settings.restored, SettingsRestored::Unchanged);
    let mut leave = config.clone();
    leave.guard.leave_settings = true;
    ConfiguredLoad::new(leave).unwrap().run(large(10)).await.unwrap();
    assert!(fake.requests().iter().all(|r| !r.path.contains(GUARD_INDEX) && r.path != "/docs/_settings"));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_put_back_on_success_on_an_error_and_on_an_interrupt() {
    for end in ["success", "error", "interrupt"] {
        let fake = fake().await;
        let (config, _folder) = replicas_off(&fake);
        let load =
            ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(50_000, 50_000)))).await.unwrap();
        load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
        assert_eq!(settings(&fake), text(DURING), "{end}");
        let status = match end {
            "error" => {
                fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("_bulk")]));
                Status::Failed
            }
            "interrupt" => {
                load.stop_handle().stop();
                Status::Interrupted
            }
            _ => Status::Complete,
        };
        let report = load.finish().await;
        assert_eq!((report.status, report.settings.restored), (status, SettingsRestored::Yes), "{report:?}");
        assert_eq!(settings(&fake), text(BEFORE), "{end}");
        assert_eq!(leases(&fake), 0);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_loads_the_last_one_puts_back() {
    let fake = fake().await;
    let (mut first, _a) = replicas_off(&fake);
    let (mut second, _b) = replicas_off(&fake);
    // Each finds the documents of the other.
    (first.verify, second.verify) = (false, false);
    second.guard.replicas_off_confirmed = true;
    let first = begin(first).await;
    let second = begin(second).await;
    let report = first.finish().await;
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::PassedOn), "{report:?}");
    assert_eq!(settings(&fake), text(DURING));
    let report = second.finish().await;
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{report:?}");
    assert_eq!(settings(&fake), text(BEFORE));
    assert_eq!(leases(&fake), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_recovered_by_this_machine_at_once_and_by_another_one() {
    let fake = fake().await;
    for here in [true, false] {
        let (mut config, folder) = replicas_off(&fake);
        config.guard.replicas_off_confirmed = true;
        crash(config.clone()).await;
        assert_eq!(settings(&fake), text(DURING));
        let recovered = match here {
            true => put_back(&fake, &folder.path().join("state"), WATCH).await,
            false => put_back(&fake, &folder.path().join("elsewhere"), Duration::ZERO).await,
        };
        assert_eq!(recovered.len(), 1);
        assert_eq!((recovered[0].index.as_str(), recovered[0].state), ("docs", RecoveredState::Restored));
        assert_eq!(recovered[0].changed[REPLICAS].from.as_deref(), Some("1"));
        assert_eq!(settings(&fake), text(BEFORE));
        assert_eq!(leases(&fake), 0);
        assert_eq!(put_back(&fake, &folder.path().join("state"), WATCH).await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_load_takes_over_what_a_crashed_one_left() {
    let fake = fake().await;
    let (mut config, _folder) = replicas_off(&fake);
    config.guard.replicas_off_confirmed = true;
    crash(config.clone()).await;
    let report = begin(config).await.finish().await;
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{report:?}");
    assert_eq!(settings(&fake), text(BEFORE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_leaves_a_load_that_lives_alone() {
    let fake = fake().await;
    let (config, folder) = replicas_off(&fake);
    let load = begin(config).await;
    for watch in [WATCH, Duration::ZERO] {
        let recovered = put_back(&fake, &folder.path().join("state"), watch).await;
        assert_eq!(recovered[0].state, RecoveredState::InUse, "{recovered:?}");
        assert_eq!(settings(&fake), text(DURING));
    }
    assert_eq!(load.finish().await.settings.restored, SettingsRestored::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_down_here_helps_where_the_lease_is_lost() {
    let fake = fake().await;
    let (config, folder) = replicas_off(&fake);
    crash(config).await;
    fake.call("DELETE", &format!("/{GUARD_INDEX}"), serde_json::Value::Null).unwrap();
    assert_eq!(put_back(&fake, &folder.path().join("elsewhere"), Duration::ZERO).await, []);
    // Another program may rely on these settings by now, so the index has to be named.
    let state = folder.path().join("state");
    let recovered = put_back(&fake, &state, WATCH).await;
    assert_eq!(recovered[0].state, RecoveredState::NotRestored, "{recovered:?}");
    assert_eq!(settings(&fake), text(DURING));
    let recovered = put_back_of(&fake, &["docs"], &state, WATCH).await;
    assert_eq!(recovered[0].state, RecoveredState::Restored, "{recovered:?}");
    assert_eq!(settings(&fake), text(BEFORE));
    assert_eq!(put_back(&fake, &state, WATCH).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_put_back_are_told_and_recovered_later() {
    let fake = fake().await;
    let (config, folder) = replicas_off(&fake);
    let load = begin(config).await;
    fake.refuse_settings([REPLICAS]);
    let report = load.finish().await;
    assert_eq!((report.status, report.settings.restored), (Status::CheckFailed, SettingsRestored::No));
    assert_eq!(report.exit_code(), 4);
    assert!(report.settings.detail.contains("inrush recover docs"), "{:?}", report.settings);
    let again = put_back(&fake, &folder.path().join("state"), WATCH).await;
    assert_eq!(again[0].state, RecoveredState::NotRestored);
    fake.refuse_settings([""; 0]);
    let again = put_back(&fake, &folder.path().join("state"), WATCH).await;
    assert_eq!(again[0].state, RecoveredState::Restored);
    assert_eq!(settings(&fake), text(BEFORE));
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_counts_that_are_refused_leave_the_rest() {
    let fake = fake().await;
    fake.refuse_settings([REPLICAS]);
    let (mut config, folder) = config(fake.urls(), "docs");
    config.guard.state = Some(folder.path().join("state"));
    let report = ConfiguredLoad::new(config).unwrap().run(large(50)).await.unwrap();
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
    assert!(report.settings.changed.contains_key(REFRESH) && !report.settings.changed.contains_key(REPLICAS));
    assert!(report.settings.detail.contains("could not be changed"), "{:?}", report.settings);
    assert_eq!(settings(&fake), text(BEFORE));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_place_to_write_it_down_nothing_is_changed() {
    let fake = fake().await;
    fake.deny_index(GUARD_INDEX);
    let (config, _folder) = replicas_off(&fake);
    let load = begin(config).await;
    assert_eq!(settings(&fake), text(BEFORE));
    let report = load.finish().await;
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Unchanged));
    assert!(report.settings.detail.contains("403"), "{:?}", report.settings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_is_lost_keeps_nothing_from_being_put_back() {
    let fake = fake().await;
    let (config, folder) = replicas_off(&fake);
    let load = begin(config).await;
    std::fs::remove_dir_all(folder.path().join("state")).unwrap();
    assert_eq!(load.finish().await.settings.restored, SettingsRestored::Yes);
    assert_eq!(settings(&fake), text(BEFORE));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_sets_during_the_load_stays() {
    let fake = fake().await;
    let (config, _folder) = replicas_off(&fake);
    let load = begin(config).await;
    fake.set_setting("docs", REPLICAS, Some("3"));
    fake.set_setting("docs", REFRESH, Some("17s"));
    let report = load.finish().await;
    assert!(
        report.settings.detail.contains("except index.number_of_replicas, which another client has set"),
        "{:?}",
        report.settings
    );
    assert_eq!(fake.setting("docs", REFRESH).as_deref(), Some("17s"));
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_of_an_index_with_documents_go_only_if_that_is_meant_and_safe() {
    let fake = fake().await;
    let (mut config, _folder) = replicas_off(&fake);
    config.guard.replicas_off = false;
    common::load(&config, documents(10, 10)).await;
    config.guard.replicas_off = true;
    let error = ConfiguredLoad::new(config.clone()).unwrap().run(large(1)).await.unwrap_err();
    assert!(matches!(&error, LoadError::Usage(_)) && error.to_string().contains("option `yes`"), "{error}");
    config.guard.replicas_off_confirmed = true;
    let report = ConfiguredLoad::new(config.clone()).unwrap().run(large(1)).await.unwrap();
    assert_eq!(report.settings.restored, SettingsRestored::Yes);
    fake.set_setting("docs", REPLICAS, Some("2"));
    let error = ConfiguredLoad::new(config).unwrap().run(large(1)).await.unwrap_err();
    assert!(error.to_string().contains("needs health green"), "{error}");
}

/// A template that makes data streams of the name `stream`.
fn stream_template(fake: &FakeCluster) {
    let template = json!({"index_patterns": ["stream*"], "data_stream": {}, "template": {"settings": {REFRESH: "3s"}}});
    fake.call("PUT", "/_index_template/t", template).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_that_a_data_stream_rolls_over_to_is_looked_after_as_well() {
    for exists in [true, false] {
        let fake = fake().await;
        stream_template(&fake);
        if exists {
            fake.call("PUT", "/_data_stream/stream", serde_json::Value::Null).unwrap();
        }
        let (mut config, folder) = config(fake.urls(), "stream");
        config.guard.state = Some(folder.path().join("state"));
        config.limits.max_rate = Some(inrush_load::config::Rate::Docs(1000));
        let lines = (0..1_000).map(|n| format!("{{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"n\":{n}}}"));
        let load = ConfiguredLoad::new(config).unwrap().start(Box::new(Large(Lines::new(lines)))).await.unwrap();
        let mut progress = load.progress();
        let backing = |n: usize| fake.backing_indices("stream").get(n).cloned();
        let refresh = |n| backing(n).and_then(|index| fake.setting(&index, REFRESH));
        while refresh(0).as_deref() != Some("60s") {
            progress.changed().await.unwrap();
        }
        let rolled = fake.call("POST", "/stream/_rollover", serde_json::Value::Null).unwrap();
        let new = rolled["new_index"].as_str().unwrap().to_owned();
        while refresh(1).as_deref() != Some("60s") {
            progress.changed().await.unwrap();
        }
        let of = |letter: inrush_fake::Document| letter.json()["index"].as_str().unwrap().to_owned();
        let held: Vec<String> = fake.documents(GUARD_INDEX).into_iter().map(of).collect();
        assert!(held.len() == 2 && held.contains(&new), "each has a lease: {held:?}");
        let report = load.finish().await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 1000), "{report:?}");
        assert_eq!(report.settings.restored, SettingsRestored::Yes, "{:?}", report.settings);
        assert!(report.settings.detail.contains(&new), "{:?}", report.settings);
        assert_eq!((refresh(0).as_deref(), refresh(1).as_deref()), (Some("3s"), Some("3s")));
        assert_eq!((leases(&fake), fake.documents("stream").len()), (0, 1000));
        assert_eq!(std::fs::read_dir(folder.path().join("state")).unwrap().count(), 0);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_after_a_rollover_is_recovered_for_both_indices() {
    let fake = fake().await;
    stream_template(&fake);
    fake.call("PUT", "/_data_stream/stream", serde_json::Value::Null).unwrap();
    let (mut config, folder) = replicas_off(&fake);
    config.index = "stream".parse().unwrap();
    let backing = |fake: &FakeCluster| fake.backing_indices("stream");
    let replicas = |fake: &FakeCluster| backing(fake).iter().map(|i| fake.setting(i, REPLICAS)).collect::<Vec<_>>();
    let fake = Arc::new(fake);
    let shared = Arc::clone(&fake);
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let load = runtime.block_on(async {
            let document = || Document { body: "{\"@timestamp\":1}".into(), ..Document::default() };
            let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
            load.send(document()).await.unwrap();
            load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
            shared.call("POST", "/stream/_rollover", serde_json::Value::Null).unwrap();
            load.send(document()).await.unwrap();
            let mut progress = load.progress();
            while shared.setting(&backing(&shared)[1], REPLICAS).as_deref() != Some("0") {
                progress.changed().await.unwrap();
            }
            load
        });
        drop(runtime);
        drop(load);
    });
    tokio::task::spawn_blocking(|| crashed.join().unwrap()).await.unwrap();
    let off = Some("0".to_owned());
    assert_eq!(replicas(&fake), [off.clone(), off]);
    let recovered = put_back(&fake, &folder.path().join("state"), WATCH).await;
    let states: Vec<RecoveredState> = recovered.iter().map(|one| one.state).collect();
    assert_eq!(states, [RecoveredState::Restored, RecoveredState::Restored], "{recovered:?}");
    let on = Some("1".to_owned());
    assert_eq!(replicas(&fake), [on.clone(), on]);
}
