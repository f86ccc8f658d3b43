//! A source that never ends: it pauses, hears what is settled and commits it, is stopped in order
//! or killed, and goes on from its commits. Against the fake cluster, with faults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_commands::options::{Environment, LoadOptions};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_load::ConfiguredLoad;
use inrush_load::config::{DeadLetters, GraphTime, LoadConfig, Rate, StateFolder};
use inrush_load::{Phase, Report, RunningLoad, Status};
use inrush_sources::{
    Chunk, DocBlock, Feedback, Files, FormatOptions, Lag, OpenError, Opened, Opening, Origin, Partition, PartitionLag,
    Record, Request, Source, SourceError, SourceId, SourceInfo, SourceKind, SourceSpec, Step, TopicPartition, Warnings,
    open,
};
use tokio::sync::watch;

use crate::common::{self, config};

const PARTITIONS: usize = 3;
const INDEX: &str = "docs";

/// A topic of a broker. Records have offsets; some offsets have no record, as those of markers.
struct Topic {
    logs: Mutex<Vec<Log>>,
    /// By partition, the offset that the next consumer begins at.
    committed: watch::Sender<Vec<u64>>,
    /// Where the records end up.
    fake: FakeCluster,
    letters: PathBuf,
    /// Commits of records that were neither in the index nor dead letters on disk.
    wrong: Mutex<Vec<String>>,
}

#[derive(Clone, Default)]
struct Log {
    records: BTreeMap<u64, String>,
    end: u64,
}

impl Topic {
    fn new(fake: FakeCluster, letters: PathBuf) -> Arc<Topic> {
        Arc::new(Topic {
            logs: Mutex::new(vec![Log { end: 1_000, ..Log::default() }; PARTITIONS]),
            committed: watch::Sender::new(vec![1_000; PARTITIONS]),
            fake,
            letters,
            wrong: Mutex::default(),
        })
    }

    /// Appends `count` records to each partition.
    fn produce(&self, count: u64) {
        for (partition, log) in self.logs.lock().unwrap().iter_mut().enumerate() {
            for _ in 0..count {
                log.end += if log.end % 10 == 9 { 2 } else { 1 };
                let offset = log.end - 1;
                let id = format!("p{partition}-{offset}");
                let record = format!("{{\"id\":\"{id}\",\"offset\":{offset},\"text\":\"some words to fill it\"}}");
                log.records.insert(offset, record);
            }
        }
    }

    fn ends(&self) -> Vec<u64> {
        self.logs.lock().unwrap().iter().map(|log| log.end).collect()
    }

    fn ids(&self) -> BTreeSet<String> {
        let logs = self.logs.lock().unwrap().clone();
        let ids = |(partition, log): (usize, Log)| {
            log.records.into_keys().map(move |offset| format!("p{partition}-{offset}")).collect::<Vec<_>>()
        };
        logs.into_iter().enumerate().flat_map(ids).collect()
    }

    async fn wait_for_commits(&self, enough: impl FnMut(&Vec<u64>) -> bool) {
        self.committed.subscribe().wait_for(enough).await.unwrap();
    }

    /// Commits, and notes which records before that are not where they have to be by now.
    fn commit(&self, offsets: impl Iterator<Item = (usize, u64)>) {
        let documents = self.fake.documents(INDEX).into_iter();
        let there: BTreeMap<String, Vec<u8>> = documents.map(|found| (found.id, found.source.to_vec())).collect();
        let letters = std::fs::read_to_string(&self.letters).unwrap_or_default();
        for (partition, up_to) in offsets {
            let from = self.committed.borrow()[partition];
            for (offset, record) in self.logs.lock().unwrap()[partition].records.range(from..up_to) {
                let id = format!("p{partition}-{offset}");
                let is_in = there.get(&id).is_some_and(|found| found == record.as_bytes());
                if !is_in && !letters.contains(&format!("\"{id}\"")) {
                    self.wrong.lock().unwrap().push(format!("{id} was committed with {up_to}"));
                }
            }
            self.committed.send_modify(|committed| committed[partition] = up_to);
        }
    }
}

/// One consumer of the topic, from the commits on.
struct Consumer {
    topic: Arc<Topic>,
    next: Vec<u64>,
    /// Calls so far: some of them find nothing although there is something.
    calls: usize,
    /// Where it ends, once it was stopped.
    until: Arc<Mutex<Option<Vec<u64>>>>,
}

