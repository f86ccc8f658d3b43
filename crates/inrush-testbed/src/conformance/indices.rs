//! Indices, aliases, blocks, settings, mappings and data streams.

use serde_json::json;

use super::case::case_table;
use super::check::{Check, equal, expect_status, holds, statuses};
use super::target::{DATA_STREAMS, TestedServer, is_elasticsearch_9};

case_table! {
    create_and_exists "an index is 404 before PUT and 200 after; a second PUT answers 400 resource_already_exists_exception";
    index_is_given_back "GET shows mappings as given, settings as text, uuid and creation_date; a recreated index has another uuid";
    auto_create "index and update create a missing index, a delete does not: 404 index_not_found_exception";
    invalid_name "an invalid index name answers item 400 invalid_index_name_exception";
    require_alias "require_alias on a name that is no alias answers item 404 index_not_found_exception";
    alias_with_write_index "a bulk to an alias goes to its write index, and the item names that index";
    alias_without_write_index "a bulk to an alias of two indices without a write index answers item 400 illegal_argument_exception";
    alias_swap "_aliases applies all actions or none; a remove of a missing alias refuses all";
    write_block "index.blocks.write answers item 403 cluster_block_exception";
    flood_stage "index.blocks.read_only_allow_delete answers item 429 cluster_block_exception, also for deletes by id";
    closed_index "a closed index answers item 400 index_closed_exception";
    refresh_interval_round_trip "refresh_interval is shown as it was set, and null puts it back to not set";
    translog_settings "translog durability, sync interval and flush threshold can be set and put back while the index is open";
    static_setting "a static setting of an open index is refused, and so is an unknown one";
    meta_is_replaced "_meta of a mapping survives, is replaced as a whole, and leaves properties alone";
    field_type_stays "a field's type cannot be changed";
    template_is_simulated "_simulate_index tells the settings that a new index takes from its template";
    a_legacy_template_applies "a legacy template gives a new index its settings and mapping; _simulate_index answers nothing, and _template shows it";
    a_new_index_is_simulated "_simulate_index with a template in its body tells its aliases, refuses a mapping, a setting or a number of shards that no index takes with 400 and a type, and makes nothing";
    data_stream "a data stream takes create only, and writes to a backing index" modules [DATA_STREAMS];
}

async fn create_and_exists(t: &TestedServer) -> Check {
    let name = t.name("exists");
    let path = format!("/{name}");
    expect_status(&t.json("HEAD", &path, json!(null)).await?, 404)?;
    let missing = t.json("GET", &path, json!(null)).await?;
    expect_status(&missing, 404)?;
    equal("type", &missing.json()["error"]["type"], json!("index_not_found_exception"))?;
    expect_status(&t.json("PUT", &path, json!({})).await?, 200)?;
    expect_status(&t.json("HEAD", &path, json!(null)).await?, 200)?;
    let second = t.json("PUT", &path, json!({})).await?;
    expect_status(&second, 400)?;
    equal("type", &second.json()["error"]["type"], json!("resource_already_exists_exception"))
}

async fn index_is_given_back(t: &TestedServer) -> Check {
    let mappings = json!({"_meta": {"x": 1, "y": {"z": 2}}, "properties": {"k": {"type": "keyword"}, "o": {"properties": {"p": {"type": "long"}}}}});
    let name =
        t.create_with("shown", json!({"number_of_shards": 2, "number_of_replicas": 0}), mappings.clone()).await?;
    let shown = t.get(&format!("/{name}")).await?[&name].clone();
    equal("mappings", &shown["mappings"], mappings)?;
    equal("aliases", &shown["aliases"], json!({}))?;
    let settings = &shown["settings"]["index"];
    equal("shards", &settings["number_of_shards"], json!("2"))?;
    equal("replicas", &settings["number_of_replicas"], json!("0"))?;
    equal("name", &settings["provided_name"], json!(name))?;
    equal("refresh_interval", &settings["refresh_interval"], json!(null))?;
    holds(
        "creation_date",
        settings["creation_date"].as_str().is_some_and(|date| date.parse::<u64>().is_ok()),
        settings,
    )?;
    let uuid = settings["uuid"].clone();
    holds("uuid", uuid.as_str().is_some_and(|uuid| uuid.len() == 22), settings)?;
    expect_status(&t.json("DELETE", &format!("/{name}"), json!(null)).await?, 200)?;
    t.create("shown", json!({})).await?;
    let again = t.get(&format!("/{name}/_settings/index.uuid")).await?[&name]["settings"]["index"]["uuid"].clone();
    holds("another uuid", again != uuid && again.is_string(), &again)
}

