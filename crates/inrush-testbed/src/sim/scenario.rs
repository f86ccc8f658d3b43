//! A scenario: a cluster, links, loaders and what happens to them, as written in a TOML file. `scenarios/README.md` is its
//! documentation for people.

use std::path::Path;

use anyhow::{Context, ensure};
use inrush_core::tune::Bounds;
use serde::Deserialize;

/// A scenario file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the file is called, without its ending.
    #[serde(skip)]
    pub name: String,
    /// One sentence: what this is a case of, and what a good tuner does.
    pub intent: String,
    /// How long the run is, seconds. Default 60.
    #[serde(default = "sixty")]
    pub seconds: f64,
    /// Processors of a loader's machine, for those that size themselves by it. Default 4.
    #[serde(default = "four")]
    pub client_cpus: u32,
    /// Within what a tuner may choose.
    #[serde(default)]
    pub bounds: BoundsConfig,
    /// The nodes.
    pub cluster: ClusterConfig,
    /// What work costs.
    #[serde(default)]
    pub costs: Costs,
    /// How much costs vary.
    #[serde(default)]
    pub noise: Noise,
    /// A JVM that was just started.
    pub warm_up: Option<WarmUp>,
    /// Merges of segments.
    pub merges: Option<Merges>,
    /// Garbage collections that stop a node.
    #[serde(default)]
    pub pauses: Vec<Pauses>,
    /// Requests that go wrong by chance.
    #[serde(default)]
    pub faults: Faults,
    /// Others who use the same nodes.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
    /// What is loaded.
    #[serde(default)]
    pub documents: Documents,
    /// The way between a loader and the cluster.
    #[serde(default)]
    pub link: LinkConfig,
    /// The loaders; one that starts at 0 where none is named.
    #[serde(default)]
    pub loaders: Vec<LoaderConfig>,
    /// What changes, in order of time.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// See [`Bounds`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoundsConfig {
    /// Smallest and largest body, bytes. Default 64 KiB and 64 MiB.
    pub batch_bytes: (u64, u64),
    /// Most documents in a request. Default 1,000,000.
    pub batch_docs: u32,
    /// Fewest and most requests under way. Default 1 and 256.
    pub in_flight: (u32, u32),
    /// `batch_bytes` times `in_flight` stays below, MiB. Default 64, as that of the loader.
    pub memory_mib: u64,
}

impl Default for BoundsConfig {
    fn default() -> Self {
        BoundsConfig { batch_bytes: (64 << 10, 64 << 20), batch_docs: 1_000_000, in_flight: (1, 256), memory_mib: 64 }
    }
}

/// The nodes and what they hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// How many nodes.
    pub nodes: usize,
    /// Write threads of a node, each a processor.
    pub threads: usize,
    /// Tasks that may wait for a write thread of a node; beyond it their documents are rejected (item 429). Default 10,000.
    #[serde(default = "ten_thousand")]
    pub queue: usize,
    /// Primary shards of the index, spread over the nodes. Default: one a node.
    pub shards: Option<usize>,
    /// Copies of each shard beside the primary, on other nodes. Default 0.
    #[serde(default)]
    pub replicas: usize,
    /// Bodies that a node may have under way, MiB; beyond it a request is refused (429). Default: no limit.
    pub memory_mib: Option<f64>,
    /// Largest body, MiB; beyond it a request is refused (413). Default 100.
    #[serde(default = "hundred")]
    pub max_body_mib: f64,
    /// Step of the `took` that replies carry, milliseconds; 0 leaves it out. Default 1.
    #[serde(default = "one")]
    pub took_step_ms: f64,
    /// Heap of a node, GiB. Default: 1 for each write thread.
    pub heap_gib: Option<f64>,
    /// How fast each node is; repeated where there are more nodes. Default 1.
    #[serde(default)]
    pub speeds: Vec<f64>,
}

/// What work costs on a node of speed 1 with nothing else to do. The defaults are fitted to a measured node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Processor time of a request on the node that it went to, microseconds.
    pub request_us: f64,
    /// Write thread's time of the part of a request that goes to one shard, microseconds.
    pub part_us: f64,
    /// Write thread's time of a document, microseconds.
    pub doc_us: f64,
    /// Write thread's time of a byte, nanoseconds.
    pub byte_ns: f64,
    /// What a replica costs, as a share of what the primary costs.
    pub replica: f64,
    /// How much slower a task is when all other threads of its node are busy: 0.2 is 20 %.
    pub contention: f64,
    /// Way between two nodes, microseconds.
    pub hop_us: f64,
    /// Bytes of a reply for each document.
    pub reply_bytes: f64,
    /// How much slower a node is whose heap is full of bodies under way, falling with the square of the part that they take.
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

/// How much costs vary.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Deviation of the logarithm of a task's cost. Default 0.2.
    pub task: f64,
    /// Deviation of the logarithm of each node's slowly changing speed. Default 0.05.
    pub drift: f64,
    /// How long the speed stays alike, seconds. Default 10.
    pub drift_seconds: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Noise { task: 0.2, drift: 0.05, drift_seconds: 10.0 }
    }
}

