//! A topic of a real broker feeds a data stream of a real OpenSearch, also while the stream rolls
//! over.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::broker::{self, Broker};
use crate::program;
use crate::server::{Server, Version};

const PARTITIONS: i32 = 2;
const TOPIC: &str = "readings";
const STREAM: &str = "kafka_stream";

/// Records of a partition before the rollover, and after it.
const HALF: u32 = 1_000;

/// All records of a half.
const RECORDS: u64 = HALF as u64 * PARTITIONS as u64;

/// How long a test waits for what has to come.
const LONGEST: Duration = Duration::from_secs(120);

/// Writes a half. No record has a field `@timestamp`, and half of them have no key.
fn write(broker: &Broker) {
    let producer: BaseProducer = broker.config().create().unwrap();
    for number in 0..HALF {
        for partition in 0..PARTITIONS {
            let (key, value) = (format!("sensor-{}", number % 7), format!("{{\"value\":{number}}}"));
            let mut record = BaseRecord::<str, str>::to(TOPIC).partition(partition).payload(&value);
            record.key = Some(&key[..]).filter(|_| number % 2 == 0);
            producer.send(record).map_err(|(error, _)| error).unwrap();
        }
    }
    producer.flush(LONGEST).unwrap();
}

fn load(broker: &Broker, url: &str, folder: &Path, group: &str) -> Command {
    let mut command = program::inrush();
    command
        .args(["load", &format!("kafka://{}/{TOPIC}", broker.address), "--index", STREAM, "--to", url, "--json"])
        .args(["--id-from", "position", "--with", "timestamp=@timestamp", "--group", group, "--member", ""])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn wait_until_committed(broker: &Broker, group: &str) {
    let until = Instant::now() + LONGEST;
    while broker.lag(group, TOPIC, PARTITIONS) != Some(0) {
        assert!(Instant::now() < until, "the group {group} does not come to the end");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The report of a load that has ended with one of these codes.
#[track_caller]
fn report(output: &Output, codes: &[i32]) -> Value {
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{}: {text}{errors}", output.status);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_feeds_a_data_stream_while_it_rolls_over() {
    let server = Server::shared(Version::OpenSearch3).await;
    let (url, folder) = (server.url(), tempfile::tempdir().unwrap());
    let template = json!({"index_patterns": [format!("{STREAM}*")], "data_stream": {},
        "template": {"settings": {"index.number_of_replicas": 0}}});
    server.send("PUT", &format!("/_index_template/{STREAM}"), template).await;
    let broker = tokio::task::spawn_blocking(broker::shared).await.unwrap();
    broker.make_topic(TOPIC, PARTITIONS).await;
    let follower = load(broker, &url, folder.path(), "follower").spawn().unwrap();
    let half = async || {
        let work = move || {
            write(broker);
            wait_until_committed(broker, "follower");
        };
        tokio::task::spawn_blocking(work).await.unwrap();
    };
    half().await;
    assert_eq!(server.count(STREAM).await, RECORDS);
    server.send("POST", &format!("/{STREAM}/_rollover"), Value::Null).await;
    half().await;
    kill_process(Pid::from_child(&follower), Signal::TERM).unwrap();
    let output = tokio::task::spawn_blocking(|| follower.wait_with_output().unwrap()).await.unwrap();
    let done = report(&output, &[130, 143]);
    let counts = ["docs_read", "docs_created", "docs_dead_lettered"].map(|name| done[name].as_u64().unwrap());
    assert_eq!(counts, [2 * RECORDS, 2 * RECORDS, 0], "{done}");
    assert_eq!(done["indices"].as_object().unwrap().len(), 2, "{done}");
    assert_eq!(server.count(STREAM).await, 2 * RECORDS);
    let times = json!({"query": {"range": {"@timestamp": {"gte": "now-1h"}}}});
    let found = server.send("POST", &format!("/{STREAM}/_count"), times).await;
    assert_eq!(found["count"], 2 * RECORDS, "{found}");

    // Another group reads again what the newest index has.
    let mut again = load(broker, &url, folder.path(), "again");
    again.args(["--until", "latest", "--from", &format!("0={HALF},1={HALF}")]);
    let output = tokio::task::spawn_blocking(move || again.output().unwrap()).await.unwrap();
    let done = report(&output, &[0]);
    let counts = ["docs_read", "docs_conflicting", "docs_dead_lettered"].map(|name| done[name].as_u64().unwrap());
    assert_eq!(counts, [RECORDS, RECORDS, 0], "{done}");
    assert_eq!(server.count(STREAM).await, 2 * RECORDS);
    server.send("DELETE", &format!("/_data_stream/{STREAM}"), Value::Null).await;
    server.send("DELETE", &format!("/_index_template/{STREAM}"), Value::Null).await;
    server.stop().await;
}
