//! Dead letters that go to a topic.
//!
//! The engine hands them over without waiting. A thread looks each record up in its own topic again
//! and writes it as it is, with headers that say why it is there. So nothing of a record has to be
//! kept in memory until it is settled.
//!
//! ```text
//! engine ── queue ── originals (from the topics) ── reasons (headers) ── writer ── topic
//!   ^                                                                      │
//!   └───────────────── sync: everything is acknowledged ──────────────────┘
//! ```

mod originals;
mod reasons;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use inrush_core::{Code, DeadLetter};
use inrush_sources::{DeadLetterSink, TopicPartition, Topics};
use serde::Deserialize;

pub(crate) use writer::Writer;

/// Letters that the thread takes at once.
const BATCH: usize = 10_000;

/// A topic for dead letters.
pub(crate) struct DeadLetterTopic {
    topic: String,
    topics: Arc<dyn Topics>,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// A dead letter that is not written yet.
pub(crate) struct Letter {
    /// Where its record is. `None` if that was forgotten.
    at: Option<TopicPartition>,
    offset: i64,
    status: u16,
    kind: String,
    reason: String,
    /// It was never sent.
    is_unsent: bool,
    /// The id and the document, in case that the record is gone.
    id: Option<String>,
    document: Vec<u8>,
}

/// Letters between the engine and the thread.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Told when letters come, when they are acknowledged, and at the end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Letter>,
    /// Of all letters that are not acknowledged.
    bytes: u64,
    /// The number of letters that came, and of those that are acknowledged.
    taken: u64,
    kept: u64,
    error: Option<String>,
    is_closed: bool,
}

impl DeadLetterTopic {
    /// Starts the thread. `topics` knows the partitions of letters.
    pub(crate) fn start(writer: Writer, topics: Arc<dyn Topics>) -> io::Result<Self> {
        let (topic, queue) = (writer.topic().to_owned(), Arc::new(Queue::default()));
        let shared = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("kafka-dead-letters".into()).spawn(move || {
            // However the thread ends, its end is known.
            let end = End(&shared);
            writer.run(&shared);
            drop(end);
        })?;
        Ok(DeadLetterTopic { topic, topics, queue, thread: Some(thread) })
    }
}

struct End<'a>(&'a Queue);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.is_closed = true);
    }
}

impl DeadLetterSink for DeadLetterTopic {
    fn name(&self) -> &str {
        &self.topic
    }

    fn write(&self, letter: &DeadLetter) {
        let at = self.topics.find(letter.position.partition);
        let letter = Letter::copied(at, letter);
        self.queue.change(|state| {
            state.taken += 1;
            state.bytes += letter.cost();
            state.waiting.push(letter);
        });
    }

    fn waiting_bytes(&self) -> u64 {
        self.queue.state().bytes
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.queue.state();
        let taken = state.taken;
        while state.kept < taken && state.error.is_none() && !state.is_closed {
            state = self.queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.kept_up_to(taken)
    }

    fn close(&self) -> io::Result<()> {
        self.queue.change(|state| {
            state.is_closed = true;
            state.kept_up_to(state.taken)
        })
    }
}

impl Drop for DeadLetterTopic {
    /// Waits until the connections are closed.
    fn drop(&mut self) {
        self.queue.change(|state| state.is_closed = true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the thread that writes dead letters had panicked");
        }
    }
}

impl fmt::Debug for DeadLetterTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeadLetterTopic").field(&self.topic).finish()
    }
}

/// The error of letters that are not refused, and not acknowledged yet.
fn late(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl State {
    /// Whether the first `taken` letters are acknowledged.
    fn kept_up_to(&self, taken: u64) -> io::Result<()> {
        match (&self.error, taken.saturating_sub(self.kept)) {
            (_, 0) => Ok(()),
            (Some(error), _) => Err(io::Error::other(error.clone())),
            (None, 1) => Err(late("one of them was not acknowledged by the brokers".to_owned())),
            (None, missing) => Err(late(format!("{missing} were not acknowledged by the brokers"))),
        }
    }
}

impl Queue {
    /// The state. A panic elsewhere leaves it whole: nothing is changed in several steps.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let done = work(&mut self.state());
        self.changed.notify_all();
        done
    }

    fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Waits for letters. `None` at the end.
    fn take(&self) -> Option<Vec<Letter>> {
        let waiting = self.changed.wait_while(self.state(), |state| state.waiting.is_empty() && !state.is_closed);
        let mut state = waiting.unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return None;
        }
        let count = state.waiting.len().min(BATCH);
        Some(state.waiting.drain(..count).collect())
    }

    /// These letters are acknowledged.
    fn kept(&self, count: u64, bytes: u64) {
        self.change(|state| {
            state.kept += count;
            state.bytes -= bytes;
        });
    }

    /// A letter cannot be written.
    fn fail(&self, error: String) {
        self.change(|state| state.error = Some(error));
    }
}

impl Letter {
    /// Copies the bytes of a letter, which are slices of a block: a slice would keep the whole
    /// block in memory.
    fn copied(at: Option<TopicPartition>, letter: &DeadLetter) -> Self {
        let of_source = letter.meta.as_ref().and_then(|meta| meta.id.clone());
        Letter {
            at,
            // Offsets have 63 bits.
            offset: letter.position.doc as i64,
            status: letter.status,
            kind: letter.kind.clone(),
            reason: letter.reason.clone(),
            is_unsent: letter.status == 0 && !matches!(Code::named(&letter.kind), Some(Code::NoAnswer | Code::NotSent)),
            id: of_source.or_else(|| id_of(letter.action.as_deref()?)),
            document: letter.document.to_vec(),
        }
    }

    fn cost(&self) -> u64 {
        let texts = self.kind.len() + self.reason.len() + self.id.as_ref().map_or(0, String::len);
        (size_of::<Letter>() + texts + self.document.len()) as u64
    }
}

/// The id in an action line.
fn id_of(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Target {
        #[serde(rename = "_id")]
        id: Option<String>,
    }
    let line: std::collections::HashMap<String, Target> = serde_json::from_slice(line).ok()?;
    line.into_values().next()?.id
}
