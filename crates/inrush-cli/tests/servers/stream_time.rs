//! Logs into a data stream with a real server: the time that documents need, and the field that has
//! it.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::inrush;
use crate::server::{Server, Version};

fn run(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output: Output = inrush().current_dir(folder).args(arguments).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{arguments:?}\n{stdout}\n{stderr}");
    format!("{stdout}{stderr}")
}

const LOG: &str = "203.0.113.7 - - [28/Nov/2025:13:55:36 +0100] \"GET / HTTP/1.1\" 200 5316 \"-\" \"curl/8.5\"\n\
    203.0.113.9 - - [28/Nov/2025:12:55:37 +0000] \"GET /shop HTTP/1.1\" 404 153 \"-\" \"curl/8.5\"\n";
const MIXED: &str = "{\"ts\":1764334536,\"n\":1}\n{\"ts\":\"1764334537000\",\"n\":2}\n\
    {\"ts\":\"Fri, 28 Nov 2025 12:55:38 GMT\",\"n\":3}\n{\"ts\":\"2025-11-28 12:55:39,500\",\"n\":4}\n";

#[tokio::test(flavor = "multi_thread")]
async fn stream_time_with_opensearch() {
    let server = Server::shared(Version::OpenSearch3).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("web.log"), LOG).unwrap();
    std::fs::write(folder.join("mixed.ndjson"), MIXED).unwrap();
    let template = json!({"index_patterns": ["stream_time-*"], "data_stream": {}, "priority": 700,
        "template": {"settings": {"number_of_replicas": 0}}});
    server.send("PUT", "/_index_template/stream_time", template).await;
    let to = server.url();
    let load = ["load", "web.log", "--parse", "combined", "--index", "stream_time-web", "--to", &to];
    let timed = [&load[..], &["--timestamp", "timestamp"]].concat();
    // Before the stream is there, and after that.
    for documents in [2, 4] {
        let told = run(folder, &load, 2);
        assert!(told.contains("stream_time-web is a data stream, whose documents need the field @timestamp"), "{told}");
        assert!(told.contains("give --timestamp timestamp"), "{told}");
        assert!(run(folder, &[&load[..], &["--dry-run"]].concat(), 4).contains("give --timestamp timestamp"));
        run(folder, &[&timed[..], &["--dry-run"]].concat(), 0);
        run(folder, &timed, 0);
        assert_eq!(server.count("stream_time-web").await, documents);
    }

    // Each form is the moment that the server finds.
    let mixed = ["load", "mixed.ndjson", "--index", "stream_time-mixed", "--to", &to, "--timestamp", "ts"];
    run(folder, &mixed, 0);
    for (second, n) in [(36, 1), (37, 2), (38, 3), (39, 4)] {
        let at = |second: u32| format!("2025-11-28T12:55:{second}Z");
        let query = json!({"query": {"range": {"@timestamp": {"gte": at(second), "lt": at(second + 1)}}}});
        let found = server.send("POST", "/stream_time-mixed/_search", query).await;
        let hits = found["hits"]["hits"].as_array().unwrap();
        assert!(hits.len() == 1 && hits[0]["_source"]["n"] == n, "{second}: {found}");
    }

    // A document later in the file has no time: it is a dead letter, and the report says the cure.
    std::fs::write(folder.join("late.ndjson"), "{\"@timestamp\":\"2025-11-28\"}\n{\"n\":2}\n").unwrap();
    let told = run(folder, &["load", "late.ndjson", "--index", "stream_time-late", "--to", &to], 3);
    assert!(told.contains("--timestamp FIELD makes it of the field that has their time"), "{told}");

    // A template may name another field.
    let template = json!({"index_patterns": ["stream_time-own-*"], "priority": 800,
        "data_stream": {"timestamp_field": {"name": "when"}}});
    server.send("PUT", "/_index_template/stream_time-own", template).await;
    std::fs::write(folder.join("own.ndjson"), "{\"when\":\"2025-11-28T10:00:00Z\"}\n").unwrap();
    for documents in [1, 2] {
        run(folder, &["load", "own.ndjson", "--index", "stream_time-own-a", "--to", &to], 0);
        assert_eq!(server.count("stream_time-own-a").await, documents);
    }
    server.send("DELETE", "/_data_stream/stream_time-own-*", Value::Null).await;
    server.send("DELETE", "/_index_template/stream_time-own", Value::Null).await;
    server.send("DELETE", "/_data_stream/stream_time-*", Value::Null).await;
    server.send("DELETE", "/_index_template/stream_time", Value::Null).await;
}
