//! Loads of queries, against the fake cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use inrush_fake::{FakeCluster, Fault, Rule};
use inrush_load::config::{IdFrom, LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, LoadError, Report, Status};
use inrush_sources::{FormatOptions, SourceSpec};
use inrush_sql::{QueryOptions, Session, SessionOptions, SqlSource, TableSpec};

use crate::common::{config, fake};

const DOCS: u64 = 3_000;

const ORDERED: &str = "SELECT id, max(n) AS n, count(*) AS rows FROM input GROUP BY id ORDER BY id";
const UNORDERED: &str = "SELECT id, max(n) AS n, count(*) AS rows FROM input GROUP BY id";

/// Each id twice, in no order.
fn write_input(folder: &Path) {
    let rows: String =
        (0..2 * DOCS).map(|row| (row * 7 + 1) % (2 * DOCS)).map(|n| format!("i{},{n}\n", n % DOCS)).collect();
    std::fs::write(folder.join("input.csv"), format!("id,n\n{rows}")).unwrap();
}

async fn source(folder: &Path, sql: &str) -> SqlSource {
    let sources = vec![SourceSpec::new(folder.join("input.csv"))];
    let input = TableSpec { name: "input".to_owned(), sources, format: FormatOptions::default() };
    let options = SessionOptions { threads: 2, ..SessionOptions::default() };
    let session = Session::open(vec![input], options).await.unwrap();
    let id = Some("id".parse().unwrap());
    session.query(sql, QueryOptions { id, ..QueryOptions::default() }).await.unwrap()
}

fn with_state(mut config: LoadConfig, folder: &Path) -> LoadConfig {
    config.id = Some("id".parse().unwrap());
    config.state = Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(folder.join("state")) });
    config
}

fn check(fake: &FakeCluster) {
    let documents: BTreeMap<String, u64> = fake
        .documents("t")
        .iter()
        .map(|document| {
            let json = document.json();
            assert_eq!(json["rows"], 2);
            (json["id"].as_str().unwrap().to_owned(), json["n"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(documents, (0..DOCS).map(|n| (format!("i{n}"), n + DOCS)).collect());
}

fn complete(report: &Report) {
    assert!(report.counts.add_up(), "{report:?}");
    assert_eq!(
        (report.status, report.counts.docs_read, report.counts.docs_indexed),
        (Status::Complete, DOCS, DOCS),
        "{report:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_is_one_document_and_written_once() {
    let fake = fake([]).await;
    let (config, folder) = config(fake.urls(), "t");
    write_input(folder.path());
    let report = ConfiguredLoad::new(with_state(config, folder.path()))
        .unwrap()
        .run(source(folder.path(), UNORDERED).await)
        .await
        .unwrap();
    complete(&report);
    assert_eq!((report.counts.docs_created, report.counts.docs_updated), (DOCS, 0));
    assert_eq!(report.counts.bytes_read, folder.path().join("input.csv").metadata().unwrap().len());
    assert!(report.checkpoint.is_none());
    check(&fake);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_of_a_query_in_the_order_of_its_ids_goes_on() {
    for cut in [0, 900, 2500] {
        let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.05)]).await;
        let (config, folder) = config(fake.urls(), "t");
        write_input(folder.path());
        let mut config = with_state(config, folder.path());
        config.limits.max_rate = Some(Rate::Docs(DOCS * 2));
        let (first, path) = (config.clone(), folder.path().to_owned());
        let crashed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let load =
                    ConfiguredLoad::new(first).unwrap().start(Box::new(source(&path, ORDERED).await)).await.unwrap();
                load.progress().wait_for(|progress| progress.docs_settled >= cut).await.unwrap();
                std::mem::forget(load);
            });
            runtime.shutdown_timeout(Duration::from_secs(20));
        });
        tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
        let resumed = LoadConfig { resume: true, ..config };
        let report = ConfiguredLoad::new(resumed).unwrap().run(source(folder.path(), ORDERED).await).await.unwrap();
        complete(&report);
        check(&fake);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_an_order_is_refused_without_one() {
    let fake = fake([]).await;
    let (config, folder) = config(fake.urls(), "t");
    write_input(folder.path());
    let config = with_state(config, folder.path());
    let start = async |config: LoadConfig, sql| {
        let error = ConfiguredLoad::new(config)
            .unwrap()
            .start(Box::new(source(folder.path(), sql).await))
            .await
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, LoadError::State(_) | LoadError::Usage(_)), "{error:?}");
        error.to_string()
    };
    let resumed = LoadConfig { resume: true, ..config.clone() };
    assert!(start(resumed.clone(), UNORDERED).await.contains("ORDER BY the id field"));
    assert!(start(resumed, ORDERED).await.contains("there is no checkpoint"));
    let numbered = LoadConfig { id: None, id_from: Some(IdFrom::Position), ..config };
    assert!(start(numbered, UNORDERED).await.contains("a fixed order"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_cannot_be_read_are_dead_letters_of_their_file() {
    let fake = fake([]).await;
    let (config, folder) = config(fake.urls(), "t");
    write_input(folder.path());
    let path = folder.path().join("input.csv");
    let text = std::fs::read_to_string(&path).unwrap() + "one,two,three\n";
    std::fs::write(&path, text).unwrap();
    let report = ConfiguredLoad::new(with_state(config, folder.path()))
        .unwrap()
        .run(source(folder.path(), UNORDERED).await)
        .await
        .unwrap();
    assert_eq!(
        (report.status, report.counts.docs_read, report.counts.docs_dead_lettered),
        (Status::Incomplete, DOCS + 1, 1)
    );
    let letters = std::fs::read_to_string(report.dead_letters.unwrap()).unwrap();
    let letter: serde_json::Value = serde_json::from_str(letters.lines().next().unwrap()).unwrap();
    assert!(letter.to_string().contains("input.csv") && letter.to_string().contains("one,two,three"), "{letter}");
    assert_eq!(letter["position"]["line"].as_u64(), Some(2 * DOCS + 2), "{letter}");
    check(&fake);
}
