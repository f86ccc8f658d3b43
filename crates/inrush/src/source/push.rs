//! A source that a program feeds, from any number of tasks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::{Chunk, Source, SourceError};

/// A document to be loaded.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// JSON. Line ends between its tokens are taken out.
    pub body: Bytes,
    /// What is known besides; wins over the job's options.
    pub meta: DocMeta,
}

impl Document {
    /// A document about which nothing else is known.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Document { body: body.into(), meta: DocMeta::default() }
    }

    /// The same document with an id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.meta.id = Some(id.into());
        self
    }
}

/// The load has ended and takes no more documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load has ended and takes no more documents; its report says why")]
pub struct Closed;

/// Sends documents to a load. Clones send to the same load; when all are gone, the load ends.
#[derive(Clone, Debug)]
pub struct Sender {
    documents: mpsc::UnboundedSender<Document>,
    room: Arc<Semaphore>,
}

impl Sender {
    /// Sends one document. Waits while as many bytes as the load's memory are on their way to it.
    ///
    /// # Errors
    /// [`Closed`] when the load has ended.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        let permits = permits(&document);
        self.room.acquire_many(permits).await.map_err(|_| Closed)?.forget();
        self.documents.send(document).map_err(|_| Closed)
    }
}

/// Every document costs its bytes, and some for itself.
fn permits(document: &Document) -> u32 {
    (document.body.len() + 64).min(ROOM_MAX) as u32
}

/// The most that one channel may hold, bytes.
const ROOM_MAX: usize = 16 << 20;

/// The receiving end, a [`Source`] for [`crate::Loader`].
#[derive(Debug)]
pub struct PushSource {
    documents: mpsc::UnboundedReceiver<Document>,
    room: Arc<Semaphore>,
    linger: Duration,
    runtime: tokio::runtime::Handle,
    bytes: u64,
}

/// A channel that holds at most `memory` bytes (16 MiB at most). Blocks are handed on when they are large enough, or `linger` after
/// their first document. Has to be called inside of a Tokio runtime.
pub fn channel(memory: usize, linger: Duration) -> (Sender, PushSource) {
    let room = Arc::new(Semaphore::new(ROOM_MAX.min(memory.max(1))));
    let (sender, documents) = mpsc::unbounded_channel();
    let source =
        PushSource { documents, room: Arc::clone(&room), linger, runtime: tokio::runtime::Handle::current(), bytes: 0 };
    (Sender { documents: sender, room }, source)
}

impl Drop for PushSource {
    fn drop(&mut self) {
        // Whoever waits for room learns that there will be none.
        self.room.close();
    }
}

impl Source for PushSource {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let runtime = self.runtime.clone();
        let Some(first) = runtime.block_on(self.documents.recv()) else { return Ok(None) };
        let until = Instant::now() + self.linger;
        let mut block = BlockBuilder::new(self.bytes);
        block.push(&self.room, first);
        while block.data.len() < bytes {
            let next = runtime.block_on(async { tokio::time::timeout_at(until, self.documents.recv()).await });
            match next {
                Ok(Some(document)) => block.push(&self.room, document),
                Ok(None) | Err(_) => break,
            }
        }
        self.bytes += block.data.len() as u64;
        Ok(Some(Chunk::Docs(block.finish())))
    }

    fn names(&self) -> Vec<String> {
        vec!["pushed".to_owned()]
    }

    fn bytes_total(&self) -> Option<u64> {
        None
    }
}

struct BlockBuilder {
    origin: Origin,
    data: Vec<u8>,
    records: Vec<Record>,
    meta: Vec<DocMeta>,
    any_meta: bool,
}

impl BlockBuilder {
    fn new(first_byte: u64) -> Self {
        let origin = Origin { first_byte, ..Origin::default() };
        BlockBuilder { origin, data: Vec::new(), records: Vec::new(), meta: Vec::new(), any_meta: false }
    }

    fn push(&mut self, room: &Semaphore, document: Document) {
        room.add_permits(permits(&document) as usize);
        let start = self.data.len() as u32;
        self.data.extend_from_slice(&document.body);
        // A bulk body is cut at line ends. Inside of JSON they stand only between tokens, where a space does as well.
        for byte in &mut self.data[start as usize..] {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
        let line = self.records.len() as u32;
        self.records.push(Record { start, end: self.data.len() as u32, byte: start, line });
        self.any_meta |= document.meta != DocMeta::default();
        self.meta.push(document.meta);
    }

    fn finish(self) -> DocBlock {
        DocBlock {
            origin: self.origin,
            lines: self.records.len() as u64,
            bytes_read: self.data.len() as u64,
            data: self.data.into(),
            records: self.records,
            rejects: Vec::new(),
            meta: if self.any_meta { self.meta } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn documents_arrive_in_order_and_the_end_is_seen() {
        let (sender, mut source) = channel(1 << 20, Duration::ZERO);
        let reader = tokio::task::spawn_blocking(move || {
            let mut texts = Vec::new();
            while let Some(Chunk::Docs(block)) = source.next_chunk(1000).unwrap() {
                for at in 0..block.records.len() {
                    let id = block.meta.get(at).and_then(|m| m.id.clone());
                    texts.push((String::from_utf8(block.record(at).to_vec()).unwrap(), id));
                }
            }
            texts
        });
        sender.send(Document::new("{\n\"a\":1}")).await.unwrap();
        sender.send(Document::new("{}").with_id("x")).await.unwrap();
        drop(sender);
        let expected = [("{ \"a\":1}".to_owned(), None), ("{}".to_owned(), Some("x".to_owned()))];
        assert_eq!(reader.await.unwrap(), expected);
    }

    #[tokio::test]
    async fn a_full_channel_waits_and_a_closed_one_says_so() {
        let (sender, source) = channel(100, Duration::ZERO);
        sender.send(Document::new("{}")).await.unwrap();
        let mut waiting = tokio_test_poll(sender.send(Document::new("{}")));
        assert!(waiting.is_pending());
        drop(source);
        assert_eq!(waiting.finish().await, Err(Closed));
    }

    /// A future that was polled once.
    struct Polled<F>(std::pin::Pin<Box<F>>, bool);

    fn tokio_test_poll<F: Future>(future: F) -> Polled<F> {
        let mut future = Box::pin(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let pending = future.as_mut().poll(&mut context).is_pending();
        Polled(future, pending)
    }

    impl<F: Future> Polled<F> {
        fn is_pending(&mut self) -> bool {
            self.1
        }

        async fn finish(self) -> F::Output {
            self.0.await
        }
    }
}
