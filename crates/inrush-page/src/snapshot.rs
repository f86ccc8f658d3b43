//! The JSON of the page.
//!
//! A viewer that connects to `/events` gets one event `snapshot` ([`Snapshot`]), then one event
//! `point` ([`Update`]) each second, and one event `end` ([`End`]). After a load was added, all
//! viewers get another `snapshot`, which replaces the one before. `/snapshot` returns the same
//! [`Snapshot`].
//!
//! Times `t` are seconds since the start of their load, with one decimal. A key that is absent has
//! its default: 0, `false`, an empty list, an empty text, or `null`. Texts come from users, servers
//! and documents: a page shows them as text, never as markup.

use std::collections::BTreeMap;

use inrush_core::report::{Counts, ErrorCount};
use inrush_load::SettingChange;
use inrush_sources::Lag;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these types. A page that knows another version asks for a reload.
pub const VERSION: u32 = 1;

/// All that a viewer needs: the event `snapshot`, and `GET /snapshot`.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// [`VERSION`].
    pub version: u32,
    /// The version of inrush.
    pub inrush: &'static str,
    /// Seconds since 1970 at which this snapshot was made. The page shows times by it.
    pub now: f64,
    /// This viewer may pause, resume and stop the loads: `POST /control/pause`, `/control/resume`,
    /// `/control/stop`. Always `false` without a token file.
    pub control: bool,
    /// The loads of this process, in the order of their starts: mostly one, several for a job with
    /// several outputs, the current one for a sweep. Empty before the first one starts.
    pub loads: Vec<LoadSnapshot>,
    /// The segments of the index at the last moment, where the process asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<Value>,
    /// The runs of a sweep so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Value>,
    /// The process has ended its loads. The connection is closed after it.
    pub ended: bool,
}

/// The changes of a second: the event `point`.
#[derive(Clone, Debug, Serialize)]
pub struct Update {
    /// As [`Snapshot::now`].
    pub now: f64,
    /// Changes by load: one element for each load, in the order of [`Snapshot::loads`].
    pub loads: Vec<LoadUpdate>,
    /// New segments of the index. Absent where nothing is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<Value>,
    /// Replaces [`Snapshot::sweep`]. Absent where nothing is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Value>,
}

/// The end of all loads: the event `end`. The connection is closed after it.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// The report of each load, in the order of [`Snapshot::loads`]. `null` where a load ended
    /// without a report.
    pub reports: Vec<Option<Value>>,
}

/// One load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadSnapshot {
    /// What does not change.
    pub start: Start,
    /// The state at the last second.
    pub state: LoadState,
    /// The history, the oldest first: seconds for the last ten minutes, longer intervals before.
    /// Neighbours follow each other without a gap.
    pub points: Vec<Point>,
    /// Changes of the plan by the tuner, the oldest first. The newest 400.
    pub decisions: Vec<PlanMark>,
    /// Changes of encoding and compression. The newest 100.
    pub formats: Vec<FormatMark>,
    /// Phases, pauses included, without a gap. The newest 300. The last one is the current one.
    pub phases: Vec<PhaseMark>,
    /// Incidents: lost requests, refused requests, nodes, limits. The newest 200.
    pub notes: Vec<NoteMark>,
    /// Dead letters by reason, the most frequent first. At most 50; the last one may be `other`.
    pub errors: Vec<ErrorGroup>,
    /// The report of the load, as on stdout with option `json`, once the load has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Value>,
}

/// The changes of one load in a second.
#[derive(Clone, Debug, Serialize)]
pub struct LoadUpdate {
    /// Replaces [`LoadSnapshot::state`].
    pub state: LoadState,
    /// New points, to append to [`LoadSnapshot::points`]. Mostly one. None after the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// New decisions, to append.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<PlanMark>,
    /// New formats, to append.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub formats: Vec<FormatMark>,
    /// Phases that are new or have changed. One with the `t` of a known phase replaces it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseMark>,
    /// Notes that are new or have changed. One with the `t` and `kind` of a known note replaces it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteMark>,
    /// Replaces [`LoadSnapshot::errors`]. Absent where nothing has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<ErrorGroup>>,
    /// The report, in the second in which the load ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Value>,
}

