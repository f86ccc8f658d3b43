//! Loads that are cut off and go on, against the fake cluster. A crash is a runtime that is shut down in the middle.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "resume/formats.rs"]
mod formats;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use common::config;
use inrush::config::{DeadLetters, IdFrom, LoadConfig, Rate, StateFolder};
use inrush::source::{Files, FormatOptions, SourceSpec, Warnings, open};
use inrush::{Action, Loader, Report, Status, VerifiedState};
use inrush_testbed::client::Client;
use inrush_testbed::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use tempfile::TempDir;

const DOCS: u64 = 3_000;

async fn fake(faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig { faults: Faults::new(faults), ..FakeConfig::default() }).await.unwrap()
}

/// A file of documents with ids that repeat after `ids`, each of about 300 bytes, and a job that loads it in about half a second with
/// many checkpoints.
struct Job {
    folder: TempDir,
    path: PathBuf,
    format: FormatOptions,
    config: LoadConfig,
}

fn documents(count: u64, ids: u64) -> String {
    let pad = "x".repeat(250);
    (0..count)
        .map(|n| format!("{{\"id\":\"i{}\",\"n\":{n},\"t\":\"t{}\",\"pad\":\"{pad}\"}}\n", n % ids, n % 3))
        .collect()
}

impl Job {
    fn new(urls: Vec<String>, index: &str, text: &str) -> Self {
        let (mut config, folder) = config(urls, index);
        let path = folder.path().join("documents.ndjson");
        std::fs::write(&path, text).unwrap();
        config.limits.max_rate = Some(Rate::Docs(DOCS * 2));
        config.state =
            Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(folder.path().join("state")) });
        Job { folder, path, format: FormatOptions::default(), config }
    }

    fn source(&self) -> Files {
        open(&[SourceSpec::new(&self.path)], self.format.clone(), &Warnings::default()).unwrap()
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// What is left in the state folder.
    fn left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.state().join("checkpoints")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn resumed(&self) -> LoadConfig {
        LoadConfig { resume: true, ..self.config.clone() }
    }

    async fn load(&self, config: LoadConfig) -> Report {
        let report = Loader::new(config).unwrap().run(self.source()).await.unwrap();
        assert!(report.counts.add_up(), "{report:?}");
        report
    }

    async fn refusal(&self, config: LoadConfig) -> String {
        let refused = Loader::new(config).unwrap().run(self.source()).await;
        refused.map(|report| format!("not refused: {report:?}")).unwrap_err().to_string()
    }

    /// Begins the load and ends the process, so to speak, when `settled` documents are in.
    async fn crash(&self, config: LoadConfig, settled: u64) {
        let source = self.source();
        let crashed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let load = Loader::new(config).unwrap().start(Box::new(source)).await.unwrap();
                load.progress().wait_for(|progress| progress.docs_settled >= settled).await.unwrap();
                std::mem::forget(load);
            });
            runtime.shutdown_timeout(Duration::from_secs(20));
        });
        tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
    }
}

fn numbers(fake: &FakeCluster, index: &str) -> BTreeMap<String, u64> {
    fake.documents(index).iter().map(|d| (d.id.clone(), d.json()["n"].as_u64().unwrap())).collect()
}

