//! Why a node does not run, and what to do.

use std::path::PathBuf;

/// Why a node could not be found, started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// No Java on this machine can run it.
    #[error(
        "{what} needs Java {needed}, and there is none here (looked at {looked}); install one, as in `apt-get install openjdk-{example}-jdk-headless`, or name it with option `java_home`"
    )]
    NoJava {
        /// Product and version.
        what: String,
        /// Which versions would do.
        needed: String,
        /// What was found where.
        looked: String,
        /// One that would do, and that systems package.
        example: u32,
    },
    /// No way to the distribution worked.
    #[error("cannot get {what}: {}; install Maven (`apt-get install maven`), set OPENSEARCH_HOME to an unpacked OpenSearch, or name a cluster with option `to`", .tried.join("; "))]
    NoDistribution {
        /// Product and version.
        what: String,
        /// Each way and why it failed.
        tried: Vec<String>,
    },
    /// The port is somebody else's.
    #[error("port {0} of 127.0.0.1 is taken by another program; choose another with option `port`, or leave it out")]
    PortTaken(u16),
    /// Too little room.
    #[error("{} has {available_mib} MiB free, and a node needs {needed_mib} MiB; free some, or choose another folder with option `data`", .folder.display())]
    NoDisk {
        /// Where.
        folder: PathBuf,
        /// What is needed.
        needed_mib: u64,
        /// What there is.
        available_mib: u64,
    },
    /// It ended by itself while it was starting.
    #[error("the node ended while it was starting; the last lines of {}:\n{tail}", .log.display())]
    Died {
        /// Its log.
        log: PathBuf,
        /// The end of it.
        tail: String,
    },
    /// It does not answer.
    #[error("the node did not answer within {seconds} s; see {}, and whether the machine has enough memory for its heap", .log.display())]
    TimedOut {
        /// How long it was waited for.
        seconds: u64,
        /// Its log.
        log: PathBuf,
    },
    /// Servers do not run as root.
    #[error(
        "servers refuse to run as root, and there is no user {0} to run it as; create one, or start as another user"
    )]
    NoUser(String),
    /// A folder that is no unpacked server.
    #[error("the server's folder {} ({named}) has no lib/{jar}.jar; leave it out, or name an unpacked server", .home.display())]
    NotHome {
        /// What has named it.
        named: &'static str,
        /// The folder.
        home: PathBuf,
        /// What is looked for.
        jar: String,
    },
    /// A folder that holds another version than was asked for.
    #[error("the server's folder {} ({named}) holds version {found}, and {wanted} was asked for; leave one of them out", .home.display())]
    OtherVersion {
        /// What has named it.
        named: &'static str,
        /// The folder.
        home: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// Elasticsearch has no version that is started by default.
    #[error("Elasticsearch needs a version, as in 8.19.21")]
    NoVersion,
    /// The folder for data has other things in it.
    #[error("{} is neither empty nor a node's data folder; give an empty or a new one with option `data`", .0.display())]
    NotData(PathBuf),
    /// A path that the servers' launchers cannot take.
    #[error("a node cannot be kept in {}: servers' launchers split paths at spaces; set XDG_DATA_HOME to a folder without", .0.display())]
    Spaces(PathBuf),
    /// Not a name: it becomes the name of a folder and of a cluster.
    #[error("the node's name {0:?} must be 1 to 64 letters, digits, - and _; choose another with option `name`")]
    Name(String),
    /// The system said no.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl NodeError {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> NodeError {
        let what = what.into();
        move |source| NodeError::Io { what, source }
    }
}
