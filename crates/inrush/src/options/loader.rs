//! A load as a program begins it.

use inrush_load::config::LoadConfig;
use inrush_load::observe::{Observer, ObserverSet};
use inrush_load::{LoadError, PushLoad, Report, RunningLoad};

use super::builder::LoaderBuilder;
use crate::source::Source;

/// A load that has not begun.
#[derive(Clone, Debug)]
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
