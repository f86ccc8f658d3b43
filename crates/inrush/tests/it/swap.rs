//! Loads without downtime, against the fake cluster: a new index takes the place of another behind
//! an alias.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{LoadConfig, OldWrites, SwapConfig, WaitFor};
use inrush_load::cutover::{EarlierIndex, alias_history, rollback};
use inrush_load::loader::connect;
use inrush_load::{
    ConfiguredLoad, GUARD_INDEX, LOADS_INDEX, LoadError, OldIndex, Phase, PushLoad, RecoverOptions, RecoveredState,
    Report, Status, Step, recover,
};
use inrush_sources::push::Document;
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{self, Lines, config, documents};

/// Two nodes, and the alias `trips` on `trips-1`, which holds two documents.
async fn fake() -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
    fake.call("PUT", "/trips-1", json!({"aliases": {"trips": carried()}})).unwrap();
    write(&fake, "trips-1", &[("i0", json!({"n": 0})), ("i1", json!({"n": 1}))]).await;
    fake
}

fn carried() -> Value {
    json!({"filter": {"term": {"t": "a"}}, "index_routing": "1", "search_routing": "1", "is_write_index": true})
}

fn swap(fake: &FakeCluster) -> (LoadConfig, TempDir) {
    let (mut config, folder) = config(fake.urls(), "trips");
    config.id = Some("id".parse().unwrap());
    config.guard.state = Some(folder.path().join("state"));
    config.finish.swap = Some(SwapConfig::new("trips"));
    (config, folder)
}

fn options(config: &mut LoadConfig) -> &mut SwapConfig {
    config.finish.swap.as_mut().unwrap()
}

async fn load(config: &LoadConfig) -> Report {
    common::load(config, documents(500, 500)).await
}

async fn refusal(config: LoadConfig) -> String {
    let refused = ConfiguredLoad::new(config).unwrap().run(Lines::new(documents(10, 10))).await;
    refused.map(|report| format!("not refused: {report:?}")).unwrap_err().to_string()
}

async fn send(fake: &FakeCluster, method: &str, path: &str, body: Value) -> Value {
    Client::new(&fake.url()).unwrap().json(method, path, body).await.unwrap().json()
}

async fn write(fake: &FakeCluster, index: &str, documents: &[(&str, Value)]) {
    for (id, document) in documents {
        let reply = send(fake, "PUT", &format!("/{index}/_doc/{id}?refresh=true"), document.clone()).await;
        assert!(reply["result"].is_string(), "{reply}");
    }
}

/// The indices that an alias stands for, with what it carries.
fn stands_for(fake: &FakeCluster, alias: &str) -> Vec<(String, Value)> {
    let carried = |index: String| Some((index.clone(), fake.aliases(&index).get(alias)?.clone()));
    fake.indices().into_iter().filter_map(carried).collect()
}

fn indices(fake: &FakeCluster) -> Vec<String> {
    fake.indices().into_iter().filter(|name| ![GUARD_INDEX, LOADS_INDEX].contains(&name.as_str())).collect()
}

