//! Three nodes of one server on this machine, which form a cluster, and what happens to them: they
//! are killed, frozen and restarted.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_node::{KnownProduct, NodeSpec, OwnedNode};
use inrush_testbed::client::Client;
use inrush_testbed::users;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::server::turn::{Needs, Turn};
use crate::server::{self, Version};

pub const COUNT: usize = 3;
const HEAP_MIB: u32 = 512;
/// The longest wait for an answer. A node that others wait for may take this long.
const ANSWER: Duration = Duration::from_secs(30);
/// The longest wait for the cluster to be whole.
const WHOLE: Duration = Duration::from_secs(300);
/// A task that takes longer does not end.
const ENDLESS: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_millis(100);

/// How soon nodes take another one for gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detection {
    /// After half a minute, as the servers do by default.
    Default,
    /// After some seconds.
    Quick,
}

/// Three nodes of one cluster. Killed when they are dropped, also frozen ones.
pub struct ThreeNodes {
    nodes: Vec<OwnedNode>,
    frozen: [bool; COUNT],
    /// Tasks of earlier loads that have not ended.
    endless: BTreeSet<String>,
    /// How many times the cluster hung and was restarted.
    pub restarts: u32,
    /// Ports of the nodes for each other.
    transport_ports: Vec<u16>,
    /// A folder for the nodes, and for the programs of the test.
    pub folder: PathBuf,
    /// Product and version.
    pub title: String,
    _turn: Arc<Turn>,
}

/// A port that is free now.
pub fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

