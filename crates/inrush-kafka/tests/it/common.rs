//! A cluster with a topic, and a reader in the place of the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use inrush_core::{Action, SourceId};
use inrush_kafka::{KafkaAddress, KafkaOptions, KafkaSource, Until};
use inrush_sources::{Feedback, Source, SourceError, Step};
use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};

pub(crate) const TOPIC: &str = "orders";

/// How long a test waits for something that has to come.
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Cluster {
    pub(crate) mock: MockCluster<'static, DefaultProducerContext>,
    producer: BaseProducer,
}

impl Cluster {
    pub(crate) fn new(partitions: i32) -> Self {
        let mock = MockCluster::new(1).unwrap();
        mock.create_topic(TOPIC, partitions, 1).unwrap();
        let producer = ClientConfig::new().set("bootstrap.servers", mock.bootstrap_servers()).create().unwrap();
        Cluster { mock, producer }
    }

    /// Appends records, each with a key and perhaps a value, to a partition.
    pub(crate) fn produce<'a>(&self, partition: i32, records: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) {
        for (key, value) in records {
            let record = BaseRecord::<str, str>::to(TOPIC).partition(partition).key(key);
            let record = match value {
                Some(value) => record.payload(value),
                None => record,
            };
            self.producer.send(record).map_err(|(error, _)| error).unwrap();
        }
        self.producer.flush(LONGEST).unwrap();
    }

    /// Appends records with the numbers `from..to` to each partition, with keys such as `2-17`.
    pub(crate) fn count(&self, partitions: i32, from: u32, to: u32) {
        for partition in 0..partitions {
            let keys: Vec<String> = (from..to).map(|number| format!("{partition}-{number}")).collect();
            self.produce(partition, keys.iter().map(|key| (key.as_str(), Some("{\"a\":1}"))));
        }
    }

    pub(crate) fn options(&self, group: &str) -> KafkaOptions {
        let address = format!("kafka://{}/{TOPIC}", self.mock.bootstrap_servers());
        let mut options = KafkaOptions::new(KafkaAddress::parse(&address).unwrap());
        options.group = group.to_owned();
        options.member = Some(String::new());
        options.commit_every = Duration::from_millis(20);
        options
    }

    pub(crate) fn bounded(&self, group: &str) -> KafkaOptions {
        let mut options = self.options(group);
        options.until = Some(Until::Latest);
        options
    }
}

pub(crate) fn keys(partitions: i32, from: u32, to: u32) -> BTreeSet<String> {
    (0..partitions).flat_map(|partition| (from..to).map(move |number| format!("{partition}-{number}"))).collect()
}

/// A document as the engine gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) offset: u64,
    pub(crate) id: Option<String>,
    pub(crate) is_delete: bool,
    pub(crate) body: String,
    pub(crate) reject: Option<&'static str>,
}

/// Reads a source on a thread of its own, and settles what it reads.
pub(crate) struct Reader {
    pub(crate) feedback: Arc<dyn Feedback>,
    documents: Receiver<Document>,
    /// Settles nothing while it is held.
    pub(crate) settling: Arc<Mutex<()>>,
    thread: JoinHandle<Result<(), SourceError>>,
    seen: Vec<Document>,
}

impl Reader {
    pub(crate) fn open(options: KafkaOptions) -> Reader {
        Reader::of(KafkaSource::open(options).unwrap())
    }

    fn of(mut source: KafkaSource) -> Reader {
        let feedback = source.feedback().unwrap();
        let (sender, documents) = channel();
        let settling = Arc::new(Mutex::new(()));
        let (held, told) = (Arc::clone(&settling), Arc::clone(&feedback));
        let thread = std::thread::spawn(move || {
            let mut settled = BTreeMap::new();
            loop {
                let step = source.next(1 << 20)?;
                if !matches!(step, Step::Chunk(_)) {
                    let _free = held.lock().unwrap();
                    told.settled(&settled);
                }
                match step {
                    Step::Chunk(chunk) => {
                        let up_to = give(chunk, &sender);
                        settled.extend([up_to]);
                    }
                    Step::Idle => {}
                    Step::End => return Ok(()),
                }
            }
        });
        Reader { feedback, documents, settling, thread, seen: Vec::new() }
    }

    /// Waits until so many documents have come in all.
    pub(crate) fn wait_for(&mut self, count: usize) -> &[Document] {
        while self.seen.len() < count {
            self.seen.push(self.documents.recv_timeout(LONGEST).unwrap());
        }
        &self.seen
    }

    /// Takes the documents that have come meanwhile.
    pub(crate) fn take_what_is_there(&mut self) {
        self.seen.extend(self.documents.try_iter());
    }

    /// Waits until one of the documents has this id.
    pub(crate) fn wait_for_id(&mut self, id: &str) {
        while !self.seen.iter().any(|document| document.id.as_deref() == Some(id)) {
            self.seen.push(self.documents.recv_timeout(LONGEST).unwrap());
        }
    }

    /// Stops the source, and reads it to its end.
    pub(crate) fn stop(self) -> Vec<Document> {
        self.feedback.stop();
        self.finish().unwrap()
    }

    /// Reads to the end.
    pub(crate) fn finish(mut self) -> Result<Vec<Document>, SourceError> {
        self.thread.join().unwrap()?;
        self.seen.extend(self.documents.try_iter());
        Ok(self.seen)
    }
}

fn give(chunk: inrush_sources::Chunk, sender: &Sender<Document>) -> ((SourceId, u32), u64) {
    let block = chunk.into_block();
    let mut rejects = block.rejects.iter().peekable();
    for (at, record) in block.records.iter().enumerate() {
        let meta = block.meta.get(at);
        let document = Document {
            offset: block.origin.first_doc + u64::from(record.line),
            id: meta.and_then(|meta| meta.id.clone()),
            is_delete: meta.is_some_and(|meta| meta.action == Some(Action::Delete)),
            body: String::from_utf8_lossy(block.record(at)).into_owned(),
            reject: rejects.next_if(|reject| reject.record as usize == at).map(|reject| reject.kind),
        };
        // A test that has seen enough reads no more.
        let _ = sender.send(document);
    }
    ((block.origin.source, block.origin.partition), block.origin.first_doc + block.lines)
}

pub(crate) fn ids<'a>(documents: impl IntoIterator<Item = &'a Document>) -> BTreeSet<String> {
    documents.into_iter().filter_map(|document| document.id.clone()).collect()
}
