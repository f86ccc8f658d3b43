//! The process of a server: its folders, its configuration, its start and its end.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inrush_cluster::clock;

use super::configuration::{self, Places};
use super::distribution::KnownProduct;
use super::error::NodeError;
use super::folders::{User, check_data, check_disk, kept_in, open, open_way};
use super::spec::NodeSpec;
use super::{group, http, java};

/// How long a node that starts again waits for its port.
const PORT_MAX: Duration = Duration::from_secs(30);
const PORT_EVERY: Duration = Duration::from_millis(500);
/// How often a node is started whose free port another program takes before the node binds it.
pub(super) const PORT_TRIES: u32 = 5;

/// How long a node may take to answer. A cold disk and two busy cores need most of it.
pub(super) const START_MAX: Duration = Duration::from_secs(240);

/// A node that has been started.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
    pub(super) transport_port: u16,
    pub(super) log: PathBuf,
    pub(super) authorization: Option<String>,
}

/// Starts the process, which does not answer yet. `home`: the unpacked distribution.
pub(super) fn launch(spec: &NodeSpec, home: &Path) -> Result<Launched, NodeError> {
    let found = java::find(spec.java_home.as_deref(), Some(home));
    let java = java::choose(&found, &spec.distribution.title(), &spec.distribution.java())?;
    let user = spec.other_user()?;
    let [port, transport_port] = ports([spec.port, spec.transport_port])?;
    // The node's working folder differs from that of this program.
    let absolute =
        |path: &Path| std::path::absolute(path).map_err(NodeError::io(format!("cannot use {}", path.display())));
    let folder = absolute(&spec.folder)?;
    // The launchers put the paths of logs and temporary files on a command line, and the shell
    // splits it.
    if folder.to_string_lossy().contains(char::is_whitespace) {
        return Err(NodeError::Spaces(folder));
    }
    let data = absolute(&spec.data.clone().unwrap_or_else(|| folder.join("data")))?;
    let (config, logs, temporary) = (folder.join("config"), folder.join("logs"), folder.join("tmp"));
    if spec.data.is_some() {
        check_data(&data)?;
    }
    for folder in [&folder, &data, &config, &logs, &temporary] {
        fs::create_dir_all(folder).map_err(NodeError::io(format!("cannot create {}", folder.display())))?;
    }
    // The node's folder itself stays this program's: it has the files for stopping and cleaning up
    // the node.
    let mut node_own = vec![config.clone(), logs.clone(), temporary.clone()];
    match spec.data {
        None => node_own.push(data.clone()),
        // Other files in that folder do not belong to the node, so their owner stays.
        Some(_) => node_own.extend(kept_in(&data)),
    }
    if user.is_some() {
        // Those of an earlier start belong to the node's user.
        let us = User::of_this_program();
        node_own.iter().try_for_each(|path| us.gets(path))?;
    }
    check_disk(&data)?;
    let places = Places { home, config: &config, data: &data, logs: &logs, port, transport_port };
    configuration::write(spec, &places)
        .map_err(NodeError::io(format!("cannot write the configuration in {}", config.display())))?;
    let log = logs.join("console.log");
    let console = fs::File::create(&log).map_err(NodeError::io(format!("cannot write {}", log.display())))?;
    let errors = console.try_clone().map_err(NodeError::io("cannot duplicate the handle of the log"))?;
    let mut command = launcher(spec, &places, &java.home, &temporary);
    command.current_dir(&folder).stdin(Stdio::null()).stdout(console).stderr(errors);
    if let Some(user) = &user {
        open(&folder)?;
        open_way(&folder)?;
        open_way(home)?;
        if spec.data.is_some() {
            user.gets_alone(&data)?;
        }
        node_own.iter().try_for_each(|path| user.gets(path))?;
        command.uid(user.uid).gid(user.gid);
    }
    let who = user.map(|user| format!(" as the user {}, who must be able to read it", user.name)).unwrap_or_default();
    let what = format!("cannot start {} in {}{who}", spec.distribution.title(), home.display());
    let child = command.spawn().map_err(NodeError::io(what))?;
    let authorization = spec.authorization.clone();
    Ok(Launched { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), transport_port, log, authorization })
}

