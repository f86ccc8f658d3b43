//! The progress of the binary: on a real terminal, and as lines of a log.

use std::path::PathBuf;
use std::process::Output;

use inrush_fake::{FakeCluster, Fault, Rule};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{self, fake};
use crate::terminal::{Terminal, screen};

const DOCS: u64 = 3_000;

/// Documents, and the arguments that load them in about a second.
fn load(fake: &FakeCluster) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("documents.ndjson");
    let text: String = (0..DOCS).map(|n| format!("{{\"id\":\"i{n}\",\"n\":{n}}}\n")).collect();
    std::fs::write(&path, text).unwrap();
    let sizes = ["--index", "docs", "--id", "id", "--batch-bytes", "2000", "--in-flight", "2"];
    let mut arguments = vec!["load".to_owned(), path.display().to_string(), "--to".to_owned(), fake.url()];
    arguments.extend(sizes.map(str::to_owned));
    arguments.extend(["--max-rate".to_owned(), format!("{DOCS}docs")]);
    (folder, arguments)
}

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

/// Pauses and resumes, which are messages of the log.
async fn pause_and_resume(terminal: &Terminal) {
    for (what, before) in ["paused: by hand", "resumed"].map(|what| (what, warnings(&terminal.drawn(), what))) {
        terminal.press(b"p");
        while warnings(&terminal.drawn(), what) == before {
            tokio::task::yield_now().await;
        }
    }
}

fn warnings(text: &str, what: &str) -> usize {
    text.matches(&format!("WARN {what}")).count()
}

/// Messages of the log stand above the picture, whole and in their order, and nothing of earlier
/// pictures is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_drawn_in_its_place_below_the_log() {
    for (columns, rows_of_figures) in [(40, 3), (80, 2), (200, 1)] {
        let fake = fake([]).await;
        let (folder, mut arguments) = load(&fake);
        arguments.push("--json".to_owned());
        let terminal = Terminal::new();
        terminal.resize(columns, 24);
        let child = terminal.start(folder.path(), &arguments, &[("NO_COLOR", "1")]);
        terminal.listens().await;
        terminal.shows("docs/s").await;
        for _ in 0..3 {
            pause_and_resume(&terminal).await;
        }
        let output = child.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(0));
        let written = terminal.all().await;
        let has_colours = ["\x1b[2m", "\x1b[31m", "\x1b[33m"].iter().any(|colour| written.contains(colour));
        assert!(!has_colours, "{written:?}");
        let (lines, cursor) = screen(&written, usize::from(columns));
        assert_eq!(cursor, (lines.len() - 1, 0), "{lines:#?}");
        let (log, picture) = lines.split_at(lines.iter().position(|line| line.ends_with("  done")).unwrap());
        let log = log.concat();
        assert_eq!((log.matches("by hand").count(), log.matches("resumed").count()), (3, 3), "{lines:#?}");
        assert!(!log.contains("docs") && !log.contains("loading"), "{lines:#?}");
        assert_eq!((count(picture, "3,000 docs"), count(picture, "of 2 in flight")), (1, 1), "{lines:#?}");
        // The phase, the figures, the graph, and the line of the cursor. The plan is fixed.
        assert_eq!(picture.len(), 1 + rows_of_figures + 1 + 1, "{lines:#?}");
    }
}

/// Where the report is printed on the terminal, it takes the place of the picture.
#[tokio::test(flavor = "multi_thread")]
async fn the_report_takes_the_place_of_the_picture() {
    let fake = fake([]).await;
    let (folder, arguments) = load(&fake);
    let terminal = Terminal::new();
    let mut child = terminal.start_with_stdout(folder.path(), &arguments);
    terminal.shows("docs/s").await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let (lines, _) = screen(&terminal.all().await, 80);
    assert!(lines[0].starts_with("result") && count(&lines, "in flight") == 0, "{lines:#?}");
}

/// The seconds in the first row of the last picture.
fn clock(written: &str) -> u32 {
    let shown = written.rsplit_once("   0:").and_then(|(_, rest)| rest.get(..2)?.parse().ok());
    // Its end has not arrived yet.
    shown.unwrap_or_default()
}

