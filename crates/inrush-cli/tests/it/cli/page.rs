//! The live page of a load, a comparison and a sweep, and metrics as a file.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;

use inrush_commands::bake::BakeBuilder;
use inrush_commands::options::Loader;
use inrush_fake::{Fault, Faults, Rule};
use inrush_front::embed::{BakesPage, Load, Secret};
use inrush_sources::push::Document;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

use crate::common::{check, fake, folder_with, inrush, lines, run};

/// The body of a page.
async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{path}: {text}");
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Whether no page answers. A process that another test starts at this moment holds the listening
/// socket until it runs its program: a connection is accepted by the system, and then reset.
async fn is_closed(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return true };
    let _ = stream.write_all(b"GET /snapshot HTTP/1.1\r\n\r\n").await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer.is_empty()
}

/// A free port of a loopback address that only one test uses, so that nothing else listens there
/// once its page has ended.
fn free_port(address: [u8; 4]) -> SocketAddr {
    TcpListener::bind(SocketAddr::from((address, 0))).unwrap().local_addr().unwrap()
}

/// Starts a command. Returns the address of its page.
async fn start(folder: &Path, arguments: &[&str]) -> (Child, SocketAddr) {
    let mut child = inrush(folder, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = loop {
        let line = told.next_line().await.unwrap().unwrap();
        if let Some(url) = line.strip_prefix("live page: http://") {
            break url.trim_end_matches('/').parse().unwrap();
        }
    };
    // The command writes on.
    tokio::spawn(async move { while let Ok(Some(_)) = told.next_line().await {} });
    (child, address)
}

#[tokio::test]
async fn a_page_shows_the_load_and_ends_with_it() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("_bulk")]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    let to = fake.url();
    // A source after the flag is no address.
    let load = ["load", "--page", "a.ndjson", "--index", "docs", "--to", &to, "--textfile", ".", "--json"];
    let (child, address) = start(folder.path(), &load).await;
    fake.wait_for_held(1).await;
    assert!(get(address, "/").await.contains("<html"));
    assert_eq!(get(address, "/healthz").await, "ok\n");
    let snapshot: Value = serde_json::from_str(&get(address, "/snapshot").await).unwrap();
    let load = &snapshot["loads"][0];
    assert_eq!((&load["start"]["name"], &load["start"]["sources"]), (&"docs".into(), &json!(["a.ndjson"])));
    assert!(get(address, "/metrics").await.contains("inrush_documents_total{load=\"docs\",outcome=\"created\"} 0\n"));
    fake.set_faults(Faults::default());
    fake.release_held();
    let (stdout, _) = check(&child.wait_with_output().await.unwrap(), 0);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["docs_created"], 10);
    assert!(is_closed(address).await);
    let metrics = std::fs::read_to_string(folder.path().join("inrush-docs.prom")).unwrap();
    assert!(metrics.contains("inrush_documents_total{load=\"docs\",outcome=\"created\"} 10\n"), "{metrics}");
    assert!(metrics.contains("inrush_load_exit_status{load=\"docs\"} 0\n"), "{metrics}");
}

#[tokio::test]
async fn a_page_that_cannot_be_shown_is_refused_before_anything_is_sent() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(10));
    std::fs::write(folder.path().join("short"), "secret\n").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--page={}", taken.local_addr().unwrap());
    let to = fake.url();
    for (flags, expected) in [
        (&[taken.as_str()][..], "choose another port"),
        (&["--page=0.0.0.0:0"], "needs a token; name a file with one by --page-token-file"),
        (&["--page", "--page-token-file", "short"], "expected at least 16"),
        (&["--page-token-file", "short"], "--page-token-file needs --page"),
        (&["--page=example.com"], "expected a port such as 8080"),
        (&["--textfile", "no/such/folder"], "expected an existing folder"),
        (&["--page", "--dry-run"], "--page does not work with a dry run"),
    ] {
        let load = ["load", "a.ndjson", "--index", "docs", "--to", &to];
        let (_, stderr) = check(&run(folder.path(), &[&load, flags].concat()).await, 2);
        assert!(stderr.contains(expected) && !stderr.contains("secret"), "{flags:?}: {stderr}");
    }
    assert!(fake.bulk_requests().is_empty());
}

