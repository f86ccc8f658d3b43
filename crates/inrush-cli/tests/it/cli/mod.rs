//! The binary as its users see it, against the fake cluster: its output, its files, and its exit
//! status.

mod archives;
mod codes;
mod completions;
mod documents;
mod everywhere;
mod exit_statuses;
mod first_contact;
mod home;
mod hostile;
mod keeping;
mod local_first;
mod nothing_silent;
mod other_programs;
mod page;
mod running;
mod shaping;
mod two_users;
mod unattended;
mod verdicts;

use std::process::{Output, Stdio};

use inrush_fake::{Auth, FakeCluster, FakeConfig, Fault, Faults, Rule};
use inrush_testbed::client::Client;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::common::{check, fake, folder_with, inrush, lines, run, stderr, stdout};

/// The report of `--json`, which is one line and adds up.
fn report(output: &Output) -> Value {
    let text = stdout(output);
    assert_eq!(text.lines().count(), 1, "{text}{}", stderr(output));
    let report: Value = serde_json::from_str(&text).unwrap();
    let sum: u64 = [
        "docs_indexed",
        "docs_noop",
        "docs_not_found",
        "docs_already_there",
        "docs_conflicting",
        "docs_dropped",
        "docs_redirected",
        "docs_superseded",
        "docs_dead_lettered",
        "docs_unknown",
    ]
    .iter()
    .map(|bucket| report[bucket].as_u64().unwrap())
    .sum();
    assert_eq!(report["docs_read"].as_u64(), Some(sum), "{report}");
    report
}

#[tokio::test]
async fn version_and_help_are_results() {
    let folder = tempfile::tempdir().unwrap();
    let version = run(folder.path(), &["--version"]).await;
    check(&version, 0);
    assert_eq!(stdout(&version), format!("inrush {}\n", env!("CARGO_PKG_VERSION")));

    for arguments in [&["--help"][..], &["load", "--help"], &["node", "--help"], &["node", "start", "--help"]] {
        let help = run(folder.path(), arguments).await;
        check(&help, 0);
        assert!(stdout(&help).contains("Usage: inrush") && stderr(&help).is_empty(), "{arguments:?}");
    }
    let help = stdout(&run(folder.path(), &["load", "--help"]).await);
    for heading in ["Source:", "Target:", "Authentication:", "Sizes and limits:", "Errors and checks:", "Output:"] {
        assert!(help.contains(heading), "{heading}");
    }
}

