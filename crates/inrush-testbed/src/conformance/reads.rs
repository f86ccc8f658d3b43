//! Reads of a loader: counts, documents, tasks and nodes.

use serde_json::{Value, json};

use super::case::case_table;
use super::check::{Check, equal, expect_status, holds, statuses};
use super::target::TestedServer;

case_table! {
    version_without_root "GET _nodes/_local tells the version and http.max_content_length, whatever GET / answers";
    refresh_and_count "a document is counted after a refresh; with refresh_interval -1 not before";
    get_is_realtime "a document can be read by id before any refresh";
    mget "_mget answers documents in the order asked, with found, version and source";
    routing "a document written with a routing is found with it only, and carries it";
    tasks_shape "_tasks answers a list with group_by=none, and bulk tasks by pattern, and the listing on each node";
    opaque_id "X-Opaque-Id comes back with the reply";
    flush "_flush answers total, successful and failed copies";
    flush_missing_copies "with a replica that has no node, _flush succeeds on fewer copies than there are, and fails on none";
    primary_terms "_cluster/state tells an index's UUID, the primary term of each shard, and in which state its copies are; items carry the term";
    cluster_health "_cluster/health answers status and nodes";
    disk_space "_nodes/stats/fs and _cat/allocation tell the free bytes of each data node";
    wrong_method "GET on _bulk answers 405";
    scroll "a scroll shows each document once, with its routing and without its source, and then an empty page";
    windows "a search for a range of sequence numbers in one shard answers them in order, with ids, routing, versions and sources as they were sent, nested ones too";
    point_in_time "a point in time of one shard shows what was there when it was opened; once it is closed, a search in it answers 404 search_context_missing_exception";
    segments "_segments tells the documents, size and state of each segment by shard; a refresh and a flush make one, a force-merge leaves one; a closed index is refused";
    search_and_aggregate "_search pages through documents and aggregates keyword terms and sums";
}

async fn version_without_root(t: &TestedServer) -> Check {
    let path = "/_nodes/_local?filter_path=nodes.*.version,nodes.*.http.max_content_length_in_bytes";
    let reply = t.get(path).await?;
    let node = reply["nodes"].as_object().and_then(|nodes| nodes.values().next()).cloned().unwrap_or_default();
    equal("version", &node["version"], json!(t.flavor.version()))?;
    holds("limit", node["http"]["max_content_length_in_bytes"].is_u64(), &node)
}

async fn count(t: &TestedServer, name: &str) -> Result<Value, String> {
    Ok(t.get(&format!("/{name}/_count")).await?["count"].clone())
}

async fn refresh_and_count(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "-1"});
    let name = t.create_with("count", settings, json!({})).await?;
    t.items(&format!("/{name}/_bulk"), &"{\"index\":{}}\n{\"n\":1}\n".repeat(20)).await?;
    equal("before", &count(t, &name).await?, json!(0))?;
    expect_status(&t.json("POST", &format!("/{name}/_refresh"), json!(null)).await?, 200)?;
    equal("after", &count(t, &name).await?, json!(20))?;
    t.items(&format!("/{name}/_bulk?refresh=true"), "{\"index\":{}}\n{\"n\":1}\n").await?;
    equal("with refresh=true", &count(t, &name).await?, json!(21))
}

