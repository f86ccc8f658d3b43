//! `inrush load s3://…` from a real S3 server.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_testbed::client::Client;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::program;
use crate::s3_server::{KEY, S3, SECRET};

impl S3 {
    /// Puts an object by the server's own interface, so that it has an ETag.
    fn put(&self, key: &str, data: &[u8]) {
        let file = self.folder.path().join("upload");
        std::fs::write(&file, data).unwrap();
        let put = Command::new("curl")
            .args([
                "-sS",
                "--fail-with-body",
                "--aws-sigv4",
                "aws:amz:us-east-1:s3",
                "--user",
                &format!("{KEY}:{SECRET}"),
            ])
            .args(["-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-T"])
            .arg(file)
            .arg(format!("{}/data/{key}", self.endpoint))
            .output()
            .unwrap();
        assert!(
            put.status.success(),
            "{}{}",
            String::from_utf8_lossy(&put.stdout),
            String::from_utf8_lossy(&put.stderr)
        );
    }

    /// `inrush` with this server's key in the environment.
    fn inrush(&self, arguments: &[&str]) -> Output {
        self.inrush_as(SECRET, arguments)
    }

    fn inrush_as(&self, secret: &str, arguments: &[&str]) -> Output {
        self.command(secret, arguments).output().unwrap()
    }

    fn command(&self, secret: &str, arguments: &[&str]) -> Command {
        let mut command = program::inrush();
        command
            .current_dir(self.folder.path())
            .args(arguments)
            .args(["--store-option", &format!("endpoint={}", self.endpoint), "--store-option", "allow_http=true"])
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .env_remove("AWS_PROFILE")
            .stdin(Stdio::null());
        command
    }

    /// What the server lists as uploads that are not complete.
    fn uploads(&self) -> usize {
        let list = Command::new("curl")
            .args(["-sS", "--fail-with-body", "--aws-sigv4", "aws:amz:us-east-1:s3"])
            .args(["--user", &format!("{KEY}:{SECRET}"), "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"])
            .arg(format!("{}/data?uploads=", self.endpoint))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&list.stdout).into_owned();
        assert!(text.contains("ListMultipartUploadsResult"), "{text}{}", String::from_utf8_lossy(&list.stderr));
        text.matches("<UploadId>").count()
    }

    /// The state of an output in parts.
    fn state(&self, folder: &str) -> Value {
        let text = std::fs::read(self.folder.path().join("root/data").join(folder).join("_inrush.json"));
        serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default()
    }
}

#[track_caller]
fn report(output: &Output, code: i32) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}{stderr}", String::from_utf8_lossy(&output.stdout));
    assert!(!stderr.contains(SECRET));
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn lines(numbers: std::ops::Range<u32>) -> Vec<u8> {
    let mut text = String::new();
    for n in numbers {
        writeln!(text, r#"{{"id":"i{n}","n":{n},"text":"some words to fill it"}}"#).unwrap();
    }
    text.into_bytes()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, data) = (child.stdin.take().unwrap(), data.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&data).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout
}

async fn fake(faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().faults(Faults::new(faults))).await.unwrap()
}

fn numbers(cluster: &FakeCluster, index: &str) -> BTreeSet<u64> {
    cluster.documents(index).iter().map(|document| document.json()["n"].as_u64().unwrap()).collect()
}

/// 60,000 rows in three row groups, about 1 MB.
fn parquet_file() -> Vec<u8> {
    let n = Int64Array::from_iter_values(100_000..160_000);
    let noise = Int64Array::from_iter_values((0..60_000_i64).map(|n| n.wrapping_mul(0x1E37_79B9_7F4A_7C15)));
    let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as _), ("noise", Arc::new(noise) as _)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(20_000)).build();
    let mut data = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut data, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    data
}

#[tokio::test(flavor = "multi_thread")]
async fn s3() {
    let s3 = S3::start();
    patterns_folders_and_formats(&s3).await;
    archives_and_chosen_files(&s3).await;
    a_load_that_was_cut_off_goes_on(&s3).await;
    tables_of_lakes_are_refused(&s3).await;
    an_index_goes_to_objects_and_back(&s3).await;
    a_killed_export_leaves_no_upload(&s3).await;
    what_is_wrong_is_told(&s3);
}