#[tokio::test]
async fn usage_errors_end_with_2_and_say_what_to_do() {
    let (folder, _) = folder_with("a.ndjson", "{}\n");
    for (arguments, expected) in [
        (&["load"][..], "no index given"),
        (&["load", "--index", "t", "--to", "http://127.0.0.1:1"], "nothing to load"),
        (&["load", "a.ndjson", "--index", "t", "--action", "update"], "hint: name the field"),
        (&["load", "a.ndjson", "--index", "T"], "must be lower case"),
        (&["load", "a.ndjson", "--index", "t", "--batch-bytes", "lots"], "expected a whole number and a unit"),
        (&["load", "a.ndjson", "--index", "t", "--bach-bytes", "1"], "--batch-bytes"),
        (&["load", "none.ndjson", "--index", "t", "--to", "http://127.0.0.1:1"], "none.ndjson"),
        (&["load", "a.ndjson", "--index", "t", "--recreate", "--to", "http://127.0.0.1:1"], "add --yes"),
        (&["load", "a.ndjson", "--index", "t", "--user", "u", "--to", "http://127.0.0.1:1"], "INRUSH_PASSWORD"),
        (&["load", "--job", "none.toml"], "none.toml"),
        (&["node", "start", "--heap", "1m"], "256m at least"),
        (&["fly"], "unrecognized subcommand"),
    ] {
        let output = run(folder.path(), arguments).await;
        check(&output, 2);
        let text = stderr(&output);
        assert!(text.contains("error[") && text.contains(expected), "{arguments:?}: {text}");
        assert!(stdout(&output).is_empty(), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_file_goes_in_and_the_report_says_so() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(2_000));
    let arguments = ["load", "a.ndjson", "--index", "docs", "--to", &fake.url(), "--id", "id", "--batch-bytes", "8KiB"];
    let output = run(folder.path(), &arguments).await;
    check(&output, 0);
    assert_eq!(fake.documents("docs").len(), 2_000);
    let text = stdout(&output);
    assert!(text.contains("all documents were indexed") && text.contains("2,000"), "{text}");
    assert!(text.contains("verified        yes"), "{text}");
    assert_eq!(stderr(&output), "", "a short load needs no progress");

    let again = run(folder.path(), &[&arguments[..], &["--json"]].concat()).await;
    check(&again, 0);
    let report = report(&again);
    assert_eq!((report["docs_read"].as_u64(), report["docs_updated"].as_u64()), (Some(2_000), Some(2_000)));
    assert_eq!((report["status"].as_str(), report["verified"]["state"].as_str()), (Some("complete"), Some("yes")));

    let quiet = run(folder.path(), &[&arguments[..], &["--quiet"]].concat()).await;
    check(&quiet, 0);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
}

#[tokio::test]
async fn csv_and_text_become_documents() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.csv", "name;price;bought\nchair;9.5;true\ntable;;false\n");
    let csv = ["load", "a.csv", "--separator", ";", "--schema", "price:string", "--index", "csv", "--to", &fake.url()];
    let output = run(folder.path(), &[&csv[..], &["--json"]].concat()).await;
    check(&output, 0);
    assert_eq!(report(&output)["docs_created"], 2);
    let documents: Vec<Value> = fake.documents("csv").iter().map(|d| d.json().clone()).collect();
    assert!(documents.contains(&serde_json::json!({"name": "chair", "price": "9.5", "bought": true})), "{documents:?}");
    assert!(documents.contains(&serde_json::json!({"name": "table", "bought": false})), "{documents:?}");

    std::fs::write(folder.path().join("app"), "one\ntwo\n").unwrap();
    let text = ["load", "app", "--format", "text", "--field", "line", "--index", "text", "--to", &fake.url()];
    check(&run(folder.path(), &text).await, 0);
    assert_eq!(fake.documents("text").len(), 2);
    assert_eq!(fake.documents("text")[0].json()["line"], "one");
}

#[tokio::test]
async fn stdin_is_a_source() {
    let fake = fake([]).await;
    let folder = tempfile::tempdir().unwrap();
    let mut load = inrush(folder.path(), &["load", "-", "--index", "docs", "--json", "--to", &fake.url()]);
    load.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = load.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The last line has no end.
    stdin.write_all(lines(10).trim_end().as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    check(&output, 0);
    let report = report(&output);
    assert_eq!((report["docs_created"].as_u64(), report["sources"][0]["name"].as_str()), (Some(10), Some("-")));
}

#[tokio::test]
async fn a_job_file_says_it_all_and_the_command_line_wins() {
    let fake = fake([]).await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    for n in 0..3 {
        std::fs::write(data.join(format!("{n}.ndjson")), format!("{{\"tenant\":\"t{n}\"}}\n")).unwrap();
    }
    let job = format!(
        "sources = ['*.ndjson']\nto = '{}'\nindex = 'logs-{{tenant}}'\njson = true\n\
         [[indices]]\npattern = '*-t1'\nshards = 3\nsettings = {{ refresh_interval = '30s' }}\n",
        fake.url()
    );
    std::fs::write(data.join("job.toml"), job).unwrap();
    let output = run(folder.path(), &["load", "--job", "data/job.toml"]).await;
    check(&output, 0);
    let counts = report(&output);
    assert_eq!(counts["docs_created"], 3);
    assert_eq!(counts["indices"].as_object().unwrap().len(), 3, "{counts}");
    let setting = |index, name| fake.setting(index, name);
    assert!(fake.index_uuid("logs-t0").is_some());
    assert_eq!(
        setting("logs-t1", "number_of_shards").or(setting("logs-t1", "index.number_of_shards")).as_deref(),
        Some("3")
    );

    let output = run(folder.path(), &["load", "--job", "data/job.toml", "--index", "other", "data/0.ndjson"]).await;
    check(&output, 0);
    assert_eq!((report(&output)["docs_created"].as_u64(), fake.documents("other").len()), (Some(1), 1));

    std::fs::write(data.join("bad.toml"), "indx = 'a'\n").unwrap();
    let output = run(folder.path(), &["load", "--job", "data/bad.toml"]).await;
    check(&output, 2);
    let expected = "error[bad_job_file]: data/bad.toml: unknown key `indx`\nhint: did you mean `index`?\n";
    assert_eq!(stderr(&output), expected);
}

#[tokio::test]
async fn what_is_not_in_is_a_dead_letter_and_can_be_loaded_again() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).ids(["i3", "i5"])]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let arguments = ["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--dead-letters", "dead.ndjson"];
    let output = run(folder.path(), &[&arguments[..], &["--json"]].concat()).await;
    check(&output, 3);
    let problem = stderr(&output);
    assert!(
        problem.starts_with("error[documents_not_in]: 2 documents were not indexed; most frequent error: 400 "),
        "{problem}"
    );
    assert!(problem.ends_with("; see dead.ndjson\n"), "{problem}");
    let first = report(&output);
    assert_eq!((first["docs_indexed"].as_u64(), first["docs_dead_lettered"].as_u64()), (Some(8), Some(2)));
    assert_eq!(first["errors"][0]["count"], 2);
    let letters = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    let positions: Vec<u64> = letters
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["position"]["line"].as_u64().unwrap())
        .collect();
    assert_eq!(positions, [4, 6]);

    // The file is not overwritten.
    let output = run(folder.path(), &arguments).await;
    check(&output, 2);
    assert!(stderr(&output).contains("--from-dead-letters"), "{}", stderr(&output));

    fake.set_faults(Faults::default());
    // The letters name their index.
    let again = ["load", "--from-dead-letters", "dead.ndjson", "--to", &to, "--json"];
    let output = run(folder.path(), &again).await;
    check(&output, 0);
    assert_eq!(report(&output)["docs_created"], 2);
    let document = fake.document("docs", "i5").unwrap();
    assert_eq!(document.json()["n"], 5);
}

