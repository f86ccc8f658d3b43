//! Loads and their faults, drawn by seeds.

use std::ops::Range;

use inrush_testbed::operations::{Form, Random, Shape};

use super::proxies::Kind;
use crate::server::Version;

/// How long a load takes without a fault, at least, s.
const SECONDS: u64 = 6;

/// Loads of the long test that run at the same time.
pub const AT_ONCE: u64 = 4;

/// The node that a fault meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The one with most primary shards of the index.
    Holder,
    /// The manager of the cluster.
    Manager,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL, and a restart at once.
    Kill(Who),
    /// SIGSTOP for some seconds: a long garbage collection, a frozen virtual machine, a slow disk.
    Freeze(Who, u64),
    /// Two nodes stand still for some seconds, so that there is no manager.
    FreezeTwo(u64),
    /// Two nodes are killed and start again.
    KillTwo,
    /// All nodes are restarted in turn.
    Rolling,
}

/// The addresses that the load gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    All,
    /// All but that of the node that the fault meets.
    Others,
    /// One of the others.
    Other,
    /// The one that the fault meets.
    Victim,
    /// That of a proxy in front of all of them. `read`: how long it waits for an answer, s.
    Proxy {
        kind: Kind,
        read: u64,
        repeats: bool,
    },
}

impl Way {
    /// Whether the proxy sends a request a second time by itself.
    pub fn is_repeated(self) -> bool {
        matches!(self, Way::Proxy { repeats: true, .. })
    }
}

/// Loads that run at the same time, and the fault that meets all of them.
#[derive(Clone, Debug)]
pub struct Group {
    pub fault: Fault,
    /// The fault comes when each load has an answer to this part of its operations, percent.
    pub after: u64,
    pub loads: Vec<Drawn>,
}

#[derive(Clone, Debug)]
pub struct Drawn {
    pub seed: u64,
    pub shape: Shape,
    pub way: Way,
    /// `--request-timeout`, s.
    pub timeout: u64,
    pub skips_conflicts: bool,
    /// Further options.
    pub options: Vec<String>,
}

impl Group {
    /// The loads of these seeds. The first of them draws the fault.
    pub fn of(fault: Fault, loads: Vec<Drawn>) -> Group {
        let after = 15 + Random::new(loads[0].seed).below(30);
        Group { fault, after, loads }
    }

    /// Loads of the long test whose seeds, divided by [`AT_ONCE`], are this number, as far as they
    /// are among `seeds`.
    pub fn long(number: u64, seeds: &Range<u64>, version: Version) -> Group {
        let mut random = Random::new(number ^ 0x9e37_79b9_7f4a_7c15);
        let who = random.pick(&[Who::Holder, Who::Holder, Who::Manager]);
        let seconds = 20 + random.below(101);
        let fault = match random.below(100) {
            0..50 => Fault::Freeze(who, seconds),
            50..72 => Fault::Kill(who),
            72..82 => Fault::FreezeTwo(seconds.min(60)),
            82..90 => Fault::KillTwo,
            _ => Fault::Rolling,
        };
        let loads = (AT_ONCE * number..AT_ONCE * (number + 1)).filter(|seed| seeds.contains(seed));
        Group::of(fault, loads.map(|seed| Drawn::long(seed, version)).collect())
    }
}

impl Drawn {
    /// A load of the long test.
    fn long(seed: u64, version: Version) -> Drawn {
        let mut random = Random::new(seed ^ 0x9e37_79b9_7f4a_7c15);
        let kind = random.pick(&[Kind::Nginx, Kind::NginxTls, Kind::Haproxy]);
        let proxy = Way::Proxy { kind, read: 1 + random.below(5), repeats: random.one_of(2) };
        let way = match random.below(100) {
            0..45 => Way::All,
            45..57 => Way::Others,
            57..65 => Way::Other,
            65..72 => Way::Victim,
            _ => proxy,
        };
        // Elasticsearch without its licensed modules has no data streams.
        let stream = if version == Version::OpenSearch3 { Form::Stream } else { Form::Lines };
        let form = random.pick(&[Form::Bulk, Form::Bulk, Form::Bulk, Form::Bulk, Form::Lines, stream]);
        let timeout = random.pick(&[2, 2, 3, 5, 8, 10, 20, 120]);
        Drawn::of(seed, form, 20_000 + 1_000 * random.below(41), way, timeout)
    }

    /// A load of which some is given; what is left is drawn.
    pub fn of(seed: u64, form: Form, operations: u64, way: Way, timeout: u64) -> Drawn {
        let mut random = Random::new(seed);
        let mut options = Vec::new();
        let mut add = |name: &str, value: &str| options.push(format!("--{name}={value}"));
        add("batch-bytes", random.pick(&["16KiB", "32KiB", "64KiB", "128KiB"]));
        add("in-flight", random.pick(&["2", "4", "8", "16"]));
        // Some seconds, so that the fault meets it in its middle.
        add("max-rate", &format!("{}docs", operations / SECONDS));
        if random.one_of(3) {
            add("compression", "gzip");
        }
        if random.one_of(6) {
            add("encoding", "smile");
        }
        if random.one_of(3) {
            // A data stream can switch to another index, which has other shards.
            let one_shard = if form == Form::Stream { "spread" } else { "one-shard" };
            add("bulk-routing", random.pick(&["spread", one_shard]));
        }
        let is_async = random.one_of(10);
        if is_async {
            add("durability", "async");
        }
        // Without entries nothing says what was there before, or which index is to be flushed.
        if form != Form::Bulk && random.one_of(6) && !is_async {
            add("replies", "summary");
        }
        let on_conflict = random.pick(&["fail", "fail", "compare", "skip"]);
        add("on-conflict", on_conflict);
        if random.one_of(8) {
            options.push("--replicas-off".to_owned());
        }
        let refused = form == Form::Bulk && random.one_of(2);
        let shape = Shape { form, operations, refused };
        Drawn { seed, shape, way, timeout, skips_conflicts: on_conflict == "skip", options }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_long_test_draws_all_faults_and_ways() {
        let seeds = 2..302;
        let groups: Vec<Group> = (0..=75).map(|number| Group::long(number, &seeds, Version::OpenSearch3)).collect();
        let names = |text: String| text.split([' ', '(']).next().unwrap_or_default().to_owned();
        let faults: BTreeSet<String> = groups.iter().map(|group| names(format!("{:?}", group.fault))).collect();
        assert_eq!(faults, ["Freeze", "FreezeTwo", "Kill", "KillTwo", "Rolling"].map(str::to_owned).into());
        let loads: Vec<&Drawn> = groups.iter().flat_map(|group| &group.loads).collect();
        assert_eq!(loads.iter().map(|load| load.seed).collect::<Vec<_>>(), seeds.clone().collect::<Vec<_>>());
        let ways: BTreeSet<String> = loads.iter().map(|load| names(format!("{:?}", load.way))).collect();
        assert_eq!(ways, ["All", "Other", "Others", "Proxy", "Victim"].map(str::to_owned).into());
        // A seed that is run alone meets the fault of its group.
        let alone = Group::long(4, &(19..20), Version::OpenSearch3);
        assert_eq!((alone.fault, alone.loads.len()), (groups[4].fault, 1));
    }
}
