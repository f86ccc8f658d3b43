//! Rows since a value of a real Postgres and a real MariaDB: types, the boundary, times that are
//! committed late, times in the future.

use std::time::Duration;

use inrush_sources::{DatabaseOptions, DatabaseRows, SinceColumn, SinceValue, Source};
use serde_json::Value;

use crate::database_server::{opened, options, read};
use crate::{database_mysql, database_postgres};

fn since(url: &str, rows: &DatabaseRows, column: &str, overlap: Option<u64>) -> DatabaseOptions {
    let overlap = overlap.map(Duration::from_secs);
    DatabaseOptions { since: Some(SinceColumn { column: column.to_owned(), overlap }), ..options(url, rows.clone()) }
}

fn last(options: &DatabaseOptions) -> SinceValue {
    opened(options).unwrap().0.describe().since.unwrap().last.unwrap()
}

/// The ids of the rows since a value.
#[track_caller]
fn ids(options: &DatabaseOptions, value: &SinceValue) -> Vec<u64> {
    let (mut source, _) = opened(options).unwrap();
    source.read_since(value).unwrap();
    let outcome = read(source);
    let id = |text: &str| serde_json::from_str::<Value>(text).unwrap()["id"].as_u64().unwrap();
    let mut ids: Vec<u64> = outcome.texts().into_iter().map(id).collect();
    ids.sort_unstable();
    ids
}

