//! What the engine's tests share: a source of lines, and a load with small batches.
// Each executable uses a part of it.
#![allow(dead_code)]

pub mod own_process;

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_fake::{FakeCluster, FakeConfig, Faults, Rule};
use inrush_load::config::{DeadLetters, LoadConfig};
use inrush_load::{ConfiguredLoad, Report};
use inrush_sources::{Chunk, DocBlock, Fingerprint, Origin, Record, Source, SourceError, SourceInfo, Step};

/// Documents from memory, a few in each block.
pub struct Lines {
    lines: std::vec::IntoIter<String>,
    byte: u64,
}

impl Lines {
    pub fn new(lines: impl IntoIterator<Item = String>) -> Self {
        Lines { lines: lines.into_iter().collect::<Vec<_>>().into_iter(), byte: 0 }
    }
}

impl Source for Lines {
    fn describe(&self) -> SourceInfo {
        SourceInfo::new(["lines"])
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        let mut data = Vec::new();
        let mut records = Vec::new();
        for line in self.lines.by_ref().take(37) {
            let start = data.len() as u32;
            data.extend_from_slice(line.as_bytes());
            records.push(Record { start, end: data.len() as u32, byte: start, line: records.len() as u32 });
        }
        if records.is_empty() {
            return Ok(Step::End);
        }
        let origin = Origin { first_byte: self.byte, ..Origin::default() };
        self.byte += data.len() as u64;
        Ok(Step::Chunk(Chunk::Docs(DocBlock {
            origin,
            lines: records.len() as u64,
            bytes_read: data.len() as u64,
            data: data.into(),
            records,
            ..DocBlock::default()
        })))
    }
}

/// A source that claims to be a large job.
pub struct Large<S>(pub S);

impl<S: Source> Source for Large<S> {
    fn describe(&self) -> SourceInfo {
        let mut info = self.0.describe();
        info.bytes_total = Some(2 << 30);
        info
    }

    fn next(&mut self, want_bytes: usize) -> Result<Step, SourceError> {
        self.0.next(want_bytes)
    }

    fn fingerprints(&self) -> Result<Vec<Fingerprint>, SourceError> {
        self.0.fingerprints()
    }
}

/// A cluster that fails in these ways.
pub async fn fake(faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().faults(Faults::new(faults))).await.unwrap()
}

/// What an index of the fake holds: the number `n` of each document, by id.
pub fn numbers(fake: &FakeCluster, index: &str) -> BTreeMap<String, u64> {
    // SMILE has it as a float.
    fake.documents(index).iter().map(|d| (d.id.clone(), d.json()["n"].as_f64().unwrap() as u64)).collect()
}

/// What an index has to hold after [`documents`]: of each id the last one in the source.
pub fn expected(count: u64, ids: u64) -> BTreeMap<String, u64> {
    (0..count).map(|n| (format!("i{}", n % ids), n)).collect()
}

/// A job with batches so small that a test has many of them, and waits so short that it does not
/// last.
pub fn config(urls: Vec<String>, index: &str) -> (LoadConfig, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = LoadConfig::new(urls, index.parse().unwrap());
    config.limits.batch_bytes = Some(4000);
    config.limits.memory = 64_000;
    config.limits.in_flight = Some(4);
    config.limits.workers = 2;
    config.limits.retry_wait = Duration::from_millis(2);
    config.limits.linger = Duration::from_millis(20);
    config.dead_letters = DeadLetters::File(folder.path().join("dead.ndjson"));
    (config, folder)
}

pub async fn load(config: &LoadConfig, lines: impl IntoIterator<Item = String>) -> Report {
    let report = ConfiguredLoad::new(config.clone()).unwrap().run(Lines::new(lines)).await.unwrap();
    assert!(report.counts.add_up(), "{report:?}");
    report
}

/// `{"id":…,"n":…}` for n below `count`, with an id that repeats after `ids`.
pub fn documents(count: u64, ids: u64) -> impl Iterator<Item = String> {
    (0..count).map(move |n| format!("{{\"id\":\"i{}\",\"n\":{n},\"text\":\"some words to fill it\"}}", n % ids))
}
