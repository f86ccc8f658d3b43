//! A bake whose parts are killed (SIGKILL) at each of its steps: the binary, the builder, the
//! target. At any time the alias points to the old index or to the new one, each with all its
//! documents. `--resume` continues the bake, and `inrush verify` finds nothing missing.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use inrush_testbed::users;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::program;
use crate::server::{self, Server, Version, on_servers};

const DOCS: u64 = 20_000;
const LOOK_EVERY: Duration = Duration::from_millis(5);

struct Scene {
    server: Server,
    folder: PathBuf,
    title: String,
}

/// What the killed bake has written down.
#[derive(Default)]
struct Seen {
    saved: Value,
    loading: bool,
}

impl Seen {
    fn has(&self, key: &str) -> bool {
        !matches!(&self.saved[key], Value::Null | Value::Bool(false))
    }

    /// The same for a bake without a builder.
    fn native_has(&self, key: &str) -> bool {
        self.saved["build"]["native"][key] == true
    }
}

/// A moment of a bake.
type Moment = (&'static str, fn(&Seen) -> bool);

const MOMENTS: [Moment; 8] = [
    ("the builder runs", |seen| seen.saved["build"]["server"]["url"].is_string()),
    ("the repository is registered", |seen| seen.has("registered")),
    ("the index is made", |seen| seen.has("made")),
    ("it is being loaded", |seen| seen.loading),
    ("it is loaded", |seen| seen.has("loaded")),
    ("the snapshot is whole", |seen| seen.has("is_built")),
    ("it is being restored", |seen| seen.has("restoring")),
    ("it is published", |seen| seen.has("published")),
];

/// The moments of a bake without a builder.
const NATIVE_MOMENTS: [Moment; 9] = [
    ("the repository for the empty index is registered", |seen| seen.native_has("registered")),
    ("the empty index is made", |seen| seen.native_has("making")),
    ("the empty index is known", |seen| seen.has("made")),
    ("its snapshot is copied", |seen| seen.native_has("copied")),
    ("documents are being written", |seen| seen.loading),
    ("they are written", |seen| seen.has("loaded")),
    ("the snapshot is whole", |seen| seen.has("is_built")),
    ("it is being restored", |seen| seen.has("restoring")),
    ("it is published", |seen| seen.has("published")),
];

impl Scene {
    async fn start(version: Version) -> Scene {
        let folder = server::folder();
        server::make_shared(&folder.join("shared"));
        let settings = vec![("path.repo".to_owned(), format!("{:?}", folder.join("shared")))];
        let lines =
            (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n},\"text\":\"words {} {}\"}}\n", n * 7919, n * n));
        std::fs::write(folder.join("documents.ndjson"), lines.collect::<String>()).unwrap();
        let target = Server::own_with(version, 2, |spec| (spec.heap_mib, spec.settings) = (600, settings));
        let server = target.await;
        let title = server.title.clone();
        let scene = Scene { server, folder, title };
        scene.send("PUT", "/old", json!({"aliases": {"flights": {}}, "settings": {"number_of_replicas": 0}})).await;
        scene.send("PUT", "/old/_doc/1?refresh=true", json!({"n": 1})).await;
        // A restore that lasts.
        let slow = json!({"persistent": {"indices.recovery.max_bytes_per_sec": "150kb"}});
        scene.send("PUT", "/_cluster/settings", slow).await;
        scene
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        self.server.send(method, path, body).await
    }

    fn inrush(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from(program::inrush());
        command.current_dir(&self.folder).env("XDG_STATE_HOME", self.folder.join("state")).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    fn bake(&self, resume: bool) -> Command {
        let mut command =
            self.inrush(&["bake", "documents.ndjson", "--alias", "flights", "--id", "id", "--replicas", "0", "--json"]);
        command.args([
            "--to",
            &self.server.url(),
            "--repository-path",
            "shared",
            "--builder-heap",
            "600m",
            "--shards",
            "2",
        ]);
        command.args(["--batch-bytes", "32KiB", "--in-flight", "2", "--max-rate", "8000docs"]);
        if resume {
            command.arg("--resume");
        }
        command
    }

    fn native(&self, resume: bool) -> Command {
        let mut command =
            self.inrush(&["bake", "documents.ndjson", "--alias", "flights", "--id", "id", "--replicas", "0", "--json"]);
        // The documents add the field `text`.
        let mapping = r#"{"properties":{"id":{"type":"keyword"},"n":{"type":"long"}}}"#;
        std::fs::write(self.folder.join("mapping.json"), mapping).unwrap();
        command.args(["--to", &self.server.url(), "--repository-path", "shared", "--engine", "native"]);
        command.args(["--mapping", "mapping.json", "--shards", "2", "--build-memory", "16MiB"]);
        command.args(["--batch-bytes", "32KiB", "--in-flight", "2", "--max-rate", "8000docs"]);
        if resume {
            command.arg("--resume");
        }
        command
    }

    fn seen(&self) -> Seen {
        let bakes = self.folder.join("state/inrush/bakes");
        let files = |folder: PathBuf| {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
            files.filter(|path| path.extension().is_some_and(|e| e == "json")).collect::<Vec<_>>()
        };
        let text = files(bakes.clone()).pop().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        let saved: Value = serde_json::from_slice(&text).unwrap_or_default();
        let load = bakes.join(format!("load-{}/checkpoints", saved["id"].as_str().unwrap_or_default()));
        let checkpoint: Option<Value> =
            files(load).pop().and_then(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok());
        let loading = checkpoint.is_some_and(|saved| saved["progress"]["counts"]["docs_read"].as_u64() > Some(0))
            || self.has_native_segments(saved["id"].as_str().unwrap_or_default());
        Seen { saved, loading }
    }

    /// Whether a bake without a builder writes documents.
    fn has_native_segments(&self, id: &str) -> bool {
        let build = self.folder.join(format!("shared/inrush-bake-{id}/build"));
        let shards = std::fs::read_dir(build).into_iter().flatten().flatten();
        shards.map(|shard| shard.path().join("_0.fdt")).any(|file| file.exists())
    }

    /// Waits for a moment of the bake. False where it ended before.
    async fn wait(&self, child: &mut Child, moment: fn(&Seen) -> bool) -> bool {
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                _ = child.wait() => return false,
                _ = look.tick() => if moment(&self.seen()) { return true },
            }
        }
    }

    /// What is known of the builder.
    async fn builder(&self) -> Value {
        let saved = self.seen().saved;
        let name = saved["build"]["server"]["name"].as_str().unwrap();
        let output = self.inrush(&["node", "status", "--json", "--name", name]).output().await.unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    async fn kill_builder(&self) {
        let pid = self.builder().await["node"]["pid"].as_i64().unwrap();
        kill_process_group(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    }

    /// Searches see the old index or the new one, as a whole.
    async fn alias_is_whole(&self, when: &str) {
        let reply = self.server.client.json("GET", "/flights/_count", Value::Null).await.unwrap().json();
        let count = reply["count"].as_u64();
        assert!(count == Some(1) || count == Some(DOCS), "{}: {when}: {reply}", self.title);
    }

    async fn is_complete(&self, output: Output) {
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {text}{errors}", self.title);
        let report: Value = serde_json::from_str(&text).unwrap();
        // What was sent before a kill is an update when it is sent again.
        assert_eq!(report["docs_indexed"], DOCS, "{}: {report}", self.title);
        assert_eq!(
            (&report["bake"]["handed_over"], &report["bake"]["left"]),
            (&json!(true), &json!([])),
            "{}: {report}",
            self.title
        );
        let url = self.server.url();
        let verify = ["verify", "documents.ndjson", "--index", "flights", "--id", "id", "--to", &url];
        let output = self.inrush(&verify).output().await.unwrap();
        assert!(output.status.success(), "{}: {}", self.title, String::from_utf8_lossy(&output.stdout));
        assert_eq!(self.type_of_text("flights").await, "text", "{}", self.title);
        assert_eq!(self.send("GET", "/_snapshot", Value::Null).await, json!({}), "{}", self.title);
        let left = std::fs::read_dir(self.folder.join("shared")).unwrap().count();
        assert_eq!(left, 0, "{}: the repository's folder is gone", self.title);
        assert!(self.seen().saved.is_null(), "{}: nothing is left to resume", self.title);
    }

    /// The type of the field `text` in the mapping of an index, or of the one behind an alias.
    async fn type_of_text(&self, index: &str) -> Value {
        let reply = self.send("GET", &format!("/{index}/_mapping"), Value::Null).await;
        let mapping = reply.as_object().unwrap().values().next().unwrap();
        mapping["mappings"]["properties"]["text"]["type"].clone()
    }

    /// Waits until a bake restores its index, and kills it. Returns the index.
    async fn killed_while_restoring(&self, mut child: Child) -> String {
        assert!(self.wait(&mut child, |seen| seen.has("restoring")).await, "{}", self.title);
        let index = self.seen().saved["index"].as_str().unwrap().to_owned();
        let mut look = tokio::time::interval(LOOK_EVERY);
        while self.server.client.json("GET", &format!("/{index}"), Value::Null).await.unwrap().status == 404 {
            look.tick().await;
        }
        child.start_kill().unwrap();
        child.wait().await.unwrap();
        index
    }

    async fn end(self) {
        self.server.stop().await;
        users::delete(&self.folder).unwrap();
    }
}

/// The binary is killed at every moment of one bake, and goes on each time.
async fn check_binary(version: Version) {
    let scene = Scene::start(version).await;
    let resumed = scene.killed_at_each(&MOMENTS, |resume| scene.bake(resume)).await;
    scene.ends_with(resumed.then(|| scene.bake(true))).await;
    scene.end().await;
}

/// The same without a builder.
async fn check_native(version: Version) {
    let scene = Scene::start(version).await;
    let resumed = scene.killed_at_each(&NATIVE_MOMENTS, |resume| scene.native(resume)).await;
    scene.ends_with(resumed.then(|| scene.native(true))).await;
    // One that is abandoned leaves nothing, whenever it was killed.
    for (name, moment) in NATIVE_MOMENTS.into_iter().take(8) {
        let mut child = scene.native(false).spawn().unwrap();
        if scene.wait(&mut child, moment).await {
            child.start_kill().unwrap();
            child.wait().await.unwrap();
        }
        println!("{}: abandoned when {name}", scene.title);
    }
    scene.ends_with(Some(scene.native(false))).await;
    // The target ends a restore alone. The index gets the new fields from the next run.
    let index = scene.killed_while_restoring(scene.native(false).spawn().unwrap()).await;
    scene.send("GET", &format!("/_cluster/health/{index}?wait_for_status=green&timeout=60s"), Value::Null).await;
    assert_eq!(scene.type_of_text(&index).await, Value::Null, "{}", scene.title);
    println!("{}: killed when it was restored, without the new fields", scene.title);
    scene.ends_with(Some(scene.native(true))).await;
    let indices = scene.send("GET", "/_cat/indices/flights*?format=json&h=index", Value::Null).await;
    // One for each bake that ended.
    assert!(indices.as_array().unwrap().len() <= 3, "{}: {indices}", scene.title);
    scene.end().await;
}

impl Scene {
    /// Kills a bake at every moment, and resumes it. Returns whether there is something left to
    /// resume.
    async fn killed_at_each(&self, moments: &[Moment], bake: impl Fn(bool) -> Command) -> bool {
        let scene = self;
        let mut killed = 0;
        for (name, moment) in moments {
            let mut child = bake(killed > 0).spawn().unwrap();
            if scene.wait(&mut child, *moment).await {
                child.start_kill().unwrap();
                child.wait().await.unwrap();
                killed += 1;
                println!("{}: killed when {name}", scene.title);
            } else {
                // Between the last two moments there may be no time.
                let output = child.wait_with_output().await.unwrap();
                let errors = String::from_utf8_lossy(&output.stderr);
                assert_eq!(*name, "it is published", "{}: it ended before {name}: {errors}", scene.title);
                assert!(output.status.success(), "{}: {errors}", scene.title);
            }
            scene.alias_is_whole(name).await;
        }
        assert!(killed >= moments.len() - 1);
        !scene.seen().saved.is_null()
    }

    /// The last run, if there is one, ends the bake.
    async fn ends_with(&self, last: Option<Command>) {
        if let Some(mut last) = last {
            let output = last.output().await.unwrap();
            self.is_complete(output).await;
        }
    }
}

/// One that is cut off and not gone on with leaves nothing behind once the next one has begun.
async fn check_abandoned(version: Version) {
    let scene = Scene::start(version).await;
    let mut child = scene.bake(false).spawn().unwrap();
    assert!(scene.wait(&mut child, |seen| seen.has("restoring")).await);
    child.start_kill().unwrap();
    child.wait().await.unwrap();
    let first = scene.seen().saved;
    let output = scene.bake(false).output().await.unwrap();
    scene.is_complete(output).await;
    let indices = scene.send("GET", "/_cat/indices?format=json&h=index", Value::Null).await;
    assert!(!indices.to_string().contains(first["index"].as_str().unwrap()), "{}: {indices}", scene.title);
    println!("{}: a bake that was abandoned left nothing", scene.title);
    scene.end().await;
}

/// The builder is killed three times during one bake, which ends by itself.
async fn check_builder(version: Version) {
    let scene = Scene::start(version).await;
    let mut child = scene.bake(false).spawn().unwrap();
    for (name, moment) in &MOMENTS[2..5] {
        if !scene.wait(&mut child, *moment).await {
            let output = child.wait_with_output().await.unwrap();
            panic!("{}: it ended before {name}: {}", scene.title, String::from_utf8_lossy(&output.stderr));
        }
        scene.kill_builder().await;
        println!("{}: the builder was killed when {name}", scene.title);
    }
    let output = child.wait_with_output().await.unwrap();
    scene.is_complete(output).await;
    scene.end().await;
}

/// The target is killed while it is not needed, and while it restores. The bake waits for it and
/// ends by itself.
async fn check_target(version: Version) {
    let mut scene = Scene::start(version).await;
    let child = scene.bake(false).spawn().unwrap();
    scene.outlives_the_target(child, &[MOMENTS[3], MOMENTS[6]]).await;
    scene.end().await;
}

/// The same without a builder, where the target makes the empty index.
async fn check_native_target(version: Version) {
    let mut scene = Scene::start(version).await;
    let child = scene.native(false).spawn().unwrap();
    scene.outlives_the_target(child, &[NATIVE_MOMENTS[1], NATIVE_MOMENTS[4], NATIVE_MOMENTS[7]]).await;
    scene.end().await;
}

impl Scene {
    async fn outlives_the_target(&mut self, mut child: Child, moments: &[Moment]) {
        for (name, moment) in moments {
            assert!(self.wait(&mut child, *moment).await, "{}: it ended before {name}", self.title);
            self.server.restart().await;
            println!("{}: the target was killed when {name}", self.title);
            self.alias_is_whole(name).await;
        }
        let output = child.wait_with_output().await.unwrap();
        self.is_complete(output).await;
    }
}

/// An interrupted bake stops its builder, and the next run continues with what was loaded.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_bake() {
    let scene = Scene::start(Version::OpenSearch3).await;
    let mut child = scene.bake(false).spawn().unwrap();
    assert!(scene.wait(&mut child, MOMENTS[3].1).await);
    kill_process(Pid::from_raw(child.id().unwrap() as i32).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(130), "{}: {}", scene.title, String::from_utf8_lossy(&output.stderr));
    scene.alias_is_whole("interrupted").await;
    let builder = scene.builder().await;
    assert_eq!(builder["state"], "stopped", "{}: {builder:?}", scene.title);
    let output = scene.bake(true).output().await.unwrap();
    scene.is_complete(output).await;
    scene.end().await;
}

