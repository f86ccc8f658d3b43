//! Pipelines of Logstash: inputs `file`, `stdin`, `jdbc`, `kafka` and `elasticsearch` or
//! `opensearch`, filters `csv`, `json`, `grok` for access logs, `mutate` and `date`, output
//! `elasticsearch` or `opensearch` (the plugins' reference, versions of Logstash 9).

mod filter;
mod input;
mod output;
mod pipeline;

use self::filter::Reading;
use self::output::Before;
use self::pipeline::{Plugin, parse};
use super::Translation;
use crate::failure::UsageError;
use inrush_core::Code;

/// The beginning of the names of fields that only the pipeline sees.
const METADATA: &str = "[@metadata]";

/// What the filters make of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    Text,
    Cells,
    Json,
    /// The parts of an access log, by the value of `--parse`.
    Log(&'static str),
}

pub(crate) fn translate(text: &str) -> Result<Translation, UsageError> {
    let plugins = parse(text)?;
    let of = |section: &'static str| plugins.iter().filter(move |plugin| plugin.section == section);
    let mut to = Translation::default();
    let mut inputs = of("input");
    let (Some(input), None) = (inputs.next(), inputs.next()) else {
        return Err(UsageError::new(Code::NotTranslated, "the pipeline has no input or several")
            .hint("make a command of each input"));
    };
    let reading = Reading::new(input, of("filter"));
    let lines = reading.lines;
    input::translate(input, lines, &mut to)?;
    of("filter").for_each(|plugin| filter::translate(plugin, &reading, &mut to));
    let mut outputs = of("output").filter(|plugin| plugin.name != "stdout");
    match (outputs.next(), outputs.next()) {
        (Some(output), None) if is_cluster(output) => {
            let id = if is_cluster(input) { input::fields_of_id(input) } else { Vec::new() };
            let before = Before { id, metadata: filter::metadata(of("filter")), lines };
            output::translate(output, &before, &mut to);
        }
        _ => {
            let what = "the pipeline has no output elasticsearch or opensearch, or several";
            return Err(UsageError::new(Code::NotTranslated, what).hint("make a command of each index"));
        }
    }
    if text.contains("${") {
        to.note("${…}: variables of the pipeline stay as they are; write their values");
    }
    Ok(to)
}

/// Whether a plugin reads from a cluster, or writes to one.
fn is_cluster(plugin: &Plugin) -> bool {
    ["elasticsearch", "opensearch"].contains(&plugin.name.as_str())
}

/// `[shop][sku]` as `shop.sku`.
fn path(field: &str) -> String {
    field.trim_start_matches('[').trim_end_matches(']').replace("][", ".")
}

