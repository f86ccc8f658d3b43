//! Modes of an index (`index.mode` of Elasticsearch): what each makes of ids, documents and
//! sequence numbers is known before a load, and its report and a comparison are true.

use std::sync::Arc;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_commands::verify::{VerifyOptions, VerifyOutcome, VerifyReport, verify};
use inrush_core::{Action, OnConflict};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_load::config::{BulkRouting, IdFrom, LoadConfig};
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Lines, config, load};

async fn fake() -> FakeCluster {
    FakeCluster::start(FakeConfig::default().flavor(Flavor::elasticsearch_9())).await.unwrap()
}

/// A time series of the year 2024, of the dimension `d`.
fn series() -> Value {
    json!({"settings": {"index": {"mode": "time_series", "number_of_shards": 3, "routing_path": ["d"],
            "time_series": {"start_time": "2024-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:00Z"}}},
        "mappings": {"properties": {"@timestamp": {"type": "date"}, "d": {"type": "keyword", "time_series_dimension": true},
            "v": {"type": "long", "time_series_metric": "gauge"}}}})
}

async fn job(index: Value) -> (FakeCluster, LoadConfig, TempDir) {
    let fake = fake().await;
    fake.call("PUT", "/docs", index).unwrap();
    let (config, folder) = config(fake.urls(), "docs");
    (fake, config, folder)
}

/// `total` documents, of which `distinct` differ in their dimension or their time.
fn points(total: u64, distinct: u64) -> impl Iterator<Item = String> {
    (0..total).map(move |n| {
        let (of, second) = (n % distinct % 7, n % distinct);
        let (minute, second) = (second / 60, second % 60);
        format!("{{\"@timestamp\":\"2024-05-01T00:{minute:02}:{second:02}Z\",\"d\":\"s{of}\",\"v\":{n}}}")
    })
}

async fn compared(fake: &FakeCluster, options: &VerifyOptions, lines: impl Iterator<Item = String>) -> VerifyReport {
    let transport = Transport::new(&[fake.url()], Credentials::None, &HttpOptions::default()).unwrap();
    verify(Arc::new(transport), Box::new(Lines::new(lines)), options, |_| {}).await.unwrap()
}

fn options() -> VerifyOptions {
    VerifyOptions::new("docs".parse().unwrap())
}