/// An index that is already in use is not deleted: it was given an alias after a bake had restored
/// it and was killed.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_in_use() {
    let scene = Scene::start(Version::OpenSearch3).await;
    let index = scene.killed_while_restoring(scene.bake(false).spawn().unwrap()).await;
    let alias = |action: &str| json!({"actions": [{action: {"index": index, "alias": "mine"}}]});
    scene.send("POST", "/_aliases", alias("add")).await;
    let output = scene.bake(false).output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("the alias mine stands for it"), "{errors}");
    scene.send("GET", &format!("/{index}"), Value::Null).await;
    scene.send("POST", "/_aliases", alias("remove")).await;
    let output = scene.bake(false).output().await.unwrap();
    scene.is_complete(output).await;
    scene.end().await;
}

mod binary {
    use super::*;

    on_servers!(check_binary: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

mod native {
    use super::*;

    on_servers!(check_native: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

mod abandoned {
    use super::*;

    on_servers!(check_abandoned: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

mod builder {
    use super::*;

    on_servers!(check_builder: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

mod target {
    use super::*;

    on_servers!(check_target: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}

mod native_target {
    use super::*;

    on_servers!(check_native_target: opensearch_3_6 = OpenSearch3, opensearch_2_19 = OpenSearch2, elasticsearch_8_19 = Elasticsearch8);
}
