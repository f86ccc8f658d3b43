//! The report of a load.

mod cutover;
mod merge;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use cutover::{FinishReport, OldIndex, OldWritesReport, StepReport, SwapReport};
use inrush_cluster::api::stats::IndexStats;
use inrush_core::report::{Counts, ErrorCount, IndexCounts};
use inrush_core::{Encoding, PauseTotal};
use serde::{Deserialize, Serialize};

use crate::tolerance::ToleranceReport;

/// What a load did. As JSON, the counts stand at the top level.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// With `--once`, where this very load had come to its end before: when, in UTC. The report is
    /// that run's; nothing was read or sent now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_before: Option<String>,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The sums. `docs_read` is the sum of the buckets. Of a load that was resumed, those of all
    /// its runs: each document once.
    #[serde(flatten)]
    pub counts: Counts,
    /// From the first look at the cluster to the end; of earlier runs up to their last checkpoint.
    pub seconds: f64,
    /// Documents that this run read for each second between its first document and its last reply,
    /// pauses left out. Of a source that never ends, `source_idle_seconds` are left out as well.
    pub docs_per_second: f64,
    /// What this run did, where the load was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub this_run: Option<ThisRun>,
    /// The checkpoint that `--resume` goes on from, where there is something left to do. None where
    /// a source was changed while it was read: that load begins anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "inrush_sources::path_json::shown")]
    pub checkpoint: Option<PathBuf>,
    /// What the run ended on.
    pub plan: PlanReport,
    /// Whether the index holds what the counts say.
    pub verified: Verified,
    /// What became of the tolerance, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<ToleranceReport>,
    /// What was changed on the index for the load, and whether it was put back.
    pub settings: SettingsReport,
    /// What followed the last document.
    pub finish: FinishReport,
    /// How the alias was moved, where one was to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapReport>,
    /// By index that took documents.
    pub indices: BTreeMap<String, IndexCounts>,
    /// By index that took documents, of earlier runs as well: how large it was, and is. Absent
    /// where that may not be asked.
    pub sizes: BTreeMap<String, IndexSizes>,
    /// When nothing was sent, by reason; part of `seconds`, and not of what `docs_per_second`
    /// divides by. Of this run only.
    pub pauses: Vec<PauseTotal>,
    /// The time in which the source had no documents and all that it had were settled, seconds.
    /// Part of `seconds`. Of this run only.
    #[serde(default)]
    pub source_idle_seconds: f64,
    /// Errors of dead letters by kind, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// The dead-letter file, if there were any.
    #[serde(serialize_with = "inrush_sources::path_json::shown")]
    pub dead_letters: Option<PathBuf>,
    /// What a person should know besides.
    pub warnings: Vec<String>,
    /// What was read.
    pub sources: Vec<SourceReport>,
    /// The name in the cluster's logs: requests carry `X-Opaque-Id: inrush-<run id>-<number>`.
    pub run_id: String,
}

impl Report {
    /// The report of a load without documents, for the tests of a program that shows reports.
    pub fn new(run_id: String, status: Status, plan: PlanReport, verified: Verified, settings: SettingsReport) -> Self {
        Report {
            status,
            ended_before: None,
            failure: None,
            counts: Counts::default(),
            seconds: 0.0,
            docs_per_second: 0.0,
            this_run: None,
            checkpoint: None,
            plan,
            verified,
            tolerance: None,
            settings,
            finish: FinishReport::default(),
            swap: None,
            indices: BTreeMap::new(),
            sizes: BTreeMap::new(),
            pauses: Vec::new(),
            source_idle_seconds: 0.0,
            errors: Vec::new(),
            dead_letters: None,
            warnings: Vec::new(),
            sources: Vec::new(),
            run_id,
        }
    }
}

/// The last run's part of a load that was resumed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThisRun {
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
}

/// How large an index was and is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSizes {
    /// Before the first document; null where that was not seen, as of an index that came by a
    /// rollover.
    pub before: Option<IndexStats>,
    /// After the verification.
    pub after: Option<IndexStats>,
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All documents are in, left out as configured, or missing in a number that is tolerated. Exit
    /// status 0.
    Complete,
    /// It ended, and some documents are not in. Exit status 3.
    Incomplete,
    /// All are in, but a check failed. Exit status 4.
    CheckFailed,
    /// It could not go on. Exit status 1.
    Failed,
    /// Somebody stopped it. Exit status 130.
    Interrupted,
}

impl Status {
    /// The exit status of the command line.
    pub const fn exit_code(self) -> u8 {
        match self {
            Status::Complete => 0,
            Status::Failed => 1,
            Status::Incomplete => 3,
            Status::CheckFailed => 4,
            Status::Interrupted => 130,
        }
    }
}

/// The plan and what it is based on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReport {
    /// Bytes of one request's body.
    pub batch_bytes: u64,
    /// Documents in one request; absent where only the bytes count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_docs: Option<u32>,
    /// Requests under way at once.
    pub in_flight: u32,
    /// In words.
    pub why: String,
    /// In which form documents were sent at the end, `json` or `smile`.
    pub encoding: Encoding,
    /// How bodies were compressed at the end, `none` or `gzip:` and the level.
    pub compression: String,
    /// Why encoding and compression, in words.
    pub wire_why: String,
}

/// How far one source was settled without a gap: where a later run would have to go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceReport {
    /// A path, `-` or a URL.
    pub name: String,
    /// Documents from its beginning that are settled without a gap.
    pub docs_settled: u64,
}

/// The result of the verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Whether it holds.
    pub state: VerifiedState,
    /// In words, with the numbers.
    pub detail: String,
    /// Copies too many that the count proves: documents without ids that were sent again after a
    /// lost answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u64,
}

impl Verified {
    /// Without copies.
    pub fn new(state: VerifiedState, detail: String) -> Self {
        Verified { state, detail, duplicates: 0 }
    }
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether the index holds what the counts say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VerifiedState {
    /// It does.
    #[serde(rename = "yes")]
    Yes,
    /// It does not.
    #[serde(rename = "no")]
    No,
    /// That cannot be told, and why.
    #[serde(rename = "not provable")]
    NotProvable,
    /// Nobody asked.
    #[serde(rename = "off")]
    Off,
}

/// What a load changed on its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SettingsReport {
    /// Whether they are as they were.
    pub restored: SettingsRestored,
    /// By the setting's name.
    pub changed: BTreeMap<String, SettingChange>,
    /// In words.
    pub detail: String,
}

impl SettingsReport {
    /// Without changes.
    pub fn new(restored: SettingsRestored, detail: String) -> Self {
        SettingsReport { restored, changed: BTreeMap::new(), detail }
    }
}

/// One setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// What it was; null: not set.
    pub from: Option<String>,
    /// What it was for the time of the load.
    pub to: String,
}

/// Whether the settings of the index are as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettingsRestored {
    /// They were changed and put back.
    #[serde(rename = "yes")]
    Yes,
    /// They were not changed.
    #[serde(rename = "unchanged")]
    Unchanged,
    /// Other loads into the index hold them; the last one puts them back.
    #[serde(rename = "passed on")]
    PassedOn,
    /// They could not be put back. Exit status 4 if nothing worse happened.
    #[serde(rename = "no")]
    No,
}

impl Report {
    /// The exit status of the command line.
    pub fn exit_code(&self) -> u8 {
        self.status.exit_code()
    }
}
