//! `inrush convert` as its users see it, and a load of what it has written.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use inrush_testbed::{FakeCluster, FakeConfig};

fn inrush(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inrush"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).env("XDG_STATE_HOME", folder.join("state"));
    command.output().unwrap()
}

fn check(output: &Output, code: i32) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout: {stdout}\nstderr: {stderr}");
    format!("{stdout}{stderr}")
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ndjson"), text).unwrap();
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.retain(|name| name != "state");
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_converted_to_smile_loads_again() {
    let folder = folder("{\"id\":1,\"n\":1.50}\n{\"id\":2,\"t\":\"two\"}\n");
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let said = check(&inrush(folder.path(), &["convert", "a.ndjson", "a.smile"]), 0);
    assert!(said.starts_with("2 documents converted: "), "{said}");
    let url = fake.url();
    for encoding in ["json", "smile"] {
        let arguments = ["load", "a.smile", "--index", encoding, "--id", "id", "--to", &url, "--encoding", encoding];
        let said = check(&inrush(folder.path(), &arguments), 0);
        assert!(said.contains(&format!("--encoding {encoding} --compression none ({encoding} as given)")), "{said}");
        let stored: Vec<String> = fake.documents(encoding).iter().map(|document| document.json().to_string()).collect();
        assert_eq!(stored, [r#"{"id":1,"n":1.5}"#, r#"{"id":2,"t":"two"}"#]);
    }
}

#[test]
fn a_file_that_is_no_whole_one_is_not_left() {
    let folder = folder("{\"a\":1}\n{\"a\":{}}\n");
    let said = check(&inrush(folder.path(), &["convert", "a.ndjson", "a.csv"]), 1);
    assert!(said.contains("a.ndjson row 2: field `a` is an object"), "{said}");
    assert_eq!(files(folder.path()), ["a.ndjson"]);
    let said = check(&inrush(folder.path(), &["convert", "a.ndjson", "b.bulk", "--json"]), 0);
    assert!(said.contains("\"docs\":2"), "{said}");
    let body = std::fs::read_to_string(folder.path().join("b.bulk")).unwrap();
    assert_eq!(body, "{\"index\":{}}\n{\"a\":1}\n{\"index\":{}}\n{\"a\":{}}\n");
    let said = check(&inrush(folder.path(), &["convert", "a.ndjson", "-", "--out-format", "ndjson"]), 0);
    assert!(said.starts_with("{\"a\":1}\n"), "{said}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let folder = folder("{}\n");
    for (arguments, expected) in [
        (&["convert", "a.ndjson", "b.gz"][..], "does not tell the format"),
        (&["convert", "-", "b.csv"], "save it to a file first"),
        (&["convert", "none.ndjson", "b.smile"], "none.ndjson"),
        (&["convert", "a.ndjson", "b.smile", "--id", "x"], "--id is for bulk bodies"),
        (&["convert", "a.ndjson", "b.bulk", "--action", "delete"], "--id FIELD"),
        (&["convert", "a.ndjson", "-", "--out-format", "smile", "--json"], "name a file"),
    ] {
        let said = check(&inrush(folder.path(), arguments), 2);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert_eq!(files(folder.path()), ["a.ndjson"]);
}
