//! Filters.

use super::pipeline::{Plugin, Setting};
use super::{Lines, METADATA, path};
use crate::from::Translation;

/// Fields that Logstash adds and a load does not.
const ADDED: [&str; 8] = ["message", "host", "path", "@version", "@timestamp", "event", "log", "tags"];

/// What the filters make of a line.
pub(super) fn lines<'a>(filters: impl Iterator<Item = &'a Plugin>) -> Lines {
    let mut lines = filters.filter_map(|filter| match filter.name.as_str() {
        "csv" => Some(Lines::Cells),
        "json" => Some(Lines::Json),
        "grok" => access_log(filter).map(Lines::Log),
        _ => None,
    });
    lines.next().unwrap_or(Lines::Text)
}

/// The access log that a pattern stands for.
fn access_log(grok: &Plugin) -> Option<&'static str> {
    match grok.get("match")?.pairs().as_slice() {
        [("message", "%{COMBINEDAPACHELOG}" | "%{HTTPD_COMBINEDLOG}")] => Some("combined"),
        [("message", "%{COMMONAPACHELOG}" | "%{HTTPD_COMMONLOG}")] => Some("common"),
        _ => None,
    }
}

/// The fields that a filter has copied into metadata, which only the output sees: the name there,
/// and the name of the field.
pub(super) fn metadata<'a>(filters: impl Iterator<Item = &'a Plugin>) -> Vec<(String, String)> {
    let mutates = filters.filter(|filter| filter.name == "mutate");
    let settings = mutates.flat_map(|filter| &filter.settings);
    let copies = settings.flat_map(|(name, setting)| setting.pairs().into_iter().map(move |pair| (name, pair)));
    let copies = copies.filter_map(|(name, (one, other))| match name.as_str() {
        "copy" | "rename" => Some((other, one)),
        "add_field" => Some((one, other.strip_prefix("%{")?.strip_suffix('}')?)),
        _ => None,
    });
    let copies = copies.filter(|(target, _)| target.starts_with(METADATA));
    copies.map(|(target, field)| (target.to_owned(), path(field))).collect()
}

/// Whether a setting copies fields into metadata and does nothing else.
fn is_for_metadata(name: &str, setting: &Setting) -> bool {
    let pairs = setting.pairs();
    !pairs.is_empty()
        && pairs.iter().all(|(one, other)| match name {
            "copy" | "rename" => other.starts_with(METADATA),
            "add_field" => one.starts_with(METADATA),
            _ => false,
        })
}

pub(super) fn translate(filter: &Plugin, lines: Lines, to: &mut Translation) {
    match filter.name.as_str() {
        "csv" => cells(filter, to),
        "json" => {}
        "mutate" => mutate(filter, lines, to),
        "date" => {
            to.note("date: the mapping says how a date is written (\"format\"), or to_timestamp of --sql makes one");
        }
        "grok" if access_log(filter).is_some() => {}
        "grok" | "dissect" => to.note(format!(
            "{}: --parse combined reads access logs, --parse-regex other lines with a regular expression",
            filter.name
        )),
        other => to.untranslated(&format!("the filter {other}")),
    }
}

fn cells(filter: &Plugin, to: &mut Translation) {
    let skips = filter.text("skip_header") == Some("true");
    for (name, setting) in &filter.settings {
        let value = setting.texts().first().copied().unwrap_or_default();
        match name.as_str() {
            "separator" => to.set("--separator", value),
            "quote_char" => to.set("--quote", value),
            "columns" if skips => {
                let columns = setting.texts().join(",");
                to.note(format!("columns: the header of the file is taken in place of {columns}"));
            }
            "columns" => to.set("--columns", &setting.texts().join(",")),
            "autogenerate_column_names" if !skips && filter.get("columns").is_none() && value == "true" => {
                to.flag("--no-header");
                to.note("names of columns are c1, c2 and so on, not column1");
            }
            "convert" => schema(setting, to),
            "source"
            | "skip_header"
            | "skip_empty_rows"
            | "skip_empty_columns"
            | "autodetect_column_names"
            | "autogenerate_column_names"
            | "remove_field" => {}
            other => to.untranslated(&format!("the setting {other} of csv")),
        }
    }
    dropped(filter, to);
}

/// Types of columns.
fn schema(types: &Setting, to: &mut Translation) {
    let mut schema = Vec::new();
    for (field, kind) in types.pairs() {
        match kind {
            "integer" | "float" | "string" | "boolean" | "date" => schema.push(format!("{field}:{kind}")),
            "date_time" => schema.push(format!("{field}:timestamp")),
            other => to.untranslated(&format!("convert of {field} to {other}")),
        }
    }
    if !schema.is_empty() {
        to.set("--schema", &schema.join(","));
    }
}

fn mutate(filter: &Plugin, lines: Lines, to: &mut Translation) {
    for (name, setting) in &filter.settings {
        match name.as_str() {
            "convert" if lines == Lines::Cells => schema(setting, to),
            "convert" => to.note("convert: types of JSON stay; the mapping decides about types in the index"),
            "remove_field" => {}
            name if is_for_metadata(name, setting) => {}
            other => to.note(format!("mutate {other}: --sql computes and renames fields; see docs/sql.md")),
        }
    }
    dropped(filter, to);
}

/// Fields that a filter removes.
fn dropped(filter: &Plugin, to: &mut Translation) {
    for field in filter.texts("remove_field").into_iter().filter(|field| !ADDED.contains(field)) {
        to.set("--drop", &path(field));
    }
}
