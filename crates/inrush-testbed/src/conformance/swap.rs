//! The needs of a load without downtime: aliases with their options, the health of an index,
//! force-merges, and sequence numbers that tell later writes.

use serde_json::{Value, json};

use super::case::case_table;
use super::check::{Check, equal, expect_status, holds, statuses};
use super::target::TestedServer;

case_table! {
    alias_is_carried_over "what an alias carries is shown as it is given to _aliases again: filter, routing, write index";
    alias_remove_needs_must_exist "a remove of an alias that the index does not have is passed over where another action has an effect, but with must_exist";
    alias_replaces_index "remove_index and add put an alias in the place of an index in one request; add alone is refused";
    health_of_an_index "the health with level=indices tells shards, replicas and active copies of each index; one node has no place for a replica";
    force_merge_is_a_task "a force-merge without waiting answers with a task, whose result is kept; Elasticsearch 7 only waits";
    shard_stats_tell_sequence_numbers "stats with level=shards tell max_seq_no and local_checkpoint of each copy, and deletes count";
    changes_are_found_by_sequence_number "a search of one shard for _seq_no above a mark, sorted by it, finds what was written since, with its routing";
}

async fn add(t: &TestedServer, index: &str, alias: &str, options: &Value) -> Check {
    let mut action = options.clone();
    action["index"] = json!(index);
    action["alias"] = json!(alias);
    expect_status(&t.json("POST", "/_aliases", json!({"actions": [{"add": action}]})).await?, 200)
}

async fn alias_is_carried_over(t: &TestedServer) -> Check {
    let mappings = json!({"properties": {"k": {"type": "keyword"}}});
    let (old, new) = (t.create("c1", mappings.clone()).await?, t.create("c2", mappings).await?);
    let alias = format!("{old}-alias");
    let options =
        json!({"filter": {"term": {"k": "a"}}, "index_routing": "1", "search_routing": "1,2", "is_write_index": true});
    add(t, &old, &alias, &options).await?;
    let path = |index: &str| format!("/{index}?filter_path=*.aliases,*.data_stream,*.settings.index.uuid");
    let shown = t.get(&path(&alias)).await?[&old].clone();
    let carried = shown["aliases"][&alias].clone();
    equal("routing", &carried["index_routing"], json!("1"))?;
    equal("search routing", &carried["search_routing"], json!("1,2"))?;
    equal("write index", &carried["is_write_index"], json!(true))?;
    holds("filter", carried["filter"]["term"].is_object(), &carried)?;
    holds("uuid", shown["settings"]["index"]["uuid"].is_string(), &shown)?;
    let mut action = carried.clone();
    action["index"] = json!(new);
    action["alias"] = json!(alias);
    let swap = json!({"actions": [{"remove": {"index": old, "alias": alias}}, {"add": action}]});
    expect_status(&t.json("POST", "/_aliases", swap).await?, 200)?;
    equal("on the new index", &t.get(&path(&alias)).await?[&new]["aliases"], json!({alias.clone(): carried}))?;
    let left = t.get(&path(&old)).await?[&old]["aliases"][&alias].clone();
    equal("on the old index", &left, Value::Null)
}

async fn alias_remove_needs_must_exist(t: &TestedServer) -> Check {
    let (old, new) = (t.create("r1", json!({})).await?, t.create("r2", json!({})).await?);
    let alias = format!("{old}-alias");
    let swap = |remove: Value| json!({"actions": [{"remove": remove}, {"add": {"index": new, "alias": alias}}]});
    let strict = swap(json!({"index": old, "alias": alias, "must_exist": true}));
    expect_status(&t.json("POST", "/_aliases", strict).await?, 404)?;
    expect_status(&t.json("GET", &format!("/{alias}"), json!(null)).await?, 404)?;
    let only = json!({"actions": [{"remove": {"index": old, "alias": alias}}]});
    expect_status(&t.json("POST", "/_aliases", only).await?, 404)?;
    expect_status(&t.json("POST", "/_aliases", swap(json!({"index": old, "alias": alias}))).await?, 200)?;
    equal("alias", &t.get(&format!("/_alias/{alias}")).await?, json!({new: {"aliases": {alias: {}}}}))
}

