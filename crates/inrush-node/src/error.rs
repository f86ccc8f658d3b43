//! Errors of local nodes.

use std::path::PathBuf;

use inrush_core::Code;

/// Why a node could not be found, started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// This machine has no Java that can run the server.
    #[error(
        "{what} needs Java {needed}, but this machine has none (looked at {looked}); install one, as in `apt-get install openjdk-{example}-jdk-headless`, or name it with option `java_home`"
    )]
    NoJava {
        /// Product and version.
        what: String,
        /// The Java versions that run it.
        needed: String,
        /// The Javas that were found, or where they were searched.
        looked: String,
        /// A suitable version that most systems package.
        example: u32,
    },
    /// The distribution could not be fetched in any way.
    #[error("cannot get {what}: {}; install Maven (`apt-get install maven`), set OPENSEARCH_HOME to an unpacked OpenSearch, or name a cluster with option `to`", .tried.join("; "))]
    NoDistribution {
        /// Product and version.
        what: String,
        /// Each way and why it failed.
        tried: Vec<String>,
    },
    /// Another program uses the port.
    #[error("port {0} of 127.0.0.1 is taken by another program; choose another with option `port`, or leave it out")]
    PortTaken(u16),
    /// The disk has too little room.
    #[error("{} has {available_mib} MiB free, but a node needs {needed_mib} MiB; free some space, or choose another folder with option `data`", .folder.display())]
    NoDisk {
        /// The folder.
        folder: PathBuf,
        /// The room that a node needs, MiB.
        needed_mib: u64,
        /// The free room, MiB.
        available_mib: u64,
    },
    /// The node ended by itself while it was starting.
    #[error("the node ended while it was starting; the last lines of {}:\n{tail}", .log.display())]
    Died {
        /// The node's log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The node does not answer.
    #[error("the node did not answer within {seconds} s; see {}, and whether the machine has enough memory for its heap", .log.display())]
    TimedOut {
        /// How long the command waited, s.
        seconds: u64,
        /// The node's log.
        log: PathBuf,
    },
    /// Servers do not run as root.
    #[error(
        "the user {0}, who would run the server, does not exist; create this user, or start as another user than root, as whom servers refuse to run"
    )]
    NoUser(String),
    /// A folder that is not an unpacked server.
    #[error("the server's folder {} ({named}) has no lib/{jar}.jar; leave it out, or name an unpacked server", .home.display())]
    NotHome {
        /// How the folder was given.
        named: &'static str,
        /// The folder.
        home: PathBuf,
        /// The file that was searched.
        jar: String,
    },
    /// A folder with another version than the requested one.
    #[error("the server's folder {} ({named}) holds version {found}, but {wanted} was requested; leave one of them out", .home.display())]
    OtherVersion {
        /// How the folder was given.
        named: &'static str,
        /// The folder.
        home: PathBuf,
        /// The version in the folder.
        found: String,
        /// The version that was requested.
        wanted: String,
    },
    /// There is no default version of Elasticsearch.
    #[error("Elasticsearch needs a version, as in 8.19.21")]
    NoVersion,
    /// The data folder has other files in it.
    #[error("{} is neither empty nor a node's data folder; give an empty or a new one with option `data`", .0.display())]
    NotData(PathBuf),
    /// A path that the servers' launchers cannot handle.
    #[error("a node cannot be kept in {}: servers' launchers split paths at spaces; set XDG_DATA_HOME to a folder without spaces", .0.display())]
    Spaces(PathBuf),
    /// The name is not valid. It becomes the name of a folder and of a cluster.
    #[error("the node's name {0:?} must be 1 to 64 letters, digits, - and _; choose another with option `name`")]
    Name(String),
    /// The operating system reported an error.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl NodeError {
    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            NodeError::NoJava { .. } => Code::NoJava,
            NodeError::NoDistribution { .. } => Code::NoDistribution,
            NodeError::PortTaken(_) => Code::PortTaken,
            NodeError::NoDisk { .. } => Code::DiskFull,
            NodeError::Died { .. } => Code::ServerDied,
            NodeError::TimedOut { .. } => Code::ServerTimedOut,
            NodeError::NoUser(_) => Code::NoServerUser,
            NodeError::NotHome { .. }
            | NodeError::OtherVersion { .. }
            | NodeError::NotData(_)
            | NodeError::Spaces(_) => Code::BadServerFolder,
            NodeError::NoVersion | NodeError::Name(_) => Code::BadNodeName,
            NodeError::Io { .. } => Code::ServerFailed,
        }
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> NodeError {
        let what = what.into();
        move |source| NodeError::Io { what, source }
    }
}
