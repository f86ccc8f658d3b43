//! The settings of the plugins that are read: their lists in the plugins of Logstash 9
//! (logstash-output-elasticsearch 12.1.6, logstash-input-elasticsearch 5.3.1, logstash-input-file
//! 4.4.7, logstash-integration-jdbc 5.6.3, logstash-integration-kafka 12.1.4), of
//! logstash-output-opensearch and logstash-input-opensearch, and those of all plugins.

use super::pipeline::Plugin;
use crate::from::table::{Fate, Row, TUNED, switch, value};

/// The settings of plugins of one section.
pub(crate) struct Table {
    section: &'static str,
    /// Names separated by blanks; empty: all.
    pub(super) plugins: &'static str,
    pub(crate) rows: &'static [Row],
}

impl Table {
    pub(crate) fn title(&self) -> String {
        match self.plugins {
            "" => format!("Logstash: all {}s", self.section),
            plugins => format!("Logstash: {} {}", self.section, plugins.replace(' ', ", ")),
        }
    }
}

/// Whether plugins of this name are read.
pub(super) fn is_known(plugin: &Plugin) -> bool {
    TABLES
        .iter()
        .any(|table| table.section == plugin.section && table.plugins.split(' ').any(|name| name == plugin.name))
}

/// The row of a setting of a plugin.
pub(super) fn row(plugin: &Plugin, setting: &str) -> Option<&'static Row> {
    let of_plugin = |table: &&Table| {
        table.section == plugin.section
            && (table.plugins.is_empty() || table.plugins.split(' ').any(|name| name == plugin.name))
    };
    TABLES.iter().filter(of_plugin).flat_map(|table| table.rows).find(|row| row.has(setting))
}

pub(crate) const TABLES: &[Table] = &[
    Table { section: "input", plugins: "", rows: INPUTS },
    Table { section: "input", plugins: "file", rows: FILE },
    Table { section: "input", plugins: "stdin", rows: &[] },
    Table { section: "input", plugins: "jdbc", rows: JDBC },
    Table { section: "input", plugins: "kafka", rows: KAFKA },
    Table { section: "input", plugins: "elasticsearch opensearch", rows: INDEX },
    Table { section: "codec", plugins: "plain line json json_lines", rows: CODEC },
    Table { section: "codec", plugins: "csv", rows: CSV_CODEC },
    Table { section: "filter", plugins: "", rows: FILTERS },
    Table { section: "filter", plugins: "csv", rows: CSV },
    Table { section: "filter", plugins: "json", rows: JSON },
    Table { section: "filter", plugins: "grok", rows: GROK },
    Table { section: "filter", plugins: "date", rows: DATE },
    Table { section: "filter", plugins: "mutate", rows: MUTATE },
    Table { section: "output", plugins: "", rows: OUTPUTS },
    Table { section: "output", plugins: "elasticsearch opensearch", rows: CLUSTER },
];

const WHICH_FILES: &str = "it decides which files are read";
const OBJECT: &str = "it puts the fields into an object";
const VALUES: &str = "it changes values; `--sql` computes fields";
const QUERY: &str = "it is a part of the query; write its values into the statement";
const ZONE: &str = "it decides which time a value is";
const CHARSET: &str = "it changes text; the driver of a load reads the character set of the database";
const SCHEDULE: &str = "cron, systemd or Kubernetes start the command; see docs/unattended.md";
const PROXY: &str = "another server decides where requests go; see docs/how-to/proxy.md";
const HEADERS: &str = "headers can decide where requests go";
const CLOUD: &str = "it names the cluster; write the address of its Elasticsearch into hosts";
const TLS: &str = "give PEM files; see docs/how-to/secrets.md";
const LOGIN: &str = "see docs/kafka.md for `--kafka-tls` and `--kafka-sasl`";
const TEMPLATE: &str = "put the template into the cluster, or give `--mapping` and `--settings`";
const SCRIPT: &str = "a script decides what is in the documents";
const PARENT: &str = "the field of a join, and its routing, have no counterpart";
const ROLLOVER: &str = "its alias takes the place of the index; name it as index";
const DEAD_LETTERS: &str = "documents that the cluster refuses are dead letters";

