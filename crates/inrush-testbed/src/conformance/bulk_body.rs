//! Bulk bodies: their form, and the errors that refuse a whole body.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use super::case::case_table;
use super::check::{Check, equal, error_types, expect_status, field, holds, refused, statuses};
use super::target::TestedServer;

case_table! {
    final_newline "a body without its final newline is refused as a whole, and nothing of it is applied";
    last_action_alone "a last action line without its document is ignored: the reply has an item less, and no error says so";
    blank_lines "blank lines between actions are skipped, also at the end";
    carriage_returns "lines may end in CR LF; the source is stored without the CR";
    malformed_action_line "an action line that is no action refuses the whole request, also after good items";
    unknown_action "an unknown action refuses the whole request; Elasticsearch 7 ignores it with the line after it, and the reply has an item less";
    unknown_parameter "an unknown parameter on an action line refuses the whole request";
    id_513_bytes "an id of 513 bytes refuses the whole request, but for updates on Elasticsearch 7; one of 512 is fine";
    long_id_of_a_delete "a delete is not held to the limit of 512 bytes";
    id_of_update_and_delete "update and delete without an id, or with an empty one, refuse the whole request";
    empty_id "index and create with an empty id are refused by the item";
    missing_index "an item without an index, with none in the path, refuses the whole request";
    update_with_version "an update with a version refuses the whole request";
    create_with_external_version "a create with an external version refuses the whole request";
    version_without_type "a version without an external version type refuses the whole request";
    unreadable_update "an update whose body cannot be read refuses the whole request, unlike a document that cannot";
    invalid_document "a document that is no JSON object spoils its item only";
    duplicate_field "a field given twice spoils its item";
    same_id_twice "items of one request on the same id take effect in their order";
    null_and_number_ids "a null id is no id, a number is taken as text, an empty routing is no routing";
    gzip_and_deflate "bodies may be compressed with gzip or deflate";
    packed_reply "a reply is compressed for who asks for it";
    plain_ndjson "the media type application/x-ndjson is taken by all, text/plain by none";
}

async fn final_newline(t: &TestedServer) -> Check {
    let name = t.create("nl", json!({})).await?;
    let reply = t
        .bulk(
            &format!("/{name}/_bulk"),
            "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_id\":\"2\"}}\n{\"n\":2}",
        )
        .await?;
    refused(&reply, "illegal_argument_exception", "must be terminated by a newline [\\n]")?;
    equal("document 1", &t.get(&format!("/{name}/_doc/1")).await?["found"], json!(false))
}

async fn last_action_alone(t: &TestedServer) -> Check {
    let name = t.create("alone", json!({})).await?;
    let items = t
        .items(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_id\":\"2\"}}\n")
        .await?;
    statuses(&items, &[201])
}

async fn blank_lines(t: &TestedServer) -> Check {
    let name = t.create("blank", json!({})).await?;
    let items =
        t.items(&format!("/{name}/_bulk"), "\n{\"index\":{}}\n{\"n\":1}\n\n{\"index\":{}}\n{\"n\":1}\n\n").await?;
    statuses(&items, &[201, 201])?;
    refused(&t.bulk(&format!("/{name}/_bulk"), "\n").await?, "action_request_validation_exception", "no requests added")
}

async fn carriage_returns(t: &TestedServer) -> Check {
    let name = t.create("cr", json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"1\"}}\r\n{\"n\":1}\r\n").await?;
    statuses(&items, &[201])?;
    let reply = t.json("GET", &format!("/{name}/_doc/1"), json!(null)).await?;
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    holds("source without CR", text.contains("\"_source\":{\"n\":1}}"), text)
}

