//! The needs of the settings guard: compare-and-set on single documents, and settings that are
//! restored.

use serde_json::{Value, json};

use super::case::case_table;
use super::check::{Check, equal, expect_status, holds};
use super::target::TestedServer;

case_table! {
    lease_compare_and_set "a document is created once, replaced and deleted only at the version that was read, without any refresh";
    lease_index "a hidden index with dynamic: false takes any document and gives it back as it was";
    merge_throttle_round_trip "merge.scheduler.auto_throttle is on by default, can be set, and null puts it back to not set";
    auto_expand_wins "auto_expand_replicas overrides a number of replicas; both are put back in one request";
    refused_settings_change_nothing "a request with one value that is refused changes none of the others";
    graphs_of_vectors "Elasticsearch from 8: a field of vectors that is flat gets a graph, with the rest of its options shown, and never the other way; _meta is replaced as a whole";
}

async fn lease_compare_and_set(t: &TestedServer) -> Check {
    let name = t.create("lease", json!({"dynamic": false})).await?;
    let path = format!("/{name}/_doc/u-1");
    let create = format!("{path}?op_type=create");
    expect_status(&t.json("PUT", &create, json!({"n": 1})).await?, 201)?;
    let second = t.json("PUT", &create, json!({"n": 2})).await?;
    expect_status(&second, 409)?;
    equal("type", &second.json()["error"]["type"], json!("version_conflict_engine_exception"))?;
    let read = async || -> Result<(u64, u64, Value), String> {
        let found = t.get(&path).await?;
        let number = |key: &str| found[key].as_u64().ok_or_else(|| format!("no {key}: {found}"));
        Ok((number("_seq_no")?, number("_primary_term")?, found["_source"].clone()))
    };
    let (seq_no, term, source) = read().await?;
    equal("source", &source, json!({"n": 1}))?;
    let at = |seq_no: u64, term: u64| format!("{path}?if_seq_no={seq_no}&if_primary_term={term}");
    let written = t.json("PUT", &at(seq_no, term), json!({"n": 3})).await?;
    expect_status(&written, 200)?;
    let (next, ..) = read().await?;
    equal("the reply tells the new version", &written.json()["_seq_no"], json!(next))?;
    expect_status(&t.json("PUT", &at(seq_no, term), json!({"n": 4})).await?, 409)?;
    expect_status(&t.json("DELETE", &at(seq_no, term), json!(null)).await?, 409)?;
    expect_status(&t.json("PUT", &at(next, term + 1), json!({"n": 4})).await?, 409)?;
    equal("source", &read().await?.2, json!({"n": 3}))?;
    expect_status(&t.json("DELETE", &at(next, term), json!(null)).await?, 200)?;
    // The version of a deleted document does not match a later document.
    expect_status(&t.json("PUT", &at(next, term), json!({"n": 5})).await?, 409)?;
    expect_status(&t.json("GET", &path, json!(null)).await?, 404)?;
    expect_status(&t.json("PUT", &create, json!({"n": 6})).await?, 201)
}

async fn lease_index(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": true});
    let name = t.create_with("hidden", settings, json!({"dynamic": false})).await?;
    let document = json!({"index": "x", "changes": {"index.refresh_interval": {"original": null, "applied": "60s"}}, "holders": {"a-1": {"beat": 3}}});
    expect_status(&t.json("PUT", &format!("/{name}/_doc/1?refresh=true"), document.clone()).await?, 201)?;
    equal("source", &t.get(&format!("/{name}/_doc/1")).await?["_source"], document)?;
    let found = t.json("POST", &format!("/{name}/_search"), json!({"size": 10})).await?.json();
    equal("found by its name", &found["hits"]["hits"][0]["_id"], json!("1"))?;
    equal("mapping", &t.get(&format!("/{name}/_mapping")).await?[&name]["mappings"]["properties"], json!(null))
}

