//! What a load or a bake needs on this machine is there before it changes anything in the cluster.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::full_disk::Disk;
use crate::server::{Server, Version};

const DOCS: u64 = 1_000;

/// The binary in this folder. It finds a full disk in the folder `disk`.
fn run_on_full_disk(folder: &Path, line: &str) -> Option<Output> {
    let binary = env!("CARGO_BIN_EXE_inrush");
    let arguments: Vec<&str> = std::iter::once(binary).chain(line.split_whitespace()).collect();
    let words = Disk::Full.command(&folder.join("disk"), &arguments)?;
    Some(output(folder, &words.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn run(folder: &Path, line: &str) -> Output {
    let words: Vec<&str> = std::iter::once(env!("CARGO_BIN_EXE_inrush")).chain(line.split_whitespace()).collect();
    output(folder, &words)
}

fn output(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).env("XDG_STATE_HOME", folder.join("state"));
    command.output().unwrap()
}

fn lines(docs: u64) -> String {
    (0..docs).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect()
}

/// What the server has of this test: the indices with their UUIDs, the aliases, the repositories.
async fn contents(server: &Server) -> Value {
    let indices = server.send("GET", "/local_first*?filter_path=*.aliases,*.settings.index.uuid", Value::Null).await;
    json!([indices, server.send("GET", "/_snapshot", Value::Null).await])
}

async fn nothing_is_changed_by_a_load_that_cannot_begin(version: Version) {
    let server = Server::quiet(version).await;
    let to = server.url();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("disk")).unwrap();
    std::fs::write(folder.path().join("all.ndjson"), lines(DOCS)).unwrap();
    std::fs::write(folder.path().join("a.ndjson"), lines(3)).unwrap();
    std::fs::write(folder.path().join("latin1.csv"), b"id,n\xe4me\n1,2\n").unwrap();
    let loaded = run(folder.path(), &format!("load all.ndjson --index local_first-a --id id --to {to}"));
    assert!(loaded.status.success(), "{loaded:?}");
    server.send("PUT", "/local_first-a/_alias/local_first", json!({})).await;
    let before = contents(&server).await;
    let repository = folder.path().join("repository");
    let commands = [
        "load a.ndjson --index local_first-a --recreate --yes --id id".to_owned(),
        "load a.ndjson --index local_first-new --id id".to_owned(),
        "load a.ndjson --alias local_first --delete-old --id id".to_owned(),
        format!("bake a.ndjson --index local_first-baked --id id --repository-path {}", repository.display()),
    ];
    for command in &commands {
        for option in ["--state disk/s", "--dead-letters disk/d", "--trace disk/t", "--report disk/r.html"] {
            // A bake writes its state when it knows that the target can read the repository.
            if command.starts_with("bake") && option.starts_with("--state") {
                continue;
            }
            let line = format!("{command} {option} --to {to}");
            let Some(output) = run_on_full_disk(folder.path(), &line) else { return };
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("No space left on device"), "{line}: {text}");
            // A bake has no status of its own for what is refused.
            assert!(matches!(output.status.code(), Some(1 | 2)), "{line}: {:?}: {text}", output.status);
            assert_eq!(contents(&server).await, before, "{line}: {text}");
            assert_eq!(server.count("local_first-a").await, DOCS, "{line}");
        }
        let line = format!("{} --to {to}", command.replace("a.ndjson", "latin1.csv"));
        let output = run(folder.path(), &line);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("--charset") && !text.contains("--resume"), "{line}: {text}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{line}: {:?}: {text}", output.status);
        assert_eq!(contents(&server).await, before, "{line}: {text}");
    }
    // Nothing is left that it would have to wait for.
    let output = run(folder.path(), &format!("{} --to {to}", commands[0]));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !text.contains("heartbeat"), "{text}");
    assert_eq!(server.count("local_first-a").await, 3);
    server.send("DELETE", "/local_first-a", Value::Null).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_on_opensearch_by_a_load_that_cannot_begin() {
    nothing_is_changed_by_a_load_that_cannot_begin(Version::OpenSearch3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_on_elasticsearch_by_a_load_that_cannot_begin() {
    nothing_is_changed_by_a_load_that_cannot_begin(Version::Elasticsearch8).await;
}