async fn auto_create(t: &TestedServer) -> Check {
    let (indexed, updated, deleted) = (t.name("auto-i"), t.name("auto-u"), t.name("auto-d"));
    let lines = format!(
        "{{\"index\":{{\"_index\":\"{indexed}\"}}}}\n{{}}\n{{\"update\":{{\"_index\":\"{updated}\",\"_id\":\"1\"}}}}\n{{\"doc\":{{}}}}\n{{\"delete\":{{\"_index\":\"{deleted}\",\"_id\":\"1\"}}}}\n"
    );
    let items = t.items("/_bulk", &lines).await?;
    statuses(&items, &[201, 404, 404])?;
    equal("update", &items[1]["error"]["type"], json!("document_missing_exception"))?;
    equal("delete", &items[2]["error"]["type"], json!("index_not_found_exception"))?;
    for (name, status) in [(indexed, 200), (updated, 200), (deleted, 404)] {
        expect_status(&t.json("HEAD", &format!("/{name}"), json!(null)).await?, status)?;
    }
    Ok(())
}

async fn invalid_name(t: &TestedServer) -> Check {
    let name = t.create("valid", json!({})).await?;
    let lines =
        format!("{{\"index\":{{\"_index\":\"UPPER\"}}}}\n{{}}\n{{\"index\":{{\"_index\":\"{name}\"}}}}\n{{}}\n");
    let items = t.items("/_bulk", &lines).await?;
    statuses(&items, &[400, 201])?;
    equal("type", &items[0]["error"]["type"], json!("invalid_index_name_exception"))
}

async fn require_alias(t: &TestedServer) -> Check {
    let name = t.create("noalias", json!({})).await?;
    let lines = "{\"index\":{}}\n{}\n";
    let items = t.items(&format!("/{name}/_bulk?require_alias=true"), lines).await?;
    statuses(&items, &[404])?;
    equal("type", &items[0]["error"]["type"], json!("index_not_found_exception"))?;
    let alias = format!("{name}-alias");
    add_alias(t, &name, &alias, json!({})).await?;
    statuses(&t.items(&format!("/{alias}/_bulk?require_alias=true"), lines).await?, &[201])
}

async fn add_alias(t: &TestedServer, index: &str, alias: &str, options: serde_json::Value) -> Check {
    let mut action = options;
    action["index"] = json!(index);
    action["alias"] = json!(alias);
    expect_status(&t.json("POST", "/_aliases", json!({"actions": [{"add": action}]})).await?, 200)
}

async fn alias_with_write_index(t: &TestedServer) -> Check {
    let (one, two) = (t.create("w1", json!({})).await?, t.create("w2", json!({})).await?);
    let alias = format!("{one}-alias");
    add_alias(t, &one, &alias, json!({})).await?;
    statuses(&t.items(&format!("/{alias}/_bulk"), "{\"index\":{}}\n{}\n").await?, &[201])?;
    add_alias(t, &two, &alias, json!({"is_write_index": true})).await?;
    let items = t.items(&format!("/{alias}/_bulk"), "{\"index\":{}}\n{}\n").await?;
    statuses(&items, &[201])?;
    equal("index", &items[0]["_index"], json!(two))?;
    let shown = t.get(&format!("/_alias/{alias}")).await?;
    equal("write index", &shown[&two]["aliases"][&alias], json!({"is_write_index": true}))?;
    equal("the other", &shown[&one]["aliases"][&alias], json!({}))
}

async fn alias_without_write_index(t: &TestedServer) -> Check {
    let (one, two) = (t.create("n1", json!({})).await?, t.create("n2", json!({})).await?);
    let alias = format!("{one}-alias");
    add_alias(t, &one, &alias, json!({})).await?;
    add_alias(t, &two, &alias, json!({})).await?;
    let items = t.items(&format!("/{alias}/_bulk"), "{\"index\":{}}\n{}\n").await?;
    statuses(&items, &[400])?;
    equal("type", &items[0]["error"]["type"], json!("illegal_argument_exception"))?;
    let reason = items[0]["error"]["reason"].as_str().unwrap_or_default();
    holds("reason", reason.starts_with(&format!("no write index is defined for alias [{alias}]")), reason)
}

