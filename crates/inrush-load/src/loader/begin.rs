//! The beginning of a load, in steps. Each step uses the results of the steps before it.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use inrush_cluster::api::{Preflight, Target, templates};
use inrush_cluster::clock::{self, Instant};
use inrush_cluster::transport::Transport;
use inrush_core::encode::{Encoder, Packer, Shape};
use inrush_core::flow::Pairing;
use inrush_core::report::Tally;
use inrush_core::routing::Routing;
use inrush_core::tune::{BodyFormatTuner, Learned, Plan};
use inrush_core::vectors::Packing;
use inrush_core::{Action, Encoding, FieldTypes, Flow, FlowConfig, RowForm};
use inrush_sources::{Source, SourceInfo};
use serde_json::Value;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;

use super::end::{End, Last};
use super::group::Silent;
use super::prepare::{LoadInput, Prepared, index_uuids, look};
use super::routing::Routed;
use super::running::Others;
use super::task::LoadTask;
use super::{
    BeginningHandle, ConfiguredLoad, RunningLoad, StopHandle, Stream, body_format, gc_deletes, graphs, index_mode,
    managed, memory, new_index, recreate, routing, vectors,
};
use crate::checkpoint::{self, Checkpointer, FirstCheckpoint, LOADS_INDEX, Opened, Saved};
use crate::compare;
use crate::config::{DeadLetters, Durability, LoadConfig, Replies};
use crate::cutover::{Finishing, Swapping};
use crate::dead_letter::{self, DeadLetterWriter, SyncPoint};
use crate::error::LoadError;
use crate::event::Event;
use crate::feedback::SourceFeedback;
use crate::fetch::Fetcher;
use crate::grace::{self, Grace};
use crate::guard_plan::Earlier;
use crate::ids::{self, Ids};
use crate::learned::Memory;
use crate::notify::Notifier;
use crate::observe::{self, LoadEvent, LoadStart, LoadingTime, Log, ObserverSet, Observers, ProgressSender};
use crate::outcomes::{FailureSender, SettlementSender};
use crate::over::{self, Watcher};
use crate::progress::{Progress, ShowPhase};
use crate::reader::{Encode, Gate, Threads};
use crate::report::{Report, SettingsReport, SettingsRestored};
use crate::run::{EarlierRuns, Run};
use crate::send::BulkEndpoint;
use crate::since::{self, KeptSince};
use crate::targets::Targets;
use crate::trace::TraceWriter;
use inrush_cluster::run_id::{run_id, seed};

/// A load that begins.
struct NewLoad {
    started: Instant,
    run_id: String,
    config: LoadConfig,
    info: SourceInfo,
    transport: Arc<Transport>,
    /// State of the interrupted run that this one resumes.
    earlier: Option<Saved>,
    swapping: Option<Swapping>,
    /// Looks up the documents of requests.
    fetcher: Option<Fetcher>,
    /// The last value of option `since`.
    since: Option<KeptSince>,
    /// Whether the source packs vectors.
    packing: Packing,
    /// A server in this process indexes what the source has.
    is_local: bool,
}

/// Receivers of the load's events and results.
struct Outputs {
    observers: ObserverSet,
    trace: Option<TraceWriter>,
    dead_letters: DeadLetterWriter,
    settlements: Option<SettlementSender>,
}

/// A load that has on this machine all that it needs: its source up to the first document, the room
/// of its files, its threads. The cluster was asked whether it takes the load. Nothing was changed
/// in the cluster.
#[must_use]
pub struct ReadyLoad(Ready);

enum Ready {
    /// A run of the load has ended before, and nothing is left to do.
    Over(RunningLoad),
    Begins(Box<Beginning>),
}

/// A load before its first change.
struct Beginning {
    load: NewLoad,
    source: Box<dyn Source>,
    /// State of the job until the load has begun.
    opened: Option<Opened>,
    prepared: Prepared,
    silent: Silent,
    outputs: Outputs,
    threads: Threads,
    stop: BeginningHandle,
}

