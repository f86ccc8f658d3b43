//! The report of a load.

mod cutover;
mod merge;
mod since;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use cutover::{FinishReport, NewIndexReport, OldIndex, OldWritesReport, StepReport, SwapReport};
use inrush_cluster::api::stats::IndexStats;
use inrush_core::report::{Counts, ErrorCount, IndexCounts};
use inrush_core::tune::Learned;
use inrush_core::{Code, Encoding, PauseTotal};
pub use inrush_guard::{SettingChange, SettingsReport, SettingsRestored};
use inrush_sources::{Lag, Warning};
use serde::{Deserialize, Serialize};
pub use since::SinceReport;

use crate::tolerance::ToleranceReport;

/// The result of a load. In JSON the counts are at the top level.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// How the load ended.
    pub status: Status,
    /// Time (UTC) at which an earlier run of the same load with `once` ended. The report is that
    /// run's. This run read and sent nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_before: Option<String>,
    /// Why the load ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Kind of the failure, for programs and for `inrush explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<Code>,
    /// The sums. `docs_read` is the sum of the buckets. For a resumed load they cover all its runs,
    /// with each document once.
    #[serde(flatten)]
    pub counts: Counts,
    /// Seconds from the first request to the cluster to the end. Earlier runs count up to their
    /// last checkpoint.
    pub seconds: f64,
    /// Documents that this run read for each second between its first document and its last reply,
    /// without pauses. For a source that never ends, `source_idle_seconds` are left out as well.
    pub docs_per_second: f64,
    /// The part of this run in a resumed load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub this_run: Option<ThisRun>,
    /// The checkpoint for `resume`, where documents are left to load. None where a source changed
    /// while it was read: that load starts from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "inrush_sources::path_json::shown")]
    pub checkpoint: Option<PathBuf>,
    /// The plan at the end of the run.
    pub plan: PlanReport,
    /// Whether the index holds the counted documents.
    pub verified: Verified,
    /// The result of the tolerance, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<ToleranceReport>,
    /// Settings that the load changed, and whether they are restored.
    pub settings: SettingsReport,
    /// Steps after the last document.
    pub finish: FinishReport,
    /// The swap of the alias, where one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<SwapReport>,
    /// Where the mapping and the settings of the new index come from, where the load makes one for
    /// an alias or a copy of an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_index: Option<NewIndexReport>,
    /// The rows that were read, with option `since`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceReport>,
    /// Counts by index that got documents.
    pub indices: BTreeMap<String, IndexCounts>,
    /// Sizes before and after, by index that got documents in this or an earlier run. Absent where
    /// the user may not read them.
    pub sizes: BTreeMap<String, IndexSizes>,
    /// Pauses of sending by reason. Part of `seconds`, and not of the divisor of `docs_per_second`.
    /// Of this run only.
    pub pauses: Vec<PauseTotal>,
    /// Seconds in which the source had no documents and all earlier ones were settled. Part of
    /// `seconds`. Of this run only.
    #[serde(default)]
    pub source_idle_seconds: f64,
    /// How far the source was behind at the end, for topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,
    /// Errors of dead letters by kind, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// The dead-letter file, where the load wrote one.
    #[serde(serialize_with = "inrush_sources::path_json::shown")]
    pub dead_letters: Option<PathBuf>,
    /// The topic with the dead letters, where the load wrote one to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter_topic: Option<String>,
    /// Ids of documents to delete that were not in the index, the first 100 of this run.
    #[serde(default)]
    pub not_found_ids: Vec<String>,
    /// Findings for a person to read.
    pub warnings: Vec<String>,
    /// The same for a program, in the same order.
    #[serde(default)]
    pub warning_details: Vec<WarningDetail>,
    /// The sources.
    pub sources: Vec<SourceReport>,
    /// Name of the run in the cluster's logs: requests carry `X-Opaque-Id: inrush-<run
    /// id>-<number>`.
    pub run_id: String,
}

