//! A real MariaDB as a source: types, one state, reading side by side.

use inrush_sources::{DatabaseOptions, DatabaseRows};
use sqlx::{ConnectOptions, Connection, Executor};

use crate::database_server::{Server, find, folder, opened, options, ordinary, port, query, read, table};

/// A server with a database `shop`. `name` is that of its folder.
pub fn start(name: &str) -> Option<(Server, String)> {
    let folders = ["/usr/sbin", "/usr/bin"];
    let (Some(install), Some(mariadbd)) = (find("mariadb-install-db", &folders), find("mariadbd", &folders)) else {
        println!("skipped: there is no MariaDB here");
        return None;
    };
    let folder = folder(name);
    let data = folder.join("data");
    let made = ordinary(&install)
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .arg(format!("--datadir={}", data.display()))
        .status()
        .unwrap();
    assert!(made.success());
    let port = port();
    let mut command = ordinary(&mariadbd);
    command.args(["--no-defaults", "--bind-address=127.0.0.1", &format!("--port={port}")]);
    command.arg(format!("--datadir={}", data.display()));
    command.arg(format!("--socket={}", folder.join("socket").display()));
    command.arg(format!("--pid-file={}", folder.join("pid").display()));
    let server = Server::start(&mut command, port, folder);
    let root = format!("mysql://root@127.0.0.1:{port}");
    execute(
        &root,
        "CREATE DATABASE shop CHARACTER SET utf8mb4; CREATE USER reader IDENTIFIED BY 'pw'; GRANT SELECT ON shop.* TO reader",
    );
    Some((server, format!("{root}/shop")))
}

pub fn execute(url: &str, statements: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connect: sqlx::mysql::MySqlConnectOptions = url.parse().unwrap();
        let mut connection = connect.connect().await.unwrap();
        connection.execute(sqlx::raw_sql(statements)).await.unwrap();
        connection.close().await.unwrap();
    });
}

#[test]
fn mariadb() {
    let Some((_server, url)) = start("mariadb") else { return };
    execute(
        &url,
        "CREATE TABLE things (a BIGINT UNSIGNED, b DECIMAL(40,10), c DOUBLE, d BOOLEAN, e DATETIME(3), f TIMESTAMP NULL, g DATE, \
         h TIME, i VARBINARY(10), j ENUM('x','y'), k SMALLINT, l BIT(10), m TEXT, n FLOAT, o YEAR); \
         SET time_zone = '+02:00', sql_mode = ''; \
         INSERT INTO things VALUES (18446744073709551615, 123456789012345678901234567890.0123456789, 0.1, TRUE, \
         '2024-01-31 10:00:00.123', '2024-01-31 10:00:00', '2024-01-31', '10:00:00', x'00ff', 'y', -5, b'1000000001', 'ü \"q\"\n', 2, 2024); \
         INSERT INTO things (c, g) VALUES (3, '0000-00-00');",
    );
    let reader = url.replace("root@", "reader:pw@");
    let (source, warnings) = table(&reader, "things").unwrap();
    let outcome = read(source);
    assert_eq!(
        outcome.texts(),
        [
            concat!(
                r#"{"a":18446744073709551615,"b":123456789012345678901234567890.0123456789,"c":0.1,"d":true,"#,
                r#""e":"2024-01-31T10:00:00.123","f":"2024-01-31T08:00:00Z","g":"2024-01-31","h":"10:00:00","i":"AP8=","j":"y","#,
                r#""k":-5,"l":513,"m":"ü \"q\"\n","n":2.0,"o":2024}"#
            ),
            r#"{"c":3.0}"#
        ]
    );
    let counts: Vec<_> = warnings.list().into_iter().map(|w| (w.kind, w.column, w.count)).collect();
    assert_eq!(counts, [("no_value", "g".to_owned(), 1)]);

    // One state: what is written after the beginning is not seen.
    execute(&url, "CREATE TABLE numbers AS SELECT seq AS n, REPEAT('words ', 20) AS words FROM seq_1_to_60000");
    let (source, _) = table(&url, "shop.numbers").unwrap();
    execute(&url, "DELETE FROM numbers WHERE n % 2 = 0");
    assert_eq!(read(source).records.len(), 60_000);
    let split = DatabaseOptions {
        split_by: Some("n".to_owned()),
        ..options(&url, DatabaseRows::Query("SELECT n FROM numbers WHERE n < 30000".to_owned()))
    };
    let (source, warnings) = opened(&split).unwrap();
    let outcome = read(source);
    let mut texts = outcome.texts();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 15_000);
    assert_eq!(warnings.list()[0].kind, "several_snapshots");

    let message = |result: Result<_, inrush_sources::SourceError>| result.map(|_| ()).unwrap_err().to_string();
    assert!(message(table(&url, "nowhere")).contains("doesn't exist"));
    assert!(message(query(&url, "SELECT x FROM numbers")).contains("Unknown column"));
    let text = message(table(&reader.replace(":pw@", ":wrong-password@"), "things"));
    assert!(text.contains("Access denied") && !text.contains("wrong-password"), "{text}");
}
