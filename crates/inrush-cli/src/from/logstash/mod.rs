//! Pipelines of Logstash: inputs `file`, `stdin`, `jdbc`, `kafka` and `elasticsearch` or
//! `opensearch`, filters `csv`, `json`, `grok` for access logs, `mutate` and `date`, output
//! `elasticsearch` or `opensearch` (the plugins' reference, versions of Logstash 9).

mod address;
mod filter;
mod input;
mod output;
mod pipeline;
mod tables;

use self::address::hosts;
use self::filter::Reading;
use self::output::Before;
use self::pipeline::{Plugin, parse};
pub(crate) use self::tables::TABLES;
use super::Translation;
use crate::failure::UsageError;
use inrush_core::Code;

/// The beginning of the names of fields that only the pipeline sees.
const METADATA: &str = "[@metadata]";

/// What the filters make of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lines {
    #[default]
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
    if !tables::is_known(input) {
        let error = UsageError::new(Code::NotTranslated, format!("the input {} has no counterpart", input.name));
        return Err(error.hint("file, stdin, jdbc, kafka, elasticsearch and opensearch have one"));
    }
    let reading = Reading::new(input, of("filter"));
    let lines = reading.lines;
    input::translate(input, lines, &mut to);
    of("filter").for_each(|plugin| filter::translate(plugin, &reading, &mut to));
    filter::check_renames(&mut to);
    let mut outputs = of("output").filter(|plugin| plugin.name != "stdout");
    match (outputs.next(), outputs.next()) {
        (Some(output), None) if tables::is_known(output) => {
            let before = Before { metadata: filter::metadata(of("filter")), lines, ..input::before(input) };
            output::translate(output, &before, &mut to);
        }
        _ => {
            let what = "the pipeline has no output elasticsearch or opensearch, or several";
            return Err(UsageError::new(Code::NotTranslated, what).hint("make a command of each index"));
        }
    }
    if to.arguments.iter().flatten().any(|argument| argument.contains("${")) {
        to.refuse("a variable ${…} of the pipeline", "write its value in its place");
    }
    to.done()
}

/// Does what the tables say of the settings of a plugin, without those that are translated.
fn settings(plugin: &Plugin, to: &mut Translation) {
    for (at, (name, setting)) in plugin.settings.iter().enumerate() {
        let shown = format!("{name} of the {} {}", plugin.section, plugin.name);
        if plugin.settings[..at].iter().any(|(before, _)| before == name) {
            to.refuse(&shown, "it is given twice; write one");
        }
        match tables::row(plugin, name) {
            Some(row) => to.apply(&shown, row, &setting.texts().join(",")),
            None => to.refuse(&shown, "it is not a known setting, and may decide anything"),
        }
    }
}

/// The field of a text that is nothing else, as in `%{[shop][sku]}`. It is no date.
fn reference(text: &str) -> Option<&str> {
    let name = text.strip_prefix("%{")?.strip_suffix('}')?;
    (!name.contains(['{', '}']) && !name.starts_with('+')).then_some(name)
}