impl ConfiguredLoad {
    /// Makes everything that the load needs on this machine, and asks the cluster whether it takes
    /// the load. For several loads that begin one after another: all of them are ready before the
    /// first one deletes an index.
    ///
    /// # Errors
    /// An error that stops the load. Nothing was changed in the cluster.
    pub async fn ready(self, mut source: Box<dyn Source>) -> Result<ReadyLoad, LoadError> {
        let started = clock::now();
        let info = source.describe();
        let run_id = run_id();
        let ConfiguredLoad { mut config, observers, failures, settlements, fetcher, through, stop } = self;
        config.told = config.told.fork();
        check_options(&config, &info)?;
        let mut opened = checkpoint::open(&config, source.as_ref())?;
        // A server in this process is made for this load.
        let is_local = through.is_some();
        let transport = match through {
            Some(transport) => transport,
            None => super::connect(&config).await?,
        };
        let managed = managed::find(&transport, &mut config).await?;
        if let Some(opened) = opened.as_mut()
            && let Some(report) = opened.check(&config, info.has_ids, &run_id, &transport).await?
        {
            return Ok(ReadyLoad(Ready::Over(over(started, observers, report))));
        }
        let earlier = opened.as_ref().and_then(|opened| opened.saved.clone());
        if let Some(earlier) = &earlier {
            go_on(earlier, source.as_mut(), &mut config);
        }
        let noted = earlier.as_ref().and_then(|earlier| earlier.swap.clone());
        let swapping = new_index::begin_swap(&transport, &mut config, noted).await?;
        vectors::fit(&transport, &mut config).await?;
        let read_from = index_uuids(source.as_ref())?;
        compare::check(&transport, &config).await?;
        let about = (info.bytes_total, config.has_ids(&info));
        let mut prepared = match managed {
            Some(managed) => managed.prepared(&transport).await,
            None => look(&transport, &config, about, &read_from, swapping.as_ref()).await?,
        };
        let since = since::begin(&config, &info, source.as_mut(), prepared.asked(&transport)).await?;
        if let Some(note) = index_mode::check(&config, &info, &prepared.preflight.mode)? {
            config.told.warn(note);
        }
        let packing = Packing::default();
        source.form_rows(&row_form(&config, &prepared, &packing));
        if earlier.is_none() && !is_local {
            source = recreate::begin_reading_for(source, &config, stream(&transport, &prepared)).await?;
        }
        let trace = config.trace.as_deref().map(|path| TraceWriter::create(path, config.told.clone())).transpose()?;
        let mut dead_letters = dead_letter_writer(&config, &run_id, &info, failures, earlier.as_ref())?;
        let workers = config.limits.workers;
        let threads = Threads::start(workers).map_err(|source| LoadError::Threads { workers, source })?;
        if let Some(job) = &opened {
            let letters = sync_point(&mut dead_letters)?.saved;
            let swap = swapping.as_ref().map(|swapping| &swapping.noted);
            if !job.reserve(&config, &run_id, &letters, swap)? {
                opened = None;
            }
        }
        graphs::decide(&mut config, &mut prepared, &info);
        let silent = last_check(&transport, &mut config, &mut prepared, &run_id, &stop).await?;
        let load =
            NewLoad { started, run_id, config, info, transport, earlier, swapping, fetcher, since, packing, is_local };
        let outputs = Outputs { observers, trace, dead_letters, settlements };
        Ok(ReadyLoad(Ready::Begins(Box::new(Beginning {
            load,
            source,
            opened,
            prepared,
            silent,
            outputs,
            threads,
            stop,
        }))))
    }
}

/// The last check, because it creates an index of another name.
async fn last_check(
    transport: &Arc<Transport>,
    config: &mut LoadConfig,
    prepared: &mut Prepared,
    run_id: &str,
    stop: &BeginningHandle,
) -> Result<Silent, LoadError> {
    stop.changes();
    let checking = recreate::check(transport, config, prepared.target.as_ref(), run_id);
    let Some(checked) = stop.unless_stopped(checking).await else {
        recreate::clean_up(transport, config, run_id).await;
        return Err(LoadError::Stopped);
    };
    let (silent, warning) = checked?;
    let lost = recreate::lost(transport, config, prepared.target.as_ref()).await;
    prepared.preflight.warnings.extend(warning.into_iter().chain(lost));
    let trying = graphs::begin_without(transport, config, prepared, run_id);
    if stop.unless_stopped(trying).await.is_none() {
        vectors::clean_up(transport, config, prepared, run_id).await;
        return Err(LoadError::Stopped);
    }
    Ok(silent)
}

