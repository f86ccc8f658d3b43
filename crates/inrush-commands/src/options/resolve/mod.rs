//! Resolves options to a plan of a load.

mod checks;
mod config;
mod ending;
mod fed;
mod fetch;
mod files;
mod format;
pub(super) mod kinds;
mod letters;
mod login;
mod mapping;
mod model;
mod outputs;
mod query;
mod shards;
mod watch;

use inrush_cluster::BoxFuture;
use inrush_core::Code;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use config::{nodes, urls};
pub use files::{Inputs, read_body};
pub use kinds::Use;
pub use model::Model;
pub(crate) use watch::config as watch_config;
pub use watch::refused as refused_watch;

use super::{Confirmation, LoadOptions, LoadPlan, LocalNode, OpenSource, OptionError, OptionGroup};
use inrush_cluster::transport::Secret;
use inrush_load::LoadError;
use inrush_load::config::LoadConfig;
use inrush_node::{self as node, RunState, StartOptions};
use inrush_sources::{Source, SourceError, SourceInfo, SourceKind};
use kinds::{Found, Opened};

/// The name of the local node in `to`.
const LOCAL: &str = "local";

/// The value of an environment variable, by its name.
type Variables = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// The parts of the process that the plan of a load depends on: environment variables, and a prompt
/// for passwords.
pub struct Environment {
    variable: Variables,
    password: Option<AskPassword>,
    folder: Option<PathBuf>,
    /// Kinds of sources that the program adds.
    kinds: Vec<Arc<dyn SourceKind>>,
}

/// A prompt for a secret. Its argument describes the secret, as in `password of alice`.
type AskPassword = Box<dyn Fn(&str) -> io::Result<Secret> + Send + Sync>;

impl Environment {
    /// The variables of this process, without a prompt. A `HOME` that is not set is that of the
    /// password file.
    pub fn of_process() -> Self {
        Environment::new(inrush_node::user::variable)
    }

    /// No variables, without a prompt.
    pub fn empty() -> Self {
        Environment::new(|_| None)
    }

    /// These variables, without a prompt. Secrets are nevertheless read from the process.
    pub fn new(variable: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Environment { variable: Box::new(variable), password: None, folder: None, kinds: Vec::new() }
    }

    /// Sets the prompt for passwords.
    #[must_use]
    pub fn with_prompt(self, ask: impl Fn(&str) -> io::Result<Secret> + Send + Sync + 'static) -> Self {
        Environment { password: Some(Box::new(ask)), ..self }
    }

