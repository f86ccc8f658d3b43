//! Indices of real servers as sources, from each product and version into another.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::product::detect;
use inrush_cluster::transport::Request;
use inrush_commands::copy;
use inrush_commands::verify::{VerifyOptions, VerifyOutcome, verify};
use inrush_load::config::{DeadLetters, LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState};
use inrush_sources::Warnings;
use inrush_sources::index::{IndexAddress, IndexOptions, IndexSource};
use serde_json::{Value, json};

use crate::common::{Lines, documents, load};
use crate::server::{Server, Version};

const DOCS: u64 = 20_000;

/// The document as the server keeps it.
async fn kept(server: &Server, index: &str, id: &str) -> String {
    let request = Request::new(http::Method::GET, format!("/{index}/_source/{id}"));
    let reply = server.transport.request(&request).await.result.unwrap();
    String::from_utf8(reply.body.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_elasticsearch_7_into_opensearch_3() {
    check(Version::Elasticsearch7, Version::OpenSearch38).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_opensearch_3_into_elasticsearch_9() {
    check(Version::OpenSearch38, Version::Elasticsearch9).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_elasticsearch_9_into_opensearch_2() {
    check(Version::Elasticsearch9, Version::OpenSearch2).await;
}

async fn check(from: Version, to: Version) {
    let [from, to] = Server::pair(from, to).await;
    let title = format!("{} into {}", from.title, to.title);
    let letters = tempfile::tempdir().unwrap();
    let config = |server: &Server, index: &str| {
        let mut config = LoadConfig::new(vec![server.url()], index.parse().unwrap());
        config.limits.batch_bytes = Some(64 << 10);
        config.dead_letters = DeadLetters::File(letters.path().join("dead.ndjson"));
        config.state =
            Some(StateFolder { every: Duration::from_millis(50), ..StateFolder::new(letters.path().join("state")) });
        config
    };

    // Each id twice, so that half of the sequence numbers have no document; a list of objects of
    // their own; some unusual documents.
    let mapping = json!({"properties": {"id": {"type": "keyword"}, "n": {"type": "long"}, "list": {"type": "nested"}}});
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "30s"});
    from.send("PUT", "/from-old", json!({"mappings": mapping, "settings": settings})).await;
    let mut first = config(&from, "from-old");
    first.id = Some("id".parse().unwrap());
    load(&first, documents(2 * DOCS, DOCS)).await;
    let odd = "{\"index\":{\"_id\":\"odd\",\"routing\":\"r\"}}\n{ \"n\" : 1 , \"d\":1.50,\"e\":1E+2, \"s\" : \"\\u00e9\\/\" , \"list\":[{\"a\":1},{\"a\":2}]}\n";
    from.client.bulk("/from-old/_bulk", odd.to_owned()).await.unwrap();

    let open = async |catch_up: bool| {
        let address = IndexAddress::parse(&format!("{}/from-old", from.url())).unwrap();
        // Pages of about 200 documents, so that little is read ahead.
        let options = IndexOptions { catch_up, memory: 100_000, ..IndexOptions::new(address) };
        IndexSource::open(options, &Warnings::default()).await.unwrap()
    };
    let source = open(false).await;
    assert_eq!(source.docs(), DOCS + 1, "{title}: with the one that was not refreshed yet");
    let target = detect(&to.transport).await.unwrap();
    let model = &source.models()[0];
    let mut copy = config(&to, "from-copy");
    let mappings = copy::mapping(&model.mappings, source.info(), &target);
    let settings = copy::settings(&model.settings, source.info(), &target);
    assert!(mappings.notes.is_empty() && settings.notes.is_empty(), "{title}: {mappings:?} {settings:?}");
    (copy.create.mapping, copy.create.settings) = (Some(mappings.value), Some(settings.value));
    let report = ConfiguredLoad::new(copy.clone()).unwrap().run(source).await.unwrap();
    assert_same(&title, &to, &report, DOCS + 1).await;
    println!("{title}: {DOCS} documents in {:.1} s", report.seconds);

    // As it was sent, but for what the server that keeps it makes of it.
    let kept_there = kept(&from, "from-old", "odd?routing=r").await;
    assert_eq!(kept(&to, "from-copy", "odd?routing=r").await, kept_there, "{title}");
    assert!(kept_there.contains("\"d\":1.50,\"e\":1E+2, \"s\" : \"\\u00e9\\/\""), "{title}: {kept_there}");
    let shown = to.send("GET", "/from-copy", Value::Null).await["from-copy"].clone();
    assert_eq!(shown["settings"]["index"]["number_of_shards"], "2");
    assert_eq!(shown["settings"]["index"]["refresh_interval"], "30s");
    assert_eq!(shown["mappings"]["properties"]["list"]["type"], "nested");

    // Cut off, resumed, and written to meanwhile.
    let mut slow = config(&to, "from-again");
    slow.limits.max_rate = Some(Rate::Docs(10_000));
    (slow.limits.memory, slow.limits.batch_bytes, slow.limits.in_flight) = (256 << 10, Some(32 << 10), Some(2));
    let load = ConfiguredLoad::new(slow.clone()).unwrap().start(Box::new(open(true).await)).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled >= DOCS / 4).await.unwrap();
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Interrupted, "{title}: {report:?}");
    let stopped_at = report.counts.docs_read;
    let lines = |round: u64, count: u64| -> String {
        let text = "some words to fill it";
        (0..count)
            .map(|n| {
                format!(
                    "{{\"index\":{{\"_id\":\"i{n}\"}}}}\n{{\"id\":\"i{n}\",\"n\":{},\"text\":\"{text}\"}}\n",
                    round * DOCS + n
                )
            })
            .collect()
    };
    from.client.bulk("/from-old/_bulk", lines(5, 3_000)).await.unwrap();
    let resumed = LoadConfig { resume: true, ..slow };
    let load = ConfiguredLoad::new(resumed).unwrap().start(Box::new(open(true).await)).await.unwrap();
    load.progress().wait_for(|progress| progress.docs_settled >= DOCS / 2).await.unwrap();
    // The copy would not wait for a busy server to write these.
    load.pause_handle().pause();
    from.client.bulk("/from-old/_bulk", lines(6, 2_000)).await.unwrap();
    load.pause_handle().resume();
    let report = load.finish().await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{title}: {report:?}");
    assert!(report.counts.docs_read <= DOCS + 1 + 5_000, "{title}: {stopped_at}, {report:?}");
    let expected = (0..DOCS).map(|n| {
        let round = match n {
            0..2_000 => 6,
            2_000..3_000 => 5,
            _ => 1,
        };
        format!("{{\"id\":\"i{n}\",\"n\":{},\"text\":\"some words to fill it\"}}", round * DOCS + n)
    });
    let options =
        VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new("from-again".parse().unwrap()) };
    let report = verify(Arc::clone(&to.transport), Box::new(Lines::new(expected)), &options, |_| {}).await.unwrap();
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!(counts, (Some(0), Some(0), Some(1)), "{title}: only the odd one is extra: {report:?}");

    from.stop().await;
    to.stop().await;
}

/// The copy has what the original has.
async fn assert_same(title: &str, to: &Server, report: &Report, docs: u64) {
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{title}: {report:?}");
    assert_eq!((report.counts.docs_read, report.counts.docs_created), (docs, docs), "{title}: {report:?}");
    let options = VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new("from-copy".parse().unwrap()) };
    let originals = Lines::new(documents(2 * DOCS, DOCS));
    let report = verify(Arc::clone(&to.transport), Box::new(originals), &options, |_| {}).await.unwrap();
    let counts = (report.docs_missing, report.docs_different, report.docs_extra);
    assert_eq!(counts, (Some(0), Some(0), Some(1)), "{title}: only the odd one is extra: {report:?}");
    assert_eq!(report.result, VerifyOutcome::Different, "{title}");
}
