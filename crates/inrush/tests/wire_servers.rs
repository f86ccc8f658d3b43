//! Loads in SMILE and with gzip into real servers, which the test starts and stops itself. Needs Java; see `make servers`.
#![cfg(feature = "real-servers")]
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;

use common::{config, load};
use inrush::config::{Compression, Encoding};
use inrush::node::{Distribution, NodeSpec, OwnedNode};
use inrush::{Status, VerifiedState};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

/// Documents of which SMILE cannot say some, with ids that repeat; the mapping refuses one.
fn lines() -> impl Iterator<Item = String> {
    (0..3000_u64).map(|n| {
        let number = if n % 7 == 3 { format!("{n}e0") } else { n.to_string() };
        let long = if n == 2999 { "\"word\"".to_owned() } else { n.to_string() };
        format!(
            "{{\"id\":\"i{}\",\"n\":{number},\"price\":{}.50,\"long\":{long},\"text\":\"été {n}\"}}",
            n % 1000,
            n % 90
        )
    })
}

async fn ask(client: &Client, path: &str) -> Value {
    client.json("GET", path, Value::Null).await.unwrap().json()
}

/// Every document of an index with what was indexed of it, by id.
async fn documents(client: &Client, index: &str) -> BTreeMap<String, Value> {
    let search = json!({"size": 5000, "docvalue_fields": ["price", "long", "text.keyword", "n"]});
    let found = client.json("POST", &format!("/{index}/_search"), search).await.unwrap().json();
    let hits = found["hits"]["hits"].as_array().unwrap_or_else(|| panic!("{found}")).clone();
    let of = |hit: Value| (hit["_id"].as_str().unwrap().to_owned(), json!([hit["_source"], hit["fields"]]));
    hits.into_iter().map(of).collect()
}

async fn check(distribution: Distribution) {
    let title = distribution.title();
    // The node's user has to reach it, which a temporary folder of root's often cannot be.
    let folder = PathBuf::from(format!("/var/tmp/inrush-test-wire-{}-{}", std::process::id(), distribution.version));
    let node = OwnedNode::start(NodeSpec { heap_mib: 768, ..NodeSpec::new(distribution, "test", folder.clone()) });
    let node = node.await.unwrap();
    let client = Client::new(&node.url()).unwrap();

    asking_changes_nothing(&client, &node.url()).await;
    let mut all = Vec::new();
    for (index, encoding, compression) in [
        ("json", Encoding::Json, "none"),
        ("smile", Encoding::Smile, "none"),
        ("json-gzip", Encoding::Json, "gzip:1"),
        ("smile-gzip", Encoding::Smile, "gzip:6"),
    ] {
        let (mut config, _letters) = config(vec![node.url()], index);
        (config.encoding, config.compression) = (Some(encoding), Some(compression.parse::<Compression>().unwrap()));
        config.id = Some("id".parse().unwrap());
        config.create.mapping = Some(json!({"properties": {"long": {"type": "long"}, "price": {"type": "double"}}}));
        let report = load(&config, lines()).await;
        assert_eq!(report.status, Status::Incomplete, "{report:?}");
        assert_eq!((report.counts.docs_created, report.counts.docs_updated), (1000, 1999), "{report:?}");
        assert_eq!(report.errors.iter().map(|error| (error.status, error.count)).collect::<Vec<_>>(), [(400, 1)]);
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
        assert_eq!((report.plan.encoding, report.plan.compression.as_str()), (encoding, compression));
        all.push((documents(&client, index).await, report.counts.bytes_sent));
    }
    for (found, _) in &all {
        assert_eq!(found.len(), 1000);
        assert!(*found == all[0].0, "{title}");
    }
    let sent: Vec<u64> = all.iter().map(|(_, sent)| *sent).collect();
    assert!(sent[1] < sent[0] && sent[2] < sent[0] / 2 && sent[3] < sent[0] / 2, "{sent:?}");

    node.stop().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    println!("{title}: json, smile, with and without gzip: the same documents; bytes sent {sent:?}");
}

/// What a load asks before it sends SMILE or gzip leaves nothing behind: not even an operation of the index.
async fn asking_changes_nothing(client: &Client, url: &str) {
    let (mut config, _letters) = config(vec![url.to_owned()], "asked");
    (config.encoding, config.compression) = (Some(Encoding::Smile), Some("gzip".parse().unwrap()));
    config.create.shards = Some(1);
    let report = load(&config, []).await;
    assert_eq!((report.status, report.plan.encoding), (Status::Complete, Encoding::Smile), "{report:?}");
    assert_eq!(report.plan.compression, "gzip:1");
    let stats = ask(client, "/asked/_stats?level=shards").await;
    let shard = &stats["indices"]["asked"]["shards"]["0"][0];
    assert_eq!(shard["seq_no"]["max_seq_no"], -1, "{shard}");
    assert_eq!(shard["translog"]["operations"], 0, "{shard}");

    config.index = "asked-{id}".parse().unwrap();
    config.create.shards = None;
    let report = load(&config, []).await;
    assert_eq!((report.status, report.plan.encoding), (Status::Complete, Encoding::Smile), "{report:?}");
    let indices = ask(client, "/_cat/indices?format=json").await;
    let names: Vec<&str> = indices.as_array().unwrap().iter().map(|index| index["index"].as_str().unwrap()).collect();
    assert!(!names.contains(&"inrush-probe"), "{names:?}");
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