    /// Sets the folder for files that no option names, such as dead letters, instead of the working
    /// directory.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Environment { folder: Some(folder.into()), ..self }
    }

    /// Finds sources of this kind, too. It is asked before the kinds that inrush has.
    #[must_use]
    pub fn with_source_kind(mut self, kind: impl SourceKind + 'static) -> Self {
        self.kinds.push(Arc::new(kind));
        self
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name)
    }

    fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl LoadOptions {
    /// Checks the options, opens the sources, and resolves values that are `auto`. Nothing is
    /// changed, on this machine or on a cluster. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that cannot be used. Other errors for a source or a source
    /// cluster that cannot be read.
    pub fn resolve<'a>(self, environment: &'a Environment) -> BoxFuture<'a, Result<LoadPlan, LoadError>> {
        self.resolve_for(Use::Load, environment)
    }

    /// As [`LoadOptions::resolve`], for another use of the sources than to load them.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve`], and for sources that cannot be used in this way.
    pub fn resolve_for<'a>(
        self,
        what: Use,
        environment: &'a Environment,
    ) -> BoxFuture<'a, Result<LoadPlan, LoadError>> {
        Box::pin(async move {
            if what == Use::DryRun {
                self.fetch.refuse("a dry run")?;
                self.watch.refuse("a dry run")?;
            }
            self.check_conflicts()?;
            let found = kinds::find(&self, &environment.kinds)?;
            found.check(&self, what)?;
            let mut config = config::config(&self, &found, environment)?;
            let watch = watch_config(&self.watch, environment)?;
            let fetch = fetch::plan(&self, &config, environment)?;
            let Opened { source, reopen, model } = found.open(&self, &mut config, environment).await?;
            mapping::of_load(&self, &mut config, (&found, environment)).await?;
            let described = source.describe();
            fetch::check_ids(&self, &described)?;
            let SourceInfo { bytes_total, has_ids, .. } = described;
            let notes = shards::of_load(&self, (bytes_total, has_ids), &mut config, (&found, environment)).await?;
            let local = local(&config, &self.target.to).await?;
            let confirmations = confirmations(&self, &config, local.as_ref());
            Ok(LoadPlan { config, source, reopen, fetch, local, model, confirmations, notes, watch })
        })
    }

    /// Checks the options and opens the sources, for a use without a target. It also returns what
    /// opens them again. `None`: they can be read only once, or may change.
    ///
    /// # Errors
    /// As [`LoadOptions::resolve`], and for sources that cannot be used in this way.
    pub async fn open_for(
        &self,
        what: Use,
        environment: &Environment,
    ) -> Result<(Box<dyn Source>, Option<OpenSource>), LoadError> {
        self.check_conflicts()?;
        let found = kinds::find(self, &environment.kinds)?;
        found.check(self, what)?;
        let mut config = config::of_sources()?;
        let Opened { source, reopen, .. } = found.open(self, &mut config, environment).await?;
        Ok((source, reopen))
    }

    /// Refuses sources that cannot be used in this way, and options that are not about them.
    ///
    /// # Errors
    /// The first that is refused.
    pub fn check_use(&self, what: Use) -> Result<(), OptionError> {
        kinds::find(self, &[])?.check(self, what)
    }

    /// The configuration of a load whose documents the options do not name. It may prompt for a
    /// password.
    pub(crate) fn config(&self, environment: &Environment) -> Result<LoadConfig, LoadError> {
        self.check_conflicts()?;
        Ok(config::config(self, &Found::of_program(), environment)?)
    }

    /// Refuses options that exclude each other.
    fn check_conflicts(&self) -> Result<(), OptionError> {
        for info in self.given() {
            if let Some(other) = info.conflicts.iter().find(|other| self.is_given(other)) {
                let message = format!("option `{}` and option `{other}` exclude each other", info.name);
                return Err(OptionError::conflict(message).of(info.name).hint("leave one of them out"));
            }
        }
        checks::of_time_zone(self)
    }

    /// Explains the query of these options: the columns of its tables, and its plan.
    ///
    /// # Errors
    /// There is no query, or the query or its tables cannot be used.
    pub async fn explain(&self) -> Result<String, LoadError> {
        self.check_conflicts()?;
        query::explain(self).await
    }
}

/// The local node, if no other cluster is named. `to`: the option.
async fn local(config: &LoadConfig, to: &[String]) -> Result<Option<LocalNode>, LoadError> {
    if !config.to.is_empty() {
        return Ok(None);
    }
    let status = node::status(&StartOptions::default().name).await.map_err(of_node)?;
    let url = status.node.filter(|_| status.state == RunState::Running).map(|node| node.url);
    Ok(Some(LocalNode { url, is_named: to.iter().any(|url| url == LOCAL) }))
}

/// The error for a reading thread that has panicked.
fn panicked() -> SourceError {
    SourceError::new("-", "reading panicked").coded(Code::Defect)
}

fn of_node(error: node::NodeError) -> OptionError {
    OptionError::unusable(error.to_string()).coded(error.code()).of("to")
}

fn confirmations(options: &LoadOptions, config: &LoadConfig, local: Option<&LocalNode>) -> Vec<Confirmation> {
    let target = &options.target;
    let index = || config.index.as_str().to_owned();
    let mut confirmations = Vec::new();
    if target.recreate && !target.yes {
        let at = config.to.first().map_or("the local node", String::as_str).to_owned();
        confirmations.push(Confirmation::Recreate { index: index(), at });
    }
    if target.replicas_off && !target.yes && !target.recreate {
        confirmations.push(Confirmation::ReplicasOff { index: index() });
    }
    let is_named = target.to.iter().any(|url| url == LOCAL);
    if local.is_some_and(|local| local.url.is_none()) && !is_named {
        confirmations.push(Confirmation::StartNode);
    }
    confirmations
}
