//! Vectors: packed where the server takes that, refused where the index would, and mapped by
//! product. Against the fake cluster, which takes base64 as its flavor does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, Float64Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_commands::doctor::examine;
use inrush_commands::mapping::{Mixed, infer};
use inrush_commands::verify::{VerifyOptions, verify};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Product, RequestLog, Rule};
use inrush_load::config::{DeadLetters, IdFrom, LoadConfig, MaxErrors, StateFolder};
use inrush_load::dry_run::dry_run;
use inrush_load::{BeginningHandle, ConfiguredLoad, LoadError, Report, Status, VerifiedState};
use inrush_sources::{Files, FormatOptions, SourceSpec, Warnings, open};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

use crate::common::config;

const DIMS: usize = 40;
const DOCS: usize = 50;

/// Floats that other forms than their own tend to lose: -0, subnormals, many digits.
fn vector(row: usize) -> Vec<f32> {
    let odd = [-0.0, 1e-45, f32::MIN_POSITIVE / 3.0, f32::MAX, 0.1, -1.0 / 3.0, 16_777_217.0];
    (0..DIMS).map(|at| odd.get(at).copied().unwrap_or((row * DIMS + at) as f32 / 7.0)).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

async fn fake(flavor: Flavor) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().flavor(flavor)).await.unwrap()
}

fn definition(fake: &FakeCluster) -> Value {
    match fake.flavor().is_elasticsearch() {
        true => json!({"type": "dense_vector", "dims": DIMS, "similarity": "l2_norm"}),
        false => json!({"type": "knn_vector", "dimension": DIMS}),
    }
}

/// A load into an index whose field `v` is a vector.
fn into_vectors(fake: &FakeCluster) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(fake.urls(), "docs");
    config.create.mapping = Some(json!({"properties": {"v": definition(fake), "n": {"type": "long"}}}));
    config.limits.batch_bytes = None;
    config.limits.memory = 1 << 20;
    (config, folder)
}

fn source(path: &Path) -> Files {
    open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default()).unwrap()
}

async fn load(config: LoadConfig, path: &Path) -> Report {
    let report = ConfiguredLoad::new(config).unwrap().run(source(path)).await.unwrap();
    assert!(report.counts.add_up(), "{report:?}");
    report
}

fn ndjson(folder: &Path) -> PathBuf {
    let line = |row| format!("{{\"n\":{row},\"v\":{:?}}}\n", vector(row));
    let path = folder.join("a.ndjson");
    std::fs::write(&path, (0..DOCS).map(line).collect::<String>()).unwrap();
    path
}

fn parquet(folder: &Path, name: &str, vectors: ArrayRef) -> PathBuf {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..vectors.len() as i64));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("v", vectors)]).unwrap();
    let path = folder.join(name);
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

fn singles() -> ArrayRef {
    let mut list = FixedSizeListBuilder::new(Float32Builder::new(), DIMS as i32);
    for row in 0..DOCS {
        list.values().append_slice(&vector(row));
        list.append(true);
    }
    Arc::new(list.finish())
}

fn doubles() -> ArrayRef {
    let mut list = ListBuilder::new(Float64Builder::new());
    (0..DOCS).for_each(|row| list.append_value(vector(row).into_iter().map(|value| Some(value.into()))));
    Arc::new(list.finish())
}

/// The same vectors as files of each kind.
fn files(folder: &Path) -> [PathBuf; 3] {
    [ndjson(folder), parquet(folder, "s.parquet", singles()), parquet(folder, "d.parquet", doubles())]
}

/// The vectors of the index by `n`, and whether all, or none, are packed.
fn stored(fake: &FakeCluster) -> (Vec<Vec<f32>>, bool) {
    let mut found: Vec<(u64, bool, Vec<f32>)> = Vec::new();
    for document in fake.documents("docs") {
        let document = document.json();
        let (packed, values) = match &document["v"] {
            Value::String(text) => {
                let bytes = STANDARD.decode(text).unwrap();
                (true, bytes.chunks(4).map(|four| f32::from_be_bytes(four.try_into().unwrap())).collect())
            }
            numbers => {
                let number = |number: &Value| number.to_string().parse().unwrap();
                (false, numbers.as_array().unwrap().iter().map(number).collect())
            }
        };
        found.push((document["n"].as_u64().unwrap(), packed, values));
    }
    found.sort_by_key(|(n, ..)| *n);
    let packed = found[0].1;
    assert!(found.iter().all(|(_, is, _)| *is == packed), "some are packed, some are not");
    (found.into_iter().map(|(.., values)| values).collect(), packed)
}

