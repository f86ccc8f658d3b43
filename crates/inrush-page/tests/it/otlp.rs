//! Metrics and traces that are pushed to a stand-in for a collector.

use std::collections::BTreeSet;
use std::time::Duration;

use inrush_core::DocMeta;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::LoadConfig;
use inrush_load::{Loader, Report};
use inrush_page::{OtlpConfig, Watch, WatchConfig};
use inrush_sources::push::Document;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Answers each request with 200, and hands its head and body over.
async fn collector() -> (String, mpsc::UnboundedReceiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut text = Vec::new();
            let (head, body) = loop {
                stream.read_buf(&mut text).await.unwrap();
                let whole = String::from_utf8_lossy(&text).into_owned();
                let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
                if let Ok(json) = serde_json::from_str(body) {
                    break (head.to_ascii_lowercase(), json);
                }
            };
            let reply =
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            // Before the reply, which may be the last one.
            let _ = sender.send((head, body));
            stream.write_all(reply.as_bytes()).await.unwrap();
        }
    });
    (url, requests)
}

/// The value of a metric without other labels than that of the load, or the sum of its values.
fn sum(request: &Value, name: &str) -> f64 {
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let points = ["sum", "gauge"].iter().find_map(|kind| metric[kind]["dataPoints"].as_array()).unwrap();
    points.iter().map(|point| point["asDouble"].as_f64().unwrap()).sum()
}

#[tokio::test]
async fn the_last_figures_that_a_collector_gets_are_those_of_the_report() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (url, mut requests) = collector().await;
    let variable = |name: &str| match name {
        "OTEL_METRIC_EXPORT_INTERVAL" => Some("20".to_owned()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-tenant=nightly".to_owned()),
        _ => None,
    };
    let otlp = OtlpConfig::new(&url.parse().unwrap(), variable).unwrap();
    let watch = Watch::start(WatchConfig { otlp, ..WatchConfig::default() }).await.unwrap();
    let (recorder, _) = watch.show("docs");
    let config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    let load = Loader::new(config).unwrap().observe(recorder).sender().await.unwrap();
    for n in 0..500 {
        load.send(Document { body: format!("{{\"n\":{n}}}").into(), meta: DocMeta::default() }).await.unwrap();
    }
    // One of an interval.
    let (head, _) = requests.recv().await.unwrap();
    assert!(head.starts_with("post /v1/metrics http/1.1"), "{head}");
    assert!(head.contains("content-type: application/json") && head.contains("x-tenant: nightly"), "{head}");
    let report = load.finish().await;
    watch.end().await;
    let mut last = None;
    while let Ok((_, body)) = requests.try_recv() {
        last = Some(body);
    }
    let last = last.unwrap();
    assert_eq!(sum(&last, "inrush_documents"), report.counts.docs_read as f64);
    assert_eq!(sum(&last, "inrush_sent_bytes"), report.counts.bytes_sent as f64);
    assert_eq!(sum(&last, "inrush_load_exit_status"), 0.0);
}

/// The spans of all requests, by the number of their bulk request.
fn spans(requests: &[(String, Value)]) -> Vec<(u64, Value)> {
    let of = |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let number = |span: &Value| {
        let attributes = span["attributes"].as_array().unwrap();
        let number = attributes.iter().find(|one| one["key"] == "inrush.request").unwrap();
        number["value"]["intValue"].as_str().unwrap().parse().unwrap()
    };
    requests.iter().flat_map(|(_, body)| of(body)).map(|span| (number(&span), span)).collect()
}

/// Loads with a sampler. Returns the requests for traces and the report.
async fn traced(sampler: &str, argument: Option<&str>) -> (Vec<(String, Value)>, Report) {
    let faults = [Rule::new(Fault::ResetAfterApplying).probability(0.1)];
    let fake = FakeCluster::start(FakeConfig::default().faults(Faults::new(faults))).await.unwrap();
    let (url, mut requests) = collector().await;
    let variable = |name: &str| match name {
        "OTEL_TRACES_SAMPLER" => Some(sampler.to_owned()),
        "OTEL_TRACES_SAMPLER_ARG" => argument.map(str::to_owned),
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" => Some("20".to_owned()),
        _ => None,
    };
    let otlp = OtlpConfig::new(&url.parse().unwrap(), variable).unwrap();
    let watch = Watch::start(WatchConfig { otlp, ..WatchConfig::default() }).await.unwrap();
    let (recorder, _) = watch.show("docs");
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.limits.batch_docs = Some(10);
    config.limits.retry_wait = Duration::from_millis(2);
    let load = Loader::new(config).unwrap().observe(recorder).sender().await.unwrap();
    for n in 0..1_000 {
        let meta = DocMeta::default().with_id(n.to_string());
        load.send(Document { body: format!("{{\"n\":{n}}}").into(), meta }).await.unwrap();
    }
    let report = load.finish().await;
    watch.end().await;
    let mut traces = Vec::new();
    while let Ok(request) = requests.try_recv() {
        if request.0.starts_with("post /v1/traces http/1.1") {
            traces.push(request);
        }
    }
    (traces, report)
}

#[tokio::test]
async fn each_request_is_a_trace_or_a_share_of_them() {
    let (traces, report) = traced("always_on", None).await;
    let all = spans(&traces);
    let numbers: BTreeSet<u64> = all.iter().map(|(number, _)| *number).collect();
    assert_eq!((all.len() as u64, numbers.len() as u64), (report.counts.requests, report.counts.requests));
    assert!(traces.len() > 1 && traces.iter().all(|(head, _)| head.contains("content-type: application/json")));
    let lost = all.iter().filter(|(_, span)| span["status"]["message"] == "lost").count();
    assert!(lost > 0 && (lost as u64) < report.counts.requests, "{lost}");
    let resource = &traces[0].1["resourceSpans"][0]["resource"]["attributes"];
    assert!(resource.as_array().unwrap().iter().any(|one| one["value"]["stringValue"] == "inrush"));

    let (traces, report) = traced("parentbased_traceidratio", Some("0.3")).await;
    let share = spans(&traces).len() as f64 / report.counts.requests as f64;
    assert!((0.1..0.55).contains(&share), "{share}");
    assert!(traced("always_off", None).await.0.is_empty());
}

#[tokio::test]
async fn a_collector_that_is_away_is_no_problem_of_the_load() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let otlp = OtlpConfig::new(&format!("http://{closed}").parse().unwrap(), |_| None).unwrap();
    let watch = Watch::start(WatchConfig { otlp, ..WatchConfig::default() }).await.unwrap();
    watch.end().await;
}
