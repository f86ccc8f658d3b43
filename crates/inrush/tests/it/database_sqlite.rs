//! SQLite as a source: values by their types, errors, and what tells one state of the file from
//! another.

use std::path::Path;

use inrush_core::RowForm;
use inrush_sources::{
    DatabaseAddress, DatabaseOptions, DatabaseRows, Repeats, Source, SourceError, Warnings, open_database,
};
use sqlx::{ConnectOptions, Connection, Executor};

use crate::source_support::{self, drain};

/// Runs statements on a database file of its own.
pub fn execute(path: &Path, statements: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        connection.execute(statements).await.unwrap();
        connection.close().await.unwrap();
    });
}

fn options(path: &Path, rows: DatabaseRows) -> DatabaseOptions {
    DatabaseOptions::new(DatabaseAddress::new(&format!("sqlite://{}", path.display())).unwrap(), rows)
}

fn table(path: &Path, name: &str) -> Result<inrush_sources::Database, SourceError> {
    open_database(&options(path, DatabaseRows::Table(name.to_owned())), &Warnings::default())
}

#[test]
fn values_have_their_own_types() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    execute(
        &path,
        "CREATE TABLE things (id INTEGER PRIMARY KEY, \"some \"\"name\" TEXT, x); \
         INSERT INTO things VALUES (1, 'a \"b\"', 1.5), (2, NULL, 9223372036854775807), (3, 'ü', x'00ff'), (4, '', 2.0), \
         (5, 'inf', 9e999);",
    );
    let mut source = table(&path, "Things").unwrap();
    assert_eq!(source.describe().names, [format!("sqlite://{} table Things", path.display())]);
    assert_eq!(source.describe().reading, r#"{"table":"Things"}"#);
    let outcome = drain(&mut source, 1000);
    assert_eq!(
        outcome.texts(),
        [
            r#"{"id":1,"some \"name":"a \"b\"","x":1.5}"#,
            r#"{"id":2,"x":9223372036854775807}"#,
            r#"{"id":3,"some \"name":"ü","x":"AP8="}"#,
            r#"{"id":4,"some \"name":"","x":2.0}"#,
            r#"{"id":5,"some \"name":"inf"}"#,
        ]
    );
    let warnings = source.describe().warnings.unwrap().list();
    assert_eq!((warnings[0].kind, warnings[0].column.as_str(), warnings[0].count), ("no_value", "x", 1));
}

#[test]
fn decimals_are_written_alike_and_ids_are_their_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    execute(
        &path,
        "CREATE TABLE prices (p DECIMAL(10,2), n NUMERIC(5)); CREATE VIEW cheap AS SELECT p AS price, n FROM prices; \
         INSERT INTO prices VALUES (5, 5), (5.5, 6), (NULL, NULL)",
    );
    for (rows, name) in [
        (DatabaseRows::Table("prices".to_owned()), "p"),
        (DatabaseRows::Table("cheap".to_owned()), "price"),
        (DatabaseRows::Query("SELECT p AS x, n FROM prices".to_owned()), "x"),
    ] {
        let mut source = open_database(&options(&path, rows), &Warnings::default()).unwrap();
        source.keep_texts(&[name.to_owned(), "n".to_owned()]);
        source.form_rows(&RowForm { nulls: true, ..RowForm::default() });
        let outcome = drain(&mut source, 1000);
        let expected = [r#"{"p":5.0,"n":5}"#, r#"{"p":5.5,"n":6}"#, r#"{"p":null,"n":null}"#];
        assert_eq!(outcome.texts(), expected.map(|text| text.replace("\"p\"", &format!("\"{name}\""))));
        let texts = outcome.records[0].meta.clone().unwrap().texts;
        assert_eq!(texts, [(name.into(), "5".to_owned())]);
    }
}

#[test]
fn parameters_of_the_address_that_are_not_known_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    execute(&path, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let opened = |parameters: &str| {
        let address = DatabaseAddress::new(&format!("sqlite://{}{parameters}", path.display())).unwrap();
        open_database(&DatabaseOptions::new(address, DatabaseRows::Table("t".to_owned())), &Warnings::default())
    };
    assert!(opened("?mode=ro").is_ok());
    let message = opened("?zzz=1").err().unwrap().to_string();
    assert!(
        message.contains("the parameter \"zzz\" of the address is not known; the known ones are mode"),
        "{message}"
    );
}

#[test]
fn a_query_is_read_in_many_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    execute(
        &path,
        "CREATE TABLE n AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50000) SELECT n FROM c",
    );
    let query =
        DatabaseRows::Query("SELECT n, n * 2 AS twice, 'some words' AS text FROM n ORDER BY n DESC -- all".to_owned());
    let mut source = open_database(&options(&path, query), &Warnings::default()).unwrap();
    let outcome = drain(&mut source, 1000);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(outcome.records.len(), 50_000);
    assert_eq!(outcome.records[0].text(), r#"{"n":50000,"twice":100000,"text":"some words"}"#);
    assert_eq!((outcome.records[49_999].at.doc, outcome.records[49_999].at.line), (49_999, 50_000));
}

#[test]
fn a_row_that_is_too_large_is_a_reject() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    execute(&path, "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'), (printf('%.5000c', 'y')), ('z')");
    let options = DatabaseOptions { document_bytes_max: 2000, ..options(&path, DatabaseRows::Table("t".to_owned())) };
    let outcome = drain(&mut open_database(&options, &Warnings::default()).unwrap(), 1000);
    let kinds: Vec<_> = outcome.records.iter().map(source_support::Loaded::kind).collect();
    assert_eq!(kinds, ["", "too_large", ""]);
}

#[test]
fn fingerprints_change_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    execute(&path, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    let fingerprints = || {
        let source = table(&path, "t").unwrap();
        assert_eq!(source.describe().repeats, Repeats::Always);
        source.fingerprints().unwrap()
    };
    let before = fingerprints();
    assert_eq!(fingerprints(), before);
    execute(&path, "INSERT INTO t SELECT 2 FROM t");
    assert_ne!(fingerprints(), before);
}

#[test]
fn what_is_not_there_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    assert!(table(&path, "t").err().unwrap().message.contains("cannot be opened"));
    execute(&path, "CREATE TABLE orders (a); CREATE VIEW views AS SELECT 1");
    assert!(table(&path, "t").err().unwrap().message.contains("the database has orders, views"));
    let query = options(&path, DatabaseRows::Query("SELECT missing FROM orders".to_owned()));
    let message = open_database(&query, &Warnings::default()).err().unwrap().message;
    assert!(message.contains("no such column: missing"), "{message}");
    std::fs::write(&path, "this is no database at all, but long enough to be one, if only it were one").unwrap();
    assert!(table(&path, "t").err().unwrap().message.contains("not a database"));
}
