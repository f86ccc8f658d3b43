//! The settings guard on real servers, which the test starts and stops itself. Needs Java.
//! `cargo test -p inrush --test guard --features real-servers`
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use common::{Lines, documents};
use inrush::config::{DeadLetters, LoadConfig};
use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush::source::{Chunk, Source, SourceError};
use inrush::transport::{Credentials, HttpOptions, Transport};
use inrush::{
    GUARD_INDEX, Loader, PushLoad, RecoverOptions, RecoveredState, SettingsRestored, Status, VerifiedState, recover,
};
use inrush_testbed::conformance::{Outcome, Target, cases, run};
use serde_json::{Value, json};

/// Lines that claim to be a large job.
struct Large(Lines);

impl Source for Large {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        self.0.next_chunk(bytes)
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn bytes_total(&self) -> Option<u64> {
        Some(2 << 30)
    }
}

struct Server {
    node: OwnedNode,
    folder: PathBuf,
    transport: Arc<Transport>,
}

impl Server {
    async fn start(distribution: Distribution, settings: &[(&str, &str)]) -> Server {
        let folder = PathBuf::from(format!("/var/tmp/inrush-guard-{}-{}", std::process::id(), distribution.version));
        let mut spec = NodeSpec { heap_mib: 768, ..NodeSpec::new(distribution, "test", folder.clone()) };
        spec.settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let node = OwnedNode::start(spec).await.unwrap();
        let transport = Transport::new(&[node.url()], Credentials::None, &HttpOptions::default()).unwrap();
        Server { node, folder, transport: Arc::new(transport) }
    }

    fn config(&self, index: &str) -> (LoadConfig, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut config = LoadConfig::new(vec![self.node.url()], index.parse().unwrap());
        config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
        config.guard.state = Some(folder.path().join("state"));
        config.limits.linger = Duration::from_millis(20);
        (config, folder)
    }

    /// The settings that somebody set, without what the server fills in.
    async fn settings(&self, index: &str) -> Value {
        let (status, body) = self.transport.get_json(&format!("/{index}/_settings?flat_settings=true")).await.unwrap();
        assert_eq!(status, 200, "{body}");
        body[index]["settings"].clone()
    }

    async fn put(&self, path: &str, body: Value) {
        let (status, reply) = self.transport.put_json(path, &body).await.unwrap();
        assert_eq!(status, 200, "{reply}");
    }

    async fn leases(&self) -> u64 {
        self.transport.post_json(&format!("/{GUARD_INDEX}/_refresh"), None).await.unwrap();
        let (_, body) = self.transport.get_json(&format!("/{GUARD_INDEX}/_count")).await.unwrap();
        body["count"].as_u64().unwrap()
    }

    async fn stop(self) {
        self.node.stop().await.unwrap();
        std::fs::remove_dir_all(self.folder).unwrap();
    }
}

async fn begin(config: LoadConfig) -> PushLoad {
    let load = Loader::new(config).unwrap().sender().await.unwrap();
    let body = "{\"n\":1}".into();
    load.send(inrush::source::push::Document { body, ..Default::default() }).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load
}

