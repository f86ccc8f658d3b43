//! Modes of indices, as the servers themselves say what they mean: indices that rebuild the
//! documents that they return, that keep no sequence numbers, and that make ids of documents.

use std::sync::Arc;

use inrush_cluster::api::source_kept::SourceKept;
use inrush_commands::verify::{VerifyOptions, VerifyOutcome, verify};
use inrush_core::{Action, OnConflict};
use inrush_load::config::{Durability, LoadConfig, OldWrites, SwapConfig};
use inrush_load::{ConfiguredLoad, Status, VerifiedState};
use inrush_sources::Warnings;
use inrush_sources::index::{IndexAddress, IndexOptions, IndexSource};
use serde_json::{Value, json};

use crate::common::{Lines, documents, load};
use crate::server::{Server, Version, on_servers};

/// What the server itself says about an index.
async fn kept(server: &Server, index: &str) -> SourceKept {
    let path = format!("/{index}?include_defaults=true&filter_path={}", SourceKept::PATHS);
    let body = server.send("GET", &path, Value::Null).await;
    SourceKept::of(&body[index])
}

async fn compare_is_refused(server: &Server, index: &str) {
    let (mut config, _folder) = server.config(index);
    config.id = Some("id".parse().unwrap());
    config.action = Action::Create;
    config.on_conflict = OnConflict::Compare;
    let start = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(5, 5)))).await;
    let error = start.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("option `on_conflict` is compare, but the index"), "{}: {error}", server.title);
    println!("{}: {error}", server.title);
}

async fn elasticsearch(version: Version) {
    let server = Server::shared(version).await;
    let index = |name: &str| format!("rebuilt_source-{name}");
    let make = |name: &str, body: Value| {
        let (server, path) = (&server, format!("/{}", index(name)));
        async move { server.send("PUT", &path, body).await }
    };
    make("plain", json!({})).await;
    assert_eq!(kept(&server, &index("plain")).await, SourceKept::AsSent);
    make("logsdb", json!({"settings": {"mode": "logsdb"}})).await;
    make("synthetic", json!({"settings": {"mapping.source.mode": "synthetic"}})).await;
    make("stored", json!({"settings": {"mode": "logsdb", "mapping.source.mode": "stored"}})).await;
    for name in ["logsdb", "synthetic"] {
        let kept = kept(&server, &index(name)).await;
        assert!(matches!(kept, SourceKept::Rebuilt(_)), "{name}: {kept:?}");
        compare_is_refused(&server, &index(name)).await;
    }
    assert_eq!(kept(&server, &index("stored")).await, SourceKept::AsSent);
    for mode in ["lookup", "vectordb_document"] {
        make(mode, json!({"settings": {"mode": mode}})).await;
        assert_eq!(kept(&server, &index(mode)).await, SourceKept::AsSent, "{mode}");
    }
    for mode in ["columnar", "logsdb_columnar"] {
        make(mode, json!({"settings": {"mode": mode}})).await;
        let kept = kept(&server, &index(mode)).await;
        assert!(matches!(kept, SourceKept::Rebuilt(_)), "{mode}: {kept:?}");
        compare_is_refused(&server, &index(mode)).await;
        has_no_sequence_numbers(&server, &index(mode)).await;
    }
    for mode in ["logsdb", "columnar", "logsdb_columnar"] {
        values_are_compared(&server, mode).await;
    }
    makes_ids(&server, &index("series"), &index("copy")).await;
    server.stop().await;
}

