//! Coalescing against a cluster with faults: the index holds the last state of each id.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_core::block::DocMeta;
use inrush_core::{Action, Settled};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report, VerifiedState};
use inrush_sources::push::Document;

const IDS: u32 = 300;

/// A change of an id: its document, or `None` for a delete.
type Event = (String, Option<String>);

/// Changes of ids, in an order that looks like chance and is the same each time.
fn events(count: u32) -> Vec<Event> {
    let event = |n: u32| {
        let id = n.wrapping_mul(2_654_435_761).rotate_left(15) % IDS;
        let deletes = n.wrapping_mul(40_503).is_multiple_of(11);
        (id.to_string(), (!deletes).then(|| format!("{{\"n\":{n},\"text\":\"some words to fill it\"}}")))
    };
    (0..count).map(event).collect()
}

fn document((id, content): &Event) -> Document {
    let action = if content.is_some() { Action::Index } else { Action::Delete };
    Document {
        body: content.clone().unwrap_or_default().into(),
        meta: DocMeta::default().with_id(id.clone()).with_action(action),
    }
}

/// The state of the index after all events.
fn last(events: &[Event]) -> BTreeMap<String, String> {
    let last: BTreeMap<&String, &Option<String>> = events.iter().map(|(id, content)| (id, content)).collect();
    last.into_iter().filter_map(|(id, content)| Some((id.clone(), content.clone()?))).collect()
}

fn indexed(fake: &FakeCluster) -> BTreeMap<String, String> {
    let documents = fake.documents("docs").into_iter();
    documents.map(|document| (document.id, String::from_utf8_lossy(&document.source).into_owned())).collect()
}

async fn load(fake: &FakeCluster, events: &[Event], option: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.coalesce = Some(option.parse().unwrap());
    config.limits.batch_bytes = Some(20_000);
    config.limits.in_flight = Some(4);
    config.limits.retry_wait = Duration::from_millis(2);
    config.limits.linger = Duration::from_millis(20);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let mut loader = ConfiguredLoad::new(config).unwrap();
    let mut settlements = loader.settlements(64 << 20);
    let load = loader.sender().await.unwrap();
    for event in events {
        load.send(document(event)).await.unwrap();
    }
    let report = load.finish().await;
    assert!(report.failure.is_none() && report.counts.add_up(), "{report:?}");
    assert_eq!(report.counts.docs_read, events.len() as u64);
    let mut superseded = 0;
    while let Some(end) = settlements.recv().await {
        superseded += if end.settled == Settled::Superseded { u64::from(end.docs) } else { 0 };
    }
    assert_eq!((superseded, settlements.dropped()), (report.counts.docs_superseded, 0));
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_holds_the_last_state_of_each_id_whatever_fails() {
    let faults = [
        Rule::new(Fault::ResetAfterApplying).probability(0.05),
        Rule::new(Fault::ResetBeforeApplying).probability(0.05),
        Rule::new(Fault::ItemRejected).probability(0.05),
        Rule::new(Fault::Unavailable).path("_bulk").probability(0.03),
    ];
    let events = events(20_000);
    for option in ["0s", "500docs", "1h,3000docs", "50ms"] {
        let fake =
            FakeCluster::start(FakeConfig::default().nodes(2).faults(Faults::new(faults.clone()))).await.unwrap();
        let report = load(&fake, &events, option).await;
        assert_eq!(indexed(&fake), last(&events), "{option}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{option}: {:?}", report.verified);
        assert_eq!(report.counts.docs_dead_lettered, 0, "{option}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_written_once_where_its_window_holds_all_its_events() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let events = events(20_000);
    let report = load(&fake, &events, "1h").await;
    assert_eq!(indexed(&fake), last(&events));
    let counts = &report.counts;
    assert_eq!(counts.docs_superseded, 20_000 - u64::from(IDS), "{counts:?}");
    assert_eq!((counts.docs_created, counts.docs_updated, counts.docs_deleted), (last(&events).len() as u64, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_the_index_refuses_does_not_take_the_one_before_with_it() {
    let rule = Rule::new(Fault::ItemBadRequest).containing("\"n\":2,");
    let fake = FakeCluster::start(FakeConfig::default().faults(Faults::new([rule]))).await.unwrap();
    let event = |n: u32| ("a".to_owned(), Some(format!("{{\"n\":{n},\"text\":\"x\"}}")));
    let report = load(&fake, &[event(0), event(1), event(2)], "1h").await;
    assert_eq!(indexed(&fake), last(&[event(0), event(1)]));
    let counts = &report.counts;
    assert_eq!((counts.docs_dead_lettered, counts.docs_created, counts.docs_superseded), (1, 1, 1));
}

#[test]
fn actions_that_are_not_coalesced_are_refused() {
    for action in [Action::Create, Action::Update, Action::Upsert] {
        let mut config = LoadConfig::new(vec!["http://localhost:9200".into()], "docs".parse().unwrap());
        (config.action, config.id) = (action, Some("id".parse().unwrap()));
        config.coalesce = Some("5s".parse().unwrap());
        let error = ConfiguredLoad::new(config).unwrap_err().to_string();
        assert!(error.contains("`coalesce`") && error.contains("use action index or delete"), "{error}");
    }
}
