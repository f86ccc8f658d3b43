//! `inrush convert` as its users see it, and a load of what it has written.

use std::path::Path;

use crate::common::{check, fake, run};

/// All that the binary says, where it ends with this status.
async fn says(folder: &Path, arguments: &[&str], code: i32) -> String {
    let (stdout, stderr) = check(&run(folder, arguments).await, code);
    stdout + &stderr
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
    let fake = fake([]).await;
    let said = says(folder.path(), &["convert", "a.ndjson", "a.smile"], 0).await;
    assert!(said.starts_with("2 documents converted: "), "{said}");
    let url = fake.url();
    for encoding in ["json", "smile"] {
        let arguments = ["load", "a.smile", "--index", encoding, "--id", "id", "--to", &url, "--encoding", encoding];
        let said = says(folder.path(), &arguments, 0).await;
        assert!(said.contains(&format!("--encoding {encoding} --compression none ({encoding} as given)")), "{said}");
        let stored: Vec<String> = fake.documents(encoding).iter().map(|document| document.json().to_string()).collect();
        assert_eq!(stored, [r#"{"id":1,"n":1.5}"#, r#"{"id":2,"t":"two"}"#]);
    }
}

#[tokio::test]
async fn a_file_that_is_no_whole_one_is_not_left() {
    let folder = folder("{\"a\":1}\n{\"a\":{}}\n");
    let said = says(folder.path(), &["convert", "a.ndjson", "a.csv"], 1).await;
    assert!(said.contains("a.ndjson row 2: field `a` is an object"), "{said}");
    assert_eq!(files(folder.path()), ["a.ndjson"]);
    let said = says(folder.path(), &["convert", "a.ndjson", "b.bulk", "--json"], 0).await;
    assert!(said.contains("\"docs\":2"), "{said}");
    let body = std::fs::read_to_string(folder.path().join("b.bulk")).unwrap();
    assert_eq!(body, "{\"index\":{}}\n{\"a\":1}\n{\"index\":{}}\n{\"a\":{}}\n");
    let said = says(folder.path(), &["convert", "a.ndjson", "-", "--out-format", "ndjson"], 0).await;
    assert!(said.starts_with("{\"a\":1}\n"), "{said}");
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let folder = folder("{}\n");
    for (arguments, expected) in [
        (&["convert", "a.ndjson", "b.gz"][..], "the format cannot be derived"),
        (&["convert", "-", "b.csv"], "save the input to a file first"),
        (&["convert", "none.ndjson", "b.smile"], "none.ndjson"),
        (&["convert", "a.ndjson", "b.smile", "--id", "x"], "--id is for bulk bodies"),
        (&["convert", "a.ndjson", "b.bulk", "--action", "delete"], "--id FIELD"),
        (&["convert", "a.ndjson", "-", "--out-format", "smile", "--json"], "name a file"),
    ] {
        let said = says(folder.path(), arguments, 2).await;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert_eq!(files(folder.path()), ["a.ndjson"]);
}
