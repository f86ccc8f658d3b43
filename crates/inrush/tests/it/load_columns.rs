//! Loads of columnar files and arrays, against the fake cluster.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use inrush_fake::{FakeCluster, Fault, Rule};
use inrush_load::config::{IdFrom, LoadConfig, Rate, StateFolder};
use inrush_load::{ConfiguredLoad, Report, Status};
use inrush_sources::{FormatOptions, SourceSpec, Warnings, open};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::common::{config, fake};

const DOCS: u64 = 3_000;

fn write_parquet(path: &Path) {
    let numbers = Int64Array::from_iter_values(0..DOCS as i64);
    let pad = StringArray::from_iter_values((0..DOCS).map(|n| format!("{n}{}", "x".repeat(250))));
    let batch = RecordBatch::try_from_iter([("n", Arc::new(numbers) as _), ("pad", Arc::new(pad) as _)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(700)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

async fn load(config: LoadConfig, path: &Path) -> Report {
    let source = open(&[SourceSpec::new(path)], FormatOptions::default(), &Warnings::default()).unwrap();
    let report = ConfiguredLoad::new(config).unwrap().run(source).await.unwrap();
    assert!(report.counts.add_up(), "{report:?}");
    report
}

fn numbers(fake: &FakeCluster) -> BTreeMap<u64, usize> {
    let mut numbers = BTreeMap::new();
    for document in fake.documents("t") {
        *numbers.entry(document.json()["n"].as_u64().unwrap()).or_default() += 1;
    }
    numbers
}

fn expected(count: u64) -> BTreeMap<u64, usize> {
    (0..count).map(|n| (n, 1)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_parquet_are_in_and_their_bytes_counted() {
    let fake = fake([]).await;
    let (config, folder) = config(fake.urls(), "t");
    let path = folder.path().join("a.parquet");
    write_parquet(&path);
    let report = load(config, &path).await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Complete, DOCS), "{report:?}");
    assert_eq!(report.counts.bytes_read, path.metadata().unwrap().len());
    assert_eq!(numbers(&fake), expected(DOCS));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_of_parquet_that_is_cut_off_goes_on() {
    for cut in [0, 900, 2500] {
        let fake = fake([Rule::new(Fault::ResetAfterApplying).probability(0.05)]).await;
        let (mut config, folder) = config(fake.urls(), "t");
        let path = folder.path().join("a.parquet");
        write_parquet(&path);
        config.id_from = Some(IdFrom::Position);
        config.limits.max_rate = Some(Rate::Docs(DOCS * 2));
        config.state =
            Some(StateFolder { every: Duration::from_millis(10), ..StateFolder::new(folder.path().join("state")) });
        let source = open(&[SourceSpec::new(&path)], FormatOptions::default(), &Warnings::default()).unwrap();
        let first = config.clone();
        let crashed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let load = ConfiguredLoad::new(first).unwrap().start(Box::new(source)).await.unwrap();
                load.progress().wait_for(|progress| progress.docs_settled >= cut).await.unwrap();
                std::mem::forget(load);
            });
            runtime.shutdown_timeout(Duration::from_secs(20));
        });
        tokio::task::spawn_blocking(move || crashed.join().unwrap()).await.unwrap();
        let report = load(LoadConfig { resume: true, ..config }, &path).await;
        assert_eq!((report.status, report.counts.docs_read), (Status::Complete, DOCS), "{report:?}");
        assert_eq!(numbers(&fake), expected(DOCS), "cut at {cut}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_before_the_place_where_a_source_is_broken_is_in() {
    let fake = fake([]).await;
    let (config, folder) = config(fake.urls(), "t");
    let path = folder.path().join("a.json");
    let elements: Vec<String> = (0..DOCS).map(|n| format!("{{\"n\":{n}}}")).collect();
    std::fs::write(&path, format!("[{},]", elements.join(","))).unwrap();
    let report = load(config, &path).await;
    assert_eq!((report.status, report.exit_code()), (Status::Failed, 1), "{report:?}");
    let failure = report.failure.as_deref().unwrap_or_default();
    assert!(failure.contains("a.json: the JSON is broken at byte"), "{failure}");
    assert_eq!((report.counts.docs_indexed, report.counts.docs_given_back), (DOCS, 0));
    assert_eq!(numbers(&fake), expected(DOCS));
}
