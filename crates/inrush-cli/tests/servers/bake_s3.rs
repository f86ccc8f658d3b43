//! A bake through a repository of the type `s3`: OpenSearch with its plugin on both sides
//! (`scripts/s3-plugin.sh`), or on one side only and no builder, and a real S3 server.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use inrush_testbed::users;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::s3_server::{KEY, S3, SECRET};
use crate::server::{self, Server, Version};
use crate::{bake_elsewhere, program};

const DOCS: u64 = 20_000;
/// Documents whose file in the index is written in several parts.
const LARGE_DOCS: u64 = 40;
/// The prefix of another program's snapshots.
const BASE: &str = "backups/of-search";

/// A target with a repository `backups` on S3, and documents to bake.
struct Scene {
    s3: S3,
    server: Server,
    folder: PathBuf,
}

impl Scene {
    async fn start() -> Scene {
        let s3 = S3::start();
        let folder = server::folder();
        std::fs::create_dir_all(&folder).unwrap();
        let home = folder.join("home");
        let mut plugin = Command::new("../../scripts/s3-plugin.sh").arg(&home).stdin(Stdio::piped()).spawn().unwrap();
        plugin.stdin.take().unwrap().write_all(format!("{KEY}\n{SECRET}\n").as_bytes()).unwrap();
        assert!(plugin.wait().unwrap().success(), "the plugin cannot be installed");
        let mut lines = String::new();
        for n in 0..DOCS {
            writeln!(lines, "{{\"id\":\"i{n}\",\"n\":{n},\"text\":\"words {} {}\"}}", n * 7919, n * n).unwrap();
        }
        std::fs::write(folder.join("documents.ndjson"), lines).unwrap();
        std::fs::write(folder.join("large.ndjson"), (0..LARGE_DOCS).map(large).collect::<String>()).unwrap();
        let mapping = r#"{"properties":{"id":{"type":"keyword"},"n":{"type":"long"},"text":{"type":"text"},"large":{"type":"text","index":false}}}"#;
        std::fs::write(folder.join("mapping.json"), mapping).unwrap();
        let settings = s3_settings(&s3.endpoint);
        let target = Server::own_with(Version::OpenSearch3, 2, |spec| {
            (spec.heap_mib, spec.home, spec.settings) = (600, Some(home), settings);
            spec.folder = folder.join("node");
        });
        let server = target.await;
        let scene = Scene { s3, server, folder };
        let settings = json!({"bucket": "data", "base_path": BASE});
        scene.send("PUT", "/_snapshot/backups", json!({"type": "s3", "settings": settings})).await;
        scene.send("PUT", "/old/_doc/1?refresh=true", json!({"n": 1})).await;
        let old = json!({"indices": "old", "include_global_state": false});
        scene.send("PUT", "/_snapshot/backups/mine?wait_for_completion=true", old).await;
        scene
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        self.server.send(method, path, body).await
    }

