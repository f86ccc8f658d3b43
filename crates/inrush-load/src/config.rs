//! Everything a load can be told, as typed values. The command line, a job file and the Python package all end
//! here; nothing behind it parses text again.

mod check;
mod cutover;

use std::path::PathBuf;
use std::time::Duration;

use inrush_cluster::transport::{Credentials, TlsOptions};
pub use inrush_core::rate::Rate;
pub use inrush_core::tune::Gentle;
use inrush_core::tune::{AutoTuner, Bounds, Fixed, GentleTuner, Plan, Tuner};
use inrush_core::{Action, FieldPath, IndexTemplate, Operations};
pub use inrush_core::{Compression, Encoding, GzipLevel};
pub use inrush_core::{MaxErrors, OnConflict};
use inrush_sources::CHUNK_BYTES;

pub use self::cutover::{FinishConfig, OldWrites, SwapConfig, WaitFor};
pub use crate::tolerance::Tolerance;

/// What to load where, and how.
#[derive(Clone, Debug)]
pub struct LoadConfig {
    /// Nodes of the cluster, at least one.
    pub to: Vec<String>,
    /// How to prove who we are. Default: not at all.
    pub credentials: Credentials,
    /// Certificates. Default: the system's roots.
    pub tls: TlsOptions,
    /// Index, alias or data stream; may hold `{field}` placeholders. With a swap, the new index ([`SwapConfig`]).
    pub index: IndexTemplate,
    /// What happens with each document. Default `index`; a data stream gets `create`.
    pub action: Action,
    /// The field that holds the id.
    pub id: Option<FieldPath>,
    /// Make ids of something else than a field; not together with `id`. Default: no.
    pub id_from: Option<IdFrom>,
    /// The field that holds the routing value.
    pub routing: Option<FieldPath>,
    /// The field that holds the external version.
    pub version: Option<FieldPath>,
    /// The ingest pipeline.
    pub pipeline: Option<String>,
    /// Fields to leave out of what is sent.
    pub drop: Vec<FieldPath>,
    /// How to create the index.
    pub create: IndexCreation,
    /// What a 409 means that is not from an attempt of ours. Default `fail`.
    pub on_conflict: OnConflict,
    /// Sizes and limits.
    pub limits: Limits,
    /// Where dead letters go. Default: `inrush-dead-letters-<run id>.ndjson` in the working directory, made when the first one comes.
    pub dead_letters: DeadLetters,
    /// When to give up because of dead letters. Default: when all of the first 10,000 documents are.
    pub max_errors: MaxErrors,
    /// How many documents may be missing from a load that counts as complete: for its status and
    /// for the swap of an alias. Default: none.
    pub tolerate: Option<Tolerance>,
    /// A source without a document is as it should be: an index may be deleted for it, and an alias
    /// moved to an index without documents. Default: no.
    pub allow_empty: bool,
    /// A file for what the tuner saw and decided, which `inrush-testbed replay` reads. Default: none.
    pub trace: Option<PathBuf>,
    /// Refresh, count and compare at the end. Default on.
    pub verify: bool,
    /// Ask the cluster for one reply entry a document (default), or only for `errors` ([`Replies`]).
    pub replies: Replies,
    /// In which form documents are sent. Default: as is found out during the load, beginning with JSON; SMILE has to be clearly faster, because
    /// servers keep it as it comes and transcode it whenever it is read. A cluster that does not take SMILE gets JSON.
    pub encoding: Option<Encoding>,
    /// How bodies are compressed. Default: as is found out during the load, beginning with not at all. A cluster that does not take
    /// compressed bodies gets them as they are.
    pub compression: Option<Compression>,
    /// To which shards a request goes. Default `auto`.
    pub bulk_routing: BulkRouting,
    /// When documents count as in. Default: when the cluster acknowledges them.
    pub durability: Durability,
    /// What is changed on the index for the time of the load.
    pub guard: GuardConfig,
    /// What follows the last document.
    pub finish: FinishConfig,
    /// Go on although a policy (ILM, ISM) of the index is about to make it read-only, shrink or delete it. Default: refuse.
    pub under_policy: bool,
    /// Where checkpoints are kept. Default: nowhere, and a load that was cut off cannot be resumed.
    pub state: Option<StateFolder>,
    /// Go on with the load that was cut off. Needs `state`, a checkpoint there, and the same options and sources. Default: no.
    pub resume: bool,
    /// Load these sources once, however often the same load is started: begin, go on with one that
    /// was cut off, or give the report of the one that came to its end. Needs `state`. Default: no.
    pub once: bool,
}

