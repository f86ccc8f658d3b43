//! Rules about nodes and the cluster as a whole.

use inrush_cluster::api::watermark::{Stage, Watermark};
use serde_json::Value;

use super::ask::Answers;
use super::{Confidence, Finding, Group, at, entries, finding, number, size};

/// The part of a node's time in old-generation collections above which they slow everything down.
const GC_PART: f64 = 0.05;
/// The least number of file descriptors in the installation guides of Elasticsearch and OpenSearch.
const FILES_MIN: f64 = 65535.0;
/// The part of the heap for indexing pressure by default (`indexing_pressure.memory.limit`).
const PRESSURE_PART: f64 = 0.10;

pub(super) fn judge(answers: &Answers, findings: &mut Vec<Finding>) {
    health(&answers.health, findings);
    allocation(&answers.cluster_settings, findings);
    heap(&answers.nodes, findings);
    disks(&answers.nodes, &answers.cluster_settings, findings);
    write_pool(&answers.nodes, findings);
    pressure(&answers.nodes, findings);
    files(&answers.nodes, findings);
    pipelines(&answers.nodes, findings);
    under_way(answers, findings);
}

fn name<'a>(id: &'a str, node: &'a Value) -> &'a str {
    node["name"].as_str().unwrap_or(id)
}

fn health(health: &Value, findings: &mut Vec<Finding>) {
    let count = |key: &str| number(health.get(key)).unwrap_or(0.0);
    let mut group = Group::default();
    let unassigned = count("unassigned_shards");
    match health["status"].as_str() {
        Some("red") => {
            group.add(format!("{unassigned} shards are not assigned"));
            let why = "documents that belong to a missing primary are refused or wait for a minute each";
            let fix = "GET _cluster/allocation/explain gives the reason; restart the missing node, or restore the index from a snapshot";
            group.tell(
                findings,
                finding("cluster_red", Confidence::Sure, "the cluster is red: primary shards are missing", why, fix),
            );
        }
        Some("yellow") => {
            group.add(format!("{unassigned} replica shards are not assigned"));
            let why =
                "if a node is lost now, its documents are lost; copying the replicas later competes with the load";
            let fix = "GET _cluster/allocation/explain gives the reason; add nodes, or lower number_of_replicas";
            group.tell(
                findings,
                finding("cluster_yellow", Confidence::Sure, "the cluster is yellow: replicas are missing", why, fix),
            );
        }
        _ => {}
    }
    let (relocating, initializing) = (count("relocating_shards"), count("initializing_shards"));
    let mut group = Group::default();
    if relocating + initializing > 0.0 {
        group.add(format!("{relocating} shards are moving, {initializing} are starting"));
    }
    let why = "copying shards takes disk and network bandwidth from indexing";
    let what = "shards are moving";
    let fix = "wait for GET _cluster/health?wait_for_no_relocating_shards=true before a large load";
    group.tell(findings, finding("shards_moving", Confidence::Sure, what, why, fix));
    let pending = count("number_of_pending_tasks");
    let mut group = Group::default();
    if pending > 20.0 {
        group.add(format!("{pending} tasks wait for the cluster manager"));
    }
    let why = "new indices and new fields wait in this queue, and their documents with them";
    let fix = "GET _cluster/pending_tasks lists them; map fields and create indices before the load";
    group.tell(findings, finding("pending_tasks", Confidence::Likely, "the cluster manager is behind", why, fix));
}

fn allocation(settings: &Value, findings: &mut Vec<Finding>) {
    let mut group = Group::default();
    if let Some(enable) = settings["cluster.routing.allocation.enable"].as_str().filter(|value| *value != "all") {
        group.add(format!("cluster.routing.allocation.enable is {enable}"));
    }
    let why = "new indices, or their replicas, are not assigned: documents for them wait and fail";
    let fix = r#"PUT _cluster/settings {"persistent":{"cluster.routing.allocation.enable":null},"transient":{"cluster.routing.allocation.enable":null}}"#;
    let what = "the assignment of shards is switched off";
    group.tell(findings, finding("allocation_off", Confidence::Sure, what, why, fix));
}