impl Report {
    /// The report of a load without documents, for the tests of a program that shows reports.
    pub fn new(run_id: String, status: Status, plan: PlanReport, verified: Verified, settings: SettingsReport) -> Self {
        Report {
            status,
            ended_before: None,
            failure: None,
            failure_code: None,
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
            new_index: None,
            since: None,
            indices: BTreeMap::new(),
            sizes: BTreeMap::new(),
            pauses: Vec::new(),
            source_idle_seconds: 0.0,
            lag: None,
            errors: Vec::new(),
            dead_letters: None,
            dead_letter_topic: None,
            not_found_ids: Vec::new(),
            warnings: Vec::new(),
            warning_details: Vec::new(),
            sources: Vec::new(),
            run_id,
        }
    }
}

impl Report {
    /// Kind of the problem, as its error has it: `None` where all documents were indexed.
    pub fn code(&self) -> Option<Code> {
        match self.status {
            Status::Complete => None,
            Status::Incomplete => Some(Code::DocumentsNotIn),
            Status::CheckFailed if self.finish.failure.is_some() => Some(Code::StepFailed),
            Status::CheckFailed if self.verified.state == VerifiedState::No => Some(Code::CountDiffers),
            Status::CheckFailed => Some(match self.settings.restored {
                SettingsRestored::No => Code::SettingsNotRestored,
                // The alias stays, because another load has the settings of the new index.
                SettingsRestored::PassedOn => Code::StepFailed,
                // A bake is complete, and has left something behind.
                _ => Code::NotCleanedUp,
            }),
            Status::Failed => Some(self.failure_code.unwrap_or(Code::Failed)),
            Status::Interrupted => Some(Code::Interrupted),
        }
    }
}

/// A warning, for a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WarningDetail {
    /// Its kind, such as `replaced_characters`. `load` where it is about the load as a whole.
    pub code: String,
    /// The source that it is about: a path, `-` or URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The column or field that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Number of occurrences.
    pub count: u64,
    /// The same text as in [`Report::warnings`].
    pub text: String,
}

impl WarningDetail {
    /// A warning about the load as a whole.
    pub fn of_load(text: String) -> Self {
        WarningDetail { code: "load".to_owned(), source: None, column: None, count: 1, text }
    }

    /// A warning with a code about the load as a whole.
    pub(crate) fn coded(code: Code, text: String) -> Self {
        WarningDetail { code: code.to_string(), ..Self::of_load(text) }
    }

    /// A warning of a source.
    pub(crate) fn of_source(warning: &Warning) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        WarningDetail {
            code: warning.kind.to_owned(),
            source: some(&warning.source),
            column: some(&warning.column),
            count: warning.count,
            text: warning.to_string(),
        }
    }
}

impl Report {
    /// Sets the warnings, with the details of those that the report has already.
    pub fn set_warnings(&mut self, texts: Vec<String>) {
        let known = std::mem::take(&mut self.warning_details);
        let detail = |text: &String| known.iter().find(|detail| detail.text == *text).cloned();
        self.warning_details =
            texts.iter().map(|text| detail(text).unwrap_or_else(|| WarningDetail::of_load(text.clone()))).collect();
        self.warnings = texts;
    }
}

/// The part of the last run in a resumed load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThisRun {
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Duration of the run.
    pub seconds: f64,
}

/// Size of an index before and after the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSizes {
    /// Size before the first document. Null where it was not read, as for an index that a rollover
    /// created.
    pub before: Option<IndexStats>,
    /// Size after the verification.
    pub after: Option<IndexStats>,
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All documents are indexed, left out as configured, or missing within the tolerance. Exit
    /// status 0.
    Complete,
    /// The load ended, and some documents are not indexed. Exit status 3.
    Incomplete,
    /// All documents are indexed, but a check failed. Exit status 4.
    CheckFailed,
    /// The load could not continue. Exit status 1.
    Failed,
    /// The caller stopped the load. Exit status 130.
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

