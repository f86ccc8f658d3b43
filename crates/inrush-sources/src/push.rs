//! A source that a program feeds, from any number of tasks.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use inrush_core::block::{Origin, Record};
use inrush_core::{DocBlock, DocMeta};
use inrush_formats::format::Timestamps;
use inrush_formats::one_line::one_line;
use tokio::sync::Semaphore;

use super::{Chunk, Source, SourceError, too_large, too_large_head};

/// What a waiting document costs besides its contents, bytes.
const OVERHEAD: usize = 128;

/// The largest document that can be handed on at all, bytes: positions in a block are 32 bits.
const DOCUMENT_BYTES_MAX: usize = 512 << 20;

/// A document to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// One JSON object; empty for an action that has none. It may be written over several lines.
    pub body: Bytes,
    /// What wins over the options of the job.
    pub meta: DocMeta,
}

/// How documents are gathered.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Bytes of documents that wait to be taken; [`Sender::send`] waits while there are more. Default 8 MiB. A larger
    /// document waits alone.
    pub memory: usize,
    /// How long a document waits for others to share its block. Default 100 ms.
    pub linger: Duration,
    /// The largest document; a larger one is a reject of kind `too_large`. Default 100 MiB, at most 512 MiB.
    pub document_bytes_max: usize,
    /// What reports and dead letters call this source. Default `push`.
    pub name: String,
    /// How timestamps of record batches are written. Default: ISO 8601.
    pub timestamps: Timestamps,
}

impl Default for PushOptions {
    fn default() -> Self {
        PushOptions {
            memory: 8 << 20,
            linger: Duration::from_millis(100),
            document_bytes_max: 100 << 20,
            name: "push".to_owned(),
            timestamps: Timestamps::default(),
        }
    }
}

/// Nobody takes documents any more: the load has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the load has ended and takes no more documents")]
pub struct Closed;

/// Makes a source and what feeds it. The source ends when all senders are dropped.
pub fn channel(options: PushOptions) -> (Sender, PushSource) {
    let memory = options.memory.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let options =
        PushOptions { memory, document_bytes_max: options.document_bytes_max.clamp(1, DOCUMENT_BYTES_MAX), ..options };
    let shared = Arc::new(Shared {
        queue: Mutex::new(Queue { senders: 1, ..Queue::default() }),
        changed: Condvar::new(),
        room: Semaphore::new(memory),
        memory,
    });
    (Sender { shared: Arc::clone(&shared) }, PushSource { shared, options, docs: 0, bytes: 0 })
}

struct Shared {
    queue: Mutex<Queue>,
    /// Told when the queue has more, a sender waits for room, or the last sender is gone.
    changed: Condvar,
    /// A permit a byte.
    room: Semaphore,
    memory: usize,
}

#[derive(Default)]
struct Queue {
    documents: VecDeque<Document>,
    bytes: usize,
    /// Since when the first document has waited.
    since: Option<Instant>,
    senders: usize,
    /// Senders that wait for room.
    blocked: usize,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cost(&self, document: &Document) -> usize {
        (document.body.len() + OVERHEAD).min(self.memory)
    }
}

/// Sends documents into a load. Cheap to clone; the load goes on until all clones are dropped.
pub struct Sender {
    shared: Arc<Shared>,
}

impl Sender {
    /// Hands over a document, and waits while too many bytes are on their way. Documents of one sender keep their
    /// order. If the future is dropped before it is done, the document was not sent.
    pub async fn send(&self, document: Document) -> Result<(), Closed> {
        let cost = self.shared.cost(&document) as u32;
        match self.shared.room.try_acquire_many(cost) {
            Ok(permit) => permit.forget(),
            Err(_) => {
                let _blocked = Blocked::new(&self.shared);
                self.shared.room.acquire_many(cost).await.map_err(|_| Closed)?.forget();
            }
        }
        let mut queue = self.shared.queue();
        queue.bytes += cost as usize;
        queue.since.get_or_insert_with(Instant::now);
        queue.documents.push_back(document);
        drop(queue);
        self.shared.changed.notify_one();
        Ok(())
    }
}

