//! A load from a program's point of view: configure, start, watch, finish.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use inrush_core::encode::Encoder;
use inrush_core::retry::RetryPolicy;
use inrush_core::trace::Header;
use inrush_core::{Action, FieldPath, Flow, FlowConfig, IndexTemplate, Operations, Stop};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::checkpoint::{self, Beginning};
use crate::cluster::check::{Needs, Preflight, preflight};
use crate::cluster::{Created, Target, TargetKind, index, stats};
use crate::config::{IdFrom, IndexCreation, LoadConfig, Replies};
use crate::dead_letter::{DeadLetterWriter, Failure};
use crate::error::LoadError;
use crate::guard;
use crate::ids::Ids;
use crate::progress::{Phase, Progress};
use crate::reader::{self, Gate};
use crate::report::{PlanReport, Report, SettingsReport, SettingsRestored, SourceReport, Status, ThisRun, Verified};
use crate::run::{Event, Finished, Run};
use crate::send::BulkEndpoint;
use crate::source::push::{self, Closed, Document, PushOptions};
use crate::source::{Repeats, Source, Warnings};
use crate::trace::TraceWriter;
use crate::transport::{Credentials, HttpOptions, TlsOptions, Transport};
use crate::verify::{self, Expectation};

/// A load that has not begun.
#[derive(Clone, Debug)]
pub struct Loader {
    config: LoadConfig,
}

/// Sets the options of a [`Loader`] that most programs need; the others are fields of [`LoadConfig`].
#[derive(Clone, Debug, Default)]
pub struct LoaderBuilder {
    to: Vec<String>,
    index: Option<String>,
    id: Option<String>,
    action: Action,
    credentials: Option<Credentials>,
    tls: TlsOptions,
    configure: Option<fn(&mut LoadConfig)>,
}

impl LoaderBuilder {
    /// A node of the cluster, such as `http://localhost:9200`; several calls name several nodes.
    #[must_use]
    pub fn to(mut self, url: impl Into<String>) -> Self {
        self.to.push(url.into());
        self
    }

    /// Index, alias or data stream; may hold `{field}` placeholders.
    #[must_use]
    pub fn index(mut self, index: impl Into<String>) -> Self {
        self.index = Some(index.into());
        self
    }

    /// The field that holds the id, as in `id` or `artist.id`. Default: the server makes up ids.
    #[must_use]
    pub fn id(mut self, field: impl Into<String>) -> Self {
        self.id = Some(field.into());
        self
    }

    /// What happens with each document. Default `index`.
    #[must_use]
    pub fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }

    /// How to prove who we are. Default: not at all.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Certificates. Default: the system's roots.
    #[must_use]
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.tls = tls;
        self
    }

    /// Sets any other option of the configuration, after the ones above.
    #[must_use]
    pub fn configure(mut self, configure: fn(&mut LoadConfig)) -> Self {
        self.configure = Some(configure);
        self
    }

    /// The loader.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that are missing or do not fit together.
    pub fn build(self) -> Result<Loader, LoadError> {
        let index = self.index.ok_or_else(|| LoadError::Usage("no index given".to_owned()))?;
        let mut config = LoadConfig::new(self.to, index.parse::<IndexTemplate>().map_err(LoadError::Usage)?);
        config.id = self.id.map(|id| id.parse::<FieldPath>()).transpose().map_err(LoadError::Usage)?;
        config.action = self.action;
        config.credentials = self.credentials.unwrap_or(Credentials::None);
        config.tls = self.tls;
        if let Some(configure) = self.configure {
            configure(&mut config);
        }
        Loader::new(config)
    }
}

impl Loader {
    /// Begins to set options.
    pub fn builder() -> LoaderBuilder {
        LoaderBuilder::default()
    }

    /// A loader with all options at once.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that do not fit together.
    pub fn new(config: LoadConfig) -> Result<Self, LoadError> {
        config.check().map_err(LoadError::Usage)?;
        Ok(Loader { config })
    }

    /// Loads `source` to its end.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin. Whatever happens later is in the report.
    pub async fn run(self, source: impl Source + 'static) -> Result<Report, LoadError> {
        Ok(self.start(Box::new(source)).await?.finish().await)
    }

