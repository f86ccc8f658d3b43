//! The first commands of a new user.

use std::path::Path;

use tokio::process::Command;

use super::{check, run, stderr, stdout};

#[tokio::test]
async fn without_arguments_it_names_three_commands() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &[]).await;
    check(&output, 2);
    let said = stderr(&output);
    assert!(stdout(&output).is_empty() && said.lines().count() <= 8, "{said}");
    for command in ["inrush load FILE --index NAME --to URL", "--dry-run", "inrush doctor --self", "inrush --help"] {
        assert!(said.contains(command), "{said}");
    }
}

#[tokio::test]
async fn the_nearest_command_flag_and_value_are_suggested() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, nearest) in [
        (&["lod", "a.ndjson"][..], "'load'"),
        (&["verfy", "a.ndjson"], "'verify'"),
        (&["load", "a.ndjson", "--idnex", "t"], "'--index'"),
        (&["load", "a.ndjson", "--index", "t", "--format", "ndjsn"], "ndjson"),
        (&["node", "strat"], "'start'"),
    ] {
        let output = run(folder.path(), arguments).await;
        check(&output, 2);
        assert!(stderr(&output).contains(nearest), "{arguments:?}: {}", stderr(&output));
    }
}

#[tokio::test]
async fn doctor_tells_about_the_program_and_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["doctor", "--self"]).await;
    check(&output, 0);
    let said = stdout(&output);
    let value = |name: &str| {
        let row = said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {said}"));
        row[name.len()..].trim().to_owned()
    };
    assert_eq!(value("version"), env!("CARGO_PKG_VERSION"));
    assert!(value("has").contains("Parquet"), "{said}");
    assert!(value("local node").contains("inrush node start"), "{said}");
    assert!(value("state folder").starts_with('/'), "{said}");
    // The node's folder of the tests; names without values.
    assert!(value("environment").contains("INRUSH_NODE_ROOT") && !value("environment").contains('='), "{said}");
    check(&run(folder.path(), &["doctor"]).await, 2);
    check(&run(folder.path(), &["doctor", "--self", "http://127.0.0.1:1"]).await, 2);
}

/// The words that bash offers after these ones, the last of which is not complete.
async fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
    let script = format!(
        r#"source completions; COMP_WORDS=({}); COMP_CWORD={}; _inrush inrush "{}" "{}"; printf '%s\n' "${{COMPREPLY[@]}}""#,
        words.join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output = Command::new("bash").current_dir(folder).args(["-c", &script]).output().await.unwrap();
    stdout(&output).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn bash_completes_commands_flags_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let script = run(folder.path(), &["completions", "bash"]).await;
    check(&script, 0);
    std::fs::write(folder.path().join("completions"), &script.stdout).unwrap();
    assert_eq!(completed(folder.path(), &["inrush", "ver"]).await, ["verify"]);
    assert_eq!(completed(folder.path(), &["inrush", "load", "--dead-letters"]).await, ["--dead-letters"]);
    assert_eq!(completed(folder.path(), &["inrush", "load", "--format", "nd"]).await, ["ndjson"]);
    for (shell, part) in [("zsh", "dead-letters"), ("fish", "dead-letters"), ("powershell", "complete all")] {
        let script = run(folder.path(), &["completions", shell]).await;
        check(&script, 0);
        assert!(stdout(&script).contains(part), "{shell}");
    }
}
