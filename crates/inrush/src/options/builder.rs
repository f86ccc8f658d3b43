//! The builder that sets the options of a load in a program.

use super::Loader;
use crate::options::{Environment, LoadOptions, LoadPlan, OptionError};
use crate::transport::{Credentials, TlsOptions};
use inrush_load::LoadError;
use inrush_load::Report;
use inrush_load::observe::{Observer, ObserverSet};

/// Sets the options of a load. There is one setter for each option of the command line. A setter
/// takes the value, or the text that the command line accepts. Setters of lists can be called
/// several times.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
///
/// use inrush::Loader;
/// use inrush::options::ByteSize;
///
/// let report = Loader::builder()
///     .source("logs/*.ndjson.zst")
///     .to("https://search:9200")
///     .index("logs")
///     .batch_bytes("4MiB")
///     .memory(256 << 20)
///     .in_flight(8)
///     .linger(Duration::from_millis(200))
///     .run()
///     .await?;
/// println!("{} documents are in", report.counts.docs_indexed);
/// # Ok(())
/// # }
/// ```
///
/// A program that has its own [`Source`](crate::source::Source), or pushes documents, calls
/// [`LoaderBuilder::build`] instead of [`LoaderBuilder::run`].
#[derive(Clone, Debug, Default)]
pub struct LoaderBuilder {
    pub(crate) options: LoadOptions,
    credentials: Option<Credentials>,
    tls: Option<TlsOptions>,
    observers: ObserverSet,
    /// The first value that could not be parsed.
    problem: Option<OptionError>,
}

impl LoaderBuilder {
    /// A builder with these options.
    pub fn with_options(options: LoadOptions) -> Self {
        LoaderBuilder { options, ..LoaderBuilder::default() }
    }

    /// The credentials for the cluster, instead of the options for them. Default: those of the
    /// options, or none.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Certificates, instead of the options for them. Default: those of the options, or the
    /// system's roots.
    #[must_use]
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Tells the events of the load to this observer. Can be called several times. For a load that
    /// begins with [`LoaderBuilder::plan`], call [`Loader::observe`] on the plan's loader.
    #[must_use]
    pub fn observe(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// Keeps the error of a value that could not be parsed, for the end.
    pub(crate) fn refuse(&mut self, option: &'static str, problem: String) {
        self.problem.get_or_insert_with(|| OptionError::value(option, problem));
    }

    /// The options that were set.
    ///
    /// # Errors
    /// The first value that could not be parsed.
    pub fn options(self) -> Result<LoadOptions, OptionError> {
        match self.problem {
            None => Ok(self.options),
            Some(problem) => Err(problem),
        }
    }

    /// A loader for a source of the program. It uses nothing of the environment: without the option
    /// `state` no checkpoints are kept.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that are missing, contradict each other, or are about
    /// sources.
    pub fn build(self) -> Result<Loader, LoadError> {
        let (credentials, tls) = (self.credentials.clone(), self.tls.clone());
        let observers = self.observers.clone();
        let options = self.options()?;
        options.check_fed()?;
        let mut config = options.config(&Environment::empty())?;
        config.credentials = credentials.unwrap_or(config.credentials);
        config.tls = tls.unwrap_or(config.tls);
        Ok(Loader::new(config)?.with_observers(observers))
    }

    /// The plan of a load of the sources that the options name; see [`LoadOptions::resolve`].
    ///
    /// # Errors
    /// As [`LoadOptions::resolve`].
    pub async fn plan(self, environment: &Environment) -> Result<LoadPlan, LoadError> {
        let (credentials, tls) = (self.credentials.clone(), self.tls.clone());
        let mut plan = self.options()?.resolve(environment).await?;
        plan.config.credentials = credentials.unwrap_or(plan.config.credentials);
        plan.config.tls = tls.unwrap_or(plan.config.tls);
        Ok(plan)
    }

    /// Loads the sources that the options name, to their end, with the environment of this process.
    ///
    /// # Errors
    /// [`LoadError`] if the load cannot begin, or needs a confirmation with the option `yes`. The
    /// report has all later errors.
    pub async fn run(self) -> Result<Report, LoadError> {
        let observers = self.observers.clone();
        let (loader, source) = self.plan(&Environment::of_process()).await?.loader().await?;
        Ok(loader.with_observers(observers).start(source).await?.finish().await)
    }
}