async fn get_is_realtime(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"});
    let name = t.create_with("realtime", settings, json!({})).await?;
    t.items(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n").await?;
    let found = t.get(&format!("/{name}/_doc/1")).await?;
    equal("source", &found["_source"], json!({"n": 1}))?;
    equal("version", &found["_version"], json!(1))?;
    let missing = t.json("GET", &format!("/{name}/_doc/2"), json!(null)).await?;
    expect_status(&missing, 404)?;
    equal("missing", &missing.json()["found"], json!(false))
}

async fn mget(t: &TestedServer) -> Check {
    let name = t.create("mget", json!({})).await?;
    t.items(
        &format!("/{name}/_bulk"),
        "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_id\":\"2\"}}\n{\"n\":2}\n",
    )
    .await?;
    let reply = t.json("POST", &format!("/{name}/_mget"), json!({"ids": ["2", "nope", "1"]})).await?.json();
    let docs = reply["docs"].as_array().cloned().unwrap_or_default();
    let found: Vec<Value> =
        docs.iter().map(|doc| json!([doc["_id"], doc["found"], doc["_version"], doc["_source"]])).collect();
    equal(
        "docs",
        &json!(found),
        json!([["2", true, 1, {"n": 2}], ["nope", false, null, null], ["1", true, 1, {"n": 1}]]),
    )?;
    let bare = t.json("POST", &format!("/{name}/_mget?_source=false"), json!({"ids": ["1"]})).await?.json();
    equal("without source", &bare["docs"][0]["_source"], json!(null))
}

async fn routing(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 5, "number_of_replicas": 0});
    let name = t.create_with("routing", settings, json!({})).await?;
    let items =
        t.items(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"rr\",\"routing\":\"x\"}}\n{\"n\":1}\n").await?;
    statuses(&items, &[201])?;
    // Murmur3 sends "rr" and "x" to different shards of five, on every server.
    expect_status(&t.json("GET", &format!("/{name}/_doc/rr"), json!(null)).await?, 404)?;
    let found = t.get(&format!("/{name}/_doc/rr?routing=x")).await?;
    equal("routing", &found["_routing"], json!("x"))?;
    let docs = t
        .json("POST", &format!("/{name}/_mget"), json!({"docs": [{"_id": "rr"}, {"_id": "rr", "routing": "x"}]}))
        .await?
        .json();
    equal("mget", &json!([docs["docs"][0]["found"], docs["docs"][1]["found"]]), json!([false, true]))?;
    let items = t.items(&format!("/{name}/_bulk?routing=x"), "{\"delete\":{\"_id\":\"rr\"}}\n").await?;
    statuses(&items, &[200])
}

async fn tasks_shape(t: &TestedServer) -> Check {
    equal(
        "none by pattern",
        &t.get("/_tasks?actions=*data/write/bulk*&group_by=none&detailed=true").await?,
        json!({"tasks": []}),
    )?;
    equal("none by node", &t.get("/_tasks?actions=*data/write/bulk*").await?, json!({"nodes": {}}))?;
    let nodes = t.get("/_nodes/http?filter_path=nodes.*.name").await?["nodes"].clone();
    let listing = t.get("/_tasks?actions=cluster:monitor/tasks/lists*&group_by=none&detailed=true").await?;
    let tasks = listing["tasks"].as_array().into_iter().flatten();
    let listed = tasks.filter(|task| task["action"] == "cluster:monitor/tasks/lists[n]");
    let mut listed: Vec<&str> = listed.filter_map(|task| task["node"].as_str()).collect();
    listed.sort_unstable();
    listed.dedup();
    let mut all: Vec<&str> = nodes.as_object().into_iter().flatten().map(|(id, _)| id.as_str()).collect();
    all.sort_unstable();
    equal("each node lists the listing", &json!(listed), json!(all))
}

async fn opaque_id(t: &TestedServer) -> Check {
    let reply = t.send("GET", "/_cluster/health", &[("x-opaque-id", "job-1")], "").await?;
    let echoed = reply.headers.get("x-opaque-id").and_then(|value| value.to_str().ok()).unwrap_or_default();
    holds("echoed", echoed == "job-1", format!("{:?}", reply.headers))
}

async fn flush(t: &TestedServer) -> Check {
    let name = t.create("flush", json!({})).await?;
    let reply = t.json("POST", &format!("/{name}/_flush"), json!(null)).await?.json();
    equal("shards", &reply["_shards"], json!({"total": 1, "successful": 1, "failed": 0}))
}

async fn flush_missing_copies(t: &TestedServer) -> Check {
    let nodes = t.get("/_cluster/health").await?["number_of_data_nodes"].as_u64().unwrap_or(1);
    let settings = json!({"number_of_shards": 1, "number_of_replicas": nodes});
    let name = t.create_with("copies", settings, json!({})).await?;
    let reply = t.json("POST", &format!("/{name}/_flush"), json!(null)).await?.json();
    equal("total and failed", &json!([reply["_shards"]["total"], reply["_shards"]["failed"]]), json!([nodes + 1, 0]))?;
    holds("successful", reply["_shards"]["successful"].as_u64() <= Some(nodes), &reply)
}

