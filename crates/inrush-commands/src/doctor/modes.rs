//! Rules about the mode of an index (`index.mode` of Elasticsearch), by what the server says that
//! it means, and about batches that are indexed by column.

use inrush_cluster::api::index_mode::IndexMode;
use inrush_cluster::api::sequence_numbers;
use inrush_cluster::api::source_kept::SourceKept;
use serde_json::Value;

use super::ask::Answers;
use super::{Confidence, Finding, Group, entries, finding};

pub(super) fn judge(answers: &Answers, findings: &mut Vec<Finding>) {
    modes(answers, findings);
    batches(answers, findings);
}

fn modes(answers: &Answers, findings: &mut Vec<Finding>) {
    let [mut series, mut routed, mut unnumbered, mut rebuilt]: [Group; 4] = Default::default();
    for (index, body) in entries(&answers.modes).filter(|(index, _)| !index.starts_with('.')) {
        let mode = IndexMode::of(|name| body.pointer(&format!("/settings/index/{}", name.replace('.', "/"))));
        let times = mode.times().map(|times| format!(", for times {times}")).unwrap_or_default();
        if mode.makes_ids() {
            series.add(format!("{index} {}{times}", mode.title()));
        } else if mode.routes_by_fields() {
            routed.add(format!("{index} {}", mode.title()));
        }
        if let Some(why) = sequence_numbers::missing(body) {
            unnumbered.add(format!("{index} {why}"));
        }
        if let SourceKept::Rebuilt(why) = SourceKept::of(body) {
            rebuilt.add(format!("{index} {why}"));
        }
    }
    let why = "options `id` and `routing`, updates and upserts are refused; documents with the same dimensions and time \
               replace each other, in any order, or are conflicts with the action create";
    let fix = "leave ids to the index; documents that are sent twice are one";
    series.tell(
        findings,
        finding("ids_of_documents", Confidence::Sure, "the index makes ids of its documents", why, fix),
    );
    let why = "options `id` and `routing`, updates and upserts are refused; the index makes ids of its own";
    let fix = "leave ids and routing values out";
    routed.tell(
        findings,
        finding("routing_by_fields", Confidence::Sure, "fields choose the shard of a document", why, fix),
    );
    let why = "updates and upserts are refused, and the index cannot be copied; a swap of its alias cannot tell or copy \
               late writes";
    let fix = "for a new index: index.disable_sequence_numbers false, or another index.mode";
    unnumbered.tell(
        findings,
        finding("sequence_numbers_none", Confidence::Sure, "the index keeps no sequence numbers", why, fix),
    );
    let why = "`inrush verify` compares the values of fields and not documents, `on_conflict=compare` is refused, and a \
               copy gets the rebuilt documents";
    let fix = "for a new index: index.mapping.source.mode stored, where its mode allows that";
    rebuilt.tell(findings, finding("source_rebuilt", Confidence::Sure, "the index rebuilds its documents", why, fix));
}

/// The types that Elasticsearch 9.5 indexes by column (`supportsBatchIndexing` of its mappers).
const IN_COLUMNS: [&str; 13] = [
    "text",
    "keyword",
    "long",
    "integer",
    "short",
    "byte",
    "double",
    "float",
    "half_float",
    "date",
    "date_nanos",
    "boolean",
    "ip",
];

/// What keeps a field from it, by its definition in the mapping.
const HINDRANCES: [(&str, &str); 6] = [
    ("fields", "has multi-fields"),
    ("copy_to", "is copied to another field"),
    ("script", "has a script"),
    ("normalizer", "has a normalizer"),
    ("time_series_dimension", "is a dimension"),
    ("index_prefixes", "has prefixes"),
];

