//! A broker of Kafka that the tests start, and that can be killed.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::server::delete_at_end;

/// How long a question may take.
const ANSWER: Duration = Duration::from_secs(10);

pub struct Broker {
    child: Child,
    pub address: String,
    folder: tempfile::TempDir,
}

/// The broker of all tests that leave it alone. It ends with the process of the tests.
pub fn shared() -> &'static Broker {
    static SHARED: OnceLock<Broker> = OnceLock::new();
    SHARED.get_or_init(|| {
        let broker = Broker::start();
        delete_at_end(broker.folder.path());
        broker
    })
}

impl Broker {
    pub fn start() -> Broker {
        let folder = tempfile::tempdir().unwrap();
        let (child, address, _) = run(folder.path(), &[]);
        Broker { child, address, folder }
    }

    /// One that has a listener as Amazon MSK has it, too. Returns its address and the file with the
    /// certificate of its authority.
    pub fn with_iam() -> (Broker, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let (child, address, mut lines) = run(folder.path(), &["", "logins"]);
        let iam = lines.find_map(|line| line.unwrap().strip_prefix("iam ").map(str::to_owned)).unwrap();
        let authority = folder.path().join("ca.pem").to_str().unwrap().to_owned();
        (Broker { child, address, folder }, iam, authority)
    }

    /// Kills the broker, and starts it again with its data at the same address.
    pub fn kill(&mut self) {
        let mut input = self.child.stdin.take().unwrap();
        input.write_all(b"kill\n").unwrap();
        self.child.wait().unwrap();
        let port = self.address.rsplit(':').next().unwrap().to_owned();
        self.child = run(self.folder.path(), &[&port]).0;
    }

    pub async fn make_topic(&self, name: &str, partitions: i32) {
        let admin: AdminClient<DefaultClientContext> = self.config().create().unwrap();
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for made in admin.create_topics([&topic], &AdminOptions::new()).await.unwrap() {
            made.unwrap();
        }
    }

    /// A configuration of a client of this broker.
    pub fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address);
        config
    }

    /// The records that a group has not committed. `None` where the broker does not answer.
    pub fn lag(&self, group: &str, topic: &str, partitions: i32) -> Option<i64> {
        let reader: BaseConsumer = self.config().set("group.id", group).create().unwrap();
        let mut list = TopicPartitionList::new();
        for partition in 0..partitions {
            list.add_partition(topic, partition);
        }
        let committed = reader.committed_offsets(list, ANSWER).ok()?;
        let mut lag = 0;
        for element in committed.elements() {
            let (_, end) = reader.fetch_watermarks(topic, element.partition(), ANSWER).ok()?;
            lag += match element.offset() {
                Offset::Offset(offset) => end - offset,
                _ => end,
            };
        }
        Some(lag)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // The script ends the broker when its input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn run(folder: &Path, arguments: &[&str]) -> (Child, String, Lines<BufReader<ChildStdout>>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka.sh");
    let mut command = Command::new(script);
    command.arg(folder).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap_or_else(|| panic!("the broker does not start; see {}", folder.display()));
    (child, address.unwrap(), lines)
}
