//! What an index that is created again keeps of the one before it.

use inrush_fake::{FakeCluster, Fault, Faults, Rule};
use inrush_load::config::{Durability, LoadConfig, StateFolder};
use inrush_load::{ConfiguredLoad, Report, Status};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Lines, config, documents, fake, load};

fn aliases() -> Value {
    json!({
        "live": {},
        "some": {"filter": {"term": {"n": 1}}},
        "routed": {"index_routing": "a", "search_routing": "a,b"},
        "written": {"is_write_index": true},
        "hidden": {"is_hidden": true},
    })
}

/// A cluster with an index `a` that has aliases, and a load that creates it again.
async fn bench(faults: impl IntoIterator<Item = Rule>) -> (FakeCluster, LoadConfig, TempDir) {
    let fake = fake([]).await;
    fake.call("PUT", "/a", json!({"aliases": aliases()})).unwrap();
    fake.call("PUT", "/b", json!({"aliases": {"written": {"is_write_index": false}}})).unwrap();
    let (mut config, folder) = config(fake.urls(), "a");
    config.create.recreate = true;
    config.limits.retries = 1;
    config.state = Some(StateFolder::new(folder.path().join("state")));
    fake.set_faults(Faults::new(faults));
    (fake, config, folder)
}

fn refused(path: &str, method: &str) -> Rule {
    Rule::new(Fault::RequestRefused).error(503, "master_not_discovered_exception", "no").path(path).method(method)
}

/// The files with aliases of deleted indices.
fn files(folder: &TempDir) -> usize {
    std::fs::read_dir(folder.path().join("state/aliases")).map_or(0, Iterator::count)
}

fn told(report: &Report, words: &[&str]) -> bool {
    report.warnings.iter().any(|warning| words.iter().all(|word| warning.contains(word)))
}

/// The aliases but one.
fn aliases_without(alias: &str) -> Value {
    let mut aliases = aliases();
    aliases.as_object_mut().unwrap().remove(alias).unwrap();
    aliases
}

