//! Topics of Kafka.

mod connection;

use std::path::Path;
use std::time::Duration;

use inrush_cluster::BoxFuture;
use inrush_core::{Action, OnConflict};
use inrush_kafka::{Ids, KafkaAddress, KafkaOptions, OnNull, SchemaRegistry, Until, Values};
use inrush_load::LoadError;
use inrush_load::config::{IdFrom, LoadConfig, OldWrites};
use inrush_sources::Format;

use super::super::{Environment, fetch, login};
use super::{Can, Kind, Opened, Opening, Use, take_memory};
use crate::options::{
    KafkaGroupOptions, KafkaSourceOptions, KafkaValueOptions, LoadOptions, OptionError, OptionGroup, SourceLoginOptions,
};

/// How long a load without an end waits for the cluster.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) static TOPICS: Kind = Kind {
    many: "topics of Kafka",
    example: "name topics as in kafka://broker/topic",
    alone: Some("several topics of one Kafka cluster go into one address: kafka://broker/a,b,logs-*"),
    options: &[
        KafkaSourceOptions::TABLE,
        KafkaValueOptions::TABLE,
        KafkaGroupOptions::TABLE,
        // The user, the password and the certificates are those of the brokers.
        SourceLoginOptions::TABLE,
    ],
    reads: |reading, name| match name {
        "format" => matches!(reading.format, Some(Format::Json | Format::Ndjson | Format::Text | Format::Bulk)),
        "field" => reading.format == Some(Format::Text),
        _ => false,
    },
    read_as: "whose values are single documents; values are JSON, with option `format=text` text, with option \
              `format=bulk` items of bulk bodies, and with option `schema_registry` or option `schema_file` Avro or \
              Protobuf",
    has_ids: true,
    can: |what| match what {
        Use::Load => Can::Do,
        Use::Query => Can::Never(
            "a query in SQL reads files, but the source is a topic, which has no end",
            "load the topic without a query, and change its documents with option `pipeline`; or write the result of \
             a stream processor to another topic, and load that",
        ),
        Use::Bake | Use::Sweep | Use::Convert => Can::NoFiles("load it with `inrush load`"),
        Use::DryRun => Can::Never(
            "a dry run of topics would join their consumer group and change it",
            "load into an index for trials, with a new option `group` and option `until=latest`; `inrush lag` shows \
             the offsets of a group",
        ),
        Use::Verify | Use::Infer => Can::Never(
            "topics are read by `inrush load` only: another reader would join their consumer group and change it",
            "load them into an index, and look at that",
        ),
        Use::Map | Use::Shards => Can::Once("a member of a group reads records once"),
    },
    open,
};