async fn primary_terms(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0});
    let name = t.create_with("terms", settings, json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{\"n\":1}\n").await?;
    equal("of an item", &items[0]["_primary_term"], json!(1))?;
    let filter = "metadata.indices.*.settings.index.uuid,metadata.indices.*.primary_terms,routing_table.indices.*.shards.*.state,routing_table.indices.*.shards.*.primary";
    let state = t.get(&format!("/_cluster/state/metadata,routing_table/{name}?filter_path={filter}")).await?;
    let index = &state["metadata"]["indices"][&name];
    equal("of the shards", &index["primary_terms"], json!({"0": 1, "1": 1}))?;
    let uuid = t.get(&format!("/{name}/_settings")).await?[&name]["settings"]["index"]["uuid"].clone();
    equal("uuid", &index["settings"]["index"]["uuid"], uuid)?;
    let copy = json!([{"state": "STARTED", "primary": true}]);
    equal("copies", &state["routing_table"]["indices"][&name]["shards"], json!({"0": copy, "1": copy}))
}

async fn cluster_health(t: &TestedServer) -> Check {
    let health = t.get("/_cluster/health").await?;
    holds("status", ["green", "yellow", "red"].contains(&health["status"].as_str().unwrap_or_default()), &health)?;
    holds("nodes", health["number_of_data_nodes"].as_u64() >= Some(1), &health)
}

async fn disk_space(t: &TestedServer) -> Check {
    let stats = t.get("/_nodes/stats/fs?filter_path=nodes.*.fs.total").await?;
    let node = stats["nodes"].as_object().and_then(|nodes| nodes.values().next()).cloned().unwrap_or_default();
    holds("available", node["fs"]["total"]["available_in_bytes"].as_u64() > Some(0), &stats)?;
    let rows = t.get("/_cat/allocation?format=json&bytes=b").await?;
    let available = rows[0]["disk.avail"].as_str().and_then(|text| text.parse::<u64>().ok());
    holds("disk.avail", available > Some(0), &rows)
}

async fn wrong_method(t: &TestedServer) -> Check {
    expect_status(&t.json("GET", "/_bulk", json!(null)).await?, 405)
}

async fn scroll(t: &TestedServer) -> Check {
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0});
    let name = t.create_with("scroll", settings, json!({})).await?;
    let lines: String = (0..25)
        .map(|n| match n {
            7 => "{\"index\":{\"_id\":\"7\",\"routing\":\"r\"}}\n{\"n\":7}\n".to_owned(),
            n => format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":{n}}}\n"),
        })
        .collect();
    t.items(&format!("/{name}/_bulk?refresh=true"), &lines).await?;
    let path = format!("/{name}/_search?scroll=1m&allow_partial_search_results=false");
    let mut page = t.json("POST", &path, json!({"size": 10, "_source": false, "sort": ["_doc"]})).await?.json();
    let mut ids = Vec::new();
    let mut sizes = Vec::new();
    loop {
        let hits = page["hits"]["hits"].as_array().cloned().unwrap_or_default();
        sizes.push(hits.len());
        for hit in &hits {
            let id = hit["_id"].as_str().unwrap_or_default().to_owned();
            equal("routing", &hit["_routing"], if id == "7" { json!("r") } else { json!(null) })?;
            equal("source", &hit["_source"], json!(null))?;
            ids.push(id);
        }
        if hits.is_empty() || sizes.len() > 4 {
            break;
        }
        let body = json!({"scroll": "1m", "scroll_id": page["_scroll_id"]});
        page = t.json("POST", "/_search/scroll", body).await?.json();
    }
    ids.sort_by_key(|id| id.parse::<u32>().unwrap_or(u32::MAX));
    equal("pages", &json!(sizes), json!([10, 10, 5, 0]))?;
    equal("ids", &json!(ids), json!((0..25).map(|n| n.to_string()).collect::<Vec<_>>()))?;
    let body = json!({"scroll_id": [page["_scroll_id"]]});
    expect_status(&t.json("DELETE", "/_search/scroll", body).await?, 200)
}

/// The preference for one shard, as a reader of the whole shard asks for it.
fn of_shard(t: &TestedServer, shard: u32) -> String {
    if t.flavor.is_elasticsearch() { format!("_shards:{shard}") } else { format!("_shards:{shard}%7C_primary") }
}

fn window(from: u64, end: u64) -> Value {
    json!({"query": {"bool": {"filter": [{"range": {"_seq_no": {"gte": from, "lt": end}}}, {"match_all": {}}]}},
        "sort": [{"_seq_no": "asc"}], "seq_no_primary_term": true, "version": true, "size": 100, "track_total_hits": false,
        "_source": true})
}

