//! Metrics that are pushed to a stand-in for a collector.

use inrush_core::DocMeta;
use inrush_fake::{FakeCluster, FakeConfig};
use inrush_load::ConfiguredLoad;
use inrush_load::config::LoadConfig;
use inrush_page::{OtlpConfig, Watch, WatchConfig};
use inrush_sources::push::Document;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
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
    let load = ConfiguredLoad::new(config).unwrap().observe(recorder).sender().await.unwrap();
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

#[tokio::test]
async fn a_collector_that_is_away_is_no_problem_of_the_load() {
    // A bound socket that does not listen: no other test can have its port.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let otlp = OtlpConfig::new(&format!("http://{}", closed.local_addr().unwrap()).parse().unwrap(), |_| None).unwrap();
    let watch = Watch::start(WatchConfig { otlp, ..WatchConfig::default() }).await.unwrap();
    watch.end().await;
}
