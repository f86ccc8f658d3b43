//! Faults, nodes and options of the fake cluster.

use inrush_fake::{Auth, FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_testbed::client::{Client, NoReply, Reply};
use serde_json::{Value, json};

const TWO: &str = "{\"index\":{\"_index\":\"a\",\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_index\":\"a\",\"_id\":\"2\"}}\n{\"n\":2}\n";

async fn start(config: FakeConfig) -> (FakeCluster, Client) {
    let cluster = FakeCluster::start(config).await.expect("start");
    let client = Client::new(&cluster.url()).expect("url");
    (cluster, client)
}

async fn with(rule: Rule) -> (FakeCluster, Client) {
    start(FakeConfig::default().faults(rule)).await
}

fn statuses(reply: &Reply) -> Vec<u64> {
    let body = reply.json();
    let items = body["items"].as_array().cloned().unwrap_or_default();
    items.iter().filter_map(|item| item.as_object()?.values().next()?["status"].as_u64()).collect()
}

#[tokio::test]
async fn documents_arrive_and_are_logged() {
    let (cluster, client) = start(FakeConfig::default()).await;
    let reply = client
        .send("POST", "/_bulk?filter_path=took,errors,items.*.status", &[("x-opaque-id", "o1")], TWO)
        .await
        .expect("reply");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["x-opaque-id"], "o1");
    assert_eq!(statuses(&reply), [201, 201]);
    let documents = cluster.documents("a");
    assert_eq!(
        documents.iter().map(|one| (one.id.as_str(), &one.source[..])).collect::<Vec<_>>(),
        [("1", &b"{\"n\":1}"[..]), ("2", b"{\"n\":2}")]
    );
    let log = cluster.bulk_requests();
    assert_eq!(log.len(), 1);
    assert_eq!(
        (log[0].status, log[0].items, log[0].body_bytes, log[0].opaque_id.as_deref()),
        (200, 2, TWO.len(), Some("o1"))
    );
    cluster.shutdown().await;
}

#[tokio::test]
async fn item_faults_answer_items_and_spare_the_others() {
    for (fault, status, kind) in [
        (Fault::ItemRejected, 429, "rejected_execution_exception"),
        (Fault::ItemUnavailable, 503, "unavailable_shards_exception"),
        (Fault::ItemFloodStage, 429, "cluster_block_exception"),
        (Fault::ItemWriteBlock, 403, "cluster_block_exception"),
        (Fault::ItemIndexGone, 404, "index_not_found_exception"),
        (Fault::ItemBadRequest, 400, "mapper_parsing_exception"),
        (Fault::ItemConflict, 409, "version_conflict_engine_exception"),
    ] {
        let (cluster, client) = with(Rule::new(fault).ids(["2"]).first(1)).await;
        let reply = client.bulk("/_bulk", TWO).await.expect("reply");
        assert_eq!((reply.status, statuses(&reply)), (200, vec![201, status]), "{fault:?}");
        assert_eq!(reply.json()["errors"], true);
        assert_eq!(reply.json()["items"][1]["index"]["error"]["type"], kind);
        assert_eq!(cluster.documents("a").len(), 1, "{fault:?}");
        assert_eq!(statuses(&client.bulk("/_bulk", TWO).await.expect("reply")), [200, 201], "{fault:?}");
    }
}

#[tokio::test]
async fn a_rule_brings_its_own_error() {
    let json =
        r#"{"rules": [{"fault": "item_refused", "ids": ["2"], "error": [404, "shard_not_found_exception", "no"]}]}"#;
    let (cluster, client) = with(Rule::new(Fault::RequestRefused).error(418, "teapot", "short").first(1)).await;
    let reply = client.bulk("/_bulk", TWO).await.expect("reply");
    assert_eq!((reply.status, &reply.json()["error"]["type"]), (418, &"teapot".into()));
    cluster.set_faults(json.parse::<Faults>().expect("script"));
    let reply = client.bulk("/_bulk", TWO).await.expect("reply");
    assert_eq!(statuses(&reply), [201, 404]);
    assert_eq!(reply.json()["items"][1]["index"]["error"]["type"], "shard_not_found_exception");
}

