//! Builds an index beside its cluster and hands it over complete. This process writes the files of
//! the index (`native/`), or a real server of the target's version, which no other program uses,
//! takes the documents (`server/`). `engine.rs` is the seam between them and a bake. The finished
//! index goes as a snapshot through a repository that both sides reach, so the target only copies
//! files.
//!
//! Every change of the target is recorded before it is made (`record/`). So a run that fails or
//! dies restores the former state of the target, or a later run resumes it.

mod access;
mod begin;
mod config;
mod context;
mod dry_run;
mod end;
mod engine;
mod files;
mod native;
mod parts;
mod prepare;
mod record;
mod report;
mod run;
mod server;
mod steps;
mod target;

use std::sync::Arc;

pub use config::{BakeConfig, BakeError, BuilderConfig, Engine, Place};
use context::{Documents, LoadObservers};
pub use dry_run::dry_run;
use inrush_load::LoadError;
use inrush_load::observe::ObserverSet;
use inrush_load::{Phase, Progress, Report};
/// Opens the sources: more than once, where an index has to be built again.
pub use inrush_sources::Reopen as OpenSource;
pub use native::{BuiltShard, ShardBuild, ShardBuilders, ShardOrder};
pub use report::{BakeReport, BakeStep, BakeStepName, HandOver};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A bake that has not begun.
pub struct Baker {
    config: BakeConfig,
    documents: Documents,
    /// What has the shards built, if other machines build them.
    tasks: Option<ShardBuilders>,
}

impl Baker {
    /// A bake of the sources that `open` opens.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that contradict each other.
    pub fn new(config: BakeConfig, open: OpenSource) -> Result<Self, BakeError> {
        config.check().map_err(LoadError::usage)?;
        let observers: LoadObservers = Arc::new(ObserverSet::default);
        Ok(Baker { config, documents: Documents { open, observers }, tasks: None })
    }

    /// A bake of documents that other machines have, without a builder: each shard is built by one
    /// [`ShardBuild`], also on another machine that reaches the repository. `build` is called once
    /// the target has made the index without documents. It has the shards built, as often as it
    /// takes, and returns one of each shard that has documents. `name` stands for the documents in
    /// messages.
    ///
    /// What only a server can build ends the bake with [`BakeError::NotNative`], also with
    /// [`Engine::Auto`].
    ///
    /// # Errors
    /// As [`Baker::new`]; also with [`Engine::Server`].
    pub fn elsewhere(config: BakeConfig, name: &str, build: ShardBuilders) -> Result<Self, BakeError> {
        if config.engine == Engine::Server {
            let problem =
                "shards are built elsewhere without a server; leave option `engine` and those of the builder out";
            return Err(LoadError::usage(problem.to_owned()).into());
        }
        if config.load.resume {
            let problem = "a bake whose shards are built elsewhere begins again; leave option `resume` out";
            return Err(LoadError::usage(problem.to_owned()).into());
        }
        let mut baker = Baker::new(config, native::no_documents(name))?;
        baker.tasks = Some(build);
        Ok(baker)
    }

    /// Tells the events of the loads to the observers that `observers` makes. It is called for each
    /// load: once, and again where a load starts over, or a server builds what this process could
    /// not. The nodes of the events are those of the builder, or one in this process.
    #[must_use]
    pub fn observe(mut self, observers: impl Fn() -> ObserverSet + Send + Sync + 'static) -> Self {
        self.documents.observers = Arc::new(observers);
        self
    }

    /// Begins the bake.
    pub fn start(self) -> RunningBake {
        let (progress, watched) = watch::channel(Progress::default());
        let (stop, stopped) = watch::channel(false);
        let Baker { config, documents, tasks } = self;
        let task = tokio::spawn(async move {
            let shown = progress.clone();
            let ended = match run::way_to_target(&config.load).await {
                Ok(target) => run::bake(config, target, documents, tasks, (progress, stopped)).await,
                Err(error) => Err(error),
            };
            shown.send_modify(|progress| progress.phase = Phase::Done);
            ended
        });
        RunningBake { progress: watched, stop: BakeStop { stop: Arc::new(stop) }, task }
    }

    /// Bakes to the end.
    ///
    /// # Errors
    /// As [`RunningBake::finish`].
    pub async fn run(self) -> Result<BakeReport, BakeError> {
        self.start().finish().await
    }
}

/// A running bake.
#[derive(Debug)]
pub struct RunningBake {
    progress: watch::Receiver<Progress>,
    stop: BakeStop,
    task: JoinHandle<Result<BakeReport, BakeError>>,
}

/// Ends a bake early. The target returns to its former state, unless it has the whole index by
/// then.
#[derive(Clone, Debug)]
pub struct BakeStop {
    stop: Arc<watch::Sender<bool>>,
}

impl BakeStop {
    /// Ends the bake. Further calls do nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

impl RunningBake {
    /// The progress, updated ten times a second while documents are loaded.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// A handle that ends the bake early.
    pub fn stop_handle(&self) -> BakeStop {
        self.stop.clone()
    }

    /// The same bake, with a step between its end and the return of [`RunningBake::finish`], such
    /// as the last figures for a collector of metrics. The step gets the report, if there is one.
    #[must_use]
    pub fn followed_by<F>(self, step: impl FnOnce(Option<Report>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        let RunningBake { progress, stop, task } = self;
        let task = tokio::spawn(async move {
            let ended = ended(task).await;
            step(ended.as_ref().ok().map(|report| report.load.clone())).await;
            ended
        });
        RunningBake { progress, stop, task }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`BakeError`] if nothing was loaded. Later problems are in the report.
    ///
    /// # Panics
    /// If the bake itself panicked.
    pub async fn finish(self) -> Result<BakeReport, BakeError> {
        ended(self.task).await
    }
}

async fn ended(task: JoinHandle<Result<BakeReport, BakeError>>) -> Result<BakeReport, BakeError> {
    match task.await {
        Ok(result) => result,
        Err(e) => match e.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the whole runtime cancels the task, and then no caller waits here.
            Err(cancelled) => panic!("the runtime was shut down under a bake: {cancelled}"),
        },
    }
}
