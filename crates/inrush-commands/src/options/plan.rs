//! The plan of a load, which has not begun.

use inrush_cluster::BoxFuture;
use std::fmt;

use super::resolve::Model;
use super::{OptionError, OptionErrorKind};
use inrush_load::LoadError;
use inrush_load::RunningLoad;
use inrush_load::config::LoadConfig;
use inrush_load::dry_run::DryRun;
use inrush_load::fetch::MissingRecord;
use inrush_page::WatchConfig;

use crate::options::Loader;
use inrush_sources::{Repeats, Source, StoreOptions, open_fetch};

pub use inrush_bake::OpenSource;
use inrush_bake::{BakeError, ShardBuild, ShardOrder};

/// A load with checked options and open sources. Nothing was changed yet. It comes from
/// [`LoadOptions::resolve`](super::LoadOptions::resolve). A front end destructures it without `..`,
/// so that a new part does not compile before it is handled there.
pub struct LoadPlan {
    /// The configuration. Its list of nodes is empty if the target is the local node.
    pub config: LoadConfig,
    /// The source.
    pub source: Box<dyn Source>,
    /// Opens the same sources again. `None` if they are not files.
    pub reopen: Option<OpenSource>,
    /// The look-ups of documents.
    pub fetch: Option<FetchPlan>,
    /// The local node, if it is the target.
    pub local: Option<LocalNode>,
    /// An index whose mapping or settings the target gets.
    pub model: Option<Model>,
    /// Confirmations that are needed before the load begins.
    pub confirmations: Vec<Confirmation>,
    /// Automatic choices and their reasons, in sentences for the user.
    pub notes: Vec<String>,
    /// What shows the load. The front end starts it before the load.
    pub watch: WatchConfig,
}

/// Documents that are looked up.
#[derive(Clone, Debug)]
pub struct FetchPlan {
    /// The place of the records. It is not asked before the load begins.
    pub options: inrush_sources::FetchOptions,
    /// What becomes of an id without a record.
    pub missing: MissingRecord,
}

/// The OpenSearch node of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalNode {
    /// Its address, if it runs.
    pub url: Option<String>,
    /// Option `to` names it. It is the target for want of another one otherwise.
    pub is_named: bool,
}

/// A confirmation that a front end needs from the user before a load begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// An index is deleted with all its documents.
    Recreate {
        /// The index.
        index: String,
        /// The cluster.
        at: String,
    },
    /// An index with documents loses its replicas during the load.
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
            Confirmation::Recreate { index, at } => {
                format!("Delete index {index} at {at} with all its documents, its mapping and its settings?")
            }
            Confirmation::ReplicasOff { index } => format!(
                "If {index} holds documents, the loss of a node during the load loses some of them. Switch replicas off?"
            ),
            Confirmation::StartNode => {
                "Option `to` is not given. Start an OpenSearch node on this machine, with 1 GiB of memory, and use it?"
                    .to_owned()
            }
        }
    }

    /// The refusal if there is no user to ask. `None`: the load can begin, and refuses later if the
    /// confirmation turns out to be needed.
    pub fn refusal(&self) -> Option<OptionError> {
        match self {
            Confirmation::Recreate { index, .. } => Some(
                OptionError::new(
                    OptionErrorKind::Declined,
                    format!("option `recreate` deletes {index} with all its documents, which needs a confirmation"),
                )
                .of("recreate")
                .hint("add option `yes` to confirm"),
            ),
            // An index without documents needs no confirmation.
            Confirmation::ReplicasOff { .. } => None,
            Confirmation::StartNode => Some(
                OptionError::new(
                    OptionErrorKind::Missing,
                    "option `to` is not given, and the local node does not run",
                )
                .of("to")
                .hint("name the cluster with option `to=URL`; option `to=local` starts an OpenSearch node on this machine, with 1 GiB of memory"),
            ),
        }
    }
}

