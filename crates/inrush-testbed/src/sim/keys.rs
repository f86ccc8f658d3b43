//! The tables of a scenario file.

use serde::{Deserialize, Serialize};

/// The bounds of a tuner; see [`Bounds`](inrush_core::tune::Bounds).
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoundsConfig {
    /// Smallest and largest body, bytes. Default 64 KiB and 64 MiB.
    pub batch_bytes: (u64, u64),
    /// Largest number of documents in a request. Default 1,000,000.
    pub batch_docs: u32,
    /// Smallest and largest number of requests in flight. Default 1 and 256.
    pub in_flight: (u32, u32),
    /// Limit of `batch_bytes` times `in_flight`, MiB. Default 64, as in inrush.
    pub memory_mib: u64,
}

impl Default for BoundsConfig {
    fn default() -> Self {
        BoundsConfig { batch_bytes: (64 << 10, 64 << 20), batch_docs: 1_000_000, in_flight: (1, 256), memory_mib: 64 }
    }
}

/// The nodes and the index.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// Number of nodes.
    pub nodes: usize,
    /// Write threads of a node, one for each processor.
    pub threads: usize,
    /// Tasks that may wait for a write thread of a node. A full queue rejects documents (item 429).
    /// Default 10,000.
    #[serde(default = "ten_thousand")]
    pub queue: usize,
    /// Primary shards of the index, spread over the nodes. Default: one for each node.
    pub shards: Option<usize>,
    /// Copies of each shard beside the primary, on other nodes. Default 0.
    #[serde(default)]
    pub replicas: usize,
    /// Bodies that a node may hold at once, MiB. A larger sum is refused (429). Default: no limit.
    pub memory_mib: Option<f64>,
    /// Largest body, MiB. A larger one is refused (413). Default 100.
    #[serde(default = "hundred")]
    pub max_body_mib: f64,
    /// Resolution of `took` in replies, milliseconds; 0 leaves `took` out. Default 1.
    #[serde(default = "one")]
    pub took_step_ms: f64,
    /// Heap of a node, GiB. Default: 1 for each write thread.
    pub heap_gib: Option<f64>,
    /// Speed of each node; the list repeats for further nodes. Default 1.
    #[serde(default)]
    pub speeds: Vec<f64>,
}

/// The costs of work on an idle node of speed 1. The defaults are fitted to a measured node.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Processor time of a request on its node, microseconds.
    pub request_us: f64,
    /// Write thread's time of the part of a request for one shard, microseconds.
    pub part_us: f64,
    /// Write thread's time of a document, microseconds.
    pub doc_us: f64,
    /// Write thread's time of a byte, nanoseconds.
    pub byte_ns: f64,
    /// Cost of a replica, divided by that of the primary.
    pub replica: f64,
    /// Slowdown of a task if all other threads of its node are busy: 0.2 is 20 %.
    pub contention: f64,
    /// Latency between two nodes, microseconds.
    pub hop_us: f64,
    /// Bytes of a reply for each document.
    pub reply_bytes: f64,
    /// Slowdown of a node whose heap is full of bodies; it falls with the square of the share that
    /// they take.
    pub heap_slowdown: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Costs {
            request_us: 200.0,
            part_us: 200.0,
            doc_us: 4.5,
            byte_ns: 50.0,
            replica: 1.0,
            contention: 0.2,
            hop_us: 200.0,
            reply_bytes: 45.0,
            heap_slowdown: 100.0,
        }
    }
}

/// The variation of costs.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Deviation of the logarithm of the cost of a task. Default 0.2.
    pub task: f64,
    /// Deviation of the logarithm of the slowly drifting speed of a node. Default 0.05.
    pub drift: f64,
    /// Time constant of the drift, seconds. Default 10.
    pub drift_seconds: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Noise { task: 0.2, drift: 0.05, drift_seconds: 10.0 }
    }
}

/// The first seconds of a JVM: work costs `factor` at first and 1 in the end.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// Cost of the first task.
    pub factor: f64,
    /// Processor time of a node after which the extra cost is 1/e of the first, seconds.
    pub cpu_seconds: f64,
}

/// Merges of segments.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Merges {
    /// Indexed MiB from one merge of a node to the next.
    pub every_mib: f64,
    /// Duration of a merge, seconds.
    pub seconds: f64,
    /// Threads of a merge. Default 1.
    #[serde(default = "one_thread")]
    pub threads: usize,
}

