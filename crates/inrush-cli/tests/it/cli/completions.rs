//! Names of the cluster for a shell that completes a command line. `scripts/completions.sh` has the
//! same in zsh and fish.

use std::net::TcpListener;
use std::path::Path;

use super::{check, fake, folder_with, lines, run, stdout};
use crate::common::command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_inrush");

/// A folder, with the indices `logs-1` and `logs-2` in the cluster at this address.
async fn with_indices(to: &str) -> tempfile::TempDir {
    let (folder, _) = folder_with("a.ndjson", &lines(2));
    for index in ["logs-1", "logs-2"] {
        check(&run(folder.path(), &["load", "a.ndjson", "--index", index, "--to", to, "--quiet"]).await, 0);
    }
    folder
}

async fn names(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(folder, &[&["complete"], arguments].concat()).await;
    check(&output, 0);
    stdout(&output).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn names_are_those_of_the_cluster_on_the_line() {
    let fake = fake([]).await;
    let to = fake.url();
    let folder = with_indices(&to).await;
    let folder = folder.path();
    let load = ["--", "load", "a.ndjson", "--to", &to, "--index"];
    assert_eq!(names(folder, &[&["index", "lo"], &load[..]].concat()).await, ["logs-1", "logs-2"]);
    assert_eq!(names(folder, &[&["index", "logs-2"], &load[..]].concat()).await, ["logs-2"]);
    for beginning in ["x", "lo*", "logs-1,"] {
        assert!(names(folder, &[&["index", beginning], &load[..]].concat()).await.is_empty(), "{beginning}");
    }
    assert!(names(folder, &[&["alias", ""], &load[..]].concat()).await.is_empty());
    assert_eq!(names(folder, &["index", "logs-1", "--", "verify", "--to", &to, "--index"]).await, ["logs-1"]);
}

#[tokio::test]
async fn all_words_of_a_line_have_their_help() {
    let fake = fake([]).await;
    let to = fake.url();
    let folder = with_indices(&to).await;
    let all = async |beginning: &str, words: &[&str]| {
        names(folder.path(), &[&["all", beginning, "--", "load", "a.ndjson", "--to", &to], words].concat()).await
    };
    assert_eq!(all("lo", &["--index"]).await, ["logs-1\tindex", "logs-2\tindex"]);
    assert_eq!(all("--index=logs-2", &[]).await, ["--index=logs-2\tindex"]);
    assert!(all("nd", &["--format"]).await[0].starts_with("ndjson\t"));
    assert!(all("--dead-letters", &[]).await[0].starts_with("--dead-letters\t"));
    assert!(names(folder.path(), &["all"]).await.iter().any(|line| line.starts_with("load\t")));
}

#[tokio::test]
async fn without_an_answer_there_are_no_names_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    // It takes connections, and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for words in [
        &["load", "--to", &silent, "--index"][..],
        &["load", "--to", "http://127.0.0.1:1", "--index"],
        &["load", "--to", "no address", "--index"],
        &["load", "--index"],
        &["load", "--to", "http://127.0.0.1:1", "--user", "u", "--password-file", "none", "--index"],
        &["fly"],
        &[],
    ] {
        let arguments = [&["index", "", "--"], words].concat();
        assert!(names(folder.path(), &arguments).await.is_empty(), "{words:?}");
    }
}

#[tokio::test]
async fn bash_completes_names() {
    let fake = fake([]).await;
    let folder = with_indices(&fake.url()).await;
    let script = run(folder.path(), &["completions", "bash"]).await;
    std::fs::write(folder.path().join("completions"), &script.stdout).unwrap();
    let completed = async |line: String, words: &[&str]| {
        let script = format!(
            r#"source completions; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({}); COMP_CWORD={};
            _inrush_or_names {} '{}' '{}'; printf '%s\n' "${{COMPREPLY[@]}}""#,
            words.iter().map(|word| format!("'{word}' ")).collect::<String>().replace("'inrush'", PROGRAM),
            words.len() - 1,
            PROGRAM,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let output = command("bash", folder.path()).args(["-c", &script]).output().await.unwrap();
        stdout(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let line = format!("inrush load a.ndjson --to {} --index", fake.url());
    assert_eq!(completed(format!("{line} lo"), &["inrush", "load", "--index", "lo"]).await, ["logs-1", "logs-2"]);
    assert_eq!(completed(format!("{line}=lo"), &["inrush", "--index", "=", "lo"]).await, ["logs-1", "logs-2"]);
    // The record of loads is an index, too.
    let all = completed(format!("{line}="), &["inrush", "load", "--index", "="]).await;
    assert_eq!(all, ["inrush-loads", "logs-1", "logs-2"]);
    assert_eq!(completed("inrush ver".to_owned(), &["inrush", "ver"]).await, ["verify"]);
}
