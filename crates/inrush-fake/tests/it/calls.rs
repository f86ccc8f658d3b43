//! The state of the fake cluster, as a test reads and changes it.

use inrush_fake::{FakeCluster, FakeConfig, Fault, Flavor, Rule};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

async fn start(config: FakeConfig) -> (FakeCluster, Client) {
    let fake = FakeCluster::start(config).await.expect("start");
    let client = Client::new(&fake.url()).expect("url");
    (fake, client)
}

#[tokio::test]
async fn calls_are_answered_without_faults_and_without_a_log() {
    let (fake, client) = start(FakeConfig::default().faults(Rule::new(Fault::Unavailable).path("/"))).await;
    assert_eq!(client.json("GET", "/", Value::Null).await.expect("reply").status, 503);
    assert_eq!(fake.faults_applied(), 1);
    fake.clear_requests();
    fake.call("PUT", "/docs", json!({"mappings": {"properties": {"n": {"type": "long"}}}})).expect("created");
    fake.call("PUT", "/docs/_doc/1?routing=r", json!({"n": 1})).expect("written");
    let document = fake.document("docs", "1").expect("document");
    assert_eq!((document.version, document.routing.as_deref(), document.json()), (1, Some("r"), json!({"n": 1})));
    assert_eq!(fake.call("GET", "/docs/_count", Value::Null), Ok(json!({"count": 0, "_shards": document_shards()})));
    assert_eq!(fake.mapping("docs")["properties"]["n"]["type"], "long");
    assert_eq!((fake.requests().len(), fake.faults_applied()), (0, 1));
}

fn document_shards() -> Value {
    json!({"total": 1, "successful": 1, "skipped": 0, "failed": 0})
}

#[tokio::test]
async fn refused_calls_carry_the_error_of_the_server() {
    let (fake, _) = start(FakeConfig::default().flavor(Flavor::elasticsearch_8())).await;
    let missing = fake.call("GET", "/docs/_count", Value::Null).expect_err("no index");
    assert_eq!((missing.status(), missing.kind()), (404, "index_not_found_exception"));
    assert_eq!(missing.to_string(), "404 index_not_found_exception: no such index [docs]");
    let unknown = fake.call("GET", "/docs/_nothing/at/all", Value::Null).expect_err("no endpoint");
    assert_eq!((unknown.status(), unknown.kind()), (400, ""));
    assert!(unknown.reason().starts_with("no handler found for uri [/docs/_nothing/at/all]"), "{unknown}");
    assert_eq!(fake.call("no method", "/", Value::Null).expect_err("no method").status(), 400);
    assert_eq!(fake.call("PUT", "/_alias", json!([1])).expect_err("no endpoint").status(), 400);
    fake.call("PUT", "/docs", Value::Null).expect("created");
    assert_eq!(fake.call("PUT", "/docs/_alias/a", json!([1])).expect_err("no object").status(), 400);
    let window = json!({"from": u64::MAX, "size": 1});
    assert_eq!(fake.call("POST", "/docs/_search", window).expect_err("too far").status(), 400);
}

