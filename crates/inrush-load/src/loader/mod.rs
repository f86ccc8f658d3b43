//! The programming interface of a load: configure, start, watch, finish.

mod begin;
mod beginning;
mod body_format;
mod end;
mod gc_deletes;
mod graphs;
mod group;
mod index_mode;
mod kept_aliases;
mod managed;
mod memory;
mod metadata_fields;
mod new_index;
mod old_indices;
mod outcome;
mod prepare;
mod recreate;
mod routing;
mod running;
mod stream_time;
mod task;
mod vectors;

pub use begin::ReadyLoad;
pub(crate) use begin::field_types;
pub use beginning::BeginningHandle;
pub use end::{NOTHING_READ, not_in};
pub(crate) use index_mode::check as check_index_mode;
use inrush_cluster::BoxFuture;
use inrush_cluster::api::{self, ConnectError};
pub(crate) use new_index::begin_swap;
pub use recreate::begin_reading;
use std::sync::Arc;

use inrush_cluster::run_id::run_id;
use inrush_cluster::transport::{HttpOptions, Transport};
use inrush_core::Encoding;
use inrush_core::retry::RetryPolicy;
use inrush_sources::Source;
use inrush_sources::fetch::Fetch;
use inrush_sources::push::{self, PushOptions};
pub(crate) use prepare::{index_uuids, needs, reads_itself};
pub use running::{Others, PauseHandle, PushLoad, RunningLoad, StopHandle};
pub(crate) use stream_time::{Stream, missing as missing_time};
pub(crate) use vectors::fit as fit_vectors;

use crate::config::LoadConfig;
use crate::dead_letter::DeadLetterWriter;
use crate::error::LoadError;
use crate::fetch::{self, Fetcher, MissingRecord};
use crate::observe::{Observer, ObserverSet};
use crate::outcomes::{self, FailureSender, Failures, SettlementSender, Settlements};
use crate::report::Report;
use crate::trace::TraceWriter;

/// A load that has not begun.
#[derive(Debug)]
pub struct ConfiguredLoad {
    config: LoadConfig,
    observers: ObserverSet,
    failures: Option<FailureSender>,
    settlements: Option<SettlementSender>,
    /// Looks up the documents of requests.
    fetcher: Option<Fetcher>,
    /// Takes the requests instead of the nodes of the configuration.
    through: Option<Arc<Transport>>,
    /// Stops it before its first document.
    stop: BeginningHandle,
}

impl ConfiguredLoad {
    /// A loader with a whole configuration.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that exclude each other.
    pub fn new(config: LoadConfig) -> Result<Self, LoadError> {
        config.check().map_err(LoadError::usage)?;
        let observers = ObserverSet::default();
        let stop = BeginningHandle::default();
        Ok(ConfiguredLoad { config, observers, failures: None, settlements: None, fetcher: None, through: None, stop })
    }