/// As the Python package calls it. The page ends with the load, and the process goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_has_a_page_as_long_as_its_load_runs() {
    let fake = fake([]).await;
    let free = free_port([127, 0, 0, 11]);
    let folder = tempfile::tempdir().unwrap();
    let options = json!({"index": "docs", "to": fake.url(), "page": free.to_string(), "textfile": folder.path()});
    let Value::Object(options) = options else { panic!() };
    let (sender, begun) = Load::new(options).unwrap().start_fed("python", None, &|_| {}).await.unwrap();
    assert_eq!(begun.page, Some(free));
    assert!(get(free, "/snapshot").await.contains("\"name\":\"docs\""));
    sender.send(Document { body: "{\"a\":1}".into(), meta: Default::default() }).await.unwrap();
    drop(sender);
    assert_eq!(begun.load.finish().await.counts.docs_created, 1);
    assert!(is_closed(free).await);
    // A program that ends now has lost nothing.
    let metrics = std::fs::read_to_string(folder.path().join("inrush-docs.prom")).unwrap();
    assert!(metrics.contains("inrush_load_exit_status{load=\"docs\"} 0\n"), "{metrics}");
}

/// A bake that a program starts, and stops while it waits for its target.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_has_a_page_as_long_as_its_bake_runs() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("/")]).await;
    let (folder, file) = folder_with("a.ndjson", &lines(10));
    let free = free_port([127, 0, 0, 12]);
    let load =
        Loader::builder().source(file).index("docs").to(fake.url()).page(free.to_string()).textfile(folder.path());
    let bake = BakeBuilder::new(load).repository_path("/shared").start().await.unwrap();
    fake.wait_for_held(1).await;
    let snapshot: Value = serde_json::from_str(&get(free, "/snapshot").await).unwrap();
    assert_eq!(snapshot["loads"][0]["start"]["name"], "docs");
    bake.stop_handle().stop();
    assert!(bake.finish().await.unwrap_err().is_interrupted());
    assert!(is_closed(free).await);
    let metrics = std::fs::read_to_string(folder.path().join("inrush-docs.prom")).unwrap();
    assert!(metrics.contains("inrush_documents_total{load=\"docs\""), "{metrics}");
}

/// As `inrush.spark.bake` has it: the job loads nothing itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_bakes_in_other_processes() {
    let free = free_port([127, 0, 0, 13]);
    let options = |options| match options {
        Value::Object(options) => options,
        other => panic!("{other}"),
    };
    let token = || Secret::new("a-token-of-the-test".to_owned());
    let page = BakesPage::start("trips", options(json!({"page": free.to_string()})), token(), &|_| {}).await.unwrap();
    assert_eq!(page.address(), Some(free));
    let report = json!({"name": "part 1", "run_id": "a", "phase": "loading", "counts": {"docs_read": 7}}).to_string();
    let send = |token: &str| {
        let head = format!("POST /parts HTTP/1.1\r\nHost: {free}\r\nAuthorization: Bearer {token}");
        let length = report.len();
        format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{report}")
    };
    for (token, expected) in [("another", "HTTP/1.1 40"), ("a-token-of-the-test", "HTTP/1.1 200")] {
        let mut stream = TcpStream::connect(free).await.unwrap();
        stream.write_all(send(token).as_bytes()).await.unwrap();
        let mut answer = vec![0; 64];
        let length = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with(expected), "{answer}");
    }
    let snapshot: Value = serde_json::from_str(&get(free, "/snapshot").await).unwrap();
    let load = &snapshot["loads"][0];
    assert_eq!((&load["start"]["name"], &load["state"]["parts"][0]["docs"]), (&"trips".into(), &7.into()), "{load}");
    assert_eq!((&load["state"]["phase"], &load["state"]["counts"]["docs_read"]), (&"loading".into(), &7.into()));
    page.end(None).await;
    assert!(is_closed(free).await);
    let refused = BakesPage::start("trips", options(json!({"page": "0.0.0.0:0"})), token(), &|_| {}).await.unwrap_err();
    assert!(refused.message.contains("needs a token"), "{refused:?}");
}

