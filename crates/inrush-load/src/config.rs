//! Typed options of one load. The command line, a job file and the Python package all produce a
//! [`LoadConfig`]. No code behind it parses text again.

mod check;
mod cutover;
mod size;

use std::path::PathBuf;
use std::time::Duration;

use inrush_cluster::api::history::Mark;
use inrush_cluster::transport::{Credentials, TlsOptions};
pub use inrush_core::rate::Rate;
use inrush_core::retry::RetryPolicy;
pub use inrush_core::tune::Gentle;
use inrush_core::tune::{Bounds, Fixed, GentleTuner, Learned, Plan, RememberingTuner, Tuner};
use inrush_core::{Action, FieldPath, IndexTemplate, Operations, Shaping};
pub use inrush_core::{Coalesce, Compression, Encoding, GzipLevel};
pub use inrush_core::{MaxErrors, OnConflict};
use inrush_sources::{CHUNK_BYTES, SourceInfo};

pub use self::cutover::{FinishConfig, GraphTime, OldWrites, SwapConfig, WaitFor};
pub use self::size::exact_size;
use crate::report::WarningDetail;
use crate::told::Told;
pub use crate::tolerance::Tolerance;

/// Options of one load: its cluster, index, limits and finish.
#[derive(Clone, Debug)]
pub struct LoadConfig {
    /// Nodes of the cluster, at least one.
    pub to: Vec<String>,
    /// Credentials for the cluster. Default: none.
    pub credentials: Credentials,
    /// Trusted certificate authorities and the client certificate. Default: the system's roots.
    pub tls: TlsOptions,
    /// Index, alias or data stream. It may hold `{field}` placeholders. With a swap, it is the new
    /// index ([`SwapConfig`]).
    pub index: IndexTemplate,
    /// Action of each document. Default: `index`, or `create` for a data stream.
    pub action: Action,
    /// Field that holds the id. Default: none, and the cluster assigns ids.
    pub id: Option<FieldPath>,
    /// Origin of ids other than a field. It excludes `id`. Default: none.
    pub id_from: Option<IdFrom>,
    /// Field that holds the routing value. Default: none.
    pub routing: Option<FieldPath>,
    /// Field that holds the external version. Default: none.
    pub version: Option<FieldPath>,
    /// Ingest pipeline. Default: none.
    pub pipeline: Option<String>,
    /// Time for which an operation waits for later ones with the same id. Only the last one is
    /// sent. Default: none, and all operations are sent.
    pub coalesce: Option<Coalesce>,
    /// Changes of each document before it is sent. Default: none.
    pub shaping: Shaping,
    /// Mapping and settings of an index that the load creates.
    pub create: IndexCreation,
    /// Meaning of a 409 that no earlier attempt of this load caused. Default: `fail`.
    pub on_conflict: OnConflict,
    /// Sizes, limits and timeouts.
    pub limits: Limits,
    /// Dead-letter file. Default: `inrush-dead-letters-<run id>.ndjson` in the working directory.
    /// The first dead letter creates it.
    pub dead_letters: DeadLetters,
    /// Number or share of dead letters that ends the load. Default: all of the first 10,000
    /// documents.
    pub max_errors: MaxErrors,
    /// Number or share of documents that may be missing from a complete load. It applies to the
    /// status and to the swap of an alias. Default: none.
    pub tolerate: Option<Tolerance>,
    /// Accepts a source without a document: the load may then delete an index, or move an alias to
    /// an index without documents. Default: false.
    pub allow_empty: bool,
    /// Ends a load with a warning as [`crate::Status::CheckFailed`], and moves no alias. Default:
    /// false.
    pub fail_on_warning: bool,
    /// File for the tuner's measurements and decisions, read by `inrush-testbed replay`. Default:
    /// none.
    pub trace: Option<PathBuf>,
    /// Refreshes the index at the end, counts its documents and compares the count. Default: true.
    pub verify: bool,
    /// Address of the cluster behind a managed `_bulk` endpoint, where documents are counted.
    /// Default: for Elastic's ingest hosts that of the same project.
    pub count_at: Option<String>,
    /// Parts of a bulk reply that the cluster sends ([`Replies`]). Default: one entry for each
    /// document.
    pub replies: Replies,
    /// Encoding of documents. Default: measured during the load, which begins with JSON. SMILE has
    /// to be clearly faster, because servers store it as it comes and convert it at each read. A
    /// cluster that does not accept SMILE gets JSON.
    pub encoding: Option<Encoding>,
    /// Compression of request bodies. Default: measured during the load, which begins without
    /// compression. A cluster that does not accept compressed bodies gets plain ones.
    pub compression: Option<Compression>,
    /// Shards that one request writes to. Default: `auto`.
    pub bulk_routing: BulkRouting,
    /// Also takes the values of documents beside their text, where the source has them in columns.
    /// Only a server in this process gets them. Default: false.
    #[doc(hidden)]
    pub columns: bool,
    /// Point at which a document is settled. Default: when the cluster acknowledges it.
    pub durability: Durability,
    /// Settings of the index that the load changes while it runs.
    pub guard: GuardConfig,
    /// Steps after the last document.
    pub finish: FinishConfig,
    /// Continues although a policy (ILM, ISM) of the index will soon make it read-only, shrink or
    /// delete it. Default: false, and the load refuses to begin.
    pub under_policy: bool,
    /// Folder for checkpoints. Default: none, and an interrupted load cannot be resumed.
    pub state: Option<StateFolder>,
    /// What the load takes from earlier loads, and leaves to later ones. Default: in the state
    /// folder.
    pub learning: Learning,
    /// Resumes the interrupted load. It needs `state`, a checkpoint there, and the same options and
    /// sources. Default: false.
    pub resume: bool,
    /// Loads the sources exactly once, however often the same load is started. A start begins the
    /// load, resumes an interrupted one, or returns the report of the finished one. It needs
    /// `state`. Default: false.
    pub once: bool,
    /// Warnings that are known before the load.
    #[doc(hidden)]
    pub told: Told,
}