fn heap(nodes: &Value, findings: &mut Vec<Finding>) {
    let (mut full, mut small, mut collecting) = (Group::default(), Group::default(), Group::default());
    for (id, node) in entries(nodes) {
        let name = name(id, node);
        let max = at(node, "/jvm/mem/heap_max_in_bytes").unwrap_or(0.0);
        if let Some(used) = at(node, "/jvm/mem/heap_used_percent").filter(|used| *used >= 85.0) {
            full.add(format!("{name}: {used} % of {}", size(max)));
        }
        if max > 0.0 && max < (1u64 << 30) as f64 {
            small.add(format!("{name}: {} heap, so {} of requests in flight", size(max), size(max * PRESSURE_PART)));
        }
        let collected = at(node, "/jvm/gc/collectors/old/collection_time_in_millis");
        if let (Some(collected), Some(uptime)) = (collected, at(node, "/jvm/uptime_in_millis"))
            && uptime > 0.0
            && collected / uptime > GC_PART
        {
            collecting.add(format!("{name}: {:.0} % of its time", collected / uptime * 100.0));
        }
    }
    let why = "a full heap means long collections, breaker errors and rejected requests";
    let fix = "give the nodes more heap (up to half of the memory, below 31 GB), or load with less in flight (option `gentle`)";
    full.tell(findings, finding("heap_full", Confidence::Likely, "the heap is nearly full", why, fix));
    let why = "requests beyond a tenth of the heap are rejected (indexing_pressure.memory.limit)";
    small.tell(
        findings,
        finding("heap_small", Confidence::Sure, "the heap is small", why, "raise -Xms and -Xmx together"),
    );
    let why = "while the old generation is collected, the node answers no requests";
    collecting.tell(
        findings,
        finding("garbage_collection", Confidence::Likely, "garbage collection takes much of the time", why, fix),
    );
}

fn disks(nodes: &Value, settings: &Value, findings: &mut Vec<Finding>) {
    let read = |stage| Watermark::read(stage, |name| settings[name].as_str());
    let (Some(low), Some(high), Some(flood)) = (read(Stage::Low), read(Stage::High), read(Stage::Flood)) else {
        return;
    };
    let mut groups = [Group::default(), Group::default(), Group::default()];
    for (id, node) in entries(nodes) {
        let (Some(total), Some(free)) =
            (at(node, "/fs/total/total_in_bytes"), at(node, "/fs/total/available_in_bytes"))
        else {
            continue;
        };
        let passed = [&flood, &high, &low].into_iter().position(|mark| free < mark.reserve(total));
        if let Some(place) = passed {
            groups[place].add(format!(
                "{}: {} free of {} (flood stage {flood}, high {high}, low {low})",
                name(id, node),
                size(free),
                size(total)
            ));
        }
    }
    let [over_flood, over_high, over_low] = groups;
    let fix = "free or add disk space, or delete old indices";
    let why = "at the flood stage every index with a shard there is made read-only, and all its documents are refused";
    over_flood.tell(findings, finding("disk_flood", Confidence::Sure, "a disk is beyond the flood stage", why, fix));
    let why = "shards are moved away while you load, and the flood stage is near";
    over_high.tell(findings, finding("disk_high", Confidence::Sure, "a disk is above the high watermark", why, fix));
    let why = "no new shard is assigned to the node, so a new index gets fewer nodes or stays yellow";
    over_low.tell(findings, finding("disk_low", Confidence::Sure, "a disk is above the low watermark", why, fix));
}

fn write_pool(nodes: &Value, findings: &mut Vec<Finding>) {
    let (mut rejecting, mut waiting) = (Group::default(), Group::default());
    for (id, node) in entries(nodes) {
        let get = |key: &str| at(node, &format!("/thread_pool/write/{key}")).unwrap_or(0.0);
        let (rejected, completed) = (get("rejected"), get("completed"));
        if rejected > 0.0 {
            rejecting.add(format!("{}: {rejected} rejected and {completed} completed since its start", name(id, node)));
        }
        if get("queue") > get("threads") * 10.0 && get("threads") > 0.0 {
            waiting.add(format!("{}: {} wait for {} threads", name(id, node), get("queue"), get("threads")));
        }
    }
    let why = "a loader that does not check every item of a reply loses these documents";
    let fix = "fewer requests in flight (inrush finds the number), more nodes, or fewer shards per request";
    rejecting.tell(findings, finding("write_rejections", Confidence::Sure, "writes were rejected", why, fix));
    let why = "waiting requests add latency, not throughput; a few more requests would be rejected";
    waiting.tell(findings, finding("write_queue", Confidence::Likely, "the write queues are long", why, fix));
}

