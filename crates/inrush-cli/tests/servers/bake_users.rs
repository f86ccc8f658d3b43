//! Bakes where the server and `inrush` are two users, with strict masks for new files on both
//! sides, by root, and into folders that only one side can use. A bake that fails leaves
//! nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use inrush_testbed::users;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::program;
use crate::server::{self, Server, Version};

const DOCS: u64 = 2_000;

/// The end of a bake.
struct Ended {
    status: Option<i32>,
    /// Null without a report.
    report: Value,
    errors: String,
}

struct Scene {
    server: Server,
    folder: PathBuf,
    title: String,
}

impl Scene {
    /// A server with this mask, which may write below a folder that belongs to the tests' user.
    async fn start(version: Version, umask: u32) -> Scene {
        let folder = server::folder();
        fs::create_dir_all(folder.join("shared")).unwrap();
        set_mode(&folder.join("shared"), 0o755);
        let settings = vec![("path.repo".to_owned(), format!("{:?}", folder.join("shared")))];
        let server = Server::own_with(version, 2, |spec| {
            (spec.heap_mib, spec.umask, spec.settings) = (600, Some(umask), settings);
        });
        let server = server.await;
        let title = format!("{}, mask {umask:03o}", server.title);
        let lines: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
        fs::write(folder.join("documents.ndjson"), lines).unwrap();
        let mapping = json!({"properties": {"id": {"type": "keyword"}, "n": {"type": "long"}}}).to_string();
        fs::write(folder.join("mapping.json"), mapping).unwrap();
        Scene { server, folder, title }
    }

    fn shared(&self) -> PathBuf {
        self.folder.join("shared")
    }

    /// A bake by the user of the tests with this mask, or by root.
    fn bake(&self, umask: u32, user: Option<&str>, index: &str, more: &[&str]) -> Command {
        let exe = env!("CARGO_BIN_EXE_inrush");
        let mut bake = match user {
            Some(user) => Command::from(program::inrush_as(user, umask)),
            None => Command::from(users::program(exe, None, Some(umask)).unwrap()),
        };
        bake.args(["bake", "documents.ndjson", "--index", index, "--id", "id", "--json", "--quiet", "--no-resume"]);
        bake.args(["--to", &self.server.url(), "--replicas", "0"]);
        if !more.contains(&"--mapping") {
            bake.args(["--mapping", "mapping.json"]);
        }
        if !more.iter().any(|option| option.starts_with("--repository")) {
            bake.args(["--repository-path", "shared"]);
        }
        bake.args(more).current_dir(&self.folder).env("XDG_STATE_HOME", self.folder.join("state"));
        bake.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        bake
    }

    async fn end(&self, mut bake: Command) -> Ended {
        let output = bake.output().await.unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Ended { status: output.status.code(), report, errors: String::from_utf8_lossy(&output.stderr).into_owned() }
    }

    /// A bake that hands its index over. Returns its report.
    async fn baked(&self, bake: Command, index: &str) -> Value {
        let Ended { status, report, errors } = self.end(bake).await;
        assert_eq!(status, Some(0), "{}: {index}: {errors}{report}", self.title);
        assert_eq!(report["bake"]["left"], json!([]), "{}: {index}: {report}", self.title);
        assert_eq!(self.server.count(index).await, DOCS, "{}: {index}", self.title);
        self.is_clean(index).await;
        report
    }

    /// A bake that is refused with these words. It leaves nothing.
    async fn refused(&self, bake: Command, index: &str, expected: &[&str]) {
        self.fails(bake, index, expected).await;
        self.is_clean(index).await;
    }

    /// A bake that ends with these words, and without an index.
    async fn fails(&self, bake: Command, index: &str, expected: &[&str]) {
        let Ended { status, report, errors } = self.end(bake).await;
        assert!(status != Some(0), "{}: {index}: {report}", self.title);
        for expected in expected {
            assert!(errors.contains(expected), "{}: {index}: {expected}: {errors}", self.title);
        }
        assert_eq!(self.server.client.json("GET", &format!("/{index}"), Value::Null).await.unwrap().status, 404);
        let left = self.server.send("GET", "/_snapshot", Value::Null).await;
        assert_eq!(left, json!({}), "{}: {index}: {errors}", self.title);
    }

