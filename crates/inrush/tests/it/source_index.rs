//! An index of another cluster as a source, from one fake cluster into another.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_cluster::api::ConnectError;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_load::config::{LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, Report, Status, VerifiedState};
use inrush_sources::index::{IndexAddress, IndexOptions, IndexSource};
use inrush_sources::{Source, Warnings};
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::config;

/// A cluster with an index to read, and one to load into.
struct Bench {
    from: FakeCluster,
    to: FakeCluster,
    client: Client,
    config: LoadConfig,
    _folder: TempDir,
}

/// Id, with version, routing and content.
type Documents = BTreeMap<String, (i64, Option<String>, Value)>;

fn documents(fake: &FakeCluster, index: &str) -> Documents {
    fake.documents(index).into_iter().map(|d| (d.id.clone(), (d.version, d.routing.clone(), d.json()))).collect()
}

fn contents(fake: &FakeCluster, index: &str) -> BTreeMap<String, (Option<String>, Value)> {
    documents(fake, index).into_iter().map(|(id, (_, routing, document))| (id, (routing, document))).collect()
}

fn bulk(ids: impl Iterator<Item = u64>, round: u64) -> String {
    let pad = "x".repeat(200);
    ids.map(|n| {
        let routing = if n % 7 == 0 { format!(",\"routing\":\"r{n}\"") } else { String::new() };
        format!("{{\"index\":{{\"_id\":\"i{n}\"{routing}}}}}\n{{\"n\":{n},\"round\":{round},\"pad\":\"{pad}\"}}\n")
    })
    .collect()
}