/// Where a node indexes batches by column (`indices.batch_indexing`): the fields for which it goes
/// back to one document after the other.
fn batches(answers: &Answers, findings: &mut Vec<Finding>) {
    if answers.cluster_settings["indices.batch_indexing"].as_str() != Some("true") {
        return;
    }
    let mut group = Group::default();
    for (index, entry) in entries(&answers.mappings).filter(|(index, _)| !index.starts_with('.')) {
        let mapping = &entry["mappings"];
        let mut found = Vec::new();
        if entries(&mapping["runtime"]).next().is_some() {
            found.push("its mapping has runtime fields".to_owned());
        }
        let stream_time = mapping["_data_stream_timestamp"]["enabled"] == true;
        hindered("", mapping, stream_time, &mut found);
        if let Some(first) = found.first() {
            let more = if found.len() > 1 { format!(", and {} more", found.len() - 1) } else { String::new() };
            group.add(format!("{index}: {first}{more}"));
        }
    }
    let why = "the server indexes a request by column only if it can do so with each field of its documents; a field that \
               is not in the mapping yet counts as one that it cannot";
    let fix = "the setting off: 9.5.3 was faster without it; or, for a new index, a mapping with `dynamic` false or \
               strict, and these fields without what is named";
    group.tell(
        findings,
        finding("batches_by_row", Confidence::Likely, "documents with some fields are not indexed by column", why, fix),
    );
}

fn hindered(path: &str, definition: &Value, stream_time: bool, found: &mut Vec<String>) {
    for (name, field) in entries(&definition["properties"]) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let kind = field["type"].as_str().unwrap_or("object");
        let hindrance = HINDRANCES.iter().find(|(key, _)| field.get(key).is_some_and(|value| *value != false));
        if kind == "object" && field["enabled"] != false {
            hindered(&path, field, stream_time, found);
        } else if !IN_COLUMNS.contains(&kind) {
            found.push(format!("{path} is of type {kind}"));
        } else if let Some((_, why)) = hindrance {
            found.push(format!("{path} {why}"));
        } else if stream_time && path == "@timestamp" {
            found.push(format!("{path} is the time of a data stream or of logs"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(answers: &Answers) -> Vec<(&'static str, String)> {
        let mut findings = Vec::new();
        judge(answers, &mut findings);
        findings.into_iter().map(|finding| (finding.id, finding.evidence)).collect()
    }

    #[test]
    fn the_server_says_what_a_mode_means() {
        let modes = json!({
            "ts": {"settings": {"index": {"mode": "time_series", "routing_path": ["d"]}},
                "defaults": {"index": {"mapping": {"source": {"mode": "SYNTHETIC"}}}}},
            "columns": {"settings": {"index": {"mode": "columnar"}}, "defaults": {"index": {
                "mapping": {"source": {"mode": "SYNTHETIC"}}, "disable_sequence_numbers": "true"}}},
            "plain": {"settings": {"index": {}}, "defaults": {"index": {"mapping": {"source": {"mode": "STORED"}}}}},
        });
        let found = found(&Answers { modes, ..Answers::default() });
        let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, ["ids_of_documents", "sequence_numbers_none", "source_rebuilt"]);
        assert!(found[0].1.contains("ts makes the ids") && found[0].1.contains("(d)"), "{found:?}");
        assert!(
            found[2].1.contains("columns") && found[2].1.contains("ts") && !found[2].1.contains("plain"),
            "{found:?}"
        );
    }

    /// As Elasticsearch 9.5.3 has taken and not taken them.
    #[test]
    fn fields_that_are_not_indexed_by_column_are_named() {
        let answers = |on: &str, field: Value| Answers {
            cluster_settings: json!({"indices.batch_indexing": on}),
            mappings: json!({"a": {"mappings": {"properties": {"o": {"properties": {"f": field}}}}}}),
            ..Answers::default()
        };
        for field in [json!({"type": "long"}), json!({"type": "text"}), json!({"type": "keyword", "ignore_above": 5})] {
            assert!(found(&answers("true", field)).is_empty());
        }
        for (field, why) in [
            (json!({"type": "text", "fields": {"raw": {"type": "keyword"}}}), "a: o.f has multi-fields"),
            (json!({"type": "geo_point"}), "a: o.f is of type geo_point"),
            (json!({"type": "nested"}), "a: o.f is of type nested"),
            (json!({"type": "keyword", "copy_to": "x"}), "a: o.f is copied to another field"),
            (json!({"type": "keyword", "normalizer": "lowercase"}), "a: o.f has a normalizer"),
        ] {
            assert_eq!(found(&answers("true", field.clone())), [("batches_by_row", why.to_owned())]);
            assert!(found(&answers("false", field)).is_empty(), "no batches are indexed by column");
        }
    }
}
