//! A node that keeps running after the command that started it.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inrush_cluster::clock;
use serde::{Deserialize, Serialize};

use super::distribution::{Distribution, KnownProduct};
use super::error::NodeError;
use super::group::{boot, process_start};
use super::process::{self, PORT_TRIES, START_MAX, death, is_ready, tail};
use super::spec::NodeSpec;
use super::tell::Tell;
use super::{folders, group, java, paths};
use crate::lock_file::{self, Held};

/// The default versions. The first one that the Java of this machine can run is started.
const VERSIONS: [&str; 2] = ["3.6.0", "2.19.6"];
const PORT: u16 = 9200;
/// How long to wait for another start or stop of the same node, which may download the server.
const LOCK_MAX: Duration = Duration::from_secs(600);

/// How to start a node.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The name of the node. Default `default`.
    pub name: String,
    /// HTTP port. Default: 9200 if it is free, else a free one.
    pub port: Option<u16>,
    /// Java heap, MiB. Default 1,024.
    pub heap_mib: Option<u32>,
    /// Data folder. Default: beside the node's logs.
    pub data: Option<PathBuf>,
    /// The Java to run it with. Default: one that is found.
    pub java_home: Option<PathBuf>,
    /// The product. Default: OpenSearch.
    pub product: KnownProduct,
    /// The version. Default: OpenSearch 3.6.0, or 2.19.6 if no Java is new enough. There is no
    /// default for Elasticsearch.
    pub version: Option<String>,
    /// An unpacked server to run, with the secrets in its keystore. Default: for OpenSearch
    /// `OPENSEARCH_HOME` without its secrets, else a distribution that is fetched.
    pub home: Option<PathBuf>,
    /// Further settings of the node. They take precedence over those of this program.
    pub settings: Vec<(String, String)>,
    /// What is told while a server is fetched. Default: nothing.
    pub tell: Tell,
}

impl Default for StartOptions {
    fn default() -> Self {
        StartOptions {
            name: "default".to_owned(),
            port: None,
            heap_mib: None,
            data: None,
            java_home: None,
            product: KnownProduct::OpenSearch,
            version: None,
            home: None,
            settings: Vec::new(),
            tell: Tell::default(),
        }
    }
}

/// A running node.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// The address of the node.
    pub url: String,
    /// The server's version.
    pub version: String,
    /// Whether it ran before.
    pub already_running: bool,
}

/// Whether a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It answers, or is about to.
    Running,
    /// It was stopped, or never started.
    Stopped,
    /// It ended by itself.
    Crashed,
}

/// The status of a node.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Whether it runs.
    pub state: RunState,
    /// The name.
    pub name: String,
    /// The started node. `None` if none was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeState>,
}

/// The record of a node that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeState {
    /// The process id.
    pub pid: u32,
    /// When the process began, in the unit of the system. It tells the process from a later one
    /// with the same id.
    pub started: u64,
    /// The id of the system's boot, if the system reports it. In a container that starts with the
    /// node, process ids and start times are nearly the same at each boot.
    #[serde(default)]
    pub boot: Option<String>,
    /// The address of the node.
    pub url: String,
    /// The product.
    #[serde(default)]
    pub product: KnownProduct,
    /// The version of the server.
    pub version: String,
    /// Java heap, MiB.
    pub heap_mib: u32,
    /// The folder with configuration, logs, and data unless `data` is another folder.
    pub folder: PathBuf,
    /// The data folder.
    pub data: PathBuf,
}

impl NodeState {
    fn distribution(&self) -> Distribution {
        Distribution { product: self.product, version: self.version.clone() }
    }

    fn log(&self) -> PathBuf {
        self.folder.join("logs/console.log")
    }
}

/// A node whose process runs. It may not answer yet.
struct Starting {
    node: NodeState,
    /// Whether another command has started it.
    already_running: bool,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.state, &self.node) {
            (RunState::Running, Some(node)) => write!(
                f,
                "running: {} at {}, process {}, heap {} MiB, data in {}",
                node.distribution().title(),
                node.url,
                node.pid,
                node.heap_mib,
                node.data.display()
            ),
            (RunState::Crashed, Some(node)) => {
                write!(
                    f,
                    "crashed: `inrush node logs` shows the log of node {}; data in {}",
                    self.name,
                    node.data.display()
                )
            }
            _ => write!(f, "stopped"),
        }
    }
}

fn folder(name: &str) -> PathBuf {
    paths::root().join("nodes").join(name)
}

fn state_file(name: &str) -> PathBuf {
    folder(name).join("node.json")
}

