//! The policy: which settings a load changes, and why. All of it is in [`wanted`], so that it can
//! be measured and changed in one place.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lease::Settings;

/// `index.refresh_interval`.
pub const REFRESH: &str = "index.refresh_interval";
/// `index.number_of_replicas`.
pub const REPLICAS: &str = "index.number_of_replicas";
/// `index.auto_expand_replicas`.
pub const AUTO_EXPAND: &str = "index.auto_expand_replicas";
/// `index.write.wait_for_active_shards`.
pub const WAIT_FOR_ACTIVE: &str = "index.write.wait_for_active_shards";
/// `index.translog.flush_threshold_size`.
pub const FLUSH_THRESHOLD: &str = "index.translog.flush_threshold_size";
/// `index.translog.durability`.
pub const DURABILITY: &str = "index.translog.durability";
/// `index.merge.scheduler.auto_throttle`.
pub const MERGE_THROTTLE: &str = "index.merge.scheduler.auto_throttle";
/// `index.knn.advanced.approximate_threshold` of OpenSearch: the vectors from which a segment gets
/// a graph. With -1 none gets one.
pub const GRAPH_THRESHOLD: &str = "index.knn.advanced.approximate_threshold";
/// `index.blocks.write`.
pub const BLOCK_WRITES: &str = "index.blocks.write";

/// Bytes of sources from which an empty index is loaded without replicas: 256 MiB. For smaller
/// loads little is saved, and copying the finished index to a replica has costs of its own
/// (recovery starts seconds later).
pub const REPLICAS_BYTES_MIN: u64 = 256 << 20;

/// Bytes of sources from which refreshes, flushes and merges are changed: 1 GiB.
///
/// Measured on one node. Without refreshes 600,000 small documents (80 MB) were searchable 25 %
/// later, because the single refresh at the end runs on one thread after the load instead of in
/// parallel with it. 2,000,000 documents (270 MB) took equally long, and saved 4 to 8 s of merges.
/// So only clearly larger loads gain.
pub const LARGE_BYTES_MIN: u64 = 1 << 30;

/// The refresh interval of a large load. Not -1: segments of a minute are large enough to save
/// merges, and a final refresh then has at most a minute of documents to process.
const REFRESH_LARGE: &str = "60s";
const REFRESH_LARGE_SECONDS: u64 = 60;

/// The flush threshold of a large load. Newer servers have a higher default (10 GB), which is kept.
const FLUSH_LARGE: &str = "1gb";
const FLUSH_LARGE_BYTES: u64 = 1 << 30;

/// Facts about a load before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadProfile {
    /// Bytes of the sources, if known. A load of unknown size counts as small: it may be a trickle
    /// over days, during which replicas and refreshes matter.
    pub bytes_total: Option<u64>,
    /// The index has no documents yet.
    pub empty: bool,
    /// The user wants replicas off.
    pub replicas_off: bool,
    /// The user wants the cluster to acknowledge before it syncs. Documents are settled by flushes
    /// then.
    pub async_translog: bool,
    /// Nodes that can hold replicas. With one node, replicas cannot be assigned anyway.
    pub data_nodes: Option<u64>,
    /// The index is being replaced, not loaded, and must not accept writes in the meantime.
    pub block_writes: bool,
    /// OpenSearch is to build the graphs of vectors after the load.
    pub no_graphs: bool,
}

impl LoadProfile {
    fn at_least(&self, bytes: u64) -> bool {
        self.bytes_total.is_some_and(|total| total >= bytes)
    }

    /// Whether this load changes no setting, for any current values.
    pub fn changes_nothing(&self) -> bool {
        let asked = self.replicas_off || self.async_translog || self.block_writes || self.no_graphs;
        !asked && !self.at_least(REPLICAS_BYTES_MIN.min(LARGE_BYTES_MIN))
    }
}