fn complete(report: &Report, created: u64, updated: u64) {
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
    assert_eq!((report.counts.docs_created, report.counts.docs_updated), (created, updated), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_series_stores_documents_of_the_same_dimensions_and_time_once() {
    let (fake, config, _folder) = job(series()).await;
    complete(&load(&config, points(700, 500)).await, 500, 200);
    complete(&load(&config, points(700, 500)).await, 0, 700);
    let report = compared(&fake, &options(), points(700, 500)).await;
    assert_eq!((report.result, report.docs_replaced), (VerifyOutcome::Equal, Some(200)), "{report:?}");
    assert!(report.not_proven[0].contains("makes the ids of its documents"), "{report:?}");
    let report = compared(&fake, &options(), points(700, 501)).await;
    assert_eq!((report.result, report.docs_extra), (VerifyOutcome::Different, None), "{report:?}");
    let report = compared(&fake, &options(), points(499, 499)).await;
    assert_eq!((report.result, report.docs_extra), (VerifyOutcome::Different, Some(1)), "{report:?}");
}

/// Only the server reads a time in a format of its own: one time may be counted twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_only_the_server_reads_is_not_proven() {
    let mut index = series();
    index["mappings"]["properties"]["@timestamp"]["format"] = json!("strict_date_optional_time||epoch_second");
    let (fake, config, _folder) = job(index).await;
    complete(&load(&config, points(50, 50)).await, 50, 0);
    let again = || points(50, 50).map(|line| line.replace("Z\"", ".000Z\""));
    let report = compared(&fake, &options(), points(50, 50).chain(again())).await;
    assert_eq!((report.result, report.docs_replaced), (VerifyOutcome::Equal, None), "{report:?}");
    assert!(report.not_proven[1].contains("reads the values of @timestamp (date)"), "{report:?}");
    let report = compared(&fake, &options(), points(49, 49)).await;
    assert_eq!((report.result, report.docs_extra), (VerifyOutcome::Different, Some(1)), "{report:?}");
}

/// With the action create the others are conflicts, which the options decide about.
#[tokio::test(flavor = "multi_thread")]
async fn of_new_points_of_a_time_series_only_the_first_is_stored() {
    let (_fake, mut config, _folder) = job(series()).await;
    config.action = Action::Create;
    let report = load(&config, points(300, 200)).await;
    assert_eq!((report.counts.docs_created, report.counts.docs_dead_lettered), (200, 100), "{report:?}");
    let (_fake, mut config, _folder) = job(series()).await;
    (config.action, config.on_conflict) = (Action::Create, OnConflict::Skip);
    for (created, conflicting) in [(200, 100), (0, 300)] {
        let report = load(&config, points(300, 200)).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!((report.counts.docs_created, report.counts.docs_conflicting), (created, conflicting), "{report:?}");
    }
}

/// A document that is sent again takes its own place, so no answer that is lost makes a duplicate.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_makes_no_duplicate_of_a_time_series() {
    for (action, fault) in [
        (Action::Index, Fault::ResetAfterApplying),
        (Action::Create, Fault::ResetAfterApplying),
        (Action::Index, Fault::ResetBeforeApplying),
    ] {
        let (fake, mut config, _folder) = job(series()).await;
        fake.set_faults(Faults::new([Rule::new(fault).probability(0.3)]));
        config.action = action;
        let report = load(&config, points(900, 900)).await;
        assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Complete, 0), "{action:?}: {report:?}");
        assert_eq!(report.counts.possible_duplicates, 0, "{action:?}: {report:?}");
        assert_eq!(report.verified.state, VerifiedState::Yes, "{action:?}: {report:?}");
        assert_eq!(fake.documents("docs").len(), 900);
    }
}

/// Of documents of one request with one id, the attempt whose answer was lost has written the
/// first.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_hides_no_conflict_of_a_time_series() {
    let (fake, mut config, _folder) = job(series()).await;
    fake.set_faults(Faults::new([Rule::new(Fault::ResetAfterApplying).first(1)]));
    (config.action, config.on_conflict) = (Action::Create, OnConflict::Skip);
    let report = load(&config, points(2, 1)).await;
    assert_eq!((report.counts.docs_already_there, report.counts.docs_conflicting), (1, 1), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_a_time_series_refuses_are_refused_before_the_load() {
    let field = || Some("d".parse().unwrap());
    type Change<'a> = &'a dyn Fn(&mut LoadConfig);
    let changes: [(&str, Change<'_>); 7] = [
        ("option `id`", &|config| config.id = field()),
        ("option `id_from`", &|config| config.id_from = Some(IdFrom::Content)),
        ("option `routing`", &|config| config.routing = field()),
        ("option `bulk_routing=one-shard`", &|config| config.bulk_routing = BulkRouting::OneShard),
        ("option `action=update or upsert`", &|config| config.action = Action::Upsert),
        ("option `action=update or upsert`", &|config| config.action = Action::Update),
        ("option `version`", &|config| config.version = field()),
    ];
    for (option, change) in changes {
        let (fake, mut config, _folder) = job(series()).await;
        if matches!(option, "option `version`" | "option `action=update or upsert`") {
            config.id = field();
        }
        change(&mut config);
        let start = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(points(3, 3)))).await;
        let error = start.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("the index docs makes the ids of its documents"), "{option}: {error}");
        assert!(fake.bulk_requests().is_empty(), "{option}");
    }
}

