//! Names, ids and reasons that would control the terminal, or forge a line of inrush.

use std::os::unix::fs::PermissionsExt;

use super::*;

const HOSTILE: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}\u{2028}\nresult          all documents were indexed";

/// The output has no character that controls a terminal, and no line that looks like one of inrush.
fn is_plain(output: &Output, what: &str) {
    for text in [stdout(output), stderr(output)] {
        let found = text.chars().find(|c| {
            matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
                || (c.is_control() && !matches!(c, '\n' | '\t'))
        });
        assert_eq!(found, None, "{what}: {text}");
        let forged = text.lines().skip(1).any(|line| line.starts_with("result"));
        assert!(!forged, "{what}: {text}");
    }
}

#[tokio::test]
async fn what_is_printed_cannot_drive_the_terminal() {
    let fake = fake([]).await;
    let to = fake.url();
    let folder = tempfile::tempdir().unwrap();
    let row = |id: &str, n: Value| serde_json::json!({"id": id, "n": n, HOSTILE: 1}).to_string() + "\n";
    let name = format!("{}.ndjson", HOSTILE.replace('/', "-"));
    let text = row(HOSTILE, 1.into())
        + &row("b", HOSTILE.into())
        + &row("c", serde_json::json!({HOSTILE: HOSTILE}))
        + "{\"id\u{1b}[2J\n";
    std::fs::write(folder.path().join(&name), &text).unwrap();
    let quoted: Vec<String> = (0..3).map(|n| format!("\"{}{n}\"", HOSTILE.replace('"', ""))).collect();
    std::fs::write(folder.path().join("a.csv"), format!("{},{}\n1,2\n", quoted[0], quoted[0])).unwrap();
    std::fs::write(folder.path().join("m.json"), r#"{"properties":{"n":{"type":"long"}}}"#).unwrap();
    let commands: [&[&str]; 13] = [
        &["load", &name, "--index", "docs", "--id", "id", "--to", &to, "--mapping", "m.json"],
        &["load", &name, "--index", "docs", "--id", "id", "--to", &to, "--json"],
        &["load", &name, "--index", "docs", "--id", "id", "--to", &to, "--quiet", "-vvv", "--log-json"],
        &["load", &name, "--index", "x-{id}", "--to", &to],
        &["load", &name, "--index", "docs", "--to", &to, "--dry-run"],
        &["load", &name, "--index", "auto", "--map", "auto", "--to", &to],
        &["load", "a.csv", "--index", "csv", "--to", &to],
        &["verify", &name, "--index", "docs", "--id", "id", "--to", &to],
        &["mapping", &name],
        &["convert", &name, "out.csv"],
        &["load", HOSTILE, "--index", "docs", "--to", &to],
        &["load", &name, "--index", "docs", HOSTILE, "--to", &to],
        &["doctor", HOSTILE],
    ];
    for command in commands {
        is_plain(&run(folder.path(), command).await, &command[..2].join(" "));
    }
    // JSON has the name all the same.
    let json = run(folder.path(), &["mapping", &name, "--json"]).await;
    is_plain(&json, "json");
    let found: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert!(found["mapping"]["properties"].get(HOSTILE).is_some(), "{found}");
}

#[tokio::test]
async fn a_reason_of_the_server_is_escaped() {
    let body = format!(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{{\"error\":{{\"type\":\"t\",\"reason\":{}}},\"status\":403}}",
        serde_json::Value::from(HOSTILE)
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
            let _ = stream.write_all(body.as_bytes()).await;
        }
    });
    let (folder, _) = folder_with("a.ndjson", &lines(1));
    let url = format!("{to}/docs");
    for command in [
        &["load", "a.ndjson", "--index", "docs", "--to", &to][..],
        &["verify", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to],
        &["recover", "--to", &to],
        &["doctor", &url],
        &["load", &url, "--index", "docs", "--to", &to],
    ] {
        is_plain(&run(folder.path(), command).await, command[0]);
    }
}

#[tokio::test]
async fn files_with_documents_are_their_owner_s() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).ids(["i1"])]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to];
    check(
        &run(folder.path(), &[&load[..], &["--dead-letters", "dead.ndjson", "--trace", "t.ndjson"]].concat()).await,
        3,
    );
    std::fs::write(folder.path().join("mine.ndjson"), "").unwrap();
    let chosen = PermissionsExt::from_mode(0o640);
    std::fs::set_permissions(folder.path().join("mine.ndjson"), chosen).unwrap();
    check(&run(folder.path(), &[&load[..], &["--dead-letters", "mine.ndjson"]].concat()).await, 3);
    let verify = ["verify", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--missing", "missing.ndjson"];
    check(&run(folder.path(), &verify).await, 4);
    let mode = |name| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(["dead.ndjson", "t.ndjson", "missing.ndjson", "mine.ndjson"].map(mode), [0o600, 0o600, 0o600, 0o640]);
}

#[tokio::test]
async fn a_failure_is_told_on_stderr_too() {
    let fake = fake([Rule::new(Fault::RequestUnauthorized).path("_bulk")]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let output = run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--to", &fake.url()]).await;
    check(&output, 1);
    assert!(stdout(&output).contains("why"), "{}", stdout(&output));
    assert!(
        stderr(&output).lines().any(|line| line.starts_with("error[unauthenticated]: the cluster refuses")),
        "{}",
        stderr(&output)
    );
}

#[tokio::test]
async fn a_record_that_was_never_sent_keeps_its_id_and_routing() {
    let fake = fake([]).await;
    let text = "{\"id\":\"a\",\"r\":\"x\"}\n{\"id\":\"b\"}\n{\"r\":\"x\"}\n";
    let (folder, _) = folder_with("a.ndjson", text);
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--routing", "r", "--to", &to];
    check(&run(folder.path(), &[&load[..], &["--dead-letters", "dead.ndjson"]].concat()).await, 3);
    let again = ["load", "--from-dead-letters", "dead.ndjson", "--index", "docs", "--to", &to];
    check(&run(folder.path(), &again).await, 3);
    assert_eq!(fake.documents("docs").len(), 1, "what lacks its field is refused again");
    // Corrected in the file, they go where they belong.
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    let letters = letters.replace(r#"{\"id\":\"b\"}"#, r#"{\"id\":\"b\",\"r\":\"y\"}"#);
    let letters = letters.replace(r#"{\"r\":\"x\"}"#, r#"{\"id\":\"c\",\"r\":\"x\"}"#);
    std::fs::write(folder.path().join("dead.ndjson"), letters).unwrap();
    check(&run(folder.path(), &again).await, 0);
    assert!(["a", "b", "c"].iter().all(|id| fake.document("docs", id).is_some()));
    assert_eq!(fake.documents("docs").len(), 3);
}
