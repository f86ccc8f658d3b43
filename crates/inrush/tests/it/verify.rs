//! A source against an index of the fake cluster: missing, different and extra documents are found,
//! and no others.

use std::sync::Arc;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_commands::verify::{Example, VerifyError, VerifyOptions, VerifyOutcome, VerifyReport, verify};
use inrush_core::Shaping;
use inrush_fake::{FakeCluster, FakeConfig, Flavor};
use inrush_sources::Source;
use inrush_testbed::client::Client;
use serde_json::{Value, json};

use crate::common::{Lines, config, documents, load};

struct Bench {
    fake: FakeCluster,
    client: Client,
}

impl Bench {
    async fn new() -> Self {
        let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let client = Client::new(&fake.url()).unwrap();
        Bench { fake, client }
    }

    /// With documents `{"id":"i0","n":0,…}` and so on.
    async fn with(index: &str, lines: impl Iterator<Item = String>) -> Self {
        let bench = Bench::new().await;
        let (mut config, _folder) = config(vec![bench.fake.url()], index);
        config.id = Some("id".parse().unwrap());
        load(&config, lines).await;
        bench
    }

    async fn send(&self, method: &str, path: &str, body: Value) {
        let reply = self.client.json(method, path, body).await.unwrap();
        assert!(reply.status < 300, "{method} {path}: {}", reply.json());
    }

    async fn try_verify(
        &self,
        options: &VerifyOptions,
        source: impl Source + 'static,
    ) -> Result<VerifyReport, VerifyError> {
        let transport = Transport::new(&[self.fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
        verify(Arc::new(transport), Box::new(source), options, |_| {}).await
    }

    async fn verify(&self, options: &VerifyOptions, lines: impl Iterator<Item = String>) -> VerifyReport {
        self.try_verify(options, Lines::new(lines)).await.unwrap()
    }
}

fn options(index: &str) -> VerifyOptions {
    VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new(index.parse().unwrap()) }
}

/// Missing, different, extra.
fn counts(report: &VerifyReport) -> (Option<u64>, Option<u64>, Option<u64>) {
    (report.docs_missing, report.docs_different, report.docs_extra)
}

fn ids(examples: &[Example]) -> Vec<&str> {
    examples.iter().filter_map(|example| example.id.as_deref()).collect()
}

#[tokio::test]
async fn an_index_with_the_same_documents_is_equal() {
    let bench = Bench::with("docs", documents(3_000, 3_000)).await;
    let report = bench.verify(&options("docs"), documents(3_000, 3_000)).await;
    assert_eq!(report.result, VerifyOutcome::Equal, "{report:?}");
    assert_eq!((report.docs_read, report.docs_in_index, report.docs_compared), (3_000, 3_000, Some(3_000)));
    assert_eq!((counts(&report), report.docs_replaced), ((Some(0), Some(0), Some(0)), Some(0)));
    assert!(report.not_proven.is_empty() && report.warnings.is_empty(), "{report:?}");
    assert!(
        bench.fake.requests().iter().all(|request| !request.path.contains("scroll")),
        "ids are read only if needed"
    );
    // Another writer's way to put the same.
    let other = |line: String| line.replace("\"n\":", "\"n\" : ").replace(",\"text\"", ".0, \"t\\u0065xt\"");
    let report = bench.verify(&options("docs"), documents(3_000, 3_000).map(other)).await;
    assert_eq!((report.result, counts(&report)), (VerifyOutcome::Equal, (Some(0), Some(0), Some(0))), "{report:?}");
}

/// The same with so little memory that everything is sorted on disk.
#[tokio::test]
async fn missing_different_and_extra_documents_are_found() {
    let bench = Bench::with("docs", documents(2_000, 2_000)).await;
    for id in ["i3", "i1999"] {
        bench.send("DELETE", &format!("/docs/_doc/{id}"), Value::Null).await;
    }
    bench.send("PUT", "/docs/_doc/i7", json!({"id": "i7", "n": 8, "text": "some words to fill it"})).await;
    for id in ["x1", "x2", "x3"] {
        bench.send("PUT", &format!("/docs/_doc/{id}"), json!({})).await;
    }
    for sort_memory in [64 << 20, 1_000] {
        let options = VerifyOptions { sort_memory, ..options("docs") };
        let report = bench.verify(&options, documents(2_000, 2_000)).await;
        assert_eq!(
            (report.result, counts(&report)),
            (VerifyOutcome::Different, (Some(2), Some(1), Some(3))),
            "{report:?}"
        );
        assert_eq!(ids(&report.examples.missing), ["i3", "i1999"]);
        assert_eq!(ids(&report.examples.extra), ["x1", "x2", "x3"]);
        let different = &report.examples.different[0];
        assert_eq!(
            (different.id.as_deref(), different.line, different.detail.as_deref()),
            (Some("i7"), Some(8), Some("n"))
        );
        assert_eq!((report.docs_in_index, report.warnings.len()), (2_001, 0), "{report:?}");
    }
}

#[tokio::test]
async fn the_last_document_of_an_id_counts() {
    // 5,000 documents with 1,000 ids: the index has those of the last round.
    let bench = Bench::with("docs", documents(5_000, 1_000)).await;
    let report = bench.verify(&options("docs"), documents(5_000, 1_000)).await;
    assert_eq!(report.result, VerifyOutcome::Equal, "{report:?}");
    assert_eq!((report.docs_read, report.docs_replaced, report.docs_compared), (5_000, Some(4_000), Some(1_000)));
    // Now the first round is the last one.
    let turned = documents(5_000, 1_000).collect::<Vec<_>>().into_iter().rev();
    let report = bench.verify(&options("docs"), turned).await;
    assert_eq!((report.result, report.docs_different), (VerifyOutcome::Different, Some(1_000)));
}

#[tokio::test]
async fn what_is_missing_or_different_can_be_loaded() {
    let bench = Bench::with("docs", documents(900, 300)).await;
    for id in ["i3", "i299"] {
        bench.send("DELETE", &format!("/docs/_doc/{id}"), Value::Null).await;
    }
    // What an earlier document of this id in the source has: only the last one may be written.
    bench.send("PUT", "/docs/_doc/i7", json!({"id": "i7", "n": 7, "text": "some words to fill it"})).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.ndjson");
    let without_text = Shaping { drop: vec!["text".parse().unwrap()], ..Shaping::default() };
    let options = VerifyOptions { missing: Some(path.clone()), shaping: without_text, ..options("docs") };
    let with_text = VerifyOptions { shaping: Shaping::default(), ..options.clone() };
    let report = bench.verify(&with_text, documents(900, 300)).await;
    assert_eq!(counts(&report), (Some(2), Some(1), Some(0)));
    let text = std::fs::read_to_string(&path).unwrap();
    let all: Vec<String> = documents(900, 300).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), [&all[603], &all[607], &all[899]]);

    let (mut config, _folder) = config(vec![bench.fake.url()], "docs");
    config.id = Some("id".parse().unwrap());
    load(&config, text.lines().map(str::to_owned)).await;
    let report = bench.verify(&with_text, documents(900, 300)).await;
    assert_eq!((report.result, counts(&report)), (VerifyOutcome::Equal, (Some(0), Some(0), Some(0))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "", "the file of last time would be loaded again");

    // With --drop the documents differ from those in the index; they are written with all their
    // fields.
    let report = bench.verify(&options, documents(900, 300)).await;
    assert_eq!((report.docs_different, report.examples.different[0].detail.as_deref()), (Some(300), Some("text")));
    assert!(std::fs::read_to_string(&path).unwrap().contains("words"));
}