    /// Looks at the cluster, makes the index if it has to, and begins to load `source`.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin; nothing was sent then.
    pub async fn start(self, source: Box<dyn Source>) -> Result<RunningLoad, LoadError> {
        let started = Instant::now();
        let (letters, failures) = mpsc::unbounded_channel();
        let names = source.names();
        let run_id = run_id();
        let config = self.config;
        if config.id_from == Some(IdFrom::Position) && source.repeats() == Repeats::Unordered {
            let why = "--id-from position needs documents that come in the same order each time, which these do not; give --id-from content";
            return Err(LoadError::Usage(why.to_owned()));
        }
        let opened = checkpoint::open(&config, source.as_ref())?;
        let earlier = opened.as_ref().and_then(|opened| opened.saved.clone());
        let mut dead_letters = match &earlier {
            Some(saved) => {
                let (to, saved) = (&config.dead_letters, &saved.dead_letters);
                DeadLetterWriter::go_on(to, &run_id, names.clone(), Some(letters), saved)?
            }
            None => DeadLetterWriter::new(&config.dead_letters, &run_id, names.clone(), Some(letters))?,
        };
        let transport = Arc::new(Transport::new(&config.to, config.credentials.clone(), &http_options(&config))?);
        if let Some(earlier) = &earlier {
            checkpoint::check_indices(earlier, &transport).await?;
        }
        let mut prepared = prepare(&transport, &config, source.bytes_total()).await?;
        if let Some(earlier) = &earlier {
            prepared.before =
                earlier.before.ok_or_else(|| "the run that was cut off could not count the index".to_owned());
        }

        let action = match &prepared.target {
            Some(target) if target.is_data_stream() && config.action == Action::Index => Action::Create,
            _ => config.action,
        };
        let operations = Operations {
            action,
            index: config.index.clone(),
            id: config.id.clone(),
            routing: config.routing.clone(),
            version: config.version.clone(),
            drop: config.drop.clone(),
        };
        let mut flow = Flow::new(
            FlowConfig {
                memory: config.limits.memory as u64,
                rate: config.limits.max_rate,
                samples: config.trace.is_some(),
                linger: config.limits.linger,
                retry: RetryPolicy {
                    retries: config.limits.retries,
                    retry_for: config.limits.retry_for,
                    first_wait: config.limits.retry_wait,
                    ..RetryPolicy::default()
                },
                pause_max: config.limits.pause_max,
                drain_max: config.limits.drain_max,
                on_conflict: config.on_conflict,
                versioned: config.version.is_some(),
                incremental_bulk: prepared.preflight.info.incremental_bulk(),
                summary_replies: config.replies == Replies::Summary,
                max_errors: config.max_errors,
                seed: seed(),
            },
            config.limits.tuner(prepared.preflight.body_bytes_max),
        );
        let bounds = config.limits.bounds(prepared.preflight.body_bytes_max);
        let trace = config
            .trace
            .as_deref()
            .map(|path| TraceWriter::create(path, &Header::new(config.limits.controller(), bounds, flow.plan())));
        let trace = trace.transpose()?;
        let (sender, events) = mpsc::unbounded_channel();
        let mut checkpointer = None;
        if let Some(opened) = opened {
            let letters = dead_letters
                .sync_point()
                .map_err(|e| LoadError::DeadLetters { path: dead_letters.path().to_owned(), reason: e.to_string() })?;
            let beginning = Beginning {
                run_id: &run_id,
                started,
                before: prepared.before.as_ref().ok().copied().filter(|_| config.verify),
                index: prepared.index(&config),
                letters,
            };
            checkpointer = opened.begin(&config, Arc::clone(&transport), sender.clone(), beginning).await?;
        }
        if checkpointer.is_some() {
            let progress = earlier.as_ref().map(|earlier| &earlier.progress);
            flow.keep_checkpoints(progress).map_err(|e| LoadError::State(e.to_string()))?;
        }
        let ids = config.id_from.map(|from| Ids::new(from, names.clone()));
        let (progress, watched) = watch::channel(Progress::default());
        let gate = Arc::new(Gate::default());
        let bytes_total = source.bytes_total();
        let warnings = source.warnings();
        let chunk_bytes = reader::CHUNK_BYTES.min(config.limits.batch_bytes.unwrap_or(reader::CHUNK_BYTES));
        let workers = config.limits.workers;
        reader::start(source, Encoder::new(operations), ids, Arc::clone(&gate), workers, chunk_bytes, sender.clone())
            .map_err(|e| LoadError::Usage(format!("cannot start {workers} reading threads: {e}; lower --workers")))?;
        let run = Run {
            flow,
            transport: Arc::clone(&transport),
            endpoint: Arc::new(BulkEndpoint::new(config.index.fixed(), config.pipeline.as_deref(), &run_id)),
            gate,
            events,
            sender: sender.clone(),
            progress: progress.clone(),
            dead_letters,
            bytes_total,
            started,
            create: Arc::new(config.create.clone()),
            request_timeout: config.limits.request_timeout,
            trace,
            fixed_index: config.index.fixed().map(str::to_owned),
            count_before: config.verify,
            checkpointer,
            counts_before: earlier.map(|earlier| earlier.before_each).unwrap_or_default(),
            refresh_early: None,
        };
        let (verify, drain_max) = (config.verify, config.limits.drain_max);
        let task = tokio::spawn(async move {
            let mut run = run;
            let guard = match &prepared.guard {
                Some(plan) => Some(guard::Running::start(Arc::clone(&transport), plan.clone(), &run_id).await),
                None => None,
            };
            run.refresh_early = guard.as_ref().and_then(|guard| guard.refresh_early.clone());
            let finished = run.run().await;
            let settings = match guard {
                Some(guard) => {
                    progress.send_modify(|p| p.phase = Phase::PuttingBack);
                    guard.release().await
                }
                None => SettingsReport::new(SettingsRestored::Unchanged, "left as they are".to_owned()),
            };
            let end =
                End { transport, prepared, names, run_id, warnings, started, verify, drain_max, progress, settings };
            end.report(finished).await
        });
        Ok(RunningLoad { stop: StopHandle { events: sender }, progress: watched, failures: Some(failures), task })
    }

