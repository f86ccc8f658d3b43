//! Pipelines of Logstash: inputs `file`, `stdin` and `jdbc`, filters `csv`, `json`, `mutate` and
//! `date`, output `elasticsearch` or `opensearch` (the plugins' reference, versions of Logstash 9).

use super::Translation;
use super::pipeline::{Plugin, Setting, parse};
use crate::failure::UsageError;
use inrush_core::Code;

/// Fields that Logstash adds and a load does not.
const ADDED: [&str; 8] = ["message", "host", "path", "@version", "@timestamp", "event", "log", "tags"];

pub(crate) fn translate(text: &str) -> Result<Translation, UsageError> {
    let plugins = parse(text)?;
    let of = |section: &'static str| plugins.iter().filter(move |plugin| plugin.section == section);
    let mut to = Translation::default();
    let mut inputs = of("input");
    let (Some(input), None) = (inputs.next(), inputs.next()) else {
        return Err(UsageError::new(Code::NotTranslated, "the pipeline has no input or several")
            .hint("make a command of each input"));
    };
    let csv = of("filter").any(|plugin| plugin.name == "csv");
    let json = of("filter").any(|plugin| plugin.name == "json");
    translate_input(input, csv, json, &mut to)?;
    of("filter").for_each(|plugin| translate_filter(plugin, csv, &mut to));
    let mut outputs = of("output").filter(|plugin| plugin.name != "stdout");
    match (outputs.next(), outputs.next()) {
        (Some(output), None) if ["elasticsearch", "opensearch"].contains(&output.name.as_str()) => {
            translate_output(output, &mut to);
            Ok(to)
        }
        _ => Err(UsageError::new(
            Code::NotTranslated,
            "the pipeline has no output elasticsearch or opensearch, or several",
        )
        .hint("make a command of each index")),
    }
}

fn translate_input(input: &Plugin, csv: bool, json: bool, to: &mut Translation) -> Result<(), UsageError> {
    match input.name.as_str() {
        "file" => {
            for path in input.get("path").map(Setting::texts).unwrap_or_default() {
                to.source(path);
            }
            if input.text("mode") != Some("read") {
                to.note("file: a load reads files to their end, and does not follow them");
            }
            if input.get("sincedb_path").is_some_and(|path| path.texts() != ["/dev/null"]) {
                to.note("sincedb_path: with --once files that have not changed are not loaded again");
            }
        }
        "stdin" => to.source("-"),
        "jdbc" => return translate_jdbc(input, to),
        other => {
            let error = UsageError::new(Code::NotTranslated, format!("the input {other} has no counterpart"));
            return Err(error.hint("file, stdin and jdbc have one; topics of Kafka are read as kafka://broker/topic"));
        }
    }
    let codec = input.text("codec").unwrap_or("plain");
    match codec {
        "json" | "json_lines" => to.set("--format", "ndjson"),
        "csv" => to.set("--format", "csv"),
        "plain" | "line" if csv => to.set("--format", "csv"),
        "plain" | "line" if json => to.set("--format", "ndjson"),
        "plain" | "line" => to.set("--format", "text"),
        other => to.untranslated(&format!("codec {other}")),
    }
    Ok(())
}

fn translate_jdbc(input: &Plugin, to: &mut Translation) -> Result<(), UsageError> {
    let address = input.text("jdbc_connection_string").unwrap_or_default();
    let user = input.text("jdbc_user");
    let Some(source) = database(address, user) else {
        let error = UsageError::new(Code::NotTranslated, format!("the database {address} has no counterpart"));
        return Err(error.hint("Postgres, MySQL, MariaDB and SQLite have one"));
    };
    to.source(&source);
    if let Some(statement) = input.text("statement") {
        to.set("--db-query", statement);
        if statement.contains(":sql_last_value") {
            to.note(
                ":sql_last_value is not kept: load the whole table with ids, or write the condition into --db-query",
            );
        }
    }
    if input.get("jdbc_password").is_some() || input.get("jdbc_password_filepath").is_some() {
        to.note("jdbc_password: give --source-password-file, or PGPASSWORD or MYSQL_PWD");
    }
    if input.get("schedule").is_some() {
        to.note("schedule: cron, systemd or Kubernetes start the command; see docs/unattended.md");
    }
    Ok(())
}