/// The facts of a load at its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Start {
    /// A load, or a comparison of a source with an index.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: Kind,
    /// The name of the load in its job: the index or data stream, or its template.
    pub name: String,
    /// The id in the logs of the cluster.
    pub run_id: String,
    /// Seconds since 1970 at which the load began: the wall clock's time of `t` = 0.
    pub began: f64,
    /// Product and version of the cluster.
    pub cluster: String,
    /// Names of the sources, without credentials. At most 20; see `sources_more`.
    pub sources: Vec<String>,
    /// The number of sources that `sources` leaves out.
    #[serde(skip_serializing_if = "is_default")]
    pub sources_more: usize,
    /// The size of the sources, bytes, where it is known.
    pub bytes_total: Option<u64>,
    /// What chooses the plan: `auto`, `gentle` or `fixed`.
    pub controller: &'static str,
    /// The smallest and the largest body, bytes, that the controller may choose.
    pub batch_bytes: (u64, u64),
    /// The fewest and the most requests in flight that it may choose.
    pub in_flight: (u32, u32),
    /// The most bytes of documents in memory.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_max: u64,
}

/// What a process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// It loads documents, or bakes an index.
    #[default]
    Load,
    /// It compares documents with an index. Settled documents are those that were looked up: equal
    /// ones count as `docs_noop`, missing ones as `docs_not_found`, different ones as
    /// `docs_conflicting`, those that no load could send as `docs_dead_lettered`, and those that
    /// have no ids and are only counted as `docs_dropped`.
    Verify,
}

/// The state of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadState {
    /// Seconds since the start of the load.
    pub t: f64,
    /// The phase in a few words: `starting`, `loading`, `waiting for the source`, `paused`,
    /// `stopping`, `putting settings back`, `refreshing`, `verifying`, a step of the end such as
    /// `force-merge`, `baking`, `done`.
    pub phase: String,
    /// The reason of a pause or stop, or the progress of a step.
    pub why: String,
    /// The load is paused by a request of the user; `resume` ends it.
    pub paused_by_hand: bool,
    /// The counts of the report so far. After the end, those of the report.
    pub counts: Counts,
    /// Documents per second over the last 30 s.
    pub docs_per_second: f64,
    /// Bytes of the sources per second over the last 30 s.
    pub bytes_per_second: f64,
    /// The settled share of the sources, 0 to 1, where their size is known.
    pub share: Option<f64>,
    /// The time left, seconds, by the rate of the last 30 s.
    pub seconds_left: Option<f64>,
    /// Documents that are read and not settled.
    pub docs_waiting: u64,
    /// Rows read from the tables of a query, where rows are no documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_read: Option<u64>,
    /// All rows of these tables, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_total: Option<u64>,
    /// Requests in flight.
    pub in_flight: u32,
    /// The plan: bytes of one request.
    pub plan_batch_bytes: u64,
    /// The plan: requests in flight at most.
    pub plan_in_flight: u32,
    /// Bytes of documents that are in memory and not settled.
    pub memory_bytes: u64,
    /// `json` or `smile`.
    pub encoding: String,
    /// `none`, or `gzip:` and the level.
    pub compression: String,
    /// The nodes that get requests, at most 100.
    pub nodes: Vec<Node>,
    /// The settings guard.
    pub guard: GuardState,
    /// How far the source is behind, for topics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Lag>,
    /// Ids read from the index, for a comparison that looks for documents that no source has.
    #[serde(skip_serializing_if = "is_default")]
    pub ids_read: u64,
    /// The parts of a load that is spread over several processes, those that run first. At most
    /// 100; see `parts_more`. The other figures are the sums of all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The number of parts that `parts` leaves out.
    #[serde(skip_serializing_if = "is_default")]
    pub parts_more: usize,
}

