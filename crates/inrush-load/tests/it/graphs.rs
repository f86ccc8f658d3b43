//! Graphs of vectors that are built once, after the load (option `graph=end`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_core::DocMeta;
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_load::config::{DeadLetters, GraphTime, LoadConfig};
use inrush_load::{
    ConfiguredLoad, GUARD_INDEX, PushLoad, RecoverOptions, Recovered, RecoveredState, Report, SettingsRestored, Status,
    Step, recover,
};
use inrush_sources::push::Document;
use serde_json::{Value, json};

const THRESHOLD: &str = "index.knn.advanced.approximate_threshold";
const OPTIONS: &str = "mappings.v.index_options";
const DOCS: u64 = 40;

async fn fake(flavor: Flavor) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().flavor(flavor)).await.unwrap()
}

fn dense(options: Value) -> Value {
    json!({"properties": {
        "n": {"type": "long"},
        "v": {"type": "dense_vector", "dims": 2, "similarity": "l2_norm", "index_options": options},
    }})
}

fn knn(engine: &str) -> Value {
    let method = json!({"name": "hnsw", "engine": engine, "space_type": "l2"});
    json!({"properties": {"n": {"type": "long"}, "v": {"type": "knn_vector", "dimension": 2, "method": method}}})
}

/// Options as the servers show them.
fn int8() -> Value {
    json!({"type": "int8_hnsw", "m": 16, "ef_construction": 100})
}

fn job(fake: &FakeCluster) -> (LoadConfig, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(fake.urls(), "docs".parse().unwrap());
    config.limits.linger = Duration::from_millis(20);
    config.limits.retry_wait = Duration::from_millis(2);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    config.guard.state = Some(folder.path().join("state"));
    config.finish.graph = GraphTime::End;
    config.create.shards = Some(1);
    config.create.mapping = Some(match fake.flavor().is_elasticsearch() {
        true => dense(json!({"type": "int8_hnsw"})),
        false => knn("faiss"),
    });
    if !fake.flavor().is_elasticsearch() {
        config.create.settings = Some(json!({"index.knn": true}));
    }
    (config, folder)
}

async fn send(load: &PushLoad, from: u64, to: u64) {
    for n in from..to {
        let body = json!({"n": n, "v": [n, 1.5]}).to_string().into();
        load.send(Document { body, meta: DocMeta::default() }).await.unwrap();
    }
}

/// Begins a load of two segments, and returns when the first of them is there.
async fn begin(fake: &FakeCluster, config: LoadConfig) -> PushLoad {
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    send(&load, 0, DOCS / 2).await;
    load.progress().wait_for(|p| p.docs_settled == DOCS / 2).await.unwrap();
    fake.call("POST", "/docs/_refresh", Value::Null).unwrap();
    load
}

async fn load(fake: &FakeCluster, config: LoadConfig) -> Report {
    let load = begin(fake, config).await;
    send(&load, DOCS / 2, DOCS).await;
    load.finish().await
}

fn options(fake: &FakeCluster) -> Value {
    fake.mapping("docs")["properties"]["v"]["index_options"].clone()
}

fn leases(fake: &FakeCluster) -> usize {
    fake.documents(GUARD_INDEX).len()
}

/// What was asked of the index and of its lease, in order.
fn asked(fake: &FakeCluster, what: &[&str]) -> Vec<String> {
    let log = fake.requests().into_iter().map(|r| format!("{} {}", r.method, r.path.split('?').next().unwrap()));
    log.filter(|asked| what.iter().any(|one| asked.ends_with(one))).collect()
}

async fn put_back(fake: &FakeCluster, state: &Path) -> Vec<Recovered> {
    let transport = Arc::new(Transport::new(&fake.urls(), Credentials::None, &HttpOptions::default()).unwrap());
    let options = RecoverOptions { indices: Vec::new(), watch: Duration::ZERO, state: Some(state.to_owned()) };
    recover(transport, &options, |_| {}).await.unwrap()
}

