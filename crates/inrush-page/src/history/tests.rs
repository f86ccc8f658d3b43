use std::collections::BTreeMap;

use bytes::Bytes;
use inrush_core::report::ErrorCount;
use inrush_core::{DeadLetter, Position, Time};
use inrush_load::observe::{Bounds, Decision, Plan};
use inrush_load::{PlanReport, SettingChange, SettingsRestored, Status, Verified, VerifiedState};

use super::*;

fn plan(batch_bytes: u64, in_flight: u32) -> Plan {
    Plan { batch_bytes, batch_docs: u32::MAX, in_flight }
}

fn begun() -> History {
    let bounds = Bounds { batch_bytes: (1 << 16, 1 << 26), batch_docs: u32::MAX, in_flight: (1, 64), memory: 1 << 28 };
    let mut start = LoadStart::new("0123".to_owned(), vec!["http://a:9200".to_owned()], bounds, plan(1 << 20, 4));
    start.sources = vec!["a.ndjson".to_owned()];
    start.bytes_total = Some(1_000_000);
    let mut history = History::new("logs");
    history.on_event(Duration::ZERO, &LoadEvent::Started(&start));
    history.on_event(Duration::ZERO, &LoadEvent::Phase(&Phase::Loading));
    history
}

fn progress(docs: u64) -> Progress {
    let mut progress = Progress::default();
    progress.counts = Counts::build(|counts| {
        (counts.docs_read, counts.docs_indexed, counts.docs_created) = (docs, docs, docs);
        (counts.bytes_read, counts.requests) = (docs * 100, docs / 10);
    });
    (progress.docs_read, progress.docs_settled) = (docs, docs);
    (progress.bytes_read, progress.bytes_total) = (docs * 100, Some(1_000_000));
    (progress.in_flight, progress.memory_bytes) = (3, 1 << 20);
    (progress.plan_batch_bytes, progress.plan_in_flight) = (1 << 20, 4);
    progress
}

