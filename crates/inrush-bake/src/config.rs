//! The options of a bake, and its errors.

use std::path::PathBuf;

use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_core::{Action, Code};
use inrush_load::config::{Durability, Learning, LoadConfig};
use inrush_load::cutover::is_passing;
use inrush_load::{LoadError, OptionError};
use inrush_node::NodeError;
use inrush_sources::{SourceError, StoreOptions};
use serde::{Deserialize, Serialize};

/// What to build where, and how to hand it over.
#[derive(Clone, Debug)]
pub struct BakeConfig {
    /// The load, with the target as its cluster. Its index must not exist on the target. Settings
    /// that a load changes temporarily do not apply: no other program uses the index.
    pub load: LoadConfig,
    /// The location that both sides reach.
    pub place: Place,
    /// The folder of `place` as the target's nodes see it. Default: at the same path.
    pub path_on_target: Option<PathBuf>,
    /// What builds the index. Default: [`Engine::Auto`]. With it, heap and Java of `builder` are
    /// those of the server that may be needed. Another field of `builder` takes a server.
    pub engine: Engine,
    /// Bytes for building without a server: of segments that grow, and of writing them. Default
    /// 512 MiB. With less than 16 MiB for each segment, fewer threads build. It comes on top of
    /// the memory of a load.
    pub build_memory: usize,
    /// For building without a server: how this machine reaches the object store of the repository,
    /// where that is no folder: endpoint, region and so on, over those of the environment.
    pub repository_options: StoreOptions,
    /// The server that builds, if one does.
    pub builder: BuilderConfig,
    /// A data stream of the target (Elasticsearch 7.16 and newer) to which the index is attached at
    /// the end, behind the write index. Default: none.
    pub data_stream: Option<String>,
    /// Remove the target's throttles during the restore, and restore them afterwards. Default: they
    /// stay.
    pub unthrottle: bool,
    /// Delete the built data also if the bake fails or is interrupted. Default: they stay on this
    /// machine, so that the bake can be resumed.
    pub no_resume: bool,
}

/// What builds an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// A server of the target's product, which takes the documents of a load.
    Server,
    /// This process, which writes the files of the index. What it does not support is refused with
    /// [`BakeError::NotNative`], most of it before anything is written.
    Native,
    /// This process where it supports everything and was tested, else a server. The report says
    /// why.
    #[default]
    Auto,
}

/// The memory for building without a server.
pub(crate) const BUILD_MEMORY: usize = 512 << 20;

/// The note that an index is built with a server, and why.
pub(crate) fn with_server(why: &str) -> String {
    format!("the index is built with a server, because {why}")
}

/// Where the snapshot is handed over from the builder to the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of a file system that this machine and all nodes of the target have, below the
    /// `path.repo` of the target's nodes.
    Path(PathBuf),
    /// A repository of the target. Its contents are not changed: a folder beside them is used.
    Repository(String),
}

/// How the target gets the index.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) place: Place,
    /// The folder of `place` as the target's nodes see it, if they have it at another path.
    pub(crate) path_on_target: Option<PathBuf>,
    /// The data stream that gets it.
    pub(crate) data_stream: Option<String>,
    /// Whether the target's throttles are removed during the restore.
    pub(crate) unthrottle: bool,
}

/// The server that builds.
#[derive(Clone, Debug)]
pub struct BuilderConfig {
    /// A running server to build with. No other program may use it. It may be on another machine.
    /// Its `path.repo` has to contain the folder of the repository. It keeps running, without the
    /// built index. Default: a server is started on this machine.
    pub url: Option<String>,
    /// The version: not newer than the oldest node of the target, with the same major version of
    /// Lucene. Default: that of the target, else the newest compatible one on this machine.
    pub version: Option<String>,
    /// An unpacked server, with the plugins that mapping and repository need, and their secrets in
    /// its keystore. Default: one that is fetched, without plugins.
    pub home: Option<PathBuf>,
    /// Further settings for its `opensearch.yml` or `elasticsearch.yml`, such as those of plugins.
    /// Default: none.
    pub settings: Vec<(String, String)>,
    /// Java heap, MiB. Default 2,048.
    pub heap_mib: u32,
    /// The folder for its data. Default: the folder of local nodes.
    pub data: Option<PathBuf>,
    /// The Java to run it with. Default: one that is found.
    pub java_home: Option<PathBuf>,
}

impl Default for BuilderConfig {
    fn default() -> Self {
        BuilderConfig {
            url: None,
            version: None,
            home: None,
            settings: Vec::new(),
            heap_mib: 2048,
            data: None,
            java_home: None,
        }
    }
}

impl BakeConfig {
    /// The defaults for building what `load` would load.
    pub fn new(load: LoadConfig, place: Place) -> Self {
        BakeConfig {
            load,
            place,
            path_on_target: None,
            engine: Engine::default(),
            build_memory: BUILD_MEMORY,
            repository_options: StoreOptions::default(),
            builder: BuilderConfig::default(),
            data_stream: None,
            unthrottle: false,
            no_resume: false,
        }
    }

