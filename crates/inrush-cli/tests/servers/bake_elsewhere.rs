//! A bake whose shards are built elsewhere, as tasks of Spark do it: here by loads of this process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use inrush_bake::{BakeError, BakeReport};
use inrush_core::routing::Routing;
use inrush_front::embed::{self, BuiltShard, ShardOrder, ShardsBake};
use inrush_load::{Status, VerifiedState};
use inrush_testbed::users;
use serde_json::{Map, Value, json};

use crate::server::{self, Server, Version};

const DOCS: u64 = 3_000;
/// One shard has few documents, and one that no id leads to stays empty.
const SHARDS: u32 = 3;

pub fn options(to: &str, state: &std::path::Path, more: Value) -> Map<String, Value> {
    let mapping = json!({"properties": {"id": {"type": "keyword"}, "n": {"type": "long"}, "text": {"type": "text"}}});
    let common = json!({"to": to, "index": "flights", "id": "id", "mapping": mapping, "engine": "native", "shards": SHARDS,
        "settings": {"number_of_routing_shards": 2 * SHARDS}, "replicas": 0, "state": state, "no_resume": true, "build_memory": "16MiB"});
    let mut options = common.as_object().cloned().unwrap();
    options.extend(more.as_object().cloned().unwrap());
    options
}

/// The documents of a shard. No document is in the last one.
fn of_shard(order: &ShardOrder, shard: u32) -> Vec<(String, Vec<u8>)> {
    let parting = order.parting(Some("id".parse().unwrap()), None).unwrap();
    let all = (0..DOCS).map(|n| format!("i{n}")).enumerate();
    let ours = all.filter(|(_, id)| parting.routing.shard(id, None) == shard && shard + 1 < SHARDS);
    let text = |n: usize| format!("words {}", n * 7919);
    ours.map(|(n, id)| {
        let document = json!({"id": id, "n": n, "text": text(n)}).to_string().into_bytes();
        (id, document)
    })
    .collect()
}

/// Builds a shard as a task does. One that is `lost` ends in the middle.
async fn attempt(
    order: &ShardOrder,
    options: &Map<String, Value>,
    shard: u32,
    documents: &[(String, Vec<u8>)],
    lost: bool,
) -> Option<Result<BuiltShard, BakeError>> {
    // Orders and shards go from machine to machine as JSON.
    let order: ShardOrder = serde_json::from_str(&serde_json::to_string(order).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = options.clone();
    options.insert("dead_letters".to_owned(), json!(folder.path().join("dead.ndjson")));
    let load = embed::Load::of_shard(options, order, shard).unwrap();
    let (sender, mut begun) = load.start_fed("task", None, &|_| {}).await.unwrap();
    let documents = if lost { &documents[..documents.len() / 2] } else { documents };
    for (_, document) in documents {
        sender.add(document, inrush_core::DocMeta::default()).unwrap();
    }
    if lost {
        begun.load.stop_handle().stop();
        return None;
    }
    sender.end();
    let report = begun.load.finish().await;
    let built = begun.shard.take().unwrap().end(report).await;
    Some(built.map(|built| serde_json::from_str(&serde_json::to_string(&built).unwrap()).unwrap()))
}

/// Has the index built, each shard by one attempt that is lost and two that end.
pub async fn bake(options: Map<String, Value>) -> BakeReport {
    let ShardsBake { running, order, built } =
        ShardsBake::start(options.clone(), "tasks", [None, None, None]).await.unwrap();
    let Ok(order) = order.await else { panic!("{}", running.finish().await.unwrap_err()) };
    let mut shards = Vec::new();
    for shard in 0..order.shards() {
        let documents = of_shard(&order, shard);
        if documents.is_empty() {
            continue;
        }
        assert!(attempt(&order, &options, shard, &documents, true).await.is_none());
        attempt(&order, &options, shard, &documents, false).await.unwrap().unwrap();
        shards.push(attempt(&order, &options, shard, &documents, false).await.unwrap().unwrap());
    }
    assert_eq!(shards.len() as u32, SHARDS - 1);
    assert!(built.send(Ok(shards)).is_ok());
    running.finish().await.unwrap()
}

/// The target has each document where an index looks for it.
pub async fn check(report: &BakeReport, target: &Server) {
    let BakeReport { load, hand_over: bake } = report;
    assert_eq!((load.status, load.verified.state), (Status::Complete, VerifiedState::Yes), "{load:#?}");
    assert!(bake.handed_over && bake.left.is_empty(), "{bake:?}");
    let docs = load.counts.docs_created;
    let routing = Routing::new(SHARDS, Some(2 * SHARDS), 1).unwrap();
    let is_in = |n: &u64| routing.shard(&format!("i{n}"), None) + 1 < SHARDS;
    let (expected, has_first) = ((0..DOCS).filter(is_in).count() as u64, is_in(&0));
    assert_eq!(docs, expected);
    assert_eq!(target.send("GET", "/flights/_count", Value::Null).await["count"], docs);
    let text = json!({"query": {"match_phrase": {"text": "words 0"}}, "track_total_hits": true});
    let words = json!({"query": {"match": {"text": "words"}}, "track_total_hits": true});
    for (query, expected) in [(text, u64::from(has_first)), (words, docs)] {
        assert_eq!(target.send("POST", "/flights/_search", query).await["hits"]["total"]["value"], expected);
    }
    let hits = target.send("POST", "/flights/_search?size=50", json!({"query": {"range": {"n": {"gte": 7}}}})).await;
    for hit in hits["hits"]["hits"].as_array().unwrap() {
        let id = hit["_id"].as_str().unwrap();
        let found = target.send("GET", &format!("/flights/_doc/{id}"), Value::Null).await;
        assert_eq!(found["_source"], hit["_source"], "{id}");
    }
    // It lives on.
    let update = target.send("POST", "/flights/_update_by_query?refresh=true", json!({})).await;
    assert_eq!(update["updated"], docs, "{update}");
}

/// Kills a driver that waits for its shards.
fn killed_when_ordered(options: &Map<String, Value>) {
    let mut driver = Command::new(std::env::current_exe().unwrap());
    driver.args(["--exact", "--ignored", "--nocapture", "bake_elsewhere::a_driver_that_waits"]).stdin(Stdio::null());
    driver.env(OPTIONS, Value::Object(options.clone()).to_string());
    let mut driver = driver.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with(ORDERED)), "it ended before");
    driver.kill().unwrap();
    driver.wait().unwrap();
}