fn report(counts: Counts) -> Report {
    let plan = PlanReport {
        batch_bytes: 1 << 20,
        batch_docs: None,
        in_flight: 4,
        why: "fixed values".to_owned(),
        encoding: inrush_core::Encoding::Json,
        compression: "none".to_owned(),
        wire_why: String::new(),
        start: None,
        learned: None,
    };
    let verified = Verified::new(VerifiedState::Yes, "10 of 10".to_owned());
    let settings = SettingsReport::new(SettingsRestored::Unchanged, String::new());
    let mut report = Report::new("0123".to_owned(), Status::Complete, plan, verified, settings);
    report.counts = counts;
    report
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn rates_points_and_the_time_left_follow_the_progress() {
    let mut history = begun();
    for tick in 1..=100_u32 {
        let at = seconds(f64::from(tick) / 10.0);
        history.on_event(at, &LoadEvent::Progress(&progress(u64::from(tick) * 50)));
        history.tick(at);
    }
    let LoadSnapshot { state, points, phases, .. } = history.snapshot(seconds(10.0));
    assert_eq!(points.len(), 10);
    assert!(
        points.iter().all(|point| (point.docs, point.d, point.fly, point.mem) == (500, 1.0, 3.0, 1 << 20)),
        "{points:?}"
    );
    assert_eq!((state.docs_per_second, state.share, state.seconds_left), (500.0, Some(0.5), Some(10.0)));
    assert_eq!(phases.iter().map(|mark| mark.phase.as_str()).collect::<Vec<_>>(), ["starting", "loading"]);
    // An update has each point once.
    assert_eq!(
        (history.take_update(seconds(10.0)).points.len(), history.take_update(seconds(10.0)).points.len()),
        (10, 0)
    );
}

#[test]
fn the_end_is_that_of_the_report() {
    let mut history = begun();
    history.on_event(seconds(1.0), &LoadEvent::Progress(&progress(90)));
    history.tick(seconds(1.0));
    let mut now = progress(95);
    now.counts.docs_unknown = 0;
    history.on_event(seconds(1.5), &LoadEvent::Progress(&now));
    let mut counts = now.counts;
    (counts.docs_unknown, counts.docs_read) = (5, 100);
    let mut report = report(counts.clone());
    report.errors = vec![ErrorCount::new(400, "parsing", "no", 7)];
    history.on_event(seconds(2.0), &LoadEvent::Ended(&report));
    history.on_event(seconds(2.0), &LoadEvent::Phase(&Phase::Done));
    history.tick(seconds(9.0));
    let snapshot = history.snapshot(seconds(9.0));
    assert_eq!((&snapshot.state.counts, snapshot.state.phase.as_str()), (&counts, "done"));
    assert_eq!(snapshot.points.iter().map(|point| point.created).sum::<u64>(), 95);
    assert_eq!(snapshot.points.iter().map(|point| point.unknown).sum::<u64>(), 5);
    assert_eq!(snapshot.errors[0].error.count, 7);
    assert_eq!(snapshot.report.unwrap()["docs_unknown"], 5);
    assert!(history.take_update(seconds(9.0)).report.is_some() && history.take_update(seconds(9.0)).report.is_none());
    assert_eq!(history.exit_status, Some(0));
}

#[test]
fn pauses_have_their_kind_and_their_time() {
    let mut history = begun();
    let by_hand = Pause { kind: PauseKind::ByHand, why: "by hand".to_owned() };
    let disk = Pause { kind: PauseKind::DiskHigh, why: "the disk of a is full".to_owned() };
    history.on_event(seconds(1.0), &LoadEvent::Phase(&Phase::Paused(by_hand.why.clone())));
    history.on_event(seconds(1.0), &LoadEvent::Paused(&by_hand));
    assert!(history.snapshot(seconds(1.2)).state.paused_by_hand);
    history.on_event(seconds(3.0), &LoadEvent::Paused(&disk));
    history.on_event(seconds(3.1), &LoadEvent::Phase(&Phase::Paused(disk.why.clone())));
    assert!(!history.snapshot(seconds(3.2)).state.paused_by_hand && history.is_paused());
    history.resumed(seconds(4.0));
    history.on_event(seconds(4.1), &LoadEvent::Phase(&Phase::Loading));
    let phases = history.snapshot(seconds(5.0)).phases;
    let short: Vec<_> = phases.iter().map(|mark| (mark.t, mark.until, mark.pause.as_str())).collect();
    let expected = [
        (0.0, Some(0.0), ""),
        (0.0, Some(1.0), ""),
        (1.0, Some(3.1), "by_hand"),
        (3.1, Some(4.1), "disk_high"),
        (4.1, None, ""),
    ];
    assert_eq!(short, expected);
    assert_eq!(
        history.paused_seconds(seconds(5.0)),
        BTreeMap::from([("by_hand".to_owned(), 2.0), ("disk_high".to_owned(), 1.0)])
    );
}

#[test]
fn an_incident_that_repeats_is_one_note() {
    let mut history = begun();
    for at in 1..=5_u32 {
        history.on_event(seconds(f64::from(at)), &LoadEvent::RequestLost("connection closed"));
    }
    history.on_event(seconds(6.0), &LoadEvent::NodeUnhealthy(0));
    let notes = history.take_update(seconds(6.0)).notes;
    assert_eq!((notes[0].times, notes[0].t, notes[0].last), (5, 1.0, 5.0));
    assert_eq!((notes[1].kind, notes[1].text.as_str()), ("node_down", "http://a:9200 does not answer"));
    assert!(!history.snapshot(seconds(6.0)).state.nodes[0].healthy);
    history.on_event(seconds(7.0), &LoadEvent::NodeHealthy(0));
    assert_eq!(history.take_update(seconds(7.0)).notes.len(), 1);
}

#[test]
fn the_guard_is_off_or_changes_and_restores() {
    let mut history = begun();
    assert_eq!(history.guard.state, "off");
    let mut restored = SettingsReport::new(SettingsRestored::Yes, "logs has its original settings".to_owned());
    restored.changed.insert("index.refresh_interval".to_owned(), SettingChange { from: None, to: "60s".to_owned() });
    history.on_event(seconds(1.0), &LoadEvent::SettingsRestored(&restored));
    assert_eq!((history.guard.state.as_str(), history.guard.changed.len()), ("yes", 1));
}

/// A slow source, with each list full.
#[test]
fn twelve_hours_stay_below_a_mebibyte() {
    let mut history = begun();
    let mut letter = |n: u64| {
        let document = Bytes::from(format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(400)));
        let kind = format!("kind_{}_of_exceptions", n % 300);
        let reason = format!("failed to parse field [field_{}] {}", n % 300, "y".repeat(400));
        history.errors.add(&DeadLetter::new(Position::default(), kind, reason, document).with_status(400), "a.ndjson");
    };
    (0..2_000).for_each(&mut letter);
    for second in 1..=12 * 3600_u32 {
        let at = seconds(f64::from(second));
        let mut now = progress(u64::from(second) * 123_457);
        now.counts.bytes_sent = u64::from(second) * 17_123_457;
        now.counts.docs_dead_lettered = u64::from(second) * 3;
        now.counts.rejected_items = u64::from(second) * 11;
        now.counts.retried_items = u64::from(second) * 11;
        history.on_event(at, &LoadEvent::Progress(&now));
        for n in 0..4 {
            history.answered(&Sample {
                sent: Time::START,
                wall: Duration::from_micros(312_345 + u64::from(second) + n),
                took: Some(Duration::from_millis(287)),
                bytes: 1 << 20,
                docs: 1_000,
                accepted: 1_000,
                rejected: 0,
                outcome: SampleOutcome::Answered,
                in_flight: 4,
                source_limited: false,
                remainder: false,
                node: 0,
            });
        }
        if second % 10 == 0 {
            let why = format!("{second} documents a second are 3 % more than with the plan before; {}", "z".repeat(80));
            let decision = Decision { at: Time::from_start(at), from: plan(1 << 20, 4), to: plan(2 << 20, 5), why };
            history.on_event(at, &LoadEvent::PlanChanged(&decision));
            let phase = if second % 20 == 0 { Phase::Idle } else { Phase::Loading };
            history.on_event(at, &LoadEvent::Phase(&phase));
            history.on_event(at, &LoadEvent::RequestLost(&format!("no answer within 60 s: number {second}")));
        }
        history.tick(at);
        history.take_update(at);
    }
    let text = serde_json::to_string(&history.snapshot(seconds(43_200.0))).unwrap();
    assert!(text.len() < 1 << 20, "{}", text.len());
    assert!(text.len() > 100_000, "{}", text.len());
}

