//! A query in SQL over windows of topics.

use std::num::NonZeroU64;
use std::time::Duration;

use inrush_core::Coalesce;
use inrush_kafka::{KafkaAddress, OnNull};
use inrush_load::config::LoadConfig;
use inrush_sources::{Format, FormatOptions};

use super::query::{Over, Tables, WindowPlan, text};
use crate::options::{LoadOptions, OptionError, OptionErrorKind, OptionGroup};

/// The part of the memory for records that are held until the rows of their window are settled.
const MEMORY_PART: usize = 2;

/// How long rows wait for a full request if nothing else is given. All rows of a window come at
/// once, so later ones come only with the next window.
const LINGER: Duration = Duration::from_millis(100);

/// The window if none is given. Memory ends it earlier.
const WINDOW: Coalesce = Coalesce::new(Duration::from_secs(5), None::<NonZeroU64>);

/// Whether the load is a query over topics.
pub(super) fn are_meant(load: &LoadOptions) -> bool {
    let is_topic = |source: &std::ffi::OsString| source.to_str().is_some_and(KafkaAddress::is_meant);
    (load.query.sql.is_some() || load.query.sql_file.is_some()) && load.source.sources.iter().any(is_topic)
}

/// The query over windows of a topic, if there is one. Takes the memory of the windows from that of
/// the load. Reads the tables.
pub(super) async fn of_load(load: &LoadOptions, config: &mut LoadConfig) -> Result<Option<Over>, OptionError> {
    let Some(sql) = text(&load.query)? else { return Ok(None) };
    let memory = config.limits.memory / MEMORY_PART;
    let batches = config.limits.batch_bytes.unwrap_or(1) * config.limits.in_flight.unwrap_or(1) as usize;
    config.limits.memory = (config.limits.memory - memory).max(batches);
    config.limits.linger = load.sizes.linger.map_or(LINGER, |_| config.limits.linger);
    let format = FormatOptions {
        document_bytes_max: config.limits.document_bytes_max,
        timestamps: load.reading.timestamps.unwrap_or_default(),
        ..FormatOptions::default()
    };
    let columns = load.reading.schema.iter().map(|column| (column.name.clone(), column.column_type));
    let plan = WindowPlan {
        window: load.sizes.coalesce.unwrap_or(WINDOW),
        memory,
        columns: columns.collect(),
        skip_deletions: load.kafka.on_null == Some(OnNull::Skip),
    };
    let tables = Tables { options: &load.query, input: Vec::new(), format };
    tables.windows(&sql, plan).await.map(Some)
}

/// Refuses options that do not work with a query over topics, and those that need one.
pub(super) fn check(load: &LoadOptions) -> Result<(), OptionError> {
    let refuse = |name: &'static str, why: &str, hint: &'static str| {
        Err(OptionError::conflict(format!("option `{name}` {why}")).of(name).hint(hint))
    };
    if !are_meant(load) {
        let of_query = load.reading.given().find(|info| matches!(info.name, "schema" | "timestamps"));
        return match of_query.or_else(|| load.query.given().next()) {
            None => Ok(()),
            Some(info) => refuse(info.name, "needs a query where the source is a topic", "give one with option `sql`"),
        };
    }
    if load.target.id_from.is_some() {
        return refuse("id_from", "is for records, and rows of a query have none", "name a column with option `id`");
    }
    if load.target.id.is_none() {
        let message = "a query over a topic needs the ids of its rows: without them, records that are read twice make \
                       two documents";
        return Err(OptionError::new(OptionErrorKind::Missing, message)
            .of("id")
            .hint("name the column with option `id=COLUMN`"));
    }
    if load.kafka.version_from.is_some() {
        return refuse(
            "version_from",
            "gives a record's version to its document, but the documents are rows of a query",
            "name a column of the result with option `version`",
        );
    }
    if load.kafka.on_null == Some(OnNull::Delete) {
        return refuse(
            "on_null",
            "is `delete`, but a query makes rows and deletes nothing",
            "leave it out, so that such records are dead letters, or give option `on_null=skip`",
        );
    }
    if load.reading.format == Some(Format::Bulk) {
        return refuse(
            "format",
            "is `bulk`, whose values say which document they change, but the documents are rows of a query",
            "load the topic without a query",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::kafka::tests::load;
    use super::*;
    use crate::options::{Environment, Style};

    #[track_caller]
    fn refused(given: &[(&str, Value)], expected: &str) {
        let error = check(&load(given)).unwrap_err();
        let text = format!("{error}; {}", error.hint_in(Style::Key).unwrap_or_default());
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn options_that_do_not_work_with_a_query_over_a_topic_are_refused() {
        refused(&[("sql", json!("SELECT 1"))], "needs the ids of its rows");
        refused(&[("sql", json!("SELECT 1")), ("id_from", json!("position"))], "rows of a query have none");
        for (name, value, expected) in [
            ("version_from", json!("offset"), "name a column of the result with version"),
            ("on_null", json!("delete"), "a query makes rows"),
            ("format", json!("bulk"), "load the topic without a query"),
        ] {
            refused(&[("sql", json!("SELECT 1")), ("id", json!("id")), (name, value)], expected);
        }
        for (name, value) in [("schema", json!("a:integer")), ("timestamps", json!("iso")), ("table", json!("t=t.csv"))]
        {
            refused(&[(name, value)], "needs a query where the source is a topic");
        }
        assert!(check(&load(&[])).is_ok());
        let all = [
            ("sql", json!("SELECT 1")),
            ("id", json!("id")),
            ("schema", json!("a:integer")),
            ("coalesce", json!("1s")),
        ];
        assert!(check(&load(&all)).is_ok());
    }

    #[test]
    fn the_window_is_not_coalesced() {
        let coalesce = |given: &[(&str, Value)]| {
            super::super::config::config(&load(given), &Environment::new(|_| None)).unwrap().coalesce
        };
        assert!(coalesce(&[("coalesce", json!("2s"))]).is_some());
        let of_query = [("coalesce", json!("2s")), ("sql", json!("SELECT 1")), ("id", json!("id"))];
        assert!(coalesce(&of_query).is_none());
    }

    #[cfg(feature = "sql")]
    #[tokio::test]
    async fn half_of_the_memory_is_for_windows() {
        let load = load(&[("sql", json!("SELECT id FROM input")), ("id", json!("id"))]);
        let mut config = super::super::config::config(&load, &Environment::new(|_| None)).unwrap();
        let before = config.limits.memory;
        assert!(of_load(&load, &mut config).await.unwrap().is_some());
        assert_eq!((config.limits.memory, config.limits.linger), (before / 2, LINGER));
        let mut wrong = load.clone();
        wrong.give("sql", "SELECT id FROM others").unwrap();
        let error = of_load(&wrong, &mut config).await.map(drop).unwrap_err().to_string();
        assert!(error.contains("there is no table others"), "{error}");
    }
}
