//! Documents with vectors are counted: those that were sent with one, and those that the index has.

use std::time::Duration;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_core::{Action, Code, DocMeta};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_load::config::{DeadLetters, Durability, LoadConfig, Replies};
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState, VerifiedVectors};
use inrush_sources::push::Document;
use serde_json::{Value, json};

const DIMS: usize = 8;
const DOCS: u64 = 40;

async fn fake(flavor: Flavor) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().flavor(flavor)).await.unwrap()
}

fn vector(fake: &FakeCluster) -> Value {
    match fake.flavor().is_elasticsearch() {
        true => json!({"type": "dense_vector", "dims": DIMS, "similarity": "l2_norm"}),
        false => json!({"type": "knn_vector", "dimension": DIMS}),
    }
}

fn job(fake: &FakeCluster) -> (LoadConfig, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.limits.linger = Duration::from_millis(20);
    config.limits.retry_wait = Duration::from_millis(2);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    config.guard.state = Some(folder.path().join("state"));
    config.id = Some("n".parse().unwrap());
    config.create.mapping = Some(json!({"properties": {"n": {"type": "long"}, "v": vector(fake)}}));
    (config, folder)
}

fn with(n: u64) -> Value {
    json!({"n": n, "v": [n, 1, 2, 3, 4, 5, 6, 7.5]})
}

async fn load(config: LoadConfig, documents: impl IntoIterator<Item = (Value, DocMeta)>) -> Report {
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    for (body, meta) in documents {
        load.send(Document { body: body.to_string().into(), meta }).await.unwrap();
    }
    let report = load.finish().await;
    assert!(report.counts.add_up(), "{report:?}");
    report
}

fn plain(documents: impl IntoIterator<Item = Value>) -> impl Iterator<Item = (Value, DocMeta)> {
    documents.into_iter().map(|body| (body, DocMeta::default()))
}