const INPUTS: &[Row] = &[
    value("codec", Fate::Translated("`--format`, and the settings of the codec")),
    value("add_field", Fate::Translated("nothing, if it is for `[@metadata]`; else refused")),
    value("type tags", Fate::Refused("it adds a field to all documents; `--sql` adds fields")),
    value("id enable_metric ecs_compatibility", Fate::Without),
];

const FILE: &[Row] = &[
    value("path", Fate::Translated("the files")),
    value("mode", Fate::Translated("files are read to their end, with a note")),
    value("start_position", Fate::Translated("nothing for `beginning`; else refused, unless `mode` is `read`")),
    value("exclude ignore_older", Fate::Refused(WHICH_FILES)),
    value("delimiter", Fate::Refused("it decides where a document ends")).unless("\n"),
    value("sincedb_path", Fate::Noted("with `--once` files that have not changed are not loaded again"))
        .unless("/dev/null"),
    value("file_completed_action", Fate::Translated("a note, unless it is `log`: files are not deleted")),
    value("file_completed_log_path stat_interval discover_interval sincedb_write_interval", Fate::Without),
    value("sincedb_clean_after close_older max_open_files file_chunk_size file_chunk_count", Fate::Without),
    value("file_sort_by file_sort_direction", Fate::Without),
    switch("exit_after_read check_archive_validity", Fate::Without),
];

const JDBC: &[Row] = &[
    value("jdbc_connection_string", Fate::Translated("the source; parameters that decide are refused")),
    value("jdbc_user", Fate::Translated("the user of the source")),
    value("statement", Fate::Translated("`--db-query`; `:sql_last_value` is refused")),
    value("statement_filepath", Fate::Translated("`--db-query @FILE`; refused with `use_column_value`")),
    switch("use_column_value", Fate::Translated("refused with `statement_filepath`; else nothing")),
    value("parameters prepared_statement_name prepared_statement_bind_values", Fate::Refused(QUERY)),
    switch("use_prepared_statements", Fate::Refused(QUERY)),
    value("jdbc_paging_mode", Fate::Refused("pages are a part of the query")).unless("auto"),
    value("jdbc_default_timezone", Fate::Refused(ZONE)),
    value("plugin_timezone", Fate::Refused(ZONE)).unless("utc"),
    value("charset columns_charset", Fate::Refused(CHARSET)),
    value("sequel_opts", Fate::Refused("options of the library decide what is read")),
    value("target", Fate::Refused(OBJECT)),
    switch("lowercase_column_names", Fate::Translated("a note: names of columns keep their case")).unless("true"),
    value(
        "jdbc_password jdbc_password_filepath",
        Fate::Noted("give `--source-password-file`, PGPASSWORD or MYSQL_PWD"),
    ),
    value("schedule interval period", Fate::Noted(SCHEDULE)),
    value("tracking_column tracking_column_type last_run_metadata_path", Fate::Without),
    switch("clean_run jdbc_paging_enabled jdbc_validate_connection", Fate::Without),
    switch("record_last_run", Fate::Without).unless("true"),
    value(
        "jdbc_driver_class jdbc_driver_library jdbc_fetch_size jdbc_page_size jdbc_validation_timeout",
        Fate::Without,
    ),
    value("jdbc_pool_timeout sql_log_level connection_retry_attempts statement_retry_attempts", Fate::Without),
    value("connection_retry_attempts_wait_time statement_retry_attempts_wait_time", Fate::Without),
];