/// The address of a database for a load.
fn database(address: &str, user: Option<&str>) -> Option<String> {
    let rest = address.strip_prefix("jdbc:")?;
    let (scheme, rest) = rest.split_once(':')?;
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    match scheme {
        "postgresql" => Some(format!("postgres://{user}{}", rest.strip_prefix("//")?)),
        "mysql" | "mariadb" => Some(format!("mysql://{user}{}", rest.strip_prefix("//")?.split('?').next()?)),
        "sqlite" => Some(format!("sqlite://{rest}")),
        _ => None,
    }
}

fn translate_filter(filter: &Plugin, csv: bool, to: &mut Translation) {
    match filter.name.as_str() {
        "csv" => {
            if let Some(separator) = filter.text("separator") {
                to.set("--separator", separator);
            }
            if let Some(quote) = filter.text("quote_char") {
                to.set("--quote", quote);
            }
            match filter.get("columns") {
                Some(columns) if filter.text("skip_header") == Some("true") => {
                    to.note(format!(
                        "columns: the header of the file is taken in place of {}",
                        columns.texts().join(",")
                    ));
                }
                Some(columns) => to.set("--columns", &columns.texts().join(",")),
                None => {}
            }
        }
        "json" => {}
        "mutate" => translate_mutate(filter, csv, to),
        "date" => {
            to.note("date: the mapping says how a date is written (\"format\"), or to_timestamp of --sql makes one")
        }
        "grok" | "dissect" => to.note(format!(
            "{}: --parse combined reads access logs, --parse-regex other lines with a regular expression",
            filter.name
        )),
        other => to.untranslated(&format!("the filter {other}")),
    }
}

fn translate_mutate(filter: &Plugin, csv: bool, to: &mut Translation) {
    for (name, setting) in &filter.settings {
        match (name.as_str(), setting) {
            ("convert", Setting::Hash(types)) if csv => {
                let known = |kind: &str| matches!(kind, "integer" | "float" | "string" | "boolean");
                let (known, other): (Vec<_>, Vec<_>) = types
                    .iter()
                    .map(|(field, kind)| (field.as_str(), kind.texts().first().copied().unwrap_or_default()))
                    .partition(|(_, kind)| known(kind));
                let schema: Vec<String> = known.iter().map(|(field, kind)| format!("{field}:{kind}")).collect();
                if !schema.is_empty() {
                    to.set("--schema", &schema.join(","));
                }
                for (field, kind) in other {
                    to.untranslated(&format!("convert of {field} to {kind}"));
                }
            }
            ("convert", _) => to.note("convert: types of JSON stay; the mapping decides about types in the index"),
            ("remove_field", setting) => {
                for field in setting.texts().into_iter().filter(|field| !ADDED.contains(field)) {
                    to.set("--drop", &path(field));
                }
            }
            (other, _) => to.note(format!("mutate {other}: --sql computes and renames fields; see docs/sql.md")),
        }
    }
}

fn translate_output(output: &Plugin, to: &mut Translation) {
    let upsert = output.text("doc_as_upsert") == Some("true");
    for (name, setting) in &output.settings {
        let value = setting.texts().first().copied().unwrap_or_default();
        match name.as_str() {
            // The address is the last argument.
            "hosts" | "doc_as_upsert" => {}
            "index" => to.set("--index", &index(value)),
            "document_id" => field(name, "--id", value, to),
            "routing" => field(name, "--routing", value, to),
            "version" => field(name, "--version", value, to),
            "action" => to.set("--action", if upsert { "upsert" } else { value }),
            "pipeline" => to.set("--pipeline", value),
            "user" => to.login("--user", "INRUSH_PASSWORD", Some(value)),
            "api_key" => to.login("--user", "INRUSH_API_KEY", None),
            "cacert" | "ssl_certificate_authorities" => to.set("--ca", value),
            "template" => to.note("template: put the template into the cluster, or give --mapping and --settings"),
            "password" | "ssl" | "ssl_enabled" | "manage_template" | "ilm_enabled" | "version_type" => {}
            _ => to.untranslated(&format!("the setting {name} of the output")),
        }
    }
    let hosts: Vec<String> =
        output.get("hosts").map(Setting::texts).unwrap_or_default().into_iter().map(address).collect();
    to.set("--to", &if hosts.is_empty() { "http://localhost:9200".to_owned() } else { hosts.join(",") });
}

