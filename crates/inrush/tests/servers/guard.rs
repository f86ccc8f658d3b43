//! The settings guard on real servers.

use std::sync::Arc;
use std::time::Duration;

use inrush_load::config::LoadConfig;
use inrush_load::{
    ConfiguredLoad, PushLoad, RecoverOptions, RecoveredState, SettingsRestored, Status, VerifiedState, recover,
};
use inrush_testbed::conformance::{CaseOutcome, TestedServer, cases, run};
use serde_json::{Value, json};

use crate::common::{Large, Lines, documents};
use crate::server::{Server, Version, on_servers};

fn job(server: &Server, index: &str) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = server.config(index);
    config.limits.linger = Duration::from_millis(20);
    (config, folder)
}

/// The settings that were set on an index, without those that the server fills in.
async fn settings(server: &Server, index: &str) -> Value {
    let path = format!("/{index}/_settings?flat_settings=true");
    server.send("GET", &path, Value::Null).await[index]["settings"].clone()
}

async fn begin(config: LoadConfig) -> PushLoad {
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    let body = "{\"n\":1}".into();
    load.send(inrush_sources::push::Document { body, ..Default::default() }).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load
}

/// Quiet: `recover` looks at every lease of the cluster.
async fn check(version: Version) {
    let server = Server::quiet(version).await;
    let title = server.title.clone();

    // What the guard relies on.
    let target = TestedServer::connect(&server.url(), None).await.unwrap();
    let relied_on = ["lease_", "merge_throttle", "auto_expand", "refused_settings", "refresh_interval", "translog_"];
    for case in cases().iter().filter(|case| relied_on.iter().any(|name| case.name.starts_with(name))) {
        let outcome = run(case, &target).await;
        assert_eq!(outcome, CaseOutcome::Passed, "{title}: {}", case.name);
        println!("{title}: {} {outcome:?}", case.name);
    }

    // A large load, as far as the guard knows, into an empty index with settings of its own.
    server
        .send(
            "PUT",
            "/guard-large",
            json!({"settings": {"index": {"refresh_interval": "7s", "number_of_replicas": 0}}}),
        )
        .await;
    let before = settings(&server, "guard-large").await;
    let (config, _a) = job(&server, "guard-large");
    let report = ConfiguredLoad::new(config).unwrap().run(Large(Lines::new(documents(20_000, 20_000)))).await.unwrap();
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{title}: {report:?}");
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{title}: {:?}", report.settings);
    assert_eq!(report.settings.changed["index.refresh_interval"].to, "60s");
    assert_eq!(settings(&server, "guard-large").await, before, "{title}");
    println!("{title}: {:?}", report.settings);

    // Two loads share an index that expands its replicas by itself; then one crashes, and is
    // recovered beside another index that is still being loaded.
    server.send("PUT", "/guard-expand", json!({"settings": {"index": {"auto_expand_replicas": "0-1"}}})).await;
    let before = settings(&server, "guard-expand").await;
    let (mut config, folder) = job(&server, "guard-expand");
    (config.guard.replicas_off, config.guard.replicas_off_confirmed, config.verify) = (true, true, false);
    let first = begin(config.clone()).await;
    let second = begin(config.clone()).await;
    assert_eq!(settings(&server, "guard-expand").await["index.auto_expand_replicas"], "false", "{title}");
    assert_eq!(first.finish().await.settings.restored, SettingsRestored::PassedOn);
    assert_eq!(settings(&server, "guard-expand").await["index.auto_expand_replicas"], "false", "{title}");
    assert_eq!(second.finish().await.settings.restored, SettingsRestored::Yes);
    assert_eq!(settings(&server, "guard-expand").await, before, "{title}");
    assert_eq!(server.leases("guard-").await, 0);

    let crashing = config.clone();
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let load = runtime.block_on(begin(crashing));
        drop(runtime);
        drop(load);
    });
    tokio::task::spawn_blocking(|| crashed.join().unwrap()).await.unwrap();
    assert_eq!(settings(&server, "guard-expand").await["index.auto_expand_replicas"], "false", "{title}");
    server.send("PUT", "/guard-other", json!({"settings": {"index": {"number_of_replicas": 1}}})).await;
    let (mut other, _b) = job(&server, "guard-other");
    (other.guard.replicas_off, other.guard.state) = (true, config.guard.state.clone());
    let other = begin(other).await;
    let options = RecoverOptions { state: Some(folder.path().join("state")), ..RecoverOptions::default() };
    let recovered = recover(Arc::clone(&server.transport), &options, |_| {}).await.unwrap();
    let ours = recovered.iter().filter(|one| one.index.starts_with("guard-"));
    let states: Vec<_> = ours.map(|one| (one.index.as_str(), one.state)).collect();
    let expected = [("guard-expand", RecoveredState::Restored), ("guard-other", RecoveredState::InUse)];
    assert_eq!(states, expected, "{recovered:?}");
    assert_eq!(settings(&server, "guard-expand").await, before, "{title}");
    assert_eq!(settings(&server, "guard-other").await["index.number_of_replicas"], "0");
    assert_eq!(other.finish().await.settings.restored, SettingsRestored::Yes);
    assert_eq!(settings(&server, "guard-other").await["index.number_of_replicas"], "1");
    assert_eq!(server.leases("guard-").await, 0);
    // Two loads side by side are counted by the last one, and a third does not delete the index
    // beneath them.
    let (config, _c) = job(&server, "guard-beside");
    let (first, second) = (begin(config.clone()).await, begin(config.clone()).await);
    let mut anew = config.clone();
    anew.create.recreate = true;
    let refused = ConfiguredLoad::new(anew).unwrap().run(Lines::new(documents(3, 3))).await.unwrap_err();
    assert!(refused.to_string().contains("another load is writing to it"), "{title}: {refused}");
    let report = first.finish().await;
    assert_eq!((report.exit_code(), report.verified.state), (0, VerifiedState::NotProvable), "{title}: {report:?}");
    let report = second.finish().await;
    assert_eq!((report.exit_code(), report.verified.state), (0, VerifiedState::Yes), "{title}: {report:?}");
    assert!(
        report.verified.detail.ends_with("the counts include 2 loads that ran at the same time"),
        "{:?}",
        report.verified
    );
    println!("{title}: settings are put back after success, by the last of two, and after a crash");
    server.stop().await;
}