    /// Begins a load that the program itself feeds, from any number of tasks.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin.
    pub async fn sender(self) -> Result<PushLoad, LoadError> {
        let limits = &self.config.limits;
        let (sender, source) = push::channel(PushOptions {
            memory: limits.memory,
            linger: limits.linger,
            document_bytes_max: limits.document_bytes_max,
            ..PushOptions::default()
        });
        let load = self.start(Box::new(source)).await?;
        Ok(PushLoad { sender, load })
    }
}

/// A load under way.
#[derive(Debug)]
pub struct RunningLoad {
    stop: StopHandle,
    progress: watch::Receiver<Progress>,
    failures: Option<mpsc::UnboundedReceiver<Failure>>,
    task: JoinHandle<Report>,
}

impl RunningLoad {
    /// The progress, renewed ten times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// What ends the load early.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// The dead letters as they come; they are in the file as well. The first call takes them.
    pub fn failures(&mut self) -> Option<mpsc::UnboundedReceiver<Failure>> {
        self.failures.take()
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If the load itself panicked.
    pub async fn finish(mut self) -> Report {
        // Nobody will read what nobody took; the file has it.
        self.failures = None;
        match self.task.await {
            Ok(report) => report,
            Err(e) => match e.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The task is never cancelled by us, only with the whole runtime, and then nobody waits here.
                Err(cancelled) => panic!("the runtime was shut down under a load: {cancelled}"),
            },
        }
    }
}

/// Ends a load early: nothing more is read, what is under way is waited for, the report says how far it came.
#[derive(Clone, Debug)]
pub struct StopHandle {
    events: mpsc::UnboundedSender<Event>,
}

impl StopHandle {
    /// Ends it. Further calls do nothing.
    pub fn stop(&self) {
        // A load that has ended needs no stop.
        let _ = self.events.send(Event::Stop);
    }
}

/// A load that a program feeds.
pub struct PushLoad {
    sender: push::Sender,
    load: RunningLoad,
}

impl PushLoad {
    /// What sends documents; clone it for each task.
    pub fn sender(&self) -> push::Sender {
        self.sender.clone()
    }

    /// Sends one document, and waits while memory is full.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended; the report says why.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        self.sender.send(document).await
    }

    /// The dead letters as they come. The first call takes them.
    pub fn failures(&mut self) -> Option<mpsc::UnboundedReceiver<Failure>> {
        self.load.failures()
    }

    /// The progress, renewed ten times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.load.progress()
    }

    /// Sends what is left and waits for the end. Every clone of the sender has to be gone, or this waits for it.
    pub async fn finish(self) -> Report {
        drop(self.sender);
        self.load.finish().await
    }
}

/// What was found out before the first document.
struct Prepared {
    preflight: Preflight,
    /// What a fixed index name stands for.
    target: Option<Target>,
    /// Documents that the index held, or why they could not be counted.
    before: Result<u64, String>,
    /// What the settings guard looks after, if anything.
    guard: Option<guard::Plan>,
}

