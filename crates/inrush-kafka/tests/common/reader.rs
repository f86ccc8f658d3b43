//! A reader in the place of the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use inrush_core::{Action, SourceId};
use inrush_kafka::{KafkaOptions, KafkaSource};
use inrush_sources::{Feedback, Source, SourceError, Step};

/// How long a test waits for something that has to come.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

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
    thread: JoinHandle<Result<(), SourceError>>,
    seen: Vec<Document>,
}

impl Reader {
    pub(crate) fn open(options: KafkaOptions) -> Reader {
        Reader::of(KafkaSource::open(options).unwrap(), true)
    }

    /// Of what it reads nothing is settled, as if its process were killed.
    pub(crate) fn killed(options: KafkaOptions) -> Reader {
        Reader::of(KafkaSource::open(options).unwrap(), false)
    }

    fn of(mut source: KafkaSource, settles: bool) -> Reader {
        let feedback = source.feedback().unwrap();
        let (sender, documents) = channel();
        let told = Arc::clone(&feedback);
        let thread = std::thread::spawn(move || {
            let mut settled = BTreeMap::new();
            loop {
                let step = source.next(1 << 20)?;
                if settles && !matches!(step, Step::Chunk(_)) {
                    told.settled(&settled);
                }
                match step {
                    Step::Chunk(chunk) => settled.extend([give(chunk, &sender)]),
                    Step::Idle => {}
                    Step::End => return Ok(()),
                }
            }
        });
        Reader { feedback, documents, thread, seen: Vec::new() }
    }

    /// Waits until this number of documents has come in all.
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
            reject: rejects.next_if(|reject| reject.record as usize == at).map(|reject| reject.kind.name()),
        };
        // A test that has seen enough reads no more.
        let _ = sender.send(document);
    }
    ((block.origin.source, block.origin.partition), block.origin.first_doc + block.lines)
}

pub(crate) fn ids<'a>(documents: impl IntoIterator<Item = &'a Document>) -> BTreeSet<String> {
    documents.into_iter().filter_map(|document| document.id.clone()).collect()
}

pub(crate) fn keys(partitions: i32, from: u32, to: u32) -> BTreeSet<String> {
    (0..partitions).flat_map(|partition| (from..to).map(move |number| format!("{partition}-{number}"))).collect()
}
