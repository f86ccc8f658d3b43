//! A node that ends with its owner, for tests and benchmarks.

use std::io;
use std::path::PathBuf;

use rustix::process::Signal;

use super::error::NodeError;
use super::group;
use super::paths::{cache, root};
use super::process::{Launched, PORT_TRIES, launch, launch_again, ready};
use super::spec::NodeSpec;
use super::tell::Tell;

/// A node that ends with its owner, for tests and benchmarks.
#[derive(Debug)]
pub struct OwnedNode {
    spec: NodeSpec,
    home: PathBuf,
    launched: Launched,
    /// Whether its processes were ended here. Their ids may belong to other processes since.
    ended: bool,
}

impl OwnedNode {
    /// Starts a node and waits until it answers. Dropping the future ends the started process.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn start(spec: NodeSpec) -> Result<Self, NodeError> {
        let (distribution, java_home, named) = (spec.distribution.clone(), spec.java_home.clone(), spec.home.clone());
        let unpack = move || match named {
            Some(home) => std::path::absolute(home).map_err(NodeError::io("cannot use the server's folder")),
            None => distribution.home(&root(), &cache(), java_home.as_deref(), &Tell::default()),
        };
        let unpacked = tokio::task::spawn_blocking(unpack).await;
        let home = unpacked.map_err(io::Error::other).map_err(NodeError::io("unpacking stopped"))??;
        let mut tries = 1;
        loop {
            let launched = launch(&spec, &home)?;
            // The same ports after a restart.
            let (port, transport_port) = (Some(launched.address.port()), Some(launched.transport_port));
            let same = NodeSpec { port, transport_port, ..spec.clone() };
            let mut node = OwnedNode { spec: same, home: home.clone(), launched, ended: false };
            match ready(&mut node.launched).await {
                Err(NodeError::PortTaken(port))
                    if ![spec.port, spec.transport_port].contains(&Some(port)) && tries < PORT_TRIES =>
                {
                    tries += 1;
                }
                ended => return ended.map(|()| node),
            }
        }
    }

    /// The address of the node.
    pub fn url(&self) -> String {
        format!("http://{}", self.launched.address)
    }

    /// The process that was started. Its id is also that of its process group: Elasticsearch 8 runs
    /// its server in a second process.
    pub fn pid(&self) -> u32 {
        self.launched.child.id()
    }

    /// Ends it at once, like a crash.
    ///
    /// # Errors
    /// An error if the process cannot be waited for.
    pub fn kill(&mut self) -> io::Result<()> {
        if !self.ended {
            group::signal(self.pid(), Signal::KILL);
            self.launched.child.wait()?;
            self.ended = true;
        }
        Ok(())
    }

    /// Starts it again on the same ports with the same data. If it still runs, it is killed first.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn restart(&mut self) -> Result<(), NodeError> {
        self.kill().map_err(NodeError::io("cannot wait for the process of the node"))?;
        // Its ports and the lock on its data are free when its last process has ended.
        group::gone(self.pid(), group::KILL_MAX).await;
        self.launched = launch_again(&self.spec, &self.home).await?;
        self.ended = false;
        ready(&mut self.launched).await
    }

    /// Ends it in order, or kills it if it takes longer than a minute. [`OwnedNode::restart`]
    /// starts it again.
    ///
    /// # Errors
    /// [`NodeError`] if its processes cannot be ended.
    pub async fn end(&mut self) -> Result<(), NodeError> {
        if !self.ended {
            group::end(self.pid()).await?;
            self.launched.child.wait().map_err(NodeError::io("cannot wait for the process of the node"))?;
            self.ended = true;
        }
        Ok(())
    }

    /// The same, for good.
    ///
    /// # Errors
    /// As [`OwnedNode::end`].
    pub async fn stop(mut self) -> Result<(), NodeError> {
        self.end().await
    }
}

impl Drop for OwnedNode {
    fn drop(&mut self) {
        // A failure cannot be reported any more.
        let _ = self.kill();
    }
}