#[tokio::test]
async fn a_file_on_stdin_has_a_size() {
    let config = FakeConfig::default().disk_available_bytes(10_000);
    let fake = FakeCluster::start(config).await.unwrap();
    let (folder, path) = folder_with("a.ndjson", &lines(5_000));
    let to = fake.url();
    let mut load = inrush(folder.path(), &["load", "-", "--index", "docs", "--to", &to]);
    load.stdin(std::fs::File::open(path).unwrap());
    let output = load.output().await.unwrap();
    check(&output, 2);
    assert!(stderr(&output).contains("disk"), "{}", stderr(&output));
    assert_eq!(fake.documents("docs").len(), 0);
}

#[tokio::test]
async fn an_output_that_is_read_is_refused_and_left_as_it_is() {
    let fake = fake([]).await;
    let (folder, path) = folder_with("a.ndjson", &lines(10));
    std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
    let to = fake.url();
    for (arguments, flag) in [
        (&["load", "a.ndjson", "--index", "docs", "--to", &to, "--trace", "a.ndjson"][..], "--trace"),
        (&["load", "a.ndjson", "--index", "docs", "--to", &to, "--dead-letters", "link"], "--dead-letters"),
        (&["mapping", "a.ndjson", "--out", "link"], "--out"),
        (&["verify", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--missing", "a.ndjson"], "--missing"),
        (&["convert", "a.ndjson", "link", "--out-format", "csv"], "OUT"),
    ] {
        let output = run(folder.path(), arguments).await;
        check(&output, 2);
        let expected = format!("error[options_conflict]: {flag} would overwrite ");
        assert!(stderr(&output).starts_with(&expected), "{arguments:?}: {}", stderr(&output));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(10), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_name_that_is_no_utf_8_is_no_obstacle() {
    use std::os::unix::ffi::OsStrExt;
    let fake = fake([Rule::new(Fault::ItemBadRequest).ids(["i3"])]).await;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join(std::ffi::OsStr::from_bytes(b"\xFE"));
    std::fs::create_dir(&inner).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"\xFF.ndjson");
    std::fs::write(inner.join(name), lines(10)).unwrap();
    let to = fake.url();
    let arguments = ["--index", "docs", "--id", "id", "--json", "--to", &to];
    let output = inrush(&inner, &["load"]).arg(name).args(arguments).output().await.unwrap();
    check(&output, 3);
    let report = report(&output);
    assert_eq!(report["sources"][0]["name"], "\\xFF.ndjson");
    assert_eq!(fake.documents("docs").len(), 9);
    let letters = std::fs::read_dir(&inner).unwrap().flatten().map(|entry| entry.path());
    let letters = letters.into_iter().find(|path| path.to_string_lossy().contains("dead-letters")).unwrap();
    let letter: Value = serde_json::from_str(&std::fs::read_to_string(letters).unwrap()).unwrap();
    assert_eq!(letter["position"]["source"], "\\xFF.ndjson");
}

#[tokio::test]
async fn ids_of_positions_in_a_stream_are_warned_of() {
    let fake = fake([]).await;
    let (folder, path) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let arguments = ["load", "-", "--format", "ndjson", "--index", "docs", "--id-from", "position", "--to", &to];
    let mut load = inrush(folder.path(), &arguments);
    let output = load.stdin(std::fs::File::open(path).unwrap()).output().await.unwrap();
    check(&output, 0);
    assert!(stderr(&output).contains("--id-from content"), "{}", stderr(&output));
}

#[tokio::test]
async fn what_is_no_dead_letter_is_named() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(2));
    let to = fake.url();
    let output = run(folder.path(), &["load", "--from-dead-letters", "a.ndjson", "--index", "docs", "--to", &to]).await;
    check(&output, 3);
    let text = stdout(&output) + &stderr(&output);
    assert!(text.contains("expected the dead-letter file of an earlier load (--dead-letters)"), "{text}");
}

#[tokio::test]
async fn people_are_told_the_reasons_and_what_to_do_next() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).ids(["i3"])]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(5));
    let to = fake.url();
    let output = run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to]).await;
    check(&output, 3);
    let text = stdout(&output);
    for part in ["some documents were not indexed", "dead letters", "1 x 400", "inrush load --from-dead-letters"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_a_failed_run() {
    let (folder, _) = folder_with("a.ndjson", "{}\n");
    // No program listens on port 1.
    let output = run(folder.path(), &["load", "a.ndjson", "--index", "t", "--to", "http://127.0.0.1:1"]).await;
    check(&output, 1);
    assert!(stderr(&output).starts_with("error["), "{}", stderr(&output));
    assert!(stderr(&output).contains("127.0.0.1:1"), "{}", stderr(&output));
}

#[tokio::test]
async fn a_count_that_differs_ends_with_4() {
    let fake = fake([Rule::new(Fault::HoldAfterApplying).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let mut load = inrush(folder.path(), &["load", "a.ndjson", "--index", "docs", "--id", "id", "--to", &to, "--json"]);
    let child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fake.wait_for_held(1).await;
    // Another program deletes a document meanwhile.
    let client = Client::new(&to).unwrap();
    client.bulk("/_bulk", "{\"delete\":{\"_index\":\"docs\",\"_id\":\"i7\"}}\n").await.unwrap();
    fake.release_held();
    let output = child.wait_with_output().await.unwrap();
    check(&output, 4);
    let report = report(&output);
    assert_eq!((report["status"].as_str(), report["verified"]["state"].as_str()), (Some("check_failed"), Some("no")));
    assert!(stderr(&output).contains("a check failed"), "{}", stderr(&output));
}

#[tokio::test]
async fn a_mapping_is_inferred_and_takes_the_documents() {
    let text =
        "{\"id\":\"a\",\"at\":\"2024-01-31\",\"n\":1}\n\nwhat\n{\"id\":\"b\",\"at\":\"2024-02-01\",\"n\":\"x\"}\n";
    let (folder, _) = folder_with("a.ndjson", text);
    let output = run(folder.path(), &["mapping", "a.ndjson"]).await;
    check(&output, 0);
    let mapping: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(
        (&mapping["properties"]["at"]["type"], &mapping["properties"]["n"]["type"]),
        (&"date".into(), &"keyword".into())
    );
    let told = stderr(&output);
    assert!(told.contains("2 documents examined") && told.contains("a.ndjson row 3"), "{told}");
    assert!(told.contains("conflict: n is a whole number once (row 1), a string once (row 4)"), "{told}");

    check(&run(folder.path(), &["mapping", "a.ndjson", "--out", "m.json", "--rows", "1"]).await, 0);
    let first: Value = serde_json::from_slice(&std::fs::read(folder.path().join("m.json")).unwrap()).unwrap();
    assert_eq!(first["properties"]["n"]["type"], "integer");
    let json = run(folder.path(), &["mapping", "a.ndjson", "--json"]).await;
    let json: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!((&json["mapping"], &json["docs"], &json["docs_rejected"]), (&mapping, &2.into(), &1.into()));
    assert_eq!(json["notes"][0]["kind"], "conflict");

    let fake = fake([]).await;
    let arguments = ["load", "a.ndjson", "--index", "docs", "--map", "auto", "--to", &fake.url(), "--json"];
    let output = run(folder.path(), &arguments).await;
    check(&output, 3);
    assert_eq!(report(&output)["docs_indexed"], 2);
    assert!(stderr(&output).contains("--map auto: n is"), "{}", stderr(&output));
    let found = Client::new(&fake.url()).unwrap().json("GET", "/docs", Value::Null).await.unwrap();
    assert_eq!(found.json()["docs"]["mappings"]["properties"]["at"]["type"], "date");
    check(&run(folder.path(), &["load", "-", "--index", "docs", "--map", "auto", "--to", &fake.url()]).await, 2);
    check(&run(folder.path(), &["mapping", "none.ndjson"]).await, 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_the_load_in_order() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10_000));
    let to = fake.url();
    let arguments =
        ["load", "a.ndjson", "--index", "docs", "--to", &to, "--json", "--batch-docs", "10", "--in-flight", "1"];
    let mut load = inrush(folder.path(), &arguments);
    let mut child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fake.wait_for_held(1).await;
    let process = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &process]).status().await.unwrap();
    assert!(kill.success());
    // It says so before it is let go on, so the signal was seen.
    let mut lines = tokio::io::BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut first).await.unwrap();
    assert!(first.starts_with("interrupted: waiting"), "{first}");
    // A program that ends a process tree sends several signals at once, which count as one.
    let kill = Command::new("kill").args(["-HUP", &process]).status().await.unwrap();
    assert!(kill.success());
    fake.release_held();
    let output = child.wait_with_output().await.unwrap();
    check(&output, 130);
    let first = report(&output);
    assert_eq!(first["status"], "interrupted");
    assert_eq!(first["docs_indexed"].as_u64(), Some(fake.documents("docs").len() as u64));
    assert!(first["docs_indexed"].as_u64() < Some(10_000), "{first}");
    assert!(first["checkpoint"].as_str().unwrap().contains("state/inrush"), "{first}");

    // The same command goes on, with larger batches as well.
    let output = run(folder.path(), &["load", "a.ndjson", "--index", "docs", "--to", &to, "--json", "--resume"]).await;
    check(&output, 0);
    let both = report(&output);
    assert_eq!((both["docs_indexed"].as_u64(), fake.documents("docs").len()), (Some(10_000), 10_000));
    let rest = 10_000 - first["docs_indexed"].as_u64().unwrap();
    assert_eq!(
        (both["this_run"]["docs_indexed"].as_u64(), both["possible_duplicates"].as_u64()),
        (Some(rest), Some(0))
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_load_that_was_cut_off_is_told_of_and_can_be_started_over() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(100));
    let to = fake.url();
    let arguments = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--id-from", "content"];
    let mut child = inrush(folder.path(), &arguments).stderr(Stdio::null()).spawn().unwrap();
    fake.wait_for_held(1).await;
    child.kill().await.unwrap();
    fake.release_held();
    let output = run(folder.path(), &arguments).await;
    check(&output, 0);
    assert!(stderr(&output).contains("has read ") && stderr(&output).contains("--resume"), "{}", stderr(&output));
    assert_eq!(fake.documents("docs").len(), 100);

    let output = run(folder.path(), &[&arguments[..], &["--resume"]].concat()).await;
    check(&output, 2);
    assert!(stderr(&output).contains("there is no checkpoint of this load"), "{}", stderr(&output));
    let stdin = ["load", "-", "--index", "docs", "--to", &to, "--resume"];
    let output = run(folder.path(), &stdin).await;
    check(&output, 2);
    assert!(stderr(&output).contains("read only once"), "{}", stderr(&output));
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_a_load_that_waits_for_stdin() {
    let fake = fake([]).await;
    let folder = tempfile::tempdir().unwrap();
    let to = fake.url();
    let mut load = inrush(folder.path(), &["load", "-", "--index", "docs", "--to", &to, "--json", "--linger", "0"]);
    load.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = load.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(3).as_bytes()).await.unwrap();
    // It has sent what there was, and waits for more.
    while fake.documents("docs").len() < 3 {
        tokio::task::yield_now().await;
    }
    let process = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().await.unwrap().success());
    let output = child.wait_with_output().await.unwrap();
    check(&output, 130);
    assert_eq!(report(&output)["docs_indexed"], 3);
    drop(stdin);
}

