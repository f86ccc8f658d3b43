//! Inputs.

use inrush_cluster::transport::path_segment;

use super::filter::{cells, is_for_metadata};
use super::output::Before;
use super::pipeline::{Plugin, Setting};
use super::{Lines, address, hosts, path, settings};
use crate::from::{Translation, decoded, search};

/// Parameters of a driver of a database that decide nothing about the rows.
const NOT_NEEDED: [&str; 20] = [
    "allowPublicKeyRetrieval",
    "ApplicationName",
    "autoReconnect",
    "characterEncoding",
    "connectTimeout",
    "defaultFetchSize",
    "defaultRowFetchSize",
    "loginTimeout",
    "password",
    "prepareThreshold",
    "requireSSL",
    "socketTimeout",
    "ssl",
    "sslMode",
    "sslmode",
    "tcpKeepAlive",
    "useCursorFetch",
    "useSSL",
    "useUnicode",
    "verifyServerCertificate",
];

pub(super) fn translate(input: &Plugin, lines: Lines, to: &mut Translation) {
    match input.name.as_str() {
        "file" => file(input, to),
        "stdin" => to.source("-"),
        "jdbc" => table(input, to),
        "kafka" => topics(input, to),
        "elasticsearch" | "opensearch" => index(input, to),
        // Refused where the settings are read.
        _ => {}
    }
    if has_lines(input) {
        format(input, lines, to);
    }
    if input.get("add_field").is_some_and(|fields| !is_for_metadata("add_field", fields)) {
        to.refuse(&format!("add_field of the input {}", input.name), "it adds a field; --sql adds fields");
    }
    settings(input, to);
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

/// The name of the codec. With a registry of schemas values are JSON without one.
fn name_of_codec(input: &Plugin) -> &str {
    let default = if input.get("schema_registry_url").is_some() { "json" } else { "plain" };
    input.text("codec").unwrap_or(default)
}

/// What the input makes of a line. None: filters read it.
pub(super) fn lines(input: &Plugin) -> Option<Lines> {
    match name_of_codec(input) {
        _ if !has_lines(input) => Some(Lines::Json),
        "json" | "json_lines" => Some(Lines::Json),
        "csv" => Some(Lines::Cells),
        _ => None,
    }
}

/// What the id of a document is where the output gives none, and the fields that have it.
pub(super) fn before(input: &Plugin) -> Before {
    let mut before = Before::default();
    match input.name.as_str() {
        "kafka" => {
            before.has_keys = true;
            if !["none", "false"].contains(&input.text("decorate_events").unwrap_or("none")) {
                before.id.push("@metadata.kafka.key".to_owned());
            }
        }
        "elasticsearch" | "opensearch" => {
            before.has_ids = true;
            let fields = input.texts("docinfo_fields");
            if input.text("docinfo") == Some("true") && (fields.is_empty() || fields.contains(&"_id")) {
                let targets = match input.text("docinfo_target") {
                    Some(target) => vec![target],
                    None => vec!["[@metadata]", "[@metadata][input][elasticsearch]", "[@metadata][input][opensearch]"],
                };
                before.id = targets.into_iter().map(|target| format!("{}._id", path(target))).collect();
            }
        }
        _ => {}
    }
    before
}

/// The format of lines and of values of a topic.
fn format(input: &Plugin, lines: Lines, to: &mut Translation) {
    let of_lines = |to: &mut Translation| match lines {
        Lines::Text => to.set("--format", "text"),
        Lines::Cells => to.set("--format", "csv"),
        Lines::Json => to.set("--format", "ndjson"),
        Lines::Log(format) => to.set("--parse", format),
    };
    match name_of_codec(input) {
        // Values of a topic are JSON without a flag.
        "json" if input.name == "kafka" => {}
        "plain" if input.name == "kafka" && lines == Lines::Json => {}
        "json" | "json_lines" => to.set("--format", "ndjson"),
        "csv" => to.set("--format", "csv"),
        "plain" | "line" => of_lines(to),
        other => to.refuse(&format!("the codec {other}"), "it decides what a document is"),
    }
    match codec(input) {
        Some(codec) if super::tables::is_known(codec) => {
            if codec.name == "csv" {
                cells(codec, to);
            }
            if let Some(charset) = codec.text("charset").filter(|charset| *charset != "UTF-8") {
                to.set("--charset", charset);
            }
            settings(codec, to);
        }
        // The codec's defaults have a meaning, too.
        None if input.text("codec") == Some("csv") => {
            cells(&Plugin { section: "codec".to_owned(), name: "csv".to_owned(), settings: Vec::new() }, to);
        }
        _ => {}
    }
}

fn file(input: &Plugin, to: &mut Translation) {
    for path in input.texts("path") {
        to.source(path);
    }
    if input.text("mode") == Some("read") {
        if input.text("file_completed_action") != Some("log") {
            to.note("file_completed_action: Logstash deletes files that it has read; a load leaves them");
        }
    } else {
        to.note("file: a load reads files to their end, and does not follow them");
        if input.text("start_position") != Some("beginning") {
            let reason = "Logstash reads what is added to the files from now on, and a load what is in them; translate \
                          it with start_position => beginning if all is wanted";
            to.refuse("start_position of the input file", reason);
        }
    }
}

fn table(input: &Plugin, to: &mut Translation) {
    let address = input.text("jdbc_connection_string").unwrap_or_default();
    let (address, parameters) = address.split_once('?').unwrap_or((address, ""));
    let mut user = input.text("jdbc_user").map(str::to_owned);
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            ("user", name) => user = user.or_else(|| Some(decoded(name))),
            (name, _) if NOT_NEEDED.contains(&name) => {}
            (name, _) => {
                let reason = "a parameter of the driver can decide which rows are read, and what is in them";
                to.refuse(&format!("the parameter {name} of jdbc_connection_string"), reason);
            }
        }
    }
    if !parameters.is_empty() {
        to.note("jdbc_connection_string: parameters of the driver are left out");
    }
    match database(address, user.as_deref()) {
        Some(source) => to.source(&source),
        None => {
            let shown = address.split(';').next().unwrap_or_default();
            to.refuse(&format!("the database {shown}"), "a load reads Postgres, MySQL, MariaDB and SQLite");
        }
    }
    if let Some(statement) = input.text("statement") {
        to.set("--db-query", statement);
        if statement.contains(":sql_last_value") {
            let reason = "leave its condition out of the query, and give --since COLUMN: the load writes the condition";
            to.refuse(":sql_last_value of the statement", reason);
        }
    } else if let Some(file) = input.text("statement_filepath") {
        to.set("--db-query", &format!("@{file}"));
        if input.text("use_column_value") == Some("true") {
            let reason = "leave its condition out of the query, and name the column with --since";
            to.refuse("use_column_value of the input jdbc", reason);
        } else {
            to.note("statement_filepath: a load knows no :sql_last_value; --since COLUMN writes the condition");
        }
    }
    if input.text("lowercase_column_names") != Some("false") {
        to.note("names of columns keep their case; Logstash writes them in lower case");
    }
}