    /// Nothing of a bake is left but the index.
    async fn is_clean(&self, index: &str) {
        let of = format!("{}: {index}", self.title);
        assert_eq!(self.server.send("GET", "/_snapshot", Value::Null).await, json!({}), "{of}");
        assert_eq!(names_in(&self.shared()), Vec::<String>::new(), "{of}");
        let bakes = names_in(&self.folder.join("state/inrush/bakes"));
        assert_eq!(bakes.iter().filter(|name| !name.ends_with(".lock")).count(), 0, "{of}: {bakes:?}");
    }

    async fn stop(self) {
        self.server.stop().await;
        users::delete(&self.folder).unwrap();
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A server whose files every user can read, and `inrush` with each mask.
async fn open_server(version: Version) {
    if !users::may_change_for("bake_users::open_server") {
        return;
    }
    let scene = Scene::start(version, 0o022).await;
    for umask in [0o022, 0o027, 0o077] {
        let index = format!("native-{umask:o}");
        scene.baked(scene.bake(umask, None, &index, &["--engine", "native"]), &index).await;
    }
    let by_server = ["--engine", "server", "--builder-heap", "600m"];
    scene.baked(scene.bake(0o077, None, "server", &by_server), "server").await;
    scene.baked(scene.bake(0o077, Some("root"), "root", &["--engine", "native"]), "root").await;
    // The nodes may see the folder at another path.
    std::os::unix::fs::symlink(scene.shared(), scene.folder.join("mounted")).unwrap();
    let at = scene.shared();
    let elsewhere = ["--repository-path", "mounted", "--repository-path-on-target", at.to_str().unwrap()];
    scene.baked(scene.bake(0o022, None, "elsewhere", &elsewhere), "elsewhere").await;
    scene.stop().await;
}

/// A server whose files only its own user can read: `inrush` cannot take them, so a builder is
/// used, unless root runs it or a group is common to both.
async fn closed_server(version: Version, umask: u32) {
    if !users::may_change_for("bake_users::closed_server") {
        return;
    }
    let scene = Scene::start(version, umask).await;
    let mask = format!("the file mode mask {umask:04o}");
    let native = scene.bake(0o022, None, "native", &["--engine", "native"]);
    scene.refused(native, "native", &["user nobody", "user inrush-test", &mask, "--engine server"]).await;
    let report =
        scene.baked(scene.bake(0o077, None, "auto", &["--engine", "auto", "--builder-heap", "600m"]), "auto").await;
    assert!(report["bake"]["server_because"].as_str().unwrap().contains(&mask), "{report}");
    scene.baked(scene.bake(0o077, Some("root"), "root", &["--engine", "native"]), "root").await;
    if umask & 0o040 == 0 {
        // The folder gives the files its group, which is that of the tests' user.
        set_mode(&scene.shared(), 0o2755);
        scene.baked(scene.bake(0o077, None, "group", &["--engine", "native"]), "group").await;
    }
    scene.stop().await;
}

/// What is wrong is said with the folder and both users, and nothing is left behind.
async fn leaves_nothing(version: Version, stops: u64) {
    if !users::may_change_for("bake_users::leaves_nothing") {
        return;
    }
    let scene = Scene::start(version, 0o022).await;
    let native = |index: &str, more: &[&str]| scene.bake(0o022, None, index, &[&["--engine", "native"], more].concat());
    let shared = scene.shared();
    let both = ["user nobody", "user inrush-test", shared.to_str().unwrap()];

    set_mode(&shared, 0o555);
    scene
        .refused(
            native("unwritable", &[]),
            "unwritable",
            &[&both[..], &["cannot write to", "Permission denied"]].concat(),
        )
        .await;
    set_mode(&shared, 0o700);
    scene.refused(native("closed", &[]), "closed", &[&both[..], &["cannot pass through", "chmod o+x"]].concat()).await;
    set_mode(&shared, 0o755);
    set_mode(&scene.folder, 0o700);
    let above = format!("cannot pass through {} (", scene.folder.display());
    scene.refused(native("above", &[]), "above", &[&both[..], &[&above]].concat()).await;
    set_mode(&scene.folder, 0o755);
    fs::create_dir_all(scene.folder.join("outside")).unwrap();
    scene.refused(native("outside", &["--repository-path", "outside"]), "outside", &["path.repo"]).await;
    scene.refused(native("none", &["--repository-path", "none"]), "none", &["is not a folder"]).await;
    let on_target = |path| ["--repository-path", "shared", "--repository-path-on-target", path];
    scene.refused(native("relative", &on_target("there")), "relative", &["no absolute path"]).await;
    scene.refused(native("there", &on_target("/nowhere/else")), "there", &["path.repo"]).await;
    scene.refused(native("no-repository", &["--repository", "none"]), "no-repository", &["no repository none"]).await;
    fs::write(scene.folder.join("strict.json"), r#"{"dynamic":"strict","properties":{"id":{"type":"keyword"}}}"#)
        .unwrap();
    fs::write(scene.folder.join("wrong.json"), r#"{"properties":{"n":{"type":"long","no_such":1}}}"#).unwrap();
    scene.refused(native("wrong", &["--mapping", "wrong.json"]), "wrong", &["no_such"]).await;
    scene.refused(native("errors", &["--mapping", "strict.json", "--max-errors", "1"]), "errors", &[]).await;
    let letters = names_in(&scene.folder).into_iter().filter(|name| name.starts_with("inrush-dead-letters"));
    letters.for_each(|name| fs::remove_file(scene.folder.join(name)).unwrap());

    // A disk that is full: before, and while the index is written.
    let small = scene.shared().join("small");
    fs::create_dir(&small).unwrap();
    let disk = users::SmallDisk::mount(&small, 4, "bake_users::leaves_nothing").unwrap().unwrap();
    let rest = small.join("rest");
    let fill = |bytes: usize| fs::write(&rest, vec![7; bytes]);
    let path = format!("shared/{}", small.file_name().unwrap().to_string_lossy());
    let full = || native("full", &["--repository-path", &path]);
    fill(8 << 20).unwrap_err();
    let expected = ["error[disk_full]", small.to_str().unwrap()];
    scene.fails(full(), "full", &expected).await;
    assert_eq!(names_in(&small), ["rest"]);
    fill((4 << 20) - (96 << 10)).unwrap();
    scene.fails(full(), "full", &expected).await;
    assert_eq!(names_in(&small), ["rest"]);
    drop(disk);
    fs::remove_dir(&small).unwrap();

    // Stopped at moments of all steps.
    let begun = Instant::now();
    scene.baked(native("whole", &[]), "whole").await;
    let took = begun.elapsed();
    for n in 0..stops {
        let index = format!("stopped-{n}");
        let mut child = native(&index, &[]).spawn().unwrap();
        let moment = took.mul_f64((n as f64 + 0.5) / stops as f64);
        let mut ended = tokio::time::timeout(moment, child.wait()).await.ok();
        if ended.is_none() {
            // It has not ended, so the number is still that of this process.
            kill_process(Pid::from_raw(child.id().unwrap() as i32).unwrap(), Signal::TERM).unwrap();
            ended = Some(child.wait().await);
        }
        let is_in = ended.unwrap().unwrap().success();
        let found = scene.server.client.json("GET", &format!("/{index}"), Value::Null).await.unwrap().status;
        assert_eq!(found, if is_in { 200 } else { 404 }, "{}: {index}", scene.title);
        if is_in {
            assert_eq!(scene.server.count(&index).await, DOCS, "{}: {index}", scene.title);
        }
        scene.is_clean(&index).await;
    }
    scene.stop().await;
}

/// How many bakes are stopped.
const STOPS: u64 = 10;
/// The same where the tests may take long.
const MANY_STOPS: u64 = 30;

/// On the newest server that is built for, in all ways.
mod opensearch_3_6 {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn with_an_open_server() {
        open_server(Version::OpenSearch3).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn with_a_closed_server() {
        closed_server(Version::OpenSearch3, 0o077).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn failures_leave_nothing() {
        leaves_nothing(Version::OpenSearch3, STOPS).await;
    }
}

mod elasticsearch_8_19 {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn with_a_server_open_for_its_group() {
        closed_server(Version::Elasticsearch8, 0o027).await;
    }
}

/// The others, which take long.
mod all {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn masks() {
        for version in [Version::OpenSearch2, Version::Elasticsearch8] {
            open_server(version).await;
            closed_server(version, 0o077).await;
        }
        closed_server(Version::OpenSearch3, 0o027).await;
        closed_server(Version::OpenSearch2, 0o027).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn failures() {
        for version in [Version::OpenSearch3, Version::OpenSearch2, Version::Elasticsearch8] {
            leaves_nothing(version, MANY_STOPS).await;
        }
    }
}
