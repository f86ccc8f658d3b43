//! Modes of an index (`index.mode` of Elasticsearch 9.5): ids, sources and sequence numbers.

use inrush_fake::Flavor;
use serde_json::{Value, json};

use super::case::case_table;
use super::check::{Check, equal, error_types, field, holds, statuses};
use super::target::TestedServer;

case_table! {
    time_series_makes_ids "a time series makes ids of dimensions and time: the second document of an id is an update, or a conflict with create; other ids, routing values and updates are refused", on is_9;
    time_series_has_limits "a time series refuses documents without dimensions, without time, and before its first time", on is_9;
    sources_are_rebuilt "logsdb and columnar show dates in their own form, numbers as numbers, and no null; columnar has flat names, and arrays of objects are not kept apart", on is_9;
    modes_tell_what_they_mean "the defaults of an index say whether it rebuilds _source and whether it keeps sequence numbers", on is_9;
    no_sequence_numbers "without sequence numbers items have none, updates and questions for them are refused, versions count", on is_9;
}

fn is_9(flavor: &Flavor) -> bool {
    flavor.is_elasticsearch() && flavor.major() >= 9
}

async fn series(t: &TestedServer, suffix: &str) -> Result<String, String> {
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0, "mode": "time_series", "routing_path": ["d"],
        "time_series": {"start_time": "2024-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:00Z"}});
    let mapping = json!({"properties": {"d": {"type": "keyword", "time_series_dimension": true},
        "v": {"type": "double", "time_series_metric": "gauge"}, "n": {"type": "long"}}});
    t.create_with(suffix, settings, mapping).await
}