/// The command of the launcher, with the environment that it needs.
fn launcher(spec: &NodeSpec, places: &Places<'_>, java_home: &Path, temporary: &Path) -> Command {
    let mut words: Vec<OsString> = Vec::new();
    if spec.user.is_some() && !rustix::process::geteuid().is_root() {
        // The other user would keep the capabilities that this program hands on.
        words.extend(["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"].map(Into::into));
    }
    if let Some(umask) = spec.umask {
        words.extend(["sh", "-c", "umask \"$0\" && exec \"$@\"", &format!("{umask:03o}")].map(Into::into));
    }
    words.push(places.home.join("bin").join(spec.distribution.name()).into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let prefix = match spec.distribution.product {
        KnownProduct::OpenSearch => "OPENSEARCH",
        KnownProduct::Elasticsearch => "ES",
    };
    let heap = spec.heap_mib;
    command
        .env("JAVA_HOME", java_home)
        // OpenSearch's launcher uses these variables if they are set, for any version and relative
        // to any folder.
        .env(format!("{prefix}_HOME"), places.home)
        .env(format!("{prefix}_JAVA_HOME"), java_home)
        .env(format!("{prefix}_PATH_CONF"), places.config)
        .env(format!("{prefix}_TMPDIR"), temporary)
        .env(format!("{prefix}_JAVA_OPTS"), format!("-Xms{heap}m -Xmx{heap}m"))
        // The node has its own process group: it does not get the terminal's signals, and the
        // children of its launcher end with it.
        .process_group(0);
    // The variables of this program are removed. They include secrets of the cluster that is loaded
    // into.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"INRUSH_")) {
        command.env_remove(name);
    }
    command
}

/// The same for a node that has died, on its ports. A process that was just killed may still hold
/// them, and the system may have given one to another program's outgoing connection.
pub(super) async fn launch_again(spec: &NodeSpec, home: &Path) -> Result<Launched, NodeError> {
    let since = clock::now();
    loop {
        match launch(spec, home) {
            Err(NodeError::PortTaken(_)) if since.elapsed() < PORT_MAX => clock::sleep(PORT_EVERY).await,
            launched => return launched,
        }
    }
}

/// Waits until the node answers with a status that is not red.
pub(super) async fn ready(launched: &mut Launched) -> Result<(), NodeError> {
    let began = clock::now();
    while began.elapsed() < START_MAX {
        if is_ready(launched.address, &launched.log, launched.authorization.as_deref()).await {
            return Ok(());
        }
        if launched.child.try_wait().map_err(NodeError::io("cannot wait for the process of the node"))?.is_some() {
            return Err(death(&launched.log));
        }
        clock::sleep(Duration::from_millis(200)).await;
    }
    group::kill(launched.child.id()).await?;
    Err(NodeError::TimedOut { seconds: START_MAX.as_secs(), log: launched.log.clone() })
}

/// Why a node has ended, by its log.
pub(super) fn death(log: &Path) -> NodeError {
    let tail = last_words(log);
    match lost_port(&tail) {
        Some(port) => NodeError::PortTaken(port),
        None => NodeError::Died { log: log.to_owned(), tail },
    }
}

/// The port that another program took before the node bound it: `BindHttpException: Failed to bind
/// to 127.0.0.1:9200`, or `BindTransportException` with the same words.
fn lost_port(log: &str) -> Option<u16> {
    let mut parts = log.split("Failed to bind to ");
    let address = parts.next().filter(|before| before.contains("Bind")).and_then(|_| parts.next())?;
    let end = address.find(['\n', ';', ',', ' ']).unwrap_or(address.len());
    address[..end].trim_end_matches(']').rsplit_once(':')?.1.parse().ok()
}

/// Whether the node with this log answers at the address with a status that is not red. Another
/// program may have taken the port before the node bound it, even another node, which answers as
/// well. The folders tell the nodes apart.
pub(super) async fn is_ready(address: SocketAddr, log: &Path, authorization: Option<&str>) -> bool {
    let Some((200, health)) = http::get(address, "/_cluster/health", authorization).await else { return false };
    if !is_formed(&health) {
        return false;
    }
    let settings = "/_nodes/_local/settings?filter_path=nodes.*.settings.path.logs";
    let Some((200, body)) = http::get(address, settings, authorization).await else { return false };
    let body: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
    let node = body.get("nodes").and_then(|nodes| nodes.as_object()?.values().next());
    let logs = node.and_then(|node| node.pointer("/settings/path/logs")?.as_str());
    logs.map(Path::new) == log.parent()
}

