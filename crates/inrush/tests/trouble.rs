//! What befalls a load in its middle, on real servers which the test starts and stops itself. Needs Java.
//! `cargo test -p inrush --test trouble --features real-servers`
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use common::Lines;
use http::StatusCode;
use inrush::config::{DeadLetters, LoadConfig, Rate, StateFolder};
use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush::source::{Chunk, Fingerprint, FormatOptions, Repeats, Source, SourceError, SourceSpec, Warnings, open};
use inrush::transport::{Credentials, HttpOptions, Transport};
use inrush::{GUARD_INDEX, Loader, PauseKind, Phase, Report, RunningLoad, SettingsRestored, Status, VerifiedState};
use inrush_testbed::{Proxy, ProxyConfig};
use serde_json::{Value, json};
use tempfile::TempDir;

const DOCS: u64 = 20_000;
const REFRESH: &str = "index.refresh_interval";

/// Documents that claim to be a large job.
struct Large(Box<dyn Source>);

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

    fn repeats(&self) -> Repeats {
        self.0.repeats()
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.0.fingerprints()
    }

    fn reading(&self) -> String {
        self.0.reading()
    }
}

struct Server {
    node: OwnedNode,
    folder: PathBuf,
    transport: Arc<Transport>,
    title: String,
}

impl Server {
    async fn start(distribution: Distribution) -> Server {
        let title = distribution.title();
        let folder = PathBuf::from(format!("/var/tmp/inrush-trouble-{}-{}", std::process::id(), distribution.version));
        let node = OwnedNode::start(NodeSpec { heap_mib: 768, ..NodeSpec::new(distribution, "test", folder.clone()) });
        let node = node.await.unwrap();
        let transport = Transport::new(&[node.url()], Credentials::None, &HttpOptions::default()).unwrap();
        Server { node, folder, transport: Arc::new(transport), title }
    }

    /// A job of four seconds whose index is looked at all the time, and its folder.
    fn config(&self, index: &str) -> (LoadConfig, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut config = LoadConfig::new(vec![self.node.url()], index.parse().unwrap());
        config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
        config.guard.state = Some(folder.path().join("state"));
        config.state = Some(StateFolder::new(folder.path().join("state")));
        config.limits.linger = Duration::from_millis(20);
        config.limits.max_rate = Some(Rate::Docs(DOCS / 4));
        config.limits.health_every = Duration::from_millis(100);
        config.limits.pause_max = Duration::from_secs(60);
        (config, folder)
    }

    async fn put(&self, path: &str, body: Value) {
        let (status, reply) = self.transport.put_json(path, &body).await.unwrap();
        assert_eq!(status, 200, "{}: {path}: {reply}", self.title);
    }

    async fn setting(&self, index: &str, name: &str) -> Option<String> {
        let path = format!("/{index}/_settings?flat_settings=true");
        let (_, body) = self.transport.get_json(&path).await.unwrap();
        body[index]["settings"][name].as_str().map(str::to_owned)
    }

    async fn count(&self, index: &str) -> u64 {
        self.transport.post_json(&format!("/{index}/_refresh"), None).await.unwrap();
        let (_, body) = self.transport.get_json(&format!("/{index}/_count")).await.unwrap();
        body["count"].as_u64().unwrap()
    }

    async fn stop(self) {
        self.node.stop().await.unwrap();
        std::fs::remove_dir_all(self.folder).unwrap();
    }
}

/// A file of documents with ids, which can be read again.
fn file(folder: &TempDir) -> Box<dyn Source> {
    let path = folder.path().join("documents.ndjson");
    if !path.exists() {
        let text: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
        std::fs::write(&path, text).unwrap();
    }
    Box::new(open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap())
}

async fn begin(config: &LoadConfig, source: Box<dyn Source>) -> RunningLoad {
    let load = Loader::new(config.clone()).unwrap().start(source).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 500).await.unwrap();
    load
}

async fn pauses(load: &RunningLoad, words: &str) {
    let why = |phase: &Phase| matches!(phase, Phase::Paused(why) if why.contains(words));
    load.progress().wait_for(|p| why(&p.phase)).await.unwrap_or_else(|_| panic!("no pause: {words}"));
}

fn complete(server: &Server, report: &Report) {
    let found = (report.status, report.verified.state, report.counts.docs_read);
    assert_eq!(found, (Status::Complete, VerifiedState::Yes, DOCS), "{}: {report:?}", server.title);
}

async fn red(server: &Server) {
    // The whole cluster is red, by an index that is nobody's business.
    let nowhere = json!({"settings": {"index.routing.allocation.require._name": "nowhere", "number_of_replicas": 0}});
    server.put("/other?wait_for_active_shards=0", nowhere.clone()).await;
    let (mut config, folder) = server.config("fine");
    config.limits.max_rate = None;
    let report = Loader::new(config).unwrap().run(Large(file(&folder))).await.unwrap();
    complete(server, &report);
    assert_eq!(report.pauses, [], "{}", server.title);

    server.put("/red?wait_for_active_shards=0", nowhere).await;
    let (mut config, folder) = server.config("red");
    config.verify = false;
    let load = Loader::new(config).unwrap().start(file(&folder)).await.unwrap();
    pauses(&load, "red is red: a primary shard is not assigned").await;
    server.put("/red/_settings", json!({"index.routing.allocation.require._name": null})).await;
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS), "{}: {report:?}", server.title);
    assert_eq!(report.pauses[0].kind, PauseKind::IndexRed);
    println!("{}: {:?}", server.title, report.pauses);
}

