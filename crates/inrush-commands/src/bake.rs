//! The options of a bake, and the options of a load that it uses.

use inrush_cluster::BoxFuture;
use inrush_cluster::transport::NodeUrl;
use std::path::PathBuf;

use crate::options::LoaderBuilder;
use crate::options::{
    ByteSize, Environment, Folder, ForAll, HeapSize, LoadOptions, LoadPlan, LocalNode, OptionError, OptionErrorKind,
    OptionGroup, Pair, TargetOptions, Use, refused_watch,
};
use inrush_bake::{BakeConfig, BakeError, BakeReport, Baker, BuilderConfig, Engine, OpenSource, Place, RunningBake};
use inrush_load::LoadError;
use inrush_load::config::GraphTime;
use inrush_load::observe::ObserverSet;
use inrush_page::{Control, Shown, Watch, WatchConfig};
use inrush_sources::StoreOptions;

crate::option_choices! { Engine {
    "server" => Engine::Server, "a server, the builder, takes the documents";
    "native" => Engine::Native, "this process writes the files of the index; what it does not support is refused";
    "auto" => Engine::Auto, "native where it supports everything and was tested, else server; the report says why";
} }

crate::options! {
    /// The options of a bake besides those of a load.
    pub struct BakeOptions in BakeBuilder.bake, "Bake" {
        /// Folder of a file system that this machine and all nodes of the target have at the same
        /// path, below the nodes' path.repo. The bake creates a subfolder and deletes it at the end
        repository_path: Option<Folder> = "DIR", conflicts(&["repository"]);
        /// The absolute path of the folder of option `repository_path` on the target's nodes
        repository_path_on_target: Option<String> = "DIR", default("the same path"), conflicts(&["repository"]);
        /// Instead of a folder: a repository of the target. The bake creates a repository of the
        /// same type and place, and does not touch the contents. If a server builds, types other
        /// than fs need the server's plugin on the builder, too (option `builder_home`)
        repository: Option<String> = "NAME";
        /// For building without a server: how this machine reaches the object store of the
        /// repository, as in endpoint=http://localhost:7070, region=eu-west-1 or allow_http=true;
        /// repeatable. By default as the environment says (AWS_*, GOOGLE_*, AZURE_*), from which
        /// the credentials come in any case, or from the AWS profile or the identity of the machine
        repository_option: Vec<String> = "KEY=VALUE";
        /// A data stream of the target to which the index is attached at the end, behind the write
        /// index. Option `index` is the index's own name, for which no template creates data
        /// streams. Elasticsearch 7.16 and newer
        data_stream: Option<String> = "NAME";
        /// Remove the target's throttles during the restore. They are recorded first, and restored
        /// afterwards. By default they stay
        unthrottle: bool, server("indices.recovery.max_bytes_per_sec");
        /// Delete the built data also if the bake fails or is interrupted. By default they are
        /// kept, and option `resume` continues with them
        no_resume: bool, conflicts(&["resume"]);
        /// What builds the index
        engine: Option<Engine> = "ENGINE", default("auto; server if an option of the builder is given");
        /// Memory for building without a server, on top of option `memory`: segments that grow, and
        /// writing them. With less than 16 MiB for each segment, fewer threads build
        build_memory: Option<ByteSize> = "SIZE", default("512MiB");
        /// A running server to build with, on this machine or another, without security, which no
        /// other program uses; its path.repo has to contain the folder of the repository. It keeps
        /// running, without the built index. By default one is started where one is needed
        builder: Option<String> = "URL";
        /// Version of the builder: not newer than the oldest node of the target, with the same
        /// major version of Lucene
        builder_version: Option<String> = "VERSION",
            default("the target's, else the newest compatible one on this machine");
        /// An unpacked server to build with, with the plugins that the mapping and the repository
        /// need, and their secrets in its keystore; its settings file is not read
        builder_home: Option<Folder> = "DIR", default("one that is fetched, without plugins");
        /// A setting of the builder, as in opensearch.yml or elasticsearch.yml, such as
        /// s3.client.default.region=eu-west-1 for a plugin; repeatable. Secrets are not allowed:
        /// they belong into the builder's keystore
        builder_setting: Vec<Pair> = "NAME=VALUE";
        /// Java heap of the builder
        builder_heap: Option<HeapSize> = "SIZE", default("2g");
        /// Folder for the builder's data
        builder_data: Option<Folder> = "DIR", default("the folder of local nodes");
        /// Java to run the builder with: a folder with bin/java
        java_home: Option<Folder> = "DIR", default("JAVA_HOME, PATH, /usr/lib/jvm");
    }
}

