//! The options of a bake, and the options of a load that it uses.

use inrush_cluster::BoxFuture;
use std::path::PathBuf;

use crate::options::LoaderBuilder;
use crate::options::{
    ByteSize, Environment, Folder, HeapSize, LoadOptions, LoadPlan, LocalNode, OptionError, OptionErrorKind,
    OptionGroup, Pair, TargetOptions, Whole, refused_watch, urls,
};
use inrush_bake::{
    BakeConfig, BakeError, BakeReport, Baker, BuilderConfig, Engine, Estimate, Layout, OpenSource, Place, RunningBake,
};
use inrush_load::LoadError;
use inrush_load::observe::ObserverSet;
use inrush_page::{Control, Shown, Watch, WatchConfig};
use inrush_sources::StoreOptions;

/// The default sample, which is enough for a warm server to reach its speed.
const SAMPLE_BYTES: usize = 32 << 20;

crate::option_choices! { Layout {
    "cluster" => Layout::Cluster, "the builders form one cluster, which holds the index";
    "alias" => Layout::Alias, "each builder makes an index, NAME-1 and on, behind the alias NAME";
    "stitched" => Layout::Stitched, "each builder makes one shard of one index; needs option `id`";
} }

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
        /// Do not bake, but estimate the cost of a load and of a bake with a builder: a sample is
        /// loaded into a builder twice, written to the repository and restored on the builder. So
        /// it needs Java. A bake without a builder costs a small part of a load. The target is only
        /// read
        estimate: bool;
        /// With option `estimate`: the size of the sample
        sample: Option<ByteSize> = "SIZE", default("32MiB");
        /// What builds the index
        engine: Option<Engine> = "ENGINE", default("auto; server if an option of builders is given");
        /// Memory for building without a server, on top of option `memory`: segments that grow, and
        /// writing them. With less than 16 MiB for each segment, fewer threads build
        build_memory: Option<ByteSize> = "SIZE", default("512MiB");
        /// Number of servers that build at once on this machine, each with a heap of its own
        builders: Option<Whole<1, 64>> = "N", default("1");
        /// The parts that several builders build
        layout: Option<Layout> = "LAYOUT", default("cluster");
        /// A running server to build with, on this machine or another, without security, which no
        /// other program uses; its path.repo has to contain the folder of the repository. Repeated
        /// or separated by commas for several builders. It keeps running, without the built index.
        /// By default one is started where one is needed
        builder: Vec<String> = "URL", delimited();
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
    /// Bytes of a sample, if only the costs are estimated.
    pub estimate: Option<usize>,
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
            let LoadPlan { config, source, reopen, fetch: _, local, model, confirmations, notes, watch } =
                load.resolve(environment).await?;
            // A bake deletes no index and changes no replicas, which the check of its configuration
            // ensures. It reads no index, so there is no model index.
            drop((source, model, confirmations));
            let mut config = config;
            match local {
                Some(LocalNode { url: Some(url) }) => config.to = vec![url],
                // A local node shares a folder with the builder only if it was started with it.
                Some(LocalNode { url: None }) => return Err(no_local_node().into()),
                None => {}
            }
            let sources = reopen.ok_or_else(|| {
                LoadError::from(OptionError::conflict(
                    "the sources can be read only once, but a bake may have to read them again",
                ))
            })?;
            let estimate = self.estimate.then(|| self.sample.map_or(SAMPLE_BYTES, ByteSize::as_usize));
            let config = self.config(config).map_err(LoadError::from)?;
            config.check().map_err(LoadError::from)?;
            Ok(BakePlan { config, sources, notes, estimate, watch })
        })
    }

    /// The configuration of a bake whose shards other machines build, with [`Baker::elsewhere`].
    /// `name` stands for the documents in messages.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve_fed`]; also for the option `estimate`.
    pub async fn resolve_elsewhere(
        self,
        load: LoadOptions,
        name: &str,
        environment: &Environment,
    ) -> Result<BakeConfig, BakeError> {
        self.check(&load).map_err(LoadError::from)?;
        if self.estimate {
            let refusal = OptionError::conflict("option `estimate` measures a builder, and here is none");
            return Err(LoadError::from(refusal.of("estimate")).into());
        }
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
        if self.estimate {
            load.watch.refuse("option `estimate`")?;
        }
        if let (Some(Engine::Native), Some(name)) = (self.engine, self.of_builders()) {
            return Err(OptionError::conflict(format!(
                "option `{name}` needs a builder, which option `engine=native` has not"
            ))
            .of(name)
            .hint("leave one of them out"));
        }
        self.check_without_server()?;
        if self.sample.is_some() && !self.estimate {
            return Err(OptionError::conflict("option `sample` needs option `estimate`").of("sample"));
        }
        let builders = self.builders.map_or(self.builder.len() as u32, Whole::get);
        if self.layout.is_some() && builders <= 1 {
            return Err(OptionError::conflict("option `layout` needs several builders")
                .of("layout")
                .hint("give their number with option `builders=N`"));
        }
        Ok(())
    }

    /// Checks the options that are only for building without a server.
    fn check_without_server(&self) -> Result<(), OptionError> {
        let names = ["build_memory", "repository_option"];
        let given = self.given().map(|info| info.name).find(|name| names.contains(name));
        let asks_for_server = match (self.engine, self.of_builders()) {
            _ if self.estimate => Some("estimate".to_owned()),
            (Some(Engine::Server), _) => Some("engine=server".to_owned()),
            (None, Some(name)) => Some(name.to_owned()),
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

    /// The first given option that is about servers that build.
    fn of_builders(&self) -> Option<&'static str> {
        self.given().map(|info| info.name).find(|name| name.starts_with("builder") || *name == "java_home")
    }

    /// What builds the index. Who says something about servers that build gets one.
    fn engine(&self) -> Engine {
        match (self.engine, self.of_builders()) {
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
            estimate: _,
            sample: _,
            engine: _,
            build_memory,
            builders,
            layout,
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
        let urls: Vec<String> = urls(&builder)?.iter().map(ToString::to_string).collect();
        let repository_options = StoreOptions::parse(&repository_option)
            .map_err(|problem| OptionError::value("repository_option", problem))?;
        let plain = BakeConfig::new(load, place);
        Ok(BakeConfig {
            path_on_target: repository_path_on_target.map(on_target).transpose()?,
            repository_options,
            engine,
            build_memory: build_memory.map_or(plain.build_memory, ByteSize::as_usize),
            builders: builders.map_or(urls.len().max(1) as u32, Whole::get),
            builder: BuilderConfig {
                urls,
                version: builder_version,
                home: path(builder_home),
                settings: builder_setting.into_iter().map(|pair| (pair.name, pair.value)).collect(),
                heap_mib: builder_heap.map_or(defaults.heap_mib, HeapSize::mib),
                data: path(builder_data),
                java_home: path(java_home),
            },
            layout: layout.unwrap_or_default(),
            data_stream,
            unthrottle,
            no_resume,
            ..plain
        })
    }
}

/// A path of the target's nodes, which is never relative to a folder of this machine.
fn on_target(path: String) -> Result<PathBuf, OptionError> {
    match PathBuf::from(&path) {
        absolute if absolute.is_absolute() => Ok(absolute),
        _ => Err(OptionError::value("repository_path_on_target", format!("{path} is no absolute path"))),
    }
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
    let LoadOptions {
        source: _,
        reading: _,
        database,
        query,
        index_source,
        kafka,
        kafka_values,
        kafka_group,
        source_login,
        fetch,
        target,
        // These go into the configuration of the load into the builder or of the end on the target,
        // or [`BakeConfig::check`] refuses them.
        login: _,
        sizes: _,
        errors: _,
        end: _,
        resume: _,
        // Of the bake itself.
        watch: _,
    } = load;
    used(target);
    fetch.refuse("a bake")?;
    let first = |mut given: Box<dyn Iterator<Item = &'static crate::options::OptionInfo> + '_>| {
        given.next().map(|info| info.name)
    };
    let refused = [
        (first(Box::new(database.given())), "a bake does not read databases", "load it with `inrush load`"),
        (
            first(Box::new(query.given())),
            "a bake reads files as they are",
            "load the result of a query with `inrush load`",
        ),
        (
            first(Box::new(index_source.given().chain(source_login.given()))),
            "a bake does not read an index of a cluster",
            "copy the index with `inrush load`",
        ),
        (
            first(Box::new(kafka.given().chain(kafka_values.given()).chain(kafka_group.given()))),
            "a bake does not read topics",
            "load them with `inrush load`",
        ),
        (
            target.under_policy.then_some("under_policy"),
            "a bake makes a new index, to which no policy applies",
            "leave it out",
        ),
    ];
    if let Some((name, why, hint)) = refused.into_iter().find_map(|(name, why, hint)| Some((name?, why, hint))) {
        return Err(OptionError::conflict(format!("option `{name}` is given, but {why}")).of(name).hint(hint));
    }
    if load.reads_topics()? {
        return Err(OptionError::conflict("the source is a topic, but a bake reads files")
            .of("sources")
            .hint("load it with `inrush load`"));
    }
    if load.reads_index()? {
        return Err(OptionError::conflict("the source is an index, but a bake reads files")
            .of("sources")
            .hint("load it with `inrush load`"));
    }
    Ok(())
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
        drop: _,
        mapping: _,
        map: _,
        mixed: _,
        settings: _,
        indices: _,
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

/// Begins a bake, and shows it with the loads into its builders. Viewers who may control it can
/// stop it, and not pause it. Must be called in a tokio runtime.
pub fn start_shown(baker: Baker, shown: &Shown) -> RunningBake {
    let (whole, several) = (shown.clone(), baker.parts() > 1);
    let baker = baker.observe(move |part| {
        let mut observers = ObserverSet::default();
        observers.add(whole.part(several.then(|| format!("part {}", part + 1))));
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
    /// As [`BakeOptions::resolve`]; also if the option `estimate` is set, which
    /// [`BakeBuilder::cost`] needs.
    pub async fn start(self) -> Result<RunningBake, BakeError> {
        let BakePlan { config, sources, notes: _, estimate, watch } = self.plan().await?;
        if estimate.is_some() {
            let refusal = OptionError::conflict("option `estimate` asks for the costs of a bake, and not for a bake");
            return Err(LoadError::from(refusal.of("estimate").hint("call `BakeBuilder::cost`")).into());
        }
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

    /// The costs of a load and of a bake, measured with a sample of the documents. The target is
    /// only read. The option `sample` sets the size of the sample.
    ///
    /// # Errors
    /// As [`BakeOptions::resolve`], or the builder cannot be used.
    pub async fn cost(self) -> Result<Estimate, BakeError> {
        let BakePlan { config, sources, notes: _, estimate, watch: _ } = self.estimate(true).plan().await?;
        let sample_bytes = estimate.unwrap_or(SAMPLE_BYTES);
        inrush_bake::estimate(config, sources, sample_bytes, std::future::pending()).await
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
        assert!(problem(&[("repository_path", "p"), ("layout", "alias")]).contains("several builders"));
        assert!(problem(&[("sample", "1MiB")]).contains("option `estimate`"));
        let server = ("engine", "server");
        assert!(problem(&[("build_memory", "1GiB"), server]).contains("without a server"));
        assert!(
            problem(&[("repository_option", "region=x"), ("repository", "r"), server]).contains("without a server")
        );
        assert!(problem(&[("repository_option", "region=x"), ("engine", "auto")]).contains("in an object store"));
        assert!(problem(&[("engine", "native"), ("builder_heap", "1g")]).contains("option `builder_heap`"));
        let conflict = problem(&[("builder_heap", "1g"), ("build_memory", "1GiB")]);
        assert!(conflict.contains("option `builder_heap` asks for one"), "{conflict}");
        for given in [("build_memory", "1GiB"), ("repository_option", "region=x")] {
            let estimate = BakeOptions { estimate: true, ..options(&[given]) };
            let problem = estimate.check(&LoadOptions::default()).unwrap_err().to_string();
            assert!(problem.contains(given.0) && problem.contains("option `estimate` asks for one"), "{problem}");
        }
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
            ("builder", "http://a,http://b:9201"),
            ("layout", "stitched"),
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
        assert_eq!(config.builder.urls, ["http://a:9200", "http://b:9201"]);
        assert_eq!((config.builders, config.layout), (2, Layout::Stitched));
        assert_eq!((config.engine, config.build_memory), (Engine::Auto, 1 << 30));
        assert_eq!((config.builder.heap_mib, config.data_stream.as_deref()), (4096, Some("logs")));
        assert_eq!(config.builder.settings, [("a.b".to_owned(), "c=d".to_owned())]);
    }

    #[test]
    fn options_of_a_load_that_mean_nothing_are_refused() {
        for (name, value, expected) in [
            ("db_table", "t", "does not read databases"),
            ("sql", "SELECT 1", "reads files as they are"),
            ("query", "{}", "does not read an index of a cluster"),
            ("from_user", "u", "does not read an index of a cluster"),
        ] {
            let mut load = LoadOptions::default();
            load.give(name, value).unwrap();
            let error = options(&[]).check(&load).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let mut load = LoadOptions::default();
        load.give("sources", "https://h:9200/index").unwrap();
        assert!(options(&[]).check(&load).unwrap_err().to_string().contains("the source is an index"));
    }

    #[tokio::test]
    async fn an_estimate_is_no_bake() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.ndjson");
        std::fs::write(&file, "{\"a\":1}\n").unwrap();
        let load =
            LoaderBuilder::default().source(file).to("http://localhost:1").index("x").state(folder.path().join("s"));
        let error = BakeBuilder::new(load).repository("r").estimate(true).start().await.unwrap_err();
        let BakeError::Load(LoadError::Usage(error)) = error else { panic!("{error}") };
        assert_eq!(error.option(), Some("estimate"));
    }
}