async fn patterns_folders_and_formats(s3: &S3) {
    let cluster = fake([]).await;
    s3.put("logs/b.ndjson", &lines(10_000..20_000));
    s3.put("logs/a.ndjson.gz", &gzip(&lines(0..10_000)));
    s3.put("logs/deep/c.ndjson", &lines(20_000..20_010));
    s3.put("logs/_SUCCESS", b"");
    s3.put("logs/odd%20name%20%5B1%5D.csv", b"n,x\n90001,a\n");
    s3.put("tables/year%3D2024/part-0.parquet", &parquet_file());
    let load =
        |source: &str, index: &str| s3.inrush(&["load", source, "--index", index, "--to", &cluster.url(), "--json"]);
    // `*` stays in its folder.
    let result = report(&load("s3://data/logs/*.ndjson*", "pattern"), 0);
    let names: Vec<&str> = result["sources"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["s3://data/logs/a.ndjson.gz", "s3://data/logs/b.ndjson"], "{result}");
    assert_eq!(numbers(&cluster, "pattern"), (0..20_000).collect());
    let sizes = std::fs::metadata(s3.folder.path().join("root/data/logs/a.ndjson.gz")).unwrap().len()
        + lines(10_000..20_000).len() as u64;
    assert_eq!(result["bytes_read"].as_u64(), Some(sizes));

    report(&load("s3://data/logs/", "folder"), 0);
    assert_eq!(numbers(&cluster, "folder").len(), 20_011);
    report(&load("s3://data/logs/odd name [1].csv", "odd"), 0);
    assert_eq!(numbers(&cluster, "odd"), BTreeSet::from([90_001]));

    let result = report(&load("s3://data/tables/**/*.parquet", "table"), 0);
    assert_eq!(result["docs_read"], 60_000);
    assert_eq!(numbers(&cluster, "table"), (100_000..160_000).collect());
    assert_eq!(cluster.documents("table")[0].json()["year"], 2024);

    // The other commands read them as well.
    let mapping = s3.inrush(&["mapping", "s3://data/logs/b.ndjson", "--json"]);
    assert_eq!(report(&mapping, 0)["mapping"]["properties"]["n"]["type"], "integer");
    cluster.shutdown().await;
}

/// An archive of these files, as tar writes it.
fn tar(s3: &S3, name: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let folder = s3.folder.path().join(format!("of-{name}"));
    std::fs::create_dir(&folder).unwrap();
    for (file, data) in files {
        std::fs::write(folder.join(file), data).unwrap();
    }
    let mut tar = Command::new("tar");
    tar.args(["caf", name]).args(files.iter().map(|(file, _)| file)).current_dir(&folder);
    assert!(tar.status().unwrap().success());
    std::fs::read(folder.join(name)).unwrap()
}

