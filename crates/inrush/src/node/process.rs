//! A server's process: its folders, its configuration, its start and its end.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::distribution::{Distribution, Product};
use super::error::NodeError;
use super::{http, java};

/// How long a node may take to answer: a cold disk and two busy cores need most of it.
const START_MAX: Duration = Duration::from_secs(240);
/// How long a node may take to end before it is killed.
const STOP_MAX: Duration = Duration::from_secs(60);
/// What a node needs free, MiB: the unpacked distribution, logs and some data.
const DISK_MIB: u64 = 1024;

/// What a node is to be like.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The server.
    pub distribution: Distribution,
    /// The node's name.
    pub name: String,
    /// Configuration, logs, temporary files, and data unless `data` says otherwise.
    pub folder: PathBuf,
    /// Data.
    pub data: Option<PathBuf>,
    /// HTTP port. Default: a free one.
    pub port: Option<u16>,
    /// Port for other nodes. Default: a free one.
    pub transport_port: Option<u16>,
    /// Java heap, MiB. Default 1,024.
    pub heap_mib: u32,
    /// Java to run it with.
    pub java_home: Option<PathBuf>,
    /// Further settings, which win over ours.
    pub settings: Vec<(String, String)>,
}

impl NodeSpec {
    /// A node in this folder.
    pub fn new(distribution: Distribution, name: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        NodeSpec {
            distribution,
            name: name.into(),
            folder: folder.into(),
            data: None,
            port: None,
            transport_port: None,
            heap_mib: 1024,
            java_home: None,
            settings: Vec::new(),
        }
    }
}

/// A node that has been started.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
    pub(super) log: PathBuf,
}

/// Where distributions and nodes are kept: root's home can often not be read by the user that a node runs as.
pub(super) fn root() -> PathBuf {
    if let Some(root) = std::env::var_os("INRUSH_NODE_ROOT") {
        return root.into();
    }
    if rustix::process::geteuid().is_root() {
        return "/var/lib/inrush".into();
    }
    xdg("XDG_DATA_HOME", ".local/share").join("inrush")
}

/// Where downloads are kept.
pub(super) fn cache() -> PathBuf {
    xdg("XDG_CACHE_HOME", ".cache").join("inrush/dist")
}

fn xdg(variable: &str, in_home: &str) -> PathBuf {
    match std::env::var_os(variable).filter(|v| !v.is_empty()) {
        Some(folder) => folder.into(),
        None => PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/".into())).join(in_home),
    }
}

/// Starts the process. It is not ready yet. `home`: the unpacked distribution.
pub(super) fn launch(spec: &NodeSpec, home: &Path) -> Result<Launched, NodeError> {
    let bundled = home.join("jdk");
    let named = spec.java_home.as_deref().or_else(|| bundled.is_dir().then_some(bundled.as_path()));
    let found = java::find_all(named);
    let java = java::choose(&found, &spec.distribution.title(), &spec.distribution.java())?;
    let port = port(spec.port)?;
    let transport_port = port_or_free(spec.transport_port)?;
    let data = spec.data.clone().unwrap_or_else(|| spec.folder.join("data"));
    let (config, logs, temporary) = (spec.folder.join("config"), spec.folder.join("logs"), spec.folder.join("tmp"));
    for folder in [&spec.folder, &data, &config, &logs, &temporary] {
        fs::create_dir_all(folder).map_err(NodeError::io(format!("cannot make {}", folder.display())))?;
    }
    check_disk(&data)?;
    write_config(spec, home, &config, &data, &logs, port, transport_port)
        .map_err(NodeError::io(format!("cannot write the configuration in {}", config.display())))?;
    let log = logs.join("console.log");
    let console = fs::File::create(&log).map_err(NodeError::io(format!("cannot write {}", log.display())))?;
    let errors = console.try_clone().map_err(NodeError::io("cannot share the log"))?;
    let mut command = Command::new(home.join("bin").join(spec.distribution.name()));
    let prefix = match spec.distribution.product {
        Product::OpenSearch => "OPENSEARCH",
        Product::Elasticsearch => "ES",
    };
    let heap = spec.heap_mib;
    command
        .env("JAVA_HOME", &java.home)
        .env(format!("{prefix}_JAVA_HOME"), &java.home)
        .env(format!("{prefix}_PATH_CONF"), &config)
        .env(format!("{prefix}_TMPDIR"), &temporary)
        .env(format!("{prefix}_JAVA_OPTS"), format!("-Xms{heap}m -Xmx{heap}m"))
        .current_dir(&spec.folder)
        .stdin(Stdio::null())
        .stdout(console)
        .stderr(errors)
        // Its own group: it does not get the terminal's signals, and children of its launcher end with it.
        .process_group(0);
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = user("nobody")?;
        for folder in [&spec.folder, &data] {
            give(folder, uid, gid).map_err(NodeError::io(format!("cannot hand {} to nobody", folder.display())))?;
        }
        command.uid(uid).gid(gid);
    }
    let child = command.spawn().map_err(NodeError::io(format!("cannot start {}", spec.distribution.title())))?;
    Ok(Launched { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), log })
}

