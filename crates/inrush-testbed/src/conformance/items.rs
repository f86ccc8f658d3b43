//! Items of a reply: statuses, results, versions and error types.

use serde_json::{Value, json};

use super::case::case_table;
use super::check::{Check, equal, error_types, expect_status, field, holds, statuses};
use super::target::{TestedServer, is_elasticsearch_9};

case_table! {
    auto_id "an index without an id gets one of 20 characters, status 201, result created, version 1";
    index_twice "an index over an existing id answers 200, result updated, version 2";
    create_twice "a second create of an id answers 409 version_conflict_engine_exception";
    update_missing "an update of a missing document answers 404 document_missing_exception";
    update_noop "an update that changes nothing answers 200, result noop, the version unchanged";
    upserts "doc_as_upsert and upsert create what is missing";
    delete_missing "a delete of a missing id answers 404, result not_found, and no error object";
    external_versions "with external versions a lower or equal one answers 409, with external_gte a lower one; also for deletes";
    compare_and_set "if_seq_no with if_primary_term answers 409 when the document has changed";
    deleted_versions "a deleted document goes on counting versions";
    mapping_error "a value that does not fit its field answers 400 with the mapper's error type, and names field and id";
    coercion "numbers in strings, empty strings for numbers and fractions for integers fit; booleans and dates are strict";
    dynamic_conflict "the first document decides a field's type; a later string in a long field answers 400";
    two_types_at_once "a new field with two types in one array answers 400; for Elasticsearch 9 the first value makes its type";
    strict_mapping "with dynamic: strict a new field answers 400 strict_dynamic_mapping_exception";
    field_limit "a field beyond index.mapping.total_fields.limit answers 400";
    filter_path_keeps_positions "filter_path with items.*.status keeps every item in its position";
    filter_path_loses_positions "filter_path without a field of every item drops the others, so positions are lost";
    errors_flag "errors is true exactly when an item carries an error; a not_found delete and a noop carry none";
    pipeline_missing "a pipeline that is not there answers item 400 illegal_argument_exception; deletes pass";
    pipeline_drop "a dropped document answers 200, result noop, version -3, and is not there" modules ["ingest-common"];
    pipeline_redirects "a pipeline that sets _index answers with the index the document went to" modules ["ingest-common"];
    pipeline_order "OpenSearch answers what a pipeline dropped before what it refused, each with its id; all else stands at its place" modules ["ingest-common"];
    pipeline_order_alone "what a pipeline dropped stands at its place if it refused nothing, and the other way round" modules ["ingest-common"];
    pipeline_fails "a pipeline's failure answers the item; OpenSearch 500, whatever the reason" modules ["ingest-common"];
}

const MAPPED: &str = r#"{"properties":{"i":{"type":"integer"},"l":{"type":"long"},"f":{"type":"float"},"d":{"type":"date"},
    "b":{"type":"boolean"},"k":{"type":"keyword"},"o":{"properties":{"p":{"type":"long"}}}}}"#;

fn mapped() -> Value {
    serde_json::from_str(MAPPED).unwrap_or_default()
}

fn index_lines(documents: &[Value]) -> String {
    documents
        .iter()
        .enumerate()
        .map(|(i, document)| format!("{{\"index\":{{\"_id\":\"{i}\"}}}}\n{document}\n"))
        .collect()
}