on_servers!(check: opensearch_3_8 = OpenSearch38, elasticsearch_9_5 = Elasticsearch9, opensearch_2_19 = OpenSearch2,
    elasticsearch_7_17 = Elasticsearch7);

/// A cluster that balances copies over zones refuses an index without replicas. The other settings
/// change nevertheless.
#[tokio::test(flavor = "multi_thread")]
async fn opensearch_with_forced_awareness() {
    let server = Server::own_with(Version::OpenSearch3, 1, |spec| {
        spec.settings = vec![("node.attr.zone".to_owned(), "a".to_owned())];
    })
    .await;
    server.send("PUT", "/zones", json!({"settings": {"index": {"number_of_replicas": 1}}})).await;
    let awareness = "cluster.routing.allocation.awareness";
    server
        .send(
            "PUT",
            "/_cluster/settings",
            json!({"persistent": {format!("{awareness}.attributes"): "zone", format!("{awareness}.force.zone.values"): "a,b",
                "cluster.routing.allocation.awareness.balance": true}}),
        )
        .await;
    let before = settings(&server, "zones").await;
    let (mut config, _folder) = job(&server, "zones");
    config.guard.replicas_off = true;
    let report = ConfiguredLoad::new(config).unwrap().run(Large(Lines::new(documents(1_000, 1_000)))).await.unwrap();
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
    assert!(report.settings.detail.contains("number_of_replicas could not be changed"), "{:?}", report.settings);
    assert!(report.settings.changed.contains_key("index.refresh_interval"));
    assert_eq!(settings(&server, "zones").await, before);
    println!("{:?}", report.settings);
    server.stop().await;
}