#[cfg(unix)]
#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let mut load = inrush(folder.path(), &["load", "a.ndjson", "--index", "docs", "--to", &fake.url()]);
    let mut child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fake.wait_for_held(1).await;
    let process = child.id().unwrap().to_string();
    let mut lines = tokio::io::BufReader::new(child.stderr.take().unwrap());
    let kill = || async { Command::new("kill").args(["-INT", &process]).status().await.unwrap().success() };
    assert!(kill().await);
    let mut line = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line).await.unwrap();
    // Those of the first second are a part of the first one.
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        kill().await;
    };
    assert_eq!(status.code(), Some(130));
}

#[tokio::test]
async fn settings_are_put_back_after_a_crash() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--replicas-off", "--state", "state", "--json"];
    let mut child = inrush(folder.path(), &load).spawn().unwrap();
    fake.wait_for_held(1).await;
    let replicas = || fake.setting("docs", "index.number_of_replicas");
    assert_eq!(replicas().as_deref(), Some("0"));

    let recover = ["recover", "--to", &to, "--state", "state", "--json"];
    let output = run(folder.path(), &recover).await;
    check(&output, 0);
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["indices"][0]["state"], "in_use", "{found}");
    assert_eq!(replicas().as_deref(), Some("0"));

    child.kill().await.unwrap();
    fake.release_held();
    let others = run(folder.path(), &["recover", "other", "--to", &to, "--state", "state"]).await;
    check(&others, 0);
    assert_eq!(stdout(&others), "nothing is left to be put back\n");
    fake.refuse_settings(["index.number_of_replicas"]);
    check(&run(folder.path(), &recover).await, 4);
    fake.refuse_settings([""; 0]);
    let output = run(folder.path(), &recover[..5]).await;
    check(&output, 0);
    assert!(
        stdout(&output).starts_with("docs: put back: the index has its original settings\n"),
        "{}",
        stdout(&output)
    );
    assert!(stdout(&output).contains("index.number_of_replicas: 0 for the load, 1 before it"), "{}", stdout(&output));
    assert_eq!(replicas().as_deref(), Some("1"));

    // The index may hold documents by now, and there is no terminal.
    fake.call("PUT", "/full", serde_json::json!({})).unwrap();
    check(&run(folder.path(), &["load", "a.ndjson", "--index", "full", "--to", &to]).await, 0);
    let full = ["load", "a.ndjson", "--index", "full", "--to", &to, "--replicas-off"];
    let output = run(folder.path(), &full).await;
    check(&output, 2);
    assert!(stderr(&output).contains("--yes"), "{}", stderr(&output));
}