/// `[shop][sku]` as `shop.sku`.
fn path(field: &str) -> String {
    field.trim_start_matches('[').trim_end_matches(']').replace("][", ".")
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
              statement => "SELECT * FROM orders" schedule => "*/5 * * * *" } }
            output { elasticsearch { index => "orders" document_id => "%{id}" action => "update" doc_as_upsert => true } }"#;
        let translation = translate(text).unwrap();
        let expected = "inrush load postgres://reader@db:5432/shop --db-query 'SELECT * FROM orders' --index orders \\\n  \
                        --id id --action upsert --to http://localhost:9200\n";
        assert_eq!(checked(&translation), expected);
        let notes = translation.notes.join("\n");
        for said in ["schedule", "PGPASSWORD"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert!(!notes.contains("secret"), "{notes}");
        let last = text.replace("orders\" sch", "orders WHERE changed > :sql_last_value\" sch");
        let refused = translate(&last).unwrap_err().to_string();
        assert!(refused.contains(":sql_last_value of the statement is not translated"), "{refused}");
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
        let expected = "inrush load - --parse combined --index logs-generic-default --action create \
                        --timestamp timestamp \\\n  --to http://localhost:9200\n";
        assert_eq!(command, expected);
        assert!(notes.contains("--timestamp makes @timestamp of") && notes.contains("without ECS"), "{notes}");
    }

    #[test]
    fn a_query_of_a_file() {
        let (command, notes) = both(
            r#"input { jdbc {
                jdbc_driver_library => "mysql-connector-java-5.1.36-bin.jar"
                jdbc_driver_class => "com.mysql.jdbc.Driver"
                jdbc_connection_string => "jdbc:mysql://localhost:3306/mydb?user=root&password=secret"
                jdbc_user => "mysql"
                schedule => "* * * * *"
                statement_filepath => "/etc/logstash/songs.sql"
                tracking_column => "unix_ts_in_secs" } }
            filter { mutate { copy => { "id" => "[@metadata][_id]" } remove_field => ["id", "@version"] } }
            output { opensearch { hosts => "https://ada:secret@a:9200" index => "songs" document_id => "%{[@metadata][_id]}" } }"#,
        );
        let expected = "inrush load mysql://mysql@localhost:3306/mydb --db-query @/etc/logstash/songs.sql --drop id \\\n  \
                        --drop @version --index songs --id id --user ada --to https://a:9200\n";
        assert_eq!(command, expected);
        assert!(!notes.contains("copy"), "{notes}");
        for said in ["sql_last_value", "schedule", "parameters of the driver", "case"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert!(!notes.contains("secret"), "{notes}");
    }

    #[test]
    fn types_of_cells_in_both_forms() {
        let (command, _) = both(
            r#"input { file { path => "/tmp/cars.csv" mode => "read" sincedb_path => "/dev/null" } }
            filter {
              csv { separator => "," columns => [ "id", "maker", "sold" ] convert => { "id" => "integer" "sold" => "date_time" } }
              mutate { convert => ["maker", "string"] }
            }
            output { elasticsearch { hosts => "b" ssl => true index => "cars" document_type => "sold_cars" } }"#,
        );
        let expected = "inrush load /tmp/cars.csv --format csv --separator , --columns id,maker,sold --all-strings \\\n  \
                        --schema id:integer,sold:timestamp --schema maker:string --index cars --to https://b:9200\n";
        assert_eq!(command, expected);
    }

    #[test]
    fn an_index_and_a_topic() {
        let input = r#"input { elasticsearch {
                hosts => "es.production.mysite.org" index => "mydata-2018.09.*"
                query => '{ "query": { "query_string": { "query": "*" } } }'
                size => 500 scroll => "5m" docinfo => true docinfo_target => "[@metadata][doc]" } }"#;
        let id = r#"document_id => "%{[@metadata][doc][_id]}""#;
        let (command, _) = both(&format!("{input} output {{ elasticsearch {{ index => copy {id} }} }}"));
        assert!(
            command.starts_with("inrush load 'http://es.production.mysite.org:9200/mydata-2018.09.*'"),
            "{command}"
        );
        assert!(command.contains(r#"--query '{"query_string":{"query":"*"}}'"#), "{command}");
        // The index of each document.
        let index = r#"index => "copy-of-production.%{[@metadata][doc][_index]}""#;
        let refused = refused(&format!("{input} output {{ elasticsearch {{ {index} {id} }} }}"));
        assert!(refused.contains("documents have no field [@metadata][doc][_index]"), "{refused}");

        let (command, notes) = both(
            r#"input { kafka { bootstrap_servers => "a:9092, b:9092" topics => ["orders"] codec => json auto_offset_reset => "earliest" } }
            output { elasticsearch { index => "orders" password => "${ES_PASSWORD}" } }"#,
        );
        let expected = "inrush load kafka://a:9092,b:9092/orders --group logstash --from earliest --index orders \\\n  \
                        --id-from position --to http://localhost:9200\n";
        assert_eq!(command, expected);
        assert!(notes.contains("one group") && notes.contains("transactions"), "{notes}");

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

    /// Why a pipeline is refused.
    fn refused(text: &str) -> String {
        translate(text).unwrap_err().to_string()
    }

    #[test]
    fn ids_of_records_and_of_an_index_are_those_of_the_pipeline() {
        let kafka = |settings: &str, id: &str| {
            translate(&format!(
                "input {{ kafka {{ codec => json {settings} }} }} output {{ elasticsearch {{ index => a {id} }} }}"
            ))
        };
        // Records of one key are several documents.
        assert!(checked(&kafka("", "").unwrap()).contains("--id-from position"));
        assert!(checked(&kafka("", "document_id => '%{id}'").unwrap()).contains("--id id"));
        let key = "document_id => '%{[@metadata][kafka][key]}'";
        for level in ["basic", "extended", "true"] {
            let command = checked(&kafka(&format!("decorate_events => {level}"), key).unwrap());
            assert!(command.contains("--on-null skip") && !command.contains("--id"), "{command}");
        }
        assert!(kafka("", key).unwrap_err().to_string().contains("document_id %{[@metadata][kafka][key]} is not"));
        // An index without ids of its own.
        let text = refused("input { elasticsearch { index => b } } output { elasticsearch { index => a } }");
        assert!(text.contains("an output without document_id is not translated"), "{text}");
        // Two indices may have documents with one id, which the pipeline says are one.
        let named = r#"document_id => "%{[@metadata][_id]}""#;
        let text = refused(&format!(
            "input {{ elasticsearch {{ index => b }} }} output {{ elasticsearch {{ index => a {named} }} }}"
        ));
        assert!(text.contains("document_id %{[@metadata][_id]} is not translated"), "{text}");
    }

    #[test]
    fn settings_that_decide_about_documents_ids_or_the_cluster_are_refused() {
        let input = |name: &str, settings: &str| {
            format!(
                "input {{ {name} {{ {settings} }} }} output {{ elasticsearch {{ index => a document_id => '%{{b}}' }} }}"
            )
        };
        let output =
            |settings: &str| format!("input {{ stdin {{}} }} output {{ elasticsearch {{ index => a {settings} }} }}");
        for (name, decides) in [
            ("file", "exclude => x"),
            ("file", "delimiter => '|'"),
            ("file", "ignore_older => 1"),
            ("file", "codec => multiline { }"),
            ("file", "codec => line { delimiter => '|' }"),
            ("jdbc", "parameters => { x => 1 }"),
            ("jdbc", "jdbc_default_timezone => x"),
            ("kafka", "codec => avro { }"),
            ("kafka", "value_deserializer_class => x"),
            ("elasticsearch", "query => '?q=x'"),
            ("elasticsearch", "response_type => aggregations"),
            ("elasticsearch", "query_type => esql"),
            ("elasticsearch", "cloud_id => x"),
            ("opensearch", "proxy => 'http://x'"),
        ] {
            let needed = match name {
                "file" => "path => '/a' mode => read",
                "jdbc" => "jdbc_connection_string => 'jdbc:sqlite:/a'",
                _ => "",
            };
            assert!(translate(&input(name, needed)).is_ok(), "{name}");
            assert!(translate(&input(name, &format!("{needed} {decides}"))).is_err(), "{name} {decides}");
        }
        for decides in [
            "cloud_id => x",
            "parameters => { x => 1 }",
            "proxy => 'http://x'",
            "custom_headers => { x => 1 }",
            "script => x",
            "scripted_upsert => true",
            "upsert => '{}'",
            "parent => x",
            "join_field => x",
            "routing => fixed",
            "version_type => external_gte",
            "bulk_path => x",
            "ilm_rollover_alias => x",
        ] {
            let name = decides.split(' ').next().unwrap();
            assert!(refused(&output(decides)).contains(name), "{decides}");
        }
    }

    #[test]
    fn filters_that_decide_about_documents_are_refused() {
        for name in [
            "drop",
            "prune",
            "split",
            "clone",
            "ruby",
            "fingerprint",
            "aggregate",
            "kv",
            "xml",
            "dissect",
            "translate",
            "geoip",
        ] {
            let text = refused(&format!(
                "input {{ stdin {{}} }} filter {{ {name} {{}} }} output {{ elasticsearch {{ index => a }} }}"
            ));
            assert!(text.contains(&format!("the filter {name} is not translated")), "{text}");
        }
    }

    #[test]
    fn variables_and_repeated_settings_are_refused_where_they_decide() {
        for settings in ["index => '${A}'", "index => a hosts => '${H:x}'", "index => a user => '${U}'"] {
            let text = refused(&format!("input {{ stdin {{}} }} output {{ elasticsearch {{ {settings} }} }}"));
            assert!(text.contains("a variable"), "{settings}: {text}");
        }
        let text =
            refused("input { file { path => a path => b mode => read } } output { elasticsearch { index => a } }");
        assert!(text.contains("path of the input file is not translated: it is given twice"), "{text}");
    }

    #[test]
    fn lines_that_come_later_and_parameters_of_drivers_are_refused() {
        for settings in ["", "start_position => end", "mode => tail"] {
            let text = refused(&format!(
                "input {{ file {{ path => a {settings} }} }} output {{ elasticsearch {{ index => a }} }}"
            ));
            assert!(text.contains("start_position of the input file"), "{settings}: {text}");
        }
        let jdbc = |address: &str| {
            translate(&format!(
                "input {{ jdbc {{ jdbc_connection_string => \"jdbc:{address}\" }} }} output {{ elasticsearch {{ index => a }} }}"
            ))
        };
        let command = checked(&jdbc("postgresql://h/d?user=joe%40x&sslmode=require").unwrap());
        assert!(command.starts_with("inrush load postgres://joe%40x@h/d "), "{command}");
        for decides in
            ["currentSchema=s", "serverTimezone=UTC", "zeroDateTimeBehavior=convertToNull", "tinyInt1isBit=false"]
        {
            let text = jdbc(&format!("mysql://h/d?useSSL=false&{decides}")).unwrap_err().to_string();
            assert!(text.contains("is not translated: a parameter of the driver"), "{text}");
        }
    }

    /// A pipeline into the index `a`, of an input and filters.
    fn pipeline_into_a(input: &str, filters: &str, document_id: &str) -> String {
        let id = if document_id.is_empty() { String::new() } else { format!("document_id => \"{document_id}\"") };
        format!("input {{ {input} }} filter {{ {filters} }} output {{ elasticsearch {{ index => a {id} }} }}")
    }

    fn into_a(input: &str, filters: &str, document_id: &str) -> (String, String) {
        both(&pipeline_into_a(input, filters, document_id))
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
        // The last one counts, and a text that is no field is no id.
        let twice = format!("{copied} {}", copied.replace("sku", "b"));
        assert!(into_a(source, &twice, "%{[@metadata][_id]}").0.contains("--id b"));
        for (filter, id) in [
            ("", "%{[@metadata][x][_id]}"),
            (r#"mutate { add_field => { "[@metadata][_id]" => "%{a}-%{b}" } }"#, "%{[@metadata][_id]}"),
            (r#"mutate { add_field => { "[@metadata][_id]" => "fixed" } }"#, "%{[@metadata][_id]}"),
        ] {
            let text = refused(&pipeline_into_a(source, filter, id));
            assert!(text.contains(&format!("document_id {id} is not translated")), "{text}");
        }
    }

    #[test]
    fn names_of_columns_are_those_of_the_pipeline() {
        for (settings, expected) in [
            ("autodetect_column_names => true", "--format csv --all-strings"),
            ("columns => [b] skip_header => true", "--format csv --all-strings"),
            ("columns => [b]", "--format csv --columns b --all-strings"),
        ] {
            let (command, notes) = into_a("stdin {}", &format!("csv {{ {settings} }}"), "");
            assert!(command.contains(expected), "{settings}: {command}");
            assert!(notes.contains("an empty cell is left out"), "{settings}: {notes}");
        }
        // Without columns there is no header to skip.
        for csv in
            ["csv { separator => ';' }", "csv { skip_header => true }", "csv { autogenerate_column_names => true }"]
        {
            let text = refused(&pipeline_into_a("stdin {}", csv, ""));
            assert!(text.contains("csv of the filter without columns"), "{csv}: {text}");
        }
        for codec in ["csv", "csv {}", "csv { separator => ';' }"] {
            let text = refused(&pipeline_into_a(&format!("stdin {{ codec => {codec} }}"), "", ""));
            assert!(text.contains("csv of the codec without columns"), "{codec}: {text}");
        }
    }

    #[test]
    fn addresses_keep_their_path() {
        let (command, _) = both(
            r#"input { elasticsearch { hosts => ["https://proxy/old"] index => b docinfo => true } }
            output { elasticsearch { hosts => ["https://ada:x@proxy/es", "b:9200/es/"] index => a document_id => "%{[@metadata][_id]}" } }"#,
        );
        assert!(command.starts_with("inrush load https://proxy:443/old/b "), "{command}");
        assert!(command.ends_with("--user ada \\\n  --to https://proxy:9200/es,http://b:9200/es\n"), "{command}");
    }

    #[test]
    fn removed_fields_are_dropped_or_named() {
        let (command, _) = into_a("stdin {}", "json { source => message remove_field => [host, b] }", "");
        assert!(command.contains("--format ndjson --drop host --drop b"), "{command}");
        let columns = "csv { columns => [b, host] remove_field => [host, path] }";
        let (command, _) = into_a("stdin {}", columns, "");
        assert!(command.contains("--drop host") && !command.contains("--drop path"), "{command}");
        let grok =
            r#"grok { match => { "message" => "%{COMMONAPACHELOG}" } overwrite => [message] remove_field => [auth] }"#;
        let (command, notes) = into_a("stdin {}", "mutate { remove_field => [message, host] }", "");
        assert!(!command.contains("--drop") && notes.contains("the field message stays"), "{command}{notes}");
        let date = "date { match => [timestamp, UNIX] remove_field => [timestamp] }";
        let (command, notes) = into_a("stdin {}", &format!("{grok} {date}"), "");
        assert!(command.contains("--parse common --drop auth") && !command.contains("--drop timestamp"), "{command}");
        assert!(notes.contains("without ECS") && notes.contains("--drop timestamp"), "{notes}");
    }

    #[test]
    fn renames_of_fields_that_other_settings_name_are_refused() {
        for filters in [
            "mutate { rename => { a => b } remove_field => [b] }",
            "mutate { rename => { a => b } remove_field => [a] }",
            "mutate { rename => { a => b } } mutate { rename => { b => c } }",
            "mutate { rename => { a => c b => c } }",
            "mutate { rename => { a => '[b][c]' } } mutate { remove_field => [b] }",
            "mutate { rename => { a => b } } mutate { rename => { b => '[@metadata][c]' } }",
        ] {
            let text = refused(&pipeline_into_a("stdin { codec => json }", filters, ""));
            assert!(text.contains("rename of a to") && text.contains("see --sql"), "{filters}: {text}");
        }
        let filters = "mutate { rename => { '[doc][a]' => a b => c } remove_field => [doc, other] }";
        let (command, _) = into_a("stdin { codec => json }", filters, "");
        assert!(command.contains("--rename doc.a=a --rename b=c --drop doc --drop other"), "{command}");
    }

    #[test]
    fn data_streams_only_where_logstash_writes_to_one() {
        let to = |settings: &str| both(&format!("input {{ stdin {{}} }} output {{ elasticsearch {{ {settings} }} }}"));
        for settings in
            ["", "data_stream => true", "data_stream_type => logs", "action => create", "document_id => '%{b}'"]
        {
            assert!(to(settings).0.contains("--index logs-generic-default --action create"), "{settings}");
        }
        for settings in [
            "data_stream => false",
            "action => update",
            "doc_as_upsert => true",
            "ilm_enabled => auto",
            "manage_template => true",
            "ecs_compatibility => disabled",
        ] {
            let text = refused(&format!("input {{ stdin {{}} }} output {{ elasticsearch {{ {settings} }} }}"));
            assert!(text.contains("an output without index is not translated"), "{settings}: {text}");
        }
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
