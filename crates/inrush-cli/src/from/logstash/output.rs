//! The output.

use super::pipeline::Plugin;
use super::{Lines, METADATA, hosts, path};
use crate::from::Translation;

/// What is known before the output.
pub(super) struct Before {
    /// The fields that have the id of a document in an index, which it keeps. Empty for other
    /// inputs.
    pub(super) id: Vec<String>,
    /// Fields in metadata: the name there, and the name of the field.
    pub(super) metadata: Vec<(String, String)>,
    pub(super) lines: Lines,
}

/// Settings with which the plugin writes to no data stream unless it is told to.
const OF_INDICES: [&str; 18] = [
    "document_id",
    "document_type",
    "doc_as_upsert",
    "ilm_enabled",
    "ilm_pattern",
    "ilm_policy",
    "ilm_rollover_alias",
    "parent",
    "retry_on_conflict",
    "script",
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
    let (hosts, user) = hosts(output);
    let upsert = output.text("doc_as_upsert") == Some("true");
    if output.get("index").is_none() {
        without_index(output, before.lines, to);
    }
    for (name, setting) in &output.settings {
        let value = setting.texts().first().copied().unwrap_or_default();
        match name.as_str() {
            "index" => index(value, to),
            "document_id" if is_id_of_source(value, before) => {}
            "document_id" => field(name, "--id", value, before, to),
            "routing" => field(name, "--routing", value, before, to),
            "version" => field(name, "--version", value, before, to),
            "version_type" if value != "external" && output.get("version").is_some() => {
                to.note(format!("version_type {value}: --version means external, so an equal version is a conflict"));
            }
            "action" => to.set("--action", if upsert { "upsert" } else { value }),
            "pipeline" => to.set("--pipeline", value),
            "user" => to.login("--user", "INRUSH_PASSWORD", Some(value)),
            "api_key" => to.login("--user", "INRUSH_API_KEY", None),
            "cacert" | "ssl_certificate_authorities" => to.set("--ca", value),
            "ssl_certificate_verification" if value == "false" => to.flag("--insecure"),
            "ssl_verification_mode" if value == "none" => to.flag("--insecure"),
            "template" => to.note("template: put the template into the cluster, or give --mapping and --settings"),
            "document_type" => to.note("document_type: servers of today have no types"),
            "flush_size" | "idle_flush_time" | "workers" | "pool_max" | "pool_max_per_route" => to.tuned(name),
            // The address is the last argument.
            "hosts"
            | "doc_as_upsert"
            | "password"
            | "ssl"
            | "ssl_enabled"
            | "manage_template"
            | "ilm_enabled"
            | "version_type"
            | "template_name"
            | "template_overwrite"
            | "http_compression"
            | "id"
            | "ecs_compatibility"
            | "data_stream"
            | "data_stream_type"
            | "data_stream_dataset"
            | "data_stream_namespace"
            | "ssl_certificate_verification"
            | "ssl_verification_mode" => {}
            _ => to.untranslated(&format!("the setting {name} of the output")),
        }
    }
    if let (None, Some(user)) = (output.get("user"), user) {
        to.login("--user", "INRUSH_PASSWORD", Some(&user));
    }
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
        }
    };
    if !is_for_stream {
        to.note("index: the pipeline names none, and its settings are not those of a data stream: give --index NAME");
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
    if let Lines::Log(format) = lines {
        to.note(format!(
            "--parse {format} names the time timestamp: name an index, or a --pipeline that renames it to @timestamp"
        ));
    }
}

/// Whether this is the id that the document had in the index of the input. A filter may have
/// written another one over it.
fn is_id_of_source(value: &str, before: &Before) -> bool {
    let Some(name) = value.strip_prefix("%{").and_then(|rest| rest.strip_suffix('}')) else { return false };
    before.id.contains(&path(name)) && before.metadata.iter().all(|(target, _)| target != name)
}

/// A setting that is one field, as in `%{[shop][sku]}`.
fn field(setting: &str, flag: &str, value: &str, before: &Before, to: &mut Translation) {
    let name = value.strip_prefix("%{").and_then(|rest| rest.strip_suffix('}'));
    let copied = before.metadata.iter().find(|(target, _)| Some(target.as_str()) == name);
    match (name, copied) {
        (_, Some((_, field))) => to.set(flag, field),
        (Some(name), None) if !name.contains("%{") && !name.starts_with('+') && !name.starts_with(METADATA) => {
            to.set(flag, &path(name));
        }
        _ => to.note(format!("{setting} {value}: only a field can be given; --sql computes one")),
    }
}

/// `logs-%{+YYYY.MM.dd}` as `logs-{@timestamp:yyyy.MM.dd}`, and `logs-%{tenant}` as
/// `logs-{tenant}`.
fn index(name: &str, to: &mut Translation) {
    let mut parts = name.split("%{");
    let mut index = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (field, rest) = part.split_once('}').unwrap_or((part, ""));
        let field = match field.strip_prefix('+') {
            Some(date) => {
                to.note("index: each document needs @timestamp, or name another field for the date");
                format!("@timestamp:{}", date.replace("YYYY", "yyyy"))
            }
            None if field.starts_with(METADATA) => {
                to.note(format!("index {name}: documents have no field {field}; make a command of each index"));
                path(field)
            }
            None => path(field),
        };
        index.extend(["{", &field, "}", rest]);
    }
    to.set("--index", &index);
}