fn pressure(nodes: &Value, findings: &mut Vec<Finding>) {
    let (mut rejecting, mut tripped) = (Group::default(), Group::default());
    for (id, node) in entries(nodes) {
        let get = |key: &str| at(node, &format!("/indexing_pressure/memory/{key}")).unwrap_or(0.0);
        let rejected =
            get("total/coordinating_rejections") + get("total/primary_rejections") + get("total/replica_rejections");
        if rejected > 0.0 {
            rejecting.add(format!("{}: {rejected} requests, limit {}", name(id, node), size(get("limit_in_bytes"))));
        }
        let breakers: Vec<String> = entries(&node["breakers"])
            .filter_map(|(breaker, value)| at(value, "/tripped").filter(|n| *n > 0.0).map(|n| format!("{breaker} {n}")))
            .collect();
        if !breakers.is_empty() {
            tripped.add(format!("{}: {}", name(id, node), breakers.join(", ")));
        }
    }
    let why = "the requests in flight exceeded a tenth of the heap; replicas are rejected last, and then fail";
    let fix = "smaller or fewer requests in flight, more heap, or a higher indexing_pressure.memory.limit";
    rejecting
        .tell(findings, finding("indexing_pressure", Confidence::Sure, "requests were rejected for memory", why, fix));
    let why = "a tripped breaker fails the requests that run, bulk requests included";
    tripped.tell(findings, finding("breakers", Confidence::Likely, "circuit breakers have tripped", why, fix));
}

fn files(nodes: &Value, findings: &mut Vec<Finding>) {
    let mut group = Group::default();
    for (id, node) in entries(nodes) {
        let (open, most) = (at(node, "/process/open_file_descriptors"), at(node, "/process/max_file_descriptors"));
        if let (Some(open), Some(most)) = (open, most)
            && most > 0.0
            && (most < FILES_MIN || open > most * 0.8)
        {
            group.add(format!("{}: {open} open of {most}", name(id, node)));
        }
    }
    let why = "every segment has several files; a node without free file descriptors loses shards";
    let fix = "raise nofile to 65535 or more (LimitNOFILE of the service, or ulimit -n)";
    group.tell(findings, finding("open_files", Confidence::Sure, "the limit on open files is low", why, fix));
}

/// The time per document above which a pipeline costs more than indexing, milliseconds.
const PIPELINE_MS: f64 = 0.5;

fn pipelines(nodes: &Value, findings: &mut Vec<Finding>) {
    let mut totals = std::collections::BTreeMap::<&str, (f64, f64, f64)>::new();
    for (_, node) in entries(nodes) {
        for (pipeline, stats) in entries(&node["ingest"]["pipelines"]) {
            let get = |key: &str| number(stats.get(key)).unwrap_or(0.0);
            let total = totals.entry(pipeline).or_default();
            *total = (total.0 + get("count"), total.1 + get("time_in_millis"), total.2 + get("failed"));
        }
    }
    let (mut slow, mut failing) = (Group::default(), Group::default());
    for (pipeline, (count, millis, failed)) in totals {
        if count >= 1000.0 && millis / count > PIPELINE_MS {
            slow.add(format!("{pipeline}: {:.2} ms for each of {count} documents", millis / count));
        }
        if failed > 0.0 {
            failing.add(format!("{pipeline}: {failed} of {count} documents"));
        }
    }
    let why = "every document passes through the pipeline on the cluster's processors";
    let fix = "do the work before loading, or give ingest nodes of their own";
    slow.tell(findings, finding("pipeline_slow", Confidence::Likely, "an ingest pipeline is slow", why, fix));
    let why = "a failing pipeline turns documents into dead letters";
    let fix = "GET _ingest/pipeline/NAME/_simulate with one of the documents";
    failing.tell(findings, finding("pipeline_failing", Confidence::Sure, "an ingest pipeline fails", why, fix));
}

