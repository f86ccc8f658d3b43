//! The events of a load that observers get, against the fake cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_core::PauseKind;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::Rate;
use inrush_load::observe::{Counts, LoadEvent, LoadStart, Observer, SampleOutcome};
use inrush_load::{ConfiguredLoad, Phase, Report, Status};

use crate::common::{Lines, config, documents};

const DOCS: u64 = 2_000;

/// What was heard, in its order where that matters.
#[derive(Default)]
struct Heard {
    began: Option<LoadStart>,
    /// Phases, and the other things that happen once or seldom.
    story: Vec<String>,
    sent: BTreeSet<u64>,
    answered: BTreeMap<u64, bool>,
    docs_read: u64,
    accepted: u64,
    rejected: u64,
    nodes: BTreeSet<u16>,
    counts: Counts,
    letters: Vec<u64>,
    memory_max: u64,
    aside: u32,
    back: u32,
    report: Option<Report>,
}

#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Heard>>);

impl Observer for Ear {
    fn on_event(&mut self, _: Duration, event: &LoadEvent<'_>) {
        let mut heard = self.0.lock().unwrap();
        match event {
            LoadEvent::Started(beginning) => heard.began = Some((*beginning).clone()),
            LoadEvent::Phase(phase) => heard.story.push(format!("{phase:?}")),
            LoadEvent::Paused(pause) => heard.story.push(format!("paused {:?}", pause.kind)),
            LoadEvent::Resumed { by_stop, .. } => heard.story.push(format!("resumed {by_stop}")),
            LoadEvent::Read { docs, .. } => heard.docs_read += docs,
            LoadEvent::SourceEnded(error) => {
                assert!(error.is_none());
                heard.story.push("source ended".to_owned());
            }
            LoadEvent::RequestSent(request) => assert!(heard.sent.insert(request.id), "{}", request.id),
            LoadEvent::RequestAnswered { request, sample, .. } => {
                let lost = sample.outcome == SampleOutcome::Lost;
                assert!(heard.answered.insert(*request, lost).is_none(), "{request}");
                heard.accepted += u64::from(sample.accepted);
                heard.rejected += u64::from(sample.rejected);
                heard.nodes.insert(sample.node);
            }
            LoadEvent::Settled(counts) => {
                assert!(counts.docs_read > heard.counts.docs_read && counts.add_up(), "{counts:?}");
                heard.counts = (*counts).clone();
            }
            LoadEvent::DeadLetter(letter) => heard.letters.push(letter.position.doc),
            LoadEvent::NodeUnhealthy(_) => heard.aside += 1,
            LoadEvent::NodeHealthy(_) => heard.back += 1,
            LoadEvent::Progress(progress) => heard.memory_max = heard.memory_max.max(progress.memory_bytes),
            LoadEvent::Drained => heard.story.push("drained".to_owned()),
            LoadEvent::Ended(report) => {
                heard.story.push("ended".to_owned());
                heard.report = Some((*report).clone());
            }
            _ => {}
        }
    }
}

async fn fake(faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().nodes(2).faults(Faults::new(faults))).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_heard_adds_up_to_the_report() {
    let fake = fake([
        Rule::new(Fault::ItemRejected).probability(0.05),
        Rule::new(Fault::ItemBadRequest).containing("99,\"text\""),
        Rule::new(Fault::Unavailable).path("_bulk").first(2),
    ])
    .await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    config.limits.max_rate = Some(Rate::Docs(4 * DOCS));
    let (ear, other) = (Ear::default(), Ear::default());
    let loader = ConfiguredLoad::new(config).unwrap().observe(ear.clone()).observe(other.clone());
    let report = loader.run(Lines::new(documents(DOCS, DOCS))).await.unwrap();
    assert_eq!(report.status, Status::Incomplete, "{report:?}");

    let heard = ear.0.lock().unwrap();
    let began = heard.began.as_ref().unwrap();
    assert_eq!((began.sources.as_slice(), &began.run_id), (&["lines".to_owned()][..], &report.run_id));
    assert_eq!((began.nodes.len(), began.plan.in_flight), (2, 4));
    assert_eq!(heard.counts, report.counts);
    assert_eq!((heard.docs_read, heard.sent.len() as u64), (DOCS, report.counts.requests));
    assert_eq!(heard.sent, heard.answered.keys().copied().collect(), "each was answered once");
    assert_eq!(heard.rejected, report.counts.rejected_items);
    // The cluster has done its work on what it refuses for good.
    assert_eq!(heard.accepted, DOCS);
    assert_eq!(heard.nodes, BTreeSet::from([0, 1]));
    let letters: Vec<u64> = (0..DOCS).filter(|n| n % 100 == 99).collect();
    let told: BTreeSet<u64> = heard.letters.iter().copied().collect();
    assert_eq!((told, heard.letters.len()), (letters.iter().copied().collect(), letters.len()));
    let expected = ["Loading", "source ended", "drained", "Refreshing", "Verifying", "ended", "Done"];
    assert_eq!(heard.story, expected, "in this order");
    assert!(heard.memory_max > 0 && heard.memory_max < 200_000, "{}", heard.memory_max);
    assert!(heard.aside >= 1 && heard.back <= heard.aside, "{} {}", heard.aside, heard.back);
    assert_eq!(heard.report.as_ref().unwrap().run_id, report.run_id);
    assert_eq!(other.0.lock().unwrap().story, heard.story, "the other one hears the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn pauses_are_heard_with_their_ends() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.limits.max_rate = Some(Rate::Docs(2 * DOCS));
    let ear = Ear::default();
    let loader = ConfiguredLoad::new(config).unwrap().observe(ear.clone());
    let load = loader.start(Box::new(Lines::new(documents(DOCS, DOCS)))).await.unwrap();
    let mut progress = load.progress();
    let paused = |phase: &Phase| matches!(phase, Phase::Paused(_));
    for _ in 0..2 {
        load.pause_handle().pause();
        progress.wait_for(|now| paused(&now.phase)).await.unwrap();
        load.pause_handle().resume();
        progress.wait_for(|now| now.phase == Phase::Loading).await.unwrap();
    }
    load.pause_handle().pause();
    progress.wait_for(|now| paused(&now.phase)).await.unwrap();
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Interrupted);
    assert_eq!(report.pauses[0].kind, PauseKind::ByHand);
    let story = ear.0.lock().unwrap().story.clone();
    let pauses: Vec<&String> =
        story.iter().filter(|what| what.contains("paused") || what.contains("resumed")).collect();
    let expected =
        ["paused ByHand", "resumed false", "paused ByHand", "resumed false", "paused ByHand", "resumed true"];
    assert_eq!(pauses, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_that_panics_ends_no_load() {
    let fake = fake([]).await;
    let (config, _folder) = config(fake.urls(), "docs");
    let ear = Ear::default();
    let panics = |_: Duration, event: &LoadEvent<'_>| {
        if let LoadEvent::RequestSent(_) = event {
            panic!("on purpose");
        }
    };
    let loader = ConfiguredLoad::new(config).unwrap().observe(panics).observe(ear.clone());
    let report = loader.run(Lines::new(documents(300, 300))).await.unwrap();
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 300));
    assert_eq!(ear.0.lock().unwrap().counts, report.counts);
}
