//! The proxy in front of the fake cluster.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use inrush_fake::{FakeCluster, FakeConfig};
use inrush_testbed::client::Client;
use inrush_testbed::{Proxy, ProxyConfig};
use tokio::net::TcpSocket;

async fn proxied(configure: impl FnOnce(&mut ProxyConfig)) -> (FakeCluster, Proxy, Client) {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let mut config = ProxyConfig::new(fake.url());
    configure(&mut config);
    let proxy = Proxy::start(config).await.unwrap();
    let client = Client::new(&proxy.url()).unwrap();
    (fake, proxy, client)
}

fn body(from: u64, items: u64) -> String {
    (from..from + items).map(|n| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":{n}}}\n")).collect()
}

#[tokio::test]
async fn rejected_items_never_reach_the_server() {
    let (fake, proxy, client) = proxied(|config| config.reject_items_percent = 30.0).await;
    let mut rejected = 0;
    for request in 0..100 {
        let path = "/docs/_bulk?filter_path=took,errors,items.*.status,items.*.error.type";
        let reply = client.bulk(path, body(request * 100, 100)).await.unwrap().json();
        let items = reply["items"].as_array().unwrap();
        assert_eq!(items.len(), 100);
        let there: BTreeSet<String> = fake.documents("docs").into_iter().map(|document| document.id).collect();
        for (n, item) in (request * 100..).zip(items) {
            let item = &item["index"];
            let there = there.contains(&n.to_string());
            assert_eq!(there, item["status"] == 201, "{n}: {item}");
            assert!(there || item["error"]["type"] == "es_rejected_execution_exception", "{item}");
            assert!(item.get("_index").is_none(), "filtered out: {item}");
            rejected += u64::from(!there);
        }
    }
    let stats = proxy.stats();
    assert_eq!((stats.items, stats.items_rejected, stats.answers, stats.resets), (10_000, rejected, 100, 0));
    assert!((2_800..3_200).contains(&rejected), "{rejected}");
}

#[tokio::test]
async fn connections_break_when_the_work_is_done() {
    let (fake, proxy, client) = proxied(|config| config.reset_after_applying_percent = 20.0).await;
    let mut broken = 0;
    for n in 0..200 {
        broken += u64::from(client.bulk("/docs/_bulk", body(n, 1)).await.is_err());
    }
    assert_eq!(fake.documents("docs").len(), 200);
    let stats = proxy.stats();
    assert_eq!((stats.answers, stats.resets), (200, broken));
    assert!((20..60).contains(&broken), "{broken}");
}

#[tokio::test]
async fn an_absent_server_is_unavailable() {
    // A bound socket that does not listen: no other test can have its port.
    let absent = TcpSocket::new_v4().unwrap();
    absent.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let proxy = Proxy::start(ProxyConfig::new(format!("http://{}", absent.local_addr().unwrap()))).await.unwrap();
    let client = Client::new(&proxy.url()).unwrap();
    assert_eq!(client.json("GET", "/", serde_json::Value::Null).await.unwrap().status, 503);
}

#[tokio::test]
async fn the_way_there_is_long_and_narrow() {
    let (fake, _proxy, client) = proxied(|config| {
        config.delay = Duration::from_millis(60);
        config.bits_per_second = Some(8_000_000);
    })
    .await;
    let started = Instant::now();
    let reply = client.bulk("/docs/_bulk", body(0, 5_000)).await.unwrap();
    // The bytes give the least duration; a slow machine only takes longer.
    let least =
        Duration::from_millis(60) + Duration::from_secs_f64((body(0, 5_000).len() + reply.body.len()) as f64 / 1e6);
    assert!(started.elapsed() >= least, "{:?} of {least:?}", started.elapsed());
    assert_eq!(fake.documents("docs").len(), 5_000);
}