/// A bake whose options are checked. Nothing was changed yet.
pub struct BakePlan {
    /// The configuration.
    pub config: BakeConfig,
    /// Opens the sources.
    pub sources: OpenSource,
    /// Automatic choices and their reasons, in sentences for the user.
    pub notes: Vec<String>,
    /// What shows the bake. The front end starts it before the bake.
    pub watch: WatchConfig,
}

impl BakeOptions {
    /// Checks the options of a bake and of its load, and opens the sources. Nothing is changed.
    /// Must be called in a tokio runtime.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve`].
    pub fn resolve<'a>(
        self,
        load: LoadOptions,
        environment: &'a Environment,
    ) -> BoxFuture<'a, Result<BakePlan, BakeError>> {
        Box::pin(async move {
            self.check(&load).map_err(LoadError::from)?;
            refuse_stdin(&load).map_err(LoadError::from)?;
            let LoadPlan { config, source, reopen, fetch: _, local, model, confirmations, notes, watch } =
                load.resolve_for(Use::Bake, environment).await?;
            // A bake deletes no index and changes no replicas, which the check of its configuration
            // ensures. It reads no index, so there is no model index.
            drop((source, model, confirmations));
            let mut config = config;
            match local {
                Some(LocalNode { url: Some(url), .. }) => config.to = vec![url],
                // A local node shares a folder with the builder only if it was started with it.
                Some(LocalNode { url: None, .. }) => return Err(no_local_node().into()),
                None => {}
            }
            let sources = reopen.ok_or_else(|| {
                LoadError::from(OptionError::conflict(
                    "the sources can be read only once, but a bake may have to read them again",
                ))
            })?;
            let config = self.config(config).map_err(LoadError::from)?;
            config.check().map_err(LoadError::from)?;
            Ok(BakePlan { config, sources, notes, watch })
        })
    }

    /// The configuration of a bake whose shards other machines build, with [`Baker::elsewhere`].
    /// `name` stands for the documents in messages.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve_fed`].
    pub async fn resolve_elsewhere(
        self,
        load: LoadOptions,
        name: &str,
        environment: &Environment,
    ) -> Result<BakeConfig, BakeError> {
        self.check(&load).map_err(LoadError::from)?;
        let (_, LoadPlan { config, .. }) = load.resolve_fed(name, None, environment).await?;
        if config.to.is_empty() {
            return Err(no_local_node().into());
        }
        let config = self.config(config).map_err(LoadError::from)?;
        config.check().map_err(LoadError::from)?;
        Ok(config)
    }

    fn check(&self, load: &LoadOptions) -> Result<(), OptionError> {
        for info in self.given() {
            if let Some(other) = info.conflicts.iter().find(|other| self.is_given(other) || load.is_given(other)) {
                let message = format!("option `{}` and option `{other}` exclude each other", info.name);
                return Err(OptionError::conflict(message).of(info.name).hint("leave one of them out"));
            }
        }
        refuse_unused(load)?;
        if let (Some(Engine::Native), Some(name)) = (self.engine, self.of_builder()) {
            return Err(OptionError::conflict(format!(
                "option `{name}` needs a builder, which option `engine=native` has not"
            ))
            .of(name)
            .hint("leave one of them out"));
        }
        self.check_without_server()
    }

    /// Checks the options that are only for building without a server.
    fn check_without_server(&self) -> Result<(), OptionError> {
        let names = ["build_memory", "repository_option"];
        let given = self.given().map(|info| info.name).find(|name| names.contains(name));
        let asks_for_server = match (self.engine, self.of_builder()) {
            (Some(Engine::Server), _) => Some("engine=server"),
            (None, Some(name)) => Some(name),
            _ => None,
        };
        if let (Some(name), Some(other)) = (given, asks_for_server) {
            let problem =
                format!("option `{name}` is for building without a server, and option `{other}` asks for one");
            return Err(OptionError::conflict(problem).of(name).hint("leave one of them out"));
        }
        if !self.repository_option.is_empty() && self.repository.is_none() {
            return Err(OptionError::conflict("option `repository_option` is for a repository in an object store")
                .of("repository_option")
                .hint("name it with option `repository`"));
        }
        Ok(())
    }

    /// The first given option that is about a server that builds.
    fn of_builder(&self) -> Option<&'static str> {
        self.given().map(|info| info.name).find(|name| name.starts_with("builder") || *name == "java_home")
    }

    /// What builds the index. Who says something about a server that builds gets one.
    fn engine(&self) -> Engine {
        match (self.engine, self.of_builder()) {
            (Some(engine), _) => engine,
            (None, Some(_)) => Engine::Server,
            (None, None) => Engine::default(),
        }
    }

    fn config(self, load: inrush_load::config::LoadConfig) -> Result<BakeConfig, OptionError> {
        let engine = self.engine();
        let BakeOptions {
            repository_path,
            repository_path_on_target,
            repository,
            repository_option,
            data_stream,
            unthrottle,
            no_resume,
            engine: _,
            build_memory,
            builder,
            builder_version,
            builder_home,
            builder_setting,
            builder_heap,
            builder_data,
            java_home,
        } = self;
        let place = match (repository_path, repository) {
            (Some(folder), _) => Place::Path(folder.0),
            (None, Some(name)) => Place::Repository(name),
            (None, None) => {
                return Err(OptionError::new(OptionErrorKind::Missing, "no repository given").of("repository_path").hint(
                    "name a folder that both sides reach with option `repository_path=DIR`, or a repository of the target with option `repository=NAME`",
                ));
            }
        };
        let defaults = BuilderConfig::default();
        let path = |folder: Option<Folder>| -> Option<PathBuf> { folder.map(|folder| folder.0) };
        let url = builder.map(|url| node(&url)).transpose()?;
        let repository_options = StoreOptions::parse(&repository_option)
            .map_err(|problem| OptionError::value("repository_option", problem))?;
        let plain = BakeConfig::new(load, place);
        Ok(BakeConfig {
            path_on_target: repository_path_on_target.map(on_target).transpose()?,
            repository_options,
            engine,
            build_memory: build_memory.map_or(plain.build_memory, ByteSize::as_usize),
            builder: BuilderConfig {
                url,
                version: builder_version,
                home: path(builder_home),
                settings: builder_setting.into_iter().map(|pair| (pair.name, pair.value)).collect(),
                heap_mib: builder_heap.map_or(defaults.heap_mib, HeapSize::mib),
                data: path(builder_data),
                java_home: path(java_home),
            },
            data_stream,
            unthrottle,
            no_resume,
            ..plain
        })
    }
}

