//! Filters.

use super::pipeline::{Plugin, Setting};
use super::{Lines, METADATA, input, path, reference, settings, tables};
use crate::from::Translation;

/// Fields that Logstash adds and a load does not.
const ADDED: [&str; 8] = ["message", "host", "path", "@version", "@timestamp", "event", "log", "tags"];

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
    let settings = filters.flat_map(|filter| &filter.settings);
    let copies = settings.flat_map(|(name, setting)| setting.pairs().into_iter().map(move |pair| (name, pair)));
    let copies = copies.filter_map(|(name, (one, other))| match name.as_str() {
        "copy" | "rename" => Some((other, Some(one))),
        "add_field" => Some((one, reference(other))),
        _ => None,
    });
    let copies = copies.filter(|(target, _)| target.starts_with(METADATA));
    copies.map(|(target, field)| (target.to_owned(), field.map(path).unwrap_or_default())).collect()
}

/// Whether a setting copies fields into metadata and does nothing else.
pub(super) fn is_for_metadata(name: &str, setting: &Setting) -> bool {
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
    let shown = format!("the filter {}", filter.name);
    match filter.name.as_str() {
        "csv" if reads => cells(filter, to),
        "grok" if reads => to.note("grok: fields have the names without ECS, as clientip"),
        "json" if reads => {}
        "csv" | "json" => {
            let source = filter.text("source").unwrap_or("message");
            to.refuse(&format!("{shown} of the field {source}"), "a load reads lines once, as a whole");
        }
        "grok" => {
            to.refuse(&shown, "--parse combined reads access logs, --parse-regex other lines with a regular expression")
        }
        "mutate" => mutate(filter, reading.lines, to),
        _ if tables::is_known(filter) => {}
        _ => return to.refuse(&shown, "it decides which documents there are, or what is in them; see --sql"),
    }
    if filter.get("add_field").is_some_and(|fields| !is_for_metadata("add_field", fields)) {
        to.refuse(&format!("add_field of {shown}"), "it adds a field; --sql adds fields");
    }
    settings(filter, to);
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

/// The cells of a filter or a codec `csv`.
pub(super) fn cells(plugin: &Plugin, to: &mut Translation) {
    for (name, flag) in [("separator", "--separator"), ("quote_char", "--quote")] {
        if let Some(value) = plugin.text(name) {
            to.set(flag, value);
        }
    }
    let (columns, is_on) = (plugin.texts("columns").join(","), |name| plugin.text(name) == Some("true"));
    match (columns.is_empty(), is_on("autodetect_column_names"), is_on("skip_header")) {
        (false, _, true) => {
            to.note(format!("columns: the header of the file is taken in place of {columns}"));
        }
        (false, _, false) => to.set("--columns", &columns),
        (true, true, _) => {}
        (true, false, _) => to.refuse(
            &format!("csv of the {} without columns", plugin.section),
            "the fields would be column1, column2 and so on, and those of a load c1, c2; name them with columns",
        ),
    }
    to.flag("--all-strings");
    to.note("CSV: without --all-strings numbers become numbers");
    to.note(
        "CSV: an empty cell is left out, and a row with more or fewer cells than columns is a dead letter; Logstash \
         writes null, and loads the cells that there are",
    );
    if let Some(types) = plugin.get("convert") {
        schema(types, to);
    }
}

/// Types of columns.
fn schema(types: &Setting, to: &mut Translation) {
    let mut schema = Vec::new();
    for (field, kind) in types.pairs() {
        match kind {
            "integer" | "float" | "string" | "boolean" | "date" => schema.push(format!("{field}:{kind}")),
            "date_time" => schema.push(format!("{field}:timestamp")),
            other => to.refuse(&format!("convert of {field} to {other}"), "it changes values; --sql computes fields"),
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
            "convert" => {
                to.refuse("convert of the filter mutate", "types of JSON and text stay; --sql converts values");
            }
            "rename" if is_for_metadata(name, setting) => {
                setting.pairs().iter().for_each(|(field, _)| to.set("--drop", &path(field)));
            }
            "rename" => {
                let renames = setting.pairs();
                renames.iter().for_each(|(one, other)| to.set("--rename", &format!("{}={}", path(one), path(other))));
            }
            "copy" if !is_for_metadata(name, setting) => {
                to.refuse("copy of the filter mutate", "--sql computes fields; see docs/sql.md");
            }
            _ => {}
        }
    }
}

/// Refuses renames of fields that other settings name, too. Filters run one after the other, and a
/// command renames and drops all fields at once.
pub(super) fn check_renames(to: &mut Translation) {
    let of = |flag: &str| -> Vec<String> {
        let given = to.arguments.iter().filter(|argument| argument.first().is_some_and(|first| first == flag));
        given.filter_map(|argument| argument.get(1).cloned()).collect()
    };
    let (renames, drops) = (of("--rename"), of("--drop"));
    for (at, rename) in renames.iter().enumerate() {
        let Some((old, new)) = rename.split_once('=') else { continue };
        let others = renames.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.filter_map(|(_, other)| other.split_once('=')).flat_map(|(old, new)| [old, new]);
        let mut named = others.chain(drops.iter().map(String::as_str));
        if named.any(|name| is_within(name, old) || is_within(name, new) || is_within(new, name)) {
            let reason = "another setting names one of the two fields, and filters run one after the other; see --sql";
            to.refuse(&format!("rename of {old} to {new}"), reason);
        }
    }
}

/// Whether a field is the other one, or inside it.
fn is_within(field: &str, other: &str) -> bool {
    field.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