impl LoadConfig {
    /// What is done with every document.
    pub(crate) fn operations(&self, action: Action) -> Operations {
        Operations {
            action,
            index: self.index.clone(),
            id: self.id.clone(),
            routing: self.routing.clone(),
            version: self.version.clone(),
            drop: self.drop.clone(),
        }
    }

    /// The defaults for loading into `index` of the cluster whose nodes are `to`.
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
            drop: Vec::new(),
            create: IndexCreation::default(),
            on_conflict: OnConflict::Fail,
            limits: Limits::default(),
            dead_letters: DeadLetters::default(),
            max_errors: MaxErrors::default(),
            tolerate: None,
            allow_empty: false,
            trace: None,
            verify: true,
            replies: Replies::Items,
            encoding: None,
            compression: None,
            bulk_routing: BulkRouting::Auto,
            durability: Durability::Request,
            guard: GuardConfig::default(),
            finish: FinishConfig::default(),
            under_policy: false,
            state: None,
            resume: false,
            once: false,
        }
    }

    /// The most bytes of documents that are read and not in yet: those under way, and half as many that are read meanwhile. Without room for these, requests
    /// would go out before they are full as soon as all of the memory is under way, which tells the tuner nothing of the cluster. Where
    /// documents wait for a flush they leave that room.
    pub(crate) fn buffered_bytes_max(&self) -> u64 {
        let memory = self.limits.memory as u64;
        match self.durability {
            Durability::Async => memory,
            _ => memory.saturating_add(memory / 2),
        }
    }

    /// The limits of what is sent: documents that wait for a flush get half of the memory.
    pub(crate) fn sending_limits(&self) -> Limits {
        let mut limits = self.limits.clone();
        if self.durability == Durability::Async {
            limits.memory /= 2;
        }
        limits
    }
}

/// To which shards the documents of one request go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BulkRouting {
    /// Where documents have ids or routing values, and several nodes with primaries are named: each request to one shard, at its node. Else as with
    /// `Spread`. Nothing is stored that would not be otherwise.
    #[default]
    Auto,
    /// As documents come: to all shards.
    Spread,
    /// Each request to one shard: documents with ids or routing values are grouped by where they lead, those without get a routing value for the
    /// whole request, every shard in turn. **That value stays stored with them**, and whoever gets, updates or deletes one by its id needs it.
    /// One batch for each shard is filled at a time, so it needs memory. For one index that does not roll over.
    OneShard,
}

impl BulkRouting {
    /// As it is given to `--bulk-routing`.
    pub const fn name(self) -> &'static str {
        match self {
            BulkRouting::Auto => "auto",
            BulkRouting::Spread => "spread",
            BulkRouting::OneShard => "one-shard",
        }
    }
}

/// When a document counts as in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the cluster acknowledges it: with the servers' default, `index.translog.durability: request`, it is on the disks of all
    /// copies then. The index's own setting is left as it is.
    #[default]
    Request,
    /// When a flush has made it durable on all copies. The index is set to `async` for the time of the load, so that the cluster
    /// acknowledges before it syncs. What was acknowledged and not flushed when a shard started again is sent again, so its bytes are
    /// kept: a flush is sent when they are a quarter of `memory`, and every 5 s. For one index; not for data streams.
    Async,
}

impl Durability {
    /// As it is given to `--durability`.
    pub const fn name(self) -> &'static str {
        match self {
            Durability::Request => "request",
            Durability::Async => "async",
        }
    }
}