#[tokio::test]
async fn request_faults_apply_nothing() {
    for (fault, status) in [
        (Fault::RequestRejected, 429),
        (Fault::RequestTooLarge, 413),
        (Fault::RequestBadRequest, 400),
        (Fault::RequestUnauthorized, 401),
        (Fault::RequestForbidden, 403),
        (Fault::BadGateway, 502),
        (Fault::Unavailable, 503),
        (Fault::GatewayTimeout, 504),
        (Fault::BreakerPermanent, 429),
        (Fault::BreakerTransient, 429),
    ] {
        let (cluster, client) = with(Rule::new(fault).first(1)).await;
        assert_eq!(client.bulk("/_bulk", TWO).await.expect("reply").status, status, "{fault:?}");
        assert!(cluster.documents("a").is_empty(), "{fault:?}");
        assert_eq!(client.bulk("/_bulk", TWO).await.expect("reply").status, 200, "{fault:?}");
    }
}

#[tokio::test]
async fn a_breaker_tells_its_durability() {
    let (_cluster, client) = with(Rule::new(Fault::BreakerPermanent)).await;
    let error = &client.bulk("/_bulk", TWO).await.expect("reply").json()["error"];
    assert_eq!((&error["type"], &error["durability"]), (&json!("circuit_breaking_exception"), &json!("PERMANENT")));
}

#[tokio::test]
async fn resets_leave_no_reply_and_tell_what_was_applied() {
    for (fault, applied) in
        [(Fault::ResetBeforeBody, 0), (Fault::ResetBeforeApplying, 0), (Fault::ResetAfterApplying, 2)]
    {
        let (cluster, client) = with(Rule::new(fault).first(1)).await;
        client.bulk("/_bulk", TWO).await.expect_err("no reply");
        assert_eq!(cluster.documents("a").len(), applied, "{fault:?}");
        assert_eq!(cluster.bulk_requests()[0].status, 0);
        assert_eq!(client.bulk("/_bulk", TWO).await.expect("reply").status, 200, "{fault:?}");
        assert_eq!(cluster.document("a", "1").map(|one| one.version), Some(1 + applied as i64 / 2));
    }
}

#[tokio::test]
async fn spoilt_replies_come_after_applying() {
    let spoilt = async |fault: Fault| -> (Result<Reply, NoReply>, usize) {
        let (cluster, client) = with(Rule::new(fault)).await;
        let reply = client.bulk("/_bulk", TWO).await;
        (reply, cluster.documents("a").len())
    };
    let (reply, applied) = spoilt(Fault::ReplyTruncated).await;
    assert!(reply.expect_err("cut off").to_string().contains("reply cut off"));
    assert_eq!(applied, 2);
    let (reply, applied) = spoilt(Fault::ReplyNotJson).await;
    assert_eq!((reply.expect("reply").json(), applied), (Value::Null, 2));
    let (reply, applied) = spoilt(Fault::ReplyItemMissing).await;
    assert_eq!((statuses(&reply.expect("reply")).len(), applied), (1, 2));
    let (reply, applied) = spoilt(Fault::ReplyItemExtra).await;
    assert_eq!((statuses(&reply.expect("reply")).len(), applied), (3, 2));
    let (reply, applied) = spoilt(Fault::GatewayTimeoutAfterApplying).await;
    assert_eq!((reply.expect("reply").status, applied), (504, 2));
    let (reply, applied) = spoilt(Fault::Slow).await;
    assert_eq!((statuses(&reply.expect("reply")), applied), (vec![201, 201], 2));
}

