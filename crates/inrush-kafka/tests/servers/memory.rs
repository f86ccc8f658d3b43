//! The memory of a process that reads many partitions.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use inrush_kafka::{KafkaAddress, KafkaOptions, KafkaSource, Until};
use inrush_sources::{Source, Step};

use crate::broker::shared;

/// The address of the topic, for the test which runs again in a process of its own.
const ADDRESS: &str = "INRUSH_KAFKA_MEMORY";

const PARTITIONS: i32 = 200;
const RECORDS: usize = 1_500;
const VALUE_BYTES: usize = 1_000;
/// Peaks of 148 to 163 MiB were seen.
const MEMORY_MAX_MIB: u64 = 192;

/// A figure of this process, MiB.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[test]
fn two_hundred_partitions_stay_below_192_mib() {
    if let Some(address) = std::env::var_os(ADDRESS) {
        read(address.to_str().unwrap());
        return;
    }
    let topic = shared().topic(PARTITIONS);
    let value = format!("{{\"text\":\"{}\"}}", "x".repeat(VALUE_BYTES));
    for partition in 0..PARTITIONS {
        topic.produce(partition, (0..RECORDS).map(|_| ("key", Some(value.as_str()))));
    }
    let mut reader = Command::new(std::env::current_exe().unwrap());
    reader.args(["--exact", "memory::two_hundred_partitions_stay_below_192_mib", "--nocapture"]);
    reader.env(ADDRESS, format!("kafka://{}/{}", topic.brokers, topic.name));
    let output = reader.stdout(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(output.status.success());
}

fn read(address: &str) {
    let mut options = KafkaOptions::new(KafkaAddress::parse(address).unwrap());
    (options.member, options.until) = (Some(String::new()), Some(Until::Latest));
    let mut source = KafkaSource::open(options).unwrap();
    let before = status("VmRSS");
    let feedback = source.feedback().unwrap();
    let (mut settled, mut count, mut waits) = (BTreeMap::new(), 0, 0);
    loop {
        match source.next(1 << 20).unwrap() {
            Step::Chunk(chunk) => {
                if waits == 0 {
                    waits = wait_until_full();
                }
                let block = chunk.into_block();
                count += block.records.len();
                let end = block.origin.first_doc + block.lines;
                settled.insert((block.origin.source, block.origin.partition), end);
            }
            Step::Idle => feedback.settled(&settled),
            Step::End => break,
        }
    }
    feedback.settled(&settled);
    assert_eq!(count, RECORDS * PARTITIONS as usize);
    let peak = status("VmHWM");
    println!("{PARTITIONS} partitions: {before} MiB before, peak {peak} MiB, {waits} waits for the queues");
    assert!(peak < MEMORY_MAX_MIB, "{peak} MiB");
}

/// The engine takes nothing until the queues are full, that is until memory grows no more.
fn wait_until_full() -> u32 {
    let (mut last, mut same, mut waits) = (0, 0, 0);
    while same < 10 {
        std::thread::sleep(Duration::from_millis(100));
        let rss = status("VmRSS");
        same = if rss > last { 0 } else { same + 1 };
        last = last.max(rss);
        waits += 1;
    }
    waits
}
