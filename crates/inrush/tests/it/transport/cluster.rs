//! The questions to the cluster, asked of the fake one, and of servers that answer as gateways do.

use std::time::Duration;

use http::Method;
use inrush_cluster::api::documents::{DocumentKey, mget};
use inrush_cluster::api::index;
use inrush_cluster::api::index::{CreateIndex, Created};
use inrush_cluster::api::{
    ClusterError, Needs, Preflight, Product, TargetKind, Version, members, preflight, product, stats, tasks,
};
use inrush_cluster::transport::{Credentials, HttpErrorKind, HttpOptions, Request, Secret, Transport};
use inrush_core::Action;
use inrush_core::retry::RetryPolicy;
use inrush_fake::{Auth, FakeCluster, FakeConfig, Fault, Flavor, Rule};
use serde_json::{Value, json};

use super::server::{Act, Server, nobody};

fn transport_to(urls: &[String], credentials: Credentials) -> Transport {
    let transport = Transport::new(urls, credentials, &HttpOptions::default()).unwrap();
    transport.with_retries(RetryPolicy::brief(3, Duration::ZERO))
}

async fn fake(config: FakeConfig) -> (FakeCluster, Transport) {
    let cluster = FakeCluster::start(config).await.unwrap();
    let transport = transport_to(&cluster.urls(), Credentials::None);
    (cluster, transport)
}

async fn put(transport: &Transport, path: &str, body: Value) {
    let (status, answer) = transport.put_json(path, &body).await.unwrap();
    assert_eq!(status, 200, "{path}: {answer}");
}

async fn bulk(transport: &Transport, body: &str) {
    let mut request = Request::new(Method::POST, "/_bulk");
    request.headers.insert("content-type", "application/x-ndjson".parse().unwrap());
    request.headers.insert("x-opaque-id", "run-7".parse().unwrap());
    request.body = vec![body.to_owned().into()];
    let response = transport.request(&request).await.result.unwrap();
    assert_eq!(response.status, 200);
    let answer: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(answer["errors"], json!(false), "{answer}");
}

fn needs(index: &str) -> Needs {
    Needs { index: Some(index.into()), ..Needs::default() }
}

async fn refusal(transport: &Transport, needs: Needs) -> String {
    preflight(transport, &needs).await.unwrap_err().to_string()
}

#[tokio::test]
async fn product_and_version_are_told_also_where_the_root_is_not_answered() {
    for (flavor, product, version) in [
        (Flavor::opensearch_3(), Product::OpenSearch, Version::new(3, 6, 0)),
        (Flavor::new(inrush_fake::Product::Elasticsearch, "8.19.21"), Product::Elasticsearch, Version::new(8, 19, 21)),
    ] {
        for root_status in [200, 405, 403] {
            let (_cluster, transport) =
                fake(FakeConfig::default().flavor(flavor.clone()).root_status(root_status)).await;
            let info = product::detect(&transport).await.unwrap();
            assert_eq!((info.product, info.version), (product, Some(version)), "{root_status}");
        }
    }
}