/// Ctrl-C once and twice leaves the last state and whole messages.
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_a_clean_terminal() {
    const INTERRUPT: u8 = 3;
    for twice in [false, true] {
        let fake = fake([Rule::new(Fault::HoldBeforeApplying).after(3)]).await;
        let (folder, mut arguments) = load(&fake);
        arguments.push("--json".to_owned());
        let terminal = Terminal::new();
        let mut child = terminal.start(folder.path(), &arguments, &[]);
        terminal.listens().await;
        fake.wait_for_held(1).await;
        terminal.shows("docs/s").await;
        terminal.press(&[INTERRUPT]);
        terminal.shows("interrupted: waiting").await;
        if !twice {
            terminal.shows("stopping: interrupted").await;
            fake.release_held();
        }
        if twice {
            // It counts a second after the first one.
            let first = clock(&terminal.drawn());
            while clock(&terminal.drawn()) < first + 2 {
                tokio::task::yield_now().await;
            }
            terminal.press(&[INTERRUPT]);
        }
        assert_eq!(child.wait().await.unwrap().code(), Some(130));
        let written = terminal.all().await;
        let (lines, cursor) = screen(&written, 80);
        let message = "interrupted: waiting for requests in flight; press Ctrl-C again after a second t";
        assert_eq!((lines[0].as_str(), lines[1].as_str()), (message, "o exit at once"), "{lines:#?}");
        assert_eq!((count(&lines, "dead letters"), cursor), (1, (lines.len() - 1, 0)), "{lines:#?}");
        assert!(!written.contains("?25"), "the cursor is always visible: {written:?}");
        fake.release_held();
        fake.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_does_not_begin_leaves_its_error_alone() {
    let terminal = Terminal::new();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["load", "none.ndjson", "--index", "docs", "--to", "http://127.0.0.1:9"].map(str::to_owned);
    let mut child = terminal.start(folder.path(), &arguments, &[]);
    assert_ne!(child.wait().await.unwrap().code(), Some(0));
    let (lines, _) = screen(&terminal.all().await, 80);
    assert!(lines[0].starts_with("error[") && count(&lines, "opening") == 0, "{lines:#?}");
}

/// The next picture has the width of the terminal.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_may_be_resized() {
    let fake = fake([]).await;
    let (folder, arguments) = load(&fake);
    let terminal = Terminal::new();
    terminal.resize(120, 24);
    let child = terminal.start(folder.path(), &arguments, &[("NO_COLOR", "1")]);
    terminal.listens().await;
    terminal.shows("docs/s").await;
    terminal.press(b"p");
    terminal.shows("paused: by hand").await;
    terminal.resize(40, 24);
    terminal.forget();
    terminal.press(b"p");
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    let written = terminal.all().await;
    let last = written.rsplit("\x1b[?7l").next().unwrap().replace("\x1b[K", "");
    let rows: Vec<&str> = last.split("\x1b[J").next().unwrap().lines().collect();
    assert!(rows.len() == 5 && rows.iter().all(|row| row.chars().count() <= 40), "{rows:#?}");
}

/// A terminal that cannot move its cursor gets lines, as a log does.
#[tokio::test(flavor = "multi_thread")]
async fn a_dumb_terminal_gets_lines() {
    let fake = fake([]).await;
    let (folder, arguments) = load(&fake);
    let terminal = Terminal::new();
    let child = terminal.start(folder.path(), &arguments, &[("TERM", "dumb")]);
    let output = child.wait_with_output().await.unwrap();
    assert_eq!((output.status.code(), terminal.all().await.contains('\x1b')), (Some(0), false));
}

/// A load of a second has no line in a log. A pause is told at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_has_no_line_without_news() {
    let fake = fake([]).await;
    let (folder, mut arguments) = load(&fake);
    arguments.push("--json".to_owned());
    let output: Output =
        common::command(env!("CARGO_BIN_EXE_inrush"), folder.path()).args(&arguments).output().await.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["docs_created"].as_u64(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(DOCS), ""));
}
