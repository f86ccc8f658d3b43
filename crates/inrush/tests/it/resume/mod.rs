//! Loads that are cut off and resumed, against the fake cluster. A crash is a runtime that is shut
//! down in the middle.

mod formats;
mod recorded;

use std::path::PathBuf;

use inrush_core::{Action, Code};
use inrush_fake::{Fault, Rule};
use inrush_load::config::{DeadLetters, IdFrom, LoadConfig, StateFolder};
use inrush_load::{ConfiguredLoad, Status, VerifiedState};
use inrush_testbed::client::Client;

use crate::common::{config, expected, fake, numbers};
use crate::cut_off::{DOCS, Job, documents};

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
async fn an_alias_that_was_moved_before_the_load_went_on() {
    let fake = fake([]).await;
    let mut job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    job.config.id = Some("id".parse().unwrap());
    fake.call("PUT", "/one", serde_json::json!({"aliases": {"docs": {}}})).unwrap();
    fake.call("PUT", "/two", serde_json::json!({})).unwrap();
    job.crash(job.config.clone(), 400).await;
    let (from, to) =
        (serde_json::json!({"index": "one", "alias": "docs"}), serde_json::json!({"index": "two", "alias": "docs"}));
    fake.call("POST", "/_aliases", serde_json::json!({"actions": [{"remove": from}, {"add": to}]})).unwrap();
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.verified.state), (Status::CheckFailed, VerifiedState::No), "{report:?}");
    for words in ["the alias docs was moved", "it stands for two", " in one)"] {
        assert!(report.verified.detail.contains(words), "{words}: {:?}", report.verified);
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
    let load = ConfiguredLoad::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
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
        why.contains("no checkpoint") && why.contains("loads that can be resumed") && why.contains("action index"),
        "{why}"
    );

    let modified = std::fs::metadata(&job.path).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&job.path).unwrap();
    std::fs::write(&job.path, format!("{text}{{}}\n")).unwrap();
    let why = job.refusal(job.resumed()).await;
    assert!(why.contains("not the interrupted load") && why.contains("bytes"), "{why}");
    std::fs::write(&job.path, text).unwrap();
    std::fs::File::options().write(true).open(&job.path).unwrap().set_modified(modified).unwrap();

    let client = Client::new(&fake.url()).unwrap();
    assert_eq!(client.json("DELETE", "/docs", serde_json::Value::Null).await.unwrap().status, 200);
    assert!(job.refusal(job.resumed()).await.contains("docs does not exist any more"));
    assert_eq!(client.json("PUT", "/docs", serde_json::json!({})).await.unwrap().status, 200);
    assert!(job.refusal(job.resumed()).await.contains("docs was deleted and created again"));
    assert_eq!(fake.documents("docs").len(), 0, "nothing was sent");

    // Without --resume it starts over, and the old checkpoint is gone.
    let report = job.load(job.config.clone()).await;
    assert_eq!((report.status, report.counts.docs_created, report.this_run.is_none()), (Status::Complete, DOCS, true));
    assert_eq!(job.left(), Vec::<PathBuf>::new());

    job.config.state = Some(StateFolder::new(&job.path));
    let why = job.refusal(job.config.clone()).await;
    assert!(why.contains("state folder") && why.contains("option `state`"), "{why}");
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
    let load = ConfiguredLoad::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    fake.wait_for_held(1).await;
    // As logrotate does it with `copytruncate`.
    std::fs::File::options().write(true).open(&job.path).unwrap().set_len(left.len() as u64).unwrap();
    fake.release_held();
    let report = load.finish().await;
    assert_eq!((report.status, report.checkpoint.is_none()), (Status::Failed, true), "{report:?}");
    assert!(report.failure.as_ref().is_some_and(|why| why.contains("without option `resume`")), "{report:?}");
    assert!(report.counts.add_up() && report.counts.docs_read < 20_000);
    assert!(job.refusal(job.resumed()).await.contains("not the interrupted load"));
    // As it says.
    let report = job.load(job.config.clone()).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 14_000), "{report:?}");
    assert_eq!(numbers(&fake, "docs"), expected(14_000, 14_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_loaders_of_one_job_do_not_run_at_once() {
    let fake = fake([]).await;
    let job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    let first = ConfiguredLoad::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    let why = job.refusal(job.config.clone()).await;
    assert!(why.contains("another load") && why.contains(&std::process::id().to_string()), "{why}");
    assert_eq!(first.finish().await.counts.docs_created, DOCS);
    assert_eq!(fake.documents("docs").len() as u64, DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_fails_in_the_middle_stops_the_load_and_it_can_be_resumed() {
    let fake = fake([]).await;
    let job = Job::new(fake.urls(), "docs", &documents(DOCS, DOCS));
    let load = ConfiguredLoad::new(job.config.clone()).unwrap().start(Box::new(job.source())).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled > 500).await.unwrap();
    // Nothing can be written to a folder that is not there.
    let away = job.folder.path().join("away");
    std::fs::rename(job.state(), &away).unwrap();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    assert!(report.failure.as_ref().unwrap().contains("cannot write the checkpoint"), "{report:?}");
    assert_eq!(report.failure_code, Some(Code::CheckpointFailed));
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
    let refused = ConfiguredLoad::new(config).unwrap().sender().await.err().unwrap().to_string();
    assert!(refused.contains("a fixed order"), "{refused}");
}