impl LoadPlan {
    /// Applies a confirmation of the user.
    pub fn confirm(&mut self, confirmation: &Confirmation) {
        if matches!(confirmation, Confirmation::ReplicasOff { .. }) {
            self.config.guard.replicas_off_confirmed = true;
        }
        self.confirmations.retain(|open| open != confirmation);
    }

    /// Starts the load. If the target is the local node, it has to run; see [`LoadPlan::local`].
    ///
    /// # Errors
    /// The load cannot begin, or needs a confirmation. No document was sent.
    pub fn start(self) -> BoxFuture<'static, Result<RunningLoad, LoadError>> {
        Box::pin(async move {
            let (loader, source) = self.loader().await?;
            loader.start(source).await
        })
    }

    /// The starter of the load, and its source.
    ///
    /// # Errors
    /// As [`LoadPlan::start`].
    pub async fn loader(self) -> Result<(Loader, Box<dyn Source>), LoadError> {
        let LoadPlan { mut config, source, reopen: _, fetch, local, model, confirmations, notes: _, watch: _ } = self;
        if let Some(refusal) = confirmations.iter().find_map(Confirmation::refusal) {
            return Err(refusal.into());
        }
        if let (true, Some(LocalNode { url: Some(url), .. })) = (config.to.is_empty(), local) {
            config.to = vec![url];
        }
        if let Some(model) = model {
            model.copy(&mut config).await?;
        }
        if config.state.is_none() && source.describe().repeats == Repeats::Always {
            config.told.warn(
                "no home of this user is known (HOME), and XDG_STATE_HOME is not set; this load keeps no checkpoints and cannot be resumed; name a folder with option `state`",
            );
        }
        let loader = Loader::new(config)?;
        let Some(FetchPlan { options, missing }) = fetch else { return Ok((loader, source)) };
        let warnings = source.describe().warnings.unwrap_or_default();
        let fetch = open_fetch(options, &warnings).await;
        let fetch = fetch.map_err(|error| OptionError::unusable(error.text()))?;
        Ok((loader.with_fetch(fetch, missing)?, source))
    }

    /// The starter of a load into a shard that is built here, instead of into the cluster, and its
    /// source. `store` says how this machine reaches the object store of the repository.
    ///
    /// # Errors
    /// As [`ShardBuild::begin`].
    pub async fn shard_loader(
        self,
        order: &ShardOrder,
        shard: u32,
        store: &StoreOptions,
    ) -> Result<(Loader, Box<dyn Source>, ShardBuild), BakeError> {
        let build = ShardBuild::begin(order, shard, &self.config, store).await?;
        let loader = Loader::new(build.config(&self.config)?)?.through(build.transport());
        Ok((loader, self.source, build))
    }

    /// Shows what the load would do. Nothing is written, to the cluster or to this machine, and no
    /// confirmation is needed.
    ///
    /// # Errors
    /// As [`inrush_load::dry_run::dry_run`].
    pub async fn dry_run(self) -> Result<DryRun, LoadError> {
        let LoadPlan { mut config, source, reopen: _, fetch: _, local, model, confirmations: _, notes: _, watch: _ } =
            self;
        let mut not_asked = false;
        if let (true, Some(local)) = (config.to.is_empty(), local) {
            // A dry run does not start the local node.
            match local.url {
                Some(url) => config.to = vec![url],
                None => not_asked = true,
            }
        }
        if let (Some(model), false) = (model, not_asked) {
            model.copy(&mut config).await?;
        }
        let mut found = inrush_load::dry_run::dry_run(config, source).await?;
        if not_asked {
            found
                .warnings
                .push("option `to` is not given, and the local node does not run: no cluster was contacted".to_owned());
        }
        Ok(found)
    }
}

impl fmt::Debug for LoadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadPlan")
            .field("config", &self.config)
            .field("source", &self.source.describe().names)
            .field("fetch", &self.fetch)
            .field("local", &self.local)
            .field("confirmations", &self.confirmations)
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}