async fn time_series_makes_ids(t: &TestedServer) -> Check {
    let name = series(t, "series").await?;
    let at = |n: u32, d: &str| format!("{{\"@timestamp\":\"2024-05-01T00:00:0{n}Z\",\"d\":\"{d}\",\"v\":{n}}}\n");
    let path = format!("/{name}/_bulk?refresh=true");
    let body = [
        "{\"index\":{}}\n",
        &at(1, "a"),
        "{\"index\":{}}\n",
        &at(1, "a"),
        "{\"create\":{}}\n",
        &at(1, "a"),
        "{\"create\":{}}\n",
        &at(1, "b"),
        "{\"index\":{\"_id\":\"x\"}}\n",
        &at(2, "a"),
        "{\"index\":{\"routing\":\"r\"}}\n",
        &at(2, "a"),
        "{\"update\":{\"_id\":\"x\"}}\n{\"doc\":{\"n\":1}}\n",
        "{\"delete\":{\"_id\":\"x\"}}\n",
    ];
    let items = t.items(&path, &body.concat()).await?;
    statuses(&items, &[201, 200, 409, 201, 400, 400, 400, 404])?;
    equal("ids", &items[0]["_id"], items[1]["_id"].clone())?;
    equal(
        "kinds",
        &json!(error_types(&items)),
        json!([
            "",
            "",
            "version_conflict_engine_exception",
            "",
            "document_parsing_exception",
            "illegal_argument_exception",
            "illegal_argument_exception",
            "resource_not_found_exception"
        ]),
    )?;
    equal("count", &t.get(&format!("/{name}/_count")).await?["count"], json!(2))?;
    let id = items[0]["_id"].as_str().unwrap_or_default();
    let given = format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{}{{\"delete\":{{\"_id\":\"{id}\"}}}}\n", at(1, "a"));
    statuses(&t.items(&path, &given).await?, &[200, 200])
}

async fn time_series_has_limits(t: &TestedServer) -> Check {
    let name = series(t, "limits").await?;
    let body = "{\"index\":{}}\n{\"@timestamp\":\"2024-05-01T00:00:00Z\",\"v\":1}\n\
                {\"index\":{}}\n{\"d\":\"a\",\"v\":1}\n\
                {\"index\":{}}\n{\"@timestamp\":\"2023-05-01T00:00:00Z\",\"d\":\"a\"}\n\
                {\"index\":{}}\n{\"@timestamp\":\"2024-05-01T02:00:00+02:00\",\"d\":\"a\"}\n";
    let items = t.items(&format!("/{name}/_bulk"), body).await?;
    statuses(&items, &[400, 400, 400, 201])
}

async fn sources_are_rebuilt(t: &TestedServer) -> Check {
    let sent = json!({"@timestamp": "2024-05-01T02:00:00+02:00", "z": null, "host": {"name": "x", "n": "7"}, "a.b": 1,
        "list": [3, 1, 3], "none": [], "objects": [{"x": 1, "y": 2}, {"x": 3}]});
    let mapping = json!({"properties": {"@timestamp": {"type": "date"}, "host": {"properties": {
        "name": {"type": "keyword"}, "n": {"type": "long"}}}}});
    let nested = json!({"@timestamp": "2024-05-01T00:00:00.000Z", "a": {"b": 1}, "host": {"n": 7, "name": "x"},
        "list": [3, 1, 3], "objects": [{"x": 1, "y": 2}, {"x": 3}]});
    let flat = json!({"@timestamp": "2024-05-01T00:00:00.000Z", "a.b": 1, "host.n": 7, "host.name": "x",
        "list": [3, 1, 3], "objects.x": [1, 3], "objects.y": 2});
    for (mode, expected) in [("logsdb", nested), ("columnar", flat.clone()), ("logsdb_columnar", flat)] {
        let settings = json!({"number_of_shards": 1, "number_of_replicas": 0, "mode": mode});
        let name = t.create_with(&mode.replace('_', "-"), settings, mapping.clone()).await?;
        let body = format!("{{\"index\":{{\"_id\":\"1\"}}}}\n{sent}\n");
        statuses(&t.items(&format!("/{name}/_bulk?refresh=true"), &body).await?, &[201])?;
        equal(mode, &t.get(&format!("/{name}/_doc/1")).await?["_source"], expected.clone())?;
        let hits = t.get(&format!("/{name}/_search")).await?;
        equal(mode, &hits["hits"]["hits"][0]["_source"], expected)?;
    }
    Ok(())
}

async fn modes_tell_what_they_mean(t: &TestedServer) -> Check {
    for (mode, source, has_none) in [
        ("standard", "STORED", "false"),
        ("lookup", "STORED", "false"),
        ("vectordb_document", "STORED", "false"),
        ("logsdb", "SYNTHETIC", "false"),
        ("columnar", "SYNTHETIC", "true"),
        ("logsdb_columnar", "SYNTHETIC", "true"),
    ] {
        let settings = json!({"number_of_shards": 1, "number_of_replicas": 0, "mode": mode});
        let name = t.create_with(&format!("means-{mode}"), settings, json!({})).await?;
        let index = t.get(&format!("/{name}?include_defaults=true")).await?[&name].take();
        let of = |path: &str| {
            let at = |part: &str| index.pointer(&format!("/{part}/index/{path}")).cloned();
            at("settings").or_else(|| at("defaults")).unwrap_or(Value::Null)
        };
        equal(mode, &of("mapping/source/mode"), json!(source))?;
        equal(mode, &of("disable_sequence_numbers"), json!(has_none))?;
    }
    Ok(())
}

async fn no_sequence_numbers(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 1, "number_of_replicas": 0, "mode": "columnar"});
    let name = t.create_with("unnumbered", settings, json!({})).await?;
    let body = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_id\":\"1\"}}\n{\"n\":2}\n\
                {\"create\":{\"_id\":\"1\"}}\n{\"n\":3}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":4}}\n";
    let items = t.items(&format!("/{name}/_bulk?refresh=true"), body).await?;
    statuses(&items, &[201, 200, 409, 400])?;
    equal("kind", &items[3]["error"]["type"], json!("update_not_supported_exception"))?;
    equal("numbers", &json!(field(&items[..2], "_seq_no")), json!([-2, -2]))?;
    equal("terms", &json!(field(&items[..2], "_primary_term")), json!([0, 0]))?;
    equal("versions", &json!(field(&items[..2], "_version")), json!([1, 2]))?;
    let found = t.get(&format!("/{name}/_doc/1")).await?;
    holds("marks", found["found"] == true && found.get("_seq_no").is_none(), &found)?;
    let search = json!({"query": {"range": {"_seq_no": {"gte": 0}}}});
    let reply = t.json("POST", &format!("/{name}/_search"), search).await?;
    holds("question", reply.status == 400, reply.json())
}