async fn auto_id(t: &TestedServer) -> Check {
    let name = t.create("auto", json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{}\n{\"create\":{}}\n{}\n").await?;
    statuses(&items, &[201, 201])?;
    for item in &items {
        holds("id of 20 characters", item["_id"].as_str().is_some_and(|id| id.len() == 20), item)?;
        equal("result", &item["result"], json!("created"))?;
        equal("version", &item["_version"], json!(1))?;
        equal("primary term", &item["_primary_term"], json!(1))?;
        equal("index", &item["_index"], json!(name))?;
        equal("shards", &item["_shards"], json!({"total": 1, "successful": 1, "failed": 0}))?;
    }
    equal("type", &items[0]["_type"], if t.flavor.is_elasticsearch_7() { json!("_doc") } else { json!(null) })
}

async fn index_twice(t: &TestedServer) -> Check {
    let name = t.create("idx2", json!({})).await?;
    let line = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n";
    t.items(&format!("/{name}/_bulk"), line).await?;
    let items = t.items(&format!("/{name}/_bulk"), line).await?;
    statuses(&items, &[200])?;
    equal("result", &items[0]["result"], json!("updated"))?;
    equal("version", &items[0]["_version"], json!(2))
}

async fn create_twice(t: &TestedServer) -> Check {
    let name = t.create("cr2", json!({})).await?;
    let line = "{\"create\":{\"_id\":\"1\"}}\n{\"n\":1}\n";
    let items = t.items(&format!("/{name}/_bulk"), &line.repeat(2)).await?;
    statuses(&items, &[201, 409])?;
    equal("type", &items[1]["error"]["type"], json!("version_conflict_engine_exception"))?;
    equal(
        "reason",
        &items[1]["error"]["reason"],
        json!("[1]: version conflict, document already exists (current version [1])"),
    )
}

async fn update_missing(t: &TestedServer) -> Check {
    let name = t.create("upmiss", json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":1}}\n").await?;
    statuses(&items, &[404])?;
    equal("type", &items[0]["error"]["type"], json!("document_missing_exception"))
}

async fn update_noop(t: &TestedServer) -> Check {
    let name = t.create("noop", json!({})).await?;
    let lines = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":1}}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":2}}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":2},\"detect_noop\":false}\n";
    let items = t.items(&format!("/{name}/_bulk"), lines).await?;
    statuses(&items, &[201, 200, 200, 200])?;
    equal("results", &json!(field(&items, "result")), json!(["created", "noop", "updated", "updated"]))?;
    equal("versions", &json!(field(&items, "_version")), json!([1, 1, 2, 3]))
}

async fn upserts(t: &TestedServer) -> Check {
    let name = t.create("upsert", json!({})).await?;
    let lines = "{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":1},\"doc_as_upsert\":true}\n{\"update\":{\"_id\":\"2\"}}\n{\"doc\":{\"n\":1},\"upsert\":{\"n\":8}}\n{\"update\":{\"_id\":\"2\"}}\n{\"doc\":{\"m\":1},\"upsert\":{\"n\":9}}\n";
    let items = t.items(&format!("/{name}/_bulk"), lines).await?;
    statuses(&items, &[201, 201, 200])?;
    equal("results", &json!(field(&items, "result")), json!(["created", "created", "updated"]))?;
    equal("source", &t.get(&format!("/{name}/_doc/2")).await?["_source"], json!({"n": 8, "m": 1}))
}

async fn delete_missing(t: &TestedServer) -> Check {
    let name = t.create("delmiss", json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"delete\":{\"_id\":\"1\"}}\n").await?;
    statuses(&items, &[404])?;
    equal("result", &items[0]["result"], json!("not_found"))?;
    equal("error", &items[0]["error"], json!(null))
}

async fn external_versions(t: &TestedServer) -> Check {
    let name = t.create("extver", json!({})).await?;
    let line = |action: &str, version: u32, kind: &str| {
        let document = if action == "index" { "{\"n\":1}\n" } else { "" };
        format!("{{\"{action}\":{{\"_id\":\"1\",\"version\":{version},\"version_type\":\"{kind}\"}}}}\n{document}")
    };
    let lines = [
        line("index", 5, "external"),
        line("index", 5, "external"),
        line("index", 4, "external"),
        line("index", 4, "external_gte"),
        line("index", 5, "external_gte"),
        line("delete", 3, "external"),
        line("delete", 9, "external"),
        line("index", 8, "external"),
        line("index", 10, "external"),
    ];
    let items = t.items(&format!("/{name}/_bulk"), &lines.concat()).await?;
    statuses(&items, &[201, 409, 409, 409, 200, 409, 200, 409, 201])?;
    equal("conflict", &items[1]["error"]["type"], json!("version_conflict_engine_exception"))?;
    equal("version", &items[8]["_version"], json!(10))
}

async fn compare_and_set(t: &TestedServer) -> Check {
    let name = t.create("cas", json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"1\"}}\n{}\n").await?;
    let seq_no = items[0]["_seq_no"].clone();
    let line = format!("{{\"index\":{{\"_id\":\"1\",\"if_seq_no\":{seq_no},\"if_primary_term\":1}}}}\n{{}}\n");
    let items = t.items(&format!("/{name}/_bulk"), &line.repeat(2)).await?;
    statuses(&items, &[200, 409])?;
    equal("type", &items[1]["error"]["type"], json!("version_conflict_engine_exception"))
}