impl Clone for Sender {
    fn clone(&self) -> Self {
        self.shared.queue().senders += 1;
        Sender { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.shared.queue().senders -= 1;
        self.shared.changed.notify_one();
    }
}

/// Counts a sender that waits, until it is dropped.
struct Blocked<'a>(&'a Shared);

impl<'a> Blocked<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.queue().blocked += 1;
        shared.changed.notify_one();
        Blocked(shared)
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.0.queue().blocked -= 1;
    }
}

/// The documents that come from [`Sender`]s. A position's line is the number of the document, its byte the sum of the
/// lengths before it.
pub struct PushSource {
    shared: Arc<Shared>,
    options: PushOptions,
    docs: u64,
    bytes: u64,
}

impl Drop for PushSource {
    fn drop(&mut self) {
        self.shared.room.close();
    }
}

impl Source for PushSource {
    fn next_chunk(&mut self, bytes: usize) -> Result<Option<Chunk>, SourceError> {
        let bytes = bytes.clamp(1, DOCUMENT_BYTES_MAX);
        let mut documents = Vec::new();
        let mut cost = 0;
        let mut queue = self.wait(bytes);
        while let Some(document) = queue.documents.front() {
            let next = self.shared.cost(document);
            let len = document.body.len().min(DOCUMENT_BYTES_MAX);
            if !documents.is_empty() && cost + next.max(len) > bytes {
                break;
            }
            cost += next;
            documents.extend(queue.documents.pop_front());
        }
        queue.bytes -= cost;
        if queue.documents.is_empty() {
            queue.since = None;
        }
        drop(queue);
        self.shared.room.add_permits(cost);
        Ok((!documents.is_empty()).then(|| Chunk::Docs(self.block(documents))))
    }

    fn is_fed(&self) -> bool {
        true
    }

    fn names(&self) -> Vec<String> {
        vec![self.options.name.clone()]
    }

    fn bytes_total(&self) -> Option<u64> {
        None
    }
}

