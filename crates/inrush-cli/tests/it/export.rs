//! `inrush convert` into a folder, as its users see it: killed, resumed, and loaded again.

use std::path::Path;

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Flavor, Rule};
use inrush_testbed::client::Client;
use serde_json::{Value, json};

use crate::common::{check, inrush, run};

/// Documents of an index.
const DOCS: usize = 3000;

/// All that the binary says, where it ends with this status.
async fn says(folder: &Path, arguments: &[&str], code: i32) -> String {
    let (stdout, stderr) = check(&run(folder, arguments).await, code);
    stdout + &stderr
}

/// A cluster with an index of two shards, whose pages have a few hundred documents.
async fn cluster() -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default().flavor(Flavor::elasticsearch_8())).await.unwrap();
    let client = Client::new(&fake.url()).unwrap();
    let settings = json!({"settings": {"number_of_shards": 2}});
    assert_eq!(client.json("PUT", "/old", settings).await.unwrap().status, 200);
    let text = "x".repeat(5000);
    let lines: String = (0..DOCS)
        .map(|n| format!("{{\"index\":{{\"_id\":\"i{n}\"}}}}\n{{\"n\":{n},\"o\":{{\"t\":\"{text}\"}}}}\n"))
        .collect();
    client.bulk("/old/_bulk?refresh=true", lines).await.unwrap();
    fake
}