#[tokio::test]
async fn secrets_come_from_files_and_the_environment_and_are_never_printed() {
    let auth = Some(Auth::Basic { user: "u".into(), password: "hunter2".into() });
    let fake = FakeCluster::start(FakeConfig::default().auth(auth)).await.unwrap();
    let (folder, _) = folder_with("a.ndjson", &lines(1));
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "hunter2\n").unwrap();
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--user", "u", "-vvv"];

    let by_file = run(folder.path(), &[&load[..], &["--password-file", "secret"]].concat()).await;
    check(&by_file, 0);
    let by_variable = inrush(folder.path(), &load).env("INRUSH_PASSWORD", "hunter2").output().await.unwrap();
    check(&by_variable, 0);
    let wrong = inrush(folder.path(), &load).env("INRUSH_PASSWORD", "hunter3").output().await.unwrap();
    check(&wrong, 1);
    assert!(stderr(&wrong).contains("401"), "{}", stderr(&wrong));
    for output in [&by_file, &by_variable, &wrong] {
        let text = stdout(output) + &stderr(output);
        // Also not as the header has it: base64 of u:hunter.
        assert!(!text.contains("hunter") && !text.contains("dTpodW50ZX"), "{text}");
    }
}

/// `-v` tells of the load, `-vv` of each request as well, and neither shows what is in a document.
#[tokio::test]
async fn requests_are_shown_with_two_v() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--batch-docs", "2"];
    for (flag, shown) in [("--quiet", false), ("-v", false), ("-vv", true)] {
        let before = fake.bulk_requests().len();
        let output = run(folder.path(), &[&load[..], &[flag]].concat()).await;
        check(&output, 0);
        let text = stderr(&output);
        let requests = text.lines().filter(|line| line.contains("bulk request")).count();
        assert_eq!(requests, if shown { fake.bulk_requests().len() - before } else { 0 }, "{flag}: {text}");
        assert_eq!(text.contains("GET /"), shown, "{flag}: {text}");
        assert!(!text.contains("\"i3\""), "{flag}: {text}");
    }
}