#[tokio::test]
async fn indices_aliases_and_settings_are_shown_and_changed() {
    let (fake, _) = start(FakeConfig::default()).await;
    fake.call("PUT", "/a", json!({"aliases": {"both": {}}})).expect("created");
    fake.call("PUT", "/b", json!({"aliases": {"both": {"is_write_index": true}}})).expect("created");
    assert_eq!(fake.indices(), ["a", "b"]);
    assert_eq!(fake.aliases("b"), json!({"both": {"is_write_index": true}}));
    assert_eq!(fake.aliases("c"), Value::Null);
    fake.call("PUT", "/both/_doc/1", json!({})).expect("written");
    assert_eq!((fake.documents("both").len(), fake.documents("a").len()), (1, 0));
    let uuid = fake.index_uuid("a");
    fake.call("DELETE", "/a", Value::Null).expect("deleted");
    assert_eq!(fake.index_uuid("a"), None);
    fake.call("PUT", "/a", Value::Null).expect("created");
    assert_ne!(fake.index_uuid("a"), uuid);
    assert!(fake.set_setting("a", "index.blocks.write", Some("true")));
    assert_eq!(fake.call("PUT", "/a/_doc/1", json!({})).expect_err("blocked").status(), 403);
    assert!(fake.set_setting("a", "index.blocks.write", None));
    assert_eq!(fake.setting("a", "index.blocks.write"), None);
    assert!(!fake.set_setting("none", "index.blocks.write", None));
    fake.refuse_settings(["index.refresh_interval"]);
    let refused = fake.call("PUT", "/a/_settings", json!({"refresh_interval": "5s"})).expect_err("refused");
    assert!(refused.reason().contains("told to refuse [index.refresh_interval]"), "{refused}");
    fake.deny_index("b*");
    assert_eq!(fake.call("PUT", "/b/_doc/1", json!({})).expect_err("denied").kind(), "security_exception");
}

#[tokio::test]
async fn data_streams_show_their_backing_indices() {
    let (fake, _) = start(FakeConfig::default()).await;
    let template = json!({"index_patterns": ["logs*"], "data_stream": {}});
    fake.call("PUT", "/_index_template/t", template).expect("template");
    fake.call("PUT", "/_data_stream/logs", Value::Null).expect("stream");
    fake.call("POST", "/logs/_rollover", Value::Null).expect("rollover");
    assert_eq!(fake.backing_indices("logs"), [".ds-logs-000001", ".ds-logs-000002"]);
    assert!(fake.backing_indices("none").is_empty());
}

#[tokio::test]
async fn set_replies_replace_those_of_the_fake() {
    let (fake, client) = start(FakeConfig::default()).await;
    fake.set_reply("/_cluster/health", 200, json!({"status": "red"}));
    let health =
        async || client.json("GET", "/_cluster/health?level=indices", Value::Null).await.expect("reply").json();
    assert_eq!(health().await, json!({"status": "red"}));
    fake.remove_reply("/_cluster/health");
    assert_eq!(health().await["status"], "green");
    fake.set_data_nodes(2);
    assert_eq!(health().await["number_of_data_nodes"], 2);
}

#[tokio::test]
async fn a_crash_loses_unflushed_writes_of_async_indices() {
    let (fake, client) = start(FakeConfig::default()).await;
    fake.call("PUT", "/docs", json!({"settings": {"translog.durability": "async"}})).expect("created");
    let body = |id: &str| format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{{}}\n");
    client.bulk("/docs/_bulk", body("1")).await.expect("reply");
    fake.call("POST", "/docs/_flush", Value::Null).expect("flushed");
    client.bulk("/docs/_bulk", body("2")).await.expect("reply");
    assert_eq!(fake.unsynced_writes("docs"), 1);
    assert_eq!((fake.crash(), fake.unsynced_writes("docs")), (1, 0));
    assert_eq!(fake.documents("docs").iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["1"]);
}

#[tokio::test]
async fn points_in_time_can_be_expired() {
    let (fake, _) = start(FakeConfig::default()).await;
    fake.call("PUT", "/docs", Value::Null).expect("created");
    let opened = fake.call("POST", "/docs/_search/point_in_time?keep_alive=1m", Value::Null).expect("opened");
    assert_eq!(fake.points_in_time(), 1);
    let search = json!({"pit": {"id": opened["pit_id"]}});
    fake.call("POST", "/_search", search.clone()).expect("found");
    fake.expire_points_in_time();
    assert_eq!(fake.call("POST", "/_search", search).expect_err("expired").kind(), "search_context_missing_exception");
}

#[test]
fn secrets_are_not_shown() {
    let auth = inrush_fake::Auth::Basic { user: "elastic".into(), password: "changeme".into() };
    let shown = format!("{auth:?} {:?}", FakeConfig::default().auth(auth.clone()));
    assert!(shown.contains("elastic") && !shown.contains("changeme"), "{shown}");
}
