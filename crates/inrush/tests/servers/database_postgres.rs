//! A real Postgres as a source: types, parallel reading of one state, errors.

use std::collections::BTreeSet;

use inrush_cluster::transport::Secret;
use inrush_sources::{DatabaseOptions, DatabaseRows, Repeats, Source};
use serde_json::Value;
use sqlx::{ConnectOptions, Connection, Executor};

use crate::database_server::{Server, find, folder, opened, options, ordinary, port, query, read, table};
use crate::source_support::{Outcome, drain};

const PASSWORD: &str = "pass word/1";

/// A server with a superuser `tester` and its password. `name` is that of its folder.
pub fn start(name: &str) -> (Server, String) {
    let binaries = ["/usr/local/bin", "/usr/bin"];
    let (initdb, postgres) = (find("initdb", &binaries).unwrap(), find("postgres", &binaries).unwrap());
    let folder = folder(name);
    let password = std::env::temp_dir().join(format!("inrush-{name}-password-{}", std::process::id()));
    std::fs::write(&password, PASSWORD).unwrap();
    let made = ordinary(&initdb)
        .args(["--username=tester", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
        .arg(format!("--pwfile={}", password.display()))
        .arg(format!("--pgdata={}", folder.display()))
        .status()
        .unwrap();
    assert!(made.success());
    std::fs::remove_file(password).unwrap();
    let port = port();
    let mut command = ordinary(&postgres);
    command.arg("-D").arg(&folder).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
    command.args(["-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=20"]);
    let server = Server::start(&mut command, port, folder);
    (server, format!("postgres://tester:pass%20word%2F1@127.0.0.1:{port}/postgres"))
}

pub fn execute(url: &str, statements: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connect: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
        // The server takes connections a moment before it takes queries.
        let mut connection = loop {
            match connect.connect().await {
                Ok(connection) => break connection,
                Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("57P03") => {
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
                Err(error) => panic!("{error}"),
            }
        };
        connection.execute(sqlx::raw_sql(statements)).await.unwrap();
        connection.close().await.unwrap();
    });
}

fn numbers(outcome: &Outcome, field: &str) -> Vec<i64> {
    let number = |text: &str| serde_json::from_str::<Value>(text).unwrap()[field].as_i64();
    let mut numbers: Vec<i64> = outcome.texts().into_iter().map(|text| number(text).unwrap_or(-1)).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn postgres() {
    let (_server, url) = start("postgres");
    types(&url);
    one_state_side_by_side(&url);
    divided_by_columns(&url);
    partitions_and_views(&url);
    what_is_wrong_is_told(&url);
}

fn types(url: &str) {
    execute(
        url,
        r#"
        CREATE TYPE mood AS ENUM ('sad', 'happy');
        CREATE TYPE place AS (name text, at int[]);
        CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
        CREATE TABLE "All Types" (
            a bigint, b numeric, c double precision, d boolean, e timestamptz, f timestamp, g date, h time,
            i jsonb, j json, k bytea, l uuid, m inet, n mood, o place, p integer[], q text[], r interval, s positive,
            t text, u real, v numeric(10,2)[], w jsonb[], x int4range, y "char", z oid
        );
        INSERT INTO "All Types" VALUES (
            9223372036854775807, 123456789012345678901234567890.123456789, 0.1, true, '2024-01-31 10:00:00.123+02',
            '2024-01-31 10:00:00', '2024-01-31', '10:00:00.5',
            '{"a": [1, null, 1e400]}', E'{"a":\n 1}', '\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '192.168.0.1/24', 'happy',
            ROW('x "y", (z)', '{1,NULL}'), '{{1,2},{3,4}}', ARRAY['a,b', NULL, 'NULL', '{"}'], '1 day 02:30', 7,
            E'tab\there, \\ and\nline', 1.5, '{1.50,-2}', ARRAY['{"k":"v"}'::jsonb], '[1,5)', 'q', 42
        );
        INSERT INTO "All Types" (c, b, e, g, p) VALUES
            ('NaN', 'Infinity', 'infinity', '0044-03-15 BC', '{}');
        INSERT INTO "All Types" (c) VALUES (3);
        "#,
    );
    let (source, warnings) = table(url, "All Types").unwrap();
    assert_eq!(source.describe().repeats, Repeats::Unordered);
    let name = source.describe().names.remove(0);
    assert!(name.starts_with("postgres://tester@127.0.0.1:") && name.ends_with("/postgres table All Types"), "{name}");
    let outcome = read(source);
    let expected = concat!(
        r#"{"a":9223372036854775807,"b":123456789012345678901234567890.123456789,"c":0.1,"d":true,"e":"2024-01-31T08:00:00.123Z","#,
        r#""f":"2024-01-31T10:00:00","g":"2024-01-31","h":"10:00:00.5","#,
        r#""k":"AP8=","l":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","m":"192.168.0.1/24","n":"happy","#,
        r#""o":{"name":"x \"y\", (z)","at":[1,null]},"p":[[1,2],[3,4]],"q":["a,b",null,"NULL","{\"}"],"r":"P1DT2H30M","s":7,"#,
        r#""t":"tab\there, \\ and\nline","u":1.5,"v":[1.50,-2.00],"w":[{"k": "v"}],"x":"[1,5)","y":"q","z":42}"#
    );
    // jsonb writes numbers out; 1e400 is 401 digits.
    let first = outcome.texts()[0].to_owned();
    let (before, rest) = first.split_once(r#""i":"#).unwrap();
    let (json, after) = rest.split_once(r#","k":"#).unwrap();
    assert_eq!(format!(r#"{before}"k":{after}"#), expected);
    assert!(json.starts_with(r#"{"a": [1, null, 1000"#) && json.ends_with(r#","j":{"a":  1}"#), "{json}");
    assert_eq!(outcome.texts()[1..], [r#"{"p":[]}"#, r#"{"c":3.0}"#]);
    let counts: Vec<_> = warnings.list().into_iter().map(|w| (w.kind, w.column, w.count)).collect();
    let expected = ["b", "c", "e", "g"].map(|column| ("no_value", column.to_owned(), 1));
    assert_eq!(counts, expected);
}

/// Accounts whose sum never changes, read while another program moves amounts, adds and deletes.
fn one_state_side_by_side(url: &str) {
    execute(
        url,
        "CREATE TABLE accounts (id serial PRIMARY KEY, amount bigint, words text); \
         INSERT INTO accounts (amount, words) SELECT 100, repeat('some words ', 20) FROM generate_series(1, 100000);",
    );
    let (source, warnings) = table(url, "accounts").unwrap();
    execute(
        url,
        "UPDATE accounts SET amount = amount + 1 WHERE id % 2 = 0; DELETE FROM accounts WHERE id % 10 = 1; \
         INSERT INTO accounts (amount) SELECT 0 FROM generate_series(1, 1000);",
    );
    let outcome = read(source);
    assert_eq!(numbers(&outcome, "id"), (1..=100_000).collect::<Vec<_>>());
    assert!(numbers(&outcome, "amount").iter().all(|amount| *amount == 100));
    assert!(warnings.list().is_empty(), "{:?}", warnings.list());
    // One connection sees the same as several.
    let single = DatabaseOptions { readers: 1, ..options(url, DatabaseRows::Table("public.accounts".to_owned())) };
    let several = read(table(url, "accounts").unwrap().0);
    assert_eq!(numbers(&several, "id"), numbers(&read(opened(&single).unwrap().0), "id"));
    assert_eq!(several.records.len(), 91_000);
}

fn divided_by_columns(url: &str) {
    execute(
        url,
        "CREATE TABLE words AS SELECT n, CASE WHEN n % 10 > 0 THEN md5(n::text) END AS word, \
         timestamp '2024-01-01' + n * interval '1 hour' AS at FROM generate_series(1, 5000) AS n;",
    );
    for column in ["n", "word", "at"] {
        let select = "SELECT n, word, at FROM words WHERE n <= 4000;";
        let options = DatabaseOptions {
            split_by: Some(column.to_owned()),
            readers: 3,
            ..options(url, DatabaseRows::Query(select.to_owned()))
        };
        let outcome = read(opened(&options).unwrap().0);
        assert_eq!(numbers(&outcome, "n"), (1..=4000).collect::<Vec<_>>(), "{column}");
    }
    let outcome = read(query(url, "SELECT 1 AS a, 2 AS a").unwrap().0);
    assert_eq!(outcome.texts(), [r#"{"a":1,"a_2":2}"#]);
}

fn partitions_and_views(url: &str) {
    execute(
        url,
        "CREATE TABLE parts (id int PRIMARY KEY, t text) PARTITION BY RANGE (id); \
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (500); \
         CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (500) TO (1000); \
         INSERT INTO parts SELECT n, 't' FROM generate_series(0, 999) AS n; \
         CREATE VIEW odd AS SELECT id FROM parts WHERE id % 2 = 1; CREATE TABLE nothing (a int);",
    );
    assert_eq!(numbers(&read(table(url, "parts").unwrap().0), "id"), (0..1000).collect::<Vec<_>>());
    let odd: BTreeSet<i64> = numbers(&read(table(url, "odd").unwrap().0), "id").into_iter().collect();
    assert_eq!(odd.len(), 500);
    assert!(read(table(url, "nothing").unwrap().0).records.is_empty());
}

fn what_is_wrong_is_told(url: &str) {
    let message = |result: Result<_, inrush_sources::SourceError>| result.map(|_| ()).unwrap_err().to_string();
    let text = message(table(url, "nowhere"));
    assert!(text.contains("there is no table nowhere; the database has") && text.contains("public.accounts"), "{text}");
    assert!(message(table(url, "a; b")).contains("there is no table"));
    assert!(message(query(url, "SELECT x FROM accounts")).contains("column \"x\" does not exist"));
    assert!(message(query(url, "DELETE FROM accounts")).contains("syntax error"));
    let split =
        DatabaseOptions { split_by: Some("x".to_owned()), ..options(url, DatabaseRows::Table("accounts".to_owned())) };
    assert!(message(opened(&split)).contains("option `split_by`"));

    let wrong = url.replace("pass%20word%2F1", "wrong-password");
    let text = message(table(&wrong, "accounts"));
    assert!(text.contains("password authentication failed") && !text.contains("wrong-password"), "{text}");
    let told = DatabaseOptions {
        password: Some(Secret::new(PASSWORD)),
        ..options(&wrong, DatabaseRows::Query("SELECT 1 AS one".to_owned()))
    };
    assert_eq!(read(opened(&told).unwrap().0).texts(), [r#"{"one":1}"#]);

    // An error in the middle: what came before it is valid, and it is no end.
    let (mut source, _) = query(url, "SELECT 10 / (50000 - n) AS q FROM generate_series(1, 60000) AS n").unwrap();
    let outcome = drain(&mut source, 1 << 20);
    let error = outcome.error.unwrap();
    assert!(error.message.contains("division by zero"), "{error}");
    assert!(outcome.records.len() < 50_000);
}
