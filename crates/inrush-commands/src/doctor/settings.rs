//! Rules about the settings and mappings of indices.

use inrush_cluster::api::watermark::setting_bytes;
use serde_json::Value;

use super::ask::Answers;
use super::{Confidence, Finding, Group, entries, finding, number, size};

/// The default of `index.mapping.total_fields.limit`.
const FIELDS_LIMIT: f64 = 1000.0;
/// The least size of a translog at a flush. Below it, a fast load has a commit every few seconds.
const TRANSLOG_MIN: f64 = (256u64 << 20) as f64;

pub(super) fn judge(answers: &Answers, findings: &mut Vec<Finding>) {
    let nodes = entries(&answers.nodes).count();
    let mut groups: [Group; 10] = Default::default();
    let [refresh_off, refresh_short, copies, lonely, lossy, translog, sorted, blocked, pipeline, merge_off] =
        &mut groups;
    for (index, entry) in entries(&answers.settings).filter(|(index, _)| !index.starts_with('.')) {
        let settings = &entry["settings"];
        let get = |key: &str| settings[format!("index.{key}")].as_str();
        match get("refresh_interval") {
            Some(interval) if interval.starts_with('-') => {
                refresh_off.add(format!("{index}: refresh_interval {interval}"));
            }
            Some(interval) if interval.ends_with("ms") => {
                refresh_short.add(format!("{index}: refresh_interval {interval}"))
            }
            _ => {}
        }
        let replicas = get("number_of_replicas").and_then(|text| text.parse::<usize>().ok()).unwrap_or(1);
        let expands = get("auto_expand_replicas").is_some_and(|value| value != "false");
        if nodes > 0 && replicas >= nodes && !expands {
            copies.add(format!("{index}: {replicas} replicas on {nodes} nodes"));
        }
        if replicas == 0 && nodes > 1 && !expands {
            lonely.add(format!("{index}: number_of_replicas 0"));
        }
        if get("translog.durability").is_some_and(|value| value.eq_ignore_ascii_case("async")) {
            lossy.add(format!("{index}: translog.durability async"));
        }
        if let Some(threshold) = get("translog.flush_threshold_size")
            && setting_bytes(threshold).is_some_and(|bytes| bytes < TRANSLOG_MIN)
        {
            translog.add(format!("{index}: {threshold}"));
        }
        if let Some(field) = get("sort.field").or(get("sort.field.0")) {
            sorted.add(format!("{index}: sorted by {field}"));
        }
        for block in ["blocks.write", "blocks.read_only", "blocks.read_only_allow_delete"] {
            if get(block) == Some("true") {
                blocked.add(format!("{index}: index.{block}"));
            }
        }
        for key in ["default_pipeline", "final_pipeline"] {
            if let Some(name) = get(key).filter(|name| *name != "_none") {
                pipeline.add(format!("{index}: index.{key} {name}"));
            }
        }
        if get("merge.scheduler.auto_throttle") == Some("false") {
            merge_off.add(format!("{index}: merge.scheduler.auto_throttle false"));
        }
    }
    tell(groups, findings);
    fields(answers, findings);
}

fn tell(groups: [Group; 10], findings: &mut Vec<Finding>) {
    use Confidence::{Likely, Maybe, Sure};
    let [refresh_off, refresh_short, copies, lonely, lossy, translog, sorted, blocked, pipeline, merge_off] = groups;
    let why =
        "new documents are not searchable until one long refresh; a crashed loader may have left the setting behind";
    let fix = r#"`inrush recover` if inrush set it, else PUT INDEX/_settings {"index.refresh_interval":null}"#;
    refresh_off.tell(findings, finding("refresh_off", Sure, "refreshing is switched off", why, fix));
    let why = "each refresh makes a segment, and merging them competes with indexing";
    let fix = r#"while loading: PUT INDEX/_settings {"index.refresh_interval":"30s"}"#;
    refresh_short
        .tell(findings, finding("refresh_short", Likely, "the index is refreshed more than once a second", why, fix));
    let why = "each copy needs a node of its own: the index stays yellow, and requests that wait for all copies hang";
    let fix = r#"PUT INDEX/_settings {"index.number_of_replicas":N} with N below the number of nodes"#;
    copies.tell(
        findings,
        finding("replicas_too_many", Sure, "number_of_replicas is too high for the number of nodes", why, fix),
    );
    let why = "good while loading, but if a node is lost its documents are lost; a crashed loader may have left the setting behind";
    let fix = r#"after the load: PUT INDEX/_settings {"index.number_of_replicas":1}"#;
    lonely.tell(findings, finding("replicas_none", Maybe, "there are no replicas", why, fix));
    let why = "a node that crashes loses acknowledged documents of the last seconds";
    let fix = r#"PUT INDEX/_settings {"index.translog.durability":null}"#;
    lossy.tell(findings, finding("translog_async", Sure, "acknowledged documents are not durable", why, fix));
    let why = "a small translog is flushed (committed to disk) every few seconds";
    let fix = r#"PUT INDEX/_settings {"index.translog.flush_threshold_size":null} (512 MB, newer Elasticsearch 10 GB)"#;
    translog.tell(findings, finding("translog_small", Likely, "the translog is flushed often", why, fix));
    let why = "sorting every segment costs indexing 10 to 50 % (index sorting, in both products' guides)";
    let fix = "only a new index can drop it; keep it if searches need it";
    sorted.tell(findings, finding("index_sorting", Likely, "the index keeps its documents sorted", why, fix));
    let why = "every document is refused";
    let fix = r#"PUT INDEX/_settings with the setting null; after a flood stage free disk space first"#;
    blocked.tell(findings, finding("blocked", Sure, "writes are blocked", why, fix));
    let why = "every document passes through the pipeline, whatever options the loader has";
    let fix = "do the work before loading, or name the pipeline only in the loads that need it";
    pipeline.tell(findings, finding("pipeline_default", Maybe, "an ingest pipeline runs for every document", why, fix));
    let why = "merges may use the whole bandwidth of the disk; fine while loading on SSDs, but a crashed loader may have left the setting behind";
    let fix = r#"PUT INDEX/_settings {"index.merge.scheduler.auto_throttle":null}"#;
    merge_off.tell(findings, finding("merge_throttling_off", Maybe, "merge throttling is switched off", why, fix));
}

