//! Requests that the cluster carries out after they were given up: later operations on their ids
//! wait until they are over.

use std::collections::BTreeSet;
use std::time::Duration;

use inrush_core::Action;
use inrush_fake::{FakeCluster, Fault, Faults, RequestLog, Rule};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Phase, Progress, VerifiedState};
use serde_json::Value;

use crate::common::{Lines, config, documents, expected, fake, load, numbers};
use crate::cut_off::Job;

const DOCS: u64 = 400;
const IDS: u64 = 40;

/// Ends when the cluster was asked this often for its tasks.
async fn asked_for_tasks(fake: &FakeCluster, times: usize) {
    let is_asked = |request: &RequestLog| request.path.starts_with("/_tasks");
    while fake.requests().iter().filter(|request| is_asked(request)).count() < times {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_that_timed_out_does_not_undo_later_operations() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("_bulk").first(1)]).await;
    let (mut config, _folder) = config(fake.urls(), "late");
    config.id = Some("id".parse().unwrap());
    config.limits.request_timeout = Duration::from_millis(300);
    let loading = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(DOCS, IDS)))).await.unwrap();
    let mut progress = loading.progress();
    fake.wait_for_held(1).await;
    // The retry was answered long ago, and everything that does not wait for the request.
    asked_for_tasks(&fake, 3).await;
    let waits =
        |progress: &Progress| matches!(&progress.phase, Phase::Paused(why) if why.contains("without an answer"));
    progress.wait_for(waits).await.unwrap();
    let now = numbers(&fake, "late");
    assert!(now.values().any(|n| n + IDS < DOCS), "a later operation did not wait: {now:?}");
    fake.release_held();
    let report = loading.finish().await;
    assert_eq!(numbers(&fake, "late"), expected(DOCS, IDS));
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(report.counts.docs_dead_lettered, 0);
}

#[tokio::test]
async fn what_gateways_give_up_is_no_danger_to_the_order() {
    for fault in
        [Fault::GatewayTimeoutAfterApplying, Fault::ResetAfterApplying, Fault::ReplyTruncated, Fault::BadGateway]
    {
        let fake = fake([Rule::new(fault).path("_bulk").first(2)]).await;
        let (mut config, _folder) = config(fake.urls(), "late");
        config.id = Some("id".parse().unwrap());
        let report = load(&config, documents(DOCS, IDS)).await;
        assert_eq!(numbers(&fake, "late"), expected(DOCS, IDS), "{fault:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{fault:?}: {:?}", report.verified);
    }
}

/// The id of each dead letter.
fn letters(config: &LoadConfig) -> BTreeSet<String> {
    let DeadLetters::File(path) = &config.dead_letters else { panic!("no file of dead letters") };
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let id = |letter: Value| letter["document"]["id"].as_str().unwrap().to_owned();
    text.lines().map(|line| id(serde_json::from_str(line).unwrap())).collect()
}

#[tokio::test]
async fn a_create_that_is_sent_again_meets_its_own_document_or_another_one() {
    for fault in [Fault::ResetAfterApplying, Fault::ReplyTruncated, Fault::GatewayTimeoutAfterApplying] {
        for pipeline in [false, true] {
            let fake = fake([]).await;
            if pipeline {
                let passes = serde_json::json!({"processors": []});
                fake.call("PUT", "/_ingest/pipeline/p", passes).unwrap();
                fake.call("PUT", "/late", serde_json::json!({"settings": {"index.default_pipeline": "p"}})).unwrap();
            }
            let client = inrush_testbed::client::Client::new(&fake.urls()[0]).unwrap();
            // One differs from the document of the load, and one does not.
            let body = "{\"index\":{\"_index\":\"late\",\"_id\":\"i1\"}}\n{\"n\":-1}\n\
                        {\"index\":{\"_index\":\"late\",\"_id\":\"i2\"}}\n\
                        {\"id\":\"i2\",\"n\":2,\"text\":\"some words to fill it\"}\n";
            assert_eq!(client.bulk("/_bulk", body).await.unwrap().status, 200);
            fake.set_faults(Faults::new([Rule::new(fault).path("_bulk").first(2)]));
            let (mut config, _folder) = config(fake.urls(), "late");
            config.id = Some("id".parse().unwrap());
            config.action = Action::Create;
            let again = ["{\"id\":\"i3\",\"n\":-3}".to_owned()];
            let report = load(&config, documents(40, 40).chain(again)).await;
            let known = letters(&config);
            // Behind a pipeline the content proves nothing: the other document of the load passes.
            let all = ["i1", "i2", "i3"].map(str::to_owned).into();
            assert!(known == all || (pipeline && known.iter().eq(["i1", "i2"])), "{fault:?}: {known:?}");
            assert_eq!(report.verified.state, VerifiedState::Yes, "{fault:?}: {:?}", report.verified);
            assert!(report.counts.add_up(), "{report:?}");
            assert_eq!(fake.documents("late").len(), 40);
        }
    }
}

#[tokio::test]
async fn a_later_write_by_another_client_is_named() {
    let fake = fake([Rule::new(Fault::ResetAfterApplying).path("_bulk").first(1)]).await;
    let (mut config, _folder) = config(fake.urls(), "late");
    config.id = Some("id".parse().unwrap());
    // The ids are read when all is in: the first reading is held.
    let held = Rule::new(Fault::HoldBeforeApplying).path("_mget").first(1);
    fake.set_faults(Faults::new([Rule::new(Fault::ResetAfterApplying).path("_bulk").first(1), held]));
    let loading = tokio::spawn(async move {
        ConfiguredLoad::new(config).unwrap().run(Lines::new(documents(DOCS, IDS))).await.unwrap()
    });
    fake.wait_for_held(1).await;
    let body = "{\"index\":{\"_index\":\"late\",\"_id\":\"i0\"}}\n{\"n\":0}\n";
    let client = inrush_testbed::client::Client::new(&fake.urls()[0]).unwrap();
    assert_eq!(client.bulk("/_bulk", body).await.unwrap().status, 200);
    fake.release_held();
    let report = loading.await.unwrap();
    assert_eq!(report.verified.state, VerifiedState::No, "{:?}", report.verified);
    assert!(report.verified.detail.contains("\"i0\""), "{}", report.verified.detail);
}

#[tokio::test]
async fn a_run_that_goes_on_waits_for_requests_of_the_one_before() {
    let fake = fake([]).await;
    let mut job = Job::new(fake.urls(), "late", &crate::cut_off::documents(crate::cut_off::DOCS, 50));
    job.config.id = Some("id".parse().unwrap());
    // The crash leaves a request behind.
    fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_bulk").after(20).first(1)]));
    job.crash(job.config.clone(), 100).await;
    fake.wait_for_held(1).await;
    let bulks = || fake.requests().iter().filter(|request| request.is_bulk()).count();
    let (before, resumed) = (bulks(), job.resumed());
    let source = job.source();
    let loading = tokio::spawn(async move { ConfiguredLoad::new(resumed).unwrap().run(source).await.unwrap() });
    asked_for_tasks(&fake, 1).await;
    assert_eq!(bulks(), before, "a request was sent while an earlier one runs");
    fake.release_held();
    let report = loading.await.unwrap();
    assert!(report.counts.add_up(), "{report:?}");
    assert_eq!(numbers(&fake, "late"), expected(crate::cut_off::DOCS, 50));
}