async fn malformed_action_line(t: &TestedServer) -> Check {
    let name = t.create("malformed", json!({})).await?;
    let path = format!("/{name}/_bulk");
    let good = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n";
    for (line, reason) in [
        ("[\"index\"]", "Malformed action/metadata line [3], expected START_OBJECT but found [START_ARRAY]"),
        ("{}", "Malformed action/metadata line [3], expected FIELD_NAME but found [END_OBJECT]"),
        (
            "{\"index\":5}",
            "Malformed action/metadata line [3], expected START_OBJECT or END_OBJECT but found [VALUE_NUMBER]",
        ),
        (
            "{\"index\":{\"_id\":[1]}}",
            "Malformed action/metadata line [3], expected a simple value for field [_id] but found [START_ARRAY]",
        ),
    ] {
        let reply = t.bulk(&path, &format!("{good}{line}\n{{}}\n")).await?;
        refused(&reply, "illegal_argument_exception", reason)?;
    }
    let kind = if t.flavor.is_elasticsearch_8() { "x_content_parse_exception" } else { "json_parse_exception" };
    refused(&t.bulk(&path, &format!("{good}{{\"index\":}}\n{{}}\n")).await?, kind, "")?;
    let found = t.get(&format!("/{name}/_doc/1")).await?["found"].clone();
    // Elasticsearch 8.16 and newer may apply the items before the error of a body that it streams
    // in parts. A small body is not streamed.
    equal("item before the malformed line", &found, json!(false))
}

async fn unknown_action(t: &TestedServer) -> Check {
    let name = t.create("action", json!({})).await?;
    let lines = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"foo\":{}}\n{}\n";
    if t.flavor.is_elasticsearch_7() {
        return statuses(&t.items(&format!("/{name}/_bulk"), lines).await?, &[201]);
    }
    refused(
        &t.bulk(&format!("/{name}/_bulk"), lines).await?,
        "illegal_argument_exception",
        "Malformed action/metadata line [3]",
    )
}

async fn unknown_parameter(t: &TestedServer) -> Check {
    let name = t.create("param", json!({})).await?;
    let reply = t.bulk(&format!("/{name}/_bulk"), "{\"index\":{\"nope\":1}}\n{}\n").await?;
    refused(&reply, "illegal_argument_exception", "Action/metadata line [1] contains an unknown parameter [nope]")
}

async fn id_513_bytes(t: &TestedServer) -> Check {
    let name = t.create("longid", json!({})).await?;
    let path = format!("/{name}/_bulk");
    let body = |action: &str, length: usize, document: &str| {
        format!(
            "{{\"index\":{{\"_id\":\"1\"}}}}\n{{}}\n{{\"{action}\":{{\"_id\":\"{}\"}}}}\n{document}\n",
            "é".repeat(length / 2) + &"a".repeat(length % 2)
        )
    };
    for (action, document) in [("index", "{}"), ("create", "{}"), ("update", "{\"doc\":{}}")] {
        if action == "update" && t.flavor.is_elasticsearch_7() {
            continue;
        }
        let reply = t.bulk(&path, &body(action, 513, document)).await?;
        refused(
            &reply,
            "action_request_validation_exception",
            "is too long, must be no longer than 512 bytes but was: 513",
        )?;
    }
    equal("good item beside it", &t.get(&format!("/{name}/_doc/1")).await?["found"], json!(false))?;
    statuses(&t.items(&path, &body("index", 512, "{}")).await?, &[201, 201])
}

async fn long_id_of_a_delete(t: &TestedServer) -> Check {
    let name = t.create("longdel", json!({})).await?;
    let items =
        t.items(&format!("/{name}/_bulk"), &format!("{{\"delete\":{{\"_id\":\"{}\"}}}}\n", "a".repeat(513))).await?;
    statuses(&items, &[404])
}

async fn id_of_update_and_delete(t: &TestedServer) -> Check {
    let name = t.create("noid", json!({})).await?;
    for body in [
        "{\"delete\":{}}\n",
        "{\"delete\":{\"_id\":\"\"}}\n",
        "{\"update\":{}}\n{\"doc\":{}}\n",
        "{\"update\":{\"_id\":\"\"}}\n{\"doc\":{}}\n",
    ] {
        refused(
            &t.bulk(&format!("/{name}/_bulk"), body).await?,
            "action_request_validation_exception",
            "id is missing",
        )?;
    }
    Ok(())
}

