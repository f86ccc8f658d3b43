//! A load that is described and has not begun.

use std::fmt;

use super::resolve::Model;
use super::{OptionError, OptionErrorKind};
use crate::config::LoadConfig;
use crate::dry_run::DryRun;
use inrush_load::LoadError;
use inrush_load::RunningLoad;

use crate::options::Loader;
use crate::source::Source;

pub use inrush_bake::OpenSource;

/// A load whose options are checked and whose sources are open; nothing was changed yet. It comes
/// from [`LoadOptions::resolve`](super::LoadOptions::resolve). A front end takes it apart without `..`,
/// so that a new part does not compile before it is handled there.
pub struct LoadPlan {
    /// The configuration. Its list of nodes is empty where the cluster is the local node.
    pub config: LoadConfig,
    /// What is read.
    pub source: Box<dyn Source>,
    /// Opens the same sources again; `None` where they are not files.
    pub reopen: Option<OpenSource>,
    /// The local node, where it is the cluster.
    pub local: Option<LocalNode>,
    /// An index that the target is to be made like.
    pub model: Option<Model>,
    /// What has to be confirmed before the load begins.
    pub confirmations: Vec<Confirmation>,
    /// What was chosen, and why, in sentences for the user.
    pub notes: Vec<String>,
}

/// The OpenSearch node of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalNode {
    /// Its address, if it runs.
    pub url: Option<String>,
}

/// What a front end has to ask the user, or has to be sure of, before a load begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// An index is deleted with all its documents.
    Recreate {
        /// The index.
        index: String,
        /// The cluster.
        at: String,
    },
    /// An index with documents loses its replicas for the time of the load.
    ReplicasOff {
        /// The index.
        index: String,
    },
    /// A local OpenSearch node is started.
    StartNode,
}

impl Confirmation {
    /// The question, to be answered with yes or no.
    pub fn question(&self) -> String {
        match self {
            Confirmation::Recreate { index, at } => format!("Delete index {index} at {at} with all its documents?"),
            Confirmation::ReplicasOff { index } => format!(
                "If {index} holds documents, a node that is lost during the load takes some along. Replicas off?"
            ),
            Confirmation::StartNode => {
                "No cluster given with option `to`. Start an OpenSearch node on this machine, with 1 GiB of memory, and use it?".to_owned()
            }
        }
    }

    /// Why the load is refused where there is nobody to ask; `None`: it can begin, and is refused
    /// later where that turns out to be needed.
    pub fn refusal(&self) -> Option<OptionError> {
        match self {
            Confirmation::Recreate { index, .. } => Some(
                OptionError::conflict(format!(
                    "option `recreate` deletes {index} with all its documents, and there is nobody to ask"
                ))
                .of("recreate")
                .hint("add option `yes` if that is meant"),
            ),
            // An index without documents needs no confirmation.
            Confirmation::ReplicasOff { .. } => None,
            Confirmation::StartNode => Some(
                OptionError::new(
                    OptionErrorKind::Missing,
                    "no cluster given with option `to`, and the local node does not run",
                )
                .of("to")
                .hint("name the cluster with option `to=URL`; option `to=local` starts an OpenSearch node on this machine, with 1 GiB of memory"),
            ),
        }
    }
}

impl LoadPlan {
    /// Takes a confirmation that was given.
    pub fn confirm(&mut self, confirmation: &Confirmation) {
        if matches!(confirmation, Confirmation::ReplicasOff { .. }) {
            self.config.guard.replicas_off_confirmed = true;
        }
        self.confirmations.retain(|open| open != confirmation);
    }

    /// Begins the load. A local node that is the cluster has to run; see [`LoadPlan::local`].
    ///
    /// # Errors
    /// Where the load cannot begin, or something has to be confirmed; nothing was sent then.
    pub async fn start(self) -> Result<RunningLoad, LoadError> {
        let (loader, source) = self.loader().await?;
        loader.start(source).await
    }

    /// What begins the load, and what it reads.
    ///
    /// # Errors
    /// As [`LoadPlan::start`].
    pub async fn loader(self) -> Result<(Loader, Box<dyn Source>), LoadError> {
        let LoadPlan { mut config, source, reopen: _, local, model, confirmations, notes: _ } = self;
        if let Some(refusal) = confirmations.iter().find_map(Confirmation::refusal) {
            return Err(refusal.into());
        }
        if let (true, Some(LocalNode { url: Some(url) })) = (config.to.is_empty(), local) {
            config.to = vec![url];
        }
        if let Some(model) = model {
            model.copy(&mut config).await?;
        }
        Ok((Loader::new(config)?, source))
    }

    /// Says what the load would do. Nothing is written, to the cluster or to this machine, and nothing
    /// has to be confirmed for it.
    ///
    /// # Errors
    /// As [`crate::dry_run::dry_run`].
    pub async fn dry_run(self) -> Result<DryRun, LoadError> {
        let LoadPlan { mut config, source, reopen: _, local, model, confirmations: _, notes: _ } = self;
        let mut not_asked = false;
        if let (true, Some(local)) = (config.to.is_empty(), local) {
            // It is not started for this.
            match local.url {
                Some(url) => config.to = vec![url],
                None => not_asked = true,
            }
        }
        if let (Some(model), false) = (model, not_asked) {
            model.copy(&mut config).await?;
        }
        let mut found = crate::dry_run::dry_run(config, source).await?;
        if not_asked {
            found.warnings.push(
                "no cluster given with option `to`, and the local node does not run: no cluster was asked".to_owned(),
            );
        }
        Ok(found)
    }
}

impl fmt::Debug for LoadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadPlan")
            .field("config", &self.config)
            .field("source", &self.source.describe().names)
            .field("local", &self.local)
            .field("confirmations", &self.confirmations)
            .finish_non_exhaustive()
    }
}