/// Pauses of a node.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pauses {
    /// Mean time from the start of one pause to the next, seconds; it varies by up to a fifth.
    pub every_seconds: f64,
    /// Shortest and longest pause, seconds.
    pub seconds: (f64, f64),
    /// All nodes pause at the same time. Default: each on its own.
    #[serde(default)]
    pub together: bool,
}

/// Random faults, each as a share of all requests or documents, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Requests whose connection breaks after their arrival.
    pub lost: f64,
    /// Requests that are refused as a whole (429).
    pub refused: f64,
    /// Documents that are rejected alone (item 429).
    pub rejected: f64,
}

/// A tenant: another user, whose tasks go into the same queues.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Start, seconds. Default 0.
    #[serde(default)]
    pub start_seconds: f64,
    /// End, seconds. Default: the end of the run.
    pub end_seconds: Option<f64>,
    /// Tasks a second on each node.
    pub tasks_per_second: f64,
    /// Cost of a task, milliseconds, with the noise of all tasks.
    pub task_ms: f64,
    /// Tasks that arrive at once. Default 1.
    #[serde(default = "one_thread")]
    pub burst: usize,
    /// Largest rejected share of the tenants' tasks, from 0 to 1, at which a fixed setting counts
    /// as a yardstick. Default 1: every setting counts.
    #[serde(default = "one")]
    pub rejected_most: f64,
}

/// The sizes of documents, action lines included.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Documents {
    /// Mean size, bytes. Default 1,000.
    pub bytes: f64,
    /// Deviation of the logarithm of the size: 0 for equal documents, 2 for a heavy tail. Default
    /// 0.
    pub sigma: f64,
    /// Largest size, bytes. Default 90 MiB.
    pub max_bytes: f64,
}

impl Default for Documents {
    fn default() -> Self {
        Documents { bytes: 1000.0, sigma: 0.0, max_bytes: 90.0 * 1024.0 * 1024.0 }
    }
}

/// The link that all requests of a loader share.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// Bandwidth of each direction, megabits a second. Default 10,000.
    pub mbit: f64,
    /// Round trip, milliseconds. Default 0.3.
    pub delay_ms: f64,
    /// Window of one connection, KiB: it carries at most this in each `delay_ms`. Default: no
    /// limit.
    pub window_kib: Option<f64>,
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig { mbit: 10_000.0, delay_ms: 0.3, window_kib: None }
    }
}

/// One loader, with a controller of its own.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoaderConfig {
    /// Start, seconds. Default 0.
    pub start_seconds: f64,
    /// End, seconds. Default: the end of the run.
    pub end_seconds: Option<f64>,
    /// Rate of its source, MB (1,000,000 bytes) a second. Default: no limit.
    pub source_mb_per_second: Option<f64>,
    /// Rate at which its processor can send, MB a second. Default: no limit.
    pub cpu_mb_per_second: Option<f64>,
    /// A loader of another kind, which keeps its own controller. Default: the controller that is
    /// judged.
    pub rival: Option<Rival>,
}

/// Loaders of other kinds that share a cluster with the judged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rival {
    /// esbulk with 8 workers: 8 requests of 1,000 documents.
    Esbulk,
    /// Gradient2 of Netflix, with bodies of 5 MB.
    Gradient2,
    /// The adaptive concurrency of Vector, with bodies of 10 MB.
    Vector,
}

/// A change over time.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time of the change, seconds.
    pub at_seconds: f64,
    /// New speed of the nodes, as a multiple of that at the start.
    pub capacity: Option<f64>,
    /// Nodes that get `capacity`. Default: all.
    pub nodes: Option<Vec<usize>>,
    /// New [`LinkConfig::mbit`].
    pub mbit: Option<f64>,
    /// New [`LinkConfig::delay_ms`].
    pub delay_ms: Option<f64>,
    /// New [`ClusterConfig::memory_mib`].
    pub memory_mib: Option<f64>,
    /// New [`ClusterConfig::queue`].
    pub queue: Option<usize>,
    /// Nodes that leave.
    #[serde(default)]
    pub leave: Vec<usize>,
    /// Nodes that return.
    #[serde(default)]
    pub join: Vec<usize>,
    /// New rate of the source of every loader, MB a second.
    pub source_mb_per_second: Option<f64>,
}

fn ten_thousand() -> usize {
    10_000
}

fn hundred() -> f64 {
    100.0
}

fn one() -> f64 {
    1.0
}

fn one_thread() -> usize {
    1
}
