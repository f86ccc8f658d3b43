//! Real servers for tests. A test takes one with a single call at its beginning, which waits for
//! the test's turn:
//!
//! | call | node | beside others |
//! |---|---|---|
//! | [`Server::shared`], [`Server::pair`] | one a version | yes; names begin with the module's |
//! | [`Server::quiet`] | the same | no other test uses this node meanwhile |
//! | [`Server::alone`] | the same | no other test runs meanwhile: for measurements |
//! | [`Server::own`], [`Server::own_with`] | its own: to kill, restart, configure or fill | yes |
//!
//! A shared node has to be left as it was found but for indices. Nodes run as another user than the
//! tests where those may choose ([`users`]).
// Each executable uses a part of it.
#![allow(dead_code)]

mod shared;
pub mod turn;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_fake::Flavor;
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_node::{Distribution, NodeError, NodeSpec, OwnedNode};
use inrush_testbed::client::Client;
use inrush_testbed::guardian::Guardian;
use inrush_testbed::users;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};
use turn::{Needs, Turn};

/// Java heap of a node of a test's own, MiB. Such a node takes about 1.5 GB.
pub const HEAP_MIB: u32 = 768;

/// A server that the tests run against. Which tests run on which one is a decision (0150).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    OpenSearch38,
    OpenSearch3,
    OpenSearch2,
    Elasticsearch9,
    Elasticsearch8,
    Elasticsearch7,
}

impl Version {
    /// How many there are.
    pub const COUNT: usize = 6;

    /// The server in the version that the fake cluster imitates: only [`Flavor`] says which.
    /// `INRUSH_SERVERS`, such as `opensearch-3.6.0=3.8.0,elasticsearch-8.19.21=9.5.3`, puts others
    /// in their places, so that any test runs on any version.
    pub fn distribution(self) -> Distribution {
        let flavor = match self {
            Version::OpenSearch38 => Flavor::opensearch_3_8(),
            Version::OpenSearch3 => Flavor::opensearch_3(),
            Version::OpenSearch2 => Flavor::opensearch_2(),
            Version::Elasticsearch9 => Flavor::elasticsearch_9(),
            Version::Elasticsearch8 => Flavor::elasticsearch_8(),
            Version::Elasticsearch7 => Flavor::elasticsearch_7(),
        };
        let name = format!("{}-{}", flavor.product(), flavor.version());
        let others = std::env::var("INRUSH_SERVERS").unwrap_or_default();
        let other = others.split(',').find_map(|pair| pair.split_once('=').filter(|(of, _)| *of == name));
        let version = other.map_or(flavor.version(), |(_, version)| version);
        match flavor.is_elasticsearch() {
            false => Distribution::opensearch(version),
            true => Distribution::elasticsearch(version),
        }
    }
}

/// Tests of one check, each on a server: `on_servers!(check: opensearch_3_6 = OpenSearch3)`.
macro_rules! on_servers {
    ($check:path: $($test:ident = $version:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            $check($crate::server::Version::$version).await;
        }
    )+};
}
pub(crate) use on_servers;

/// A node of a test's own. Killed when it is dropped.
struct Own {
    node: OwnedNode,
    folder: PathBuf,
}

/// A node that answers, until the test gives it back with [`Server::stop`].
pub struct Server {
    url: String,
    own: Option<Own>,
    pub client: Client,
    pub transport: Arc<Transport>,
    /// Product and version, for messages.
    pub title: String,
    _turn: Arc<Turn>,
}

impl Server {
    /// The shared node of a version, beside other tests.
    pub async fn shared(version: Version) -> Server {
        Server::join(version, Turn::take(Needs::shared(&[version])).await).await
    }

    /// The shared nodes of two versions, beside other tests.
    pub async fn pair(one: Version, other: Version) -> [Server; 2] {
        let turn = Turn::take(Needs::shared(&[one, other])).await;
        [Server::join(one, Arc::clone(&turn)).await, Server::join(other, turn).await]
    }

    /// The shared node of a version while no other test uses it.
    pub async fn quiet(version: Version) -> Server {
        Server::join(version, Turn::take(Needs::quiet(version)).await).await
    }

    /// The shared node of a version while no other test runs.
    pub async fn alone(version: Version) -> Server {
        Server::join(version, Turn::take(Needs::alone(version)).await).await
    }

    /// A node of the test's own.
    pub async fn own(version: Version) -> Server {
        Server::own_with(version, 1, |_| {}).await
    }

    /// A node of the test's own that is configured first. `nodes`: how many nodes the test runs at
    /// once, this one among them.
    pub async fn own_with(version: Version, nodes: usize, configure: impl FnOnce(&mut NodeSpec)) -> Server {
        let turn = Turn::take(Needs::nodes(nodes)).await;
        let (distribution, folder) = (version.distribution(), folder());
        let title = distribution.title();
        let mut spec = NodeSpec { heap_mib: HEAP_MIB, ..NodeSpec::new(distribution, "test", folder.join("node")) };
        configure(&mut spec);
        let node = start(spec).await.unwrap();
        Server::new(node.url(), Some(Own { node, folder }), title, turn)
    }