impl LoadConfig {
    /// Operation for every document.
    pub(crate) fn operations(&self, action: Action) -> Operations {
        Operations {
            routing: self.routing.clone(),
            version: self.version.clone(),
            shaping: self.shaping.clone(),
            ..Operations::new(action, self.index.clone(), self.id.clone())
        }
    }

    /// Whether all documents of a source have ids.
    pub(crate) fn has_ids(&self, source: &SourceInfo) -> bool {
        self.id.is_some() || self.id_from.is_some() || source.has_ids
    }

    /// Default options for a load into `index` of the cluster with the nodes `to`.
    pub fn new(to: Vec<String>, index: IndexTemplate) -> Self {
        LoadConfig {
            to,
            credentials: Credentials::None,
            tls: TlsOptions::default(),
            index,
            action: Action::Index,
            id: None,
            id_from: None,
            routing: None,
            version: None,
            pipeline: None,
            coalesce: None,
            shaping: Shaping::default(),
            create: IndexCreation::default(),
            on_conflict: OnConflict::Fail,
            limits: Limits::default(),
            dead_letters: DeadLetters::default(),
            max_errors: MaxErrors::default(),
            tolerate: None,
            allow_empty: false,
            fail_on_warning: false,
            trace: None,
            verify: true,
            count_at: None,
            replies: Replies::Items,
            encoding: None,
            compression: None,
            bulk_routing: BulkRouting::Auto,
            columns: false,
            durability: Durability::Request,
            guard: GuardConfig::default(),
            finish: FinishConfig::default(),
            under_policy: false,
            state: None,
            learning: Learning::Kept,
            resume: false,
            told: Told::default(),
            once: false,
        }
    }

    /// Largest number of bytes of documents that are read and not settled: those in flight, and
    /// half as many that are read meanwhile. Without this extra half, requests would leave before
    /// they are full as soon as all of the memory is in flight, and the tuner would learn nothing
    /// about the cluster. Documents that wait for a flush already leave that room.
    pub(crate) fn buffered_bytes_max(&self) -> u64 {
        let memory = self.limits.memory as u64;
        match self.durability {
            Durability::Async => memory,
            _ => memory.saturating_add(memory / 2),
        }
    }

    /// Limits of requests. Documents that wait for a flush get half of the memory.
    pub(crate) fn sending_limits(&self) -> Limits {
        let mut limits = self.limits.clone();
        if self.durability == Durability::Async {
            limits.memory /= 2;
        }
        limits
    }
}

/// What a load takes from earlier loads into the same index, and leaves to later ones: the plan,
/// and the encoding and compression. It applies where neither the size nor the number of requests
/// is fixed, and without [`Limits::gentle`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Learning {
    /// In the state folder of [`LoadConfig::state`]. Without one, nothing is kept.
    #[default]
    Kept,
    /// The load begins without it, and replaces what is in the state folder.
    Anew,
    /// The load begins with this, or without anything. The state folder is not used for it.
    Given(Option<Learned>),
}

