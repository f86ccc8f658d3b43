//! The builder that sets the options of a load in a program.

use std::sync::Arc;

use super::Loader;
use crate::options::{Environment, LoadOptions, LoadPlan, OptionError, Use, refused_watch};
use inrush_cluster::transport::{Credentials, TlsOptions};
use inrush_load::LoadError;
use inrush_load::dry_run::DryRun;
use inrush_load::observe::{Observer, ObserverSet};
use inrush_load::{Report, RunningLoad};
use inrush_page::Watch;

/// Sets the options of a load. There is one setter for each option of the command line. A setter
/// takes the value, or the text that the command line accepts. Setters of lists can be called
/// several times.
///
/// A program that has its own [`Source`](inrush_sources::Source), or pushes documents, calls
/// [`LoaderBuilder::build`] instead of [`LoaderBuilder::run`].
#[derive(Clone, Debug, Default)]
pub struct LoaderBuilder {
    pub(crate) options: LoadOptions,
    credentials: Option<Credentials>,
    tls: Option<TlsOptions>,
    observers: ObserverSet,
    environment: Option<Arc<Environment>>,
    /// The first value that could not be parsed.
    problem: Option<OptionError>,
}

impl LoaderBuilder {
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

    /// Tells the events of the load to this observer. Can be called several times.
    #[must_use]
    pub fn observe(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// The environment variables, the prompt and the kinds of sources that the options use.
    /// Default: the variables of this process, no prompt, and the kinds of inrush.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(Arc::new(environment));
        self
    }

    /// Keeps the error of a value that could not be parsed, for the end.
    pub(crate) fn refuse(&mut self, option: &'static str, problem: String) {
        self.problem.get_or_insert_with(|| OptionError::value(option, problem));
    }

    /// The options that were set, and the environment.
    pub(crate) fn into_parts(self) -> Result<(LoadOptions, Arc<Environment>), OptionError> {
        let environment = self.environment.unwrap_or_else(|| Arc::new(Environment::of_process()));
        match self.problem {
            None => Ok((self.options, environment)),
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
        let (options, _) = self.into_parts()?;
        options.check_fed()?;
        options.watch.refuse("a source of the program")?;
        let mut config = options.config(&Environment::empty())?;
        config.credentials = credentials.unwrap_or(config.credentials);
        config.tls = tls.unwrap_or(config.tls);
        Ok(Loader::new(config)?.with_observers(observers))
    }

    /// The plan of a load of the sources that the options name.
    async fn plan(self, what: Use) -> Result<LoadPlan, LoadError> {
        let (credentials, tls) = (self.credentials.clone(), self.tls.clone());
        let (options, environment) = self.into_parts()?;
        let mut plan = options.resolve_for(what, &environment).await?;
        plan.config.credentials = credentials.unwrap_or(plan.config.credentials);
        plan.config.tls = tls.unwrap_or(plan.config.tls);
        Ok(plan)
    }

    /// Shows what the load of the sources that the options name would do. Nothing is written, to
    /// the cluster or to this machine, and no confirmation is needed.
    ///
    /// # Errors
    /// [`LoadError`] if the options, a source or the cluster cannot be used.
    pub async fn dry_run(self) -> Result<DryRun, LoadError> {
        self.plan(Use::DryRun).await?.dry_run().await
    }

    /// Starts to load the sources that the options name.
    ///
    /// # Errors
    /// [`LoadError`] if the load cannot begin, or needs a confirmation with the option `yes`. No
    /// document was sent.
    pub async fn start(self) -> Result<RunningLoad, LoadError> {
        let observers = self.observers.clone();
        let mut plan = self.plan(Use::Load).await?;
        let (config, name) = (std::mem::take(&mut plan.watch), plan.config.index.as_str().to_owned());
        if config.is_off() {
            let (loader, source) = plan.loader().await?;
            return loader.with_observers(observers).start(source).await;
        }
        let watch = Watch::start(config).await.map_err(|error| refused_watch(&error))?;
        if let Some(url) = watch.url() {
            tracing::info!("the load is shown at {url}");
        }
        let (observer, shown) = watch.show(&name);
        let begun = async {
            let (loader, source) = plan.loader().await?;
            loader.with_observers(observers).observe(observer).start(source).await
        };
        match begun.await {
            Ok(load) => {
                shown.control(load.pause_handle(), load.stop_handle());
                Ok(load.followed_by(watch.end()))
            }
            Err(error) => {
                watch.end().await;
                Err(error)
            }
        }
    }

    /// Loads the sources that the options name, to their end.
    ///
    /// # Errors
    /// As [`LoaderBuilder::start`]. The report has all later errors.
    pub async fn run(self) -> Result<Report, LoadError> {
        Ok(self.start().await?.finish().await)
    }
}