#[tokio::test]
async fn routing_belongs_to_the_document() {
    let bench = Bench::new().await;
    bench.send("PUT", "/docs", json!({"settings": {"number_of_shards": 5}})).await;
    let (mut config, _folder) = config(vec![bench.fake.url()], "docs");
    config.id = Some("id".parse().unwrap());
    config.routing = Some("n".parse().unwrap());
    load(&config, documents(300, 300)).await;
    let routed = VerifyOptions { routing: Some("n".parse().unwrap()), ..options("docs") };
    let report = bench.verify(&routed, documents(300, 300)).await;
    assert_eq!((report.result, counts(&report)), (VerifyOutcome::Equal, (Some(0), Some(0), Some(0))), "{report:?}");
    // Without it most are looked for on other shards; that they are there is seen all the same.
    let report = bench.verify(&options("docs"), documents(300, 300)).await;
    assert_eq!((report.result, report.docs_extra), (VerifyOutcome::Different, Some(0)), "{report:?}");
    assert!(report.docs_missing > Some(100) && report.warnings[0].contains("option `routing`"), "{report:?}");
}

#[tokio::test]
async fn an_alias_of_several_indices_is_searched() {
    let bench = Bench::with("docs-1", documents(100, 100)).await;
    let (mut second, _folder) = config(vec![bench.fake.url()], "docs-2");
    second.id = Some("id".parse().unwrap());
    load(&second, documents(130, 130).skip(90)).await;
    let actions = json!({"actions": [{"add": {"index": "docs-1", "alias": "docs"}}, {"add": {"index": "docs-2", "alias": "docs"}}]});
    bench.send("POST", "/_aliases", actions).await;
    let report = bench.verify(&options("docs"), documents(130, 130)).await;
    // i90 to i99 are in both.
    assert_eq!(
        (report.result, counts(&report)),
        (VerifyOutcome::Different, (Some(0), Some(0), Some(10))),
        "{report:?}"
    );
    assert_eq!(report.examples.extra[0].detail.as_deref(), Some("2 times in the index"));
    let report = bench.verify(&options("docs"), documents(140, 140)).await;
    assert_eq!(counts(&report), (Some(10), Some(0), Some(10)), "{report:?}");
}

