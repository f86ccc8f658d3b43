//! Option `since`: the rows of a table since the last complete load, night after night, against the
//! fake cluster.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_commands::Loader;
use inrush_commands::options::{Environment, LoaderBuilder};
use inrush_fake::{FakeCluster, Fault, Faults, Rule};
use inrush_load::{LoadError, Report, SinceReport, Status};
use inrush_testbed::client::Client;
use serde_json::Value;

use crate::common::fake;
use crate::database_sqlite::execute;

/// A table, a cluster, and a state folder.
struct Nights {
    folder: tempfile::TempDir,
    fake: FakeCluster,
}

impl Nights {
    async fn new(statements: &'static str) -> Self {
        let nights = Nights { folder: tempfile::tempdir().unwrap(), fake: fake([]).await };
        nights.day(statements).await;
        nights
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// What happens to the table between two nights.
    async fn day(&self, statements: &'static str) {
        let path = self.path("shop.db");
        tokio::task::spawn_blocking(move || execute(&path, statements)).await.unwrap();
    }

    fn table(&self, column: &str) -> LoaderBuilder {
        let address = format!("sqlite://{}", self.path("shop.db").display());
        let folder = Environment::empty().in_folder(self.folder.path());
        let builder = Loader::builder().source(address).db_table("orders").environment(folder);
        builder.to(self.fake.urls().join(",")).index("orders").since(column).state(self.path("state"))
    }

    async fn load(&self) -> Report {
        Box::pin(self.table("changed").id("id").run()).await.unwrap()
    }

    async fn night(&self) -> (u64, SinceReport) {
        let report = self.load().await;
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!(report.warnings, Vec::<String>::new());
        (report.counts.docs_read, report.since.unwrap())
    }

    /// The value of `n` of each document.
    fn documents(&self) -> BTreeMap<String, u64> {
        let documents = self.fake.documents("orders").into_iter();
        documents.map(|document| (document.id.clone(), document.json()["n"].as_f64().unwrap() as u64)).collect()
    }

    fn values(&self) -> usize {
        let files = std::fs::read_dir(self.path("state").join("since")).unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "json")).count()
    }
}

fn expected<const N: usize>(rows: [(&str, u64); N]) -> BTreeMap<String, u64> {
    rows.map(|(id, n)| (id.to_owned(), n)).into()
}

fn range(since: &SinceReport) -> (Option<&str>, Option<&str>, bool) {
    (since.from.as_deref(), since.to.as_deref(), since.kept)
}

const ORDERS: &str = "CREATE TABLE orders (id TEXT PRIMARY KEY, n INTEGER, changed TEXT); \
    INSERT INTO orders VALUES ('a', 1, '2026-01-01 10:00:00'), ('b', 1, '2026-01-02 10:00:00.000001'), ('c', 1, NULL);";
const FIRST: &str = "2026-01-02 10:00:00.000001";