async fn alias_replaces_index(t: &TestedServer) -> Check {
    let (old, new) = (t.create("p1", json!({})).await?, t.create("p2", json!({})).await?);
    let add = json!({"add": {"index": new, "alias": old}});
    let alone = t.json("POST", "/_aliases", json!({"actions": [add]})).await?;
    expect_status(&alone, 400)?;
    equal("type", &alone.json()["error"]["type"], json!("invalid_alias_name_exception"))?;
    let swap = json!({"actions": [{"remove_index": {"index": old}}, add]});
    expect_status(&t.json("POST", "/_aliases", swap).await?, 200)?;
    equal("the name", &t.get(&format!("/_alias/{old}")).await?, json!({new: {"aliases": {old: {}}}}))
}

async fn health_of_an_index(t: &TestedServer) -> Check {
    let name = t.create_with("health", json!({"number_of_shards": 2, "number_of_replicas": 0}), json!({})).await?;
    let health = async || t.get(&format!("/_cluster/health/{name}?level=indices")).await;
    let green = health().await?;
    equal("status", &green["status"], json!("green"))?;
    equal("active", &green["active_shards"], json!(2))?;
    let index = &green["indices"][&name];
    equal("shards", &index["number_of_shards"], json!(2))?;
    equal("replicas", &index["number_of_replicas"], json!(0))?;
    let nodes = green["number_of_data_nodes"].as_u64().unwrap_or(0);
    let settings = json!({"index": {"number_of_replicas": nodes}});
    expect_status(&t.json("PUT", &format!("/{name}/_settings"), settings).await?, 200)?;
    let yellow = health().await?;
    equal("one copy too many", &yellow["status"], json!("yellow"))?;
    equal("replicas", &yellow["indices"][&name]["number_of_replicas"], json!(nodes))?;
    holds("unassigned", yellow["unassigned_shards"].as_u64() >= Some(2), &yellow)?;
    equal("initializing", &yellow["initializing_shards"].is_u64().into(), json!(true))
}

