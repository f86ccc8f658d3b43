//! A broker that ends with the process of the tests.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};

use crate::topic::Topic;

/// The broker of all tests that leave it alone.
static SHARED: OnceLock<Broker> = OnceLock::new();

pub(crate) struct Broker {
    pub(crate) address: String,
    /// The listeners that want a login or have TLS, by their names.
    pub(crate) logins: BTreeMap<String, String>,
    child: Child,
    folder: tempfile::TempDir,
}

pub(crate) fn shared() -> &'static Broker {
    SHARED.get_or_init(Broker::start)
}

impl Broker {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (child, address, _) = run(folder.path(), &[]);
        Broker { address, logins: BTreeMap::new(), child, folder }
    }

    /// One that has listeners with logins and TLS, too.
    pub(crate) fn with_logins() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (child, address, output) = run(folder.path(), &["", "logins"]);
        let lines = output.lines().take(5).map(|line| line.unwrap());
        let logins = lines.map(|line| line.split_once(' ').map(|(name, at)| (name.to_owned(), at.to_owned())).unwrap());
        let logins = logins.collect();
        Broker { address, logins, child, folder }
    }

    /// The file with the certificate of its authority.
    pub(crate) fn authority(&self) -> String {
        self.folder.path().join("ca.pem").to_str().unwrap().to_owned()
    }

    /// Kills the broker, and starts it again with the same data at the same address.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let port = self.address.rsplit(':').next().unwrap().to_owned();
        self.child = run(self.folder.path(), &[&port]).0;
    }

    fn stop(&mut self) {
        // The script ends the broker when its input is closed.
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }

    /// A new topic.
    pub(crate) fn topic(&self, partitions: i32) -> Topic {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("topic-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.create(&name, partitions);
        Topic::new(&self.address, &name)
    }

    fn create(&self, name: &str, partitions: i32) {
        let new = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        let made = self.administer(async |admin| admin.create_topics([&new], &AdminOptions::new()).await);
        made.into_iter().for_each(|made| drop(made.unwrap()));
    }

    /// Deletes a topic, and creates another one of its name.
    pub(crate) fn create_again(&self, topic: &Topic, partitions: i32) {
        let gone = self.administer(async |admin| admin.delete_topics(&[&topic.name], &AdminOptions::new()).await);
        gone.into_iter().for_each(|gone| drop(gone.unwrap()));
        self.create(&topic.name, partitions);
    }

    /// Deletes the records of partition 0 before an offset.
    pub(crate) fn delete_before(&self, topic: &Topic, offset: i64) {
        let mut before = TopicPartitionList::new();
        before.add_partition_offset(&topic.name, 0, Offset::Offset(offset)).unwrap();
        let deleted = self.administer(async |admin| admin.delete_records(&before, &AdminOptions::new()).await);
        deleted.elements().iter().for_each(|element| element.error().unwrap());
    }

    fn administer<T>(&self, work: impl AsyncFnOnce(&AdminClient<DefaultClientContext>) -> KafkaResult<T>) -> T {
        let admin = ClientConfig::new().set("bootstrap.servers", &self.address).create().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work(&admin)).unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(folder: &Path, arguments: &[&str]) -> (Child, String, BufReader<ChildStdout>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka.sh");
    let mut command = Command::new(script);
    command.arg(folder).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut address = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut address).unwrap();
    assert!(!address.is_empty(), "the broker does not start; see {}", folder.display());
    (child, address.trim_end().to_owned(), output)
}
