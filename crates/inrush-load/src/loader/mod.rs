//! A load from a program's point of view: configure, start, watch, finish.

mod end;
mod group;
mod prepare;
mod recreate;
mod routing;
mod running;
mod wire;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use end::End;
pub use end::{NOTHING_READ, not_in};
use inrush_cluster::api::connect;
use inrush_cluster::transport::HttpOptions;
use inrush_core::encode::Encoder;
use inrush_core::flow::Pairing;
use inrush_core::report::Tally;
use inrush_core::retry::RetryPolicy;
use inrush_core::{Action, Encoding, Flow, FlowConfig, Stop, Time};
use inrush_sources::push::{self, PushOptions};
use inrush_sources::{Source, SourceInfo};
use prepare::{Coming, prepare};
pub(crate) use prepare::{index_uuids, needs, reads_itself};
pub use running::{Others, PauseHandle, PushLoad, RunningLoad, StopHandle};
use tokio::sync::{mpsc, watch};

use crate::checkpoint::{self, Beginning, Opened};
use crate::config::{Durability, LoadConfig, Replies};
use crate::cutover::{self, Finishing};
use crate::dead_letter::{self, DeadLetterWriter};
use crate::error::LoadError;
use crate::feedback::ToSource;
use crate::ids::Ids;
use crate::notify::Notifier;
use crate::observe::{self, LoadEvent, LoadingTime, Log, Observer, ObserverSet, Observers, ProgressSender};
use crate::outcomes::{self, FailureSender, Failures, SettlementSender, Settlements};
use crate::progress::{Phase, Progress, ShowPhase};
use crate::reader::{self, Encode, Gate};
use crate::report::{Report, SettingsReport, SettingsRestored};
use crate::run::Run;
use crate::run_id::{run_id, seed};
use crate::send::BulkEndpoint;
use crate::settings_guard::{self, Earlier};
use crate::targets::Targets;
use crate::trace::TraceWriter;

/// A load that has not begun.
#[derive(Debug)]
pub struct Loader {
    config: LoadConfig,
    /// [`Loader::check_recreate`] has begun to read the source.
    has_begun: bool,
    observers: ObserverSet,
    failures: Option<FailureSender>,
    settlements: Option<SettlementSender>,
}

impl Loader {
    /// A loader with all options at once.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that do not fit together.
    pub fn new(config: LoadConfig) -> Result<Self, LoadError> {
        config.check().map_err(LoadError::usage)?;
        Ok(Loader { config, has_begun: false, observers: ObserverSet::default(), failures: None, settlements: None })
    }