impl Consumer {
    fn new(topic: &Arc<Topic>) -> Self {
        let next = topic.committed.borrow().clone();
        Consumer { topic: Arc::clone(topic), next, calls: 0, until: Arc::default() }
    }
}

impl Source for Consumer {
    fn describe(&self) -> SourceInfo {
        let mut info = SourceInfo::new(["topic://orders"]);
        info.own_numbers = true;
        info.is_endless = true;
        info.settled_every = Duration::from_millis(5);
        info
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Ok(Step::Idle);
        }
        let until = self.until.lock().unwrap().clone();
        let logs = self.topic.logs.lock().unwrap();
        for partition in (0..PARTITIONS).map(|at| (at + self.calls) % PARTITIONS) {
            let first = self.next[partition];
            let end = until.as_ref().map_or(logs[partition].end, |until| until[partition]).min(first + 25);
            if first == end {
                continue;
            }
            let mut data = Vec::new();
            let mut records = Vec::new();
            for (offset, record) in logs[partition].records.range(first..end) {
                let start = data.len() as u32;
                data.extend_from_slice(record.as_bytes());
                let line = (offset - first) as u32;
                records.push(Record { start, end: data.len() as u32, byte: start, line });
            }
            self.next[partition] = end;
            let origin =
                Origin { partition: partition as u32, first_doc: first, own_numbers: true, ..Origin::default() };
            let (lines, bytes_read) = (end - first, data.len() as u64);
            let block = DocBlock { origin, lines, bytes_read, data: data.into(), records, ..DocBlock::default() };
            return Ok(Step::Chunk(Chunk::Docs(block)));
        }
        Ok(if until.is_some() { Step::End } else { Step::Idle })
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::new(Commits { topic: Arc::clone(&self.topic), until: Arc::clone(&self.until) }))
    }
}

/// The consumer's way back.
struct Commits {
    topic: Arc<Topic>,
    until: Arc<Mutex<Option<Vec<u64>>>>,
}

impl Feedback for Commits {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        self.topic.commit(up_to.iter().map(|(&(SourceId(_), partition), &offset)| (partition as usize, offset)));
    }

    fn stop(&self) {
        self.until.lock().unwrap().get_or_insert_with(|| self.topic.ends());
    }

    fn lag(&self) -> Option<Lag> {
        let (committed, ends) = (self.topic.committed.borrow().clone(), self.topic.ends());
        let lag = |(number, (committed, end)): (usize, (u64, u64))| {
            let at = TopicPartition::new("orders", number as i32);
            let mut lag = PartitionLag::new(&at, Some(committed as i64), end as i64);
            lag.records = end - committed;
            lag
        };
        Some(Lag::new(committed.into_iter().zip(ends).enumerate().map(lag).collect()))
    }
}

/// The kind of source. A program makes it known with one line:
/// `.with_source_kind(TopicKind(topic))`.
struct TopicKind(Arc<Topic>);

impl SourceKind for TopicKind {
    fn name(&self) -> &'static str {
        "topic"
    }

    fn find(&self, request: &Request) -> Option<String> {
        let arguments = request.arguments.iter().filter_map(|argument| argument.to_str());
        arguments.into_iter().find(|argument| argument.starts_with("topic://")).map(str::to_owned)
    }

    fn open<'a>(&'a self, _: &'a Request) -> Opening<'a> {
        Box::pin(async { Ok::<_, OpenError>(Opened::new(Consumer::new(&self.0))) })
    }
}

struct Job {
    topic: Arc<Topic>,
    config: LoadConfig,
    _folder: tempfile::TempDir,
}

impl Job {
    async fn new(faults: impl IntoIterator<Item = Rule>) -> Job {
        let fake = FakeCluster::start(FakeConfig::default().nodes(2).faults(Faults::new(faults)));
        let fake = fake.await.unwrap();
        let (mut config, folder) = config(fake.urls(), INDEX);
        config.id = Some("id".parse().unwrap());
        let letters = folder.path().join("dead.ndjson");
        Job { topic: Topic::new(fake, letters), config, _folder: folder }
    }