/// The plan at the end, and its reasons.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReport {
    /// Bytes of one request's body.
    pub batch_bytes: u64,
    /// Documents in one request. Absent where only bytes limit a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_docs: Option<u32>,
    /// Requests in flight at once.
    pub in_flight: u32,
    /// The reason for the plan, as text.
    pub why: String,
    /// Encoding of documents at the end, `json` or `smile`.
    pub encoding: Encoding,
    /// Compression of bodies at the end, `none`, or `gzip:` and the level.
    pub compression: String,
    /// The reason for the encoding and compression, as text.
    pub wire_why: String,
    /// What the load began with. Absent where the plan was fixed, and for loads that learn nothing
    /// for later ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartReport>,
    /// What a later load may begin with, for option `learned`. Absent where too little was
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// What a load began with, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StartReport {
    /// The origin of the first plan.
    pub from: StartFrom,
    /// Bytes of one request's body at the start.
    pub batch_bytes: u64,
    /// Requests in flight at once at the start.
    pub in_flight: u32,
    /// Time (UTC) at which the earlier load ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_at: Option<String>,
    /// What the first requests showed. Absent for a start with the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<StartOutcome>,
    /// The reason for the origin or the outcome, as text. May be empty.
    pub detail: String,
}

/// The origin of the first plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartFrom {
    /// The values that every load without a memory begins with.
    #[serde(rename = "defaults")]
    Defaults,
    /// An earlier load, by the state folder.
    #[serde(rename = "earlier load")]
    EarlierLoad,
    /// The caller, by option `learned`.
    #[serde(rename = "given")]
    Given,
}

/// What the first requests of a load said about what an earlier load had learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartOutcome {
    /// They confirmed it.
    #[serde(rename = "held")]
    Held,
    /// They contradicted it, and the load began again with the defaults.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// They were too few, or the source was the limit.
    #[serde(rename = "unchecked")]
    Unchecked,
}

/// Position up to which all documents of one source are settled. A later run continues there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceReport {
    /// A path, `-` or a URL.
    pub name: String,
    /// Documents from the beginning of the source that are settled without a gap.
    pub docs_settled: u64,
}

/// The result of the verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Whether the index holds the counted documents.
    pub state: VerifiedState,
    /// The numbers, as text.
    pub detail: String,
    /// Duplicates that the count proves: documents without ids that were sent again after a lost
    /// answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Whether the documents have the vectors that they were sent with, by the path of the field.
    /// Empty where the index has no field for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vectors: BTreeMap<String, VerifiedVectors>,
}

impl Verified {
    /// A result without duplicates.
    pub fn new(state: VerifiedState, detail: String) -> Self {
        Verified { state, detail, duplicates: 0, vectors: BTreeMap::new() }
    }
}

/// The result of the verification of one field with vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VerifiedVectors {
    /// Whether as many documents have a vector as were sent with one.
    pub state: VerifiedState,
    /// Documents of the index that have one. Absent where they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// Documents that must have one. Absent where that is not one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// The comparison, as text.
    pub detail: String,
}

impl VerifiedVectors {
    /// A result without numbers, and its reason.
    pub(crate) fn not_provable(detail: String) -> Self {
        VerifiedVectors { state: VerifiedState::NotProvable, found: None, expected: None, detail }
    }
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether the index holds the counted documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VerifiedState {
    /// The index holds them.
    #[serde(rename = "yes")]
    Yes,
    /// The index does not hold them.
    #[serde(rename = "no")]
    No,
    /// The count can prove neither. The detail says why.
    #[serde(rename = "not provable")]
    NotProvable,
    /// The verification was off.
    #[serde(rename = "off")]
    Off,
}

impl Report {
    /// The exit status of the command line.
    pub fn exit_code(&self) -> u8 {
        self.status.exit_code()
    }
}
