//! Three instances follow a topic of a real Kafka broker into a real OpenSearch, while an instance,
//! the broker or the node is killed in each round. At the end the index has the last record of each
//! key, and deleted keys are gone.
//!
//! `INRUSH_KAFKA_ROUNDS` sets the number of rounds (3), `INRUSH_KAFKA_RECORDS` the records of all
//! rounds (30,000).

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::broker::Broker;
use crate::killing::{Random, number};
use crate::program;
use crate::server::{Server, Version};

const PARTITIONS: i32 = 12;
const INSTANCES: usize = 3;
const TOPIC: &str = "events";
const GROUP: &str = "followers";

/// How long the instances may take for the rest after the last round.
const REST: Duration = Duration::from_secs(600);

/// Writes records, and remembers the last one of each key.
struct Writer {
    producer: BaseProducer,
    random: Random,
    keys: u64,
    written: u64,
    last: HashMap<u64, Option<String>>,
}

impl Writer {
    fn new(broker: &Broker, keys: u64) -> Writer {
        let producer = broker.config().set("enable.idempotence", "true").create().unwrap();
        Writer { producer, random: Random::new(), keys, written: 0, last: HashMap::new() }
    }

    fn write(&mut self, records: u64) {
        for _ in 0..records {
            let key = self.random.below(self.keys);
            let id = format!("key-{key}");
            let value = format!(
                "{{\"id\":\"{id}\",\"n\":{},\"text\":\"a record of about a hundred and thirty bytes, as events are\"}}",
                self.written
            );
            let value = Some(value).filter(|_| self.random.below(10) > 0);
            let mut record = BaseRecord::<str, str>::to(TOPIC).key(&id);
            if let Some(value) = &value {
                record = record.payload(value);
            }
            while let Err((error, back)) = self.producer.send(record) {
                assert_eq!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull));
                self.producer.poll(Duration::from_millis(50));
                record = back;
            }
            self.written += 1;
            self.last.insert(key, value);
        }
        self.producer.flush(Duration::from_secs(120)).unwrap();
    }
}

/// An instance of `inrush load`, which is started again under its name after a kill.
struct Instance {
    child: Child,
    number: usize,
}

fn start(number: usize, broker: &str, url: &str, folder: &Path) -> Instance {
    let own = folder.join(number.to_string());
    std::fs::create_dir_all(&own).unwrap();
    let errors = std::fs::File::options().create(true).append(true).open(own.join("errors")).unwrap();
    let child = program::inrush()
        .args(["load", &format!("kafka://{broker}/{TOPIC}"), "--index", TOPIC, "--to", url, "--json"])
        .args(["--group", GROUP, "--member", &format!("instance-{number}"), "--state"])
        .arg(own.join("state"))
        .args(["--kafka-option", "session.timeout.ms=6000", "--kafka-option", "heartbeat.interval.ms=1000"])
        .current_dir(&own)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap();
    Instance { child, number }
}

/// Starts instances again that have ended, as a supervisor does. They may end because the cluster
/// or the broker was away when they started, or because a broker that was killed does not know of
/// their last start, and takes them for others with their names.
fn revive(instances: &mut [Instance], broker: &str, url: &str, folder: &Path) {
    for instance in instances {
        if let Some(status) = instance.child.try_wait().unwrap() {
            let text = std::fs::read_to_string(folder.join(instance.number.to_string()).join("errors")).unwrap();
            let error = text.lines().rfind(|line| line.starts_with("error[")).unwrap_or_default();
            let allowed =
                ["was not sent", "got no complete reply", "no answer from", "did not answer", "uses the name of this"];
            assert!(allowed.iter().any(|cause| error.contains(cause)), "{status}: {}", messages(folder));
            println!("instance {} is started again: {error}", instance.number);
            *instance = start(instance.number, broker, url, folder);
        }
    }
}