async fn archives_and_chosen_files(s3: &S3) {
    let cluster = fake([]).await;
    let (a, b) = (lines(0..10_000), lines(10_000..20_000));
    s3.put("mixed/a.tar.gz", &tar(s3, "a.tar.gz", &[("a.ndjson", &a), ("table.parquet", &parquet_file())]));
    s3.put("mixed/b.tar", &tar(s3, "b.tar", &[("b.ndjson", &b), ("NOTES.txt", b"Notes\n")]));
    s3.put("mixed/c.ndjson", &lines(20_000..20_010));
    s3.put("mixed/README.md", b"# Data\n");
    let load = |index: &str, more: &[&str]| {
        let arguments = ["load", "s3://data/mixed", "--index", index, "--to", &cluster.url(), "--id", "n", "--json"];
        s3.inrush(&[&arguments[..], more].concat())
    };
    let refused = load("mixed", &[]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("b.tar/NOTES.txt: ") && text.contains("--exclude NOTES.txt"), "{text}");
    assert_eq!(numbers(&cluster, "mixed").len(), 0);
    let result = report(&load("mixed", &["--exclude", "NOTES.txt,*.md"]), 0);
    let names: Vec<&str> = result["sources"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    let expected = ["a.tar.gz/a.ndjson", "a.tar.gz/table.parquet", "b.tar/b.ndjson", "c.ndjson"];
    assert_eq!(names, expected.map(|name| format!("s3://data/mixed/{name}")), "{result}");
    assert_eq!(numbers(&cluster, "mixed"), (0..20_010).chain(100_000..160_000).collect());
    report(&load("lines", &["--include", "*.ndjson", "--exclude", "a.*"]), 0);
    assert_eq!(numbers(&cluster, "lines"), (10_000..20_010).collect());
    // A load of an archive goes on within it.
    let small = ["--include", "*.ndjson", "--batch-docs", "100", "--in-flight", "2"];
    let begun = fake([Rule::new(Fault::ItemBadRequest).containing("\"n\":15000,")]).await;
    let to = begun.url();
    let load = |more: &[&str]| {
        let arguments = ["load", "s3://data/mixed/*.tar*", "--index", "cut", "--to", &to, "--id", "n", "--json"];
        s3.inrush(&[&arguments[..], &small, more].concat())
    };
    assert_ne!(load(&["--strict"]).status.code(), Some(0));
    let result = report(&load(&["--resume"]), 3);
    assert_eq!((&result["docs_read"], &result["docs_dead_lettered"]), (&20_000.into(), &1.into()), "{result}");
    assert!(result["this_run"]["docs_read"].as_u64().unwrap() < 20_000, "{result}");
    begun.shutdown().await;
    cluster.shutdown().await;
}

async fn a_load_that_was_cut_off_goes_on(s3: &S3) {
    let cluster = fake([Rule::new(Fault::ItemBadRequest).containing("\"n\":15000,")]).await;
    let url = cluster.url();
    let load = |more: &[&str]| {
        let arguments = ["load", "s3://data/logs/*.ndjson*", "--index", "cut", "--to", &url, "--json", "--id", "id"];
        s3.inrush(&[&arguments[..], &["--batch-docs", "100", "--in-flight", "2"], more].concat())
    };
    // One document that is refused stops it in the second file.
    let first = load(&["--strict"]);
    assert_ne!(first.status.code(), Some(0));
    assert!(numbers(&cluster, "cut").len() < 20_000);
    let result = report(&load(&["--resume"]), 3);
    assert_eq!(
        (result["docs_read"].as_u64(), result["docs_dead_lettered"].as_u64()),
        (Some(20_000), Some(1)),
        "{result}"
    );
    assert!(result["this_run"]["docs_read"].as_u64().unwrap() < 20_000, "{result}");
    assert_eq!(numbers(&cluster, "cut").len(), 19_999);

    assert_ne!(load(&["--strict"]).status.code(), Some(0));
    // The same size, another content.
    let mut changed = lines(10_000..20_000);
    changed.swap(30, 31);
    s3.put("logs/b.ndjson", &changed);
    let refused = load(&["--resume"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("s3://data/logs/b.ndjson was replaced since"), "{message}");
    cluster.shutdown().await;
}

/// A cluster with documents `0..count` of a kilobyte, in the index `old`.
async fn cluster_with(count: u64) -> FakeCluster {
    let cluster = fake([]).await;
    let client = Client::new(&cluster.url()).unwrap();
    let text = "x".repeat(1000);
    for first in (0..count).step_by(5000) {
        let lines: String = (first..count.min(first + 5000))
            .map(|n| format!("{{\"index\":{{\"_id\":\"i{n}\"}}}}\n{{\"n\":{n},\"text\":\"{text}\"}}\n"))
            .collect();
        client.bulk("/old/_bulk?refresh=true", lines).await.unwrap();
    }
    cluster
}

async fn an_index_goes_to_objects_and_back(s3: &S3) {
    let cluster = cluster_with(20_000).await;
    let (old, url) = (format!("{}/old", cluster.url()), cluster.url());
    // One object of several pieces, and one of no more than a piece.
    for out in ["s3://data/dump/old.bulk", "s3://data/dump/old.bulk.zst"] {
        let result = report(&s3.inrush(&["convert", &old, out, "--json"]), 0);
        assert_eq!(result["docs"], 20_000, "{result}");
        let object = s3.folder.path().join("root").join(&out["s3://".len()..]);
        assert_eq!(result["bytes_written"].as_u64(), Some(object.metadata().unwrap().len()), "{result}");
        report(&s3.inrush(&["load", out, "--index", &out.replace(['/', ':'], "-"), "--to", &url]), 0);
        assert_eq!(numbers(&cluster, &out.replace(['/', ':'], "-")), (0..20_000).collect());
    }
    // Documents of a table are kept on this machine.
    let convert = ["convert", &old, "s3://data/table/", "--out-format", "parquet", "--part-bytes", "1kB", "--json"];
    let result = report(&s3.inrush(&convert), 0);
    assert!(result["parts"].as_u64().unwrap() > 2, "{result}");
    report(&s3.inrush(&["load", "s3://data/table/", "--index", "table", "--to", &url]), 0);
    assert_eq!(numbers(&cluster, "table"), (0..20_000).collect());
    assert_eq!(std::fs::read_dir(s3.folder.path().join("state/inrush/exports")).unwrap().count(), 0);
    // A document that the format has no place for leaves no object.
    let client = Client::new(&url).unwrap();
    client.json("PUT", "/old/_doc/odd?refresh=true", json!({"n": [1, 2]})).await.unwrap();
    let failed = s3.inrush(&["convert", &old, "s3://data/dump/old.parquet"]);
    assert_eq!(failed.status.code(), Some(1), "{}", String::from_utf8_lossy(&failed.stderr));
    assert!(!s3.folder.path().join("root/data/dump/old.parquet").exists());
    assert_eq!(s3.uploads(), 0);
    cluster.shutdown().await;
}

async fn a_killed_export_leaves_no_upload(s3: &S3) {
    let cluster = cluster_with(20_000).await;
    let (old, url) = (format!("{}/old", cluster.url()), cluster.url());
    let convert = ["convert", &old, "s3://data/out/", "--out-format", "ndjson", "--part-bytes", "5MB", "--json"];
    // Pages of 8 MB come: the second part cannot be complete.
    cluster.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_search").after(14)]));
    let mut child = s3.command(SECRET, &convert).spawn().unwrap();
    cluster.wait_for_held(1).await;
    // A part is complete, and the next one has begun.
    let mut look = tokio::time::interval(std::time::Duration::from_millis(2));
    while s3.state("out")["parts"].as_array().is_none_or(Vec::is_empty) || s3.state("out")["upload"].is_null() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        look.tick().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(s3.uploads(), 1);
    cluster.set_faults(Faults::new([]));
    cluster.release_held();
    let result = report(&s3.inrush(&[&convert[..], &["--resume"]].concat()), 0);
    assert_eq!(result["docs"], 20_000, "{result}");
    assert_eq!((s3.uploads(), s3.state("out")["complete"].as_bool()), (0, Some(true)));
    report(&s3.inrush(&["load", "s3://data/out/", "--index", "new", "--to", &url]), 0);
    assert_eq!(numbers(&cluster, "new"), (0..20_000).collect());
    cluster.shutdown().await;
}

/// The files of such tables also have rows that were deleted or replaced.
async fn tables_of_lakes_are_refused(s3: &S3) {
    let (cluster, rows) = (fake([]).await, parquet_file());
    let load = |source: &str| s3.inrush(&["load", source, "--index", "lake", "--to", &cluster.url(), "--json"]);
    let refused = |source: &str, name: &str| {
        let output = load(source);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && text.contains(&format!(" is a table of {name}")),
            "{source}: {text}"
        );
    };
    for (table, log, name, source) in [
        ("delta", "_delta_log/00000000000000000000.json", "Delta Lake", ""),
        ("hudi", ".hoodie/hoodie.properties", "Hudi", "*/*.parquet"),
        ("iceberg", "metadata/version-hint.text", "Iceberg", "day=1/part-0.parquet"),
        ("iceberg-of-a-catalogue", "metadata/00000-1b2c.metadata.json", "Iceberg", "day=1"),
        ("paimon", "schema/schema-0", "Paimon", "**/*.parquet"),
    ] {
        s3.put(&format!("lake/{table}/{log}"), b"{}");
        s3.put(&format!("lake/{table}/day%3D1/part-0.parquet"), &rows);
        refused(&format!("s3://data/lake/{table}/{source}"), &format!("{name} (it has "));
    }
    refused("s3://data/lake", "Delta Lake");
    s3.put("lake/plain/part-0.parquet", &rows);
    assert_eq!(report(&load("s3://data/lake/plain"), 0)["docs_created"], 60_000);
    cluster.shutdown().await;
}

fn what_is_wrong_is_told(s3: &S3) {
    let message = |output: Output| {
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains(SECRET) && !text.contains("wrong-secret"), "{text}");
        text
    };
    let mapping = |source: &str| message(s3.inrush(&["mapping", source]));
    let text = mapping("s3://data/nothing/at/all");
    assert!(text.contains("s3://data/nothing/at/all: does not exist, neither as a file nor as a folder"), "{text}");
    assert!(mapping("s3://data/logs/*.xml").contains("matches no file"));
    assert!(mapping("s3://nowhere/a.csv").contains("s3://nowhere/a.csv: "));
    let text = message(s3.inrush_as("wrong-secret", &["mapping", "s3://data/logs/b.ndjson"]));
    assert!(text.contains("S3 denies access"), "{text}");
    let text =
        message(s3.inrush(&["mapping", "s3://data/logs/b.ndjson", "--store-option", "aws_secret_access_key=abc"]));
    assert!(text.contains("environment") && !text.contains("abc"), "{text}");
    let text = message(s3.inrush(&["mapping", "s3://data/logs/b.ndjson", "--store-option", "colour=blue"]));
    assert!(text.contains("unknown store option colour for S3"), "{text}");
}