/// Writes ten documents to two shards, then writes one of them again and deletes one.
async fn with_gaps(t: &TestedServer, suffix: &str) -> Result<String, String> {
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0});
    let name = t.create_with(suffix, settings, json!({"properties": {"list": {"type": "nested"}}})).await?;
    let lines: String = (0..10)
        .map(|n| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":{n},\"list\":[{{\"a\":1}},{{\"a\":2}}]}}\n"))
        .collect();
    t.items(&format!("/{name}/_bulk"), &lines).await?;
    let lines = "{\"index\":{\"_id\":\"4\"}}\n{\"n\":44}\n{\"delete\":{\"_id\":\"5\"}}\n{\"index\":{\"_id\":\"x\",\"routing\":\"r\"}}\n{ \"n\" : 1.50 }\n";
    t.items(&format!("/{name}/_bulk"), lines).await?;
    // A refresh by the request itself is one of the shards that it wrote to, for Elasticsearch 9.5.
    expect_status(&t.json("POST", &format!("/{name}/_refresh"), json!(null)).await?, 200)?;
    Ok(name)
}

async fn windows(t: &TestedServer) -> Check {
    let name = with_gaps(t, "windows").await?;
    let mut found = Vec::new();
    for shard in 0..2 {
        let mut before = -1;
        for from in [0, 4, 8] {
            let preference = of_shard(t, shard);
            let path = format!("/{name}/_search?allow_partial_search_results=false&preference={preference}");
            let reply = t.json("POST", &path, window(from, from + 4)).await?;
            expect_status(&reply, 200)?;
            for hit in reply.json()["hits"]["hits"].as_array().cloned().unwrap_or_default() {
                let number = hit["_seq_no"].as_i64().unwrap_or(-1);
                let inside = (from as i64..from as i64 + 4).contains(&number);
                holds("ascending and in the window", inside && number > before, &hit)?;
                before = number;
                found.push(json!([hit["_id"], hit["_routing"], hit["_version"], hit["_source"]["n"]]));
            }
        }
    }
    found.sort_by_key(ToString::to_string);
    let mut expected: Vec<Value> =
        (0..10).filter(|n| ![4, 5].contains(n)).map(|n| json!([n.to_string(), null, 1, n])).collect();
    expected.extend([json!(["4", null, 2, 44]), json!(["x", "r", 1, 1.5])]);
    expected.sort_by_key(ToString::to_string);
    equal("documents", &json!(found), json!(expected))
}

async fn point_in_time(t: &TestedServer) -> Check {
    let name = with_gaps(t, "pit").await?;
    let elasticsearch = t.flavor.is_elasticsearch();
    let (verb, key, close) = match elasticsearch {
        true => ("_pit", "id", "/_pit"),
        false => ("_search/point_in_time", "pit_id", "/_search/point_in_time"),
    };
    let path = format!("/{name}/{verb}?keep_alive=1m&preference={}", of_shard(t, 0));
    let reply = t.json("POST", &path, json!(null)).await?;
    expect_status(&reply, 200)?;
    let id = reply.json()[key].clone();
    let mut search = window(0, 100);
    search["pit"] = json!({"id": id, "keep_alive": "1m"});
    let ids = |reply: &Value| {
        let hits = reply["hits"]["hits"].as_array().cloned().unwrap_or_default();
        json!(hits.iter().map(|hit| hit["_id"].clone()).collect::<Vec<_>>())
    };
    let path = "/_search?allow_partial_search_results=false";
    let before = t.json("POST", path, search.clone()).await?;
    expect_status(&before, 200)?;
    let before = ids(&before.json());
    holds("one shard's documents", (1..10).contains(&before.as_array().map_or(0, Vec::len)), &before)?;
    let lines: String = (0..10).map(|n| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"n\":0}}\n")).collect();
    t.items(&format!("/{name}/_bulk?refresh=true"), &lines).await?;
    equal("what it shows later", &ids(&t.json("POST", path, search.clone()).await?.json()), before)?;
    let closing = if elasticsearch { json!({ "id": id }) } else { json!({"pit_id": [id]}) };
    expect_status(&t.json("DELETE", close, closing).await?, 200)?;
    let lost = t.json("POST", path, search).await?;
    expect_status(&lost, 404)?;
    let why = lost.json()["error"].to_string();
    holds("says so", why.contains("search_context_missing_exception"), why)
}