const KAFKA: &[Row] = &[
    value("bootstrap_servers topics", Fate::Translated("the source")),
    value("topics_pattern", Fate::Translated("the source, if it is a beginning, as in `logs-.*`; else refused")),
    value("group_id", Fate::Translated("`--group`")),
    value("auto_offset_reset", Fate::Translated("`--from`, for `earliest` and `latest`; else refused")),
    value("group_instance_id", Fate::Flag("--member")),
    value("isolation_level", Fate::Translated("`--kafka-option isolation.level=…`")),
    value("client_rack", Fate::Translated("`--kafka-option client.rack=…`")),
    value("decorate_events", Fate::Translated("nothing: an id may be the key")).unless("none"),
    value("schema_registry_url", Fate::Flag("--schema-registry")),
    value("schema_registry_key", Fate::Flag("--registry-user")),
    value("schema_registry_secret", Fate::Noted("put it into the variable INRUSH_REGISTRY_PASSWORD")),
    value("schema_registry_proxy", Fate::Refused(PROXY)),
    value("key_deserializer_class value_deserializer_class", Fate::Refused("a class decides what a record is"))
        .unless("org.apache.kafka.common.serialization.StringDeserializer"),
    value("exclude_internal_topics", Fate::Refused("it decides which topics are read")).unless("true"),
    value("security_protocol", Fate::Noted(LOGIN)).unless("PLAINTEXT"),
    value("sasl_mechanism sasl_jaas_config jaas_path kerberos_config sasl_kerberos_service_name", Fate::Noted(LOGIN)),
    value(
        "sasl_client_callback_handler_class sasl_login_callback_handler_class sasl_iam_jar_paths",
        Fate::Noted(LOGIN),
    ),
    value("sasl_oauthbearer_token_endpoint_url sasl_oauthbearer_scope_claim_name", Fate::Noted(LOGIN)),
    value("ssl_truststore_location ssl_truststore_type ssl_truststore_password", Fate::Noted(LOGIN)),
    value("ssl_keystore_location ssl_keystore_type ssl_keystore_password ssl_key_password", Fate::Noted(LOGIN)),
    value("ssl_endpoint_identification_algorithm", Fate::Noted(LOGIN)).unless("https"),
    value("schema_registry_ssl_truststore_location schema_registry_ssl_truststore_type", Fate::Noted(TLS)),
    value("schema_registry_ssl_keystore_location schema_registry_ssl_keystore_type", Fate::Noted(TLS)),
    value("schema_registry_ssl_truststore_password schema_registry_ssl_keystore_password", Fate::Noted(TLS)),
    value("schema_registry_validation consumer_threads enable_auto_commit auto_commit_interval_ms", Fate::Without),
    value("auto_create_topics check_crcs client_dns_lookup client_id connections_max_idle_ms", Fate::Without),
    value("fetch_max_bytes fetch_max_wait_ms fetch_min_bytes group_protocol", Fate::Without),
    value("heartbeat_interval_ms max_partition_fetch_bytes max_poll_interval_ms max_poll_records", Fate::Without),
    value("metadata_max_age_ms partition_assignment_strategy poll_timeout_ms receive_buffer_bytes", Fate::Without),
    value("reconnect_backoff_ms reconnect_backoff_max_ms request_timeout_ms retry_backoff_ms", Fate::Without),
    value(
        "send_buffer_bytes session_timeout_ms sasl_login_connect_timeout_ms sasl_login_read_timeout_ms",
        Fate::Without,
    ),
    value("sasl_login_retry_backoff_ms sasl_login_retry_backoff_max_ms", Fate::Without),
];

const INDEX: &[Row] = &[
    value("hosts index", Fate::Translated("the source")),
    value("query", Fate::Translated("`--query`; other parts of a search are refused")),
    switch("docinfo", Fate::Translated("nothing: an id may be that of the source")),
    value("docinfo_fields docinfo_target", Fate::Translated("nothing: an id may be that of the source")),
    value("query_type", Fate::Refused("rows of a query are no documents of the index")).unless("dsl"),
    value("response_type", Fate::Refused("aggregations are no documents of the index")).unless("hits"),
    value("tracking_field tracking_field_seed", Fate::Refused("it decides which documents are read")),
    value("custom_headers", Fate::Refused(HEADERS)),
    value("cloud_id", Fate::Refused(CLOUD)),
    value("proxy", Fate::Refused(PROXY)),
    value("target", Fate::Refused(OBJECT)),
    value("user cloud_auth", Fate::Translated("`--from-user`")),
    value("api_key", Fate::Noted("put the key into the variable INRUSH_FROM_API_KEY")),
    switch("ssl_enabled ssl", Fate::Translated("the scheme of the source")),
    value("ssl_certificate_authorities ca_file", Fate::Flag("--from-ca")),
    value("ssl_certificate", Fate::Flag("--from-cert")),
    value("ssl_key", Fate::Flag("--from-key")),
    value("ssl_verification_mode", Fate::Translated("`--from-insecure` for `none`")).unless("full"),
    switch("ssl_certificate_verification", Fate::Flag("--from-insecure")).unless("true"),
    value("ca_trusted_fingerprint ssl_keystore_path ssl_truststore_path", Fate::Noted(TLS)),
    value("schedule", Fate::Noted(SCHEDULE)),
    value("password size retries search_api scroll slices last_run_metadata_path schedule_overlap", Fate::Without),
    value("connect_timeout_seconds request_timeout_seconds socket_timeout_seconds", Fate::Without),
    value("ssl_cipher_suites ssl_supported_protocols ssl_keystore_type ssl_keystore_password", Fate::Without),
    value("ssl_truststore_type ssl_truststore_password", Fate::Without),
];