/// The settings that the load needs, by name, as far as they differ from the current values.
pub fn wanted(load: &LoadProfile, settings: &Settings) -> BTreeMap<&'static str, String> {
    let mut wanted = BTreeMap::new();
    if load.block_writes && settings.effective(BLOCK_WRITES) != Some("true") {
        wanted.insert(BLOCK_WRITES, "true".to_owned());
    }
    if load.no_graphs && settings.effective(GRAPH_THRESHOLD) != Some("-1") {
        wanted.insert(GRAPH_THRESHOLD, "-1".to_owned());
    }
    if load.at_least(LARGE_BYTES_MIN) {
        // A longer interval, or none, is kept.
        if interval(settings.effective(REFRESH)).is_some_and(|now| now < Duration::from_secs(REFRESH_LARGE_SECONDS)) {
            wanted.insert(REFRESH, REFRESH_LARGE.to_owned());
        }
        // The threshold is never lowered. An unreadable one is kept.
        if settings.effective(FLUSH_THRESHOLD).and_then(bytes).is_some_and(|now| now < FLUSH_LARGE_BYTES) {
            wanted.insert(FLUSH_THRESHOLD, FLUSH_LARGE.to_owned());
        }
        // The throttle delays merges, and the load then waits for them.
        if settings.effective(MERGE_THROTTLE) != Some("false") {
            wanted.insert(MERGE_THROTTLE, "false".to_owned());
        }
    }
    if load.async_translog && !settings.effective(DURABILITY).is_some_and(|now| now.eq_ignore_ascii_case("async")) {
        wanted.insert(DURABILITY, "async".to_owned());
    }
    if replicas_off(load, settings) {
        if settings.set.get(AUTO_EXPAND).is_some_and(|on| on != "false") {
            // It would set the replicas again at once.
            wanted.insert(AUTO_EXPAND, "false".to_owned());
        }
        if settings.effective(REPLICAS) != Some("0") {
            wanted.insert(REPLICAS, "0".to_owned());
        }
        // Writes would wait for copies that no longer exist.
        if !wanted.is_empty() && settings.effective(WAIT_FOR_ACTIVE).is_some_and(needs_replicas) {
            wanted.insert(WAIT_FOR_ACTIVE, "1".to_owned());
        }
    }
    wanted
}

/// Whether to load without replicas. Each replica indexes every document again, so a load without
/// them is up to that many times faster. A node that fails loses its documents, so an index that
/// has documents keeps its replicas unless the user says otherwise.
fn replicas_off(load: &LoadProfile, settings: &Settings) -> bool {
    // With segment replication, replicas do not index, so little would be gained.
    let replicas_index = settings.effective("index.replication.type") != Some("SEGMENT");
    let have_a_place = load.data_nodes != Some(1);
    load.replicas_off || (load.empty && replicas_index && have_a_place && load.at_least(REPLICAS_BYTES_MIN))
}

fn needs_replicas(copies: &str) -> bool {
    copies.parse::<u32>().is_ok_and(|copies| copies > 1)
}

/// Whether these changes add replicas, or may do so.
pub fn brings_replicas(values: &BTreeMap<String, Option<String>>) -> bool {
    let set_but = |name: &str, none: &str| values.get(name).is_some_and(|value| value.as_deref() != Some(none));
    set_but(REPLICAS, "0") || set_but(AUTO_EXPAND, "false")
}

/// Groups of settings that are only correct together. If the server refuses all changes at once,
/// the groups are changed one by one in this order.
pub(super) const GROUPS: [&[&str]; 5] =
    [&[AUTO_EXPAND, REPLICAS, WAIT_FOR_ACTIVE], &[REFRESH], &[FLUSH_THRESHOLD], &[MERGE_THROTTLE], &[DURABILITY]];

