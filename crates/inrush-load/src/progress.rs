//! The progress of a running load.

use std::sync::Arc;

use inrush_core::BodyFormat;
use inrush_core::report::Counts;
use inrush_sources::Lag;
use serde::{Deserialize, Serialize};

/// A snapshot of a running load.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Documents read so far.
    pub docs_read: u64,
    /// Documents that are settled.
    pub docs_settled: u64,
    /// Dead letters among them.
    pub docs_dead_lettered: u64,
    /// Documents among them that were not sent, because a later document with the same id was.
    pub docs_superseded: u64,
    /// Bytes read from the sources, before decompression.
    pub bytes_read: u64,
    /// Bytes of all sources, where they are known.
    pub bytes_total: Option<u64>,
    /// Rows read so far from the tables of a query. `None` where rows are documents.
    pub rows_read: Option<u64>,
    /// All rows of these tables, where they are known.
    pub rows_total: Option<u64>,
    /// Bytes of request bodies, including retries.
    pub bytes_sent: u64,
    /// Items that were sent again.
    pub retried_items: u64,
    /// Requests, including retries.
    pub requests: u64,
    /// Requests in flight, including those that wait for a retry.
    pub in_flight: u32,
    /// Largest number of requests in flight: the current plan.
    pub plan_in_flight: u32,
    /// Bytes of one request's body: the current plan.
    pub plan_batch_bytes: u64,
    /// The reason of the last change of the plan. `None` before the first change.
    pub plan_why: Option<Arc<str>>,
    /// Bytes of documents that are in memory and not settled.
    pub memory_bytes: u64,
    /// Current encoding and compression of requests.
    pub body_format: BodyFormat,
    /// Seconds since the load began.
    pub seconds: f64,
    /// Phase of the load.
    pub phase: Phase,
    /// The counts of the report so far.
    pub counts: Counts,
    /// How far the source is behind, where it says so. As of the last second.
    pub lag: Option<Arc<Lag>>,
}

/// A phase of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The load checks the cluster.
    #[default]
    Starting,
    /// The load reads and sends.
    Loading,
    /// The source has no documents for now, and all earlier ones are settled.
    Idle,
    /// The load sends no new requests, for this reason.
    Paused(String),
    /// Reading ended early, for this reason, and the load waits for its requests in flight.
    Draining(String),
    /// The load restores the settings of the index.
    PuttingBack,
    /// The load refreshes the index, so that its documents can be counted.
    Refreshing,
    /// The load counts the documents of the index.
    Verifying,
    /// A step after the verification.
    Finishing {
        /// The step.
        step: Step,
        /// Its progress, as text.
        detail: String,
    },
    /// A bake builds an index elsewhere and hands it over. The text has the step and its progress.
    Baking(String),
    /// The report is available.
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
            Phase::Refreshing => "refreshing",
            Phase::Verifying => "verifying",
            Phase::Finishing { step, .. } => step.name(),
            Phase::Baking(_) => "baking",
            Phase::Done => "done",
        }
    }
}

/// Shows the phase of a load.
pub type ShowPhase = Arc<dyn Fn(Phase) + Send + Sync>;

/// A step after the last document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// The merge to few segments.
    ForceMerge,
    /// The wait until searches find all documents.
    Searchable,
    /// The wait until all copies of the shards are in use.
    Green,
    /// The wait until all copies have all operations.
    Replicated,
    /// The searches that warm up the new index.
    Warm,
    /// The copy of documents that were written to the old index during the load.
    CatchUp,
    /// The move of the alias.
    Swap,
    /// The deletion of the old index.
    DeleteOld,
}

impl Step {
    /// Name of the step for messages.
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
