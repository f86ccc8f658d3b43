//! The local node, on a real OpenSearch.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use inrush_node as node;
use inrush_node::{Log, NodeError, NodeSpec, OwnedNode, RunState, StartOptions};

use crate::common::own_process;
use crate::server::turn::{Needs, Turn};
use crate::server::{self, HEAP_MIB, Version};

const ROOT: &str = "INRUSH_NODE_ROOT";

/// A folder that the node's user can reach; deleted at the end.
fn folder() -> PathBuf {
    let folder = server::folder();
    server::delete_at_end(&folder);
    folder
}

/// The body of the answer to one request.
fn ask(url: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.0 2"), "{method} {path}: {reply}");
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn put_document(url: &str) {
    ask(url, "PUT", "/kept/_doc/1?refresh=true", "{\"n\":1}");
}

fn document(url: &str) -> String {
    ask(url, "GET", "/kept/_source/1", "")
}

fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_ones_own_is_killed_restarted_and_stopped() {
    let _turn = Turn::take(Needs::nodes(1)).await;
    let folder = folder();
    let distribution = Version::OpenSearch3.distribution();
    let spec = NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(distribution.clone(), "own", folder.join("node")) };
    let mut node = server::start(spec).await.unwrap();
    let (url, first) = (node.url(), node.pid());
    put_document(&url);
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let same_port = NodeSpec { port: Some(port), ..NodeSpec::new(distribution, "other", folder.join("other-node")) };
    assert!(matches!(OwnedNode::start(same_port).await, Err(NodeError::PortTaken(taken)) if taken == port));

    node.kill().unwrap();
    assert!(is_gone(first));
    TcpStream::connect(url.trim_start_matches("http://")).unwrap_err();
    node.restart().await.unwrap();
    assert_eq!(node.url(), url);
    assert_ne!(node.pid(), first);
    assert_eq!(document(&url), "{\"n\":1}");

    let second = node.pid();
    node.stop().await.unwrap();
    assert!(is_gone(second));
    let log = fs::read_to_string(folder.join("node/logs/console.log")).unwrap();
    assert!(log.contains("closed"), "stopped in order: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_start_says_why() {
    let _turn = Turn::take(Needs::nodes(1)).await;
    let folder = folder();
    let spec = NodeSpec {
        settings: vec![("no.such.setting".into(), "1".into())],
        heap_mib: HEAP_MIB,
        ..NodeSpec::new(Version::OpenSearch3.distribution(), "broken", folder.join("node"))
    };
    match server::start(spec).await {
        Err(NodeError::Died { log, tail }) => {
            assert!(tail.contains("no.such.setting"), "{tail}");
            assert!(log.is_file());
        }
        other => panic!("{other:?}"),
    }
}

/// Runs again in a process of its own, since the environment says where nodes are kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_managed_node_outlives_its_start() {
    if let Some(mut alone) = own_process::command(module_path!(), "a_managed_node_outlives_its_start") {
        let _turn = Turn::take(Needs::nodes(1)).await;
        let _fetching = server::fetching(&Version::OpenSearch3.distribution()).await;
        let root = folder();
        alone.env(ROOT, root);
        tokio::task::spawn_blocking(|| own_process::passes(alone)).await.unwrap();
        return;
    }
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let data = root.join("my data");
    let options = || StartOptions { heap_mib: Some(HEAP_MIB), data: Some(data.clone()), ..StartOptions::default() };
    assert_eq!(node::status("default").await.unwrap().state, RunState::Stopped);

    // Two commands at once start one node.
    let (one, other) = tokio::join!(node::start(options()), node::start(options()));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.url, other.url);
    assert!(one.already_running != other.already_running, "{one:?} {other:?}");
    put_document(&one.url);

    let status = node::status("default").await.unwrap();
    assert_eq!(status.state, RunState::Running);
    let first = status.node.unwrap();
    assert_eq!((first.url.as_str(), first.heap_mib, &first.data), (one.url.as_str(), HEAP_MIB, &data));
    let lines = Log::open("default").unwrap().last(5_000).unwrap();
    assert!(lines.iter().any(|line| line.contains("started")), "{lines:?}");

    // As the kernel does when memory runs out.
    let killed = Command::new("kill").args(["-9", &first.pid.to_string()]).status().unwrap();
    assert!(killed.success());
    while node::status("default").await.unwrap().state == RunState::Running {
        tokio::task::yield_now().await;
    }
    assert_eq!(node::status("default").await.unwrap().state, RunState::Crashed);

    let again = node::start(options()).await.unwrap();
    assert!(!again.already_running);
    assert_eq!(document(&again.url), "{\"n\":1}");

    assert!(node::stop("default", true).await.unwrap());
    assert!(!node::stop("default", false).await.unwrap());
    assert_eq!(node::status("default").await.unwrap().state, RunState::Stopped);
    assert!(!data.exists());
}
