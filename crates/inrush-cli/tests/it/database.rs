//! A database as the source of each command that reads one, against the fake cluster.

use std::path::Path;

use inrush_fake::{FakeCluster, FakeConfig};
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::common::{check, run};

/// What the binary says on stdout and stderr, where it ends with this status.
async fn ran(folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
    check(&run(folder, arguments).await, code)
}

#[tokio::test]
async fn load_verify_mapping_and_convert_read_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Every Python has SQLite.
    let rows = "import sqlite3; db = sqlite3.connect('shop.db'); db.executescript(\"\
        CREATE TABLE orders (id INTEGER PRIMARY KEY, day TEXT, total REAL);\
        INSERT INTO orders VALUES (1, '2024-01-31', 9.5), (2, '2024-02-01', 3.0), (3, '2024-02-02', NULL);\")";
    let made = Command::new("python3").current_dir(folder).args(["-c", rows]).status().await.unwrap();
    assert!(made.success());
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let url = fake.url();
    let table = ["sqlite://shop.db", "--db-table", "orders"];

    let (stdout, _) = ran(folder, &[&["mapping"], &table[..]].concat(), 0).await;
    let mapping: Value = serde_json::from_str(&stdout).unwrap();
    let types = ["id", "day", "total"].map(|field| mapping["properties"][field]["type"].as_str().unwrap().to_owned());
    assert_eq!(types, ["integer", "date", "double"]);

    ran(folder, &[&["convert"], &table[..], &["orders.csv"]].concat(), 0).await;
    let csv = std::fs::read_to_string(folder.join("orders.csv")).unwrap();
    assert_eq!(csv, "id,day,total\n1,2024-01-31,9.5\n2,2024-02-01,3.0\n3,2024-02-02,\n");

    let to = ["--index", "orders", "--id", "id", "--to", &url];
    ran(folder, &[&["load", "--map", "auto"], &table[..], &to].concat(), 0).await;
    let client = Client::new(&url).unwrap();
    let made = client.json("GET", "/orders/_mapping", Value::Null).await.unwrap().json();
    assert_eq!(made["orders"]["mappings"]["properties"]["day"]["type"], "date");

    let verify = [&["verify"], &table[..], &to].concat();
    assert!(ran(folder, &verify, 0).await.0.contains("equal\n"));
    client.json("PUT", "/orders/_doc/3", json!({"id": 3, "day": "2024-03-02"})).await.unwrap();
    assert!(ran(folder, &verify, 4).await.0.contains("sqlite://shop.db table orders line 3: day"));
    let query = ["verify", "sqlite://shop.db", "--db-query", "SELECT * FROM orders WHERE id = 3"];
    assert!(ran(folder, &[&query[..], &to].concat(), 4).await.0.contains("day"));
}

#[tokio::test]
async fn the_others_say_that_they_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let (_, stderr) = ran(
        folder.path(),
        &["bake", "sqlite://shop.db", "--index", "i", "--to", "http://localhost:9", "--repository", "r"],
        2,
    )
    .await;
    assert!(stderr.contains("a bake reads files, but the source is a database"), "{stderr}");
    let (_, stderr) = ran(folder.path(), &["mapping", "a.csv", "--db-table", "orders"], 2).await;
    assert!(stderr.contains("--db-table is for databases, but no SOURCE is a database"), "{stderr}");
    let (_, stderr) = ran(folder.path(), &["mapping", "https://host:9200/index"], 2).await;
    assert!(stderr.contains("an index has a mapping already"), "{stderr}");
}
