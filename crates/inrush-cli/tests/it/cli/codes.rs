//! The codes of errors, as the command line shows them: docs/errors.md.

use std::path::Path;

use inrush_core::Code;
use inrush_fake::{Auth, FakeCluster, FakeConfig, Fault, Rule};
use serde_json::json;

use super::{check, fake, folder_with, lines, run, stderr};

/// Runs a command, and compares the code of its error.
#[track_caller]
fn is_code(output: &std::process::Output, status: i32, code: Code, what: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(status), "{what}: {text}");
    assert!(text.lines().any(|line| line.starts_with(&format!("error[{code}]: "))), "{what}, {code}: {text}");
}

async fn ends_with(folder: &Path, command: &str, status: i32, code: Code) {
    let arguments: Vec<&str> = command.split_whitespace().collect();
    is_code(&run(folder, &arguments).await, status, code, command);
}

#[tokio::test]
async fn errors_of_the_first_hour_have_codes() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let write = |name: &str, contents: &[u8]| std::fs::write(folder.path().join(name), contents).unwrap();
    write("latin1.csv", b"a,b\n1,caf\xE9\n");
    write("ascii.ndjson", "{\"a\":\"é\"}\n".as_bytes());
    write("cut.ndjson.gz", &[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]);
    write("what.dat", b"some words\nand more\n");
    write("empty.ndjson", b"");
    write("cut.json", b"[{\"a\":1}");
    write("a.csv", b"\"a,b\n1,2\n");
    write("bad.toml", b"to = [\n");
    write("bad.json", b"{\"properties\": {\"a\": {\"type\": \"nonsense\"}}}");
    let load = |more: &str| format!("load a.ndjson --index t --to {} {more}", fake.url());
    for (command, status, code) in [
        ("lod a.ndjson".to_owned(), 2, Code::UnknownCommand),
        (load("--idnex"), 2, Code::UnknownOption),
        (load("--batch-bytes many"), 2, Code::BadOptionValue),
        ("load a.ndjson".to_owned(), 2, Code::MissingOption),
        (load("--map auto --mapping bad.json"), 2, Code::OptionsConflict),
        (load("--textfile none"), 2, Code::NoSuchFile),
        (load("--page=0.0.0.0:0"), 2, Code::UnusableValue),
        (load("--recreate"), 2, Code::NotConfirmed),
        ("load --job bad.toml".to_owned(), 2, Code::BadJobFile),
        ("load a.ndjson --index t --to ftp://a".to_owned(), 2, Code::BadAddress),
        (load("--user u"), 2, Code::BadCredentials),
        (load("--ca a.ndjson"), 2, Code::BadCertificateFile),
        (format!("load none.ndjson --index t --to {}", fake.url()), 2, Code::NoSuchFile),
        (format!("load what.dat --index t --to {}", fake.url()), 2, Code::UnknownFormat),
        (format!("load cut.ndjson.gz --index t --to {}", fake.url()), 2, Code::DamagedCompression),
        (format!("load ascii.ndjson --charset ascii --index t --to {}", fake.url()), 2, Code::BadEncoding),
        (format!("load cut.json --index t --to {}", fake.url()), 1, Code::BadSource),
        (format!("load a.csv --schema nope:string --index t --to {}", fake.url()), 2, Code::BadTable),
        (format!("load sqlite://none.db --db-table t --index t --to {}", fake.url()), 2, Code::DatabaseFailed),
        (format!("load http://127.0.0.1:1/a.csv --index t --to {}", fake.url()), 2, Code::RemoteFailed),
        ("mapping empty.ndjson".to_owned(), 1, Code::EmptySource),
        (format!("load a.ndjson --mapping bad.json --index new --to {}", fake.url()), 2, Code::MappingRejected),
        (load("--pipeline none"), 2, Code::NoPipeline),
        ("load a.ndjson --index t --to http://127.0.0.1:1".to_owned(), 1, Code::Unreachable),
        ("report a.ndjson --out b.html".to_owned(), 2, Code::BadReportFile),
        ("segments --play a.ndjson".to_owned(), 2, Code::BadRecording),
        ("from espipe a.ndjson nowhere".to_owned(), 2, Code::NotTranslated),
        ("node start --name a/b".to_owned(), 2, Code::BadNodeName),
        ("explain nothing".to_owned(), 2, Code::BadOptionValue),
    ] {
        ends_with(folder.path(), &command, status, code).await;
    }
}