fn under_way(answers: &Answers, findings: &mut Vec<Finding>) {
    let mut group = Group::default();
    for recovery in answers.recoveries.as_array().into_iter().flatten() {
        let text = |key: &str| recovery[key].as_str().unwrap_or("?");
        group.add(format!("{} shard {} ({}, {})", text("index"), text("shard"), text("type"), text("stage")));
    }
    let why = "copying shards takes disk and network bandwidth from indexing";
    let fix = "wait until GET _cat/recovery?active_only is empty";
    group.tell(findings, finding("recoveries", Confidence::Sure, "shards are being copied", why, fix));
    let mut group = Group::default();
    for snapshot in answers.snapshots.as_array().into_iter().flatten() {
        group.add(format!(
            "{} ({})",
            snapshot["snapshot"].as_str().unwrap_or("?"),
            snapshot["state"].as_str().unwrap_or("?")
        ));
    }
    let why = "a snapshot reads every new segment while you write them";
    group.tell(
        findings,
        finding(
            "snapshot",
            Confidence::Sure,
            "a snapshot is being taken",
            why,
            "wait until GET _snapshot/_status is empty",
        ),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(answers: &Answers) -> Vec<&'static str> {
        let mut findings = Vec::new();
        judge(answers, &mut findings);
        findings.into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_healthy_cluster_has_no_findings() {
        let node = json!({"name": "a", "jvm": {"mem": {"heap_used_percent": 40, "heap_max_in_bytes": 4u64 << 30}, "uptime_in_millis": 1000,
            "gc": {"collectors": {"old": {"collection_time_in_millis": 1}}}},
            "fs": {"total": {"total_in_bytes": 1000, "available_in_bytes": 500}},
            "process": {"open_file_descriptors": 500, "max_file_descriptors": 65535},
            "thread_pool": {"write": {"threads": 2, "queue": 3, "rejected": 0, "completed": 9}}});
        let answers = Answers { nodes: json!({"x": node}), health: json!({"status": "green"}), ..Answers::default() };
        assert_eq!(ids(&answers), Vec::<&str>::new());
        assert_eq!(ids(&Answers::default()), Vec::<&str>::new());
    }

    #[test]
    fn a_sick_node_shows() {
        let node = json!({"name": "a", "jvm": {"mem": {"heap_used_percent": 97, "heap_max_in_bytes": 512 << 20}, "uptime_in_millis": 1000,
            "gc": {"collectors": {"old": {"collection_time_in_millis": 100}}}},
            "fs": {"total": {"total_in_bytes": 1000, "available_in_bytes": 70}},
            "process": {"open_file_descriptors": 500, "max_file_descriptors": 1024},
            "thread_pool": {"write": {"threads": 2, "queue": 300, "rejected": 7, "completed": 9}},
            "indexing_pressure": {"memory": {"total": {"primary_rejections": 2}, "limit_in_bytes": 50 << 20}},
            "breakers": {"parent": {"tripped": 3}, "request": {"tripped": 0}},
            "ingest": {"pipelines": {"geo": {"count": 2000, "time_in_millis": 4000, "failed": 1}}}});
        let answers = Answers {
            nodes: json!({"x": node}),
            health: json!({"status": "red", "unassigned_shards": 1, "relocating_shards": 1, "number_of_pending_tasks": 99}),
            cluster_settings: json!({"cluster.routing.allocation.enable": "none"}),
            recoveries: json!([{"index": "i", "shard": "0", "type": "peer", "stage": "index"}]),
            snapshots: json!([{"snapshot": "s", "state": "STARTED"}]),
            ..Answers::default()
        };
        let expected = [
            "cluster_red",
            "shards_moving",
            "pending_tasks",
            "allocation_off",
            "heap_full",
            "heap_small",
            "garbage_collection",
            "disk_high",
            "write_rejections",
            "write_queue",
            "indexing_pressure",
            "breakers",
            "open_files",
            "pipeline_slow",
            "pipeline_failing",
            "recoveries",
            "snapshot",
        ];
        assert_eq!(ids(&answers), expected);
    }
}
