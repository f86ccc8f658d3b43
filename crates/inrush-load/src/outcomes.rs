//! The results of single documents, which a program receives while the load runs.
//!
//! Both channels are bounded in bytes. A full channel drops messages and counts them, so a load
//! never waits for its receiver.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use inrush_core::{DeadLetter, Settlement};
use inrush_sources::TopicPartition;
use tokio::sync::mpsc;

/// A dead letter that a program receives
/// ([`ConfiguredLoad::failures`](crate::ConfiguredLoad::failures)).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// The name of the source.
    pub source: String,
    /// The topic and its partition, of a source that has topics. `letter.position.doc` is the
    /// offset in it.
    pub topic: Option<TopicPartition>,
    /// Error, position and document.
    pub letter: DeadLetter,
}

impl Failure {
    /// Copies the letter's bytes, which are slices of a block: a slice would keep the whole block
    /// in memory.
    fn copied(source: &str, topic: Option<TopicPartition>, letter: &DeadLetter) -> Self {
        let mut letter = letter.clone();
        letter.document = Bytes::copy_from_slice(&letter.document);
        letter.action = letter.action.as_deref().map(Bytes::copy_from_slice);
        Failure { source: source.to_owned(), topic, letter }
    }
}

/// The dead letters of a load, from [`ConfiguredLoad::failures`](crate::ConfiguredLoad::failures).
#[derive(Debug)]
pub struct Failures(Receiver<Failure>);

impl Failures {
    /// Waits for the next dead letter. `None` after the end of the load, when all were received.
    pub async fn recv(&mut self) -> Option<Failure> {
        self.0.recv().await
    }

    /// The next dead letter, if one waits.
    pub fn try_recv(&mut self) -> Option<Failure> {
        self.0.try_recv()
    }

    /// Number of dead letters that were dropped because the channel was full. The dead-letter file
    /// and the report's counts contain them.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }
}

/// Documents that settled without a dead letter, from
/// [`ConfiguredLoad::settlements`](crate::ConfiguredLoad::settlements).
#[derive(Debug)]
pub struct Settlements(Receiver<Settlement>);

impl Settlements {
    /// Waits for the next run of consecutive documents with one result. `None` after the end of the
    /// load, when all were received.
    pub async fn recv(&mut self) -> Option<Settlement> {
        self.0.recv().await
    }

    /// The next run of consecutive documents with one result, if a message waits.
    pub fn try_recv(&mut self) -> Option<Settlement> {
        self.0.try_recv()
    }

    /// Number of documents that were dropped because the channel was full. The report's counts
    /// contain them.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }
}

/// A channel for dead letters in which at most `bytes_max` bytes wait.
pub(crate) fn failures(bytes_max: usize) -> (FailureSender, Failures) {
    let (sender, receiver) = channel(bytes_max);
    (FailureSender(sender), Failures(receiver))
}

/// A channel for settlements in which at most `bytes_max` bytes wait.
pub(crate) fn settlements(bytes_max: usize) -> (SettlementSender, Settlements) {
    let (sender, receiver) = channel(bytes_max);
    (SettlementSender(sender), Settlements(receiver))
}

/// Sends dead letters to the program.
#[derive(Debug)]
pub(crate) struct FailureSender(Sender<Failure>);

impl FailureSender {
    pub(crate) fn send(&self, source: &str, topic: Option<&TopicPartition>, letter: &DeadLetter) {
        let action = letter.action.as_ref().map_or(0, Bytes::len);
        let texts = source.len() + letter.kind.len() + letter.reason.len() + letter.document.len() + action;
        self.0.send(size_of::<Failure>() + texts, 1, || Failure::copied(source, topic.cloned(), letter));
    }
}

/// Sends settlements to the program.
#[derive(Debug)]
pub(crate) struct SettlementSender(Sender<Settlement>);

impl SettlementSender {
    pub(crate) fn send(&self, settlement: Settlement) {
        self.0.send(size_of::<Settlement>(), settlement.docs.into(), || settlement);
    }
}