    async fn start(&self) -> RunningLoad {
        let environment = Environment::empty().with_source_kind(TopicKind(Arc::clone(&self.topic)));
        let mut options = LoadOptions::default();
        for (name, value) in [("sources", "topic://orders"), ("to", &self.config.to[0]), ("index", INDEX)] {
            options.give(name, value).unwrap();
        }
        let plan = options.resolve(&environment).await.unwrap();
        ConfiguredLoad::new(self.config.clone()).unwrap().start(plan.source).await.unwrap()
    }

    /// Loads until `settled` documents are settled, and then drops the runtime, like `kill`.
    async fn kill(&self, settled: u64) {
        let (topic, config) = (Arc::clone(&self.topic), self.config.clone());
        let killed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let source = Box::new(Consumer::new(&topic));
                let load = ConfiguredLoad::new(config).unwrap().start(source).await.unwrap();
                load.progress().wait_for(|progress| progress.docs_settled >= settled).await.unwrap();
                std::mem::forget(load);
            });
            runtime.shutdown_timeout(Duration::from_secs(20));
        });
        tokio::task::spawn_blocking(move || killed.join().unwrap()).await.unwrap();
    }

    /// Everything is committed, and nothing was before it was settled.
    fn check(&self, report: &Report) {
        assert!(report.counts.add_up(), "{report:?}");
        assert_eq!(*self.topic.wrong.lock().unwrap(), Vec::<String>::new());
        assert_eq!(*self.topic.committed.borrow(), self.topic.ends());
    }

    fn indexed(&self) -> BTreeSet<String> {
        self.topic.fake.documents(INDEX).into_iter().map(|document| document.id).collect()
    }
}

