//! Indices that rebuild the documents that they return, as the servers themselves say.

use inrush_cluster::api::source_kept::SourceKept;
use inrush_core::{Action, OnConflict};
use inrush_load::Loader;
use serde_json::{Value, json};

use crate::common::{Lines, documents};
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
    let start = Loader::new(config).unwrap().start(Box::new(Lines::new(documents(5, 5)))).await;
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
    server.stop().await;
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

on_servers!(elasticsearch: elasticsearch_8_19 = Elasticsearch8);
on_servers!(opensearch: opensearch_3_6 = OpenSearch3);
