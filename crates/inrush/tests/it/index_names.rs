//! Names of indices with the date of a document.

use inrush_load::Status;

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