/// Waits until the node answers with a status that is not red.
pub(super) async fn ready(launched: &mut Launched) -> Result<(), NodeError> {
    let began = Instant::now();
    while began.elapsed() < START_MAX {
        if let Some((200, body)) = http::get(launched.address, "/_cluster/health").await
            && (body.contains("\"green\"") || body.contains("\"yellow\""))
        {
            return Ok(());
        }
        if launched.child.try_wait().map_err(NodeError::io("cannot watch the node"))?.is_some() {
            return Err(NodeError::Died { log: launched.log.clone(), tail: tail(&launched.log, 20) });
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    end_group(launched.child.id(), Signal::KILL);
    Err(NodeError::TimedOut { seconds: START_MAX.as_secs(), log: launched.log.clone() })
}

/// The last lines of a file.
pub(super) fn tail(path: &Path, lines: usize) -> String {
    let read = || -> io::Result<String> {
        let mut file = fs::File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(256 << 10)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_else(|e| format!("(cannot be read: {e})"));
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Sends a signal to the node and what its launcher started. One that is gone is fine.
pub(super) fn end_group(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, signal);
    }
}

fn port(wanted: Option<u16>) -> Result<u16, NodeError> {
    match wanted {
        // What is free now can be taken until the node binds it; then the node's log says so.
        Some(port) => {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(|_| port).map_err(|_| NodeError::PortTaken(port))
        }
        None => port_or_free(None),
    }
}

fn port_or_free(wanted: Option<u16>) -> Result<u16, NodeError> {
    if let Some(port) = wanted {
        return Ok(port);
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.map(|address| address.port()).map_err(NodeError::io("cannot find a free port"))
}

fn check_disk(folder: &Path) -> Result<(), NodeError> {
    let stat = rustix::fs::statvfs(folder)
        .map_err(|e| NodeError::Io { what: "cannot look at the disk".into(), source: e.into() })?;
    let available_mib = (stat.f_bavail * stat.f_frsize) >> 20;
    if available_mib < DISK_MIB {
        return Err(NodeError::NoDisk { folder: folder.to_owned(), needed_mib: DISK_MIB, available_mib });
    }
    Ok(())
}

fn write_config(
    spec: &NodeSpec,
    home: &Path,
    config: &Path,
    data: &Path,
    logs: &Path,
    port: u16,
    transport_port: u16,
) -> io::Result<()> {
    fs::copy(home.join("config/log4j2.properties"), config.join("log4j2.properties"))?;
    // The launcher changes into the distribution, which the node's user can only read.
    let options = fs::read_to_string(home.join("config/jvm.options"))?
        .replace("=logs/", &format!("={}/", logs.display()))
        .replace("HeapDumpPath=data", &format!("HeapDumpPath={}", data.display()));
    fs::write(config.join("jvm.options"), options)?;
    let mut settings: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
    set("cluster.name", format!("inrush-{}", spec.name));
    set("node.name", spec.name.clone());
    set("path.data", data.display().to_string());
    set("path.logs", logs.display().to_string());
    set("network.host", "127.0.0.1".to_owned());
    set("http.port", port.to_string());
    set("transport.port", transport_port.to_string());
    set("discovery.type", "single-node".to_owned());
    // A developer's disk is often fuller than a server's may be; a node with little data does no harm there.
    set("cluster.routing.allocation.disk.threshold_enabled", "false".to_owned());
    if spec.distribution.product == Product::Elasticsearch {
        set("xpack.security.enabled", "false".to_owned());
    }
    for (name, value) in &spec.settings {
        settings.retain(|(other, _)| other != name);
        // An empty value takes a setting of ours out.
        if !value.is_empty() {
            settings.push((name.clone(), value.clone()));
        }
    }
    let text: String = settings.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    fs::write(config.join(format!("{}.yml", spec.distribution.name())), text)
}

/// The numbers of a user.
fn user(name: &str) -> Result<(u32, u32), NodeError> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name);
    let numbers = entry.and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)));
    numbers.ok_or_else(|| NodeError::NoUser(name.to_owned()))
}

/// Makes a folder and all in it a user's.
fn give(folder: &Path, uid: u32, gid: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(folder, Some(uid), Some(gid))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            give(&path, uid, gid)?;
        } else {
            std::os::unix::fs::lchown(&path, Some(uid), Some(gid))?;
        }
    }
    Ok(())
}

/// A node that ends with its owner: for tests and benchmarks.
#[derive(Debug)]
pub struct OwnedNode {
    spec: NodeSpec,
    home: PathBuf,
    launched: Launched,
}

impl OwnedNode {
    /// Starts a node and waits until it answers.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn start(spec: NodeSpec) -> Result<Self, NodeError> {
        let distribution = spec.distribution.clone();
        let home = tokio::task::spawn_blocking(move || distribution.home(&root(), &cache()))
            .await
            .map_err(|e| NodeError::Io { what: "unpacking stopped".into(), source: io::Error::other(e) })??;
        let mut launched = launch(&spec, &home)?;
        ready(&mut launched).await?;
        // The same ports after a restart.
        let spec = NodeSpec { port: Some(launched.address.port()), ..spec };
        Ok(OwnedNode { spec, home, launched })
    }

    /// Where it answers.
    pub fn url(&self) -> String {
        format!("http://{}", self.launched.address)
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.launched.child.id()
    }

    /// Ends it at once, as a crash does.
    ///
    /// # Errors
    /// Where the process cannot be waited for.
    pub fn kill(&mut self) -> io::Result<()> {
        end_group(self.pid(), Signal::KILL);
        self.launched.child.wait().map(drop)
    }

    /// Starts it again on the same port with the same data.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn restart(&mut self) -> Result<(), NodeError> {
        self.launched = launch(&self.spec, &self.home)?;
        ready(&mut self.launched).await
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// Where the process cannot be waited for.
    pub async fn stop(mut self) -> io::Result<()> {
        end_group(self.pid(), Signal::TERM);
        let began = Instant::now();
        while self.launched.child.try_wait()?.is_none() {
            if began.elapsed() > STOP_MAX {
                return self.kill();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

impl Drop for OwnedNode {
    fn drop(&mut self) {
        if matches!(self.launched.child.try_wait(), Ok(None)) {
            end_group(self.pid(), Signal::KILL);
            let _ = self.launched.child.wait();
        }
    }
}
