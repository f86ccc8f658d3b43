//! The binary as its users call it, and the cluster that it loads into.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use inrush_fake::{FakeCluster, FakeConfig, Faults, Rule};
use tempfile::TempDir;
use tokio::process::Command;

/// A program in this folder, which also holds the state of loads and nodes; without the secrets
/// that the environment of the tests may hold.
pub fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    command.env("XDG_STATE_HOME", folder.join("state")).env("INRUSH_NODE_ROOT", folder.join("nodes"));
    for secret in ["PASSWORD", "API_KEY", "BEARER", "FROM_PASSWORD", "FROM_API_KEY", "FROM_BEARER"] {
        command.env_remove(format!("INRUSH_{secret}"));
    }
    command
}

/// The binary in this folder.
pub fn inrush(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_inrush"), folder);
    command.args(arguments);
    command
}

/// The binary in this folder, to its end.
pub async fn run(folder: &Path, arguments: &[&str]) -> Output {
    inrush(folder, arguments).output().await.unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Fails unless it ended with this status. Returns stdout and stderr.
#[track_caller]
pub fn check(output: &Output, code: i32) -> (String, String) {
    let (stdout, stderr) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "stdout: {stdout}\nstderr: {stderr}");
    (stdout, stderr)
}

/// A cluster that fails in these ways.
pub async fn fake(faults: impl IntoIterator<Item = Rule>) -> FakeCluster {
    FakeCluster::start(FakeConfig::default().faults(Faults::new(faults))).await.unwrap()
}

/// A folder with one file, and the file's path.
pub fn folder_with(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// Documents with an `id` and a number.
pub fn lines(count: usize) -> String {
    (0..count).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect()
}
