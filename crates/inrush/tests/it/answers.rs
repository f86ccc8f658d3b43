//! Answers about a shard, a node or the cluster, answers that no table knows, and the inventions of
//! gateways: none of them ends a document that would be stored a moment later.

use std::time::Duration;

use inrush_core::{Action, OnConflict};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_load::config::{LoadConfig, OldWrites, SwapConfig};
use inrush_load::{ConfiguredLoad, Report, Status};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Lines, config, load};

const DOCS: u64 = 300;

async fn job(rule: Rule) -> (FakeCluster, LoadConfig, TempDir) {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    fake.set_faults(Faults::new([rule]));
    let (mut config, folder) = config(fake.urls(), "docs");
    config.id = Some("id".parse().unwrap());
    (fake, config, folder)
}

fn documents() -> Vec<String> {
    (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}")).collect()
}

fn complete(fake: &FakeCluster, report: &Report, what: &str) {
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Complete, 0), "{what}: {report:?}");
    assert_eq!(fake.documents("docs").len() as u64, DOCS, "{what}");
}

/// States, and errors that no table has.
const PASSING: [(u16, &str, &str); 12] = [
    (404, "shard_not_found_exception", "no such shard"),
    (404, "index_shard_closed_exception", "CurrentState[CLOSED] Closed"),
    (404, "primary_shard_closed_exception", "Primary closed"),
    (400, "task_cancelled_exception", "task cancelled [by user request]"),
    (400, "resource_already_exists_exception", "index [docs/abc] already exists"),
    (400, "general_script_exception", "Failed to compile inline script; caused by circuit_breaking_exception: …"),
    (400, "illegal_argument_exception", "no write index is defined for alias [docs]. The write index may be …"),
    (424, "node_decommissioned_exception", "node is decommissioned"),
    (500, "i_o_exception", "No space left on device"),
    (403, "index_create_block_exception", "blocked by: [FORBIDDEN/10/cluster create-index blocked (api)];"),
    (400, "weather_exception", "it rains"),
    (409, "weather_exception", "it rains"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_passes_loses_nothing() {
    for (status, kind, reason) in PASSING {
        for action in [Action::Index, Action::Create] {
            let rule = Rule::new(Fault::ItemRefused).error(status, kind, reason).first(150);
            let (fake, mut config, _folder) = job(rule).await;
            config.action = action;
            complete(&fake, &load(&config, documents()).await, kind);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_answers_for_itself_for_a_while_loses_nothing() {
    for (status, kind) in
        [(400, ""), (404, ""), (409, ""), (418, ""), (423, ""), (451, ""), (400, "task_cancelled_exception")]
    {
        let (fake, config, _folder) =
            job(Rule::new(Fault::RequestRefused).error(status, kind, "not now").first(5)).await;
        complete(&fake, &load(&config, documents()).await, &format!("{status} {kind}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_stays_away_ends_the_load_with_its_reason() {
    for (kind, words, after) in
        [("shard_not_found_exception", "no such shard", 100), ("weather_exception", "does not know", 0)]
    {
        let (fake, mut config, _folder) =
            job(Rule::new(Fault::ItemRefused).error(404, kind, "no such shard").after(after)).await;
        config.limits.retries = 3;
        let report = load(&config, documents()).await;
        assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Failed, 0), "{report:?}");
        let failure = report.failure.as_ref().unwrap();
        assert!(failure.contains(&format!("404 {kind}: no such shard")) && failure.contains(words), "{failure}");
        assert_eq!(fake.documents("docs").len() as u64, report.counts.docs_created);
    }
}

/// Others are in: the documents look like the cause, and are named with what the server said.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_table_knows_is_retried_and_then_named() {
    for fault in [Fault::ItemRefused, Fault::RequestRefused] {
        let (fake, mut config, folder) =
            job(Rule::new(fault).error(418, "weather_exception", "it rains").ids(["i7"])).await;
        config.limits.retries = 3;
        let report = load(&config, documents()).await;
        assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 1), "{fault:?}: {report:?}");
        assert_eq!(fake.documents("docs").len() as u64, DOCS - 1);
        let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
        let letter: Value = serde_json::from_str(letters.trim()).unwrap();
        assert_eq!((&letter["error"]["status"], &letter["error"]["type"]), (&418.into(), &"weather_exception".into()));
        let reason = letter["error"]["reason"].as_str().unwrap();
        assert!(reason.contains("does not know") && reason.contains("it rains"), "{reason}");
        assert_eq!(letter["document"]["id"], "i7");
    }
}

/// The 409 of something else is no proof that the document is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_409_that_is_no_version_conflict_settles_nothing() {
    let (fake, mut config, _folder) = job(Rule::new(Fault::RequestRefused).error(409, "", "not now").first(2)).await;
    fake.set_faults(Faults::new([
        Rule::new(Fault::ResetBeforeApplying).first(1),
        Rule::new(Fault::ItemRefused).error(409, "locked_exception", "not now").times_per_id(1),
    ]));
    config.action = Action::Create;
    config.limits.retry_wait = Duration::from_millis(1);
    let report = load(&config, documents()).await;
    complete(&fake, &report, "409");
    assert_eq!(report.counts.docs_already_there, 0, "{report:?}");
}

/// An index that rebuilds its documents would make each equal document a dead letter.
#[tokio::test(flavor = "multi_thread")]
async fn documents_are_compared_only_where_the_index_returns_them_as_they_were_sent() {
    let (fake, mut config, folder) = job(Rule::new(Fault::ItemConflict).first(0)).await;
    fake.call("PUT", "/docs", json!({"mappings": {"_source": {"mode": "synthetic"}}})).unwrap();
    config.action = Action::Create;
    config.on_conflict = OnConflict::Compare;
    let start = ConfiguredLoad::new(config.clone()).unwrap().start(Box::new(Lines::new(documents()))).await;
    let error = start.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("option `on_conflict` is compare, but the index docs rebuilds its _source"), "{error}");
    assert_eq!(fake.documents("docs").len(), 0);

    // A template makes the index so during the load, and the source has an id twice.
    fake.call("DELETE", "/docs", Value::Null).unwrap();
    let template = json!({"index_patterns": ["docs*"], "template": {"mappings": {"_source": {"mode": "synthetic"}}}});
    fake.call("PUT", "/_index_template/t", template).unwrap();
    let twice = documents().into_iter().chain(["{\"id\":\"i0\",\"n\":7}".to_owned()]);
    let report = load(&config, twice).await;
    assert_eq!((report.status, report.counts.docs_dead_lettered), (Status::Incomplete, 1), "{report:?}");
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    assert!(letters.contains("could not be compared: the index docs rebuilds its _source"), "{letters}");
}

/// Elasticsearch 9.5 drops sequence numbers in some modes. Each update would be a dead letter, and
/// late writes could not be found at the end of a load.
#[tokio::test(flavor = "multi_thread")]
async fn what_needs_sequence_numbers_is_refused_where_the_index_keeps_none() {
    let run = async |config: &LoadConfig| {
        let load = ConfiguredLoad::new(config.clone()).unwrap().start(Box::new(Lines::new(documents()))).await;
        match load {
            Ok(load) => Ok(load.finish().await),
            Err(error) => Err(error.to_string()),
        }
    };
    for (mode, is_refused) in [("columnar", true), ("logsdb_columnar", true), ("logsdb", false), ("standard", false)] {
        let fake = FakeCluster::start(FakeConfig::default().flavor(Flavor::elasticsearch_9())).await.unwrap();
        fake.call("PUT", "/docs", json!({"settings": {"index.mode": mode}, "aliases": {"all": {}}})).unwrap();
        let (config, _folder) = config(fake.urls(), "docs");
        let mut changed = config.clone();
        changed.id = Some("id".parse().unwrap());
        for action in [Action::Index, Action::Upsert, Action::Update] {
            changed.action = action;
            let found = run(&changed).await;
            let expected = is_refused && matches!(action, Action::Update | Action::Upsert);
            assert_eq!(found.is_err(), expected, "{mode}: {action:?}: {found:?}");
            assert!(found.err().is_none_or(|why| why.contains("the index docs keeps no sequence numbers")));
        }
        for (old_writes, index) in [(OldWrites::CatchUp, "next"), (OldWrites::Report, "other")] {
            let mut swap = config.clone();
            swap.index = index.parse().unwrap();
            swap.finish.swap = Some(SwapConfig { old_writes, ..SwapConfig::new("all") });
            let found = run(&swap).await;
            let expected = is_refused && old_writes == OldWrites::CatchUp;
            assert_eq!(found.is_err(), expected, "{mode}: {old_writes:?}: {found:?}");
            assert!(found.err().is_none_or(|why| why.contains("keeps no sequence numbers")));
        }
    }
}
