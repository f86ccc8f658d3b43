//! What befalls a load in its middle, on real servers.

use std::time::Duration;

use http::StatusCode;
use inrush_core::PauseKind;
use inrush_load::config::{LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, GUARD_INDEX, Phase, Report, RunningLoad, SettingsRestored, Status, VerifiedState};
use inrush_sources::{Files, FormatOptions, Source, SourceSpec, Warnings, open};
use inrush_testbed::{Proxy, ProxyConfig};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{Large, Lines};
use crate::server::{Server, Version, on_servers};

const DOCS: u64 = 20_000;
const REFRESH: &str = "index.refresh_interval";

/// A load of four seconds whose index is looked at all the time, and its folder.
fn job(server: &Server, index: &str) -> (LoadConfig, TempDir) {
    let (mut config, folder) = server.config(index);
    config.state = Some(StateFolder::new(folder.path().join("state")));
    config.limits.linger = Duration::from_millis(20);
    config.limits.max_rate = Some(Rate::Docs(DOCS / 4));
    config.limits.health_every = Duration::from_millis(100);
    config.limits.pause_max = Duration::from_secs(60);
    (config, folder)
}

async fn setting(server: &Server, index: &str, name: &str) -> Option<String> {
    let path = format!("/{index}/_settings?flat_settings=true");
    let (_, body) = server.transport.get_json(&path).await.unwrap();
    body[index]["settings"][name].as_str().map(str::to_owned)
}

/// A file of documents with ids, which can be read again.
fn file(folder: &TempDir) -> Files {
    let path = folder.path().join("documents.ndjson");
    if !path.exists() {
        let text: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
        std::fs::write(&path, text).unwrap();
    }
    open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap()
}

async fn begin(config: &LoadConfig, source: impl Source + 'static) -> RunningLoad {
    let load = ConfiguredLoad::new(config.clone()).unwrap().start(Box::new(source)).await.unwrap();
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
    // The whole cluster is red because of another index.
    let nowhere = json!({"settings": {"index.routing.allocation.require._name": "nowhere", "number_of_replicas": 0}});
    server.send("PUT", "/other?wait_for_active_shards=0", nowhere.clone()).await;
    let (mut config, folder) = job(server, "fine");
    config.limits.max_rate = None;
    let report = ConfiguredLoad::new(config).unwrap().run(Large(file(&folder))).await.unwrap();
    complete(server, &report);
    assert_eq!(report.pauses, [], "{}", server.title);

    server.send("PUT", "/red?wait_for_active_shards=0", nowhere).await;
    let (mut config, folder) = job(server, "red");
    config.verify = false;
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(file(&folder))).await.unwrap();
    pauses(&load, "red is red: a primary shard is not assigned").await;
    server.send("PUT", "/red/_settings", json!({"index.routing.allocation.require._name": null})).await;
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS), "{}: {report:?}", server.title);
    assert_eq!(report.pauses[0].kind, PauseKind::IndexRed);
    println!("{}: {:?}", server.title, report.pauses);
}

async fn full_disk(server: &Server) {
    let (config, folder) = job(server, "disk");
    let load = begin(&config, file(&folder)).await;
    let disk = "cluster.routing.allocation.disk";
    let marks = |on: bool| {
        json!({"transient": {format!("{disk}.threshold_enabled"): on, format!("{disk}.watermark.low"): "0.1%",
            format!("{disk}.watermark.high"): "0.1%", format!("{disk}.watermark.flood_stage"): "99.9%"}})
    };
    server.send("PUT", "/_cluster/settings", marks(true)).await;
    pauses(&load, "has shards of disk, is above its high watermark").await;
    server.send("PUT", "/_cluster/settings", marks(false)).await;
    let report = load.finish().await;
    complete(server, &report);
    assert_eq!(report.pauses[0].kind, PauseKind::DiskHigh);
    println!("{}: {:?}", server.title, report.pauses);
}

