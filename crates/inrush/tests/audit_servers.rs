//! A source compared with an index of a real node, which the test starts and stops itself; see `make servers`.
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::{Lines, documents, load};
use inrush::audit::{AuditOptions, AuditReport, Outcome, audit};
use inrush::config::{DeadLetters, LoadConfig};
use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush::transport::{Credentials, HttpOptions, Transport};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

const DOCS: u64 = 50_000;

fn options(index: &str) -> AuditOptions {
    AuditOptions { id: Some("id".parse().unwrap()), ..AuditOptions::new(index.parse().unwrap()) }
}

async fn send(transport: &Transport, path: &str, body: Value) {
    let (status, reply) = transport.put_json(path, &body).await.unwrap();
    assert!(status < 300, "{path}: {reply}");
}

async fn compare(
    transport: &Arc<Transport>,
    options: &AuditOptions,
    lines: impl Iterator<Item = String>,
) -> AuditReport {
    audit(Arc::clone(transport), Box::new(Lines::new(lines)), options, |_| {}).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_opensearch() {
    check(Distribution::opensearch("3.6.0")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_elasticsearch() {
    check(Distribution::elasticsearch("8.19.21")).await;
}

/// What is missing, different and extra is found, and nothing else.
async fn check(distribution: Distribution) {
    let title = distribution.title();
    // The node's user has to reach it, which a temporary folder of root's often cannot be.
    let folder = PathBuf::from(format!("/var/tmp/inrush-test-{}-audit-{}", std::process::id(), distribution.version));
    let spec = NodeSpec { heap_mib: 768, ..NodeSpec::new(distribution, "test", folder.clone()) };
    let node = OwnedNode::start(spec).await.unwrap();
    let transport = Arc::new(Transport::new(&[node.url()], Credentials::None, &HttpOptions::default()).unwrap());
    let letters = tempfile::tempdir().unwrap();
    let config = |index: &str| {
        let mut config = LoadConfig::new(vec![node.url()], index.parse().unwrap());
        config.id = Some("id".parse().unwrap());
        config.dead_letters = DeadLetters::File(letters.path().join("dead.ndjson"));
        config.create.shards = Some(3);
        config
    };

    load(&config("docs"), documents(2 * DOCS, DOCS)).await;
    let report = compare(&transport, &options("docs"), documents(2 * DOCS, DOCS)).await;
    assert_eq!((report.result, report.docs_replaced), (Outcome::Equal, Some(DOCS)), "{report:?}");
    println!("{title}: {DOCS} ids compared in {:.1} s", report.seconds);

    // Another order of keys and another way to write a number: the same document. Another number: a different one.
    let text = "some words to fill it";
    send(&transport, "/docs/_doc/i7", json!({"text": text, "n": f64::from(50_007_u32), "id": "i7"})).await;
    send(&transport, "/docs/_doc/i8", json!({"text": text, "n": 8, "id": "i8"})).await;
    for extra in ["x1", "x2"] {
        send(&transport, &format!("/docs/_doc/{extra}"), json!({})).await;
    }
    let client = Client::new(&node.url()).unwrap();
    for id in ["i100", "i200"] {
        let reply = client.json("DELETE", &format!("/docs/_doc/{id}"), Value::Null).await.unwrap();
        assert_eq!(reply.status, 200, "{id}");
    }
    let missing = letters.path().join("missing.ndjson");
    // Little memory: ids are sorted on disk.
    let on_disk = AuditOptions { sort_memory: 100_000, missing: Some(missing.clone()), ..options("docs") };
    let report = compare(&transport, &on_disk, documents(2 * DOCS, DOCS)).await;
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!((report.result, counts), (Outcome::Different, (Some(2), Some(1), Some(2))), "{report:?}");
    let written = std::fs::read_to_string(&missing).unwrap();
    assert_eq!(written.lines().count(), 3, "{written}");
    load(&config("docs"), written.lines().map(str::to_owned)).await;
    let report = compare(&transport, &options("docs"), documents(2 * DOCS, DOCS)).await;
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!((counts, report.docs_in_index), ((Some(0), Some(0), Some(2)), DOCS + 2), "{report:?}");

    // By id and routing, which decides about the shard.
    let mut routed = config("routed");
    routed.routing = Some("n".parse().unwrap());
    load(&routed, documents(2_000, 2_000)).await;
    let with_routing = AuditOptions { routing: Some("n".parse().unwrap()), ..options("routed") };
    let report = compare(&transport, &with_routing, documents(2_000, 2_000)).await;
    assert_eq!(report.result, Outcome::Equal, "{report:?}");
    let report = compare(&transport, &options("routed"), documents(2_000, 2_000)).await;
    assert!(report.docs_missing > Some(500) && report.docs_extra == Some(0), "{report:?}");
    assert!(report.warnings[0].contains("--routing"), "{report:?}");

    // An alias of several indices is searched.
    load(&config("docs-2"), documents(DOCS + 3, DOCS + 3).skip(DOCS as usize)).await;
    let actions = json!({"actions": [
        {"add": {"index": "docs", "alias": "both"}}, {"add": {"index": "docs-2", "alias": "both"}}]});
    let (status, _) = transport.post_json("/_aliases", Some(&actions)).await.unwrap();
    assert_eq!(status, 200);
    let second_round = documents(2 * DOCS, DOCS).chain(documents(DOCS + 3, DOCS + 3).skip(DOCS as usize));
    let report = compare(&transport, &options("both"), second_round).await;
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!((counts, report.docs_in_index), ((Some(0), Some(0), Some(2)), DOCS + 5), "{report:?}");

    // What the index does not keep is not compared.
    let body = json!({"mappings": {"_source": {"excludes": ["text"]}}});
    send(&transport, "/part", body).await;
    load(&config("part"), documents(100, 100)).await;
    let report = compare(&transport, &options("part"), documents(100, 100)).await;
    assert_eq!((report.result, report.docs_different), (Outcome::Equal, None), "{report:?}");
    assert!(report.not_proven[0].contains("only ids were compared"), "{report:?}");

    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}