#[tokio::test]
async fn contents_that_an_index_changes_are_not_compared() {
    let bench = Bench::new().await;
    let mappings = json!({"_source": {"excludes": ["text"]}});
    bench.send("PUT", "/docs", json!({ "mappings": mappings })).await;
    bench.send("PUT", "/docs/_doc/i0", json!({"id": "i0", "n": 99})).await;
    let report = bench.verify(&options("docs"), documents(2, 2)).await;
    assert_eq!((report.docs_missing, report.docs_different), (Some(1), None), "{report:?}");
    assert!(report.not_proven[0].contains("docs keeps only some fields in _source"), "{report:?}");
    bench.send("PUT", "/docs/_doc/i1", json!({})).await;
    assert_eq!(bench.verify(&options("docs"), documents(2, 2)).await.result, VerifyOutcome::Equal);
}

#[tokio::test]
async fn vectors_are_asked_for_and_compared_as_float32() {
    let config = FakeConfig::default().flavor(Flavor::elasticsearch_9());
    let fake = FakeCluster::start(config).await.unwrap();
    let client = Client::new(&fake.url()).unwrap();
    let bench = Bench { fake, client };
    let field = json!({"type": "dense_vector", "dims": 2, "similarity": "l2_norm"});
    bench.send("PUT", "/docs", json!({"mappings": {"properties": {"v": field}}})).await;
    bench.send("PUT", "/docs/_doc/a", json!({"id": "a", "v": [0.1, 2.0]})).await;
    // The bytes of [1.0, -2.0], big-endian.
    bench.send("PUT", "/docs/_doc/b", json!({"id": "b", "v": "P4AAAMAAAAA="})).await;
    let lines = |second: &str| {
        let first = r#"{"id":"a","v":[0.10000000149011612,2]}"#.to_owned();
        [first, format!(r#"{{"id":"b","v":{second}}}"#)].into_iter()
    };
    let report = bench.verify(&options("docs"), lines("[1,-2]")).await;
    assert_eq!((report.result, counts(&report)), (VerifyOutcome::Equal, (Some(0), Some(0), Some(0))), "{report:?}");
    assert!(report.not_proven.is_empty(), "{report:?}");
    let report = bench.verify(&options("docs"), lines("[1,-2.5]")).await;
    assert_eq!((report.result, report.docs_different), (VerifyOutcome::Different, Some(1)), "{report:?}");
    assert_eq!(report.examples.different[0].detail.as_deref(), Some("v"));
}

#[tokio::test]
async fn a_sample_says_what_it_does_not_prove() {
    let bench = Bench::with("docs", documents(3_000, 1_000)).await;
    let sampled = VerifyOptions { sample: Some(50), ..options("docs") };
    let report = bench.verify(&sampled, documents(3_000, 1_000)).await;
    assert_eq!(
        (report.result, report.sample, report.docs_compared),
        (VerifyOutcome::Equal, Some(50), Some(50)),
        "{report:?}"
    );
    assert_eq!((counts(&report), report.not_proven.len()), ((Some(0), Some(0), None), 2), "{report:?}");
    let report = bench.verify(&sampled, documents(3_000, 1_000).map(|line| line.replace("words", "others"))).await;
    assert_eq!((report.result, report.docs_different), (VerifyOutcome::Different, Some(50)));
    // An index with more documents than the source has lines.
    let report = bench.verify(&sampled, documents(900, 900)).await;
    assert_eq!((report.result, report.docs_extra), (VerifyOutcome::Different, Some(100)));
}

#[tokio::test]
async fn without_ids_documents_are_counted() {
    let bench = Bench::with("docs", documents(50, 50)).await;
    let counted = VerifyOptions::new("docs".parse().unwrap());
    let report = bench.verify(&counted, documents(50, 50)).await;
    assert_eq!((report.result, counts(&report)), (VerifyOutcome::Equal, (None, None, None)), "{report:?}");
    assert!(report.not_proven[0].contains("only counted"));
    assert_eq!(bench.verify(&counted, documents(51, 51)).await.result, VerifyOutcome::Different);
    let sampled = VerifyOptions { sample: Some(1), ..counted };
    assert!(matches!(bench.try_verify(&sampled, Lines::new([])).await, Err(VerifyError::Usage(_))));
}

#[tokio::test]
async fn what_no_load_could_send_cannot_be_in_the_index() {
    let bench = Bench::with("docs", documents(10, 10)).await;
    let lines = documents(10, 10).chain(["{\"n\":1}".to_owned()]);
    let report = bench.verify(&options("docs"), lines).await;
    assert_eq!(
        (report.result, report.docs_rejected, report.docs_read),
        (VerifyOutcome::Different, 1, 11),
        "{report:?}"
    );
    let rejected = &report.examples.rejected[0];
    assert_eq!(rejected.line, Some(11));
    assert!(rejected.detail.as_deref().unwrap().contains("`id` (the id) is missing"), "{rejected:?}");
}

#[tokio::test]
async fn an_index_that_is_not_there_is_an_error() {
    let bench = Bench::new().await;
    let error = bench.try_verify(&options("docs"), Lines::new(documents(1, 1))).await.unwrap_err();
    assert!(error.to_string().contains("there is no such index"), "{error}");
}