async fn full_disk(server: &Server) {
    let (config, folder) = server.config("disk");
    let load = begin(&config, file(&folder)).await;
    let disk = "cluster.routing.allocation.disk";
    let marks = |on: bool| {
        json!({"transient": {format!("{disk}.threshold_enabled"): on, format!("{disk}.watermark.low"): "0.1%",
            format!("{disk}.watermark.high"): "0.1%", format!("{disk}.watermark.flood_stage"): "99.9%"}})
    };
    server.put("/_cluster/settings", marks(true)).await;
    pauses(&load, "has shards of disk, is above its high watermark").await;
    server.put("/_cluster/settings", marks(false)).await;
    let report = load.finish().await;
    complete(server, &report);
    assert_eq!(report.pauses[0].kind, PauseKind::DiskHigh);
    println!("{}: {:?}", server.title, report.pauses);
}

async fn flood_stage(server: &Server) {
    let (mut config, folder) = server.config("flood");
    config.id = Some("id".parse().unwrap());
    config.limits.pause_max = Duration::from_secs(1);
    server.put("/flood", json!({"settings": {REFRESH: "7s"}})).await;
    let load = begin(&config, Box::new(Large(file(&folder)))).await;
    assert_eq!(server.setting("flood", REFRESH).await.as_deref(), Some("60s"));
    server.put("/flood/_settings", json!({"index.blocks.read_only_allow_delete": true})).await;
    let first = load.finish().await;
    assert_eq!((first.status, first.counts.docs_dead_lettered), (Status::Failed, 0), "{}: {first:?}", server.title);
    assert!(first.failure.as_ref().unwrap().contains("flood stage"), "{first:?}");
    assert_eq!(server.count("flood").await, first.counts.docs_created, "{}", server.title);
    println!("{}: {:?}; {:?}", server.title, first.failure, first.settings);
    server.put("/flood/_settings", json!({"index.blocks.read_only_allow_delete": null})).await;
    let resumed = LoadConfig { resume: true, ..config };
    let report = Loader::new(resumed).unwrap().run(Large(file(&folder))).await.unwrap();
    complete(server, &report);
    assert_eq!(server.count("flood").await, DOCS);
    assert_eq!(server.setting("flood", REFRESH).await.as_deref(), Some("7s"), "{:?}", report.settings);
}

async fn expired_credentials(server: &Server) {
    let proxy = Proxy::start(ProxyConfig::new(server.node.url())).await.unwrap();
    let (mut config, folder) = server.config("expired");
    config.to = vec![proxy.url()];
    config.id = Some("id".parse().unwrap());
    server.put("/expired", json!({"settings": {REFRESH: "7s"}})).await;
    let load = begin(&config, Box::new(Large(file(&folder)))).await;
    proxy.refuse(Some(StatusCode::UNAUTHORIZED));
    let first = load.finish().await;
    assert_eq!((first.status, first.settings.restored), (Status::Failed, SettingsRestored::No), "{first:?}");
    assert!(first.failure.as_ref().unwrap().contains("401 security_exception"), "{first:?}");
    assert_eq!(server.count("expired").await, first.counts.docs_created, "{}", server.title);
    println!("{}: {:?}; {:?}", server.title, first.failure, first.settings);
    proxy.refuse(None);
    let resumed = LoadConfig { resume: true, ..config };
    let report = Loader::new(resumed).unwrap().run(Large(file(&folder))).await.unwrap();
    complete(server, &report);
    assert_eq!(server.count("expired").await, DOCS);
    assert_eq!(server.setting("expired", REFRESH).await.as_deref(), Some("7s"), "{:?}", report.settings);
}

async fn rollover(server: &Server) {
    let (status, reply) = server.transport.get_json("/_data_stream").await.unwrap();
    if status != 200 {
        println!("{}: skipped, this distribution has no data streams: {reply}", server.title);
        return;
    }
    let template = json!({"index_patterns": ["stream*"], "data_stream": {},
        "template": {"settings": {REFRESH: "7s", "index.number_of_replicas": 0}}});
    server.put("/_index_template/stream", template).await;
    let (mut config, _folder) = server.config("stream");
    // Time enough for two guards.
    config.limits.max_rate = Some(Rate::Docs(DOCS / 10));
    let lines = (0..DOCS).map(|n| format!("{{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"n\":{n}}}"));
    let load = begin(&config, Box::new(Large(Box::new(Lines::new(lines))))).await;
    let mut progress = load.progress();
    // Its first document has made it, and its name is only known since.
    let (_, streams) = server.transport.get_json("/_data_stream/stream").await.unwrap();
    let first = streams["data_streams"][0]["indices"][0]["index_name"].as_str().unwrap();
    while server.setting(first, REFRESH).await.as_deref() != Some("60s") {
        progress.changed().await.unwrap();
    }
    let (_, rolled) = server.transport.post_json("/stream/_rollover", None).await.unwrap();
    let (old, new) = (rolled["old_index"].as_str().unwrap(), rolled["new_index"].as_str().unwrap());
    while server.setting(new, REFRESH).await.as_deref() != Some("60s") {
        progress.changed().await.unwrap();
    }
    assert_eq!(server.count(GUARD_INDEX).await, 2);
    let report = load.finish().await;
    complete(server, &report);
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{:?}", report.settings);
    for index in [old, new] {
        assert_eq!(server.setting(index, REFRESH).await.as_deref(), Some("7s"), "{}: {index}", server.title);
    }
    assert_eq!((server.count(GUARD_INDEX).await, report.indices.len()), (0, 2), "{report:?}");
    println!("{}: {:?}", server.title, report.settings);
}

async fn check(distribution: Distribution) {
    let server = Server::start(distribution).await;
    rollover(&server).await;
    red(&server).await;
    full_disk(&server).await;
    flood_stage(&server).await;
    expired_credentials(&server).await;
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