/// The index that a load creates, by its own settings or by those of a template.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_time_series_is_known_before_it_is_made() {
    for by_template in [false, true] {
        let fake = fake().await;
        let (mut config, _folder) = config(fake.urls(), "docs");
        match by_template {
            true => {
                let template = json!({"index_patterns": ["docs*"], "template": series()});
                fake.call("PUT", "/_index_template/t", template).unwrap();
            }
            false => {
                config.create.settings = Some(series()["settings"].clone());
                config.create.mapping = Some(series()["mappings"].clone());
            }
        }
        let mut with_id = config.clone();
        with_id.id = Some("d".parse().unwrap());
        let start = ConfiguredLoad::new(with_id).unwrap().start(Box::new(Lines::new(points(3, 3)))).await;
        let error = start.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("option `id` is given, but the index docs makes"), "{by_template}: {error}");
        assert!(fake.call("GET", "/docs", Value::Null).is_err(), "{by_template}: nothing was made");
        complete(&load(&config, points(90, 60)).await, 60, 30);
    }
}

/// Values of an index that rebuilds its documents are compared; what is different is found.
#[tokio::test(flavor = "multi_thread")]
async fn values_of_rebuilt_documents_are_compared() {
    let lines = |changed: Option<u64>| {
        (0..200).map(move |n| {
            let time = format!("2024-05-01T02:00:{:02}+02:00", n % 60);
            let v = if changed == Some(n) { n + 1 } else { n };
            format!("{{\"z\":null,\"id\":\"i{n}\",\"@timestamp\":\"{time}\",\"host\":{{\"name\":\"h\",\"n\":\"{v}\"}},\"list\":[{n},1],\"objects\":[{{\"x\":1}},{{\"x\":2}}]}}")
        })
    };
    for mode in ["logsdb", "columnar", "logsdb_columnar", "standard"] {
        let index = json!({"settings": {"index.mode": mode}, "mappings": {"properties": {
            "@timestamp": {"type": "date"}, "host": {"properties": {"n": {"type": "long"}}}}}});
        let (fake, mut config, _folder) = job(index).await;
        config.id = Some("id".parse().unwrap());
        complete(&load(&config, lines(None)).await, 200, 0);
        let options = VerifyOptions { id: config.id.clone(), ..options() };
        let report = compared(&fake, &options, lines(None)).await;
        assert_eq!((report.result, report.docs_different), (VerifyOutcome::Equal, Some(0)), "{mode}: {report:?}");
        assert_eq!(
            report.not_proven.iter().any(|text| text.contains("values of fields")),
            mode != "standard",
            "{mode}"
        );
        let report = compared(&fake, &options, lines(Some(7))).await;
        assert_eq!((report.result, report.docs_different), (VerifyOutcome::Different, Some(1)), "{mode}: {report:?}");
        let of = report.examples.different[0].clone();
        let field = if mode == "standard" { "host" } else { "host.n" };
        assert_eq!((of.id.as_deref(), of.detail.as_deref()), (Some("i7"), Some(field)), "{mode}");
    }
}

/// Documents without sequence numbers do not tell when they were written. That makes none of them
/// the document of another client.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_no_conflict_where_there_are_no_sequence_numbers() {
    for mode in ["columnar", "logsdb_columnar", "standard"] {
        let (fake, mut config, _folder) = job(json!({"settings": {"index.mode": mode}})).await;
        fake.set_faults(Faults::new([Rule::new(Fault::ResetAfterApplying).probability(0.3)]));
        config.id = Some("id".parse().unwrap());
        config.action = Action::Create;
        let lines = (0..600).map(|n| format!("{{\"id\":\"i{n}\",\"@timestamp\":\"2024-05-01T00:00:00Z\",\"x\":null}}"));
        let report = load(&config, lines).await;
        assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Complete, 0), "{mode}: {report:?}");
        assert_eq!(fake.documents("docs").len(), 600, "{mode}");
    }
}
