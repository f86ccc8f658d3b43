//! A cluster of three OpenSearch nodes on this machine, one of which is killed in the middle of a
//! load and brought back.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use inrush_load::config::{DeadLetters, Durability, LoadConfig, Rate};
use inrush_load::{ConfiguredLoad, Status, VerifiedState};
use inrush_node::{NodeSpec, OwnedNode};
use inrush_testbed::client::Client;
use inrush_testbed::users;
use serde_json::{Value, json};

use crate::common::{Lines, documents};
use crate::server::turn::{Needs, Turn};
use crate::server::{self, Version};

const DOCS: u64 = 100_000;
const HEAP_MIB: u32 = 512;

/// Ports that are free now, all different.
fn ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// Starts nodes of one cluster, which have `settings` besides their own.
pub async fn start(folder: &Path, count: usize, settings: &[(String, String)]) -> Vec<OwnedNode> {
    let ports = ports(count);
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut nodes = Vec::new();
    for (at, port) in ports.into_iter().enumerate() {
        let distribution = Version::OpenSearch3.distribution();
        let mut spec = NodeSpec::new(distribution, format!("n{at}"), folder.join(format!("n{at}")));
        (spec.heap_mib, spec.transport_port) = (HEAP_MIB, Some(port));
        let mut set = |name: &str, value: String| spec.settings.push((name.to_owned(), value));
        set("cluster.name", "inrush-several".to_owned());
        set("discovery.type", String::new());
        set("discovery.seed_hosts", json!(hosts).to_string());
        set("cluster.initial_cluster_manager_nodes", "[n0]".to_owned());
        settings.iter().for_each(|(name, value)| set(name, value.clone()));
        // The first one is a cluster of its own at first, which the others join.
        nodes.push(server::start(spec).await.unwrap());
    }
    nodes
}

pub async fn ask(client: &Client, method: &str, path: &str, body: Value) -> Value {
    let reply = client.json(method, path, body).await.unwrap();
    assert!(reply.status < 300, "{method} {path}: {}", reply.json());
    reply.json()
}

async fn numbers(client: &Client, index: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let first = json!({"size": 10_000, "sort": ["_doc"], "_source": ["n"]});
    let mut page = ask(client, "POST", &format!("/{index}/_search?scroll=1m"), first).await;
    loop {
        let hits = page["hits"]["hits"].as_array().cloned().unwrap_or_default();
        if hits.is_empty() {
            return numbers;
        }
        numbers.extend(hits.iter().map(|hit| hit["_source"]["n"].as_u64().unwrap()));
        let next = json!({"scroll": "1m", "scroll_id": page["_scroll_id"]});
        page = ask(client, "POST", "/_search/scroll", next).await;
    }
}

/// A load goes to all three nodes; the one at `victim` is killed in its middle and comes back.
async fn lose_one(nodes: &mut [OwnedNode], victim: usize, durability: Durability) {
    let index = format!("docs-{}", durability.name());
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(nodes.iter().map(OwnedNode::url).collect(), index.parse().unwrap());
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    config.id = Some("id".parse().unwrap());
    (config.create.shards, config.create.replicas) = (Some(3), Some(1));
    config.durability = durability;
    config.guard.state = Some(folder.path().join("state"));
    config.limits.batch_bytes = Some(64 << 10);
    config.limits.memory = 4 << 20;
    // About ten seconds, so that the node comes back into a load that goes on or has just ended.
    config.limits.max_rate = Some(Rate::Docs(10_000));
    let source = Lines::new(documents(DOCS, DOCS));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > DOCS / 5).await.unwrap();
    nodes[victim].kill().unwrap();
    let at = load.progress().borrow().docs_settled;
    assert!(at < DOCS, "the load was over before the crash");
    nodes[victim].restart().await.unwrap();
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    let client = Client::new(&nodes[(victim + 1) % 3].url()).unwrap();
    let path = format!("/_cluster/health/{index}?wait_for_status=green&wait_for_nodes=3&timeout=120s");
    let health = ask(&client, "GET", &path, Value::Null).await;
    assert_eq!((&health["status"], &health["active_shards"]), (&json!("green"), &json!(6)), "{health}");
    let numbers = numbers(&client, &index).await;
    assert_eq!(numbers.len() as u64, DOCS, "nothing twice");
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), (0..DOCS).collect());
    println!(
        "{index}: node {victim} killed after {at} documents: all there, {} items sent again, green",
        report.counts.retried_items
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_nodes_is_killed_and_comes_back() {
    let _turn = Turn::take(Needs::nodes(3)).await;
    let folder = server::folder();
    let mut nodes = start(&folder, 3, &[]).await;
    let client = Client::new(&nodes[0].url()).unwrap();
    let health = ask(&client, "GET", "/_cluster/health?wait_for_nodes=3&timeout=60s", Value::Null).await;
    assert_eq!(health["number_of_nodes"], 3, "{health}");
    lose_one(&mut nodes, 1, Durability::Request).await;
    // The one that was the cluster's manager at first.
    lose_one(&mut nodes, 0, Durability::Async).await;
    for node in nodes {
        tokio::time::timeout(Duration::from_secs(90), node.stop()).await.unwrap().unwrap();
    }
    users::delete(&folder).unwrap();
}
