//! A source compared with an index of a real server.

use std::sync::Arc;

use inrush_cluster::transport::Transport;
use inrush_commands::verify::{VerifyOptions, VerifyOutcome, VerifyReport, verify};
use inrush_load::config::{DeadLetters, LoadConfig};
use serde_json::{Value, json};

use crate::common::{Lines, documents, load};
use crate::server::{Server, Version, on_servers};

const DOCS: u64 = 50_000;

fn options(index: &str) -> VerifyOptions {
    VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new(index.parse().unwrap()) }
}

async fn compare(
    transport: &Arc<Transport>,
    options: &VerifyOptions,
    lines: impl Iterator<Item = String>,
) -> VerifyReport {
    verify(Arc::clone(transport), Box::new(Lines::new(lines)), options, |_| {}).await.unwrap()
}

on_servers!(check: on_opensearch = OpenSearch38, on_elasticsearch = Elasticsearch9);

/// What is missing, different and extra is found, and nothing else.
async fn check(version: Version) {
    let server = Server::shared(version).await;
    let (title, transport) = (&server.title, &server.transport);
    let letters = tempfile::tempdir().unwrap();
    let config = |index: &str| {
        let mut config = LoadConfig::new(vec![server.url()], index.parse().unwrap());
        config.id = Some("id".parse().unwrap());
        config.dead_letters = DeadLetters::File(letters.path().join("dead.ndjson"));
        config.create.shards = Some(3);
        config
    };

    load(&config("audit-docs"), documents(2 * DOCS, DOCS)).await;
    let report = compare(transport, &options("audit-docs"), documents(2 * DOCS, DOCS)).await;
    assert_eq!((report.result, report.docs_replaced), (VerifyOutcome::Equal, Some(DOCS)), "{report:?}");
    println!("{title}: {DOCS} ids compared in {:.1} s", report.seconds);

    // Another order of keys and another way to write a number: the same document. Another number: a
    // different one.
    let text = "some words to fill it";
    server.send("PUT", "/audit-docs/_doc/i7", json!({"text": text, "n": f64::from(50_007_u32), "id": "i7"})).await;
    server.send("PUT", "/audit-docs/_doc/i8", json!({"text": text, "n": 8, "id": "i8"})).await;
    for extra in ["x1", "x2"] {
        server.send("PUT", &format!("/audit-docs/_doc/{extra}"), json!({})).await;
    }
    for id in ["i100", "i200"] {
        server.send("DELETE", &format!("/audit-docs/_doc/{id}"), Value::Null).await;
    }
    let missing = letters.path().join("missing.ndjson");
    // Little memory: ids are sorted on disk.
    let on_disk = VerifyOptions { sort_memory: 100_000, missing: Some(missing.clone()), ..options("audit-docs") };
    let report = compare(transport, &on_disk, documents(2 * DOCS, DOCS)).await;
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!((report.result, counts), (VerifyOutcome::Different, (Some(2), Some(1), Some(2))), "{report:?}");
    let written = std::fs::read_to_string(&missing).unwrap();
    assert_eq!(written.lines().count(), 3, "{written}");
    load(&config("audit-docs"), written.lines().map(str::to_owned)).await;
    let report = compare(transport, &options("audit-docs"), documents(2 * DOCS, DOCS)).await;
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!((counts, report.docs_in_index), ((Some(0), Some(0), Some(2)), DOCS + 2), "{report:?}");

    // By id and routing, which decides about the shard.
    let mut routed = config("audit-routed");
    routed.routing = Some("n".parse().unwrap());
    load(&routed, documents(2_000, 2_000)).await;
    let with_routing = VerifyOptions { routing: Some("n".parse().unwrap()), ..options("audit-routed") };
    let report = compare(transport, &with_routing, documents(2_000, 2_000)).await;
    assert_eq!(report.result, VerifyOutcome::Equal, "{report:?}");
    let report = compare(transport, &options("audit-routed"), documents(2_000, 2_000)).await;
    assert!(report.docs_missing > Some(500) && report.docs_extra == Some(0), "{report:?}");
    assert!(report.warnings[0].contains("option `routing`"), "{report:?}");

    // An alias of several indices is searched.
    load(&config("audit-docs-2"), documents(DOCS + 3, DOCS + 3).skip(DOCS as usize)).await;
    let actions = json!({"actions": [
        {"add": {"index": "audit-docs", "alias": "audit-both"}}, {"add": {"index": "audit-docs-2", "alias": "audit-both"}}]});
    server.send("POST", "/_aliases", actions).await;
    let second_round = documents(2 * DOCS, DOCS).chain(documents(DOCS + 3, DOCS + 3).skip(DOCS as usize));
    let report = compare(transport, &options("audit-both"), second_round).await;
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!((counts, report.docs_in_index), ((Some(0), Some(0), Some(2)), DOCS + 5), "{report:?}");

    // What the index does not keep is not compared.
    let body = json!({"mappings": {"_source": {"excludes": ["text"]}}});
    server.send("PUT", "/audit-part", body).await;
    load(&config("audit-part"), documents(100, 100)).await;
    let report = compare(transport, &options("audit-part"), documents(100, 100)).await;
    assert_eq!((report.result, report.docs_different), (VerifyOutcome::Equal, None), "{report:?}");
    assert!(report.not_proven[0].contains("only ids were compared"), "{report:?}");

    server.stop().await;
}