/// Opens the topics, and takes the memory of the records that wait from that of the load.
fn open(opening: Opening<'_>) -> BoxFuture<'_, Result<Opened, LoadError>> {
    Box::pin(async move {
        let topics = options(opening.load, opening.config, opening.environment)?;
        Ok(opening.open(&opening.request().with(topics)).await?.into())
    })
}

/// The options of the source. Takes the memory of the records that wait from that of the load.
fn options(
    load: &LoadOptions,
    config: &mut LoadConfig,
    environment: &Environment,
) -> Result<KafkaOptions, OptionError> {
    check(load)?;
    // The kind was found by it.
    let address = load.source.sources.first().and_then(|source| source.to_str()).unwrap_or_default();
    let address =
        KafkaAddress::parse(address).map_err(|error| OptionError::unusable(error.to_string()).of("sources"))?;
    let KafkaSourceOptions { member, from, until, on_null, version_from, on_offset_gap, dead_letter_topic } =
        load.kafka.clone();
    let mut options = KafkaOptions::new(address);
    options.group = load.kafka_group.group.clone().unwrap_or_else(|| format!("inrush-{}", config.index.as_str()));
    options.member = member;
    options.from = from.unwrap_or_default();
    options.until = until;
    if let Some(swap) = &mut config.finish.swap {
        swap.is_shared = true;
        options.ends_together = true;
    }
    options.ids = match (&load.target.id, load.target.id_from) {
        (Some(_), _) => Ids::None,
        // The records have the ids.
        (None, Some(_)) => Ids::Position,
        // A record without a key has nothing that could be looked up.
        (None, None) if load.fetch.given().next().is_some() => Ids::Key,
        (None, None) => Ids::KeyOrPosition,
    };
    if matches!(options.ids, Ids::Key | Ids::KeyOrPosition)
        && (options.address.topics.len() > 1 || has_pattern(&options.address))
    {
        config.told.warn(
            "ids are keys, so records of several topics with one key are one document; \
             if they are not meant to be, give option `id_from=position`, or option `id`",
        );
    }
    config.id_from = None;
    options.on_null = on_null_of(on_null, options.ids)?;
    options.on_gap = on_offset_gap.unwrap_or_default();
    options.dead_letter_topic = dead_letter_topic;
    if load.errors.on_conflict.is_none() && (version_from.is_some() || options.ids == Ids::Position) {
        // A newer document is in the index already, or that of the same record.
        config.on_conflict = OnConflict::Skip;
    }
    if until.is_none() {
        // It is to go on by itself after a night.
        config.limits.retry_for = load.sizes.retry_for.unwrap_or(DAY);
        config.limits.pause_max = load.sizes.pause_for.unwrap_or(DAY);
    }
    options.versions = version_from;
    options.values = values(load, environment)?;
    options.unwrap = load.kafka_values.unwrap.unwrap_or_default();
    options.unavailable_value.clone_from(&load.kafka_values.unavailable_value);
    options.is_merged = !matches!(config.action, Action::Index | Action::Create);
    options.with.clone_from(&load.kafka_values.with);
    load.kafka_group.connect(&mut options, &load.source_login, environment)?;
    options.document_bytes_max = config.limits.document_bytes_max;
    options.memory = take_memory(&mut config.limits, options.memory);
    Ok(options)
}

fn has_pattern(address: &KafkaAddress) -> bool {
    address.topics.iter().any(|topic| topic.contains('*'))
}

/// What the values of records are.
fn values(load: &LoadOptions, environment: &Environment) -> Result<Values, OptionError> {
    let KafkaValueOptions {
        with: _,
        unwrap,
        unavailable_value,
        schema_registry,
        registry_user,
        registry_password_file,
        registry_password_env,
        registry_ca,
        schema_ids,
        schema_file,
        schema_message,
    } = &load.kafka_values;
    let of_registry = [
        ("registry_user", registry_user.is_some()),
        ("registry_password_file", registry_password_file.is_some()),
        ("registry_password_env", registry_password_env.is_some()),
        ("registry_ca", registry_ca.is_some()),
        ("schema_ids", schema_ids.is_some()),
    ];
    if let (None, Some((name, _))) = (schema_registry, of_registry.into_iter().find(|(_, is_given)| *is_given)) {
        let message = format!("option `{name}` is for a schema registry, and none is given");
        return Err(OptionError::conflict(message).of(name).hint("name it with option `schema_registry=URL`"));
    }
    if let (Some(_), None) = (schema_message, schema_file) {
        let message = "option `schema_message` names a message of option `schema_file`, which is not given";
        return Err(OptionError::conflict(message).of("schema_message").hint("name the .proto file"));
    }
    if unavailable_value.is_some() && !unwrap.unwrap_or_default().is_of_debezium() {
        let message = "option `unavailable_value` is for events of Debezium, and the values are none";
        return Err(OptionError::conflict(message).of("unavailable_value").hint("give option `unwrap=debezium`"));
    }
    let format = load.reading.format;
    if let (Some(_), true) = (format, schema_registry.is_some() || schema_file.is_some()) {
        let message = "option `format` says what values are, and a schema does, too";
        return Err(OptionError::conflict(message).of("format").hint("leave option `format` out"));
    }
    if let Some(url) = schema_registry {
        let mut registry = SchemaRegistry::new(url);
        let user = registry_user.as_deref();
        let place = (registry_password_file.as_deref(), registry_password_env.as_deref());
        registry.credentials = login::of_registry(user, place, environment)?;
        registry.tls.ca_file.clone_from(registry_ca);
        registry.ids = schema_ids.unwrap_or_default();
        return Ok(Values::Registry(registry));
    }
    let is_avro = |file: &Path| file.extension().is_some_and(|end| end == "avsc" || end == "json");
    Ok(match (schema_file, schema_message, format) {
        (Some(file), None, _) if is_avro(file) => Values::Avro { schema_file: file.clone() },
        (Some(file), message, _) => Values::Protobuf { schema_file: file.clone(), message: message.clone() },
        (None, _, Some(Format::Text)) => {
            Values::Text { field: load.reading.field.clone().unwrap_or_else(|| "message".to_owned()) }
        }
        (None, _, Some(Format::Bulk)) => Values::Bulk,
        (None, _, _) => Values::Json,
    })
}

fn on_null_of(given: Option<OnNull>, ids: Ids) -> Result<OnNull, OptionError> {
    let has_keys = matches!(ids, Ids::Key | Ids::KeyOrPosition);
    match given {
        Some(OnNull::Delete) if !has_keys => {
            let message = "option `on_null=delete` deletes the document whose id is the key, but the ids are not keys";
            Err(OptionError::conflict(message)
                .of("on_null")
                .hint("leave option `id` and option `id_from` out, or give option `on_null=skip`"))
        }
        Some(on_null) => Ok(on_null),
        None if has_keys => Ok(OnNull::Delete),
        None => Ok(OnNull::DeadLetter),
    }
}

/// Refuses options that do not work with topics.
fn check(load: &LoadOptions) -> Result<(), OptionError> {
    if load.fetch.given().next().is_some() && !load.kafka_values.with.is_empty() {
        return Err(fetch::about_the_source("with", "leave it out"));
    }
    let (target, resume) = (&load.target, &load.resume);
    let group = "the group's offsets say what was loaded: start the same load again, and it continues";
    let refused = [
        (resume.resume.then_some("resume"), "does not apply to topics", group),
        (resume.once.then_some("once"), "does not apply to topics", group),
        (
            target.recreate.then_some("recreate"),
            "deletes the documents of records whose offsets the group has committed",
            "load into a new index with a new option `group`",
        ),
        (
            (target.id_from == Some(IdFrom::Content)).then_some("id_from"),
            "`content` is for documents without ids, but records have keys or positions",
            "give option `id_from=position`, or leave it out, so that ids are keys",
        ),
        (
            (load.end.alias.is_some() && load.kafka.until != Some(Until::Latest)).then_some("alias"),
            "moves the alias once the group has read everything, and this load has no such end",
            "give it one with option `until=latest`",
        ),
        (
            (load.end.alias.is_some() && load.target.index.is_none()).then_some("alias"),
            "needs a new index that all instances of the group fill",
            "name it with option `index`, the same for each instance",
        ),
        (
            (load.end.alias.is_some() && load.errors.no_verify).then_some("no_verify"),
            "does not work with option `alias`: the last instance is found with the counts of all",
            "leave it out",
        ),
        (
            (load.end.alias.is_some() && load.target.leave_settings).then_some("leave_settings"),
            "does not work with option `alias`: instances know of each other by a record in the cluster",
            "leave it out",
        ),
        (
            (load.end.old_writes == Some(OldWrites::CatchUp)).then_some("old_writes"),
            "`catch-up` copies what was written to the old index, but the documents come from the topic",
            "leave it out, and write to the topic",
        ),
    ];
    match refused.into_iter().find_map(|(name, why, hint)| Some((name?, why, hint))) {
        None => Ok(()),
        Some((name, why, hint)) => Err(OptionError::conflict(format!("option `{name}` {why}")).of(name).hint(hint)),
    }
}

#[cfg(test)]
pub(in super::super) mod tests {
    use super::super::super::config;
    use super::super::find;
    use super::*;
    use crate::options::{OptionInfo, SourceOptions, Style};
    use serde_json::{Value, json};

    /// Options of a load of a topic, with these given.
    pub(in super::super::super) fn load(given: &[(&str, Value)]) -> LoadOptions {
        let sources = vec!["kafka://broker/orders".into()];
        let mut load =
            LoadOptions { source: SourceOptions { sources, ..SourceOptions::default() }, ..LoadOptions::default() };
        load.give("index", "orders").unwrap();
        given.iter().for_each(|(name, value)| load.give(name, value.clone()).unwrap());
        load
    }

    pub(super) fn resolved(given: &[(&str, Value)]) -> Result<(KafkaOptions, LoadConfig), OptionError> {
        let load = load(given);
        let environment = Environment::new(|_| None);
        let found = find(&load, &[])?;
        found.check(&load, Use::Load)?;
        let mut config = config::config(&load, &found, &environment)?;
        let options = options(&load, &mut config, &environment)?;
        Ok((options, config))
    }

    #[track_caller]
    pub(super) fn refused(given: &[(&str, Value)], expected: &str) {
        let error = resolved(given).unwrap_err();
        let text = format!("{error}; {}", error.hint_in(Style::Key).unwrap_or_default());
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn ids_are_keys_unless_something_else_is_asked_for() {
        let (options, config) = resolved(&[]).unwrap();
        assert_eq!((options.ids, options.on_null), (Ids::KeyOrPosition, OnNull::Delete));
        assert_eq!((options.group.as_str(), options.until), ("inrush-orders", None));
        assert_eq!((config.limits.retry_for, config.limits.pause_max), (DAY, DAY));
        assert!(config.limits.memory + options.memory == LoadConfig::new(vec![], "i".parse().unwrap()).limits.memory);
        let (options, config) = resolved(&[("id_from", json!("position")), ("until", json!("latest"))]).unwrap();
        assert_eq!((options.ids, options.on_null), (Ids::Position, OnNull::DeadLetter));
        assert_eq!((config.id_from, options.until), (None, Some(Until::Latest)));
        assert_eq!(config.limits.retry_for, Duration::from_secs(600));
        // Of a record that is read again the document is there, where the action is create.
        assert_eq!(config.on_conflict, OnConflict::Skip);
        let (options, config) = resolved(&[("id", json!("n")), ("on_null", json!("skip"))]).unwrap();
        assert_eq!((options.ids, options.on_null, config.id.is_some()), (Ids::None, OnNull::Skip, true));
        refused(&[("id", json!("n")), ("on_null", json!("delete"))], "the ids are not keys");
        let (options, _) = resolved(&[("fetch_url", json!("https://h/?ids={keys}"))]).unwrap();
        assert_eq!((options.ids, options.on_null), (Ids::Key, OnNull::Delete));
        let (_, config) = resolved(&[("version_from", json!("offset"))]).unwrap();
        assert_eq!(config.on_conflict, OnConflict::Skip);
        let given = [("version_from", json!("updated")), ("on_conflict", json!("compare"))];
        assert_eq!(resolved(&given).unwrap().1.on_conflict, OnConflict::Compare);
    }

    #[test]
    fn columns_that_are_left_out_keep_their_value_where_documents_are_merged() {
        for (action, is_merged) in
            [("index", false), ("create", false), ("update", true), ("upsert", true), ("delete", true)]
        {
            let given = [("action", json!(action)), ("unwrap", json!("debezium")), ("unavailable_value", json!("n/a"))];
            let (options, _) = resolved(&given).unwrap();
            assert_eq!((options.is_merged, options.unavailable_value.as_deref()), (is_merged, Some("n/a")), "{action}");
        }
    }

    #[test]
    fn values_are_what_the_format_says() {
        let values = |format: &str| resolved(&[("format", json!(format))]).unwrap().0.values;
        assert!(matches!(values("ndjson"), Values::Json) && matches!(values("bulk"), Values::Bulk));
        assert!(matches!(values("text"), Values::Text { field } if field == "message"));
    }

    #[test]
    fn options_that_do_not_work_with_topics_are_refused() {
        for (name, value, expected) in [
            ("recreate", json!(true), "whose offsets the group has committed"),
            ("id_from", json!("content"), "records have keys or positions"),
            ("map", json!("auto"), "reads records once"),
            ("shards", json!("auto"), "reads records once"),
            ("alias", json!("now"), "this load has no such end"),
            ("copy_mapping", json!(true), "is for an index of another cluster"),
            ("format", json!("csv"), "whose values are single documents"),
            ("registry_user", json!("me"), "name it with schema_registry"),
            ("schema_message", json!("a.B"), "name the .proto file"),
            ("unavailable_value", json!("x"), "the values are none"),
        ] {
            refused(&[(name, value)], expected);
        }
        for name in ["resume", "once"] {
            refused(&[(name, json!(true)), ("state", json!("/s"))], "does not apply to topics");
        }
        let looked_up = [("fetch_url", json!("https://h/?ids={keys}")), ("with", json!("key"))];
        refused(&looked_up, "is about the documents of the source");
    }

    #[test]
    fn each_option_of_topics_changes_the_source() {
        let value = |info: &OptionInfo| match (info.value.choices.last(), info.name) {
            (Some(choice), _) => json!(choice.name),
            (None, "version_from") => json!("offset"),
            (None, "from" | "until") => json!("2026-01-31"),
            (None, "with") => json!("key"),
            (None, "kafka_option") => json!("client.rack=a"),
            (None, "kafka_tls") => json!(true),
            (None, _) => json!("other"),
        };
        // A login needs a user, whose password is not at hand here.
        let needs_others = [
            "kafka_sasl",
            "registry_user",
            "registry_password_file",
            "registry_password_env",
            "registry_ca",
            "schema_ids",
            "schema_message",
            "unavailable_value",
        ];
        let infos = KafkaSourceOptions::infos().into_iter().chain(KafkaGroupOptions::infos());
        let infos = infos.chain(KafkaValueOptions::infos());
        for info in infos.filter(|info| !needs_others.contains(&info.name)) {
            let text = |given: &[(&str, Value)]| {
                let (options, _) = resolved(given).unwrap();
                let KafkaOptions { group, member, from, until, on_null, on_gap, properties, .. } = &options;
                let KafkaOptions { values, unwrap, with, versions, dead_letter_topic, .. } = &options;
                format!(
                    "{group} {member:?} {from:?} {until:?} {on_null:?} {on_gap:?} {properties:?} {values:?} {unwrap:?} {with:?} {versions:?} {dead_letter_topic:?}"
                )
            };
            assert_ne!(text(&[]), text(&[(info.name, value(info))]), "{}", info.name);
        }
    }
}