async fn flood_stage(server: &Server) {
    let (mut config, folder) = job(server, "flood");
    config.id = Some("id".parse().unwrap());
    config.limits.pause_max = Duration::from_secs(1);
    server.send("PUT", "/flood", json!({"settings": {REFRESH: "7s"}})).await;
    let load = begin(&config, Large(file(&folder))).await;
    assert_eq!(setting(server, "flood", REFRESH).await.as_deref(), Some("60s"));
    server.send("PUT", "/flood/_settings", json!({"index.blocks.read_only_allow_delete": true})).await;
    let first = load.finish().await;
    assert_eq!((first.status, first.counts.docs_dead_lettered), (Status::Failed, 0), "{}: {first:?}", server.title);
    assert!(first.failure.as_ref().unwrap().contains("flood stage"), "{first:?}");
    assert_eq!(server.count("flood").await, first.counts.docs_created, "{}", server.title);
    println!("{}: {:?}; {:?}", server.title, first.failure, first.settings);
    server.send("PUT", "/flood/_settings", json!({"index.blocks.read_only_allow_delete": null})).await;
    let resumed = LoadConfig { resume: true, ..config };
    let report = ConfiguredLoad::new(resumed).unwrap().run(Large(file(&folder))).await.unwrap();
    complete(server, &report);
    assert_eq!(server.count("flood").await, DOCS);
    assert_eq!(setting(server, "flood", REFRESH).await.as_deref(), Some("7s"), "{:?}", report.settings);
}

async fn expired_credentials(server: &Server) {
    let proxy = Proxy::start(ProxyConfig::new(server.url())).await.unwrap();
    let (mut config, folder) = job(server, "expired");
    config.to = vec![proxy.url()];
    config.id = Some("id".parse().unwrap());
    server.send("PUT", "/expired", json!({"settings": {REFRESH: "7s"}})).await;
    let load = begin(&config, Large(file(&folder))).await;
    proxy.refuse(Some(StatusCode::UNAUTHORIZED));
    let first = load.finish().await;
    assert_eq!((first.status, first.settings.restored), (Status::Failed, SettingsRestored::No), "{first:?}");
    assert!(first.failure.as_ref().unwrap().contains("401 security_exception"), "{first:?}");
    assert_eq!(server.count("expired").await, first.counts.docs_created, "{}", server.title);
    println!("{}: {:?}; {:?}", server.title, first.failure, first.settings);
    proxy.refuse(None);
    let resumed = LoadConfig { resume: true, ..config };
    let report = ConfiguredLoad::new(resumed).unwrap().run(Large(file(&folder))).await.unwrap();
    complete(server, &report);
    assert_eq!(server.count("expired").await, DOCS);
    assert_eq!(setting(server, "expired", REFRESH).await.as_deref(), Some("7s"), "{:?}", report.settings);
}

async fn rollover(server: &Server) {
    let (status, reply) = server.transport.get_json("/_data_stream").await.unwrap();
    if status != 200 {
        println!("{}: skipped, this distribution has no data streams: {reply}", server.title);
        return;
    }
    let template = json!({"index_patterns": ["stream*"], "data_stream": {},
        "template": {"settings": {REFRESH: "7s", "index.number_of_replicas": 0}}});
    server.send("PUT", "/_index_template/stream", template).await;
    let (mut config, _folder) = job(server, "stream");
    // Time enough for two guards.
    config.limits.max_rate = Some(Rate::Docs(DOCS / 10));
    let lines = (0..DOCS).map(|n| format!("{{\"@timestamp\":\"2026-01-01T00:00:00Z\",\"n\":{n}}}"));
    let load = begin(&config, Large(Lines::new(lines))).await;
    let mut progress = load.progress();
    // Its first document has made it, and its name is only known since.
    let (_, streams) = server.transport.get_json("/_data_stream/stream").await.unwrap();
    let first = streams["data_streams"][0]["indices"][0]["index_name"].as_str().unwrap();
    while setting(server, first, REFRESH).await.as_deref() != Some("60s") {
        progress.changed().await.unwrap();
    }
    let (_, rolled) = server.transport.post_json("/stream/_rollover", None).await.unwrap();
    let (old, new) = (rolled["old_index"].as_str().unwrap(), rolled["new_index"].as_str().unwrap());
    while setting(server, new, REFRESH).await.as_deref() != Some("60s") {
        progress.changed().await.unwrap();
    }
    assert_eq!(server.count(GUARD_INDEX).await, 2);
    let report = load.finish().await;
    complete(server, &report);
    assert_eq!(report.settings.restored, SettingsRestored::Yes, "{:?}", report.settings);
    for index in [old, new] {
        assert_eq!(setting(server, index, REFRESH).await.as_deref(), Some("7s"), "{}: {index}", server.title);
    }
    assert_eq!((server.count(GUARD_INDEX).await, report.indices.len()), (0, 2), "{report:?}");
    println!("{}: {:?}", server.title, report.settings);
}

async fn check(version: Version) {
    let server = Server::own(version).await;
    rollover(&server).await;
    red(&server).await;
    full_disk(&server).await;
    flood_stage(&server).await;
    expired_credentials(&server).await;
    server.stop().await;
}

on_servers!(check: opensearch_3_8 = OpenSearch38, elasticsearch_9_5 = Elasticsearch9, elasticsearch_7_17 = Elasticsearch7);
