//! The options of reading in a checkpoint: those that differ from their defaults.

use std::collections::HashSet;

use inrush_sources::{CsvOptions, FormatOptions, Header};
use serde_json::Value;

use super::*;

/// What a checkpoint has of the options of [`headless`]. A later version reads it, too.
const READING: &str = r#"{"csv":{"header":{"Names":["id","n","pad"]},"schema":[["n","Integer"]]}}"#;

fn headless() -> FormatOptions {
    let header = Header::Names(["id", "n", "pad"].map(str::to_owned).into());
    let schema = CsvOptions::parse_schema("n:integer").unwrap();
    let csv = CsvOptions { header, schema, ..CsvOptions::default() };
    FormatOptions { csv, ..FormatOptions::default() }
}

/// Writes down another text of the options of reading. Returns the one before.
fn replace_reading(job: &Job, reading: &str) -> String {
    let path = job.left().into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let mut saved: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let before = std::mem::replace(&mut saved["job"]["options"]["how the sources are read"], reading.into());
    std::fs::write(&path, serde_json::to_vec(&saved).unwrap()).unwrap();
    before.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_goes_on_with_the_options_of_its_checkpoint_and_with_no_others() {
    let fake = fake([]).await;
    let pad = "x".repeat(250);
    let rows: String = (0..DOCS).map(|n| format!("i{n},{n},{pad}\n")).collect();
    let mut job = Job::new(fake.urls(), "docs", "");
    job.path = job.folder.path().join("documents.csv");
    std::fs::write(&job.path, rows).unwrap();
    job.format = headless();
    job.config.id = Some("id".parse().unwrap());

    job.crash(job.config.clone(), 1000).await;
    assert_eq!(replace_reading(&job, &READING.replace("Integer", "Float")), READING);
    assert!(job.refusal(job.resumed()).await.contains("option changed: how the sources are read"));
    replace_reading(&job, READING);
    let report = job.load(job.resumed()).await;
    assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
    assert!(report.this_run.is_some_and(|run| run.counts.docs_read < DOCS), "the load was continued");
    let numbers: HashSet<u64> = fake.documents("docs").iter().map(|d| d.json()["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len() as u64, DOCS);
}