#[track_caller]
fn refused(options: &DatabaseOptions, expected: &str) {
    let error = opened(options).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

fn table() -> DatabaseRows {
    DatabaseRows::Table("events".to_owned())
}

/// What both databases do alike. Rows 1 to 4 are 30 s apart, row 5 has no values, and row 6 a time
/// in the future.
fn rows_since(url: &str, times: &[&str], others: &[&str]) {
    let query = DatabaseRows::Query("SELECT * FROM events WHERE id > 1 -- not the first".to_owned());
    for column in times {
        let all = since(url, &table(), column, None);
        let at = last(&all);
        assert!(at.value.starts_with("2026-01-31 10:01:30.000004"), "{column}: {at:?}");
        // A minute earlier, for rows that were committed late.
        assert_eq!(ids(&all, &at), [2, 3, 4, 5, 6], "{column}");
        assert_eq!(ids(&since(url, &table(), column, Some(0)), &at), [4, 5, 6], "{column}");
        assert_eq!(ids(&since(url, &query, column, Some(3600)), &at), [2, 3, 4, 5, 6], "{column}");
        for readers in [1, 3] {
            let split = DatabaseOptions { split_by: Some("id".to_owned()), readers, ..all.clone() };
            assert_eq!(ids(&split, &at), [2, 3, 4, 5, 6], "{column}");
        }
    }
    for column in others {
        let all = since(url, &table(), column, None);
        let value = last(&all);
        // The row with the highest value, and the one without.
        assert_eq!(ids(&all, &value), [5, 6], "{column}: {value:?}");
        refused(&since(url, &table(), column, Some(5)), "no times in the column");
    }
    refused(&since(url, &table(), "x", None), "the rows have the columns id,");
    let at = last(&since(url, &table(), "id", None));
    let (mut source, _) = opened(&since(url, &table(), times[0], None)).unwrap();
    let error = source.read_since(&at).unwrap_err().to_string();
    assert!(error.contains("begin anew with option `forget`"), "{error}");
    let nothing = DatabaseRows::Query("SELECT * FROM events WHERE id = 5".to_owned());
    let (source, _) = opened(&since(url, &nothing, times[0], None)).unwrap();
    assert_eq!(source.describe().since.unwrap().last, None);
}

#[test]
fn postgres() {
    let (_server, url) = database_postgres::start("postgres-since");
    database_postgres::execute(
        &url,
        r#"
        CREATE DOMAIN moment AS timestamptz;
        CREATE TYPE phase AS ENUM ('z', 'a');
        CREATE TABLE events (
            id integer PRIMARY KEY, small smallint, "At" timestamptz, at_local timestamp, at_domain moment, big bigint, n numeric,
            fixed numeric(12,3), word text, key uuid, phase phase, token xid8, json jsonb, float double precision,
            flag boolean
        );
        INSERT INTO events
        SELECT i, 2 * i, t, t AT TIME ZONE 'UTC', t, 9223372036854775800 + i, 1e30 + i / 1000.0, i / 1000.0, 'it''s \' || i,
               ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a0' || i)::uuid, CASE WHEN i = 6 THEN 'a' ELSE 'z' END::phase,
               i::text::xid8, '{}', 0.1, true
        FROM generate_series(1, 6) AS i,
             LATERAL (SELECT timestamptz '2026-01-31 10:00:00.000004+00' + (i - 1) * interval '30 seconds') AS at (t)
        WHERE i <> 5;
        INSERT INTO events (id) VALUES (5);
        UPDATE events SET "At" = 'infinity', at_local = '9999-12-31', at_domain = '9999-12-31' WHERE id = 6;
        CREATE INDEX ON events ("At");
        "#,
    );
    let others = ["small", "big", "n", "fixed", "word", "key", "phase", "token"];
    rows_since(&url, &["At", "at_local", "at_domain", "AT"], &others);
    for (column, why) in [("json", "of the type jsonb"), ("float", "of the type double precision"), ("flag", "boolean")]
    {
        refused(&since(&url, &table(), column, None), why);
    }
    let days = DatabaseRows::Query("SELECT id, \"At\"::date AS day FROM events".to_owned());
    let day = since(&url, &days, "day", None);
    assert_eq!((last(&day).value.as_str(), ids(&day, &last(&day)).len()), ("2026-01-31", 6));
    // Values above and below all others are read each time, and with days the day before.
    for (query, value, expected) in [
        ("SELECT * FROM (VALUES (1, 1.5), (2, 'NaN'), (3, 7)) AS t (id, x)", "7", [2_u64, 3]),
        (
            "SELECT * FROM (VALUES (1, timestamptz '-infinity'), (2, '2026-01-31 10:00Z'), (3, '2026-01-30Z')) AS t (id, x)",
            "2026-01-31 10:00:00+00",
            [1, 2],
        ),
        (
            "SELECT * FROM (VALUES (1, date '2026-01-29'), (2, '2026-01-31'), (3, '2026-01-30')) AS t (id, x)",
            "2026-01-31",
            [2, 3],
        ),
    ] {
        let rows = since(&url, &DatabaseRows::Query(query.to_owned()), "x", None);
        assert_eq!(
            (last(&rows).value.as_str(), ids(&rows, &last(&rows)).as_slice()),
            (value, &expected[..]),
            "{query}"
        );
    }
}

#[test]
fn mariadb() {
    let Some((_server, url)) = database_mysql::start("mariadb-since") else { return };
    mysql_family(&url);
}

pub fn mysql_family(url: &str) {
    database_mysql::execute(
        url,
        r"
        CREATE TABLE events (
            id INT PRIMARY KEY, at DATETIME(6), `at ``stamp` TIMESTAMP(6) NULL, big BIGINT UNSIGNED, n DECIMAL(40,10),
            word VARCHAR(20) CHARACTER SET latin1, phase ENUM('z', 'a'), bytes VARBINARY(8), f FLOAT, flag BOOLEAN,
            INDEX (at)
        );
        SET time_zone = '+00:00';
        INSERT INTO events
        SELECT seq, '2026-01-31 10:00:00.000004' + INTERVAL (seq - 1) * 30 SECOND,
               '2026-01-31 10:00:00.000004' + INTERVAL (seq - 1) * 30 SECOND, 18446744073709551600 + seq,
               123456789012345678901234567890 + seq / 1000, CONCAT('it''s \\\\', seq), IF(seq = 6, 'z', 'a'), x'00ff', 0.1, TRUE
        FROM (SELECT 1 AS seq UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 6) AS numbers;
        INSERT INTO events (id) VALUES (5);
        UPDATE events SET at = '9999-12-31', `at ``stamp` = '2038-01-01' WHERE id = 6;
        ",
    );
    rows_since(url, &["at", "at `stamp"], &["big", "n", "word", "phase"]);
    for column in ["bytes", "f", "flag"] {
        refused(&since(url, &table(), column, None), "no exact order");
    }
    let numbered = DatabaseRows::Query("SELECT a.id, b.id FROM events a JOIN events b ON a.id = b.id".to_owned());
    let twice = since(url, &numbered, "id", None);
    assert_eq!(ids(&twice, &last(&twice)), [6]);
    // Zero times are read each time, and with days the day before.
    database_mysql::execute(
        url,
        "CREATE TABLE odd (id INT, at DATETIME, d DATE); SET sql_mode = ''; \
         INSERT INTO odd VALUES (1, '0000-00-00', '2026-01-29'), (2, '2026-01-31 10:00:00', '2026-01-31'), \
         (3, '2026-01-30', '2026-01-30')",
    );
    for (column, expected) in [("at", [1_u64, 2]), ("d", [2, 3])] {
        let odd = since(url, &DatabaseRows::Table("odd".to_owned()), column, None);
        assert_eq!(ids(&odd, &last(&odd)), expected, "{column}");
    }
}