async fn deleted_versions(t: &TestedServer) -> Check {
    let name = t.create("tomb", json!({})).await?;
    let lines = "{\"delete\":{\"_id\":\"1\"}}\n{\"index\":{\"_id\":\"1\"}}\n{}\n{\"delete\":{\"_id\":\"1\"}}\n{\"create\":{\"_id\":\"1\"}}\n{}\n";
    let items = t.items(&format!("/{name}/_bulk"), lines).await?;
    statuses(&items, &[404, 201, 200, 201])?;
    equal("versions", &json!(field(&items, "_version")), json!([1, 2, 3, 4]))
}

async fn mapping_error(t: &TestedServer) -> Check {
    let name = t.create("maperr", mapped()).await?;
    let documents = [
        json!({"i": "abc"}),
        json!({"i": 3_000_000_000_u64}),
        json!({"l": {"a": 1}}),
        json!({"l": true}),
        json!({"f": "x"}),
        json!({"d": "nodate"}),
        json!({"b": "yes"}),
        json!({"b": 1}),
        json!({"k": {"a": 1}}),
        json!({"o": 5}),
        json!({"i": 1}),
    ];
    let items = t.items(&format!("/{name}/_bulk"), &index_lines(&documents)).await?;
    statuses(&items, &[400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 201])?;
    let kinds = &error_types(&items)[..10];
    holds("error types", kinds.iter().all(|kind| *kind == t.flavor.mapper_error_type()), format!("{kinds:?}"))?;
    let reason = items[0]["error"]["reason"].as_str().unwrap_or_default();
    let wanted = "failed to parse field [i] of type [integer] in document with id '0'. Preview of field's value: 'abc'";
    holds("reason", reason.ends_with(wanted), reason)?;
    let reason = items[9]["error"]["reason"].as_str().unwrap_or_default();
    holds(
        "reason",
        reason.contains("object mapping for [o] tried to parse field [o] as object, but found a concrete value"),
        reason,
    )
}

async fn coercion(t: &TestedServer) -> Check {
    let name = t.create("coerce", mapped()).await?;
    let documents = [
        json!({"l": 1.5}),
        json!({"l": "12"}),
        json!({"l": ""}),
        json!({"b": ""}),
        json!({"b": "true"}),
        json!({"d": 12345}),
        json!({"d": "2024-01-02T03:04:05.678Z"}),
        json!({"k": 5, "o": null}),
        json!({"l": [1, null, 2]}),
        json!({"d": ""}),
        json!({"d": "2024-01-02 03:04:05"}),
        json!({"l": 1e20}),
        json!({"l": [1, "x"]}),
    ];
    let items = t.items(&format!("/{name}/_bulk"), &index_lines(&documents)).await?;
    statuses(&items, &[201, 201, 201, 201, 201, 201, 201, 201, 201, 400, 400, 400, 400])
}

async fn dynamic_conflict(t: &TestedServer) -> Check {
    let name = t.create("dyn", json!({})).await?;
    let first = json!({"l": 1, "f": 1.5, "s": "a", "b": true, "o": {"x": 1}, "d": "2024-01-02", "d2": "2024/01/02 10:11:12", "y": "2024",
        "nul": null, "e": [], "arr": [1, 2], "p.q": 3});
    let documents = [
        first,
        json!({"l": "x"}),
        json!({"s": {"x": 1}}),
        json!({"o": 1}),
        json!({"d": "zzz"}),
        json!({"p": {"q": "x"}}),
        json!({"s": 5}),
    ];
    let items = t.items(&format!("/{name}/_bulk"), &index_lines(&documents)).await?;
    statuses(&items, &[201, 400, 400, 400, 400, 400, 201])?;
    let mapping = t.get(&format!("/{name}/_mapping")).await?[&name]["mappings"]["properties"].clone();
    let types: Vec<(&str, &str)> = ["l", "f", "s", "b", "d", "d2", "y", "arr"]
        .iter()
        .map(|field| (*field, mapping[field]["type"].as_str().unwrap_or("none")))
        .collect();
    holds(
        "inferred types",
        types
            == [
                ("l", "long"),
                ("f", "float"),
                ("s", "text"),
                ("b", "boolean"),
                ("d", "date"),
                ("d2", "date"),
                ("y", "text"),
                ("arr", "long"),
            ],
        format!("{types:?}"),
    )?;
    equal("nothing from nulls and empty arrays", &json!([mapping["nul"], mapping["e"]]), json!([null, null]))?;
    equal("keyword beside text", &mapping["s"]["fields"], json!({"keyword": {"type": "keyword", "ignore_above": 256}}))
}