impl PushSource {
    /// Waits until there is enough for a block, or nothing more to wait for.
    fn wait(&self, bytes: usize) -> MutexGuard<'_, Queue> {
        let mut queue = self.shared.queue();
        loop {
            let ended = queue.senders == 0;
            // A sender that waits for room will get it only if something is taken.
            let enough = queue.bytes >= bytes || queue.blocked > 0;
            match queue.since.map(|since| self.options.linger.saturating_sub(since.elapsed())) {
                Some(left) if !ended && !enough && !left.is_zero() => {
                    let waited = self.shared.changed.wait_timeout(queue, left);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None if !ended => {
                    queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                _ => return queue,
            }
        }
    }

    fn block(&mut self, documents: Vec<Document>) -> DocBlock {
        let origin =
            Origin { first_doc: self.docs, first_line: self.docs + 1, first_byte: self.bytes, ..Origin::default() };
        let mut records = Vec::with_capacity(documents.len());
        let mut rejects = Vec::new();
        let mut metas = Vec::new();
        let mut data = BytesMut::with_capacity(documents.iter().map(|d| d.body.len()).sum());
        let mut byte = 0;
        for (i, Document { body, meta }) in documents.into_iter().enumerate() {
            let start = data.len() as u32;
            if body.len() > self.options.document_bytes_max {
                rejects.push(too_large(i as u32, body.len() as u64, self.options.document_bytes_max));
                data.extend_from_slice(too_large_head(&body));
            } else {
                data.extend_from_slice(&body);
                rejects.extend(one_line(i as u32, &mut data[start as usize..]));
            }
            records.push(Record { start, end: data.len() as u32, byte: byte as u32, line: i as u32 });
            byte += body.len() as u64;
            if meta != DocMeta::default() {
                metas.resize(i, DocMeta::default());
                metas.push(meta);
            }
        }
        if !metas.is_empty() {
            metas.resize(records.len(), DocMeta::default());
        }
        self.docs += records.len() as u64;
        self.bytes += byte;
        let lines = records.len() as u64;
        DocBlock { origin, lines, data: data.freeze(), records, rejects, meta: metas, bytes_read: byte }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn document(body: &str) -> Document {
        Document { body: Bytes::copy_from_slice(body.as_bytes()), meta: DocMeta::default() }
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn send(sender: &Sender, body: &str) {
        assert_eq!(poll(pin!(sender.send(document(body)))), Poll::Ready(Ok(())));
    }

    fn texts(source: &mut PushSource, bytes: usize) -> Option<Vec<String>> {
        match source.next_chunk(bytes).unwrap()? {
            Chunk::Docs(block) => {
                assert_eq!(block.lines, block.records.len() as u64);
                Some((0..block.records.len()).map(|i| String::from_utf8(block.record(i).to_vec()).unwrap()).collect())
            }
            _ => None,
        }
    }

    #[test]
    fn documents_come_out_in_order_and_the_source_ends_with_its_senders() {
        let (sender, mut source) = channel(PushOptions::default());
        let other = sender.clone();
        send(&sender, "{\"a\":\n1}");
        send(&other, "{}");
        drop((sender, other));
        assert_eq!(texts(&mut source, 1000), Some(vec!["{\"a\": 1}".into(), "{}".into()]));
        assert_eq!(texts(&mut source, 1000), None);
    }

    #[test]
    fn a_block_is_cut_by_size_and_positions_go_on() {
        let (sender, mut source) = channel(PushOptions::default());
        for _ in 0..3 {
            send(&sender, "{}");
        }
        drop(sender);
        let bytes = 2 * (2 + OVERHEAD);
        let Ok(Some(Chunk::Docs(first))) = source.next_chunk(bytes) else { panic!("no block") };
        let Ok(Some(Chunk::Docs(second))) = source.next_chunk(bytes) else { panic!("no block") };
        assert_eq!((first.records.len(), second.records.len()), (2, 1));
        let at = second.origin.position(0, second.records[0]);
        assert_eq!((at.doc, at.line, at.byte), (2, 3, 4));
    }

    #[test]
    fn a_slow_sender_does_not_hold_documents_back_for_longer_than_the_linger() {
        let (sender, mut source) = channel(PushOptions { linger: Duration::ZERO, ..PushOptions::default() });
        send(&sender, "{}");
        assert_eq!(texts(&mut source, 1000), Some(vec!["{}".into()]));
        drop(sender);
    }

    #[test]
    fn senders_wait_for_room_and_a_waiting_one_hurries_the_block() {
        let options = PushOptions { memory: 300, linger: Duration::from_secs(3600), ..PushOptions::default() };
        let (sender, mut source) = channel(options);
        send(&sender, "{}");
        send(&sender, "{}");
        let large = "x".repeat(1000);
        let mut waiting = pin!(sender.send(document(&large)));
        assert_eq!(poll(waiting.as_mut()), Poll::Pending);
        assert_eq!(texts(&mut source, 1 << 20).map(|t| t.len()), Some(2));
        assert_eq!(poll(waiting.as_mut()), Poll::Ready(Ok(())));
        // Another one that gives up leaves nothing behind.
        {
            let mut given_up = pin!(sender.send(document("{}")));
            assert_eq!(poll(given_up.as_mut()), Poll::Pending);
        }
        assert_eq!(source.shared.queue().blocked, 0);
        drop(sender.clone());
        assert_eq!(source.shared.queue().senders, 1);
        assert_eq!(source.shared.queue().documents.len(), 1);
    }

    #[test]
    fn senders_notice_that_the_load_has_ended() {
        let (sender, source) = channel(PushOptions::default());
        drop(source);
        assert_eq!(poll(pin!(sender.send(document("{}")))), Poll::Ready(Err(Closed)));
    }

    #[test]
    fn meta_and_rejects_belong_to_their_documents() {
        let (sender, mut source) = channel(PushOptions { document_bytes_max: 10, ..PushOptions::default() });
        send(&sender, "{}");
        let meta = DocMeta::default().with_id("7".to_owned());
        let body = Bytes::from_static(b"{\"a\":\"0123456789\"}");
        assert_eq!(poll(pin!(sender.send(Document { body, meta: meta.clone() }))), Poll::Ready(Ok(())));
        send(&sender, "{}");
        drop(sender);
        let Ok(Some(Chunk::Docs(block))) = source.next_chunk(1 << 20) else { panic!("no block") };
        assert_eq!(block.meta, [DocMeta::default(), meta, DocMeta::default()]);
        assert_eq!(block.rejects.iter().map(|r| (r.record, r.kind)).collect::<Vec<_>>(), [(1, "too_large")]);
    }
}