/// Shards that the documents of one request go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BulkRouting {
    /// Behaves like `OneShard` where documents have ids or routing values and `to` names several
    /// nodes with primary shards, and sends each request to the shard's node. Otherwise it behaves
    /// like `Spread`. It stores no routing value of its own.
    #[default]
    Auto,
    /// Each request goes to all shards, in the order of the documents.
    Spread,
    /// Each request goes to one shard. Documents with ids or routing values are grouped by shard.
    /// Documents without them get one routing value for the whole request, for each shard in turn.
    /// **The cluster stores that value**, and a get, update or delete by id needs it. One batch for
    /// each shard is filled at a time, which costs memory. It needs one index that does not roll
    /// over.
    OneShard,
}

impl BulkRouting {
    /// Value of the option `bulk_routing`.
    pub const fn name(self) -> &'static str {
        match self {
            BulkRouting::Auto => "auto",
            BulkRouting::Spread => "spread",
            BulkRouting::OneShard => "one-shard",
        }
    }
}

/// Point at which a document is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The cluster acknowledged the document. With the servers' default,
    /// `index.translog.durability: request`, it is then on the disks of all copies. The index keeps
    /// its own setting.
    #[default]
    Request,
    /// A flush made the document durable on all copies. The load sets the index to `async`, so that
    /// the cluster acknowledges before it syncs. After the restart of a shard, documents that were
    /// acknowledged and not flushed are sent again, so their bytes are kept. A flush is sent when
    /// they fill a quarter of `memory`, and every 5 s. It needs one index, and no data stream.
    Async,
}

impl Durability {
    /// Value of the option `durability`.
    pub const fn name(self) -> &'static str {
        match self {
            Durability::Request => "request",
            Durability::Async => "async",
        }
    }
}

/// Changes of the index's settings during a load. The load records them first and restores them at
/// the end. By default they depend on the size of the job: see
/// `inrush_core::settings_guard::policy::wanted`. They apply only where all documents go to one
/// index. For a data stream or an alias that rolls over, they apply to each index that is written
/// to.
#[derive(Clone, Debug, Default)]
pub struct GuardConfig {
    /// Changes no setting, and writes only documents to the cluster. Such a load and other loads
    /// into the same index do not know of each other. Default: false.
    pub leave_settings: bool,
    /// Removes the replicas during a load of any size. Default: false.
    pub replicas_off: bool,
    /// The user confirmed `replicas_off` for an index that holds documents. The index must be
    /// green.
    pub replicas_off_confirmed: bool,
    /// Folder for a record of the changes, besides the record in the cluster. Default: `inrush` in
    /// the XDG state folder.
    pub state: Option<PathBuf>,
}

/// Creation of an index that does not exist.
#[derive(Clone, Debug, Default)]
pub struct IndexCreation {
    /// The body of `mappings`.
    pub mapping: Option<serde_json::Value>,
    /// The body of `settings`.
    pub settings: Option<serde_json::Value>,
    /// `number_of_shards`.
    pub shards: Option<u32>,
    /// `number_of_replicas`.
    pub replicas: Option<u32>,
    /// Takes nothing of another index: with a swap, not the mapping and settings of the index that
    /// is replaced. Default: false.
    pub anew: bool,
    /// Name of the index that `mapping` is taken from. Default: none, and the user gave it.
    pub mapping_of: Option<String>,
    /// Name of the index that `settings` are taken from. Default: none, and the user gave them.
    pub settings_of: Option<String>,
    /// What a load writes into the mapping of an index that it makes for an alias.
    pub mark: Option<Mark>,
    /// Findings about mapping and settings, for the report.
    pub notes: Vec<String>,
    /// Fields that are vectors in the documents that `mapping` was inferred from. They get the type
    /// that the cluster has for them. Default: none.
    pub vectors: Vec<inrush_core::vectors::SeenVector>,
    /// Names of the fields with numbers beyond a long, the same way. They are `unsigned_long` where
    /// the cluster has that type. Default: none.
    pub unsigned: Vec<Vec<String>>,
    /// Warnings about a `mapping` that was inferred from documents, for an index that is made with
    /// it. Default: none, and it was not inferred.
    pub inferred: Option<Vec<WarningDetail>>,
    /// Deletes the index first. The caller has asked the user before it sets this. Default: false.
    pub recreate: bool,
    /// Settings and mappings by index pattern (`*` matches any text); the first match wins. They
    /// are for an index name with placeholders.
    pub patterns: Vec<IndexPattern>,
}

