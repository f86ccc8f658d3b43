//! Failures that a load cannot repair: a state folder that cannot be written, an index that becomes
//! read-only, credentials that expire. Each ends with a clear error and a report that adds up, and
//! the load can be resumed to exactly the right set.

use std::collections::BTreeMap;
use std::fs::{create_dir, remove_dir};
use std::path::PathBuf;
use std::time::Duration;

use inrush_core::Code;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, Report, RunningLoad, SettingsRestored, Status, VerifiedState};
use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};
use serde_json::json;
use tempfile::TempDir;

use crate::common::config;

const DOCS: u64 = 3_000;
const BLOCK: &str = "index.blocks.read_only_allow_delete";

/// A file of documents with ids, and a job that loads it in about half a second with many
/// checkpoints.
struct Job {
    fake: FakeCluster,
    folder: TempDir,
    path: PathBuf,
    config: LoadConfig,
}

impl Job {
    async fn new() -> Job {
        let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
        let (mut config, folder) = config(fake.urls(), "docs");
        let path = folder.path().join("documents.ndjson");
        let pad = "x".repeat(250);
        let text: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n},\"pad\":\"{pad}\"}}\n")).collect();
        std::fs::write(&path, text).unwrap();
        config.id = Some("id".parse().unwrap());
        config.limits.max_rate = Some(Rate::Docs(DOCS * 2));
        config.limits.pause_max = Duration::from_millis(100);
        let state = folder.path().join("state");
        config.state = Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(&state) });
        config.guard.state = Some(state);
        Job { fake, folder, path, config }
    }

    /// Begins, and returns when some documents are in and others are not.
    async fn begin(&self) -> RunningLoad {
        let load = self.start(self.config.clone()).await;
        load.progress().wait_for(|progress| progress.docs_settled > 500).await.unwrap();
        load
    }

    async fn start(&self, config: LoadConfig) -> RunningLoad {
        let source = open(&[SourceSpec::new(&self.path)], FormatOptions::default(), &Warnings::default()).unwrap();
        ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap()
    }

    /// Checks a load that could not continue: it names the reason, counts the documents that are
    /// in, and can be resumed.
    async fn ends(&self, load: RunningLoad, words: &[&str]) -> Report {
        let report = load.finish().await;
        assert_eq!(report.status, Status::Failed, "{report:?}");
        let failure = report.failure.as_ref().unwrap();
        assert!(words.iter().all(|words| failure.contains(words)), "{failure}");
        assert!(report.counts.add_up() && report.checkpoint.is_some(), "{report:?}");
        assert_eq!((report.counts.docs_dead_lettered, report.counts.docs_unknown), (0, 0), "{report:?}");
        assert_eq!(self.fake.documents("docs").len() as u64, report.counts.docs_created);
        assert!(report.counts.docs_created < DOCS);
        report
    }

    async fn resumes(&self, first: &Report) -> Report {
        let report = self.start(LoadConfig { resume: true, ..self.config.clone() }).await.finish().await;
        assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
        let this_run = report.this_run.as_ref().unwrap().counts.docs_read;
        assert!(this_run >= DOCS - first.counts.docs_read && this_run < DOCS, "{this_run} of {first:?}");
        let documents = self.fake.documents("docs");
        let there: BTreeMap<String, u64> =
            documents.iter().map(|d| (d.id.clone(), d.json()["n"].as_u64().unwrap())).collect();
        assert_eq!(there, (0..DOCS).map(|n| (format!("i{n}"), n)).collect());
        report
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_takes_no_more_checkpoints() {
    let job = Job::new().await;
    let load = job.begin().await;
    // A folder stands where the next checkpoint is written to.
    let checkpoint = std::fs::read_dir(job.folder.path().join("state/checkpoints")).unwrap();
    let checkpoint = checkpoint.map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "json");
    let written_to = checkpoint.unwrap().with_extension("tmp");
    while create_dir(&written_to).is_err() {
        tokio::task::yield_now().await;
    }
    let report = job.ends(load, &["cannot write the checkpoint", "option `resume`"]).await;
    remove_dir(&written_to).unwrap();
    job.resumes(&report).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_becomes_read_only_by_the_flood_stage() {
    let mut job = Job::new().await;
    job.config.guard.replicas_off = true;
    job.fake.call("PUT", "/docs", serde_json::json!({})).unwrap();
    let replicas = || job.fake.setting("docs", "index.number_of_replicas");
    let load = job.begin().await;
    assert_eq!(replicas().as_deref(), Some("0"));
    job.fake.set_setting("docs", BLOCK, Some("true"));
    let first = job.ends(load, &["after a pause of 0.1 s", "flood stage", "free disk space"]).await;
    assert_eq!(first.pauses.len(), 1, "{first:?}");
    job.fake.set_setting("docs", BLOCK, None);
    job.config.guard.replicas_off_confirmed = true;
    let report = job.resumes(&first).await;
    assert_ne!(report.settings.restored, SettingsRestored::No, "{:?}", report.settings);
    assert_eq!(replicas().as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_stage_that_passes_is_only_a_pause() {
    let mut job = Job::new().await;
    job.config.limits.pause_max = Duration::from_secs(600);
    let load = job.begin().await;
    job.fake.set_setting("docs", BLOCK, Some("true"));
    let mut progress = load.progress();
    progress.wait_for(|p| matches!(&p.phase, inrush_load::Phase::Paused(why) if why.contains("flood"))).await.unwrap();
    job.fake.set_setting("docs", BLOCK, None);
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, DOCS), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_expire() {
    for (fault, words) in [(Fault::RequestUnauthorized, "401"), (Fault::RequestForbidden, "403")] {
        let mut job = Job::new().await;
        job.config.guard.replicas_off = true;
        let load = job.begin().await;
        // From now on for everything, not only for documents.
        job.fake.set_faults(Faults::new([Rule::new(fault).path("/")]));
        let first = job.ends(load, &["the cluster refuses bulk requests", words]).await;
        assert_eq!(first.verified.state, VerifiedState::NotProvable, "{:?}", first.verified);
        assert_eq!(first.settings.restored, SettingsRestored::No, "{:?}", first.settings);
        assert!(first.settings.detail.contains("inrush recover docs"), "{:?}", first.settings);
        job.fake.set_faults(Faults::default());
        job.config.guard.replicas_off_confirmed = true;
        let report = job.resumes(&first).await;
        assert_eq!(report.settings.restored, SettingsRestored::Yes, "{:?}", report.settings);
        assert_eq!(job.fake.setting("docs", "index.number_of_replicas").as_deref(), Some("1"));
    }
}

/// An alias `docs` of the index `one`, and another index `two`.
async fn behind_an_alias() -> Job {
    let mut job = Job::new().await;
    job.config.limits.health_every = Duration::from_millis(5);
    job.fake.call("PUT", "/one", json!({"aliases": {"docs": {}}})).unwrap();
    job.fake.call("PUT", "/two", json!({})).unwrap();
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_is_taken_away() {
    let job = behind_an_alias().await;
    let load = job.begin().await;
    job.fake.call("DELETE", "/one/_alias/docs", serde_json::Value::Null).unwrap();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    assert!(report.failure.as_ref().unwrap().contains("[docs] is not an alias"), "{report:?}");
    assert!(job.fake.index_uuid("docs").is_none());
    assert_eq!(job.fake.documents("one").len() as u64, report.counts.docs_created);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_is_moved() {
    let job = behind_an_alias().await;
    let load = job.begin().await;
    let (from, to) =
        (serde_json::json!({"index": "one", "alias": "docs"}), serde_json::json!({"index": "two", "alias": "docs"}));
    job.fake.call("POST", "/_aliases", serde_json::json!({"actions": [{"remove": from}, {"add": to}]})).unwrap();
    let report = load.finish().await;
    assert_eq!((report.status, report.exit_code()), (Status::CheckFailed, 4), "{report:?}");
    assert!(report.verified.detail.contains("the alias docs was moved during the load"), "{:?}", report.verified);
    assert!(report.verified.detail.contains("it stands for two"), "{:?}", report.verified);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_whose_pipeline_sends_documents_elsewhere() {
    let job = behind_an_alias().await;
    job.fake.set_setting("one", "index.default_pipeline", Some("p"));
    let pipeline = json!({"processors": [{"set": {"field": "_index", "value": "two"}}]});
    let client = inrush_testbed::client::Client::new(&job.fake.url()).unwrap();
    assert_eq!(client.json("PUT", "/_ingest/pipeline/p", pipeline).await.unwrap().status, 200);
    let report = job.start(job.config.clone()).await.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(job.fake.documents("two").len() as u64, DOCS);
    assert!(report.verified.detail.contains("documents went to two"), "{:?}", report.verified);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_deleted_and_made_by_the_server() {
    let mut job = Job::new().await;
    job.config.limits.health_every = Duration::from_millis(5);
    job.config.limits.max_rate = Some(Rate::Docs(DOCS / 4));
    let load = job.begin().await;
    job.fake.call("DELETE", "/docs", serde_json::Value::Null).unwrap();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    assert!(report.failure.as_ref().unwrap().contains("docs was deleted during the load"), "{report:?}");
    assert_eq!(report.failure_code, Some(Code::IndexReplaced));
    assert!(report.counts.docs_read < DOCS, "{report:?}");
}

#[tokio::test]
async fn nodes_of_two_clusters() {
    let (one, two) = (Job::new().await, Job::new().await);
    let start = |to: Vec<String>| {
        let source = open(&[SourceSpec::new(&one.path)], FormatOptions::default(), &Warnings::default()).unwrap();
        ConfiguredLoad::new(LoadConfig { to, ..one.config.clone() }).unwrap().start(Box::new(source))
    };
    let error = start([one.fake.urls(), two.fake.urls()].concat()).await.unwrap_err().to_string();
    assert!(error.contains("the nodes are of 2 clusters"), "{error}");
    assert!(error.contains(&one.fake.uuid()) && error.contains(&two.fake.uuid()), "{error}");
    assert!(one.fake.bulk_requests().is_empty() && two.fake.bulk_requests().is_empty());
    let report = start(one.fake.urls()).await.unwrap().finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
}