/// Work costs `factor` at first and 1 in the end.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// What the first task costs.
    pub factor: f64,
    /// Processor time of a node after which the surplus has fallen to 1/e, seconds.
    pub cpu_seconds: f64,
}

/// A node that has indexed enough merges segments.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merges {
    /// After how much, MiB.
    pub every_mib: f64,
    /// For how long, seconds.
    pub seconds: f64,
    /// How many threads it takes. Default 1.
    #[serde(default = "one_thread")]
    pub threads: usize,
}

/// A node stands still for a while.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pauses {
    /// From the beginning of one to the next, seconds; each is shifted by up to a fifth.
    pub every_seconds: f64,
    /// Shortest and longest, seconds.
    pub seconds: (f64, f64),
    /// All nodes at the same time. Default: each on its own.
    #[serde(default)]
    pub together: bool,
}

/// Requests that go wrong by chance, each as a part of all, 0 to 1.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Requests whose connection breaks when they have arrived.
    pub lost: f64,
    /// Requests that are refused as a whole, with 429.
    pub refused: f64,
    /// Documents that are rejected one by one, with 429, in a request whose others are taken.
    pub rejected: f64,
}

/// Somebody else's tasks, in the same queues.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// From when on, seconds. Default 0.
    #[serde(default)]
    pub start_seconds: f64,
    /// Until when, seconds. Default: the end.
    pub end_seconds: Option<f64>,
    /// Tasks on each node.
    pub tasks_per_second: f64,
    /// What one costs, milliseconds, with the noise of all tasks.
    pub task_ms: f64,
    /// Tasks that come at once. Default 1.
    #[serde(default = "one_thread")]
    pub burst: usize,
    /// Fixed settings that have a larger part of the tenants' tasks rejected, 0 to 1, are no yardstick. Default 1: whatever becomes of them.
    #[serde(default = "one")]
    pub rejected_most: f64,
}

/// Sizes of documents, their action lines included.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Documents {
    /// Mean, bytes. Default 1,000.
    pub bytes: f64,
    /// Deviation of the logarithm; 0, the default, for equal ones, 2 for a heavy tail.
    pub sigma: f64,
    /// None is larger, bytes. Default 90 MiB.
    pub max_bytes: f64,
}

impl Default for Documents {
    fn default() -> Self {
        Documents { bytes: 1000.0, sigma: 0.0, max_bytes: 90.0 * 1024.0 * 1024.0 }
    }
}

/// What all requests of a loader share.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// Each way, megabits a second. Default 10,000.
    pub mbit: f64,
    /// There and back, milliseconds. Default 0.3.
    pub delay_ms: f64,
    /// What one connection may have under way, KiB: its share is at most this every `delay_ms`. Default: no limit.
    pub window_kib: Option<f64>,
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig { mbit: 10_000.0, delay_ms: 0.3, window_kib: None }
    }
}

/// One loader with a controller of its own.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoaderConfig {
    /// When it begins, seconds. Default 0.
    pub start_seconds: f64,
    /// When it ends, seconds. Default: with the run.
    pub end_seconds: Option<f64>,
    /// What its source yields, MB (1,000,000 bytes) a second. Default: no limit.
    pub source_mb_per_second: Option<f64>,
    /// What its processor can send, MB a second. Default: no limit.
    pub cpu_mb_per_second: Option<f64>,
}

