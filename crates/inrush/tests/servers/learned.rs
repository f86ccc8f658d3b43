//! Loads into real servers that begin with what earlier ones learned.

use std::time::Duration;

use inrush_load::config::{Learning, LoadConfig, StateFolder};
use inrush_load::{Report, StartFrom, Status};
use inrush_testbed::{Proxy, ProxyConfig};

use crate::common::{config, documents, load};
use crate::server::{Server, Version, on_servers};

/// Documents of a load that lasts for a few seconds.
const DOCS: u64 = 100_000;

/// A link of two megabytes a second, which is the limit, and not the source.
async fn far(server: &Server) -> Proxy {
    let link = ProxyConfig { bits_per_second: Some(16_000_000), ..ProxyConfig::new(server.url()) };
    Proxy::start(link).await.unwrap()
}

fn tuned(proxy: &Proxy, index: &str, state: &std::path::Path) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(vec![proxy.url()], index);
    (config.limits.batch_bytes, config.limits.in_flight) = (None, None);
    config.limits.memory = 8 << 20;
    // Small requests, so that a few seconds have many of them.
    config.limits.batch_docs = Some(200);
    // A request that leaves before it is full says nothing about the cluster.
    config.limits.linger = Duration::from_secs(10);
    config.id = Some("id".parse().unwrap());
    config.state = Some(StateFolder::new(state));
    (config, folder)
}

async fn loaded(config: &LoadConfig) -> Report {
    let report = load(config, documents(DOCS, DOCS)).await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS), "{report:?}");
    report
}

async fn check(version: Version) {
    let server = Server::shared(version).await;
    let (proxy, state) = (far(&server).await, tempfile::tempdir().unwrap());
    let (mut config, _folder) = tuned(&proxy, "learned-a", state.path());
    let first = loaded(&config).await;
    assert_eq!(first.plan.start.unwrap().from, StartFrom::Defaults);
    let learned = first.plan.learned.expect("a few seconds are enough");
    let files: Vec<_> = std::fs::read_dir(state.path().join("learned")).unwrap().collect();
    let text = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    let topology = &kept["topology"];
    assert_eq!((&topology["data_nodes"], &topology["shards"]), (&1.into(), &1.into()), "{text}");
    assert!(topology["write_threads"].as_u64().is_some_and(|threads| threads > 0), "{text}");

    let second = loaded(&config).await;
    let start = second.plan.start.unwrap();
    assert_eq!((start.from, start.in_flight), (StartFrom::EarlierLoad, learned.plan.in_flight), "{start:?}");
    assert!(start.outcome.is_some(), "{start:?}");

    config.learning = Learning::Anew;
    assert_eq!(loaded(&config).await.plan.start.unwrap().from, StartFrom::Defaults);
    println!("{}: began with {} x {}", server.title, start.in_flight, start.batch_bytes);
    server.stop().await;
}

on_servers!(check: opensearch_3_8 = OpenSearch38, elasticsearch_9_5 = Elasticsearch9, elasticsearch_7_17 = Elasticsearch7);