async fn two_types_at_once(t: &TestedServer) -> Check {
    let name = t.create("two", json!({})).await?;
    let items =
        t.items(&format!("/{name}/_bulk"), &index_lines(&[json!({"a": ["x", 1]}), json!({"b": [1, "x"]})])).await?;
    // A number fits into a text.
    statuses(&items, if is_elasticsearch_9(t) { &[201, 400] } else { &[400, 400] })
}

async fn strict_mapping(t: &TestedServer) -> Check {
    let name = t.create("strict", json!({"dynamic": "strict", "properties": {"n": {"type": "long"}}})).await?;
    let items = t.items(&format!("/{name}/_bulk"), &index_lines(&[json!({"m": 1}), json!({"n": 1})])).await?;
    statuses(&items, &[400, 201])?;
    equal("type", &items[0]["error"]["type"], json!("strict_dynamic_mapping_exception"))
}

async fn field_limit(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 1, "number_of_replicas": 0, "index.mapping.total_fields.limit": 3});
    let name = t.create_with("limit", settings, json!({})).await?;
    let items = t
        .items(
            &format!("/{name}/_bulk"),
            &index_lines(&[json!({"a": 1, "b": 2}), json!({"c": 1, "d": 2}), json!({"s": "x"}), json!({"c": 1})]),
        )
        .await?;
    statuses(&items, &[201, 400, 400, 201])?;
    let kind = if t.flavor.is_elasticsearch() { t.flavor.mapper_error_type() } else { "illegal_argument_exception" };
    equal("type", &items[1]["error"]["type"], json!(kind))?;
    let error = items[1]["error"].to_string();
    holds("reason", error.contains("Limit of total fields [3] has been exceeded"), error)
}

async fn filter_path_keeps_positions(t: &TestedServer) -> Check {
    let name = t.create("filter", mapped()).await?;
    let path =
        format!("/{name}/_bulk?filter_path=took,errors,items.*.status,items.*.error,items.*.result,items.*._index");
    let reply = t.bulk(&path, &index_lines(&[json!({"i": 1}), json!({"i": "x"}), json!({"i": 2})])).await?;
    expect_status(&reply, 200)?;
    let body = reply.json();
    equal("first item", &body["items"][0], json!({"index": {"_index": name, "result": "created", "status": 201}}))?;
    equal("second item's status", &body["items"][1]["index"]["status"], json!(400))?;
    equal("second item's error", &body["items"][1]["index"]["error"]["type"], json!(t.flavor.mapper_error_type()))?;
    equal("third item's status", &body["items"][2]["index"]["status"], json!(201))?;
    holds("took", body["took"].is_u64(), &body)
}

async fn filter_path_loses_positions(t: &TestedServer) -> Check {
    let name = t.create("filter2", mapped()).await?;
    let lines = index_lines(&[json!({"i": 1}), json!({"i": "x"})]);
    let reply = t.bulk(&format!("/{name}/_bulk?filter_path=errors,items.*.error.type"), &lines).await?.json();
    equal("items", &reply["items"], json!([{"index": {"error": {"type": t.flavor.mapper_error_type()}}}]))?;
    let reply =
        t.bulk(&format!("/{name}/_bulk?filter_path=items.*.error"), &index_lines(&[json!({"i": 1})])).await?.json();
    equal("nothing left", &reply, json!({}))
}

async fn errors_flag(t: &TestedServer) -> Check {
    let name = t.create("errors", json!({})).await?;
    let path = format!("/{name}/_bulk");
    let quiet = "{\"delete\":{\"_id\":\"nope\"}}\n{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"n\":1}}\n";
    equal("without errors", &t.bulk(&path, quiet).await?.json()["errors"], json!(false))?;
    equal("with an error", &t.bulk(&path, "{\"create\":{\"_id\":\"1\"}}\n{}\n").await?.json()["errors"], json!(true))
}

async fn pipeline_missing(t: &TestedServer) -> Check {
    let name = t.create("nopipe", json!({})).await?;
    let items = t
        .items(
            &format!("/{name}/_bulk?pipeline=nope"),
            "{\"index\":{\"_id\":\"1\"}}\n{}\n{\"delete\":{\"_id\":\"2\"}}\n",
        )
        .await?;
    statuses(&items, &[400, 404])?;
    equal("type", &items[0]["error"]["type"], json!("illegal_argument_exception"))?;
    equal("reason", &items[0]["error"]["reason"], json!("pipeline with id [nope] does not exist"))
}