fn faults() -> [Rule; 3] {
    [
        Rule::new(Fault::ResetAfterApplying).probability(0.05),
        Rule::new(Fault::ItemRejected).probability(0.05),
        Rule::new(Fault::Unavailable).path("_bulk").probability(0.03),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_settled_is_committed_and_a_stop_in_order_loads_the_rest() {
    let job = Job::new(faults()).await;
    let topic = &job.topic;
    topic.produce(200);
    let load = job.start().await;
    for _ in 0..3 {
        // What was gathered is sent although there is never enough for a full request.
        let ends = topic.ends();
        topic.wait_for_commits(|committed| *committed == ends).await;
        topic.produce(3);
    }
    load.progress().wait_for(|progress| progress.phase == Phase::Idle).await.unwrap();
    topic.produce(100);
    load.stop_handle().end_source();
    let report = load.finish().await;
    assert_eq!((report.status, report.failure.as_deref()), (Status::Complete, None), "{report:?}");
    assert_eq!(report.counts.docs_read, PARTITIONS as u64 * 309);
    let lag = report.lag.as_ref().unwrap();
    assert_eq!((lag.records, lag.partitions.len()), (0, PARTITIONS), "{lag:?}");
    assert!(report.source_idle_seconds >= 1.0, "{report:?}");
    assert_eq!(job.indexed(), topic.ids());
    job.check(&report);
}

#[tokio::test(flavor = "multi_thread")]
async fn graphs_do_not_wait_for_the_end_of_a_source_that_has_none() {
    let mut job = Job::new(faults()).await;
    job.config.finish.graph = GraphTime::End;
    let source = Box::new(Consumer::new(&job.topic));
    let refused = ConfiguredLoad::new(job.config.clone()).unwrap().start(source).await.err().unwrap();
    assert!(refused.to_string().contains("never ends"), "{refused}");
    assert!(!job.topic.fake.indices().iter().any(|name| name == INDEX), "the index was created");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_on_disk_before_they_are_committed() {
    let bad = Rule::new(Fault::ItemBadRequest).containing("7,\"text\"");
    let job = Job::new(faults().into_iter().chain([bad])).await;
    job.topic.produce(300);
    let load = job.start().await;
    load.stop_handle().end_source();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Incomplete, "{report:?}");
    let bad: BTreeSet<String> = job.topic.ids().into_iter().filter(|id| id.ends_with('7')).collect();
    assert_eq!(report.counts.docs_dead_lettered, bad.len() as u64);
    assert_eq!(job.indexed(), job.topic.ids().difference(&bad).cloned().collect());
    job.check(&report);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_killed_goes_on_from_the_commits() {
    let mut job = Job::new(faults()).await;
    job.config.limits.max_rate = Some(Rate::Docs(1_500));
    for (kill, settled) in [1, 150, 300].into_iter().enumerate() {
        job.topic.produce(200);
        job.config.dead_letters = DeadLetters::File(job._folder.path().join(format!("dead-{kill}.ndjson")));
        job.kill(settled).await;
    }
    let before: u64 = job.topic.committed.borrow().iter().map(|committed| committed - 1_000).sum();
    let load = job.start().await;
    load.stop_handle().end_source();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Complete, "{report:?}");
    // Each record is there once, and what was committed was not read again.
    assert_eq!(job.indexed(), job.topic.ids());
    assert!(before > 0 && report.counts.docs_read <= PARTITIONS as u64 * 600 - before * 9 / 10, "{before}: {report:?}");
    job.check(&report);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_at_once_commits_what_is_settled() {
    let job = Job::new(faults()).await;
    job.topic.produce(2_000);
    let load = job.start().await;
    load.progress().wait_for(|progress| progress.docs_settled > 100).await.unwrap();
    load.stop_handle().stop();
    let progress = load.progress();
    let report = load.finish().await;
    assert_eq!(report.status, Status::Interrupted, "{report:?}");
    assert!(progress.borrow().lag.as_ref().is_some_and(|lag| lag.partitions.len() == PARTITIONS));
    let left: i64 = report.lag.as_ref().unwrap().partitions.iter().map(|lag| lag.end - lag.committed.unwrap()).sum();
    assert_eq!(report.lag.as_ref().unwrap().records, left as u64, "{report:?}");
    assert_eq!(*job.topic.wrong.lock().unwrap(), Vec::<String>::new());
    let committed: u64 = job.topic.committed.borrow().iter().map(|committed| committed - 1_000).sum();
    assert!(committed > 0, "{report:?}");
}

/// Files that hear what is settled, and look whether the checkpoint on disk says so.
struct Told {
    files: Files,
    heard: Arc<Heard>,
}

struct Heard {
    state: PathBuf,
    last: AtomicU64,
    calls: AtomicU64,
}

impl Source for Told {
    fn describe(&self) -> SourceInfo {
        self.files.describe()
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        self.files.next(want_bytes)
    }

    fn feedback(&self) -> Option<Arc<dyn Feedback>> {
        Some(Arc::clone(&self.heard) as Arc<dyn Feedback>)
    }

    fn fingerprints(&self) -> Result<Vec<inrush_sources::Fingerprint>, SourceError> {
        self.files.fingerprints()
    }
}

impl Feedback for Heard {
    fn settled(&self, up_to: &BTreeMap<Partition, u64>) {
        let up_to = up_to[&(SourceId(0), 0)];
        let files = std::fs::read_dir(self.state.join("checkpoints")).unwrap();
        let checkpoints = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let on_disk = checkpoints.filter_map(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        let on_disk = on_disk.filter_map(|saved| saved["progress"]["partitions"][0]["settled"][0][1].as_u64());
        assert!(on_disk.max().is_some_and(|on_disk| on_disk >= up_to), "no checkpoint says so: {up_to}");
        self.last.fetch_max(up_to, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn stop(&self) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_with_checkpoints_hears_what_they_say() {
    let fake = FakeCluster::start(FakeConfig::default().faults(Faults::new(faults()))).await.unwrap();
    let (mut config, folder) = config(fake.urls(), INDEX);
    config.id = Some("id".parse().unwrap());
    config.limits.max_rate = Some(Rate::Docs(6_000));
    let state = folder.path().join("state");
    config.state = Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(state.clone()) });
    let path = folder.path().join("documents.ndjson");
    let lines: String = common::documents(2_000, 2_000).map(|line| line + "\n").collect();
    std::fs::write(&path, lines).unwrap();
    let files = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
    let heard = Arc::new(Heard { state, last: AtomicU64::new(0), calls: AtomicU64::new(0) });
    let source = Told { files, heard: Arc::clone(&heard) };
    let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
    assert_eq!((report.status, report.warnings), (Status::Complete, Vec::<String>::new()));
    assert_eq!(heard.last.load(Ordering::Relaxed), 2_000);
    assert!(heard.calls.load(Ordering::Relaxed) > 1, "not only at the end");
}