/// A change.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When, seconds.
    pub at_seconds: f64,
    /// Speed of the nodes from now on, compared with the beginning.
    pub capacity: Option<f64>,
    /// The nodes that `capacity` is about. Default: all.
    pub nodes: Option<Vec<usize>>,
    /// See [`LinkConfig::mbit`].
    pub mbit: Option<f64>,
    /// See [`LinkConfig::delay_ms`].
    pub delay_ms: Option<f64>,
    /// See [`ClusterConfig::memory_mib`].
    pub memory_mib: Option<f64>,
    /// See [`ClusterConfig::queue`].
    pub queue: Option<usize>,
    /// Nodes that go.
    #[serde(default)]
    pub leave: Vec<usize>,
    /// Nodes that come back.
    #[serde(default)]
    pub join: Vec<usize>,
    /// What the source of every loader yields from now on, MB a second.
    pub source_mb_per_second: Option<f64>,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, has a key that is not known, or values that make no sense; the message names the file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::parse(&name, &text).with_context(|| format!("{} is no scenario", path.display()))
    }

    /// Reads a scenario from its text.
    ///
    /// # Errors
    /// As [`Scenario::read`], without the file's name.
    pub fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let mut scenario: Scenario = toml::from_str(text)?;
        scenario.name = name.to_owned();
        if scenario.loaders.is_empty() {
            scenario.loaders.push(LoaderConfig::default());
        }
        scenario.steps.sort_by(|a, b| a.at_seconds.total_cmp(&b.at_seconds));
        scenario.check()?;
        Ok(scenario)
    }

    /// Within what a tuner may choose.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            batch_bytes: self.bounds.batch_bytes,
            batch_docs: self.bounds.batch_docs,
            in_flight: self.bounds.in_flight,
            memory: self.bounds.memory_mib << 20,
        }
    }

    /// Primary shards of the index.
    pub fn shards(&self) -> usize {
        self.cluster.shards.unwrap_or(self.cluster.nodes)
    }

    /// Heap of a node, GiB.
    pub fn heap_gib(&self) -> f64 {
        self.cluster.heap_gib.unwrap_or(self.cluster.threads as f64)
    }

    /// From change to change, seconds.
    pub fn phases(&self) -> Vec<(f64, f64)> {
        let mut edges = vec![0.0];
        edges.extend(self.steps.iter().map(|step| step.at_seconds));
        edges.push(self.seconds);
        edges.dedup();
        edges.windows(2).map(|edge| (edge[0], edge[1])).collect()
    }

    /// The part of the tenants' tasks that a setting may have rejected, 0 to 1, to be a yardstick.
    pub fn tenants_rejected_most(&self) -> f64 {
        self.tenants.iter().map(|tenant| tenant.rejected_most).fold(1.0, f64::min)
    }

    /// The same with the first loader only, there from the start.
    pub fn alone(&self) -> Scenario {
        let loader = LoaderConfig { start_seconds: 0.0, end_seconds: None, ..self.loaders[0] };
        Scenario { loaders: vec![loader], ..self.clone() }
    }

    fn check(&self) -> anyhow::Result<()> {
        let b = &self.bounds;
        ensure!(self.intent.len() >= 20, "`intent` has to be a sentence");
        ensure!(self.seconds > 10.0, "`seconds` has to be more than 10, which are left out of `ratio`");
        ensure!(self.cluster.nodes > 0 && self.cluster.threads > 0, "`cluster` needs nodes and threads");
        ensure!(self.heap_gib() > 0.0, "`cluster.heap_gib` has to be positive");
        ensure!(self.shards() > 0, "`cluster.shards` has to be at least 1");
        ensure!(
            0 < b.batch_bytes.0 && b.batch_bytes.0 <= b.batch_bytes.1 && b.batch_docs > 0,
            "`bounds.batch_bytes` has to be [smallest, largest]"
        );
        ensure!(0 < b.in_flight.0 && b.in_flight.0 <= b.in_flight.1, "`bounds.in_flight` has to be [fewest, most]");
        ensure!(self.documents.bytes >= 1.0, "`documents.bytes` has to be at least 1");
        ensure!(self.link.mbit > 0.0 && self.link.delay_ms >= 0.0, "`link` needs a positive `mbit`");
        let faults = [self.faults.lost, self.faults.refused, self.faults.rejected];
        ensure!(faults.iter().all(|part| (0.0..=1.0).contains(part)), "`faults` are parts, from 0 to 1");
        ensure!(self.cluster.speeds.iter().all(|&s| s > 0.0), "`cluster.speeds` have to be positive");
        for (at, step) in self.steps.iter().enumerate() {
            let named = step.nodes.iter().flatten().chain(&step.leave).chain(&step.join);
            for &node in named {
                ensure!(node < self.cluster.nodes, "`steps` number {at} names node {node}, the first is 0");
            }
            ensure!(step.capacity.is_none_or(|c| c > 0.0), "`steps` number {at}: `capacity` has to be positive");
            ensure!(step.mbit.is_none_or(|m| m > 0.0), "`steps` number {at}: `mbit` has to be positive");
        }
        for pauses in &self.pauses {
            ensure!(
                pauses.every_seconds > pauses.seconds.1 && pauses.seconds.0 <= pauses.seconds.1,
                "`pauses.seconds` has to be [shortest, longest] and shorter than `every_seconds`"
            );
        }
        Ok(())
    }
}

fn sixty() -> f64 {
    60.0
}

fn four() -> u32 {
    4
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

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "intent = 'as little as can be said'\n[cluster]\nnodes = 1\nthreads = 2\n";

    #[test]
    fn little_is_enough() {
        let scenario = Scenario::parse("least", LEAST).unwrap();
        assert_eq!((scenario.loaders.len(), scenario.shards(), scenario.seconds), (1, 1, 60.0));
    }

    #[test]
    fn an_unknown_key_is_named_with_what_is_known() {
        let error = Scenario::parse("x", &format!("{LEAST}[link]\nmbits = 5\n")).unwrap_err().to_string();
        assert!(error.contains("`mbits`") && error.contains("`mbit`") && error.contains("`delay_ms`"), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        for (line, word) in [
            ("[[steps]]\nat_seconds = 1\nleave = [3]\n", "node 3"),
            ("[bounds]\nin_flight = [4, 2]\n", "in_flight"),
            ("[documents]\nbytes = 0\n", "documents"),
            ("[faults]\nrejected = 5\n", "faults"),
        ] {
            let error = Scenario::parse("x", &format!("{LEAST}{line}")).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
