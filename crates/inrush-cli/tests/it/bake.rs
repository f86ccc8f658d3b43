//! `inrush bake` with a builder against the fake cluster: dry runs, refusals, and a bake that is
//! stopped or killed while its builder starts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use inrush_fake::{FakeCluster, FakeConfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Child;

use crate::common::{self, check};

struct Scene {
    folder: TempDir,
    target: FakeCluster,
}

impl Scene {
    async fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        // Root starts builders as another user.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        for (file, text) in [
            ("home/bin/opensearch", "#!/bin/sh\nexec sleep 600\n"),
            ("home/config/jvm.options", ""),
            ("home/lib/opensearch-3.6.0.jar", ""),
            ("java/bin/java", ""),
            ("java/release", "JAVA_VERSION=\"25\""),
            ("documents.ndjson", "{\"n\":1}\n"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(folder.path().join("shared")).unwrap();
        Scene { folder, target: FakeCluster::start(FakeConfig::default()).await.unwrap() }
    }

    fn bake(&self, flags: &[&str]) -> Child {
        let url = self.target.url();
        let bake = ["bake", "documents.ndjson", "--index", "docs", "--to", &url];
        let builder = ["--repository-path", "shared", "--builder-home", "home", "--java-home", "java"];
        self.inrush(&[&bake[..], &builder, flags].concat())
    }

    fn inrush(&self, arguments: &[&str]) -> Child {
        let folder = self.folder.path();
        let mut command = common::inrush(folder, arguments);
        command.env("INRUSH_NODE_ROOT", folder.join("root")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The process of the builder that it starts.
    async fn builder(&self, bake: &mut Child, earlier: Option<u64>) -> u64 {
        loop {
            let nodes = fs::read_dir(self.folder.path().join("root/nodes")).into_iter().flatten().flatten();
            let pid = |path: &Path| {
                let node: Value = serde_json::from_slice(&fs::read(path.join("node.json")).ok()?).ok()?;
                node["pid"].as_u64()
            };
            if let Some(pid) = nodes.filter_map(|node| pid(&node.path())).find(|pid| Some(*pid) != earlier) {
                return pid;
            }
            assert_eq!(bake.try_wait().unwrap(), None, "it ended");
            tokio::task::yield_now().await;
        }
    }

    /// Stops it, and nothing is left.
    async fn stop(&self, bake: Child, builder: u64) {
        kill_process(Pid::from_raw(bake.id().unwrap().cast_signed()).unwrap(), Signal::TERM).unwrap();
        let (json, text) = check(&bake.wait_with_output().await.unwrap(), 130);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["status"], &json["exit_status"]), (&"interrupted".into(), &130.into()));
        assert!(text.contains("interrupted: nothing was loaded, and the target is in its former state\n"), "{text}");
        assert!(!is_alive(builder));
        for folder in ["shared", "root/nodes", "state/inrush/bakes"] {
            let left: Vec<_> = fs::read_dir(self.folder.path().join(folder)).unwrap().flatten().collect();
            assert!(left.is_empty(), "{folder}: {left:?}");
        }
    }
}

/// Not one that only waits to be buried.
fn is_alive(pid: u64) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| !words.is_empty())
}

#[tokio::test]
async fn a_bake_that_is_stopped_while_its_builder_starts_leaves_nothing() {
    let scene = Scene::new().await;
    let mut bake = scene.bake(&["--json"]);
    let builder = scene.builder(&mut bake, None).await;
    scene.stop(bake, builder).await;
}

#[tokio::test]
async fn what_a_killed_bake_leaves_goes_with_the_next_one() {
    let scene = Scene::new().await;
    let mut killed = scene.bake(&["--json"]);
    let left = scene.builder(&mut killed, None).await;
    killed.kill().await.unwrap();
    assert!(is_alive(left));
    let mut bake = scene.bake(&["--json"]);
    let builder = scene.builder(&mut bake, Some(left)).await;
    assert!(!is_alive(left));
    scene.stop(bake, builder).await;
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_starts_no_builder() {
    let scene = Scene::new().await;
    let job = format!(
        "mode = 'bake'\nsources = ['documents.ndjson']\nindex = 'docs'\nto = '{}'\nrepository_path = 'shared'\nbuilder_home = 'home'\n",
        scene.target.url()
    );
    fs::write(scene.folder.path().join("job.toml"), job).unwrap();
    let flags = ["--shards", "auto", "--dry-run"];
    let by_job = scene.inrush(&["load", "--job", "job.toml", "--dry-run"]);
    for bake in [scene.bake(&flags), by_job, scene.bake(&["--alias", "docs-alias", "--dry-run"])] {
        let output = bake.wait_with_output().await.unwrap();
        check(&output, 0);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("nothing was written") && text.contains("built with OpenSearch 3.6.0"), "{text}");
    }
    // What would stop the bake is a problem.
    scene.target.call("PUT", "/docs", serde_json::json!({})).unwrap();
    let output = scene.bake(&["--dry-run", "--json"]).wait_with_output().await.unwrap();
    check(&output, 4);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["problems"].to_string().contains("docs exists on the target"), "{found}");
    let writes = |request: &&inrush_fake::RequestLog| {
        let reads = ["_simulate_index", "_refresh", "_has_privileges"];
        request.method != "GET" && !reads.iter().any(|read| request.path.contains(read))
    };
    let requests = scene.target.requests();
    assert_eq!(requests.iter().filter(writes).map(|request| &request.path).collect::<Vec<_>>(), [""; 0]);
    for folder in ["root", "state"] {
        assert!(!scene.folder.path().join(folder).exists(), "{folder}");
    }
    assert_eq!(fs::read_dir(scene.folder.path().join("shared")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_stops_a_bake_is_said_before_a_builder_starts() {
    let scene = Scene::new().await;
    let (_, text) = check(&scene.bake(&["--version", "n"]).wait_with_output().await.unwrap(), 2);
    assert!(text.contains("an external version needs an id"), "{text}");
    scene.target.call("PUT", "/docs-1", serde_json::json!({"aliases": {"docs": {}}})).unwrap();
    let (_, text) = check(&scene.bake(&[]).wait_with_output().await.unwrap(), 2);
    assert!(text.contains("docs is an alias") && text.contains("--alias docs in place of --index"), "{text}");
    assert!(!scene.folder.path().join("root").exists());
}

#[tokio::test]
async fn flags_that_a_bake_has_no_use_for_are_refused() {
    let scene = Scene::new().await;
    for flags in [
        &["--query", "{}"][..],
        &["--copy-mapping"],
        &["--copy-settings"],
        &["--keep-versions"],
        &["--catch-up"],
        &["--from-user", "u"],
        &["--from-insecure"],
        &["--db-table", "t"],
        &["--split-by", "c"],
        &["--sql", "SELECT 1"],
        &["--explain"],
        &["--under-policy"],
        &["--replicas-off"],
    ] {
        let (_, text) = check(&scene.bake(flags).wait_with_output().await.unwrap(), 2);
        assert!(text.contains(flags[0]), "{text}");
    }
    assert_eq!(scene.target.requests().len(), 0);
}