async fn force_merge_is_a_task(t: &TestedServer) -> Check {
    let name = t.create("merge", json!({})).await?;
    for n in 0..3 {
        t.items(&format!("/{name}/_bulk?refresh=true"), &format!("{{\"index\":{{}}}}\n{{\"n\":{n}}}\n")).await?;
    }
    let path = format!("/{name}/_forcemerge?max_num_segments=1");
    let started = t.json("POST", &format!("{path}&wait_for_completion=false"), json!(null)).await?;
    if t.flavor.is_elasticsearch_7() {
        expect_status(&started, 400)?;
        let merged = t.json("POST", &path, json!(null)).await?;
        expect_status(&merged, 200)?;
        return equal("failed", &merged.json()["_shards"]["failed"], json!(0));
    }
    expect_status(&started, 200)?;
    let task = started.json()["task"].as_str().unwrap_or_default().to_owned();
    holds("task", task.contains(':'), started.json())?;
    let mut seen = Value::Null;
    for _ in 0..200 {
        let reply = t.json("GET", &format!("/_tasks/{task}"), json!(null)).await?;
        expect_status(&reply, 200)?;
        seen = reply.json();
        if seen["completed"] == json!(true) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    equal("failed", &seen["response"]["_shards"]["failed"], json!(0))?;
    // Until the refresh, open searchers keep the old segments.
    expect_status(&t.json("POST", &format!("/{name}/_refresh"), json!(null)).await?, 200)?;
    let stats = t.get(&format!("/{name}/_stats/segments,merge")).await?;
    equal("segments", &stats["_all"]["primaries"]["segments"]["count"], json!(1))
}

async fn seq_nos(t: &TestedServer, name: &str) -> Result<Vec<[i64; 2]>, String> {
    let path = format!(
        "/{name}/_stats/docs,segments?level=shards&filter_path=indices.*.shards.*.routing.primary,indices.*.shards.*.seq_no"
    );
    let shards = t.get(&path).await?["indices"][name]["shards"].clone();
    let mut found = Vec::new();
    for shard in 0..2 {
        let copy = &shards[shard.to_string()][0];
        equal("primary", &copy["routing"]["primary"], json!(true))?;
        let number = |key: &str| copy["seq_no"][key].as_i64().ok_or_else(|| format!("no {key}: {copy}"));
        found.push([number("max_seq_no")?, number("local_checkpoint")?]);
    }
    Ok(found)
}

async fn shard_stats_tell_sequence_numbers(t: &TestedServer) -> Check {
    let name = t.create_with("seq", json!({"number_of_shards": 2, "number_of_replicas": 0}), json!({})).await?;
    equal("empty", &json!(seq_nos(t, &name).await?), json!([[-1, -1], [-1, -1]]))?;
    let lines: String = (0..10).map(|n| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{}}\n")).collect();
    t.items(&format!("/{name}/_bulk"), &lines).await?;
    t.items(&format!("/{name}/_bulk"), "{\"delete\":{\"_id\":\"3\"}}\n{\"index\":{\"_id\":\"4\"}}\n{}\n").await?;
    let found = seq_nos(t, &name).await?;
    let operations: i64 = found.iter().map(|[max, _]| max + 1).sum();
    equal("operations", &json!(operations), json!(12))?;
    holds("all have ended", found.iter().all(|[max, checkpoint]| max == checkpoint), format!("{found:?}"))
}

async fn changes_are_found_by_sequence_number(t: &TestedServer) -> Check {
    let name = t.create_with("changes", json!({"number_of_shards": 2, "number_of_replicas": 0}), json!({})).await?;
    let lines: String = (0..10).map(|n| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":{n}}}\n")).collect();
    t.items(&format!("/{name}/_bulk"), &lines).await?;
    let before = seq_nos(t, &name).await?;
    let lines = "{\"index\":{\"_id\":\"2\"}}\n{\"n\":22}\n{\"index\":{\"_id\":\"x\",\"routing\":\"r\"}}\n{\"n\":1}\n\
        {\"delete\":{\"_id\":\"3\"}}\n{\"index\":{\"_id\":\"y\"}}\n{\"n\":2}\n{\"index\":{\"_id\":\"y\"}}\n{\"n\":3}\n";
    statuses(&t.items(&format!("/{name}/_bulk?refresh=true"), lines).await?, &[200, 201, 200, 201, 200])?;
    let mut found = Vec::new();
    for (shard, [mark, _]) in before.iter().enumerate() {
        let path = format!("/{name}/_search?preference=_shards:{shard}&allow_partial_search_results=false");
        let search = json!({"query": {"range": {"_seq_no": {"gt": mark}}}, "sort": [{"_seq_no": "asc"}], "size": 100,
            "seq_no_primary_term": true, "_source": true, "track_total_hits": false});
        let reply = t.json("POST", &path, search).await?;
        expect_status(&reply, 200)?;
        let hits = reply.json()["hits"]["hits"].as_array().cloned().unwrap_or_default();
        let numbers: Vec<i64> = hits.iter().filter_map(|hit| hit["_seq_no"].as_i64()).collect();
        holds("sorted, above the mark", numbers.is_sorted() && numbers.iter().all(|n| n > mark), json!(hits))?;
        found.extend(hits.iter().map(|hit| json!([hit["_id"], hit["_routing"], hit["_source"]["n"]])));
    }
    found.sort_by_key(ToString::to_string);
    equal("documents", &json!(found), json!([["2", null, 22], ["x", "r", 1], ["y", null, 3]]))
}
