//! Filters.

use super::pipeline::{Plugin, Setting};
use super::{Lines, METADATA, input, path};
use crate::from::Translation;

/// Fields that Logstash adds and a load does not.
const ADDED: [&str; 8] = ["message", "host", "path", "@version", "@timestamp", "event", "log", "tags"];

/// Settings of filters that change no document.
const NOT_NEEDED: [&str; 7] = [
    "ecs_compatibility",
    "enable_metric",
    "id",
    "periodic_flush",
    "skip_on_invalid_json",
    "tag_on_failure",
    "timeout_millis",
];

/// How lines become fields.
pub(super) struct Reading<'a> {
    pub(super) lines: Lines,
    /// The filter that reads the lines. None where the codec reads them, or the input has none.
    filter: Option<&'a Plugin>,
    /// The names of all fields, where they are known.
    columns: Vec<&'a str>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(input: &'a Plugin, mut filters: impl Iterator<Item = &'a Plugin>) -> Self {
        let columns = |plugin: Option<&'a Plugin>| plugin.map(|plugin| plugin.texts("columns")).unwrap_or_default();
        if let Some(lines) = input::lines(input) {
            return Reading { lines, filter: None, columns: columns(input::codec(input)) };
        }
        match filters.find_map(|filter| Some((filter, lines(filter)?))) {
            Some((filter, lines)) => Reading { lines, filter: Some(filter), columns: columns(Some(filter)) },
            None => Reading { lines: Lines::Text, filter: None, columns: Vec::new() },
        }
    }

    /// Whether a field can be one of the documents.
    fn may_have(&self, field: &str) -> bool {
        !ADDED.contains(&field)
            || match self.lines {
                Lines::Text => field == "message",
                Lines::Cells if !self.columns.is_empty() => self.columns.contains(&field),
                _ => true,
            }
    }
}

/// What a filter makes of a line. None: it does not read the line.
fn lines(filter: &Plugin) -> Option<Lines> {
    if filter.text("source").unwrap_or("message") != "message" {
        return None;
    }
    match filter.name.as_str() {
        "csv" => Some(Lines::Cells),
        "json" => Some(Lines::Json),
        "grok" => access_log(filter).map(Lines::Log),
        _ => None,
    }
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

pub(super) fn translate(filter: &Plugin, reading: &Reading, to: &mut Translation) {
    let reads = reading.filter.is_some_and(|reader| std::ptr::eq(reader, filter));
    match filter.name.as_str() {
        "csv" if reads => cells(filter, to),
        "json" | "grok" if reads => others(filter, &["source", "match", "remove_field"], to),
        "csv" | "json" => {
            let source = filter.text("source").unwrap_or("message");
            to.untranslated(&format!("the filter {} of the field {source}", filter.name));
        }
        "mutate" => mutate(filter, reading.lines, to),
        "date" => {
            to.note("date: the mapping says how a date is written (\"format\"), or to_timestamp of --sql makes one");
        }
        "grok" | "dissect" => to.note(format!(
            "{}: --parse combined reads access logs, --parse-regex other lines with a regular expression",
            filter.name
        )),
        other => to.untranslated(&format!("the filter {other}")),
    }
    let removed = filter.texts("remove_field").into_iter().map(path);
    for field in removed.filter(|field| reading.may_have(field) && !field.starts_with("@metadata")) {
        let is_all = reading.lines == Lines::Text && field == "message";
        if !is_all && (reads || filter.name == "mutate") {
            to.set("--drop", &field);
        } else {
            // Other fields were made of it, by a filter that is not translated.
            to.note(format!("remove_field of {}: the field {field} stays; --drop {field} removes it", filter.name));
        }
    }
}

/// Names the settings that are not known.
fn others(plugin: &Plugin, known: &[&str], to: &mut Translation) {
    let names = plugin.settings.iter().map(|(name, _)| name.as_str());
    for name in names.filter(|name| !known.contains(name) && !NOT_NEEDED.contains(name)) {
        to.untranslated(&format!("the setting {name} of {}", plugin.name));
    }
}

/// The settings of a filter or a codec `csv`.
pub(super) fn cells(filter: &Plugin, to: &mut Translation) {
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
            "convert" => schema(setting, to),
            _ => {}
        }
    }
    let has_header = skips || filter.text("autodetect_column_names") == Some("true");
    if filter.get("columns").is_none() && !has_header {
        to.flag("--no-header");
        to.note("names of columns are c1, c2 and so on, not column1; without --no-header the first row has the names");
    }
    to.flag("--all-strings");
    to.note("CSV: without --all-strings numbers become numbers");
    let known = [
        "separator",
        "quote_char",
        "columns",
        "convert",
        "charset",
        "source",
        "skip_header",
        "skip_empty_rows",
        "skip_empty_columns",
        "autodetect_column_names",
        "autogenerate_column_names",
        "remove_field",
    ];
    others(filter, &known, to);
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
            name if is_for_metadata(name, setting) => {
                if name == "rename" {
                    setting.pairs().iter().for_each(|(field, _)| to.set("--drop", &path(field)));
                }
            }
            other => to.note(format!("mutate {other}: --sql computes and renames fields; see docs/sql.md")),
        }
    }
}
