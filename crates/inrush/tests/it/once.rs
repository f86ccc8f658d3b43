//! Loads that are made once (`--once`), against the fake cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_fake::{FakeCluster, Fault, Faults, Rule};
use inrush_load::config::{IdFrom, LoadConfig, MaxErrors, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, LOADS_INDEX, LoadError, Status};
use inrush_sources::{
    Files, Fingerprint, FormatOptions, Partition, Source, SourceError, SourceInfo, SourceSpec, Step, Warnings, open,
};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

use crate::common::{expected, fake, numbers};
use crate::cut_off::{DOCS, Job, documents};

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
        state.heartbeat_every = Duration::from_millis(50);
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
    let first = ConfiguredLoad::new(once(&job)).unwrap().start(Box::new(job.source())).await.unwrap();
    for config in [once(&job), elsewhere(&job, "another-machine")] {
        let refused = ConfiguredLoad::new(config).unwrap().run(job.source()).await.unwrap_err();
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
            for expected in ["stored twice", "state/checkpoints", "option `recreate`", "leave option `once` out"] {
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
        FormatOptions { format: Some(inrush_sources::Format::Ndjson), ..FormatOptions::default() },
        &Warnings::default(),
    )
    .unwrap();
    let refused = ConfiguredLoad::new(once(&job)).unwrap().run(source).await.unwrap_err().to_string();
    assert!(refused.contains("option `once` needs sources that can be read again"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_keep_records_in_the_cluster_has_them_in_the_state_folder() {
    let fake = fake([Rule::new(Fault::RequestForbidden).path("inrush-loads")]).await;
    let job = ndjson(fake.urls(), "own", false).await;
    assert_eq!(job.load(once(&job)).await.ended_before, None);
    assert!(job.load(once(&job)).await.ended_before.is_some());
    assert_eq!(fake.documents("own").len() as u64, DOCS);
}

/// The id of the only load's record, and what it says. The index also has the loads that are under
/// way, by index.
fn found(fake: &FakeCluster) -> (String, Value) {
    let records = fake.documents(LOADS_INDEX).into_iter().filter(|record| !record.id.starts_with("writes-"));
    let records: Vec<_> = records.map(|record| (record.id.clone(), record.json())).collect();
    assert_eq!(records.len(), 1);
    records[0].clone()
}

fn record(fake: &FakeCluster) -> Value {
    found(fake).1
}

/// Another machine, or another version, writes the record.
async fn put_record(fake: &FakeCluster, record: &Value) {
    let (id, _) = found(fake);
    let client = Client::new(&fake.url()).unwrap();
    client.json("PUT", &format!("/{LOADS_INDEX}/_doc/{id}"), record.clone()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ids_a_load_whose_index_was_made_anew_is_not_made_twice() {
    let fake = fake([]).await;
    let client = Client::new(&fake.url()).unwrap();
    for (index, ids, made_anew) in [("anew", false, true), ("anew-ids", true, true), ("gone", false, false)] {
        for elsewhere in [false, true] {
            let index = format!("{index}-{elsewhere}");
            let job = ndjson(fake.urls(), &index, ids).await;
            job.crash(once(&job), 500).await;
            client.json("DELETE", &format!("/{index}"), Value::Null).await.unwrap();
            if made_anew {
                client.json("PUT", &format!("/{index}"), json!({})).await.unwrap();
            }
            let config = if elsewhere { self::elsewhere(&job, "another-machine") } else { once(&job) };
            if made_anew && !ids {
                let why = job.refusal(config).await;
                assert!(why.contains("stored twice") && why.contains("option `recreate`"), "{index}: {why}");
                assert!(elsewhere || why.contains("was deleted and created again"), "{index}: {why}");
            } else {
                assert_eq!(job.load(config).await.status, Status::Complete, "{index}");
                assert_eq!(fake.documents(&index).len() as u64, DOCS, "{index}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_indices_one_that_is_gone_does_not_make_the_others_new() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "logs-{t}", false).await;
    job.crash(once(&job), 500).await;
    Client::new(&fake.url()).unwrap().json("DELETE", "/logs-t1", Value::Null).await.unwrap();
    let why = job.refusal(once(&job)).await;
    assert!(why.contains("the index logs-t1 does not exist any more") && why.contains("stored twice"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_is_not_gone_on_from_after_another_machine_has_begun() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "two-machines", true).await;
    job.crash(once(&job), 500).await;
    let other = ConfiguredLoad::new(elsewhere(&job, "b")).unwrap().start(Box::new(job.source())).await.unwrap();
    let refused = ConfiguredLoad::new(once(&job)).unwrap().run(job.source()).await.unwrap_err();
    assert!(matches!(&refused, LoadError::Busy(why) if why.contains("is running")), "{refused}");
    let other = other.finish().await;
    assert_eq!(other.status, Status::Complete);

    let requests = fake.bulk_requests().len();
    let again = job.load(once(&job)).await;
    assert_eq!((again.run_id, again.ended_before.is_some()), (other.run_id, true));
    assert_eq!(fake.bulk_requests().len(), requests, "nothing is sent");
    assert!(job.left().iter().all(|path| path.extension().is_none_or(|e| e != "json")), "{:?}", job.left());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_another_machine_made_old_is_not_gone_on_from() {
    for ids in [false, true] {
        let fake = fake([]).await;
        let job = ndjson(fake.urls(), "old", ids).await;
        job.crash(once(&job), 500).await;
        if ids {
            job.crash(elsewhere(&job, "b"), 500).await;
            let report = job.load(once(&job)).await;
            assert_eq!((report.status, report.this_run.is_none()), (Status::Complete, true), "from the beginning");
            assert_eq!(numbers(&fake, "old"), expected(DOCS, DOCS));
        } else {
            let mine = record(&fake);
            let mut others = mine.clone();
            others["run"] = "another".into();
            put_record(&fake, &others).await;
            let why = job.refusal(once(&job)).await;
            assert!(why.contains("run another of this load began") && why.contains("stored twice"), "{why}");
            assert_eq!(record(&fake), others);
            // Where there was no other run, it goes on.
            put_record(&fake, &mine).await;
            assert!(job.load(once(&job)).await.this_run.is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_run_that_did_not_end_is_no_warning_of_this_one() {
    for case in ["other source", "no index", "no checkpoint"] {
        let fake = fake([]).await;
        let job = ndjson(fake.urls(), "earlier", true).await;
        job.crash(once(&job), 500).await;
        let config = LoadConfig { fail_on_warning: true, ..once(&job) };
        let config = match case {
            "other source" => {
                std::fs::write(&job.path, documents(7, 7)).unwrap();
                config
            }
            "no index" => {
                Client::new(&fake.url()).unwrap().json("DELETE", "/earlier", Value::Null).await.unwrap();
                config
            }
            _ => LoadConfig { state: elsewhere(&job, "b").state, ..config },
        };
        let report = job.load(config.clone()).await;
        assert_eq!((report.status, report.warnings.len()), (Status::Complete, 0), "{case}: {report:?}");
        assert!(job.load(config).await.ended_before.is_some(), "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_that_it_lives_while_it_prepares_its_index() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("/slow-master/_stats").first(1)]).await;
    let job = ndjson(fake.urls(), "slow-master", false).await;
    let (config, source) = (once(&job), job.source());
    let first = tokio::spawn(async move { ConfiguredLoad::new(config).unwrap().run(source).await });
    fake.wait_for_held(1).await;
    let refused = ConfiguredLoad::new(elsewhere(&job, "another-machine")).unwrap().run(job.source()).await.unwrap_err();
    assert!(matches!(&refused, LoadError::Busy(why) if why.contains("is running")), "{refused}");
    fake.release_held();
    assert_eq!(first.await.unwrap().unwrap().status, Status::Complete);
    assert_eq!(fake.documents("slow-master").len() as u64, DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_place_was_taken_sends_nothing_any_more() {
    for begun in [false, true] {
        let held = Rule::new(Fault::HoldBeforeApplying).path("/overtaken/_stats").first(1);
        let fake = fake((!begun).then_some(held)).await;
        let mut job = ndjson(fake.urls(), "overtaken", false).await;
        // It would take minutes.
        job.config.limits.max_rate = Some(Rate::Docs(20));
        let (config, source) = (once(&job), job.source());
        let first = tokio::spawn(async move { ConfiguredLoad::new(config).unwrap().run(source).await });
        let sent = || record(&fake)["sent"] == json!(true);
        match begun {
            false => fake.wait_for_held(1).await,
            true => {
                while fake.bulk_requests().is_empty() || !sent() {
                    tokio::task::yield_now().await
                }
            }
        }
        let mut others = record(&fake);
        others["run"] = "another".into();
        put_record(&fake, &others).await;
        fake.release_held();
        let ended = first.await.unwrap();
        if begun {
            let report = ended.unwrap();
            assert_eq!(report.status, Status::Failed);
            assert_eq!(report.failure_code, Some(inrush_core::Code::Overtaken));
            assert!(report.failure.is_some_and(|why| why.contains("another run of this load has replaced this one")));
        } else {
            assert!(matches!(&ended, Err(LoadError::Busy(_))), "{ended:?}");
            assert_eq!(fake.bulk_requests().len(), 0);
        }
        assert_eq!(record(&fake), others, "it is left to the other run");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_somebody_deletes_comes_back() {
    let fake = fake([]).await;
    let mut job = ndjson(fake.urls(), "deleted", true).await;
    job.config.limits.max_rate = Some(Rate::Docs(DOCS * 4));
    let load = ConfiguredLoad::new(once(&job)).unwrap().start(Box::new(job.source())).await.unwrap();
    let client = Client::new(&fake.url()).unwrap();
    client.json("DELETE", &format!("/{LOADS_INDEX}"), Value::Null).await.unwrap();
    assert_eq!(load.finish().await.status, Status::Complete);
    assert_eq!(record(&fake)["report"]["status"], "complete");
    assert!(job.load(elsewhere(&job, "another-machine")).await.ended_before.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_read_records_and_not_write_them_has_them_in_the_state_folder() {
    // The first question is whether there is a record.
    let forbidden = || [Rule::new(Fault::RequestForbidden).path(LOADS_INDEX).after(1)];
    let fake = fake(forbidden()).await;
    let job = ndjson(fake.urls(), "reader", false).await;
    assert_eq!(job.load(once(&job)).await.ended_before, None);
    fake.set_faults(Faults::new(forbidden()));
    assert!(job.load(once(&job)).await.ended_before.is_some());

    // The record is another user's, and of other data.
    fake.set_faults(Faults::default());
    std::fs::write(&job.path, documents(10, 10)).unwrap();
    job.load(elsewhere(&job, "another-user")).await;
    std::fs::write(&job.path, documents(20, 20)).unwrap();
    for ended in [false, true] {
        fake.set_faults(Faults::new(forbidden()));
        assert_eq!(job.load(once(&job)).await.ended_before.is_some(), ended);
    }
    assert_eq!(fake.documents("reader").len() as u64, DOCS + 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_records_is_made_only_where_it_is_missing() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "made", false).await;
    Client::new(&fake.url()).unwrap().json("PUT", &format!("/{LOADS_INDEX}"), json!({})).await.unwrap();
    fake.clear_requests();
    job.load(once(&job)).await;
    let made = format!("/{LOADS_INDEX}");
    let made = |request: &inrush_fake::RequestLog| request.method == "PUT" && request.path == made;
    assert!(!fake.requests().iter().any(made), "a user may lack the right to");
    assert_eq!(record(&fake)["report"]["status"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_refused_leaves_the_record_as_it_was() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "refused", false).await;
    let mut wrong = once(&job);
    wrong.pipeline = Some("missing".to_owned());
    let why = job.refusal(wrong.clone()).await;
    assert!(why.contains("missing"), "{why}");
    assert_eq!(fake.documents(LOADS_INDEX).len(), 0);

    let report = job.load(once(&job)).await;
    let before = record(&fake);
    job.refusal(wrong).await;
    assert_eq!(record(&fake), before);
    for config in [once(&job), elsewhere(&job, "another-machine")] {
        assert_eq!(job.load(config).await.run_id, report.run_id, "it is the end that counts");
    }
    Client::new(&fake.url()).unwrap().json("DELETE", &format!("/{LOADS_INDEX}"), Value::Null).await.unwrap();
    assert!(job.load(once(&job)).await.ended_before.is_some(), "the state folder has it, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_fails_at_its_end_goes_on() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).first(DOCS * 2 / 3)]).await;
    let mut job = ndjson(fake.urls(), "half", false).await;
    job.config.max_errors = MaxErrors::Percent(50.0);
    for _ in 0..2 {
        let report = job.load(once(&job)).await;
        assert_eq!((report.status, report.counts.docs_read), (Status::Failed, DOCS));
        assert!(report.checkpoint.is_some());
    }
    let requests = fake.bulk_requests().len();
    job.config.max_errors = MaxErrors::default();
    let report = job.load(once(&job)).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, DOCS * 2 / 3));
    assert_eq!(fake.bulk_requests().len(), requests, "it is only judged anew");
    assert!(job.load(once(&job)).await.ended_before.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_another_version_does_not_stop_loads() {
    let fake = fake([]).await;
    for (index, ids) in [("versions", true), ("versions-no-ids", false)] {
        Client::new(&fake.url()).unwrap().json("DELETE", &format!("/{LOADS_INDEX}"), Value::Null).await.unwrap();
        let job = ndjson(fake.urls(), index, ids).await;
        job.load(once(&job)).await;
        let mut other = record(&fake);
        other["report"]["plan"] = json!({"something": "new"});
        put_record(&fake, &other).await;
        if !ids {
            let why = job.refusal(once(&job)).await;
            assert!(why.contains("another version of inrush") && why.contains("stored twice"), "{why}");
            std::fs::write(&job.path, documents(7, 7)).unwrap();
        }
        let report = job.load(once(&job)).await;
        assert_eq!((report.status, report.ended_before), (Status::Complete, None), "{index}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_another_format_counts_as_no_end() {
    let fake = fake([]).await;
    for (index, ids) in [("formats", true), ("formats-no-ids", false)] {
        Client::new(&fake.url()).unwrap().json("DELETE", &format!("/{LOADS_INDEX}"), Value::Null).await.unwrap();
        let job = ndjson(fake.urls(), index, ids).await;
        job.load(once(&job)).await;
        assert_eq!(record(&fake)["format"], 1);
        let other = json!({"format": 2, "something": "new"});
        put_record(&fake, &other).await;
        if ids {
            let report = job.load(once(&job)).await;
            assert_eq!((report.status, report.ended_before), (Status::Complete, None));
            assert_eq!(record(&fake)["format"], 1);
        } else {
            let why = job.refusal(once(&job)).await;
            assert!(why.contains("format 2, expected format 1") && why.contains("stored twice"), "{why}");
            assert!(why.contains(&format!("delete {LOADS_INDEX}/{} and ", found(&fake).0)), "{why}");
            assert_eq!(record(&fake), other, "it is left as it was");
        }
    }
}

/// Files that write down what is asked of them.
struct Watched(Files, Arc<Mutex<Vec<&'static str>>>);

impl Watched {
    fn note(&self, what: &'static str) {
        self.1.lock().unwrap().push(what);
    }
}

impl Source for Watched {
    fn describe(&self) -> SourceInfo {
        self.0.describe()
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        self.note("chunk");
        self.0.next(want_bytes)
    }

    fn resume(&mut self, settled: &BTreeMap<Partition, u64>) {
        self.note("go on");
        self.0.resume(settled);
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.0.fingerprints()
    }

    fn check_all(&self) -> Result<(), SourceError> {
        self.note("check");
        self.0.check_all()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_told_where_to_go_on_before_it_is_read() {
    let fake = fake([]).await;
    let mut job = ndjson(fake.urls(), "in-order", true).await;
    job.config.create.recreate = true;
    job.crash(once(&job), 500).await;
    let asked = Arc::default();
    let source = Watched(job.source(), Arc::clone(&asked));
    let report = ConfiguredLoad::new(once(&job)).unwrap().run(source).await.unwrap();
    assert_eq!(report.status, Status::Complete);
    assert_eq!(asked.lock().unwrap()[..2], ["go on", "chunk"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_ready_is_begun_once() {
    let fake = fake([]).await;
    let mut job = ndjson(fake.urls(), "checked", true).await;
    job.config.create.recreate = true;
    let asked = Arc::default();
    let source = Box::new(Watched(job.source(), Arc::clone(&asked)));
    let ready = ConfiguredLoad::new(job.config.clone()).unwrap().ready(source).await.unwrap();
    let report = ready.start().await.unwrap().finish().await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS));
    assert_eq!(asked.lock().unwrap().iter().filter(|asked| **asked == "check").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_loads_that_ended_long_ago_are_removed() {
    let fake = fake([]).await;
    let job = ndjson(fake.urls(), "records", true).await;
    job.load(once(&job)).await;
    let client = Client::new(&fake.urls()[0]).unwrap();
    let long_ago = "2020-02-29T12:00:00Z";
    for (id, record) in [
        ("ended", json!({"at": long_ago, "report": {"status": "complete"}})),
        ("cut-off", json!({"at": long_ago, "report": null})),
        ("later", json!({"at": "2999-01-01T00:00:00Z", "report": {"status": "complete"}})),
        ("silent", json!({"running": {"a": {"seen_s": 1_500_000_000}}})),
        ("lives", json!({"running": {"a": {"seen_s": 1_500_000_000}, "b": {"seen_s": 99_999_999_999_u64}}})),
        ("other", json!({"of": "another version"})),
    ] {
        client.json("PUT", &format!("/{LOADS_INDEX}/_doc/{id}?refresh=true"), record).await.unwrap();
    }
    // The load that ended just now is another one's business, so it is known again.
    assert!(job.load(once(&job)).await.ended_before.is_some());
    let new = ndjson(fake.urls(), "another", true).await;
    assert_eq!(new.load(once(&new)).await.ended_before, None);
    let mut left: Vec<String> = fake.documents(LOADS_INDEX).into_iter().map(|record| record.id).collect();
    left.retain(|id| ["ended", "cut-off", "later", "silent", "lives", "other"].contains(&id.as_str()));
    left.sort();
    assert_eq!(left, ["cut-off", "later", "lives", "other"]);
    assert!(job.load(once(&job)).await.ended_before.is_some());
}