#[tokio::test]
async fn a_comparison_has_a_page_and_metrics_of_its_own() {
    let fake = fake([]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(300));
    let to = fake.url();
    let ids = ["a.ndjson", "--index", "docs", "--id-from", "position", "--to", &to];
    check(&run(folder.path(), &[&["load"], &ids[..]].concat()).await, 0);
    std::fs::write(folder.path().join("a.ndjson"), lines(301)).unwrap();
    // Lookups are held until the page was read.
    fake.set_faults(Faults::new([Rule::new(Fault::HoldBeforeApplying).path("_mget")]));
    let verify = [&["verify"], &ids[..], &["--page", "--textfile", ".", "--json"]].concat();
    let (child, address) = start(folder.path(), &verify).await;
    fake.wait_for_held(1).await;
    let snapshot: Value = serde_json::from_str(&get(address, "/snapshot").await).unwrap();
    let start = &snapshot["loads"][0]["start"];
    assert_eq!(
        (&start["kind"], &start["name"], &start["sources"]),
        (&"verify".into(), &"docs".into(), &json!(["a.ndjson"]))
    );
    assert_eq!(snapshot["loads"][0]["state"]["phase"], "verifying");
    fake.set_faults(Faults::default());
    fake.release_held();
    let (stdout, _) = check(&child.wait_with_output().await.unwrap(), 4);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&report["docs_compared"], &report["docs_missing"]), (&301.into(), &1.into()), "{report}");
    let metrics = std::fs::read_to_string(folder.path().join("inrush-verify-docs.prom")).unwrap();
    for line in [
        "inrush_compared_documents_total{load=\"docs\",result=\"equal\"} 300",
        "inrush_compared_documents_total{load=\"docs\",result=\"missing\"} 1",
        "inrush_load_exit_status{load=\"docs\"} 4",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    assert!(!metrics.contains("inrush_documents_total"), "{metrics}");
}

#[tokio::test]
async fn a_sweep_shows_its_runs_and_the_current_load() {
    let fake = fake([Rule::new(Fault::HoldBeforeApplying).path("_bulk").first(1)]).await;
    let (folder, _) = folder_with("a.ndjson", &lines(100));
    let to = fake.url();
    let sweep = ["sweep", "a.ndjson", "--batch-docs", "10,100", "--in-flight", "1", "--repeat", "1", "--warm-up", "0"];
    let (child, address) =
        start(folder.path(), &[&sweep[..], &["--to", &to, "--out", "out", "--page", "--json"]].concat()).await;
    fake.wait_for_held(1).await;
    let snapshot: Value = serde_json::from_str(&get(address, "/snapshot").await).unwrap();
    let (sweep, loads) = (&snapshot["sweep"], snapshot["loads"].as_array().unwrap());
    assert_eq!((sweep["cells"].as_array().unwrap().len(), &sweep["now"]["warming_up"]), (3, &true.into()));
    assert_eq!((loads.len(), &loads[0]["start"]["name"]), (1, &"inrush-sweep".into()));
    fake.release_held();
    let (stdout, _) = check(&child.wait_with_output().await.unwrap(), 0);
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert!(result["cells"].as_array().unwrap().iter().all(|cell| cell["result"]["docs"] == 100), "{result}");
    assert!(is_closed(address).await);
}