    /// Tells the events of the load to this observer. Can be called several times.
    #[must_use]
    pub fn observe(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// Adds these observers.
    #[must_use]
    pub fn with_observers(mut self, observers: ObserverSet) -> Self {
        self.observers.0.extend(observers.0);
        self
    }

    /// The dead letters of the load, as they come. A second call ends the receiver of the first one.
    ///
    /// At most `bytes_max` bytes of them wait to be received: for each letter its document, its
    /// texts and about 200 bytes. A dead letter that finds no room is dropped here and counted
    /// ([`Failures::dropped`]); the dead-letter file and the report have all of them. The load never
    /// waits for the receiver, so that it may be read at any time, also after the end.
    pub fn failures(&mut self, bytes_max: usize) -> Failures {
        let (sender, failures) = outcomes::failures(bytes_max);
        self.failures = Some(sender);
        failures
    }

    /// The ends of documents that are no dead letters, as they become known. A second call ends the
    /// receiver of the first one.
    ///
    /// A message of about 40 bytes tells the end of some documents in a row; a load without a call
    /// of this function makes none. At most `bytes_max` bytes of messages wait to be received.
    /// Documents of a message that finds no room are counted ([`Settlements::dropped`]); the report
    /// has all of them. The load never waits for the receiver.
    pub fn settlements(&mut self, bytes_max: usize) -> Settlements {
        let (sender, settlements) = outcomes::settlements(bytes_max);
        self.settlements = Some(sender);
        settlements
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
        let mut opened = None;
        let load = self.begin(source, &mut opened).await;
        if let (Err(_), Some(opened)) = (&load, opened) {
            opened.withdraw().await;
        }
        load
    }

    /// `opened`: the state of the job, as long as it has not begun.
    async fn begin(self, mut source: Box<dyn Source>, opened: &mut Option<Opened>) -> Result<RunningLoad, LoadError> {
        let started = Instant::now();
        let info = source.describe();
        let names = info.names.clone();
        let run_id = run_id();
        let Loader { mut config, has_begun, observers: given, failures, settlements } = self;
        config.check_source(&info).map_err(LoadError::usage)?;
        *opened = checkpoint::open(&config, source.as_ref())?;
        let transport = connect(&config.to, config.credentials.clone(), &http_options(&config)).await?;
        if let Some(opened) = opened.as_mut()
            && let Some(report) = opened.stand(&config, info.has_ids, &run_id, &transport).await?
        {
            Observers::new(started, given.0, vec![Arc::new(Mutex::new(Log))]).ended(&report);
            return Ok(RunningLoad::over(report));
        }
        let earlier = opened.as_ref().and_then(|opened| opened.saved.clone());
        if let Some(earlier) = &earlier {
            let partitions = earlier.progress.partitions.iter();
            source.resume(&partitions.map(|p| (p.partition(), p.settled_up_to())).collect());
            // It was done by the run that was cut off.
            config.create.recreate = false;
        }
        if config.create.recreate && !has_begun {
            source = recreate::begin_reading(source, &config).await?;
        }
        let trace = config.trace.as_deref().map(TraceWriter::create).transpose()?;
        let dead_letters = match &earlier {
            Some(saved) => {
                let (to, saved) = (&config.dead_letters, &saved.dead_letters);
                DeadLetterWriter::go_on(to, &run_id, names.clone(), failures, saved)?
            }
            None => DeadLetterWriter::new(&config.dead_letters, &run_id, names.clone(), failures)?,
        };
        let mut dead_letters = dead_letters.sent_with(dead_letter::sent_with(&config));
        let swapping =
            cutover::begin(&transport, &mut config, earlier.as_ref().and_then(|earlier| earlier.swap.clone())).await?;
        let with_ids = config.id.is_some() || config.id_from.is_some() || info.has_ids;
        let coming = Coming {
            bytes: info.bytes_total,
            with_ids,
            read_from: index_uuids(source.as_ref())?,
            earlier: earlier.as_ref().map(|earlier| Earlier { docs_before: earlier.before }),
            runs: earlier.as_ref().map(|earlier| earlier.runs.as_slice()).unwrap_or_default(),
            run_id: &run_id,
        };
        let mut prepared = prepare(&transport, &config, coming, swapping.as_ref()).await?;
        if let Some(earlier) = &earlier {
            prepared.earlier_indices = earlier.indices.keys().cloned().collect();
            prepared.before =
                earlier.before.ok_or_else(|| "the run that was cut off could not count the index".to_owned());
        }

        prepared.tell(&config);
        let action = match &prepared.target {
            Some(target) if target.is_data_stream() && config.action == Action::Index => Action::Create,
            _ => config.action,
        };
        let operations = config.operations(action);
        let mut flow = Flow::new(
            FlowConfig {
                memory: config.buffered_bytes_max(),
                rate: config.limits.max_rate,
                samples: config.trace.is_some() || !given.0.is_empty(),
                settlements: settlements.is_some(),
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
                versioned: config.version.is_some() || info.has_versions,
                incremental_bulk: prepared.preflight.info.incremental_bulk(),
                summary_replies: config.replies == Replies::Summary,
                pairing: match prepared.preflight.pipelines {
                    _ if prepared.preflight.info.keeps_bulk_order() => Pairing::Places,
                    true => Pairing::Ids,
                    false => Pairing::PlacesAtFirst,
                },
                max_errors: config.max_errors,
                seed: seed(),
            },
            config.sending_limits().tuner(prepared.preflight.body_bytes_max),
        );
        flow.set_body_format_tuner(wire::choose(&transport, &config, &mut prepared.preflight.warnings).await);
        let routed = routing::choose(&transport, &config, &prepared, with_ids).await?;
        flow.route_batches(routed.values);
        if let (Durability::Async, Some(life)) = (config.durability, &prepared.life) {
            flow.wait_for_flushes(life.clone());
        }
        let bounds = config.sending_limits().bounds(prepared.preflight.body_bytes_max);
        let start = observe::LoadStart {
            run_id: run_id.clone(),
            nodes: transport.nodes().iter().map(ToString::to_string).collect(),
            sources: names.clone(),
            bytes_total: info.bytes_total,
            controller: config.limits.controller(),
            bounds,
            plan: flow.steady_plan(),
        };
        let (sender, events) = mpsc::unbounded_channel();
        let mut checkpointer = None;
        if opened.is_some() {
            let letters = dead_letters
                .sync_point()
                .map_err(|e| LoadError::DeadLetters { path: dead_letters.path().to_owned(), reason: e.to_string() })?;
            let beginning = Beginning {
                run_id: &run_id,
                started,
                before: prepared.before.as_ref().ok().copied().filter(|_| config.verify),
                index: prepared.index(&config),
                sizes_before: prepared.sizes_before.clone(),
                letters,
                swap: swapping.as_ref().map(|swapping| swapping.noted.clone()),
            };
            if let Some(opened) = opened.take() {
                checkpointer = opened.begin(&config, Arc::clone(&transport), sender.clone(), beginning).await?;
            }
        }
        if checkpointer.is_some() {
            let progress = earlier.as_ref().map(|earlier| &earlier.progress);
            flow.enable_checkpoints(progress).map_err(|e| LoadError::State(e.to_string()))?;
        }
        let targets = Targets::new(prepared.index(&config), prepared.rolls_over(), flow.tally().indices.keys());
        let sizes_before = match &earlier {
            Some(earlier) => earlier.sizes_before.clone(),
            None => prepared.sizes_before.clone(),
        };
        let ids = config.id_from.map(|from| Ids::new(from, names.clone()));
        let (progress, watched) = watch::channel(Progress::default());
        let loading = LoadingTime::default();
        let mut all = given.0;
        if let Some(trace) = trace {
            all.push(Arc::new(Mutex::new(trace)));
        }
        let others: Vec<observe::Shared> = vec![
            Arc::new(Mutex::new(ProgressSender(progress))),
            Arc::new(Mutex::new(loading.clone())),
            Arc::new(Mutex::new(Log)),
        ];
        let observers = Observers::new(started, all, others);
        let gate = Arc::new(Gate::default());
        let to_source = source.feedback().map(|feedback| ToSource::new(feedback, &info, sender.clone()));
        let SourceInfo { bytes_total, warnings, rows, is_endless, .. } = info;
        let chunk_bytes = config.limits.chunk_bytes();
        let workers = config.limits.workers;
        let smile = Arc::new(AtomicBool::new(flow.encoding() == Encoding::Smile));
        let encoder = match routed.groups {
            Some(shards) => Encoder::new(operations).with_shards(shards),
            None => Encoder::new(operations),
        };
        let dropped = encoder.dropped();
        let encode = Encode { encoder, ids, smile: Arc::clone(&smile) };
        reader::start(source, encode, Arc::clone(&gate), workers, chunk_bytes, sender.clone())
            .map_err(|source| LoadError::Threads { workers, source })?;
        let endpoint = BulkEndpoint::new(config.index.fixed(), config.pipeline.as_deref(), &run_id, workers)
            .with_alias_only(prepared.must_stay_an_alias());
        let run = Run {
            flow,
            transport: Arc::clone(&transport),
            endpoint: Arc::new(endpoint.with_primaries(routed.primaries)),
            gate,
            smile,
            events,
            sender: sender.clone(),
            notifier: Notifier::new(observers.clone(), bytes_total, rows, transport.nodes().len()),
            dead_letters,
            settlements,
            started,
            create: Arc::new(config.create.clone()),
            request_timeout: config.limits.request_timeout,
            fixed_index: config.index.fixed().map(str::to_owned),
            count_before: config.verify,
            checkpointer,
            counts_before: earlier.map(|earlier| earlier.before_each).unwrap_or_default(),
            refresh_early: None,
            targets,
            uuids: prepared.uuids.clone(),
            health_every: config.limits.health_every,
            sizes_before,
            to_source,
        };
        let (verify, drain_max) = (config.verify, config.limits.drain_max);
        let (tolerate, allow_empty, once) = (config.tolerate, config.allow_empty || is_endless, config.once);
        let shown = observers.clone();
        let show: ShowPhase = Arc::new(move |phase| shown.phase(&phase));
        let mut finishing = Finishing::new(Arc::clone(&transport), show, config.finish, swapping);
        observers.tell(started.elapsed(), LoadEvent::Started(&start));
        let others = Arc::new(Mutex::new(Tally::default()));
        let absorbed = Arc::clone(&others);
        let task = tokio::spawn(async move {
            let mut run = run;
            if let Err(why) = finishing.block_old(&config.guard, &run_id).await {
                run.flow.handle_stop(Time::from_start(started.elapsed()), Stop::Failed(why));
            }
            let guard = match &prepared.guard {
                Some(plans) => {
                    tracing::info!("the settings of the index are changed for the load and put back after it");
                    let written = run.targets.subscribe();
                    Some(settings_guard::Guards::start(Arc::clone(&transport), plans.clone(), &run_id, written).await)
                }
                None => None,
            };
            run.refresh_early = guard.as_ref().and_then(|guard| guard.refresh_early.clone());
            let mut finished = run.run().await;
            if finished.flow.stopped().is_none() {
                let names = prepared.names(finished.flow.tally());
                finishing.force_merge(&names, &mut finished.events).await;
            }
            let settings = match guard {
                Some(guard) => {
                    observers.phase(&Phase::PuttingBack);
                    guard.release().await
                }
                None => SettingsReport::new(SettingsRestored::Unchanged, "left as they are".to_owned()),
            };
            let others = std::mem::take(&mut *absorbed.lock().unwrap_or_else(PoisonError::into_inner));
            let end = End {
                transport,
                prepared,
                names,
                run_id,
                warnings,
                started,
                verify,
                tolerate,
                allow_empty,
                is_endless,
                once,
                drain_max,
                observers,
                loading,
                settings,
                others,
                dropped,
            };
            end.report(finished, finishing).await
        });
        Ok(RunningLoad::new(sender, watched, others, task))
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
        Ok(PushLoad::new(sender, load))
    }
}

/// How requests of this load are sent.
pub fn http_options(config: &LoadConfig) -> HttpOptions {
    HttpOptions {
        request_timeout: config.limits.request_timeout,
        idle_connections_max: config.sending_limits().bounds(None).in_flight.1 as usize + 4,
        tls: config.tls.clone(),
        ..HttpOptions::default()
    }
}
