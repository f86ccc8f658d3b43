//! Loads that are made once (`--once`), against the fake cluster.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/job.rs"]
mod job;

use std::time::Duration;

use inrush::config::{IdFrom, LoadConfig, StateFolder};
use inrush::source::{FormatOptions, SourceSpec, Warnings, open};
use inrush::{LoadError, Loader, Status};
use inrush_testbed::client::Client;
use inrush_testbed::{Fault, Rule};
use job::{DOCS, Job, documents, expected, fake, numbers};

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
        assert!(matches!(&refused, LoadError::Busy(why) if why.contains("after its end")), "{refused}");
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
