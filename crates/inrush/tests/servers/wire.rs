//! Loads in SMILE and with gzip into real servers.

use std::collections::BTreeMap;

use inrush_cluster::api::shards;
use inrush_core::routing::Routing;
use inrush_load::config::{BulkRouting, Compression, Encoding, LoadConfig};
use inrush_load::{Status, VerifiedState};
use inrush_testbed::{Proxy, ProxyConfig};
use serde_json::{Value, json};

use crate::common::{config, load};
use crate::server::{Server, Version, on_servers};

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

/// Every document of an index with what was indexed of it, by id.
async fn documents(server: &Server, index: &str) -> BTreeMap<String, Value> {
    let search = json!({"size": 5000, "docvalue_fields": ["price", "long", "text.keyword", "n"]});
    let found = server.send("POST", &format!("/{index}/_search"), search).await;
    let hits = found["hits"]["hits"].as_array().unwrap().clone();
    let of = |hit: Value| (hit["_id"].as_str().unwrap().to_owned(), json!([hit["_source"], hit["fields"]]));
    hits.into_iter().map(of).collect()
}

async fn check(version: Version) {
    let server = Server::shared(version).await;

    asking_changes_nothing(&server).await;
    let mut all = Vec::new();
    for (index, encoding, compression) in [
        ("wire-json", Encoding::Json, "none"),
        ("wire-smile", Encoding::Smile, "none"),
        ("wire-json-gzip", Encoding::Json, "gzip:1"),
        ("wire-smile-gzip", Encoding::Smile, "gzip:6"),
    ] {
        let (mut config, _letters) = config(vec![server.url()], index);
        (config.encoding, config.compression) = (Some(encoding), Some(compression.parse::<Compression>().unwrap()));
        config.id = Some("id".parse().unwrap());
        config.create.mapping =
            Some(json!({"properties": {"n": {"type": "long"}, "long": {"type": "long"}, "price": {"type": "double"}}}));
        let report = load(&config, lines()).await;
        assert_eq!(report.status, Status::Incomplete, "{report:?}");
        assert_eq!((report.counts.docs_created, report.counts.docs_updated), (1000, 1999), "{report:?}");
        assert_eq!(report.errors.iter().map(|error| (error.status, error.count)).collect::<Vec<_>>(), [(400, 1)]);
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
        assert_eq!((report.plan.encoding, report.plan.compression.as_str()), (encoding, compression));
        all.push((documents(&server, index).await, report.counts.bytes_sent));
    }
    for (found, _) in &all {
        assert_eq!(found.len(), 1000);
        assert!(*found == all[0].0, "{}", server.title);
    }
    let sent: Vec<u64> = all.iter().map(|(_, sent)| *sent).collect();
    assert!(sent[1] < sent[0] && sent[2] < sent[0] / 2 && sent[3] < sent[0] / 2, "{sent:?}");

    shards_are_those_of_the_server(&server).await;
    partitions_are_those_of_the_server(&server).await;
    one_shard_without_ids(&server).await;

    println!("{}: json, smile, with and without gzip: the same documents; bytes sent {sent:?}", server.title);
    server.stop().await;
}

/// The probe before SMILE or gzip is used leaves nothing behind, not even an operation of the
/// index.
async fn asking_changes_nothing(server: &Server) {
    let (mut config, _letters) = config(vec![server.url()], "wire-asked");
    (config.encoding, config.compression) = (Some(Encoding::Smile), Some("gzip".parse().unwrap()));
    config.create.shards = Some(1);
    let report = load(&config, []).await;
    assert_eq!((report.status, report.plan.encoding), (Status::Complete, Encoding::Smile), "{report:?}");
    assert_eq!(report.plan.compression, "gzip:1");
    let stats = server.send("GET", "/wire-asked/_stats?level=shards", Value::Null).await;
    let shard = &stats["indices"]["wire-asked"]["shards"]["0"][0];
    assert_eq!(shard["seq_no"]["max_seq_no"], -1, "{shard}");
    assert_eq!(shard["translog"]["operations"], 0, "{shard}");

    config.index = "wire-asked-{id}".parse().unwrap();
    config.create.shards = None;
    let report = load(&config, []).await;
    assert_eq!((report.status, report.plan.encoding), (Status::Complete, Encoding::Smile), "{report:?}");
    let indices = server.send("GET", "/_cat/indices?format=json", Value::Null).await;
    let names: Vec<&str> = indices.as_array().unwrap().iter().map(|index| index["index"].as_str().unwrap()).collect();
    assert!(!names.contains(&"inrush-probe"), "{names:?}");
}

/// The ids, and routing values if there are some, that each shard of an index holds.
async fn by_shard(server: &Server, index: &str, shards: u32) -> Vec<Vec<(String, Option<String>)>> {
    let mut all = Vec::new();
    for shard in 0..shards {
        let search = json!({"size": 10_000, "_source": false, "stored_fields": ["_routing"]});
        let path = format!("/{index}/_search?preference=_shards:{shard}");
        let found = server.send("POST", &path, search).await;
        let hits = found["hits"]["hits"].as_array().unwrap();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        all.push(hits.iter().map(|hit| (text(&hit["_id"]).unwrap(), text(&hit["_routing"]))).collect());
    }
    all
}