fn sample(node: u16, wall: u64, outcome: SampleOutcome) -> Sample {
    Sample {
        sent: Time::START,
        wall: Duration::from_millis(wall),
        took: (outcome == SampleOutcome::Answered).then(|| Duration::from_millis(wall / 2)),
        bytes: 100,
        docs: 10,
        accepted: 10,
        rejected: 0,
        outcome,
        in_flight: 1,
        source_limited: false,
        remainder: false,
        node,
    }
}

/// The start of a load into a builder.
fn builder(url: &str) -> LoadStart {
    let bounds = Bounds { batch_bytes: (1 << 16, 1 << 26), batch_docs: u32::MAX, in_flight: (1, 64), memory: 1 << 28 };
    let mut start = LoadStart::new("0123".to_owned(), vec![url.to_owned()], bounds, plan(1 << 20, 4));
    (start.sources, start.memory_max) = (vec!["a.csv".to_owned()], 1000);
    start
}

#[test]
fn parts_in_this_process_share_one_history() {
    let mut history = History::new("trips");
    let [mut first, mut second] = [LocalPart::default(), LocalPart::default()];
    history.on_event(seconds(0.0), &LoadEvent::Phase(&Phase::Baking("create".to_owned())));
    history.on_part_event(seconds(1.0), &mut first, &LoadEvent::Started(&builder("http://a:1")));
    history.on_part_event(seconds(1.0), &mut second, &LoadEvent::Started(&builder("http://b:1")));
    let decision = Decision { at: Time::START, from: plan(1 << 20, 4), to: plan(1 << 20, 8), why: "better".to_owned() };
    history.on_part_event(seconds(2.0), &mut second, &LoadEvent::PlanChanged(&decision));
    history.on_part_event(seconds(2.0), &mut first, &LoadEvent::NodeUnhealthy(0));
    history.on_part_event(seconds(2.0), &mut second, &LoadEvent::RequestLost("reset"));
    // The phases and the end of a part are not those of the whole.
    history.on_part_event(seconds(3.0), &mut second, &LoadEvent::Phase(&Phase::Verifying));
    history.on_part_event(seconds(3.0), &mut second, &LoadEvent::Ended(&report(Counts::default())));
    for (part, node) in [(&second, 1), (&first, 0)] {
        assert_eq!(part.place(0), node);
        history.answered(&sample(node, 100, SampleOutcome::Answered));
    }
    let load = history.snapshot(seconds(4.0));
    let nodes: Vec<_> = load.state.nodes.iter().map(|node| (node.name.as_str(), node.healthy, node.requests)).collect();
    assert_eq!(nodes, [("http://a:1", false, 1), ("http://b:1", true, 1)]);
    assert_eq!((load.start.sources.len(), load.start.memory_max), (1, 2000));
    assert_eq!((load.decisions[0].why.as_str(), load.notes[1].text.as_str()), ("better", "reset"));
    assert_eq!((load.phases.last().unwrap().step.as_str(), load.report.is_none()), ("create", true));
}

