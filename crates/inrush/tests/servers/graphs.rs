//! Graphs of vectors that are built once, after the load, on real servers: a search by a vector
//! finds what it finds after an ordinary load.

use std::process::Command;

use inrush_load::config::GraphTime;
use inrush_load::{ConfiguredLoad, PushLoad, Report, SettingsRestored, Status, VerifiedState};
use inrush_sources::push::Document;
use serde_json::{Value, json};

use crate::server::{self, Server, Version, on_servers};

const DIMS: u64 = 16;
const DOCS: u64 = 3000;
const THRESHOLD: &str = "index.knn.advanced.approximate_threshold";

/// Numbers without order, so that no two vectors are near each other.
fn vector(row: u64) -> Vec<f32> {
    let number = |at: u64| {
        let mixed = (row * DIMS + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40) as f32 / 16_777_216.0 - 0.5
    };
    (0..DIMS).map(number).collect()
}

async fn send(load: &PushLoad, rows: std::ops::Range<u64>) {
    for n in rows {
        let body = json!({"n": n, "v": vector(n)}).to_string().into();
        load.send(Document { body, ..Document::default() }).await.unwrap();
    }
}

/// Begins to load, and returns when a part is in segments of its own.
async fn begin(
    server: &Server,
    index: &str,
    graph: GraphTime,
    mapping: Option<Value>,
) -> (PushLoad, tempfile::TempDir) {
    let (mut config, folder) = server.config(index);
    config.id = Some("n".parse().unwrap());
    config.create.mapping = mapping;
    config.finish.graph = graph;
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    for part in 0..3 {
        send(&load, part * DOCS / 4..(part + 1) * DOCS / 4).await;
        load.progress().wait_for(|p| p.docs_settled == (part + 1) * DOCS / 4).await.unwrap();
        server.send("POST", &format!("/{index}/_refresh"), Value::Null).await;
    }
    (load, folder)
}

async fn end(load: PushLoad) -> Report {
    send(&load, DOCS * 3 / 4..DOCS).await;
    load.finish().await
}

/// The ids that searches by vectors find, by their distance.
async fn found(server: &Server, index: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for row in [0, 7, DOCS / 2, DOCS - 1] {
        let vector = vector(row);
        let body = match server.title.contains("OpenSearch") {
            true => json!({"size": 10, "query": {"knn": {"v": {"vector": vector, "k": 10}}}}),
            false => {
                json!({"size": 10, "knn": {"field": "v", "query_vector": vector, "k": 10, "num_candidates": DOCS}})
            }
        };
        let found = server.send("POST", &format!("/{index}/_search"), body).await;
        let hits = found["hits"]["hits"].as_array().unwrap();
        all.push(hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>());
        assert_eq!((all[all.len() - 1].len(), &all[all.len() - 1][0]), (10, &row.to_string()), "{}", server.title);
    }
    all
}

/// The documents with a vector were counted, and all have one.
fn counted(report: &Report) {
    let vectors = &report.verified.vectors["v"];
    assert_eq!((vectors.state, vectors.found), (VerifiedState::Yes, Some(DOCS)), "{report:?}");
}

async fn elasticsearch(version: Version) {
    let server = Server::shared(version).await;
    // Its own options, and those that are the default of the server.
    let hnsw =
        json!({"type": "dense_vector", "dims": DIMS, "similarity": "l2_norm", "index_options": {"type": "hnsw"}});
    let default = json!({"type": "dense_vector", "dims": DIMS, "similarity": "l2_norm"});
    for (name, definition) in [("hnsw", hnsw), ("default", default)] {
        let (once, ever) = (format!("graphs-{name}-once"), format!("graphs-{name}-ever"));
        let mapping = Some(json!({"properties": {"v": definition, "n": {"type": "long"}}}));
        let (load, _folder) = begin(&server, &ever, GraphTime::Load, mapping.clone()).await;
        assert_eq!(end(load).await.status, Status::Complete);
        let (load, _folder) = begin(&server, &once, GraphTime::End, mapping).await;
        let meanwhile = server.send("GET", &format!("/{once}/_mapping"), Value::Null).await;
        assert_eq!(meanwhile[&once]["mappings"]["properties"]["v"]["index_options"], json!({"type": "flat"}));
        let report = end(load).await;
        assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
        assert!(report.warnings.is_empty(), "{report:?}");
        let mapping = |body: Value, index: &str| body[index]["mappings"]["properties"].clone();
        let of_once = mapping(server.send("GET", &format!("/{once}/_mapping"), Value::Null).await, &once);
        let of_ever = mapping(server.send("GET", &format!("/{ever}/_mapping"), Value::Null).await, &ever);
        assert_eq!(of_once, of_ever, "{}", server.title);
        let merge = &report.finish.steps[0].detail;
        assert!(merge.contains("segments without graphs of vectors were merged"), "{merge}");
        println!("{} {name}: {merge}", server.title);
        if version == Version::Elasticsearch9 {
            let stats = server.send("GET", &format!("/{once}/_stats/dense_vector"), Value::Null).await;
            let graph = &stats["_all"]["primaries"]["dense_vector"]["off_heap"]["total_vex_size_bytes"];
            assert!(graph.as_u64().unwrap() > 0, "{stats}");
        }
        if name == "hnsw" {
            assert_eq!(found(&server, &once).await, found(&server, &ever).await, "{}", server.title);
        }
    }
    assert_eq!(server.leases("graphs-").await, 0);
    let left = server.send("GET", "/_cat/indices/*trial*?format=json", Value::Null).await;
    assert_eq!(left, json!([]));
    server.stop().await;
}