/// Settings and mapping of the indices whose names match a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPattern {
    /// A name in which `*` stands for any text.
    pub pattern: String,
    /// The body of `mappings`.
    pub mapping: Option<serde_json::Value>,
    /// The body of `settings`.
    pub settings: Option<serde_json::Value>,
    /// `number_of_shards`.
    pub shards: Option<u32>,
    /// `number_of_replicas`.
    pub replicas: Option<u32>,
}

/// Sizes, limits and timeouts. Documents in flight take at most `memory` bytes, and `batch_bytes x
/// in_flight` never exceeds it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one request's body as JSON, before compression. Default: tuned between 64 KiB and
    /// 64 MiB. A larger document travels alone.
    pub batch_bytes: Option<usize>,
    /// Documents in one request. Default: limited by bytes only.
    pub batch_docs: Option<u32>,
    /// Requests in flight at once, including those that wait for a retry. Default: tuned between 1
    /// and 256.
    pub in_flight: Option<u32>,
    /// Bounds on the growth of search latency and on rejections, which take precedence over speed.
    /// Default: none.
    pub gentle: Option<Gentle>,
    /// Highest rate of sending. Default: none.
    pub max_rate: Option<Rate>,
    /// Longest time that documents wait for a full batch while the source is slow. Default: 1 s.
    pub linger: Duration,
    /// Bytes of documents in flight. A document in SMILE takes its space twice, because its JSON is
    /// kept. Default: 64 MiB.
    pub memory: usize,
    /// Bytes of the largest document. A larger one becomes a dead letter. Default: 100 MiB, the
    /// servers' `http.max_content_length`.
    pub document_bytes_max: usize,
    /// Timeout of one request. Default: 120 s.
    pub request_timeout: Duration,
    /// Time for which one batch is retried. Default: 10 min.
    pub retry_for: Duration,
    /// Retries of one batch in a row that index none of its documents. Attempts that reach no
    /// server do not count. Default: 20.
    pub retries: u32,
    /// Wait before the first retry of a batch. Each further wait is twice as long, up to 30 s.
    /// Default: 100 ms.
    pub retry_wait: Duration,
    /// Longest pause because of a condition of the written indices: a write block, the flood stage,
    /// a missing primary shard, or a disk above its high watermark. After it the load stops and can
    /// be resumed. A pause requested by the caller has no limit. Default: 10 min, the same as
    /// `retry_for`.
    pub pause_max: Duration,
    /// Interval between checks of those indices for missing primary shards and disks above their
    /// high watermark. Default: 10 s.
    pub health_every: Duration,
    /// Time from a stop to the end of the load. Requests in flight get most of it. What follows
    /// them gets the rest: the last commit or checkpoint, the restore of settings, and the count.
    /// A load that fails waits as long for its requests in flight. Default: 25 s, less than the
    /// 30 s that Kubernetes gives a container.
    pub grace: Duration,
    /// Threads that read and encode. Default: the number of cores, at most 8.
    pub workers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            batch_bytes: None,
            batch_docs: None,
            in_flight: None,
            gentle: None,
            max_rate: None,
            linger: Duration::from_secs(1),
            memory: 64 << 20,
            document_bytes_max: 100 << 20,
            request_timeout: Duration::from_secs(120),
            retry_for: Duration::from_secs(600),
            retries: 20,
            retry_wait: Duration::from_millis(100),
            pause_max: Duration::from_secs(600),
            health_every: Duration::from_secs(10),
            grace: Duration::from_secs(25),
            workers: std::thread::available_parallelism().map_or(2, usize::from).min(8),
        }
    }
}

impl Limits {
    /// The limits of retries: of a batch, and of each request before the first document and at the
    /// end.
    pub fn retry(&self) -> RetryPolicy {
        RetryPolicy {
            retries: self.retries,
            retry_for: self.retry_for,
            first_wait: self.retry_wait,
            ..RetryPolicy::default()
        }
    }

    /// Bytes of one read.
    pub(crate) fn chunk_bytes(&self) -> usize {
        CHUNK_BYTES.min(self.batch_bytes.unwrap_or(CHUNK_BYTES))
    }

    /// Bounds of the tuner for a cluster that accepts requests of up to `body_bytes_max` bytes.
    pub(crate) fn bounds(&self, body_bytes_max: Option<u64>) -> Bounds {
        let batch = self.batch_bytes.map(|bytes| bytes as u64);
        let memory = (self.memory as u64).max(1);
        let most = memory.min(body_bytes_max.unwrap_or(u64::MAX));
        // More requests in flight leave less memory for each body.
        let least = BATCH_BYTES_MIN.min(memory / u64::from(self.in_flight.unwrap_or(1))).min(most).max(1);
        Bounds {
            batch_bytes: batch.map_or((least, BATCH_BYTES_MAX.min(most)), |b| (b, b)),
            batch_docs: self.batch_docs.unwrap_or(u32::MAX),
            in_flight: self.in_flight.map_or((1, IN_FLIGHT_MAX), |n| (n, n)),
            memory,
        }
    }