#[tokio::test]
async fn held_requests_stay_in_tasks_until_they_are_released() {
    for (fault, applied) in [(Fault::HoldBeforeApplying, 0), (Fault::HoldAfterApplying, 2)] {
        let (cluster, client) = with(Rule::new(fault).first(1)).await;
        let sent = {
            let client = client.clone();
            tokio::spawn(async move { client.send("POST", "/_bulk", &[("x-opaque-id", "job-7")], TWO).await })
        };
        cluster.wait_for_held(1).await;
        let held = client.json("GET", "/_fake/held", Value::Null).await.expect("held").json();
        assert_eq!(held, json!({"held": 1}));
        assert_eq!(cluster.documents("a").len(), applied, "{fault:?}");
        let tasks = async || {
            client
                .json("GET", "/_tasks?actions=*bulk*&group_by=none&detailed", Value::Null)
                .await
                .expect("tasks")
                .json()
        };
        assert_eq!(tasks().await["tasks"][0]["headers"]["X-Opaque-Id"], "job-7");
        cluster.release_held();
        assert_eq!(sent.await.expect("task").expect("reply").status, 200);
        assert_eq!(tasks().await, json!({"tasks": []}));
        assert_eq!(cluster.documents("a").len(), 2);
    }
}

#[tokio::test]
async fn a_held_request_is_applied_though_its_client_is_gone() {
    let (cluster, client) = with(Rule::new(Fault::HoldBeforeApplying).first(1)).await;
    let sent = {
        let client = client.clone();
        tokio::spawn(async move { client.bulk("/_bulk", TWO).await })
    };
    cluster.wait_for_held(1).await;
    sent.abort();
    let _ = sent.await;
    cluster.release_held();
    while cluster.documents("a").is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(cluster.documents("a").len(), 2);
}

#[tokio::test]
async fn a_killed_node_refuses_connections_until_it_is_revived() {
    let (cluster, client) = start(FakeConfig::default().nodes(2)).await;
    let second = Client::new(&cluster.urls()[1]).expect("url");
    assert_eq!(second.bulk("/_bulk", TWO).await.expect("reply").status, 200);
    cluster.nodes()[1].kill().await;
    assert!(second.bulk("/_bulk", TWO).await.expect_err("refused").to_string().contains("not connected"));
    assert_eq!(statuses(&client.bulk("/_bulk", TWO).await.expect("reply")), [200, 200]);
    cluster.nodes()[1].revive().await.expect("same port");
    assert_eq!(statuses(&second.bulk("/_bulk", TWO).await.expect("reply")), [200, 200]);
}

#[tokio::test]
async fn what_a_killed_node_held_is_never_applied() {
    let (cluster, client) = with(Rule::new(Fault::HoldBeforeApplying)).await;
    let sent = tokio::spawn(async move { client.bulk("/_bulk", TWO).await });
    cluster.wait_for_held(1).await;
    cluster.nodes()[0].kill().await;
    sent.await.expect("task").expect_err("reset");
    cluster.release_held();
    while cluster.held() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(cluster.documents("a").is_empty());
}

#[tokio::test]
async fn credentials_and_signatures_are_checked() {
    let auth = Auth::Basic { user: "elastic".into(), password: "secret".into() };
    let (cluster, client) = start(FakeConfig::default().auth(auth.clone())).await;
    let refused = client.bulk("/_bulk", TWO).await.expect("reply");
    assert_eq!((refused.status, refused.headers.contains_key("www-authenticate")), (401, true));
    let allowed = client.clone().with_authorization(Some(auth.header())).bulk("/_bulk", TWO).await.expect("reply");
    assert_eq!(allowed.status, 200);
    assert_eq!(cluster.requests().iter().map(|one| one.authorized).collect::<Vec<_>>(), [false, true]);

    let config = FakeConfig::default().verify(|parts, body| {
        let signed =
            parts.headers.get("x-signature").is_some_and(|value| value.as_bytes() == body.len().to_string().as_bytes());
        if signed { Ok(()) } else { Err("The request signature we calculated does not match".to_owned()) }
    });
    let (_cluster, client) = start(config).await;
    let refused = client.bulk("/_bulk", TWO).await.expect("reply");
    assert_eq!(
        (refused.status, &refused.json()["message"]),
        (403, &json!("The request signature we calculated does not match"))
    );
    let length = TWO.len().to_string();
    assert_eq!(client.send("POST", "/_bulk", &[("x-signature", &length)], TWO).await.expect("reply").status, 200);
}

