//! A load that swaps an alias, cut off at each of its steps by a crash and resumed, against the
//! fake cluster.

use std::path::PathBuf;
use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::config::{LoadConfig, OldWrites, StateFolder, SwapConfig};
use inrush_load::{ConfiguredLoad, GUARD_INDEX, LOADS_INDEX, Report, Status};
use inrush_sources::{Files, FormatOptions, SourceSpec, Warnings, open};
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{config, documents};

const DOCS: u64 = 300;

/// The alias `trips` on `trips-1`, and a load of a file that replaces it, with all options.
struct Job {
    fake: FakeCluster,
    config: LoadConfig,
    path: PathBuf,
    _folder: TempDir,
}

impl Job {
    async fn new(old: Option<Value>) -> Job {
        let fake = FakeCluster::start(FakeConfig::default().nodes(2)).await.unwrap();
        if let Some(body) = old {
            let name = if body.get("aliases").is_some() { "trips-1" } else { "trips" };
            fake.call("PUT", &format!("/{name}"), body.clone()).unwrap();
        }
        let (mut config, folder) = config(fake.urls(), "trips");
        let path = folder.path().join("documents.ndjson");
        std::fs::write(&path, documents(DOCS, DOCS).map(|line| line + "\n").collect::<String>()).unwrap();
        config.id = Some("id".parse().unwrap());
        config.state = Some(StateFolder::new(folder.path().join("state")));
        config.guard.state = Some(folder.path().join("state"));
        config.guard.replicas_off = true;
        config.finish.force_merge = Some(1);
        let warm = vec![json!({"query": {"match_all": {}}})];
        let swap = SwapConfig { delete_old: true, old_writes: OldWrites::Block, warm, ..SwapConfig::new("trips") };
        config.finish.swap = Some(swap);
        Job { fake, config, path, _folder: folder }
    }

    fn source(&self) -> Files {
        open(&[SourceSpec::new(&self.path)], FormatOptions::default(), &Warnings::default()).unwrap()
    }

    fn resumed(&self) -> LoadConfig {
        LoadConfig { resume: true, ..self.config.clone() }
    }

    async fn load(&self, config: LoadConfig) -> Report {
        ConfiguredLoad::new(config).unwrap().run(self.source()).await.unwrap()
    }