    /// Name of the controller that decides on the plan.
    pub(crate) fn controller(&self) -> &'static str {
        match (self.batch_bytes, self.in_flight, self.gentle) {
            (Some(_), Some(_), _) => "fixed",
            (_, _, Some(_)) => "gentle",
            _ => "auto",
        }
    }

    /// Whether the load tunes both values, and so learns something for later loads.
    pub(crate) fn learns(&self) -> bool {
        self.batch_bytes.is_none() && self.in_flight.is_none() && self.gentle.is_none()
    }

    /// Controller of the plan: fixed values where both are given, otherwise a tuner. `learned` is
    /// what it begins with.
    pub(crate) fn tuner(&self, body_bytes_max: Option<u64>, learned: Option<&Learned>) -> Box<dyn Tuner> {
        match (self.batch_bytes, self.in_flight) {
            (Some(bytes), Some(in_flight)) => Box::new(Fixed(Plan {
                batch_bytes: bytes as u64,
                batch_docs: self.batch_docs.unwrap_or(u32::MAX),
                in_flight,
            })),
            _ => {
                let bounds = self.bounds(body_bytes_max);
                match self.gentle {
                    Some(gentle) => Box::new(GentleTuner::new(bounds, gentle)),
                    None => Box::new(RememberingTuner::new(bounds, learned)),
                }
            }
        }
    }
}

/// Smallest body that the tuner tries, bytes.
const BATCH_BYTES_MIN: u64 = 64 << 10;
/// Largest body that the tuner tries, bytes.
const BATCH_BYTES_MAX: u64 = 64 << 20;
/// Largest number of requests in flight that the tuner tries.
const IN_FLIGHT_MAX: u32 = 256;

/// Origin of ids for documents without any. Both origins give the same id each time, so a document
/// that is sent twice is stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdFrom {
    /// The source's name as it was given, the partition, and the document's number in it. Another
    /// name gives other ids. A source without a fixed order is refused.
    Position,
    /// The document's bytes: 128 bits of their SHA-256, and the number of equal documents before
    /// it, so that each of several equal documents is kept. Two different documents share an id
    /// with a probability below n^2 / 2^129, even if they were crafted to collide: 10^-21 for a
    /// billion documents. It costs about 20 to 40 bytes of memory for each different document of
    /// the job.
    Content,
}

impl IdFrom {
    /// Value of the option `id_from`.
    pub const fn name(self) -> &'static str {
        match self {
            IdFrom::Position => "position",
            IdFrom::Content => "content",
        }
    }
}

/// Folder for checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder {
    /// Path of the folder. A load creates it, with a folder `checkpoints` in it.
    pub path: PathBuf,
    /// An unusable folder is an error. Otherwise it is a warning, and there are no checkpoints.
    pub required: bool,
    /// Longest interval between checkpoints while documents settle. After a crash about as much is
    /// sent again. Each checkpoint takes a few milliseconds of the disk, beside the load. Default:
    /// 1 s.
    pub every: Duration,
    /// Interval of the heartbeat that a load with `once` writes to the cluster. A run that finds an
    /// unfinished load waits for three intervals. Default: 10 s.
    pub heartbeat_every: Duration,
}

impl StateFolder {
    /// A required folder, with a checkpoint every second.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        StateFolder {
            path: path.into(),
            required: true,
            every: Duration::from_secs(1),
            heartbeat_every: Duration::from_secs(10),
        }
    }
}

/// Place of the dead-letter file.
#[derive(Clone, Debug, Default)]
pub enum DeadLetters {
    /// `inrush-dead-letters-<run id>.ndjson` in the working directory. The first dead letter
    /// creates it.
    #[default]
    DefaultFile,
    /// A file with the default name in this folder.
    Folder(PathBuf),
    /// This file. It must not exist, or must be empty.
    File(PathBuf),
}

/// Parts of a bulk reply that the cluster sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// One entry for each document, with all details.
    #[default]
    Items,
    /// Only `took` and `errors`. `errors: false` means that all documents are indexed. A request
    /// with errors is sent again with `Items`, so documents without ids may be stored twice (they
    /// are counted). It is refused where a success has several meanings: updates, deletes, `index`
    /// with ids, pipelines, placeholders.
    Summary,
}