    fn plain(&self, arguments: &[&str]) -> Command {
        let mut command = program::inrush();
        command.current_dir(&self.folder).env("XDG_STATE_HOME", self.folder.join("state")).args(arguments);
        // No credentials but those that a test gives.
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn inrush(&self, arguments: &[&str]) -> Command {
        let mut command = self.plain(arguments);
        command.args(["documents.ndjson", "--index", "flights", "--id", "id", "--to", &self.server.url()]);
        command
    }

    fn bake(&self, endpoint: &str) -> Command {
        let mut command = self.inrush(&["bake", "--replicas", "0", "--repository", "backups", "--json"]);
        command.args(["--shards", "2"]).args(builder(endpoint));
        command
    }

    /// A bake without a builder.
    fn native(&self, source: &str, index: &str) -> Command {
        let mut command = self.engine("native");
        command.args([source, "--index", index]);
        command
    }

    fn engine(&self, engine: &str) -> Command {
        let mut command = self.without_options(engine);
        command.args(["--build-memory", "16MiB"]);
        let endpoint = format!("endpoint={}", self.s3.endpoint);
        for option in [endpoint.as_str(), "region=us-east-1", "allow_http=true"] {
            command.args(["--repository-option", option]);
        }
        command
    }

    /// A bake that does not say how the object store is reached.
    fn without_options(&self, engine: &str) -> Command {
        let mut command = self.plain(&["bake", "--engine", engine, "--id", "id", "--to", &self.server.url()]);
        command.args(["--mapping", "mapping.json", "--replicas", "0", "--json"]);
        command.args(["--repository", "backups", "--shards", "2"]);
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command
    }

    /// What a bake has written down.
    fn saved(&self) -> Value {
        let files = std::fs::read_dir(self.folder.join("state/inrush/bakes")).into_iter().flatten().flatten();
        let file = files.map(|file| file.path()).find(|path| path.extension().is_some_and(|e| e == "json"));
        let text = file.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Kills a bake at a moment that its record tells.
    async fn killed_when(&self, mut bake: Command, moment: fn(&Value) -> bool) {
        let mut child = bake.spawn().unwrap();
        let mut look = tokio::time::interval(Duration::from_millis(2));
        while !moment(&self.saved()) {
            if child.try_wait().unwrap().is_some() {
                let output = child.wait_with_output().unwrap();
                panic!("it ended before: {} {}", String::from_utf8_lossy(&output.stderr), self.saved());
            }
            look.tick().await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Parts of objects that are not whole, as the S3 server keeps them.
    fn unfinished(&self) -> usize {
        let parts = self.s3.folder.path().join("root/data/.sgwtmp/multipart");
        std::fs::read_dir(parts).into_iter().flatten().count()
    }

    /// Names of objects, of bakes and of others.
    fn objects(&self) -> (Vec<String>, Vec<String>) {
        let mut names = Vec::new();
        let mut folders = vec![self.s3.folder.path().join("root/data")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { names.push(path.display().to_string()) }
            }
        }
        names.into_iter().partition(|name| name.contains("inrush-bake"))
    }

    async fn is_complete(&self, output: &Output) {
        self.is_handed_over(output).await;
        let verify = self.inrush(&["verify"]).output().unwrap();
        assert!(verify.status.success(), "{}", String::from_utf8_lossy(&verify.stdout));
    }

    async fn is_handed_over(&self, output: &Output) {
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{text}{errors}");
        assert!(!errors.contains(SECRET) && !text.contains(SECRET));
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&report["bake"]["handed_over"], &report["bake"]["left"]), (&json!(true), &json!([])), "{report}");
        self.is_as_before().await;
    }

    /// The repository that was there is, and no other one; the snapshot in it can be read.
    async fn is_as_before(&self) {
        let repositories = self.send("GET", "/_snapshot", Value::Null).await;
        assert_eq!(repositories.as_object().unwrap().keys().collect::<Vec<_>>(), ["backups"]);
        let mine = self.send("GET", "/_snapshot/backups/mine", Value::Null).await;
        assert_eq!(mine["snapshots"][0]["state"], "SUCCESS", "{mine}");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What cannot be deleted does no harm in a folder for temporary files.
        self.server.kill();
        let _ = users::delete(&self.folder);
    }
}

/// A document with text that does not become smaller.
fn large(n: u64) -> String {
    let mut state = n + 1;
    let mut text = String::new();
    while text.len() < 1 << 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(text, "{:08x}", state >> 32).unwrap();
    }
    format!("{{\"id\":\"l{n}\",\"large\":\"{text}\"}}\n")
}

/// The options of a builder that writes to the store.
fn builder(endpoint: &str) -> Vec<String> {
    let settings = s3_settings(endpoint).into_iter();
    let settings = settings.map(|(name, value)| format!("--builder-setting={name}={}", value.trim_matches('"')));
    ["--builder-home=home", "--builder-heap=600m"].map(str::to_owned).into_iter().chain(settings).collect()
}