/// The addresses of a cluster, and a user that one of them has. Secrets are left out.
fn hosts(plugin: &Plugin) -> (Vec<String>, Option<String>) {
    let is_on = |name| plugin.text(name) == Some("true");
    let scheme = if is_on("ssl") || is_on("ssl_enabled") { "https" } else { "http" };
    let mut user = None;
    let mut hosts = Vec::new();
    for host in plugin.texts("hosts") {
        let host = if host.contains("://") { host.to_owned() } else { format!("{scheme}://{host}") };
        match super::index_url(&host) {
            Some(url) => {
                user = user.or(url.user);
                hosts.push(url.whole);
            }
            None => hosts.push(host),
        }
    }
    if hosts.is_empty() {
        hosts.push(format!("{scheme}://localhost:9200"));
    }
    (hosts, user)
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
        let expected = "inrush load '/data/*.csv' --format csv --separator ';' --columns sku,name,price --all-strings \\\n  \
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

    /// The notes of a pipeline, below each other, and its command.
    fn both(text: &str) -> (String, String) {
        let translation = translate(text).unwrap();
        (checked(&translation), translation.notes.join("\n"))
    }

    // Of the reference: examples of configurations, plugins jdbc, csv, elasticsearch and kafka.
    #[test]
    fn access_logs_into_the_data_stream_without_a_name() {
        let (command, notes) = both(
            r#"input { stdin { } }
            filter {
              grok { match => { "message" => "%{COMBINEDAPACHELOG}" } }
              date { match => [ "timestamp" , "dd/MMM/yyyy:HH:mm:ss Z" ] }
            }
            output {
              elasticsearch { hosts => ["localhost:9200"] }
              stdout { codec => rubydebug }
            }"#,
        );
        let expected = "inrush load - --parse combined --index logs-generic-default --action create \\\n  \
                        --to http://localhost:9200\n";
        assert_eq!(command, expected);
        assert!(notes.contains("renames it to @timestamp") && !notes.contains("grok"), "{notes}");
    }

    #[test]
    fn a_query_with_parameters() {
        let (command, notes) = both(
            r#"input { jdbc {
                jdbc_driver_library => "mysql-connector-java-5.1.36-bin.jar"
                jdbc_driver_class => "com.mysql.jdbc.Driver"
                jdbc_connection_string => "jdbc:mysql://localhost:3306/mydb?user=root&password=secret"
                jdbc_user => "mysql"
                parameters => { "favorite_artist" => "Beethoven" }
                schedule => "* * * * *"
                statement_filepath => "/etc/logstash/songs.sql"
                use_column_value => true
                tracking_column => "unix_ts_in_secs" } }
            filter { mutate { copy => { "id" => "[@metadata][_id]" } remove_field => ["id", "@version"] } }
            output { opensearch { hosts => "https://ada:secret@a:9200" index => "songs" document_id => "%{[@metadata][_id]}" } }"#,
        );
        let expected = "inrush load mysql://mysql@localhost:3306/mydb --db-query @/etc/logstash/songs.sql --drop id \\\n  \
                        --drop @version --index songs --id id --user ada --to https://a:9200\n";
        assert_eq!(command, expected);
        assert!(!notes.contains("copy"), "{notes}");
        for said in ["parameters:", "sql_last_value", "schedule", "parameters of the driver", "case"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert!(!notes.contains("secret"), "{notes}");
    }

    #[test]
    fn types_of_cells_in_both_forms() {
        let (command, _) = both(
            r#"input { file { path => "/tmp/cars.csv" mode => "read" sincedb_path => "/dev/null" type => "cars" } }
            filter {
              csv { separator => "," columns => [ "id", "maker", "sold" ] convert => { "id" => "integer" "sold" => "date_time" } }
              mutate { convert => ["maker", "string"] }
            }
            output { elasticsearch { hosts => "b" ssl => true index => "cars" document_type => "sold_cars" } }"#,
        );
        let expected = "inrush load /tmp/cars.csv --format csv --separator , --columns id,maker,sold \\\n  \
                        --schema id:integer,sold:timestamp --all-strings --schema maker:string --index cars \\\n  \
                        --to https://b\n";
        assert_eq!(command, expected);
    }

    #[test]
    fn an_index_and_a_topic() {
        let (command, notes) = both(
            r#"input { elasticsearch {
                hosts => "es.production.mysite.org" index => "mydata-2018.09.*"
                query => '{ "query": { "query_string": { "query": "*" } } }'
                size => 500 scroll => "5m" docinfo => true docinfo_target => "[@metadata][doc]" } }
            output { elasticsearch {
                index => "copy-of-production.%{[@metadata][doc][_index]}" document_id => "%{[@metadata][doc][_id]}" } }"#,
        );
        assert!(command.starts_with("inrush load 'http://es.production.mysite.org/mydata-2018.09.*'"), "{command}");
        assert!(command.contains(r#"--query '{"query_string":{"query":"*"}}'"#), "{command}");
        assert!(notes.contains("make a command of each index") && notes.contains("keep their ids"), "{notes}");

        let (command, notes) = both(
            r#"input { kafka { bootstrap_servers => "a:9092, b:9092" topics => ["orders"] codec => json auto_offset_reset => "earliest" } }
            output { elasticsearch { index => "orders" password => "${ES_PASSWORD}" } }"#,
        );
        let expected = "inrush load kafka://a:9092,b:9092/orders --group logstash --from earliest --index orders \\\n  \
                        --to http://localhost:9200\n";
        assert_eq!(command, expected);
        assert!(notes.contains("one group") && notes.contains("${…}"), "{notes}");

        let (command, notes) = both(
            r#"input { kafka { topics_pattern => "logs-.*" security_protocol => "SASL_SSL" } }
            output { elasticsearch { index => "logs" } }"#,
        );
        assert!(
            command.starts_with(
                "inrush load 'kafka://localhost:9092/logs-*' --group logstash --from latest --format text"
            ),
            "{command}"
        );
        assert!(notes.contains("security_protocol") && !notes.contains("pattern"), "{notes}");
    }

    /// A pipeline into the index `a`, of an input and filters.
    fn into_a(input: &str, filters: &str, document_id: &str) -> (String, String) {
        let id = if document_id.is_empty() { String::new() } else { format!("document_id => \"{document_id}\"") };
        both(&format!("input {{ {input} }} filter {{ {filters} }} output {{ elasticsearch {{ index => a {id} }} }}"))
    }

    #[test]
    fn ids_of_the_source_and_ids_that_a_filter_writes() {
        let source = "elasticsearch { index => b docinfo => true }";
        let (command, _) = into_a(source, "", "%{[@metadata][_id]}");
        assert!(!command.contains("--id"), "{command}");
        let copied = r#"mutate { copy => { "sku" => "[@metadata][_id]" } }"#;
        let (command, _) = into_a(source, copied, "%{[@metadata][_id]}");
        assert!(command.contains("--id sku") && !command.contains("--drop"), "{command}");
        let (command, _) = into_a(source, &copied.replace("copy", "rename"), "%{[@metadata][_id]}");
        assert!(command.contains("--drop sku") && command.contains("--id sku"), "{command}");
        let (command, notes) = into_a(source, "", "%{[@metadata][x][_id]}");
        assert!(!command.contains("--id") && notes.contains("document_id"), "{command}{notes}");
    }

    #[test]
    fn first_rows_are_data_unless_a_setting_says_otherwise() {
        for (settings, is_data) in [
            ("separator => ';'", true),
            ("autogenerate_column_names => true", true),
            ("autodetect_column_names => true", false),
            ("skip_header => true", false),
            ("columns => [b]", false),
        ] {
            let of_filter = into_a("stdin {}", &format!("csv {{ {settings} }}"), "").0;
            let of_codec = into_a(&format!("stdin {{ codec => csv {{ {settings} }} }}"), "", "").0;
            for command in [of_filter, of_codec] {
                assert_eq!(command.contains("--no-header"), is_data, "{settings}: {command}");
                assert!(command.contains("--all-strings"), "{command}");
            }
        }
        assert!(into_a("stdin { codec => csv }", "", "").0.contains("--no-header"));
    }

    #[test]
    fn addresses_keep_their_path() {
        let (command, _) = both(
            r#"input { elasticsearch { hosts => ["https://proxy/old"] index => b } }
            output { elasticsearch { hosts => ["https://ada:x@proxy/es", "b:9200/es/"] index => a } }"#,
        );
        assert!(command.starts_with("inrush load https://proxy/old/b "), "{command}");
        assert!(command.ends_with("--user ada --to https://proxy/es,http://b:9200/es\n"), "{command}");
    }

    #[test]
    fn removed_fields_are_dropped_or_named() {
        let (command, notes) =
            into_a("stdin {}", "json { source => message target => doc remove_field => [host, b] }", "");
        assert!(command.contains("--format ndjson --drop host --drop b"), "{command}");
        assert!(notes.contains("the setting target of json"), "{notes}");
        let (command, notes) = into_a("stdin {}", "json { source => payload remove_field => [payload] }", "");
        assert!(command.contains("--format text") && !command.contains("--drop"), "{command}");
        assert!(notes.contains("json of the field payload") && notes.contains("--drop payload"), "{notes}");
        let (command, notes) =
            into_a("stdin {}", "csv { columns => [b, host] remove_field => [host, path] } csv {}", "");
        assert!(command.contains("--drop host") && !command.contains("--drop path"), "{command}");
        assert!(notes.contains("the filter csv of the field message"), "{notes}");
        let grok =
            r#"grok { match => { "message" => "%{COMMONAPACHELOG}" } overwrite => [message] remove_field => [auth] }"#;
        let (command, notes) = into_a("stdin {}", "mutate { remove_field => [message, host] }", "");
        assert!(!command.contains("--drop") && notes.contains("the field message stays"), "{command}{notes}");
        let date = "date { match => [timestamp, UNIX] remove_field => [timestamp] }";
        let (command, notes) = into_a("stdin {}", &format!("{grok} {date}"), "");
        assert!(command.contains("--parse common --drop auth") && !command.contains("--drop timestamp"), "{command}");
        assert!(notes.contains("setting overwrite of grok") && notes.contains("--drop timestamp"), "{notes}");
    }

    #[test]
    fn settings_of_codecs_are_kept() {
        let (command, _) = into_a(r#"stdin { codec => plain { charset => "ISO-8859-1" } }"#, "", "");
        assert!(command.contains("--format text --charset ISO-8859-1"), "{command}");
        let (command, _) =
            into_a("stdin { codec => csv { separator => ';' columns => [b, c] charset => 'CP1252' } }", "", "");
        assert!(command.contains("--separator ';' --columns b,c --all-strings --charset CP1252"), "{command}");
        let (_, notes) = into_a("stdin { codec => line { delimiter => '|' } }", "", "");
        assert!(notes.contains("the setting delimiter of the codec line"), "{notes}");
        let (_, notes) = into_a("stdin { codec => csv { target => b } }", "", "");
        assert!(notes.contains("the setting target of csv"), "{notes}");
    }

    #[test]
    fn data_streams_only_where_logstash_writes_to_one() {
        let to = |settings: &str| both(&format!("input {{ stdin {{}} }} output {{ elasticsearch {{ {settings} }} }}"));
        for settings in ["", "data_stream => true", "data_stream_type => logs", "action => create"] {
            assert!(to(settings).0.contains("--index logs-generic-default --action create"), "{settings}");
        }
        for settings in ["data_stream => false", "action => update", "document_id => '%{b}'", "ilm_enabled => true"] {
            let (command, notes) = to(settings);
            assert!(!command.contains("--index") && notes.contains("give --index"), "{settings}: {command}{notes}");
        }
    }

    #[test]
    fn differences_without_a_flag_are_noted() {
        let (_, notes) = both(
            r#"input { elasticsearch { index => b query => '{ "query": { "match_all": {} }, "_source": ["c"] }' } }
            output { elasticsearch { index => a version => "%{v}" version_type => "external_gte" } }"#,
        );
        assert!(notes.contains("_source of the query") && notes.contains("version_type external_gte"), "{notes}");
        let (command, notes) = into_a("kafka { topics => [b] }", "", "");
        assert!(command.contains("--from latest") && notes.contains("earliest loads all"), "{command}{notes}");
    }

    #[test]
    fn lines_json_and_inputs_of_others() {
        let with = |input: &str| {
            translate(&format!("input {{ {input} }} output {{ elasticsearch {{ index => \"logs-%{{[a][b]}}\" }} }}"))
        };
        let text = with("stdin { }").unwrap();
        assert_eq!(checked(&text), "inrush load - --format text --index 'logs-{a.b}' --to http://localhost:9200\n");
        let cases = with("stdin {} if [a] == 1 { stdin {} }").unwrap_err();
        assert!(cases.to_string().contains("conditions"), "{cases}");
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