const CODEC: &[Row] = &[
    value("charset", Fate::Translated("`--charset`")).unless("UTF-8"),
    value("delimiter", Fate::Refused("it decides where a document ends")).unless("\n"),
    value("target", Fate::Refused(OBJECT)),
    value("format", Fate::Refused("it changes text")),
    value("id enable_metric ecs_compatibility", Fate::Without),
];

const CELLS: &str = "`--separator`, `--quote`, `--columns`";

const CSV_CODEC: &[Row] = &[
    value("separator quote_char columns", Fate::Translated(CELLS)),
    value("convert", Fate::Translated("`--schema`")),
    switch("autodetect_column_names", Fate::Translated("the first row is the header")),
    value("charset", Fate::Translated("`--charset`")).unless("UTF-8"),
    value("target", Fate::Refused(OBJECT)),
    switch("skip_empty_columns include_headers", Fate::Without),
    switch("autogenerate_column_names", Fate::Without).unless("true"),
    value("id enable_metric ecs_compatibility", Fate::Without),
];

const FILTERS: &[Row] = &[
    value("add_field", Fate::Translated("nothing, if it is for `[@metadata]`; else refused")),
    value("remove_field", Fate::Translated("`--drop`, or a note")),
    value("add_tag", Fate::Refused("it adds a field to documents")),
    value("remove_tag id enable_metric periodic_flush ecs_compatibility", Fate::Without),
];

const CSV: &[Row] = &[
    value("source", Fate::Translated("nothing for `message`; else refused")).unless("message"),
    value("separator quote_char columns", Fate::Translated(CELLS)),
    value("convert", Fate::Translated("`--schema`")),
    switch("autodetect_column_names skip_header", Fate::Translated("the first row is the header")),
    value("target", Fate::Refused(OBJECT)),
    switch("skip_empty_columns skip_empty_rows", Fate::Without),
    switch("autogenerate_column_names", Fate::Without).unless("true"),
];

const JSON: &[Row] = &[
    value("source", Fate::Translated("`--format ndjson` for `message`; else refused")),
    value("target", Fate::Refused(OBJECT)),
    switch("skip_on_invalid_json", Fate::Without),
    value("tag_on_failure", Fate::Without),
];

const GROK: &[Row] = &[
    value("match", Fate::Translated("`--parse` for access logs; else refused")),
    value("patterns_dir patterns_files_glob pattern_definitions", Fate::Refused("it can change what a pattern means")),
    value("target", Fate::Refused(OBJECT)),
    switch("named_captures_only", Fate::Refused("it adds fields")).unless("true"),
    switch("break_on_match", Fate::Without).unless("true"),
    switch("keep_empty_captures", Fate::Without),
    value("overwrite tag_on_failure tag_on_timeout timeout_millis timeout_scope", Fate::Without),
];

const DATE: &[Row] = &[
    value(
        "match",
        Fate::Noted("the mapping says how a date is written, as `format`, or to_timestamp of `--sql` makes one"),
    ),
    value("target", Fate::Refused("it writes a field; `--sql` computes fields")).unless("@timestamp"),
    value("timezone locale tag_on_failure", Fate::Without),
];

