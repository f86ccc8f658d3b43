//! Vectors on real servers: float32 for float32 in the index, packed or not, and what an index of
//! vectors refuses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use inrush_commands::mapping::{Mixed, infer};
use inrush_commands::verify::{VerifyOptions, VerifyOutcome, verify};
use inrush_load::{ConfiguredLoad, PushLoad, Report, Status, VerifiedState};
use inrush_sources::push::Document;
use inrush_sources::{Beside, FormatOptions, Source, SourceSpec, Warnings, open};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::server::{Server, Version, on_servers};

const DIMS: usize = 64;
const DOCS: usize = 200;

/// Small enough for every similarity, with -0, subnormal numbers and many digits.
fn vector(row: usize) -> Vec<f32> {
    let odd = [-0.0, 1e-45, f32::MIN_POSITIVE / 3.0, 0.1, -1.0 / 3.0, 16_777_217.0];
    (0..DIMS).map(|at| odd.get(at).copied().unwrap_or((row * DIMS + at) as f32 / 7.0)).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn ndjson(folder: &Path) -> PathBuf {
    let line = |row| format!("{{\"n\":{row},\"v\":{:?}}}\n", vector(row));
    let path = folder.join("a.ndjson");
    std::fs::write(&path, (0..DOCS).map(line).collect::<String>()).unwrap();
    path
}

fn parquet(folder: &Path) -> PathBuf {
    let mut list = FixedSizeListBuilder::new(Float32Builder::new(), DIMS as i32);
    for row in 0..DOCS {
        list.values().append_slice(&vector(row));
        list.append(true);
    }
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..DOCS as i64));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("v", Arc::new(list.finish()) as ArrayRef)]).unwrap();
    let path = folder.join("a.parquet");
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

/// The vectors as an array of NumPy, and documents without them.
fn npy(folder: &Path) -> (PathBuf, PathBuf) {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({DOCS}, {DIMS}), }}\n");
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    let values: Vec<u8> = (0..DOCS).flat_map(vector).flat_map(f32::to_le_bytes).collect();
    let (vectors, documents) = (folder.join("a.npy"), folder.join("b.ndjson"));
    std::fs::write(&vectors, [b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), &values].concat()).unwrap();
    std::fs::write(&documents, (0..DOCS).map(|row| format!("{{\"n\":{row}}}\n")).collect::<String>()).unwrap();
    (vectors, documents)
}

fn file(path: &Path) -> Box<dyn Source> {
    Box::new(open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default()).unwrap())
}

async fn load(server: &Server, index: &str, mapping: Value, source: Box<dyn Source>) -> Report {
    let (mut config, _folder) = server.config(index);
    config.id = Some("n".parse().unwrap());
    config.create.mapping = Some(mapping);
    ConfiguredLoad::new(config).unwrap().start(source).await.unwrap().finish().await
}

/// The documents with a vector were counted, and are as many as were sent.
fn counted(report: &Report, docs: usize) {
    let vectors = &report.verified.vectors["v"];
    let found = (report.verified.state, vectors.state, vectors.found, vectors.expected);
    let docs = Some(docs as u64);
    assert_eq!(found, (VerifiedState::Yes, VerifiedState::Yes, docs, docs), "{report:?}");
}

/// Each vector as the index has it.
async fn check(server: &Server, index: &str, query: &str) {
    server.count(index).await;
    for row in [0, 1, DOCS / 2, DOCS - 1] {
        let found = server.send("GET", &format!("/{index}/_doc/{row}{query}"), Value::Null).await;
        let numbers = found["_source"]["v"].as_array().unwrap_or_else(|| panic!("{}: {found}", server.title));
        let values: Vec<f32> = numbers.iter().map(|number| number.as_f64().unwrap() as f32).collect();
        assert_eq!(bits(&values), bits(&vector(row)), "{} {index} {row}", server.title);
    }
    let exists = json!({"query": {"exists": {"field": "v"}}});
    let counted = server.send("POST", &format!("/{index}/_count"), exists).await;
    assert_eq!(counted["count"], DOCS, "{}", server.title);
}

/// Compares a source with the index of its load.
async fn compare(server: &Server, index: &str, source: impl Fn() -> Box<dyn Source>, is_near: bool) {
    let options = VerifyOptions { id: Some("n".parse().unwrap()), ..VerifyOptions::new(index.parse().unwrap()) };
    let report = verify(Arc::clone(&server.transport), source(), &options, |_| {}).await.unwrap();
    let found = (report.result, report.docs_compared, report.docs_different);
    assert_eq!(found, (VerifyOutcome::Equal, Some(DOCS as u64), Some(0)), "{} {index}: {report:?}", server.title);
    assert_eq!(report.not_proven.len(), usize::from(is_near), "{} {index}: {report:?}", server.title);
    // Another vector is found.
    let mut other = vector(0);
    other[DIMS - 1] += 1.0;
    server.send("PUT", &format!("/{index}/_doc/0?refresh=true"), json!({"n": 0, "v": other})).await;
    let report = verify(Arc::clone(&server.transport), source(), &options, |_| {}).await.unwrap();
    assert_eq!(report.docs_different, Some(1), "{} {index}: {report:?}", server.title);
    assert_eq!(report.examples.different[0].detail.as_deref(), Some("v"), "{} {index}", server.title);
}