/// Parses an interval as servers write it. `None` if it is off (`-1`, `0`) or unreadable. The
/// default is 1 s.
fn interval(text: Option<&str>) -> Option<Duration> {
    let text = text.unwrap_or("1s");
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let amount: f64 = number.parse().ok().filter(|amount: &f64| *amount > 0.0)?;
    let seconds = match &text[number.len()..] {
        "nanos" => 1e-9,
        "micros" => 1e-6,
        "ms" | "" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(amount * seconds).ok()
}

/// Parses a size as servers write it. `None` if it is unreadable.
fn bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let amount: f64 = number.parse().ok().filter(|amount: &f64| *amount >= 0.0)?;
    let shift = match &text[number.len()..] {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        "p" | "pb" => 50,
        _ => return None,
    };
    Some((amount * (1_u64 << shift) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: LoadProfile = LoadProfile {
        bytes_total: Some(LARGE_BYTES_MIN),
        empty: false,
        replicas_off: false,
        async_translog: false,
        data_nodes: Some(3),
        block_writes: false,
        no_graphs: false,
    };

    fn check(load: LoadProfile, set: &[(&str, &str)], defaults: &[(&str, &str)], expected: &[(&str, &str)]) {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let settings = Settings { set: map(set), defaults: map(defaults) };
        let found = wanted(&load, &settings);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(found, expected, "{load:?} {set:?}");
    }

    #[test]
    fn any_number_but_zero_brings_replicas() {
        let brings = |name: &str, value: Option<&str>| {
            brings_replicas(&BTreeMap::from([(name.to_owned(), value.map(str::to_owned))]))
        };
        assert!(brings(REPLICAS, Some("1")) && brings(AUTO_EXPAND, Some("0-1")));
        // Reset to the default, which is one replica.
        assert!(brings(REPLICAS, None));
        assert!(!brings(REPLICAS, Some("0")) && !brings(AUTO_EXPAND, Some("false")) && !brings(REFRESH, None));
    }

    #[test]
    fn small_loads_and_those_of_unknown_size_leave_everything() {
        for bytes_total in [None, Some(REPLICAS_BYTES_MIN - 1)] {
            let load = LoadProfile { bytes_total, empty: true, ..LARGE };
            check(load, &[(REPLICAS, "1")], &[], &[]);
            assert!(load.changes_nothing());
        }
        assert!(!LARGE.changes_nothing());
        assert!(!LoadProfile { replicas_off: true, ..LoadProfile::default() }.changes_nothing());
    }

    #[test]
    fn large_loads_refresh_flush_and_merge_less_and_never_more() {
        let flush = [(FLUSH_THRESHOLD, "512mb")];
        let all = [(MERGE_THROTTLE, "false"), (REFRESH, "60s"), (FLUSH_THRESHOLD, "1gb")];
        check(LARGE, &[], &flush, &all);
        check(LARGE, &[(REFRESH, "5s"), (REPLICAS, "1")], &flush, &all);
        for refresh in ["-1", "60s", "1h", "2m", "what"] {
            check(LARGE, &[(REFRESH, refresh)], &flush, &[all[0], all[2]]);
        }
        for size in ["10gb", "1gb", "2048mb", "-1", "what"] {
            check(LARGE, &[(FLUSH_THRESHOLD, size), (MERGE_THROTTLE, "false")], &flush, &all[1..2]);
        }
        check(LARGE, &[(REFRESH, "0")], &[(FLUSH_THRESHOLD, "10gb")], &all[..1]);
    }

    #[test]
    fn the_translog_is_async_only_on_request() {
        let load = LoadProfile { async_translog: true, ..LoadProfile::default() };
        let on = [(DURABILITY, "async")];
        assert!(!load.changes_nothing());
        check(load, &[], &[(DURABILITY, "REQUEST")], &on);
        check(load, &[(DURABILITY, "request")], &[], &on);
        check(load, &[(DURABILITY, "ASYNC")], &[], &[]);
        check(LARGE, &[(REFRESH, "-1"), (MERGE_THROTTLE, "false")], &[(FLUSH_THRESHOLD, "10gb")], &[]);
    }

    #[test]
    fn an_index_that_is_replaced_takes_no_writes() {
        let load = LoadProfile { block_writes: true, ..LoadProfile::default() };
        assert!(!load.changes_nothing());
        check(load, &[(REPLICAS, "1")], &[(BLOCK_WRITES, "false")], &[(BLOCK_WRITES, "true")]);
        check(load, &[(BLOCK_WRITES, "true")], &[], &[]);
    }

    #[test]
    fn graphs_wait_only_on_request() {
        let load = LoadProfile { no_graphs: true, ..LoadProfile::default() };
        assert!(!load.changes_nothing());
        let off = [(GRAPH_THRESHOLD, "-1")];
        check(load, &[], &[(GRAPH_THRESHOLD, "0")], &off);
        check(load, &[(GRAPH_THRESHOLD, "15000")], &[], &off);
        check(load, &[(GRAPH_THRESHOLD, "-1")], &[], &[]);
    }

    #[test]
    fn replicas_are_off_if_nothing_can_be_lost_or_on_request() {
        let load = LoadProfile { bytes_total: Some(REPLICAS_BYTES_MIN), empty: true, ..LARGE };
        let off = [(REPLICAS, "0")];
        check(load, &[(REPLICAS, "1")], &[], &off);
        check(LoadProfile { empty: false, ..load }, &[(REPLICAS, "1")], &[], &[]);
        check(LoadProfile { data_nodes: Some(1), ..load }, &[(REPLICAS, "1")], &[], &[]);
        check(load, &[(REPLICAS, "1"), ("index.replication.type", "SEGMENT")], &[], &[]);
        check(load, &[(REPLICAS, "0")], &[], &[]);
        check(load, &[(REPLICAS, "0"), (WAIT_FOR_ACTIVE, "2")], &[], &[]);
        let said = LoadProfile { replicas_off: true, ..LoadProfile::default() };
        check(
            said,
            &[(REPLICAS, "2"), (AUTO_EXPAND, "0-all"), (WAIT_FOR_ACTIVE, "2")],
            &[],
            &[(AUTO_EXPAND, "false"), (REPLICAS, "0"), (WAIT_FOR_ACTIVE, "1")],
        );
        check(said, &[(REPLICAS, "2"), (WAIT_FOR_ACTIVE, "all")], &[], &off);
    }
}