fn address(host: &str) -> String {
    if host.contains("://") { host.to_owned() } else { format!("http://{host}") }
}

/// A setting that is one field, as in `%{[shop][sku]}`.
fn field(setting: &str, flag: &str, value: &str, to: &mut Translation) {
    match value.strip_prefix("%{").and_then(|rest| rest.strip_suffix('}')) {
        Some(name) if !name.contains("%{") && !name.starts_with('+') => to.set(flag, &path(name)),
        _ => to.note(format!("{setting} {value}: only a field can be given; --sql computes one")),
    }
}

/// `[shop][sku]` as `shop.sku`.
fn path(field: &str) -> String {
    field.trim_start_matches('[').trim_end_matches(']').replace("][", ".")
}

/// `logs-%{+YYYY.MM.dd}` as `logs-{@timestamp:yyyy.MM.dd}`, and `logs-%{tenant}` as
/// `logs-{tenant}`.
fn index(name: &str) -> String {
    let mut parts = name.split("%{");
    let mut index = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (field, rest) = part.split_once('}').unwrap_or((part, ""));
        let field = match field.strip_prefix('+') {
            Some(date) => format!("@timestamp:{}", date.replace("YYYY", "yyyy")),
            None => path(field),
        };
        index.extend(["{", &field, "}", rest]);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::super::tests::checked;
    use super::*;

    #[test]
    fn files_with_cells() {
        let text = r#"
            input { file { path => "/data/*.csv" start_position => "beginning" sincedb_path => "/dev/null" } }
            filter {
              csv { separator => ";" columns => ["sku", "name", "price"] }
              mutate { convert => { "price" => "float" } remove_field => ["message", "host", "[shop][internal]"] }
            }
            output {
              stdout { codec => rubydebug }
              elasticsearch { hosts => ["https://a:9200", "b:9200"] index => "shop-%{+YYYY.MM.dd}" document_id => "%{sku}" user => "ada" password => "secret" }
            }"#;
        let translation = translate(text).unwrap();
        let expected = "inrush load '/data/*.csv' --format csv --separator ';' --columns sku,name,price \\\n  \
                        --schema price:float --drop shop.internal --index 'shop-{@timestamp:yyyy.MM.dd}' --id sku \\\n  \
                        --user ada --to https://a:9200,http://b:9200\n";
        assert_eq!(checked(&translation), expected);
        assert!(!translation.notes.join(" ").contains("secret"), "{translation:?}");
    }

    #[test]
    fn a_table_of_a_database() {
        let text = r#"
            input { jdbc { jdbc_connection_string => "jdbc:postgresql://db:5432/shop" jdbc_user => "reader" jdbc_password => "secret"
              statement => "SELECT * FROM orders WHERE changed > :sql_last_value" schedule => "*/5 * * * *" } }
            output { elasticsearch { index => "orders" document_id => "%{id}" action => "update" doc_as_upsert => true } }"#;
        let translation = translate(text).unwrap();
        let expected = "inrush load postgres://reader@db:5432/shop \\\n  \
                        --db-query 'SELECT * FROM orders WHERE changed > :sql_last_value' --index orders --id id \\\n  \
                        --action upsert --to http://localhost:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        for said in [":sql_last_value", "schedule", "PGPASSWORD"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert!(!notes.contains("secret"), "{notes}");
    }

    #[test]
    fn lines_json_and_inputs_of_others() {
        let with = |input: &str| {
            translate(&format!("input {{ {input} }} output {{ elasticsearch {{ index => \"logs-%{{[a][b]}}\" }} }}"))
        };
        let text = with("stdin { }").unwrap();
        assert_eq!(checked(&text), "inrush load - --format text --index 'logs-{a.b}' --to http://localhost:9200\n");
        let json = with("stdin { codec => json_lines }").unwrap();
        assert!(checked(&json).contains("--format ndjson"));
        assert!(with("beats { port => 5044 }").unwrap_err().to_string().contains("beats"));
        assert!(
            with("jdbc { jdbc_connection_string => \"jdbc:oracle:thin:@h\" }")
                .unwrap_err()
                .to_string()
                .contains("oracle")
        );
        assert!(translate("input { stdin {} } output { kafka {} }").is_err());
    }
}
