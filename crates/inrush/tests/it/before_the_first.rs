//! Every request of a load fails once, in each of several ways: the load goes on, and leaves what a
//! load without failures leaves. Against the fake cluster. With `INRUSH_ALL_FAULTS` set, each
//! request of each kind of load fails in all ways, which takes minutes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, RequestLog, Rule};
use inrush_load::config::{BulkRouting, Durability, LoadConfig, OldWrites, StateFolder, SwapConfig, WaitFor};
use inrush_load::dry_run::dry_run;
use inrush_load::{BeginningHandle, ConfiguredLoad, GUARD_INDEX, LOADS_INDEX, LoadError, Report, Status};
use inrush_sources::{Files, FormatOptions, SourceSpec, Warnings, open};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::common::{config, documents, expected, numbers};

const DOCS: u64 = 60;
const AT_ONCE: usize = 8;

/// A kind of load.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// What is in the cluster before.
    before: fn(&FakeCluster),
    options: fn(&mut LoadConfig),
    /// What is wrong after it.
    wrong: fn(&FakeCluster) -> Option<String>,
}

fn nothing(_: &FakeCluster) {}

fn make(fake: &FakeCluster, index: &str, body: Value) {
    fake.call("PUT", &format!("/{index}"), body).unwrap();
}

fn mapping() -> Value {
    json!({"properties": {"n": {"type": "long"}, "text": {"type": "keyword", "ignore_above": 200}}})
}

fn with_mapping(config: &mut LoadConfig) {
    config.create.mapping = Some(mapping());
    config.create.settings = Some(json!({"index": {"refresh_interval": "7s"}}));
    config.create.shards = Some(3);
}

/// The documents, mapping and settings of a load with [`with_mapping`].
fn not_as_asked(fake: &FakeCluster) -> Option<String> {
    let settings = ["index.number_of_shards", "index.refresh_interval"].map(|name| fake.setting("docs", name));
    let is_right = settings == [Some("3".to_owned()), Some("7s".to_owned())]
        && fake.mapping("docs")["properties"]["text"]["ignore_above"] == 200;
    (!is_right).then(|| format!("{settings:?} {}", fake.mapping("docs")))
}

fn documents_differ(fake: &FakeCluster, index: &str) -> Option<String> {
    let found = numbers(fake, index);
    (found != expected(DOCS, DOCS)).then(|| format!("{index} holds {} documents", found.len()))
}

fn behind_alias(config: &mut LoadConfig) {
    let warm = vec![json!({"query": {"match_all": {}}})];
    let swap = SwapConfig { delete_old: true, old_writes: OldWrites::Block, warm, ..SwapConfig::new("docs") };
    config.finish.swap = Some(swap);
    config.finish.force_merge = Some(1);
    config.guard.replicas_off = true;
}

fn no_alias(fake: &FakeCluster) -> Option<String> {
    let indices = fake.indices();
    let with_alias: Vec<&String> = indices.iter().filter(|index| !fake.aliases(index)["docs"].is_null()).collect();
    let others = indices.iter().filter(|index| index.starts_with("docs") && !with_alias.contains(index)).count();
    (with_alias.len() != 1 || others > 0).then(|| format!("{indices:?}, {with_alias:?} with the alias"))
}

fn stream_template(fake: &FakeCluster) {
    let template = json!({"index_patterns": ["docs*"], "data_stream": {}});
    fake.call("PUT", "/_index_template/t", template).unwrap();
}

