//! Inputs.

use super::filter::cells;
use super::pipeline::{Plugin, Setting};
use super::{Lines, hosts, path};
use crate::failure::UsageError;
use crate::from::{Translation, search};
use inrush_core::Code;

/// Settings that change no document, or have no counterpart that is needed.
const NOT_NEEDED: [&str; 27] = [
    "check_archive_validity",
    "clean_run",
    "close_older",
    "connection_retry_attempts",
    "connection_retry_attempts_wait_time",
    "consumer_threads",
    "discover_interval",
    "docinfo",
    "docinfo_fields",
    "docinfo_target",
    "ecs_compatibility",
    "enable_metric",
    "id",
    "jdbc_driver_class",
    "jdbc_driver_library",
    "jdbc_fetch_size",
    "jdbc_page_size",
    "jdbc_paging_enabled",
    "jdbc_validate_connection",
    "last_run_metadata_path",
    "record_last_run",
    "scroll",
    "size",
    "slices",
    "start_position",
    "stat_interval",
    "tracking_column_type",
];

pub(super) fn translate(input: &Plugin, lines: Lines, to: &mut Translation) -> Result<(), UsageError> {
    let known: &[&str] = match input.name.as_str() {
        "file" => file(input, to),
        "stdin" => {
            to.source("-");
            &[]
        }
        "jdbc" => table(input, to)?,
        "kafka" => topics(input, to),
        "elasticsearch" | "opensearch" => index(input, to),
        other => {
            let error = UsageError::new(Code::NotTranslated, format!("the input {other} has no counterpart"));
            return Err(error.hint("file, stdin, jdbc, kafka, elasticsearch and opensearch have one"));
        }
    };
    if has_lines(input) {
        format(input, lines, to);
    }
    for (name, _) in &input.settings {
        match name.as_str() {
            "codec" => {}
            "type" | "tags" | "add_field" => to.note(format!("{name}: --sql adds fields; see docs/sql.md")),
            name if known.contains(&name) || NOT_NEEDED.contains(&name) => {}
            other => to.untranslated(&format!("the setting {other} of the input")),
        }
    }
    Ok(())
}

/// Whether a codec reads what the input gives.
fn has_lines(input: &Plugin) -> bool {
    ["file", "stdin", "kafka"].contains(&input.name.as_str())
}

/// The codec of an input, if it has settings.
pub(super) fn codec(input: &Plugin) -> Option<&Plugin> {
    match input.get("codec")? {
        Setting::Codec(codec) => Some(codec),
        _ => None,
    }
}

/// What the input makes of a line. None: filters read it.
pub(super) fn lines(input: &Plugin) -> Option<Lines> {
    match input.text("codec") {
        _ if !has_lines(input) => Some(Lines::Json),
        Some("json" | "json_lines") => Some(Lines::Json),
        Some("csv") => Some(Lines::Cells),
        _ => None,
    }
}

/// The fields in which an index as input can keep the id of a document.
pub(super) fn fields_of_id(input: &Plugin) -> Vec<String> {
    let targets = match input.text("docinfo_target") {
        Some(target) => vec![target],
        None => vec!["[@metadata]", "[@metadata][input][elasticsearch]"],
    };
    targets.into_iter().map(|target| format!("{}._id", path(target))).collect()
}

/// The format of lines and of values of a topic.
fn format(input: &Plugin, lines: Lines, to: &mut Translation) {
    let of_lines = |to: &mut Translation| match lines {
        Lines::Text => to.set("--format", "text"),
        Lines::Cells => to.set("--format", "csv"),
        Lines::Json => to.set("--format", "ndjson"),
        Lines::Log(format) => to.set("--parse", format),
    };
    match input.text("codec").unwrap_or("plain") {
        // Values of a topic are JSON without a flag.
        "json" if input.name == "kafka" => {}
        "plain" if input.name == "kafka" && lines == Lines::Json => {}
        "json" | "json_lines" => to.set("--format", "ndjson"),
        "csv" => to.set("--format", "csv"),
        "plain" | "line" => of_lines(to),
        other => to.untranslated(&format!("codec {other}")),
    }
    match codec(input) {
        Some(codec) => settings_of(codec, to),
        // The codec's defaults have a meaning, too.
        None if input.text("codec") == Some("csv") => {
            let codec = Plugin { section: "codec".to_owned(), name: "csv".to_owned(), settings: Vec::new() };
            settings_of(&codec, to);
        }
        None => {}
    }
}

/// The settings of a codec.
fn settings_of(codec: &Plugin, to: &mut Translation) {
    if codec.name == "csv" {
        cells(codec, to);
    }
    if let Some(charset) = codec.text("charset").filter(|charset| *charset != "UTF-8") {
        to.set("--charset", charset);
    }
    let names = codec.settings.iter().map(|(name, _)| name.as_str());
    for name in names.filter(|name| codec.name != "csv" && !["charset", "id", "ecs_compatibility"].contains(name)) {
        to.untranslated(&format!("the setting {name} of the codec {}", codec.name));
    }
}

fn file(input: &Plugin, to: &mut Translation) -> &'static [&'static str] {
    for path in input.texts("path") {
        to.source(path);
    }
    if input.text("mode") != Some("read") {
        to.note("file: a load reads files to their end, and does not follow them");
    }
    if input.text("sincedb_path").is_some_and(|path| path != "/dev/null") {
        to.note("sincedb_path: with --once files that have not changed are not loaded again");
    }
    &["path", "mode", "sincedb_path", "file_completed_action", "file_completed_log_path"]
}