#[tokio::test]
async fn bodies_beyond_the_limit_are_answered_with_413() {
    let (cluster, client) = start(FakeConfig::default().max_content_length_bytes(TWO.len())).await;
    assert_eq!(client.bulk("/_bulk", TWO).await.expect("reply").status, 200);
    assert_eq!(client.bulk("/_bulk", format!("{TWO}\n")).await.expect("reply").status, 413);
    assert_eq!(cluster.bulk_requests().iter().map(|one| one.status).collect::<Vec<_>>(), [200, 413]);
}

#[tokio::test]
async fn denied_indices_and_the_failure_store_answer_items() {
    let config =
        FakeConfig::default().flavor(Flavor::elasticsearch_8()).denied_indices(["secret*"]).failure_store(true);
    let (_cluster, client) = start(config).await;
    let body = "{\"index\":{\"_index\":\"secrets\"}}\n{}\n{\"index\":{\"_index\":\"open\"}}\n{}\n";
    assert_eq!(statuses(&client.bulk("/_bulk", body).await.expect("reply")), [403, 201]);
    let template = json!({"index_patterns": ["ds-*"], "data_stream": {}});
    assert_eq!(client.json("PUT", "/_index_template/t", template).await.expect("reply").status, 200);
    let body = "{\"create\":{}}\n{\"@timestamp\":\"2024-01-01T00:00:00Z\"}\n{\"create\":{}}\n{\"n\":1}\n";
    let items = client.bulk("/ds-x/_bulk", body).await.expect("reply").json()["items"].clone();
    assert_eq!((&items[1]["create"]["status"], &items[1]["create"]["failure_store"]), (&json!(201), &json!("used")));
    assert!(items[1]["create"]["_index"].as_str().is_some_and(|name| name.starts_with(".fs-ds-x-")));
}

#[tokio::test]
async fn scripts_can_be_set_over_http() {
    let (_cluster, client) = start(FakeConfig::default()).await;
    let script = json!({"seed": 3, "rules": [{"fault": "request_rejected", "every_nth": 2}]});
    assert_eq!(client.json("POST", "/_fake/faults", script).await.expect("reply").status, 200);
    assert_eq!(client.bulk("/_bulk", TWO).await.expect("reply").status, 200);
    assert_eq!(client.bulk("/_bulk", TWO).await.expect("reply").status, 429);
    assert_eq!(
        client.json("POST", "/_fake/faults", json!({"rules": [{"fault": "nope"}]})).await.expect("reply").status,
        400
    );
    let requests = async || client.json("GET", "/_fake/requests", Value::Null).await.expect("reply").json();
    assert_eq!(requests().await["requests"][1]["status"], 429);
    assert_eq!(client.json("DELETE", "/_fake/requests", Value::Null).await.expect("reply").status, 200);
    assert_eq!(requests().await, json!({"requests": []}));
}

#[tokio::test]
async fn a_server_may_refuse_its_root() {
    for status in [403, 405] {
        let (_cluster, client) = start(FakeConfig::default().root_status(status)).await;
        assert_eq!(client.json("GET", "/", Value::Null).await.expect("reply").status, status);
        let nodes =
            client.json("GET", "/_nodes/_local?filter_path=nodes.*.version", Value::Null).await.expect("reply").json();
        assert_eq!(
            nodes["nodes"].as_object().and_then(|nodes| nodes.values().next().cloned()),
            Some(json!({"version": "3.6.0"}))
        );
    }
}