fn files(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The documents of an index by id.
fn sorted(fake: &FakeCluster, index: &str) -> Vec<(String, Value)> {
    let found = fake.documents(index);
    let mut found: Vec<_> = found.iter().map(|found| (found.id.clone(), found.json().clone())).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Loads a folder in another index, and compares that with the old one.
async fn loads_again(fake: &FakeCluster, folder: &Path, out: &str, index: &str, flags: &[&str]) {
    let url = fake.url();
    says(folder, &[&["load", out, "--index", index, "--to", &url], flags].concat(), 0).await;
    assert_eq!(sorted(fake, index), sorted(fake, "old"), "{out}");
}

const ID: [&str; 2] = ["--id-as", "_key"];
const OF_ID: [&str; 4] = ["--id", "_key", "--drop", "_key"];

#[tokio::test(flavor = "multi_thread")]
async fn an_index_goes_to_parts_of_a_folder_and_back() {
    let (fake, folder) = (cluster().await, tempfile::tempdir().unwrap());
    let (folder, old) = (folder.path(), format!("{}/old", fake.url()));
    for (format, compression, ending, id, of_id) in [
        ("bulk", "zstd", "bulk.zst", &[][..], &[][..]),
        ("ndjson", "gzip", "ndjson.gz", &ID, &OF_ID),
        ("parquet", "none", "parquet", &ID, &OF_ID),
    ] {
        let out = format!("{format}/");
        let convert = ["convert", &old, &out, "--out-format", format, "--out-compression", compression, "--part-bytes"];
        let said = says(folder, &[&convert[..], &["1kB", "--json"], id].concat(), 0).await;
        let report: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        let parts = files(&folder.join(format));
        let expected: Vec<String> = (1..parts.len()).map(|n| format!("part-{n:06}.{ending}")).collect();
        assert_eq!((parts[0].as_str(), &parts[1..]), ("_inrush.json", &expected[..]));
        assert_eq!((&report["docs"], &report["parts"]), (&json!(DOCS), &json!(expected.len())), "{report}");
        assert_eq!(report["warnings"], json!([]));
        // Gzip writes nothing until it has a block.
        let at_least = if compression == "gzip" { 1 } else { 5 };
        assert!(expected.len() >= at_least, "{parts:?}");
        loads_again(&fake, folder, &out, &format!("new-{format}"), of_id).await;
        let said = says(folder, &[&convert[..], &["1kB", "--resume"], id].concat(), 0).await;
        assert!(said.contains(&format!("{out} is complete already: 3,000 documents")), "{said}");
        let said = says(folder, &[&convert[..], &["1kB"], id].concat(), 2).await;
        assert!(said.contains("error[state_unusable]") && said.contains("has a complete output"), "{said}");
    }
    // A large part holds all, and each CSV has the header.
    let said = says(folder, &["convert", &old, "one/", "--out-format", "csv"], 0).await;
    assert!(said.contains("3,000 documents converted: ") && said.contains(" in 1 file from "), "{said}");
    says(folder, &["convert", &old, "csv/", "--out-format", "csv", "--part-bytes", "1MB"], 0).await;
    for name in files(&folder.join("csv")).iter().filter(|name| name.starts_with("part-")) {
        assert!(std::fs::read_to_string(folder.join("csv").join(name)).unwrap().starts_with("n,o.t\n"), "{name}");
    }
}

/// The parts that the state of an output has.
fn recorded(folder: &Path) -> usize {
    let state = std::fs::read(folder.join("_inrush.json")).unwrap_or_default();
    let state: Value = serde_json::from_slice(&state).unwrap_or_default();
    state["parts"].as_array().map_or(0, Vec::len)
}

/// Kills the command with these arguments while a search is held.
async fn kill(fake: &FakeCluster, folder: &Path, arguments: &[&str], is_time: impl Fn() -> bool) {
    // The sample, the ends of both shards, and a few pages.
    fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_search").after(8)]));
    let mut child = inrush(folder, arguments).spawn().unwrap();
    fake.wait_for_held(1).await;
    while !is_time() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        tokio::task::yield_now().await;
    }
    child.kill().await.unwrap();
    fake.set_faults(Faults::new([]));
    fake.release_held();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_export_goes_on_with_each_document_once() {
    let (fake, folder) = (cluster().await, tempfile::tempdir().unwrap());
    let (folder, old) = (folder.path(), format!("{}/old", fake.url()));
    for (format, id) in [("bulk", &[][..]), ("csv", &ID)] {
        let out = format!("{format}/");
        let convert = [&["convert", &old, &out, "--out-format", format, "--part-bytes", "1kB"][..], id].concat();
        // The documents of a table are kept before its columns are known.
        let documents = folder.join("csv/.documents/_inrush.json");
        kill(&fake, folder, &convert, || recorded(&folder.join(format)) > 0 || documents.exists()).await;
        let said = says(folder, &convert, 2).await;
        assert!(said.contains("was cut off (--resume goes on with it)"), "{said}");
        let said = says(folder, &[&convert[..], &["--query", r#"{"match_all":{}}"#, "--resume"]].concat(), 2).await;
        assert!(said.contains("changed: how the source is read"), "{said}");
        let said = says(folder, &[&convert[..], &["--resume"]].concat(), 0).await;
        assert!(said.contains("3,000 documents converted"), "{said}");
        assert!(!files(&folder.join(format)).iter().any(|name| name.starts_with('.')));
    }
    loads_again(&fake, folder, "bulk/", "new", &[]).await;
    let mut ids = Vec::new();
    for name in files(&folder.join("csv")).iter().filter(|name| name.starts_with("part-")) {
        let text = std::fs::read_to_string(folder.join("csv").join(name)).unwrap();
        ids.extend(text.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()));
    }
    ids.sort();
    let expected: Vec<String> = sorted(&fake, "old").into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, expected);
}

/// Writes between two runs are in the output, and the report says that some of them may be in it
/// twice.
#[tokio::test(flavor = "multi_thread")]
async fn writes_between_two_runs_are_read_and_told() {
    let (fake, folder) = (cluster().await, tempfile::tempdir().unwrap());
    let (folder, old) = (folder.path(), format!("{}/old", fake.url()));
    let convert = ["convert", &old, "out/", "--out-format", "bulk", "--part-bytes", "1kB", "--json"];
    kill(&fake, folder, &convert, || recorded(&folder.join("out")) > 0).await;
    let first = std::fs::read_to_string(folder.join("out/part-000001.bulk")).unwrap();
    let action: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    let id = action["index"]["_id"].as_str().unwrap();
    let client = Client::new(&fake.url()).unwrap();
    // Both are in one shard. The other one may not have been read yet, and nothing of it counts.
    for (name, n) in [(id, 7), ("new", 8)] {
        let path = format!("/old/_doc/{name}?routing={id}&refresh=true");
        assert!(client.json("PUT", &path, json!({"n": n})).await.unwrap().status < 300);
    }
    let said = says(folder, &[&convert[..], &["--resume"]].concat(), 0).await;
    let report: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(report["docs"], json!(DOCS + 2), "{report}");
    assert!(report["warnings"][0].as_str().unwrap().contains("read by a later run: 2;"), "{report}");
    loads_again(&fake, folder, "out/", "new", &[]).await;
}

/// A failure leaves the parts, and says how to go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_says_how_to_go_on() {
    let (fake, folder) = (cluster().await, tempfile::tempdir().unwrap());
    let (folder, old) = (folder.path(), format!("{}/old", fake.url()));
    let convert = ["convert", &old, "out", "--out-format", "ndjson", "--part-bytes", "1kB"];
    std::fs::create_dir(folder.join("out")).unwrap();
    fake.set_faults(Faults::new([Rule::new(Fault::RequestForbidden).path("_search").after(6)]));
    let said = says(folder, &convert, 1).await;
    assert!(said.contains("hint: ") && said.contains("--resume"), "{said}");
    fake.set_faults(Faults::new([]));
    says(folder, &[&convert[..], &["--resume"]].concat(), 0).await;
    let parts = files(&folder.join("out")).into_iter().filter(|name| name.starts_with("part-"));
    let lines = parts.map(|name| std::fs::read_to_string(folder.join("out").join(name)).unwrap().lines().count());
    assert_eq!(lines.sum::<usize>(), DOCS);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.ndjson"), "{\"a\":1}\n").unwrap();
    std::fs::create_dir(folder.join("data")).unwrap();
    std::fs::write(folder.join("data/a.ndjson"), "{\"a\":1}\n").unwrap();
    for (arguments, expected) in [
        (&["convert", "a.ndjson", "out/"][..], "give --out-format"),
        (&["convert", "a.ndjson", "b.csv", "--resume"], "--resume is for a folder"),
        (&["convert", "a.ndjson", "b.csv", "--part-bytes", "1MB"], "--part-bytes is for a folder"),
        (
            &["convert", "a.ndjson", "out/", "--out-format", "csv", "--resume"],
            "has no output to go on with; leave --resume",
        ),
        (
            &["convert", "a.ndjson", "out/", "--out-format", "parquet", "--out-compression", "gzip"],
            "compressed already",
        ),
        (&["convert", "a.ndjson", "http://h:9200/index"], "inrush load IN"),
        (&["convert", "a.ndjson", "s3://bucket", "--out-format", "csv"], "a bucket without a name in it"),
        (&["convert", "data", "data/out/", "--out-format", "csv"], "OUT is in the folder IN"),
        (&["convert", "./data/", "data/../data/out/", "--out-format", "csv"], "OUT is in the folder IN"),
        (&["convert", "a.ndjson", "b.csv", "--store-option", "region=x"], "no source is in one"),
        (&["convert", "-", "out2/", "--format", "ndjson", "--out-format", "csv", "--resume"], "read only once"),
        (&["convert", "a.ndjson", ".", "--out-format", "csv"], "has other files, such as a.ndjson"),
    ] {
        let said = says(folder, arguments, 2).await;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    // Names set the compression, unless told otherwise; and stdout has none.
    says(folder, &["convert", "a.ndjson", "b.csv", "--out-compression", "gzip"], 0).await;
    assert!(std::fs::read(folder.join("b.csv")).unwrap().starts_with(&[0x1f, 0x8b]));
    let packed = run(folder, &["convert", "a.ndjson", "-", "--out-format", "csv", "--out-compression", "zstd"]).await;
    assert!(packed.stdout.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "{packed:?}");
}
