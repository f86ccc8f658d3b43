//! What a report says about a bake.

use inrush_load::Report;
use serde::{Deserialize, Serialize};

/// What a bake did. As JSON, it is the report of the load with the key `bake` beside its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BakeReport {
    /// The load into the builder, and what followed on the target.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandOver {
    /// The index on the target.
    pub index: String,
    /// The server that built it: product and version.
    pub builder: String,
    /// What was done, in order; of a bake that was resumed, in all its runs.
    pub steps: Vec<BakeStep>,
    /// Whether the target has the whole index. Otherwise it is as it was before, but for what `left` names.
    pub handed_over: bool,
    /// What could not be put back or cleaned up, and what to do.
    pub left: Vec<String>,
}

/// One step of a bake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BakeStep {
    /// Which.
    pub step: BakeStepName,
    /// How long it took.
    pub seconds: f64,
    /// In words.
    pub detail: String,
}

/// The steps, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BakeStepName {
    /// Looking at the target: product, version, templates, whether the index is free.
    Check,
    /// Starting the builder.
    Builder,
    /// Whether what the builder writes to the repository is read by the target.
    Repository,
    /// Making the index on the builder.
    Create,
    /// Loading, refreshing, force-merging and counting there.
    Load,
    /// Flushing it, and writing it to the repository.
    Snapshot,
    /// Putting shards together that were built apart.
    Assemble,
    /// Reading it from the repository, on the target.
    Restore,
    /// Waiting until its copies are in use, and counting it there.
    Verify,
    /// Giving it its aliases, or putting it in the place of another index.
    Publish,
    /// Taking away the repository, the snapshot and the builder.
    CleanUp,
}

impl BakeStepName {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            BakeStepName::Check => "check",
            BakeStepName::Builder => "builder",
            BakeStepName::Repository => "repository",
            BakeStepName::Create => "create",
            BakeStepName::Load => "load",
            BakeStepName::Snapshot => "snapshot",
            BakeStepName::Assemble => "assemble",
            BakeStepName::Restore => "restore",
            BakeStepName::Verify => "verify",
            BakeStepName::Publish => "publish",
            BakeStepName::CleanUp => "clean up",
        }
    }
}
