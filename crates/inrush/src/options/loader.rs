//! A load as a program begins it.

use inrush_load::config::LoadConfig;
use inrush_load::observe::{Observer, ObserverSet};
use inrush_load::{Failures, LoadError, PushLoad, Report, RunningLoad, Settlements};

use super::builder::LoaderBuilder;
use crate::source::Source;

/// A load that has not begun.
#[derive(Debug)]
pub struct Loader(inrush_load::Loader);

impl Loader {
    /// Begins to set options.
    pub fn builder() -> LoaderBuilder {
        LoaderBuilder::default()
    }

    /// A loader with a whole configuration.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that do not fit together.
    pub fn new(config: LoadConfig) -> Result<Self, LoadError> {
        inrush_load::Loader::new(config).map(Loader)
    }

    /// Tells the events of the load to this observer. Can be called several times.
    #[must_use]
    pub fn observe(self, observer: impl Observer + 'static) -> Self {
        Loader(self.0.observe(observer))
    }

    pub(super) fn with_observers(self, observers: ObserverSet) -> Self {
        Loader(self.0.with_observers(observers))
    }

    /// The dead letters of the load, as they come. A second call ends the receiver of the first one.
    ///
    /// At most `bytes_max` bytes of them wait to be received: for each letter its document, its
    /// texts and about 200 bytes. A dead letter that finds no room is dropped here and counted
    /// ([`Failures::dropped`]); the dead-letter file and the report have all of them. The load never
    /// waits for the receiver, so that it may be read at any time, also after the end.
    pub fn failures(&mut self, bytes_max: usize) -> Failures {
        self.0.failures(bytes_max)
    }

    /// The ends of documents that are no dead letters, as they become known. A second call ends the
    /// receiver of the first one.
    ///
    /// A message of about 40 bytes tells the end of some documents in a row; a load without a call
    /// of this function makes none. At most `bytes_max` bytes of messages wait to be received.
    /// Documents of a message that finds no room are counted ([`Settlements::dropped`]); the report
    /// has all of them. The load never waits for the receiver.
    pub fn settlements(&mut self, bytes_max: usize) -> Settlements {
        self.0.settlements(bytes_max)
    }

    /// Reads `source` up to its first document where the load deletes its index, so that the index is kept if the
    /// source cannot be read.
    ///
    /// # Errors
    /// [`LoadError`] where the source cannot be read or is empty, or where the cluster would not make the index anew.
    pub async fn check_recreate(self, source: Box<dyn Source>) -> Result<(Self, Box<dyn Source>), LoadError> {
        let (loader, source) = self.0.check_recreate(source).await?;
        Ok((Loader(loader), source))
    }

    /// Loads `source` to its end.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin. The report has all later trouble.
    pub async fn run(self, source: impl Source + 'static) -> Result<Report, LoadError> {
        self.0.run(source).await
    }

    /// Looks at the cluster, makes the index if needed, and begins to load `source`.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin; nothing was sent then.
    pub async fn start(self, source: Box<dyn Source>) -> Result<RunningLoad, LoadError> {
        self.0.start(source).await
    }

    /// Begins a load that the program feeds, from any number of tasks.
    ///
    /// # Errors
    /// [`LoadError`] where the load cannot begin.
    pub async fn sender(self) -> Result<PushLoad, LoadError> {
        self.0.sender().await
    }
}