    /// Adds an observer of the load's events. Several observers are allowed.
    #[must_use]
    pub fn observe(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// Adds several observers.
    #[must_use]
    pub fn with_observers(mut self, observers: ObserverSet) -> Self {
        self.observers.0.extend(observers.0);
        self
    }

    /// Sends the requests through this transport instead of connecting to the nodes of
    /// [`LoadConfig::to`].
    #[must_use]
    pub fn through(mut self, transport: Arc<Transport>) -> Self {
        self.through = Some(transport);
        self
    }

    /// Replaces the document of each `index` item by the one that `fetch` has for the item's id. A
    /// source of changes then needs only ids. Documents are looked up when their request is sent.
    /// They take as many bytes as [`crate::config::Limits::memory`], besides it. A request has at
    /// most 1,000 documents where [`crate::config::Limits::batch_docs`] has no other number. A dead
    /// letter has the document of the source. Bodies are JSON; `bytes_sent` counts them without the
    /// documents.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that exclude it.
    pub fn fetch(mut self, fetch: impl Fetch + 'static, missing: MissingRecord) -> Result<Self, LoadError> {
        self.config.check_fetch().map_err(LoadError::usage)?;
        self.config.encoding = Some(Encoding::Json);
        self.config.limits.batch_docs.get_or_insert(fetch::DOCS_MAX);
        self.fetcher = Some(Fetcher::new(Arc::new(fetch), missing, self.config.limits.memory));
        Ok(self)
    }

    /// Lets this handle stop the load before its first document.
    #[must_use]
    pub fn stopped_by(self, stop: BeginningHandle) -> Self {
        ConfiguredLoad { stop, ..self }
    }

    /// Returns a receiver of the load's dead letters. A second call closes the receiver of the
    /// first.
    ///
    /// At most `bytes_max` bytes of dead letters wait to be received: each takes its document, its
    /// texts and about 200 bytes. A dead letter that finds no room is dropped here and counted
    /// ([`Failures::dropped`]). The dead-letter file and the report still contain it. The load
    /// never waits for the receiver, so the program may read it at any time, also after the end.
    pub fn failures(&mut self, bytes_max: usize) -> Failures {
        let (sender, failures) = outcomes::failures(bytes_max);
        self.failures = Some(sender);
        failures
    }

    /// Returns a receiver of the documents that settle without a dead letter. A second call closes
    /// the receiver of the first.
    ///
    /// A message of about 40 bytes reports a run of consecutive documents. Without a call of this
    /// function the load makes no messages. At most `bytes_max` bytes of messages wait to be
    /// received. Documents of a message that finds no room are counted ([`Settlements::dropped`]).
    /// The report contains all of them. The load never waits for the receiver.
    pub fn settlements(&mut self, bytes_max: usize) -> Settlements {
        let (sender, settlements) = outcomes::settlements(bytes_max);
        self.settlements = Some(sender);
        settlements
    }

    /// Loads `source` to its end.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin. The report contains all later errors.
    pub async fn run(self, source: impl Source + 'static) -> Result<Report, LoadError> {
        Ok(self.start(Box::new(source)).await?.finish().await)
    }

    /// Checks the cluster, creates the index if it does not exist, and begins to load `source`.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin. Nothing was sent then, and what the load has made
    /// in the cluster was taken back, or is named by a warning.
    pub fn start(self, source: Box<dyn Source>) -> BoxFuture<'static, Result<RunningLoad, LoadError>> {
        Box::pin(async move { self.ready(source).await?.start().await })
    }

    /// Begins a load of documents that the program sends, from any number of tasks.
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

/// Checks that the files of a load that begins later can be written: dead letters and trace. It
/// leaves nothing behind.
///
/// # Errors
/// [`LoadError`] for a file that cannot be written.
pub fn check_files(config: &LoadConfig) -> Result<(), LoadError> {
    DeadLetterWriter::new(&config.dead_letters, &run_id(), Vec::new(), None)?;
    config.trace.as_deref().map_or(Ok(()), TraceWriter::check_path)
}

/// The transport to the cluster of a load. Its requests besides documents are sent again within the
/// limits of a batch, once the cluster has answered anything.
///
/// # Errors
/// As [`inrush_cluster::api::connect`].
pub async fn connect(config: &LoadConfig) -> Result<Arc<Transport>, ConnectError> {
    let transport = api::connect(&config.to, config.credentials.clone(), &http_options(config)).await?;
    let limits = config.limits.retry();
    let transport = transport.brief().with_retries(RetryPolicy::brief(TRIES, limits.first_wait * 2));
    Ok(Arc::new(transport.patient(limits)))
}

/// Tries of a request that the load can do without.
const TRIES: u32 = 3;

/// Options of the load's requests.
pub fn http_options(config: &LoadConfig) -> HttpOptions {
    HttpOptions {
        request_timeout: config.limits.request_timeout,
        idle_connections_max: config.sending_limits().bounds(None).in_flight.1 as usize + 4,
        tls: config.tls.clone(),
        ..HttpOptions::default()
    }
}