#[tokio::test(flavor = "multi_thread")]
async fn each_night_reads_what_is_new_and_the_boundary_again() {
    let nights = Nights::new(ORDERS).await;
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since)), (3, (None, Some(FIRST), true)));
    assert!(since.detail.contains("no earlier load"), "{since:?}");
    // Nothing has changed: the row at the boundary is read, and the one that has no value.
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since), since.detail.as_str()), (2, (Some(FIRST), Some(FIRST), true), ""));
    // A row gets the value of the boundary after the load, and a row of the first day is changed.
    nights
        .day(
            "INSERT INTO orders VALUES ('d', 2, '2026-01-02 10:00:00.000001'); \
             UPDATE orders SET n = 2, changed = '2026-01-03 10:00:00' WHERE id = 'a'; UPDATE orders SET n = 2 WHERE id = 'c'",
        )
        .await;
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since)), (4, (Some(FIRST), Some("2026-01-03 10:00:00"), true)));
    assert_eq!(nights.documents(), expected([("a", 2), ("b", 1), ("c", 2), ("d", 2)]));
    assert_eq!(nights.values(), 1);
    // No row is left to read, and that is no warning. The value stays.
    nights.day("DELETE FROM orders").await;
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since)), (0, (Some("2026-01-03 10:00:00"), None, false)));
    nights.day("INSERT INTO orders VALUES ('e', 3, '2026-01-03 10:00:00'), ('f', 3, '2026-01-01')").await;
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since)), (1, (Some("2026-01-03 10:00:00"), Some("2026-01-03 10:00:00"), true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_not_complete_keeps_the_old_value() {
    let nights = Nights::new(ORDERS).await;
    nights.night().await;
    nights.day("INSERT INTO orders VALUES ('d', 4, '2026-01-04'), ('e', 5, '2026-01-05')").await;
    // One document is refused.
    nights.fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(["d"])]));
    let report = nights.load().await;
    assert_eq!(report.status, Status::Incomplete, "{report:?}");
    let since = report.since.unwrap();
    assert_eq!(range(&since), (Some(FIRST), Some("2026-01-05"), false));
    assert!(since.detail.contains("reads these rows again"), "{since:?}");
    // The cluster refuses all requests with documents.
    let refused = Rule::new(Fault::RequestForbidden).path("_bulk");
    nights.fake.set_faults(Faults::new([refused]));
    let report = nights.load().await;
    assert_eq!((report.status, report.since.unwrap().kept), (Status::Failed, false));
    nights.fake.set_faults(Faults::default());
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since)), (4, (Some(FIRST), Some("2026-01-05"), true)));
    assert_eq!(nights.documents(), expected([("a", 1), ("b", 1), ("c", 1), ("d", 4), ("e", 5)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_cut_off_keeps_the_old_value() {
    let nights = Nights::new(ORDERS).await;
    nights.night().await;
    nights.day("INSERT INTO orders VALUES ('d', 4, '2026-01-04'), ('e', 5, '2026-01-05')").await;
    nights.fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_bulk").first(1)]));
    let running = nights.table("changed").id("id").start().await.unwrap();
    // A second run of the same load waits for no one.
    match nights.table("changed").id("id").run().await {
        Err(LoadError::Busy(text)) => assert!(text.contains("is running"), "{text}"),
        other => panic!("{other:?}"),
    }
    running.stop_handle().stop();
    nights.fake.release_held();
    let report = running.finish().await;
    assert_eq!((report.status, report.since.unwrap().kept), (Status::Interrupted, false));
    nights.fake.set_faults(Faults::default());
    let (read, since) = nights.night().await;
    assert_eq!((read, range(&since)), (4, (Some(FIRST), Some("2026-01-05"), true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_gets_all_rows() {
    let nights = Nights::new(ORDERS).await;
    nights.night().await;
    let client = Client::new(&nights.fake.url()).unwrap();
    client.json("DELETE", "/orders", Value::Null).await.unwrap();
    let (read, since) = nights.night().await;
    assert_eq!((read, since.from.as_deref()), (3, None));
    assert!(since.detail.contains("orders is not the index of the last load"), "{since:?}");
    assert_eq!(nights.night().await.0, 2);
    // So does one that forgets.
    let report = nights.table("changed").id("id").forget(true).run().await.unwrap();
    assert_eq!((report.counts.docs_read, report.since.unwrap().detail.as_str()), (3, "option `forget`"));
    assert_eq!(nights.night().await.0, 2);
    // One that forgets and does not end complete leaves no value.
    nights.fake.set_faults(Faults::new([Rule::new(Fault::ItemBadRequest).ids(["a"])]));
    let report = nights.table("changed").id("id").forget(true).run().await.unwrap();
    assert_eq!((report.status, nights.values()), (Status::Incomplete, 0), "{report:?}");
    nights.fake.set_faults(Faults::default());
    assert_eq!(nights.night().await.0, 3);
    // Another column, and another query, have values of their own.
    let report = nights.table("n").id("id").run().await.unwrap();
    assert_eq!((report.counts.docs_read, nights.values()), (3, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_cannot_be_kept_is_a_warning() {
    for fails in [false, true] {
        let nights = Nights::new(ORDERS).await;
        nights.fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_bulk").first(1)]));
        let builder = nights.table("changed").id("id").fail_on_warning(fails);
        let running = Box::pin(builder.start()).await.unwrap();
        nights.fake.wait_for_held(1).await;
        // A folder has the name of the file.
        for file in std::fs::read_dir(nights.path("state").join("since")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "lock") {
                std::fs::create_dir(path.with_extension("json")).unwrap();
            }
        }
        nights.fake.release_held();
        let report = running.finish().await;
        let expected = if fails { Status::CheckFailed } else { Status::Complete };
        assert_eq!((report.status, report.since.as_ref().unwrap().kept), (expected, false), "{report:?}");
        assert!(report.warnings.iter().any(|warning| warning.contains("`since` is not kept")), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_of_documents_that_are_gone_already_are_no_warning() {
    let nights = Nights::new(ORDERS).await;
    nights.night().await;
    for found in [3, 0] {
        let builder = nights.table("changed").id("id").action(inrush_core::Action::Delete);
        let report = Box::pin(builder.run()).await.unwrap();
        assert_eq!(report.status, Status::Complete, "{report:?}");
        assert_eq!(report.counts.docs_read - report.counts.docs_not_found, found, "{report:?}");
        assert!(!report.warnings.iter().any(|warning| warning.contains("no document was found")), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_shows_the_rows_and_keeps_nothing() {
    let nights = Nights::new(ORDERS).await;
    let dry = || nights.table("changed").id("id").dry_run();
    let found = dry().await.unwrap();
    assert_eq!((found.docs_looked_at, range(&found.since.unwrap())), (3, (None, Some(FIRST), false)));
    assert!(!nights.path("state").exists());
    nights.night().await;
    let found = dry().await.unwrap();
    assert_eq!((found.docs_looked_at, range(&found.since.unwrap())), (2, (Some(FIRST), Some(FIRST), false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_queries_and_types() {
    let nights = Nights::new(
        "CREATE TABLE orders (id TEXT, n INTEGER, changed REAL); \
         INSERT INTO orders VALUES ('a', 9223372036854775806, 0.1), ('b', 9223372036854775807, 0.30000000000000004)",
    )
    .await;
    let count = async |builder: LoaderBuilder| {
        let report = Box::pin(builder.id("id").run()).await.unwrap();
        assert_eq!(report.status, Status::Complete, "{report:?}");
        (report.counts.docs_read, report.since.unwrap().to.unwrap())
    };
    for column in ["n", "CHANGED"] {
        assert_eq!(count(nights.table(column)).await.0, 2, "{column}");
    }
    assert_eq!(count(nights.table("n")).await, (1, "9223372036854775807".to_owned()));
    assert_eq!(count(nights.table("CHANGED")).await, (1, "0.30000000000000004".to_owned()));
    let address = format!("sqlite://{}", nights.path("shop.db").display());
    let query = || {
        let builder = Loader::builder().source(&address).db_query("SELECT id, n AS \"the \"\"n\" FROM orders -- all");
        let builder = builder.environment(Environment::empty().in_folder(nights.folder.path()));
        builder.to(nights.fake.urls().join(",")).index("orders").since("the \"n").state(nights.path("state"))
    };
    assert_eq!((count(query()).await.0, count(query()).await.0), (2, 1));
    // Whole numbers and floats are of one type.
    nights.day("UPDATE orders SET n = 1e19 WHERE id = 'b'").await;
    let found = nights.table("n").id("id").dry_run().await.unwrap();
    assert_eq!(range(&found.since.unwrap()), (Some("9223372036854775807"), Some("1e19"), false));
    let refused = async |statements: &'static str, column: &str, expected: [&str; 2]| {
        nights.day(statements).await;
        let error = Box::pin(nights.table(column).id("id").run()).await.unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    // No number is above it, so the next one would be missed.
    let infinite = "UPDATE orders SET changed = 9e999 WHERE id = 'b'";
    refused(infinite, "changed", ["its highest value is inf", "option `since`"]).await;
    // Text is above all numbers.
    refused("UPDATE orders SET n = 'x' WHERE id = 'b'", "n", ["it has numbers and text", "option `since`"]).await;
    refused("UPDATE orders SET n = 'x'", "n", ["of the type TEXT now", "option `forget`"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_lose_rows_is_refused() {
    let nights = Nights::new(ORDERS).await;
    let refused = async |builder: LoaderBuilder, expected: &str| {
        let error = Box::pin(builder.run()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let builder = || nights.table("changed");
    refused(builder(), "documents need ids that stay").await;
    refused(builder().id_from(inrush_load::config::IdFrom::Content), "documents need ids that stay").await;
    refused(builder().id("id").recreate(true).yes(true), "which would have only the rows since").await;
    refused(builder().id("id").index("new").alias("orders"), "which would have only the rows since").await;
    refused(builder().id("id").once(true), "leave option `once` out").await;
    refused(builder().id("id").resume(true), "leave option `resume` out").await;
    refused(builder().id("id").limit("1"), "would count as read").await;
    refused(builder().id("id").action(inrush_core::Action::Create), "which the action create refuses").await;
    refused(builder().id("id").version("n"), "give option `on_conflict=skip`").await;
    refused(nights.table("nowhere").id("id"), "the rows have the columns id, n, changed").await;
    refused(builder().id("id").since_overlap("5m"), "no times in the column changed").await;
    assert!(nights.fake.documents("orders").is_empty());
    // A file that cannot be read.
    nights.night().await;
    let folder = nights.path("state").join("since");
    let damaged = |path: &Path| std::fs::write(path, "{").unwrap();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "json")).for_each(|path| damaged(&path));
    refused(builder().id("id"), "cannot be read").await;
}
