//! The metrics of all loads of a process. docs/page.md lists them.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_core::report::Counts;
use inrush_sources::PartitionLag;

use crate::exposition::{Kind, Metrics};
use crate::history::History;
use crate::snapshot;

/// All phases that a load can be in.
const PHASES: [&str; 18] = [
    "starting",
    "loading",
    "waiting for the source",
    "paused",
    "stopping",
    "putting settings back",
    "refreshing",
    "verifying",
    "force-merge",
    "searchable",
    "green",
    "replicated",
    "warm",
    "catch-up",
    "swap",
    "delete old index",
    "baking",
    "done",
];
/// All states of the settings guard.
const GUARDS: [&str; 6] = ["off", "changed", "yes", "unchanged", "passed on", "no"];
/// Types of errors that have a series of their own.
const ERROR_TYPES_MAX: usize = 50;

/// A load for the metrics.
pub(crate) struct Seen<'a> {
    pub(crate) history: &'a History,
    /// Its time now, since its start.
    pub(crate) at: Duration,
    /// The time of its end, seconds since 1970.
    pub(crate) ended: Option<f64>,
}

/// The metrics of these loads.
pub(crate) fn collect(loads: &[Seen<'_>], viewers: usize) -> Metrics {
    let loads: &[&Seen<'_>] = &loads.iter().collect::<Vec<_>>();
    let mut out = Metrics::default();
    out.family("inrush_build", Kind::Info, "", "The version of inrush.");
    out.info(&[("version", env!("CARGO_PKG_VERSION"))]);
    out.family("inrush_page_viewers", Kind::Gauge, "", "Connections that follow the live page.");
    out.sample(&[], viewers as f64);
    of_runs(&mut out, loads);
    of_sources(&mut out, loads);
    let (compared, loaded): (Vec<&Seen<'_>>, Vec<&Seen<'_>>) =
        loads.iter().copied().partition(|load| load.history.start.kind == snapshot::Kind::Verify);
    if !compared.is_empty() {
        of_comparisons(&mut out, &compared);
    }
    if !loaded.is_empty() || compared.is_empty() {
        of_documents(&mut out, &loaded);
        of_requests(&mut out, &loaded);
        of_plans(&mut out, &loaded);
        of_nodes(&mut out, &loaded);
        of_pauses(&mut out, &loaded);
        of_lag(&mut out, &loaded);
    }
    out
}

/// A family with one sample a load. A load without a value has no sample.
fn each<V: Into<f64>>(
    out: &mut Metrics,
    loads: &[&Seen<'_>],
    (name, kind, unit, help): (&'static str, Kind, &'static str, &'static str),
    value: impl Fn(&Seen<'_>) -> Option<V>,
) {
    out.family(name, kind, unit, help);
    for load in loads {
        if let Some(value) = value(load) {
            out.sample(&of(load), value);
        }
    }
}

fn of<'a>(load: &'a Seen<'_>) -> [(&'a str, &'a str); 1] {
    [("load", load.history.start.name.as_str())]
}

fn with<'a>(load: &'a Seen<'_>, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    of(load).iter().chain(more).copied().collect()
}

fn of_runs(out: &mut Metrics, loads: &[&Seen<'_>]) {
    out.family("inrush_load", Kind::Info, "", "The id of the load in the logs of the cluster, and its controller.");
    for load in loads.iter().filter(|load| load.history.has_begun) {
        let start = &load.history.start;
        out.info(&with(load, &[("run_id", &start.run_id), ("controller", start.controller)]));
    }
    let begun = |load: &Seen<'_>| load.history.has_begun.then_some(load.history.start.began);
    let started = ("inrush_load_start_time_seconds", Kind::Gauge, "seconds", "When the load began, since 1970.");
    each(out, loads, started, begun);
    let ended = ("inrush_load_end_time_seconds", Kind::Gauge, "seconds", "When the load ended, since 1970.");
    each(out, loads, ended, |load| load.ended);
    let status =
        ("inrush_load_exit_status", Kind::Gauge, "", "The exit status that the report of the load stands for.");
    each(out, loads, status, |load| load.history.exit_status);
    out.family("inrush_load_phase", Kind::StateSet, "", "The phase of the load.");
    for load in loads {
        out.states(&of(load), &PHASES, load.history.progress.phase.name());
    }
    out.family("inrush_settings_guard", Kind::StateSet, "", "The state of the settings that the load changes.");
    for load in loads {
        out.states(&of(load), &GUARDS, &load.history.guard.state);
    }
}

fn of_sources(out: &mut Metrics, loads: &[&Seen<'_>]) {
    let total = ("inrush_source_bytes", Kind::Gauge, "bytes", "The size of the sources, where it is known.");
    each(out, loads, total, |load| load.history.start.bytes_total.map(|bytes| bytes as f64));
    let left = ("inrush_remaining_seconds", Kind::Gauge, "seconds", "The time left, where it can be estimated.");
    each(out, loads, left, |load| load.history.seconds_left());
    let read = ("inrush_read_bytes", Kind::Counter, "bytes", "Bytes read from the sources.");
    each(out, loads, read, |load| Some(load.history.progress.counts.bytes_read as f64));
}

fn of_comparisons(out: &mut Metrics, loads: &[&Seen<'_>]) {
    let help = "Documents of the source by what the index holds of them, so far.";
    out.family("inrush_compared_documents", Kind::Counter, "", help);
    for load in loads {
        let counts = &load.history.progress.counts;
        for (result, count) in [
            ("counted", counts.docs_dropped),
            ("equal", counts.docs_noop),
            ("missing", counts.docs_not_found),
            ("different", counts.docs_conflicting),
            ("not_loadable", counts.docs_dead_lettered),
        ] {
            out.count(&with(load, &[("result", result)]), count);
        }
    }
}

fn of_documents(out: &mut Metrics, loads: &[&Seen<'_>]) {
    out.family("inrush_documents", Kind::Counter, "", "Settled documents by what became of them.");
    for load in loads {
        let counts = &load.history.progress.counts;
        for (outcome, count) in [
            ("created", counts.docs_created),
            ("updated", counts.docs_updated),
            ("deleted", counts.docs_deleted),
            ("noop", counts.docs_noop),
            ("not_found", counts.docs_not_found),
            ("already_there", counts.docs_already_there),
            ("conflicting", counts.docs_conflicting),
            ("dropped", counts.docs_dropped),
            ("redirected", counts.docs_redirected),
            ("superseded", counts.docs_superseded),
            ("dead_lettered", counts.docs_dead_lettered),
            ("unknown", counts.docs_unknown),
        ] {
            out.count(&with(load, &[("outcome", outcome)]), count);
        }
    }
    out.family("inrush_dead_letters", Kind::Counter, "", "Dead letters by the type of their error.");
    for load in loads {
        for (kind, count) in bounded(load.history.errors.by_type()) {
            out.count(&with(load, &[("type", &kind)]), count);
        }
    }
    let waiting = |load: &Seen<'_>| {
        let progress = &load.history.progress;
        Some(progress.docs_read.saturating_sub(progress.docs_settled) as f64)
    };
    each(
        out,
        loads,
        ("inrush_documents_waiting", Kind::Gauge, "", "Documents that are read and not settled."),
        waiting,
    );
    let memory =
        ("inrush_memory_bytes", Kind::Gauge, "bytes", "Bytes of documents that are in memory and not settled.");
    each(out, loads, memory, |load| Some(load.history.progress.memory_bytes as f64));
}

/// The most frequent types. The others count together, so that the number of series is bounded.
fn bounded(types: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut types: Vec<_> = types.into_iter().collect();
    types.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest: u64 = types.iter().skip(ERROR_TYPES_MAX).map(|(_, count)| count).sum();
    types.truncate(ERROR_TYPES_MAX);
    match types.iter_mut().find(|(kind, _)| kind == "other") {
        Some((_, count)) => *count += rest,
        None if rest > 0 => types.push(("other".to_owned(), rest)),
        None => {}
    }
    types
}

fn of_requests(out: &mut Metrics, loads: &[&Seen<'_>]) {
    type Count = fn(&Counts) -> u64;
    let counters: [(&'static str, &'static str, &'static str, Count); 5] = [
        ("inrush_requests", "", "Bulk requests that were sent, retries included.", |counts| counts.requests),
        ("inrush_sent_bytes", "bytes", "Bytes of request bodies, retries included.", |counts| counts.bytes_sent),
        ("inrush_retried_documents", "", "Documents that were sent again.", |counts| counts.retried_items),
        ("inrush_rejected_documents", "", "Documents refused because of load.", |counts| counts.rejected_items),
        ("inrush_possible_duplicates", "", "Surplus copies that the index may hold.", |counts| {
            counts.possible_duplicates
        }),
    ];
    for (name, unit, help, count) in counters {
        let family = (name, Kind::Counter, unit, help);
        each(out, loads, family, |load| Some(count(&load.history.progress.counts) as f64));
    }
    let in_flight = ("inrush_in_flight_requests", Kind::Gauge, "", "Requests in flight, retries that wait included.");
    each(out, loads, in_flight, |load| Some(load.history.progress.in_flight));
    out.family("inrush_request_duration_seconds", Kind::Histogram, "seconds", "The time of answered bulk requests.");
    for load in loads {
        let latency = &load.history.latency;
        out.histogram(&of(load), latency.buckets(), latency.more, latency.wall);
    }
    let help = "The part of inrush_request_duration_seconds that servers report as their own.";
    each(out, loads, ("inrush_server_took_seconds", Kind::Counter, "seconds", help), |load| {
        Some(load.history.latency.took)
    });
}

fn of_plans(out: &mut Metrics, loads: &[&Seen<'_>]) {
    let bytes = ("inrush_plan_batch_bytes", Kind::Gauge, "bytes", "The plan: bytes of one request before compression.");
    each(out, loads, bytes, |load| Some(load.history.progress.plan_batch_bytes as f64));
    let in_flight = ("inrush_plan_in_flight_requests", Kind::Gauge, "", "The plan: requests in flight at most.");
    each(out, loads, in_flight, |load| Some(load.history.progress.plan_in_flight));
    let changes = ("inrush_plan_changes", Kind::Counter, "", "Changes of the plan by its controller.");
    each(out, loads, changes, |load| Some(load.history.decisions.total() as f64));
    out.family("inrush_body_format", Kind::Gauge, "", "The encoding and compression of requests, as labels.");
    for load in loads {
        let format = load.history.progress.body_format;
        let (encoding, compression) = (format.encoding.to_string(), format.compression.to_string());
        out.sample(&with(load, &[("encoding", &encoding), ("compression", &compression)]), 1.0);
    }
}

fn of_nodes(out: &mut Metrics, loads: &[&Seen<'_>]) {
    out.family("inrush_node_healthy", Kind::Gauge, "", "1 if the node answers, as far as the load knows.");
    for load in loads {
        for node in load.history.nodes.iter() {
            out.sample(&with(load, &[("node", &node.name)]), u8::from(node.healthy));
        }
    }
    out.family("inrush_node_requests", Kind::Counter, "", "Bulk requests that ended, by node and result.");
    for load in loads {
        for node in load.history.nodes.iter() {
            for (result, count) in [
                ("answered", node.answered),
                ("refused", node.refused),
                ("too_large", node.too_large),
                ("lost", node.lost),
            ] {
                out.count(&with(load, &[("node", &node.name), ("result", result)]), count);
            }
        }
    }
    out.family("inrush_node_documents", Kind::Counter, "", "Documents that the node took, or refused for good.");
    for load in loads {
        for node in load.history.nodes.iter() {
            out.count(&with(load, &[("node", &node.name)]), node.docs);
        }
    }
    out.family("inrush_node_rejected_documents", Kind::Counter, "", "Documents that the node refused because of load.");
    for load in loads {
        for node in load.history.nodes.iter() {
            out.count(&with(load, &[("node", &node.name)]), node.rejected);
        }
    }
}

fn of_pauses(out: &mut Metrics, loads: &[&Seen<'_>]) {
    let paused = ("inrush_paused", Kind::Gauge, "", "1 if the load is paused.");
    each(out, loads, paused, |load| Some(u8::from(load.history.is_paused())));
    out.family("inrush_paused_seconds", Kind::Counter, "seconds", "The time of pauses by reason.");
    for load in loads {
        for (reason, seconds) in load.history.paused_seconds(load.at) {
            out.sample(&with(load, &[("reason", &reason)]), seconds);
        }
    }
}

fn of_lag(out: &mut Metrics, loads: &[&Seen<'_>]) {
    if loads.iter().all(|load| load.history.progress.lag.is_none()) {
        return;
    }
    out.family(
        "inrush_lag_records",
        Kind::Gauge,
        "",
        "Offsets between the settled records and the end of a partition.",
    );
    of_partitions(out, loads, |partition| Some(partition.records as f64));
    out.family("inrush_lag_seconds", Kind::Gauge, "seconds", "The age of the first record that is not settled.");
    of_partitions(out, loads, |partition| partition.seconds);
}

/// One sample a partition. A partition that was taken away has none.
fn of_partitions(out: &mut Metrics, loads: &[&Seen<'_>], value: impl Fn(&PartitionLag) -> Option<f64>) {
    for load in loads {
        for partition in load.history.progress.lag.iter().flat_map(|lag| &lag.partitions) {
            let number = partition.partition.to_string();
            if let Some(value) = value(partition) {
                out.sample(&with(load, &[("topic", &partition.topic), ("partition", &number)]), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use inrush_sources::Lag;

    use super::*;
    use crate::exposition::Kind;

    #[test]
    fn the_page_lists_the_metrics() {
        const PAGE: &str = include_str!("../../../docs/page.md");
        let mut history = History::new("docs");
        history.progress.lag = Some(Arc::new(Lag::default()));
        let mut comparison = History::new("docs");
        comparison.compares("", &[], "");
        let seen = |history| Seen { history, at: Duration::ZERO, ended: None };
        let shown = |family: &crate::exposition::Family| match family.kind {
            Kind::Counter => format!("{}_total", family.name),
            Kind::Info => format!("{}_info", family.name),
            _ => family.name.to_owned(),
        };
        let families: BTreeSet<String> = collect(&[seen(&history), seen(&comparison)], 0).0.iter().map(shown).collect();
        let rows = PAGE.lines().filter(|line| line.starts_with("| `inrush_"));
        let names = rows.flat_map(|row| row.split(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2));
        assert_eq!(names.map(str::to_owned).collect::<BTreeSet<_>>(), families);
    }

    #[test]
    fn many_types_of_errors_are_bounded_and_none_is_lost() {
        let types: BTreeMap<String, u64> = (1..=100).map(|n| (format!("type_{n}"), n)).collect();
        let bounded = bounded(types);
        assert_eq!(
            (bounded.len(), bounded.last().map(|(kind, _)| kind.as_str())),
            (ERROR_TYPES_MAX + 1, Some("other"))
        );
        assert_eq!(bounded.iter().map(|(_, count)| count).sum::<u64>(), 5_050);
    }
}
