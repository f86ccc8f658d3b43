//! The options of a bake, and its errors.

use std::path::PathBuf;

use inrush_cluster::api::{ClusterError, ConnectError};
use inrush_core::{Action, Code};
use inrush_load::config::{Durability, Learning, LoadConfig};
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
    /// those of the server that may be needed. Another field of `builder`, and more than one of
    /// `builders`, take a server.
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
    /// Number of servers that build at once, if servers do, each with its own heap. Default 1, at
    /// most 64.
    pub builders: u32,
    /// What several servers build. Ignored for one.
    pub layout: Layout,
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
pub(super) const BUILD_MEMORY: usize = 512 << 20;

/// The note that an index is built with a server, and why.
pub(super) fn with_server(why: &str) -> String {
    format!("the index is built with a server, because {why}")
}

/// What several builders build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The builders are the nodes of one cluster, which holds the index.
    #[default]
    Cluster,
    /// Each builder makes an index of its own, `NAME-1` and on. `NAME` is the alias of all of them.
    /// Documents with the same id or routing value are in the same index.
    Alias,
    /// Each builder makes one shard of one index. Documents go to the shard in which the index will
    /// look for them, and the shards are put together in the repository. Needs a field with ids,
    /// and a folder as the repository.
    Stitched,
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

/// The server that builds.
#[derive(Clone, Debug)]
pub struct BuilderConfig {
    /// Running servers to build with, one for each builder. No other program may use them. They may
    /// be on other machines. Their `path.repo` has to contain the folder of the repository. They
    /// keep running, without the built index. Default: servers are started on this machine.
    pub urls: Vec<String>,
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
            urls: Vec::new(),
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
            builders: 1,
            layout: Layout::default(),
            data_stream: None,
            unthrottle: false,
            no_resume: false,
        }
    }

    /// The layout, if there is more than one builder.
    pub(super) fn parted(&self) -> Option<Layout> {
        (self.builders > 1).then_some(self.layout)
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
        if !(1..=BUILDERS_MAX).contains(&self.builders) {
            return Err(OptionError::conflict(format!("option `builders` must be 1 to {BUILDERS_MAX}")));
        }
        self.check_layout()?;
        let urls = self.builder.urls.len();
        if urls > 0 && urls != self.builders as usize {
            return Err(OptionError::conflict(format!(
                "{urls} servers are named with option `builder`, but option `builders` is {}",
                self.builders
            )));
        }
        self.builder.check()?;
        self.check_engine()?;
        if urls > 1 && self.layout == Layout::Cluster {
            return Err(OptionError::conflict(
                "nodes of one cluster are one builder; name one of them with option `builder`, or give option `layout=alias` or option `layout=stitched`",
            ));
        }
        Ok(())
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
        if !self.urls.is_empty() && self.has_own() {
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

/// The most builders: each has a heap of its own on one machine.
const BUILDERS_MAX: u32 = 64;

impl BakeConfig {
    /// Whether the options name builders, of which one that writes the index itself has none.
    pub(super) fn has_builder(&self) -> bool {
        self.builders > 1 || !self.builder.urls.is_empty() || self.builder.has_own()
    }

    fn check_engine(&self) -> Result<(), OptionError> {
        if self.engine == Engine::Native && self.has_builder() {
            return Err(OptionError::conflict(
                "option `engine=native` builds in this process, without a builder; leave the options of builders out",
            )
            .of("engine"));
        }
        if self.build_memory < BUILD_MEMORY_MIN {
            return Err(OptionError::conflict("option `build_memory` must be at least 16 MiB").of("build_memory"));
        }
        Ok(())
    }

    fn check_layout(&self) -> Result<(), OptionError> {
        let load = &self.load;
        let by_id_made_here = load.id_from.is_some();
        if self.data_stream.is_some() && load.finish.swap.is_some() {
            return Err(OptionError::conflict(
                "option `data_stream` adds the index to a stream, and option `alias` puts it in the place of another; choose one",
            ));
        }
        match self.parted() {
            None | Some(Layout::Cluster) => Ok(()),
            Some(Layout::Alias) if self.data_stream.is_some() => Err(OptionError::conflict(
                "option `layout=alias` makes an alias of several indices, but a data stream accepts no index that has an alias; give option `layout=cluster` or option `layout=stitched`",
            )),
            Some(Layout::Alias | Layout::Stitched) if by_id_made_here => Err(OptionError::conflict(
                "option `id_from` makes ids by the order of the whole source, but each builder reads only its part; name a field with option `id`, or give option `layout=cluster`",
            )),
            Some(Layout::Alias) if load.finish.swap.is_some() => Err(OptionError::conflict(
                "option `layout=alias` makes several indices behind one new alias, but option `alias` replaces one index by one other; give option `index=NAME`, or option `layout=stitched`",
            )),
            Some(Layout::Alias) => Ok(()),
            Some(Layout::Stitched) if load.id.is_none() => Err(OptionError::conflict(
                "option `layout=stitched` puts each document into the shard of its id, but without a field for ids the servers would make them; name the field with option `id=FIELD`, or give option `layout=cluster`",
            )),
            Some(Layout::Stitched) => match load.create.shards {
                Some(shards) if shards != self.builders => Err(OptionError::conflict(format!(
                    "option `layout=stitched` builds one shard for each builder; give option `builders={shards}`, or leave option `shards` out"
                ))),
                _ => Ok(()),
            },
        }
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
        assert!(problem(|c| (c.builders, c.layout) = (2, Layout::Stitched)).contains("option `id=FIELD`"));
        assert!(problem(|c| c.builder.urls = vec!["http://a".into(); 2]).contains("option `builders` is 1"));
        let settings = |name: &str, url: &str| {
            problem(|c| {
                c.builder.settings = vec![(name.into(), "x".into())];
                c.builder.urls.extend((!url.is_empty()).then(|| url.to_owned()));
            })
        };
        assert!(settings("path.repo", "").contains("option `builder_setting=path.repo`"));
        assert!(settings("s3.client.default.region", "http://a").contains("leave those options out"));
        let stream = |c: &mut BakeConfig| c.data_stream = Some("logs".into());
        assert!(
            problem(|c| {
                stream(c);
                c.load.finish.swap = Some(inrush_load::config::SwapConfig::new("y"));
            })
            .contains("choose one")
        );
        assert!(
            problem(|c| {
                stream(c);
                (c.builders, c.layout) = (2, Layout::Alias);
            })
            .contains("option `layout=cluster` or option `layout=stitched`")
        );
        assert!(problem(|c| c.builders = 0).contains("1 to 64"));
        assert!(problem(|c| (c.engine, c.builders) = (Engine::Native, 2)).contains("without a builder"));
        assert!(problem(|c| c.build_memory = 1).contains("at least 16 MiB"));
        assert!(problem(|c| c.load.state = None).contains("option `state`"));
    }
}