fn s3_settings(endpoint: &str) -> Vec<(String, String)> {
    [("endpoint", endpoint), ("region", "us-east-1"), ("path_style_access", "true")]
        .map(|(name, value)| (format!("s3.client.default.{name}"), format!("\"{value}\"")))
        .to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn through_s3() {
    let scene = Scene::start().await;
    let (_, before) = scene.objects();
    shards_elsewhere(&scene).await;
    without_a_builder(&scene).await;
    let (ours, others) = scene.objects();
    assert_eq!((ours, others), (Vec::new(), before.clone()), "nothing is left, and nothing was touched");
    let mut by_a_server = scene.without_options("server");
    by_a_server.args(builder(&scene.s3.endpoint));
    in_the_middle_of_an_object(&scene, by_a_server).await;
    what_cannot_be_done_leaves_the_target_as_it_was(&scene).await;
    one_that_is_stopped_goes_on(&scene).await;
    let (ours, others) = scene.objects();
    assert_eq!(others, before, "what lay there was not touched");
    // The servers keep the list of the snapshots of a repository, which has become empty.
    let lists = |name: &String| name.contains("/index-") || name.ends_with("/index.latest");
    assert!(ours.iter().all(lists), "{ours:?}");
}

async fn what_cannot_be_done_leaves_the_target_as_it_was(scene: &Scene) {
    let refused = |output: Output| {
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let nowhere = refused(scene.bake("http://127.0.0.1:1").arg("--no-resume").output().unwrap());
    assert!(
        nowhere.contains("the builder cannot use the repository") && nowhere.contains("Connection refused"),
        "{nowhere}"
    );
    scene.is_as_before().await;
    let indices = scene.send("GET", "/_cat/indices?format=json&h=index", Value::Null).await;
    assert_eq!(indices, json!([{"index": "old"}]));
}

async fn one_that_is_stopped_goes_on(scene: &Scene) {
    let slow = |rate: Value| json!({"persistent": {"indices.recovery.max_bytes_per_sec": rate}});
    // A restore that lasts.
    scene.send("PUT", "/_cluster/settings", slow(json!("150kb"))).await;
    let mut child = scene.bake(&scene.s3.endpoint).spawn().unwrap();
    let mut look = tokio::time::interval(Duration::from_millis(20));
    while scene.server.client.json("GET", "/flights", Value::Null).await.unwrap().status == 404 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the index was there");
        look.tick().await;
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    scene.is_as_before().await;
    assert_eq!(scene.server.client.json("GET", "/flights", Value::Null).await.unwrap().status, 404);
    scene.send("PUT", "/_cluster/settings", slow(Value::Null)).await;
    scene.is_complete(&scene.bake(&scene.s3.endpoint).arg("--resume").output().unwrap()).await;
    scene.send("DELETE", "/flights", Value::Null).await;
}

async fn without_a_builder(scene: &Scene) {
    let gone = async |index: &str| {
        assert_eq!(scene.server.client.json("GET", &format!("/{index}"), Value::Null).await.unwrap().status, 404);
        scene.is_as_before().await;
    };
    // Without credentials nothing begins; `auto` would take a server.
    let mut bare = scene.native("documents.ndjson", "flights");
    let output = bare.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && errors.contains("credentials"), "{errors}");
    gone("flights").await;
    let mut auto = scene.engine("auto");
    auto.args(["documents.ndjson", "--index", "flights", "--dry-run"]).env("AWS_SECRET_ACCESS_KEY", "wrong");
    let output = auto.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("a server builds it, because"), "{text}");
    // It goes on after a kill. `bake_kill` has those after all other steps.
    let moments: [fn(&Value) -> bool; 2] = [|saved| !saved["loaded"].is_null(), |saved| saved["restoring"] == true];
    let bake = |resume: bool| {
        let mut bake = scene.native("documents.ndjson", "flights");
        bake.args(if resume { &["--resume"][..] } else { &[] });
        bake
    };
    for (n, moment) in moments.into_iter().enumerate() {
        scene.killed_when(bake(n > 0), moment).await;
    }
    scene.is_complete(&bake(true).output().unwrap()).await;
    scene.send("DELETE", "/flights", Value::Null).await;
    // How the store is reached is known from the first run.
    let mut resumed = scene.without_options("native");
    resumed.arg("--resume");
    in_the_middle_of_an_object(scene, resumed).await;
}

/// A bake that is cut off while it writes an object in parts: `next` goes on, or takes its place
/// and leaves nothing of it.
async fn in_the_middle_of_an_object(scene: &Scene, mut next: Command) {
    let cut_off = scene.native("large.ndjson", "large");
    scene.killed_when(cut_off, |saved| !saved["build"]["native"]["upload"].is_null()).await;
    assert!(!scene.saved().to_string().contains(SECRET));
    println!("{} uploads were cut off", scene.unfinished());
    next.args(["large.ndjson", "--index", "large"]);
    scene.is_handed_over(&next.output().unwrap()).await;
    assert_eq!(scene.send("GET", "/large/_count", Value::Null).await["count"], LARGE_DOCS);
    assert_eq!(scene.unfinished(), 0, "{next:?}");
    scene.send("DELETE", "/large", Value::Null).await;
}

/// Shards are built in a process that has the credentials in its environment.
async fn shards_elsewhere(scene: &Scene) {
    let before = (scene.objects(), 0);
    let mut bake = Command::new(std::env::current_exe().unwrap());
    bake.args(["--exact", "--ignored", "--nocapture", "bake_s3::in_a_process_with_credentials"]).stdin(Stdio::null());
    bake.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET).env("AWS_EC2_METADATA_DISABLED", "true");
    let options = json!({"repository": "backups", "repository_option":
        [format!("endpoint={}", scene.s3.endpoint), "region=us-east-1", "allow_http=true"]});
    let options = bake_elsewhere::options(&scene.server.url(), &scene.folder.join("state/elsewhere"), options);
    let output = bake.env(bake_elsewhere::OPTIONS, Value::Object(options).to_string()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let report = text.lines().find_map(|line| line.strip_prefix(REPORT)).unwrap();
    bake_elsewhere::check(&serde_json::from_str(report).unwrap(), &scene.server).await;
    scene.is_as_before().await;
    assert_eq!((scene.objects(), scene.unfinished()), before, "nothing is left");
    scene.send("DELETE", "/flights", Value::Null).await;
}

const REPORT: &str = "report: ";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test runs it, with credentials"]
async fn in_a_process_with_credentials() {
    let Ok(options) = std::env::var(bake_elsewhere::OPTIONS) else { return };
    let options: Value = serde_json::from_str(&options).unwrap();
    let report = bake_elsewhere::bake(options.as_object().cloned().unwrap()).await;
    println!("{REPORT}{}", serde_json::to_string(&report).unwrap());
}
