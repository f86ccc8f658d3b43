//! The start of a load in a program.

use std::sync::Arc;

use inrush_cluster::transport::Transport;
use inrush_load::config::LoadConfig;
use inrush_load::fetch::MissingRecord;
use inrush_load::loader::ReadyLoad;
use inrush_load::observe::{Observer, ObserverSet};
use inrush_load::{BeginningHandle, Failures, LoadError, PushLoad, Report, RunningLoad, Settlements};

use super::builder::LoaderBuilder;
use inrush_sources::Source;
use inrush_sources::fetch::Fetch;

/// A load that has not begun.
#[derive(Debug)]
pub struct Loader(inrush_load::ConfiguredLoad);

impl Loader {
    /// A builder for the options.
    pub fn builder() -> LoaderBuilder {
        LoaderBuilder::default()
    }

    /// A loader with a complete configuration.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that contradict each other.
    pub(crate) fn new(config: LoadConfig) -> Result<Self, LoadError> {
        inrush_load::ConfiguredLoad::new(config).map(Loader)
    }

    /// Tells the events of the load to this observer. Can be called several times.
    #[must_use]
    pub fn observe(self, observer: impl Observer + 'static) -> Self {
        Loader(self.0.observe(observer))
    }

    /// Sends the documents another way than to the nodes of the configuration.
    pub(super) fn through(self, transport: Arc<Transport>) -> Self {
        Loader(self.0.through(transport))
    }

    /// Looks the documents up.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that exclude it.
    pub(super) fn with_fetch(self, fetch: Arc<dyn Fetch>, missing: MissingRecord) -> Result<Self, LoadError> {
        self.0.fetch(fetch, missing).map(Loader)
    }

    pub(super) fn with_observers(self, observers: ObserverSet) -> Self {
        Loader(self.0.with_observers(observers))
    }

    /// A receiver of the load's dead letters. A second call ends the receiver of the first one.
    ///
    /// At most `bytes_max` bytes of dead letters wait in the receiver: for each letter its
    /// document, its texts and about 200 bytes. A letter without room is dropped here and counted
    /// ([`Failures::dropped`]). The dead-letter file and the report have all of them. The load
    /// never waits for the receiver, which can be read at any time, also after the end.
    pub fn failures(&mut self, bytes_max: usize) -> Failures {
        self.0.failures(bytes_max)
    }

    /// A receiver of the results of documents other than dead letters. A second call ends the
    /// receiver of the first one.
    ///
    /// A message of about 40 bytes has the result of some consecutive documents. A load without
    /// this call makes no messages. At most `bytes_max` bytes of messages wait in the receiver. The
    /// documents of a message without room are counted ([`Settlements::dropped`]). The report has
    /// all of them. The load never waits for the receiver.
    pub fn settlements(&mut self, bytes_max: usize) -> Settlements {
        self.0.settlements(bytes_max)
    }

    /// Lets this handle stop the load before its first document.
    #[doc(hidden)]
    #[must_use]
    pub fn stopped_by(self, stop: BeginningHandle) -> Self {
        Loader(self.0.stopped_by(stop))
    }

    /// Makes everything that the load needs on this machine, reads `source` up to its first
    /// document, and asks the cluster whether it takes the load. It changes nothing in the cluster.
    ///
    /// # Errors
    /// [`LoadError`] if the load cannot begin.
    #[doc(hidden)]
    pub async fn ready(self, source: Box<dyn Source>) -> Result<ReadyLoad, LoadError> {
        self.0.ready(source).await
    }

    /// Loads `source` to its end.
    ///
    /// # Errors
    /// [`LoadError`] if the load cannot begin. The report has all later errors.
    pub async fn run(self, source: impl Source + 'static) -> Result<Report, LoadError> {
        self.0.run(source).await
    }

    /// Checks the cluster, creates the index if needed, and starts to load `source`.
    ///
    /// # Errors
    /// [`LoadError`] if the load cannot begin. No document was sent.
    pub async fn start(self, source: Box<dyn Source>) -> Result<RunningLoad, LoadError> {
        self.0.start(source).await
    }

    /// Starts a load that the program feeds, from any number of tasks.
    ///
    /// # Errors
    /// [`LoadError`] if the load cannot begin.
    pub async fn sender(self) -> Result<PushLoad, LoadError> {
        self.0.sender().await
    }
}
