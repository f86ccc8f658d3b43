//! Loads whose plan is tuned, bounded or recorded, against the fake cluster.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_core::trace::{Entry, Header};
use inrush_core::tune::{AutoTuner, GentleTuner, Tuner};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{Gentle, Rate};
use inrush_load::observe::{LoadEvent, Observer};
use inrush_load::{ConfiguredLoad, Status};

use crate::common::{Lines, config, documents, fake, load};

/// The reason of the last change of the plan, and how often the progress had another one.
#[derive(Clone, Default)]
struct Reasons(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    last: Option<String>,
    wrong: u32,
}

impl Observer for Reasons {
    fn on_event(&mut self, _: Duration, event: &LoadEvent<'_>) {
        let mut seen = self.0.lock().unwrap();
        match event {
            LoadEvent::PlanChanged(decision) => seen.last = Some(decision.why.clone()),
            LoadEvent::Progress(now) => seen.wrong += u32::from(now.plan_why.as_deref() != seen.last.as_deref()),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tuned_load_gets_everything_in_and_its_trace_leads_to_the_same_decisions() {
    for gentle in [None, Some(Gentle::default())] {
        let rejected = Rule::new(Fault::ItemRejected).probability(0.01);
        // A pause, of which the tuner is told nothing.
        let flood = Rule::new(Fault::ItemFloodStage).after(50_000).first(100);
        let faults = Faults::new([rejected, flood]);
        let fake = FakeConfig::default().faults(faults).max_content_length_bytes(50_000);
        let fake = FakeCluster::start(fake).await.unwrap();
        let (mut config, folder) = config(fake.urls(), "docs");
        (config.limits.batch_bytes, config.limits.in_flight) = (None, None);
        config.limits.memory = 8 << 20;
        config.limits.gentle = gentle;
        config.id = Some("id".parse().unwrap());
        let trace = folder.path().join("trace.ndjson");
        config.trace = Some(trace.clone());
        let reasons = Reasons::default();
        let loader = ConfiguredLoad::new(config).unwrap().observe(reasons.clone());
        let report = loader.run(Lines::new(documents(100_000, 100_000))).await.unwrap();
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!(fake.documents("docs").len(), 100_000);
        assert_eq!(reasons.0.lock().unwrap().wrong, 0, "the progress has the reason of the last change");

        let text = std::fs::read_to_string(trace).unwrap();
        let mut lines = text.lines();
        let header = Header::parse(lines.next().unwrap()).unwrap();
        let controller = if gentle.is_some() { "gentle" } else { "auto" };
        assert_eq!((header.controller.as_str(), header.bounds.memory), (controller, 8 << 20));
        let mut again: Box<dyn Tuner> = match gentle {
            Some(gentle) => Box::new(GentleTuner::new(header.bounds, gentle)),
            None => Box::new(AutoTuner::new(header.bounds)),
        };
        let (mut accepted, mut rejected, mut samples, mut unheard) = (0, 0, 0, 0);
        let (mut plan, mut breaks, mut decisions) = (header.plan, 0, 0);
        for entry in lines.enumerate().map(|(at, line)| Entry::parse(line, at + 2).unwrap()) {
            match entry {
                Entry::Sample { now, sample, heard } => {
                    if heard {
                        again.handle_sample(now, &sample);
                    }
                    samples += 1;
                    unheard += u32::from(!heard);
                    accepted += u64::from(sample.accepted);
                    rejected += u64::from(sample.rejected);
                }
                Entry::Break { now } => {
                    breaks += 1;
                    again.handle_break(now);
                }
                Entry::Decision(decision) => {
                    assert_eq!(again.poll_decision().as_ref(), Some(&decision));
                    assert_eq!(decision.from, plan);
                    plan = decision.to;
                    decisions += 1;
                }
            }
        }
        assert_eq!((accepted, rejected, samples), (100_000, report.counts.rejected_items, report.counts.requests));
        // With rejections all the time, gentle may never leave one request.
        let least = u32::from(gentle.is_none());
        assert!(unheard > 0 && breaks >= 2 && decisions >= least, "{controller}: {unheard}, {breaks}, {decisions}");
        assert_eq!(again.poll_decision(), None);
        let stands = again.steady_plan();
        assert_eq!((again.plan(), stands.batch_bytes), (plan, report.plan.batch_bytes));
        assert_eq!(stands.in_flight, report.plan.in_flight);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_knob_can_be_fixed_and_the_servers_limit_is_known_from_the_start() {
    let fake = FakeCluster::start(FakeConfig::default().max_content_length_bytes(100_000)).await;
    let fake = fake.unwrap();
    let (mut config, _folder) = config(fake.urls(), "docs");
    (config.limits.batch_bytes, config.limits.in_flight) = (None, Some(3));
    config.limits.memory = 8 << 20;
    let report = load(&config, documents(20_000, 20_000)).await;
    assert_eq!((report.status, report.plan.in_flight), (Status::Complete, 3));
    assert!(report.plan.batch_bytes <= 100_000, "{:?}", report.plan);
    assert_eq!(report.counts.retried_items, 0, "no request was refused as too large");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_sent_than_the_rate_allows() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.limits.max_rate = Some(Rate::Docs(400));
    let report = load(&config, documents(200, 200)).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    // 200 documents at 400 a second, of which the last request (4,000 bytes, at most 80 documents)
    // is not waited for.
    assert!(report.seconds >= 120.0 / 400.0, "{} s", report.seconds);
    config.limits.max_rate = Some(Rate::Bytes(0));
    assert!(config.check().unwrap_err().to_string().contains("at least 1"));
}