/// What is changed on the index for the time of the load, written down before and put back afterwards. By default that depends
/// on the size of the job: see `inrush_core::settings_guard::policy::wanted`. Only where all documents go to one index; of a data
/// stream or an alias that rolls over, each index that is written to.
#[derive(Clone, Debug, Default)]
pub struct GuardConfig {
    /// Change nothing, and write nothing but documents to the cluster: such a load and others that
    /// write to the index at the same time do not know each other.
    pub leave_settings: bool,
    /// No replicas during the load, whatever its size.
    pub replicas_off: bool,
    /// Somebody has said that `replicas_off` is meant for an index with documents, too. It has to be green then.
    pub replicas_off_confirmed: bool,
    /// Folder for a record of what is changed, besides the one in the cluster. Default: `inrush` in the XDG state folder.
    pub state: Option<PathBuf>,
}

/// How an index that is missing is made.
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
    /// Delete the index first. Whoever sets this has asked the user.
    pub recreate: bool,
    /// Settings and mappings by index pattern (`*` matches anything), the first match wins; for `--index` with placeholders.
    pub patterns: Vec<IndexPattern>,
}

/// Settings and mapping for the indices whose name matches.
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

/// Sizes and limits. Memory for documents under way is at most `memory`; `batch_bytes x in_flight` never exceeds it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one request's body as JSON, before compression. Default: tuned, 64 KiB to 64 MiB. A larger document travels alone.
    pub batch_bytes: Option<usize>,
    /// Documents in one request. Default: no limit but the bytes.
    pub batch_docs: Option<u32>,
    /// Requests under way at once, those that wait for a retry included. Default: tuned, 1 to 256.
    pub in_flight: Option<u32>,
    /// Consider searches: bounds on the growth of latency and on rejections come before speed. Default: none.
    pub gentle: Option<Gentle>,
    /// The most that is sent a second. Default: no limit.
    pub max_rate: Option<Rate>,
    /// How long documents wait for a batch to fill while the source is slow. Default 1 s.
    pub linger: Duration,
    /// Bytes of documents under way; as SMILE they take their place twice, because their JSON is kept. Default 64 MiB.
    pub memory: usize,
    /// The largest single document, bytes; a larger one is a dead letter. Default 100 MiB, the servers' `http.max_content_length`.
    pub document_bytes_max: usize,
    /// How long a request may take. Default 120 s.
    pub request_timeout: Duration,
    /// How long one batch is tried again. Default 10 min.
    pub retry_for: Duration,
    /// How often in a row one batch is tried again without getting any of its documents in. Default 20.
    pub retries: u32,
    /// How long to wait before a batch is sent again for the first time; doubled each further time, up to 30 s. Default 100 ms.
    pub retry_wait: Duration,
    /// How long to wait for a condition of the indices that are written to to pass: a write block, the flood stage, a primary shard
    /// that is missing, a disk above its high watermark. Then the load stops and can be resumed. Default 10 min, as long as a
    /// batch is tried again. A pause by hand has no end of its own.
    pub pause_max: Duration,
    /// How often it is looked whether those indices lack a primary shard or a disk below them is above its high watermark.
    /// Default 10 s.
    pub health_every: Duration,
    /// How long to wait for requests under way after an interrupt, and then as long again for the verification. Default 30 s.
    pub drain_max: Duration,
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
            drain_max: Duration::from_secs(30),
            workers: std::thread::available_parallelism().map_or(2, usize::from).min(8),
        }
    }
}

impl Limits {
    /// Bytes that are read at a time.
    pub(crate) fn chunk_bytes(&self) -> usize {
        CHUNK_BYTES.min(self.batch_bytes.unwrap_or(CHUNK_BYTES))
    }