/// The alias is where it was, its index has what it had, and the new index is kept and named.
fn untouched(fake: &FakeCluster, report: &Report) {
    assert_eq!(stands_for(fake, "trips"), [("trips-1".to_owned(), carried())], "{report:?}");
    assert_eq!(fake.documents("trips-1").len(), 2);
    let swap = report.swap.as_ref().unwrap();
    assert_eq!((swap.swapped, swap.old), (false, OldIndex::Untouched), "{report:?}");
    assert!(indices(fake).contains(&swap.index) && swap.detail.contains(&swap.index), "{swap:?}");
    assert!(swap.what_next.as_ref().unwrap().contains(&format!("DELETE /{}", swap.index)), "{swap:?}");
    assert!(report.finish.steps.iter().all(|step| step.step != Step::Swap));
    assert_eq!(fake.setting("trips-1", "index.blocks.write"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_alias_is_moved_with_what_it_carries() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    config.finish.force_merge = Some(1);
    options(&mut config).warm = vec![json!({"query": {"match_all": {}}}), json!({"size": 0})];
    let report = load(&config).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, 500), "{report:?}");
    let swap = report.swap.unwrap();
    assert!(swap.swapped && swap.index.starts_with("trips-20"), "{swap:?}");
    assert_eq!((swap.old, swap.old_index.as_deref()), (OldIndex::Kept, Some("trips-1")));
    assert_eq!(stands_for(&fake, "trips"), [(swap.index.clone(), carried())]);
    assert_eq!((fake.documents("trips-1").len(), fake.documents("trips").len()), (2, 500));
    let steps: Vec<Step> = report.finish.steps.iter().map(|step| step.step).collect();
    assert_eq!(steps, [Step::ForceMerge, Step::Searchable, Step::Green, Step::Warm, Step::Swap]);
    assert_eq!(swap.old_writes.unwrap().operations, Some(0));
    // Searches through the alias look at one shard, and the documents have no routing.
    assert!(report.warnings[0].contains("search_routing 1"), "{:?}", report.warnings);
    // The one request that changes aliases.
    assert_eq!(fake.requests().iter().filter(|request| request.path == "/_aliases").count(), 1);
    let again = load(&config).await;
    assert_eq!(again.swap.unwrap().old_index, Some(swap.index));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_new_index_is_made_like_the_one_that_it_replaces() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let mapping = json!({"properties": {"n": {"type": "long"}, "t": {"type": "keyword"}}});
    let settings = json!({"number_of_shards": 3, "number_of_replicas": 0, "refresh_interval": "7s"});
    let aliases = json!({"trips": {}});
    let old = json!({"mappings": mapping, "settings": settings, "aliases": aliases});
    fake.call("PUT", "/trips-1", old).unwrap();
    let (plain, _folder) = swap(&fake);
    let made = async |config: &LoadConfig| {
        let report = load(config).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        let new = report.new_index.clone().unwrap();
        (new.name, new.mapping, new.settings, report.warnings)
    };
    let (first, from, settings, warnings) = made(&plain).await;
    assert_eq!((from.as_str(), settings.as_str()), ("of trips-1", "of trips-1"));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(fake.mapping(&first)["properties"]["t"]["type"], "keyword");
    for (name, value) in [("number_of_shards", "3"), ("number_of_replicas", "0"), ("refresh_interval", "7s")] {
        assert_eq!(fake.setting(&first, &format!("index.{name}")).as_deref(), Some(value), "{name}");
    }
    // What the user gives goes first, part by part.
    let mut given = plain.clone();
    given.create.mapping = Some(json!({"properties": {"t": {"type": "text"}}}));
    given.create.shards = Some(2);
    let (second, from, settings, _) = made(&given).await;
    assert_eq!((from, settings), ("given".to_owned(), format!("of {first}")));
    assert_eq!(fake.mapping(&second)["properties"]["t"]["type"], "text");
    assert_eq!(fake.setting(&second, "index.number_of_shards").as_deref(), Some("2"));
    // An index template says how new indices are. What it lacks is told.
    let template =
        json!({"index_patterns": ["trips-2*"], "template": {"mappings": {"properties": {"n": {"type": "long"}}}}});
    send(&fake, "PUT", "/_index_template/trips", template).await;
    let (_, from, settings, warnings) = made(&plain).await;
    assert_eq!((from, settings), ("of an index template".to_owned(), format!("of {second}")));
    assert!(warnings[0].contains("its mapping of") && warnings[0].contains(&second), "{warnings:?}");
    // Nothing is taken where that is asked for.
    let mut anew = plain.clone();
    anew.create.anew = true;
    send(&fake, "DELETE", "/_index_template/trips", Value::Null).await;
    let (last, from, settings, _) = made(&anew).await;
    assert_eq!((from.as_str(), settings.as_str()), ("dynamic", "defaults"));
    assert_eq!(fake.setting(&last, "index.number_of_shards").as_deref(), Some("1"));
    // A mapping that the documents made is made anew, because documents may change.
    let (_, from, ..) = made(&plain).await;
    assert_eq!(from, "dynamic");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_load_that_was_killed_are_not_handed_on() {
    let fake = fake().await;
    let put = async |settings: Value| send(&fake, "PUT", "/trips-1/_settings", settings).await;
    put(
        json!({"index.refresh_interval": "60s", "index.number_of_replicas": "0", "index.translog.durability": "async"}),
    )
    .await;
    let uuid = fake.setting("trips-1", "index.uuid").unwrap();
    let lease = json!({"index": "trips-1", "phase": "held", "holders": {"dead": {"beat": 3}}, "changes": {
        "index.refresh_interval": {"original": "7s", "applied": "60s"},
        "index.number_of_replicas": {"original": null, "applied": "0"},
        // Another client has changed it since.
        "index.translog.durability": {"original": null, "applied": "request"},
    }});
    send(&fake, "PUT", &format!("/{GUARD_INDEX}/_doc/{uuid}"), lease).await;
    let (config, _folder) = swap(&fake);
    let report = load(&config).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let new = report.new_index.unwrap().name;
    let setting = |name: &str| fake.setting(&new, name);
    assert_eq!(setting("index.refresh_interval").as_deref(), Some("7s"));
    assert_ne!(setting("index.number_of_replicas").as_deref(), Some("0"));
    assert_eq!(setting("index.translog.durability").as_deref(), Some("async"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_does_not_exist_is_made() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (mut config, _folder) = swap(&fake);
    config.index = "flights-v2".parse().unwrap();
    let report = load(&config).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_eq!(stands_for(&fake, "trips"), [("flights-v2".to_owned(), json!({}))]);
    assert_eq!(report.swap.unwrap().old, OldIndex::None);
    // One node has no place for a replica, so yellow is what there is to wait for.
    let green = report.finish.steps.iter().find(|step| step.step == Step::Green).unwrap();
    assert!(green.detail.contains("the best state that the nodes allow"), "{green:?}");
    assert!(refusal(config).await.contains("flights-v2: it exists already"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_gives_way_to_the_alias_of_its_name() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    fake.call("PUT", "/trips", json!({})).unwrap();
    write(&fake, "trips", &[("old", json!({"n": 0}))]).await;
    let (mut config, _folder) = swap(&fake);
    let why = refusal(config.clone()).await;
    assert!(why.contains("trips is an index") && why.contains("option `delete_old`"), "{why}");
    assert_eq!(indices(&fake), ["trips"]);
    options(&mut config).delete_old = true;
    let report = load(&config).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let swap = report.swap.unwrap();
    assert_eq!((swap.swapped, swap.old), (true, OldIndex::Deleted));
    assert_eq!(indices(&fake), std::slice::from_ref(&swap.index));
    assert_eq!(stands_for(&fake, "trips"), [(swap.index, json!({}))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_index_is_deleted_where_that_is_asked_for_and_nothing_else_needs_it() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    options(&mut config).delete_old = true;
    send(&fake, "PUT", "/trips-1/_alias/archive", json!({})).await;
    let why = refusal(config.clone()).await;
    assert!(why.contains("other aliases (archive)"), "{why}");
    send(&fake, "DELETE", "/trips-1/_alias/archive", Value::Null).await;
    let report = load(&config).await;
    let swap = report.swap.unwrap();
    assert_eq!((report.status, swap.old), (Status::Complete, OldIndex::Deleted));
    assert_eq!(indices(&fake), [swap.index]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_cannot_be_swapped_are_refused() {
    let fake = fake().await;
    fake.call("PUT", "/trips-2", json!({"aliases": {"trips": {}, "trips-all": {}}})).unwrap();
    let (config, _folder) = swap(&fake);
    let why = refusal(config.clone()).await;
    assert!(why.contains("an alias of 2 indices (trips-1, trips-2)"), "{why}");

    let template = json!({"index_patterns": ["logs*"], "data_stream": {}});
    send(&fake, "PUT", "/_index_template/t", template).await;
    send(&fake, "PUT", "/_data_stream/logs", Value::Null).await;
    let mut logs = config.clone();
    logs.index = "logs".parse().unwrap();
    logs.finish.swap = Some(SwapConfig::new("logs"));
    assert!(refusal(logs.clone()).await.contains("it is the data stream logs"));
    logs.finish.swap = Some(SwapConfig::new("other"));
    logs.index = "logs-new".parse().unwrap();
    assert!(refusal(logs).await.contains("creates data streams"));

    let template = json!({"index_patterns": ["made-*"], "template": {"aliases": {"made": {}}}});
    send(&fake, "PUT", "/_index_template/m", template).await;
    let mut made = config;
    made.index = "made".parse().unwrap();
    made.finish.swap = Some(SwapConfig::new("made"));
    assert!(refusal(made).await.contains("remove the alias from the template"));
    assert!(!indices(&fake).iter().any(|name| name.starts_with("made")), "{:?}", indices(&fake));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_fails_leaves_everything_as_it_was() {
    let fake = fake().await;
    // Documents that are refused; by a mapping, for either request may be the first to name the
    // field.
    let (mut config, _a) = swap(&fake);
    config.create.mapping = Some(json!({"properties": {"n": {"type": "long"}}}));
    let lines = (0..100).map(|n| format!("{{\"id\":\"{n}\",\"n\":{}}}", if n % 10 == 7 { "\"x\"" } else { "1" }));
    let report = common::load(&config, lines).await;
    assert_eq!(report.status, Status::Incomplete, "{report:?}");
    untouched(&fake, &report);
    let swapped = report.swap.unwrap();
    assert!(swapped.detail.contains("10 documents were not indexed"), "{swapped:?}");
    assert!(swapped.what_next.unwrap().contains("\"remove\""));

    // A search that fails.
    let (mut config, _b) = swap(&fake);
    options(&mut config).warm = vec![json!({"query": {"match_all": {}}}), json!({"query": {"no_such_query": {}}})];
    let report = load(&config).await;
    assert_eq!((report.status, report.exit_code()), (Status::CheckFailed, 4));
    let failure = report.finish.failure.clone().unwrap();
    assert!(failure.contains("warm: search 2 of 2") && failure.contains("no_such_query"), "{failure}");
    untouched(&fake, &report);

    // Copies that do not come.
    let (mut config, _c) = swap(&fake);
    config.create.replicas = Some(2);
    config.finish.wait_for = Some(WaitFor::Green);
    config.finish.wait_timeout = Duration::from_millis(100);
    options(&mut config).old_writes = OldWrites::Block;
    let report = load(&config).await;
    assert_eq!(report.status, Status::CheckFailed, "{report:?}");
    let failure = report.finish.failure.clone().unwrap();
    assert!(failure.contains("1 of 3 shard copies") && failure.contains("option `wait_timeout`"), "{failure}");
    untouched(&fake, &report);

    // Settings that cannot be put back.
    let (mut config, _d) = swap(&fake);
    config.guard.replicas_off = true;
    let running = begin(config).await;
    fake.refuse_settings(["index.number_of_replicas"]);
    let report = running.finish().await;
    fake.refuse_settings([""; 0]);
    assert_eq!(report.status, Status::CheckFailed, "{report:?}");
    untouched(&fake, &report);

    // Another program deletes from the new index, so the count is wrong.
    let (config, _e) = swap(&fake);
    let running = begin(config).await;
    let new = indices(&fake).pop().unwrap();
    send(&fake, "DELETE", &format!("/{new}/_doc/first"), Value::Null).await;
    let report = running.finish().await;
    assert_eq!(report.status, Status::CheckFailed, "{report:?}");
    untouched(&fake, &report);

    // Another program has moved the alias meanwhile.
    let (config, _f) = swap(&fake);
    let running = begin(config).await;
    let actions = json!({"actions": [{"remove": {"index": "trips-1", "alias": "trips"}}]});
    send(&fake, "POST", "/_aliases", actions).await;
    let report = running.finish().await;
    assert_eq!(report.status, Status::CheckFailed, "{report:?}");
    assert!(report.finish.failure.unwrap().contains("was removed during the load"));
    assert_eq!(stands_for(&fake, "trips"), []);
}

fn names(indices: &[EarlierIndex]) -> Vec<&str> {
    indices.iter().map(|index| index.index.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_goes_back_to_the_index_before() {
    let fake = fake().await;
    let (config, _folder) = swap(&fake);
    let transport = Arc::new(Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap());
    let made = async || load(&config).await.swap.unwrap().index;
    let (first, second) = (made().await, made().await);
    let mut fails = config.clone();
    options(&mut fails).warm = vec![json!({"query": {"no_such_query": {}}})];
    let failed = load(&fails).await.swap.unwrap().index;
    send(&fake, "PUT", "/trips-20200101-000000-000", json!({})).await;

    let history = alias_history(&transport, "trips").await.unwrap();
    assert_eq!(history.now.as_deref(), Some(second.as_str()));
    assert_eq!(names(&history.earlier), [first.as_str(), "trips-1"], "not one of others");
    assert_eq!(names(&history.unfinished), [failed.as_str()]);
    assert_eq!((history.earlier[0].docs, history.earlier[0].complete.is_some()), (Some(500), true));
    // The index before, and the one before that: no load has made it.
    for (from, to) in [(&second, first.as_str()), (&first, "trips-1")] {
        let done = rollback(&transport, "trips", None).await.unwrap();
        assert_eq!((&done.from, done.to.as_str()), (from, to));
        assert_eq!(stands_for(&fake, "trips"), [(to.to_owned(), carried())]);
    }
    // The way forward.
    rollback(&transport, "trips", Some(&second)).await.unwrap();
    assert_eq!(stands_for(&fake, "trips"), [(second.clone(), carried())]);
    let refused = async |index: &str| rollback(&transport, "trips", Some(index)).await.unwrap_err().to_string();
    assert!(refused(&failed).await.contains("has failed or still runs"));
    assert!(refused("trips-20200101-000000-000").await.contains("is not an index that it stood for"));
    assert!(refused(&second).await.contains("already"));
    let nothing = rollback(&transport, "no-such", None).await.unwrap_err().to_string();
    assert!(nothing.contains("no-such"), "{nothing}");
    // An index that was created again is another one.
    send(&fake, "DELETE", &format!("/{first}"), Value::Null).await;
    send(&fake, "PUT", &format!("/{first}"), json!({})).await;
    assert!(rollback(&transport, "trips", None).await.unwrap_err().to_string().contains("was deleted"));
    assert_eq!(stands_for(&fake, "trips"), [(second, carried())]);
}

/// A request without an answer may be carried out later than the alias is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_way_back_that_is_never_answered_is_in_doubt() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    load(&config).await;
    config.limits.retry_for = Duration::from_secs(1);
    let transport = connect(&config).await.unwrap();
    fake.set_faults(Faults::new([Rule::new(Fault::GatewayTimeout).path("/_aliases")]));
    let doubt = rollback(&transport, "trips", None).await.unwrap_err();
    assert!(matches!(doubt, LoadError::InDoubt(_)), "{doubt:?}");
    assert!(doubt.to_string().contains("GET /_alias/trips"), "{doubt}");
    fake.set_faults(Faults::default());
    assert_eq!(rollback(&transport, "trips", None).await.unwrap().to, "trips-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_indices_are_kept_and_those_of_failed_loads_are_named() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    options(&mut config).keep = Some(1);
    let mut fails = config.clone();
    options(&mut fails).warm = vec![json!({"query": {"no_such_query": {}}})];
    let made = async || {
        let report = load(&config).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        (report.swap.unwrap(), report.finish.steps.last().unwrap().clone())
    };
    let (first, _) = made().await;
    send(&fake, "PUT", &format!("/{}/_alias/archive", first.index), json!({})).await;
    send(&fake, "PUT", "/trips-20200101-000000-000", json!({})).await;
    let failed = load(&fails).await.swap.unwrap().index;
    let (second, step) = made().await;
    assert_eq!((step.step, second.old), (Step::DeleteOld, OldIndex::Kept));
    assert!(step.detail.contains("left by a load that failed") && step.detail.ends_with(&failed), "{step:?}");
    // A copy of an index, restored under its name, has its mark, and another UUID.
    let mapping = send(&fake, "GET", &format!("/{}/_mapping", second.index), Value::Null).await;
    send(&fake, "PUT", "/trips-20200101-000000-001", json!({"mappings": mapping[&second.index]["mappings"]})).await;
    let (third, _) = made().await;
    let (fourth, step) = made().await;
    assert!(step.detail.starts_with(&format!("deleted {}; kept {}", second.index, third.index)), "{step:?}");
    // The first one has another alias, and the others were made by others.
    let others = ["trips-1", "trips-20200101-000000-000", "trips-20200101-000000-001"];
    let mut left = Vec::from(others);
    left.extend([&*failed, &*first.index, &*third.index, &*fourth.index]);
    left.sort_unstable();
    assert_eq!(indices(&fake), left);
}

/// Begins to feed a load, and returns when its first document, with the id `first`, is in.
async fn begin(config: LoadConfig) -> PushLoad {
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    load.send(Document { body: "{\"id\":\"first\"}".into(), ..Document::default() }).await.unwrap();
    load.progress().wait_for(|p| p.docs_settled > 0).await.unwrap();
    load
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_the_old_index_are_reported() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    // One document takes the place of three.
    options(&mut config).shrink_max = 100.0;
    let running = begin(config).await;
    write(&fake, "trips-1", &[("late", json!({"n": 5})), ("i1", json!({"n": 6}))]).await;
    send(&fake, "DELETE", "/trips-1/_doc/i0", Value::Null).await;
    let report = running.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let writes = report.swap.unwrap().old_writes.unwrap();
    assert_eq!((writes.operations, writes.operations_not_in, writes.docs_copied), (Some(3), Some(3), 0), "{writes:?}");
    assert_eq!(writes.ids, ["late", "i1"]);
    assert!(report.warnings.iter().any(|warning| warning.contains("3 operations reached trips-1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_the_old_index_are_copied() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    options(&mut config).old_writes = OldWrites::CatchUp;
    options(&mut config).delete_old = true;
    let running = begin(config).await;
    write(&fake, "trips-1", &[("i1", json!({"n": 6}))]).await;
    send(&fake, "PUT", "/trips-1/_doc/routed?routing=r", json!({"n": 7})).await;
    let many: String = (0..450).map(|n| format!("{{\"index\":{{\"_id\":\"m{n}\"}}}}\n{{\"n\":{n}}}\n")).collect();
    let reply = Client::new(&fake.url()).unwrap().bulk("/trips-1/_bulk", many).await.unwrap();
    assert_eq!(reply.json()["errors"], false);
    let report = running.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let swap = report.swap.unwrap();
    let writes = swap.old_writes.unwrap();
    assert_eq!(
        (writes.operations, writes.operations_not_in, writes.docs_copied),
        (Some(452), Some(0), 452),
        "{writes:?}"
    );
    assert_eq!(fake.documents(&swap.index).len(), 453);
    assert_eq!(fake.document(&swap.index, "i1").unwrap().json()["n"], 6);
    assert_eq!(fake.document(&swap.index, "routed").unwrap().routing.as_deref(), Some("r"));
    assert_eq!(fake.document(&swap.index, "i0"), None, "it was there before the load");
    // Visible when the alias was moved.
    assert_eq!(fake.call("GET", &format!("/{}/_count", swap.index), serde_json::Value::Null).unwrap()["count"], 453);
}

async fn refused(fake: &FakeCluster) -> bool {
    send(fake, "PUT", "/trips-1/_doc/x", json!({})).await["error"]["type"] == json!("cluster_block_exception")
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_the_old_index_are_blocked_until_the_end() {
    let fake = fake().await;
    let (mut config, folder) = swap(&fake);
    options(&mut config).old_writes = OldWrites::Block;
    let running = begin(config.clone()).await;
    assert!(refused(&fake).await);
    let report = running.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let writes = report.swap.unwrap().old_writes.unwrap();
    assert_eq!(writes.operations, Some(0), "{writes:?}");
    assert!(!refused(&fake).await && fake.documents(GUARD_INDEX).is_empty());

    // After a crash `recover` lifts it.
    let (mut config, _other) = swap(&fake);
    config.guard.state = Some(folder.path().join("state"));
    let actions = json!({"actions": [{"remove": {"index": "*", "alias": "trips"}}, {"add": {"index": "trips-1", "alias": "trips"}}]});
    send(&fake, "POST", "/_aliases", actions).await;
    options(&mut config).old_writes = OldWrites::Block;
    crash(config.clone(), |config| async { std::mem::forget(begin(config).await) }).await;
    assert!(refused(&fake).await);
    let transport = Arc::new(Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap());
    let options = RecoverOptions { state: config.guard.state, ..RecoverOptions::default() };
    let recovered = recover(transport, &options, |_| {}).await.unwrap();
    let states: Vec<_> = recovered.iter().map(|one| (one.index.as_str(), one.state)).collect();
    assert_eq!(states, [("trips-1", RecoveredState::Restored)], "{recovered:?}");
    assert!(!refused(&fake).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_cannot_be_set_ends_the_load_before_its_first_document() {
    let fake = fake().await;
    fake.refuse_settings(["index.blocks.write"]);
    let (mut config, _folder) = swap(&fake);
    options(&mut config).old_writes = OldWrites::Block;
    let report = load(&config).await;
    assert_eq!(report.status, Status::Failed, "{report:?}");
    assert!(report.failure.as_ref().unwrap().contains("could not be blocked"), "{report:?}");
    assert_eq!(report.counts.docs_read, 0);
    untouched(&fake, &report);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_that_come_late_are_waited_for() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let (mut config, _folder) = config(fake.urls(), "docs");
    config.finish.wait_for = Some(WaitFor::Replicated);
    config.finish.force_merge = Some(2);
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(50, 50)))).await.unwrap();
    let mut progress = load.progress();
    let waits = |phase: &Phase| matches!(phase, Phase::Finishing { step: Step::Green, detail } if detail.contains("1 of 2 shard copies"));
    progress.wait_for(|p| waits(&p.phase)).await.unwrap();
    fake.set_data_nodes(2);
    let report = load.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let steps: Vec<Step> = report.finish.steps.iter().map(|step| step.step).collect();
    assert_eq!(steps, [Step::ForceMerge, Step::Searchable, Step::Green, Step::Replicated]);
    assert_eq!(report.finish.steps[3].detail, "2 shard copies have all operations");
    assert!(report.swap.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_can_be_stopped_while_it_waits() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    config.create.replicas = Some(5);
    config.finish.wait_for = Some(WaitFor::Green);
    options(&mut config).old_writes = OldWrites::Block;
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(Lines::new(documents(50, 50)))).await.unwrap();
    load.progress().wait_for(|p| matches!(p.phase, Phase::Finishing { step: Step::Green, .. })).await.unwrap();
    load.stop_handle().stop();
    let report = load.finish().await;
    assert_eq!((report.status, report.exit_code()), (Status::Interrupted, 130), "{report:?}");
    untouched(&fake, &report);
}

/// Runs `work` in a runtime of its own and ends it as a crash does: tasks and locks are gone,
/// without a request to the cluster.
async fn crash<W, F>(config: LoadConfig, work: W)
where
    W: FnOnce(LoadConfig) -> F + Send + 'static,
    F: Future<Output = ()>,
{
    let crashed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(work(config));
        runtime.shutdown_timeout(Duration::from_secs(20));
    });
    tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_rolled_back_from_outlives_older_ones() {
    let fake = fake().await;
    let (mut config, _folder) = swap(&fake);
    options(&mut config).keep = Some(1);
    let made = async || {
        let report = load(&config).await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        (report.swap.unwrap().index, report.finish.steps.last().unwrap().detail.clone())
    };
    let ((first, _), (second, _), (third, detail)) = (made().await, made().await, made().await);
    assert!(detail.starts_with(&format!("deleted {first}; kept {second}")), "{detail}");
    let transport = connect(&config).await.unwrap();
    assert_eq!(rollback(&transport, "trips", None).await.unwrap().to, second);
    let (fourth, detail) = made().await;
    assert!(!detail.contains("deleted"), "{detail}");
    assert_eq!(rollback(&transport, "trips", Some(&third)).await.unwrap().to, third, "the way forward");
    assert_eq!(rollback(&transport, "trips", Some(&fourth)).await.unwrap().to, fourth);
    let (_, detail) = made().await;
    assert!(detail.starts_with("deleted ") && detail.contains(&second) && detail.contains(&third), "{detail}");
    assert!(detail.contains(&format!("kept {fourth}")), "{detail}");
}