const MUTATE: &[Row] = &[
    value("copy", Fate::Translated("a field for an id, if it goes to `[@metadata]`; else refused")),
    value("rename", Fate::Translated("`--rename`; `--drop`, if it goes to `[@metadata]`")),
    value("convert", Fate::Translated("`--schema` for CSV; else refused")),
    value("coerce replace update gsub uppercase lowercase capitalize split join strip merge", Fate::Refused(VALUES)),
    value("tag_on_failure", Fate::Without),
];

const OUTPUTS: &[Row] =
    &[value("workers", Fate::Noted(TUNED)), value("codec id enable_metric ecs_compatibility", Fate::Without)];

const CLUSTER: &[Row] = &[
    value("hosts path", Fate::Translated("`--to`")),
    value("cloud_id", Fate::Refused(CLOUD)),
    value("index", Fate::Translated("`--index`")),
    value("data_stream data_stream_type data_stream_dataset data_stream_namespace", Fate::Translated("`--index`")),
    value("document_id", Fate::Translated("`--id`, for one field; else refused")),
    value("action", Fate::Translated("`--action`; that of a field is refused")),
    switch("doc_as_upsert", Fate::Translated("`--action upsert`")),
    value("routing", Fate::Translated("`--routing`, for one field; else refused")),
    value("version", Fate::Translated("`--version`, for one field; else refused")),
    value("version_type", Fate::Refused("`--version` means external, so equal versions are conflicts"))
        .unless("external"),
    value("pipeline", Fate::Translated("`--pipeline`; that of a field is refused")),
    value("upsert", Fate::Refused("another document is added where there is none")),
    value("script script_type script_lang script_var_name", Fate::Refused(SCRIPT)),
    switch("scripted_upsert", Fate::Refused(SCRIPT)),
    value("parent join_field", Fate::Refused(PARENT)),
    value("ilm_rollover_alias", Fate::Refused(ROLLOVER)),
    value("parameters", Fate::Refused("parameters of requests decide how documents are written")),
    value("bulk_path", Fate::Refused("another path decides where requests go")),
    value("custom_headers", Fate::Refused(HEADERS)),
    value("proxy", Fate::Refused(PROXY)),
    value("user cloud_auth", Fate::Translated("`--user`")),
    value("api_key", Fate::Noted("put the key into the variable INRUSH_API_KEY")),
    value("auth_type", Fate::Noted("`--user`, or `--aws-sigv4 es`; see docs/aws.md")),
    switch("ssl_enabled ssl", Fate::Translated("the scheme of `--to`")),
    value("ssl_certificate_authorities cacert", Fate::Flag("--ca")),
    value("ssl_certificate tls_certificate", Fate::Flag("--cert")),
    value("ssl_key tls_key", Fate::Flag("--key")),
    value("ssl_verification_mode", Fate::Translated("`--insecure` for `none`")).unless("full"),
    switch("ssl_certificate_verification", Fate::Flag("--insecure")).unless("true"),
    value("ca_trusted_fingerprint ssl_keystore_path ssl_truststore_path keystore truststore", Fate::Noted(TLS)),
    value("template", Fate::Noted(TEMPLATE)),
    value("document_type", Fate::Noted("servers of today have no types")),
    value("pool_max pool_max_per_route target_bulk_bytes", Fate::Noted(TUNED)),
    value("dlq_custom_codes drop_error_types", Fate::Noted(DEAD_LETTERS)),
    switch("manage_template", Fate::Without).unless("true"),
    switch("template_overwrite sniffing", Fate::Without),
    value("template_name template_api ilm_enabled ilm_pattern ilm_policy retry_on_conflict password", Fate::Without),
    switch("data_stream_sync_fields data_stream_auto_routing", Fate::Without).unless("true"),
    switch("dlq_on_failed_indexname_interpolation", Fate::Without).unless("true"),
    value("ssl_cipher_suites ssl_supported_protocols ssl_keystore_type ssl_keystore_password", Fate::Without),
    value("ssl_truststore_type ssl_truststore_password keystore_password truststore_password", Fate::Without),
    value("sniffing_delay sniffing_path timeout failure_type_logging_whitelist silence_errors_in_log", Fate::Without),
    value("healthcheck_path resurrect_delay validate_after_inactivity http_compression", Fate::Without),
    value("compression_level retry_initial_interval retry_max_interval legacy_template", Fate::Without),
    value("default_server_major_version", Fate::Without),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from::logstash::translate;
    use crate::from::table::tests::{check, outcome};

    /// Pipelines with a place for a setting, `§`: the section and the plugin that it is of, the
    /// pipeline, and examples of settings that are translated: the name, the settings in its
    /// place, and a part of what becomes of it.
    type Case = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

    const INTO_A: &str = "output { elasticsearch { index => a } }";

    const CASES: &[Case] = &[
        (
            "input",
            "",
            "input { stdin { § } }",
            &[
                ("codec", "codec => json", "--format ndjson"),
                ("codec", "codec => line", "--format text"),
                ("codec", "codec => multiline { pattern => x }", "the codec multiline is not translated"),
                ("codec", "codec => avro { schema_uri => x }", "the codec avro is not translated"),
                ("codec", "codec => msgpack", "the codec msgpack is not translated"),
                ("add_field", "add_field => { b => c }", "add_field of the input stdin is not translated"),
                ("add_field", "add_field => { '[@metadata][b]' => c }", "--index a"),
            ],
        ),
        (
            "input",
            "file",
            "input { file { path => '/l/a' start_position => beginning § } }",
            &[
                ("path", "} file { path => '/b'", "several"),
                ("mode", "mode => read", "Logstash deletes files"),
                ("start_position", "} } input { file { path => '/b' start_position => end", "several"),
                (
                    "file_completed_action",
                    "mode => read file_completed_action => log",
                    "load /l/a --format text --index",
                ),
                ("file_completed_action", "mode => read file_completed_action => delete", "Logstash deletes files"),
            ],
        ),
        ("input", "stdin", "input { stdin { § } }", &[]),
        (
            "input",
            "jdbc",
            "input { jdbc { jdbc_connection_string => 'jdbc:mysql://h/d' § } }",
            &[
                ("jdbc_user", "jdbc_user => 'joe@corp'", "mysql://joe%40corp@h/d"),
                ("statement", "statement => 'SELECT 1'", "--db-query 'SELECT 1'"),
                ("statement", "statement => 'SELECT :sql_last_value'", ":sql_last_value of the statement is not"),
                ("statement_filepath", "statement_filepath => '/q.sql'", "--db-query @/q.sql"),
                (
                    "use_column_value",
                    "statement_filepath => q use_column_value => true",
                    "use_column_value of the input",
                ),
                ("use_column_value", "statement => 'SELECT 1' use_column_value => true", "--db-query"),
                ("lowercase_column_names", "lowercase_column_names => true", "keep their case"),
                ("jdbc_connection_string", "} jdbc { jdbc_connection_string => x", "several"),
            ],
        ),
        (
            "input",
            "kafka",
            "input { kafka { § } }",
            &[
                ("bootstrap_servers", "bootstrap_servers => 'a:1, b:2'", "kafka://a:1,b:2/logstash"),
                ("topics", "topics => [a, b]", "kafka://localhost:9092/a,b"),
                ("topics_pattern", "topics_pattern => 'logs-.*'", "kafka://localhost:9092/logs-*"),
                ("topics_pattern", "topics_pattern => 'l.gs-.*'", "topics_pattern of the input kafka is not"),
                ("group_id", "group_id => g", "--group g"),
                ("auto_offset_reset", "auto_offset_reset => earliest", "--from earliest"),
                ("auto_offset_reset", "auto_offset_reset => none", "auto_offset_reset of the input kafka is not"),
                ("isolation_level", "isolation_level => read_uncommitted", "isolation.level=read_uncommitted"),
                ("client_rack", "client_rack => r", "--kafka-option client.rack=r"),
                ("decorate_events", "decorate_events => basic", "--id-from position"),
            ],
        ),
        (
            "input",
            "elasticsearch",
            "input { elasticsearch { docinfo => true § } } \
             output { elasticsearch { index => a document_id => '%{[@metadata][_id]}' } }",
            &[
                ("hosts", "hosts => ['https://h']", "load 'https://h:443/logstash-*'"),
                ("hosts", "hosts => ['h']", "load 'http://h:9200/logstash-*'"),
                ("index", "index => b", "load http://localhost:9200/b --"),
                ("query", "query => '{\"query\":{\"a\":1}}'", "--query '{\"a\":1}'"),
                ("query", "query => 'FROM a'", "the query is not translated: it is not JSON"),
                ("query", "query => \"{\\\"query\\\":{}}\"", "the query is not translated: it is not JSON"),
                ("docinfo", "} } input { elasticsearch { docinfo => false", "several"),
                ("docinfo_fields", "docinfo_fields => [_index]", "document_id %{[@metadata][_id]} is not translated"),
                ("docinfo_target", "docinfo_target => '[@metadata][doc]'", "document_id %{[@metadata][_id]} is not"),
                ("user", "user => ann password => hidden", "--from-user ann"),
                ("cloud_auth", "cloud_auth => 'ann:hidden'", "--from-user ann"),
                ("ssl_enabled", "ssl_enabled => true", "https://localhost:9200/"),
                ("ssl", "ssl => true hosts => h", "https://h:9200/"),
                ("ssl_verification_mode", "ssl_verification_mode => none", "--from-insecure"),
            ],
        ),
        (
            "codec",
            "plain",
            "input { stdin { codec => plain { § } } }",
            &[("charset", "charset => 'ISO-8859-1'", "--charset ISO-8859-1")],
        ),
        (
            "codec",
            "csv",
            "input { stdin { codec => csv { columns => [b] § } } }",
            &[
                ("separator", "separator => ';'", "--separator ';'"),
                ("quote_char", "quote_char => '|'", "--quote '|'"),
                ("columns", "} } } input { stdin { codec => csv { columns => [c]", "several"),
                ("convert", "convert => { b => integer }", "--schema b:integer"),
                ("convert", "convert => { b => x }", "convert of b to x is not translated"),
                ("autodetect_column_names", "autodetect_column_names => true", "--columns b --all-strings"),
                ("charset", "charset => 'CP1252'", "--charset CP1252"),
            ],
        ),
        (
            "filter",
            "",
            "input { stdin { codec => json } } filter { mutate { § } }",
            &[
                ("add_field", "add_field => { b => c }", "add_field of the filter mutate is not translated"),
                ("add_field", "add_field => { '[@metadata][b]' => '%{c}' }", "--index a"),
                ("remove_field", "remove_field => [b, '[c][d]']", "--drop b --drop c.d"),
            ],
        ),
        (
            "filter",
            "csv",
            "input { stdin { } } filter { csv { columns => [b] § } }",
            &[
                ("source", "source => b", "the filter csv of the field b is not translated"),
                ("separator", "separator => ';'", "--separator ';'"),
                ("quote_char", "quote_char => '|'", "--quote '|'"),
                ("columns", "} csv { columns => [c]", "the filter csv of the field message is not translated"),
                ("convert", "convert => { b => date_time }", "--schema b:timestamp"),
                ("autodetect_column_names", "autodetect_column_names => true", "--columns b"),
                ("skip_header", "skip_header => true", "the header of the file is taken"),
            ],
        ),
        (
            "filter",
            "json",
            "input { stdin { } } filter { json { source => message § } }",
            &[("source", "} json { source => b", "the filter json of the field b is not translated")],
        ),
        (
            "filter",
            "grok",
            "input { stdin { } } filter { grok { match => { message => '%{COMBINEDAPACHELOG}' } § } }",
            &[("match", "} grok { match => { message => '%{WORD:b}' }", "the filter grok is not translated")],
        ),
        (
            "filter",
            "date",
            "input { stdin { } } filter { date { § } }",
            &[("match", "match => [b, ISO8601]", "the mapping says how a date is written")],
        ),
        (
            "filter",
            "mutate",
            "input { stdin { codec => json } } filter { mutate { § } }",
            &[
                ("copy", "copy => { b => c }", "copy of the filter mutate is not translated"),
                ("rename", "rename => { b => c }", "--rename b=c"),
                ("rename", "rename => { b => '[@metadata][c]' }", "--drop b"),
                ("copy", "copy => { b => '[@metadata][c]' }", "--index a"),
                ("convert", "convert => { b => integer }", "convert of the filter mutate is not translated"),
            ],
        ),
        ("output", "", "input { stdin { } } output { elasticsearch { index => a § } }", &[]),
        (
            "output",
            "elasticsearch",
            "input { stdin { codec => json } } output { elasticsearch { index => a § } }",
            &[
                ("hosts", "hosts => ['https://joe%40corp.com:hidden@h']", "--user joe@corp.com --to https://h:9200\n"),
                (
                    "hosts",
                    "hosts => ['//h', 'b:1', 'http://[::1]']",
                    "--to 'http://h:9200,http://b:1,http://[::1]:9200'\n",
                ),
                ("hosts", "hosts => 'ftp://h'", "hosts of the output elasticsearch is not translated"),
                ("path", "hosts => h path => '/es'", "--to http://h:9200/es\n"),
                ("index", "} } filter { date { } } output { elasticsearch { index => b", "several"),
                ("data_stream", "data_stream => false", "--index a"),
                ("data_stream_type", "} stdout { data_stream_type => b", "--index a"),
                ("data_stream_dataset", "data_stream_dataset => b", "--index a"),
                ("data_stream_namespace", "data_stream_namespace => b", "--index a"),
                ("document_id", "document_id => '%{[b][c]}'", "--id b.c"),
                ("document_id", "document_id => '%{b}-%{c}'", "document_id %{b}-%{c} is not translated"),
                ("document_id", "document_id => 'b'", "document_id b is not translated"),
                ("document_id", "document_id => '%{+YYYY}'", "document_id %{+YYYY} is not translated"),
                ("document_id", "document_id => '%{[@metadata][b]}'", "document_id %{[@metadata][b]} is not"),
                ("action", "action => create", "--action create"),
                ("action", "action => '%{b}'", "action %{b} is not translated"),
                ("doc_as_upsert", "action => update doc_as_upsert => true", "--action upsert"),
                ("routing", "routing => '%{b}'", "--routing b"),
                ("routing", "routing => 'b'", "routing b is not translated"),
                ("version", "version => '%{b}'", "--version b"),
                ("version", "version => '1'", "version 1 is not translated"),
                ("pipeline", "pipeline => b", "--pipeline b"),
                ("pipeline", "pipeline => '%{b}'", "pipeline %{b} is not translated"),
                ("user", "user => ann password => hidden", "--user ann"),
                ("cloud_auth", "cloud_auth => 'ann:hidden'", "--user ann"),
                ("ssl_enabled", "ssl_enabled => true", "--to https://localhost:9200\n"),
                ("ssl", "ssl => true", "--to https://localhost:9200\n"),
                ("ssl_verification_mode", "ssl_verification_mode => none", "--insecure"),
            ],
        ),
    ];

    #[test]
    fn every_setting_becomes_what_the_table_says() {
        for table in TABLES {
            let first = table.plugins.split(' ').next().unwrap();
            let of_table = |case: &&Case| case.0 == table.section && case.1 == first;
            let (section, plugin, pipeline, examples) = CASES.iter().find(of_table).unwrap();
            let run = |settings: &str| {
                let pipeline = pipeline.replace('§', settings);
                let output = if pipeline.contains("output {") { "" } else { INTO_A };
                let outcome = outcome(translate(&format!("{pipeline} {output}")));
                assert!(!outcome.contains("hidden"), "{settings}: {outcome}");
                outcome
            };
            let plugin = match (*plugin, *section) {
                ("", "input") => "stdin",
                ("", "filter") => "mutate",
                ("", _) => "elasticsearch",
                (name, _) => name,
            };
            let names: Vec<(&str, &str)> = examples.iter().map(|(name, _, expected)| (*name, *expected)).collect();
            check(
                table.rows,
                |name| format!("{name} of the {section} {plugin}"),
                |setting| run(&setting.map(|(name, value)| format!("{name} => \"{value}\"")).unwrap_or_default()),
                &names,
            );
            for (name, settings, expected) in *examples {
                let outcome = run(settings);
                assert!(settings.contains(name), "{settings} has no {name}");
                assert!(outcome.contains(expected), "{settings}: {outcome}");
            }
            let unknown = run("not_known => 1");
            assert!(unknown.contains("not_known") && unknown.starts_with("refused"), "{unknown}");
        }
    }
}
