//! Pauses of the binary by a signal and by keys on a terminal, whose mode is restored on every
//! exit; and full disks.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use inrush_fake::{FakeCluster, Fault, Rule};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::common::{self, fake};
use crate::terminal::Terminal;

const DOCS: u64 = 3_000;

fn source() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("documents.ndjson");
    let text: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// What loads it in about a second.
fn arguments(fake: &FakeCluster, path: &Path) -> Vec<String> {
    let path = path.display().to_string();
    let url = fake.url();
    let rest = ["--index", "docs", "--id", "id", "--json", "--batch-bytes", "2000", "--in-flight", "2"];
    let mut arguments = vec!["load".to_owned(), path, "--to".to_owned(), url];
    arguments.extend(rest.map(str::to_owned));
    arguments.extend(["--max-rate".to_owned(), format!("{DOCS}docs")]);
    arguments
}

fn command(program: &str, folder: &Path) -> Command {
    let mut command = common::command(program, folder);
    command.env("TERM", "xterm").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

async fn some_are_in(fake: &FakeCluster) {
    while fake.documents("docs").is_empty() {
        tokio::task::yield_now().await;
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A terminal that goes away ends the load in order, unless it was started to outlive it.
#[tokio::test(flavor = "multi_thread")]
async fn sighup_ends_the_load_but_under_nohup() {
    // The tests themselves may run under nohup.
    for (how, code, all) in [("--default-signal=HUP", 130, false), ("--ignore-signal=HUP", 0, true)] {
        let fake = fake([]).await;
        let (folder, path) = source();
        let mut command = command("env", folder.path());
        let child = command.args([how, env!("CARGO_BIN_EXE_inrush")]).args(arguments(&fake, &path)).spawn().unwrap();
        some_are_in(&fake).await;
        signal(&child, Signal::HUP);
        let output = child.wait_with_output().await.unwrap();
        let report = report(&output);
        let in_all = report["docs_created"].as_u64() == Some(DOCS);
        assert_eq!((output.status.code(), in_all), (Some(code), all), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigusr1_pauses_and_the_next_one_goes_on() {
    let fake = fake([]).await;
    let (folder, path) = source();
    let mut child = command(env!("CARGO_BIN_EXE_inrush"), folder.path()).args(arguments(&fake, &path)).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    some_are_in(&fake).await;
    signal(&child, Signal::USR1);
    while !lines.next_line().await.unwrap().unwrap().contains("paused: by hand") {}
    assert!((fake.documents("docs").len() as u64) < DOCS);
    signal(&child, Signal::USR1);
    let output = child.wait_with_output().await.unwrap();
    let report = report(&output);
    assert_eq!((output.status.code(), report["docs_created"].as_u64()), (Some(0), Some(DOCS)), "{report}");
    assert_eq!((&report["pauses"][0]["kind"], &report["pauses"][0]["times"]), (&"by_hand".into(), &1.into()));
    assert_eq!(report["sizes"]["docs"]["after"]["docs"], DOCS);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_pause_and_the_terminal_is_put_back() {
    let fake = fake([]).await;
    let (folder, path) = source();
    let terminal = Terminal::new();
    let child = terminal.start(folder.path(), &arguments(&fake, &path), &[]);
    terminal.listens().await;
    some_are_in(&fake).await;
    terminal.press(b"xp");
    terminal.shows("paused: by hand").await;
    terminal.press(b" ");
    terminal.forget();
    terminal.press(b"p");
    terminal.shows("paused: by hand").await;
    terminal.press(b"p");
    let output = child.wait_with_output().await.unwrap();
    let report = report(&output);
    assert_eq!((output.status.code(), report["docs_created"].as_u64()), (Some(0), Some(DOCS)), "{report}");
    assert_eq!((&report["pauses"][0]["kind"], &report["pauses"][0]["times"]), (&"by_hand".into(), &2.into()));
    assert!(terminal.is_as_it_was());
}

#[tokio::test(flavor = "multi_thread")]
async fn however_the_load_ends_the_terminal_is_put_back() {
    const INTERRUPT: u8 = 3;
    const QUIT: u8 = 28;
    for (keys, code) in [(&b"pc"[..], 130), (b"cc", 130), (b"q", 131)] {
        // What is under way does not end by itself.
        let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(3)]).await;
        let (folder, path) = source();
        let terminal = Terminal::new();
        let mut child = terminal.start(folder.path(), &arguments(&fake, &path), &[]);
        terminal.listens().await;
        fake.wait_for_held(1).await;
        for key in keys {
            match key {
                b'c' => {
                    terminal.press(&[INTERRUPT]);
                    terminal.shows("interrupted: waiting").await;
                    if keys == b"pc" {
                        fake.release_held();
                    }
                }
                b'q' => terminal.press(&[QUIT]),
                key => {
                    terminal.press(&[*key]);
                    terminal.shows("paused: by hand").await;
                }
            }
        }
        assert_eq!(child.wait().await.unwrap().code(), Some(code), "{}", String::from_utf8_lossy(keys));
        assert!(terminal.is_as_it_was(), "{}", String::from_utf8_lossy(keys));
        fake.release_held();
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_file_that_may_not_grow_any_more_ends_the_load_and_it_can_be_resumed() {
    let fake = fake([Rule::new(Fault::ItemBadRequest).containing("7}")]).await;
    let (folder, path) = source();
    let bad = (0..DOCS).filter(|n| n % 10 == 7).count() as u64;
    let mut arguments = arguments(&fake, &path);
    let letters = folder.path().join("letters.ndjson");
    arguments.extend(["--dead-letters".to_owned(), letters.display().to_string()]);
    // 64 blocks of 512 bytes, or of 1024.
    let limited = "ulimit -f 64 && exec \"$0\" \"$@\"";
    let output = command("sh", folder.path())
        .args(["-c", limited, env!("CARGO_BIN_EXE_inrush")])
        .args(&arguments)
        .output()
        .await
        .unwrap();
    let first = report(&output);
    assert_eq!(output.status.code(), Some(1), "{first}");
    let failure = first["failure"].as_str().unwrap();
    assert!(failure.contains("cannot write dead letters") && failure.contains("File too large"), "{failure}");
    assert_eq!(fake.documents("docs").len() as u64, first["docs_created"].as_u64().unwrap());
    arguments.push("--resume".to_owned());
    let output = command(env!("CARGO_BIN_EXE_inrush"), folder.path()).args(&arguments).output().await.unwrap();
    let second = report(&output);
    assert_eq!((output.status.code(), second["docs_dead_lettered"].as_u64()), (Some(3), Some(bad)), "{second}");
    assert_eq!((second["docs_read"].as_u64(), fake.documents("docs").len() as u64), (Some(DOCS), DOCS - bad));
    let text = std::fs::read_to_string(letters).unwrap();
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["document"]["n"].as_u64().unwrap();
    let mut numbers: Vec<u64> = text.lines().map(number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..DOCS).filter(|n| n % 10 == 7).collect::<Vec<_>>());
}

/// A person who names `-` is told what is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_typed_is_asked_for() {
    let fake = fake([]).await;
    let folder = tempfile::tempdir().unwrap();
    let terminal = Terminal::new();
    let arguments = ["load", "-", "--format", "ndjson", "--index", "docs", "--to", &fake.url()].map(str::to_owned);
    let mut child = terminal.start(folder.path(), &arguments, &[]);
    terminal.shows("Ctrl-D").await;
    terminal.press(b"{\"n\":1}\n\x04");
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    assert_eq!(fake.documents("docs").len(), 1);
}

/// Where no cluster is named, a person is asked before a node is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_started_for_a_yes_only() {
    let (folder, path) = source();
    for answer in [&b"n\n"[..], b"\n", b"\x04"] {
        let terminal = Terminal::new();
        let arguments = ["load", &path.display().to_string(), "--index", "docs"].map(str::to_owned);
        let mut child = terminal.start(folder.path(), &arguments, &[]);
        terminal.shows("Start an OpenSearch node on this machine").await;
        terminal.press(answer);
        assert_eq!(child.wait().await.unwrap().code(), Some(2));
        assert!(!folder.path().join("nodes").exists());
    }
}
