//! Clusters in which something waits for ever: each load ends within its limits, and says what it
//! waited for. So do the other commands, and a load that is stopped meanwhile.

use std::sync::Arc;
use std::time::Duration;

use inrush_cluster::transport::{Credentials, HttpOptions, Transport};
use inrush_commands::verify::{VerifyOptions, verify};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{Durability, LoadConfig, OldWrites, SwapConfig, WaitFor};
use inrush_load::{ConfiguredLoad, RecoverOptions, Report, Status, recover};
use inrush_sources::Warnings;
use inrush_sources::index::{IndexAddress, IndexOptions, IndexSource};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::common::{Large, Lines, config, documents};

/// A change of a load.
type Change = fn(&mut LoadConfig);

/// The time of a request. A fake that answers does so within it on a busy machine.
const REQUEST: Duration = Duration::from_secs(1);
/// A run that takes longer hangs. It is many times what the slowest run takes.
const HANGS: Duration = Duration::from_secs(120);
const AT_ONCE: usize = 8;

type Replies = Vec<(&'static str, u16, Value)>;

/// A stuck cluster, the load into it, and the words in its error or report.
struct Stuck {
    faults: Vec<Rule>,
    replies: Replies,
    configure: fn(&mut LoadConfig),
    says: &'static [&'static str],
}

fn no_change(_: &mut LoadConfig) {}

/// Requests with this text in their path are taken, and never answered.
fn silent(path: &str, says: &'static [&'static str]) -> Stuck {
    Stuck { faults: vec![Rule::new(Fault::NoReply).path(path)], replies: Vec::new(), configure: no_change, says }
}

fn replies(replies: Replies, says: &'static [&'static str]) -> Stuck {
    Stuck { faults: Vec::new(), replies, configure: no_change, says }
}

impl Stuck {
    fn with(self, configure: fn(&mut LoadConfig)) -> Self {
        Stuck { configure, ..self }
    }

    /// Only from this request on, counted among those with the text in their path.
    fn after(self, requests: u64) -> Self {
        Stuck { faults: self.faults.into_iter().map(|rule| rule.after(requests)).collect(), ..self }
    }

    async fn start(&self) -> FakeCluster {
        let faults = Faults::new(self.faults.clone());
        let fake = FakeCluster::start(FakeConfig::default().nodes(2).faults(faults)).await.unwrap();
        for (path, status, body) in &self.replies {
            fake.set_reply(path, *status, body.clone());
        }
        fake
    }

    fn config(&self, fake: &FakeCluster) -> (LoadConfig, tempfile::TempDir) {
        let (mut config, folder) = config(vec![fake.url()], "docs");
        config.guard.state = Some(folder.path().join("state"));
        let limits = &mut config.limits;
        limits.request_timeout = REQUEST;
        limits.pause_max = Duration::from_millis(100);
        limits.grace = Duration::from_millis(600);
        limits.retry_for = Duration::from_millis(300);
        limits.retries = 2;
        limits.health_every = Duration::from_millis(5);
        config.finish.wait_timeout = Duration::from_millis(150);
        (self.configure)(&mut config);
        (config, folder)
    }

    /// The error or the report of a load.
    async fn load(&self) -> String {
        let fake = self.start().await;
        let (config, _folder) = self.config(&fake);
        let run = ConfiguredLoad::new(config).unwrap().run(Large(Lines::new(documents(200, 200))));
        match tokio::time::timeout(HANGS, run).await.unwrap_or_else(|_| panic!("the load hangs: {:?}", self.faults)) {
            Ok(report) => format!("{report:?}"),
            Err(error) => error.to_string(),
        }
    }
}

/// Runs some at once.
async fn side_by_side<T: Send + 'static>(
    runs: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut all = JoinSet::new();
    for run in runs {
        let turns = Arc::clone(&turns);
        all.spawn(async move {
            let _turn = turns.acquire().await.unwrap();
            run.await
        });
    }
    all.join_all().await
}

async fn all_end(stuck: Vec<Stuck>) {
    let runs = stuck.into_iter().map(|stuck| async move { (stuck.load().await, stuck) });
    for (text, stuck) in side_by_side(runs).await {
        for words in stuck.says {
            assert!(
                text.contains(words),
                "{words:?} is not in the end of {:?} {:?}: {text}",
                stuck.faults,
                stuck.replies
            );
        }
    }
}