/// Refuses options that do not fit the target's address or the source.
fn check_options(config: &LoadConfig, info: &SourceInfo) -> Result<(), LoadError> {
    managed::check_addresses(config)?;
    config.check_source(info).map_err(LoadError::usage)
}

/// Lets the source go on where the interrupted run has ended.
fn go_on(earlier: &Saved, source: &mut dyn Source, config: &mut LoadConfig) {
    let partitions = earlier.progress.partitions.iter();
    source.resume(&partitions.map(|p| (p.partition(), p.settled_up_to())).collect());
    // The interrupted run has already created the index again.
    config.create.recreate = false;
}

/// The fields of the index that takes the documents, by their names in the source, as far as they
/// are known: it exists, or is created with a mapping, or index templates have one, which is
/// `given`.
pub(crate) fn field_types(config: &LoadConfig, target: Option<&Target>, given: &Value) -> FieldTypes {
    let existing = target.and_then(Target::write_index).filter(|_| !config.create.recreate);
    let made = || config.index.fixed().and_then(|name| config.create.for_index(name).mappings);
    let fields = match existing {
        Some(index) => index.field_types.clone(),
        // The texts of the source made it, so they are not what a user gave.
        None if config.create.inferred.is_some() => {
            made().as_ref().map(FieldTypes::of_mapping).unwrap_or_default().without_texts()
        }
        None => {
            let mut mapping = given.clone();
            made().iter().for_each(|made| templates::merge(&mut mapping, made));
            FieldTypes::of_mapping(&mapping)
        }
    };
    fields.of_source(&config.shaping)
}

/// The form of documents that are made of rows.
fn row_form(config: &LoadConfig, prepared: &Prepared, packing: &Packing) -> RowForm {
    let fields = field_types(config, prepared.target.as_ref(), &prepared.preflight.mappings_given);
    let form = RowForm::new(config.action, fields).with_packing(packing.clone());
    ids::row_form(form, config.id_from)
}

/// The data stream of a load, if its documents have to bring their time.
fn stream<'a>(transport: &'a Transport, prepared: &'a Prepared) -> Option<Stream<'a>> {
    let Preflight { info, pipelines, .. } = &prepared.preflight;
    Stream::without_pipelines(transport, prepared.target.as_ref(), info.product, *pipelines)
}

/// A load with nothing to do, because of the end of an earlier run.
fn over(started: Instant, observers: ObserverSet, report: Report) -> RunningLoad {
    Observers::new(started, observers.0, vec![Arc::new(Mutex::new(Log))]).ended(&report);
    RunningLoad::over(report)
}

impl ReadyLoad {
    /// Creates the index if it does not exist, and begins to load.
    ///
    /// # Errors
    /// As [`ConfiguredLoad::start`].
    pub async fn start(self) -> Result<RunningLoad, LoadError> {
        match self.0 {
            Ready::Over(load) => Ok(load),
            Ready::Begins(beginning) => beginning.start().await,
        }
    }
}

impl fmt::Debug for ReadyLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyLoad").finish_non_exhaustive()
    }
}

impl Beginning {
    async fn start(self) -> Result<RunningLoad, LoadError> {
        let Beginning { load, source, mut opened, mut prepared, silent, mut outputs, threads, stop } = self;
        let changing = async {
            let claimed = match opened.as_mut() {
                Some(opened) => opened.claim(&load.transport).await?,
                None => None,
            };
            match claimed {
                Some(report) => Ok(Next::Over(Box::new(report))),
                None => load
                    .change(&mut opened, &mut prepared, silent, &mut outputs)
                    .await
                    .map(|changed| Next::Begins(Box::new(changed))),
            }
        };
        let changed = stop.unless_stopped(changing).await;
        match changed.unwrap_or(Err(LoadError::Stopped)) {
            Ok(Next::Over(report)) => Ok(over(load.started, outputs.observers, *report)),
            Ok(Next::Begins(changed)) => Ok(load.start(source, prepared, *changed, outputs, threads)),
            Err(error) => {
                load.take_back(prepared, opened).await;
                Err(error)
            }
        }
    }
}

/// The end of the dead letters, which a checkpoint has.
fn sync_point(dead_letters: &mut DeadLetterWriter) -> Result<SyncPoint, LoadError> {
    let refuse = |e: std::io::Error, path: String| LoadError::DeadLetters { path: path.into(), reason: e.to_string() };
    dead_letters.sync_point().map_err(|e| refuse(e, dead_letters.place()))
}

