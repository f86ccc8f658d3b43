//! The null server counts documents, and answers a preflight and a verification.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use inrush_fake::{NullServer, ReplyKind};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

fn body(documents: usize) -> String {
    "{\"index\":{}}\n{\"n\":1}\n".repeat(documents)
}

#[tokio::test]
async fn documents_are_counted_in_every_form() {
    let server = NullServer::start(0, ReplyKind::Items).expect("start");
    let client = Client::new(&server.url()).expect("url");
    assert_eq!(client.json("GET", "/", Value::Null).await.expect("root").json()["version"]["number"], "3.6.0");
    assert_eq!(client.json("HEAD", "/a", Value::Null).await.expect("missing").status, 404);
    assert_eq!(client.json("PUT", "/a", json!({"mappings": {"_meta": {"x": 1}}})).await.expect("create").status, 200);
    assert_eq!(
        client.json("GET", "/a/_mapping", Value::Null).await.expect("mapping").json()["a"]["mappings"]["_meta"],
        json!({"x": 1})
    );

    // More bytes than one buffer, and more items than the prepared ones.
    let path = "/a/_bulk?filter_path=took,errors,items.*.status,items.*._index";
    let reply = client.bulk(path, body(50_000)).await.expect("reply").json();
    let items = reply["items"].as_array().expect("items");
    assert_eq!(items.len(), 50_000);
    assert_eq!(items[49_999], json!({"index": {"_index": "a", "status": 201}}));
    let summary = client.bulk("/a/_bulk?filter_path=took,errors", body(10)).await.expect("reply").json();
    assert_eq!(summary, json!({"took": 0, "errors": false}));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(body(7).as_bytes()).expect("gzip");
    let gzip = gzip.finish().expect("gzip");
    let reply = client.send("POST", "/a/_bulk", &[("content-encoding", "gzip")], gzip).await.expect("reply").json();
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(7));
    let smile = b":)\n\x01\xff:)\n\x01\xff".repeat(3);
    let reply =
        client.send("POST", "/a/_bulk", &[("content-type", "application/smile")], smile).await.expect("reply").json();
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(3));

    let deletes = "{\"delete\":{\"_id\":\"1\"}}\n".repeat(4);
    let reply = client.bulk("/b/_bulk", deletes).await.expect("reply").json();
    assert_eq!(reply["items"].as_array().map(Vec::len), Some(4));

    let refused = client.bulk("/a/_bulk", body(1).trim_end().to_owned()).await.expect("reply");
    assert_eq!(refused.status, 400);

    client.json("POST", "/a/_refresh", Value::Null).await.expect("refresh");
    let count = client.json("GET", "/a/_count", Value::Null).await.expect("count").json()["count"].clone();
    assert_eq!(count, 50_000 + 10 + 7 + 3);
    let stats = server.stats();
    // Deletes are no documents.
    assert_eq!((stats.docs, stats.requests), (50_020, 6));
    assert_eq!(client.json("GET", "/_null/stats", Value::Null).await.expect("stats").json()["docs"], 50_020);
    server.stop();
}

#[tokio::test]
async fn summaries_have_no_items() {
    let server = NullServer::start(0, ReplyKind::Summary).expect("start");
    let client = Client::new(&server.url()).expect("url");
    assert_eq!(client.bulk("/a/_bulk", body(3)).await.expect("reply").json(), json!({"took": 0, "errors": false}));
    assert_eq!(server.stats().docs, 3);
    server.stop();
}

#[tokio::test]
async fn a_server_that_is_away_keeps_its_indices_and_counts() {
    let server = NullServer::start(0, ReplyKind::Items).expect("start");
    let client = Client::new(&server.url()).expect("url");
    assert_eq!(client.json("PUT", "/a", Value::Null).await.expect("create").status, 200);
    client.bulk("/a/_bulk", body(5)).await.expect("reply");
    let uuid = async |client: &Client| {
        client.json("GET", "/a/_settings", Value::Null).await.ok().map(|reply| reply.json()["a"]["settings"].clone())
    };
    let before = uuid(&client).await.expect("settings");
    assert_eq!(client.json("POST", "/_null/away?seconds=x", Value::Null).await.expect("refusal").status, 400);
    assert_eq!(client.json("POST", "/_null/away?seconds=1", Value::Null).await.expect("away").status, 200);
    // Requests fail until it is back.
    let mut failures = 0;
    let after = loop {
        match uuid(&client).await {
            Some(settings) => break settings,
            None => failures += 1,
        }
    };
    assert!(failures > 0);
    assert_eq!(after, before);
    assert_eq!(server.stats().docs, 5);
    server.stop();
}