/// A part of a load that is spread over several processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// Its name in the job, such as `partition 3`.
    pub name: String,
    /// The machine that it runs on.
    pub host: String,
    /// As [`LoadState::phase`]; `done` after its end.
    pub phase: String,
    /// Settled documents.
    pub docs: u64,
    /// Documents per second since its last word but one.
    pub docs_per_second: f64,
    /// Dead letters.
    pub dead_lettered: u64,
    /// Documents refused because of load.
    pub rejected: u64,
    /// Requests in flight.
    pub in_flight: u32,
    /// Seconds since its last word. It has one each second, fewer with more than 100 parts.
    pub silent: f64,
}

/// One node. The sums are those since the start of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Node {
    /// The address, without credentials.
    pub name: String,
    /// It answers, as far as the load knows.
    pub healthy: bool,
    /// Requests that ended, retries included.
    pub requests: u64,
    /// Documents that it took, or refused for good.
    pub docs: u64,
    /// Documents that it refused because of load.
    pub rejected: u64,
    /// Requests without an answer.
    pub lost: u64,
    /// The mean time of an answer in the last 60 s, seconds. `null` without an answer.
    pub mean: Option<f64>,
    /// The part of `mean` that the server reports as its own.
    pub took: Option<f64>,
}

/// The settings guard of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GuardState {
    /// `off` (no settings are changed), `changed` (they are changed for the load), or after the
    /// load the word of the report: `yes` (restored), `unchanged`, `passed on`, `no` (not
    /// restored).
    pub state: String,
    /// The changes, by setting.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, SettingChange>,
    /// The changes and the restore, as text.
    #[serde(skip_serializing_if = "is_default")]
    pub detail: String,
}

/// An interval of the history. Absent keys are 0.
///
/// The first group are sums over the interval; a rate is the sum divided by `d`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// The end of the interval.
    pub t: f64,
    /// Its length, seconds.
    pub d: f64,

    /// Settled documents: the sum of the twelve buckets below.
    #[serde(skip_serializing_if = "is_default")]
    pub docs: u64,
    /// By bucket: new in the index.
    #[serde(skip_serializing_if = "is_default")]
    pub created: u64,
    /// Replaced or changed a document.
    #[serde(skip_serializing_if = "is_default")]
    pub updated: u64,
    /// Removed a document.
    #[serde(skip_serializing_if = "is_default")]
    pub deleted: u64,
    /// Updates without a change.
    #[serde(skip_serializing_if = "is_default")]
    pub noop: u64,
    /// Deletes of ids that did not exist.
    #[serde(skip_serializing_if = "is_default")]
    pub not_found: u64,
    /// Already in the index.
    #[serde(skip_serializing_if = "is_default")]
    pub already_there: u64,
    /// Conflicts that were left out.
    #[serde(skip_serializing_if = "is_default")]
    pub conflicting: u64,
    /// Dropped by a pipeline, or ids without a record.
    #[serde(skip_serializing_if = "is_default")]
    pub dropped: u64,
    /// In the failure store.
    #[serde(skip_serializing_if = "is_default")]
    pub redirected: u64,
    /// Not sent, because a later document with the same id was.
    #[serde(skip_serializing_if = "is_default")]
    pub superseded: u64,
    /// Dead letters.
    #[serde(skip_serializing_if = "is_default")]
    pub dead_lettered: u64,
    /// Without an answer.
    #[serde(skip_serializing_if = "is_default")]
    pub unknown: u64,
    /// Bytes read from the sources, before decompression.
    #[serde(skip_serializing_if = "is_default")]
    pub read: u64,
    /// Bytes of request bodies as sent, retries included.
    #[serde(skip_serializing_if = "is_default")]
    pub sent: u64,
    /// Requests that were sent, retries included.
    #[serde(skip_serializing_if = "is_default")]
    pub req: u64,
    /// Items refused because of load.
    #[serde(skip_serializing_if = "is_default")]
    pub rejected: u64,
    /// Items that were sent again.
    #[serde(skip_serializing_if = "is_default")]
    pub retried: u64,
    /// Requests without an answer.
    #[serde(skip_serializing_if = "is_default")]
    pub lost: u64,
    /// Answers that `wall` and `took` are sums over. The mean latency is `wall / ans`.
    #[serde(skip_serializing_if = "is_default")]
    pub ans: u64,
    /// The time of these answers, from the first byte sent to the last byte received, seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub wall: f64,
    /// The part of `wall` that the servers report as their own. The rest is network, queues and
    /// this process.
    #[serde(skip_serializing_if = "is_default")]
    pub took: f64,
    /// The longest single answer, seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub max: f64,

    /// The most bytes of documents in memory.
    #[serde(skip_serializing_if = "is_default")]
    pub mem: u64,
    /// Requests in flight, the mean.
    #[serde(skip_serializing_if = "is_default")]
    pub fly: f64,
    /// The plan at the end of the interval: bytes of one request.
    #[serde(skip_serializing_if = "is_default")]
    pub plan_bytes: u64,
    /// The plan at the end of the interval: requests in flight.
    #[serde(skip_serializing_if = "is_default")]
    pub plan_fly: u32,
    /// Records behind at the end of the interval, for topics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
}