    /// Within what the tuner may choose, on a cluster that takes requests up to `body_bytes_max`.
    pub(crate) fn bounds(&self, body_bytes_max: Option<u64>) -> Bounds {
        let batch = self.batch_bytes.map(|bytes| bytes as u64);
        let memory = (self.memory as u64).max(1);
        let most = memory.min(body_bytes_max.unwrap_or(u64::MAX));
        // So many requests that smaller bodies have to do.
        let least = BATCH_BYTES_MIN.min(memory / u64::from(self.in_flight.unwrap_or(1))).min(most).max(1);
        Bounds {
            batch_bytes: batch.map_or((least, BATCH_BYTES_MAX.min(most)), |b| (b, b)),
            batch_docs: self.batch_docs.unwrap_or(u32::MAX),
            in_flight: self.in_flight.map_or((1, IN_FLIGHT_MAX), |n| (n, n)),
            memory,
        }
    }

    /// The name of who decides on the plan.
    pub(crate) fn controller(&self) -> &'static str {
        match (self.batch_bytes, self.in_flight, self.gentle) {
            (Some(_), Some(_), _) => "fixed",
            (_, _, Some(_)) => "gentle",
            _ => "auto",
        }
    }

    /// Who decides on the plan: fixed values where both are given, else a tuner.
    pub(crate) fn tuner(&self, body_bytes_max: Option<u64>) -> Box<dyn Tuner> {
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
                    None => Box::new(AutoTuner::new(bounds)),
                }
            }
        }
    }
}

/// The smallest body that the tuner tries, bytes.
const BATCH_BYTES_MIN: u64 = 64 << 10;
/// The largest body that the tuner tries, bytes.
const BATCH_BYTES_MAX: u64 = 64 << 20;
/// The most requests under way that the tuner tries.
const IN_FLIGHT_MAX: u32 = 256;

/// What ids are made of where documents have none. Both are the same each time, so that what is sent twice is there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdFrom {
    /// The source's name as it was given, the partition, and the number of the document in it: another name makes other ids.
    /// Refused where the source's order is not its own.
    Position,
    /// The document's bytes: 128 bits of their SHA-256, and how many equal ones came before it, so that equal documents stay as
    /// many as they are. Two documents that differ share an id with a probability below n^2 / 2^129, for a billion documents 10^-21,
    /// even if somebody tries to make them. Costs about 20 to 40 bytes of memory for each different document of the job.
    Content,
}

impl IdFrom {
    /// As it is given to `--id-from`.
    pub const fn name(self) -> &'static str {
        match self {
            IdFrom::Position => "position",
            IdFrom::Content => "content",
        }
    }
}

/// Where checkpoints are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder {
    /// Made where it does not exist, with a folder `checkpoints` in it.
    pub path: PathBuf,
    /// A folder that cannot be used is an error. Otherwise it is a warning, and there are no checkpoints.
    pub required: bool,
    /// A checkpoint is written at least so often while documents settle; after a crash about as much is sent again. Each costs a few
    /// milliseconds of the disk, beside the load. Default 1 s.
    pub every: Duration,
    /// How often a load of `--once` shows in the cluster that it lives. A run that finds one that
    /// has not ended waits for three of them. Default 10 s.
    pub sign_of_life: Duration,
}

impl StateFolder {
    /// A folder that has to be usable, with a checkpoint every second.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        StateFolder {
            path: path.into(),
            required: true,
            every: Duration::from_secs(1),
            sign_of_life: Duration::from_secs(10),
        }
    }
}

/// Where dead letters go.
#[derive(Clone, Debug, Default)]
pub enum DeadLetters {
    /// `inrush-dead-letters-<run id>.ndjson` in the working directory, made when the first one comes.
    #[default]
    DefaultFile,
    /// A file of that name in this folder.
    Folder(PathBuf),
    /// This file; it must not exist, or be empty.
    File(PathBuf),
}

/// How much of a reply is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// One entry a document: everything can be told.
    #[default]
    Items,
    /// Only `took` and `errors`. `errors: false` counts as all indexed; a request with errors is sent again with `Items`, so
    /// that documents without ids may be there twice (counted). Refused where a success can be something else:
    /// updates, deletes, `index` with ids, pipelines, placeholders.
    Summary,
}