/// Locks the start and stop of a node. A second start then finds the node of the first one. A stop
/// does not forget a node that was started while it waited for the previous node to end. The lock
/// ends with its process, in every case.
async fn lock(name: &str) -> Result<Held, NodeError> {
    let what = || format!("cannot wait for another start or stop of node {name}");
    let file = lock_file::open(&folder(name).with_extension("lock")).map_err(NodeError::io(what()))?;
    let began = clock::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Held::of(file)),
            Err(fs::TryLockError::WouldBlock) if began.elapsed() < LOCK_MAX => {}
            Err(fs::TryLockError::WouldBlock) => {
                let why = format!("it has not ended for {} s", LOCK_MAX.as_secs());
                return Err(NodeError::io(what())(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
            Err(fs::TryLockError::Error(error)) => return Err(NodeError::io(what())(error)),
        }
        clock::sleep(Duration::from_millis(50)).await;
    }
}

/// Starts a node, or finds the running one.
///
/// # Errors
/// [`NodeError`].
pub async fn start(options: StartOptions) -> Result<Started, NodeError> {
    let mut tries = 1;
    loop {
        let starting = launch(options.clone()).await?;
        match ready(&starting).await {
            Err(NodeError::PortTaken(port)) if options.port != Some(port) && tries < PORT_TRIES => tries += 1,
            ended => {
                ended?;
                let Starting { node, already_running } = starting;
                return Ok(Started { url: node.url, version: node.version, already_running });
            }
        }
    }
}

/// Starts the process of a node, or finds the running one. [`ready`] waits until it answers.
async fn launch(options: StartOptions) -> Result<Starting, NodeError> {
    check_name(&options.name)?;
    let folder = std::path::absolute(folder(&options.name)).map_err(NodeError::io("cannot use the node's folder"))?;
    fs::create_dir_all(&folder).map_err(NodeError::io(format!("cannot create {}", folder.display())))?;
    // The lock is released early, so that a stop does not have to wait until the node answers, and
    // another start finds the node.
    let _lock = lock(&options.name).await?;
    let earlier = read(&options.name);
    if let Some(node) = earlier.clone().filter(is_alive) {
        return Ok(Starting { node, already_running: true });
    }
    let (distribution, home) = tokio::task::spawn_blocking({
        let options = options.clone();
        move || find(options)
    })
    .await
    .map_err(io::Error::other)
    .map_err(NodeError::io("the search for a server was cancelled"))??;
    let free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let data =
        options.data.map(std::path::absolute).transpose().map_err(NodeError::io("cannot use the data folder"))?;
    let spec = NodeSpec {
        data,
        port: options.port.or_else(|| free(PORT).then_some(PORT)),
        heap_mib: options.heap_mib.unwrap_or(1024),
        java_home: options.java_home,
        settings: options.settings,
        home: options.home,
        ..NodeSpec::new(distribution, options.name.clone(), folder.clone())
    };
    let launched = match earlier {
        Some(_) => process::launch_again(&spec, &home).await?,
        None => process::launch(&spec, &home)?,
    };
    let node = NodeState {
        pid: launched.child.id(),
        started: process_start(launched.child.id()).unwrap_or(0),
        boot: boot(),
        url: format!("http://{}", launched.address),
        product: spec.distribution.product,
        version: spec.distribution.version.clone(),
        heap_mib: spec.heap_mib,
        data: spec.data.unwrap_or_else(|| folder.join("data")),
        folder,
    };
    if let Err(e) = write(&options.name, &node) {
        // Without the record no command would find the process again.
        group::kill(node.pid).await?;
        return Err(NodeError::io("cannot record the started node")(e));
    }
    Ok(Starting { node, already_running: false })
}

/// The server to run: the folder that the user named, or the first version that the Java of this
/// machine can run, from the cache, Maven or its maker.
fn find(options: StartOptions) -> Result<(Distribution, PathBuf), NodeError> {
    let StartOptions { product, version, java_home, tell, .. } = options;
    if let Some(home) = options.home {
        return in_home(product, &home, version, "given");
    }
    let distribution = match (product, version) {
        (KnownProduct::OpenSearch, version) => {
            if let Some(home) = std::env::var_os("OPENSEARCH_HOME").filter(|home| !home.is_empty()) {
                return in_home(product, Path::new(&home), version, "OPENSEARCH_HOME");
            }
            version.map_or_else(|| newest(java_home.as_deref()), Distribution::opensearch)
        }
        (KnownProduct::Elasticsearch, Some(version)) => Distribution::elasticsearch(version),
        (KnownProduct::Elasticsearch, None) => return Err(NodeError::NoVersion),
    };
    let home = distribution.home(&paths::root(), &paths::cache(), java_home.as_deref(), &tell)?;
    Ok((distribution, home))
}

