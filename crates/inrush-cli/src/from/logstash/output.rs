//! The output.

use super::address;
use super::pipeline::Plugin;
use super::{Lines, METADATA, hosts, path, reference, settings};
use crate::from::Translation;

/// What is known before the output.
#[derive(Default)]
pub(super) struct Before {
    /// The fields that have the id of a document in an index, or the key of a record.
    pub(super) id: Vec<String>,
    /// Whether the input is an index: its documents keep their ids in a load.
    pub(super) has_ids: bool,
    /// Whether the input is a topic: in a load ids are the keys of records.
    pub(super) has_keys: bool,
    /// Fields in metadata: the name there, and the name of the field, empty if it is none.
    pub(super) metadata: Vec<(String, String)>,
    pub(super) lines: Lines,
}

impl Before {
    /// The field that a text as `%{[shop][sku]}` stands for.
    fn field(&self, text: &str) -> Option<String> {
        let name = reference(text)?;
        match self.metadata.iter().rfind(|(target, _)| target == name) {
            Some((_, field)) => Some(field.clone()).filter(|field| !field.is_empty()),
            None => (!name.starts_with(METADATA)).then(|| path(name)),
        }
    }

    /// Whether this is the id that the document had in the index of the input, or the key of the
    /// record. A filter may have written another one over it.
    fn is_id_of_source(&self, text: &str) -> bool {
        let id = reference(text).filter(|name| self.id.contains(&path(name)));
        id.is_some_and(|name| self.metadata.iter().all(|(target, _)| target != name))
    }
}

/// Settings with which the plugin writes to no data stream unless it is told to.
const OF_INDICES: [&str; 21] = [
    "document_type",
    "doc_as_upsert",
    "ilm_enabled",
    "ilm_pattern",
    "ilm_policy",
    "ilm_rollover_alias",
    "join_field",
    "parent",
    "retry_on_conflict",
    "script",
    "script_lang",
    "script_type",
    "script_var_name",
    "scripted_upsert",
    "template",
    "template_api",
    "template_name",
    "template_overwrite",
    "upsert",
    "version",
    "version_type",
];

pub(super) fn translate(output: &Plugin, before: &Before, to: &mut Translation) {
    match output.text("index") {
        Some(name) => index(name, before, to),
        None => without_index(output, before.lines, to),
    }
    match output.text("document_id") {
        // Logstash deletes nothing.
        Some(id) if before.is_id_of_source(id) && before.has_keys => to.set("--on-null", "skip"),
        Some(id) if before.is_id_of_source(id) => {}
        Some(_) => field("document_id", "--id", output, before, to),
        None if before.has_keys => to.set("--id-from", "position"),
        None if before.has_ids => to.refuse(
            "an output without document_id",
            "the cluster makes ids, and in a load documents of an index keep theirs; translate it with \
             docinfo => true and document_id => \"%{[@metadata][_id]}\" if they are to be kept",
        ),
        None => {}
    }
    field("routing", "--routing", output, before, to);
    field("version", "--version", output, before, to);
    fixed("action", output, to, |action, to| {
        let upsert = output.text("doc_as_upsert") == Some("true");
        to.set("--action", if upsert && action == "update" { "upsert" } else { action });
    });
    fixed("pipeline", output, to, |pipeline, to| to.set("--pipeline", pipeline));
    settings(output, to);
    if output.text("ssl_verification_mode") == Some("none") {
        to.flag("--insecure");
    }
    let (hosts, user) = hosts(output, |_| 9200, to);
    address::login(output, user, "--user", "INRUSH_PASSWORD", to);
    to.set("--to", &hosts.join(","));
}

/// The data stream or index that the plugin takes where none is named.
fn without_index(output: &Plugin, lines: Lines, to: &mut Translation) {
    if output.name == "opensearch" {
        to.set("--index", "logstash-{@timestamp:yyyy.MM.dd}");
        to.note("index: each document needs @timestamp, or give a name without a date");
        return;
    }
    let is_for_stream = match output.text("data_stream").unwrap_or("auto") {
        "true" => true,
        "false" => false,
        _ => {
            OF_INDICES.iter().all(|name| output.get(name).is_none())
                && output.text("action").unwrap_or("create") == "create"
                && output.text("manage_template") != Some("true")
                && output.text("ecs_compatibility") != Some("disabled")
        }
    };
    if !is_for_stream {
        to.refuse("an output without index", "its settings are not those of a data stream; name the index");
        return;
    }
    let part = |name, default| output.text(name).unwrap_or(default);
    let kind = part("data_stream_type", "logs");
    let (dataset, namespace) = (part("data_stream_dataset", "generic"), part("data_stream_namespace", "default"));
    to.set("--index", &format!("{kind}-{dataset}-{namespace}"));
    if output.get("action").is_none() {
        to.set("--action", "create");
    }
    to.note("index: Logstash writes to this data stream; each document needs @timestamp, or name an index instead");
    to.note("index: Logstash takes another stream for documents with the field data_stream, and adds it to others");
    if let Lines::Log(format) = lines {
        to.set("--timestamp", "timestamp");
        to.note(format!("--parse {format} names the time timestamp, which --timestamp makes @timestamp of"));
    }
}

/// A setting that is one field.
fn field(setting: &str, flag: &str, output: &Plugin, before: &Before, to: &mut Translation) {
    let Some(value) = output.text(setting) else { return };
    match before.field(value) {
        Some(field) => to.set(flag, &field),
        None => {
            to.refuse(&format!("{setting} {value}"), "it is a field in a load; --sql computes one; see docs/sql.md")
        }
    }
}

/// A setting that is the same for all documents.
fn fixed(setting: &str, output: &Plugin, to: &mut Translation, set: impl Fn(&str, &mut Translation)) {
    match output.text(setting) {
        Some(value) if value.contains("%{") => {
            to.refuse(&format!("{setting} {value}"), "it is the same for all documents of a load");
        }
        Some(value) => set(value, to),
        None => {}
    }
}

/// `logs-%{+YYYY.MM.dd}` as `logs-{@timestamp:yyyy.MM.dd}`, and `logs-%{tenant}` as
/// `logs-{tenant}`.
fn index(name: &str, before: &Before, to: &mut Translation) {
    let mut parts = name.split("%{");
    let mut index = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (field, rest) = part.split_once('}').unwrap_or((part, ""));
        let field = match field.strip_prefix('+') {
            Some(date) => {
                to.note("index: each document needs @timestamp, or name another field for the date");
                format!("@timestamp:{}", date.replace("YYYY", "yyyy"))
            }
            None => before.field(&format!("%{{{field}}}")).unwrap_or_else(|| {
                to.refuse(&format!("index {name}"), &format!("documents have no field {field}; name each index"));
                String::new()
            }),
        };
        index.extend(["{", &field, "}", rest]);
    }
    to.set("--index", &index);
}