fn is_as_wanted(fake: &FakeCluster, title: &str) {
    assert_eq!(leases(fake), 0, "{title}");
    if fake.flavor().is_elasticsearch() {
        assert_eq!((options(fake), &fake.mapping("docs")["_meta"]["inrush_graph"]), (int8(), &Value::Null), "{title}");
    } else {
        assert_eq!(fake.setting("docs", THRESHOLD), None, "{title}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_gets_the_graphs_of_a_new_index_once() {
    for flavor in [Flavor::elasticsearch_8(), Flavor::elasticsearch_9()] {
        let fake = fake(flavor).await;
        let (mut config, _folder) = job(&fake);
        config.create.mapping.as_mut().unwrap()["_meta"] = json!({"owner": "me"});
        let load = begin(&fake, config).await;
        assert_eq!(options(&fake), json!({"type": "flat"}));
        assert_eq!(fake.mapping("docs")["_meta"], json!({"owner": "me", "inrush_graph": {"v": int8()}}));
        assert_eq!(leases(&fake), 1);
        send(&load, DOCS / 2, DOCS).await;
        fake.clear_requests();
        let report = load.finish().await;
        assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
        assert_eq!(report.warnings, Vec::<String>::new());
        assert!(report.settings.changed[OPTIONS].from.as_ref().is_some_and(|from| from.contains("int8_hnsw")));
        assert_eq!(report.settings.changed[OPTIONS].to, r#"{"type":"flat"}"#);
        is_as_wanted(&fake, "after the load");
        assert_eq!(fake.mapping("docs")["_meta"], json!({"owner": "me"}));
        // The merge finds the options that are wanted.
        let order = asked(&fake, &["PUT /docs/_mapping", "POST /docs/_forcemerge"]);
        assert_eq!(order, ["PUT /docs/_mapping", "POST /docs/_forcemerge"]);
        let merge = report.finish.steps.iter().find(|step| step.step == Step::ForceMerge).unwrap();
        assert!(merge.detail.contains("segments without graphs of vectors were merged"), "{merge:?}");
        assert_eq!(fake.indices().iter().filter(|name| name.contains("trial")).count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_whose_node_was_stopped_begins_again() {
    for gone in [2, 10] {
        let fake = fake(Flavor::elasticsearch_9()).await;
        let reason = json!({"error": {"type": "resource_not_found_exception", "reason": "the task isn't running"}});
        for task in 1..=gone {
            for colon in [":", "%3A"] {
                fake.set_reply(&format!("/_tasks/fakenode{:014}{colon}{task}", 0), 404, reason.clone());
            }
        }
        let (config, _folder) = job(&fake);
        let report = load(&fake, config).await;
        assert_eq!(asked(&fake, &["_forcemerge"]).len(), 3.max(gone), "{gone}");
        let failure = report.finish.failure.as_deref().unwrap_or_default();
        let expected = if gone == 2 { Status::Complete } else { Status::CheckFailed };
        assert_eq!((report.status, failure.contains("was stopped 10 times")), (expected, gone == 10), "{report:?}");
        is_as_wanted(&fake, "after the load");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opensearch_gets_the_graphs_of_an_empty_index_once() {
    let fake = fake(Flavor::opensearch_3()).await;
    let (config, _folder) = job(&fake);
    let settings = json!({"index.knn": true, "index.number_of_shards": 1, THRESHOLD: "100"});
    fake.call("PUT", "/docs", json!({"settings": settings, "mappings": knn("faiss")})).unwrap();
    let load = begin(&fake, LoadConfig { create: Default::default(), ..config }).await;
    assert_eq!((fake.setting("docs", THRESHOLD).as_deref(), leases(&fake)), (Some("-1"), 1));
    send(&load, DOCS / 2, DOCS).await;
    fake.clear_requests();
    let report = load.finish().await;
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
    assert_eq!(report.settings.changed[THRESHOLD].from.as_deref(), Some("100"));
    assert_eq!((fake.setting("docs", THRESHOLD).as_deref(), leases(&fake)), (Some("100"), 0));
    let order = asked(&fake, &["PUT /docs/_settings", "POST /docs/_forcemerge"]);
    assert_eq!(order, ["PUT /docs/_settings", "POST /docs/_forcemerge"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_it_is_not_allowed_a_warning_says_so_and_the_load_is_as_ever() {
    let index = |mapping: Value, knn: bool| json!({"settings": {"index.knn": knn}, "mappings": mapping});
    let cases = [
        (Flavor::elasticsearch_8(), Some(index(dense(int8()), false)), 0, "only an index that the load creates"),
        (
            Flavor::elasticsearch_8(),
            Some(index(dense(json!({"type": "flat"})), false)),
            0,
            "no field of it has vectors",
        ),
        (Flavor::opensearch_3(), Some(index(knn("faiss"), true)), 1, "it has documents"),
        (Flavor::opensearch_3(), Some(index(knn("faiss"), false)), 0, "index.knn"),
        (Flavor::opensearch_3(), Some(index(knn("lucene"), true)), 0, "before 3.9"),
        (
            Flavor::opensearch_2(),
            Some(index(json!({"properties": {"n": {"type": "long"}, "v": {"type": "float"}}}), true)),
            0,
            "knn_vector",
        ),
    ];
    for (flavor, exists, documents, why) in cases {
        let fake = fake(flavor).await;
        let (mut config, _folder) = job(&fake);
        if let Some(body) = exists {
            fake.call("PUT", "/docs", body).unwrap();
            config.create = Default::default();
        }
        for _ in 0..documents {
            fake.call("POST", "/docs/_doc", json!({"n": 1})).unwrap();
        }
        let before = (fake.mapping("docs"), fake.setting("docs", THRESHOLD));
        let report = load(&fake, config).await;
        assert_eq!((report.status, report.counts.docs_created), (Status::Complete, DOCS), "{why}: {report:?}");
        assert_eq!(report.settings.restored, SettingsRestored::Unchanged, "{why}: {report:?}");
        assert!(
            report.warnings.iter().any(|text| text.contains("graph=end") && text.contains(why)),
            "{why}: {report:?}"
        );
        assert_eq!((fake.mapping("docs"), fake.setting("docs", THRESHOLD)), before, "{why}");
        assert_eq!(asked(&fake, &["_forcemerge", "PUT /docs/_mapping", "PUT /docs/_settings"]), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_does_not_take_the_change_is_asked_before_the_index_is_created() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let (config, _folder) = job(&fake);
    fake.set_faults(Faults::new([Rule::new(Fault::RequestBadRequest).path("trial").method("PUT").after(1)]));
    let report = load(&fake, config).await;
    assert_eq!(
        (report.status, report.settings.restored),
        (Status::Complete, SettingsRestored::Unchanged),
        "{report:?}"
    );
    assert!(report.warnings.iter().any(|text| text.contains("graph=end")), "{:?}", report.warnings);
    is_as_wanted(&fake, "as the mapping says");
    assert_eq!(asked(&fake, &["_forcemerge"]), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_no_merge_takes_is_named() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let (config, _folder) = job(&fake);
    let load = ConfiguredLoad::new(config).unwrap().sender().await.unwrap();
    send(&load, 0, DOCS).await;
    let report = load.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    let merge = report.finish.steps.iter().find(|step| step.step == Step::ForceMerge).unwrap();
    assert!(merge.detail.contains("1 segments with 40 documents") && merge.detail.contains("no graph"), "{merge:?}");
    is_as_wanted(&fake, "after the load");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_stopped_puts_it_back_and_a_later_one_merges() {
    for flavor in [Flavor::elasticsearch_8(), Flavor::opensearch_3()] {
        let fake = fake(flavor).await;
        let (config, _folder) = job(&fake);
        let load = begin(&fake, config).await;
        load.stop_handle().stop();
        let report = load.finish().await;
        assert_eq!(
            (report.status, report.settings.restored),
            (Status::Interrupted, SettingsRestored::Yes),
            "{report:?}"
        );
        is_as_wanted(&fake, "after the stop");
        assert_eq!(asked(&fake, &["_forcemerge"]), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_the_graphs_come_back_before_the_first_document() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let (config, _folder) = job(&fake);
    fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path(GUARD_INDEX)]));
    let load = begin(&fake, config).await;
    assert_eq!(options(&fake), int8());
    send(&load, DOCS / 2, DOCS).await;
    let report = load.finish().await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, DOCS), "{report:?}");
    is_as_wanted(&fake, "after the load");
    assert_eq!(asked(&fake, &["_forcemerge"]), Vec::<String>::new());
    assert!(report.warnings.iter().any(|text| text.contains("graph=end")), "{:?}", report.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_the_setting_is_named_in_a_warning() {
    let fake = fake(Flavor::opensearch_3()).await;
    let (config, _folder) = job(&fake);
    fake.set_faults(Faults::new([Rule::new(Fault::RequestBadRequest).path("/docs/_settings").method("PUT")]));
    let report = load(&fake, config).await;
    assert_eq!((report.status, report.counts.docs_created), (Status::Complete, DOCS), "{report:?}");
    let is_told = |text: &String| text.contains("graph=end") && text.contains(THRESHOLD);
    assert!(report.warnings.iter().any(is_told), "{:?}", report.warnings);
    is_as_wanted(&fake, "after the load");
    assert_eq!(asked(&fake, &["_forcemerge"]), Vec::<String>::new());
}

/// Runs a load and ends its process, so to speak, when its request number `after` with this method
/// is held. Returns whether there was one.
async fn killed_at(fake: &Arc<FakeCluster>, config: LoadConfig, fault: Fault, method: &str, after: u64) -> bool {
    fake.set_faults(Faults::new([Rule::new(fault).path("/").method(method).after(after).first(1)]));
    let of_load = Arc::clone(fake);
    let killed = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let is_held = runtime.block_on(async {
            let loading = tokio::spawn({
                let fake = Arc::clone(&of_load);
                async move { load(&fake, config).await }
            });
            tokio::select! {
                biased;
                () = of_load.wait_for_held(1) => true,
                ended = loading => {
                    ended.unwrap();
                    false
                }
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(20));
        is_held
    });
    let is_held = tokio::task::spawn_blocking(move || killed.join().unwrap()).await.unwrap();
    // Released before the fake sees that its connection is gone, it would be carried out.
    let mut looks = 0;
    while fake.held() > 0 && looks < 10_000 {
        looks += 1;
        tokio::task::yield_now().await;
    }
    fake.set_faults(Faults::default());
    fake.release_held();
    is_held
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_change_of_the_cluster_it_is_put_back() {
    let mut killed = 0;
    for flavor in [Flavor::elasticsearch_8(), Flavor::opensearch_3()] {
        for fault in [Fault::HoldBeforeApplying, Fault::HoldAfterApplying] {
            for method in ["PUT", "DELETE"] {
                for after in 0.. {
                    let fake = Arc::new(fake(flavor.clone()).await);
                    let (config, folder) = job(&fake);
                    if !killed_at(&fake, config, fault, method, after).await {
                        break;
                    }
                    killed += 1;
                    let title = format!("{flavor:?} {fault:?} {method} {after}: {:?}", asked(&fake, &[""]));
                    if fake.indices().iter().any(|name| name == "docs") {
                        let found = put_back(&fake, &folder.path().join("another-machine")).await;
                        assert!(found.iter().all(|one| one.state == RecoveredState::Restored), "{title}: {found:?}");
                        is_as_wanted(&fake, &title);
                    }
                }
            }
        }
    }
    assert!(killed > 30, "{killed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_read_keeps_no_other_one_from_its_graphs() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let mut mapping = dense(json!({"type": "flat"}));
    mapping["_meta"] = json!({"inrush_graph": {"v": int8()}});
    for path in ["/another", "/docs"] {
        fake.call("PUT", path, json!({"mappings": mapping})).unwrap();
    }
    fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("/another").method("GET")]));
    let folder = tempfile::tempdir().unwrap();
    let found = put_back(&fake, folder.path()).await;
    let found: Vec<_> = found.iter().map(|one| (one.index.as_str(), one.state)).collect();
    assert_eq!(found, [("docs", RecoveredState::Restored)]);
    is_as_wanted(&fake, "the index that can be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_left_without_graphs_gets_them_by_the_next_load() {
    let fake = fake(Flavor::elasticsearch_8()).await;
    let mut mapping = dense(json!({"type": "flat"}));
    mapping["_meta"] = json!({"inrush_graph": {"v": int8()}});
    fake.call("PUT", "/docs", json!({"mappings": mapping})).unwrap();
    let (mut config, _folder) = job(&fake);
    (config.create, config.finish.graph) = (Default::default(), GraphTime::Load);
    let report = load(&fake, config).await;
    assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
    is_as_wanted(&fake, "after a load without the option");
    // The load did not ask for a merge.
    assert_eq!(asked(&fake, &["_forcemerge"]), Vec::<String>::new());
    assert!(report.warnings.iter().any(|text| text.contains("POST /docs/_forcemerge")), "{:?}", report.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_was_left_is_put_back_by_the_next_load() {
    for time in [GraphTime::Load, GraphTime::End] {
        let fake = fake(Flavor::opensearch_3()).await;
        let settings = json!({"index.knn": true, "index.number_of_shards": 1, THRESHOLD: "-1"});
        fake.call("PUT", "/docs", json!({"settings": settings, "mappings": knn("faiss")})).unwrap();
        fake.call("POST", "/docs/_doc", json!({"n": 1})).unwrap();
        fake.call("PUT", &format!("/{GUARD_INDEX}"), json!({"mappings": {"dynamic": false}})).unwrap();
        let change = json!({"original": null, "applied": "-1"});
        let lease = json!({"index": "docs", "phase": "held", "changes": {THRESHOLD: change}, "holders": {}});
        let uuid = fake.index_uuid("docs").unwrap();
        fake.call("PUT", &format!("/{GUARD_INDEX}/_doc/{uuid}.graphs"), lease).unwrap();
        let (mut config, _folder) = job(&fake);
        (config.create, config.finish.graph) = (Default::default(), time);
        let report = load(&fake, config).await;
        assert_eq!((report.status, report.settings.restored), (Status::Complete, SettingsRestored::Yes), "{report:?}");
        is_as_wanted(&fake, "after the next load");
        let is_asked = time == GraphTime::End;
        assert_eq!(asked(&fake, &["_forcemerge"]).len(), usize::from(is_asked));
        assert_eq!(report.warnings.iter().any(|text| text.contains("_forcemerge")), !is_asked, "{:?}", report.warnings);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_of_the_user_stays() {
    let fake = fake(Flavor::opensearch_3()).await;
    let settings = json!({"index.knn": true, "index.number_of_shards": 1, THRESHOLD: "-1"});
    fake.call("PUT", "/docs", json!({"settings": settings, "mappings": knn("faiss")})).unwrap();
    let (config, _folder) = job(&fake);
    let report = load(&fake, LoadConfig { create: Default::default(), ..config }).await;
    assert_eq!(
        (report.status, report.settings.restored),
        (Status::Complete, SettingsRestored::Unchanged),
        "{report:?}"
    );
    assert_eq!((fake.setting("docs", THRESHOLD).as_deref(), leases(&fake)), (Some("-1"), 0));
    assert!(report.warnings.iter().any(|text| text.contains("is -1")), "{:?}", report.warnings);
    assert_eq!(asked(&fake, &["_forcemerge"]), Vec::<String>::new());
}
