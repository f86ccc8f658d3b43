//! Of what was refused before it began the exit status is 2, of what failed 1; for every command,
//! as docs/commands.md has it.

use inrush_fake::FakeCluster;
use serde_json::json;

use super::{fake, folder_with, inrush, stderr};

#[tokio::test]
async fn refusals_end_with_2_and_failures_with_1() {
    let fake = fake([]).await;
    fake.call("PUT", "/there", json!({})).unwrap();
    fake.set_setting("there", "index.blocks.write", Some("true"));
    let (folder, _) = folder_with("a.ndjson", "{\"n\":1}\n");
    std::fs::write(folder.path().join("empty.ndjson"), "").unwrap();
    std::fs::write(folder.path().join("a.bulk"), "{\"delete\":{\"_id\":\"1\"}}\n").unwrap();
    std::fs::create_dir(folder.path().join("shared")).unwrap();
    let there = fake.url();
    // No program listens on port 1.
    let nobody = "http://127.0.0.1:1";
    let bake = |to: &str, index: &str| format!("bake a.ndjson --index {index} --repository-path shared --to {to}");
    let sweep = "sweep a.ndjson --batch-docs 1 --in-flight 1 --warm-up 0";
    for (status, what, arguments) in [
        (2, "usage", "load a.ndjson".to_owned()),
        (2, "a write block", format!("load a.ndjson --index there --to {there}")),
        (2, "no such pipeline", format!("load a.ndjson --index t --pipeline none --to {there}")),
        (2, "an alias of nothing to update", format!("load a.ndjson --index t --action update --id n --to {there}")),
        (2, "own actions", format!("load a.bulk --index t --replies summary --to {there}")),
        (2, "own actions", format!("load a.ndjson --format bulk --index t --replies summary --to {there}")),
        (1, "nobody there", format!("load a.ndjson --index t --to {nobody}")),
        (2, "usage", format!("bake a.ndjson --index t --to {there}")),
        (2, "an index that exists", bake(&there, "there")),
        (1, "nobody there", bake(nobody, "t")),
        (2, "usage", "verify a.ndjson".to_owned()),
        (2, "no such index", format!("verify a.ndjson --index t --to {there}")),
        (1, "nobody there", format!("verify a.ndjson --index t --to {nobody}")),
        (2, "no such file", "mapping none.ndjson".to_owned()),
        (2, "usage", "mapping a.ndjson --rows x".to_owned()),
        (1, "no documents", "mapping empty.ndjson".to_owned()),
        (2, "usage", "convert a.ndjson a.what".to_owned()),
        (2, "no such file", "convert none.ndjson b.csv".to_owned()),
        (1, "no such folder", "convert a.ndjson none/b.csv".to_owned()),
        (2, "usage", format!("{sweep} --index-prefix X --to {there}")),
        (2, "no such file", format!("sweep none.ndjson --to {there}")),
        (1, "nobody there", format!("{sweep} --to {nobody}")),
        (2, "usage", "doctor nowhere".to_owned()),
        (2, "no such index", format!("doctor {there}/t")),
        (1, "nobody there", format!("doctor {nobody}")),
        (2, "usage", "segments".to_owned()),
        (2, "usage", "segments nowhere".to_owned()),
        (2, "no such file", "segments --play none.jsonl".to_owned()),
        (2, "no such index", format!("segments {there}/t")),
        (1, "nobody there", format!("segments {nobody}")),
        (2, "usage", "recover --to ftp://a".to_owned()),
        (2, "no local node", "recover".to_owned()),
        (1, "nobody there", format!("recover --to {nobody}")),
        (2, "usage", "node start --heap 1m".to_owned()),
        (2, "not a name", "node start --name a/b".to_owned()),
        (1, "does not run", "node status".to_owned()),
    ] {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = inrush(folder.path(), &arguments).output().await.unwrap();
        assert_eq!(output.status.code(), Some(status), "{what}: {arguments:?}: {}", stderr(&output));
    }
}

#[tokio::test]
async fn nodes_of_two_clusters_are_refused_by_every_command() {
    let (one, two) = (fake([]).await, fake([]).await);
    one.call("PUT", "/there", json!({})).unwrap();
    let (folder, _) = folder_with("a.ndjson", "{\"n\":1}\n");
    std::fs::create_dir(folder.path().join("shared")).unwrap();
    let to = format!("--to {},{}", one.url(), two.url());
    for command in [
        "load a.ndjson --index t",
        "load a.ndjson --index t --dry-run",
        "load a.ndjson --index there --recreate --yes",
        "bake a.ndjson --index t --repository-path shared",
        "bake a.ndjson --index t --repository-path shared --dry-run",
        "verify a.ndjson --index there",
        "sweep a.ndjson --batch-docs 1 --in-flight 1 --warm-up 0",
        "recover",
    ] {
        let arguments = format!("{command} {to}");
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = inrush(folder.path(), &arguments).output().await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("the nodes are of 2 clusters"), "{command}: {}", stderr(&output));
    }
    let written = |cluster: &FakeCluster| cluster.requests().iter().filter(|request| request.method != "GET").count();
    assert_eq!((written(&one), written(&two)), (0, 0));
}
