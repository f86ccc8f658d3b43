//! Rows as updates, and rows for fields of an existing index, against the fake cluster.

use std::path::Path;

use inrush_fake::{FakeCluster, FakeConfig};
use inrush_testbed::client::Client;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::common::{check, run};

/// A database of the script's statements. Every Python has SQLite.
async fn sqlite(folder: &Path, name: &str, statements: &str) {
    let script = format!("import sqlite3; db = sqlite3.connect('{name}'); db.executescript(\"\"\"{statements}\"\"\")");
    let made = Command::new("python3").current_dir(folder).args(["-c", &script]).status().await.unwrap();
    assert!(made.success());
}

async fn source(client: &Client, path: &str) -> Value {
    client.json("GET", path, Value::Null).await.unwrap().json()["_source"].clone()
}

#[tokio::test]
async fn an_update_clears_what_a_row_has_no_value_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("u.csv"), "id,name,phone\n1,Ann,\n").unwrap();
    sqlite(folder, "u.db", "CREATE TABLE u (id INT, name TEXT, phone TEXT); INSERT INTO u VALUES (1, 'Ann', NULL);")
        .await;
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let client = Client::new(&fake.url()).unwrap();
    for (action, rows) in [
        ("upsert", &["u.csv"][..]),
        ("update", &["u.csv"]),
        ("upsert", &["sqlite://u.db", "--db-table", "u"]),
        ("update", &["sqlite://u.db", "--db-table", "u"]),
    ] {
        let before = json!({"id": 1, "name": "Ann", "phone": "0123-4", "more": true});
        client.json("PUT", "/people/_doc/1", before).await.unwrap();
        let to = ["--index", "people", "--id", "id", "--to", &fake.url()];
        let (stdout, _) = check(&run(folder, &[&["load"], rows, &to, &["--action", action]].concat()).await, 0);
        assert!(stdout.contains("updated"), "{stdout}");
        let expected = json!({"id": 1, "name": "Ann", "phone": null, "more": true});
        assert_eq!(source(&client, "/people/_doc/1").await, expected, "{action} {rows:?}");
    }
    // A document that is replaced has no field for it.
    let to = ["--index", "others", "--id", "id", "--to", &fake.url()];
    check(&run(folder, &[&["load", "u.csv"], &to[..]].concat()).await, 0);
    assert_eq!(source(&client, "/others/_doc/1").await, json!({"id": 1, "name": "Ann"}));
    let (stdout, _) = check(&run(folder, &[&["load", "u.csv", "--action", "upsert"], &to[..]].concat()).await, 0);
    assert!(stdout.contains("updated"), "{stdout}");
    check(&run(folder, &[&["verify", "u.csv"], &to[..]].concat()).await, 0);
}

#[tokio::test]
async fn values_are_as_an_existing_index_takes_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.csv"), "id,at,p\n1,2024-03-01 10:00:00,5.5\n").unwrap();
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let client = Client::new(&fake.url()).unwrap();
    let mapping = json!({"properties": {
        "at": {"type": "date", "format": "yyyy-MM-dd HH:mm:ss"}, "p": {"type": "long"},
    }});
    client.json("PUT", "/made", json!({"mappings": mapping})).await.unwrap();
    std::fs::write(folder.join("m.json"), mapping.to_string()).unwrap();
    for index in ["made", "new"] {
        let url = fake.url();
        let load = ["load", "a.csv", "--index", index, "--id", "id", "--to", &url];
        let mapped = [&load[..], if index == "new" { &["--mapping", "m.json"] } else { &[] }].concat();
        let (stdout, stderr) = check(&run(folder, &mapped).await, 0);
        assert_eq!(source(&client, &format!("/{index}/_doc/1")).await["at"], "2024-03-01 10:00:00", "{index}");
        assert!(format!("{stdout}{stderr}").contains("column p: the numbers have fractions"), "{stdout}{stderr}");
        let (stdout, stderr) = check(&run(folder, &[&mapped[..], &["--dry-run"]].concat()).await, 0);
        assert!(format!("{stdout}{stderr}").contains("column p: the numbers have fractions"), "{stdout}{stderr}");
    }
    // The ISO 8601 of a field without a format.
    let url = fake.url();
    check(&run(folder, &["load", "a.csv", "--index", "plain", "--id", "id", "--to", &url]).await, 0);
    assert_eq!(source(&client, "/plain/_doc/1").await["at"], "2024-03-01T10:00:00");
}
