//! Three instances follow a topic of a real Kafka broker into a real OpenSearch, while an instance,
//! the broker or the node is killed in each round. At the end the index has the last record of each
//! key, and deleted keys are gone.
//!
//! `INRUSH_KAFKA_ROUNDS` sets the number of rounds (3), `INRUSH_KAFKA_RECORDS` the records of all
//! rounds (60,000).

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::killing::{Random, number};
use crate::server::{Server, Version};

const PARTITIONS: i32 = 12;
const INSTANCES: usize = 3;
const TOPIC: &str = "events";
const GROUP: &str = "followers";

/// How long the instances may take for the rest after the last round.
const REST: Duration = Duration::from_secs(600);

struct Broker {
    child: Child,
    address: String,
    folder: tempfile::TempDir,
}

impl Broker {
    fn start() -> Broker {
        let folder = tempfile::tempdir().unwrap();
        let (child, address) = run_broker(folder.path(), None);
        Broker { child, address, folder }
    }

    /// Kills the broker, and starts it again with its data at the same address.
    fn kill(&mut self) {
        let mut input = self.child.stdin.take().unwrap();
        input.write_all(b"kill\n").unwrap();
        self.child.wait().unwrap();
        let port = self.address.rsplit(':').next().unwrap().to_owned();
        self.child = run_broker(self.folder.path(), Some(&port)).0;
    }

    async fn make_topic(&self) {
        let admin: AdminClient<DefaultClientContext> = self.config().create().unwrap();
        let topic = NewTopic::new(TOPIC, PARTITIONS, TopicReplication::Fixed(1));
        for made in admin.create_topics([&topic], &AdminOptions::new()).await.unwrap() {
            made.unwrap();
        }
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address);
        config
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // The script ends the broker when its input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn run_broker(folder: &Path, port: Option<&str>) -> (Child, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka.sh");
    let mut child =
        Command::new(script).arg(folder).args(port).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(!address.is_empty(), "the broker does not start; see {}", folder.display());
    (child, address.trim_end().to_owned())
}

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
    let child = Command::new(env!("CARGO_BIN_EXE_inrush"))
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

/// Waits until the group has committed all records. Aborts with the instances' messages otherwise.
fn wait_for_the_rest(broker: &Broker, folder: &Path) {
    let reader: BaseConsumer = broker.config().set("group.id", GROUP).create().unwrap();
    let until = Instant::now() + REST;
    let lag = || -> Option<i64> {
        let mut list = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            list.add_partition(TOPIC, partition);
        }
        let committed = reader.committed_offsets(list, Duration::from_secs(10)).ok()?;
        let mut lag = 0;
        for element in committed.elements() {
            let (_, end) = reader.fetch_watermarks(TOPIC, element.partition(), Duration::from_secs(10)).ok()?;
            lag += match element.offset() {
                Offset::Offset(offset) => end - offset,
                _ => end,
            };
        }
        Some(lag)
    };
    loop {
        let left = lag();
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
    let output = Command::new(env!("CARGO_BIN_EXE_inrush"))
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
    let (rounds, records) = (number("INRUSH_KAFKA_ROUNDS", 3), number("INRUSH_KAFKA_RECORDS", 60_000));
    let mut server = Server::own_with(Version::OpenSearch3, 1, |spec| spec.heap_mib = 1024).await;
    let (url, folder) = (server.url(), tempfile::tempdir().unwrap());
    let mut broker = tokio::task::spawn_blocking(Broker::start).await.unwrap();
    broker.make_topic().await;
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
    }
    let path = folder.path().to_owned();
    tokio::task::spawn_blocking(move || {
        wait_for_the_rest(&broker, &path);
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
            sum("docs_failed"),
        );
    })
    .await
    .unwrap();
    server.stop().await;
}