async fn empty_id(t: &TestedServer) -> Check {
    let name = t.create("emptyid", json!({})).await?;
    let items = t
        .items(
            &format!("/{name}/_bulk"),
            "{\"index\":{\"_id\":\"\"}}\n{}\n{\"create\":{\"_id\":\"\"}}\n{}\n{\"index\":{}}\n{}\n",
        )
        .await?;
    statuses(&items, &[400, 400, 201])?;
    equal("reason", &items[0]["error"]["reason"], json!("if _id is specified it must not be empty"))
}

async fn missing_index(t: &TestedServer) -> Check {
    refused(&t.bulk("/_bulk", "{\"index\":{}}\n{}\n").await?, "action_request_validation_exception", "index is missing")
}

async fn update_with_version(t: &TestedServer) -> Check {
    let name = t.create("updver", json!({})).await?;
    let reply = t.bulk(&format!("/{name}/_bulk"), "{\"update\":{\"_id\":\"1\",\"version\":3}}\n{\"doc\":{}}\n").await?;
    refused(&reply, "illegal_argument_exception", "Update requests do not support versioning")
}

async fn create_with_external_version(t: &TestedServer) -> Check {
    let name = t.create("crver", json!({})).await?;
    let reply = t
        .bulk(
            &format!("/{name}/_bulk"),
            "{\"create\":{\"_id\":\"1\",\"version\":3,\"version_type\":\"external\"}}\n{}\n",
        )
        .await?;
    refused(&reply, "action_request_validation_exception", "create operations only support internal versioning")
}

async fn version_without_type(t: &TestedServer) -> Check {
    let name = t.create("vertype", json!({})).await?;
    let reply = t.bulk(&format!("/{name}/_bulk"), "{\"index\":{\"_id\":\"1\",\"version\":3}}\n{}\n").await?;
    refused(
        &reply,
        "action_request_validation_exception",
        "internal versioning can not be used for optimistic concurrency control",
    )
}

async fn unreadable_update(t: &TestedServer) -> Check {
    let name = t.create("badupd", json!({})).await?;
    let path = format!("/{name}/_bulk");
    let good = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"update\":{\"_id\":\"1\"}}\n";
    refused(
        &t.bulk(&path, &format!("{good}{{\"dox\":{{}}}}\n")).await?,
        "x_content_parse_exception",
        "[UpdateRequest] unknown field [dox]",
    )?;
    refused(
        &t.bulk(&path, &format!("{good}{{}}\n")).await?,
        "action_request_validation_exception",
        "script or doc is missing",
    )?;
    expect_status(&t.bulk(&path, &format!("{good}{{\"doc\":{{\"n\":\n")).await?, 400)
}

async fn invalid_document(t: &TestedServer) -> Check {
    let name = t.create("badjson", json!({})).await?;
    let documents = ["{\"n\":1", "[1]", "\"x\"", "{\"n\":1} x", "", "{\"\":1}", "{\"a..b\":1}", "{\"n\":2}"];
    let body: String = documents.iter().map(|document| format!("{{\"index\":{{}}}}\n{document}\n")).collect();
    let items = t.items(&format!("/{name}/_bulk"), &body).await?;
    statuses(&items, &[400, 400, 400, 400, 400, 400, 400, 201])?;
    let kinds: Vec<&str> = error_types(&items)[..7].to_vec();
    holds("error types", kinds.iter().all(|kind| *kind == t.flavor.mapper_error_type()), format!("{kinds:?}"))
}

