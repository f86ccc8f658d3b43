//! Loads of the version before, which this version continues.

use std::collections::HashSet;

use inrush_sources::{CsvOptions, FormatOptions, Header};
use serde_json::{Map, Value};

use super::*;

/// What version 0.1.0 recorded of the options of [`headless`].
const READING_0_1: &str = include_str!("reading-0.1.0.txt");

fn headless() -> FormatOptions {
    let header = Header::Names(["id", "n", "pad"].map(str::to_owned).into());
    let schema = CsvOptions::parse_schema("n:integer").unwrap();
    let csv = CsvOptions { header, schema, ..CsvOptions::default() };
    FormatOptions { csv, ..FormatOptions::default() }
}

/// Makes the checkpoint of `job` one of version 0.1.0, whose load had the reading `before`.
fn age(job: &Job, before: &str) {
    let path = job.left().into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let mut saved: Map<String, Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let options = saved["job"]["options"].as_object_mut().unwrap();
    let (new, old) = ("how the sources are read", "format and its options");
    assert!(options.remove(new).or(options.remove(old)).is_some(), "{options:?}");
    options.insert(old.to_owned(), before.trim_end().into());
    std::fs::write(&path, serde_json::to_vec(&saved).unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_of_version_0_1_is_continued() {
    let fake = fake([]).await;
    let pad = "x".repeat(250);
    let rows: String = (0..DOCS).map(|n| format!("i{n},{n},{pad}\n")).collect();
    let mut job = Job::new(fake.urls(), "docs", "");
    job.path = job.folder.path().join("documents.csv");
    std::fs::write(&job.path, rows).unwrap();
    job.format = headless();
    job.config.id = Some("id".parse().unwrap());

    job.crash(job.config.clone(), 1000).await;
    age(&job, &READING_0_1.replace("Integer", "Float"));
    assert!(job.refusal(job.resumed()).await.contains("option changed: how the sources are read"));
    age(&job, READING_0_1);
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
    assert!(report.this_run.is_some_and(|run| run.counts.docs_read < DOCS), "the load was continued");
    let numbers: HashSet<u64> = fake.documents("docs").iter().map(|d| d.json()["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len() as u64, DOCS);
}