impl Bench {
    /// With documents `i0` and so on, of which every third was written again, and every tenth was
    /// deleted.
    async fn new(flavor: Flavor, docs: u64) -> Self {
        let from = FakeCluster::start(FakeConfig::default().flavor(flavor)).await.unwrap();
        let to = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let client = Client::new(&from.url()).unwrap();
        let (mut config, folder) = config(to.urls(), "copy");
        config.state =
            Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(folder.path().join("state")) });
        let bench = Bench { from, to, client, config, _folder: folder };
        bench.send("PUT", "/old", json!({"settings": {"number_of_shards": 3, "number_of_replicas": 0}})).await;
        bench.write(0..docs, 0).await;
        bench.write((0..docs).filter(|n| n % 3 == 0), 1).await;
        bench.delete((0..docs).filter(|n| n % 10 == 0 && n % 7 != 0)).await;
        bench
    }

    async fn send(&self, method: &str, path: &str, body: Value) {
        let reply = self.client.json(method, path, body).await.unwrap();
        assert!(reply.status < 300, "{method} {path}: {}", reply.json());
    }

    async fn write(&self, ids: impl Iterator<Item = u64>, round: u64) {
        self.bulk(bulk(ids, round)).await;
    }

    async fn delete(&self, ids: impl Iterator<Item = u64>) {
        self.bulk(ids.map(|n| format!("{{\"delete\":{{\"_id\":\"i{n}\"}}}}\n")).collect()).await;
    }

    async fn bulk(&self, lines: String) {
        if !lines.is_empty() {
            let reply = self.client.bulk("/old/_bulk", lines).await.unwrap().json();
            assert_eq!(reply["errors"], false, "{reply}");
        }
    }

    fn options(&self, expression: &str) -> IndexOptions {
        let address = IndexAddress::parse(&format!("{}/{expression}", self.from.url())).unwrap();
        // Pages of about ten documents.
        IndexOptions { memory: 8 * 2500, retry_for: Duration::from_secs(20), ..IndexOptions::new(address) }
    }

    async fn open(&self, options: IndexOptions) -> Result<IndexSource, ConnectError> {
        IndexSource::open(options, &Warnings::default()).await
    }

    async fn load_with(&self, config: LoadConfig, options: IndexOptions) -> Report {
        let source = self.open(options).await.unwrap();
        let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
        assert!(report.counts.add_up(), "{report:?}");
        report
    }

    async fn load(&self) -> Report {
        self.load_with(self.config.clone(), self.options("old")).await
    }

    fn assert_same(&self) {
        let (found, expected) = (contents(&self.to, "copy"), contents(&self.from, "old"));
        let other = expected.iter().filter(|(id, document)| found.get(*id) != Some(document)).count();
        assert_eq!((other, found.len()), (0, expected.len()), "documents that are other ones, and how many there are");
    }

    /// Slow enough that something can happen meanwhile.
    fn slowly(&mut self, docs_per_second: u64) {
        self.config.limits.max_rate = Some(Rate::Docs(docs_per_second));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_documents_come_over_with_their_ids_and_routings() {
    for flavor in Flavor::all() {
        let bench = Bench::new(flavor.clone(), 2_000).await;
        let report = bench.load().await;
        assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
        let docs = bench.from.documents("old").len() as u64;
        assert!(docs > 1_700);
        assert_eq!((report.counts.docs_read, report.counts.docs_created), (docs, docs), "{flavor}");
        bench.assert_same();
        // Versions begin anew; what was not refreshed was refreshed.
        assert!(documents(&bench.to, "copy").values().all(|(version, _, _)| *version == 1));
        let requests = bench.from.requests();
        let searches = requests.iter().filter(|request| request.path.starts_with("/_search?")).count();
        assert!(searches > 100, "{searches} pages of a point in time");
        assert!(bench.from.points_in_time() == 0, "they were closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_kept_on_request_and_a_second_load_changes_nothing() {
    let bench = Bench::new(Flavor::opensearch_3(), 500).await;
    let options = IndexOptions { keep_versions: true, ..bench.options("old") };
    let report = bench.load_with(bench.config.clone(), options.clone()).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(documents(&bench.to, "copy"), documents(&bench.from, "old"));
    let mut again = bench.config.clone();
    again.on_conflict = inrush_load::config::OnConflict::Skip;
    let report = bench.load_with(again, options).await;
    assert_eq!(report.counts.docs_conflicting, report.counts.docs_read, "{report:?}");
    assert_eq!(documents(&bench.to, "copy"), documents(&bench.from, "old"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_and_an_alias_choose_documents() {
    let bench = Bench::new(Flavor::elasticsearch_8(), 500).await;
    let query = Some(json!({"term": {"round": 1}}));
    let report = bench.load_with(bench.config.clone(), IndexOptions { query, ..bench.options("old") }).await;
    let expected: Vec<_> =
        contents(&bench.from, "old").into_iter().filter(|(_, (_, document))| document["round"] == 1).collect();
    assert_eq!(report.counts.docs_created, expected.len() as u64, "{report:?}");
    assert_eq!(contents(&bench.to, "copy").into_iter().collect::<Vec<_>>(), expected);

    let filter = json!({"actions": [{"add": {"index": "old", "alias": "some", "filter": {"term": {"round": 0}}}}]});
    bench.send("POST", "/_aliases", filter).await;
    let others = LoadConfig { index: "others".parse().unwrap(), ..bench.config.clone() };
    bench.load_with(others, bench.options("some")).await;
    let all = contents(&bench.to, "others").len() + expected.len();
    assert_eq!(all, bench.from.documents("old").len());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_indices_are_one_source() {
    let bench = Bench::new(Flavor::opensearch_2(), 300).await;
    bench.client.bulk("/older/_bulk", bulk(5_000..5_100, 0)).await.unwrap();
    let source = bench.open(bench.options("old*")).await.unwrap();
    assert_eq!(source.describe().names, [format!("{}/old", bench.from.url()), format!("{}/older", bench.from.url())]);
    assert_eq!(source.models().len(), 2);
    let report = ConfiguredLoad::new(bench.config.clone()).unwrap().run(source).await.unwrap();
    let mut expected = contents(&bench.from, "old");
    expected.extend(contents(&bench.from, "older"));
    assert_eq!(contents(&bench.to, "copy"), expected);
    assert_eq!(report.status, Status::Complete, "{report:?}");
}

/// Begins the load and ends the process, so to speak, when `settled` documents are in.
async fn crash(config: LoadConfig, options: IndexOptions, settled: u64) {
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let source = IndexSource::open(options, &Warnings::default()).await.unwrap();
            let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
            load.progress().wait_for(|progress| progress.docs_settled >= settled).await.unwrap();
            std::mem::forget(load);
        });
        runtime.shutdown_timeout(Duration::from_secs(20));
    });
    tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_was_cut_off_goes_on_by_sequence_number() {
    for cut in [0, 300, 1200] {
        let mut bench = Bench::new(Flavor::elasticsearch_7(), 2_000).await;
        bench.slowly(4_000);
        crash(bench.config.clone(), bench.options("old"), cut).await;
        // Meanwhile some documents change, and some are new.
        bench.write((0..2_000).filter(|n| n % 5 == 1), 2).await;
        bench.write(3_000..3_050, 2).await;
        let resumed = LoadConfig { resume: true, ..bench.config.clone() };
        crash(resumed.clone(), bench.options("old"), cut + 200).await;
        bench.from.clear_requests();
        let report = bench.load_with(resumed.clone(), bench.options("old")).await;
        assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
        bench.assert_same();
        // What changed may have been read twice, nothing else was.
        let most = bench.from.documents("old").len() as u64 + 450;
        assert!(report.counts.docs_read <= most, "cut at {cut}: {report:?}");
        assert_eq!(report.counts.possible_duplicates, 0);

        // An index that was made anew is another one.
        crash(bench.config.clone(), bench.options("old"), 100).await;
        bench.send("DELETE", "/old", Value::Null).await;
        bench.write(0..10, 0).await;
        let source = bench.open(bench.options("old")).await.unwrap();
        let refused = ConfiguredLoad::new(resumed).unwrap().run(source).await.unwrap_err().to_string();
        assert!(refused.contains("/old was deleted and created again"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_point_in_time_that_is_lost_is_opened_anew() {
    let mut bench = Bench::new(Flavor::opensearch_3(), 2_000).await;
    bench.slowly(4_000);
    let source = bench.open(bench.options("old")).await.unwrap();
    let load = ConfiguredLoad::new(bench.config.clone()).unwrap().start(Box::new(source)).await.unwrap();
    for settled in [200, 600, 1_000] {
        load.progress().wait_for(|progress| progress.docs_settled >= settled).await.unwrap();
        // What changes while none is open has another place in the source afterwards.
        bench.write((0..2_000).filter(|n| n % 11 == 3), settled).await;
        bench.send("POST", "/old/_refresh", Value::Null).await;
        bench.from.expire_points_in_time();
    }
    let report = load.finish().await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
    assert_eq!(contents(&bench.to, "copy").len(), bench.from.documents("old").len());
}

/// Writes to the source while it is read.
async fn load_while_written(bench: &Bench, options: IndexOptions) -> Report {
    let source = bench.open(options).await.unwrap();
    let load = ConfiguredLoad::new(bench.config.clone()).unwrap().start(Box::new(source)).await.unwrap();
    for (round, settled) in [(10, 100), (11, 500), (12, 900), (13, 1_300)] {
        load.progress().wait_for(|progress| progress.docs_settled >= settled).await.unwrap();
        bench.write((0..2_000).filter(|n| n % 4 == 1), round).await;
        bench.write(round * 1_000..round * 1_000 + 20, round).await;
    }
    let report = load.finish().await;
    assert_eq!((report.status, report.verified.state), (Status::Complete, VerifiedState::Yes), "{report:?}");
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_meanwhile_is_caught_up_with() {
    let mut bench = Bench::new(Flavor::elasticsearch_8(), 2_000).await;
    bench.slowly(4_000);
    let options = IndexOptions { catch_up: true, ..bench.options("old") };
    let report = load_while_written(&bench, options).await;
    bench.assert_same();
    assert!(report.counts.docs_read > bench.from.documents("old").len() as u64, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_points_in_time_what_changes_is_read_again() {
    let mut bench = Bench::new(Flavor::elasticsearch_8(), 2_000).await;
    bench.slowly(4_000);
    let refused = Rule::new(Fault::RequestForbidden).path("/_pit");
    bench.from.set_faults(Faults::new([refused]));
    load_while_written(&bench, bench.options("old")).await;
    bench.assert_same();
    let requests = bench.from.requests();
    assert!(requests.iter().any(|request| request.path.starts_with("/old/_search?") && request.status == 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_statistics_and_points_in_time_ends_are_searched_for() {
    let bench = Bench::new(Flavor::opensearch_3(), 500).await;
    let rules = ["/point_in_time", "/_stats", "/_refresh"].map(|path| Rule::new(Fault::RequestForbidden).path(path));
    bench.send("POST", "/old/_refresh", Value::Null).await;
    bench.from.set_faults(Faults::new(rules));
    let report = bench.load().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    bench.assert_same();
    assert!(
        report.warnings.iter().any(|warning| warning.contains("may not refresh the index")),
        "{:?}",
        report.warnings
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_in_trouble_is_waited_for() {
    for fault in [
        Fault::RequestRejected,
        Fault::Unavailable,
        Fault::BadGateway,
        Fault::BreakerTransient,
        Fault::ResetBeforeApplying,
        Fault::ReplyTruncated,
        Fault::ReplyNotJson,
    ] {
        let bench = Bench::new(Flavor::opensearch_3(), 300).await;
        // Set before the source is opened, as it reads ahead from then on, and late enough for its
        // points in time.
        bench.from.set_faults(Faults::new([Rule::new(fault).path("/_search").after(20).first(3)]));
        let report = bench.load().await;
        assert_eq!(bench.from.faults_applied(), 3, "{fault:?}");
        assert_eq!(report.status, Status::Complete, "{fault:?}: {report:?}");
        bench.assert_same();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_stays_in_trouble_stops_the_load() {
    let bench = Bench::new(Flavor::opensearch_3(), 1_000).await;
    let options = IndexOptions { retry_for: Duration::from_millis(300), ..bench.options("old") };
    let source = bench.open(options).await.unwrap();
    bench.from.set_faults(Faults::new([Rule::new(Fault::RequestRejected).path("/_search").after(20)]));
    let report = ConfiguredLoad::new(bench.config.clone()).unwrap().run(source).await.unwrap();
    assert_eq!(report.status, Status::Failed, "{report:?}");
    let why = report.failure.clone().unwrap_or_default();
    assert!(why.contains("429") && why.contains("option `resume` continues"), "{why}");
    assert!(report.counts.docs_created > 0);
    bench.from.set_faults(Faults::new([]));
    let resumed = LoadConfig { resume: true, ..bench.config.clone() };
    let report = bench.load_with(resumed, bench.options("old")).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    bench.assert_same();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_said_before() {
    let bench = Bench::new(Flavor::opensearch_3(), 10).await;
    bench.send("PUT", "/lost", json!({"mappings": {"_source": {"enabled": false}}})).await;
    bench.send("PUT", "/bare", json!({"settings": {"index.disable_sequence_numbers": true}})).await;
    bench.send("POST", "/old/_close", Value::Null).await;
    let query = Some(json!({"nonsense": {}}));
    bench.send("PUT", "/fine/_doc/1?refresh=true", json!({})).await;
    for (options, expected) in [
        (bench.options("nowhere"), "no such index [nowhere]"),
        (bench.options("no*"), "matches no index"),
        (bench.options("lost"), "lost: it keeps no _source"),
        (bench.options("bare"), "bare: it keeps no sequence numbers"),
        (bench.options("old"), "old: it is closed"),
        (IndexOptions { query, ..bench.options("fine") }, "unknown query [nonsense]"),
    ] {
        let name = options.address.expression.clone();
        let error = bench.open(options).await.err().map_or_else(|| "opened".to_owned(), |error| error.to_string());
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_index_is_a_source_without_documents() {
    let bench = Bench::new(Flavor::elasticsearch_7(), 0).await;
    let report = bench.load().await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, 0), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_several_indices_is_a_warning_with_its_number() {
    let bench = Bench::new(Flavor::default(), 10).await;
    for index in ["c-1", "c-2", "c-3"] {
        let body =
            (0..4).map(|n| format!("{{\"index\":{{\"_id\":\"{n}\"}}}}\n{{\"of\":\"{index}\"}}\n")).collect::<String>();
        let own = format!("{{\"index\":{{\"_id\":\"{index}\"}}}}\n{{\"of\":\"{index}\"}}\n");
        bench.client.bulk(&format!("/{index}/_bulk"), body + &own).await.unwrap();
        bench.send("PUT", &format!("/{index}/_alias/all"), json!({})).await;
    }
    for (expression, collisions) in [("c-*", 8), ("c-1,c-3", 4), ("all", 8), ("c-1", 0), ("c-2,old", 0)] {
        let mut config = bench.config.clone();
        config.index = format!("copy-{collisions}-{}", expression.len()).parse().unwrap();
        let report = bench.load_with(config, bench.options(expression)).await;
        let told: Vec<&String> = report.warnings.iter().filter(|w| w.contains("several indices")).collect();
        assert_eq!(told.len(), usize::from(collisions > 0), "{expression}: {:?}", report.warnings);
        if let Some(told) = told.first() {
            assert!(told.contains(&format!("({collisions} times)")), "{told}");
            assert!(told.contains("index_in_id"), "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_in_an_id_keeps_documents_apart() {
    let bench = Bench::new(Flavor::default(), 0).await;
    for index in ["c-1", "c-2"] {
        let body = "{\"index\":{\"_id\":\"1\"}}\n{\"n\":1}\n".to_owned();
        bench.client.bulk(&format!("/{index}/_bulk"), body).await.unwrap();
    }
    let options = IndexOptions { index_in_id: true, ..bench.options("c-*") };
    let report = bench.load().await;
    assert_eq!(report.counts.docs_read, 0);
    let report = bench.load_with(bench.config.clone(), options).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 2));
    assert!(report.warnings.iter().all(|warning| !warning.contains("several indices")), "{:?}", report.warnings);
    let ids: Vec<String> = documents(&bench.to, "copy").into_keys().collect();
    assert_eq!(ids, ["c-1:1", "c-2:1"]);
}
