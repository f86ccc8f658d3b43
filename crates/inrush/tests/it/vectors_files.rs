//! Files of vectors, alone and beside documents, against the fake cluster.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inrush_commands::options::{Environment, LoadOptions};
use inrush_fake::{FakeCluster, FakeConfig, Flavor};
use inrush_load::config::{DeadLetters, GraphTime, IdFrom, LoadConfig, SwapConfig};
use inrush_load::{ConfiguredLoad, Report, Status};
use inrush_sources::{Beside, FormatOptions, Source, SourceSpec, Warnings, open};
use serde_json::{Value, json};

use crate::common::config;
use crate::cut_off::{DOCS, Job, documents};

const DIMS: usize = 8;

fn vector(row: u64) -> Vec<f32> {
    (0..DIMS).map(|at| if at == 0 { row as f32 } else { at as f32 / 3.0 }).collect()
}

/// A file of NumPy with these rows.
fn npy(path: &Path, rows: std::ops::Range<u64>) -> PathBuf {
    let header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {DIMS}), }}\n", rows.end - rows.start);
    let len = u16::try_from(header.len()).unwrap().to_le_bytes();
    let values = rows.flat_map(vector).flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    std::fs::write(path, [b"\x93NUMPY\x01\0", &len[..], header.as_bytes(), &values].concat()).unwrap();
    path.to_owned()
}

async fn fake(flavor: Flavor) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().flavor(flavor)).await.unwrap()
}

fn mapping(fake: &FakeCluster) -> Value {
    let definition = match fake.flavor().is_elasticsearch() {
        true => json!({"type": "dense_vector", "dims": DIMS, "similarity": "l2_norm"}),
        false => json!({"type": "knn_vector", "dimension": DIMS}),
    };
    json!({"properties": {"v": definition}})
}

fn beside(inner: impl Source + 'static, path: &Path) -> Box<dyn Source> {
    Box::new(Beside::new(Box::new(inner), &[("v".to_owned(), path.to_owned())], 1 << 20).unwrap())
}

async fn load(config: LoadConfig, source: Box<dyn Source>) -> Report {
    let report = ConfiguredLoad::new(config).unwrap().start(source).await.unwrap().finish().await;
    assert!(report.counts.add_up(), "{report:?}");
    report
}

/// The float32 of a field, and whether they are packed.
fn floats(value: &Value) -> (Vec<f32>, bool) {
    match value {
        Value::String(text) => {
            let bytes = STANDARD.decode(text).unwrap();
            (bytes.chunks(4).map(|four| f32::from_be_bytes(four.try_into().unwrap())).collect(), true)
        }
        numbers => (serde_json::from_value(numbers.clone()).unwrap(), false),
    }
}