impl Prepared {
    /// The index that takes the documents, where one name stands for all of them.
    fn index<'a>(&'a self, config: &'a LoadConfig) -> Option<&'a str> {
        let target = self.target.as_ref()?;
        match target.write_index() {
            Some(index) => Some(&index.name),
            // It was made just now; a data stream names its indices with the first document.
            None => config.index.fixed().filter(|_| !target.is_data_stream()),
        }
    }
}

async fn prepare(transport: &Transport, config: &LoadConfig, bytes: Option<u64>) -> Result<Prepared, LoadError> {
    let fixed = config.index.fixed();
    let needs = Needs {
        index: fixed.map(str::to_owned),
        recreate: config.create.recreate,
        replicas: fixed.and_then(|name| config.create.for_index(name).replicas),
        settings: fixed.and_then(|name| config.create.for_index(name).settings),
        pipeline: config.pipeline.clone(),
        bytes_expected: bytes,
        action: config.action,
    };
    let preflight = preflight(transport, &needs).await?;
    let mut target = preflight.target.clone();
    // Only now, when nothing stands in the way of a load.
    if let (true, Some(name)) = (config.create.recreate, fixed)
        && index::delete(transport, name).await?
    {
        target = Some(index::resolve(transport, name).await?);
    }
    let mut before = Ok(0);
    let mut made = false;
    if let (Some(name), Some(found)) = (fixed, &target) {
        match &found.kind {
            TargetKind::Missing { .. } if !found.is_data_stream() => {
                let created = index::create(transport, name, &config.create.for_index(name)).await?;
                made = created == Created::New;
                if created == Created::Existing {
                    target = Some(index::resolve(transport, name).await?);
                }
            }
            TargetKind::Missing { .. } => {}
            TargetKind::Index(_) | TargetKind::Alias { .. } | TargetKind::DataStream { .. } => {
                if config.create.is_given() {
                    tracing::warn!(
                        "{name} exists: --mapping, --settings, --shards and --replicas are left out; --recreate makes it anew"
                    );
                }
            }
            TargetKind::Hidden => {}
        }
        if config.verify && target.as_ref().is_some_and(|t| t.write_index().is_some()) {
            before = match stats::count_now(transport, name).await {
                // Whoever may write but not read loads all the same; only the proof is missing.
                Err(e) if e.status() == Some(403) => Err(e.to_string()),
                counted => Ok(counted?),
            };
        }
    }
    let guard = guard::plan(transport, config, target.as_ref(), made, bytes).await?;
    Ok(Prepared { preflight, target, before, guard })
}

impl IndexCreation {
    /// Whether anything was said about how to make an index.
    pub(crate) fn is_given(&self) -> bool {
        self.mapping.is_some() || self.settings.is_some() || self.shards.is_some() || self.replicas.is_some()
    }

    /// How to make the index `name`: the first pattern that matches, or what holds for all.
    pub(crate) fn for_index(&self, name: &str) -> index::CreateIndex {
        match self.patterns.iter().find(|p| index::matches_pattern(&p.pattern, name)) {
            Some(p) => index::CreateIndex {
                settings: p.settings.clone(),
                mappings: p.mapping.clone(),
                shards: p.shards,
                replicas: p.replicas,
            },
            None => index::CreateIndex {
                settings: self.settings.clone(),
                mappings: self.mapping.clone(),
                shards: self.shards,
                replicas: self.replicas,
            },
        }
    }
}

/// What is needed after the loop.
struct End {
    transport: Arc<Transport>,
    prepared: Prepared,
    names: Vec<String>,
    run_id: String,
    warnings: Option<Warnings>,
    started: Instant,
    verify: bool,
    /// How long an interrupted load may take to verify.
    drain_max: Duration,
    progress: watch::Sender<Progress>,
    settings: SettingsReport,
}

