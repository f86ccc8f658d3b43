//! A load into the fake cluster with faults: page and metrics agree with its report.

use std::net::SocketAddr;
use std::time::Duration;

use inrush_cluster::transport::{Credentials, Secret};
use inrush_core::DocMeta;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report};
use inrush_page::{PageConfig, Watch, WatchConfig};
use inrush_sources::push::Document;
use serde_json::{Value, json};

use super::client::{Viewer, address, get};
use super::openmetrics::{Series, counters, read};

const TOKEN: &str = "token-0123456789abcdef";
const PASSWORD: &str = "hunter2-of-the-cluster";
const DOCS: u32 = 20_000;

/// What a run showed.
struct Seen {
    report: Report,
    /// The figures of all scrapes, in their order.
    scrapes: Vec<Series>,
    events: Vec<(String, Value)>,
    /// The texts of all replies.
    texts: String,
    textfile: String,
}

async fn fake() -> FakeCluster {
    let faults = [
        Rule::new(Fault::ItemRejected).probability(0.02),
        Rule::new(Fault::ResetAfterApplying).probability(0.03),
        Rule::new(Fault::ItemBadRequest).containing("\"n\":7,"),
        Rule::new(Fault::ItemBadRequest).containing("\"n\":77,"),
    ];
    FakeCluster::start(FakeConfig::default().nodes(2).faults(Faults::new(faults))).await.unwrap()
}

async fn metrics(at: SocketAddr, texts: &mut String) -> Series {
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let reply = get(at, "/metrics", &[&bearer, "Accept: application/openmetrics-text"]).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    // hyper sends the length, so the body is not chunked.
    texts.push_str(&reply.body);
    read(&reply.body)
}