fn expected(count: u64, ids: u64) -> BTreeMap<String, u64> {
    (0..count).map(|n| (format!("i{}", n % ids), n)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_ids_a_crash_changes_nothing() {
    for (cut, action) in [(0, Action::Index), (400, Action::Create), (1500, Action::Index), (2500, Action::Create)] {
        let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.05)]).await;
        let ids = if action == Action::Index { 1000 } else { DOCS };
        let mut job = Job::new(fake.urls(), "docs", &documents(DOCS, ids));
        job.config.id = Some("id".parse().unwrap());
        job.config.action = action;
        job.crash(job.config.clone(), cut).await;
        job.crash(job.resumed(), cut + 300).await;
        let report = job.load(job.resumed()).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!(numbers(&fake, "docs"), expected(DOCS, ids), "cut at {cut}");
        assert_eq!((report.counts.docs_read, report.counts.possible_duplicates), (DOCS, 0), "{report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
        assert_eq!(report.sources[0].docs_settled, DOCS);
        let this_run = report.this_run.unwrap();
        assert!(this_run.counts.add_up() && this_run.counts.docs_read <= DOCS - cut.min(DOCS / 2) / 2, "{this_run:?}");
        assert_eq!(job.left(), Vec::<PathBuf>::new());
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ids_nothing_is_missing_and_what_may_be_twice_is_counted() {
    for cut in [0, 700, 2000] {
        let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.05)]).await;
        let job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
        job.crash(job.config.clone(), cut).await;
        job.crash(job.resumed(), cut + 500).await;
        let report = job.load(job.resumed()).await;
        assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
        let there = fake.documents("docs");
        let different: std::collections::BTreeSet<u64> =
            there.iter().map(|d| d.json()["n"].as_u64().unwrap()).collect();
        assert_eq!(different.len() as u64, DOCS, "documents are missing");
        let twice = there.len() as u64 - DOCS;
        assert!(twice <= report.counts.possible_duplicates, "{twice} twice: {report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_leaves_a_checkpoint_and_no_doubt() {
    let fake = fake([]).await;
    let job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    let load = Loader::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled > 500).await.unwrap();
    load.stop_handle().stop();
    let first = load.finish().await;
    assert_eq!(first.status, Status::Interrupted);
    assert!(first.checkpoint.as_ref().unwrap().starts_with(job.state()), "{first:?}");
    let report = job.load(job.resumed()).await;
    assert_eq!((report.counts.docs_created, report.counts.possible_duplicates), (DOCS, 0), "{report:?}");
    assert_eq!(report.this_run.unwrap().counts.docs_created, DOCS - first.counts.docs_created);
    assert!(report.seconds > first.seconds && report.checkpoint.is_none());
    assert_eq!(fake.documents("docs").len() as u64, DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_go_on_in_the_same_file() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).containing("7,\"t\":\"t1\"")]).await;
    let mut job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    job.config.id = Some("id".parse().unwrap());
    job.config.dead_letters = DeadLetters::Folder(job.folder.path().to_owned());
    let bad: Vec<u64> = (0..DOCS).filter(|n| n % 10 == 7 && n % 3 == 1).collect();
    for cut in [200, 1200, 2200] {
        let config = if cut == 200 { job.config.clone() } else { job.resumed() };
        job.crash(config, cut).await;
    }
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, bad.len() as u64), "{report:?}");
    assert_eq!(report.errors[0].count, bad.len() as u64);
    let text = std::fs::read_to_string(report.dead_letters.unwrap()).unwrap();
    let letter =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["document"]["n"].as_u64().unwrap();
    let mut letters: Vec<u64> = text.lines().map(letter).collect();
    letters.sort_unstable();
    assert_eq!(letters, bad);
    let files = std::fs::read_dir(job.folder.path()).unwrap().map(|f| f.unwrap().file_name());
    assert_eq!(files.filter(|name| name.to_string_lossy().contains("dead-letters")).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn indices_of_placeholders_are_known_after_a_crash() {
    let fake = fake([]).await;
    let mut job = Job::new(fake.urls(), "docs-{t}", &documents(DOCS, DOCS));
    job.config.id = Some("id".parse().unwrap());
    job.crash(job.config.clone(), 1000).await;
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
    assert_eq!(report.indices.values().map(|i| i.created + i.updated).sum::<u64>(), DOCS);
    let total: usize = (0..3).map(|t| fake.documents(&format!("docs-t{t}")).len()).sum();
    assert_eq!(total as u64, DOCS);

    job.crash(job.config.clone(), 1000).await;
    let client = Client::new(&fake.url()).unwrap();
    assert_eq!(client.json("DELETE", "/docs-t1", serde_json::Value::Null).await.unwrap().status, 200);
    assert!(job.refusal(job.resumed()).await.contains("docs-t1 does not exist any more"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_since_is_refused_with_what_to_do() {
    let fake = fake([]).await;
    let mut job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    assert!(job.refusal(job.resumed()).await.contains("there is no checkpoint of this load"));

    job.crash(job.config.clone(), 500).await;
    let other = LoadConfig { routing: Some("t".parse().unwrap()), ..job.resumed() };
    assert!(job.refusal(other).await.contains("option changed: routing"));
    // Another action is another load; what there is is named.
    let other = LoadConfig { action: Action::Create, ..job.resumed() };
    let why = job.refusal(other).await;
    assert!(
        why.contains("no checkpoint") && why.contains("What can be resumed") && why.contains("action index"),
        "{why}"
    );

    let modified = std::fs::metadata(&job.path).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&job.path).unwrap();
    std::fs::write(&job.path, format!("{text}{{}}\n")).unwrap();
    let why = job.refusal(job.resumed()).await;
    assert!(why.contains("not the load that was cut off") && why.contains("bytes"), "{why}");
    std::fs::write(&job.path, text).unwrap();
    std::fs::File::options().write(true).open(&job.path).unwrap().set_modified(modified).unwrap();

    let client = Client::new(&fake.url()).unwrap();
    assert_eq!(client.json("DELETE", "/docs", serde_json::Value::Null).await.unwrap().status, 200);
    assert!(job.refusal(job.resumed()).await.contains("docs does not exist any more"));
    assert_eq!(client.json("PUT", "/docs", serde_json::json!({})).await.unwrap().status, 200);
    assert!(job.refusal(job.resumed()).await.contains("docs was deleted and made anew"));
    assert_eq!(fake.documents("docs").len(), 0, "nothing was sent");

    // Without --resume it starts over, and the old checkpoint is gone.
    let report = job.load(job.config.clone()).await;
    assert_eq!((report.status, report.counts.docs_created, report.this_run.is_none()), (Status::Complete, DOCS, true));
    assert_eq!(job.left(), Vec::<PathBuf>::new());

    job.config.state = Some(StateFolder::new(&job.path));
    let why = job.refusal(job.config.clone()).await;
    assert!(why.contains("state folder") && why.contains("--state"), "{why}");
    job.config.state = Some(StateFolder { required: false, ..StateFolder::new(&job.path) });
    assert_eq!(job.load(job.config.clone()).await.status, Status::Complete);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_whose_file_was_changed_while_it_was_read_has_nothing_to_resume() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(5).first(1)]).await;
    let text = documents(20_000, 20_000);
    let left: String = text.lines().take(14_000).map(|line| format!("{line}\n")).collect();
    let mut job = Job::new(fake.urls(), "docs", &text);
    job.config.id = Some("id".parse().unwrap());
    // So that most of it is not read when it changes.
    job.config.limits.memory = 1 << 20;
    (job.config.limits.batch_docs, job.config.limits.in_flight) = (Some(100), Some(1));
    job.config.limits.max_rate = None;
    let load = Loader::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    fake.wait_for_held(1).await;
    // As logrotate does it with `copytruncate`.
    std::fs::File::options().write(true).open(&job.path).unwrap().set_len(left.len() as u64).unwrap();
    fake.release_held();
    let report = load.finish().await;
    assert_eq!((report.status, report.checkpoint.is_none()), (Status::Failed, true), "{report:?}");
    assert!(report.failure.as_ref().is_some_and(|why| why.contains("without --resume")), "{report:?}");
    assert!(report.counts.add_up() && report.counts.docs_read < 20_000);
    assert!(job.refusal(job.resumed()).await.contains("not the load that was cut off"));
    // As it says.
    let report = job.load(job.config.clone()).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 14_000), "{report:?}");
    assert_eq!(numbers(&fake, "docs"), expected(14_000, 14_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_loaders_of_one_job_do_not_run_at_once() {
    let fake = fake([]).await;
    let job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    let first = Loader::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    let why = job.refusal(job.config.clone()).await;
    assert!(why.contains("another load") && why.contains(&std::process::id().to_string()), "{why}");
    assert_eq!(first.finish().await.counts.docs_created, DOCS);
    assert_eq!(fake.documents("docs").len() as u64, DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_fails_in_the_middle_stops_the_load_and_it_can_be_resumed() {
    let fake = fake([]).await;
    let job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    let load = Loader::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled > 500).await.unwrap();
    // Nothing can be written to a folder that is not there.
    let away = job.folder.path().join("away");
    std::fs::rename(job.state(), &away).unwrap();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    assert!(report.failure.as_ref().unwrap().contains("cannot write the checkpoint"), "{report:?}");
    assert!(report.warnings.iter().any(|w| w.contains("the last checkpoint could not be written")), "{report:?}");
    assert!(report.counts.add_up() && report.counts.docs_created < DOCS);
    assert_eq!(fake.documents("docs").len() as u64, report.counts.docs_created);
    std::fs::rename(&away, job.state()).unwrap();
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
    let twice = fake.documents("docs").len() as u64 - DOCS;
    assert!(twice <= report.counts.possible_duplicates);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_content_and_position_are_the_same_each_time() {
    let fake = fake([]).await;
    // Each line three times.
    let text = documents(500, 500).repeat(3);
    for from in [IdFrom::Content, IdFrom::Position] {
        let index = from.name();
        let mut job = Job::new(fake.urls(), index, &text);
        job.config.id_from = Some(from);
        job.crash(job.config.clone(), 500).await;
        let report = job.load(job.resumed()).await;
        assert_eq!((report.counts.docs_read, report.counts.possible_duplicates), (1500, 0), "{report:?}");
        assert_eq!(fake.documents(index).len(), 1500, "{index}: equal lines stay as many as they are");
        let report = job.load(job.config.clone()).await;
        assert_eq!((report.counts.docs_updated, fake.documents(index).len()), (1500, 1500), "{index}");
    }
    let (mut config, _folder) = config(fake.urls(), "push");
    config.id_from = Some(IdFrom::Position);
    let refused = Loader::new(config).unwrap().sender().await.err().unwrap().to_string();
    assert!(refused.contains("same order"), "{refused}");
}

/// As a job runner gives it, again and again.
fn once(job: &Job) -> LoadConfig {
    LoadConfig { once: true, ..job.config.clone() }
}

/// The same job, on a machine that has another state folder.
fn elsewhere(job: &Job, name: &str) -> LoadConfig {
    let path = job.folder.path().join(name);
    let state = job.config.state.clone().map(|state| StateFolder { path, ..state });
    LoadConfig { state, ..once(job) }
}

async fn ndjson(urls: Vec<String>, index: &str, id: bool) -> Job {
    let mut job = Job::new(urls, index, &documents(DOCS, DOCS));
    if id {
        job.config.id = Some("id".parse().unwrap());
    }
    if let Some(state) = &mut job.config.state {
        state.sign_of_life = Duration::from_millis(50);
    }
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_made_once_begins_goes_on_and_is_not_made_again() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "once", true).await;
    job.crash(once(&job), 500).await;
    let report = job.load(once(&job)).await;
    assert_eq!((report.status, report.ended_before.is_some()), (Status::Complete, false), "{report:?}");
    assert!(report.this_run.as_ref().is_some_and(|run| run.counts.docs_read < DOCS), "it goes on: {report:?}");
    assert_eq!(numbers(&fake, "once"), expected(DOCS, DOCS));

    let requests = fake.bulk_requests().len();
    for config in [once(&job), elsewhere(&job, "another-machine")] {
        let again = job.load(config).await;
        assert_eq!((again.status, again.run_id.as_str()), (Status::Complete, report.run_id.as_str()));
        assert!(again.ended_before.is_some_and(|at| at.ends_with('Z')));
        assert_eq!(again.counts.docs_read, DOCS);
    }
    assert_eq!(fake.bulk_requests().len(), requests, "nothing is sent");

    // New data are a new load, and so is an index that was deleted.
    std::fs::write(&job.path, documents(DOCS + 5, DOCS + 5)).unwrap();
    let report = job.load(once(&job)).await;
    assert_eq!((report.counts.docs_read, report.ended_before), (DOCS + 5, None));
    let client = Client::new(&fake.urls()[0]).unwrap();
    client.json("DELETE", "/once", serde_json::Value::Null).await.unwrap();
    let report = job.load(once(&job)).await;
    assert_eq!((report.counts.docs_created, report.ended_before), (DOCS + 5, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_made_once_is_refused_while_it_runs_on_another_machine() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "busy", true).await;
    let first = Loader::new(once(&job)).unwrap().start(Box::new(job.source())).await.unwrap();
    for config in [once(&job), elsewhere(&job, "another-machine")] {
        let refused = Loader::new(config).unwrap().run(job.source()).await.unwrap_err();
        assert!(matches!(&refused, inrush::LoadError::Busy(why) if why.contains("after its end")), "{refused}");
    }
    assert_eq!(first.finish().await.status, Status::Complete);
    assert!(job.load(elsewhere(&job, "another-machine")).await.ended_before.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ids_a_load_whose_checkpoint_is_lost_is_not_made_twice() {
    let fake = fake([]).await;
    for (index, with) in [("lost-ids", "ids"), ("lost", ""), ("lost-recreate", "recreate")] {
        let mut job = ndjson(fake.urls(), index, with == "ids").await;
        job.config.create.recreate = with == "recreate";
        job.crash(once(&job), 500).await;
        let new = elsewhere(&job, "empty");
        if with.is_empty() {
            let why = job.refusal(new).await;
            for expected in ["there twice", "state/checkpoints", "--recreate", "leave --once out"] {
                assert!(why.contains(expected), "{why}");
            }
            // Where the checkpoint is, it goes on.
            assert_eq!(job.load(once(&job)).await.status, Status::Complete);
        } else {
            assert_eq!(job.load(new).await.status, Status::Complete);
            assert_eq!(fake.documents(index).len() as u64, DOCS, "{with}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_index_is_made_once() {
    let fake = fake([]).await;
    let mut job = ndjson(fake.urls(), "anew", false).await;
    job.config.create.recreate = true;
    job.config.id_from = Some(IdFrom::Position);
    job.crash(once(&job), 500).await;
    let report = job.load(once(&job)).await;
    assert!(report.this_run.is_some_and(|run| run.counts.docs_read < DOCS), "what was loaded stays");
    assert_eq!(fake.documents("anew").len() as u64, DOCS);
    assert!(job.load(once(&job)).await.ended_before.is_some());
    assert_eq!(fake.documents("anew").len() as u64, DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_not_in_are_told_again_and_not_loaded_again() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).first(1)]).await;
    let job = ndjson(fake.urls(), "some", false).await;
    let first = job.load(once(&job)).await;
    assert_eq!(first.status, Status::Incomplete);
    let again = job.load(once(&job)).await;
    assert_eq!((again.status, again.counts.docs_dead_lettered), (Status::Incomplete, first.counts.docs_dead_lettered));
    assert!(again.ended_before.is_some() && again.dead_letters.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_only_once_cannot_be_loaded_once() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "stdin", true).await;
    let source = open(
        &[SourceSpec::new("-")],
        FormatOptions { format: Some(inrush::source::Format::Ndjson), ..FormatOptions::default() },
        &Warnings::default(),
    )
    .unwrap();
    let refused = Loader::new(once(&job)).unwrap().run(source).await.unwrap_err().to_string();
    assert!(refused.contains("--once needs sources that can be read again"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_keep_records_in_the_cluster_has_them_in_the_state_folder() {
    let fake = fake([Rule::new(Fault::RequestForbidden).path("inrush-loads")]).await;
    let job = ndjson(fake.urls(), "own", false).await;
    assert_eq!(job.load(once(&job)).await.ended_before, None);
    assert!(job.load(once(&job)).await.ended_before.is_some());
    assert_eq!(fake.documents("own").len() as u64, DOCS);
}