fn fields(answers: &Answers, findings: &mut Vec<Finding>) {
    let mut group = Group::default();
    for (index, entry) in entries(&answers.mappings).filter(|(index, _)| !index.starts_with('.')) {
        let fields = count_fields(&entry["mappings"]);
        let limit = answers
            .settings
            .get(index)
            .and_then(|entry| number(entry["settings"].get("index.mapping.total_fields.limit")));
        let limit = limit.unwrap_or(FIELDS_LIMIT);
        if fields as f64 > limit * 0.8 {
            let state = size(entry.to_string().len() as f64);
            group.add(format!("{index}: {fields} fields of {limit} ({state} of mapping)"));
        }
    }
    let why = "every new field changes the cluster state of all nodes; at the limit documents are refused";
    let fix = "map the fields that you search, and the rest as one flattened (flat_object) or non-indexed object; set dynamic: false";
    group.tell(
        findings,
        finding("mapping_explosion", Confidence::Likely, "the number of fields is near the limit", why, fix),
    );
}

/// Counts fields as the servers do, including objects and multi-fields.
fn count_fields(mapping: &Value) -> usize {
    ["properties", "fields"]
        .into_iter()
        .flat_map(|key| entries(&mapping[key]).map(|(_, field)| 1 + count_fields(field)))
        .sum()
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
    fn defaults_have_no_findings() {
        let settings = json!({"a": {"settings": {"index.number_of_replicas": "1", "index.refresh_interval": "1s"}},
            ".system": {"settings": {"index.refresh_interval": "-1"}}});
        let answers = Answers { settings, nodes: json!({"1": {}, "2": {}}), ..Answers::default() };
        assert_eq!(ids(&answers), Vec::<&str>::new());
    }

    #[test]
    fn what_a_loader_left_and_what_slows_loading_shows() {
        let settings = json!({
            "left": {"settings": {"index.refresh_interval": "-1", "index.number_of_replicas": "0", "index.translog.durability": "async",
                "index.merge.scheduler.auto_throttle": "false"}},
            "slow": {"settings": {"index.refresh_interval": "100ms", "index.number_of_replicas": "2", "index.sort.field": "t",
                "index.translog.flush_threshold_size": "10mb", "index.blocks.write": "true", "index.default_pipeline": "p",
                "index.final_pipeline": "_none", "index.mapping.total_fields.limit": "3"}},
        });
        let mappings = json!({"slow": {"mappings": {"properties": {"a": {"type": "text", "fields": {"k": {}}}, "b": {"properties": {"c": {}}}}}}});
        let answers = Answers { settings, mappings, nodes: json!({"1": {}, "2": {}}), ..Answers::default() };
        let expected = [
            "refresh_off",
            "refresh_short",
            "replicas_too_many",
            "replicas_none",
            "translog_async",
            "translog_small",
            "index_sorting",
            "blocked",
            "pipeline_default",
            "merge_throttling_off",
            "mapping_explosion",
        ];
        assert_eq!(ids(&answers), expected);
    }

    #[test]
    fn fields_are_counted_with_objects_and_multi_fields() {
        let mapping = json!({"properties": {"a": {"fields": {"k": {}}}, "b": {"properties": {"c": {}}}}});
        assert_eq!(count_fields(&mapping), 4);
    }
}
