//! Change events with schemas, through a real broker: types by name in keys and values, deletions,
//! and columns that the database did not give.

use inrush_core::Action;
use inrush_fake::{FakeCluster, FakeConfig};
use inrush_kafka::{KafkaOptions, KafkaSource, Unwrap};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report};
use serde_json::{Value, json};

use crate::broker::shared;
use crate::topic::Topic;

const DECIMAL: &str = "org.apache.kafka.connect.data.Decimal";

/// The key of a row. Its first field is a decimal, as `numeric` columns of databases are.
fn key(id: &str) -> String {
    let fields = json!([
        {"field": "id", "type": "bytes", "name": DECIMAL, "parameters": {"scale": "0"}},
        {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
    ]);
    json!({"schema": {"type": "struct", "fields": fields}, "payload": {"id": id, "day": 20_089}}).to_string()
}

/// An event whose schema names the types of the columns.
fn event(op: &str, after: &Value) -> String {
    let columns = json!([
        {"field": "price", "type": "bytes", "optional": true, "name": DECIMAL, "parameters": {"scale": "2"}},
        {"field": "at", "type": "int64", "optional": true, "name": "io.debezium.time.MicroTimestamp"},
        {"field": "days", "type": "array", "optional": true,
         "items": {"type": "int32", "name": "io.debezium.time.Date"}},
        {"field": "rest", "type": "string", "optional": true, "name": "io.debezium.data.Json"},
        {"field": "note", "type": "string", "optional": true},
    ]);
    let row = json!({"field": "after", "type": "struct", "optional": true, "name": "shop.public.orders.Value", "fields": columns});
    let fields = json!([row, {"field": "op", "type": "string"}]);
    let schema = json!({"type": "struct", "name": "shop.public.orders.Envelope", "fields": fields});
    json!({"schema": schema, "payload": {"after": after, "op": op}}).to_string()
}

fn row(price: &str, note: &str) -> Value {
    json!({"price": price, "at": 1_735_689_600_000_000_u64, "days": [20_089, null], "rest": "{\"a\":[1.50]}", "note": note})
}

async fn load(fake: &FakeCluster, index: &str, action: Action, options: KafkaOptions) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let source = tokio::task::spawn_blocking(|| KafkaSource::open(options).unwrap()).await.unwrap();
    let mut config = LoadConfig::new(fake.urls(), index.parse().unwrap());
    config.action = action;
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    let report = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap().finish().await;
    assert!(report.counts.add_up() && report.failure.is_none(), "{report:?}");
    report
}

fn documents(fake: &FakeCluster, index: &str) -> Vec<(String, Value)> {
    let documents = fake.documents(index).into_iter();
    let mut documents: Vec<_> =
        documents.map(|document| (document.id, serde_json::from_slice(&document.source).unwrap())).collect();
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    documents
}

#[tokio::test(flavor = "multi_thread")]
async fn values_keys_and_missing_columns_are_those_of_the_database() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let topic: Topic = tokio::task::spawn_blocking(|| shared().topic(1)).await.unwrap();
    // "Aek=" is 489 and "AA==" is 0, as unscaled numbers.
    let (first, second) = (key("Aek="), key("AA=="));
    let records = [
        (&first, Some(event("c", &row("BNI=", "a large text")))),
        (&second, Some(event("r", &row("+y4=", "another")))),
        (&first, Some(event("u", &row("BNM=", "__debezium_unavailable_value")))),
        (&second, Some(event("d", &Value::Null))),
        (&second, None),
    ];
    topic.produce(0, records.iter().map(|(key, value)| (key.as_str(), value.as_deref())));
    let options = |group: &str, is_merged: bool| {
        let mut options = topic.bounded(group);
        (options.unwrap, options.is_merged) = (Unwrap::Debezium, is_merged);
        options
    };

    let merged = load(&fake, "merged", Action::Upsert, options("merged", true)).await;
    assert_eq!(merged.counts.docs_dead_lettered, 0, "{merged:?}");
    let document = |price: &str, note: &str| {
        let price: Value = price.parse().unwrap();
        json!({"price": price, "at": "2025-01-01T00:00:00", "days": ["2025-01-01", null], "rest": {"a": [1.5]}, "note": note})
    };
    let id = "489|2025-01-01".to_owned();
    assert_eq!(documents(&fake, "merged"), [(id.clone(), document("12.35", "a large text"))]);

    // A whole document would lose the text: the event is a dead letter, and the first one stays.
    let whole = load(&fake, "whole", Action::Index, options("whole", false)).await;
    assert_eq!(whole.counts.docs_dead_lettered, 1, "{whole:?}");
    assert_eq!(documents(&fake, "whole"), [(id, document("12.34", "a large text"))]);
}
