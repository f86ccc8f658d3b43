//! The engine against the fake cluster, with faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inrush_core::{Action, DocMeta};
use inrush_fake::{Auth, FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_load::config::{IndexPattern, MaxErrors, OnConflict, Replies};
use inrush_load::{ConfiguredLoad, Phase, RunningLoad, Status, VerifiedState};
use inrush_sources::push::Document;
use inrush_sources::{Chunk, Source, SourceError, SourceInfo, Step};
use serde_json::json;

use crate::common::{self, Lines, config, documents, expected, fake, load, numbers};

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_in_and_counted() {
    let fake = fake([]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let report = load(&config, documents(1000, 1000)).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!((report.counts.docs_read, report.counts.docs_created), (1000, 1000));
    assert_eq!(fake.documents("docs").len(), 1000);
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert!(report.counts.requests > 10);
    assert_eq!(report.dead_letters, None);
    assert_eq!(report.sources[0].docs_settled, 1000);
    // Once more: the index holds twice as many, and the count before is part of the sum.
    let report = load(&config, documents(10, 10)).await;
    assert!(report.verified.detail.contains("1000 before + 10 created"), "{:?}", report.verified);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_with_ids_nothing_twice_and_the_last_one_wins() {
    let troubles = [
        Fault::ItemRejected,
        Fault::ItemUnavailable,
        Fault::RequestRejected,
        Fault::BadGateway,
        Fault::Unavailable,
        Fault::GatewayTimeoutAfterApplying,
        Fault::BreakerTransient,
        Fault::ResetBeforeBody,
        Fault::ResetBeforeApplying,
        Fault::ResetAfterApplying,
        Fault::ReplyTruncated,
        Fault::ReplyNotJson,
        Fault::ReplyItemMissing,
        Fault::ReplyItemExtra,
    ];
    for fault in troubles {
        let share = if fault.is_item() { 0.3 } else { 0.2 };
        let fake = fake([Rule::new(fault).probability(share)]).await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        config.id = Some("id".parse().unwrap());
        let report = load(&config, documents(600, 200)).await;
        assert_eq!(report.status, Status::Complete, "{fault:?}: {report:?}");
        assert_eq!(numbers(&fake, "docs"), expected(600, 200), "{fault:?}");
        assert_eq!(report.counts.possible_duplicates, 0, "{fault:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{fault:?}: {:?}", report.verified);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ids_duplicates_are_possible_and_counted() {
    let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.2)]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let report = load(&config, documents(1000, 1000)).await;
    let there = fake.documents("docs").len() as u64;
    let extra = there - 1000;
    assert!(extra > 0 && extra <= report.counts.possible_duplicates, "{extra}: {report:?}");
    // What nothing but copies explains.
    assert_eq!(report.verified.duplicates, extra, "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(report.status, Status::Complete);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_refused_are_dead_letters_with_their_place() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).containing("\"n\":77,")]).await;
    let (config, folder) = config(fake.urls(), "docs");
    let report = load(&config, documents(200, 200)).await;
    assert_eq!(report.status, Status::Incomplete);
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (199, 1));
    let text = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    let letter: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(letter["position"]["doc"], 77);
    assert_eq!(letter["position"]["line"], 78);
    assert_eq!(letter["document"]["n"], 77);
    assert_eq!(letter["error"]["status"], 400);
    assert_eq!(report.errors[0].count, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_spoils_its_request_is_found() {
    let fake = fake([Rule::new(Fault::RequestBadRequest).containing("\"n\":13,")]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let report = load(&config, documents(200, 200)).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (199, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_to_be_left_alone_is() {
    for fault in [Fault::RequestRejected, Fault::Unavailable] {
        let fake = fake([Rule::new(fault).first(1).retry_after_s(1)]).await;
        let (config, _folder) = config(fake.urls(), "docs");
        let report = load(&config, documents(10, 10)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 10), "{fault:?}: {report:?}");
        // The wait of its own would be 2 ms.
        assert!(report.seconds >= 1.0, "{fault:?}: {report:?}");
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_stay_below_the_servers_limit_once_it_is_known() {
    for fault in [Fault::RequestTooLarge, Fault::RequestBeyondPressure, Fault::BreakerPermanent] {
        let fake = fake([Rule::new(fault).min_body_bytes(1500)]).await;
        let (config, _folder) = config(fake.urls(), "docs");
        let report = load(&config, documents(300, 300)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300), "{fault:?}");
        // A breaker may be full because of other programs, so retries are not limited for ever.
        assert_eq!(report.plan.batch_bytes < 2000, fault != Fault::BreakerPermanent, "{:?}", report.plan);
        assert_eq!(report.counts.possible_duplicates, 0);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_breaker_that_others_hold_open_makes_no_dead_letters() {
    // More than it takes to come down to one document.
    let fake = fake([Rule::new(Fault::BreakerPermanent).first(12)]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.limits.in_flight = Some(1);
    let report = load(&config, documents(300, 300)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300), "{report:?}");
    assert!(report.counts.rejected_items > 0);
    fake.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_the_index_pause_and_then_stop() {
    for (fault, words) in [
        (Fault::ItemFloodStage, "flood stage"),
        (Fault::ItemWriteBlock, "blocked for writes"),
        (Fault::ItemIndexGone, "does not exist any more"),
    ] {
        let passing = fake([Rule::new(fault).first(150)]).await;
        let (config, _folder) = config(passing.urls(), "docs");
        let report = load(&config, documents(300, 300)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300), "{fault:?}: {report:?}");

        let lasting = fake([Rule::new(fault).after(100)]).await;
        let (mut config, _folder) = common::config(lasting.urls(), "docs");
        config.limits.pause_max = Duration::from_millis(300);
        let report = load(&config, documents(3000, 3000)).await;
        assert_eq!(report.status, Status::Failed, "{fault:?}");
        assert!(report.failure.as_ref().unwrap().contains(words), "{report:?}");
        assert_eq!(report.counts.docs_dead_lettered, 0);
        assert_eq!(fake_len(&lasting), report.counts.docs_created);
        assert!(report.counts.docs_given_back > 0);
    }
}

fn fake_len(fake: &FakeCluster) -> u64 {
    fake.documents("docs").len() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_conflict_follows_the_choice() {
    for (on_conflict, status) in [
        (OnConflict::Fail, Status::Incomplete),
        (OnConflict::Skip, Status::Complete),
        (OnConflict::Compare, Status::Incomplete),
    ] {
        let fake = fake([]).await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        config.id = Some("id".parse().unwrap());
        config.action = Action::Create;
        load(&config, documents(5, 5)).await;
        // Five are there, one of them with other content.
        let mut again: Vec<String> = documents(10, 10).collect();
        again[3] = again[3].replace("words", "other words");
        let (mut config, _folder2) = common::config(fake.urls(), "docs");
        config.id = Some("id".parse().unwrap());
        config.action = Action::Create;
        config.on_conflict = on_conflict;
        let report = load(&config, again).await;
        assert_eq!(report.status, status, "{report:?}");
        let c = &report.counts;
        let found = (c.docs_created, c.docs_dead_lettered, c.docs_conflicting, c.docs_already_there);
        let expected = match on_conflict {
            OnConflict::Fail => (5, 5, 0, 0),
            OnConflict::Skip => (5, 0, 5, 0),
            OnConflict::Compare => (5, 1, 0, 4),
        };
        assert_eq!(found, expected, "{on_conflict:?}");
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_upserts_and_deletes() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    config.action = Action::Upsert;
    let report = load(&config, documents(10, 5)).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_updated), (5, 5), "{report:?}");
    let report = load(&config, documents(10, 10).skip(5)).await;
    assert_eq!((report.counts.docs_noop, report.counts.docs_created), (0, 5));
    let report = load(&config, documents(10, 10).skip(5)).await;
    assert_eq!(report.counts.docs_noop, 5);
    config.action = Action::Delete;
    let report = load(&config, documents(12, 12)).await;
    assert_eq!((report.counts.docs_deleted, report.counts.docs_not_found), (10, 2));
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes));
    config.action = Action::Update;
    let report = load(&config, documents(2, 2)).await;
    assert_eq!((report.status, report.errors[0].kind.as_str()), (Status::Incomplete, "document_missing_exception"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_document_can_name_its_index() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "logs-{tenant}");
    config.create.patterns = vec![IndexPattern {
        pattern: "logs-big*".into(),
        mapping: None,
        settings: None,
        shards: Some(3),
        replicas: Some(0),
    }];
    let tenants = ["big1", "small", "big2", "Bad"];
    let lines = (0..200).map(|n| format!("{{\"tenant\":\"{}\",\"n\":{n}}}", tenants[n % 4]));
    let report = load(&config, lines).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (150, 50), "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(fake.documents("logs-big1").len(), 50);
    assert_eq!(fake.setting("logs-big1", "index.number_of_shards").as_deref(), Some("3"));
    assert_eq!(report.indices["logs-small"].created, 50);
    assert_eq!(report.errors[0].kind, "bad_index_name");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_document_names_may_be_an_alias_and_then_nothing_can_be_proven() {
    let fake = fake([]).await;
    let client = inrush_testbed::client::Client::new(&fake.url()).unwrap();
    let body = serde_json::json!({"aliases": {"logs-a": {}}});
    assert_eq!(client.json("PUT", "/behind", body).await.unwrap().status, 200);
    let (config, _folder) = config(fake.urls(), "logs-{tenant}");
    let report = load(&config, ["{\"tenant\":\"a\"}".to_owned(), "{\"tenant\":\"b\"}".to_owned()]).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::NotProvable), "{report:?}");
    assert!(report.verified.detail.contains("went to behind"), "{:?}", report.verified);
    assert_eq!(fake.documents("behind").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_can_load_into_indices_that_documents_name() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "logs-{tenant}");
    let line = || ["{\"tenant\":\"a\"}".to_owned()];
    load(&config, line()).await;
    fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("_refresh")]));
    let report = load(&config, line()).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::NotProvable), "{report:?}");
    config.verify = false;
    fake.clear_requests();
    let report = load(&config, line()).await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Off), "{report:?}");
    assert!(fake.requests().iter().all(|request| !request.path.contains("_refresh")), "nothing is counted for nobody");
    assert_eq!(fake.documents("logs-a").len(), 3);
}

