//! Envelopes of Debezium and Kafka Connect with their schemas, in JSON and in Avro: through topics
//! of a real broker into a real OpenSearch.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{Map, Value, json};

use crate::broker::{self, Broker};
use crate::program;
use crate::server::{Server, Version};
use crate::web_server::{WebFile, WebServer};

/// Debezium's word for a value that the database did not give.
const UNAVAILABLE: &str = "__debezium_unavailable_value";

/// The ids of the schemas of Avro in the registry.
const KEY: u32 = 1;
const EVENT: u32 = 2;

/// The columns with logical types: Kafka Connect's schema, the value in a record, and the value in
/// a document.
fn columns() -> Vec<(&'static str, Value, Value, Value)> {
    let of = |kind: &str, name: &str| json!({"type": kind, "name": name});
    let fields = |name: &str, fields: Value| json!({"type": "struct", "name": name, "fields": fields});
    let with = |mut schema: Value, parameter: &str, value: &str| {
        schema["parameters"] = json!({parameter: value});
        schema
    };
    let decimal = of("bytes", "org.apache.kafka.connect.data.Decimal");
    let day = of("int32", "io.debezium.time.Date");
    let wkb = "AQEAAAAAAAAAAADwPwAAAAAAAABA";
    let scaled = json!([{"field": "scale", "type": "int32"}, {"field": "value", "type": "bytes"}]);
    let point = json!([{"field": "x", "type": "double"}, {"field": "y", "type": "double"},
        {"field": "wkb", "type": "bytes"}, {"field": "srid", "type": "int32", "optional": true}]);
    vec![
        ("day", day.clone(), json!(20089), json!("2025-01-01")),
        ("price", with(decimal, "scale", "2"), json!("BNI="), json!(12.34)),
        (
            "exact",
            fields("io.debezium.data.VariableScaleDecimal", scaled.clone()),
            json!({"scale": 2, "value": "+y4="}),
            json!(-12.34),
        ),
        (
            "whole",
            fields("io.debezium.data.VariableScaleDecimal", scaled),
            json!({"scale": 0, "value": "BQ=="}),
            json!(5.0),
        ),
        ("time", of("int64", "io.debezium.time.MicroTime"), json!(36_000_000_000_i64), json!("10:00:00")),
        (
            "at",
            of("int64", "io.debezium.time.MicroTimestamp"),
            json!(1_735_689_600_123_456_i64),
            json!("2025-01-01T00:00:00.123456"),
        ),
        (
            "made",
            of("int64", "org.apache.kafka.connect.data.Timestamp"),
            json!(1_735_689_600_123_i64),
            json!("2025-01-01T00:00:00.123Z"),
        ),
        ("took", of("int64", "io.debezium.time.MicroDuration"), json!(93_784_000_000_i64), json!("PT26H3M4S")),
        (
            "zoned",
            of("string", "io.debezium.time.ZonedTimestamp"),
            json!("2025-01-01T00:00:00Z"),
            json!("2025-01-01T00:00:00Z"),
        ),
        ("settings", of("string", "io.debezium.data.Json"), json!("{\"a\":[1]}"), json!({"a": [1]})),
        ("flags", with(of("bytes", "io.debezium.data.Bits"), "length", "10"), json!("AQI="), json!(513)),
        (
            "place",
            fields("io.debezium.data.geometry.Point", point),
            json!({"x": 1.0, "y": 2.0, "wkb": wkb, "srid": null}),
            json!("POINT (1 2)"),
        ),
        ("days", json!({"type": "array", "items": day}), json!([20089, 0]), json!(["2025-01-01", "1970-01-01"])),
        ("gone", json!({"type": "int32", "name": "io.debezium.time.Date", "optional": true}), Value::Null, Value::Null),
    ]
}

/// Kafka Connect's schema of a row.
fn row_schema() -> Value {
    let mut fields = vec![json!({"field": "id", "type": "int32"}), json!({"field": "n", "type": "int64"})];
    for (name, mut schema, ..) in columns() {
        schema["field"] = json!(name);
        fields.push(schema);
    }
    fields.push(json!({"field": "bio", "type": "string"}));
    json!({"type": "struct", "name": "shop.public.orders.Value", "optional": true, "fields": fields})
}