/// The plugin of tests has no native libraries: a node that builds a graph of the engine faiss
/// ends. So this one lives only if none is built while loading.
async fn opensearch(version: Version) {
    let folder = server::folder();
    std::fs::create_dir_all(&folder).unwrap();
    let home = folder.join("home");
    let number = version.distribution().version.clone();
    let made = Command::new("../../scripts/knn-server.sh").arg(number).arg(&home).status().unwrap();
    assert!(made.success(), "the plugin cannot be installed");
    let server = Server::own_with(version, 1, |spec| spec.home = Some(home)).await;
    let field = |engine: &str| {
        let method = json!({"name": "hnsw", "engine": engine, "space_type": "l2"});
        json!({"properties": {"v": {"type": "knn_vector", "dimension": DIMS, "method": method}, "n": {"type": "long"}}})
    };
    for (index, engine) in [("graphs-ever", "lucene"), ("graphs-lucene", "lucene"), ("graphs-faiss", "faiss")] {
        // Above the number of documents: also the merge at the end builds none.
        let mut settings = json!({"index.knn": true, "number_of_replicas": 0, "number_of_shards": 1});
        if engine == "faiss" {
            settings[THRESHOLD] = json!("100000");
        }
        server.send("PUT", &format!("/{index}"), json!({"settings": settings, "mappings": field(engine)})).await;
    }
    let (load, _folder) = begin(&server, "graphs-ever", GraphTime::Load, None).await;
    let report = end(load).await;
    assert_eq!(report.status, Status::Complete);
    counted(&report);
    let ever = found(&server, "graphs-ever").await;
    // An index without graphs has its vectors elsewhere.
    let mapping = json!({"properties": {"v": {"type": "knn_vector", "dimension": DIMS}}});
    let (load, _folder) = begin(&server, "graphs-none", GraphTime::Load, Some(mapping)).await;
    counted(&end(load).await);

    let (load, _folder) = begin(&server, "graphs-lucene", GraphTime::End, None).await;
    let report = end(load).await;
    assert_eq!(
        (report.status, report.settings.restored),
        (Status::Complete, SettingsRestored::Unchanged),
        "{report:?}"
    );
    assert!(report.warnings.iter().any(|text| text.contains("before 3.9")), "{:?}", report.warnings);
    assert_eq!(found(&server, "graphs-lucene").await, ever);
    counted(&report);

    let (load, _folder) = begin(&server, "graphs-faiss", GraphTime::End, None).await;
    let threshold = async || {
        let found = server.send("GET", "/graphs-faiss/_settings?flat_settings=true", Value::Null).await;
        found["graphs-faiss"]["settings"][THRESHOLD].clone()
    };
    assert_eq!(threshold().await, "-1");
    let report = end(load).await;
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
    assert_eq!((threshold().await, server.leases("graphs-").await), (json!("100000"), 0));
    assert_eq!(found(&server, "graphs-faiss").await, ever);
    counted(&report);
    println!("{}: {:?}", server.title, report.finish.steps);
    server.stop().await;
    let _ = std::fs::remove_dir_all(folder);
}

on_servers!(elasticsearch: elasticsearch_8_19 = Elasticsearch8, elasticsearch_9_5 = Elasticsearch9);
on_servers!(opensearch: opensearch_3_6 = OpenSearch3);
