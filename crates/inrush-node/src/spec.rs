//! What is asked of a node that is to be started.

use std::path::PathBuf;

use super::distribution::Distribution;
use super::error::NodeError;
use super::folders::User;

/// The specification of a node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The server.
    pub distribution: Distribution,
    /// The name of the node.
    pub name: String,
    /// The folder with configuration, logs, temporary files, and data unless `data` is another
    /// folder.
    pub folder: PathBuf,
    /// The data folder. It must not exist, be empty, or hold a node's data. The node's user becomes
    /// its owner.
    pub data: Option<PathBuf>,
    /// HTTP port. Default: a free one.
    pub port: Option<u16>,
    /// Port for other nodes. Default: a free one.
    pub transport_port: Option<u16>,
    /// Java heap, MiB. Default 1,024.
    pub heap_mib: u32,
    /// The Java to run it with. No other one is tried. Default: the first of these that can run the
    /// server: the distribution's own, `JAVA_HOME`, the one in `PATH`, those in `/usr/lib/jvm`.
    pub java_home: Option<PathBuf>,
    /// Further settings. They take precedence over those of this program. An empty value removes a
    /// setting of this program.
    pub settings: Vec<(String, String)>,
    /// An unpacked server of this product and version to run, with the secrets in its keystore.
    /// Default: a distribution that is fetched.
    pub home: Option<PathBuf>,
    /// The user that runs the server. Only root can choose one, and a program with the capabilities
    /// CHOWN, KILL, SETGID and SETUID. Default: the program's own user; for root an
    /// unprivileged one, which has no files.
    pub user: Option<String>,
    /// The file mode mask of the server. Default: that of this program.
    pub umask: Option<u32>,
    /// The header `Authorization` of a user who may read the health and the settings of the node,
    /// where the settings turn its security on. Default: none.
    pub authorization: Option<String>,
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
            home: None,
            user: None,
            umask: None,
            authorization: None,
        }
    }

    /// The user that runs the server, if it is not that of this program.
    pub(super) fn other_user(&self) -> Result<Option<User<'_>>, NodeError> {
        // Servers refuse to run as root.
        let default = rustix::process::geteuid().is_root().then_some("nobody");
        self.user.as_deref().or(default).map(User::named).transpose()
    }
}