fn roomy(server: &Server, index: &str) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(vec![server.url()], index);
    (config.limits.batch_bytes, config.limits.memory) = (Some(100_000), 16 << 20);
    config.bulk_routing = BulkRouting::OneShard;
    (config, folder)
}

/// 100,000 ids of every kind are where we say.
async fn shards_are_those_of_the_server(server: &Server) {
    let (mut config, _letters) = roomy(server, "wire-twelve");
    config.create.shards = Some(12);
    config.create.settings = Some(json!({"number_of_replicas": 0}));
    config.id = Some("id".parse().unwrap());
    let id = |n: u64| match n % 5 {
        0 => n.to_string(),
        1 => format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        2 => format!("été 😀 {n}"),
        3 => format!("{n}/{}", "long ".repeat(50)),
        _ => format!("https://example.org/a?b={n}"),
    };
    let report = load(&config, (0..100_000).map(|n| json!({"id": id(n)}).to_string())).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 100_000), "{report:?}");
    let routing = shards::shards(&server.transport, "wire-twelve").await.unwrap().routing;
    assert_eq!(routing, Routing::new(12, takes_remainders(server).then_some(12), 1).unwrap());
    let found = by_shard(server, "wire-twelve", 12).await;
    assert_eq!(found.iter().map(Vec::len).sum::<usize>(), 100_000);
    for (shard, ids) in found.iter().enumerate() {
        assert!(
            ids.iter().all(|(id, none)| none.is_none() && routing.shard(id, None) == shard as u32),
            "shard {shard}"
        );
    }
}

/// Whether a shard is the remainder of a hash by the number of shards.
fn takes_remainders(server: &Server) -> bool {
    server.title.starts_with("Elasticsearch 9")
}

/// With routing values, partitions, and a number of routing shards of one's own.
async fn partitions_are_those_of_the_server(server: &Server) {
    let (mut config, _letters) = roomy(server, "wire-parts");
    config.create.settings = Some(json!({
        "number_of_shards": 6, "number_of_routing_shards": 36, "routing_partition_size": 2, "number_of_replicas": 0,
    }));
    config.create.mapping = Some(json!({"_routing": {"required": true}}));
    config.id = Some("id".parse().unwrap());
    config.routing = Some("r".parse().unwrap());
    let report = load(&config, (0..5000).map(|n| format!("{{\"id\":\"i{n}\",\"r\":\"é{}\"}}", n % 50))).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 5000), "{report:?}");
    let routing = shards::shards(&server.transport, "wire-parts").await.unwrap().routing;
    let routing_shards = if takes_remainders(server) { 6 } else { 36 };
    assert_eq!(routing, Routing::new(6, Some(routing_shards), 2).unwrap());
    for (shard, ids) in by_shard(server, "wire-parts", 6).await.iter().enumerate() {
        assert!(!ids.is_empty());
        assert!(ids.iter().all(|(id, value)| routing.shard(id, value.as_deref()) == shard as u32), "shard {shard}");
    }
}

/// Every shard gets its part.
async fn one_shard_without_ids(server: &Server) {
    let (mut config, _letters) = roomy(server, "wire-routed");
    config.create.shards = Some(4);
    config.limits.batch_bytes = Some(10_000);
    let report = load(&config, (0..10_000).map(|n| format!("{{\"n\":{n},\"text\":\"some words to fill it\"}}"))).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 10_000), "{report:?}");
    let sizes: Vec<usize> = by_shard(server, "wire-routed", 4).await.iter().map(Vec::len).collect();
    assert!(sizes.iter().all(|size| (2000..3000).contains(size)), "{sizes:?}");
}

on_servers!(check: elasticsearch_7_17 = Elasticsearch7, elasticsearch_9_5 = Elasticsearch9,
    opensearch_3_8 = OpenSearch38);

/// Log lines over a link of 20 Mbit: the time until they are compressed, and the gain.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_link_to_opensearch_3_6() {
    let server = Server::alone(Version::OpenSearch3).await;
    let mut link = ProxyConfig::new(server.url());
    link.bits_per_second = Some(20_000_000);
    let proxy = Proxy::start(link).await.unwrap();
    let line = |n: u64| {
        let (ip, path) = (n % 250, n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40);
        format!(
            "{{\"@timestamp\":\"2024-05-17T10:{:02}:{:02}Z\",\"ip\":\"10.0.{}.{ip}\",\"request\":\"GET /images/{path}.html HTTP/1.1\",\"status\":200,\"size\":{}}}",
            n / 60 % 60,
            n % 60,
            ip / 2,
            path % 9999
        )
    };
    let mut rates = Vec::new();
    for (index, compression) in [("wire-plain", Some(Compression::None)), ("wire-auto", None)] {
        let (mut config, _letters) = config(vec![proxy.url()], index);
        (config.limits.batch_bytes, config.limits.in_flight, config.limits.memory) = (None, None, 64 << 20);
        config.compression = compression;
        let report = load(&config, (0..400_000).map(line)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 400_000), "{report:?}");
        println!("20 Mbit, {index}: {:.0} docs/s, {}", report.docs_per_second, report.plan.wire_why);
        rates.push((report.docs_per_second, report.plan.compression));
    }
    assert_eq!((rates[0].1.as_str(), rates[1].1.as_str()), ("none", "gzip:1"));
    drop(proxy);
    server.stop().await;
}