/// The newest OpenSearch that the Java of this machine can run.
fn newest(java_home: Option<&Path>) -> Distribution {
    let found = java::find(java_home, None);
    let distributions = VERSIONS.iter().map(|version| Distribution::opensearch(*version));
    let runs = |d: &Distribution| java::choose(&found, "", &d.java()).is_ok();
    distributions.clone().find(runs).unwrap_or_else(|| Distribution::opensearch(VERSIONS[0]))
}

/// The server in a folder. `named`: how the folder was given.
fn in_home(
    product: KnownProduct,
    home: &Path,
    wanted: Option<String>,
    named: &'static str,
) -> Result<(Distribution, PathBuf), NodeError> {
    let prefix = match product {
        KnownProduct::OpenSearch => "opensearch-",
        KnownProduct::Elasticsearch => "elasticsearch-",
    };
    let jar = fs::read_dir(home.join("lib")).into_iter().flatten().filter_map(Result::ok).find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix(prefix)?.strip_suffix(".jar")?.to_owned();
        version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
    });
    let found =
        jar.ok_or_else(|| NodeError::NotHome { named, home: home.to_owned(), jar: format!("{prefix}VERSION") })?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
        return Err(NodeError::OtherVersion { named, home: home.to_owned(), found, wanted });
    }
    // The node's working folder differs from that of this program.
    let home = std::path::absolute(home).map_err(NodeError::io("cannot use the server's folder"))?;
    Ok((Distribution { product, version: found }, home))
}

/// The version of the server that is unpacked in `home`.
///
/// # Errors
/// [`NodeError::NotHome`].
pub fn version_in(product: KnownProduct, home: &Path) -> Result<String, NodeError> {
    Ok(in_home(product, home, None, "given")?.0.version)
}

/// Stops a node. `clean` also deletes its data. Returns whether it was running.
///
/// # Errors
/// [`NodeError`].
pub async fn stop(name: &str, clean: bool) -> Result<bool, NodeError> {
    check_name(name)?;
    if !folder(name).is_dir() {
        return Ok(false);
    }
    let _lock = lock(name).await?;
    let node = read(name);
    let running = node.clone().filter(is_alive);
    if let Some(node) = &running {
        group::end(node.pid).await?;
    }
    if node.is_some() {
        fs::remove_file(state_file(name)).map_err(NodeError::io("cannot delete the record of the node"))?;
    }
    if clean {
        let data = node.map_or_else(|| folder(name).join("data"), |node| node.data);
        folders::delete_data(&data).map_err(NodeError::io(format!("cannot delete {}", data.display())))?;
    }
    Ok(running.is_some())
}

