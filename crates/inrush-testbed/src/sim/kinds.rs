//! Kinds of scenarios, for tables: what is special about one.

use super::scenario::Scenario;

/// A queue below this is short, tasks.
const SHORT_QUEUE: usize = 300;
/// A way from this delay on is long, milliseconds.
const LONG_WAY_MS: f64 = 50.0;
/// A link up to this bandwidth is slow, megabits a second.
const SLOW_LINK_MBIT: f64 = 150.0;
/// Documents from this size on are large, bytes.
const LARGE_DOCUMENTS: f64 = 20_000.0;
/// Requests whose fixed part costs more than this are dear, microseconds for each thread of a node.
const DEAR_REQUEST_US: f64 = 1_000.0;

/// All kinds, in the order of [`kinds`].
pub const ALL_KINDS: [&str; 19] = [
    "calm",
    "pauses",
    "merges",
    "capacity step",
    "delay step",
    "bandwidth step",
    "queue step",
    "nodes leave",
    "chance rejections",
    "cold JVM",
    "searches",
    "several loaders",
    "rival loader",
    "memory limit",
    "short queue",
    "long way",
    "slow link",
    "large documents",
    "dear requests",
];

/// What is special about a scenario; `calm` if there is no trouble. A scenario may be of several
/// kinds.
pub fn kinds(scenario: &Scenario) -> Vec<&'static str> {
    let step = |changes: fn(&super::keys::Step) -> bool| scenario.steps.iter().any(changes);
    let faults = scenario.faults;
    let troubles = [
        ("pauses", !scenario.pauses.is_empty()),
        ("merges", scenario.merges.is_some()),
        ("capacity step", step(|s| s.capacity.is_some())),
        ("delay step", step(|s| s.delay_ms.is_some())),
        ("bandwidth step", step(|s| s.mbit.is_some())),
        ("queue step", step(|s| s.queue.is_some())),
        ("nodes leave", step(|s| !s.leave.is_empty())),
        ("chance rejections", faults.lost + faults.refused + faults.rejected > 0.0),
        ("cold JVM", scenario.warm_up.is_some()),
        ("searches", !scenario.tenants.is_empty()),
        ("several loaders", scenario.loaders.len() > 1),
        ("rival loader", scenario.loaders.iter().any(|loader| loader.rival.is_some())),
        ("memory limit", scenario.cluster.memory_mib.is_some()),
    ];
    let parts_a_node = scenario.shards() as f64 / scenario.cluster.nodes as f64;
    let request_us = scenario.costs.request_us + scenario.costs.part_us * parts_a_node;
    let features = [
        ("short queue", scenario.cluster.queue < SHORT_QUEUE),
        ("long way", scenario.link.delay_ms >= LONG_WAY_MS),
        ("slow link", scenario.link.mbit <= SLOW_LINK_MBIT),
        ("large documents", scenario.documents.bytes >= LARGE_DOCUMENTS),
        ("dear requests", request_us > DEAR_REQUEST_US),
    ];
    let of = |named: &[(&'static str, bool)]| -> Vec<&'static str> {
        named.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect()
    };
    let mut found = of(&troubles);
    if found.is_empty() {
        found.push("calm");
    }
    found.extend(of(&features));
    found
}