/// The address of a running builder.
fn node(url: &str) -> Result<String, OptionError> {
    let refused = |problem: String| OptionError::value("builder", problem);
    match NodeUrl::parse(url).map_err(|error| refused(error.to_string()))? {
        (url, None) => Ok(url.to_string()),
        (url, Some(_)) => Err(refused(format!(
            "the address of {url} contains a user name or password, but a builder has no security"
        ))),
    }
}

/// A path of the target's nodes, which is never relative to a folder of this machine.
fn on_target(path: String) -> Result<PathBuf, OptionError> {
    match PathBuf::from(&path) {
        absolute if absolute.is_absolute() => Ok(absolute),
        _ => Err(OptionError::value("repository_path_on_target", format!("{path} is no absolute path"))),
    }
}

/// Refuses stdin before anything of it is read: the bake opens its sources again.
fn refuse_stdin(load: &LoadOptions) -> Result<(), OptionError> {
    if load.source.sources.iter().any(|source| source == "-") {
        let message = "a bake may have to read its sources again, but stdin can be read only once";
        return Err(OptionError::conflict(message).hint("write it to a file first"));
    }
    Ok(())
}

fn no_local_node() -> LoadError {
    OptionError::new(OptionErrorKind::Missing, "the local node does not run, and option `to` is not given")
        .of("to")
        .hint("name the cluster with option `to=URL`, or start the node with `inrush node start`")
        .into()
}

/// Refuses the options of a load that a bake does not use. Each group is listed here, so that a new
/// one does not compile before it is handled.
fn refuse_unused(load: &LoadOptions) -> Result<(), OptionError> {
    let ForAll {
        source: _,
        shape: _,
        fetch,
        target,
        // These go into the configuration of the load into the builder or of the end on the target,
        // or [`BakeConfig::check`] refuses them.
        login: _,
        sizes: _,
        errors,
        end: _,
        resume: _,
        // Of the bake itself.
        watch: _,
    } = load.for_all();
    used(target);
    fetch.refuse("a bake")?;
    let query = load.query.given().next();
    let refused = [
        (
            query.map(|info| info.name),
            "a bake reads files as they are",
            "load the result of a query with `inrush load`",
        ),
        (errors.count_at.as_ref().map(|_| "count_at"), "a bake counts at its target", "leave it out"),
    ];
    let mut refused = refused.into_iter().chain(of_the_end(load));
    match refused.find_map(|(name, why, hint)| Some((name?, why, hint))) {
        None => Ok(()),
        Some((name, why, hint)) => {
            Err(OptionError::conflict(format!("option `{name}` is given, but {why}")).of(name).hint(hint))
        }
    }
}