async fn with_pipeline(t: &TestedServer, name: &str, processors: Value) -> Result<String, String> {
    let id = format!("{name}-pipeline");
    let reply = t.json("PUT", &format!("/_ingest/pipeline/{id}"), json!({"processors": processors})).await?;
    expect_status(&reply, 200)?;
    Ok(id)
}

async fn without_pipeline(t: &TestedServer, id: &str) -> Check {
    expect_status(&t.json("DELETE", &format!("/_ingest/pipeline/{id}"), json!(null)).await?, 200)
}

async fn pipeline_drop(t: &TestedServer) -> Check {
    let name = t.create("drop", json!({})).await?;
    let pipeline =
        with_pipeline(t, &name, json!([{"drop": {"if": "ctx.n == 2"}}, {"set": {"field": "seen", "value": true}}]))
            .await?;
    let lines =
        "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_id\":\"2\"}}\n{\"n\":2}\n{\"index\":{}}\n{\"n\":2}\n";
    let items = t.items(&format!("/{name}/_bulk?pipeline={pipeline}"), lines).await;
    without_pipeline(t, &pipeline).await?;
    let items = items?;
    statuses(&items, &[201, 200, 200])?;
    equal("results", &json!(field(&items, "result")), json!(["created", "noop", "noop"]))?;
    equal("version of the dropped", &items[1]["_version"], json!(-3))?;
    equal("what was set", &t.get(&format!("/{name}/_doc/1")).await?["_source"], json!({"n": 1, "seen": true}))?;
    equal("the dropped", &t.get(&format!("/{name}/_doc/2")).await?["found"], json!(false))
}

async fn pipeline_redirects(t: &TestedServer) -> Check {
    let name = t.create("redirect", json!({})).await?;
    let other = t.create("redirected", json!({})).await?;
    let pipeline = with_pipeline(t, &name, json!([{"set": {"field": "_index", "value": other}}])).await?;
    let items =
        t.items(&format!("/{name}/_bulk?pipeline={pipeline}"), "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n").await;
    without_pipeline(t, &pipeline).await?;
    let items = items?;
    statuses(&items, &[201])?;
    equal("index", &items[0]["_index"], json!(other))
}

async fn pipeline_fails(t: &TestedServer) -> Check {
    let name = t.create("pipefail", json!({})).await?;
    let pipeline = with_pipeline(t, &name, json!([{"fail": {"message": "no way"}}])).await?;
    let items =
        t.items(&format!("/{name}/_bulk?pipeline={pipeline}"), "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n").await;
    without_pipeline(t, &pipeline).await?;
    let items = items?;
    statuses(&items, &[500])?;
    equal("reason", &items[0]["error"]["reason"], json!("no way"))
}

/// Sends six documents through these processors. `v` is 1, 2, 3, 2, 1, 3; `letters` are the ids.
async fn piped(t: &TestedServer, title: &str, processors: Value) -> Result<Vec<Value>, String> {
    let name = t.create(title, json!({})).await?;
    let pipeline = with_pipeline(t, &name, processors).await?;
    let lines: String = [("a", 1), ("b", 2), ("c", 3), ("d", 2), ("e", 1), ("f", 3)]
        .iter()
        .map(|(id, v)| format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{{\"v\":{v}}}\n"))
        .collect();
    let items = t.items(&format!("/{name}/_bulk?pipeline={pipeline}"), &lines).await;
    without_pipeline(t, &pipeline).await?;
    items
}

fn drops() -> Value {
    json!({"drop": {"if": "ctx.v == 2"}})
}

fn fails() -> Value {
    json!({"fail": {"message": "boom", "if": "ctx.v == 1"}})
}

async fn pipeline_order(t: &TestedServer) -> Check {
    let items = piped(t, "order", json!([drops(), fails()])).await?;
    let (ids, status) = match t.flavor.is_elasticsearch_8() {
        true => (json!(["a", "b", "c", "d", "e", "f"]), [500, 200, 201, 200, 500, 201]),
        false => (json!(["b", "d", "c", "a", "e", "f"]), [200, 200, 201, 500, 500, 201]),
    };
    equal("ids", &json!(field(&items, "_id")), ids)?;
    statuses(&items, &status)
}

async fn pipeline_order_alone(t: &TestedServer) -> Check {
    for (title, processor) in [("only-drops", drops()), ("only-fails", fails())] {
        let items = piped(t, title, json!([processor])).await?;
        equal("ids", &json!(field(&items, "_id")), json!(["a", "b", "c", "d", "e", "f"]))?;
    }
    Ok(())
}
