//! The seam between a bake and what builds its index.

use std::sync::Arc;

use inrush_cluster::BoxFuture;
use inrush_cluster::api::{ClusterInfo, Version};
use inrush_cluster::transport::Transport;
use inrush_load::config::LoadConfig;

use crate::access::User;
use crate::config::{BakeError, Engine};
use crate::context::{Context, Patience};
use crate::record::{Build, Keep, Plan, Saved, Shared};

/// What an engine is asked to build, before anything is changed.
pub(crate) struct Subject<'a> {
    /// The load of its documents.
    pub(crate) load: &'a LoadConfig,
    /// The id of the bake.
    pub(crate) id: &'a str,
    pub(crate) plan: &'a Plan,
    pub(crate) shared: &'a Shared,
    /// The users of the target's nodes on this machine.
    pub(crate) nodes: &'a [User],
    /// What the target says of itself, and the version of its oldest node.
    pub(crate) info: &'a ClusterInfo,
    pub(crate) oldest: Option<Version>,
}

/// A bake that leaves nothing of its build.
pub(crate) struct Ended<'a> {
    pub(crate) keep: &'a Keep,
    pub(crate) saved: &'a Saved,
    /// The bake, if this is its run and not a later one.
    pub(crate) context: Option<&'a Arc<Context>>,
}

/// What builds the index of a bake. What it has to remember is its part of the record, [`Build`].
pub(crate) trait BuildEngine: Send + Sync {
    /// Product and version, for messages.
    fn title(&self, saved: &Saved) -> String;

    /// The record of a build that has not begun. Changes nothing.
    ///
    /// # Errors
    /// [`BakeError::NotNative`] if only the other engine can build it, others if none can.
    fn prepare<'a>(&'a self, subject: &'a Subject<'a>) -> BoxFuture<'a, Result<Build, BakeError>>;

    /// Builds the index into the repository, or the rest of it after an earlier run.
    fn build<'a>(&'a self, context: &'a Arc<Context>) -> BoxFuture<'a, Result<(), BakeError>>;

    /// Takes back what the build has changed on the target. What is done is removed from `saved`.
    /// Returns a message about what could not be done.
    fn undo<'a>(
        &'a self,
        target: &'a Transport,
        saved: &'a mut Saved,
        patience: &'a Patience,
    ) -> BoxFuture<'a, Option<String>>;

    /// Ends what runs on this machine. The built data stay. Returns a message about what runs on.
    fn rest<'a>(&'a self, saved: &'a Saved) -> BoxFuture<'a, Option<String>>;

    /// Deletes everything that the build has made outside of the folder of the bake.
    ///
    /// # Errors
    /// A sentence about what could not be deleted.
    fn forget<'a>(&'a self, ended: &'a Ended<'a>) -> BoxFuture<'a, Result<(), String>>;
}

/// Both engines.
pub(crate) struct Engines {
    /// What the options ask for.
    pub(crate) wanted: Engine,
    pub(crate) server: Box<dyn BuildEngine>,
    pub(crate) native: Box<dyn BuildEngine>,
    /// Whether other machines have the documents. A server would not get them.
    pub(crate) is_elsewhere: bool,
}

impl Engines {
    /// The engines to try, the best one first.
    pub(crate) fn to_try(&self) -> Vec<&dyn BuildEngine> {
        match self.wanted {
            Engine::Server => vec![self.server.as_ref()],
            Engine::Native => vec![self.native.as_ref()],
            Engine::Auto if self.is_elsewhere => vec![self.native.as_ref()],
            Engine::Auto => vec![self.native.as_ref(), self.server.as_ref()],
        }
    }

    /// Whether a server may build what this process cannot.
    pub(crate) fn leave_the_choice(&self) -> bool {
        self.wanted == Engine::Auto && !self.is_elsewhere
    }

    /// The engine of a record.
    pub(crate) fn of(&self, saved: &Saved) -> &dyn BuildEngine {
        match saved.build {
            Build::Server(_) => self.server.as_ref(),
            Build::Native(_) => self.native.as_ref(),
        }
    }
}