/// An option that a bake refuses, the reason and the remedy.
type Refused = (Option<&'static str>, &'static str, &'static str);

/// Options of the new index and of the end of a load that mean nothing for a bake.
fn of_the_end(load: &LoadOptions) -> [Refused; 6] {
    let target = &load.target;
    [
        (
            load.errors.fail_on_warning.then_some("fail_on_warning"),
            "a bake cannot be taken back at its end",
            "look at the warnings of its report",
        ),
        (
            load.end.keep.as_ref().map(|_| "keep"),
            "a bake deletes no older indices",
            "give option `delete_old`, or delete them by hand",
        ),
        (
            load.end.graph.filter(|graph| *graph != GraphTime::Load).map(|_| "graph"),
            "a bake builds the index beside the cluster",
            "leave it out",
        ),
        (
            load.source.from_dead_letters.as_ref().filter(|_| load.end.alias.is_some()).map(|_| "from_dead_letters"),
            "a bake makes a new index, and the rest of an index is loaded",
            "load the dead letters with `inrush load`",
        ),
        (target.no_copy.then_some("no_copy"), "a bake takes nothing of another index", "leave it out"),
        (
            target.under_policy.then_some("under_policy"),
            "a bake makes a new index, to which no policy applies",
            "leave it out",
        ),
    ]
}

/// Lists the options of the target, each of which a bake uses or [`BakeConfig::check`] refuses.
/// `leave_settings` has no effect: a bake changes no setting of an index in use.
fn used(target: &TargetOptions) {
    let TargetOptions {
        index: _,
        to: _,
        action: _,
        id: _,
        id_from: _,
        routing: _,
        version: _,
        pipeline: _,
        mapping: _,
        map: _,
        mixed: _,
        settings: _,
        indices: _,
        no_copy: _,
        shards: _,
        replicas: _,
        recreate: _,
        leave_settings: _,
        durability: _,
        replicas_off: _,
        under_policy: _,
        yes: _,
    } = target;
}

/// Begins a bake, and shows it with its load. Viewers who may control it can
/// stop it, and not pause it. Must be called in a tokio runtime.
pub fn start_shown(baker: Baker, shown: &Shown) -> RunningBake {
    let whole = shown.clone();
    let baker = baker.observe(move || {
        let mut observers = ObserverSet::default();
        observers.add(whole.part());
        observers
    });
    let bake = baker.start();
    shown.follow(bake.progress());
    let stop = bake.stop_handle();
    shown.control_by(move |control| match control {
        Control::Stop => stop.stop(),
        Control::Pause | Control::Resume => {}
    });
    bake
}

/// Sets the options of a bake. Those of its load are set on a [`LoaderBuilder`].
#[derive(Clone, Debug, Default)]
pub struct BakeBuilder {
    options: Groups,
    load: LoaderBuilder,
    problem: Option<OptionError>,
}

#[derive(Clone, Debug, Default)]
struct Groups {
    bake: BakeOptions,
}

impl BakeBuilder {
    /// A bake of this load.
    pub fn new(load: LoaderBuilder) -> Self {
        BakeBuilder { load, ..BakeBuilder::default() }
    }

    fn refuse(&mut self, option: &'static str, problem: String) {
        self.problem.get_or_insert_with(|| OptionError::value(option, problem));
    }

    /// The plan of the bake.
    async fn plan(self) -> Result<BakePlan, BakeError> {
        if let Some(problem) = self.problem {
            return Err(LoadError::from(problem).into());
        }
        let (load, environment) = self.load.into_parts().map_err(LoadError::from)?;
        self.options.bake.resolve(load, &environment).await
    }

    /// Starts the bake.
    ///
    /// # Errors
    /// As [`BakeOptions::resolve`].
    pub async fn start(self) -> Result<RunningBake, BakeError> {
        let BakePlan { config, sources, notes: _, watch } = self.plan().await?;
        let name = config.load.index.as_str().to_owned();
        let baker = Baker::new(config, sources)?;
        if watch.is_off() {
            return Ok(baker.start());
        }
        let watch = Watch::start(watch).await.map_err(|error| LoadError::from(refused_watch(&error)))?;
        if let Some(url) = watch.url() {
            tracing::info!("the bake is shown at {url}");
        }
        let (_, shown) = watch.show(&name);
        let bake = start_shown(baker, &shown);
        Ok(bake.followed_by(move |report| async move {
            if let Some(report) = report {
                shown.ended(&report);
            }
            watch.end().await;
        }))
    }

    /// Bakes to the end.
    ///
    /// # Errors
    /// As [`BakeBuilder::start`] and [`RunningBake::finish`].
    pub async fn run(self) -> Result<BakeReport, BakeError> {
        self.start().await?.finish().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_load::config::{LoadConfig, StateFolder};

    fn options(given: &[(&str, &str)]) -> BakeOptions {
        let mut options = BakeOptions::default();
        given.iter().for_each(|(name, value)| options.set(name, (*value).into()).unwrap().unwrap());
        options
    }

    fn load() -> LoadConfig {
        let mut load = LoadConfig::new(vec!["http://target:9200".to_owned()], "x".parse().unwrap());
        load.state = Some(StateFolder::new("state"));
        load
    }

    #[test]
    fn a_bake_goes_through_one_place() {
        assert_eq!(options(&[]).config(load()).unwrap_err().to_string(), "no repository given");
        let problem = |given: &[_]| options(given).check(&LoadOptions::default()).unwrap_err().to_string();
        assert!(problem(&[("repository_path", "p"), ("repository", "r")]).contains("exclude each other"));
        let server = ("engine", "server");
        assert!(problem(&[("build_memory", "1GiB"), server]).contains("without a server"));
        assert!(
            problem(&[("repository_option", "region=x"), ("repository", "r"), server]).contains("without a server")
        );
        assert!(problem(&[("repository_option", "region=x"), ("engine", "auto")]).contains("in an object store"));
        assert!(problem(&[("engine", "native"), ("builder_heap", "1g")]).contains("option `builder_heap`"));
        let conflict = problem(&[("builder_heap", "1g"), ("build_memory", "1GiB")]);
        assert!(conflict.contains("option `builder_heap` asks for one"), "{conflict}");
        options(&[("builder_heap", "1g"), ("build_memory", "1GiB"), ("engine", "auto")])
            .check(&LoadOptions::default())
            .unwrap();
        let engine = |given: &[_]| options(given).engine();
        assert_eq!(engine(&[]), Engine::default());
        assert_eq!(engine(&[("builder_heap", "1g")]), Engine::Server);
        assert_eq!(engine(&[("builder_heap", "1g"), ("engine", "auto")]), Engine::Auto);
    }

    #[test]
    fn options_reach_the_configuration() {
        let given = [
            ("repository", "nightly"),
            ("builder", "http://a"),
            ("builder_heap", "4g"),
            ("data_stream", "logs"),
            ("builder_setting", "a.b=c=d"),
            ("engine", "auto"),
            ("build_memory", "1GiB"),
            ("repository_option", "region=eu-west-1"),
        ];
        let config = options(&given).config(load()).unwrap();
        let expected = StoreOptions::parse(&["region=eu-west-1".to_owned()]).unwrap();
        assert_eq!(config.repository_options, expected);
        assert_eq!(config.place, Place::Repository("nightly".to_owned()));
        assert_eq!(config.builder.url.as_deref(), Some("http://a:9200"));
        assert_eq!((config.engine, config.build_memory), (Engine::Auto, 1 << 30));
        assert_eq!((config.builder.heap_mib, config.data_stream.as_deref()), (4096, Some("logs")));
        assert_eq!(config.builder.settings, [("a.b".to_owned(), "c=d".to_owned())]);
    }

    #[tokio::test]
    async fn options_of_a_load_that_mean_nothing_are_refused() {
        for (name, value, expected) in [
            ("db_table", "t", "option `db_table` is for databases"),
            ("sql", "SELECT 1", "reads files as they are"),
            ("query", "{}", "option `query` is for an index of another cluster"),
            ("from_user", "u", "option `from_user` is for an index of another cluster"),
            ("sources", "https://h:9200/index", "a bake reads files, but the source is an index"),
            ("sources", "kafka://h/topic", "a bake reads files, but the source is a topic"),
            ("sources", "postgres://h/db", "a bake reads files, but the source is a database"),
        ] {
            let mut load = LoadOptions::default();
            load.give(name, value).unwrap();
            let error = options(&[]).resolve(load, &Environment::empty()).await.err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