const KINDS: [Kind; 12] = [
    Kind { name: "new index", before: nothing, options: with_mapping, wrong: not_as_asked },
    Kind {
        name: "existing index",
        before: |fake| make(fake, "docs", json!({})),
        options: |config| config.finish.wait_for = Some(WaitFor::Replicated),
        wrong: |_| None,
    },
    Kind {
        name: "recreate",
        before: |fake| {
            make(fake, "docs", json!({}));
            fake.call("PUT", "/docs/_doc/old", json!({"n": 1})).unwrap();
        },
        options: |config| {
            with_mapping(config);
            config.create.recreate = true;
        },
        wrong: not_as_asked,
    },
    Kind {
        name: "alias",
        before: |fake| make(fake, "docs-1", json!({"aliases": {"docs": {}}})),
        options: behind_alias,
        wrong: no_alias,
    },
    Kind {
        name: "alias in place of an index",
        before: |fake| make(fake, "docs", json!({})),
        options: |config| {
            behind_alias(config);
            config.finish.swap.as_mut().unwrap().old_writes = OldWrites::Report;
        },
        wrong: no_alias,
    },
    Kind { name: "first alias", before: nothing, options: behind_alias, wrong: no_alias },
    Kind { name: "new data stream", before: stream_template, options: |_| {}, wrong: |_| None },
    Kind {
        name: "data stream",
        before: |fake| {
            stream_template(fake);
            fake.call("PUT", "/_data_stream/docs", Value::Null).unwrap();
        },
        options: |config| config.guard.replicas_off = true,
        wrong: |_| None,
    },
    Kind {
        name: "once",
        before: nothing,
        options: |config| {
            with_mapping(config);
            config.once = true;
        },
        wrong: not_as_asked,
    },
    Kind {
        name: "replicas off",
        before: |fake| make(fake, "docs", json!({"settings": {"auto_expand_replicas": "0-all"}})),
        options: |config| config.guard.replicas_off = true,
        wrong: |fake| {
            let now = ["index.auto_expand_replicas", "index.number_of_replicas"].map(|name| fake.setting("docs", name));
            (now != [Some("0-all".to_owned()), Some("1".to_owned())]).then(|| format!("{now:?}"))
        },
    },
    Kind {
        name: "several shards, grouped",
        before: nothing,
        options: |config| {
            with_mapping(config);
            config.bulk_routing = BulkRouting::OneShard;
            config.finish.wait_for = Some(WaitFor::Green);
        },
        wrong: not_as_asked,
    },
    Kind {
        name: "async",
        before: nothing,
        options: |config| {
            with_mapping(config);
            config.durability = Durability::Async;
        },
        wrong: not_as_asked,
    },
];