fn allocation(settings: Value) -> (&'static str, u16, Value) {
    ("/_cluster/settings", 200, json!({"persistent": {"cluster": {"routing": {"allocation": settings}}}}))
}

/// Two data nodes with this share of their disks free, in percent.
fn disks(free: u64) -> (&'static str, u16, Value) {
    let node = |name: &str| {
        json!({"name": name, "host": "h", "transport_address": "10.0.0.1:9300", "roles": ["data"],
            "attributes": {"box": "warm"}, "fs": {"total": {"total_in_bytes": 100_u64 << 30, "available_in_bytes": free << 30}}})
    };
    ("/_nodes/stats/fs", 200, json!({"nodes": {"a": node("es-1"), "b": node("es-2")}}))
}

/// An index `docs` whose primary shard has no node, for this reason.
fn red(why: &str) -> Replies {
    let decider = json!({"decider": "disk_threshold", "decision": "NO", "explanation": why});
    vec![
        ("/_cluster/health/docs", 200, json!({"status": "red", "indices": {"docs": {"status": "red"}}})),
        ("/_cat/shards/docs", 200, json!([{"shard": "0", "prirep": "p", "state": "UNASSIGNED"}])),
        (
            "/_cluster/allocation/explain",
            200,
            json!({"can_allocate": "no", "node_allocation_decisions": [{"node_name": "es-1", "deciders": [decider]}]}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_cannot_begin_says_what_it_waited_for() {
    all_end(vec![
        silent("/", &["GET http"]),
        silent("/docs", &["GET http", "/docs"]),
        // The requests before are the look-up of the index and that of its templates.
        silent("/docs", &["PUT http", "/docs"]).after(2),
        silent("/_index_template", &["/_index_template"]),
        replies(
            vec![disks(50), allocation(json!({"enable": "none"}))],
            &["no node can hold this new index after a wait of 0.1 s", "cluster.routing.allocation.enable is none"],
        ),
        replies(
            vec![disks(50), allocation(json!({"require": {"box": "hot"}}))],
            &["none of the 2 data nodes meets cluster.routing.allocation.require.box hot", "box=warm"],
        ),
        replies(vec![disks(50)], &["none of the 2 data nodes meets index.routing.allocation.require.box hot"]).with(
            |config| config.create.settings = Some(json!({"routing": {"allocation": {"require": {"box": "hot"}}}})),
        ),
        replies(
            vec![disks(5)],
            &[
                "no node can hold the new index docs after a wait of 0.1 s",
                "es-1 (95.0 % used)",
                "high watermark (90%)",
            ],
        ),
        silent("/trips", &["/trips"]).with(|config| config.finish.swap = Some(SwapConfig::new("trips"))),
    ])
    .await;
}

/// The pause ends the load, also where a busy machine asks for the health late.
fn persistent(config: &mut LoadConfig) {
    (config.limits.retry_for, config.limits.retries) = (HANGS / 4, u32::MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_whose_cluster_gets_stuck_ends_and_says_where() {
    let red_and = |faults: Vec<Rule>, says: &'static [&'static str]| Stuck {
        faults,
        ..replies(red("the disk is above the high watermark"), says)
    };
    let unavailable = || Rule::new(Fault::ItemUnavailable);
    let no_reply = |path: &str| Rule::new(Fault::NoReply).path(path);
    all_end(vec![
        // What is only useful may be silent.
        silent("/_nodes/stats", &["status: Complete"]),
        silent("/_cluster/settings", &["status: Complete"]),
        silent("/_has_privileges", &["status: Complete"]),
        silent("/inrush-loads", &["status: Complete"]),
        silent("/docs/_stats", &["status: Complete"]),
        silent("/_bulk", &["docs_created: 0"]),
        // The shard is never assigned, and each request waits for it.
        red_and(
            vec![unavailable(), no_reply("/_refresh")],
            &[
                "status: Failed",
                "stopped after a pause of 0.1 s: docs is red",
                "node es-1: the disk is above the high watermark",
            ],
        )
        .with(persistent),
        red_and(
            vec![no_reply("/_bulk"), no_reply("/_refresh"), no_reply("/_count"), no_reply("/_stats")],
            &["status: Failed", "node es-1: the disk is above the high watermark"],
        ),
        red_and(
            vec![unavailable(), no_reply("/_settings").after(2)],
            &["status: Failed", "docs is red", "inrush recover"],
        )
        .with(persistent),
        red_and(vec![unavailable(), no_reply("/inrush-guard").after(4)], &["status: Failed", "docs is red"])
            .with(persistent),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_red_before_the_load_says_why() {
    let mut answers = red("the disk is above the high watermark");
    answers.push(("/docs/_count", 503, json!({"error": {"type": "search_phase_execution_exception"}})));
    let stuck = replies(answers, &[]);
    let fake = stuck.start().await;
    fake.call("PUT", "/docs", json!({})).unwrap();
    let (config, _folder) = stuck.config(&fake);
    let text = error(ConfiguredLoad::new(config).unwrap().run(Lines::new(documents(10, 10)))).await;
    let expected = "docs: it cannot be counted before the load: docs is red: a primary shard is not assigned: shard 0: node \
                    es-1: the disk is above the high watermark, still after 0.1 s (option `pause_for`)";
    assert_eq!(text, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_whose_end_gets_stuck_ends_and_says_where() {
    const CHECK_FAILED: &str = "status: CheckFailed";
    let yellow = json!({"status": "yellow", "active_shards": 1, "number_of_data_nodes": 2,
        "indices": {"docs": {"status": "yellow", "number_of_shards": 1, "number_of_replicas": 1}}});
    let swap: Change = |config| {
        let swap = SwapConfig { warm: vec![json!({"size": 0})], ..SwapConfig::new("trips") };
        (config.index, config.finish.swap) = ("trips".parse().unwrap(), Some(swap));
    };
    let green: Change = |config| config.finish.wait_for = Some(WaitFor::Green);
    all_end(vec![
        silent("/_refresh", &["NotProvable", "no answer for 1 s (option `pause_for`)"]),
        silent("/_count", &["NotProvable", "could not be counted: GET http", "/_count"]).with(patient),
        silent("/_settings", &[CHECK_FAILED, "inrush recover"]).after(2),
        silent("/_forcemerge", &[CHECK_FAILED, "/_forcemerge"]).with(|config| config.finish.force_merge = Some(1)),
        silent("/_cluster/health/docs", &[CHECK_FAILED, "(option `wait_timeout`)"]).with(green),
        replies(
            vec![("/_cluster/health/docs", 200, yellow)],
            &[
                CHECK_FAILED,
                "docs is yellow, 1 of 2 shard copies are not in use, still after 0.15 s (option `wait_timeout`)",
            ],
        )
        .with(green),
        silent("/_stats", &[CHECK_FAILED, "(option `wait_timeout`)"])
            .with(|config| config.finish.wait_for = Some(WaitFor::Replicated)),
        silent("/_search", &[CHECK_FAILED, "/_search"]).with(swap),
        // The request is carried out, which the alias itself shows.
        silent("/_aliases", &["status: Complete", "swapped: true"]).with(swap),
        silent("/_flush", &[]).with(|config| config.durability = Durability::Async),
    ])
    .await;
}

/// A step of the end may take longer than a request.
fn patient(config: &mut LoadConfig) {
    config.limits.pause_max = 4 * REQUEST;
}

/// A load that is stopped when the cluster has taken a request with this text in its path, which it
/// never answers.
async fn stopped(path: &str, configure: fn(&mut LoadConfig)) -> Report {
    let stuck = Stuck {
        faults: vec![Rule::new(Fault::HoldBeforeApplying).path(path)],
        replies: Vec::new(),
        configure: |config| config.limits.request_timeout = HANGS,
        says: &[],
    };
    let fake = stuck.start().await;
    fake.call("PUT", "/trips-1", json!({"aliases": {"trips": {}}})).unwrap();
    let (mut config, _folder) = stuck.config(&fake);
    configure(&mut config);
    let source = Large(Lines::new(documents(200, 200)));
    let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
    fake.wait_for_held(1).await;
    load.stop_handle().stop();
    let report = tokio::time::timeout(HANGS / 2, load.finish()).await;
    report.unwrap_or_else(|_| panic!("a stop does not end the wait for {path}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_each_wait() {
    let green: Change = |config| {
        config.limits.health_every = HANGS;
        config.finish.wait_for = Some(WaitFor::Green);
        config.finish.wait_timeout = HANGS;
    };
    let merge: Change = |config| {
        config.finish.force_merge = Some(1);
        config.finish.wait_timeout = HANGS;
    };
    let swap: Change = |config| {
        config.index = "trips".parse().unwrap();
        config.finish.swap = Some(SwapConfig { old_writes: OldWrites::Block, ..SwapConfig::new("trips") });
    };
    let waits: [(&str, Change); 8] = [
        ("/_bulk", no_change),
        ("/_refresh", no_change),
        ("/_count", no_change),
        ("/inrush-guard", no_change),
        ("/_settings", no_change),
        ("/_forcemerge", merge),
        ("/_cluster/health/docs", green),
        ("/trips-1/_settings", swap),
    ];
    let runs = waits.map(|(path, configure)| async move { (path, stopped(path, configure).await) });
    for (path, report) in side_by_side(runs).await {
        assert!(
            matches!(report.status, Status::Interrupted | Status::Complete | Status::CheckFailed),
            "{path}: {report:?}"
        );
        assert!(report.counts.add_up(), "{path}: {report:?}");
    }
}

fn transport(fake: &FakeCluster) -> Arc<Transport> {
    let options = HttpOptions { request_timeout: REQUEST, ..HttpOptions::default() };
    Arc::new(Transport::new(&[fake.url()], Credentials::None, &options).unwrap())
}

/// The error of a command that ends.
async fn error<T, E: ToString>(command: impl Future<Output = Result<T, E>>) -> String {
    let ended = tokio::time::timeout(HANGS, command).await.expect("the command hangs");
    ended.err().map_or_else(|| "no error".to_owned(), |error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn other_commands_end_as_well() {
    for path in ["/", "/_mget", "/_refresh", "/_count"] {
        let fake = silent(path, &[]).start().await;
        fake.call("PUT", "/docs", json!({})).unwrap();
        let options = VerifyOptions { id: Some("id".parse().unwrap()), ..VerifyOptions::new("docs".parse().unwrap()) };
        let source = Box::new(Lines::new(documents(50, 50)));
        let text = error(verify(transport(&fake), source, &options, |_| {})).await;
        assert!(text.contains("http://") && text.contains(path), "verify {path}: {text}");
    }
    let fake = silent("/", &[]).start().await;
    let text = error(inrush_commands::doctor::examine(&transport(&fake), Some("docs"))).await;
    assert!(text.contains("GET http"), "doctor: {text}");
    let mut reader = inrush_commands::segments::SegmentsReader::new(transport(&fake), None);
    let text = error(reader.read(0)).await;
    assert!(text.contains("GET http"), "segments: {text}");
    let folder = tempfile::tempdir().unwrap();
    let options = RecoverOptions { state: Some(folder.path().into()), ..RecoverOptions::default() };
    let text = error(recover(transport(&fake), &options, |_| {})).await;
    assert!(text.contains("inrush-guard/_refresh"), "recover: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_gets_stuck_ends_the_load() {
    for path in ["/", "/_search"] {
        let from = silent(path, &[]).start().await;
        from.call("PUT", "/old", json!({})).unwrap();
        from.call("PUT", "/old/_doc/1?refresh=true", json!({"n": 1})).unwrap();
        let to = FakeCluster::start(FakeConfig::default()).await.unwrap();
        let (config, _folder) = config(to.urls(), "copy");
        let address = IndexAddress::parse(&format!("{}/old", from.url())).unwrap();
        let options = IndexOptions { request_timeout: REQUEST, retry_for: REQUEST, ..IndexOptions::new(address) };
        let copy = async {
            let source = IndexSource::open(options, &Warnings::default()).await.map_err(|error| error.to_string())?;
            let report = ConfiguredLoad::new(config).unwrap().run(source).await.map_err(|error| error.to_string())?;
            Err::<(), String>(report.failure.unwrap_or_default())
        };
        let text = error(copy).await;
        assert!(text.contains("http://") && text.contains(path), "{path}: {text}");
    }
}