/// The options of a bake in another process.
pub const OPTIONS: &str = "INRUSH_TEST_OPTIONS";
const ORDERED: &str = "the shards are ordered";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test runs it, and kills it"]
async fn a_driver_that_waits() {
    let Ok(options) = std::env::var(OPTIONS) else { return };
    let options = serde_json::from_str(&options).unwrap();
    let ShardsBake { running, order, built: _built } =
        ShardsBake::start(options, "tasks", [None, None, None]).await.unwrap();
    order.await.unwrap();
    println!("{ORDERED}");
    running.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn through_a_folder() {
    let folder = server::folder();
    let shared = folder.join("shared");
    server::make_shared(&shared);
    let settings = vec![("path.repo".to_owned(), format!("{shared:?}"))];
    let target =
        Server::own_with(Version::OpenSearch3, 1, |spec| (spec.heap_mib, spec.settings) = (600, settings)).await;
    let options = options(&target.url(), &folder.join("state"), json!({"repository_path": shared}));
    let report = bake(options.clone()).await;
    check(&report, &target).await;
    let is_clean = async || {
        assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
        assert_eq!(target.send("GET", "/_snapshot", Value::Null).await, json!({}));
        let records = std::fs::read_dir(folder.join("state/bakes")).unwrap();
        assert_eq!(records.flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "json")).count(), 0);
    };
    is_clean().await;
    target.send("DELETE", "/flights", Value::Null).await;
    // A job that fails leaves nothing, nor does one that mixes attempts up or forgets the bake.
    for expected in ["the job was cancelled", "was built twice", "has ended"] {
        let ShardsBake { running, order, built } =
            ShardsBake::start(options.clone(), "tasks", [None, None, None]).await.unwrap();
        let order = order.await.unwrap();
        let documents = of_shard(&order, 0);
        let shard = attempt(&order, &options, 0, &documents, false).await.unwrap().unwrap();
        match expected {
            "was built twice" => drop(built.send(Ok(vec![shard.clone(), shard]))),
            "has ended" => drop(built),
            why => drop(built.send(Err(why.to_owned()))),
        }
        let error = running.finish().await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("not cleaned up"), "{error}");
        is_clean().await;
        assert_eq!(target.client.json("GET", "/flights", Value::Null).await.unwrap().status, 404);
        // A task that is late finds no place.
        let late = embed::Load::of_shard(options.clone(), order, 1).unwrap().start_fed("task", None, &|_| {}).await;
        assert!(late.map(drop).unwrap_err().message.contains("cannot create"));
    }
    // After a kill the next bake takes away what is left, and builds.
    killed_when_ordered(&options);
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 1);
    let report = bake(options.clone()).await;
    check(&report, &target).await;
    is_clean().await;
    target.send("DELETE", "/flights", Value::Null).await;
    // What needs a server is named before anything is built.
    let mut options = options;
    options.insert("mapping".to_owned(), json!({"properties": {"q": {"type": "percolator"}}}));
    for engine in ["native", "auto"] {
        options.insert("engine".to_owned(), json!(engine));
        let ShardsBake { running, order, built: _ } =
            ShardsBake::start(options.clone(), "tasks", [None, None, None]).await.unwrap();
        assert!(order.await.is_err());
        let error = running.finish().await.unwrap_err();
        assert!(
            error.code() == inrush_core::Code::BakeNotNative && error.to_string().contains("percolator"),
            "{error}"
        );
        is_clean().await;
    }
    target.stop().await;
    users::delete(&folder).unwrap();
}
