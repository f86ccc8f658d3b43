//! The engine against real servers, which the test starts and stops itself. Needs Java; see `make servers`.
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{documents, load};
use inrush::config::{DeadLetters, LoadConfig};
use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush::source::{Format, FormatOptions, SourceSpec, Warnings, open};
use inrush::transport::{Credentials, HttpOptions, Transport};
use inrush::{Loader, Report, Status, VerifiedState};
use inrush_testbed::conformance::{Outcome, Target, run_all};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const HEAP_MIB: u32 = 768;

async fn start(distribution: Distribution) -> (OwnedNode, PathBuf) {
    // The node's user has to reach it, which a temporary folder of root's often cannot be.
    let folder = PathBuf::from(format!("/var/tmp/inrush-test-{}-{}", std::process::id(), distribution.version));
    let spec = NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(distribution, "test", folder.clone()) };
    (OwnedNode::start(spec).await.unwrap(), folder)
}

fn config(node: &OwnedNode, index: &str) -> (LoadConfig, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(vec![node.url()], index.parse().unwrap());
    config.limits.batch_bytes = Some(64 << 10);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    (config, folder)
}

async fn ids(node: &OwnedNode, index: &str) -> BTreeSet<String> {
    let transport = Transport::new(&[node.url()], Credentials::None, &HttpOptions::default()).unwrap();
    let path = format!("/{index}/_search?size=10000&_source=false&filter_path=hits.hits._id");
    let reply = transport.request(&inrush::transport::Request::new(http::Method::GET, path)).await.result.unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    let hits = reply["hits"]["hits"].as_array().cloned().unwrap_or_default();
    hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()).collect()
}