    /// Checks the combination of the options.
    ///
    /// # Errors
    /// A sentence that says which options contradict each other and what to do.
    pub fn check(&self) -> Result<(), OptionError> {
        let load = &self.load;
        load.check()?;
        if load.index.fixed().is_none() {
            return Err(OptionError::conflict(
                "a bake builds one index, but option `index` has placeholders; use `inrush load`",
            ));
        }
        if matches!(load.action, Action::Update | Action::Delete) {
            return Err(OptionError::conflict(format!(
                "a bake builds a new index, which holds no documents for the action {}; use `inrush load`",
                load.action.bulk_key()
            ))
            .of("action"));
        }
        if load.create.recreate {
            return Err(OptionError::conflict(
                "option `recreate` deletes an index, and a bake builds its own beside it; give option `alias`, which swaps when the new one is complete",
            )
            .of("recreate"));
        }
        if load.once {
            return Err(OptionError::conflict(
                "option `once` is for `inrush load`; a bake that was cut off continues with option `resume`, and its end is not recorded",
            ));
        }
        if load.durability == Durability::Async {
            return Err(OptionError::conflict(
                "option `durability=async` is for a live index; a builder that dies continues by itself, so leave it out",
            )
            .of("durability"));
        }
        if load.guard.replicas_off {
            return Err(OptionError::conflict(
                "option `replicas_off` is for a live index; a builder has no replicas, so leave it out",
            )
            .of("replicas_off"));
        }
        if let Some(option) = learning_option(load.learning) {
            let problem =
                format!("option `{option}` is for a live cluster; each bake has a new builder, so leave it out");
            return Err(OptionError::conflict(problem).of(option));
        }
        if load.state.is_none() {
            return Err(OptionError::conflict(
                "a bake records each change of the target before it makes it; name a folder for that with option `state`",
            ));
        }
        if self.data_stream.is_some() && load.finish.swap.is_some() {
            return Err(OptionError::conflict(
                "option `data_stream` adds the index to a stream, and option `alias` puts it in the place of another; choose one",
            ));
        }
        self.builder.check()?;
        self.check_engine()
    }
}

/// The option that says what a load begins with.
fn learning_option(learning: Learning) -> Option<&'static str> {
    match learning {
        Learning::Kept => None,
        Learning::Anew => Some("forget"),
        Learning::Given(_) => Some("learned"),
    }
}

/// Settings that a bake sets itself or relies on; the beginnings of their names.
const OWN_SETTINGS: [&str; 6] = ["path.", "http.", "transport.", "network.", "discovery.", "cluster."];

impl BuilderConfig {
    /// Whether it says something about a server that is started.
    fn has_own(&self) -> bool {
        self.home.is_some() || self.version.is_some() || self.data.is_some() || !self.settings.is_empty()
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.url.is_some() && self.has_own() {
            return Err(OptionError::conflict(
                "option `builder` names a running server, which has its own version, home, settings and data; leave those options out",
            ));
        }
        if self.home.is_some() && self.version.is_some() {
            return Err(OptionError::conflict(
                "option `builder_home` has one version; leave option `builder_version` out",
            ));
        }
        let own = |name: &str| name == "node.name" || OWN_SETTINGS.iter().any(|own| name.starts_with(own));
        match self.settings.iter().find(|(name, _)| own(name)) {
            Some((name, _)) => Err(OptionError::conflict(format!(
                "option `builder_setting={name}`: a bake sets this itself; leave it out"
            ))),
            None => Ok(()),
        }
    }
}

/// The least memory for building without a server: one segment of a useful size.
const BUILD_MEMORY_MIN: usize = 16 << 20;

impl BakeConfig {
    /// Whether the options are about a builder, which a bake in this process does not have.
    pub(crate) fn has_builder(&self) -> bool {
        self.builder.url.is_some() || self.builder.has_own()
    }

    fn check_engine(&self) -> Result<(), OptionError> {
        if self.engine == Engine::Native && self.has_builder() {
            return Err(OptionError::conflict(
                "option `engine=native` builds in this process, without a builder; leave the options of the builder out",
            )
            .of("engine"));
        }
        if self.build_memory < BUILD_MEMORY_MIN {
            return Err(OptionError::conflict("option `build_memory` must be at least 16 MiB").of("build_memory"));
        }
        Ok(())
    }
}

/// Why a bake ended without a report. Nothing was loaded, and the target is in its former state, or
/// the error names the exceptions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BakeError {
    /// An error of a load before it begins.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The builder cannot be started.
    #[error("the builder: {0}")]
    Node(#[from] NodeError),
    /// The target, the repository, the mapping or the builder does not allow the bake. The message
    /// says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// A file or folder of this machine cannot be written.
    #[error("{what}: {source}")]
    Files {
        /// What cannot be done, with the path.
        what: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The index cannot be built without a server. With [`Engine::Auto`] a server builds it,
    /// unless something of the first try is left, which the next bake has to clean up first.
    #[error(
        "this index cannot be built without a server: {0}; give option `engine=server`, or leave option `engine` out"
    )]
    NotNative(String),
    /// The user or the program stopped the bake.
    #[error("interrupted")]
    Interrupted,
    /// It ended after it had begun. The message says whether `--resume` can continue it, and what
    /// could not be cleaned up.
    #[error("{cause}{}", what_is_left(left, *resumable))]
    Unfinished {
        /// Why it ended.
        cause: Box<BakeError>,
        /// What could not be cleaned up, and why.
        left: Vec<String>,
        /// Whether `--resume` can continue it.
        resumable: bool,
    },
    /// The load did not finish. Used only between steps: the caller gets its report.
    #[error("the load did not finish")]
    NotLoaded(Box<inrush_load::Report>),
}