/// Whether a cluster has a node, and a status that is not red, by its health.
fn is_formed(health: &str) -> bool {
    let health: serde_json::Value = serde_json::from_str(health).unwrap_or_default();
    let there = health.get("number_of_nodes").and_then(serde_json::Value::as_u64);
    let status = health.get("status").and_then(serde_json::Value::as_str);
    there.is_some_and(|there| there > 0) && matches!(status, Some("green" | "yellow"))
}

/// The last lines of a log without the frames of stack traces, which hide the messages before them.
pub(super) fn last_words(log: &Path) -> String {
    let text = tail(log, 400);
    let words: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("at ")).collect();
    words[words.len().saturating_sub(20)..].join("\n")
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

/// The requested ports, or free ones. A port that is free now may be taken before the node binds
/// it. Then the node ends with [`NodeError::PortTaken`].
fn ports(wanted: [Option<u16>; 2]) -> Result<[u16; 2], NodeError> {
    let bind = |wanted: Option<u16>| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted.unwrap_or(0)));
        listener.map_err(|source| match (wanted, source.kind()) {
            (Some(port), io::ErrorKind::AddrInUse) => NodeError::PortTaken(port),
            (Some(port), _) => NodeError::Io { what: format!("cannot listen on port {port} of 127.0.0.1"), source },
            (None, _) => NodeError::Io { what: "cannot find a free port".into(), source },
        })
    };
    // Both are held at once, so that they differ.
    let [http, transport] = [bind(wanted[0])?, bind(wanted[1])?];
    let port = |listener: &TcpListener| {
        listener.local_addr().map(|address| address.port()).map_err(NodeError::io("cannot find a free port"))
    };
    Ok([port(&http)?, port(&transport)?])
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::super::distribution::Distribution;
    use super::super::owned::OwnedNode;
    use super::*;

    #[test]
    fn the_last_lines_of_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, "a\nb\nc\n").unwrap();
        assert_eq!((tail(&log, 2).as_str(), tail(&log, 9).as_str()), ("b\nc", "a\nb\nc"));
        assert!(tail(&folder.path().join("none"), 2).contains("cannot be read"));
        let frames = "\tat java.base/sun.nio.fs.UnixException.rethrow(UnixException.java:111)\n".repeat(30);
        fs::write(&log, format!("AccessDeniedException: /srv/x\n{frames}For details see the log\n")).unwrap();
        assert_eq!(last_words(&log), "AccessDeniedException: /srv/x\nFor details see the log");
    }

    #[test]
    fn a_port_that_is_taken_is_named_and_free_ones_differ() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(matches!(ports([Some(port), None]), Err(NodeError::PortTaken(p)) if p == port));
        let [http, transport] = ports([None, None]).unwrap();
        assert_ne!(http, transport);
    }

    /// A server whose launcher is this script, and a Java for it.
    fn server(folder: &Path, script: &str) -> (PathBuf, PathBuf) {
        open(folder).unwrap();
        let (home, java) = (folder.join("home"), folder.join("java"));
        for (file, text) in [
            (home.join("bin/opensearch"), script),
            (home.join("config/jvm.options"), ""),
            (java.join("bin/java"), ""),
            (java.join("release"), "JAVA_VERSION=\"25\""),
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        (home, java)
    }

    fn owner(path: &Path) -> u32 {
        std::os::unix::fs::MetadataExt::uid(&fs::metadata(path).unwrap())
    }

    #[test]
    fn a_launcher_finds_its_own_home_and_the_folder_stays_its_makers() {
        let folder = tempfile::tempdir().unwrap();
        let (home, java) = server(folder.path(), "#!/bin/sh\necho home: $OPENSEARCH_HOME\n");
        let node = folder.path().join("node");
        let spec = NodeSpec { java_home: Some(java), ..NodeSpec::new(Distribution::opensearch("3.6.0"), "n", &node) };
        let mut launched = launch(&spec, &home).unwrap();
        assert!(launched.child.wait().unwrap().success());
        assert_eq!(tail(&launched.log, 1), format!("home: {}", home.display()));
        assert_eq!(owner(&node), rustix::process::geteuid().as_raw());
    }

    #[test]
    fn a_server_gets_the_user_and_the_mask_that_were_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let (home, java) = server(folder.path(), "#!/bin/sh\necho $(id -u) $(umask)\n");
        let mut spec = NodeSpec::new(Distribution::opensearch("3.6.0"), "n", folder.path().join("node"));
        (spec.java_home, spec.umask) = (Some(java), Some(0o027));
        let us = rustix::process::geteuid();
        let users = if us.is_root() { vec!["daemon", "nobody"] } else { vec![] };
        // Each gets the folders of the one before.
        for user in users.into_iter().map(Some).chain([None]) {
            spec.user = user.map(str::to_owned);
            let mut launched = launch(&spec, &home).unwrap();
            assert!(launched.child.wait().unwrap().success());
            let uid = spec.other_user().unwrap().map_or(us.as_raw(), |user| user.uid);
            assert_eq!(tail(&launched.log, 1), format!("{uid} 0027"));
            for given in ["config", "logs", "tmp", "data"] {
                assert_eq!(owner(&spec.folder.join(given)), uid, "{given}");
            }
        }
        spec.user = Some("no such user".to_owned());
        assert!(matches!(launch(&spec, &home), Err(NodeError::NoUser(_))));
    }

    #[test]
    fn a_port_that_was_lost_before_the_node_bound_it_is_read_from_its_log() {
        for (log, port) in [
            (
                "StartupException: BindHttpException[Failed to bind to 127.0.0.1:42101]; nested: BindException",
                Some(42101),
            ),
            (
                "fatal exception\norg.elasticsearch.http.BindHttpException: Failed to bind to 127.0.0.1:9200\n",
                Some(9200),
            ),
            ("BindTransportException[Failed to bind to 127.0.0.1:9300]; nested", Some(9300)),
            ("BindTransportException[Failed to bind to [::1]:9301]; nested", Some(9301)),
            ("OutOfMemoryError", None),
            ("BindHttpException[Failed to bind to 127.0.0.1:", None),
        ] {
            assert_eq!(lost_port(log), port, "{log}");
        }
    }

    #[tokio::test]
    async fn a_node_that_loses_its_port_gets_another_one_unless_the_port_was_requested() {
        let folder = tempfile::tempdir().unwrap();
        // It loses its port at each start.
        let script = "#!/bin/sh\necho start >> logs/starts\nport=$(sed -n 's/^http.port: //p' $OPENSEARCH_PATH_CONF/*.yml)\n\
                      echo \"BindHttpException[Failed to bind to 127.0.0.1:$port]\"\nexit 1\n";
        let (home, java) = server(folder.path(), script);
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        for (port, starts) in [(None, PORT_TRIES), (Some(free), 1)] {
            let place = folder.path().join(format!("node-{starts}"));
            let mut spec = NodeSpec::new(Distribution::opensearch("3.6.0"), "n", place.clone());
            (spec.home, spec.java_home, spec.user, spec.port) = (Some(home.clone()), Some(java.clone()), None, port);
            let lost = OwnedNode::start(spec).await.unwrap_err();
            assert!(matches!(lost, NodeError::PortTaken(lost) if port.is_none_or(|port| port == lost)), "{lost}");
            let log = fs::read_to_string(place.join("logs/starts")).unwrap();
            assert_eq!(log.lines().count(), starts as usize);
        }
    }

    #[test]
    fn a_cluster_is_formed_when_a_node_is_there_and_it_is_not_red() {
        let formed =
            |status: &str, there: u32| is_formed(&format!("{{\"status\":\"{status}\",\"number_of_nodes\":{there}}}"));
        assert!(formed("green", 1) && formed("yellow", 3));
        assert!(!formed("green", 0) && !formed("red", 2));
        assert!(!is_formed("") && !is_formed("{}"));
    }

    #[tokio::test]
    async fn another_node_on_the_port_is_not_taken_for_ours() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("logs/console.log");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 1024];
                let length = stream.read(&mut request).unwrap();
                let body = match String::from_utf8_lossy(&request[..length]).contains("settings") {
                    true => r#"{"nodes":{"n":{"settings":{"path":{"logs":"/another/logs"}}}}}"#,
                    false => r#"{"status":"green","number_of_nodes":1}"#,
                };
                stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{body}").as_bytes()).unwrap();
            }
        });
        assert!(is_ready(address, Path::new("/another/logs/console.log"), None).await);
        assert!(!is_ready(address, &log, None).await);
        let child = Command::new("true").spawn().unwrap();
        let mut launched = Launched { child, address, transport_port: 0, log, authorization: None };
        assert!(matches!(ready(&mut launched).await, Err(NodeError::Died { .. })));
    }
}