#[tokio::test]
async fn a_product_that_hides_is_unknown_and_something_else_is_refused() {
    let hidden = Server::start(|_, _| Act::json(404, "{}"));
    let info = product::detect(&transport_to(std::slice::from_ref(&hidden.url), Credentials::None)).await.unwrap();
    assert_eq!((info.product, info.version, info.incremental_bulk()), (Product::Unknown, None, true));

    for (status, body, expected) in [
        (200, "<html>welcome</html>", "not JSON"),
        (200, "{\"hello\":1}", "is this address Elasticsearch or OpenSearch?"),
        (404, "<html>not found</html>", "is a path prefix missing in the address, as in https://host/prefix"),
        (500, "{}", "refused with 500"),
    ] {
        let other = Server::start(move |_, _| Act::json(status, body));
        let error =
            product::detect(&transport_to(std::slice::from_ref(&other.url), Credentials::None)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_path_in_the_address_that_no_proxy_takes_away_is_named() {
    let cluster = FakeCluster::start(FakeConfig::default()).await.unwrap();
    for path in ["/app/kibana", "/app/kibana/", "/trips", "/_bulk", "/trips/_bulk", "/_cluster/health"] {
        let urls = [format!("{}{path}", cluster.url())];
        let error = product::detect(&transport_to(&urls, Credentials::None)).await.unwrap_err().to_string();
        let expected =
            format!("there is a path in the address, {}, which belongs there only", path.trim_end_matches('/'));
        assert!(error.contains(&expected), "{path}: {error}");
    }
    // A proxy that hides the product under a path.
    let hidden = Server::start(|_, _| Act::json(404, "{}"));
    let urls = [format!("{}/search", hidden.url)];
    assert_eq!(product::detect(&transport_to(&urls, Credentials::None)).await.unwrap().product, Product::Unknown);
}

#[tokio::test]
async fn indices_are_made_counted_and_deleted() {
    let (cluster, transport) = fake(FakeConfig::default()).await;
    let how = CreateIndex {
        settings: Some(json!({"index": {"refresh_interval": "30s", "number_of_shards": 1}})),
        mappings: Some(json!({"properties": {"a": {"type": "long"}}})),
        shards: Some(3),
        replicas: Some(0),
        ..CreateIndex::default()
    };
    assert!(!index::exists(&transport, "trips").await.unwrap());
    assert_eq!(index::create(&transport, "trips", &how).await.unwrap(), Created::New);
    assert_eq!(index::create(&transport, "trips", &how).await.unwrap(), Created::Existing);
    assert!(index::exists(&transport, "trips").await.unwrap());
    let target = index::resolve(&transport, "trips").await.unwrap();
    let info = target.write_index().unwrap();
    assert_eq!((info.shards, info.replicas, info.fields), (3, 0, 1));
    assert_eq!(info.refresh_interval.as_deref(), Some("30s"));
    assert!(!info.uuid.is_empty() && !target.is_data_stream());

    bulk(
        &transport,
        "{\"index\":{\"_index\":\"trips\",\"_id\":\"1\"}}\n{\"a\":1}\n{\"index\":{\"_index\":\"trips\"}}\n{\"a\":2}\n",
    )
    .await;
    let shards = stats::refresh(&transport, "trips").await.unwrap();
    assert_eq!((shards.total, shards.successful, shards.failed), (3, 3, 0));
    assert_eq!(stats::count(&transport, "trips").await.unwrap(), 2);
    assert_eq!(stats::flush(&transport, "trips").await.unwrap().failed, 0);
    assert_eq!(stats::stats(&transport, "trips").await.unwrap().docs, 2);

    assert!(index::delete(&transport, "trips").await.unwrap());
    assert!(!index::delete(&transport, "trips").await.unwrap());
    assert!(cluster.documents("trips").is_empty());
    let error = stats::count(&transport, "trips").await.unwrap_err();
    assert_eq!(error.status(), Some(404), "{error}");
}

#[tokio::test]
async fn what_the_server_does_not_take_is_told_in_its_words() {
    let (_cluster, transport) = fake(FakeConfig::default()).await;
    let error = index::create(&transport, "Trips", &CreateIndex::default()).await.unwrap_err();
    assert!(matches!(error, ClusterError::Target { .. }), "{error}");
    let how = CreateIndex { settings: Some(json!({"number_of_shards": "many"})), ..CreateIndex::default() };
    let error = index::create(&transport, "trips", &how).await.unwrap_err();
    assert_eq!(error.status(), Some(400), "{error}");
    assert!(error.to_string().starts_with("creating the index trips: refused with 400: "), "{error}");
}

#[tokio::test]
async fn aliases_and_data_streams_are_told() {
    let (_cluster, transport) = fake(FakeConfig::default()).await;
    put(&transport, "/trips-1", json!({"aliases": {"trips": {}}})).await;
    put(&transport, "/trips-2", json!({"aliases": {"trips": {"is_write_index": true}}})).await;
    put(&transport, "/a", json!({"aliases": {"both": {}}})).await;
    put(&transport, "/b", json!({"aliases": {"both": {}}})).await;
    let stream = json!({"index_patterns": ["logs-*"], "data_stream": {}, "priority": 200});
    put(&transport, "/_index_template/logs", stream).await;

    let alias = index::resolve(&transport, "trips").await.unwrap();
    assert!(matches!(&alias.kind, TargetKind::Alias { indices, filtered: false, .. } if indices.len() == 2));
    assert_eq!(alias.write_index().unwrap().name, "trips-2");
    let message = index::resolve(&transport, "both").await.unwrap_err().to_string();
    assert!(message.contains("without a write index"), "{message}");

    let coming = index::resolve(&transport, "logs-a").await.unwrap();
    assert!(coming.is_data_stream() && matches!(&coming.kind, TargetKind::Missing { .. }), "{coming:?}");
    bulk(&transport, "{\"create\":{\"_index\":\"logs-a\"}}\n{\"@timestamp\":\"2026-01-31T00:00:00Z\"}\n").await;
    let stream = index::resolve(&transport, "logs-a").await.unwrap();
    assert!(stream.is_data_stream());
    assert!(matches!(&stream.kind, TargetKind::DataStream { stream, .. } if stream == "logs-a"), "{stream:?}");
    let plain = index::resolve(&transport, "plain").await.unwrap();
    assert!(matches!(plain.kind, TargetKind::Missing { template: None, .. }));
}

#[tokio::test]
async fn documents_are_read_back() {
    let (_cluster, transport) = fake(FakeConfig::default()).await;
    bulk(&transport, "{\"index\":{\"_index\":\"t\",\"_id\":\"1\"}}\n{\"a\":1.5}\n{\"index\":{\"_index\":\"t\",\"_id\":\"2\",\"routing\":\"r\"}}\n{\"a\":2}\n").await;
    let key = |index: &str, id: &str, routing: Option<&str>| DocumentKey {
        index: index.into(),
        id: id.into(),
        routing: routing.map(str::to_owned),
    };
    let keys = [key("t", "1", None), key("t", "none", None), key("t", "2", Some("r")), key("missing", "1", None)];
    let found = mget(&transport, &keys).await.unwrap();
    let texts: Vec<Option<&str>> =
        found.iter().map(|found| found.as_ref()?.source.as_deref().map(|source| source.get())).collect();
    assert_eq!(texts, [Some(r#"{"a":1.5}"#), None, Some(r#"{"a":2}"#), None]);
    assert!(mget(&transport, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_request_under_way_is_seen_among_the_tasks() {
    let (cluster, transport) = fake(FakeConfig::default()).await;
    cluster.set_faults(Rule::new(Fault::HoldBeforeApplying));
    let sending = bulk(&transport, "{\"index\":{\"_index\":\"t\"}}\n{}\n");
    let listed = async || tasks::bulk_tasks(&transport).await.unwrap().unwrap();
    let asking = async {
        cluster.wait_for_held(1).await;
        let found = listed().await;
        assert!(found.complete && found.running.iter().eq(["run-7"]), "{found:?}");
        cluster.release_held();
    };
    tokio::join!(sending, asking);
    let found = listed().await;
    assert!(found.running.is_empty() && found.nodes.len() == 1, "{found:?}");
    let addresses = members::addresses(&transport).await.unwrap();
    assert!(!members::has_ended(addresses.values().next().unwrap()).await);
    cluster.nodes()[0].kill().await;
    assert!(members::has_ended(addresses.values().next().unwrap()).await);

    let without = Server::start(|_, _| Act::json(403, "{}"));
    let transport = transport_to(std::slice::from_ref(&without.url), Credentials::None);
    assert_eq!(tasks::bulk_tasks(&transport).await.unwrap(), None);
}

#[tokio::test]
async fn a_cluster_that_can_take_a_load_passes_the_preflight() {
    let (_cluster, transport) = fake(FakeConfig::default()).await;
    put(&transport, "/_ingest/pipeline/clean", json!({"processors": []})).await;
    put(&transport, "/trips", json!({"settings": {"final_pipeline": "clean"}})).await;
    let needs = Needs { pipeline: Some("clean".into()), bytes_expected: Some(1 << 30), ..needs("trips") };
    let Preflight { info, target, warnings, .. } = preflight(&transport, &needs).await.unwrap();
    assert_eq!(info.to_string(), "OpenSearch 3.6.0");
    assert!(matches!(target.unwrap().kind, TargetKind::Index(_)));
    assert_eq!(warnings, Vec::<String>::new());

    let several = preflight(&transport, &Needs::default()).await.unwrap();
    assert!(several.target.is_none());
}

#[tokio::test]
async fn what_would_spoil_the_load_is_found_before_it() {
    let (_cluster, transport) = fake(FakeConfig::default().disk_available_bytes(1 << 30)).await;
    put(&transport, "/blocked", json!({"settings": {"blocks.write": true}})).await;
    put(&transport, "/closed", json!({})).await;
    transport.post_json("/closed/_close", None).await.unwrap();
    put(&transport, "/piped", json!({"settings": {"default_pipeline": "gone"}})).await;
    let template = json!({"index_patterns": ["new-*"], "template": {"settings": {"default_pipeline": "gone", "final_pipeline": "lost"}}});
    put(&transport, "/_index_template/pipes", template).await;
    let legacy = json!({"index_patterns": ["old-*"], "settings": {"default_pipeline": "gone"}});
    put(&transport, "/_template/pipes", legacy).await;
    put(&transport, "/full", json!({"settings": {"index.mapping.total_fields.limit": 1}, "mappings": {"properties": {"a": {"type": "long"}}}})).await;
    put(&transport, "/behind", json!({"aliases": {"alias": {}}})).await;

    let message = refusal(&transport, needs("blocked")).await;
    assert!(message.starts_with("blocked: index.blocks.write keeps documents out"), "{message}");
    let message = refusal(&transport, needs("closed")).await;
    assert!(message.contains("it is closed"), "{message}");
    let message = refusal(&transport, needs("piped")).await;
    assert!(
        message.contains("pipeline gone (which index.default_pipeline of piped names) does not exist"),
        "{message}"
    );
    for name in ["new-1", "old-1"] {
        let message = refusal(&transport, needs(name)).await;
        let expected = format!("pipeline gone (which index.default_pipeline of {name} names)");
        assert!(message.contains(&expected), "{message}");
    }
    let settings = |settings: Value| Needs { settings: Some(settings), ..needs("new-1") };
    let message = refusal(&transport, settings(json!({"index": {"default_pipeline": "_none"}}))).await;
    assert!(message.contains("pipeline lost (which index.final_pipeline of new-1 names)"), "{message}");
    let message = refusal(&transport, settings(json!({"index.default_pipeline": "away"}))).await;
    assert!(message.contains("pipeline away"), "{message}");
    let message = refusal(&transport, Needs { recreate: true, ..needs("new-1") }).await;
    assert!(message.contains("pipeline gone"), "{message}");
    let message = refusal(&transport, Needs { pipeline: Some("none".into()), ..needs("new") }).await;
    assert!(message.contains("pipeline none (which the requests are to name)"), "{message}");
    let message = refusal(&transport, Needs { bytes_expected: Some(100 << 30), ..needs("new") }).await;
    assert!(message.contains("107 GB of documents are coming"), "{message}");
    let message = refusal(&transport, Needs { recreate: true, ..needs("alias") }).await;
    assert!(message.contains("it is an alias"), "{message}");

    let full = preflight(&transport, &needs("full")).await.unwrap();
    assert!(full.warnings[0].contains("1 of 1 fields"), "{:?}", full.warnings);
    preflight(&transport, &settings(json!({"default_pipeline": "_none", "final_pipeline": "_none"}))).await.unwrap();
    // What is made anew may be as it likes now, and another pipeline takes the default one's place.
    preflight(&transport, &Needs { recreate: true, ..needs("blocked") }).await.unwrap();
    preflight(&transport, &Needs { pipeline: Some("_none".into()), ..needs("piped") }).await.unwrap();
    preflight(&transport, &Needs { action: Action::Create, ..needs("new") }).await.unwrap();
}

#[tokio::test]
async fn wrong_credentials_and_nobody_there_are_told() {
    let auth = Auth::Basic { user: "u".into(), password: "p".into() };
    let cluster = FakeCluster::start(FakeConfig::default().auth(auth)).await.unwrap();
    let with = |password: &str| transport_to(&cluster.urls(), Credentials::basic("u", Secret::new(password)).unwrap());
    preflight(&with("p"), &needs("t")).await.unwrap();
    let error = preflight(&with("wrong"), &needs("t")).await.unwrap_err();
    assert!(matches!(error, ClusterError::LogIn { .. }), "{error}");
    assert!(error.to_string().contains("check user and password"), "{error}");

    let nowhere = transport_to(&[nobody()], Credentials::None);
    let error = preflight(&nowhere, &needs("t")).await.unwrap_err();
    assert!(matches!(&error, ClusterError::Http(http) if http.kind == HttpErrorKind::NotSent), "{error}");
}

#[tokio::test]
async fn a_user_who_may_only_write_gets_through_with_a_warning() {
    // What Elasticsearch answers to a key that has `create_doc` on one index and nothing else.
    let server = Server::start(|_, request| match request.target.split('?').next().unwrap_or_default() {
        "/_security/user/_has_privileges" => Act::json(
            200,
            r#"{"has_all_requested":false,"cluster":{},"index":{"t":{"create_doc":true,"index":false,"delete":false,
                "create_index":false,"delete_index":false,"maintenance":false,"read":false}}}"#,
        ),
        _ => {
            Act::json(403, r#"{"error":{"type":"security_exception","reason":"action is unauthorized"},"status":403}"#)
        }
    });
    let transport = transport_to(std::slice::from_ref(&server.url), Credentials::None);
    let create = Needs { action: Action::Create, bytes_expected: Some(1), pipeline: Some("p".into()), ..needs("t") };
    let found = preflight(&transport, &create).await.unwrap();
    assert_eq!(found.info.product, Product::Unknown);
    assert!(matches!(found.target.unwrap().kind, TargetKind::Hidden));
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    let with_ids = Needs { action: Action::Index, has_ids: true, ..create.clone() };
    let message = refusal(&transport, with_ids).await;
    assert!(message.contains("the user lacks the privilege index"), "{message}");
    let without_ids = Needs { action: Action::Index, ..create };
    assert_eq!(preflight(&transport, &without_ids).await.unwrap().action, Action::Create);
}
