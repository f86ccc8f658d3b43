//! A load that runs for long: its lines of progress, and its end at a signal.

use std::process::Stdio;

use inrush_fake::{Fault, Faults, Rule};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use crate::common::{check, fake, folder_with, inrush, lines};

fn held() -> Rule {
    Rule::new(Fault::HoldBeforeApplying).path("_bulk")
}

#[tokio::test]
async fn progress_is_reported_in_lines_and_the_report_is_the_last_one() {
    let fake = fake([held()]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--id", "id", "--quiet", "--report-every", "20ms"];
    let mut child = inrush(folder.path(), &load).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut found: Vec<Value> = Vec::new();
    // The load waits for the cluster meanwhile.
    while found.len() < 3 || found.last().is_some_and(|line| line["in_flight"] == 0) {
        let mut line = String::new();
        assert!(output.read_line(&mut line).await.unwrap() > 0, "{found:?}");
        found.push(serde_json::from_str(&line).unwrap());
    }
    let waiting = found.last().unwrap();
    assert_eq!(
        (&waiting["phase"], &waiting["docs_waiting"], &waiting["docs_read"]),
        (&"loading".into(), &10.into(), &0.into())
    );
    fake.set_faults(Faults::default());
    fake.release_held();
    let mut rest = String::new();
    output.read_to_string(&mut rest).await.unwrap();
    found.extend(rest.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    assert!(child.wait().await.unwrap().success());
    let (report, progress) = found.split_last().unwrap();
    assert_eq!((&report["status"], &report["docs_created"]), (&"complete".into(), &10.into()));
    assert!(progress.iter().all(|line| line["phase"].is_string() && line.get("status").is_none()), "{progress:?}");
}

#[tokio::test]
async fn a_signal_ends_a_load_whose_cluster_is_away_within_the_grace() {
    let fake = fake([held()]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    let load = ["load", "a.ndjson", "--index", "docs", "--to", &to, "--id", "id", "--json", "--grace", "500ms"];
    let child = inrush(folder.path(), &load).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    fake.wait_for_held(1).await;
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let (stdout, _) = check(&child.wait_with_output().await.unwrap(), 130);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&report["status"], &report["docs_unknown"]), (&"interrupted".into(), &10.into()), "{report}");
}