impl ThreeNodes {
    pub async fn start(version: Version, detection: Detection) -> ThreeNodes {
        let turn = Turn::take(Needs::nodes(COUNT)).await;
        let (folder, transport_ports) = (server::folder(), free_ports(COUNT));
        if let Some(fetching) = server::fetching(&version.distribution()).await {
            // A node fetches its server. No node of a cluster can wait for that of another one.
            drop(fetching);
            let alone = NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(version.distribution(), "n", folder.join("n")) };
            server::start(alone).await.unwrap().stop().await.unwrap();
        }
        let spec = |at: usize| {
            let distribution = version.distribution();
            let settings = settings(distribution.product, detection, &transport_ports);
            let mut spec = NodeSpec::new(distribution, format!("n{at}"), folder.join(format!("n{at}")));
            (spec.heap_mib, spec.transport_port, spec.settings) = (HEAP_MIB, Some(transport_ports[at]), settings);
            spec
        };
        let started = tokio::join!(server::start(spec(0)), server::start(spec(1)), server::start(spec(2)));
        let nodes = [started.0, started.1, started.2].map(Result::unwrap).into();
        let title = version.distribution().title();
        let nodes = ThreeNodes {
            nodes,
            frozen: [false; COUNT],
            endless: BTreeSet::new(),
            restarts: 0,
            transport_ports,
            folder,
            title,
            _turn: turn,
        };
        nodes.whole().await;
        nodes
    }

    pub fn url(&self, at: usize) -> String {
        self.nodes[at].url()
    }

    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(OwnedNode::url).collect()
    }

    /// The answer of a node and its status. `None` where it does not answer.
    async fn ask_at(&self, at: usize, method: &str, path: &str, body: Value) -> Option<(u16, Value)> {
        let client = Client::new(&self.url(at)).unwrap();
        let reply = tokio::time::timeout(ANSWER, client.json(method, path, body)).await.ok()?.ok()?;
        Some((reply.status, reply.json()))
    }

    /// The answer to a request; fails where the cluster refuses it.
    pub async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let at = self.frozen.iter().position(|frozen| !frozen).expect("a node that answers");
        let answer = self.ask_at(at, method, path, body).await;
        match answer {
            Some((status, reply)) if status < 300 => reply,
            other => panic!("{}: {method} {path}: {other:?}", self.title),
        }
    }

    /// The node that is the cluster's manager.
    pub async fn manager(&self) -> usize {
        let rows = self.ask("GET", "/_cat/nodes?h=name,m&format=json", Value::Null).await;
        let is_manager = |row: &&Value| row.as_object().unwrap().values().any(|value| value == "*");
        number(&rows.as_array().unwrap().iter().find(is_manager).expect("a manager")["name"])
    }

    /// The node with most primary shards of an index or data stream.
    pub async fn holder(&self, index: &str) -> usize {
        let rows = self.ask("GET", "/_cat/shards?h=index,prirep,node&format=json", Value::Null).await;
        let mut held = [0; COUNT];
        for row in rows.as_array().unwrap() {
            if row["prirep"] == "p" && row["index"].as_str().unwrap().contains(index) {
                held[number(&row["node"])] += 1;
            }
        }
        (0..COUNT).max_by_key(|at| held[*at]).unwrap()
    }

    fn signal(&self, at: usize, signal: Signal) {
        let pid = Pid::from_raw(self.nodes[at].pid().try_into().unwrap()).unwrap();
        kill_process_group(pid, signal).unwrap();
    }

    /// All processes of a node stand still: its server, the launcher and the controller.
    pub fn freeze(&mut self, at: usize) {
        self.signal(at, Signal::STOP);
        self.frozen[at] = true;
    }

    pub fn thaw(&mut self, at: usize) {
        self.signal(at, Signal::CONT);
        self.frozen[at] = false;
    }

    /// Kills nodes, as a crash of their machines does, and starts them again.
    pub async fn crash(&mut self, victims: &[usize]) {
        for at in victims {
            self.nodes[*at].kill().unwrap();
        }
        // Both at once: what has its only copy on one of them is red until both are back.
        let mut ended = self.nodes.iter_mut().enumerate().filter(|(at, _)| victims.contains(at)).map(|(_, node)| node);
        let restart = async |node: Option<&mut OwnedNode>| {
            if let Some(node) = node {
                node.restart().await.unwrap();
            }
        };
        let pair = (ended.next(), ended.next());
        tokio::join!(restart(pair.0), restart(pair.1));
    }

    /// Ends each node in order and starts it again, and waits for the cluster between them.
    pub async fn roll(&mut self) {
        for at in 0..COUNT {
            self.nodes[at].end().await.unwrap();
            self.nodes[at].restart().await.unwrap();
            self.whole().await;
        }
    }

    /// Waits until all nodes are there and all copies of all shards are in use.
    pub async fn whole(&self) {
        if let Err(why) = self.is_whole().await {
            panic!("{}: the cluster is not whole: {why}", self.title);
        }
    }

    /// The same, and returns when it was whole. A cluster that hangs is restarted: OpenSearch 3.6
    /// can keep operations for ever after a node was killed, and the recovery of a copy waits for
    /// them.
    async fn whole_after_a_restart(&mut self) -> Instant {
        if let Err(why) = self.is_whole().await {
            println!("{}: the cluster hangs and is restarted: {why}", self.title);
            self.restarts += 1;
            for node in &mut self.nodes {
                node.kill().unwrap();
            }
            let [one, two, three] = self.nodes.as_mut_slice() else { panic!("three nodes") };
            let restarted = tokio::join!(one.restart(), two.restart(), three.restart());
            for restarted in [restarted.0, restarted.1, restarted.2] {
                restarted.unwrap();
            }
            self.whole().await;
        }
        Instant::now()
    }

    async fn is_whole(&self) -> Result<(), String> {
        let path = "/_cluster/health?wait_for_status=green&wait_for_nodes=3&wait_for_no_initializing_shards=true&\
                    wait_for_no_relocating_shards=true&timeout=10s";
        let began = Instant::now();
        loop {
            let answer = self.ask_at(0, "GET", path, Value::Null).await;
            match answer {
                Some((200, health)) if health["timed_out"] == false => return Ok(()),
                other if began.elapsed() > WHOLE => return Err(format!("{other:?}")),
                _ => tokio::time::sleep(EVERY).await,
            }
        }
    }

    /// Waits until the cluster is whole and no node has a request left that writes: neither one
    /// that it works on, nor one that it has not read. Returns how many have not ended within half
    /// a minute; a node that left the cluster and came back may keep some for ever.
    pub async fn settled(&mut self) -> usize {
        let mut ports = self.transport_ports.clone();
        ports.extend(self.urls().iter().map(|url| url.rsplit(':').next().unwrap().parse::<u16>().unwrap()));
        let began = self.whole_after_a_restart().await;
        loop {
            self.whole().await;
            let is_read = !unread(&ports);
            let tasks: BTreeSet<String> = self.tasks().await.difference(&self.endless).cloned().collect();
            if is_read && (tasks.is_empty() || began.elapsed() > ENDLESS) {
                let left = tasks.len();
                self.endless.extend(tasks);
                return left;
            }
            assert!(began.elapsed() < WHOLE, "{}: requests are not read", self.title);
            tokio::time::sleep(EVERY).await;
        }
    }

    /// The tasks that write.
    async fn tasks(&self) -> BTreeSet<String> {
        let reply = self.ask("GET", "/_tasks?actions=indices:data/write/*&timeout=10s", Value::Null).await;
        assert!(reply["node_failures"].is_null(), "{reply}");
        let of_node = |node: &Value| node["tasks"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        reply["nodes"].as_object().unwrap().values().flat_map(of_node).collect()
    }

    /// All documents of an index or data stream.
    pub async fn documents(&self, index: &str) -> Vec<Value> {
        self.ask("POST", &format!("/{index}/_refresh"), Value::Null).await;
        let first = json!({"size": 5_000, "sort": ["_doc"]});
        let mut page = self.ask("POST", &format!("/{index}/_search?scroll=2m"), first).await;
        let mut documents = Vec::new();
        loop {
            assert_eq!(page["_shards"]["failed"], 0, "{page}");
            let Value::Array(hits) = page["hits"]["hits"].take() else { panic!("{page}") };
            if hits.is_empty() {
                self.ask("DELETE", "/_search/scroll", json!({"scroll_id": page["_scroll_id"]})).await;
                return documents;
            }
            documents.extend(hits);
            let next = json!({"scroll": "2m", "scroll_id": page["_scroll_id"]});
            page = self.ask("POST", "/_search/scroll", next).await;
        }
    }

    pub async fn stop(self) {
        let folder = self.folder.clone();
        let mut stopping: JoinSet<_> = self.nodes.into_iter().map(OwnedNode::stop).collect();
        while let Some(stopped) = stopping.join_next().await {
            stopped.unwrap().unwrap();
        }
        users::delete(&folder).unwrap();
    }
}

