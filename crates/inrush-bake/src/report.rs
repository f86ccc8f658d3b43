//! The report of a bake.

use inrush_load::Report;
use serde::{Deserialize, Serialize};

use crate::config::Engine;

/// The report of a bake. As JSON, it is the report of the load with the additional key `bake`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BakeReport {
    /// The load, and what followed on the target.
    #[serde(flatten)]
    pub load: Report,
    /// How the index was built and handed over.
    #[serde(rename = "bake")]
    pub hand_over: HandOver,
}

impl BakeReport {
    /// The exit status of the command line.
    pub fn exit_code(&self) -> u8 {
        self.load.exit_code()
    }
}

/// How an index was built beside its cluster and handed over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandOver {
    /// The index on the target.
    pub index: String,
    /// Product and version of the server that built it, or those of inrush.
    pub builder: String,
    /// What built it: never [`Engine::Auto`].
    pub engine: Engine,
    /// Why a server built it, where [`Engine::Auto`] left the choice. It is the first warning, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_because: Option<String>,
    /// The steps, in order. For a resumed bake: those of all its runs.
    pub steps: Vec<BakeStep>,
    /// Whether the target has the whole index. Otherwise the target is in its former state, except
    /// for what `left` names.
    pub handed_over: bool,
    /// What could not be restored or cleaned up, and what to do.
    pub left: Vec<String>,
}

/// One step of a bake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BakeStep {
    /// The step.
    pub step: BakeStepName,
    /// How long it took, s.
    pub seconds: f64,
    /// What the step did, as text.
    pub detail: String,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BakeStepName {
    /// Checking the target: product, version, templates, whether the name of the index is free.
    Check,
    /// Starting the builder, if there is one.
    Builder,
    /// Checking that the target reads what the builder writes to the repository. Without a builder:
    /// that the target writes to it.
    Repository,
    /// Creating the index on the builder. Without one: on the target, for a snapshot without
    /// documents, after which it is deleted there.
    Create,
    /// Loading, refreshing, force-merging and counting on the builder. Without one: loading, and
    /// writing the files of the index.
    Load,
    /// Flushing the index, and writing it to the repository. Without a builder: putting the files
    /// into the snapshot.
    Snapshot,
    /// Restoring the index from the repository on the target.
    Restore,
    /// Waiting until the copies are active, and counting on the target.
    Verify,
    /// Adding the aliases of the index, or putting it in the place of another index.
    Publish,
    /// Removing the repository, the snapshot, and the builder if there is one.
    CleanUp,
}

impl BakeStepName {
    /// The name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            BakeStepName::Check => "check",
            BakeStepName::Builder => "builder",
            BakeStepName::Repository => "repository",
            BakeStepName::Create => "create",
            BakeStepName::Load => "load",
            BakeStepName::Snapshot => "snapshot",
            BakeStepName::Restore => "restore",
            BakeStepName::Verify => "verify",
            BakeStepName::Publish => "publish",
            BakeStepName::CleanUp => "clean up",
        }
    }
}
