//! `inrush verify` as its users see it, against the fake cluster.

use inrush_fake::{FakeCluster, FakeConfig};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

use crate::common::{check, run};

#[tokio::test]
async fn a_loaded_file_is_equal_and_what_is_taken_away_can_be_loaded_again() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let url = fake.url();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Empty cells are absent fields, and numbers are numbers.
    let rows: String = (0..500).map(|n| format!("{n},{},{}.50\n", if n % 3 == 0 { "" } else { "name" }, n)).collect();
    std::fs::write(folder.join("a.csv"), format!("no,name,price\n{rows}")).unwrap();
    let load = ["load", "--index", "docs", "--id", "no", "--to", &url];
    check(&run(folder, &[&load[..], &["a.csv"]].concat()).await, 0);

    let verify = ["verify", "a.csv", "--index", "docs", "--id", "no", "--to", &url];
    let (stdout, stderr) = check(&run(folder, &verify).await, 0);
    assert!(stdout.contains("equal\n") && stdout.contains("500") && stderr.is_empty(), "{stdout}{stderr}");

    let client = Client::new(&url).unwrap();
    client.json("DELETE", "/docs/_doc/7", Value::Null).await.unwrap();
    client.json("PUT", "/docs/_doc/9", json!({"no": 9, "price": 9.5, "name": "other"})).await.unwrap();
    client.json("PUT", "/docs/_doc/more", json!({})).await.unwrap();
    let with_file = [&verify[..], &["--missing", "m.ndjson"]].concat();
    let (stdout, _) = check(&run(folder, &with_file).await, 4);
    for expected in ["different", "id 7, a.csv line 9", "id 9, a.csv line 11: name", "id more", "m.ndjson"] {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }
    let (stdout, _) = check(&run(folder, &[&verify[..], &["--json"]].concat()).await, 4);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(stdout.lines().count(), 1);
    let numbers = ["docs_read", "docs_in_index", "docs_compared", "docs_missing", "docs_different", "docs_extra"];
    let numbers = numbers.map(|name| report[name].as_u64().unwrap());
    assert_eq!((report["result"].as_str(), numbers), (Some("different"), [500, 500, 500, 1, 1, 1]), "{report}");

    check(&run(folder, &[&load[..], &["m.ndjson"]].concat()).await, 0);
    check(&run(folder, &["verify", "m.ndjson", "--index", "docs", "--id", "no", "--to", &url, "--quiet"]).await, 4);
    client.json("DELETE", "/docs/_doc/more", Value::Null).await.unwrap();
    let (stdout, _) = check(&run(folder, &[&verify[..], &["--sample", "20"]].concat()).await, 0);
    assert!(stdout.contains("equal, as far as compared") && stdout.contains("not proven"), "{stdout}");
    let (stdout, _) = check(&run(folder, &["verify", "a.csv", "--index", "docs", "--to", &url]).await, 0);
    assert!(stdout.contains("without --id or --id-from documents are only counted"), "{stdout}");
}

#[tokio::test]
async fn made_ids_are_made_again() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let url = fake.url();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Every line twice.
    let lines: String = (0..300).map(|n| format!("{{\"n\":{}}}\n", n / 2)).collect();
    std::fs::write(folder.join("a.ndjson"), lines).unwrap();
    for from in ["position", "content"] {
        let to = ["a.ndjson", "--index", from, "--id-from", from, "--to", &url];
        check(&run(folder, &[&["load"], &to[..]].concat()).await, 0);
        let (stdout, _) = check(&run(folder, &[&["verify"], &to[..]].concat()).await, 0);
        assert!(stdout.contains("equal\n") && stdout.contains("300"), "{stdout}");
    }
    let first = fake.documents("content")[0].id.clone();
    let client = Client::new(&url).unwrap();
    client.json("DELETE", &format!("/content/_doc/{first}"), Value::Null).await.unwrap();
    let again =
        ["verify", "a.ndjson", "--index", "content", "--id-from", "content", "--to", &url, "--missing", "m.ndjson"];
    let (stdout, _) = check(&run(folder, &again).await, 4);
    assert!(stdout.contains(&first), "{stdout}");
    assert_eq!(std::fs::read_to_string(folder.join("m.ndjson")).unwrap().lines().count(), 1);
}

#[tokio::test]
async fn what_cannot_be_compared_says_why() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let url = fake.url();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ndjson"), "{\"id\":1}\n").unwrap();
    for (arguments, code, expected) in [
        (&["verify", "a.ndjson", "--to", &url][..], 2, "--index"),
        (&["verify", "--index", "t", "--to", &url], 2, "SOURCE"),
        (&["verify", "none.ndjson", "--index", "t", "--to", &url], 2, "none.ndjson"),
        (&["verify", "a.ndjson", "--index", "t-{x}", "--to", &url], 2, "several indices"),
        (&["verify", "a.ndjson", "--index", "t", "--sample", "5", "--to", &url], 2, "--id"),
        (
            &["verify", "a.ndjson", "--index", "t", "--format", "text", "--null", "x", "--to", &url],
            2,
            "--null is for CSV",
        ),
        (&["verify", "a.ndjson", "--index", "t", "--id", "id", "--to", &url], 2, "t: there is no such index"),
        (&["verify", "a.ndjson", "--index", "t", "--to", "http://127.0.0.1:1"], 1, "check that the cluster runs"),
    ] {
        let (stdout, stderr) = check(&run(folder.path(), arguments).await, code);
        assert!(stderr.contains(expected) && stdout.is_empty(), "{arguments:?}: {stderr}");
    }
}