/// Waits until the group has committed all records. Aborts with the instances' messages otherwise.
fn wait_for_the_rest(broker: &Broker, instances: &mut [Instance], url: &str, folder: &Path) {
    let until = Instant::now() + REST;
    loop {
        revive(instances, &broker.address, url, folder);
        let left = broker.lag(GROUP, TOPIC, PARTITIONS);
        if left == Some(0) {
            return;
        }
        assert!(Instant::now() < until, "{left:?} records are left; {}", messages(folder));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The last messages of each instance.
fn messages(folder: &Path) -> String {
    (0..INSTANCES)
        .map(|number| {
            let text = std::fs::read_to_string(folder.join(number.to_string()).join("errors")).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("\ninstance {number}:\n{}", lines[lines.len().saturating_sub(20)..].join("\n"))
        })
        .collect()
}

/// Ends the instances in order. Returns their reports.
fn stop(instances: Vec<Instance>, folder: &Path) -> Vec<Value> {
    for instance in &instances {
        kill_process(Pid::from_child(&instance.child), Signal::TERM).unwrap();
    }
    let report = |instance: Instance| {
        let Output { status, stdout, .. } = instance.child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&stdout).into_owned();
        // 130: stopped by a signal. 4: the count could not be verified, as others were killed.
        assert!(matches!(status.code(), Some(0 | 4 | 130 | 143)), "{status}: {text}{}", messages(folder));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", messages(folder)))
    };
    instances.into_iter().map(report).collect()
}

/// Compares the index with the last record of each key, by `inrush verify`.
fn verify(last: &HashMap<u64, Option<String>>, url: &str, folder: &Path) {
    let file = folder.join("last.ndjson");
    let text: String = last.values().flatten().flat_map(|value| [value.as_str(), "\n"]).collect();
    std::fs::write(&file, text).unwrap();
    let output = program::inrush()
        .arg("verify")
        .arg(&file)
        .args(["--index", TOPIC, "--id", "id", "--to", url, "--json"])
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{errors}{}", messages(folder));
    println!("verify: {}", text.trim_end());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_has_the_last_record_of_each_key() {
    let (rounds, records) = (number("INRUSH_KAFKA_ROUNDS", 3), number("INRUSH_KAFKA_RECORDS", 30_000));
    let mut server = Server::own_with(Version::OpenSearch3, 1, |spec| spec.heap_mib = 1024).await;
    let (url, folder) = (server.url(), tempfile::tempdir().unwrap());
    let mut broker = tokio::task::spawn_blocking(Broker::start).await.unwrap();
    broker.make_topic(TOPIC, PARTITIONS).await;
    let mut random = Random::new();
    let mut writer = Writer::new(&broker, (records / 10).max(1));
    let mut instances: Vec<Instance> =
        (0..INSTANCES).map(|number| start(number, &broker.address, &url, folder.path())).collect();
    let mut killed = [0; 3];
    for round in 0..rounds {
        let writing = tokio::task::spawn_blocking(move || {
            writer.write(records / rounds);
            writer
        });
        let what = if round < 3 { round } else { random.below(3) };
        killed[what as usize] += 1;
        tokio::time::sleep(Duration::from_millis(500 + random.below(2_000))).await;
        match what {
            0 => {
                let victim = &mut instances[random.below(INSTANCES as u64) as usize];
                victim.child.kill().unwrap();
                victim.child.wait().unwrap();
                *victim = start(victim.number, &broker.address, &url, folder.path());
            }
            1 => {
                broker = tokio::task::spawn_blocking(move || {
                    broker.kill();
                    broker
                })
                .await
                .unwrap();
            }
            _ => {
                server.kill();
                server.restart().await;
            }
        }
        writer = writing.await.unwrap();
        revive(&mut instances, &broker.address, &url, folder.path());
    }
    let path = folder.path().to_owned();
    tokio::task::spawn_blocking(move || {
        wait_for_the_rest(&broker, &mut instances, &url, &path);
        let reports = stop(instances, &path);
        verify(&writer.last, &url, &path);
        let sum = |name: &str| reports.iter().map(|report| report[name].as_u64().unwrap_or_default()).sum::<u64>();
        println!(
            "{} records, {} keys; killed {} instances, {} brokers, {} nodes; the last runs read {}, indexed {}, \
             deleted {}, dead letters {}",
            writer.written,
            writer.last.len(),
            killed[0],
            killed[1],
            killed[2],
            sum("docs_read"),
            sum("docs_indexed"),
            sum("docs_deleted"),
            sum("docs_dead_lettered"),
        );
    })
    .await
    .unwrap();
    server.stop().await;
}