/// Each document has the vector of its number, once.
fn check(fake: &FakeCluster, index: &str, docs: u64, is_packed: bool) {
    let mut numbers = Vec::new();
    for document in fake.documents(index) {
        let document = document.json();
        let n = document["n"].as_u64().unwrap();
        assert_eq!(floats(&document["v"]), (vector(n), is_packed), "{index} {n}");
        numbers.push(n);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..docs).collect::<Vec<_>>(), "{index}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_alone_are_documents_packed_where_the_server_takes_it() {
    for (flavor, is_packed) in
        [(Flavor::elasticsearch_9(), true), (Flavor::elasticsearch_8(), false), (Flavor::opensearch_3(), false)]
    {
        let fake = fake(flavor).await;
        let (mut config, folder) = config(fake.urls(), "docs");
        config.create.mapping = Some(mapping(&fake));
        config.id_from = Some(IdFrom::Position);
        let path = npy(&folder.path().join("a.npy"), 0..500);
        let options = FormatOptions { vector_field: "v".to_owned(), ..FormatOptions::default() };
        let source = open(&[SourceSpec::new(&path)], options, &Warnings::default()).unwrap();
        let report = load(config, Box::new(source)).await;
        assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, 500), "{report:?}");
        let mut found: Vec<_> = fake.documents("docs").iter().map(|document| floats(&document.json()["v"])).collect();
        found.sort_by(|(a, _), (b, _)| a[0].total_cmp(&b[0]));
        assert_eq!(found, (0..500).map(|row| (vector(row), is_packed)).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn row_i_stays_with_document_i_however_often_the_load_is_cut_off() {
    for (flavor, is_packed) in [(Flavor::elasticsearch_9(), true), (Flavor::opensearch_3(), false)] {
        let fake = fake(flavor).await;
        for name in ["a", "b"] {
            let mut job = Job::new(fake.urls(), name, &documents(DOCS, DOCS));
            let path = npy(&job.folder.path().join("v.npy"), 0..DOCS);
            job.config.create.mapping = Some(mapping(&fake));
            match name {
                "a" => job.config.id = Some("id".parse().unwrap()),
                _ => job.config.id_from = Some(IdFrom::Position),
            }
            let source = || beside(job.source(), &path);
            job.crash_of(job.config.clone(), source(), 700).await;
            job.crash_of(job.resumed(), source(), 1_000).await;
            let report = load(job.resumed(), source()).await;
            assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
            assert!(report.this_run.is_some_and(|run| run.counts.docs_read < DOCS), "{name} goes on");
            check(&fake, name, DOCS, is_packed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_vectors_are_another_load() {
    let fake = fake(Flavor::elasticsearch_9()).await;
    let mut job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    let path = npy(&job.folder.path().join("v.npy"), 0..DOCS);
    job.config.id = Some("id".parse().unwrap());
    job.crash_of(job.config.clone(), beside(job.source(), &path), 700).await;
    npy(&path, 1..DOCS + 1);
    let refused = ConfiguredLoad::new(job.resumed()).unwrap().start(beside(job.source(), &path)).await;
    let refused = refused.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("v.npy"), "{refused}");
    // Without the vectors it is another one, too.
    let refused = job.refusal(job.resumed()).await;
    assert!(refused.contains("other sources") && refused.contains("and 1 more into docs"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_that_differ_are_told_and_the_alias_stays() {
    let fake = fake(Flavor::elasticsearch_9()).await;
    fake.call("PUT", "/docs-old", json!({"aliases": {"docs": {}}})).unwrap();
    let less = DOCS - 1;
    let told = [
        (less, format!("are {less}, and the documents of"), format!("are more than {less}, with")),
        (DOCS + 1, format!("are more than {DOCS}, and the documents of"), format!("are {DOCS}, with")),
    ];
    for (rows, of_vectors, of_documents) in told {
        let mut job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
        let path = npy(&job.folder.path().join("v.npy"), 0..rows);
        job.config.limits.max_rate = None;
        job.config.finish.swap = Some(SwapConfig::new("docs"));
        let report = load(job.config.clone(), beside(job.source(), &path)).await;
        assert_eq!(report.status, Status::Failed, "{report:?}");
        let why = report.failure.unwrap();
        assert!(why.contains(&of_vectors) && why.contains(&of_documents), "{why}");
        let alias = fake.call("GET", "/_alias/docs", Value::Null).unwrap();
        assert_eq!(alias.as_object().unwrap().keys().collect::<Vec<_>>(), ["docs-old"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_vectors_and_records_are_dead_letters_and_the_others_keep_their_rows() {
    let fake = fake(Flavor::elasticsearch_9()).await;
    let (mut config, folder) = config(fake.urls(), "docs");
    config.create.mapping = Some(mapping(&fake));
    let DeadLetters::File(letters) = config.dead_letters.clone() else { panic!("there is a file") };
    let path = npy(&folder.path().join("v.npy"), 0..5);
    // A NaN in the row before the last.
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 2 * DIMS * 4;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let text = "{\"n\":0}\n{\"n\":1,\"v\":[1]}\n[2]\n{\"n\":3}\n{\"n\":4}\n";
    std::fs::write(folder.path().join("a.ndjson"), text).unwrap();
    let source = SourceSpec::new(folder.path().join("a.ndjson"));
    let source = open(&[source], FormatOptions::default(), &Warnings::default()).unwrap();
    let report = load(config, beside(source, &path)).await;
    assert_eq!((report.counts.docs_indexed, report.counts.docs_dead_lettered), (2, 3), "{report:?}");
    for document in fake.documents("docs") {
        let n = document.json()["n"].as_u64().unwrap();
        assert!(n == 0 || n == 4);
        assert_eq!(floats(&document.json()["v"]).0, vector(n));
    }
    let letters = std::fs::read_to_string(letters).unwrap();
    let mut told: Vec<(u64, String)> = letters
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|letter| (letter["position"]["line"].as_u64().unwrap(), letter.to_string()))
        .collect();
    told.sort();
    let expected = [(2, "names, too"), (3, "invalid_json"), (4, "as element 0")];
    assert_eq!(told.len(), expected.len());
    for ((line, text), (expected_line, reason)) in told.iter().zip(expected) {
        assert!(*line == expected_line && text.contains(reason), "{line} {text}");
    }
}

/// The plan's source of options, as a command, a job file and Python give them.
async fn planned(options: &[(&str, Value)]) -> Result<Box<dyn Source>, String> {
    let mut load = LoadOptions::default();
    for (name, value) in options.iter().chain(&[("index", json!("i")), ("to", json!("http://127.0.0.1:1"))]) {
        load.give(name, value.clone()).unwrap();
    }
    let plan = load.resolve(&Environment::new(|_| None)).await.map_err(|error| error.to_string())?;
    Ok(plan.source)
}

#[tokio::test]
async fn the_option_puts_vectors_into_documents_of_each_format() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        json!(folder.path().join(name))
    };
    let path = npy(&folder.path().join("v.npy"), 0..3);
    let vectors = json!([format!("v={}", path.display())]);
    for source in [file("a.ndjson", "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n"), file("a.csv", "n\n0\n1\n2\n")] {
        let mut source = planned(&[("sources", source), ("vectors", vectors.clone())]).await.unwrap();
        let mut found = Vec::new();
        while let Some(chunk) = source.next_chunk(1).unwrap() {
            let block = chunk.into_block();
            found.extend((0..block.records.len()).map(|at| serde_json::from_slice::<Value>(block.record(at)).unwrap()));
        }
        let expected: Vec<Value> = (0..3).map(|n| json!({"n": n, "v": vector(n)})).collect();
        assert_eq!(found.len(), 3);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((&found["n"], floats(&found["v"])), (&expected["n"], floats(&expected["v"])));
        }
    }
    let source = file("a.ndjson", "{\"n\":0}\n");
    for (options, expected) in [
        (vec![("vectors", json!([format!("v={}", path.display()), "v=b.npy"]))], "names the field \"v\" twice"),
        (vec![("vectors", json!(["v=none.npy"]))], "none.npy"),
        (vec![("vectors", vectors.clone()), ("sql", json!("SELECT * FROM input"))], "rows of a query come in no fixed"),
        (vec![("vectors", vectors.clone()), ("format", json!("bulk"))], "may delete documents"),
    ] {
        let options: Vec<_> = [("sources", source.clone())].into_iter().chain(options).collect();
        let error = planned(&options).await.err().unwrap();
        assert!(error.contains(expected), "{error}");
    }
    let letters = [("from_dead_letters", source), ("vectors", vectors)];
    let error = planned(&letters).await.err().unwrap();
    assert!(error.contains("option `vectors` does not work with option `from_dead_letters`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn graphs_of_a_large_new_index_wait_by_themselves() {
    let definition =
        json!({"type": "dense_vector", "dims": 2, "similarity": "l2_norm", "index_options": {"type": "hnsw"}});
    let mapping = json!({"properties": {"v": definition}});
    let large = GraphTime::WAIT_FROM as usize;
    for (case, bytes, flavor, waits) in [
        ("large", large, Flavor::elasticsearch_9(), true),
        ("small", large - 1, Flavor::elasticsearch_9(), false),
        ("no such setting", large, Flavor::opensearch_3(), false),
    ] {
        let fake = fake(flavor).await;
        for again in [false, true] {
            let (mut config, folder) = config(fake.urls(), "docs");
            config.finish.graph = GraphTime::Auto;
            config.create.mapping = (fake.flavor().is_elasticsearch() && !again).then(|| mapping.clone());
            let path = folder.path().join("a.ndjson");
            let mut text = b"{\"v\":[1,2]}\n{\"v\":[1,3]}\n".to_vec();
            text.resize(bytes, b'\n');
            std::fs::write(&path, text).unwrap();
            let source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
            let report = load(config, Box::new(source)).await;
            let changed = report.settings.changed.keys().any(|name| name.ends_with("index_options"));
            assert_eq!((report.status, changed), (Status::Complete, waits && !again), "{case}: {report:?}");
            // The only segment of the shard is not merged.
            assert_eq!(report.warnings.len(), usize::from(changed), "{case}: {:?}", report.warnings);
        }
    }
}