impl BakeError {
    /// Whether the same request to a cluster may succeed a little later.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, BakeError::Load(LoadError::Cluster(cause)) if is_passing(cause))
    }

    /// The kind.
    pub fn code(&self) -> Code {
        match self {
            BakeError::Load(error) => error.code(),
            BakeError::Node(error) => error.code(),
            BakeError::Refused(_) => Code::BakeRefused,
            BakeError::Files { source, .. } => Code::of_io(source),
            BakeError::NotNative(_) => Code::BakeNotNative,
            BakeError::Interrupted => Code::Interrupted,
            BakeError::Unfinished { cause, .. } => cause.code(),
            BakeError::NotLoaded(report) => report.code().unwrap_or(Code::Failed),
        }
    }

    /// Why only a server can build the index, if the bake ended for that and has left nothing.
    pub fn needs_server(&self) -> Option<&str> {
        match self {
            BakeError::NotNative(why) => Some(why),
            BakeError::Unfinished { cause, left, .. } if left.is_empty() => cause.needs_server(),
            _ => None,
        }
    }

    /// Whether the target has refused a request that only a bake without a builder makes. Wrong
    /// credentials (401), and an index that is gone (404), would end any bake.
    pub(crate) fn is_refusal_of_target(&self) -> bool {
        match self {
            BakeError::Load(LoadError::Cluster(cause)) => cause.cannot_be_asked() && cause.status() != Some(404),
            _ => false,
        }
    }

    /// Whether the user or the program stopped it.
    pub fn is_interrupted(&self) -> bool {
        match self {
            BakeError::Interrupted => true,
            BakeError::Unfinished { cause, .. } => cause.is_interrupted(),
            _ => false,
        }
    }
}

fn what_is_left(left: &[String], resumable: bool) -> String {
    let left = if left.is_empty() { String::new() } else { format!("; not cleaned up: {}", left.join("; ")) };
    let next = if resumable { "; the same command with option `resume` continues" } else { "" };
    left + next
}

impl From<ConnectError> for BakeError {
    fn from(error: ConnectError) -> Self {
        BakeError::Load(error.into())
    }
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
    use inrush_load::config::StateFolder;

    use super::*;

    fn problem(change: impl FnOnce(&mut BakeConfig)) -> String {
        let mut load = LoadConfig::new(vec!["http://target:9200".into()], "x".parse().unwrap());
        load.state = Some(StateFolder::new("state"));
        let mut config = BakeConfig::new(load, Place::Path("/shared".into()));
        config.check().unwrap();
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn what_a_new_index_cannot_be_is_refused() {
        assert!(problem(|c| c.load.index = "x-{y}".parse().unwrap()).contains("one index"));
        assert!(
            problem(|c| (c.load.action, c.load.id) = (Action::Update, Some("id".parse().unwrap())))
                .contains("no documents for the action update")
        );
        assert!(problem(|c| c.load.create.recreate = true).contains("option `alias`"));
        assert!(problem(|c| c.load.durability = Durability::Async).contains("leave it out"));
        let settings = |name: &str, url: &str| {
            problem(|c| {
                c.builder.settings = vec![(name.into(), "x".into())];
                c.builder.url = (!url.is_empty()).then(|| url.to_owned());
            })
        };
        assert!(settings("path.repo", "").contains("option `builder_setting=path.repo`"));
        assert!(settings("s3.client.default.region", "http://a").contains("leave those options out"));
        assert!(
            problem(|c| {
                c.data_stream = Some("logs".into());
                c.load.finish.swap = Some(inrush_load::config::SwapConfig::new("y"));
            })
            .contains("choose one")
        );
        let of_builder = |c: &mut BakeConfig| (c.engine, c.builder.url) = (Engine::Native, Some("http://a".into()));
        assert!(problem(of_builder).contains("without a builder"));
        assert!(problem(|c| c.build_memory = 1).contains("at least 16 MiB"));
        assert!(problem(|c| c.load.state = None).contains("option `state`"));
    }

    #[test]
    fn only_what_a_builder_would_not_meet_needs_one() {
        for (status, expected) in
            [(400, true), (401, false), (403, true), (404, false), (429, false), (500, true), (503, false)]
        {
            let error = BakeError::from(ClusterError::from_status("-", status, &serde_json::Value::Null));
            assert_eq!(error.is_refusal_of_target(), expected, "{status}");
        }
        assert!(!BakeError::Refused("no shard started in time".to_owned()).is_refusal_of_target());
    }
}