async fn duplicate_field(t: &TestedServer) -> Check {
    let name = t.create("dup", json!({})).await?;
    let items = t.items(&format!("/{name}/_bulk"), "{\"index\":{}}\n{\"n\":1,\"n\":2}\n").await?;
    statuses(&items, &[400])
}

async fn same_id_twice(t: &TestedServer) -> Check {
    let name = t.create("twice", json!({})).await?;
    let lines = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_id\":\"1\"}}\n{\"n\":2}\n{\"delete\":{\"_id\":\"1\"}}\n{\"create\":{\"_id\":\"1\"}}\n{\"n\":3}\n{\"update\":{\"_id\":\"1\"}}\n{\"doc\":{\"m\":4}}\n";
    let items = t.items(&format!("/{name}/_bulk"), lines).await?;
    statuses(&items, &[201, 200, 200, 201, 200])?;
    equal("versions", &json!(field(&items, "_version")), json!([1, 2, 3, 4, 5]))?;
    equal("source", &t.get(&format!("/{name}/_doc/1")).await?["_source"], json!({"n": 3, "m": 4}))
}

async fn null_and_number_ids(t: &TestedServer) -> Check {
    let name = t.create("ids", json!({})).await?;
    let lines = "{\"index\":{\"_id\":null}}\n{}\n{\"index\":{\"_id\":7}}\n{}\n{\"index\":{\"_id\":\"r\",\"routing\":\"\"}}\n{}\n";
    let items = t.items(&format!("/{name}/_bulk"), lines).await?;
    statuses(&items, &[201, 201, 201])?;
    holds("generated id", items[0]["_id"].as_str().is_some_and(|id| id.len() == 20), &items[0])?;
    equal("number", &items[1]["_id"], json!("7"))?;
    equal("no routing", &t.get(&format!("/{name}/_doc/r")).await?["_routing"], json!(null))
}

async fn gzip_and_deflate(t: &TestedServer) -> Check {
    let name = t.create("gzip", json!({})).await?;
    let path = format!("/{name}/_bulk");
    let plain = b"{\"index\":{}}\n{\"n\":1}\n";
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(plain).map_err(|error| error.to_string())?;
    let gzip = gzip.finish().map_err(|error| error.to_string())?;
    let mut deflate = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflate.write_all(plain).map_err(|error| error.to_string())?;
    let deflate = deflate.finish().map_err(|error| error.to_string())?;
    for (coding, body) in [("gzip", gzip), ("deflate", deflate)] {
        let reply = t.send("POST", &path, &[("content-encoding", coding)], body).await?;
        expect_status(&reply, 200)?;
        equal(coding, &reply.json()["errors"], json!(false))?;
    }
    Ok(())
}

async fn packed_reply(t: &TestedServer) -> Check {
    let name = t.create("packed", json!({})).await?;
    let headers = [("accept-encoding", "gzip")];
    let reply = t.send("POST", &format!("/{name}/_bulk"), &headers, "{\"index\":{}}\n{\"n\":1}\n".repeat(100)).await?;
    expect_status(&reply, 200)?;
    let coding = reply.headers.get("content-encoding").and_then(|coding| coding.to_str().ok());
    holds("its coding", coding == Some("gzip"), json!(coding))?;
    let mut text = String::new();
    GzDecoder::new(&reply.body[..]).read_to_string(&mut text).map_err(|error| error.to_string())?;
    let reply: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    equal("items", &json!(reply["items"].as_array().map(Vec::len)), json!(100))
}

async fn plain_ndjson(t: &TestedServer) -> Check {
    let name = t.create("media", json!({})).await?;
    let path = format!("/{name}/_bulk");
    let body = "{\"index\":{}}\n{\"n\":1}\n";
    for (media, status) in [("application/x-ndjson", 200), ("application/json", 200), ("text/plain", 406)] {
        let reply = t.send("POST", &path, &[("content-type", media)], body).await?;
        expect_status(&reply, status).map_err(|error| format!("{media}: {error}"))?;
    }
    Ok(())
}
