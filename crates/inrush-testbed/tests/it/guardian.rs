//! The guardian of nodes, with stand-ins for the nodes.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use inrush_testbed::guardian::Guardian;

/// Tells the test which runs again in a process of its own, that it is there.
const OWNER: &str = "INRUSH_TESTBED_OWNER";

/// A process in a group of its own, as a node is.
fn node(variable: &str, path: &Path) -> Command {
    let mut node = Command::new("sleep");
    node.arg("600").env(variable, path).stdin(Stdio::null()).process_group(0);
    node
}

/// The bit of SIGTERM in a set of signals.
const TERM: u64 = 1 << 14;

/// The signals that a process ignores.
fn ignored(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let signals = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(signals.trim(), 16).unwrap()
}

fn is_running(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_none()
}

#[test]
fn a_guardian_ends_what_belongs_to_the_tests_and_deletes_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("tests-1-");
    let path = |name: &str| folder.path().join(name);
    for config in ["tests-1-0/config", "bake/config", "other/config"] {
        std::fs::create_dir_all(path(config)).unwrap();
    }
    std::fs::write(path("bake/config/opensearch.yml"), format!("path.repo: {:?}", path("tests-1-0/shared"))).unwrap();
    std::fs::write(path("other/config/opensearch.yml"), format!("path.repo: {:?}", path("tests-10-0/shared"))).unwrap();
    let mut guardian = Guardian::new(mark.to_str().unwrap()).unwrap();
    guardian.delete(&path("tests-1-0")).unwrap();
    let spawn = |variable, at: &str| node(variable, &path(at)).spawn().unwrap();
    let mut own = spawn("OPENSEARCH_PATH_CONF", "tests-1-0/config");
    let mut baking = spawn("ES_PATH_CONF", "bake/config");
    // A program in the group of the tests, whose other processes stay.
    let program = path("tests-1-1/state");
    let mut program = Command::new("sleep").arg("600").env("XDG_STATE_HOME", program).spawn().unwrap();
    let others = [("OPENSEARCH_PATH_CONF", "other/config"), ("XDG_STATE_HOME", "tests-10-0"), ("PWD", "tests-1-0")];
    let mut others = others.map(|(variable, at)| spawn(variable, at));
    assert!(is_running(&mut own) && is_running(&mut baking) && is_running(&mut program));
    // One stands still, as a node does that a test has frozen.
    assert!(Command::new("kill").args(["-s", "STOP", &baking.id().to_string()]).status().unwrap().success());
    // They are waited for, as the system does for the processes of tests that are gone.
    let waiting = [own, baking, program].map(|mut child| std::thread::spawn(move || child.wait().unwrap()));
    drop(guardian);
    for child in waiting {
        assert!(!child.join().unwrap().success());
    }
    assert!(!path("tests-1-0").exists());
    for other in &mut others {
        assert!(is_running(other));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

/// Has a guardian and a node, and is killed.
#[test]
#[allow(clippy::print_stdout, reason = "the test that has started it waits for the line")]
fn owner() {
    let Some(mark) = std::env::var_os(OWNER) else { return };
    let guardian = Guardian::new(mark.to_str().unwrap()).unwrap();
    let mut node = node("OPENSEARCH_PATH_CONF", Path::new(&mark)).spawn().unwrap();
    println!("started");
    node.wait().unwrap();
    drop(guardian);
}

#[test]
fn a_guardian_ends_nodes_of_tests_that_were_killed() {
    let folder = tempfile::tempdir().unwrap();
    for signal in ["TERM", "KILL"] {
        let mut owner = Command::new(std::env::current_exe().unwrap());
        owner.args(["--exact", "guardian::owner", "--nocapture"]).env(OWNER, folder.path().join(signal));
        let mut owner = owner.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut output = BufReader::new(owner.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("started") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "it did not start");
        }
        let id = owner.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        owner.wait().unwrap();
        // The node holds the other end of the pipe until it is gone.
        output.read_to_string(&mut line).unwrap();
    }
}

#[test]
fn a_guardian_and_its_tests_can_get_the_same_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("tests-1-");
    let guardian = Guardian::new(mark.to_str().unwrap()).unwrap();
    let mut node = node("OPENSEARCH_PATH_CONF", &mark).spawn().unwrap();
    let node = std::thread::spawn(move || node.wait().unwrap());
    let id = guardian.id();
    while ignored(id) & TERM == 0 {
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-s", "TERM", &id.to_string()]).status().unwrap().success());
    drop(guardian);
    assert!(!node.join().unwrap().success());
}
