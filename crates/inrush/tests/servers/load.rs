//! Loads into real servers: what a loader relies on, crashes, rejections, real data.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::api::primary_terms;
use inrush_cluster::transport::Request;
use inrush_commands::mapping::infer;
use inrush_core::flow::Flushed;
use inrush_load::config::LoadConfig;
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState};
use inrush_sources::{Format, FormatOptions, LogFormat, Parse, SourceSpec, Warnings, open};
use inrush_testbed::conformance::{CaseOutcome, TestedServer, run_all};
use inrush_testbed::{Proxy, ProxyConfig};
use serde_json::json;

use crate::common::{Lines, documents, load};
use crate::server::{Server, Version, on_servers};
use crate::source_support::shared;

fn config(server: &Server, index: &str) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = server.config(index);
    config.limits.batch_bytes = Some(64 << 10);
    (config, folder)
}

async fn ids(server: &Server, index: &str) -> BTreeSet<String> {
    let path = format!("/{index}/_search?size=10000&_source=false&filter_path=hits.hits._id");
    let reply = server.transport.request(&Request::new(http::Method::GET, path)).await.result.unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    let hits = reply["hits"]["hits"].as_array().cloned().unwrap_or_default();
    hits.iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()).collect()
}

/// The same on all servers: conformance of what a loader relies on, then a load with ids,
/// without, and with documents that are refused.
async fn check(version: Version) {
    let mut server = Server::own(version).await;
    let title = server.title.clone();

    let target = TestedServer::connect(&server.url(), None).await.unwrap();
    let outcomes = run_all(&target).await;
    let count = |wanted: fn(&CaseOutcome) -> bool| outcomes.iter().filter(|(_, outcome)| wanted(outcome)).count();
    let failed: Vec<_> = outcomes.iter().filter(|(_, outcome)| matches!(outcome, CaseOutcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{title}: {failed:?}");
    let (passed, skipped) =
        (count(|o| matches!(o, CaseOutcome::Passed)), count(|o| matches!(o, CaseOutcome::Skipped(_))));
    println!("{title}: conformance {passed} passed, {skipped} skipped");
    assert!(passed > 60, "{title}");

    let (mut with_ids, _a) = config(&server, "with-ids");
    with_ids.id = Some("id".parse().unwrap());
    let report = load(&with_ids, documents(20_000, 5_000)).await;
    assert_eq!(
        (report.status, report.counts.docs_created, report.counts.docs_updated),
        (Status::Complete, 5_000, 15_000),
        "{title}: {report:?}"
    );
    assert_eq!(report.verified.state, VerifiedState::Yes, "{title}: {:?}", report.verified);
    assert_eq!(ids(&server, "with-ids").await.len(), 5_000);

    let (without, _b) = config(&server, "without-ids");
    let report = load(&without, documents(20_000, 20_000)).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 20_000), "{title}: {report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes);

    let lines = (0..1_000).map(|n| if n % 10 == 3 { "{\"n\":\"word\"}".to_owned() } else { format!("{{\"n\":{n}}}") });
    let (refused, _c) = config(&server, "refused");
    let report = load(&refused, lines).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 100), "{title}: {report:?}");
    assert_eq!(report.counts.docs_created, 900);
    assert!(
        ["mapper_parsing_exception", "document_parsing_exception"].contains(&report.errors[0].kind.as_str()),
        "{:?}",
        report.errors
    );

    diagnose(&server, &title).await;
    begin_another_life(&mut server, &title).await;

    server.stop().await;
    println!(
        "{title}: loaded with and without ids, refused documents are dead letters; the doctor finds what was left"
    );
}

/// A flush proves what is durable, and a primary that starts again is in another term.
async fn begin_another_life(server: &mut Server, title: &str) {
    let transport = Arc::clone(&server.transport);
    let index = "without-ids";
    let zero = serde_json::json!({"index": {"number_of_replicas": 0}});
    assert_eq!(transport.put_json(&format!("/{index}/_settings"), &zero).await.unwrap().0, 200);
    let before = primary_terms::read(&transport, index).await.unwrap();
    assert_eq!(primary_terms::flush(&transport, index).await, Flushed::Done(before.clone()), "{title}");
    server.restart().await;
    let after = primary_terms::read(&transport, index).await.unwrap();
    assert_eq!((&after.index, &after.uuid), (&before.index, &before.uuid), "{title}");
    assert!(
        before.terms.iter().zip(&after.terms).all(|(before, after)| before < after),
        "{title}: {before:?} {after:?}"
    );
    assert_eq!(primary_terms::flush(&transport, index).await, Flushed::Done(after), "{title}");
}

