//! Tests in a process of their own: all tests of an executable share environment, stdin and peak of
//! memory.

use std::process::Command;

/// The test that a process is for. Set in that process only.
const TEST: &str = "INRUSH_TEST_OWN_PROCESS";

/// A command that runs the calling test again, alone in its process; `None` in that process.
/// `module`: the caller's `module_path!()`.
pub fn command(module: &str, test: &str) -> Option<Command> {
    let (_executable, module) = module.split_once("::").expect("tests are in modules");
    let test = format!("{module}::{test}");
    if std::env::var_os(TEST).is_some_and(|own| own.to_str() == Some(&test)) {
        return None;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &test, "--nocapture"]).env(TEST, test);
    Some(command)
}

/// Runs the calling test again, alone in a process of its own, and fails if it fails there. Returns
/// false in that process.
#[track_caller]
pub fn has_passed(module: &str, test: &str) -> bool {
    match command(module, test) {
        Some(command) => {
            passes(command);
            true
        }
        None => false,
    }
}

/// Runs a [`command`] to its end and fails with its output if the test fails there.
#[track_caller]
pub fn passes(mut command: Command) {
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{}: {stdout}{stderr}", output.status);
}