fn table(input: &Plugin, to: &mut Translation) -> Result<&'static [&'static str], UsageError> {
    let address = input.text("jdbc_connection_string").unwrap_or_default();
    let Some(source) = database(address, input.text("jdbc_user")) else {
        let shown = address.split(['?', ';']).next().unwrap_or_default();
        let error = UsageError::new(Code::NotTranslated, format!("the database {shown} has no counterpart"));
        return Err(error.hint("Postgres, MySQL, MariaDB and SQLite have one"));
    };
    to.source(&source);
    if address.contains('?') {
        to.note("jdbc_connection_string: parameters of the driver are left out");
    }
    let statement = input.text("statement");
    if let Some(statement) = statement {
        to.set("--db-query", statement);
    } else if let Some(file) = input.text("statement_filepath") {
        to.set("--db-query", &format!("@{file}"));
    }
    let tracks = input.get("tracking_column").is_some() || input.text("use_column_value") == Some("true");
    if tracks || statement.is_some_and(|statement| statement.contains(":sql_last_value")) {
        to.note(":sql_last_value is not kept: load the whole table with ids, or write the condition into --db-query");
    }
    if input.get("parameters").is_some() {
        to.note("parameters: write their values into --db-query");
    }
    if input.get("jdbc_password").is_some() || input.get("jdbc_password_filepath").is_some() {
        to.note("jdbc_password: give --source-password-file, or PGPASSWORD or MYSQL_PWD");
    }
    if input.get("schedule").is_some() {
        to.note("schedule: cron, systemd or Kubernetes start the command; see docs/unattended.md");
    }
    if input.text("lowercase_column_names") != Some("false") {
        to.note("names of columns keep their case; Logstash writes them in lower case");
    }
    Ok(&[
        "jdbc_connection_string",
        "jdbc_user",
        "jdbc_password",
        "jdbc_password_filepath",
        "statement",
        "statement_filepath",
        "parameters",
        "schedule",
        "tracking_column",
        "use_column_value",
        "lowercase_column_names",
    ])
}

/// The address of a database for a load.
fn database(address: &str, user: Option<&str>) -> Option<String> {
    let rest = address.strip_prefix("jdbc:")?;
    let (scheme, rest) = rest.split_once(':')?;
    // Parameters of the driver may hold a password.
    let rest = rest.split('?').next()?;
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    match scheme {
        "postgresql" => Some(format!("postgres://{user}{}", rest.strip_prefix("//")?)),
        "mysql" | "mariadb" => Some(format!("mysql://{user}{}", rest.strip_prefix("//")?)),
        "sqlite" => Some(format!("sqlite://{rest}")),
        _ => None,
    }
}

fn topics(input: &Plugin, to: &mut Translation) -> &'static [&'static str] {
    let servers = input.text("bootstrap_servers").unwrap_or("localhost:9092").replace(' ', "");
    let pattern = input.text("topics_pattern").and_then(beginning);
    let topics = match input.texts("topics") {
        topics if topics.is_empty() => pattern.clone().unwrap_or_else(|| "logstash".to_owned()),
        topics => topics.join(","),
    };
    if pattern.is_none() && input.get("topics_pattern").is_some() {
        to.note("topics_pattern: a load takes names, and patterns that are a beginning, as logs-*");
    }
    to.source(&format!("kafka://{servers}/{topics}"));
    // The load begins at the offsets of Logstash.
    to.set("--group", input.text("group_id").unwrap_or("logstash"));
    to.set("--from", input.text("auto_offset_reset").unwrap_or("latest"));
    if input.get("auto_offset_reset").is_none() {
        to.note("--from latest: where the group has no offset, Logstash begins at the end; earliest loads all");
    }
    to.note("kafka: stop Logstash first, because both are members of one group; keys are ids; see docs/kafka.md");
    &["bootstrap_servers", "topics", "topics_pattern", "group_id", "auto_offset_reset"]
}

/// `logs-*` for the pattern `logs-.*`.
fn beginning(pattern: &str) -> Option<String> {
    let beginning = pattern.strip_suffix(".*")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    beginning.chars().all(is_plain).then(|| format!("{beginning}*"))
}

fn index(input: &Plugin, to: &mut Translation) -> &'static [&'static str] {
    let (hosts, user) = hosts(input);
    if hosts.len() > 1 {
        to.note("hosts: the index is read at the first one");
    }
    to.source(&format!("{}/{}", hosts[0], input.text("index").unwrap_or("logstash-*")));
    if let Some(user) = input.text("user").or(user.as_deref()) {
        to.login("--from-user", "INRUSH_FROM_PASSWORD", Some(user));
    }
    if let Some(body) = input.text("query")
        && search("the query", body, to).is_err()
    {
        to.untranslated("the query");
    }
    if input.get("schedule").is_some() {
        to.note("schedule: cron, systemd or Kubernetes start the command; see docs/unattended.md");
    }
    to.note("documents keep their ids; --copy-mapping and --copy-settings make the new index like the old one");
    &["hosts", "index", "query", "user", "password", "ssl", "ssl_enabled", "schedule"]
}