/// The doctor gets all its questions answered, and finds what a crashed loader would have left on
/// an index.
async fn diagnose(server: &Server, title: &str) {
    let transport = &server.transport;
    let left = serde_json::json!({"index": {"refresh_interval": "-1", "translog": {"durability": "async"}}});
    let (status, reply) = transport.put_json("/with-ids/_settings", &left).await.unwrap();
    assert_eq!(status, 200, "{title}: {reply}");
    let allocation =
        |to: serde_json::Value| serde_json::json!({"persistent": {"cluster.routing.allocation.enable": to}});
    transport.put_json("/_cluster/settings", &allocation("none".into())).await.unwrap();
    let found = inrush_commands::doctor::examine(transport, Some("with-ids")).await.unwrap();
    assert_eq!(found.not_checked, Vec::<String>::new(), "{title}");
    let ids: Vec<&str> = found.findings.iter().map(|finding| finding.id).collect();
    transport.put_json("/_cluster/settings", &allocation(serde_json::Value::Null)).await.unwrap();
    assert!(["refresh_off", "translog_async", "allocation_off"].iter().all(|id| ids.contains(id)), "{title}: {ids:?}");
    let other = inrush_commands::doctor::examine(transport, Some("without-ids")).await.unwrap();
    assert!(other.findings.iter().all(|finding| finding.id != "refresh_off"), "{title}: {:?}", other.findings);
    let missing = inrush_commands::doctor::examine(transport, Some("nope")).await.unwrap_err();
    assert_eq!(missing.status(), Some(404), "{title}: {missing}");
}

on_servers!(check:
    opensearch_2_19 = OpenSearch2,
    opensearch_3_6 = OpenSearch3,
    opensearch_3_8 = OpenSearch38,
    elasticsearch_7_17 = Elasticsearch7,
    elasticsearch_8_19 = Elasticsearch8,
    elasticsearch_9_5 = Elasticsearch9,
);

/// A node with a short queue rejects items of requests that it answers with 200. All of them get in
/// by retries.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_rejects_items() {
    let one_thread = [("thread_pool.write.queue_size", "8"), ("thread_pool.write.size", "1")];
    let settings = one_thread.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let server = Server::own_with(Version::OpenSearch3, 1, |spec| spec.settings = settings).await;
    let (mut config, _a) = config(&server, "rejects");
    config.id = Some("id".parse().unwrap());
    config.create.shards = Some(8);
    config.create.replicas = Some(0);
    config.limits.in_flight = Some(4);
    let report = load(&config, documents(100_000, 50_000)).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 100_000), "{report:?}");
    assert!(report.counts.rejected_items > 0, "the node rejected nothing");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(count(&server, "rejects").await, 50_000);
    let share = 100.0 * report.counts.rejected_items as f64 / (100_000 + report.counts.rejected_items) as f64;
    println!("rejected {} items, {share:.0} % of what was sent: all are in", report.counts.rejected_items);
    server.stop().await;
}

/// Documents of a load through the proxy.
const DOCS: u64 = 50_000;

/// The error rates of a busy cluster behind a bad network: rejected items, and connections that
/// break after the work was done. Nothing is lost; with ids nothing is duplicated, and without them
/// no more than the report says.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_items_and_connections_that_break() {
    let server = Server::shared(Version::OpenSearch38).await;
    for with_ids in [true, false] {
        let name = format!("load-rejects-{}", if with_ids { "ids" } else { "no-ids" });
        let proxy = proxy(&server, 1.0).await;
        let (config, _folder) = proxied(&server, &proxy, &name, with_ids);
        let report = load(&config, documents(DOCS, DOCS)).await;
        everything_is_there(&server, &name, &report, with_ids).await;
        at_the_wanted_rates(&proxy, 1.0, &report);
    }
    server.stop().await;
}

