//! How far a load has come, for whoever watches it.

use std::sync::Arc;

use inrush_core::BodyFormat;
use serde::{Deserialize, Serialize};

/// A snapshot of a running load.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Documents read so far.
    pub docs_read: u64,
    /// Documents whose end is known.
    pub docs_settled: u64,
    /// Dead letters among them.
    pub docs_dead_lettered: u64,
    /// Bytes read from the sources, before decompression.
    pub bytes_read: u64,
    /// Bytes of the sources in all, where that is known.
    pub bytes_total: Option<u64>,
    /// Rows read so far, where they are not the documents: those of the tables of a query.
    pub rows_read: Option<u64>,
    /// Those rows in all, where that is known.
    pub rows_total: Option<u64>,
    /// Bytes of request bodies, repetitions included.
    pub bytes_sent: u64,
    /// Items that were sent again.
    pub retried_items: u64,
    /// Requests, repetitions included.
    pub requests: u64,
    /// Requests under way or waiting for a repetition.
    pub in_flight: u32,
    /// Requests that may be under way at once: the present plan.
    pub plan_in_flight: u32,
    /// Bytes of one request's body: the present plan.
    pub plan_batch_bytes: u64,
    /// Bytes of documents that are in memory and not settled.
    pub memory_bytes: u64,
    /// How requests are sent: the present encoding and compression.
    pub body_format: BodyFormat,
    /// Seconds since the load began.
    pub seconds: f64,
    /// What it is doing.
    pub phase: Phase,
}

/// What a load is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Looking at the cluster.
    #[default]
    Starting,
    /// Reading and sending.
    Loading,
    /// Everything that was read is settled, and the source has nothing for now.
    Idle,
    /// Nothing is sent, and why.
    Paused(String),
    /// Reading has ended early, and why; what is under way is waited for.
    Draining(String),
    /// Putting the settings of the index back.
    PuttingBack,
    /// Counting what is in the index.
    Verifying,
    /// What follows the verification, and how far it is.
    Finishing {
        /// Which step.
        step: Step,
        /// In words.
        detail: String,
    },
    /// Building an index elsewhere and handing it over: which step, and how far it is.
    Baking(String),
    /// The report is there.
    Done,
}

impl Phase {
    /// The phase in a few words. The name of a step at the end is that of the step.
    pub const fn name(&self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Loading => "loading",
            Phase::Idle => "waiting for the source",
            Phase::Paused(_) => "paused",
            Phase::Draining(_) => "stopping",
            Phase::PuttingBack => "putting settings back",
            Phase::Verifying => "verifying",
            Phase::Finishing { step, .. } => step.name(),
            Phase::Baking(_) => "baking",
            Phase::Done => "done",
        }
    }
}

/// Shows the phase of a load.
pub type ShowPhase = Arc<dyn Fn(Phase) + Send + Sync>;

/// What can follow the last document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Merging to few segments.
    ForceMerge,
    /// Waiting until searches find all documents.
    Searchable,
    /// Waiting until all copies of the shards are in use.
    Green,
    /// Waiting until all copies have everything.
    Replicated,
    /// Searches before anybody else searches.
    Warm,
    /// Copying what was written to the old index meanwhile.
    CatchUp,
    /// Moving the alias.
    Swap,
    /// Deleting the old index.
    DeleteOld,
}

impl Step {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Step::ForceMerge => "force-merge",
            Step::Searchable => "searchable",
            Step::Green => "green",
            Step::Replicated => "replicated",
            Step::Warm => "warm",
            Step::CatchUp => "catch-up",
            Step::Swap => "swap",
            Step::DeleteOld => "delete old index",
        }
    }
}
