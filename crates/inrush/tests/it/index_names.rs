//! Names of indices with the date of a document.

use inrush_load::Status;
use serde_json::json;

use crate::common::{config, fake, load};

#[tokio::test(flavor = "multi_thread")]
async fn a_day_has_an_index_of_its_own() {
    let fake = fake([]).await;
    let (config, _folder) = config(fake.urls(), "logs-{@timestamp:yyyy.MM.dd}");
    let report = load(
        &config,
        [
            r#"{"@timestamp":"2026-01-31T23:59:59Z","n":1}"#.to_owned(),
            r#"{"@timestamp":"2026-01-31T23:30:00-01:00","n":2}"#.to_owned(),
            r#"{"@timestamp":1769990400000,"n":3}"#.to_owned(),
            r#"{"@timestamp":"yesterday","n":4}"#.to_owned(),
            r#"{"n":5}"#.to_owned(),
        ],
    )
    .await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Incomplete, 3), "{report:?}");
    let kinds: Vec<&str> = report.errors.iter().map(|error| error.kind.as_str()).collect();
    assert!(kinds.contains(&"bad_date") && kinds.contains(&"missing_field"), "{kinds:?}");
    let count = |index: &str| fake.documents(index).len();
    assert_eq!((count("logs-2026.01.31"), count("logs-2026.02.01"), count("logs-2026.02.02")), (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_hardly_milliseconds_makes_no_index_of_1970() {
    let fake = fake([]).await;
    let (mut config, _folder) = config(fake.urls(), "x-{d:yyyy.MM}");
    config.create.mapping = Some(json!({"properties": {"d": {"type": "keyword"}}}));
    let good = ["2024", "\"2024\"", "\"2024-01\"", "\"2024-01-31T10\"", "\"2024-01-31T\"", "1.7066592e12"];
    let bad = ["\"20240131\"", "20240131", "1706659200", "1706659200.5", "202401"];
    let line = |value: &&str| format!("{{\"d\":{value}}}");
    let report = load(&config, good.iter().chain(&bad).map(line)).await;
    assert_eq!((report.status, report.counts.docs_indexed), (Status::Incomplete, good.len() as u64), "{report:?}");
    assert_eq!(fake.indices().into_iter().filter(|name| name.starts_with("x-")).collect::<Vec<_>>(), ["x-2024.01"]);
    let errors = report.errors.iter().filter(|error| error.kind == "bad_date");
    assert_eq!(errors.map(|error| error.count).sum::<u64>(), bad.len() as u64, "{report:?}");
}