/// A way to fail, from the request of this number on.
type Failure = (&'static str, fn() -> Rule);

const FAILURES: [Failure; 9] = [
    ("503 once", || Rule::new(Fault::Unavailable).first(1)),
    ("504 although carried out", || Rule::new(Fault::GatewayTimeoutAfterApplying).first(1)),
    ("cut off after it was carried out", || Rule::new(Fault::ResetAfterApplying).first(1)),
    ("no manager for a while", || refused("cluster_manager_not_discovered_exception").first(6)),
    ("cut off before it arrives", || Rule::new(Fault::ResetBeforeBody).first(1)),
    ("504", || Rule::new(Fault::GatewayTimeout).first(1)),
    ("502 some times", || Rule::new(Fault::BadGateway).first(2)),
    ("a queue of the manager that is full", || refused("process_cluster_event_timeout_exception").first(1)),
    ("a page although carried out", || Rule::new(Fault::ReplyNotJson).first(1)),
];

fn refused(kind: &str) -> Rule {
    Rule::new(Fault::RequestRefused).error(503, kind, "for a while")
}

struct Job {
    fake: FakeCluster,
    config: LoadConfig,
    folder: TempDir,
}

impl Job {
    async fn new(kind: Kind) -> Job {
        let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
        (kind.before)(&fake);
        let (mut config, folder) = config(fake.urls(), "docs");
        config.id = Some("id".parse().unwrap());
        config.state = Some(StateFolder::new(folder.path().join("state")));
        config.guard.state = Some(folder.path().join("state"));
        // Data streams take only documents with a time.
        let with_time = |line: String| line.replacen('{', "{\"@timestamp\":\"2026-11-28T00:00:00Z\",", 1) + "\n";
        let lines = documents(DOCS, DOCS).map(with_time).collect::<String>();
        std::fs::write(folder.path().join("documents.ndjson"), lines).unwrap();
        (kind.options)(&mut config);
        Job { fake, config, folder }
    }

    fn source(&self) -> Files {
        let path = self.folder.path().join("documents.ndjson");
        open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap()
    }

    async fn load(&self) -> Result<Report, LoadError> {
        ConfiguredLoad::new(self.config.clone()).unwrap().run(self.source()).await
    }

    /// What is wrong after the load.
    fn wrong(&self, kind: Kind, report: &Report) -> Option<String> {
        let names = self.fake.indices();
        let trial = names.iter().find(|name| name.contains("-trial-"));
        let leases = self.fake.documents(GUARD_INDEX).len();
        let running = self.fake.documents(LOADS_INDEX).iter().filter(|one| one.id.starts_with("writes-")).count();
        (report.status != Status::Complete)
            .then(|| format!("{:?}: {:?} {:?}", report.status, report.failure, report.finish.failure))
            .or_else(|| documents_differ(&self.fake, "docs"))
            .or_else(|| (kind.wrong)(&self.fake))
            .or_else(|| trial.map(|name| format!("{name} is left")))
            .or_else(|| (leases + running > 0).then(|| format!("{leases} leases and {running} loads are left")))
    }
}

/// A request without what differs between two runs.
fn request(one: &RequestLog) -> String {
    let path = one.path.split('?').next().unwrap_or_default();
    let part = |part: &str| match part {
        // UUIDs, run ids and times.
        part if part.len() > 15 && part.chars().any(|c| c.is_ascii_digit()) => "*".to_owned(),
        part => part.to_owned(),
    };
    format!("{} {}", one.method, path.split('/').map(part).collect::<Vec<_>>().join("/"))
}

/// Number of the fault, and what went wrong; the request that failed.
type Outcome = (String, Option<String>, Option<String>);

async fn with_fault(kind: Kind, number: usize, (name, rule): Failure) -> Outcome {
    let job = Job::new(kind).await;
    job.fake.set_faults(Faults::new([rule().path("/").after(number as u64)]));
    let ended = job.load().await;
    let failed =
        job.fake.requests().into_iter().find(|one| one.status == 0 || one.status >= 500).map(|one| request(&one));
    let wrong = match ended {
        Ok(report) => job.wrong(kind, &report),
        Err(error) => Some(error.to_string()),
    };
    (format!("{}, request {number} ({failed:?}): {name}", kind.name), failed, wrong)
}

/// Fails each request of a kind of load once; in all ways where `all` is set.
async fn each_request_fails(kinds: &[Kind], all: bool) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let (mut runs, mut asked) = (JoinSet::new(), BTreeSet::new());
    for (offset, kind) in kinds.iter().copied().enumerate() {
        let clean = Job::new(kind).await;
        let report = clean.load().await.unwrap();
        assert_eq!(clean.wrong(kind, &report), None, "{}: without a fault", kind.name);
        let requests = clean.fake.requests();
        asked.extend(requests.iter().map(request));
        for number in 0..requests.len() {
            for (at, failure) in FAILURES.iter().copied().enumerate() {
                let is_its_turn = number % 2 == offset % 2 && (number / 2 + offset) % FAILURES.len() == at;
                if all || is_its_turn {
                    let turns = Arc::clone(&turns);
                    runs.spawn(async move {
                        let _turn = turns.acquire().await.unwrap();
                        with_fault(kind, number, failure).await
                    });
                }
            }
        }
    }
    let outcomes = runs.join_all().await;
    let hit: BTreeSet<&String> = outcomes.iter().filter_map(|(_, failed, _)| failed.as_ref()).collect();
    println!("{} loads with a fault at {} kinds of requests of {}", outcomes.len(), hit.len(), asked.len());
    println!("not hit: {:?}", asked.iter().filter(|one| !hit.contains(one)).collect::<Vec<_>>());
    let wrong: Vec<String> =
        outcomes.iter().filter_map(|(what, _, wrong)| Some(format!("{what}: {}", wrong.as_ref()?))).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), outcomes.len(), wrong.join("\n"));
    assert!(outcomes.len() >= 50 && hit.len() * 2 >= asked.len(), "{} of {}", hit.len(), asked.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fails_once_ends_no_load() {
    each_request_fails(&KINDS, std::env::var_os("INRUSH_ALL_FAULTS").is_some()).await;
}

fn kind(name: &str) -> Kind {
    *KINDS.iter().find(|kind| kind.name == name).unwrap()
}

/// Requests that create the index itself, or another of its name.
fn creations(fake: &FakeCluster) -> usize {
    fake.requests().iter().filter(|one| request(one) == "PUT /docs").count()
}

fn creation(fault: Fault) -> Rule {
    Rule::new(fault).method("PUT").path("/docs")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_a_server_beside_others_ends_no_load() {
    for kind in KINDS {
        let mut job = Job::new(kind).await;
        job.config.to.insert(0, "http://127.0.0.1:1".to_owned());
        let report = job.load().await.unwrap();
        assert_eq!(job.wrong(kind, &report), None, "{}", kind.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_goes_on_after_each_failure() {
    let job = Job::new(kind("alias")).await;
    let run = || dry_run(job.config.clone(), Box::new(job.source()));
    assert!(run().await.unwrap().is_fine());
    let requests = job.fake.requests().len();
    for (number, (name, rule)) in (0..requests).zip(FAILURES.iter().cycle()) {
        job.fake.set_faults(Faults::new([rule().path("/").after(number as u64)]));
        let found = run().await.unwrap();
        assert!(found.is_fine(), "request {number}: {name}: {:?}", found.problems);
    }
    assert_eq!(job.fake.indices(), ["docs-1"], "nothing is made");
}

/// Another client creates the index between two attempts of the load.
async fn with_another_client(mut job: Job, other: impl Fn(&FakeCluster)) -> (Job, Result<Report, LoadError>) {
    let faults = [creation(Fault::GatewayTimeout).first(1), creation(Fault::HoldBeforeApplying).first(1)];
    job.fake.set_faults(Faults::new(faults));
    job.config.limits.retry_wait = Duration::from_millis(1);
    let load = tokio::spawn(ConfiguredLoad::new(job.config.clone()).unwrap().run(job.source()));
    job.fake.wait_for_held(1).await;
    other(&job.fake);
    job.fake.release_held();
    (job, load.await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_another_client_makes_meanwhile_is_not_taken_over() {
    let as_asked =
        || json!({"settings": {"index": {"refresh_interval": "7s", "number_of_shards": 3}}, "mappings": mapping()});
    let changed = |pointer: &str, value: Value| {
        let mut body = as_asked();
        *body.pointer_mut(pointer).unwrap() = value;
        body
    };
    for (body, has_document) in [
        (changed("/mappings/properties/text/type", json!("text")), false),
        (changed("/mappings/properties", json!({"other": {"type": "date"}})), false),
        (changed("/settings/index/number_of_shards", json!(1)), false),
        (as_asked(), true),
    ] {
        let other = |fake: &FakeCluster| {
            make(fake, "docs", body.clone());
            if has_document {
                fake.call("PUT", "/docs/_doc/theirs", json!({"n": 1})).unwrap();
            }
        };
        // Behind an alias nothing but an index of its own will do.
        let mut job = Job::new(kind("new index")).await;
        job.config.finish.swap = Some(SwapConfig::new("searched"));
        let (job, refused) = with_another_client(job, other).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("docs: it exists already"), "{why}");
        assert_eq!(job.fake.documents("docs").len(), usize::from(has_document), "it is left as it is");
        assert_eq!(job.fake.setting("docs", "index.blocks.write"), None);
        // Else it is an index that exists.
        let (job, report) = with_another_client(Job::new(kind("new index")).await, other).await;
        assert_eq!(report.unwrap().status, Status::Complete);
        assert_eq!(job.fake.documents("docs").len() as u64, DOCS + u64::from(has_document));
    }
    // One that cannot be told from ours is ours.
    let mut job = Job::new(kind("new index")).await;
    job.config.finish.swap = Some(SwapConfig::new("searched"));
    let (job, report) = with_another_client(job, |fake| make(fake, "docs", as_asked())).await;
    assert_eq!(report.unwrap().status, Status::Complete);
    assert_eq!(documents_differ(&job.fake, "docs"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_no_wait_heals_end_the_load_at_once() {
    for (status, error) in [
        (400, "mapper_parsing_exception"),
        (401, "security_exception"),
        (403, "security_exception"),
        (404, "no_such_route"),
        (500, "null_pointer_exception"),
    ] {
        let job = Job::new(kind("new index")).await;
        job.fake.set_faults(Faults::new([creation(Fault::RequestRefused).error(status, error, "no")]));
        let refused = job.load().await.unwrap_err().to_string();
        assert!(refused.contains(&status.to_string()) && refused.contains(error), "{refused}");
        assert_eq!((creations(&job.fake), job.fake.indices().len()), (1, 0), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_does_not_begin_leaves_nothing() {
    const ATTEMPTS: u64 = 4;
    let refuse = |path: &'static str| refused("master_not_discovered_exception").path(path);
    for (name, fault) in [
        ("new index", creation(Fault::GatewayTimeoutAfterApplying).first(ATTEMPTS)),
        ("new index", creation(Fault::GatewayTimeout).first(ATTEMPTS)),
        ("new index", creation(Fault::ResetAfterApplying).first(ATTEMPTS)),
        ("once", creation(Fault::GatewayTimeoutAfterApplying).first(ATTEMPTS)),
        ("async", refuse("/_cluster/state")),
        ("first alias", refuse("/docs-").method("PUT")),
        ("recreate", refuse("-trial-")),
    ] {
        let mut job = Job::new(kind(name)).await;
        let before = job.fake.indices();
        job.config.limits.retries = ATTEMPTS as u32 - 1;
        job.fake.set_faults(Faults::new([fault.clone()]));
        match job.load().await {
            // The failure concerned nothing that the load cannot do without.
            Ok(report) => assert_eq!(report.status, Status::Complete, "{name}: {fault:?}"),
            Err(error) => {
                let left: Vec<String> = job.fake.indices().into_iter().filter(|one| one != LOADS_INDEX).collect();
                assert_eq!(left, before, "{name}: {fault:?}: {error}");
                assert!(job.fake.documents(LOADS_INDEX).is_empty(), "{name}: {fault:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_stopped_in_its_beginning_leaves_nothing() {
    for (name, fault) in [
        ("new index", creation(Fault::HoldAfterApplying).first(1)),
        ("first alias", creation(Fault::HoldAfterApplying).first(1)),
        ("recreate", creation(Fault::HoldAfterApplying).path("-trial-").first(1)),
        ("async", Rule::new(Fault::HoldBeforeApplying).path("/_cluster/state")),
    ] {
        let job = Job::new(kind(name)).await;
        let before = job.fake.indices();
        job.fake.set_faults(Faults::new([fault]));
        let stop = BeginningHandle::default();
        let loader = ConfiguredLoad::new(job.config.clone()).unwrap().stopped_by(stop.clone());
        let load = tokio::spawn(loader.start(Box::new(job.source())));
        job.fake.wait_for_held(1).await;
        assert!(stop.stop(), "{name}: it has changed something");
        let ended = load.await.unwrap().map(|_| ()).unwrap_err();
        assert!(matches!(ended, LoadError::Stopped), "{name}: {ended}");
        assert_eq!(job.fake.indices(), before, "{name}");
    }
}