/// A change of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanMark {
    /// When.
    pub t: f64,
    /// Bytes of one request before.
    pub from_bytes: u64,
    /// Requests in flight before.
    pub from_fly: u32,
    /// Bytes of one request from now on.
    pub bytes: u64,
    /// Requests in flight from now on.
    pub fly: u32,
    /// The reason, with its figures.
    pub why: String,
}

/// A change of encoding and compression.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FormatMark {
    /// When.
    pub t: f64,
    /// The format before, such as `json` or `smile gzip:1`.
    pub from: String,
    /// The format from now on.
    pub to: String,
    /// The reason, with its figures.
    pub why: String,
    /// The server does not accept the old format.
    pub forced: bool,
}

/// A phase, or a pause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhaseMark {
    /// The begin.
    pub t: f64,
    /// The end. `null` for the current one.
    pub until: Option<f64>,
    /// As [`LoadState::phase`].
    pub phase: String,
    /// The step of a bake, such as `restore`.
    #[serde(skip_serializing_if = "is_default")]
    pub step: String,
    /// The kind of a pause, as in `pauses` of the report, such as `disk_high` or `by_hand`.
    #[serde(skip_serializing_if = "is_default")]
    pub pause: String,
    /// The reason of a pause or stop, or the last progress of a step.
    #[serde(skip_serializing_if = "is_default")]
    pub why: String,
}

/// An incident.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NoteMark {
    /// The first time.
    pub t: f64,
    /// `lost`, `retried`, `limited` (smaller bodies), `resent` (a shard restarted), `node_down`,
    /// `node_up`, `source` (the source failed).
    pub kind: &'static str,
    /// The incident, as text.
    pub text: String,
    /// How often it happened in a row.
    pub times: u64,
    /// The last time.
    pub last: f64,
}

/// Dead letters with the same reason. The sums agree with `errors` of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorGroup {
    /// Status, type, first reason and number.
    #[serde(flatten)]
    pub error: ErrorCount,
    /// The first documents, at most 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// A dead letter as an example.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Example {
    /// The name of its source.
    pub source: String,
    /// Its line or row, from 1. Absent where the source has none.
    #[serde(skip_serializing_if = "is_default")]
    pub line: u64,
    /// Its own reason, at most 500 bytes.
    pub reason: String,
    /// The beginning of the document, at most 300 bytes.
    pub document: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