#[tokio::test]
async fn an_index_is_made_anew_when_that_is_confirmed() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    std::fs::write(folder.path().join("m.json"), r#"{"mappings":{"properties":{"n":{"type":"long"}}}}"#).unwrap();
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--mapping", "m.json"];
    check(&run(folder.path(), &load).await, 0);
    let output = run(folder.path(), &[&load[..], &["--recreate"]].concat()).await;
    check(&output, 2);
    assert_eq!(fake.documents("docs").len(), 3, "nothing is deleted without a yes");
    check(&run(folder.path(), &[&load[..], &["--recreate", "--yes"]].concat()).await, 0);
    assert_eq!(fake.documents("docs").len(), 3);
    assert_eq!(fake.mapping("docs")["properties"]["n"]["type"], "long");
}

#[tokio::test]
async fn a_closed_stdout_is_no_panic() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(3));
    let mut load = inrush(folder.path(), &["load", "a.ndjson", "--index", "docs", "--to", &fake.url()]);
    let mut child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    check(&output, 0);
    assert_eq!(stderr(&output), "");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stop_waits_for_a_start_and_stops_what_it_has_started() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("nodes/default");
    std::fs::create_dir_all(&folder).unwrap();
    // What a start holds until the node is written down.
    let lock = std::fs::File::create(root.path().join("nodes/default.lock")).unwrap();
    lock.lock().unwrap();
    let mut stop = inrush(root.path(), &["node", "stop"]);
    stop.env("INRUSH_NODE_ROOT", root.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut stop = stop.spawn().unwrap();
    let files = format!("/proc/{}/fd", stop.id().unwrap());
    let opened = |file: std::io::Result<std::fs::DirEntry>| std::fs::read_link(file.unwrap().path()).ok();
    let waits = || std::fs::read_dir(&files).unwrap().filter_map(opened).any(|path| path.ends_with("default.lock"));
    while !waits() {
        assert_eq!(stop.try_wait().unwrap(), None, "it does not wait");
        tokio::task::yield_now().await;
    }
    let mut node = Command::new("sleep").arg("600").process_group(0).kill_on_drop(true).spawn().unwrap();
    let pid = node.id().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let started: u64 = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let state = serde_json::json!({
        "pid": pid, "started": started, "boot": boot.trim(), "url": "http://127.0.0.1:1", "version": "3.6.0", "heap_mib": 1024,
        "folder": folder, "data": folder.join("data"),
    });
    std::fs::write(folder.join("node.json"), state.to_string()).unwrap();
    lock.unlock().unwrap();
    let output = stop.wait_with_output().await.unwrap();
    check(&output, 0);
    assert_eq!(stderr(&output), "stopped\n");
    assert!(!node.wait().await.unwrap().success());
    assert!(!folder.join("node.json").exists());
}