/// The same on all four servers: conformance of what a loader relies on, then a load with ids, without, and with documents
/// that are refused.
async fn check(distribution: Distribution) {
    let title = distribution.title();
    let (node, folder) = start(distribution).await;

    let target = Target::connect(&node.url(), None).await.unwrap();
    let outcomes = run_all(&target).await;
    let count = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| wanted(outcome)).count();
    let failed: Vec<_> = outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{title}: {failed:?}");
    let (passed, skipped) = (count(|o| matches!(o, Outcome::Passed)), count(|o| matches!(o, Outcome::Skipped(_))));
    println!("{title}: conformance {passed} passed, {skipped} skipped");
    assert!(passed > 60, "{title}");

    let (mut with_ids, _a) = config(&node, "with-ids");
    with_ids.id = Some("id".parse().unwrap());
    let report = load(&with_ids, documents(20_000, 5_000)).await;
    assert_eq!(
        (report.status, report.counts.docs_created, report.counts.docs_updated),
        (Status::Complete, 5_000, 15_000),
        "{title}: {report:?}"
    );
    assert_eq!(report.verified.state, VerifiedState::Yes, "{title}: {:?}", report.verified);
    assert_eq!(ids(&node, "with-ids").await.len(), 5_000);

    let (without, _b) = config(&node, "without-ids");
    let report = load(&without, documents(20_000, 20_000)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 20_000), "{title}: {report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes);

    let lines = (0..1_000).map(|n| if n % 10 == 3 { "{\"n\":\"word\"}".to_owned() } else { format!("{{\"n\":{n}}}") });
    let (refused, _c) = config(&node, "refused");
    let report = load(&refused, lines).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 100), "{title}: {report:?}");
    assert_eq!(report.counts.docs_created, 900);
    assert!(
        ["mapper_parsing_exception", "document_parsing_exception"].contains(&report.errors[0].kind.as_str()),
        "{:?}",
        report.errors
    );

    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    println!("{title}: loaded with and without ids, refused documents are dead letters");
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_2_19() {
    check(Distribution::opensearch("2.19.6")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_7_17() {
    check(Distribution::elasticsearch("7.17.29")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_8_19() {
    check(Distribution::elasticsearch("8.19.21")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_3_6() {
    check(Distribution::opensearch("3.6.0")).await;
}

/// A node is killed in the middle of a load and started again on the same data: nothing is lost, and with ids nothing twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_crashes_in_the_middle() {
    let (mut node, folder) = start(Distribution::opensearch("3.6.0")).await;
    let (mut config, _a) = config(&node, "crash");
    config.id = Some("id".parse().unwrap());
    config.limits.memory = 1 << 20;
    let source = common::Lines::new(documents(100_000, 100_000));
    let load = Loader::new(config).unwrap().start(Box::new(source)).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 10_000).await.unwrap();
    node.kill().unwrap();
    let at = load.progress().borrow().docs_settled;
    assert!(at < 100_000, "the load was over before the crash");
    node.restart().await.unwrap();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(report.counts.docs_read, 100_000);
    assert_eq!(report.counts.docs_dead_lettered, 0);
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(count(&node, "crash").await, 100_000);
    println!("killed after {at} documents: {} retried, {}", report.counts.retried_items, report.verified.detail);
    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// A node with a short queue rejects items of requests that it answers with 200: all of them come in by and by.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_rejects_items() {
    let folder = PathBuf::from(format!("/var/tmp/inrush-test-{}-rejects", std::process::id()));
    let mut spec =
        NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(Distribution::opensearch("3.6.0"), "test", folder.clone()) };
    spec.settings =
        vec![("thread_pool.write.queue_size".into(), "8".into()), ("thread_pool.write.size".into(), "1".into())];
    let node = OwnedNode::start(spec).await.unwrap();
    let (mut config, _a) = config(&node, "rejects");
    config.id = Some("id".parse().unwrap());
    config.create.shards = Some(8);
    config.create.replicas = Some(0);
    config.limits.in_flight = Some(4);
    let report = load(&config, documents(100_000, 50_000)).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 100_000), "{report:?}");
    assert!(report.counts.rejected_items > 0, "the node rejected nothing");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(count(&node, "rejects").await, 50_000);
    let share = 100.0 * report.counts.rejected_items as f64 / (100_000 + report.counts.rejected_items) as f64;
    println!("rejected {} items, {share:.0} % of what was sent: all are in", report.counts.rejected_items);
    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// Connections that break after the node has done the work, before its answer arrives.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_break_after_the_work_was_done() {
    let (node, folder) = start(Distribution::opensearch("3.6.0")).await;
    let proxy = breaking_proxy(node.url().trim_start_matches("http://").parse().unwrap(), 20).await;
    let (mut with_ids, _a) = config(&node, "breaks");
    with_ids.to = vec![proxy.clone()];
    with_ids.id = Some("id".parse().unwrap());
    let report = load(&with_ids, documents(100_000, 100_000)).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 100_000), "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(count(&node, "breaks").await, 100_000);
    println!("with ids: {} retried, {}", report.counts.retried_items, report.verified.detail);

    let (mut without, _b) = config(&node, "breaks-without-ids");
    without.to = vec![proxy];
    let report = load(&without, documents(100_000, 100_000)).await;
    let there = count(&node, "breaks-without-ids").await;
    assert!(there >= 100_000 && there - 100_000 <= report.counts.possible_duplicates, "{there}: {report:?}");
    println!("without ids: {} twice, {} possible", there - 100_000, report.counts.possible_duplicates);
    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// Passes bytes on, and breaks the connection instead of every `nth` answer to a bulk request.
async fn breaking_proxy(upstream: SocketAddr, nth: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers = Arc::new(AtomicU64::new(0));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let answers = Arc::clone(&answers);
            tokio::spawn(async move {
                let server = TcpStream::connect(upstream).await.unwrap();
                let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
                let mut buffer = vec![0; 64 << 10];
                while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
                    let bulk = memchr::memmem::find(&buffer[..read], b"\"errors\"").is_some();
                    if bulk && answers.fetch_add(1, Ordering::Relaxed) % nth == nth - 1 {
                        return;
                    }
                    if to_client.write_all(&buffer[..read]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

async fn count(node: &OwnedNode, index: &str) -> u64 {
    let transport = Transport::new(&[node.url()], Credentials::None, &HttpOptions::default()).unwrap();
    inrush::cluster::stats::count(&transport, index).await.unwrap()
}

fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("INRUSH_SHARED_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not here", path.display());
    None
}

async fn load_file(node: &OwnedNode, index: &str, path: PathBuf, options: FormatOptions, id: Option<&str>) -> Report {
    let (mut config, _folder) = config(node, index);
    config.limits.batch_bytes = Some(1 << 20);
    config.id = id.map(|id| id.parse().unwrap());
    let source = open(&[SourceSpec::new(path)], options, &Warnings::default()).unwrap();
    let report = Loader::new(config).unwrap().run(source).await.unwrap();
    assert!(report.counts.add_up());
    assert_eq!(report.counts.docs_created + report.counts.docs_dead_lettered, report.counts.docs_read, "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(count(node, index).await, report.counts.docs_created);
    println!(
        "{index}: {} read, {} created, {} dead letters",
        report.counts.docs_read, report.counts.docs_created, report.counts.docs_dead_lettered
    );
    for error in report.errors.iter().take(3) {
        println!("  {} x {}: {}", error.count, error.kind, error.reason);
    }
    report
}

/// Real data of several kinds, every document in the index or a dead letter with the server's reason.
#[tokio::test(flavor = "multi_thread")]
async fn real_data() {
    let (node, folder) = start(Distribution::opensearch("3.6.0")).await;
    let options = FormatOptions::default;
    if let Some(path) = shared("tate/artworks.ndjson.zst") {
        let report = load_file(&node, "artworks", path, options(), Some("id")).await;
        assert_eq!(report.counts.docs_read, 69_202);
        assert!(report.errors.iter().all(|e| e.status == 400), "{:?}", report.errors);
    }
    if let Some(path) = shared("dvf/hendaye-64.csv") {
        let report = load_file(&node, "dvf", path, options(), None).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (2_575, 2_575));
    }
    if let Some(path) = shared("dvf/valeursfoncieres-2018-extrait.txt") {
        let mut options = FormatOptions { format: Some(Format::Csv), ..options() };
        options.csv.separator = Some(b'|');
        let report = load_file(&node, "dvf-raw", path, options, None).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (10_000, 10_000));
    }
    if let Some(path) = shared("http/apache_logs") {
        let options = FormatOptions { format: Some(Format::Text), ..options() };
        let report = load_file(&node, "apache", path, options, None).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (10_000, 10_000));
    }
    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}