fn key_schema() -> Value {
    json!({"type": "struct", "name": "shop.public.orders.Key", "fields": [
        {"field": "id", "type": "int32"},
        {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
    ]})
}

/// The schema of Debezium's change events.
fn event_schema() -> Value {
    let row = |field: &str| {
        let mut row = row_schema();
        row["field"] = json!(field);
        row
    };
    json!({"type": "struct", "name": "shop.public.orders.Envelope", "fields": [
        row("before"),
        row("after"),
        {"field": "source", "type": "struct", "name": "io.debezium.connector.postgresql.Source",
            "fields": [{"field": "version", "type": "string"}]},
        {"field": "op", "type": "string"},
        {"field": "ts_ms", "type": "int64", "optional": true},
    ]})
}

fn row(id: u32, n: u32, bio: &str) -> Value {
    let mut row = Map::from_iter([("id".to_owned(), json!(id)), ("n".to_owned(), json!(n))]);
    row.extend(columns().into_iter().map(|(name, _, value, _)| (name.to_owned(), value)));
    row.insert("bio".to_owned(), json!(bio));
    Value::Object(row)
}

/// The document of a row, by its id.
fn document(id: u32, n: u32) -> (String, Value) {
    let mut document = row(id, n, "a long text");
    for (name, _, _, value) in columns() {
        document[name] = value;
    }
    (format!("{id}|2025-01-01"), document)
}

/// The changes of a table: the id of a row, and the event. No event: the tombstone behind a
/// deletion.
fn events() -> Vec<(u32, Option<Value>)> {
    let event = |op: &str, before: Value, after: Value| {
        Some(json!({"before": before, "after": after, "source": {"version": "3.6.1.Final"}, "op": op,
            "ts_ms": 1_735_689_600_123_i64}))
    };
    let text = "a long text";
    vec![
        (1, event("r", Value::Null, row(1, 1, text))),
        (2, event("c", Value::Null, row(2, 1, text))),
        (3, event("c", Value::Null, row(3, 1, text))),
        (1, event("u", Value::Null, row(1, 2, UNAVAILABLE))),
        (3, event("d", row(3, 1, text), Value::Null)),
        (3, None),
    ]
}

/// Kafka Connect's schema in Avro, as its converter translates it. A type is defined once.
fn avro(schema: &Value, known: &mut Vec<Value>) -> Value {
    let name = &schema["name"];
    let mut found = match schema["type"].as_str().unwrap() {
        "int32" => json!({"type": "int"}),
        "int64" => json!({"type": "long"}),
        "array" => json!({"type": "array", "items": avro(&schema["items"], known)}),
        "struct" if known.contains(name) => name.clone(),
        "struct" => {
            known.push(name.clone());
            let fields = schema["fields"].as_array().unwrap().iter();
            let fields = fields.map(|field| json!({"name": field["field"], "type": avro(field, known)}));
            json!({"type": "record", "name": name, "fields": fields.collect::<Vec<_>>()})
        }
        other => json!({"type": other}),
    };
    if found.is_object() && name.is_string() {
        found["connect.name"] = name.clone();
        found["connect.parameters"] = schema["parameters"].clone();
    }
    match name.as_str().unwrap_or_default() {
        "org.apache.kafka.connect.data.Decimal" => {
            found["logicalType"] = json!("decimal");
            (found["scale"], found["precision"]) = (json!(2), json!(64));
        }
        "org.apache.kafka.connect.data.Timestamp" => found["logicalType"] = json!("timestamp-millis"),
        _ => {}
    }
    if schema["optional"] == true { json!(["null", found]) } else { found }
}

fn number(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest > 0x7F {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn with_length(bytes: &[u8], out: &mut Vec<u8>) {
    number(bytes.len() as i64, out);
    out.extend(bytes);
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut have) = (Vec::new(), 0, 0);
    for digit in text.trim_end_matches('=').chars() {
        (bits, have) = (bits << 6 | DIGITS.find(digit).unwrap(), have + 6);
        if have >= 8 {
            have -= 8;
            bytes.push((bits >> have) as u8);
        }
    }
    bytes
}

/// Appends the value of a record in Avro.
fn encode(schema: &Value, value: &Value, out: &mut Vec<u8>) {
    if schema["optional"] == true {
        number(i64::from(!value.is_null()), out);
        if value.is_null() {
            return;
        }
    }
    match schema["type"].as_str().unwrap() {
        "int32" | "int64" => number(value.as_i64().unwrap(), out),
        "double" => out.extend(value.as_f64().unwrap().to_le_bytes()),
        "bytes" => with_length(&from_base64(value.as_str().unwrap()), out),
        "string" => with_length(value.as_str().unwrap().as_bytes(), out),
        "array" => {
            let items = value.as_array().unwrap();
            number(items.len() as i64, out);
            items.iter().for_each(|item| encode(&schema["items"], item, out));
            number(0, out);
        }
        "struct" => {
            for field in schema["fields"].as_array().unwrap() {
                encode(field, &value[field["field"].as_str().unwrap()], out);
            }
        }
        other => panic!("{other}"),
    }
}

/// A key or value in JSON with its schema.
fn in_json(schema: &Value, _: u32, payload: &Value) -> Vec<u8> {
    json!({"schema": schema, "payload": payload}).to_string().into_bytes()
}

/// The same in Avro, with the id of its schema.
fn in_avro(schema: &Value, id: u32, payload: &Value) -> Vec<u8> {
    let mut out = [&[0][..], &id.to_be_bytes()].concat();
    encode(schema, payload, &mut out);
    out
}

/// Writes the records of the three topics.
fn write(broker: &Broker) {
    let producer: BaseProducer = broker.config().create().unwrap();
    let send = |topic: &str, key: &[u8], value: Option<&[u8]>| {
        let mut record = BaseRecord::to(topic).key(key);
        record.payload = value;
        producer.send(record).map_err(|(error, _)| error).unwrap();
    };
    let (keys, of_events, of_rows) = (key_schema(), event_schema(), row_schema());
    for (id, event) in events() {
        let key = json!({"id": id, "day": 20089});
        let json_key = in_json(&keys, KEY, &key);
        for (topic, key, encoded) in [
            ("changes", json_key.clone(), event.as_ref().map(|event| in_json(&of_events, EVENT, event))),
            ("changes-avro", in_avro(&keys, KEY, &key), event.as_ref().map(|event| in_avro(&of_events, EVENT, event))),
        ] {
            send(topic, &key, encoded.as_deref());
        }
        // Rows without an envelope of Debezium have no deletion but the tombstone.
        let after = event.as_ref().map(|event| &event["after"]).filter(|after| after["bio"] != UNAVAILABLE);
        let value = after.filter(|after| after.is_object()).map(|row| in_json(&of_rows, EVENT, row));
        if event.is_none() || value.is_some() {
            send("rows", &json_key, value.as_deref());
        }
    }
    producer.flush(Duration::from_secs(60)).unwrap();
}

/// A registry that has the two schemas.
fn registry() -> WebServer {
    let registry = WebServer::start();
    registry.put("/schemas/types", WebFile::new(r#"["AVRO"]"#));
    for (id, schema) in [(KEY, key_schema()), (EVENT, event_schema())] {
        let schema = avro(&schema, &mut Vec::new()).to_string();
        registry.put(&format!("/schemas/ids/{id}"), WebFile::new(json!({"schema": schema}).to_string()));
    }
    registry
}

/// Loads a topic into an index. Returns the exit status, and the report.
async fn load(broker: &Broker, topic: &str, server: &Server, index: &str, options: &[&str]) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program::inrush();
    command.args(["load", &format!("kafka://{}/{topic}", broker.address), "--index", index, "--to", &server.url()]);
    command.args(["--until", "latest", "--group", index, "--member", "", "--json"]).args(options);
    command.current_dir(folder.path()).stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let report = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{options:?}: {error}: {text}{errors}"));
    (output.status.code().unwrap(), report)
}

async fn documents(server: &Server, index: &str) -> BTreeMap<String, Value> {
    server.count(index).await;
    let found = server.send("GET", &format!("/{index}/_search?size=100"), Value::Null).await;
    let hits = found["hits"]["hits"].as_array().unwrap().iter();
    hits.map(|hit| (hit["_id"].as_str().unwrap().to_owned(), hit["_source"].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn envelopes_become_the_rows_of_the_database() {
    let server = Server::shared(Version::OpenSearch3).await;
    let broker = tokio::task::spawn_blocking(broker::shared).await.unwrap();
    for topic in ["changes", "changes-avro", "rows"] {
        broker.make_topic(topic, 1).await;
    }
    tokio::task::spawn_blocking(|| write(broker)).await.unwrap();
    let registry = registry();
    let newest = [document(1, 2), document(2, 1)];
    let first = [document(1, 1), document(2, 1)];
    let registry = ["--schema-registry", &registry.url];
    let debezium = ["--unwrap", "debezium"];
    let upsert = ["--unwrap", "debezium", "--action", "upsert"];
    // Topic, options, documents, and the kinds of dead letters with their numbers.
    for (number, (topic, options, expected, refused)) in [
        ("changes", upsert.to_vec(), &newest[..], &[][..]),
        ("changes-avro", [&upsert[..], &registry].concat(), &newest, &[]),
        ("rows", vec!["--unwrap", "connect"], &first, &[]),
        // The document would replace the one that has the value.
        ("changes", debezium.to_vec(), &first, &[("unavailable_value", 1)]),
        // The key of the record without a value is no text.
        ("changes-avro", debezium.to_vec(), &[], &[("no_schema", 5), ("bad_id", 1)]),
        ("rows", debezium.to_vec(), &[], &[("no_envelope", 3)]),
    ]
    .into_iter()
    .enumerate()
    {
        let index = format!("kafka_envelopes_{number}");
        let (code, report) = load(broker, topic, &server, &index, &options).await;
        let errors = report["errors"].as_array().unwrap().iter();
        let errors: Vec<_> = errors.map(|e| (e["type"].as_str().unwrap(), e["count"].as_u64().unwrap())).collect();
        assert_eq!(errors, refused, "{topic} {options:?}: {report}");
        assert_eq!(code, if refused.is_empty() { 0 } else { 3 }, "{topic} {options:?}: {report}");
        let expected = expected.iter().cloned().collect();
        assert_eq!(documents(&server, &index).await, expected, "{topic} {options:?}");
    }
    let (_, report) = load(broker, "changes", &server, "kafka_envelopes_as_they_are", &[]).await;
    assert_eq!(report["warning_details"][0]["code"], "debezium_envelope", "{report}");
    server.send("DELETE", "/kafka_envelopes_*", Value::Null).await;
    server.stop().await;
}
