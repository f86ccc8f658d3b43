//! A scenario: a cluster, its loaders, their links, and changes over time. A TOML file describes
//! it; `scenarios/README.md` explains the keys.

use std::path::Path;

use anyhow::{Context, ensure};
use inrush_core::tune::Bounds;
use serde::{Deserialize, Serialize};

use super::keys::{
    BoundsConfig, ClusterConfig, Costs, Documents, Faults, LinkConfig, LoaderConfig, Merges, Noise, Pauses, Step,
    Tenant, WarmUp,
};

/// Start of a run that steady figures leave out, seconds.
pub const START_SECONDS: f64 = 10.0;

/// A scenario file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the file, without its ending.
    #[serde(skip)]
    pub name: String,
    /// One sentence: the case, and the behaviour of a good tuner.
    pub intent: String,
    /// Length of the run, seconds. Default 60.
    #[serde(default = "sixty")]
    pub seconds: f64,
    /// Processors of a loader's machine; some loaders choose their requests in flight by it.
    /// Default 4.
    #[serde(default = "four")]
    pub client_cpus: u32,
    /// Bounds of the tuner.
    #[serde(default)]
    pub bounds: BoundsConfig,
    /// The nodes.
    pub cluster: ClusterConfig,
    /// Costs of work.
    #[serde(default)]
    pub costs: Costs,
    /// Variation of costs.
    #[serde(default)]
    pub noise: Noise,
    /// Slow first seconds of a JVM.
    pub warm_up: Option<WarmUp>,
    /// Merges of segments.
    pub merges: Option<Merges>,
    /// Garbage collections that stop a node.
    #[serde(default)]
    pub pauses: Vec<Pauses>,
    /// Random faults of requests.
    #[serde(default)]
    pub faults: Faults,
    /// Other users of the nodes.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
    /// Documents of the load.
    #[serde(default)]
    pub documents: Documents,
    /// The link between a loader and the cluster.
    #[serde(default)]
    pub link: LinkConfig,
    /// The loaders. Default: one that starts at 0.
    #[serde(default)]
    pub loaders: Vec<LoaderConfig>,
    /// Changes over time.
    #[serde(default)]
    pub steps: Vec<Step>,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    ///
    /// An unreadable file, malformed TOML, an unknown key, or an invalid value. The message names
    /// the file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::parse(&name, &text).with_context(|| format!("{} is no scenario", path.display()))
    }

    /// Reads a scenario from its text.
    ///
    /// # Errors
    ///
    /// As [`Scenario::read`], without the name of the file.
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

    /// Bounds of the tuner.
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

    /// Start and end of each phase between changes, seconds.
    pub fn phases(&self) -> Vec<(f64, f64)> {
        let mut edges = vec![0.0];
        edges.extend(self.steps.iter().map(|step| step.at_seconds));
        edges.push(self.seconds);
        edges.dedup();
        edges.windows(2).map(|edge| (edge[0], edge[1])).collect()
    }

    /// Smallest `rejected_most` of all tenants, from 0 to 1; 1 without tenants.
    pub fn tenants_rejected_most(&self) -> f64 {
        self.tenants.iter().map(|tenant| tenant.rejected_most).fold(1.0, f64::min)
    }

    /// The scenario as a file.
    ///
    /// # Errors
    ///
    /// A number that TOML cannot hold.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        Ok(toml::to_string(self)?)
    }

    /// The scenario with its first loader alone, from start to end.
    pub fn alone(&self) -> Scenario {
        self.with_only(0)
    }

    /// The scenario with this loader alone, from start to end.
    pub fn with_only(&self, loader: usize) -> Scenario {
        let loader = LoaderConfig { start_seconds: 0.0, end_seconds: None, ..self.loaders[loader] };
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