fn check_stored(fake: &FakeCluster, packed: bool) {
    let (found, is_packed) = stored(fake);
    assert_eq!((found.len(), is_packed), (DOCS, packed));
    found.iter().enumerate().for_each(|(row, values)| assert_eq!(bits(values), bits(&vector(row)), "row {row}"));
}

fn trials(fake: &FakeCluster) -> usize {
    let log = fake.requests();
    log.iter().filter(|request| request.method == "PUT" && request.path.contains("trial")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn float32_is_float32_on_each_server_from_each_source() {
    for (flavor, packed) in [
        (Flavor::elasticsearch_9(), true),
        (Flavor::new(inrush_fake::Product::Elasticsearch, "9.1.0"), false),
        (Flavor::elasticsearch_8(), false),
        (Flavor::opensearch_3_8(), false),
        (Flavor::opensearch_2(), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for path in files(folder.path()) {
            let fake = fake(flavor.clone()).await;
            let (config, _state) = into_vectors(&fake);
            let report = load(config, &path).await;
            assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS as u64), "{report:?}");
            check_stored(&fake, packed);
            // The index that proved it is gone.
            assert_eq!(trials(&fake) > 0, packed);
            assert_eq!(
                fake.call("GET", "/_cat/indices?format=json", Value::Null)
                    .unwrap()
                    .to_string()
                    .matches("trial")
                    .count(),
                0
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_reads_other_bytes_gets_numbers() {
    let config = FakeConfig::default().flavor(Flavor::elasticsearch_9()).little_endian_vectors(true);
    let fake = FakeCluster::start(config).await.unwrap();
    let (config, folder) = into_vectors(&fake);
    let report = load(config, &ndjson(folder.path())).await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS as u64), "{report:?}");
    check_stored(&fake, false);
    assert!(trials(&fake) > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_nodes_may_be_old_gets_numbers() {
    let refused = json!({"error": {"type": "security_exception", "reason": "not allowed"}, "status": 403});
    for (status, nodes) in [
        (403, refused),
        (200, json!({"nodes": {}})),
        (200, json!({"nodes": {"a": {"version": "9.5.3"}, "b": {"version": "9.2.0"}}})),
    ] {
        let fake = fake(Flavor::elasticsearch_9()).await;
        fake.set_reply("/_nodes/_all/none", status, nodes);
        let (config, folder) = into_vectors(&fake);
        let report = load(config, &ndjson(folder.path())).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        check_stored(&fake, false);
        assert_eq!(trials(&fake), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_that_proves_it_is_hidden_and_goes_with_a_load_that_is_stopped() {
    let at_trial = |fault| Rule::new(fault).method("PUT").path("-trial-");
    // Its creation has no answer yet; the document with the packed vector has none.
    for rule in [at_trial(Fault::HoldAfterApplying).first(1), at_trial(Fault::HoldBeforeApplying).after(1)] {
        let fake = fake(Flavor::elasticsearch_9()).await;
        let (config, folder) = into_vectors(&fake);
        fake.set_faults(Faults::new([rule]));
        let stop = BeginningHandle::default();
        let loader = ConfiguredLoad::new(config).unwrap().stopped_by(stop.clone());
        let load = tokio::spawn(loader.start(Box::new(source(&ndjson(folder.path())))));
        fake.wait_for_held(1).await;
        let trial = fake.indices().into_iter().find(|name| name.contains("-trial-")).unwrap();
        assert_eq!(fake.setting(&trial, "index.hidden").as_deref(), Some("true"));
        assert!(stop.stop());
        let ended = load.await.unwrap().map(|_| ()).unwrap_err();
        assert!(matches!(ended, LoadError::Stopped), "{ended}");
        assert!(fake.indices().iter().all(|name| !name.contains("-trial-")), "{:?}", fake.indices());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_vectors_is_not_asked_for_them() {
    let fake = fake(Flavor::elasticsearch_9()).await;
    let (mut config, folder) = into_vectors(&fake);
    config.create.mapping = None;
    fake.call("PUT", "/docs", json!({"mappings": {"properties": {"v": {"type": "double"}}}})).unwrap();
    let report = load(config, &ndjson(folder.path())).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let asks =
        |request: &RequestLog| request.path.contains("include_defaults") && request.path.contains("derived_source");
    assert!(!fake.requests().iter().any(asks));
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_stay_numbers_where_they_would_be_read_as_text() {
    // An index that keeps vectors in `_source`, a vector that is not indexed, a pipeline, and a
    // load that may write documents only.
    for case in ["kept", "not indexed", "pipeline", "documents only"] {
        let fake = fake(Flavor::elasticsearch_9()).await;
        let (mut config, folder) = into_vectors(&fake);
        let mut body = json!({"mappings": {"properties": {"v": definition(&fake)}}});
        match case {
            "kept" => body["settings"] = json!({"index.mapping.exclude_source_vectors": "false"}),
            "not indexed" => {
                body["mappings"]["properties"]["v"] = json!({"type": "dense_vector", "dims": DIMS, "index": false});
            }
            "pipeline" => {
                fake.call("PUT", "/_ingest/pipeline/p", json!({"processors": []})).unwrap();
                body["settings"] = json!({"index.default_pipeline": "p"});
            }
            _ => config.guard.leave_settings = true,
        }
        fake.call("PUT", "/docs", body).unwrap();
        config.create.mapping = None;
        let report = load(config, &ndjson(folder.path())).await;
        assert_eq!(report.status, Status::Complete, "{case} {report:?}");
        check_stored(&fake, false);
        assert_eq!(trials(&fake), 0, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_content_do_not_depend_on_the_form_of_vectors() {
    let mut ids = Vec::new();
    for flavor in [Flavor::elasticsearch_9(), Flavor::elasticsearch_8()] {
        let fake = fake(flavor).await;
        let (mut config, folder) = into_vectors(&fake);
        config.id_from = Some(IdFrom::Content);
        let path = parquet(folder.path(), "d.parquet", doubles());
        load(config.clone(), &path).await;
        let mut found: Vec<String> = fake.documents("docs").into_iter().map(|document| document.id).collect();
        found.sort();
        assert_eq!(found.len(), DOCS);
        // A comparison and a dry run make the same ids.
        let transport = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        let options = VerifyOptions { id_from: config.id_from, ..VerifyOptions::new("docs".parse().unwrap()) };
        let report = verify(Arc::new(transport), Box::new(source(&path)), &options, |_| {}).await.unwrap();
        assert_eq!((report.docs_missing, report.docs_extra.unwrap_or(0)), (Some(0), 0), "{report:?}");
        let dry = dry_run(config, Box::new(source(&path))).await.unwrap();
        assert!(!dry.documents.is_empty());
        for shown in &dry.documents {
            let action: Value = serde_json::from_str(&shown.action).unwrap();
            let id = action.as_object().unwrap().values().next().unwrap()["_id"].as_str().unwrap().to_owned();
            assert!(found.contains(&id), "{action}");
        }
        ids.push(found);
    }
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_vectors_are_dead_letters_with_row_and_reason_and_nothing_else_is_lost() {
    for flavor in [Flavor::elasticsearch_9(), Flavor::elasticsearch_8(), Flavor::opensearch_3()] {
        let fake = fake(flavor.clone()).await;
        let (config, folder) = into_vectors(&fake);
        let mut list = ListBuilder::new(Float64Builder::new());
        let good = || vector(1).into_iter().map(|value| Some(f64::from(value))).collect::<Vec<_>>();
        let with = |value: Option<f64>| {
            let mut values = good();
            values[9] = value;
            values
        };
        let rows = [
            good(),
            good()[1..].to_vec(),
            with(None),
            with(Some(f64::NAN)),
            with(Some(f64::NEG_INFINITY)),
            with(Some(1e300)),
            Vec::new(),
            good(),
        ];
        rows.into_iter().for_each(|row| list.append_value(row));
        let path = parquet(folder.path(), "bad.parquet", Arc::new(list.finish()));
        let DeadLetters::File(letters) = config.dead_letters.clone() else { panic!("there is a file") };
        let report = load(config, &path).await;
        assert_eq!((report.counts.docs_indexed, report.counts.docs_dead_lettered), (2, 6), "{report:?}");
        assert_eq!(fake.documents("docs").len(), 2);
        let letters = std::fs::read_to_string(letters).unwrap();
        let letters: Vec<Value> = letters.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut told: Vec<(u64, String)> = letters
            .iter()
            .map(|letter| {
                assert!(letter.to_string().contains("bad_vector"), "{letter}");
                (letter["position"]["line"].as_u64().unwrap_or_default(), letter.to_string())
            })
            .collect();
        told.sort();
        for ((line, text), (expected_line, reason)) in told.iter().zip([
            (2, "has 39 elements"),
            (3, "null as element 9"),
            (4, "as element 9"),
            (5, "as element 9"),
            (6, "beyond float32 as element 9"),
            (7, "has 0 elements"),
        ]) {
            assert_eq!(*line, expected_line, "{text}");
            assert!(text.contains(reason), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inferred_vector_gets_the_type_that_the_cluster_has() {
    let plugins = json!({"nodes": {"a": {"name": "a", "plugins": [{"name": "opensearch-knn"}]}}});
    for (flavor, has_knn, kind) in [
        (Flavor::elasticsearch_9(), false, "dense_vector"),
        (Flavor::elasticsearch_8(), false, "dense_vector"),
        (Flavor::elasticsearch_7(), false, "dense_vector"),
        (Flavor::opensearch_3(), true, "knn_vector"),
        (Flavor::opensearch_3(), false, "double"),
    ] {
        let fake = fake(flavor.clone()).await;
        if has_knn {
            fake.set_reply("/_nodes/plugins", 200, plugins.clone());
        }
        let (mut config, folder) = into_vectors(&fake);
        let path = ndjson(folder.path());
        let advice = infer(&mut source(&path), None, Mixed::Widen).unwrap().advice;
        let warned = |warnings: &[String]| warnings.iter().any(|warning| warning.contains("no plugin opensearch-knn"));
        (config.create.mapping, config.create.vectors) = (Some(advice.mapping), advice.vectors);
        let create = config.create.clone();
        // A dry run shows the mapping that the load makes.
        let dry = dry_run(config.clone(), Box::new(source(&path))).await.unwrap();
        let body = dry.create.unwrap();
        assert_eq!(body["mappings"]["properties"]["v"]["type"], kind, "{flavor} {body}");
        assert_eq!(warned(&dry.warnings), kind == "double", "{:?}", dry.warnings);
        let report = load(config, &path).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        let field = fake.mapping("docs")["properties"]["v"].clone();
        assert_eq!(field["type"], kind, "{flavor}");
        assert_eq!(fake.setting("docs", "index.knn").as_deref(), has_knn.then_some("true"));
        assert_eq!(warned(&report.warnings), kind == "double", "{:?}", report.warnings);
        check_stored(&fake, flavor == Flavor::elasticsearch_9());
        // The index is there with the mapping that it has, so nothing is said of another one.
        let (mut config, _folder) = into_vectors(&fake);
        config.create = create;
        let report = load(config, &path).await;
        assert!(!warned(&report.warnings), "{:?}", report.warnings);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inferred_number_beyond_a_long_gets_the_type_that_the_cluster_has() {
    for (flavor, kind) in [
        (Flavor::elasticsearch_9(), "unsigned_long"),
        (Flavor::elasticsearch_7(), "unsigned_long"),
        (Flavor::new(Product::Elasticsearch, "7.9.3"), "keyword"),
        (Flavor::opensearch_3(), "unsigned_long"),
        (Flavor::new(Product::OpenSearch, "2.7.0"), "keyword"),
    ] {
        let fake = fake(flavor.clone()).await;
        let (mut config, folder) = into_vectors(&fake);
        let path = folder.path().join("a.ndjson");
        std::fs::write(&path, "{\"u\":18446744073709551615}\n{\"u\":7}\n").unwrap();
        let advice = infer(&mut source(&path), None, Mixed::Widen).unwrap().advice;
        (config.create.mapping, config.create.unsigned) = (Some(advice.mapping), advice.unsigned);
        let warned = |warnings: &[String]| warnings.iter().any(|warning| warning.contains("has no unsigned_long"));
        let dry = dry_run(config.clone(), Box::new(source(&path))).await.unwrap();
        assert_eq!(dry.create.unwrap()["mappings"]["properties"]["u"]["type"], kind, "{flavor}");
        let report = load(config, &path).await;
        assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, 2), "{report:?}");
        assert_eq!(fake.mapping("docs")["properties"]["u"]["type"], kind, "{flavor}");
        assert_eq!((warned(&dry.warnings), warned(&report.warnings)), (kind == "keyword", kind == "keyword"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_distribution_without_vectors_gets_numbers() {
    let fake = fake(Flavor::elasticsearch_7()).await;
    let mut root = fake.call("GET", "/", Value::Null).unwrap();
    root["version"]["build_flavor"] = json!("oss");
    fake.set_reply("/", 200, root);
    let (mut config, folder) = into_vectors(&fake);
    let path = ndjson(folder.path());
    let advice = infer(&mut source(&path), None, Mixed::Widen).unwrap().advice;
    (config.create.mapping, config.create.vectors) = (Some(advice.mapping), advice.vectors);
    let report = load(config, &path).await;
    assert_eq!(fake.mapping("docs")["properties"]["v"]["type"], "double");
    assert!(report.warnings.iter().any(|warning| warning.contains("distribution oss")), "{:?}", report.warnings);
}

/// Vectors are counted as they are sent: packed or not, made of rows or passed through.
#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_each_source_are_counted() {
    for flavor in [Flavor::elasticsearch_9(), Flavor::elasticsearch_8(), Flavor::opensearch_3()] {
        let folder = tempfile::tempdir().unwrap();
        for path in files(folder.path()) {
            let fake = fake(flavor.clone()).await;
            let (config, _state) = into_vectors(&fake);
            fake.set_faults(Faults::new([Rule::new(Fault::ItemVectorsLost).containing("\"n\":7,")]));
            let report = load(config, &path).await;
            let vectors = &report.verified.vectors["v"];
            let found = (report.verified.state, vectors.found, vectors.expected);
            let expected = (VerifiedState::No, Some(DOCS as u64 - 1), Some(DOCS as u64));
            assert_eq!(found, expected, "{flavor} {path:?} {report:?}");
        }
    }
}

/// The counts of the interrupted run are those of its checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_load_counts_the_vectors_of_all_its_runs() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let (mut config, folder) = into_vectors(&fake);
    let before = json!({"n": 1_000, "v": vector(1_000)});
    fake.call("PUT", "/docs", json!({"mappings": config.create.mapping.take()})).unwrap();
    fake.call("PUT", "/docs/_doc/1000", before).unwrap();
    config.id = Some("n".parse().unwrap());
    config.state = Some(StateFolder::new(folder.path().join("state")));
    config.max_errors = MaxErrors::Count(0);
    config.limits.batch_docs = Some(5);
    let path = ndjson(folder.path());
    fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(["20"])]));
    let first = load(config.clone(), &path).await;
    assert_eq!(first.status, Status::Failed, "{first:?}");
    fake.set_faults(Faults::default());
    (config.resume, config.max_errors) = (true, MaxErrors::default());
    let report = load(config, &path).await;
    assert!(first.counts.docs_created > 0 && report.this_run.is_some(), "{report:?}");
    let vectors = &report.verified.vectors["v"];
    let found = (report.verified.state, vectors.state, vectors.found, vectors.expected);
    assert_eq!(found, (VerifiedState::Yes, VerifiedState::Yes, Some(DOCS as u64), Some(DOCS as u64)), "{report:?}");
    assert_eq!(report.indices["docs"].vectors["v"].created_with, DOCS as u64 - 1);
}

/// A sample of the documents of a named index tells vectors from other numbers.
#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_vectors_among_numbers() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let transport = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
    for (name, length) in [("vectors", DIMS), ("prices", 3)] {
        let mapping = json!({"properties": {"o": {"properties": {"v": {"type": "float"}}}}});
        fake.call("PUT", &format!("/{name}"), json!({"mappings": mapping})).unwrap();
        for n in 0..3 {
            let document = json!({"o": {"v": vec![0.5; length]}});
            fake.call("PUT", &format!("/{name}/_doc/{n}"), document).unwrap();
        }
        fake.call("POST", &format!("/{name}/_refresh"), Value::Null).unwrap();
    }
    let found = async |index: Option<&str>| {
        let diagnosis = examine(&transport, index).await.unwrap();
        let of_vectors = diagnosis.findings.into_iter().filter(|finding| finding.id == "vectors_as_numbers");
        of_vectors.map(|finding| finding.evidence).collect::<Vec<_>>()
    };
    assert_eq!(found(Some("vectors")).await, [format!("vectors: o.v has {DIMS} numbers in each of 3 documents")]);
    assert!(found(Some("prices")).await.is_empty());
    fake.clear_requests();
    assert!(found(None).await.is_empty());
    assert!(!fake.requests().iter().any(|request| request.path.contains("_search")), "no documents are read");
    // The others stand where documents may not be read.
    fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("/vectors/_search")]));
    let diagnosis = examine(&transport, Some("vectors")).await.unwrap();
    assert!(diagnosis.not_checked.iter().any(|what| what.contains("privilege read")), "{diagnosis:?}");
}