/// Stops a node, and deletes its data and its folder.
///
/// # Errors
/// [`NodeError`].
pub async fn remove(name: &str) -> Result<(), NodeError> {
    stop(name, true).await?;
    let folder = folder(name);
    for gone in [fs::remove_dir_all(&folder), fs::remove_file(folder.with_extension("lock"))] {
        match gone {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(NodeError::io(format!("cannot delete {}", folder.display()))(e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The status of a node. A record that cannot be read counts as stopped.
///
/// # Errors
/// [`NodeError::Name`].
pub async fn status(name: &str) -> Result<Status, NodeError> {
    check_name(name)?;
    let node = read(name);
    let state = match &node {
        None => RunState::Stopped,
        Some(node) if is_alive(node) => RunState::Running,
        Some(_) => RunState::Crashed,
    };
    Ok(Status { state, name: name.to_owned(), node })
}

/// The log of a node.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    at: u64,
}

impl Log {
    /// The log of a node that was started at least once.
    ///
    /// # Errors
    /// [`NodeError`] if there is none.
    pub fn open(name: &str) -> Result<Self, NodeError> {
        check_name(name)?;
        let path = folder(name).join("logs/console.log");
        let at =
            fs::metadata(&path).map_err(NodeError::io(format!("node {name} has no log in {}", path.display())))?.len();
        Ok(Log { path, at })
    }

    /// The last lines.
    ///
    /// # Errors
    /// [`NodeError`] if it cannot be read.
    pub fn last(&mut self, lines: usize) -> Result<Vec<String>, NodeError> {
        Ok(tail(&self.path, lines).lines().map(str::to_owned).collect())
    }

    /// The lines that were added since the last call.
    ///
    /// # Errors
    /// [`NodeError`] if it cannot be read.
    pub fn added(&mut self) -> Result<Vec<String>, NodeError> {
        let read = || -> io::Result<String> {
            let mut file = fs::File::open(&self.path)?;
            // A node that was started again begins a new log.
            let from = if file.metadata()?.len() < self.at { 0 } else { self.at };
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
            self.at = from + whole as u64;
            Ok(String::from_utf8_lossy(&bytes[..whole]).into_owned())
        };
        let text = { read }().map_err(NodeError::io("cannot read the log"))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// Waits until the node answers.
///
/// # Errors
/// [`NodeError::Died`] if it has ended, [`NodeError::TimedOut`] if it takes too long. Then it is
/// killed if it was launched here.
async fn ready(Starting { node, already_running }: &Starting) -> Result<(), NodeError> {
    let (began, log) = (clock::now(), node.log());
    let Ok(address) = node.url.trim_start_matches("http://").parse::<SocketAddr>() else {
        let source = io::Error::new(io::ErrorKind::InvalidData, format!("{:?} is not an address", node.url));
        return Err(NodeError::Io { what: format!("cannot use {}/node.json", node.folder.display()), source });
    };
    while !is_ready(address, &log, None).await {
        if !is_alive(node) {
            return Err(death(&log));
        }
        if began.elapsed() > START_MAX {
            if !already_running {
                group::kill(node.pid).await?;
            }
            return Err(NodeError::TimedOut { seconds: START_MAX.as_secs(), log });
        }
        clock::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// Checks a name, which becomes the name of a folder.
fn check_name(name: &str) -> Result<(), NodeError> {
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if letters && (1..=64).contains(&name.len()) {
        return Ok(());
    }
    Err(NodeError::Name(name.to_owned()))
}

fn read(name: &str) -> Option<NodeState> {
    serde_json::from_slice(&fs::read(state_file(name)).ok()?).ok()
}

fn write(name: &str, node: &NodeState) -> io::Result<()> {
    let path = state_file(name);
    let mut file = tempfile::NamedTempFile::new_in(folder(name))?;
    serde_json::to_writer(&mut file, node)?;
    file.persist(path)?;
    Ok(())
}

/// Whether the recorded process still runs, and not a later one with the same id.
fn is_alive(node: &NodeState) -> bool {
    (node.boot.is_none() || node.boot == boot()) && process_start(node.pid) == Some(node.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node whose process is this one, if it began at that time.
    fn node(started: u64, boot: Option<String>) -> NodeState {
        NodeState {
            pid: std::process::id(),
            started,
            boot,
            url: String::new(),
            product: KnownProduct::OpenSearch,
            version: String::new(),
            heap_mib: 0,
            folder: PathBuf::new(),
            data: PathBuf::new(),
        }
    }

    #[test]
    fn a_number_that_another_process_has_now_is_not_ours() {
        let started = process_start(std::process::id()).unwrap();
        assert!(is_alive(&node(started, boot())));
        assert!(!is_alive(&node(started + 1, boot())));
        assert!(is_alive(&node(started, None)));
        assert!(!is_alive(&node(started, Some("another run of the system".into()))));
        assert_eq!(process_start(u32::MAX), None);
    }

    #[tokio::test]
    async fn a_node_is_not_waited_for_when_it_has_died() {
        // A bound socket that does not listen: no other test can have its port.
        let absent = tokio::net::TcpSocket::new_v4().unwrap();
        absent.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let started = process_start(std::process::id()).unwrap();
        let dead = node(started + 1, None);
        let node = NodeState { url: format!("http://{}", absent.local_addr().unwrap()), folder: "dead".into(), ..dead };
        match ready(&Starting { node, already_running: true }).await {
            Err(NodeError::Died { log, .. }) => assert!(log.starts_with("dead"), "{}", log.display()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_home_is_what_its_jar_says() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        assert!(matches!(in_home(KnownProduct::OpenSearch, home, None, "x"), Err(NodeError::NotHome { .. })));
        fs::create_dir(home.join("lib")).unwrap();
        for jar in ["opensearch-core-3.6.0.jar", "opensearch-3.6.0.jar"] {
            fs::write(home.join("lib").join(jar), "").unwrap();
        }
        let found = (Distribution::opensearch("3.6.0"), home.to_owned());
        assert_eq!(in_home(KnownProduct::OpenSearch, home, None, "x").unwrap(), found);
        assert_eq!(in_home(KnownProduct::OpenSearch, home, Some("3.6.0".into()), "x").unwrap(), found);
        let error = in_home(KnownProduct::OpenSearch, home, Some("2.19.6".into()), "x").unwrap_err().to_string();
        assert!(error.contains("holds version 3.6.0") && error.contains("2.19.6"), "{error}");
        // The node runs in another folder than this program.
        let up: PathBuf = std::env::current_dir().unwrap().ancestors().skip(1).map(|_| "..").collect();
        let (_, absolute) =
            in_home(KnownProduct::OpenSearch, &up.join(home.strip_prefix("/").unwrap()), None, "x").unwrap();
        assert!(absolute.is_absolute(), "{}", absolute.display());
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["default", "a-B_3"] {
            check_name(name).unwrap();
        }
        for name in ["", "..", "a/b", "a b", "é", &"a".repeat(65)] {
            assert!(matches!(check_name(name), Err(NodeError::Name(_))), "{name}");
        }
    }
}