/// The writer of a new dead-letter file, or of the interrupted run's file. Where the source has a
/// place for dead letters, there is a file only if one is named.
fn dead_letter_writer(
    config: &LoadConfig,
    run_id: &str,
    info: &SourceInfo,
    failures: Option<FailureSender>,
    earlier: Option<&Saved>,
) -> Result<DeadLetterWriter, LoadError> {
    let (place, names) = (&config.dead_letters, info.names.clone());
    let is_named = matches!(place, DeadLetters::File(_));
    let writer = match (earlier, &info.dead_letters) {
        (Some(earlier), _) => DeadLetterWriter::resume(place, run_id, names, failures, &earlier.dead_letters)?,
        (None, Some(_)) if !is_named => DeadLetterWriter::without_file(names, failures),
        (None, _) => DeadLetterWriter::new(place, run_id, names, failures)?,
    };
    let writer = writer.sink(info.dead_letters.clone()).topics(info.topics.clone());
    Ok(writer.index(config.index.as_str()).sent_with(dead_letter::sent_with(config)))
}

impl NewLoad {
    /// Takes back what the load has made in the cluster, in the time that a stopped load has for
    /// its end.
    async fn take_back(&self, prepared: Prepared, opened: Option<Opened>) {
        let brief = self.transport.brief();
        let taking_back = async {
            if prepared.is_trying_vectors {
                vectors::clean_up(&brief, &self.config, &prepared, &self.run_id).await;
            }
            prepared.take_back(&brief, &self.config).await;
            if let Some(opened) = opened {
                opened.withdraw().await;
            }
        };
        if clock::timeout(self.config.limits.grace, taking_back).await.is_err() {
            tracing::warn!(
                "not all that this load has made in the cluster could be taken back within {} s (option `grace`): look for the index {} and the records in {LOADS_INDEX}",
                self.config.limits.grace.as_secs_f64(),
                self.config.index.as_str()
            );
        }
    }

    /// Whether all documents have ids of the load.
    fn with_ids(&self, prepared: &Prepared) -> bool {
        self.config.has_ids(&self.info) && !prepared.preflight.mode.routes_by_fields()
    }