/// The address of a database for a load.
fn database(address: &str, user: Option<&str>) -> Option<String> {
    let (scheme, rest) = address.strip_prefix("jdbc:")?.split_once(':')?;
    let user = user.map(|user| format!("{}@", path_segment(user))).unwrap_or_default();
    match scheme {
        "postgresql" => Some(format!("postgres://{user}{}", rest.strip_prefix("//")?)),
        "mysql" | "mariadb" => Some(format!("mysql://{user}{}", rest.strip_prefix("//")?)),
        "sqlite" => Some(format!("sqlite://{rest}")),
        _ => None,
    }
}

fn topics(input: &Plugin, to: &mut Translation) {
    let servers = input.text("bootstrap_servers").unwrap_or("localhost:9092").replace(' ', "");
    let topics = match (input.text("topics_pattern"), input.texts("topics")) {
        (Some(pattern), _) => beginning(pattern).unwrap_or_else(|| {
            to.refuse("topics_pattern of the input kafka", "a load takes names, and beginnings as logs-.*");
            String::new()
        }),
        (None, topics) if topics.is_empty() => "logstash".to_owned(),
        (None, topics) => topics.join(","),
    };
    to.source(&format!("kafka://{servers}/{topics}"));
    // The load begins at the offsets of Logstash.
    to.set("--group", input.text("group_id").unwrap_or("logstash"));
    match input.text("auto_offset_reset") {
        Some(place @ ("earliest" | "latest")) => to.set("--from", place),
        Some(_) => to.refuse("auto_offset_reset of the input kafka", "a load begins at earliest or latest"),
        None => {
            to.set("--from", "latest");
            to.note("--from latest: where the group has no offset, Logstash begins at the end; earliest loads all");
        }
    }
    match input.text("isolation_level") {
        Some(level) => to.set("--kafka-option", &format!("isolation.level={level}")),
        None => to.note(
            "records of transactions that were aborted are left out; --kafka-option isolation.level=read_uncommitted \
             reads them, as Logstash does",
        ),
    }
    if let Some(rack) = input.text("client_rack") {
        to.set("--kafka-option", &format!("client.rack={rack}"));
    }
    to.note("kafka: stop Logstash first, because both are members of one group; see docs/kafka.md");
}

/// `logs-*` for the pattern `logs-.*`.
fn beginning(pattern: &str) -> Option<String> {
    let beginning = pattern.strip_suffix(".*")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    beginning.chars().all(is_plain).then(|| format!("{beginning}*"))
}

fn index(input: &Plugin, to: &mut Translation) {
    // Its client asks 443 where an address with https has no port.
    let (hosts, user) = hosts(input, |scheme| if scheme == "https" { 443 } else { 9200 }, to);
    if hosts.len() > 1 {
        to.note("hosts: the index is read at the first one");
    }
    let host = hosts.first().map_or("", String::as_str);
    to.source(&format!("{host}/{}", input.text("index").unwrap_or("logstash-*")));
    address::login(input, user, "--from-user", "INRUSH_FROM_PASSWORD", to);
    if input.text("ssl_verification_mode") == Some("none") {
        to.flag("--from-insecure");
    }
    if let Some(body) = input.text("query") {
        search("the query", body, to);
    }
    to.note("--copy-mapping and --copy-settings make the new index like the old one");
}