fn of(report: &Report, field: &str) -> VerifiedVectors {
    report.verified.vectors.get(field).unwrap_or_else(|| panic!("{report:?}")).clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vector_that_the_server_loses_is_a_failed_check() {
    for flavor in [Flavor::elasticsearch_9(), Flavor::elasticsearch_8(), Flavor::opensearch_3()] {
        let fake = fake(flavor.clone()).await;
        // Two documents have none from the beginning.
        let documents = || plain((0..DOCS).map(|n| if n < 2 { json!({"n": n, "v": null}) } else { with(n) }));
        let report = load(job(&fake).0, documents()).await;
        assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
        let vectors = of(&report, "v");
        assert_eq!((vectors.state, vectors.found, vectors.expected), (VerifiedState::Yes, Some(38), Some(38)));
        assert_eq!(vectors.detail, "38 documents have a vector = 0 before + 38 created with one");
        let counts = report.indices["docs"].vectors["v"];
        assert_eq!((counts.created_with, counts.created_without), (38, 2));

        let (mut config, _folder) = job(&fake);
        config.create.recreate = true;
        fake.set_faults(Faults::new([Rule::new(Fault::ItemVectorsLost).ids(["5", "7", "1"])]));
        let report = load(config, documents()).await;
        assert_eq!((report.status, report.verified.state), (Status::CheckFailed, VerifiedState::No), "{report:?}");
        assert_eq!((report.code(), report.counts.docs_created), (Some(Code::CountDiffers), DOCS));
        let vectors = of(&report, "v");
        assert_eq!((vectors.state, vectors.found, vectors.expected), (VerifiedState::No, Some(36), Some(38)));
        let detail = &report.verified.detail;
        assert!(detail.starts_with("docs holds 40 documents"), "{flavor} {detail}");
        let lost = "of the field v, 36 documents have a vector, 2 fewer than 38";
        assert!(detail.contains(lost), "{flavor} {detail}");
        assert!(detail.contains("no other client wrote to it"), "{flavor} {detail}");
    }
}

/// What documents of the index had before is counted. What replaced ones had is not known, unless
/// all had one.
#[tokio::test(flavor = "multi_thread")]
async fn replaced_documents_are_not_guessed() {
    for (before, found, expected) in [
        (vec![with(100), json!({"n": 101})], 41, Some(41)),
        (vec![with(0), json!({"n": 1})], 40, None),
        (vec![with(0), with(1)], 40, Some(40)),
    ] {
        let fake = fake(Flavor::elasticsearch_8()).await;
        let (config, _folder) = job(&fake);
        fake.call("PUT", "/docs", json!({"mappings": config.create.mapping})).unwrap();
        for document in &before {
            fake.call("PUT", &format!("/docs/_doc/{}", document["n"]), document.clone()).unwrap();
        }
        let report = load(config, plain((0..DOCS).map(with))).await;
        assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
        let vectors = of(&report, "v");
        let state = if expected.is_some() { VerifiedState::Yes } else { VerifiedState::NotProvable };
        assert_eq!((vectors.state, vectors.found, vectors.expected), (state, Some(found), expected), "{vectors:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_keep_vectors_and_deletions_take_them() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let report = load(job(&fake).0, plain((0..DOCS).map(with))).await;
    assert_eq!(of(&report, "v").found, Some(DOCS));
    let mut documents = vec![
        (json!({"n": 0, "a": 1}), DocMeta::default()),
        (json!({"n": 1, "v": null}), DocMeta::default()),
        (with(2_000), DocMeta::default()),
        (json!({"n": 3_000}), DocMeta::default()),
    ];
    documents.push((json!({"n": 4}), DocMeta::default().with_action(Action::Delete)));
    let (mut config, _folder) = job(&fake);
    config.action = Action::Upsert;
    let report = load(config, documents).await;
    assert_eq!(report.verified.state, VerifiedState::Yes, "{report:?}");
    let counts = report.indices["docs"].vectors["v"];
    assert_eq!((counts.created_with, counts.created_without), (1, 1));
    assert_eq!((counts.updated_with, counts.updated_without, counts.updated_as_it_was), (0, 1, 1));
    // The one without a vector may be the deleted one.
    let vectors = of(&report, "v");
    assert_eq!((vectors.state, vectors.found), (VerifiedState::NotProvable, Some(39)), "{vectors:?}");
    assert!(vectors.detail.contains("39 to 41 may"), "{vectors:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_counted_is_said_and_changes_nothing() {
    for (case, why) in [
        ("refused", "no such query"),
        ("pipeline", "an ingest pipeline"),
        ("summary", "not all documents were looked at"),
        ("nested", "nested objects"),
    ] {
        let fake = fake(Flavor::elasticsearch_8()).await;
        let (mut config, _folder) = job(&fake);
        let mut field = "v";
        match case {
            "refused" => {
                let refused = Rule::new(Fault::RequestRefused).method("POST").path("/docs/_count");
                fake.set_faults(Faults::new([refused.error(400, "query_shard_exception", "no such query")]));
            }
            "pipeline" => {
                fake.call("PUT", "/_ingest/pipeline/p", json!({"processors": []})).unwrap();
                config.pipeline = Some("p".to_owned());
            }
            "summary" => (config.replies, config.action) = (Replies::Summary, Action::Create),
            _ => {
                let mapping = json!({"properties": {"o": {"type": "nested", "properties": {"v": vector(&fake)}}}});
                config.create.mapping = Some(mapping);
                field = "o.v";
            }
        }
        let document = |n| match case {
            "nested" => json!({"n": n, "o": {"v": with(n)["v"]}}),
            _ => with(n),
        };
        let report = load(config, plain((0..DOCS).map(document))).await;
        assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{case} {report:?}");
        let vectors = of(&report, field);
        assert_eq!(vectors.state, VerifiedState::NotProvable, "{case} {vectors:?}");
        assert!(vectors.detail.contains(why), "{case} {vectors:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_wait_for_a_flush_are_counted() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let (mut config, _folder) = job(&fake);
    config.durability = Durability::Async;
    let report = load(config, plain((0..DOCS).map(with))).await;
    assert_eq!(of(&report, "v").found, Some(DOCS), "{report:?}");
    assert_eq!(of(&report, "v").state, VerifiedState::Yes, "{report:?}");
}

/// The last load of several at once counts the vectors of all.
#[tokio::test(flavor = "multi_thread")]
async fn loads_at_the_same_time_are_counted_together() {
    for lost in [false, true] {
        let fake = fake(Flavor::elasticsearch_8()).await;
        let (config, _folder) = job(&fake);
        fake.call("PUT", "/docs", json!({"mappings": config.create.mapping})).unwrap();
        fake.call("PUT", "/docs/_doc/1000", with(1000)).unwrap();
        let first = ConfiguredLoad::new(config.clone()).unwrap().sender().await.unwrap();
        let report = load(config, plain((0..DOCS).map(with))).await;
        assert_eq!(of(&report, "v").state, VerifiedState::NotProvable, "{report:?}");
        if lost {
            fake.set_faults(Faults::new([Rule::new(Fault::ItemVectorsLost).ids(["2007"])]));
        }
        for n in 2000..2000 + DOCS {
            first.send(Document { body: with(n).to_string().into(), meta: DocMeta::default() }).await.unwrap();
        }
        let report = first.finish().await;
        let state = if lost { VerifiedState::No } else { VerifiedState::Yes };
        let (vectors, all) = (of(&report, "v"), 2 * DOCS + 1);
        let found = (vectors.state, vectors.found, vectors.expected);
        assert_eq!(found, (state, Some(all - u64::from(lost)), Some(all)), "{report:?}");
        assert!(report.verified.detail.contains("the counts include 2 loads"), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_vectors_is_counted_as_ever() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let (mut config, _folder) = job(&fake);
    config.create.mapping = Some(json!({"properties": {"v": {"type": "float"}}}));
    let report = load(config, plain((0..DOCS).map(with))).await;
    assert_eq!(report.verified.state, VerifiedState::Yes);
    assert!(report.verified.vectors.is_empty() && report.indices["docs"].vectors.is_empty(), "{report:?}");
    assert!(!fake.requests().iter().any(|request| request.method == "POST" && request.path.contains("_count")));
}

/// A template has the field, and the mapping of the load has not.
#[tokio::test(flavor = "multi_thread")]
async fn fields_of_a_template_are_counted() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let template = json!({"mappings": {"properties": {"v": vector(&fake)}}});
    fake.call("PUT", "/_index_template/t", json!({"index_patterns": ["docs"], "template": template})).unwrap();
    let (mut config, _folder) = job(&fake);
    config.create.mapping = None;
    let report = load(config, plain((0..DOCS).map(with))).await;
    assert_eq!(of(&report, "v").found, Some(DOCS), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_fails_is_named_with_its_reason() {
    let fake = fake(Flavor::opensearch_3()).await;
    fake.call("PUT", "/docs", json!({})).unwrap();
    let failures = json!([{"reason": {"type": "illegal_state_exception", "reason": "no doc values"}}]);
    let shards = json!({"total": 1, "successful": 0, "failed": 1, "failures": failures});
    fake.set_reply("/docs/_count", 200, json!({"count": 0, "_shards": shards}));
    let transport = Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap();
    let error = inrush_cluster::api::stats::count_with(&transport, "docs", "v").await.unwrap_err().to_string();
    assert!(error.contains("only 0 of 1 shards answered: no doc values"), "{error}");
}
