//! Look-ups in a real Postgres and a real MariaDB: documents as those of a source, forms of keys,
//! newest states, and a restart.

use std::collections::BTreeSet;
use std::sync::Arc;

use inrush_sources::fetch::{Answer, Fetch};
use inrush_sources::{DatabaseAddress, FetchFrom, FetchOptions, Warnings, open_fetch};

use crate::database_server::{query, read};
use crate::{database_mysql, database_postgres};

async fn open(url: &str, query: &str) -> Result<Arc<dyn Fetch>, String> {
    let address = DatabaseAddress::new(url).unwrap();
    let from = FetchFrom::Database { address, query: query.to_owned(), password: None };
    open_fetch(FetchOptions::new(from), &Warnings::default()).await.map_err(|error| error.text())
}

async fn fetch(fetch: &Arc<dyn Fetch>, ids: &[&str]) -> Vec<Answer> {
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    fetch.fetch(&ids).await.unwrap()
}

/// Documents as they are, and the types of other answers.
async fn texts(fetched: &Arc<dyn Fetch>, ids: &[&str]) -> Vec<String> {
    let text = |answer: Answer| match answer {
        Answer::Document(text) => String::from_utf8(text.to_vec()).unwrap(),
        Answer::NoRecord => "none".to_owned(),
        Answer::Refused { kind, .. } => kind.name().to_owned(),
    };
    fetch(fetched, ids).await.into_iter().map(text).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The documents of look-ups are those of a source with the same query.
fn equals_a_source(url: &str, select: &str, with_keys: &str, ids: &[&str]) {
    let (source, _) = query(url, select).unwrap();
    let expected: BTreeSet<String> = read(source).texts().into_iter().map(str::to_owned).collect();
    assert_eq!(expected.len(), ids.len());
    let found = runtime().block_on(async { texts(&open(url, with_keys).await.unwrap(), ids).await });
    assert_eq!(found.into_iter().collect::<BTreeSet<String>>(), expected);
}

#[test]
fn postgres() {
    let (_server, url) = database_postgres::start("postgres-fetch");
    database_postgres::execute(
        &url,
        r#"
        CREATE TYPE mood AS ENUM ('sad', 'happy');
        CREATE TYPE place AS (name text, at int[]);
        CREATE TABLE everything (
            id bigint PRIMARY KEY, b numeric, c double precision, d boolean, e timestamptz, f timestamp, g date,
            h time, j json, k bytea, l uuid, m inet, n mood, o place, p integer[], q text[], r interval, t text,
            u real, v numeric(10,2)[], w char(5), x cidr, y "char", z inet[]
        );
        INSERT INTO everything VALUES (
            7, 123456789012345678901234567890.123456789, 0.1, true, '2024-01-31 10:00:00.123+02',
            '2024-01-31 10:00:00', '2024-01-31', '10:00:00.5', E'{"a":\n 1}', '\x00ff',
            'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '192.168.0.1', 'happy', ROW('x "y", (z)', '{1,NULL}'),
            '{{1,2},{3,4}}', ARRAY['a,b', NULL, 'NULL', '{"}'], '1 day 02:30', E'tab\there, \\ and\nline', 1.5,
            '{1.50,-2}', 'ab', '10.0.0.0/8', 'q', '{10.1.2.3}'
        );
        INSERT INTO everything (id) VALUES (8), (9223372036854775807);
        INSERT INTO everything (id, c, e) VALUES (-1, 'NaN', 'infinity');
        CREATE TABLE keys (id text PRIMARY KEY, u uuid, e mood, n numeric, c char(5), s smallint);
        INSERT INTO keys VALUES ('a', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'sad', 1.50, 'ab', 3), ('it''s', NULL, 'happy', 2, 'c', 0);
        "#,
    );
    let select = "SELECT * FROM everything";
    let ids = ["7", "8", "9223372036854775807", "-1"];
    equals_a_source(&url, select, "SELECT * FROM everything WHERE id = ANY($keys) -- all", &ids);
    runtime().block_on(async {
        forms_of_keys(&url).await;
        newest_states(&url).await;
        what_is_wrong_is_told(&url).await;
    });
}

async fn forms_of_keys(url: &str) {
    let of = async |column: &str, ids: &[&str]| {
        let query = format!("SELECT {column} AS id FROM keys WHERE {column} = ANY($keys)");
        texts(&open(url, &query).await.unwrap(), ids).await
    };
    let its = "{\"id\":\"it's\"}";
    assert_eq!(of("id", &["it's", "x", "\0", "{\"a\",\\", "it's"]).await, [its, "none", "bad_key", "none", its]);
    let uuid = "{\"id\":\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"}";
    assert_eq!(of("u", &["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "x"]).await, [uuid, "bad_key"]);
    assert_eq!(of("s", &["003", "4", "x", "-1"]).await, ["{\"id\":3}", "none", "bad_key", "none"]);
    // The server refuses these two keys, each alone.
    assert_eq!(
        of("s", &["3", "70000", "0", "80000"]).await,
        ["{\"id\":3}", "refused_key", "{\"id\":0}", "refused_key"]
    );
    assert_eq!(of("e", &["sad", "angry"]).await, ["{\"id\":\"sad\"}", "refused_key"]);
    assert_eq!(of("n", &["1.50", "2"]).await, ["{\"id\":1.50}", "{\"id\":2.0}"]);
    // 2.0 is 2, which was not asked for.
    assert_eq!(of("n", &["2.0"]).await, ["unclear_record"]);
    assert_eq!(of("c", &["ab", "c  ", "d"]).await, ["{\"id\":\"ab   \"}", "{\"id\":\"c    \"}", "none"]);
    let joined = "SELECT k.id FROM keys k JOIN everything ON true WHERE k.id = ANY($keys)";
    assert_eq!(texts(&open(url, joined).await.unwrap(), &["a"]).await, ["several_records"]);
    let by_zero = "SELECT id, 1 / s AS n FROM keys WHERE id = ANY($keys)";
    let answers = texts(&open(url, by_zero).await.unwrap(), &["a", "it's", "b"]).await;
    assert_eq!(answers, ["{\"id\":\"a\",\"n\":0}", "refused_key", "none"]);
}

async fn newest_states(url: &str) {
    let looked_up = open(url, "SELECT id, s FROM keys WHERE id = ANY($keys)").await.unwrap();
    assert_eq!(texts(&looked_up, &["a", "new"]).await, ["{\"id\":\"a\",\"s\":3}", "none"]);
    change(url, "UPDATE keys SET s = 4; INSERT INTO keys VALUES ('new')").await;
    assert_eq!(texts(&looked_up, &["a", "new"]).await, ["{\"id\":\"a\",\"s\":4}", "{\"id\":\"new\"}"]);
    // Connections that the server has ended are made again.
    change(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'inrush'").await;
    assert_eq!(texts(&looked_up, &["new"]).await, ["{\"id\":\"new\"}"]);
    // Several questions at once.
    change(url, "CREATE TABLE many AS SELECT n AS id, n * 2 AS twice FROM generate_series(1, 20000) AS n").await;
    let many = open(url, "SELECT * FROM many WHERE id = ANY($keys)").await.unwrap();
    let ids: Vec<String> = (1..=25_000).map(|n| n.to_string()).collect();
    let answers = many.fetch(&ids).await.unwrap();
    let document = |n: u32| Answer::Document(format!("{{\"id\":{n},\"twice\":{}}}", n * 2).into());
    assert!((1..=20_000).all(|n| answers[n as usize - 1] == document(n)));
    assert!(answers[20_000..].iter().all(|answer| *answer == Answer::NoRecord));
}

async fn change(url: &str, statements: &'static str) {
    let url = url.to_owned();
    tokio::task::spawn_blocking(move || database_postgres::execute(&url, statements)).await.unwrap();
}

async fn what_is_wrong_is_told(url: &str) {
    for (query, expected) in [
        ("SELECT id FROM nowhere WHERE id = ANY($keys)", "does not exist"),
        ("SELECT id FROM keys WHERE id IN ($keys)", "expected as in WHERE id = ANY($keys)"),
        ("SELECT id FROM keys", "has no $keys"),
        ("SELECT s FROM keys WHERE id = ANY($keys)", "has no column id"),
        ("DELETE FROM keys WHERE id = ANY($keys) RETURNING id", "syntax error"),
    ] {
        let error = open(url, query).await.err().unwrap();
        assert!(error.contains(expected), "{query}: {error}");
    }
    let wrong = url.replace("pass%20word", "hunter2");
    let error = open(&wrong, "SELECT id FROM keys WHERE id = ANY($keys)").await.err().unwrap();
    assert!(error.contains("password authentication failed") && !error.contains("hunter2"), "{error}");
}

#[test]
fn mariadb() {
    let Some((_server, url)) = database_mysql::start("mariadb-fetch") else { return };
    database_mysql::execute(
        &url,
        "CREATE TABLE things (id BIGINT UNSIGNED PRIMARY KEY, b DECIMAL(40,10), c DOUBLE, d BOOLEAN, e DATETIME(3), \
         f TIMESTAMP NULL, g DATE, h TIME, i VARBINARY(10), j ENUM('x','y'), k SMALLINT, l BIT(10), m TEXT, n FLOAT, o YEAR); \
         SET time_zone = '+02:00', sql_mode = ''; \
         INSERT INTO things VALUES (18446744073709551615, 123456789012345678901234567890.0123456789, 0.1, TRUE, \
         '2024-01-31 10:00:00.123', '2024-01-31 10:00:00', '2024-01-31', '10:00:00', x'00ff', 'y', -5, b'1000000001', 'ü \"q\"\n', 2, 2024); \
         INSERT INTO things (id, c, g) VALUES (3, 3, '0000-00-00'), (9007199254740993, 1, NULL), (9007199254740992, 2, NULL); \
         CREATE TABLE names (id VARCHAR(20) PRIMARY KEY, n INT) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; \
         INSERT INTO names VALUES ('a', 1), ('it''s', 2), ('B', 3);",
    );
    let ids = ["18446744073709551615", "3", "9007199254740993", "9007199254740992"];
    equals_a_source(&url, "SELECT * FROM things", "SELECT * FROM things WHERE id IN ($keys)", &ids);
    runtime().block_on(async {
        let numbers = open(&url, "SELECT id FROM things WHERE id IN ($keys)").await.unwrap();
        // The server would find 0 for a text that is no number.
        assert_eq!(texts(&numbers, &["003", "4", "x"]).await, ["{\"id\":3}", "none", "bad_key"]);
        let names = open(&url, "SELECT id, n FROM names WHERE id IN ($keys) ORDER BY n").await.unwrap();
        let its = "{\"id\":\"it's\",\"n\":2}";
        assert_eq!(texts(&names, &["it's", "x') OR 1 -- ", "it's"]).await, [its, "none", its]);
        assert_eq!(texts(&names, &["b", "a"]).await, ["unclear_record", "{\"id\":\"a\",\"n\":1}"]);
        for (query, expected) in [
            ("SELECT id FROM nowhere WHERE id IN ($keys)", "doesn't exist"),
            ("SELECT n FROM names WHERE id IN ($keys)", "has no column id"),
        ] {
            let error = open(&url, query).await.err().unwrap();
            assert!(error.contains(expected), "{query}: {error}");
        }
    });
}
