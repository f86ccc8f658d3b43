//! Elastic's managed `_bulk` endpoint, as the fake imitates it.

use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig, Flavor, RequestLog};
use inrush_load::config::LoadConfig;
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{Lines, config, load};
use crate::cut_off::{DOCS, Job};

const STREAM: &str = "logs-app-default";

/// A load through the endpoint, which answers with this status, and its cluster.
async fn bench(status: u16) -> (FakeCluster, LoadConfig, TempDir) {
    let fake =
        FakeCluster::start(FakeConfig::default().flavor(Flavor::elasticsearch_8()).managed(status)).await.unwrap();
    let template = json!({"index_patterns": ["logs-*-*"], "data_stream": {}, "template": {"mappings": {"properties": {
        "n": {"type": "long"}}}}});
    fake.call("PUT", "/_index_template/logs", template).unwrap();
    let (mut config, folder) = config(vec![format!("{}/_es", fake.url())], STREAM);
    config.count_at = Some(fake.url());
    config.finish.wait_timeout = Duration::ZERO;
    (fake, config, folder)
}

/// Documents of a data stream.
fn logs(count: u64) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("{{\"@timestamp\":\"2026-01-31T10:00:00Z\",\"n\":{n}}}"))
}

/// Requests to the endpoint that are neither questions nor documents.
fn changes(fake: &FakeCluster) -> Vec<String> {
    let is_change = |request: &&RequestLog| {
        let path = request.path.split('?').next().unwrap_or_default();
        path.starts_with("/_es") && request.method != "GET" && path != format!("/_es/{STREAM}/_bulk")
    };
    fake.requests().iter().filter(is_change).map(|request| request.path.clone()).collect()
}

async fn refusal(config: &LoadConfig) -> String {
    ConfiguredLoad::new(config.clone()).unwrap().run(Lines::new(logs(3))).await.unwrap_err().to_string()
}

fn is_told(report: &Report) -> bool {
    report.warnings.iter().any(|warning| warning.contains("managed _bulk endpoint"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_count_of_the_cluster_is_the_proof() {
    for status in [200, 202] {
        let (fake, config, _folder) = bench(status).await;
        let report = load(&config, logs(300)).await;
        assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, 300), "{report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{}", report.verified.detail);
        assert!(is_told(&report), "{:?}", report.warnings);
        assert_eq!(fake.documents(STREAM).len(), 300);
        assert_eq!(changes(&fake), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_the_cluster_refuses_are_missed_by_the_count() {
    let (fake, config, _folder) = bench(200).await;
    let bad = ["many", "more"].map(|n| format!("{{\"@timestamp\":\"2026-01-31T10:00:00Z\",\"n\":\"{n}\"}}"));
    let report = load(&config, logs(50).chain(bad)).await;
    assert_eq!((report.counts.docs_indexed, fake.documents(STREAM).len()), (52, 50), "the endpoint tells no error");
    assert_eq!((report.status, report.verified.state), (Status::CheckFailed, VerifiedState::No), "{report:?}");
    assert!(report.verified.detail.contains("failure store"), "{}", report.verified.detail);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_count_nothing_is_proven() {
    let (_fake, mut config, _folder) = bench(200).await;
    config.count_at = None;
    let report = load(&config, logs(20)).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::NotProvable), "{report:?}");
    assert!(report.verified.detail.contains("_count"), "{}", report.verified.detail);
    config.verify = false;
    assert_eq!(load(&config, logs(20)).await.verified.state, VerifiedState::Off);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_goes_on_is_compared_with_the_count_before_its_first_run() {
    for refused in [0, 1] {
        let (fake, config, _folder) = bench(200).await;
        let bad = (0..refused).map(|_| "{\"@timestamp\":\"2026-01-31T10:00:00Z\",\"n\":\"many\"}".to_owned());
        let text: String = bad.chain(logs(DOCS - refused)).map(|line| line + "\n").collect();
        let mut job = Job::new(config.to.clone(), STREAM, &text);
        (job.config.count_at, job.config.finish.wait_timeout) = (config.count_at, Duration::ZERO);
        let first = ConfiguredLoad::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
        first.progress().wait_for(|progress| progress.docs_settled > 500).await.unwrap();
        first.stop_handle().stop();
        let first = first.finish().await;
        assert_eq!(first.status, Status::Interrupted, "{first:?}");
        let report = job.load(job.resumed()).await;
        assert!(report.this_run.as_ref().unwrap().counts.docs_indexed < DOCS, "{report:?}");
        assert_eq!(report.counts.docs_indexed, DOCS, "the endpoint tells no error");
        assert_eq!(fake.documents(STREAM).len() as u64, DOCS - refused);
        let expected = match refused {
            0 => (Status::Complete, VerifiedState::Yes),
            _ => (Status::CheckFailed, VerifiedState::No),
        };
        assert_eq!((report.status, report.verified.state), expected, "{}", report.verified.detail);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_elasticsearch_is_no_endpoint() {
    // It answers as the endpoint does, also to the question about the health.
    let fake = FakeCluster::start(FakeConfig::default().flavor(Flavor::opensearch_3()).managed(200)).await.unwrap();
    let (mut config, _folder) = config(vec![format!("{}/_es", fake.url())], STREAM);
    config.limits.retries = 0;
    let ended = ConfiguredLoad::new(config).unwrap().run(Lines::new(logs(3))).await;
    assert!(!matches!(ended, Ok(report) if is_told(&report)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_endpoint_does_not_take_is_refused_before_the_first_document() {
    let (fake, config, _folder) = bench(200).await;
    let mut trips = config.clone();
    trips.index = "trips".parse().unwrap();
    assert!(refusal(&trips).await.contains("never indexes them"));
    let mut delete = config.clone();
    delete.action = inrush_core::Action::Delete;
    delete.id = Some("id".parse().unwrap());
    assert!(refusal(&delete).await.contains("action=delete"));
    let mut recreate = config.clone();
    recreate.create.recreate = true;
    assert!(refusal(&recreate).await.contains("recreate"));
    assert!(fake.bulk_requests().is_empty() && fake.documents(STREAM).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_behind_the_same_path_is_a_cluster() {
    // A gateway that passes all paths on answers the question about the cluster's health.
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    fake.set_reply("/_es/_cluster/health", 200, json!({"status": "green"}));
    let (mut config, _folder) = config(vec![format!("{}/_es", fake.url())], STREAM);
    config.limits.retries = 0;
    let ended = ConfiguredLoad::new(config).unwrap().run(Lines::new(logs(3))).await;
    assert!(!matches!(ended, Ok(report) if is_told(&report)));
}