fn settings(product: KnownProduct, detection: Detection, ports: &[u16]) -> Vec<(String, String)> {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut settings = vec![
        ("cluster.name".to_owned(), "inrush-three".to_owned()),
        ("discovery.type".to_owned(), String::new()),
        ("discovery.seed_hosts".to_owned(), json!(hosts).to_string()),
    ];
    let mut set = |name: &str, value: &str| settings.push((name.to_owned(), value.to_owned()));
    match product {
        KnownProduct::OpenSearch => set("cluster.initial_cluster_manager_nodes", "[n0, n1, n2]"),
        KnownProduct::Elasticsearch => set("cluster.initial_master_nodes", "[n0, n1, n2]"),
    }
    if detection == Detection::Quick {
        for check in ["follower_check", "leader_check"] {
            set(&format!("cluster.fault_detection.{check}.timeout"), "2s");
            set(&format!("cluster.fault_detection.{check}.retry_count"), "2");
        }
    }
    settings
}

/// The number of a node by its name.
fn number(name: &Value) -> usize {
    let name = name.as_str().unwrap();
    name.strip_prefix('n').and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("not a node's name: {name}"))
}

/// Whether a connection to one of these ports has bytes that its process has not read, or waits to
/// be accepted (proc(5), `/proc/net/tcp`).
fn unread(ports: &[u16]) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().skip(1)).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let after = |field: &str| u64::from_str_radix(field.rsplit(':').next().unwrap(), 16).unwrap();
        ports.iter().any(|port| u64::from(*port) == after(fields[1])) && after(fields[4]) > 0
    })
}