    async fn join(version: Version, turn: Arc<Turn>) -> Server {
        Server::new(shared::url(version).await, None, version.distribution().title(), turn)
    }

    fn new(url: String, own: Option<Own>, title: String, turn: Arc<Turn>) -> Server {
        let client = Client::new(&url).unwrap();
        let transport = Arc::new(Transport::new(&[&url], Credentials::None, &HttpOptions::default()).unwrap());
        Server { url, own, client, transport, title, _turn: turn }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    fn own_mut(&mut self) -> &mut Own {
        self.own.as_mut().expect("a test that kills its node has a node of its own")
    }

    /// Kills the node, as a crash does. Panics for a shared one.
    pub fn kill(&mut self) {
        self.own_mut().node.kill().unwrap();
    }

    /// Starts the node again on its port and data; one that runs is killed first. Panics for a
    /// shared one.
    pub async fn restart(&mut self) {
        self.own_mut().node.restart().await.unwrap();
    }

    /// The answer to a request; fails where the server refuses it.
    pub async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let reply = self.client.json(method, path, body).await.unwrap();
        assert!(reply.status < 300, "{}: {method} {path}: {}", self.title, reply.json());
        reply.json()
    }

    /// Documents of an index that a search finds after a refresh, where the server allows one.
    pub async fn count(&self, index: &str) -> u64 {
        self.client.json("POST", &format!("/{index}/_refresh"), Value::Null).await.unwrap();
        self.send("GET", &format!("/{index}/_count"), Value::Null).await["count"].as_u64().unwrap()
    }

    /// Leases of the settings guard on indices whose names begin like this.
    pub async fn leases(&self, names: &str) -> usize {
        self.send("POST", &format!("/{}/_refresh", inrush_load::GUARD_INDEX), Value::Null).await;
        let path = format!("/{}/_search?size=1000", inrush_load::GUARD_INDEX);
        let found = self.send("GET", &path, Value::Null).await;
        let leases = found["hits"]["hits"].as_array().unwrap().iter();
        leases.filter(|lease| lease["_source"]["index"].as_str().unwrap().starts_with(names)).count()
    }

    /// A load into an index of this server, with its files in a folder that is deleted with the
    /// second value.
    pub fn config(&self, index: &str) -> (LoadConfig, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut config = LoadConfig::new(vec![self.url()], index.parse().unwrap());
        config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
        config.guard.state = Some(folder.path().join("state"));
        (config, folder)
    }

    /// Stops a node of the test's own, in order, and deletes its folder; a shared one goes on for
    /// other tests. Where a test fails before, its node is killed and the folder is left, with the
    /// node's log.
    pub async fn stop(self) {
        if let Some(own) = self.own {
            own.node.stop().await.unwrap();
            users::delete(&own.folder).unwrap();
        }
    }
}

/// Starts a node, as another user than that of the tests where the test has not chosen one. Where
/// its server has to be fetched, no other test fetches one meanwhile: Maven's repository takes one
/// writer at a time.
pub async fn start(spec: NodeSpec) -> Result<OwnedNode, NodeError> {
    let _fetching = fetching(&spec.distribution).await;
    let user = spec.user.clone().or_else(users::of_nodes);
    OwnedNode::start(NodeSpec { user, ..spec }).await
}

/// The right to fetch a server, where it is not on this machine.
pub async fn fetching(distribution: &Distribution) -> Option<MutexGuard<'static, ()>> {
    static FETCHING: Mutex<()> = Mutex::const_new(());
    let is_here = || Distribution::versions_here(distribution.product).contains(&distribution.version);
    if is_here() {
        return None;
    }
    let fetching = FETCHING.lock().await;
    (!is_here()).then_some(fetching)
}

/// A path for a folder that nothing else uses and the node's user can reach: root's temporary
/// folder often cannot be. Nodes with their configuration in it end with the process of the tests,
/// and so do programs that have their state in it, and the nodes of bakes that write to it.
pub fn folder() -> PathBuf {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    LazyLock::force(&GUARDIAN);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(format!("{}{number}", mark()))
}

/// Makes a folder that the tests and the nodes write to.
pub fn make_shared(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
}

/// The guardian of all nodes of this process.
static GUARDIAN: LazyLock<std::sync::Mutex<Guardian>> =
    LazyLock::new(|| std::sync::Mutex::new(Guardian::new(&mark()).unwrap()));

/// How the paths of the folders of this process begin.
fn mark() -> String {
    format!("/var/tmp/inrush-test-{}-", std::process::id())
}

/// Deletes a folder at the end of the process.
pub fn delete_at_end(folder: &Path) {
    GUARDIAN.lock().unwrap().delete(folder).unwrap();
}
