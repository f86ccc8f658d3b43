//! `inrush segments` as its users see it, against the fake cluster: the table, JSON, a watch that
//! survives a cluster that is away, a recording, and the bars of a terminal.

use std::process::Stdio;

use inrush_fake::{FakeCluster, FakeConfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::common::{check, inrush, run};
use crate::terminal::{Terminal, screen};

/// An index with two shards and a copy each, which has `count` documents in a segment a shard.
async fn cluster(count: usize) -> FakeCluster {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let settings = json!({"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "30s"});
    fake.call("PUT", "/logs-2026.11", json!({"settings": settings, "aliases": {"logs": {}}})).unwrap();
    add(&fake, 0, count);
    fake
}

/// Indexes documents and refreshes.
fn add(fake: &FakeCluster, from: usize, to: usize) {
    for n in from..to {
        fake.call("PUT", &format!("/logs-2026.11/_doc/{n}"), json!({"n": n})).unwrap();
    }
    fake.call("POST", "/logs-2026.11/_refresh", Value::Null).unwrap();
}

fn segments_of(moment: &Value) -> usize {
    let shards = moment["shards"].as_array().unwrap();
    shards.iter().map(|shard| shard["segments"].as_array().unwrap().len()).sum()
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Value {
    serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
}

fn stop(child: &Child) {
    kill_process(Pid::from_raw(child.id().unwrap().cast_signed()).unwrap(), Signal::INT).unwrap();
}

#[tokio::test]
async fn a_table_and_json_tell_the_same() {
    let fake = cluster(40).await;
    // Documents that are replaced stay in their segment until a merge.
    add(&fake, 30, 50);
    let folder = tempfile::tempdir().unwrap();
    for index in ["logs-2026.11", "logs", "logs-*", "logs-2026.11,logs"] {
        let target = format!("{}/{index}", fake.url());
        let (text, stderr) = check(&run(folder.path(), &["segments", &target]).await, 0);
        assert_eq!(stderr, "");
        for expected in ["2 shards in 2 copies: 4 segments", "50 documents", "16.7% deleted", "_forcemerge"] {
            assert!(text.contains(expected), "{index}: {expected}: {text}");
        }
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let rows: Vec<&Vec<&str>> = rows.iter().filter(|row| row.first() == Some(&"logs-2026.11")).collect();
        assert_eq!(rows.len(), 2, "{text}");
        assert_eq!(rows[1][1..5], ["1", "primary", "fake-0", "2"], "{text}");

        let (text, _) = check(&run(folder.path(), &["segments", &target, "--json"]).await, 0);
        let moment: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((text.lines().count(), segments_of(&moment)), (1, 4));
        let first = &moment["shards"][0];
        assert_eq!(
            (&first["index"], &first["shard"], &first["node"]),
            (&json!("logs-2026.11"), &json!(0), &json!("fake-0"))
        );
        assert_eq!(first["segments"][0]["g"], 0);
        assert_eq!(moment["refresh"], json!({"logs-2026.11": "30s"}));
        assert_eq!(moment["advice"][0]["id"], "deleted", "{moment}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_while_the_cluster_is_away_and_its_recording_is_played() {
    let fake = cluster(10).await;
    let folder = tempfile::tempdir().unwrap();
    let target = format!("{}/logs", fake.url());
    let arguments = ["segments", &target, "--watch=1ms", "--json", "--record", "r.jsonl"];
    let mut child = inrush(folder.path(), &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut shown = vec![next(&mut lines).await];
    assert_eq!(segments_of(&shown[0]), 2);
    add(&fake, 10, 30);
    while segments_of(&shown[shown.len() - 1]) < 4 {
        shown.push(next(&mut lines).await);
    }
    fake.nodes()[0].kill().await;
    while shown[shown.len() - 1].get("trouble").is_none() {
        shown.push(next(&mut lines).await);
    }
    // The picture of before stays.
    assert_eq!(segments_of(&shown[shown.len() - 1]), 4);
    fake.nodes()[0].revive().await.unwrap();
    while shown[shown.len() - 1].get("trouble").is_some() {
        shown.push(next(&mut lines).await);
    }
    // An index that is deleted is no reason to end, since another one may take its name.
    fake.call("DELETE", "/logs-2026.11", Value::Null).unwrap();
    while shown[shown.len() - 1].get("trouble").is_none() {
        shown.push(next(&mut lines).await);
    }
    assert!(shown[shown.len() - 1]["trouble"].as_str().unwrap().contains("there is no such index"));
    stop(&child);
    while let Some(line) = lines.next_line().await.unwrap() {
        shown.push(serde_json::from_str(&line).unwrap());
    }
    check(&child.wait_with_output().await.unwrap(), 130);

    // The clock of the advice is that of the moments, so a recording is played to the same text.
    let (text, _) = check(&run(folder.path(), &["segments", "--play", "r.jsonl", "--watch", "--json"]).await, 0);
    let played: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(played, shown);
    let page = ["segments", "--play", "r.jsonl", "--out", "r.html"];
    assert_eq!(check(&run(folder.path(), &page).await, 0).0, "r.html\n");
    let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    // The page has the lines of the recording.
    for line in std::fs::read_to_string(folder.path().join("r.jsonl")).unwrap().lines() {
        assert!(page.contains(line), "{line}");
    }
    let (text, _) = check(&run(folder.path(), &["segments", "--play", "r.jsonl"]).await, 0);
    assert!(text.contains("no answer") && text.contains("4 segments"), "{text}");
    let (_, stderr) = check(&run(folder.path(), &[&arguments[..4], &["--record", "r.jsonl"]].concat()).await, 2);
    assert!(stderr.contains("there is no such index"), "{stderr}");
}

#[tokio::test]
async fn what_cannot_be_shown_says_why() {
    let fake = cluster(1).await;
    let url = fake.url();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("other.jsonl"), "{}\n").unwrap();
    fake.set_reply(
        "/secret/_segments",
        403,
        json!({"error": {"type": "security_exception", "reason": "no"}, "status": 403}),
    );
    fake.call("PUT", "/closed", Value::Null).unwrap();
    fake.call("POST", "/closed/_close", Value::Null).unwrap();
    let (missing, closed, secret, there) =
        (format!("{url}/none"), format!("{url}/closed"), format!("{url}/secret"), format!("{url}/logs"));
    for (arguments, code, expected) in [
        (&["segments", &missing][..], 2, "none: there is no such index, alias or data stream"),
        (&["segments", &closed], 2, "closed: the index is closed"),
        (&["segments", &secret], 1, "(index privilege monitor): forbidden"),
        (&["segments", "--play", "other.jsonl"], 2, "no recording of segments"),
        (&["segments", &there, "--play", "other.jsonl"], 2, "cannot be used with"),
        (&["segments", &there, "--record", "a.jsonl"], 2, "--watch"),
        (&["segments", &there, "--watch=1s", "--record", "other.jsonl"], 2, "exists already"),
        (&["segments", &there, "--watch=0s"], 2, "longer than 0"),
    ] {
        let (stdout, stderr) = check(&run(folder.path(), arguments).await, code);
        assert!(stderr.contains(expected) && stdout.is_empty(), "{arguments:?}: {stderr}");
    }
    // Closed indices do not hinder the others, nor does a user who may only see segments.
    for path in ["/_nodes/http", "/logs/_stats/merge,refresh,flush,indexing", "/logs/_settings/index.refresh_interval"]
    {
        fake.set_reply(path, 403, json!({"error": {"type": "security_exception", "reason": "no"}, "status": 403}));
    }
    for target in [&url, &there] {
        let (text, _) = check(&run(folder.path(), &["segments", target]).await, 0);
        assert!(text.contains("fakenode") && !text.contains("closed"), "{text}");
    }
}

#[tokio::test]
async fn five_hundred_shards_come_over_the_wire() {
    let fake = cluster(1).await;
    let segment = |n: u64| {
        json!({"generation": n, "num_docs": 10, "deleted_docs": n % 3, "size_in_bytes": 1_000 << n,
            "committed": true, "search": true, "merge_id": (n > 15).then_some("7")})
    };
    let segments: Value = (0..20).map(|n| (format!("_{n}"), segment(n))).collect::<serde_json::Map<_, _>>().into();
    let copy = |node: usize| json!([{"routing": {"primary": true, "node": format!("n{node}")}, "segments": segments}]);
    let indices = (0..50).map(|index| {
        let shards = (0..10).map(|shard| (shard.to_string(), copy(shard))).collect::<serde_json::Map<_, _>>();
        (format!("logs.{index:02}"), json!({"shards": shards}))
    });
    let body =
        json!({"_shards": {"total": 500, "successful": 500}, "indices": indices.collect::<serde_json::Map<_, _>>()});
    fake.set_reply("/logs.%2A/_segments", 200, body);
    let folder = tempfile::tempdir().unwrap();
    let target = format!("{}/logs.*", fake.url());
    let (text, _) = check(&run(folder.path(), &["segments", &target]).await, 0);
    assert_eq!(text.lines().filter(|line| line.starts_with("logs.")).count(), 500);
    assert!(text.contains("50 indices, 500 shards in 500 copies: 10,000 segments"), "{text}");
    for columns in [40, 80, 200] {
        let terminal = Terminal::new();
        terminal.resize(columns, 30);
        let mut child = terminal.start_with_stdout(folder.path(), &["segments".to_owned(), target.clone()]);
        assert!(child.wait().await.unwrap().success());
        let written = terminal.all().await;
        // No line is wider than the terminal, which would have broken it.
        let (lines, _) = screen(&written, columns.into());
        assert_eq!(lines.len(), written.lines().count() + 1, "{written}");
        let is_there = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(is_there("more indices with") && is_there("more copies with"), "{lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_drawn_in_place_until_ctrl_c() {
    let fake = cluster(10).await;
    let folder = tempfile::tempdir().unwrap();
    let terminal = Terminal::new();
    terminal.resize(80, 24);
    let arguments = ["segments".to_owned(), format!("{}/logs", fake.url()), "--watch=1ms".to_owned()];
    let child = terminal.start_with_stdout(folder.path(), &arguments);
    terminal.shows("2 segments").await;
    add(&fake, 10, 30);
    terminal.shows("4 segments").await;
    terminal.press(b"\x03");
    check(&child.wait_with_output().await.unwrap(), 130);
    let (lines, cursor) = screen(&terminal.all().await, 80);
    // One picture, and the echo of Ctrl-C below it.
    assert_eq!(lines.iter().filter(|line| line.starts_with("logs-2026.11/1 p")).count(), 1, "{lines:?}");
    assert!(lines[0].starts_with("OpenSearch 3.6.0") && lines.len() < 24, "{lines:?}");
    assert_eq!(cursor.0, lines.len() - 1);
}
