//! From options to a load.

mod checks;
mod config;
mod database;
mod ending;
mod fed;
mod files;
mod format;
mod login;
mod mapping;
mod model;
mod outputs;
mod query;
mod shards;
mod sources;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

pub use config::urls;
pub use files::{Inputs, read_body};
pub use model::Model;

use super::{Confirmation, LoadOptions, LoadPlan, LocalNode, OptionError, OptionGroup};
use crate::config::LoadConfig;
use crate::node::{self, StartOptions, State};
use crate::source::{Registry, SourceError, SourceInfo, SourceKind};
use crate::transport::Secret;
use inrush_load::LoadError;
use sources::Opened;

/// What stands for the local node in `to`.
const LOCAL: &str = "local";

/// The value of an environment variable, by its name.
type Variables = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// What of the process a description of a load depends on: environment variables, and a person to ask for
/// a password.
pub struct Environment {
    variable: Variables,
    password: Option<AskPassword>,
    folder: Option<PathBuf>,
    registry: Registry,
}

/// Asks for a secret; gets the words for what is asked for, as in `password of alice`.
type AskPassword = Box<dyn Fn(&str) -> io::Result<Secret> + Send + Sync>;

impl Environment {
    /// The variables of this process, and nobody to ask.
    pub fn of_process() -> Self {
        Environment::new(|name| std::env::var_os(name))
    }

    /// No variables, and nobody to ask.
    pub fn empty() -> Self {
        Environment::new(|_| None)
    }

    /// These variables, and nobody to ask. Secrets are read from the process all the same.
    pub fn new(variable: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Environment { variable: Box::new(variable), password: None, folder: None, registry: Registry::default() }
    }

    /// Asks for a password with this function.
    #[must_use]
    pub fn with_prompt(self, ask: impl Fn(&str) -> io::Result<Secret> + Send + Sync + 'static) -> Self {
        Environment { password: Some(Box::new(ask)), ..self }
    }

    /// Makes files without a name of their own, as those of dead letters, in this folder instead of the
    /// working directory.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Environment { folder: Some(folder.into()), ..self }
    }

    /// Finds sources of this kind, too. It is asked before the kinds that inrush has.
    #[must_use]
    pub fn with_source_kind(self, kind: impl SourceKind + 'static) -> Self {
        Environment { registry: self.registry.with(kind), ..self }
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name)
    }

    fn is_set(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !value.is_empty())
    }
}

impl LoadOptions {
    /// Checks the options against each other, opens the sources, and chooses what is `auto`. Nothing is
    /// changed by it, on this machine or on a cluster. Has to be called in a tokio runtime.
    ///
    /// # Errors
    /// [`LoadError::Usage`] for options that cannot be used; a source or a cluster that is read and does not
    /// answer.
    pub async fn resolve(self, environment: &Environment) -> Result<LoadPlan, LoadError> {
        let mut config = self.config(environment)?;
        let Opened { source, reopen, model } = sources::open(&self, &mut config, environment).await?;
        mapping::of_load(&self, &mut config, &environment.registry).await?;
        let SourceInfo { bytes_total, has_ids, .. } = source.describe();
        let notes = shards::of_load(&self, (bytes_total, has_ids), &mut config, &environment.registry).await?;
        let local = local(&config).await?;
        let confirmations = confirmations(&self, &config, local.as_ref());
        Ok(LoadPlan { config, source, reopen, local, model, confirmations, notes })
    }

    /// The configuration, without what the sources tell. A password may be asked for.
    pub(crate) fn config(&self, environment: &Environment) -> Result<LoadConfig, LoadError> {
        self.check_conflicts()?;
        Ok(config::config(self, environment)?)
    }

    /// Refuses options that exclude each other.
    fn check_conflicts(&self) -> Result<(), OptionError> {
        for info in self.given() {
            if let Some(other) = info.conflicts.iter().find(|other| self.is_given(other)) {
                let message = format!("option `{}` and option `{other}` are given, and exclude each other", info.name);
                return Err(OptionError::conflict(message).of(info.name).hint("leave one of them out"));
            }
        }
        Ok(())
    }

    /// What the query of these options is going to do: the columns of its tables, and its plan.
    ///
    /// # Errors
    /// There is no query, or it or its tables cannot be used.
    pub async fn explain(&self) -> Result<String, LoadError> {
        self.check_conflicts()?;
        query::explain(self).await
    }
}

/// The local node, where no other cluster is named.
async fn local(config: &LoadConfig) -> Result<Option<LocalNode>, LoadError> {
    if !config.to.is_empty() {
        return Ok(None);
    }
    let status = node::status(&StartOptions::default().name).await.map_err(of_node)?;
    let url = status.node.filter(|_| status.state == State::Running).map(|node| node.url);
    Ok(Some(LocalNode { url }))
}

/// A thread that read is gone.
fn panicked() -> SourceError {
    SourceError { source_id: None, name: "-".to_owned(), message: "reading panicked".to_owned(), cause: None }
}

fn of_node(error: node::NodeError) -> OptionError {
    OptionError::unusable(error.to_string()).of("to")
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
