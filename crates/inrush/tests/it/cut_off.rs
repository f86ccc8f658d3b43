//! A load of a file that is cut off and begun again. A crash is a runtime that is shut down in the
//! middle.

use std::path::PathBuf;
use std::time::Duration;

use inrush_load::config::{LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, Report};
use inrush_sources::{Files, FormatOptions, Source, SourceSpec, Warnings, open};
use tempfile::TempDir;

use crate::common::config;

pub const DOCS: u64 = 3_000;

/// A file of documents with ids that repeat after `ids`, each of about 300 bytes, and a job that
/// loads it in about half a second with many checkpoints.
pub struct Job {
    pub folder: TempDir,
    pub path: PathBuf,
    pub format: FormatOptions,
    pub config: LoadConfig,
}

pub fn documents(count: u64, ids: u64) -> String {
    let pad = "x".repeat(250);
    (0..count)
        .map(|n| format!("{{\"id\":\"i{}\",\"n\":{n},\"t\":\"t{}\",\"pad\":\"{pad}\"}}\n", n % ids, n % 3))
        .collect()
}

impl Job {
    pub fn new(urls: Vec<String>, index: &str, text: &str) -> Self {
        let (mut config, folder) = config(urls, index);
        let path = folder.path().join("documents.ndjson");
        std::fs::write(&path, text).unwrap();
        config.limits.max_rate = Some(Rate::Docs(DOCS * 2));
        config.state =
            Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(folder.path().join("state")) });
        Job { folder, path, format: FormatOptions::default(), config }
    }

    pub fn source(&self) -> Files {
        open(&[SourceSpec::new(&self.path)], self.format.clone(), &Warnings::default()).unwrap()
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// What is left in the state folder.
    pub fn left(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.state().join("checkpoints")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    pub fn resumed(&self) -> LoadConfig {
        LoadConfig { resume: true, ..self.config.clone() }
    }

    pub async fn load(&self, config: LoadConfig) -> Report {
        let report = ConfiguredLoad::new(config).unwrap().run(self.source()).await.unwrap();
        assert!(report.counts.add_up(), "{report:?}");
        report
    }

    pub async fn refusal(&self, config: LoadConfig) -> String {
        let refused = ConfiguredLoad::new(config).unwrap().run(self.source()).await;
        refused.map(|report| format!("not refused: {report:?}")).unwrap_err().to_string()
    }

    /// Begins the load and ends the process, so to speak, when `settled` documents are in.
    pub async fn crash(&self, config: LoadConfig, settled: u64) {
        self.crash_of(config, Box::new(self.source()), settled).await;
    }

    /// The same with another source.
    pub async fn crash_of(&self, config: LoadConfig, source: Box<dyn Source>, settled: u64) {
        let crashed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let load = ConfiguredLoad::new(config).unwrap().start(source).await.unwrap();
                load.progress().wait_for(|progress| progress.docs_settled >= settled).await.unwrap();
                std::mem::forget(load);
            });
            runtime.shutdown_timeout(Duration::from_secs(20));
        });
        tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
    }
}