impl End {
    async fn report(self, finished: Finished) -> Report {
        let Finished { mut flow, dead_letters, counts_before, checkpointer, checkpoint_failure, first_block, ended } =
            finished;
        let mut failure = None;
        let mut status = match flow.stopped() {
            None => Status::Complete,
            Some(Stop::Interrupted) => Status::Interrupted,
            Some(Stop::Failed(why)) => {
                failure = Some(why.clone());
                Status::Failed
            }
        };
        let mut fail = |why: String| {
            failure.get_or_insert(why);
            Status::Failed
        };
        // Everything came to its end: nothing is left to resume.
        let settled = status == Status::Complete;
        if let Err(e) = flow.close() {
            status = fail(e.to_string());
        }
        let path = dead_letters.path().display().to_string();
        let dead_letters = match dead_letters.finish() {
            Ok(path) => path,
            Err(e) => {
                status = fail(format!("cannot write dead letters to {path}: {e}"));
                None
            }
        };
        let tally = flow.tally().clone();
        if status == Status::Complete && flow.too_many_errors() {
            status = fail(flow.max_errors_message());
        }
        let resumed = checkpointer.as_ref().is_some_and(|c| c.is_resumed());
        let verified = if self.verify && resumed && !settled {
            verify::not_provable("documents that an earlier run may have sent were not sent again yet".to_owned())
        } else if self.verify {
            self.progress.send_modify(|p| p.phase = Phase::Verifying);
            let verification = self.verify(&tally.counts, &tally.indices, &counts_before);
            if status == Status::Interrupted {
                // Whoever has stopped it waits for its end.
                let why = "the cluster did not count within the time for an interrupted load";
                let in_time = tokio::time::timeout(self.drain_max, verification).await;
                in_time.unwrap_or_else(|_| verify::not_provable(why.to_owned()))
            } else {
                verification.await
            }
        } else {
            verify::off()
        };
        if status == Status::Complete {
            status = if tally.counts.docs_not_in() > 0 {
                Status::Incomplete
            } else if verified.state == crate::report::VerifiedState::No
                || self.settings.restored == SettingsRestored::No
            {
                Status::CheckFailed
            } else {
                Status::Complete
            };
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let this_run = flow.counts_of_this_run();
        let seconds_before = checkpointer.as_ref().map_or(0.0, |c| c.seconds_before());
        if let (Some(checkpointer), true) = (&checkpointer, settled) {
            checkpointer.remove();
        }
        let checkpoint = checkpointer.filter(|_| !settled).map(|checkpointer| checkpointer.path());
        let loading = ended.duration_since(first_block.unwrap_or(ended)).max(Duration::from_millis(1));
        let mut warnings = self.prepared.preflight.warnings;
        warnings.extend(checkpoint_failure.filter(|_| !settled));
        warnings.extend(self.warnings.iter().flat_map(Warnings::list).map(|w| w.to_string()));
        let plan = flow.plan();
        let mut settled: BTreeMap<u32, u64> = BTreeMap::new();
        for ((source, _), watermark) in flow.watermarks() {
            *settled.entry(source.0).or_default() += watermark.docs;
        }
        let sources = self.names.into_iter().enumerate().map(|(at, name)| {
            let docs_settled = settled.get(&(at as u32)).copied().unwrap_or(0);
            SourceReport { name, docs_settled }
        });
        self.progress.send_modify(|p| p.phase = Phase::Done);
        Report {
            status,
            failure,
            seconds: seconds_before + seconds,
            docs_per_second: this_run.docs_read as f64 / loading.as_secs_f64(),
            this_run: resumed.then_some(ThisRun { counts: this_run, seconds }),
            checkpoint,
            plan: PlanReport {
                batch_bytes: plan.batch_bytes,
                batch_docs: (plan.batch_docs != u32::MAX).then_some(plan.batch_docs),
                in_flight: plan.in_flight,
                why: flow.plan_why(),
            },
            verified,
            settings: self.settings,
            errors: tally.errors(),
            indices: tally.indices,
            counts: tally.counts,
            dead_letters,
            warnings,
            sources: sources.collect(),
            run_id: self.run_id,
        }
    }

    async fn verify(
        &self,
        counts: &inrush_core::report::Counts,
        indices: &BTreeMap<String, inrush_core::report::IndexCounts>,
        before: &BTreeMap<String, Option<u64>>,
    ) -> Verified {
        let before_load = match &self.prepared.before {
            Ok(before) => *before,
            Err(why) => return verify::not_provable(format!("the index could not be counted before the load: {why}")),
        };
        let fixed = self.prepared.target.as_ref().map(|target| (target, before_load));
        verify::verify(&self.transport, &Expectation { fixed, before, counts, indices }).await
    }
}

fn http_options(config: &LoadConfig) -> HttpOptions {
    HttpOptions {
        request_timeout: config.limits.request_timeout,
        idle_connections_max: config.limits.bounds(None).in_flight.1 as usize + 4,
        tls: config.tls.clone(),
        ..HttpOptions::default()
    }
}

/// Twelve hexadecimal digits that no other run of this machine has.
pub(crate) fn run_id() -> String {
    format!("{:012x}", seed() & 0xffff_ffff_ffff)
}

fn seed() -> u64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    (clock ^ u64::from(std::process::id()).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