    /// Begins the load and ends the process, so to speak, when a request is held by `rule`.
    async fn crash_at(&self, fault: Fault, path: &str, before: u64) {
        let (rule, is_bulk) = (Rule::new(fault).path(path).after(before), path == "/_bulk");
        self.fake.set_faults(Faults::new([rule]));
        let (config, source) = (self.config.clone(), self.source());
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let crashed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.spawn(async move {
                let load = ConfiguredLoad::new(config).unwrap().start(Box::new(source)).await.unwrap();
                load.finish().await;
            });
            stopped.recv().unwrap();
            runtime.shutdown_timeout(Duration::from_secs(20));
        });
        self.fake.wait_for_held(1).await;
        stop.send(()).unwrap();
        tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
        // A request for the alias ends with its connection: released before the fake sees that, it
        // would be carried out. A bulk request does not end with its connection.
        while !is_bulk && self.fake.held() > 0 {
            tokio::task::yield_now().await;
        }
        self.fake.set_faults(Faults::default());
        self.fake.release_held();
    }

    fn indices(&self) -> Vec<String> {
        self.fake.indices().into_iter().filter(|name| ![GUARD_INDEX, LOADS_INDEX].contains(&name.as_str())).collect()
    }

    /// The alias stands for one index with all documents, and nothing else is left.
    fn check(&self, report: &Report, title: &str) {
        assert_eq!(report.status, Status::Complete, "{title}: {report:?}");
        let swap = report.swap.as_ref().unwrap();
        assert!(swap.swapped, "{title}: {report:?}");
        assert_eq!(self.indices(), std::slice::from_ref(&swap.index), "{title}");
        assert_eq!(self.fake.documents("trips").len() as u64, DOCS, "{title}");
        assert_eq!(self.fake.setting(&swap.index, "index.number_of_replicas").as_deref(), Some("1"), "{title}");
        assert_eq!(self.fake.documents(GUARD_INDEX).len(), 0, "{title}");
        let left: Vec<_> = std::fs::read_dir(self.config.state.as_ref().unwrap().path.join("checkpoints"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{title}");
    }
}

/// The path that each step asks for, and how many requests with it there are before.
const STEPS: [(&str, &str, u64); 7] = [
    ("loading", "/_bulk", 0),
    ("force-merge", "/_forcemerge", 0),
    ("verification", "/_count", 0),
    ("green", "/_cluster/health/trips-20", 0),
    ("warm", "/_search", 0),
    ("swap", "/_aliases", 0),
    ("counting writes", "/trips-1/_stats", 1),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_step_can_be_gone_on_with() {
    let old = json!({"aliases": {"trips": {"is_write_index": true}}});
    let job = Job::new(Some(old.clone())).await;
    let report = job.load(job.config.clone()).await;
    job.check(&report, "without a crash");
    // The last one with this path deletes the index.
    let requests = job.fake.requests();
    let on_old: Vec<_> = requests.iter().filter(|request| request.path.starts_with("/trips-1")).collect();
    assert_eq!((on_old.last().unwrap().method.as_str(), on_old.last().unwrap().path.as_str()), ("DELETE", "/trips-1"));
    let deletion = ("deletion", "/trips-1", on_old.len() as u64 - 1);
    for (title, path, before) in STEPS.into_iter().chain([deletion]) {
        for fault in [Fault::HoldBeforeApplying, Fault::HoldAfterApplying] {
            let title = format!("{title}, {fault:?}");
            let job = Job::new(Some(old.clone())).await;
            job.crash_at(fault, path, before).await;
            let report = job.load(job.resumed()).await;
            job.check(&report, &title);
            assert_eq!((report.counts.docs_read, report.counts.docs_indexed), (DOCS, DOCS), "{title}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_the_swap_of_an_index_or_of_nothing_can_be_gone_on_with() {
    for old in [None, Some(json!({}))] {
        for fault in [Fault::HoldBeforeApplying, Fault::HoldAfterApplying] {
            let job = Job::new(old.clone()).await;
            job.crash_at(fault, "/_aliases", 0).await;
            let report = job.load(job.resumed()).await;
            job.check(&report, &format!("{old:?} {fault:?}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_whose_answer_is_lost_is_made_once() {
    for fault in [Fault::ResetBeforeApplying, Fault::ResetAfterApplying, Fault::Unavailable] {
        let job = Job::new(Some(json!({"aliases": {"trips": {}}}))).await;
        job.fake.set_faults(Faults::new([Rule::new(fault).path("/_aliases").first(1)]));
        let report = job.load(job.config.clone()).await;
        job.check(&report, &format!("{fault:?}"));
    }
}

/// A request without an answer may be carried out later than anybody looks.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_that_is_never_answered_is_in_doubt() {
    let job = Job::new(Some(json!({"aliases": {"trips": {}}}))).await;
    job.fake.set_faults(Faults::new([Rule::new(Fault::GatewayTimeout).path("/_aliases")]));
    let mut config = job.config.clone();
    config.limits.retry_for = Duration::from_secs(1);
    let report = job.load(config).await;
    let swap = report.swap.as_ref().unwrap();
    assert_eq!((report.status, swap.swapped), (Status::CheckFailed, false), "{report:?}");
    assert!(swap.detail.contains("check it with GET /_alias/trips"), "{swap:?}");
    assert!(swap.what_next.as_ref().unwrap().contains("option `resume`"), "{swap:?}");
    job.fake.set_faults(Faults::default());
    let report = job.load(job.resumed()).await;
    job.check(&report, "resumed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finish_that_failed_is_repeated_without_loading_again() {
    let mut job = Job::new(Some(json!({"aliases": {"trips": {}}}))).await;
    let good = job.config.finish.swap.as_mut().unwrap().warm.clone();
    job.config.finish.swap.as_mut().unwrap().warm = vec![json!({"query": {"no_such_query": {}}})];
    let report = job.load(job.config.clone()).await;
    assert_eq!((report.status, report.checkpoint.is_some()), (Status::CheckFailed, true), "{report:?}");
    let index = report.swap.unwrap().index;
    job.config.finish.swap.as_mut().unwrap().warm = good;
    job.fake.clear_requests();
    let report = job.load(job.resumed()).await;
    job.check(&report, "resumed");
    assert_eq!((report.swap.unwrap().index, job.fake.bulk_requests().len()), (index, 0));
    assert_eq!(report.this_run.unwrap().counts.docs_read, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_the_alias_meanwhile_is_noticed() {
    let job = Job::new(Some(json!({"aliases": {"trips": {}}}))).await;
    job.crash_at(Fault::HoldBeforeApplying, "/_aliases", 0).await;
    let client = Client::new(&job.fake.url()).unwrap();
    let actions = json!({"actions": [{"remove": {"index": "trips-1", "alias": "trips"}}]});
    assert_eq!(client.json("POST", "/_aliases", actions).await.unwrap().status, 200);
    let refused = ConfiguredLoad::new(job.resumed()).unwrap().run(job.source()).await.unwrap_err().to_string();
    assert!(refused.contains("which stood for trips-1, was removed since the load was interrupted"), "{refused}");
    // From the beginning it makes another index, and the one of the first run stays.
    let report = job.load(job.config.clone()).await;
    assert_eq!((report.status, job.indices().len()), (Status::Complete, 3), "{report:?}");
}