    /// Prepares the index, and writes the first checkpoint. `opened` is empty afterwards.
    ///
    /// # Errors
    /// An error that stops the load before its first document. What was changed is in `prepared`.
    async fn change(
        &self,
        opened: &mut Option<Opened>,
        prepared: &mut Prepared,
        silent: Silent,
        outputs: &mut Outputs,
    ) -> Result<Changed, LoadError> {
        let (config, earlier) = (&self.config, self.earlier.as_ref());
        let input = LoadInput {
            bytes: self.info.bytes_total,
            earlier: earlier.map(|earlier| Earlier { docs_before: earlier.before }),
            vectors_before: earlier.map(|earlier| earlier.vectors_before.clone()).unwrap_or_default(),
            looks_up: self.fetcher.is_some(),
            runs: earlier.map(|earlier| earlier.runs.as_slice()).unwrap_or_default(),
            run_id: &self.run_id,
            silent,
        };
        let before = input.earlier;
        prepared.change(&self.transport, config, input, self.swapping.as_ref()).await?;
        prepared.graphs = graphs::plan(&self.transport, config, prepared, before).await?;
        if let Some(earlier) = earlier {
            prepared.earlier_indices = earlier.indices.keys().cloned().collect();
            prepared.before = earlier.before.ok_or_else(|| "the interrupted run could not count the index".to_owned());
            prepared.vectors_before = earlier.vectors_before.clone();
            if let Some(managed) = &mut prepared.managed {
                managed.go_on(earlier.before);
            }
        }
        prepared.log(config);
        prepared.is_trying_vectors = !self.is_local;
        let packer = match self.is_local {
            true => Packer::default(),
            false => vectors::packer(&self.transport, config, prepared, &self.packing, &self.run_id).await,
        };
        prepared.is_trying_vectors = false;
        let warning = gc_deletes::warning(&self.transport, config, &self.info, prepared).await;
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
            prepared.preflight.warnings.push(warning);
        }
        let (memory, format) = self.recall(prepared).await;
        let mut flow = self.flow(prepared, outputs, memory.learned(), format);
        let mut routed = routing::choose(&self.transport, config, prepared, self.with_ids(prepared)).await?;
        flow.route_batches(std::mem::take(&mut routed.values));
        if let (Durability::Async, Some(terms)) = (config.durability, &prepared.primary_terms) {
            flow.wait_for_flushes(terms.clone());
        }
        let (sender, events) = mpsc::unbounded_channel();
        let checkpointer = self.first_checkpoint(opened, prepared, &mut outputs.dead_letters, &sender).await?;
        if checkpointer.is_some() {
            let progress = earlier.map(|earlier| &earlier.progress);
            flow.enable_checkpoints(progress).map_err(|e| LoadError::State(e.to_string()))?;
        }
        Ok(Changed { memory, flow, routed, packer, sender, events, checkpointer })
    }

    /// Starts the readers and the loop.
    fn start(
        self,
        source: Box<dyn Source>,
        prepared: Prepared,
        Changed { memory, flow, routed, packer, sender, events, checkpointer }: Changed,
        outputs: Outputs,
        threads: Threads,
    ) -> RunningLoad {
        let config = &self.config;
        // A single request may take the time of a request, however short a pause is.
        let patience = config.limits.pause_max.max(config.limits.request_timeout);
        let grace = Grace::new(config.limits.grace).with_patience(patience);
        let start = self.load_start(&flow, &prepared, memory.learned());
        let (first_plan, for_parts) = (start.plan, memory.for_parts());
        let (progress, watched) = watch::channel(Progress::default());
        let loading = LoadingTime::default();
        let observers = self.observers(outputs.observers, outputs.trace, progress, loading.clone());
        let source_feedback =
            source.feedback().map(|feedback| SourceFeedback::new(feedback, &self.info, sender.clone()));
        let readers = self.start_readers((source, threads), &prepared, (routed.groups, packer), &flow, &sender);
        let workers = config.limits.workers;
        let endpoint = BulkEndpoint::new(config.index.fixed(), config.pipeline.as_deref(), &self.run_id, workers)
            .with_alias_only(prepared.must_stay_an_alias())
            .with_primaries(routed.primaries)
            .with_fetcher(self.fetcher.clone());
        let (bytes_total, rows, nodes) = (self.info.bytes_total, self.info.rows.clone(), self.transport.nodes().len());
        let earlier = self.earlier.as_ref();
        let has_order = flow.keeps_order();
        let limits = over::Limits { gone: config.limits.request_timeout, over: config.limits.retry_for };
        let run = Run {
            targets: Targets::new(prepared.index(config), prepared.rolls_over(), flow.tally().indices.keys()),
            flow,
            transport: Arc::new(self.transport.brief()),
            patient: Arc::clone(&self.transport),
            endpoint: Arc::new(endpoint),
            watcher: Watcher::start(Arc::clone(&self.transport), has_order, limits, sender.clone()),
            earlier: EarlierRuns::of(source_feedback.is_some(), checkpointer.as_ref()),
            gate: readers.gate,
            smile: readers.smile,
            events,
            sender: sender.clone(),
            notifier: Notifier::new(observers.clone(), bytes_total, rows, nodes),
            dead_letters: outputs.dead_letters,
            settlements: outputs.settlements,
            started: self.started,
            create: Arc::new(config.create.clone()),
            beginnings: Arc::clone(&prepared.beginnings),
            on_conflict: config.on_conflict,
            has_pipeline: config.pipeline.is_some(),
            request_timeout: config.limits.request_timeout,
            fixed_index: config.index.fixed().map(str::to_owned),
            count_before: config.verify,
            checkpointer,
            counts_before: earlier.map(|earlier| earlier.before_each.clone()).unwrap_or_default(),
            refresh_early: None,
            uuids: prepared.uuids.clone(),
            health_every: config.limits.health_every,
            sizes_before: earlier.map_or(&prepared.sizes_before, |earlier| &earlier.sizes_before).clone(),
            source_feedback,
            grace: grace.clone(),
        };
        observers.notify(self.started.elapsed(), LoadEvent::Started(&start));
        let others = Others::default();
        let shared = Shared { observers, loading, shape: readers.shape, others: others.clone() };
        let task = self.task(run, prepared, shared, (memory, first_plan));
        let stop = StopHandle::new(sender, grace);
        RunningLoad::new(stop, watched, others, for_parts, tokio::spawn(task.run()))
    }

    /// What earlier loads learned, and the body format that the load begins with.
    async fn recall(&self, prepared: &mut Prepared) -> (Memory, BodyFormatTuner) {
        let mut memory = memory::open(&self.transport, &self.config, prepared, self.with_ids(prepared)).await;
        let warnings = &mut prepared.preflight.warnings;
        warnings.append(&mut memory.warnings);
        let recalled = memory.learned().and_then(|learned| learned.format);
        let format = body_format::choose(&self.transport, &self.config, recalled, warnings).await;
        (memory, format)
    }

    /// The flow before its first block.
    fn flow(&self, prepared: &Prepared, outputs: &Outputs, learned: Option<&Learned>, format: BodyFormatTuner) -> Flow {
        let (config, limits, preflight) = (&self.config, &self.config.limits, &prepared.preflight);
        let flow_config = FlowConfig {
            memory: config.buffered_bytes_max(),
            rate: limits.max_rate,
            samples: config.trace.is_some() || !outputs.observers.0.is_empty(),
            settlements: outputs.settlements.is_some(),
            linger: limits.linger,
            coalesce: config.coalesce,
            retry: limits.retry(),
            pause_max: limits.pause_max,
            drain_max: grace::for_requests(limits.grace),
            on_conflict: config.on_conflict,
            versioned: config.version.is_some() || (self.info.has_versions && !self.info.has_unversioned_deletions),
            incremental_bulk: preflight.info.incremental_bulk(),
            summary_replies: config.replies == Replies::Summary,
            pairing: match preflight.pipelines {
                _ if preflight.info.keeps_bulk_order() => Pairing::Places,
                true => Pairing::Ids,
                false => Pairing::PlacesAtFirst,
            },
            max_errors: config.max_errors,
            ids_of_documents: preflight.mode.makes_ids(),
            seed: seed(),
        };
        let body_bytes_max = memory::body_bytes_max(prepared, learned);
        let mut flow = Flow::new(flow_config, config.sending_limits().tuner(body_bytes_max, learned));
        flow.set_body_format_tuner(format);
        flow
    }

    /// The load's first event.
    fn load_start(&self, flow: &Flow, prepared: &Prepared, learned: Option<&Learned>) -> LoadStart {
        LoadStart {
            run_id: self.run_id.clone(),
            cluster: prepared.preflight.info.to_string(),
            nodes: self.transport.nodes().iter().map(ToString::to_string).collect(),
            sources: self.info.names.clone(),
            bytes_total: self.info.bytes_total,
            controller: self.config.limits.controller(),
            bounds: self.config.sending_limits().bounds(memory::body_bytes_max(prepared, learned)),
            plan: flow.steady_plan(),
            learned: learned.copied(),
            counts: flow.counts().clone(),
            memory_max: self.config.limits.memory as u64,
        }
    }

    /// Writes the first checkpoint. `None` where the load keeps no checkpoints.
    async fn first_checkpoint(
        &self,
        opened: &mut Option<Opened>,
        prepared: &Prepared,
        dead_letters: &mut DeadLetterWriter,
        events: &UnboundedSender<Event>,
    ) -> Result<Option<Checkpointer>, LoadError> {
        if opened.is_none() {
            return Ok(None);
        }
        let letters = sync_point(dead_letters)?;
        let first = FirstCheckpoint {
            run_id: &self.run_id,
            started: self.started,
            before: prepared.noted_before(self.config.verify),
            vectors_before: prepared.vectors_before.clone(),
            index: prepared.index(&self.config),
            sizes_before: prepared.sizes_before.clone(),
            letters,
            swap: self.swapping.as_ref().map(|swapping| swapping.noted.clone()),
        };
        match opened.take() {
            Some(opened) => opened.begin(&self.config, Arc::clone(&self.transport), events.clone(), first).await,
            None => Ok(None),
        }
    }

    /// All observers: those of the caller, and those of the load itself.
    fn observers(
        &self,
        given: ObserverSet,
        trace: Option<TraceWriter>,
        progress: watch::Sender<Progress>,
        loading: LoadingTime,
    ) -> Observers {
        let mut all = given.0;
        if let Some(trace) = trace {
            all.push(Arc::new(Mutex::new(trace)));
        }
        let own: Vec<observe::Shared> = vec![
            Arc::new(Mutex::new(ProgressSender(progress))),
            Arc::new(Mutex::new(loading)),
            Arc::new(Mutex::new(Log)),
        ];
        Observers::new(self.started, all, own)
    }

    /// Lets the threads read and encode. `groups` groups documents by shard, `packer` packs
    /// vectors.
    fn start_readers(
        &self,
        (source, threads): (Box<dyn Source>, Threads),
        prepared: &Prepared,
        (groups, packer): (Option<Routing>, Packer),
        flow: &Flow,
        events: &UnboundedSender<Event>,
    ) -> Readers {
        let config = &self.config;
        let action = match &prepared.target {
            Some(target) if target.is_data_stream() && config.action == Action::Index => Action::Create,
            _ => prepared.preflight.action,
        };
        let encoder = Encoder::new(config.operations(action)).with_vectors(packer);
        let encoder = encoder.with_presence(prepared.vectors.presence());
        let encoder = if prepared.preflight.mode.routes_by_fields() { encoder.without_ids() } else { encoder };
        let encoder = match groups {
            Some(shards) => encoder.with_shards(shards),
            None => encoder,
        };
        let shape = encoder.shape();
        let smile = Arc::new(AtomicBool::new(flow.encoding() == Encoding::Smile));
        let ids = config.id_from.map(|from| Ids::new(from, self.info.names.clone()));
        let encode = Encode { encoder, ids, smile: Arc::clone(&smile), columns: config.columns };
        let gate = Arc::new(Gate::default());
        threads.read(source, encode, Arc::clone(&gate), config.limits.chunk_bytes(), events.clone());
        Readers { gate, smile, shape }
    }

    /// The task of the load, from its loop to its report.
    fn task(
        self,
        run: Run,
        prepared: Prepared,
        Shared { observers, loading, shape, others }: Shared,
        (memory, start): (Memory, Plan),
    ) -> LoadTask {
        let NewLoad { started, run_id, config, info, transport, swapping, since, .. } = self;
        let SourceInfo { names, warnings, is_endless, .. } = info;
        let shown = observers.clone();
        let show: ShowPhase = Arc::new(move |phase| shown.phase(&phase));
        let finishing = Finishing::new(Arc::clone(&transport), show, config.finish, swapping);
        let finishing = finishing.with_grace(run.grace.clone()).with_told(config.told.clone());
        let end = End {
            transport,
            prepared,
            names,
            run_id,
            warnings,
            started,
            verify: config.verify,
            tolerate: config.tolerate,
            allow_empty: config.allow_empty || is_endless || since.as_ref().is_some_and(KeptSince::is_part),
            is_endless,
            fail_on_warning: config.fail_on_warning,
            told: config.told.clone(),
            timestamp: config.shaping.timestamp.clone(),
            once: config.once,
            grace: run.grace.clone(),
            guard: config.guard.clone(),
            observers,
            loading,
            settings: SettingsReport::new(SettingsRestored::Unchanged, "the settings were not changed".to_owned()),
            others: Tally::default(),
            learned_elsewhere: None,
            memory,
            start,
            learns: config.limits.learns(),
            last: Last::Unknown,
            shape,
            since,
        };
        LoadTask { run, finishing, guard: config.guard, others, end }
    }
}

/// A load with nothing left to do, or one whose first document is next.
enum Next {
    Over(Box<Report>),
    Begins(Box<Changed>),
}

/// What a load has when the cluster is ready for its first document.
struct Changed {
    memory: Memory,
    flow: Flow,
    routed: Routed,
    packer: Packer,
    sender: UnboundedSender<Event>,
    events: UnboundedReceiver<Event>,
    checkpointer: Option<Checkpointer>,
}

/// The state that the end of the load shares with its beginning.
struct Shared {
    observers: Observers,
    loading: LoadingTime,
    shape: Shape,
    others: Others,
}

/// The state that the readers share with the loop.
struct Readers {
    gate: Arc<Gate>,
    /// Tells the readers whether to encode items as SMILE.
    smile: Arc<AtomicBool>,
    /// The changes of documents, and which of their fields occurred.
    shape: Shape,
}