/// Lines, with the number of those that were read.
struct Watched(common::Lines, Arc<AtomicU64>);

impl Source for Watched {
    fn describe(&self) -> SourceInfo {
        self.0.describe()
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        let step = self.0.next(want_bytes)?;
        if let Step::Chunk(Chunk::Docs(block)) = &step {
            self.1.fetch_add(block.data.len() as u64, Ordering::Relaxed);
        }
        Ok(step)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_its_index_counts_as_memory() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("/logs-a").first(1)]).await;
    let (config, _folder) = config(fake.urls(), "logs-{tenant}");
    let read = Arc::new(AtomicU64::new(0));
    let lines = (0..20_000).map(|n| format!("{{\"tenant\":\"a\",\"n\":{n},\"text\":\"some words to fill it\"}}"));
    let source = Watched(common::Lines::new(lines), Arc::clone(&read));
    let memory = config.limits.memory as u64;
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    fake.wait_for_held(1).await;
    // The loop goes round a few times more.
    let mut progress = load.progress();
    for _ in 0..3 {
        progress.changed().await.unwrap();
    }
    let ahead = read.load(Ordering::Relaxed);
    assert!(ahead < 2 * memory, "{ahead} bytes were read ahead, and {memory} are allowed");
    fake.release_held();
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 20_000), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_away_is_set_aside() {
    let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    fake.nodes()[1].kill().await;
    let report = load(&config, documents(500, 500)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 500), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_drains_and_gives_back() {
    let fake = fake([]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let endless = common::Lines::new(documents(50_000, 50_000));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(endless)).await.unwrap();
    let mut progress = load.progress();
    progress.wait_for(|p| p.docs_settled > 0).await.unwrap();
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Interrupted);
    assert_eq!(report.counts.docs_created, fake_len(&fake));
    assert!(report.counts.docs_created < 50_000);
    assert_eq!(report.verified.state, VerifiedState::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_load_does_not_wait_long_for_a_cluster_that_does_not_count() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("_refresh")]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.limits.grace = Duration::from_millis(50);
    let endless = common::Lines::new(documents(50_000, 50_000));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(endless)).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!((report.status, report.verified.state), (Status::Interrupted, VerifiedState::NotProvable));
    assert!(report.verified.detail.contains("did not return a count"), "{:?}", report.verified);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_feeds_a_load() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).ids(["7"])]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let mut loader = ConfiguredLoad::new(config).unwrap();
    let mut failures = loader.failures(1 << 20);
    let load = loader.sender().await.unwrap();
    let tasks: Vec<_> = (0..4)
        .map(|task| {
            let sender = load.sender();
            tokio::spawn(async move {
                for n in 0..100 {
                    let id = (task * 100 + n).to_string();
                    let meta = DocMeta::default().with_id(id);
                    let document = Document { body: format!("{{\"n\":{n}}}").into(), meta };
                    sender.send(document).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let report = load.finish().await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (399, 1), "{report:?}");
    assert_eq!(failures.recv().await.unwrap().letter.status, 400);
    assert!(failures.recv().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_beyond_the_limit_are_dropped_and_counted() {
    let fake = fake([Rule::new(Fault::ItemBadRequest)]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.max_errors = MaxErrors::Count(u64::MAX);
    let mut loader = ConfiguredLoad::new(config).unwrap();
    let (mut failures, mut settlements) = (loader.failures(10_000), loader.settlements(10_000));
    let source = Lines::new(documents(2000, 2000));
    let report = loader.start(Box::new(source)).await.unwrap().finish().await;
    assert_eq!(report.counts.docs_dead_lettered, 2000, "{report:?}");
    let mut received = 0;
    while failures.recv().await.is_some() {
        received += 1;
    }
    assert!((1..100).contains(&received), "{received}");
    assert_eq!(received + failures.dropped(), 2000);
    assert!(settlements.recv().await.is_none() && settlements.dropped() == 0);
    let file = std::fs::read_to_string(report.dead_letters.unwrap()).unwrap();
    assert_eq!(file.lines().count(), 2000, "the file has all");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_receives_the_end_of_each_document() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).ids(["i7"])]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    let mut loader = ConfiguredLoad::new(config).unwrap();
    let (mut failures, mut settlements) = (loader.failures(1 << 20), loader.settlements(1 << 20));
    let report = loader.start(Box::new(Lines::new(documents(300, 300)))).await.unwrap().finish().await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (299, 1), "{report:?}");
    let mut settled = 0;
    while let Some(settlement) = settlements.recv().await {
        settled += settlement.docs;
    }
    assert_eq!((settled, failures.try_recv().map(|failure| failure.letter.status)), (299, Some(400)));
}

#[tokio::test(flavor = "multi_thread")]
async fn hopeless_runs_end_early() {
    let fake = fake([Rule::new(Fault::ItemBadRequest)]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.max_errors = MaxErrors::Count(50);
    let report = load(&config, documents(5000, 5000)).await;
    assert_eq!(report.status, Status::Failed);
    assert!(report.counts.docs_dead_lettered < 1000, "{report:?}");
    assert!(report.failure.unwrap().contains("option `max_errors`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn how_many_failed_is_said_when_all_of_them_are_known() {
    let fake = fake([Rule::new(Fault::ItemBadRequest)]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    // The first dead letter ends it, and its request has many more.
    config.max_errors = MaxErrors::Count(0);
    (config.limits.batch_bytes, config.limits.memory) = (Some(200_000), 4_000_000);
    config.limits.linger = Duration::from_secs(60);
    let report = load(&config, documents(5000, 5000)).await;
    let counts = &report.counts;
    assert_eq!((report.status, counts.docs_dead_lettered), (Status::Failed, counts.docs_read), "{report:?}");
    assert!(counts.docs_read > 1000, "{report:?}");
    let said = format!("{0} of {0} documents could not be loaded", counts.docs_read);
    assert!(report.failure.as_ref().unwrap().starts_with(&said), "{report:?}");
}

/// Waits until it is said what an ending load waits for.
async fn tells_what_it_waits_for(load: &RunningLoad, why: &str) {
    let phase = load.progress().wait_for(|p| matches!(p.phase, Phase::Draining(_))).await.unwrap().phase.clone();
    let Phase::Draining(said) = phase else { panic!("{phase:?}") };
    assert!(said.contains(why), "{said}");
    assert!(said.ends_with("; waiting up to 20 s for requests in flight"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_ends_early_says_what_it_waits_for() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).first(1).path("_bulk")]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let start = async || {
        let load = ConfiguredLoad::new(config.clone())
            .unwrap()
            .start(Box::new(Lines::new(documents(2000, 2000))))
            .await
            .unwrap();
        fake.wait_for_held(1).await;
        load
    };
    let load = start().await;
    load.stop_handle().stop();
    tells_what_it_waits_for(&load, "interrupted").await;
    fake.release_held();
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_unknown), (Status::Interrupted, 0), "{report:?}");
    // One request is held, and the next one is told that it may not.
    let held = Rule::new(Fault::HoldBeforeApplying).first(1).path("_bulk");
    fake.set_faults(Faults::new([held, Rule::new(Fault::RequestForbidden).path("_bulk")]));
    let load = start().await;
    tells_what_it_waits_for(&load, "the cluster refuses bulk requests").await;
    fake.release_held();
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_unknown), (Status::Failed, 0), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_is_told_before_or_at_the_first_request() {
    let auth = Auth::Basic { user: "u".into(), password: "p".into() };
    let fake = FakeCluster::start(FakeConfig::default().auth(auth)).await.unwrap();
    let (mut config, _folder) = config(fake.urls(), "docs");
    let error =
        ConfiguredLoad::new(config.clone()).unwrap().run(common::Lines::new(documents(1, 1))).await.unwrap_err();
    assert!(error.to_string().contains("401"), "{error}");
    config.to = vec![fake.url().replace("http://", "http://u:p@")];
    let report = load(&config, documents(10, 10)).await;
    assert_eq!(report.status, Status::Complete);
    fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("_bulk")]));
    let report = load(&config, documents(10, 10)).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered, report.counts.requests), (Status::Failed, 0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn summaries_are_enough_where_nothing_fails() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.replies = Replies::Summary;
    let report = load(&config, documents(500, 500)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 500));
    assert_eq!(report.verified.state, VerifiedState::Yes);
    fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).containing("\"n\":3,")]));
    let report = load(&config, documents(500, 500)).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (499, 1));
    assert!(report.counts.possible_duplicates > 0);
    // One batch of several has entries. The counts of all of them are verified.
    let (mut config, _folder) = common::config(fake.urls(), "docs");
    (config.replies, config.limits.batch_bytes) = (Replies::Summary, Some(1000));
    let report = load(&config, documents(500, 500)).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (499, 1));
    assert_eq!((report.verified.state, report.indices.len()), (VerifiedState::Yes, 0), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_imitated_server_is_loaded() {
    for flavor in Flavor::all() {
        let version = format!("{flavor:?}");
        let root_status = if flavor.is_elasticsearch() { 405 } else { 200 };
        let faults = Faults::new([Rule::new(Fault::ItemRejected).probability(0.1)]);
        let fake = FakeCluster::start(FakeConfig::default().flavor(flavor).root_status(root_status).faults(faults))
            .await
            .unwrap();
        let (config, _folder) = config(fake.urls(), "docs");
        let report = load(&config, documents(300, 300)).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300), "{version}: {report:?}");
        assert!(report.counts.rejected_items > 0);
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_pipeline_drops_and_what_it_refuses_are_told_apart() {
    let processors = json!({"processors": [
        {"drop": {"if": "ctx.v == 2"}}, {"remove": {"field": "none", "if": "ctx.v == 1"}},
    ]});
    // The pipeline of the requests, that of the index, and one that is unknown before the load;
    // with and without ids.
    for (case, with_ids) in [("named", true), ("named", false), ("default", true), ("default", false), ("late", true)] {
        let fake = fake([]).await;
        let client = inrush_testbed::client::Client::new(&fake.url()).unwrap();
        let made = client.json("PUT", "/_ingest/pipeline/p", processors.clone()).await.unwrap();
        assert_eq!(made.status, 200);
        let settings = if case == "default" { json!({"settings": {"index.default_pipeline": "p"}}) } else { json!({}) };
        fake.call("PUT", "/docs", settings.clone()).unwrap();
        let (mut config, folder) = config(fake.urls(), "docs");
        config.pipeline = (case == "named").then(|| "p".to_owned());
        config.id = with_ids.then(|| "id".parse().unwrap());
        let lines = (0..2000).map(|n| {
            let v = match n % 20 {
                3 => 1,
                11 => 2,
                _ => 3,
            };
            format!("{{\"id\":\"i{n}\",\"v\":{v},\"n\":{n}}}")
        });
        let running = ConfiguredLoad::new(config).unwrap().start(Box::new(common::Lines::new(lines))).await.unwrap();
        if case == "late" {
            fake.set_setting("docs", "index.default_pipeline", Some("p"));
        }
        let report = running.finish().await;
        let counts = &report.counts;
        assert!(counts.add_up());
        let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap_or_default();
        let right = letters.lines().filter(|line| line.contains("\"v\":1,")).count() as u64;
        let (dropped, failed) = (counts.docs_dropped, counts.docs_dead_lettered);
        assert_eq!((right, dropped, counts.possible_duplicates), (failed, failed, 0), "{case} {with_ids} {report:?}");
        assert_eq!(fake.documents("docs").len() as u64, counts.docs_created);
        if case != "late" {
            assert_eq!((counts.docs_created, dropped), (1800, 100), "{case} {with_ids} {report:?}");
        }
    }
}