async fn settings(t: &TestedServer, name: &str) -> Result<Value, String> {
    let path = format!("/{name}/_settings?flat_settings=true&include_defaults=true");
    Ok(t.get(&path).await?[name].clone())
}

async fn merge_throttle_round_trip(t: &TestedServer) -> Check {
    let name = t.create("throttle", json!({})).await?;
    let setting = "index.merge.scheduler.auto_throttle";
    let before = settings(t, &name).await?;
    equal("not set", &before["settings"][setting], json!(null))?;
    equal("default", &before["defaults"][setting], json!("true"))?;
    let path = format!("/{name}/_settings");
    expect_status(&t.json("PUT", &path, json!({setting: "false"})).await?, 200)?;
    equal("set", &settings(t, &name).await?["settings"][setting], json!("false"))?;
    expect_status(&t.json("PUT", &path, json!({setting: null})).await?, 200)?;
    equal("put back", &settings(t, &name).await?["settings"], before["settings"].clone())
}

async fn auto_expand_wins(t: &TestedServer) -> Check {
    let nodes = t.get("/_cluster/health").await?["number_of_data_nodes"].as_u64().unwrap_or(1);
    let name = t.create_with("expand", json!({"auto_expand_replicas": "0-1"}), json!({})).await?;
    let expanded = (nodes - 1).min(1).to_string();
    let (expand, replicas) = ("index.auto_expand_replicas", "index.number_of_replicas");
    let shown = async || -> Result<Value, String> {
        let shown = settings(t, &name).await?;
        Ok(json!([shown["settings"][expand], shown["settings"][replicas]]))
    };
    equal("expanded", &shown().await?, json!(["0-1", expanded]))?;
    let path = format!("/{name}/_settings");
    expect_status(&t.json("PUT", &path, json!({replicas: "7"})).await?, 200)?;
    equal("overridden", &shown().await?, json!(["0-1", expanded]))?;
    expect_status(&t.json("PUT", &path, json!({expand: "false", replicas: "0"})).await?, 200)?;
    equal("off", &shown().await?, json!(["false", "0"]))?;
    expect_status(&t.json("PUT", &path, json!({expand: "0-1", replicas: expanded})).await?, 200)?;
    equal("put back", &shown().await?, json!(["0-1", expanded]))
}

async fn refused_settings_change_nothing(t: &TestedServer) -> Check {
    let name = t.create("refused", json!({})).await?;
    let path = format!("/{name}/_settings");
    let reply = t.json("PUT", &path, json!({"index.number_of_replicas": "-3", "index.refresh_interval": "7s"})).await?;
    expect_status(&reply, 400)?;
    let shown = settings(t, &name).await?;
    holds("unchanged", shown["settings"]["index.refresh_interval"].is_null(), &shown["settings"])
}

async fn graphs_of_vectors(t: &TestedServer) -> Check {
    if !t.flavor.is_elasticsearch() || t.flavor.version().starts_with('7') {
        return Ok(());
    }
    let field = |kind: &str| {
        json!({"o": {"type": "nested", "properties": {
            "v": {"type": "dense_vector", "dims": 4, "similarity": "l2_norm", "index_options": {"type": kind}}}}})
    };
    let name = t.create("graphs", json!({"_meta": {"a": 1, "b": 2}, "properties": field("flat")})).await?;
    let path = format!("/{name}/_mapping");
    let update = json!({"_meta": {"a": 1}, "properties": field("int8_hnsw")});
    expect_status(&t.json("PUT", &path, update).await?, 200)?;
    let shown = t.get(&path).await?[&name]["mappings"].take();
    let options = json!({"type": "int8_hnsw", "m": 16, "ef_construction": 100});
    equal("options", &shown["properties"]["o"]["properties"]["v"]["index_options"], options)?;
    equal("_meta", &shown["_meta"], json!({"a": 1}))?;
    expect_status(&t.json("PUT", &path, json!({"properties": field("flat")})).await?, 400)
}
