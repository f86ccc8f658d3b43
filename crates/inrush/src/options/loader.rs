//! The start of a load in a program.

use inrush_load::config::LoadConfig;
use inrush_load::{LoadError, PushLoad, Report, RunningLoad};

use super::builder::LoaderBuilder;
use crate::source::Source;

/// A load that has not begun.
#[derive(Clone, Debug)]
pub struct Loader(inrush_load::Loader);

impl Loader {
    /// A builder for the options.
    pub fn builder() -> LoaderBuilder {
        LoaderBuilder::default()
    }

    /// A loader with a complete configuration.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that contradict each other.
    pub fn new(config: LoadConfig) -> Result<Self, LoadError> {
        inrush_load::Loader::new(config).map(Loader)
    }

    /// Reads `source` up to its first document if the load deletes its index, so that the index is
    /// kept if the source cannot be read.
    ///
    /// # Errors
    /// [`LoadError`] if the source cannot be read or is empty, or if the cluster would not create
    /// the index again.
    pub async fn check_recreate(self, source: Box<dyn Source>) -> Result<(Self, Box<dyn Source>), LoadError> {
        let (loader, source) = self.0.check_recreate(source).await?;
        Ok((Loader(loader), source))
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
