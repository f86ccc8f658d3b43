//! Loads in several processes that report to the page of their job.

use std::net::SocketAddr;

use inrush_cluster::transport::Secret;
use inrush_core::DocMeta;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report};
use inrush_page::{JobPage, PageConfig, Watch, WatchConfig};
use inrush_sources::push::Document;
use serde_json::Value;

use super::client::{address, get, send};
use super::openmetrics::read;

const PARTS: &str = "parts-0123456789abcdef";
const TOKEN: &str = "viewers-0123456789abcdef";

async fn page() -> Watch {
    let (token, parts) = (Some(Secret::new(TOKEN)), Some(Secret::new(PARTS)));
    let page = Some(PageConfig { address: "auto".parse().unwrap(), token, parts });
    Watch::start(WatchConfig { page, ..WatchConfig::default() }).await.unwrap()
}

/// A part of the job, as its own process would run it.
async fn part(fake: &FakeCluster, at: SocketAddr, name: &str, docs: std::ops::Range<u32>) -> Report {
    let job = JobPage {
        url: format!("http://{at}"),
        token: Secret::new(PARTS),
        name: name.to_owned(),
        host: "executor-1".to_owned(),
    };
    let mut watch = Watch::start(WatchConfig { job: Some(job), ..WatchConfig::default() }).await.unwrap();
    let (recorder, shown) = watch.show("docs");
    watch.report(&shown).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.dead_letters = DeadLetters::Folder(folder.path().to_owned());
    let load = ConfiguredLoad::new(config).unwrap().observe(recorder).sender().await.unwrap();
    for n in docs {
        let meta = DocMeta::default().with_id(n.to_string());
        load.send(Document { body: format!("{{\"n\":{n},\"x\":1}}").into(), meta }).await.unwrap();
    }
    let report = load.finish().await;
    watch.end().await;
    report
}

async fn snapshot(at: SocketAddr) -> Value {
    let reply = get(at, "/snapshot", &[&format!("Authorization: Bearer {TOKEN}")]).await;
    serde_json::from_str(&reply.body).unwrap()
}

#[tokio::test]
async fn the_page_of_a_job_shows_the_sums_of_its_parts() {
    let faults = Faults::new([Rule::new(Fault::ItemBadRequest).containing("\"n\":7,")]);
    let fake = FakeCluster::start(FakeConfig::default().faults(faults)).await.unwrap();
    let watch = page().await;
    let at = address(&watch);
    let (recorder, _) = watch.show("docs");
    let job = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    let job = ConfiguredLoad::new(job).unwrap().observe(recorder).sender().await.unwrap();
    let (a, b) = tokio::join!(part(&fake, at, "partition 0", 0..500), part(&fake, at, "partition 1", 500..1_000));
    assert_eq!((a.counts.docs_created, b.counts.docs_created), (499, 500));
    let shown = snapshot(at).await;
    let load = &shown["loads"][0];
    let counts = &load["state"]["counts"];
    assert_eq!((counts["docs_read"].as_u64(), counts["docs_created"].as_u64()), (Some(1_000), Some(999)));
    let parts = load["state"]["parts"].as_array().unwrap();
    let told: Vec<_> =
        parts.iter().map(|part| (part["docs"].as_u64().unwrap(), &part["phase"], &part["host"])).collect();
    assert_eq!(told, [(500, &"done".into(), &"executor-1".into()), (500, &"done".into(), &"executor-1".into())]);
    assert_eq!((&load["errors"][0]["count"], load["errors"][0]["examples"].as_array().unwrap().len()), (&1.into(), 1));
    assert_eq!(load["state"]["nodes"][0]["requests"].as_u64(), Some(a.counts.requests + b.counts.requests));
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let metrics = read(&get(at, "/metrics", &[&bearer, "Accept: application/openmetrics-text"]).await.body);
    let created = metrics.iter().find(|(name, _)| name.contains("outcome=\"created\"")).unwrap();
    assert_eq!(*created.1, 999.0);
    // The job itself is not controlled: its parts are in other processes.
    let control = send(at, &["POST /control/stop HTTP/1.1", "Host: x", &bearer, "Content-Length: 0"]).await;
    assert_eq!((control.status, &shown["control"]), (403, &false.into()));
    drop(job.finish().await);
    watch.end().await;
}

#[tokio::test]
async fn only_parts_report_and_parts_see_nothing() {
    let watch = page().await;
    let at = address(&watch);
    let post = |token: &str, body: &str| {
        let head = format!(
            "POST /parts HTTP/1.1\r\nHost: driver\r\nAuthorization: Bearer {token}\r\nContent-Length: {}",
            body.len()
        );
        let text = format!("{head}\r\n\r\n{body}");
        async move { send(at, &[&text]).await }
    };
    assert_eq!(post(TOKEN, "{}").await.status, 403, "the token of viewers");
    assert_eq!(post("", "{}").await.status, 403);
    assert_eq!(post(PARTS, "no JSON").await.status, 400);
    let reply = post(PARTS, "{\"name\":\"a\",\"unknown\":1}").await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "1"));
    assert_eq!(get(at, "/snapshot", &[&format!("Authorization: Bearer {PARTS}")]).await.status, 401);
    assert_eq!(get(at, "/parts", &[&format!("Authorization: Bearer {PARTS}")]).await.status, 405);
    watch.end().await;
}

/// A part whose job has no page, or one that it does not reach, loads as without it.
#[tokio::test]
async fn a_page_that_is_away_is_no_problem_of_a_part() {
    // A bound socket that does not listen: no other test can have its port.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    assert_eq!(part(&fake, closed.local_addr().unwrap(), "partition 0", 0..50).await.counts.docs_created, 50);
}
