//! A server on which something waits for ever: the binary ends within its limits and says why, and
//! a SIGTERM ends it at once.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::program;
use crate::server::{self, Server, Version};

/// A run that takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);
/// No node has this attribute.
const NOWHERE: &str = r#"{"index.routing.allocation.require.box": "hot"}"#;
/// The second shard has no node, which only the server knows.
const CROWDED: &str = r#"{"number_of_shards": 2, "index.routing.allocation.total_shards_per_node": 1}"#;

struct Scene {
    server: Server,
    folder: PathBuf,
}

impl Scene {
    async fn new() -> Scene {
        let folder = server::folder();
        let shared = folder.join("shared");
        server::make_shared(&shared);
        let settings = vec![("path.repo".to_owned(), format!("{shared:?}"))];
        let server =
            Server::own_with(Version::OpenSearch3, 1, |spec| (spec.heap_mib, spec.settings) = (600, settings)).await;
        let lines: String = (0..300).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
        for (name, text) in [("docs.ndjson", lines.as_str()), ("nowhere.json", NOWHERE), ("crowded.json", CROWDED)] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        Scene { server, folder }
    }

    fn command(&self, verb: &str, index: &str, more: &[&str]) -> Command {
        let mut command = Command::from(program::inrush());
        command.args([verb, "docs.ndjson", "--to", &self.server.url(), "--index", index, "--id", "id"]);
        if verb == "bake" {
            command.args(["--engine", "native", "--repository-path", "shared"]);
        }
        command.args(["--grace", "5s"]).args(more).current_dir(&self.folder);
        command.env("XDG_STATE_HOME", self.folder.join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Runs it to its end, and returns its status and what it says on stderr.
    async fn run(&self, verb: &str, index: &str, more: &[&str]) -> (Option<i32>, String) {
        let ended = timeout(HANGS, self.command(verb, index, more).output()).await.expect("it hangs");
        let Output { status, stderr, .. } = ended.unwrap();
        (status.code(), String::from_utf8_lossy(&stderr).into_owned())
    }

    /// Sends a SIGTERM when it says these words.
    async fn terminated(&self, verb: &str, index: &str, more: &[&str], words: &str) -> (Option<i32>, String) {
        let mut child = self.command(verb, index, more).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        let ended = async {
            while !text.contains(words) {
                assert!(stderr.read_line(&mut text).await.unwrap() > 0, "it ended before: {text}");
            }
            let pid = Pid::from_raw(child.id().unwrap() as i32).unwrap();
            kill_process(pid, Signal::TERM).unwrap();
            stderr.read_to_string(&mut text).await.unwrap();
            child.wait().await.unwrap().code()
        };
        let code = timeout(HANGS, ended).await;
        (code.unwrap_or_else(|_| panic!("a SIGTERM does not end it")), text)
    }

    async fn cluster(&self, setting: &str, value: Value) {
        self.server.send("PUT", "/_cluster/settings", json!({"transient": {setting: value}})).await;
    }

    /// Neither the index nor a repository is there.
    async fn untouched(&self, index: &str) {
        let found = self.server.client.json("GET", &format!("/{index}"), Value::Null).await.unwrap();
        assert_eq!(found.status, 404, "{}", found.json());
        assert_eq!(self.server.send("GET", "/_snapshot", Value::Null).await, json!({}));
    }
}

fn says(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_and_a_bake_without_a_node_end_and_say_why() {
    let scene = Scene::new().await;
    let [settings, crowded] = [["--settings", "nowhere.json"], ["--settings", "crowded.json"]];
    let nowhere = "none of the 1 data nodes meets index.routing.allocation.require.box hot";
    for verb in ["load", "bake"] {
        let (code, text) = scene.run(verb, "nowhere", &[&settings[..], &["--quiet"]].concat()).await;
        says(&text, &[nowhere]);
        assert!(matches!(code, Some(1 | 2)), "{text}");
        scene.untouched("nowhere").await;
    }

    scene.cluster("cluster.routing.allocation.enable", json!("none")).await;
    for verb in ["load", "bake"] {
        let (_, text) = scene.run(verb, "off", &["--pause-for", "1s", "--quiet"]).await;
        says(&text, &["after a wait of 1 s (--pause-for)", "cluster.routing.allocation.enable is none"]);
        scene.untouched("off").await;
    }
    let waits = "waiting up to 600 s before off is made";
    let (code, text) = scene.terminated("load", "off", &[], waits).await;
    assert_eq!(code, Some(130), "{text}");
    scene.cluster("cluster.routing.allocation.enable", Value::Null).await;

    // What only the server knows shows later.
    let too_many = "too many shards";
    let (code, text) = scene.run("load", "crowded", &[&crowded[..], &["--pause-for", "1s"]].concat()).await;
    says(&text, &["stopped after a pause of 1 s: crowded is red: a primary shard is not assigned: shard", too_many]);
    assert_eq!(code, Some(1), "{text}");
    let (code, text) = scene.terminated("load", "crowded", &[], "crowded is red").await;
    assert_eq!(code, Some(130), "{text}");

    let (code, text) = scene.run("bake", "baked", &[&crowded[..], &["--pause-for", "1s", "--quiet"]].concat()).await;
    says(&text, &["baked: no node for shard", too_many, "still after 1 s (--pause-for)"]);
    assert_eq!(code, Some(1), "{text}");
    scene.untouched("baked").await;
    let (code, text) = scene.terminated("bake", "baked", &crowded, "baked: no node for shard").await;
    assert_eq!(code, Some(130), "{text}");
    scene.untouched("baked").await;
    scene.server.stop().await;
    std::fs::remove_dir_all(scene.folder).unwrap();
}
