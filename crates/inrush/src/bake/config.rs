//! What a bake can be told, and why it could not begin.

use std::path::PathBuf;

use inrush_core::Action;

use crate::cluster::ClusterError;
use crate::config::{Durability, LoadConfig};
use crate::error::LoadError;
use crate::node::NodeError;
use crate::source::SourceError;

/// What to build where, and how to hand it over.
#[derive(Clone, Debug)]
pub struct BakeConfig {
    /// The load, with the target as its cluster. Its index must not exist on the target. The settings that a load changes for its
    /// time are none of this: nobody else uses the builder.
    pub load: LoadConfig,
    /// What both sides reach.
    pub place: Place,
    /// The server that builds.
    pub builder: BuilderConfig,
    /// Lift the target's throttles for the restore, and put them back. Default: they stay.
    pub unthrottle: bool,
}

/// Where the snapshot goes from the builder to the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder that this machine and all nodes of the target have at the same path, below the `path.repo` of the target's nodes.
    Path(PathBuf),
    /// A repository of the target. Nothing is written to it: a folder beside what is in it is used.
    Repository(String),
}

/// The server that builds.
#[derive(Clone, Debug)]
pub struct BuilderConfig {
    /// Its version: not newer than the oldest node of the target, with the same major version of Lucene. Default: that of the target, else the newest
    /// one on this machine that fits.
    pub version: Option<String>,
    /// An unpacked server, with the plugins that the mapping needs. Default: one that is fetched, without plugins.
    pub home: Option<PathBuf>,
    /// Java heap, MiB. Default 2,048.
    pub heap_mib: u32,
    /// Folder for its data. Default: where local nodes are kept.
    pub data: Option<PathBuf>,
    /// Java to run it with. Default: the one that is found.
    pub java_home: Option<PathBuf>,
}

impl Default for BuilderConfig {
    fn default() -> Self {
        BuilderConfig { version: None, home: None, heap_mib: 2048, data: None, java_home: None }
    }
}

impl BakeConfig {
    /// The defaults for building what `load` would load.
    pub fn new(load: LoadConfig, place: Place) -> Self {
        BakeConfig { load, place, builder: BuilderConfig::default(), unthrottle: false }
    }

    /// Checks what one value alone cannot tell.
    ///
    /// # Errors
    /// A sentence that says what does not fit together and what to do.
    pub fn check(&self) -> Result<(), String> {
        let load = &self.load;
        load.check()?;
        if load.index.fixed().is_none() {
            return Err("a bake builds one index, and --index has placeholders; use `inrush load`".to_owned());
        }
        if matches!(load.action, Action::Update | Action::Delete) {
            return Err(format!(
                "a bake builds a new index, in which there is nothing for the action {}; use `inrush load`",
                load.action.bulk_key()
            ));
        }
        if load.create.recreate {
            return Err(
                "a bake never deletes an index to make its own; give --alias, which swaps when the new one is complete"
                    .to_owned(),
            );
        }
        if load.durability == Durability::Async {
            return Err(
                "--durability async is for a live index; a builder that dies goes on by itself, so leave it out"
                    .to_owned(),
            );
        }
        if load.guard.replicas_off {
            return Err("--replicas-off is for a live index; a builder has no replicas, so leave it out".to_owned());
        }
        if load.state.is_none() {
            return Err(
                "a bake writes down what it does on the target before it does it; name a folder for that with --state"
                    .to_owned(),
            );
        }
        if self.builder.home.is_some() && self.builder.version.is_some() {
            return Err("--builder-home is of one version; leave --builder-version out".to_owned());
        }
        Ok(())
    }
}

/// Why a bake ended without a report: nothing was loaded, and the target is as it was, or the error says what is not.
#[derive(Debug, thiserror::Error)]
pub enum BakeError {
    /// What a load can meet before it begins.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The builder cannot be started.
    #[error("the builder: {0}")]
    Node(#[from] NodeError),
    /// This target, repository, mapping or builder does not allow it; says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// Somebody stopped it.
    #[error("interrupted: nothing was loaded")]
    Interrupted,
    /// The load into the builder did not come to its end. Only between steps: its report is what the caller gets.
    #[error("the load into the builder did not come to its end")]
    NotLoaded(Box<crate::report::Report>),
}

impl From<ClusterError> for BakeError {
    fn from(error: ClusterError) -> Self {
        BakeError::Load(error.into())
    }
}

impl From<SourceError> for BakeError {
    fn from(error: SourceError) -> Self {
        BakeError::Load(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StateFolder;

    fn problem(change: impl FnOnce(&mut BakeConfig)) -> String {
        let mut load = LoadConfig::new(vec!["http://target:9200".into()], "x".parse().unwrap());
        load.state = Some(StateFolder::new("state"));
        let mut config = BakeConfig::new(load, Place::Path("/shared".into()));
        config.check().unwrap();
        change(&mut config);
        config.check().unwrap_err()
    }

    #[test]
    fn what_a_new_index_cannot_be_is_refused() {
        assert!(problem(|c| c.load.index = "x-{y}".parse().unwrap()).contains("one index"));
        assert!(
            problem(|c| (c.load.action, c.load.id) = (Action::Update, Some("id".parse().unwrap())))
                .contains("nothing for the action update")
        );
        assert!(problem(|c| c.load.create.recreate = true).contains("--alias"));
        assert!(problem(|c| c.load.durability = Durability::Async).contains("leave it out"));
        assert!(problem(|c| c.load.state = None).contains("--state"));
    }
}