async fn run() -> Seen {
    let (fake, folder) = (fake().await, tempfile::tempdir().unwrap());
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.credentials = Credentials::basic("ada", Secret::new(PASSWORD)).unwrap();
    config.limits.batch_bytes = Some(20_000);
    config.limits.in_flight = Some(4);
    config.limits.retry_wait = Duration::from_millis(2);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let page = PageConfig { address: "auto".parse().unwrap(), token: Some(Secret::new(TOKEN)), parts: None };
    let watch = Watch::start(WatchConfig {
        page: Some(page),
        textfile: Some(folder.path().to_owned()),
        ..WatchConfig::default()
    })
    .await
    .unwrap();
    let at = address(&watch);
    let (recorder, shown) = watch.show("docs");
    let load = ConfiguredLoad::new(config).unwrap().observe(recorder).sender().await.unwrap();
    shown.control(load.pause_handle(), load.stop_handle());
    let mut viewer = Viewer::connect(at, &[&format!("Authorization: Bearer {TOKEN}")]).await;
    let (mut texts, mut scrapes, mut events) = (String::new(), Vec::new(), vec![viewer.next().await.unwrap()]);
    for n in 0..DOCS {
        let body = format!("{{\"n\":{n},\"text\":\"<script>alert(1)</script>\"}}").into();
        let meta = DocMeta::default().with_id(n.to_string());
        load.send(Document { body, meta }).await.unwrap();
        if n % 2_000 == 0 {
            scrapes.push(metrics(at, &mut texts).await);
        }
    }
    let report = load.finish().await;
    scrapes.push(metrics(at, &mut texts).await);
    texts.push_str(&get(at, "/snapshot", &[&format!("Authorization: Bearer {TOKEN}")]).await.body);
    watch.end().await;
    while let Some(event) = viewer.next().await {
        events.push(event);
    }
    texts.push_str(&format!("{events:?}"));
    let textfile = std::fs::read_to_string(folder.path().join("inrush-docs.prom")).unwrap();
    Seen { report, scrapes, events, texts, textfile }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_and_metrics_agree_with_the_report() {
    let Seen { report, scrapes, events, texts, textfile } = run().await;
    assert_eq!((report.counts.docs_read, report.counts.docs_dead_lettered), (u64::from(DOCS), 2));
    assert!(report.counts.rejected_items > 0 && report.counts.retried_items > 0);

    for pair in scrapes.windows(2) {
        for (name, value) in counters(&pair[0]) {
            assert!(pair[1].get(name).is_some_and(|later| *later >= value), "{name} was {value}");
        }
    }
    let last = scrapes.last().unwrap();
    check_totals(last, &report);
    for (name, value) in counters(last) {
        assert!(textfile.contains(&format!("{name} {value}\n")), "{name} {value}: {textfile}");
    }

    let (first, end) = (&events[0], events.last().unwrap());
    assert_eq!((first.0.as_str(), end.0.as_str()), ("snapshot", "end"));
    // Both are read from text, which rounds alike.
    let expected: Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(end.1["reports"], json!([expected]));
    let counts = serde_json::to_value(&report.counts).unwrap();
    let state = events.iter().rev().find(|(name, _)| name == "point").map(|(_, data)| &data["loads"][0]["state"]);
    assert_eq!(state.map(|state| &state["counts"]), Some(&counts));
    // The points since the last snapshot, and those in it.
    let from = events.iter().rposition(|(name, _)| name == "snapshot").unwrap();
    let points = |event: &(String, Value)| event.1["loads"][0]["points"].as_array().cloned().unwrap_or_default();
    let docs: u64 = events[from..].iter().flat_map(points).filter_map(|point| point["docs"].as_u64()).sum();
    assert_eq!(docs, report.counts.docs_read);

    for secret in [PASSWORD, TOKEN, "YWRhOmh1bnRlcjI"] {
        assert!(!texts.contains(secret) && !textfile.contains(secret), "{secret}");
    }
}

fn check_totals(last: &Series, report: &Report) {
    let of = |name: &str, labels: &str| last.get(&format!("{name}{{load=\"docs\"{labels}}}")).copied();
    let counts = &report.counts;
    for (outcome, count) in [
        ("created", counts.docs_created),
        ("updated", counts.docs_updated),
        ("dead_lettered", counts.docs_dead_lettered),
        ("superseded", counts.docs_superseded),
        ("unknown", counts.docs_unknown),
    ] {
        assert_eq!(of("inrush_documents_total", &format!(",outcome=\"{outcome}\"")), Some(count as f64), "{outcome}");
    }
    let documents: f64 =
        last.iter().filter(|(name, _)| name.starts_with("inrush_documents_total")).map(|(_, value)| value).sum();
    assert_eq!(documents, counts.docs_read as f64);
    for (name, count) in [
        ("inrush_requests_total", counts.requests),
        ("inrush_sent_bytes_total", counts.bytes_sent),
        ("inrush_read_bytes_total", counts.bytes_read),
        ("inrush_retried_documents_total", counts.retried_items),
        ("inrush_rejected_documents_total", counts.rejected_items),
        ("inrush_load_exit_status", u64::from(report.exit_code())),
        ("inrush_memory_bytes", 0),
        ("inrush_paused", 0),
    ] {
        assert_eq!(of(name, ""), Some(count as f64), "{name}");
    }
    let letters: f64 =
        last.iter().filter(|(name, _)| name.starts_with("inrush_dead_letters_total")).map(|(_, value)| value).sum();
    assert_eq!(letters, 2.0);
    assert_eq!(of("inrush_load_phase", ",inrush_load_phase=\"done\""), Some(1.0));
    let nodes: f64 =
        last.iter().filter(|(name, _)| name.starts_with("inrush_node_requests_total")).map(|(_, value)| value).sum();
    assert_eq!(nodes, counts.requests as f64);
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_with_the_token_pause_and_stop() {
    let fake = fake().await;
    let config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    let page = PageConfig { address: "auto".parse().unwrap(), token: Some(Secret::new(TOKEN)), parts: None };
    let watch = Watch::start(WatchConfig { page: Some(page), ..WatchConfig::default() }).await.unwrap();
    let at = address(&watch);
    let (recorder, shown) = watch.show("docs");
    let load = ConfiguredLoad::new(config).unwrap().observe(recorder).sender().await.unwrap();
    shown.control(load.pause_handle(), load.stop_handle());
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let mut progress = load.progress();
    let post = async |what: &str| {
        let line = format!("POST /control/{what} HTTP/1.1");
        super::client::send(at, &[&line, "Host: load.example", &bearer, "Content-Length: 0"]).await.status
    };
    assert_eq!(post("pause").await, 204);
    progress.wait_for(|progress| matches!(progress.phase, inrush_load::Phase::Paused(_))).await.unwrap();
    // The event of the pause comes after the progress.
    while !shown.snapshot().state.paused_by_hand {
        tokio::task::yield_now().await;
    }
    assert_eq!(post("resume").await, 204);
    progress.wait_for(|progress| !matches!(progress.phase, inrush_load::Phase::Paused(_))).await.unwrap();
    assert_eq!(post("stop").await, 204);
    let report = load.finish().await;
    assert_eq!(report.status, inrush_load::Status::Interrupted);
    assert_eq!(shown.snapshot().phases.iter().filter(|mark| mark.pause == "by_hand").count(), 1);
    watch.end().await;
}
