//! Requests for one shard each, against the fake cluster.

use std::collections::{BTreeMap, BTreeSet};

use inrush_core::routing::Routing;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, RequestLog, Rule};
use inrush_load::config::{BulkRouting, LoadConfig};
use inrush_load::{ConfiguredLoad, LoadError, Status};
use serde_json::json;

use crate::common::{Lines, config, documents, load};

const SHARDS: u32 = 5;

async fn fake(nodes: usize, faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().nodes(nodes).faults(Faults::new(faults))).await.unwrap()
}

fn job(urls: Vec<String>, bulk_routing: BulkRouting) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(urls, "docs");
    config.create.shards = Some(SHARDS);
    config.bulk_routing = bulk_routing;
    (config, folder)
}

fn numbers(fake: &FakeCluster) -> BTreeMap<String, u64> {
    fake.documents("docs").iter().map(|d| (d.id.clone(), d.json()["n"].as_u64().unwrap())).collect()
}

/// The routing value of a request.
fn routing(request: &RequestLog) -> Option<&str> {
    request.path.split("routing=").nth(1)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ids_each_request_goes_to_one_shard_and_all_shards_get_as_many() {
    let fake = fake(1, [Rule::new(Fault::RequestRejected).every_nth(5)]).await;
    let (config, _folder) = job(fake.urls(), BulkRouting::OneShard);
    let report = load(&config, documents(2000, 2000)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 2000), "{report:?}");
    let of = Routing::new(SHARDS, None, 1).unwrap();
    let mut docs = BTreeMap::<u32, u64>::new();
    for document in fake.documents("docs") {
        *docs.entry(of.shard(&document.id, document.routing.as_deref())).or_default() += 1;
    }
    assert!(docs.len() == SHARDS as usize && docs.values().all(|docs| (300..500).contains(docs)), "{docs:?}");
    let requests = fake.bulk_requests();
    assert!(requests.iter().all(|request| routing(request).is_some() && request.shards == 1), "{requests:?}");
    // A repetition goes where the first one went.
    let refused: Vec<&RequestLog> = requests.iter().filter(|request| request.status == 429).collect();
    assert!(!refused.is_empty());
    for request in refused {
        let taken = |other: &&RequestLog| {
            other.status == 200 && routing(other) == routing(request) && other.items == request.items
        };
        assert!(requests.iter().any(|other| taken(&other)), "{request:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_ids_documents_are_grouped_by_shard_and_the_order_of_ids_holds() {
    for fault in [None, Some(Fault::ItemRejected), Some(Fault::ResetAfterApplying)] {
        let fake = fake(1, fault.map(|fault| Rule::new(fault).probability(0.2))).await;
        let (mut config, _folder) = job(fake.urls(), BulkRouting::OneShard);
        config.id = Some("id".parse().unwrap());
        let report = load(&config, documents(3000, 1000)).await;
        assert_eq!(report.status, Status::Complete, "{fault:?}: {report:?}");
        let expected: BTreeMap<String, u64> = (2000..3000).map(|n| (format!("i{}", n % 1000), n)).collect();
        assert_eq!(numbers(&fake), expected, "{fault:?}");
        assert!(fake.documents("docs").iter().all(|document| document.routing.is_none()));
        if fault.is_none() {
            let requests = fake.bulk_requests();
            let of_one = requests.iter().filter(|request| request.shards == 1).count();
            // Documents that waited for one with their id go together.
            assert!(of_one * 10 > requests.len() * 6, "{of_one} of {}", requests.len());
        }
        fake.shutdown().await;
    }
}

/// Elasticsearch 9.5 takes the remainder of the hash. A request that is for one shard by another
/// function goes to several.
#[tokio::test(flavor = "multi_thread")]
async fn shards_are_those_of_the_version_of_the_index() {
    for flavor in Flavor::all() {
        for (partition, with_ids) in [(1, true), (1, false), (2, true)] {
            let fake = FakeCluster::start(FakeConfig::default().flavor(flavor.clone())).await.unwrap();
            let (mut config, _folder) = job(fake.urls(), BulkRouting::OneShard);
            config.create.shards = None;
            config.create.settings = Some(json!({"number_of_shards": 6, "number_of_routing_shards": 36,
                "routing_partition_size": partition}));
            config.id = with_ids.then(|| "id".parse().unwrap());
            if partition > 1 {
                config.routing = Some("n".parse().unwrap());
            }
            let report = load(&config, documents(3000, 3000)).await;
            assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 3000), "{flavor}: {report:?}");
            let requests = fake.bulk_requests();
            assert!(requests.iter().all(|request| request.shards == 1), "{flavor}, {partition}, {with_ids}");
            fake.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_to_the_node_with_the_primary_where_it_is_named() {
    let fake = fake(3, []).await;
    for (bulk_routing, grouped) in [(BulkRouting::Auto, true), (BulkRouting::Spread, false)] {
        let before = fake.bulk_requests().len();
        let (mut config, _folder) = job(fake.urls(), bulk_routing);
        config.id = Some("id".parse().unwrap());
        let report = load(&config, documents(3000, 3000)).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        let requests: Vec<RequestLog> = fake.bulk_requests().split_off(before);
        let of_one = requests.iter().filter(|request| request.shards == 1).count();
        assert_eq!(of_one == requests.len(), grouped, "{of_one} of {}", requests.len());
        let nodes: BTreeSet<usize> = requests.iter().map(|request| request.node).collect();
        assert_eq!(nodes.len(), 3);
    }
    // One node is no way to save.
    let (mut config, _folder) = job(vec![fake.url()], BulkRouting::Auto);
    config.id = Some("id".parse().unwrap());
    let before = fake.bulk_requests().len();
    load(&config, documents(500, 500)).await;
    assert!(fake.bulk_requests()[before..].iter().any(|request| request.shards > 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn auto_stores_no_routing() {
    let fake = fake(3, []).await;
    let (config, _folder) = job(fake.urls(), BulkRouting::Auto);
    let report = load(&config, documents(500, 500)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 500));
    assert!(fake.documents("docs").iter().all(|document| document.routing.is_none()));
    assert!(fake.bulk_requests().iter().all(|request| routing(request).is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_shards_of_its_own_is_refused() {
    let fake = fake(1, []).await;
    let (mut config, _folder) = job(fake.urls(), BulkRouting::OneShard);
    config.index = "docs-{id}".parse().unwrap();
    assert!(config.check().unwrap_err().to_string().contains("placeholders"));
    let client = inrush_testbed::client::Client::new(&fake.url()).unwrap();
    let template = json!({"index_patterns": ["stream*"], "data_stream": {}});
    client.json("PUT", "/_index_template/stream", template).await.unwrap();
    config.index = "stream".parse().unwrap();
    config.create.shards = None;
    let error = ConfiguredLoad::new(config)
        .unwrap()
        .run(Lines::new(documents(1, 1).map(|_| "{\"@timestamp\":1}".to_owned())))
        .await
        .unwrap_err();
    assert!(matches!(&error, LoadError::Usage(_)) && error.to_string().contains("spread"), "{error}");
}