async fn elasticsearch(version: Version) {
    let server = Server::shared(version).await;
    let is_new = matches!(version, Version::Elasticsearch9);
    let query = if is_new { "?_source_exclude_vectors=false" } else { "" };
    let folder = tempfile::tempdir().unwrap();
    for (name, path) in [("text", ndjson(folder.path())), ("rows", parquet(folder.path()))] {
        let index = format!("vectors-{name}");
        let definition = json!({"type": "dense_vector", "dims": DIMS, "index": true, "similarity": "l2_norm"});
        let report = load(&server, &index, json!({"properties": {"v": definition}}), file(&path)).await;
        assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
        counted(&report, DOCS);
        check(&server, &index, query).await;
        compare(&server, &index, || file(&path), false).await;
        let index = format!("vectors-cosine-{name}");
        let definition = json!({"type": "dense_vector", "dims": DIMS, "index": true, "similarity": "cosine"});
        let report = load(&server, &index, json!({"properties": {"v": definition}}), file(&path)).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        counted(&report, DOCS);
        compare(&server, &index, || file(&path), is_new).await;
    }
    let left = server.send("GET", "/_cat/indices/*trial*?format=json", Value::Null).await;
    assert_eq!(left, json!([]));
    server.stop().await;
}

/// Each kind of field can be asked for its documents, also one that is not indexed. A vector that
/// another client has taken away is found.
async fn counting(version: Version) {
    let server = Server::shared(version).await;
    let kinds = [
        ("plain", json!({"index": false})),
        ("hnsw", json!({"index_options": {"type": "hnsw"}})),
        ("int4", json!({"index_options": {"type": "int4_hnsw"}})),
        ("bbq", json!({"index_options": {"type": "bbq_flat"}})),
        ("byte", json!({"element_type": "byte"})),
        ("bit", json!({"element_type": "bit", "dims": 8 * DIMS})),
    ];
    for (name, more) in kinds {
        let index = format!("vectors-counted-{name}");
        let mut definition = json!({"type": "dense_vector", "dims": DIMS});
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (mut config, _folder) = server.config(&index);
        config.id = Some("n".parse().unwrap());
        config.create.mapping = Some(json!({"properties": {"v": definition}}));
        let begin = async || ConfiguredLoad::new(config.clone()).unwrap().sender().await.unwrap();
        let document = |n: usize, with: bool| {
            let vector: Vec<usize> = (1..=DIMS).collect();
            let body = if with { json!({"n": n, "v": vector}) } else { json!({"n": n}) };
            Document { body: body.to_string().into(), ..Document::default() }
        };
        // One in ten has none.
        let send = async |load: &PushLoad, rows: std::ops::Range<usize>| {
            for n in rows {
                load.send(document(n, n % 10 != 0)).await.unwrap();
            }
        };
        let load = begin().await;
        send(&load, 0..DOCS).await;
        counted(&load.finish().await, DOCS * 9 / 10);
        // The index has some before.
        let load = begin().await;
        send(&load, DOCS..2 * DOCS).await;
        load.progress().wait_for(|p| p.docs_settled == DOCS as u64).await.unwrap();
        server.send("PUT", &format!("/{index}/_doc/1"), json!({"n": 1})).await;
        let report = load.finish().await;
        assert_eq!((report.status, report.verified.state), (Status::CheckFailed, VerifiedState::No), "{report:?}");
        let (vectors, all) = (&report.verified.vectors["v"], 2 * DOCS as u64 * 9 / 10);
        assert_eq!((vectors.found, vectors.expected), (Some(all - 1), Some(all)), "{report:?}");
        assert!(report.verified.detail.contains("operations more than this load sent"), "{report:?}");
        println!("{} {name}: {}", server.title, report.verified.detail);
    }
    server.stop().await;
}

/// Vectors of a file beside documents. The node of OpenSearch has no plugin for vectors.
async fn beside(version: Version) {
    let server = Server::shared(version).await;
    let folder = tempfile::tempdir().unwrap();
    let (vectors, documents) = npy(folder.path());
    let source = || -> Box<dyn Source> {
        Box::new(Beside::new(file(&documents), &[("v".to_owned(), vectors.clone())], 1 << 20).unwrap())
    };
    let is_new = matches!(version, Version::Elasticsearch9);
    let (definition, query) = match is_new {
        true => {
            (json!({"type": "dense_vector", "dims": DIMS, "similarity": "l2_norm"}), "?_source_exclude_vectors=false")
        }
        false => (json!({"type": "float"}), ""),
    };
    let report = load(&server, "vectors-beside", json!({"properties": {"v": definition}}), source()).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
    check(&server, "vectors-beside", query).await;
    compare(&server, "vectors-beside", source, false).await;
    server.stop().await;
}

/// A node of OpenSearch without the plugin for vectors.
async fn without_vectors(version: Version) {
    let server = Server::shared(version).await;
    let folder = tempfile::tempdir().unwrap();
    let path = ndjson(folder.path());
    let mut source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
    let advice = infer(&mut source, None, Mixed::Widen).unwrap().advice;
    let (mut config, _state) = server.config("vectors-none");
    config.id = Some("n".parse().unwrap());
    (config.create.mapping, config.create.vectors) = (Some(advice.mapping), advice.vectors);
    let source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
    let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert!(report.warnings.iter().any(|text| text.contains("no plugin opensearch-knn")), "{:?}", report.warnings);
    check(&server, "vectors-none", "").await;
    server.stop().await;
}

on_servers!(elasticsearch: elasticsearch_8_19 = Elasticsearch8, elasticsearch_9_5 = Elasticsearch9);
on_servers!(counting: counting_8_19 = Elasticsearch8, counting_9_5 = Elasticsearch9);
on_servers!(beside: beside_elasticsearch_9_5 = Elasticsearch9, beside_opensearch_3_6 = OpenSearch3);
on_servers!(without_vectors: opensearch_3_6 = OpenSearch3);