/// All of it at once: while many items are rejected and connections break, the node is killed in
/// the middle of the load and started again on its data.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_on_top_of_all_that() {
    let mut server = Server::own(Version::OpenSearch3).await;
    for with_ids in [true, false] {
        let name = if with_ids { "crash-ids" } else { "crash-no-ids" };
        let proxy = proxy(&server, 30.0).await;
        let (config, _folder) = proxied(&server, &proxy, name, with_ids);
        let source = Lines::new(documents(DOCS, DOCS));
        let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
        load.progress().wait_for(|p| p.docs_settled > 10_000).await.unwrap();
        server.kill();
        let at = load.progress().borrow().docs_settled;
        assert!(at < DOCS, "the load was over before the crash");
        server.restart().await;
        let report = load.finish().await;
        println!("{name}: killed after {at} documents");
        everything_is_there(&server, name, &report, with_ids).await;
        at_the_wanted_rates(&proxy, 30.0, &report);
    }
    server.stop().await;
}

async fn proxy(server: &Server, reject_items_percent: f64) -> Proxy {
    let config =
        ProxyConfig { reject_items_percent, reset_after_applying_percent: 1.0, ..ProxyConfig::new(server.url()) };
    Proxy::start(config).await.unwrap()
}

/// Many small requests, so that one in a hundred is some; short waits, because these rejections do
/// not pass with time.
fn proxied(server: &Server, proxy: &Proxy, index: &str, with_ids: bool) -> (LoadConfig, tempfile::TempDir) {
    let (mut config, folder) = config(server, index);
    config.to = vec![proxy.url()];
    config.id = with_ids.then(|| "id".parse().unwrap());
    config.limits.batch_bytes = Some(8 << 10);
    config.limits.in_flight = Some(4);
    config.limits.retry_wait = Duration::from_millis(10);
    config.limits.memory = 1 << 20;
    (config, folder)
}