/// State that both ends of a channel share.
#[derive(Debug, Default)]
struct Shared {
    bytes_waiting: AtomicUsize,
    docs_dropped: AtomicU64,
}

fn channel<T>(bytes_max: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::default());
    (Sender { sender, shared: Arc::clone(&shared), bytes_max }, Receiver { receiver, shared })
}

/// The one sender of a channel that is bounded in bytes.
struct Sender<T> {
    /// Each message with its bytes.
    sender: mpsc::UnboundedSender<(usize, T)>,
    shared: Arc<Shared>,
    bytes_max: usize,
}

impl<T> Sender<T> {
    /// Sends the message of `docs` documents that `make` builds, which has `bytes` bytes. The
    /// message is not built where the channel is full or its receiver is dropped.
    fn send(&self, bytes: usize, docs: u64, make: impl FnOnce() -> T) {
        if self.sender.is_closed() {
            return;
        }
        // The receiver only subtracts, so this room still exists when the message is sent.
        let waiting = self.shared.bytes_waiting.load(Ordering::Relaxed);
        if waiting.saturating_add(bytes) > self.bytes_max {
            self.shared.docs_dropped.fetch_add(docs, Ordering::Relaxed);
            return;
        }
        self.shared.bytes_waiting.fetch_add(bytes, Ordering::Relaxed);
        // A receiver that is dropped at this moment takes no more messages.
        let _ = self.sender.send((bytes, make()));
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}

/// The receiver of a channel that is bounded in bytes.
struct Receiver<T> {
    receiver: mpsc::UnboundedReceiver<(usize, T)>,
    shared: Arc<Shared>,
}

impl<T> Receiver<T> {
    async fn recv(&mut self) -> Option<T> {
        let message = self.receiver.recv().await;
        self.take(message)
    }

    fn try_recv(&mut self) -> Option<T> {
        let message = self.receiver.try_recv().ok();
        self.take(message)
    }

    fn take(&self, message: Option<(usize, T)>) -> Option<T> {
        let (bytes, message) = message?;
        self.shared.bytes_waiting.fetch_sub(bytes, Ordering::Relaxed);
        Some(message)
    }

    fn dropped(&self) -> u64 {
        self.shared.docs_dropped.load(Ordering::Relaxed)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("shared", &self.shared).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use inrush_core::Position;

    use super::*;

    fn letter(document: Bytes) -> DeadLetter {
        DeadLetter::new(Position::default(), "kind", "reason", document)
    }

    #[test]
    fn a_letter_that_waits_keeps_no_block() {
        let letter = letter(Bytes::from(vec![b'x'; 1000]));
        let (sender, mut failures) = failures(1 << 20);
        sender.send("a", None, &letter);
        assert!(letter.document.is_unique());
        assert_eq!(failures.try_recv().unwrap().letter, letter);
    }

    #[tokio::test]
    async fn a_full_channel_drops_and_counts() {
        let letter = letter(Bytes::from(vec![b'x'; 1000]));
        let (sender, mut failures) = failures(10_000);
        for _ in 0..100 {
            sender.send("a", None, &letter);
        }
        let dropped = failures.dropped();
        assert!((90..100).contains(&dropped), "{dropped}");
        assert!(failures.try_recv().is_some());
        sender.send("a", None, &letter);
        assert_eq!(failures.dropped(), dropped, "a received letter makes room");
        drop(sender);
        let mut received = 1;
        while failures.recv().await.is_some() {
            received += 1;
        }
        assert_eq!(received + dropped, 101);
    }

    #[test]
    fn all_documents_of_a_dropped_message_count() {
        let (sender, mut receiver) = channel(39);
        sender.send(40, 7, || unreachable!("the channel is full"));
        assert_eq!((receiver.try_recv(), receiver.dropped()), (None::<u8>, 7));
    }

    #[test]
    fn no_message_is_built_without_a_receiver() {
        let (sender, receiver) = channel::<u8>(10_000);
        drop(receiver);
        sender.send(1, 1, || unreachable!("the channel is closed"));
    }
}