async fn search_and_aggregate(t: &TestedServer) -> Check {
    let name = t.create("search", json!({"properties": {"town": {"type": "keyword"}, "n": {"type": "long"}}})).await?;
    let towns = ["x", "y", "x", "z", "x", "y"];
    let lines: String = towns
        .iter()
        .enumerate()
        .map(|(n, town)| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"town\":\"{town}\",\"n\":{n}}}\n"))
        .collect();
    t.items(&format!("/{name}/_bulk?refresh=true"), &lines).await?;
    let body = json!({"size": 2, "from": 1, "sort": [{"n": "desc"}], "query": {"terms": {"town": ["x", "y"]}},
        "aggs": {"towns": {"terms": {"field": "town"}, "aggs": {"sum": {"sum": {"field": "n"}}}}, "mean": {"avg": {"field": "n"}}}});
    let found = t.json("POST", &format!("/{name}/_search"), body).await?.json();
    equal("total", &found["hits"]["total"], json!({"value": 5, "relation": "eq"}))?;
    let ids: Vec<&Value> = found["hits"]["hits"].as_array().into_iter().flatten().map(|hit| &hit["_id"]).collect();
    equal("page", &json!(ids), json!(["4", "2"]))?;
    equal(
        "buckets",
        &found["aggregations"]["towns"]["buckets"],
        json!([{"key": "x", "doc_count": 3, "sum": {"value": 6.0}}, {"key": "y", "doc_count": 2, "sum": {"value": 6.0}}]),
    )?;
    equal("mean", &found["aggregations"]["mean"]["value"], json!(2.4))
}

/// The segments of the only shard that searches see, without those that have no documents.
async fn seen_segments(t: &TestedServer, name: &str) -> Result<Vec<Value>, String> {
    let copies = t.get(&format!("/{name}/_segments")).await?["indices"][name]["shards"]["0"].clone();
    equal("primary", &copies[0]["routing"]["primary"], json!(true))?;
    holds("node", copies[0]["routing"]["node"].is_string(), &copies)?;
    let segments = copies[0]["segments"].as_object().cloned().unwrap_or_default();
    let seen = segments.into_values().filter(|one| one["search"] == json!(true) && one["num_docs"] != json!(0));
    Ok(seen.collect())
}

async fn segments(t: &TestedServer) -> Check {
    let name = t.create("segments", json!({})).await?;
    equal("empty", &json!(seen_segments(t, &name).await?.len()), json!(0))?;
    for id in 0..2 {
        let body = format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{{\"n\":{id}}}\n");
        t.items(&format!("/{name}/_bulk?refresh=true"), &body).await?;
    }
    let found = seen_segments(t, &name).await?;
    equal("two refreshes", &json!(found.len()), json!(2))?;
    for segment in &found {
        equal("documents", &segment["num_docs"], json!(1))?;
        equal("committed", &segment["committed"], json!(false))?;
        let numbers = ["generation", "deleted_docs", "size_in_bytes"];
        holds("numbers", numbers.iter().all(|key| segment[*key].is_u64()), segment)?;
    }
    expect_status(&t.json("POST", &format!("/{name}/_flush"), json!(null)).await?, 200)?;
    let committed = seen_segments(t, &name).await?.iter().all(|segment| segment["committed"] == json!(true));
    holds("committed by a flush", committed, &found[0])?;
    expect_status(&t.json("POST", &format!("/{name}/_forcemerge?max_num_segments=1"), json!(null)).await?, 200)?;
    expect_status(&t.json("POST", &format!("/{name}/_refresh"), json!(null)).await?, 200)?;
    let merged = seen_segments(t, &name).await?;
    let docs: Vec<&Value> = merged.iter().map(|segment| &segment["num_docs"]).collect();
    equal("merged", &json!(docs), json!([2]))?;
    expect_status(&t.json("POST", &format!("/{name}/_close"), json!(null)).await?, 200)?;
    let closed = t.json("GET", &format!("/{name}/_segments"), json!(null)).await?;
    expect_status(&closed, 400)?;
    equal("type", &closed.json()["error"]["type"], json!("index_closed_exception"))?;
    let missing = t.json("GET", &format!("/{name}-none/_segments"), json!(null)).await?;
    expect_status(&missing, 404)
}
