//! A broker that ends with the process of the tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::topic::Topic;

/// The broker of all tests that leave it alone.
static SHARED: OnceLock<Broker> = OnceLock::new();

pub(crate) struct Broker {
    pub(crate) address: String,
    child: Child,
    folder: tempfile::TempDir,
}

pub(crate) fn shared() -> &'static Broker {
    SHARED.get_or_init(Broker::start)
}

impl Broker {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (child, address) = run(folder.path(), None);
        Broker { address, child, folder }
    }

    /// Kills the broker, and starts it again with the same data at the same address.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let port = self.address.rsplit(':').next().unwrap().to_owned();
        self.child = run(self.folder.path(), Some(&port)).0;
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
        let admin: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &self.address).create().unwrap();
        let new = NewTopic::new(&name, partitions, TopicReplication::Fixed(1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let made = runtime.block_on(admin.create_topics([&new], &AdminOptions::new())).unwrap();
        made.into_iter().for_each(|made| drop(made.unwrap()));
        Topic::new(&self.address, &name)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(folder: &Path, port: Option<&str>) -> (Child, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka.sh");
    let mut command = Command::new(script);
    command.arg(folder).args(port).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(!address.is_empty(), "the broker does not start; see {}", folder.display());
    (child, address.trim_end().to_owned())
}