#[test]
fn reports_of_parts_add_up_to_the_load_of_the_job() {
    let mut part = begun();
    part.on_event(seconds(1.0), &LoadEvent::Progress(&progress(100)));
    part.answered(&sample(0, 300, SampleOutcome::Answered));
    part.answered(&sample(0, 1, SampleOutcome::Lost));
    part.tick(seconds(1.0));
    let mut job = begun();
    job.on_event(seconds(1.0), &LoadEvent::Phase(&Phase::Idle));
    for _ in 0..2 {
        // The same report again changes nothing.
        job.reported(seconds(1.0), part.part_report("partition 1", "h"));
    }
    assert_eq!(job.snapshot(seconds(1.0)).state.phase, "loading", "a part loads");
    job.on_event(seconds(1.5), &LoadEvent::Progress(&Progress::default()));
    job.tick(seconds(2.0));
    let load = job.snapshot(seconds(2.0));
    assert_eq!((load.state.counts.docs_created, load.state.in_flight, load.state.parts.len()), (100, 3, 1));
    let point = load.points.last().unwrap();
    assert_eq!((point.docs, point.ans, point.lost, point.wall, point.max), (100, 1, 1, 0.3, 0.3));
    assert_eq!((load.state.nodes[0].requests, load.state.nodes[0].mean), (2, Some(0.3)));
    // The part ends, and the job with it.
    part.on_event(seconds(3.0), &LoadEvent::Ended(&report(progress(120).counts)));
    job.reported(seconds(3.0), part.part_report("partition 1", "h"));
    let load = job.snapshot(seconds(3.0));
    assert_eq!((load.state.phase.as_str(), load.state.counts.docs_created), ("waiting for the source", 120));
    job.on_event(seconds(4.0), &LoadEvent::Ended(&report(progress(120).counts)));
    job.reported(seconds(5.0), part.part_report("partition 2", "h"));
    assert_eq!(job.snapshot(seconds(5.0)).state.counts.docs_created, 120, "nothing counts after the end");
}

#[test]
fn a_comparison_has_the_history_of_a_load() {
    let mut history = History::new("docs");
    history.compares("OpenSearch 3.6.0", &["a.csv".to_owned()], "0123");
    let now = Comparison {
        docs_read: 60,
        bytes_read: 600,
        bytes_total: Some(1_000),
        equal: 40,
        missing: 5,
        different: 3,
        ..Comparison::default()
    };
    history.compared(seconds(1.0), &now);
    history.tick(seconds(1.0));
    history.compared(seconds(2.0), &Comparison { docs_read: 80, bytes_read: 800, equal: 70, ids_read: 9, ..now });
    history.tick(seconds(2.0));
    let load = history.snapshot(seconds(2.0));
    assert_eq!((load.start.kind, load.state.phase.as_str(), load.state.share), (Kind::Verify, "verifying", Some(0.8)));
    assert_eq!(load.state.seconds_left, Some(1.0));
    let docs: Vec<_> = load.points.iter().map(|point| (point.docs, point.noop, point.not_found)).collect();
    assert_eq!((docs, load.state.ids_read), (vec![(48, 40, 5), (30, 30, 0)], 9));
    history.compared_all(seconds(3.0), 4, Some(serde_json::json!({ "status": "different" })));
    let load = history.snapshot(seconds(3.0));
    assert_eq!((load.state.phase.as_str(), history.exit_status), ("done", Some(4)));
    assert_eq!(load.report.unwrap()["status"], "different");
}
