//! `inrush sweep` as its users see it, against the fake cluster.

use inrush_fake::{FakeCluster, FakeConfig, Fault, Faults, Rule};
use serde_json::Value;

use crate::common::{check, inrush};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..400).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
    std::fs::write(folder.path().join("a.ndjson"), lines).unwrap();
    std::fs::write(folder.path().join("slow.json"), "{\"index\":{\"refresh_interval\":\"30s\"}}").unwrap();
    folder
}

#[tokio::test]
async fn every_cell_is_run_shown_and_gone_on_with() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let url = fake.url();
    let folder = folder();
    let folder = folder.path();
    let sweep = [
        "sweep",
        "a.ndjson",
        "--to",
        &url,
        "--batch-docs",
        "10,100:200:100",
        "--batch-bytes",
        "64KiB",
        "--in-flight",
        "1,2",
        "--settings",
        "none,slow.json",
        "--encoding",
        "json,smile",
        "--warm-up",
        "0",
        "--out",
        "out",
        "--json",
    ];
    let once = [&sweep[..], &["--repeat", "1"]].concat();
    let (stdout, stderr) = check(&inrush(folder, &once).output().await.unwrap(), 0);
    let result: Value = serde_json::from_str(&stdout).unwrap();
    // Four batches, two numbers of requests, and auto, with two kinds of settings and two
    // encodings.
    assert_eq!(result["cells"].as_array().unwrap().len(), 36, "{result}");
    for cell in result["cells"].as_array().unwrap() {
        assert_eq!((cell["result"]["runs"].as_u64(), cell["result"]["docs"].as_u64()), (Some(1), Some(400)), "{cell}");
    }
    assert_eq!(result["verdicts"].as_object().unwrap().len(), 4);
    assert!(stderr.contains("36 of 36") && stderr.contains("left"), "{stderr}");
    let read = |name: &str| std::fs::read_to_string(folder.join("out").join(name)).unwrap();
    assert_eq!(read("runs.csv").lines().count(), 37);
    let page = read("index.html");
    let (_, data) = page.split_once("id=\"inrush-sweep\">").unwrap();
    let shown: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let groups: Vec<_> = shown["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    assert_eq!((groups.len(), shown["cells"].as_array().unwrap().len(), &shown["now"]), (4, 36, &Value::Null));
    assert!(groups.contains(&&Value::from("slow, smile")), "{groups:?}");
    assert!(fake.indices().iter().all(|name| !name.starts_with("inrush-sweep")));

    // More rounds of the same go on; something else is refused.
    let (_, stderr) = check(&inrush(folder, &[&sweep[..], &["--repeat", "2"]].concat()).output().await.unwrap(), 0);
    assert!(stderr.contains("36 of 72 runs"), "{stderr}");
    assert_eq!(read("runs.csv").lines().count(), 73);
    let (_, stderr) = check(&inrush(folder, &[&sweep[..], &["--shards", "2"]].concat()).output().await.unwrap(), 2);
    assert!(stderr.contains("another sweep") && stderr.contains("--out"), "{stderr}");
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_cut_off_and_a_failure_is_told() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let url = fake.url();
    let folder = folder();
    let folder = folder.path();
    // 400 requests, one at a time, that each take a while.
    let slow = Rule::new(Fault::Slow).delay_ms(20);
    let late = FakeCluster::start(FakeConfig::default().faults(Faults::new([slow]))).await.unwrap();
    let late_url = late.url();
    let sweep = [
        "sweep",
        "a.ndjson",
        "--batch-docs",
        "1",
        "--in-flight",
        "1",
        "--no-auto",
        "--repeat",
        "1",
        "--warm-up",
        "0",
        "--quiet",
    ];
    let cut = [&sweep[..], &["--to", &late_url, "--cell-time", "1s", "--out", "cut"]].concat();
    let (stdout, _) = check(&inrush(folder, &cut).output().await.unwrap(), 0);
    assert!(stdout.contains("1 docs x 1"), "{stdout}");
    let runs = std::fs::read_to_string(folder.join("cut/runs.csv")).unwrap();
    assert!(runs.lines().nth(1).unwrap().contains(",interrupted,"), "{runs}");

    // Documents that are refused are no result.
    std::fs::write(folder.join("mapping.json"), "{\"properties\":{\"n\":{\"type\":\"ip\"}}}").unwrap();
    let failed = [&sweep[..], &["--to", &url, "--mapping", "mapping.json", "--out", "failed"]].concat();
    let (_, stderr) = check(&inrush(folder, &failed).output().await.unwrap(), 1);
    assert!(stderr.contains("no document got in"), "{stderr}");
}

#[tokio::test]
async fn what_cannot_be_swept_says_why() {
    let folder = folder();
    for (arguments, expected) in [
        (&["sweep", "-"][..], "stdin can be read only once"),
        (&["sweep", "a.ndjson", "--batch-docs", "5:1:1"], "ends before it begins"),
        (&["sweep", "a.ndjson", "--batch-bytes", "0"], "at least 1"),
        (&["sweep", "a.ndjson", "--batch-bytes", "64MiB", "--in-flight", "16"], "give --memory 1GiB"),
        (&["sweep", "a.ndjson", "--settings", "slow.json,slow.json"], "twice"),
        (&["sweep", "a.ndjson", "--index-prefix", "a-{b}"], "placeholders"),
        (&["sweep", "none.ndjson"], "none.ndjson"),
        (&["sweep"], "SOURCE"),
    ] {
        let arguments = [arguments, &["--to", "http://127.0.0.1:9"]].concat();
        let output = inrush(folder.path(), &arguments).output().await.unwrap();
        let (_, stderr) = check(&output, 2);
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}