#[tokio::test]
async fn answers_of_clusters_have_codes() {
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let with_log_in = FakeConfig::default().auth(Auth::Basic { user: "u".into(), password: "p".into() });
    let with_log_in = FakeCluster::start(with_log_in).await.unwrap();
    let load = |to: &FakeCluster, more: &str| format!("load a.ndjson --index t --to {} {more}", to.url());
    ends_with(folder.path(), &load(&with_log_in, ""), 1, Code::Unauthenticated).await;
    for (fault, more, code) in [
        (Fault::RequestForbidden, "", Code::Forbidden),
        (Fault::BadGateway, "--retry-for 1s", Code::RequestRefused),
        (Fault::ReplyNotJson, "", Code::NotACluster),
        (Fault::ResetBeforeApplying, "", Code::NoReply),
        (Fault::HoldBeforeApplying, "--request-timeout 1s", Code::TimedOut),
    ] {
        let broken = fake([Rule::new(fault).path("/")]).await;
        ends_with(folder.path(), &load(&broken, more), 1, code).await;
    }
    let (one, two) = (fake([]).await, fake([]).await);
    let both = format!("load a.ndjson --index t --to {},{}", one.url(), two.url());
    ends_with(folder.path(), &both, 2, Code::SeveralClusters).await;
    one.call("PUT", "/blocked", json!({})).unwrap();
    one.set_setting("blocked", "index.blocks.write", Some("true"));
    let blocked = format!("load a.ndjson --index blocked --to {}", one.url());
    ends_with(folder.path(), &blocked, 2, Code::TargetUnusable).await;
}

/// The code is in the report, too, and in front of the message that says how the load ended.
#[tokio::test]
async fn loads_that_end_badly_have_codes() {
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    std::fs::write(folder.path().join("kept.ndjson"), lines(1)).unwrap();
    std::fs::write(folder.path().join("bad.ndjson"), "{\"n\":1}\nwhat\n").unwrap();
    for (fault, source, more, status, code) in [
        (None, "bad.ndjson", "", 3, Code::DocumentsNotIn),
        (None, "bad.ndjson", "--max-errors 0", 1, Code::TooManyErrors),
        (None, "a.ndjson", "--dead-letters kept.ndjson", 2, Code::DeadLettersUnusable),
        (None, "a.ndjson", "--resume", 2, Code::StateUnusable),
        (Some(Fault::RequestUnauthorized), "a.ndjson", "", 1, Code::Unauthenticated),
        (Some(Fault::RequestForbidden), "a.ndjson", "", 1, Code::Forbidden),
        (Some(Fault::Unavailable), "a.ndjson", "--retry-for 1s", 1, Code::RetriesSpent),
        (Some(Fault::ItemFloodStage), "a.ndjson", "--pause-for 1s", 1, Code::PauseTooLong),
    ] {
        let fake = fake(fault.map(Rule::new)).await;
        let command = format!("load {source} --index t --json --to {} {more}", fake.url());
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let output = run(folder.path(), &arguments).await;
        is_code(&output, status, code, &command);
        if status == 1 {
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(report["failure_code"], code.name(), "{command}");
        }
        let _ = std::fs::remove_dir_all(folder.path().join("state"));
    }
}

#[tokio::test]
async fn an_index_that_cannot_be_made_has_a_code() {
    let fake = fake([Rule::new(Fault::RequestForbidden).path("/t-")]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let command = format!("load a.ndjson --index t-{{id}} --to {}", fake.url());
    ends_with(folder.path(), &command, 1, Code::IndexNotPrepared).await;
}

#[tokio::test]
async fn a_dry_run_names_the_kinds_of_dead_letters() {
    let fake = fake([]).await;
    fake.call("PUT", "/typed", json!({"mappings": {"properties": {"n": {"type": "long"}}}})).unwrap();
    let (folder, _) = folder_with("a.ndjson", "{\"n\":\"many\"}\n");
    let to = fake.url();
    let arguments = ["load", "a.ndjson", "--index", "typed", "--to", &to, "--dry-run"];
    let (stdout, _) = check(&run(folder.path(), &arguments).await, 4);
    assert!(stdout.contains(&format!("line 1: {}: ", Code::Mapping)), "{stdout}");
}

/// A page of the docs, with what a user does next.
#[tokio::test]
async fn a_code_is_explained() {
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let failed = run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--to", "http://127.0.0.1:1"]).await;
    is_code(&failed, 1, Code::Unreachable, "nobody there");
    let page = include_str!("../../../../../docs/errors.md");
    assert!(stderr(&failed).lines().all(|line| page.contains(line)), "{}", stderr(&failed));
    let (text, _) = check(&run(folder.path(), &["explain", "unreachable"]).await, 0);
    assert!(text.contains("What to do:") && text.contains("--to"), "{text}");
    let (all, _) = check(&run(folder.path(), &["explain"]).await, 0);
    assert!(Code::ALL.iter().all(|code| all.contains(&format!("  {code} "))), "{all}");
}
