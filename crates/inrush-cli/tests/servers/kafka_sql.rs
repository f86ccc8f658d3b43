//! Queries over windows of a topic of a real broker, while an instance is killed and others take
//! over: the index is the same as without that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use inrush_fake::{FakeCluster, FakeConfig};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::broker::Broker;
use crate::program;

const PARTITIONS: i32 = 4;
const TOPIC: &str = "sales";
const TOWNS: u32 = 7;
const PRODUCTS: u32 = 50;

/// Records of each partition in a round.
const ROUND: u32 = 5_000;

const ROUNDS: u32 = 4;

/// How long a test waits for what has to come.
const LONGEST: Duration = Duration::from_secs(120);

/// Each record with the country of its town.
const ENRICHED: &str =
    "SELECT concat(part, '-', at) AS id, product, n, country FROM input LEFT JOIN towns USING (town)";

/// The last number of each product, which is in one partition.
const LATEST: &str = "SELECT product AS id, max(n) AS n, count(*) AS records FROM input GROUP BY product";

/// Writes a round. One record of each partition is no JSON.
fn write(broker: &Broker, round: u32) {
    let producer: BaseProducer = broker.config().create().unwrap();
    for number in round * ROUND..(round + 1) * ROUND {
        for partition in 0..PARTITIONS {
            let product = format!("{partition}-{}", number % PRODUCTS);
            let value = match number % ROUND {
                17 => "{\"product\":".to_owned(),
                _ => format!("{{\"product\":\"{product}\",\"town\":\"t{}\",\"n\":{number}}}", number % TOWNS),
            };
            let record = BaseRecord::<str, str>::to(TOPIC).partition(partition).key(&product).payload(&value);
            producer.send(record).map_err(|(error, _)| error).unwrap();
        }
    }
    producer.flush(LONGEST).unwrap();
}

/// A query over the topic, and its index.
struct Query {
    index: &'static str,
    sql: &'static str,
    arguments: Vec<String>,
}

fn start(broker: &Broker, fake: &FakeCluster, query: &Query, folder: &Path, number: usize) -> Child {
    let own = folder.join(format!("{}-{number}", query.index));
    std::fs::create_dir_all(&own).unwrap();
    let errors = std::fs::File::options().create(true).append(true).open(own.join("errors")).unwrap();
    program::inrush()
        .args(["load", &format!("kafka://{}/{TOPIC}", broker.address), "--index", query.index, "--json"])
        .args(["--to", &fake.urls()[0], "--sql", query.sql, "--id", "id", "--coalesce", "200ms", "--member", ""])
        .args(["--kafka-option", "session.timeout.ms=6000", "--kafka-option", "heartbeat.interval.ms=1000"])
        .args(&query.arguments)
        .arg("--state")
        .arg(own.join("state"))
        .current_dir(&own)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap()
}

fn messages(folder: &Path) -> String {
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let errors = folders.filter_map(|path| std::fs::read_to_string(path.join("errors")).ok());
    errors.collect::<Vec<_>>().join("\n")
}

fn wait_until_committed(broker: &Broker, index: &str, folder: &Path) {
    let until = Instant::now() + LONGEST;
    while broker.lag(&format!("inrush-{index}"), TOPIC, PARTITIONS) != Some(0) {
        assert!(Instant::now() < until, "{index} does not come to the end: {}", messages(folder));
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Ends an instance in order.
fn stop(child: Child, folder: &Path) -> Value {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // 4: the count could not be verified, as another was killed.
    assert!(matches!(output.status.code(), Some(4 | 130 | 143)), "{}: {text}{}", output.status, messages(folder));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn documents(fake: &FakeCluster, index: &str) -> BTreeMap<String, Value> {
    let documents = fake.documents(index).into_iter();
    documents.map(|document| (document.id.clone(), document.json())).collect()
}

/// Rounds of records are written, while in each an instance is killed and started again.
fn follow(broker: &Broker, fake: &FakeCluster, queries: &[Query], folder: &Path) -> Vec<Value> {
    let mut instances: Vec<Vec<Child>> =
        queries.iter().map(|query| (0..2).map(|number| start(broker, fake, query, folder, number)).collect()).collect();
    for round in 0..ROUNDS {
        write(broker, round);
        let victim = round as usize % 2;
        for (query, instances) in queries.iter().zip(&mut instances) {
            // Some of the round is in the index then, and some is not.
            std::thread::sleep(Duration::from_millis(700));
            instances[victim].kill().unwrap();
            instances[victim].wait().unwrap();
            instances[victim] = start(broker, fake, query, folder, victim);
        }
    }
    queries.iter().for_each(|query| wait_until_committed(broker, query.index, folder));
    instances.into_iter().flatten().map(|child| stop(child, folder)).collect()
}

fn queries(folder: &Path) -> Vec<Query> {
    let towns: PathBuf = folder.join("towns.csv");
    let rows: String = (0..TOWNS - 1).map(|town| format!("t{town},C{}\n", town % 3)).collect();
    std::fs::write(&towns, format!("town,country\n{rows}")).unwrap();
    let table = format!("towns={}", towns.display());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        Query {
            index: "enriched",
            sql: ENRICHED,
            arguments: words(&["--table", &table, "--with", "partition=part,offset=at"]),
        },
        Query { index: "latest", sql: LATEST, arguments: Vec::new() },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_that_are_read_again_give_the_same_index() {
    let fake = FakeCluster::start(FakeConfig::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let broker = tokio::task::spawn_blocking(Broker::start).await.unwrap();
    broker.make_topic(TOPIC, PARTITIONS).await;
    let path = folder.path().to_owned();
    let fake = tokio::task::spawn_blocking(move || {
        let reports = follow(&broker, &fake, &queries(&path), &path);
        for report in reports {
            assert_ne!(report["status"], "failed", "{report}");
        }
        fake
    })
    .await
    .unwrap();
    let mut expected = BTreeMap::new();
    let mut last = BTreeMap::new();
    for number in (0..ROUNDS * ROUND).filter(|number| number % ROUND != 17) {
        for partition in 0..PARTITIONS {
            let product = format!("{partition}-{}", number % PRODUCTS);
            let mut document = json!({"id": format!("{partition}-{number}"), "product": product, "n": number});
            if number % TOWNS < TOWNS - 1 {
                document["country"] = json!(format!("C{}", number % TOWNS % 3));
            }
            expected.insert(format!("{partition}-{number}"), document);
            last.insert(product, number);
        }
    }
    let enriched = documents(&fake, "enriched");
    assert_eq!(enriched.len(), expected.len(), "{}", messages(folder.path()));
    assert!(enriched == expected);
    let latest = documents(&fake, "latest");
    let numbers: BTreeMap<String, u32> =
        latest.iter().map(|(id, document)| (id.clone(), document["n"].as_u64().unwrap() as u32)).collect();
    assert_eq!(numbers, last);
}