/// Values of every type come back in the server's words, and are equal.
async fn values_are_compared(server: &Server, mode: &str) {
    let index = format!("rebuilt_source-values-{mode}");
    let mapping = json!({"properties": {
        "id": {"type": "keyword"}, "@timestamp": {"type": "date"}, "nanos": {"type": "date_nanos"},
        "day": {"type": "date", "format": "dd/MM/yyyy"}, "n": {"type": "long"}, "f": {"type": "float"},
        "h": {"type": "half_float"}, "d": {"type": "double"}, "b": {"type": "boolean"}, "ip": {"type": "ip"},
        "k": {"type": "keyword", "ignore_above": 5}, "low": {"type": "keyword", "normalizer": "lowercase"},
        "t": {"type": "text"}, "geo": {"type": "geo_point"}, "host": {"properties": {"name": {"type": "keyword"}}},
        "ne": {"type": "nested", "properties": {"a": {"type": "long"}}},
    }});
    server.send("PUT", &format!("/{index}"), json!({"settings": {"mode": mode}, "mappings": mapping})).await;
    let lines = |b: bool| {
        (0..300).map(move |n: i64| {
            json!({"id": format!("i{n}"), "@timestamp": "2024-05-01T02:00:00+02:00", "nanos": "2024-05-01T00:00:00.123456789Z",
                "day": "01/05/2024", "n": if n % 2 == 0 { json!(n) } else { json!(n.to_string()) }, "f": n as f64 / 7.0,
                "h": 0.1, "d": n as f64 / 7.0, "b": if b || n != 8 { "true" } else { "false" }, "ip": "::ffff:1.2.3.4",
                "k": ["b", "a", "abcdefgh"], "low": "ÄB", "t": ["Some words", "and others"], "geo": {"lat": 1.0, "lon": 2.0},
                "host": {"name": "x"}, "none": null, "empty": [], "ne": [{"a": 3}, {"a": 1}], "dynamic": {"x.y": [3, 1, 3]}})
            .to_string()
        })
    };
    let (mut config, _folder) = server.config(&index);
    config.id = Some("id".parse().unwrap());
    let report = load(&config, lines(true)).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{mode}: {report:?}");
    let options = VerifyOptions { id: config.id.clone(), ..VerifyOptions::new(index.parse().unwrap()) };
    for (same, expected) in [(true, 0), (false, 1)] {
        let source = Box::new(Lines::new(lines(same)));
        let report = verify(Arc::clone(&server.transport), source, &options, |_| {}).await.unwrap();
        assert_eq!((report.docs_missing, report.docs_different), (Some(0), Some(expected)), "{mode}: {report:?}");
        assert!(report.not_proven[0].contains("geo (geo_point)"), "{mode}: {report:?}");
    }
}

/// A time series makes ids of dimensions and time. `copy` is made from it.
async fn makes_ids(server: &Server, index: &str, copy: &str) {
    let title = &server.title;
    let body = json!({"settings": {"mode": "time_series", "number_of_shards": 2, "routing_path": ["d"], "time_series":
            {"start_time": "2024-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:00Z"}},
        "mappings": {"properties": {"@timestamp": {"type": "date"}, "d": {"type": "keyword", "time_series_dimension": true},
            "v": {"type": "long", "time_series_metric": "gauge"}}}});
    for name in [index, copy] {
        server.send("PUT", &format!("/{name}"), body.clone()).await;
    }
    let lines = |total: u64| {
        (0..total).map(|n| {
            let (of, minute, second) = (n % 500 % 7, n % 500 / 60, n % 500 % 60);

            format!("{{\"@timestamp\":\"2024-05-01T00:{minute:02}:{second:02}Z\",\"d\":\"s{of}\",\"v\":{n}}}")
        })
    };
    let (config, _folder) = server.config(index);
    for (created, updated) in [(500, 200), (0, 700)] {
        let report = load(&config, lines(700)).await;
        assert_eq!(
            (report.status, report.verified.state),
            (Status::Complete, VerifiedState::Yes),
            "{title}: {report:?}"
        );
        assert_eq!((report.counts.docs_created, report.counts.docs_updated), (created, updated), "{title}: {report:?}");
    }
    let options = VerifyOptions::new(index.parse().unwrap());
    for (total, expected) in [(700, VerifyOutcome::Equal), (499, VerifyOutcome::Different)] {
        let source = Box::new(Lines::new(lines(total)));
        let report = verify(Arc::clone(&server.transport), source, &options, |_| {}).await.unwrap();
        assert_eq!(report.result, expected, "{title}: {report:?}");
    }
    let with_id = LoadConfig { id: Some("d".parse().unwrap()), ..config.clone() };
    let start = ConfiguredLoad::new(with_id).unwrap().start(Box::new(Lines::new(lines(1)))).await;
    let error = start.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("makes the ids of its documents"), "{title}: {error}");
    println!("{title}: {error}");

    let address = IndexAddress::parse(&format!("{}/{index}", server.url())).unwrap();
    let source = IndexSource::open(IndexOptions::new(address), &Warnings::default()).await.unwrap();
    let (config, _folder) = server.config(copy);
    let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 500), "{title}: {report:?}");
}

