//! `inrush convert` as its users see it, and a load of what it has written.

use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;

use crate::common::{check, fake, inrush, run};

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
    let folder = folder("{\"a\":1}\n{\"a\":{},\"a\":2}\n");
    let said = says(folder.path(), &["convert", "a.ndjson", "a.csv"], 1).await;
    assert!(said.contains("a.ndjson row 2: field `a` occurs twice"), "{said}");
    assert_eq!(files(folder.path()), ["a.ndjson"]);
    let said = says(folder.path(), &["convert", "a.ndjson", "b.bulk", "--json"], 0).await;
    assert!(said.contains("\"docs\":2"), "{said}");
    let body = std::fs::read_to_string(folder.path().join("b.bulk")).unwrap();
    assert_eq!(body, "{\"index\":{}}\n{\"a\":1}\n{\"index\":{}}\n{\"a\":{},\"a\":2}\n");
    let said = says(folder.path(), &["convert", "a.ndjson", "-", "--out-format", "ndjson"], 0).await;
    assert!(said.starts_with("{\"a\":1}\n"), "{said}");
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let folder = folder("{}\n");
    for (arguments, expected) in [
        (&["convert", "a.ndjson", "b.gz"][..], "the format cannot be derived"),
        (&["convert", "a.ndjson", "b.parquet.gz"], "compressed already"),
        (&["convert", "a.ndjson", "b.bulk", "--id-as", "x"], "action lines have the ids"),
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

/// Documents of a pipe become a table, and a row without a value is told.
#[tokio::test]
async fn stdin_becomes_a_table() {
    let folder = folder("{}\n");
    for (out, expected) in [("b.csv", "a\n1\n\n"), ("-", "a\n1\n\n")] {
        let arguments = ["convert", "-", out, "--format", "ndjson", "--out-format", "csv"];
        let mut command = inrush(folder.path(), &arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"{\"a\":1}\n{\"a\":null}\n").await.unwrap();
        let (stdout, stderr) = check(&child.wait_with_output().await.unwrap(), 0);
        assert!(stderr.contains("the only column, are empty lines"), "{stderr}");
        let written = if out == "-" { stdout } else { std::fs::read_to_string(folder.path().join(out)).unwrap() };
        assert_eq!(written, expected, "{out}");
    }
    assert_eq!(files(folder.path()), ["a.ndjson", "b.csv"]);
}

/// An index goes to a file of each format, and from there into another index with the same ids.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_written_to_files_and_loaded_again() {
    let documents = "{\"k\":\"a/1\",\"n\":1,\"o\":{\"x\":[1,2]}}\n{\"k\":\"b\",\"n\":2}\n{\"k\":\"c\",\"n\":3}\n";
    let folder = folder(documents);
    let fake = fake([]).await;
    let url = fake.url();
    says(folder.path(), &["load", "a.ndjson", "--index", "old", "--id", "k", "--to", &url], 0).await;
    let old = format!("{url}/old");
    let sorted = |index: &str| {
        let found = fake.documents(index);
        let mut found: Vec<_> = found.iter().map(|found| (found.id.clone(), found.json().clone())).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    };
    for (out, flags, load) in [
        ("out.bulk", &[][..], &[][..]),
        ("out.bulk.gz", &[], &[]),
        ("out.ndjson.zst", &["--id-as", "the_id"], &["--id", "the_id", "--drop", "the_id"]),
        ("out.smile", &["--id-as", "the_id"], &["--id", "the_id", "--drop", "the_id"]),
        ("out.parquet", &["--id-as", "the_id"], &["--id", "the_id", "--drop", "the_id"]),
    ] {
        let said = says(folder.path(), &[&["convert", &old, out], flags].concat(), 0).await;
        assert!(said.contains("3 documents converted"), "{out}: {said}");
        let index = out.replace('.', "-");
        says(folder.path(), &[&["load", out, "--index", &index, "--to", &url], load].concat(), 0).await;
        assert_eq!(sorted(&index), sorted("old"), "{out}");
    }
    let said = says(folder.path(), &["convert", &old, "q.csv", "--query", r#"{"term":{"k":"b"}}"#, "--json"], 0).await;
    assert!(said.contains("\"docs\":1"), "{said}");
    assert_eq!(std::fs::read_to_string(folder.path().join("q.csv")).unwrap(), "k,n\nb,2\n");
    let said = says(folder.path(), &["convert", &format!("{url}/none"), "none.csv"], 2).await;
    assert!(said.contains("none"), "{said}");
    assert!(!files(folder.path()).iter().any(|name| name.contains("none") || name.contains("tmp")));
}

/// Documents of several indices with one id stay apart, and errors name documents by their ids.
#[tokio::test(flavor = "multi_thread")]
async fn ids_of_several_indices_stay_apart_and_are_named() {
    let folder = folder("{\"k\":\"x\",\"v\":1}\n");
    let fake = fake([]).await;
    let url = fake.url();
    for (index, text) in [("c-1", "{\"k\":\"x\",\"v\":1}\n"), ("c-2", "{\"k\":\"x\",\"v\":{\"w\":2}}\n")] {
        std::fs::write(folder.path().join("a.ndjson"), text).unwrap();
        says(folder.path(), &["load", "a.ndjson", "--index", index, "--id", "k", "--to", &url], 0).await;
    }
    let both = format!("{url}/c-*");
    for (out, flags) in [("out.bulk", &[][..]), ("out.ndjson", &["--id-as", "_id"])] {
        says(folder.path(), &[&["convert", &both, out, "--index-in-id"], flags].concat(), 0).await;
        let text = std::fs::read_to_string(folder.path().join(out)).unwrap();
        assert!(text.contains("\"_id\":\"c-1:x\"") && text.contains("\"_id\":\"c-2:x\""), "{out}: {text}");
        let said = says(folder.path(), &[&["convert", &both, out], flags].concat(), 0).await;
        assert!(said.contains("--index-in-id"), "{out}: {said}");
    }
    let said = says(folder.path(), &["convert", &both, "out.csv", "--index-in-id"], 2).await;
    assert!(said.contains("--id-as FIELD"), "{said}");
    let said = says(folder.path(), &["convert", &both, "out.bulk", "--index-in-id", "--id", "k"], 2).await;
    assert!(said.contains("--index-in-id"), "{said}");
    let said = says(folder.path(), &["convert", &both, "taken.ndjson", "--id-as", "k"], 1).await;
    assert!(said.contains("document \"x\": the document has a field `k` already"), "{said}");
}

/// Each format has the fields and names that a load would send. Ids and routing values of bulk
/// bodies are those of fields by either name.
#[tokio::test]
async fn documents_are_changed_as_those_of_a_load_are() {
    let folder = folder("");
    let text = "Order No.,who,when\n1,x,31.12.2025 13:55\n2,y,01.07.2026 07:00\n";
    std::fs::write(folder.path().join("o.csv"), text).unwrap();
    let change = ["--rename", "Order No.=no", "--timestamp", "when", "--time-zone", "Europe/Berlin", "--drop", "who"];
    let first = r#"{"no":1,"@timestamp":"2025-12-31T13:55:00+01:00"}"#;
    let second = r#"{"no":2,"@timestamp":"2026-07-01T07:00:00+02:00"}"#;
    for (format, more, expected) in [
        ("ndjson", &[][..], format!("{first}\n{second}\n")),
        ("csv", &[], "no,@timestamp\n1,2025-12-31T13:55:00+01:00\n2,2026-07-01T07:00:00+02:00\n".to_owned()),
        (
            "bulk",
            &["--id", "Order No.", "--routing", "who"],
            format!(
                "{{\"index\":{{\"_id\":\"1\",\"routing\":\"x\"}}}}\n{first}\n{{\"index\":{{\"_id\":\"2\",\"routing\":\"y\"}}}}\n{second}\n"
            ),
        ),
        ("bulk", &["--id", "no", "--limit", "1"], format!("{{\"index\":{{\"_id\":\"1\"}}}}\n{first}\n")),
    ] {
        let arguments = [&["convert", "o.csv", "-", "--out-format", format][..], &change, more].concat();
        assert_eq!(says(folder.path(), &arguments, 0).await, expected, "{format}");
    }
    says(folder.path(), &[&["convert", "o.csv", "dump.parquet"][..], &change].concat(), 0).await;
    let said = says(folder.path(), &["convert", "dump.parquet", "-", "--out-format", "ndjson"], 0).await;
    assert_eq!(said, format!("{first}\n{second}\n"));
    for out in ["a.ndjson", "a.csv", "a.bulk", "parts/"] {
        let arguments = ["convert", "o.csv", out, "--only", "Order No.,wo", "--out-format", "ndjson", "--json"];
        let arguments =
            if out.contains('.') { [&arguments[..5], &arguments[7..]].concat() } else { arguments.to_vec() };
        let said = says(folder.path(), &arguments, 0).await;
        assert!(said.contains("--only wo: no document had such a field"), "{said}");
    }
    let said = says(folder.path(), &["convert", "o.csv", "parts/", "--out-format", "ndjson", "--resume"], 2).await;
    assert!(said.contains("changed: --only;"), "{said}");
    let two = "{\"a\":\"2025-01-01\"}\n{\"a\":\"never\"}\n";
    std::fs::write(folder.path().join("b.ndjson"), two).unwrap();
    let said = says(folder.path(), &["convert", "b.ndjson", "c.ndjson", "--timestamp", "a"], 1).await;
    assert!(said.contains("b.ndjson row 2: ") && said.contains("never"), "{said}");
}