async fn alias_swap(t: &TestedServer) -> Check {
    let (old, new) = (t.create("old", json!({})).await?, t.create("new", json!({})).await?);
    let alias = format!("{old}-alias");
    add_alias(t, &old, &alias, json!({})).await?;
    let swap = json!({"actions": [{"remove": {"index": old, "alias": alias, "must_exist": true}}, {"add": {"index": new, "alias": alias}}]});
    expect_status(&t.json("POST", "/_aliases", swap.clone()).await?, 200)?;
    // The old index no longer carries the alias: the same actions are refused, and the new index
    // keeps it.
    let again = t.json("POST", "/_aliases", swap).await?;
    expect_status(&again, 404)?;
    let kind =
        if t.flavor.is_elasticsearch_7() { "resource_not_found_exception" } else { "aliases_not_found_exception" };
    equal("type", &again.json()["error"]["type"], json!(kind))?;
    equal("alias", &t.get(&format!("/_alias/{alias}")).await?, json!({new: {"aliases": {alias: {}}}}))
}

async fn put_setting(t: &TestedServer, index: &str, settings: serde_json::Value) -> Check {
    expect_status(&t.json("PUT", &format!("/{index}/_settings"), settings).await?, 200)
}

async fn write_block(t: &TestedServer) -> Check {
    let name = t.create("block", json!({})).await?;
    put_setting(t, &name, json!({"index.blocks.write": true})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{}\n").await?;
    statuses(&items, &[403])?;
    equal("type", &items[0]["error"]["type"], json!("cluster_block_exception"))?;
    let reason = format!("index [{name}] blocked by: [FORBIDDEN/8/index write (api)];");
    equal("reason", &items[0]["error"]["reason"], json!(reason))?;
    put_setting(t, &name, json!({"index.blocks.write": null})).await?;
    statuses(&t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{}\n").await?, &[201])
}

async fn flood_stage(t: &TestedServer) -> Check {
    let name = t.create("flood", json!({})).await?;
    put_setting(t, &name, json!({"index.blocks.read_only_allow_delete": true})).await?;
    let items =
        t.items(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"1\"}}\n{}\n{\"delete\":{\"_id\":\"1\"}}\n").await?;
    statuses(&items, &[429, 429])?;
    equal("type", &items[0]["error"]["type"], json!("cluster_block_exception"))?;
    // Elasticsearch 8 allows changes of settings then, the others refuse them. All lift the block
    // itself.
    let changed = t.json("PUT", &format!("/{name}/_settings"), json!({"index.refresh_interval": "5s"})).await?;
    expect_status(&changed, if t.flavor.is_elasticsearch_8() { 200 } else { 429 })?;
    put_setting(t, &name, json!({"index.blocks.read_only_allow_delete": null})).await
}

async fn closed_index(t: &TestedServer) -> Check {
    let name = t.create("closed", json!({})).await?;
    expect_status(&t.json("POST", &format!("/{name}/_close"), json!(null)).await?, 200)?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{}\n").await?;
    statuses(&items, &[400])?;
    equal("type", &items[0]["error"]["type"], json!("index_closed_exception"))
}

async fn refresh_interval_round_trip(t: &TestedServer) -> Check {
    let name = t.create("refresh", json!({})).await?;
    let shown = async || -> Result<serde_json::Value, String> {
        Ok(t.get(&format!("/{name}/_settings")).await?[&name]["settings"]["index"]["refresh_interval"].clone())
    };
    equal("never set", &shown().await?, json!(null))?;
    for given in ["-1", "5s", "1s"] {
        put_setting(t, &name, json!({"index": {"refresh_interval": given}})).await?;
        equal("set", &shown().await?, json!(given))?;
    }
    put_setting(t, &name, json!({"index": {"refresh_interval": null}})).await?;
    equal("put back to not set", &shown().await?, json!(null))?;
    let defaults =
        t.get(&format!("/{name}/_settings?include_defaults=true")).await?[&name]["defaults"]["index"].clone();
    equal("default", &defaults["refresh_interval"], json!("1s"))
}

async fn translog_settings(t: &TestedServer) -> Check {
    let name = t.create("translog", json!({})).await?;
    let before = t.get(&format!("/{name}/_settings?flat_settings=true")).await?;
    let given = json!({"durability": "async", "sync_interval": "7s", "flush_threshold_size": "1gb"});
    put_setting(t, &name, json!({"index": {"translog": given}})).await?;
    equal("set", &t.get(&format!("/{name}/_settings")).await?[&name]["settings"]["index"]["translog"], given)?;
    put_setting(
        t,
        &name,
        json!({"index": {"translog": {"durability": null, "sync_interval": null, "flush_threshold_size": null}}}),
    )
    .await?;
    equal("put back", &t.get(&format!("/{name}/_settings?flat_settings=true")).await?, before)
}

async fn static_setting(t: &TestedServer) -> Check {
    let name = t.create("static", json!({})).await?;
    let settings = if is_elasticsearch_9(t) { "setting(s)" } else { "settings" };
    let fixed = |name: &str| format!("Can't update non dynamic {settings} [[{name}]] for open indices");
    for (settings, reason) in [
        (json!({"index": {"number_of_shards": 3}}), fixed("index.number_of_shards")),
        (json!({"index": {"codec": "best_compression"}}), fixed("index.codec")),
        (json!({"index": {"foo": 3}}), "unknown setting [index.foo]".to_owned()),
    ] {
        let reply = t.json("PUT", &format!("/{name}/_settings"), settings).await?;
        expect_status(&reply, 400)?;
        let text = reply.json()["error"]["reason"].as_str().unwrap_or_default().to_owned();
        holds("reason", text.starts_with(&reason), text)?;
    }
    Ok(())
}

async fn meta_is_replaced(t: &TestedServer) -> Check {
    let name =
        t.create("meta", json!({"_meta": {"a": 1, "b": {"c": 2}}, "properties": {"z": {"type": "long"}}})).await?;
    let path = format!("/{name}/_mapping");
    let meta = async || -> Result<serde_json::Value, String> { Ok(t.get(&path).await?[&name]["mappings"].clone()) };
    t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{\"new\":1}\n").await?;
    equal("after a dynamic field", &meta().await?["_meta"], json!({"a": 1, "b": {"c": 2}}))?;
    expect_status(&t.json("PUT", &path, json!({"_meta": {"d": 1}})).await?, 200)?;
    equal(
        "replaced",
        &meta().await?,
        json!({"_meta": {"d": 1}, "properties": {"new": {"type": "long"}, "z": {"type": "long"}}}),
    )?;
    expect_status(&t.json("PUT", &path, json!({"properties": {"y": {"type": "long"}}})).await?, 200)?;
    equal("left alone", &meta().await?["_meta"], json!({"d": 1}))?;
    expect_status(&t.json("PUT", &path, json!({"_meta": {}})).await?, 200)?;
    equal("emptied", &meta().await?["_meta"], json!({}))
}

async fn field_type_stays(t: &TestedServer) -> Check {
    let name = t.create("types", json!({"properties": {"z": {"type": "long"}}})).await?;
    let reply = t.json("PUT", &format!("/{name}/_mapping"), json!({"properties": {"z": {"type": "text"}}})).await?;
    expect_status(&reply, 400)?;
    equal("reason", &reply.json()["error"]["reason"], json!("mapper [z] cannot be changed from type [long] to [text]"))
}

async fn template_is_simulated(t: &TestedServer) -> Check {
    let name = t.name("simulated");
    let settings = json!({"default_pipeline": "a", "index": {"final_pipeline": "b"}});
    let template = json!({"index_patterns": [format!("{name}*")], "priority": 500, "template": {"settings": settings}});
    let template_path = format!("/_index_template/{name}-template");
    expect_status(&t.json("PUT", &template_path, template).await?, 200)?;
    let path = format!("/_index_template/_simulate_index/{name}-1?filter_path=template.settings.index.*_pipeline");
    let simulated = t.json("POST", &path, json!(null)).await;
    t.json("DELETE", &template_path, json!(null)).await?;
    let simulated = simulated?;
    expect_status(&simulated, 200)?;
    let expected = json!({"template": {"settings": {"index": {"default_pipeline": "a", "final_pipeline": "b"}}}});
    equal("pipelines", &simulated.json(), expected)
}

async fn a_legacy_template_applies(t: &TestedServer) -> Check {
    let name = t.name("legacy");
    let template = json!({"index_patterns": [format!("{name}*")], "order": 3, "settings": {"number_of_shards": 2},
        "mappings": {"properties": {"code": {"type": "keyword"}}}});
    let path = format!("/_template/{name}-template");
    expect_status(&t.json("PUT", &path, template).await?, 200)?;
    let simulated = t.json("POST", &format!("/_index_template/_simulate_index/{name}-1"), json!(null)).await;
    let shown = t.get("/_template").await;
    let made = t.json("PUT", &format!("/{name}-1"), json!({})).await;
    t.json("DELETE", &path, json!(null)).await?;
    expect_status(&made?, 200)?;
    let found = t.get(&format!("/{name}-1")).await?[format!("{name}-1")].clone();
    expect_status(&t.json("DELETE", &format!("/{name}-1"), json!(null)).await?, 200)?;
    equal("simulated", &simulated?.json(), json!({}))?;
    let shown = &shown?[format!("{name}-template")];
    equal("order", &shown["order"], json!(3))?;
    equal("shards of the template", &shown["settings"]["index"]["number_of_shards"], json!("2"))?;
    equal("mapping of the template", &shown["mappings"]["properties"]["code"]["type"], json!("keyword"))?;
    equal("shards", &found["settings"]["index"]["number_of_shards"], json!("2"))?;
    equal("mapping", &found["mappings"], json!({"properties": {"code": {"type": "keyword"}}}))
}

async fn a_new_index_is_simulated(t: &TestedServer) -> Check {
    let name = t.name("like-it");
    let path = format!("/_index_template/_simulate_index/{name}");
    let ask = async |template| {
        let body = json!({"index_patterns": [name], "priority": 2_147_483_646, "template": template});
        t.json("POST", &path, body).await
    };
    let fine = json!({"settings": {"index.number_of_shards": 2}, "mappings": {"properties": {"n": {"type": "long"}}}, "aliases": {"al": {}}});
    let simulated = ask(fine).await?;
    expect_status(&simulated, 200)?;
    equal("aliases", &simulated.json()["template"]["aliases"], json!({"al": {}}))?;
    for wrong in [
        json!({"mappings": {"properties": {"n": {"type": "lnog"}}}}),
        json!({"settings": {"index.no_such_setting": 1}}),
        json!({"settings": {"index.number_of_shards": 5000}}),
    ] {
        let refused = ask(wrong).await?;
        expect_status(&refused, 400)?;
        holds("type", refused.json()["error"]["type"].is_string(), refused.json())?;
    }
    expect_status(&t.json("GET", &format!("/{name}"), json!(null)).await?, 404)
}

async fn data_stream(t: &TestedServer) -> Check {
    let name = t.name("stream");
    let template = json!({"index_patterns": [format!("{name}*")], "priority": 500, "data_stream": {}, "template": {"settings": {"number_of_replicas": 0}}});
    let template_path = format!("/_index_template/{name}-template");
    expect_status(&t.json("PUT", &template_path, template).await?, 200)?;
    let lines = "{\"index\":{\"_id\":\"1\"}}\n{\"@timestamp\":\"2024-01-01T00:00:00Z\"}\n{\"create\":{}}\n{\"@timestamp\":\"2024-01-01T00:00:00Z\"}\n{\"create\":{}}\n{\"n\":1}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{}}\n{\"delete\":{\"_id\":\"1\"}}\n";
    let items = t.items(&format!("/{name}/_bulk"), lines).await;
    let shown = t.get(&format!("/{name}")).await?;
    // The reduced Elasticsearch distributions create streams, but have no endpoint that deletes
    // them.
    t.json("DELETE", &format!("/_data_stream/{name}"), json!(null)).await?;
    t.json("DELETE", &template_path, json!(null)).await?;
    let items = items?;
    statuses(&items, &[400, 201, 400, 400, 400])?;
    equal(
        "reason",
        &items[0]["error"]["reason"],
        json!("only write ops with an op_type of create are allowed in data streams"),
    )?;
    let backing = items[1]["_index"].as_str().unwrap_or_default().to_owned();
    holds("backing index", backing.starts_with(&format!(".ds-{name}-")) && backing.ends_with("000001"), &items[1])?;
    equal("without a timestamp", &items[2]["error"]["type"], json!(t.flavor.mapper_error_type()))?;
    equal("the stream is named by its index", &shown[&backing]["data_stream"], json!(name))
}