/// Of [`DOCS`] documents, as the node has them.
async fn everything_is_there(server: &Server, index: &str, report: &Report, with_ids: bool) {
    let counts = &report.counts;
    assert!(counts.add_up(), "{report:?}");
    assert_eq!((counts.docs_read, counts.docs_dead_lettered), (DOCS, 0), "{report:?}");
    assert_eq!(report.failure, None, "{report:?}");
    let numbers = numbers(server, index).await;
    assert_eq!(count(server, index).await, numbers.len() as u64);
    let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(distinct.len() as u64, DOCS, "lost");
    let twice = numbers.len() as u64 - DOCS;
    if with_ids {
        assert_eq!((twice, report.status), (0, Status::Complete), "{report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    } else {
        assert!(twice <= counts.possible_duplicates, "{twice} twice: {report:?}");
    }
    println!(
        "{index}: all there, {twice} twice of {} possible; {} rejected, {} sent again, verified {:?}",
        counts.possible_duplicates, counts.rejected_items, counts.retried_items, report.verified.state
    );
}

fn at_the_wanted_rates(proxy: &Proxy, reject_items_percent: f64, report: &Report) {
    let stats = proxy.stats();
    let rejected = 100.0 * stats.items_rejected as f64 / stats.items as f64;
    let reset = 100.0 * stats.resets as f64 / stats.answers as f64;
    println!(
        "  {rejected:.2} % of {} items rejected, {} of {} connections broken",
        stats.items, stats.resets, stats.answers
    );
    assert!((rejected - reject_items_percent).abs() < 0.5, "{stats:?}");
    assert!(stats.resets > 0 && reset < 3.0, "{stats:?}");
    assert!(report.counts.rejected_items > 0);
}

/// The field `n` of every document.
async fn numbers(server: &Server, index: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut from = -1;
    // By ranges of the number: a document that is there twice never falls between two pages.
    while from < DOCS as i64 {
        let range = json!({"range": {"n": {"gt": from, "lte": from + 4_000}}});
        let query = json!({"size": 10_000, "_source": false, "docvalue_fields": ["n"], "query": range});
        let path = format!("/{index}/_search?filter_path=hits.hits.fields.n");
        let reply = server.send("POST", &path, query).await;
        let hits = reply["hits"]["hits"].as_array().cloned().unwrap_or_default();
        assert!(hits.len() < 10_000, "more than fit a page");
        numbers.extend(hits.iter().map(|hit| hit["fields"]["n"][0].as_u64().unwrap()));
        from += 4_000;
    }
    numbers
}

async fn count(server: &Server, index: &str) -> u64 {
    inrush_cluster::api::stats::count(&server.transport, index).await.unwrap()
}

async fn load_file(server: &Server, index: &str, path: PathBuf, options: FormatOptions, id: Option<&str>) -> Report {
    let (mut config, _folder) = config(server, index);
    config.limits.batch_bytes = Some(1 << 20);
    config.id = id.map(|id| id.parse().unwrap());
    let source = open(&[SourceSpec::new(path)], options, &Warnings::default()).unwrap();
    let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
    assert!(report.counts.add_up());
    assert_eq!(report.counts.docs_created + report.counts.docs_dead_lettered, report.counts.docs_read, "{report:?}");
    assert_eq!(report.verified.state, VerifiedState::Yes, "{:?}", report.verified);
    assert_eq!(count(server, index).await, report.counts.docs_created);
    println!(
        "{index}: {} read, {} created, {} dead letters",
        report.counts.docs_read, report.counts.docs_created, report.counts.docs_dead_lettered
    );
    for error in report.errors.iter().take(3) {
        println!("  {} x {}: {}", error.count, error.kind, error.reason);
    }
    report
}

/// Real data of several kinds, every document in the index or a dead letter with the server's
/// reason.
#[tokio::test(flavor = "multi_thread")]
async fn real_data() {
    let server = Server::shared(Version::OpenSearch38).await;
    let options = FormatOptions::default;
    if let Some(path) = shared("tate/artworks.ndjson.zst") {
        let report = load_file(&server, "load-artworks", path, options(), Some("id")).await;
        assert_eq!(report.counts.docs_read, 69_202);
        assert!(report.errors.iter().all(|e| e.status == 400), "{:?}", report.errors);
    }
    if let Some(path) = shared("dvf/hendaye-64.csv") {
        let report = load_file(&server, "load-dvf", path, options(), None).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (2_575, 2_575));
    }
    if let Some(path) = shared("dvf/valeursfoncieres-2018-extrait.txt") {
        let mut options = FormatOptions { format: Some(Format::Csv), ..options() };
        options.csv.separator = Some(b'|');
        let report = load_file(&server, "load-dvf-raw", path, options, None).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (10_000, 10_000));
    }
    if let Some(path) = shared("http/apache_logs") {
        let options = FormatOptions { format: Some(Format::Text), ..options() };
        let report = load_file(&server, "load-apache", path, options, None).await;
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (10_000, 10_000));
    }
    server.stop().await;
}

/// Real data of several kinds with the mapping that looking at them gives: nothing is refused.
#[tokio::test(flavor = "multi_thread")]
async fn real_data_fits_the_mapping_that_was_found() {
    let server = Server::shared(Version::OpenSearch38).await;
    let options = FormatOptions::default;
    let logs = FormatOptions { parse: Some(Parse::Named(LogFormat::Combined)), ..options() };
    for (name, file, options, docs) in [
        ("folio", "folio/instances.ndjson", options(), 29),
        ("beans", "xlsx/Dry_Bean_Dataset.xlsx", options(), 13_611),
        ("taxis", "parquet/green_tripdata_2024-01.parquet", options(), 56_551),
        ("apache", "http/apache_logs", logs, 10_000),
        ("artworks", "tate/artworks.ndjson.zst", options(), 69_202),
    ] {
        let Some(path) = shared(file) else { continue };
        let opened = || open(&[SourceSpec::new(&path)], options.clone(), &Warnings::default()).unwrap();
        let found = infer(&mut opened(), None, inrush_commands::mapping::Mixed::Widen).unwrap();
        let (mut config, _folder) = config(&server, &format!("load-mapped-{name}"));
        config.create.mapping = Some(found.advice.mapping);
        let report = ConfiguredLoad::new(config).unwrap().run(opened()).await.unwrap();
        println!(
            "{name}: {} read, {} created: {:?}",
            report.counts.docs_read, report.counts.docs_created, report.errors
        );
        assert_eq!(
            (report.status, report.verified.state),
            (Status::Complete, VerifiedState::Yes),
            "{name}: {report:?}"
        );
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (docs, docs), "{name}");
    }
    server.stop().await;
}