/// A load that is stopped between the deletion and the creation of the index. Returns its
/// configuration for a load that deletes nothing.
async fn stopped_in_between() -> (FakeCluster, LoadConfig, TempDir) {
    let (fake, mut config, folder) = bench([refused("/a", "PUT").after(1)]).await;
    let error = ConfiguredLoad::new(config.clone()).unwrap().run(Lines::new(documents(30, 30))).await.unwrap_err();
    assert_eq!((fake.aliases("a"), files(&folder)), (Value::Null, 1), "{error}");
    fake.set_faults(Faults::new([]));
    config.create.recreate = false;
    (fake, config, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_new_index_has_the_aliases_of_the_old_one() {
    let (fake, config, folder) = bench([]).await;
    let old = fake.index_uuid("a");
    let report = load(&config, documents(30, 30)).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_ne!(fake.index_uuid("a"), old);
    assert_eq!(fake.aliases("a"), aliases());
    assert_eq!(fake.aliases("b"), json!({"written": {"is_write_index": false}}));
    assert_eq!(files(&folder), 0, "the aliases are on the index");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_fails_after_the_deletion_keeps_the_aliases() {
    // The index is there again when the load fails.
    let (fake, mut config, _folder) = bench([refused("/_cluster/state", "GET").after(1)]).await;
    config.durability = Durability::Async;
    let old = fake.index_uuid("a");
    let error = ConfiguredLoad::new(config).unwrap().run(Lines::new(documents(30, 30))).await.unwrap_err();
    assert_ne!(fake.index_uuid("a"), old, "{error}");
    assert_eq!(fake.aliases("a"), aliases(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn aliases_of_a_load_that_was_stopped_in_between_are_put_on_by_the_next_one() {
    // Also by a load that does not delete.
    let (fake, next, folder) = stopped_in_between().await;
    assert_eq!(load(&next, documents(30, 30)).await.status, Status::Complete);
    assert_eq!((fake.aliases("a"), files(&folder)), (aliases(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_another_index_has_got_since_is_left_there() {
    let (fake, next, folder) = stopped_in_between().await;
    fake.call("PUT", "/c", json!({"aliases": {"live": {}}})).unwrap();
    let report = load(&next, documents(30, 30)).await;
    assert!(told(&report, &["alias live", "c has got it since"]), "{:?}", report.warnings);
    // The index `b` had one of them before.
    assert_eq!((fake.aliases("a"), files(&folder)), (aliases_without("live"), 0));
    assert_eq!(fake.aliases("c"), json!({"live": {}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_another_client_has_created_since_gets_no_aliases_later() {
    for recreate in [false, true] {
        let (fake, mut next, folder) = stopped_in_between().await;
        fake.call("PUT", "/a", json!({})).unwrap();
        next.create.recreate = recreate;
        let report = load(&next, documents(30, 30)).await;
        assert!(recreate || told(&report, &["another client", "POST /_aliases"]), "{:?}", report.warnings);
        assert_eq!((fake.aliases("a"), files(&folder)), (json!({}), 0), "{recreate}");
        fake.call("DELETE", "/a", Value::Null).unwrap();
        next.create.recreate = false;
        load(&next, documents(30, 30)).await;
        assert_eq!(fake.aliases("a"), json!({}), "{recreate}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_refused_leaves_no_aliases_for_later() {
    let refusal = Rule::new(Fault::RequestRefused).error(400, "snapshot_in_progress_exception", "no");
    let (fake, mut config, folder) = bench([refusal.path("/a").method("DELETE").after(1)]).await;
    let old = fake.index_uuid("a");
    let error = ConfiguredLoad::new(config.clone()).unwrap().run(Lines::new(documents(30, 30))).await.unwrap_err();
    assert_eq!((fake.index_uuid("a"), files(&folder)), (old, 0), "{error}");
    fake.set_faults(Faults::new([]));
    fake.call("DELETE", "/a", Value::Null).unwrap();
    config.create.recreate = false;
    load(&config, documents(30, 30)).await;
    assert_eq!(fake.aliases("a"), json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_whose_filter_does_not_fit_the_new_mapping_does_not_stop_the_load() {
    let refusal = || {
        let reason = "failed to parse filter for alias [some]";
        Rule::new(Fault::RequestRefused).error(400, "illegal_argument_exception", reason).method("PUT").first(1)
    };
    // The index of the check, and the new one: each is created again without the alias.
    let (fake, config, folder) = bench([refusal().path("/a-inrush-trial"), refusal().path("/a").after(1)]).await;
    let old = fake.index_uuid("a");
    let report = load(&config, documents(30, 30)).await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    assert_ne!(fake.index_uuid("a"), old);
    assert_eq!((fake.aliases("a"), files(&folder)), (aliases_without("some"), 0));
    let words = ["will not have its aliases some,", "failed to parse filter", "POST /_aliases", "\"filter\""];
    assert!(told(&report, &words), "{:?}", report.warnings);
    assert!(told(&report, &["has lost its aliases some,", "POST /_aliases"]), "{:?}", report.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_is_said() {
    let (fake, mut config, _folder) = bench([]).await;
    fake.call("DELETE", "/a", Value::Null).unwrap();
    let mapping = json!({"dynamic": "strict", "properties": {"n": {"type": "integer"}, "k": {"type": "keyword"}}});
    let settings = json!({"index": {"refresh_interval": "30s", "number_of_shards": 2}});
    fake.call("PUT", "/a", json!({"mappings": mapping, "settings": settings})).unwrap();
    let told = |warnings: &[String]| warnings.iter().find(|warning| warning.contains("will not have")).cloned();
    config.create.mapping = Some(json!({"properties": {"n": {"type": "integer"}}}));
    let report = load(&config, documents(3, 3)).await;
    let warning = told(&report.warnings).unwrap();
    for lost in ["index.number_of_shards=2", "index.refresh_interval=30s", "dynamic", "k"] {
        assert!(warning.contains(lost), "{lost}: {warning}");
    }
    // The next index is as the one before it.
    let report = load(&config, documents(3, 3)).await;
    assert_eq!(told(&report.warnings), None);
}