/// A load of documents is true, and what needs sequence numbers is refused before it begins.
async fn has_no_sequence_numbers(server: &Server, index: &str) {
    let title = &server.title;
    let lines = || (0..100).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n},\"@timestamp\":\"2024-01-01T00:00:00Z\"}}"));
    let (mut config, _folder) = server.config(index);
    config.id = Some("id".parse().unwrap());
    config.durability = Durability::Async;
    for (created, updated) in [(100, 0), (0, 100)] {
        let report = load(&config, lines()).await;
        assert_eq!(
            (report.status, report.verified.state),
            (Status::Complete, VerifiedState::Yes),
            "{title}: {report:?}"
        );
        assert_eq!((report.counts.docs_created, report.counts.docs_updated), (created, updated), "{title}");
    }
    let refused = async |config: LoadConfig, why: &str| {
        let start = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(lines()))).await;
        let error = start.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("keeps no sequence numbers"), "{title}: {error}");
        println!("{title}: {error}");
    };
    for action in [Action::Update, Action::Upsert] {
        refused(LoadConfig { action, ..config.clone() }, "option `action` is").await;
    }
    let alias = format!("{index}-alias");
    let add = json!({"actions": [{"add": {"index": index, "alias": alias}}]});
    server.send("POST", "/_aliases", add).await;
    let (mut swap, _other) = server.config(&format!("{index}-new"));
    let old_writes = OldWrites::CatchUp;
    swap.finish.swap = Some(SwapConfig { old_writes, ..SwapConfig::new(alias.as_str()) });
    refused(swap, index).await;
    let found = server.client.json("GET", &format!("/{index}-new"), Value::Null).await.unwrap();
    assert_eq!(found.status, 404, "{title}: nothing was made");

    let address = IndexAddress::parse(&format!("{}/{index}", server.url())).unwrap();
    let error = IndexSource::open(IndexOptions::new(address), &Warnings::default()).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("keeps no sequence numbers"), "{title}: {error}");
    let options = VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new(index.parse().unwrap()) };
    let report = verify(Arc::clone(&server.transport), Box::new(Lines::new(lines())), &options, |_| {}).await.unwrap();
    assert_eq!((report.result, report.docs_different), (VerifyOutcome::Equal, Some(0)), "{title}: {report:?}");
    let other = lines().map(|line| line.replace("\"n\":7,", "\"n\":-7,"));
    let report = verify(Arc::clone(&server.transport), Box::new(Lines::new(other)), &options, |_| {}).await.unwrap();
    assert_eq!((report.docs_missing, report.docs_different), (Some(0), Some(1)), "{title}: {report:?}");
}

async fn opensearch(version: Version) {
    let server = Server::shared(version).await;
    let path = "/rebuilt_source-derived";
    let mapping = json!({"properties": {"id": {"type": "keyword"}, "n": {"type": "long"}, "text": {"type": "text", "store": true}}});
    server.send("PUT", path, json!({"settings": {"derived_source.enabled": true}, "mappings": mapping})).await;
    let kept = kept(&server, &path[1..]).await;
    assert!(matches!(kept, SourceKept::Rebuilt(_)), "{kept:?}");
    compare_is_refused(&server, &path[1..]).await;
    server.stop().await;
}

on_servers!(elasticsearch: elasticsearch_9_5 = Elasticsearch9);
on_servers!(opensearch: opensearch_3_8 = OpenSearch38);
