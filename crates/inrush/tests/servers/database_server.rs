//! Database servers of Debian's packages, in a folder of their own and as an ordinary user.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inrush_sources::{Database, DatabaseAddress, DatabaseOptions, DatabaseRows, SourceError, Warnings, open_database};
use rustix::process::{Pid, Signal, kill_process};

use crate::source_support::{Outcome, drain};

/// Debian's user and group without privileges.
const NOBODY: u32 = 65_534;

/// A server, which ends with this.
pub struct Server {
    child: Child,
    pub folder: PathBuf,
}

/// A command that is not run as root, which servers refuse.
pub fn ordinary(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).env("LC_ALL", "C").current_dir("/");
    command
}

/// A folder that the server's user owns; a temporary one of root's can often not be reached by
/// others.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(format!("/var/tmp/inrush-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    folder
}

/// A port that is free at this moment.
pub fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program, where Debian puts it.
pub fn find(name: &str, folders: &[&str]) -> Option<PathBuf> {
    let of_versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let of_versions = of_versions.map(|version| version.path().join("bin"));
    folders.iter().map(PathBuf::from).chain(of_versions).map(|folder| folder.join(name)).find(|path| path.exists())
}

impl Server {
    /// Waits until it takes connections.
    pub fn start(command: &mut Command, port: u16, folder: PathBuf) -> Self {
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = command.stderr(log).spawn().unwrap();
        let mut server = Server { child, folder };
        for _ in 0..1200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            assert!(server.child.try_wait().unwrap().is_none(), "{}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not answer: {}", server.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In order and at once; it takes its own children along.
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, if self.folder.join("PG_VERSION").exists() { Signal::INT } else { Signal::TERM });
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn options(url: &str, rows: DatabaseRows) -> DatabaseOptions {
    DatabaseOptions::new(DatabaseAddress::new(url).unwrap(), rows)
}

pub fn table(url: &str, name: &str) -> Result<(Database, Warnings), SourceError> {
    opened(&options(url, DatabaseRows::Table(name.to_owned())))
}

pub fn query(url: &str, query: &str) -> Result<(Database, Warnings), SourceError> {
    opened(&options(url, DatabaseRows::Query(query.to_owned())))
}

pub fn opened(options: &DatabaseOptions) -> Result<(Database, Warnings), SourceError> {
    let warnings = Warnings::default();
    Ok((open_database(options, &warnings)?, warnings))
}

/// All that a source has.
#[track_caller]
pub fn read(mut source: Database) -> Outcome {
    let outcome = drain(&mut source, 1 << 20);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome
}