async fn check(distribution: Distribution) {
    let title = distribution.title();
    let server = Server::start(distribution, &[]).await;

    // What the guard relies on.
    let target = Target::connect(&server.node.url(), None).await.unwrap();
    let relied_on = ["lease_", "merge_throttle", "auto_expand", "refused_settings", "refresh_interval", "translog_"];
    for case in cases().iter().filter(|case| relied_on.iter().any(|name| case.name.starts_with(name))) {
        let outcome = run(case, &target).await;
        assert_eq!(outcome, Outcome::Passed, "{title}: {}", case.name);
        println!("{title}: {} {outcome:?}", case.name);
    }

    // A large load, as far as the guard knows, into an empty index with settings of its own.
    server.put("/large", json!({"settings": {"index": {"refresh_interval": "7s", "number_of_replicas": 0}}})).await;
    let before = server.settings("large").await;
    let (config, _a) = server.config("large");
    let report = Loader::new(config).unwrap().run(Large(Lines::new(documents(20_000, 20_000)))).await.unwrap();
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{title}: {report:?}");
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{title}: {:?}", report.settings);
    assert_eq!(report.settings.changed["index.refresh_interval"].to, "60s");
    assert_eq!(server.settings("large").await, before, "{title}");
    println!("{title}: {:?}", report.settings);

    // Two loads share an index that expands its replicas by itself; then one crashes, and is recovered beside another index
    // that is still being loaded.
    server.put("/expand", json!({"settings": {"index": {"auto_expand_replicas": "0-1"}}})).await;
    let before = server.settings("expand").await;
    let (mut config, folder) = server.config("expand");
    (config.guard.replicas_off, config.guard.replicas_off_confirmed, config.verify) = (true, true, false);
    let first = begin(config.clone()).await;
    let second = begin(config.clone()).await;
    assert_eq!(server.settings("expand").await["index.auto_expand_replicas"], "false", "{title}");
    assert_eq!(first.finish().await.settings.restored, SettingsRestored::PassedOn);
    assert_eq!(server.settings("expand").await["index.auto_expand_replicas"], "false", "{title}");
    assert_eq!(second.finish().await.settings.restored, SettingsRestored::Yes);
    assert_eq!(server.settings("expand").await, before, "{title}");
    assert_eq!(server.leases().await, 0);

    let crashing = config.clone();
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let load = runtime.block_on(begin(crashing));
        drop(runtime);
        drop(load);
    });
    tokio::task::spawn_blocking(|| crashed.join().unwrap()).await.unwrap();
    assert_eq!(server.settings("expand").await["index.auto_expand_replicas"], "false", "{title}");
    server.put("/other", json!({"settings": {"index": {"number_of_replicas": 1}}})).await;
    let (mut other, _b) = server.config("other");
    (other.guard.replicas_off, other.guard.state) = (true, config.guard.state.clone());
    let other = begin(other).await;
    let options = RecoverOptions { state: Some(folder.path().join("state")), ..RecoverOptions::default() };
    let recovered = recover(Arc::clone(&server.transport), &options, |_| {}).await.unwrap();
    let states: Vec<_> = recovered.iter().map(|one| (one.index.as_str(), one.state)).collect();
    assert_eq!(states, [("expand", RecoveredState::Restored), ("other", RecoveredState::InUse)], "{recovered:?}");
    assert_eq!(server.settings("expand").await, before, "{title}");
    assert_eq!(server.settings("other").await["index.number_of_replicas"], "0");
    assert_eq!(other.finish().await.settings.restored, SettingsRestored::Yes);
    assert_eq!(server.settings("other").await["index.number_of_replicas"], "1");
    assert_eq!(server.leases().await, 0);
    // Two loads side by side are counted by the last one, and a third does not delete the index beneath them.
    let (config, _c) = server.config("beside");
    let (first, second) = (begin(config.clone()).await, begin(config.clone()).await);
    let mut anew = config.clone();
    anew.create.recreate = true;
    let refused = Loader::new(anew).unwrap().run(Lines::new(documents(3, 3))).await.unwrap_err();
    assert!(refused.to_string().contains("another load is writing to it"), "{title}: {refused}");
    let report = first.finish().await;
    assert_eq!((report.exit_code(), report.verified.state), (0, VerifiedState::NotProvable), "{title}: {report:?}");
    let report = second.finish().await;
    assert_eq!((report.exit_code(), report.verified.state), (0, VerifiedState::Yes), "{title}: {report:?}");
    assert!(report.verified.detail.ends_with("2 loads together, which ran at the same time"), "{:?}", report.verified);
    println!("{title}: settings are put back after success, by the last of two, and after a crash");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_3_6() {
    check(Distribution::opensearch("3.6.0")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_8_19() {
    check(Distribution::elasticsearch("8.19.21")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_2_19() {
    check(Distribution::opensearch("2.19.6")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_7_17() {
    check(Distribution::elasticsearch("7.17.29")).await;
}

/// A cluster that balances copies over zones refuses an index without replicas: everything else is changed all the same.
#[tokio::test(flavor = "multi_thread")]
async fn opensearch_with_forced_awareness() {
    let server = Server::start(Distribution::opensearch("3.6.0"), &[("node.attr.zone", "a")]).await;
    server.put("/zones", json!({"settings": {"index": {"number_of_replicas": 1}}})).await;
    let awareness = "cluster.routing.allocation.awareness";
    server
        .put(
            "/_cluster/settings",
            json!({"persistent": {format!("{awareness}.attributes"): "zone", format!("{awareness}.force.zone.values"): "a,b",
                "cluster.routing.allocation.awareness.balance": true}}),
        )
        .await;
    let before = server.settings("zones").await;
    let (mut config, _folder) = server.config("zones");
    config.guard.replicas_off = true;
    let report = Loader::new(config).unwrap().run(Large(Lines::new(documents(1_000, 1_000)))).await.unwrap();
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
    assert!(report.settings.detail.contains("number_of_replicas could not be changed"), "{:?}", report.settings);
    assert!(report.settings.changed.contains_key("index.refresh_interval"));
    assert_eq!(server.settings("zones").await, before);
    println!("{:?}", report.settings);
    server.stop().await;
}
